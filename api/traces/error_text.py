"""Records of the errors of a run, and their texts: errors of results, of ops, of steps, and the steps from an error
back to its origin.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import ceil, floor, isfinite, isnan, log10
from typing import Any

from halfulp.fp_formats.spelling import fragment, shortened, table_lines
from halfulp.interp.ir.base import file_position
from halfulp.interp.ir.errors import UNPRINTABLE, HalfulpError, plural, spell_place
from halfulp.interp.ir.operations import Blob, BlockArgument, Module, Operation, OpResult, SSAValue
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import profile_of
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.text.printer import print_module
from halfulp.measuring.metrics import ulps
from halfulp.semantics.profile import Profile

# --- site -------------------------------------------------------------------------------------------------------------
#
# The ops of a program, as a trace names them.

_LONGEST_LINE = 400
_MOST_PRINTED = 1 << 24
"""A program without text is printed to be shown if its constants have at most this number of bytes."""


@dataclass(slots=True, eq=False)
class Site:
    """The place and the names of an op of the program, and counts over all of its runs.

    ``line``: its line in the text that the trace shows; None if there is none. ``source``: the text of that line.
    ``place``: ``file:line:column`` of the op's location. ``nesting``: the number of ops with regions around it in its
    function. ``runs``: how often it ran. ``births``: the number of elements that became poison in it. ``operands``,
    ``results``: their names.
    """

    op: str
    line: int | None
    source: str
    place: str
    function: str
    nesting: int
    operands: tuple[str, ...]
    results: tuple[str, ...]
    runs: int = 0
    births: int = 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The record of one op in a report. It begins with the place of the op."""

    #: the name of the op
    op: str
    #: its line in the text that is shown; None if there is none
    line: int | None
    #: ``file:line:column``
    place: str
    #: the text of the line
    source: str


@dataclass(frozen=True, slots=True)
class OpRecord(StepRecord):
    """The record of one op in a report, over all of its runs."""

    #: the function that the op is in
    function: str


class SiteNames:
    """The names of the ops of a module in reports.

    ``lines``: the text that is shown, from line number ``first_line`` on: that of the module, or, for a program without
    text such as bytecode, what it prints. ``profiles``: the profiles of functions that do not have the profile of the
    run.
    """

    def __init__(self, module: Module, profile: Profile) -> None:
        self.lines: list[str] = []
        self.first_line = 1
        self.profiles: dict[str, str] = {}
        self._profile = profile
        self._sites: dict[Operation, Site] = {}
        self._shown_op = self._shown_module(module)

    @property
    def all(self) -> Iterable[Site]:
        """The sites of the ops for which `site` was called, in the order of the first calls."""
        return self._sites.values()

    def shown(self, op: Operation) -> Operation | None:
        """Return the op in the text that is shown; None if there is none."""
        return self._shown_op(op)

    def site(self, op: Operation) -> Site:
        """Return the place and the names of an op in a trace."""
        site = self._sites.get(op)
        if site is None:
            site = self._sites[op] = self._new_site(op)
        return site

    def _new_site(self, op: Operation) -> Site:
        shown = self.shown(op)
        position = None if shown is None else shown.position
        line = None if position is None else position.line
        nesting, around = -1, op
        while around.name != "func.func" and around.parent_op is not None:
            nesting, around = nesting + 1, around.parent_op
        named = op if shown is None else shown
        name = f"@{around.symbol_name}"
        profile = profile_of(around, self._profile)
        if profile is not self._profile:
            self.profiles[name] = profile.name
        return Site(
            op.name,
            line,
            op.name if line is None else self._line(line, op),
            spell_place(op.location),
            name,
            nesting,
            tuple(name_of(value) for value in named.operands),
            tuple(name_of(value) for value in named.results),
        )

    def _line(self, number: int, op: Operation) -> str:
        lines, first = self.lines, self.first_line
        text = lines[number - first].strip() if first <= number < first + len(lines) else ""
        # A terminator that is not in the text has the place of the op around it.
        if op.name.rpartition(".")[2] not in text:
            return op.name
        short = shortened(text, _LONGEST_LINE)
        origin = _origin(op)
        return f"{short}  // {origin}" if origin and "loc(" not in text else short

    def _shown_module(self, module: Module) -> Callable[[Operation], Operation | None]:
        """Return the function from an op to its op in the text that is shown."""
        if module.source is not None and module.text is not None:
            self.lines = module.text.split("\n")
            self.first_line = module.source.start[0]
            return lambda op: op
        if _constant_bytes(module) > _MOST_PRINTED:
            return lambda op: None
        try:
            text = print_module(module)
            printed = parse_module(text, module.filename)
        except HalfulpError:
            return lambda op: None
        pairs = dict(zip(module.walk(), printed.walk(), strict=False))
        self.lines = text.split("\n")
        return pairs.get


