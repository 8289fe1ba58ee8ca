// report: a masked reduction of no dimension ignores the mask
// passes: --lower-vector-multi-reduction
func.func @main() {
  %one = arith.constant 1 : index
  %mask = vector.create_mask %one, %one : vector<2x2xi1>
  %ones = arith.constant dense<1> : vector<2x2xi32>
  %twos = arith.constant dense<2> : vector<2x2xi32>
  %sum = vector.mask %mask {
    vector.multi_reduction <add>, %ones, %twos [] : vector<2x2xi32> to vector<2x2xi32>
  } : vector<2x2xi1> -> vector<2x2xi32>
  vector.print %sum : vector<2x2xi32>
  return
}
