func.func @slices(%t: tensor<8x?x4xf32>, %p: tensor<2x4xf32>, %n: index, %d: tensor<?x?xf32>) {
  %0 = tensor.extract_slice %t[0, %n, 1] [4, %n, 3] [2, 1, 1] : tensor<8x?x4xf32> to tensor<4x?x3xf32>
  %1 = tensor.extract_slice %t[%n, 0, 0] [1, 2, 1] [1, %n, 1] {kept} : tensor<8x?x4xf32> to tensor<2xf32>
  %2 = tensor.insert_slice %p into %t[%n, 1, 0] [2, 1, 4] [1, 1, 1] : tensor<2x4xf32> into tensor<8x?x4xf32>
  %3 = tensor.insert_slice %d into %t[0, 0, 0] [%n, 1, %n] [1, 1, 1] : tensor<?x?xf32> into tensor<8x?x4xf32>
  return
}
// -----
func.func @reshapes(%t: tensor<2x?x6xf32>, %n: index, %s: tensor<f32>, %u: tensor<*xf32>, %sizes: tensor<2xi32>, %more: tensor<?xindex>) {
  %0 = tensor.collapse_shape %t [[0, 1], [2]] : tensor<2x?x6xf32> into tensor<?x6xf32>
  %1 = tensor.expand_shape %t [[0], [1, 2], [3]] output_shape [2, %n, 4, 6] : tensor<2x?x6xf32> into tensor<2x?x4x6xf32>
  %2 = tensor.expand_shape %s [] output_shape [1, 1] {x = 1 : i8} : tensor<f32> into tensor<1x1xf32>
  %3 = tensor.collapse_shape %2 [] : tensor<1x1xf32> into tensor<f32>
  %4 = tensor.reshape %u(%sizes) : (tensor<*xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  %5 = tensor.reshape %t(%more) {y} : (tensor<2x?x6xf32>, tensor<?xindex>) -> tensor<*xf32>
  %6 = tensor.rank %5 : tensor<*xf32>
  %7 = tensor.bitcast %t : tensor<2x?x6xf32> to tensor<2x?x6xui32>
  %8 = tensor.concat dim(2) %t, %t : (tensor<2x?x6xf32>, tensor<2x?x6xf32>) -> tensor<2x5x12xf32>
  return
}
// -----
func.func @regions(%t: tensor<?x3xi16>, %n: index, %v: i16) {
  %0 = tensor.pad %t nofold low[%n, 0] high[1, %n] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : i16
  } {z} : tensor<?x3xi16> to tensor<?x?xi16>
  %1 = tensor.pad %t low[0, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    %k = arith.addi %i, %j : index
    %c = arith.index_cast %k : index to i16
    tensor.yield %c : i16
  } : tensor<?x3xi16> to tensor<?x5xi16>
  %2 = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %e = tensor.extract %t[%i, %j] : tensor<?x3xi16>
    tensor.yield %e : i16
  } {w} : tensor<?x3xi16>
  %3 = tensor.generate {
    tensor.yield %v : i16
  } : tensor<i16>
  return
}
// -----
func.func @places(%t: tensor<4x5x6xf32>, %i: tensor<1x3x2xindex>, %j: tensor<7x1xi8>, %s: tensor<7x4x6xf32>) {
  %0 = tensor.gather %t[%i] gather_dims([0, 2]) unique : (tensor<4x5x6xf32>, tensor<1x3x2xindex>) -> tensor<1x3x5xf32>
  %1 = tensor.gather %t[%i] gather_dims([0, 2]) {a} : (tensor<4x5x6xf32>, tensor<1x3x2xindex>) -> tensor<1x3x1x5x1xf32>
  %2 = tensor.scatter %s into %t[%j] scatter_dims([1]) unique : (tensor<7x4x6xf32>, tensor<4x5x6xf32>, tensor<7x1xi8>) -> tensor<4x5x6xf32>
  return
}
// -----
func.func @parallel(%t: tensor<8xf32>, %p: tensor<2xf32>) -> tensor<8xf32> {
  %0 = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<8xf32>) {
    %k = arith.addi %i, %i : index
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %o[%k] [2] [1] : tensor<2xf32> into tensor<8xf32>
    }
  }
  return %0 : tensor<8xf32>
}
