// Two or more errors: which one is reported.
func.func @g() {
  call @f() : () -> (i32)
  return }
func.func @f()
// -----
func.func @g() {
  call @nope() : () -> ()
  return }
func.func @h(%a: i32) -> i64 {
  return %a : i32 }
// -----
func.func @g() {
  call @nope() : () -> ()
  return }
func.func @h(%a: i32) {
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return }
// -----
func.func @g() {
  call @nope() : () -> ()
  return }
func.func @h(%a: i32) {
  %0 = arith.addi %a, %1 : i32
  %1 = arith.addi %a, %a : i32
  return }
// -----
func.func @h(%a: i32) {
  %0 = arith.addi %a, %1 : i32
  %1 = arith.addi %a, %a : i32
  return }
func.func @h2(%a: i32) {
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return }
// -----
func.func @h(%a: i32) {
  %0 = arith.addi %a, %1 : i32
  %1 = arith.addi %a, %a : i32
  %2 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return }
// -----
func.func @f() { return }
func.func @f() { return }
func.func @h2(%a: i32) {
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return }
// -----
func.func @f() { return }
func.func @f() { return }
func.func @h2()
// -----
func.func @h2() -> i32 { return }
"a.b"() ({
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  }) : () -> ()
// -----
"a.b"() ({
  func.func @h2() -> i32 { return }
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  }) : () -> ()
// -----
func.func @h2(%c: i1) -> i32 {
  scf.if %c { %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64 }
  %1 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  %2 = arith.constant 1 : i32
  return %2 : i32 }
// -----
func.func @h2(%c: i1) -> i32 {
  %r = "scf.if"(%c) ({ %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
    "scf.yield"() : () -> () }, {}) : (i1) -> i32
  return %r : i32 }
// -----
func.func @h2(%c: i1) -> i32 {
  %r = "scf.if"(%c) ({ %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
    "scf.yield"() : () -> () }, {
    "scf.yield"() : () -> () }) : (i1) -> i32
  return %r : i32 }
// -----
func.func @h2(%c: i1) -> i32 {
  %r = "scf.if"(%c) ({ %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
    "scf.yield"() : () -> () }, {
    "scf.yield"() : () -> () }) : (i1) -> i32
}
// -----
func.func @h2(%c: i1) -> i32 {
  cf.br ^a
^a:
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  cf.br ^b
^b:
}
// -----
func.func @h2(%c: i1) -> i32 {
  cf.br ^a
^a:
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  cf.br ^b
^b:
  %1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
}
// -----
func.func @h2(%c: i1) -> i32 {
  cf.br ^a
^a:
  cf.br ^b
^b:
  %1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
^c:
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  cf.br ^b
}
// -----
func.func @h2(%c: i1) {
  cf.br ^a
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
^a:
  return
}
// -----
func.func @h2(%c: i1) {
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  cf.br ^a
  %1 = "arith.constant"() <{value = 1 : i32}> : () -> i64
^a:
  return
}
// -----
func.func @h2(%c: i1) {
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  cf.br ^a(%0 : i64)
^a:
  return
}
// -----
func.func @h2(%c: i1) {
  cf.br ^a(%c : i1)
^a:
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  return
}
// -----
func.func @h2(%c: i1) {
  cf.br ^a(%c : i1)
^a(%x: i32):
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  return
}
// -----
func.func @h2(%c: i1) {
  "scf.if"(%c) ({
  cf.br ^a(%c : i1)
  ^a:
  scf.yield}, {}) : (i1) -> ()
  return
}
// -----
func.func @f() { return }
func.func @f() { return }
func.func @g() { call @nope() : () -> ()
 return }
// -----
module {
func.func @g() { call @nope() : () -> ()
 return }
 }
func.func @h() -> i32 { return }
// -----
module {
func.func @g() { call @nope() : () -> ()
 return }
 }
func.func @f() { return }
func.func @f() { return }
// -----
func.func @f() { return }
func.func @f() { return }
module {
func.func @g() { call @nope() : () -> ()
 return }
 }
// -----
func.func @g() { call @nope() : () -> ()
 return }
module {
func.func @g() { call @nope2() : () -> ()
 return }
 }
// -----
%0 = "a.b"(%1) : (i32) -> i32
%1 = "a.b"() : () -> i32
func.func @g() { call @nope() : () -> ()
 return }
// -----
"a.b"() ({
^bb0:
 %0 = "a.b"(%1) : (i32) -> i32
 %1 = "a.b"() : () -> i32
^bb1:
  "a.c"() : () -> () }) : () -> ()
func.func @g() { call @nope() : () -> ()
 return }
