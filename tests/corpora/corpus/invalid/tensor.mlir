func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.extract_slice %t[0] [1] [1] : tensor<4x5xf32> to tensor<1xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.extract_slice %t[0, 0] [1, %n] [1, 1] : tensor<4x5xf32> to tensor<1x3xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.extract_slice %t[3, 0] [2, 1] [1, 1] : tensor<4x5xf32> to tensor<2x1xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.extract_slice %t[-1, 0] [2, 1] [1, 1] : tensor<4x5xf32> to tensor<2x1xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.extract_slice %t[0, 0] [2, 1] [1, 1] : tensor<4x5xf32> to tensor<2xi8>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.insert_slice %d into %t[0, 0] [4, 5] [1, 1] : tensor<?x5xf32> into tensor<4x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = "tensor.extract_slice"(%t) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, 1>, static_strides = array<i64: 1, 1>}> : (tensor<4x5xf32>) -> tensor<1x1xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.collapse_shape %t [[0], [1]] : tensor<4x5xf32> into tensor<20xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.collapse_shape %t [[1, 0]] : tensor<4x5xf32> into tensor<20xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.collapse_shape %t [[0, 1]] : tensor<4x5xf32> into tensor<?xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 3, 5] : tensor<4x5xf32> into tensor<2x3x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 2] : tensor<4x5xf32> into tensor<2x2x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.collapse_shape %t [[0, 1]] : tensor<4x5xf32> into tensor<20xi8>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 2, 5] : tensor<4x5xf32> into tensor<2x2x5xi8>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.concat dim(0) %t, %p : (tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.concat dim(1) %t, %p : (tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<4x10xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.concat dim(0) : () -> tensor<8x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.concat dim(2) %t : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.bitcast %t : tensor<4x5xf32> to tensor<4x5xi16>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.bitcast %t : tensor<4x5xf32> to tensor<4x4xi32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.reshape %u(%k) : (tensor<*xf32>, tensor<?xi32>) -> tensor<?xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.reshape %t(%k) : (tensor<4x5xf32>, tensor<?xi32>) -> tensor<21xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.reshape %t(%k) : (tensor<4x5xf32>, tensor<?xi32>) -> tensor<*xi32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.rank %v : f32
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.gather %t[%i] gather_dims([0]) : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3x1x5xi32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.gather %t[%i] gather_dims([0, 1]) : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.gather %t[%i] gather_dims([2]) : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.scatter %p into %t[%i] scatter_dims([0]) : (tensor<3x5xf32>, tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<4x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.scatter %p into %t[%i] scatter_dims([1]) unique : (tensor<3x5xf32>, tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<4x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.generate %n {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.generate %n {
  ^bb0(%a: index):
    tensor.yield %v : f32
  } : tensor<?x5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.generate {
  ^bb0(%a: i32):
    tensor.yield %v : f32
  } : tensor<5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.generate {
  ^bb0(%a: index):
    tensor.yield %x : i16
  } : tensor<5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.generate {
  ^bb0(%a: index):
  } : tensor<5xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.pad %t low[1] high[1, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x5xf32> to tensor<5x6xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.pad %t low[1, 0] high[1, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x5xf32> to tensor<5x6xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.pad %t low[0, 0] high[1, 1] {
  ^bb0(%a: index):
    tensor.yield %v : f32
  } : tensor<4x5xf32> to tensor<5x6xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.pad %t low[0, 0] high[1, 1] {
  ^bb0(%a: index, %b: i8):
    tensor.yield %v : f32
  } : tensor<4x5xf32> to tensor<5x6xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.pad %t low[0, 0] high[1, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %x : i16
  } : tensor<4x5xf32> to tensor<5x6xf32>
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  tensor.yield %v : f32
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  %0 = tensor.foo %t
  return
}
// -----
func.func @f(%t: tensor<4x5xf32>, %d: tensor<?x5xf32>, %n: index, %v: f32, %i: tensor<3x1xindex>, %u: tensor<*xf32>, %k: tensor<?xi32>, %p: tensor<3x5xf32>, %x: i16) {
  tensor.parallel_insert_slice %p into %t[0, 0] [3, 5] [1, 1] : tensor<3x5xf32> into tensor<4x5xf32>
  return
}
// -----
// A part without elements that begins outside.
func.func @f(%arg0 : tensor<0x2xi8>, %arg1 : tensor<3x3xi8>) -> tensor<3x3xi8> {
  %0 = tensor.insert_slice %arg0 into %arg1[3, 0] [0, 2] [1, 1] : tensor<0x2xi8> into tensor<3x3xi8>
  return %0 : tensor<3x3xi8>
}
// -----
func.func @f(%arg1 : tensor<3x3xi8>) {
  %0 = tensor.extract_slice %arg1[3, 0] [0, 2] [1, 1] : tensor<3x3xi8> to tensor<0x2xi8>
  return
}
// -----
func.func @f(%arg0 : tensor<0x2xi8>, %arg1 : tensor<3x3xi8>) {
  scf.forall (%i) in (2) shared_outs(%o = %arg1) -> tensor<3x3xi8> {
   scf.forall.in_parallel { tensor.parallel_insert_slice %arg0 into %o[3, 0] [0, 2] [1, 1] : tensor<0x2xi8> into tensor<3x3xi8> } }
  return
}
// -----
func.func @f(%a : tensor<0xi8>) { %0 = tensor.extract_slice %a[0] [0] [1] : tensor<0xi8> to tensor<0xi8>
  return }
// -----
func.func @f(%a : tensor<0x4xi8>) { %0 = tensor.extract_slice %a[1, 0] [0, 4] [1, 1] : tensor<0x4xi8> to tensor<0x4xi8>
  return }
