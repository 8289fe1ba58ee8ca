// Containers.
func.func @absf(%a: f4E2M1FN, %b: vector<4xf6E2M3FN>, %c: tensor<2x?xf6E3M2FN>, %d: tensor<*xf8E3M4>, %e: vector<2x[4]xf4E2M1FN>) {
  %0 = math.absf %a : f4E2M1FN
  %1 = math.absf %b : vector<4xf6E2M3FN>
  %2 = math.absf %c : tensor<2x?xf6E3M2FN>
  %3 = math.absf %d : tensor<*xf8E3M4>
  %4 = math.absf %e : vector<2x[4]xf4E2M1FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @absf(%a: f32) {
  %0 = math.absf %a fastmath<none> : f32
  %1 = math.absf %a fastmath<reassoc> {keep.n = 3 : i8} : f32
  %2 = math.absf %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @absf(%a: f64) {
  %0 = "math.absf"(%a) : (f64) -> f64
  %1 = "math.absf"(%a) <{fastmath = #arith.fastmath<nnan>}> : (f64) -> f64
  %2 = "math.absf"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @acos(%a: f8E4M3, %b: vector<4xf8E4M3FN>, %c: tensor<2x?xf8E4M3FNUZ>, %d: tensor<*xf8E4M3B11FNUZ>, %e: vector<2x[4]xf8E4M3>) {
  %0 = math.acos %a : f8E4M3
  %1 = math.acos %b : vector<4xf8E4M3FN>
  %2 = math.acos %c : tensor<2x?xf8E4M3FNUZ>
  %3 = math.acos %d : tensor<*xf8E4M3B11FNUZ>
  %4 = math.acos %e : vector<2x[4]xf8E4M3>
  return
}
// -----
// Fast-math flags and attributes.
func.func @acos(%a: f32) {
  %0 = math.acos %a fastmath<ninf> : f32
  %1 = math.acos %a fastmath<nsz> {keep.n = 3 : i8} : f32
  %2 = math.acos %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @acos(%a: f64) {
  %0 = "math.acos"(%a) : (f64) -> f64
  %1 = "math.acos"(%a) <{fastmath = #arith.fastmath<arcp>}> : (f64) -> f64
  %2 = "math.acos"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @acosh(%a: f8E5M2, %b: vector<4xf8E5M2FNUZ>, %c: tensor<2x?xf8E8M0FNU>, %d: tensor<*xbf16>, %e: vector<2x[4]xf8E5M2>) {
  %0 = math.acosh %a : f8E5M2
  %1 = math.acosh %b : vector<4xf8E5M2FNUZ>
  %2 = math.acosh %c : tensor<2x?xf8E8M0FNU>
  %3 = math.acosh %d : tensor<*xbf16>
  %4 = math.acosh %e : vector<2x[4]xf8E5M2>
  return
}
// -----
// Fast-math flags and attributes.
func.func @acosh(%a: f32) {
  %0 = math.acosh %a fastmath<contract> : f32
  %1 = math.acosh %a fastmath<afn> {keep.n = 3 : i8} : f32
  %2 = math.acosh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @acosh(%a: f64) {
  %0 = "math.acosh"(%a) : (f64) -> f64
  %1 = "math.acosh"(%a) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  %2 = "math.acosh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @asin(%a: f16, %b: vector<4xtf32>, %c: tensor<2x?xf32>, %d: tensor<*xf64>, %e: vector<2x[4]xf16>) {
  %0 = math.asin %a : f16
  %1 = math.asin %b : vector<4xtf32>
  %2 = math.asin %c : tensor<2x?xf32>
  %3 = math.asin %d : tensor<*xf64>
  %4 = math.asin %e : vector<2x[4]xf16>
  return
}
// -----
// Fast-math flags and attributes.
func.func @asin(%a: f32) {
  %0 = math.asin %a fastmath<nnan,ninf> : f32
  %1 = math.asin %a fastmath<nsz,arcp,afn> {keep.n = 3 : i8} : f32
  %2 = math.asin %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @asin(%a: f64) {
  %0 = "math.asin"(%a) : (f64) -> f64
  %1 = "math.asin"(%a) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
  %2 = "math.asin"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @asinh(%a: f80, %b: vector<4xf128>, %c: tensor<2x?xf4E2M1FN>, %d: tensor<*xf6E2M3FN>, %e: vector<2x[4]xf80>) {
  %0 = math.asinh %a : f80
  %1 = math.asinh %b : vector<4xf128>
  %2 = math.asinh %c : tensor<2x?xf4E2M1FN>
  %3 = math.asinh %d : tensor<*xf6E2M3FN>
  %4 = math.asinh %e : vector<2x[4]xf80>
  return
}
// -----
// Fast-math flags and attributes.
func.func @asinh(%a: f32) {
  %0 = math.asinh %a fastmath<reassoc> : f32
  %1 = math.asinh %a fastmath<nnan> {keep.n = 3 : i8} : f32
  %2 = math.asinh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @asinh(%a: f64) {
  %0 = "math.asinh"(%a) : (f64) -> f64
  %1 = "math.asinh"(%a) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> f64
  %2 = "math.asinh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @atan(%a: f6E3M2FN, %b: vector<4xf8E3M4>, %c: tensor<2x?xf8E4M3>, %d: tensor<*xf8E4M3FN>, %e: vector<2x[4]xf6E3M2FN>) {
  %0 = math.atan %a : f6E3M2FN
  %1 = math.atan %b : vector<4xf8E3M4>
  %2 = math.atan %c : tensor<2x?xf8E4M3>
  %3 = math.atan %d : tensor<*xf8E4M3FN>
  %4 = math.atan %e : vector<2x[4]xf6E3M2FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @atan(%a: f32) {
  %0 = math.atan %a fastmath<nsz> : f32
  %1 = math.atan %a fastmath<arcp> {keep.n = 3 : i8} : f32
  %2 = math.atan %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @atan(%a: f64) {
  %0 = "math.atan"(%a) : (f64) -> f64
  %1 = "math.atan"(%a) <{fastmath = #arith.fastmath<contract>}> : (f64) -> f64
  %2 = "math.atan"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @atanh(%a: f8E4M3FNUZ, %b: vector<4xf8E4M3B11FNUZ>, %c: tensor<2x?xf8E5M2>, %d: tensor<*xf8E5M2FNUZ>, %e: vector<2x[4]xf8E4M3FNUZ>) {
  %0 = math.atanh %a : f8E4M3FNUZ
  %1 = math.atanh %b : vector<4xf8E4M3B11FNUZ>
  %2 = math.atanh %c : tensor<2x?xf8E5M2>
  %3 = math.atanh %d : tensor<*xf8E5M2FNUZ>
  %4 = math.atanh %e : vector<2x[4]xf8E4M3FNUZ>
  return
}
// -----
// Fast-math flags and attributes.
func.func @atanh(%a: f32) {
  %0 = math.atanh %a fastmath<afn> : f32
  %1 = math.atanh %a fastmath<fast> {keep.n = 3 : i8} : f32
  %2 = math.atanh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @atanh(%a: f64) {
  %0 = "math.atanh"(%a) : (f64) -> f64
  %1 = "math.atanh"(%a) <{fastmath = #arith.fastmath<nnan,ninf>}> : (f64) -> f64
  %2 = "math.atanh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @cbrt(%a: f8E8M0FNU, %b: vector<4xbf16>, %c: tensor<2x?xf16>, %d: tensor<*xtf32>, %e: vector<2x[4]xf8E8M0FNU>) {
  %0 = math.cbrt %a : f8E8M0FNU
  %1 = math.cbrt %b : vector<4xbf16>
  %2 = math.cbrt %c : tensor<2x?xf16>
  %3 = math.cbrt %d : tensor<*xtf32>
  %4 = math.cbrt %e : vector<2x[4]xf8E8M0FNU>
  return
}
// -----
// Fast-math flags and attributes.
func.func @cbrt(%a: f32) {
  %0 = math.cbrt %a fastmath<nsz,arcp,afn> : f32
  %1 = math.cbrt %a fastmath<none> {keep.n = 3 : i8} : f32
  %2 = math.cbrt %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @cbrt(%a: f64) {
  %0 = "math.cbrt"(%a) : (f64) -> f64
  %1 = "math.cbrt"(%a) <{fastmath = #arith.fastmath<reassoc>}> : (f64) -> f64
  %2 = "math.cbrt"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @ceil(%a: f32, %b: vector<4xf64>, %c: tensor<2x?xf80>, %d: tensor<*xf128>, %e: vector<2x[4]xf32>) {
  %0 = math.ceil %a : f32
  %1 = math.ceil %b : vector<4xf64>
  %2 = math.ceil %c : tensor<2x?xf80>
  %3 = math.ceil %d : tensor<*xf128>
  %4 = math.ceil %e : vector<2x[4]xf32>
  return
}
// -----
// Fast-math flags and attributes.
func.func @ceil(%a: f32) {
  %0 = math.ceil %a fastmath<nnan> : f32
  %1 = math.ceil %a fastmath<ninf> {keep.n = 3 : i8} : f32
  %2 = math.ceil %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @ceil(%a: f64) {
  %0 = "math.ceil"(%a) : (f64) -> f64
  %1 = "math.ceil"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f64) -> f64
  %2 = "math.ceil"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @cos(%a: f4E2M1FN, %b: vector<4xf6E2M3FN>, %c: tensor<2x?xf6E3M2FN>, %d: tensor<*xf8E3M4>, %e: vector<2x[4]xf4E2M1FN>) {
  %0 = math.cos %a : f4E2M1FN
  %1 = math.cos %b : vector<4xf6E2M3FN>
  %2 = math.cos %c : tensor<2x?xf6E3M2FN>
  %3 = math.cos %d : tensor<*xf8E3M4>
  %4 = math.cos %e : vector<2x[4]xf4E2M1FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @cos(%a: f32) {
  %0 = math.cos %a fastmath<arcp> : f32
  %1 = math.cos %a fastmath<contract> {keep.n = 3 : i8} : f32
  %2 = math.cos %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @cos(%a: f64) {
  %0 = "math.cos"(%a) : (f64) -> f64
  %1 = "math.cos"(%a) <{fastmath = #arith.fastmath<afn>}> : (f64) -> f64
  %2 = "math.cos"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @cosh(%a: f8E4M3, %b: vector<4xf8E4M3FN>, %c: tensor<2x?xf8E4M3FNUZ>, %d: tensor<*xf8E4M3B11FNUZ>, %e: vector<2x[4]xf8E4M3>) {
  %0 = math.cosh %a : f8E4M3
  %1 = math.cosh %b : vector<4xf8E4M3FN>
  %2 = math.cosh %c : tensor<2x?xf8E4M3FNUZ>
  %3 = math.cosh %d : tensor<*xf8E4M3B11FNUZ>
  %4 = math.cosh %e : vector<2x[4]xf8E4M3>
  return
}
// -----
// Fast-math flags and attributes.
func.func @cosh(%a: f32) {
  %0 = math.cosh %a fastmath<fast> : f32
  %1 = math.cosh %a fastmath<nnan,ninf> {keep.n = 3 : i8} : f32
  %2 = math.cosh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @cosh(%a: f64) {
  %0 = "math.cosh"(%a) : (f64) -> f64
  %1 = "math.cosh"(%a) <{fastmath = #arith.fastmath<nsz,arcp,afn>}> : (f64) -> f64
  %2 = "math.cosh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @erf(%a: f8E5M2, %b: vector<4xf8E5M2FNUZ>, %c: tensor<2x?xf8E8M0FNU>, %d: tensor<*xbf16>, %e: vector<2x[4]xf8E5M2>) {
  %0 = math.erf %a : f8E5M2
  %1 = math.erf %b : vector<4xf8E5M2FNUZ>
  %2 = math.erf %c : tensor<2x?xf8E8M0FNU>
  %3 = math.erf %d : tensor<*xbf16>
  %4 = math.erf %e : vector<2x[4]xf8E5M2>
  return
}
// -----
// Fast-math flags and attributes.
func.func @erf(%a: f32) {
  %0 = math.erf %a fastmath<none> : f32
  %1 = math.erf %a fastmath<reassoc> {keep.n = 3 : i8} : f32
  %2 = math.erf %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @erf(%a: f64) {
  %0 = "math.erf"(%a) : (f64) -> f64
  %1 = "math.erf"(%a) <{fastmath = #arith.fastmath<nnan>}> : (f64) -> f64
  %2 = "math.erf"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @erfc(%a: f16, %b: vector<4xtf32>, %c: tensor<2x?xf32>, %d: tensor<*xf64>, %e: vector<2x[4]xf16>) {
  %0 = math.erfc %a : f16
  %1 = math.erfc %b : vector<4xtf32>
  %2 = math.erfc %c : tensor<2x?xf32>
  %3 = math.erfc %d : tensor<*xf64>
  %4 = math.erfc %e : vector<2x[4]xf16>
  return
}
// -----
// Fast-math flags and attributes.
func.func @erfc(%a: f32) {
  %0 = math.erfc %a fastmath<ninf> : f32
  %1 = math.erfc %a fastmath<nsz> {keep.n = 3 : i8} : f32
  %2 = math.erfc %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @erfc(%a: f64) {
  %0 = "math.erfc"(%a) : (f64) -> f64
  %1 = "math.erfc"(%a) <{fastmath = #arith.fastmath<arcp>}> : (f64) -> f64
  %2 = "math.erfc"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @exp(%a: f80, %b: vector<4xf128>, %c: tensor<2x?xf4E2M1FN>, %d: tensor<*xf6E2M3FN>, %e: vector<2x[4]xf80>) {
  %0 = math.exp %a : f80
  %1 = math.exp %b : vector<4xf128>
  %2 = math.exp %c : tensor<2x?xf4E2M1FN>
  %3 = math.exp %d : tensor<*xf6E2M3FN>
  %4 = math.exp %e : vector<2x[4]xf80>
  return
}
// -----
// Fast-math flags and attributes.
func.func @exp(%a: f32) {
  %0 = math.exp %a fastmath<contract> : f32
  %1 = math.exp %a fastmath<afn> {keep.n = 3 : i8} : f32
  %2 = math.exp %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @exp(%a: f64) {
  %0 = "math.exp"(%a) : (f64) -> f64
  %1 = "math.exp"(%a) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  %2 = "math.exp"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @exp2(%a: f6E3M2FN, %b: vector<4xf8E3M4>, %c: tensor<2x?xf8E4M3>, %d: tensor<*xf8E4M3FN>, %e: vector<2x[4]xf6E3M2FN>) {
  %0 = math.exp2 %a : f6E3M2FN
  %1 = math.exp2 %b : vector<4xf8E3M4>
  %2 = math.exp2 %c : tensor<2x?xf8E4M3>
  %3 = math.exp2 %d : tensor<*xf8E4M3FN>
  %4 = math.exp2 %e : vector<2x[4]xf6E3M2FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @exp2(%a: f32) {
  %0 = math.exp2 %a fastmath<nnan,ninf> : f32
  %1 = math.exp2 %a fastmath<nsz,arcp,afn> {keep.n = 3 : i8} : f32
  %2 = math.exp2 %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @exp2(%a: f64) {
  %0 = "math.exp2"(%a) : (f64) -> f64
  %1 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
  %2 = "math.exp2"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @expm1(%a: f8E4M3FNUZ, %b: vector<4xf8E4M3B11FNUZ>, %c: tensor<2x?xf8E5M2>, %d: tensor<*xf8E5M2FNUZ>, %e: vector<2x[4]xf8E4M3FNUZ>) {
  %0 = math.expm1 %a : f8E4M3FNUZ
  %1 = math.expm1 %b : vector<4xf8E4M3B11FNUZ>
  %2 = math.expm1 %c : tensor<2x?xf8E5M2>
  %3 = math.expm1 %d : tensor<*xf8E5M2FNUZ>
  %4 = math.expm1 %e : vector<2x[4]xf8E4M3FNUZ>
  return
}
// -----
// Fast-math flags and attributes.
func.func @expm1(%a: f32) {
  %0 = math.expm1 %a fastmath<reassoc> : f32
  %1 = math.expm1 %a fastmath<nnan> {keep.n = 3 : i8} : f32
  %2 = math.expm1 %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @expm1(%a: f64) {
  %0 = "math.expm1"(%a) : (f64) -> f64
  %1 = "math.expm1"(%a) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> f64
  %2 = "math.expm1"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @floor(%a: f8E8M0FNU, %b: vector<4xbf16>, %c: tensor<2x?xf16>, %d: tensor<*xtf32>, %e: vector<2x[4]xf8E8M0FNU>) {
  %0 = math.floor %a : f8E8M0FNU
  %1 = math.floor %b : vector<4xbf16>
  %2 = math.floor %c : tensor<2x?xf16>
  %3 = math.floor %d : tensor<*xtf32>
  %4 = math.floor %e : vector<2x[4]xf8E8M0FNU>
  return
}
// -----
// Fast-math flags and attributes.
func.func @floor(%a: f32) {
  %0 = math.floor %a fastmath<nsz> : f32
  %1 = math.floor %a fastmath<arcp> {keep.n = 3 : i8} : f32
  %2 = math.floor %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @floor(%a: f64) {
  %0 = "math.floor"(%a) : (f64) -> f64
  %1 = "math.floor"(%a) <{fastmath = #arith.fastmath<contract>}> : (f64) -> f64
  %2 = "math.floor"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @log(%a: f32, %b: vector<4xf64>, %c: tensor<2x?xf80>, %d: tensor<*xf128>, %e: vector<2x[4]xf32>) {
  %0 = math.log %a : f32
  %1 = math.log %b : vector<4xf64>
  %2 = math.log %c : tensor<2x?xf80>
  %3 = math.log %d : tensor<*xf128>
  %4 = math.log %e : vector<2x[4]xf32>
  return
}
// -----
// Fast-math flags and attributes.
func.func @log(%a: f32) {
  %0 = math.log %a fastmath<afn> : f32
  %1 = math.log %a fastmath<fast> {keep.n = 3 : i8} : f32
  %2 = math.log %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @log(%a: f64) {
  %0 = "math.log"(%a) : (f64) -> f64
  %1 = "math.log"(%a) <{fastmath = #arith.fastmath<nnan,ninf>}> : (f64) -> f64
  %2 = "math.log"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @log10(%a: f4E2M1FN, %b: vector<4xf6E2M3FN>, %c: tensor<2x?xf6E3M2FN>, %d: tensor<*xf8E3M4>, %e: vector<2x[4]xf4E2M1FN>) {
  %0 = math.log10 %a : f4E2M1FN
  %1 = math.log10 %b : vector<4xf6E2M3FN>
  %2 = math.log10 %c : tensor<2x?xf6E3M2FN>
  %3 = math.log10 %d : tensor<*xf8E3M4>
  %4 = math.log10 %e : vector<2x[4]xf4E2M1FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @log10(%a: f32) {
  %0 = math.log10 %a fastmath<nsz,arcp,afn> : f32
  %1 = math.log10 %a fastmath<none> {keep.n = 3 : i8} : f32
  %2 = math.log10 %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @log10(%a: f64) {
  %0 = "math.log10"(%a) : (f64) -> f64
  %1 = "math.log10"(%a) <{fastmath = #arith.fastmath<reassoc>}> : (f64) -> f64
  %2 = "math.log10"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @log1p(%a: f8E4M3, %b: vector<4xf8E4M3FN>, %c: tensor<2x?xf8E4M3FNUZ>, %d: tensor<*xf8E4M3B11FNUZ>, %e: vector<2x[4]xf8E4M3>) {
  %0 = math.log1p %a : f8E4M3
  %1 = math.log1p %b : vector<4xf8E4M3FN>
  %2 = math.log1p %c : tensor<2x?xf8E4M3FNUZ>
  %3 = math.log1p %d : tensor<*xf8E4M3B11FNUZ>
  %4 = math.log1p %e : vector<2x[4]xf8E4M3>
  return
}
// -----
// Fast-math flags and attributes.
func.func @log1p(%a: f32) {
  %0 = math.log1p %a fastmath<nnan> : f32
  %1 = math.log1p %a fastmath<ninf> {keep.n = 3 : i8} : f32
  %2 = math.log1p %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @log1p(%a: f64) {
  %0 = "math.log1p"(%a) : (f64) -> f64
  %1 = "math.log1p"(%a) <{fastmath = #arith.fastmath<nsz>}> : (f64) -> f64
  %2 = "math.log1p"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @log2(%a: f8E5M2, %b: vector<4xf8E5M2FNUZ>, %c: tensor<2x?xf8E8M0FNU>, %d: tensor<*xbf16>, %e: vector<2x[4]xf8E5M2>) {
  %0 = math.log2 %a : f8E5M2
  %1 = math.log2 %b : vector<4xf8E5M2FNUZ>
  %2 = math.log2 %c : tensor<2x?xf8E8M0FNU>
  %3 = math.log2 %d : tensor<*xbf16>
  %4 = math.log2 %e : vector<2x[4]xf8E5M2>
  return
}
// -----
// Fast-math flags and attributes.
func.func @log2(%a: f32) {
  %0 = math.log2 %a fastmath<arcp> : f32
  %1 = math.log2 %a fastmath<contract> {keep.n = 3 : i8} : f32
  %2 = math.log2 %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @log2(%a: f64) {
  %0 = "math.log2"(%a) : (f64) -> f64
  %1 = "math.log2"(%a) <{fastmath = #arith.fastmath<afn>}> : (f64) -> f64
  %2 = "math.log2"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @round(%a: f16, %b: vector<4xtf32>, %c: tensor<2x?xf32>, %d: tensor<*xf64>, %e: vector<2x[4]xf16>) {
  %0 = math.round %a : f16
  %1 = math.round %b : vector<4xtf32>
  %2 = math.round %c : tensor<2x?xf32>
  %3 = math.round %d : tensor<*xf64>
  %4 = math.round %e : vector<2x[4]xf16>
  return
}
// -----
// Fast-math flags and attributes.
func.func @round(%a: f32) {
  %0 = math.round %a fastmath<fast> : f32
  %1 = math.round %a fastmath<nnan,ninf> {keep.n = 3 : i8} : f32
  %2 = math.round %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @round(%a: f64) {
  %0 = "math.round"(%a) : (f64) -> f64
  %1 = "math.round"(%a) <{fastmath = #arith.fastmath<nsz,arcp,afn>}> : (f64) -> f64
  %2 = "math.round"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @roundeven(%a: f80, %b: vector<4xf128>, %c: tensor<2x?xf4E2M1FN>, %d: tensor<*xf6E2M3FN>, %e: vector<2x[4]xf80>) {
  %0 = math.roundeven %a : f80
  %1 = math.roundeven %b : vector<4xf128>
  %2 = math.roundeven %c : tensor<2x?xf4E2M1FN>
  %3 = math.roundeven %d : tensor<*xf6E2M3FN>
  %4 = math.roundeven %e : vector<2x[4]xf80>
  return
}
// -----
// Fast-math flags and attributes.
func.func @roundeven(%a: f32) {
  %0 = math.roundeven %a fastmath<none> : f32
  %1 = math.roundeven %a fastmath<reassoc> {keep.n = 3 : i8} : f32
  %2 = math.roundeven %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @roundeven(%a: f64) {
  %0 = "math.roundeven"(%a) : (f64) -> f64
  %1 = "math.roundeven"(%a) <{fastmath = #arith.fastmath<nnan>}> : (f64) -> f64
  %2 = "math.roundeven"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @rsqrt(%a: f6E3M2FN, %b: vector<4xf8E3M4>, %c: tensor<2x?xf8E4M3>, %d: tensor<*xf8E4M3FN>, %e: vector<2x[4]xf6E3M2FN>) {
  %0 = math.rsqrt %a : f6E3M2FN
  %1 = math.rsqrt %b : vector<4xf8E3M4>
  %2 = math.rsqrt %c : tensor<2x?xf8E4M3>
  %3 = math.rsqrt %d : tensor<*xf8E4M3FN>
  %4 = math.rsqrt %e : vector<2x[4]xf6E3M2FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @rsqrt(%a: f32) {
  %0 = math.rsqrt %a fastmath<ninf> : f32
  %1 = math.rsqrt %a fastmath<nsz> {keep.n = 3 : i8} : f32
  %2 = math.rsqrt %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @rsqrt(%a: f64) {
  %0 = "math.rsqrt"(%a) : (f64) -> f64
  %1 = "math.rsqrt"(%a) <{fastmath = #arith.fastmath<arcp>}> : (f64) -> f64
  %2 = "math.rsqrt"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @sin(%a: f8E4M3FNUZ, %b: vector<4xf8E4M3B11FNUZ>, %c: tensor<2x?xf8E5M2>, %d: tensor<*xf8E5M2FNUZ>, %e: vector<2x[4]xf8E4M3FNUZ>) {
  %0 = math.sin %a : f8E4M3FNUZ
  %1 = math.sin %b : vector<4xf8E4M3B11FNUZ>
  %2 = math.sin %c : tensor<2x?xf8E5M2>
  %3 = math.sin %d : tensor<*xf8E5M2FNUZ>
  %4 = math.sin %e : vector<2x[4]xf8E4M3FNUZ>
  return
}
// -----
// Fast-math flags and attributes.
func.func @sin(%a: f32) {
  %0 = math.sin %a fastmath<contract> : f32
  %1 = math.sin %a fastmath<afn> {keep.n = 3 : i8} : f32
  %2 = math.sin %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @sin(%a: f64) {
  %0 = "math.sin"(%a) : (f64) -> f64
  %1 = "math.sin"(%a) <{fastmath = #arith.fastmath<fast>}> : (f64) -> f64
  %2 = "math.sin"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @sinh(%a: f8E8M0FNU, %b: vector<4xbf16>, %c: tensor<2x?xf16>, %d: tensor<*xtf32>, %e: vector<2x[4]xf8E8M0FNU>) {
  %0 = math.sinh %a : f8E8M0FNU
  %1 = math.sinh %b : vector<4xbf16>
  %2 = math.sinh %c : tensor<2x?xf16>
  %3 = math.sinh %d : tensor<*xtf32>
  %4 = math.sinh %e : vector<2x[4]xf8E8M0FNU>
  return
}
// -----
// Fast-math flags and attributes.
func.func @sinh(%a: f32) {
  %0 = math.sinh %a fastmath<nnan,ninf> : f32
  %1 = math.sinh %a fastmath<nsz,arcp,afn> {keep.n = 3 : i8} : f32
  %2 = math.sinh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @sinh(%a: f64) {
  %0 = "math.sinh"(%a) : (f64) -> f64
  %1 = "math.sinh"(%a) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
  %2 = "math.sinh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @sqrt(%a: f32, %b: vector<4xf64>, %c: tensor<2x?xf80>, %d: tensor<*xf128>, %e: vector<2x[4]xf32>) {
  %0 = math.sqrt %a : f32
  %1 = math.sqrt %b : vector<4xf64>
  %2 = math.sqrt %c : tensor<2x?xf80>
  %3 = math.sqrt %d : tensor<*xf128>
  %4 = math.sqrt %e : vector<2x[4]xf32>
  return
}
// -----
// Fast-math flags and attributes.
func.func @sqrt(%a: f32) {
  %0 = math.sqrt %a fastmath<reassoc> : f32
  %1 = math.sqrt %a fastmath<nnan> {keep.n = 3 : i8} : f32
  %2 = math.sqrt %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @sqrt(%a: f64) {
  %0 = "math.sqrt"(%a) : (f64) -> f64
  %1 = "math.sqrt"(%a) <{fastmath = #arith.fastmath<ninf>}> : (f64) -> f64
  %2 = "math.sqrt"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @tan(%a: f4E2M1FN, %b: vector<4xf6E2M3FN>, %c: tensor<2x?xf6E3M2FN>, %d: tensor<*xf8E3M4>, %e: vector<2x[4]xf4E2M1FN>) {
  %0 = math.tan %a : f4E2M1FN
  %1 = math.tan %b : vector<4xf6E2M3FN>
  %2 = math.tan %c : tensor<2x?xf6E3M2FN>
  %3 = math.tan %d : tensor<*xf8E3M4>
  %4 = math.tan %e : vector<2x[4]xf4E2M1FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @tan(%a: f32) {
  %0 = math.tan %a fastmath<nsz> : f32
  %1 = math.tan %a fastmath<arcp> {keep.n = 3 : i8} : f32
  %2 = math.tan %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @tan(%a: f64) {
  %0 = "math.tan"(%a) : (f64) -> f64
  %1 = "math.tan"(%a) <{fastmath = #arith.fastmath<contract>}> : (f64) -> f64
  %2 = "math.tan"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @tanh(%a: f8E4M3, %b: vector<4xf8E4M3FN>, %c: tensor<2x?xf8E4M3FNUZ>, %d: tensor<*xf8E4M3B11FNUZ>, %e: vector<2x[4]xf8E4M3>) {
  %0 = math.tanh %a : f8E4M3
  %1 = math.tanh %b : vector<4xf8E4M3FN>
  %2 = math.tanh %c : tensor<2x?xf8E4M3FNUZ>
  %3 = math.tanh %d : tensor<*xf8E4M3B11FNUZ>
  %4 = math.tanh %e : vector<2x[4]xf8E4M3>
  return
}
// -----
// Fast-math flags and attributes.
func.func @tanh(%a: f32) {
  %0 = math.tanh %a fastmath<afn> : f32
  %1 = math.tanh %a fastmath<fast> {keep.n = 3 : i8} : f32
  %2 = math.tanh %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @tanh(%a: f64) {
  %0 = "math.tanh"(%a) : (f64) -> f64
  %1 = "math.tanh"(%a) <{fastmath = #arith.fastmath<nnan,ninf>}> : (f64) -> f64
  %2 = "math.tanh"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @trunc(%a: f8E5M2, %b: vector<4xf8E5M2FNUZ>, %c: tensor<2x?xf8E8M0FNU>, %d: tensor<*xbf16>, %e: vector<2x[4]xf8E5M2>) {
  %0 = math.trunc %a : f8E5M2
  %1 = math.trunc %b : vector<4xf8E5M2FNUZ>
  %2 = math.trunc %c : tensor<2x?xf8E8M0FNU>
  %3 = math.trunc %d : tensor<*xbf16>
  %4 = math.trunc %e : vector<2x[4]xf8E5M2>
  return
}
// -----
// Fast-math flags and attributes.
func.func @trunc(%a: f32) {
  %0 = math.trunc %a fastmath<nsz,arcp,afn> : f32
  %1 = math.trunc %a fastmath<none> {keep.n = 3 : i8} : f32
  %2 = math.trunc %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @trunc(%a: f64) {
  %0 = "math.trunc"(%a) : (f64) -> f64
  %1 = "math.trunc"(%a) <{fastmath = #arith.fastmath<reassoc>}> : (f64) -> f64
  %2 = "math.trunc"(%a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64) -> f64
  return
}
// -----
// Containers.
func.func @atan2(%a: f16, %b: vector<4xtf32>, %c: tensor<2x?xf32>, %d: tensor<*xf64>, %e: vector<2x[4]xf16>) {
  %0 = math.atan2 %a, %a : f16
  %1 = math.atan2 %b, %b : vector<4xtf32>
  %2 = math.atan2 %c, %c : tensor<2x?xf32>
  %3 = math.atan2 %d, %d : tensor<*xf64>
  %4 = math.atan2 %e, %e : vector<2x[4]xf16>
  return
}
// -----
// Fast-math flags and attributes.
func.func @atan2(%a: f32) {
  %0 = math.atan2 %a, %a fastmath<nnan> : f32
  %1 = math.atan2 %a, %a fastmath<ninf> {keep.n = 3 : i8} : f32
  %2 = math.atan2 %a, %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @atan2(%a: f64) {
  %0 = "math.atan2"(%a, %a) : (f64, f64) -> f64
  %1 = "math.atan2"(%a, %a) <{fastmath = #arith.fastmath<nsz>}> : (f64, f64) -> f64
  %2 = "math.atan2"(%a, %a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64, f64) -> f64
  return
}
// -----
// Containers.
func.func @copysign(%a: f80, %b: vector<4xf128>, %c: tensor<2x?xf4E2M1FN>, %d: tensor<*xf6E2M3FN>, %e: vector<2x[4]xf80>) {
  %0 = math.copysign %a, %a : f80
  %1 = math.copysign %b, %b : vector<4xf128>
  %2 = math.copysign %c, %c : tensor<2x?xf4E2M1FN>
  %3 = math.copysign %d, %d : tensor<*xf6E2M3FN>
  %4 = math.copysign %e, %e : vector<2x[4]xf80>
  return
}
// -----
// Fast-math flags and attributes.
func.func @copysign(%a: f32) {
  %0 = math.copysign %a, %a fastmath<arcp> : f32
  %1 = math.copysign %a, %a fastmath<contract> {keep.n = 3 : i8} : f32
  %2 = math.copysign %a, %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @copysign(%a: f64) {
  %0 = "math.copysign"(%a, %a) : (f64, f64) -> f64
  %1 = "math.copysign"(%a, %a) <{fastmath = #arith.fastmath<afn>}> : (f64, f64) -> f64
  %2 = "math.copysign"(%a, %a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64, f64) -> f64
  return
}
// -----
// Containers.
func.func @powf(%a: f6E3M2FN, %b: vector<4xf8E3M4>, %c: tensor<2x?xf8E4M3>, %d: tensor<*xf8E4M3FN>, %e: vector<2x[4]xf6E3M2FN>) {
  %0 = math.powf %a, %a : f6E3M2FN
  %1 = math.powf %b, %b : vector<4xf8E3M4>
  %2 = math.powf %c, %c : tensor<2x?xf8E4M3>
  %3 = math.powf %d, %d : tensor<*xf8E4M3FN>
  %4 = math.powf %e, %e : vector<2x[4]xf6E3M2FN>
  return
}
// -----
// Fast-math flags and attributes.
func.func @powf(%a: f32) {
  %0 = math.powf %a, %a fastmath<fast> : f32
  %1 = math.powf %a, %a fastmath<nnan,ninf> {keep.n = 3 : i8} : f32
  %2 = math.powf %a, %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @powf(%a: f64) {
  %0 = "math.powf"(%a, %a) : (f64, f64) -> f64
  %1 = "math.powf"(%a, %a) <{fastmath = #arith.fastmath<nsz,arcp,afn>}> : (f64, f64) -> f64
  %2 = "math.powf"(%a, %a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64, f64) -> f64
  return
}
// -----
// Containers.
func.func @fma(%a: f8E4M3FNUZ, %b: vector<4xf8E4M3B11FNUZ>, %c: tensor<2x?xf8E5M2>, %d: tensor<*xf8E5M2FNUZ>, %e: vector<2x[4]xf8E4M3FNUZ>) {
  %0 = math.fma %a, %a, %a : f8E4M3FNUZ
  %1 = math.fma %b, %b, %b : vector<4xf8E4M3B11FNUZ>
  %2 = math.fma %c, %c, %c : tensor<2x?xf8E5M2>
  %3 = math.fma %d, %d, %d : tensor<*xf8E5M2FNUZ>
  %4 = math.fma %e, %e, %e : vector<2x[4]xf8E4M3FNUZ>
  return
}
// -----
// Fast-math flags and attributes.
func.func @fma(%a: f32) {
  %0 = math.fma %a, %a, %a fastmath<none> : f32
  %1 = math.fma %a, %a, %a fastmath<reassoc> {keep.n = 3 : i8} : f32
  %2 = math.fma %a, %a, %a {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @fma(%a: f64) {
  %0 = "math.fma"(%a, %a, %a) : (f64, f64, f64) -> f64
  %1 = "math.fma"(%a, %a, %a) <{fastmath = #arith.fastmath<nnan>}> : (f64, f64, f64) -> f64
  %2 = "math.fma"(%a, %a, %a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64, f64, f64) -> f64
  return
}
// -----
// Containers.
func.func @clampf(%a: f8E8M0FNU, %b: vector<4xbf16>, %c: tensor<2x?xf16>, %d: tensor<*xtf32>, %e: vector<2x[4]xf8E8M0FNU>) {
  %0 = math.clampf %a to [%a, %a] : f8E8M0FNU
  %1 = math.clampf %b to [%b, %b] : vector<4xbf16>
  %2 = math.clampf %c to [%c, %c] : tensor<2x?xf16>
  %3 = math.clampf %d to [%d, %d] : tensor<*xtf32>
  %4 = math.clampf %e to [%e, %e] : vector<2x[4]xf8E8M0FNU>
  return
}
// -----
// Fast-math flags and attributes.
func.func @clampf(%a: f32) {
  %0 = math.clampf %a to [%a, %a] fastmath<ninf> : f32
  %1 = math.clampf %a to [%a, %a] fastmath<nsz> {keep.n = 3 : i8} : f32
  %2 = math.clampf %a to [%a, %a] {keep.u} : f32
  return
}
// -----
// Generic form.
func.func @clampf(%a: f64) {
  %0 = "math.clampf"(%a, %a, %a) : (f64, f64, f64) -> f64
  %1 = "math.clampf"(%a, %a, %a) <{fastmath = #arith.fastmath<arcp>}> : (f64, f64, f64) -> f64
  %2 = "math.clampf"(%a, %a, %a) {keep.a, fastmath = #arith.fastmath<ninf>} : (f64, f64, f64) -> f64
  return
}
