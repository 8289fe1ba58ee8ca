func.func @f() {
  "keep.use"(%x) : (i32) -> ()
  %x = arith.constant 1 : i32
  return
}
// -----
func.func @f(%c: i1) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.constant 1 : i32
  cf.br ^b
^b:
  return %0 : i32
}
// -----
func.func @f(%c: i1) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  %x = arith.constant 1 : i32
  cf.br ^c
^b:
  %y = arith.addi %x, %x : i32
  cf.br ^c
^c:
  return %x : i32
}
// -----
func.func @f(%c: i1) -> i32 {
  cf.br ^a
^b:
  return %v : i32
^a:
  %v = arith.constant 1 : i32
  cf.cond_br %c, ^b, ^d
^d:
  cf.br ^b2
^b2:
  return %w : i32
^e:
  %w = arith.constant 1 : i32
  cf.br ^b2
}
// -----
func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^a(%x : i32), ^b
^a(%y: i32):
  cf.br ^b
^b:
  return %y : i32
}
// -----
func.func @f() {
  %0 = arith.addi %0, %0 : i32
  return
}
// -----
func.func @f() {
  "keep.region"() ({
    "keep.use"(%x) : (i32) -> ()
    "keep.end"() : () -> ()
  }) : () -> ()
  %x = arith.constant 1 : i32
  return
}
// -----
func.func @f(%x: i32) {
  module {
    "keep.use"(%x) : (i32) -> ()
  }
  return
}
// -----
func.func @f(%c: i1) {
  scf.if %c {
    %x = arith.constant 1 : i32
  }
  "keep.use"(%x) : (i32) -> ()
  return
}
// -----
func.func @f(%c: i1) -> i32 {
  %r = scf.if %c -> (i32) {
    scf.yield %r : i32
  } else {
    scf.yield %r : i32
  }
  return %r : i32
}
// -----
func.func @f(%c: i1) {
  cf.br ^a(%d : i32)
^a(%d: i32):
  return
}
// -----
func.func @f() {
  %0 = arith.constant 1 : i32
}
// -----
func.func @f() {
  return
  %0 = arith.constant 1 : i32
}
// -----
func.func @f(%c: i1) {
  cf.br ^a
^a:
  %0 = arith.constant 1 : i32
}
// -----
func.func @f(%c: i1) {
  cf.br ^a
^a:
}
// -----
func.func @f() {
  cf.br ^a
  return
^a:
  return
}
// -----
func.func @f() -> i32 {
  return
}
// -----
func.func @f() {
  %0 = arith.constant 1 : i32
  return %0 : i32
}
// -----
func.func @f(%x: f32) -> i32 {
  return %x : f32
}
// -----
module {
  return
}
// -----
module {
  func.return
}
// -----
func.func @f(%c: i1) {
  scf.if %c {
    return
  }
  return
}
// -----
func.func @f(%c: i1) {
  scf.yield
}
// -----
func.func @f(%c: i1) {
  scf.condition(%c)
}
// -----
func.func @f(%n: index, %x: i32) {
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (i32) {
  }
  return
}
// -----
func.func @f(%n: index, %x: i32) {
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (i32) {
    scf.yield
  }
  return
}
// -----
func.func @f(%n: index, %x: i32, %y: f32) {
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (i32) {
    scf.yield %y : f32
  }
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  %0 = scf.if %c -> (i32) {
    scf.yield %x : i32
  }
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  %0 = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield
  }
  return
}
// -----
func.func @f(%c: i1, %x: i32, %y: f32) {
  %0 = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %y : f32
  }
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  scf.if %c {
    scf.yield %x : i32
  }
  return
}
// -----
func.func @f(%x: i32) {
  %0 = scf.execute_region -> i32 {
    scf.yield
  }
  return
}
// -----
func.func @f(%x: i32, %c: i1) {
  %0 = scf.while (%a = %x) : (i32) -> i32 {
    scf.condition(%c)
  } do {
  ^bb0(%b: i32):
    scf.yield %b : i32
  }
  return
}
// -----
func.func @f(%x: i32, %c: i1) {
  %0 = scf.while (%a = %x) : (i32) -> i32 {
    scf.condition(%c) %a : i32
  } do {
  ^bb0(%b: f32):
    scf.yield %x : i32
  }
  return
}
// -----
func.func @f(%x: i32, %c: i1) {
  %0 = scf.while (%a = %x) : (i32) -> i32 {
    scf.condition(%c) %a : i32
  } do {
  ^bb0(%b: i32):
    scf.yield
  }
  return
}
// -----
func.func @f(%lo: index, %x: i32) {
  scf.for %i = %lo to %x step %lo {
  }
  return
}
// -----
func.func @f(%lo: f32) {
  scf.for %i = %lo to %lo step %lo : f32 {
  }
  return
}
// -----
func.func @f(%c: i32) {
  scf.if %c {
  }
  return
}
// -----
func.func @f(%c: i32) {
  cf.cond_br %c, ^a, ^a
^a:
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  cf.br ^a(%x : i32)
^a:
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  cf.br ^a
^a(%y: i32):
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  cf.br ^a(%x : i32)
^a(%y: f32):
  return
}
// -----
func.func @f(%c: i1, %x: i32) {
  cf.cond_br %c, ^a(%x : i32), ^b
^a(%y: i32):
  return
^b(%z: i32):
  return
}
// -----
func.func @f() {
  "cf.br"() : () -> ()
}
// -----
func.func @f() {
  "cf.br"()[^a, ^a] : () -> ()
^a:
  return
}
// -----
func.func @f() {
  cf.br ^a
^a:
  cf.br ^a
^bb0:
  "keep.op"()[^entry] : () -> ()
^entry:
}
// -----
func.func @f() {
^entry:
  cf.br ^entry
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c weights([1]), ^a, ^a
^a:
  return
}
// -----
func.func @f(%c: i1) {
  cf.cond_br %c weights([0, 0]), ^a, ^a
^a:
  return
}
// -----
func.func @f(%x: f32) {
  cf.switch %x : f32, [
    default: ^a
  ]
^a:
  return
}
// -----
func.func @f(%x: i32) {
  cf.switch %x : i32, [
    default: ^a,
    1: ^a(%x : i32)
  ]
^a:
  return
}
// -----
func.func @f() {
  ub.unreachable
  return
}
// -----
func.func private @f()
func.func private @f()
// -----
module @a {}
module @a {}
// -----
module @a {}
func.func private @a()
// -----
func.func @f() {
  call @missing() : () -> ()
  return
}
// -----
module @m {
}
func.func @f() {
  call @m() : () -> ()
  return
}
// -----
func.func private @g(i32)
func.func @f() {
  call @g() : () -> ()
  return
}
// -----
func.func private @g(i32)
func.func @f(%x: f32) {
  call @g(%x) : (f32) -> ()
  return
}
// -----
func.func private @g() -> i32
func.func @f() {
  call @g() : () -> ()
  return
}
// -----
func.func private @g() -> i32
func.func @f() {
  %0 = call @g() : () -> f32
  return
}
// -----
module {
  func.func private @g()
  module {
    func.func @f() {
      call @g() : () -> ()
      return
    }
  }
}
// -----
func.func @f()
// -----
func.func public @f()
// -----
func.func @f() {
  func.func private @g()
  return
}
// -----
"func.func"() <{function_type = () -> (), sym_name = ""}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = () -> ()}> ({
}) : () -> ()
// -----
"func.func"() <{sym_name = "f"}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = i32, sym_name = "f"}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({
^bb0:
  "func.return"() : () -> ()
}) : () -> ()
// -----
"func.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({
^bb0(%a: f32):
  "func.return"() : () -> ()
}) : () -> ()
// -----
"func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "secret"}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = 1 : i32}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = () -> (), sym_name = 5 : i32}> ({
}) : () -> ()
// -----
"func.func"() <{function_type = () -> (), sym_name = "f"}> : () -> ()
// -----
"func.func"() <{arg_attrs = [{}], function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({
}) : () -> ()
// -----
"func.func"() <{arg_attrs = [1], function_type = (i32) -> (), sym_name = "f", sym_visibility = "private"}> ({
}) : () -> ()
// -----
"func.func"() <{arg_attrs = {}, function_type = (i32) -> (), sym_name = "f", sym_visibility = "private"}> ({
}) : () -> ()
// -----
"func.func"() <{res_attrs = [{}], function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({
}) : () -> ()
// -----
func.func private @f(i32 {plain})
// -----
func.func private @f() -> (i32 {plain = 1 : i8})
// -----
func.func private @g()
func.func @f() {
  %0 = constant @g : (i32) -> ()
  return
}
// -----
func.func @f() {
  %0 = constant @missing : () -> ()
  return
}
// -----
func.func @f(%x: i32) {
  %0 = "func.call_indirect"(%x) : (i32) -> i32
  return
}
// -----
func.func @f(%g: (i32) -> i32, %x: f32) {
  %0 = "func.call_indirect"(%g, %x) : ((i32) -> i32, f32) -> i32
  return
}
// -----
func.func @f(%g: (i32) -> i32) {
  %0 = "func.call_indirect"(%g) : ((i32) -> i32) -> i32
  return
}
// -----
func.func @f() {
  "func.call"() : () -> ()
  return
}
// -----
func.func @f() {
  "func.call"() <{callee = "f"}> : () -> ()
  return
}
// -----
func.func @f() {
  "func.call"() <{callee = @f::@g}> : () -> ()
  return
}
// -----
module attributes {plain = 1 : i32} {
}
// -----
"builtin.module"() ({
}, {
}) : () -> ()
// -----
"builtin.module"() : () -> ()
// -----
"builtin.module"() ({
^a:
  "keep.op"()[^b] : () -> ()
^b:
}) : () -> ()
// -----
%0 = "keep.make"() : () -> i32
"builtin.module"(%0) ({
^bb0:
}) : (i32) -> ()
// -----
"builtin.module"() <{sym_name = 1 : i32}> ({
^bb0:
}) : () -> ()
// -----
%0 = "builtin.module"() ({
^bb0:
}) : () -> i32
// -----
func.func @f(%x: i32) {
  "builtin.unrealized_conversion_cast"(%x) : (i32) -> ()
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.addi %a, %a : f32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.addf %a, %a : i32
  return
}
// -----
func.func @f(%a: si32) {
  %0 = arith.addi %a, %a : si32
  return
}
// -----
func.func @f(%a: ui8) {
  %0 = arith.muli %a, %a : ui8
  return
}
// -----
func.func @f(%a: i32, %b: i64) {
  %0 = arith.addi %a, %b : i32
  return
}
// -----
func.func @f(%a: i32, %b: i64) {
  %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a) : (i32) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  "arith.addi"(%a, %a) : (i32, i32) -> ()
  return
}
// -----
func.func @f(%a: i32) {
  %0:2 = "arith.addi"(%a, %a) : (i32, i32) -> (i32, i32)
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) ({
  }) : (i32, i32) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) <{overflowFlags = 1 : i32}> : (i32, i32) -> i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) {overflowFlags = "nsw"} : (i32, i32) -> i32
  return
}
// -----
func.func @f(%a: f32) {
  %0 = "arith.addf"(%a, %a) <{fastmath = 3 : i32}> : (f32, f32) -> f32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.cmpi"(%a, %a) : (i32, i32) -> i1
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.cmpi"(%a, %a) <{predicate = 10 : i64}> : (i32, i32) -> i1
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.cmpi"(%a, %a) <{predicate = 1 : i32}> : (i32, i32) -> i1
  return
}
// -----
func.func @f(%a: i32) {
  %0 = "arith.cmpi"(%a, %a) <{predicate = 1 : i64}> : (i32, i32) -> i8
  return
}
// -----
func.func @f(%a: tensor<2xi32>) {
  %0 = "arith.cmpi"(%a, %a) <{predicate = 1 : i64}> : (tensor<2xi32>, tensor<2xi32>) -> i1
  return
}
// -----
func.func @f(%a: f32) {
  %0 = "arith.cmpf"(%a, %a) <{predicate = 16 : i64}> : (f32, f32) -> i1
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.extsi %a : i32 to i32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.extsi %a : i32 to i16
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.extui %a : i32 to f32
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.trunci %a : i32 to i64
  return
}
// -----
func.func @f(%a: index) {
  %0 = arith.extsi %a : index to i128
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.extf %a : f32 to f32
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.extf %a : f32 to f16
  return
}
// -----
func.func @f(%a: f16) {
  %0 = arith.extf %a : f16 to bf16
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.truncf %a : f32 to f64
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.truncf %a : f32 to i8
  return
}
// -----
func.func @f(%a: f16) {
  %0 = arith.truncf %a : f16 to bf16
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.bitcast %a : i32 to f64
  return
}
// -----
func.func @f(%a: index) {
  %0 = arith.bitcast %a : index to i64
  return
}
// -----
func.func @f(%a: i32) {
  %0 = arith.index_cast %a : i32 to i64
  return
}
// -----
func.func @f(%a: index) {
  %0 = arith.index_cast %a : index to index
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.index_cast %a : f32 to index
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.sitofp %a : f32 to f64
  return
}
// -----
func.func @f(%a: index) {
  %0 = arith.sitofp %a : index to f64
  return
}
// -----
func.func @f(%a: f32) {
  %0 = arith.fptosi %a : f32 to index
  return
}
// -----
func.func @f(%a: i8) {
  %0 = arith.fptoui %a : i8 to i8
  return
}
// -----
func.func @f(%a: tensor<2xi8>) {
  %0 = arith.extsi %a : tensor<2xi8> to tensor<3xi16>
  return
}
// -----
func.func @f(%a: tensor<2xi8>) {
  %0 = arith.extsi %a : tensor<2xi8> to vector<2xi16>
  return
}
// -----
func.func @f(%a: tensor<2xi8>) {
  %0 = arith.extsi %a : tensor<2xi8> to i16
  return
}
// -----
func.func @f(%a: tensor<*xi8>) {
  %0 = arith.extsi %a : tensor<*xi8> to tensor<*xi16>
  return
}
// -----
func.func @f(%a: tensor<?xi8>) {
  %0 = arith.extsi %a : tensor<?xi8> to tensor<2xi16>
  return
}
// -----
func.func @f(%a: vector<4xi8>) {
  %0 = arith.extsi %a : vector<4xi8> to vector<[4]xi16>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %0 = arith.bitcast %a : tensor<2xf32> to tensor<2x1xi32>
  return
}
// -----
func.func @f(%a: memref<2xf32>) {
  %0 = arith.addf %a, %a : memref<2xf32>
  return
}
// -----
func.func @f(%a: complex<f32>) {
  %0 = arith.addf %a, %a : complex<f32>
  return
}
// -----
func.func @f(%a: tuple<f32>) {
  %0 = arith.negf %a : tuple<f32>
  return
}
// -----
func.func @f(%a: !foo.bar) {
  %0 = arith.addi %a, %a : !foo.bar
  return
}
// -----
func.func @f(%a: !quant.uniform<i8:f32, 1.0>) {
  %0 = arith.addi %a, %a : !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f(%c: i8, %a: f32) {
  %0 = arith.select %c, %a, %a : f32
  return
}
// -----
func.func @f(%c: i8, %a: f32) {
  %0 = arith.select %c, %a, %a : i8, f32
  return
}
// -----
func.func @f(%c: vector<2xi1>, %a: vector<4xf32>) {
  %0 = arith.select %c, %a, %a : vector<2xi1>, vector<4xf32>
  return
}
// -----
func.func @f(%c: i1, %a: f32, %b: f64) {
  %0 = arith.select %c, %a, %b : f32
  return
}
// -----
func.func @f(%c: tensor<?xi1>, %a: tensor<2xf32>) {
  %0 = arith.select %c, %a, %a : tensor<?xi1>, tensor<2xf32>
  return
}
// -----
func.func @f(%a: i32) {
  %0, %1 = arith.addui_extended %a, %a : i32, i32
  return
}
// -----
func.func @f(%a: tensor<2xi32>) {
  %0, %1 = arith.addui_extended %a, %a : tensor<2xi32>, i1
  return
}
// -----
func.func @f(%a: f32) {
  %0, %1 = arith.mulsi_extended %a, %a : f32
  return
}
// -----
func.func @f() {
  %0 = arith.constant 1 : si32
  return
}
// -----
func.func @f() {
  %0 = arith.constant dense<[1, 2]> : vector<[2]xi32>
  return
}
// -----
func.func @f() {
  %0 = "arith.constant"() <{value = 1 : i32}> : () -> i64
  return
}
// -----
func.func @f() {
  %0 = "arith.constant"() : () -> i64
  return
}
// -----
func.func @f() {
  %0 = "arith.constant"() <{value = "x"}> : () -> i64
  return
}
// -----
func.func @f() {
  %0 = "arith.constant"() <{value = unit}> : () -> i64
  return
}
// -----
func.func @f() {
  %0 = arith.constant {a = 1} [1, 2]
  return
}
// -----
func.func @f() {
  %0 = arith.constant i32
  return
}
// -----
func.func @f() {
  %0 = arith.constant array<i32: 1>
  return
}
// -----
func.func @f() {
  %0 = arith.constant @symbol
  return
}
// -----
func.func @f(%a: f32, %s: f32) {
  %0 = arith.scaling_extf %a, %s : f32, f32 to f32
  return
}
// -----
func.func @f(%a: f32, %s: i8) {
  %0 = arith.scaling_truncf %a, %s : f32, i8 to f16
  return
}
// -----
func.func @f(%a: tensor<2xf32>, %s: tensor<3xf8E8M0FNU>) {
  %0 = arith.scaling_truncf %a, %s : tensor<2xf32>, tensor<3xf8E8M0FNU> to tensor<2xf4E2M1FN>
  return
}
// -----
func.func @f(%n: index) {
  %0 = tensor.empty() : tensor<?xf32>
  return
}
// -----
func.func @f(%n: index) {
  %0 = tensor.empty(%n) : tensor<4xf32>
  return
}
// -----
func.func @f(%n: i32) {
  %0 = tensor.empty(%n) : tensor<?xf32>
  return
}
// -----
func.func @f() {
  %0 = tensor.empty() : tensor<*xf32>
  return
}
// -----
func.func @f() {
  %0 = tensor.empty() : vector<4xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = tensor.splat %x : tensor<?xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = "tensor.splat"(%x) : (f32) -> tensor<2xf64>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = tensor.splat %x : tensor<2xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = tensor.splat %x : tensor<*xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = tensor.from_elements %x : tensor<2xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = tensor.from_elements %x : tensor<?xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = "tensor.from_elements"(%x) : (f32) -> tensor<1xf64>
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %i: index) {
  %0 = tensor.extract %t[%i, %i] : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>) {
  %0 = tensor.extract %t[] : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %i: i32) {
  %0 = tensor.extract %t[%i] : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<*xf32>, %i: index) {
  %0 = tensor.extract %t[%i] : tensor<*xf32>
  return
}
// -----
func.func @f(%t: tensor<4xf32>, %i: index) {
  %0 = "tensor.extract"(%t, %i) : (tensor<4xf32>, index) -> f64
  return
}
// -----
func.func @f(%x: f64, %t: tensor<4xf32>, %i: index) {
  %0 = tensor.insert %x into %t[%i] : tensor<4xf32>
  return
}
// -----
func.func @f(%x: f32, %t: tensor<4xf32>, %i: index) {
  %0 = tensor.insert %x into %t[] : tensor<4xf32>
  return
}
// -----
func.func @f(%t: tensor<f32>, %i: index) {
  %0 = tensor.dim %t, %i : tensor<f32>
  return
}
// -----
func.func @f(%t: tensor<2xf32>, %i: i32) {
  %0 = tensor.dim %t, %i : tensor<2xf32>
  return
}
// -----
func.func @f(%t: vector<2xf32>, %i: index) {
  %0 = tensor.dim %t, %i : vector<2xf32>
  return
}
// -----
func.func @f(%t: tensor<2xf32>) {
  %0 = tensor.cast %t : tensor<2xf32> to tensor<3xf32>
  return
}
// -----
func.func @f(%t: tensor<2xf32>) {
  %0 = tensor.cast %t : tensor<2xf32> to tensor<2xf64>
  return
}
// -----
func.func @f(%t: tensor<2xf32>) {
  %0 = tensor.cast %t : tensor<2xf32> to tensor<2x1xf32>
  return
}
// -----
func.func @f(%t: f32) {
  %0 = tensor.cast %t : f32 to tensor<2xf32>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = vector.broadcast %x : f32 to vector<4xf64>
  return
}
// -----
func.func @f(%x: vector<4xf32>) {
  %0 = vector.broadcast %x : vector<4xf32> to vector<8xf32>
  return
}
// -----
func.func @f(%x: vector<4xf32>) {
  %0 = vector.broadcast %x : vector<4xf32> to f32
  return
}
// -----
func.func @f(%x: vector<2x4xf32>) {
  %0 = vector.broadcast %x : vector<2x4xf32> to vector<4xf32>
  return
}
// -----
func.func @f(%x: vector<[4]xf32>) {
  %0 = vector.broadcast %x : vector<[4]xf32> to vector<2x4xf32>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = vector.broadcast %x : tensor<2xf32> to vector<2xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[4] : f32 from vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[-2] : f32 from vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[0, 0] : f32 from vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[0] : f64 from vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4x2xf32>) {
  %0 = vector.extract %v[0] : f32 from vector<4x2xf32>
  return
}
// -----
func.func @f(%v: vector<4x2xf32>) {
  %0 = "vector.extract"(%v) <{static_position = array<i64: -9223372036854775808>}> : (vector<4x2xf32>) -> vector<2xf32>
  return
}
// -----
func.func @f(%x: f32, %v: vector<4xf32>) {
  %0 = vector.insert %x, %v[4] : f32 into vector<4xf32>
  return
}
// -----
func.func @f(%x: f64, %v: vector<4xf32>) {
  %0 = vector.insert %x, %v[1] : f64 into vector<4xf32>
  return
}
// -----
func.func @f(%x: f32, %v: vector<4x2xf32>) {
  %0 = vector.insert %x, %v[1] : f32 into vector<4x2xf32>
  return
}
// -----
func.func @f(%x: f32, %v: vector<4xf32>) {
  %0 = vector.insert %x, %v[0, 0] : f32 into vector<4xf32>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  vector.print %x : tensor<2xf32>
  return
}
// -----
func.func @f(%x: !foo.bar) {
  vector.print %x : !foo.bar
  return
}
// -----
func.func @f(%x: f32) {
  "vector.print"(%x) <{stringLiteral = "x"}> : (f32) -> ()
  return
}
// -----
func.func @f(%x: f64) {
  %0 = quant.qcast %x : f64 to !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f(%x: i8) {
  %0 = quant.qcast %x : i8 to !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.qcast %x : f32 to f32
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.qcast %x : f32 to tensor<2x!quant.uniform<i8:f32, 1.0>>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<3x!quant.uniform<i8:f32, 1.0>>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<?x!quant.uniform<i8:f32, 1.0>>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<*x!quant.uniform<i8:f32, 1.0>>
  return
}
// -----
func.func @f(%x: vector<2xf32>) {
  %0 = quant.qcast %x : vector<2xf32> to !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f(%x: !quant.uniform<i8:f32, 1.0>) {
  %0 = quant.dcast %x : !quant.uniform<i8:f32, 1.0> to f64
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.dcast %x : f32 to f32
  return
}
// -----
func.func @f(%x: !quant.uniform<i8:f32, 1.0>) {
  %0 = quant.scast %x : !quant.uniform<i8:f32, 1.0> to i16
  return
}
// -----
func.func @f(%x: !quant.uniform<i8:f32, 1.0>) {
  %0 = quant.scast %x : !quant.uniform<i8:f32, 1.0> to !quant.uniform<i8:f32, 1.0>
  return
}
// -----
func.func @f(%x: i8) {
  %0 = quant.scast %x : i8 to i8
  return
}
// -----
func.func @f(%x: !quant.uniform<i8:f32, 1.0>) {
  %0 = quant.scast %x : !quant.uniform<i8:f32, 1.0> to ui8
  return
}
// -----
func.func @f(%x: !quant.uniform<i8:f32, 1.0>) {
  %0 = quant.scast %x : !quant.uniform<i8:f32, 1.0> to index
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.qcast %x : f32 to !quant.uniform<i8:f32:1, {1.0, 2.0}>
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>) {
  %0 = quant.qcast %x : tensor<2x3xf32> to tensor<2x3x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return
}
// -----
func.func @f(%x: tensor<1x2xf32>) {
  %0 = quant.qcast %x : tensor<1x2xf32> to tensor<1x2x!quant.uniform<i8:f32:3, {1.0, 2.0}>>
  return
}
// -----
func.func @f(%x: tensor<?x3xf32>) {
  %0 = quant.qcast %x : tensor<?x3xf32> to tensor<?x3x!quant.uniform<i8:f32:1, {1.0, 2.0, 3.0, 4.0}>>
  return
}
// -----
func.func @f(%x: f32) {
  %0 = quant.qcast %x : f32 to !quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>
  return
}
// -----
func.func @f(%x: tensor<*xf32>) {
  %0 = quant.qcast %x : tensor<*xf32> to tensor<*x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>
  return
}
// -----
func.func @f(%x: tensor<2x5xf32>) {
  %0 = quant.qcast %x : tensor<2x5xf32> to tensor<2x5x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>
  return
}
// -----
func.func @f(%x: tensor<2x6xf32>) {
  %0 = quant.qcast %x : tensor<2x6xf32> to tensor<2x6x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>
  return
}
// -----
func.func @f(%x: tensor<2x1xf32>) {
  %0 = quant.qcast %x : tensor<2x1xf32> to tensor<2x1x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>>
  return
}
// -----
func.func @f() {
  %0 = "ub.poison"() <{value = 1 : i32}> : () -> i32
  return
}
// -----
func.func @f() {
  %0:2 = "ub.poison"() : () -> (i32, i32)
  return
}
// -----
func.func @f(%x: i32) {
  "cf.assert"(%x) <{msg = "x"}> : (i32) -> ()
  return
}
// -----
func.func @f(%c: i1) {
  "cf.assert"(%c) : (i1) -> ()
  return
}
// -----
func.func @f(%c: i1) {
  "cf.assert"(%c) <{msg = 1 : i8}> : (i1) -> ()
  return
}
// -----
func.func @f(%p: vector<3xf64>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[0] : vector<3xf64> into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: vector<4xf32>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[1, 1] : vector<4xf32> into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: vector<4xf32>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[] : vector<4xf32> into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: vector<f32>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[1, 1] : vector<f32> into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: tensor<4xf32>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[1] : tensor<4xf32> into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: f64, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[1, 9] : f64 into vector<2x4xf32>
  return
}
// -----
func.func @f(%p: vector<3xf32>, %v: vector<2x4xf32>) {
  %0 = vector.insert %p, %v[2] : vector<3xf32> into vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<f32>) {
  %0 = vector.insert %v, %v[] : vector<f32> into vector<f32>
  return
}
// -----
func.func @f(%p: vector<3xf32>, %v: vector<2x4xf32>) {
  %0 = "vector.insert"(%p, %v) <{static_position = array<i64: 0>}> : (vector<3xf32>, vector<2x4xf32>) -> vector<2x3xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[0] : vector<3xf32> from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[0, 0] : vector<f32> from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[5] : f32 from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[1] : tensor<4xf32> from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[1] : vector<1xf32> from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<2x4xf32>) {
  %0 = vector.extract %v[1, 1] : vector<2xf32> from vector<2x4xf32>
  return
}
// -----
func.func @f(%v: vector<f32>) {
  %0 = vector.extract %v[] : vector<f32> from vector<f32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = vector.load %m[%i, %i] : memref<8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = vector.load %m[%i] : memref<8xf32>, vector<4xf64>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = vector.load %m[%i] : memref<8xf32>, vector<2x4xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32, strided<[?]>>, %i: index) {
  %0 = vector.load %m[%i] : memref<8xf32, strided<[?]>>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<2xvector<4xf32>>, %i: index) {
  %0 = vector.load %m[%i] : memref<2xvector<4xf32>>, vector<2xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index, %v: vector<4xf32>) {
  vector.store %v, %m[] : memref<8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<8xi32>, %i: index, %v: vector<4xf32>) {
  vector.store %v, %m[%i] : memref<8xi32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index, %v: vector<2x4xf32>) {
  vector.store %v, %m[%i] : memref<8xf32>, vector<2x4xf32>
  return
}
// -----
func.func @f(%m: memref<2xvector<4xf32>>, %i: index, %v: vector<2xf32>) {
  vector.store %v, %m[%i] : memref<2xvector<4xf32>>, vector<2xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index, %v: vector<4xf32>) {
  "vector.store"(%v, %m, %i) <{alignment = 12 : i64}> : (vector<4xf32>, memref<8xf32>, index) -> ()
  return
}
// -----
func.func @f(%m: memref<*xf32>, %i: index, %v: vector<4xf32>) {
  vector.store %v, %m[%i] : memref<*xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = vector.load %m[%i] : memref<8xf32>, f32
  return
}

// -----
func.func @f(%m: memref<f32>, %i: index) -> index {
  %0 = memref.dim %m, %i : memref<f32>
  return %0 : index
}

// -----
// An op of a dialect that MLIR does not know, with one region, may be a symbol table.
func.func private @g()
func.func @f() {
  "unknown.loop"() ({
    func.call @g() : () -> ()
  }) : () -> ()
  return
}

// -----
// A symbol table that halfulp does not declare.
func.func private @g()
"gpu.module"() <{sym_name = "m"}> ({
  func.func @f() {
    func.call @g() : () -> ()
    return
  }
}) : () -> ()

// -----
"gpu.module"() <{sym_name = "m"}> ({
  func.func private @f()
  func.func private @f()
}) : () -> ()
