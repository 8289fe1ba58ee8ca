"""Ask an oracle for a case, and count its answers by outcome: equal, unspecified, a known divergence, or
unexplained.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from halfulp.conformance.comparing import refinement
from halfulp.conformance.comparing.divergences import FILE, Divergence, divergences, in_range, matches
from halfulp.conformance.comparing.op_case import OpCase, Reference, reference
from halfulp.conformance.comparing.refinement import Mismatch, Verdict, Verdicts
from halfulp.conformance.oracles.oracle import Answer, Oracle, OracleError, Status, unanswered
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.neighbours import steps_between
from halfulp.interp.ir import types as ty
from halfulp.semantics.profile import PROFILES, SPEC, Profile

# --- error bounds -----------------------------------------------------------------------------------------------------
#
# The measured errors of tools whose bits nobody can predict, such as a libm: the tables ``error_bound`` of
# divergences.toml.
#
# A row bounds the distance of a tool's results from the right ones, by op and type. A wrong result within the bound is
# a known difference, and is counted. A result beyond it is not known. Wrong special values (a NaN instead of a number,
# a number instead of a NaN, a zero of the other sign) are known only if the row has their number.


class KnownWrong(NamedTuple):
    """Masks of the wrong elements of an answer that a row predicts: results within its bound, and special values."""

    near: Mask
    special: Mask


@dataclass(frozen=True)
class ErrorBound:
    """A row of the table of known differences that allows small errors of a tool in one op. ``ulps``: the largest
    distance, in steps from one value to the next. ``special_values``: the largest number of wrong special values in a
    run. ``passes``: patterns of the passes of mlir-opt after which programs have such results.
    """

    tool: str
    versions: str
    op: str
    type: str
    ulps: int
    special_values: int
    why: str
    passes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name under which results within the bound are counted."""
        return f"{self.op} of {self.type}: at most {self.ulps:,} ulp"

    @property
    def special_name(self) -> str:
        """The name under which wrong special values are counted."""
        return f"{self.op} of {self.type}: special values"

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether the row applies to this tool and case."""
        ours = tool == self.tool and in_range(version, self.versions)
        return ours and case.op == self.op and case.results[:1] == (self.type,)

    def within(self, type_: ty.Type, expected: Codes, answer: Answer, wrong: Mask) -> KnownWrong:
        """Return the wrong elements of an answer that the row allows. Poison and traps are never among them."""
        near, special = np.zeros(wrong.shape, np.bool_), np.zeros(wrong.shape, np.bool_)
        if isinstance(type_, ty.FloatType):
            places = np.asarray(wrong if answer.status is None else wrong & (answer.status == Status.VALUE))
            steps = steps_between(type_.format, expected[places], answer.bits[places])
            near[places] = (steps > 0) & (steps <= self.ulps)
            special[places] = ~(steps > 0) & bool(self.special_values)
        return KnownWrong(near, special)


@cache
def error_bounds() -> tuple[ErrorBound, ...]:
    """Return all rows. Raises LookupError, TypeError or tomllib.TOMLDecodeError for a malformed file."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8")).get("error_bound", [])
    return tuple(row for table in tables for row in _rows(table))


def _rows(table: Mapping[str, Any]) -> list[ErrorBound]:
    special, passes = table.get("special_values", {}), tuple(table.get("passes", ()))
    blank = ErrorBound(table["tool"], table["versions"], "", "", 0, 0, table["why"], passes)
    return [
        replace(blank, op=op, type=type_, ulps=bound, special_values=special.get(op, {}).get(type_, 0))
        for op, by_type in table["ulps"].items()
        for type_, bound in by_type.items()
    ]


def bounds_of_passes(passes: Collection[str], tool: str) -> tuple[ErrorBound, ...]:
    """Return the rows that apply after some passes, as `divergences.of_passes` does."""
    return tuple(replace(row, tool=tool) for row in error_bounds() if matches(row.passes, tuple(passes)))


