"""The shadow of a number: how far the number that a program computed is from what exact real arithmetic gives.

How a shadow encloses
---------------------

A program adds 1.375 and 2.25 in f8E4M3FN and gets 3.5; the exact sum is 3.625. Then it multiplies by 3 and gets 10,
where the exact program has 10.875. A run with shadows keeps both numbers for every float: the *value* that the program
computed, and beside it two f64 numbers, an *error* and a *radius*. They promise

    value + error - radius  <=  exact number  <=  value + error + radius

which for the sum is 3.5 + 0.125 with radius 0, and for the product 10 + 0.875 with radius 0. Arguments and constants
start with error 0 and radius 0: they are what the exact program has too. A radius of infinity promises nothing, so the
number is *unknown*: after x / 0, an overflow, or an op without a rule.

Why not keep the exact number itself? One f64 beside a value costs little, and gives much: the value holds the leading
bits and the error the next 53, which makes about 76 bits for a program in f32 and 105 for one in f64. And the error
does not suffer when the program cancels: if two large values are subtracted, their errors are as precise as before.

**The two errors of an op.** A rule takes the values and shadows of the operands and the value of the result, and
returns

- the *own* error: the exact function of the values of its operands, less the value of the result. It is the rounding
  of this op, here 0.125 for the sum and 10.5 - 10 = 0.5 for the product;
- the *total* error: the exact function of the exact operands, less the value of the result. It becomes the shadow of
  the result: for the product 0.5 of its own and 3 * 0.125 which its operand brought.

The own error does not say who is to blame for the total one; `halfulp.interp.run.attribution` finds that from both.

**Step 1: split without loss.** For sums and products f64 can compute its own rounding error. `two_sum` (Knuth) returns
a rounded sum and the rest that it lacks, and both together are the exact sum. `two_product` (Dekker) does this for a
product; if the format is *narrow*, an f64 holds the product, and there is no rest. Quotients and square roots have no
such split, so their rules use the remainder: x / y - q is (x - q * y) / y, and x - q * y is a sum and a product again.
Only after the large parts have cancelled without loss does a rule round, so it rounds numbers of the size of an error.

**Step 2: carry the errors of the operands.** These are the formulas of algebra, without terms left out, because a
bound must hold for large errors too. With x' = x + ex and y' = y + ey the product is

    x' * y' - r  =  (x * y - r)  +  x * ey  +  y * ex  +  ex * ey

A sum adds the errors, a quotient takes the remainder of x' and y'. What the operands leave open becomes radius: if they
are known up to rx and ry, the product is up to (|x| + |ex| + rx) * ry + (|y| + |ey|) * rx.

**Step 3: pay for each rounding.** The terms of steps 1 and 2 are added in f64. Each such operation loses at most
`UNIT` = 2**-53 of its result, and a product or quotient that underflows loses at most `LEAST` = 2**-1074. `_Sum` adds
these bounds up while it adds the terms, and they become radius. The radius is computed in f64, rounded to nearest, so
it could itself be too small; therefore `_shadow` multiplies it at the end by `WIDER`, which is more than all roundings
of its own terms. Nothing needs a directed rounding mode, so NumPy and machine code can compute it.

**Where a formula ends.** Three kinds of functions need more than algebra:

- *A divisor near zero.* The quotient divides by the least magnitude that the divisor can have. If its enclosure
  contains 0, no bound exists, and the result is unknown. A square root has a bound also there, because
  |sqrt(a) - sqrt(b)| is at most sqrt(|a - b|).
- *Functions that choose or jump.* `maximum` takes the error of the operand that is certainly larger, as `order` finds
  it. If both may be the larger one, the wider radius counts. `floor` and its like (in `halfulp.semantics.judging`) are
  evaluated at both ends of the enclosure; if both ends give one integer, the operand adds nothing to the radius.
- *Elementary functions.* f64 in wide margins settles most elements of narrow formats (`errors_by_margins`). The others
  are computed with Arb in balls of 192 bits: the ball of x + ex with radius rx goes through the function, the result's
  value is subtracted, and the ball that is left is the error and its radius.

**Decisions.** The exact program follows the branches that the real one took. `order` compares two enclosures: they may
be apart, or equal and exact, or not known. So the caller counts comparisons that the exact run decides otherwise, and
those that it may decide otherwise. Without both counts at 0, the errors belong to the path that was taken, no more.

**What is checked.** `errors` looks once at the end whether all sums are finite, because an infinity or a NaN in any
operand makes them so; only then it searches the elements and marks them unknown. Values must be finite f64 numbers,
so f80 and f128 have no shadows.

Three users apply these rules: `halfulp.semantics.judging` to arrays of codes, the loops of machine code in
`halfulp.interp.run.shadow_loops`, which trace the same functions once and so cannot differ from them, and
`halfulp.interp.run.shadows`, which stores a shadow as one complex128 beside each element. To add a rule, write the
exact split of step 1, list every term of step 2, and give each f64 operation to `_Sum`; the tests compare each
enclosure with fractions or with Arb at 2,000 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite, nextafter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.fp_formats.neighbours import two_sum
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.semantics.ball_rules import BALLS, covers, errors_by_margins

Floats = npt.NDArray[np.float64]

UNIT = 2.0**-53
"""The relative error of one operation in f64."""
LEAST = 2.0**-1074
"""The least positive f64: what an operation that underflows loses."""
WIDER = 1 + 2.0**-44
"""More than the relative error of a radius: a sum of at most a hundred terms, each of a few operations."""
SPLIT = 2.0**27 + 1
LARGEST_FACTOR = 2.0**995
"""From here on the halves of a factor may overflow."""
LEAST_PRODUCT = 2.0**-960
"""From here on the error of a product is a normal f64."""


class Shadow(NamedTuple):
    """Errors of numbers: each is ``error``, known up to ``radius``."""

    error: Floats
    radius: Floats


class Shadowed(NamedTuple):
    """Operands: their values, and their shadow.

    ``narrow``: True if all operands and results of the op have a format whose products f64 can represent exactly.
    """

    value: Floats
    error: Floats
    radius: Floats
    narrow: bool = False


class Errors(NamedTuple):
    """The errors that a rule computes: the op's own error, and the error of its result against the exact run."""

    own: Shadow
    total: Shadow


