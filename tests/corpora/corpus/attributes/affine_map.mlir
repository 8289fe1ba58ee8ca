// No inputs, no results.
"keep.map"() {value = affine_map<() -> ()>} : () -> ()
// -----
// A constant result.
"keep.map"() {value = affine_map<() -> (42)>} : () -> ()
// -----
// A negative constant and a sum with it.
"keep.map"() {value = affine_map<(d0) -> (-7, d0 - 7, d0 + -7)>} : () -> ()
// -----
// Names of one's own are renamed.
"keep.map"() {value = affine_map<(row, col)[n, m] -> (row * m + col, n - 1)>} : () -> ()
// -----
// Symbols only.
"keep.map"() {value = affine_map<()[s0, s1] -> (s0 + s1 * 2)>} : () -> ()
// -----
// Empty symbol list.
"keep.map"() {value = affine_map<(d0)[] -> (d0)>} : () -> ()
// -----
// Identity and permutation.
"keep.map"() {identity = affine_map<(d0, d1, d2) -> (d0, d1, d2)>, swap = affine_map<(d0, d1) -> (d1, d0)>} : () -> ()
// -----
// Fewer results than dimensions, and a repeated result.
"keep.map"() {drop = affine_map<(d0, d1, d2) -> (d1)>, twice = affine_map<(d0) -> (d0, d0)>} : () -> ()
// -----
// floordiv, ceildiv and mod by constants.
"keep.map"() {value = affine_map<(d0) -> (d0 floordiv 8, d0 ceildiv 8, d0 mod 8)>} : () -> ()
// -----
// Semi-affine: by symbols.
"keep.map"() {value = affine_map<(d0)[s0] -> (d0 floordiv s0, d0 ceildiv s0, d0 mod s0, d0 * s0)>} : () -> ()
// -----
// Parentheses that matter, and parentheses that do not.
"keep.map"() {value = affine_map<(d0, d1) -> ((d0 + d1) * 4, (d0) + ((d1)), (d0 + d1) mod 3)>} : () -> ()
// -----
// Constants fold while reading.
"keep.map"() {value = affine_map<(d0) -> (2 * 3 + 4, 7 floordiv 2, -7 floordiv 2, 7 ceildiv 2, 7 mod 4, -7 mod 4, d0 * 1, d0 * 0, d0 + 0)>} : () -> ()
// -----
// The constant goes last.
"keep.map"() {value = affine_map<(d0)[s0] -> (3 + d0, 3 * d0, 5 + d0 + s0, s0 + d0)>} : () -> ()
// -----
// Nested constants join.
"keep.map"() {value = affine_map<(d0) -> (d0 + 2 + 3, (d0 * 2) * 3, d0 - 2 + 5, d0 * 2 - d0)>} : () -> ()
// -----
// Unary minus of a dimension, of a symbol, of a sum.
"keep.map"() {value = affine_map<(d0, d1)[s0] -> (-d0, -s0, -(d0 + d1), d0 - d1, d0 - d1 * 2, d0 - (d1 + 3))>} : () -> ()
// -----
// Division by one, modulo one.
"keep.map"() {value = affine_map<(d0) -> (d0 floordiv 1, d0 ceildiv 1, d0 mod 1)>} : () -> ()
// -----
// A multiple divided by its factor.
"keep.map"() {value = affine_map<(d0) -> ((d0 * 8) floordiv 4, (d0 * 8) ceildiv 4, (d0 * 8) mod 4)>} : () -> ()
// -----
// A tile: quotient and remainder recombined.
"keep.map"() {value = affine_map<(d0, d1) -> (d0 floordiv 64, d1 floordiv 64, d0 mod 64, d1 mod 64)>} : () -> ()
// -----
// Padding, as the layout of a buffer would have it.
"keep.map"() {value = affine_map<(d0, d1) -> (d0, (d1 + 2) floordiv 2, (d1 + 2) mod 2)>} : () -> ()
// -----
// The alias is shared by all uses and numbered.
#rows = affine_map<(i, j) -> (i)>
#cols = affine_map<(i, j) -> (j)>
"keep.map"() {a = #rows, b = #cols} : () -> ()
"keep.map"() {a = #cols} : () -> ()
// -----
// Maps inside arrays and dictionaries get aliases, too.
"keep.map"() {list = [affine_map<(d0) -> (d0)>, affine_map<() -> (1)>], dict = {inner = affine_map<(d0) -> (d0)>}} : () -> ()
// -----
// Large constants.
"keep.map"() {value = affine_map<(d0) -> (d0 + 9223372036854775807, d0 * 4294967296)>} : () -> ()
// -----
// Operators of one level group from the left.
"keep.map"() {value = affine_map<(d0)[s0, s1] -> (d0 floordiv s0 * s1, d0 mod s0 floordiv s1, d0 - s0 - s1)>} : () -> ()
// -----
// Symbols multiplied by one another.
"keep.map"() {value = affine_map<(d0)[s0, s1] -> (s0 * s1, d0 * (s0 + s1), (d0 + s0) floordiv (s1 * 2))>} : () -> ()

// -----

// Leading zeros count for nothing, however many.
"keep.map"() {value = affine_map<(d0) -> (d0 + 0005, d0 mod 00000000000000000000000007, d0 * 0x000000000000000000000003)>} : () -> ()
