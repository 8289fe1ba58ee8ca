// A pass may not change results. The exit code says so, and the output can be checked too.
//
// RUN: %halfulp diff %s --mlir=%mlir --pass-pipeline="builtin.module(canonicalize)" | %filecheck %s
// CHECK-LABEL: @f: proven (every input)

func.func @f(%x: i8) -> i8 {
  %zero = arith.constant 0 : i8
  %sum = arith.addi %x, %zero : i8
  return %sum : i8
}
