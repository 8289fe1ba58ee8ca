"""Debug information of the llvm dialect, as mlir-opt 22 reads, prints and encodes it.

tests/data/llvm/debug_info.mlir has each attribute, each kind of parameter, and attributes that are part of themselves,
as mlir-opt 22.1.8 printed a module of our own; debug_info.mlirbc is what it made of that text.
"""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from amounts import thinned
from conftest import MLIR_OPT
from tables import each_row

import halfulp as hu
from halfulp.interp.bytecode.encoding import Section
from halfulp.interp.bytecode.index import Container
from halfulp.interp.bytecode.inspect import codes_of
from halfulp.interp.dialects.llvm import debug_info
from halfulp.interp.ir.attributes import DistinctAttr
from halfulp.interp.ir.base import FusedLoc
from halfulp.interp.ir.dialect_attributes import DialectAttr

DATA = Path(__file__).parents[3] / "data" / "llvm"
TEXT = (DATA / "debug_info.mlir").read_text()
CODE = (DATA / "debug_info.mlirbc").read_bytes()
PRODUCER = "MLIR22.1.8"

_MODULE = '#a = #llvm.di_file<"a" in "b">\n"some.op"() {{x = {}}} : () -> ()\n'


def attribute_of(text: str) -> Any:
    """Return an attribute as it is read from text; ``#a`` in it is a file."""
    module = hu.parse(_MODULE.format(text), filename="<stdin>")
    return next(op for op in module.walk() if op.name == "some.op").attributes["x"]


def shown(module: hu.Module) -> str:
    return hu.print_module(module, debug_info=True).strip()


