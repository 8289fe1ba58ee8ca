// report: a complex number keeps the sign of a zero to which a positive zero is added
// passes: --canonicalize
func.func private @sum(%x: f32, %y: f32) -> f32 {
  %z = complex.create %x, %y : complex<f32>
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %sum = complex.add %z, %zero : complex<f32>
  %part = complex.re %sum : complex<f32>
  return %part : f32
}
func.func @main() {
  %x = arith.constant -0.0 : f32
  %y = arith.constant 1.0 : f32
  %result = call @sum(%x, %y) : (f32, f32) -> f32
  %bits = arith.bitcast %result : f32 to i32
  vector.print %bits : i32
  return
}
