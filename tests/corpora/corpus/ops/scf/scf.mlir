func.func @if(%c: i1) {
  scf.if %c {
    "keep.yes"() : () -> ()
  }
  return
}
// -----
func.func @if(%c: i1) {
  scf.if %c {
    "keep.yes"() : () -> ()
  } else {
    "keep.no"() : () -> ()
  }
  return
}
// -----
func.func @if(%c: i1, %x: i32, %y: i32) -> i32 {
  %0 = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %y : i32
  }
  return %0 : i32
}
// -----
// Several results.
func.func @if(%c: i1, %x: i32, %y: f32) -> (f32, i32) {
  %0:2 = scf.if %c -> (f32, i32) {
    scf.yield %y, %x : f32, i32
  } else {
    %z = arith.negf %y : f32
    scf.yield %z, %x : f32, i32
  }
  return %0#0, %0#1 : f32, i32
}
// -----
// Nested, in both arms.
func.func @if(%a: i1, %b: i1) {
  scf.if %a {
    scf.if %b {
      "keep.both"() : () -> ()
    }
  } else {
    scf.if %b {
    } else {
      "keep.neither"() : () -> ()
    }
  }
  return
}
// -----
// Attributes.
func.func @if(%c: i1, %x: i32) {
  scf.if %c {
  } {keep.a}
  %0 = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield {keep.y} %x : i32
  } {keep.b = 1 : i8}
  return
}
// -----
// The terminators written out where they may be left out.
func.func @if(%c: i1) {
  scf.if %c {
    scf.yield
  } else {
    scf.yield
  }
  return
}
// -----
// Generic form.
func.func @if(%c: i1, %x: i32) -> i32 {
  %0 = "scf.if"(%c) ({
    "scf.yield"(%x) : (i32) -> ()
  }, {
    "scf.yield"(%x) : (i32) -> ()
  }) : (i1) -> i32
  "scf.if"(%c) ({
    "scf.yield"() : () -> ()
  }, {
  }) {keep.a} : (i1) -> ()
  return %0 : i32
}
// -----
func.func @for(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    "keep.body"(%i) : (index) -> ()
  }
  return
}
// -----
// Values carried around.
func.func @for(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (f32) {
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  }
  return %sum : f32
}
// -----
// Several values carried, of several types.
func.func @for(%n: index, %x: f32, %k: i64) -> (f32, i64) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %r:2 = scf.for %i = %c0 to %n step %c2 iter_args(%a = %x, %b = %k) -> (f32, i64) {
    %s = arith.mulf %a, %a : f32
    %t = arith.addi %b, %b : i64
    scf.yield %s, %t : f32, i64
  }
  return %r#0, %r#1 : f32, i64
}
// -----
// A counter of an integer type.
func.func @for(%lo: i32, %hi: i32, %step: i32) -> i32 {
  %r = scf.for %i = %lo to %hi step %step iter_args(%acc = %lo) -> (i32) : i32 {
    %s = arith.addi %acc, %i : i32
    scf.yield %s : i32
  }
  return %r : i32
}
// -----
// A counter of an integer type, without values.
func.func @for(%lo: i8, %hi: i8, %step: i8) {
  scf.for %i = %lo to %hi step %step : i8 {
    "keep.body"(%i) : (i8) -> ()
  }
  return
}
// -----
// Compared as unsigned.
func.func @for(%lo: i32, %hi: i32, %step: i32) {
  scf.for unsigned %i = %lo to %hi step %step : i32 {
  }
  return
}
// -----
// Compared as unsigned, with values and attributes.
func.func @for(%lo: index, %hi: index, %step: index, %x: i1) -> i1 {
  %r = scf.for unsigned %i = %lo to %hi step %step iter_args(%b = %x) -> (i1) {
    scf.yield %b : i1
  } {keep.a}
  return %r : i1
}
// -----
// Attributes.
func.func @for(%lo: index, %hi: index, %step: index) {
  scf.for %i = %lo to %hi step %step {
  } {keep.unroll = 4 : i32}
  return
}
// -----
// Nested loops that use each other's counters.
func.func @for(%n: index, %m: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
    %t = scf.for %j = %i to %m step %c1 iter_args(%u = %s) -> (index) {
      %p = arith.muli %i, %j : index
      %q = arith.addi %u, %p : index
      scf.yield %q : index
    }
    scf.yield %t : index
  }
  return %r : index
}
// -----
// The terminator written out.
func.func @for(%lo: index, %hi: index, %step: index) {
  scf.for %i = %lo to %hi step %step {
    scf.yield
  }
  return
}
// -----
// Generic form.
func.func @for(%lo: index, %x: i32) -> i32 {
  %0 = "scf.for"(%lo, %lo, %lo, %x) ({
  ^bb0(%i: index, %a: i32):
    "scf.yield"(%a) : (i32) -> ()
  }) : (index, index, index, i32) -> i32
  "scf.for"(%lo, %lo, %lo) <{unsignedCmp}> ({
  ^bb0(%i: index):
    "scf.yield"() : () -> ()
  }) {keep.a} : (index, index, index) -> ()
  return %0 : i32
}
// -----
// A name that the loop reuses after it.
func.func @for(%lo: index, %hi: index, %step: index) {
  scf.for %i = %lo to %hi step %step {
    %v = arith.addi %i, %i : index
  }
  scf.for %i = %lo to %hi step %step {
    %v = arith.muli %i, %i : index
  }
  return
}
// -----
func.func @while(%x: i32) -> i32 {
  %c10 = arith.constant 10 : i32
  %r = scf.while (%a = %x) : (i32) -> i32 {
    %c = arith.cmpi slt, %a, %c10 : i32
    scf.condition(%c) %a : i32
  } do {
  ^bb0(%b: i32):
    %n = arith.addi %b, %b : i32
    scf.yield %n : i32
  }
  return %r : i32
}
// -----
// Nothing is carried.
func.func @while(%c: i1) {
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}
// -----
// Other types after the condition than before.
func.func @while(%x: f32) -> (i32, i1) {
  %r:2 = scf.while (%a = %x) : (f32) -> (i32, i1) {
    %i = arith.fptosi %a : f32 to i32
    %z = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %a, %z : f32
    scf.condition(%c) %i, %c : i32, i1
  } do {
  ^bb0(%i: i32, %c: i1):
    %f = arith.sitofp %i : i32 to f32
    scf.yield %f : f32
  }
  return %r#0, %r#1 : i32, i1
}
// -----
// Attributes of the loop and the condition.
func.func @while(%c: i1, %x: i32) {
  %r:2 = scf.while (%a = %x, %b = %c) : (i32, i1) -> (i32, i1) {
    scf.condition(%b) {keep.c} %a, %b : i32, i1
  } do {
  ^bb0(%a: i32, %b: i1):
    scf.yield %a, %b : i32, i1
  } attributes {keep.w = 1 : i8}
  return
}
// -----
// Results, no operands.
func.func @while(%c: i1, %x: i32) -> i32 {
  %r = scf.while : () -> i32 {
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%a: i32):
    scf.yield
  }
  return %r : i32
}
// -----
// Generic form.
func.func @while(%c: i1, %x: i32) -> i32 {
  %0 = "scf.while"(%x) ({
  ^bb0(%a: i32):
    "scf.condition"(%c, %a) : (i1, i32) -> ()
  }, {
  ^bb0(%b: i32):
    "scf.yield"(%b) : (i32) -> ()
  }) {keep.a} : (i32) -> i32
  return %0 : i32
}
// -----
func.func @execute() {
  scf.execute_region {
    "keep.inside"() : () -> ()
    scf.yield
  }
  return
}
// -----
func.func @execute(%x: i32) -> i32 {
  %0 = scf.execute_region -> i32 {
    %1 = arith.addi %x, %x : i32
    scf.yield %1 : i32
  }
  return %0 : i32
}
// -----
// Several results and several blocks.
func.func @execute(%c: i1, %x: i32, %y: f32) -> (i32, f32) {
  %0:2 = scf.execute_region -> (i32, f32) {
    cf.cond_br %c, ^a, ^b(%x : i32)
  ^a:
    %1 = arith.constant 5 : i32
    cf.br ^b(%1 : i32)
  ^b(%z: i32):
    scf.yield %z, %y : i32, f32
  }
  return %0#0, %0#1 : i32, f32
}
// -----
// Not to be inlined, with attributes.
func.func @execute(%x: i32) {
  %0 = scf.execute_region -> i32 no_inline {
    scf.yield %x : i32
  } {keep.a}
  scf.execute_region no_inline {
    scf.yield
  }
  scf.execute_region {
    scf.yield
  } {keep.b}
  return
}
// -----
// Generic form.
func.func @execute(%x: i32) -> i32 {
  %0 = "scf.execute_region"() <{no_inline}> ({
    "scf.yield"(%x) : (i32) -> ()
  }) : () -> i32
  %1 = "scf.execute_region"() ({
    "scf.yield"(%x) : (i32) -> ()
  }) {keep.a} : () -> i32
  return %1 : i32
}
// -----
// A loop in an arm in a loop.
func.func @mixed(%n: index, %c: i1, %x: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (i32) {
    %s = scf.if %c -> (i32) {
      %w = scf.while (%b = %a) : (i32) -> i32 {
        scf.condition(%c) %b : i32
      } do {
      ^bb0(%d: i32):
        scf.yield %d : i32
      }
      scf.yield %w : i32
    } else {
      scf.yield %a : i32
    }
    scf.yield %s : i32
  }
  return %r : i32
}
// -----
// Locations inside regions.
func.func @located(%lo: index, %hi: index, %step: index, %c: i1) {
  scf.for %i = %lo to %hi step %step {
    scf.if %c {
      "keep.op"() : () -> () loc("deep":1:1)
    } loc("if":2:2)
  } loc("for":3:3)
  return
}
// -----
// Constants and results inside regions are named in one sequence.
func.func @names(%c: i1) -> i32 {
  %c1 = arith.constant 1 : i32
  %0 = scf.if %c -> (i32) {
    %c2 = arith.constant 2 : i32
    %1 = arith.addi %c1, %c2 : i32
    scf.yield %1 : i32
  } else {
    %c2 = arith.constant 2 : i32
    %1 = arith.subi %c1, %c2 : i32
    scf.yield %1 : i32
  }
  %2 = arith.addi %0, %0 : i32
  return %2 : i32
}
