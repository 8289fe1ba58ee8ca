// report: booleans are copied
// passes: --canonicalize
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 3 : index
  %true = arith.constant true
  %false = arith.constant false
  %target = memref.alloc() : memref<3xi1>
  linalg.fill ins(%true : i1) outs(%target : memref<3xi1>)
  %source = memref.alloc() : memref<3xi1>
  linalg.fill ins(%false : i1) outs(%source : memref<3xi1>)
  memref.copy %source, %target : memref<3xi1> to memref<3xi1>
  scf.for %i = %zero to %end step %one {
    %element = memref.load %target[%i] : memref<3xi1>
    vector.print %element : i1
  }
  return
}
