"""Arguments for whole functions: every combination where there are few, else corners and random values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from halfulp.conformance.comparing.inputs import corner_codes, random_codes
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, code_shape, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, Unsupported
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import concrete, runtime_shape
from halfulp.interp.values.value import Value

EXHAUSTIVE_BITS = 16
"""Most bits of all arguments together for which a function is run on every combination."""

DYNAMIC_SIZE = 3
"""Size of a dynamic dimension, and number of elements of an unranked tensor."""


ELEMENT_BYTES = 64
"""Bytes that an element takes during generation: a Python integer, and its places in lists."""


@dataclass(frozen=True)
class Arguments:
    """Tuples of arguments: a column of codes per argument, whose first axis counts the tuples.

    ``exhaustive``: these are all combinations.
    """

    types: tuple[ty.Type, ...]
    columns: tuple[Codes, ...]
    count: int
    exhaustive: bool = False

    def row(self, index: int) -> tuple[Value, ...]:
        """Return one tuple."""
        return tuple(Value(type_, column[index]) for type_, column in zip(self.types, self.columns, strict=True))

    def lanes(self, start: int, stop: int) -> tuple[Value, ...]:
        """Return several tuples of scalars as one tuple of lanes."""
        return tuple(Value(type_, column[start:stop]) for type_, column in zip(self.types, self.columns, strict=True))

    @property
    def scalars(self) -> bool:
        """Tell whether there are arguments, and all are scalars."""
        return bool(self.types) and not any(isinstance(type_, ty.ShapedType) for type_ in self.types)


def given(values: Sequence[Value]) -> Arguments:
    """Return one tuple of arguments."""
    columns = tuple(value.bits[np.newaxis] for value in values)
    return Arguments(tuple(value.type for value in values), columns, 1)


def generated(
    types: Sequence[ty.Type],
    count: int,
    seed: int = 0,
    vscale: int | None = None,
    exhaustive_bits: int = EXHAUSTIVE_BITS,
) -> Arguments:
    """Generate arguments of these types; the same for the same count and seed.

    All combinations, where the arguments have at most ``exhaustive_bits`` bits together, else ``count`` tuples. Dynamic
    dimensions get `DYNAMIC_SIZE`. Raises Unsupported for types without values to generate, LimitExceeded for more
    elements than memory allows.
    """
    shapes = [_shape(type_, vscale) for type_ in types]
    known = tuple(concrete(type_, shape) for type_, shape in zip(types, shapes, strict=True))
    widths = [width_of(ty.element_type(type_)) for type_ in types]
    sizes = [prod(shape) for shape in shapes]
    bits = sum(width * size for width, size in zip(widths, sizes, strict=True))
    tuples = 1 << bits if bits <= exhaustive_bits else count
    if tuples * sum(sizes) * ELEMENT_BYTES > Settings.max_bytes:
        most = Settings.max_bytes // ELEMENT_BYTES
        raise LimitExceeded(
            f"{tuples} tuples of {sum(sizes)} elements are too many to generate: more than {most} in all",
            hint="choose fewer with -n, or give each argument with --input",
        )
    if bits <= exhaustive_bits:
        numbers: list[Sequence[int]] = [
            range(1 << width) for width, size in zip(widths, sizes, strict=True) for _ in range(size)
        ]
        rows = list(product(*numbers))
        count, exhaustive = len(rows), True
    else:
        exhaustive = False
        elements = [ty.element_type(type_) for type_, size in zip(types, sizes, strict=True) for _ in range(size)]
        rng = random.Random(f"{seed} {', '.join(map(str, types))}")
        rows = _rows(elements, count, rng)
    columns = []
    start = 0
    for shape, size, width in zip(shapes, sizes, widths, strict=True):
        codes = [code for row in rows for code in row[start : start + size]]
        columns.append(ints_to_codes(codes, width, (len(rows), *shape)))
        assert columns[-1].shape == code_shape((count, *shape), width)
        start += size
    return Arguments(known, tuple(columns), count, exhaustive)


def _shape(type_: ty.Type, vscale: int | None) -> tuple[int, ...]:
    if element_width(ty.element_type(type_)) is None or isinstance(type_, ty.MemRefType):
        raise Unsupported(f"no values of type '{type_}' can be generated", hint="give each argument with --input")
    shape = runtime_shape(type_, vscale)
    return (DYNAMIC_SIZE,) if shape is None else tuple(DYNAMIC_SIZE if size is None else size for size in shape)


def _rows(elements: Sequence[ty.Type], count: int, rng: random.Random) -> list[tuple[int, ...]]:
    corners = [corners_of(element) for element in elements]
    rows: list[tuple[int, ...]] = []
    if len(corners) < count.bit_length() and prod(map(len, corners)) <= (count + 1) // 2:
        rows = list(product(*corners))
    return rows + [tuple([any_code(element, rng) for element in elements]) for _ in range(count - len(rows))]


@lru_cache(maxsize=512)
def corners_of(element: ty.Type) -> tuple[int, ...]:
    """Return the codes of an element type at which behaviour changes."""
    return tuple(corner_codes(element))


def any_code(element: ty.Type, rng: random.Random) -> int:
    """Return a corner, an ordinary number, or any code."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(corners_of(element))
    return rng.choice(ordinary_codes(element)) if kind < 0.7 else random_codes(element, 1, rng)[0]


@lru_cache(maxsize=512)
def ordinary_codes(element: ty.Type) -> tuple[int, ...]:
    """Return codes of small numbers: eighths of either sign, or small integers."""
    if isinstance(element, ty.FloatType):
        fmt = element.format
        numbers = [Fraction(k, 8) for k in (*range(1, 33), 36, 40, 44, 48, 56, 60, 64, 80, 100, 128)]
        if fmt.signed:
            numbers += [-number for number in numbers]
        return tuple(dict.fromkeys(scalar.from_fraction(fmt, number).code for number in numbers))
    mask = (1 << width_of(element)) - 1
    return tuple(dict.fromkeys(k & mask for k in (*range(1, 17), *range(-16, 0), 31, 42, 64, 100, -42, -100)))
