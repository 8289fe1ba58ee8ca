"""The attributes of debug information of the llvm dialect: ``#llvm.di_file``, ``#llvm.di_subprogram`` and others.

Each is a row of a table: its number in bytecode, its roles, and its parameters, in the order in which text prints them
and bytecode holds them. Source: `LLVMAttrDefs.td`, `LLVMEnums.td` and `LLVMDialectBytecode.td`, as mlir-opt 22 and
iree-opt answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.enum_parameters import case_of, flags_of
from halfulp.interp.declare.parameters import (
    ATTRIBUTE,
    BOOLEAN,
    STRING_ATTRIBUTE,
    Names,
    attribute,
    compile_form,
    identifier,
    list_of,
    nested,
    unsigned,
    with_interface,
)
from halfulp.interp.dialects.llvm import dwarf
from halfulp.interp.ir.attributes import DistinctAttr
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.literals import is_bare_identifier
from halfulp.interp.text.token_parser import TokenParser

# --- words for numbers ------------------------------------------------------------------------------------------------


def _dwarf(what: str, numbers: Mapping[str, int]) -> ParameterKind:
    """Return the kind of a number that is written as DWARF's word for it."""
    words = {number: word for word, number in numbers.items()}

    def read(p: TokenParser) -> int:
        at = p.pos
        word = identifier(p)
        if word not in numbers:
            p.error(f"invalid debug info debug info {what} name: {word}", at, hint=p.similar(word, numbers))
        return numbers[word]

    return ParameterKind(read, lambda value, names: words[value], words.__contains__)


