func.func @newer(%a: f32, %b: tensor<2xf8E4M3FN>) {
  %0 = arith.addf %a, %a to_nearest_even : f32
  %1 = arith.addf %b, %b downward fastmath<nnan> : tensor<2xf8E4M3FN>
  %2 = arith.addf %a, %a fastmath<fast> {keep.a} : f32
  return
}
// -----
func.func @newer(%a: f64) {
  %0 = arith.addf %a, %a to_nearest_even {keep.a = 0 : i8} : f64
  %1 = arith.addf %a, %a downward {keep.a = 1 : i8} : f64
  %2 = arith.addf %a, %a upward {keep.a = 2 : i8} : f64
  %3 = arith.addf %a, %a toward_zero {keep.a = 3 : i8} : f64
  %4 = arith.addf %a, %a to_nearest_away {keep.a = 4 : i8} : f64
  return
}
// -----
func.func @newer(%a: f16) {
  %0 = "arith.addf"(%a, %a) <{fastmath = #arith.fastmath<none>, roundingmode = 0 : i32}> : (f16, f16) -> f16
  return
}
// -----
func.func @newer(%a: f32, %b: tensor<2xf8E4M3FN>) {
  %0 = arith.subf %a, %a downward : f32
  %1 = arith.subf %b, %b upward fastmath<nnan> : tensor<2xf8E4M3FN>
  %2 = arith.subf %a, %a fastmath<fast> {keep.a} : f32
  return
}
// -----
func.func @newer(%a: f64) {
  %0 = arith.subf %a, %a to_nearest_even {keep.a = 0 : i8} : f64
  %1 = arith.subf %a, %a downward {keep.a = 1 : i8} : f64
  %2 = arith.subf %a, %a upward {keep.a = 2 : i8} : f64
  %3 = arith.subf %a, %a toward_zero {keep.a = 3 : i8} : f64
  %4 = arith.subf %a, %a to_nearest_away {keep.a = 4 : i8} : f64
  return
}
// -----
func.func @newer(%a: f16) {
  %0 = "arith.subf"(%a, %a) <{fastmath = #arith.fastmath<none>, roundingmode = 1 : i32}> : (f16, f16) -> f16
  return
}
// -----
func.func @newer(%a: f32, %b: tensor<2xf8E4M3FN>) {
  %0 = arith.mulf %a, %a upward : f32
  %1 = arith.mulf %b, %b toward_zero fastmath<nnan> : tensor<2xf8E4M3FN>
  %2 = arith.mulf %a, %a fastmath<fast> {keep.a} : f32
  return
}
// -----
func.func @newer(%a: f64) {
  %0 = arith.mulf %a, %a to_nearest_even {keep.a = 0 : i8} : f64
  %1 = arith.mulf %a, %a downward {keep.a = 1 : i8} : f64
  %2 = arith.mulf %a, %a upward {keep.a = 2 : i8} : f64
  %3 = arith.mulf %a, %a toward_zero {keep.a = 3 : i8} : f64
  %4 = arith.mulf %a, %a to_nearest_away {keep.a = 4 : i8} : f64
  return
}
// -----
func.func @newer(%a: f16) {
  %0 = "arith.mulf"(%a, %a) <{fastmath = #arith.fastmath<none>, roundingmode = 2 : i32}> : (f16, f16) -> f16
  return
}
// -----
func.func @newer(%a: f32, %b: tensor<2xf8E4M3FN>) {
  %0 = arith.divf %a, %a toward_zero : f32
  %1 = arith.divf %b, %b to_nearest_away fastmath<nnan> : tensor<2xf8E4M3FN>
  %2 = arith.divf %a, %a fastmath<fast> {keep.a} : f32
  return
}
// -----
func.func @newer(%a: f64) {
  %0 = arith.divf %a, %a to_nearest_even {keep.a = 0 : i8} : f64
  %1 = arith.divf %a, %a downward {keep.a = 1 : i8} : f64
  %2 = arith.divf %a, %a upward {keep.a = 2 : i8} : f64
  %3 = arith.divf %a, %a toward_zero {keep.a = 3 : i8} : f64
  %4 = arith.divf %a, %a to_nearest_away {keep.a = 4 : i8} : f64
  return
}
// -----
func.func @newer(%a: f16) {
  %0 = "arith.divf"(%a, %a) <{fastmath = #arith.fastmath<none>, roundingmode = 3 : i32}> : (f16, f16) -> f16
  return
}
// -----
func.func @newer(%a: i8, %v: vector<4xi8>) {
  %0 = arith.extui %a nneg : i8 to i16
  %1 = arith.extui %v nneg {keep.a} : vector<4xi8> to vector<4xi16>
  %2 = arith.extui %a : i8 to i16
  return
}
// -----
func.func @newer(%a: i8) {
  %0 = "arith.extui"(%a) <{nonNeg}> : (i8) -> i16
  %1 = "arith.extui"(%a) : (i8) -> i16
  return
}
// -----
func.func @newer(%a: i32, %v: vector<4xi32>) {
  %0 = arith.uitofp %a nneg : i32 to f32
  %1 = arith.uitofp %v nneg {keep.a} : vector<4xi32> to vector<4xf32>
  %2 = arith.uitofp %a : i32 to f32
  return
}
// -----
func.func @newer(%a: i32) {
  %0 = "arith.uitofp"(%a) <{nonNeg}> : (i32) -> f32
  %1 = "arith.uitofp"(%a) : (i32) -> f32
  return
}
// -----
func.func @newer(%a: i8, %v: vector<4xi8>) {
  %0 = arith.index_castui %a nneg : i8 to index
  %1 = arith.index_castui %v nneg {keep.a} : vector<4xi8> to vector<4xindex>
  %2 = arith.index_castui %a : i8 to index
  return
}
// -----
func.func @newer(%a: i8) {
  %0 = "arith.index_castui"(%a) <{nonNeg}> : (i8) -> index
  %1 = "arith.index_castui"(%a) : (i8) -> index
  return
}
// -----
func.func @newer(%a: f16, %b: bf16) {
  %0 = arith.convertf %a : f16 to bf16
  %1 = arith.convertf %b upward : bf16 to f16
  %2 = arith.convertf %b fastmath<nnan> : bf16 to f16
  %3 = arith.convertf %b toward_zero fastmath<ninf> {keep.a} : bf16 to f16
  return
}
// -----
func.func @newer(%a: vector<4xf8E4M3FN>, %b: tensor<?xf8E5M2>) {
  %0 = arith.convertf %a to_nearest_away : vector<4xf8E4M3FN> to vector<4xf8E5M2>
  %1 = arith.convertf %b : tensor<?xf8E5M2> to tensor<?xf8E4M3>
  %2 = "arith.convertf"(%b) <{roundingmode = 2 : i32}> : (tensor<?xf8E5M2>) -> tensor<?xf8E3M4>
  return
}
// -----
func.func @newer(%a: i32, %b: vector<4xi8>) {
  %0, %1 = arith.subui_extended %a, %a : i32, i1
  %2:2 = arith.subui_extended %b, %b {keep.a} : vector<4xi8>, vector<4xi1>
  %3:2 = "arith.subui_extended"(%a, %a) : (i32, i32) -> (i32, i1)
  return
}
// -----
func.func @newer(%a: f32, %b: tensor<?xbf16>) {
  %0 = arith.flush_denormals %a : f32
  %1 = arith.flush_denormals %b {keep.a} : tensor<?xbf16>
  %2 = "arith.flush_denormals"(%a) : (f32) -> f32
  %3 = arith.flush_denormals %a fastmath<nnan> : f32
  return
}
// -----
func.func @newer(%a: f32, %b: vector<2xf64>) {
  %0 = arith.maximumnumf %a, %a : f32
  %1 = arith.maximumnumf %b, %b fastmath<nsz> : vector<2xf64>
  %2 = arith.maximumnumf %a, %a {keep.a} : f32
  %3 = "arith.maximumnumf"(%a, %a) <{fastmath = #arith.fastmath<nnan>}> : (f32, f32) -> f32
  return
}
// -----
func.func @newer(%a: f32, %b: vector<2xf64>) {
  %0 = arith.minimumnumf %a, %a : f32
  %1 = arith.minimumnumf %b, %b fastmath<nsz> : vector<2xf64>
  %2 = arith.minimumnumf %a, %a {keep.a} : f32
  %3 = "arith.minimumnumf"(%a, %a) <{fastmath = #arith.fastmath<nnan>}> : (f32, f32) -> f32
  return
}
