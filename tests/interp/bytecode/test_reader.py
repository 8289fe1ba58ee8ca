"""Bytecode that real tools wrote reads to the module that its text reads to, in every version; what is wrong is said
with the byte at which it is.
"""

import base64
import itertools
import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amounts import amounts, thinned
from corpora import bytecode_files
from corpora.bytecode_files import VERSIONS, emit, recorded_files, valid_entries
from corpora.corpus import CorpusEntry, entries
from tables import each_row

import halfulp as hu
from halfulp.interp.bytecode.codes import ATTRIBUTE_CODES, TYPE_CODES
from halfulp.interp.bytecode.encoding import NATIVE_PROPERTIES, ByteCursor, Section, varint, zigzag
from halfulp.interp.bytecode.index import Container, schema_of
from halfulp.interp.bytecode.inspect import codes_of, inspect
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.attributes import ArrayAttr, IntegerAttr
from halfulp.interp.ir.blobs import MAGIC
from halfulp.interp.ir.errors import BytecodeError, VerifyError
from halfulp.interp.ir.operations import Module
from halfulp.interp.ir.types import I32
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.lexer import MAX_NESTING
from halfulp.interp.text.printer import print_module

TOOL = "mlir-opt-22"

# What LLVM 24 reads otherwise as text than MLIR 22, whose reading halfulp's is: decimals do not go through f64.
LITERALS_OF_LLVM24 = frozenset(f"attributes/float.mlir#{number}" for number in (32, 34, 39))


def full(module: Module) -> str:
    return print_module(module, generic=True, debug_info=True)


@cache
def text_of(name: str) -> str:
    """Return the text of a module of the corpus, as the tools see it: on standard input."""
    by_name = {entry.name: entry.text for entry in entries()}
    return full(parse_module(by_name[name], "<stdin>"))


def loses_properties(name: str, version: int) -> bool:
    """Before version 5 MLIR does not write what stands in <{…}> of an unregistered op."""
    module = parse_module({entry.name: entry.text for entry in entries()}[name])
    return version < NATIVE_PROPERTIES and any(op.raw_properties is not None for op in module.walk())


def without_properties(name: str) -> str:
    """Return the text of a module whose unregistered ops have lost what stands in <{…}>."""
    module = parse_module({entry.name: entry.text for entry in entries()}[name], "<stdin>")
    for op in module.walk():
        op.raw_properties = None
    return full(module)


def expected(name: str, version: int) -> str:
    return without_properties(name) if loses_properties(name, version) else text_of(name)


# --- what tools wrote -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", thinned(VERSIONS, 3))
def test_recorded_files_read_as_their_text(version: int) -> None:
    """Every code of builtin and quant, orders of uses, resources, unregistered ops; no MLIR is needed."""
    files = [file for file in recorded_files() if file.tool == "mlir-opt 22" and file.version == version]
    assert len(files) > 15
    for file in files:
        assert full(read_bytecode(file.data)) == expected(file.entry, version), file.entry


def test_recorded_files_of_newer_mlir_read_as_their_text() -> None:
    files = [file for file in recorded_files() if file.tool == "iree-opt"]
    assert sum(file.entry.startswith("newer/") for file in files) > 20
    for file in files:
        assert file.entry in LITERALS_OF_LLVM24 or full(read_bytecode(file.data)) == text_of(file.entry), file.entry


STABLEHLO_TYPES = base64.b64decode(
    "TUzvUg1NTElSMjMuMC4wZ2l0AAEfBwEFCQkBAw8DBQcTBQMXAy0TCwETCxMLCxMTExMTAQcbEwcFBQcPAlsFDRcBAQENAQUPFwEDAxcBAx0XAQ"
    "NJFwEFERcBBwcFBQcJAwcbAwkFCwEDAwMEUQUBUAMBBwRBAwEFA1AJAwcELQMHCwUPCxMNAAcGDwMHBQEBBQQRAwUGAwEFAQB5EQUFFQ8PFQsR"
    "YnVpbHRpbgBmdW5jAHN0YWJsZWhsbwBtb2R1bGUAcmV0dXJuAGFmdGVyX2FsbAAtAGYACBcFBQEBDQEFAQEHAQ=="
)
"""As jaxlib 0.10.2 writes a function of a token and a future: mlir-opt and iree-opt do not have these types."""


@pytest.mark.long
def test_recorded_files_use_every_code() -> None:
    used = set().union(*(codes_of(data) for data in (STABLEHLO_TYPES, *(file.data for file in recorded_files()))))
    types = "(%arg0: !stablehlo.token, %arg1: !stablehlo.future<tensor<2xf32>>) -> !stablehlo.token {"
    assert types in hu.print_module(hu.read_bytecode(STABLEHLO_TYPES))
    known = {
        (kind, dialect, number)
        for kind, codecs in (("attribute", ATTRIBUTE_CODES), ("type", TYPE_CODES))
        for dialect, codec in codecs.items()
        if dialect != "vhlo"  # in portable artifacts only
        for number in codec.by_number
    }
    missing = known - used
    assert not missing, sorted(missing)
    facts = set().union(*(bytecode_files.facts(file.data) for file in recorded_files()))
    assert {"use orders", "successors", "blocks", "raw properties", ("unregistered", True)} <= facts


