iree_codegen.dispatch_config @matmul
    workgroup_size = [64, 16, 1] subgroup_size = 64 {
^bb0(%w0: index, %w1: index, %w2: index, %w3: index):
  %0 = affine.apply affine_map<()[s0] -> (s0 ceildiv 256)>()[%w2]
  %c1 = arith.constant 1 : index
  iree_codegen.yield %0, %c1, %c1 : index, index, index
}
// -----
func.func @hints(%idx: index) -> (index, index) {
  %row = iree_codegen.index_hint %idx(#iree_gpu.lane_constant<16>) : index
  %col = iree_codegen.index_hint %idx(#iree_gpu.lane_increment<16>) : index
  return %row, %col : index, index
}
// -----
func.func @undistributed(%lhs: tensor<?x?x32x8xf16>, %rhs: tensor<?x?x32x8xf16>, %acc: tensor<?x?x32x32xf32>) -> tensor<?x?x32x32xf32> {
  %0 = iree_codegen.inner_tiled ins(%lhs, %rhs) outs(%acc) {
    indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>
    ],
    iterator_types = [
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<reduction>
    ],
    kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>,
    permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]
  } : tensor<?x?x32x8xf16>, tensor<?x?x32x8xf16>
      into tensor<?x?x32x32xf32>
  return %0 : tensor<?x?x32x32xf32>
}
// -----
func.func @distributed(%lhs: tensor<?x?x4xf16>, %rhs: tensor<?x?x4xf16>, %acc: tensor<?x?x16xf32>) -> tensor<?x?x16xf32> {
  %0 = iree_codegen.inner_tiled ins(%lhs, %rhs) outs(%acc) {
    indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>
    ],
    iterator_types = [
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<parallel>,
      #linalg.iterator_type<reduction>
    ],
    kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>
  } : tensor<?x?x4xf16>, tensor<?x?x4xf16>
      into tensor<?x?x16xf32>
  return %0 : tensor<?x?x16xf32>
}
// -----
func.func @assertions(%M: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
    knobs = {workgroup = [#iree_codegen.smt.int_knob<"x">, #iree_codegen.smt.int_knob<"y">]} dims(%M) {
  ^bb0(%m: !smt.int):
    %x = iree_codegen.smt.knob "x" : !smt.int
    %y = iree_codegen.smt.knob "y" : !smt.int
    %cond = smt.int.cmp lt %x, %y
    iree_codegen.smt.assert %cond, "dim_0 == 128" : !smt.bool
    iree_codegen.smt.assert %cond, "wg_x ({}) < wg_y ({})", %x, %y : !smt.bool, !smt.int, !smt.int
  }
  return
}
// -----
func.func @constraints(%M: index, %N: index, %K: index) {
  // The matmul is marked: {root_op = #iree_codegen.root_op<set = 0>}
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
    knobs = {workgroup = [#iree_codegen.smt.int_knob<"wg_m">, #iree_codegen.smt.int_knob<"wg_n">]}
    dims(%M, %N, %K) {
  ^bb0(%m: !smt.int, %n: !smt.int, %k: !smt.int):
    %wg_m = iree_codegen.smt.knob "wg_m" : !smt.int
    %wg_n = iree_codegen.smt.knob "wg_n" : !smt.int
  }
  return
}
// -----
func.func @lookup() {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = None,
    knobs = {mma = #iree_codegen.smt.one_of_knob<"mma_idx", ["a", "b"]>} dims() {
  ^bb0:
    %idx = iree_codegen.smt.knob "mma_idx" : !smt.int
    %mma_m = iree_codegen.smt.lookup %idx [3, 7, 12] -> [16, 32, 64] : !smt.int
  }
  return
}
// -----
func.func @entry_point(%a: index, %b: index, %c: index, %x: index, %y: index, %z: index) {
  iree_codegen.workgroup_count_hint sizes(%a, %b, %c)
  iree_codegen.workgroup_count_hint sizes(%x, %y, %z)
  return
}
// -----
func.func @linearized(%total_iterations: index, %tile_size: index) {
  %num_workgroups = arith.ceildivui %total_iterations, %tile_size : index
  iree_codegen.workgroup_count_hint sizes(%num_workgroups)
  return
}
// -----
func.func @aliased(%0: memref<64xf32>) -> (memref<64xf32>, memref<64xf32>) {
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<16, 4>] : memref<64xf32>
  %2 = iree_codegen.swizzle_hint %0[#iree_codegen.xor_shuffle<16, 4>] : memref<64xf32>
  return %1, %2 : memref<64xf32>, memref<64xf32>
}
// -----
func.func @mapped(%n: index) {
  scf.for %i = %n to %n step %n {
  } {mapping = [#iree_codegen.local_mapping<1>, #iree_codegen.local_mapping<0>]}
  return
}
// -----
func.func private @pipelines() attributes {
  a = #iree_codegen.translation_info<pipeline = None>,
  b = #iree_codegen.translation_info<pipeline = VMVXDefault workgroup_size = [4, 1, 1]>,
  c = #iree_codegen.translation_info<pipeline = TransformDialectCodegen codegen_spec = @spec>
}
// -----
func.func private @denormals() attributes {
  a = #iree_codegen.denormal_fp_math<preserve-sign>, b = #iree_codegen.denormal_fp_math<positive-zero>
}
