"""One oracle asked for one task: its answers sorted into equal, open, known to be wrong, and unexplained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from halfulp.conformance.comparing.compare import (
    Mismatch,
    Verdict,
    Verdicts,
    foreseen,
    require_answers,
    ulp_distance,
    verdicts,
    worst,
)
from halfulp.conformance.comparing.divergences import Divergence
from halfulp.conformance.comparing.op_case import Reference, Task, reference
from halfulp.conformance.oracles.oracle import Answer, Oracle, OracleError, Status, unanswered
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.values.value import element_width
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.profile import PROFILES, SPEC, Profile

SHOWN = 5
"""Mismatches that a tally keeps of one task: the first ones and the worst."""


@dataclass
class Tally:
    """How many elements of how many tasks ended how; each element of each result counts once.

    ``known``: by the name of the divergence. ``reformed``: elements that a divergence predicts to be wrong and the
    oracle has right. ``undefined``: elements of undefined behaviour for which the oracle has a value all the same (a
    part of ``open``). ``failures``: what `OracleError` said. ``answered``: of one comparison, the elements that have an
    answer for some result; tallies that were added up have none.
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
    mismatches: list[tuple[Task, Mismatch]] = field(default_factory=list)
    answered: Mask | None = None

    @property
    def compared(self) -> int:
        """Elements for which there was an answer."""
        return self.equal + self.open + self.apart + self.unexplained + self.known.total()

    @property
    def clean(self) -> bool:
        """Nothing unexplained, and no failure of the oracle."""
        return not self.unexplained and not self.failures

    def add(self, other: Tally) -> None:
        """Take in the counts of another tally."""
        for name in ("equal", "open", "apart", "unanswered", "unexplained", "undefined"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("known", "reformed", "refusals"):
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures
        self.mismatches += other.mismatches


def check(
    oracle: Oracle,
    task: Task,
    inputs: Sequence[Codes],
    divergences: Sequence[Divergence] = (),
    profile: Profile = SPEC,
) -> Tally:
    """Ask an oracle, and compare. ``inputs``: one array of codes per operand. A failing oracle is in the tally."""
    try:
        answers = ask(oracle, task, inputs)
    except OracleError as error:
        elements = int(np.prod(task.shape(inputs), dtype=np.int64)) * len(task.results)
        return Tally(unanswered=elements, failures=[f"{oracle.name}: {task}: {error}"])
    rows = [row for row in divergences if row.applies(oracle.name, oracle.version, task)]
    return compare(task, inputs, reference(task, inputs, profile), answers, rows)


def ask(oracle: Oracle, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
    """The oracle's answers; what it refuses is unanswered, with its reason.

    Raises OracleError, also for answers that are none by their number, shape, dtype or width.
    """
    refusal = oracle.refuses(task)
    if refusal is not None:
        return unanswered(task, inputs, refusal)
    answers = oracle.evaluate(task, inputs)
    require_answers(task.result_types, [task.shape(inputs)] * len(task.results), answers)
    return answers


def explaining_profiles(
    task: Task, inputs: Sequence[Codes], answers: Sequence[Answer], names: Iterable[str] = tuple(PROFILES)
) -> set[str]:
    """Of the named profiles those whose results the answers are."""
    return {
        name
        for name in names
        if not compare(task, inputs, reference(task, inputs, PROFILES[name]), answers).unexplained
    }


def compare(
    task: Task,
    inputs: Sequence[Codes],
    expected: Reference,
    answers: Sequence[Answer],
    rows: Sequence[Divergence] = (),
) -> Tally:
    """The tally of given answers. ``rows``: the divergences that speak of this tool and task.

    A mismatch is known only where it is the very bits that a row predicts, or the poison or trap that it predicts.
    """
    tally = Tally()
    judged = [verdicts(type_, expected, index, answers[index]) for index, type_ in enumerate(task.result_types)]
    tally.answered = np.logical_or.reduce([verdict != Verdict.UNANSWERED for verdict in judged])
    predictions = [(row.name, row.predict(task, inputs, expected)) for row in rows] if tally.answered.any() else []
    for index, (type_, answer, verdict) in enumerate(zip(task.result_types, answers, judged, strict=True)):
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
            said = foreseen(type_, predicted, index, answer)
            tally.known[name] += int(np.count_nonzero(wrong & said))
            wrong &= ~said
            trapped = None if predicted.trap is None else np.where(predicted.trap, np.uint8(Status.TRAP), np.uint8(0))
            differs = verdicts(type_, expected, index, Answer(predicted.bits[index], trapped)) == Verdict.MISMATCH
            if predicted.poison is not None:
                differs &= ~predicted.poison  # anything may stand there, what is right as well
            tally.reformed[name] += int(np.count_nonzero(answered & differs))
        tally.unexplained += int(np.count_nonzero(wrong))
        tally.mismatches += [(task, mismatch) for mismatch in _shown(task, inputs, expected, index, answer, wrong)]
    tally.known += Counter()  # drops zeros
    tally.reformed += Counter()
    return tally


def _count(verdict: Verdicts, wanted: Verdict) -> int:
    return int(np.count_nonzero(verdict == wanted))


def _shown(
    task: Task, inputs: Sequence[Codes], expected: Reference, index: int, answer: Answer, wrong: Mask
) -> list[Mismatch]:
    """The first mismatches, and the worst of the first thousand."""
    found = [_mismatch(task, inputs, expected, index, answer, where) for where in np.argwhere(wrong)[:1000]]
    extreme = worst(found)
    first = found[:SHOWN]
    return first if extreme is None or extreme in first else [*first[:-1], extreme]


def _mismatch(
    task: Task, inputs: Sequence[Codes], expected: Reference, index: int, answer: Answer, where: Sequence[int]
) -> Mismatch:
    element = tuple(int(k) for k in where)
    type_ = task.result_types[index]
    width = element_width(type_) or 0
    status = Status.VALUE if answer.status is None else Status(int(answer.status[element]))
    right = code_at(expected.bits[index], width, element)
    given = code_at(answer.bits, width, element)
    return Mismatch(
        element,
        index,
        tuple(
            code_at(codes, operand_width, element)
            for codes, operand_width in zip(inputs, task.operand_widths, strict=True)
        ),
        right,
        given if status is Status.VALUE else None,
        status,
        ulp_distance(type_, right, given) if status is Status.VALUE else None,
    )


def code_at(codes: Codes, width: int, element: tuple[int, ...]) -> int:
    """The code of one element as a Python integer."""
    return codes_to_ints(np.asarray(codes[element]), width)[0]
