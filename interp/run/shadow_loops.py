"""Loops of machine code that judge the results of an op in one pass; NumPy needs about sixty passes.

The rules are those of `halfulp.semantics.shadows` and `halfulp.semantics.plain_shadows`, which NumPy runs on arrays.
Here each rule is run once, on `Traced` numbers, and its operations on these become instructions. So marks and figures
are equal to those of NumPy.

The loop leaves some blocks to NumPy: blocks with a number that is not finite or too large, with a number that may have
overflowed to the largest of its format, with a mark of an unknown number or of a number of another format; and the
blocks with the largest errors, since NumPy finds the place of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, nan
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.neighbours import Floats, Worst, two_sum
from halfulp.fp_formats.paths import domains, llvm, word_floats
from halfulp.fp_formats.paths.array_loop import ChainOfOne, Plan, Waiting
from halfulp.fp_formats.paths.words import Real, Word
from halfulp.interp.ir import types as ty
from halfulp.semantics import plain_shadows
from halfulp.semantics.judging import as_f64, has_shadows, is_narrow
from halfulp.semantics.kernel import Computes
from halfulp.semantics.shadows import NOTHING, RULES, Errors, Shadow, Shadowed

# --- shadow figures ---------------------------------------------------------------------------------------------------
#
# What the ops of a run did to the exactness of its numbers, in figures.

Element = tuple[int, ...]


@dataclass(slots=True)
class WorstElement(Worst[Element]):
    """The largest of some figures that are not 0, and the place of its element."""

    def take_block(self, sizes: Floats, shape: Element, first: int) -> None:
        """Update the largest size with those of a block of elements. ``shape``: the shape of the whole array.
        ``first``: the number of the block's first element in it.
        """
        at = self.take(sizes)
        if at is not None:
            self.place = tuple(map(int, np.unravel_index(first + at, shape)))

    def take_one(self, size: float, place: Element) -> None:
        """Update the largest size with that of one element."""
        if size > self.size:
            self.size, self.place = size, place


@dataclass(slots=True)
class ShadowFigures:
    """The effect of an op on the exactness of numbers, over all of its runs.

    ``own``: its own error, minus its radius, in ulp of the exact function of its operands; ``total``: the error of its
    results, in ulp of the exact number; ``relative``: the same, relative to the exact number, infinite if that is 0;
    ``radius``: the widest radius of a known error, in ulp. ``cancelled``: the most leading bits that a sum lost. Counts
    of elements: ``elements``: all; ``absorbed``: a sum is one of its operands, though the other is not 0;
    ``overflowed``: of finite operands an infinity, or what the format has instead; ``flushed``: 0, where the exact
    function is not; ``unknown``: nothing is known; ``otherwise``: the exact run decides otherwise; ``undecided``: it
    may; ``wrapped``: an integer op whose type does not hold the exact result.
    """

    own: WorstElement = field(default_factory=WorstElement)
    total: WorstElement = field(default_factory=WorstElement)
    relative: WorstElement = field(default_factory=WorstElement)
    radius: float = 0.0
    cancelled: int = 0
    elements: int = 0
    absorbed: int = 0
    overflowed: int = 0
    flushed: int = 0
    unknown: int = 0
    otherwise: int = 0
    undecided: int = 0
    wrapped: int = 0

    def known(self, worst: WorstElement) -> float:
        """Return the size of ``worst``, one of the largest errors; NaN if no error is known, since 0 would mean that
        there is none.
        """
        return nan if 0 < self.elements in (self.unknown, self.wrapped) and not worst.size else worst.size

    def join(self, other: ShadowFigures) -> None:
        """Add the figures of other runs."""
        # Each step of a loop comes here: reading fields by name would take three times as long.
        if other.own.size > self.own.size:
            self.own = other.own
        if other.total.size > self.total.size:
            self.total = other.total
        if other.relative.size > self.relative.size:
            self.relative = other.relative
        self.radius, self.cancelled = max(self.radius, other.radius), max(self.cancelled, other.cancelled)
        self.elements += other.elements
        self.absorbed += other.absorbed
        self.overflowed += other.overflowed
        self.flushed += other.flushed
        self.unknown += other.unknown
        self.otherwise += other.otherwise
        self.undecided += other.undecided
        self.wrapped += other.wrapped


# --- shadow marks -----------------------------------------------------------------------------------------------------
#
# The marks of shadows: how an error, its radius and the format that they belong to are written in one number.
#
# The last bits of a radius hold a tag of the format; see `halfulp.interp.run.shadows`.

Marks = npt.NDArray[np.complex128] | npt.NDArray[np.float64]
UNKNOWN = complex(0, inf)
"""The mark of a number of which nothing is known."""
_TAG_BITS = 6
TAGS = {fmt: number for number, fmt in enumerate(FORMATS.values(), 1)}
TAG_MASK = OTHER_TAG = (1 << _TAG_BITS) - 1
_LARGEST_RADIUS = 1e300
_FLOAT, _BITS = Struct("<d"), Struct("<Q")


def is_float(type_: ty.Type) -> bool:
    """Tell whether numbers of a type have their own marks."""
    return not ty.is_discrete(type_)


def is_exact(marks: Any) -> bool:
    """Tell whether all elements share one mark, the mark of exact numbers, as those of arguments and constants do."""
    return not any(marks.strides) and marks.size > 0 and not marks.flat[0]


def tag_of(type_: ty.Type) -> np.uint64:
    """Return the tag of the format of a type."""
    if isinstance(type_, ty.FloatType):
        return np.uint64(TAGS.get(type_.format, OTHER_TAG))
    return np.uint64(OTHER_TAG if is_float(type_) else 0)  # integers have no marks of their own


def encoded(shadow: Shadow, type_: ty.Type, into: Marks) -> None:
    """Write shadows as marks of numbers of a type."""
    error, radius = shadow
    tagged = (radius.view(np.uint64) + np.uint64(TAG_MASK)) & ~np.uint64(TAG_MASK) | tag_of(type_)
    large = radius.max(initial=0.0) >= _LARGEST_RADIUS
    # An exact number has no tag; neither has an unknown one.
    if large or not radius.all():
        plain = (radius >= _LARGEST_RADIUS) | ((radius == 0) & (error == 0))
        tagged = np.where(plain, np.where(radius != 0, np.inf, 0.0).view(np.uint64), tagged)
        error = np.where(plain, 0.0, error)
    into.real, into.imag = error, tagged.view(np.float64)


def decoded(marks: Marks, type_: ty.Type) -> Shadow:
    """Return the shadows that `encoded` wrote as marks, for numbers of a type. The marks have one dimension."""
    error, radius = np.ascontiguousarray(marks.real), np.ascontiguousarray(marks.imag)
    bits = radius.view(np.uint64)
    foreign = (bits & np.uint64(TAG_MASK)) != tag_of(type_)
    if foreign.any():
        foreign &= (bits != 0) | (error != 0)
        return Shadow(np.where(foreign, 0.0, error), np.where(foreign, np.inf, radius))
    return Shadow(error, radius)


def encoded_plainly(shadow: Shadow, type_: ty.Type, into: npt.NDArray[np.float64]) -> None:
    """Write errors as marks of numbers of a type."""
    error, radius = shadow
    bits = into.view(np.uint64)
    np.bitwise_and(np.ascontiguousarray(error).view(np.uint64), ~np.uint64(TAG_MASK), out=bits)
    np.bitwise_or(bits, tag_of(type_), out=bits)
    if not error.all():
        into[error == 0] = 0.0
    if radius.strides != (0,):
        into[radius != 0] = np.nan


def decoded_plainly(marks: npt.NDArray[np.float64], type_: ty.Type) -> Shadow:
    """Return the errors that `encoded_plainly` wrote as marks, for numbers of a type. The marks have one dimension."""
    error = np.ascontiguousarray(marks)
    bits = error.view(np.uint64)
    wrong = (bits & np.uint64(TAG_MASK)) != tag_of(type_)
    if wrong.any():
        wrong &= error != 0
    if wrong.any():
        return Shadow(np.where(wrong, 0.0, error), np.where(wrong, np.inf, 0.0))
    return Shadow(error, np.broadcast_to(0.0, error.shape))


def encoded_one(error: float, radius: float, tag: int) -> complex:
    """Return the mark of one number, as `encoded` does."""
    if not radius < _LARGEST_RADIUS:
        return UNKNOWN
    if not error and not radius:
        return 0j
    (bits,) = _BITS.unpack(_FLOAT.pack(radius))
    return complex(error, _FLOAT.unpack(_BITS.pack((bits + TAG_MASK) & ~TAG_MASK | tag))[0])


def decoded_one(mark: Any, type_: ty.Type) -> tuple[float, float]:
    """Return the error and the radius of one number, as `decoded` does."""
    error, radius = mark.real.item(), mark.imag.item()
    if not error and not radius:
        return error, radius
    (bits,) = _BITS.unpack(_FLOAT.pack(radius))
    return (error, radius) if bits & TAG_MASK == int(tag_of(type_)) else (0.0, inf)


# --- shadow loops -----------------------------------------------------------------------------------------------------

BLOCK = 1 << 10
"""The elements of a block: NumPy judges the few blocks that are left."""
WEIGHT = 8
"""What one element counts as one of other loops: it saves more time, but these loops take longer to compile, too."""
_F64 = FORMATS["f64"]
_FAR = 900
"""From 2**-900 on the inverse of an ulp is an f64, in all formats."""
_INFINITY = 0x7FF << 52
_NEARLY_ONE = int(np.float64(1 - 2.0**-20).view(np.int64))
"""Own errors in ulp from here on may be those of overflow: their radius may be the rest to 1."""
_FRACTION_BITS = 52
_REACH = 1e299
"""Up to here numbers, errors and radii are judged: marks say of larger radii that nothing is known."""
_MAGNITUDE = _F64.magnitude_mask
_SIGNS: Mapping[str, float] = {"add": 1.0, "subtract": -1.0}
"""The sign of the second term of a sum."""
_PLAIN: Mapping[str, Callable[..., Any]] = {
    **{name: plain_shadows.BY_NUMPY[name] for name in ("add", "subtract", "multiply", "divide", "convert", "negate")},
    **dict.fromkeys(("maximum", "maximum number"), np.maximum),
    **dict.fromkeys(("minimum", "minimum number"), np.minimum),
}
"""The rules beside f64."""

# --- numbers of rules as instructions ---------------------------------------------------------------------------------


class Traced(NDArrayOperatorsMixin):
    """A number of f64, or a truth value, for one element. A function of NumPy that is applied to it makes
    instructions.
    """

    __slots__ = ("held",)

    def __init__(self, held: Real | Word) -> None:
        self.held = held

    shape = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **_: Any) -> Traced:
        """Make the instructions of a function. A function that works in place gives a new number."""
        assert method == "__call__"
        return Traced(_INSTRUCTIONS[ufunc](*(self._lifted(each) for each in operands)))

    def __array_function__(self, function: Any, types: Any, operands: Any, named: Any) -> Traced:
        """Make the instructions of a function of NumPy that is not a ufunc."""
        if function is np.where:
            return Traced(self._lifted(operands[0]).choose(*(self._lifted(each) for each in operands[1:])))
        if function is np.broadcast_to:
            return Traced(self._lifted(operands[0]))
        assert function is np.zeros_like
        return Traced(self._lifted(False if isinstance(self.held, Word) else 0.0))

    def _lifted(self, given: Any) -> Any:
        """Return an operand as a number or a truth value of the machine."""
        if isinstance(given, Traced):
            return given.held
        machine = self.held.machine
        if isinstance(given, bool | np.bool_):
            return Word(machine, machine.constant(int(given), 1), 1)
        code = int(np.float64(given).view(np.uint64))
        return Word(machine, machine.constant(code, 64), 64).real(_F64)

    def astype(self, dtype: Any) -> Traced:
        """Return a small integer as a number, and a truth value as 1 or 0."""
        if isinstance(self.held, Word):
            return Traced(self.held.choose(self._lifted(1.0), self._lifted(0.0)))
        return self

    def all(self) -> bool:
        """Return False: the condition may be false for some elements. The rules for this case are right for every
        element.
        """
        return False


def _size(x: Real) -> Word:
    """Return the code of an absolute value; such codes are in the order of the numbers."""
    return x.code() & _MAGNITUDE


def _absolute(x: Real) -> Real:
    return _size(x).real(_F64)


def _multiply(x: Any, y: Any) -> Real:
    number, factor = (y, x) if isinstance(x, Word) else (x, y)
    product: Real = factor.choose(number, number.of(0.0)) if isinstance(factor, Word) else number * factor
    return product


def _sign(x: Real) -> Real:
    zero = x.of(0.0)
    return zero.less(x).choose(x.of(1.0), x.less(0.0).choose(x.of(-1.0), zero))


_INSTRUCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.add: lambda x, y: x + y,
    np.subtract: lambda x, y: x - y,
    np.multiply: _multiply,
    np.divide: lambda x, y: x.computed("divide", y),
    np.negative: lambda x: (x.code() ^ (_F64.sign_mask or 0)).real(_F64),
    np.absolute: _absolute,
    np.sign: _sign,
    np.maximum: lambda x, y: x.less(y).choose(y, x),
    np.minimum: lambda x, y: y.less(x).choose(y, x),
    np.isfinite: lambda x: _size(x).less(_INFINITY, signed=False),
    np.isinf: lambda x: _size(x).equals(_INFINITY),
    np.isnan: lambda x: ~x.equals(x),
    np.less: lambda x, y: x.less(y),
    np.less_equal: lambda x, y: x.at_most(y),
    np.greater: lambda x, y: y.less(x),
    np.greater_equal: lambda x, y: y.at_most(x),
    np.equal: lambda x, y: x.equals(y),
    np.not_equal: lambda x, y: ~x.equals(y),
    np.bitwise_and: lambda x, y: x & y,
    np.bitwise_or: lambda x, y: x | y,
    np.invert: lambda x: ~x,
}

# --- descriptions -----------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """The properties that determine a loop.

    ``rule``: the name of the rule. ``formats``: those of the operands and of the result; ``tags``: those of their
    marks. ``open``: which operands have marks. ``plain``: the shadow run computes in f64, else with bounds. ``low``:
    the mask of the tag in a mark.
    """

    rule: str
    formats: tuple[FloatFormat, ...]
    tags: tuple[int, ...]
    open: tuple[bool, ...]
    plain: bool
    low: int


_TOTALS = (*(("most", number) for number in range(5)), ("sum", 5), ("sum", 6), ("most", 7))
"""Of each block: the largest errors, own, in total and relative, the widest radius, all as codes; the largest quotient
of a term and a sum, as the difference of their codes; the numbers of sums that are one of their terms, and of results
that are flushed; 1 if a sum is 0, of terms that cancel.
"""
_OWN, _TOTAL, _RELATIVE, _RADIUS, _LOST, _ABSORBED, _FLUSHED, _CANCELLED = range(8)


@lru_cache(maxsize=256)
def _waiting(kind: Kind) -> Waiting:
    """Return the loop of a kind. Its inputs are the codes of the operands, and of the result, then the marks."""
    bits = [fmt.bits for fmt in kind.formats]
    marks = [64 if kind.plain else 128] * sum(kind.open)
    count = len(bits) + len(marks)
    alone = ChainOfOne(lambda *words: _described(kind, words), tuple(range(count)))
    totals = [(how, count + 1 + number) for how, number in _TOTALS]
    plan = Plan([alone], [*bits, *marks], (False,) * count, [count], totals, block=BLOCK)
    return Waiting(plan)


def _described(kind: Kind, words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the mark of a result, and the values for the totals."""
    count = len(kind.formats)
    *values, result = (_number(fmt, word) for fmt, word in zip(kind.formats, words, strict=False))
    marks = iter(words[count:])
    operands = [
        _operand(kind, value, next(marks) if is_open else None, tag)
        for value, is_open, tag in zip(values, kind.open, kind.tags, strict=False)
    ]
    (own, own_radius), (total, radius) = _errors(kind, result, operands)
    total_size, zero = _size(total), result.equals(0.0)
    result_size = _size(result)
    reach = _absolute(total) + _absolute(own) + own_radius + radius + _absolute(result)
    for value in values:
        reach = reach + _absolute(value)
    (~reach.less(_REACH)).refuse()
    fmt = kind.formats[-1]
    own_ulps, total_ulps = _per_ulp(fmt, result, own, own_radius), _per_ulp(fmt, result, total, radius)
    if fmt.emin < -_FAR:
        nothing = zero & own.equals(0.0) & total.equals(0.0) & own_radius.equals(0.0) & radius.equals(0.0)
        ((own_ulps.small | total_ulps.small) & ~nothing).refuse()
    own_size = ((_absolute(own) - own_radius) * own_ulps.inverse).code()
    beyond = own_size.of(_NEARLY_ONE).at_most(own_size, signed=True)
    (beyond & result_size.equals(_code_of(float(fmt.max_value)))).refuse()
    infinite = total_size.equals(0).choose(total.of(0.0), total.of(np.inf))
    exact = result + total
    relative = exact.equals(0.0).choose(infinite, _absolute(total).computed("divide", _absolute(exact)))
    flushed = zero & own_radius.less(_absolute(own))
    per_ulp = total_ulps.inverse
    totals = [own_size, (_absolute(total) * per_ulp).code(), relative.code(), (radius * per_ulp).code()]
    totals += [*_of_sum(kind, values, result, zero & ~flushed), flushed.resized(64)]
    ordered = [totals[number] for number in (0, 1, 2, 3, 4, 5, 7, 6)]
    return (_mark(kind, total, radius), *ordered)


