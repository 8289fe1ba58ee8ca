func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0) to (10) reduce ("assign") -> f32 { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0, 1) to (10) { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0) to (10, 3) { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0) to (10) step (1, 2) { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0) to (10) step (%i) { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  %0 = affine.parallel (%a) = (0) to (10) reduce ("foo") -> f32 { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  %0 = affine.parallel (%a) = (0) to (10) reduce ("addf", "addf") -> f32 { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  %0 = affine.parallel (%a) = (0) to (10) -> f32 { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  %0 = affine.parallel (%a) = (0) to (10) reduce ("addf") -> f32 { affine.yield %i : index }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  %0 = affine.parallel (%a) = (0) to (10) reduce ("addf") -> f32 { }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  affine.parallel (%a) = (min(%i, %n)) to (5) { }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  %0 = affine.vector_load %m[%i] : memref<100x100xf32>, vector<8xf32>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  %0 = affine.vector_load %m[%i, %i] : memref<100x100xf32>, vector<8xf64>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  %0 = affine.vector_load %m[%i, %i] : memref<100x100xf32>, f32
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.vector_store %x, %m[%i, %i] : memref<100x100xf32>, vector<3xf64>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.prefetch %m[%i], read, locality<3>, data : memref<100x100xf32>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.prefetch %m[%i, %i], read, locality<5>, data : memref<100x100xf32>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.prefetch %m[%i, %i], rea, locality<3>, data : memref<100x100xf32>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.prefetch %m[%i, %i], read, locality<3>, dat : memref<100x100xf32>
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.linearize_index [%i, %n] by () : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.linearize_index [%i, %n] by (1,2,3) : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  affine.delinearize_index %i into ()
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0:2 = affine.delinearize_index %i into (2, 3, 4) : index, index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0:2 = affine.delinearize_index %i into (2, -3) : index, index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xindex>) {
  %0 = affine.delinearize_index %x into (2) : vector<3xindex>
  return
}
// -----
func.func @f(%n: index) -> i32 {
  %c = arith.constant 1 : i32
  %1 = affine.parallel (%a) = (0) to (%n) reduce ("xori") -> (i32) { affine.yield %c : i32 }
  return %1 : i32
}
// -----
func.func @f(%n: index) -> i32 {
  %c = arith.constant 1 : i32
  %1 = affine.parallel (%a) = (0) to (%n) reduce ("addf") -> (i32) { affine.yield %c : i32 }
  return %1 : i32
}
// -----
func.func @f(%n: index, %c: vector<2xf32>) -> vector<2xf32> {
  %1 = affine.parallel (%a) = (0) to (%n) reduce ("addf") -> (vector<2xf32>) { affine.yield %c : vector<2xf32> }
  return %1 : vector<2xf32>
}
// -----
func.func @f(%n: index, %c: tensor<2xf32>) -> tensor<2xf32> {
  %1 = affine.parallel (%a) = (0) to (%n) reduce ("addf") -> (tensor<2xf32>) { affine.yield %c : tensor<2xf32> }
  return %1 : tensor<2xf32>
}
// -----
func.func @f(%n: index, %c: f32) -> f32 {
  %1 = "affine.parallel"(%n) <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [99], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<(d0) -> (d0)>}> ({
  ^bb0(%a: index): affine.yield %c : f32 }) : (index) -> f32
  return %1 : f32
}
// -----
func.func @f(%n: index, %c: f32) -> f32 {
  %1 = "affine.parallel"(%n) <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [0], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<(d0) -> (d0, d0)>}> ({
  ^bb0(%a: index): affine.yield %c : f32 }) : (index) -> f32
  return %1 : f32
}
