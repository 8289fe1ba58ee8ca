"""One module used by many threads, and by forked processes, at the same time."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import halfulp as hu

PROGRAM = """\
func.func @f(%x: tensor<8xf16>, %n: index) -> tensor<8xf16> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %x) -> tensor<8xf16> {
    %c = arith.constant dense<1.5> : tensor<8xf16>
    %m = arith.mulf %s, %c : tensor<8xf16>
    %a = arith.subf %m, %x : tensor<8xf16>
    scf.yield %a : tensor<8xf16>
  }
  return %r : tensor<8xf16>
}
"""
THREADS, PROCESSES = 16, 4
X = np.arange(8, dtype=np.float16)
module: Any = None


def expected(number: int) -> list[int]:
    """NumPy's own half precision, which rounds each operation once to nearest even."""
    s = X + np.float16(number)
    for _ in range(number % 5):
        s = s * np.float16(1.5) - (X + np.float16(number))
    return s.view(np.uint16).tolist()  # type: ignore[no-any-return]


def run(number: int) -> list[int]:
    """Run the shared module, in one of three ways."""
    x, n = X + np.float16(number), number % 5
    if number % 3 == 2:
        return hu.trace(module, x, n).results[0].bits.tolist()  # type: ignore[no-any-return]
    return hu.run(module, x, n)[0].bits.tolist()  # type: ignore[no-any-return]


def fresh() -> None:
    global module
    module = hu.parse(PROGRAM)


def test_sixteen_threads() -> None:
    """All begin at the same moment, before anything of the module is compiled."""
    for _ in range(3):
        fresh()
        together = Barrier(THREADS)

        def begin(number: int, together: Barrier = together) -> list[list[int]]:
            together.wait()
            return [run(number + THREADS * k) for k in range(4)]

        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(begin, range(THREADS)))
        assert found == [[expected(number + THREADS * k) for k in range(4)] for number in range(THREADS)]


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes() -> None:
    """The module is used before the fork, in the children, and in the parent meanwhile."""
    fresh()
    run(1)
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        asked = pool.map_async(run, range(32))
        assert [run(number) for number in range(8)] == [expected(number) for number in range(8)]
        assert asked.get(60) == [expected(number) for number in range(32)]
