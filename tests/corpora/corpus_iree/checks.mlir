func.func @truth(%a: i32, %b: i1, %t: tensor<2x?xi8>) {
  check.expect_true(%a) : i32
  check.expect_false(%b) {mark} : i1
  check.expect_all_true(%t) : tensor<2x?xi8>
  return
}
// -----
func.func @equal(%a: tensor<2xi4>, %b: tensor<?xf16>) {
  check.expect_eq(%a, %a) : tensor<2xi4>
  check.expect_eq(%b, %b) {mark} : tensor<?xf16>
  check.expect_eq_const(%a, dense<[1, -2]> : tensor<2xi4>) : tensor<2xi4>
  "check.expect_eq_const"(%a) <{value = dense<3> : tensor<2xi4>}> {mark} : (tensor<2xi4>) -> ()
  return
}
// -----
func.func @near(%a: tensor<2xf32>, %b: tensor<f8E4M3FN>) {
  check.expect_almost_eq(%a, %a) : tensor<2xf32>
  check.expect_almost_eq(%a, %a, atol 2.5) {mark} : tensor<2xf32>
  check.expect_almost_eq(%a, %a, atol 1.0e-03, rtol 1.0e-02) : tensor<2xf32>
  check.expect_almost_eq(%a, %a, atol 1.0e-04, rtol 0.0) : tensor<2xf32>
  check.expect_almost_eq_const(%b, dense<1.5> : tensor<f8E4M3FN>) : tensor<f8E4M3FN>
  check.expect_almost_eq_const(%b, dense<1.5> : tensor<f8E4M3FN>, atol 0.125) : tensor<f8E4M3FN>
  check.expect_almost_eq_const(%b, dense<1.5> : tensor<f8E4M3FN>, atol 0x7F800000, rtol 0.5) : tensor<f8E4M3FN>
  "check.expect_almost_eq"(%a, %a) <{atol = 3.0 : f32, rtol = 0.0 : f32}> {mark} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
func.func @kept(%a: f32, %b: tensor<?xi8>) -> (i32, tensor<2xf16>) {
  %0 = util.unfoldable_constant 5 : i32
  %1 = util.unfoldable_constant dense<[1.0, 2.0]> : tensor<2xf16>
  %2 = util.optimization_barrier %1 : tensor<2xf16>
  %3:2 = util.optimization_barrier {mark} %a, %b : f32, tensor<?xi8>
  util.optimization_barrier
  return %0, %2 : i32, tensor<2xf16>
}
// -----
func.func @shapes(%n: index, %m: tensor<?x4xi8>) {
  %0 = flow.tensor.dynamic_constant dense<2> : tensor<2x3xi32> -> tensor<?x3xi32>
  %1 = flow.tensor.dynamic_constant {mark} dense<[1.0]> : tensor<1xf32> -> tensor<?xf32>
  %2 = flow.tensor.tie_shape %0 : tensor<?x3xi32>{%n}
  %3 = flow.tensor.bitcast %m : tensor<?x4xi8>{%n} -> tensor<?xf32>{%n}
  %4 = flow.tensor.constant dense<1> : tensor<4xi8>
  %5 = flow.tensor.bitcast %4 : tensor<4xi8> -> tensor<8xf4E2M1FN>
  %6 = flow.tensor.reshape %4 : tensor<4xi8> -> tensor<2x?xi8>{%n}
  %7 = flow.tensor.reshape %4 : tensor<4xi8> -> tensor<2x2xi8> attributes {mark}
  %8 = flow.tensor.tie_shape %4 {mark} : tensor<4xi8>
  return
}
