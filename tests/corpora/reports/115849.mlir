// report: a loop that reads a long vector is fused with one that writes short ones
// passes: --affine-loop-fusion
func.func private @summed(%a: memref<8xi32>, %b: memref<8xi32>, %c: memref<8xi32>) {
  affine.for %i = 0 to 4 {
    %v = affine.vector_load %a[%i * 2] : memref<8xi32>, vector<2xi32>
    affine.vector_store %v, %b[%i * 2] : memref<8xi32>, vector<2xi32>
  }
  affine.for %i = 0 to 2 {
    %v = affine.vector_load %b[0] : memref<8xi32>, vector<8xi32>
    %w = affine.vector_load %c[0] : memref<8xi32>, vector<8xi32>
    %sum = arith.addi %v, %w : vector<8xi32>
    affine.vector_store %sum, %c[0] : memref<8xi32>, vector<8xi32>
  }
  return
}
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %a = memref.alloc() : memref<8xi32>
  %b = memref.alloc() : memref<8xi32>
  %c = memref.alloc() : memref<8xi32>
  linalg.fill ins(%ten : i32) outs(%a : memref<8xi32>)
  linalg.fill ins(%one : i32) outs(%b : memref<8xi32>)
  linalg.fill ins(%one : i32) outs(%c : memref<8xi32>)
  call @summed(%a, %b, %c) : (memref<8xi32>, memref<8xi32>, memref<8xi32>) -> ()
  %v = vector.load %c[%zero] : memref<8xi32>, vector<8xi32>
  vector.print %v : vector<8xi32>
  memref.dealloc %a : memref<8xi32>
  memref.dealloc %b : memref<8xi32>
  memref.dealloc %c : memref<8xi32>
  return
}
