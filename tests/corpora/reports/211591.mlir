// report: a loop is fused with one that calls a function
// passes: --pass-pipeline=builtin.module(func.func(affine-loop-fusion{mode=producer maximal}))
func.func private @changed(%memory: memref<4xi32>) {
  %last = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %old = memref.load %memory[%last] : memref<4xi32>
  %new = arith.addi %old, %one : i32
  memref.store %new, %memory[%last] : memref<4xi32>
  return
}
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %between = memref.alloc() : memref<4xi32>
  %result = memref.alloc() : memref<4xi32>
  linalg.fill ins(%one : i32) outs(%between : memref<4xi32>)
  affine.for %i = 0 to 3 {
    affine.store %one, %between[%i] : memref<4xi32>
    func.call @changed(%between) : (memref<4xi32>) -> ()
  }
  affine.for %i = 0 to 4 {
    %element = affine.load %between[%i] : memref<4xi32>
    affine.store %element, %result[%i] : memref<4xi32>
  }
  %all = vector.load %result[%zero] : memref<4xi32>, vector<4xi32>
  vector.print %all : vector<4xi32>
  return
}
