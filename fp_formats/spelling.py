"""The text of numbers and codes for people: exact decimals, fractions, powers of two, bit fields; and HTML of them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def decimal_text(number: Fraction, digits: int = 60, cut: int | None = None) -> str:
    """Return the text of a rational number in decimals. It is exact if it has at most ``digits`` digits; else it is cut
    after half as many, and ``...`` follows.

    ``cut``: the number of digits after which a number that is too long is cut, final zeros included.
    """
    if not number:
        return "0"
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    numerator, denominator = decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)
    text = context.divide(numerator, denominator)
    exact = not context.flags[decimal.Inexact]
    if not exact:
        context.prec = cut or max(1, digits // 2)
        text = context.divide(numerator, denominator)
    # A number that is cut has no zeros in place of digits, and few zeros before them.
    plain = (-8 if exact else -5) < text.adjusted() < min(21, context.prec)
    if exact or cut is None:
        text = text.normalize(context)
    mantissa, _, exponent = f"{text:{'f' if plain else 'e'}}".partition("e")
    return mantissa + ("" if exact else "...") + (f"e{exponent}" if exponent else "")


def power_text(number: Fraction) -> str | None:
    """Return the text of a number as an odd integer times a power of two, ``5 * 2^-4``; None for zero, odd integers and
    other numbers.
    """
    numerator, denominator = number.numerator, number.denominator
    if not numerator or denominator & (denominator - 1):
        return None
    power = (numerator & -numerator).bit_length() - denominator.bit_length()
    odd = numerator >> power if power > 0 else numerator
    return f"{odd} * 2^{power}" if power and odd.bit_length() < _MOST_BITS else None


_MOST_BITS = 14_000
"""Integers of more bits are not spelled: from 4,300 digits on, Python refuses to."""


def fraction_text(number: Fraction) -> str:
    """Return the text of a fraction, ``5/16``; as an odd integer times a power of two if that is shorter, in decimals
    if both are too long.
    """
    largest = max(abs(number.numerator), number.denominator)
    if largest < 1 << 64:
        return str(number)
    return power_text(number) or (str(number) if largest.bit_length() < _MOST_BITS else decimal_text(number))


def number_text(number: Fraction) -> str:
    """Return the text of a number in decimals, as a fraction and as an odd integer times a power of two. A form that
    equals another one is left out.
    """
    spellings = (decimal_text(number), fraction_text(number), power_text(number))
    return " = ".join(dict.fromkeys(spelling for spelling in spellings if spelling))


def signed_text(number: Fraction, digits: int = 12) -> str:
    """Return the text of a difference as `decimal_text` does, with a plus sign if it is positive."""
    return ("+" if number > 0 else "") + decimal_text(number, digits)


def hexadecimal(code: int, width: int) -> str:
    """Return the text of a code of ``width`` bits in hexadecimal, with all its digits."""
    return f"0x{code:0{-(-width // 4)}X}"


def hex_text(fmt: FloatFormat, code: int) -> str:
    """Return the text of a code of a format in hexadecimal, with all its digits."""
    return hexadecimal(code, fmt.bits)


_FIELDS = ("sign", "exponent", "integer bit", "significand")


def bit_fields(fmt: FloatFormat) -> dict[str, int]:
    """Return the fields of a code from the top with their widths; fields without bits are left out."""
    widths = (int(fmt.signed), fmt.exponent_bits, int(fmt.explicit_integer_bit), fmt.mantissa_bits)
    return {name: width for name, width in zip(_FIELDS, widths, strict=True) if width}


def split_bits(fmt: FloatFormat, code: int) -> dict[str, str]:
    """Return the binary digits of each field of a code."""
    sign, exponent, significand = fmt.fields(code)
    integer = int(fmt.explicit_integer_bit)
    fields = (sign, exponent, significand[:integer], significand[integer:])
    return {name: field.bin for name, field in zip(_FIELDS, fields, strict=True) if field}


def bits_text(fmt: FloatFormat, code: int) -> str:
    """Return the text of a code in binary, its fields separated by spaces."""
    return " ".join(split_bits(fmt, code).values())


def fields_text(fmt: FloatFormat, code: int) -> str:
    """Return the text of the fields of a code in words: ``sign 0, exponent 0101 (2^-2), significand 010``."""
    x = scalar.unpack(fmt, code)
    notes = {}
    if x.kind == scalar.FINITE:
        subnormal = ", subnormal" if fmt.is_subnormal(code) else ", zero" if not x.significand else ""
        notes["exponent"] = f" (2^{x.exponent + fmt.mantissa_bits}{subnormal})"
    return ", ".join(f"{name} {digits}{notes.get(name, '')}" for name, digits in split_bits(fmt, code).items())


def binary_text(fmt: FloatFormat, code: int) -> str:
    """Return the text of a finite value as sign, binary significand and power of two: ``1.010 * 2^-2``."""
    x = scalar.unpack(fmt, code)
    if not x.significand:
        return "0"
    digits = f"{x.significand:0{fmt.precision}b}"
    point = f"{digits[0]}.{digits[1:]}" if fmt.mantissa_bits else digits
    return f"{'-' if x.sign else ''}{point} * 2^{x.exponent + fmt.mantissa_bits}"


def value_text(fmt: FloatFormat, code: int, digits: int = 80) -> str:
    """Return the text of the value of a code: an exact decimal number, ``inf`` or ``nan``. A number that needs more
    than ``digits`` digits is cut to half as many, which are enough to tell values of f128 apart.
    """
    exact = scalar.value(fmt, code)
    negative = fmt.sign_mask is not None and bool(code & fmt.sign_mask)
    if exact:
        return decimal_text(exact, digits)
    if exact is not None:
        return "-0" if negative else "0"
    if fmt.is_infinite(code):
        return "-inf" if negative else "inf"
    kind = "signalling nan" if fmt.is_signalling(code) else "nan"
    return f"-{kind}" if negative and fmt.nan_has_payload else kind


# --- display ----------------------------------------------------------------------------------------------------------
#
# Tables as lines of text, and HTML for notebooks: tables, bit boxes, number lines, and formats.
#
# All HTML is one fragment: its own ``<style>``, tables, inline SVG. Text has the colour of its page, so that it is
# readable on light and dark pages; marks have colours that colour-blind people can tell apart (Okabe and Ito's). Where
# styles and SVG are removed, as on GitHub, plain tables with the same content remain.

# How the pages of notebooks and documentation say that they are light or dark, whatever the system prefers: JupyterLab,
# VS Code, Colab, Material for MkDocs, and the themes of Sphinx.
_HOSTS = {
    "light": (
        "[data-jp-theme-light=true]",
        ".vscode-light",
        "html[theme=light]",
        "[data-md-color-scheme=default]",
        "[data-theme=light]",
    ),
    "dark": (
        "[data-jp-theme-light=false]",
        ".vscode-dark",
        "html[theme=dark]",
        "[data-md-color-scheme=slate]",
        "[data-theme=dark]",
    ),
}


def themed(selector: str, light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """Return CSS that gives elements the variables of a light or a dark theme. The theme is that of the notebook or
    page; if it has none, that of the system.
    """
    sets = {
        name: "".join(f"--{variable}:{colour};" for variable, colour in colours.items())
        for name, colours in (("light", light), ("dark", dark))
    }
    hosts = {name: ",".join(f"{host} {selector}" for host in places) for name, places in _HOSTS.items()}
    return (
        f"{selector}{{{sets['light']}}}@media (prefers-color-scheme:dark){{{selector}{{{sets['dark']}}}}}"
        f"{hosts['light']}{{{sets['light']}}}{hosts['dark']}{{{sets['dark']}}}"
    )


_LIGHT = {"sign": "#D55E00", "exponent": "#0072B2", "integer": "#CC79A7", "significand": "#009E73"}
_DARK = {"sign": "#E69F00", "exponent": "#56B4E9", "integer": "#CC79A7", "significand": "#2FC79A"}
_MARKS = {"input": "sign", "result": "exponent"}
CSS = (
    f"""
{themed(".hfp", *({**theme, **{mark: theme[field] for mark, field in _MARKS.items()}} for theme in (_LIGHT, _DARK)))}
.hfp{{max-width:600px;font-size:13px;line-height:1.4;overflow-wrap:anywhere}}
"""
    + """\
