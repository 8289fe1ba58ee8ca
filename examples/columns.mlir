// Copies two columns of a matrix into another buffer: column number %first, and the third one after it:
//
//   halfulp run examples/columns.mlir --input="4x6xf32=1" --input="4x2xf32=0" --input=1

func.func @columns(%source: memref<4x6xf32>, %target: memref<4x2xf32>, %first: index) {
  %view = memref.subview %source[0, %first] [4, 2] [1, 3]
    : memref<4x6xf32> to memref<4x2xf32, strided<[6, 3], offset: ?>>
  %columns = iree_codegen.load_from_buffer %view : memref<4x2xf32, strided<[6, 3], offset: ?>> -> tensor<4x2xf32>
  iree_codegen.store_to_buffer %columns, %target : tensor<4x2xf32> into memref<4x2xf32>
  return
}
