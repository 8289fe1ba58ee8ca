"""Threads that share machine code: every element once, and the same results for any number of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Event, get_ident
from time import sleep
from weakref import ref

import numpy as np
import pytest
from amounts import thinned
from command import halfulp

import halfulp as hu
from halfulp.conformance.ops.jobs import process_pool
from halfulp.fp_formats.paths import array_loop, llvm
from halfulp.interp.run.compiled import program

COMPILES = pytest.mark.skipif(not llvm.installed(), reason="llvmlite is not installed")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    backend, count = llvm.backend(), llvm.threads()
    yield
    llvm.use(backend)
    llvm.use_threads(count)


@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 1000])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_every_element_is_done_once(count: int, number: int) -> None:
    done = np.zeros(count, np.int64)
    begun: list[int] = []

    def begin() -> llvm.Work:
        begun.append(get_ident())

        def work(start: int, stop: int) -> None:
            assert get_ident() in begun
            assert start % 8 == 0
            assert 0 <= start < stop <= min(count, start + 8)
            done[start:stop] += 1

        return work

    llvm.use_threads(number)
    llvm.share(count, 8, begin)
    assert (done == 1).all()
    assert len(begun) == len(set(begun)) <= number


class Meeting:
    """Makes functions that wait in their first part until each of three threads is in one."""

    def __init__(self, then: Callable[[int], None]) -> None:
        self._barrier, self._then = Barrier(3, timeout=60), then
        self.inside = 0
        self.done: list[int] = []

    def begin(self) -> llvm.Work:
        waits = [self._barrier]

        def work(start: int, stop: int) -> None:
            self.inside += 1
            try:
                if waits:
                    waits.pop().wait()
                self._then(start)
                self.done.append(start)
            finally:
                self.inside -= 1

        return work


def test_threads_work_at_the_same_time() -> None:
    meeting = Meeting(lambda start: None)
    llvm.use_threads(3)
    llvm.share(9, 1, meeting.begin)
    assert sorted(meeting.done) == [*range(9)]


@pytest.mark.parametrize("wrong", range(3))
def test_an_error_leaves_once_all_threads_have_ended(wrong: int) -> None:
    """Of the parts after the first three, which the threads have at once, none is begun after the error."""
    others = Event()

    def fail(start: int) -> None:
        if start == wrong:
            others.set()
            raise ArithmeticError(str(start))
        assert others.wait(60)
        sleep(0.05)

    meeting = Meeting(fail)
    llvm.use_threads(3)
    with pytest.raises(ArithmeticError, match=str(wrong)):
        llvm.share(90, 1, meeting.begin)
    assert meeting.inside == 0
    assert set(range(3)) - {wrong} <= set(meeting.done)
    assert len(meeting.done) < 9


def test_without_other_threads_the_calling_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(function: Callable[[], None], arguments: tuple[()]) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(llvm, "start_new_thread", refused)
    done: list[int] = []
    llvm.use_threads(4)
    llvm.share(10, 1, lambda: lambda start, stop: done.append(start))
    assert done == [*range(10)]


def test_a_thread_that_begins_late_keeps_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Callable[[], None]] = []
    monkeypatch.setattr(llvm, "start_new_thread", lambda function, arguments: late.append(function))

    class Holder:
        def begin(self) -> llvm.Work:
            return lambda start, stop: None

    holder = Holder()
    gone = ref(holder)
    llvm.use_threads(2)
    llvm.share(4, 1, holder.begin)
    del holder
    assert gone() is None
    (help_,) = late
    help_()  # finds nothing to do


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_waits_for_the_other_threads() -> None:
    """The caller, which waits for a long part, is interrupted there."""
    begun, over = Event(), Event()
    caller = get_ident()

    def work(start: int, stop: int) -> None:
        if get_ident() == caller:
            assert begun.wait(60)
            return
        begun.set()
        sleep(0.2)
        signal.raise_signal(signal.SIGINT)
        sleep(0.2)
        over.set()

    llvm.use_threads(2)
    with pytest.raises(KeyboardInterrupt):
        llvm.share(4, 1, lambda: work)
    assert over.is_set()


CODE = """
from threading import Barrier, Thread
from halfulp.conformance.ops.jobs import process_pool
from halfulp.fp_formats.paths import llvm
llvm.use_threads(2)

