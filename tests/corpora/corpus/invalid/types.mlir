"keep.op"() {a = i99999999} : () -> ()
// -----
"keep.op"() {a = i16777216} : () -> ()
// -----
"keep.op"() {a = si} : () -> ()
// -----
"keep.op"() {a = uj8} : () -> ()
// -----
"keep.op"() {a = f33} : () -> ()
// -----
"keep.op"() {a = f8E4M3FNX} : () -> ()
// -----
"keep.op"() {a = tensor<2x3x>} : () -> ()
// -----
"keep.op"() {a = tensor<-1xf32>} : () -> ()
// -----
"keep.op"() {a = tensor<2xf32} : () -> ()
// -----
"keep.op"() {a = tensor<2 3xf32>} : () -> ()
// -----
"keep.op"() {a = tensor<0x1Fxi8>} : () -> ()
// -----
"keep.op"() {a = tensor<*x2xf32>} : () -> ()
// -----
"keep.op"() {a = tensor<2x()xf32>} : () -> ()
// -----
"keep.op"() {a = tensor<>} : () -> ()
// -----
"keep.op"() {a = tensor<2xnone>} : () -> ()
// -----
"keep.op"() {a = tensor<2xtuple<>>} : () -> ()
// -----
"keep.op"() {a = tensor<2x() -> ()>} : () -> ()
// -----
"keep.op"() {a = tensor<2xtensor<2xf32>>} : () -> ()
// -----
"keep.op"() {a = tensor<2xmemref<2xf32>>} : () -> ()
// -----
"keep.op"() {a = vector<0xf32>} : () -> ()
// -----
"keep.op"() {a = vector<?xf32>} : () -> ()
// -----
"keep.op"() {a = vector<*xf32>} : () -> ()
// -----
"keep.op"() {a = vector<4x!foo.bar>} : () -> ()
// -----
"keep.op"() {a = vector<4xcomplex<f32>>} : () -> ()
// -----
"keep.op"() {a = vector<4xvector<4xf32>>} : () -> ()
// -----
"keep.op"() {a = vector<[0]xi8>} : () -> ()
// -----
"keep.op"() {a = vector<[4xi8>} : () -> ()
// -----
"keep.op"() {a = vector<4]xi8>} : () -> ()
// -----
"keep.op"() {a = vector<0x42xi32>} : () -> ()
// -----
"keep.op"() {a = vector<-4xi8>} : () -> ()
// -----
"keep.op"() {a = memref<2xtensor<2xf32>>} : () -> ()
// -----
"keep.op"() {a = memref<2xnone>} : () -> ()
// -----
"keep.op"() {a = memref<2x!foo.bar>} : () -> ()
// -----
"keep.op"() {a = memref<2xtuple<>>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, affine_map<(d0, d1) -> (d0)>>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, strided<[1, 2]>>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, 1, 2>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, strided<[1]>, 1, 2>} : () -> ()
// -----
"keep.op"() {a = memref<*xf32, strided<[1]>>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, #foo.space>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, @place>} : () -> ()
// -----
"keep.op"() {a = memref<2xf32, 1.0>} : () -> ()
// -----
"keep.op"() {a = complex<index>} : () -> ()
// -----
"keep.op"() {a = complex<tensor<2xf32>>} : () -> ()
// -----
"keep.op"() {a = complex<complex<f32>>} : () -> ()
// -----
"keep.op"() {a = complex<>} : () -> ()
// -----
"keep.op"() {a = complex<f32, f32>} : () -> ()
// -----
"keep.op"() {a = tuple<i32} : () -> ()
// -----
"keep.op"() {a = tuple<,>} : () -> ()
// -----
"keep.op"() {a = tuple<i32, >} : () -> ()
// -----
"keep.op"() {a = none<>} : () -> ()
// -----
"keep.op"() {a = index<32>} : () -> ()
// -----
"keep.op"() {a = (i32) -> } : () -> ()
// -----
"keep.op"() {a = (i32 -> i32} : () -> ()
// -----
"keep.op"() {a = (i32,) -> ()} : () -> ()
// -----
"keep.op"() {a = () -> () -> ()} : () -> ()
// -----
"keep.op"() {a = !undefined} : () -> ()
// -----
"keep.op"() {a = !foo.bar<} : () -> ()
// -----
"keep.op"() {a = !foo.bar<[)>} : () -> ()
// -----
"keep.op"() {a = !foo} : () -> ()
// -----
"keep.op"() {a = !} : () -> ()
// -----
"keep.op"() {a = !builtin.tensor} : () -> ()
// -----
"keep.op"() {a = !arith.type} : () -> ()
// -----
"keep.op"() {a = !quant.uniform} : () -> ()
// -----
"keep.op"() {a = !quant.nothing<1>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32, 1>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:i32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<f32:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i33:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8<-129:127>:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8<-128:128>:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<u8<-1:255>:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8<5:5>:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8<6:5>:f32, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32, -1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32, 0.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32, 1.0:1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:x, {1.0}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:-1, {1.0}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:0, 1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:0, {}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:0, {1.0, }>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:0, {1.0>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:{0:1, 1:2}, {{1.0}, {2.0, 3.0}}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:{0:0}, {1.0}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32:{0:-1}, {1.0}>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f32, 1.0e40>} : () -> ()
// -----
"keep.op"() {a = !quant.uniform<i8:f16, 1.0e6>} : () -> ()
// -----
"keep.op"() {a = !quant.any<>} : () -> ()
// -----
"keep.op"() {a = !quant.any<f32>} : () -> ()
// -----
"keep.op"() {a = !quant.any<i8:i8>} : () -> ()
// -----
"keep.op"() {a = !quant.calibrated<f32>} : () -> ()
// -----
"keep.op"() {a = !quant.calibrated<f32<1.0:-1.0>>} : () -> ()
// -----
"keep.op"() {a = !quant.calibrated<i8<-1.0:1.0>>} : () -> ()
// -----
"keep.op"() {a = !quant.calibrated<f32<1:2>>} : () -> ()
// -----
"keep.op"() {a = opaque<"llvm", "struct">} : () -> ()
// -----
"keep.op"() {a = tensor<*xf32, "x" >} : () -> ()
// -----
"keep.op"() {a = tensor<*xf32, 1
>} : () -> ()
// -----
"keep.op"() {a = tensor<4xtensor<4xf32> } : () -> ()
// -----
"keep.op"() {a = memref<4xf32, 1.0>} : () -> ()
// -----
"keep.op"() {a = memref<4xf32, [1]>} : () -> ()
// -----
"keep.op"() {a = memref<4xf32, unit>} : () -> ()
// -----
"keep.op"() {a = memref<*xf32, @a>} : () -> ()
// -----
#s = [1]
"keep.op"() {a = memref<4xf32, #s>} : () -> ()
// -----
"keep.op"() {a = memref<4xf32, 1, 2>} : () -> ()
// -----
"keep.op"() {a = memref<4xf32, 1, strided<[1]>>} : () -> ()
