#m0 = affine_map<(i, j, k) -> (i, k)>
#m1 = affine_map<(i, j, k) -> (k, j)>
#m2 = affine_map<(i, j, k) -> (i, j)>
func.func @newer(%a: vector<2x3xf32>, %b: vector<3x4xf32>, %c: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = vector.contract {fastmath = #arith.fastmath<nnan>, indexing_maps = [#m0, #m1, #m2], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<2x3xf32>, vector<3x4xf32> into vector<2x4xf32>
  return %0 : vector<2x4xf32>
}
// -----
func.func @newer() -> (vector<4xi32>, vector<[4]xi8>) {
  %0 = vector.step : vector<4xi32>
  %1 = vector.step : vector<[4]xi8>
  return %0, %1 : vector<4xi32>, vector<[4]xi8>
}
// -----
func.func @newer(%a: vector<4xf32>) -> f32 {
  %0 = vector.reduction <maximumnumf>, %a : vector<4xf32> into f32
  %1 = vector.reduction <minimumnumf>, %a, %0 : vector<4xf32> into f32
  return %1 : f32
}
// -----
func.func @newer(%m: memref<?xf32>, %i: index, %k: vector<[4]xi1>, %p: vector<[4]xf32>) -> vector<[4]xf32> {
  %0 = vector.expandload %m[%i], %k, %p alignment = 4 : memref<?xf32>, vector<[4]xi1>, vector<[4]xf32> into vector<[4]xf32>
  vector.compressstore %m[%i], %k, %0 alignment = 4 : memref<?xf32>, vector<[4]xi1>, vector<[4]xf32>
  return %0 : vector<[4]xf32>
}