def _origin(op: Operation) -> str:
    """Return the line of an op in another file than the text, such as that of a JAX function, and the names of its
    operands there; empty if there are none.
    """
    place, position = file_position(op.location), op.position
    elsewhere = place is not None and position is not None and place.file != position.file
    line = [f"{os.path.basename(place.file)}:{place.line}"] if place is not None and elsewhere else []
    labels = {name_of(each): each.label for each in op.operands if isinstance(each, BlockArgument) and each.label}
    return ", ".join(line + [f"{name} is {label}" for name, label in labels.items()])


def shown_site(site: Callable[[Operation], Site], op: Operation, around: Operation) -> Site:
    """Return the place of an op in the text that is shown. ``around``: the op for which it ran; its place is returned
    if the op itself is not in the text.
    """
    found = site(op)
    if found.line is not None or op is around:
        return found
    shown = site(around)
    return replace(found, line=shown.line, place=shown.place, source=f"{op.name} of {shown.source}")


def fields_of(site: Site) -> tuple[str, int | None, str, str]:
    """Return the fields of a `StepRecord`."""
    return site.op, site.line, site.place, site.source


def name_of(value: SSAValue) -> str:
    """Return the name of a value in the text. A result without a name, for example of an op that another op made to
    compute with, has the name of its op.
    """
    if isinstance(value, OpResult):
        name, siblings = f"%{value.name}" if value.name else value.owner.name, value.owner.results
        several = len(siblings) > 1 and siblings[0].name == siblings[1].name
        return f"{name}#{value.index}" if several else name
    if isinstance(value, BlockArgument) and value.name is None:
        return f"%arg{value.index}"
    return f"%{value.name}"


def labelled(argument: BlockArgument) -> str:
    """Return the name of an argument in the text, and its name in the source of the program."""
    return name_of(argument) if argument.label is None else f"{name_of(argument)} {argument.label}"


def _constant_bytes(module: Module) -> int:
    """Return the bytes of a program's constants, about half the size of its text."""
    attributes = (value for op in module.walk() for value in (*op.properties.values(), *op.attributes.values()))
    resources = (entry for entries in module.resources.dialect.values() for entry in entries.values())
    return sum(getattr(getattr(attribute, "codes", None), "nbytes", 0) for attribute in attributes) + sum(
        len(entry.data) for entry in resources if isinstance(entry, Blob)
    )


# --- error text -------------------------------------------------------------------------------------------------------

