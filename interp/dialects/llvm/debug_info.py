"""The attributes of debug information of the llvm dialect: ``#llvm.di_file``, ``#llvm.di_subprogram`` and others.

Each is a row of a table: its number in bytecode, its roles, and its parameters, in the order in which text prints them
and bytecode holds them. Source: `LLVMAttrDefs.td`, `LLVMEnums.td` and `LLVMDialectBytecode.td`, as mlir-opt 22 and
iree-opt answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import DistinctAttr
from halfulp.interp.ir.base import is_bare_identifier
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.text.affine_parser import TokenParser

# --- dwarf ------------------------------------------------------------------------------------------------------------
#
# The names of DWARF's numbers, as LLVM 22 knows them: tags, languages, encodings, calling conventions, operations.
#
# Source: the DWARF standard and its vendors' extensions, as the functions of `llvm::dwarf` in LLVM 22.1.8 name them.


def _names(prefix: str, runs: Mapping[int, str]) -> Mapping[str, int]:
    """Return numbers by name. Each run of names has consecutive numbers, beginning with the number given for it."""
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


# --- words for numbers ------------------------------------------------------------------------------------------------


def _dwarf(what: str, numbers: Mapping[str, int]) -> ParameterKind:
    """Return the kind of a number that is written as DWARF's word for it."""
    words = {number: word for word, number in numbers.items()}

    def read(p: TokenParser) -> int:
        at = p.pos
        word = kinds.identifier(p)
        if word not in numbers:
            p.error(f"invalid debug info debug info {what} name: {word}", at, hint=p.similar(word, numbers))
        return numbers[word]

    return ParameterKind(read, lambda value, names: words[value], words.__contains__)


_TAG = _dwarf("tag", TAGS)
_LANGUAGE = _dwarf("language", LANGUAGES)
_ENCODING = _dwarf("encoding", ENCODINGS)
_CONVENTION = _dwarf("calling convention", CONVENTIONS)
_OPERATION = _dwarf("operation encoding", OPERATIONS)
_EMISSION = kinds.case_of("LLVM debug emission kind", "None", "Full", "LineTablesOnly", "DebugDirectivesOnly")
_NAME_TABLE = kinds.case_of("LLVM debug name table kind", "Default", "GNU", "None", "Apple")
# The three kinds of inheritance have one bit in MLIR; in LLVM they are three values of two bits.
_FLAGS = kinds.flags_of(
    "LLVM DI flags",
    {
        "Zero": 0, "Bit0": 1, "Bit1": 2, "Private": 1, "Protected": 2, "Public": 3,
        **{name: 1 << bit for bit, name in enumerate(
            (
                "FwdDecl", "AppleBlock", "ReservedBit4", "Virtual", "Artificial", "Explicit", "Prototyped",
                "ObjcClassComplete", "ObjectPointer", "Vector", "StaticMember", "LValueReference", "RValueReference",
                "ExportSymbols",
            ),
            2,
        )},
        "SingleInheritance": 1 << 16, "MultipleInheritance": 1 << 16, "VirtualInheritance": 1 << 16,
        "IntroducedVirtual": 1 << 18, "BitField": 1 << 19, "NoReturn": 1 << 20,
        **{name: 1 << bit for bit, name in enumerate(
            (
                "TypePassByValue", "TypePassByReference", "EnumClass", "Thunk", "NonTrivial", "BigEndian",
                "LittleEndian", "AllCallsDescribed",
            ),
            22,
        )},
    },
    ("Public", "Private", "Protected"),
)  # fmt: skip
_SUBPROGRAM_FLAGS = kinds.flags_of(
    "LLVM DISubprogram flags",
    {
        **{name: 1 << bit for bit, name in enumerate(
            (
                "Virtual", "PureVirtual", "LocalToUnit", "Definition", "Optimized", "Pure", "Elemental", "Recursive",
                "MainSubprogram", "Deleted",
            )
        )},
        "ObjCDirect": 1 << 11,
    },
)  # fmt: skip


