"""A trace as one self-contained HTML page, and as a table for notebooks.

Text from the program reaches the page as JSON and is inserted as text: none of it is read as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import islice
from typing import Any

from halfulp.interp.ir.errors import UNPRINTABLE, plural
from halfulp.semantics.kernel import Origin
from halfulp.traces.error_text import step_text
from halfulp.traces.record import Birth, Step, TraceRecord, timeline
from halfulp.traces.values import TracedValue, look_at, summary

# --- text -------------------------------------------------------------------------------------------------------------
#
# A trace as lines of text: the steps in the order in which they ran, each below its line of the source.

_DEEPEST = 20
"""The deepest call that is indented further than the one before."""
_WIDTH = 110
"""The most characters of values that stand together on one line."""


def text_lines(trace: TraceRecord) -> Iterator[str]:
    """Yield the whole trace, without characters that a terminal takes as commands."""
    yield from step_lines(trace)
    yield from (
        f"result[{index}]: {summary(value)}".translate(UNPRINTABLE) for index, value in enumerate(trace.results)
    )


def step_lines(trace: TraceRecord) -> Iterator[str]:
    """Yield the trace without the results."""
    return (line.translate(UNPRINTABLE) for line in _lines(trace))


def _lines(trace: TraceRecord) -> Iterator[str]:
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
    yield ending(trace)


def ending(trace: TraceRecord) -> str:
    """Return the last line: the number of ops that ran, and why no more did."""
    ran = f"{plural(trace.executed, 'op')} ran"
    return ran if trace.error is None else f"{ran}, then: {trace.error.message}"


def _details(step: Step, births: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    given, made = (_values(values) for values in (step.operands, step.results))
    one_line = " ".join([", ".join(given), *(("->", ", ".join(made)) if made else ())]).strip()
    if len(one_line) <= _WIDTH:
        yield from [one_line] if one_line else []
    else:
        yield from given
        yield from (f"-> {text}" for text in made)
    notes = [f"=> {step.where}"] if step.where else []
    notes += [step.lanes_text] if step.lanes_text else []
    if notes:
        yield "; ".join(notes)
    for birth in step.births:
        yield f"poison born: {birth_text(birth)}"
    for origin in poison_sources(step):
        number = births.get((origin.op, origin.location, origin.reason))
        yield f"poison from {'' if number is None else f'step {number:,}: '}{origin_text(origin)}"
    if step.errors is not None and (done := step_text(step.errors)):
        yield done
    if step.undefined:
        yield f"! {step.undefined}"


def poison_sources(step: Step) -> list[Origin]:
    """Return the origins of the poison in a step's results that was born before the step."""
    here = {(birth.origin.location, birth.origin.reason) for birth in step.births}
    origins = dict.fromkeys(origin for value in step.results for origin in value.origins)
    return [origin for origin in origins if (origin.location, origin.reason) not in here]


def _values(values: Sequence[TracedValue]) -> list[str]:
    return list(dict.fromkeys(f"{value.name} {value}" for value in values))


def birth_text(birth: Birth) -> str:
    """Say why poison was born, and in how many elements."""
    element = list(birth.origin.element)
    elements = f" ({plural(birth.count, 'element')}, the first {element})" if element else ""
    return f"{birth.origin.reason}{elements}"


def origin_text(origin: Origin) -> str:
    """Say why and where poison was born."""
    place = f" at {origin.location}" if origin.location else ""
    return f"{origin.reason} ({origin.op}{place})"


# --- page -------------------------------------------------------------------------------------------------------------

_LONGEST_LINE = 1000
_MOST_LINES = 3000
"""The largest number of lines of a source. Of a longer source, only the lines around those that ran are shown."""
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
"""The fields in the row of a step, in this order."""


class _Texts:
    """The distinct texts of a page: most values occur several times."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the place of a text among all texts."""
        number = self._numbers.setdefault(text, len(self.all))
        if number == len(self.all):
            self.all.append(text)
        return number


def page(trace: TraceRecord) -> str:
    """Return the page, to be written in UTF-8. It loads nothing but itself."""
    template = files(__package__).joinpath("trace.html").read_text(encoding="utf-8")
    # "<" cannot end the script element then, or begin a comment in it.
    data = json.dumps(_data(trace), separators=(",", ":")).replace("<", "\\u003c")
    head, _, rest = template.partition("@TITLE@")
    middle, _, rest = rest.partition("@ERRORS@")
    last, _, tail = rest.partition("@DATA@")
    return f"{head}{_whole(escape(_title(trace)))}{middle}{_whole(_errors(trace))}{last}{data}{tail}"


def _errors(trace: TraceRecord) -> str:
    """Return the errors of a run with shadows: a picture, and the report as text. Nothing of another run."""
    if trace.errors is None:
        return ""
    picture, report = timeline(trace.steps), escape(str(trace.errors))
    return f'<details class="errors" open><summary>errors</summary>{picture}<pre>{report}</pre></details>'


def _whole(text: str) -> str:
    """Remove control characters, and the surrogates that stand for bytes that were not text."""
    return text.translate(UNPRINTABLE)


def _title(trace: TraceRecord) -> str:
    return f"{trace.function}: {trace.file}"


def _data(trace: TraceRecord) -> dict[str, Any]:
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
            [birth_text(birth) for birth in step.births],
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
        "summary": ", ".join([trace.numerics, *own, f"{plural(trace.executed, 'op')} ran"]),
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


def _source(trace: TraceRecord, runs: dict[int, int]) -> Iterator[tuple[int, str]]:
    wanted = None
    if len(trace.lines) > _MOST_LINES:
        wanted = {number for line in runs for number in range(line - _AROUND, line + _AROUND + 1)}
    for number, text in enumerate(trace.lines, trace.first_line):
        if wanted is None or number in wanted:
            yield number, text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3]}..."


# --- notebooks --------------------------------------------------------------------------------------------------------

_CELL = "text-align:left;vertical-align:top;padding:1px 8px"
_POISON = "background:repeating-linear-gradient(135deg,rgba(230,140,30,.35) 0 5px,transparent 5px 10px)"


def fragment(trace: TraceRecord) -> str:
    """Return a table of the first and the last steps, for notebooks: HTML without scripts."""
    steps = trace.steps
    if len(steps) > 2 * _IN_NOTEBOOK:
        steps = [*steps[:_IN_NOTEBOOK], *steps[-_IN_NOTEBOOK // 2 :]]
    rows = [row for missing, step in trace._gaps(steps) for row in (_missing(missing), _row(step))]
    style = "border-left:4px solid #d3304f;padding-left:6px;font-weight:600" if trace.error is not None else ""
    table = (
        f'<div><b>{escape(_title(trace))}</b><table style="font-family:monospace;border-collapse:collapse">'
        f"{''.join(rows)}</table>{_errors(trace)}"
        f'<div style="{style}">{escape(ending(trace))}</div></div>'
    )
    return _whole(table)


def _missing(count: int) -> str:
    return f'<tr><td></td><td colspan="3"><i>… {plural(count, "more step")}</i></td></tr>' if count else ""


def _row(step: Step | None) -> str:
    if step is None:
        return ""
    source = f"end of {step.op}" if step.ends else step.source
    notes = [f"poison born: {birth_text(birth)}" for birth in step.births]
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
