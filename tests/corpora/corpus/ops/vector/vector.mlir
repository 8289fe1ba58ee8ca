func.func @broadcast(%x: f32, %v: vector<4xf32>) {
  %0 = vector.broadcast %x : f32 to vector<4xf32>
  %1 = vector.broadcast %x : f32 to vector<2x[4]xf32>
  %2 = vector.broadcast %v : vector<4xf32> to vector<2x4xf32>
  %3 = vector.broadcast %x : f32 to vector<f32>
  return
}
// -----
// Stretching a dimension of one; attributes; generic form.
func.func @broadcast(%v: vector<1x4xi8>, %i: index) {
  %0 = vector.broadcast %v : vector<1x4xi8> to vector<3x4xi8>
  %1 = vector.broadcast %v {keep.a} : vector<1x4xi8> to vector<2x1x4xi8>
  %2 = "vector.broadcast"(%i) : (index) -> vector<2xindex>
  return
}
// -----
func.func @extract(%v: vector<4xf32>) -> f32 {
  %0 = vector.extract %v[2] : f32 from vector<4xf32>
  return %0 : f32
}
// -----
// A part of higher rank, the whole, and rank zero.
func.func @extract(%v: vector<2x3x4xf32>, %z: vector<f32>) {
  %0 = vector.extract %v[1] : vector<3x4xf32> from vector<2x3x4xf32>
  %1 = vector.extract %v[1, 2] : vector<4xf32> from vector<2x3x4xf32>
  %2 = vector.extract %v[1, 2, 3] : f32 from vector<2x3x4xf32>
  %3 = vector.extract %v[] : vector<2x3x4xf32> from vector<2x3x4xf32>
  %4 = vector.extract %z[] : f32 from vector<f32>
  return
}
// -----
// Positions that are values, and a mixture.
func.func @extract(%v: vector<2x3xi8>, %i: index) {
  %0 = vector.extract %v[%i] : vector<3xi8> from vector<2x3xi8>
  %1 = vector.extract %v[%i, 2] : i8 from vector<2x3xi8>
  %2 = vector.extract %v[0, %i] : i8 from vector<2x3xi8>
  %3 = vector.extract %v[%i, %i] {keep.a} : i8 from vector<2x3xi8>
  return
}
// -----
// Scalable vectors.
func.func @extract(%v: vector<2x[4]xf32>) -> vector<[4]xf32> {
  %0 = vector.extract %v[1] : vector<[4]xf32> from vector<2x[4]xf32>
  return %0 : vector<[4]xf32>
}
// -----
// Generic form.
func.func @extract(%v: vector<2x3xi8>, %i: index) {
  %0 = "vector.extract"(%v) <{static_position = array<i64: 1, 2>}> : (vector<2x3xi8>) -> i8
  %1 = "vector.extract"(%v, %i) <{static_position = array<i64: -9223372036854775808, 0>}> : (vector<2x3xi8>, index) -> i8
  return
}
// -----
func.func @insert(%x: f32, %v: vector<4xf32>) -> vector<4xf32> {
  %0 = vector.insert %x, %v[2] : f32 into vector<4xf32>
  return %0 : vector<4xf32>
}
// -----
func.func @insert(%x: f32, %p: vector<4xf32>, %v: vector<2x3x4xf32>, %z: vector<f32>, %i: index) {
  %0 = vector.insert %p, %v[1, 2] : vector<4xf32> into vector<2x3x4xf32>
  %1 = vector.insert %x, %v[%i, 0, %i] : f32 into vector<2x3x4xf32>
  %2 = vector.insert %x, %z[] : f32 into vector<f32>
  %3 = vector.insert %v, %v[] {keep.a} : vector<2x3x4xf32> into vector<2x3x4xf32>
  return
}
// -----
// Generic form.
func.func @insert(%x: i8, %v: vector<2xi8>, %i: index) {
  %0 = "vector.insert"(%x, %v) <{static_position = array<i64: 1>}> : (i8, vector<2xi8>) -> vector<2xi8>
  %1 = "vector.insert"(%x, %v, %i) <{static_position = array<i64: -9223372036854775808>}> : (i8, vector<2xi8>, index) -> vector<2xi8>
  return
}
// -----
func.func @print(%v: vector<4xf32>, %x: i32) {
  vector.print %v : vector<4xf32>
  vector.print %x : i32
  return
}
// -----
// Punctuation of every kind.
func.func @print(%v: vector<4xf32>) {
  vector.print %v : vector<4xf32> punctuation <no_punctuation>
  vector.print %v : vector<4xf32> punctuation <newline>
  vector.print %v : vector<4xf32> punctuation <comma>
  vector.print %v : vector<4xf32> punctuation <open>
  vector.print %v : vector<4xf32> punctuation <close>
  return
}
// -----
// Punctuation alone, and text.
func.func @print() {
  vector.print
  vector.print punctuation <comma>
  vector.print str "hello"
  return
}
// -----
// Attributes.
func.func @print(%x: f64) {
  vector.print %x : f64 {keep.a}
  vector.print punctuation <open> {keep.b = 1 : i8}
  vector.print str "t" {keep.c}
  return
}
// -----
// Generic form.
func.func @print(%v: vector<2x2xi1>) {
  "vector.print"(%v) : (vector<2x2xi1>) -> ()
  "vector.print"() <{punctuation = #vector.punctuation<comma>}> : () -> ()
  "vector.print"() : () -> ()
  return
}
// -----
// Index vectors and masks.
func.func @others(%v: vector<2xindex>, %m: vector<[4]xi1>) {
  vector.print %v : vector<2xindex>
  %0 = vector.extract %v[0] : index from vector<2xindex>
  %1 = vector.extract %m[0] : i1 from vector<[4]xi1>
  return
}
// -----
// Vectors of every narrow float.
func.func @narrow(%a: vector<4xf4E2M1FN>, %b: f8E8M0FNU, %c: bf16) {
  %0 = vector.extract %a[3] : f4E2M1FN from vector<4xf4E2M1FN>
  %1 = vector.broadcast %b : f8E8M0FNU to vector<2xf8E8M0FNU>
  %3 = arith.constant dense<1.0> : vector<2x2xbf16>
  %2 = vector.insert %c, %3[0, 1] : bf16 into vector<2x2xbf16>
  return
}
// -----
// Nothing to print, then results of each shape of names.
func.func @print(%a: i8) {
  vector.print punctuation <newline>
  %0 = arith.addi %a, %a : i8
  vector.print punctuation <newline>
  %low, %high = arith.mulsi_extended %0, %a : i8
  vector.print punctuation <newline>
  %1:2 = "keep.pair"() : () -> (i8, i8)
  return
}
// -----
// Parts of another shape but the rank of the place, and shaped values for an element.
func.func @insert(%v: vector<2x4xf32>, %a: vector<3xf32>, %b: vector<5x3xf32>, %c: vector<[4]xf32>, %t: tensor<4xf32>, %m: memref<?xf32>) {
  %0 = vector.insert %a, %v[0] : vector<3xf32> into vector<2x4xf32>
  %1 = vector.insert %b, %v[] : vector<5x3xf32> into vector<2x4xf32>
  %2 = vector.insert %c, %v[1] : vector<[4]xf32> into vector<2x4xf32>
  %3 = vector.insert %t, %v[1, 1] : tensor<4xf32> into vector<2x4xf32>
  %4 = vector.insert %m, %v[1, 1] : memref<?xf32> into vector<2x4xf32>
  return
}
// -----
// A vector of one element for a scalar, and a scalar for a vector of one element.
func.func @extract(%v: vector<2x4xf32>, %w: vector<2x1xf32>, %x: vector<2x[1]xf32>) {
  %0 = vector.extract %v[0, 0] : vector<1xf32> from vector<2x4xf32>
  %1 = vector.extract %v[0, 0] : vector<[1]xf32> from vector<2x4xf32>
  %2 = vector.extract %w[0] : f32 from vector<2x1xf32>
  %3 = vector.extract %x[0] : f32 from vector<2x[1]xf32>
  return
}
// -----
// Accesses to memory, with each property and without.
func.func @access(%m: memref<8x8xf32>, %i: index, %v: vector<4xf32>, %w: vector<2x[4]xf32>, %r: memref<f32>, %z: vector<f32>) {
  %0 = vector.load %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  %1 = vector.load %m[%i, %i] {nontemporal = true, alignment = 16} : memref<8x8xf32>, vector<2x4xf32>
  %2 = vector.load %m[%i, %i] {some.word} : memref<8x8xf32>, vector<2x[4]xf32>
  %3 = vector.load %r[] : memref<f32>, vector<f32>
  vector.store %v, %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  vector.store %w, %m[%i, %i] {some.word, nontemporal = true} : memref<8x8xf32>, vector<2x[4]xf32>
  vector.store %z, %r[] {alignment = 1} : memref<f32>, vector<f32>
  return
}
// -----
// The same in the generic form; one element needs no unit stride.
"builtin.module"() ({
  "func.func"() <{function_type = (memref<4xf16, strided<[2], offset: ?>>, index) -> (), sym_name = "access"}> ({
  ^bb0(%m: memref<4xf16, strided<[2], offset: ?>>, %i: index):
    %0 = "vector.load"(%m, %i) <{alignment = 2 : i64, nontemporal = true}> : (memref<4xf16, strided<[2], offset: ?>>, index) -> vector<1xf16>
    %1 = "vector.load"(%m, %i) <{nontemporal = true}> : (memref<4xf16, strided<[2], offset: ?>>, index) -> vector<1xf16>
    "vector.store"(%1, %m, %i) {other} : (vector<1xf16>, memref<4xf16, strided<[2], offset: ?>>, index) -> ()
    "vector.store"(%1, %m, %i) <{alignment = 64 : i64}> : (vector<1xf16>, memref<4xf16, strided<[2], offset: ?>>, index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
// Memory whose elements are vectors.
func.func @vectors(%m: memref<2xvector<4xf32>>, %i: index) {
  %0 = vector.load %m[%i] : memref<2xvector<4xf32>>, vector<4xf32>
  vector.store %0, %m[%i] : memref<2xvector<4xf32>>, vector<4xf32>
  return
}
