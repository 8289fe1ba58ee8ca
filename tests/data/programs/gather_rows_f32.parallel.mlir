module @jit__lambda {
  func.func @main(%arg0: memref<100x16xf32, strided<[?, ?], offset: ?>>, %arg1: memref<8xi32, strided<[?], offset: ?>>) -> memref<8x16xf32> {
    %c16 = arith.constant 16 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c100_i32 = arith.constant 100 : i32
    %c0_i32 = arith.constant 0 : i32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<8xi1>
    scf.parallel (%arg2) = (%c0) to (%c8) step (%c1) {
      %0 = memref.load %arg1[%arg2] : memref<8xi32, strided<[?], offset: ?>>
      %1 = arith.cmpi slt, %0, %c0_i32 : i32
      memref.store %1, %alloc[%arg2] : memref<8xi1>
      scf.reduce 
    }
    %alloc_0 = memref.alloc() {alignment = 64 : i64} : memref<8xi32>
    scf.parallel (%arg2) = (%c0) to (%c8) step (%c1) {
      %0 = memref.load %arg1[%arg2] : memref<8xi32, strided<[?], offset: ?>>
      %1 = arith.addi %0, %c100_i32 : i32
      memref.store %1, %alloc_0[%arg2] : memref<8xi32>
      scf.reduce 
    }
    %alloc_1 = memref.alloc() {alignment = 64 : i64} : memref<8xi32>
    scf.parallel (%arg2) = (%c0) to (%c8) step (%c1) {
      %0 = memref.load %alloc[%arg2] : memref<8xi1>
      %1 = memref.load %alloc_0[%arg2] : memref<8xi32>
      %2 = memref.load %arg1[%arg2] : memref<8xi32, strided<[?], offset: ?>>
      %3 = arith.select %0, %1, %2 : i32
      memref.store %3, %alloc_1[%arg2] : memref<8xi32>
      scf.reduce 
    }
    %expand_shape = memref.expand_shape %alloc_1 [[0, 1]] output_shape [8, 1] : memref<8xi32> into memref<8x1xi32>
    %alloc_2 = memref.alloc() {alignment = 64 : i64} : memref<8x1x16xf32>
    scf.parallel (%arg2, %arg3, %arg4) = (%c0, %c0, %c0) to (%c8, %c1, %c16) step (%c1, %c1, %c1) {
      %0 = memref.load %expand_shape[%arg2, %arg3] : memref<8x1xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = memref.load %arg0[%1, %arg4] : memref<100x16xf32, strided<[?, ?], offset: ?>>
      memref.store %2, %alloc_2[%arg2, %arg3, %arg4] : memref<8x1x16xf32>
      scf.reduce 
    }
    %collapse_shape = memref.collapse_shape %alloc_2 [[0], [1, 2]] : memref<8x1x16xf32> into memref<8x16xf32>
    return %collapse_shape : memref<8x16xf32>
  }
}

