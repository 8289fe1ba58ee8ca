"""Compiled loops that judge the results of an op in one pass, where numba is installed. NumPy takes some sixty passes
for the same: errors (`halfulp.semantics.shadows`, `halfulp.semantics.plain_shadows`), figures and marks.

The rules are those of the NumPy path, operation by operation: marks and figures are equal. A loop takes elements up to
the first block with one that it does not judge: a number that is not finite or too large, one that may have overflowed
to the largest of its format, a mark of an unknown number or of one of another format. The caller judges that one, and
asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import compiled
from halfulp.interp.run.shadow_figures import ShadowFigures
from halfulp.semantics.judging import as_f64, has_shadows, is_narrow
from halfulp.semantics.meanings import Computes
from halfulp.semantics.shadows import LARGEST_FACTOR, LEAST, LEAST_PRODUCT, SPLIT, UNIT, WIDER, two_sum

Floats = npt.NDArray[np.float64]
PIECE = 1 << 18
"""The most elements of a call: numbers that are no f32 are converted to f64 first."""
BLOCK = 1 << 10
"""Elements whose figures are compared with those found before: they stay in the first-level cache."""
WEIGHT = 8
"""What one element counts as one of other loops: it saves more time, but these loops take longer to compile, too."""
_F32, _F64 = FORMATS["f32"], FORMATS["f64"]
_FAR = 900
"""From 2**-900 on the inverse of an ulp is an f64, in all formats."""
_INFINITY = np.int64(0x7FF << 52)
_NEARLY_ONE = np.float64(1 - 2.0**-20).view(np.int64)
"""Own errors in ulp from here on may be those of overflow: their radius may be the rest to 1."""
_FRACTION_BITS = 52
_MAGNITUDE = np.int64((1 << 63) - 1)
_REACH = 1e299
"""Up to here numbers, errors and radii are judged: marks say of larger radii that nothing is known."""
_LEAST_BY_UNIT = LEAST / UNIT
_NOTHING: Floats = np.zeros(2 * BLOCK)

# --- rules ------------------------------------------------------------------------------------------------------------


class Operand(NamedTuple):
    """An operand of one element. ``unit``: `UNIT`; 0 for operands that are all exact: their errors cost nothing."""

    value: Any
    error: Any
    radius: Any
    unit: Any


Rule = Callable[..., Any]
"""Takes the value of a result, and two operands. Returns its own error, the radius of that, its total error, and the
radius of that. A rule of one operand passes over the second one.
"""

compiled.part(two_sum)


@compiled.part
def _add_to(total: Any, bound: Any, term: Any, unit: Any, lost: Any) -> Any:
    """Add a term to a sum that is known up to a bound; ``lost``: that of the term."""
    total = total + term
    return total, abs(total) * unit + bound + lost


@compiled.part
def _add_product(total: Any, bound: Any, a: Any, b: Any, unit: Any) -> Any:
    term = a * b
    return _add_to(total, bound, term, unit, unit * abs(term) + unit * _LEAST_BY_UNIT)


@compiled.part
def _product(a: Any, b: Any) -> Any:
    """Return what `halfulp.semantics.shadows.two_product` does."""
    product = a * b
    scaled_a, scaled_b = a * SPLIT, b * SPLIT
    high_a, high_b = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    low_a, low_b = a - high_a, b - high_b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    lost = 8 * LEAST if (abs(product) < LEAST_PRODUCT) & (a != 0) & (b != 0) else 0.0
    large = (abs(a) > LARGEST_FACTOR) | (abs(b) > LARGEST_FACTOR)
    return product, 0.0 if large else rest, UNIT * abs(product) + LEAST if large else lost


@compiled.part
def _negated(x: Any) -> Any:
    return Operand(-x.value, -x.error, x.radius, x.unit)


@compiled.part
def _add(result: Any, x: Any, y: Any) -> Any:
    sum_, rest = two_sum(x.value, y.value)
    own = sum_ - result
    own, bound = _add_to(own, abs(own) * UNIT, rest, UNIT, 0.0)
    total, lost = _add_to(own, bound, x.error, x.unit, 0.0)
    total, lost = _add_to(total, lost, y.error, y.unit, 0.0)
    return own, bound * WIDER, total, (lost + (x.radius + y.radius)) * WIDER


@compiled.part
def _subtract(result: Any, x: Any, y: Any) -> Any:
    return _add(result, x, _negated(y))


@compiled.part
def _multiplied(own: Any, bound: Any, x: Any, y: Any) -> Any:
    """Return the errors of a product, from its own one."""
    total, lost = _add_product(own, bound, x.value, y.error, y.unit)
    total, lost = _add_product(total, lost, y.value, x.error, x.unit)
    total, lost = _add_product(total, lost, x.error, y.error, min(x.unit, y.unit))
    by_y = (abs(x.value) + (abs(x.error) + x.radius)) * y.radius + (LEAST if y.radius != 0 else 0.0)
    by_x = (abs(y.value) + abs(y.error)) * x.radius + (LEAST if x.radius != 0 else 0.0)
    return own, bound * WIDER, total, (lost + (by_y + by_x)) * WIDER


@compiled.part
def _multiply(result: Any, x: Any, y: Any) -> Any:
    product, rest, lost = _product(x.value, y.value)
    own = product - result
    own, bound = _add_to(own, abs(own) * UNIT, rest, UNIT, lost)
    return _multiplied(own, bound, x, y)


@compiled.part
def _multiply_narrow(result: Any, x: Any, y: Any) -> Any:
    own = x.value * y.value - result
    return _multiplied(own, abs(own) * UNIT, x, y)


@compiled.part
def _quotient(a: Any, a_radius: Any, b: Any, b_radius: Any) -> Any:
    quotient = a / b
    least = abs(b) * (1 - 4 * UNIT) - b_radius
    radius = a_radius / least + abs(quotient) * (b_radius / least + UNIT)
    lost = 2 * LEAST if (a != 0) | (a_radius != 0) else 0.0
    return quotient, (radius + lost if least > 0 else np.inf) * WIDER


@compiled.part
def _divided(result: Any, remainder: Any, bound: Any, x: Any, y: Any) -> Any:
    """Return the errors of a quotient, from the remainder of the values."""
    own, own_radius = _quotient(remainder, bound, y.value, 0.0)
    remainder, bound = _add_to(remainder, bound, x.error, x.unit, 0.0)
    remainder, bound = _add_product(remainder, bound, -result, y.error, y.unit)
    divisor = y.value + y.error
    loose = y.radius + UNIT * abs(divisor)
    unknown = bound + x.radius + abs(result) * y.radius + (LEAST if (result != 0) & (y.radius != 0) else 0.0)
    total, radius = _quotient(remainder, unknown, divisor, loose)
    return own, own_radius, total, radius


@compiled.part
def _divide(result: Any, x: Any, y: Any) -> Any:
    product, rest, lost = _product(result, y.value)
    remainder = x.value - product
    remainder, bound = _add_to(remainder, abs(remainder) * UNIT, -rest, UNIT, lost)
    return _divided(result, remainder, bound, x, y)


@compiled.part
def _divide_narrow(result: Any, x: Any, y: Any) -> Any:
    remainder = x.value - result * y.value
    return _divided(result, remainder, abs(remainder) * UNIT, x, y)


@compiled.part
def _convert(result: Any, x: Any, y: Any) -> Any:
    difference, rest = two_sum(x.value, -result)
    own, bound = _add_to(difference, 0.0, rest, UNIT, 0.0)
    total, lost = _add_to(own, bound, x.error, x.unit, 0.0)
    return own, bound * WIDER, total, (lost + x.radius) * WIDER


@compiled.part
def _negate(result: Any, x: Any, y: Any) -> Any:
    return _convert(result, _negated(x), y)


@compiled.part
def _maximum(result: Any, x: Any, y: Any) -> Any:
    difference, rest = two_sum(x.value, -y.value)
    apart, lost = _add_to(difference, 0.0, rest, UNIT, 0.0)
    apart, lost = _add_to(apart, lost, x.error, x.unit, 0.0)
    apart, lost = _add_to(apart, lost, -y.error, y.unit, 0.0)
    lost = (lost + (x.radius + y.radius)) * WIDER
    known = (abs(apart) > lost) | ((apart == 0) & (lost == 0))
    own, own_radius, _, _ = _convert(result, Operand(max(x.value, y.value), 0.0, 0.0, 0.0), y)
    _, _, x_error, x_radius = _convert(result, x, y)
    _, _, y_error, y_radius = _convert(result, y, x)
    by_x = apart >= 0 if known else x_error >= y_error
    wide_x = apart >= 0 if known else x_radius >= y_radius
    return own, own_radius, x_error if by_x else y_error, x_radius if wide_x else y_radius


@compiled.part
def _minimum(result: Any, x: Any, y: Any) -> Any:
    own, own_radius, total, radius = _maximum(-result, _negated(x), _negated(y))
    return -own, own_radius, -total, radius


@compiled.part
def _add_plainly(result: Any, x: Any, y: Any) -> Any:
    return x.value + y.value - result, 0.0, (x.value + x.error) + (y.value + y.error) - result, 0.0


@compiled.part
def _subtract_plainly(result: Any, x: Any, y: Any) -> Any:
    return x.value - y.value - result, 0.0, (x.value + x.error) - (y.value + y.error) - result, 0.0


@compiled.part
def _multiply_plainly(result: Any, x: Any, y: Any) -> Any:
    return x.value * y.value - result, 0.0, (x.value + x.error) * (y.value + y.error) - result, 0.0


@compiled.part
def _divide_plainly(result: Any, x: Any, y: Any) -> Any:
    return x.value / y.value - result, 0.0, (x.value + x.error) / (y.value + y.error) - result, 0.0


@compiled.part
def _maximum_plainly(result: Any, x: Any, y: Any) -> Any:
    return max(x.value, y.value) - result, 0.0, max(x.value + x.error, y.value + y.error) - result, 0.0


@compiled.part
def _minimum_plainly(result: Any, x: Any, y: Any) -> Any:
    return min(x.value, y.value) - result, 0.0, min(x.value + x.error, y.value + y.error) - result, 0.0


@compiled.part
def _convert_plainly(result: Any, x: Any, y: Any) -> Any:
    return x.value - result, 0.0, x.value + x.error - result, 0.0


@compiled.part
def _negate_plainly(result: Any, x: Any, y: Any) -> Any:
    return -x.value - result, 0.0, -(x.value + x.error) - result, 0.0


class _Rules(NamedTuple):
    """The rules of an op: of an enclosed form, for products that an f64 may not hold and for others, and beside f64."""

    enclosed: Rule
    narrow: Rule
    plain: Rule


_LARGEST = _Rules(_maximum, _maximum, _maximum_plainly)
_LEAST = _Rules(_minimum, _minimum, _minimum_plainly)
RULES: Mapping[str, _Rules] = {
    "add": _Rules(_add, _add, _add_plainly),
    "subtract": _Rules(_subtract, _subtract, _subtract_plainly),
    "multiply": _Rules(_multiply, _multiply_narrow, _multiply_plainly),
    "divide": _Rules(_divide, _divide_narrow, _divide_plainly),
    "maximum": _LARGEST,
    "minimum": _LEAST,
    "maximum number": _LARGEST,
    "minimum number": _LEAST,
    "convert": _Rules(_convert, _convert, _convert_plainly),
    "negate": _Rules(_negate, _negate, _negate_plainly),
}
_SIGNS: Mapping[str, float] = {"add": 1.0, "subtract": -1.0}
"""The sign of the second term of a sum."""

# --- the loop ---------------------------------------------------------------------------------------------------------


@compiled.part
def _operand(numbers: Any, marks: Any, k: Any, width: Any, unit: Any) -> Any:
    error = np.float64(marks[width * k])
    return Operand(np.float64(numbers[k]), error, np.float64(marks[2 * k + 1]) if width == 2 else 0.0, unit)


@compiled.part
def _code(number: Any) -> Any:
    return np.float64(number).view(np.int64)


@compiled.part
def _size(number: Any) -> Any:
    """Return the code of an absolute value: codes are in the order of the numbers, and compare more quickly."""
    return np.int64(_code(number) & _MAGNITUDE)


@compiled.part
def _per_ulp(result: Any, least: Any, inverse: Any) -> Any:
    return np.int64(inverse - max(_code(result) & _INFINITY, least)).view(np.float64)


@compiled.part
def _is_foreign(x: Any, width: Any, tag: Any, tags: Any) -> Any:
    """Tell whether a mark is of a number of another format, or of an unknown one: then it has another tag."""
    other = (_code(x.radius if width == 2 else x.error) & tags) != tag
    return other & ((x.error != 0) | (x.radius != 0))


@compiled.part
def _lost(result: Any, x: Any, y: Any) -> Any:
    """Return the larger term of a sum by its result: the difference of their codes."""
    return np.int64(max(_size(x.value), _size(y.value)) - _size(result))


@cache
def _judging(rule: Rule, sign: float, width: int, low: int, deep: bool) -> Callable[..., Any]:
    """Return the loop of a rule. ``sign``: of the second term of a sum, 0 for other ops. ``width``: the numbers of a
    mark. ``low``: the mask of the tag. ``deep``: there are numbers below the least one whose ulp has an inverse.
    """
    tags, rest = np.int64(low), np.int64(~low)
    f64, i64 = np.float64, np.int64

    def judge_all(
        x: Any, x_marks: Any, x_open: Any, x_tag: Any,
        y: Any, y_marks: Any, y_open: Any, y_tag: Any,
        results: Any, tag: Any, least: Any, inverse: Any, largest: Any,
        own_most: Any, total_most: Any, relative_most: Any, out: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Fill ``out`` with marks, up to the first block with an element that loops do not judge. Return its number;
        the largest errors, own, in total and relative, and the widest radius; the places of the errors, -1 for one that
        is no larger than before; the largest quotient of a term and a sum, as the difference of their codes; whether a
        sum is 0, of terms that cancel; the numbers of sums that are one of their terms, and of results that are
        flushed.

        ``x_open``: 1 where marks are given, 0 where all are exact: then ``x_marks`` are zeros for one block. ``least``:
        the code of the least normal number, or of one that is large enough for ``deep``. ``inverse``: the code of a
        power of two and that of the inverse of its ulp, added. ``largest``: the largest number of the format.
        ``own_most``, ``total_most``, ``relative_most``: the largest errors before.
        """
        x_unit, y_unit = UNIT * x_open, UNIT * y_open
        own_at = total_at = relative_at = -1
        radius_size = lost_size = absorbed = cancelled = flushed = i64(0)
        done = 0
        for start in range(0, len(results), BLOCK):
            count = min(BLOCK, len(results) - start)
            a, b, r = x[start : start + count], y[start : start + count], results[start : start + count]
            o = out[width * start : width * (start + count)]
            p, q = x_marks[width * start * x_open :], y_marks[width * start * y_open :]
            known = relative_most * (1 - 2.0**-50) if relative_most > 2.0**-100 else 0.0
            own_size = total_size = radius_here = lost_here = absorbed_here = i64(0)
            wrong = again = False
            for k in range(count):
                one, two, result = _operand(a, p, k, width, x_unit), _operand(b, q, k, width, y_unit), f64(r[k])
                own, own_radius, total, radius = rule(result, one, two)
                per_ulp = _per_ulp(result, least, inverse)
                own_size = max(own_size, _code((abs(own) - own_radius) * per_ulp))
                total_size = max(total_size, _size(total * per_ulp))
                again = again | (abs(total) > known * abs(result)) | (result == 0)
                wrong = wrong | _is_foreign(one, width, x_tag, tags) | _is_foreign(two, width, y_tag, tags)
                if deep:
                    nothing = (result == 0) & (own == 0) & (total == 0) & (own_radius == 0) & (radius == 0)
                    wrong = wrong | (((_code(result) & _INFINITY) < least) & (not nothing))
                if sign:
                    term = two.value * sign
                    lost_here = max(lost_here, _lost(result, one, two))
                    same = (i64(result == one.value) & i64(term != 0)) | (i64(result == term) & i64(one.value != 0))
                    absorbed_here += same & i64(result != 0)
                if width == 2:
                    reach = abs(one.value) + abs(two.value) + abs(own) + own_radius + radius
                    wrong = wrong | (not (reach < _REACH))
                    radius_here = max(radius_here, _code(radius * per_ulp))
                    code = ((_code(radius) + tags) & rest) | tag
                    o[2 * k] = total
                    o[2 * k + 1] = i64(code if (radius != 0) | (total != 0) else 0).view(f64)
                else:
                    o[k] = i64(((_code(total) & rest) | tag) if total != 0 else 0).view(f64)
            if own_size >= _NEARLY_ONE:
                for k in range(count):
                    wrong = wrong | (abs(f64(r[k])) == largest)
            # An error that is NaN, or infinite, has the largest size.
            if wrong or own_size >= _INFINITY or total_size >= _INFINITY:
                break
            if again or own_size > _size(own_most) or total_size > _size(total_most):
                lost_here = i64(0)
                for k in range(count):
                    one, two, result = _operand(a, p, k, width, x_unit), _operand(b, q, k, width, y_unit), f64(r[k])
                    own, own_radius, total, radius = rule(result, one, two)
                    per_ulp = _per_ulp(result, least, inverse)
                    own_here, total_here = (abs(own) - own_radius) * per_ulp, abs(total) * per_ulp
                    if own_here > own_most:
                        own_most, own_at = own_here, start + k
                    if total_here > total_most:
                        total_most, total_at = total_here, start + k
                    if result == 0:
                        small = i64(abs(own) > own_radius)
                        flushed += small
                        cancelled |= i64((one.value != 0) | (two.value != 0)) & (1 - small)
                        if total != 0 and relative_most < np.inf:
                            relative_most, relative_at = np.inf, start + k
                    else:
                        relative = abs(total) / abs(result)
                        if relative > relative_most:
                            relative_most, relative_at = relative, start + k
                        lost_here = max(lost_here, _lost(result, one, two))
            radius_size, lost_size = max(radius_size, radius_here), max(lost_size, lost_here)
            absorbed += absorbed_here
            done = start + count
        sizes = own_most, total_most, relative_most, i64(radius_size).view(f64)
        return done, sizes, (own_at, total_at, relative_at), lost_size, cancelled, absorbed, flushed

    return judge_all


