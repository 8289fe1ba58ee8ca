func.func @f(%t: tensor<?x5xf32>, %s: tensor<4xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>, %st: memref<4xf32>, %v: vector<4xf32>, %t5: tensor<5xf32>) {
  %r0 = bufferization.alloc_tensor() copy(%s) : tensor<4xf32>
  %r1 = bufferization.alloc_tensor() : tensor<*xf32>
  %r2 = bufferization.clone %buf : memref<?xf32> to memref<4xf32>
  %r3 = bufferization.clone %buf : memref<?xf32> to memref<?x?xf32>
  %r4 = bufferization.clone %buf : memref<?xf32> to memref<?xf32, strided<[2]>>
  %r5 = bufferization.clone %buf : memref<?xf32> to memref<?xf32, 3>
  %r6 = bufferization.to_buffer %s : tensor<4xf32> to memref<4xf32, strided<[?], offset: ?>>
  %r7 = bufferization.to_tensor %buf : memref<?xf32> to tensor<?xf32>
  %r8 = bufferization.to_tensor %u : memref<*xf32> to tensor<*xf32>
  bufferization.materialize_in_destination %s in writable %st : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %s in restrict writable %buf : (tensor<4xf32>, memref<?xf32>) -> ()
  bufferization.dealloc retain (%u : memref<*xf32>)
  %r12 = bufferization.alloc_tensor() copy(%s) size_hint=%sz : tensor<4xf32>
  %r13 = bufferization.alloc_tensor() copy(%s) {memory_space = 3} : tensor<4xf32>
  %r14 = bufferization.alloc_tensor() : tensor<4xf32, "enc">
  %r15 = memref.alloc() {bufferization.manual_deallocation} : memref<3xf32>
  return
}
// -----
func.func @f(%t: tensor<?x5xf32>, %sz: index, %buf: memref<?xf32>, %c: i1, %u: memref<*xf32>) {
  %0 = bufferization.alloc_tensor(%sz) : tensor<?x5xf32>
  %1 = bufferization.alloc_tensor() copy(%t) : tensor<?x5xf32>
  %2 = bufferization.alloc_tensor() copy(%t) size_hint=%sz {memory_space = 3 : i64, escape = false} : tensor<?x5xf32>
  %3 = bufferization.clone %buf {a} : memref<?xf32> to memref<?xf32>
  bufferization.dealloc_tensor %t : tensor<?x5xf32>
  %m = bufferization.to_buffer %t read_only {b} : tensor<?x5xf32> to memref<?x5xf32, 3>
  %t4 = bufferization.to_tensor %m restrict writable : memref<?x5xf32, 3> to tensor<?x5xf32>
  %t5 = bufferization.materialize_in_destination %t in %t4 {c} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  bufferization.materialize_in_destination %t in restrict writable %m : (tensor<?x5xf32>, memref<?x5xf32, 3>) -> ()
  %r:2 = bufferization.dealloc (%buf, %m : memref<?xf32>, memref<?x5xf32, 3>) if (%c, %c) retain (%u, %u : memref<*xf32>, memref<*xf32>) {d}
  bufferization.dealloc (%buf : memref<?xf32>) if (%c)
  %r3 = bufferization.dealloc retain (%u : memref<*xf32>)
  bufferization.dealloc {e}
  return
}
