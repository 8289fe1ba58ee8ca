"""Bytecode that halfulp writes: the bytes of mlir-opt 22 and iree-opt, and the same module when it is read again."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import PATIENCE
from corpora.bytecode_files import BytecodeFile, emit, recorded_files, valid_entries
from corpora.corpus import CorpusEntry, entries, recorded
from tables import each_row
from tree import ROOT

from halfulp.interp.bytecode.encoding import MAX_VERSION, ByteCursor, Emitter, Section, varint
from halfulp.interp.bytecode.index import Container, schema_of
from halfulp.interp.bytecode.numbering import layout_of, map_order, read_segments, segments_of
from halfulp.interp.bytecode.writer import PRODUCERS, write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Blob, Block, Module, Operation, Region
from halfulp.interp.ir.types import I32
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.printer import print_module

VERSIONS = range(MAX_VERSION + 1)
MLIR22 = "MLIR22.1.8"
PROPERTIES = json.loads((ROOT / "tests" / "data" / "op_properties_mlir22.json").read_text())["ops"]
MLIR_OPT = os.environ.get("HALFULP_MLIR_OPT", "mlir-opt-22")

TEXTS = {entry.name: entry.text for entry in entries()}


def parsed(name: str, schema: Schema = Schema.MLIR22) -> Module:
    return parse_module(TEXTS[name], "<stdin>", schema=schema)


def holds_raw_properties(module: Module) -> bool:
    return any(op.raw_properties is not None for op in module.walk())


def identify(file: BytecodeFile) -> str:
    return f"{file.entry}-{file.tool}-{file.version}"


# --- the bytes of real tools ------------------------------------------------------------------------------------------


@each_row(*recorded_files())
def test_recorded_files_are_written_byte_for_byte(file: BytecodeFile) -> None:
    producer = Container(file.data).producer
    schema = schema_of(producer)
    assert schema is not None
    if file.version < 5 and holds_raw_properties(parsed(file.entry, schema)):
        # mlir-opt leaves these out, without a word.
        with pytest.raises(Unsupported):
            write_bytecode(parsed(file.entry, schema), file.version, schema, producer)
    else:
        assert write_bytecode(parsed(file.entry, schema), file.version, schema, producer) == file.data
    assert write_bytecode(read_bytecode(file.data), file.version, schema, producer) == file.data


def test_the_recorded_files_are_of_both_schemas_and_every_version() -> None:
    assert {(file.tool, file.version) for file in recorded_files()} >= {("iree-opt", 6)} | {
        ("mlir-opt 22", version) for version in VERSIONS
    }


def check_bytes(entry: CorpusEntry, version: int) -> None:
    if version < 5 and holds_raw_properties(parsed(entry.name)):
        with pytest.raises(Unsupported, match=f"bytecode version {version} cannot hold"):
            write_bytecode(parsed(entry.name), version)
        return
    real = emit(MLIR_OPT, entry.text, version)
    assert write_bytecode(parsed(entry.name), version, producer=MLIR22) == real, entry.name
    assert write_bytecode(read_bytecode(real), version, producer=MLIR22) == real, entry.name


def check_reading(entry: CorpusEntry, version: int, mlir_opt: Any, folder: Path) -> None:
    """mlir-opt reads what is written as the module it reads from the text."""
    if version < 5 and holds_raw_properties(parsed(entry.name)):
        return
    file = folder / "module.mlirbc"
    file.write_bytes(write_bytecode(parsed(entry.name), version))
    read = mlir_opt("", "--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-debuginfo", str(file))
    assert read == recorded()[entry.name].printed["generic_debug"], entry.name


SAMPLE = [(entry, 6 - index % 7 if index % 2 else 6) for index, entry in enumerate(valid_entries()[::12])]
ALL = [(entry, version) for entry in valid_entries() for version in VERSIONS]


@pytest.mark.mlir
def test_a_part_of_the_corpus_is_written_as_mlir_opt_does() -> None:
    assert len(SAMPLE) > 60
    for entry, version in SAMPLE:
        check_bytes(entry, version)


def test_mlir_opt_reads_what_is_written(mlir_opt: Any, tmp_path: Path) -> None:
    for entry, version in SAMPLE[1::3]:
        check_reading(entry, version, mlir_opt, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", VERSIONS)
def test_the_corpus_is_written_as_mlir_opt_does_and_read_by_it(version: int, mlir_opt: Any, tmp_path: Path) -> None:
    assert len(valid_entries()) > 800
    for entry in valid_entries():
        check_bytes(entry, version)
        check_reading(entry, version, mlir_opt, tmp_path)


# Where newer MLIR reads the text otherwise, so that its bytecode is another too.
NEWER_TEXT = {
    "attributes/float.mlir#32": "decimals are rounded to f80 at once, not through f64",
    "attributes/float.mlir#34": "decimals are rounded to f128 at once, not through f64",
    "attributes/float.mlir#39": "decimals are rounded at once, not through f64",
    "newer/func.mlir#0": "iree-opt takes dlti in a text for an attribute, and drops the property of that name",
}

# Where the properties of an op were others in the MLIR of iree-opt than they are in MLIR 24 as torch-mlir has it.
NEWER_PROPERTIES = frozenset(("newer/affine.mlir#0",))


def generic(tool: str, data: bytes) -> bytes | None:
    """Return the generic form that an mlir-opt prints for text or bytecode; None where it rejects it."""
    command = [tool, "--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-debuginfo"]
    done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=PATIENCE)
    return None if done.returncode else done.stdout


def check_iree(entry: CorpusEntry, version: int, tool: str) -> None:
    expected = generic(tool, entry.text.encode())
    if expected is None:
        # Ops and rules have changed.
        return
    module = parsed(entry.name, Schema.LLVM24)
    if version >= 5 or not holds_raw_properties(module):
        read = generic(tool, write_bytecode(module, version, Schema.LLVM24))
        other = entry.name in NEWER_TEXT or (version >= 5 and entry.name in NEWER_PROPERTIES)
        assert (read == expected) == (not other), entry.name


def test_iree_opt_reads_what_is_written(iree_opt: str) -> None:
    newer = [entry for entry in entries() if entry.newer]
    assert len(newer) > 10
    for index, entry in enumerate((*newer[::2], *valid_entries()[::120])):
        check_iree(entry, 4 if index % 4 == 3 else 6, iree_opt)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [4, 6])
def test_iree_opt_reads_the_corpus_as_it_is_written(version: int, iree_opt: str) -> None:
    for entry in (*(entry for entry in entries() if entry.newer), *valid_entries()):
        check_iree(entry, version, iree_opt)


# --- made up modules --------------------------------------------------------------------------------------------------

TYPES = ("i32", "f32", "index", "f8E4M3FN", "!foo.t", "tensor<4xi8>", "i64", "bf16")
ATTRIBUTES = (
    *("1 : i32", '"s"', "[1, 2]", "#foo.a<1>", "dense<1> : tensor<2xi8>", "@sym", "unit", "affine_map<(d0) -> (d0)>"),
    *("1.0 : f32", "{x = 1 : i8}", "i32", 'loc("f":1:2)', "#arith.fastmath<nnan>", "array<i32: 1, 2>"),
    *(f"dense_resource<{key}> : tensor<4xi8>" for key in ("r1", "r2", "declared_only")),
)
RESOURCES = """{-#
  dialect_resources: {builtin: {unused: "0x0400000001020304", r2: "0x4000000001020304", r1: "0x0400000005060708"}},
  external_resources: {tool: {a: true, b: "text", c: "0x10000000FFEE"}, other: {}}
#-}
"""


class Maker:
    """Ops of dialects nobody knows in nested regions, which use values from all around, before and after they are
    defined: what decides about isolation, the numbers of values and the orders of uses.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0

    def module(self) -> str:
        body = self.region(0, [])
        resources = RESOURCES if self.rng.random() < 0.6 else ""
        return f'"builtin.module"() ({{\n"t.top"() ({{\n{body}}}) : () -> ()\n}}) : () -> ()\n{resources}'

    def values(self, counts: tuple[int, ...], types: tuple[str, ...]) -> tuple[str, list[str]]:
        self.count += 1
        return f"%v{self.count}", [self.rng.choice(types) for _ in range(self.rng.choice(counts))]

    def region(self, depth: int, around: list[tuple[str, str]]) -> str:
        rng = self.rng
        blocks = []
        inside: list[tuple[str, str]] = []
        for number in range(rng.choice((1, 1, 1, 2))):
            arguments = [
                (f"{name}_{at}", type)
                for name, types in [self.values((0, 0, 1, 3), TYPES)]
                for at, type in enumerate(types)
            ]
            ops = [
                self.values((0, 1, 1, 2, 5, rng.choice((1,) * 20 + (70,))), TYPES[:3])
                for _ in range(rng.randint(1, 9 - 2 * depth))
            ]
            blocks.append((f"^bb{depth}_{number}", arguments, ops))
            inside += arguments
            inside += [
                (f"{name}#{at}" if len(types) > 1 else name, type)
                for name, types in ops
                for at, type in enumerate(types)
            ]
        lines = []
        for label, arguments, ops in blocks:
            if arguments or label[-1] != "0":
                lines.append(
                    f"{label}({', '.join(f'{name}: {type}' for name, type in arguments)}):"
                    if arguments
                    else f"{label}:"
                )
            for number, (name, types) in enumerate(ops):
                last = number == len(ops) - 1
                targets = [block for block, needed, _ in blocks[1:] if last and not needed]
                lines.append(self.op(name, types, around + inside, depth, targets))
        return "".join(f"{line}\n" for line in lines)

    def op(self, name: str, types: list[str], known: list[tuple[str, str]], depth: int, targets: list[str]) -> str:
        rng = self.rng
        near = known[-12:] if rng.random() < 0.7 else known
        operands = [rng.choice(near) for _ in range(rng.randint(0, 3))] if near else []
        inner = known if rng.random() < 0.6 else []
        regions = [
            f"{{\n{self.region(depth + 1, inner)}}}" for _ in range(rng.choice((0, 0, 0, 1, 2)) if depth < 3 else 0)
        ]
        attributes = [f"k{at} = {rng.choice(ATTRIBUTES)}" for at in range(rng.choice((0, 0, 1, 3)))]
        bound = f"{name}{f':{len(types)}' if len(types) > 1 else ''} = " if types else ""
        return " ".join(
            (
                f'{bound}"{rng.choice(("t.a", "t.b", "u.c", "foo.d"))}"({", ".join(name for name, _ in operands)})',
                f"[{rng.choice(targets)}]" if targets else "",
                f"({', '.join(regions)})" if regions else "",
                f"{{{', '.join(attributes)}}}" if attributes else "",
                f": ({', '.join(type for _, type in operands)}) -> ({', '.join(types)})",
            )
        )


def check_made(seed: int) -> None:
    text = Maker(seed).module()
    version = (6, 5, 3, 0)[seed % 4]
    # Uses before definitions in the regions of unknown ops are no valid IR, but show more.
    real = emit(MLIR_OPT, text, version, ["--mlir-very-unsafe-disable-verifier-on-parsing"])
    assert write_bytecode(parse_module(text, "<stdin>", verify=False), version, producer=MLIR22) == real, seed
    assert write_bytecode(read_bytecode(real, verify=False), version, producer=MLIR22) == real, seed


@pytest.mark.mlir
def test_made_up_modules_are_written_as_mlir_opt_does() -> None:
    for seed in range(24):
        check_made(seed)


@pytest.mark.exhaustive
@pytest.mark.mlir
@pytest.mark.parametrize("part", range(10))
def test_many_made_up_modules_are_written_as_mlir_opt_does(part: int) -> None:
    for seed in range(200 * part, 200 * part + 200):
        check_made(seed)


@pytest.mark.mlir
def test_numbers_of_three_bytes_are_grouped_by_dialect_as_mlir_opt_does() -> None:
    """More than 16,512 attributes: the second and the third run of numbers that take as many bytes."""
    rng = random.Random(1)
    lines = []
    for number in range(7000):
        value = rng.choice(
            (f"#foo.a<{number}>", f"{number} : i32", f'"s{number}"', f"#bar.b<{number}>", f"{number % 20} : i64")
        )
        type = f"!{rng.choice('pq')}.x<{rng.randrange(400)}>"
        lines.append(
            f'"{rng.choice("tuw")}.op{rng.randrange(300)}"() {{a = {value}, n{number % 9} = {type}}} : () -> ()\n'
        )
    text = "".join(lines)
    assert write_bytecode(parse_module(text, "<stdin>"), producer=MLIR22) == emit(MLIR_OPT, text)


def test_maps_of_llvm_give_their_keys_back_in_the_order_of_buckets() -> None:
    """37 times the key modulo a power of two: so the orders of uses of an op with many results stand."""
    assert map_order([0, 1, 2]) == [0, 2, 1]  # buckets 0, 37, 10 of 64
    assert map_order([0, 1, 2, 7]) == [0, 7, 2, 1]  # 7 * 37 = 259 = 4 * 64 + 3
    assert map_order([0, 64]) == [0, 64]  # both in bucket 0: the second moves on by one
    assert sorted(map_order(list(range(200)))) == list(range(200))


@pytest.mark.mlir
@pytest.mark.parametrize("results", [2, 47, 48, 49, 100, 200])
def test_orders_of_uses_of_many_results_stand_as_mlir_opt_writes_them(results: int) -> None:
    """Every result is used twice before it is defined. A table of 64 buckets is doubled when it holds 48."""
    operands = ", ".join(f"%r#{number}" for number in range(results))
    types = ", ".join(["i32"] * results)
    use = f'"t.use"({operands}) : ({types}) -> ()\n'
    text = f'{use}{use}%r:{results} = "t.make"() : () -> ({types})\n'
    assert write_bytecode(parse_module(text, "<stdin>"), producer=MLIR22) == emit(MLIR_OPT, text)


# --- properties -------------------------------------------------------------------------------------------------------


@each_row(*sorted(PROPERTIES))
def test_properties_are_laid_out_as_mlir_lays_them_out(name: str) -> None:
    definition = default_registry().find(name)
    assert definition is not None
    rows = PROPERTIES[name]
    old = [(row[1:], row[0] == "!") for row in rows if row != "S"]
    assert layout_of(definition, Schema.MLIR22, 5)[:2] == (tuple(old), ())
    fields, segments, flags, numbers = layout_of(definition, Schema.MLIR22, 6)
    assert not flags
    assert not numbers
    assert list(fields) == [row for row in old if row[0] != SEGMENTS]
    assert segments == (((SEGMENTS, len(definition.operands)),) if "S" in rows else ())


NOT_IN_MLIR: frozenset[str] = frozenset()
"""Ops of these dialects that MLIR 22 does not have, so that nothing can be recorded."""


@pytest.mark.added
def test_every_op_is_among_those_recorded() -> None:
    """The properties of affine, complex, index, most of linalg, shape and ub are in recorded files only."""
    recorded = {name.partition(".")[0] for name in PROPERTIES} - {"linalg"}
    known = {
        name
        for dialect in map(default_registry().dialects.__getitem__, recorded)
        for name, op in dialect.ops.items()
        if op.since <= Schema.MLIR22
    }
    assert known - NOT_IN_MLIR == {name for name in PROPERTIES if not name.startswith("linalg.")}, (
        "write the properties of the op, as MLIR lays them out, into tests/data/op_properties_mlir22.json; "
        "an op that MLIR does not have belongs to NOT_IN_MLIR here"
    )


@each_row(
    ((), [0 << 1 | 1]),
    ((0,), [0 << 1 | 1]),
    ((3,), [1 << 1, 3]),
    ((1, 1), [2 << 1, 1, 1]),
    ((1, 0), [1 << 1 | 1, 0, 1]),
    ((0, 2), [1 << 1 | 1, 1, 2 << 1 | 1]),
    ((1, 0, 2), [3 << 1, 1, 0, 2]),
    ((0, 0, 2, 1), [2 << 1 | 1, 2, 2 << 2 | 2, 1 << 2 | 3]),
    ((0, 0, 0, 0, 5), [1 << 1 | 1, 3, 5 << 3 | 4]),
    ((0,) * 257 + (1,), [258 << 1, *(0,) * 257, 1]),
)
def test_numbers_of_operands_leave_zeros_out_where_most_are(sizes: tuple[int, ...], written: list[int]) -> None:
    attribute = at.DenseArrayAttr(I32, sizes)
    assert segments_of(attribute) == b"".join(varint(value) for value in written)
    assert read_segments(ByteCursor(segments_of(attribute)), len(sizes)) == attribute


# --- what is in a file --------------------------------------------------------------------------------------------------


def test_a_name_of_the_schema_is_the_producer_by_default() -> None:
    module = parse_module("module {}")
    for schema, producer in PRODUCERS.items():
        data = write_bytecode(module, schema=schema)
        assert Container(data).producer == producer
        assert schema_of(producer) is schema
    assert Container(write_bytecode(module, producer="a tool")).producer == "a tool"
    assert Container(write_bytecode(module)).version == MAX_VERSION


def test_each_schema_has_its_own_codes_and_properties() -> None:
    text = "func.func @f(%a: f8E4M3FN) -> f8E4M3FN {\n  %0 = arith.addf %a, %a : f8E4M3FN\n  return %0 : f8E4M3FN\n}\n"
    old, new = (write_bytecode(parse_module(text), schema=schema) for schema in Schema)
    assert b"f8E4M3FN\0" in old
    assert b"f8E4M3FN" not in new
    assert print_module(read_bytecode(old)) == print_module(read_bytecode(new)) == print_module(parse_module(text))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_schema_does_not_have_is_refused(version: int) -> None:
    module = parse_module(
        "func.func @f(%a: f32) -> f32 {\n  %0 = arith.addf %a, %a upward : f32\n  return %0 : f32\n}\n", "f.mlir"
    )
    with pytest.raises(Unsupported, match=r"the property 'roundingmode' of 'arith.addf' does not exist") as caught:
        write_bytecode(module, version)
    assert str(caught.value.location) == '"f.mlir":2:8'
    data = write_bytecode(module, version, Schema.LLVM24)
    assert print_module(read_bytecode(data)) == print_module(module)


@pytest.mark.parametrize("version", [-1, 7, 100])
def test_only_versions_that_exist_are_written(version: int) -> None:
    with pytest.raises(InputError, match=f"bytecode version {version} does not exist: it must be from 0 to 6"):
        write_bytecode(parse_module("module {}"), version)


def test_a_producer_may_not_end_within() -> None:
    with pytest.raises(InputError, match="has a zero byte"):
        write_bytecode(parse_module("module {}"), producer="a\0b")


def test_old_versions_cannot_hold_the_properties_of_unknown_ops() -> None:
    """mlir-opt writes the file without them."""
    module = parse_module('"keep.a"() : () -> ()\n"keep.b"() <{a = 1}> : () -> ()\n', "f.mlir")
    for version in range(5):
        with pytest.raises(Unsupported, match=f"version {version} cannot hold the properties") as caught:
            write_bytecode(module, version)
        assert (caught.value.op, str(caught.value.location)) == ("keep.b", '"f.mlir":2:1')
    assert print_module(read_bytecode(write_bytecode(module, 5))) == print_module(module)


def test_a_required_property_that_is_missing_is_an_error() -> None:
    module = parse_module("func.func private @f()")
    del module.body[0].properties["function_type"]
    with pytest.raises(Unsupported, match="'func.func' has no 'function_type'"):
        write_bytecode(module)


def test_a_section_says_its_alignment_only_where_it_would_not_lie_right() -> None:
    content = Emitter()
    content.align(8)
    content.data += b"12345678"
    for before in range(16):
        file = Emitter()
        file.data += bytes(before)
        file.section(Section.RESOURCE, content)
        number, found = ByteCursor(bytes(file.data), before).section()
        assert (number, bytes(found.take(8))) == (Section.RESOURCE, b"12345678")
        assert (found.pos - 8) % 8 == 0
        assert bool(file.data[before] & 0x80) == (before % 8 != 6)


@pytest.mark.parametrize("alignment", [1, 4, 64, 4096])
def test_blobs_lie_where_they_are_aligned(alignment: int) -> None:
    attribute = '"keep.r"() {a = dense_resource<r> : tensor<7xi8>, b = dense_resource<none> : tensor<7xi8>} : () -> ()'
    module = parse_module(attribute)
    module.resources.dialect["builtin"] = {"r": Blob(b"!first!", alignment), "unused": Blob(b"\4", 1)}
    module.resources.external["tool"] = {"yes": True, "text": "abc", "blob": Blob(b"!second!", alignment)}
    data = write_bytecode(module)
    assert data.index(b"!first!") % alignment == data.index(b"!second!") % alignment == 0
    read = read_bytecode(data).resources
    assert list(read.dialect["builtin"]) == ["r"]
    assert read.blob("r") == b"!first!"
    assert read.external["tool"]["yes"] is True
    assert read.external["tool"]["text"] == "abc"
    assert write_bytecode(read_bytecode(data)) == data


def test_an_order_of_uses_that_fits_no_more_is_left_out() -> None:
    """Of a module that was read and then changed."""
    text = '"t.a"(%r, %r) : (i32, i32) -> ()\n"t.b"(%r) : (i32) -> ()\n%r = "t.make"() : () -> i32\n'
    module = read_bytecode(write_bytecode(parse_module(text)))
    assert module.use_orders
    module.body[0].operands.pop()
    plain = read_bytecode(write_bytecode(module))
    assert not plain.use_orders
    assert print_module(plain) == print_module(module)


@pytest.mark.long
def test_the_same_bytes_come_whatever_the_hashes_of_strings() -> None:
    program = (
        "import sys; from halfulp.interp.bytecode.writer import write_bytecode;"
        "from halfulp.interp.loading import parse_module;"
        "sys.stdout.buffer.write(write_bytecode(parse_module(sys.stdin.read())))"
    )
    text = "".join(TEXTS[name] for name in ("attributes/dictionary.mlir#1", "attributes/array.mlir#1"))
    made = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=text.encode(),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1


def nested(depth: int) -> Module:
    module = parse_module("module {}")
    body = module.operation.regions[0].blocks[0]
    for _ in range(depth):
        inner = Block()
        body.append(Operation("keep.nest", regions=[Region([inner])]))
        body = inner
    return module


def test_ops_may_be_nested_as_deep_as_they_like() -> None:
    again = read_bytecode(write_bytecode(nested(90)))
    assert sum(op.name == "keep.nest" for op in again.walk()) == 90
    # Deeper than Python's stack, and than the reader allows.
    assert len(write_bytecode(nested(3000))) > 3000 * 6


def test_attributes_that_are_nested_too_deep_are_an_error() -> None:
    attribute: at.Attribute = at.UnitAttr()
    for _ in range(5000):
        attribute = at.ArrayAttr((attribute,))
    module = parse_module("module {}")
    module.body.append(Operation("keep.deep", attributes={"a": attribute}))
    for schema in Schema:
        with pytest.raises(LimitExceeded, match="nested too deep"):
            write_bytecode(module, schema=schema)
