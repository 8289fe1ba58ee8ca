// report: a value that depends on the difference of two booleans is folded
// passes: --sccp
func.func @main() {
  %true = arith.constant true
  %large = arith.constant 10283417 : index
  %low, %high = arith.mului_extended %large, %large : index
  %difference = arith.subi %true, %true : i1
  %pair:2 = scf.if %difference -> (index, index) {
    %number = arith.constant -5111992125488369343 : index
    scf.yield %number, %number : index, index
  } else {
    %five = arith.constant 5 : index
    %shifted = arith.shrsi %high, %five : index
    scf.yield %shifted, %five : index, index
  }
  %low2, %high2 = arith.mului_extended %large, %pair#1 : index
  vector.print %pair#0 : index
  vector.print %low2 : index
  return
}
