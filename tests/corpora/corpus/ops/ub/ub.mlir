func.func @poison() -> i32 {
  %0 = ub.poison : i32
  return %0 : i32
}
// -----
// Of every kind of type.
func.func @poison() {
  %0 = ub.poison : tensor<?xf32>
  %1 = ub.poison : vector<[4]xf8E4M3FN>
  %2 = ub.poison : index
  %3 = ub.poison : !foo.bar
  %4 = ub.poison : tuple<i1, f32>
  return
}
// -----
// With its value written out, and attributes.
func.func @poison() {
  %0 = ub.poison <#ub.poison> : i32
  %1 = ub.poison {keep.a} : f32
  %2 = ub.poison {keep.a} <#ub.poison> : f32
  return
}
// -----
// In generic form, with and without the value.
func.func @poison() {
  %0 = "ub.poison"() <{value = #ub.poison}> : () -> i32
  %1 = "ub.poison"() : () -> i32
  %2 = "ub.poison"() {keep.a, value = #ub.poison} : () -> i32
  return
}
// -----
// The attribute elsewhere.
"keep.op"() {a = #ub.poison, b = [#ub.poison]} : () -> ()
// -----
func.func @unreachable() {
  ub.unreachable
}
// -----
func.func @unreachable(%c: i1) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.constant 1 : i32
  return %0 : i32
^b:
  ub.unreachable {keep.why = "never"}
}
// -----
func.func @unreachable() {
  "ub.unreachable"() : () -> ()
}
