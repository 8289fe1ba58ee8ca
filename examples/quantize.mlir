// Quantises a matrix per channel (each column has its own scale and zero point), and converts it back to f32:
//
//   halfulp run examples/quantize.mlir --input="2x3xf32=[0.1 0.25 -1][100 -0.375 7]"
//
// The first result is the stored integers: round(x / scale) + zero point, to nearest even, clamped to i8. The second result
// shows the loss: 0.1 is nearer to 0 than to 0.25, and 100 and 7 are outside the range of 8 bits.
!matrix = tensor<2x3xf32>
!stored = tensor<2x3xi8>
!quantized = tensor<2x3x!quant.uniform<i8:f32:1, {0.25, 0.125:10, 0.05:-3}>>

func.func @main(%x: !matrix) -> (!stored, !matrix) {
  %q = quant.qcast %x : !matrix to !quantized
  %bits = quant.scast %q : !quantized to !stored
  %back = quant.dcast %q : !quantized to !matrix
  return %bits, %back : !stored, !matrix
}