def _differences(entry: CorpusEntry, tool: str, version: int) -> list[str]:
    if full(read_bytecode(emit(tool, entry.text, version))) == expected(entry.name, version):
        return []
    return [f"{entry.name} in version {version}"]


@pytest.mark.mlir
@pytest.mark.parametrize("step", amounts(31, long=7))
def test_a_sample_of_the_corpus_reads_as_its_text(step: int) -> None:
    """Some modules, in one version each."""
    sample = valid_entries()[::step]
    found = [_differences(entry, TOOL, VERSIONS[number % len(VERSIONS)]) for number, entry in enumerate(sample)]
    assert [line for lines in found for line in lines] == []


@pytest.mark.mlir
@pytest.mark.exhaustive
@pytest.mark.parametrize("version", VERSIONS)
def test_the_corpus_reads_as_its_text(version: int) -> None:
    chosen = valid_entries()
    assert len(chosen) > 800
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda entry: _differences(entry, TOOL, version), chosen))
    assert [line for lines in found for line in lines] == []


@pytest.mark.mlir
def test_modules_read_otherwise_as_text_are_other_modules() -> None:
    for name in bytecode_files.READ_OTHERWISE:
        entry = next(entry for entry in entries() if entry.name == name)
        try:
            same = full(read_bytecode(emit(TOOL, entry.text))) == text_of(name)
        except Exception:
            same = False
        assert not same, name


@pytest.mark.exhaustive
def test_the_corpus_as_newer_mlir_writes_it(iree_opt: str) -> None:
    chosen = (*valid_entries(), *(entry for entry in entries() if entry.newer))

    def read(entry: CorpusEntry) -> str | None:
        """Tell whether a module is the same; return None where LLVM 24 rejects its text."""
        try:
            data = emit(iree_opt, entry.text)
        except RuntimeError:
            return None
        return "same" if full(read_bytecode(data)) == text_of(entry.name) else entry.name

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(read, chosen))
    assert sum(one is not None for one in found) > 800
    assert set(found) - {None, "same"} == LITERALS_OF_LLVM24


def _after_newer_mlir(tool: str, entry: CorpusEntry, folder: Path) -> str | None:
    """Return the differences after iree-opt has read and written the bytecode for LLVM 24; None for no difference."""
    module = parse_module(entry.text, "<stdin>")
    path = folder / f"{entry.name.replace('/', '.')}.mlirbc"
    path.write_bytes(write_bytecode(module, schema=Schema.LLVM24))
    try:
        again = emit(tool, "", arguments=[str(path)])
    except RuntimeError as error:
        try:
            emit(tool, entry.text)
        except RuntimeError:
            return None  # its text is refused too
        return f"{entry.name}: {str(error)[:300]}"
    return None if full(read_bytecode(again)) == full(module) else entry.name


def test_newer_mlir_reads_what_is_written_for_it(tmp_path: Path, iree_opt: str) -> None:
    chosen = [entry for entry in entries() if entry.file == "newer/arith.mlir"][::3]
    assert [wrong for entry in chosen if (wrong := _after_newer_mlir(iree_opt, entry, tmp_path))] == []


@pytest.mark.exhaustive
def test_newer_mlir_reads_the_corpus_as_written_for_it(tmp_path: Path, iree_opt: str) -> None:
    chosen = [*valid_entries(), *(entry for entry in entries() if entry.newer)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda entry: _after_newer_mlir(iree_opt, entry, tmp_path), chosen))
    assert [wrong for wrong in found if wrong] == []


@pytest.mark.mlir
def test_a_top_level_op_that_is_no_module() -> None:
    data = emit(TOOL, "func.func @f() {\n  return\n}", arguments=["--no-implicit-module"])
    module = read_bytecode(data)
    assert module.operation.name == "builtin.module"
    assert [op.name for op in module.body] == ["func.func"]


# --- schemas ----------------------------------------------------------------------------------------------------------

ADD = "func.func @f(%a: f32) {\n  %0 = arith.addf %a, %a fastmath<nnan> : f32\n  return\n}"
ROUNDED = "func.func @f(%a: f32) {\n  %0 = arith.addf %a, %a downward : f32\n  return\n}"


def renamed(data: bytes, producer: bytes) -> bytes:
    """Return the same file by another producer."""
    cursor = ByteCursor(data, 4)
    cursor.varint()
    start = cursor.pos
    cursor.terminated()
    return data[:start] + producer + b"\0" + data[cursor.pos :]


@each_row(
    ("MLIR22.1.8", Schema.MLIR22),
    ("MLIR24.0.0git", Schema.LLVM24),
    ("LLVM17", Schema.MLIR22),
    ("MLIR" + "9" * 5000, None),
    ("mine", None),
    ("", None),
)
def test_the_producer_says_the_schema(producer: str, schema: Schema | None) -> None:
    assert schema_of(producer) is schema


