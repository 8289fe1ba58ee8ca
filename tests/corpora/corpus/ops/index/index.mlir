func.func @f(%a: index, %b: index, %i: i32, %si: si32, %v: vector<4xindex>, %f: f32) {
  %r0 = index.casts %a : index to si32
  %r1 = index.constant -9223372036854775808
  %r2 = index.bool.constant 1
  %r3 = index.bool.constant {a} false
  %r4 = index.constant {a} 3
  %r5 = index.cmp ult (%a, %b) {a}
  %r6 = index.sizeof {a}
  %r7 = index.casts %si : si32 to index
  %r8 = index.cmp "ult"(%a, %b)
  return
}
// -----
func.func @f(%a: index, %b: index, %i: i32) {
  %0 = index.add %a, %b {x}
  %1 = index.cmp ult(%a, %b)
  %2 = index.constant -3
  %3 = index.bool.constant true
  %4 = index.sizeof
  %5 = index.casts %a : index to i32
  %6 = index.castu %i : i32 to index
  %7 = index.ceildivs %a, %b
  return
}
