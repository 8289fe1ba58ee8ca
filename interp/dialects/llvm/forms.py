"""The custom forms of the llvm dialect that MLIR writes by hand (`LLVMDialect.cpp`), except those of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, add_defaults, is_inherent
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, CMPI_PREDICATE
from halfulp.interp.dialects.cf.ops import case_codes, case_properties, print_successor, read_case, read_successor
from halfulp.interp.dialects.elementwise import bool_like
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.ir.attributes import DenseArrayAttr, IntegerAttr, StringAttr, TypeAttr, UnitAttr, integer_of_code
from halfulp.interp.ir.base import Attribute, narrowed, spell_symbol
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.ir.types import I32, FunctionType, IntegerType
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- enums ------------------------------------------------------------------------------------------------------------
#
# The enums of the llvm dialect (`LLVMEnums.td`): linkage, calling conventions, flags, predicates, orderings.

LINKAGE = EnumDefinition(
    "LLVM linkage types",
    {
        "external": 0, "available_externally": 1, "linkonce": 2, "linkonce_odr": 3, "weak": 4, "weak_odr": 5,
        "appending": 6, "internal": 7, "private": 8, "extern_weak": 9, "common": 10,
    },
    mnemonic="llvm.linkage",
)  # fmt: skip
CALLING = EnumDefinition(
    "Calling Conventions",
    {
        "ccc": 0, "fastcc": 8, "coldcc": 9, "cc_10": 10, "cc_11": 11, "anyregcc": 13, "preserve_mostcc": 14,
        "preserve_allcc": 15, "swiftcc": 16, "cxx_fast_tlscc": 17, "tailcc": 18, "cfguard_checkcc": 19,
        "swifttailcc": 20, "x86_stdcallcc": 64, "x86_fastcallcc": 65, "arm_apcscc": 66, "arm_aapcscc": 67,
        "arm_aapcs_vfpcc": 68, "msp430_intrcc": 69, "x86_thiscallcc": 70, "ptx_kernelcc": 71, "ptx_devicecc": 72,
        "spir_funccc": 75, "spir_kernelcc": 76, "intel_ocl_bicc": 77, "x86_64_sysvcc": 78, "win64cc": 79,
        "x86_vectorcallcc": 80, "hhvmcc": 81, "hhvm_ccc": 82, "x86_intrcc": 83, "avr_intrcc": 84, "avr_signalcc": 85,
        "avr_builtincc": 86, "amdgpu_vscc": 87, "amdgpu_gscc": 88, "amdgpu_pscc": 89, "amdgpu_cscc": 90,
        "amdgpu_kernelcc": 91, "x86_regcallcc": 92,
        "amdgpu_hscc": 93, "msp430_builtincc": 94, "amdgpu_lscc": 95, "amdgpu_escc": 96, "aarch64_vectorcallcc": 97,
        "aarch64_sve_vectorcallcc": 98, "wasm_emscripten_invokecc": 99, "amdgpu_gfxcc": 100, "m68k_intrcc": 101,
    },
    mnemonic="llvm.cconv",
)  # fmt: skip
TAIL_CALL = EnumDefinition(
    "Tail Call Kind", {"none": 0, "tail": 1, "musttail": 2, "notail": 3}, mnemonic="llvm.tailcallkind"
)
FASTMATH = EnumDefinition(
    "LLVM fastmath flags",
    {"none": 0, "nnan": 1, "ninf": 2, "nsz": 4, "arcp": 8, "contract": 16, "afn": 32, "reassoc": 64, "fast": 127},
    mnemonic="llvm.fastmath",
    flags=True,
    separator=", ",
)
OVERFLOW = EnumDefinition(
    "LLVM integer overflow flags",
    {"none": 0, "nsw": 1, "nuw": 2},
    storage_width=32,
    flags=True,
    separator=", ",
)
NO_WRAP = EnumDefinition(
    "::mlir::LLVM::GEPNoWrapFlags",
    {"none": 0, "inbounds_flag": 1, "nusw": 2, "nuw": 4, "inbounds": 3},
    storage_width=32,
    flags=True,
    separator="|",
)
ORDERING = EnumDefinition(
    "Atomic ordering for LLVM's memory model",
    {
        "not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7,
    },
    storage_width=64,
)  # fmt: skip
ATOMIC_OPERATION = EnumDefinition(
    "llvm.atomicrmw binary operations",
    {
        "xchg": 0, "add": 1, "sub": 2, "_and": 3, "nand": 4, "_or": 5, "_xor": 6, "max": 7, "min": 8, "umax": 9,
        "umin": 10, "fadd": 11, "fsub": 12, "fmax": 13, "fmin": 14, "uinc_wrap": 15, "udec_wrap": 16, "usub_cond": 17,
        "usub_sat": 18, "fmaximum": 19, "fminimum": 20,
    },
    storage_width=64,
)  # fmt: skip
UNNAMED_ADDRESS = EnumDefinition(
    "LLVM GlobalValue UnnamedAddr", {"": 0, "local_unnamed_addr": 1, "unnamed_addr": 2}, storage_width=64
)
VISIBILITY = EnumDefinition("LLVM GlobalValue Visibility", {"": 0, "hidden": 1, "protected": 2}, storage_width=64)
TLS_MODE = EnumDefinition(
    "::mlir::LLVM::tls_mode::TLSMode",
    {"": 0, "generaldynamic": 1, "localdynamic": 2, "initialexec": 3, "localexec": 4},
    storage_width=64,
)
COMDAT = EnumDefinition(
    "LLVM Comdat Types",
    {"any": 0, "exactmatch": 1, "largest": 2, "nodeduplicate": 3, "samesize": 4},
    storage_width=64,
)
INTEGER_PREDICATE = EnumDefinition("llvm.icmp comparison predicate", CMPI_PREDICATE.cases, storage_width=64)
FLOAT_PREDICATE = EnumDefinition(
    "llvm.fcmp comparison predicate",
    {{"false": "_false", "true": "_true"}.get(name, name): number for name, number in CMPF_PREDICATE.cases.items()},
    storage_width=64,
)

ROUNDING = EnumDefinition(
    "LLVM Rounding Mode",
    {"dynamic": 7, "tonearest": 1, "downward": 3, "upward": 2, "towardzero": 0, "tonearestaway": 4},
    storage_width=64,
)
EXCEPTIONS = EnumDefinition("LLVM Exception Behavior", {"ignore": 0, "maytrap": 1, "strict": 2}, storage_width=64)


# --- forms ------------------------------------------------------------------------------------------------------------

_CODE = (1 << 32) - 1
DYNAMIC = -(1 << 31)
"""The mark of an index of getelementptr that is a value."""


def optional_keyword(p: OpParser, definition: EnumDefinition, default: int) -> Attribute:
    """Read a case of an enum if it is there, and return the default otherwise."""
    value = definition.cases.get(p.tokens[p.pos]) if p.tokens[p.pos] else None
    if value is None:
        return definition.attribute(default)
    p.pos += 1
    return definition.attribute(value)


def read_dictionary(p: OpParser, definition: OpDefinition, properties: dict[str, Attribute]) -> dict[str, Attribute]:
    """Read an optional dictionary. Put its inherent attributes into ``properties``, and return the others."""
    attributes = p.optional_dictionary()
    for name in [name for name in attributes if is_inherent(definition, name)]:
        properties[name] = attributes.pop(name)
    return attributes


def print_dictionary(printer: OpPrinter, op: Operation, written: Sequence[str], keyword: str = "") -> str:
    """Print the attributes, and the properties that are not the default and that the form does not write elsewhere.
    ``written``: the properties that it writes elsewhere.
    """
    defaults: dict[str, Attribute] = {}
    assert op.definition is not None
    add_defaults(op.definition, defaults)
    shown = {
        name: value for name, value in op.properties.items() if name not in written and defaults.get(name) != value
    }
    extra = {**op.attributes, **shown}
    return f" {keyword}{printer.dictionary(extra)}" if extra else ""


def completed(p: OpParser, op: Operation, at: int) -> Operation:
    """Give an op the defaults of its properties, and its place in the text. Return the op."""
    assert op.definition is not None
    add_defaults(op.definition, op.properties)
    return p.placed(op, at)


# --- comparisons ------------------------------------------------------------------------------------------------------


def comparison(predicates: EnumDefinition) -> CustomForm:
    """Return the form ``"slt" %a, %b : type`` of a comparison."""

    def parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
        at_predicate = p.pos
        word = p.string(f"custom op '{definition.name}' expected string")
        if word not in predicates.cases:
            p.wrong(definition.name, f"'{word}' is an incorrect value of the 'predicate' attribute", at_predicate)
        properties = {"predicate": predicates.attribute(predicates.cases[word])}
        lhs = p.operand_token()
        p.expect(",")
        rhs = p.operand_token()
        attributes = read_dictionary(p, definition, properties)
        p.expect(":")
        at_type = p.pos
        type = p.type()
        if not llvm.is_compatible(type):
            p.wrong(definition.name, "expected LLVM dialect-compatible type", at_type)
        operands = [p.use(lhs, type), p.use(rhs, type)]
        made = Operation(definition.name, definition, operands, (bool_like(type),), properties, attributes)
        return completed(p, made, at)

    def print_(printer: OpPrinter, op: Operation) -> str:
        predicate = op.prop("predicate", IntegerAttr)
        lhs, rhs = op.operands
        extra = print_dictionary(printer, op, ("predicate",))
        word = predicates.names[predicate.value]
        return f' "{word}" {printer.name(lhs)}, {printer.name(rhs)}{extra} : {printer.type(lhs.type)}'

    return CustomForm(parse, print_)


# --- memory -----------------------------------------------------------------------------------------------------------


def _parse_alloca(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``%n x type {…} : (i64) -> !llvm.ptr``."""
    properties: dict[str, Attribute] = {}
    if p.take("inalloca"):
        properties["inalloca"] = UnitAttr()
    count = p.operand_token()
    p.keyword(definition, "x")
    properties["elem_type"] = TypeAttr(p.type())
    attributes = read_dictionary(p, definition, properties)
    p.expect(":")
    at_type = p.pos
    type = p.type()
    if not isinstance(type, FunctionType) or len(type.inputs) != 1 or len(type.results) != 1:
        p.wrong(definition.name, "expected trailing function type with one argument and one result", at_type)
    alignment = properties.get("alignment")
    if isinstance(alignment, IntegerAttr) and alignment.value == 0:
        del properties["alignment"]
    operands = [p.use(count, type.inputs[0])]
    made = Operation(definition.name, definition, operands, type.results, properties, attributes)
    return completed(p, made, at)


