// Adds the elements of a buffer in f8E4M3FN, from the first to the last:
//
//   halfulp run examples/sum.mlir --input="4xf8E4M3FN=448 -18 18 0"
//
// 448 - 18 = 430 rounds to 416, and 416 + 18 = 434 rounds to 448. In another order 448 + 18 = 466 comes first, which is NaN.
// sum_passes.txt is what mlir-opt 22 printed, and has such an order:
//
//   mlir-opt examples/sum.mlir --mlir-print-ir-after-all --mlir-print-ir-module-scope --mlir-disable-threading \
//     --pass-pipeline='builtin.module(canonicalize,func.func(affine-super-vectorize{virtual-vector-size=2 vectorize-reductions}),cse)'
func.func @sum(%x: memref<4xf8E4M3FN>) -> f8E4M3FN {
  %zero = arith.constant 0.0 : f8E4M3FN
  %sum = affine.for %i = 0 to 4 iter_args(%acc = %zero) -> (f8E4M3FN) {
    %0 = affine.load %x[%i] : memref<4xf8E4M3FN>
    %1 = arith.addf %acc, %0 : f8E4M3FN
    affine.yield %1 : f8E4M3FN
  }
  return %sum : f8E4M3FN
}
