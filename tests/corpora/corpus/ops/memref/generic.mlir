#map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>
"builtin.module"() ({
  "memref.global"() <{alignment = 64 : i64, constant, initial_value = dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>, sym_name = "table", sym_visibility = "private", type = memref<2xf32>}> : () -> ()
  "memref.global"() <{initial_value, sym_name = "scratch", sym_visibility = "nested", type = memref<2xf32>}> : () -> ()
  "memref.global"() <{sym_name = "declared", type = memref<2x0xi8>}> : () -> ()
  "memref.global"() <{constant, initial_value = dense<true> : tensor<2x2xi1>, sym_name = "ones", type = memref<2x2xi1, strided<[4, 1], offset: 3>, 2>}> {mark} : () -> ()
  "func.func"() <{function_type = (index, f32) -> f32, sym_name = "memory"}> ({
  ^bb0(%arg0: index, %arg1: f32):
    %0 = "memref.get_global"() <{name = @table}> : () -> memref<2xf32>
    %1 = "memref.alloc"() <{alignment = 16 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xf32>
    %2 = "memref.alloc"(%arg0, %arg0, %arg0) <{operandSegmentSizes = array<i32: 1, 2>}> : (index, index, index) -> memref<?x8xf32, strided<[?, 1], offset: ?>>
    %3 = "memref.alloca"(%arg0) <{operandSegmentSizes = array<i32: 1, 0>}> : (index) -> memref<?xf32, #map>
    %4 = "memref.realloc"(%1) : (memref<4xf32>) -> memref<8xf32>
    %5 = "memref.realloc"(%4, %arg0) <{alignment = 32 : i64}> : (memref<8xf32>, index) -> memref<?xf32>
    "memref.dealloc"(%5) : (memref<?xf32>) -> ()
    %6 = "memref.assume_alignment"(%0) <{alignment = 16 : i32}> {mark} : (memref<2xf32>) -> memref<2xf32>
    %7:2 = "memref.distinct_objects"(%2, %6) : (memref<?x8xf32, strided<[?, 1], offset: ?>>, memref<2xf32>) -> (memref<?x8xf32, strided<[?, 1], offset: ?>>, memref<2xf32>)
    %8:2 = "memref.alloca_scope"() ({
      %10 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<f32>
      "memref.alloca_scope.return"(%arg1, %arg0) : (f32, index) -> ()
    }) {mark} : () -> (f32, index)
    "memref.alloca_scope"() ({
      %9 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<f32>
      "memref.alloca_scope.return"() : () -> ()
    }) : () -> ()
    "func.return"(%8#0) : (f32) -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() <{sym_name = "outer"}> ({
  "memref.global"() <{initial_value, sym_name = "inside", type = memref<vector<4xf32>>}> : () -> ()
  "func.func"() <{function_type = () -> memref<vector<4xf32>>, sym_name = "get"}> ({
    %0 = "memref.get_global"() <{name = @inside}> : () -> memref<vector<4xf32>>
    "func.return"(%0) : (memref<vector<4xf32>>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (memref<4x8xf32>, memref<4xi32>, index, f32, i32, memref<*xf32>) -> (f32, i32), sym_name = "elements"}> ({
  ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<4xi32>, %arg2: index, %arg3: f32, %arg4: i32, %arg5: memref<*xf32>):
    %0 = "memref.load"(%arg0, %arg2, %arg2) <{nontemporal = true}> : (memref<4x8xf32>, index, index) -> f32
    "memref.store"(%arg3, %arg0, %arg2, %arg2) <{alignment = 4 : i64}> {mark} : (f32, memref<4x8xf32>, index, index) -> ()
    "memref.prefetch"(%arg0, %arg2, %arg2) <{isDataCache = true, isWrite = true, localityHint = 3 : i32}> : (memref<4x8xf32>, index, index) -> ()
    "memref.prefetch"(%arg0, %arg2, %arg2) <{isDataCache = false, isWrite = false, localityHint = 0 : i32}> : (memref<4x8xf32>, index, index) -> ()
    %1 = "memref.atomic_rmw"(%arg3, %arg0, %arg2, %arg2) <{kind = 0 : i64}> {mark} : (f32, memref<4x8xf32>, index, index) -> f32
    %2 = "memref.atomic_rmw"(%arg3, %arg0, %arg2, %arg2) <{kind = 3 : i64}> : (f32, memref<4x8xf32>, index, index) -> f32
    %3 = "memref.atomic_rmw"(%arg3, %arg0, %arg2, %arg2) <{kind = 4 : i64}> : (f32, memref<4x8xf32>, index, index) -> f32
    %4 = "memref.atomic_rmw"(%arg4, %arg1, %arg2) <{kind = 15 : i64}> : (i32, memref<4xi32>, index) -> i32
    %5 = "memref.atomic_rmw"(%arg4, %arg1, %arg2) <{kind = 10 : i64}> : (i32, memref<4xi32>, index) -> i32
    %6 = "memref.generic_atomic_rmw"(%arg1, %arg2) ({
    ^bb0(%arg6: i32):
      %7 = "arith.addi"(%arg6, %arg4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      "memref.atomic_yield"(%7) : (i32) -> ()
    }) {mark} : (memref<4xi32>, index) -> i32
    "memref.copy"(%arg0, %arg5) {mark} : (memref<4x8xf32>, memref<*xf32>) -> ()
    "func.return"(%1, %6) : (f32, i32) -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (memref<16xf32>, memref<4x4xf32, 1>, memref<1xi32>, index, index) -> (), sym_name = "transfers"}> ({
  ^bb0(%arg0: memref<16xf32>, %arg1: memref<4x4xf32, 1>, %arg2: memref<1xi32>, %arg3: index, %arg4: index):
    "memref.dma_start"(%arg0, %arg3, %arg1, %arg3, %arg3, %arg4, %arg2, %arg3) : (memref<16xf32>, index, memref<4x4xf32, 1>, index, index, index, memref<1xi32>, index) -> ()
    "memref.dma_start"(%arg1, %arg3, %arg3, %arg0, %arg3, %arg4, %arg2, %arg3, %arg4, %arg3) : (memref<4x4xf32, 1>, index, index, memref<16xf32>, index, index, memref<1xi32>, index, index, index) -> ()
    "memref.dma_wait"(%arg2, %arg3, %arg4) {mark} : (memref<1xi32>, index, index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()

// -----

#map = affine_map<(d0, d1) -> (d1, d0)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<4x8xf32>, memref<64xi8>, index, memref<*xf32>, memref<2xindex>, memref<?xf32>, memref<1x4x8xf32>) -> index, sym_name = "views"}> ({
  ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<64xi8>, %arg2: index, %arg3: memref<*xf32>, %arg4: memref<2xindex>, %arg5: memref<?xf32>, %arg6: memref<1x4x8xf32>):
    %0 = "memref.extract_aligned_pointer_as_index"(%arg0) : (memref<4x8xf32>) -> index
    %1:6 = "memref.extract_strided_metadata"(%arg0) : (memref<4x8xf32>) -> (memref<f32>, index, index, index, index, index)
    %2 = "memref.rank"(%arg3) : (memref<*xf32>) -> index
    %3 = "memref.dim"(%arg3, %arg2) : (memref<*xf32>, index) -> index
    %4 = "memref.cast"(%arg0) : (memref<4x8xf32>) -> memref<?x8xf32, strided<[?, 1], offset: ?>>
    %5 = "memref.memory_space_cast"(%arg0) {mark} : (memref<4x8xf32>) -> memref<4x8xf32, 3>
    %6 = "memref.memory_space_cast"(%arg3) : (memref<*xf32>) -> memref<*xf32, "near">
    %7 = "memref.reinterpret_cast"(%1#0, %1#1, %arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 2, -9223372036854775808>, static_strides = array<i64: -9223372036854775808, 1>}> {mark} : (memref<f32>, index, index, index) -> memref<2x?xf32, strided<[?, 1], offset: ?>>
    %8 = "memref.reinterpret_cast"(%arg3) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64>, static_strides = array<i64>}> : (memref<*xf32>) -> memref<f32>
    %9 = "memref.reshape"(%arg3, %arg4) : (memref<*xf32>, memref<2xindex>) -> memref<?x?xf32>
    %10 = "memref.expand_shape"(%arg0) <{reassociation = [[0, 1], [2]], static_output_shape = array<i64: 2, 2, 8>}> {mark} : (memref<4x8xf32>) -> memref<2x2x8xf32>
    %11 = "memref.expand_shape"(%arg5, %arg2) <{reassociation = [[0, 1]], static_output_shape = array<i64: -9223372036854775808, 4>}> : (memref<?xf32>, index) -> memref<?x4xf32>
    %12 = "memref.collapse_shape"(%10) <{reassociation = [[0], [1, 2]]}> : (memref<2x2x8xf32>) -> memref<2x16xf32>
    %13 = "memref.collapse_shape"(%8) <{reassociation = []}> : (memref<f32>) -> memref<f32>
    %14 = "memref.transpose"(%arg0) <{permutation = #map}> {mark} : (memref<4x8xf32>) -> memref<8x4xf32, strided<[1, 8]>>
    %15 = "memref.view"(%arg1, %arg2, %arg2) : (memref<64xi8>, index, index) -> memref<?x2xf32>
    %16 = "memref.view"(%arg1, %arg2) {mark} : (memref<64xi8>, index) -> memref<4xf32>
    %17 = "memref.subview"(%arg6, %arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808, 0>, static_sizes = array<i64: 1, 2, -9223372036854775808>, static_strides = array<i64: 1, 1, 2>}> : (memref<1x4x8xf32>, index, index) -> memref<2x?xf32, strided<[8, 2], offset: ?>>
    "func.return"(%0) : (index) -> ()
  }) : () -> ()
}) : () -> ()

// -----

#map = affine_map<(d0) -> (d0)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<4xf32>, memref<f32>, memref<*xf32>, memref<16xi8>, index, f32, memref<1xindex>, memref<i32>, i32) -> (), sym_name = "attributes"}> ({
  ^bb0(%arg0: memref<4xf32>, %arg1: memref<f32>, %arg2: memref<*xf32>, %arg3: memref<16xi8>, %arg4: index, %arg5: f32, %arg6: memref<1xindex>, %arg7: memref<i32>, %arg8: i32):
    %0 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> {mark} : () -> memref<4xf32>
    %1 = "memref.alloca"(%arg4) <{alignment = 8 : i64, operandSegmentSizes = array<i32: 0, 1>}> {mark} : (index) -> memref<4xf32, strided<[?]>>
    %2 = "memref.alloca_scope"() ({
      "memref.alloca_scope.return"(%arg5) {mark} : (f32) -> ()
    }) : () -> f32
    %3 = "memref.realloc"(%0) {mark} : (memref<4xf32>) -> memref<8xf32>
    "memref.dealloc"(%3) {mark} : (memref<8xf32>) -> ()
    %4 = "memref.get_global"() <{name = @g}> {mark} : () -> memref<4xf32>
    %5 = "memref.assume_alignment"(%4) <{alignment = 4 : i32}> : (memref<4xf32>) -> memref<4xf32>
    %6 = "memref.distinct_objects"(%4) {mark} : (memref<4xf32>) -> memref<4xf32>
    %7 = "memref.load"(%arg1) <{alignment = 4 : i64}> {mark} : (memref<f32>) -> f32
    "memref.store"(%7, %arg1) <{nontemporal = true}> : (f32, memref<f32>) -> ()
    "memref.store"(%7, %arg1) : (f32, memref<f32>) -> ()
    %8 = "memref.load"(%arg0, %arg4) : (memref<4xf32>, index) -> f32
    "memref.prefetch"(%arg1) <{isDataCache = true, isWrite = false, localityHint = 2 : i32}> : (memref<f32>) -> ()
    %9 = "memref.atomic_rmw"(%arg8, %arg7) <{kind = 14 : i64}> : (i32, memref<i32>) -> i32
    %10 = "memref.generic_atomic_rmw"(%arg7) ({
    ^bb0(%arg9: i32):
      "memref.atomic_yield"(%arg9) {mark} : (i32) -> ()
    }) : (memref<i32>) -> i32
    "memref.copy"(%arg0, %arg2) : (memref<4xf32>, memref<*xf32>) -> ()
    "memref.dma_start"(%arg0, %arg4, %arg0, %arg4, %arg4, %arg7) : (memref<4xf32>, index, memref<4xf32>, index, index, memref<i32>) -> ()
    "memref.dma_wait"(%arg7, %arg4) : (memref<i32>, index) -> ()
    %11 = "memref.dim"(%arg2, %arg4) {mark} : (memref<*xf32>, index) -> index
    %12 = "memref.rank"(%arg2) {mark} : (memref<*xf32>) -> index
    %13 = "memref.extract_aligned_pointer_as_index"(%arg2) {mark} : (memref<*xf32>) -> index
    %14:2 = "memref.extract_strided_metadata"(%arg1) {mark} : (memref<f32>) -> (memref<f32>, index)
    %15 = "memref.cast"(%arg0) {mark} : (memref<4xf32>) -> memref<?xf32>
    %16 = "memref.subview"(%arg0, %arg4) <{operandSegmentSizes = array<i32: 1, 0, 0, 1>, static_offsets = array<i64: 0>, static_sizes = array<i64: 2>, static_strides = array<i64: -9223372036854775808>}> {mark} : (memref<4xf32>, index) -> memref<2xf32, strided<[?]>>
    %17 = "memref.reshape"(%arg2, %arg6) {mark} : (memref<*xf32>, memref<1xindex>) -> memref<?xf32>
    %18 = "memref.collapse_shape"(%arg0) <{reassociation = [[0]]}> {mark} : (memref<4xf32>) -> memref<4xf32>
    %19 = "memref.transpose"(%arg0) <{permutation = #map}> : (memref<4xf32>) -> memref<4xf32, strided<[1]>>
    "func.return"() : () -> ()
  }) : () -> ()
  "memref.global"() <{sym_name = "g", type = memref<4xf32>}> : () -> ()
}) : () -> ()
