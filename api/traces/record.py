"""A trace: a run with its steps, the ops that ran and the poison that was born; as text, page, picture and files.

Text from the program reaches the page as JSON and is inserted as text: none of it is read as HTML.
"""

from __future__ import annotations

import json
import os
import weakref
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from html import escape
from importlib.resources import files
from itertools import islice
from math import ceil, floor, log10
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.files import replaced, temporary_name
from halfulp.fp_formats.spelling import shortened
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import UNPRINTABLE, HalfulpError, InputError, Unsupported, plural
from halfulp.interp.ir.operations import SSAValue
from halfulp.interp.values.value import Value
from halfulp.measuring.metrics import Metric
from halfulp.release import VERSION
from halfulp.semantics import SEMANTICS_VERSION
from halfulp.semantics.kernel import Origin, Origins
from halfulp.traces.error_text import Site, step_text
from halfulp.traces.steps import Step, birth_text, is_unwritten, listed_births
from halfulp.traces.values import MOST_SHOWN, TracedValue, look_at, summary
from halfulp.traces.views import as_text, events, node_data

if TYPE_CHECKING:
    from halfulp.traces.error_report import RunErrors
    from halfulp.traces.error_text import Ranking, StoryStep


@dataclass(eq=False, repr=False)
class Trace:
    """The record of a run. Print it, or show it in a notebook; `html` returns it as a page, and `save_npz` writes its
    values to a folder.

    ``function``: the function that was called.
    ``profile``: the profile of the run.
    ``profiles``: the profiles of functions that ran under a different profile because of their attributes.
    ``mma``: the model of matrix units.
    ``arguments``: the arguments of the function.
    ``steps``: the kept steps: the first ones, the last ones, and some between them in which poison first appeared.
    ``rows``: the number of steps.
    ``executed``: the number of ops that ran.
    ``results``: the results of the run; none if ``error`` stopped it.
    ``lines``: the lines of the source that are shown; the first one has the number ``first_line``.
    ``function_line``: the line of the function, or None.
    ``sites``: the ops that ran.
    ``errors``: the errors of the results, for a run with ``shadow=True``.
    """

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
    function_line: int | None = None
    sites: list[Site] = field(default_factory=list)
    errors: RunErrors | None = None

    def __str__(self) -> str:
        results = [f"result[{k}]: {summary(value)}".translate(UNPRINTABLE) for k, value in enumerate(self.results)]
        return "\n".join([*step_lines(self), *results, *(() if self.errors is None else self.errors.lines())])

    def __repr__(self) -> str:
        ended = "" if self.error is None else f", stopped by {type(self.error).__name__}"
        return f"<Trace of {self.function}: {self.executed} ops{ended}>"

    def _repr_html_(self) -> str:
        # The first and the last steps: HTML without scripts.
        steps = self.steps
        if len(steps) > 2 * _IN_NOTEBOOK:
            steps = [*steps[:_IN_NOTEBOOK], *steps[-_IN_NOTEBOOK // 2 :]]
        rows = [row for missing, step in self.gaps(steps) for row in (_missing(missing), _row(step))]
        style = "border-left:4px solid #d3304f;padding-left:6px;font-weight:600" if self.error is not None else ""
        table = (
            f'<div><b>{escape(_title(self))}</b><table style="font-family:monospace;border-collapse:collapse">'
            f"{''.join(rows)}</table>{_errors(self)}"
            f'{escape(unlisted(self))}<div style="{style}">{escape(ending(self))}</div></div>'
        )
        return _whole(table)

    def html(self) -> str:
        """Return a self-contained page: one file that needs no other file."""
        template = files(__package__).joinpath("trace.html").read_text(encoding="utf-8")
        # "<" cannot end the script element then, or begin a comment in it.
        data = json.dumps(_data(self), separators=(",", ":")).replace("<", "\\u003c")
        head, _, rest = template.partition("@TITLE@")
        middle, _, rest = rest.partition("@ERRORS@")
        last, _, tail = rest.partition("@DATA@")
        return f"{head}{_whole(escape(_title(self)))}{middle}{_whole(_errors(self))}{last}{data}{tail}"

    def annotated(self) -> str:
        """Return the program with a comment behind the line of each op that ran: its results, or the operands of an op
        without results, new poison, and the errors in ulp of a run with shadows.

        The text is MLIR, and all ops keep their places. Raises Unsupported for a program that has no text, such as
        bytecode with more than 16 MiB of constants.
        """
        if not self.lines:
            raise Unsupported("the program has no text to annotate", hint="write the trace without it, or with --html")
        return "\n".join(annotated_lines(self))

    def node_data(self) -> str:
        """Return a file of node data for Model Explorer: the largest error of each op in ulp, with colours. Open the
        program there, and then this file.

        Raises ValueError for a trace without shadows.
        """
        return as_text(node_data(self._report().by_op()))

    def perfetto(self) -> str:
        """Return the steps as trace events of JSON, which ui.perfetto.dev and chrome://tracing open: a slice for each
        op with its values, instant events for poison, and the errors in ulp of a run with shadows. Time counts steps.
        """
        title = f"{self.function} ({self.file}), {self.numerics}"
        return as_text(events(self.steps, self.rows, title, self.function))

    def worst(self, count: int = 5, *, metric: Metric = "ulp") -> Ranking:
        """Return the ops whose own errors contribute most to the result with the largest error.

        ``metric``: which error is the largest: in ulp of the exact number ("ulp"), absolute ("absolute") or relative to
        the largest number of its result ("relative"); "sqnr" takes the largest error of the result with the least SQNR.
        The contributions of the ops are in ulp.

        Raises ValueError for a trace without shadows, InputError for a metric that does not exist, LimitExceeded for a
        run of more numbers than its history keeps.
        """
        return self._report().worst(count, metric)

    def explain_error(self, result: int | str = 0, element: tuple[int, ...] | None = None) -> list[StoryStep]:
        """Return the steps from an element of a result back to the ops that caused its error.

        ``result``: its number, or a name such as ``argument[1]`` for memory; ``element``: its index; by default, that
        of the element with the largest error. Raises ValueError for a trace without shadows, InputError for a result or
        element that the run does not have, Unsupported if nothing is known about the exact number, LimitExceeded.
        """
        return self._report().explain(result, element)

    def timeline(self) -> Timeline:
        """Return a picture of the errors over the kept steps: the own errors of the ops, the errors of their results,
        and other events.

        Raises ValueError for a trace without shadows.
        """
        self._report()
        return Timeline(timeline(self.steps))

    def _report(self) -> RunErrors:
        if self.errors is None:
            raise ValueError("the trace has no shadows: call hu.trace(..., shadow=True)")
        return self.errors

    def save_npz(self, directory: str | os.PathLike[str]) -> None:
        """Write the values that the trace keeps: ``values.npz`` with raw codes, and ``index.json``.

        Large values are in it if the trace was made with ``keep=True``. Raises InputError.
        """
        with Archive(directory) as archive:
            archive.finish(self)

    @property
    def numerics(self) -> str:
        """Return a text with the profile and, if it is not the default, the model of matrix units."""
        return f"profile {self.profile}" + (f", matrix units {self.mma}" if self.mma != "exact" else "")

    def births(self) -> Mapping[tuple[str, str, str], int]:
        """Return the number of the step in which poison first appeared, for each op, place and reason."""
        first: dict[tuple[str, str, str], int] = {}
        for step in self.steps:
            for birth in step.births:
                first.setdefault((birth.origin.op, birth.origin.location, birth.origin.reason), step.number)
        return first

    def gaps(self, steps: Sequence[Step] | None = None) -> Iterator[tuple[int, Step | None]]:
        """Yield the kept steps, or some of them, each with the number of steps that are left out before it. If steps
        are left out at the end, yield None in place of a step.
        """
        number = 0
        for step in self.steps if steps is None else steps:
            yield step.number - number - 1, step
            number = step.number
        if self.rows > number:
            yield self.rows - number, None


# --- text -------------------------------------------------------------------------------------------------------------
#
# A trace as lines of text: the steps in the order in which they ran, each below its line of the source.

_DEEPEST = 20
"""The number of nested calls after which further calls are not indented further."""
_ONE_LINE = 110
"""The most characters of values that are printed on one line."""


def step_lines(trace: Trace) -> Iterator[str]:
    """Yield the trace without the results, and without characters that a terminal takes as commands."""
    return (line.translate(UNPRINTABLE) for line in _lines(trace))


def _lines(trace: Trace) -> Iterator[str]:
    yield f"{trace.function} ({trace.file}), {trace.numerics}"
    yield from (f"in {function}: profile {profile}, by its attributes" for function, profile in trace.profiles.items())
    yield from (f"  {value.name} {value}" for value in trace.arguments)
    births = trace.births()
    digits = len(str(trace.rows))
    places = max((len(str(site.line)) for site in trace.sites if site.line is not None), default=0)
    for missing, step in trace.gaps():
        if missing:
            yield f"{'...':>{digits}} {plural(missing, 'more step')}"
        if step is not None:
            place = f"{step.line}:" if step.line is not None else ""
            head = f"{step.number:>{digits}} {place:>{places + 1}} {'  ' * min(step.depth, _DEEPEST)}"
            yield head + (f"end of {step.op}" if step.ends else step.source)
            yield from (" " * (len(head) + 2) + line for line in _details(step, births))
    yield from filter(None, (unlisted(trace), ending(trace)))


def ending(trace: Trace) -> str:
    """Return the last line: the number of ops that ran, and why the run ended."""
    ran = f"{plural(trace.executed, 'op')} ran"
    return ran if trace.error is None else f"{ran}, then: {trace.error.message}"


def unlisted(trace: Trace) -> str:
    """Return the line about the poison of new tensors and buffers, which the steps do not list; "" if there is none."""
    new = [birth.count for step in trace.steps for birth in step.births if is_unwritten(birth)]
    what = f"{plural(sum(new), 'poison element')} of new tensors and buffers, in {plural(len(new), 'step')}"
    return f"not listed: {what}" if new else ""


def _details(step: Step, births: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    given, made = (_values(values) for values in (step.operands, step.results))
    one_line = " ".join([", ".join(given), *(("->", ", ".join(made)) if made else ())]).strip()
    if len(one_line) <= _ONE_LINE:
        yield from [one_line] if one_line else []
    else:
        yield from given
        yield from (f"-> {text}" for text in made)
    notes = [f"=> {step.where}"] if step.where else []
    notes += [step.lanes_text] if step.lanes_text else []
    if notes:
        yield "; ".join(notes)
    yield from (f"poison born: {birth_text(birth)}" for birth in listed_births(step))
    for origin in poison_sources(step):
        number = births.get((origin.op, origin.location, origin.reason))
        yield f"poison from {'' if number is None else f'step {number:,}: '}{origin_text(origin)}"
    if step.errors is not None and (done := step_text(step.errors)):
        yield done
    if step.undefined:
        yield f"! {step.undefined}"


def annotated_lines(trace: Trace) -> Iterator[str]:
    """Yield the lines of the program, each with a comment about the ops that begin on it, if they ran."""
    shown: dict[Site, Step] = {}
    for step in trace.steps:
        if step.results or step.undefined or not (step.site in shown and shown[step.site].results):
            shown[step.site] = step
    comments: dict[int | None, list[str]] = {trace.function_line: [f"{each.name} {each}" for each in trace.arguments]}
    for site, step in shown.items():
        # What the ops gave is told where they are.
        details = list(_details(replace(step, operands=()) if step.results else step, {}))
        if details and site.runs > 1:
            details.insert(0, f"the last kept of {site.runs:,} runs (step {step.number:,})")
        comments.setdefault(site.line, []).extend(details)
    for number, line in enumerate(trace.lines, trace.first_line):
        # A value or a place may hold the end of a line: it would end the comment.
        comment = " ".join("; ".join(comments.get(number, ())).split()).translate(UNPRINTABLE)
        code = line.removesuffix("\r")
        yield f"{code}  // {comment}{line[len(code) :]}" if comment else line


def poison_sources(step: Step) -> list[Origin]:
    """Return the origins of the poison in a step's results that was born before the step."""
    here = {(birth.origin.location, birth.origin.reason) for birth in step.births}
    origins = dict.fromkeys(origin for value in step.results for origin in value.origins)
    return [origin for origin in origins if (origin.location, origin.reason) not in here]


def _values(values: Sequence[TracedValue]) -> list[str]:
    return list(dict.fromkeys(f"{value.name} {value}" for value in values))


def origin_text(origin: Origin) -> str:
    """Return a text that says at which op poison first appeared, and why."""
    place = f" at {origin.location}" if origin.location else ""
    return f"{origin.reason} ({origin.op}{place})"


# --- page -------------------------------------------------------------------------------------------------------------

_LONGEST_LINE = 1000
_MOST_LINES = 3000
"""The largest number of lines of a source. If a source is longer, only the lines around those that ran are shown."""
_AROUND = 20
_IN_NOTEBOOK = 40
"""The number of first steps in a notebook's table; it has half as many of the last steps."""


_STEP = (
    "number",
    "site",
    "depth",
    "ends",
    "operands",
    "results",
    "births",
    "undefined",
    "where",
    "lanes",
    "from",
    "errors",
)
"""The names of the fields in the row of a step, in this order."""


class _Texts:
    """The distinct texts of a page. Each is stored once, because most values occur several times."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the index of a text among all texts."""
        number = self._numbers.setdefault(text, len(self.all))
        if number == len(self.all):
            self.all.append(text)
        return number


def _errors(trace: Trace) -> str:
    """Return the errors of a run with shadows: a picture, and the report as text. Both are empty for any other run."""
    if trace.errors is None:
        return ""
    picture, report = timeline(trace.steps), escape(str(trace.errors))
    return f'<details class="errors" open><summary>errors</summary>{picture}<pre>{report}</pre></details>'


def _whole(text: str) -> str:
    """Return a text without control characters, and without the surrogates that stand for bytes that were not text."""
    return text.translate(UNPRINTABLE)


def _title(trace: Trace) -> str:
    return f"{trace.function}: {trace.file}"


def _data(trace: Trace) -> dict[str, Any]:
    texts = _Texts()
    births = trace.births()
    numbers = {site: number for number, site in enumerate(trace.sites)}
    runs: dict[int, int] = {}
    born: dict[int, int] = {}
    for site in trace.sites:
        if site.line is not None:
            runs[site.line] = runs.get(site.line, 0) + site.runs
            born[site.line] = born.get(site.line, 0) + site.births
    steps = [
        [
            step.number,
            numbers[step.site],
            step.depth,
            int(step.ends),
            [_value(seen, texts) for seen in step.operands],
            [_value(seen, texts) for seen in step.results],
            [birth_text(birth) for birth in listed_births(step)],
            step.undefined or "",
            step.where,
            step.lanes_text,
            [[births.get((one.op, one.location, one.reason), 0), origin_text(one)] for one in poison_sources(step)],
            "" if step.errors is None else step_text(step.errors),
        ]
        for step in trace.steps
    ]
    own = [f"in {function} {profile}" for function, profile in trace.profiles.items()]
    return {
        "title": _title(trace),
        "function": trace.function,
        "summary": ", ".join(
            filter(None, [trace.numerics, *own, f"{plural(trace.executed, 'op')} ran", unlisted(trace)])
        ),
        "arguments": [_value(seen, texts) for seen in trace.arguments],
        "results": [_value(look_at(f"result[{k}]", value, False), texts) for k, value in enumerate(trace.results)],
        "stopped": "" if trace.error is None else trace.error.message,
        "first": trace.first_line,
        "lines": [[number, text] for number, text in _source(trace, runs)],
        "runs": runs,
        "born": {line: count for line, count in born.items() if count},
        "sites": {
            "fields": ["op", "line", "function", "source"],
            "rows": [[site.op, site.line, site.function, site.source] for site in trace.sites],
        },
        "steps": {
            "fields": _STEP,
            "rows": steps,
        },
        "rows": trace.rows,
        "texts": texts.all,
    }


def _value(seen: TracedValue, texts: _Texts) -> list[int]:
    summary = "" if seen.statistics is None else str(seen.statistics)
    return [
        texts.number(seen.name),
        texts.number(seen.text),
        texts.number(summary) if summary else -1,
        int(seen.poisoned > 0),
    ]


def _source(trace: Trace, runs: dict[int, int]) -> Iterator[tuple[int, str]]:
    wanted = None
    if len(trace.lines) > _MOST_LINES:
        wanted = {number for line in runs for number in range(line - _AROUND, line + _AROUND + 1)}
    for number, text in enumerate(trace.lines, trace.first_line):
        if wanted is None or number in wanted:
            yield number, shortened(text, _LONGEST_LINE)


# --- notebooks --------------------------------------------------------------------------------------------------------

_CELL = "text-align:left;vertical-align:top;padding:1px 8px"
_POISON = "background:repeating-linear-gradient(135deg,rgba(230,140,30,.35) 0 5px,transparent 5px 10px)"


def _missing(count: int) -> str:
    return f'<tr><td></td><td colspan="3"><i>… {plural(count, "more step")}</i></td></tr>' if count else ""


def _row(step: Step | None) -> str:
    if step is None:
        return ""
    source = f"end of {step.op}" if step.ends else step.source
    notes = [f"poison born: {birth_text(birth)}" for birth in listed_births(step)]
    notes += [text for text in (step.where and f"⇒ {step.where}", step.lanes_text, step.undefined) if text]
    place = "" if step.line is None else str(step.line)
    cells = (
        f'<td style="{_CELL};opacity:.6">{step.number}</td>'
        f'<td style="{_CELL};opacity:.6">{place}</td>'
        f'<td style="{_CELL};padding-left:{8 + 16 * min(step.depth, 10)}px;white-space:pre-wrap">{escape(source)}</td>'
        f'<td style="{_CELL}">{_cell(step.operands)}{" → " if step.results else ""}{_cell(step.results)}'
        f"{''.join(f'<br><b>{escape(note)}</b>' for note in notes)}</td>"
    )
    return f"<tr>{cells}</tr>"


def _cell(values: Sequence[TracedValue]) -> str:
    return ", ".join(
        f'<span style="{_POISON if seen.poisoned else ""}">{escape(seen.name)} {escape(str(seen))}</span>'
        for seen in islice(values, 20)
    )


# --- timeline ---------------------------------------------------------------------------------------------------------
#
# The errors of a run as a picture: one SVG, that needs nothing else.

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 22, 34
_MOST_COLUMNS = 330
"""The most columns. If there are more steps, neighbouring steps share a column."""
_FEWEST_DECADES, _MOST_LABELS = 3, 8
_OWN, _TOTAL, _EVENT = "#d97706", "#2563eb", "#dc2626"


class _Column(NamedTuple):
    """The data of a column: the largest own error and total error of its steps in ulp, whether there was an event, and
    the step to which the column links.
    """

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
        """Write the picture to a file, completely or not at all. Raises InputError."""
        write_file(os.fspath(path), self.svg.encode("utf-8"))


def timeline(steps: Sequence[Step]) -> str:
    """Return a picture of the errors of steps, as SVG: for each step its own error and the error of its results, in ulp
    and on a logarithmic scale, and marks for decisions and unknown numbers. It is empty if no step has an error.

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


# --- npz folder -------------------------------------------------------------------------------------------------------
#
# Write the values of a trace to a folder: raw codes in ``values.npz``, and their meaning in ``index.json``.
#
# Values are written while the program runs, each once: an operand is mostly the result of a step before. Both files
# appear when they are complete, the index last.

VALUES, INDEX = "values.npz", "index.json"

Names = tuple[str, str | None]
"""The names of the arrays of a value: its codes, and its poison if it has any."""


class Archive:
    """A folder to which values are written. Raises InputError if that is not possible."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._origins = Origins()
        self._count = 0
        self._names: weakref.WeakKeyDictionary[TracedValue, Names] = weakref.WeakKeyDictionary()
        # Large values by the identity of their codes, while these live; small ones by SSA value, with the content.
        self._large: dict[int, tuple[weakref.ref[Any], Names]] = {}
        self._small: dict[SSAValue, tuple[Any, Names]] = {}
        self._made = False

    def __enter__(self) -> Archive:
        try:
            self._made = not self._directory.exists()
            self._directory.mkdir(parents=True, exist_ok=True)
            self._partial = temporary_name(self._directory / VALUES)
            self._zip = zipfile.ZipFile(self._partial, "x", zipfile.ZIP_STORED, allowZip64=True)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write to {str(self._directory)!r}: {_reason(error)}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with suppress(OSError, ValueError):
            self._zip.close()
        with suppress(OSError):
            self._partial.unlink()
        if error is not None and self._made:
            with suppress(OSError):
                self._directory.rmdir()

    def note(self, defined: SSAValue | None, seen: TracedValue, value: Any) -> None:
        """Write a value of a step, unless it was written before. ``defined``: the value in the program."""
        if not isinstance(value, Value) or value.bits.dtype == object:
            return
        if value.bits.size <= MOST_SHOWN:
            poison = None if value.poison is None else value.poison.tobytes()
            content = (value.shape, value.bits.tobytes(), poison)
            known = None if defined is None else self._small.get(defined)
            names = known[1] if known is not None and known[0] == content else self._write(value)
            if defined is not None:
                self._small[defined] = content, names
        else:
            key = id(value.bits)
            held = self._large.get(key)
            if held is not None and held[0]() is value.bits:
                names = held[1]
            else:
                names = self._write(value)
                self._large[key] = weakref.ref(value.bits, lambda _: self._large.pop(key, None)), names
        self._names[seen] = names

    def _write(self, value: Value) -> Names:
        self._count += 1
        name = f"v{self._count}"
        self._member(name, value.bits)
        if value.poison is None or value.origins is None:
            return name, None
        self._member(f"{name}.poison", self._origins.adopt(value.poison, value.origins))
        return name, f"{name}.poison"

    def _member(self, name: str, array: npt.NDArray[Any]) -> None:
        try:
            # The date is fixed, so that the same run gives the same bytes.
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            with self._zip.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write {str(self._directory / VALUES)!r}: {_reason(error)}") from None

    def finish(self, trace: Trace) -> None:
        """Write the values that belong to the whole trace, and the index; then rename both files to their final
        names.
        """
        for step in trace.steps:
            for seen in (*step.operands, *step.results):
                self._late(seen)
        for seen in trace.arguments:
            self._late(seen)
        results = [look_at(f"result[{index}]", value, False) for index, value in enumerate(trace.results)]
        for seen, value in zip(results, trace.results, strict=True):
            self.note(None, seen, value)
        index = self._index(trace, results)
        try:
            self._zip.close()
            with replaced(self._directory / INDEX) as file:
                file.write(json.dumps(index, indent=1).encode() + b"\n")
                with suppress(FileNotFoundError):
                    (self._directory / INDEX).unlink()
                self._partial.replace(self._directory / VALUES)
        except OSError as error:
            raise InputError(f"cannot write to {str(self._directory)!r}: {_reason(error)}") from None

    def _late(self, seen: TracedValue) -> None:
        if seen not in self._names and seen.value is not None:
            self.note(None, seen, seen.value)

    # --- the index ---

    def _index(self, trace: Trace, results: Sequence[TracedValue]) -> dict[str, Any]:
        return {
            "halfulp": VERSION,
            "semantics_version": SEMANTICS_VERSION,
            **trace_record(trace, self._value, self._origins.id_of),
            "results": [self._value(seen) for seen in results],
            "poison_origins": [
                {"op": each.op, "location": each.location, "reason": each.reason, "element": list(each.element)}
                for each in self._origins.known()
            ],
        }

    def _value(self, seen: TracedValue) -> dict[str, Any]:
        codes, poison = self._names.get(seen, (None, None))
        return {
            "name": seen.name,
            "type": seen.type,
            "shape": list(seen.shape),
            "codes": codes,
            "poison": poison,
            "poisoned": seen.poisoned,
            "text": str(seen),
        }


def trace_record(
    trace: Trace, value: Callable[[TracedValue], dict[str, Any]], origin: Callable[[Origin], Any]
) -> dict[str, Any]:
    """Return a trace for JSON, without its results. ``value`` and ``origin`` say how values and origins of poison are
    recorded.
    """

    def step_record(step: Step) -> dict[str, Any]:
        return {
            "step": step.number,
            "op": step.op,
            "ends": step.ends,
            "location": step.location,
            "line": step.line,
            "source": step.source,
            "function": step.function,
            "depth": step.depth,
            "lanes": None if step.lanes is None else step.lanes[0],
            "operands": [value(seen) for seen in step.operands],
            "results": [value(seen) for seen in step.results],
            "poison_born": [{"origin": origin(birth.origin), "elements": birth.count} for birth in step.births],
            "undefined": step.undefined,
            "branch": step.branch,
            "trips": step.trips,
            "errors": None if step.errors is None else asdict(step.errors),
        }

    return {
        "profile": trace.profile,
        "profiles": trace.profiles,
        "mma": trace.mma,
        "file": trace.file,
        "function": trace.function,
        "arguments": [value(seen) for seen in trace.arguments],
        "error": None if trace.error is None else trace.error.message,
        "ops_executed": trace.executed,
        "steps_left_out": trace.rows - len(trace.steps),
        "steps": [step_record(step) for step in trace.steps],
        "errors": None if trace.errors is None else trace.errors.as_json(),
    }


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
