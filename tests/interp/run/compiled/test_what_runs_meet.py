"""Compiled code with masks that appear late, deep recursion, many cases, interrupts, and large memory."""

import ctypes
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.paths import llvm
from halfulp.interp.run.compiled import lowering
from halfulp.interp.run.compiled.context import Context
from halfulp.interp.run.compiled.lowering import ProgramLowering
from halfulp.interp.run.compiled.program import CompiledFunction
from halfulp.interp.run.frames import Run
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
pytestmark = pytest.mark.backend("llvm")


def test_poison_that_an_op_of_the_executor_brings_into_clean_memory() -> None:
    text = """func.func @f(%m: memref<4xi32>, %k: index) -> i32 {
      %fresh = memref.alloc() : memref<4xi32>
      cf.br ^next
    ^next:
      memref.copy %fresh, %m : memref<4xi32> to memref<4xi32>
      %x = memref.load %m[%k] : memref<4xi32>
      return %x : i32
    }"""
    (found,) = hu.run(text, np.arange(4, dtype=np.int32), 1)
    assert found.poisoned.item()


@pytest.mark.long
def test_a_switch_of_many_cases() -> None:
    cases = ",\n".join(f"{number}: ^found(%k : i32)" for number in range(700))
    text = f"""func.func @f(%k: i32) -> i32 {{
      cf.switch %k : i32, [default: ^other, {cases}]
    ^found(%a: i32):
      return %a : i32
    ^other:
      %c = arith.constant -7 : i32
      return %c : i32
    }}"""
    assert [int(hu.run(text, number)[0].bits) for number in (0, 699)] == [0, 699]
    assert hu.run(text, 700)[0].numpy() == -7


def test_more_steps_than_a_word_can_count() -> None:
    text = "func.func @f(%k: i32) -> i32 {\n cf.br ^b\n^b:\n return %k : i32 }"
    assert hu.run(text, 5, max_steps=10**30)[0].numpy() == 5
    assert hu.run(text, np.arange(5, dtype=np.int32), max_steps=10**30, batch=True)[0].numpy().tolist() == [*range(5)]


def test_arguments_larger_than_the_memory_that_code_may_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.interp.run.compiled.context.MOST_BYTES", 8)
    text = """func.func @f(%m: memref<4xi32>, %k: index) -> i32 {
      cf.br ^next
    ^next:
      %x = memref.load %m[%k] : memref<4xi32>
      return %x : i32
    }"""
    assert hu.run(text, np.arange(4, dtype=np.int32), 3)[0].numpy() == 3


def test_recursion_with_many_values_does_not_overflow_the_stack() -> None:
    count = 300
    before = [f"%w{n} = arith.xori %n, %k{n} : i64\n%v{n} = arith.muli %w{n}, %w{n} : i64" for n in range(count)]
    after = [f"%y{n} = arith.xori %x{n}, %v{n} : i64\n%x{n + 1} = arith.muli %y{n}, %v{n} : i64" for n in range(count)]
    text = f"""func.func @f(%n: i64) -> i64 {{
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      {" ".join(f"%k{n} = arith.constant {7919 * n + 3} : i64" for n in range(count))}
      {" ".join(before)}
      %end = arith.cmpi eq, %n, %zero : i64
      %r = scf.if %end -> i64 {{ scf.yield %one : i64 }} else {{
        %less = arith.subi %n, %one : i64
        %x0 = func.call @f(%less) : (i64) -> i64
        {" ".join(after)}
        scf.yield %x{count} : i64
      }}
      return %r : i64
    }}"""
    program = CompiledModule(hu.parse(text), Settings())
    made = ProgramLowering(program)
    made.lower(next(op for op in program.module.walk() if op.name == "func.func"), clean=True)
    # The values that live across the call take 8 bytes each on a stack that may have 8 MB.
    assert 1 <= made.deepest * 8 * count < 4 << 20


_FREED = """func.func @f(%k: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<4xi32>
  memref.dealloc %m : memref<4xi32>
  memref.store %k, %m[%c0] : memref<4xi32>
  return %k : i32
}"""
_COUNTER = """memref.global "private" @counter : memref<1xi32> = dense<[4]>
func.func @f(%k: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %m = memref.get_global @counter : memref<1xi32>
  %old = memref.load %m[%c0] : memref<1xi32>
  %new = arith.addi %old, %k : i32
  memref.store %new, %m[%c0] : memref<1xi32>
  return %new : i32
}"""


def test_lanes_notice_memory_that_was_freed() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="was freed"):
        hu.run(_FREED, np.arange(5, dtype=np.int32), batch=True)


def test_each_lane_has_globals_of_its_own() -> None:
    (found,) = hu.run(_COUNTER, np.arange(5, dtype=np.int32), batch=True)
    assert found.numpy().tolist() == [4, 5, 6, 7, 8]


def _interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


def _fail(*_: Any) -> Any:
    raise ValueError


@pytest.mark.parametrize(("function", "raised"), [(_interrupt, KeyboardInterrupt), (_fail, None)])
def test_no_error_leaves_a_call_from_code(function: Callable[..., Any], raised: type[BaseException] | None) -> None:
    context = Context(Run(Settings()), [function])
    way_back = context.way_back()
    words = [0] * 4
    assert [way_back(words), way_back(words)] == [1, 1]
    if raised is None:
        context.ended()
    else:
        with pytest.raises(raised):
            context.ended()


