"""What a bisection found: a judgement of each stage, as objects, as text for people, and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile
from typing import Any

from halfulp.conformance.comparing.compare import ulps_away
from halfulp.conformance.comparing.exact_reference import Truth, record_of, ulps_text
from halfulp.conformance.whole_programs.bisection.runs import Comparison
from halfulp.conformance.whole_programs.bisection.stages import Stage
from halfulp.conformance.whole_programs.counterexamples import Counterexample, counterexample_record
from halfulp.conformance.whole_programs.difference_text import code_text
from halfulp.interp.ir.counts import plural
from halfulp.interp.values.spelling import spell_value

_WIDEST = 72
"""The most columns of the name of a stage."""

SHOWN = 3
"""The most inputs of one stage whose difference is in the data."""


class Judgement(Enum):
    """What a stage does with the results of the last stage before it that ran."""

    FIRST = "first"
    UNCHANGED = "unchanged"  # the text is the same: nothing ran
    IDENTICAL = "identical"
    REFINED = "refined"
    PERMITTED = "permitted"
    KNOWN = "known divergence"
    DIFFERENT = "DIFFERENT"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class StageResult:
    """A stage and its judgement.

    ``ground``: why the difference is permitted or known, or why the stage did not run. ``comparison``: with the stage
    of number ``against``. ``seconds``: the time of the run and the comparison. ``notes``: how its signature carries
    that of the first stage. ``first_op``: the first op whose value the stage before does not have, of the first stage
    that differs; "" if it is not known. ``truth``: how far the first element that differs was from the exact number,
    that of the first stage, and how far it is; None if that is not known, or nothing differs.
    """

    stage: Stage
    judgement: Judgement
    ground: str = ""
    against: int | None = None
    comparison: Comparison | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    first_op: str = ""
    truth: Truth | None = None

    @property
    def ulps(self) -> int | None:
        """The largest distance of a float from that of the stage before; None if there is no such number."""
        if self.comparison is None:
            return None
        examples = [example for _, example in self.comparison.examples]
        found = [
            ulps_away(one.type, one.mismatch) for one in examples if one.type is not None and one.mismatch is not None
        ]
        return max((ulps for ulps in found if ulps is not None), default=None)


@dataclass(frozen=True)
class Bisection:
    """The stages of a compilation with their judgements. ``end``: why the compilation stopped early, or ""."""

    function: str
    results: tuple[StageResult, ...]
    end: str = ""

    @property
    def guilty(self) -> int | None:
        """The number of the first stage that differs; None without one."""
        return next((k for k, one in enumerate(self.results) if one.judgement is Judgement.DIFFERENT), None)

    @property
    def compared(self) -> int:
        """The number of stages that were compared with another one."""
        apart = (Judgement.FIRST, Judgement.NOT_RUN)
        return sum(one.judgement not in apart for one in self.results)

    def suspects(self, number: int) -> Sequence[StageResult]:
        """Return the stages one of which made the difference of a stage: it, and those before it that did not run."""
        *passed, guilty = self.results[(self.results[number].against or 0) + 1 : number + 1]
        return (*(one for one in passed if one.judgement is Judgement.NOT_RUN), guilty)

    def __str__(self) -> str:
        return "\n".join(bisection_lines(self))


def bisection_lines(found: Bisection) -> Iterator[str]:
    """Yield a line for each stage, what differs first, and the pass that is guilty."""
    width = min(_WIDEST, max((len(str(one.stage)) for one in found.results), default=0))
    digits = len(str(len(found.results)))
    notes: tuple[str, ...] = ()
    for number, one in enumerate(found.results):
        if one.notes != notes and one.judgement is not Judgement.NOT_RUN:
            notes = one.notes
            yield from (f"{'':{digits}}  {note}" for note in notes)
        yield f"{number:{digits}}  {one.stage!s:{width}}  {judged(one)}"
    if found.end:
        yield f"stopped early: {found.end}"
    yield from conclusion(found)


def judged(one: StageResult) -> str:
    """Return the judgement of a stage in a line: the ground, the distance, and the time."""
    text = one.judgement.value
    if one.ground:
        text += f": {one.ground}"
    if one.ulps:
        text += f", {plural(one.ulps, 'ulp')}"
    if one.truth is not None:
        text += f"; from the truth {ulps_text(one.truth.expected)} before, {ulps_text(one.truth.got)} after"
    return f"{text}  ({one.seconds:.2f} s)" if one.seconds else text


def conclusion(found: Bisection) -> Iterator[str]:
    """Yield the last lines: an input with a difference and the guilty pass, or that there is none."""
    if found.guilty is None:
        left = sum(one.judgement is Judgement.NOT_RUN for one in found.results)
        out = f"; {plural(left, 'stage')} did not run" if left else ""
        known = [str(one.stage) for one in found.results if one.judgement is Judgement.KNOWN]
        if found.compared:
            but = f" but known ones, after {', '.join(known)}," * bool(known)
            yield f"no difference{but} in {plural(found.compared, 'stage')}{out}"
        else:
            yield f"nothing was compared{out}"
        return
    one = found.results[found.guilty]
    assert one.comparison is not None
    example = one.comparison.examples[0][1]
    yield from (f"  argument {k}: {spell_value(value, limit=16)}" for k, value in enumerate(example.arguments))
    if one.first_op:
        yield f"first op with another value: {one.first_op}"
    if one.truth is not None:
        yield f"  {one.truth.text('before', 'after')}"
    yield f"first difference: after {one.stage}, {difference_text(example)}"
    others = [str(each.stage) for each in found.suspects(found.guilty)[:-1]]
    if others:
        yield f"  or after a pass before it that did not run here: {', '.join(others)}"


def difference_text(example: Counterexample) -> str:
    """Tell what an element was, and what it became: ``result[0] [3, 1]: 0x3F800000 (1) became 0x3F800001``."""
    if example.trap:
        values = ", ".join(spell_value(value, limit=4) for value in example.expected) or "it returned"
        return f"{values} became undefined: {example.trap}"
    if example.texts is not None or example.mismatch is None or example.type is None:
        before, after = example.texts or ("", "")
        return "the printed text {} became {}".format(*_excerpts(before, after))
    mismatch, type_ = example.mismatch, example.type
    place = f" {list(mismatch.element)}" if mismatch.element else ""
    given = mismatch.status.name.lower() if mismatch.actual is None else code_text(type_, mismatch.actual)
    name = f"result[{mismatch.result}]" if example.output.startswith("result ") else example.output
    ulps = ulps_away(type_, mismatch)
    away = f", {plural(ulps, 'ulp')} away" if ulps else ""
    return f"{name}{place}: {code_text(type_, mismatch.expected)} became {given}{away}"


_EXCERPT, _BEFORE = 60, 20
"""The characters of a printed text that are shown, and how many of them stand before a difference that is far on."""


def _excerpts(*texts: str) -> Iterator[str]:
    """Return the same part of both texts in quotes, with the first difference in it."""
    first = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = first - _BEFORE if first >= _EXCERPT else 0
    return (f"{'... ' if start else ''}{text[start : start + _EXCERPT]!r}" for text in texts)


def bisection_record(found: Bisection) -> dict[str, Any]:
    """Return the stages as data for JSON."""
    return {
        "function": found.function,
        "stages": [_record(one) for one in found.results],
        "guilty": found.guilty,
        "end": found.end or None,
    }


def _record(one: StageResult) -> dict[str, Any]:
    comparison = one.comparison
    return {
        "pass": one.stage.name,
        "argument": one.stage.argument or None,
        "verdict": one.judgement.value,
        "ground": one.ground or None,
        "against": one.against,
        "ulps": one.ulps,
        "truth": record_of(one.truth),
        "seconds": round(one.seconds, 3),
        "notes": list(one.notes),
        "first_op": one.first_op or None,
        "inputs": None if comparison is None else comparison.report.inputs,
        "undefined": None if comparison is None else comparison.report.undefined,
        "differing": None if comparison is None else comparison.report.differing,
        "elements": {}
        if comparison is None
        else {k.name.lower(): n for k, n in comparison.report.verdicts.items() if n},
        "counterexamples": [
            # The truth of a stage is that about its first counterexample.
            {"input": number} | counterexample_record(example if place else replace(example, truth=one.truth))
            for place, (number, example) in enumerate(() if comparison is None else comparison.examples[:SHOWN])
        ],
    }
