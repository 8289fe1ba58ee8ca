"""The errors of a run as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import Protocol

from halfulp.interp.ir.counts import plural
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.traces.error_records import OpError, ResultError, StoryStep
from halfulp.traces.figure_text import events, ulps

MOST_OPS = 5
"""The number of ops in a ranking."""


class Report(Protocol):
    """What an `ErrorReport` says."""

    @property
    def wider(self) -> str:
        """The format that stands for the exact numbers, or ""."""

    @property
    def results(self) -> tuple[ResultError, ...]:
        """The errors of the results."""

    @property
    def ops(self) -> tuple[OpError, ...]:
        """The errors of the ops."""

    @property
    def largest(self) -> ResultError | None:
        """The result with the largest known error."""

    def worst(self, count: int | None = None) -> list[OpError]:
        """Return the ops that cost most."""


def element_text(element: Sequence[int]) -> str:
    """Spell the place of an element; nothing for a scalar."""
    return f" {list(element)}" if element else ""


def report_lines(report: Report, most: int = MOST_OPS) -> Iterator[str]:
    """Yield the whole report: results, the ops that cost most, and what else ops did."""
    yield from result_lines(report)
    yield from ranking_lines(report, most)
    yield from event_lines(report)


def result_lines(report: Report) -> Iterator[str]:
    """Yield a line for each result."""
    beside = f", beside {report.wider}" if report.wider else ""
    for each in report.results:
        yield f"error of {each.name}{beside}: {result_text(each, report.wider)}"


def result_text(each: ResultError, wider: str = "", chosen: bool = False) -> str:
    """Say how far a result is from the truth, or from what a wider format gives. ``chosen``: the element was asked
    for, and need not have the largest error.
    """
    truth = f"in {wider}" if wider else "exactly"
    unknown = f"; nothing is known of {plural(each.unknown, 'element')}" if each.unknown else ""
    if not isfinite(each.ulp) and isfinite(each.exact):
        at = f"[{', '.join(map(str, each.element))}] " if each.element else ""
        return f"{each.type}: {at}is {each.value:.9g}, {truth} {each.exact:.17g}{unknown}"
    if not isfinite(each.ulp):
        whole = "" if each.elements == 1 else " of any element"
        return f"{each.type}: nothing is known of the exact number{whole}"
    if each.ulp == 0:
        return f"{each.type}: {f'as in {wider}' if wider else 'exact'}{unknown}"
    loose = f" ± {each.radius:.2g}" if each.radius > abs(each.exact) * 1e-15 else ""
    at = f" at{element_text(each.element)}" if each.element else ""
    relative = f", relative {each.relative:.2g}" if isfinite(each.relative) else ""
    return (
        f"{each.type}: {'largest ' if each.element and not chosen else ''}error {ulps(each.ulp)} ulp{at}{relative}: "
        f"{each.value:.9g}, {truth} {each.exact:.17g}{loose}{unknown}"
    )


def ranking_lines(report: Report, count: int) -> Iterator[str]:
    """Yield the ops that cost most, as a table."""
    largest = report.largest
    if largest is None or not largest.ulp:
        return
    try:
        found = [one for one in report.worst(count) if one.effect_ulp]
    except LimitExceeded as error:
        yield f"no ranking of ops: {error.message}"
        return
    if not found:
        return
    yield f"ops whose own errors make that of {largest.name}{element_text(largest.element or ())}:"
    rows = [("ulp of it", "share", "own ulp", "total ulp", "line", "op")]
    for one in found:
        line = "" if one.line is None else str(one.line)
        rows.append(
            (ulps(one.effect_ulp), f"{one.share:.1%}", ulps(one.own_ulp), ulps(one.total_ulp), line, one.source)
        )
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join(cells)}  {row[5]}"


def event_lines(report: Report) -> Iterator[str]:
    """Yield what else the ops did: lost bits, overflow, decisions that the exact run would take otherwise."""
    for one in report.ops:
        notes = list(events(one))
        if notes:
            line = "" if one.line is None else f"line {one.line}: "
            yield f"{line}{one.source}: {', '.join(notes)}"


def story_lines(end: ResultError, story: Sequence[StoryStep], chosen: bool = False) -> Iterator[str]:
    """Yield the way of an error through the program, from its end back. ``chosen``: see `result_text`."""
    yield f"{end.name}: {result_text(end, chosen=chosen)}"
    if not story:
        yield "no op computed it: it is an argument, a constant, or made of integers"
    for step in story:
        place = "" if step.line is None else f"line {step.line}: "
        yield f"{place}{step.source}"
        exact = "unknown" if isnan(step.exact) else f"{step.exact:.17g}"
        if not isfinite(step.value):
            names = " and ".join(dict.fromkeys(name for name, _ in step.operands))
            yield f"    {step.value:.9g}, exactly {exact}: {f'through {names}' if names else 'of finite operands'}"
            continue
        yield f"    {step.value:.9g}, exactly {exact}: {ulps(step.brings)} ulp of the result"
        through = [f"{ulps(brings)} through {name}" for name, brings in step.operands if brings]
        yield f"    of these {', '.join([f'{ulps(step.own)} by the op itself', *through])}"
