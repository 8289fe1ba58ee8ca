"""Atomic ops of the llvm dialect. Expectations: LLVM's language reference, release 22."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu

HEAD = """
llvm.mlir.global internal constant @fixed(5 : i32) : i32
llvm.func @main(%a: {type}, %b: {type}) -> !llvm.struct<({type}, {type})> {{
  %n = llvm.mlir.constant(2 : i64) : i64
  %x = llvm.mlir.poison : {type}
  %p = llvm.alloca %n x {type} : (i64) -> !llvm.ptr
  llvm.store %a, %p : {type}, !llvm.ptr
  %u = llvm.mlir.undef : !llvm.struct<({type}, {type})>
"""
TAIL = """
  %after = llvm.load %p : !llvm.ptr -> {type}
  %s = llvm.insertvalue %before, %u[0] : !llvm.struct<({type}, {type})>
  %r = llvm.insertvalue %after, %s[1] : !llvm.struct<({type}, {type})>
  llvm.return %r : !llvm.struct<({type}, {type})>
}}
"""


def _halves(line: str, a: Any, b: Any, type_: str = "i8") -> tuple[hu.Value, hu.Value]:
    """Return what an op gave as %before, and what it left in memory."""
    whole = HEAD.format(type=type_) + line + TAIL.format(type=type_)
    found = []
    for part in (0, 1):
        program = whole.replace(
            f"llvm.return %r : !llvm.struct<({type_}, {type_})>",
            f"%h = llvm.extractvalue %r[{part}] : !llvm.struct<({type_}, {type_})>\n  llvm.return %h : {type_}",
        ).replace(f"-> !llvm.struct<({type_}, {type_})> {{", f"-> {type_} {{")
        found.append(hu.run(program, a, b, function="main")[0])
    return found[0], found[1]


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        ("xchg", 1, 2, 2),
        ("add", 127, 1, -128),
        ("sub", -128, 1, 127),
        ("_and", 12, 10, 8),
        ("nand", 12, 10, -9),
        ("_or", 12, 10, 14),
        ("_xor", 12, 10, 6),
        ("max", -1, 1, 1),
        ("min", -1, 1, -1),
        ("umax", -1, 1, -1),
        ("umin", -1, 1, 1),
        ("uinc_wrap", 3, 4, 4),
        ("uinc_wrap", 4, 4, 0),
        ("uinc_wrap", -1, 4, 0),
        ("udec_wrap", 0, 4, 4),
        ("udec_wrap", 5, 4, 4),
        ("udec_wrap", 4, 4, 3),
        ("usub_cond", 5, 3, 2),
        ("usub_cond", 3, 5, 3),
        ("usub_sat", 5, 3, 2),
        ("usub_sat", 3, 5, 0),
    ],
)
def test_integers(kind: str, a: int, b: int, expected: int) -> None:
    before, after = _halves(f"  %before = llvm.atomicrmw {kind} %p, %b seq_cst : !llvm.ptr, i8", np.int8(a), np.int8(b))
    assert (before.item(), after.item()) == (a, expected)


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        ("fadd", 1.5, 2.25, 3.75),
        ("fsub", 1.5, 2.25, -0.75),
        ("fmax", np.nan, 2.0, 2.0),
        ("fmin", 2.0, np.nan, 2.0),
        ("fmaximum", np.nan, 2.0, np.nan),
        ("fminimum", -0.0, 0.0, -0.0),
        ("fmaximum", -0.0, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "vector<2xf32>"])
def test_floats(kind: str, a: float, b: float, expected: float, type_: str) -> None:
    line = f"  %before = llvm.atomicrmw {kind} %p, %b monotonic : !llvm.ptr, {type_}"
    shape, element = ((2,), "f32") if type_[0] == "v" else ((), type_)
    first, second = (hu.convert(np.full(shape, number, np.float32), element) for number in (a, b))
    before, after = _halves(line, first, second, type_)
    for found, number in ((before, a), (after, expected)):
        shown = hu.convert(found, "f32").numpy()
        np.testing.assert_array_equal(shown, np.full(shape, number, np.float32))
        assert (np.signbit(shown) == np.signbit(np.float32(number))).all() or np.isnan(number)


@pytest.mark.parametrize(("type_", "size"), [("vector<3xf16>", 6), ("f80", 10)])
def test_other_sizes_than_powers_of_two_are_refused(type_: str, size: int) -> None:
    """LLVM has no atomic access of them; mlir-opt accepts it."""
    line = f"  %before = llvm.atomicrmw fadd %p, %b monotonic {{alignment = 16 : i64}} : !llvm.ptr, {type_}"
    program = HEAD.format(type=type_) + line + TAIL.format(type=type_)
    value = hu.Value.from_bits(np.zeros(3, np.uint16), type_) if type_[0] == "v" else hu.Value.from_bits(0, type_)
    with pytest.raises(hu.Unsupported, match=f"atomic access of {size} bytes does not run"):
        hu.run(program, value, value, function="main")


def test_poison_is_stored() -> None:
    before, after = _halves("  %before = llvm.atomicrmw add %p, %x monotonic : !llvm.ptr, i8", np.int8(3), np.int8(0))
    assert before.item() == 3
    assert after.poison is not None
    before, after = _halves("  %before = llvm.atomicrmw xchg %p, %x monotonic : !llvm.ptr, i8", np.int8(3), np.int8(0))
    assert after.poison is not None


_EXCHANGE = """  %new = llvm.mlir.constant(7 : i8) : i8
  %pair = llvm.cmpxchg {}%p, %b, %new acq_rel monotonic : !llvm.ptr, i8
  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i8, i1)>"""
_EQUAL = """
  %is = llvm.extractvalue %pair[1] : !llvm.struct<(i8, i1)>
  %before = llvm.zext %is : i1 to i8"""


@pytest.mark.parametrize("words", ["", "weak ", "weak volatile "])
@pytest.mark.parametrize(("a", "b"), [(3, 3), (3, 4), (-1, -1), (0, -1)])
def test_a_value_is_exchanged_if_it_is_the_expected_one(words: str, a: int, b: int) -> None:
    before, after = _halves(_EXCHANGE.format(words), np.int8(a), np.int8(b))
    assert (before.item(), after.item()) == (a, 7 if a == b else a)
    line = _EXCHANGE.format(words).rpartition("\n")[0] + _EQUAL
    assert _halves(line, np.int8(a), np.int8(b))[0].item() == (a == b)


def test_whether_poison_is_equal_is_poison() -> None:
    line = _EXCHANGE.format("").replace("%p, %b", "%p, %x")
    before, after = _halves(line, np.int8(3), np.int8(3))
    assert before.item() == 3
    assert "an operand of the comparison is poison" in str(after.origin())
    assert _halves(line.rpartition("\n")[0] + _EQUAL, np.int8(3), np.int8(3))[0].poison is not None


@pytest.mark.parametrize(
    "line",
    [
        "%before = llvm.atomicrmw add %q, %b monotonic {alignment = 1 : i64} : !llvm.ptr, i32",
        "%before = llvm.atomicrmw add %q, %b monotonic {alignment = 2 : i64} : !llvm.ptr, i32",
        "%before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i32",
        "%pair = llvm.cmpxchg %q, %b, %b monotonic monotonic : !llvm.ptr, i32\n"
        "  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>",
    ],
)
def test_without_an_alignment_the_size_is_meant(line: str) -> None:
    """LLVM's reference: if the alignment is left out, it is the size of the value."""
    body = f"  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8\n  {line}"
    if "= 1 : i64" in line:
        before, _ = _halves(body, np.int32(0x04030201), np.int32(0), "i32")
        assert before.poison is not None  # the last byte was never written
        return
    with pytest.raises(hu.UndefinedBehavior, match="aligned to [24] bytes is at byte 1 of the 8 bytes of llvm.alloca"):
        _halves(body, np.int32(1), np.int32(0), "i32")


@pytest.mark.parametrize(
    "line",
    [
        "%before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i32",
        "%pair = llvm.cmpxchg %q, %b, %b monotonic monotonic : !llvm.ptr, i32\n"
        "  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>",
    ],
)
def test_constant_memory_is_not_written(line: str) -> None:
    """Not even by an exchange that finds another value: LLVM counts it as a write."""
    with pytest.raises(hu.UndefinedBehavior, match="is constant, but is written"):
        _halves(f"  %q = llvm.mlir.addressof @fixed : !llvm.ptr\n  {line}", np.int32(1), np.int32(6), "i32")


def test_a_poison_pointer_is_undefined() -> None:
    line = "  %q = llvm.mlir.poison : !llvm.ptr\n  %before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i8"
    with pytest.raises(hu.UndefinedBehavior, match="the pointer is poison"):
        _halves(line, np.int8(1), np.int8(2))


def test_a_fence_changes_nothing() -> None:
    line = '  llvm.fence syncscope("agent") seq_cst\n  %before = llvm.load %p : !llvm.ptr -> i8'
    before, after = _halves(line, np.int8(4), np.int8(0))
    assert (before.item(), after.item()) == (4, 4)
