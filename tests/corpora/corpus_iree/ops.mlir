iree_codegen.dispatch_config @f workgroup_size = [8] {
  %c2 = arith.constant 2 : index
  iree_codegen.yield %c2, %c2, %c2 : index, index, index
} {note = "kept"}
// -----
iree_codegen.dispatch_config @g subgroup_size = 32 workgroup_local_memory = 4096 {
^bb0(%n: index):
  iree_codegen.yield {mark} %n, %n, %n : index, index, index
}
// -----
iree_codegen.dispatch_config @"odd name" {
^bb0(%n: index):
  iree_codegen.yield %n, %n, %n : index, index, index
}
// -----
"iree_codegen.dispatch_config"() <{function_ref = @f, subgroup_size = 64 : i64, workgroup_size = array<i64: 64, 2>}> ({
^bb0(%n: index):
  "iree_codegen.yield"(%n, %n, %n) : (index, index, index) -> ()
}) : () -> ()
// -----
func.func @metadata(%m: memref<?x4xf32, strided<[?, 1], offset: ?>>, %n: memref<4xi8, 3>, %s: memref<f16>) {
  %base, %offset, %sizes:2, %strides:2 = iree_codegen.extract_strided_metadata %m : memref<?x4xf32, strided<[?, 1], offset: ?>> -> memref<f32>, index, index, index, index, index
  %b, %o, %size, %stride = iree_codegen.extract_strided_metadata %n : memref<4xi8, 3> -> memref<i8, 3>, index, index, index {mark}
  %c, %p = iree_codegen.extract_strided_metadata %s : memref<f16> -> memref<f16>, index
  return
}
// -----
func.func @barrier(%t: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = iree_codegen.fusion_barrier {mark} %t : tensor<?x4xf32>
  %1 = iree_codegen.fusion_barrier %0 : tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}
