"keep.op"
// -----
"keep.op"(
// -----
"keep.op"() : 
// -----
"keep.op"() : () -> (
// -----
"keep.op"() : i32
// -----
"keep.op"() {a = 1}
// -----
"keep.op"() {a = 1 : () -> ()
// -----
"keep.op"() <{a = 1} : () -> ()
// -----
"keep.op"() ({ : () -> ()
// -----
"keep.op"() ({}, ) : () -> ()
// -----
"keep.op"()[^bb] : () -> ()
// -----
"keep.op"()[] : () -> ()
// -----
"keep.op"(%0) : () -> ()
// -----
"keep.op"() : (i32) -> ()
// -----
"keep.op"(%missing) : (i32) -> ()
// -----
""() : () -> ()
// -----
%0 = "keep.op"() : () -> ()
// -----
%0, %1 = "keep.op"() : () -> i32
// -----
%0:2 = "keep.op"() : () -> i32
// -----
%0:0 = "keep.op"() : () -> i32
// -----
%0 = "keep.op"() : () -> i32
%0 = "keep.op"() : () -> i32
// -----
%0 = "keep.op"() : () -> i32
"keep.use"(%0) : (f32) -> ()
// -----
"keep.use"(%0) : (f32) -> ()
%0 = "keep.op"() : () -> i32
// -----
%0:2 = "keep.op"() : () -> (i32, i32)
"keep.use"(%0#2) : (i32) -> ()
// -----
%0 "keep.op"() : () -> i32
// -----
%0 = %1
// -----
% = "keep.op"() : () -> i32
// -----
"keep.region"() ({
  "keep.op"() : () -> ()
// -----
"keep.region"() ({
^bb0:
^bb0:
  "keep.end"() : () -> ()
}) : () -> ()
// -----
"keep.region"() ({
^bb0
  "keep.end"() : () -> ()
}) : () -> ()
// -----
"keep.region"() ({
^bb0(%a):
  "keep.end"() : () -> ()
}) : () -> ()
// -----
"keep.region"() ({
^bb0(%a: i32, %a: i32):
  "keep.end"() : () -> ()
}) : () -> ()
// -----
"keep.region"() ({
  "keep.jump"()[^missing] : () -> ()
}) : () -> ()
// -----
"keep.region"() ({
  %x = "keep.make"() : () -> i32
}) : () -> ()
"keep.use"(%x) : (i32) -> ()
// -----
"keep.region"() ({
  "keep.jump"()[^a] : () -> ()
^a:
  "keep.end"() : () -> ()
}, {
  "keep.jump"()[^a] : () -> ()
}) : () -> ()
// -----
keep.op
// -----
nothing
// -----
arith.nothing %0 : i32
// -----
"arith.nothing"() : () -> ()
// -----
"builtin.nothing"() : () -> ()
// -----
42
// -----
}
// -----
)
// -----
;
// -----
"keep.op"() : () -> () ?
// -----
module {
// -----
module @ {
}
// -----
module attributes {
}
// -----
module {
^bb0(%a: i32):
}
// -----
#a = 1 : i32
#a = 2 : i32
// -----
!a = i32
!a = i8
// -----
#a.b = 1 : i32
// -----
!a.b = i32
// -----
#a 1 : i32
// -----
!a = 
// -----
#a = #a
// -----
!a = tuple<!a>
// -----
"keep.op"() : () -> () loc(#missing)
// -----
#l = 1 : i32
"keep.op"() : () -> () loc(#l)
// -----
"keep.op"() : () -> () loc(
// -----
"keep.op"() : () -> () loc()
// -----
"keep.op"() : () -> () loc("f":1:2
// -----
"keep.op"() {a = dense_resource<x> : tensor<1xi8>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      x: "0x03000000FF"
    }
  }
#-}
// -----
"keep.op"() {a = dense_resource<x> : tensor<1xi8>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      x: "0x0100"
    }
  }
#-}
// -----
module {}
{-#
  other_resources: {
  }
#-}
// -----
module {}
{-#
  dialect_resources: {
    nodialect: {
      x: "0x01000000FF"
    }
  }
#-}
// -----
module {}
{-#
  external_resources: {
    tool: {
      x: 1
    }
  }
#-}
// -----
module {}
{-#
  external_resources: {
    tool: {
      x: true
    }
// -----
module {}
{-#
  dialect_resources: {
    builtin: {
      x: "0x01000000FG"
    }
  }
#-}
// -----
func.func @f( {
  return
}
// -----
func.func @f(%a) {
  return
}
// -----
func.func @f(%a: i32, f32) {
  return
}
// -----
func.func @f(i32) {
  return
}
// -----
func.func f() {
  return
}
// -----
func.func @f() -> {
  return
}
// -----
func.func @f() attributes {sym_name = "g"} {
  return
}
// -----
func.func @f() {
}
// -----
func.func @f(%a: i32, %a: i32) {
  return
}
// -----
func.func @f(%a: i32) {
  %a = arith.constant 1 : i32
  return
}
// -----
func.func @f() {
  return
// -----
func.func @f(...) {
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a %a : i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a overflow<fast> : i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a overflow nsw : i32
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.addf %a, %a fastmath<> : f32
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.addf %a, %a fastmath<nnan,> : f32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.cmpi almost, %a, %a : i32
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.cmpf eq, %a, %a : f32
  return
}
// -----
func.func @f(%a: f64) {
  %0 = arith.truncf %a sideways : f64 to f32
  return
}
// -----
func.func @f(%a: f64) {
  %0 = arith.truncf %a : f64
  return
}
// -----
func.func @f() {
  %0 = arith.constant
  return
}
// -----
func.func @f() {
  %0 = arith.constant "text"
  return
}
// -----
func.func @f() {
  %0 = arith.constant 1 : !foo.bar
  return
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c, ^a
^a:
  return
}
// -----
func.func @f(%c: i1) {
  cf.br
}
// -----
func.func @f(%c: i1, %a: i32) {
  cf.br ^a(%a)
^a(%b: i32):
  return
}
// -----
func.func @f(%c: i1, %a: i32) {
  cf.br ^a(%a : i32, f32)
^a(%b: i32):
  return
}
// -----
func.func @f(%a: i32) {
  cf.switch %a : i32, [
    1: ^a
  ]
^a:
  return
}
// -----
func.func @f(%a: i32) {
  cf.switch %a : i32, [
    default: ^a,
    x: ^a
  ]
^a:
  return
}
// -----
func.func @f(%c: i1) {
  cf.assert %c
  return
}
// -----
func.func @f(%c: i1) {
  scf.if %c
  return
}
// -----
func.func @f(%c: i1) {
  scf.if {
  }
  return
}
// -----
func.func @f(%n: index) {
  scf.for %i = %n to %n {
  }
  return
}
// -----
func.func @f(%n: index) {
  scf.for %i = %n to %n step %n iter_args(%a = %n) {
  }
  return
}
// -----
func.func @f(%n: index) {
  scf.for %i = %n to %n step %n iter_args(%a = %n) -> (index, index) {
    scf.yield %a : index
  }
  return
}
// -----
func.func @f(%n: i32) {
  scf.while (%a = %n) : (i32) -> i32 {
    scf.yield %a : i32
  }
  return
}
// -----
func.func @f(%n: i32) {
  scf.while (%a = %n) : i32 {
  } do {
  }
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %i: index) {
  %0 = tensor.extract %t %i : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %i: index) {
  %0 = tensor.insert %i, %t[%i] : tensor<4xf32>
  return
}
// -----
func.func @f() {
  %0 = tensor.empty : tensor<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[0] : vector<4xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = vector.splat %x : vector<4xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = vector.broadcast %x : f32 vector<4xf32>
  return
}
// -----
func.func @f(%x: f32) {
  vector.print %x : f32 punctuation <dot>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.qcast %x : f32 !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f() {
  %0 = ub.poison
  return
}
// -----
func.func @f() {
  %0 = ub.poison <1> : i32
  return
}
// -----
func.func @f(%x: i32) {
  %0 = builtin.unrealized_conversion_cast %x : i32
  return
}
// -----
func.func @f(%x: i32) {
  %0 = builtin.unrealized_conversion_cast %x to i32
  return
}
// -----
func.func @f() {
  call f() : () -> ()
  return
}
// -----
func.func @f() {
  call @f() : ()
  return
}
// -----
func.func @f() {
  call @f::@g() : () -> ()
  return
}
// -----
%0 = "keep.make"() : () -> i32
func.func @f() -> i32 {
  return %0 : i32
}
// -----
%0 = "keep.make"() : () -> i32
func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  return %0 : i32
}
// -----
func.func @f(%x: i32) {
  "arith.addi"(%x, %x) <5 : i32> : (i32, i32) -> i32
  return
}
// -----
func.func @f(%x: i32) {
  "arith.extsi"(%x) <{}> : (i32) -> i64
  return
}
// -----
func.func @f(%x: i32) {
  "arith.extsi"(%x) <{a = 1}> : (i32) -> i64
  return
}
// -----
func.func @f(%x: i32) {
  "arith.extsi"(%x) <{}> : (i64) -> i64
  return
}
// -----
"keep.props"() <5 : i32, 6> : () -> ()
// -----
"keep.props"() <> : () -> ()
