// report: a fused loop reads before the beginning of its own buffer
// passes: --affine-loop-fusion
func.func private @copied(%x: i32) -> memref<2xi32> {
  %written = memref.alloc() : memref<2xi32>
  %copy = memref.alloc() : memref<2xi32>
  affine.for %i = 1 to 2 {
    affine.store %x, %written[%i] : memref<2xi32>
  }
  affine.for %i = 0 to 2 {
    %element = affine.load %written[%i] : memref<2xi32>
    affine.store %element, %copy[%i] : memref<2xi32>
  }
  return %copy : memref<2xi32>
}
func.func @main() {
  %one = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %m = call @copied(%five) : (i32) -> memref<2xi32>
  %x = memref.load %m[%one] : memref<2xi32>
  vector.print %x : i32
  return
}
