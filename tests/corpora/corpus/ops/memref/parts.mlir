func.func @attributes(%m: memref<4xf32>, %z: memref<f32>, %u: memref<*xf32>, %b: memref<16xi8>, %i: index, %v: f32, %sh: memref<1xindex>, %k: memref<i32>, %w: i32) {
  %0 = memref.alloc() {mark} : memref<4xf32>
  %1 = memref.alloca()[%i] {alignment = 8, mark} : memref<4xf32, strided<[?]>>
  %20 = memref.alloca_scope -> (f32) {
    memref.alloca_scope.return {mark} %v : f32
  }
  %2 = memref.realloc %0 {mark} : memref<4xf32> to memref<8xf32>
  memref.dealloc %2 {mark} : memref<8xf32>
  %3 = memref.get_global @g : memref<4xf32> {mark}
  %4 = memref.assume_alignment %3, 4 : memref<4xf32>
  %5 = memref.distinct_objects %3 {mark} : memref<4xf32>
  %6 = memref.load %z[] {alignment = 4, mark} : memref<f32>
  memref.store %6, %z[] {nontemporal = true} : memref<f32>
  memref.store %6, %z[] : memref<f32>
  %7 = memref.load %m[%i] : memref<4xf32>
  "memref.prefetch"(%z) <{isDataCache = true, isWrite = false, localityHint = 2 : i32}> : (memref<f32>) -> ()
  %8 = memref.atomic_rmw ori %w, %k[] : (i32, memref<i32>) -> i32
  %9 = memref.generic_atomic_rmw %k[] : memref<i32> {
  ^bb0(%old: i32):
    memref.atomic_yield %old {mark} : i32
  }
  memref.copy %m, %u : memref<4xf32> to memref<*xf32>
  "memref.dma_start"(%m, %i, %m, %i, %i, %k) : (memref<4xf32>, index, memref<4xf32>, index, index, memref<i32>) -> ()
  memref.dma_wait %k[], %i : memref<i32>
  %10 = memref.dim {mark} %u, %i : memref<*xf32>
  %11 = memref.rank %u {mark} : memref<*xf32>
  %12 = memref.extract_aligned_pointer_as_index %u : memref<*xf32> -> index {mark}
  %13, %14 = memref.extract_strided_metadata %z : memref<f32> -> memref<f32>, index {mark}
  %15 = memref.cast %m {mark} : memref<4xf32> to memref<?xf32>
  %16 = memref.subview %m[0] [2] [%i] {mark} : memref<4xf32> to memref<2xf32, strided<[?]>>
  %17 = memref.reshape %u(%sh) {mark} : (memref<*xf32>, memref<1xindex>) -> memref<?xf32>
  %18 = memref.collapse_shape %m [[0]] {mark} : memref<4xf32> into memref<4xf32>
  %19 = memref.transpose %m (i) -> (i) : memref<4xf32> to memref<4xf32, strided<[1]>>
  return
}
memref.global @g : memref<4xf32>
