func.func @newer(%m: memref<100xf32>, %i: index) {
  %x = affine.load %m[%i] {alignment = 4 : i64} : memref<100xf32>
  affine.store %x, %m[%i] {alignment = 4 : i64} : memref<100xf32>
  %v = affine.vector_load %m[%i] {alignment = 4 : i64} : memref<100xf32>, vector<8xf32>
  affine.vector_store %v, %m[%i] {alignment = 4 : i64} : memref<100xf32>, vector<8xf32>
  return
}
