"""Machine code gives what the executor gives: results, memory, poison, errors and their places, and steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from both_ways import Both, arguments, both, of

import halfulp as hu
from halfulp.conformance.whole_programs.generator.functions import random_function
from halfulp.fp_formats.paths import compiled, disk
from halfulp.interp.ir import types as ty
from halfulp.interp.run.compiled import hot, llvm
from halfulp.interp.run.compiled.covering import NotCompiled
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import buffer_of

pytest.importorskip("llvmlite", reason="the extra `fast` is not installed")


@pytest.fixture(autouse=True)
def _may_compile() -> Iterator[None]:
    before = compiled.backend()
    compiled.use("auto")
    yield
    compiled.use(before)


def random_both(seed: int, index: int) -> Both | None:
    function = random_function(seed, index)
    if not hot.is_covered(CompiledModule(function.module, Settings()), function.main):
        return None
    try:
        return Both(function.module, function.main, Settings(max_steps=20_000))
    except NotCompiled:
        return None


@pytest.mark.parametrize("index", range(30))
def test_random_programs(index: int) -> None:
    pair = random_both(11, index)
    for number in range(4 if pair else 0):
        assert pair is not None
        pair.check(lambda number=number: arguments(pair.types, (index, number)))  # type: ignore[misc]


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs(part: int) -> None:
    compared = 0
    for index in range(400 * part, 400 * (part + 1)):
        pair = random_both(12, index)
        for number in range(6 if pair else 0):
            assert pair is not None
            pair.check(lambda pair=pair, number=number: arguments(pair.types, (index, number)))  # type: ignore[misc] # noqa: B023
            compared += not pair.stopped
    assert compared > 600


# --- what stops code, in the middle of a loop that has written -----------------------------------------------------------

_LOOP = """func.func @f(%m: memref<8xi32>, %n: index{arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %seven = arith.constant 7 : i32
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %m[%i] : memref<8xi32>
    {body}
    memref.store %y, %m[%i] : memref<8xi32>
  }}
  return
}}"""
STOPS = {
    "an access outside": ("", "%y = arith.addi %x, %seven : i32", 9, "outside the shape 8"),
    "a division by zero": ("", "%y = arith.divsi %seven, %x : i32", 8, "division by zero"),
    "an overflow": ("", "%y = arith.muli %x, %x overflow<nsw> : i32", 8, None),
    "a shift too far": ("", "%y = arith.shli %x, %x : i32", 8, None),
    "a step that is not positive": (
        ", %s: index",
        "%y = scf.for %j = %c0 to %c5 step %s iter_args(%a = %x) -> (i32) { scf.yield %a : i32 }",
        8,
        "the step is 0",
    ),
    "a branch on poison": (
        "",
        "%p = arith.shli %x, %x : i32\n%b = arith.cmpi slt, %p, %seven : i32\n"
        "%y = scf.if %b -> i32 { scf.yield %x : i32 } else { scf.yield %seven : i32 }",
        8,
        "the condition is poison",
    ),
    "the limit on steps": ("", "%y = arith.addi %x, %seven : i32", 8, "ran more than 30 ops"),
}


@pytest.mark.parametrize("name", STOPS)
def test_what_stops_in_a_loop(name: str) -> None:
    more, body, count, message = STOPS[name]
    steps = {"max_steps": 30} if "limit" in name else {}
    pair = both(_LOOP.format(arguments=more, body=body), **steps)
    memory = pair.types[0]
    assert isinstance(memory, ty.MemRefType)
    numbers = np.array([3, 1 << 20, 5, 0, 7, 40, 1, 2], np.uint32)

    def make() -> list[Any]:
        given = [buffer_of(numbers.view(np.int32), memory, "m"), of(count, "index")]
        return [*given, of(0, "index")] if more else given

    found = pair.check(make)
    assert pair.stopped
    assert message is None or message in found[1]


def test_calls_that_are_too_deep() -> None:
    text = """func.func @f(%n: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %end = arith.cmpi eq, %n, %zero : i32
      %r = scf.if %end -> i32 { scf.yield %zero : i32 } else {
        %less = arith.subi %n, %one : i32
        %x = func.call @f(%less) : (i32) -> i32
        %y = arith.addi %x, %one : i32
        scf.yield %y : i32
      }
      return %r : i32
    }"""
    pair = both(text, max_depth=50)
    assert pair.check(lambda: [of(50, "i32")])[0] == (of(50, "i32"),)
    assert not pair.stopped
    assert "nested more than 50 deep" in pair.check(lambda: [of(51, "i32")])[1]
    assert pair.stopped


def _memory_program(body: str) -> str:
    return f"""func.func @f(%x: i32, %i: index) -> i32 {{
      %c0 = arith.constant 0 : index
      %m = memref.alloc() : memref<4xi32>
      {body}
    }}"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%y = memref.load %m[%i] : memref<4xi32>\nreturn %y : i32", None),
        ("memref.store %x, %m[%i] : memref<4xi32>\n%y = memref.load %m[%i] : memref<4xi32>\nreturn %y : i32", None),
        ("memref.dealloc %m : memref<4xi32>\n%y = memref.load %m[%c0] : memref<4xi32>\nreturn %y : i32", "was freed"),
        ("memref.dealloc %m : memref<4xi32>\nmemref.store %x, %m[%c0] : memref<4xi32>\nreturn %x : i32", "was freed"),
        ("memref.dealloc %m : memref<4xi32>\nmemref.dealloc %m : memref<4xi32>\nreturn %x : i32", "was freed"),
    ],
)
def test_memory_of_the_program(body: str, message: str | None) -> None:
    pair = both(_memory_program(body))
    for index in (0, 3):
        found = pair.check(lambda index=index: [of(-5, "i32"), of(index, "index")])  # type: ignore[misc]
        assert message is None or message in found[1]