Rule = Callable[..., Errors]


NOTHING = np.zeros(())
"""The error and the radius of exact numbers, and the bound of a sum of which nothing was lost: rules leave it out."""


def exact(value: Any, narrow: bool = False) -> Shadowed:
    """Return numbers as operands without any error. ``narrow``: see `Shadowed`."""
    return Shadowed(np.asarray(value, np.float64), NOTHING, NOTHING, narrow)


def two_product(a: Floats, b: Floats, narrow: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return the rounded product, its rounding error (Dekker), and a bound on the error of the latter: 0 if it is
    exact.

    ``narrow``: see `Shadowed`; if it is True, the product is exact.
    """
    product = a * b
    if narrow:
        return product, NOTHING, NOTHING
    high_a, high_b = _upper_half(a), _upper_half(b)
    low_a, low_b = a - high_a, b - high_b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    small = np.abs(product) < LEAST_PRODUCT
    # Each of the four products above may lose the least f64; the rounded product too.
    lost = np.where(small & (a != 0) & (b != 0), 8 * LEAST, 0.0)
    large = (np.abs(a) > LARGEST_FACTOR) | (np.abs(b) > LARGEST_FACTOR)
    # Without the halves: the product is right within half an ulp.
    return product, np.where(large, 0.0, rest), np.where(large, UNIT * np.abs(product) + LEAST, lost)


def _upper_half(a: Floats) -> Floats:
    scaled = a * SPLIT
    return scaled - (scaled - a)


class _Sum:
    """A sum of f64 terms, with a bound on the rounding errors of the additions."""

    __slots__ = ("bound", "total")

    def __init__(self, first: Floats, bound: Floats = NOTHING) -> None:
        self.total, self.bound = first, bound

    def add(self, term: Floats, bound: Floats = NOTHING) -> _Sum:
        """Add a term that is known up to a bound."""
        if term is NOTHING:
            return self
        self.total = self.total + term
        lost = np.abs(self.total)
        lost *= UNIT
        for each in (self.bound, bound):
            if each is not NOTHING:
                lost += each
        self.bound = lost
        return self

    def product(self, a: Floats, b: Floats) -> _Sum:
        """Add a product."""
        if a is NOTHING or b is NOTHING:
            return self
        term = a * b
        return self.add(term, UNIT * np.abs(term) + LEAST)

    def shadow(self, radius: Floats = NOTHING) -> Shadow:
        """Return the sum as an error; ``radius``: a further bound on its error."""
        bounds = [each for each in (self.bound, radius) if each is not NOTHING]
        whole = sum(bounds[1:], bounds[0]) if bounds else np.zeros_like(self.total)
        return _shadow(self.total, np.broadcast_to(whole, self.total.shape))


def _difference(a: Floats, b: Floats) -> _Sum:
    """Return a difference, rounded once."""
    difference = a - b
    lost = np.abs(difference)
    lost *= UNIT
    return _Sum(difference, lost)


def _both(a: Floats, b: Floats) -> Floats:
    """Return the sum of two radii."""
    return b if a is NOTHING else a if b is NOTHING else a + b


def _shadow(error: Floats, radius: Floats) -> Shadow:
    """Return a shadow with a radius that includes its own rounding errors. Numbers that are not finite are left to
    `errors`.
    """
    return Shadow(error, radius * WIDER)


def _magnitude(x: Shadowed) -> Floats:
    """Return a bound on the errors of numbers."""
    return np.abs(x.error) + x.radius


# --- rules ------------------------------------------------------------------------------------------------------------


def _add(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    total, rest = two_sum(x.value, y.value)
    own = _difference(total, result).add(rest)
    found = own.shadow()
    whole = own.add(x.error).add(y.error).shadow(_both(x.radius, y.radius))
    return Errors(found, whole)


def _subtract(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    return _add(result, x, _negated(y))


def _multiply(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    product, rest, lost = two_product(x.value, y.value, x.narrow)
    own = _difference(product, result).add(rest, lost)
    found = own.shadow()
    whole = own.product(x.value, y.error).product(y.value, x.error).product(x.error, y.error)
    return Errors(found, whole.shadow(_of_product(x, y)))


def _of_product(x: Shadowed, y: Shadowed) -> Floats:
    """Return the radius of a product of operands that are known up to their radii."""
    parts = []
    if y.radius is not NOTHING:
        parts.append((np.abs(x.value) + _magnitude(x)) * y.radius + LEAST * (y.radius != 0))
    if x.radius is not NOTHING:
        parts.append((np.abs(y.value) + np.abs(y.error)) * x.radius + LEAST * (x.radius != 0))
    return sum(parts[1:], parts[0]) if parts else NOTHING


def _divide(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    """Return the errors of a division, by the remainder: x / y - q is (x - q y) / y, and for the exact operands (x - q
    y) / y as well.
    """
    product, rest, lost = two_product(result, y.value, y.narrow)
    remainder = _difference(x.value, product).add(_minus(rest), lost)
    found = _quotient(remainder.total, remainder.bound, y.value, NOTHING)
    remainder.add(x.error).product(-result, y.error)
    divisor = y.value + y.error
    loose = y.radius + UNIT * np.abs(divisor)
    unknown = remainder.bound + x.radius + np.abs(result) * y.radius + LEAST * ((result != 0) & (y.radius != 0))
    return Errors(found, _quotient(remainder.total, unknown, divisor, loose))


def _minus(x: Floats) -> Floats:
    return x if x is NOTHING else -x


def _quotient(a: Floats, a_radius: Floats, b: Floats, b_radius: Floats) -> Shadow:
    """Return the quotient of two numbers that are known up to their radii."""
    quotient = a / b
    least = np.abs(b) * (1 - 4 * UNIT) - b_radius
    divisor = np.where(least > 0, least, 0.0)
    radius = a_radius / divisor + np.abs(quotient) * (b_radius / divisor + UNIT)
    # The quotient, the first term and the second one may each lose half of the least f64.
    lost = 2 * LEAST * ((a != 0) | (a_radius != 0))
    return _shadow(quotient, np.where(least > 0, radius + lost, np.inf))


def _square_root(result: Floats, x: Shadowed) -> Errors:
    """Return the errors of a square root, by the remainder: sqrt(x) - r is (x - r r) / (sqrt(x) + r)."""
    product, rest, lost = two_product(result, result, x.narrow)
    remainder = _difference(x.value, product).add(_minus(rest), lost)
    root = np.sqrt(x.value)
    found = _quotient(remainder.total, remainder.bound, root + result, 2 * UNIT * (root + result))
    argument = x.value + x.error
    loose = x.radius + UNIT * np.abs(argument)
    least = argument - loose
    root = np.sqrt(np.maximum(argument, 0.0))
    # |sqrt(a) - sqrt(b)| is at most |a - b| / sqrt(b), and at most sqrt(|a - b|).
    wide = np.sqrt(loose) * (1 + 4 * UNIT)
    apart = np.minimum(
        wide, np.where(least > 0, loose / np.sqrt(np.where(least > 0, least, 1.0)) * (1 + 4 * UNIT), wide)
    )
    remainder.add(x.error)
    divisor = root + result
    whole = _quotient(remainder.total, remainder.bound + x.radius, divisor, apart + 2 * UNIT * divisor)
    exact_zero = (argument == 0) & (x.radius == 0) & (result == 0)
    nothing = Shadow(np.where(exact_zero, 0.0, whole.error), np.where(exact_zero, 0.0, whole.radius))
    negative = (least < 0) & ~exact_zero
    zero = (x.value == 0) & (result == 0)
    return Errors(
        Shadow(np.where(zero, 0.0, found.error), np.where(zero, 0.0, found.radius)),
        Shadow(np.where(negative, 0.0, nothing.error), np.where(negative, np.inf, nothing.radius)),
    )


def _negate(result: Floats, x: Shadowed) -> Errors:
    return _convert(result, _negated(x))


def _absolute(result: Floats, x: Shadowed) -> Errors:
    """Return the errors of an absolute value. The exact number may have the other sign: then its magnitude is farther
    away.
    """
    down = np.signbit(x.value)
    value, error = np.where(down, -x.value, x.value), np.where(down, -x.error, x.error)
    crosses = value + error < 0
    far = value + (value + error)  # -(v + e) - v is -(2 v + e)
    certain = np.abs(value + error) > x.radius + UNIT * np.abs(value + error)
    other = np.where(crosses, -far, error)
    loose = np.where(crosses, 2 * UNIT * (np.abs(value) + np.abs(far)), 0.0)
    either = np.where(certain, x.radius, x.radius + 2 * np.abs(value + error))
    return _convert(result, Shadowed(value, other, either + loose))


def _convert(result: Floats, x: Shadowed) -> Errors:
    """Return the errors of a conversion between floats, or of another op whose exact result is its operand."""
    difference, rest = two_sum(x.value, -result)
    own = _Sum(difference).add(rest)
    found = own.shadow()
    return Errors(found, own.add(x.error).shadow(x.radius))


def _fused(result: Floats, x: Shadowed, y: Shadowed, z: Shadowed) -> Errors:
    product, rest, lost = two_product(x.value, y.value, x.narrow)
    total, rest_of_sum = two_sum(product, z.value)
    # Where the product cancels the summand, the result may be as small as these rests.
    rests = [*two_sum(total, -result), rest_of_sum, *([] if rest is NOTHING else [rest])]
    for k in range(1, len(rests)):
        rests[0], rests[k] = two_sum(rests[0], rests[k])
    own = _Sum(rests[0], lost)
    for each in rests[:0:-1]:
        own.add(each)
    found = own.shadow()
    whole = own.product(x.value, y.error).product(y.value, x.error).product(x.error, y.error).add(z.error)
    return Errors(found, whole.shadow(_both(_of_product(x, y), z.radius)))


def _largest(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    """Return the errors of a maximum: the larger exact number, if it is known which one that is. Otherwise the largest
    exact number is not farther from the largest middle than the wider radius.
    """
    own = _convert(result, Shadowed(np.maximum(x.value, y.value), NOTHING, NOTHING)).own
    first, second = (_convert(result, each).total for each in (x, y))
    side, known = order(x, y)
    error, radius = (np.where(side >= 0, one, other) for one, other in zip(first, second, strict=True))
    if known.all():
        return Errors(own, Shadow(error, radius))
    error = np.where(known, error, np.maximum(first.error, second.error))
    return Errors(own, Shadow(error, np.where(known, radius, np.maximum(first.radius, second.radius))))


def _least(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    return Errors(*map(_opposite, _largest(-result, _negated(x), _negated(y))))


def _negated(x: Shadowed) -> Shadowed:
    return Shadowed(-x.value, _minus(x.error), x.radius, x.narrow)


def _opposite(x: Shadow) -> Shadow:
    return Shadow(-x.error, x.radius)


# --- elementary functions ---------------------------------------------------------------------------------------------

_BITS = 192
"""Bits of a ball: more than the result and an f64 have together, where the argument is an f64."""


def _elementary(name: str) -> Rule:
    """Return the rule of an elementary function: by margins if these settle it, else by a ball for each element."""
    ball = BALLS[name]

    def rule(result: Floats, *operands: Shadowed) -> Errors:
        shape = np.broadcast_shapes(result.shape, *(each.value.shape for each in operands))
        found = np.empty((4, *shape))
        rest = np.ones(shape, np.bool_)
        parts = [np.broadcast_to(part, shape) for each in operands for part in each[:3]]
        result = np.broadcast_to(result, shape)
        if operands[0].narrow and len(operands) == 1 and covers(name, result.size):
            *errors, settled = errors_by_margins(name, result, *parts)
            found[...] = errors
            rest = ~settled
        with bits_of_precision(_BITS):
            for place in zip(*np.nonzero(rest), strict=True):
                found[(slice(None), *place)] = _of_balls(
                    ball, float(result[place]), [float(part[place]) for part in parts]
                )
        return Errors(Shadow(found[0], found[1]), Shadow(found[2], found[3]))

    return rule


def _of_balls(ball: Callable[..., arb], result: float, parts: list[float]) -> tuple[float, float, float, float]:
    """Return the own and the total error of one element. ``parts``: value, error and radius of each operand."""
    if not all(map(isfinite, (result, *parts[0::3]))):
        return _UNKNOWN + _UNKNOWN
    given = [arb(value) for value in parts[0::3]]
    own = middle_and_radius(ball(*given) - result)
    if not all(map(isfinite, parts[2::3])):
        return own + _UNKNOWN
    if not any(parts[1::3]) and not any(parts[2::3]):
        return own + own
    pairs = zip(given, parts[1::3], parts[2::3], strict=True)
    return own + middle_and_radius(ball(*(value + arb(error, radius) for value, error, radius in pairs)) - result)


_UNKNOWN = (0.0, inf)


def middle_and_radius(ball: arb) -> tuple[float, float]:
    """Return the middle and the radius of a ball as f64. The radius is large enough that both enclose the ball."""
    if not ball.is_finite():
        return _UNKNOWN
    middle = float(ball.mid())
    rest = ball - middle
    if rest.is_zero():
        return middle, 0.0
    # Its bound may be less than the least f64.
    radius = nextafter(float(rest.abs_upper()), inf)
    return (middle, radius) if isfinite(middle) and isfinite(radius) else _UNKNOWN


RULES: Mapping[str, Rule] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "square root": _square_root,
    "negate": _negate,
    "absolute": _absolute,
    "convert": _convert,
    "fma": _fused,
    "maximum": _largest,
    "minimum": _least,
    "maximum number": _largest,
    "minimum number": _least,
    **{name: _elementary(name) for name in (*FUNCTIONS, *FUNCTIONS_OF_TWO, "remainder")},
}
"""The rules by what an op does to real numbers, and by the names of functions. Each takes the value of the result, then
the operands.
"""


CHOOSES = ("maximum", "minimum", "maximum number", "minimum number", "clamp", "copysign")
"""The rules of functions whose result may be one operand, or its opposite, though another one is infinite."""


def errors(name: str, result: Any, *operands: Shadowed, rules: Mapping[str, Rule] = RULES) -> Errors:
    """Return the errors of an op. ``name``: a key of ``rules``. ``result``: the values that the op gave.

    All arrays broadcast. If an operand or the result is not finite, the errors are unknown.
    """
    value = np.asarray(result, np.float64)
    with np.errstate(all="ignore"):
        own, total = rules[name](value, *operands)
        # A number that is not finite makes one of the sums so.
        if all(np.isfinite(part.sum()) for shadow in (own, total) for part in shadow):
            return Errors(own, total)
        finite = np.isfinite(value)
        for operand in operands if name not in CHOOSES else ():
            finite = finite & np.isfinite(operand.value)
        return Errors(*(_unless(finite, one) for one in (own, total)))


def _unless(known: npt.NDArray[np.bool_], shadow: Shadow) -> Shadow:
    known = known & np.isfinite(shadow.error) & np.isfinite(shadow.radius)
    return Shadow(np.where(known, shadow.error, 0.0), np.where(known, shadow.radius, np.inf))


def is_exact(x: Shadowed) -> npt.NDArray[np.bool_]:
    """Return the mask of numbers without any error."""
    mask: npt.NDArray[np.bool_] = (x.error == 0) & (x.radius == 0)
    return mask


def order(x: Shadowed, y: Shadowed) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Compare exact numbers: return -1, 0 or 1, and the mask of comparisons that are certain; the other results have no
    meaning.
    """
    with np.errstate(all="ignore"):
        difference, rest = two_sum(x.value, -y.value)
        found = _Sum(difference).add(rest).add(x.error).add(_minus(y.error)).shadow(_both(x.radius, y.radius))
    known = np.isfinite(found.error) & np.isfinite(found.radius)
    apart = np.abs(found.error) > found.radius
    same = (found.error == 0) & (found.radius == 0)
    side = np.sign(np.where(known, found.error, 0.0)).astype(np.int8)
    if known.all():
        return side, apart | same
    # An infinity that is exact lies beyond all that is known.
    beyond = np.zeros_like(known)
    for one, other in ((x, y), (y, x)):
        beyond = beyond | (np.isinf(one.value) & is_exact(one) & np.isfinite(other.radius) & ~np.isnan(other.value))
    values = (x.value > y.value).astype(np.int8) - (x.value < y.value).astype(np.int8)
    return np.where(beyond, values, side), (known & (apart | same)) | beyond
