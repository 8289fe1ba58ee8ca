"""Values as HTML for notebooks: a table of elements with their codes and the origins of poison."""

from __future__ import annotations

from html import escape
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.display import code, fragment, table, title
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.spelling import hexadecimal, value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.element_layout import code_layout
from halfulp.interp.values.natural_arrays import natural_array
from halfulp.interp.values.spelling import Spelled, spell_element
from halfulp.semantics.poison import Origin, Origins

MOST_ELEMENTS, MOST_SHOWN = 64, 8
"""The most elements that are all shown; of a larger value so many first ones, and a summary."""
_LINE, _CHARACTER, _PADDING, _VALUE = 530, 7.3, 17, 15
"""Pixels of a line, of a character, and around each cell; characters of a value."""
MOST_ORIGINS = 5


class Shown(Spelled, Protocol):
    """The parts of a `Value` that its table shows."""

    origins: Origins | None

    @property
    def element_type(self) -> ty.Type:
        """The type of one element."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements."""

    @property
    def poisoned(self) -> npt.NDArray[np.bool_]:
        """The bool mask of poisoned elements."""

    def origin(self, *index: int) -> Origin | None:
        """Return the origin of the poison of one element."""


def value_html(value: Shown) -> str:
    """Show a value: its type and its elements with their codes, hatched where poison; a large one as a summary."""
    element = value.element_type
    width = element_width(element)
    if width is None or len(code_layout(element)[1]) > 1:
        return fragment(title(str(value.type)), f"<p>{escape(repr(value))}</p>")
    shape = value.shape
    size = int(np.prod(shape, dtype=np.int64))
    large = size > MOST_ELEMENTS
    parts = [title(str(value.type))]
    if size == 0:
        return fragment(*parts, "<p>no elements</p>")
    if large:
        parts.append(table(_summary(value, size), named=True))
    places = list(np.ndindex(shape) if not large else (np.unravel_index(k, shape) for k in range(MOST_SHOWN)))
    fitting = max(1, int(_LINE // (max(_VALUE, len(hexadecimal(0, width))) * _CHARACTER + _PADDING)))
    columns = min(shape[-1], fitting) if shape and not large else fitting
    rows = []
    for start in range(0, len(places), columns):
        # A row of the value that is longer than the table goes on in the next one.
        row = places[start : start + columns]
        rows.append(
            [code(str([int(k) for k in row[0]])) if shape else "", *(_cell(value, place, width) for place in row)]
        )
    parts.append(table(rows, named=True))
    if large:
        parts.append(f"<p>the first {MOST_SHOWN} of {size:,} elements</p>")
    parts.append(_origins(value))
    return fragment(*parts)


def _cell(value: Shown, place: tuple[Any, ...], width: int) -> str:
    origin = value.origin(*place)
    if origin is not None or (value.poison is not None and value.poison[place]):
        reason = escape(str(origin or "unknown origin"), quote=True)
        return f'<td class="poison" title="{reason}">poison</td>'
    bits = _code_at(value, place, width)
    return f'<td class="short">{escape(_element(value.element_type, bits))}<br>{code(hexadecimal(bits, width))}</td>'


def _code_at(value: Shown, place: tuple[Any, ...], width: int) -> int:
    return codes_to_ints(np.asarray(value.bits[place]).reshape((1, *value.bits.shape[len(place) :])), width)[0]


def _element(element: ty.Type, bits: int) -> str:
    return value_text(element.format, bits, 20) if isinstance(element, ty.FloatType) else spell_element(element, bits)


def _origins(value: Shown) -> str:
    """List the origins of the poison, which each element also shows on hover."""
    if value.poison is None or value.origins is None:
        return ""
    counts = dict(zip(*np.unique(value.poison[value.poison != 0], return_counts=True), strict=True))
    rows = [(f"{count:,}", escape(str(value.origins[int(origin)]))) for origin, count in counts.items()]
    more = [(f"{len(rows) - MOST_ORIGINS:,} more", "")] if len(rows) > MOST_ORIGINS else []
    return table([*rows[:MOST_ORIGINS], *more], ("poisoned", "because"))


def _summary(value: Shown, size: int) -> list[tuple[str, str]]:
    rows = [("elements", f"{size:,}")]
    poisoned = value.poisoned.ravel()
    numbers = _as_doubles(value)
    if numbers is not None:
        finite = np.isfinite(numbers) & ~poisoned
        for name, best in (("smallest", np.argmin), ("largest", np.argmax)):
            if finite.any():
                at = int(np.flatnonzero(finite)[best(numbers[finite])])
                place = np.unravel_index(at, value.shape)
                width = width_of(value.element_type)
                bits = _code_at(value, place, width)
                where = [int(k) for k in place]
                text = f"{escape(_element(value.element_type, bits))} {code(hexadecimal(bits, width))} at {where}"
                rows.append((name, text))
        rows.append(("NaN", f"{int((np.isnan(numbers) & ~poisoned).sum()):,}"))
        rows.append(("infinite", f"{int((np.isinf(numbers) & ~poisoned).sum()):,}"))
    if poisoned.any():
        rows.append(("poison", f"{int(poisoned.sum()):,}"))
    return rows


def _as_doubles(value: Shown) -> npt.NDArray[np.float64] | None:
    """Return the elements as flat float64, to find the smallest and largest; None for integers wider than 64 bits."""
    element = value.element_type
    if isinstance(element, ty.FloatType):
        double = FORMATS["f64"]
        codes = value.bits if element.format == double else fast.convert(element.format, double, value.bits).codes
        return np.asarray(codes).reshape(-1).view(np.float64)
    array = natural_array(element, value.bits)
    return None if array.dtype == object else array.reshape(-1).astype(np.float64)
