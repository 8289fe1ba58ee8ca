// report: a shift by more than the narrow width becomes 0
// passes: --arith-int-range-narrowing=int-bitwidths-supported=8
func.func private @shifted(%a: i16) -> i16 {
  %mask = arith.constant 15 : i16
  %ten = arith.constant 10 : i16
  %small = arith.andi %a, %mask : i16
  %shifted = arith.shrui %small, %ten : i16
  return %shifted : i16
}
func.func @main() {
  %a = arith.constant 15 : i16
  %result = call @shifted(%a) : (i16) -> i16
  vector.print %result : i16
  return
}
