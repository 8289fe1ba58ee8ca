memref.global "private" constant @table : memref<2xf32> = dense<[0.0, 1.0]> {alignment = 64 : i64}
memref.global "nested" @scratch : memref<2xf32> = uninitialized
memref.global @declared : memref<2x0xi8>
memref.global constant @ones : memref<2x2xi1, strided<[4, 1], offset: 3>, 2> = dense<true> {mark}
func.func @memory(%n: index, %v: f32) -> f32 {
  %0 = memref.get_global @table : memref<2xf32>
  %1 = memref.alloc() {alignment = 16 : i64} : memref<4xf32>
  %2 = memref.alloc(%n)[%n, %n] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  %3 = memref.alloca(%n) : memref<?xf32, affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>>
  %4 = memref.realloc %1 : memref<4xf32> to memref<8xf32>
  %5 = memref.realloc %4(%n) {alignment = 32} : memref<8xf32> to memref<?xf32>
  memref.dealloc %5 : memref<?xf32>
  %6 = memref.assume_alignment %0, 16 {mark} : memref<2xf32>
  %7:2 = memref.distinct_objects %2, %6 : memref<?x8xf32, strided<[?, 1], offset: ?>>, memref<2xf32>
  %8:2 = memref.alloca_scope -> (f32, index) {
    %9 = memref.alloca() : memref<f32>
    memref.alloca_scope.return %v, %n : f32, index
  } {mark}
  memref.alloca_scope {
    memref.alloca() : memref<f32>
  }
  return %8#0 : f32
}

// -----

module @outer {
  memref.global @inside : memref<vector<4xf32>> = uninitialized
  func.func @get() -> memref<vector<4xf32>> {
    %0 = memref.get_global @inside : memref<vector<4xf32>> loc("here")
    return %0 : memref<vector<4xf32>>
  }
}