def emitted(text: str) -> bytes:
    """Return the bytecode that mlir-opt makes of a text."""
    command = [MLIR_OPT, "--emit-bytecode", "--allow-unregistered-dialect"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


# --- whole modules ----------------------------------------------------------------------------------------------------


def test_text_is_printed_as_mlir_opt_prints_it() -> None:
    module = hu.parse(TEXT)
    assert shown(module) == TEXT.strip()
    assert shown(hu.parse(hu.print_module(module, generic=True, debug_info=True))) == TEXT.strip()


def test_bytecode_is_read_and_written_byte_for_byte() -> None:
    assert shown(hu.read_bytecode(CODE)) == TEXT.strip()
    assert hu.write_bytecode(hu.parse(TEXT), producer=PRODUCER) == CODE
    assert hu.write_bytecode(hu.read_bytecode(CODE), producer=PRODUCER) == CODE


def test_the_module_has_each_attribute_that_has_a_code() -> None:
    """`LLVMDialectBytecode.td` has the codes 0 to 17 for debug information."""
    used = {number for kind, dialect, number in codes_of(CODE) if (kind, dialect) == ("attribute", "llvm")}
    assert used == {*range(18), "text"}


@pytest.mark.parametrize("version", thinned(range(7), 3))
def test_each_version_holds_debug_information(version: int) -> None:
    assert shown(hu.read_bytecode(hu.write_bytecode(hu.parse(TEXT), version=version))) == TEXT.strip()


def test_mlir_opt_reads_what_is_written(mlir_opt: Any, tmp_path: Path) -> None:
    file = tmp_path / "module.mlirbc"
    file.write_bytes(hu.write_bytecode(hu.parse(TEXT)))
    assert mlir_opt("", "--mlir-print-debuginfo", str(file)).strip() == TEXT.strip()
    assert emitted(TEXT) == CODE


def test_an_attribute_may_be_part_of_itself() -> None:
    """The part is ``isRecSelf`` and has the same ``recId``: an attribute that is equal only to itself."""
    for module in (hu.parse(TEXT), hu.read_bytecode(CODE)):
        function = next(op for op in module.walk() if op.name == "llvm.func")
        assert isinstance(function.location, FusedLoc)
        push = function.location.metadata
        assert isinstance(push, DialectAttr)
        inside = push["retainedNodes"][0]["scope"]
        assert (inside["isRecSelf"], push["isRecSelf"]) == (True, False)
        assert isinstance(push["recId"], DistinctAttr)
        assert inside["recId"] is push["recId"] is not push["id"]
        node = push["scope"]
        assert node["elements"][0]["baseType"]["baseType"]["recId"] is node["recId"]


def test_a_run_goes_past_debug_information() -> None:
    variable = '#llvm.di_local_variable<scope = #llvm.di_file<"a" in "b">>'
    text = f"""
    llvm.module_flags [#llvm.mlir.module_flag<warning, "Debug Info Version", 3 : i32>]
    llvm.func @double(%x: i64) -> i64 {{
      %one = llvm.mlir.constant(1 : i64) : i64
      %place = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
      llvm.intr.dbg.declare {variable} = %place : !llvm.ptr
      llvm.intr.dbg.value {variable} #llvm.di_expression<[DW_OP_deref]> = %x : i64
      llvm.intr.dbg.label #llvm.di_label<scope = #llvm.di_file<"a" in "b">>
      %sum = llvm.add %x, %x : i64
      llvm.return %sum : i64
    }}"""
    (result,) = hu.run(text, 21)
    assert int(result) == 42


# --- words and numbers ------------------------------------------------------------------------------------------------

_STANDARD = {
    "DW_TAG_array_type": 0x01, "DW_TAG_member": 0x0D, "DW_TAG_base_type": 0x24, "DW_TAG_immutable_type": 0x4B,
    "DW_LANG_C89": 0x01, "DW_LANG_C11": 0x1D, "DW_LANG_Fortran18": 0x2D, "DW_ATE_float": 0x04, "DW_ATE_ASCII": 0x12,
    "DW_CC_pass_by_value": 0x05, "DW_OP_addr": 0x03, "DW_OP_plus_uconst": 0x23, "DW_OP_lit31": 0x4F,
    "DW_OP_breg0": 0x70, "DW_OP_stack_value": 0x9F, "DW_OP_reinterpret": 0xA9,
}  # fmt: skip
"""Numbers of the tables in section 7 of the DWARF standard, version 5, and of its list of languages."""
_WORDS = {
    **debug_info.TAGS,
    **debug_info.LANGUAGES,
    **debug_info.ENCODINGS,
    **debug_info.CONVENTIONS,
    **debug_info.OPERATIONS,
}


def test_the_words_have_the_numbers_of_the_standard() -> None:
    assert {word: _WORDS[word] for word in _STANDARD} == _STANDARD


_UNIT = "#llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = {}, file = #a, isOptimized = false, emissionKind = Full>"
_EACH: Mapping[str, tuple[Mapping[str, int], str]] = {
    "tags": (debug_info.TAGS, "#llvm.di_derived_type<tag = {}>"),
    "languages": (debug_info.LANGUAGES, _UNIT),
    "encodings": (debug_info.ENCODINGS, '#llvm.di_basic_type<name = "a", encoding = {}>'),
    "conventions": (debug_info.CONVENTIONS, "#llvm.di_subroutine_type<callingConvention = {}>"),
    "operations": (debug_info.OPERATIONS, "#llvm.di_expression<[{}(1, 2)]>"),
}


@pytest.mark.mlir
@pytest.mark.parametrize("kind", _EACH)
def test_the_words_have_the_numbers_of_mlir_opt(kind: str) -> None:
    """The bytes of mlir-opt have the numbers of all its words."""
    words, form = _EACH[kind]
    text = _MODULE.format(f"[{', '.join(map(form.format, words))}]")
    code = emitted(text)
    assert hu.write_bytecode(hu.parse(text, filename="<stdin>"), producer=PRODUCER) == code
    assert shown(hu.read_bytecode(code)) == shown(hu.parse(text, filename="<stdin>"))


_SPELLED = {
    "#llvm.di_composite_type<flags = Zero>": "<>",
    "#llvm.di_composite_type<flags = Bit1>": "<flags = Protected>",
    '#llvm.di_composite_type<flags = "Private|Protected|Artificial">': '<flags = "Public|Artificial">',
    '#llvm.di_composite_type<flags = "BitField | Virtual|Bit0">': '<flags = "Private|Virtual|BitField">',
    "#llvm.di_composite_type<flags = MultipleInheritance>": (
        "<flags = SingleInheritance|MultipleInheritance|VirtualInheritance>"
    ),
    '#llvm.di_subprogram<subprogramFlags = "ObjCDirect|Virtual">': '<subprogramFlags = "Virtual|ObjCDirect">',
    '#llvm.di_subprogram<subprogramFlags = "Pure">': "<subprogramFlags = Pure>",
    "#llvm.di_subprogram<line = -1>": "<line = 4294967295>",
    "#llvm.di_subprogram<line = -99999999>": "<line = 4194967297>",
    "#llvm.di_composite_type<alignInBits = -9999999999999999>": "<alignInBits = 18436744073709551617>",
    "#llvm.di_derived_type<tag = DW_TAG_null, sizeInBits = 0>": "<>",
    "#llvm.di_derived_type<dwarfAddressSpace = 0>": "<dwarfAddressSpace = 0>",
    "#llvm.di_derived_type<baseType = #llvm.di_null_type<>>": "<baseType = #di_null_type>",
    "#llvm.di_lexical_block<column = 1, line = 0, scope = #a>": "<scope = #di_file, column = 1>",
    '#llvm.di_composite_type<file = <"a" in "b">>': "<file = #di_file>",
    "#llvm.di_expression<[DW_OP_deref(-1)]>": "<[DW_OP_deref(18446744073709551615)]>",
    "#llvm.di_expression<[DW_OP_LLVM_convert]>": "<[DW_OP_LLVM_convert]>",
    "#llvm.di_expression<[DW_OP_LLVM_convert(5, 5)]>": "<[DW_OP_LLVM_convert(5, DW_ATE_signed)]>",
    "#llvm.di_expression<[DW_OP_LLVM_convert(4, 99, 7)]>": "<[DW_OP_LLVM_convert(4, 99, DW_ATE_unsigned)]>",
    '#llvm.di_basic_type<name = "a" : none>': '<name = "a">',
}
"""Attributes, and the parameters that mlir-opt 22.1.8 prints for them."""


@pytest.mark.parametrize("text", _SPELLED)
def test_the_spelling_of_parameters(text: str) -> None:
    found = hu.print_module(hu.parse(_MODULE.format(text)))
    assert f"{text.partition('<')[0]}{_SPELLED[text]}" in found
    if "|Multiple" not in found:
        assert hu.print_module(hu.parse(found)) == found


@pytest.mark.mlir
def test_the_spelling_is_that_of_mlir_opt(mlir_opt: Any) -> None:
    text = _MODULE.format(f"[{', '.join(_SPELLED)}]")
    assert hu.print_module(hu.parse(text)).strip() == mlir_opt(text, "--allow-unregistered-dialect").strip()


def test_flags_that_mlir_opt_prints_without_quotes_are_read() -> None:
    """mlir-opt 22.1.8 prints three names for this bit, and cannot read them."""
    text = hu.print_module(hu.parse(_MODULE.format("#llvm.di_composite_type<flags = VirtualInheritance>")))
    assert "SingleInheritance|MultipleInheritance|VirtualInheritance" in text
    assert hu.print_module(hu.parse(text)) == text


# --- what is wrong in text --------------------------------------------------------------------------------------------

_NODE = "#llvm.di_global_variable_expression<var = <file = #a, line = 0, type = #llvm.di_null_type>>"
_WRONG = {
    '#llvm.di_file<"a" in >': (21, "expected attribute value"),
    "#llvm.di_basic_type<>": (21, "expected valid keyword"),
    "#llvm.di_basic_type<tag = DW_TAG_base_type>": (43, "struct is missing required parameter: name"),
    "#llvm.di_basic_type<tag = DW_TAG_none>": (27, "invalid debug info debug info tag name: DW_TAG_none"),
    "#llvm.di_subroutine_type<callingConvention =  3>": (47, "expected valid keyword"),
    "#llvm.di_subroutine_type<types = #llvm.di_null_type, #a>": (54, "invalid kind of attribute specified"),
    "#llvm.di_composite_type<flags = Private_>": (33, "expected one of [Zero, Bit0, Bit1, Private, Protected, "),
    '#llvm.di_composite_type<flags = "Zero|Vector">': (33, "AllCallsDescribed] for LLVM DI flags, got: Zero|Vector"),
    "#llvm.di_composite_type<flags = 3>": (33, "expected keyword for LLVM DI flags"),
    "#llvm.di_composite_type<elements = #llvm.di_expression<>>": (36, "invalid kind of attribute specified"),
    f"#llvm.di_composite_type<elements = {_NODE}>": (36, "invalid kind of attribute specified"),
    "#llvm.di_composite_type<scope = #llvm.di_null_type>": (33, "invalid kind of attribute specified"),
    "#llvm.di_composite_type<scope = #llvm.di_label<scope = #a>>": (33, "invalid kind of attribute specified"),
    "#llvm.di_composite_type<baseType = #llvm.di_subprogram<>>": (36, "invalid kind of attribute specified"),
    "#llvm.di_composite_type<elements = #a, line = 3>": (39, "expected attribute value"),
    "#llvm.di_derived_type<alignInBits = 4294967296>": (37, "integer value too large"),
    "#llvm.di_subprogram<line = -100000000>": (28, "integer value too large"),
    "#llvm.di_namespace<exportSymbols = 2>": (36, "integer value too large"),
    "#llvm.di_subprogram<name = 3 : i32>": (28, "invalid kind of attribute specified"),
    "#llvm.di_subprogram<id = 3>": (26, "invalid kind of attribute specified"),
    "#llvm.di_subprogram<nope = 3>": (28, "duplicate or unknown struct parameter name: nope"),
    "#llvm.di_subprogram<line = 3, line = 3>": (38, "duplicate or unknown struct parameter name: line"),
    "#llvm.di_expression<[]>": (22, "expected valid keyword"),
    "#llvm.di_expression<DW_OP_deref>": (21, "expected '>'"),
    "#llvm.di_expression<[DW_OP_none]>": (22, "invalid debug info debug info operation encoding name: DW_OP_none"),
    "#llvm.di_expression<[DW_OP_deref()]>": (34, "expected integer value"),
    "#llvm.di_expression<[DW_OP_deref(18446744073709551616)]>": (34, "integer value too large"),
    "#llvm.di_expression<[DW_OP_LLVM_convert(DW_ATE_signed)]>": (41, "expected integer value"),
    "#llvm.di_expression<[DW_OP_LLVM_convert(4, DW_ATE_no)]>": (
        53,
        'encountered unknown attribute encoding "DW_ATE_no"',
    ),
    '#llvm.di_string_type<name = "a", stringLength = #a>': (49, "invalid kind of attribute specified"),
}
"""Attributes that mlir-opt 22.1.8 refuses, the column behind the start, and its words."""


@pytest.mark.parametrize("text", _WRONG)
def test_wrong_debug_information_is_refused_in_the_words_of_mlir_opt(text: str) -> None:
    column, words = _WRONG[text]
    with pytest.raises(hu.errors.ParseError) as caught:
        attribute_of(text)
    assert f"<stdin>:2:{column + 17}: error: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.mlir
def test_the_words_are_those_of_mlir_opt() -> None:
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--split-input-file"]
    texts = "// -----\n".join(map(_MODULE.format, _WRONG))
    said = subprocess.run(command, input=texts, capture_output=True, text=True, check=False).stderr
    first: dict[int, str] = {}
    for line, rest in re.findall(r"^<stdin>:(\d+):(\d+: error: .*)", said, re.MULTILINE):
        first.setdefault(int(line), rest)
    for number, (column, words) in enumerate(_WRONG.values()):
        found = first[3 * number + 2]
        assert found.startswith(f"{column + 17}: error: ")
        assert words in found


_WRONG_OPS = {
    "llvm.module_flags [3]": "expected a module flag attribute",
    'llvm.module_flags [#llvm.mlir.module_flag<none, "a", 3>]': (
        "expected one of [error, warning, require, override, append, append_unique, max, min] for LLVM Module Flag "
        "Behavior, got: none"
    ),
    'llvm.module_flags [#llvm.mlir.module_flag<error, "a", unit>]': (
        "only integer and string values are currently supported for unknown key '\"a\"'"
    ),
    'llvm.module_flags [#llvm.mlir.module_flag<append, "CG Profile", [3]>]': (
        "'CG Profile' key expects an array of '#llvm.cgprofile_entry'"
    ),
    'llvm.module_flags [#llvm.mlir.module_flag<error, "ProfileSummary", 3>]': (
        "'ProfileSummary' key expects a '#llvm.profile_summary' attribute"
    ),
    '"llvm.intr.dbg.label"() : () -> ()': "requires attribute 'label'",
    'llvm.intr.dbg.label #llvm.di_file<"a" in "b">': "invalid kind of attribute specified",
}


@pytest.mark.parametrize("text", _WRONG_OPS)
def test_wrong_ops_are_refused_in_the_words_of_mlir_opt(text: str) -> None:
    with pytest.raises(hu.HalfulpError) as caught:
        hu.parse(text)
    assert _WRONG_OPS[text] in str(caught.value)


@pytest.mark.mlir
@pytest.mark.parametrize("text", _WRONG_OPS)
def test_the_words_about_ops_are_those_of_mlir_opt(text: str, mlir_opt: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        mlir_opt(text)
    assert _WRONG_OPS[text] in str(caught.value)


_CALL = """
#a = #llvm.di_file<"a" in "b">
#s = #llvm.di_subprogram<scope = #a>
llvm.func @callee() {} loc({})
llvm.func @caller() {{
  llvm.call @callee() : () -> () loc({})
  llvm.return
}} loc({})
"""
_BODY = "{\n  llvm.return\n}"
_INSIDE, _OUTSIDE = 'callsite("a":1:1 at fused<#s>["a":2:2])', 'fused<#a>["a":2:2]'
_CALLS: Mapping[tuple[str, ...], bool] = {
    (_BODY, _INSIDE, "unknown", _INSIDE): True,
    (_BODY, _INSIDE, '"a"', _INSIDE): False,
    (_BODY, _OUTSIDE, "unknown", _INSIDE): False,
    (_BODY, _INSIDE, "unknown", _OUTSIDE): False,
    ("", _INSIDE, "unknown", _INSIDE): False,
}
"""The body and the location of a function, the location of a call of it, that of the caller; True if it is wrong."""


@pytest.mark.parametrize("parts", _CALLS)
def test_a_call_between_functions_with_debug_information_has_a_location(parts: tuple[str, ...]) -> None:
    text = _CALL.format(*parts)
    if not _CALLS[parts]:
        hu.parse(text)
        return
    with pytest.raises(hu.errors.VerifyError, match="error: inlinable function call in a function with a DISubprogram"):
        hu.parse(text)


@pytest.mark.mlir
def test_mlir_opt_wants_the_same_calls_to_have_a_location() -> None:
    for parts, wrong in _CALLS.items():
        said = subprocess.run(
            [MLIR_OPT], input=_CALL.format(*parts), capture_output=True, text=True, check=False
        ).stderr
        assert ("error: inlinable function call in a function with a DISubprogram" in said) == wrong, parts


def test_profiles_of_calls_are_kept_as_written() -> None:
    entries = "[#llvm.cgprofile_entry<from = @f, to = @g, count = 222>, #llvm.cgprofile_entry<count = 3>]"
    text = f'llvm.module_flags [#llvm.mlir.module_flag<append, "CG Profile", {entries}>]'
    assert text in hu.print_module(hu.parse(text))


# --- what bytecode cannot hold ----------------------------------------------------------------------------------------


@each_row(
    (
        _UNIT.format("DW_LANG_C")[:-1] + ', splitDebugFilename = "a.dwo">',
        "'splitDebugFilename' of #llvm.di_compile_unit",
    ),
    ("#llvm.di_derived_type<flags = Artificial>", "'flags' of #llvm.di_derived_type"),
    ('#llvm.di_composite_type<identifier = "a">', "'identifier' of #llvm.di_composite_type"),
    ('#llvm.di_file<"a" : i32 in "b">', 'the type of "a" : i32'),
)
def test_what_bytecode_would_lose_is_refused(text: str, words: str) -> None:
    """mlir-opt 22.1.8 drops the name of the file and the type without a word. It does not know the other two."""
    with pytest.raises(hu.Unsupported, match=re.escape(words)):
        hu.write_bytecode(hu.parse(_MODULE.format(text)))


_NEWER = """
#f = #llvm.di_file<"a" in "b">
#t = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "r", sizeInBits = 3, encoding = DW_ATE_float>
#d = #llvm.di_derived_type<tag = DW_TAG_member, name = "m", file = #f, line = 3, scope = #f, baseType = #t,
                           sizeInBits = 8, dwarfAddressSpace = 2, flags = "Artificial|Vector", extraData = #t>
#c = #llvm.di_composite_type<recId = distinct[0]<>, tag = DW_TAG_array_type, name = "c", identifier = "id",
                             discriminator = #d, elements = #d, #t>
#s = #llvm.di_subprogram<recId = distinct[1]<>, id = distinct[2]<>, scope = #c, type = <types = #c>, annotations = #f>
#g = #llvm.di_global_variable<file = #f, line = 3, type = #c>
#b = #llvm.di_lexical_block_file<scope = #llvm.di_lexical_block<scope = #s>, discriminator = 4>
"some.op"() {
  a = #llvm.di_local_variable<scope = #b, name = "x", type = #d>,
  b = #llvm.di_global_variable_expression<var = #g, expr = <[DW_OP_LLVM_convert(4, DW_ATE_signed)]>>,
  c = #llvm.di_imported_entity<scope = #s, entity = #llvm.di_subrange<count = 3>>,
  d = #llvm.di_label<scope = #llvm.di_namespace<exportSymbols = true>>
} : () -> ()
"""
"""All codes except that of a compile unit, with the parameters that LLVM 24 has and MLIR 22 has not."""


def test_newer_bytecode_is_read_and_written_byte_for_byte(iree_opt: str) -> None:
    command = [iree_opt, "--emit-bytecode", "--allow-unregistered-dialect"]
    code = subprocess.run(command, input=_NEWER.encode(), capture_output=True, check=True).stdout
    used = {number for kind, dialect, number in codes_of(code) if (kind, dialect) == ("attribute", "llvm")}
    assert used == {*range(18)} - {1}
    module = hu.parse(_NEWER, filename="<stdin>")
    assert shown(hu.read_bytecode(code)) == shown(module)
    assert hu.write_bytecode(module, schema="llvm24", producer="MLIR24.0.0git") == code


def test_a_compile_unit_of_newer_mlir_is_not_known() -> None:
    module = hu.parse(_MODULE.format(_UNIT.format("DW_LANG_C")))
    with pytest.raises(hu.Unsupported, match="cannot write #llvm.di_compile_unit as bytecode of LLVM 24"):
        hu.write_bytecode(module, schema="llvm24")


# --- damaged files ----------------------------------------------------------------------------------------------------


def test_damaged_debug_information_is_an_error_or_another_module() -> None:
    """Each byte of the attributes of a small file is changed."""
    code = hu.write_bytecode(hu.parse(_MODULE.format(_SMALL)))
    place = Container(code).section(Section.ATTR_TYPE)
    outcomes = set()
    for at in range(place.pos, place.end):
        for change in (0x01, 0x02, 0x10, 0xFF):
            data = bytearray(code)
            data[at] ^= change
            try:
                module = hu.read_bytecode(bytes(data))
            except (hu.errors.BytecodeError, hu.errors.VerifyError):
                outcomes.add("refused")
            else:
                outcomes.add("read")
                assert hu.print_module(hu.parse(hu.print_module(module))) == hu.print_module(module)
    assert outcomes == {"refused", "read"}


_SMALL = (
    "#llvm.di_local_variable<scope = #llvm.di_lexical_block<scope = #llvm.di_subprogram<recId = distinct[0]<>, "
    'subprogramFlags = Definition, type = <callingConvention = DW_CC_normal, types = #llvm.di_basic_type<name = "a", '
    "encoding = DW_ATE_float>, #llvm.di_derived_type<tag = DW_TAG_member, dwarfAddressSpace = 1>>>, line = 3>, "
    "file = #a, flags = Public>"
)


def _with(code: bytes, old: bytes, new: bytes) -> bytes:
    assert code.count(old) == 1
    return code.replace(old, new)


@each_row(
    # The code, then the tag, the name and so on: each small number n is the byte 2 n + 1.
    ("#llvm.di_derived_type<tag = DW_TAG_member, sizeInBits = 3>", "07 1b 01 01 07", "07 03 01 01 07", None),
    ("#llvm.di_derived_type<tag = DW_TAG_member, sizeInBits = 3>", "07 1b 01 01 07", "07 f3 01 01 07",
     "#llvm.di_derived_type has no 'tag' that is 121"),
    ("#llvm.di_lexical_block<scope = #a, column = 3>", "17 0d 01 01 07", "17 01 01 01 07",
     "#llvm.di_lexical_block has no 'scope' that is \"-\""),
    ("#llvm.di_lexical_block<scope = #a, column = 3>", "17 0d 01 01 07", "17 0b 01 01 07",
     "attribute 5 contains itself"),
)  # fmt: skip
def test_wrong_values_are_told(text: str, old: str, new: str, words: str | None) -> None:
    code = hu.write_bytecode(hu.parse(_MODULE.format(text), filename="-"))
    damaged = _with(code, bytes.fromhex(old), bytes.fromhex(new))
    if words is None:
        assert "tag = DW_TAG_array_type" in hu.print_module(hu.read_bytecode(damaged))
        return
    with pytest.raises(hu.errors.BytecodeError, match=re.escape(words)):
        hu.read_bytecode(damaged)


def chain(length: int) -> str:
    """Return a module with blocks inside each other, by aliases."""
    rows = ['#a0 = #llvm.di_file<"a" in "b">']
    rows += [f"#a{number} = #llvm.di_lexical_block<scope = #a{number - 1}>" for number in range(1, length)]
    return "\n".join([*rows, f'"some.op"() {{x = #a{length - 1}}} : () -> ()'])


def test_deep_scopes_are_bounded() -> None:
    module = hu.parse(chain(90))
    assert shown(hu.read_bytecode(hu.write_bytecode(module))) == shown(module)
    with pytest.raises(hu.errors.BytecodeError, match="nested more than 100 deep"):
        hu.read_bytecode(hu.write_bytecode(hu.parse(chain(130))))
    deep = hu.parse(chain(2000))
    uses: tuple[Callable[[hu.Module], object], ...] = (hu.print_module, hu.write_bytecode)
    for use in uses:
        with pytest.raises(hu.errors.LimitExceeded, match="nested too deep"):
            use(deep)
