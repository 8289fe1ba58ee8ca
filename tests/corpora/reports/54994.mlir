// report: a copy writes back elements that a loop with a stride left out
// passes: --affine-data-copy-generate
func.func private @cleared(%m: memref<4xi32>) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 2 {
    affine.store %zero, %m[%i * 2] : memref<4xi32>
  }
  return
}
func.func @main() {
  %one = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %m = memref.alloc() : memref<4xi32>
  linalg.fill ins(%five : i32) outs(%m : memref<4xi32>)
  call @cleared(%m) : (memref<4xi32>) -> ()
  %x = memref.load %m[%one] : memref<4xi32>
  vector.print %x : i32
  memref.dealloc %m : memref<4xi32>
  return
}
