func.func @conv_1d_tensors(%a0: tensor<4xi8>, %a1: tensor<3xi8>, %a2: tensor<2xi32>) -> tensor<2xi32> {
  %r = linalg.conv_1d ins(%a0, %a1 : tensor<4xi8>, tensor<3xi8>) outs(%a2 : tensor<2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
func.func @conv_1d_memrefs(%a0: memref<?xf32>, %a1: memref<?xf32>, %a2: memref<?xf32>) {
  linalg.conv_1d ins(%a0, %a1 : memref<?xf32>, memref<?xf32>) outs(%a2 : memref<?xf32>)
  return
}
func.func @conv_2d_tensors(%a0: tensor<5x3xf16>, %a1: tensor<3x2xf16>, %a2: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %r = linalg.conv_2d ins(%a0, %a1 : tensor<5x3xf16>, tensor<3x2xf16>) outs(%a2 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
func.func @conv_2d_memrefs(%a0: memref<?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?xf32>) {
  linalg.conv_2d ins(%a0, %a1 : memref<?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?xf32>)
  return
}
func.func @conv_3d_tensors(%a0: tensor<4x4x4xi16>, %a1: tensor<3x2x3xi16>, %a2: tensor<2x3x2xf64>) -> tensor<2x3x2xf64> {
  %r = linalg.conv_3d ins(%a0, %a1 : tensor<4x4x4xi16>, tensor<3x2x3xi16>) outs(%a2 : tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
  return %r : tensor<2x3x2xf64>
}
func.func @conv_3d_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.conv_3d ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @conv_1d_nwc_wcf_tensors(%a0: tensor<3x4x3xf32>, %a1: tensor<2x3x3xf32>, %a2: tensor<3x2x3xi16>) -> tensor<3x2x3xi16> {
  %r = linalg.conv_1d_nwc_wcf {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x4x3xf32>, tensor<2x3x3xf32>) outs(%a2 : tensor<3x2x3xi16>) -> tensor<3x2x3xi16>
  return %r : tensor<3x2x3xi16>
}
func.func @conv_1d_nwc_wcf_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @conv_1d_ncw_fcw_tensors(%a0: tensor<2x3x4xi8>, %a1: tensor<3x3x2xi8>, %a2: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = linalg.conv_1d_ncw_fcw {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : tensor<2x3x4xi8>, tensor<3x3x2xi8>) outs(%a2 : tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
func.func @conv_1d_ncw_fcw_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.conv_1d_ncw_fcw {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[3]> : tensor<1xi64>} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @conv_2d_nhwc_hwcf_tensors(%a0: tensor<3x6x6x3xf16>, %a1: tensor<3x2x3x2xf16>, %a2: tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x6x6x3xf16>, tensor<3x2x3x2xf16>) outs(%a2 : tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32>
  return %r : tensor<3x2x3x2xf32>
}
func.func @conv_2d_nhwc_hwcf_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
// -----
func.func @conv_2d_nhwc_hwcf_q_tensors(%a0: tensor<2x6x6x2xi8>, %a1: tensor<2x3x2x3xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<2x6x6x2xi8>, tensor<2x3x2x3xi8>, i32, i32) outs(%a4 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @conv_2d_nhwc_hwcf_q_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_2d_nhwc_hwcf_q {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?xi32>, memref<?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?xi32>)
  return
}
func.func @conv_2d_nhwc_fhwc_tensors(%a0: tensor<3x6x8x3xf32>, %a1: tensor<2x3x2x3xf32>, %a2: tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16> {
  %r = linalg.conv_2d_nhwc_fhwc {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x6x8x3xf32>, tensor<2x3x2x3xf32>) outs(%a2 : tensor<3x2x3x2xi16>) -> tensor<3x2x3x2xi16>
  return %r : tensor<3x2x3x2xi16>
}
func.func @conv_2d_nhwc_fhwc_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @conv_2d_nhwc_fhwc_q_tensors(%a0: tensor<2x8x5x2xi8>, %a1: tensor<3x2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_2d_nhwc_fhwc_q {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<2x8x5x2xi8>, tensor<3x2x3x2xi8>, i32, i32) outs(%a4 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @conv_2d_nhwc_fhwc_q_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_2d_nhwc_fhwc_q {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?xi32>, memref<?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?xi32>)
  return
}
func.func @conv_2d_nchw_fchw_tensors(%a0: tensor<3x3x6x6xf16>, %a1: tensor<2x3x2x3xf16>, %a2: tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32> {
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x3x6x6xf16>, tensor<2x3x2x3xf16>) outs(%a2 : tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32>
  return %r : tensor<3x2x3x2xf32>
}
func.func @conv_2d_nchw_fchw_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @conv_2d_nchw_fchw_q_tensors(%a0: tensor<2x2x6x8xi8>, %a1: tensor<3x2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_2d_nchw_fchw_q {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<2x2x6x8xi8>, tensor<3x2x3x2xi8>, i32, i32) outs(%a4 : tensor<2x3x2x3xi32>) -> tensor<2x3x2x3xi32>
  return %r : tensor<2x3x2x3xi32>
}
func.func @conv_2d_nchw_fchw_q_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_2d_nchw_fchw_q {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?xi32>, memref<?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?xi32>)
  return
}
func.func @conv_2d_ngchw_fgchw_tensors(%a0: tensor<3x2x2x6x6xf32>, %a1: tensor<3x2x2x3x2xf32>, %a2: tensor<3x2x3x2x3xi16>) -> tensor<3x2x3x2x3xi16> {
  %r = linalg.conv_2d_ngchw_fgchw {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x2x2x6x6xf32>, tensor<3x2x2x3x2xf32>) outs(%a2 : tensor<3x2x3x2x3xi16>) -> tensor<3x2x3x2x3xi16>
  return %r : tensor<3x2x3x2x3xi16>
}
func.func @conv_2d_ngchw_fgchw_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.conv_2d_ngchw_fgchw {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
// -----
func.func @conv_2d_ngchw_gfchw_tensors(%a0: tensor<2x3x3x6x6xi8>, %a1: tensor<3x2x3x2x3xi8>, %a2: tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32> {
  %r = linalg.conv_2d_ngchw_gfchw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x3x3x6x6xi8>, tensor<3x2x3x2x3xi8>) outs(%a2 : tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32>
  return %r : tensor<2x3x2x3x2xi32>
}
func.func @conv_2d_ngchw_gfchw_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.conv_2d_ngchw_gfchw {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @conv_2d_ngchw_gfchw_q_tensors(%a0: tensor<3x2x2x6x8xi8>, %a1: tensor<2x3x2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_2d_ngchw_gfchw_q {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<3x2x2x6x8xi8>, tensor<2x3x2x3x2xi8>, i32, i32) outs(%a4 : tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32>
  return %r : tensor<3x2x3x2x3xi32>
}
func.func @conv_2d_ngchw_gfchw_q_memrefs(%a0: memref<?x?x?x?x?xi32>, %a1: memref<?x?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_2d_ngchw_gfchw_q {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?x?xi32>, memref<?x?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?x?xi32>)
  return
}
func.func @conv_2d_nhwgc_gfhwc_tensors(%a0: tensor<2x9x4x3x3xi16>, %a1: tensor<3x2x3x2x3xi16>, %a2: tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64> {
  %r = linalg.conv_2d_nhwgc_gfhwc {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x9x4x3x3xi16>, tensor<3x2x3x2x3xi16>) outs(%a2 : tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64>
  return %r : tensor<2x3x2x3x2xf64>
}
func.func @conv_2d_nhwgc_gfhwc_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.conv_2d_nhwgc_gfhwc {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @conv_2d_nhwgc_gfhwc_q_tensors(%a0: tensor<3x4x7x2x2xi8>, %a1: tensor<2x3x2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_2d_nhwgc_gfhwc_q {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<3x4x7x2x2xi8>, tensor<2x3x2x3x2xi8>, i32, i32) outs(%a4 : tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32>
  return %r : tensor<3x2x3x2x3xi32>
}
func.func @conv_2d_nhwgc_gfhwc_q_memrefs(%a0: memref<?x?x?x?x?xi32>, %a1: memref<?x?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_2d_nhwgc_gfhwc_q {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?x?xi32>, memref<?x?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?x?xi32>)
  return
}
func.func @conv_3d_ndhwc_dhwcf_tensors(%a0: tensor<2x7x5x7x2xi8>, %a1: tensor<3x2x3x2x2xi8>, %a2: tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32> {
  %r = linalg.conv_3d_ndhwc_dhwcf {dilations = dense<[2, 1, 1]> : tensor<3xi64>, strides = dense<[1, 3, 2]> : tensor<3xi64>} ins(%a0, %a1 : tensor<2x7x5x7x2xi8>, tensor<3x2x3x2x2xi8>) outs(%a2 : tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32>
  return %r : tensor<2x3x2x3x2xi32>
}
func.func @conv_3d_ndhwc_dhwcf_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.conv_3d_ndhwc_dhwcf {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @conv_3d_ndhwc_dhwcf_q_tensors(%a0: tensor<3x5x7x4x3xi8>, %a1: tensor<2x3x2x3x3xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.conv_3d_ndhwc_dhwcf_q {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1, %s2, %s3 : tensor<3x5x7x4x3xi8>, tensor<2x3x2x3x3xi8>, i32, i32) outs(%a4 : tensor<3x2x3x2x3xi32>) -> tensor<3x2x3x2x3xi32>
  return %r : tensor<3x2x3x2x3xi32>
}
func.func @conv_3d_ndhwc_dhwcf_q_memrefs(%a0: memref<?x?x?x?x?xi32>, %a1: memref<?x?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.conv_3d_ndhwc_dhwcf_q {dilations = dense<1> : tensor<3xi64>, keep.a} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?x?xi32>, memref<?x?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?x?xi32>)
  return
}
// -----
func.func @conv_3d_ncdhw_fcdhw_tensors(%a0: tensor<2x3x4x7x5xi16>, %a1: tensor<3x3x2x3x2xi16>, %a2: tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64> {
  %r = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<[1, 2, 1]> : tensor<3xi64>, strides = dense<[2, 1, 3]> : tensor<3xi64>} ins(%a0, %a1 : tensor<2x3x4x7x5xi16>, tensor<3x3x2x3x2xi16>) outs(%a2 : tensor<2x3x2x3x2xf64>) -> tensor<2x3x2x3x2xf64>
  return %r : tensor<2x3x2x3x2xf64>
}
func.func @conv_3d_ncdhw_fcdhw_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.conv_3d_ncdhw_fcdhw {dilations = dense<[2, 1, 1]> : tensor<3xi64>, strides = dense<[1, 3, 2]> : tensor<3xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_1d_nwc_wc_tensors(%a0: tensor<3x4x3xf32>, %a1: tensor<2x3xf32>, %a2: tensor<3x2x3xi16>) -> tensor<3x2x3xi16> {
  %r = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<[2]> : tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x4x3xf32>, tensor<2x3xf32>) outs(%a2 : tensor<3x2x3xi16>) -> tensor<3x2x3xi16>
  return %r : tensor<3x2x3xi16>
}
func.func @depthwise_conv_1d_nwc_wc_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @depthwise_conv_1d_ncw_cw_tensors(%a0: tensor<2x2x9xi8>, %a1: tensor<2x3xi8>, %a2: tensor<2x2x3xi32>) -> tensor<2x2x3xi32> {
  %r = linalg.depthwise_conv_1d_ncw_cw {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[3]> : tensor<1xi64>} ins(%a0, %a1 : tensor<2x2x9xi8>, tensor<2x3xi8>) outs(%a2 : tensor<2x2x3xi32>) -> tensor<2x2x3xi32>
  return %r : tensor<2x2x3xi32>
}
func.func @depthwise_conv_1d_ncw_cw_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.depthwise_conv_1d_ncw_cw {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @depthwise_conv_1d_nwc_wcm_tensors(%a0: tensor<3x5x3xf16>, %a1: tensor<3x3x2xf16>, %a2: tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32> {
  %r = linalg.depthwise_conv_1d_nwc_wcm {dilations = dense<[1]> : tensor<1xi64>, strides = dense<[2]> : tensor<1xi64>} ins(%a0, %a1 : tensor<3x5x3xf16>, tensor<3x3x2xf16>) outs(%a2 : tensor<3x2x3x2xf32>) -> tensor<3x2x3x2xf32>
  return %r : tensor<3x2x3x2xf32>
}
func.func @depthwise_conv_1d_nwc_wcm_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.depthwise_conv_1d_nwc_wcm {dilations = dense<1> : tensor<1xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_2d_nhwc_hwc_tensors(%a0: tensor<2x5x6x3xi16>, %a1: tensor<2x3x3xi16>, %a2: tensor<2x3x2x3xf64>) -> tensor<2x3x2x3xf64> {
  %r = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x5x6x3xi16>, tensor<2x3x3xi16>) outs(%a2 : tensor<2x3x2x3xf64>) -> tensor<2x3x2x3xf64>
  return %r : tensor<2x3x2x3xf64>
}
func.func @depthwise_conv_2d_nhwc_hwc_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_2d_nhwc_hwc_q_tensors(%a0: tensor<3x6x6x2xi8>, %a1: tensor<3x2x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<3x2x3x2xi32>) -> tensor<3x2x3x2xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.depthwise_conv_2d_nhwc_hwc_q {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<3x6x6x2xi8>, tensor<3x2x2xi8>, i32, i32) outs(%a4 : tensor<3x2x3x2xi32>) -> tensor<3x2x3x2xi32>
  return %r : tensor<3x2x3x2xi32>
}
func.func @depthwise_conv_2d_nhwc_hwc_q_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.depthwise_conv_2d_nhwc_hwc_q {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?xi32>, memref<?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?xi32>)
  return
}
// -----
func.func @depthwise_conv_2d_nchw_chw_tensors(%a0: tensor<2x3x6x6xi8>, %a1: tensor<3x2x3xi8>, %a2: tensor<2x3x3x2xi32>) -> tensor<2x3x3x2xi32> {
  %r = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : tensor<2x3x6x6xi8>, tensor<3x2x3xi8>) outs(%a2 : tensor<2x3x3x2xi32>) -> tensor<2x3x3x2xi32>
  return %r : tensor<2x3x3x2xi32>
}
func.func @depthwise_conv_2d_nchw_chw_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.depthwise_conv_2d_nchw_chw {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_2d_nhwc_hwcm_tensors(%a0: tensor<3x4x9x2xf16>, %a1: tensor<2x3x2x3xf16>, %a2: tensor<3x2x3x2x3xf32>) -> tensor<3x2x3x2x3xf32> {
  %r = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 3]> : tensor<2xi64>} ins(%a0, %a1 : tensor<3x4x9x2xf16>, tensor<2x3x2x3xf16>) outs(%a2 : tensor<3x2x3x2x3xf32>) -> tensor<3x2x3x2x3xf32>
  return %r : tensor<3x2x3x2x3xf32>
}
func.func @depthwise_conv_2d_nhwc_hwcm_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_2d_nhwc_hwcm_q_tensors(%a0: tensor<2x9x4x3xi8>, %a1: tensor<3x2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.depthwise_conv_2d_nhwc_hwcm_q {dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[3, 2]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : tensor<2x9x4x3xi8>, tensor<3x2x3x2xi8>, i32, i32) outs(%a4 : tensor<2x3x2x3x2xi32>) -> tensor<2x3x2x3x2xi32>
  return %r : tensor<2x3x2x3x2xi32>
}
func.func @depthwise_conv_2d_nhwc_hwcm_q_memrefs(%a0: memref<?x?x?x?xi32>, %a1: memref<?x?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.depthwise_conv_2d_nhwc_hwcm_q {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1, %s2, %s3 : memref<?x?x?x?xi32>, memref<?x?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?x?x?xi32>)
  return
}
func.func @depthwise_conv_3d_ndhwc_dhwc_tensors(%a0: tensor<3x5x5x6x2xf32>, %a1: tensor<3x2x3x2xf32>, %a2: tensor<3x2x3x2x2xi16>) -> tensor<3x2x3x2x2xi16> {
  %r = linalg.depthwise_conv_3d_ndhwc_dhwc {dilations = dense<[1, 2, 1]> : tensor<3xi64>, strides = dense<[2, 1, 3]> : tensor<3xi64>} ins(%a0, %a1 : tensor<3x5x5x6x2xf32>, tensor<3x2x3x2xf32>) outs(%a2 : tensor<3x2x3x2x2xi16>) -> tensor<3x2x3x2x2xi16>
  return %r : tensor<3x2x3x2x2xi16>
}
func.func @depthwise_conv_3d_ndhwc_dhwc_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.depthwise_conv_3d_ndhwc_dhwc {dilations = dense<1> : tensor<3xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_3d_ncdhw_cdhw_tensors(%a0: tensor<2x3x5x6x6xi8>, %a1: tensor<3x2x3x2xi8>, %a2: tensor<2x3x3x2x3xi32>) -> tensor<2x3x3x2x3xi32> {
  %r = linalg.depthwise_conv_3d_ncdhw_cdhw {dilations = dense<[2, 1, 1]> : tensor<3xi64>, strides = dense<[1, 3, 2]> : tensor<3xi64>} ins(%a0, %a1 : tensor<2x3x5x6x6xi8>, tensor<3x2x3x2xi8>) outs(%a2 : tensor<2x3x3x2x3xi32>) -> tensor<2x3x3x2x3xi32>
  return %r : tensor<2x3x3x2x3xi32>
}
func.func @depthwise_conv_3d_ncdhw_cdhw_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.depthwise_conv_3d_ncdhw_cdhw {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @depthwise_conv_3d_ndhwc_dhwcm_tensors(%a0: tensor<3x5x7x4x3xf16>, %a1: tensor<2x3x2x3x3xf16>, %a2: tensor<3x2x3x2x3x3xf32>) -> tensor<3x2x3x2x3x3xf32> {
  %r = linalg.depthwise_conv_3d_ndhwc_dhwcm {dilations = dense<[1, 1, 2]> : tensor<3xi64>, strides = dense<[3, 2, 1]> : tensor<3xi64>} ins(%a0, %a1 : tensor<3x5x7x4x3xf16>, tensor<2x3x2x3x3xf16>) outs(%a2 : tensor<3x2x3x2x3x3xf32>) -> tensor<3x2x3x2x3x3xf32>
  return %r : tensor<3x2x3x2x3x3xf32>
}
func.func @depthwise_conv_3d_ndhwc_dhwcm_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?x?xf32>) {
  linalg.depthwise_conv_3d_ndhwc_dhwcm {dilations = dense<1> : tensor<3xi64>, keep.a} ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?x?xf32>)
  return
}
