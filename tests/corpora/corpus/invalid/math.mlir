func.func @f(%x: tensor<4xf32>, %i: i8) {
  %0 = math.fpowi %x, %i : tensor<4xf32>, i8
  return
}
// -----
func.func @f(%x: tensor<4xf32>, %n: vector<4xi32>) {
  %0 = math.fpowi %x, %n : tensor<4xf32>, vector<4xi32>
  return
}
// -----
func.func @f(%x: tensor<4xf32>, %n: tensor<5xi32>) {
  %0 = math.fpowi %x, %n : tensor<4xf32>, tensor<5xi32>
  return
}
// -----
func.func @f(%x: tensor<4xf32>, %n: tensor<*xi32>) {
  %0 = math.fpowi %x, %n : tensor<4xf32>, tensor<*xi32>
  return
}
// -----
func.func @f(%x: vector<4xf32>, %n: vector<1x4xi32>) {
  %0 = math.fpowi %x, %n : vector<4xf32>, vector<1x4xi32>
  return
}
// -----
func.func @f(%x: f32, %n: i32) {
  %0 = "math.fpowi"(%x, %n) : (f32, i32) -> f16
  return
}
// -----
func.func @f(%x: f32, %n: i32) {
  %0 = "math.fpowi"(%x, %n) : (f32, i32) -> vector<1xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.fpowi %x, %x : f32, f32
  return
}
// -----
func.func @f(%x: i32) {
  %0 = math.exp %x : i32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = "math.exp"(%x) : (f32) -> f16
  return
}
// -----
func.func @f(%x: f32, %y: f16) {
  %0 = "math.powf"(%x, %y) : (f32, f16) -> f32
  return
}
// -----
func.func @f(%x: i32) {
  %0 = math.isnan %x : i32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = "math.isnan"(%x) : (f32) -> i8
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  %0 = "math.isnan"(%x) : (tensor<4xf32>) -> i1
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  %0 = "math.isnan"(%x) : (tensor<4xf32>) -> tensor<5xi1>
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  %0 = "math.isnan"(%x) : (tensor<4xf32>) -> vector<4xi1>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.isnan %x fastmath<nsz> : f32
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  %0:2 = "math.sincos"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.sincos %x : f32
  return
}
// -----
func.func @f(%x: si32) {
  %0 = math.ctlz %x : si32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.absi %x : f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.exp %x fastmath<quick> : f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = "math.exp"(%x) <{fastmath = 1 : i32}> : (f32) -> f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.clampf %x to (%x, %x) : f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.clampf %x, %x, %x : f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.sigmoid %x : f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = math.fma %x, %x : f32
  return
}
// -----
func.func @f(%x: memref<4xf32>) {
  %0 = math.exp %x : memref<4xf32>
  return
}
// -----
func.func @f(%x: complex<f32>) {
  %0 = math.exp %x : complex<f32>
  return
}
