// The constraints of a tiled matmul on the sizes of its tiles:
//
//   halfulp iree constraints examples/tuning.mlir --knob wg_m=32 --knob wg_n=64 --knob mma_idx=1 --dim 128 --dim 256 --dim 64

func.func @matmul(%m: index, %n: index, %k: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
    knobs = {workgroup = [#iree_codegen.smt.int_knob<"wg_m">, #iree_codegen.smt.int_knob<"wg_n">],
             mma = #iree_codegen.smt.one_of_knob<"mma_idx", ["16x16", "32x32"]>}
    dims(%m, %n, %k) {
  ^bb0(%dim_m: !smt.int, %dim_n: !smt.int, %dim_k: !smt.int):
    %wg_m = iree_codegen.smt.knob "wg_m" : !smt.int
    %wg_n = iree_codegen.smt.knob "wg_n" : !smt.int
    %mma_idx = iree_codegen.smt.knob "mma_idx" : !smt.int
    %mma = iree_codegen.smt.lookup %mma_idx [0, 1] -> [16, 32] : !smt.int
    %zero = smt.int.constant 0
    %rest_m = smt.int.mod %dim_m, %wg_m
    %whole = smt.eq %rest_m, %zero : !smt.int
    iree_codegen.smt.assert %whole, "dim_m ({}) must be a multiple of wg_m ({})", %dim_m, %wg_m
      : !smt.bool, !smt.int, !smt.int
    %rest_mma = smt.int.mod %wg_n, %mma
    %fits = smt.eq %rest_mma, %zero : !smt.int
    iree_codegen.smt.assert %fits, "wg_n ({}) must be a multiple of the mma's {}", %wg_n, %mma
      : !smt.bool, !smt.int, !smt.int
    %some = smt.int.cmp gt %dim_k, %zero
    iree_codegen.smt.assert %some, "dim_k must be positive" : !smt.bool
  }
  return
}
