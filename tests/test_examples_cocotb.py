"""examples/cocotb: its units pass their benches, and a bug that is planted in a unit is named."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from planted_devices import EXAMPLE, simulated

import halfulp as hu

pytestmark = pytest.mark.cocotb


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the examples in a folder of their own."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "cocotb"))


def planted(folder: Path, unit: str, old: str, new: str) -> None:
    source = (folder / f"{unit}.sv").read_text(encoding="utf-8")
    assert source.count(old) == 1
    (folder / f"{unit}.sv").write_text(source.replace(old, new), encoding="utf-8")


def test_the_unit_passes(folder: Path) -> None:
    log, code = simulated(folder, "bf16_fma", ROWS="1000")
    assert "TESTS=2 PASS=2 FAIL=0" in log, log
    assert "math.fma bf16, profile spec,nan_result=canonical: 1,000 rows, none differs" in log
    assert "hit so far:" in log
    assert "of 13824  basic types of the operands with both signs, crossed" in log
    assert code == 0


def test_the_tanh_unit_passes(folder: Path) -> None:
    """Some operands: all 65,536, with which the example runs by itself, take minutes."""
    log, code = simulated(folder, "bf16_tanh", ROWS="300")
    assert "TESTS=1 PASS=1 FAIL=0" in log, log
    assert "F2        8 of 8" in log
    assert code == 0


def test_a_planted_bug_is_named(folder: Path) -> None:
    planted(folder, "bf16_fma", "return {x[14:7] != 0, x[6:0]};", "return x[14:7] == 0 ? 8'd0 : {1'b1, x[6:0]};")
    log, code = simulated(folder, "bf16_fma", ROWS="500")
    assert "rows that differ are what denormals=flush_operands gives" in log, log
    assert "FAIL" in log
    assert code == 1


@pytest.mark.pyuvm
def test_the_bench_of_uvm(folder: Path) -> None:
    shutil.copytree(EXAMPLE.parent / "datapaths", folder.parent / "datapaths")
    log, code = simulated(folder, "multiply_add", ROWS="300")
    assert "@multiply_add: 300 rows, none differs" in log, log
    assert "V2        5 of 7" in log
    assert code == 0
    planted(folder, "multiply_add", " + 34'sd2048", "")
    log, code = simulated(folder, "multiply_add", ROWS="300")
    assert "rows that differ are what operand 0 in place of arith.addi in line 14 gives, as in all" in log, log
    assert code == 1


def whole(*values: Any) -> Any:
    """Return a row of parameters for the exhaustive run."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


E2M1 = {"EXPONENT": "2", "FRACTION": "1", "BIAS": "1", "HAS_NAN": "0"}
"""The parameters of mx_dot.sv for f4E2M1FN."""


@pytest.mark.parametrize(("element", "parameters"), [("e4m3", {}), whole("e2m1", E2M1)])
def test_the_dot_product_passes(folder: Path, element: str, parameters: dict[str, str]) -> None:
    log, code = simulated(folder, "mx_dot", parameters, ROWS="100", ELEMENT=element)
    assert "TESTS=2 PASS=2 FAIL=0" in log, log
    rule = f"mma.m1n1k32.f32.{element}.{element}.f32.ue8m0.block32, model custom:group=8,bits=26,cut=to_odd"
    assert f"{rule}: 790 rows, none differs" in log
    assert f"{rule}: 100 rows, none differs" in log
    assert code == 0


STICKY = ("kept[0] | lost", "kept[0]", "all 1[0-9] rows that differ are what an accumulator with cut=toward_zero gives")
BITS = ("int BITS = 26", "int BITS = 24", "all [0-9]+ rows that differ are what an accumulator with bits=24 gives")
BIAS = ("BIAS = 127", "BIAS = 128", "rows that differ are what scales with the bias 128 in place of 127 gives")


@pytest.mark.parametrize(("old", "new", "named"), [STICKY, whole(*BITS), whole(*BIAS)])
def test_a_bug_of_the_dot_product_is_named(folder: Path, old: str, new: str, named: str) -> None:
    planted(folder, "mx_dot", old, new)
    log, code = simulated(folder, "mx_dot", ROWS="150", COCOTB_TEST_FILTER="blocks")
    assert "FAIL=1" in log, log
    first = next(line for line in log.splitlines() if "rows that differ are what" in line)
    assert re.search(named, first), log
    assert code == 1


@pytest.mark.verilator
@pytest.mark.exhaustive
@pytest.mark.parametrize(("element", "parameters"), [("e4m3", {}), ("e2m1", E2M1)])
def test_the_dot_product_in_verilator(folder: Path, element: str, parameters: dict[str, str]) -> None:
    """The bench in C++ reads vectors, and its results are all right."""
    given = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--cc", "--exe", "--build", "-Wall", "-Wno-UNUSEDSIGNAL", *given, "--top", "mx_dot"]
    subprocess.run([*command, "mx_dot.sv", "mx_dot.cpp"], check=True, capture_output=True, cwd=folder)
    rule = hu.Accumulator(group=8, bits=26, cut="to_odd")
    vectors = hu.vectors(f"mma.m1n1k32.f32.{element}.{element}.f32.ue8m0.block32", mma=rule, n=20_000, seed=2)
    vectors.write(folder, name="vectors")
    with (folder / "vectors.tv").open("rb") as operands, (folder / "results.tv").open("wb") as made:
        subprocess.run([folder / "obj_dir" / "Vmx_dot"], stdin=operands, stdout=made, check=True)
    report = hu.check(vectors, folder / "results.tv")
    assert report.equal, str(report)
    assert report.rows == 20_000
