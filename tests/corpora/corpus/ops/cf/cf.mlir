func.func @jump() {
  cf.br ^next
^next:
  return
}
// -----
func.func @jump(%a: i32, %b: f32) -> i32 {
  cf.br ^next(%a, %b : i32, f32)
^next(%x: i32, %y: f32):
  return %x : i32
}
// -----
// Attributes on branches.
func.func @jump(%c: i1) {
  cf.br ^next {keep.a}
^next:
  cf.cond_br %c, ^next, ^end {keep.b = 1 : i8}
^end:
  return
}
// -----
// Both ways to one block.
func.func @same(%c: i1, %a: i32, %b: i32) -> i32 {
  cf.cond_br %c, ^end(%a : i32), ^end(%b : i32)
^end(%r: i32):
  return %r : i32
}
// -----
// Operands for neither, one, or the other way.
func.func @ways(%c: i1, %a: i32) {
  cf.cond_br %c, ^one(%a : i32), ^two
^one(%x: i32):
  cf.cond_br %c, ^two, ^one(%x : i32)
^two:
  cf.cond_br %c, ^three, ^three
^three:
  return
}
// -----
// Weights.
func.func @weighted(%c: i1) {
  cf.cond_br %c weights([90, 10]), ^yes, ^no
^yes:
  return
^no:
  return
}
// -----
// Weights, operands and attributes.
func.func @weighted(%c: i1, %a: i32) {
  cf.cond_br %c weights([0, 2147483647]), ^yes(%a, %a : i32, i32), ^no {keep.a}
^yes(%x: i32, %y: i32):
  return
^no:
  return
}
// -----
// Branches in generic form.
func.func @generic(%c: i1, %a: i32) {
  "cf.cond_br"(%c, %a)[^yes, ^no] <{branch_weights = array<i32: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i1, i32) -> ()
^yes:
  "cf.br"()[^yes] : () -> ()
^no(%x: i32):
  "cf.br"(%x)[^no] {keep.a} : (i32) -> ()
}
// -----
// A switch with a default alone.
func.func @switch(%flag: i32) {
  cf.switch %flag : i32, [
    default: ^end
  ]
^end:
  return
}
// -----
// A switch with cases and operands.
func.func @switch(%flag: i32, %a: i32, %b: f32) {
  cf.switch %flag : i32, [
    default: ^one(%a : i32),
    42: ^one(%flag : i32),
    43: ^two(%a, %b : i32, f32),
    -1: ^three
  ]
^one(%x: i32):
  return
^two(%y: i32, %z: f32):
  return
^three:
  return
}
// -----
// A switch over a wide flag, with an attribute.
func.func @switch(%flag: i64) {
  cf.switch %flag : i64, [
    default: ^end,
    9223372036854775807: ^end,
    -9223372036854775808: ^end
  ] {keep.a}
^end:
  return
}
// -----
// A switch in generic form.
func.func @switch(%flag: i8, %a: i32) {
  "cf.switch"(%flag, %a, %a)[^end, ^end, ^other] <{case_operand_segments = array<i32: 1, 0>, case_values = dense<[1, -2]> : vector<2xi8>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (i8, i32, i32) -> ()
^end(%x: i32):
  return
^other:
  return
}
// -----
// A switch in generic form, default alone.
func.func @switch(%flag: i8) {
  "cf.switch"(%flag)[^end] <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i8) -> ()
^end:
  return
}
// -----
// Assertions.
func.func @assert(%c: i1) {
  cf.assert %c, "must hold"
  cf.assert %c, "with \22quotes\22" {keep.a}
  "cf.assert"(%c) <{msg = "generic"}> : (i1) -> ()
  return
}
// -----
// A diamond with values that meet.
func.func @diamond(%c: i1, %x: f32) -> f32 {
  cf.cond_br %c, ^left, ^right(%x : f32)
^left:
  %0 = arith.negf %x : f32
  cf.br ^join(%0 : f32)
^right(%y: f32):
  %1 = arith.addf %y, %y : f32
  cf.br ^join(%1 : f32)
^join(%z: f32):
  return %z : f32
}
// -----
// Unreachable blocks may use each other's values in any order.
func.func @unreachable() {
  return
^a:
  %0 = "keep.use"(%1) : (i32) -> i32
  cf.br ^b
^b:
  %1 = "keep.use"(%0) : (i32) -> i32
  cf.br ^a
}
// -----
// Endless.
func.func @forever() {
  cf.br ^loop
^loop:
  cf.br ^loop
}
// -----
// A value that dominates through several blocks.
func.func @dominates(%c: i1) -> i32 {
  %0 = arith.constant 7 : i32
  cf.cond_br %c, ^a, ^b
^b:
  cf.br ^a
^a:
  return %0 : i32
}
