"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x?x4xf32>, tensor<2x4xf32>, index, tensor<?x?xf32>) -> (), sym_name = "slices"}> ({
  ^bb0(%arg0: tensor<8x?x4xf32>, %arg1: tensor<2x4xf32>, %arg2: index, %arg3: tensor<?x?xf32>):
    %0 = "tensor.extract_slice"(%arg0, %arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808, 1>, static_sizes = array<i64: 4, -9223372036854775808, 3>, static_strides = array<i64: 2, 1, 1>}> {tag} : (tensor<8x?x4xf32>, index, index) -> tensor<4x?x3xf32>
    %1 = "tensor.extract_slice"(%arg0, %arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 2, 1>, static_strides = array<i64: 1, -9223372036854775808, 1>}> {kept} : (tensor<8x?x4xf32>, index, index) -> tensor<2xf32>
    %2 = "tensor.insert_slice"(%arg1, %arg0, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 1, 0>, static_sizes = array<i64: 2, 1, 4>, static_strides = array<i64: 1, 1, 1>}> {tag} : (tensor<2x4xf32>, tensor<8x?x4xf32>, index) -> tensor<8x?x4xf32>
    %3 = "tensor.insert_slice"(%arg3, %arg0, %arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 0, 2, 0>, static_offsets = array<i64: 0, 0, 0>, static_sizes = array<i64: -9223372036854775808, 1, -9223372036854775808>, static_strides = array<i64: 1, 1, 1>}> {tag} : (tensor<?x?xf32>, tensor<8x?x4xf32>, index, index) -> tensor<8x?x4xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x?x6xf32>, index, tensor<f32>, tensor<*xf32>, tensor<2xi32>, tensor<?xindex>) -> (), sym_name = "reshapes"}> ({
  ^bb0(%arg0: tensor<2x?x6xf32>, %arg1: index, %arg2: tensor<f32>, %arg3: tensor<*xf32>, %arg4: tensor<2xi32>, %arg5: tensor<?xindex>):
    %0 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2]]}> {tag} : (tensor<2x?x6xf32>) -> tensor<?x6xf32>
    %1 = "tensor.expand_shape"(%arg0, %arg1) <{reassociation = [[0], [1, 2], [3]], static_output_shape = array<i64: 2, -9223372036854775808, 4, 6>}> {tag} : (tensor<2x?x6xf32>, index) -> tensor<2x?x4x6xf32>
    %2 = "tensor.expand_shape"(%arg2) <{reassociation = [], static_output_shape = array<i64: 1, 1>}> {x = 1 : i8} : (tensor<f32>) -> tensor<1x1xf32>
    %3 = "tensor.collapse_shape"(%2) <{reassociation = []}> {tag} : (tensor<1x1xf32>) -> tensor<f32>
    %4 = "tensor.reshape"(%arg3, %arg4) {tag} : (tensor<*xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %5 = "tensor.reshape"(%arg0, %arg5) {y} : (tensor<2x?x6xf32>, tensor<?xindex>) -> tensor<*xf32>
    %6 = "tensor.rank"(%5) {tag} : (tensor<*xf32>) -> index
    %7 = "tensor.bitcast"(%arg0) {tag} : (tensor<2x?x6xf32>) -> tensor<2x?x6xui32>
    %8 = "tensor.concat"(%arg0, %arg0) <{dim = 2 : i64}> {tag} : (tensor<2x?x6xf32>, tensor<2x?x6xf32>) -> tensor<2x5x12xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x3xi16>, index, i16) -> (), sym_name = "regions"}> ({
  ^bb0(%arg0: tensor<?x3xi16>, %arg1: index, %arg2: i16):
    %0 = "tensor.pad"(%arg0, %arg1, %arg1) <{nofold, operandSegmentSizes = array<i32: 1, 1, 1>, static_high = array<i64: 1, -9223372036854775808>, static_low = array<i64: -9223372036854775808, 0>}> ({
    ^bb0(%arg7: index, %arg8: index):
      "tensor.yield"(%arg2) {tag} : (i16) -> ()
    }) {z} : (tensor<?x3xi16>, index, index) -> tensor<?x?xi16>
    %1 = "tensor.pad"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 2>, static_low = array<i64: 0, 0>}> ({
    ^bb0(%arg5: index, %arg6: index):
      %5 = "arith.addi"(%arg5, %arg6) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %6 = "arith.index_cast"(%5) : (index) -> i16
      "tensor.yield"(%6) {tag} : (i16) -> ()
    }) : (tensor<?x3xi16>) -> tensor<?x5xi16>
    %2 = "tensor.generate"(%arg1) ({
    ^bb0(%arg3: index, %arg4: index):
      %4 = "tensor.extract"(%arg0, %arg3, %arg4) {tag} : (tensor<?x3xi16>, index, index) -> i16
      "tensor.yield"(%4) {tag} : (i16) -> ()
    }) {w} : (index) -> tensor<?x3xi16>
    %3 = "tensor.generate"() ({
      "tensor.yield"(%arg2) {tag} : (i16) -> ()
    }) : () -> tensor<i16>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x5x6xf32>, tensor<1x3x2xindex>, tensor<7x1xi8>, tensor<7x4x6xf32>) -> (), sym_name = "places"}> ({
  ^bb0(%arg0: tensor<4x5x6xf32>, %arg1: tensor<1x3x2xindex>, %arg2: tensor<7x1xi8>, %arg3: tensor<7x4x6xf32>):
    %0 = "tensor.gather"(%arg0, %arg1) <{gather_dims = array<i64: 0, 2>, unique}> {tag} : (tensor<4x5x6xf32>, tensor<1x3x2xindex>) -> tensor<1x3x5xf32>
    %1 = "tensor.gather"(%arg0, %arg1) <{gather_dims = array<i64: 0, 2>}> {a} : (tensor<4x5x6xf32>, tensor<1x3x2xindex>) -> tensor<1x3x1x5x1xf32>
    %2 = "tensor.scatter"(%arg3, %arg0, %arg2) <{scatter_dims = array<i64: 1>, unique}> {tag} : (tensor<7x4x6xf32>, tensor<4x5x6xf32>, tensor<7x1xi8>) -> tensor<4x5x6xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8xf32>, tensor<2xf32>) -> tensor<8xf32>, sym_name = "parallel"}> ({
  ^bb0(%arg0: tensor<8xf32>, %arg1: tensor<2xf32>):
    %0 = "scf.forall"(%arg0) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
    ^bb0(%arg2: index, %arg3: tensor<8xf32>):
      %1 = "arith.addi"(%arg2, %arg2) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      "scf.forall.in_parallel"() ({
        "tensor.parallel_insert_slice"(%arg1, %arg3, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 2>, static_strides = array<i64: 1>}> {tag} : (tensor<2xf32>, tensor<8xf32>, index) -> ()
      }) : () -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%0) : (tensor<8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
