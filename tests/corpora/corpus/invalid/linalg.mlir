func.func @f(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {
  %0 = linalg.add ins(%a, %b : tensor<4xf32>, tensor<5xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xi1>) -> tensor<4xi1> {
  %0 = linalg.sub ins(%a, %a : tensor<4xi1>, tensor<4xi1>) outs(%a : tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
// -----
func.func @f(%a: tensor<4xindex>) -> tensor<4xindex> {
  %0 = linalg.mul ins(%a, %a : tensor<4xindex>, tensor<4xindex>) outs(%a : tensor<4xindex>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}
// -----
func.func @f(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0 = linalg.exp ins(%a : tensor<4xi32>) outs(%a : tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<select> ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.elementwise ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: memref<4x4xf32>) {
  linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}
// -----
func.func @f(%a: memref<4x4xf32>, %b: memref<4xf32>) {
  linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%b, %a : memref<4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}
// -----
func.func @f(%a: memref<4x4xf32>) {
  linalg.matmul indexing_maps = 1 ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}
// -----
func.func @f(%a: memref<2x4x4xf32>) {
  linalg.batch_matmul indexing_maps = [affine_map<(b, i, j, k) -> (i, b, k)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    ins(%a, %a : memref<2x4x4xf32>, memref<2x4x4xf32>) outs(%a : memref<2x4x4xf32>)
  return
}
// -----
func.func @f(%a: memref<4xf32>) {
  linalg.contract ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
  return
}
// -----
func.func @f(%a: memref<4xf32>) {
  linalg.contract indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
  return
}
// -----
func.func @f(%a: memref<4xf32>, %o: memref<f32>) {
  "linalg.dot"(%a, %a, %o) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.maximumf %m, %z : f32
    linalg.yield %s : f32
  }) : (memref<4xf32>, memref<4xf32>, memref<f32>) -> ()
  return
}
// -----
func.func @f(%a: memref<1x4x1xf32>, %k: memref<2x1x1xf32>, %o: memref<1x4x1xf32>) {
  linalg.conv_1d_nwc_wcf {strides = dense<2> : tensor<1xi64>} ins(%a, %k : memref<1x4x1xf32>, memref<2x1x1xf32>) outs(%o : memref<1x4x1xf32>)
  return
}
// -----
func.func @f(%a: memref<1x4x1xf32>, %k: memref<2x1x1xf32>, %o: memref<1x3x1xf32>) {
  linalg.conv_1d_nwc_wcf {strides = dense<2> : tensor<2xi64>} ins(%a, %k : memref<1x4x1xf32>, memref<2x1x1xf32>) outs(%o : memref<1x3x1xf32>)
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<4xf32> {
  %0 = linalg.fill ins(%b : tensor<f32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) {
  %0 = linalg.map ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>)
    (%x: f32, %y: f32) {
      linalg.yield %x : f32
    }
  return
}
// -----
func.func @f(%a: tensor<4xf32>) {
  %0 = linalg.map ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>)
    (%x: f64, %y: f32) {
      linalg.yield %y : f32
    }
  return
}
// -----
func.func @f(%a: tensor<4x2xf32>, %b: tensor<2xf32>) {
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<4x2xf32>) outs(%b : tensor<2xf32>) dimensions = [1]
  return
}
// -----
func.func @f(%a: tensor<4x2xf32>, %b: tensor<f32>) {
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<4x2xf32>) outs(%b : tensor<f32>) dimensions = [1, 0]
  return
}
// -----
func.func @f(%a: tensor<4x2xf32>, %b: tensor<4xf32>) {
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<4x2xf32>) outs(%b : tensor<4xf32>) dimensions = [2]
  return
}
// -----
func.func @f(%a: tensor<4x2xf32>) {
  %0 = linalg.transpose ins(%a : tensor<4x2xf32>) outs(%a : tensor<4x2xf32>) permutation = [1, 0]
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<4x2xf32>) {
  %0 = linalg.broadcast ins(%a : tensor<4xf32>) outs(%b : tensor<4x2xf32>) dimensions = [0]
  return
}
// -----
func.func @f(%a: tensor<4xf32>) {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<9x4xf32>, %b: tensor<3x4x4xf32>) {
  %0 = linalg.pack %a inner_dims_pos = [0] inner_tiles = [4] into %b : tensor<9x4xf32> -> tensor<3x4x4xf32>
  return
}
// -----
func.func @f(%a: tensor<9x4xf32>, %b: tensor<4x4x3xf32>) {
  %0 = linalg.pack %a inner_dims_pos = [0] inner_tiles = [3] into %b : tensor<9x4xf32> -> tensor<4x4x3xf32>
  return
}
// -----
func.func @f(%a: tensor<9x4xf32>, %b: tensor<3x4x3xf32>) {
  %0 = linalg.unpack %b outer_dims_perm = [1, 1] inner_dims_pos = [0] inner_tiles = [3] into %a : tensor<3x4x3xf32> -> tensor<9x4xf32>
  return
}
// -----
func.func @f(%a: tensor<9x4xf32>, %b: tensor<3x4x3xf32>) {
  %0 = linalg.unpack %b inner_dims_pos = [2] inner_tiles = [3] into %a : tensor<3x4x3xf32> -> tensor<9x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4x3x5xf32>, %b: tensor<6x6x5x2xf32>) {
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%a : tensor<2x4x3x5xf32>) outs(%b : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  return
}
// -----
func.func @f(%a: tensor<2x14x14x5xf32>, %b: tensor<6x6x2x3x2x5xf32>) {
  %0 = linalg.winograd_input_transform fmr(F_4_3) ins(%a : tensor<2x14x14x5xf32>) outs(%b : tensor<6x6x2x3x2x5xf32>) -> tensor<6x6x2x3x2x5xf32>
  return
}
// -----
func.func @f(%a: tensor<5x6x3x3x2x2xf32>, %b: tensor<2x12x12x2xf32>) {
  %0 = linalg.winograd_output_transform fmr(F_4_3) ins(%a : tensor<5x6x3x3x2x2xf32>) outs(%b : tensor<2x12x12x2xf32>) -> tensor<2x12x12x2xf32>
  return
}
// -----
// A window that does not move.
func.func @f(%a: tensor<1x2x8xf32>, %b: tensor<3x2x2xf32>, %c: tensor<1x3x7xf32>) -> tensor<1x3x7xf32> {
  %0 = linalg.conv_1d_ncw_fcw {dilations = dense<0> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} ins(%a, %b : tensor<1x2x8xf32>, tensor<3x2x2xf32>) outs(%c : tensor<1x3x7xf32>) -> tensor<1x3x7xf32>
  return %0 : tensor<1x3x7xf32>
}
