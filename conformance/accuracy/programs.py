"""Measure how far the results of whole programs are from exact real arithmetic, for several implementations.

The exact number of an element is the result of the program on real numbers. halfulp's own run keeps a shadow for each
number, which gives the exact number. If the shadow is too wide, the history of the number gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.accuracy.tally import HISTOGRAM, class_text, classes_of
from halfulp.conformance.comparing.refinement import distance_of, exact_number
from halfulp.conformance.oracles.jit import TensorRunner
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, ProgramOracle, Reply, Status
from halfulp.conformance.whole_programs.op_search import ask, recorded
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import Floats, FloatSums, Summary, place_of_largest
from halfulp.fp_formats.spelling import table_lines
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, UndefinedBehavior, plural
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.values.value import Value
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.semantics.profile import SPEC, Profile

OURS = "halfulp"
_TIGHT = 2.0**-10
"""A number counts as exact if the radius of its shadow is at most this part of an ulp."""
_MOST_HISTORIES = 1000
"""The most elements of one input whose exact numbers are computed from their histories."""


class Place(NamedTuple):
    """The place of an element: the number of the input, the number of the result, and the indices in the result."""

    input: int
    result: int
    element: tuple[int, ...]

    def __str__(self) -> str:
        element = f" {list(self.element)}" if self.element else ""
        return f"input {self.input}, result[{self.result}]{element}"


@dataclass(eq=False)
class Run:
    """The errors of one implementation's results, all float elements of all inputs together.

    ``ulps``: the errors, in ulp, of the elements that have an exact number and a finite result.
    ``nearest``: the number of results that are nearest to the exact number in their format, at most half an ulp away.
    ``histogram``: the number of elements by the classes of `HISTOGRAM`.
    ``special``: the number of infinities and NaNs whose exact number is finite.
    ``unanswered``: the number of elements without an answer. ``why``: the reason why they have none.
    """

    name: str
    version: str
    ulps: Summary[Place] = field(default_factory=lambda: Summary(total=0.0))
    nearest: int = 0
    special: int = 0
    unanswered: int = 0
    why: str = ""
    histogram: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(HISTOGRAM), np.int64))

    @property
    def elements(self) -> int:
        """The number of elements with an error."""
        return self.ulps.count

    @property
    def mean_ulp(self) -> float | None:
        """The mean error in ulp; None without an element."""
        return self.ulps.mean if self.ulps.count else None

    @property
    def max_ulp(self) -> float:
        """The largest error in ulp; 0 without an element."""
        return max(self.ulps.worst.size, 0.0)

    @property
    def worst(self) -> Place | None:
        """The first element with the largest error."""
        return self.ulps.worst.place

    def add(self, input: int, result: int, errors: Floats, answered: npt.NDArray[np.bool_]) -> None:
        """Add the errors of one result, in ulp. An error is NaN if there is no exact number, and infinite if the result
        is not a number. ``answered``: a mask of the elements that have an answer.
        """
        known = ~np.isnan(errors)
        self.unanswered += int(np.count_nonzero(known & ~answered))
        known &= answered
        self.special += int(np.count_nonzero(np.isinf(errors) & known))
        sizes = np.where(known & np.isfinite(errors), np.abs(errors), -1.0)
        kept = sizes[sizes >= 0]
        self.nearest += int(np.count_nonzero(kept <= 0.5))
        self.histogram += classes_of(kept)
        if self.ulps.add(kept) is not None:
            self.ulps.worst.place = Place(input, result, place_of_largest(sizes))


@dataclass(eq=False)
class ProgramAccuracy:
    """The errors of the results of a program, against exact real arithmetic.

    ``function``: the name of the function.
    ``inputs``: the number of inputs.
    ``undefined``: the number of inputs that have no results, because the behaviour is undefined.
    ``unknown``: the number of float elements whose exact number is not known.
    ``runs``: the figures of halfulp, then those of each other implementation.
    """

    function: str
    inputs: int
    undefined: int = 0
    unknown: int = 0
    runs: list[Run] = field(default_factory=list)

    def within(self, ulp: float) -> bool:
        """Tell whether all results of all implementations have errors of at most ``ulp``."""
        return all(not run.special and run.max_ulp <= ulp for run in self.runs)

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        notes = [f"{self.undefined:,} undefined"] if self.undefined else []
        notes += [f"{plural(self.unknown, 'element')} without an exact number"] if self.unknown else []
        yield f"@{self.function}: {', '.join([plural(self.inputs, 'input'), *notes])}"
        rows = [("run by", "elements", "nearest", "mean ulp", "largest ulp", "at")]
        for run in self.runs:
            mean = run.mean_ulp
            if mean is None:
                rows.append((run.name, "0", "", "", "", run.why))
                continue
            share = f"{100 * run.nearest / run.elements:.4g} %"
            rows.append((run.name, f"{run.elements:,}", share, f"{mean:.4g}", f"{run.max_ulp:.4g}", str(run.worst)))
        yield from (f"  {line}" for line in table_lines(rows, right=range(1, 5)))
        for run in self.runs:
            if run.special:
                yield f"  {run.name}: {run.special:,} infinities and NaNs for finite numbers"
            if run.unanswered:
                yield f"  {run.name}: {plural(run.unanswered, 'element')} without an answer: {run.why}"
        yield "errors in ulp"
        yield from (f"  {line}" for line in table_lines(list(self._histogram()), right=range(len(self.runs) + 1)))

    def _histogram(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows of the histogram of all runs, up to the last class that has elements."""
        yield ("", *(run.name for run in self.runs))
        counts = np.array([run.histogram for run in self.runs])
        low = 0.0
        for number, high in enumerate(HISTOGRAM):
            if counts[:, number:].any():
                yield (class_text(low, high), *(f"{count:,}" for count in counts[:, number].tolist()))
            low = high

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data for JSON."""
        return {
            "function": self.function,
            "inputs": self.inputs,
            "undefined": self.undefined,
            "unknown": self.unknown,
            "runs": [
                {
                    "name": run.name,
                    "version": run.version,
                    "elements": run.elements,
                    "nearest": run.nearest,
                    "mean_ulp": run.mean_ulp,
                    "max_ulp": run.max_ulp if run.elements else None,
                    "worst": None if run.worst is None else run.worst._asdict(),
                    "special": run.special,
                    "unanswered": run.unanswered,
                    "why": run.why or None,
                    "histogram": [
                        {"up_to": high if isfinite(high) else None, "count": count}
                        for high, count in zip(HISTOGRAM, run.histogram.tolist(), strict=True)
                    ],
                }
                for run in self.runs
            ],
        }


class Exact(NamedTuple):
    """A float result of one run of halfulp: its number among the results, its format, its values, and the exact
    numbers.
    """

    result: int
    format: FloatFormat
    values: Floats
    numbers: FloatSums

    def distances(self, numbers: Floats) -> Floats:
        """Return the distances of numbers from the exact numbers, as `FloatSums.distances` does."""
        return self.numbers.distances(self.format, numbers)


def measured_programs(
    programs: Sequence[ClosedProgram], tools: Sequence[ProgramOracle | TensorRunner], profile: Profile = SPEC
) -> ProgramAccuracy:
    """Run programs by halfulp and by tools, and measure all results. Raises the errors of a run that is not undefined.

    ``programs``: one function with several inputs, all arguments single values.
    """
    found = ProgramAccuracy(programs[0].function if programs else "", len(programs))
    found.runs = [Run(OURS, ""), *(Run(tool.name, tool.version) for tool in tools)]
    replies = [ask(tool, programs) for tool in tools]
    for number, program in enumerate(programs):
        exact = exact_results(program, profile)
        if exact is None:
            found.undefined += 1
            continue
        for each in exact:
            found.unknown += int(np.count_nonzero(np.isnan(each.numbers.high)))
            everywhere = np.ones(each.values.shape, np.bool_)
            found.runs[0].add(number, each.result, each.distances(each.values), everywhere)
            for run, of_all in zip(found.runs[1:], replies, strict=True):
                _add(run, number, each, of_all[number])
    return found


def _add(run: Run, number: int, exact: Exact, reply: Reply) -> None:
    answer = reply[exact.result] if isinstance(reply, tuple) else None
    if not isinstance(answer, Answer):
        run.why = run.why or (str(reply) if isinstance(reply, OracleError) else getattr(reply, "why", ""))
        run.add(number, exact.result, exact.distances(exact.values), np.zeros(exact.values.shape, np.bool_))
        return
    run.why = run.why or answer.why
    answered = np.ones(exact.values.shape, np.bool_)
    if answer.status is not None:
        answered = np.asarray(answer.status == Status.VALUE).reshape(exact.values.shape)
    numbers = as_f64(exact.format, np.ascontiguousarray(answer.bits)).reshape(exact.values.shape)
    run.add(number, exact.result, exact.distances(numbers), answered)


def exact_results(program: ClosedProgram, profile: Profile = SPEC) -> list[Exact] | None:
    """Return the exact numbers of the float results of a program; None if it is undefined.

    Raises HalfulpError for a program that cannot run.
    """
    try:
        settings = Settings(profile, recorder=Shadows())
        results = program_for(program.module, settings).run(program.operation, program.arguments)
    except (UndefinedBehavior, AssertionFailed):
        return None
    found = []
    for number, value in enumerate(results):
        element = value.element_type
        if isinstance(element, ty.FloatType) and has_shadows(element.format):
            found.append(_exact(program, number, value))
    return found


def _exact(program: ClosedProgram, number: int, value: Value) -> Exact:
    shadow, element = shadow_of(value), value.element_type
    assert shadow is not None
    assert isinstance(element, ty.FloatType)
    values = np.array(as_f64(element.format, value.bits), np.float64)
    with np.errstate(all="ignore"):
        ulp = FloatSums(values, *shadow).ulps(element.format)
        tight = np.isfinite(values) & (shadow.radius <= ulp * _TIGHT)
    high, low = np.where(tight, values, np.nan), np.where(tight, shadow.error, 0.0)
    loose = ~tight if value.poison is None else ~tight & (value.poison == 0)
    places = np.argwhere(loose)[:_MOST_HISTORIES].tolist()
    if places:
        lineage, results = recorded(program)
        for place in map(tuple, places):
            exact = exact_number(lineage, results[number], place)
            if exact is not None:
                high[place] = float(exact.mid())
                low[place] = distance_of(exact, high[place])
    return Exact(number, element.format, values, FloatSums(high, low, shadow.radius))
