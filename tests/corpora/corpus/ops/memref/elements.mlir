func.func @elements(%m: memref<4x8xf32>, %k: memref<4xi32>, %i: index, %v: f32, %w: i32, %u: memref<*xf32>) -> (f32, i32) {
  %0 = memref.load %m[%i, %i] {nontemporal = true} : memref<4x8xf32>
  memref.store %v, %m[%i, %i] {alignment = 4 : i64, mark} : memref<4x8xf32>
  memref.prefetch %m[%i, %i], write, locality<3>, data : memref<4x8xf32>
  memref.prefetch %m[%i, %i], read, locality<0>, instr : memref<4x8xf32>
  %1 = memref.atomic_rmw addf %v, %m[%i, %i] {mark} : (f32, memref<4x8xf32>) -> f32
  %2 = memref.atomic_rmw assign %v, %m[%i, %i] : (f32, memref<4x8xf32>) -> f32
  %3 = memref.atomic_rmw maximumf %v, %m[%i, %i] : (f32, memref<4x8xf32>) -> f32
  %4 = memref.atomic_rmw xori %w, %k[%i] : (i32, memref<4xi32>) -> i32
  %5 = memref.atomic_rmw mins %w, %k[%i] : (i32, memref<4xi32>) -> i32
  %6 = memref.generic_atomic_rmw %k[%i] : memref<4xi32> {
  ^bb0(%old: i32):
    %7 = arith.addi %old, %w : i32
    memref.atomic_yield %7 : i32
  } {mark}
  memref.copy %m, %u {mark} : memref<4x8xf32> to memref<*xf32>
  return %1, %6 : f32, i32
}

// -----

func.func @transfers(%a: memref<16xf32>, %b: memref<4x4xf32, 1>, %t: memref<1xi32>, %i: index, %n: index) {
  memref.dma_start %a[%i], %b[%i, %i], %n, %t[%i] : memref<16xf32>, memref<4x4xf32, 1>, memref<1xi32>
  memref.dma_start %b[%i, %i], %a[%i], %n, %t[%i], %n, %i : memref<4x4xf32, 1>, memref<16xf32>, memref<1xi32>
  memref.dma_wait %t[%i], %n {mark} : memref<1xi32>
  return
}
