// Scalars.
func.func @addf(%a: f4E2M1FN, %b: f8E4M3B11FNUZ, %c: f8E8M0FNU) -> (f4E2M1FN, f8E4M3B11FNUZ, f8E8M0FNU) {
  %0 = arith.addf %a, %a : f4E2M1FN
  %1 = arith.addf %b, %b : f8E4M3B11FNUZ
  %2 = arith.addf %c, %c : f8E8M0FNU
  return %0, %1, %2 : f4E2M1FN, f8E4M3B11FNUZ, f8E8M0FNU
}
// -----
// Containers.
func.func @addf(%a: vector<4xf64>, %b: tensor<2x?xf6E3M2FN>, %c: tensor<*xf8E4M3FNUZ>, %d: vector<2x[4]xf4E2M1FN>, %e: tensor<f8E4M3B11FNUZ>) -> (vector<4xf64>, tensor<2x?xf6E3M2FN>, tensor<*xf8E4M3FNUZ>, vector<2x[4]xf4E2M1FN>, tensor<f8E4M3B11FNUZ>) {
  %0 = arith.addf %a, %a : vector<4xf64>
  %1 = arith.addf %b, %b : tensor<2x?xf6E3M2FN>
  %2 = arith.addf %c, %c : tensor<*xf8E4M3FNUZ>
  %3 = arith.addf %d, %d : vector<2x[4]xf4E2M1FN>
  %4 = arith.addf %e, %e : tensor<f8E4M3B11FNUZ>
  return %0, %1, %2, %3, %4 : vector<4xf64>, tensor<2x?xf6E3M2FN>, tensor<*xf8E4M3FNUZ>, vector<2x[4]xf4E2M1FN>, tensor<f8E4M3B11FNUZ>
}
// -----
// Fast-math flags.
func.func @addf(%a: f32) -> f32 {
  %0 = arith.addf %a, %a fastmath<none> : f32
  %1 = arith.addf %a, %a fastmath<reassoc> : f32
  %2 = arith.addf %a, %a fastmath<nnan> : f32
  %3 = arith.addf %a, %a fastmath<ninf> {keep.n = 3 : i8} : f32
  %4 = arith.addf %a, %a fastmath<nsz> : f32
  %5 = arith.addf %a, %a fastmath<arcp> : f32
  %6 = arith.addf %a, %a fastmath<contract> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @addf(%a: f64) -> f64 {
  %0 = "arith.addf"(%a, %a) <{fastmath = #arith.fastmath<ninf>}> : (f64, f64) -> f64
  %1 = "arith.addf"(%a, %0) {keep.a, fastmath = #arith.fastmath<arcp>} : (f64, f64) -> f64
  %2 = "arith.addf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @subf(%a: f6E3M2FN, %b: f8E4M3FNUZ, %c: bf16) -> (f6E3M2FN, f8E4M3FNUZ, bf16) {
  %0 = arith.subf %a, %a : f6E3M2FN
  %1 = arith.subf %b, %b : f8E4M3FNUZ
  %2 = arith.subf %c, %c : bf16
  return %0, %1, %2 : f6E3M2FN, f8E4M3FNUZ, bf16
}
// -----
// Containers.
func.func @subf(%a: vector<4xf128>, %b: tensor<2x?xf8E4M3>, %c: tensor<*xf8E5M2FNUZ>, %d: vector<2x[4]xf6E3M2FN>, %e: tensor<f8E4M3FNUZ>) -> (vector<4xf128>, tensor<2x?xf8E4M3>, tensor<*xf8E5M2FNUZ>, vector<2x[4]xf6E3M2FN>, tensor<f8E4M3FNUZ>) {
  %0 = arith.subf %a, %a : vector<4xf128>
  %1 = arith.subf %b, %b : tensor<2x?xf8E4M3>
  %2 = arith.subf %c, %c : tensor<*xf8E5M2FNUZ>
  %3 = arith.subf %d, %d : vector<2x[4]xf6E3M2FN>
  %4 = arith.subf %e, %e : tensor<f8E4M3FNUZ>
  return %0, %1, %2, %3, %4 : vector<4xf128>, tensor<2x?xf8E4M3>, tensor<*xf8E5M2FNUZ>, vector<2x[4]xf6E3M2FN>, tensor<f8E4M3FNUZ>
}
// -----
// Fast-math flags.
func.func @subf(%a: f32) -> f32 {
  %0 = arith.subf %a, %a fastmath<reassoc> : f32
  %1 = arith.subf %a, %a fastmath<nnan> : f32
  %2 = arith.subf %a, %a fastmath<ninf> : f32
  %3 = arith.subf %a, %a fastmath<nsz> {keep.n = 3 : i8} : f32
  %4 = arith.subf %a, %a fastmath<arcp> : f32
  %5 = arith.subf %a, %a fastmath<contract> : f32
  %6 = arith.subf %a, %a fastmath<afn> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @subf(%a: f64) -> f64 {
  %0 = "arith.subf"(%a, %a) <{fastmath = #arith.fastmath<nsz>}> : (f64, f64) -> f64
  %1 = "arith.subf"(%a, %0) {keep.a, fastmath = #arith.fastmath<contract>} : (f64, f64) -> f64
  %2 = "arith.subf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @mulf(%a: f8E4M3, %b: f8E5M2FNUZ, %c: f32) -> (f8E4M3, f8E5M2FNUZ, f32) {
  %0 = arith.mulf %a, %a : f8E4M3
  %1 = arith.mulf %b, %b : f8E5M2FNUZ
  %2 = arith.mulf %c, %c : f32
  return %0, %1, %2 : f8E4M3, f8E5M2FNUZ, f32
}
// -----
// Containers.
func.func @mulf(%a: vector<4xf6E2M3FN>, %b: tensor<2x?xf8E4M3FN>, %c: tensor<*xf16>, %d: vector<2x[4]xf8E4M3>, %e: tensor<f8E5M2FNUZ>) -> (vector<4xf6E2M3FN>, tensor<2x?xf8E4M3FN>, tensor<*xf16>, vector<2x[4]xf8E4M3>, tensor<f8E5M2FNUZ>) {
  %0 = arith.mulf %a, %a : vector<4xf6E2M3FN>
  %1 = arith.mulf %b, %b : tensor<2x?xf8E4M3FN>
  %2 = arith.mulf %c, %c : tensor<*xf16>
  %3 = arith.mulf %d, %d : vector<2x[4]xf8E4M3>
  %4 = arith.mulf %e, %e : tensor<f8E5M2FNUZ>
  return %0, %1, %2, %3, %4 : vector<4xf6E2M3FN>, tensor<2x?xf8E4M3FN>, tensor<*xf16>, vector<2x[4]xf8E4M3>, tensor<f8E5M2FNUZ>
}
// -----
// Fast-math flags.
func.func @mulf(%a: f32) -> f32 {
  %0 = arith.mulf %a, %a fastmath<nnan> : f32
  %1 = arith.mulf %a, %a fastmath<ninf> : f32
  %2 = arith.mulf %a, %a fastmath<nsz> : f32
  %3 = arith.mulf %a, %a fastmath<arcp> {keep.n = 3 : i8} : f32
  %4 = arith.mulf %a, %a fastmath<contract> : f32
  %5 = arith.mulf %a, %a fastmath<afn> : f32
  %6 = arith.mulf %a, %a fastmath<fast> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @mulf(%a: f64) -> f64 {
  %0 = "arith.mulf"(%a, %a) <{fastmath = #arith.fastmath<arcp>}> : (f64, f64) -> f64
  %1 = "arith.mulf"(%a, %0) {keep.a, fastmath = #arith.fastmath<afn>} : (f64, f64) -> f64
  %2 = "arith.mulf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @divf(%a: f8E4M3FN, %b: f16, %c: f80) -> (f8E4M3FN, f16, f80) {
  %0 = arith.divf %a, %a : f8E4M3FN
  %1 = arith.divf %b, %b : f16
  %2 = arith.divf %c, %c : f80
  return %0, %1, %2 : f8E4M3FN, f16, f80
}
// -----
// Containers.
func.func @divf(%a: vector<4xf8E3M4>, %b: tensor<2x?xf8E5M2>, %c: tensor<*xtf32>, %d: vector<2x[4]xf8E4M3FN>, %e: tensor<f16>) -> (vector<4xf8E3M4>, tensor<2x?xf8E5M2>, tensor<*xtf32>, vector<2x[4]xf8E4M3FN>, tensor<f16>) {
  %0 = arith.divf %a, %a : vector<4xf8E3M4>
  %1 = arith.divf %b, %b : tensor<2x?xf8E5M2>
  %2 = arith.divf %c, %c : tensor<*xtf32>
  %3 = arith.divf %d, %d : vector<2x[4]xf8E4M3FN>
  %4 = arith.divf %e, %e : tensor<f16>
  return %0, %1, %2, %3, %4 : vector<4xf8E3M4>, tensor<2x?xf8E5M2>, tensor<*xtf32>, vector<2x[4]xf8E4M3FN>, tensor<f16>
}
// -----
// Fast-math flags.
func.func @divf(%a: f32) -> f32 {
  %0 = arith.divf %a, %a fastmath<ninf> : f32
  %1 = arith.divf %a, %a fastmath<nsz> : f32
  %2 = arith.divf %a, %a fastmath<arcp> : f32
  %3 = arith.divf %a, %a fastmath<contract> {keep.n = 3 : i8} : f32
  %4 = arith.divf %a, %a fastmath<afn> : f32
  %5 = arith.divf %a, %a fastmath<fast> : f32
  %6 = arith.divf %a, %a fastmath<nnan, ninf> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @divf(%a: f64) -> f64 {
  %0 = "arith.divf"(%a, %a) <{fastmath = #arith.fastmath<contract>}> : (f64, f64) -> f64
  %1 = "arith.divf"(%a, %0) {keep.a, fastmath = #arith.fastmath<fast>} : (f64, f64) -> f64
  %2 = "arith.divf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @remf(%a: f8E5M2, %b: tf32, %c: f4E2M1FN) -> (f8E5M2, tf32, f4E2M1FN) {
  %0 = arith.remf %a, %a : f8E5M2
  %1 = arith.remf %b, %b : tf32
  %2 = arith.remf %c, %c : f4E2M1FN
  return %0, %1, %2 : f8E5M2, tf32, f4E2M1FN
}
// -----
// Containers.
func.func @remf(%a: vector<4xf8E4M3B11FNUZ>, %b: tensor<2x?xf8E8M0FNU>, %c: tensor<*xf64>, %d: vector<2x[4]xf8E5M2>, %e: tensor<tf32>) -> (vector<4xf8E4M3B11FNUZ>, tensor<2x?xf8E8M0FNU>, tensor<*xf64>, vector<2x[4]xf8E5M2>, tensor<tf32>) {
  %0 = arith.remf %a, %a : vector<4xf8E4M3B11FNUZ>
  %1 = arith.remf %b, %b : tensor<2x?xf8E8M0FNU>
  %2 = arith.remf %c, %c : tensor<*xf64>
  %3 = arith.remf %d, %d : vector<2x[4]xf8E5M2>
  %4 = arith.remf %e, %e : tensor<tf32>
  return %0, %1, %2, %3, %4 : vector<4xf8E4M3B11FNUZ>, tensor<2x?xf8E8M0FNU>, tensor<*xf64>, vector<2x[4]xf8E5M2>, tensor<tf32>
}
// -----
// Fast-math flags.
func.func @remf(%a: f32) -> f32 {
  %0 = arith.remf %a, %a fastmath<nsz> : f32
  %1 = arith.remf %a, %a fastmath<arcp> : f32
  %2 = arith.remf %a, %a fastmath<contract> : f32
  %3 = arith.remf %a, %a fastmath<afn> {keep.n = 3 : i8} : f32
  %4 = arith.remf %a, %a fastmath<fast> : f32
  %5 = arith.remf %a, %a fastmath<nnan, ninf> : f32
  %6 = arith.remf %a, %a fastmath<reassoc, nsz, afn> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @remf(%a: f64) -> f64 {
  %0 = "arith.remf"(%a, %a) <{fastmath = #arith.fastmath<afn>}> : (f64, f64) -> f64
  %1 = "arith.remf"(%a, %0) {keep.a, fastmath = #arith.fastmath<nnan, ninf>} : (f64, f64) -> f64
  %2 = "arith.remf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @maximumf(%a: f8E8M0FNU, %b: f64, %c: f6E3M2FN) -> (f8E8M0FNU, f64, f6E3M2FN) {
  %0 = arith.maximumf %a, %a : f8E8M0FNU
  %1 = arith.maximumf %b, %b : f64
  %2 = arith.maximumf %c, %c : f6E3M2FN
  return %0, %1, %2 : f8E8M0FNU, f64, f6E3M2FN
}
// -----
// Containers.
func.func @maximumf(%a: vector<4xf8E4M3FNUZ>, %b: tensor<2x?xbf16>, %c: tensor<*xf128>, %d: vector<2x[4]xf8E8M0FNU>, %e: tensor<f64>) -> (vector<4xf8E4M3FNUZ>, tensor<2x?xbf16>, tensor<*xf128>, vector<2x[4]xf8E8M0FNU>, tensor<f64>) {
  %0 = arith.maximumf %a, %a : vector<4xf8E4M3FNUZ>
  %1 = arith.maximumf %b, %b : tensor<2x?xbf16>
  %2 = arith.maximumf %c, %c : tensor<*xf128>
  %3 = arith.maximumf %d, %d : vector<2x[4]xf8E8M0FNU>
  %4 = arith.maximumf %e, %e : tensor<f64>
  return %0, %1, %2, %3, %4 : vector<4xf8E4M3FNUZ>, tensor<2x?xbf16>, tensor<*xf128>, vector<2x[4]xf8E8M0FNU>, tensor<f64>
}
// -----
// Fast-math flags.
func.func @maximumf(%a: f32) -> f32 {
  %0 = arith.maximumf %a, %a fastmath<arcp> : f32
  %1 = arith.maximumf %a, %a fastmath<contract> : f32
  %2 = arith.maximumf %a, %a fastmath<afn> : f32
  %3 = arith.maximumf %a, %a fastmath<fast> {keep.n = 3 : i8} : f32
  %4 = arith.maximumf %a, %a fastmath<nnan, ninf> : f32
  %5 = arith.maximumf %a, %a fastmath<reassoc, nsz, afn> : f32
  %6 = arith.maximumf %a, %a fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @maximumf(%a: f64) -> f64 {
  %0 = "arith.maximumf"(%a, %a) <{fastmath = #arith.fastmath<fast>}> : (f64, f64) -> f64
  %1 = "arith.maximumf"(%a, %0) {keep.a, fastmath = #arith.fastmath<reassoc, nsz, afn>} : (f64, f64) -> f64
  %2 = "arith.maximumf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @minimumf(%a: bf16, %b: f128, %c: f8E4M3) -> (bf16, f128, f8E4M3) {
  %0 = arith.minimumf %a, %a : bf16
  %1 = arith.minimumf %b, %b : f128
  %2 = arith.minimumf %c, %c : f8E4M3
  return %0, %1, %2 : bf16, f128, f8E4M3
}
// -----
// Containers.
func.func @minimumf(%a: vector<4xf8E5M2FNUZ>, %b: tensor<2x?xf32>, %c: tensor<*xf6E2M3FN>, %d: vector<2x[4]xbf16>, %e: tensor<f128>) -> (vector<4xf8E5M2FNUZ>, tensor<2x?xf32>, tensor<*xf6E2M3FN>, vector<2x[4]xbf16>, tensor<f128>) {
  %0 = arith.minimumf %a, %a : vector<4xf8E5M2FNUZ>
  %1 = arith.minimumf %b, %b : tensor<2x?xf32>
  %2 = arith.minimumf %c, %c : tensor<*xf6E2M3FN>
  %3 = arith.minimumf %d, %d : vector<2x[4]xbf16>
  %4 = arith.minimumf %e, %e : tensor<f128>
  return %0, %1, %2, %3, %4 : vector<4xf8E5M2FNUZ>, tensor<2x?xf32>, tensor<*xf6E2M3FN>, vector<2x[4]xbf16>, tensor<f128>
}
// -----
// Fast-math flags.
func.func @minimumf(%a: f32) -> f32 {
  %0 = arith.minimumf %a, %a fastmath<contract> : f32
  %1 = arith.minimumf %a, %a fastmath<afn> : f32
  %2 = arith.minimumf %a, %a fastmath<fast> : f32
  %3 = arith.minimumf %a, %a fastmath<nnan, ninf> {keep.n = 3 : i8} : f32
  %4 = arith.minimumf %a, %a fastmath<reassoc, nsz, afn> : f32
  %5 = arith.minimumf %a, %a fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn> : f32
  %6 = arith.minimumf %a, %a fastmath<none> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @minimumf(%a: f64) -> f64 {
  %0 = "arith.minimumf"(%a, %a) <{fastmath = #arith.fastmath<nnan, ninf>}> : (f64, f64) -> f64
  %1 = "arith.minimumf"(%a, %0) {keep.a, fastmath = #arith.fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn>} : (f64, f64) -> f64
  %2 = "arith.minimumf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @maxnumf(%a: f32, %b: f6E2M3FN, %c: f8E4M3FN) -> (f32, f6E2M3FN, f8E4M3FN) {
  %0 = arith.maxnumf %a, %a : f32
  %1 = arith.maxnumf %b, %b : f6E2M3FN
  %2 = arith.maxnumf %c, %c : f8E4M3FN
  return %0, %1, %2 : f32, f6E2M3FN, f8E4M3FN
}
// -----
// Containers.
func.func @maxnumf(%a: vector<4xf16>, %b: tensor<2x?xf80>, %c: tensor<*xf8E3M4>, %d: vector<2x[4]xf32>, %e: tensor<f6E2M3FN>) -> (vector<4xf16>, tensor<2x?xf80>, tensor<*xf8E3M4>, vector<2x[4]xf32>, tensor<f6E2M3FN>) {
  %0 = arith.maxnumf %a, %a : vector<4xf16>
  %1 = arith.maxnumf %b, %b : tensor<2x?xf80>
  %2 = arith.maxnumf %c, %c : tensor<*xf8E3M4>
  %3 = arith.maxnumf %d, %d : vector<2x[4]xf32>
  %4 = arith.maxnumf %e, %e : tensor<f6E2M3FN>
  return %0, %1, %2, %3, %4 : vector<4xf16>, tensor<2x?xf80>, tensor<*xf8E3M4>, vector<2x[4]xf32>, tensor<f6E2M3FN>
}
// -----
// Fast-math flags.
func.func @maxnumf(%a: f32) -> f32 {
  %0 = arith.maxnumf %a, %a fastmath<afn> : f32
  %1 = arith.maxnumf %a, %a fastmath<fast> : f32
  %2 = arith.maxnumf %a, %a fastmath<nnan, ninf> : f32
  %3 = arith.maxnumf %a, %a fastmath<reassoc, nsz, afn> {keep.n = 3 : i8} : f32
  %4 = arith.maxnumf %a, %a fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn> : f32
  %5 = arith.maxnumf %a, %a fastmath<none> : f32
  %6 = arith.maxnumf %a, %a fastmath<reassoc> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @maxnumf(%a: f64) -> f64 {
  %0 = "arith.maxnumf"(%a, %a) <{fastmath = #arith.fastmath<reassoc, nsz, afn>}> : (f64, f64) -> f64
  %1 = "arith.maxnumf"(%a, %0) {keep.a, fastmath = #arith.fastmath<none>} : (f64, f64) -> f64
  %2 = "arith.maxnumf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// Scalars.
func.func @minnumf(%a: f80, %b: f8E3M4, %c: f8E5M2) -> (f80, f8E3M4, f8E5M2) {
  %0 = arith.minnumf %a, %a : f80
  %1 = arith.minnumf %b, %b : f8E3M4
  %2 = arith.minnumf %c, %c : f8E5M2
  return %0, %1, %2 : f80, f8E3M4, f8E5M2
}
// -----
// Containers.
func.func @minnumf(%a: vector<4xtf32>, %b: tensor<2x?xf4E2M1FN>, %c: tensor<*xf8E4M3B11FNUZ>, %d: vector<2x[4]xf80>, %e: tensor<f8E3M4>) -> (vector<4xtf32>, tensor<2x?xf4E2M1FN>, tensor<*xf8E4M3B11FNUZ>, vector<2x[4]xf80>, tensor<f8E3M4>) {
  %0 = arith.minnumf %a, %a : vector<4xtf32>
  %1 = arith.minnumf %b, %b : tensor<2x?xf4E2M1FN>
  %2 = arith.minnumf %c, %c : tensor<*xf8E4M3B11FNUZ>
  %3 = arith.minnumf %d, %d : vector<2x[4]xf80>
  %4 = arith.minnumf %e, %e : tensor<f8E3M4>
  return %0, %1, %2, %3, %4 : vector<4xtf32>, tensor<2x?xf4E2M1FN>, tensor<*xf8E4M3B11FNUZ>, vector<2x[4]xf80>, tensor<f8E3M4>
}
// -----
// Fast-math flags.
func.func @minnumf(%a: f32) -> f32 {
  %0 = arith.minnumf %a, %a fastmath<fast> : f32
  %1 = arith.minnumf %a, %a fastmath<nnan, ninf> : f32
  %2 = arith.minnumf %a, %a fastmath<reassoc, nsz, afn> : f32
  %3 = arith.minnumf %a, %a fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn> {keep.n = 3 : i8} : f32
  %4 = arith.minnumf %a, %a fastmath<none> : f32
  %5 = arith.minnumf %a, %a fastmath<reassoc> : f32
  %6 = arith.minnumf %a, %a fastmath<nnan> : f32
  return %6 : f32
}
// -----
// Generic form.
func.func @minnumf(%a: f64) -> f64 {
  %0 = "arith.minnumf"(%a, %a) <{fastmath = #arith.fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn>}> : (f64, f64) -> f64
  %1 = "arith.minnumf"(%a, %0) {keep.a, fastmath = #arith.fastmath<reassoc>} : (f64, f64) -> f64
  %2 = "arith.minnumf"(%1, %0) : (f64, f64) -> f64
  return %2 : f64
}
// -----
// All flags, by name and one by one: the same set.
func.func @negf(%a: f32) -> f32 {
  %0 = arith.negf %a fastmath<fast> : f32
  %1 = arith.negf %0 fastmath<reassoc, nnan, ninf, nsz, arcp, contract, afn> : f32
  return %1 : f32
}
// -----
// Scalars and containers.
func.func @negf(%a: f8E4M3FN, %b: tensor<2x?xbf16>, %c: vector<[4]xf64>) -> tensor<2x?xbf16> {
  %0 = arith.negf %a : f8E4M3FN
  %1 = arith.negf %b fastmath<nsz> : tensor<2x?xbf16>
  %2 = arith.negf %c {keep.a} : vector<[4]xf64>
  %3 = "arith.negf"(%0) <{fastmath = #arith.fastmath<none>}> : (f8E4M3FN) -> f8E4M3FN
  return %1 : tensor<2x?xbf16>
}
