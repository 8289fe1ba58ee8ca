// report: a bitcast of a vector of vectors of one element gives 0
// passes: --test-vector-linearize
func.func @main() {
  %zero = arith.constant 0 : index
  %numbers = arith.constant dense<-0.0> : vector<3x1xf32>
  %opaque = call @passed(%numbers) : (vector<3x1xf32>) -> vector<3x1xf32>
  %bits = vector.bitcast %opaque : vector<3x1xf32> to vector<3x1xi32>
  %flat = vector.shape_cast %bits : vector<3x1xi32> to vector<3xi32>
  vector.print %flat : vector<3xi32>
  return
}
func.func private @passed(%a: vector<3x1xf32>) -> vector<3x1xf32> {
  return %a : vector<3x1xf32>
}
