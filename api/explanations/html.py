"""Explanations as HTML: bit boxes, a number line, tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from halfulp.explanations.records import ExplainedOp, ExplainedRounding
from halfulp.fp_formats import scalar
from halfulp.fp_formats.display import (
    Tick,
    bit_boxes,
    code,
    fragment,
    number_line,
    short_code,
    short_decimal,
    table,
    title,
)
from halfulp.fp_formats.spelling import (
    binary_text,
    bits_text,
    decimal_text,
    fields_text,
    hex_text,
    number_text,
    value_text,
)
from halfulp.texts import flags_text

POISON = '<td class="poison" title="poison: the result has no value">poison</td>'


def rounding_html(explanation: ExplainedRounding) -> str:
    """Return an explanation as a fragment of HTML."""
    e = explanation
    reading = f" ({escape(e.reading)})" if e.reading else ""
    heading = title(f"{e.given} in {e.format.name}, {e.rounding}, profile {e.profile.name}")
    return fragment(heading, _rounding(e, [("given", escape(e.given) + reading)]))


def op_html(explanation: ExplainedOp) -> str:
    """Return the explanation of an op as a fragment of HTML."""

    e = explanation
    parts = [title(e.title), table([(escape(name), escape(text)) for name, text in e.lines()], named=True)]
    if e.rounding is not None:
        parts.append(_rounding(e.rounding, [], escape(e.rounding.formula)))
    else:
        rows = [(escape(name), POISON if text == "poison" else escape(text)) for name, text in e.result_rows()]
        rows.append(("rule", escape(e.rule)))
        if e.exact is not None and not e.story:
            rows.insert(0, ("exact", escape(number_text(e.exact))))
        if e.profile_rule:
            rows.append(("profile", escape(e.profile_rule)))
        parts += [table(rows, named=True), _profiles(e.profile_rows())]
    if e.total is not None and e.total.shown:
        parts.append(table([("total error", "<br>".join(map(escape, e.total.lines())))], named=True))
    if e.open:
        parts.append(table([("open", escape(e.open))], named=True))
    return fragment(*parts)


def _rounding(e: ExplainedRounding, rows: list[tuple[str, str]], formula: str = "") -> str:

    fmt, result = e.format, e.result
    if e.exact is not None:
        rows.append(("exact", formula + escape(e.exact_text)))
    if e.reasons():
        rows.append(("because", "<br>".join(map(escape, e.reasons()))))
    if result.code is None:
        rows.append(("result", POISON))
    else:
        value = number_text(result.value) if result.value else value_text(fmt, result.code)
        binary = "" if result.value is None else f"<br>{code(binary_text(fmt, result.code))}"
        rows.append(("result", f"<b>{escape(value)}</b>{binary}"))
        rows.append(("code", f"{code(hex_text(fmt, result.code))}, {escape(fields_text(fmt, result.code))}"))
    rows.append(("rule", escape(e.rule)))
    if e.profile_rule:
        rows.append(("profile", escape(e.profile_rule)))
    rows += [("error", "<br>".join(map(escape, e.error_texts()))), ("flags", escape(flags_text(result.flags)))]
    boxes = "" if result.code is None else bit_boxes(fmt, result.code)
    parts = [boxes, table(rows, named=True)]
    if e.exact is not None:
        parts += [_line(e), _neighbours(e)]
    if e.modes:
        head, *modes = e.mode_rows()
        parts.append(table([_poisoned([escape(cell) for cell in row]) for row in modes], head))
    if e.profiles:
        parts.append(_profiles(e.profile_rows()))
    return "".join(parts)


def _poisoned(row: list[str]) -> list[str]:
    return [POISON if cell == "poison" else cell for cell in row]


def _profiles(rows: Sequence[tuple[str, ...]]) -> str:
    head, *groups = rows
    if len(groups) < 2:
        return "<p>All profiles give this.</p>" if groups else ""
    return table([_poisoned([escape(cell) for cell in row]) for row in groups], head)


def _neighbours(e: ExplainedRounding) -> str:
    fmt, rows = e.format, []
    for name, neighbour in (("below", e.below), ("above", e.above)):
        if neighbour is None:
            rows.append((name, "none", "", f"no {'smaller' if name == 'below' else 'larger'} finite value"))
            continue
        bits = (code(hex_text(fmt, neighbour)), code(bits_text(fmt, neighbour)))
        rows.append((name, *bits, escape(value_text(fmt, neighbour))))
    if e.midpoint is not None:
        middle = ("midpoint", "", "", f"{escape(decimal_text(e.midpoint))}<br>{escape(e.midpoint_text())}")
        rows.insert(1, middle)
    return table(rows, ("", "code", "bits", "value"), named=True)


def _line(e: ExplainedRounding) -> str:
    """Draw the number line from the neighbour below to the one above."""
    assert e.exact is not None
    is_value = e.midpoint is None and scalar.value(e.format, scalar.from_fraction(e.format, e.exact).code) == e.exact
    middle = []
    if e.midpoint is not None:
        middle = [Tick(e.midpoint, short_decimal(e.midpoint), "midpoint", real=False)]
    elif is_value:
        middle = [Tick(e.exact, short_decimal(e.exact), "the value itself")]
    left, right = _end(e, e.below, -1, middle), _end(e, e.above, 1, middle)
    description = f"number line: {e.given} lies between {left.value} and {right.value}"
    return number_line([left, *middle, right], e.exact, e.given, e.result.value, description)


def _end(e: ExplainedRounding, neighbour: int | None, side: int, middle: list[Tick]) -> Tick:
    """Return the tick of a neighbour; where there is none, of the place where the next value would be."""
    assert e.ulp is not None
    if neighbour is not None:
        value = scalar.value(e.format, neighbour)
        assert value is not None
        return Tick(value, short_decimal(value), short_code(e.format, neighbour))
    other = scalar.value(e.format, (e.below if side > 0 else e.above) or 0)
    assert other is not None
    start = middle[0].at if middle and e.midpoint is None else other
    return Tick(start + side * e.ulp, "no value here", "beyond the range", real=False)
