func.func @copy_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.copy ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @copy_i32(%a0: memref<3x4xi32>, %a1: memref<3x4xi32>) {
  linalg.copy ins(%a0 : memref<3x4xi32>) outs(%a1 : memref<3x4xi32>)
  return
}
func.func @copy_i8(%a0: tensor<3x4xi8>, %a1: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.copy ins(%a0 : tensor<3x4xi8>) outs(%a1 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
func.func @copy_unsigned(%a0: tensor<3x4xi8>, %a1: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.copy {cast = #linalg.type_fn<cast_unsigned>} ins(%a0 : tensor<3x4xi8>) outs(%a1 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
func.func @exp_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.exp ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @exp_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.exp ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @log_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.log ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @log_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.log ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
func.func @abs_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.abs ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @abs_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.abs ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @ceil_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.ceil ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @ceil_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.ceil ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
// -----
func.func @floor_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.floor ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @floor_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.floor ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @negf_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.negf ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @negf_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.negf ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
func.func @round_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.round ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @round_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.round ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @sqrt_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.sqrt ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @sqrt_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.sqrt ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
func.func @rsqrt_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.rsqrt ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @rsqrt_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.rsqrt ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @tanh_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.tanh ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @tanh_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.tanh ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
// -----
func.func @erf_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.erf ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @erf_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.erf ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @square_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.square ins(%a0 : tensor<3x4xf32>) outs(%a1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @square_f64(%a0: memref<3x4xf64>, %a1: memref<3x4xf64>) {
  linalg.square ins(%a0 : memref<3x4xf64>) outs(%a1 : memref<3x4xf64>)
  return
}
func.func @reciprocal_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>) {
  linalg.reciprocal ins(%a0 : memref<3x4xf32>) outs(%a1 : memref<3x4xf32>)
  return
}
func.func @reciprocal_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.reciprocal ins(%a0 : tensor<3x4xf64>) outs(%a1 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @add_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>, %a2: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.add ins(%a0, %a1 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%a2 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @add_i32(%a0: memref<3x4xi32>, %a1: memref<3x4xi32>, %a2: memref<3x4xi32>) {
  linalg.add ins(%a0, %a1 : memref<3x4xi32>, memref<3x4xi32>) outs(%a2 : memref<3x4xi32>)
  return
}
func.func @add_i1(%a0: tensor<3x4xi1>, %a1: tensor<3x4xi1>, %a2: tensor<3x4xi1>) -> tensor<3x4xi1> {
  %r = linalg.add ins(%a0, %a1 : tensor<3x4xi1>, tensor<3x4xi1>) outs(%a2 : tensor<3x4xi1>) -> tensor<3x4xi1>
  return %r : tensor<3x4xi1>
}
func.func @sub_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>, %a2: memref<3x4xf32>) {
  linalg.sub ins(%a0, %a1 : memref<3x4xf32>, memref<3x4xf32>) outs(%a2 : memref<3x4xf32>)
  return
}
func.func @sub_i32(%a0: tensor<3x4xi32>, %a1: tensor<3x4xi32>, %a2: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.sub ins(%a0, %a1 : tensor<3x4xi32>, tensor<3x4xi32>) outs(%a2 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
func.func @mul_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>, %a2: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.mul ins(%a0, %a1 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%a2 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
// -----
func.func @mul_i32(%a0: memref<3x4xi32>, %a1: memref<3x4xi32>, %a2: memref<3x4xi32>) {
  linalg.mul ins(%a0, %a1 : memref<3x4xi32>, memref<3x4xi32>) outs(%a2 : memref<3x4xi32>)
  return
}
func.func @mul_i1(%a0: tensor<3x4xi1>, %a1: tensor<3x4xi1>, %a2: tensor<3x4xi1>) -> tensor<3x4xi1> {
  %r = linalg.mul ins(%a0, %a1 : tensor<3x4xi1>, tensor<3x4xi1>) outs(%a2 : tensor<3x4xi1>) -> tensor<3x4xi1>
  return %r : tensor<3x4xi1>
}
func.func @div_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>, %a2: memref<3x4xf32>) {
  linalg.div ins(%a0, %a1 : memref<3x4xf32>, memref<3x4xf32>) outs(%a2 : memref<3x4xf32>)
  return
}
func.func @div_i32(%a0: tensor<3x4xi32>, %a1: tensor<3x4xi32>, %a2: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.div ins(%a0, %a1 : tensor<3x4xi32>, tensor<3x4xi32>) outs(%a2 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
func.func @div_unsigned_i32(%a0: tensor<3x4xi32>, %a1: tensor<3x4xi32>, %a2: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.div_unsigned ins(%a0, %a1 : tensor<3x4xi32>, tensor<3x4xi32>) outs(%a2 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
func.func @powf_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>, %a2: memref<3x4xf32>) {
  linalg.powf ins(%a0, %a1 : memref<3x4xf32>, memref<3x4xf32>) outs(%a2 : memref<3x4xf32>)
  return
}
func.func @powf_f64(%a0: tensor<3x4xf64>, %a1: tensor<3x4xf64>, %a2: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %r = linalg.powf ins(%a0, %a1 : tensor<3x4xf64>, tensor<3x4xf64>) outs(%a2 : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
func.func @max_f32(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>, %a2: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.max ins(%a0, %a1 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%a2 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @max_i32(%a0: memref<3x4xi32>, %a1: memref<3x4xi32>, %a2: memref<3x4xi32>) {
  linalg.max ins(%a0, %a1 : memref<3x4xi32>, memref<3x4xi32>) outs(%a2 : memref<3x4xi32>)
  return
}
func.func @max_i1(%a0: tensor<3x4xi1>, %a1: tensor<3x4xi1>, %a2: tensor<3x4xi1>) -> tensor<3x4xi1> {
  %r = linalg.max ins(%a0, %a1 : tensor<3x4xi1>, tensor<3x4xi1>) outs(%a2 : tensor<3x4xi1>) -> tensor<3x4xi1>
  return %r : tensor<3x4xi1>
}
func.func @min_f32(%a0: memref<3x4xf32>, %a1: memref<3x4xf32>, %a2: memref<3x4xf32>) {
  linalg.min ins(%a0, %a1 : memref<3x4xf32>, memref<3x4xf32>) outs(%a2 : memref<3x4xf32>)
  return
}
func.func @min_i32(%a0: tensor<3x4xi32>, %a1: tensor<3x4xi32>, %a2: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.min ins(%a0, %a1 : tensor<3x4xi32>, tensor<3x4xi32>) outs(%a2 : tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
// -----
func.func @min_i1(%a0: memref<3x4xi1>, %a1: memref<3x4xi1>, %a2: memref<3x4xi1>) {
  linalg.min ins(%a0, %a1 : memref<3x4xi1>, memref<3x4xi1>) outs(%a2 : memref<3x4xi1>)
  return
}
func.func @select_f32(%a0: tensor<3x4xi1>, %a1: tensor<3x4xf32>, %a2: tensor<3x4xf32>, %a3: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.select ins(%a0, %a1, %a2 : tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) outs(%a3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @select_i32(%a0: memref<3x4xi1>, %a1: memref<3x4xi32>, %a2: memref<3x4xi32>, %a3: memref<3x4xi32>) {
  linalg.select ins(%a0, %a1, %a2 : memref<3x4xi1>, memref<3x4xi32>, memref<3x4xi32>) outs(%a3 : memref<3x4xi32>)
  return
}
