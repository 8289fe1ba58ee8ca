"""The time to start halfulp, beside a Python process that does nothing, and one that imports NumPy."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.rows import Measured, Row, Sizes, Target, best

THREE_OPS = """func.func @main(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = arith.mulf %x, %y : tensor<4xf8E4M3FN>
  %1 = arith.addf %0, %y : tensor<4xf8E4M3FN>
  return %1 : tensor<4xf8E4M3FN>
}
"""
NOTHING = ("-c", "pass")
NUMPY = ("-c", "import numpy")


def rows() -> Iterator[Row]:
    for peer, arguments in (("python -c pass", NOTHING), ("python -c 'import numpy'", NUMPY)):
        yield Row("start", "import halfulp", partial(importing, arguments), peer, Target(most=150), "ms")
        yield Row("start", "halfulp run, three ops", partial(running, arguments), peer, Target(most=350), "ms")


def _process(*arguments: str) -> Callable[[], None]:
    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return run


def importing(peer: tuple[str, ...], sizes: Sizes) -> Measured:
    mine, theirs = best(_process("-c", "import halfulp"), _process(*peer), rounds=sizes.rounds)
    return Measured(mine * 1e3, theirs * 1e3)


def running(peer: tuple[str, ...], sizes: Sizes) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "three.mlir"
        file.write_text(THREE_OPS, encoding="utf-8")
        operand = "4xf8E4M3FN=1 0.3 -2.5 448"
        ours = _process("-m", "halfulp", "run", str(file), f"--input={operand}", f"--input={operand}")
        mine, theirs = best(ours, _process(*peer), rounds=sizes.rounds)
    return Measured(mine * 1e3, theirs * 1e3)
