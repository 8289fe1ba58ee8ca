#map = affine_map<(d0, d1) -> (0)>
module @jit__lambda {
  func.func @main(%arg0: memref<8x32xf32, strided<[?, ?], offset: ?>>, %arg1: memref<32x16xf32, strided<[?, ?], offset: ?>>) -> memref<8x16xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<8x32xf8E4M3FN>
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 32 {
        %0 = affine.load %arg0[%arg2, %arg3] : memref<8x32xf32, strided<[?, ?], offset: ?>>
        %1 = arith.truncf %0 : f32 to f8E4M3FN
        affine.store %1, %alloc[%arg2, %arg3] : memref<8x32xf8E4M3FN>
      }
    }
    %alloc_0 = memref.alloc() {alignment = 64 : i64} : memref<32x16xf8E4M3FN>
    affine.for %arg2 = 0 to 32 {
      affine.for %arg3 = 0 to 16 {
        %0 = affine.load %arg1[%arg2, %arg3] : memref<32x16xf32, strided<[?, ?], offset: ?>>
        %1 = arith.truncf %0 : f32 to f8E4M3FN
        affine.store %1, %alloc_0[%arg2, %arg3] : memref<32x16xf8E4M3FN>
      }
    }
    %alloc_1 = memref.alloc() {alignment = 64 : i64} : memref<8x16xf32>
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 16 step 8 {
        %cst_2 = arith.constant dense<0.000000e+00> : vector<8xf32>
        vector.transfer_write %cst_2, %alloc_1[%arg2, %arg3] : vector<8xf32>, memref<8x16xf32>
      }
    }
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 16 step 8 {
        affine.for %arg4 = 0 to 32 {
          %0 = ub.poison : f8E4M3FN
          %1 = vector.transfer_read %alloc[%arg2, %arg4], %0 {permutation_map = #map} : memref<8x32xf8E4M3FN>, vector<8xf8E4M3FN>
          %2 = ub.poison : f8E4M3FN
          %3 = vector.transfer_read %alloc_0[%arg4, %arg3], %2 : memref<32x16xf8E4M3FN>, vector<8xf8E4M3FN>
          %4 = ub.poison : f32
          %5 = vector.transfer_read %alloc_1[%arg2, %arg3], %4 : memref<8x16xf32>, vector<8xf32>
          %6 = arith.extf %1 : vector<8xf8E4M3FN> to vector<8xf32>
          %7 = arith.extf %3 : vector<8xf8E4M3FN> to vector<8xf32>
          %8 = arith.mulf %6, %7 : vector<8xf32>
          %9 = arith.addf %5, %8 : vector<8xf32>
          vector.transfer_write %9, %alloc_1[%arg2, %arg3] : vector<8xf32>, memref<8x16xf32>
        }
      }
    }
    return %alloc_1 : memref<8x16xf32>
  }
}

