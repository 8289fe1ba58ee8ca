"""The steps of a trace: what ran, on what values, and the poison that first appeared."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.interp.ir.errors import plural
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.semantics.kernel import Origin
from halfulp.traces.error_text import Site
from halfulp.traces.values import TracedValue


@dataclass(slots=True, eq=False)
class Birth:
    """Poison that a step made: the reason and the first element (``origin``), and the number of elements."""

    origin: Origin
    count: int


@dataclass(slots=True, eq=False)
class Step:
    """One row of a trace: an op that ran, or, if ``ends`` is True, the end of a call or of an op with regions.

    ``number``: counts from 1. ``depth``: the number of calls around it. ``births``: the poison that first appeared in
    this step. ``undefined``: why the behaviour of the step is undefined, or why it failed; otherwise empty. ``branch``:
    the target of a branch: a block, a function, then or else. ``trips``: the number of iterations of a loop so far.
    ``lanes``: in a batch, the lanes that ran it, if not all lanes did: their number, and the first few. ``errors``: in
    a run with shadows, the effect of the step on the exactness of numbers.
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
        """Return the target of a branch as text; it is empty for most ops."""
        parts = [self.branch] if self.branch else []
        if self.trips is not None:
            parts.append(f"{self.trips} trip{'s'[: self.trips != 1]}")
        return ", ".join(parts)

    @property
    def lanes_text(self) -> str:
        """Return the text of the lanes; an empty text if all lanes ran the step."""
        if self.lanes is None:
            return ""
        count, first = self.lanes
        if count > len(first):
            return f"{count} lanes, the first is {first[0]}"
        return f"lane{'s'[: count > 1]} {', '.join(map(str, first))}"


def is_unwritten(birth: Birth) -> bool:
    """Tell whether poison is that of a new tensor or buffer, whose elements were not written yet."""
    return birth.origin.reason == f"an element of {birth.origin.op} was never written"


def listed_births(step: Step) -> list[Birth]:
    """Return the new poison that is shown with a step: all except the poison of new memory."""
    return [birth for birth in step.births if not is_unwritten(birth)]


def birth_text(birth: Birth) -> str:
    """Return a text that says why poison first appeared, and in how many elements."""
    element = list(birth.origin.element)
    elements = f" ({plural(birth.count, 'element')}, the first {element})" if element else ""
    return f"{birth.origin.reason}{elements}"
