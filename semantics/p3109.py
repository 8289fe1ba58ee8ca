"""The operations of IEEE P3109 on codes: exact on the closed extended reals, then rounded, saturated and encoded.

Source: IEEE P3109 working group, interim report 4.0 of June 2026 on binary floating-point formats for machine learning.
The clauses in this file are its clauses. Interim report 3.2 calls the saturation mode SatNone OvfInf.

Numbers have no -0 here, and one NaN. Operations raise no flags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, p3109_format
from halfulp.fp_formats.policy import FloatPolicy, Rounding, StochasticRule
from halfulp.fp_formats.reals import extended
from halfulp.fp_formats.reals.elementary import grid_of
from halfulp.fp_formats.reals.expressions import located
from halfulp.fp_formats.reals.extended import NAN, Enclosed, Number, is_kind
from halfulp.fp_formats.reals.functions import SPECIALS, Cell, Kind, Special
from halfulp.fp_formats.scalar import FINITE, INFINITE, RandomBits

ROUNDINGS: Mapping[str, Rounding] = MappingProxyType(
    {
        "NearestTiesToEven": Rounding.TO_NEAREST_EVEN,
        "NearestTiesToAway": Rounding.TO_NEAREST_AWAY,
        "TowardPositive": Rounding.UPWARD,
        "TowardNegative": Rounding.DOWNWARD,
        "TowardZero": Rounding.TOWARD_ZERO,
        "ToOdd": Rounding.TO_ODD,
    }
)
"""The rounding modes by the names of clause 4.2, but those by random bits."""
STOCHASTIC: Mapping[str, StochasticRule] = MappingProxyType(
    {f"Stochastic{which}": FloatPolicy(stochastic=f"p3109_{which.lower()}").stochastic_rule for which in "ABC"}
)
"""The rounding modes by random bits, and how the bits decide (4.7.4)."""
SATURATIONS: Mapping[str, str] = MappingProxyType(
    {
        "SatNone": "infinity, the largest value or NaN, by rounding mode and format (interim report 3.2: OvfInf)",
        "SatFinite": "the largest value of the sign, for infinities as well",
        "SatPropagate": "the largest value of the sign; infinities stay",
    }
)
"""The saturation modes: what a value beyond the range becomes."""
EXTERNAL = tuple(FORMATS[name] for name in ("f64", "f32", "f16", "bf16"))
"""The formats beside those of P3109 that operations take and give (clause 4.8)."""
ZERO, PLUS, MINUS = SPECIALS["0"], SPECIALS["inf"], SPECIALS["-inf"]
ONE = Fraction(1)


def takes(fmt: FloatFormat) -> bool:
    """Tell whether the operations of P3109 accept a format: a format of P3109, or one that P3109 calls external."""
    try:
        return fmt in EXTERNAL or p3109_format(fmt.name) == fmt
    except ValueError:
        return False


# --- decoding and projection, 4.7 -------------------------------------------------------------------------------------


def decode(fmt: FloatFormat, code: int) -> Number:
    """Return the number that a code represents."""
    x = scalar.unpack(fmt, code)
    if x.kind == FINITE:
        return scalar.number(x) if x.significand else ZERO
    if x.kind == INFINITE:
        return MINUS if x.sign else PLUS
    return NAN


def project(fmt: FloatFormat, x: Number, rounding: Rounding, saturation: str, bits: RandomBits | None = None) -> int:
    """Round a number to the precision of a format, saturate it, and return its code (4.7.3)."""
    if isinstance(x, Enclosed):
        width, grid = bits.width if bits else 0, grid_of(fmt)
        found: Fraction | Special | Cell = located(x, lambda lead: grid(lead) - width)
    else:
        found = x
    if isinstance(found, Special):
        if found.kind is Kind.INFINITE:
            return _saturated(fmt, found.sign, True, rounding, saturation)
        return 0 if found.kind is Kind.ZERO else fmt.nan_code or 0
    sign, magnitude = _rounded(fmt, found, rounding, bits)
    if not magnitude:
        return 0
    if magnitude > fmt.max_magnitude or (sign and not fmt.signed):
        return _saturated(fmt, sign, False, rounding, saturation)
    return scalar.with_sign(fmt, sign, magnitude)


def _rounded(fmt: FloatFormat, x: Fraction | Cell, rounding: Rounding, bits: RandomBits | None) -> tuple[int, int]:
    """Round a number to the precision, without an upper limit on the exponent (4.7.4); return sign and magnitude."""
    if isinstance(x, Cell):  # half a cell further stands for every number in it
        sign, significand, exponent = x.sign, 2 * x.floor + 1, x.exponent - 1
    else:
        sign, numerator, denominator = int(x < 0), abs(x.numerator), x.denominator
        extra = fmt.precision + 2 + (bits.width if bits else 0)
        extra += max(0, denominator.bit_length() - numerator.bit_length())
        digits, rest = divmod(numerator << extra, denominator)
        significand, exponent = digits << 1 | (rest != 0), -extra - 1
    lowest = max(significand.bit_length() - 1 + exponent, fmt.emin) - fmt.mantissa_bits
    parity = scalar.code_parity(fmt, lowest)
    kept, _ = scalar.round_to_integer(sign, significand, lowest - exponent, rounding, bits, parity)
    return sign, (lowest + fmt.mantissa_bits - fmt.emin << fmt.mantissa_bits) + kept


def _saturated(fmt: FloatFormat, sign: int, infinite: bool, rounding: Rounding, saturation: str) -> int:
    """Return the code of a number beyond the finite range (4.7.5)."""
    end = scalar.with_sign(fmt, sign, fmt.max_code) if fmt.signed or not sign else 0
    infinity = None
    if fmt.infinity_code is not None and (fmt.signed or not sign):
        infinity = scalar.with_sign(fmt, sign, fmt.infinity_code)
    if saturation != "SatNone":
        return infinity if infinite and infinity is not None and saturation == "SatPropagate" else end
    if not infinite:
        inward = Rounding.UPWARD if sign else Rounding.DOWNWARD
        even = rounding is Rounding.TO_ODD and not fmt.signed and not sign
        if rounding in (Rounding.TOWARD_ZERO, inward) or even:
            return end
    if sign and not fmt.signed:
        return fmt.nan_code or 0
    return end if infinity is None else infinity


# --- operations on numbers, 4.10 and 4.11 -----------------------------------------------------------------------------


def _plain(x: Number) -> Number:
    """Return a number without the sign of a zero."""
    return ZERO if is_kind(x, Kind.ZERO) else x


def _nan(x: Number) -> bool:
    return is_kind(x, Kind.NAN)


def _infinite(x: Number) -> bool:
    return is_kind(x, Kind.INFINITE)


def _zero(x: Number) -> bool:
    return is_kind(x, Kind.ZERO)


def _sign(x: Number) -> int:
    """Return -1, 0 or 1; x is not a NaN."""
    if _zero(x):
        return 0
    assert not isinstance(x, Special) or x.kind is Kind.INFINITE
    return 1 - 2 * extended.negative(x)


def add(x: Number, y: Number) -> Number:
    """Add two numbers (4.10.3)."""
    return _plain(extended.add(x, y, False))


def multiply(x: Number, y: Number) -> Number:
    """Multiply two numbers (4.10.4)."""
    return _plain(extended.multiply(x, y))


def divide(x: Number, y: Number) -> Number:
    """Divide two numbers; a division by zero is NaN (4.10.5)."""
    return NAN if _zero(y) else _plain(extended.divide(x, y))


def _copy_sign(x: Number, y: Number) -> Number:
    size = extended.magnitude(x)
    return NAN if _nan(y) else _plain(extended.negate(size) if _sign(y) < 0 else size)


def _unary(name: str) -> Callable[[Number], Number]:
    return lambda x: _plain(extended.of_one(name, x))


def _enclosed(ball: Callable[[arb], arb], x: Number) -> Number:
    return Enclosed(lambda: ball(extended.ball_of(x)))


def _tan_pi(x: Number) -> Number:
    if isinstance(x, Special):
        return x if _zero(x) else NAN
    assert isinstance(x, Fraction)
    quarter = x % 1 * 4
    if quarter.denominator == 1:  # by Niven, tan(x * pi) is rational nowhere else
        return (ZERO, ONE, NAN, -ONE)[int(quarter)]
    return _enclosed(lambda ball: ball.sin_pi() / ball.cos_pi(), x)


_HALF = Fraction(1, 2)
_ARCS: Mapping[str, tuple[Callable[[arb], arb], Mapping[Fraction, Fraction]]] = MappingProxyType(
    {
        "asin": (arb.asin, {ONE: _HALF, -ONE: -_HALF, _HALF: Fraction(1, 6), -_HALF: Fraction(-1, 6)}),
        "acos": (arb.acos, {-ONE: ONE, _HALF: Fraction(1, 3), -_HALF: Fraction(2, 3)}),
        "atan": (arb.atan, {ONE: Fraction(1, 4), -ONE: Fraction(-1, 4)}),
    }
)
"""Inverse functions, and their rational values divided by pi at dyadic arguments other than 0 (Niven's theorem)."""


def _arc_pi(name: str) -> Callable[[Number], Number]:
    function, rational = _ARCS[name]

    def applied(x: Number) -> Number:
        if _nan(x):
            return NAN
        if _zero(x):
            return _HALF if name == "acos" else ZERO
        if _infinite(x):
            return _sign(x) * _HALF if name == "atan" else NAN
        assert isinstance(x, Fraction)
        if name != "atan" and abs(x) > 1:
            return NAN
        if name == "acos" and x == 1:
            return ZERO
        return rational[x] if x in rational else _enclosed(lambda ball: function(ball) / arb.pi(), x)

    return applied


def _arc_tan_2(y: Number, x: Number) -> Number:
    """Return ArcTan2: that of IEEE's atan2 where the document has no case of its own (4.10.15)."""
    if _nan(x) or _nan(y) or (_zero(x) and _zero(y)) or (_infinite(x) and _infinite(y)):
        return NAN
    if x == MINUS:  # the row (*, -infinity) comes before the one for a negative y
        return Enclosed(arb.pi)
    return _plain(extended.of_two("atan2", y, x))


def _arc_tan_2_pi(y: Number, x: Number) -> Number:
    if _nan(x) or _nan(y) or (_zero(x) and _zero(y)) or (_infinite(x) and _infinite(y)):
        return NAN
    if x == PLUS or (_zero(y) and _sign(x) > 0):
        return ZERO
    if x == MINUS or _zero(y):
        return ONE
    if _infinite(y) or _zero(x):
        return _sign(y) * _HALF
    if isinstance(x, Fraction) and isinstance(y, Fraction) and abs(x) == abs(y):
        return _sign(y) * Fraction(1 if x > 0 else 3, 4)
    return Enclosed(lambda: arb.atan2(extended.ball_of(y), extended.ball_of(x)) / arb.pi())


def _hypot(x: Number, y: Number) -> Number:
    return NAN if _nan(x) or _nan(y) else _plain(extended.of_two("hypot", x, y))


def _extremum(largest: bool, numbers: bool = False, by_magnitude: bool = False) -> Callable[[Number, Number], Number]:
    """Return a minimum or maximum; ``numbers``: if one operand is a NaN, the other one is the result."""

    def chosen(x: Number, y: Number) -> Number:
        if _nan(x) or _nan(y):
            return NAN if not numbers else y if _nan(x) else x
        if by_magnitude:
            size = extended.order(extended.magnitude(x), extended.magnitude(y))
            if size:
                return x if (size > 0) == largest else y
        return x if (extended.order(x, y) > 0) == largest else y

    return chosen


def _finite_extremum(largest: bool) -> Callable[[Number, Number], Number]:
    of_numbers = _extremum(largest, numbers=True)

    def chosen(x: Number, y: Number) -> Number:
        if _infinite(x) != _infinite(y) and not (_nan(x) or _nan(y)):
            return y if _infinite(x) else x
        return of_numbers(x, y)

    return chosen


def _clamp(x: Number, low: Number, high: Number) -> Number:
    if _nan(x) or _nan(low) or _nan(high) or extended.order(low, high) > 0:
        return NAN
    if (low == PLUS) != (high == PLUS) and low == PLUS:
        return NAN
    if high == MINUS and low != MINUS:
        return NAN
    if extended.order(x, low) <= 0:
        return low
    return high if extended.order(x, high) >= 0 else x


class Operation(NamedTuple):
    """An operation of P3109: the number of its operands, and the function that computes the exact result from them."""

    arity: int
    compute: Callable[..., Number]


_maximum_finite = _finite_extremum(True)

_FUNCTIONS = {
    "Exp": "exp", "Exp2": "exp2", "ExpMinusOne": "expm1", "Log": "log", "Log2": "log2", "LogOnePlus": "log1p",
    "Softplus": "softplus", "Sin": "sin", "Cos": "cos", "Tan": "tan", "ArcSin": "asin", "ArcCos": "acos",
    "ArcTan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "ArcSinh": "asinh", "ArcCosh": "acosh",
    "ArcTanh": "atanh", "SinPi": "sinpi", "CosPi": "cospi",
}  # fmt: skip
"""The operations that are functions of `halfulp.fp_formats.reals`, and their names there."""

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "Convert": Operation(1, lambda x: x),
        "Abs": Operation(1, extended.magnitude),
        "Negate": Operation(1, lambda x: _plain(extended.negate(x))),
        "Recip": Operation(1, lambda x: divide(ONE, x)),
        "Sqrt": Operation(1, _unary("sqrt")),
        "RSqrt": Operation(1, lambda x: NAN if _zero(x) else _plain(extended.of_one("rsqrt", x))),
        **{name: Operation(1, _unary(function)) for name, function in _FUNCTIONS.items()},
        "TanPi": Operation(1, _tan_pi),
        "ArcSinPi": Operation(1, _arc_pi("asin")),
        "ArcCosPi": Operation(1, _arc_pi("acos")),
        "ArcTanPi": Operation(1, _arc_pi("atan")),
        "CopySign": Operation(2, _copy_sign),
        "Add": Operation(2, add),
        "Subtract": Operation(2, lambda x, y: add(x, extended.negate(y))),
        "Multiply": Operation(2, multiply),
        "Divide": Operation(2, divide),
        "Hypot": Operation(2, _hypot),
        "ArcTan2": Operation(2, _arc_tan_2),
        "ArcTan2Pi": Operation(2, _arc_tan_2_pi),
        "Minimum": Operation(2, _extremum(False)),
        "Maximum": Operation(2, _extremum(True)),
        "MinimumNumber": Operation(2, _extremum(False, numbers=True)),
        "MaximumNumber": Operation(2, _extremum(True, numbers=True)),
        "MinimumMagnitude": Operation(2, _extremum(False, by_magnitude=True)),
        "MaximumMagnitude": Operation(2, _extremum(True, by_magnitude=True)),
        "MinimumMagnitudeNumber": Operation(2, _extremum(False, numbers=True, by_magnitude=True)),
        "MaximumMagnitudeNumber": Operation(2, _extremum(True, numbers=True, by_magnitude=True)),
        "MinimumFinite": Operation(2, _finite_extremum(False)),
        "MaximumFinite": Operation(2, _maximum_finite),
        "FMA": Operation(3, lambda x, y, z: add(multiply(x, y), z)),
        "FAA": Operation(3, lambda x, y, z: add(add(x, y), z)),
        "Clamp": Operation(3, _clamp),
    }
)
"""The operations whose result is projected to a format; with Block before the name they are block operations."""


