func.func @larger(%a: f6E3M2FN, %b: f6E3M2FN) -> f6E3M2FN {
  %larger = arith.maximumf %a, %b : f6E3M2FN
  return %larger : f6E3M2FN
}

// Run it:
//
//   halfulp run examples/max_op.mlir --input=f6E3M2FN=1.5 --input=f6E3M2FN=-2
