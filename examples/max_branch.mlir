// The larger of two numbers, with a branch. Does examples/max_op.mlir compute the same with one op?
func.func @larger(%a: f6E3M2FN, %b: f6E3M2FN) -> f6E3M2FN {
  %greater = arith.cmpf ogt, %a, %b : f6E3M2FN
  cf.cond_br %greater, ^bb1(%a : f6E3M2FN), ^bb1(%b : f6E3M2FN)
^bb1(%larger: f6E3M2FN):
  return %larger : f6E3M2FN
}

// Run it:
//
//   halfulp run examples/max_branch.mlir --input=f6E3M2FN=1.5 --input=f6E3M2FN=-2
