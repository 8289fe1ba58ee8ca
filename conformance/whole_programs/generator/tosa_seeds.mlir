// Small programs of TOSA, which `halfulp fuzz --from=tosa` changes.

// --- integers

func.func @rescale(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = "tosa.const"() <{values = dense<1518500250> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<36> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %o = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.rescale %x, %m, %s, %z, %o {rounding_mode = SINGLE_ROUND, scale32 = true, per_channel = false,
    input_unsigned = false, output_unsigned = false}
    : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

func.func @rescale_per_channel(%x: tensor<2x3xi8>) -> tensor<2x3xi16> {
  %m = "tosa.const"() <{values = dense<[16384, 20000, 32767]> : tensor<3xi16>}> : () -> tensor<3xi16>
  %s = "tosa.const"() <{values = dense<[8, 13, 9]> : tensor<3xi8>}> : () -> tensor<3xi8>
  %z = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %o = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %0 = tosa.rescale %x, %m, %s, %z, %o {rounding_mode = SINGLE_ROUND, scale32 = false, per_channel = true,
    input_unsigned = false, output_unsigned = false}
    : (tensor<2x3xi8>, tensor<3xi16>, tensor<3xi8>, tensor<1xi8>, tensor<1xi16>) -> tensor<2x3xi16>
  return %0 : tensor<2x3xi16>
}

func.func @convolution(%x: tensor<1x3x3x1xi8>, %w: tensor<2x2x2x1xi8>) -> tensor<1x2x2x2xi32> {
  %b = "tosa.const"() <{values = dense<[5, -7]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %z = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %y = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %w, %b, %z, %y {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 0>,
    stride = array<i64: 2, 2>}
    : (tensor<1x3x3x1xi8>, tensor<2x2x2x1xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x2xi32>
  return %0 : tensor<1x2x2x2xi32>
}

func.func @product(%a: tensor<1x2x3xi8>, %b: tensor<1x3x2xi8>) -> tensor<1x2x2xi32> {
  %z = "tosa.const"() <{values = dense<-2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.matmul %a, %b, %z, %z
    : (tensor<1x2x3xi8>, tensor<1x3x2xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2xi32>
  return %0 : tensor<1x2x2xi32>
}

func.func @pools(%a: tensor<1x4x4x1xi8>) -> (tensor<1x2x2x1xi8>, tensor<1x2x2x1xi8>) {
  %z = "tosa.const"() <{values = dense<2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.max_pool2d %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>}
    : (tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi8>
  %1 = tosa.avg_pool2d %a, %z, %z {acc_type = i32, kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>,
    pad = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x1xi8>
  return %0, %1 : tensor<1x2x2x1xi8>, tensor<1x2x2x1xi8>
}

func.func @products_of_integers(%a: tensor<3xi32>, %b: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %s = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %c = "tosa.const"() <{values = dense<[7, -2, 1]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %0 = tosa.mul %a, %b, %s : (tensor<3xi32>, tensor<3xi32>, tensor<1xi8>) -> tensor<3xi32>
  %1 = tosa.intdiv %b, %c : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0, %1 : tensor<3xi32>, tensor<3xi32>
}

func.func @bits(%a: tensor<2x2xi16>) -> (tensor<2x2xi16>, tensor<2x2xi1>) {
  %c = "tosa.const"() <{values = dense<3> : tensor<1x1xi16>}> : () -> tensor<1x1xi16>
  %0 = tosa.arithmetic_right_shift %a, %c {round = true} : (tensor<2x2xi16>, tensor<1x1xi16>) -> tensor<2x2xi16>
  %1 = tosa.bitwise_xor %0, %a : (tensor<2x2xi16>, tensor<2x2xi16>) -> tensor<2x2xi16>
  %2 = tosa.cast %1 : (tensor<2x2xi16>) -> tensor<2x2xi1>
  return %1, %2 : tensor<2x2xi16>, tensor<2x2xi1>
}

func.func @largest(%a: tensor<4xi8>) -> tensor<1xi32> {
  %z = "tosa.const"() <{values = dense<1> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.negate %a, %z, %z : (tensor<4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  %1 = tosa.argmax %0 {axis = 0 : i32} : (tensor<4xi8>) -> tensor<i32>
  %s = tosa.const_shape {values = dense<1> : tensor<1xindex>} : () -> !tosa.shape<1>
  %2 = tosa.reshape %1, %s : (tensor<i32>, !tosa.shape<1>) -> tensor<1xi32>
  return %2 : tensor<1xi32>
}

// --- floats

func.func @floats(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>) {
  %0 = tosa.maximum %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = tosa.clamp %0 {min_val = -1.0 : f32, max_val = 6.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = tosa.reduce_sum %1 {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x1xf32>
}

func.func @softmax(%a: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %m = tosa.reduce_max %a {axis = 1 : i32} : (tensor<1x4xf32>) -> tensor<1x1xf32>
  %d = tosa.sub %a, %m : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  %e = tosa.exp %d : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s = tosa.reduce_sum %e {axis = 1 : i32} : (tensor<1x4xf32>) -> tensor<1x1xf32>
  %r = tosa.reciprocal %s : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %0 = tosa.mul %e, %r, %z : (tensor<1x4xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

func.func @chosen(%a: tensor<3xf16>, %b: tensor<3xf16>) -> tensor<3xf16> {
  %0 = tosa.greater_equal %a, %b : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xi1>
  %1 = tosa.logical_not %0 : (tensor<3xi1>) -> tensor<3xi1>
  %2 = tosa.select %1, %a, %b : (tensor<3xi1>, tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
  return %2 : tensor<3xf16>
}

// --- shapes and control flow

func.func @moves(%a: tensor<2x3xi16>) -> (tensor<3x2xi16>, tensor<4x3xi16>, tensor<1x2xi16>, tensor<2x6xi16>) {
  %p = tosa.const_shape {values = dense<[1, 1, 0, 0]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() <{values = dense<9> : tensor<1xi16>}> : () -> tensor<1xi16>
  %t = tosa.const_shape {values = dense<[1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %u = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.transpose %a {perms = array<i32: 1, 0>} : (tensor<2x3xi16>) -> tensor<3x2xi16>
  %1 = tosa.pad %a, %p, %v : (tensor<2x3xi16>, !tosa.shape<4>, tensor<1xi16>) -> tensor<4x3xi16>
  %2 = tosa.slice %a, %t, %u : (tensor<2x3xi16>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2xi16>
  %3 = tosa.reverse %a {axis = 0 : i32} : (tensor<2x3xi16>) -> tensor<2x3xi16>
  %4 = tosa.concat %3, %a {axis = 1 : i32} : (tensor<2x3xi16>, tensor<2x3xi16>) -> tensor<2x6xi16>
  return %0, %1, %2, %4 : tensor<3x2xi16>, tensor<4x3xi16>, tensor<1x2xi16>, tensor<2x6xi16>
}

func.func @indices(%a: tensor<1x3x2xi32>) -> tensor<1x2x2xi32> {
  %i = "tosa.const"() <{values = dense<[[2, 0]]> : tensor<1x2xi32>}> : () -> tensor<1x2xi32>
  %0 = tosa.gather %a, %i : (tensor<1x3x2xi32>, tensor<1x2xi32>) -> tensor<1x2x2xi32>
  return %0 : tensor<1x2x2xi32>
}

func.func @branch(%c: tensor<i1>, %a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = tosa.cond_if %c : tensor<i1> -> tensor<2xi32> {
    %n = tosa.bitwise_not %a : (tensor<2xi32>) -> tensor<2xi32>
    tosa.yield %n : tensor<2xi32>
  } else {
    tosa.yield %a : tensor<2xi32>
  }
  return %0 : tensor<2xi32>
}

// --- constants, which folders compute

func.func @folded(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi1>) {
  %c = "tosa.const"() <{values = dense<[7, -9]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %d = "tosa.const"() <{values = dense<[-2, 4]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %0 = tosa.intdiv %c, %d : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = tosa.bitwise_and %a, %0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %2 = tosa.greater %c, %d : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return %1, %2 : tensor<2xi32>, tensor<2xi1>
}

func.func @folded_bytes() -> tensor<2xi1> {
  %c = "tosa.const"() <{values = dense<[200, 3]> : tensor<2xui8>}> : () -> tensor<2xui8>
  %d = "tosa.const"() <{values = dense<[100, 7]> : tensor<2xui8>}> : () -> tensor<2xui8>
  %0 = tosa.greater %c, %d : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}
