// What mlir-opt accepts although one might expect otherwise.
"keep.op"() {a = dense<[1, 2]> : vector<[2]xi32>} : () -> ()
// -----
"keep.op"() {a = 9223372036854775808} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 floordiv 0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 mod 0)>} : () -> ()
// -----
"keep.op"() {a = affine_map<(d0) -> (d0 mod -3)>} : () -> ()
// -----
"keep.op"() {a = loc("f":1)} : () -> ()
// -----
"keep.op"() {a = tensor<f32, >} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<si8:f32, 1.0>} : () -> ()
// -----
func.func @f(%x: i32) {
  scf.execute_region {
    "keep.op"() : () -> ()
  }
  return
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c weights([-1, 5]), ^a, ^a
^a:
  return
}
// -----
func.func @f(%x: i8) {
  cf.switch %x : i8, [
    default: ^a,
    300: ^a
  ]
^a:
  return
}
// -----
func.func @f() {
  "keep.region"() ({
    func.func private @g()
  }) : () -> ()
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.bitcast %a : i32 to i32
  return
}
// -----
func.func @f() {
  %0 = arith.constant dense<(1, 2)> : tensor<2xcomplex<i32>>
  return
}
// -----
func.func @f() {
  %0 = arith.constant dense<"x"> : tensor<2x!foo.string>
  return
}
// -----
func.func @f(%a: tensor<2xf16>, %s: f32) {
  %0 = arith.scaling_extf %a, %s : tensor<2xf16>, f32 to tensor<2xf32>
  return
}
// -----
func.func @f(%t: tensor<2xf32, "a">) {
  %0 = tensor.cast %t : tensor<2xf32, "a"> to tensor<?xf32>
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) <{unknown = 1 : i32}> : (i32, i32) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) {unknown = 1 : i32} : (i32, i32) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a {overflowFlags = #arith.overflow<nsw>} : i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a {plain = 1 : i8} : i32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = arith.constant {value = 1 : i32} 2 : i32
  return
}