@pytest.mark.parametrize(("text", "schema"), [(ADD, Schema.MLIR22), (ADD, Schema.LLVM24), (ROUNDED, Schema.LLVM24)])
def test_an_unknown_producer_means_the_schema_that_fits(text: str, schema: Schema) -> None:
    data = renamed(write_bytecode(parse_module(text, "f"), schema=schema), b"somebody")
    assert full(read_bytecode(data)) == full(parse_module(text, "f"))


def test_the_wrong_schema_is_an_error_that_names_the_op() -> None:
    newer = write_bytecode(parse_module(ROUNDED), schema=Schema.LLVM24)
    with pytest.raises(BytecodeError, match=r"properties of op 'arith.addf': \d+ of \d+ bytes are left over") as caught:
        read_bytecode(newer, "f.mlirbc", schema=Schema.MLIR22)
    assert caught.value.offset is not None
    older = write_bytecode(parse_module(ADD))
    with pytest.raises(
        BytecodeError, match="properties of op 'arith.addf', read as LLVM24 writes them: unexpected end"
    ):
        read_bytecode(older, schema=Schema.LLVM24)


# Properties that MLIR 24 added, removed or renamed, as it prints them.
OF_MLIR_24 = (
    "llvm.func @f()",
    """llvm.func @f() attributes {denormal_fpenv = #llvm.denormal_fpenv<default_output_mode = ieee, \
default_input_mode = ieee, float_output_mode = positivezero, float_input_mode = positivezero>}""",
    "llvm.func @f() attributes {no_infs_fp_math = true, no_nans_fp_math = true, no_signed_zeros_fp_math = true}",
    'llvm.func @f() attributes {denormal_fp_math = "positive-zero", denormal_fp_math_f32 = "ieee", hot}',
    """llvm.func @f(!llvm.ptr {llvm.noalias}) -> (i32 {llvm.zeroext}) attributes {allocsize = array<i32: 0, 1>, \
default_func_attrs = {a = "b"}, modular_format = "a", nobuiltins = ["x"], zero_call_used_regs = "skip"}""",
    """llvm.func @f() attributes {cold, minsize, no_caller_saved_registers, nocallback, noduplicate, noreturn, optsize, \
returns_twice, save_reg_params, use_sample_profile = true}""",
    """llvm.func fastcc @f() vscale_range(1, 16) attributes {arm_streaming, \
frame_pointer = #llvm.framePointerKind<all>, target_cpu = "x", tune_cpu = "y"}""",
    """llvm.func @f(i32, ...) attributes {alignment = 16 : i64, convergent, garbageCollector = "x", no_inline, \
no_unwind, optimize_none, section = "s", uwtable_kind = #llvm.uwtableKind<sync>, will_return}""",
    """llvm.func @f() attributes {fp_contract = "fast", instrument_function_entry = "a", \
instrument_function_exit = "b", passthrough = ["strictfp", ["a", "b"]], prefer_vector_width = "256"}""",
    """llvm.func @f() -> i32 {
    %0 = llvm.call @f() {builtin, cold, no_unwind, optsize, trap_func_name = "x"} : () -> i32
    llvm.return %0 : i32
  }""",
    "llvm.mlir.global external thread_local @x() {addr_space = 0 : i32} : i32",
    "llvm.mlir.global internal thread_local(initialexec) constant @x(1 : i32) {addr_space = 0 : i32} : i32",
    """llvm.func @f(%arg0: f32) {
    %0 = llvm.fpext %arg0 fastmath<nnan> : f32 to f64
    %1 = llvm.fptrunc %0 : f64 to f32
    llvm.return
  }""",
    """llvm.func @f(%arg0: vector<4xf32>, %arg1: !llvm.ptr, %arg2: vector<4xi1>) {
    llvm.intr.masked.store %arg0, %arg1, %arg2 {alignment = 1 : i32, nontemporal} : vector<4xf32>, vector<4xi1> \
into !llvm.ptr
    llvm.return
  }""",
)
NEWER_FORMS = tuple(f"module {{\n  {text}\n}}\n" for text in OF_MLIR_24)
# Properties that one build of MLIR 24 has as plain attributes.
LATE = (
    """llvm.mlir.global external @x() {absolute_symbol = 1 : i32, addr_space = 0 : i32, sym_visibility = "private"} \
: i32""",
    """func.func @f(%arg0: memref<4xf32>) {
    %0 = affine.load %arg0[0] {alignment = 4 : i64} : memref<4xf32>
    return
  }""",
    "llvm.func @f() attributes {disable_tail_calls, hot}",
)


def newer_text(module: Module) -> str:
    return print_module(module, schema=Schema.LLVM24)


@pytest.mark.parametrize("text", [*NEWER_FORMS, *(f"module {{\n  {text}\n}}\n" for text in LATE)])
def test_properties_of_newer_mlir_are_kept(text: str) -> None:
    module = parse_module(text)
    again = read_bytecode(write_bytecode(module, schema=Schema.LLVM24))
    assert newer_text(again) == newer_text(module) == text
    assert full(again) == full(module)


