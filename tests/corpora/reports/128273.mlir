// report: a store is moved out of a loop that has no iteration
// passes: --affine-loop-invariant-code-motion
func.func @main() {
  %first = arith.constant 1 : i32
  %second = arith.constant 2 : i32
  %place = arith.constant 0 : index
  %memory = memref.alloc() : memref<1xi32>
  memref.store %first, %memory[%place] : memref<1xi32>
  affine.for %i = 0 to 0 {
    affine.store %second, %memory[%place] : memref<1xi32>
  }
  %kept = memref.load %memory[%place] : memref<1xi32>
  vector.print %kept : i32
  return
}
