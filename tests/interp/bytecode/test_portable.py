"""Portable artifacts of StableHLO: read, written and run, in every version; and the files of jax.export around them."""

import hashlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora.fuzz_bytecode import artifacts, mutant
from corpora.fuzz_bytecode import check as check_damaged
from stablehlo_reference import Reference
from tree import ROOT

import halfulp as hu
from halfulp.command import main as cli
from halfulp.interp.bytecode.encoding import ByteCursor
from halfulp.interp.bytecode.exported import artifact_in
from halfulp.interp.bytecode.index import Container
from halfulp.interp.bytecode.inspect import inspect
from halfulp.interp.bytecode.vhlo_codes import FIELDS, vhlo_type
from halfulp.interp.ir.errors import BytecodeError, InputError, Unsupported

EVERY = (ROOT / "tests" / "data" / "stablehlo" / "every_op.mlir").read_text(encoding="utf-8")
# What StableHLO 1.17 of jaxlib 0.10.2 writes. Newer StableHLO writes a broadcast for it with an order of uses.
WRITTEN = {
    "1.10.0": "59c2311cf83a60c75e3c096c040ef85a72ff405ef14ae896bf7d045a2a070635",
    "1.13.0": "fb833c8dc6d09809ac9009187c5311d58c1ccf37a7ae999a0e18cf8e34654147",
    "1.15.0": "54e8b03a79e24bdcee104ce452e87c1e3b450116eb034574c32c803249bd184a",
    "1.17.0": "e843b9d6972bad95c4938bedaa51cf4cae48969a8aface72bee7ae2b164b4d1a",
}
OLD = """module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<2xi32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.exponential %arg0 : tensor<2x3xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %2 = "stablehlo.gather"(%arg0, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    return %1, %2 : tensor<2x4xf32>, tensor<2x3xf32>
  }
}
"""
VERSIONS = [f"{major}.{minor}.0" for major, minors in ((0, range(9, 21)), (1, range(21))) for minor in minors]


def function(body: str, arguments: str = "%a: tensor<4xf32>") -> hu.Module:
    return hu.parse(f"func.func @main({arguments}) {{ {body} return }}")


def exported(artifact: bytes, field: int = 13) -> bytes:
    """Return a FlatBuffer whose root table has one vector of bytes."""
    fields = field + 1
    places = struct.pack("<HH", 4 + 2 * fields, 8) + bytes(2 * field) + struct.pack("<H", 4)
    table = 4 + len(places)
    return struct.pack("<I", table) + places + struct.pack("<iII", len(places), 4, len(artifact)) + artifact


def test_every_op_is_printed_as_it_was_written() -> None:
    assert hu.print_module(hu.parse(EVERY)) == EVERY


@pytest.mark.jax
def test_stablehlo_prints_the_same() -> None:
    reference = Reference()
    assert reference.printed(EVERY) == EVERY
    reference.close()


@pytest.mark.parametrize("version", ["1.20.0", "1.18.0", "1.10.0"])
def test_every_op_survives(version: str) -> None:
    data = hu.write_portable(hu.parse(EVERY), version)
    assert hu.print_module(hu.load(data)) == EVERY
    assert Container(data).producer == f"StableHLO_v{version}"


@pytest.mark.parametrize("version", WRITTEN)
def test_the_bytes_are_those_that_stablehlo_writes(version: str) -> None:
    text = "".join(line for line in EVERY.splitlines(keepends=True) if "collective_broadcast" not in line)
    data = hu.write_portable(hu.parse(text), version, strip_debug_info=True)
    assert hashlib.sha256(data).hexdigest() == WRITTEN[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_written_and_read(version: str) -> None:
    data = hu.write_portable(hu.parse(OLD), version)
    assert hu.print_module(hu.load(data)) == OLD
    names = Container(data).strings
    number = tuple(map(int, version.split(".")))
    assert ("gather_v2" in names) is (number >= (1, 1, 0))
    assert ("dot_general_v2" in names) is (number >= (1, 6, 0))
    assert ("exponential_v2" in names) is (number >= (1, 9, 0))
    formats: dict[tuple[int, ...], int] = {
        (0, 9, 0): 0,
        (0, 10, 0): 1,
        (0, 11, 0): 1,
        (0, 12, 0): 3,
        (0, 13, 0): 3,
        (0, 14, 0): 4,
    }
    assert Container(data).version == formats.get(number, 6)


@pytest.mark.parametrize(
    ("body", "needed", "what"),
    [
        ("%0 = stablehlo.tan %a : tensor<4xf32>", "1.4.0", "'stablehlo.tan'"),
        ("%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf8E3M4>", "1.7.0", "tensor_v1<"),
        ("%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui2>", "1.2.0", "tensor_v1<"),
        (
            "%0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>",
            "1.3.0",
            "dictionary as backend_config",
        ),
        (
            '%0:2 = "stablehlo.all_gather"(%a, %a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : '
            "tensor<1x1xi64>}> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)",
            "1.5.0",
            "several operands",
        ),
        (
            "%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<mode = "
            "#stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>",
            "1.9.0",
            "'result_accuracy'",
        ),
    ],
)
def test_what_is_too_new_for_a_version_is_an_error(body: str, needed: str, what: str) -> None:
    module = function(body)
    before = VERSIONS[VERSIONS.index(needed) - 1]
    with pytest.raises(Unsupported) as caught:
        hu.write_portable(module, before)
    assert what in caught.value.message
    assert f"needs version {needed} of StableHLO, but the artifact is for {before}" in caught.value.message
    assert hu.print_module(hu.load(hu.write_portable(module, needed))) == hu.print_module(module)


@pytest.mark.parametrize("version", ["1.21.0", "0.8.0", "1.2", "new", ""])
def test_other_versions_are_an_error(version: str) -> None:
    with pytest.raises(InputError, match=r"version"):
        hu.write_portable(hu.parse(OLD), version)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("func.func @f(%x: f32) { %0 = arith.addf %x, %x : f32 return }", "'arith.addf'"),
        ("func.func @f(%x: i7) { return }", "type '(i7) -> ()'"),
        ("func.func @f() attributes {a = unit} { return }", "attribute unit"),
        ("func.func @f() attributes {no_inline} { return }", "'no_inline' of 'func.func'"),
    ],
)
def test_what_stablehlo_has_no_form_for_is_an_error(text: str, what: str) -> None:
    with pytest.raises(Unsupported) as caught:
        hu.write_portable(hu.parse(text))
    assert what in caught.value.message
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"\x05", [True, False, True]),
        (b"\1\0\1", [True, False, True]),
        (b"\xff\0\xff", [True, False, True]),
        (b"\xff", [True, True, True]),
        (b"\0", [False, False, False]),
    ],
)
def test_truth_values_of_a_bit_or_of_a_byte_each_are_read(data: bytes, values: list[bool]) -> None:
    class Source:
        cursor = ByteCursor(bytes((len(data) << 1 | 1,)) + data)

    read = FIELDS["tensor"].read(Source(), (vhlo_type("tensor_v1", (3,), vhlo_type("bool_v1"), None),))  # type: ignore[arg-type]
    assert read.array().tolist() == values


