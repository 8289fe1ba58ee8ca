module @jit__lambda {
  func.func @main(%arg0: memref<8x32xf32, strided<[?, ?], offset: ?>>, %arg1: memref<32x16xf32, strided<[?, ?], offset: ?>>) -> memref<8x16xf32> {
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<8x32xf8E4M3FN>
    cf.br ^bb1(%c0 : index)
  ^bb1(%0: index):  // 2 preds: ^bb0, ^bb5
    %1 = arith.cmpi slt, %0, %c8 : index
    cf.cond_br %1, ^bb2, ^bb6
  ^bb2:  // pred: ^bb1
    cf.br ^bb3(%c0 : index)
  ^bb3(%2: index):  // 2 preds: ^bb2, ^bb4
    %3 = arith.cmpi slt, %2, %c32 : index
    cf.cond_br %3, ^bb4, ^bb5
  ^bb4:  // pred: ^bb3
    %4 = memref.load %arg0[%0, %2] : memref<8x32xf32, strided<[?, ?], offset: ?>>
    %5 = arith.truncf %4 : f32 to f8E4M3FN
    memref.store %5, %alloc[%0, %2] : memref<8x32xf8E4M3FN>
    %6 = arith.addi %2, %c1 : index
    cf.br ^bb3(%6 : index)
  ^bb5:  // pred: ^bb3
    %7 = arith.addi %0, %c1 : index
    cf.br ^bb1(%7 : index)
  ^bb6:  // pred: ^bb1
    %alloc_0 = memref.alloc() {alignment = 64 : i64} : memref<32x16xf8E4M3FN>
    cf.br ^bb7(%c0 : index)
  ^bb7(%8: index):  // 2 preds: ^bb6, ^bb11
    %9 = arith.cmpi slt, %8, %c32 : index
    cf.cond_br %9, ^bb8, ^bb12
  ^bb8:  // pred: ^bb7
    cf.br ^bb9(%c0 : index)
  ^bb9(%10: index):  // 2 preds: ^bb8, ^bb10
    %11 = arith.cmpi slt, %10, %c16 : index
    cf.cond_br %11, ^bb10, ^bb11
  ^bb10:  // pred: ^bb9
    %12 = memref.load %arg1[%8, %10] : memref<32x16xf32, strided<[?, ?], offset: ?>>
    %13 = arith.truncf %12 : f32 to f8E4M3FN
    memref.store %13, %alloc_0[%8, %10] : memref<32x16xf8E4M3FN>
    %14 = arith.addi %10, %c1 : index
    cf.br ^bb9(%14 : index)
  ^bb11:  // pred: ^bb9
    %15 = arith.addi %8, %c1 : index
    cf.br ^bb7(%15 : index)
  ^bb12:  // pred: ^bb7
    %alloc_1 = memref.alloc() {alignment = 64 : i64} : memref<8x16xf32>
    cf.br ^bb13(%c0 : index)
  ^bb13(%16: index):  // 2 preds: ^bb12, ^bb17
    %17 = arith.cmpi slt, %16, %c8 : index
    cf.cond_br %17, ^bb14, ^bb18
  ^bb14:  // pred: ^bb13
    cf.br ^bb15(%c0 : index)
  ^bb15(%18: index):  // 2 preds: ^bb14, ^bb16
    %19 = arith.cmpi slt, %18, %c16 : index
    cf.cond_br %19, ^bb16, ^bb17
  ^bb16:  // pred: ^bb15
    memref.store %cst, %alloc_1[%16, %18] : memref<8x16xf32>
    %20 = arith.addi %18, %c1 : index
    cf.br ^bb15(%20 : index)
  ^bb17:  // pred: ^bb15
    %21 = arith.addi %16, %c1 : index
    cf.br ^bb13(%21 : index)
  ^bb18:  // pred: ^bb13
    cf.br ^bb19(%c0 : index)
  ^bb19(%22: index):  // 2 preds: ^bb18, ^bb26
    %23 = arith.cmpi slt, %22, %c8 : index
    cf.cond_br %23, ^bb20, ^bb27
  ^bb20:  // pred: ^bb19
    cf.br ^bb21(%c0 : index)
  ^bb21(%24: index):  // 2 preds: ^bb20, ^bb25
    %25 = arith.cmpi slt, %24, %c16 : index
    cf.cond_br %25, ^bb22, ^bb26
  ^bb22:  // pred: ^bb21
    cf.br ^bb23(%c0 : index)
  ^bb23(%26: index):  // 2 preds: ^bb22, ^bb24
    %27 = arith.cmpi slt, %26, %c32 : index
    cf.cond_br %27, ^bb24, ^bb25
  ^bb24:  // pred: ^bb23
    %28 = memref.load %alloc[%22, %26] : memref<8x32xf8E4M3FN>
    %29 = memref.load %alloc_0[%26, %24] : memref<32x16xf8E4M3FN>
    %30 = memref.load %alloc_1[%22, %24] : memref<8x16xf32>
    %31 = arith.extf %28 : f8E4M3FN to f32
    %32 = arith.extf %29 : f8E4M3FN to f32
    %33 = arith.mulf %31, %32 : f32
    %34 = arith.addf %30, %33 : f32
    memref.store %34, %alloc_1[%22, %24] : memref<8x16xf32>
    %35 = arith.addi %26, %c1 : index
    cf.br ^bb23(%35 : index)
  ^bb25:  // pred: ^bb23
    %36 = arith.addi %24, %c1 : index
    cf.br ^bb21(%36 : index)
  ^bb26:  // pred: ^bb21
    %37 = arith.addi %22, %c1 : index
    cf.br ^bb19(%37 : index)
  ^bb27:  // pred: ^bb19
    memref.dealloc %alloc : memref<8x32xf8E4M3FN>
    memref.dealloc %alloc_0 : memref<32x16xf8E4M3FN>
    return %alloc_1 : memref<8x16xf32>
  }
}