IN_THE_WHEEL = """
import io, json, sys
from torch_mlir import ir
done = []
for text, ours in json.load(sys.stdin):
    with ir.Context():
        module, data = ir.Module.parse(text), io.BytesIO()
        module.operation.write_bytecode(data)
        done.append((data.getvalue().hex(), str(module), str(ir.Module.parse(bytes.fromhex(ours)))))
json.dump(done, sys.stdout)
"""


@pytest.mark.torch_mlir
def test_properties_of_newer_mlir_are_those_of_the_wheel() -> None:
    texts = (*NEWER_FORMS, *(f"module {{\n  {text}\n}}\n" for text in LATE))
    given = [(text, write_bytecode(parse_module(text), schema=Schema.LLVM24).hex()) for text in texts]
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_WHEEL], input=json.dumps(given), capture_output=True, check=True, text=True
    )
    for text, (theirs, printed, of_ours) in zip(texts, json.loads(done.stdout), strict=True):
        assert newer_text(read_bytecode(bytes.fromhex(theirs))) == printed == of_ours == text


def test_codes_of_newer_mlir_are_refused_in_older_files() -> None:
    data = write_bytecode(parse_module("func.func private @f(f8E4M3FN)"), schema=Schema.LLVM24)
    with pytest.raises(BytecodeError, match="type code 24 of dialect 'builtin' does not exist in the schema MLIR22"):
        read_bytecode(data, schema=Schema.MLIR22)


def test_versions_of_dialects_are_kept() -> None:
    module = read_bytecode(write_bytecode(parse_module(ADD)))
    assert module.dialect_versions == {}
    module.dialect_versions["arith"] = b"\3\5"
    for version in range(7):
        data = write_bytecode(module, version)
        again = read_bytecode(data)
        assert again.dialect_versions == ({"arith": b"\3\5"} if version else {})
        assert write_bytecode(again, version) == data
        assert full(again) == full(module)
    shown = {dialect.name: dialect.version for dialect in inspect(data, "f").dialects}
    assert shown == {"builtin": None, "func": None, "arith": "0305"}


# --- hostile files ----------------------------------------------------------------------------------------------------


def section(number: int, content: bytes) -> bytes:
    return bytes((number,)) + varint(len(content)) + content


UNKNOWN, NAME = varint(15), varint(2) + varint(2)


def holding(
    attributes: list[bytes],
    types: list[bytes],
    chosen: int,
    quantized: Sequence[bytes] = (),
    names: Sequence[bytes] = (),
    ops: int = 0,
    dictionary: int = 0,
) -> bytes:
    """Return a module with the attribute t.a: the one of that number. The numbers 0 and 1 are its place and its name.

    ``quantized``: types of the dialect quant, behind the others; ``names``: strings from number 6 on; ``ops``: so many
    ops 't.x' in the module, all with the attributes of that number.
    """
    attributes = [UNKNOWN, NAME, *attributes, varint(1) + varint(1) + varint(1) + varint(chosen)]
    strings = [text + b"\0" for text in (b"builtin", b"module", b"t.a", b"quant", b"t", b"x", *names)]
    dialects = varint(3) + varint(0) + varint(3 << 1) + varint(4 << 1)
    called = varint(2) + varint(0) + varint(1) + varint(1 << 1 | 1) + varint(2) + varint(1) + varint(5 << 1)

    def group(dialect: int, things: Sequence[bytes]) -> bytes:
        sizes = b"".join(varint(len(thing) << 1 | 1) for thing in things)
        return varint(dialect) + varint(len(things)) + sizes if things else b""

    offsets = varint(len(attributes)) + varint(len(types) + len(quantized))
    offsets += group(0, attributes) + group(0, types) + group(1, quantized)
    inside = (varint(1) + b"\1" + varint(0) + varint(dictionary)) * ops
    region = section(4, varint(1) + varint(0) + varint(ops << 1) + inside)
    body = varint(1 << 1) + varint(0) + b"\x51" + varint(0) + varint(len(attributes) - 1) + varint(0)
    return b"".join(
        (
            MAGIC + varint(6) + b"MLIR22\0",
            section(1, dialects + called),
            section(3, offsets),
            section(2, b"".join((*attributes, *types, *quantized))),
            section(4, body + varint(1 << 1 | 1) + region),
            section(0, varint(len(strings)) + b"".join(varint(len(s)) for s in reversed(strings)) + b"".join(strings)),
            section(8, varint(1) + varint(2) + varint(0) + varint(0)),
        )
    )


def array(*numbers: int) -> bytes:
    return varint(0) + varint(len(numbers)) + b"".join(map(varint, numbers))


def tensor(sizes: list[int], element: int = 0) -> bytes:
    return varint(13) + varint(len(sizes)) + b"".join(varint(2 * size) for size in sizes) + varint(element)


