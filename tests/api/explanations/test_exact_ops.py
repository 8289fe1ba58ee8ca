"""Explanations of the exact ops of math: the words beside the results of `hu.eval`."""

from fractions import Fraction
from itertools import cycle, product
from typing import Any

import gmpy2
import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.explanations.explaining import explain_op
from halfulp.explanations.float_explainers import EXACT_OPS, FLOAT_UNIT
from halfulp.explanations.records import OpExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.reals import elementary
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.number_reader import MODES

FLOATS = ("-2.5", "-0.5", "-0", "0", "0.5", "1", "1.5", "3.5", "448", "nan")
INTEGERS = ("-128", "-3", "-1", "0", "1", "2", "7")
F8 = FORMATS["f8E4M3FN"]


def explained(op: str, *operands: str, type_: str) -> OpExplanation:
    found = hu.explain_op(op, *operands, type=type_)
    assert isinstance(found, OpExplanation)
    return found


def value_of(found: OpExplanation) -> Fraction | None:
    assert found.result is not None
    return scalar.value(F8, found.result)


@pytest.mark.parametrize(
    "op", thinned([f"math.{name}" for name in ("ceil", "floor", "round", "roundeven", "trunc", "absf")], 2)
)
def test_the_exact_value_is_the_result(op: str) -> None:
    for operand in FLOATS:
        found = explained(op, operand, type_="f8E4M3FN")
        assert found.exact == value_of(found), (op, operand)
        assert found.rule


@each_row(
    ("ceil", "toward +infinity: 3"),
    ("floor", "toward -infinity: 2"),
    ("round", "to nearest, ties away from zero: 3"),
    ("roundeven", "to nearest, ties to even: 2"),
    ("trunc", "toward zero: 2"),
)
def test_directions(op: str, words: str) -> None:
    assert explained(f"math.{op}", "2.5", type_="f32").rule == words
    assert explained(op, "2", type_="f32").rule == "2 is an integer"
    assert "with the sign of the operand" in explained(op, "-0", type_="f32").rule


def test_an_integer_beyond_the_format_overflows() -> None:
    found = explained("math.ceil", "7.5", type_="f6E2M3FN")
    assert found.rule.startswith("beyond the largest finite value 7.5; it would round to 8 or more")
    assert found.rounding is not None
    assert found.rounding.exact == 8


@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite", "isnormal"])
def test_classes(op: str) -> None:
    for operand in ("0", "-1", "inf", "nan", "1e-40"):
        found = explained(op, operand, type_="f32")
        assert found.rule.endswith(": true" if found.result else ": false")


@pytest.mark.long
def test_fma_is_one_rounding() -> None:
    found = explained("math.fma", "1.5", "1.25", "-1.75", type_="f8E4M3FN")
    assert found.rounding is not None
    assert found.rounding.exact == Fraction(1, 8)
    for a, b, c in product(("-0.5", "-0", "0", "448"), ("-2.5", "1"), ("-0.5", "-0", "0", "1")):
        found = explained("fma", a, b, c, type_="f8E4M3FN")
        rounding = found.rounding
        assert rounding is not None
        if rounding.exact is not None and found.result is not None:
            assert found.result == scalar.from_fraction(F8, rounding.exact).code or not rounding.exact
            zero = ("-0" if found.result >> 7 else "+0") if not rounding.exact else ""
            assert found.rule.endswith(zero)
    assert "zero times infinity" in explained("fma", "0", "inf", "1", type_="f32").rule
    assert "infinities of different signs" in explained("fma", "1", "inf", "-inf", type_="f32").rule


def test_copysign_and_clamp() -> None:
    assert explained("math.copysign", "3", "-0", type_="f32").rule == "the magnitude of 3 with the negative sign of -0"
    assert "the larger of that and min, 0" in explained("math.clampf", "-3", "0", "1", type_="f32").rule
    assert explained("math.clampf", "-3", "0", "1", type_="f32").result == 0


