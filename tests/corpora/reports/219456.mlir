// report: a value that is passed on twice is the one of the other arm
// passes: --canonicalize
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %other = arith.constant 20 : index
  %result:3 = scf.while (%state = %zero) : (index) -> (index, index, index) {
    %goes_on = arith.cmpi slt, %state, %one : index
    %value = scf.if %goes_on -> index {
      %next = arith.addi %state, %two : index
      scf.yield %next : index
    } else {
      scf.yield %other : index
    }
    scf.condition(%goes_on) %value, %value, %state : index, index, index
  } do {
  ^bb0(%first: index, %second: index, %old: index):
    scf.yield %second : index
  }
  vector.print %result#2 : index
  return
}
