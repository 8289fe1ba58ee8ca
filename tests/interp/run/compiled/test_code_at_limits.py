"""Machine code of functions: floats that are no ordinary numbers, limits at each step, memory that is shared, and odd control flow."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from code_of_programs import Both, both, of
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.run.compiled import lowering, program
from halfulp.interp.run.compiled.context import Context
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer, buffer_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

# Zeros, the smallest numbers and their neighbours, ordinary numbers that round, the largest one, infinities.
NUMBERS = {
    "f32": (0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3F800001, 0x3EAAAAAB, 0x4B000001, 0x5F000000, 0x7F7FFFFF, 0x7F800000),
    "f64": (0, 1, 0x000FFFFFFFFFFFFF, 0x3FF0000000000000, 0x3FF0000010000001, 0x380FFFFFE0000000, 0x47EFFFFFF0000000,
            0x369FFFFFFFFFFFFF, 0x43E0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000),
    "bf16": (0, 1, 0x007F, 0x0080, 0x3F80, 0x3F81, 0x3EAB, 0x4B01, 0x7F7F, 0x7F80),
    "f16": (0, 1, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0x3555, 0x6401, 0x7BFF, 0x7C00),
}  # fmt: skip
NANS = {
    "f32": (0x7FC00000, 0x7FC12345, 0x7F812345, 0xFFC00001),
    "f64": (0x7FF8000000000000, 0x7FF8123456789ABC, 0x7FF0000000000001, 0xFFF8000000000001),
    "bf16": (0x7FC0, 0x7F81, 0xFFFF),
    "f16": (0x7E00, 0x7C01, 0xFFFF),
}
BITS = {"f32": 32, "f64": 64, "bf16": 16, "f16": 16}
BODIES = {
    **{op: f"%z = arith.{op} %x, %y : T" for op in ("addf", "subf", "mulf", "divf")},
    **{op: f"%z = arith.{op} %x, %y : T" for op in ("maximumf", "minimumf", "maxnumf", "minnumf")},
    "negf": "%z = arith.negf %x : T",
    "a chain": "%p = arith.mulf %x, %y : T\n%q = arith.addf %p, %x : T\n%z = arith.subf %q, %y : T",
    "a choice": "%less = arith.cmpf olt, %x, %y : T\n%z = arith.select %less, %x, %y : T",
    "an unordered choice": "%less = arith.cmpf ueq, %x, %y : T\n%z = arith.select %less, %x, %y : T",
    "a branch": "%less = arith.cmpf oge, %x, %y : T\n%z = scf.if %less -> T { %p = arith.addf %x, %x : T\nscf.yield %p : T }"
    " else { scf.yield %y : T }",
    "integers": "%bits = arith.bitcast %x : T to I\n%p = arith.uitofp %bits : I to T\n%q = arith.sitofp %bits : I to T\n"
    "%z = arith.subf %p, %q : T",
    "a copy": "%z = arith.select %true, %x, %y : T",
}
CONVERSIONS = {
    "f32": "%w = arith.extf %x : f32 to f64\n%v = arith.extf %y : f32 to f64\n%p = arith.mulf %w, %v : f64\n"
    "%z = arith.truncf %p : f64 to f32",
    "f64": "%w = arith.truncf %x : f64 to f32\n%v = arith.truncf %y : f64 to f32\n%p = arith.addf %w, %v : f32\n"
    "%z = arith.extf %p : f32 to f64",
    "bf16": "%w = arith.extf %x : bf16 to f32\n%v = arith.extf %y : bf16 to f64\n%u = arith.truncf %v : f64 to f32\n"
    "%p = arith.mulf %w, %u : f32\n%z = arith.truncf %p : f32 to bf16",
    "f16": "%w = arith.extf %x : f16 to f32\n%v = arith.extf %y : f16 to f64\n%u = arith.truncf %v : f64 to f32\n"
    "%p = arith.mulf %w, %u : f32\n%z = arith.truncf %p : f32 to f16",
}
# Those of 16 bits are numbers of f32 in between, whatever the op is.
QUICK = [*product(("f32", "f64"), (*BODIES, "conversions")), ("bf16", "a chain"), ("f16", "a chain")]
SLOW = [case for case in product(NUMBERS, (*BODIES, "conversions")) if case not in QUICK]


def _memory(codes: list[int], type_: str) -> Buffer:
    memref = ty.MemRefType((len(codes),), as_type(type_))
    width = BITS.get(type_, 32)
    value = Value(ty.TensorType(memref.shape, memref.element), ints_to_codes(codes, width, (len(codes),)))
    return buffer_of(value, memref, "m")


def _pairwise(type_: str, body: str, count: int) -> Both:
    memref = f"memref<{count}x{type_}>"
    body = body.replace("T", type_).replace("I", f"i{BITS[type_]}")
    return both(
        f"""func.func @f(%a: {memref}, %b: {memref}, %c: {memref}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = arith.constant {count} : index
          %true = arith.constant true
          scf.for %i = %c0 to %n step %c1 {{
            %x = memref.load %a[%i] : {memref}
            %y = memref.load %b[%i] : {memref}
            {body}
            memref.store %z, %c[%i] : {memref}
          }}
          return
        }}""",
    )


@pytest.mark.parametrize(
    ("type_", "name"),
    [*thinned(QUICK, 7, rows=True), *[pytest.param(*case, marks=pytest.mark.exhaustive) for case in SLOW]],
)
def test_floats(type_: str, name: str) -> None:
    body = CONVERSIONS[type_] if name == "conversions" else BODIES[name]
    sign = 1 << (BITS[type_] - 1)
    numbers = [code | negative for code in NUMBERS[type_] for negative in (0, sign)]
    for codes in (numbers, [*numbers, *NANS[type_]]):
        pairs = [*product(codes, codes)]
        columns = [[x for x, _ in pairs], [y for _, y in pairs], [0] * len(pairs)]
        pair = _pairwise(type_, body, len(pairs))
        pair.check(lambda columns=columns: [_memory(column, type_) for column in columns])  # type: ignore[misc]
        assert not pair.stopped


def test_one_nan_in_many_numbers() -> None:
    codes = [0x3F800000] * 200
    codes[150] = 0x7F812345
    pair = _pairwise("f32", BODIES["a chain"], 200)
    found = pair.check(lambda: [_memory(codes, "f32"), _memory([0x40000000] * 200, "f32"), _memory([0] * 200, "f32")])
    assert not pair.stopped
    assert int(found[2][2].bits[150]) == 0x7FC12345


def test_a_nan_keeps_its_bits_from_argument_to_result() -> None:
    text = """func.func @f(%x: f32, %y: f64, %n: i32) -> (f32, f64) {
      %zero = arith.constant 0 : i32
      %c = arith.cmpi eq, %n, %zero : i32
      %r:2 = scf.if %c -> (f32, f64) { scf.yield %x, %y : f32, f64 } else { scf.yield %x, %y : f32, f64 }
      return %r#0, %r#1 : f32, f64
    }"""
    pair = both(text)
    given = [
        Value.from_bits(np.uint32(0x7F812345), "f32"),
        Value.from_bits(np.uint64(0x7FF0000000000001), "f64"),
        of(0, "i32"),
    ]
    assert pair.check(lambda: given)[0] == tuple(given[:2])
    assert not pair.stopped


@each_row((1 << 60) + (1 << 36) + 1, (1 << 63) + (1 << 39) + 1, -(1 << 60) - (1 << 36) - 1, 3)
def test_long_integers_are_rounded_once(number: int) -> None:
    text = """func.func @f(%n: i64) -> (f32, f32) {
      %x = arith.sitofp %n : i64 to f32
      %y = arith.uitofp %n : i64 to f32
      return %x, %y : f32, f32
    }"""
    pair = both(text)
    pair.check(lambda: [Value.from_bits(np.uint64(number % 2**64), "i64")])
    assert not pair.stopped


_STEPS = """func.func private @g(%x: i32, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = arith.cmpi eq, %n, %zero : i32
  %r = scf.if %end -> i32 { scf.yield %x : i32 } else {
    %less = arith.subi %n, %one : i32
    %y = func.call @g(%x, %less) : (i32, i32) -> i32
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @f(%m: memref<3xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 2 : index
  %k = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      %x = memref.load %m[%i] : memref<3xi32>
      %y = func.call @g(%x, %k) : (i32, i32) -> i32
      %z = arith.addi %y, %k : i32
      memref.store %z, %m[%i] : memref<3xi32>
    }
  }
  return
}"""


@pytest.mark.parametrize("apart", amounts(4, long=1))
def test_the_limit_holds_at_each_step(apart: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first slice of steps, and in later ones."""
    monkeypatch.setattr(program, "SLICE", 7)
    monkeypatch.setattr(lowering, "SLICE", 7)

    def make() -> list[Any]:
        return [_memory([1, 2, 3], "i32")]

    module = hu.parse(_STEPS)
    function = next(op for op in module.walk() if op.symbol_name == "f")
    found: list[Any] = []
    for steps in (*range(1, 45, apart), 44):
        pair = Both(module, function, Settings(max_steps=steps))
        found.append(pair.check(make))
        assert pair.stopped == (found[-1][0] == "OutOfSteps")
    assert {outcome[0] == "OutOfSteps" for outcome in found} == {True, False}