# --- parameters -------------------------------------------------------------------------------------------------------

_DISTINCT = kinds.attribute(lambda found: isinstance(found, DistinctAttr))
_SCOPE, _TYPE, _NODE, _VARIABLE = map(kinds.with_interface, ("di_scope", "di_type", "di_node", "di_variable"))
_U32, _U64 = kinds.unsigned(32), kinds.unsigned(64)


def _part(name: str, kind: ParameterKind, encoded: str = "attribute") -> Parameter:
    """Return the parameter that the text must have."""
    return Parameter(name, kind, encoded=encoded)


def _maybe(name: str, kind: ParameterKind, since: int = 0) -> Parameter:
    """Return the parameter of an attribute that may be absent."""
    return Parameter(name, kind, optional=True, encoded="optional", since=since)


def _several(name: str, kind: ParameterKind) -> Parameter:
    """Return the parameter of a list of attributes that may be empty."""
    return Parameter(name, kinds.list_of(kind), optional=True, default=(), encoded="list")


def _number(name: str, kind: ParameterKind, since: int = 0) -> Parameter:
    """Return the parameter of a number that is 0 if it is absent."""
    return Parameter(name, kind, optional=True, default=0, encoded="number", since=since)


def _truth(name: str) -> Parameter:
    """Return the parameter of a truth value that is false if it is absent."""
    return Parameter(name, kinds.BOOLEAN, optional=True, default=False, encoded="boolean")


def _strings(*names: str) -> tuple[Parameter, ...]:
    """Return the parameters of strings that may be absent."""
    return tuple(_maybe(name, kinds.STRING_ATTRIBUTE) for name in names)


# --- expressions ------------------------------------------------------------------------------------------------------


def _operand(p: TokenParser, after: int | None) -> int:
    """Read an operand of an operation. After the first operand of a conversion, it may be the word for an encoding."""
    if after != OPERATIONS["DW_OP_LLVM_convert"] or not is_bare_identifier(p.tokens[p.pos]):
        value: int = _U64.read(p)
        return value
    word = kinds.identifier(p)
    if word not in ENCODINGS:
        p.error(f'encountered unknown attribute encoding "{word}"', hint=p.similar(word, ENCODINGS))
    return ENCODINGS[word]


def _read_element(p: TokenParser) -> tuple[int, tuple[int, ...]]:
    operation: int = _OPERATION.read(p)
    operands: list[int] = []
    if p.take("("):
        operands.append(_operand(p, None))
        while p.take(","):
            operands.append(_operand(p, operation))
        p.expect(")")
    return operation, tuple(operands)


def _spell_element(value: DialectAttr, names: kinds.Names) -> str:
    operation, operands = value.values
    words = list(map(str, operands))
    if operation == OPERATIONS["DW_OP_LLVM_convert"]:
        words[1:] = [
            _ENCODING.spell(operand, names) if _ENCODING.accepts(operand) else str(operand) for operand in operands[1:]
        ]
    return _OPERATION.spell(operation, names) + (f"({', '.join(words)})" if words else "")


_ELEMENT = AttributeDefinition(
    "llvm.di_expression_elem",
    ParameterForm(_read_element, _spell_element),
    (_part("opcode", _OPERATION, "number"), Parameter("arguments", kinds.list_of(_U64), True, (), "numbers")),
    code=4,
)

# --- the table --------------------------------------------------------------------------------------------------------


def _row(
    mnemonic: str,
    code: int | None,
    roles: str,
    *parameters: Parameter,
    assembly: str = "`<` custom<Struct>() `>`",
) -> AttributeDefinition:
    """Return the row of an attribute. ``code``: its number in bytecode; None if it is text there. ``roles``: what it
    may be.
    """
    return AttributeDefinition(
        f"llvm.di_{mnemonic}",
        kinds.compile_form(assembly, parameters),
        parameters,
        alias=None if mnemonic in _IN_PLACE else f"di_{mnemonic}",
        interfaces=frozenset(f"di_{role}" for role in roles.split()),
        code=code,
    )