// -----
"a.b"() ({
^bb0:
 %0 = "a.b"(%1) : (i32) -> i32
 %1 = "a.b"() : () -> i32
 "a.c"() : () -> ()
^bb1:
  "a.c"() : () -> () }) : () -> ()
// -----
func.func @g() {
 %0 = "a.b"(%1) : (i32) -> i32
 %1 = "a.b"() ({
   %c = arith.addi %d, %d : i32
   %d = arith.constant 1 : i32
   "a.c"() : () -> ()
   }) : () -> i32
 return }
// -----
func.func @g(%c: i1) {
 scf.if %c {
   %c2 = arith.addi %d, %d : i32
   %d = arith.constant 1 : i32
   }
 %0 = "a.b"(%1) : (i32) -> i32
 %1 = "a.b"() : () -> i32
 return }
// -----
func.func @g(%c: i1) {
 scf.if %c {
   scf.if %c {
     %c2 = arith.addi %d, %d : i32
     %d = arith.constant 1 : i32
   }
 }
 scf.if %c {
   %c2 = arith.addi %d, %d : i32
   %d = arith.constant 1 : i32
 }
 return }
// -----
func.func @g(%c: i1) {
 call @nope() : () -> ()
 call @nope2() : () -> ()
 return }
// -----
func.func @g(%c: i1) {
  scf.if %c {
 call @nope() : () -> ()
 }
 call @nope2() : () -> ()
 return }
// -----
module {
  module {
    func.func @g() {
       call @nope() : () -> ()
       return }
   }
   func.func @f()
}
func.func @f2()
// -----
func.func @f2(%c: i32) -> (i1) {
  %0 = func.constant @nope : () -> ()
  return %c : i32
}
// -----
func.func @f2(%c: i32) -> (i1) {
  %0 = func.constant @nope : () -> ()
  return %0 : () -> ()
}
// -----
module attributes {a = 1} { func.func @f() }
// -----
func.func @f() attributes {sym_visibility = "odd"} {
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  return }
// -----
module { "func.return"() : () -> () }
// -----
module {
 "func.return"() : () -> ()
 func.func @f()
 }
// -----
module {
 func.func @f()
 "func.return"() : () -> ()
 }
// -----
module {
 func.func @f()
 "arith.constant"() <{value = 1 : i32}> : () -> i64
 }
// -----
func.func @f(%c: i1) {
 scf.while : () -> () {
   "arith.constant"() <{value = 1 : i32}> : () -> i64
   scf.condition(%c) %c : i1 } do {
   scf.yield }
 return
 }
// -----
func.func @f(%c: index) {
  %x = arith.constant 1.0 : f32
  %0 = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (f32) {
   "arith.constant"() <{value = 1 : i32}> : () -> i64
   scf.yield %i : index }
 return
 }
// -----
func.func @f(%c: index) {
  %x = arith.constant 1.0 : f32
  %0 = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (f32) {
   scf.yield }
 return
 }
// -----
func.func @f(%c: index) {
  %x = arith.constant 1.0 : f32
  %0 = scf.for %i = %c to %c step %c iter_args(%a = %x) -> (f32) {
   scf.yield %x, %x : f32, f32 }
 return
 }
// -----
func.func @f(%c: index) {
  %x = arith.constant 1.0 : f32
  scf.for %i = %c to %c step %c {
   scf.yield %x : f32}
 return
 }
// -----
func.func @f(%c: i1) -> i32 {
  %0 = scf.execute_region -> i32 {
   "arith.constant"() <{value = 1 : i32}> : () -> i64
  scf.yield %c : i1 }
  return %0 : i32
}
// -----
"builtin.module"() ({
  "a.b"() : () -> ()
 ^a:
  "a.b"() : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "arith.constant"() <{value = 1 : i32}> : () -> i64
 ^a:
  "a.b"() : () -> ()
}) : () -> ()
// -----
func.func @a(%c: i1) {
  %0 = "a.x"() ({
    %k = "arith.constant"() <{value = 1 : i32}> : () -> i64
    ^y:
    ^z:
     "a.b"() : () -> () }) : () -> i32
 }
// -----
func.func @a(%c: i1) {
  "a.x"() ({
     cf.br ^y
    ^y:
     cf.br ^y
     ^z:
      func.return }) : () -> ()
 }
// -----
func.func @a(%c: i1) {
  "a.x"() ({
    ^y:
     cf.br ^y
     ^z:
      "arith.constant"() <{value = 1 : i32}> : () -> i64
      func.return }) : () -> ()
  return
 }
// -----
func.func @a(%c: i1) {
   %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
    ^y:
     cf.br ^y
 }
// -----
func.func @a(%c: i1) {
   cf.br ^y
    ^y:
     %0 = arith.addi %1, %1 : i32
     cf.br ^z
     ^z:
     %1 = arith.constant 1 : i32
     return
 }
