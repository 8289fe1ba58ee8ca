// report: a fill is moved across a copy
// passes: --affine-loop-fusion
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %six = arith.constant 6 : i32
  %source = memref.alloc() : memref<2xi32>
  linalg.fill ins(%six : i32) outs(%source : memref<2xi32>)
  %padded = memref.alloc() : memref<4xi32>
  %middle = memref.subview %padded[1] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 1>>
  affine.for %i = 0 to 4 {
    affine.store %one, %padded[%i] : memref<4xi32>
  }
  memref.copy %source, %middle : memref<2xi32> to memref<2xi32, strided<[1], offset: 1>>
  %result = memref.alloc() : memref<4xi32>
  affine.for %i = 0 to 4 {
    %element = affine.load %padded[%i] : memref<4xi32>
    affine.store %element, %result[%i] : memref<4xi32>
  }
  %all = vector.load %result[%zero] : memref<4xi32>, vector<4xi32>
  vector.print %all : vector<4xi32>
  return
}
