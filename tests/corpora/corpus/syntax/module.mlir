module {
}
// -----
module @named {
}
// -----
module attributes {keep.a = 1 : i32} {
}
// -----
module @named attributes {keep.a, keep.b = "x"} {
  func.func private @foo()
}
// -----
builtin.module @written_out {
}
// -----
// Two modules in an implicit one.
module @a {}
module @b {}
// -----
// Modules inside modules, with equal names in each.
module @outer {
  module @inner {
    func.func private @f()
  }
  module @other {
    func.func private @f()
    module {
      func.func private @f()
    }
  }
  func.func private @f()
}
// -----
// A visibility, in generic form.
"builtin.module"() <{sym_name = "m", sym_visibility = "private"}> ({
^bb0:
}) : () -> ()
// -----
// A visibility, in the dictionary of the custom form.
module @outer {
  module @m attributes {sym_visibility = "nested"} {
  }
}
// -----
// Nothing at all.

// -----
// A comment alone.
// -----
// An operation that is no module alone.
func.func private @f()
// -----
// A module and something after it.
module {
}
func.func private @f()
// -----
// Symbols in quotes.
module @"a module" {
  func.func private @"a function"()
  func.func private @plain.name$0()
}
// -----
// References across symbol tables.
module @m {
  func.func private @f()
  func.func @g() {
    "keep.use"() {s = @m::@f} : () -> ()
    call @f() : () -> ()
    return
  }
}
// -----
// The dialect of functions may be left out inside a function.
func.func @f() {
  return
}
func.func @g() {
  call @f() : () -> ()
  func.call @f() : () -> ()
  func.return
}
// -----
// A call of a function of an inner module by one that is inside, too.
module @a {
  func.func private @h()
  module @b {
    func.func private @h(i32)
    func.func @user(%x: i32) {
      call @h(%x) : (i32) -> ()
      return
    }
  }
}
// -----
// Graph regions: a use before the definition at the top level of a module.
module {
  "keep.take"(%0) : (i32) -> ()
  %0 = "keep.make"() : () -> i32
}
// -----
// The file ends with aliases.
module {
  "keep.op"() {a = 1 : i32} : () -> () loc(#l)
}
#l = loc("x":1:1)
#unused = "never used"
!unused = i32
