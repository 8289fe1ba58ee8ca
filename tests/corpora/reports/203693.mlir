// report: a loop that is tiled without minima writes too much or too little
// passes: --scf-parallel-loop-tiling=parallel-loop-tile-sizes=1,4 no-min-max-bounds=true --canonicalize --scf-parallel-loop-tiling=parallel-loop-tile-sizes=1,4 no-min-max-bounds=true
func.func @main() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %six = arith.constant 6 : index
  %nothing = arith.constant 0 : i32
  %memory = memref.alloc() : memref<2x6xi32>
  linalg.fill ins(%nothing : i32) outs(%memory : memref<2x6xi32>)
  scf.parallel (%i, %j) = (%zero, %zero) to (%two, %six) step (%one, %one) {
    %number = arith.addi %i, %j : index
    %element = arith.index_cast %number : index to i32
    memref.store %element, %memory[%i, %j] : memref<2x6xi32>
  }
  %all = vector.transfer_read %memory[%zero, %zero], %nothing : memref<2x6xi32>, vector<2x6xi32>
  vector.print %all : vector<2x6xi32>
  return
}
