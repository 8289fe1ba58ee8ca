"""Measure an implementation, and report the figures as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.accuracy.implementations import Implementation
from halfulp.conformance.accuracy.questions import Chosen, Question
from halfulp.conformance.accuracy.tally import HISTOGRAM, AccuracyTally, Binade, Count, Example, class_text
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import floor_exponent
from halfulp.fp_formats.spelling import decimal_text, hex_text, hexadecimal, value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import width_of

SCHEMA = 1
"""The version of the layout of `Accuracy.to_dict`."""
_ROWS = 16


class Interval(NamedTuple):
    """Consecutive binades of the argument whose largest errors are in one class of `HISTOGRAM`.

    ``low``, ``high``: the numbers at its ends, which belong to it. ``kappa``: the largest error in ulp, IEEE P3109's κ;
    None if no result is a number.
    """

    low: Fraction
    high: Fraction
    compared: int
    wrong: int
    kappa: float | None


@dataclass(frozen=True)
class Accuracy:
    """The errors of the results of an implementation, against the correctly rounded and the exact results.

    ``question``: what was measured.
    ``against``, ``version``: the implementation.
    ``arguments``: a description of the measured arguments.
    ``all``: True if these are all arguments of the type.
    ``tally``: the figures.
    """

    question: Question
    against: str
    version: str
    arguments: str
    all: bool
    tally: AccuracyTally

    @property
    def compared(self) -> int:
        """The number of arguments whose results were compared."""
        return self.tally.compared

    @property
    def wrong(self) -> int:
        """The number of results of finite arguments that are finite, but not correctly rounded."""
        return self.tally.wrong

    @property
    def wrong_special(self) -> int:
        """The number of wrong special values: results that are NaN or infinite but should not be, or are not but should
        be, zeros of the wrong sign, and wrong results of infinite arguments.
        """
        return self.tally.wrong_special

    @property
    def max_ulp(self) -> float:
        """The largest error in ulp; NaN if no result was measured."""
        return math.nan if self.tally.max_ulp is None else self.tally.max_ulp

    @property
    def correct(self) -> bool:
        """True if every result is correctly rounded."""
        return not self.wrong and not self.wrong_special

    def within(self, ulp: float) -> bool:
        """Tell whether no special value is wrong and no error is larger than ``ulp``."""
        return not self.wrong_special and not (self.tally.max_ulp or 0) > ulp

    @property
    def histogram(self) -> list[tuple[float, int]]:
        """The classes of errors: for each the upper bound in ulp, and the number of results whose error is above the
        bound of the class before and not above this bound.
        """
        counts = self.tally.histogram.tolist()
        last = max((k for k, count in enumerate(counts) if count), default=0)
        return list(zip(HISTOGRAM[: last + 1], counts[: last + 1], strict=True))

    @property
    def binades(self) -> list[Binade]:
        """The figures for each binade of the argument; if there are several operands, for each binade of the result."""
        return self.tally.binades

    @property
    def intervals(self) -> list[Interval]:
        """The figures for each interval. Neighbouring binades whose largest errors are in the same class are joined to
        one interval.
        """
        groups: list[list[Binade]] = []
        for binade in self.binades:
            last = groups[-1][-1] if groups else None
            same = last is not None and last.negative == binade.negative and _class(last) == _class(binade)
            if same:
                groups[-1].append(binade)
            else:
                groups.append([binade])
        return [self._interval(group) for group in groups]

    def _interval(self, group: list[Binade]) -> Interval:
        fmt = self.question.argument or self.question.result
        ends = [end for binade in (group[0], group[-1]) for end in binade_ends(fmt, binade)]
        worst = [binade.worst for binade in group if binade.worst is not None]
        compared, wrong = sum(each.compared for each in group), sum(each.wrong for each in group)
        return Interval(min(ends), max(ends), compared, wrong, max(worst, default=None))

    # --- text ---------------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was measured, in one line."""
        version = "" if self.version == "unknown" else f" {self.version}"
        return f"{self.question} against {self.against}{version}: {self.arguments}"

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        tally = self.tally
        yield self.title
        for name, text in self.rows():
            yield f"  {name:<24} {text}"
        if tally.measured:
            yield "  errors in ulp"
            yield from (f"    {line}" for line in self._histogram_lines())
        intervals = self.intervals
        if intervals:
            what = "argument" if self.question.argument else "result"
            yield f"  largest error (κ) by interval of the {what}"
            yield from (f"    {line}" for line in _interval_lines(intervals))

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the figures as pairs of a name and a text."""
        tally, share = self.tally, self.tally.finite
        percent = f" ({100 * self.wrong / share:.3g} %)" if share and self.wrong else ""
        yield "not correctly rounded", f"{self.wrong:,} of {share:,} finite arguments{percent}"
        yield "wrong special values", f"{self.wrong_special:,}" if self.wrong_special else "none"
        for name, count in tally.special.items():
            yield f"  {name}", f"{count.number:,}, first {self.example_text(count.first)}"
        if tally.worst is not None and tally.max_ulp is not None:
            yield "largest error", f"{tally.max_ulp:.6g} ulp: {self.example_text(tally.worst)}"
            yield "mean error", f"{tally.mean_ulp:.4g} ulp"
        if tally.flushed:
            yield "flushed to zero", f"{tally.flushed:,} subnormal results"
        if tally.neighbours:
            yield "not monotonic", self._count_text(tally.order, tally.neighbours, "pairs of neighbouring arguments")
        if tally.symmetry is not None:
            kind, count = tally.symmetry
            yield f"not {kind}", self._count_text(count, tally.mirrored, "pairs x, -x")
        if tally.open:
            yield "without a correct value", f"{tally.open:,} (poison in this profile)"
        if tally.unanswered:
            yield "unanswered", f"{tally.unanswered:,}" + (f": {tally.why}" if tally.why else "")

    def _count_text(self, count: Count, of: int, what: str) -> str:
        first = "" if count.first is None else f", first at {self.operands_text(count.first)}"
        return f"{count.number:,} of {of:,} {what}{first}"

    def example_text(self, example: Example | None) -> str:
        """Return a text about one argument: the operands, the result and the correctly rounded result."""
        if example is None:
            return "none"
        fmt = self.question.result
        wanted = "" if example.result == example.expected else f", not {_code_text(fmt, example.expected)}"
        return f"{self.question.name}({self.operands_text(example)}) gives {_code_text(fmt, example.result)}{wanted}"

    def operands_text(self, example: Example) -> str:
        """Return a text with the values and codes of the operands of an example."""
        types = self.question.operand_types
        return ", ".join(_operand_text(type_, code) for type_, code in zip(types, example.operands, strict=True))

    def _histogram_lines(self) -> Iterator[str]:
        total, low = self.tally.measured, 0.0
        for high, count in self.histogram:
            if count:
                bar = "#" * max(1, round(40 * count / total))
                yield f"{class_text(low, high):>20} {count:>12,}  {bar}"
            low = high

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    # --- JSON ---------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON. Codes are hexadecimal texts; a figure that does not exist is None."""
        tally, asked = self.tally, self.question
        symmetry = None
        if tally.symmetry is not None:
            kind, count = tally.symmetry
            symmetry = {"kind": kind, "pairs": tally.mirrored, **self._count_dict(count)}
        return {
            "schema": SCHEMA,
            "op": asked.name,
            "operands": [str(type_) for type_ in asked.operand_types],
            "result": asked.result.name,
            "rounding": asked.rounding.spelling,
            "profile": asked.profile.name,
            "against": self.against,
            "version": self.version,
            "arguments": self.arguments,
            "all": self.all,
            "compared": tally.compared,
            "finite": tally.finite,
            "unanswered": tally.unanswered,
            "poison": tally.open,
            "wrong": tally.wrong,
            "wrong_special": tally.wrong_special,
            "special": {name: self._count_dict(count) for name, count in tally.special.items()},
            "max_ulp": _finite(tally.max_ulp),
            "mean_ulp": _finite(tally.mean_ulp),
            "worst": self._example_dict(tally.worst),
            "flushed": tally.flushed,
            "not_monotonic": {"pairs": tally.neighbours, **self._count_dict(tally.order)} if tally.neighbours else None,
            "symmetry": symmetry,
            "histogram": [{"up_to": _finite(high), "count": count} for high, count in self.histogram],
            "intervals": [
                {
                    **each._asdict(),
                    "low": _number_text(each.low, 17),
                    "high": _number_text(each.high, 17),
                    "kappa": _finite(each.kappa),
                }
                for each in self.intervals
            ],
        }

    def _count_dict(self, count: Count) -> dict[str, Any]:
        return {"count": count.number, "first": self._example_dict(count.first)}

    def _example_dict(self, example: Example | None) -> dict[str, Any] | None:
        if example is None:
            return None
        widths, bits = self.question.widths, self.question.result.bits
        return {
            "operands": [hexadecimal(code, width) for code, width in zip(example.operands, widths, strict=True)],
            "result": hexadecimal(example.result, bits),
            "expected": hexadecimal(example.expected, bits),
            "ulp": _finite(example.ulp),
        }


