// report: a padded tensor is read behind a slice
// passes: --normalize-memrefs
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %number = arith.constant dense<2.5> : tensor<4x5xf32>
  %padding = arith.constant 4.5 : f32
  %padded = tensor.pad %number low[0, 0] high[7, 8] {
  ^bb0(%i: index, %j: index):
    tensor.yield %padding : f32
  } : tensor<4x5xf32> to tensor<11x13xf32>
  %slice = tensor.extract_slice %padded[1, 2] [2, 1] [1, 1] : tensor<11x13xf32> to tensor<2x1xf32>
  %first = tensor.extract %slice[%zero, %zero] : tensor<2x1xf32>
  %second = tensor.extract %slice[%one, %zero] : tensor<2x1xf32>
  vector.print %first : f32
  vector.print %second : f32
  return
}
