// The mean of two numbers, in a common but unsafe way. 100 + 100 does not fit into i8, but nsw promises that every sum
// fits. So this mean is poison. docs/trace.md has a trace of such a run, which shows where the poison is born.
//
//   halfulp run examples/average.mlir --input="3xi8=3 10 -7" --input="3xi8=4 100 -7"
func.func @average(%x: tensor<3xi8>, %y: tensor<3xi8>) -> tensor<3xi8> {
  %two = arith.constant dense<2> : tensor<3xi8>
  %sum = arith.addi %x, %y overflow<nsw> : tensor<3xi8>
  %mean = arith.divsi %sum, %two : tensor<3xi8>
  return %mean : tensor<3xi8>
}
