func.func private @denormals() attributes {a = #iree_codegen.denormal_fp_math<none>, b = #iree_codegen.denormal_fp_math<"preserve-sign">, c = #iree_codegen.denormal_fp_math<"positive-zero">}
// -----
func.func private @quoted() attributes {a = #iree_codegen.denormal_fp_math<"none">, iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}
// -----
func.func private @levels() attributes {a = #iree_codegen.lowering_config<tile_sizes = [[8, 8, 0], [4, 4, 0]]>}
// -----
func.func private @levels() attributes {a = #iree_codegen.lowering_config<tile_sizes = [[1, [4], 0], [], {sizes = [3, [4]], interchange = [1, 0]}]>}
// -----
func.func private @levels() attributes {a = #iree_codegen.lowering_config<tile_sizes = []>, b = #iree_codegen.lowering_config<tile_sizes = [{sizes = [2, 3], interchange = []}]>}
// -----
func.func private @export() attributes {a = #iree_codegen.export_config<workgroup_size = [4, 1]>, b = #iree_codegen.export_config<workgroup_size = [64]>}
// -----
func.func private @translation() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 2, 1] subgroup_size = 32, {x = 1 : i64}>}
// -----
func.func private @translation() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.transform_dialect_codegen codegen_spec = @config::@spec>, b = #iree_codegen.translation_info<pipeline = #iree_codegen.pass_pipeline<"cse">>}
// -----
func.func private @translation() attributes {a = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128]>, b = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DataTiling>>, c = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline subgroup_size = 64>}
// -----
func.func private @compilation() attributes {a = #iree_codegen.compilation_info<lowering_config = #iree_codegen.lowering_config<tile_sizes = [[16]]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>}
// -----
func.func private @compilation() attributes {a = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{thread = [0, 4], workgroup = [16, 16]}>, translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse>>>}
// -----
func.func private @knobs() attributes {a = #iree_codegen.root_op<set = 3>, b = #iree_codegen.smt.int_knob<"tile">, c = #iree_codegen.smt.one_of_knob<"kind", [1, "x", i32]>}
// -----
func.func private @swizzles() attributes {a = #iree_codegen.rotate_rows<16, 4>, b = #iree_codegen.xor_shuffle<16, 4>, c = #iree_codegen.xor_shuffle<16, 4, 32>, d = #iree_codegen.xor_shuffle<16, 4, 16, 2>}
// -----
func.func private @targets() attributes {a = #iree_codegen.simple_target<max_workgroup_count = [1, 2, 3]>, b = #iree_codegen.simple_target<>, c = #iree_codegen.symbolic_ukernel_provider}
// -----
func.func private @kernels() attributes {a = #iree_codegen.ukernel_descriptor<"mm a", tensor>, b = #iree_codegen.ukernel_descriptor<"b", memref>, c = #iree_codegen.ukernel_descriptor<"c", bitcode>}
// -----
func.func private @mappings() attributes {a = [#iree_codegen.workgroup_mapping<z:1>, #iree_codegen.workgroup_mapping<z:0>, #iree_codegen.workgroup_mapping<y>, #iree_codegen.workgroup_mapping<x>], b = #iree_codegen.local_mapping<1>}
// -----
func.func private @scopes() attributes {a = #iree_codegen.workgroup_scope, b = #iree_codegen.workgroup_scope<linearize>, c = #iree_gpu.subgroup_scope, d = #iree_gpu.lane_scope, e = #iree_gpu.lane_id<0>}
// -----
func.func private @wrapped() attributes {a = #iree_codegen<rotate_rows<16, 4>>, b = #iree_codegen<smt.int_knob<"n">>}
// -----
func.func private @space(memref<4xf32, #iree_codegen.workgroup_local>, !iree_codegen.null_pointer)
// -----
#rows = #iree_codegen.rotate_rows<8, 2>
func.func private @alias() attributes {a = #rows, b = [#rows, #rows]}
// -----
func.func private @kinds() attributes {a = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, b = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, c = #iree_gpu.mma_layout<NV_WMMA_F32_16x16x16_F16, col_major = false>, d = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>, e = #iree_gpu.virtual_mma_layout<VDMFMA_F32_8x16x64x2_F16, col_major = true>}
// -----
func.func private @scaled() attributes {a = #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type = f6E3M2FN, acc_elem_type = f32>, b = #iree_gpu.scaled_mma_layout<acc_elem_type = f32, intrinsic = MFMA_SCALE_F32_32x32x64_B32, lhs_elem_type = f8E5M2, rhs_elem_type = f8E4M3FN, col_major = true>}
// -----
func.func private @data_tiled() attributes {a = #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x4_F32, intrinsics_m = 4, subgroups_m = 2, intrinsics_n = 3, subgroups_n = 5, intrinsics_k = 1, subgroups_k = 2, operands_interleaving_intrinsics_m = [0], operands_interleaving_intrinsics_n = [1], operands_interleaving_intrinsics_k = [0, 1]>}
// -----
func.func private @data_tiled() attributes {a = #iree_gpu.data_tiled_scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f8E4M3FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32, intrinsics_k = 4, operands_interleaving_intrinsics_k = [2, 3], unswizzled_operands = [0, 1]>}
// -----
func.func private @data_tiled() attributes {a = #iree_cpu.data_tiled_mma_layout<intrinsic = MMA_X86_AVX512_1x16x1_F32_F32, intrinsics_m = 16>, b = #iree_cpu.data_tiled_mma_layout<intrinsic = MMA_GENERIC_SCALAR_1x1x1_REG8, intrinsics_k = 2, lhs_type = i8, rhs_type = i8, acc_type = i32>, c = #iree_cpu.mma_semantics<>, d = #iree_cpu.ukernel_provider}
// -----
func.func private @semantics() attributes {a = #iree_gpu.mma_semantics<distributed = true, opaque = false>, b = #iree_gpu.mma_semantics<opaque = true, distributed = false>}
// -----
func.func private @lanes() attributes {a = #iree_gpu.lane_constant<16>, b = #iree_gpu.lane_increment<16>, c = #iree_gpu.lane_increment<64, step = 2>, d = #iree_gpu.lane_increment<64, aligned>, e = #iree_gpu.lane_increment<64, aligned, step = 4>, f = #iree_gpu.lane_increment<8, step = 1>}
// -----
func.func private @pipelines() attributes {a = #iree_gpu.pipeline<Default>, b = #iree_gpu.pipeline<WinogradVectorize>, c = #iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>, d = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true, use_igemm_convolution = false, reorder_workgroups_strategy = <Transpose>>, e = #iree_gpu.pipeline_options<>}
// -----
func.func private @configs() attributes {a = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.use_global_load_dma], map = affine_map<(d0) -> (d0 + 1)>}>, b = [#iree_gpu.promote_with_cache_swizzle<#iree_gpu.derived_thread_config>, #iree_gpu.swizzle_operand<copy_config = #iree_gpu.derived_thread_config, swizzle = #iree_codegen.xor_shuffle<256, 32>>], c = #iree_gpu.conditional_transpose<8, 38>, d = #iree_gpu.reorder_workgroups_strategy<None>}
// -----
func.func private @smt(!smt.int, !smt.bool)
// -----
func.func private @numbers() attributes {a = #iree_gpu.mma_semantics<distributed = 1, opaque = 0>}
// -----
func.func private @f() attributes {a = #iree_gpu.mma_layout<"MFMA_F32_16x16x16_F16">, b = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline, {}>}
// -----
func.func private @f() attributes {a = #iree_codegen.lowering_config<tile_sizes = [[]]>, b = #iree_codegen.rotate_rows<-16, 4>, c = #iree_codegen.rotate_rows<16, -4>}
// -----
func.func private @f() attributes {a = #iree_codegen.no_pipeline<>}
// -----
func.func private @f() attributes {a = #iree_codegen.smt.int_knob<"a b\22">, b = #iree_codegen.pass_pipeline<"builtin.module(func.func(cse))">}
// -----
func.func private @f(tensor<4xf32, #iree_codegen.root_op<set = 1>>, memref<4xf32, #iree_gpu.lane_id<0>>)
// -----
#m = affine_map<(d0) -> (d0 + 1)>
#c = #iree_codegen.lowering_config<tile_sizes = [[1]]>
module attributes {iree_codegen.x = [#m, #c, #iree_gpu.lowering_config<{a = #m, b = #c}>]} {
func.func private @f() attributes {b = #iree_codegen.compilation_info<lowering_config = #c, translation_info = <pipeline = #iree_codegen.no_pipeline>>}
}