def measured(asked: Question, implementation: Implementation, chosen: Chosen) -> Accuracy:
    """Ask an implementation that does not refuse the question for its results, and return its figures. Raises the
    errors of the implementation.
    """
    tally = AccuracyTally(asked)
    for operands in chosen.chunks:
        answer = implementation.results(asked, operands)
        if len(answer.bits) != len(operands[0]):
            raise InputError(
                f"{implementation.name} gave {len(answer.bits):,} results for {len(operands[0]):,} arguments"
            )
        tally.add(operands, answer)
    return Accuracy(asked, implementation.name, implementation.version, chosen.how, chosen.all, tally)


def _class(binade: Binade) -> int:
    return -1 if binade.worst is None else int(np.searchsorted(HISTOGRAM, binade.worst))


def binade_ends(fmt: FloatFormat, binade: Binade) -> tuple[Fraction, Fraction]:
    """Return the numbers at the ends of a binade, the lower one first."""
    low, high = sorted(_binade_end(fmt, binade, top) for top in (False, True))
    return low, high


def _binade_end(fmt: FloatFormat, binade: Binade, top: bool) -> Fraction:
    """Return the number at an end of a binade: the smallest magnitude, or the largest."""
    magnitude = binade.field << fmt.mantissa_bits
    magnitude = min(magnitude | fmt.fraction_mask if top else magnitude, fmt.max_magnitude)
    found = scalar.value(fmt, fmt.from_magnitude(magnitude))
    assert found is not None
    return -found if binade.negative else found


