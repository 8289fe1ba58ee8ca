// Aliases of attributes of each kind.
#i = 1 : i32
#f = 2.5 : f16
#s = "text"
#a = [#i, #f]
#d = {x = #a, y = #s}
#t = tensor<2xf32>
#u = unit
#y = @sym::@bol
"keep.alias"() {i = #i, f = #f, s = #s, a = #a, d = #d, t = #t, u = #u, y = #y} : () -> ()
// -----
// Aliases of types of each kind.
!i = i32
!t = tensor<4x!i>
!v = vector<4x!i>
!f = (!i, !t) -> !v
!p = tuple<!i, !f>
func.func private @f(!i, !t, !v, !f, !p)
// -----
// Aliases between operations.
"keep.first"() : () -> ()
#late = 5 : i8
"keep.second"() {a = #late} : () -> ()
!late = i9
"keep.third"() : () -> !late
// -----
// Names with digits and signs.
#a1 = 1 : i8
#_x = 2 : i8
#a$b = 3 : i8
#a-b = 4 : i8
"keep.alias"() {a = #a1, b = #_x, c = #a$b, d = #a-b} : () -> ()
// -----
// Numbers as names.
#0 = 1 : i8
!1 = i8
"keep.alias"() {a = #0, b = !1} : () -> ()
// -----
// Aliases that mlir-opt makes itself: maps, sets, long tuples, locations.
"keep.alias"() {m = affine_map<(d0) -> (d0)>, s = affine_set<(d0) : (d0 >= 0)>} : () -> () loc("f":1:1)
"keep.alias"() {m = affine_map<(d0) -> (d0 + 1)>, s = affine_set<(d0) : (d0 >= 1)>} : () -> () loc("f":2:1)
"keep.alias"() {m = affine_map<(d0) -> (d0)>} : () -> () loc("f":1:1)
// -----
// A map inside a type inside an attribute.
"keep.alias"() {t = memref<2x2xf32, affine_map<(d0, d1) -> (d1, d0)>>} : () -> ()
// -----
// Maps in the types of values.
func.func @f(%a: memref<2x2xf32, affine_map<(d0, d1) -> (d1, d0)>>) {
  "keep.use"(%a) {m = affine_map<(d0, d1) -> (d1, d0)>} : (memref<2x2xf32, affine_map<(d0, d1) -> (d1, d0)>>) -> ()
  return
}
