func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %d: memref<10xf32, 2>, %t: memref<1xi32>) -> (index, f32) {
  %v = affine.vector_load %m[%i + 3, %i + symbol(%n)] : memref<100x100xf32>, vector<8xf32>
  affine.vector_store %v, %m[%i, %n] {foo} : memref<100x100xf32>, vector<8xf32>
  %w = affine.vector_load %m[%i, %n] {foo} : memref<100x100xf32>, vector<2x8xf32>
  affine.prefetch %m[%i, %n + 5], read, locality<3>, data : memref<100x100xf32>
  affine.prefetch %m[%i, %n], write, locality<0>, instr {foo} : memref<100x100xf32>
  %0 = affine.linearize_index [%i, %n] by (3, 5) : index
  %1 = affine.linearize_index disjoint [%i, %n] by (%i, 5) : index
  %2 = affine.linearize_index [%i, %n] by (5) {foo} : index
  %3:3 = affine.delinearize_index %0 into (3, 5, 7) : index, index, index
  %4:3 = affine.delinearize_index %0 into (%n, 7) {foo} : index, index, index
  %5:2 = affine.delinearize_index %0 into (%n, 7) : index, index
  %c = arith.constant 1.0 : f32
  affine.parallel (%a) = (0) to (10) {
    affine.store %c, %m[%a, %a] : memref<100x100xf32>
  }
  affine.parallel (%a, %b) = (0, max(%i, 3)) to (10, min(%n, 100)) step (2, 3) {
    affine.store %c, %m[%a, %b] : memref<100x100xf32>
    affine.yield
  } {foo}
  %6 = affine.parallel (%a, %b) = (0, 0) to (10, %n) reduce ("addf") -> f32 {
    %x = affine.load %m[%a, %b] : memref<100x100xf32>
    affine.yield %x : f32
  }
  %8:2 = affine.parallel (%a, %b) = (%i, 0) to (%i + 10, symbol(%n)) step (1, 2) reduce ("maximumf", "mulf") -> (f32, f32) {
    %x = affine.load %m[%a, %b] : memref<100x100xf32>
    affine.yield %x, %x : f32, f32
  }
  %c0 = arith.constant 0 : index
  %num = arith.constant 10 : index
  affine.dma_start %m[%i, %i + 3], %d[%c0], %t[%c0], %num : memref<100x100xf32>, memref<10xf32, 2>, memref<1xi32>
  affine.dma_start %m[%i, %i + 3], %d[%c0], %t[%c0], %num, %i, %n : memref<100x100xf32>, memref<10xf32, 2>, memref<1xi32>
  affine.dma_wait %t[%c0], %num : memref<1xi32>
  return %5#0, %6 : index, f32
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index) {
  affine.parallel (%a) = (0) to (10) step (0) { affine.yield }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: f32) {
  affine.parallel () = () to () { }
  affine.parallel (%a) = (max(%i, %n)) to (min(5)) { }
  affine.parallel (%a) = (max(%i, %n, 4)) to (min(%n + 4 floordiv 3, symbol(%i))) step (7) { }
  affine.parallel (%a, %b) = (%i, max(%i, %n, 4)) to (%n, min(%n + 4 floordiv 3, symbol(%i))) step (1, 1) { }
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.linearize_index [] by () : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.linearize_index [%i] by (0) : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.linearize_index [%i] by (-2) : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xf64>) {
  %0 = affine.delinearize_index %i into () : index
  return
}
// -----
func.func @f(%m: memref<100x100xf32>, %i: index, %n: index, %x: vector<3xi64>) {
  %0 = affine.delinearize_index %i into (2) : index
  %1:2 = affine.delinearize_index %i into (2) : index, index
  %2 = affine.linearize_index disjoint [%i, %n] by (2) {foo} : index
  %3 = "affine.linearize_index"(%i, %n) <{static_basis = array<i64: 4>, operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> index
  return
}
// -----
func.func @f(%n: index) -> i32 {
  %c = arith.constant 1 : i32
  %1 = affine.parallel (%a) = (0) to (%n) reduce ("assign") -> (i32) { affine.yield %c : i32 }
  return %1 : i32
}
