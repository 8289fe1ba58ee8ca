func.func @f(%t: tensor<8x8xf32>, %p: tensor<2x8xf32>, %n: index) {
  %0 = tensor.extract_slice %t[0, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %1 = tensor.insert_slice %p into %t[%n, 0] [2, 8] [%n, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  return
}
// -----
func.func @parallel(%t: tensor<8x8xf32>, %p: tensor<?x8xf32>, %n: index) -> tensor<8x8xf32> {
  %0 = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<8x8xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %o[0, 0] [%n, 8] [%n, 1] : tensor<?x8xf32> into tensor<8x8xf32>
    }
  }
  return %0 : tensor<8x8xf32>
}
