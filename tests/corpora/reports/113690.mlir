// report: a tensor that is read later is overwritten
// passes: --one-shot-bufferize=dialect-filter=tensor,linalg,bufferization
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %true = arith.constant true
  %number = arith.constant 0 : i16
  %other = arith.constant 1 : i16
  %memory = memref.alloc() : memref<1xi16>
  memref.store %number, %memory[%zero] : memref<1xi16>
  %read = memref.load %memory[%zero] : memref<1xi16>
  %tensor = tensor.from_elements %read, %read : tensor<2xi16>
  %kept = scf.if %true -> tensor<2xi16> {
    scf.yield %tensor : tensor<2xi16>
  } else {
    scf.yield %tensor : tensor<2xi16>
  }
  %ones = tensor.splat %other : tensor<2xi16>
  %copied = linalg.copy ins(%ones : tensor<2xi16>) outs(%tensor : tensor<2xi16>) -> tensor<2xi16>
  %element = tensor.extract %kept[%one] : tensor<2xi16>
  vector.print %element : i16
  return
}
