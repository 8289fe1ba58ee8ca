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
// -----
func.func @f(%m: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %x = "keep.op"() : () -> index
    %v = affine.load %m[%x] : memref<8xf32>
  }
  return
}
// -----
func.func @f(%m: memref<8xf32>, %c: index) {
  affine.for %i = 0 to 8 {
    %x = arith.addi %i, %c : index
    %v = affine.vector_load %m[%x] : memref<8xf32>, vector<2xf32>
  }
  return
}
// -----
func.func @f(%m: memref<8xf32>, %v: vector<2xf32>) {
  affine.for %i = 0 to 8 {
    affine.vector_store %v, %m[symbol(%i)] : memref<8xf32>, vector<2xf32>
  }
  return
}
// -----
func.func @f(%n: index) {
  affine.for %i = 0 to 8 {
    %x = arith.divui %n, %n : index
    affine.for %j = 0 to %x {
    }
  }
  return
}
// -----
func.func @f(%n: i32) {
  affine.for %i = 0 to 8 {
    %x = arith.index_cast %n : i32 to index
    affine.if affine_set<()[s0] : (s0 >= 0)>()[%x] {
    }
  }
  return
}
// -----
func.func @f(%m: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %x = affine.min affine_map<(d0) -> (d0, 4)>(%i)
    affine.prefetch %m[%x], read, locality<3>, data : memref<8xf32>
  }
  return
}
// -----
func.func @f(%m: memref<8xf32>, %n: index) {
  affine.for %i = 0 to 8 {
    %s = memref.subview %m[0] [%i] [1] : memref<8xf32> to memref<?xf32, strided<[1]>>
    %c0 = arith.constant 0 : index
    %x = memref.dim %s, %c0 : memref<?xf32, strided<[1]>>
    affine.parallel (%j) = (0) to (symbol(%x)) {
    }
  }
  return
}
// -----
func.func @f(%m: memref<8xf32>, %x: i32) {
  "affine.store"(%x, %m) <{map = affine_map<() -> (0)>}> : (i32, memref<8xf32>) -> ()
  return
}
// -----
func.func @f(%m: memref<8xf32>, %x: f32) {
  affine.store %x, %m : memref<8xf32>
  return
}
// -----
func.func @f() {
  affine.parallel (%i) = (max()) to (4) {
  }
  return
}
// -----
func.func @f() {
  "affine.if"() <{condition = affine_set<() : (0 == 0)>}> ({
  ^bb0(%i: index):
    affine.yield
  }, {
  }) : () -> ()
  return
}
// -----
#map = affine_map<(d0) -> (d0, 4)>
func.func @f(%n: index) {
  affine.for %i = #map(%n) to 10 {
  }
  return
}
// -----
func.func @f(%n: index) {
  affine.for %i = 0 to 10 step %n {
  }
  return
}
