// report: a store inside of linalg.map is lost
// passes: --canonicalize
func.func @main() {
  %zero = arith.constant 0 : index
  %before = arith.constant 1 : i32
  %after = arith.constant 10 : i32
  %memory = memref.alloc() : memref<1xi32>
  memref.store %before, %memory[%zero] : memref<1xi32>
  %flags = arith.constant dense<false> : tensor<2xi1>
  %mapped = linalg.map ins(%flags : tensor<2xi1>) outs(%flags : tensor<2xi1>)
    (%in: i1, %out: i1) {
      memref.store %after, %memory[%zero] : memref<1xi32>
      linalg.yield %in : i1
    }
  %read = memref.load %memory[%zero] : memref<1xi32>
  vector.print %read : i32
  return
}