def dense(type: int, data: bytes) -> bytes:
    return varint(18) + varint(type) + varint(len(data)) + data


UNIT = varint(7)
I0, I1, I8 = (varint(0) + varint(width << 2) for width in (0, 1, 8))
WIDEST = varint(0) + varint((1 << 24) - 1 << 2)

REFUSED = {
    "array of itself": ([array(2)], [], 2, "attribute 2 contains itself"),
    "circle": ([array(3), array(2)], [], 2, "contains itself"),
    "doubled 60 times": ([UNIT, *(array(n, n) for n in range(2, 62))], [], 62, "contains more than"),
    "deep, inner first": ([UNIT, *(array(n) for n in range(2, 20_000))], [], 20_000, "nested more than"),
    "deep, outer first": ([*(array(n) for n in range(3, 20_000)), UNIT], [], 2, "nested more than"),
    "deep type": ([varint(6) + varint(0)], [varint(15) + varint(1) + varint(n) for n in range(1, 300)] + [I8], 2, "deep"),
    "attribute that is not there": ([array(99)], [], 2, "attribute 99 does not exist: there are 4"),
    "vast empty array": ([dense(1, b"")], [I8, tensor([1 << 62, 1 << 62, 0])], 2, "an array cannot have this shape"),
    "elements without a byte": ([dense(1, b"")], [I0, tensor([1 << 40])], 2, "objects that take no byte of it"),
    "a rank of 100,000": ([dense(1, b"\5")], [I8, tensor([1] * 100_000)], 2, "an array cannot have this shape"),
    "strings for 2^60 elements": ([varint(19) + varint(1) + varint(0)], [I8, tensor([1 << 60])], 2, "strings cannot be"),
    "strings in a number": ([varint(19) + varint(0) + varint(1) + varint(2)], [I8], 2, "'i8' cannot be the type of elements"),
    "vector of vectors": ([varint(6) + varint(0)], [varint(19) + varint(1) + varint(4) + varint(0)], 2, "contains itself"),
    "bad element": ([varint(6) + varint(1)], [varint(12), tensor([2])], 2, "'none' cannot be the element type of a tensor"),
    "negative size": ([varint(6) + varint(1)], [I8, varint(13) + varint(1) + varint(3) + varint(0)], 2, "a dimension of -2"),
    "string past the end": ([varint(2) + varint(2**64 - 1)], [], 2, "string 18446744073709551615 does not exist: there are 6"),
    "a list that lies": ([varint(0) + varint(2**40)], [], 2, "1099511627776 elements cannot be in the"),
    "a blob that lies": ([varint(18) + varint(1) + varint(2**63)], [I8, tensor([4])], 2, "bytes are needed"),
    "bytes left over": ([UNIT + b"\1"], [], 2, "1 bytes are left over in attribute 2"),
    "unknown code": ([varint(77)], [], 2, "unknown code 77 of a attribute of dialect 'builtin'"),
    "a token": ([varint(6) + varint(0)], [varint(33)], 2, r"unknown code 33 \(token\) of a type"),
    "a nested symbol in a nested symbol": (
        [varint(2) + varint(2), varint(4) + varint(1), *[varint(5) + varint(1) + varint(1) + varint(n) for n in (3, 4)]],
        [],
        5,
        "the encoded values do not make a SymbolRefAttr",
    ),
    "a name must not have a type": ([varint(3) + varint(2) + varint(0), varint(4) + varint(2)], [I8], 3, "a name must not have a type"),
    "more bits than i1 has": ([varint(8) + varint(0) + b"\xfe"], [I1], 2, "a number of more than 1 bits"),
    "more bits than i16 has": (
        [varint(8) + varint(0) + varint(2 * 70_000)],
        [varint(0) + varint(16 << 2)],
        2,
        "a number of more than 16 bits",
    ),
    "truth values of 2": ([varint(17) + varint(0) + varint(1) + varint(1) + b"\2"], [I1], 2, "neither 0 nor 1"),
    "no truth value": ([varint(20)], [], 2, "unexpected end"),
    "a name twice": (
        [varint(1) + varint(2) + (varint(1) + varint(0)) * 2],
        [],
        2,
        "the encoded values do not make a DictionaryAttr",
    ),
}  # fmt: skip


def with_section(data: bytes, number: Section, change: Callable[[bytes], bytes | None]) -> bytes:
    """Return the file with another content of a section, which has a head of two bytes; None: without the section."""
    cursor = Container(data).sections[number]
    content = change(data[cursor.pos : cursor.end])
    return data[: cursor.pos - 2] + (b"" if content is None else section(number, content)) + data[cursor.end :]


LEFT_OVER: dict[str, tuple[int, Callable[[bytes], bytes], str]] = {
    "properties in a version without": (
        4,
        lambda data: data + section(8, varint(0)),
        "version 4 has no section of properties",
    ),
    "properties of no op": (
        6,
        lambda data: with_section(data, Section.PROPERTIES, lambda old: varint(2) + old[1:] + varint(1) + b"x"),
        "no op has the properties 1",
    ),
    "resources without their sizes": (
        6,
        lambda data: with_section(data, Section.RESOURCE_OFFSET, lambda old: None),
        "the section RESOURCE_OFFSET is missing",
    ),
}


