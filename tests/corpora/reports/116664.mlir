// report: the iterations of a tiled and normalised loop are lost
// passes: --affine-loop-tile=tile-size=32 --affine-loop-normalize
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : index
  %before = arith.constant -58 : i16
  %after = arith.constant 9 : i16
  %memory = memref.alloc(%five, %one) : memref<?x?x1xi16>
  linalg.fill ins(%before : i16) outs(%memory : memref<?x?x1xi16>)
  affine.for %i = 0 to 61 {
    memref.store %after, %memory[%zero, %zero, %zero] : memref<?x?x1xi16>
  }
  %read = memref.load %memory[%zero, %zero, %zero] : memref<?x?x1xi16>
  vector.print %read : i16
  return
}
