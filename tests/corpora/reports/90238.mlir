// report: a number that is cut to 8 bits and extended keeps all its bits
// passes: --canonicalize
func.func private @hundred() -> i64 {
  %hundred = arith.constant 100 : i64
  return %hundred : i64
}
func.func @main() {
  %a = call @hundred() : () -> i64
  %square = arith.muli %a, %a : i64
  %index = arith.index_castui %square : i64 to index
  %byte = arith.index_castui %index : index to i8
  %extended = arith.index_castui %byte : i8 to index
  vector.print %extended : index
  return
}
