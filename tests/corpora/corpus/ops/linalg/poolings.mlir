func.func @pooling_nhwc_sum_tensors(%a0: tensor<2x6x6x3xi8>, %a1: tensor<2x3xi8>, %a2: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %r = linalg.pooling_nhwc_sum {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x6x6x3xi8>, tensor<2x3xi8>) outs(%a2 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @pooling_nhwc_sum_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.pooling_nhwc_sum {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @pooling_nhwc_max_tensors(%a0: tensor<3x6x8x2xf16>, %a1: tensor<3x2xf16>, %a2: tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32> {
  %r = linalg.pooling_nhwc_max {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x6x8x2xf16>, tensor<3x2xf16>) outs(%a2 : tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32>
  return %r : tensor<3x2x3x2xf32>
}
func.func @pooling_nhwc_max_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @pooling_nhwc_max_unsigned_tensors(%a0: tensor<2x8x5x3xi8>, %a1: tensor<2x3xi8>, %a2: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %r = linalg.pooling_nhwc_max_unsigned {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x8x5x3xi8>, tensor<2x3xi8>) outs(%a2 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @pooling_nhwc_max_unsigned_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?xi32>, %a2: memref<?x?x?x?xi32>) {
  linalg.pooling_nhwc_max_unsigned {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xi32>, memref<?x?xi32>) outs(%a2 : memref<?x?x?x?xi32>)
  return
}
func.func @pooling_nhwc_min_tensors(%a0: tensor<3x5x5x2xf32>, %a1: tensor<3x2xf32>, %a2: tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16> {
  %r = linalg.pooling_nhwc_min {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x5x5x2xf32>, tensor<3x2xf32>) outs(%a2 : tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16>
  return %r : tensor<3x2x3x2xi16>
}
func.func @pooling_nhwc_min_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.pooling_nhwc_min {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @pooling_nhwc_min_unsigned_tensors(%a0: tensor<2x5x6x3xi8>, %a1: tensor<2x3xi8>, %a2: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %r = linalg.pooling_nhwc_min_unsigned {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x5x6x3xi8>, tensor<2x3xi8>) outs(%a2 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @pooling_nhwc_min_unsigned_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?xi32>, %a2: memref<?x?x?x?xi32>) {
  linalg.pooling_nhwc_min_unsigned {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xi32>, memref<?x?xi32>) outs(%a2 : memref<?x?x?x?xi32>)
  return
}
func.func @pooling_nwc_sum_tensors(%a0: tensor<3x5x3xf16>, %a1: tensor<2xf16>, %a2: tensor<3x2x3xf32>) -> tensor<3x2x3xf32> {
  %r = linalg.pooling_nwc_sum {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[3]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x5x3xf16>, tensor<2xf16>) outs(%a2 : tensor<3x2x3xf32>) -> tensor<3x2x3xf32>
  return %r : tensor<3x2x3xf32>
}
func.func @pooling_nwc_sum_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
// -----
func.func @pooling_nwc_max_tensors(%a0: tensor<2x7x2xi16>, %a1: tensor<3xi16>, %a2: tensor<2x3x2xf64>) -> tensor<2x3x2xf64> {
  %r = linalg.pooling_nwc_max {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : tensor<2x7x2xi16>, tensor<3xi16>) outs(%a2 : tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
  return %r : tensor<2x3x2xf64>
}
func.func @pooling_nwc_max_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.pooling_nwc_max {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @pooling_nwc_max_unsigned_tensors(%a0: tensor<3x4x3xi8>, %a1: tensor<2xi8>, %a2: tensor<3x2x3xi32>) -> tensor<3x2x3xi32> {
  %r = linalg.pooling_nwc_max_unsigned {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x4x3xi8>, tensor<2xi8>) outs(%a2 : tensor<3x2x3xi32>) -> tensor<3x2x3xi32>
  return %r : tensor<3x2x3xi32>
}
func.func @pooling_nwc_max_unsigned_memrefs(%a0: memref<?x?x?xi32>, %a1: memref<?xi32>, %a2: memref<?x?x?xi32>) {
  linalg.pooling_nwc_max_unsigned {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xi32>, memref<?xi32>) outs(%a2 : memref<?x?x?xi32>)
  return
}
func.func @pooling_nwc_min_tensors(%a0: tensor<2x9x2xi8>, %a1: tensor<3xi8>, %a2: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = linalg.pooling_nwc_min {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[3]> : tensor<1xi64>} ins(%a0, %a1 : tensor<2x9x2xi8>, tensor<3xi8>) outs(%a2 : tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
func.func @pooling_nwc_min_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.pooling_nwc_min {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @pooling_nwc_min_unsigned_tensors(%a0: tensor<3x4x3xi8>, %a1: tensor<2xi8>, %a2: tensor<3x2x3xi32>) -> tensor<3x2x3xi32> {
  %r = linalg.pooling_nwc_min_unsigned {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x4x3xi8>, tensor<2xi8>) outs(%a2 : tensor<3x2x3xi32>) -> tensor<3x2x3xi32>
  return %r : tensor<3x2x3xi32>
}
func.func @pooling_nwc_min_unsigned_memrefs(%a0: memref<?x?x?xi32>, %a1: memref<?xi32>, %a2: memref<?x?x?xi32>) {
  linalg.pooling_nwc_min_unsigned {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xi32>, memref<?xi32>) outs(%a2 : memref<?x?x?xi32>)
  return
}
func.func @pooling_nchw_sum_tensors(%a0: tensor<2x3x4x9xi16>, %a1: tensor<2x3xi16>, %a2: tensor<2x3x2x3xf64>) -> tensor<2x3x2x3xf64> {
  %r = linalg.pooling_nchw_sum {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x3x4x9xi16>, tensor<2x3xi16>) outs(%a2 : tensor<2x3x2x3xf64>) -> tensor<2x3x2x3xf64>
  return %r : tensor<2x3x2x3xf64>
}
func.func @pooling_nchw_sum_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.pooling_nchw_sum {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @pooling_nchw_max_tensors(%a0: tensor<3x2x9x4xf32>, %a1: tensor<3x2xf32>, %a2: tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16> {
  %r = linalg.pooling_nchw_max {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x2x9x4xf32>, tensor<3x2xf32>) outs(%a2 : tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16>
  return %r : tensor<3x2x3x2xi16>
}
func.func @pooling_nchw_max_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
// -----
func.func @pooling_ncw_sum_tensors(%a0: tensor<2x3x5xi8>, %a1: tensor<3xi8>, %a2: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = linalg.pooling_ncw_sum {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : tensor<2x3x5xi8>, tensor<3xi8>) outs(%a2 : tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
func.func @pooling_ncw_sum_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.pooling_ncw_sum {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @pooling_ncw_max_tensors(%a0: tensor<3x2x5xf16>, %a1: tensor<2xf16>, %a2: tensor<3x2x3xf32>) -> tensor<3x2x3xf32> {
  %r = linalg.pooling_ncw_max {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x2x5xf16>, tensor<2xf16>) outs(%a2 : tensor<3x2x3xf32>) -> tensor<3x2x3xf32>
  return %r : tensor<3x2x3xf32>
}
func.func @pooling_ncw_max_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.pooling_ncw_max {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @pooling_ndhwc_sum_tensors(%a0: tensor<2x9x4x7x2xi16>, %a1: tensor<3x2x3xi16>, %a2: tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64> {
  %r = linalg.pooling_ndhwc_sum {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1 : tensor<2x9x4x7x2xi16>, tensor<3x2x3xi16>) outs(%a2 : tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64>
  return %r : tensor<2x3x2x3x2xf64>
}
func.func @pooling_ndhwc_sum_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.pooling_ndhwc_sum {dilations = dense<[1, 2, 1]> : tensor<3xi64>, strides = dense<[2, 1, 3]> : tensor<3xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @pooling_ndhwc_max_tensors(%a0: tensor<3x4x7x5x3xf32>, %a1: tensor<2x3x2xf32>, %a2: tensor<3x2x3x2x3xi16>) -> tensor<3x2x3x2x3xi16> {
  %r = linalg.pooling_ndhwc_max {dilations = dense<[1, 2, 1]> : tensor<3xi64>, strides = dense<[2, 1, 3]> : tensor<3xi64>} ins(%a0, %a1 : tensor<3x4x7x5x3xf32>, tensor<2x3x2xf32>) outs(%a2 : tensor<3x2x3x2x3xi16>) -> tensor<3x2x3x2x3xi16>
  return %r : tensor<3x2x3x2x3xi16>
}
func.func @pooling_ndhwc_max_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.pooling_ndhwc_max {dilations = dense<1> : tensor<3xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @pooling_ndhwc_min_tensors(%a0: tensor<2x7x5x7x2xi8>, %a1: tensor<3x2x3xi8>, %a2: tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32> {
  %r = linalg.pooling_ndhwc_min {dilations = dense<[2, 1, 1]> : tensor<3xi64>, strides = dense<[1, 3, 2]> : tensor<3xi64>} ins(%a0, %a1 : tensor<2x7x5x7x2xi8>, tensor<3x2x3xi8>) outs(%a2 : tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32>
  return %r : tensor<2x3x2x3x2xi32>
}
func.func @pooling_ndhwc_min_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.pooling_ndhwc_min {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
