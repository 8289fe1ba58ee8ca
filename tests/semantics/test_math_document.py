"""The ops of math on answers worked out by hand, through every implementation of halfulp.

Sources: the math dialect's document, IEEE 754-2019 (5.3.1, 5.5.1, 5.7.2, 5.9, 9.2.1) and C23 (Annex F).
"""

from __future__ import annotations

import numpy as np
import pytest
from op_implementations import Outcome, check

import halfulp as hu

# f16: one, infinity, a quiet NaN with a payload, a signalling NaN, and the signalling NaN made quiet.
ONE, INF, QUIET, SIGNALLING, QUIETED = 0x3C00, 0x7C00, 0x7E01, 0x7C01, 0x7E01
MINUS = 0x8000
NAN = 0x7E00

UNARY: dict[str, list[tuple[int, Outcome]]] = {
    # log is -inf at both zeros and NaN below; a NaN operand keeps its payload and becomes quiet.
    "log": [(0, MINUS | INF), (MINUS, MINUS | INF), (MINUS | ONE, NAN), (ONE, 0), (INF, INF), (SIGNALLING, QUIETED)],
    "exp": [(0, ONE), (MINUS, ONE), (MINUS | INF, 0), (INF, INF), (MINUS | QUIET, MINUS | QUIET)],
    "rsqrt": [(0, INF), (MINUS, MINUS | INF), (INF, 0), (0x4400, 0x3800), (MINUS | ONE, NAN)],
    "sqrt": [(MINUS, MINUS), (0x4400, 0x4000), (MINUS | ONE, NAN)],
    "sin": [(MINUS, MINUS), (INF, NAN)],
    "cos": [(MINUS, ONE), (INF, NAN)],
    "tanh": [(INF, ONE), (MINUS | INF, MINUS | ONE), (MINUS, MINUS)],
    "erf": [(INF, ONE), (MINUS | INF, MINUS | ONE), (MINUS, MINUS)],
    "cbrt": [(MINUS | 0x4800, MINUS | 0x4000), (MINUS, MINUS), (MINUS | INF, MINUS | INF)],
    "acosh": [(ONE, 0), (0, NAN)],
    "atanh": [(ONE, INF), (MINUS | ONE, MINUS | INF), (0x4000, NAN)],
    # 0.5, 1.5, 2.5 and -0.5 are halves; a zero keeps its sign.
    "roundeven": [(0x3800, 0), (0x3E00, 0x4000), (0x4100, 0x4000), (MINUS | 0x3800, MINUS), (SIGNALLING, QUIETED)],
    "round": [(0x3800, ONE), (0x3E00, 0x4000), (0x4100, 0x4200), (MINUS | 0x3800, MINUS | ONE), (MINUS, MINUS)],
    "floor": [(0x3800, 0), (MINUS | 0x3800, MINUS | ONE), (1, 0), (MINUS | 1, MINUS | ONE), (INF, INF)],
    "ceil": [(0x3800, ONE), (MINUS | 0x3800, MINUS), (1, ONE), (MINUS | 1, MINUS)],
    "trunc": [(0x3E00, ONE), (MINUS | 0x3E00, MINUS | ONE), (MINUS | 1, MINUS)],
    # Operations on bits leave a signalling NaN as it is.
    "absf": [(MINUS | ONE, ONE), (MINUS | SIGNALLING, SIGNALLING), (MINUS, 0)],
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name: str) -> None:
    rows = UNARY[name]
    check(f"math.{name} %a : {{0}}", ["f16"], ["f16"], [[a for a, _ in rows]], [found for _, found in rows])


