"""The data of a trace: the run, its steps, the ops that ran, and the poison that was born."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.run.shadow_figures import ShadowFigures
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin
from halfulp.traces.site import Site
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
