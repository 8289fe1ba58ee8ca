func.func @newer(%a: f32, %b: vector<2xf16>) {
  %0 = math.fma %a, %a, %a to_nearest_even : f32
  %1 = math.fma %b, %b, %b downward fastmath<nnan> : vector<2xf16>
  %2 = math.fma %a, %a, %a toward_zero {keep.a} : f32
  return
}
// -----
func.func @newer(%a: f32) -> i1 {
  %0 = math.isnan %a fastmath<nnan> : f32
  return %0 : i1
}
