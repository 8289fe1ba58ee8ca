func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i], %f : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, f32
  return
}
// -----
func.func @f(%f: f32, %i: index, %v: vector<4xf32>) {
  %0 = vector.transfer_read %v[%i], %f : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, vector<2x2x2xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0) -> (d0)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d0 + d1)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (3)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d1, d1)>} : memref<?x?xf32>, vector<4x4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1)[s0] -> (d1)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {in_bounds = [true, true]} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = vector.transfer_read %m[%i, %i], %f {in_bounds = [1]} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index, %k: vector<4xi1>) {
  %0 = vector.transfer_read %m[%i, %i], %f, %k {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<?x?xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index, %k: vector<4xi1>) {
  %0 = "vector.transfer_read"(%m, %i, %i, %f, %k) <{in_bounds = [false, false], operandSegmentSizes = array<i32: 1, 2, 1, 1>, permutation_map = affine_map<(d0, d1) -> (d0, d1)>}> : (memref<?x?xf32>, index, index, f32, vector<4xi1>) -> vector<4x4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %d: f64, %i: index) {
  %0 = "vector.transfer_read"(%m, %i, %i, %d) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = affine_map<(d0, d1) -> (d0)>}> : (memref<?x?xf32>, index, index, f64) -> vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  %0 = "vector.transfer_read"(%m, %i, %i, %f) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = affine_map<(d0, d1) -> (d0)>}> : (memref<?x?xf32>, index, index, f32) -> vector<3xi8>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %f: f32, %i: index) {
  vector.transfer_write %f, %m[%i, %i] : f32, memref<?x?xf32>
  return
}
// -----
func.func @f(%i: index, %v: vector<4xf32>) {
  vector.transfer_write %v, %v[%i] : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %i: index, %v: vector<4xf32>) {
  vector.transfer_write %v, %m[%i, %i] {permutation_map = affine_map<(d0, d1) -> (0)>} : vector<4xf32>, memref<?x?xf32>
  return
}
// -----
func.func @f(%m: memref<?x?xf32>, %i: index, %v: vector<4xf32>) {
  vector.transfer_write %v, %m[%i] : vector<4xf32>, memref<?x?xf32>
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["serial"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = []} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} %v, %v, %v : vector<4xf32>, vector<4xf32> into vector<4xf32>
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>, %w: vector<8xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %v, %w, %f : vector<4xf32>, vector<8xf32> into f32
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>, %b: vector<8x8xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} %a, %b, %v : vector<4x8xf32>, vector<8x8xf32> into vector<4xf32>
  return
}
// -----
func.func @f(%w: vector<8xf32>, %a: vector<4x8xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} %a, %w, %w : vector<4x8xf32>, vector<8xf32> into vector<8xf32>
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<and>} %v, %v, %f : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shape_cast %v : vector<4xf32> to vector<5xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shape_cast %v : vector<4xf32> to vector<4xi32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shape_cast %v : vector<4xf32> to vector<[4]xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.transpose %a, [1, 2] : vector<4x8xf32> to vector<8x4xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.transpose %a, [1, 1] : vector<4x8xf32> to vector<8x8xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.transpose %a, [0] : vector<4x8xf32> to vector<8x4xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<4x8xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<32xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shuffle %v, %v [0, 8] : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shuffle %v, %v [] : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.shuffle %v, %a [0] : vector<4xf32>, vector<4x8xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>, %b: vector<8x4xf32>) {
  %0 = vector.shuffle %a, %b [0] : vector<4x8xf32>, vector<8x4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [2], sizes = [3], strides = [1]} : vector<4xf32> to vector<3xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [4], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [5], strides = [1]} : vector<4xf32> to vector<5xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [2], strides = [2]} : vector<4xf32> to vector<2xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [2, 1], strides = [1]} : vector<4xf32> to vector<2xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [2, 1], strides = [1, 1]} : vector<4xf32> to vector<2xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<3xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.insert_strided_slice %v, %a {offsets = [0, 5], strides = [1]} : vector<4xf32> into vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.insert_strided_slice %v, %a {offsets = [0], strides = [1]} : vector<4xf32> into vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.insert_strided_slice %v, %a {offsets = [4, 0], strides = [1]} : vector<4xf32> into vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.insert_strided_slice %v, %a {offsets = [0, 0], strides = [1, 1]} : vector<4xf32> into vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.insert_strided_slice %a, %v {offsets = [0], strides = [1, 1]} : vector<4x8xf32> into vector<4xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0 = vector.reduction <add>, %a : vector<4x8xf32> into f32
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.reduction <or>, %v : vector<4xf32> into f32
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.multi_reduction <add>, %a, %v [0] : vector<4x8xf32> to vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0:2 = vector.scan <add>, %a, %v {inclusive = true, reduction_dim = 2} : vector<4x8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0:2 = vector.scan <add>, %a, %v {inclusive = true, reduction_dim = 0} : vector<4x8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%a: vector<4x8xf32>) {
  %0:2 = vector.scan <add>, %a, %a {inclusive = true, reduction_dim = 0} : vector<4x8xf32>, vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0:2 = vector.scan <or>, %a, %v {inclusive = true, reduction_dim = 1} : vector<4x8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.outerproduct %v : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = vector.outerproduct %f, %v : f32, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.outerproduct %a, %v : vector<4x8xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %a: vector<4x8xf32>) {
  %0 = vector.outerproduct %v, %a : vector<4xf32>, vector<4x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.outerproduct %v, %v {kind = #vector.kind<or>} : vector<4xf32>, vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %w: vector<8xf32>) {
  %0 = "vector.outerproduct"(%v, %w) : (vector<4xf32>, vector<8xf32>) -> vector<4x4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %w: vector<8xf32>) {
  %0 = "vector.outerproduct"(%v, %w) : (vector<4xf32>, vector<8xf32>) -> vector<8x8xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %w: vector<8xf32>) {
  %0 = "vector.outerproduct"(%v, %w) : (vector<4xf32>, vector<8xf32>) -> vector<8xf32>
  return
}
// -----
func.func @f(%f: f32, %v: vector<4xf32>) {
  %0 = "vector.outerproduct"(%v, %f) : (vector<4xf32>, f32) -> vector<4x4xf32>
  return
}
// -----
func.func @f(%i: index) {
  %0 = vector.create_mask %i : vector<4x8xi1>
  return
}
// -----
func.func @f(%i: index) {
  %0 = vector.create_mask %i, %i : vector<i1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [0, 2] : vector<4x8xi1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [5] : vector<4xi1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [1, 1] : vector<4xi1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [2] : vector<i1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [1, 1] : vector<i1>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [2] : vector<[4]xi1>
  return
}
// -----
func.func @f(%f: f32) {
  %0 = vector.from_elements %f : vector<2xf32>
  return
}
// -----
func.func @f(%f: f32) {
  %0 = vector.from_elements %f, %f : vector<[2]xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>) {
  %0 = vector.deinterleave %v : vector<4xf32> -> vector<4xf32>
  return
}
// -----
func.func @f(%odd: vector<3xf32>) {
  %0, %1 = vector.deinterleave %odd : vector<3xf32> -> vector<1xf32>
  return
}
// -----
func.func @f(%s: vector<[8]xf32>) {
  %0 = vector.scalable.extract %s[3] : vector<2xf32> from vector<[8]xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %s: vector<[8]xf32>) {
  %0 = vector.scalable.insert %v, %s[3] : vector<4xf32> into vector<[8]xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %k: vector<4xi1>) {
  %0 = vector.mask %k { %1 = arith.addf %v, %v : vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
// -----
func.func @f(%v: vector<4xf32>, %k: vector<4xi1>) {
  %0 = vector.mask %k, %v { %1 = vector.reduction <add>, %v : vector<4xf32> into f32 } : vector<4xi1> -> f32
  return
}
// -----
func.func @f(%v: vector<4xf32>, %k: vector<4xi1>) {
  vector.mask %k, %v { } : vector<4xi1>
  return
}
// -----
func.func @f(%w: vector<8xf32>, %k: vector<4xi1>) {
  %0 = vector.mask %k { vector.reduction <add>, %w : vector<8xf32> into f32 } : vector<4xi1> -> f32
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.interleave"(%a, %a) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  return
}
// -----
func.func @f(%a: vector<4xf32>, %b: vector<2xf32>)) {
  %0 = "vector.interleave"(%a, %b) : (vector<4xf32>, vector<2xf32>) -> vector<8xf32>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.fma"(%a, %a, %a) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<8xf32>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.insert_strided_slice"(%a, %a) <{offsets=[0], strides=[1]}> : (vector<4xf32>, vector<4xf32>) -> vector<8xf32>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.insert_strided_slice"(%a, %a) <{offsets=[0], strides=[1]}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf16>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.extract_strided_slice"(%a) <{offsets=[0], sizes=[4], strides=[1]}> : (vector<4xf32>) -> vector<4xf16>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.extract_strided_slice"(%a) <{offsets=[0:i32], sizes=[4], strides=[1]}> : (vector<4xf32>) -> vector<4xf16>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.shape_cast"(%a) : (vector<4xf32>) -> f32
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.transpose"(%a) <{permutation=array<i64:0>}> : (vector<4xf32>) -> vector<4xf16>
  return
}
// -----
func.func @f(%a: vector<4xf32>)) {
  %0 = "vector.transpose"(%a) <{permutation=array<i32:0>}> : (vector<4xf32>) -> vector<4xf32>
  return
}
// -----
func.func @f(%a: vector<4xf32>, %f: f32)) {
  %0 = "vector.multi_reduction"(%a, %f) <{kind=#vector.kind<add>,reduction_dims=array<i64:0>}> : (vector<4xf32>,f32) -> f64
  return
}
// -----
func.func @f(%a: vector<4xf32>, %f: f64)) {
  %0 = "vector.multi_reduction"(%a, %f) <{kind=#vector.kind<add>,reduction_dims=array<i64:0>}> : (vector<4xf32>,f64) -> f64
  return
}
// -----
func.func @f(%a: vector<4xf32>, %f: f32)) {
  %0 = "vector.multi_reduction"(%a, %f) <{kind=#vector.kind<xor>,reduction_dims=array<i64:0>}> : (vector<4xf32>,f32) -> f32
  return
}
// -----
func.func @f(%a: vector<4xf32>, %f: f32)) {
  %0 = "vector.reduction"(%a, %f) <{kind=#vector.kind<xor>}> : (vector<4xf32>,f32) -> f32
  return
}
// -----
func.func @f(%a: vector<4xf32>, %f: f64)) {
  %0 = "vector.reduction"(%a, %f) <{kind=#vector.kind<add>}> : (vector<4xf32>,f64) -> f32
  return
}
// -----
func.func @f(%a: vector<4xf32>) {
  %0 = "vector.reduction"(%a) : (vector<4xf32>) -> f32
  return
}
// -----
func.func @f(%a: vector<4x4xf32>, %f: vector<4xf32>)) {
  %0:2 = "vector.scan"(%a, %f) <{inclusive=true,reduction_dim=0, kind=#vector.kind<add>}> : (vector<4x4xf32>, vector<4xf32>) -> (vector<4x4xf32>, vector<5xf32>)
  return
}
// -----
func.func @f(%a: vector<4x4xf32>, %f: vector<4xf32>)) {
  %0:2 = "vector.scan"(%a, %f) <{inclusive=true,reduction_dim=0, kind=#vector.kind<add>}> : (vector<4x4xf32>, vector<4xf32>) -> (vector<4x5xf32>, vector<4xf32>)
  return
}
// -----
func.func @f(%a: vector<4x4xf32>, %f: vector<4xf32>)) {
  %0:2 = "vector.scan"(%a, %f) <{inclusive=true,reduction_dim=-1, kind=#vector.kind<add>}> : (vector<4x4xf32>, vector<4xf32>) -> (vector<4x4xf32>, vector<4xf32>)
  return
}
// -----
func.func @f(%f: vector<4xf32>)) {
  %0 = "vector.outerproduct"(%f, %f) : (vector<4xf32>, vector<4xf32>) -> (vector<4x4xf16>)
  return
}
// -----
func.func @f(%f: vector<4xf16>, %g: vector<4xf32>)) {
  %0 = "vector.outerproduct"(%g, %f) : (vector<4xf32>, vector<4xf16>) -> (vector<4x4xf32>)
  return
}
// -----
func.func @f(%f: vector<4xf16>, %g: vector<4xf32>)) {
  %0 = "vector.shuffle"(%g, %f) <{mask=array<i64:0>}> : (vector<4xf32>, vector<4xf16>) -> (vector<1xf32>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.shuffle"(%g, %g) <{mask=array<i64:0>}> : (vector<4xf32>, vector<4xf32>) -> (vector<1xf16>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.shuffle"(%g, %g) <{mask=array<i64:0>}> : (vector<4xf32>, vector<4xf32>) -> (vector<2xf32>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0:2 = "vector.deinterleave"(%g) : (vector<4xf32>) -> (vector<2xf16>, vector<2xf16>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.scalable.extract"(%g) <{pos=0}> : (vector<4xf32>) -> (vector<2xf32>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>) {
  %0 = "vector.scalable.extract"(%a) <{pos=0}> : (vector<[4]xf32>) -> (vector<2xf16>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>) {
  %0 = "vector.scalable.extract"(%a) <{pos=0}> : (vector<[4]xf32>) -> (vector<2x2xf32>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>, %f: vector<4xf16>) {
  %0 = "vector.scalable.insert"(%f, %a) <{pos=0}> : (vector<4xf16>, vector<[4]xf32>) -> (vector<[4]xf32>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>, %g: vector<4xf32>)) {
  %0 = "vector.scalable.insert"(%g, %a) <{pos=0}> : (vector<4xf32>, vector<[4]xf32>) -> (vector<[8]xf32>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %g) <{indexing_maps=3, iterator_types=4}> : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %g) <{indexing_maps=[], iterator_types=[3]}> : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%f: vector<4xf16>, %g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %f, %g) <{indexing_maps=[], iterator_types=[]}> : (vector<4xf32>, vector<4xf16>, vector<4xf32>) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %g) <{indexing_maps=[], iterator_types=[]}> : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> (vector<4xf16>)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %g) <{indexing_maps=[], iterator_types=[], kind = 3}> : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>, %g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %a) <{indexing_maps=[], iterator_types=[]}> : (vector<4xf32>, vector<4xf32>, vector<[4]xf32>) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%f: memref<4xf16>, %g: vector<4xf32>)) {
  %0 = "vector.contract"(%g, %g, %f) <{indexing_maps=[], iterator_types=[]}> : (vector<4xf32>, vector<4xf32>, memref<4xf16>) -> (memref<4xf16>)
  return
}
// -----
func.func @f(%f: memref<4xf16>) {
  %0 = "vector.type_cast"(%f) : (memref<4xf16>) -> (memref<vector<5xf16>>)
  return
}
// -----
func.func @f(%f: memref<4xf16>) {
  %0 = "vector.type_cast"(%f) : (memref<4xf16>) -> (memref<vector<4xf32>>)
  return
}
// -----
func.func @f(%f: memref<?xf16>) {
  %0 = "vector.type_cast"(%f) : (memref<?xf16>) -> (memref<vector<4xf16>>)
  return
}
// -----
func.func @f(%f: memref<4xf16>) {
  %0 = "vector.type_cast"(%f) : (memref<4xf16>) -> (memref<vector<4xf16>, 3>)
  return
}
// -----
func.func @f(%f: memref<4xf16>) {
  %0 = "vector.type_cast"(%f) : (memref<4xf16>) -> (memref<4xf16, strided<[2]>>)
  return
}
// -----
func.func @f(%a: vector<[4]xf32>) {
  %0 = "vector.create_mask"(%a) : (vector<[4]xf32>) -> (vector<4xi1>)
  return
}
// -----
func.func @f() {
  %0 = "vector.create_mask"() : () -> (vector<4xi2>)
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<4xf32>, %i: index, %m: vector<4xi1>)) {
  "vector.maskedstore"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<4xi1>, vector<4xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<5xf32>, %i: index, %m: vector<4xi1>)) {
  "vector.maskedstore"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<4xi1>, vector<5xf32>) -> ()
  return
}
// -----
func.func @f(%f: tensor<4xf32>, %g: vector<4xf32>, %i: index, %m: vector<4xi1>)) {
  "vector.maskedstore"(%f, %i, %m, %g) : (tensor<4xf32>, index, vector<4xi1>, vector<4xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<f32>, %i: index, %m: vector<i1>)) {
  "vector.maskedstore"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<i1>, vector<f32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<f32>, %i: index, %m: vector<i1>)) {
  %0 = "vector.maskedload"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<i1>, vector<f32>) -> (vector<f32>)
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<f32>, %i: index, %m: vector<i1>)) {
  %0 = "vector.expandload"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<i1>, vector<f32>) -> (vector<f32>)
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<f32>, %i: index, %m: vector<1xi1>)) {
  %0 = "vector.expandload"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<1xi1>, vector<f32>) -> (vector<f32>)
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<f32>, %i: index, %m: vector<1xi1>)) {
  "vector.compressstore"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<1xi1>, vector<f32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<[1]xf32>, %i: index, %m: vector<1xi1>)) {
  "vector.compressstore"(%f, %i, %m, %g) : (memref<4xf32>, index, vector<1xi1>, vector<[1]xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4x4xf32>, %g: vector<2x2xf32>, %i: index, %m: vector<2x2xi1>)) {
  "vector.compressstore"(%f, %i, %i, %m, %g) : (memref<4x4xf32>, index, index, vector<2x2xi1>, vector<2x2xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4x4xf32>, %g: vector<2x2xf32>, %i: index, %m: vector<2x2xi1>)) {
  "vector.maskedstore"(%f, %i, %i, %m, %g) : (memref<4x4xf32>, index, index, vector<2x2xi1>, vector<2x2xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4x4xf32>, %g: vector<f32>, %i: index, %m: vector<i1>)) {
  "vector.scatter"(%f, %i, %i, %m, %m, %g) : (memref<4x4xf32>, index, index, vector<i1>, vector<i1>, vector<f32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4x4xf32>, %g: vector<1xf32>, %i: index, %m: vector<1xf32>)) {
  "vector.scatter"(%f, %i, %i, %m, %m, %g) : (memref<4x4xf32>, index, index, vector<1xf32>, vector<1xf32>, vector<1xf32>) -> ()
  return
}
// -----
func.func @f(%f: tensor<4x4xf32>, %g: vector<1xf32>, %i: index, %v: vector<1xi32>, %m: vector<1xi1>)) {
  "vector.scatter"(%f, %i, %i, %v, %m, %g) : (tensor<4x4xf32>, index, index, vector<1xi32>, vector<1xi1>, vector<1xf32>) -> ()
  return
}
// -----
func.func @f(%f: tensor<4x4xf32>, %g: vector<1xf32>, %i: index, %v: vector<1xi32>, %m: vector<1xi1>)) {
  %0 = "vector.scatter"(%f, %i, %i, %v, %m, %g) : (tensor<4x4xf32>, index, index, vector<1xi32>, vector<1xi1>, vector<1xf32>) -> (tensor<4x4xf32>)
  return
}
// -----
func.func @f(%f: tensor<4x4xf32>, %g: vector<1xf32>, %i: index, %v: vector<1xi32>, %m: vector<1xi1>)) {
  %0 = "vector.gather"(%f, %i, %i, %v, %m, %g) : (tensor<4x4xf32>, index, index, vector<1xi32>, vector<1xi1>, vector<1xf32>) -> (vector<2xf32>)
  return
}
// -----
func.func @f(%f: memref<4x4xf32, strided<[8,2]>>, %g: vector<1xf32>, %i: index, %v: vector<1xi32>, %m: vector<1xi1>)) {
  %0 = "vector.gather"(%f, %i, %i, %v, %m, %g) : (memref<4x4xf32, strided<[8,2]>>, index, index, vector<1xi32>, vector<1xi1>, vector<1xf32>) -> (vector<1xf32>) "vector.maskedstore"(%f, %i, %i, %m, %g) : (memref<4x4xf32, strided<[8,2]>>, index, index, vector<1xi1>, vector<1xf32>) -> ()
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<4xf32>, %i: index, %m: vector<4xi1>)) {
  "vector.maskedstore"(%f, %i, %m, %g) <{alignment = 3 : i64}> : (memref<4xf32>, index, vector<4xi1>, vector<4xf32>) -> ()
  return
}
// -----
func.func @f(%m: vector<4xi1>)) {
  %0 = "vector.mask"(%m) ({}) : (vector<4xi1>) -> (i32)
  return
}
// -----
func.func @f(%m: vector<4xi1>)) {
  %0 = "vector.mask"(%m) ({ "vector.yield"() : () -> () }) : (vector<4xi1>) -> (i32)
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<4xf32>, %i: index, %m: vector<4xi1>)) {
  vector.mask %m { vector.gather %f[%i][%g], %m, %g : memref<4xf32>, vector<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
// -----
func.func @f(%f: memref<4xf32>, %g: vector<4xf32>, %v: vector<4xi32>, %i: index, %m: vector<4xi1>)) {
  vector.mask %m { vector.gather %f[%i][%v], %m, %g : memref<4xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
// -----
func.func @f(%g: vector<4xf32>, %m: vector<4x4xi1>)) {
  vector.mask %m { vector.outerproduct %g, %g : vector<4xf32>, vector<4xf32> } : vector<4x4xi1> -> vector<4x4xf32>
  return
}
// -----
func.func @f(%g: vector<4xf32>, %x: vector<4x4xf32>, %m: vector<4x4xi1>)) {
  vector.mask %m, %x { vector.outerproduct %g, %g : vector<4xf32>, vector<4xf32> } : vector<4x4xi1> -> vector<4x4xf32>
  return
}
// -----
func.func @f(%f: memref<4xf32>, %i: index, %m: vector<4xi1>)) {
  vector.mask %m { vector.load %f[%i] : memref<4xf32>, vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
// -----
func.func @f(%g: vector<4xf32>, %x: vector<4x4xf32>, %m: vector<4xi1>)) {
  %0 = vector.mask %m { %1 = vector.multi_reduction <add>, %x, %g [0] : vector<4x4xf32> to vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
// -----
func.func @f(%g: vector<4xf32>, %x: vector<4x4xf32>, %m: vector<4x4xi1>)) {
  %0:2 = vector.mask %m { %1:2 = vector.scan <add>, %x, %g {inclusive = true, reduction_dim = 1} : vector<4x4xf32>, vector<4xf32> } : vector<4x4xi1> -> (vector<4x4xf32>, vector<4xf32>)
  return
}
// -----
func.func @f(%m: vector<1xi1>, %v: vector<i32>)) {
  %0 = vector.mask %m { vector.reduction <add>, %v : vector<i32> into i32 } : vector<1xi1> -> i32
  return
}
// -----
func.func @f(%g: vector<4xf32>, %s: f32, %m: vector<1xi1>) {
  %0 = vector.mask %m, %s { vector.reduction <add>, %g : vector<4xf32> into f32 } : vector<4xi1> -> f32
  return
}
// -----
func.func @f(%g: vector<4xcomplex<f32>>)) {
  %0 = vector.bitcast %g : vector<4xcomplex<f32>> to vector<8xf32>
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0:2 = "vector.to_elements"(%g) : (vector<4xf32>) -> (f32, f32)
  return
}
// -----
func.func @f(%g: vector<4xf32>)) {
  %0:4 = "vector.to_elements"(%g) : (vector<4xf32>) -> (f32, f32, i32, f32)
  return
}
// -----
func.func @f(%g: f32)) {
  %0 = "vector.from_elements"(%g) : (f32) -> (vector<4xf32>)
  return
}
// -----
func.func @f(%g: f32)) {
  %0 = "vector.from_elements"(%g) : (f32) -> (vector<1xi32>)
  return
}
// -----
func.func @f(%g: vector<[4]xf32>)) {
  %0 = "vector.to_elements"(%g) : (vector<[4]xf32>) -> (f32)
  return
}
// -----
func.func @f(%g: vector<2x[4]xf32>)) {
  %0 = vector.transpose %g, [1, 0] : vector<2x[4]xf32> to vector<4x2xf32>
  return
}
// -----
func.func @f() {
  %0 = vector.constant_mask [0, 0] : vector<2x[4]xi1> %1 = vector.constant_mask [4] : vector<[4]xi1> %2 = vector.vscale {foo = 1} %3 = "vector.vscale"() : () -> i32
  return
}
