// Programs of TOSA that passes of LLVM have compiled wrongly. docs/tosa.md says which version does.

func.func @padded_pool(%x: tensor<1x3x1x1xi8>) -> tensor<1x3x1x1xi8> {
  %p = tosa.const_shape {values = dense<[0, 0, 1, 0, 0, 0, 0, 0]> : tensor<8xindex>} : () -> !tosa.shape<8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.pad %x, %p, %z : (tensor<1x3x1x1xi8>, !tosa.shape<8>, tensor<1xi8>) -> tensor<1x4x1x1xi8>
  %1 = tosa.avg_pool2d %0, %z, %z
    {acc_type = i32, kernel = array<i64: 2, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x4x1x1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x3x1x1xi8>
  return %1 : tensor<1x3x1x1xi8>
}

func.func @compared() -> tensor<1xi1> {
  %0 = "tosa.const"() <{values = dense<200> : tensor<1xui8>}> : () -> tensor<1xui8>
  %1 = "tosa.const"() <{values = dense<100> : tensor<1xui8>}> : () -> tensor<1xui8>
  %2 = tosa.greater %0, %1 : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xi1>
  return %2 : tensor<1xi1>
}

func.func @to_bool() -> tensor<i1> {
  %0 = "tosa.const"() <{values = dense<10> : tensor<i32>}> : () -> tensor<i32>
  %1 = tosa.cast %0 : (tensor<i32>) -> tensor<i1>
  return %1 : tensor<i1>
}

func.func @times_zero(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %s = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %1 = tosa.mul %x, %0, %s : (tensor<1xf32>, tensor<1xf32>, tensor<1xi8>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

func.func @clamped(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = tosa.clamp %x {max_val = 0x7F800000 : f32, min_val = 0xFF800000 : f32, nan_mode = IGNORE}
    : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

func.func @true_to_float() -> tensor<1xf32> {
  %0 = "tosa.const"() <{values = dense<true> : tensor<1xi1>}> : () -> tensor<1xi1>
  %1 = tosa.cast %0 : (tensor<1xi1>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

func.func @shifted(%x: tensor<3xi8>) -> tensor<3xi8> {
  %by = "tosa.const"() <{values = dense<0> : tensor<3xi8>}> : () -> tensor<3xi8>
  %0 = tosa.arithmetic_right_shift %x, %by {round = true} : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

func.func @negated(%x: tensor<3xi8>) -> tensor<3xi8> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.negate %x, %z, %z : (tensor<3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

func.func @resized(%x: tensor<1x1x3x1xi8>) -> tensor<1x1x6x1xi32> {
  %s = tosa.const_shape {values = dense<[1, 1, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[0, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.resize %x, %s, %o, %b {mode = BILINEAR}
    : (tensor<1x1x3x1xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x1x6x1xi32>
  return %0 : tensor<1x1x6x1xi32>
}

func.func @greatest() -> tensor<1xf32> {
  %0 = "tosa.const"() <{values = dense<0xFF800000> : tensor<2xf32>}> : () -> tensor<2xf32>
  %1 = tosa.reduce_max %0 {axis = 0 : i32} : (tensor<2xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

func.func @padded_conv(%x: tensor<1x2x1x1xf32>, %w: tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32> {
  %p = tosa.const_shape {values = dense<[0, 0, 1, 0, 0, 0, 0, 0]> : tensor<8xindex>} : () -> !tosa.shape<8>
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.pad %x, %p, %z : (tensor<1x2x1x1xf32>, !tosa.shape<8>, tensor<1xf32>) -> tensor<1x3x1x1xf32>
  %1 = tosa.conv2d %0, %w, %z, %z, %z
    {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x1x1xf32>
  return %1 : tensor<1x2x1x1xf32>
}