class _PerUlp(NamedTuple):
    """The inverse of an ulp; ``small``: the number is smaller than all numbers whose ulp has an inverse in f64."""

    inverse: Real
    small: Word


def _per_ulp(fmt: FloatFormat, value: Real, error: Real, radius: Real) -> _PerUlp:
    """Return the inverse of the ulp at the sum of a value and an error, as `ulps_of_floats` finds the ulp."""
    summed: Any = two_sum(Traced(value), Traced(error))  # type: ignore[arg-type]
    exact, rest = (part.held for part in summed)
    zero = exact.of(0.0)
    inward = (rest.less(zero - radius) & zero.less(exact)) | (radius.less(rest) & exact.less(zero))
    size = _size(exact)
    exponent = (size - inward.resized(64)) & _INFINITY
    floor, top = (exponent.of(_code_of(2.0**power)) for power in (max(fmt.emin, -_FAR), fmt.emax))
    small = exponent.less(floor, signed=False)
    clipped = small.choose(floor, top.less(exponent, signed=False).choose(top, exponent))
    if not fmt.signed:
        clipped = exact.less(zero).choose(floor, clipped)
    inverse = 2 * _code_of(1.0) + (fmt.mantissa_bits << _FRACTION_BITS)
    return _PerUlp((exponent.of(inverse) - clipped).real(_F64), small)