CLASSES = {
    "isnan": (0, 0, 0, 0, 1, 1),
    "isinf": (0, 0, 0, 1, 0, 0),
    "isfinite": (1, 1, 1, 0, 0, 0),
    "isnormal": (0, 0, 1, 0, 0, 0),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    codes = [MINUS, 1, MINUS | ONE, MINUS | INF, QUIET, SIGNALLING]
    check(f"math.{name} %a : {{0}}", ["f16"], ["i1"], [codes], CLASSES[name])


BINARY: dict[str, list[tuple[int, int, Outcome]]] = {
    "powf": [(QUIET, 0, ONE), (ONE, QUIET, ONE), (ONE, SIGNALLING, QUIETED), (MINUS | ONE, INF, ONE), (0, MINUS | ONE, INF),
             (MINUS, MINUS | ONE, MINUS | INF), (MINUS | 0x4000, 0x4200, MINUS | 0x4800), (MINUS | 0x4000, 0x3800, NAN)],
    "atan2": [(0, ONE, 0), (MINUS, ONE, MINUS), (0, MINUS | ONE, 0x4248), (INF, INF, 0x3A48), (ONE, MINUS | INF, 0x4248)],
    "copysign": [(ONE, MINUS, MINUS | ONE), (MINUS | ONE, QUIET, ONE), (SIGNALLING, MINUS | INF, MINUS | SIGNALLING)],
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name: str) -> None:
    first, second, expected = zip(*BINARY[name], strict=True)
    check(f"math.{name} %a, %b : {{0}}", ["f16", "f16"], ["f16"], [first, second], expected)


def test_fma_rounds_once() -> None:
    # (1 + 2**-10) * (1 - 2**-10) = 1 - 2**-20, so that adding -1 leaves -2**-20; the rounded product is 1.
    rows = [(0x3C01, 0x3BFE, MINUS | ONE, MINUS | 0x0010), (INF, 0, QUIET, QUIET), (0, INF, ONE, NAN)]
    columns = list(zip(*rows, strict=True))
    check("math.fma %a, %b, %c : {0}", ["f16"] * 3, ["f16"], columns[:3], columns[3])


def test_clampf_limits_and_propagates_nan() -> None:
    # A bound of NaN makes the result NaN: both steps are arith's minimumf and maximumf.
    rows = [(0x4400, 0, ONE, ONE), (MINUS | ONE, 0, ONE, 0), (0x3800, 0, ONE, 0x3800), (ONE, SIGNALLING, ONE, QUIETED)]
    columns = list(zip(*rows, strict=True))
    check("math.clampf %a to [%b, %c] : {0}", ["f16"] * 3, ["f16"], columns[:3], columns[3])


def test_fpowi_reads_the_exponent_as_signed() -> None:
    rows = [(0x4000, 10, 0x6400), (0x4000, 0xFF, 0x3800), (MINUS, 0xFF, MINUS | INF), (QUIET, 0, ONE), (0, 0, ONE)]
    columns = list(zip(*rows, strict=True))
    check("math.fpowi %a, %b : {0}, {1}", ["f16", "i8"], ["f16"], columns[:2], columns[2])


def test_ipowi_of_zero_to_a_negative_power_is_undefined() -> None:
    rows: list[tuple[int, int, Outcome]] = [
        (0, 0xFF, "undefined"), (2, 0xFF, 0), (0xFF, 0xFD, 0xFF), (3, 5, 0xF3), (0, 0, 1),
    ]  # fmt: skip
    first, second, expected = zip(*rows, strict=True)
    check("math.ipowi %a, %b : {0}", ["i8", "i8"], ["i8"], [first, second], expected)


def test_zeros_have_the_width() -> None:
    check("math.ctlz %a : {0}", ["i8"], ["i8"], [[0, 1, 0x80]], [8, 7, 0])
    check("math.cttz %a : {0}", ["i8"], ["i8"], [[0, 1, 0x80]], [8, 0, 7])
    check("math.ctpop %a : {0}", ["i8"], ["i8"], [[0, 0xFF]], [0, 8])
    check("math.absi %a : {0}", ["i8"], ["i8"], [[0x80, 0xFF]], [0x80, 1])
    assert hu.eval("ctlz", 0, type="index", index_width=32).item() == 32


def test_sincos_gives_both() -> None:
    sine, cosine = hu.eval("math.sincos", hu.convert([0.5, 100.0, np.inf], "bf16"))
    assert sine.bits.tolist() == hu.eval("math.sin", hu.convert([0.5, 100.0, np.inf], "bf16")).bits.tolist()
    assert cosine.bits.tolist() == hu.eval("math.cos", hu.convert([0.5, 100.0, np.inf], "bf16")).bits.tolist()
    for each in hu.eval("math.sincos", hu.convert([0.5, np.inf], "bf16"), fastmath="nnan"):
        assert each.poisoned.tolist() == [False, True]


def test_flags_make_poison() -> None:
    check("math.exp %a fastmath<ninf> : {0}", ["f16"], ["f16"], [[ONE, 0x6400, INF]], [0x4170, "poison", "poison"])
    check("math.sqrt %a fastmath<nnan> : {0}", ["f16"], ["f16"], [[MINUS | ONE, QUIET, ONE]], ["poison", "poison", ONE])
    check("math.absf %a fastmath<nnan> : {0}", ["f16"], ["f16"], [[MINUS | ONE, SIGNALLING]], [ONE, "poison"])
    isinf = "math.isinf %a {{fastmath = #arith.fastmath<ninf>}} : {0}"
    check(isinf, ["f16"], ["i1"], [[INF, ONE]], ["poison", 0])


def test_a_format_without_nan_gives_poison_or_its_largest_value() -> None:
    # f4E2M1FN: -1 is 0xA, 1 is 0x2, 6 (the largest) is 0x7.
    check("math.log %a : {0}", ["f4E2M1FN"], ["f4E2M1FN"], [[0xA, 0x2, 0x0]], ["poison", 0x0, 0xF])
    check("math.exp %a : {0}", ["f4E2M1FN"], ["f4E2M1FN"], [[0x7, 0xF, 0x2]], [0x7, 0x0, 0x5])


@pytest.mark.parametrize(
    ("flags", "marked"), [("afn", [True, True]), ("nsz", [True, False]), ("contract", [True, True])]
)
def test_flags_leave_results_unspecified(flags: str, marked: list[bool]) -> None:
    found = hu.eval("math.sin", hu.convert([-0.0, 1.0], "f32"), fastmath=flags, track_open=True)
    assert (found.open != 0).tolist() == marked


def test_profiles() -> None:
    x = hu.convert([-np.nan, 1.0, 2.0**-130], "bf16")
    assert hu.eval("math.exp", x, profile="ml_dtypes").bits.tolist() == [0xFFC0, 0x402E, 0x3F80]
    # A subnormal operand is a zero, and a subnormal result becomes one.
    assert hu.eval("math.sqrt", x, profile="spec,denormals=flush_both").bits.tolist()[2] == 0
    assert hu.eval("math.exp", hu.convert(-88.0, "bf16"), profile="spec,denormals=flush_both").bits == 0
    # Emulated: exp(0.1) is rounded to f32, then to bf16; subnormal results of f16 are lost.
    assert hu.eval("math.exp", hu.convert(-10.0, "f16"), profile="iree-3.13").item() == 0
    assert hu.eval("math.floor", hu.convert([-1.5, 2.5], "f16"), profile="iree-3.13").tolist() == [-2, 2]
