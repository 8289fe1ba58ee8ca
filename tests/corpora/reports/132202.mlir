// report: a power of a negative number is a NaN
// passes: --math-expand-ops=ops=powf
func.func private @power(%base: f32, %exponent: f32) -> f32 {
  %power = math.powf %base, %exponent : f32
  return %power : f32
}
func.func @main() {
  %base = arith.constant -2.0 : f32
  %five = arith.constant 5.0 : f32
  %power = call @power(%base, %five) : (f32, f32) -> f32
  vector.print %power : f32
  return
}