_VIEWS = """func.func @f(%a: memref<4xi32, strided<[?], offset: ?>>, %b: memref<?xi32, strided<[?], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %b, %c0 : memref<?xi32, strided<[?], offset: ?>>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<4xi32, strided<[?], offset: ?>>
    %y = memref.load %b[%i] : memref<?xi32, strided<[?], offset: ?>>
    %z = arith.addi %x, %y : i32
    memref.store %z, %b[%i] : memref<?xi32, strided<[?], offset: ?>>
  }
  return
}"""


@pytest.mark.parametrize(("size", "stops"), [(4, False), (5, True)])
def test_views_of_one_memory(size: int, stops: bool) -> None:
    pair = both(_VIEWS)
    one, other = pair.types
    assert isinstance(one, ty.MemRefType)
    assert isinstance(other, ty.MemRefType)

    def make() -> list[Any]:
        memory = Allocation(as_type("i32"), 12)
        memory.bits[:] = np.arange(12) * 7
        return [Buffer(one, memory, 10, (4,), (-2,)), Buffer(other, memory, 1, (size,), (2,))]

    pair.check(make)
    assert pair.stopped == stops


def test_poison_in_memory() -> None:
    """Code reads what is clean, cleans what it writes, and leaves what is poison to the executor."""
    pair = both(_VIEWS, clean=False)
    one, other = pair.types
    assert isinstance(one, ty.MemRefType)
    assert isinstance(other, ty.MemRefType)
    for poisoned, stops in (((3,), False), ((9,), False), ((0,), True), ((6,), True)):

        def make(poisoned: tuple[int, ...] = poisoned) -> list[Any]:
            memory = Allocation(as_type("i32"), 10)
            memory.poison = np.zeros(10, np.uint16)
            memory.origins = Origins()
            memory.poison[[*poisoned]] = memory.origins.id_of(Origin("test", "", "of the test"))
            return [Buffer(one, memory, 0, (4,), (1,)), Buffer(other, memory, 5, (2,), (1,))]

        pair.check(make)
        assert pair.stopped == stops