# --- comparisons and classes, 4.12 and 4.13 ---------------------------------------------------------------------------


def _compare(holds: Callable[[int], bool]) -> Callable[[Number, Number], bool]:
    return lambda x, y: not (_nan(x) or _nan(y)) and holds(extended.order(x, y))


COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = MappingProxyType(
    {
        "CompareLess": _compare(lambda order: order < 0),
        "CompareLessEqual": _compare(lambda order: order <= 0),
        "CompareEqual": _compare(lambda order: order == 0),
        "CompareGreaterEqual": _compare(lambda order: order >= 0),
        "CompareGreater": _compare(lambda order: order > 0),
        "TotalOrder": lambda x, y: _nan(x) or (not _nan(y) and extended.order(x, y) <= 0),
    }
)
"""Comparisons of two numbers; the total order puts NaN first."""

PREDICATES: Mapping[str, Callable[[FloatFormat, int], bool]] = MappingProxyType(
    {
        "IsZero": FloatFormat.is_zero,
        "IsOne": lambda fmt, code: decode(fmt, code) == ONE,
        "IsNaN": FloatFormat.is_nan,
        "IsInfinite": FloatFormat.is_infinite,
        "IsFinite": lambda fmt, code: not (fmt.is_nan(code) or fmt.is_infinite(code)),
        "IsSignMinus": lambda fmt, code: not fmt.is_nan(code) and _sign(decode(fmt, code)) < 0,
        "IsNormal": FloatFormat.is_normal,
        "IsSubnormal": FloatFormat.is_subnormal,
    }
)
"""The predicates of one code."""


