// (x + y) to the power of y:
//
//   halfulp run examples/power.mlir --input=f32=0.5 --input=f32=2
func.func @main(%x: f32, %y: f32) -> f32 {
  %sum = arith.addf %x, %y : f32
  %power = math.powf %sum, %y : f32
  return %power : f32
}
