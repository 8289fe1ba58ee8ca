// report: a loop is moved across a call that writes through a cast
// passes: --affine-loop-fusion
func.func private @written(%view: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %nine = arith.constant 9 : i32
  memref.store %nine, %view[%zero] : memref<?xi32>
  return
}
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %between = memref.alloc() : memref<4xi32>
  %result = memref.alloc() : memref<4xi32>
  affine.for %i = 0 to 4 {
    affine.store %one, %between[%i] : memref<4xi32>
  }
  %view = memref.cast %between : memref<4xi32> to memref<?xi32>
  call @written(%view) : (memref<?xi32>) -> ()
  affine.for %i = 0 to 4 {
    %element = affine.load %between[%i] : memref<4xi32>
    affine.store %element, %result[%i] : memref<4xi32>
  }
  %all = vector.load %result[%zero] : memref<4xi32>, vector<4xi32>
  vector.print %all : vector<4xi32>
  return
}
