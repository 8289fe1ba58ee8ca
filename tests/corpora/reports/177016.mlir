// report: a vector of two rows is read through an expanded dimension
// passes: --fold-memref-alias-ops
func.func private @read(%m: memref<2x4xi32>) -> vector<2x2xi32> {
  %zero = arith.constant 0 : index
  %view = memref.expand_shape %m [[0], [1, 2]] output_shape [2, 2, 2] : memref<2x4xi32> into memref<2x2x2xi32>
  %v = vector.load %view[%zero, %zero, %zero] : memref<2x2x2xi32>, vector<2x2xi32>
  return %v : vector<2x2xi32>
}
func.func @main() {
  %zero = arith.constant 0 : index
  %numbers = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : vector<2x4xi32>
  %m = memref.alloc() : memref<2x4xi32>
  vector.store %numbers, %m[%zero, %zero] : memref<2x4xi32>, vector<2x4xi32>
  %v = call @read(%m) : (memref<2x4xi32>) -> vector<2x2xi32>
  vector.print %v : vector<2x2xi32>
  memref.dealloc %m : memref<2x4xi32>
  return
}
