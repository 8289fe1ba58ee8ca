// eq
func.func @cmpi(%a: i1, %b: tensor<2xi1>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi eq, %a, %a : i1
  %1 = arith.cmpi eq, %b, %b : tensor<2xi1>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 0 : i64}> : (i1, i1) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// ne
func.func @cmpi(%a: i4, %b: tensor<2xi4>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi ne, %a, %a : i4
  %1 = arith.cmpi ne, %b, %b : tensor<2xi4>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 1 : i64}> : (i4, i4) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// slt
func.func @cmpi(%a: i8, %b: tensor<2xi8>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi slt, %a, %a : i8
  %1 = arith.cmpi slt, %b, %b : tensor<2xi8>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 2 : i64}> : (i8, i8) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// sle
func.func @cmpi(%a: i16, %b: tensor<2xi16>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi sle, %a, %a : i16
  %1 = arith.cmpi sle, %b, %b : tensor<2xi16>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 3 : i64}> : (i16, i16) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// sgt
func.func @cmpi(%a: i24, %b: tensor<2xi24>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi sgt, %a, %a : i24
  %1 = arith.cmpi sgt, %b, %b : tensor<2xi24>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 4 : i64}> : (i24, i24) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// sge
func.func @cmpi(%a: i32, %b: tensor<2xi32>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi sge, %a, %a : i32
  %1 = arith.cmpi sge, %b, %b : tensor<2xi32>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 5 : i64}> : (i32, i32) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// ult
func.func @cmpi(%a: i64, %b: tensor<2xi64>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi ult, %a, %a : i64
  %1 = arith.cmpi ult, %b, %b : tensor<2xi64>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 6 : i64}> : (i64, i64) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// ule
func.func @cmpi(%a: i128, %b: tensor<2xi128>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi ule, %a, %a : i128
  %1 = arith.cmpi ule, %b, %b : tensor<2xi128>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 7 : i64}> : (i128, i128) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// ugt
func.func @cmpi(%a: i1024, %b: tensor<2xi1024>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi ugt, %a, %a : i1024
  %1 = arith.cmpi ugt, %b, %b : tensor<2xi1024>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 8 : i64}> : (i1024, i1024) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// uge
func.func @cmpi(%a: index, %b: tensor<2xindex>) -> (i1, tensor<2xi1>) {
  %0 = arith.cmpi uge, %a, %a : index
  %1 = arith.cmpi uge, %b, %b : tensor<2xindex>
  %2 = "arith.cmpi"(%a, %a) <{predicate = 9 : i64}> : (index, index) -> i1
  return %0, %1 : i1, tensor<2xi1>
}
// -----
// false
func.func @cmpf(%a: f4E2M1FN, %b: vector<4xf4E2M1FN>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf false, %a, %a : f4E2M1FN
  %1 = arith.cmpf false, %b, %b fastmath<reassoc> : vector<4xf4E2M1FN>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 0 : i64}> : (f4E2M1FN, f4E2M1FN) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// oeq
func.func @cmpf(%a: f8E4M3FNUZ, %b: vector<4xf8E4M3FNUZ>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf oeq, %a, %a : f8E4M3FNUZ
  %1 = arith.cmpf oeq, %b, %b fastmath<nnan> : vector<4xf8E4M3FNUZ>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 1 : i64}> : (f8E4M3FNUZ, f8E4M3FNUZ) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ogt