Element = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpError(OpRecord):
    """The effect of one op of a program on the errors of its numbers, over all of its runs.

    ``own_ulp``: the largest distance of its results from the exact function of its operands, in ulp of the exact
    number. ``total_ulp``: the largest distance of its results from those of the exact run, in ulp of the exact number;
    ``relative``: the same relative to the exact number, infinite if that is 0.
    ``effect_ulp``: the contribution of its own errors to the result that `RunErrors.worst` is about, in ulp of that
    result, with its sign; ``share``: the same as a share of the error of that result. Errors are NaN if no error is
    known.

    ``cancelled``: the most leading bits that a sum lost, of its terms as they were computed. The other fields are
    numbers of elements. ``absorbed``: a sum equals one of its terms, although the other is not 0. ``overflowed``: the
    result of finite operands is an infinity, or what the format has in its place. ``flushed``: the result is 0,
    although the exact function of the operands is not. ``unknown``: nothing is known about the exact number.
    ``otherwise``: the exact run decides differently; ``undecided``: it may. ``wrapped``: integers whose type does not
    hold the exact result.
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


class Ranking(list[OpError]):
    """Ops in the order of the errors that they cause, the largest first. Its text is a table."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(f"<pre>{escape(str(self).translate(UNPRINTABLE))}</pre>")

    def lines(self) -> list[str]:
        """Return the table as lines; no lines if there are no ops."""
        rows = [("ulp of it", "share", "own ulp", "total ulp", "line", "op")]
        for one in self:
            share = "" if isnan(one.share) else f"{one.share:.1%}"
            line = "" if one.line is None else str(one.line)
            rows.append((ulps(one.effect_ulp), share, ulps(one.own_ulp), ulps(one.total_ulp), line, one.source))
        return table_lines(rows, right=range(5)) if len(self) else []


@dataclass(frozen=True, slots=True)
class ResultError:
    """The distance of a result of a run from the exact result, at its worst element or at the element that the user
    chose.

    ``name``: ``result[0]``, or ``argument[0]`` for memory. ``element``: the index of the element; None if the result
    has no elements. ``error``: the computed number minus the exact one; ``ulp``: the same in ulp of the exact number;
    both NaN if nothing is known, or if the computed number is not finite. ``relative``: the magnitude of the error
    relative to the exact number. ``radius``: the exact number is known up to this distance. ``unknown``: the number of
    elements about which nothing is known, of ``elements``.
    ``special``: for each of "NaN", "infinite", "poison" and "overflowed" that occurs, the number of such elements and
    the first of them. An infinity does not count if the exact number is the same infinity. A number overflowed if it is
    the largest of its format, and the exact number is an ulp or more away.
    """

    name: str
    type: str
    element: Element | None
    value: float
    exact: float
    error: float
    ulp: float
    radius: float
    relative: float
    elements: int
    unknown: int
    special: tuple[tuple[str, int, Element], ...] = ()


@dataclass(frozen=True, slots=True)
class StoryStep(StepRecord):
    """One step from a result back to the origin of its error. All errors are in ulp of the exact result.

    ``value``: the number that the op computed. ``exact``: the exact number. ``brings``: the contribution of its error
    to the error of the result. ``own``: the part of it that the op itself caused. ``operands``: the name of each
    operand, and the part that comes from it. For an infinity or a NaN these parts are NaN, and ``operands`` are those
    that are infinite or NaN themselves.
    ``radius``: ``exact`` is known up to this distance.
    """

    value: float
    exact: float
    brings: float
    own: float
    operands: tuple[tuple[str, float], ...]
    radius: float = 0.0


def json_record(record: OpError | ResultError | StoryStep) -> dict[str, Any]:
    """Return the fields of a record for JSON, which has no infinities and no NaN: they become None."""

    def finite(value: Any) -> Any:
        if isinstance(value, tuple):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and not isfinite(value) else value

    return {name: finite(value) for name, value in asdict(record).items()}


# --- as text ----------------------------------------------------------------------------------------------------------


def known_text(number: float, radius: float) -> str:
    """Return the text of an exact number with its known digits, at most 17. If these are fewer than 15, a bound of the
    error follows.
    """
    place = ceil(log10(radius)) if radius else -400
    digits = 1 + (floor(log10(abs(number))) if number else place - 1) - place
    if digits >= 17 or not isfinite(number):
        return f"{number:.17g}"
    text = f"{number:.{digits}g}" if digits > 0 else "0"
    if digits >= 15 or number == radius == 0:
        return text
    lacks = radius + abs(number - float(text))
    unit = max(10.0 ** (floor(log10(lacks)) - 1), 5e-324)
    return f"{text} ± {ceil(lacks / unit) * unit:.2g}"


