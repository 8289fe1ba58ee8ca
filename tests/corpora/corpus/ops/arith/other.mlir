// Scaled up.
func.func @scaling_extf(%a: f4E2M1FN, %s: f8E8M0FNU, %va: vector<4xf4E2M1FN>, %vs: vector<4xf8E8M0FNU>) -> (f32, vector<4xf32>) {
  %0 = arith.scaling_extf %a, %s : f4E2M1FN, f8E8M0FNU to f32
  %1 = arith.scaling_extf %va, %vs fastmath<nnan> : vector<4xf4E2M1FN>, vector<4xf8E8M0FNU> to vector<4xf32>
  %2 = "arith.scaling_extf"(%a, %s) : (f4E2M1FN, f8E8M0FNU) -> f32
  %3 = arith.scaling_extf %a, %s {keep.a} : f4E2M1FN, f8E8M0FNU to f32
  return %0, %1 : f32, vector<4xf32>
}
// -----
// Scaled up.
func.func @scaling_extf(%a: f6E3M2FN, %s: f8E8M0FNU, %va: vector<4xf6E3M2FN>, %vs: vector<4xf8E8M0FNU>) -> (bf16, vector<4xbf16>) {
  %0 = arith.scaling_extf %a, %s : f6E3M2FN, f8E8M0FNU to bf16
  %1 = arith.scaling_extf %va, %vs fastmath<nnan> : vector<4xf6E3M2FN>, vector<4xf8E8M0FNU> to vector<4xbf16>
  %2 = "arith.scaling_extf"(%a, %s) : (f6E3M2FN, f8E8M0FNU) -> bf16
  %3 = arith.scaling_extf %a, %s {keep.a} : f6E3M2FN, f8E8M0FNU to bf16
  return %0, %1 : bf16, vector<4xbf16>
}
// -----
// Scaled up.
func.func @scaling_extf(%a: f8E4M3FN, %s: f32, %va: vector<4xf8E4M3FN>, %vs: vector<4xf32>) -> (f64, vector<4xf64>) {
  %0 = arith.scaling_extf %a, %s : f8E4M3FN, f32 to f64
  %1 = arith.scaling_extf %va, %vs fastmath<nnan> : vector<4xf8E4M3FN>, vector<4xf32> to vector<4xf64>
  %2 = "arith.scaling_extf"(%a, %s) : (f8E4M3FN, f32) -> f64
  %3 = arith.scaling_extf %a, %s {keep.a} : f8E4M3FN, f32 to f64
  return %0, %1 : f64, vector<4xf64>
}
// -----
// Scaled down.
func.func @scaling_truncf(%a: f32, %s: f8E8M0FNU, %ta: tensor<?xf32>, %ts: tensor<?xf8E8M0FNU>) -> (f4E2M1FN, tensor<?xf4E2M1FN>) {
  %0 = arith.scaling_truncf %a, %s : f32, f8E8M0FNU to f4E2M1FN
  %1 = arith.scaling_truncf %ta, %ts toward_zero fastmath<ninf> : tensor<?xf32>, tensor<?xf8E8M0FNU> to tensor<?xf4E2M1FN>
  %2 = arith.scaling_truncf %a, %s toward_zero : f32, f8E8M0FNU to f4E2M1FN
  %3 = arith.scaling_truncf %a, %s fastmath<fast> {keep.a} : f32, f8E8M0FNU to f4E2M1FN
  %4 = "arith.scaling_truncf"(%a, %s) <{roundingmode = 1 : i32}> : (f32, f8E8M0FNU) -> f4E2M1FN
  return %0, %1 : f4E2M1FN, tensor<?xf4E2M1FN>
}
// -----
// Scaled down.
func.func @scaling_truncf(%a: f64, %s: f16, %ta: tensor<?xf64>, %ts: tensor<?xf16>) -> (f8E5M2, tensor<?xf8E5M2>) {
  %0 = arith.scaling_truncf %a, %s : f64, f16 to f8E5M2
  %1 = arith.scaling_truncf %ta, %ts upward fastmath<ninf> : tensor<?xf64>, tensor<?xf16> to tensor<?xf8E5M2>
  %2 = arith.scaling_truncf %a, %s upward : f64, f16 to f8E5M2
  %3 = arith.scaling_truncf %a, %s fastmath<fast> {keep.a} : f64, f16 to f8E5M2
  %4 = "arith.scaling_truncf"(%a, %s) <{roundingmode = 1 : i32}> : (f64, f16) -> f8E5M2
  return %0, %1 : f8E5M2, tensor<?xf8E5M2>
}
// -----
// Scaled down.
func.func @scaling_truncf(%a: bf16, %s: f8E8M0FNU, %ta: tensor<?xbf16>, %ts: tensor<?xf8E8M0FNU>) -> (f6E2M3FN, tensor<?xf6E2M3FN>) {
  %0 = arith.scaling_truncf %a, %s : bf16, f8E8M0FNU to f6E2M3FN
  %1 = arith.scaling_truncf %ta, %ts to_nearest_away fastmath<ninf> : tensor<?xbf16>, tensor<?xf8E8M0FNU> to tensor<?xf6E2M3FN>
  %2 = arith.scaling_truncf %a, %s to_nearest_away : bf16, f8E8M0FNU to f6E2M3FN
  %3 = arith.scaling_truncf %a, %s fastmath<fast> {keep.a} : bf16, f8E8M0FNU to f6E2M3FN
  %4 = "arith.scaling_truncf"(%a, %s) <{roundingmode = 1 : i32}> : (bf16, f8E8M0FNU) -> f6E2M3FN
  return %0, %1 : f6E2M3FN, tensor<?xf6E2M3FN>
}
// -----
// Two results.
func.func @wide(%a: i32, %b: vector<4xi8>, %c: tensor<?xindex>) -> (i32, i1, vector<4xi8>, vector<4xi1>) {
  %0, %1 = arith.addui_extended %a, %a : i32, i1
  %2:2 = arith.addui_extended %b, %b {keep.x} : vector<4xi8>, vector<4xi1>
  %s, %o = arith.addui_extended %c, %c : tensor<?xindex>, tensor<?xi1>
  %3:2 = "arith.addui_extended"(%a, %a) : (i32, i32) -> (i32, i1)
  return %0, %1, %2#0, %2#1 : i32, i1, vector<4xi8>, vector<4xi1>
}
// -----
// Low and high half.
func.func @mulsi_extended(%a: i128, %b: tensor<2x2xi16>) -> (i128, i128, tensor<2x2xi16>, tensor<2x2xi16>) {
  %0, %1 = arith.mulsi_extended %a, %a : i128
  %2:2 = arith.mulsi_extended %b, %b {keep.x} : tensor<2x2xi16>
  %3:2 = "arith.mulsi_extended"(%a, %a) : (i128, i128) -> (i128, i128)
  %low, %high = arith.mulsi_extended %3#0, %3#1 : i128
  return %0, %1, %2#0, %2#1 : i128, i128, tensor<2x2xi16>, tensor<2x2xi16>
}
// -----
// Low and high half.
func.func @mului_extended(%a: i128, %b: tensor<2x2xi16>) -> (i128, i128, tensor<2x2xi16>, tensor<2x2xi16>) {
  %0, %1 = arith.mului_extended %a, %a : i128
  %2:2 = arith.mului_extended %b, %b {keep.x} : tensor<2x2xi16>
  %3:2 = "arith.mului_extended"(%a, %a) : (i128, i128) -> (i128, i128)
  %low, %high = arith.mului_extended %3#0, %3#1 : i128
  return %0, %1, %2#0, %2#1 : i128, i128, tensor<2x2xi16>, tensor<2x2xi16>
}
// -----
// Values of type i32.
func.func @select(%c: i1, %a: i32, %b: i32) -> i32 {
  %0 = arith.select %c, %a, %b : i32
  %1 = arith.select %c, %0, %b {keep.s} : i32
  %2 = "arith.select"(%c, %a, %1) : (i1, i32, i32) -> i32
  return %2 : i32
}
// -----
// Values of type f8E4M3FN.
func.func @select(%c: i1, %a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {
  %0 = arith.select %c, %a, %b : f8E4M3FN
  %1 = arith.select %c, %0, %b {keep.s} : f8E4M3FN
  %2 = "arith.select"(%c, %a, %1) : (i1, f8E4M3FN, f8E4M3FN) -> f8E4M3FN
  return %2 : f8E4M3FN
}
// -----
// Values of type index.
func.func @select(%c: i1, %a: index, %b: index) -> index {
  %0 = arith.select %c, %a, %b : index
  %1 = arith.select %c, %0, %b {keep.s} : index
  %2 = "arith.select"(%c, %a, %1) : (i1, index, index) -> index
  return %2 : index
}
// -----
// Values of type tensor<2xf32>.
func.func @select(%c: i1, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.select %c, %a, %b : tensor<2xf32>
  %1 = arith.select %c, %0, %b {keep.s} : tensor<2xf32>
  %2 = "arith.select"(%c, %a, %1) : (i1, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// -----
// Values of type vector<4xi8>.
func.func @select(%c: vector<4xi1>, %a: vector<4xi8>, %b: vector<4xi8>) -> vector<4xi8> {
  %0 = arith.select %c, %a, %b : vector<4xi1>, vector<4xi8>
  %1 = arith.select %c, %0, %b {keep.s} : vector<4xi1>, vector<4xi8>
  %2 = "arith.select"(%c, %a, %1) : (vector<4xi1>, vector<4xi8>, vector<4xi8>) -> vector<4xi8>
  return %2 : vector<4xi8>
}
// -----
// Values of type tensor<?x2xbf16>.
func.func @select(%c: tensor<?x2xi1>, %a: tensor<?x2xbf16>, %b: tensor<?x2xbf16>) -> tensor<?x2xbf16> {
  %0 = arith.select %c, %a, %b : tensor<?x2xi1>, tensor<?x2xbf16>
  %1 = arith.select %c, %0, %b {keep.s} : tensor<?x2xi1>, tensor<?x2xbf16>
  %2 = "arith.select"(%c, %a, %1) : (tensor<?x2xi1>, tensor<?x2xbf16>, tensor<?x2xbf16>) -> tensor<?x2xbf16>
  return %2 : tensor<?x2xbf16>
}
// -----
// Values of type tensor<*xf32>.
func.func @select(%c: tensor<*xi1>, %a: tensor<*xf32>, %b: tensor<*xf32>) -> tensor<*xf32> {
  %0 = arith.select %c, %a, %b : tensor<*xi1>, tensor<*xf32>
  %1 = arith.select %c, %0, %b {keep.s} : tensor<*xi1>, tensor<*xf32>
  %2 = "arith.select"(%c, %a, %1) : (tensor<*xi1>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}
// -----
// Values of type !foo.bar.
func.func @select(%c: i1, %a: !foo.bar, %b: !foo.bar) -> !foo.bar {
  %0 = arith.select %c, %a, %b : !foo.bar
  %1 = arith.select %c, %0, %b {keep.s} : !foo.bar
  %2 = "arith.select"(%c, %a, %1) : (i1, !foo.bar, !foo.bar) -> !foo.bar
  return %2 : !foo.bar
}
// -----
// Values of type vector<[4]xi1>.
func.func @select(%c: vector<[4]xi1>, %a: vector<[4]xi1>, %b: vector<[4]xi1>) -> vector<[4]xi1> {
  %0 = arith.select %c, %a, %b : vector<[4]xi1>, vector<[4]xi1>
  %1 = arith.select %c, %0, %b {keep.s} : vector<[4]xi1>, vector<[4]xi1>
  %2 = "arith.select"(%c, %a, %1) : (vector<[4]xi1>, vector<[4]xi1>, vector<[4]xi1>) -> vector<[4]xi1>
  return %2 : vector<[4]xi1>
}
// -----
// Values of type tuple<i1>.
func.func @select(%c: i1, %a: tuple<i1>, %b: tuple<i1>) -> tuple<i1> {
  %0 = arith.select %c, %a, %b : tuple<i1>
  %1 = arith.select %c, %0, %b {keep.s} : tuple<i1>
  %2 = "arith.select"(%c, %a, %1) : (i1, tuple<i1>, tuple<i1>) -> tuple<i1>
  return %2 : tuple<i1>
}
// -----
// Values of type memref<2xf32>.
func.func @select(%c: i1, %a: memref<2xf32>, %b: memref<2xf32>) -> memref<2xf32> {
  %0 = arith.select %c, %a, %b : memref<2xf32>
  %1 = arith.select %c, %0, %b {keep.s} : memref<2xf32>
  %2 = "arith.select"(%c, %a, %1) : (i1, memref<2xf32>, memref<2xf32>) -> memref<2xf32>
  return %2 : memref<2xf32>
}
// -----
// Values of type vector<2xf32>.
func.func @select(%c: i1, %a: vector<2xf32>, %b: vector<2xf32>) -> vector<2xf32> {
  %0 = arith.select %c, %a, %b : vector<2xf32>
  %1 = arith.select %c, %0, %b {keep.s} : vector<2xf32>
  %2 = "arith.select"(%c, %a, %1) : (i1, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  return %2 : vector<2xf32>
}