_IN_PLACE = ("annotation", "expression", "generic_subrange", "subrange")
"""The attributes that mlir-opt prints in place, without an alias."""
_TEXTS = [_part(name, kinds.STRING_ATTRIBUTE, "text") for name in ("name", "directory")]
_FILE = _row("file", 6, "node scope", *_TEXTS, assembly="`<` $name `in` $directory `>`")
EXPRESSION = _row(
    "expression", 5, "", _several("operations", kinds.nested(_ELEMENT)), assembly="`<` (`[` $operations^ `]`)? `>`"
)
NO_EXPRESSION = DialectAttr(EXPRESSION, ((),))

# The parameters that several attributes have.
_IN_FILE, _LINE, _FLAG_BITS = _maybe("file", kinds.nested(_FILE)), _number("line", _U32), _number("flags", _FLAGS)
_TAGGED, _NAMED, _IN_SCOPE, _OF_SCOPE = (
    _number("tag", _TAG), *_strings("name"), _maybe("scope", _SCOPE), _part("scope", _SCOPE),
)  # fmt: skip
_BASE_TYPE, _ENCODED, _ELEMENTS = (
    _maybe("baseType", _TYPE), _number("encoding", _ENCODING), _several("elements", _NODE),
)  # fmt: skip
_SIZE, _ALIGNMENT, _WIDE_ALIGNMENT = (
    _number("sizeInBits", _U64), _number("alignInBits", _U32), _number("alignInBits", _U64),
)  # fmt: skip
_NAME_TEXT = Parameter("name", kinds.STRING_ATTRIBUTE)
# An attribute may be part of itself: there it is ``isRecSelf`` and has nothing but the same ``recId``.
_RECURSIVE = (_maybe("recId", _DISTINCT), _truth("isRecSelf"))


def _expressions(*names: str) -> tuple[Parameter, ...]:
    """Return the parameters of expressions that may be absent."""
    return tuple(_maybe(name, kinds.nested(EXPRESSION)) for name in names)


_COMPILE_UNIT = replace(
    _row(
        "compile_unit", 1, "node scope",
        _part("id", _DISTINCT), _part("sourceLanguage", _LANGUAGE, "number"), _part("file", kinds.nested(_FILE)),
        *_strings("producer"), _part("isOptimized", kinds.BOOLEAN, "boolean"),
        _part("emissionKind", _EMISSION, "number"), _number("nameTableKind", _NAME_TABLE),
        # MLIR 22 has it in text only.
        _maybe("splitDebugFilename", kinds.STRING_ATTRIBUTE, Schema.LLVM24),
    ),
    until=Schema.LLVM24,
)  # fmt: skip
_DERIVED_TYPE = _row(
    "derived_type", 3, "node scope type",
    _TAGGED, _NAMED, _maybe("file", kinds.nested(_FILE), Schema.LLVM24), _number("line", _U32, Schema.LLVM24),
    _maybe("scope", _SCOPE, Schema.LLVM24), _BASE_TYPE, _SIZE, _ALIGNMENT, _number("offsetInBits", _U64),
    Parameter("dwarfAddressSpace", _U32, optional=True, encoded="optional number"),
    _number("flags", _FLAGS, Schema.LLVM24), _maybe("extraData", _NODE),
)  # fmt: skip
_SUBROUTINE_TYPE = _row(
    "subroutine_type", 17, "node type", _number("callingConvention", _CONVENTION), _several("types", _TYPE)
)
_GLOBAL_VARIABLE = _row(
    "global_variable", 7, "node variable",
    _IN_SCOPE, _NAMED, *_strings("linkageName"), _part("file", kinds.nested(_FILE)), _part("line", _U32, "number"),
    _part("type", _TYPE), _truth("isLocalToUnit"), _truth("isDefined"), _ALIGNMENT,
)  # fmt: skip
LABEL = _row("label", 10, "node", _OF_SCOPE, _NAMED, _IN_FILE, _LINE)
LOCAL_VARIABLE = _row(
    "local_variable", 13, "node variable",
    _OF_SCOPE, _NAMED, _IN_FILE, _LINE, _number("arg", _U32), _ALIGNMENT, _maybe("type", _TYPE), _FLAG_BITS,
)  # fmt: skip
SUBPROGRAM = _row(
    "subprogram", 15, "node scope",
    *_RECURSIVE, _maybe("id", _DISTINCT), _maybe("compileUnit", kinds.nested(_COMPILE_UNIT)), _IN_SCOPE, _NAMED,
    *_strings("linkageName"), _IN_FILE, _LINE, _number("scopeLine", _U32),
    _number("subprogramFlags", _SUBPROGRAM_FLAGS), _maybe("type", kinds.nested(_SUBROUTINE_TYPE)),
    _several("retainedNodes", _NODE), _several("annotations", _NODE),
)  # fmt: skip
_BOUNDS = ("count", "lowerBound", "upperBound", "stride")