def _interval_lines(intervals: list[Interval]) -> Iterator[str]:
    chosen = intervals
    if len(intervals) > _ROWS:
        worst = sorted(intervals, key=lambda each: -1 if each.kappa is None else each.kappa, reverse=True)[:_ROWS]
        chosen = [each for each in intervals if each in worst]
    for each in chosen:
        ends = f"{_number_text(each.low, 6)} to {_number_text(each.high, 6)}"
        kappa = "no number" if each.kappa is None else f"{each.kappa:.6g} ulp"
        yield f"{ends:>30}  {kappa:>16}  {each.wrong:,} of {each.compared:,} wrong"
    if len(chosen) < len(intervals):
        yield f"{'':>30}  and {len(intervals) - len(chosen)} intervals with smaller errors"


def _operand_text(type_: ty.Type, code: int) -> str:
    return _code_text(type_.format, code) if isinstance(type_, ty.FloatType) else hexadecimal(code, width_of(type_))


def _code_text(fmt: FloatFormat, code: int) -> str:
    """Return the text of a code: as many digits as tell neighbouring values apart, and the code."""
    number, digits = scalar.value(fmt, code), fmt.precision * 3 // 10 + 2
    text = _number_text(number, digits) if number else value_text(fmt, code, digits)
    return f"{text} ({hex_text(fmt, code)})"


def _number_text(number: Fraction, digits: int) -> str:
    if number and not -1074 <= floor_exponent(number) <= 1023:
        return decimal_text(number, digits, digits)
    return f"{float(number):.{digits}g}"


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else number
