"""The data of a trace: the run, its steps, the ops that ran, and the poison that was born."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

from halfulp.inputs import write_file
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin
from halfulp.traces.error_text import Site, step_text
from halfulp.traces.values import TracedValue

if TYPE_CHECKING:
    from halfulp.traces.error_report import RunErrors


@dataclass(slots=True, eq=False)
class Birth:
    """Poison that a step made: the reason and the first element (``origin``), and the number of elements."""

    origin: Origin
    count: int


@dataclass(slots=True, eq=False)
class Step:
    """One row of a trace: an op that ran, or, where ``ends``, the end of a call or of an op with regions.

    ``number``: counts from 1. ``depth``: the number of calls around it. ``births``: poison born here. ``undefined``:
    what is undefined about it, if anything, or why it failed. ``branch``: where control went: a block, a function, then
    or else. ``trips``: the trips of a loop so far. ``lanes``: in a batch, the lanes that ran it, where these were not
    all: their number, and the first few. ``errors``: of a run with shadows, what it did to the exactness of numbers.
    """

    number: int
    site: Site
    depth: int
    ends: bool = False
    operands: tuple[TracedValue, ...] = ()
    results: tuple[TracedValue, ...] = ()
    births: tuple[Birth, ...] = ()
    undefined: str | None = None
    branch: str | None = None
    trips: int | None = None
    lanes: tuple[int, tuple[int, ...]] | None = None
    errors: ShadowFigures | None = None

    @property
    def op(self) -> str:
        """Return the name of the op."""
        return self.site.op

    @property
    def location(self) -> str:
        """Return ``file:line:column``, or an empty text."""
        return self.site.place

    @property
    def line(self) -> int | None:
        """Return the line number in the source that the trace shows."""
        return self.site.line

    @property
    def source(self) -> str:
        """Return the text of that line."""
        return self.site.source

    @property
    def function(self) -> str:
        """Return the function that the op is in."""
        return self.site.function

    @property
    def where(self) -> str:
        """Say where control went; an empty text for most ops."""
        parts = [self.branch] if self.branch else []
        if self.trips is not None:
            parts.append(f"{self.trips} trip{'s'[: self.trips != 1]}")
        return ", ".join(parts)

    @property
    def lanes_text(self) -> str:
        """Name the lanes; an empty text where all ran it."""
        if self.lanes is None:
            return ""
        count, first = self.lanes
        if count > len(first):
            return f"{count} lanes, the first is {first[0]}"
        return f"lane{'s'[: count > 1]} {', '.join(map(str, first))}"


@dataclass(eq=False)
class TraceRecord:
    """The data of a `Trace`, which describes each field."""

    file: str
    function: str
    profile: str
    profiles: dict[str, str] = field(default_factory=dict)
    mma: str = "exact"
    arguments: tuple[TracedValue, ...] = ()
    steps: list[Step] = field(default_factory=list)
    rows: int = 0
    executed: int = 0
    results: tuple[Value, ...] = ()
    error: HalfulpError | None = None
    lines: list[str] = field(default_factory=list)
    first_line: int = 1
    sites: list[Site] = field(default_factory=list)
    errors: RunErrors | None = None

    @property
    def numerics(self) -> str:
        """Name the profile and, where it is not the default, the model of matrix units."""
        return f"profile {self.profile}" + (f", matrix units {self.mma}" if self.mma != "exact" else "")

    def births(self) -> Mapping[tuple[str, str, str], int]:
        """Return the number of the step in which poison was first born, by op, place and reason."""
        first: dict[tuple[str, str, str], int] = {}
        for step in self.steps:
            for birth in step.births:
                first.setdefault((birth.origin.op, birth.origin.location, birth.origin.reason), step.number)
        return first

    def gaps(self) -> Iterator[tuple[int, Step | None]]:
        """Yield the kept steps, each with the number of steps left out before it; at the end None, where some are left
        out.
        """
        return self._gaps(self.steps)

    def _gaps(self, steps: Sequence[Step]) -> Iterator[tuple[int, Step | None]]:
        """Yield some of the kept steps, as `gaps` yields all."""
        number = 0
        for step in steps:
            yield step.number - number - 1, step
            number = step.number
        if self.rows > number:
            yield self.rows - number, None


# --- timeline ---------------------------------------------------------------------------------------------------------
#
# The errors of a run as a picture: one SVG, that needs nothing else.

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 22, 34
_MOST_COLUMNS = 330
"""The most columns: of more steps, those that are next to one another share one."""
_FEWEST_DECADES, _MOST_LABELS = 3, 8
_OWN, _TOTAL, _EVENT = "#d97706", "#2563eb", "#dc2626"


class _Column(NamedTuple):
    """What a column shows: its errors in ulp, the largest of its steps, and the step that is worth a look."""

    own: float
    total: float
    event: bool
    step: Step


@dataclass(frozen=True)
class Timeline:
    """A picture of the errors of a run over its steps. Notebooks show it. ``svg``: the picture; "" without an error."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return "<Timeline>" if self.svg else "<Timeline: no step has an error>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all. Raises InputError."""
        write_file(os.fspath(path), self.svg.encode("utf-8"))


def timeline(steps: Sequence[Step]) -> str:
    """Return a picture of the errors of steps, as SVG: of each step its own error and the error of its results, in ulp
    and on a logarithmic scale, and where decisions or unknown numbers are. Nothing where no step has an error.

    The steps carry ``data-jump``, their number, so that a page can lead to them.
    """
    columns = list(_columns([step for step in steps if step.errors is not None]))
    sizes = [size for column in columns for size in column[:2] if size > 0]
    if not sizes:
        return ""
    first, last = floor(log10(min(sizes))), ceil(log10(max(sizes)))
    if last - first < _FEWEST_DECADES:
        first = last - _FEWEST_DECADES
    return "".join(_drawing(columns, first, last))


def _columns(steps: Sequence[Step]) -> Iterator[_Column]:
    together = max(1, ceil(len(steps) / _MOST_COLUMNS))
    for first in range(0, len(steps), together):
        part = steps[first : first + together]
        found = [step.errors for step in part if step.errors is not None]
        event = [each.unknown or each.otherwise or each.undecided or each.overflowed or each.wrapped for each in found]
        chosen = max(range(len(part)), key=lambda k: (bool(event[k]), found[k].total.size))
        yield _Column(
            max(each.own.size for each in found), max(each.total.size for each in found), any(event), part[chosen]
        )


def _drawing(columns: Sequence[_Column], first: int, last: int) -> Iterator[str]:
    across, up = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    xs = [_LEFT + across * (k + 0.5) / len(columns) for k in range(len(columns))]
    radius = min(4.0, max(1.2, across / len(columns) / 3))

    def y(size: float) -> float:
        return _TOP + up * (last - log10(size)) / (last - first)

    yield (
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        'style="max-width:100%;height:auto;font:11px system-ui,sans-serif" role="img" fill="currentColor">'
        "<title>Errors of the steps, in ulp</title>"
    )
    for decade in range(first, last + 1, ceil((last - first) / _MOST_LABELS)):
        at = y(10.0**decade)
        yield (
            f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" opacity=".15"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_power(decade)}</text>'
        )
    points = [f"{x:.1f},{y(column.total):.1f}" for x, column in zip(xs, columns, strict=True) if column.total > 0]
    yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{_TOTAL}" opacity=".5"/>'
    for x, column in zip(xs, columns, strict=True):
        heights = [y(size) if size > 0 else None for size in (column.own, column.total)]
        yield from _marks(column, x, radius, *heights)
    yield from _legend()
    numbers = columns[0].step.number, columns[-1].step.number
    for x, number, anchor in zip((xs[0], xs[-1]), numbers, ("start", "end"), strict=True):
        if anchor == "start" or number != numbers[0]:
            yield f'<text x="{x:.1f}" y="{_HEIGHT - 18}" text-anchor="{anchor}">{number:,}</text>'
    yield f'<text x="{_LEFT + across / 2}" y="{_HEIGHT - 4}" text-anchor="middle">step</text></svg>'


def _marks(column: _Column, x: float, radius: float, own: float | None, total: float | None) -> Iterator[str]:
    step = column.step
    place = "" if step.line is None else f", line {step.line}"
    assert step.errors is not None
    said = escape(f"step {step.number:,}{place}: {step.source}\n{step_text(step.errors)}", quote=True)
    yield f'<g data-jump="{step.number}" style="cursor:pointer"><title>{said}</title>'
    if own is not None:
        side = 2 * radius
        yield f'<path d="M{x - radius:.1f} {own - radius:.1f}h{side:.1f}v{side:.1f}h-{side:.1f}z" fill="{_OWN}"/>'
    if total is not None:
        yield f'<circle cx="{x:.1f}" cy="{total:.1f}" r="{radius:.1f}" fill="{_TOTAL}"/>'
    if column.event:
        yield f'<path d="M{x - 4:.1f} {_TOP - 6}h8l-4 7z" fill="{_EVENT}"/>'
    yield "</g>"


def _legend() -> Iterator[str]:
    entries = (
        (f'<rect x="0" y="-8" width="8" height="8" fill="{_OWN}"/>', "own error, ulp"),
        (f'<circle cx="4" cy="-4" r="4" fill="{_TOTAL}"/>', "error of the result, ulp"),
        (f'<path d="M0 -8h8l-4 7z" fill="{_EVENT}"/>', "overflow, unknown, other decision"),
    )
    for k, (mark, text) in enumerate(entries):
        yield f'<g transform="translate({_LEFT + k * 170} 12)">{mark}<text x="13" y="0">{text}</text></g>'


def _power(decade: int) -> str:
    return f"{10.0**decade:g}" if -3 <= decade <= 4 else f"1e{decade}"
