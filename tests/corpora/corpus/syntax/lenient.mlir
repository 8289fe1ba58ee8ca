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
// -----
// Brackets around integers, and a part that begins in front of its tensor.
func.func @f(%a: tensor<1x2x2x4xf32>) -> tensor<1x2x4xf32> {
 %0 = tensor.extract_slice %a[0, 0, 0, 0] [1, 1, 2, 4] [1, 1, -1, 1] : tensor<1x2x2x4xf32> to tensor<1x2x4xf32>
 return %0 : tensor<1x2x4xf32>
}
// -----
func.func @f(%a: tensor<?xf32>) -> tensor<4xf32> {
 %0 = tensor.extract_slice %a[[0]] [4] [[1]] : tensor<?xf32> to tensor<4xf32>
 return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: index) -> index {
 %3 = affine.linearize_index disjoint [%a, %a] by (8, [4]) : index
 return %3 : index
}
// -----
func.func @f(%a: tensor<20x1x12xf32>, %d : tensor<10x1x3x4x2xf32>) -> tensor<10x1x3x4x2xf32> {
 %0 = linalg.pack %a inner_dims_pos = [2, 0] inner_tiles = [[4], 2] into %d : tensor<20x1x12xf32> -> tensor<10x1x3x4x2xf32>
 return %0: tensor<10x1x3x4x2xf32>
}
// -----
func.func @f(%a: memref<?xf32>) -> memref<4xf32, strided<[1], offset: 0>> {
 %0 = memref.subview %a[[0]] [4] [[1]] : memref<?xf32> to memref<4xf32, strided<[1], offset: 0>>
 return %0 : memref<4xf32, strided<[1], offset: 0>>
}
// -----
func.func @f(%a: memref<8xf32>) {
 %c = memref.reinterpret_cast %a to offset: [[0]], sizes: [[4]], strides: [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 0>>
 return
}
// -----
func.func @f() { scf.forall (%i) in ([4]) { }
 return }
