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
// -----
// Values that may be dimensions or symbols inside of loops.
func.func @roles(%m: memref<16xf32>, %n: index, %d: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 16 {
    %c3 = arith.constant 3 : index
    %a = arith.divui %n, %c3 : index
    %b = index.maxs %a, %n
    %v0 = affine.load %m[symbol(%b)] : memref<16xf32>
    %e = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%n]
    %v1 = affine.load %m[%e] : memref<16xf32>
    %f = affine.linearize_index [%i, %n] by (4, 4) : index
    %v2 = affine.load %m[%f] : memref<16xf32>
    %g = memref.dim %d, %c0 : memref<?xf32>
    %v3 = affine.load %m[symbol(%g)] : memref<16xf32>
    %h = memref.alloc(%n) : memref<?xf32>
    %k = memref.cast %h : memref<?xf32> to memref<?xf32>
    %l = memref.dim %k, %c0 : memref<?xf32>
    affine.for %j = 0 to %l {
    }
    %o = affine.min affine_map<(d0) -> (d0, 4)>(%n)
    affine.if affine_set<()[s0] : (s0 >= 0)>()[%o] {
    }
  }
  return
}
// -----
// Loops with all kinds of bounds, conditions and memory.
#set = affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - d0 == 0)>
func.func @loops(%m: memref<?x8xf32>, %n: index, %x: f32) -> (f32, index) {
  %r:2 = affine.for %i = max affine_map<(d0) -> (d0, 3)>(%n) to min affine_map<(d0)[s0] -> (d0 * 2, s0, 100)>(%n)[%n] step 4 iter_args(%a = %x, %b = %n) -> (f32, index) {
    %v = affine.load %m[%i + 3, symbol(%n) mod 8] : memref<?x8xf32>
    affine.store %v, %m[%i floordiv 2, 7] {keep.a} : memref<?x8xf32>
    %c = affine.if #set(%i)[%n] -> index {
      affine.yield %i : index
    } else {
      %d = affine.max affine_map<(d0)[s0] -> (d0 - s0, 0)>(%i)[%n]
      affine.yield %d : index
    }
    affine.yield %v, %c : f32, index
  } {keep.c}
  affine.for %i = %n to 10 {
    affine.for %j = affine_map<(d0) -> (d0 + 1)>(%i) to affine_map<()[s0] -> (s0 ceildiv 4)>()[%n] {
      affine.if affine_set<() : (0 == 0)>() {
      } {keep.d}
      %0 = affine.load %m[symbol(%n), %j] {keep.e} : memref<?x8xf32>
    }
  }
  affine.if affine_set<(d0, d1) : (d0 + d1 >= 0)>(%n, %n) {
    %e = affine.min affine_map<(d0) -> (d0)>(%n) {keep.f}
  } else {
    %e = affine.max affine_map<() -> (1, 2)>() {keep.g}
  }
  return %r#0, %r#1 : f32, index
}
// -----
// Generic form.
func.func @generic(%m: memref<f32>, %n: index, %x: f32) -> f32 {
  %0 = "affine.for"(%n, %x) <{
    lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 1, 1>, step = 1 : index,
    upperBoundMap = affine_map<(d0) -> (d0)>
  }> ({
  ^bb0(%i: index, %a: f32):
    %1 = "affine.load"(%m) <{map = affine_map<() -> ()>}> : (memref<f32>) -> f32
    "affine.store"(%1, %m) <{map = affine_map<() -> ()>}> : (f32, memref<f32>) -> ()
    "affine.if"() <{condition = affine_set<() : (1 >= 0)>}> ({
      "affine.yield"() : () -> ()
    }, {
    }) : () -> ()
    %2 = "affine.min"(%i, %n) <{map = affine_map<(d0)[s0] -> (d0, s0)>}> : (index, index) -> index
    %3 = "affine.max"(%i, %n) <{map = affine_map<(d0)[s0] -> (d0, s0)>}> : (index, index) -> index
    "affine.yield"(%1) {keep.d} : (f32) -> ()
  }) : (index, f32) -> f32
  %4 = "affine.apply"(%n) <{map = affine_map<(d0) -> (d0)>}> : (index) -> index
  return %0 : f32
}
// -----
// Attributes that no op knows, and maps of nothing.
func.func @parts(%m: memref<100xf32>, %n: index, %t: memref<1xi32>, %v: vector<2xf32>) {
  %0 = affine.apply affine_map<() -> (5)>() {keep.a}
  %1 = affine.min affine_map<() -> (5, 6)>() {keep.b}
  %2 = "affine.min"(%n) <{map = affine_map<(d0) -> (d0)>}> {keep.c} : (index) -> index
  affine.parallel (%i) = (0) to (8) {
    "affine.if"(%i) <{condition = affine_set<(d0) : (d0 >= 0)>}> ({
      "affine.yield"() : () -> ()
    }, {
      "affine.yield"() : () -> ()
    }) {keep.e} : (index) -> ()
  } {keep.f}
  "affine.parallel"(%n) <{
    lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [],
    steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<(d0) -> (d0)>
  }> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : (index) -> ()
  "affine.vector_store"(%v, %m) <{map = affine_map<() -> (0)>}> {keep.g} : (vector<2xf32>, memref<100xf32>) -> ()
  %3 = "affine.vector_load"(%m) <{map = affine_map<() -> (0)>}> {keep.h} : (memref<100xf32>) -> vector<2xf32>
  "affine.prefetch"(%m) <{isDataCache = true, isWrite = false, localityHint = 3 : i32, map = affine_map<() -> (0)>}> {keep.i} : (memref<100xf32>) -> ()
  "affine.dma_start"(%m, %n, %m, %n, %t, %n) {
    dst_map = affine_map<(d0) -> (d0)>, src_map = affine_map<(d0) -> (d0)>, tag_map = affine_map<() -> (0)>
  } : (memref<100xf32>, index, memref<100xf32>, index, memref<1xi32>, index) -> ()
  "affine.dma_wait"(%t, %n) {tag_map = affine_map<() -> (0)>} : (memref<1xi32>, index) -> ()
  affine.vector_store %v, %m[0] : memref<100xf32>, vector<2xf32>
  %4 = "affine.linearize_index"(%n) <{operandSegmentSizes = array<i32: 1, 0>, static_basis = array<i64>}> {keep.j} : (index) -> index
  %5:2 = "affine.delinearize_index"(%n, %n) <{static_basis = array<i64: 3, -9223372036854775808>}> {keep.k} : (index, index) -> (index, index)
  return
}
