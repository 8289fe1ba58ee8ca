func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.casts %a : index to index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.casts %i : i32 to i64
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.casts %i : i32 to f32
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.casts %f : f32 to index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.castu %v : vector<4xindex> to vector<4xi32>
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.add"(%a, %i) : (index, i32) -> index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.add"(%a, %a) : (index, index) -> i32
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.cmp foo(%a, %b)
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.cmp"(%a, %a) <{pred = 3 : i64}> : (index, index) -> i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.cmp"(%a, %a) : (index, index) -> i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.constant 1.0
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.constant 18446744073709551615
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.constant true
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.bool.constant false {a}
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.constant 3 {a}
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.constant"() <{value = 3 : i64}> : () -> index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.add %a, %b : index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.foo %a
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = arith.constant {p = #index<cmp_predicate sge>, q = #index.cmp_predicate<ult>} 0 : i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = arith.constant {p = #index<cmp_predicate<sge>>} 0 : i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = arith.constant {p = #index.foo} 0 : i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = "index.cmp"(%a, %a) <{pred = #index<cmp_predicate foo>}> : (index, index) -> i1
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.constant 5 : index
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %0 = index.cmp ult %a, %b
  return
}