def test_integers() -> None:
    for op, operand in product(("absi", "ctlz", "cttz", "ctpop"), INTEGERS):
        found = explained(f"math.{op}", operand, type_="i8")
        assert found.result is not None
        if op != "absi":
            assert found.rule.startswith(f"{found.result} ")
        else:
            assert found.exact == found.result - (256 if found.result > 127 else 0)
    assert explained("math.ipowi", "3", "5", type_="i8").rule == "3 to the power 5, modulo 2^8"
    assert explained("math.ipowi", "0", "-1", type_="i8").undefined


def test_each_exact_op_is_explained() -> None:
    assert len(EXACT_OPS) == 5 + 4 + 4 + 5


# --- functions --------------------------------------------------------------------------------------------------------
#
# Explanations of elementary functions: results, bounds, reasons, the bits that it took, tables and pages.

OPERANDS = ("0", "-0", "1", "-1", "0.5", "2", "-2.5", "inf", "-inf", "nan", "0x1", "448", "1e-3")


def functions_explained(op: str, *operands: str, fmt: str = "f32", **how: Any) -> OpExplanation:
    found = hu.explain_op(op, *operands, type=fmt, **how)
    assert isinstance(found, OpExplanation)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fmt", ["f8E4M3FN", "f4E2M1FN", "f64"])
def test_each_function_is_explained_as_the_specification_computes_it(name: str, fmt: str) -> None:
    for operand, mode in zip(OPERANDS, cycle(MODES), strict=False):
        found = functions_explained(name, operand, fmt=fmt, rounding=mode)
        (x,) = found.operands
        if x.code is None:
            assert found.result is None
            continue
        expected = elementary.unary(name, FORMATS[fmt], x.code, rounding=MODES[mode])
        assert found.result == (None if expected.poison else expected.code), (operand, mode)
        assert found.flags == expected.flags
        assert found.rule
        check_bounds(found)


def check_bounds(found: OpExplanation) -> None:
    """The exact value lies between its bounds, and these on one side of the values and the midpoint around it."""
    rounding = found.rounding
    assert rounding is not None
    if rounding.enclosure is None:
        return
    low, high, fmt = rounding.enclosure.low, rounding.enclosure.high, rounding.format
    assert rounding.exact is not None
    assert low < rounding.exact < high
    around = [scalar.value(fmt, code) for code in (rounding.below, rounding.above) if code is not None]
    for point in (*around, rounding.midpoint):
        assert point is None or not low < point < high


def test_digits_are_those_of_mpfr() -> None:
    with gmpy2.context(precision=300):
        x = gmpy2.mpfr("0.5")
        for name in ("exp", "sin", "tanh", "log1p", "erf", "cbrt", "atan"):
            digits = functions_explained(name, "0.5").rounding
            assert digits is not None
            expected = f"{getattr(gmpy2, name)(x):.40f}"
            assert digits.exact_text.removesuffix("...") == expected[: len(digits.exact_text) - 3]
            assert len(digits.exact_text) > 30