def test_a_newer_op_is_named() -> None:
    data = hu.write_portable(hu.parse(OLD), "1.20.0").replace(b"exponential_v2", b"exponential_v9")
    with pytest.raises(BytecodeError, match=r"op 'vhlo\.exponential_v9' of dialect 'vhlo' is unknown"):
        hu.load(data)


def test_what_jax_exports_is_loaded_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { %0 = stablehlo.add %a, %a : tensor<2xf32> return %0 : tensor<2xf32> }"
    path = tmp_path / "model.jaxexport"
    path.write_bytes(exported(hu.write_portable(hu.parse(text))))
    module = hu.load(path)
    assert hu.print_module(module) == hu.print_module(hu.parse(text))
    (result,) = hu.run(module, np.array([1, 2.5], np.float32))
    assert result.tolist() == [2.0, 5.0]
    assert cli.main(["run", str(path), "--input=2xf32=1 2.5"]) == 0
    assert "2xf32=2 5" in capsys.readouterr().out
    assert cli.main(["translate", str(path), "--emit-portable=1.0.0", "-o", str(tmp_path / "old")]) == 0
    assert (tmp_path / "old").read_bytes()[4:22] == b"\x0dStableHLO_v1.0.0\0"
    assert hu.print_module(hu.load(tmp_path / "old")) == hu.print_module(module)


def test_wrong_modules_and_versions_are_refused() -> None:
    module = hu.parse(OLD)
    for version in ("1.9", "01.9.0", "1.9.00", "\uff11.9.0", "0.8.0", "1.21.0", 1, None):
        with pytest.raises(hu.errors.InputError, match="of StableHLO is not"):
            hu.write_portable(module, version)  # type: ignore[arg-type]
    text: Any = OLD
    for write in (hu.write_portable, hu.write_bytecode):
        with pytest.raises(hu.TypeMismatch, match="takes a module, not str"):
            write(text)


def test_a_summary_counts_the_ops_of_an_artifact() -> None:
    summary = inspect(hu.write_portable(hu.parse(OLD)))
    assert summary.problem is None
    assert summary.ops["vhlo.gather_v2"] == 1
    assert {dialect.name for dialect in summary.dialects} == {"builtin", "vhlo"}


def test_other_data_is_not_taken_for_an_export() -> None:
    artifact = hu.write_portable(hu.parse(OLD))
    whole = exported(artifact)
    assert artifact_in(whole) == artifact
    assert artifact_in(exported(artifact, field=12)) is None
    assert artifact_in(exported(b"text")) is None
    for size in range(len(whole) - 1, 0, -97):
        assert artifact_in(whole[:size]) is None
    with pytest.raises(hu.errors.ParseError, match="cut short or damaged"):
        hu.load(whole[:-97])
    for data in (b"", b"func", b"\xff" * 40, bytes(40), whole[4:]):
        assert artifact_in(data) is None


@pytest.mark.parametrize("number", range(60))
def test_damaged_artifacts_are_rejected_in_our_words(number: int) -> None:
    outcome, problem = check_damaged(mutant(7, number, stablehlo=True))
    assert problem is None, (outcome, problem)


@pytest.mark.long
def test_undamaged_artifacts_are_accepted() -> None:
    assert len({Container(data).version for data in artifacts()}) == 5
    for data in artifacts():
        assert check_damaged(data) == ("accepted", None)


def test_the_module_that_is_written_stays_as_it_is() -> None:
    module = hu.parse(OLD)
    hu.write_portable(module, "0.9.0")
    assert hu.print_module(module) == OLD


def test_locations_are_kept_or_left_out() -> None:
    text = 'func.func @main() { %0 = stablehlo.constant dense<1> : tensor<i32> loc("here") return }'
    module = hu.parse(text)
    assert 'loc("here")' in hu.print_module(hu.load(hu.write_portable(module)), debug_info=True)
    stripped = hu.load(hu.write_portable(module, strip_debug_info=True))
    assert "here" not in hu.print_module(stripped, debug_info=True)
