func.func @masks(%i: index, %j: index) {
  %0 = vector.create_mask %i, %j : vector<4x8xi1>
  %1 = vector.create_mask %i : vector<[4]xi1>
  %2 = vector.create_mask %i : vector<i1>
  %3 = vector.create_mask %i {keep.a} : vector<3xi1>
  %4 = vector.constant_mask [2, 3] : vector<4x8xi1>
  %5 = vector.constant_mask [0] : vector<i1>
  %6 = vector.constant_mask [4] {keep.a} : vector<[4]xi1>
  %7 = "vector.create_mask"(%i) : (index) -> vector<2xi1>
  %8 = "vector.constant_mask"() <{mask_dim_sizes = array<i64: 0, 0>}> : () -> vector<2x2xi1>
  return
}
// -----
// Ops under a mask.
func.func @masked(%k: vector<8xi1>, %v: vector<8xf32>, %f: f32, %t: tensor<?xf32>, %m: memref<?xf32>, %i: index) {
  %0 = vector.mask %k { vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<8xi1> -> f32
  %1 = vector.mask %k, %v { vector.transfer_read %t[%i], %f : tensor<?xf32>, vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  %2 = vector.mask %k {
    %4 = vector.transfer_write %v, %t[%i] : vector<8xf32>, tensor<?xf32>
    vector.yield %4 : tensor<?xf32>
  } : vector<8xi1> -> tensor<?xf32>
  vector.mask %k { vector.transfer_write %v, %m[%i] : vector<8xf32>, memref<?xf32> } : vector<8xi1>
  vector.mask %k { } : vector<8xi1>
  vector.mask %k { vector.yield {keep.a} } {keep.a} : vector<8xi1>
  %3 = vector.mask %k, %v { vector.yield %v : vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  return
}
// -----
// Generic form.
func.func @masked(%k: vector<8xi1>, %v: vector<8xf32>, %t: tensor<?xf32>) {
  %0 = "vector.mask"(%k) ({
    %2 = "vector.reduction"(%v) <{kind = #vector.kind<mul>}> : (vector<8xf32>) -> f32
    "vector.yield"(%2) : (f32) -> ()
  }) : (vector<8xi1>) -> f32
  %1 = "vector.mask"(%k, %v) ({
    "vector.yield"(%v) : (vector<8xf32>) -> ()
  }) : (vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  "vector.mask"(%k) ({
    "vector.yield"() : () -> ()
  }) : (vector<8xi1>) -> ()
  return
}
// -----
// Each op that can be masked.
func.func @maskable(%k: vector<4xi1>, %l: vector<4x4xi1>, %n: vector<4x4x4xi1>, %v: vector<4xf32>, %a: vector<4x4xf32>, %i: vector<4xi32>, %m: memref<?xf32>, %j: index) {
  %0 = vector.mask %l { vector.multi_reduction <add>, %a, %v [0] : vector<4x4xf32> to vector<4xf32> } : vector<4x4xi1> -> vector<4xf32>
  %1 = vector.mask %l { vector.outerproduct %v, %v, %a {kind = #vector.kind<add>} : vector<4xf32>, vector<4xf32> } : vector<4x4xi1> -> vector<4x4xf32>
  %2 = vector.mask %k { vector.gather %m[%j] [%i], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  %3 = vector.mask %n { vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %a, %a : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32> } : vector<4x4x4xi1> -> vector<4x4xf32>
  return
}
