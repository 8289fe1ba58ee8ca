// report: mod and floordiv of a negative number are simplified
// passes: --affine-simplify-structures
func.func @main() {
  %one = arith.constant 1 : index
  %result = affine.apply affine_map<(d0, d1) -> (((d1 - (d1 + 2)) floordiv 8) mod 8)>(%one, %one)
  vector.print %result : index
  return
}