def _number(fmt: FloatFormat, word: Word) -> Real:
    """Return the number of a code as f64; of no meaning for a code that is not finite, which `_described` refuses."""
    if fmt in domains.NATIVE or fmt in domains.THROUGH_F32:
        return word_floats.widened(fmt, word).converted(_F64)
    return word.entry(_table(fmt)).real(_F64)


@lru_cache(maxsize=64)
def _table(fmt: FloatFormat) -> Codes:
    return as_f64(fmt, np.arange(1 << fmt.bits).astype(fmt.storage_dtype)).view(np.uint64)


def _operand(kind: Kind, value: Real, mark: Word | None, tag: int) -> Shadowed:
    """Return an operand with its shadow. Refuse the mark of a number of another format, and that of an unknown
    number.
    """
    narrow = not kind.plain and all(map(is_narrow, kind.formats))
    if mark is None:
        return Shadowed(Traced(value), NOTHING, NOTHING, narrow)  # type: ignore[arg-type]
    error = mark.resized(64)
    tagged = error if kind.plain else mark.shift_right(64).resized(64)
    zero = error.of(0).real(_F64)
    radius = zero if kind.plain else tagged.real(_F64)
    exact = error.real(_F64).equals(0.0) & radius.equals(0.0)
    ((tagged & kind.low).differs(tag) & ~exact).refuse()
    return Shadowed(Traced(value), Traced(error.real(_F64)), Traced(radius), narrow)  # type: ignore[arg-type]


