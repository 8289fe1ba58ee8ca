// report: the sizes of a part become known, and another dimension is left out
// passes: --canonicalize
func.func private @put(%part: tensor<?x?x1xi32>, %whole: tensor<1x2x1x2xi32>) -> tensor<1x2x1x2xi32> {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %r = tensor.insert_slice %part into %whole[0, 0, 0, 0] [%one, %two, 1, 1] [1, 1, 1, 1]
      : tensor<?x?x1xi32> into tensor<1x2x1x2xi32>
  return %r : tensor<1x2x1x2xi32>
}
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %part = arith.constant dense<[[[7], [8]]]> : tensor<1x2x1xi32>
  %given = tensor.cast %part : tensor<1x2x1xi32> to tensor<?x?x1xi32>
  %whole = arith.constant dense<0> : tensor<1x2x1x2xi32>
  %r = call @put(%given, %whole) : (tensor<?x?x1xi32>, tensor<1x2x1x2xi32>) -> tensor<1x2x1x2xi32>
  %x = tensor.extract %r[%zero, %one, %zero, %zero] : tensor<1x2x1x2xi32>
  vector.print %x : i32
  return
}
