"""Functions of complex numbers: the exact value of each part, rounded once.

Where a part of a number is an infinity or a NaN, the results are those of C23, Annex G. If Annex G leaves a sign open,
it is positive; if it leaves a part open, that part is NaN. On the axes both parts are functions of a real number, which
`halfulp.fp_formats.reals.functions` describes. Elsewhere Arb encloses the result, and no part is a value or a midpoint:

- By Lindemann and Weierstrass, the exponentials of different algebraic numbers are independent, so that no part of exp,
  sinh, cosh, tanh and logistic is algebraic off the axes. An angle and the logarithm of a magnitude are transcendental
  or 0; the magnitude is 1 for dyadic parts on the axes alone, since a power of 4 is not the sum of two other squares.
- Roots and quotients are decided by integers.
- A power is algebraic for rational exponents alone (Gelfond and Schneider), and a part is 0 where the angle of the base
  is a multiple of 45 degrees alone (Baker).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import flint
from flint import acb, arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.reals import elementary
from halfulp.fp_formats.reals.elementary import Exactly
from halfulp.fp_formats.reals.extended import ball_of_fraction
from halfulp.fp_formats.reals.functions import (
    FUNCTIONS,
    SPECIALS,
    Grid,
    Kind,
    Special,
    bits_of_precision,
    cell_of_ball,
    root,
)
from halfulp.fp_formats.reals.functions_of_two import is_zero
from halfulp.fp_formats.scalar import FINITE, INFINITE, QUIET_NAN, Unpacked, number

Part = Callable[[Grid], Exactly]
"""A part of a result: from the grid that decides its rounding, its exact value or its cell."""
Parts = tuple[Part, Part]

# --- parts ------------------------------------------------------------------------------------------------------------


def _known(value: Fraction | Special) -> Part:
    return lambda grid: value


def _word(word: str) -> Part:
    return _known(SPECIALS[word] if word in SPECIALS else Fraction(word))


def _zero(sign: int | bool) -> Part:
    return _word("-0" if sign else "0")


def _ball(ball: Callable[[], arb]) -> Part:
    return lambda grid: cell_of_ball(ball, grid)


def _function(name: str, x: Unpacked) -> Part:
    return lambda grid: elementary.result_of(name, x, grid)


def _quarters(count: int) -> Part:
    """Return ``count`` times a quarter of pi."""
    return _ball(lambda: arb.pi() * count / 4)


def _negated(part: Part) -> Part:
    def negative(grid: Grid) -> Exactly:
        found = part(grid)
        if isinstance(found, Fraction):
            return -found
        if isinstance(found, Special) and found.kind is Kind.NAN:
            return found
        return found._replace(sign=1 - found.sign)

    return negative


def _signed(part: Part, negative: int | bool) -> Part:
    return _negated(part) if negative else part


def _of_ball(ball: Callable[[], acb]) -> Parts:
    """Return both parts of a number that balls enclose. One ball serves both where it is accurate enough."""
    known: dict[int, acb] = {}

    def at(precision: int) -> acb:
        if precision not in known:
            known[precision] = ball()
        return known[precision]

    return _ball(lambda: at(flint.ctx.prec).real), _ball(lambda: at(flint.ctx.prec).imag)


def _complex(x: Fraction, y: Fraction) -> acb:
    return acb(ball_of_fraction(x), ball_of_fraction(y))


def _rational(x: Fraction) -> Unpacked:
    """Return a dyadic number as an operand."""
    return Unpacked(FINITE, int(x < 0), abs(x.numerator), 1 - x.denominator.bit_length())


# --- infinities and NaNs ----------------------------------------------------------------------------------------------

Table = Mapping[tuple[str, str], str]
"""Results by the classes of both parts, the imaginary one not negative. ``0``: zero, ``f``: another finite number,
``fin``: either; ``inf`` and ``nan``; ``*``: any. The real part may have a sign. The result has two words; ``inf*cos``
is an infinity with the sign of the cosine of the imaginary part, ``0*sin2`` a zero with that of the sine of its double.
"""

_NAN = "nan nan"
_LOG: Table = {
    ("fin", "inf"): "inf 2pi/4", ("fin", "nan"): _NAN, ("-inf", "fin"): "inf 4pi/4", ("+inf", "fin"): "inf 0",
    ("-inf", "inf"): "inf 3pi/4", ("+inf", "inf"): "inf 1pi/4", ("inf", "nan"): "inf nan", ("nan", "inf"): "inf nan",
    ("nan", "*"): _NAN,
}  # fmt: skip
_EXP: Table = {
    ("fin", "*"): _NAN, ("+inf", "0"): "inf 0", ("+inf", "f"): "inf*cos inf*sin", ("+inf", "*"): "inf nan",
    ("-inf", "fin"): "0*cos 0*sin", ("-inf", "*"): "0 0", ("nan", "0"): "nan 0", ("nan", "*"): _NAN,
}  # fmt: skip
TABLES: Mapping[str, Table] = {
    "acos": {
        ("fin", "inf"): "2pi/4 -inf", ("0", "nan"): "2pi/4 nan", ("f", "nan"): _NAN, ("-inf", "fin"): "4pi/4 -inf",
        ("+inf", "fin"): "0 -inf", ("-inf", "inf"): "3pi/4 -inf", ("+inf", "inf"): "1pi/4 -inf",
        ("inf", "nan"): "nan -inf", ("nan", "inf"): "nan -inf", ("nan", "*"): _NAN,
    },
    "asinh": {
        ("fin", "inf"): "inf 2pi/4", ("fin", "nan"): _NAN, ("inf", "fin"): "inf 0", ("inf", "inf"): "inf 1pi/4",
        ("inf", "nan"): "inf nan", ("nan", "0"): "nan 0", ("nan", "inf"): "inf nan", ("nan", "*"): _NAN,
    },
    "atanh": {
        ("0", "nan"): "0 nan", ("f", "nan"): _NAN, ("fin", "inf"): "0 2pi/4", ("inf", "nan"): "0 nan",
        ("inf", "*"): "0 2pi/4", ("nan", "inf"): "0 2pi/4", ("nan", "*"): _NAN,
    },
    "cbrt": {
        ("fin", "inf"): "inf inf", ("+inf", "fin"): "inf 0", ("-inf", "fin"): "inf inf", ("inf", "inf"): "inf inf",
        ("*", "*"): _NAN,
    },
    "cosh": {
        ("0", "*"): "nan 0", ("f", "*"): _NAN, ("inf", "0"): "inf 0", ("inf", "f"): "inf*cos inf*sin",
        ("inf", "*"): "inf nan", ("nan", "0"): "nan 0", ("nan", "*"): _NAN,
    },
    "exp": _EXP,
    "expm1": {**_EXP, ("-inf", "fin"): "-1 0*sin", ("-inf", "*"): "-1 0"},
    "log": _LOG,
    "log1p": _LOG,
    "rsqrt": {("*", "inf"): "0 -0", ("inf", "*"): "0 -0", ("*", "*"): _NAN},
    "sigmoid": {
        ("fin", "*"): _NAN, ("+inf", "fin"): "1 0*sin", ("-inf", "fin"): "0*cos 0*sin", ("+inf", "*"): "1 0",
        ("-inf", "*"): "0 0", ("nan", "0"): "nan 0", ("nan", "*"): _NAN,
    },
    "sign": {("*", "*"): _NAN},
    "sinh": {
        ("0", "*"): "0 nan", ("f", "*"): _NAN, ("inf", "0"): "inf 0", ("inf", "f"): "inf*cos inf*sin",
        ("inf", "*"): "inf nan", ("nan", "0"): "nan 0", ("nan", "*"): _NAN,
    },
    "sqrt": {
        ("*", "inf"): "inf inf", ("-inf", "fin"): "0 inf", ("+inf", "fin"): "inf 0", ("-inf", "nan"): "nan inf",
        ("+inf", "nan"): "inf nan", ("*", "*"): _NAN,
    },
    "tanh": {
        ("0", "*"): "0 nan", ("f", "*"): _NAN, ("inf", "fin"): "1 0*sin2", ("inf", "*"): "1 0", ("nan", "0"): "nan 0",
        ("nan", "*"): _NAN,
    },
}  # fmt: skip
"""The results at infinities and NaNs, by the names of functions."""


def _classes(x: Unpacked) -> list[str]:
    if x.kind >= QUIET_NAN:
        return ["nan", "*"]
    if x.kind == INFINITE:
        return ["-inf" if x.sign else "+inf", "inf", "*"]
    return ["0" if is_zero(x) else "f", "fin", "*"]


def _special(table: Table, x: Unpacked, y: Unpacked) -> Parts:
    words = next(table[one, two] for one in _classes(x) for two in _classes(y) if (one, two) in table)
    real, imaginary = (_of_word(word, y) for word in words.split())
    return real, imaginary


def _of_word(word: str, y: Unpacked) -> Part:
    if word.endswith("pi/4"):
        return _quarters(int(word[0]))
    value, _, wave = word.partition("*")
    if not wave or is_zero(y):
        return _word(value)
    angle = number(y) * (2 if wave == "sin2" else 1)
    return _signed(_word(value), _negative_wave(wave[:3], angle))


def _negative_wave(wave: str, angle: Fraction) -> bool:
    """Tell whether the sine or the cosine of a number other than 0 is negative."""
    found = elementary.result_of(wave, _rational(angle), lambda lead: lead - 4)
    return found < 0 if isinstance(found, Fraction) else bool(found.sign)


# --- the functions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComplexFunction:
    """A function of one complex number. If z gives w, the conjugate of z gives the conjugate of w.

    ``ball``: a function from a ball of a number off the axes to a ball of the result. ``on_real``: both parts of the
    result for a real number x + 0i with the sign of its zero; ``on_imaginary``: for a number x + iy with x = 0 and y >
    0. ``parity``: 1 if the function is odd, 0 if it is even, None if neither; if it is odd or even, the other fields
    get numbers without a sign. ``exact``: both parts for a number off the axes, if they are rational. ``grows``: the
    part, 0 or 1, in which the function grows or decays exponentially; None if there is none.
    """

    name: str
    ball: Callable[[acb], acb]
    on_real: Callable[[Unpacked], Parts]
    on_imaginary: Callable[[Unpacked, Unpacked], Parts]
    parity: int | None = None
    exact: Callable[[Fraction, Fraction], tuple[Fraction, Fraction] | None] = lambda x, y: None
    grows: int | None = None


def _positive(x: Unpacked) -> Unpacked:
    return x._replace(sign=0)


def _halved(x: Unpacked) -> Unpacked:
    return x._replace(exponent=x.exponent - 1)


def _times(factor: Callable[[], arb], name: str, x: Unpacked) -> Part:
    """Return a factor times the root of a number."""
    row = FUNCTIONS[name]
    return _ball(lambda: factor() * row.ball(ball_of_fraction(number(x))))


def _exp_real(x: Unpacked) -> Parts:
    return _function("exp", x), _zero(0)


def _expm1_imaginary(x: Unpacked, y: Unpacked) -> Parts:
    half = ball_of_fraction(number(y) / 2)
    return _ball(lambda: -2 * half.sin() ** 2), _function("sin", y)


def _log_real(x: Unpacked) -> Parts:
    if is_zero(x):
        return _word("-pole"), _quarters(4) if x.sign else _zero(0)
    return _function("log", _positive(x)), _quarters(4) if x.sign else _zero(0)


def _log1p_real(x: Unpacked) -> Parts:
    value = number(x)
    if value >= -1:
        return _function("log1p", x), _zero(0)
    return _function("log", _rational(-1 - value)), _quarters(4)


def _log1p_imaginary(x: Unpacked, y: Unpacked) -> Parts:
    square = number(y) ** 2
    return _ball(lambda: ball_of_fraction(square).log1p() / 2), _function("atan", y)


def _sqrt_real(x: Unpacked) -> Parts:
    magnitude = _function("sqrt", _positive(x))
    return (_zero(0), magnitude) if x.sign and not is_zero(x) else (magnitude, _zero(0))


def _both(part: Part) -> Parts:
    return part, part


def _rsqrt_real(x: Unpacked) -> Parts:
    if is_zero(x):  # 1 / 0 by Annex G
        return _word("pole"), _word("nan")
    magnitude = _function("rsqrt", _positive(x))
    return (_zero(0), _negated(magnitude)) if x.sign else (magnitude, _zero(1))


def _rsqrt_imaginary(x: Unpacked, y: Unpacked) -> Parts:
    magnitude = _function("rsqrt", y._replace(exponent=y.exponent + 1))
    return magnitude, _negated(magnitude)


def _roots(x: Fraction, y: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return the square root of a number off the real axis, if it is rational; then both parts are."""
    length = root(x * x + y * y, 2)
    real = None if length is None else root((length + x) / 2, 2)
    return None if real is None else (real, y / (2 * real))