def class_of(fmt: FloatFormat, code: int) -> str:
    """Return the class of a code: Class, 4.13.1."""
    if fmt.is_nan(code):
        return "ClsNaN"
    if fmt.is_zero(code):
        return "ClsZero"
    sign = "Negative" if PREDICATES["IsSignMinus"](fmt, code) else "Positive"
    kind = next(kind for kind, name in _KINDS.items() if PREDICATES[name](fmt, code))
    return f"Cls{sign}{kind}"


_KINDS = {"Infinity": "IsInfinite", "Normal": "IsNormal", "Subnormal": "IsSubnormal"}


# --- blocks, 5 --------------------------------------------------------------------------------------------------------


def block_quotient(x: Number, scale: Number) -> Number:
    """Return x divided by the scale of a block, before it is projected to an element of the block (5.1.2)."""
    if _nan(x) or _nan(scale):
        return NAN
    if _zero(scale):
        return ZERO
    if _infinite(scale):
        return ZERO if _zero(x) else Fraction(_sign(x) * _sign(scale))
    return divide(x, scale)


def reduced(combine: Callable[[Number, Number], Number], numbers: Iterable[Number], first: Number) -> Number:
    """Combine ``first`` with the first number, the result with the next number, and so on; return the last result
    (clause 5, reduce).
    """
    return reduce(combine, numbers, first)


REDUCTIONS: Mapping[str, Callable[[Sequence[Number]], Number]] = MappingProxyType(
    {
        "BlockReduceAdd": lambda numbers: reduced(add, numbers, ZERO),
        "BlockReduceMultiply": lambda numbers: reduced(multiply, numbers, ONE),
    }
)
"""The reductions of the decoded elements of a block; BlockDotProduct adds the products of two."""


def largest_finite(numbers: Sequence[Number]) -> Number:
    """Return the largest magnitude of the finite numbers, from which ConvertToBlockMaxAbsFinite makes the scale
    (5.2.3).
    """
    return reduced(_maximum_finite, map(extended.magnitude, numbers), NAN)
