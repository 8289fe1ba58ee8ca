func.func @larger(%a: f6E3M2FN, %b: f6E3M2FN) -> f6E3M2FN {
  %larger = arith.maximumf %a, %b : f6E3M2FN
  return %larger : f6E3M2FN
}
