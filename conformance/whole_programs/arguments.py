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
from halfulp.fp_formats.codes import code_shape, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, Unsupported
from halfulp.interp.run.executor import Limits
from halfulp.interp.values.value import Value, concrete, element_width, runtime_shape
from halfulp.semantics.kernel import Codes

EXHAUSTIVE_BITS = 16
"""Functions whose arguments have no more bits together are run on all of them."""

DYNAMIC_SIZE = 3
"""What a dimension of unknown size is made, and how many elements an unranked tensor gets."""


ELEMENT_BYTES = 64
"""What an element takes while it is made up: a Python integer, and its places in lists."""


@dataclass(frozen=True)
class Arguments:
    """``count`` tuples of arguments: a column of codes per argument, whose first axis counts the tuples.

    ``exhaustive``: they are all there are.
    """

    types: tuple[ty.Type, ...]
    columns: tuple[Codes, ...]
    count: int
    exhaustive: bool = False

    def row(self, index: int) -> tuple[Value, ...]:
        """One tuple."""
        return tuple(Value(type_, column[index]) for type_, column in zip(self.types, self.columns, strict=True))

    def lanes(self, start: int, stop: int) -> tuple[Value, ...]:
        """Several tuples of scalars as one tuple of lanes."""
        return tuple(Value(type_, column[start:stop]) for type_, column in zip(self.types, self.columns, strict=True))

    @property
    def scalars(self) -> bool:
        """Whether there are arguments, and all are scalars."""
        return bool(self.types) and not any(isinstance(type_, ty.ShapedType) for type_ in self.types)


def given(values: Sequence[Value]) -> Arguments:
    """One tuple of arguments."""
    columns = tuple(value.bits[np.newaxis] for value in values)
    return Arguments(tuple(value.type for value in values), columns, 1)


def generated(
    types: Sequence[ty.Type],
    count: int,
    seed: int = 0,
    vscale: int | None = None,
    exhaustive_bits: int = EXHAUSTIVE_BITS,
) -> Arguments:
    """Arguments of these types; the same for the same count and seed.

    All there are, where they have at most ``exhaustive_bits`` bits together, else ``count`` tuples. Dynamic dimensions
    get `DYNAMIC_SIZE`. Raises Unsupported for types whose values cannot be made up, LimitExceeded for so many elements
    that making them up takes more than `Limits().bytes`.
    """
    shapes = [_shape(type_, vscale) for type_ in types]
    known = tuple(concrete(type_, shape) for type_, shape in zip(types, shapes, strict=True))
    widths = [element_width(ty.element_type(type_)) or 0 for type_ in types]
    sizes = [prod(shape) for shape in shapes]
    bits = sum(width * size for width, size in zip(widths, sizes, strict=True))
    tuples = 1 << bits if bits <= exhaustive_bits else count
    if tuples * sum(sizes) * ELEMENT_BYTES > Limits().bytes:
        most = Limits().bytes // ELEMENT_BYTES
        raise LimitExceeded(
            f"{tuples} tuples of {sum(sizes)} elements are too many to make up: more than {most} in all",
            hint="ask for fewer with -n, or give each argument with --input",
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
        raise Unsupported(f"no values of type '{type_}' can be made up", hint="give each argument with --input")
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
    """The codes of an element type where behaviour changes."""
    return tuple(corner_codes(element))


def any_code(element: ty.Type, rng: random.Random) -> int:
    """A corner, an ordinary number, or anything at all."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(corners_of(element))
    return rng.choice(ordinary_codes(element)) if kind < 0.7 else random_codes(element, 1, rng)[0]


@lru_cache(maxsize=512)
def ordinary_codes(element: ty.Type) -> tuple[int, ...]:
    """Codes of small numbers: eighths of either sign, or small integers."""
    if isinstance(element, ty.FloatType):
        fmt = element.format
        numbers = [Fraction(k, 8) for k in (*range(1, 33), 36, 40, 44, 48, 56, 60, 64, 80, 100, 128)]
        if fmt.signed:
            numbers += [-number for number in numbers]
        return tuple(dict.fromkeys(scalar.from_fraction(fmt, number).code for number in numbers))
    mask = (1 << (element_width(element) or 0)) - 1
    return tuple(dict.fromkeys(k & mask for k in (*range(1, 17), *range(-16, 0), 31, 42, 64, 100, -42, -100)))