def together(wait=True):
    barrier = Barrier(2, timeout=60)
    def begin():
        waits = [barrier] if wait else []
        return lambda start, stop: waits and waits.pop().wait() and None
    llvm.share(4, 1, begin)

together()
"""


def outcome(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", CODE + code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = """
import os
child = os.fork()
together()
if not child:
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""
    assert outcome(code) == "0\n"


@pytest.mark.long
def test_it_works_while_the_interpreter_ends() -> None:
    assert outcome("import atexit; atexit.register(together, False); atexit.register(print, 'end')") == "end\n"
    later = "import time; Thread(target=lambda: (time.sleep(0.3), together(False), print('later'))).start()"
    assert outcome(later) == "later\n"


@pytest.mark.long
def test_worker_processes_use_one_thread() -> None:
    with process_pool(1) as pool:
        assert pool.submit(llvm.threads).result() == 1


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
    llvm.use("numpy")
    expected = run()
    llvm.use("llvm")
    monkeypatch.setattr(array_loop, "_PART", array_loop.BLOCK)
    monkeypatch.setattr(program, "PART", 64)
    shared: list[int] = []
    share = llvm.share

    def noted(count: int, part: int, begin: Callable[[], llvm.Work]) -> None:
        shared.append(count)
        share(count, part, begin)

    monkeypatch.setattr(llvm, "share", noted)
    for number in (1, 2, 5):
        llvm.use_threads(number)
        assert run() == expected
        assert shared
        shared.clear()


@COMPILES
@pytest.mark.parametrize("count", thinned([4096, 3 * 4096, 40_000], 3))
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
@pytest.mark.parametrize("text", [COUNTDOWN, CALLED], ids=["a loop", "a call"])
def test_lanes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes with another number of trips each, some of which stop: they divide by zero where they make a trip."""
    numbers = np.arange(1000, dtype=np.int32) % 23
    divisors = np.where(numbers > 0, 1 + np.arange(1000, dtype=np.int32) % 3, 0).astype(np.int32)
    by_threads(monkeypatch, lambda: hu.run(text, numbers, divisors, batch=True))
    divisors[777] = 0
    assert numbers[777] > 0
    messages = []
    for backend, number in (("numpy", 1), ("llvm", 1), ("llvm", 5)):
        llvm.use(backend)
        llvm.use_threads(number)
        with pytest.raises(hu.HalfulpError, match="zero") as caught:
            hu.run(text, numbers, divisors, batch=True)
        messages.append(str(caught.value))
    assert len(set(messages)) == 1


@pytest.mark.long
def test_the_number_of_threads() -> None:
    code = "from halfulp.fp_formats.paths import llvm; print(llvm.threads())"
    usual = min(llvm.cores(), 4)
    for own, all_, expected in (("3", "2", 3), ("", "2", 2), ("", "7,2", 7), ("", "", usual), ("", "many", usual)):
        environment = {**os.environ, "HALFULP_THREADS": own, "OMP_NUM_THREADS": all_}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert int(done.stdout) == expected, (own, all_)


@pytest.mark.long
def test_a_wrong_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("-1", "two", "1e3"):
        monkeypatch.setenv("HALFULP_THREADS", wrong)
        with pytest.raises(ValueError, match=f"HALFULP_THREADS is '{wrong}'"):
            llvm._number_of_threads()
    monkeypatch.delenv("HALFULP_THREADS")
    for wrong in ("0", "99999"):
        done = halfulp("formats", environment={"HALFULP_THREADS": wrong})
        assert (done.code, done.out) == (2, "")
        assert done.err == f"error: HALFULP_THREADS is '{wrong}', but must be a number of threads, from 1 to 1024\n"
    assert halfulp("formats", environment={"HALFULP_THREADS": "3"}).code == 0
    for number in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"there cannot be {number} threads"):
            llvm.use_threads(number)
