"builtin.module"() ({
  "llvm.mlir.global"() <{addr_space = 0 : i32, alignment = 4 : i64, constant, global_type = !llvm.array<4 x i8>, linkage = #llvm.linkage<internal>, sym_name = "g", unnamed_addr = 0 : i64, value = "abc\00", visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.mlir.global"() <{addr_space = 0 : i32, global_type = !llvm.struct<"x", (i32, ptr)>, linkage = #llvm.linkage<external>, sym_name = "h", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
    %55 = "llvm.mlir.undef"() : () -> !llvm.struct<"x", (i32, ptr)>
    "llvm.return"(%55) : (!llvm.struct<"x", (i32, ptr)>) -> ()
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
  ^bb0(%arg0: i32, %arg1: f32, %arg2: !llvm.ptr, %arg3: vector<4xf32>, %arg4: vector<4xi32>):
    %0 = "llvm.add"(%arg0, %arg0) <{overflowFlags = 3 : i32}> : (i32, i32) -> i32
    %1 = "llvm.or"(%0, %arg0) <{isDisjoint}> : (i32, i32) -> i32
    %2 = "llvm.fadd"(%arg1, %arg1) <{fastmathFlags = #llvm.fastmath<nnan, contract>}> : (f32, f32) -> f32
    %3 = "llvm.sdiv"(%arg0, %arg0) <{isExact}> : (i32, i32) -> i32
    %4 = "llvm.getelementptr"(%arg2, %arg0) <{elem_type = !llvm.array<4 x f32>, noWrapFlags = 7 : i32, rawConstantIndices = array<i32: -2147483648, 3>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %5 = "llvm.getelementptr"(%arg2) <{elem_type = f32, noWrapFlags = 2 : i32, rawConstantIndices = array<i32: -1>}> {x = 1 : i32} : (!llvm.ptr) -> !llvm.ptr
    %6 = "llvm.getelementptr"(%arg2, %arg0) <{elem_type = !llvm.struct<(i32, array<3 x f64>)>, noWrapFlags = 6 : i32, rawConstantIndices = array<i32: 0, 1, -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %7 = "llvm.getelementptr"(%arg2, %arg0) <{elem_type = i8, noWrapFlags = 4 : i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %8 = "llvm.load"(%arg2) <{alignment = 4 : i64, ordering = 0 : i64}> : (!llvm.ptr) -> f32
    "llvm.store"(%8, %arg2) <{alignment = 4 : i64, ordering = 2 : i64, volatile_}> : (f32, !llvm.ptr) -> ()
    %9 = "llvm.load"(%arg2) <{alignment = 4 : i64, invariantGroup, ordering = 4 : i64, syncscope = "agent", volatile_}> : (!llvm.ptr) -> f32
    %10 = "llvm.load"(%arg2) <{invariant, nontemporal, ordering = 0 : i64}> : (!llvm.ptr) -> i32
    "llvm.store"(%8, %arg2) <{invariantGroup, nontemporal, ordering = 0 : i64}> : (f32, !llvm.ptr) -> ()
    %11 = "llvm.call"(%arg2, %arg0) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, callee = @printf, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 2, 0>, var_callee_type = !llvm.func<i32 (ptr, ...)>}> : (!llvm.ptr, i32) -> i32
    %12 = "llvm.call"(%arg2, %arg0, %arg0, %arg1) <{CConv = #llvm.cconv<fastcc>, TailCallKind = #llvm.tailcallkind<tail>, arg_attrs = [{llvm.noundef}, {}], callee = @printf, fastmathFlags = #llvm.fastmath<ninf>, no_unwind, op_bundle_sizes = array<i32: 2, 0>, op_bundle_tags = ["deopt", "x"], operandSegmentSizes = array<i32: 2, 2>, res_attrs = [{llvm.noundef}], var_callee_type = !llvm.func<i32 (ptr, ...)>}> : (!llvm.ptr, i32, i32, f32) -> i32
    "llvm.call"() <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, callee = @variadic, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 0, 0>, var_callee_type = !llvm.func<void (...)>}> : () -> ()
    %13 = "llvm.zext"(%arg0) <{nonNeg}> : (i32) -> i64
    %14 = "llvm.trunc"(%13) <{overflowFlags = 1 : i32}> : (i64) -> i32
    %15 = "llvm.trunc"(%13) <{overflowFlags = 0 : i32}> : (i64) -> i32
    %16 = "llvm.icmp"(%arg0, %0) <{predicate = 2 : i64}> : (i32, i32) -> i1
    %17 = "llvm.icmp"(%arg2, %arg2) <{predicate = 0 : i64}> : (!llvm.ptr, !llvm.ptr) -> i1
    %18 = "llvm.fcmp"(%arg1, %2) <{fastmathFlags = #llvm.fastmath<fast>, predicate = 1 : i64}> : (f32, f32) -> i1
    %19 = "llvm.fcmp"(%arg3, %arg3) <{fastmathFlags = #llvm.fastmath<none>, predicate = 15 : i64}> : (vector<4xf32>, vector<4xf32>) -> vector<4xi1>
    %20 = "llvm.intr.vector.reduce.fadd"(%arg1, %arg3) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    %21 = "llvm.intr.vector.reduce.add"(%arg4) : (vector<4xi32>) -> i32
    %22 = "llvm.intr.vector.reduce.fmaximum"(%arg3) <{fastmathFlags = #llvm.fastmath<nnan>}> : (vector<4xf32>) -> f32
    %23 = "llvm.alloca"(%arg0) <{alignment = 8 : i64, elem_type = f32}> : (i32) -> !llvm.ptr
    %24 = "llvm.alloca"(%arg0) <{elem_type = !llvm.struct<(i32, ptr)>, inalloca}> : (i32) -> !llvm.ptr<5>
    %25 = "llvm.intr.exp"(%arg1) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> f32
    %26 = "llvm.intr.pow"(%arg3, %arg3) <{fastmathFlags = #llvm.fastmath<afn>}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %27 = "llvm.intr.fma"(%arg1, %arg1, %arg1) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32, f32) -> f32
    %28 = "llvm.intr.smax"(%arg0, %arg0) : (i32, i32) -> i32
    %29 = "llvm.intr.fshl"(%arg0, %arg0, %arg0) : (i32, i32, i32) -> i32
    %30 = "llvm.intr.ctlz"(%arg0) <{is_zero_poison = true}> : (i32) -> i32
    %31 = "llvm.shufflevector"(%arg3, %arg3) <{mask = array<i32: 0, 1, -1, 2, 3>}> : (vector<4xf32>, vector<4xf32>) -> vector<5xf32>
    %32 = "llvm.extractelement"(%arg3, %arg0) : (vector<4xf32>, i32) -> f32
    %33 = "llvm.insertelement"(%arg3, %arg1, %arg0) : (vector<4xf32>, f32, i32) -> vector<4xf32>
    %34 = "llvm.mlir.addressof"() <{global_name = @g}> : () -> !llvm.ptr
    %35 = "llvm.intr.abs"(%arg0) <{is_int_min_poison = false}> : (i32) -> i32
    %36 = "llvm.freeze"(%arg0) : (i32) -> i32
    %37 = "llvm.call"(%arg2, %arg0) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 2, 0>}> : (!llvm.ptr, i32) -> i32
    %38 = "llvm.intr.sadd.with.overflow"(%arg0, %arg0) : (i32, i32) -> !llvm.struct<(i32, i1)>
    %39 = "llvm.extractvalue"(%38) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i1)>) -> i1
    %40 = "llvm.insertvalue"(%38, %16) <{position = array<i64: 1>}> {x} : (!llvm.struct<(i32, i1)>, i1) -> !llvm.struct<(i32, i1)>
    "llvm.intr.memcpy"(%arg2, %arg2, %13) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %41 = "llvm.mlir.constant"() <{value = 3 : i8}> : () -> i8
    "llvm.intr.memset"(%arg2, %41, %13) <{isVolatile = true}> : (!llvm.ptr, i8, i64) -> ()
    "llvm.intr.lifetime.start"(%23) : (!llvm.ptr) -> ()
    %42 = "llvm.intr.stacksave"() : () -> !llvm.ptr
    "llvm.intr.stackrestore"(%42) : (!llvm.ptr) -> ()
    %43 = "llvm.inttoptr"(%13) : (i64) -> !llvm.ptr
    %44 = "llvm.ptrtoint"(%arg2) : (!llvm.ptr) -> i64
    %45 = "llvm.bitcast"(%arg1) : (f32) -> i32
    %46 = "llvm.addrspacecast"(%arg2) : (!llvm.ptr) -> !llvm.ptr<3>
    %47 = "llvm.select"(%16, %arg1, %8) <{fastmathFlags = #llvm.fastmath<nsz>}> : (i1, f32, f32) -> f32
    %48 = "llvm.fptosi"(%arg3) : (vector<4xf32>) -> vector<4xi32>
    %49 = "llvm.uitofp"(%arg0) <{nonNeg}> : (i32) -> f32
    %50 = "llvm.mlir.zero"() : () -> !llvm.array<2 x ptr>
    %51 = "llvm.mlir.poison"() : () -> vector<4x!llvm.ptr>
    %52 = "llvm.fneg"(%arg1) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> f32
    "llvm.switch"(%arg0, %0, %arg0)[^bb1, ^bb1, ^bb2] <{branch_weights = array<i32: 1, 2, 3>, case_operand_segments = array<i32: 1, 0>, case_values = dense<[1, -2]> : vector<2xi32>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (i32, i32, i32) -> ()
  ^bb1(%53: i32):  // 3 preds: ^bb0, ^bb0, ^bb1
    "llvm.cond_br"(%16, %53)[^bb2, ^bb1] <{branch_weights = array<i32: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i1, i32) -> ()
  ^bb2:  // 2 preds: ^bb0, ^bb1
    %54 = "llvm.mlir.constant"() <{value = dense<[1, 2]> : vector<2xi32>}> : () -> vector<2xi32>
    "llvm.switch"(%arg0)[^bb3] <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
  ^bb3:  // pred: ^bb2
    "llvm.br"()[^bb4] : () -> ()
  ^bb4:  // pred: ^bb3
    "llvm.cond_br"(%16)[^bb5, ^bb6] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb5:  // pred: ^bb4
    "llvm.unreachable"() : () -> ()
  ^bb6:  // pred: ^bb4
    "llvm.return"(%arg0) : (i32) -> ()
  }) : () -> ()
}) : () -> ()

