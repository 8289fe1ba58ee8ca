// report: the quotient of the smallest number is rounded up
// passes: --arith-expand
func.func @main() {
  %smallest = arith.constant -128 : i8
  %seven = arith.constant 7 : i8
  %quotient = call @divided(%smallest, %seven) : (i8, i8) -> i8
  vector.print %quotient : i8
  return
}
func.func private @divided(%a: i8, %b: i8) -> i8 {
  %quotient = arith.ceildivsi %a, %b : i8
  return %quotient : i8
}