def test_poison_as_an_argument() -> None:
    pair = both("func.func @f(%x: i32) -> i32 {\n%y = arith.addi %x, %x : i32\nreturn %y : i32 }")
    poison = Value(as_type("i32"), np.array(3, np.uint32), np.array(1, np.uint16))
    pair.check(lambda: [poison])
    assert pair.stopped


LOOPS = {
    "bytes up to the largest": ("i8", -128, 127, 51),
    "bytes, unsigned": ("i8", 3, 250, 84),
    "no trip": ("i8", 5, 5, 1),
    "from below zero": ("index", -3, 3, 2),
}


@pytest.mark.parametrize("name", LOOPS)
def test_counted_loops(name: str) -> None:
    type_, first, last, step = LOOPS[name]
    unsigned = "unsigned " if "unsigned" in name else ""
    bound = "%i : index to i64" if type_ == "index" else f"%i : {type_} to i64"
    cast = f"arith.index_cast {bound}" if type_ == "index" else f"arith.extsi {bound}"
    text = f"""func.func @f(%a: {type_}, %b: {type_}, %c: {type_}, %s: i64) -> (i64, i64) {{
      %r:2 = scf.for {unsigned}%i = %a to %b step %c iter_args(%x = %s, %y = %s) -> (i64, i64) : {type_} {{
        %k = {cast}
        %z = arith.addi %x, %k : i64
        scf.yield %y, %z : i64, i64
      }}
      return %r#0, %r#1 : i64, i64
    }}"""
    pair = both(text.replace(" : index {", " {"))
    pair.check(lambda: [of(first, type_), of(last, type_), of(step, type_), of(1000, "i64")])
    assert not pair.stopped
    steps = (0, 100) if name.startswith("bytes") else (0,)  # after a step of 100, i8 has no further value
    for step in steps:
        pair.check(lambda: [of(first, type_), of(last, type_), of(step, type_), of(1000, "i64")])  # noqa: B023
        assert pair.stopped


