"""Run the bench of a unit in Icarus Verilog: ``python simulate.py bf16_fma``. It ends with 1 if a test fails.

Parameters of the unit may follow: ``python simulate.py mx_dot BITS=20``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).parent


def main(unit: str, *given: str) -> int:
    """Compile the unit, run its bench, and count the tests that fail."""
    runner = get_runner("icarus")
    source = HERE / f"{unit}.sv"
    build = {"build_args": ["-g2012"], "includes": [HERE], "timescale": ("1ns", "1ps"), "always": True}
    parameters = dict(parameter.split("=") for parameter in given)
    runner.build(sources=[source], hdl_toplevel=unit, parameters=parameters, **build)
    results = runner.test(hdl_toplevel=unit, test_module=f"test_{unit}", test_dir=HERE)
    _, failed = get_results(results)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
