// Containers.
func.func @isfinite(%a: f32, %b: vector<4xf64>, %c: tensor<2x?xf80>, %d: tensor<*xf128>) {
  %0 = math.isfinite %a : f32
  %1 = math.isfinite %b : vector<4xf64>
  %2 = math.isfinite %c {keep.n = 3 : i8} : tensor<2x?xf80>
  %3 = math.isfinite %d : tensor<*xf128>
  return
}
// -----
// Fast-math flags, which stand in the dictionary.
func.func @isfinite(%a: f32, %b: vector<2xf16>) {
  %0 = math.isfinite %a {fastmath = #arith.fastmath<contract>} : f32
  %1 = math.isfinite %a {fastmath = #arith.fastmath<afn>, keep.u} : f32
  %2 = "math.isfinite"(%b) : (vector<2xf16>) -> vector<2xi1>
  %3 = "math.isfinite"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f32) -> i1
  return
}
// -----
// Containers.
func.func @isinf(%a: f4E2M1FN, %b: vector<4xf6E2M3FN>, %c: tensor<2x?xf6E3M2FN>, %d: tensor<*xf8E3M4>) {
  %0 = math.isinf %a : f4E2M1FN
  %1 = math.isinf %b : vector<4xf6E2M3FN>
  %2 = math.isinf %c {keep.n = 3 : i8} : tensor<2x?xf6E3M2FN>
  %3 = math.isinf %d : tensor<*xf8E3M4>
  return
}
// -----
// Fast-math flags, which stand in the dictionary.
func.func @isinf(%a: f32, %b: vector<2xf16>) {
  %0 = math.isinf %a {fastmath = #arith.fastmath<fast>} : f32
  %1 = math.isinf %a {fastmath = #arith.fastmath<nnan,ninf>, keep.u} : f32
  %2 = "math.isinf"(%b) : (vector<2xf16>) -> vector<2xi1>
  %3 = "math.isinf"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f32) -> i1
  return
}
// -----
// Containers.
func.func @isnan(%a: f8E4M3, %b: vector<4xf8E4M3FN>, %c: tensor<2x?xf8E4M3FNUZ>, %d: tensor<*xf8E4M3B11FNUZ>) {
  %0 = math.isnan %a : f8E4M3
  %1 = math.isnan %b : vector<4xf8E4M3FN>
  %2 = math.isnan %c {keep.n = 3 : i8} : tensor<2x?xf8E4M3FNUZ>
  %3 = math.isnan %d : tensor<*xf8E4M3B11FNUZ>
  return
}
// -----
// Fast-math flags, which stand in the dictionary.
func.func @isnan(%a: f32, %b: vector<2xf16>) {
  %0 = math.isnan %a {fastmath = #arith.fastmath<nsz,arcp,afn>} : f32
  %1 = math.isnan %a {fastmath = #arith.fastmath<none>, keep.u} : f32
  %2 = "math.isnan"(%b) : (vector<2xf16>) -> vector<2xi1>
  %3 = "math.isnan"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f32) -> i1
  return
}
// -----
// Containers.
func.func @isnormal(%a: f8E5M2, %b: vector<4xf8E5M2FNUZ>, %c: tensor<2x?xf8E8M0FNU>, %d: tensor<*xbf16>) {
  %0 = math.isnormal %a : f8E5M2
  %1 = math.isnormal %b : vector<4xf8E5M2FNUZ>
  %2 = math.isnormal %c {keep.n = 3 : i8} : tensor<2x?xf8E8M0FNU>
  %3 = math.isnormal %d : tensor<*xbf16>
  return
}
// -----
// Fast-math flags, which stand in the dictionary.
func.func @isnormal(%a: f32, %b: vector<2xf16>) {
  %0 = math.isnormal %a {fastmath = #arith.fastmath<reassoc>} : f32
  %1 = math.isnormal %a {fastmath = #arith.fastmath<nnan>, keep.u} : f32
  %2 = "math.isnormal"(%b) : (vector<2xf16>) -> vector<2xi1>
  %3 = "math.isnormal"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f32) -> i1
  return
}
// -----
// Two results.
func.func @sincos(%a: f16, %b: vector<4xtf32>, %c: tensor<?xf32>) {
  %s, %c0 = math.sincos %a : f16
  %0:2 = math.sincos %b fastmath<afn> : vector<4xtf32>
  %1, %2 = math.sincos %c {keep.n = 3 : i8} : tensor<?xf32>
  %3:2 = "math.sincos"(%a) : (f16) -> (f16, f16)
  return
}
// -----
// A float and an integer.
func.func @fpowi(%a: f32, %n: i32, %b: vector<4xf32>, %m: vector<4xi32>, %c: tensor<?xf32>, %o: tensor<?xi32>) {
  %0 = math.fpowi %a, %n : f32, i32
  %1 = math.fpowi %b, %m fastmath<ninf> : vector<4xf32>, vector<4xi32>
  %2 = math.fpowi %c, %o {keep.u} : tensor<?xf32>, tensor<?xi32>
  %3 = "math.fpowi"(%a, %n) <{fastmath = #arith.fastmath<nsz>}> : (f32, i32) -> f32
  return
}
// -----
// A float and an integer.
func.func @fpowi(%a: bf16, %n: i1, %b: vector<4xbf16>, %m: vector<4xi1>, %c: tensor<?xbf16>, %o: tensor<?xi1>) {
  %0 = math.fpowi %a, %n : bf16, i1
  %1 = math.fpowi %b, %m fastmath<nsz> : vector<4xbf16>, vector<4xi1>
  %2 = math.fpowi %c, %o {keep.u} : tensor<?xbf16>, tensor<?xi1>
  %3 = "math.fpowi"(%a, %n) <{fastmath = #arith.fastmath<nsz>}> : (bf16, i1) -> bf16
  return
}
// -----
// A float and an integer.
func.func @fpowi(%a: f80, %n: index, %b: vector<4xf80>, %m: vector<4xindex>, %c: tensor<?xf80>, %o: tensor<?xindex>) {
  %0 = math.fpowi %a, %n : f80, index
  %1 = math.fpowi %b, %m fastmath<arcp> : vector<4xf80>, vector<4xindex>
  %2 = math.fpowi %c, %o {keep.u} : tensor<?xf80>, tensor<?xindex>
  %3 = "math.fpowi"(%a, %n) <{fastmath = #arith.fastmath<nsz>}> : (f80, index) -> f80
  return
}
// -----
// A float and an integer.
func.func @fpowi(%a: f8E4M3FN, %n: i8, %b: vector<4xf8E4M3FN>, %m: vector<4xi8>, %c: tensor<?xf8E4M3FN>, %o: tensor<?xi8>) {
  %0 = math.fpowi %a, %n : f8E4M3FN, i8
  %1 = math.fpowi %b, %m fastmath<contract> : vector<4xf8E4M3FN>, vector<4xi8>
  %2 = math.fpowi %c, %o {keep.u} : tensor<?xf8E4M3FN>, tensor<?xi8>
  %3 = "math.fpowi"(%a, %n) <{fastmath = #arith.fastmath<nsz>}> : (f8E4M3FN, i8) -> f8E4M3FN
  return
}
// -----
// Shapes that may be equal.
func.func @fpowi(%a: tensor<4xf32>, %n: tensor<?xi32>, %b: tensor<*xf16>, %m: tensor<*xi8>) {
  %0 = math.fpowi %a, %n : tensor<4xf32>, tensor<?xi32>
  %1 = math.fpowi %b, %m : tensor<*xf16>, tensor<*xi8>
  return
}
