"""The figures of an implementation, collected chunk by chunk: errors, special values, order and symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, codes_to_ints
from halfulp.fp_formats.neighbours import (
    Floats,
    Summary,
    beyond_largest,
    errors_of_codes,
    errors_of_infinities,
    ranks,
    signs,
)
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE

HISTOGRAM = (0.5, *(2.0**k for k in range(11)), 2.0**16, 2.0**24, inf)
"""The upper ends of the classes of errors, in ulp. Each class includes its upper end."""


def classes_of(sizes: Floats) -> npt.NDArray[np.int64]:
    """Return the number of errors in each class of `HISTOGRAM`."""
    return np.bincount(np.searchsorted(HISTOGRAM, sizes), minlength=len(HISTOGRAM))


def class_text(low: float, high: float) -> str:
    """Return the text for a class of errors: ``up to 0.5`` or ``1 to 2``, from its ends in ulp."""
    return f"up to {high:g}" if not low else f"{low:g} to {high:g}" if isfinite(high) else f"above {low:g}"


_TO_NEAREST = (Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY)
_LESS, _GREATER = CMPF_PREDICATE.cases["olt"], CMPF_PREDICATE.cases["ogt"]


class Example(NamedTuple):
    """One argument: the codes of the operands, of the correctly rounded result and of the result.

    ``ulp``: the error of the result, None if it has none.
    """

    operands: tuple[int, ...]
    expected: int
    result: int
    ulp: float | None = None


@dataclass
class Count:
    """A number of arguments, and the first of them."""

    number: int = 0
    first: Example | None = None


@dataclass
class Binade:
    """The arguments of one sign and exponent: ``field`` is the exponent field of their codes, 0 includes the zeros.

    ``worst``: the largest error in ulp; None without a measured one.
    """

    negative: bool
    field: int
    compared: int = 0
    wrong: int = 0
    worst: float | None = None


@dataclass
class AccuracyTally:
    """The figures of one question.

    ``compared``: the number of arguments with a result. ``unanswered``: the number without a result. ``why``: the first
    reason for that; ``open``: those whose correct result is poison. ``finite``: the compared arguments that are finite
    numbers. ``wrong``: numbers that are not the correctly rounded ones. ``special``: wrong special values, by their
    kind. ``flushed``: zeros in place of subnormal numbers, which are among ``wrong``. ``ulps``: the errors in ulp, of
    the results that have one. ``histogram``: the number of these errors in each class of `HISTOGRAM`. ``order``:
    neighbouring arguments whose results are in the opposite order of the exact results; ``neighbours``: the number of
    pairs that were compared. ``odd``, ``even``: pairs of arguments x and -x whose results do not have this symmetry,
    although the correctly rounded results have it; None as soon as a pair of these does not have it. ``mirrored``: the
    number of pairs that were compared.
    """

    question: Question
    compared: int = 0
    unanswered: int = 0
    why: str = ""
    open: int = 0
    finite: int = 0
    wrong: int = 0
    special: dict[str, Count] = field(default_factory=dict)
    flushed: int = 0
    ulps: Summary[Example] = field(default_factory=lambda: Summary(total=0.0))
    histogram: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(HISTOGRAM), np.int64))
    order: Count = field(default_factory=Count)
    neighbours: int = 0
    odd: Count | None = field(default_factory=Count)
    even: Count | None = field(default_factory=Count)
    mirrored: int = 0
    _binades: npt.NDArray[np.float64] | None = None

    def add(self, operands: Sequence[Codes], answer: Answer) -> None:
        """Compare the results of one chunk of arguments."""
        expected, poison = self.question.expected(operands)
        kept = np.ones(len(operands[0]), np.bool_)
        if answer.status is not None:
            kept &= answer.status == Status.VALUE
            self.unanswered += int((~kept).sum())
            self.why = self.why or (answer.why if not kept.all() else "")
        if poison is not None:
            self.open += int((kept & poison).sum())
            kept &= ~poison
        if not kept.all():
            operands = tuple(codes[kept] for codes in operands)
            expected, answer = expected[kept], Answer(answer.bits[kept])
        if not len(expected):
            return
        _Chunk(self, tuple(operands), expected, answer.bits)

    @property
    def wrong_special(self) -> int:
        """The number of wrong special values."""
        return sum(count.number for count in self.special.values())

    @property
    def measured(self) -> int:
        """The number of results with an error in ulp."""
        return self.ulps.count

    @property
    def worst(self) -> Example | None:
        """The first argument with the largest error."""
        return self.ulps.worst.place

    @property
    def max_ulp(self) -> float | None:
        """The largest error in ulp; None without a measured result."""
        return self.ulps.largest if self.ulps.count else None

    @property
    def mean_ulp(self) -> float | None:
        """The mean magnitude of the errors in ulp; None without a measured result."""
        return self.ulps.mean if self.ulps.count else None

    @property
    def symmetry(self) -> tuple[str, Count] | None:
        """The symmetry of the function and the number of results that break it; None for a function without
        symmetry.
        """
        if not self.mirrored:
            return None
        found = (("odd", self.odd), ("even", self.even))
        return next(((name, count) for name, count in found if count is not None), None)

    @property
    def binades(self) -> list[Binade]:
        """The figures per binade of the argument, from the lowest number to the highest."""
        if self._binades is None:
            return []
        fmt = self.question.argument or self.question.result
        found = []
        for key in np.flatnonzero(self._binades[0]).tolist():
            compared, wrong, worst = self._binades[:, key].tolist()
            negative, exponent = bool(fmt.signed and key >> fmt.exponent_bits), key & ((1 << fmt.exponent_bits) - 1)
            found.append(Binade(negative, exponent, int(compared), int(wrong), None if worst < 0 else worst))
        return sorted(found, key=lambda each: -1 - each.field if each.negative else each.field)


class Kinds:
    """Masks of some codes by the kind of number: ``nan``, ``infinite``, ``number``, ``zero``, ``negative``."""

    def __init__(self, fmt: FloatFormat, codes: Codes) -> None:
        self.nan: Mask = comparisons.is_nan(fmt, codes)
        self.infinite: Mask = comparisons.is_infinite(fmt, codes)
        self.zero: Mask = comparisons.is_zero(fmt, codes)
        self.number: Mask = ~(self.nan | self.infinite)
        self.negative: Mask = signs(fmt, codes)


class _Chunk:
    """One chunk of answered arguments: everything is counted in its constructor."""

    def __init__(self, tally: AccuracyTally, operands: tuple[Codes, ...], expected: Codes, results: Codes) -> None:
        self.tally, self.operands, self.expected, self.results = tally, operands, expected, results
        self.asked = tally.question
        self.fmt = tally.question.result
        self.right, self.own = Kinds(self.fmt, expected), Kinds(self.fmt, results)
        same = expected == results
        self.differs: Mask = ~(same if same.ndim == 1 else same.all(-1)) & ~(self.right.nan & self.own.nan)
        self.exact = self.asked.exact(operands)
        self.errors = np.zeros(len(expected))
        tally.compared += len(expected)
        finite = self._finite()
        tally.finite += int(finite.sum())
        numbers = self._numbers() & finite
        tally.wrong += int((self.differs & numbers).sum())
        tally.flushed += int((self.differs & self.own.zero & ~self.right.zero & numbers).sum())
        self._special(self.differs & ~numbers)
        self._measure(numbers)
        if self.asked.argument is not None:
            self._order(self.asked.argument)
            self._symmetry(self.asked.argument)

    def _finite(self) -> Mask:
        found = np.ones(len(self.expected), np.bool_)
        for codes, type_ in zip(self.operands, self.asked.operand_types, strict=True):
            fmt = getattr(type_, "format", None)
            if isinstance(fmt, FloatFormat):
                found &= Kinds(fmt, codes).number
        return found

    def example(self, place: int, ulp: float | None = None) -> Example:
        """Return one argument of the chunk."""
        codes = [
            codes_to_ints(column[place : place + 1], width)[0]
            for column, width in zip(self.operands, self.asked.widths, strict=True)
        ]
        expected, result = (
            codes_to_ints(column[place : place + 1], self.fmt.bits)[0] for column in (self.expected, self.results)
        )
        return Example(tuple(codes), expected, result, ulp)

    def count(self, into: Count, mask: Mask, places: Any = None) -> None:
        """Count the arguments of a mask. ``places``: the arguments to which its elements belong; by default all."""
        number = int(mask.sum())
        if number and into.first is None:
            first = int(mask.argmax())
            into.first = self.example(first if places is None else int(places[first]))
        into.number += number

    # --- errors -------------------------------------------------------------------------------------------------------

    def _numbers(self) -> Mask:
        """Return the mask of results with an error, and compute the errors.

        An infinity stands for the value after the largest one if the exact result lies below that value.
        """
        right, own, wide = self.right, self.own, self.asked.wide
        numbers = right.number & own.number & ~(right.zero & own.zero & self.differs)
        if wide is None or self.exact is None:
            return numbers
        self.errors[numbers] = errors_of_codes(self.fmt, wide, self.exact[numbers], self.results[numbers])
        outer = (right.infinite ^ own.infinite) & ~right.nan & ~own.nan & (right.negative == own.negative)
        outer[outer] = ~beyond_largest(self.fmt, wide, self.exact[outer]) & (
            self._magnitudes(outer) == self.fmt.max_code
        )
        infinite, largest = outer & own.infinite, outer & own.number
        self.errors[infinite] = errors_of_infinities(self.fmt, wide, self.exact[infinite])
        self.errors[largest] = errors_of_codes(self.fmt, wide, self.exact[largest], self.results[largest])
        return np.asarray(numbers | outer)

    def _magnitudes(self, mask: Mask) -> Any:
        """Return the finite codes of pairs of an infinity and a number, without their signs, as integers."""
        expected, results, inner = self.expected[mask], self.results[mask], self.right.number[mask]
        chosen = np.where(inner if expected.ndim == 1 else inner[:, np.newaxis], expected, results)
        codes = codes_to_ints(chosen, self.fmt.bits)
        return np.array([code & (self.fmt.code_mask >> self.fmt.signed) for code in codes], object)

    def _measure(self, numbers: Mask) -> None:
        tally = self.tally
        if self.exact is None:
            # Without a wider format the correctly rounded result stands for the exact one.
            both = [ranks(self.fmt, codes[numbers]) for codes in (self.results, self.expected)]
            self.errors[numbers] = [float(own - right) for own, right in zip(*both, strict=True)]
        # Profiles and formats may flush or saturate: a correct result is not an error, however far it is.
        most = 0.5 if self.asked.rounding in _TO_NEAREST else 1.0
        self.errors[~self.differs & (np.abs(self.errors) > most)] = 0
        sizes: Floats = np.abs(self.errors[numbers])
        tally.histogram += classes_of(sizes)
        at = tally.ulps.add(sizes)
        if at is not None:
            place = int(np.flatnonzero(numbers)[at])
            tally.ulps.worst.place = self.example(place, float(self.errors[place]))
        self._by_binade(numbers)

    def _by_binade(self, numbers: Mask) -> None:
        fmt = self.asked.argument or self.fmt
        codes = self.operands[0] if self.asked.argument else self.expected
        counted = Kinds(fmt, codes).number
        keys = _field_keys(fmt, codes)
        if self.tally._binades is None:
            self.tally._binades = np.zeros((3, 1 << (fmt.exponent_bits + fmt.signed)))
            self.tally._binades[2] = -1
        found = self.tally._binades
        found[0] += np.bincount(keys[counted], minlength=found.shape[1])
        found[1] += np.bincount(keys[counted & self.differs], minlength=found.shape[1])
        measured = counted & numbers
        np.maximum.at(found[2], keys[measured], np.abs(self.errors[measured]))

    # --- special values -----------------------------------------------------------------------------------------------

    def _special(self, wrong: Mask) -> None:
        if not wrong.any():
            return
        right, own = self.right, self.own
        kinds = (("NaN", "nan"), ("an infinity", "infinite"), ("a number", "number"))
        for given, its in kinds:
            for wanted, its_own in kinds:
                if its != its_own:
                    self._count_special(f"{given} for {wanted}", wrong & getattr(own, its) & getattr(right, its_own))
        self._count_special("wrong sign of an infinity", wrong & own.infinite & right.infinite)
        zeros = own.zero & right.zero
        self._count_special("wrong sign of a zero", wrong & zeros)
        self._count_special("another number at an infinity", wrong & own.number & right.number & ~zeros)

    def _count_special(self, name: str, mask: Mask) -> None:
        if mask.any():
            self.count(self.tally.special.setdefault(name, Count()), mask)

    # --- order and symmetry -------------------------------------------------------------------------------------------

    def _order(self, argument: FloatFormat) -> None:
        """Compare neighbouring arguments. If no format is wide enough, their correctly rounded results are compared."""
        codes = self.operands[0]
        kept = ~(Kinds(argument, codes).nan | self.right.nan | self.own.nan)
        order = np.flatnonzero(kept)[np.argsort(ranks(argument, codes[kept]), kind="stable")]
        exact, fmt = (self.expected, self.fmt) if self.exact is None else (self.exact, self.asked.wide or self.fmt)
        below, above = order[:-1], order[1:]
        rises, falls = (_compared(fmt, predicate, exact, below, above) for predicate in (_LESS, _GREATER))
        own_rises, own_falls = (_compared(self.fmt, p, self.results, below, above) for p in (_LESS, _GREATER))
        wrong = (rises & own_falls) | (falls & own_rises)
        self.tally.neighbours += len(below)
        self.count(self.tally.order, wrong, above)

    def _symmetry(self, argument: FloatFormat) -> None:
        """Compare the results of x and -x."""
        if not argument.sign_mask or not self.fmt.sign_mask:
            self.tally.odd = self.tally.even = None
            return
        codes = self.operands[0]
        kept, below, sizes = (
            np.flatnonzero(~Kinds(argument, codes).nan),
            signs(argument, codes),
            np.abs(ranks(argument, codes)),
        )
        order = kept[np.argsort(below[kept], kind="stable")]
        order = order[np.argsort(sizes[order], kind="stable")]
        pairs = (sizes[order[:-1]] == sizes[order[1:]]) & ~below[order[:-1]] & below[order[1:]]
        positive, negative = order[:-1][pairs], order[1:][pairs]
        self.tally.mirrored += len(positive)
        for name, flipped in (("odd", True), ("even", False)):
            count = getattr(self.tally, name)
            if count is None:
                continue
            if not self._mirrors(self.expected, self.right, positive, negative, flipped).all():
                setattr(self.tally, name, None)
                continue
            self.count(count, ~self._mirrors(self.results, self.own, positive, negative, flipped), negative)

    def _mirrors(self, codes: Codes, kinds: Kinds, positive: Any, negative: Any, flipped: bool) -> Mask:
        signed = kinds.negative[positive] ^ kinds.negative[negative]
        same = np.abs(ranks(self.fmt, codes[positive])) == np.abs(ranks(self.fmt, codes[negative]))
        mirrored = same & (signed == flipped)
        return np.asarray(mirrored | (kinds.nan[positive] & kinds.nan[negative]))


def _compared(fmt: FloatFormat, predicate: int, codes: Codes, one: Any, other: Any) -> Mask:
    found: Mask = comparisons.compare(fmt, predicate, codes[one], codes[other]).codes.astype(np.bool_)
    return found


def _field_keys(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.int64]:
    """Return the sign and the exponent field of each code, as one integer."""
    top, shift = (codes[..., -1], 64) if fmt.limbs > 1 else (codes, 0)
    return np.asarray(top >> top.dtype.type(fmt.mantissa_bits + fmt.explicit_integer_bit - shift), np.int64)
