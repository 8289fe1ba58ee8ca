#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j, i)>
#one = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
func.func @generic(%a: tensor<4x?xf32>, %b: tensor<?x4xf32>, %c: tensor<4xf32>, %x: f32) -> (tensor<4x?xf32>, tensor<4xf32>) {
  %0:2 = linalg.generic {doc = "two results", indexing_maps = [#rows, #columns, #none, #rows, #one], iterator_types = ["parallel", "reduction"], library_call = "none"}
    ins(%a, %b, %x : tensor<4x?xf32>, tensor<?x4xf32>, f32) outs(%a, %c : tensor<4x?xf32>, tensor<4xf32>) attrs = {keep.a = 1 : i32} {
  ^bb0(%p: f32, %q: f32, %r: f32, %s: f32, %t: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 {keep.b} : index
    %k = arith.addi %i, %j : index
    %u = arith.mulf %p, %q : f32
    %v = arith.addf %t, %u : f32
    linalg.yield %u, %v : f32, f32
  } -> (tensor<4x?xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4x?xf32>, tensor<4xf32>
}
func.func @generic_buffers(%a: memref<4xi8>, %b: memref<4xi32, strided<[2], offset: ?>>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%a : memref<4xi8>) outs(%b : memref<4xi32, strided<[2], offset: ?>>) {
  ^bb0(%p: i8, %q: i32):
    %e = arith.extsi %p : i8 to i32
    linalg.yield %e : i32
  }
  return
}
// -----
func.func @fill(%x: f8E4M3FN, %v: vector<2xf32>, %a: tensor<?x3xf8E4M3FN>, %b: memref<bf16>, %y: bf16, %c: tensor<2xvector<2xf32>>) {
  %0 = linalg.fill ins(%x : f8E4M3FN) outs(%a : tensor<?x3xf8E4M3FN>) -> tensor<?x3xf8E4M3FN>
  linalg.fill {keep.a} ins(%y : bf16) outs(%b : memref<bf16>)
  %1 = linalg.fill ins(%v : vector<2xf32>) outs(%c : tensor<2xvector<2xf32>>) -> tensor<2xvector<2xf32>>
  return
}
func.func @fill_rng_2d(%low: f64, %high: f64, %seed: i32, %a: tensor<2x?xf32>, %b: memref<?x?xi16>) {
  %0 = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32) outs(%a : tensor<2x?xf32>) -> tensor<2x?xf32>
  linalg.fill_rng_2d {keep.a} ins(%low, %high, %seed : f64, f64, i32) outs(%b : memref<?x?xi16>)
  return
}
// -----
func.func @map(%a: tensor<4xf32>, %b: tensor<4xi1>, %m: memref<2x3xf16>) -> tensor<4xf32> {
  %0 = linalg.map {arith.mulf} ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>)
  %1 = linalg.map {arith.addf {fastmath = #arith.fastmath<nnan>}} ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>)
  %2 = linalg.map ins(%b, %a : tensor<4xi1>, tensor<4xf32>) outs(%a : tensor<4xf32>) {keep.a}
    (%c: i1, %x: f32, %o: f32) {
      %y = arith.negf %x : f32
      %z = arith.select %c, %x, %y : f32
      linalg.yield %z : f32
    }
  linalg.map {math.absf} ins(%m : memref<2x3xf16>) outs(%m : memref<2x3xf16>)
  linalg.map outs(%m : memref<2x3xf16>)
    (%o: f16) {
      %c = arith.constant 1.5 : f16
      linalg.yield %c : f16
    }
  return %2 : tensor<4xf32>
}
// -----
func.func @reduce(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<2x3x4xi64>, %d: tensor<3xi64>, %m: memref<?xi8>, %n: memref<i8>) {
  %0 = linalg.reduce {arith.addf} ins(%a : tensor<2x3x4xf32>) outs(%b : tensor<3xf32>) dimensions = [0, 2]
  %1:2 = linalg.reduce ins(%a, %c : tensor<2x3x4xf32>, tensor<2x3x4xi64>) outs(%b, %d : tensor<3xf32>, tensor<3xi64>) dimensions = [0, 2] {keep.a}
    (%x: f32, %y: i64, %p: f32, %q: i64) {
      %s = arith.addf %x, %p : f32
      %t = arith.muli %q, %y : i64
      linalg.yield %s, %t : f32, i64
    }
  linalg.reduce {arith.maxui} ins(%m : memref<?xi8>) outs(%n : memref<i8>) dimensions = [0]
  linalg.reduce ins(%m : memref<?xi8>) outs(%m : memref<?xi8>) dimensions = []
    (%x: i8, %o: i8) {
      linalg.yield %x : i8
    }
  return
}
// -----
func.func @transpose(%a: tensor<2x?x4xi4>, %b: tensor<?x4x2xi4>, %m: memref<2x3xf32>, %n: memref<3x2xf32>) {
  %0 = linalg.transpose ins(%a : tensor<2x?x4xi4>) outs(%b : tensor<?x4x2xi4>) permutation = [1, 2, 0]
  linalg.transpose ins(%m : memref<2x3xf32>) outs(%n : memref<3x2xf32>) permutation = [1, 0] {keep.a}
  return
}
func.func @broadcast(%a: tensor<?xf32>, %b: tensor<2x?x3xf32>, %m: memref<f64>, %n: memref<3x2xf64>) {
  %0 = linalg.broadcast ins(%a : tensor<?xf32>) outs(%b : tensor<2x?x3xf32>) dimensions = [0, 2]
  linalg.broadcast ins(%m : memref<f64>) outs(%n : memref<3x2xf64>) dimensions = [0, 1] {keep.a}
  return
}
// -----
func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %at: tensor<3x2xf32>, %bt: tensor<4x3xf32>, %k: tensor<3xf32>, %c: tensor<2x4xf32>) {
  %0 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%at, %b : tensor<3x2xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    {keep.a} ins(%a, %bt : tensor<2x3xf32>, tensor<4x3xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%k, %b : tensor<3xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
func.func @batch_matmul(%a: memref<?x2x3xi8>, %b: memref<?x4x3xi8>, %k: memref<3xi8>, %c: memref<?x2x4xi32>, %d: memref<2x4xi32>) {
  linalg.batch_matmul indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : memref<?x2x3xi8>, memref<?x4x3xi8>) outs(%c : memref<?x2x4xi32>)
  linalg.batch_reduce_matmul indexing_maps = [affine_map<(b, i, j, k) -> (k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (i, j)>]
    ins(%k, %b : memref<3xi8>, memref<?x4x3xi8>) outs(%d : memref<2x4xi32>)
  return
}
func.func @contract(%a: tensor<3x5x2xf16>, %b: tensor<5x3xf16>, %c: tensor<2xf32>, %m: memref<4xi8>, %n: memref<i32>) {
  %0 = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (j, k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i)>]
    ins(%a, %b : tensor<3x5x2xf16>, tensor<5x3xf16>) outs(%c : tensor<2xf32>) -> tensor<2xf32>
  linalg.contract indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>]
    {cast = #linalg.type_fn<cast_unsigned>, keep.a} ins(%m, %m : memref<4xi8>, memref<4xi8>) outs(%n : memref<i32>)
  return
}
// -----
func.func @elementwise(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %i: tensor<3x4xi32>, %c: tensor<4x3xi1>, %m: memref<2xf64>) {
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<exp> ins(%a : tensor<3x4xf32>) outs(%a : tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = linalg.elementwise kind=#linalg.elementwise_kind<sub> indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>]
    ins(%a, %b : tensor<3x4xf32>, tensor<4xf32>) outs(%a : tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = linalg.elementwise kind=#linalg.elementwise_kind<max_unsigned> {keep.a} ins(%i, %i : tensor<3x4xi32>, tensor<3x4xi32>) outs(%i : tensor<3x4xi32>) -> tensor<3x4xi32>
  %3 = linalg.elementwise kind=#linalg.elementwise_kind<select> indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%c, %a, %a : tensor<4x3xi1>, tensor<3x4xf32>, tensor<3x4xf32>) outs(%a : tensor<3x4xf32>) -> tensor<3x4xf32>
  linalg.elementwise kind=#linalg.elementwise_kind<reciprocal> ins(%m : memref<2xf64>) outs(%m : memref<2xf64>)
  return
}
// -----
func.func @complex(%a: tensor<4xcomplex<f32>>, %b: tensor<3xf16>, %c: tensor<2xcomplex<f32>>, %d: tensor<3xcomplex<f64>>, %e: tensor<3xi8>, %o: tensor<complex<f32>>) {
  %0 = linalg.conv_1d ins(%a, %b : tensor<4xcomplex<f32>>, tensor<3xf16>) outs(%c : tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %1 = linalg.conv_1d ins(%a, %d : tensor<4xcomplex<f32>>, tensor<3xcomplex<f64>>) outs(%c : tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %2 = linalg.conv_1d ins(%a, %e : tensor<4xcomplex<f32>>, tensor<3xi8>) outs(%c : tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %3 = linalg.dot ins(%a, %a : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%o : tensor<complex<f32>>) -> tensor<complex<f32>>
  %4 = linalg.div ins(%c, %c : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) outs(%c : tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}
