iree_codegen.dispatch_config @f workgroup_size = [1, 2, 3, 4] {
  %c2 = arith.constant 2 : index
  iree_codegen.yield %c2, %c2, %c2 : index, index, index
}
// -----
iree_codegen.dispatch_config @f workgroup_size = [] {
  %c2 = arith.constant 2 : index
  iree_codegen.yield %c2, %c2, %c2 : index, index, index
}
// -----
iree_codegen.dispatch_config @f {
  %c2 = arith.constant 2 : index
}
// -----
iree_codegen.dispatch_config @f {
  %c2 = arith.constant 2 : i32
  iree_codegen.yield %c2, %c2, %c2 : i32, i32, i32
}
// -----
iree_codegen.dispatch_config @f subgroup_size = 4.0 {
}
// -----
func.func @f(%i: index) {
  iree_codegen.yield %i : index
  return
}
// -----
func.func @f(%m: memref<4xf32>) {
  %base, %offset = iree_codegen.extract_strided_metadata %m : memref<4xf32> -> memref<f32>, index
  return
}
// -----
func.func @f(%m: memref<4x4xf32, affine_map<(i, j) -> (i floordiv 2, j)>>) {
  %base, %offset, %s:2, %t:2 = iree_codegen.extract_strided_metadata %m : memref<4x4xf32, affine_map<(i, j) -> (i floordiv 2, j)>> -> memref<f32>, index, index, index, index, index
  return
}
// -----
func.func @f(%t: tensor<*xf32>) {
  %0 = "iree_codegen.fusion_barrier"(%t) : (tensor<*xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>) {
  %0 = "iree_codegen.fusion_barrier"(%t) : (tensor<4xf32>) -> tensor<?xf32>
  return
}
// -----
func.func @f(%i: i32) {
  %0 = "iree_codegen.index_hint"(%i) <{hint = unit}> : (i32) -> index
  return
}
// -----
func.func @f(%m: memref<4xf32>) {
  %0 = iree_codegen.load_from_buffer %m : memref<4xf32> -> tensor<5xf32>
  return
}
// -----
func.func @f(%m: memref<4xf32>) {
  %0 = iree_codegen.load_from_buffer %m : memref<4xf32> -> tensor<4x1xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %m: memref<4xf16>) {
  iree_codegen.store_to_buffer %t, %m : tensor<4xf32> into memref<4xf16>
  return
}
// -----
func.func @f() {
  %0 = "iree_codegen.null_pointer"() : () -> index
  return
}
// -----
func.func @f() {
  %0 = iree_codegen.query_tile_sizes vector<4xf32> -> index
  return
}
// -----
func.func @f() {
  %0 = "iree_codegen.query_tile_sizes"() <{tensor_type = tensor<4xf32>}> : () -> i32
  return
}
// -----
func.func @f(%m: memref<64xf32>) {
  %0 = iree_codegen.swizzle_hint %m[#iree_codegen.export_config<workgroup_size = [4]>] : memref<64xf32>
  return
}
// -----
func.func @f(%m: vector<64xf32>) {
  %0 = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<16, 4>] : vector<64xf32>
  return
}
// -----
func.func @f(%i: i32) {
  iree_codegen.workgroup_count_hint(%i)
  return
}
// -----
func.func @f() {
  iree_codegen.workgroup_count_hint(x)
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>) {
  %0 = iree_codegen.inner_tiled ins(%a) outs(%a) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16> into tensor<16x16xf16>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%a) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf16>
  return
}
// -----
func.func @f(%a: tensor<16x8xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>> : tensor<16x8xf16>, tensor<16x8xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_cpu.mma_semantics<>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<?x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<?x16xf16>, tensor<?x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<()[s] -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>, permutations = [array<i64: 0, 1>, array<i64: 1, 1>, array<i64: 0, 1>]> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<2x16x16xf16>, %b: tensor<2x3x16x16xf16>, %c: tensor<2x3x16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<2x16x16xf16>, tensor<2x3x16x16xf16> into tensor<2x3x16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [1], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return
}
// -----
func.func @f() {
  %0 = iree_codegen.smt.knob "foo" : !smt.int
  return
}
// -----
func.func @f() {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {x = #iree_codegen.smt.int_knob<"x">} dims() {
  ^bb0:
    %a = iree_codegen.smt.knob "x" : !smt.int
    %b = iree_codegen.smt.knob "x" : !smt.int
  }
  return
}
// -----
func.func @f() {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {x = "y"} dims() {
  ^bb0:
    %a = iree_codegen.smt.knob "y" : !smt.int
  }
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0:
  }
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0(%b: !smt.bool):
  }
  return
}
// -----
func.func @f() {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = "none", knobs = {} dims() {
  ^bb0:
  }
  return
}
// -----
func.func @f() {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = [] dims() {
  ^bb0:
  }
  return
}
// -----
func.func @f(%n: !smt.int) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims() {
  ^bb0:
    %0 = smt.int.add %n, %n
  }
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0(%n: !smt.int):
    %0 = iree_codegen.smt.lookup %n [1, 2] -> [3] : !smt.int
  }
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0(%n: !smt.int):
    %0 = iree_codegen.smt.lookup %n [] -> [] : !smt.int
  }
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0(%n: !smt.int):
    %0 = iree_codegen.smt.lookup %n [5, 5] -> [1, 2] : !smt.int
  }
  return
}
// -----
func.func @f(%p: !smt.bool) {
  iree_codegen.smt.assert %p, "always" : !smt.bool
  return
}
// -----
func.func @f(%a: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {} dims(%a) {
  ^bb0(%n: !smt.int):
    %p = smt.eq %n, %n : !smt.int
    iree_codegen.smt.assert %p, "{} is {}", %n : !smt.bool, !smt.int
  }
  return
}
// -----
func.func @f(%n: !smt.int) {
  %0 = smt.eq %n : !smt.int
  return
}
// -----
func.func @f(%n: !smt.int) {
  %0 = smt.int.cmp eq %n, %n
  return
}
// -----
func.func @f(%n: !smt.int, %p: !smt.bool) {
  %0 = "smt.ite"(%p, %n, %p) : (!smt.bool, !smt.int, !smt.bool) -> !smt.int
  return
}
// -----
func.func @f(%x: i32) {
  %0 = "smt.int.add"(%x) : (i32) -> !smt.int
  return
}
// -----
func.func @f(%i: index) {
  %0 = memref.alloc(%i) : memref<4xf32>
  return
}
// -----
func.func @f(%i: index, %m: memref<4x4xf32>) {
  %0 = memref.load %m[%i] : memref<4x4xf32>
  return
}
// -----
func.func @f(%i: index, %x: f32, %m: memref<4x4xf32>) {
  memref.store %x, %m[%i] : memref<4x4xf32>
  return
}
// -----
func.func @f(%m: memref<4x4xf32>) {
  %0 = memref.subview %m[0, 0] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32>
  return
}
// -----
func.func @f(%m: memref<4x4xf32>) {
  %0 = memref.subview %m[0] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1]>>
  return
}
// -----
func.func @f(%m: memref<4x4xf32>) {
  %0 = memref.subview %m[3, 0] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 12>>
  return
}
// -----
func.func @f(%m: memref<4x4xf32>) {
  %0 = memref.cast %m : memref<4x4xf32> to memref<4x?xf16>
  return
}
// -----
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0) -> (d0)>(%i, %i)
  return
}
// -----
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0) -> (d0, d0)>(%i)
  return
}
// -----
func.func private @f() attributes {a = #iree_codegen.rotate_rows<16, 5>}
// -----
func.func private @f() attributes {a = #iree_codegen.xor_shuffle<16, 4, 20>}
// -----
func.func private @f() attributes {a = #iree_codegen.xor_shuffle<16, 4, 16, 5>}
// -----
func.func private @f() attributes {a = #iree_codegen.xor_shuffle<16, 5>}
// -----
func.func private @f() attributes {a = #iree_codegen.export_config<workgroup_size = [1, 2, 3, 4]>}
// -----
func.func private @f() attributes {a = #iree_codegen.simple_target<max_workgroup_count = [1, 2, 3, 4]>}
// -----
func.func private @f() attributes {a = #iree_codegen.workgroup_mapping<x:1>}
// -----
func.func private @f() attributes {a = #iree_codegen.workgroup_mapping<w>}
// -----
func.func private @f() attributes {a = #iree_codegen.translation_info<pipeline = "none">}
// -----
func.func private @f() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline codegen_spec = @s>}
// -----
func.func private @f() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [0]>}
// -----
func.func private @f() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline subgroup_size = -1>}
// -----
func.func private @f() attributes {a = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [1, 1, 1, 1]>}
// -----
func.func private @f() attributes {a = #iree_codegen.lowering_config<tile_sizes = [1, 2]>}
// -----
func.func private @f() attributes {a = #iree_codegen.compilation_info<lowering_config = 1, translation_info = <pipeline = #iree_codegen.no_pipeline>>}
// -----
func.func private @f() attributes {a = #iree_codegen.root_op<set = "a">}
// -----
func.func private @f() attributes {a = #iree_codegen.smt.int_knob<a>}
// -----
func.func private @f() attributes {a = #iree_codegen.smt.one_of_knob<"a", 1>}
// -----
func.func private @f() attributes {a = #iree_codegen.ukernel_descriptor<"a", vector>}
// -----
func.func private @f() attributes {a = #iree_codegen.workgroup_scope<linear>}
// -----
func.func private @f() attributes {a = #iree_codegen.local_mapping<x>}
// -----
func.func private @f() attributes {a = #iree_codegen.nonsense<1>}
// -----
func.func private @f(!iree_codegen.nonsense)
// -----
func.func private @f() attributes {a = #iree_codegen.denormal_fp_math<"flush">}
// -----
func.func private @f() attributes {a = #iree_gpu.mma_layout<MFMA_F32_1x1x1_F16>}
// -----
func.func private @f() attributes {a = #iree_gpu.mma_semantics<distributed = true>}
// -----
func.func private @f() attributes {a = #iree_gpu.mma_semantics<distributed = true, distributed = true>}
// -----
func.func private @f() attributes {a = #iree_gpu.lane_increment<16, stride = 2>}
// -----
func.func private @f() attributes {a = #iree_gpu.lane_increment<16, step = 2, step = 2>}
// -----
func.func private @f() attributes {a = #iree_gpu.conditional_transpose<0, 1>}
// -----
func.func private @f() attributes {a = #iree_gpu.lowering_config<{promotion_types = [#iree_gpu.derived_thread_config]}>}
// -----
func.func private @f() attributes {a = #iree_gpu.lowering_config<{promote_operands = [0], promotion_types = [1]}>}
// -----
func.func private @f() attributes {a = #iree_gpu.data_tiled_mma_layout<intrinsics_m = 2>}
// -----
func.func private @f() attributes {a = #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, tiles = 2>}
// -----
func.func private @f() attributes {a = #iree_codegen.lowering_config_levels}
// -----
func.func @f(%a: tensor<?x2x4xf16>, %b: tensor<2x?x4xf16>, %c: tensor<?x?x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<window>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<?x2x4xf16>, tensor<2x?x4xf16> into tensor<?x?x4xf32>
  return
}
// -----
func.func @f(%a: tensor<?x2x4xf16>, %b: tensor<2x?x4xf16>, %c: tensor<?x5x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<?x2x4xf16>, tensor<2x?x4xf16> into tensor<?x5x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3x4xf16>, %b: tensor<3x2x4xf16>, %c: tensor<2x2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x3x4xf16>, tensor<3x2x4xf16> into tensor<2x2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x2x4xf16>, %b: tensor<4xf16>, %c: tensor<2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j) -> (i, i)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (j)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x2x4xf16>, tensor<4xf16> into tensor<2x4xf32>
  return
}
// -----
func.func @f(%i: index, %m: memref<4xf32>) {
  %0 = affine.apply affine_map<(d0) -> (d0)>(%i) : index
  return
}
// -----
func.func @f(%m: memref<*xf32>, %i: index) {
  %0 = memref.load %m[%i] : memref<*xf32>
  return
}
// -----
"iree_codegen.dispatch_config"() <{function_ref = @f}> ({
  "func.return"() : () -> ()
}) : () -> ()
// -----
func.func private @f() attributes {a = #iree_codegen.workgroup_scope<>}
// -----
func.func @microkernel_of_other_results(%c: tensor<4xf32>, %m: memref<4xf32>) {
  iree_codegen.ukernel.generic "k" outs(%m, %c : memref<4xf32>, tensor<4xf32>)
  return
}
// -----
func.func @microkernel_of_another_type(%c: tensor<4xf32>, %m: memref<4xf32>) -> tensor<?xf32> {
  %0 = iree_codegen.ukernel.generic "k" ins(%m : memref<4xf32>) outs(%c, %m : tensor<4xf32>, memref<4xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
func.func @microkernel_into_a_scalar(%c: f32) -> f32 {
  %0 = iree_codegen.ukernel.generic "k" ins(%c : f32) outs(%c : f32) -> f32
  return %0 : f32
}
// -----
func.func @microkernel_of_wrong_strides(%c: f32) {
  "iree_codegen.ukernel.generic"(%c) <{u_kernel_fn_name = "k", operandSegmentSizes = array<i32: 1, 0, 0>, strided_dims = [0]}> : (f32) -> ()
  return
}
