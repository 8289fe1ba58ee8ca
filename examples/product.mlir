// A product with ten, in f32: not the same numbers as quotient.mlir, since a tenth is no f32.
//
//   halfulp run --shadow examples/product.mlir --input=1.3
func.func @scale(%x: f32) -> f32 {
  %ten = arith.constant 10.0 : f32
  %0 = arith.mulf %x, %ten : f32
  return %0 : f32
}
