"""The errors of a run as records and as text: those of results, of ops, of steps, and the way back of an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isnan
from typing import Any

from halfulp.interp.ir.counts import plural
from halfulp.interp.run.shadow_figures import ShadowFigures
from halfulp.traces.site import OpRecord, StepRecord

Element = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpError(OpRecord):
    """What one op of a program did to the exactness of its numbers, over all of its runs.

    ``own_ulp``: the largest distance of its results from the exact function of its operands, ``total_ulp``: that of its
    results from the exact run, in ulp of the result, the latter also relative to it (``relative``: infinite for 0).
    ``effect_ulp``: what its own errors bring to the result that `RunErrors.worst` is about, in ulp of that, with its
    sign; ``share``: the same as a share of the error of that result. Errors are NaN where nothing is known of any.

    ``cancelled``: the most leading bits that a sum lost, of its terms as they were computed. Numbers of elements:
    ``absorbed``: a sum equals one of its terms, though the other is not 0; ``overflowed``: of finite operands an
    infinity, or what the format has instead; ``flushed``: 0, though the exact function of the operands is not;
    ``unknown``: nothing is known of the exact number; ``otherwise``: the exact run decides otherwise; ``undecided``: it
    may; ``wrapped``: integers whose type does not hold the exact result.
    """

    elements: int
    own_ulp: float
    own_element: Element | None
    total_ulp: float
    total_element: Element | None
    relative: float
    effect_ulp: float
    share: float
    cancelled: int
    absorbed: int
    overflowed: int
    flushed: int
    unknown: int
    otherwise: int
    undecided: int
    wrapped: int


@dataclass(frozen=True, slots=True)
class ResultError:
    """How far a result of a run is from the exact one: its worst element, unless another was asked for.

    ``name``: ``result[0]``, or ``argument[0]`` for memory. ``element``: None of a result without elements. ``ulp``: the
    error in ulp, the computed number less the exact one; NaN if nothing is known, or the computed one is not finite.
    ``radius``: up to which the exact number is known. ``unknown``: the number of elements of which nothing is known, of
    ``elements``.
    """

    name: str
    type: str
    element: Element | None
    value: float
    exact: float
    ulp: float
    radius: float
    relative: float
    elements: int
    unknown: int


@dataclass(frozen=True, slots=True)
class StoryStep(StepRecord):
    """One step from a result back to where its error came from. All errors are in ulp of the result.

    ``value``: the number that the op gave, ``exact``: the exact one; ``brings``: what its error brings to the result,
    ``own``: its own part; ``operands``: the name of each operand, and what comes through it. Of an infinity or a NaN
    these are NaN, and ``operands`` are those that are infinite or NaN themselves.
    """

    value: float
    exact: float
    brings: float
    own: float
    operands: tuple[tuple[str, float], ...]


def json_record(record: OpError | ResultError | StoryStep) -> dict[str, Any]:
    """Return the fields of a record for JSON, which has no infinities and no NaN: None stands for them."""

    def finite(value: Any) -> Any:
        if isinstance(value, tuple):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and not isfinite(value) else value

    return {name: finite(value) for name, value in asdict(record).items()}


# --- as text ----------------------------------------------------------------------------------------------------------


def ulps(size: float) -> str:
    """Spell a number of ulps with three digits."""
    if isnan(size):
        return "unknown"
    size = size or 0.0  # no negative zero
    return f"{size:,.0f}" if 1000 <= abs(size) < 1e7 else f"{size:.3g}"


def events(one: ShadowFigures | OpError) -> Iterator[str]:
    """Say what an op did besides rounding."""
    if one.cancelled:
        yield f"a sum lost {plural(one.cancelled, 'leading bit')}"
    for count, what in (
        (one.absorbed, "absorbed a term"),
        (one.overflowed, "overflowed"),
        (one.flushed, "became 0"),
        (one.unknown, "with an unknown exact number"),
        (one.otherwise, "that the exact run decides otherwise"),
        (one.undecided, "that the exact run may decide otherwise"),
        (one.wrapped, "wrapped around: integer overflow"),
    ):
        if count:
            yield f"{plural(count, 'element')} {what}" if one.elements > 1 else what


def step_text(found: ShadowFigures) -> str:
    """Return what a step did to the exactness of numbers; "" if it did nothing."""
    parts = []
    if found.own.size or found.total.size:
        own, total = map(found.known, (found.own, found.total))
        parts.append(f"error: own {ulps(own)} ulp, in all {ulps(total)} ulp")
    return "; ".join([*parts, *events(found)])


def element_text(element: Sequence[int]) -> str:
    """Spell the place of an element; nothing for a scalar."""
    return f" {list(element)}" if element else ""


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