def events(one: ShadowFigures | OpError) -> Iterator[str]:
    """Yield the events of an op other than rounding, such as overflow, as text."""
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
    """Return a text about the errors that a step made; "" if it made none."""
    parts = []
    if found.own.size or found.total.size:
        own, total = map(found.known, (found.own, found.total))
        parts.append(f"error: own {ulps(own)} ulp, in all {ulps(total)} ulp")
    return "; ".join([*parts, *events(found)])


def element_text(element: Sequence[int]) -> str:
    """Return the text of the place of an element; nothing for a scalar."""
    return f" {list(element)}" if element else ""


def result_text(each: ResultError, wider: str = "", chosen: bool = False) -> str:
    """Return a text about the distance of a result from the exact result, or from the result in a wider format.
    ``chosen``: whether the user chose the element, which then may not have the largest error.
    """
    truth = f"in {wider}" if wider else "exactly"
    unknown = f"; nothing is known of {plural(each.unknown, 'element')}" if each.unknown else ""
    head = "".join([f"{each.type}: ", *_special_texts(each)])
    if not isfinite(each.ulp) and isfinite(each.exact):
        at = f"[{', '.join(map(str, each.element))}] " if each.element else ""
        rest = replace(each, special=tuple([row for row in each.special if row[1:] != (1, each.element)]))
        head = "".join([f"{each.type}: ", *_special_texts(rest)])
        return f"{head}{at}is {each.value:.9g}, {truth} {known_text(each.exact, each.radius)}{unknown}"
    if not isfinite(each.ulp):
        whole = "" if each.elements == 1 else " of any element"
        return f"{head}nothing is known of the exact number{whole}"
    if each.ulp == 0:
        others = " otherwise" if each.special else ""
        return f"{head}{f'as in {wider}' if wider else 'exact'}{others}{unknown}"
    at = f" at{element_text(each.element)}" if each.element else ""
    relative = f", relative {each.relative:.2g}" if isfinite(each.relative) else ""
    return (
        f"{head}{'largest ' if each.element and not chosen else ''}error {ulps(each.ulp)} ulp{at}{relative}: "
        f"{each.value:.9g}, {truth} {known_text(each.exact, each.radius)}{unknown}"
    )


def _special_texts(each: ResultError) -> Iterator[str]:
    """Yield texts about the elements that are not finite numbers; they come before the error."""
    for what, count, first in each.special:
        verb = "" if what == "overflowed" else "is " if count == 1 else "are "
        if not first:
            yield f"{verb}{what}; "
        elif count == 1:
            yield f"{list(first)} {verb}{what}; "
        else:
            yield f"{count:,} elements {verb}{what}, the first {list(first)}; "


def story_lines(end: ResultError, story: Sequence[StoryStep], chosen: bool = False) -> Iterator[str]:
    """Yield the steps of an error through the program, from the result back to its origin. ``chosen``: see
    `result_text`.
    """
    yield f"{end.name}: {result_text(end, chosen=chosen)}"
    if not story:
        yield "no op computed it: it is an argument, a constant, or made of integers"
    for step in story:
        place = "" if step.line is None else f"line {step.line}: "
        yield f"{place}{step.source}"
        exact = "unknown" if isnan(step.exact) else known_text(step.exact, step.radius)
        if not isfinite(step.value):
            names = " and ".join(dict.fromkeys(name for name, _ in step.operands))
            yield f"    {step.value:.9g}, exactly {exact}: {f'through {names}' if names else 'of finite operands'}"
            continue
        yield f"    {step.value:.9g}, exactly {exact}: {ulps(step.brings)} ulp of the result"
        through = [f"{ulps(brings)} through {name}" for name, brings in step.operands if brings]
        yield f"    of these {', '.join([f'{ulps(step.own)} by the op itself', *through])}"
