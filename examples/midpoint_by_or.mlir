// The number in the middle of two, from above: see examples/midpoint.mlir.
//
//     halfulp run examples/midpoint_by_or.mlir --input=i32=3 --input=i32=6
func.func @midpoint(%a: i32, %b: i32) -> i32 {
  %one = arith.constant 1 : i32
  %either = arith.ori %a, %b : i32
  %different = arith.xori %a, %b : i32
  %half = arith.shrui %different, %one : i32
  %rest = arith.subi %different, %half : i32
  %middle = arith.subi %either, %rest : i32
  return %middle : i32
}
