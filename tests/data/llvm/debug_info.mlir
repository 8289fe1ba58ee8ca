#di_basic_type = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "real", sizeInBits = 18446744073709551615, encoding = DW_ATE_float>
#di_basic_type1 = #llvm.di_basic_type<name = "">
#di_composite_type = #llvm.di_composite_type<recId = distinct[0]<>, isRecSelf = true>
#di_composite_type1 = #llvm.di_composite_type<tag = DW_TAG_enumeration_type, flags = EnumClass, elements = #llvm.di_annotation<name = "note", value = "of an enum">>
#di_file = #llvm.di_file<"node.c" in "/src/list">
#di_file1 = #llvm.di_file<"node \22list\22.h" in "">
#di_namespace = #llvm.di_namespace<exportSymbols = false>
#di_null_type = #llvm.di_null_type
#di_string_type = #llvm.di_string_type<tag = DW_TAG_string_type, name = "words", sizeInBits = 32, alignInBits = 8, stringLengthExp = <[DW_OP_deref]>, stringLocationExp = <>, encoding = DW_ATE_ASCII>
#di_subprogram = #llvm.di_subprogram<recId = distinct[1]<>, isRecSelf = true>
#di_subroutine_type = #llvm.di_subroutine_type<>
#loc = loc(unknown)
#loc2 = loc("node.c":12:6)
#di_compile_unit = #llvm.di_compile_unit<id = distinct[2]<>, sourceLanguage = DW_LANG_C11, file = #di_file, producer = "by hand", isOptimized = true, emissionKind = LineTablesOnly, nameTableKind = GNU>
#di_compile_unit1 = #llvm.di_compile_unit<id = distinct[3]<>, sourceLanguage = DW_LANG_Fortran18, file = #di_file1, isOptimized = false, emissionKind = None>
#di_derived_type = #llvm.di_derived_type<tag = DW_TAG_pointer_type, baseType = #di_composite_type, sizeInBits = 64, dwarfAddressSpace = 0>
#di_global_variable = #llvm.di_global_variable<file = #di_file1, line = 0, type = #di_string_type>
#di_label = #llvm.di_label<scope = #di_namespace>
#di_namespace1 = #llvm.di_namespace<name = "list", scope = #di_file, exportSymbols = true>
#di_derived_type1 = #llvm.di_derived_type<tag = DW_TAG_member, name = "next", baseType = #di_derived_type, sizeInBits = 64, alignInBits = 32, offsetInBits = 64, dwarfAddressSpace = 4294967295, extraData = #di_basic_type>
#di_global_variable_expression = #llvm.di_global_variable_expression<var = #di_global_variable>
#di_imported_entity = #llvm.di_imported_entity<scope = #di_subprogram, entity = #di_namespace1>
#di_module = #llvm.di_module<file = #di_file, scope = #di_namespace1, name = "M", configMacros = "-DM", includePath = "/include", apinotes = "notes", line = 4294967295, isDecl = true>
#di_subprogram1 = #llvm.di_subprogram<compileUnit = #di_compile_unit1, subprogramFlags = MainSubprogram, type = #di_subroutine_type, annotations = #llvm.di_annotation<name = "note", value = "of a function">>
#di_common_block = #llvm.di_common_block<scope = #di_module, name = "shared", file = #di_file, line = 2>
#di_composite_type2 = #llvm.di_composite_type<recId = distinct[0]<>, tag = DW_TAG_structure_type, name = "node", file = #di_file1, line = 9, scope = #di_module, baseType = #di_basic_type, flags = "Public|TypePassByReference|AllCallsDescribed", sizeInBits = 128, alignInBits = 64, elements = #di_derived_type1, #di_composite_type1>
#di_imported_entity1 = #llvm.di_imported_entity<tag = DW_TAG_imported_module, scope = #di_subprogram, entity = #di_module, file = #di_file, line = 3, name = "m", elements = #di_namespace1, #di_namespace>
#di_lexical_block = #llvm.di_lexical_block<scope = #di_subprogram1>
#di_composite_type3 = #llvm.di_composite_type<tag = DW_TAG_array_type, name = "a", baseType = #di_composite_type2, dataLocation = <[DW_OP_push_object_address, DW_OP_plus_uconst(16), DW_OP_deref]>, rank = <[DW_OP_lit3]>, allocated = <>, associated = <[DW_OP_LLVM_convert(32, DW_ATE_signed), DW_OP_LLVM_fragment(0, 8)]>, elements = #llvm.di_subrange<count = 4 : i64, lowerBound = -1 : i32, upperBound = #llvm.di_expression<[DW_OP_push_object_address, DW_OP_plus_uconst(16), DW_OP_deref]>>, #llvm.di_generic_subrange<count = #llvm.di_expression<[DW_OP_push_object_address, DW_OP_plus_uconst(16), DW_OP_deref]>, lowerBound = 1 : i64, stride = 2 : i64>>
#di_global_variable1 = #llvm.di_global_variable<scope = #di_common_block, name = "g", linkageName = "g_", file = #di_file, line = 1, type = #di_basic_type, isLocalToUnit = true, isDefined = true, alignInBits = 16>
#di_lexical_block_file = #llvm.di_lexical_block_file<scope = #di_lexical_block, discriminator = 0>
#di_global_variable_expression1 = #llvm.di_global_variable_expression<var = #di_global_variable1, expr = <[DW_OP_constu(42), DW_OP_stack_value]>>
#di_local_variable = #llvm.di_local_variable<scope = #di_lexical_block_file, flags = Private>
#di_subroutine_type1 = #llvm.di_subroutine_type<callingConvention = DW_CC_normal, types = #di_null_type, #di_composite_type3, #di_string_type, #di_basic_type1>
#di_subprogram2 = #llvm.di_subprogram<recId = distinct[1]<>, id = distinct[4]<>, compileUnit = #di_compile_unit, scope = #di_composite_type2, name = "push", linkageName = "_Z4push", file = #di_file, line = 12, scopeLine = 13, subprogramFlags = "LocalToUnit|Definition|Optimized", type = #di_subroutine_type1, retainedNodes = #di_imported_entity1, #di_imported_entity>
#di_lexical_block1 = #llvm.di_lexical_block<scope = #di_subprogram2, file = #di_file, line = 20, column = 7>
#di_label1 = #llvm.di_label<scope = #di_lexical_block1, name = "again", file = #di_file, line = 22>
#di_lexical_block_file1 = #llvm.di_lexical_block_file<scope = #di_lexical_block1, file = #di_file1, discriminator = 2>
#di_local_variable1 = #llvm.di_local_variable<scope = #di_lexical_block_file1, name = "x", file = #di_file, line = 21, arg = 1, alignInBits = 32, type = #di_composite_type3, flags = "Artificial|ObjectPointer">
module {
  llvm.module_flags [#llvm.mlir.module_flag<warning, "Debug Info Version", 3 : i32>, #llvm.mlir.module_flag<append_unique, "word", "value">] loc(#loc)
  llvm.mlir.global internal @g(1 : i64) {addr_space = 0 : i32, dbg_exprs = [#di_global_variable_expression1, #di_global_variable_expression]} : i64 loc(#loc)
  llvm.func @push(%arg0: i64 loc("node.c":12:6), %arg1: !llvm.ptr loc(unknown)) -> i64 {
    llvm.intr.dbg.value #di_local_variable1 #llvm.di_expression<[DW_OP_LLVM_fragment(0, 32)]> = %arg0 : i64 loc(#loc18)
    llvm.intr.dbg.value #di_local_variable = %arg0 : i64 loc(#loc20)
    llvm.intr.dbg.declare #di_local_variable1 = %arg1 : !llvm.ptr loc(#loc19)
    llvm.intr.dbg.label #di_label1 loc(#loc13)
    llvm.intr.dbg.label #di_label {note} loc(#loc)
    %0 = llvm.add %arg0, %arg0 : i64 loc(#loc14)
    llvm.return %0 : i64 loc(#loc17)
  } loc(#loc15)
} loc(#loc)
#loc1 = loc("node.c":12:1)
#loc3 = loc("node.c":21:3)
#loc4 = loc("node.c":22:3)
#loc5 = loc("node.h":1:1)
#loc6 = loc("node.c":23:3)
#loc7 = loc("node.c":24:1)
#loc8 = loc("node.c":25:9)
#loc9 = loc("node.c":25:11)
#loc10 = loc("node.c":26:3)
#loc11 = loc(fused<#di_lexical_block>[#loc7])
#loc12 = loc(fused<#di_lexical_block_file>[#loc5])
#loc13 = loc("label"(#loc11))
#loc14 = loc(fused<#di_lexical_block_file>[#loc8, #loc9])
#loc15 = loc(fused<#di_subprogram2>[#loc1])
#loc16 = loc(fused<#di_subprogram2>[#loc6])
#loc17 = loc(fused<#di_subprogram2>[#loc10])
#loc18 = loc(fused<#di_lexical_block1>[#loc3])
#loc19 = loc(callsite(#loc12 at #loc16))
#loc20 = loc(fused<#di_lexical_block_file1>[#loc4])

