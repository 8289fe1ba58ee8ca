// report: two parallel loops are fused, of which the second reads in reverse
// passes: --scf-parallel-loop-fusion
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %four = arith.constant 4 : index
  %start = arith.constant 7 : i32
  %between = memref.alloc() : memref<4xi32>
  linalg.fill ins(%start : i32) outs(%between : memref<4xi32>)
  %result = memref.alloc() : memref<4xi32>
  scf.parallel (%i) = (%zero) to (%four) step (%one) {
    %number = arith.index_cast %i : index to i32
    memref.store %number, %between[%i] : memref<4xi32>
  }
  scf.parallel (%i) = (%zero) to (%four) step (%one) {
    %other = arith.subi %three, %i : index
    %number = memref.load %between[%other] : memref<4xi32>
    memref.store %number, %result[%i] : memref<4xi32>
  }
  %all = vector.load %result[%zero] : memref<4xi32>, vector<4xi32>
  vector.print %all : vector<4xi32>
  return
}
