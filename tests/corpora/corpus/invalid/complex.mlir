func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.create"(%f, %g) : (f32, f64) -> complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.create"(%f, %f) : (f32, f32) -> complex<f64>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.create"(%i, %i) : (i32, i32) -> complex<i32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.re"(%f) : (f32) -> f32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.re"(%c) : (complex<f32>) -> f64
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.add"(%c,%d) : (complex<f32>,complex<f64>) -> complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.add"(%c,%c) : (complex<f32>,complex<f32>) -> complex<f64>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.eq"(%c,%d) : (complex<f32>,complex<f64>) -> i1
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.abs"(%c) : (complex<f32>) -> f64
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.constant"() {value=["a","b"]} : () -> complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.constant"() {value=[1.0:f32,2.0:f32]} : () -> f32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.constant"() {value=1.0:f32} : () -> complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.constant"() : () -> complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.bitcast %c : complex<f32> to i32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.bitcast %c : complex<f32> to complex<i32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.powi %c, %f : complex<f32>, f32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.constant [1.0, 2.0] : complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.constant [1.0:f32, "a"] : complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.re %f : f32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.create %f, %f : f32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.foo %f
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.neg"(%c) : (complex<f32>) -> complex<f64>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.bitcast %f : f32 to i64
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.angle"(%c) : (complex<f32>) -> f64
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = "complex.re"(%ci) : (complex<i32>) -> i32
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = complex.constant {c} [1.0:f32,2.0:f32] : complex<f32>
  return
}
// -----
func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %0 = arith.constant {a = #complex.number<:f32 1.0, -2.5>, b = [#complex.number<:bf16 1.0, 1> : complex<bf16>]} 1 : i32
  return
}
