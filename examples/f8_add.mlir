// Adds two vectors of 8-bit floats. Each sum is the exact real sum, rounded once to f8E4M3FN:
//
//   halfulp run examples/f8_add.mlir --input="4xf8E4M3FN=1 0.3 -2.5 448" --input="4xf8E4M3FN=0.0625 0.3 2.5 32"
//
//   1 + 0.0625       a tie between 1 and 1.125: the result is the one with the even significand, 1
//   0.3125 + 0.3125  exact. The format has no value 0.3: each literal 0.3 becomes 0.3125
//   -2.5 + 2.5       +0
//   448 + 32         480 is larger than the largest value, and the format has no infinities: NaN
func.func @main(%a: tensor<4xf8E4M3FN>, %b: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %sum = arith.addf %a, %b : tensor<4xf8E4M3FN>
  return %sum : tensor<4xf8E4M3FN>
}
