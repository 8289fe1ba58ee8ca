module {
  llvm.mlir.global internal constant @g("abc\00") {addr_space = 0 : i32, alignment = 4 : i64}
  llvm.mlir.global external @h() {addr_space = 0 : i32} : !llvm.struct<"x", (i32, ptr)> {
    %0 = llvm.mlir.undef : !llvm.struct<"x", (i32, ptr)>
    llvm.return %0 : !llvm.struct<"x", (i32, ptr)>
  }
  llvm.mlir.global private hidden thread_local unnamed_addr constant @t(dense<1.000000e+00> : tensor<8xf32>) {addr_space = 0 : i32, dso_local} : !llvm.array<8 x f32>
  llvm.mlir.global linkonce_odr @s(42 : i32) {addr_space = 0 : i32, section = "a"} : i32
  llvm.func @printf(!llvm.ptr, ...) -> i32 attributes {passthrough = ["nounwind"]}
  llvm.func extern_weak @w(!llvm.ptr<3>, !llvm.struct<packed (i8, array<2 x vector<[4]xf32>>)>, !llvm.struct<"o", opaque>, !llvm.struct<()>)
  llvm.func @variadic(...)
  llvm.func internal fastcc @f(%arg0: i32 {llvm.noundef}, %arg1: f32, %arg2: !llvm.ptr, %arg3: vector<4xf32>, %arg4: vector<4xi32>) -> (i32 {llvm.noundef}) attributes {dso_local, no_unwind, sym_visibility = "private"} {
    %0 = llvm.add %arg0, %arg0 overflow<nsw, nuw> : i32
    %1 = llvm.or disjoint %0, %arg0 : i32
    %2 = llvm.fadd %arg1, %arg1 {fastmathFlags = #llvm.fastmath<nnan, contract>} : f32
    %3 = llvm.sdiv exact %arg0, %arg0 : i32
    %4 = llvm.getelementptr inbounds|nuw %arg2[%arg0, 3] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.array<4 x f32>
    %5 = llvm.getelementptr nusw %arg2[-1] {x = 1 : i32} : (!llvm.ptr) -> !llvm.ptr, f32
    %6 = llvm.getelementptr nusw|nuw %arg2[0, 1, %arg0] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.struct<(i32, array<3 x f64>)>
    %7 = llvm.getelementptr nuw %arg2[%arg0] : (!llvm.ptr, i32) -> !llvm.ptr, i8
    %8 = llvm.load %arg2 {alignment = 4 : i64} : !llvm.ptr -> f32
    llvm.store volatile %8, %arg2 atomic monotonic {alignment = 4 : i64} : f32, !llvm.ptr
    %9 = llvm.load volatile %arg2 atomic syncscope("agent") acquire invariant_group {alignment = 4 : i64} : !llvm.ptr -> f32
    %10 = llvm.load %arg2 invariant {nontemporal} : !llvm.ptr -> i32
    llvm.store %8, %arg2 invariant_group {nontemporal} : f32, !llvm.ptr
    %11 = llvm.call @printf(%arg2, %arg0) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
    %12 = llvm.call fastcc tail @printf(%arg2, %arg0) vararg(!llvm.func<i32 (ptr, ...)>) ["deopt"(%arg0, %arg1 : i32, f32), "x"()] {fastmathFlags = #llvm.fastmath<ninf>, no_unwind} : (!llvm.ptr {llvm.noundef}, i32) -> (i32 {llvm.noundef})
    llvm.call @variadic() vararg(!llvm.func<void (...)>) : () -> ()
    %13 = llvm.zext nneg %arg0 : i32 to i64
    %14 = llvm.trunc %13 overflow<nsw> : i64 to i32
    %15 = llvm.trunc %13 : i64 to i32
    %16 = llvm.icmp "slt" %arg0, %0 : i32
    %17 = llvm.icmp "eq" %arg2, %arg2 : !llvm.ptr
    %18 = llvm.fcmp "oeq" %arg1, %2 {fastmathFlags = #llvm.fastmath<fast>} : f32
    %19 = llvm.fcmp "_true" %arg3, %arg3 : vector<4xf32>
    %20 = "llvm.intr.vector.reduce.fadd"(%arg1, %arg3) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    %21 = "llvm.intr.vector.reduce.add"(%arg4) : (vector<4xi32>) -> i32
    %22 = llvm.intr.vector.reduce.fmaximum(%arg3) {fastmathFlags = #llvm.fastmath<nnan>} : (vector<4xf32>) -> f32
    %23 = llvm.alloca %arg0 x f32 {alignment = 8 : i64} : (i32) -> !llvm.ptr
    %24 = llvm.alloca inalloca %arg0 x !llvm.struct<(i32, ptr)> : (i32) -> !llvm.ptr<5>
    %25 = llvm.intr.exp(%arg1) : (f32) -> f32
    %26 = llvm.intr.pow(%arg3, %arg3) {fastmathFlags = #llvm.fastmath<afn>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %27 = llvm.intr.fma(%arg1, %arg1, %arg1) : (f32, f32, f32) -> f32
    %28 = llvm.intr.smax(%arg0, %arg0) : (i32, i32) -> i32
    %29 = llvm.intr.fshl(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
    %30 = "llvm.intr.ctlz"(%arg0) <{is_zero_poison = true}> : (i32) -> i32
    %31 = llvm.shufflevector %arg3, %arg3 [0, 1, -1, 2, 3] : vector<4xf32> 
    %32 = llvm.extractelement %arg3[%arg0 : i32] : vector<4xf32>
    %33 = llvm.insertelement %arg1, %arg3[%arg0 : i32] : vector<4xf32>
    %34 = llvm.mlir.addressof @g : !llvm.ptr
    %35 = "llvm.intr.abs"(%arg0) <{is_int_min_poison = false}> : (i32) -> i32
    %36 = llvm.freeze %arg0 : i32
    %37 = llvm.call %arg2(%arg0) : !llvm.ptr, (i32) -> i32
    %38 = "llvm.intr.sadd.with.overflow"(%arg0, %arg0) : (i32, i32) -> !llvm.struct<(i32, i1)>
    %39 = llvm.extractvalue %38[1] : !llvm.struct<(i32, i1)> 
    %40 = llvm.insertvalue %16, %38[1] {x} : !llvm.struct<(i32, i1)> 
    "llvm.intr.memcpy"(%arg2, %arg2, %13) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %41 = llvm.mlir.constant(3 : i8) : i8
    "llvm.intr.memset"(%arg2, %41, %13) <{isVolatile = true}> : (!llvm.ptr, i8, i64) -> ()
    llvm.intr.lifetime.start %23 : !llvm.ptr
    %42 = llvm.intr.stacksave : !llvm.ptr
    llvm.intr.stackrestore %42 : !llvm.ptr
    %43 = llvm.inttoptr %13 : i64 to !llvm.ptr
    %44 = llvm.ptrtoint %arg2 : !llvm.ptr to i64
    %45 = llvm.bitcast %arg1 : f32 to i32
    %46 = llvm.addrspacecast %arg2 : !llvm.ptr to !llvm.ptr<3>
    %47 = llvm.select %16, %arg1, %8 {fastmathFlags = #llvm.fastmath<nsz>} : i1, f32
    %48 = llvm.fptosi %arg3 : vector<4xf32> to vector<4xi32>
    %49 = llvm.uitofp nneg %arg0 : i32 to f32
    %50 = llvm.mlir.zero : !llvm.array<2 x ptr>
    %51 = llvm.mlir.poison : vector<4x!llvm.ptr>
    %52 = llvm.fneg %arg1 : f32
    llvm.switch %arg0 : i32, ^bb1(%0 : i32) [
      1: ^bb1(%arg0 : i32),
      -2: ^bb2
    ] {branch_weights = array<i32: 1, 2, 3>}
  ^bb1(%53: i32):  // 3 preds: ^bb0, ^bb0, ^bb1
    llvm.cond_br %16 weights([1, 2]), ^bb2, ^bb1(%53 : i32)
  ^bb2:  // 2 preds: ^bb0, ^bb1
    %54 = llvm.mlir.constant(dense<[1, 2]> : vector<2xi32>) : vector<2xi32>
    llvm.switch %arg0 : i32, ^bb3 [
    ]
  ^bb3:  // pred: ^bb2
    llvm.br ^bb4
  ^bb4:  // pred: ^bb3
    llvm.cond_br %16, ^bb5, ^bb6
  ^bb5:  // pred: ^bb4
    llvm.unreachable
  ^bb6:  // pred: ^bb4
    llvm.return %arg0 : i32
  }
  llvm.func @more(%arg0: i1, %arg1: !llvm.ptr, %arg2: i32, %arg3: f32, %arg4: vector<4xf32>, %arg5: vector<4xi1>, %arg6: vector<4xi32>, %arg7: i64) {
    llvm.intr.assume %arg0 : i1
    llvm.intr.assume %arg0 ["align"(%arg1, %arg2 : !llvm.ptr, i32)] : i1
    %0 = llvm.intr.powi(%arg3, %arg2) : (f32, i32) -> f32
    %1 = llvm.intr.powi(%arg4, %arg2) {fastmathFlags = #llvm.fastmath<fast>} : (vector<4xf32>, i32) -> vector<4xf32>
    %2 = "llvm.intr.is.fpclass"(%arg3) <{bit = 3 : i32}> : (f32) -> i1
    %3 = "llvm.intr.is.fpclass"(%arg4) <{bit = 3 : i32}> : (vector<4xf32>) -> vector<4xi1>
    %4 = llvm.intr.sincos(%arg3) : (f32) -> !llvm.struct<(f32, f32)>
    %5 = "llvm.intr.vscale"() : () -> i64
    %6 = llvm.atomicrmw add %arg1, %arg2 monotonic : !llvm.ptr, i32
    %7 = llvm.atomicrmw volatile fadd %arg1, %arg3 syncscope("a") acq_rel {alignment = 4 : i64} : !llvm.ptr, f32
    %8 = llvm.cmpxchg %arg1, %arg2, %arg2 acq_rel monotonic : !llvm.ptr, i32
    %9 = llvm.cmpxchg weak volatile %arg1, %arg2, %arg2 syncscope("a") acq_rel monotonic {alignment = 8 : i64} : !llvm.ptr, i32
    llvm.fence syncscope("agent") seq_cst
    llvm.fence release
    %10 = "llvm.intr.masked.expandload"(%arg1, %arg5, %arg4) : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    "llvm.intr.masked.compressstore"(%arg4, %arg1, %arg5) : (vector<4xf32>, !llvm.ptr, vector<4xi1>) -> ()
    llvm.return
  }
  llvm.func @promises(%arg0: i32 {llvm.noundef, llvm.range = #llvm.constant_range<i32, 0, 10>}, %arg1: f32 {llvm.nofpclass = 3 : i64}, %arg2: !llvm.ptr {llvm.align = 16 : i64, llvm.dereferenceable = 8 : i64, llvm.nonnull}, %arg3: i1) -> (i8 {llvm.range = #llvm.constant_range<i8, -56, 10>}) {
    llvm.intr.assume %arg3 ["cold"(), "nonnull"(%arg2 : !llvm.ptr)] : i1 {foo = 1 : i32}
    %0 = llvm.atomicrmw usub_cond %arg2, %arg0 seq_cst {access_groups = []} : !llvm.ptr, i32
    %1 = llvm.mlir.undef : vector<2xf16>
    %2 = llvm.atomicrmw fmaximum %arg2, %1 syncscope("agent") monotonic : !llvm.ptr, vector<2xf16>
    %3 = llvm.cmpxchg weak %arg2, %arg2, %arg2 seq_cst acquire : !llvm.ptr, !llvm.ptr
    %4 = llvm.mlir.undef : vector<2xi1>
    "llvm.intr.masked.compressstore"(%1, %arg2, %4) <{arg_attrs = [{}, {llvm.align = 4 : i64}, {}]}> : (vector<2xf16>, !llvm.ptr, vector<2xi1>) -> ()
    %5 = llvm.trunc %arg0 : i32 to i8
    llvm.return %5 : i8
  }
}
