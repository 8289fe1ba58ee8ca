"keep.sparse"() {value = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>} : () -> ()
// -----
// One dimension.
"keep.sparse"() {value = sparse<[[0], [3]], [1.0, -2.0]> : tensor<4xf32>} : () -> ()
// -----
// A splat of values.
"keep.sparse"() {value = sparse<[[0, 1], [2, 3]], 7> : tensor<4x4xi8>} : () -> ()
// -----
// A single coordinate without brackets.
"keep.sparse"() {value = sparse<0, 1> : tensor<1xi32>} : () -> ()
// -----
// Nothing but zeros.
"keep.sparse"() {value = sparse<> : tensor<3x4xi32>} : () -> ()
// -----
// A vector.
"keep.sparse"() {value = sparse<[[1], [2]], [0x7FC00001, 1.0]> : vector<4xf32>} : () -> ()
// -----
// Three dimensions.
"keep.sparse"() {value = sparse<[[0, 1, 2], [1, 0, 0]], [-1, 1]> : tensor<2x2x3xi64>} : () -> ()
// -----
// Strings.
"keep.sparse"() {value = sparse<[[0, 0]], ["x"]> : tensor<2x2x!foo.string>} : () -> ()
// -----
// Equal coordinates are one splat.
"keep.sparse"() {value = sparse<[[0], [0]], [1.0, -2.0]> : tensor<4xf32>} : () -> ()
