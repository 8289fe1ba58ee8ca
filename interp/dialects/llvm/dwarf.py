"""The names of DWARF's numbers, as LLVM 22 knows them: tags, languages, encodings, calling conventions, operations.

Source: the DWARF standard and its vendors' extensions, as the functions of `llvm::dwarf` in LLVM 22.1.8 name them.
"""

from __future__ import annotations

from collections.abc import Mapping


def _names(prefix: str, runs: Mapping[int, str]) -> Mapping[str, int]:
    """Return numbers by name. Each run has the names of consecutive numbers from its first one on."""
    return {
        f"{prefix}{name}": first + offset for first, names in runs.items() for offset, name in enumerate(names.split())
    }


def _each(stem: str) -> str:
    """Return the names of 32 operations, one for each number from 0 to 31."""
    return " ".join(f"{stem}{number}" for number in range(32))


TAGS = _names(
    "DW_TAG_",
    {
        0x0: "null array_type class_type entry_point enumeration_type formal_parameter",
        0x8: "imported_declaration",
        0xA: "label lexical_block",
        0xD: "member",
        0xF: "pointer_type reference_type compile_unit string_type structure_type",
        0x15: "subroutine_type typedef union_type unspecified_parameters variant common_block common_inclusion "
        "inheritance inlined_subroutine module ptr_to_member_type set_type subrange_type with_stmt "
        "access_declaration base_type catch_block const_type constant enumerator file_type friend namelist "
        "namelist_item packed_type subprogram template_type_parameter template_value_parameter thrown_type "
        "try_block variant_part variable volatile_type dwarf_procedure restrict_type interface_type namespace "
        "imported_module unspecified_type partial_unit imported_unit",
        0x3F: "condition shared_type type_unit rvalue_reference_type template_alias coarray_type generic_subrange "
        "dynamic_type atomic_type call_site call_site_parameter skeleton_unit immutable_type",
        0x4081: "MIPS_loop",
        0x4101: "format_label function_template class_template GNU_BINCL GNU_EINCL GNU_template_template_param "
        "GNU_template_parameter_pack GNU_formal_parameter_pack GNU_call_site GNU_call_site_parameter",
        0x4200: "APPLE_property SUN_function_template SUN_class_template SUN_struct_template SUN_union_template "
        "SUN_indirect_inheritance SUN_codeflags SUN_memop_info SUN_omp_child_func SUN_rtti_descriptor "
        "SUN_dtor_info SUN_dtor SUN_f90_interface SUN_fortran_vax_structure",
        0x42FF: "SUN_hi LLVM_ptrauth_type",
        0x5101: "ALTIUM_circ_type ALTIUM_mwa_circ_type ALTIUM_rev_carry_type",
        0x5111: "ALTIUM_rom",
        0x6000: "LLVM_annotation",
        0x8004: "GHS_namespace GHS_using_namespace GHS_using_declaration GHS_template_templ_param",
        0x8765: "UPC_shared_type UPC_strict_type UPC_relaxed",
        0xA000: "PGI_kanji_type",
        0xA020: "PGI_interface_block",
        0xB000: "BORLAND_property BORLAND_Delphi_string BORLAND_Delphi_dynamic_array BORLAND_Delphi_set "
        "BORLAND_Delphi_variant",
    },
)
"""The kinds of entries."""
LANGUAGES = _names(
    "DW_LANG_",
    {
        0x1: "C89 C Ada83 C_plus_plus Cobol74 Cobol85 Fortran77 Fortran90 Pascal83 Modula2 Java C99 Ada95 "
        "Fortran95 PLI ObjC ObjC_plus_plus UPC D Python OpenCL Go Modula3 Haskell C_plus_plus_03 "
        "C_plus_plus_11 OCaml Rust C11 Swift Julia Dylan C_plus_plus_14 Fortran03 Fortran08 RenderScript "
        "BLISS Kotlin Zig Crystal",
        0x2A: "C_plus_plus_17 C_plus_plus_20 C17 Fortran18 Ada2005 Ada2012 HIP Assembly C_sharp Mojo GLSL GLSL_ES "
        "HLSL OpenCL_CPP CPP_for_OpenCL SYCL",
        0x3D: "Metal",
        0x40: "Ruby Move Hylo",
        0x8001: "Mips_Assembler",
        0x8E57: "GOOGLE_RenderScript",
        0xB000: "BORLAND_Delphi",
    },
)
"""The languages of sources."""
ENCODINGS = _names(
    "DW_ATE_",
    {
        0x1: "address boolean complex_float float signed signed_char unsigned unsigned_char imaginary_float "
        "packed_decimal numeric_string edited signed_fixed unsigned_fixed decimal_float UTF UCS ASCII",
        0x81: "HP_complex_float HP_float128 HP_complex_float128 HP_floathpintel HP_imaginary_float90 "
        "HP_imaginary_float128",
    },
)
"""How the bits of a base type are to be read."""
CONVENTIONS = _names(
    "DW_CC_",
    {
        0x1: "normal program nocall pass_by_reference pass_by_value",
        0x40: "GNU_renesas_sh GNU_borland_fastcall_i386",
        0xB0: "BORLAND_safecall BORLAND_stdcall BORLAND_pascal BORLAND_msfastcall BORLAND_msreturn BORLAND_thiscall "
        "BORLAND_fastcall",
        0xC0: "LLVM_vectorcall LLVM_Win64 LLVM_X86_64SysV LLVM_AAPCS LLVM_AAPCS_VFP LLVM_IntelOclBicc "
        "LLVM_SpirFunction LLVM_DeviceKernel LLVM_Swift LLVM_PreserveMost LLVM_PreserveAll LLVM_X86RegCall "
        "LLVM_M68kRTD LLVM_PreserveNone LLVM_RISCVVectorCall LLVM_SwiftTail LLVM_RISCVVLSCall",
        0xFF: "GDB_IBM_OpenCL",
    },
)
"""How a function is called."""
OPERATIONS = _names(
    "DW_OP_",
    {
        0x3: "addr",
        0x6: "deref",
        0x8: "const1u const1s const2u const2s const4u const4s const8u const8s constu consts dup drop over pick "
        "swap rot xderef abs and div minus mod mul neg not or plus plus_uconst shl shr shra xor bra eq ge gt "
        "le lt ne skip",
        0x30: _each("lit"),
        0x50: _each("reg"),
        0x70: _each("breg"),
        0x90: "regx fbreg bregx piece deref_size xderef_size nop push_object_address call2 call4 call_ref "
        "form_tls_address call_frame_cfa bit_piece implicit_value stack_value implicit_pointer addrx constx "
        "entry_value const_type regval_type deref_type xderef_type convert reinterpret",
        0xE0: "GNU_push_tls_address HP_is_value HP_fltconst4 HP_fltconst8 HP_mod_range HP_unmod_range HP_tls",
        0xE8: "INTEL_bit_piece LLVM_user",
        0xED: "WASM_location WASM_location_int",
        0xF0: "APPLE_uninit",
        0xF2: "GNU_implicit_pointer GNU_entry_value",
        0xF8: "PGI_omp_thread_num",
        0xFB: "GNU_addr_index GNU_const_index",
        0x1000: "LLVM_fragment LLVM_convert LLVM_tag_offset LLVM_entry_value LLVM_implicit_pointer LLVM_arg "
        "LLVM_extract_bits_sext LLVM_extract_bits_zext",
    },
)
"""The operations of expressions. Those from 0x1000 on are LLVM's own, and never in an object file."""
