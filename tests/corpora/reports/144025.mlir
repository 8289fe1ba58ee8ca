// report: the loops of a product of matrices are coalesced
// passes: --convert-linalg-to-affine-loops --affine-loop-coalescing
func.func @main() {
  %zero = arith.constant 0 : index
  %nothing = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %five = arith.constant 5 : i32
  %a = memref.alloc() : memref<2x1x2xi32>
  linalg.fill ins(%five : i32) outs(%a : memref<2x1x2xi32>)
  %b = memref.alloc() : memref<2x2x3xi32>
  linalg.fill ins(%two : i32) outs(%b : memref<2x2x3xi32>)
  %c = memref.alloc() : memref<2x1x3xi32>
  linalg.fill ins(%nothing : i32) outs(%c : memref<2x1x3xi32>)
  linalg.batch_matmul ins(%a, %b : memref<2x1x2xi32>, memref<2x2x3xi32>) outs(%c : memref<2x1x3xi32>)
  %all = vector.transfer_read %c[%zero, %zero, %zero], %nothing : memref<2x1x3xi32>, vector<2x1x3xi32>
  vector.print %all : vector<2x1x3xi32>
  return
}
