"""The elementary functions of the page: where the exact result of every code of a format of up to 8 bits lies.

The page computes no function. `function_tables` finds the place of each result from results that halfulp rounded to
f64, downward and upward. A number between them rounds to the small format as the exact result does, for the midpoints
of small formats are f64s. The page then looks the rounding up in the tables that it has for numbers. Results that are
no such number (NaN, infinities, zeros, what an unsigned format does not hold) are stored as halfulp gave them, by mode.

``functions.json`` holds all of it; ``tests/explorer_functions.py`` writes that file.
"""

from __future__ import annotations

import base64
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from halfulp.explanations.explaining import explain_op
from halfulp.explorer.decisions import regions
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Rounding
from halfulp.number_reader import MODES

FUNCTIONS = (
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "erf",
)
"""The functions of the page: those of hardware units."""
MOST_BITS = 8
"""Formats of more bits have no tables of functions."""
_SPECIAL, _SIGN = 0x80, 0x40
"""Bits of an entry's second byte: the first byte is the number of a special row; the result is negative."""
_F64 = FORMATS["f64"]


def small_formats() -> list[FloatFormat]:
    """Return the formats that have tables of functions."""
    return [fmt for fmt in FORMATS.values() if fmt.bits <= MOST_BITS]


def results_of(name: str, fmt: FloatFormat) -> list[list[tuple[int | None, int]]]:
    """Return the code (None: poison) and the flags of every result of a function, by code and mode."""
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    columns = []
    for mode in MODES.values():
        found = elementary.unary(name, fmt, codes, mode, want_flags=True)
        assert found.flags is not None
        poison = np.zeros(codes.shape, bool) if found.poison is None else found.poison
        columns.append(
            [
                (None if lost else int(code), int(flags))
                for code, flags, lost in zip(found.codes, found.flags, poison, strict=True)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _between(down: int, up: int) -> Fraction | None:
    """Return a number that no value or midpoint of a small format separates from the exact result that f64 rounds so;
    None for NaN, infinities and zeros.
    """
    low, high = scalar.value(_F64, down), scalar.value(_F64, up)
    if low is None or high is None:
        end = high if low is None else low
        return end and 2 * end  # beyond the largest f64
    return (low + high) / 2 or None


def _place(fmt: FloatFormat, number: Fraction) -> tuple[int, int] | None:
    """Return where a number lies: the magnitude before it, and its position there, 0 for the value itself and else one
    more than that of the tables; None below the smallest magnitude.
    """
    size = abs(number)
    values = [scalar.value(fmt, fmt.from_magnitude(m)) or Fraction(0) for m in range(fmt.max_magnitude + 1)]
    below = [m for m, value in enumerate(values) if value <= size]
    if not below:
        return None
    magnitude = below[-1]
    step = Fraction(2) ** scalar.unpack(fmt, fmt.from_magnitude(magnitude)).exponent
    way = (size - values[magnitude]) / step
    if not way:
        return magnitude, 0
    region = next(region for region in regions(fmt) if magnitude <= region.last)
    return magnitude, 1 + sum((4 * way >= cut) + (4 * way > cut) for cut in region.cuts)


def _rules(name: str, fmt: FloatFormat, code: int) -> list[str]:
    """Return what `explain_op` says of a result in each mode, with ``{call}`` for the function of its operand."""
    rules = [explain_op(name, hex(code), type=fmt, rounding=mode).rule for mode in MODES]
    return [re.sub(rf"\b{name}\([^)]*\)", "{call}", rule) for rule in rules]


def function_tables() -> dict[str, Any]:
    """Compute all tables: of each format the entries (two bytes each, by function and code), and its special rows: code
    (null: poison), flags and the number of a rule for each mode, or once for all of them.
    """
    rules: dict[str, int] = {}
    formats = {}
    for fmt in small_formats():
        special: dict[tuple[tuple[int | None, int, int], ...], int] = {}
        entries = bytearray()
        codes = np.arange(1 << fmt.bits, dtype=np.uint8)
        for name in FUNCTIONS:
            ends = [
                elementary.unary(name, fmt, codes, mode, dst=_F64).codes
                for mode in (Rounding.DOWNWARD, Rounding.UPWARD)
            ]
            for code, results in enumerate(results_of(name, fmt)):
                number = _between(*(int(end[code]) for end in ends))
                place = None
                if number is not None and (fmt.signed or number > 0):
                    place = _place(fmt, number)
                if number is not None and place is not None:
                    magnitude, position = place
                    entries += bytes([magnitude, position | (_SIGN if number < 0 else 0)])
                    continue
                said = _rules(name, fmt, code)
                rows = [
                    (result, flags, rules.setdefault(rule, len(rules)))
                    for (result, flags), rule in zip(results, said, strict=True)
                ]
                alike = all(a == b for a, b in pairwise(rows))
                row = tuple(rows[:1] if alike else rows)
                entries += bytes([special.setdefault(row, len(special)), _SPECIAL])
        formats[fmt.name] = {"entries": base64.b64encode(entries).decode(), "special": list(special)}
    return {"functions": FUNCTIONS, "rules": list(rules), "formats": formats}