def _errors(kind: Kind, result: Real, operands: Sequence[Shadowed]) -> tuple[tuple[Real, Real], tuple[Real, Real]]:
    """Run a rule on one element. Return its own error and the total error, each with its radius."""
    given: Any = Traced(result)
    if kind.plain:
        function, nothing = _PLAIN[kind.rule], Traced(result.of(0.0))
        own = function(*(each.value for each in operands)) - given
        beside = [each.value if each.error is NOTHING else each.value + each.error for each in operands]
        errors = Errors(Shadow(own, nothing), Shadow(function(*beside) - given, nothing))  # type: ignore[arg-type]
    else:
        errors = RULES[kind.rule](given, *operands)
    parts = [part.held if isinstance(part, Traced) else result.of(float(part)) for shadow in errors for part in shadow]
    return (parts[0], parts[1]), (parts[2], parts[3])


def _of_sum(kind: Kind, values: Sequence[Real], result: Real, cancels: Word) -> list[Word]:
    """Return three things about a sum: the quotient of its larger term and the sum, as a difference of codes; whether
    the sum is one of its terms; and whether it is 0 because its terms, which are not 0, cancel.
    """
    none = result.code().of(0)
    if kind.rule not in _SIGNS:
        return [none, none, none]
    x, y = values[0], values[1] * _SIGNS[kind.rule]
    zero, x_zero, y_zero = result.equals(0.0), x.equals(0.0), y.equals(0.0)
    larger = _size(x).less(_size(y), signed=False).choose(_size(y), _size(x))
    lost = zero.choose(none, larger - _size(result))
    same = ((result.equals(x) & ~y_zero) | (result.equals(y) & ~x_zero)) & ~zero
    return [lost, same.resized(64), (cancels & ~(x_zero & y_zero)).resized(64)]