module {
 func.func @b()
}
// -----
func.func @a(%c: i1) {
   cf.br ^y
    ^y:
     %0 = arith.addi %1, %1 : i32
     cf.br ^z
     ^z:
     %1 = arith.constant 1 : i32
     call @nope() : () -> ()
     return
 }
"func.func"() <{function_type = () -> (), sym_name = "a"}> ({
  return
  }) : () -> ()
// -----
"func.func"() <{function_type = () -> (), sym_name = "a"}> ({
  return
  }) : () -> ()
// -----
func.func @f() {
 "a.b"() ({ call @f() : () -> ()
   return }) : () -> ()
 return
}
// -----
func.func @f() {
 "a.b"() ({ func.call @f() : () -> ()
   func.return }) : () -> ()
 return
}
// -----
func.func @f() {
 "a.b"() ({ func.call @f() : () -> ()
   builtin.module {} }) : () -> ()
 return
}
// -----
func.func @f(%c: i1) {
 scf.if %c {
 "a.b"() ({ func.call @f() : () -> ()
   builtin.module {} }) : () -> ()
   }
 return
}
// -----
func.func @f(%c: i1) {
  scf.execute_region {
   "a.b"() ({ func.call @f() : () -> ()
    "a.c"() ({ func.call @f() : () -> () }) : () -> () }) : () -> ()
    scf.yield }
 return
}
// -----
func.func @f(%c: i1) {
  "scf.if"(%c) ({
    call @f() : () -> ()
    scf.yield }, {}) : (i1) -> ()
 return
}
// -----
func.func @g() { call @nope() : () -> ()
 return }
func.func @h() { call @nope() : () -> ()
 call @nope2() : () -> ()
 return }
// -----
func.func @g(%c: i1) {
 scf.if %c { func.call @nope() : () -> () }
 scf.if %c { func.call @nope() : () -> () }
 return }
// -----
func.func @f(%c: i32) {
  func.func @g() { "a.b"(%c) : (i32) -> ()
    return }
  return
}
// -----
func.func @f(%c: i32) {
  "a.b"(%x) : (i32) -> ()
  module { "a.b"(%c) : (i32) -> () }
  %x = "a.b"() : () -> i32
  return
}
// -----
%c = "a.b"() : () -> i32
func.func @f() {
  "a.b"(%x) : (i32) -> ()
  %x = "a.b"(%c) : (i32) -> i32
  return
}
// -----
%c = "a.b"() : () -> i32
func.func @f() {
  "a.b"(%x) : (i32) -> ()
  %x = "a.b"() : () -> i32
  cf.br ^b
^b:
  "a.b"(%c) : (i32) -> i32
  return
}
// -----
%c = "a.b"() : () -> i32
func.func @f() {
  "a.b"(%x) : (i32) -> ()
  %x = "a.b"() : () -> i32
  return
^b:
  "a.b"(%c) : (i32) -> i32
  return
}
// -----
"a.b"() ({
  %0 = "a.b"(%1) : (i32) -> i32
  %1 = "a.b"() : () -> i32
  "a.c"()[^b] : () -> ()
^b:
  "a.c"() : () -> () }) : () -> ()
// -----
"a.b"() ({
  "a.b"() ({
  "a.b"(%1) : (i32) -> i32
  }) : () -> ()
  %1 = "a.b"() : () -> i32
  "a.c"()[^b] : () -> ()
^b:
  "a.c"() : () -> () }) : () -> ()
// -----
"a.b"() ({
  %0 = "a.b"(%1) : (i32) -> i32
  "a.c"()[^b] : () -> ()
^b:
  %1 = "a.b"() : () -> i32
  "a.c"() : () -> () }) : () -> ()
// -----
"a.b"() ({
  "a.c"()[^b] : () -> ()
^b:
  %0 = "a.b"(%1) : (i32) -> i32
  "a.c"() : () -> ()
^c:
  %1 = "a.b"() : () -> i32
  "a.c"() : () -> ()
  }) : () -> ()
// -----
"a.b"() ({
^a:
  "a.c"()[^a] : () -> ()
  }) : () -> ()
// -----
"a.b"() ({
^a:
  "a.c"()[^a] : () -> ()
  "a.c"() : () -> ()
  }) : () -> ()
