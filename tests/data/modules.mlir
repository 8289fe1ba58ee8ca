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
// -----
module {
  func.func @f(%arg0: index, %arg1: i1, %arg2: i32, %arg3: tensor<4x?xf32>, %arg4: vector<4xf32>, %arg5: f32, %arg6: (i32) -> i32) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = scf.if %arg1 -> (i32) {
      scf.yield %arg2 : i32
    } else {
      %12 = arith.addi %arg2, %arg2 : i32
      scf.yield %12 : i32
    }
    scf.if %arg1 {
      %12 = arith.addi %arg2, %arg2 : i32
    }
    %1 = scf.for %arg7 = %c0 to %arg0 step %c1 iter_args(%arg8 = %arg2) -> (i32) {
      %12 = arith.addi %arg8, %arg8 : i32
      scf.yield %12 : i32
    }
    scf.for unsigned %arg7 = %arg2 to %arg2 step %arg2  : i32 {
    }
    scf.for %arg7 = %c0 to %arg0 step %c1 {
    }
    %2:2 = scf.while (%arg7 = %arg2, %arg8 = %arg5) : (i32, f32) -> (i32, f32) {
      %12 = arith.cmpi slt, %arg7, %arg2 : i32
      scf.condition(%12) %arg7, %arg8 : i32, f32
    } do {
    ^bb0(%arg7: i32, %arg8: f32):
      scf.yield %arg7, %arg8 : i32, f32
    }
    %3 = scf.execute_region -> i32 {
      scf.yield %arg2 : i32
    }
    scf.execute_region no_inline {
      cf.br ^bb1
    ^bb1:  // pred: ^bb0
      scf.yield
    }
    %4 = tensor.empty() : tensor<4x4xf32>
    %5 = tensor.empty(%arg0) : tensor<?x4xf32>
    %splat = tensor.splat %arg5 : tensor<4xf32>
    %splat_0 = tensor.splat %arg5[%arg0] : tensor<4x?xf32>
    %from_elements = tensor.from_elements %arg5, %arg5 : tensor<2xf32>
    %extracted = tensor.extract %arg3[%c0, %c1] : tensor<4x?xf32>
    %inserted = tensor.insert %arg5 into %arg3[%c0, %c1] : tensor<4x?xf32>
    %dim = tensor.dim %arg3, %c1 : tensor<4x?xf32>
    %cast = tensor.cast %arg3 : tensor<4x?xf32> to tensor<?x4xf32>
    %6 = vector.broadcast %arg5 : f32 to vector<4xf32>
    %7 = vector.extract %arg4[2] : f32 from vector<4xf32>
    %8 = vector.extract %arg4[%c0] : f32 from vector<4xf32>
    %9 = vector.insert %arg5, %arg4 [1] : f32 into vector<4xf32>
    vector.print %arg4 : vector<4xf32>
    vector.print str "hello"
    %10 = call_indirect %arg6(%arg2) : (i32) -> i32
    %f = constant @g : (i32) -> i32
    cf.assert %arg1, "msg"
    cf.switch %arg2 : i32, [
      default: ^bb1(%arg2 : i32),
      42: ^bb1(%arg2 : i32),
      43: ^bb2
    ]
  ^bb1(%11: i32):  // 2 preds: ^bb0, ^bb0
    return %11 : i32
  ^bb2:  // pred: ^bb0
    ub.unreachable
  }
  func.func private @g(i32) -> i32
}
// -----
func.func @f(%lb: index, %c: i1, %x: i32, %f: f32) {
  scf.for %i = %lb to %lb step %lb iter_args(%a = %x, %b = %f) -> (i32, f32) {
    scf.yield %a, %b : i32, f32
  } {foo.bar = 1}
  scf.for %i = %x to %x step %x iter_args(%a = %x) -> i32 : i32 {
    scf.yield %a : i32
  }
  scf.if %c { scf.yield {foo.a} } else {} {foo.bar}
  scf.if %c { } else { %1 = arith.addi %x, %x : i32 }
  scf.while : () -> () { scf.condition(%c) {foo.a} } do { scf.yield } attributes {a.b}
  %r = scf.execute_region -> (i32) no_inline { scf.yield %x : i32 } 
  %q:2 = scf.execute_region -> (i32, i32) { scf.yield %x, %x : i32, i32 } {foo.b}
  %z = scf.while (%a = %x) : (i32) -> i32 { scf.condition(%c) %a : i32 } do { ^bb0(%b: i32): scf.yield %b : i32 }
  cf.switch %x : i32, [ default: ^bb1 ]
^bb1:
  cf.switch %x : i32, [ default: ^bb2(%x, %f: i32, f32), -5: ^bb1] {foo.bar}
^bb2(%u : i32, %v: f32):
  return
}
// -----
func.func @f(%c: i1, %x: i32) { scf.if %x { } return }
// -----
func.func @f(%c: i1, %x: i32) { %0 = scf.if %c -> i32 { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32) { %0 = scf.if %c -> i32 { scf.yield } else { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.if %c -> i32 { scf.yield %f : f32 } else { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.if %c -> i32 { } else { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = "scf.if"(%c) ({ scf.yield %x: i32 }, { }) : (i1) -> i32 return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ ^bb0(%a: i32): scf.yield }, { }) : (i1) -> () return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ "test.a"() : () -> () }, { }) : (i1) -> () return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ return }, { }) : (i1) -> () return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ cf.br ^a ^a: scf.yield }, { }) : (i1) -> () return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ }, { }) : (i1) -> () return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { "scf.if"(%c) ({ scf.yield }) : (i1) -> () return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { scf.for %i = %x to %c step %c { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %x) ({ ^a(%i: index): scf.yield }) : (index, index, i32) -> () return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c) ({ ^a(%i: i32): scf.yield }) : (index, index, index) -> () return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c) ({ scf.yield }) : (index, index, index) -> () return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index): scf.yield }) : (index, index, index, i32) -> i32 return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index, %j: f32): scf.yield %j : f32 }) : (index, index, index, i32) -> i32 return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index, %j: i32): scf.yield %f : f32 }) : (index, index, index, i32) -> i32 return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index, %j: i32): scf.yield  }) : (index, index, index, i32) -> i32 return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index, %j: i32): scf.yield %j : i32 }) : (index, index, index, i32) -> () return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { "scf.for"(%c, %c, %c, %x) ({ ^a(%i: index, %j: i32): scf.yield %j : i32 }) : (index, index, index, i32) -> f32 return }
// -----
func.func @f(%c: f32, %x: i32, %f: f32) { scf.for %i = %f to %f step %f : f32 { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { %r = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (i32, i32) { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { %r = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (f32) { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { %r = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (i32) { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { %r = scf.for %c = %c to %c step %c iter_args(%a = %x) -> (i32) { } return }
// -----
func.func @f(%c: index, %x: i32, %f: f32) { scf.for %i = %c to %i step %c { } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.while : () -> () { scf.yield } do { scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.while : () -> () { scf.condition(%c) %x : i32 } do { scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.while : () -> () { scf.condition(%c) } do { ^a(%b: i32): scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.while : () -> () { scf.condition(%c) } do { } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.while : () -> () { } do { scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.while (%a = %x) : (i32) -> f32 { scf.condition(%c) %f : f32 } do { ^a(%b : f32): scf.yield %b : f32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.while (%a = %x) : (i32) -> f32 { scf.condition(%c) %f : f32 } do { ^a(%b : i32): scf.yield %b : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.while (%a = %x) : (i32) -> f32 { scf.condition(%c) %f : f32 } do { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.while (%a = %x) : i32 { scf.condition(%c) %f : f32 } do { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.while (%a = %x) : (i32, i32) -> i32 { scf.condition(%c) %f : f32 } do { scf.yield %x : i32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = "scf.while"(%x) ({ ^a(%y: f32): scf.condition(%c) %x : i32 }, { ^a(%b : i32): scf.yield %b : i32 }) : (i32) -> i32 return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.execute_region -> i32 { scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { %0 = scf.execute_region -> i32 { scf.yield %f : f32 } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.execute_region { } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.execute_region { ^a(%i: i32): scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.execute_region { "test.a"() : () -> () } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.execute_region { return } return }
// -----
func.func @f() { scf.yield }
// -----
func.func @f(%c: i1) { scf.condition(%c) }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { scf.if %c { scf.condition(%c) } return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { cf.switch %f : f32, [ default: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { cf.switch %x : i32, [ default: ^a(%x : f32) ] ^a: return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { cf.switch %x : i32, [ default: ^a(%x : i32) ] ^a: return }
// -----
func.func @f(%c: i1, %x: i32, %f: f32) { cf.switch %x : i32, [ default: ^a, 1: ^a, 1: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: i8, %f: f32) { cf.switch %x : i8, [ default: ^a, 300: ^a, 1: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: i8, %f: f32) { cf.switch %x : i8, [ default: ^a, 255: ^a, -128: ^a, -129: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: i8, %f: f32) { cf.switch %x : i8, [ 255: ^a, -128: ^a, -129: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: index, %f: f32) { cf.switch %x : index, [ default: ^a, 255: ^a ] ^a: return }
// -----
func.func @f(%c: i1, %x: i32) { "cf.switch"(%x)[^a, ^a] <{case_operand_segments = array<i32: 0>, case_values = dense<[5, 6]> : vector<2xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> () ^a: return }
// -----
func.func @f(%c: i1, %x: i32) { "cf.switch"(%x)[^a, ^a] <{case_operand_segments = array<i32: 0>, case_values = dense<5> : vector<1xi64>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> () ^a: return }
// -----
func.func @f(%c: i1, %x: i32) { "cf.switch"(%x)[^a, ^a] <{case_values = dense<5> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> () ^a: return }
// -----
func.func @f(%c: i1, %x: i32) { cf.assert %x, "a" return }
// -----
func.func @f(%c: i1, %x: i32) { cf.assert %c return }
// -----
func.func @f(%c: i1, %x: i32) { cf.assert %c, 5 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { call_indirect %g(%x) : i32 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { call_indirect %g(%x, %x) : (i32) -> i32 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { call_indirect %g(%g) : (i32) -> i32 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { %0 = "func.call_indirect"(%g, %g) : ((i32) -> i32, (i32) -> i32) -> i32 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { %0 = "func.call_indirect"(%g) : ((i32) -> i32) -> i32 return }
// -----
func.func @f(%g: (i32) -> i32, %x: i32) { "func.call_indirect"(%g, %x) : ((i32) -> i32, i32) -> () return }
// -----
func.func @f() { %0 = constant @g : () -> () return }
// -----
func.func @f() { %0 = constant @f : i32 return }
// -----
func.func @f() { %0 = constant @f : (i32) -> () return }
// -----
func.func @f() { %0 = constant @f : () -> () %1 = constant @f : () -> () return }
// -----
func.func @f() { call @f() {no_inline} : () -> () %f = call @g() : () -> i32 return } func.func private @g() -> i32
// -----
func.func @f() { ub.unreachable {a.b} }
// -----
func.func @f() { ub.unreachable return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = tensor.dim %x, %i : i32 return }
// -----
func.func @f(%t: tensor<f32>, %i: index, %x: i32) { %0 = tensor.dim %t, %i : tensor<f32> return }
// -----
func.func @f(%t: tensor<*xf32>, %i: index, %x: i32) { %0 = tensor.dim %t, %i : tensor<*xf32> return }
// -----
func.func @f(%t: tensor<4xf32>, %i: index, %x: i32) { %c7 = arith.constant 7 : index %0 = tensor.dim %t, %c7 : tensor<4xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = tensor.dim %t, %x : tensor<4x?xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = tensor.extract %t[%i] : tensor<4x?xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = tensor.extract %t[%i, %x] : tensor<4x?xf32> return }
// -----
func.func @f(%t: tensor<*xf32>, %i: index, %x: i32) { %0 = tensor.extract %t[%i] : tensor<*xf32> return }
// -----
func.func @f(%t: vector<4xf32>, %i: index, %x: i32) { %0 = tensor.extract %t[%i] : vector<4xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = "tensor.extract"(%t, %i, %i) : (tensor<4x?xf32>, index, index) -> i32 return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: i32) { %0 = tensor.insert %x into %t[%i, %i] : tensor<4x?xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: f32) { %0 = tensor.insert %x into %t[%i] : tensor<4x?xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: f32) { %0 = "tensor.insert"(%x, %t, %i, %i) : (f32, tensor<4x?xf32>, index, index) -> tensor<4xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>, %i: index, %x: f32) { %0 = tensor.insert %x to %t[%i, %i] : tensor<4x?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.empty() : tensor<?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.empty(%i) : tensor<4xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.empty() : tensor<*xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.empty() : vector<4xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.empty(%x) : tensor<?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.splat %x : tensor<?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.splat %x : tensor<4xi32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.splat %x[%i, %i] : tensor<?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.splat %x : f32 return }
// -----
func.func @f(%i: index, %x: complex<f32>) { %0 = tensor.splat %x : tensor<4xcomplex<f32>> return }
// -----
func.func @f(%i: index, %x: vector<2xf32>) { %0 = tensor.splat %x : tensor<4xvector<2xf32>> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.from_elements %x : tensor<2xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.from_elements %x, %x : tensor<2xi32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.from_elements %x, %x : tensor<?xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.from_elements : tensor<0xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = tensor.from_elements %x : tensor<f32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = "tensor.from_elements"(%x, %i) : (f32, index) -> tensor<2xf32> return }
// -----
func.func @f(%i: index, %x: f32) { %0 = "tensor.from_elements"(%x) : (f32) -> tensor<2xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>) { %0 = tensor.cast %t : tensor<4x?xf32> to tensor<3x?xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>) { %0 = tensor.cast %t : tensor<4x?xf32> to tensor<4x?xf64> return }
// -----
func.func @f(%t: tensor<4x?xf32>) { %0 = tensor.cast %t : tensor<4x?xf32> to tensor<*xf32> %1 = tensor.cast %0 : tensor<*xf32> to tensor<1x2xf32> return }
// -----
func.func @f(%t: tensor<4x?xf32>) { %0 = tensor.cast %t : tensor<4x?xf32> to f32 return }
// -----
func.func @f(%t: tensor<4x?xf32, 1>) { %0 = tensor.cast %t : tensor<4x?xf32, 1> to tensor<4x?xf32, 2> %1 = tensor.cast %t : tensor<4x?xf32, 1> to tensor<4x?xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[0] : vector<2xf32> from vector<4x2xf32> %1 = vector.extract %v[0, %i] : f32 from vector<4x2xf32> %2 = vector.extract %v[] : vector<4x2xf32> from vector<4x2xf32> %3 = vector.insert %x, %v [%i, 1] : f32 into vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[0] : f32 from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[5] : vector<2xf32> from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[-1] : vector<2xf32> from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[-2] : vector<2xf32> from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[0,0,0] : f32 from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[%x] : vector<2xf32> from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %v[a] : vector<2xf32> from vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.extract %x[0] : f32 from f32 return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.insert %x, %v[0] : f32 into vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: f32, %i: index) { %0 = vector.insert %x, %v[0, 7] : f32 into vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: i32, %i: index) { %0 = vector.insert %x, %v[0, 1] : i32 into vector<4x2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: i32, %i: index) { %0 = "vector.extract"(%v, %i) <{static_position = array<i64: 1>}> : (vector<4x2xf32>, index) -> vector<2xf32> return }
// -----
func.func @f(%v: vector<4x2xf32>, %x: i32, %i: index) { %0 = "vector.extract"(%v) <{static_position = array<i64: -9223372036854775808>}> : (vector<4x2xf32>) -> vector<2xf32> return }
// -----
func.func @f(%v: vector<f32>, %x: f32, %i: index) { %0 = vector.extract %v[] : f32 from vector<f32> %1 = vector.insert %x, %v [] : f32 into vector<f32> %2 = vector.broadcast %x : f32 to vector<f32> return }
// -----
func.func @f(%v: vector<2x1xf32>, %x: f32, %i: index) { %0 = vector.broadcast %v : vector<2x1xf32> to vector<3x2x4xf32> return }
// -----
func.func @f(%v: vector<2x3xf32>, %x: f32, %i: index) { %0 = vector.broadcast %v : vector<2x3xf32> to vector<3x2x4xf32> return }
// -----
func.func @f(%v: vector<2x3xf32>, %x: f32, %i: index) { %0 = vector.broadcast %v : vector<2x3xf32> to vector<3xf32> return }
// -----
func.func @f(%v: vector<2x3xf32>, %x: f32, %i: index) { %0 = vector.broadcast %x : f32 to vector<3xf64> return }
// -----
func.func @f(%v: vector<2x3xf32>, %x: f32, %i: index) { %0 = vector.broadcast %x : f32 to f32 return }
// -----
func.func @f(%v: vector<2x3xf32>, %x: tensor<2xf32>, %i: index) { %0 = vector.broadcast %x : tensor<2xf32> to vector<2xf32> return }
// -----
func.func @f(%v: vector<4xf32>, %w: vector<[4]xf32>) { %0 = vector.broadcast %v : vector<4xf32> to vector<[4]xf32> return }
// -----
func.func @f(%v: vector<1xf32>, %w: vector<[4]xf32>) { %0 = vector.broadcast %v : vector<1xf32> to vector<[4]xf32> %1 = vector.broadcast %w : vector<[4]xf32> to vector<2x[4]xf32> return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { vector.print %v : vector<4xf32> punctuation <comma> vector.print punctuation <newline> vector.print %x : f32 {a.b} vector.print str "a" punctuation <open> vector.print {a.b} vector.print punctuation <no_punctuation>  vector.print return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { vector.print %v : vector<4xf32> str "a" return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { vector.print str "a" str "b" return }
// -----
func.func @f(%v: vector<4xf32>, %x: tensor<4xf32>) { vector.print %x : tensor<4xf32> return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { vector.print punctuation <foo> return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { vector.splat %x : vector<4xf32> return }
// -----
func.func @f(%v: vector<4xf32>, %x: f32) { %0 = vector.splat %x : vector<4xf32> return }
// -----
"t.a"() {a = distinct[5]<42 : i32>, b = distinct[7]<42 : i32>, c = distinct[5]<42 : i32>} : () -> ()
// -----
"t.a"() {a = distinct[5]<>, b = distinct[1]<>, c = [distinct[5]<>, distinct[9]<"x">]} : () -> ()
// -----
"t.a"() {a = dense_resource<b> : tensor<2xi32>} : () -> ()
{-# dialect_resources: { builtin: { b: "0x080000000100000002000000", unused: "0x0400000001", c: true } } #-}
// -----
"t.a"() {a = dense_resource<b> : tensor<2xi32>, b = [dense_resource<a> : tensor<1xi8>]} : () -> ()
{-# dialect_resources: { builtin: { b: "0x080000000100000002000000", a: "0x0400000001" } } #-}
// -----
"t.a"() {a = dense_resource<missing> : tensor<2xi32>} : () -> ()
// -----
"t.a"() {a = dense_resource<"with space"> : tensor<1xi8>} : () -> ()
{-# dialect_resources: { builtin: { "with space": "0x0400000001" } } #-}
// -----
module {}
{-# external_resources: { mlir_reproducer: { pipeline: "builtin.module(cse)", disable_threading: true, verify_each: true } } #-}
// -----
module {}
{-# external_resources: { other: { a: "text", b: false, c: "0x0400000001" } } #-}
// -----
module {}
{-# dialect_resources: { foo: { a: "text" } } #-}
// -----
module {}
{-# foo: { a: {} } #-}
// -----
module {}
{-# dialect_resources: { builtin: { a: 5 } } #-}
// -----
module {}
{-# dialect_resources: { builtin: { a: "0x0300000001" } } #-}
// -----
module {}
{-# dialect_resources: { builtin: { a: "0x01" } } #-}
// -----
module {}
{-# dialect_resources: { builtin: { a: "text" } } #-}
// -----
"t.a"() {a = dense_resource<b> : tensor<2xi32>} : () -> ()
"t.a"() {a = dense_resource<b> : tensor<3xi32>} : () -> ()
{-# dialect_resources: { builtin: { b: "0x080000000100000002000000" } }, external_resources: {} #-}
// -----
"t.a"() {a = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>} : () -> ()
// -----
"t.a"() {a = sparse<[[0, 0]], [1.0]> : tensor<3x4xf32>, b = sparse<0, 5> : tensor<4xi32>, c = sparse<[0, 1], [5, 6]> : vector<4xi32>} : () -> ()
// -----
"t.a"() {a = sparse<[[0]], "x"> : tensor<3x!t.string>} : () -> ()
// -----
"t.a"() {a = sparse<[[0], [1]], ["x", "y"]> : tensor<3x!t.string>, b = sparse<[[0],[1]], [(1,2),(3,4)]> : tensor<4xcomplex<i32>>} : () -> ()
// -----
"t.a"() {a = sparse<> : tensor<3xi32>} : () -> ()
// -----
"t.a"() {a = dense<["a", "b"]> : tensor<2x!t.string>, b = dense<"x"> : tensor<2x!t.s>, c = dense<["a","a"]> : tensor<2x!t.s>, d = dense<[]> : tensor<0x!t.s>} : () -> ()
// -----
"t.a"() {a = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>, b = dense<[(1.0,-2.0),(3.0,4.0)]> : tensor<2xcomplex<f64>>, c = dense<(1,2)> : tensor<complex<i8>>} : () -> ()
// -----
"t.a"() {a = dense<"0xFF"> : tensor<8xi1>, b = dense<"0x05"> : tensor<3xi1>, c = dense<"0x0500"> : tensor<9xi1>, d = dense<[true, false]> : tensor<2xi1>} : () -> ()
// -----
"t.a"() {a = dense<"0x01"> : tensor<8xi8>, b = dense<[1, -1, 255]> : tensor<3xi8>, c = dense<[[1],[2]]> : tensor<2x1xindex>} : () -> ()
// -----
"t.a"() {a = dense<"0x010203"> : tensor<1xtf32>, b = dense<"0x00000000000080FF3F"> : tensor<1xf80>} : () -> ()
// -----
"t.a"() {x = "a\n\t\22\\", y = "t" : i32, z = #foo.bar<a, [b, {c}], "s">, w = #foo<"opaque">, v = @a::@"b c"::@d} : () -> ()
// -----
"t.a"() {x = !foo.bar<a, b>, y = !foo<"x y">, z = tuple<i32, f32>, w = (i32) -> (i32, f32), v = () -> (), u = tuple<>} : () -> ()
// -----
"t.a"() {x = opaque<"llvm", "struct">} : () -> ()
// -----
"t.a"() {x = loc("a":1:2), y = loc(unknown), z = loc(callsite("a" at "b":3:4)), w = loc(fused<"m">["a", "b"]), v = loc("a":1:2 to 3:4), u = loc("a":1:2 to :5), t = loc("a":1)} : () -> ()
// -----
"t.a"() {} : () -> () loc("a":1:2 to :2)
"t.a"() {} : () -> () loc("a":1:2 to 1:2)
"t.a"() {} : () -> () loc("a":1)
"t.a"() {} : () -> () loc("a":1:0)
"t.a"() {} : () -> () loc("a":1:2 to 2:1)
"t.a"() {} : () -> () loc("a":1:2 to 1:1)
// -----
"t.a"() {} : () -> () loc(fused["a", "a", unknown])
"t.a"() {} : () -> () loc(fused<1>[unknown])
"t.a"() {} : () -> () loc(fused[])
"t.a"() {} : () -> () loc(fused<#x>["a"])
"t.a"() {} : () -> () loc("n"(fused["a","b"]))
"t.a"() {} : () -> () loc("n"(callsite("a" at callsite("b" at "c":1:1))))
// -----
#a = loc("x":1:2)
"t.a"() ({ ^a(%x: i32 loc(#a), %y: i32 loc("q")): "t.b"() : () -> () loc(#b) }) : () -> () loc(#a)
#b = loc(callsite(#a at #c))
#c = loc("z")
// -----
#a = loc("x":1:2)
"t.a"() ({ ^a(%x: i32 loc(#a), %y: i32 loc("q")): "t.b"() : () -> () loc(#b) }) : () -> () loc(#a)
#c = loc("z")
#b = loc(callsite(#a at #c))
// -----
func.func @f(%a: i32 loc("x")) -> i32 { %b = arith.addi %a, %a : i32 loc(fused<{a = affine_map<(d0) -> (d0)>}>["p":1:1]) return %b : i32 loc(callsite("a" at "b")) } loc("f")
// -----
"t.a"() {a = affine_map<(d0) -> (d0)>, b = affine_set<(d0) : (d0 >= 0)>, c = affine_map<(d0) -> (d0 + 1)>, d = [affine_map<(d0) -> (d0)>]} : () -> ()
"t.b"() {a = affine_map<(d0) -> (d0 + 1)>} : () -> tensor<2xf32, affine_map<(d0) -> (d0 * 2)>>
// -----
!t = tuple<i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32>
"t.a"() {a = !t} : () -> !t
// -----
"t.a"() {a = array<i8>, b = array<i1: true, false>, c = array<f32: 1.0, 0x7FC00001>, d = array<i64: -1>, e = array<si8: -1>, f = array<ui8: 255>} : () -> ()
// -----
"t.a"() {a = array<i4: 1>} : () -> ()
// -----
"t.a"() {a = vector<[4]xf32>, b = vector<2x[4]xi1>, c = vector<f32>, d = vector<4xindex>, e = tensor<*xf32>, f = tensor<?x2xf32, "enc">, g = complex<i8>, h = memref<?x*xf32>} : () -> ()
// -----
"t.a"() {a = !quant.any<i8:f32>, b = !quant.calibrated<f32<-1.0:1.0>>, c = !quant.uniform<i8<-8:7>:f32, 0.5:3>, d = !quant.uniform<u8:f32:1, {1.0, 2.0:5}>} : () -> ()
// -----
"scf.for"() : () -> ()
// -----
func.func @f() attributes {a = 1} { return }
// -----
func.func @f(%a: i32 {llvm.x}) -> (i32 {llvm.y = 1}) { return %a : i32 }
// -----
func.func @f(i32 {llvm.x}, i64) -> (i32 {llvm.y = 1}, f32)
// -----
func.func private @f(i32 {llvm.x}, i64) -> (i32 {llvm.y = 1}, f32)
// -----
func.func private @f(...)
// -----
func.func private @f() -> ()
// -----
func.func private @f() -> (i32)
// -----
func.func private @f() -> () -> ()
// -----
func.func private @f() -> (() -> ())
// -----
func.func @"a b"() { return }
// -----
func.func @f() { %0:2 = builtin.unrealized_conversion_cast to i32, f32 %1 = builtin.unrealized_conversion_cast %0#0, %0#1 : i32, f32 to tensor<2xi8> {a.b} return }
// -----
module @a { module @b { func.func @f() { return } } func.func @g() { call @b::@f() : () -> () return } }
// -----
module attributes {a.b = @x} {}
// -----
module @a attributes {sym_visibility = "private"} {}
// -----
module { ^bb0(%a: i32): }
// -----
%0 = arith.constant 1 : i32
%1 = arith.addi %0, %0 : i32
// -----
"t.a"(%x) : (i32) -> () %x = "t.b"() : () -> i32
// -----
func.func @f() { "t.a"() [^bb1] : () -> () ^bb1: "t.b"() [^bb1, ^bb2] : () -> () ^bb2: return }
// -----
"t.a"() ({}, {^bb0: }, {^bb0(%a: i32): "t.b"(%a) : (i32) -> ()}) : () -> ()
// -----
"t.a"() <{a = 1, b = "x"}> {c} : () -> ()
// -----
"t.a"() {"a b" = 1, "2c" = 2, _d, e.f = unit} : () -> ()
// -----
func.func @f(%a: tensor<?xf32>, %i: index) { %0 = tensor.dim %a, %i {a.b = 1} : tensor<?xf32> %1 = tensor.dim {a.b = 1} %a, %i : tensor<?xf32> return }
// -----
func.func @f(%a: tensor<?xf32>, %i: index) { %1 = tensor.dim {a.b = 1} %a, %i : tensor<?xf32> return }
// -----
func.func @f(%c: i1, %x: f32) -> f32 { %0:2 = scf.if %c -> (f32, f32) { scf.yield %x, %x : f32, f32 } else { scf.yield %x, %x : f32, f32 } return %0#1 : f32 }
// -----
func.func @f(%c: i1) { scf.if %c { %x = arith.constant 1 : i32 scf.if %c { %y = arith.constant 1 : i32 } } else { %z = arith.constant 1 : i32 } %w = arith.constant 1 : i32 return }
// -----
func.func @f(%n: index) { scf.for %i = %n to %n step %n { scf.for %j = %i to %n step %n { %k = arith.addi %i, %j : index } {a.b} } return }
// -----
func.func @f(%n: index, %x: i32) { %r = scf.for unsigned %i = %x to %x step %x iter_args(%a = %n) -> (index) : i32 { scf.yield %a : index } {a.b} return }
// -----
func.func @f(%c: i1, %x: i32) { scf.execute_region { cf.cond_br %c, ^a, ^b ^a: scf.yield ^b: scf.yield } return }
// -----
func.func @f(%c: i1, %x: i32) { %0 = scf.while (%a = %x) : (i32) -> (i32) { scf.condition(%c) %a : i32 } do { ^b(%b: i32): %d = arith.addi %b, %x : i32 scf.yield %d : i32 } attributes {x.y} return }
// -----
func.func @f(%c: i1, %x: i32) { cf.cond_br %c weights([1, 2]), ^a, ^b(%x : i32) {a.b} ^a: return ^b(%y: i32): return }
// -----
func.func @f(%f: i64) { cf.switch %f : i64, [default: ^a, -1: ^a, 18446744073709551615: ^a] ^a: return }
// -----
func.func @f(%f: i128) { cf.switch %f : i128, [default: ^a, -1: ^a, 5: ^b] ^a: return ^b: return }
// -----
func.func @f(%f: i1) { cf.switch %f : i1, [default: ^a, 1: ^a, 0: ^b] ^a: return ^b: return }
// -----
func.func @f(%f: i1) { %0 = ub.poison : i32 %1 = ub.poison <#ub.poison> : f32 %2 = "ub.poison"() : () -> i32 return }
// -----
func.func @f(%x: vector<2x3xf32>, %y: f32) { vector.print %y : f32 punctuation <comma> vector.print punctuation <open> vector.print str "x" {a.b} vector.print %x : vector<2x3xf32> return }
// -----
func.func @f(%s: f32) { %0 = tensor.splat %s {a.b} : tensor<2xf32> %1 = tensor.from_elements %s, %s {a.c} : tensor<1x2xf32> %2 = tensor.splat %s : tensor<f32> %3 = tensor.empty() {a.b} : tensor<2xf32, "e"> return }
// -----
func.func @f(%t: tensor<f32>, %i: index) { %0 = tensor.extract %t[] {a.b} : tensor<f32> %1 = tensor.insert %0 into %t[] {a.b} : tensor<f32> %2 = tensor.cast %t {a.b} : tensor<f32> to tensor<*xf32> return }
// -----
func.func @f(%g: () -> (), %h: (i32) -> (i32, f32), %x: i32) { call_indirect %g() {a.b} : () -> () %0:2 = call_indirect %h(%x) : (i32) -> (i32, f32) %1 = constant {a.b} @f : (() -> (), (i32) -> (i32, f32), i32) -> () return }
