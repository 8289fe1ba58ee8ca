// One head of attention in f32: softmax(q k^T / 2) v, for 8 queries and keys of 4 numbers each.
//
//   halfulp verify --ulp examples/attention.mlir --samples=20
func.func @attention(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %half = arith.constant dense<0.5> : tensor<8x8xf32>
  %square = tensor.empty() : tensor<8x8xf32>
  %column = tensor.empty() : tensor<8xf32>
  %wide = tensor.empty() : tensor<8x4xf32>
  %keys = tensor.empty() : tensor<4x8xf32>
  %kt = linalg.transpose ins(%k : tensor<8x4xf32>) outs(%keys : tensor<4x8xf32>) permutation = [1, 0]
  %s0 = linalg.fill ins(%zero : f32) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %dots = linalg.matmul ins(%q, %kt : tensor<8x4xf32>, tensor<4x8xf32>) outs(%s0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = arith.mulf %dots, %half : tensor<8x8xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%column : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<8x8xf32>) outs(%m0 : tensor<8xf32>) dimensions = [1]
  %ms = linalg.broadcast ins(%m : tensor<8xf32>) outs(%square : tensor<8x8xf32>) dimensions = [1]
  %d = arith.subf %s, %ms : tensor<8x8xf32>
  %e = math.exp %d : tensor<8x8xf32>
  %t0 = linalg.fill ins(%zero : f32) outs(%column : tensor<8xf32>) -> tensor<8xf32>
  %t = linalg.reduce { arith.addf } ins(%e : tensor<8x8xf32>) outs(%t0 : tensor<8xf32>) dimensions = [1]
  %ts = linalg.broadcast ins(%t : tensor<8xf32>) outs(%square : tensor<8x8xf32>) dimensions = [1]
  %p = arith.divf %e, %ts : tensor<8x8xf32>
  %r0 = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%p, %v : tensor<8x8xf32>, tensor<8x4xf32>) outs(%r0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