// -----
func.func @f() {
  cf.br ^a
^a:
  "a.b"() ({
   "a.c"()[^a] : () -> ()
  }) : () -> ()
  return
}
// -----
"builtin.module"() ({}) : () -> ()
// -----
module {
  func.func @f() { return }
  func.func @f() { return }
  func.func @g() { call @nope() : () -> ()
    return }
}
// -----
module {
  module @m { func.func @g(%c: i32) { call @nope() : () -> ()
    return } }
  func.func @f() -> i32 { return }
}
// -----
module {
  func.func @f() -> i32 { return }
  module @m { func.func @g(%c: i32) -> i8 { call @nope() : () -> ()
    return %c : i32 } }
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.constant 1 : i32
  cf.br ^b
^b:
  "a.b"(%0) : (i32) -> ()
  "a.b"(%1) : (i32) -> ()
  %1 = arith.constant 1 : i32
  return
}
// -----
func.func @f(%c: i1) {
  "a.b"(%c, %1, %2) : (i1, i32, i32) -> ()
  %1:2 = "a.b"() : () -> (i32, i32)
  %2 = arith.constant 1 : i32
  return
}
// -----
func.func @f(%c: i1) -> i32 {
  %0 = scf.if %c -> (i32) {
    scf.yield %c : i1
  } else {
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    scf.yield %c : i1
  }
  return %0 : i32
}
// -----
func.func @f(%c: i1, %x: i32) -> i32 {
  %0 = "scf.while"(%x) ({
  ^bb0(%a: i32):
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.condition"(%c, %c) : (i1, i1) -> ()
  }, {
  ^bb0(%a: i32):
    "scf.condition"(%c, %c) : (i1, i1) -> ()
  }) : (i32) -> i32
  return %0 : i32
}
// -----
func.func @f(%c: i1, %x: i32) -> i32 {
  %0 = "scf.while"(%x) ({
  ^bb0(%a: i32):
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.condition"(%c, %c) : (i1, i1) -> ()
  }, {
  ^bb0(%a: i32):
    "scf.yield"(%c) : (i1) -> ()
  }) : (i32) -> i32
  return %0 : i32
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.for"(%x, %x, %x) ({
  ^bb0(%a: i32):
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.for"(%x, %x, %x) ({
  ^bb0:
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.for"(%x, %x, %x, %c) ({
  ^bb0:
    "scf.yield"() : () -> ()
  }) : (index, index, index, i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.for"(%x, %x, %x, %c) ({
  ^bb0(%i: index):
    "scf.yield"() : () -> ()
  }) : (index, index, index, i1) -> i1
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.execute_region"() ({
  ^bb0(%i: index):
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.yield"() : () -> ()
  }) : () -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.execute_region"() ({
  }) : () -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.execute_region"() ({
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.yield"(%c) : (i1) -> ()
  }) : () -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
   ^bb0(%a: i1):
    %1 = "arith.addi"(%c, %c) : (i1, i1) -> i8
    "scf.yield"() : () -> ()
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
    "arith.addi"(%c, %c) : (i1, i1) -> i8
    "a.b"() : () -> ()
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
    "a.b"() : () -> ()
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
    "arith.addi"(%c, %c) : (i1, i1) -> i1
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
   ^bb0:
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1, %x: index) {
  "scf.if"(%c) ({
  }, {}) : (i1) -> ()
  return
}
// -----
func.func @f(%a: i32 {x = 1}) { return }
func.func @f()
// -----
func.func @f(%a: i32) -> i32 {
  %0 = arith.constant 1 : i64
  %1 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return %0 : i64
}
// -----
func.func @f(%v: vector<2x1xf32>) {
  %0 = vector.extract %v[0] : f64 from vector<2x1xf32>
  return
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^a
^a:
  cf.br ^b(%c : i1)
^b(%x: i1):
  func.func private @g()
  return
}
// -----
func.func @f(%c: i32) {
  "cf.switch"(%c)[^a] <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^a:
  call @g() : () -> ()
  return
}
// -----
func.func @f(%c: i32) {
  %0 = scf.if %c -> i32 { scf.yield %c : i32 }
  return
}
// -----
module {
  func.func private @f(%c: i32) attributes {sym_visibility = "nested"}
}
// -----
func.func private @f(%c: i32) {
  return %c : i32
}
func.func @g() { call @f() : () -> ()
  return }
// -----
func.func @g() {
  %0 = arith.constant dense<1> : tensor<2xi32>
  %1 = tensor.extract %0[] : tensor<2xi32>
  call @f() : () -> ()
  return }
// -----
"a.b"() ({
  func.func @g(%c: i1) {
    func.return
  }
  %0 = "a.c"() : () -> i32
  func.func @h() {
    "a.b"(%0) : (i32) -> ()
    return
  }
}) : () -> ()
// -----
"a.b"() ({
  func.func @g(%c: i1) {
    "a.b"(%0) : (i32) -> ()
    return
  }
  %0 = "a.c"() : () -> i32
  func.func @h() {
    %1 = "arith.addi"(%2, %2) : (i8, i8) -> i16
    %2 = "a.c"() : () -> i8
    return
  }
}) : () -> ()
