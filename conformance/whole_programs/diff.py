"""Compare the results of whole programs, here and by an oracle, by refinement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence
from halfulp.conformance.comparing.refinement import (
    Mismatch,
    Truth,
    Verdict,
    first_mismatches,
    judge,
    truth_of_op,
    truth_of_run,
)
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    ProgramOracle,
    Reply,
    Unanswered,
)
from halfulp.conformance.whole_programs.op_search import (
    Finding,
    NoMeaning,
    Search,
    Study,
    ask,
    is_unanswered,
    recorded,
    run_here,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES, SPEC, Profile


@dataclass(frozen=True)
class Difference:
    """A program whose results differ: the first differing element, and the op that causes it, if one is found.

    ``known``: the rows that explain all differences of the program; empty if they do not.
    """

    program: ClosedProgram
    index: int
    mismatch: Mismatch
    type: ty.Type
    finding: Finding | None
    known: tuple[str, ...] = ()

    @cached_property
    def truth(self) -> Truth | None:
        """Which result is nearer to the exact number: that of the op for its operands, else that of the program."""
        if self.finding is not None:
            return None if self.finding.case is None else truth_of_op(self.finding.case, self.finding.mismatch)
        try:
            return truth_of_run(*recorded(self.program), self.mismatch)
        except HalfulpError:
            return None


@dataclass
class DiffReport:
    """The result of comparing programs with one oracle.

    ``verdicts`` counts elements of results. ``undefined``: programs with undefined behaviour here, so that any result
    is allowed; ``undefined_answered``: those of them for which the oracle has values. ``known``: programs whose
    differing ops are all known, by row. ``explained``: the named profiles under which all results are those of the
    oracle.
    """

    oracle: str
    version: str
    programs: int = 0
    undefined: int = 0
    undefined_answered: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    known_example: Difference | None = None
    differences: list[Difference] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Return the number of elements with an answer, plus that of undefined programs which the oracle ran."""
        elements = sum(count for verdict, count in self.verdicts.items() if verdict is not Verdict.UNANSWERED)
        return elements + self.undefined_answered

    @property
    def differs(self) -> bool:
        """Tell whether anything is not as the language allows, or the oracle failed."""
        return bool(self.differences or self.failures)


def against(
    oracle: ProgramOracle,
    programs: Sequence[ClosedProgram],
    rows: Sequence[Divergence] = (),
    profile: Profile = SPEC,
    pairs: Sequence[Cancellation] = (),
) -> DiffReport:
    """Run programs here and by an oracle, and compare. ``rows``, ``pairs``: the known divergences of the oracle.

    Raises HalfulpError for a program that cannot be run here.
    """
    report = DiffReport(oracle.name, oracle.version, len(programs))
    outcomes = [run_here(program, profile) for program in programs]
    replies = ask(oracle, programs)
    wrong: list[Wrong] = []
    for index, (here, reply) in enumerate(zip(outcomes, replies, strict=True)):
        if isinstance(here, NoMeaning):
            report.undefined += 1
            report.undefined_answered += isinstance(reply, tuple) and not all(map(is_unanswered, reply))
            if isinstance(reply, OracleError):
                _failed(report, reply)
            continue
        mismatches = _compared(report, here, reply)
        if mismatches and isinstance(reply, tuple):
            wrong.append(Wrong(programs[index], index, reply, mismatches))
    for difference, failure in differences(Search(oracle, rows, profile, pairs), wrong):
        if failure is not None:
            _failed(report, failure)
        if difference.known:
            report.known.update(difference.known)
            report.known_example = report.known_example or difference
        else:
            report.differences.append(difference)
    if wrong:
        report.explained = explaining(oracle.profile, programs, replies)
    return report


@dataclass(frozen=True)
class Wrong:
    """A program with the oracle's results, and the first differing element of each result that differs."""

    program: ClosedProgram
    index: int
    answers: tuple[Answer, ...]
    mismatches: Sequence[tuple[Mismatch, ty.Type]]


def differences(
    search: Search, wrong: Sequence[Wrong], wanted: Callable[[Finding], bool] = lambda finding: False
) -> list[tuple[Difference, OracleError | None]]:
    """Return how each of these programs differs, and the failure of the oracle if it could not give the cause.

    ``wanted``: the findings that are shown before all others.
    """
    studies = search.studies([one.program for one in wrong], [one.answers for one in wrong])
    return [(_difference(one, study, wanted), study.failure) for one, study in zip(wrong, studies, strict=True)]


def _difference(one: Wrong, study: Study, wanted: Callable[[Finding], bool]) -> Difference:
    shown = one.mismatches[0]
    finding = next(filter(wanted, study.findings), None)
    if finding is not None:
        return Difference(one.program, one.index, *shown, finding, finding.known)
    if study.explains(mismatch.result for mismatch, _ in one.mismatches):
        known = tuple(dict.fromkeys(name for finding in study.findings for name in finding.known))
        return Difference(one.program, one.index, *shown, study.findings[0], known)
    if study.unknown is None:
        shown = next(pair for pair in one.mismatches if pair[0].result not in study.explained)
    return Difference(one.program, one.index, *shown, study.unknown)


def _failed(report: DiffReport, error: OracleError) -> None:
    if str(error) not in report.failures:
        report.failures.append(str(error))


def _compared(report: DiffReport, here: tuple[Value, ...], reply: Reply) -> list[tuple[Mismatch, ty.Type]]:
    """Count the verdicts, and return the first mismatch of each result that has one."""
    elements = sum(int(np.prod(value.shape, dtype=np.int64)) for value in here)
    if isinstance(reply, tuple):
        try:
            results = judge(here, reply)
        except OracleError as error:
            reply = error
    if not isinstance(reply, tuple):
        report.verdicts[Verdict.UNANSWERED] += elements
        if isinstance(reply, Unanswered):
            report.unanswered[reply.why] += elements
        else:
            _failed(report, reply)
        return []
    for one in results:
        one.count(report.verdicts)
        missing = int(np.count_nonzero(one.verdicts == Verdict.UNANSWERED))
        if missing:
            report.unanswered[one.answer.why or "no result"] += missing
    return first_mismatches(results)


def explaining(own: str, programs: Sequence[ClosedProgram], replies: Sequence[Reply]) -> list[str]:
    """Return the named profiles under which every result is the oracle's. ``own``: the oracle's own profile, tried
    first.
    """
    found = []
    for name in dict.fromkeys((own, *PROFILES)):
        profile = PROFILES.get(name)
        if profile is not None and profile is not SPEC and all(map(_predicted(profile), programs, replies)):
            found.append(name)
    return found


def _predicted(profile: Profile) -> Any:
    def predicted(program: ClosedProgram, reply: Reply) -> bool:
        if isinstance(reply, Unanswered):
            return True
        try:
            here = run_here(program, profile)
            if isinstance(reply, OracleError) or isinstance(here, NoMeaning):
                return not isinstance(reply, OracleError)
            return not any(one.wrong.any() for one in judge(here, reply))
        except (HalfulpError, OracleError):
            return False

    return predicted
