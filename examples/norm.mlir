// The Euclidean norm of a row, with its sum in f16.
//
//   halfulp sensitivity examples/norm.mlir --input=256xf32=0.1
func.func @norm(%x: tensor<256xf32>) -> f32 {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<f16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<f16>) -> tensor<f16>
  %squares = arith.mulf %x, %x : tensor<256xf32>
  %terms = arith.truncf %squares : tensor<256xf32> to tensor<256xf16>
  %sum = linalg.reduce { arith.addf } ins(%terms : tensor<256xf16>) outs(%init : tensor<f16>) dimensions = [0]
  %total = tensor.extract %sum[] : tensor<f16>
  %wide = arith.extf %total : f16 to f32
  %norm = math.sqrt %wide : f32
  return %norm : f32
}
