// report: a loop with a step of 3 writes neighbours
// passes: --affine-super-vectorize=virtual-vector-size=4 test-fastest-varying=0
func.func @main() {
  %zero = arith.constant 0 : index
  %nothing = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %memory = memref.alloc() : memref<24xi32>
  linalg.fill ins(%nothing : i32) outs(%memory : memref<24xi32>)
  affine.for %i = 0 to 12 step 3 {
    affine.store %one, %memory[%i] : memref<24xi32>
  }
  %all = vector.load %memory[%zero] : memref<24xi32>, vector<24xi32>
  vector.print %all : vector<24xi32>
  return
}
