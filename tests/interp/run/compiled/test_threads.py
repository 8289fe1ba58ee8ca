"""Threads that share machine code: every element once, and the same results for any number of them."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from threading import Barrier, get_ident

import numpy as np
import pytest
from command import halfulp

import halfulp as hu
from halfulp.fp_formats.paths import compiled
from halfulp.interp.run.compiled import chain_code, lane_code, llvm, row_code, threads

COMPILES = pytest.mark.skipif(not llvm.installed(), reason="the extra `fast` is not installed")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    backend, count = compiled.backend(), threads._threads.count
    yield
    compiled.use(backend)
    threads.use(count)


@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 1000])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_every_element_is_done_once(count: int, number: int) -> None:
    done = np.zeros(count, np.int64)
    begun: list[int] = []

    def begin() -> threads.Work:
        begun.append(get_ident())

        def work(start: int, stop: int) -> None:
            assert get_ident() in begun
            assert start % 8 == 0
            assert 0 <= start < stop <= min(count, start + 8)
            done[start:stop] += 1

        return work

    threads.use(number)
    threads.share(count, 8, begin)
    assert (done == 1).all()
    assert len(begun) == len(set(begun)) <= number


def test_threads_work_at_the_same_time() -> None:
    """Each of three threads waits in its part for the other two."""
    barrier = Barrier(3, timeout=60)

    def work(start: int, stop: int) -> None:
        barrier.wait()

    threads.use(3)
    threads.share(3, 1, lambda: work)
    assert not barrier.broken


@pytest.mark.parametrize("wrong", range(3))
def test_an_error_leaves_once_all_threads_have_ended(wrong: int) -> None:
    barrier, ended = Barrier(3, timeout=60), []

    def work(start: int, stop: int) -> None:
        barrier.wait()
        if start == wrong:
            raise ArithmeticError(str(start))
        ended.append(start)

    threads.use(3)
    with pytest.raises(ArithmeticError, match=str(wrong)):
        threads.share(3, 1, lambda: work)
    assert sorted(ended) == [start for start in range(3) if start != wrong]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = """
import os
from threading import Barrier
from halfulp.interp.run.compiled import threads

def together():
    barrier = Barrier(2, timeout=60)
    threads.share(2, 1, lambda: lambda start, stop: barrier.wait() and None)

threads.use(2)
together()
child = os.fork()
together()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
print("both")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "both\n"


# --- machine code ----------------------------------------------------------------------------------------------------

COUNTDOWN = """func.func @main(%n: i32, %d: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %n, %s = %zero) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi sgt, %i, %zero : i32
    scf.condition(%c) %i, %s : i32, i32
  } do {
  ^body(%i: i32, %s: i32):
    %j = arith.subi %i, %one : i32
    %q = arith.divsi %s, %d : i32
    %t = arith.addi %q, %i : i32
    scf.yield %j, %t : i32, i32
  }
  return %r#0, %r#1 : i32, i32
}
"""
CALLED = (
    COUNTDOWN.replace("func.func @main", "func.func private @count")
    + """func.func @main(%n: i32, %d: i32) -> (i32, i32) {
  %r:2 = call @count(%n, %d) : (i32, i32) -> (i32, i32)
  return %r#0, %r#1 : i32, i32
}
"""
)


def by_threads(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """Compare a run by the executor with runs by threads that take little at a time."""
    compiled.use("numpy")
    expected = run()
    compiled.use("numba")
    monkeypatch.setattr(chain_code, "_PART", chain_code.BLOCK)
    for module in (lane_code, row_code):
        monkeypatch.setattr(module, "PART", row_code.ROW)
    shared: list[int] = []
    share = threads.share

    def noted(count: int, part: int, begin: Callable[[], threads.Work]) -> None:
        shared.append(count)
        share(count, part, begin)

    monkeypatch.setattr(threads, "share", noted)
    for number in (1, 2, 5):
        threads.use(number)
        assert run() == expected
        assert shared
        shared.clear()


@COMPILES
@pytest.mark.parametrize("count", [4096, 3 * 4096, 40_000])
@pytest.mark.parametrize("narrow", ["bf16", "f16"])
def test_chains(narrow: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, and a NaN in each block, of which the loop would make an infinity if nobody looked at it."""
    infinity = 0x7F800000
    codes = np.arange(count, dtype=np.uint32) * 0x9E3779B9 % infinity
    codes[count // 3 :: 4096] = infinity + 1
    codes[[5, count - 1]] = infinity, 1
    type_, result = f"tensor<{count}xf32>", f"tensor<{count}x{narrow}>"
    text = f"""func.func @main(%x: {type_}, %y: f32) -> ({type_}, {result}) {{
      %z = tensor.splat %y : {type_}
      %a = arith.maximumf %x, %z : {type_}
      %b = arith.truncf %a : {type_} to {result}
      return %a, %b : {type_}, {result}
    }}"""
    module, value = hu.parse(text), hu.Value.from_bits(codes, "f32")
    by_threads(monkeypatch, lambda: hu.run(module, value, 1.25))


@COMPILES
@pytest.mark.parametrize("text", [COUNTDOWN, CALLED], ids=["rows", "lanes"])
def test_lanes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes with another number of trips each, some of which stop: they divide by zero where they make a trip."""
    numbers = np.arange(1000, dtype=np.int32) % 23
    divisors = np.where(numbers > 0, 1 + np.arange(1000, dtype=np.int32) % 3, 0).astype(np.int32)
    by_threads(monkeypatch, lambda: hu.run(text, numbers, divisors, batch=True))
    divisors[777] = 0
    assert numbers[777] > 0
    messages = []
    for backend, number in (("numpy", 1), ("numba", 1), ("numba", 5)):
        compiled.use(backend)
        threads.use(number)
        with pytest.raises(hu.HalfulpError, match="zero") as caught:
            hu.run(text, numbers, divisors, batch=True)
        messages.append(str(caught.value))
    assert len(set(messages)) == 1


SETTING = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @set(i32 %modes) {
  %place = alloca i32
  store i32 %modes, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""


@COMPILES
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="the modes of another CPU")
def test_a_thread_that_flushes_subnormals_takes_nothing() -> None:
    code = llvm.compile_assembly(SETTING, "set")
    set_modes = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(code.address)
    caller, barrier, took = get_ident(), Barrier(2, timeout=60), []

    def flush(start: int, stop: int) -> None:
        barrier.wait()
        if get_ident() != caller:
            set_modes(0x1F80 | 0x8040)

    threads.use(2)
    threads.share(2, 1, lambda: flush)
    threads.share(1000, 1, lambda: lambda start, stop: took.append(get_ident()))
    assert took == [caller] * 1000


def test_a_wrong_number_is_refused() -> None:
    for wrong in ("0", "-1", "two", "1e3", "99999"):
        done = halfulp("formats", environment={"HALFULP_THREADS": wrong})
        assert (done.code, done.out) == (2, "")
        assert done.err == f"error: HALFULP_THREADS is '{wrong}', but must be a number of threads, from 1 to 1024\n"
    assert halfulp("formats", environment={"HALFULP_THREADS": "3"}).code == 0
    for number in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"there cannot be {number} threads"):
            threads.use(number)
