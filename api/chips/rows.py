"""Dot products that a unit computed, one in each row, and the results of the models for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import numbers
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, NanEncoding
from halfulp.fp_formats.scalar import INEXACT
from halfulp.fp_formats.spelling import decimal_text, value_text
from halfulp.inputs import ExactNumbers, as_value, numbers_of, taken_as
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.chips import CHIPS, numbers_of_columns
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import BLOCK, Unpublished, multiply_accumulate, terms_at_once


@dataclass(frozen=True)
class Rows:
    """Codes of A and B [rows, K], and of C and D [rows]. ``types``: the types of A, B, C and D."""

    a: Codes
    b: Codes
    c: Codes
    d: Codes
    types: tuple[str, str, str, str]

    def __len__(self) -> int:
        return len(self.d)

    def at(self, which: Any) -> Rows:
        """Return the rows that an index or a mask selects."""
        return Rows(self.a[which], self.b[which], self.c[which], self.d[which], self.types)

    @property
    def length(self) -> int:
        """The number of elements in a row of A."""
        return int(self.a.shape[1])

    def operation(self, k: int = 0) -> TileOp:
        """Return an operation of these types that adds ``k`` products at a time; without ``k``, all products."""
        return TileOp("dot products", *self.types, (1, 1, k or self.length), 1)

    def by(self, model: str | Accumulator, op: TileOp) -> Computed:
        """Return the results that a model gives for the rows. Raises ValueError if the model cannot compute these
        types.
        """
        codes, unknown = np.zeros_like(self.d), np.zeros(len(self), np.bool_)
        step = max(1, BLOCK // terms_at_once(op, self.length))  # so many at a time are done at once
        for start in range(0, len(self), step):
            left = np.arange(start, min(start + step, len(self)))
            while len(left):
                some = self.at(left)
                try:
                    codes[left] = multiply_accumulate(
                        model, op, some.a[:, None, :], some.b[:, :, None], some.c[:, None, None]
                    )[:, 0, 0]
                    break
                except Unpublished as error:
                    unpublished = np.ones(len(left), np.bool_) if error.tiles is None else error.tiles
                    unknown[left[unpublished]] = True
                    left = left[~unpublished]
        return Computed(codes, unknown)


class Computed(NamedTuple):
    """The codes of D that a model computes. ``unknown``: the rows for which the model gives no code."""

    codes: Codes
    unknown: Mask

    def wrong(self, rows: Rows) -> Mask:
        """Return a mask of the rows for which the model gives another result."""
        different: Mask = (self.codes != rows.d) & ~self.unknown
        return different


def rows_of(a: Any, b: Any, c: Any, d: Any, type: Any = None, acc: Any = None) -> Rows:
    """Return the rows that a user gives as `Value`s, arrays, or arrays of codes of an unsigned dtype.

    ``type``: the element type of A and B, or a pair of types, if the arrays do not determine it. ``acc``: the same for
    C and D. C may be None, which stands for +0. Raises InputError for shapes that do not fit together, and for a
    number in D that its type does not have; TypeMismatch for other arrays.
    """
    (of_a, of_b), (of_c, of_d) = pair(type, "type"), pair(acc, "acc")
    x, a_type = _codes(a, of_a, "a")
    y, b_type = _codes(b, of_b, "b")
    results, d_type = _codes(d, of_d, "d")
    _check_exact(d, d_type)
    zeros = np.zeros(results.shape, np.uint8)
    addends, c_type = _codes(zeros, of_c or d_type, "c") if c is None else _codes(c, of_c, "c")
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    addends, results = np.atleast_1d(addends), np.atleast_1d(results)
    if (
        x.shape != y.shape
        or addends.shape != results.shape
        or x.shape[:1] != results.shape
        or x.ndim != 2
        or not x.size
    ):
        shapes = ", ".join(
            f"{name} {array.shape}" for name, array in zip("abcd", (x, y, addends, results), strict=True)
        )
        raise InputError(f"a and b must have the shape [rows, K], c and d the shape [rows]; given are {shapes}")
    return Rows(x, y, addends, results, (a_type, b_type, c_type, d_type))


def pair(given: Any, what: str) -> tuple[Any, Any]:
    """Return a pair of types. ``given``: one type, which is used twice, or two. Raises InputError for another number of
    types.
    """
    if not isinstance(given, (tuple, list)):
        return given, given
    if len(given) != 2:
        raise InputError(f"{what} takes one type or two, but {len(given)} are given")
    return given[0], given[1]


def _codes(given: Any, type: Any, what: str) -> tuple[Codes, str]:
    if type is not None and isinstance(given, np.ndarray) and given.dtype.kind == "u":
        name = str(as_type(type))
        fmt = FORMATS.get(name)
        if fmt is None:
            raise InputError(f"{what}: an array of {given.dtype} must hold codes of a float type, but {type} is given")
        if (given > fmt.code_mask).any():
            place = tuple(int(k) for k in np.argwhere(given > fmt.code_mask)[0])
            raise InputError(
                f"{what}, element {list(place)}: {hex(given[place])} does not fit in the {fmt.bits} bits of {name}"
            )
        return given.astype(fmt.storage_dtype), name
    value = as_value(given, type, what=what)
    name = str(value.element_type)
    if name not in FORMATS:
        raise InputError(f"{what}: the elements are {name}, but must be floats")
    return np.asarray(value.bits), name


def _check_exact(d: Any, type: str) -> None:
    """Raise InputError if results that are numbers of Python are not values of their type: a unit did not give them."""
    if not isinstance(d, (list, tuple, str, int, float, *numbers.TYPES)) or isinstance(d, np.generic):
        return
    taken = taken_as(d, "d")
    given = taken if isinstance(taken, ExactNumbers) else numbers_of(taken)
    fmt = FORMATS[type]
    for place, number in enumerate(given.numbers):
        rounded = numbers.round_to_format(fmt, number)
        if rounded.flags & INEXACT:
            shown = decimal_text(numbers.fraction_of(number) or Fraction(), 24)
            raise InputError(
                f"d, element [{place}]: {shown} is not a value of {type}; the nearest one is "
                f"{value_text(fmt, rounded.code, 24)}",
                hint="a unit gives values of its result type: give its codes, or name the type with acc=…",
            )


def instructions(a: str, b: str, c: str, d: str) -> Iterator[tuple[str, TileOp, str]]:
    """Yield the instructions of all chips for these element types: the chip, the operation, and the rule as text."""
    for chip, rows in CHIPS.items():
        for row in rows:
            if f"{a},{b}" in row.types and f"{c},{d}" in row.results and "" in row.scales:
                for shape in row.shapes:
                    lowest = numbers_of_columns(row.unit, shape.partition("x")[0])[0]
                    m, n, k, *blocks = map(int, shape.replace("*", str(lowest)).removesuffix("B").split("x"))
                    name = f"{row.unit}.m{m}n{n}k{k}.{d}.{a}.{b}.{c}"
                    op = TileOp(name, a, b, c, d, (m, n, k), math.prod(blocks), row.unit)
                    yield chip, op, row.rule.text


def named_instructions(a: str, b: str, c: str, d: str) -> Iterator[tuple[str, TileOp, str]]:
    """Yield the instructions of all chips that multiply one block: a name such as "chip:hopper wgmma K=16", the
    operation, and the rule as text. If several rules of a chip have the same K, the name has M and N, too.
    """
    ours = [each for each in instructions(a, b, c, d) if each[1].blocks == 1]
    rules: dict[str, set[str]] = {}
    names = [f"chip:{chip} {op.unit} K={op.shape[2]}" for chip, op, _ in ours]
    for name, (_, _, rule) in zip(names, ours, strict=True):
        rules.setdefault(name, set()).add(rule)
    for name, (chip, op, rule) in zip(names, ours, strict=True):
        yield name if len(rules[name]) == 1 else f"chip:{chip} {op.unit} {'x'.join(map(str, op.shape))}", op, rule


def hexadecimal(codes: Sequence[int] | Codes) -> list[str]:
    """Return codes in the form that `explain_dot` accepts."""
    return [hex(int(code)) for code in codes]


def hard_rows(types: tuple[str, str, str, str], length: int, count: int, seed: int, special: bool = True) -> Rows:
    """Return rows for which different rules of addition often give different results: terms some binades apart or next
    to each other, terms that cancel, significands of all ones and of a single one, zeros, subnormals, and numbers at
    the ends of the ranges.

    ``special``: a twentieth of the rows has infinities and NaNs, if the types have them. The results are 0.
    """
    dice = np.random.default_rng(seed)
    spread = dice.choice([0, 1, 2, 4, 8, 14, 30], (count, 1))
    a, b, c, d = (FORMATS[name] for name in types)
    middle = dice.integers(max(a.emin, -12), min(a.emax, 12), (count, 1), endpoint=True)
    other = np.clip(dice.integers(-6, 6, (count, 1), endpoint=True), b.emin, b.emax)
    # A tenth of the rows has exponents from the whole ranges, of which half are at the upper ends.
    far, top = dice.random((count, 1)) < 0.1, dice.random((count, 1)) < 0.5
    middle = np.where(far, np.where(top, a.emax, dice.integers(a.emin, a.emax, (count, 1), endpoint=True)), middle)
    other = np.where(far, np.where(top, b.emax, dice.integers(b.emin, b.emax, (count, 1), endpoint=True)), other)
    zeros = dice.choice([0, 0, 0, 0, 0.1, 0.1, 0.6, 1], (count, 1))
    shape = (count, length)
    x = _drawn(a, middle + dice.integers(-spread, spread, shape, endpoint=True), zeros, dice)
    y = _drawn(b, other + dice.integers(-spread // 2, spread // 2, shape, endpoint=True), zeros / 2, dice)
    if length > 1:
        # Some neighbours cancel, or almost.
        pairs = (dice.random((count, length // 2)) < 0.5) & (dice.random((count, 1)) < 0.4)
        first, second = slice(0, length // 2 * 2, 2), slice(1, None, 2)
        x[:, second] = np.where(pairs, x[:, first], x[:, second][:, : length // 2])
        y[:, second] = np.where(pairs, y[:, first] ^ y.dtype.type(b.sign_mask or 0), y[:, second][:, : length // 2])
    below = dice.integers(-30, 5, (count, 1), endpoint=True)
    below = np.where(far & (dice.random((count, 1)) < 0.5), c.emax - middle - other, below)
    z = _drawn(c, middle + other + below, dice.choice([0, 0, 0.3, 0.6], (count, 1)), dice)[:, 0]
    rows = dice.random((count, 1)) < (0.05 if special else 0)
    for fmt, codes in ((a, x), (b, y), (c, z[:, None])):
        ends = [code for code in (fmt.infinity_code, fmt.nan_code) if code is not None]
        if ends:
            put = rows & (dice.random(codes.shape) < 1 / length)
            codes[put] = dice.choice(np.array(ends, codes.dtype), codes.shape)[put] | (
                codes[put] & codes.dtype.type(fmt.sign_mask or 0)
            )
    return Rows(x, y, z, np.zeros(count, d.storage_dtype), types)


def _drawn(fmt: FloatFormat, exponents: Any, zeros: Any, dice: np.random.Generator) -> Codes:
    """Return random codes with these exponents, if the format has them; numbers below its range are subnormal."""
    shape, places = exponents.shape, fmt.mantissa_bits
    ones = (1 << places) - 1
    kind = dice.random(shape)
    mantissa = dice.integers(0, ones, shape, endpoint=True)
    mantissa = np.where(kind < 0.15, 0, np.where(kind < 0.3, ones, np.where(kind < 0.4, 1 & ones, mantissa)))
    field = np.clip(exponents - fmt.emin + 1, 0, fmt.max_code >> places)
    codes = np.minimum(field.astype(np.uint64) << np.uint64(places) | mantissa.astype(np.uint64), fmt.max_code)
    codes = np.where(dice.random(shape) < zeros, 0, codes)
    signs = dice.integers(0, 1, shape, endpoint=True).astype(np.uint64) * np.uint64(fmt.sign_mask or 0)
    if fmt.nan is NanEncoding.NEGATIVE_ZERO:
        signs = np.where(codes == 0, 0, signs)
    return np.asarray((codes | signs).astype(fmt.storage_dtype))
