// Constants are named after their values.
func.func @constants() {
  %0 = arith.constant 1 : i32
  %1 = arith.constant -1 : i32
  %2 = arith.constant 1 : index
  %3 = arith.constant true
  %4 = arith.constant false
  %5 = arith.constant 1.0 : f32
  %6 = arith.constant dense<1> : tensor<2xi32>
  %7 = arith.constant 1 : i32
  %8 = arith.constant 1 : i32
  %9 = arith.constant 2.0 : f64
  return
}
// -----
// Names that collide with one another, and with those that constants suggest.
func.func @collide(%c1_i32: i32, %cst: f32) {
  %0 = arith.constant 1 : i32
  %1 = arith.constant 1.0 : f32
  %c1_i32_0 = arith.constant 1 : i32
  return
}
// -----
// Arguments of functions and blocks, and results, are numbered per function.
func.func @first(%x: i32, %y: i32) -> i32 {
  %z = arith.addi %x, %y : i32
  return %z : i32
}
func.func @second(%p: i32) -> i32 {
  %q = arith.muli %p, %p : i32
  cf.br ^bb(%q : i32)
^bb(%r: i32):
  return %r : i32
}
// -----
// Results of several kinds in one body.
func.func @mixed(%a: i32) {
  %0:2 = "keep.pair"(%a) : (i32) -> (i32, i32)
  %1, %2 = arith.addui_extended %0#0, %0#1 : i32, i1
  %3:3 = "keep.three"(%1) : (i32) -> (i32, i32, i32)
  %low, %high = arith.mulsi_extended %3#0, %3#2 : i32
  return
}
// -----
// Regions inside functions go on counting.
func.func @nested(%a: i32) {
  %0 = arith.addi %a, %a : i32
  "keep.region"() ({
  ^bb0(%b: i32):
    %1 = arith.addi %b, %0 : i32
    "keep.region"() ({
    ^bb0(%c: i32):
      %2 = arith.addi %c, %1 : i32
      "keep.end"() : () -> ()
    }) : () -> ()
    "keep.end"() : () -> ()
  }, {
    %3 = arith.addi %a, %0 : i32
    "keep.end"() : () -> ()
  }) : () -> ()
  %4 = arith.addi %0, %0 : i32
  return
}
// -----
// Values at the top level and values inside functions.
%0 = "keep.make"() : () -> i32
func.func @f(%arg0: i32) -> i32 {
  %inner = arith.addi %arg0, %arg0 : i32
  return %inner : i32
}
%1 = "keep.make"() : () -> i32
// -----
// Block labels are numbered in order.
func.func @labels(%c: i1) {
  cf.cond_br %c, ^yes, ^no
^no:
  cf.br ^end
^yes:
  cf.br ^end
^end:
  return
}
// -----
// A constant of a wide, a signed-looking, and an odd type.
func.func @odd() {
  %0 = arith.constant 5 : i128
  %1 = arith.constant -3 : i3
  %2 = arith.constant 1 : i1
  %3 = arith.constant -5 : index
  return
}
// -----
// The same constant in two regions that are side by side.
func.func @sides() {
  "keep.region"() ({
    %c = arith.constant 7 : i32
    "keep.end"() : () -> ()
  }, {
    %c = arith.constant 7 : i32
    "keep.end"() : () -> ()
  }) : () -> ()
  return
}
