"keep.here"() : () -> () loc(callsite("foo" at "mysource.cc":10:8))
// -----
"keep.here"() : () -> () loc("mysource.cc":10:8 to 12:18)
// -----
// A range on one line.
"keep.here"() : () -> () loc("mysource.cc":10:8 to :18)
// -----
// A range whose end repeats the line.
"keep.here"() : () -> () loc("mysource.cc":10:8 to 10:18)
// -----
// A range of one column.
"keep.here"() : () -> () loc("mysource.cc":10:8 to 10:8)
// -----
// A range that starts at column zero.
"keep.here"() : () -> () loc("mysource.cc":10:0 to 11:0)
// -----
"keep.here"() : () -> () loc(fused["mysource.cc":10:8, "mysource.cc":22:8])
// -----
"keep.here"() : () -> () loc(fused<"CSE">["mysource.cc":10:8, "mysource.cc":22:8])
// -----
// Metadata of other kinds.
"keep.here"() : () -> () loc(fused<{pass = "inline", depth = 2 : i32}>["a", "b"])
"keep.here"() : () -> () loc(fused<[1, @x]>["a", "b"])
// -----
"keep.here"() : () -> () loc("CSE"("mysource.cc":10:8))
// -----
// A name alone, and a name of something unknown.
"keep.here"() : () -> () loc("mysource")
"keep.here"() : () -> () loc("mysource"(unknown))
// -----
"keep.here"() : () -> () loc(unknown)
// -----
// Of one place, and of the same place twice.
"keep.here"() : () -> () loc(fused["a":1:1])
"keep.here"() : () -> () loc(fused["a":1:1, "a":1:1])
// -----
// Metadata keeps a fusion of one place.
"keep.here"() : () -> () loc(fused<"m">["a":1:1])
// -----
// Fused within fused.
"keep.here"() : () -> () loc(fused[fused["a":1:1, "b":2:2], "c":3:3])
// -----
// A chain of calls.
"keep.here"() : () -> () loc(callsite("leaf" at callsite("middle" at callsite("outer" at "main":1:1))))
// -----
// A callee that is a call itself.
"keep.here"() : () -> () loc(callsite(callsite("a" at "b") at "c"))
// -----
// Names around names.
"keep.here"() : () -> () loc("a"("b"("c"("f":1:2))))
// -----
// A file name with escapes, and an empty one.
"keep.here"() : () -> () loc("a\\b\22c.mlir":3:4)
"keep.here"() : () -> () loc("":0:0)
// -----
// An alias defined after its use.
"keep.here"() : () -> () loc(#place)
#place = loc("later.cc":5:6)
// -----
// An alias defined before its use.
#place = loc("earlier.cc":5:6)
"keep.here"() : () -> () loc(#place)
// -----
// Aliases that use aliases.
#inner = loc("f":1:2)
#outer = loc(callsite(#inner at #inner))
"keep.here"() : () -> () loc(#outer)
"keep.here"() : () -> () loc(#inner)
// -----
// On block arguments.
"keep.region"() ({
^bb0(%a: i32 loc("first":1:1), %b: i32 loc(unknown), %c: i32):
  "keep.end"(%a, %b, %c) : (i32, i32, i32) -> ()
}) : () -> ()
// -----
// On the arguments of a function.
func.func @f(%x: i32 loc("x"), %y: f32 {keep.a} loc("y":2:3)) -> i32 {
  return %x : i32 loc("leave":9:9)
} loc("f":1:1)
// -----
// As attributes.
"keep.here"() {a = loc("f":1:2), b = loc(unknown), c = [loc("n"), loc(callsite("x" at "y"))], d = loc(fused<1>["p", "q"])} : () -> ()
// -----
// An attribute alias of a location, used as an attribute and as a location.
#here = loc("f":7:8)
"keep.here"() {a = #here} : () -> () loc(#here)
// -----
// On a module.
module @located {
} loc("module.mlir":1:1)
// -----
// The largest line and column.
"keep.here"() : () -> () loc("f":4294967295:4294967295)
// -----
// One place for many operations.
#same = loc("same":1:1)
"keep.a"() : () -> () loc(#same)
"keep.b"() : () -> () loc(#same)
"keep.c"() ({
  "keep.d"() : () -> () loc(#same)
}) : () -> () loc(#same)
// -----
// Metadata behind an alias.
#data = {x = 1 : i32}
"keep.here"() : () -> () loc(fused<#data>["a":1:1, "b":1:1])
// -----
// An empty fusion.
"keep.here"() : () -> () loc(fused[])
"keep.here"() : () -> () loc(fused<"m">[])
// -----
// Lines and columns in hexadecimal, and with leading zeros.
"keep.here"() : () -> () loc("f":0x10:0xFFFFFFFF)
"keep.here"() : () -> () loc("f":1:2 to 0x3:0x4)
"keep.here"() : () -> () loc("f":1:2 to :0x12)
"keep.here"() : () -> () loc("f":0000000000012:0x00000000000000013)
// -----
// A line without a column.
"keep.here"() : () -> () loc("f":1)
"keep.here"() {a = loc("f":0x10)} : () -> ()
// -----
// A range that ends before it starts.
"keep.here"() : () -> () loc("f":10:2 to 1:1)
"keep.here"() : () -> () loc("f":10:2 to :1)
