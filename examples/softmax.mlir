// The softmax of a row in f16, without subtraction of its maximum.
//
//   halfulp run --shadow examples/softmax.mlir --input="4xf16=1.1 2.3 5.7 -4.2"
func.func @softmax(%x: tensor<4xf16>) -> tensor<4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = math.exp %x : tensor<4xf16>
  %empty = tensor.empty() : tensor<f16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<f16>) -> tensor<f16>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<4xf16>) outs(%init : tensor<f16>) dimensions = [0]
  %row = tensor.empty() : tensor<4xf16>
  %sums = linalg.broadcast ins(%sum : tensor<f16>) outs(%row : tensor<4xf16>) dimensions = [0]
  %y = arith.divf %e, %sums : tensor<4xf16>
  return %y : tensor<4xf16>
}
