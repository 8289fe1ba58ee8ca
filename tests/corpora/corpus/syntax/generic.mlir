"keep.nothing"() : () -> ()
// -----
%0 = "keep.make"() : () -> i32
"keep.take"(%0) : (i32) -> ()
// -----
// Several results, by number.
%a:2 = "keep.pair"() : () -> (i32, f32)
"keep.take"(%a#1, %a#0) : (f32, i32) -> ()
// -----
// Several results, several names.
%a, %b:2, %c = "keep.four"() : () -> (i1, i2, i3, i4)
"keep.take"(%c, %b#1, %b#0, %a) : (i4, i3, i2, i1) -> ()
// -----
// A result named with the number zero.
%r = "keep.make"() : () -> i8
"keep.take"(%r#0) : (i8) -> ()
// -----
// Properties.
"keep.props"() <{a = 1 : i32, b = "x"}> : () -> ()
// -----
// Properties and attributes.
"keep.props"() <{a}> {b} : () -> ()
// -----
// Empty properties.
"keep.props"() <{}> : () -> ()
// -----
// Properties that are an attribute of another kind.
"keep.props"() <{a = {}, b = [], c = array<i8>}> {} : () -> ()
// -----
// A region, an empty region, two regions.
"keep.region"() ({
  "keep.inside"() : () -> ()
}) : () -> ()
"keep.region"() ({
}) : () -> ()
"keep.region"() ({}, {
  "keep.inside"() : () -> ()
}) : () -> ()
// -----
// A region with arguments and several blocks.
"keep.region"() ({
^entry(%a: i32, %b: i1):
  "keep.branch"(%b)[^left, ^right] : (i1) -> ()
^left:
  "keep.jump"()[^right] : () -> ()
^right:
  "keep.end"(%a) : (i32) -> ()
}) : () -> ()
// -----
// An entry block with a label and no arguments.
"keep.region"() ({
^bb0:
  "keep.end"() : () -> ()
}) : () -> ()
// -----
// An entry block that is empty.
"keep.region"() ({
^bb0:
}) : () -> ()
// -----
// An empty entry block with arguments.
"keep.region"() ({
^bb0(%a: i32):
}) : () -> ()
// -----
// Blocks used before they are defined, and blocks nobody uses.
"keep.region"() ({
  "keep.jump"()[^last] : () -> ()
^dead:
  "keep.jump"()[^last] : () -> ()
^last:
  "keep.end"() : () -> ()
}) : () -> ()
// -----
// A block that jumps to itself.
"keep.region"() ({
  "keep.jump"()[^loop] : () -> ()
^loop:
  "keep.jump"()[^loop] : () -> ()
}) : () -> ()
// -----
// Regions inside regions use what is around them.
%outer = "keep.make"() : () -> i32
"keep.region"() ({
  %inner = "keep.make"() : () -> i32
  "keep.region"() ({
    "keep.take"(%outer, %inner) : (i32, i32) -> ()
  }) : () -> ()
}) : () -> ()
// -----
// Everything at once.
"keep.region"() ({
^bb0(%c: i1):
  "keep.all"(%c)[^bb1, ^bb1] <{p = 1 : i8}> ({
    "keep.inside"() : () -> ()
  }, {
  }) {a = 2 : i8} : (i1) -> () loc("everything":1:1)
^bb1:
  "keep.end"() : () -> ()
}) : () -> ()
// -----
// Use before definition in a graph region.
"keep.take"(%later) : (i32) -> ()
%later = "keep.make"() : () -> i32
// -----
// A cycle in a graph region.
%a = "keep.step"(%b) : (i32) -> i32
%b = "keep.step"(%a) : (i32) -> i32
// -----
// The same name in regions side by side.
"keep.region"() ({
  %x = "keep.make"() : () -> i32
}, {
  %x = "keep.make"() : () -> f32
}) : () -> ()
// -----
// Names that are words, numbers, and signs.
%foo = "keep.make"() : () -> i1
%1 = "keep.make"() : () -> i1
%a.b = "keep.make"() : () -> i1
%a$b = "keep.make"() : () -> i1
%a-b = "keep.make"() : () -> i1
%_ = "keep.make"() : () -> i1
"keep.take"(%foo, %1, %a.b, %a$b, %a-b, %_) : (i1, i1, i1, i1, i1, i1) -> ()
// -----
// An unregistered operation without a dialect.
"nameless"() : () -> ()
// -----
// A name with characters that need escapes.
"keep.odd name \22"() : () -> ()
// -----
// Registered operations in generic form, inherent attributes in the old place.
"func.func"() ({
^bb0(%a: i32):
  %0 = "arith.addi"(%a, %a) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  "func.return"(%0) : (i32) -> ()
}) {function_type = (i32) -> i32, sym_name = "f"} : () -> ()
// -----
// Registered operations in generic form, properties in the new place.
"func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({
^bb0(%a: i32):
  %0 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nuw>}> : (i32, i32) -> i32
  "func.return"(%0) : (i32) -> ()
}) : () -> ()
// -----
// Discardable attributes on registered operations in generic form.
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({
  }) {keep.a = 1 : i32} : () -> ()
}) {keep.b} : () -> ()
// -----
// Successors with operands, in generic form.
func.func @f(%c: i1, %x: i32) -> i32 {
  "cf.cond_br"(%c, %x, %x)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
^bb1(%a: i32):
  "cf.br"(%a)[^bb2] : (i32) -> ()
^bb2(%b: i32):
  "func.return"(%b) : (i32) -> ()
}
// -----
// Custom form inside an unregistered operation.
"keep.region"() ({
  %0 = arith.constant 1 : i32
  %1 = arith.addi %0, %0 : i32
  func.func private @inside()
}) : () -> ()
// -----
// Comments everywhere.
// before
"keep.region"( // inside
) ( // between
{ // in the region
}) // and
// more
: () -> () // after
// -----
// One line for everything.
%0 = "keep.make"() : () -> i32 %1 = "keep.make"() : () -> i32 "keep.take"(%0, %1) : (i32, i32) -> ()
// -----
// Every token on a line of its own.
%0
=
"keep.make"
(
)
{
a
=
1
:
i32
}
:
(
)
->
i32
// -----
// Tabs and carriage returns.
	"keep.tabs"()	:	()	->	()
