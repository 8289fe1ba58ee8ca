// report: a loop of 6 iterations writes 8 elements
// passes: --affine-super-vectorize=virtual-vector-size=4
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %memory = memref.alloc() : memref<8xi32>
  linalg.fill ins(%one : i32) outs(%memory : memref<8xi32>)
  affine.for %i = 0 to 6 {
    %element = affine.load %memory[%i] : memref<8xi32>
    %double = arith.addi %element, %element : i32
    affine.store %double, %memory[%i] : memref<8xi32>
  }
  %all = vector.load %memory[%zero] : memref<8xi32>, vector<8xi32>
  vector.print %all : vector<8xi32>
  return
}
