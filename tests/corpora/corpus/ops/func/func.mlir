func.func @empty() {
  return
}
// -----
func.func private @declared()
// -----
func.func private @declared(i32, f32) -> (i32, f32)
// -----
// Visibilities of definitions.
func.func public @a() { return }
func.func private @b() { return }
func.func nested @c() { return }
// -----
// A nested declaration.
func.func nested @c(i32)
// -----
// Attributes of the function.
func.func @attributed() attributes {keep.a = 1 : i32, keep.b} {
  return
}
// -----
// Attributes of the arguments and results.
func.func @arguments(%a: i32 {keep.x}, %b: f32, %c: i1 {keep.y = 1 : i8, keep.z = "z"}) -> (i32 {keep.out}, f32) {
  return %a, %b : i32, f32
}
// -----
// One result with attributes stays in parentheses.
func.func private @one() -> (i32 {keep.out})
// -----
// Attributes on the arguments of a declaration.
func.func private @declared(i32 {keep.in = 1 : i8}, f32)
// -----
// Empty dictionaries of arguments vanish.
func.func private @none(i32 {}, f32 {}) -> (i32 {})
// -----
// A function that returns a function.
func.func private @returns() -> ((i32) -> i32)
// -----
// One result without parentheses, one with, none.
func.func private @one() -> i32
func.func private @same() -> (i32)
func.func private @none() -> ()
// -----
// Inlining forbidden.
func.func @kept_apart() attributes {no_inline} {
  return
}
// -----
func.func private @kept_apart() attributes {keep.z, no_inline, keep.a = 1 : i8}
// -----
// In generic form, with everything.
"func.func"() <{arg_attrs = [{keep.a}, {}], function_type = (i32, i32) -> f32, no_inline, res_attrs = [{keep.r}], sym_name = "all", sym_visibility = "private"}> ({
}) {keep.d = 1 : i8} : () -> ()
// -----
// In generic form, with a body.
"func.func"() <{function_type = (i32, f32) -> (f32, i32), sym_name = "swap"}> ({
^bb0(%a: i32, %b: f32):
  "func.return"(%b, %a) : (f32, i32) -> ()
}) : () -> ()
// -----
// A loop of blocks.
func.func @loop(%n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^done
^body:
  %next = arith.addi %i, %c1 : i32
  cf.br ^head(%next : i32)
^done:
  return %i : i32
}
// -----
// Recursion, and mutual recursion.
func.func @even(%n: i32) -> i1 {
  %r = call @odd(%n) : (i32) -> i1
  return %r : i1
}
func.func @odd(%n: i32) -> i1 {
  %r = func.call @even(%n) : (i32) -> i1
  return %r : i1
}
func.func @itself() {
  call @itself() : () -> ()
  return
}
// -----
// Calls with several results, and calls before the definition.
func.func @caller(%x: i32) -> (i32, f32) {
  %0:2 = call @callee(%x) : (i32) -> (i32, f32)
  return %0#0, %0#1 : i32, f32
}
func.func private @callee(i32) -> (i32, f32)
// -----
// Attributes on calls and returns.
func.func @caller() {
  call @caller() {keep.hint = 3 : i8} : () -> ()
  return {keep.last}
}
// -----
// Attributes of the arguments and results of a call, and no_inline.
func.func private @callee(i32) -> i32
func.func @caller(%x: i32) -> i32 {
  %0 = "func.call"(%x) <{arg_attrs = [{keep.a}], callee = @callee, no_inline, res_attrs = [{keep.r = 1 : i8}]}> : (i32) -> i32
  return %0 : i32
}
// -----
func.func private @callee(i32) -> i32
func.func @caller(%x: i32) -> i32 {
  %0 = func.call @callee(%x) {no_inline} : (i32) -> i32
  return %0 : i32
}
// -----
// A call by a quoted name.
func.func private @"two words"()
func.func @caller() {
  call @"two words"() : () -> ()
  return
}
// -----
// Functions as values.
func.func private @callee(i32) -> i32
func.func @indirect(%x: i32) -> i32 {
  %f = constant @callee : (i32) -> i32
  %0 = call_indirect %f(%x) : (i32) -> i32
  return %0 : i32
}
// -----
// Functions as values, with attributes, fully named.
func.func private @callee() -> (i32, i32)
func.func @indirect() {
  %f = func.constant {keep.a} @callee : () -> (i32, i32)
  %0:2 = func.call_indirect %f() {keep.b} : () -> (i32, i32)
  func.return
}
// -----
// A function that is an argument.
func.func @apply(%f: (f32, f32) -> f32, %x: f32) -> f32 {
  %0 = call_indirect %f(%x, %x) : (f32, f32) -> f32
  return %0 : f32
}
// -----
// Functions as values, in generic form.
func.func private @callee()
func.func @generic() {
  %f = "func.constant"() <{value = @callee}> : () -> (() -> ())
  "func.call_indirect"(%f) : (() -> ()) -> ()
  "func.call"() <{callee = @callee}> : () -> ()
  "func.return"() : () -> ()
}
// -----
// Attributes of the arguments of an indirect call.
func.func @generic(%f: (i32) -> i32, %x: i32) {
  %0 = "func.call_indirect"(%f, %x) <{arg_attrs = [{keep.a}], res_attrs = [{keep.b}]}> : ((i32) -> i32, i32) -> i32
  return
}
// -----
// An entry block with a label.
func.func @labelled() {
^entry:
  return
}
// -----
// Many arguments.
func.func @many(%0: i1, %1: i2, %2: i3, %3: i4, %4: i5, %5: i6, %6: i7, %7: i8, %8: i9, %9: i10, %10: i11, %11: i12) -> i12 {
  return %11 : i12
}
// -----
// A return of several values.
func.func @many(%a: i32, %b: f32, %c: tensor<*xf32>) -> (tensor<*xf32>, f32, i32, i32) {
  return %c, %b, %a, %a : tensor<*xf32>, f32, i32, i32
}
