func.func @softmax(%a: tensor<2x?xbf16>, %b: tensor<2x?xbf16>, %m: memref<3xf32>) {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<2x?xbf16>) outs(%b : tensor<2x?xbf16>) -> tensor<2x?xbf16>
  linalg.softmax {keep.a} dimension(0) ins(%m : memref<3xf32>) outs(%m : memref<3xf32>)
  return
}
// -----
func.func @pack(%a: tensor<10x12xi8>, %b: tensor<5x3x4x2xi8>, %c: tensor<4x3x4x3xi8>, %x: i8, %n: index, %d: tensor<?x?xi8>, %e: tensor<?x?x?x4xi8>) {
  %0 = linalg.pack %a inner_dims_pos = [1, 0] inner_tiles = [4, 2] into %b : tensor<10x12xi8> -> tensor<5x3x4x2xi8>
  %1 = linalg.pack %a padding_value(%x : i8) inner_dims_pos = [1, 0] inner_tiles = [4, 3] into %c {keep.a} : tensor<10x12xi8> -> tensor<4x3x4x3xi8>
  %2 = linalg.pack %d padding_value(%x : i8) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [%n, 4] into %e : tensor<?x?xi8> -> tensor<?x?x?x4xi8>
  %3 = linalg.pack %d inner_dims_pos = [1, 0] inner_tiles = [%n, 4] into %e : tensor<?x?xi8> -> tensor<?x?x?x4xi8>
  return
}
func.func @unpack(%a: tensor<10x12xi8>, %c: tensor<4x3x4x3xi8>, %n: index, %d: tensor<?x?xi8>, %e: tensor<?x?x?x4xi8>) {
  %0 = linalg.unpack %c inner_dims_pos = [1, 0] inner_tiles = [4, 3] into %a : tensor<4x3x4x3xi8> -> tensor<10x12xi8>
  %1 = linalg.unpack %e outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [%n, 4] into %d {keep.a} : tensor<?x?x?x4xi8> -> tensor<?x?xi8>
  return
}
// -----
func.func @winograd(%image: tensor<2x14x14x5xf32>, %filter: tensor<3x3x3x5xf32>, %a: tensor<6x6x5x3xf32>, %b: tensor<6x6x3x3x2x5xf32>, %v: tensor<6x6x3x3x2x3xf32>, %o: tensor<2x12x12x3xf32>) {
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%filter : tensor<3x3x3x5xf32>) outs(%a : tensor<6x6x5x3xf32>) -> tensor<6x6x5x3xf32>
  %1 = linalg.winograd_input_transform fmr(F_4_3) ins(%image : tensor<2x14x14x5xf32>) outs(%b : tensor<6x6x3x3x2x5xf32>) -> tensor<6x6x3x3x2x5xf32>
  %2 = linalg.winograd_output_transform {keep.a} fmr(F_4_3) ins(%v : tensor<6x6x3x3x2x3xf32>) outs(%o : tensor<2x12x12x3xf32>) -> tensor<2x12x12x3xf32>
  return
}
func.func @winograd_of_rows(%filter: tensor<?x1x5x?xf16>, %a: tensor<1x6x?x?xf16>, %b: tensor<4x4x?x?x?x?xf16>, %image: tensor<?x?x?x?xf16>) {
  %0 = linalg.winograd_filter_transform {keep.a} fmr(F_2_5) ins(%filter : tensor<?x1x5x?xf16>) outs(%a : tensor<1x6x?x?xf16>) -> tensor<1x6x?x?xf16>
  %1 = linalg.winograd_input_transform {keep.b} fmr(F_2_3) ins(%image : tensor<?x?x?x?xf16>) outs(%b : tensor<4x4x?x?x?x?xf16>) -> tensor<4x4x?x?x?x?xf16>
  %2 = linalg.winograd_output_transform fmr(F_2_3) ins(%b : tensor<4x4x?x?x?x?xf16>) outs(%image : tensor<?x?x?x?xf16>) -> tensor<?x?x?x?xf16>
  return
}