@pytest.mark.long
@each_row(
    ("exp2", ["3"], "exp2 is rational at integers"),
    ("exp", ["0.5"], "irrational by Lindemann and Weierstrass: exp is rational only at 0"),
    ("exp2", ["0.5"], "irrational by unique factorisation: exp2 is rational only at integers"),
    ("sinpi", ["0.25"], "irrational by Niven: sinpi is rational only at multiples of 1/2"),
    ("erf", ["0.5"], "no proof says whether erf is rational here"),
    ("softplus", ["0"], "irrational by Lindemann and Weierstrass, at every number"),
    ("tanh", ["1e-30"], "near 0, tanh(x) = x - x**3 / 3 + ...: it is close to x, and below it by less than 2^-297"),
    ("cos", ["1e-20"], "it is close to 1, and below it by less than 2^-129: no ball is needed"),
    ("sigmoid", ["-1e6"], "far out, sigmoid(x) tends to 0: it is above it by less than 2^-131072"),
    ("silu", ["1e6"], "far out, silu(x) tends to x: it is below it"),
    ("exp", ["1e30"], "far out, exp is beyond 2^131072"),
    ("atan", ["inf"], "atan(inf) is the limit of the function there"),
    ("log", ["-1"], "log(-1) is outside of the domain of log, which goes from 0 to inf: a positive, quiet NaN"),
    ("log", ["0"], "log has a pole there: division by zero: -infinity"),
    ("sin", ["inf"], "sin(inf) is not a real number: "),
    ("sinpi", ["3"], "sinpi is zero or has a pole at multiples of 1/2"),
    ("sin", ["-0"], "the result is exactly -0"),
    ("powf", ["nan", "0"], "any base to the power 0, is 1, even if the other operand is a quiet NaN"),
    ("powf", ["-2", "0.5"], "a negative base has no real power that is not an integer: NaN"),
    ("powf", ["2", "nan"], "a NaN operand: the first NaN operand, quieted"),
    ("powf", ["-0", "-3"], "zero to a negative power is a pole"),
    ("atan2", ["0", "-1"], "the sign of x is negative: pi with the sign of y"),
    ("hypot", ["3", "4"], "hypot is rational where the sum is the square of a rational number"),
    ("hypot", ["nan", "inf"], "an infinite operand gives infinity, even beside a quiet NaN"),
    ("fpowi", ["1.5", "3"], "exact     fpowi(1.5, 3) = 3.375"),
    ("rootn", ["-8", "3"], "value     -2"),
    ("rootn", ["-8", "2"], "a negative number has no real root of an even degree: NaN"),
)
def test_reasons(op: str, operands: list[str], words: str) -> None:
    found = functions_explained(op, *operands)
    assert words in str(found)
    assert found._repr_html_()


def test_the_loop_shows_each_precision_that_it_tried() -> None:
    # tanh(60) is 1 - 2^-172: balls of few bits hold 1.
    rounding = functions_explained("tanh", "60", fmt="f64").rounding
    assert rounding is not None
    assert rounding.enclosure is not None
    turns = rounding.enclosure.turns
    assert [turn.settled for turn in turns] == [False] * (len(turns) - 1) + [True]
    assert len(turns) > 1
    assert [turn.precision for turn in turns] == sorted({turn.precision for turn in turns})
    assert 2 * turns[-2].precision <= turns[-1].precision
    assert "77 bits: [1.0000000000000000000 +/- " in str(rounding)
    assert "not settled: more bits are needed" in str(rounding)


@pytest.mark.long
def test_distances_of_crude_bounds_are_bounds() -> None:
    text = str(functions_explained("exp", "-1e30"))
    assert "exact     exp(-1.000000015...e+30) = between 0 and 2^-131072" in text
    assert "error     within -1e-300 ulp" in text
    assert "-1 relative" in text
    upward = str(functions_explained("exp", "-1e30", rounding="upward"))
    assert "error     +0.999999... ulp" in upward


def test_midpoint_and_modes() -> None:
    found = functions_explained("exp", "0.1", fmt="bf16")
    text = str(found)
    assert (
        "midpoint  1.10546875  (between 0x3F8D and 0x3F8E; the exact value lies below it, by 0.0243071... ulp)" in text
    )
    assert found.rounding is not None
    assert set(found.rounding.modes) == set(MODES)
    assert found.rounding.modes["upward"].code == 0x3F8E
    assert abs(Fraction(11052788501931530981067, 10**22) - (found.rounding.exact or 0)) < Fraction(1, 10**22)


