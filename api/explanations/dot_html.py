"""The explanation of a dot product as HTML: operands, aligned terms with kept and dropped bits, all models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from halfulp.explanations.dot_records import AlignedSum, DotStep, ExplainedDot, rounding_rows, sum_rows
from halfulp.fp_formats.display import code, fragment, table, title

_DIGITS = 10
"""The most digits of a value beside bits."""


def dot_html(explanation: ExplainedDot) -> str:
    """Return an explanation as a fragment of HTML."""
    e = explanation
    notes = [("note", escape(note)) for note in e.notes]
    rows = [(escape(name), escape(text)) for name, text in e.result_rows()]
    steps = [_group(e.group_title(number), group) for number, group in enumerate(e.groups)]
    unpublished = [f"<p>{escape(line)}</p>" for line in e.unpublished_lines()]
    tables = _plain(e.operand_rows()), table([*notes, *rows], named=True)
    return fragment(title(e.title), *tables, *steps, _plain(e.model_rows(), named=False), *unpublished)


def dot_page(explanation: ExplainedDot) -> str:
    """Return an explanation as a self-contained page."""
    heading = escape(explanation.title)
    head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    style = "<style>body{font-family:system-ui,sans-serif;margin:24px}</style>"
    return (
        f'<!doctype html><html lang="en"><head>{head}<title>{heading}</title>{style}</head>'
        f"<body>{dot_html(explanation)}</body></html>\n"
    )


def _plain(rows: Sequence[tuple[str, ...]], named: bool = True) -> str:
    head, *body = rows
    return table([[escape(cell) for cell in row] for row in body], head, named)


def _group(heading: str, group: DotStep) -> str:
    parts = [title(heading)]
    parts += [f"<p>{escape(words)}</p>" for words in group.words]
    for each in group.sums:
        parts += [f"<p>{escape(each.words)}</p>", table(_terms(each), named=True)]
    if group.roundings:
        rows = [[escape(cell) for cell in row] for row in rounding_rows(group.roundings)]
        parts.append(table(rows, named=True))
    return "".join(parts)


def _terms(aligned: AlignedSum) -> Iterator[list[str]]:
    """Yield the rows of a sum; dropped bits are struck out."""
    for label, bits, *rest in sum_rows(aligned, _DIGITS):
        kept, _, dropped = bits.partition("|")
        shown = code(kept) + (f"<del>{code(dropped)}</del>" if dropped else "") if kept else ""
        yield [escape(label), f'<td style="white-space:nowrap">{shown}</td>', *map(escape, rest)]