div.hfp table{border-collapse:collapse;margin:6px 0;border:0;font-size:inherit}
div.hfp th,div.hfp td{text-align:left;vertical-align:top;padding:2px 8px;border:1px solid rgba(128,128,128,.35)}
div.hfp th{font-weight:600}
div.hfp th,div.hfp .short{white-space:nowrap}
div.hfp code{font-size:12px;background:none;color:inherit;padding:0}
div.hfp .bit{text-align:center;padding:2px 5px;font-family:monospace;min-width:9px}
div.hfp .field{text-align:center;font-size:11px;font-weight:400}
div.hfp .sign{background:color-mix(in srgb,var(--sign) 25%,transparent);border-color:var(--sign)}
div.hfp .exponent{background:color-mix(in srgb,var(--exponent) 25%,transparent);border-color:var(--exponent)}
div.hfp .integer{background:color-mix(in srgb,var(--integer) 25%,transparent);border-color:var(--integer)}
div.hfp .significand{background:color-mix(in srgb,var(--significand) 25%,transparent);border-color:var(--significand)}
div.hfp .poison{background:repeating-linear-gradient(45deg,transparent 0 5px,rgba(213,94,0,.35) 5px 8px);cursor:help}
div.hfp svg{display:block;width:100%;height:auto;margin:6px 0}
div.hfp details summary{cursor:pointer}
"""
)


def fragment(*parts: str) -> str:
    """Return parts of HTML, joined, with the style sheet that they need."""
    return f'<div class="hfp"><style>{CSS}</style>{"".join(parts)}</div>'


def table_lines(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Return rows of text as lines with aligned columns. ``right``: the columns that are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [str.rjust if k in right else str.ljust for k in range(len(widths))]
    return [
        "  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def title(text: str) -> str:
    """Return HTML of a heading that says what is shown."""
    return f"<p><b>{escape(text)}</b></p>"


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), named: bool = False) -> str:
    """Return HTML of a table whose cells are HTML. ``head``: the headings of the columns. ``named``: the first cell of
    each row is the heading of the row.
    """
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"] if head else []
    for row in rows:
        first, rest = (f"<th>{row[0]}</th>", row[1:]) if named else ("", row)
        lines.append(f"<tr>{first}{''.join(map(_cell, rest))}</tr>")
    return f"<table>{''.join(lines)}</table>"


_TAG = re.compile(r"<[^>]*>|&")
_SHORT_CELL = 22
"""Cells of up to this many characters are not broken into lines."""


def _cell(content: str) -> str:
    if content.startswith("<td"):
        return content
    short = "<br>" not in content and len(_TAG.sub("", content)) <= _SHORT_CELL
    return f'<td class="short">{content}</td>' if short else f"<td>{content}</td>"


def code(text: str) -> str:
    """Return HTML that shows text in the font of codes."""
    return f"<code>{escape(text)}</code>"


_MOST_BOXES = 16
"""Formats of more bits show each field in one cell."""


def bit_boxes(fmt: FloatFormat, bits: int) -> str:
    """Return HTML that shows the bits of a code as colored boxes, under the names of their fields."""
    names, boxes = [], []
    for name, digits in split_bits(fmt, bits).items():
        kind = name.partition(" ")[0]
        cells = list(digits) if fmt.bits <= _MOST_BOXES else [_grouped(digits)]
        label = name if len(digits) > 2 else _INITIALS[kind]
        names.append(f'<td class="field {kind}" colspan="{len(cells)}" title="{name}">{label}</td>')
        boxes += [f'<td class="bit {kind}">{cell}</td>' for cell in cells]
    return f"<table><tr>{''.join(names)}</tr><tr>{''.join(boxes)}</tr></table>"


_INITIALS = {"sign": "s", "exponent": "e", "integer": "i", "significand": "m"}


def _grouped(digits: str) -> str:
    return " ".join(digits[start : start + 8] for start in range(0, len(digits), 8))


def shortened(text: str, most: int = 40) -> str:
    """Return text cut to at most ``most`` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


