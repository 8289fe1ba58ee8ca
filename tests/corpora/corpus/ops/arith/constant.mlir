// true
func.func @constant() {
  %0 = arith.constant true
  %1 = arith.constant {keep.a = 0 : i8} true
  %2 = "arith.constant"() <{value = true}> : () -> i1
  return
}
// -----
// false
func.func @constant() {
  %0 = arith.constant false
  %1 = arith.constant {keep.a = 1 : i8} false
  %2 = "arith.constant"() <{value = false}> : () -> i1
  return
}
// -----
// 0 : i8
func.func @constant() {
  %0 = arith.constant 0 : i8
  %1 = arith.constant {keep.a = 2 : i8} 0 : i8
  %2 = "arith.constant"() <{value = 0 : i8}> : () -> i8
  return
}
// -----
// -1 : i64
func.func @constant() {
  %0 = arith.constant -1 : i64
  %1 = arith.constant {keep.a = 3 : i8} -1 : i64
  %2 = "arith.constant"() <{value = -1 : i64}> : () -> i64
  return
}
// -----
// 42 : index
func.func @constant() {
  %0 = arith.constant 42 : index
  %1 = arith.constant {keep.a = 4 : i8} 42 : index
  %2 = "arith.constant"() <{value = 42 : index}> : () -> index
  return
}
// -----
// -7 : index
func.func @constant() {
  %0 = arith.constant -7 : index
  %1 = arith.constant {keep.a = 5 : i8} -7 : index
  %2 = "arith.constant"() <{value = -7 : index}> : () -> index
  return
}
// -----
// 255 : i8
func.func @constant() {
  %0 = arith.constant 255 : i8
  %1 = arith.constant {keep.a = 6 : i8} 255 : i8
  %2 = "arith.constant"() <{value = 255 : i8}> : () -> i8
  return
}
// -----
// 0 : i0
func.func @constant() {
  %0 = arith.constant 0 : i0
  %1 = arith.constant {keep.a = 7 : i8} 0 : i0
  %2 = "arith.constant"() <{value = 0 : i0}> : () -> i0
  return
}
// -----
// 1.5 : f16
func.func @constant() {
  %0 = arith.constant 1.5 : f16
  %1 = arith.constant {keep.a = 8 : i8} 1.5 : f16
  %2 = "arith.constant"() <{value = 1.5 : f16}> : () -> f16
  return
}
// -----
// 0x7F800001 : f32
func.func @constant() {
  %0 = arith.constant 0x7F800001 : f32
  %1 = arith.constant {keep.a = 9 : i8} 0x7F800001 : f32
  %2 = "arith.constant"() <{value = 0x7F800001 : f32}> : () -> f32
  return
}
// -----
// -0.0 : f64
func.func @constant() {
  %0 = arith.constant -0.0 : f64
  %1 = arith.constant {keep.a = 10 : i8} -0.0 : f64
  %2 = "arith.constant"() <{value = -0.0 : f64}> : () -> f64
  return
}
// -----
// 0x7FFF8000000000000001 : f80
func.func @constant() {
  %0 = arith.constant 0x7FFF8000000000000001 : f80
  %1 = arith.constant {keep.a = 11 : i8} 0x7FFF8000000000000001 : f80
  %2 = "arith.constant"() <{value = 0x7FFF8000000000000001 : f80}> : () -> f80
  return
}
// -----
// 1.0 : f8E8M0FNU
func.func @constant() {
  %0 = arith.constant 1.0 : f8E8M0FNU
  %1 = arith.constant {keep.a = 12 : i8} 1.0 : f8E8M0FNU
  %2 = "arith.constant"() <{value = 1.0 : f8E8M0FNU}> : () -> f8E8M0FNU
  return
}
// -----
// dense<1> : tensor<4xi8>
func.func @constant() {
  %0 = arith.constant dense<1> : tensor<4xi8>
  %1 = arith.constant {keep.a = 13 : i8} dense<1> : tensor<4xi8>
  %2 = "arith.constant"() <{value = dense<1> : tensor<4xi8>}> : () -> tensor<4xi8>
  return
}
// -----
// dense<[1, 2]> : tensor<2xindex>
func.func @constant() {
  %0 = arith.constant dense<[1, 2]> : tensor<2xindex>
  %1 = arith.constant {keep.a = 14 : i8} dense<[1, 2]> : tensor<2xindex>
  %2 = "arith.constant"() <{value = dense<[1, 2]> : tensor<2xindex>}> : () -> tensor<2xindex>
  return
}
// -----
// dense<[true, false]> : vector<2xi1>
func.func @constant() {
  %0 = arith.constant dense<[true, false]> : vector<2xi1>
  %1 = arith.constant {keep.a = 15 : i8} dense<[true, false]> : vector<2xi1>
  %2 = "arith.constant"() <{value = dense<[true, false]> : vector<2xi1>}> : () -> vector<2xi1>
  return
}
// -----
// dense<> : tensor<0xf32>
func.func @constant() {
  %0 = arith.constant dense<> : tensor<0xf32>
  %1 = arith.constant {keep.a = 16 : i8} dense<> : tensor<0xf32>
  %2 = "arith.constant"() <{value = dense<> : tensor<0xf32>}> : () -> tensor<0xf32>
  return
}
// -----
// dense<1.0> : vector<[4]xf32>
func.func @constant() {
  %0 = arith.constant dense<1.0> : vector<[4]xf32>
  %1 = arith.constant {keep.a = 17 : i8} dense<1.0> : vector<[4]xf32>
  %2 = "arith.constant"() <{value = dense<1.0> : vector<[4]xf32>}> : () -> vector<[4]xf32>
  return
}
// -----
// dense<"0x0102"> : tensor<2xi8>
func.func @constant() {
  %0 = arith.constant dense<"0x0102"> : tensor<2xi8>
  %1 = arith.constant {keep.a = 18 : i8} dense<"0x0102"> : tensor<2xi8>
  %2 = "arith.constant"() <{value = dense<"0x0102"> : tensor<2xi8>}> : () -> tensor<2xi8>
  return
}
// -----
// sparse<[[0]], [1]> : tensor<2xi8>
func.func @constant() {
  %0 = arith.constant sparse<[[0]], [1]> : tensor<2xi8>
  %1 = arith.constant {keep.a = 19 : i8} sparse<[[0]], [1]> : tensor<2xi8>
  %2 = "arith.constant"() <{value = sparse<[[0]], [1]> : tensor<2xi8>}> : () -> tensor<2xi8>
  return
}
// -----
// dense<0.5> : tensor<2x3xbf16>
func.func @constant() {
  %0 = arith.constant dense<0.5> : tensor<2x3xbf16>
  %1 = arith.constant {keep.a = 20 : i8} dense<0.5> : tensor<2x3xbf16>
  %2 = "arith.constant"() <{value = dense<0.5> : tensor<2x3xbf16>}> : () -> tensor<2x3xbf16>
  return
}
// -----
// A constant.
func.func @constant() {
  %0 = arith.constant dense<[[0x7FC00001], [0xFF800001]]> : tensor<2x1xf32>
  %1 = arith.constant {keep.a = 21 : i8} dense<[[0x7FC00001], [0xFF800001]]> : tensor<2x1xf32>
  %2 = "arith.constant"() <{value = dense<[[0x7FC00001], [0xFF800001]]> : tensor<2x1xf32>}> : () -> tensor<2x1xf32>
  return
}
// -----
// 1.0
func.func @constant() {
  %0 = arith.constant 1.0
  %1 = arith.constant {keep.a = 22 : i8} 1.0
  %2 = "arith.constant"() <{value = 1.0}> : () -> f64
  return
}
// -----
// 5
func.func @constant() {
  %0 = arith.constant 5
  %1 = arith.constant {keep.a = 23 : i8} 5
  %2 = "arith.constant"() <{value = 5}> : () -> i64
  return
}
// -----
// dense<3> : tensor<i32>
func.func @constant() {
  %0 = arith.constant dense<3> : tensor<i32>
  %1 = arith.constant {keep.a = 24 : i8} dense<3> : tensor<i32>
  %2 = "arith.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
  return
}
// -----
// dense_resource<weights> : tensor<2xf32>
func.func @constant() {
  %0 = arith.constant dense_resource<weights> : tensor<2xf32>
  %1 = arith.constant {keep.a = 25 : i8} dense_resource<weights> : tensor<2xf32>
  %2 = "arith.constant"() <{value = dense_resource<weights> : tensor<2xf32>}> : () -> tensor<2xf32>
  return
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
