// The roots of a x^2 + b x + c by the formula from school.
//
//   halfulp run --shadow examples/quadratic.mlir --input=1 --input=1000 --input=1
func.func @roots(%a: f32, %b: f32, %c: f32) -> (f32, f32) {
  %two = arith.constant 2.0 : f32
  %four = arith.constant 4.0 : f32
  %bb = arith.mulf %b, %b : f32
  %ac = arith.mulf %a, %c : f32
  %ac4 = arith.mulf %four, %ac : f32
  %d = arith.subf %bb, %ac4 : f32
  %root = math.sqrt %d : f32
  %n = arith.negf %b : f32
  %0 = arith.addf %n, %root : f32
  %1 = arith.subf %n, %root : f32
  %a2 = arith.mulf %two, %a : f32
  %x = arith.divf %0, %a2 : f32
  %y = arith.divf %1, %a2 : f32
  return %x, %y : f32, f32
}
