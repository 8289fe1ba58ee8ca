"""Run two versions of a program on the same inputs: the second must do something that the first allows.

Scalar functions run on many inputs at once, in lanes, as far as control flow allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from halfulp.conformance.comparing.compare import Mismatch, Verdict, verdicts
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.conformance.whole_programs.arguments import Arguments
from halfulp.conformance.whole_programs.difference_text import code_text, element_text, given_text
from halfulp.conformance.whole_programs.outcomes import as_reference, element_mismatch
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    InputError,
    LimitExceeded,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types, result_types
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

SHOWN = 3
"""Number of inputs of one function whose difference is kept."""

MAX_STEPS = 1_000_000
"""Most steps of one run: generated inputs may make a loop endless."""


@dataclass(frozen=True)
class Counterexample:
    """Arguments for which the second version does what the first does not allow.

    ``mismatch`` is None and ``trap`` gives the reason where the second version has undefined behaviour or does not end.
    """

    arguments: tuple[Value, ...]
    mismatch: Mismatch | None
    type: ty.Type | None
    trap: str = ""


@dataclass
class ValidationReport:
    """The result for one function. ``undefined``: the number of inputs for which the first version is undefined.

    ``skipped``: inputs on which the first version did not end, by the reason. ``differing``: inputs with a difference
    that is not known. ``known``: inputs with a known difference, by the rows that explain it.
    """

    function: str
    inputs: int = 0
    exhaustive: bool = False
    undefined: int = 0
    differing: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    known: Counter[tuple[str, ...]] = field(default_factory=Counter)
    counterexamples: list[Counterexample] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Return the number of inputs for which both versions ran and the first is defined."""
        return self.inputs - self.skipped.total() - self.undefined


Explain = Callable[[Sequence[tuple[Value, ...]]], Sequence[tuple[str, ...]]]
"""A function that returns for each input the rows that explain its difference; none if they do not."""


def common_functions(before: Module, after: Module, name: str | None = None) -> list[tuple[Operation, Operation]]:
    """Return the public functions with a body in the first version, or the named one, each with that of the second
    version.

    Raises InputError where there are none, where the second version lacks one, or where the types of one have changed.
    """
    pairs = []
    for op in before.body:
        other = after.lookup(op.symbol_name) if op.symbol_name else None
        chosen = op.symbol_name == name.removeprefix("@") if name is not None else _is_public(op)
        if op.name == "func.func" and chosen and op.regions[0].blocks:
            if other is not None and other.name == "func.func" and other.regions[0].blocks:
                pairs.append((op, other))
            else:
                raise InputError(f"@{op.symbol_name} has no body in the second version", location=op.location)
    if not pairs:
        what = "public function with a body" if name is None else f"function @{name.removeprefix('@')} with a body"
        raise InputError(f"there is no {what} in the first version")
    for op, other in pairs:
        one, two = (ty.FunctionType(argument_types(f), result_types(f)) for f in (op, other))
        if one != two:
            raise InputError(
                f"the type of @{op.symbol_name} has changed from '{one}' to '{two}'",
                location=other.location,
                notes=[(op.location, "it was declared here")],
            )
    return pairs


