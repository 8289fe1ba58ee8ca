// report: a fused loop updates again what was updated in place
// passes: --affine-loop-fusion
func.func private @doubled(%m: memref<4xi32>, %d: memref<2xi32>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %m[%i] : memref<4xi32>
    %y = arith.addi %x, %x : i32
    affine.store %y, %m[%i] : memref<4xi32>
  }
  affine.for %i = 0 to 2 {
    %x = affine.load %m[%i] : memref<4xi32>
    affine.store %x, %d[%i] : memref<2xi32>
  }
  return
}
func.func @main() {
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : i32
  %m = memref.alloc() : memref<4xi32>
  %d = memref.alloc() : memref<2xi32>
  affine.for %i = 0 to 4 {
    affine.store %five, %m[%i] : memref<4xi32>
  }
  call @doubled(%m, %d) : (memref<4xi32>, memref<2xi32>) -> ()
  %x = memref.load %d[%zero] : memref<2xi32>
  vector.print %x : i32
  return
}
