"keep.type"() {value = i32} : () -> ()
// -----
"keep.type"() {value = !dialect.type} : () -> ()
// -----
// Shaped types.
"keep.type"() {a = tensor<2x?xf32>, b = vector<4xi1>, c = memref<*xf32>, d = tensor<*xindex>} : () -> ()
// -----
// Function types in braces and brackets.
"keep.type"() {a = () -> (), b = (i32) -> i32, c = [(i32) -> (i32, f32)], d = () -> (() -> ())} : () -> ()
// -----
// By an alias.
!word = i32
"keep.type"() {value = !word, other = tuple<!word, !word>} : () -> ()
// -----
// Quantised.
"keep.type"() {value = !quant.uniform<i8:f32, 0.5:3>} : () -> ()