_LONG = """func.func @f(%n: index, %k: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %k) -> (i32) {
    %b = arith.muli %a, %a : i32
    %c = arith.addi %b, %k : i32
    scf.yield %c : i32
  }
  return %r : i32
}"""


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_a_loop_in_machine_code() -> None:
    """The loop would take 12 s."""
    module = hu.parse(_LONG)
    hu.run(module, 100_000, 3)  # makes the machine code
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.05, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hu.run(module, 1 << 31, 3, max_steps=1 << 40)
    assert time.monotonic() - sent[0] < 5
    timer.join()


def test_globals_that_a_called_function_wrote_before_it_stopped() -> None:
    text = """memref.global "private" @g : memref<1xi32> = dense<[0]>
    func.func @touch(%k: i32) -> i32 {
      %c0 = arith.constant 0 : index
      %m = memref.get_global @g : memref<1xi32>
      %old = memref.load %m[%c0] : memref<1xi32>
      %new = arith.addi %old, %k : i32
      memref.store %new, %m[%c0] : memref<1xi32>
      return %new : i32
    }
    func.func @loops(%n: index, %k: i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %n step %c1 {
          %t = func.call @touch(%k) : (i32) -> i32
          %poison = arith.addi %t, %t overflow<nsw> : i32
        }
      }
      return
    }
    func.func @f(%n: index, %k: i32, %a: tensor<2xi32>) -> i32 {
      func.call @loops(%n, %k) : (index, i32) -> ()
      %b = arith.addi %a, %a : tensor<2xi32>
      %y = func.call @touch(%k) : (i32) -> i32
      return %y : i32
    }"""
    (found,) = hu.run(text, 3, 1 << 28, np.zeros(2, np.int32), function="f", on_ub="poison")
    assert found.numpy() == np.int32(10 * (1 << 28) - (1 << 32))


def _straight(count: int) -> str:
    ops = [f"%v{n} = arith.muli %v{n - 1}, %v{n // 2} : i32" for n in range(1, count)]
    lines = ["func.func @f(%v0: i32) -> i32 {", "cf.br ^b", "^b:", *ops, f"return %v{count - 1} : i32", "}"]
    return "\n".join(lines)


def test_large_programs_are_compiled_without_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "_LARGE", 0)
    monkeypatch.setattr(llvm, "_HUGE", 0)
    monkeypatch.setenv("HALFULP_CACHE", "off")
    module = hu.parse(_straight(50))
    function = next(op for op in module.walk() if op.name == "func.func")
    found = CompiledFunction(CompiledModule(module, Settings()), function, clean=True)
    run = Run(Settings())
    llvm.use("numpy")
    assert found.call(run, [3]) == (int(hu.run(module, 3)[0].bits),)


def test_programs_that_would_compile_for_long_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "_LARGEST", 200)
    program = CompiledModule(hu.parse(_straight(300)), Settings())
    with pytest.raises(NotCompiled, match="too many ops"):
        ProgramLowering(program).lower(next(op for op in program.module.walk() if op.name == "func.func"), clean=True)


# --- a processor that flushes -----------------------------------------------------------------------------------------

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
if platform.machine().lower() not in ("x86_64", "amd64"):
    pytest.skip("the modes of another CPU", allow_module_level=True)

_SETTING = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @set(i32 %modes) {
  %place = alloca i32
  store i32 %modes, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""
_USUAL, _FLUSHING = 0x1F80, 0x1F80 | 0x8040
CODES = [1, 2, 5, 0x3FFFFF]  # of f32; so are the doubles of these
MINUS = 1 << 31

LOOP = """func.func @main(%m: memref<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %m[%c0] : memref<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> f32 {
    %x = memref.load %m[%i] : memref<4xf32>
    %d = arith.addf %x, %x : f32
    %y = arith.negf %d : f32
    memref.store %y, %m[%i] : memref<4xf32>
    scf.yield %y : f32
  }
  return %r : f32
}
"""


@pytest.fixture(params=["numpy", "llvm"])
def flush(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Yield a function that makes the CPU flush subnormals until the end of the test."""
    before = llvm.backend()
    llvm.use(request.param)
    monkeypatch.setattr(llvm, "_keeps", True)
    code = llvm.compile_assembly(_SETTING, "set")
    set_modes = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(code.address)
    yield lambda: set_modes(_FLUSHING)
    set_modes(_USUAL)
    llvm.use(before)
    monkeypatch.undo()
    for forget in llvm._forget:
        forget()


@pytest.mark.parametrize("already_run", [False, True])
def test_numbers_that_code_keeps(flush: Callable[[], None], already_run: bool) -> None:
    module = hu.parse(LOOP)
    given = [hu.Buffer.from_numpy(np.array(CODES, np.uint32).view(np.float32), "memref<4xf32>") for _ in range(2)]
    if already_run:
        hu.run(module, given[0], 4)
    flush()
    (last,) = hu.run(module, given[1], 4)
    doubles = [2 * code | MINUS for code in CODES]
    assert given[1].load().bits.tolist() == doubles
    assert int(last.bits) == doubles[-1]
