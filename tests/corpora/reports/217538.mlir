// report: a copy of memory that was never filled is written back
// passes: --affine-data-copy-generate
func.func @main() {
  %number = arith.constant 9 : i32
  %other = arith.constant 3 : i32
  %zero = arith.constant 0 : index
  %memory = memref.alloc() : memref<4xi32>
  linalg.fill ins(%other : i32) outs(%memory : memref<4xi32>)
  affine.for %i = 0 to 4 {
    affine.store %number, %memory[0] : memref<4xi32>
    memref.store %number, %memory[%zero] : memref<4xi32>
  }
  %read = affine.load %memory[0] : memref<4xi32>
  vector.print %read : i32
  return
}
