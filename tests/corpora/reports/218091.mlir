// report: the memory of a tensor is written in a loop, and filled before it
// passes: --sparsification-and-bufferization
func.func private @last(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %start = arith.constant 0 : i64
  %result = scf.for %i = %zero to %four step %one iter_args(%sum = %start) -> i64 {
    %tensor = tensor.from_elements %a, %b, %b, %b : tensor<4xi64>
    %old = tensor.extract %tensor[%zero] : tensor<4xi64>
    %new = arith.addi %old, %b : i64
    %changed = tensor.insert %new into %tensor[%zero] : tensor<4xi64>
    %read = tensor.extract %changed[%zero] : tensor<4xi64>
    %next = arith.addi %sum, %read : i64
    scf.yield %next : i64
  }
  return %result : i64
}
func.func @main() {
  %a = arith.constant 1 : i64
  %b = arith.constant 5 : i64
  %result = call @last(%a, %b) : (i64, i64) -> i64
  vector.print %result : i64
  return
}
