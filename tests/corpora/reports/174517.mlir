// report: the bytes of one matrix are extended by zeros, the numbers of the other are cut
// passes: --linalg-specialize-generic-ops
#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (k, j)>
#places = affine_map<(i, j, k) -> (i, j)>
func.func private @product(%a: tensor<1x1xi8>, %b: tensor<1x1xi64>, %c: tensor<1x1xi32>) -> tensor<1x1xi32> {
  %r = linalg.generic {indexing_maps = [#rows, #columns, #places],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1x1xi8>, tensor<1x1xi64>) outs(%c : tensor<1x1xi32>) {
  ^bb0(%x: i8, %y: i64, %z: i32):
    %wide = arith.extui %x : i8 to i32
    %low = arith.trunci %y : i64 to i32
    %p = arith.muli %wide, %low : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  } -> tensor<1x1xi32>
  return %r : tensor<1x1xi32>
}
func.func @main() {
  %zero = arith.constant 0 : index
  %a = arith.constant dense<-1> : tensor<1x1xi8>
  %b = arith.constant dense<2> : tensor<1x1xi64>
  %c = arith.constant dense<0> : tensor<1x1xi32>
  %r = call @product(%a, %b, %c) : (tensor<1x1xi8>, tensor<1x1xi64>, tensor<1x1xi32>) -> tensor<1x1xi32>
  %x = tensor.extract %r[%zero, %zero] : tensor<1x1xi32>
  vector.print %x : i32
  return
}