# --- number line ------------------------------------------------------------------------------------------------------

_LEFT, _RIGHT, _WIDTH = 70.0, 530.0, 600
_AXIS = 78


@dataclass(frozen=True)
class Tick:
    """A mark below a number line: its position, two lines of text, and whether it is a value of the format."""

    at: Fraction
    value: str
    note: str
    real: bool = True


def number_line(ticks: Sequence[Tick], given: Fraction, label: str, result: Fraction | None, description: str) -> str:
    """Return an SVG picture of a number line for one rounding: up to three ticks, the number that is rounded above the
    line, and an arrow to its result.
    """
    low, high = ticks[0].at, ticks[-1].at

    def place(number: Fraction) -> float:
        # The exact share may be too large for a float.
        share = min(max((number - low) / (high - low), Fraction(-1, 10)), Fraction(11, 10))
        return _LEFT + float(share) * (_RIGHT - _LEFT)

    slots = {1: ((300, "middle"),), 2: ((8, "start"), (592, "end"))}.get(
        len(ticks), ((8, "start"), (300, "middle"), (592, "end"))
    )
    parts = [f'<line x1="10" y1="{_AXIS}" x2="590" y2="{_AXIS}" stroke="currentColor" stroke-opacity=".6"/>']
    for tick, (slot, anchor) in zip(ticks, slots, strict=True):
        x = place(tick.at)
        dashed = "" if tick.real else ' stroke-dasharray="3 3"'
        bend = {"start": min(x, 90.0), "end": max(x, 510.0)}.get(anchor, 300.0)
        parts.append(
            f'<path d="M{x:.1f} {_AXIS - 7}V{_AXIS + 9}L{bend:.1f} {_AXIS + 18}" fill="none" stroke="currentColor"'
            f' stroke-opacity=".6"{dashed}/>'
        )
        if result is not None and tick.at == result and tick.real:
            parts.append(f'<circle cx="{x:.1f}" cy="{_AXIS}" r="6" style="fill:var(--result,#0072B2)"/>')
        for line, text in enumerate((tick.value, tick.note)):
            y = _AXIS + 33 + 15 * line
            parts.append(f'<text x="{slot}" y="{y}" text-anchor="{anchor}">{escape(text)} </text>')
    x = place(given)
    anchor = "start" if x < 200 else "end" if x > 400 else "middle"
    at = min(max(x, 8.0), 592.0)
    parts.append(f'<text x="{at:.1f}" y="16" text-anchor="{anchor}">{escape(shortened(label, 44))} </text>')
    parts.append(
        f'<path d="M{x:.1f} 24V{_AXIS - 12}m-5 -8l5 8l5 -8" style="stroke:var(--input,#D55E00)" stroke-width="2.5"'
        ' fill="none"/>'
    )
    if result is not None and abs(place(result) - x) > 14:
        end = place(result)
        parts.append(
            f'<path d="M{x:.1f} 44Q{(x + end) / 2:.1f} 30 {end:.1f} {_AXIS - 9}" fill="none" stroke-dasharray="5 3"'
            ' style="stroke:var(--result,#0072B2)" stroke-width="2"/>'
        )
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {_WIDTH} 132" role="img" aria-label="{escape(description)}" font-size="11"'
        f' font-family="monospace" fill="currentColor" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