func.func @cmpf(%a: f32, %b: vector<4xf32>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ogt, %a, %a : f32
  %1 = arith.cmpf ogt, %b, %b fastmath<ninf> : vector<4xf32>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// oge
func.func @cmpf(%a: f8E3M4, %b: vector<4xf8E3M4>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf oge, %a, %a : f8E3M4
  %1 = arith.cmpf oge, %b, %b fastmath<nsz> : vector<4xf8E3M4>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 3 : i64}> : (f8E3M4, f8E3M4) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// olt
func.func @cmpf(%a: f8E8M0FNU, %b: vector<4xf8E8M0FNU>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf olt, %a, %a : f8E8M0FNU
  %1 = arith.cmpf olt, %b, %b fastmath<arcp> : vector<4xf8E8M0FNU>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 4 : i64}> : (f8E8M0FNU, f8E8M0FNU) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ole
func.func @cmpf(%a: f128, %b: vector<4xf128>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ole, %a, %a : f128
  %1 = arith.cmpf ole, %b, %b fastmath<contract> : vector<4xf128>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 5 : i64}> : (f128, f128) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// one
func.func @cmpf(%a: f8E4M3FN, %b: vector<4xf8E4M3FN>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf one, %a, %a : f8E4M3FN
  %1 = arith.cmpf one, %b, %b fastmath<afn> : vector<4xf8E4M3FN>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f8E4M3FN, f8E4M3FN) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ord
func.func @cmpf(%a: tf32, %b: vector<4xtf32>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ord, %a, %a : tf32
  %1 = arith.cmpf ord, %b, %b fastmath<fast> : vector<4xtf32>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 7 : i64}> : (tf32, tf32) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ueq
func.func @cmpf(%a: f6E3M2FN, %b: vector<4xf6E3M2FN>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ueq, %a, %a : f6E3M2FN
  %1 = arith.cmpf ueq, %b, %b fastmath<reassoc> : vector<4xf6E3M2FN>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 8 : i64}> : (f6E3M2FN, f6E3M2FN) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ugt
func.func @cmpf(%a: f8E5M2FNUZ, %b: vector<4xf8E5M2FNUZ>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ugt, %a, %a : f8E5M2FNUZ
  %1 = arith.cmpf ugt, %b, %b fastmath<nnan> : vector<4xf8E5M2FNUZ>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 9 : i64}> : (f8E5M2FNUZ, f8E5M2FNUZ) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// uge
func.func @cmpf(%a: f80, %b: vector<4xf80>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf uge, %a, %a : f80
  %1 = arith.cmpf uge, %b, %b fastmath<ninf> : vector<4xf80>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 10 : i64}> : (f80, f80) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ult
func.func @cmpf(%a: f8E4M3B11FNUZ, %b: vector<4xf8E4M3B11FNUZ>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ult, %a, %a : f8E4M3B11FNUZ
  %1 = arith.cmpf ult, %b, %b fastmath<nsz> : vector<4xf8E4M3B11FNUZ>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 11 : i64}> : (f8E4M3B11FNUZ, f8E4M3B11FNUZ) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// ule
func.func @cmpf(%a: bf16, %b: vector<4xbf16>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf ule, %a, %a : bf16
  %1 = arith.cmpf ule, %b, %b fastmath<arcp> : vector<4xbf16>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 12 : i64}> : (bf16, bf16) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// une
func.func @cmpf(%a: f6E2M3FN, %b: vector<4xf6E2M3FN>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf une, %a, %a : f6E2M3FN
  %1 = arith.cmpf une, %b, %b fastmath<contract> : vector<4xf6E2M3FN>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 13 : i64}> : (f6E2M3FN, f6E2M3FN) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// uno
func.func @cmpf(%a: f8E5M2, %b: vector<4xf8E5M2>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf uno, %a, %a : f8E5M2
  %1 = arith.cmpf uno, %b, %b fastmath<afn> : vector<4xf8E5M2>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 14 : i64}> : (f8E5M2, f8E5M2) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// true
func.func @cmpf(%a: f64, %b: vector<4xf64>) -> (i1, vector<4xi1>) {
  %0 = arith.cmpf true, %a, %a : f64
  %1 = arith.cmpf true, %b, %b fastmath<fast> : vector<4xf64>
  %2 = "arith.cmpf"(%a, %a) <{fastmath = #arith.fastmath<none>, predicate = 15 : i64}> : (f64, f64) -> i1
  return %0, %1 : i1, vector<4xi1>
}
// -----
// Unranked, dynamic and scalable, with attributes.
func.func @shapes(%a: tensor<*xi8>, %b: tensor<?xf16>, %c: vector<[4]xindex>) -> (tensor<*xi1>, tensor<?xi1>, vector<[4]xi1>) {
  %0 = arith.cmpi ult, %a, %a {keep.x} : tensor<*xi8>
  %1 = arith.cmpf uno, %b, %b {keep.y = 1 : i8} : tensor<?xf16>
  %2 = arith.cmpi eq, %c, %c : vector<[4]xindex>
  return %0, %1, %2 : tensor<*xi1>, tensor<?xi1>, vector<[4]xi1>
}
