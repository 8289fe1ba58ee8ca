func.func @views(%m: memref<4x8xf32>, %b: memref<64xi8>, %i: index, %u: memref<*xf32>, %sh: memref<2xindex>, %one: memref<?xf32>, %s: memref<1x4x8xf32>) -> index {
  %0 = memref.extract_aligned_pointer_as_index %m : memref<4x8xf32> -> index
  %1, %2, %3:2, %4:2 = memref.extract_strided_metadata %m : memref<4x8xf32> -> memref<f32>, index, index, index, index, index
  %5 = memref.rank %u : memref<*xf32>
  %6 = memref.dim %u, %i : memref<*xf32>
  %7 = memref.cast %m : memref<4x8xf32> to memref<?x8xf32, strided<[?, 1], offset: ?>>
  %8 = memref.memory_space_cast %m {mark} : memref<4x8xf32> to memref<4x8xf32, 3>
  %9 = memref.memory_space_cast %u : memref<*xf32> to memref<*xf32, "near">
  %10 = memref.reinterpret_cast %1 to offset: [%2], sizes: [2, %i], strides: [%i, 1] {mark} : memref<f32> to memref<2x?xf32, strided<[?, 1], offset: ?>>
  %11 = memref.reinterpret_cast %u to offset: [0], sizes: [], strides: [] : memref<*xf32> to memref<f32>
  %12 = memref.reshape %u(%sh) : (memref<*xf32>, memref<2xindex>) -> memref<?x?xf32>
  %13 = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 2, 8] {mark} : memref<4x8xf32> into memref<2x2x8xf32>
  %14 = memref.expand_shape %one [[0, 1]] output_shape [%i, 4] : memref<?xf32> into memref<?x4xf32>
  %15 = memref.collapse_shape %13 [[0], [1, 2]] : memref<2x2x8xf32> into memref<2x16xf32>
  %16 = memref.collapse_shape %11 [] : memref<f32> into memref<f32>
  %17 = memref.transpose %m (i, j) -> (j, i) {mark} : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  %18 = memref.view %b[%i][%i] : memref<64xi8> to memref<?x2xf32>
  %19 = memref.view %b[%i][] {mark} : memref<64xi8> to memref<4xf32>
  %20 = memref.subview %s[0, %i, 0] [1, 2, %i] [1, 1, 2] : memref<1x4x8xf32> to memref<2x?xf32, strided<[8, 2], offset: ?>>
  return %0 : index
}
