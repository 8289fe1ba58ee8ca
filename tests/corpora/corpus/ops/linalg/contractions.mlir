func.func @matvec_tensors(%a0: tensor<2x3xi8>, %a1: tensor<3xi8>, %a2: tensor<2xi32>) -> tensor<2xi32> {
  %r = linalg.matvec ins(%a0, %a1 : tensor<2x3xi8>, tensor<3xi8>) outs(%a2 : tensor<2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
func.func @matvec_memrefs(%a0: memref<?x?xf32>, %a1: memref<?xf32>, %a2: memref<?xf32>) {
  linalg.matvec ins(%a0, %a1 : memref<?x?xf32>, memref<?xf32>) outs(%a2 : memref<?xf32>)
  return
}
func.func @vecmat_tensors(%a0: tensor<2xf16>, %a1: tensor<2x3xf16>, %a2: tensor<3xf32>) -> tensor<3xf32> {
  %r = linalg.vecmat ins(%a0, %a1 : tensor<2xf16>, tensor<2x3xf16>) outs(%a2 : tensor<3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
func.func @vecmat_memrefs(%a0: memref<?xf32>, %a1: memref<?x?xf32>, %a2: memref<?xf32>) {
  linalg.vecmat ins(%a0, %a1 : memref<?xf32>, memref<?x?xf32>) outs(%a2 : memref<?xf32>)
  return
}
func.func @batch_matvec_tensors(%a0: tensor<2x3x2xi16>, %a1: tensor<2x2xi16>, %a2: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %r = linalg.batch_matvec ins(%a0, %a1 : tensor<2x3x2xi16>, tensor<2x2xi16>) outs(%a2 : tensor<2x3xf64>) -> tensor<2x3xf64>
  return %r : tensor<2x3xf64>
}
func.func @batch_matvec_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?xf32>) {
  linalg.batch_matvec ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?xf32>)
  return
}
func.func @batch_vecmat_tensors(%a0: tensor<3x3xf32>, %a1: tensor<3x3x2xf32>, %a2: tensor<3x2xi16>) -> tensor<3x2xi16> {
  %r = linalg.batch_vecmat ins(%a0, %a1 : tensor<3x3xf32>, tensor<3x3x2xf32>) outs(%a2 : tensor<3x2xi16>) -> tensor<3x2xi16>
  return %r : tensor<3x2xi16>
}
func.func @batch_vecmat_memrefs(%a0: memref<?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?xf32>) {
  linalg.batch_vecmat ins(%a0, %a1 : memref<?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?xf32>)
  return
}
func.func @dot_tensors(%a0: tensor<2xi8>, %a1: tensor<2xi8>, %a2: tensor<i32>) -> tensor<i32> {
  %r = linalg.dot ins(%a0, %a1 : tensor<2xi8>, tensor<2xi8>) outs(%a2 : tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}
func.func @dot_memrefs(%a0: memref<?xf32>, %a1: memref<?xf32>, %a2: memref<f32>) {
  linalg.dot ins(%a0, %a1 : memref<?xf32>, memref<?xf32>) outs(%a2 : memref<f32>)
  return
}
func.func @mmt4d_tensors(%a0: tensor<3x3x2x2xf16>, %a1: tensor<2x3x3x2xf16>, %a2: tensor<3x2x2x3xf32>) -> tensor<3x2x2x3xf32> {
  %r = linalg.mmt4d ins(%a0, %a1 : tensor<3x3x2x2xf16>, tensor<2x3x3x2xf16>) outs(%a2 : tensor<3x2x2x3xf32>) -> tensor<3x2x2x3xf32>
  return %r : tensor<3x2x2x3xf32>
}
func.func @mmt4d_memrefs(%a0: memref<?x?x?x?xf32>, %a1: memref<?x?x?x?xf32>, %a2: memref<?x?x?x?xf32>) {
  linalg.mmt4d ins(%a0, %a1 : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?xf32>)
  return
}
// -----
func.func @batch_mmt4d_tensors(%a0: tensor<2x3x3x2x2xi16>, %a1: tensor<2x2x3x3x2xi16>, %a2: tensor<2x3x2x2x3xf64>) -> tensor<2x3x2x2x3xf64> {
  %r = linalg.batch_mmt4d ins(%a0, %a1 : tensor<2x3x3x2x2xi16>, tensor<2x2x3x3x2xi16>) outs(%a2 : tensor<2x3x2x2x3xf64>) -> tensor<2x3x2x2x3xf64>
  return %r : tensor<2x3x2x2x3xf64>
}
func.func @batch_mmt4d_memrefs(%a0: memref<?x?x?x?x?xf32>, %a1: memref<?x?x?x?x?xf32>, %a2: memref<?x?x?x?x?xf32>) {
  linalg.batch_mmt4d ins(%a0, %a1 : memref<?x?x?x?x?xf32>, memref<?x?x?x?x?xf32>) outs(%a2 : memref<?x?x?x?x?xf32>)
  return
}
func.func @quantized_matmul_tensors(%a0: tensor<3x3xi8>, %a1: tensor<3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.quantized_matmul ins(%a0, %a1, %s2, %s3 : tensor<3x3xi8>, tensor<3x2xi8>, i32, i32) outs(%a4 : tensor<3x2xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}
func.func @quantized_matmul_memrefs(%a0: memref<?x?xi32>, %a1: memref<?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.quantized_matmul ins(%a0, %a1, %s2, %s3 : memref<?x?xi32>, memref<?x?xi32>, i32, i32) outs(%a4 : memref<?x?xi32>)
  return
}
func.func @quantized_batch_matmul_tensors(%a0: tensor<2x3x3xi8>, %a1: tensor<2x3x2xi8>, %a2: tensor<i32>, %a3: tensor<i32>, %a4: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %s2 = tensor.extract %a2[] : tensor<i32>
  %s3 = tensor.extract %a3[] : tensor<i32>
  %r = linalg.quantized_batch_matmul ins(%a0, %a1, %s2, %s3 : tensor<2x3x3xi8>, tensor<2x3x2xi8>, i32, i32) outs(%a4 : tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
func.func @quantized_batch_matmul_memrefs(%a0: memref<?x?x?xi32>, %a1: memref<?x?x?xi32>, %a2: memref<i32>, %a3: memref<i32>, %a4: memref<?x?x?xi32>) {
  %s2 = memref.load %a2[] : memref<i32>
  %s3 = memref.load %a3[] : memref<i32>
  linalg.quantized_batch_matmul ins(%a0, %a1, %s2, %s3 : memref<?x?x?xi32>, memref<?x?x?xi32>, i32, i32) outs(%a4 : memref<?x?x?xi32>)
  return
}
func.func @matmul_tensors(%a0: tensor<3x3xf16>, %a1: tensor<3x2xf16>, %a2: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %r = linalg.matmul ins(%a0, %a1 : tensor<3x3xf16>, tensor<3x2xf16>) outs(%a2 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
func.func @matmul_memrefs(%a0: memref<?x?xf32>, %a1: memref<?x?xf32>, %a2: memref<?x?xf32>) {
  linalg.matmul ins(%a0, %a1 : memref<?x?xf32>, memref<?x?xf32>) outs(%a2 : memref<?x?xf32>)
  return
}
func.func @matmul_unsigned(%a0: tensor<3x3xi8>, %a1: tensor<3x2xi8>, %a2: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a0, %a1 : tensor<3x3xi8>, tensor<3x2xi8>) outs(%a2 : tensor<3x2xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}
func.func @batch_matmul_tensors(%a0: tensor<2x3x3xi16>, %a1: tensor<2x3x2xi16>, %a2: tensor<2x3x2xf64>) -> tensor<2x3x2xf64> {
  %r = linalg.batch_matmul ins(%a0, %a1 : tensor<2x3x3xi16>, tensor<2x3x2xi16>) outs(%a2 : tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
  return %r : tensor<2x3x2xf64>
}
func.func @batch_matmul_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?x?xf32>) {
  linalg.batch_matmul ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?x?xf32>)
  return
}
func.func @batch_matmul_unsigned(%a0: tensor<2x3x3xi8>, %a1: tensor<2x3x2xi8>, %a2: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = linalg.batch_matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a0, %a1 : tensor<2x3x3xi8>, tensor<2x3x2xi8>) outs(%a2 : tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
// -----
func.func @batch_reduce_matmul_tensors(%a0: tensor<3x2x2xf32>, %a1: tensor<3x2x3xf32>, %a2: tensor<2x3xi16>) -> tensor<2x3xi16> {
  %r = linalg.batch_reduce_matmul ins(%a0, %a1 : tensor<3x2x2xf32>, tensor<3x2x3xf32>) outs(%a2 : tensor<2x3xi16>) -> tensor<2x3xi16>
  return %r : tensor<2x3xi16>
}
func.func @batch_reduce_matmul_memrefs(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %a2: memref<?x?xf32>) {
  linalg.batch_reduce_matmul ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%a2 : memref<?x?xf32>)
  return
}
func.func @batch_reduce_matmul_unsigned(%a0: tensor<3x2x2xi8>, %a1: tensor<3x2x3xi8>, %a2: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %r = linalg.batch_reduce_matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a0, %a1 : tensor<3x2x2xi8>, tensor<3x2x3xi8>) outs(%a2 : tensor<2x3xi32>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}
