// report: what a mask replaces is written back
// passes: --canonicalize
func.func private @masked(%t: tensor<4xi32>, %mask: vector<4xi1>) -> tensor<4xi32> {
  %zero = arith.constant 0 : index
  %padding = arith.constant 9 : i32
  %v = vector.transfer_read %t[%zero], %padding, %mask {in_bounds = [true]} : tensor<4xi32>, vector<4xi32>
  %r = vector.transfer_write %v, %t[%zero] {in_bounds = [true]} : vector<4xi32>, tensor<4xi32>
  return %r : tensor<4xi32>
}
func.func @main() {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %t = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %mask = vector.create_mask %zero : vector<4xi1>
  %r = call @masked(%t, %mask) : (tensor<4xi32>, vector<4xi1>) -> tensor<4xi32>
  %x = tensor.extract %r[%three] : tensor<4xi32>
  vector.print %x : i32
  return
}
