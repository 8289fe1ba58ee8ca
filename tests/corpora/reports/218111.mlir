// report: the ceiling of a small negative number is a positive zero
// passes: --math-expand-ops
func.func private @ceiling(%x: f32) -> f32 {
  %r = math.ceil %x : f32
  return %r : f32
}
func.func @main() {
  %x = arith.constant -0.25 : f32
  %r = call @ceiling(%x) : (f32) -> f32
  %bits = arith.bitcast %r : f32 to i32
  vector.print %bits : i32
  return
}