// -----
// Empty properties beside attributes and a region.
"keep.props"() <{}> {a} : () -> ()
"keep.props"() <{ }> ({
}) : () -> ()
"keep.props"() {} : () -> ()
// -----
// Properties that are no dictionary.
"keep.props"() <i32> : () -> ()
"keep.props"() <@x> : () -> ()
"keep.props"() <[1, "two"]> {a = 1 : i8} : () -> ()
"keep.props"() <unit> : () -> ()
"keep.props"() <#foo.bar<1>> : () -> ()
"keep.props"() <!foo.bar> : () -> ()
"keep.props"() <1.0> : () -> ()
"keep.props"() <dense<1.0> : tensor<4xf32>> : () -> ()
"keep.props"() <loc("f":1:2)> : () -> ()
"keep.props"() <distinct[0]<"x">> : () -> ()
// -----
// Properties ask for no alias, but use one that something else asks for.
#map = affine_map<(d0) -> (d0)>
#scope = distinct[0]<"x">
"keep.props"() <{a = #map}> : () -> ()
"keep.props"() <#scope> : () -> ()
"keep.props"() <{a = #map}> {b = #scope} : () -> ()
// -----
// Properties by an alias, of registered and unregistered ops.
#flags = {overflowFlags = #arith.overflow<nsw>}
func.func @f(%x: i32) {
  %0 = "arith.addi"(%x, %x) <#flags> : (i32, i32) -> i32
  %1 = "arith.addi"(%x, %x) <{}> : (i32, i32) -> i32
  %2 = "keep.props"(%x) <#flags> : (i32) -> i32
  return
}
// -----
// A resource that only properties name.
"keep.props"() <dense_resource<blob> : tensor<1xi8>> : () -> ()
{-#
  dialect_resources: {
    builtin: {
      blob: "0x0800000001"
    }
  }
#-}
// -----
// In a region of an op in generic form names are abbreviated as around it.
"keep.region"() ({
  module {
  }
}) : () -> ()
func.func @f(%c: i1) {
  "scf.if"(%c) ({
    call @f(%c) : (i1) -> ()
    "keep.region"() ({
      %0 = constant @f : (i1) -> ()
    }, {
    }) : () -> ()
    scf.yield
  }, {
  }) : (i1) -> ()
  return
}
