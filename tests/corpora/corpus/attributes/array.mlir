"keep.array"() {value = []} : () -> ()
// -----
"keep.array"() {value = [10, i32]} : () -> ()
// -----
// An attribute of each kind.
"keep.array"() {value = [affine_map<(d0, d1, d2) -> (d0, d1)>, i32, "string attribute", unit, 1.5 : f32, @symbol, {key = 1 : i8}, dense<1> : tensor<2xi4>, array<i8: 1>]} : () -> ()
// -----
// Arrays of arrays.
"keep.array"() {value = [[], [[]], [[1], [2, 3]]]} : () -> ()
// -----
// Types of numbers stay where they are not the default.
"keep.array"() {value = [1, 1 : i64, 1 : i32, 1 : index, 1.0, 1.0 : f64, 1.0 : bf16, true, 1 : si64, 1 : ui64]} : () -> ()
// -----
// Types, and functions among them.
"keep.array"() {value = [i1, () -> (), (i1) -> i1, (i1, i2) -> (i3, i4), tuple<>]} : () -> ()
// -----
// Over several lines, with comments.
"keep.array"() {value = [ // first
  1,
  // second
  2
]} : () -> ()
// -----
// Strings that need escapes, typed strings.
"keep.array"() {value = ["a\"b", "tab\there", "\00\FF", "typed" : i32]} : () -> ()
