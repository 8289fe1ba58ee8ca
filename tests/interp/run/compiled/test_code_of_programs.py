"""Code made of programs gives what the executor gives: results, memory, poison, errors and their places, and steps."""

from typing import Any

import numpy as np
import pytest
from amounts import thinned
from code_of_programs import both, of, random_arguments, random_both
from tables import each_row

from halfulp.interp.ir import types as ty
from halfulp.interp.run.limits import Copy
from halfulp.interp.values.buffers import GAP, buffer_of
from halfulp.semantics.kernel import Origins

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


@pytest.mark.parametrize("index", thinned(range(30), 4))
def test_random_programs(index: int) -> None:
    pair = random_both(11, index)
    for number in range(4 if pair else 0):
        assert pair is not None
        pair.check(lambda number=number: random_arguments(pair.types, (index, number)))  # type: ignore[misc]


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs(part: int) -> None:
    compared = 0
    for index in range(400 * part, 400 * (part + 1)):
        pair = random_both(12, index)
        for number in range(6 if pair else 0):
            assert pair is not None
            pair.check(lambda pair=pair, number=number: random_arguments(pair.types, (index, number)))  # type: ignore[misc] # noqa: B023
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


@pytest.mark.parametrize("name", thinned(STOPS, 3))
def test_what_stops_in_a_loop(name: str) -> None:
    more, body, count, message = STOPS[name]
    steps: dict[str, Any] = {"max_steps": 30} if "limit" in name else {}
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


@each_row(
    ("%y = memref.load %m[%i] : memref<4xi32>\nreturn %y : i32", None),
    ("memref.store %x, %m[%i] : memref<4xi32>\n%y = memref.load %m[%i] : memref<4xi32>\nreturn %y : i32", None),
    ("memref.dealloc %m : memref<4xi32>\n%y = memref.load %m[%c0] : memref<4xi32>\nreturn %y : i32", "was freed"),
    ("memref.dealloc %m : memref<4xi32>\nmemref.store %x, %m[%c0] : memref<4xi32>\nreturn %x : i32", "was freed"),
    ("memref.dealloc %m : memref<4xi32>\nmemref.dealloc %m : memref<4xi32>\nreturn %x : i32", "was freed"),
)
def test_memory_of_the_program(body: str, message: str | None) -> None:
    pair = both(_memory_program(body))
    for index in (0, 3):
        found = pair.check(lambda index=index: [of(-5, "i32"), of(index, "index")])  # type: ignore[misc]
        assert message is None or message in found[1]


def test_freed_memory_that_is_returned() -> None:
    text = """func.func @f() -> memref<4xi32> {
      %m = memref.alloc() : memref<4xi32>
      memref.dealloc %m : memref<4xi32>
      return %m : memref<4xi32>
    }"""
    pair = both(text)
    found = pair.check(list)
    assert "the memory was freed by memref.dealloc at <string>:3:7" in found[1]
    assert not pair.stopped


def test_code_that_frees_much_memory_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %m = memref.alloc() : memref<64xi32>
        memref.dealloc %m : memref<64xi32>
      }
      return
    }"""
    monkeypatch.setattr("halfulp.interp.run.compiled.context.MOST_BYTES", 10 * 64 * 4)
    pair = both(text)
    for count, stopped in ((10, False), (11, True)):
        pair.check(lambda count=count: [of(count, "index")])  # type: ignore[misc]
        assert pair.stopped is stopped


def test_memory_is_put_back_more_than_once() -> None:
    buffer = buffer_of(np.array([3], np.int32), ty.MemRefType((1,), ty.I32), "x")
    memory = buffer.allocation
    memory.spoil(GAP, Origins())
    copy = Copy(memory)
    for _ in range(2):
        assert memory.poison is not None
        memory.bits[0], memory.poison[0] = 7, 0
        copy.put_back()
        assert memory.bits.tolist() == [3]
        assert buffer.poisoned() == 1


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


def test_constant_memory_may_be_passed_on() -> None:
    """A loop writes to memory first, then to constant memory, which it carries."""
    text = """memref.global "private" constant @c : memref<2xi32> = dense<[4, 9]>
    func.func @f(%m: memref<2xi32>, %n: index) -> i32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c = memref.get_global @c : memref<2xi32>
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%to = %m, %next = %c) -> (memref<2xi32>, memref<2xi32>) {
        %x = memref.load %next[%c1] : memref<2xi32>
        func.call @put(%x, %to) : (i32, memref<2xi32>) -> ()
        scf.yield %next, %to : memref<2xi32>, memref<2xi32>
      }
      %y = memref.load %r#1[%c1] : memref<2xi32>
      return %y : i32
    }
    func.func private @put(%x: i32, %to: memref<2xi32>) {
      %c0 = arith.constant 0 : index
      memref.store %x, %to[%c0] : memref<2xi32>
      return
    }"""
    pair = both(text)
    for count, stops in ((1, False), (2, True)):
        found = pair.check(lambda count=count: [*random_arguments(pair.types[:1], 3), of(count, "index")])  # type: ignore[misc]
        assert pair.stopped is stops
        assert not stops or "is constant, but is written" in found[1]


def test_any_name() -> None:
    """Names of symbols are any bytes."""
    text = _SQUARE.replace("@f", '@"a\\00b \u00e9\\0A"')
    assert both(text).check(lambda: [of(3, "i32")])[0] == (of(9, "i32"),)


_SQUARE = """func.func @f(%x: i32) -> i32 {
  %y = arith.muli %x, %x : i32
  return %y : i32
}"""