def _mark(kind: Kind, total: Real, radius: Real) -> Word:
    """Return the mark of an error and its radius, as `encoded` or `encoded_plainly` makes it."""
    code, tag = total.code(), kind.tags[-1]
    if kind.plain:
        return total.equals(0.0).choose(code.of(0), (code & ~kind.low) | tag)
    exact = total.equals(0.0) & radius.equals(0.0)
    tagged = exact.choose(code.of(0), ((radius.code() + kind.low) & ~kind.low) | tag)
    return code.resized(128) | (tagged.resized(128) << 64)


def _code_of(number: float) -> int:
    return int(np.float64(number).view(np.int64))


# --- calls ------------------------------------------------------------------------------------------------------------


class Marked(NamedTuple):
    """Numbers along one axis: their format, their codes, their marks (None if all are exact), and the tag of their
    marks.
    """

    format: FloatFormat
    codes: Codes
    marks: npt.NDArray[Any] | None
    tag: int


def judged(
    meaning: Computes, operands: Sequence[Marked], results: Marked, plain: bool, low: int, out: npt.NDArray[Any]
) -> tuple[list[slice], ShadowFigures] | None:
    """Judge the results of an op, and write their marks to ``out``. Return the parts that are left to NumPy, and the
    figures of all others; None if there is no loop, or if it does not save time.

    ``plain``: whether the shadow run computes in f64 without bounds. ``low``: the mask of the tag in a mark.
    """
    formats = tuple([each.format for each in (*operands, results)])
    if not llvm.machine_code_allowed() or meaning.rule not in _PLAIN or not all(map(_is_known, formats)):
        return None
    if plain and results.format.precision >= _F64.precision:
        return None
    tags = tuple([each.tag for each in (*operands, results)])
    kind = Kind(meaning.rule, formats, tags, tuple([each.marks is not None for each in operands]), plain, low)
    loop = _waiting(kind).get(WEIGHT * out.size)
    if loop is None:
        return None
    marks = [each.marks for each in operands if each.marks is not None]
    inputs = [np.require(each, requirements=["C", "A"]) for each in (*(m.codes for m in (*operands, results)), *marks)]
    totals = list(np.zeros((len(_TOTALS), -(-out.size // BLOCK)), np.int64))
    left = loop.run(inputs, [out], out.size, totals)
    blocks = {number for part in left for number in range(part.start // BLOCK, -(-part.stop // BLOCK))}
    rest = np.ones(totals[0].size, np.bool_)
    rest[list(blocks)] = False
    for errors in totals[:_RADIUS]:
        errors[~rest] = 0
        if errors.any():
            blocks.add(int(errors.argmax()))  # the first of the largest: so NumPy finds its first element
    rest[list(blocks)] = False
    found = ShadowFigures()
    most = [int(each[rest].max(initial=0)) for each in totals]
    found.radius = float(np.int64(most[_RADIUS]).view(np.float64))
    bits_lost = results.format.precision if most[_CANCELLED] else 0
    found.cancelled = max(most[_LOST] >> _FRACTION_BITS, bits_lost) if meaning.rule in _SIGNS else 0
    found.absorbed, found.flushed = (int(totals[number][rest].sum()) for number in (_ABSORBED, _FLUSHED))
    return [slice(each * BLOCK, min(each * BLOCK + BLOCK, out.size)) for each in sorted(blocks)], found


def _is_known(fmt: FloatFormat) -> bool:
    """Tell whether machine words can hold the numbers of a format."""
    return has_shadows(fmt) and (fmt.bits <= 8 or fmt in domains.NATIVE or fmt in domains.THROUGH_F32)
