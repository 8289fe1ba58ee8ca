"builtin.module"() ({
  "llvm.mlir.global"() <{addr_space = 0 : i32, alignment = 4 : i64, constant, global_type = !llvm.array<4 x i8>, linkage = #llvm.linkage<internal>, sym_name = "g", unnamed_addr = 0 : i64, value = "abc\00", visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.mlir.global"() <{addr_space = 0 : i32, global_type = !llvm.struct<"x", (i32, ptr)>, linkage = #llvm.linkage<external>, sym_name = "h", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
    %72 = "llvm.mlir.undef"() : () -> !llvm.struct<"x", (i32, ptr)>
    "llvm.return"(%72) : (!llvm.struct<"x", (i32, ptr)>) -> ()
  }) : () -> ()
  "llvm.mlir.global"() <{addr_space = 0 : i32, constant, dso_local, global_type = !llvm.array<8 x f32>, linkage = #llvm.linkage<private>, sym_name = "t", thread_local_, unnamed_addr = 2 : i64, value = dense<1.000000e+00> : tensor<8xf32>, visibility_ = 1 : i64}> ({
  }) : () -> ()
  "llvm.mlir.global"() <{addr_space = 0 : i32, global_type = i32, linkage = #llvm.linkage<linkonce_odr>, section = "a", sym_name = "s", unnamed_addr = 0 : i64, value = 42 : i32, visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<i32 (ptr, ...)>, linkage = #llvm.linkage<external>, passthrough = ["nounwind"], sym_name = "printf", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (ptr<3>, struct<packed (i8, array<2 x vector<[4]xf32>>)>, struct<"o", opaque>, struct<()>)>, linkage = #llvm.linkage<extern_weak>, sym_name = "w", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (...)>, linkage = #llvm.linkage<external>, sym_name = "variadic", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<fastcc>, arg_attrs = [{llvm.noundef}, {}, {}, {}, {}], dso_local, function_type = !llvm.func<i32 (i32, f32, ptr, vector<4xf32>, vector<4xi32>)>, linkage = #llvm.linkage<internal>, no_unwind, res_attrs = [{llvm.noundef}], sym_name = "f", sym_visibility = "private", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg12: i32, %arg13: f32, %arg14: !llvm.ptr, %arg15: vector<4xf32>, %arg16: vector<4xi32>):
    %17 = "llvm.add"(%arg12, %arg12) <{overflowFlags = 3 : i32}> : (i32, i32) -> i32
    %18 = "llvm.or"(%17, %arg12) <{isDisjoint}> : (i32, i32) -> i32
    %19 = "llvm.fadd"(%arg13, %arg13) <{fastmathFlags = #llvm.fastmath<nnan, contract>}> : (f32, f32) -> f32
    %20 = "llvm.sdiv"(%arg12, %arg12) <{isExact}> : (i32, i32) -> i32
    %21 = "llvm.getelementptr"(%arg14, %arg12) <{elem_type = !llvm.array<4 x f32>, noWrapFlags = 7 : i32, rawConstantIndices = array<i32: -2147483648, 3>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %22 = "llvm.getelementptr"(%arg14) <{elem_type = f32, noWrapFlags = 2 : i32, rawConstantIndices = array<i32: -1>}> {x = 1 : i32} : (!llvm.ptr) -> !llvm.ptr
    %23 = "llvm.getelementptr"(%arg14, %arg12) <{elem_type = !llvm.struct<(i32, array<3 x f64>)>, noWrapFlags = 6 : i32, rawConstantIndices = array<i32: 0, 1, -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %24 = "llvm.getelementptr"(%arg14, %arg12) <{elem_type = i8, noWrapFlags = 4 : i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %25 = "llvm.load"(%arg14) <{alignment = 4 : i64, ordering = 0 : i64}> : (!llvm.ptr) -> f32
    "llvm.store"(%25, %arg14) <{alignment = 4 : i64, ordering = 2 : i64, volatile_}> : (f32, !llvm.ptr) -> ()
    %26 = "llvm.load"(%arg14) <{alignment = 4 : i64, invariantGroup, ordering = 4 : i64, syncscope = "agent", volatile_}> : (!llvm.ptr) -> f32
    %27 = "llvm.load"(%arg14) <{invariant, nontemporal, ordering = 0 : i64}> : (!llvm.ptr) -> i32
    "llvm.store"(%25, %arg14) <{invariantGroup, nontemporal, ordering = 0 : i64}> : (f32, !llvm.ptr) -> ()
    %28 = "llvm.call"(%arg14, %arg12) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, callee = @printf, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 2, 0>, var_callee_type = !llvm.func<i32 (ptr, ...)>}> : (!llvm.ptr, i32) -> i32
    %29 = "llvm.call"(%arg14, %arg12, %arg12, %arg13) <{CConv = #llvm.cconv<fastcc>, TailCallKind = #llvm.tailcallkind<tail>, arg_attrs = [{llvm.noundef}, {}], callee = @printf, fastmathFlags = #llvm.fastmath<ninf>, no_unwind, op_bundle_sizes = array<i32: 2, 0>, op_bundle_tags = ["deopt", "x"], operandSegmentSizes = array<i32: 2, 2>, res_attrs = [{llvm.noundef}], var_callee_type = !llvm.func<i32 (ptr, ...)>}> : (!llvm.ptr, i32, i32, f32) -> i32
    "llvm.call"() <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, callee = @variadic, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 0, 0>, var_callee_type = !llvm.func<void (...)>}> : () -> ()
    %30 = "llvm.zext"(%arg12) <{nonNeg}> : (i32) -> i64
    %31 = "llvm.trunc"(%30) <{overflowFlags = 1 : i32}> : (i64) -> i32
    %32 = "llvm.trunc"(%30) <{overflowFlags = 0 : i32}> : (i64) -> i32
    %33 = "llvm.icmp"(%arg12, %17) <{predicate = 2 : i64}> : (i32, i32) -> i1
    %34 = "llvm.icmp"(%arg14, %arg14) <{predicate = 0 : i64}> : (!llvm.ptr, !llvm.ptr) -> i1
    %35 = "llvm.fcmp"(%arg13, %19) <{fastmathFlags = #llvm.fastmath<fast>, predicate = 1 : i64}> : (f32, f32) -> i1
    %36 = "llvm.fcmp"(%arg15, %arg15) <{fastmathFlags = #llvm.fastmath<none>, predicate = 15 : i64}> : (vector<4xf32>, vector<4xf32>) -> vector<4xi1>
    %37 = "llvm.intr.vector.reduce.fadd"(%arg13, %arg15) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    %38 = "llvm.intr.vector.reduce.add"(%arg16) : (vector<4xi32>) -> i32
    %39 = "llvm.intr.vector.reduce.fmaximum"(%arg15) <{fastmathFlags = #llvm.fastmath<nnan>}> : (vector<4xf32>) -> f32
    %40 = "llvm.alloca"(%arg12) <{alignment = 8 : i64, elem_type = f32}> : (i32) -> !llvm.ptr
    %41 = "llvm.alloca"(%arg12) <{elem_type = !llvm.struct<(i32, ptr)>, inalloca}> : (i32) -> !llvm.ptr<5>
    %42 = "llvm.intr.exp"(%arg13) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> f32
    %43 = "llvm.intr.pow"(%arg15, %arg15) <{fastmathFlags = #llvm.fastmath<afn>}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %44 = "llvm.intr.fma"(%arg13, %arg13, %arg13) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32, f32) -> f32
    %45 = "llvm.intr.smax"(%arg12, %arg12) : (i32, i32) -> i32
    %46 = "llvm.intr.fshl"(%arg12, %arg12, %arg12) : (i32, i32, i32) -> i32
    %47 = "llvm.intr.ctlz"(%arg12) <{is_zero_poison = true}> : (i32) -> i32
    %48 = "llvm.shufflevector"(%arg15, %arg15) <{mask = array<i32: 0, 1, -1, 2, 3>}> : (vector<4xf32>, vector<4xf32>) -> vector<5xf32>
    %49 = "llvm.extractelement"(%arg15, %arg12) : (vector<4xf32>, i32) -> f32
    %50 = "llvm.insertelement"(%arg15, %arg13, %arg12) : (vector<4xf32>, f32, i32) -> vector<4xf32>
    %51 = "llvm.mlir.addressof"() <{global_name = @g}> : () -> !llvm.ptr
    %52 = "llvm.intr.abs"(%arg12) <{is_int_min_poison = false}> : (i32) -> i32
    %53 = "llvm.freeze"(%arg12) : (i32) -> i32
    %54 = "llvm.call"(%arg14, %arg12) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 2, 0>}> : (!llvm.ptr, i32) -> i32
    %55 = "llvm.intr.sadd.with.overflow"(%arg12, %arg12) : (i32, i32) -> !llvm.struct<(i32, i1)>
    %56 = "llvm.extractvalue"(%55) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i1)>) -> i1
    %57 = "llvm.insertvalue"(%55, %33) <{position = array<i64: 1>}> {x} : (!llvm.struct<(i32, i1)>, i1) -> !llvm.struct<(i32, i1)>
    "llvm.intr.memcpy"(%arg14, %arg14, %30) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %58 = "llvm.mlir.constant"() <{value = 3 : i8}> : () -> i8
    "llvm.intr.memset"(%arg14, %58, %30) <{isVolatile = true}> : (!llvm.ptr, i8, i64) -> ()
    "llvm.intr.lifetime.start"(%40) : (!llvm.ptr) -> ()
    %59 = "llvm.intr.stacksave"() : () -> !llvm.ptr
    "llvm.intr.stackrestore"(%59) : (!llvm.ptr) -> ()
    %60 = "llvm.inttoptr"(%30) : (i64) -> !llvm.ptr
    %61 = "llvm.ptrtoint"(%arg14) : (!llvm.ptr) -> i64
    %62 = "llvm.bitcast"(%arg13) : (f32) -> i32
    %63 = "llvm.addrspacecast"(%arg14) : (!llvm.ptr) -> !llvm.ptr<3>
    %64 = "llvm.select"(%33, %arg13, %25) <{fastmathFlags = #llvm.fastmath<nsz>}> : (i1, f32, f32) -> f32
    %65 = "llvm.fptosi"(%arg15) : (vector<4xf32>) -> vector<4xi32>
    %66 = "llvm.uitofp"(%arg12) <{nonNeg}> : (i32) -> f32
    %67 = "llvm.mlir.zero"() : () -> !llvm.array<2 x ptr>
    %68 = "llvm.mlir.poison"() : () -> vector<4x!llvm.ptr>
    %69 = "llvm.fneg"(%arg13) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> f32
    "llvm.switch"(%arg12, %17, %arg12)[^bb1, ^bb1, ^bb2] <{branch_weights = array<i32: 1, 2, 3>, case_operand_segments = array<i32: 1, 0>, case_values = dense<[1, -2]> : vector<2xi32>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (i32, i32, i32) -> ()
  ^bb1(%70: i32):  // 3 preds: ^bb0, ^bb0, ^bb1
    "llvm.cond_br"(%33, %70)[^bb2, ^bb1] <{branch_weights = array<i32: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i1, i32) -> ()
  ^bb2:  // 2 preds: ^bb0, ^bb1
    %71 = "llvm.mlir.constant"() <{value = dense<[1, 2]> : vector<2xi32>}> : () -> vector<2xi32>
    "llvm.switch"(%arg12)[^bb3] <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
  ^bb3:  // pred: ^bb2
    "llvm.br"()[^bb4] : () -> ()
  ^bb4:  // pred: ^bb3
    "llvm.cond_br"(%33)[^bb5, ^bb6] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb5:  // pred: ^bb4
    "llvm.unreachable"() : () -> ()
  ^bb6:  // pred: ^bb4
    "llvm.return"(%arg12) : (i32) -> ()
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (i1, ptr, i32, f32, vector<4xf32>, vector<4xi1>, vector<4xi32>, i64)>, linkage = #llvm.linkage<external>, sym_name = "more", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg4: i1, %arg5: !llvm.ptr, %arg6: i32, %arg7: f32, %arg8: vector<4xf32>, %arg9: vector<4xi1>, %arg10: vector<4xi32>, %arg11: i64):
    "llvm.intr.assume"(%arg4) <{op_bundle_sizes = array<i32>}> : (i1) -> ()
    "llvm.intr.assume"(%arg4, %arg5, %arg6) <{op_bundle_sizes = array<i32: 2>, op_bundle_tags = ["align"]}> : (i1, !llvm.ptr, i32) -> ()
    %6 = "llvm.intr.powi"(%arg7, %arg6) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, i32) -> f32
    %7 = "llvm.intr.powi"(%arg8, %arg6) <{fastmathFlags = #llvm.fastmath<fast>}> : (vector<4xf32>, i32) -> vector<4xf32>
    %8 = "llvm.intr.is.fpclass"(%arg7) <{bit = 3 : i32}> : (f32) -> i1
    %9 = "llvm.intr.is.fpclass"(%arg8) <{bit = 3 : i32}> : (vector<4xf32>) -> vector<4xi1>
    %10 = "llvm.intr.sincos"(%arg7) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> !llvm.struct<(f32, f32)>
    %11 = "llvm.intr.vscale"() : () -> i64
    %12 = "llvm.atomicrmw"(%arg5, %arg6) <{bin_op = 1 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
    %13 = "llvm.atomicrmw"(%arg5, %arg7) <{alignment = 4 : i64, bin_op = 11 : i64, ordering = 6 : i64, syncscope = "a", volatile_}> : (!llvm.ptr, f32) -> f32
    %14 = "llvm.cmpxchg"(%arg5, %arg6, %arg6) <{failure_ordering = 2 : i64, success_ordering = 6 : i64}> : (!llvm.ptr, i32, i32) -> !llvm.struct<(i32, i1)>
    %15 = "llvm.cmpxchg"(%arg5, %arg6, %arg6) <{alignment = 8 : i64, failure_ordering = 2 : i64, success_ordering = 6 : i64, syncscope = "a", volatile_, weak}> : (!llvm.ptr, i32, i32) -> !llvm.struct<(i32, i1)>
    "llvm.fence"() <{ordering = 7 : i64, syncscope = "agent"}> : () -> ()
    "llvm.fence"() <{ordering = 5 : i64}> : () -> ()
    %16 = "llvm.intr.masked.expandload"(%arg5, %arg9, %arg8) : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    "llvm.intr.masked.compressstore"(%arg8, %arg5, %arg9) : (vector<4xf32>, !llvm.ptr, vector<4xi1>) -> ()
    "llvm.return"() : () -> ()
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, arg_attrs = [{llvm.noundef, llvm.range = #llvm.constant_range<i32, 0, 10>}, {llvm.nofpclass = 3 : i64}, {llvm.align = 16 : i64, llvm.dereferenceable = 8 : i64, llvm.nonnull}, {}], function_type = !llvm.func<i8 (i32, f32, ptr, i1)>, linkage = #llvm.linkage<external>, res_attrs = [{llvm.range = #llvm.constant_range<i8, -56, 10>}], sym_name = "promises", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg0: i32, %arg1: f32, %arg2: !llvm.ptr, %arg3: i1):
    "llvm.intr.assume"(%arg3, %arg2) <{op_bundle_sizes = array<i32: 0, 1>, op_bundle_tags = ["cold", "nonnull"]}> {foo = 1 : i32} : (i1, !llvm.ptr) -> ()
    %0 = "llvm.atomicrmw"(%arg2, %arg0) <{access_groups = [], bin_op = 17 : i64, ordering = 7 : i64}> : (!llvm.ptr, i32) -> i32
    %1 = "llvm.mlir.undef"() : () -> vector<2xf16>
    %2 = "llvm.atomicrmw"(%arg2, %1) <{bin_op = 19 : i64, ordering = 2 : i64, syncscope = "agent"}> : (!llvm.ptr, vector<2xf16>) -> vector<2xf16>
    %3 = "llvm.cmpxchg"(%arg2, %arg2, %arg2) <{failure_ordering = 4 : i64, success_ordering = 7 : i64, weak}> : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.struct<(ptr, i1)>
    %4 = "llvm.mlir.undef"() : () -> vector<2xi1>
    "llvm.intr.masked.compressstore"(%1, %arg2, %4) <{arg_attrs = [{}, {llvm.align = 4 : i64}, {}]}> : (vector<2xf16>, !llvm.ptr, vector<2xi1>) -> ()
    %5 = "llvm.trunc"(%arg0) <{overflowFlags = 0 : i32}> : (i32) -> i8
    "llvm.return"(%5) : (i8) -> ()
  }) : () -> ()
}) : () -> ()
