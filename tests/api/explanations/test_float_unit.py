"""Explanations of the operations of a float unit against `hu.eval` and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.explanations.explaining import explain_op
from halfulp.explanations.float_explainers import FLOAT_UNIT
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding

MODES = tuple(mode.spelling for mode in tuple(Rounding)[:5])
MEANINGS: dict[str, Any] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": lambda a, b: a / b if b else None,
    "fmadd": lambda a, b, c: a * b + c,
    "fmsub": lambda a, b, c: a * b - c,
    "fnmsub": lambda a, b, c: c - a * b,
    "fnmadd": lambda a, b, c: -(a * b) - c,
}
ONE_OPERAND = {
    "fcvt": ("f32", "f8E4M3FN"),
    "fcvt_to_si": ("f16", "i8"),
    "fcvt_to_ui": ("f16", "i8"),
    "fcvt_from_si": ("i16", "f8E5M2"),
    "fcvt_from_ui": ("i16", "f8E5M2"),
    "fround": ("f8E4M3FN", None),
    "froundnx": ("f16", None),
    "fclass": ("f8E5M2", None),
}


def drawn(types: tuple[str, ...], count: int, seed: int) -> list[list[hu.Value]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        row = []
        for name in types:
            bits = FORMATS[name].bits if name in FORMATS else int(name[1:])
            storage = np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32
            row.append(hu.Value.from_bits(np.array(rng.integers(0, 1 << bits, dtype=np.uint64), storage), name))
        rows.append(row)
    return rows


def agrees(explanation: Any, found: Any) -> None:
    value, flags = found
    if value.poison is not None and bool(value.poisoned):
        assert explanation.result is None
        return
    assert explanation.result == int(value.bits)
    assert int(explanation.flags or 0) == int(flags)


@pytest.mark.long
@pytest.mark.parametrize("op", MEANINGS)
def test_mixed_arithmetic(op: str) -> None:
    types = ("f8E4M3FN", "bf16", "f32")[: 2 + op.endswith(("madd", "msub"))]
    for number, row in enumerate(drawn(types, 25, 1)):
        mode = MODES[number % len(MODES)]
        explanation = explain_op(op, *row, to="f16", rounding=mode)
        agrees(explanation, hu.eval(op, *row, to="f16", rounding=mode, flags=True))
        values = [scalar.value(FORMATS[name], int(x.bits)) for name, x in zip(types, row, strict=True)]
        if None not in values and MEANINGS[op](*values) is not None:
            assert explanation.exact == MEANINGS[op](*values)


@pytest.mark.long
@pytest.mark.parametrize("op", ONE_OPERAND)
def test_one_operand(op: str) -> None:
    source, to = ONE_OPERAND[op]
    for number, (x,) in enumerate(drawn((source,), 60, 2)):
        how: dict[str, Any] = {} if op == "fclass" else {"rounding": MODES[number % len(MODES)]}
        given: dict[str, Any] = {} if to is None else {"to": to}
        agrees(explain_op(op, x, type=source, **given, **how), hu.eval(op, x, **given, **how, flags=True))


def test_signalling_comparisons() -> None:
    for a, b in drawn(("f8E5M2", "f8E5M2"), 60, 3):
        agrees(explain_op("fcmps", a, b, predicate="ole"), hu.eval("fcmps", a, b, predicate="ole", flags=True))
    assert "unordered" in explain_op("fcmps", 1.0, float("nan"), type="f16", predicate="olt").rule


def test_words_and_errors() -> None:
    rounded = explain_op("fcvt_to_si", 2.5, type="f16", to="i8", rounding="upward")
    assert rounded.rule == "toward +infinity: 3, and within -128 to 127"
    assert "positive subnormal: bit 5" in explain_op("fclass", 1e-6, type="f16").rule
    story = explain_op("fnmsub", "bf16=1.5", "bf16=0.25", "1", to="f32")
    assert story.exact == Fraction(5, 8)
    assert "-(1.5 * 0.25) + 1" in str(story)
    with pytest.raises(hu.errors.InputError, match="not to_odd"):
        explain_op("fround", 2.5, type="f16", rounding="to_odd")
    with pytest.raises(hu.errors.InputError, match="fmadd needs the type of its result"):
        explain_op("fmadd", 1.5, 2.5, 1.0)
    with pytest.raises(hu.errors.InputError, match='predicate="olt"'):
        explain_op("fcmps", 1.0, 2.0, type="f16")


def test_each_operation_is_tried() -> None:
    assert {*MEANINGS, *ONE_OPERAND, "fcmps"} == set(FLOAT_UNIT)
