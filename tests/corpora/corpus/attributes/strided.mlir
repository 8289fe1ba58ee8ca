"keep.layout"() {value = strided<[1]>} : () -> ()
// -----
"keep.layout"() {value = strided<[12, 4, 1]>} : () -> ()
// -----
"keep.layout"() {a = strided<[2], offset: 0>, b = strided<[2], offset: 7>} : () -> ()
// -----
"keep.layout"() {a = strided<[?, 1], offset: ?>, b = strided<[?, ?]>, c = strided<[1], offset: ?>} : () -> ()
// -----
// No dimensions.
"keep.layout"() {a = strided<[]>, b = strided<[], offset: 3>} : () -> ()
// -----
// Negative strides, and a stride of zero.
"keep.layout"() {value = strided<[0, -1], offset: -5>} : () -> ()
// -----
// In the types of a function.
func.func private @strided(memref<2x3xf32, strided<[6, 2]>>, memref<2xf32, strided<[2], offset: 0>>, memref<?xi8, strided<[?], offset: ?>>)
// -----
// In an array, behind an alias.
#layout = strided<[4, 1], offset: 2>
"keep.layout"() {value = [#layout]} : () -> ()