_BETWEEN = """func.func @f(%n: i32, %k: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = arith.cmpi slt, %k, %zero : i32
  cf.cond_br %c, ^a(%n : i32), ^b(%n, %k : i32, i32)
^a(%x: i32):
  %y = arith.subi %x, %one : i32
  %d = arith.cmpi sgt, %y, %k : i32
  cf.cond_br %d, ^b(%y, %x : i32, i32), ^end(%y : i32)
^b(%u: i32, %v: i32):
  %w = arith.xori %u, %v : i32
  %e = arith.cmpi sgt, %w, %n : i32
  cf.cond_br %e, ^b(%v, %one : i32, i32), ^a(%u : i32)
^end(%r: i32):
  return %r : i32
}"""


def test_two_blocks_that_jump_into_each_other() -> None:
    pair = both(_BETWEEN, max_steps=1000)
    found = {pair.check(lambda n=n, k=k: [of(n, "i32"), of(k, "i32")])[0] for n, k in product(range(-3, 9), repeat=2)}  # type: ignore[misc]
    assert len(found) > 5


@pytest.mark.long
def test_many_conditions_in_each_other() -> None:
    depth = 150
    lines = [
        f"%c{n} = arith.cmpi sgt, %x, %k{n} : i32\ncf.cond_br %c{n}, ^b{n}, ^end(%k{n} : i32)\n^b{n}:"
        for n in range(depth)
    ]
    constants = "\n".join(f"%k{n} = arith.constant {n} : i32" for n in range(depth))
    lines = [constants, *lines, "cf.br ^end(%x : i32)", "^end(%r: i32):", "return %r : i32"]
    pair = both("func.func @f(%x: i32) -> i32 {\n" + "\n".join(lines) + "\n}")
    for number in (0, 19, 20, 21, 149, 1000):
        assert pair.check(lambda number=number: [of(number, "i32")])[0] == (of(number, "i32"),)  # type: ignore[misc]
        assert not pair.stopped


def test_an_error_of_python_leaves_the_run_to_the_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @f(%m: memref<2xi32>, %k: i32) {
      %c1 = arith.constant 1 : index
      memref.store %k, %m[%c1] : memref<2xi32>
      %fresh = memref.alloca() : memref<2xi32>
      return
    }"""
    pair = both(text)
    monkeypatch.setattr(Context, "made", lambda *_: 1 // 0)
    pair.check(lambda: [_memory([1, 2], "i32"), of(5, "i32")])
    assert pair.stopped