def _print_alloca(printer: OpPrinter, op: Operation) -> str:
    element = op.prop("elem_type", TypeAttr)
    type = FunctionType((op.operands[0].type,), (op.results[0].type,))
    alignment = op.properties.get("alignment")
    hidden = isinstance(alignment, IntegerAttr) and alignment.value == 0
    written = ("elem_type", "inalloca", *(("alignment",) if hidden else ()))
    head = " inalloca" if "inalloca" in op.properties else ""
    return (
        f"{head} {printer.name(op.operands[0])} x {printer.type(element.type)}"
        f"{print_dictionary(printer, op, written)} : {printer.type(type)}"
    )


ALLOCA = CustomForm(_parse_alloca, _print_alloca)


def _parse_address(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``inbounds|nuw %p[%i, 1] : (!llvm.ptr, i64) -> !llvm.ptr, type``."""
    properties: dict[str, Attribute] = {}
    flags = 0
    if p.tokens[p.pos] in NO_WRAP.cases:
        flags = p.enum_keyword(NO_WRAP)
        while p.take("|"):
            flags |= p.enum_keyword(NO_WRAP)
    properties["noWrapFlags"] = NO_WRAP.attribute(flags)
    tokens = [p.operand_token()]
    p.expect("[")
    constants: list[int] = []
    while True:
        if p.tokens[p.pos][:1] == "%":
            tokens.append(p.operand_token())
            constants.append(DYNAMIC)
        else:
            constants.append(p.integer())
        if not p.take(","):
            break
    p.expect("]")
    properties["rawConstantIndices"] = DenseArrayAttr(I32, tuple(index & _CODE for index in constants))
    attributes = read_dictionary(p, definition, properties)
    p.expect(":")
    at_type = p.pos
    type = p.function_type()
    p.check_count(definition.name, tokens, type.inputs, at_type)
    p.expect(",")
    properties["elem_type"] = TypeAttr(p.type())
    operands = [p.use(token, input) for token, input in zip(tokens, type.inputs, strict=True)]
    made = Operation(definition.name, definition, operands, type.results, properties, attributes)
    return completed(p, made, at)


def _print_address(printer: OpPrinter, op: Operation) -> str:
    flags, element, constants = (op.properties[name] for name in ("noWrapFlags", "elem_type", "rawConstantIndices"))
    assert isinstance(flags, IntegerAttr)
    assert isinstance(element, TypeAttr)
    assert isinstance(constants, DenseArrayAttr)
    base, *dynamic = op.operands
    names = iter([printer.name(value) for value in dynamic])
    indices = [next(names) if index == DYNAMIC else str(index) for index in constants.values]
    head = f" {spell_no_wrap(flags.value)}" if flags.value else ""
    type = FunctionType(tuple(value.type for value in op.operands), (op.results[0].type,))
    extra = print_dictionary(printer, op, ("noWrapFlags", "elem_type", "rawConstantIndices"))
    return (
        f"{head} {printer.name(base)}[{', '.join(indices)}]{extra} : {printer.type(type)}, {printer.type(element.type)}"
    )


def spell_no_wrap(flags: int) -> str:
    """Return the text of the flags of getelementptr: ``inbounds`` stands for two of them."""
    words = ["inbounds"] if flags & 3 == 3 else [word for word, bit in _SINGLE.items() if flags & bit]
    return "|".join([*words, *(("nuw",) if flags & 4 else ())])


_SINGLE: Mapping[str, int] = {"inbounds_flag": 1, "nusw": 2}
ADDRESS = CustomForm(_parse_address, _print_address)


# --- globals ----------------------------------------------------------------------------------------------------------

_GLOBAL_WRITTEN = (
    "sym_name", "global_type", "constant", "value", "linkage", "unnamed_addr", "thread_local_", "tls_mode",
    "visibility_", "comdat",
)  # fmt: skip


def _parse_global(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``internal constant @name(value) {…} : type { region }``."""
    properties: dict[str, Attribute] = {
        "linkage": optional_keyword(p, LINKAGE, 0),
        "visibility_": optional_keyword(p, VISIBILITY, 0),
    }
    if p.take("thread_local"):
        mode = optional_keyword(p, TLS_MODE, 0) if p.take("(") else None
        if mode is not None:
            p.expect("generaldynamic" if mode == TLS_MODE.attribute(0) else ")")
        if mode is None or mode == TLS_MODE.attribute(1):
            properties["thread_local_"] = UnitAttr()
        else:
            properties["tls_mode"] = mode
    properties["unnamed_addr"] = optional_keyword(p, UNNAMED_ADDRESS, 0)
    if p.take("constant"):
        properties["constant"] = UnitAttr()
    properties["sym_name"] = StringAttr(p.symbol())
    p.expect("(")
    value = None
    if not p.take(")"):
        value = properties["value"] = p.attribute()
        p.expect(")")
    read_comdat(p, properties)
    attributes = read_dictionary(p, definition, properties)
    types = p.type_list() if p.take(":") else []
    if len(types) > 1:
        p.wrong(definition.name, "expected zero or one type", at)
    region = Region()
    if types:
        type = types[0]
        if p.tokens[p.pos] == "{":
            region = p.region(definition.name)
            p.terminated(region, "llvm.return", at)
    elif isinstance(value, StringAttr):
        size = len(value.value.encode("utf-8", "surrogateescape"))
        type = llvm.ArrayType(size=size, element=IntegerType(8))
    else:
        p.wrong(definition.name, "type can only be omitted for string globals", at)
    properties["global_type"] = TypeAttr(type)
    properties.setdefault("addr_space", IntegerAttr(0, I32))
    made = Operation(definition.name, definition, None, (), properties, attributes, [region])
    return completed(p, made, at)


def read_comdat(p: OpParser, properties: dict[str, Attribute]) -> None:
    """Read an optional ``comdat(@a::@b)``."""
    if p.take("comdat"):
        p.expect("(")
        properties["comdat"] = p.symbol_reference()
        p.expect(")")


def words_before_name(op: Operation, names: Sequence[tuple[str, EnumDefinition]], common: Sequence[str]) -> list[str]:
    """Return the keywords in front of the name of a global or a function, except the words in ``common``."""
    words = []
    for name, definition in names:
        value = getattr(op.properties.get(name), "value", None)
        word = "" if value is None else definition.names[value]
        if word and word not in common:
            words.append(word)
    return words


def _print_global(printer: OpPrinter, op: Operation) -> str:
    properties = op.properties
    type, value = narrowed(properties["global_type"], TypeAttr), properties.get("value")
    words = words_before_name(op, (("linkage", LINKAGE), ("visibility_", VISIBILITY)), ())
    mode = "".join(words_before_name(op, (("tls_mode", TLS_MODE),), ("generaldynamic",)))
    if mode or "thread_local_" in properties or properties.get("tls_mode") == TLS_MODE.attribute(1):
        words.append(f"thread_local({mode})" if mode else "thread_local")
    words += words_before_name(op, (("unnamed_addr", UNNAMED_ADDRESS),), ())
    words += ["constant"] if "constant" in properties else []
    inside = "" if value is None else printer.attribute(value)
    text = f" {' '.join(words)} {spell_symbol(op.symbol_name or '')}({inside}){spell_comdat(op)}"
    shown = {name: attribute for name, attribute in properties.items() if name not in _GLOBAL_WRITTEN}
    text += f" {printer.dictionary({**op.attributes, **shown})}" if shown or op.attributes else ""
    if isinstance(value, StringAttr):
        return text
    text += f" : {printer.type(type.type)}"
    return f"{text} {printer.region(op.regions[0], op)}" if op.regions[0].blocks else text


def spell_comdat(op: Operation) -> str:
    """Return the text `` comdat(@a::@b)`` if the op has one."""
    comdat = op.properties.get("comdat")
    return "" if comdat is None else f" comdat({comdat})"


GLOBAL = CustomForm(_parse_global, _print_global)


# --- switch -----------------------------------------------------------------------------------------------------------


def _parse_switch(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``%flag : type, ^default [ 1: ^a(%x : i32), 2: ^b ]``."""
    name = p.operand_token()
    p.expect(":")
    at_type = p.pos
    type = p.type()
    if not isinstance(type, IntegerType):
        p.wrong(definition.name, f"expected an integer type, but found '{type}'", at_type)
    p.expect(",")
    successors = [read_successor(p)]
    codes: list[int] = []
    p.expect("[")
    while p.tokens[p.pos] != "]":
        codes.append(read_case(p, definition, type))
        successors.append(read_successor(p))
        if not p.take(","):
            break
    p.expect("]")
    properties = case_properties(successors, codes, type)
    attributes = read_dictionary(p, definition, properties)
    operands = [p.use(name, type)]
    made = Operation(definition.name, definition, operands, (), properties, attributes, successors=successors)
    return completed(p, made, at)


def _print_switch(printer: OpPrinter, op: Operation) -> str:
    flag = op.operands[0]
    default, *cases = op.successors
    indent = "\n" + printer.indent
    lines = [
        f"{indent}  {integer_of_code(code, flag.type)}: {print_successor(printer, successor)}"
        for code, successor in zip(case_codes(op), cases, strict=True)
    ]
    extra = print_dictionary(printer, op, ("case_operand_segments", SEGMENTS, "case_values"))
    head = f" {printer.name(flag)} : {printer.type(flag.type)}, {print_successor(printer, default)} ["
    return f"{head}{','.join(lines)}{indent}]{extra}"


SWITCH = CustomForm(_parse_switch, _print_switch)
