"""Tile operations D = A * B + C as vectors: one row is a whole tile, with a column for each element.

The operands of a row follow from its position, as for all other computations. Level ``random`` has uniform bits. Level
``weighted`` has four kinds of rows in turn: numbers near 1; wide ranges of exponents, with zeros and subnormals; rows
with cancellation, in which C cancels the sum of the products in half of the elements except for a few units in the last
place, and products cancel in pairs; and uniform bits.

Scales have no sign bit, as in PTX (ue4m3, ue8m0). In one row of 8 of the level ``weighted``, scales are corners of
their type: `_SCALE_CORNERS` says how many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.refinement import Truth
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import MOST_ELEMENTS, Computed
from halfulp.conformance.vectors.rows import Rows
from halfulp.fp_formats.exact.core import specials_of
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.semantics.matrix_units.chips import MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import Unpublished, multiply_accumulate, rule_of, supports
from halfulp.semantics.profile import SPEC, Profile
from halfulp.semantics.random_sources import uniform

Shape = tuple[int, ...]
Operand = tuple[str, str, Shape]
Places = npt.NDArray[np.intp]

LEVELS = ("random", "weighted")

NEAR, WIDE, CANCELLING, BITS = range(4)
"""The kinds of rows of the level ``weighted``, in turn."""

_SCALES = 3
"""The place of the first scale among the operands."""

_ROW_STREAM, _MIX_STREAM, _CANCEL_STREAM, _CORNER_STREAM = 1 << 20, 1 << 21, 1 << 22, 1 << 23

_CORNER_ROW = 4
"""The rows whose number is this modulo 8 have corners as scales: they are rows of numbers near 1, so that the scales
show in the results.
"""

_SCALE_CORNERS: tuple[tuple[int, Callable[[FloatFormat], int | None]], ...] = (
    (4, lambda fmt: fmt.nan_code),
    (4, lambda fmt: 0 if fmt.zero else None),
    (8, lambda fmt: fmt.max_code),
    (4, lambda fmt: int(fmt.zero)),
    (4, lambda fmt: fmt.min_normal_code),
)
"""Of 32 scales in such a row: so many NaNs, zeros, largest, smallest and smallest normal ones. A corner that a type
lacks, or whose results a model leaves open, and the other scales are drawn as in other rows.
"""


@dataclass(frozen=True)
class TileComputation:
    """A tile operation, computed by a model of `semantics.matrix_units`.

    Columns are a_i_k, b_k_j, c_i_j, for scaled operations scale_a_i_n and scale_b_n_j, and result_i_j; operations on
    several blocks have the number of the block first. Raises Unsupported if a chip's results are not published, and for
    more elements than there can be columns; ValueError for a shape that is not valid.
    """

    operation: TileOp
    model: str = "exact"
    keep_ub: bool = False

    def __post_init__(self) -> None:
        if min(self.operation.shape) < 1 or self.operation.block < 0 or self.operation.blocks < 1:
            raise ValueError(
                f"{self.operation.name} has the shape {self.operation.shape}, {self.operation.blocks} blocks, and "
                f"scales for {self.operation.block} elements: sizes and blocks must be at least 1, elements at least 0"
            )
        columns = sum(math.prod(shape) for _, _, shape in self.operands)
        if columns > MOST_ELEMENTS:
            raise Unsupported(f"{self.operation.name} has {columns} operands; at most {MOST_ELEMENTS} can be columns")
        if not supports(self.model, self.operation):
            raise Unsupported(str(Unpublished(self.model, self.operation.name)))

    @property
    def profile(self) -> Profile:
        """Return `SPEC`: no profile changes what a matrix unit does."""
        return SPEC

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Return the name, the element type and the shape of each operand."""
        return _operands(self.operation)

    @property
    def products(self) -> int:
        """Return the number of products of a row."""
        return math.prod(self.operation.shape) * self.operation.blocks

    @cached_property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """Return the element type of each operand column."""
        return tuple(_type(type_) for _, type_, shape in self.operands for _ in range(math.prod(shape)))

    @property
    def inputs(self) -> tuple[Column, ...]:
        """Return the elements of the operands."""
        return _inputs(self.operation)

    @property
    def outputs(self) -> tuple[Column, ...]:
        """Return the elements of D."""
        return _outputs(self.operation)

    def compute(self, inputs: Chunk) -> Computed:
        """Return the outputs of some rows. Raises Unsupported for operands of which a chip's results are not known."""
        result = self._of_arrays(self.arrays(inputs)).reshape(len(inputs[0]), -1)
        return Computed(tuple(np.ascontiguousarray(result[:, number]) for number in range(result.shape[1])))

    def arrays(self, inputs: Chunk) -> list[Codes]:
        """Return each operand of some rows as an array [rows, *shape]."""
        rows, begin, arrays = len(inputs[0]), 0, []
        for _, type_, shape in self.operands:
            size = math.prod(shape)
            made = np.empty((rows, size), storage_dtype(_width(type_)))
            for number, codes in enumerate(inputs[begin : begin + size]):
                made[:, number] = codes
            arrays.append(made.reshape(rows, *shape))
            begin += size
        return arrays

    def elements(self, inputs: Chunk, rows: Places, outputs: Places, model: str) -> tuple[TileComputation, Chunk]:
        """Return a computation of single elements of D, each as a tile of one element, by another model; and its
        inputs.

        ``rows``, ``outputs``: for each element, its row, and the number of its output column.
        """
        op = self.operation
        a, b, c, *scales = self.arrays(inputs)
        *block, i, j = np.unravel_index(outputs, c.shape[1:])
        at = (rows, *block)
        given = [a[(*at, i)], np.moveaxis(b, -1, -2)[(*at, j)], c[(*at, i, j)][:, np.newaxis]]
        if scales:
            given += [scales[0][rows, i], np.moveaxis(scales[1], -1, -2)[rows, j]]
        one = TileComputation(replace(op, shape=(1, 1, op.shape[2]), blocks=1), model, self.keep_ub)
        return one, tuple(np.ascontiguousarray(array[:, k]) for array in given for k in range(array.shape[1]))

    def _of_arrays(self, arrays: Sequence[Codes], model: str = "") -> Codes:
        try:
            a, b, c, *scales = arrays
            scale_a, scale_b = scales or (None, None)
            return multiply_accumulate(model or self.model, self.operation, a, b, c, scale_a, scale_b)
        except Unpublished as error:
            raise Unsupported(str(error), hint=error.hint) from None

    def truth(self, inputs: Sequence[int], output: int, expected: int, got: int) -> Truth | None:
        """See `Computation.truth`. A matrix unit is judged by its own rule, not by the exact sum."""
        return None

    def source(self) -> dict[str, Any]:
        """Return the operation with all of its fields, and the model."""
        op = self.operation
        told = {each.name: getattr(op, each.name) for each in fields(op) if getattr(op, each.name) != each.default}
        lists = {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
        return {"tile": lists, "mma": self.model}

    def models(self) -> Iterator[str]:
        """Yield the names of the models that compute the operation."""
        yield from (model for model in MODELS if supports(model, self.operation))

    # Operands.

    @cached_property
    def _finite(self) -> bool:
        """Tell whether all operands must be finite, since the model does not say what infinities and NaNs give."""
        rule = rule_of(self.model, self.operation)
        return rule is not None and rule.specials != "all"

    def rows(self, level: str, seed: int, count: int) -> Rows:
        """Return the operands of a level. Raises ValueError for a level that is not in `LEVELS`."""
        if level not in LEVELS:
            raise ValueError(f"tiles have no level {level!r}; choose one of {', '.join(LEVELS)}")

        def make(start: int, stop: int) -> Chunk:
            numbers = np.arange(start, stop)
            arrays = [
                self._operand(place, type_, shape, level, seed, numbers)
                for place, (_, type_, shape) in enumerate(self.operands)
            ]
            if level == "weighted" and len(numbers):
                self._cancel(arrays, seed, numbers)
            flat = (array.reshape(len(numbers), math.prod(array.shape[1:])) for array in arrays)
            return tuple(np.ascontiguousarray(array[:, k]) for array in flat for k in range(array.shape[1]))

        return Rows(tuple(column.width for column in self.inputs), count, make)

    def _operand(self, place: int, type_: str, shape: Shape, level: str, seed: int, numbers: Any) -> Codes:
        size, rows = math.prod(shape), len(numbers)
        start = int(numbers[0]) if rows else 0
        width = _width(type_)
        codes = uniform(seed, place, width, start * size, rows * size).reshape(rows, size)
        if level == "weighted":
            words = uniform(seed, _MIX_STREAM + place, 64, start * size, rows * size).reshape(rows, size)
            of_row = uniform(seed, _ROW_STREAM + place, 64, start, rows)[:, None]
            kinds = (numbers % 4)[:, None]
            made = _windowed(FORMATS[type_], codes, words, of_row, kinds) if type_ in FORMATS else None
            if made is None:
                made = _extreme(width, codes, words)
                codes = np.where(kinds == WIDE, made, codes).astype(codes.dtype)
            else:
                codes = np.where(kinds == BITS, codes, made).astype(codes.dtype)
        if type_ in FORMATS and (self._finite or level == "weighted"):
            special = level == "weighted" and not self._finite
            kept = (numbers % 16 == 15)[:, None] if special else np.zeros((rows, 1), np.bool_)
            codes = np.where(kept, codes, _finite(FORMATS[type_], codes)).astype(codes.dtype)
        if place >= _SCALES:
            codes &= codes.dtype.type(FORMATS[type_].code_mask >> FORMATS[type_].signed)
            if level == "weighted":
                at = np.flatnonzero(numbers % 8 == _CORNER_ROW)
                drawn = uniform(seed, _CORNER_STREAM + place, 64, start * size, rows * size).reshape(rows, size)[at]
                codes[at] = self._with_corners(FORMATS[type_], codes[at], drawn)
        return codes.reshape(rows, *shape)

    def _with_corners(self, fmt: FloatFormat, codes: Codes, words: Codes) -> Codes:
        """Replace some scales by corners of their type."""
        begin, turn = 0, words & np.uint64(31)
        for share, corner in _SCALE_CORNERS:
            code = corner(fmt)
            if code is not None and not (fmt.is_nan(code) and self._finite):
                chosen = (turn >= begin) & (turn < begin + share)
                codes = np.where(chosen, codes.dtype.type(code), codes)
            begin += share
        return codes

    def _cancel(self, arrays: list[Codes], seed: int, numbers: Any) -> None:
        """Let products cancel in pairs, and C cancel the sum of the products, in the rows of that kind."""
        op = self.operation
        if op.d not in FORMATS or op.c != op.d:
            return
        rows = np.flatnonzero(numbers % 4 == CANCELLING)
        if not len(rows):
            return
        fmt = FORMATS[op.d]
        a, b, c = (array[rows] for array in arrays[:3])
        sign = FORMATS[op.b].sign_mask or 0
        pairs = a.shape[-1] // 4 * 2  # half of the products
        a[..., 1:pairs:2] = a[..., 0:pairs:2]
        b[..., 1:pairs:2, :] = b[..., 0:pairs:2, :] ^ b.dtype.type(sign)
        b = np.where(specials(FORMATS[op.b], b), 0, b).astype(b.dtype)
        sums = self._of_arrays([a, b, np.zeros_like(c), *(array[rows] for array in arrays[3:])], "exact")
        size = math.prod(c.shape[1:])
        words = np.stack([uniform(seed, _CANCEL_STREAM, 64, int(numbers[row]) * size, size) for row in rows])
        words = words.reshape(c.shape)
        steps = (words >> np.uint64(8) & np.uint64(7)).astype(np.int64) - 3
        magnitude = (sums & sums.dtype.type(fmt.code_mask >> 1)).astype(np.int64) + steps
        moved = np.clip(magnitude, 0, fmt.max_code).astype(np.uint64)
        negated = moved | (~sums.astype(np.uint64) & np.uint64(fmt.sign_mask or 0))
        half = (words & np.uint64(1) == 0) & ~specials(fmt, sums)
        for array, made in zip(arrays, (a, b, np.where(half, negated, c).astype(c.dtype)), strict=False):
            array[rows] = made


def _type(name: str) -> ty.Type:
    return ty.FloatType(FORMATS[name]) if name in FORMATS else ty.IntegerType(int(name[1:]))


def _width(name: str) -> int:
    return FORMATS[name].bits if name in FORMATS else int(name[1:])


# Other models of an operation have the same columns.


@lru_cache(maxsize=8)
def _operands(op: TileOp) -> tuple[Operand, ...]:
    m, n, _ = op.shape
    k = op.shape[2] if op.order is None else len(op.order)
    blocks = (op.blocks,) if op.blocks > 1 else ()
    found = [("a", op.a, (*blocks, m, k)), ("b", op.b, (*blocks, k, n)), ("c", op.c, (*blocks, m, n))]
    if op.scale:
        found += [("scale_a", op.scale, (m, k // op.block)), ("scale_b", op.scale, (k // op.block, n))]
    return tuple(found)


@lru_cache(maxsize=8)
def _inputs(op: TileOp) -> tuple[Column, ...]:
    return tuple(column for operand in _operands(op) for column in _columns(*operand, Role.OPERAND))


@lru_cache(maxsize=8)
def _outputs(op: TileOp) -> tuple[Column, ...]:
    return tuple(_columns("result", op.d, _operands(op)[2][2], Role.RESULT))


def _columns(name: str, type_: str, shape: Shape, role: Role) -> Iterator[Column]:
    for index in np.ndindex(shape):
        yield Column("_".join([name, *map(str, index)]), _width(type_), type_, role)


def specials(fmt: FloatFormat, codes: Codes) -> Any:
    """Return the mask of infinities and NaNs."""
    found = specials_of(fmt, codes.astype(np.uint64))
    return np.zeros(codes.shape, np.bool_) if found is None else found


def _finite(fmt: FloatFormat, codes: Codes) -> Codes:
    """Replace infinities and NaNs by numbers: a number in the lower half of the exponent field, or zero if NaN is the
    code of -0.
    """
    lower = codes & codes.dtype.type(fmt.code_mask >> (2 if fmt.signed else 1))
    return np.where(specials(fmt, codes), lower, codes).astype(codes.dtype)


def _windowed(fmt: FloatFormat, codes: Codes, words: Codes, of_row: Codes, kinds: Any) -> Codes:
    """Return numbers with the fractions and signs of ``codes``, and exponents from a window: near 1, or anywhere in a
    row.
    """
    most = (1 << fmt.exponent_bits) - 1
    wide = 1 + (of_row & np.uint64(0xFF)).astype(np.int64) % most
    centre = (of_row >> np.uint64(8) & np.uint64(0xFFFF)).astype(np.int64) % (most + 1)
    window = np.where(kinds == WIDE, wide, min(4, most))
    middle = np.where(kinds == WIDE, centre, fmt.bias)
    offset = (words & np.uint64(0xFFFF)).astype(np.int64) % (2 * window + 1) - window
    # The upper half of the fields would overflow in most sums.
    field = np.clip(middle + offset, 0, max(1, most - 2)).astype(np.uint64)
    fraction = codes.astype(np.uint64) & np.uint64((1 << fmt.mantissa_bits) - 1)
    sign = codes.astype(np.uint64) & np.uint64(fmt.sign_mask or 0)
    made = sign | field << np.uint64(fmt.mantissa_bits) | fraction
    zero = words >> np.uint64(60) == 0
    return np.where(zero & fmt.zero, sign if fmt.has_negative_zero else 0, made)


def _extreme(width: int, codes: Codes, words: Codes) -> Codes:
    """Return many of the lowest and highest integers, and of -1, 0 and 1, beside uniform ones."""
    mask = (1 << width) - 1
    corners = np.array([1 << (width - 1), (1 << (width - 1)) - 1, mask, 0, 1 & mask], np.uint64)
    picked = corners[(words >> np.uint64(8)).astype(np.int64) % len(corners)]
    return np.where(words & np.uint64(3) != 0, picked, codes)


def tile_of(source: dict[str, Any]) -> TileComputation:
    """Return the computation of a document's ``source``.

    Raises LookupError, TypeError or ValueError for a malformed document, and what `TileComputation` raises.
    """
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in source["tile"].items()
    }
    return TileComputation(TileOp(**given), source["mma"])