def _inverse_roots(x: Fraction, y: Fraction) -> tuple[Fraction, Fraction] | None:
    found = _roots(x, y)
    if found is None:
        return None
    length = found[0] ** 2 + found[1] ** 2
    return found[0] / length, -found[1] / length


def _cbrt_real(x: Unpacked) -> Parts:
    magnitude = _function("cbrt", _positive(x))
    if not x.sign or is_zero(x):
        return magnitude, _zero(0)
    half = root(-number(x), 3)
    real = _known(half / 2) if half is not None else _times(lambda: arb(1) / 2, "cbrt", _positive(x))
    return real, _times(lambda: arb(3).sqrt() / 2, "cbrt", _positive(x))


def _cbrt_imaginary(x: Unpacked, y: Unpacked) -> Parts:
    half = root(number(y), 3)
    imaginary = _known(half / 2) if half is not None else _times(lambda: arb(1) / 2, "cbrt", y)
    return _times(lambda: arb(3).sqrt() / 2, "cbrt", y), imaginary


def _cube_roots(x: Fraction, y: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return the principal cube root, if it is rational: then it is a whole number times a power of two."""
    bits = max(x.denominator, y.denominator).bit_length() // 3 + 1
    with bits_of_precision(2 * bits + x.numerator.bit_length() + y.numerator.bit_length() + 64):
        found = _complex(x, y).root(3) * 2**bits
        parts = [(part + arb(1) / 2).floor().unique_fmpz() for part in (found.real, found.imag)]
    if None in parts:
        return None
    a, b = (Fraction(int(part), 2**bits) for part in parts)
    return (a, b) if (a * a * a - 3 * a * b * b, 3 * a * a * b - b * b * b) == (x, y) else None


def _units(x: Fraction, y: Fraction) -> tuple[Fraction, Fraction] | None:
    length = root(x * x + y * y, 2)
    return None if length is None else (x / length, y / length)


def _sign_real(x: Unpacked) -> Parts:
    if is_zero(x):
        return _zero(0), _zero(0)
    return _word("-1" if x.sign else "1"), _zero(0)


def _asinh_imaginary(x: Unpacked, y: Unpacked) -> Parts:
    if number(y) <= 1:
        return _zero(0), _function("asin", y)
    return _function("acosh", y), _quarters(2)


def _acos_real(x: Unpacked) -> Parts:
    if abs(number(x)) <= 1:
        return _function("acos", x), _zero(1)
    return _quarters(4) if x.sign else _zero(0), _negated(_function("acosh", _positive(x)))


def _atanh_real(x: Unpacked) -> Parts:
    if number(x) <= 1:
        return _function("atanh", x), _zero(0)
    value = number(x)
    return _ball(lambda: (ball_of_fraction((value + 1) / (value - 1))).log() / 2), _quarters(2)


def _wave(name: str, angle: Unpacked) -> Part:
    """Return a zero with the sign of the sine or the cosine of an angle."""
    return _zero(0 if is_zero(angle) else _negative_wave(name, number(angle)))


def _tangent_half(x: Unpacked, y: Unpacked) -> Parts:
    half = number(y) / 2
    return _known(Fraction(1, 2)), _ball(lambda: ball_of_fraction(half).tan() / 2)


_ROWS = (
    ComplexFunction("acos", acb.acos, _acos_real, lambda x, y: (_quarters(2), _negated(_function("asinh", y)))),
    ComplexFunction("asinh", acb.asinh, lambda x: (_function("asinh", x), _zero(0)), _asinh_imaginary, 1),
    ComplexFunction("atanh", acb.atanh, _atanh_real, lambda x, y: (_zero(0), _function("atan", y)), 1),
    ComplexFunction("cbrt", lambda z: z.root(3), _cbrt_real, _cbrt_imaginary, exact=_cube_roots),
    ComplexFunction(
        "cosh", acb.cosh, lambda x: (_function("cosh", x), _zero(0)),
        lambda x, y: (_function("cos", y), _wave("sin", y)), 0, grows=0,
    ),
    ComplexFunction(
        "exp", acb.exp, _exp_real, lambda x, y: (_function("cos", y), _function("sin", y)), grows=0,
    ),
    ComplexFunction(
        "expm1", acb.expm1, lambda x: (_function("expm1", x), _zero(0)), _expm1_imaginary, grows=0,
    ),
    ComplexFunction("log", acb.log, _log_real, lambda x, y: (_function("log", y), _quarters(2))),
    ComplexFunction("log1p", acb.log1p, _log1p_real, _log1p_imaginary),
    ComplexFunction("rsqrt", acb.rsqrt, _rsqrt_real, _rsqrt_imaginary, exact=_inverse_roots),
    ComplexFunction(
        "sigmoid", lambda z: 1 / (1 + (-z).exp()), lambda x: (_function("sigmoid", x), _zero(0)), _tangent_half,
        grows=0,
    ),
    ComplexFunction("sign", lambda z: z / abs(z), _sign_real, lambda x, y: (_zero(x.sign), _word("1")), exact=_units),
    ComplexFunction(
        "sinh", acb.sinh, lambda x: (_function("sinh", x), _zero(0)),
        lambda x, y: (_wave("cos", y), _function("sin", y)), 1, grows=0,
    ),
    ComplexFunction("sqrt", acb.sqrt, _sqrt_real, lambda x, y: _both(_function("sqrt", _halved(y))), exact=_roots),
    ComplexFunction(
        "tanh", acb.tanh, lambda x: (_function("tanh", x), _zero(0)), lambda x, y: (_zero(0), _function("tan", y)), 1,
        grows=0,
    ),
)  # fmt: skip

COMPLEX_FUNCTIONS: Mapping[str, ComplexFunction] = MappingProxyType({row.name: row for row in _ROWS})
"""The functions of one complex number, by name."""
TURNED: Mapping[str, str] = {"asin": "asinh", "atan": "atanh", "cos": "cosh", "sin": "sinh", "tan": "tanh"}
"""Functions f, with the function g for which f(z) is g(iz) / i, or g(iz) for the cosine."""
NAMES = (*COMPLEX_FUNCTIONS, *TURNED, "acosh", "square")
"""The functions of one number that `unary` computes."""


def _square(x: Unpacked, y: Unpacked) -> Parts:
    """Return x**2 - y**2 and 2xy: of infinite parts, the real one is NaN if both are."""
    if max(x.kind, y.kind) >= QUIET_NAN:
        return _word("nan"), _word("nan")
    if x.kind == y.kind == FINITE:
        one, other = number(x), number(y)
        return _sum_of(one * one - other * other, 0, 0), _sum_of(2 * one * other, x.sign ^ y.sign, 1)
    real = "nan" if x.kind == y.kind else "inf" if x.kind == INFINITE else "-inf"
    return _word(real), _word("nan") if is_zero(x) or is_zero(y) else _signed(_word("inf"), x.sign ^ y.sign)


def _opposite(x: Unpacked) -> Unpacked:
    return x._replace(sign=1 - x.sign)


def _parts(name: str, x: Unpacked, y: Unpacked, reach: int) -> Parts:
    """Return both parts of a function of x + iy. ``reach``: e to this power is beyond the numbers of the format."""
    if name == "square":
        return _square(x, y)
    if name in TURNED:
        real, imaginary = _parts(TURNED[name], _opposite(y), x, reach)
        return (real, imaginary) if name == "cos" else (imaginary, _negated(real))
    if y.sign:
        real, imaginary = _parts(name, x, _opposite(y), reach)
        return real, _negated(imaginary)
    if name == "acosh":
        real, imaginary = _parts("acos", x, y, reach)
        return _negated(imaginary), real
    row = COMPLEX_FUNCTIONS[name]
    if row.parity is not None and x.sign:
        real, imaginary = _parts(name, _opposite(x), y, reach)
        return (_negated(real), imaginary) if row.parity else (real, _negated(imaginary))
    if x.kind != FINITE or y.kind != FINITE:
        return _special(TABLES[name], x, y)
    if is_zero(y):
        return row.on_real(x)
    if is_zero(x):
        return row.on_imaginary(x, y)
    first, second = number(x), number(y)
    found = row.exact(first, second)
    if found is not None:
        return _known(found[0]), _known(found[1])
    if row.grows is not None:
        first = max(min(first, Fraction(reach)), Fraction(-reach))
    parts = _of_ball(lambda: row.ball(_complex(first, second)))
    if name == "log1p" and (first + 1, second) in _UNITS:
        return _zero(0), parts[1]
    return parts


_UNITS = frozenset((Fraction(a), Fraction(b)) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)))
"""The dyadic numbers of magnitude 1, whose logarithm has the real part 0."""

# --- two numbers ------------------------------------------------------------------------------------------------------

Number = tuple[Unpacked, Unpacked]
"""The real and the imaginary part of an operand."""


def _all_finite(*numbers: Number) -> bool:
    return all(part.kind == FINITE for each in numbers for part in each)


def _both_zero(z: Number) -> bool:
    return is_zero(z[0]) and is_zero(z[1])


def _infinite(z: Number) -> bool:
    return INFINITE in (z[0].kind, z[1].kind)


def _any_nan(z: Number) -> bool:
    return z[0].kind >= QUIET_NAN or z[1].kind >= QUIET_NAN


_NANS: Parts = (_word("nan"), _word("nan"))


def _divide(z: Number, w: Number, reach: int) -> Parts:
    """Return both parts of a quotient: exact where all is finite, else by Annex G (G.5.1)."""
    (a, b), (c, e) = z, w
    if _all_finite(z, w) and not _both_zero(w):
        x, y, u, v = (number(part) for part in (a, b, c, e))
        length = u * u + v * v
        products = (_product_signs(a, c), _product_signs(b, e)), (_product_signs(b, c), 1 - _product_signs(a, e))
        return (
            _sum_of((x * u + y * v) / length, *products[0]),
            _sum_of((y * u - x * v) / length, *products[1]),
        )
    if _both_zero(w) and not (a.kind >= QUIET_NAN and b.kind >= QUIET_NAN):
        # an infinity with the sign of the denominator's real part, times the numerator
        return _scaled("pole", c.sign, a), _scaled("pole", c.sign, b)
    if _infinite(z) and _all_finite(w):
        # the infinite parts of the numerator count as 1, its other parts as 0
        signs = [(1 if part.kind == INFINITE else 0) * (-1 if part.sign else 1) for part in z]
        u, v = number(c), number(e)
        return _infinity_of(signs[0] * u + signs[1] * v), _infinity_of(signs[1] * u - signs[0] * v)
    if _infinite(w) and _all_finite(z):
        signs = [(1 if part.kind == INFINITE else 0) * (-1 if part.sign else 1) for part in w]
        x, y = number(a), number(b)
        return _zero_of(x * signs[0] + y * signs[1]), _zero_of(y * signs[0] - x * signs[1])
    return _NANS


def _product_signs(x: Unpacked, y: Unpacked) -> int:
    return x.sign ^ y.sign


def _sum_of(value: Fraction, one: int, other: int) -> Part:
    """Return a sum of two products with these signs; a sum 0 is -0 only if both are negative."""
    return _known(value) if value else _zero(one and other)


def _scaled(word: str, sign: int, x: Unpacked) -> Part:
    if x.kind >= QUIET_NAN or is_zero(x):
        return _word("nan")
    return _signed(_word(word), sign ^ x.sign)


def _infinity_of(value: Fraction) -> Part:
    return _word("inf" if value > 0 else "-inf") if value else _word("nan")


def _zero_of(value: Fraction) -> Part:
    return _zero(value < 0)


# --- powers -----------------------------------------------------------------------------------------------------------

_LONGEST_POWER = 1 << 16
"""Bits of the longest power that is computed by integers."""


def _power(z: Number, w: Number, reach: int) -> Parts:
    """Return both parts of exp(w * log(z)); 1 if w is 0, and NaN at infinities off the real axis."""
    (x, y), (a, b) = z, w
    if _both_zero(w):
        return _word("1"), _zero(0)
    real = is_zero(y) and is_zero(b)
    if real and a.kind == FINITE and (x.kind != FINITE or not x.sign or number(a).denominator == 1):
        return _real_power(x, y, a, b)
    if real and a.kind == INFINITE and x.kind < QUIET_NAN:
        return _real_power(x, y, a, b)
    if not _all_finite(z, w):
        return _NANS
    if _both_zero(z):
        if number(a) > 0:
            return _zero(0), _zero(0)
        return (_word("pole"), _word("nan")) if is_zero(b) and a.sign and not is_zero(a) else _NANS
    base, exponent = (number(x), number(y)), (number(a), number(b))
    if y.sign and is_zero(y):  # below the cut: the conjugate of what is above it
        one, other = _power((x, _opposite(y)), (a, _opposite(b)), reach)
        return one, _negated(other)
    if not exponent[1]:
        if base in _UNITS:  # their powers repeat
            exponent = exponent[0] % 4, exponent[1]
        found = _exact_power(base, exponent[0])
        if found is not None:
            sign = y.sign if is_zero(y) else 0
            return _sum_of(found[0], 0, 0), _sum_of(found[1], sign, sign)
    parts = _of_ball(lambda: _power_ball(base, exponent, reach))
    zeros = _zero_parts(base, exponent)
    return (_zero(0) if zeros[0] else parts[0]), (_zero(0) if zeros[1] else parts[1])


def _real_power(x: Unpacked, y: Unpacked, a: Unpacked, b: Unpacked) -> Parts:
    def power(grid: Grid) -> Exactly:
        found = elementary.result_of_two("powf", x, a, grid)
        return SPECIALS["nan"] if found is None else found

    if x.sign:  # the angle is nearly pi; an integer multiple of it turns around at odd ones
        odd = a.kind == FINITE and number(a).numerator % 2 == 1
        return power, _zero(y.sign ^ a.sign ^ (not odd))
    growing = x.kind == INFINITE or number(x) >= 1
    return power, _zero((y.sign ^ a.sign) and (b.sign ^ (not growing)))


def _power_ball(base: tuple[Fraction, Fraction], exponent: tuple[Fraction, Fraction], reach: int) -> acb:
    # A negative real base has the angle pi, whatever Arb takes on the cut.
    on_cut = base[1] == 0 and base[0] < 0
    logarithm = acb(ball_of_fraction(-base[0]).log(), arb.pi()) if on_cut else _complex(*base).log()
    product = _complex(*exponent) * logarithm
    growth = product.real
    if growth > reach:
        growth = arb(reach)
    elif growth < -reach:
        growth = arb(-reach)
    return acb(growth, product.imag).exp()


def _exact_power(z: tuple[Fraction, Fraction], exponent: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return a power with a rational exponent if it is rational and short: then a root of z of a power of two is."""
    degree = exponent.denominator
    bits = max(number.bit_length() for part in z for number in (part.numerator, part.denominator))
    if abs(exponent.numerator) * bits > _LONGEST_POWER or degree > _LONGEST_POWER:
        return None
    while degree > 1:
        found = _roots(*z) if z[1] else _root_on_axis(z[0])
        if found is None:
            return None
        z, degree = found, degree // 2
    return _whole_power(z, exponent.numerator)


def _root_on_axis(x: Fraction) -> tuple[Fraction, Fraction] | None:
    found = root(abs(x), 2)
    zero = Fraction(0)
    return None if found is None else (zero, found) if x < 0 else (found, zero)


def _whole_power(z: tuple[Fraction, Fraction], n: int) -> tuple[Fraction, Fraction]:
    if n < 0:
        length = z[0] ** 2 + z[1] ** 2
        return _whole_power((z[0] / length, -z[1] / length), -n)
    result, square = (Fraction(1), Fraction(0)), z
    while n:
        if n & 1:
            result = _product(result, square)
        square, n = _product(square, square), n >> 1
    return result


def _product(z: tuple[Fraction, Fraction], w: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _zero_parts(z: tuple[Fraction, Fraction], w: tuple[Fraction, Fraction]) -> tuple[bool, bool]:
    """Tell which parts of a power are 0, by the angle of the base if it is a multiple of 45 degrees."""
    x, y = z
    if x and y and abs(x) != abs(y):
        return False, False
    if w[1] and z not in _UNITS:
        return False, False
    eighths = {(1, 0): 0, (1, 1): 1, (0, 1): 2, (-1, 1): 3, (-1, 0): 4, (-1, -1): -3, (0, -1): -2, (1, -1): -1}
    turns = Fraction(eighths[(x > 0) - (x < 0), (y > 0) - (y < 0)], 4) * w[0]
    return (turns - Fraction(1, 2)).denominator == 1, turns.denominator == 1


# --- angles -----------------------------------------------------------------------------------------------------------


def _angle(y: Number, x: Number, reach: int) -> Parts:
    """Return both parts of log((x + iy) / sqrt(x**2 + y**2)) / i; NaN at infinities off the real axis."""
    if is_zero(x[1]) and is_zero(y[1]):

        def angle(grid: Grid) -> Exactly:
            found = elementary.result_of_two("atan2", y[0], x[0], grid)
            return SPECIALS["nan"] if found is None else found

        return angle, _zero(0)
    if not _all_finite(y, x):
        return _NANS
    v, u = ((number(part[0]), number(part[1])) for part in (y, x))
    above, below = (u[0] - v[1], u[1] + v[0]), (u[0] + v[1], u[1] - v[0])  # x + iy and x - iy
    if not any(above) or not any(below):
        return _NANS
    square = _product(above, below)
    length = above[0] ** 2 + above[1] ** 2, below[0] ** 2 + below[1] ** 2

    # The signs of zeros say on which side of a cut a number is: those of x**2 + y**2 and of x + iy.
    lower = all(_product_signs(*part) for part in (y, x))
    negative = square[0] < 0

    def direction() -> acb:
        if square[1]:
            return _complex(*above) / _complex(*square).sqrt()
        length_ = ball_of_fraction(abs(square[0])).sqrt()
        return _complex(*above) / (acb(0, -length_ if lower else length_) if negative else length_)

    quotient = _product(above, (below[0], -below[1]))  # (x + iy) / (x - iy), but for a positive factor
    imaginary = (
        _zero(0) if length[0] == length[1] else _ball(lambda: -ball_of_fraction(length[0] / length[1]).log() / 4)
    )
    if quotient[1] or quotient[0] < 0:
        return _ball(lambda: direction().log().imag), imaginary
    with bits_of_precision(128):
        forward = direction().real > 0
    # (a + bi) / (c + di) of these numbers is real. Its imaginary part has the sign that bc - ad has in IEEE 754.
    signs = [part < 0 for part in above]
    if not above[0]:
        signs[0] = bool(x[0].sign and not y[1].sign)
    if not above[1]:
        signs[1] = bool(x[1].sign and y[0].sign)
    return _signed(_zero(0) if forward else _quarters(4), not square[1] and signs[1] and signs[0] == lower), imaginary


PAIRS: Mapping[str, Callable[[Number, Number, int], Parts]] = {"atan2": _angle, "divide": _divide, "power": _power}
"""The functions of two complex numbers, by name."""


def quotient(z: acb, w: acb) -> acb:
    """Return a ball of z / w."""
    return z / w


BALLS: Mapping[str, Callable[..., acb]] = MappingProxyType(
    {
        **{row.name: row.ball for row in _ROWS},
        **{name: getattr(acb, name) for name in (*TURNED, "acosh")},
        "divide": quotient,
        "square": lambda z: acb(z.real * z.real - z.imag * z.imag, 2 * z.real * z.imag),
        "power": lambda z, w: (w * z.log()).exp(),
    }
)
"""Functions of balls of numbers off the axes, by name."""

# --- on codes ---------------------------------------------------------------------------------------------------------


def unary(name: str, fmt: FloatFormat, a: int, b: int, policy: FloatPolicy = SPEC) -> tuple[int, int]:
    """Return the codes of both parts of a function of a + bi, each rounded once to nearest even.

    Raises `halfulp.fp_formats.reals.functions.Unsettled` if no ball of bounded precision determines a part.
    """
    z = scalar.operand(fmt, a, policy), scalar.operand(fmt, b, policy)
    x, y = (_positive(part) if part.kind >= QUIET_NAN else part for part in z)
    return _rounded(_parts(name, x, y, _reach(fmt)), fmt, policy, *z)


def binary(name: str, fmt: FloatFormat, z: tuple[int, int], w: tuple[int, int], policy: FloatPolicy) -> tuple[int, int]:
    """Return the codes of both parts of ``divide``, ``power`` or ``atan2`` of two complex numbers, each given as the
    codes of its parts. Raises as `unary`.
    """
    first, second = ((scalar.operand(fmt, a, policy), scalar.operand(fmt, b, policy)) for a, b in (z, w))
    return _rounded(PAIRS[name](first, second, _reach(fmt)), fmt, policy, *first, *second)


def _reach(fmt: FloatFormat) -> int:
    return 2 * (fmt.emax + fmt.mantissa_bits) + 64


def _rounded(parts: Parts, fmt: FloatFormat, policy: FloatPolicy, *operands: Unpacked) -> tuple[int, int]:
    grid = elementary.grid_of(fmt)
    codes = []
    for part in parts:
        found = part(grid)
        if isinstance(found, Special) and found.kind is Kind.NAN and any(x.kind >= QUIET_NAN for x in operands):
            nan = next(x for x in operands if x.kind >= QUIET_NAN)
            codes.append(scalar.encode_nan(fmt, nan, policy, 0, fmt).code)
        else:
            codes.append(elementary.round_exactly(fmt, found, scalar.RNE, policy).code)
    return codes[0], codes[1]
