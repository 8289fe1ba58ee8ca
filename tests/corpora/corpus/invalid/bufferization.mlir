func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.alloc_tensor(%sz, %sz) : tensor<?x5xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.alloc_tensor"(%s) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.alloc_tensor"(%s) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (tensor<4xf32>) -> tensor<4xi32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.alloc_tensor() : memref<3xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.clone %s : tensor<4xf32> to tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.dealloc_tensor %buf : memref<?xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_buffer %s : tensor<4xf32> to memref<5xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_buffer %s : tensor<4xf32> to memref<?xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_buffer %s : tensor<4xf32> to memref<4xi32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.to_buffer"(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_buffer %s : tensor<4xf32> to memref<*xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_tensor %buf : memref<?xf32> to tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_tensor %u restrict : memref<*xf32> to tensor<?xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.to_tensor %buf writable restrict : memref<?xf32> to tensor<?xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.materialize_in_destination %s in %st : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.materialize_in_destination %s in %t : (tensor<4xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.materialize_in_destination %s in %v : (tensor<4xf32>, vector<4xf32>) -> ()
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.materialize_in_destination"(%s, %u) <{writable}> : (tensor<4xf32>, memref<*xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { "bufferization.materialize_in_destination"(%s, %u) <{writable}> : (tensor<4xf32>, memref<*xf32>) -> ()
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.materialize_in_destination %v in %v : (vector<4xf32>, vector<4xf32>) -> ()
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { %0:2 = "bufferization.materialize_in_destination"(%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.materialize_in_destination"(%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> f32
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.dealloc (%buf : memref<?xf32>) if (%c, %c)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.dealloc (%buf, %u : memref<?xf32>) if (%c)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) { bufferization.dealloc (%s : tensor<4xf32>) if (%c)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.dealloc retain (%s : tensor<4xf32>)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.dealloc if (%c)
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = "bufferization.dealloc"(%c) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (i1) -> i1
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.alloc_tensor() copy(%s : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %0 = bufferization.alloc_tensor() size_hint=%sz copy(%s) : tensor<4xf32>
  return
}
