// report: a quotient that is expanded and then folded is negative
// passes: --arith-expand --arith-unsigned-when-equivalent --int-range-optimizations
func.func @main() {
  %eight = arith.constant 8 : i32
  %number = arith.constant 29326 : i32
  %two = arith.constant 2 : i32
  %one = arith.constant 1 : i32
  %shifted = arith.shrsi %number, %two : i32
  %bits = math.ctpop %shifted : i32
  %double = arith.shli %bits, %one : i32
  %quotient = arith.ceildivsi %double, %eight : i32
  vector.print %quotient : i32
  return
}
