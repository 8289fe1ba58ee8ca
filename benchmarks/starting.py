"""Measure the time to start halfulp, compared with a Python process that does nothing, and one that imports NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.backends import BACKEND
from benchmarks.rows import Measured, Row, Sizes, Target, best

ROOT = Path(__file__).parent.parent
THREE_OPS = """func.func @main(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = arith.mulf %x, %y : tensor<4xf8E4M3FN>
  %1 = arith.addf %0, %y : tensor<4xf8E4M3FN>
  return %1 : tensor<4xf8E4M3FN>
}
"""
FIRST = """import time
import numpy as np
import halfulp as hu
from benchmarks.programs import matmul
module = hu.load(matmul("{type}", 16))
x = hu.convert(np.ones((16, 16), np.float32), "{type}")
def run():
    start = time.perf_counter()
    hu.run(module, x, x, hu.Buffer.from_numpy(np.zeros((16, 16), np.float32), "memref<16x16xf32>"))
    return time.perf_counter() - start
first = run()
print(first - run())
"""
"""A program that prints how much longer the first run of a function takes than the second."""
NOTHING = ("-c", "pass")
NUMPY = ("-c", "import numpy")


def rows() -> Iterator[Row]:
    for peer, arguments in (("python -c pass", NOTHING), ("python -c 'import numpy'", NUMPY)):
        yield Row("start", "import halfulp", partial(importing, arguments), peer, Target(most=150), "ms")
        yield Row("start", "halfulp run, three ops", partial(running, arguments), peer, Target(most=350), "ms")
    yield from compiled_rows()


def compiled_rows() -> Iterator[Row]:
    """Yield the rows for functions that are compiled to machine code, each run in its own process."""
    group = "start"
    for type_ in ("f32", "f8E4M3FN"):
        name = f"first run of a matmul of {type_}, loops on memrefs"
        yield Row(group, f"{name}, nothing kept", partial(first_run, type_, False), target=Target(most=2000), unit="ms")
        yield Row(group, f"{name}, code kept", partial(first_run, type_, True), target=Target(most=100), unit="ms")


def first_run(type_: str, kept: bool, sizes: Sizes) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for number in range(min(sizes.rounds, 3) + kept):
            place = str(Path(folder, "kept" if kept else str(number)))
            environment = {**os.environ, "HALFULP_CACHE": place, "HALFULP_BACKEND": BACKEND}
            command = [sys.executable, "-c", FIRST.format(type=type_)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT)
            times.append(float(done.stdout))
    return Measured(min(times[kept:]) * 1e3)


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
