// The mean of two numbers, as it is often written. The sum of 100 and 100 does not fit i8, and nsw promised that it
// would: the mean of these is poison. docs/trace.md shows where it is born, by a trace of another run.
//
//   halfulp run examples/average.mlir --input="3xi8=3 10 -7" --input="3xi8=4 100 -7"
func.func @average(%x: tensor<3xi8>, %y: tensor<3xi8>) -> tensor<3xi8> {
  %two = arith.constant dense<2> : tensor<3xi8>
  %sum = arith.addi %x, %y overflow<nsw> : tensor<3xi8>
  %mean = arith.divsi %sum, %two : tensor<3xi8>
  return %mean : tensor<3xi8>
}
