func.func @f(%a: i32, %b: f32 {x.y = 1}) -> (i32 {x.z}, f32) attributes {x.w} {
// -----
 return %a, %b : i32, f32 }
// -----
func.func private @f(i32, f32 {x.y}) -> (i32)
// -----
func.func @f()
// -----
func.func public @f() { return }
// -----
func.func nested @f() { return }
// -----
func.func private @f(%a: i32) 
// -----
func.func private @f(%a: i32, f32) 
// -----
func.func @f(i32) { return }
// -----
func.func @f(...) { return }
// -----
func.func private @f(i32, ...)
// -----
func.func @f(%a: i32 loc("x")) { return }
// -----
func.func @f() -> i32 { return }
// -----
func.func @f() -> () { return }
// -----
func.func @f() -> ((i32) -> i32)
// -----
func.func private @f() -> ((i32) -> i32)
// -----
func.func private @f() -> tuple<>
// -----
func.func @f() attributes {sym_visibility = "x"} { return }
// -----
func.func @f() attributes {x = 1} { return }
// -----
func.func @f() attributes {no_inline} { return }
// -----
func.func @f() attributes {} { return }
// -----
func.func @f() { }
// -----
func.func @f() { %0 = arith.constant 1 : i32 }
// -----
func.func @f() { ^bb0: return }
// -----
func.func @f(%x : i32) { ^bb0(%a : i32): return }
// -----
func.func @f(%x : i32) { cf.br ^bb1(%x : i32)
// -----
 ^bb1(%a : i32): return }
// -----
func.func @f() { ^bb0: cf.br ^bb0 }
// -----
func.func @f() { cf.br ^bb7
// -----
 ^bb1: return }
// -----
func.func @f() {return} func.func @f() {return}
// -----
module @m { module { func.func @f() {return} } } 
// -----
module { } module { }
// -----
module @a attributes {x.y = 1} { }
// -----
builtin.module @a { }
// -----
func.call @f() : () -> ()
// -----
func.func private @g(i32) -> i32
// -----
func.func @f(%a: i32) { %0 = call @g(%a) : (i32) -> i32
// -----
 %1 = func.call @g(%0) {x.y} : (i32) -> i32
// -----
 return }