class Bounds(Protocol):
    """Bounds of a specification: results within them are known differences of any tool."""

    name: str

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether the bounds are about a case."""

    def accepts(self, case: OpCase, inputs: Sequence[Codes], index: int, answer: Answer, wrong: Mask) -> Mask:
        """Return the wrong elements of an answer that are within the bounds."""


KnownRow = Divergence | ErrorBound | Bounds
"""A row of known differences of a tool."""


def known_differences() -> tuple[KnownRow, ...]:
    """Return the rows of both kinds. Raises as `divergences` and `error_bounds`."""
    return (*divergences(), *error_bounds())


# --- check ------------------------------------------------------------------------------------------------------------

SHOWN = 5
"""Number of mismatches that a tally keeps of one case: the first ones and the worst."""


@dataclass
class Tally:
    """The numbers of elements by their outcome, over several cases. Each element of each result is counted once.

    ``known``: by the name of the divergence or of the error bound. ``reformed``: elements that are right although a
    divergence predicts that they are wrong. ``undefined``: elements with undefined behaviour for which the oracle still
    has a value (a part of ``open``). ``failures``: the messages of `OracleError`. ``answered``: for one comparison, a
    mask of the elements that have an answer for some result; None for a sum of tallies.
    """

    equal: int = 0
    open: int = 0
    apart: int = 0
    unanswered: int = 0
    unexplained: int = 0
    undefined: int = 0
    known: Counter[str] = field(default_factory=Counter)
    reformed: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    mismatches: list[tuple[OpCase, Mismatch]] = field(default_factory=list)
    answered: Mask | None = None

    @property
    def compared(self) -> int:
        """The number of elements that have an answer."""
        return self.equal + self.open + self.apart + self.unexplained + self.known.total()

    @property
    def clean(self) -> bool:
        """Whether no element is unexplained and the oracle did not fail."""
        return not self.unexplained and not self.failures

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for name in ("equal", "open", "apart", "unanswered", "unexplained", "undefined"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("known", "reformed", "refusals"):
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures
        self.mismatches += other.mismatches


def check(
    oracle: Oracle, case: OpCase, inputs: Sequence[Codes], divergences: Sequence[KnownRow] = (), profile: Profile = SPEC
) -> Tally:
    """Ask an oracle for a case, compare its answers, and return the tally. ``inputs``: one array of codes for each
    operand. A failure of the oracle is in the tally.
    """
    try:
        answers = ask(oracle, case, inputs)
    except OracleError as error:
        elements = int(np.prod(case.shape(inputs), dtype=np.int64)) * len(case.results)
        return Tally(unanswered=elements, failures=[f"{oracle.name}: {case}: {error}"])
    rows = [row for row in divergences if row.applies(oracle.name, oracle.version, case)]
    return compare(case, inputs, reference(case, inputs, profile), answers, rows)


def ask(oracle: Oracle, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
    """Return the oracle's answers. Elements of a case that it refuses are unanswered, with the reason.

    Raises OracleError, also for answers with the wrong number, shape, dtype or width.
    """
    refusal = oracle.refuses(case)
    if refusal is not None:
        return unanswered(case, inputs, refusal)
    answers = oracle.evaluate(case, inputs)
    refinement.require_answers(case.result_types, [case.shape(inputs)] * len(case.results), answers)
    return answers


def explaining_profiles(
    case: OpCase, inputs: Sequence[Codes], answers: Sequence[Answer], names: Iterable[str] = tuple(PROFILES)
) -> set[str]:
    """Return the named profiles under which the answers are right."""
    return {
        name
        for name in names
        if not compare(case, inputs, reference(case, inputs, PROFILES[name]), answers).unexplained
    }


def compare(
    case: OpCase, inputs: Sequence[Codes], expected: Reference, answers: Sequence[Answer], rows: Sequence[KnownRow] = ()
) -> Tally:
    """Compare answers with the expected results, and return the tally. ``rows``: the divergences and error bounds that
    apply to this tool and case.

    A wrong element is known only if it has exactly the bits, the poison or the trap that a divergence predicts, or if
    the tool does not determine its bits, or if an error bound allows it.
    """
    tally = Tally()
    judged = [
        refinement.verdicts(type_, expected, index, answers[index]) for index, type_ in enumerate(case.result_types)
    ]
    tally.answered = np.logical_or.reduce([verdict != Verdict.UNANSWERED for verdict in judged])
    bounds = [row for row in rows if isinstance(row, ErrorBound)]
    specified = [row for row in rows if not isinstance(row, ErrorBound | Divergence)]
    formulas = [row for row in rows if isinstance(row, Divergence)] if tally.answered.any() else []
    predictions = [(row.name, row.predict(case, inputs, expected)) for row in formulas]
    for index, (type_, answer, verdict) in enumerate(zip(case.result_types, answers, judged, strict=True)):
        tally.equal += _count(verdict, Verdict.EQUAL)
        tally.open += _count(verdict, Verdict.OPEN)
        tally.apart += _count(verdict, Verdict.APART)
        tally.unanswered += _count(verdict, Verdict.UNANSWERED)
        if answer.why and _count(verdict, Verdict.UNANSWERED):
            tally.refusals[answer.why] += _count(verdict, Verdict.UNANSWERED)
        if expected.undefined is not None:
            given = answer.status == Status.VALUE if answer.status is not None else np.True_
            tally.undefined += int(np.count_nonzero(expected.undefined & given))
        wrong = verdict == Verdict.MISMATCH
        answered = (verdict == Verdict.EQUAL) | (verdict == Verdict.OPEN)
        for name, predicted in predictions:
            said = refinement.foreseen(type_, predicted, index, answer)
            tally.known[name] += int(np.count_nonzero(wrong & said))
            wrong &= ~said
            trapped = None if predicted.trap is None else np.where(predicted.trap, np.uint8(Status.TRAP), np.uint8(0))
            differs = (
                refinement.verdicts(type_, expected, index, Answer(predicted.bits[index], trapped)) == Verdict.MISMATCH
            )
            for mask in (predicted.poison, predicted.undetermined):  # any bits, also the right ones
                if mask is not None:
                    differs &= ~mask
            tally.reformed[name] += int(np.count_nonzero(answered & differs))
        for bound in bounds:
            near, special = bound.within(type_, expected.bits[index], answer, wrong)
            tally.known[bound.name] += int(np.count_nonzero(near))
            tally.known[bound.special_name] += int(np.count_nonzero(special))
            wrong &= ~(near | special)
        for row in specified:
            accepted = row.accepts(case, inputs, index, answer, wrong)
            tally.known[row.name] += int(np.count_nonzero(accepted))
            wrong &= ~accepted
        tally.unexplained += int(np.count_nonzero(wrong))
        tally.mismatches += [(case, mismatch) for mismatch in _shown(case, inputs, expected, index, answer, wrong)]
    tally.known += Counter()  # drops zeros
    tally.reformed += Counter()
    return tally


def _count(verdict: Verdicts, wanted: Verdict) -> int:
    return int(np.count_nonzero(verdict == wanted))


def _shown(
    case: OpCase, inputs: Sequence[Codes], expected: Reference, index: int, answer: Answer, wrong: Mask
) -> list[Mismatch]:
    """Return the first mismatches, and the worst of the first thousand."""
    type_ = case.result_types[index]
    found = []
    for place in refinement.places_of(wrong)[:1000]:
        operands = tuple(
            refinement.code_at(codes, width, place) for codes, width in zip(inputs, case.operand_widths, strict=True)
        )
        found.append(refinement.mismatch_at(type_, expected.bits[index], answer, index, place, operands))
    extreme = refinement.worst(found)
    first = found[:SHOWN]
    return first if extreme is None or extreme in first else [*first[:-1], extreme]
