// report: a tensor is transposed into itself
// passes: --one-shot-bufferize=dialect-filter=tensor,linalg,bufferization
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %true = arith.constant true
  %a = arith.constant 1 : i64
  %b = arith.constant 2 : i64
  %tensor = tensor.from_elements %a, %b, %a, %b : tensor<2x2xi64>
  %read = scf.if %true -> tensor<2x2xi64> {
    scf.yield %tensor : tensor<2x2xi64>
  } else {
    scf.yield %tensor : tensor<2x2xi64>
  }
  %transposed = linalg.transpose ins(%read : tensor<2x2xi64>) outs(%tensor : tensor<2x2xi64>) permutation = [1, 0]
  %first = tensor.extract %transposed[%zero, %one] : tensor<2x2xi64>
  %second = tensor.extract %transposed[%one, %zero] : tensor<2x2xi64>
  vector.print %first : i64
  vector.print %second : i64
  return
}
