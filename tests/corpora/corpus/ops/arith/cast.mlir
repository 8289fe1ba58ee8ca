// i1 to i8.
func.func @extsi(%a: i1, %b: vector<4xi1>, %c: tensor<?x2xi1>) -> (i8, vector<4xi8>, tensor<?x2xi8>) {
  %0 = arith.extsi %a : i1 to i8
  %1 = arith.extsi %b : vector<4xi1> to vector<4xi8>
  %2 = arith.extsi %c {keep.t} : tensor<?x2xi1> to tensor<?x2xi8>
  %3 = "arith.extsi"(%a) : (i1) -> i8
  return %0, %1, %2 : i8, vector<4xi8>, tensor<?x2xi8>
}
// -----
// i7 to i1024.
func.func @extsi(%a: i7, %b: vector<4xi7>, %c: tensor<?x2xi7>) -> (i1024, vector<4xi1024>, tensor<?x2xi1024>) {
  %0 = arith.extsi %a : i7 to i1024
  %1 = arith.extsi %b : vector<4xi7> to vector<4xi1024>
  %2 = arith.extsi %c : tensor<?x2xi7> to tensor<?x2xi1024>
  %3 = "arith.extsi"(%a) : (i7) -> i1024
  return %0, %1, %2 : i1024, vector<4xi1024>, tensor<?x2xi1024>
}
// -----
// i32 to i64.
func.func @extsi(%a: i32, %b: vector<4xi32>, %c: tensor<?x2xi32>) -> (i64, vector<4xi64>, tensor<?x2xi64>) {
  %0 = arith.extsi %a : i32 to i64
  %1 = arith.extsi %b : vector<4xi32> to vector<4xi64>
  %2 = arith.extsi %c {keep.t} : tensor<?x2xi32> to tensor<?x2xi64>
  %3 = "arith.extsi"(%a) : (i32) -> i64
  return %0, %1, %2 : i64, vector<4xi64>, tensor<?x2xi64>
}
// -----
// i1 to i2.
func.func @extui(%a: i1, %b: vector<4xi1>, %c: tensor<?x2xi1>) -> (i2, vector<4xi2>, tensor<?x2xi2>) {
  %0 = arith.extui %a : i1 to i2
  %1 = arith.extui %b : vector<4xi1> to vector<4xi2>
  %2 = arith.extui %c {keep.t} : tensor<?x2xi1> to tensor<?x2xi2>
  %3 = "arith.extui"(%a) : (i1) -> i2
  return %0, %1, %2 : i2, vector<4xi2>, tensor<?x2xi2>
}
// -----
// i16 to i128.
func.func @extui(%a: i16, %b: vector<4xi16>, %c: tensor<?x2xi16>) -> (i128, vector<4xi128>, tensor<?x2xi128>) {
  %0 = arith.extui %a : i16 to i128
  %1 = arith.extui %b : vector<4xi16> to vector<4xi128>
  %2 = arith.extui %c : tensor<?x2xi16> to tensor<?x2xi128>
  %3 = "arith.extui"(%a) : (i16) -> i128
  return %0, %1, %2 : i128, vector<4xi128>, tensor<?x2xi128>
}
// -----
// i0 to i1.
func.func @extui(%a: i0, %b: vector<4xi0>, %c: tensor<?x2xi0>) -> (i1, vector<4xi1>, tensor<?x2xi1>) {
  %0 = arith.extui %a : i0 to i1
  %1 = arith.extui %b : vector<4xi0> to vector<4xi1>
  %2 = arith.extui %c {keep.t} : tensor<?x2xi0> to tensor<?x2xi1>
  %3 = "arith.extui"(%a) : (i0) -> i1
  return %0, %1, %2 : i1, vector<4xi1>, tensor<?x2xi1>
}
// -----
// i64 to i1.
func.func @trunci(%a: i64, %b: vector<4xi64>, %c: tensor<?x2xi64>) -> (i1, vector<4xi1>, tensor<?x2xi1>) {
  %0 = arith.trunci %a : i64 to i1
  %1 = arith.trunci %b : vector<4xi64> to vector<4xi1>
  %2 = arith.trunci %c {keep.t} : tensor<?x2xi64> to tensor<?x2xi1>
  %3 = "arith.trunci"(%a) : (i64) -> i1
  return %0, %1, %2 : i1, vector<4xi1>, tensor<?x2xi1>
}
// -----
// i128 to i127.
func.func @trunci(%a: i128, %b: vector<4xi128>, %c: tensor<?x2xi128>) -> (i127, vector<4xi127>, tensor<?x2xi127>) {
  %0 = arith.trunci %a overflow<nsw, nuw> : i128 to i127
  %1 = arith.trunci %b : vector<4xi128> to vector<4xi127>
  %2 = arith.trunci %c : tensor<?x2xi128> to tensor<?x2xi127>
  %3 = "arith.trunci"(%a) : (i128) -> i127
  return %0, %1, %2 : i127, vector<4xi127>, tensor<?x2xi127>
}
// -----
// i1024 to i8.
func.func @trunci(%a: i1024, %b: vector<4xi1024>, %c: tensor<?x2xi1024>) -> (i8, vector<4xi8>, tensor<?x2xi8>) {
  %0 = arith.trunci %a : i1024 to i8
  %1 = arith.trunci %b : vector<4xi1024> to vector<4xi8>
  %2 = arith.trunci %c {keep.t} : tensor<?x2xi1024> to tensor<?x2xi8>
  %3 = "arith.trunci"(%a) : (i1024) -> i8
  return %0, %1, %2 : i8, vector<4xi8>, tensor<?x2xi8>
}
// -----
// f16 to f32.
func.func @extf(%a: f16, %b: vector<4xf16>, %c: tensor<?x2xf16>) -> (f32, vector<4xf32>, tensor<?x2xf32>) {
  %0 = arith.extf %a : f16 to f32
  %1 = arith.extf %b : vector<4xf16> to vector<4xf32>
  %2 = arith.extf %c {keep.t} : tensor<?x2xf16> to tensor<?x2xf32>
  %3 = "arith.extf"(%a) : (f16) -> f32
  return %0, %1, %2 : f32, vector<4xf32>, tensor<?x2xf32>
}
// -----
// f4E2M1FN to f6E2M3FN.
func.func @extf(%a: f4E2M1FN, %b: vector<4xf4E2M1FN>, %c: tensor<?x2xf4E2M1FN>) -> (f6E2M3FN, vector<4xf6E2M3FN>, tensor<?x2xf6E2M3FN>) {
  %0 = arith.extf %a fastmath<contract> : f4E2M1FN to f6E2M3FN
  %1 = arith.extf %b : vector<4xf4E2M1FN> to vector<4xf6E2M3FN>
  %2 = arith.extf %c : tensor<?x2xf4E2M1FN> to tensor<?x2xf6E2M3FN>
  %3 = "arith.extf"(%a) : (f4E2M1FN) -> f6E2M3FN
  return %0, %1, %2 : f6E2M3FN, vector<4xf6E2M3FN>, tensor<?x2xf6E2M3FN>
}
// -----
// f8E8M0FNU to bf16.
func.func @extf(%a: f8E8M0FNU, %b: vector<4xf8E8M0FNU>, %c: tensor<?x2xf8E8M0FNU>) -> (bf16, vector<4xbf16>, tensor<?x2xbf16>) {
  %0 = arith.extf %a : f8E8M0FNU to bf16
  %1 = arith.extf %b : vector<4xf8E8M0FNU> to vector<4xbf16>
  %2 = arith.extf %c {keep.t} : tensor<?x2xf8E8M0FNU> to tensor<?x2xbf16>
  %3 = "arith.extf"(%a) : (f8E8M0FNU) -> bf16
  return %0, %1, %2 : bf16, vector<4xbf16>, tensor<?x2xbf16>
}
// -----
// f64 to f80.
func.func @extf(%a: f64, %b: vector<4xf64>, %c: tensor<?x2xf64>) -> (f80, vector<4xf80>, tensor<?x2xf80>) {
  %0 = arith.extf %a fastmath<contract> : f64 to f80
  %1 = arith.extf %b : vector<4xf64> to vector<4xf80>
  %2 = arith.extf %c : tensor<?x2xf64> to tensor<?x2xf80>
  %3 = "arith.extf"(%a) : (f64) -> f80
  return %0, %1, %2 : f80, vector<4xf80>, tensor<?x2xf80>
}
// -----
// tf32 to f128.
func.func @extf(%a: tf32, %b: vector<4xtf32>, %c: tensor<?x2xtf32>) -> (f128, vector<4xf128>, tensor<?x2xf128>) {
  %0 = arith.extf %a : tf32 to f128
  %1 = arith.extf %b : vector<4xtf32> to vector<4xf128>
  %2 = arith.extf %c {keep.t} : tensor<?x2xtf32> to tensor<?x2xf128>
  %3 = "arith.extf"(%a) : (tf32) -> f128
  return %0, %1, %2 : f128, vector<4xf128>, tensor<?x2xf128>
}
// -----
// f32 to f16.
func.func @truncf(%a: f32, %b: vector<4xf32>, %c: tensor<?x2xf32>) -> (f16, vector<4xf16>, tensor<?x2xf16>) {
  %0 = arith.truncf %a : f32 to f16
  %1 = arith.truncf %b : vector<4xf32> to vector<4xf16>
  %2 = arith.truncf %c {keep.t} : tensor<?x2xf32> to tensor<?x2xf16>
  %3 = "arith.truncf"(%a) : (f32) -> f16
  return %0, %1, %2 : f16, vector<4xf16>, tensor<?x2xf16>
}
// -----
// f128 to f4E2M1FN.
func.func @truncf(%a: f128, %b: vector<4xf128>, %c: tensor<?x2xf128>) -> (f4E2M1FN, vector<4xf4E2M1FN>, tensor<?x2xf4E2M1FN>) {
  %0 = arith.truncf %a upward fastmath<fast> : f128 to f4E2M1FN
  %1 = arith.truncf %b : vector<4xf128> to vector<4xf4E2M1FN>
  %2 = arith.truncf %c : tensor<?x2xf128> to tensor<?x2xf4E2M1FN>
  %3 = "arith.truncf"(%a) : (f128) -> f4E2M1FN
  return %0, %1, %2 : f4E2M1FN, vector<4xf4E2M1FN>, tensor<?x2xf4E2M1FN>
}
// -----
// f64 to f8E5M2FNUZ.
func.func @truncf(%a: f64, %b: vector<4xf64>, %c: tensor<?x2xf64>) -> (f8E5M2FNUZ, vector<4xf8E5M2FNUZ>, tensor<?x2xf8E5M2FNUZ>) {
  %0 = arith.truncf %a : f64 to f8E5M2FNUZ
  %1 = arith.truncf %b : vector<4xf64> to vector<4xf8E5M2FNUZ>
  %2 = arith.truncf %c {keep.t} : tensor<?x2xf64> to tensor<?x2xf8E5M2FNUZ>
  %3 = "arith.truncf"(%a) : (f64) -> f8E5M2FNUZ
  return %0, %1, %2 : f8E5M2FNUZ, vector<4xf8E5M2FNUZ>, tensor<?x2xf8E5M2FNUZ>
}
// -----
// f80 to tf32.
func.func @truncf(%a: f80, %b: vector<4xf80>, %c: tensor<?x2xf80>) -> (tf32, vector<4xtf32>, tensor<?x2xtf32>) {
  %0 = arith.truncf %a upward fastmath<fast> : f80 to tf32
  %1 = arith.truncf %b : vector<4xf80> to vector<4xtf32>
  %2 = arith.truncf %c : tensor<?x2xf80> to tensor<?x2xtf32>
  %3 = "arith.truncf"(%a) : (f80) -> tf32
  return %0, %1, %2 : tf32, vector<4xtf32>, tensor<?x2xtf32>
}
// -----
// bf16 to f8E4M3.
func.func @truncf(%a: bf16, %b: vector<4xbf16>, %c: tensor<?x2xbf16>) -> (f8E4M3, vector<4xf8E4M3>, tensor<?x2xf8E4M3>) {
  %0 = arith.truncf %a : bf16 to f8E4M3
  %1 = arith.truncf %b : vector<4xbf16> to vector<4xf8E4M3>
  %2 = arith.truncf %c {keep.t} : tensor<?x2xbf16> to tensor<?x2xf8E4M3>
  %3 = "arith.truncf"(%a) : (bf16) -> f8E4M3
  return %0, %1, %2 : f8E4M3, vector<4xf8E4M3>, tensor<?x2xf8E4M3>
}
// -----
// i1 to f32.
func.func @sitofp(%a: i1, %b: vector<4xi1>, %c: tensor<?x2xi1>) -> (f32, vector<4xf32>, tensor<?x2xf32>) {
  %0 = arith.sitofp %a : i1 to f32
  %1 = arith.sitofp %b : vector<4xi1> to vector<4xf32>
  %2 = arith.sitofp %c {keep.t} : tensor<?x2xi1> to tensor<?x2xf32>
  %3 = "arith.sitofp"(%a) : (i1) -> f32
  return %0, %1, %2 : f32, vector<4xf32>, tensor<?x2xf32>
}
// -----
// i64 to f8E4M3FN.
func.func @sitofp(%a: i64, %b: vector<4xi64>, %c: tensor<?x2xi64>) -> (f8E4M3FN, vector<4xf8E4M3FN>, tensor<?x2xf8E4M3FN>) {
  %0 = arith.sitofp %a : i64 to f8E4M3FN
  %1 = arith.sitofp %b : vector<4xi64> to vector<4xf8E4M3FN>
  %2 = arith.sitofp %c : tensor<?x2xi64> to tensor<?x2xf8E4M3FN>
  %3 = "arith.sitofp"(%a) : (i64) -> f8E4M3FN
  return %0, %1, %2 : f8E4M3FN, vector<4xf8E4M3FN>, tensor<?x2xf8E4M3FN>
}
// -----
// i128 to f128.
func.func @sitofp(%a: i128, %b: vector<4xi128>, %c: tensor<?x2xi128>) -> (f128, vector<4xf128>, tensor<?x2xf128>) {
  %0 = arith.sitofp %a : i128 to f128
  %1 = arith.sitofp %b : vector<4xi128> to vector<4xf128>
  %2 = arith.sitofp %c {keep.t} : tensor<?x2xi128> to tensor<?x2xf128>
  %3 = "arith.sitofp"(%a) : (i128) -> f128
  return %0, %1, %2 : f128, vector<4xf128>, tensor<?x2xf128>
}
// -----
// i32 to bf16.
func.func @uitofp(%a: i32, %b: vector<4xi32>, %c: tensor<?x2xi32>) -> (bf16, vector<4xbf16>, tensor<?x2xbf16>) {
  %0 = arith.uitofp %a : i32 to bf16
  %1 = arith.uitofp %b : vector<4xi32> to vector<4xbf16>
  %2 = arith.uitofp %c {keep.t} : tensor<?x2xi32> to tensor<?x2xbf16>
  %3 = "arith.uitofp"(%a) : (i32) -> bf16
  return %0, %1, %2 : bf16, vector<4xbf16>, tensor<?x2xbf16>
}
// -----
// i8 to f6E3M2FN.
func.func @uitofp(%a: i8, %b: vector<4xi8>, %c: tensor<?x2xi8>) -> (f6E3M2FN, vector<4xf6E3M2FN>, tensor<?x2xf6E3M2FN>) {
  %0 = arith.uitofp %a : i8 to f6E3M2FN
  %1 = arith.uitofp %b : vector<4xi8> to vector<4xf6E3M2FN>
  %2 = arith.uitofp %c : tensor<?x2xi8> to tensor<?x2xf6E3M2FN>
  %3 = "arith.uitofp"(%a) : (i8) -> f6E3M2FN
  return %0, %1, %2 : f6E3M2FN, vector<4xf6E3M2FN>, tensor<?x2xf6E3M2FN>
}
// -----
// i1024 to f64.
func.func @uitofp(%a: i1024, %b: vector<4xi1024>, %c: tensor<?x2xi1024>) -> (f64, vector<4xf64>, tensor<?x2xf64>) {
  %0 = arith.uitofp %a : i1024 to f64
  %1 = arith.uitofp %b : vector<4xi1024> to vector<4xf64>
  %2 = arith.uitofp %c {keep.t} : tensor<?x2xi1024> to tensor<?x2xf64>
  %3 = "arith.uitofp"(%a) : (i1024) -> f64
  return %0, %1, %2 : f64, vector<4xf64>, tensor<?x2xf64>
}
// -----
// f32 to i32.
func.func @fptosi(%a: f32, %b: vector<4xf32>, %c: tensor<?x2xf32>) -> (i32, vector<4xi32>, tensor<?x2xi32>) {
  %0 = arith.fptosi %a : f32 to i32
  %1 = arith.fptosi %b : vector<4xf32> to vector<4xi32>
  %2 = arith.fptosi %c {keep.t} : tensor<?x2xf32> to tensor<?x2xi32>
  %3 = "arith.fptosi"(%a) : (f32) -> i32
  return %0, %1, %2 : i32, vector<4xi32>, tensor<?x2xi32>
}
// -----
// f8E3M4 to i4.
func.func @fptosi(%a: f8E3M4, %b: vector<4xf8E3M4>, %c: tensor<?x2xf8E3M4>) -> (i4, vector<4xi4>, tensor<?x2xi4>) {
  %0 = arith.fptosi %a : f8E3M4 to i4
  %1 = arith.fptosi %b : vector<4xf8E3M4> to vector<4xi4>
  %2 = arith.fptosi %c : tensor<?x2xf8E3M4> to tensor<?x2xi4>
  %3 = "arith.fptosi"(%a) : (f8E3M4) -> i4
  return %0, %1, %2 : i4, vector<4xi4>, tensor<?x2xi4>
}
// -----
// f128 to i128.
func.func @fptosi(%a: f128, %b: vector<4xf128>, %c: tensor<?x2xf128>) -> (i128, vector<4xi128>, tensor<?x2xi128>) {
  %0 = arith.fptosi %a : f128 to i128
  %1 = arith.fptosi %b : vector<4xf128> to vector<4xi128>
  %2 = arith.fptosi %c {keep.t} : tensor<?x2xf128> to tensor<?x2xi128>
  %3 = "arith.fptosi"(%a) : (f128) -> i128
  return %0, %1, %2 : i128, vector<4xi128>, tensor<?x2xi128>
}
// -----
// f64 to i1.
func.func @fptoui(%a: f64, %b: vector<4xf64>, %c: tensor<?x2xf64>) -> (i1, vector<4xi1>, tensor<?x2xi1>) {
  %0 = arith.fptoui %a : f64 to i1
  %1 = arith.fptoui %b : vector<4xf64> to vector<4xi1>
  %2 = arith.fptoui %c {keep.t} : tensor<?x2xf64> to tensor<?x2xi1>
  %3 = "arith.fptoui"(%a) : (f64) -> i1
  return %0, %1, %2 : i1, vector<4xi1>, tensor<?x2xi1>
}
// -----
// bf16 to i8.
func.func @fptoui(%a: bf16, %b: vector<4xbf16>, %c: tensor<?x2xbf16>) -> (i8, vector<4xi8>, tensor<?x2xi8>) {
  %0 = arith.fptoui %a : bf16 to i8
  %1 = arith.fptoui %b : vector<4xbf16> to vector<4xi8>
  %2 = arith.fptoui %c : tensor<?x2xbf16> to tensor<?x2xi8>
  %3 = "arith.fptoui"(%a) : (bf16) -> i8
  return %0, %1, %2 : i8, vector<4xi8>, tensor<?x2xi8>
}
// -----
// f80 to i1024.
func.func @fptoui(%a: f80, %b: vector<4xf80>, %c: tensor<?x2xf80>) -> (i1024, vector<4xi1024>, tensor<?x2xi1024>) {
  %0 = arith.fptoui %a : f80 to i1024
  %1 = arith.fptoui %b : vector<4xf80> to vector<4xi1024>
  %2 = arith.fptoui %c {keep.t} : tensor<?x2xf80> to tensor<?x2xi1024>
  %3 = "arith.fptoui"(%a) : (f80) -> i1024
  return %0, %1, %2 : i1024, vector<4xi1024>, tensor<?x2xi1024>
}
// -----
// f32 to i32.
func.func @bitcast(%a: f32, %b: vector<4xf32>, %c: tensor<?x2xf32>) -> (i32, vector<4xi32>, tensor<?x2xi32>) {
  %0 = arith.bitcast %a : f32 to i32
  %1 = arith.bitcast %b : vector<4xf32> to vector<4xi32>
  %2 = arith.bitcast %c {keep.t} : tensor<?x2xf32> to tensor<?x2xi32>
  %3 = "arith.bitcast"(%a) : (f32) -> i32
  return %0, %1, %2 : i32, vector<4xi32>, tensor<?x2xi32>
}
// -----
// i8 to f8E4M3FN.
func.func @bitcast(%a: i8, %b: vector<4xi8>, %c: tensor<?x2xi8>) -> (f8E4M3FN, vector<4xf8E4M3FN>, tensor<?x2xf8E4M3FN>) {
  %0 = arith.bitcast %a : i8 to f8E4M3FN
  %1 = arith.bitcast %b : vector<4xi8> to vector<4xf8E4M3FN>
  %2 = arith.bitcast %c : tensor<?x2xi8> to tensor<?x2xf8E4M3FN>
  %3 = "arith.bitcast"(%a) : (i8) -> f8E4M3FN
  return %0, %1, %2 : f8E4M3FN, vector<4xf8E4M3FN>, tensor<?x2xf8E4M3FN>
}
// -----
// f16 to bf16.
func.func @bitcast(%a: f16, %b: vector<4xf16>, %c: tensor<?x2xf16>) -> (bf16, vector<4xbf16>, tensor<?x2xbf16>) {
  %0 = arith.bitcast %a : f16 to bf16
  %1 = arith.bitcast %b : vector<4xf16> to vector<4xbf16>
  %2 = arith.bitcast %c {keep.t} : tensor<?x2xf16> to tensor<?x2xbf16>
  %3 = "arith.bitcast"(%a) : (f16) -> bf16
  return %0, %1, %2 : bf16, vector<4xbf16>, tensor<?x2xbf16>
}
// -----
// i128 to f128.
func.func @bitcast(%a: i128, %b: vector<4xi128>, %c: tensor<?x2xi128>) -> (f128, vector<4xf128>, tensor<?x2xf128>) {
  %0 = arith.bitcast %a : i128 to f128
  %1 = arith.bitcast %b : vector<4xi128> to vector<4xf128>
  %2 = arith.bitcast %c : tensor<?x2xi128> to tensor<?x2xf128>
  %3 = "arith.bitcast"(%a) : (i128) -> f128
  return %0, %1, %2 : f128, vector<4xf128>, tensor<?x2xf128>
}
// -----
// f80 to i80.
func.func @bitcast(%a: f80, %b: vector<4xf80>, %c: tensor<?x2xf80>) -> (i80, vector<4xi80>, tensor<?x2xi80>) {
  %0 = arith.bitcast %a : f80 to i80
  %1 = arith.bitcast %b : vector<4xf80> to vector<4xi80>
  %2 = arith.bitcast %c {keep.t} : tensor<?x2xf80> to tensor<?x2xi80>
  %3 = "arith.bitcast"(%a) : (f80) -> i80
  return %0, %1, %2 : i80, vector<4xi80>, tensor<?x2xi80>
}
// -----
// i32 to index.
func.func @index_cast(%a: i32, %b: vector<4xi32>, %c: tensor<?x2xi32>) -> (index, vector<4xindex>, tensor<?x2xindex>) {
  %0 = arith.index_cast %a : i32 to index
  %1 = arith.index_cast %b : vector<4xi32> to vector<4xindex>
  %2 = arith.index_cast %c {keep.t} : tensor<?x2xi32> to tensor<?x2xindex>
  %3 = "arith.index_cast"(%a) : (i32) -> index
  return %0, %1, %2 : index, vector<4xindex>, tensor<?x2xindex>
}
// -----
// index to i128.
func.func @index_cast(%a: index, %b: vector<4xindex>, %c: tensor<?x2xindex>) -> (i128, vector<4xi128>, tensor<?x2xi128>) {
  %0 = arith.index_cast %a : index to i128
  %1 = arith.index_cast %b : vector<4xindex> to vector<4xi128>
  %2 = arith.index_cast %c : tensor<?x2xindex> to tensor<?x2xi128>
  %3 = "arith.index_cast"(%a) : (index) -> i128
  return %0, %1, %2 : i128, vector<4xi128>, tensor<?x2xi128>
}
// -----
// i1 to index.
func.func @index_cast(%a: i1, %b: vector<4xi1>, %c: tensor<?x2xi1>) -> (index, vector<4xindex>, tensor<?x2xindex>) {
  %0 = arith.index_cast %a : i1 to index
  %1 = arith.index_cast %b : vector<4xi1> to vector<4xindex>
  %2 = arith.index_cast %c {keep.t} : tensor<?x2xi1> to tensor<?x2xindex>
  %3 = "arith.index_cast"(%a) : (i1) -> index
  return %0, %1, %2 : index, vector<4xindex>, tensor<?x2xindex>
}
// -----
// index to i8.
func.func @index_castui(%a: index, %b: vector<4xindex>, %c: tensor<?x2xindex>) -> (i8, vector<4xi8>, tensor<?x2xi8>) {
  %0 = arith.index_castui %a : index to i8
  %1 = arith.index_castui %b : vector<4xindex> to vector<4xi8>
  %2 = arith.index_castui %c {keep.t} : tensor<?x2xindex> to tensor<?x2xi8>
  %3 = "arith.index_castui"(%a) : (index) -> i8
  return %0, %1, %2 : i8, vector<4xi8>, tensor<?x2xi8>
}
// -----
// i64 to index.
func.func @index_castui(%a: i64, %b: vector<4xi64>, %c: tensor<?x2xi64>) -> (index, vector<4xindex>, tensor<?x2xindex>) {
  %0 = arith.index_castui %a : i64 to index
  %1 = arith.index_castui %b : vector<4xi64> to vector<4xindex>
  %2 = arith.index_castui %c : tensor<?x2xi64> to tensor<?x2xindex>
  %3 = "arith.index_castui"(%a) : (i64) -> index
  return %0, %1, %2 : index, vector<4xindex>, tensor<?x2xindex>
}
// -----
// Rounding to_nearest_even.
func.func @truncf(%a: f64, %b: vector<2xf32>) -> (f32, vector<2xf16>, f16) {
  %0 = arith.truncf %a to_nearest_even : f64 to f32
  %1 = arith.truncf %b to_nearest_even fastmath<nnan> {keep.r} : vector<2xf32> to vector<2xf16>
  %2 = "arith.truncf"(%a) <{roundingmode = 0 : i32}> : (f64) -> f16
  return %0, %1, %2 : f32, vector<2xf16>, f16
}
// -----
// Rounding downward.
func.func @truncf(%a: f64, %b: vector<2xf32>) -> (f32, vector<2xf16>, f16) {
  %0 = arith.truncf %a downward : f64 to f32
  %1 = arith.truncf %b downward fastmath<nnan> {keep.r} : vector<2xf32> to vector<2xf16>
  %2 = "arith.truncf"(%a) <{roundingmode = 1 : i32}> : (f64) -> f16
  return %0, %1, %2 : f32, vector<2xf16>, f16
}
// -----
// Rounding upward.
func.func @truncf(%a: f64, %b: vector<2xf32>) -> (f32, vector<2xf16>, f16) {
  %0 = arith.truncf %a upward : f64 to f32
  %1 = arith.truncf %b upward fastmath<nnan> {keep.r} : vector<2xf32> to vector<2xf16>
  %2 = "arith.truncf"(%a) <{roundingmode = 2 : i32}> : (f64) -> f16
  return %0, %1, %2 : f32, vector<2xf16>, f16
}
// -----
// Rounding toward_zero.
func.func @truncf(%a: f64, %b: vector<2xf32>) -> (f32, vector<2xf16>, f16) {
  %0 = arith.truncf %a toward_zero : f64 to f32
  %1 = arith.truncf %b toward_zero fastmath<nnan> {keep.r} : vector<2xf32> to vector<2xf16>
  %2 = "arith.truncf"(%a) <{roundingmode = 3 : i32}> : (f64) -> f16
  return %0, %1, %2 : f32, vector<2xf16>, f16
}
// -----
// Rounding to_nearest_away.
func.func @truncf(%a: f64, %b: vector<2xf32>) -> (f32, vector<2xf16>, f16) {
  %0 = arith.truncf %a to_nearest_away : f64 to f32
  %1 = arith.truncf %b to_nearest_away fastmath<nnan> {keep.r} : vector<2xf32> to vector<2xf16>
  %2 = "arith.truncf"(%a) <{roundingmode = 4 : i32}> : (f64) -> f16
  return %0, %1, %2 : f32, vector<2xf16>, f16
}
// -----
// Buffers.
func.func @buffers(%a: memref<2xf32>, %b: memref<?xindex>) -> (memref<2xi32>, memref<?xi64>, memref<?xi32>) {
  %0 = arith.bitcast %a : memref<2xf32> to memref<2xi32>
  %1 = arith.index_cast %b : memref<?xindex> to memref<?xi64>
  %2 = arith.index_castui %b : memref<?xindex> to memref<?xi32>
  return %0, %1, %2 : memref<2xi32>, memref<?xi64>, memref<?xi32>
}
// -----
// Scalable vectors and ranks above one.
func.func @shapes(%a: vector<2x[4]xf32>, %b: tensor<2x3x4xi8>) -> (vector<2x[4]xf8E5M2>, tensor<2x3x4xi16>, vector<2x[4]xi1>) {
  %0 = arith.truncf %a : vector<2x[4]xf32> to vector<2x[4]xf8E5M2>
  %1 = arith.extsi %b : tensor<2x3x4xi8> to tensor<2x3x4xi16>
  %2 = arith.fptosi %a : vector<2x[4]xf32> to vector<2x[4]xi1>
  return %0, %1, %2 : vector<2x[4]xf8E5M2>, tensor<2x3x4xi16>, vector<2x[4]xi1>
}