# --- calls ------------------------------------------------------------------------------------------------------------


class Marked(NamedTuple):
    """Numbers with one axis: their format, codes, marks (None if all are exact), and the tag that their marks have."""

    format: FloatFormat
    codes: Codes
    marks: npt.NDArray[Any] | None
    tag: int

    def piece(self, here: slice, single: bool) -> Any:
        """Return some numbers as f32 or f64."""
        codes = np.ascontiguousarray(self.codes[here])
        return codes.view(np.float32) if single else as_f64(self.format, codes)

    def arguments(self, here: slice, single: bool) -> tuple[Any, ...]:
        """Return numbers, marks, whether there are any, and the tag."""
        marks = _NOTHING if self.marks is None else np.ascontiguousarray(self.marks[here]).view(np.float64)
        return self.piece(here, single), marks, int(self.marks is not None), self.tag


class Judging:
    """Judges the results of an op by a loop."""

    def __init__(
        self, loop: compiled.Loop, operands: Sequence[Marked], results: Marked, single: bool, sums: bool
    ) -> None:
        self._loop, self._single, self._sums = loop, single, sums
        self._operands = operands[0], operands[-1]
        self._results = results
        fmt = results.format
        least = _code_of(2.0 ** max(fmt.emin, -_FAR))
        inverse = np.uint64(2 * _code_of(1.0) + (fmt.mantissa_bits << _FRACTION_BITS)).view(np.int64)
        self._constants = results.tag, np.int64(least), inverse, float(fmt.max_value)

    def take(self, first: int, found: ShadowFigures, shape: tuple[int, ...], out: npt.NDArray[Any]) -> int:
        """Judge results from number ``first`` on, write their marks, and add their figures. Return the number of the
        first one that is left.
        """
        while first < len(out):
            here = slice(first, min(first + PIECE, len(out)))
            loop = self._loop.get(WEIGHT * (here.stop - first))
            if loop is None:
                return first
            known = found.own.size, found.total.size, found.relative.size
            done, sizes, places, lost, cancelled, absorbed, flushed = loop(
                *(part for each in self._operands for part in each.arguments(here, self._single)),
                self._results.piece(here, self._single), *self._constants, *known, out[here].view(np.float64),
            )  # fmt: skip
            for worst, size, at in zip((found.own, found.total, found.relative), sizes, places, strict=False):
                if at >= 0:
                    worst.take_one(size, tuple(map(int, np.unravel_index(first + at, shape))))
            found.radius = max(found.radius, sizes[3])
            if self._sums:
                bits_lost = self._results.format.precision if cancelled else 0
                found.cancelled = max(found.cancelled, lost >> _FRACTION_BITS, bits_lost)
                found.absorbed += absorbed
            found.flushed += flushed
            first += done
            if first < here.stop:
                return first
        return first


def judging(meaning: Computes, operands: Sequence[Marked], results: Marked, plain: bool, low: int) -> Judging | None:
    """Return what judges results by a loop; None where there is none. ``plain``: beside f64, else enclosed. ``low``:
    the mask of the tag in a mark.
    """
    formats = [each.format for each in (*operands, results)]
    if meaning.rule not in RULES or not all(map(has_shadows, formats)):
        return None
    if plain and results.format.precision >= _F64.precision:
        return None
    rules = RULES[meaning.rule]
    rule = rules.plain if plain else rules.narrow if all(map(is_narrow, formats)) else rules.enclosed
    single = all(fmt is _F32 for fmt in formats)
    numbers, marks = (np.float32,) if single else (np.float64,), (np.float64,)
    sign = _SIGNS.get(meaning.rule, 0.0)
    function = _judging(rule, sign, 1 if plain else 2, low, results.format.emin < -_FAR)
    kinds = *(numbers, marks, np.int64, np.int64) * 2, numbers, *[np.int64] * 3, *[np.float64] * 4, marks
    return Judging(compiled.loop(function, *kinds), operands, results, single, sign != 0)


def _code_of(number: float) -> int:
    return int(np.float64(number).view(np.int64))
