func.func @reductions(%v: vector<8xf32>, %a: vector<4x8xf32>, %w: vector<4xf32>, %f: f32, %i: vector<8xi32>, %s: vector<4x[8]xf32>) {
  %0 = vector.fma %v, %v, %v : vector<8xf32>
  %1 = vector.fma %v, %v, %v {keep.a} : vector<8xf32>
  %2 = vector.reduction <add>, %v : vector<8xf32> into f32
  %3 = vector.reduction <minnumf>, %v, %f : vector<8xf32> into f32
  %4 = vector.reduction <mul>, %v, %f fastmath<reassoc,nnan> {keep.a} : vector<8xf32> into f32
  %5 = vector.reduction <xor>, %i : vector<8xi32> into i32
  %6 = vector.multi_reduction <maximumf>, %a, %w [1] : vector<4x8xf32> to vector<4xf32>
  %7 = vector.multi_reduction <add>, %a, %f {keep.a} [0, 1] : vector<4x8xf32> to f32
  %8 = vector.multi_reduction #vector.kind<add>, %s, %w [1] : vector<4x[8]xf32> to vector<4xf32>
  %9:2 = vector.scan <add>, %a, %w {inclusive = true, reduction_dim = 1} : vector<4x8xf32>, vector<4xf32>
  %10:2 = vector.scan <mul>, %a, %w {inclusive = false, keep.a, reduction_dim = 1 : i64} : vector<4x8xf32>, vector<4xf32>
  return
}
// -----
// Every kind.
func.func @kinds(%v: vector<4xf32>, %i: vector<4xi32>) {
  %0 = vector.reduction <add>, %i : vector<4xi32> into i32
  %1 = vector.reduction <mul>, %i : vector<4xi32> into i32
  %2 = vector.reduction <minui>, %i : vector<4xi32> into i32
  %3 = vector.reduction <minsi>, %i : vector<4xi32> into i32
  %4 = vector.reduction <maxui>, %i : vector<4xi32> into i32
  %5 = vector.reduction <maxsi>, %i : vector<4xi32> into i32
  %6 = vector.reduction <and>, %i : vector<4xi32> into i32
  %7 = vector.reduction <or>, %i : vector<4xi32> into i32
  %8 = vector.reduction <minnumf>, %v : vector<4xf32> into f32
  %9 = vector.reduction <maxnumf>, %v : vector<4xf32> into f32
  %10 = vector.reduction <minimumf>, %v : vector<4xf32> into f32
  %11 = vector.reduction <maximumf>, %v : vector<4xf32> into f32
  return
}
// -----
// Products and contractions.
func.func @products(%v: vector<4xf32>, %w: vector<8xf32>, %a: vector<4x8xf32>, %f: f32, %b: vector<8x4xf32>, %c: vector<4x4xf32>) {
  %0 = vector.outerproduct %v, %w : vector<4xf32>, vector<8xf32>
  %1 = vector.outerproduct %v, %w, %a : vector<4xf32>, vector<8xf32>
  %2 = vector.outerproduct %v, %f, %v {keep.a, kind = #vector.kind<maxnumf>} : vector<4xf32>, f32
  %3 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  %4 = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<minimumf>} %v, %v, %f {keep.a} : vector<4xf32>, vector<4xf32> into f32
  return
}
// -----
#trait = {indexing_maps = [affine_map<(i, k) -> (k, i)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
// A trait by its alias; narrow factors; generic form.
func.func @products(%v: vector<4xf16>, %a: vector<4x8xf16>, %w: vector<8xf32>, %x: vector<4x8xf32>, %y: vector<8xf32>, %z: vector<4xf32>) {
  %0 = vector.contract #trait %a, %v, %w : vector<4x8xf16>, vector<4xf16> into vector<8xf32>
  %1 = "vector.contract"(%a, %v, %w) <{indexing_maps = [affine_map<(i, k) -> (k, i)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = [#vector.iterator_type<parallel>, #vector.iterator_type<reduction>]}> : (vector<4x8xf16>, vector<4xf16>, vector<8xf32>) -> vector<8xf32>
  %2 = "vector.outerproduct"(%z, %y) : (vector<4xf32>, vector<8xf32>) -> vector<4x8xf32>
  %3 = "vector.fma"(%y, %y, %y) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  %4 = "vector.reduction"(%y) <{kind = #vector.kind<add>}> : (vector<8xf32>) -> f32
  %5 = "vector.multi_reduction"(%x, %z) <{kind = #vector.kind<add>, reduction_dims = array<i64: 1>}> : (vector<4x8xf32>, vector<4xf32>) -> vector<4xf32>
  %6:2 = "vector.scan"(%x, %z) <{inclusive = true, kind = #vector.kind<add>, reduction_dim = 1 : i64}> : (vector<4x8xf32>, vector<4xf32>) -> (vector<4x8xf32>, vector<4xf32>)
  return
}