def test_constant_memory_is_not_written() -> None:
    text = """memref.global "private" constant @c : memref<2xi32> = dense<[4, 9]>
    func.func @f(%i: index, %write: i1) -> i32 {
      %m = memref.get_global @c : memref<2xi32>
      %x = memref.load %m[%i] : memref<2xi32>
      scf.if %write {
        memref.store %x, %m[%i] : memref<2xi32>
      }
      return %x : i32
    }"""
    pair = both(text)
    assert pair.check(lambda: [of(1, "index"), of(0, "i1")])[0] == (of(9, "i32"),)
    assert not pair.stopped
    assert "is constant, but is written" in pair.check(lambda: [of(1, "index"), of(1, "i1")])[1]


# --- when functions are compiled ------------------------------------------------------------------------------------------

_SUM = """func.func @f(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %b = arith.addi %a, %k : i64
    scf.yield %b : i64
  }
  return %r : i64
}"""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    original = llvm.compile_assembly

    def counting(text: str, entry: str) -> llvm.Code:
        made.append(text)
        return original(text, entry)

    monkeypatch.setattr(llvm, "compile_assembly", counting)
    return made


def test_long_runs_are_compiled_and_short_ones_are_not(counted: list[str]) -> None:
    module = hu.parse(_SUM)
    assert hu.run(module, 1000) == (of(499_500, "i64"),)
    assert not counted
    assert hu.run(module, 200_000) == (of(19_999_900_000, "i64"),)
    assert hu.run(module, 300_000) == (of(44_999_850_000, "i64"),)
    assert len(counted) == 1


def test_short_runs_add_up(counted: list[str]) -> None:
    module = hu.parse(_SUM)
    for _ in range(40):
        assert hu.run(module, 1000) == (of(499_500, "i64"),)
    assert len(counted) == 1


def test_the_limit_on_steps_holds_in_compiled_code() -> None:
    module = hu.parse(_SUM)
    with pytest.raises(hu.LimitExceeded, match="ran more than 600000 ops"):
        hu.run(module, 250_000, max_steps=600_000)


def test_numpy_is_never_compiled(counted: list[str]) -> None:
    compiled.use("numpy")
    assert hu.run(hu.parse(_SUM), 150_000) == (of(11_249_925_000, "i64"),)
    assert not counted


def test_machine_code_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))
    pair = both(_SUM)
    (kept,) = disk.files(tmp_path)
    monkeypatch.setattr(llvm, "_object_of", lambda *_: pytest.fail("compiled again"))
    assert both(_SUM).check(lambda: [of(10, "index")])[0] == (of(45, "i64"),)
    kept.path.write_bytes(kept.path.read_bytes()[:-1] + b"?")
    monkeypatch.undo()
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))
    assert both(_SUM).check(lambda: [of(10, "index")]) == pair.check(lambda: [of(10, "index")])


_PRINTING = """func.func private @product(%x: memref<20x20xi32>, %y: memref<20x20xi32>, %z: memref<20x20xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %k] : memref<20x20xi32>
        %b = memref.load %y[%k, %j] : memref<20x20xi32>
        %c = memref.load %z[%i, %j] : memref<20x20xi32>
        %p = arith.muli %a, %b : i32
        %s = arith.addi %c, %p overflow<nsw> : i32
        memref.store %s, %z[%i, %j] : memref<20x20xi32>
      }
    }
  }
  return
}
func.func @main(%x: memref<20x20xi32>, %y: memref<20x20xi32>, %z: memref<20x20xi32>, %n: i32) {
  vector.print %n : i32
  func.call @product(%x, %y, %z) : (memref<20x20xi32>, memref<20x20xi32>, memref<20x20xi32>) -> ()
  vector.print %n : i32
  return
}"""


@pytest.mark.parametrize("largest", [100, 1 << 30])
def test_a_function_that_another_one_calls(
    largest: int, counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory and steps are those of the executor, also where the called function stops."""
    numbers = np.random.default_rng(1).integers(0, largest, (2, 20, 20)).astype(np.int32)
    found: list[Any] = []
    for backend in ("numpy", "auto"):
        compiled.use(backend)
        total = hu.Buffer.from_numpy(np.zeros((20, 20), np.int32), "memref<20x20xi32>")
        hu.run(hu.parse(_PRINTING), *numbers, total, 5)
        found.append([total.load(), total.load().poisoned.tolist(), capsys.readouterr().out])
        for steps in (64_000, 66_000, 67_000, 70_000):
            with contextlib.suppress(hu.LimitExceeded):
                hu.run(hu.parse(_PRINTING), *numbers, total, 5, max_steps=steps)
            found[-1] += [total.load(), capsys.readouterr().out]
    assert found[0] == found[1]
    assert counted


def test_large_memory_is_not_copied_for_short_runs(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @f(%m: memref<?xi32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %x = memref.load %m[%i] : memref<?xi32>
        %y = arith.addi %x, %x : i32
        memref.store %y, %m[%i] : memref<?xi32>
      }
      return
    }"""
    module = hu.parse(text)
    memory = hu.Buffer.from_numpy(np.ones(1 << 21, np.int32), "memref<?xi32>")
    with monkeypatch.context() as patched:
        patched.setattr(hot, "Copy", lambda memory: pytest.fail("copied"))
        hu.run(module, memory, 10)
        hu.run(module, memory, 5_000)
    assert not counted
    hu.run(module, memory, 5_000)
    assert len(counted) == 1
    assert memory.numpy()[[9, 4_999, 5_000]].tolist() == [8, 4, 1]
