func.func @f(%f: f32, %g: f64, %c: complex<f32>, %d: complex<f64>, %i: i32, %ci: complex<i32>) {
  %r0 = "complex.constant"() {value=[1:i32,2:i32]} : () -> complex<i32>
  %r1 = complex.bitcast %c : complex<f32> to f64
  %r2 = complex.bitcast %c : complex<f32> to complex<f32>
  %r3 = complex.powi %c, %i : complex<f32>, i32
  %r4 = complex.abs %c fastmath<nnan> {a} : complex<f32>
  %r5 = complex.angle %c fastmath<nnan> {a} : complex<f32>
  %r6 = complex.conj %c fastmath<nnan> {a} : complex<f32>
  %r7 = complex.cos %c fastmath<nnan> {a} : complex<f32>
  %r8 = complex.exp %c fastmath<nnan> {a} : complex<f32>
  %r9 = complex.expm1 %c fastmath<nnan> {a} : complex<f32>
  %r10 = complex.im %c fastmath<nnan> {a} : complex<f32>
  %r11 = complex.log %c fastmath<nnan> {a} : complex<f32>
  %r12 = complex.log1p %c fastmath<nnan> {a} : complex<f32>
  %r13 = complex.neg %c fastmath<nnan> {a} : complex<f32>
  %r14 = complex.re %c fastmath<nnan> {a} : complex<f32>
  %r15 = complex.rsqrt %c fastmath<nnan> {a} : complex<f32>
  %r16 = complex.sign %c fastmath<nnan> {a} : complex<f32>
  %r17 = complex.sin %c fastmath<nnan> {a} : complex<f32>
  %r18 = complex.sqrt %c fastmath<nnan> {a} : complex<f32>
  %r19 = complex.tan %c fastmath<nnan> {a} : complex<f32>
  %r20 = complex.tanh %c fastmath<nnan> {a} : complex<f32>
  %r21 = complex.atan2 %c, %c fastmath<nnan> {a} : complex<f32>
  %r22 = complex.add %c, %c fastmath<nnan> {a} : complex<f32>
  %r23 = complex.div %c, %c fastmath<nnan> {a} : complex<f32>
  %r24 = complex.mul %c, %c fastmath<nnan> {a} : complex<f32>
  %r25 = complex.pow %c, %c fastmath<nnan> {a} : complex<f32>
  %r26 = complex.sub %c, %c fastmath<nnan> {a} : complex<f32>
  %r27 = complex.constant [0x7FC00000 : f32, -0.0 : f32] {b} : complex<f32>
  %r28 = complex.constant [1:i4,2:i4] : complex<i4>
  %r29 = complex.powi %c, %i fastmath<fast> {a} : complex<f32>, i32
  return
}
// -----
func.func @f(%f: f32, %n: i32, %t: tensor<2xcomplex<f32>>) {
  %0 = complex.constant [0.1, -1.0] : complex<f64>
  %c = complex.create %f, %f {a}: complex<f32>
  %r = complex.re %c fastmath<nnan> : complex<f32>
  %a = complex.abs %c fastmath<fast> {b} : complex<f32>
  %s = complex.add %c, %c fastmath<nnan,contract> : complex<f32>
  %e = complex.eq %c, %c : complex<f32>
  %an = complex.angle %c : complex<f32>
  %co = complex.conj %c : complex<f32>
  %p = complex.powi %c, %n fastmath<nnan> : complex<f32>, i32

  %b = complex.bitcast %c : complex<f32> to i64
  %x = complex.atan2 %c, %c : complex<f32>
  return
}
// -----
func.func @plain(%f: f32, %c: complex<f32>, %i: i32) {
  %r0 = complex.abs %c : complex<f32>
  %r1 = complex.angle %c : complex<f32>
  %r2 = complex.conj %c : complex<f32>
  %r3 = complex.cos %c : complex<f32>
  %r4 = complex.exp %c : complex<f32>
  %r5 = complex.expm1 %c : complex<f32>
  %r6 = complex.im %c : complex<f32>
  %r7 = complex.log %c : complex<f32>
  %r8 = complex.log1p %c : complex<f32>
  %r9 = complex.neg %c : complex<f32>
  %r10 = complex.re %c : complex<f32>
  %r11 = complex.rsqrt %c : complex<f32>
  %r12 = complex.sign %c : complex<f32>
  %r13 = complex.sin %c : complex<f32>
  %r14 = complex.sqrt %c : complex<f32>
  %r15 = complex.tan %c : complex<f32>
  %r16 = complex.tanh %c : complex<f32>
  %r17 = complex.atan2 %c, %c : complex<f32>
  %r18 = complex.add %c, %c : complex<f32>
  %r19 = complex.div %c, %c : complex<f32>
  %r20 = complex.mul %c, %c : complex<f32>
  %r21 = complex.pow %c, %c : complex<f32>
  %r22 = complex.sub %c, %c : complex<f32>
  %r23 = complex.eq %c, %c : complex<f32>
  %r24 = complex.neq %c, %c : complex<f32>
  %r25 = complex.create %f, %f : complex<f32>
  %k = complex.constant [1.0 : f32, -0.0 : f32] : complex<f32>
  %p = complex.powi %c, %i : complex<f32>, i32
  %b = complex.bitcast %c : complex<f32> to i64
  return
}
