// report: a mask of more than 2^32 elements is empty
// passes:
func.func @main() {
  %one = arith.constant 1 : i64
  %exponent = arith.constant 51 : i64
  %large = call @shifted(%one, %exponent) : (i64, i64) -> index
  %mask = vector.create_mask %large : vector<5xi1>
  vector.print %mask : vector<5xi1>
  return
}
func.func private @shifted(%a: i64, %b: i64) -> index attributes {no_inline} {
  %shifted = arith.shli %a, %b : i64
  %index = arith.index_cast %shifted : i64 to index
  return %index : index
}
