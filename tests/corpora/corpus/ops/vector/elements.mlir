// Ops that only move elements.
func.func @moves(%a: vector<4x8xf32>, %v: vector<8xf32>, %z: vector<f32>, %f: f32, %s: vector<2x[4]xi8>) {
  %0 = vector.bitcast %a : vector<4x8xf32> to vector<4x16xf16>
  %1 = vector.bitcast %z : vector<f32> to vector<i32>
  %2 = vector.shape_cast %a : vector<4x8xf32> to vector<2x1x16xf32>
  %3 = vector.shape_cast %s : vector<2x[4]xi8> to vector<[8]xi8>
  %4 = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  %5 = vector.transpose %z, [] : vector<f32> to vector<f32>
  %6 = vector.shuffle %v, %v [0, 15, -1] : vector<8xf32>, vector<8xf32>
  %7 = vector.shuffle %z, %z [1, 0] : vector<f32>, vector<f32>
  %8 = vector.interleave %v, %v : vector<8xf32> -> vector<16xf32>
  %9 = vector.interleave %z, %z : vector<f32> -> vector<2xf32>
  %10, %11 = vector.deinterleave %v : vector<8xf32> -> vector<4xf32>
  %12 = vector.extract_strided_slice %a {offsets = [1], sizes = [2], strides = [1]} : vector<4x8xf32> to vector<2x8xf32>
  %13 = vector.insert_strided_slice %v, %a {offsets = [3, 0], strides = [1]} : vector<8xf32> into vector<4x8xf32>
  %14 = vector.from_elements %f, %f, %f : vector<3xf32>
  %15 = vector.from_elements %f : vector<f32>
  %16:8 = vector.to_elements %v : vector<8xf32>
  %17 = vector.to_elements %z : vector<f32>
  %18 = vector.step : vector<4xindex>
  %19 = vector.step : vector<[4]xindex>
  return
}
// -----
// The same with attributes.
func.func @attributes(%a: vector<4x8xf32>, %v: vector<8xf32>, %f: f32) {
  %0 = vector.bitcast %a {keep.a} : vector<4x8xf32> to vector<4x16xf16>
  %2 = vector.shape_cast %a {keep.a} : vector<4x8xf32> to vector<32xf32>
  %4 = vector.transpose %a, [1, 0] {keep.a} : vector<4x8xf32> to vector<8x4xf32>
  %6 = vector.shuffle %v, %v [0, 15] {keep.a} : vector<8xf32>, vector<8xf32>
  %8 = vector.interleave %v, %v {keep.a} : vector<8xf32> -> vector<16xf32>
  %10, %11 = vector.deinterleave %v {keep.a} : vector<8xf32> -> vector<4xf32>
  %12 = vector.extract_strided_slice %a {keep.a, offsets = [0, 2], sizes = [2, 2], strides = [1, 1]} : vector<4x8xf32> to vector<2x2xf32>
  %13 = vector.insert_strided_slice %12, %a {keep.a, offsets = [2, 3], strides = [1, 1]} : vector<2x2xf32> into vector<4x8xf32>
  %14 = vector.from_elements %f, %f {keep.a} : vector<2x1xf32>
  %16:8 = vector.to_elements %v {keep.a} : vector<8xf32>
  %18 = vector.step {keep.a} : vector<4xindex>
  return
}
// -----
// Generic form.
func.func @generic(%a: vector<4x8xf32>, %v: vector<8xf32>, %f: f32) {
  %0 = "vector.bitcast"(%a) : (vector<4x8xf32>) -> vector<4x4xf64>
  %2 = "vector.shape_cast"(%a) : (vector<4x8xf32>) -> vector<32xf32>
  %4 = "vector.transpose"(%a) <{permutation = array<i64: 0, 1>}> : (vector<4x8xf32>) -> vector<4x8xf32>
  %6 = "vector.shuffle"(%v, %v) <{mask = array<i64: 7>}> : (vector<8xf32>, vector<8xf32>) -> vector<1xf32>
  %8 = "vector.interleave"(%v, %v) : (vector<8xf32>, vector<8xf32>) -> vector<16xf32>
  %10:2 = "vector.deinterleave"(%v) : (vector<8xf32>) -> (vector<4xf32>, vector<4xf32>)
  %12 = "vector.extract_strided_slice"(%v) <{offsets = [0], sizes = [8], strides = [1]}> : (vector<8xf32>) -> vector<8xf32>
  %13 = "vector.insert_strided_slice"(%v, %v) <{offsets = [0], strides = [1]}> : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  %14 = "vector.from_elements"(%f) : (f32) -> vector<1x1xf32>
  %16:8 = "vector.to_elements"(%v) : (vector<8xf32>) -> (f32, f32, f32, f32, f32, f32, f32, f32)
  %18 = "vector.step"() : () -> vector<1xindex>
  return
}
// -----
// Scalable vectors, and the names of multiples of vscale.
func.func @scalable(%v: vector<[8]xf32>, %c: vector<4xf32>) -> index {
  %0 = vector.scalable.extract %v[0] : vector<4xf32> from vector<[8]xf32>
  %1 = vector.scalable.extract %v[4] {keep.a} : vector<[4]xf32> from vector<[8]xf32>
  %2 = vector.scalable.insert %c, %v[4] : vector<4xf32> into vector<[8]xf32>
  %3 = vector.scalable.insert %1, %v[0] {keep.a} : vector<[4]xf32> into vector<[8]xf32>
  %4 = "vector.scalable.extract"(%v) <{pos = 8}> : (vector<[8]xf32>) -> vector<2xf32>
  %5 = "vector.scalable.insert"(%c, %v) <{pos = 0}> : (vector<4xf32>, vector<[8]xf32>) -> vector<[8]xf32>
  %6 = vector.vscale
  %7 = vector.vscale {keep.a}
  %8 = "vector.vscale"() : () -> index
  %c4 = arith.constant 4 : index
  %9 = arith.muli %6, %c4 : index
  %10 = arith.muli %c4, %7 : index
  %11 = arith.muli %9, %10 : index
  return %11 : index
}
