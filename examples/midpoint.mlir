// The number in the middle of two, rounded down, without a sum that overflows. Does examples/midpoint_by_or.mlir compute the
// same for all 2^64 pairs?
//
//     halfulp run examples/midpoint.mlir --input=i32=3 --input=i32=6
//     halfulp diff examples/midpoint.mlir examples/midpoint_by_or.mlir
func.func @midpoint(%a: i32, %b: i32) -> i32 {
  %one = arith.constant 1 : i32
  %common = arith.andi %a, %b : i32
  %different = arith.xori %a, %b : i32
  %half = arith.shrui %different, %one : i32
  %middle = arith.addi %common, %half : i32
  return %middle : i32
}

// Prove it (with the extra `prove`):
//
//   halfulp diff examples/midpoint.mlir examples/midpoint_by_or.mlir
