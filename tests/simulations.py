"""Run benches of cocotb in Icarus Verilog, by the script of examples/cocotb."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from command import PATIENCE
from tree import ROOT

EXAMPLE = ROOT / "examples" / "cocotb"


def simulated(
    folder: Path, unit: str, parameters: Mapping[str, str] | None = None, **environment: str
) -> tuple[str, int]:
    """Return the output of the bench test_UNIT.py of UNIT.sv in a folder, and the exit code of the script."""
    given = [f"{name}={value}" for name, value in (parameters or {}).items()]
    shutil.copy(EXAMPLE / "simulate.py", folder)
    done = subprocess.run(
        [sys.executable, "simulate.py", unit, *given],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout, done.returncode
