// f4E2M1FN as a scalar and in every container.
func.func private @f4E2M1FN(f4E2M1FN, tensor<4xf4E2M1FN>, tensor<?xf4E2M1FN>, tensor<*xf4E2M1FN>, vector<8xf4E2M1FN>, vector<[4]xf4E2M1FN>, memref<2xf4E2M1FN>, memref<*xf4E2M1FN>, complex<f4E2M1FN>, tuple<f4E2M1FN>) -> f4E2M1FN
// -----
// f4E2M1FN: scalars, splats and elements of constants.
func.func @constants() -> (f4E2M1FN, tensor<2xf4E2M1FN>, vector<3xf4E2M1FN>) {
  %0 = arith.constant 1.0 : f4E2M1FN
  %1 = arith.constant dense<2.0> : tensor<2xf4E2M1FN>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf4E2M1FN>
  return %0, %1, %2 : f4E2M1FN, tensor<2xf4E2M1FN>, vector<3xf4E2M1FN>
}
// -----
// f6E2M3FN as a scalar and in every container.
func.func private @f6E2M3FN(f6E2M3FN, tensor<4xf6E2M3FN>, tensor<?xf6E2M3FN>, tensor<*xf6E2M3FN>, vector<8xf6E2M3FN>, vector<[4]xf6E2M3FN>, memref<2xf6E2M3FN>, memref<*xf6E2M3FN>, complex<f6E2M3FN>, tuple<f6E2M3FN>) -> f6E2M3FN
// -----
// f6E2M3FN: scalars, splats and elements of constants.
func.func @constants() -> (f6E2M3FN, tensor<2xf6E2M3FN>, vector<3xf6E2M3FN>) {
  %0 = arith.constant 1.0 : f6E2M3FN
  %1 = arith.constant dense<2.0> : tensor<2xf6E2M3FN>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf6E2M3FN>
  return %0, %1, %2 : f6E2M3FN, tensor<2xf6E2M3FN>, vector<3xf6E2M3FN>
}
// -----
// f6E3M2FN as a scalar and in every container.
func.func private @f6E3M2FN(f6E3M2FN, tensor<4xf6E3M2FN>, tensor<?xf6E3M2FN>, tensor<*xf6E3M2FN>, vector<8xf6E3M2FN>, vector<[4]xf6E3M2FN>, memref<2xf6E3M2FN>, memref<*xf6E3M2FN>, complex<f6E3M2FN>, tuple<f6E3M2FN>) -> f6E3M2FN
// -----
// f6E3M2FN: scalars, splats and elements of constants.
func.func @constants() -> (f6E3M2FN, tensor<2xf6E3M2FN>, vector<3xf6E3M2FN>) {
  %0 = arith.constant 1.0 : f6E3M2FN
  %1 = arith.constant dense<2.0> : tensor<2xf6E3M2FN>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf6E3M2FN>
  return %0, %1, %2 : f6E3M2FN, tensor<2xf6E3M2FN>, vector<3xf6E3M2FN>
}
// -----
// f8E3M4 as a scalar and in every container.
func.func private @f8E3M4(f8E3M4, tensor<4xf8E3M4>, tensor<?xf8E3M4>, tensor<*xf8E3M4>, vector<8xf8E3M4>, vector<[4]xf8E3M4>, memref<2xf8E3M4>, memref<*xf8E3M4>, complex<f8E3M4>, tuple<f8E3M4>) -> f8E3M4
// -----
// f8E3M4: scalars, splats and elements of constants.
func.func @constants() -> (f8E3M4, tensor<2xf8E3M4>, vector<3xf8E3M4>) {
  %0 = arith.constant 1.0 : f8E3M4
  %1 = arith.constant dense<2.0> : tensor<2xf8E3M4>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E3M4>
  return %0, %1, %2 : f8E3M4, tensor<2xf8E3M4>, vector<3xf8E3M4>
}
// -----
// f8E4M3 as a scalar and in every container.
func.func private @f8E4M3(f8E4M3, tensor<4xf8E4M3>, tensor<?xf8E4M3>, tensor<*xf8E4M3>, vector<8xf8E4M3>, vector<[4]xf8E4M3>, memref<2xf8E4M3>, memref<*xf8E4M3>, complex<f8E4M3>, tuple<f8E4M3>) -> f8E4M3
// -----
// f8E4M3: scalars, splats and elements of constants.
func.func @constants() -> (f8E4M3, tensor<2xf8E4M3>, vector<3xf8E4M3>) {
  %0 = arith.constant 1.0 : f8E4M3
  %1 = arith.constant dense<2.0> : tensor<2xf8E4M3>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E4M3>
  return %0, %1, %2 : f8E4M3, tensor<2xf8E4M3>, vector<3xf8E4M3>
}
// -----
// f8E4M3B11FNUZ as a scalar and in every container.
func.func private @f8E4M3B11FNUZ(f8E4M3B11FNUZ, tensor<4xf8E4M3B11FNUZ>, tensor<?xf8E4M3B11FNUZ>, tensor<*xf8E4M3B11FNUZ>, vector<8xf8E4M3B11FNUZ>, vector<[4]xf8E4M3B11FNUZ>, memref<2xf8E4M3B11FNUZ>, memref<*xf8E4M3B11FNUZ>, complex<f8E4M3B11FNUZ>, tuple<f8E4M3B11FNUZ>) -> f8E4M3B11FNUZ
// -----
// f8E4M3B11FNUZ: scalars, splats and elements of constants.
func.func @constants() -> (f8E4M3B11FNUZ, tensor<2xf8E4M3B11FNUZ>, vector<3xf8E4M3B11FNUZ>) {
  %0 = arith.constant 1.0 : f8E4M3B11FNUZ
  %1 = arith.constant dense<2.0> : tensor<2xf8E4M3B11FNUZ>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E4M3B11FNUZ>
  return %0, %1, %2 : f8E4M3B11FNUZ, tensor<2xf8E4M3B11FNUZ>, vector<3xf8E4M3B11FNUZ>
}
// -----
// f8E4M3FN as a scalar and in every container.
func.func private @f8E4M3FN(f8E4M3FN, tensor<4xf8E4M3FN>, tensor<?xf8E4M3FN>, tensor<*xf8E4M3FN>, vector<8xf8E4M3FN>, vector<[4]xf8E4M3FN>, memref<2xf8E4M3FN>, memref<*xf8E4M3FN>, complex<f8E4M3FN>, tuple<f8E4M3FN>) -> f8E4M3FN
// -----
// f8E4M3FN: scalars, splats and elements of constants.
func.func @constants() -> (f8E4M3FN, tensor<2xf8E4M3FN>, vector<3xf8E4M3FN>) {
  %0 = arith.constant 1.0 : f8E4M3FN
  %1 = arith.constant dense<2.0> : tensor<2xf8E4M3FN>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E4M3FN>
  return %0, %1, %2 : f8E4M3FN, tensor<2xf8E4M3FN>, vector<3xf8E4M3FN>
}
// -----
// f8E4M3FNUZ as a scalar and in every container.
func.func private @f8E4M3FNUZ(f8E4M3FNUZ, tensor<4xf8E4M3FNUZ>, tensor<?xf8E4M3FNUZ>, tensor<*xf8E4M3FNUZ>, vector<8xf8E4M3FNUZ>, vector<[4]xf8E4M3FNUZ>, memref<2xf8E4M3FNUZ>, memref<*xf8E4M3FNUZ>, complex<f8E4M3FNUZ>, tuple<f8E4M3FNUZ>) -> f8E4M3FNUZ
// -----
// f8E4M3FNUZ: scalars, splats and elements of constants.
func.func @constants() -> (f8E4M3FNUZ, tensor<2xf8E4M3FNUZ>, vector<3xf8E4M3FNUZ>) {
  %0 = arith.constant 1.0 : f8E4M3FNUZ
  %1 = arith.constant dense<2.0> : tensor<2xf8E4M3FNUZ>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E4M3FNUZ>
  return %0, %1, %2 : f8E4M3FNUZ, tensor<2xf8E4M3FNUZ>, vector<3xf8E4M3FNUZ>
}
// -----
// f8E5M2 as a scalar and in every container.
func.func private @f8E5M2(f8E5M2, tensor<4xf8E5M2>, tensor<?xf8E5M2>, tensor<*xf8E5M2>, vector<8xf8E5M2>, vector<[4]xf8E5M2>, memref<2xf8E5M2>, memref<*xf8E5M2>, complex<f8E5M2>, tuple<f8E5M2>) -> f8E5M2
// -----
// f8E5M2: scalars, splats and elements of constants.
func.func @constants() -> (f8E5M2, tensor<2xf8E5M2>, vector<3xf8E5M2>) {
  %0 = arith.constant 1.0 : f8E5M2
  %1 = arith.constant dense<2.0> : tensor<2xf8E5M2>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E5M2>
  return %0, %1, %2 : f8E5M2, tensor<2xf8E5M2>, vector<3xf8E5M2>
}
// -----
// f8E5M2FNUZ as a scalar and in every container.
func.func private @f8E5M2FNUZ(f8E5M2FNUZ, tensor<4xf8E5M2FNUZ>, tensor<?xf8E5M2FNUZ>, tensor<*xf8E5M2FNUZ>, vector<8xf8E5M2FNUZ>, vector<[4]xf8E5M2FNUZ>, memref<2xf8E5M2FNUZ>, memref<*xf8E5M2FNUZ>, complex<f8E5M2FNUZ>, tuple<f8E5M2FNUZ>) -> f8E5M2FNUZ
// -----
// f8E5M2FNUZ: scalars, splats and elements of constants.
func.func @constants() -> (f8E5M2FNUZ, tensor<2xf8E5M2FNUZ>, vector<3xf8E5M2FNUZ>) {
  %0 = arith.constant 1.0 : f8E5M2FNUZ
  %1 = arith.constant dense<2.0> : tensor<2xf8E5M2FNUZ>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E5M2FNUZ>
  return %0, %1, %2 : f8E5M2FNUZ, tensor<2xf8E5M2FNUZ>, vector<3xf8E5M2FNUZ>
}
// -----
// f8E8M0FNU as a scalar and in every container.
func.func private @f8E8M0FNU(f8E8M0FNU, tensor<4xf8E8M0FNU>, tensor<?xf8E8M0FNU>, tensor<*xf8E8M0FNU>, vector<8xf8E8M0FNU>, vector<[4]xf8E8M0FNU>, memref<2xf8E8M0FNU>, memref<*xf8E8M0FNU>, complex<f8E8M0FNU>, tuple<f8E8M0FNU>) -> f8E8M0FNU
// -----
// f8E8M0FNU: scalars, splats and elements of constants.
func.func @constants() -> (f8E8M0FNU, tensor<2xf8E8M0FNU>, vector<3xf8E8M0FNU>) {
  %0 = arith.constant 1.0 : f8E8M0FNU
  %1 = arith.constant dense<2.0> : tensor<2xf8E8M0FNU>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf8E8M0FNU>
  return %0, %1, %2 : f8E8M0FNU, tensor<2xf8E8M0FNU>, vector<3xf8E8M0FNU>
}
// -----
// f16 as a scalar and in every container.
func.func private @f16(f16, tensor<4xf16>, tensor<?xf16>, tensor<*xf16>, vector<8xf16>, vector<[4]xf16>, memref<2xf16>, memref<*xf16>, complex<f16>, tuple<f16>) -> f16
// -----
// f16: scalars, splats and elements of constants.
func.func @constants() -> (f16, tensor<2xf16>, vector<3xf16>) {
  %0 = arith.constant 1.0 : f16
  %1 = arith.constant dense<2.0> : tensor<2xf16>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf16>
  return %0, %1, %2 : f16, tensor<2xf16>, vector<3xf16>
}
// -----
// bf16 as a scalar and in every container.
func.func private @bf16(bf16, tensor<4xbf16>, tensor<?xbf16>, tensor<*xbf16>, vector<8xbf16>, vector<[4]xbf16>, memref<2xbf16>, memref<*xbf16>, complex<bf16>, tuple<bf16>) -> bf16
// -----
// bf16: scalars, splats and elements of constants.
func.func @constants() -> (bf16, tensor<2xbf16>, vector<3xbf16>) {
  %0 = arith.constant 1.0 : bf16
  %1 = arith.constant dense<2.0> : tensor<2xbf16>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xbf16>
  return %0, %1, %2 : bf16, tensor<2xbf16>, vector<3xbf16>
}
// -----
// tf32 as a scalar and in every container.
func.func private @tf32(tf32, tensor<4xtf32>, tensor<?xtf32>, tensor<*xtf32>, vector<8xtf32>, vector<[4]xtf32>, memref<2xtf32>, memref<*xtf32>, complex<tf32>, tuple<tf32>) -> tf32
// -----
// tf32: scalars, splats and elements of constants.
func.func @constants() -> (tf32, tensor<2xtf32>, vector<3xtf32>) {
  %0 = arith.constant 1.0 : tf32
  %1 = arith.constant dense<2.0> : tensor<2xtf32>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xtf32>
  return %0, %1, %2 : tf32, tensor<2xtf32>, vector<3xtf32>
}
// -----
// f32 as a scalar and in every container.
func.func private @f32(f32, tensor<4xf32>, tensor<?xf32>, tensor<*xf32>, vector<8xf32>, vector<[4]xf32>, memref<2xf32>, memref<*xf32>, complex<f32>, tuple<f32>) -> f32
// -----
// f32: scalars, splats and elements of constants.
func.func @constants() -> (f32, tensor<2xf32>, vector<3xf32>) {
  %0 = arith.constant 1.0 : f32
  %1 = arith.constant dense<2.0> : tensor<2xf32>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf32>
  return %0, %1, %2 : f32, tensor<2xf32>, vector<3xf32>
}
// -----
// f64 as a scalar and in every container.
func.func private @f64(f64, tensor<4xf64>, tensor<?xf64>, tensor<*xf64>, vector<8xf64>, vector<[4]xf64>, memref<2xf64>, memref<*xf64>, complex<f64>, tuple<f64>) -> f64
// -----
// f64: scalars, splats and elements of constants.
func.func @constants() -> (f64, tensor<2xf64>, vector<3xf64>) {
  %0 = arith.constant 1.0 : f64
  %1 = arith.constant dense<2.0> : tensor<2xf64>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf64>
  return %0, %1, %2 : f64, tensor<2xf64>, vector<3xf64>
}
// -----
// f80 as a scalar and in every container.
func.func private @f80(f80, tensor<4xf80>, tensor<?xf80>, tensor<*xf80>, vector<8xf80>, vector<[4]xf80>, memref<2xf80>, memref<*xf80>, complex<f80>, tuple<f80>) -> f80
// -----
// f80: scalars, splats and elements of constants.
func.func @constants() -> (f80, tensor<2xf80>, vector<3xf80>) {
  %0 = arith.constant 1.0 : f80
  %1 = arith.constant dense<2.0> : tensor<2xf80>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf80>
  return %0, %1, %2 : f80, tensor<2xf80>, vector<3xf80>
}
// -----
// f128 as a scalar and in every container.
func.func private @f128(f128, tensor<4xf128>, tensor<?xf128>, tensor<*xf128>, vector<8xf128>, vector<[4]xf128>, memref<2xf128>, memref<*xf128>, complex<f128>, tuple<f128>) -> f128
// -----
// f128: scalars, splats and elements of constants.
func.func @constants() -> (f128, tensor<2xf128>, vector<3xf128>) {
  %0 = arith.constant 1.0 : f128
  %1 = arith.constant dense<2.0> : tensor<2xf128>
  %2 = arith.constant dense<[1.0, 2.0, 4.0]> : vector<3xf128>
  return %0, %1, %2 : f128, tensor<2xf128>, vector<3xf128>
}
