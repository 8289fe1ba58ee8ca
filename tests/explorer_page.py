"""Operate the page of ``halfulp formats --explore`` in a browser, and read what it shows: helpers of its tests."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat

if TYPE_CHECKING:
    from playwright.sync_api import Page


def text(view: Page, selector: str) -> str:
    return " ".join(view.locator(selector).inner_text().split())


def outcome(view: Page) -> str:
    """Return the result that the page shows: code, value, rule."""
    return text(view, "#outcome")


def choose(view: Page, format_: str, number: str, mode: str = "to_nearest_even") -> None:
    view.select_option("#format", format_)
    view.select_option("#mode", mode)
    view.fill("#number", number)


def bits(view: Page) -> str:
    return "".join(view.locator("#bits button").all_inner_texts())


def ask(view: Page, function: str, fmt: FloatFormat, given: list[Any]) -> Any:
    """Return the answer of a function of the page. Text is faster to transfer than the long lists of playwright."""
    whole = f"(text) => JSON.stringify(({function})(...JSON.parse(text)))"
    return json.loads(view.evaluate(whole, json.dumps([fmt.name, given])))


# --- explorer samples -------------------------------------------------------------------------------------------------
#
# Numbers around the values of a format: where rounding changes, for the tests of the page of ``halfulp formats
# --explore``.

_TINY = Fraction(1, 1 << 70)
INSIDE = sorted(
    {Fraction(i, 8) for i in range(8)}
    | {Fraction(i, 4) + _TINY * s for i in range(1, 5) for s in (-1, 1)}
    | {_TINY, Fraction(1, 3), Fraction(2, 3)}
)
"""Parts of the way from a value to the next, its start included: quarters, what is near them, and more."""
BEYOND = [Fraction(1), Fraction(9, 8), Fraction(2), Fraction(5, 2), Fraction(10**9)]
"""The same, beyond the largest value."""


def step(fmt: FloatFormat, magnitude: int) -> tuple[Fraction, Fraction]:
    """Return the value of a magnitude, and the distance to the next one, by the definition of the fields."""
    field, fraction = divmod(magnitude, 1 << fmt.mantissa_bits)
    normal = field > 0 or not fmt.zero
    unit = Fraction(2) ** (max(field, int(fmt.zero)) - fmt.bias - fmt.mantissa_bits)
    return (fraction + (normal << fmt.mantissa_bits)) * unit, unit


def around(fmt: FloatFormat, magnitudes: Iterable[int]) -> Iterator[tuple[int, Fraction, Fraction]]:
    """Positive numbers at and after magnitudes: the magnitude, the part of the way, the number. No zeros."""
    for magnitude in magnitudes:
        value, unit = step(fmt, magnitude)
        for part in [*INSIDE, *BEYOND] if magnitude == fmt.max_magnitude else INSIDE:
            if part < 1 or magnitude == fmt.max_magnitude:
                number = value + unit * part
                if number:
                    yield magnitude, part, number


def places(fmt: FloatFormat, count: int, seed: int = 0) -> list[int]:
    """Return magnitudes: all of them up to ``count``, otherwise the ends of all regions, and random ones."""
    if fmt.max_magnitude < count:
        return list(range(fmt.max_magnitude + 1))
    draw = random.Random(f"{fmt.name} {seed}")
    normal, largest = fmt.min_normal_magnitude, fmt.max_magnitude
    ends = {0, 1, 2, largest - 2, largest - 1, largest}
    ends |= {magnitude for magnitude in range(normal - 3, normal + 4) if 0 <= magnitude <= largest}
    # Random exponents, and random bits of the whole magnitude, so that small ones are not rare.
    drawn = {draw.randrange(largest >> draw.randrange(largest.bit_length()) or 1) for _ in range(count)}
    return sorted(ends | drawn)


def code_at(fmt: FloatFormat, sign: int, magnitude: int) -> int:
    """Return the code of a magnitude, -0 as 0 where there is none."""
    return scalar.with_sign(fmt, sign if magnitude or fmt.has_negative_zero else 0, fmt.from_magnitude(magnitude))