// -----
func.func @f() { %0 = call @zz() : () -> i32 return }
// -----
func.func @f(%a: f32) { %0 = call @g(%a) : (f32) -> i32 return }
// -----
func.func @f(%a : i32, %a : i32) { return }
// -----
func.func @f(%a : i32) -> f32 { return %a : i32 }
// -----
func.func @f(%a : i32) -> i32 { return %a, %a : i32 }
// -----
func.func @f(%a : i32) -> i32 { return %a : i32, i32 }
// -----
func.func @f { }
// -----
func.func @f( { }
// -----
func.func f() { }
// -----
func.func @f() -> { }
// -----
func.func @f(%a i32) { }
// -----
func.func @f() {
// -----
 return
// -----
func.func private @f(%a: i32 {x.a}) {return}
// -----
func.func @f(%a: i32 {x}) {return}
// -----
func.func @f(%a: i32) attributes {arg_attrs = [{x.y}]} {return}
// -----
func.func @f() attributes {function_type = 1} {return}
// -----
func.func @f() attributes {sym_name = "1"} {return}
// -----
arith.constant 1 : i32
// -----
%0 = arith.constant 1 : i32 loc("hi")
// -----
return
// -----
module {return}
// -----
func.func @f() { return } }
// -----
func.func @f() { return }
// -----
#a
// -----
^bb0:
// -----
module { ^bb0: }
// -----
module { ^bb0(%a : i32): }
// -----
#a = 1
// -----
#a = 2
// -----
#a = #b
// -----
!a = i32 func.func private @f(!a)
// -----
!a.b = i32
// -----
#a.b = 1
// -----
"builtin.module"() ({}) : () -> ()
// -----
%0 = arith.constant    }  : i32
// -----
func.func @a() {
// -----
  return
// -----
  // hi
// -----
func.func @a(%a : i32) {
// -----
 %b = arith.addi %a   %b : i32
// -----
}
// -----
 %b = arith.addi %a, %a :
// -----
 %b = arith.addi %a, %c : i32
// -----
 %b = arith.addi %a, %a : f32
// -----
 %b = arith.addq %a, %a : f32
// -----
 %b = foo.addq %a, %a : f32
// -----
 %a = arith.addi %a, %a : i32
// -----
%a = "unterminated
// -----
func.func @a(%a : f32) {
// -----
 %b:2 = arith.addf %a, %a : f32
// -----
 %b = arith.addf %a, %a fastmath<foo> : f32
// -----
 %b = arith.cmpf foo, %a, %a : f32
// -----
 %b = arith.addf %a, %a fastmath<nnan,ninf,nsz,arcp,contract,afn,reassoc> {x = 1, y} : f32
// -----
 %c = arith.addf %a, %a fastmath<none> : f32
// -----
func.func @a(%a : i32, %c : vector<4xi32>) {
// -----
 %b = arith.addi %a, %a overflow<nsw, nuw> : i32 %d = arith.shli %c, %c overflow<nuw> : vector<4xi32> %e:2 = arith.addui_extended %a, %a : i32, i1 %g, %h = arith.mului_extended %a, %a : i32
// -----
 %i = arith.divsi %a, %a exact : i32 %k:2 = arith.mulsi_extended %c, %c : vector<4xi32> return
// -----
func.func @a(%a : f32, %t : tensor<4xf32>, %c : i1, %ct : tensor<4xi1>) {
// -----
 %0 = arith.select %c, %a, %a : f32 %1 = arith.select %ct, %t, %t : tensor<4xi1>, tensor<4xf32> %2 = arith.select %c, %t, %t : tensor<4xf32> %3 = arith.select %c, %c, %c : i1 %4 = arith.select %ct, %ct, %ct : tensor<4xi1>, tensor<4xi1>
// -----
func.func @a(%a : f64) {
// -----
 %0 = arith.truncf %a upward : f64 to f32 %1 = arith.truncf %a : f64 to bf16 %2 = arith.truncf %a to_nearest_away fastmath<fast> : f64 to f32 %3 = arith.extf %2 : f32 to f64 %4 = arith.extf %2 fastmath<nnan> : f32 to f64
// -----
func.func @a(%a : tensor<?xf32>) { %0 = quant.qcast %a : tensor<?xf32> to tensor<?x!quant.uniform<i8:f32, 2.0>> %1 = quant.dcast %0 : tensor<?x!quant.uniform<i8:f32, 2.0>> to tensor<?xf32> %2 = quant.scast %0 : tensor<?x!quant.uniform<i8:f32, 2.0>> to tensor<?xi8> return }
// -----
func.func @a(%a : f32, %b : i1) { cf.cond_br %b, ^bb1(%a : f32), ^bb2
// -----
^bb1(%0 : f32): cf.br ^bb3(%0, %b : f32, i1)
// -----
^bb2: cf.cond_br %b, ^bb1(%a : f32), ^bb1(%a : f32)
// -----
^bb3(%q : f32, %r : i1): cf.cond_br %b weights([1, 2]), ^bb4, ^bb4
// -----
^bb4: return
// -----
^bb5: return }
// -----
%0 = ub.poison : i32 %1 = ub.poison : tensor<4xf32> %2 = ub.poison <#ub.poison> : f32
// -----
func.func @a(%a : i32) { %0 = builtin.unrealized_conversion_cast %a : i32 to f32 %1:2 = builtin.unrealized_conversion_cast %a, %0 : i32, f32 to f32, i32 {x} %2 = builtin.unrealized_conversion_cast to i1 return }
// -----
%0 = arith.constant 5 : index %1 = arith.constant -5 : i32 %2 = arith.constant -5 : i32 %3 = arith.constant true %4 = arith.constant false %5 = arith.constant true %6 = arith.constant 1.0 : f32 %7 = arith.constant 2.0 : f32 %8 = arith.constant dense<1> : tensor<2xi32> %9 = arith.constant 3 : i1024 %10 = arith.constant 0 : i0
// -----
func.func @f(%a : i32) { %0 = arith.constant 5 : index %1 = arith.constant 5 : index %2 = arith.addi %0, %1 : index return } func.func @g() { %0 = arith.constant 5 : index %1 = "foo.bar"() ({ %2 = arith.constant 5 : index %3 = arith.addi %2, %2 : index }, { %2 = arith.constant 7 : index %3 = arith.addi %2, %2 : index }) : () -> i32 %5 = "foo.baz"(%1) : (i32) -> i32 return }
// -----
"foo.op"() <{a = 1, b = "x"}> {c = 2} : () -> ()
// -----
%0:3 = "foo.op"() : () -> (i32, f32, i1) "foo.use"(%0#2, %0#0, %0#1) : (i1, i32, f32) -> ()
// -----
%a, %b:2 = "foo.op"() : () -> (i32, f32, i1) "foo.use"(%b#1, %a, %b) : (i1, i32, f32) -> ()
// -----
"foo.use"(%x) : (i32) -> () %x = "foo.def"() : () -> i32
// -----
"foo.use"(%x) : (i32) -> () %x = "foo.def"() : () -> f32
// -----
"foo.op"() ({ ^bb0(%a : i32, %b : f32): "foo.br"(%a)[^bb1] : (i32) -> ()
// -----
 ^bb1: "foo.x"(%b)[^bb0, ^bb1] : (f32) -> () }) : () -> ()
// -----
"foo.op"() ({ }) : () -> () "foo.op"() ({ }, { "x.y"() : () -> () }) {a} : () -> ()
// -----
"func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({ ^bb0(%a : i32): "func.return"(%a) : (i32) -> () }) : () -> ()
// -----
"func.func"() ({ ^bb0(%a : i32): "func.return"(%a) : (i32) -> () }) {function_type = (i32) -> i32, sym_name = "f", x.y = 1} : () -> ()
// -----
func.func @f(%a : i32, %b : i1) { "cf.cond_br"(%b, %a, %a)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
// -----
^bb1(%0 : i32): "cf.br"(%0)[^bb2] : (i32) -> ()
// -----
^bb2(%1 : i32): return }
// -----
%0 = "arith.constant"() {value = 1 : i32} : () -> i32 %1 = "arith.addi"(%0, %0) : (i32, i32) -> i32 %2 = "arith.addi"(%0, %0) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32 %3 = "arith.cmpi"(%0, %1) {predicate = 3} : (i32, i32) -> i1
// -----
%0 = "arith.constant"() {value = 1 : i32} : () -> f32
// -----
%0 = "arith.constant"() : () -> f32
// -----
%0 = arith.constant 1 : si32
// -----
%0 = arith.constant "a"
// -----
%0 = arith.constant 1.0 : f32 %1 = arith.addf %0, %0 : f32 %2 = arith.addi %1, %1 : f32
// -----
func.func @f(%a : f32) { %0 = arith.extf %a : f32 to f16 return }
// -----
func.func @f(%a : f32) { %0 = arith.bitcast %a : f32 to i16 return }
// -----
func.func @f(%a : f32) { %0 = "arith.addf"(%a) : (f32) -> f32 return }
// -----
func.func @f(%a : f32, %b : f16) { %0 = "arith.addf"(%a, %b) : (f32, f16) -> f32 return }
// -----
func.func @f(%a : f32, %b : f16) { %0 = "arith.cmpf"(%a, %b) <{predicate = 1 : i64}> : (f32, f16) -> i1 return }
// -----
func.func @f(%a : f32, %b : f16) { %0 = "arith.cmpf"(%a, %a) <{predicate = 99 : i64}> : (f32, f32) -> i1 return }
// -----
func.func @f(%a : f32, %b : f16) { %0 = "arith.cmpf"(%a, %a) <{predicate = 1 : i32}> : (f32, f32) -> i1 return }
// -----
func.func @f(%a : f32, %b : f16) { %0 = "arith.cmpf"(%a, %a) <{predicate = 1 : i64}> : (f32, f32) -> i2 return }
// -----
func.func @f(%a : f32) { "arith.addf"(%a, %a) : (f32, f32) -> () return }
// -----
func.func @f(%a : f32) { %0 = "arith.select"(%a, %a, %a) : (f32, f32, f32) -> f32 return }
// -----
func.func @f(%a : f32) { return %b : f32 
// -----
 %b = arith.addf %a, %a : f32 }
// -----
func.func @f(%a : f32) { %0 = arith.addf %b, %a : f32 
// -----
 %b = arith.addf %a, %a : f32 return }
// -----
func.func @f(%a : f32, %c : i1) { cf.cond_br %c, ^bb1, ^bb2
// -----
^bb1: %b = arith.addf %a, %a : f32
// -----
 cf.br ^bb2
// -----
^bb2: %d = arith.addf %b, %b : f32 return }
// -----
func.func @f(%a : f32, %c : i1) { cf.br ^bb2
// -----
^bb1: %d = arith.addf %b, %b : f32 return
// -----
^bb2: %b = arith.addf %a, %a : f32
// -----
 cf.br ^bb1 }
// -----
func.func @f(%a : f32) { func.func @g() { %0 = arith.addf %a, %a : f32 return } return }
// -----
func.func @f(%a : f32) { "foo.op"() ({ %0 = arith.addf %a, %a : f32 "foo.yield"() : () -> () }) : () -> () return }
// -----
func.func @f(%a : f32) { "foo.op"() ({ %0 = arith.addf %b, %a : f32 "foo.yield"() : () -> () }) : () -> () %b = arith.addf %a, %a : f32 return }
// -----
func.func @f(%a : f32) { return return }
// -----
func.func @f(%a : f32) { cf.br ^bb1
// -----
^bb1: }
// -----
func.func @f(%a : f32) { cf.br ^bb1(%a : f32)
// -----
^bb1: return }
// -----
^bb1(%b : i32): return }
// -----
^bb1: cf.br ^bb1
// -----
^bb1(%a : f32): return }
// -----
%0 = "foo.op"() : () -> () 
// -----
%0 = "foo.op"() : () -> (i32, i32)
// -----
%0:0 = "foo.op"() : () -> ()
// -----
%0 "foo.op"() : () -> ()
// -----
"foo.op"(%0) : () -> ()
// -----
"foo.op"() : () -> (i32
// -----
"foo.op"() : i32
// -----
"foo.op"( : () -> ()
// -----
"foo.op" : () -> ()
// -----
"foo.op"() [^a] : () -> ()
// -----
"foo.op"() ({) : () -> ()
// -----
"foo.op"() <{a = 1} : () -> ()
// -----
""() : () -> ()
// -----
"foo.op"() {a = 1} : () -> () loc(
// -----
"foo.op"() {a = 1} : () -> () loc(#l)
// -----
#l = loc("a":1:2)
// -----
#l = 1
// -----
#m = loc("b"(#l))
// -----
"foo.op"() {a = 1} : () -> () loc(#m) "foo.op"() {a = 1} : () -> () loc(fused[#l, "z"])
// -----
"foo.op"() ({^bb0(%a : i32 loc("zz"), %b : f32 loc(#q)): }) : () -> ()
// -----
#q = loc("qq")
// -----
"foo.op"() {a = dense_resource<k> : tensor<1xi64>, b = dense_resource<k2> : tensor<1xi64>} : () -> ()
// -----
{-#
// -----
 dialect_resources: { builtin: { k: "0x080000000100000000000000", unused: "0x080000000100000000000000" } }, external_resources: { tool: { a: "x", b: true, c: "0x0400000001" } }
// -----
#-}
// -----
"arith.addf"() <{foo = 1}> : () -> ()
// -----
"arith.nope"() : () -> ()
// -----
module { func.func @f() { return } } loc("x")
// -----
func.func @f() { return } loc("x"("y":1:2))
// -----
func.func private @f(memref<4xf32, #map1>, memref<4xf32, #map>)  func.func private @g(tensor<4xf32, {a = #map}>)
// -----
func.func private @f(tuple<i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i1,i32>)
// -----
func.func private @"a b"() func.func private @"1"() func.func private @a$b.c()
// -----
module @"x y" {}
// -----
func.func @f(%arg0 : i32) { %c = arith.constant 1 : i32 
// -----
 // comment
// -----
 %d = arith.addi %c,%arg0:i32 return}
// -----
func.func @f(%a : i32) -> i32 { return %a : i32 } func.func @main() -> i32 { %c = arith.constant 4 : i32 %0 = call @f(%c) : (i32) -> i32 return %0 : i32 }
// -----
func.func @f() { %0 = arith.constant 1 : i32 
// -----
 "foo.x"(%0#0) : (i32) -> () return }
// -----
 "foo.x"(%0#1) : (i32) -> () return }
// -----
func.func @f() { "foo.x"(%0#1) : (i32) -> () return }
// -----
module attributes {a = [1, 1.0, 2 : i32, "x", [3]], b = {c = 1, d = 1.5}} {}
// -----
func.func @f(%a : f8E4M3FN, %s : f8E8M0FNU) { %0 = arith.scaling_extf %a, %s : f8E4M3FN, f8E8M0FNU to f32 %1 = arith.scaling_truncf %0, %s : f32, f8E8M0FNU to f8E4M3FN %2 = arith.scaling_truncf %0, %s to_nearest_even fastmath<nnan> : f32, f8E8M0FNU to f8E4M3FN return }
// -----
func.func @f(%a : tensor<3xf32>) { %0 = quant.qcast %a : tensor<3xf32> to tensor<3x!quant.uniform<i8:f32:0, {1.0,2.0}>> return }
// -----
func.func @f(%a : tensor<3xf32>) { %0 = quant.qcast %a : tensor<3xf32> to tensor<3x!quant.uniform<i8:f32:1, {1.0,2.0}>> return }
// -----
func.func @f(%a : f32) { %0 = quant.qcast %a : f32 to !quant.uniform<i8:f32:0, {1.0,2.0}> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{0:3}, {{1.0},{2.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{0:8}, {{1.0},{2.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{0:2}, {{1.0},{2.0},{3.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{0:2}, {1.0,2.0}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{5:2}, {{1.0},{2.0}}>> return }
// -----
func.func @f(%a : tensor<*xf32>) { %0 = quant.qcast %a : tensor<*xf32> to tensor<*x!quant.uniform<i8:f32:{0:2}, {{1.0},{2.0}}>> return }
// -----
func.func @f(%a : f32) { %0 = quant.qcast %a : f32 to !quant.uniform<i8:f32:{0:2}, {{1.0},{2.0}}> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{}, {{1.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{1:5}, {{1.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f32:{0:2}, {{1.0},{2.0}}>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x5x!quant.uniform<i8:f16, 1.0>> return }
// -----
func.func @f(%a : tensor<4x5xf32>) { %0 = quant.qcast %a : tensor<4x5xf32> to tensor<4x6x!quant.uniform<i8:f32, 1.0>> return }
// -----
func.func @ops(%a: i32, %t: tensor<4x?xi8>, %b: f32, %v: vector<4xf16>) {
  %i0 = arith.addi %a, %a : i32
  %ti0 = arith.addi %t, %t : tensor<4x?xi8>
  %i1 = arith.subi %a, %a : i32
  %ti1 = arith.subi %t, %t : tensor<4x?xi8>
  %i2 = arith.muli %a, %a : i32
  %ti2 = arith.muli %t, %t : tensor<4x?xi8>
  %i3 = arith.divsi %a, %a : i32
  %ti3 = arith.divsi %t, %t : tensor<4x?xi8>
  %i4 = arith.divui %a, %a : i32
  %ti4 = arith.divui %t, %t : tensor<4x?xi8>
  %i5 = arith.ceildivsi %a, %a : i32
  %ti5 = arith.ceildivsi %t, %t : tensor<4x?xi8>
  %i6 = arith.ceildivui %a, %a : i32
  %ti6 = arith.ceildivui %t, %t : tensor<4x?xi8>
  %i7 = arith.floordivsi %a, %a : i32
  %ti7 = arith.floordivsi %t, %t : tensor<4x?xi8>
  %i8 = arith.remsi %a, %a : i32
  %ti8 = arith.remsi %t, %t : tensor<4x?xi8>
  %i9 = arith.remui %a, %a : i32
  %ti9 = arith.remui %t, %t : tensor<4x?xi8>
  %i10 = arith.andi %a, %a : i32
  %ti10 = arith.andi %t, %t : tensor<4x?xi8>
  %i11 = arith.ori %a, %a : i32
  %ti11 = arith.ori %t, %t : tensor<4x?xi8>
  %i12 = arith.xori %a, %a : i32
  %ti12 = arith.xori %t, %t : tensor<4x?xi8>
  %i13 = arith.shli %a, %a : i32
  %ti13 = arith.shli %t, %t : tensor<4x?xi8>
  %i14 = arith.shrsi %a, %a : i32
  %ti14 = arith.shrsi %t, %t : tensor<4x?xi8>
  %i15 = arith.shrui %a, %a : i32
  %ti15 = arith.shrui %t, %t : tensor<4x?xi8>
  %i16 = arith.maxsi %a, %a : i32
  %ti16 = arith.maxsi %t, %t : tensor<4x?xi8>
  %i17 = arith.maxui %a, %a : i32
  %ti17 = arith.maxui %t, %t : tensor<4x?xi8>
  %i18 = arith.minsi %a, %a : i32
  %ti18 = arith.minsi %t, %t : tensor<4x?xi8>
  %i19 = arith.minui %a, %a : i32
  %ti19 = arith.minui %t, %t : tensor<4x?xi8>
  %f0 = arith.addf %b, %b : f32
  %vf0 = arith.addf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f1 = arith.subf %b, %b : f32
  %vf1 = arith.subf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f2 = arith.mulf %b, %b : f32
  %vf2 = arith.mulf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f3 = arith.divf %b, %b : f32
  %vf3 = arith.divf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f4 = arith.remf %b, %b : f32
  %vf4 = arith.remf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f5 = arith.maximumf %b, %b : f32
  %vf5 = arith.maximumf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f6 = arith.minimumf %b, %b : f32
  %vf6 = arith.minimumf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f7 = arith.maxnumf %b, %b : f32
  %vf7 = arith.maxnumf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %f8 = arith.minnumf %b, %b : f32
  %vf8 = arith.minnumf %v, %v fastmath<nnan,contract> : vector<4xf16>
  %n = arith.negf %b : f32
  %n2 = arith.negf %v fastmath<fast> : vector<4xf16>
  return
}
// -----
func.func @casts(%a: i32, %b: f32, %i: index, %v: vector<4xi8>) {
  %0 = arith.extsi %a : i32 to i64
  %1 = arith.extui %v : vector<4xi8> to vector<4xi16>
  %2 = arith.trunci %a overflow<nsw> : i32 to i8
  %3 = arith.sitofp %a : i32 to f32
  %4 = arith.uitofp %v : vector<4xi8> to vector<4xf8E4M3FN>
  %5 = arith.fptosi %b : f32 to i8
  %6 = arith.fptoui %b : f32 to i1
  %7 = arith.index_cast %i : index to i32
  %8 = arith.index_castui %a : i32 to index
  %9 = arith.bitcast %b : f32 to i32
  %10 = arith.extf %b : f32 to f128
  %11 = arith.cmpi ult, %a, %a : i32
  %12 = arith.cmpf uno, %b, %b fastmath<ninf> : f32
  %13 = arith.shrui %a, %a exact : i32
  return
}
// -----
// a comment
!q = !quant.uniform<i8:f32, 2.0>   // and another
#attr = {x = 1}
module @outer attributes {t.a = #attr} {
  func.func private @g(!q) -> !q

  func.func @f(%arg0: tensor<2x!q>) -> tensor<2xf32> {


    %0 = quant.dcast %arg0 : tensor<2x!q> to tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @inner {
    func.func @f() { return }
  }
}
// -----
func.func @loop(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%zero, %zero : i32, i32)
^head(%i: i32, %sum: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^done(%sum : i32)
^body:
  %next = arith.addi %i, %one : i32
  %total = arith.addi %sum, %i : i32
  cf.br ^head(%next, %total : i32, i32)
^done(%result: i32):
  return %result : i32
}
