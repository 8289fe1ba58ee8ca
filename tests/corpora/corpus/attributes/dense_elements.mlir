"keep.dense"() {value = dense<10> : tensor<2xi32>} : () -> ()
// -----
"keep.dense"() {value = dense<[10.0, 11.0]> : tensor<2xf32>} : () -> ()
// -----
// Rank zero.
"keep.dense"() {a = dense<5> : tensor<i8>, b = dense<1.5> : vector<f32>} : () -> ()
// -----
// Nested to rank three.
"keep.dense"() {value = dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi16>} : () -> ()
// -----
// Equal elements become a splat.
"keep.dense"() {value = dense<[[3, 3], [3, 3]]> : tensor<2x2xi32>} : () -> ()
// -----
// No elements.
"keep.dense"() {a = dense<> : tensor<0xi32>, b = dense<> : tensor<2x0xf32>, c = dense<[]> : tensor<0xi8>} : () -> ()
// -----
// A splat over no elements.
"keep.dense"() {value = dense<1.0> : tensor<0x4xf32>} : () -> ()
// -----
// i1 as words, as numbers, as a splat.
"keep.dense"() {a = dense<[true, false, true]> : tensor<3xi1>, b = dense<true> : tensor<2xi1>, c = dense<[1, 0]> : tensor<2xi1>} : () -> ()
// -----
// i1 packed into bits of a blob, least significant first.
"keep.dense"() {value = dense<"0x0D02"> : tensor<10xi1>} : () -> ()
// -----
// i1 splats from blobs of one byte.
"keep.dense"() {yes = dense<"0xFF"> : tensor<8xi1>, no = dense<"0x00"> : tensor<8xi1>} : () -> ()
// -----
// Blobs of each whole-byte width.
"keep.dense"() {a = dense<"0x0102FF"> : tensor<3xi8>, b = dense<"0x01000200"> : tensor<2xi16>, c = dense<"0x010000000200000080808080"> : tensor<3xi32>, d = dense<"0x0100000000000000FFFFFFFFFFFFFF7F"> : tensor<2xi64>} : () -> ()
// -----
// Narrow integers take a byte each.
"keep.dense"() {a = dense<"0x0107"> : tensor<2xi4>, b = dense<"0x0102"> : tensor<2xi3>} : () -> ()
// -----
// A blob of one element is a splat.
"keep.dense"() {value = dense<"0x0000803F"> : tensor<4xf32>} : () -> ()
// -----
// Blobs of floats, with signalling NaNs.
"keep.dense"() {a = dense<"0x0100807F000080FF"> : tensor<2xf32>, b = dense<"0x017C00FC"> : tensor<2xf16>, c = dense<"0x0100000000000CF00000000000000080"> : tensor<2xf64>} : () -> ()
// -----
// Blobs of narrow floats.
"keep.dense"() {a = dense<"0x0107"> : tensor<2xf4E2M1FN>, b = dense<"0x1F20"> : tensor<2xf6E2M3FN>, c = dense<"0x3F01"> : tensor<2xf6E3M2FN>, d = dense<"0x7FFF"> : tensor<2xf8E4M3FN>} : () -> ()
// -----
// Wide floats: ten and sixteen bytes each.
"keep.dense"() {a = dense<"0x0100000000000080FF7F0000000000000080FF3F"> : tensor<2xf80>, b = dense<"0x01000000000000000000000000800000FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F"> : tensor<2xf128>} : () -> ()
// -----
// tf32 takes three bytes.
"keep.dense"() {value = dense<"0x000002FFFF03"> : tensor<2xtf32>} : () -> ()
// -----
// Index elements, plain and as a blob.
"keep.dense"() {a = dense<[0, -1, 42]> : tensor<3xindex>, b = dense<"0x0100000000000000FFFFFFFFFFFFFFFF"> : vector<2xindex>} : () -> ()
// -----
// Complex elements: pairs, splats, blobs.
"keep.dense"() {a = dense<[(1.0, -1.0), (0.0, 2.5)]> : tensor<2xcomplex<f32>>, b = dense<(1, 2)> : tensor<4xcomplex<i8>>, c = dense<"0x01020304"> : tensor<2xcomplex<i8>>} : () -> ()
// -----
// Complex NaNs by their bits.
"keep.dense"() {value = dense<[(0x7FC00001, 0xFF800001), (1.0, 0x00000001)]> : tensor<2xcomplex<f32>>} : () -> ()
// -----
// Hexadecimal literals among decimals: bit patterns in floats, numbers in integers.
"keep.dense"() {a = dense<[0x7FC00000, 1.0, 0xFFFFFFFF]> : tensor<3xf32>, b = dense<[0x10, 16, -0x10]> : tensor<3xi32>} : () -> ()
// -----
// Integers at the ends of their ranges.
"keep.dense"() {a = dense<[-128, 127, 255]> : tensor<3xi8>, b = dense<[255, 0]> : tensor<2xui8>, c = dense<[-128, 127]> : tensor<2xsi8>} : () -> ()
// -----
// Wide integers.
"keep.dense"() {a = dense<[1, -1, 18446744073709551616]> : tensor<3xi65>, b = dense<[340282366920938463463374607431768211455, 1]> : tensor<2xui128>} : () -> ()
// -----
// i1024 with its highest bit, and its complement.
"keep.dense"() {value = dense<[89884656743115795386465259539451236680898848947115328636715040578866337902750481566354238661203768010560056939935696678829394884407208311246423715319737062188883946712432742638151109800623047059726541476042502884419075341171231440736956555270413618581675255342293149119973622969239858152417678164812112068609, 179769313486231590772930519078902473361797697894230657273430081157732675805500963132708477322407536021120113879871393357658789768814416622492847430639474124377767893424865485276302219601246094119453082952085005768838150682342462881473913110540827237163350510684586298239947245938479716304835356329624224137214]> : tensor<2xi1024>} : () -> ()
// -----
// Floats of every narrow format as decimals.
"keep.dense"() {a = dense<[6.0, -0.5]> : tensor<2xf4E2M1FN>, b = dense<[7.5, 0.125]> : tensor<2xf6E2M3FN>, c = dense<[28.0, 0.0625]> : tensor<2xf6E3M2FN>, d = dense<[1.0, 0.5]> : tensor<2xf8E8M0FNU>} : () -> ()
// -----
// Decimals that round, overflow, and vanish.
"keep.dense"() {a = dense<[0.1, 1.0e39, 1.0e-50]> : tensor<3xf32>, b = dense<[0.3, 1000.0, 65536.0]> : tensor<3xf16>} : () -> ()
// -----
// Vectors, with scalable dimensions as splats.
"keep.dense"() {a = dense<[1, 2, 3, 4]> : vector<4xi32>, b = dense<1> : vector<[4]xi32>, c = dense<2.0> : vector<2x[4]xf32>} : () -> ()
// -----
// The negative zero differs from zero.
"keep.dense"() {a = dense<[0.0, -0.0]> : tensor<2xf32>, b = dense<-0.0> : tensor<2xf32>, c = dense<[-0.0, -0.0]> : tensor<2xf64>} : () -> ()
// -----
// Two NaNs are one splat only where their bits are equal.
"keep.dense"() {a = dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, b = dense<[0x7FC00000, 0xFFC00000]> : tensor<2xf32>} : () -> ()
// -----
// A tensor with an encoding.
"keep.dense"() {value = dense<[1, 2]> : tensor<2xi32, "sorted">} : () -> ()
// -----
// A blob in a nested shape.
"keep.dense"() {value = dense<"0x0102030405060708"> : tensor<2x2x2xi8>} : () -> ()
// -----
// Lowercase digits in a blob.
"keep.dense"() {value = dense<"0xabcdef"> : tensor<3xi8>} : () -> ()
// -----
// Shapes of one element are splats.
"keep.dense"() {a = dense<[7]> : tensor<1xi32>, b = dense<[[[7]]]> : tensor<1x1x1xi32>} : () -> ()
// -----
// A dense attribute by an alias.
#table = dense<[0, 1, 1, 2, 3, 5, 8]> : tensor<7xi8>
"keep.dense"() {a = #table, b = [#table]} : () -> ()
// -----
// Elements in a typed dictionary of a function.
func.func private @table() attributes {keep.table = dense<[1.0, 2.0]> : tensor<2xf32>}
// -----
// Two hundred elements stay in full.
"keep.dense"() {value = dense<[0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 5, 38, 73, 110, 149, 190, 233, 27, 74, 123, 174, 227, 31, 88, 147, 208, 20, 85, 152, 221, 41, 114, 189, 15, 94, 175, 7, 92, 179, 17, 108, 201, 45, 142, 241, 91, 194, 48, 155, 13, 124, 237, 101, 218, 86, 207, 79, 204, 80, 209, 89, 222, 106, 243, 131, 21, 164, 58, 205, 103, 3, 156, 60, 217, 125, 35, 198, 112, 28, 197, 117, 39, 214, 140, 68, 249, 181, 115, 51, 240, 180, 122, 66, 12, 211, 161, 113, 67, 23, 232, 192, 154, 118, 84, 52, 22, 245, 219, 195, 173, 153, 135, 119, 105, 93, 83, 75, 69, 65, 63, 63, 65, 69, 75, 83, 93, 105, 119, 135, 153, 173, 195, 219, 245, 22, 52, 84, 118, 154, 192, 232, 23, 67, 113, 161, 211, 12, 66, 122, 180, 240, 51, 115, 181, 249, 68, 140, 214, 39, 117, 197, 28, 112, 198, 35, 125, 217, 60, 156, 3, 103, 205, 58, 164, 21, 131, 243, 106, 222, 89, 209, 80, 204, 79, 207, 86, 218, 101, 237, 124, 13, 155, 48, 194]> : tensor<200xi16>} : () -> ()
