module @jit__lambda {
  func.func @main(%arg0: memref<8x64xf32, strided<[?, ?], offset: ?>>, %arg1: memref<64xf32, strided<[?], offset: ?>>, %arg2: memref<64xf32, strided<[?], offset: ?>>) -> memref<8x64xf32> {
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant 9.99999974E-6 : f32
    %cst_0 = arith.constant 0x7FC00000 : f32
    %cst_1 = arith.constant 6.400000e+01 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      memref.store %cst_2, %alloc[%arg3] : memref<8xf32>
    }
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %arg0[%arg3, %arg4] : memref<8x64xf32, strided<[?, ?], offset: ?>>
        %6 = memref.load %alloc[%arg3] : memref<8xf32>
        %7 = arith.addf %6, %5 : f32
        memref.store %7, %alloc[%arg3] : memref<8xf32>
      }
    }
    %expand_shape = memref.expand_shape %alloc [[0, 1]] output_shape [8, 1] : memref<8xf32> into memref<8x1xf32>
    %alloc_3 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %expand_shape[%arg3, %arg4] : memref<8x1xf32>
        %6 = arith.divf %5, %cst_1 : f32
        memref.store %6, %alloc_3[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_4 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_3[%arg3, %c0] : memref<8x1xf32>
        memref.store %5, %alloc_4[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_5 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %arg0[%arg3, %arg4] : memref<8x64xf32, strided<[?, ?], offset: ?>>
        %6 = memref.load %alloc_4[%arg3, %arg4] : memref<8x64xf32>
        %7 = arith.subf %5, %6 : f32
        memref.store %7, %alloc_5[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_6 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_5[%arg3, %arg4] : memref<8x64xf32>
        %6 = arith.mulf %5, %5 : f32
        memref.store %6, %alloc_6[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_7 = memref.alloc() {alignment = 64 : i64} : memref<f32>
    memref.store %cst_2, %alloc_7[] : memref<f32>
    %alloc_8 = memref.alloc() {alignment = 64 : i64} : memref<f32>
    %0 = memref.load %alloc_7[] : memref<f32>
    %1 = arith.subf %cst_1, %0 : f32
    memref.store %1, %alloc_8[] : memref<f32>
    %alloc_9 = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      memref.store %cst_2, %alloc_9[%arg3] : memref<8xf32>
    }
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_6[%arg3, %arg4] : memref<8x64xf32>
        %6 = memref.load %alloc_9[%arg3] : memref<8xf32>
        %7 = arith.addf %6, %5 : f32
        memref.store %7, %alloc_9[%arg3] : memref<8xf32>
      }
    }
    %expand_shape_10 = memref.expand_shape %alloc_9 [[0, 1]] output_shape [8, 1] : memref<8xf32> into memref<8x1xf32>
    %alloc_11 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %alloc_8[] : memref<f32>
        memref.store %5, %alloc_11[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_12 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %expand_shape_10[%arg3, %arg4] : memref<8x1xf32>
        %6 = memref.load %alloc_11[%arg3, %arg4] : memref<8x1xf32>
        %7 = arith.divf %5, %6 : f32
        memref.store %7, %alloc_12[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_13 = memref.alloc() {alignment = 64 : i64} : memref<i1>
    %2 = memref.load %alloc_8[] : memref<f32>
    %3 = arith.cmpf ogt, %2, %cst_2 : f32
    memref.store %3, %alloc_13[] : memref<i1>
    %alloc_14 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    %4 = memref.load %alloc_13[] : memref<i1>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %alloc_12[%arg3, %arg4] : memref<8x1xf32>
        %6 = arith.select %4, %5, %cst_0 : f32
        memref.store %6, %alloc_14[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_15 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %alloc_14[%arg3, %arg4] : memref<8x1xf32>
        %6 = arith.addf %5, %cst : f32
        memref.store %6, %alloc_15[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_16 = memref.alloc() {alignment = 64 : i64} : memref<8x1xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c1 step %c1 {
        %5 = memref.load %alloc_15[%arg3, %arg4] : memref<8x1xf32>
        %6 = math.rsqrt %5 : f32
        memref.store %6, %alloc_16[%arg3, %arg4] : memref<8x1xf32>
      }
    }
    %alloc_17 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_16[%arg3, %c0] : memref<8x1xf32>
        memref.store %5, %alloc_17[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_18 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_5[%arg3, %arg4] : memref<8x64xf32>
        %6 = memref.load %alloc_17[%arg3, %arg4] : memref<8x64xf32>
        %7 = arith.mulf %5, %6 : f32
        memref.store %7, %alloc_18[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_19 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %arg1[%arg4] : memref<64xf32, strided<[?], offset: ?>>
        memref.store %5, %alloc_19[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_20 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_18[%arg3, %arg4] : memref<8x64xf32>
        %6 = memref.load %alloc_19[%arg3, %arg4] : memref<8x64xf32>
        %7 = arith.mulf %5, %6 : f32
        memref.store %7, %alloc_20[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_21 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %arg2[%arg4] : memref<64xf32, strided<[?], offset: ?>>
        memref.store %5, %alloc_21[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    %alloc_22 = memref.alloc() {alignment = 64 : i64} : memref<8x64xf32>
    scf.for %arg3 = %c0 to %c8 step %c1 {
      scf.for %arg4 = %c0 to %c64 step %c1 {
        %5 = memref.load %alloc_20[%arg3, %arg4] : memref<8x64xf32>
        %6 = memref.load %alloc_21[%arg3, %arg4] : memref<8x64xf32>
        %7 = arith.addf %5, %6 : f32
        memref.store %7, %alloc_22[%arg3, %arg4] : memref<8x64xf32>
      }
    }
    return %alloc_22 : memref<8x64xf32>
  }
}

