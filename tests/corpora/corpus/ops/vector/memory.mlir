func.func @accesses(%m: memref<?xf32>, %n: memref<4x?xf32>, %t: tensor<?xf32>, %i: index, %k: vector<8xi1>, %v: vector<8xf32>, %j: vector<8xi32>) {
  %0 = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %1 = vector.expandload %m[%i], %k, %v : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %2 = vector.gather %m[%i] [%j], %k, %v : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %3 = vector.gather %t[%i] [%j], %k, %v : tensor<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %n[%i, %i], %k, %v : memref<4x?xf32>, vector<8xi1>, vector<8xf32>
  vector.compressstore %n[%i, %i], %k, %v : memref<4x?xf32>, vector<8xi1>, vector<8xf32>
  vector.scatter %m[%i] [%j], %k, %v : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  %4 = vector.scatter %t[%i] [%j], %k, %v : tensor<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> -> tensor<?xf32>
  return
}
// -----
// An alignment, and attributes.
func.func @aligned(%m: memref<?xf32>, %i: index, %k: vector<8xi1>, %v: vector<8xf32>, %j: vector<8xi32>) {
  %0 = vector.maskedload %m[%i], %k, %v {alignment = 16 : i64, keep.a} : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %1 = vector.expandload %m[%i], %k, %v {alignment = 4 : i64, keep.a} : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %2 = vector.gather %m[%i] [%j], %k, %v {alignment = 8 : i64, keep.a} : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %m[%i], %k, %v {alignment = 1 : i64, keep.a} : memref<?xf32>, vector<8xi1>, vector<8xf32>
  vector.compressstore %m[%i], %k, %v {alignment = 2 : i64, keep.a} : memref<?xf32>, vector<8xi1>, vector<8xf32>
  vector.scatter %m[%i] [%j], %k, %v {alignment = 32 : i64, keep.a} : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  return
}
// -----
// Generic form.
func.func @generic(%m: memref<?xf32>, %i: index, %k: vector<8xi1>, %v: vector<8xf32>, %j: vector<8xindex>) {
  %0 = "vector.maskedload"(%m, %i, %k, %v) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  %1 = "vector.expandload"(%m, %i, %k, %v) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  %2 = "vector.gather"(%m, %i, %j, %k, %v) : (memref<?xf32>, index, vector<8xindex>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  "vector.maskedstore"(%m, %i, %k, %v) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> ()
  "vector.compressstore"(%m, %i, %k, %v) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> ()
  "vector.scatter"(%m, %i, %j, %k, %v) : (memref<?xf32>, index, vector<8xindex>, vector<8xi1>, vector<8xf32>) -> ()
  return
}
// -----
func.func @load_store(%m: memref<?xf32>, %i: index, %s: memref<4x3xf32>) {
  %0 = vector.load %m[%i] : memref<?xf32>, vector<8xf32>
  %1 = vector.load %m[%i] {alignment = 8 : i64, keep.a, nontemporal = true} : memref<?xf32>, vector<8xf32>
  %2 = "vector.load"(%m, %i) : (memref<?xf32>, index) -> vector<1xf32>
  vector.store %0, %m[%i] : memref<?xf32>, vector<8xf32>
  vector.store %0, %m[%i] {alignment = 8 : i64, keep.a, nontemporal = true} : memref<?xf32>, vector<8xf32>
  "vector.store"(%0, %m, %i) : (vector<8xf32>, memref<?xf32>, index) -> ()
  %3 = vector.type_cast %s : memref<4x3xf32> to memref<vector<4x3xf32>>
  %4 = vector.type_cast %s {keep.a} : memref<4x3xf32> to memref<4xvector<3xf32>>
  %5 = "vector.type_cast"(%s) : (memref<4x3xf32>) -> memref<vector<4x3xf32>>
  return
}
// -----
// Transfers: maps that are written and maps that are not, bounds, masks.
func.func @transfers(%m: memref<?x?xf32>, %t: tensor<?x?xf32>, %z: tensor<f32>, %i: index, %f: f32, %k: vector<8xi1>, %l: vector<4x8xi1>) -> tensor<?x?xf32> {
  %0 = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, vector<4x8xf32>
  %1 = vector.transfer_read %m[%i, %i], %f {in_bounds = [true, false]} : memref<?x?xf32>, vector<4x8xf32>
  %2 = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<?x?xf32>, vector<4x8xf32>
  %3 = vector.transfer_read %t[%i, %i], %f, %k {in_bounds = [false, true], keep.a, permutation_map = affine_map<(d0, d1) -> (d0, 0)>} : tensor<?x?xf32>, vector<8x4xf32>
  %4 = vector.transfer_read %m[%i, %i], %f, %l : memref<?x?xf32>, vector<4x8xf32>
  %5 = vector.transfer_read %z[], %f : tensor<f32>, vector<f32>
  %6 = vector.transfer_read %z[], %f {permutation_map = affine_map<() -> (0)>} : tensor<f32>, vector<1xf32>
  vector.transfer_write %0, %m[%i, %i] : vector<4x8xf32>, memref<?x?xf32>
  vector.transfer_write %0, %m[%i, %i], %l {in_bounds = [true, true], keep.a} : vector<4x8xf32>, memref<?x?xf32>
  %7 = vector.transfer_write %0, %t[%i, %i] {permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<4x8xf32>, tensor<?x?xf32>
  return %7 : tensor<?x?xf32>
}
// -----
// Generic form; vectors in memory.
func.func @transfers(%m: memref<?x?xf32>, %t: tensor<?xf32>, %v: memref<?x?xvector<4x3xf32>>, %i: index, %f: f32, %p: vector<4x3xf32>) {
  %0 = "vector.transfer_read"(%m, %i, %i, %f) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = affine_map<(d0, d1) -> (d0)>}> : (memref<?x?xf32>, index, index, f32) -> vector<4xf32>
  "vector.transfer_write"(%0, %m, %i, %i) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 1, 2, 0>, permutation_map = affine_map<(d0, d1) -> (d1)>}> : (vector<4xf32>, memref<?x?xf32>, index, index) -> ()
  %1 = "vector.transfer_write"(%0, %t, %i) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 1, 1, 0>, permutation_map = affine_map<(d0) -> (d0)>}> : (vector<4xf32>, tensor<?xf32>, index) -> tensor<?xf32>
  %2 = vector.transfer_read %v[%i, %i], %p : memref<?x?xvector<4x3xf32>>, vector<1x1x4x3xf32>
  vector.transfer_write %2, %v[%i, %i] : vector<1x1x4x3xf32>, memref<?x?xvector<4x3xf32>>
  return
}
// -----
// Memory of rank zero.
func.func @scalar(%m: memref<f32>, %k: vector<1xi1>, %v: vector<1xf32>, %z: vector<f32>, %j: vector<1xi32>) {
  %0 = vector.maskedload %m[], %k, %v : memref<f32>, vector<1xi1>, vector<1xf32> into vector<1xf32>
  %1 = vector.expandload %m[], %k, %v : memref<f32>, vector<1xi1>, vector<1xf32> into vector<1xf32>
  %2 = vector.gather %m[] [%j], %k, %v : memref<f32>, vector<1xi32>, vector<1xi1>, vector<1xf32> into vector<1xf32>
  vector.maskedstore %m[], %k, %v : memref<f32>, vector<1xi1>, vector<1xf32>
  vector.compressstore %m[], %k, %v : memref<f32>, vector<1xi1>, vector<1xf32>
  vector.scatter %m[] [%j], %k, %v : memref<f32>, vector<1xi32>, vector<1xi1>, vector<1xf32>
  vector.transfer_write %z, %m[] : vector<f32>, memref<f32>
  return
}