@pytest.mark.parametrize("name", LEFT_OVER)
def test_what_is_left_over_is_an_error(name: str) -> None:
    version, change, message = LEFT_OVER[name]
    plain = write_bytecode(parse_module('"t.op"() : () -> ()'), version)
    # The implicit module has properties of its own, which are its only ones.
    data = change(plain)
    assert data != plain
    with pytest.raises(BytecodeError, match=message) as caught:
        read_bytecode(data)
    assert caught.value.offset is not None


@each_row(
    ("i32: 1, 900", r"caseOperands count \(2\) does not match with the total size \(901\)"),
    ("i32: 3, -1", "'case_operand_segments' attribute cannot have negative elements"),
    ("i64: 1, 1", "caseOperands count"),
    ("i32", r"caseOperands count \(2\) does not match with the total size \(0\)"),
)
def test_shares_of_a_switch_that_do_not_fit(shares: str, message: str) -> None:
    """As mlir-opt 22 says it, in text and in bytecode: no operand is dropped."""
    text = f"""
        "func.func"() <{{function_type = (i32, i32, i32) -> (), sym_name = "f"}}> ({{
        ^bb0(%a: i32, %b: i32, %c: i32):
          "cf.switch"(%a, %b, %c, %c)[^bb1, ^bb1, ^bb1] <{{case_operand_segments = array<{shares}>,
            case_values = dense<[1, 2]> : tensor<2xi32>, operandSegmentSizes = array<i32: 1, 1, 2>}}>
            : (i32, i32, i32, i32) -> ()
        ^bb1(%x: i32):
          "func.return"() : () -> ()
        }}) : () -> ()"""
    with pytest.raises(VerifyError, match=message):
        parse_module(text)
    unverified = parse_module(text, verify=False)
    with pytest.raises(VerifyError, match=message):
        read_bytecode(write_bytecode(unverified))


def test_an_attribute_in_two_places_is_an_error() -> None:
    module = parse_module("func.func @f() -> i32 { %0 = arith.constant 1 : i32 return %0 : i32 }")
    constant = module.body[0].regions[0].blocks[0].operations[0]
    constant.attributes["value"] = IntegerAttr(2, I32)
    with pytest.raises(BytecodeError, match="'value' is among the attributes, but belongs to the properties"):
        read_bytecode(write_bytecode(module))


@each_row(bytearray, memoryview, lambda data: memoryview(bytearray(data)), lambda data: memoryview(data).cast("c"))
def test_any_bytes_are_read(kind: Any) -> None:
    data = kind(write_bytecode(parse_module(ADD, "f")))
    for module in (hu.load(data), hu.read_bytecode(data)):
        assert full(module) == full(parse_module(ADD, "f"))
    if isinstance(data, bytearray):
        data[:] = bytes(len(data))
        assert full(module) == full(parse_module(ADD, "f"))


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_attributes(name: str) -> None:
    attributes, types, chosen, message = REFUSED[name]
    data = holding(attributes, types, chosen)
    with pytest.raises(BytecodeError, match=message) as caught:
        read_bytecode(data, "bad.mlirbc")
    assert caught.value.offset is not None
    assert 0 <= caught.value.offset <= len(data)
    assert str(caught.value).startswith("bad.mlirbc: error: ")
    assert str(caught.value).endswith(f"(at byte {caught.value.offset})")


def chain(first: int, base: int, length: int) -> list[bytes]:
    """Types from number ``first`` on, each a tuple of the one before it, twice; the first one of type ``base``."""
    inner = [base, *range(first, first + length - 1)]
    return [varint(15) + varint(2) + varint(number) * 2 for number in inner]


def tree(operator: int, leaves: list[bytes]) -> bytes:
    """Return an affine map of one expression with the leaves in balance, all of one dimension."""
    while len(leaves) > 1:
        leaves = [varint(operator) + one + other for one, other in zip(leaves[::2], leaves[1::2], strict=True)]
    return varint(23) + varint(1 << 2 | 3) + varint(0) + varint(1) + leaves[0]


def constant(value: int) -> bytes:
    """Return an affine expression."""
    return varint(2) + varint(zigzag(value))


def identity(rank: int) -> bytes:
    return varint(23) + varint(rank << 2)


def blocks(axis: int) -> bytes:
    """Bytes in blocks, with the scales and zero points of attributes 2 and 3."""
    signed, storage, expressed, axes, sizes, scales, points = 1, 0, 1, (1, 2 * axis), (1, 2), 2, 3
    numbers = (6, signed, storage, expressed, zigzag(-128), zigzag(127), *axes, *sizes, scales, points)
    return b"".join(map(varint, numbers))


