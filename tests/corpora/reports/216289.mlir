// report: an inner loop reads the value that the outer loop carries
// passes: --pass-pipeline=builtin.module(func.func(affine-loop-coalescing))
func.func private @tripled(%first: i32) -> i32 {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  %last = scf.for %i = %zero to %two step %one iter_args(%a = %first) -> (i32) {
    %sum = scf.for %j = %zero to %two step %one iter_args(%b = %a) -> (i32) {
      %next = arith.addi %b, %a : i32
      scf.yield %next : i32
    }
    scf.yield %sum : i32
  }
  return %last : i32
}
func.func @main() {
  %one = arith.constant 1 : i32
  %result = call @tripled(%one) : (i32) -> i32
  vector.print %result : i32
  return
}