// -----
func.func @hint(%i: index) -> index {
  %0 = iree_codegen.index_hint %i(#iree_gpu.lane_increment<64, step = 2, aligned>) {mark} : index
  %1 = iree_codegen.index_hint %0([1, "two"]) : index
  return %1 : index
}
// -----
func.func @buffers(%m: memref<?x4xf32, strided<[?, 1], offset: ?>>, %n: memref<4x?xf32>) -> tensor<3x?xf32> {
  %0 = iree_codegen.load_from_buffer %m : memref<?x4xf32, strided<[?, 1], offset: ?>> -> tensor<3x?xf32>
  %1 = iree_codegen.load_from_buffer %n {mark} : memref<4x?xf32> -> tensor<?x?xf32>
  iree_codegen.store_to_buffer %0, %m : tensor<3x?xf32> into memref<?x4xf32, strided<[?, 1], offset: ?>>
  iree_codegen.store_to_buffer %1, %n {mark} : tensor<?x?xf32> into memref<4x?xf32>
  return %0 : tensor<3x?xf32>
}
// -----
func.func @pointer() -> !iree_codegen.null_pointer {
  %0 = iree_codegen.null_pointer
  %1 = iree_codegen.null_pointer {mark}
  return %0 : !iree_codegen.null_pointer
}
// -----
func.func @sizes() -> (index, index) {
  %0:2 = iree_codegen.query_tile_sizes tensor<4x?xf32> -> index, index
  %1 = iree_codegen.query_tile_sizes {mark} tensor<*xi8> -> index
  return %0#0, %1 : index, index
}
// -----
func.func @swizzled(%m: memref<64xf32>, %t: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %0 = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<16, 4, 32, 2> {mark}] : memref<64xf32>
  %1 = iree_codegen.swizzle_hint %t[#iree_codegen.rotate_rows<8, 8>] : tensor<8x8xf16>
  return %1 : tensor<8x8xf16>
}
// -----
func.func @counts(%a: index) {
  iree_codegen.workgroup_count_hint(%a, 4, %a)
  iree_codegen.workgroup_count_hint(7) {mark}
  iree_codegen.workgroup_count_hint()
  "iree_codegen.workgroup_count_hint"(%a) <{static_sizes = array<i64: 2, -9223372036854775808>}> : (index) -> ()
  return
}
// -----
#maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
#loops = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]
func.func @lanes(%a: vector<2x3x4xf16>, %b: vector<3x5x4xf16>, %c: vector<2x5x4xf32>) -> vector<2x5x4xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = #maps, iterator_types = #loops, kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> {mark} : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>
  return %0 : vector<2x5x4xf32>
}
// -----
func.func @single(%a: tensor<16x16xf16>, %b: tensor<256xf16>, %c: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>, indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []> : tensor<16x16xf16>, tensor<256xf16> into tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
// -----
func.func @blocks(%a: tensor<16x4x4xf16>, %b: tensor<16x4x4xf16>, %c: tensor<4x16x4xf32>) -> tensor<4x16x4xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_4x4x4x16B_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>, permutations = [array<i64: 0, 1, 2>, array<i64: 0, 2, 1>, array<i64: 1, 0, 2>]> : tensor<16x4x4xf16>, tensor<16x4x4xf16> into tensor<4x16x4xf32>
  return %0 : tensor<4x16x4xf32>
}
// -----
func.func @pairs(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<4x2xf16>, vector<2x2xf16> into vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
// -----
func.func @halves(%a: vector<8xf16>, %b: vector<16xf16>, %c: vector<2xf32>) -> vector<2xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.virtual_mma_layout<VDMFMA_F32_8x16x64x2_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<8xf16>, vector<16xf16> into vector<2xf32>
  return %0 : vector<2xf32>
}
// -----
#maps = [affine_map<(i, j, k, b) -> (i, k, b)>, affine_map<(i, j, k, b) -> (k, b, j)>, affine_map<(i, j, k, b) -> (i, k)>, affine_map<(i, j, k, b) -> (k, j)>, affine_map<(i, j, k, b) -> (i, j)>]
#loops = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>]
func.func @scaled(%a: tensor<?x?x1x16x4x32xf4E2M1FN>, %b: tensor<?x1x?x4x32x16xf8E4M3FN>, %sa: tensor<?x?x16x4xf8E8M0FNU>, %sb: tensor<?x?x4x16xf8E8M0FNU>, %c: tensor<?x?x16x16xf32>) -> tensor<?x?x16x16xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b, %sa, %sb) outs(%c) <indexing_maps = #maps, iterator_types = #loops, kind = #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type = f8E4M3FN, acc_elem_type = f32>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> : tensor<?x?x1x16x4x32xf4E2M1FN>, tensor<?x1x?x4x32x16xf8E4M3FN>, tensor<?x?x16x4xf8E8M0FNU>, tensor<?x?x4x16xf8E8M0FNU> into tensor<?x?x16x16xf32>
  return %0 : tensor<?x?x16x16xf32>
}
// -----
func.func @data_tiled(%a: vector<1x1x1xf64>, %b: vector<1x1x8xf64>, %c: vector<1x1x8xf64>) -> vector<1x1x8xf64> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_cpu.data_tiled_mma_layout<intrinsic = MMA_X86_AVX512_1x8x1_F64_F64>, semantics = #iree_cpu.mma_semantics<>> : vector<1x1x1xf64>, vector<1x1x8xf64> into vector<1x1x8xf64>
  return %0 : vector<1x1x8xf64>
}
// -----
func.func @tune(%a: index) {
  iree_codegen.smt.constraints target = #iree_codegen.root_op<set = 2>, pipeline = #iree_codegen.pass_pipeline<"canonicalize">, knobs = {size = #iree_codegen.smt.one_of_knob<"size", [16, 32]>, tile = {k = [#iree_codegen.smt.int_knob<"k">, 8], m = #iree_gpu.lowering_config<{reduction = [#iree_codegen.smt.int_knob<"m">]}>}} dims(%a) attributes {note = "kept"} {
  ^bb0(%n: !smt.int):
    %size = iree_codegen.smt.knob "size" : !smt.int
    %k = iree_codegen.smt.knob "k" {mark} : !smt.int
    %m = iree_codegen.smt.knob "m" : !smt.int
    %value = iree_codegen.smt.lookup %size [0, 1] -> [16, 32] {mark} : !smt.int
    %fits = smt.int.cmp le %value, %n
    iree_codegen.smt.assert %fits, "size {} of {}", %value, %n : !smt.bool, !smt.int, !smt.int {mark}
    smt.assert %fits
  }
  return
}
// -----
func.func @logic(%i: !smt.int, %j: !smt.int, %p: !smt.bool, %q: !smt.bool) -> !smt.bool {
  %c5 = smt.int.constant 5
  %0 = smt.int.constant -7 {mark}
  %1 = smt.int.constant 340282366920938463463374607431768211456
  %2 = smt.int.add %i, %j, %c5
  %3 = smt.int.mul %i, %2, %0, %1
  %4 = smt.int.sub %i, %3
  %5 = smt.int.div %i, %4
  %6 = smt.int.mod %i, %5 {mark}
  %7 = smt.int.abs %6
  %8 = smt.int.cmp lt %7, %c5
  %9 = smt.int.cmp le %7, %c5
  %10 = smt.int.cmp gt %7, %c5
  %11 = smt.int.cmp ge %7, %c5 {mark}
  %12 = smt.eq %i, %j, %c5 : !smt.int
  %13 = smt.distinct %p, %q {mark} : !smt.bool
  %14 = smt.and %8, %9, %12
  %15 = smt.or %10, %11
  %16 = smt.not %13
  %17 = smt.xor %14, %15
  %18 = smt.implies %16, %17
  %19 = smt.ite %18, %i, %j : !smt.int
  %20 = smt.declare_fun : !smt.int
  %21 = smt.declare_fun "name" : !smt.bool
  %22 = smt.constant false
  %23 = smt.ite %21, %22, %p {mark} : !smt.bool
  return %23 : !smt.bool
}
// -----
func.func @buffers(%i: index, %x: f32) -> f32 {
  %a = memref.alloc() : memref<4x8xf32>
  %b = memref.alloc(%i, %i) {mark} : memref<?x4x?xf32, 3>
  %c = memref.alloca() : memref<2xi8>
  %d = memref.alloc() alignment = 64 : memref<4xf32>
  memref.store %x, %a[%i, %i] : memref<4x8xf32>
  %v = memref.subview %a[1, %i] [2, 3] [1, 2] : memref<4x8xf32> to memref<2x3xf32, strided<[8, 2], offset: ?>>
  %r = memref.subview %a[1, 2] [1, 4] [1, 1] : memref<4x8xf32> to memref<4xf32, strided<[1], offset: 10>>
  %w = memref.subview %a[%i, 0] [%i, 8] [%i, 1] {mark} : memref<4x8xf32> to memref<?x8xf32, strided<[?, 1], offset: ?>>
  %y = memref.load %v[%i, %i] : memref<2x3xf32, strided<[8, 2], offset: ?>>
  %e = memref.cast %a : memref<4x8xf32> to memref<?x8xf32, strided<[?, 1], offset: ?>>
  %u = memref.cast %a : memref<4x8xf32> to memref<*xf32>
  %n = memref.dim %e, %i : memref<?x8xf32, strided<[?, 1], offset: ?>>
  memref.dealloc %a : memref<4x8xf32>
  return %y : f32
}
// -----
func.func @indices(%i: index, %j: index) -> index {
  %0 = affine.apply affine_map<(d0, d1)[s0] -> (d0 * 4 + d1 mod 3 + s0 floordiv 2)>(%i, %j)[%i]
  %1 = affine.apply affine_map<() -> (7)>() {mark}
  return %0 : index
}
// -----
func.func @f(%i: index) {
  %0 = iree_codegen.index_hint %i(#iree_codegen.lowering_config<tile_sizes = [[1]]>) : index
  %1 = iree_codegen.index_hint %i(affine_map<(d0) -> (d0)>) : index
  %2 = iree_codegen.index_hint %i(5 : i32) : index
  return
}
// -----
func.func @f(%n: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_codegen.no_pipeline, knobs = {a = affine_map<(d0) -> (d0)>, c = #iree_codegen.lowering_config<tile_sizes = [[1]]>} dims(%n) {
  ^bb0(%m: !smt.int):
    %0 = arith.constant 1 : i32
  }
  return
}
// -----
func.func @f(%a: tensor<2x4xf16>, %b: tensor<2x4xf16>, %c: tensor<2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = [#linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x4xf16>, tensor<2x4xf16> into tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf16>, %b: tensor<4xf16>, %c: tensor<4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = [#linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x4xf16>, tensor<4xf16> into tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf16>, %b: tensor<4xf16>, %c: tensor<2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = [#linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x4xf16>, tensor<4xf16> into tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<4xf16>, %b: tensor<4xf16>, %c: tensor<2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = [#linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<4xf16>, tensor<4xf16> into tensor<2x4xf32>
  return
}
// -----
func.func @f(%m: memref<4x4xf32, strided<[?, ?], offset: ?>>, %i: index) {
  %0 = memref.subview %m[%i, 1] [2, %i] [%i, 2] : memref<4x4xf32, strided<[?, ?], offset: ?>> to memref<2x?xf32, strided<[?, ?], offset: ?>>
  %1 = memref.subview %m[0, 0] [1, 1] [1, 1] : memref<4x4xf32, strided<[?, ?], offset: ?>> to memref<f32, strided<[], offset: ?>>
  %2 = memref.cast %m : memref<4x4xf32, strided<[?, ?], offset: ?>> to memref<4x4xf32>
  %3 = memref.cast %m : memref<4x4xf32, strided<[?, ?], offset: ?>> to memref<4x4xf32, strided<[8, 1], offset: 3>>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<4xf32>
  %1 = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  return
}
// -----
func.func @access(%m: memref<4xf32>, %i: index, %x: f32) {
  %0 = memref.load %m[%i] invariant(true) alignment(8) nontemporal(true) : memref<4xf32>
  memref.store %x, %m[%i] alignment(16) {mark} : memref<4xf32>
  memref.store %x, %m[%i] nontemporal(true) : memref<4xf32>
  return
}
// -----
func.func @iterators_are_not_held_against_the_maps(%a: tensor<2x4xf16>, %b: tensor<2x4xf16>, %c: tensor<4xf32>, %d: tensor<2x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = [#linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x4xf16>, tensor<2x4xf16> into tensor<4xf32>
  %1 = iree_codegen.inner_tiled ins(%a, %b) outs(%d) <indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = [#linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : tensor<2x4xf16>, tensor<2x4xf16> into tensor<2x4xf32>
  return
}
// -----
func.func @microkernel(%a: tensor<?x4xf16>, %b: memref<8xi8, strided<[2]>>, %c: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
  %0 = iree_codegen.ukernel.generic {mark} "kernel.one" ins(%a, %b : tensor<?x4xf16>, memref<8xi8, strided<[2]>>) outs(%c, %b : tensor<4xf32>, memref<8xi8, strided<[2]>>) (%i, %a : i32, tensor<?x4xf16>) fn_def_attrs {import = "static", n = 3 : i32} strided_dims([[0, 1], [], [0]]) -> tensor<4xf32>
  iree_codegen.ukernel.generic "two" ins(%i : i32)
  %1:2 = iree_codegen.ukernel.generic "status" outs(%c : tensor<4xf32>) -> tensor<4xf32>, i32
  iree_codegen.ukernel.generic "three" (%i : i32)
  iree_codegen.ukernel.generic "four"
  iree_codegen.ukernel.generic "five" outs(%b : memref<8xi8, strided<[2]>>) strided_dims([])
  "iree_codegen.ukernel.generic"(%i, %b) <{u_kernel_fn_name = "odd \22name\22", operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, memref<8xi8, strided<[2]>>) -> ()
  return %0 : tensor<4xf32>
}
// -----
func.func @sizes_in_the_dictionary(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> {mark, operandSegmentSizes = array<i32: 2, 1>} : tensor<16x16xf16>, tensor<16x8xf16> into tensor<16x8xf32>
  %1 = iree_codegen.inner_tiled ins(%a, %b) outs(%0) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> {operandSegmentSizes = 3} : tensor<16x16xf16>, tensor<16x8xf16> into tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