# Floats and integers of a shape, all alike, for `blocks`.
F32, SPLATS = varint(5), [dense(2, struct.pack("<f", 1.0)), dense(3, b"\0")]
MERSENNE = (1 << 61) - 1
# Shapes that Python hashes alike.
ALIKE = list(itertools.islice(itertools.product((3, 3 + MERSENNE, 3 + 2 * MERSENNE), repeat=7), 1000))
DIMENSION = varint(0) + varint(0)
TOO_DEEP = "an affine expression is nested more than 200 deep"
TOO_MANY = r"more than \d+ objects that take no byte of it"

COSTLY: dict[str, tuple[list[bytes], list[bytes], list[bytes], str]] = {
    "identity maps": ([identity(4096)] * 200, [], [], TOO_MANY),
    "identity maps that differ": ([identity(3000 + number) for number in range(1000)], [], [], TOO_MANY),
    "names of symbols": ([varint(24) + varint(4096) * 2 + varint(0)] * 200, [], [], TOO_MANY),
    "elements without a byte": ([dense(1, b"")] * 20, [I0, tensor([1 << 16])], [], TOO_MANY),
    "scales alike": (
        SPLATS,
        [I8, F32, tensor([1 << 16], 1), tensor([1 << 16])],
        [blocks(axis) for axis in range(20)],
        TOO_MANY,
    ),
    "2^60 scales": (SPLATS, [I8, F32, tensor([1 << 60], 1), tensor([1 << 60])], [blocks(0)], TOO_MANY),
    "hashes alike": ([UNIT], [I8, *(tensor(list(shape)) for shape in ALIKE)], [], TOO_MANY),
    "a wide sum": ([tree(3, [varint(5) + DIMENSION + constant(number) for number in range(3, 259)])], [], [], TOO_DEEP),
    "a wide product": ([tree(4, [constant((1 << 62) + 1)] * 256)], [], [], TOO_DEEP),
}  # fmt: skip


@pytest.mark.parametrize("name", thinned(COSTLY, 2))
def test_small_files_that_stand_for_much(name: str) -> None:
    attributes, types, quantized, message = COSTLY[name]
    data = holding(attributes, types, 2, quantized)
    start = time.process_time()
    with pytest.raises(BytecodeError, match=message) as caught:
        read_bytecode(data, schema=Schema.LLVM24)
    assert time.process_time() - start < 20  # what they stand for would take hours
    assert caught.value.offset is not None
    assert 0 < caught.value.offset <= len(data)


def test_affine_expressions_as_deep_as_in_text_are_read() -> None:
    terms = " + ".join(f"d0 mod {number}" for number in range(2, 202))
    module = parse_module(f"module attributes {{t.a = affine_map<(d0) -> ({terms})>}} {{}}")
    assert full(read_bytecode(write_bytecode(module, schema=Schema.LLVM24))) == full(module)


def of_one_dictionary(ops: int, entries: int) -> bytes:
    keys = [b"k%d" % number for number in range(entries)]
    values = b"".join(varint(3 + number) + varint(2) for number in range(entries))
    names = [varint(2) + varint(6 + number) for number in range(entries)]
    attributes = [UNIT, *names, varint(1) + varint(entries) + values]
    return holding(attributes, [], 2, names=keys, ops=ops, dictionary=3 + entries)


@pytest.mark.long
def test_a_dictionary_that_many_ops_share() -> None:
    module = read_bytecode(of_one_dictionary(40_000, 20))
    ops = module.operation.regions[0].blocks[0].operations
    assert len(ops) == 40_000
    assert ops[0].attributes == ops[-1].attributes
    assert ops[0].attributes is not ops[-1].attributes
    with pytest.raises(BytecodeError, match=TOO_MANY):
        read_bytecode(of_one_dictionary(6_000, 400))


def test_what_is_equal_is_one_object() -> None:
    # Written out, each type is 2^14 others, twice.
    types = [I8, *chain(1, 0, 14), I8, *chain(16, 15, 14)]
    distinct = varint(21) + varint(7)
    attributes = [array(3, 4, 5, 6), varint(6) + varint(14), varint(6) + varint(29), distinct, distinct, UNIT]
    held = read_bytecode(holding(attributes, types, 2)).operation.attributes["t.a"]
    assert isinstance(held, ArrayAttr)
    one, other, first, second = held.elements
    assert one is other
    assert isinstance(one, at.TypeAttr)
    # But for what is to be distinct.
    assert first != second


KEPT = {
    "splat of 2^60 elements": ([dense(1, b"\5")], [I8, tensor([1 << 60])], "dense<5> : tensor<1152921504606846976xi8>"),
    "truth of 2^60": ([dense(1, b"\xff")], [I1, tensor([1 << 60])], "dense<true> : tensor<1152921504606846976xi1>"),
    "strings alike": (
        [varint(19) + varint(1) + varint(1) + varint(2)],
        [I8, tensor([1 << 60])],
        'dense<"t.a"> : tensor<1152921504606846976xi8>',
    ),
    "the widest integer": ([varint(8) + varint(0) + varint(1) + varint(10)], [WIDEST], "5 : i16777215"),
    "as deep as text": ([UNIT, *(array(n) for n in range(2, MAX_NESTING))], [], "[" * (MAX_NESTING - 2) + "unit"),
}


