// Attributes like any other, which are properties in newer MLIR.
llvm.mlir.global internal constant @s("abc") {absolute_symbol = 3 : i64, sym_visibility = "private"}
llvm.func @g(i32) -> i32
llvm.func @f(%a: i32) -> i32 attributes {hot, alignment = 8 : i64, noreturn, allocsize = array<i32: 0>} {
  %0 = llvm.call @g(%a) {cold, nobuiltin} : (i32) -> i32
  llvm.return %0 : i32
}
func.func @h(%m: memref<4xf32>, %p: !llvm.ptr, %mask: vector<4xi1>, %v: vector<4xf32>) attributes {dlti = 3 : i32} {
  %0 = affine.load %m[0] {alignment = 8 : i64} : memref<4xf32>
  affine.store %0, %m[1] {alignment = 8 : i64} : memref<4xf32>
  %1 = affine.vector_load %m[0] {alignment = 8 : i64} : memref<4xf32>, vector<4xf32>
  llvm.intr.masked.store %v, %p, %mask {alignment = 1 : i32, nontemporal, tbaa = []} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  return
}
tosa.variable @v = dense<1> : tensor<1xi32>
