// report: booleans of a tensor are read through a call
// passes: --canonicalize
func.func @main() {
  %true = arith.constant true
  %false = arith.constant false
  %flags = tensor.from_elements %true, %false, %true : tensor<3xi1>
  %cast = tensor.cast %flags : tensor<3xi1> to tensor<?xi1>
  call @shown(%cast) : (tensor<?xi1>) -> ()
  return
}
func.func private @shown(%flags: tensor<?xi1>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = tensor.dim %flags, %zero : tensor<?xi1>
  scf.for %i = %zero to %size step %one {
    %flag = tensor.extract %flags[%i] : tensor<?xi1>
    vector.print %flag : i1
  }
  return
}
