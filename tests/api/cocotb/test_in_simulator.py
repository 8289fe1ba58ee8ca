"""The scoreboard at the signals of a design in Icarus Verilog: see bench_of_delayed.py."""

import re
import shutil
from pathlib import Path

import pytest
from planted_devices import simulated
from tree import ROOT

pytestmark = pytest.mark.cocotb

HERE = Path(__file__).parent


def test_the_scoreboard_at_signals(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "rtl" / "f8_add.sv", tmp_path)
    shutil.copy(HERE / "delayed.sv", tmp_path)
    shutil.copy(HERE / "bench_of_delayed.py", tmp_path / "test_delayed.py")
    log, code = simulated(tmp_path, "delayed")
    expected = len(re.findall(r"@cocotb\.test", (HERE / "bench_of_delayed.py").read_text()))
    assert f"TESTS={expected} PASS={expected} FAIL=0" in log, log
    assert code == 0