@pytest.mark.parametrize("name", KEPT)
def test_large_meanings_of_small_files(name: str) -> None:
    attributes, types, text = KEPT[name]
    module = read_bytecode(holding(attributes, types, 1 + len(attributes)))
    assert f"{{t.a = {text}" in print_module(module)
    splat = module.operation.attributes["t.a"]
    assert not isinstance(splat, at.DenseElementsAttr) or splat.codes.size == 1


RECORDED = next(file for file in recorded_files() if file.version == 6 and file.tool == "mlir-opt 22")


def test_every_truncation_is_an_error() -> None:
    for file in (RECORDED, max(recorded_files(), key=lambda file: len(file.data))):
        for size in range(len(file.data)):
            with pytest.raises(BytecodeError) as caught:
                read_bytecode(file.data[:size])
            assert caught.value.offset is not None
            assert caught.value.offset <= size


@each_row(
    (b"", "not MLIR bytecode: it does not begin with 4D 4C EF 52"),
    (b"module {}", "not MLIR bytecode"),
    (MAGIC, "unexpected end of the section in an integer"),
    (MAGIC + varint(7), "version 7 is not supported: the newest is 6"),
    (MAGIC + b"\0" + struct.pack("<Q", 2**64 - 1), "version 18446744073709551615 is not supported: the newest is 6"),
    (MAGIC + varint(6) + b"MLIR22", "a string does not end"),
    (MAGIC + varint(6) + b"MLIR22\0", "the section STRING is missing"),
    (MAGIC + varint(6) + b"MLIR22\0" + bytes((9, 1)), "unknown section 9"),
    (MAGIC + varint(6) + b"MLIR22\0" + bytes((0, 0xFF)), "127 bytes are needed, but only 0 are left"),
    (MAGIC + varint(6) + b"MLIR22\0" + section(0, varint(0)) * 2, "the section STRING occurs twice"),
    (MAGIC + varint(6) + b"MLIR22\0" + section(0, varint(1) + varint(2) + b"ab"), "a string does not end"),
    (MAGIC + varint(6) + b"MLIR22\0\x80" + varint(0) + varint(3), "alignment 3 is not a power of two"),
)
def test_broken_containers(data: bytes, message: str) -> None:
    with pytest.raises(BytecodeError, match=message):
        read_bytecode(data)


def test_regions_are_as_deep_as_in_text() -> None:
    module = parse_module('"t.x"() : () -> ()')
    inner = module.body[0]
    from halfulp.interp.ir.operations import Block, Operation, Region

    for _ in range(2 * MAX_NESTING):
        block = Block()
        block.append(inner)
        inner = Operation("t.r", regions=[Region([block])])
    module.operation.regions[0].blocks[0].operations = []
    module.operation.regions[0].blocks[0].append(inner)
    with pytest.raises(BytecodeError, match=f"regions are nested more than {MAX_NESTING} deep"):
        read_bytecode(write_bytecode(module))


def test_broken_rules_are_told_at_the_place_of_the_text() -> None:
    wrong = 'func.func @f(%a: i32) -> i64 {\n  "func.return"(%a) : (i32) -> ()\n}'
    data = write_bytecode(parse_module(wrong, "in.mlir", verify=False))
    with pytest.raises(VerifyError) as caught:
        read_bytecode(data, "f.mlirbc")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("in.mlir:2:3: error: ")
    assert lines[-1] == "note: the module was read from f.mlirbc"


# --- inspecting -------------------------------------------------------------------------------------------------------


def test_what_is_in_a_file() -> None:
    data = write_bytecode(parse_module(ADD, "in.mlir"))
    summary = inspect(data)
    assert (summary.size, summary.version, summary.schema) == (len(data), 6, Schema.MLIR22)
    assert summary.sections[0][0] == "DIALECT"
    for _, offset, size in summary.sections:
        assert 0 < offset <= offset + size <= len(data)
    assert summary.ops == {"builtin.module": 1, "func.func": 1, "arith.addf": 1, "func.return": 1}
    assert {dialect.name for dialect in summary.dialects} == {"builtin", "func", "arith"}
    assert summary.problem is None


def test_what_cannot_be_read_is_inspected_as_far_as_it_goes() -> None:
    data = renamed(write_bytecode(parse_module(ADD)), b"MLIR24.0")
    summary = inspect(data, "f.mlirbc")
    assert summary.dialects
    assert isinstance(summary.problem, BytecodeError)
    assert str(summary.problem).startswith("f.mlirbc: error: properties of op 'arith.addf'")


def test_recorded_files_say_who_wrote_them() -> None:
    for file in recorded_files():
        summary = inspect(file.data)
        assert summary.version == file.version
        assert summary.schema is (Schema.MLIR22 if file.tool == "mlir-opt 22" else Schema.LLVM24)
        assert summary.problem is None
