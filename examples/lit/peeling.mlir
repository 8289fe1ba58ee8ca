// A bug that is known: the loop runs once although its lower bound is above the upper one. `not` of lit expects the
// exit code 1; if the bug is fixed, this test fails and says so.
//
// RUN: not %halfulp diff %s --mlir=%mlir --input=index=7 --input=index=4 --input=index=5 \
// RUN:   --pass-pipeline="builtin.module(func.func(scf-for-loop-peeling))" | %filecheck %s
// CHECK: @f: differs for 1 of 1 input
// CHECK: before: 0x00000000 (0)
// CHECK: after: 0x00000001 (1)

func.func @f(%lb: index, %ub: index, %step: index) -> i32 {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %trips = scf.for %i = %lb to %ub step %step iter_args(%n = %0) -> i32 {
    %m = arith.addi %n, %1 : i32
    scf.yield %m : i32
  }
  return %trips : i32
}