def test_profiles() -> None:
    found = functions_explained("log", "0", fmt="f4E2M1FN", profile="mlir22-fold")
    assert (
        found.result
        == elementary.unary("log", FORMATS["f4E2M1FN"], 0, policy=hu.profiles["mlir22-fold"].arithmetic).code
    )
    flushed = functions_explained("tanh", "0x1", fmt="f32", profile="spec,denormals=flush_both")
    assert flushed.result == 0


def test_arrays() -> None:
    table = hu.explain_op("exp", [0.1, 0.0, float("nan"), 100.0], type="f16")
    assert len(table) == 4
    assert table.counts == {"rounded up": 1, "exact": 1, "NaN": 1, "beyond the range of the format": 1}
    assert table[0].result == elementary.unary("exp", FORMATS["f16"], table[0].operands[0].known).code
    assert "1.105" in str(table)


@pytest.mark.parametrize("dark", [False, True])
def test_picture(dark: bool) -> None:
    figure = hu.plot.explanation(functions_explained("exp", "0.1", fmt="bf16"), dark=dark)
    texts = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert "0x3F8D" in texts
    assert "input 1.10527885019" in texts


def test_refusals() -> None:
    with pytest.raises(InputError, match="exp takes 1 operand, but 2 are given"):
        hu.explain_op("exp", 1, 2, type="f32")
    with pytest.raises(InputError, match="exp needs the type of its operands"):
        hu.explain_op("exp", 1)
    with pytest.raises(InputError, match="exp is not a cast"):
        hu.explain_op("exp", 1, type="f32", to="f16")
    with pytest.raises(Unsupported, match="no stochastic rounding"):
        hu.explain_op("exp", 1, type="f32", rounding="stochastic")
    with pytest.raises(Unsupported, match="math.sincos has no explanation; .*math.sin and others have one"):
        hu.explain_op("math.sincos", 1, type="f32")


@pytest.mark.parametrize("name", ["math.exp", "exp"])
def test_ops_and_bare_names_are_explained_alike(name: str) -> None:
    found = functions_explained(name, "1", fmt="bf16", fastmath="nnan")
    assert found.result == 0x402E
    assert str(found).startswith(f"{name} fastmath=nnan on bf16, profile spec\n")
    assert "exact     exp(1) = 2.71828182845904523536028747135..." in str(found)


def test_fastmath_makes_special_results_poison() -> None:
    found = functions_explained("math.log", "0", fastmath="ninf")
    assert found.result is None
    assert "ninf" in found.rule


def test_the_total_error_counts_rounded_operands() -> None:
    total = functions_explained("exp", "0.1", fmt="bf16").total
    assert total is not None
    assert total.real is not None
    assert abs(total.real - Fraction(110517091807564762481170782649025, 10**32)) < Fraction(1, 10**30)
    assert sum(part for _, part in total.parts) == total.error
    exact = functions_explained("exp2", "3").total
    assert exact is not None
    assert (exact.error, exact.real) == (0, 8)
    domain = functions_explained("log", "-1e-60", fmt="f16").total
    assert domain is not None
    assert domain.real is None


def test_special_cases_of_two_arguments_are_in_words() -> None:
    for function in FUNCTIONS_OF_TWO.values():
        words = [case.words for case in function.specials]
        assert all(words)
        assert len(set(words)) == len(words)


# --- float unit -------------------------------------------------------------------------------------------------------
#
# Explanations of the operations of a float unit against `hu.eval` and exact arithmetic.

FLOAT_UNIT_MODES = tuple(mode.spelling for mode in tuple(Rounding)[:5])
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
        mode = FLOAT_UNIT_MODES[number % len(FLOAT_UNIT_MODES)]
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
        how: dict[str, Any] = {} if op == "fclass" else {"rounding": FLOAT_UNIT_MODES[number % len(FLOAT_UNIT_MODES)]}
        given: dict[str, Any] = {} if to is None else {"to": to}
        agrees(explain_op(op, x, type=source, **given, **how), hu.eval(op, x, **given, **how, flags=True))


@pytest.mark.long
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