def _is_public(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility")
    return not isinstance(visibility, at.StringAttr) or visibility.value == "public"


def validate(
    before: tuple[Module, Operation],
    after: tuple[Module, Operation],
    arguments: Arguments,
    profile: Profile = SPEC,
    explain: Explain = lambda inputs: [()] * len(inputs),
) -> ValidationReport:
    """Run both versions of a function. ``explain``: finds the known differences.

    Raises Unsupported where one version has something that halfulp does not execute.
    """
    report = ValidationReport(before[1].symbol_name or "", arguments.count, arguments.exhaustive)
    run = _Runner(before, after, arguments, profile)
    for start, stop, expected, answers in run.pieces():
        _count(report, arguments, start, stop, expected, answers, explain)
    report.skipped.update(run.skipped)
    return report


Outcome = tuple[Value, ...] | HalfulpError
Piece = tuple[int, int, Outcome, Outcome]


class _Runner:
    def __init__(
        self, before: tuple[Module, Operation], after: tuple[Module, Operation], arguments: Arguments, profile: Profile
    ) -> None:
        open_, plain = Settings(profile, track_open=True, max_steps=MAX_STEPS), Settings(profile, max_steps=MAX_STEPS)
        self._before = program_for(before[0], open_), before[1]
        self._after = program_for(after[0], plain), after[1]
        self._arguments = arguments
        self.skipped: Counter[str] = Counter()

    def pieces(self) -> Iterator[Piece]:
        """Yield ranges of inputs with the outcome of both versions; an input with undefined behaviour is a range of its
        own.
        """
        count = self._arguments.count
        waiting = [(0, count)] if self._arguments.scalars else []
        singles: list[tuple[int, int]] = [] if waiting else [(index, index + 1) for index in range(count)]
        while waiting:
            start, stop = waiting.pop()
            if stop - start == 1:
                yield from self._single(start)
                continue
            lanes = self._arguments.lanes(start, stop)
            try:
                before = run_batch(*self._before, lanes, stop - start)
                after = run_batch(*self._after, lanes, stop - start)
            except (UndefinedBehavior, AssertionFailed, LimitExceeded):
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            except Unsupported:  # lanes cannot take different branches
                singles += [(index, index + 1) for index in range(start, stop)]
                continue
            yield start, stop, _spread(before, stop - start), _spread(after, stop - start)
        for index, _ in singles:
            yield from self._single(index)

    def _single(self, index: int) -> Iterator[Piece]:
        values = self._arguments.row(index)
        before, after = (self._outcome(program, function, values) for program, function in (self._before, self._after))
        if isinstance(before, LimitExceeded):
            self.skipped[before.message] += 1
        else:
            yield index, index + 1, before, after

    @staticmethod
    def _outcome(program: CompiledModule, function: Operation, values: tuple[Value, ...]) -> Outcome:
        try:
            return program.run(function, values)
        except (UndefinedBehavior, AssertionFailed, LimitExceeded) as error:
            return error


def _spread(values: tuple[Value, ...], lanes: int) -> tuple[Value, ...]:
    """Return results in lanes; results that are the same for all lanes are repeated."""

    def repeated(array: Any) -> Any:
        return None if array is None else np.broadcast_to(array, (lanes, *array.shape))

    return tuple(
        value
        if over_lanes(value)
        else Value(value.type, repeated(value.bits), repeated(value.poison), repeated(value.open), value.origins)
        for value in values
    )


def _count(
    report: ValidationReport,
    arguments: Arguments,
    start: int,
    stop: int,
    before: Outcome,
    after: Outcome,
    explain: Explain,
) -> None:
    if isinstance(before, HalfulpError):
        report.undefined += stop - start
        return
    if isinstance(after, HalfulpError):
        report.differing += stop - start
        if len(report.counterexamples) < SHOWN:
            what = f"does not end: {after.message}" if isinstance(after, LimitExceeded) else after.message
            report.counterexamples.append(Counterexample(arguments.row(start), None, None, what))
        return
    in_lanes = stop - start > 1
    differing: dict[int, tuple[Mismatch, ty.Type]] = {}
    for index, (one, two) in enumerate(zip(before, after, strict=True)):
        if one.bits.shape != two.bits.shape:
            raise InputError(f"@{report.function}: result {index} has shape {one.shape} before, {two.shape} after")
        status = None if two.poison is None else two.poisoned.astype(np.uint8) * np.uint8(Status.POISON)
        answer = Answer(two.bits, status)
        verdict = verdicts(one.element_type, as_reference(one), 0, answer)
        for kind in Verdict:
            report.verdicts[kind] += int(np.count_nonzero(verdict == kind))
        for place in np.argwhere(verdict == Verdict.MISMATCH):
            element = tuple(int(k) for k in place)
            lane = start + element[0] if in_lanes else start
            if lane not in differing:
                mismatch = element_mismatch(one, answer, index, element)
                if in_lanes:
                    mismatch = replace(mismatch, element=element[1:])
                differing[lane] = mismatch, one.element_type
    lanes = sorted(differing)
    rows = dict(zip(lanes, explain([arguments.row(lane) for lane in lanes]), strict=True)) if lanes else {}
    report.known.update(names for names in rows.values() if names)
    unknown = [lane for lane in lanes if not rows[lane]]
    report.differing += len(unknown)
    for lane in unknown[: SHOWN - len(report.counterexamples)]:
        mismatch, type_ = differing[lane]
        report.counterexamples.append(Counterexample(arguments.row(lane), mismatch, type_))


def counterexample_lines(function: Operation, found: Counterexample, source: str | None = None) -> list[str]:
    """Describe a counterexample for people; its place is the function in the second version.

    ``source``: the text of the second version, whose line is shown.
    """
    mismatch, type_ = found.mismatch, found.type
    where = "" if mismatch is None or mismatch.element == () else element_text(mismatch)
    what = f"@{function.symbol_name} may not do this{where}"
    lines = [HalfulpError(what, location=function.location).render(source)]
    lines += [f"  argument {number}: {spell_value(value, limit=16)}" for number, value in enumerate(found.arguments)]
    if mismatch is None or type_ is None:
        return [*lines, "  before:   a value", f"  after:    {found.trap}"]
    if len(result_types(function)) > 1:
        lines.append(f"  result {mismatch.result}")
    return [
        *lines,
        f"  before:   {code_text(type_, mismatch.expected)}",
        f"  after:    {given_text(type_, mismatch)}",
    ]


def counterexample_record(found: Counterexample) -> dict[str, Any]:
    """Describe a counterexample as data for JSON."""
    record: dict[str, Any] = {"arguments": [spell_value(value) for value in found.arguments]}
    mismatch = found.mismatch
    if mismatch is None:
        return record | {"got": "no value", "why": found.trap}
    return record | {
        "result": mismatch.result,
        "type": str(found.type),
        "expected": f"0x{mismatch.expected:X}",
        "got": mismatch.status.name.lower() if mismatch.actual is None else f"0x{mismatch.actual:X}",
        "ulps": mismatch.ulps,
    }
