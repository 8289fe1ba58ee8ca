// report: a generic op whose input is its output is removed
// passes: --canonicalize
#identity = affine_map<(d0) -> (d0)>
func.func @main() {
  %place = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %memory = memref.alloc() : memref<4xi32>
  linalg.fill ins(%one : i32) outs(%memory : memref<4xi32>)
  linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel"]}
    ins(%memory : memref<4xi32>) outs(%memory : memref<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %zero : i32
  }
  %read = memref.load %memory[%place] : memref<4xi32>
  vector.print %read : i32
  return
}
