// report: unroll and jam changes the order of dependent iterations
// passes: --pass-pipeline=builtin.module(func.func(affine-loop-unroll-jam{unroll-jam-factor=2}))
func.func private @copied(%memory: memref<5x5xi32>) {
  affine.for %i = 1 to 5 {
    affine.for %j = 0 to 4 {
      %element = affine.load %memory[%i - 1, %j + 1] : memref<5x5xi32>
      affine.store %element, %memory[%i, %j] : memref<5x5xi32>
    }
  }
  return
}
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : index
  %ten = arith.constant 10 : index
  %padding = arith.constant 0 : i32
  %memory = memref.alloc() : memref<5x5xi32>
  scf.for %i = %zero to %five step %one {
    scf.for %j = %zero to %five step %one {
      %tens = arith.muli %i, %ten : index
      %number = arith.addi %tens, %j : index
      %element = arith.index_cast %number : index to i32
      memref.store %element, %memory[%i, %j] : memref<5x5xi32>
    }
  }
  call @copied(%memory) : (memref<5x5xi32>) -> ()
  %all = vector.transfer_read %memory[%zero, %zero], %padding : memref<5x5xi32>, vector<5x5xi32>
  vector.print %all : vector<5x5xi32>
  return
}
