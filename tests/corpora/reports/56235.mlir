// report: a factor is moved into the bounds of a loop that does not begin at 0
// passes: --scf-for-loop-range-folding
func.func private @sum(%factor: index) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %five = arith.constant 5 : index
  %result = scf.for %i = %two to %five step %one iter_args(%sum = %zero) -> index {
    %product = arith.muli %i, %factor : index
    %next = arith.addi %sum, %product : index
    scf.yield %next : index
  }
  return %result : index
}
func.func @main() {
  %three = arith.constant 3 : index
  %less = arith.constant -3 : index
  %up = call @sum(%three) : (index) -> index
  vector.print %up : index
  %down = call @sum(%less) : (index) -> index
  vector.print %down : index
  return
}
