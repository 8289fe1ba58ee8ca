module @every attributes {mhlo.num_partitions = 2 : i32} {
  func.func private @helper(%arg0: tensor<f32> {my.number = 3 : i64}) -> (tensor<f32> {my.text = "r"}) {
    return %arg0 : tensor<f32>
  }
  func.func @unary(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4xcomplex<f32>>) {
    %0 = stablehlo.abs %arg0 : tensor<4xf32>
    %1 = stablehlo.cbrt %arg0 : tensor<4xf32>
    %2 = stablehlo.ceil %arg0 : tensor<4xf32>
    %3 = stablehlo.cosine %arg0 : tensor<4xf32>
    %4 = stablehlo.exponential %arg0 : tensor<4xf32>
    %5 = stablehlo.exponential_minus_one %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
    %6 = stablehlo.floor %arg0 : tensor<4xf32>
    %7 = stablehlo.log %arg0 : tensor<4xf32>
    %8 = stablehlo.log_plus_one %arg0 : tensor<4xf32>
    %9 = stablehlo.logistic %arg0 : tensor<4xf32>
    %10 = stablehlo.negate %arg0 : tensor<4xf32>
    %11 = stablehlo.round_nearest_afz %arg0 : tensor<4xf32>
    %12 = stablehlo.round_nearest_even %arg0 : tensor<4xf32>
    %13 = stablehlo.rsqrt %arg0 : tensor<4xf32>
    %14 = stablehlo.sign %arg0 : tensor<4xf32>
    %15 = stablehlo.sine %arg0 : tensor<4xf32>
    %16 = stablehlo.sqrt %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %17 = stablehlo.tan %arg0 : tensor<4xf32>
    %18 = stablehlo.tanh %arg0 : tensor<4xf32>
    %19 = stablehlo.is_finite %arg0 : (tensor<4xf32>) -> tensor<4xi1>
    %20 = stablehlo.count_leading_zeros %arg1 : tensor<4xi32>
    %21 = stablehlo.popcnt %arg1 : tensor<4xi32>
    %22 = stablehlo.not %arg1 : tensor<4xi32>
    %23 = stablehlo.real %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %24 = stablehlo.imag %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %25 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %26 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4xf32>
    %27 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @binary(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xi32>, %arg3: tensor<4xi1>, %arg4: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.subtract %arg0, %arg1 {my.attribute = [1, "two", 3.000000e+00 : f32, f32, {k = true}]} : tensor<4xf32>
    %2 = stablehlo.multiply %arg0, %arg1 : tensor<4xf32>
    %3 = stablehlo.divide %arg0, %arg1 : tensor<4xf32>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<4xf32>
    %5 = stablehlo.maximum %arg0, %arg1 : tensor<4xf32>
    %6 = stablehlo.minimum %arg0, %arg1 : tensor<4xf32>
    %7 = stablehlo.power %arg0, %arg1 : tensor<4xf32>
    %8 = stablehlo.atan2 %arg0, %arg1 : tensor<4xf32>
    %9 = stablehlo.complex %arg0, %arg1 : tensor<4xcomplex<f32>>
    %10 = stablehlo.and %arg2, %arg2 : tensor<4xi32>
    %11 = stablehlo.or %arg2, %arg2 : tensor<4xi32>
    %12 = stablehlo.xor %arg2, %arg2 : tensor<4xi32>
    %13 = stablehlo.shift_left %arg2, %arg2 : tensor<4xi32>
    %14 = stablehlo.shift_right_arithmetic %arg2, %arg2 : tensor<4xi32>
    %15 = stablehlo.shift_right_logical %arg2, %arg2 : tensor<4xi32>
    %16 = stablehlo.compare LT, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %17 = stablehlo.compare GE, %arg0, %arg1, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %18 = stablehlo.select %arg3, %arg0, %arg1 : tensor<4xi1>, tensor<4xf32>
    %19 = stablehlo.clamp %arg0, %arg1, %arg0 : tensor<4xf32>
    %20 = stablehlo.uniform_quantize %arg0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01:1,2.000000e+00,4.000000e+00:-3}>>
    %21 = stablehlo.uniform_dequantize %arg4 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
    %22 = stablehlo.add %arg4, %arg4 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
    return
  }
  func.func @constants() {
    %cst = stablehlo.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf32>
    %c = stablehlo.constant dense<true> : tensor<11xi1>
    %c_0 = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true, false, true]> : tensor<11xi1>
    %c_1 = stablehlo.constant dense<[[1, 2, -3], [7, -8, 0]]> : tensor<2x3xi4>
    %cst_2 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]> : tensor<2xcomplex<f64>>
    %cst_3 = stablehlo.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E5M2>
    %c_4 = stablehlo.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
    %cst_5 = stablehlo.constant dense<1.000980e-01> : tensor<3xbf16>
    %cst_6 = stablehlo.constant dense<> : tensor<0x2xf64>
    %c_7 = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    return
  }
  func.func @moving(%arg0: tensor<2x3xf32>, %arg1: tensor<6xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<2xi32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<6xf32>) -> tensor<2x6xf32>
    %3 = stablehlo.broadcast %arg1, sizes = [2] : (tensor<6xf32>) -> tensor<2x6xf32>
    %4 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %5 = stablehlo.pad %arg1, %arg2, low = [1], high = [-1], interior = [2] : (tensor<6xf32>, tensor<f32>) -> tensor<16xf32>
    %6 = stablehlo.slice %arg1 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
    %7 = stablehlo.dynamic_slice %arg0, %arg3, %arg3, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %8 = stablehlo.dynamic_update_slice %arg1, %arg1, %arg3 : (tensor<6xf32>, tensor<6xf32>, tensor<i32>) -> tensor<6xf32>
    %9 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<2x3xf32>
    %10 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<2x3xf32>) -> tensor<i32>
    %11 = stablehlo.set_dimension_size %arg0, %arg3, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
    %12 = "stablehlo.torch_index_select"(%arg0, %arg4) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    %13 = "stablehlo.gather"(%arg0, %arg4) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    %14 = "stablehlo.scatter"(%arg0, %arg4, %arg0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      stablehlo.return %arg6 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @dynamic(%arg0: tensor<?x3xf32>, %arg1: tensor<6xf32>, %arg2: tensor<f32>, %arg3: tensor<2xi32>, %arg4: tensor<1xi32>, %arg5: tensor<1x8x8x4xf32>, %arg6: tensor<3x3x4x8xf32>, %arg7: tensor<2x2xi64>) {
    %0 = stablehlo.dynamic_broadcast_in_dim %arg1, %arg3, dims = [1] : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x6xf32>
    %1 = stablehlo.dynamic_iota %arg3, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
    %2 = stablehlo.dynamic_reshape %arg0, %arg3 : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %3 = stablehlo.dynamic_pad %arg1, %arg2, %arg4, %arg4, %arg4 : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    %4 = stablehlo.real_dynamic_slice %arg1, %arg4, %arg4, %arg4 : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    %5 = "stablehlo.dynamic_gather"(%arg0, %arg3, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x?xf32>
    %6 = "stablehlo.dynamic_conv"(%arg5, %arg6, %arg7) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
    return
  }
  func.func @contracting(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<3x3xf32>, %arg3: tensor<4xcomplex<f32>>, %arg4: tensor<1x8x8x4xf32>, %arg5: tensor<3x3x4x8xf32>, %arg6: tensor<3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.dot %arg0, %arg1, precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.convolution(%arg4, %arg5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x8x8xf32>
    %4 = stablehlo.cholesky %arg2, lower = true : tensor<3x3xf32>
    %5 = "stablehlo.triangular_solve"(%arg2, %arg2) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %6 = stablehlo.fft %arg3, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %7 = stablehlo.einsum %arg0, %arg1, config = "ij,jk->ik" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %8 = stablehlo.unary_einsum %arg0, config = "ij->i" : (tensor<2x3xf32>) -> tensor<2xf32>
    %9 = "stablehlo.batch_norm_inference"(%arg0, %arg6, %arg6, %arg6, %arg6) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg6, %arg6) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg6, %arg6, %arg6, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return
  }
  func.func @reducing(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>, %arg2: tensor<4xf32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = "stablehlo.reduce_window"(%arg2, %arg1) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %5 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = "stablehlo.map"(%arg2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<f32>):
      stablehlo.return %arg3 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.select_and_scatter"(%arg2, %arg2, %arg1) <{window_dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %5 = stablehlo.compare GE, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %5 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = "stablehlo.sort"(%arg2) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %5 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @control(%arg0: tensor<f32>, %arg1: tensor<i1>, %arg2: tensor<i32>) -> tensor<f32> {
    %0 = stablehlo.while(%iterArg = %arg0) : tensor<f32>
    cond {
      %7 = stablehlo.compare LT, %iterArg, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      stablehlo.return %iterArg : tensor<f32>
    }
    %1 = "stablehlo.if"(%arg1) ({
      stablehlo.return %arg0 : tensor<f32>
    }, {
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %2 = "stablehlo.case"(%arg2) ({
      stablehlo.return %arg0 : tensor<f32>
    }, {
      stablehlo.return %1 : tensor<f32>
    }, {
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    %3 = stablehlo.optimization_barrier %2 : tensor<f32>
    %4 = stablehlo.tuple %3, %arg0 : tuple<tensor<f32>, tensor<f32>>
    %5 = stablehlo.get_tuple_element %4[1] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
    %6 = call @helper(%5) : (tensor<f32>) -> tensor<f32>
    return %6 : tensor<f32>
  }
  func.func @calls(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.custom_call @foo(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.custom_call @bar(%arg0, %arg0) {api_version = 4 : i32, backend_config = {flag = true, size = 3 : i64}, called_computations = [@helper], has_side_effect = true, mhlo.sharding = "{replicated}"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.custom_call @baz(%arg0) {api_version = 2 : i32, backend_config = "words", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.composite "my.helper" %arg1 {composite_attributes = {n = 1 : i64}, decomposition = @helper, version = 2 : i32} : (tensor<f32>) -> tensor<f32>
    return
  }
  func.func @random(%arg0: tensor<f32>, %arg1: tensor<1xi64>, %arg2: tensor<2xui64>) {
    %0 = stablehlo.rng %arg0, %arg0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
    %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    return
  }
  func.func @processes(%arg0: tensor<2x4xf32>) {
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.replica_id : tensor<ui32>
    %2 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %5 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
    %6 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %8 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = stablehlo.create_token : !stablehlo.token
    %10 = stablehlo.after_all %9, %9 : !stablehlo.token
    %11 = "stablehlo.send"(%arg0, %10) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2x4xf32>, !stablehlo.token) -> !stablehlo.token
    %12:2 = "stablehlo.recv"(%11) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2x4xf32>, !stablehlo.token)
    %13:2 = "stablehlo.infeed"(%12#1) <{infeed_config = "in", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<2x4xf32>, !stablehlo.token)
    %14 = "stablehlo.outfeed"(%13#0, %13#1) <{outfeed_config = "out"}> : (tensor<2x4xf32>, !stablehlo.token) -> !stablehlo.token
    return
  }
}
