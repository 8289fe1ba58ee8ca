// report: a vector of 5 elements is stored into rows of 1 element
// passes: --lower-affine
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 6 : index
  %filled = arith.constant 7 : i64
  %memory = memref.alloc() : memref<6x1xi64>
  linalg.fill ins(%filled : i64) outs(%memory : memref<6x1xi64>)
  %vector = arith.constant dense<-3> : vector<5xi64>
  affine.vector_store %vector, %memory[%zero, %zero] : memref<6x1xi64>, vector<5xi64>
  scf.for %i = %zero to %end step %one {
    %element = memref.load %memory[%i, %zero] : memref<6x1xi64>
    vector.print %element : i64
  }
  return
}
