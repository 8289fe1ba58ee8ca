// A quotient by a tenth, in f32.
//
//   halfulp run --shadow examples/quotient.mlir --input=1.3
func.func @scale(%x: f32) -> f32 {
  %tenth = arith.constant 0.1 : f32
  %0 = arith.divf %x, %tenth : f32
  return %0 : f32
}