ATTRIBUTES: tuple[AttributeDefinition, ...] = (
    _row("basic_type", 0, "node type", _TAGGED, _TEXTS[0], _SIZE, _ENCODED),
    _COMPILE_UNIT,
    _row(
        "composite_type", 2, "node scope type",
        *_RECURSIVE, _TAGGED, _NAMED, _IN_FILE, _LINE, _IN_SCOPE, _BASE_TYPE, _FLAG_BITS, _SIZE, _WIDE_ALIGNMENT,
        *_expressions("dataLocation", "rank", "allocated", "associated"),
        _maybe("identifier", kinds.STRING_ATTRIBUTE, Schema.LLVM24),
        _maybe("discriminator", kinds.nested(_DERIVED_TYPE), Schema.LLVM24), _ELEMENTS,
    ),
    _DERIVED_TYPE,
    _ELEMENT,
    EXPRESSION,
    _FILE,
    _GLOBAL_VARIABLE,
    _row("global_variable_expression", 8, "", _part("var", kinds.nested(_GLOBAL_VARIABLE)), *_expressions("expr")),
    _row(
        "imported_entity", 9, "node",
        _TAGGED, _OF_SCOPE, _part("entity", _NODE), _IN_FILE, _LINE, _NAMED, _ELEMENTS,
    ),
    LABEL,
    _row("lexical_block", 11, "node scope", _OF_SCOPE, _IN_FILE, _LINE, _number("column", _U32)),
    _row("lexical_block_file", 12, "node scope", _OF_SCOPE, _IN_FILE, _part("discriminator", _U32, "number")),
    LOCAL_VARIABLE,
    _row("namespace", 14, "node scope", _NAMED, _IN_SCOPE, _part("exportSymbols", kinds.BOOLEAN, "boolean")),
    SUBPROGRAM,
    _row("subrange", 16, "node", *(_maybe(name, kinds.ATTRIBUTE) for name in _BOUNDS)),
    _SUBROUTINE_TYPE,
    _row("annotation", None, "node", _NAME_TEXT, Parameter("value", kinds.STRING_ATTRIBUTE)),
    _row(
        "common_block", None, "node scope",
        _OF_SCOPE, _maybe("decl", kinds.nested(_GLOBAL_VARIABLE)), _NAME_TEXT, _IN_FILE, _LINE,
    ),
    _row(
        "generic_subrange", None, "node",
        *(Parameter(name, kinds.ATTRIBUTE, optional=name in ("count", "upperBound")) for name in _BOUNDS),
    ),
    _row(
        "module", None, "node scope",
        _IN_FILE, _IN_SCOPE, _NAMED, *_strings("configMacros", "includePath", "apinotes"), _LINE, _truth("isDecl"),
    ),
    _row("null_type", None, "node type", assembly=""),
    _row(
        "string_type", None, "node type",
        _TAGGED, _NAME_TEXT, _SIZE, _ALIGNMENT, _maybe("stringLength", _VARIABLE),
        *_expressions("stringLengthExp", "stringLocationExp"), _ENCODED,
    ),
)  # fmt: skip