# --- formats ----------------------------------------------------------------------------------------------------------


def format_html(fmt: FloatFormat) -> str:
    """Return HTML that shows a format: its fields, its range, and, up to 8 bits, all its values."""
    zero = "none" if not fmt.zero else "±0" if fmt.has_negative_zero else "+0"
    row = {
        "bits": fmt.bits,
        "sign": int(fmt.signed),
        "exponent": fmt.exponent_bits,
        "mantissa": f"{fmt.mantissa_bits}{' + integer bit' if fmt.explicit_integer_bit else ''}",
        "bias": fmt.bias,
        "infinities": "yes" if fmt.infinities else "no",
        "NaN": fmt.nan.value,
        "zero": zero,
    }
    marks = {"largest": fmt.max_code, "smallest normal": fmt.min_normal_code}
    if fmt.zero and fmt.mantissa_bits:
        marks["smallest subnormal"] = fmt.from_magnitude(1)
    marks |= {n: c for n, c in (("infinity", fmt.infinity_code), ("NaN", fmt.nan_code)) if c is not None}
    ranges = [
        (name, code(hex_text(fmt, bits)), code(bits_text(fmt, bits)), escape(value_text(fmt, bits, 24)))
        for name, bits in marks.items()
    ]
    parts = [
        title(fmt.name),
        table([[escape(str(cell)) for cell in row.values()]], list(row)),
        bit_boxes(fmt, fmt.max_code),
        table(ranges, ("", "code", "bits", "value"), named=True),
    ]
    if fmt.bits <= 8:
        parts.append(f"<details><summary>all {1 << fmt.bits} values</summary>{_all_values(fmt)}</details>")
    return fragment(*parts)


def _all_values(fmt: FloatFormat) -> str:
    columns = 4
    codes = range(1 << fmt.bits)
    rows = [
        [code(hex_text(fmt, start)), *(escape(value_text(fmt, bits, 14)) for bits in codes[start : start + columns])]
        for start in codes[::columns]
    ]
    return table(rows, ["", *(f"+{offset}" for offset in range(columns))], named=True)


FloatFormat._html = format_html


def short_decimal(number: Fraction) -> str:
    """Return the text of a number for a label, in at most 17 digits, which tell the values of f64 apart."""
    return decimal_text(number, 17, 17)


def short_code(fmt: FloatFormat, bits: int) -> str:
    """Return the text of a code in hexadecimal. A long code is shown without its middle digits; neighbouring codes
    differ in the last ones.
    """
    text = hex_text(fmt, bits)
    return text if len(text) <= 18 else f"{text[:9]}...{text[-6:]}"