_TAG = _dwarf("tag", dwarf.TAGS)
_LANGUAGE = _dwarf("language", dwarf.LANGUAGES)
_ENCODING = _dwarf("encoding", dwarf.ENCODINGS)
_CONVENTION = _dwarf("calling convention", dwarf.CONVENTIONS)
_OPERATION = _dwarf("operation encoding", dwarf.OPERATIONS)
_EMISSION = case_of("LLVM debug emission kind", "None", "Full", "LineTablesOnly", "DebugDirectivesOnly")
_NAME_TABLE = case_of("LLVM debug name table kind", "Default", "GNU", "None", "Apple")
# The three kinds of inheritance have one bit in MLIR; in LLVM they are three values of two bits.
_FLAGS = flags_of(
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
_SUBPROGRAM_FLAGS = flags_of(
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

_DISTINCT = attribute(lambda found: isinstance(found, DistinctAttr))
_SCOPE, _TYPE, _NODE, _VARIABLE = map(with_interface, ("di_scope", "di_type", "di_node", "di_variable"))
_U32, _U64 = unsigned(32), unsigned(64)


def _part(name: str, kind: ParameterKind) -> Parameter:
    """Return the parameter of an attribute."""
    return Parameter(name, kind, encoded="attribute")


def _maybe(name: str, kind: ParameterKind, since: int = 0) -> Parameter:
    """Return the parameter of an attribute that may be absent."""
    return Parameter(name, kind, optional=True, encoded="optional", since=since)


def _several(name: str, kind: ParameterKind, since: int = 0) -> Parameter:
    """Return the parameter of a list of attributes that may be empty."""
    return Parameter(name, list_of(kind), optional=True, default=(), encoded="list", since=since)


def _number(name: str, kind: ParameterKind, since: int = 0) -> Parameter:
    """Return the parameter of a number that is 0 if it is absent."""
    return Parameter(name, kind, optional=True, default=0, encoded="number", since=since)


def _given(name: str, kind: ParameterKind) -> Parameter:
    """Return the parameter of a number that text must give."""
    return Parameter(name, kind, encoded="number")


def _truth(name: str, since: int = 0) -> Parameter:
    """Return the parameter of a truth value that is false if it is absent."""
    return Parameter(name, BOOLEAN, optional=True, default=False, encoded="boolean", since=since)


def _strings(*names: str) -> tuple[Parameter, ...]:
    """Return the parameters of strings that may be absent."""
    return tuple(_maybe(name, STRING_ATTRIBUTE) for name in names)


# --- expressions ------------------------------------------------------------------------------------------------------


def _operand(p: TokenParser, after: int | None) -> int:
    """Read an operand of an operation. Behind the first one of a conversion, it may be the word for an encoding."""
    if after != dwarf.OPERATIONS["DW_OP_LLVM_convert"] or not is_bare_identifier(p.tokens[p.pos]):
        value: int = _U64.read(p)
        return value
    word = identifier(p)
    if word not in dwarf.ENCODINGS:
        p.error(f'encountered unknown attribute encoding "{word}"', hint=p.similar(word, dwarf.ENCODINGS))
    return dwarf.ENCODINGS[word]


def _read_element(p: TokenParser) -> tuple[int, tuple[int, ...]]:
    operation: int = _OPERATION.read(p)
    operands: list[int] = []
    if p.take("("):
        operands.append(_operand(p, None))
        while p.take(","):
            operands.append(_operand(p, operation))
        p.expect(")")
    return operation, tuple(operands)


def _spell_element(value: DialectAttr, names: Names) -> str:
    operation, operands = value.values
    words = list(map(str, operands))
    if operation == dwarf.OPERATIONS["DW_OP_LLVM_convert"]:
        words[1:] = [
            _ENCODING.spell(operand, names) if _ENCODING.accepts(operand) else str(operand) for operand in operands[1:]
        ]
    return _OPERATION.spell(operation, names) + (f"({', '.join(words)})" if words else "")


_ELEMENT = AttributeDefinition(
    "llvm.di_expression_elem",
    ParameterForm(_read_element, _spell_element),
    (_given("opcode", _OPERATION), Parameter("arguments", list_of(_U64), True, (), "numbers")),
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
    """Return an attribute. ``code``: its number in bytecode; None if it is text there. ``roles``: what it may be."""
    return AttributeDefinition(
        f"llvm.di_{mnemonic}",
        compile_form(assembly, parameters),
        parameters,
        alias=None if mnemonic in _IN_PLACE else f"di_{mnemonic}",
        interfaces=frozenset(f"di_{role}" for role in roles.split()),
        code=code,
    )


_IN_PLACE = ("annotation", "expression", "generic_subrange", "subrange")
"""The attributes that mlir-opt prints in place, without an alias."""
_FILE = _row(
    "file",
    6,
    "node scope",
    Parameter("name", STRING_ATTRIBUTE, encoded="text"),
    Parameter("directory", STRING_ATTRIBUTE, encoded="text"),
    assembly="`<` $name `in` $directory `>`",
)
EXPRESSION = _row(
    "expression",
    5,
    "",
    _several("operations", nested(_ELEMENT)),
    assembly="`<` (`[` $operations^ `]`)? `>`",
)
NO_EXPRESSION = DialectAttr(EXPRESSION, ((),))
_IN_FILE, _LINE = _maybe("file", nested(_FILE)), _number("line", _U32)
# An attribute may be part of itself: there it is ``isRecSelf`` and has nothing but the same ``recId``.
_RECURSIVE = (_maybe("recId", _DISTINCT), _truth("isRecSelf"))
_COMPILE_UNIT = replace(
    _row(
        "compile_unit",
        1,
        "node scope",
        _part("id", _DISTINCT),
        _given("sourceLanguage", _LANGUAGE),
        _part("file", nested(_FILE)),
        *_strings("producer"),
        Parameter("isOptimized", BOOLEAN, encoded="boolean"),
        _given("emissionKind", _EMISSION),
        _number("nameTableKind", _NAME_TABLE),
        # MLIR 22 has it in text only.
        _maybe("splitDebugFilename", STRING_ATTRIBUTE, Schema.LLVM24),
    ),
    until=Schema.LLVM24,
)
_DERIVED_TYPE = _row(
    "derived_type",
    3,
    "node scope type",
    _number("tag", _TAG),
    *_strings("name"),
    _maybe("file", nested(_FILE), Schema.LLVM24),
    _number("line", _U32, Schema.LLVM24),
    _maybe("scope", _SCOPE, Schema.LLVM24),
    _maybe("baseType", _TYPE),
    _number("sizeInBits", _U64),
    _number("alignInBits", _U32),
    _number("offsetInBits", _U64),
    Parameter("dwarfAddressSpace", _U32, optional=True, encoded="optional number"),
    _number("flags", _FLAGS, Schema.LLVM24),
    _maybe("extraData", _NODE),
)
_SUBROUTINE_TYPE = _row(
    "subroutine_type", 17, "node type", _number("callingConvention", _CONVENTION), _several("types", _TYPE)
)
_GLOBAL_VARIABLE = _row(
    "global_variable",
    7,
    "node variable",
    _maybe("scope", _SCOPE),
    *_strings("name", "linkageName"),
    _part("file", nested(_FILE)),
    _given("line", _U32),
    _part("type", _TYPE),
    _truth("isLocalToUnit"),
    _truth("isDefined"),
    _number("alignInBits", _U32),
)
LABEL = _row("label", 10, "node", _part("scope", _SCOPE), *_strings("name"), _IN_FILE, _LINE)
LOCAL_VARIABLE = _row(
    "local_variable",
    13,
    "node variable",
    _part("scope", _SCOPE),
    *_strings("name"),
    _IN_FILE,
    _LINE,
    _number("arg", _U32),
    _number("alignInBits", _U32),
    _maybe("type", _TYPE),
    _number("flags", _FLAGS),
)
SUBPROGRAM = _row(
    "subprogram",
    15,
    "node scope",
    *_RECURSIVE,
    _maybe("id", _DISTINCT),
    _maybe("compileUnit", nested(_COMPILE_UNIT)),
    _maybe("scope", _SCOPE),
    *_strings("name", "linkageName"),
    _IN_FILE,
    _LINE,
    _number("scopeLine", _U32),
    _number("subprogramFlags", _SUBPROGRAM_FLAGS),
    _maybe("type", nested(_SUBROUTINE_TYPE)),
    _several("retainedNodes", _NODE),
    _several("annotations", _NODE),
)
_BOUNDS = ("count", "lowerBound", "upperBound", "stride")

ATTRIBUTES: tuple[AttributeDefinition, ...] = (
    _row(
        "basic_type",
        0,
        "node type",
        _number("tag", _TAG),
        Parameter("name", STRING_ATTRIBUTE, encoded="text"),
        _number("sizeInBits", _U64),
        _number("encoding", _ENCODING),
    ),
    _COMPILE_UNIT,
    _row(
        "composite_type",
        2,
        "node scope type",
        *_RECURSIVE,
        _number("tag", _TAG),
        *_strings("name"),
        _IN_FILE,
        _LINE,
        _maybe("scope", _SCOPE),
        _maybe("baseType", _TYPE),
        _number("flags", _FLAGS),
        _number("sizeInBits", _U64),
        _number("alignInBits", _U64),
        *(_maybe(name, nested(EXPRESSION)) for name in ("dataLocation", "rank", "allocated", "associated")),
        _maybe("identifier", STRING_ATTRIBUTE, Schema.LLVM24),
        _maybe("discriminator", nested(_DERIVED_TYPE), Schema.LLVM24),
        _several("elements", _NODE),
    ),
    _DERIVED_TYPE,
    _ELEMENT,
    EXPRESSION,
    _FILE,
    _GLOBAL_VARIABLE,
    _row(
        "global_variable_expression",
        8,
        "",
        _part("var", nested(_GLOBAL_VARIABLE)),
        _maybe("expr", nested(EXPRESSION)),
    ),
    _row(
        "imported_entity",
        9,
        "node",
        _number("tag", _TAG),
        _part("scope", _SCOPE),
        _part("entity", _NODE),
        _IN_FILE,
        _LINE,
        *_strings("name"),
        _several("elements", _NODE),
    ),
    LABEL,
    _row("lexical_block", 11, "node scope", _part("scope", _SCOPE), _IN_FILE, _LINE, _number("column", _U32)),
    _row("lexical_block_file", 12, "node scope", _part("scope", _SCOPE), _IN_FILE, _given("discriminator", _U32)),
    LOCAL_VARIABLE,
    _row(
        "namespace",
        14,
        "node scope",
        *_strings("name"),
        _maybe("scope", _SCOPE),
        Parameter("exportSymbols", BOOLEAN, encoded="boolean"),
    ),
    SUBPROGRAM,
    _row("subrange", 16, "node", *(_maybe(name, ATTRIBUTE) for name in _BOUNDS)),
    _SUBROUTINE_TYPE,
    _row("annotation", None, "node", Parameter("name", STRING_ATTRIBUTE), Parameter("value", STRING_ATTRIBUTE)),
    _row(
        "common_block",
        None,
        "node scope",
        _part("scope", _SCOPE),
        _maybe("decl", nested(_GLOBAL_VARIABLE)),
        Parameter("name", STRING_ATTRIBUTE),
        _IN_FILE,
        _LINE,
    ),
    _row(
        "generic_subrange",
        None,
        "node",
        *(Parameter(name, ATTRIBUTE, optional=name in ("count", "upperBound")) for name in _BOUNDS),
    ),
    _row(
        "module",
        None,
        "node scope",
        _IN_FILE,
        _maybe("scope", _SCOPE),
        *_strings("name", "configMacros", "includePath", "apinotes"),
        _LINE,
        _truth("isDecl"),
    ),
    _row("null_type", None, "node type", assembly=""),
    _row(
        "string_type",
        None,
        "node type",
        _number("tag", _TAG),
        Parameter("name", STRING_ATTRIBUTE),
        _number("sizeInBits", _U64),
        _number("alignInBits", _U32),
        _maybe("stringLength", _VARIABLE),
        *(_maybe(name, nested(EXPRESSION)) for name in ("stringLengthExp", "stringLocationExp")),
        _number("encoding", _ENCODING),
    ),
)
