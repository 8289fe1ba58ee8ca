"""examples/cocotb: its units pass their benches, and a bug that is planted in a unit is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from simulations import EXAMPLE, simulated

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
    assert "F2        6 of 6" in log
    assert code == 0


def test_a_planted_bug_is_named(folder: Path) -> None:
    planted(folder, "bf16_fma", "return {x[14:7] != 0, x[6:0]};", "return x[14:7] == 0 ? 8'd0 : {1'b1, x[6:0]};")
    log, code = simulated(folder, "bf16_fma", ROWS="500")
    assert "rows that differ are what denormals=flush_operands gives" in log, log
    assert "FAIL" in log
    assert code == 1
