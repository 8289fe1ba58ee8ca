"""The stages of a compilation as one self-contained HTML page, without scripts: each beside the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape

from halfulp.conformance.whole_programs.bisection import bisect as bisecting
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.interp.ir.errors import UNPRINTABLE, plural
from halfulp.interp.values.element_layout import spell_value

AROUND = 3
"""Lines that are equal, before and after each change."""

MOST_LINES = 4000
"""The most lines of one stage that are compared."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --quiet: #5a6370; --rule: #d5dae1; --panel: #f6f7f9;
  --old: #fde3e0; --new: #dcf3df; --stop: #a4002b; --fine: #1d6b33; --open: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ed; --paper: #14171b; --quiet: #9aa5b2; --rule: #343b45;
  --panel: #1b1f25; --old: #4b2626; --new: #1f3d27; --stop: #ff8fa3; --fine: #84d39a; --open: #e8c06a; } }
body { margin: 0; padding: 12px 16px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 17px; margin: 0 0 4px; }
p, ul { margin: 4px 0; } .quiet { color: var(--quiet); }
.guilty { color: var(--stop); font-weight: 600; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--rule); } details > summary { padding: 5px 2px; cursor: pointer; }
summary > .no { display: inline-block; min-width: 3ch; color: var(--quiet); }
.DIFFERENT { color: var(--stop); font-weight: 700; } .identical, .unchanged, .first, .refined { color: var(--fine); }
.permitted, .known, .not { color: var(--open); }
table { border-collapse: collapse; width: 100%; table-layout: fixed; background: var(--panel); margin-bottom: 8px; }
td { vertical-align: top; padding: 0 6px; font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
td.no { width: 5ch; text-align: right; color: var(--quiet); user-select: none; }
.old { background: var(--old); } .new { background: var(--new); } .gap td { color: var(--quiet); font-style: italic; }
pre { overflow-x: auto; background: var(--panel); padding: 6px; }
"""


def page(found: Sequence[bisecting.Bisection]) -> str:
    """Return the page of some functions, to be written in UTF-8. It loads nothing but itself."""
    return "\n".join(_page(found)).translate(UNPRINTABLE) + "\n"


def _page(found: Sequence[bisecting.Bisection]) -> Iterator[str]:
    title = f"The stages of {', '.join(f'@{one.function}' for one in found)}"
    yield from (
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
    )
    for one in found:
        yield from _function(one)
    yield "</body></html>"


def _function(found: bisecting.Bisection) -> Iterator[str]:
    yield f"<h1>The stages of @{escape(found.function)}</h1>"
    yield f'<p class="quiet">{plural(len(found.results), "stage")}, {found.compared:,} compared</p>'
    if found.end:
        yield f"<p>Stopped early: {escape(found.end)}</p>"
    for line in bisecting.conclusion(found):
        yield f'<p class="{"guilty" if found.guilty is not None else ""}">{escape(line)}</p>'
    for number, one in enumerate(found.results):
        yield from _stage(found, number, one)


def _stage(found: bisecting.Bisection, number: int, one: bisecting.StageResult) -> Iterator[str]:
    """Yield a stage: closed, unless it is the guilty one."""
    kind = one.judgement.value.split()[0]
    yield (
        f"<details{' open' * (number == found.guilty)}><summary>"
        f'<span class="no">{number}</span> {escape(str(one.stage))} '
        f'<span class="{kind}">{escape(bisecting.judged(one))}</span></summary>'
    )
    yield from (f'<p class="quiet">{escape(note)}</p>' for note in one.notes)
    if one.comparison is not None and one.comparison.examples:
        yield from _example(one.comparison.examples[0][1], len(one.comparison.examples))
    before = "" if one.against is None else found.results[one.against].stage.text
    if one.judgement is bisecting.Judgement.UNCHANGED:
        yield '<p class="quiet">the same text as before</p>'
    elif one.against is None:
        yield f"<pre>{escape(_cut(one.stage.text))}</pre>"
    else:
        yield "<table>"
        yield from _beside(_cut(before).splitlines(), _cut(one.stage.text).splitlines())
        yield "</table>"
    yield "</details>"


def _cut(text: str) -> str:
    """Return the first lines of a text."""
    lines = text.splitlines()
    return (
        text
        if len(lines) <= MOST_LINES
        else "\n".join([*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"])
    )


def _example(example: Counterexample, count: int) -> Iterator[str]:
    yield f"<p>{plural(count, 'input')} with a difference. The first one:</p><ul>"
    yield from (
        f"<li>argument {number}: {escape(spell_value(value, limit=16))}</li>"
        for number, value in enumerate(example.arguments)
    )
    yield "</ul>"


def _beside(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the rows of two texts side by side; of equal lines, only those around changes."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    last = 0
    for group in matcher.get_grouped_opcodes(AROUND):
        skipped = group[0][1] - last
        if skipped:
            yield f'<tr class="gap"><td class="no"></td><td colspan="3">{plural(skipped, "equal line")}</td></tr>'
        for tag, begin, end, start, stop in group:
            for row in range(max(end - begin, stop - start)):
                left, right = begin + row, start + row
                yield (
                    "<tr>"
                    + "".join(
                        (
                            _cells(left, old[left], "" if tag == "equal" else "old")
                            if left < end
                            else "<td></td><td></td>",
                            _cells(right, new[right], "" if tag == "equal" else "new")
                            if right < stop
                            else "<td></td><td></td>",
                        )
                    )
                    + "</tr>"
                )
        last = group[-1][2]
    if last < len(old):
        yield f'<tr class="gap"><td class="no"></td><td colspan="3">{plural(len(old) - last, "equal line")}</td></tr>'


def _cells(number: int, line: str, kind: str) -> str:
    return f'<td class="no">{number + 1}</td><td class="{kind}">{escape(line)}</td>'
