"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x5xf32>, tensor<4xf32>, index, memref<?xf32>, i1, memref<*xf32>, memref<4xf32>, vector<4xf32>, tensor<5xf32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: tensor<?x5xf32>, %arg1: tensor<4xf32>, %arg2: index, %arg3: memref<?xf32>, %arg4: i1, %arg5: memref<*xf32>, %arg6: memref<4xf32>, %arg7: vector<4xf32>, %arg8: tensor<5xf32>):
    %0 = "bufferization.alloc_tensor"(%arg1) <{operandSegmentSizes = array<i32: 0, 1, 0>}> {tag} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "bufferization.alloc_tensor"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> {tag} : () -> tensor<*xf32>
    %2 = "bufferization.clone"(%arg3) {tag} : (memref<?xf32>) -> memref<4xf32>
    %3 = "bufferization.clone"(%arg3) {tag} : (memref<?xf32>) -> memref<?x?xf32>
    %4 = "bufferization.clone"(%arg3) {tag} : (memref<?xf32>) -> memref<?xf32, strided<[2]>>
    %5 = "bufferization.clone"(%arg3) {tag} : (memref<?xf32>) -> memref<?xf32, 3>
    %6 = "bufferization.to_buffer"(%arg1) {tag} : (tensor<4xf32>) -> memref<4xf32, strided<[?], offset: ?>>
    %7 = "bufferization.to_tensor"(%arg3) {tag} : (memref<?xf32>) -> tensor<?xf32>
    %8 = "bufferization.to_tensor"(%arg5) {tag} : (memref<*xf32>) -> tensor<*xf32>
    "bufferization.materialize_in_destination"(%arg1, %arg6) <{writable}> {tag} : (tensor<4xf32>, memref<4xf32>) -> ()
    "bufferization.materialize_in_destination"(%arg1, %arg3) <{restrict, writable}> {tag} : (tensor<4xf32>, memref<?xf32>) -> ()
    %9 = "bufferization.dealloc"(%arg5) <{operandSegmentSizes = array<i32: 0, 0, 1>}> {tag} : (memref<*xf32>) -> i1
    %10 = "bufferization.alloc_tensor"(%arg1, %arg2) <{operandSegmentSizes = array<i32: 0, 1, 1>}> {tag} : (tensor<4xf32>, index) -> tensor<4xf32>
    %11 = "bufferization.alloc_tensor"(%arg1) <{memory_space = 3 : i64, operandSegmentSizes = array<i32: 0, 1, 0>}> {tag} : (tensor<4xf32>) -> tensor<4xf32>
    %12 = "bufferization.alloc_tensor"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> {tag} : () -> tensor<4xf32, "enc">
    %13 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> {bufferization.manual_deallocation} : () -> memref<3xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x5xf32>, index, memref<?xf32>, i1, memref<*xf32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: tensor<?x5xf32>, %arg1: index, %arg2: memref<?xf32>, %arg3: i1, %arg4: memref<*xf32>):
    %0 = "bufferization.alloc_tensor"(%arg1) <{operandSegmentSizes = array<i32: 1, 0, 0>}> {tag} : (index) -> tensor<?x5xf32>
    %1 = "bufferization.alloc_tensor"(%arg0) <{operandSegmentSizes = array<i32: 0, 1, 0>}> {tag} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %2 = "bufferization.alloc_tensor"(%arg0, %arg1) <{memory_space = 3 : i64, operandSegmentSizes = array<i32: 0, 1, 1>}> {escape = false} : (tensor<?x5xf32>, index) -> tensor<?x5xf32>
    %3 = "bufferization.clone"(%arg2) {a} : (memref<?xf32>) -> memref<?xf32>
    "bufferization.dealloc_tensor"(%arg0) {tag} : (tensor<?x5xf32>) -> ()
    %4 = "bufferization.to_buffer"(%arg0) <{read_only}> {b} : (tensor<?x5xf32>) -> memref<?x5xf32, 3>
    %5 = "bufferization.to_tensor"(%4) <{restrict, writable}> {tag} : (memref<?x5xf32, 3>) -> tensor<?x5xf32>
    %6 = "bufferization.materialize_in_destination"(%arg0, %5) {c} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    "bufferization.materialize_in_destination"(%arg0, %4) <{restrict, writable}> {tag} : (tensor<?x5xf32>, memref<?x5xf32, 3>) -> ()
    %7:2 = "bufferization.dealloc"(%arg2, %4, %arg3, %arg3, %arg4, %arg4) <{operandSegmentSizes = array<i32: 2, 2, 2>}> {d} : (memref<?xf32>, memref<?x5xf32, 3>, i1, i1, memref<*xf32>, memref<*xf32>) -> (i1, i1)
    "bufferization.dealloc"(%arg2, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 0>}> {tag} : (memref<?xf32>, i1) -> ()
    %8 = "bufferization.dealloc"(%arg4) <{operandSegmentSizes = array<i32: 0, 0, 1>}> {tag} : (memref<*xf32>) -> i1
    "bufferization.dealloc"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> {e} : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
