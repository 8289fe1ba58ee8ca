"""Tables of operands that are computed on demand: any part alone, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, code_shape, ints_to_codes, storage_dtype
from halfulp.interp.dialects.halfulp.blocks import block_request
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.block_quantizing import split

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly over 0 to 1, however many they are."""

CHUNK = 1 << 18
"""Default number of rows that are made at once; it bounds the memory of a large set."""

ENDLESS = 1 << 62
"""The number of rows of a table that has as many as anyone asks for."""


@dataclass(frozen=True)
class Rows:
    """Rows of operand codes. Row ``i`` depends on ``i`` alone, never on what was made before.

    ``widths``: bits of each operand. ``count``: the number of rows. ``make(start, stop)``: the columns of these rows,
    one array of codes per operand. ``period``: parts begin and end at multiples of it; above 1 for types whose
    parameters lie along an axis, where the position of a row within the period is its place in the tensor.
    """

    widths: tuple[int, ...]
    count: int
    make: Callable[[int, int], tuple[Codes, ...]]
    period: int = 1

    def part(self, start: int, stop: int) -> tuple[Codes, ...]:
        """Return the columns of rows ``start`` to ``stop``. Raises ValueError outside the table or the period."""
        if not 0 <= start <= stop <= self.count or start % self.period or stop % self.period:
            raise ValueError(
                f"rows {start} to {stop} are not within {self.count} rows"
                + (f" in groups of {self.period}" if self.period > 1 else "")
            )
        return self.make(start, stop)

    def chunks(self, size: int = CHUNK, start: int = 0, stop: int | None = None) -> Iterator[tuple[Codes, ...]]:
        """Yield the rows from ``start`` to ``stop`` in order, about ``size`` at a time."""
        stop = self.count if stop is None else stop
        step = max(size // self.period, 1) * self.period
        for begin in range(start, stop, step):
            yield self.part(begin, min(begin + step, stop))


def of_lists(columns: Sequence[Sequence[int]], widths: Sequence[int], period: int = 1) -> Rows:
    """Return a table of rows that exist already, given by columns of codes."""
    count = len(columns[0])
    arrays = [ints_to_codes(column, width, (count,)) for column, width in zip(columns, widths, strict=True)]

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        return tuple(array[start:stop] for array in arrays)

    return Rows(tuple(widths), count, make, period)


def of_tuples(rows: Sequence[tuple[int, ...]], widths: Sequence[int]) -> Rows:
    """Return a table of rows that exist already, given row by row."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in widths]
    return of_lists(columns, widths)


def exhaustive(widths: Sequence[int]) -> Rows:
    """Return every combination of codes, the last operand fastest. Raises ValueError above 64 bits together."""
    total = sum(widths)
    if total > LIMB_BITS:
        raise ValueError(f"operands of {total} bits together have too many combinations to enumerate")
    index_type: type[np.uint32] | type[np.uint64] = np.uint32 if total <= 32 else np.uint64

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        # Computed as an array, which wraps around, since 2**32 itself may be the end.
        index: Codes = np.arange(stop - start, dtype=index_type)
        index += index_type(start & int(np.iinfo(index_type).max))
        columns, below = [], total
        for width in widths:
            below -= width
            # A shift by all bits of the dtype is undefined; only an operand of width 0 needs one.
            moved = (index >> index_type(below) if below else index) if width else np.zeros_like(index)
            cut = moved if width == total else moved & index_type((1 << width) - 1)
            columns.append(cut.astype(storage_dtype(width), copy=False))
        return tuple(columns)

    return Rows(tuple(widths), 1 << total, make)


def one_after_another(tables: Sequence[Rows]) -> Rows:
    """Return the rows of several tables of the same widths and period. Raises ValueError if these differ."""
    first = tables[0]
    if any((table.widths, table.period) != (first.widths, first.period) for table in tables):
        raise ValueError("tables of different operands cannot be joined")
    begins = [0]
    for table in tables:
        begins.append(begins[-1] + table.count)

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        parts = [
            table.make(max(start - begin, 0), min(stop - begin, table.count))
            for table, begin in zip(tables, begins, strict=False)
            if begin < stop and start < begin + table.count
        ]
        if not parts:
            return empty(first.widths)
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    return Rows(first.widths, begins[-1], make, first.period)


def empty(widths: Sequence[int]) -> tuple[Codes, ...]:
    """Return columns without rows."""
    return tuple(np.zeros(code_shape((0,), width), storage_dtype(width)) for width in widths)


def blocked(elements: Rows, scales: Rows, size: int, crossed: bool = True) -> Rows:
    """Return rows of an element and a scale, where ``size`` consecutive rows share their scale.

    ``crossed``: every block of elements goes with every scale, and the scale changes fastest; else block k has scale k,
    and there must be as many scales as blocks. If the last block is not full, the first elements fill it. Raises
    ValueError for blocks of no rows.
    """
    if size < 1:
        raise ValueError(f"a block has 1 or more rows, not {size}")
    of_elements = -(-elements.count // size)
    repeats = scales.count if crossed else 1

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        first, last = start // size, stop // size
        if first == last:
            return empty(elements.widths + scales.widths)
        blocks = np.arange(first, last)
        place, turn = np.divmod(blocks, repeats) if crossed else (blocks, blocks)
        begin = int(place[0])
        (made,) = _again_from_the_start(elements, begin * size, (int(place[-1]) + 1) * size)
        by_block = made.reshape(-1, size, *made.shape[1:])[place - begin]
        low, high = int(turn.min()), int(turn.max()) + 1
        (scale,) = scales.make(low, high)
        return by_block.reshape(-1, *made.shape[1:]), np.repeat(scale[turn - low], size, axis=0)

    return Rows(elements.widths + scales.widths, of_elements * repeats * size, make, size)


def repeating(rows: Rows, count: int) -> Rows:
    """Return ``count`` rows of a table, which starts again after its end."""
    if count <= rows.count:
        return Rows(rows.widths, count, rows.make, rows.period)
    return Rows(rows.widths, count, lambda start, stop: _again_from_the_start(rows, start, stop), rows.period)


def spread(rows: Rows) -> Rows:
    """Return the rows of a small table in another order, in which any few consecutive rows come from all parts of the
    table.
    """
    columns, count = rows.make(0, rows.count), rows.count
    step = next(step for step in range(max(int(count * GOLDEN), 1), count + 2) if gcd(step, count) == 1)
    order = np.arange(count, dtype=np.int64) * step % max(count, 1)
    made = tuple(codes[order] for codes in columns)
    return Rows(rows.widths, count, lambda start, stop: tuple(codes[start:stop] for codes in made))


def interleaved(tables: Sequence[Rows], shares: Sequence[int], count: int, unit: int = 1) -> Rows:
    """Return ``count`` rows that are taken in turns from several tables, as evenly as their shares allow. Rows come in
    units of ``unit`` rows. Of ``sum(shares)`` consecutive units, ``shares[k]`` come from table k. Tables start again
    after their end.
    """
    cycle, owner = sum(shares), _owners(shares)
    place = np.empty(cycle, np.int64)  # among the units of its table in a cycle
    for k, share in enumerate(shares):
        place[owner == k] = np.arange(share)
    widths = tables[0].widths

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        if start == stop:
            return empty(widths)
        units = np.arange(start // unit, -(-stop // unit), dtype=np.int64)
        turn, slot = np.divmod(units, cycle)
        made = tuple(np.empty(code_shape((len(units) * unit,), width), storage_dtype(width)) for width in widths)
        for k, table in enumerate(tables):
            mine = np.flatnonzero(owner[slot] == k)
            if not len(mine):
                continue
            first = int(turn[mine[0]] * shares[k] + place[slot[mine[0]]]) * unit
            rows = (mine[:, np.newaxis] * unit + np.arange(unit)).reshape(-1)
            part = repeating(table, first + len(rows)).make(first, first + len(rows))
            for codes, own in zip(made, part, strict=True):
                codes[rows] = own
        begin = start - int(units[0]) * unit
        return tuple(codes[begin : begin + stop - start] for codes in made)

    return Rows(widths, count, make, unit)


def _owners(shares: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the table of each unit of a cycle."""
    turns = sorted((Fraction(2 * turn + 1, share), k) for k, share in enumerate(shares) for turn in range(share))
    return np.array([k for _, k in turns], np.int64)


def turns_in(shares: Sequence[int], count: int, unit: int = 1) -> list[int]:
    """Return for each table the number of its rows among the first ``count`` rows of `interleaved`."""
    whole, rest = divmod(-(-count // unit), sum(shares))
    begun = np.bincount(_owners(shares)[:rest], minlength=len(shares))
    return [(whole * share + int(more)) * unit for share, more in zip(shares, begun, strict=True)]


def _again_from_the_start(rows: Rows, start: int, stop: int) -> tuple[Codes, ...]:
    """Return the rows of a table, which starts again after its end."""
    count, begin = rows.count, start % rows.count
    end = begin + stop - start
    if end <= count:
        return rows.make(begin, end)
    if end - begin < count:
        parts = rows.make(begin, count), rows.make(0, end - count)
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    # All of them, however often: a table may be much smaller than the part.
    places = np.arange(begin, end, dtype=np.int64) % count
    return tuple(codes[places] for codes in rows.make(0, count))


def one_operand(rows: Rows, place: int) -> Rows:
    """Return a table with only the operand number ``place`` of each row."""
    return Rows(rows.widths[place : place + 1], rows.count, lambda start, stop: (rows.make(start, stop)[place],))


# --- scaled -----------------------------------------------------------------------------------------------------------
#
# Operands that belong to one block, drawn together: an element and the scale of its block, or all elements of a block.
#
# Elements and scales that are drawn alone give products and quotients far outside of a narrow format: nearly all
# results are zero or the largest value. Here one of the two operands gets the exponent that brings the result into its
# format. Likewise the elements of a block whose scale comes from the largest of them get exponents near that of the
# first one.

DIVIDES = {"arith.scaling_extf": False, "arith.scaling_truncf": True}
"""The ops; True: the element is divided by its scale."""

_ALONE = 8
"""One element in so many keeps its exponent: infinities, NaN, zeros and results out of range stay among the rows."""


def drawn_together(case: OpCase, rows: Rows) -> Rows:
    """Return the rows of a case of `DIVIDES` (an op on elements with a scale), in which the exponents of an element and
    its scale fit each other. The exponent of a scale depends on the scale alone, so that the rows of a block still
    share their scale. Scales of other formats than f8E8M0FNU, and elements of more than 64 bits, are not changed.
    """
    element, scale, result = map(ty.float_format, (*case.operand_types, case.result_types[0]))
    if element.bits > LIMB_BITS:
        return rows
    low, high = _range(result)
    if DIVIDES[case.op]:
        reached = element.emin - low, element.emax - high
    else:
        reached = low - element.emin, high - element.emax

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        elements, scales = rows.make(start, stop)
        if scale == FORMATS["f8E8M0FNU"]:
            scales = _scales(scales, reached)
        if DIVIDES[case.op]:
            # Elements whose quotients have exponents within the range. The low bits of the fraction decide which ones
            # stay, as good as at random.
            alone = (elements & elements.dtype.type(_ALONE - 1)) == 0
            elements = np.where(alone, elements, _moved(element, elements, _exponents(scale, scales), (low, high)))
        return elements, scales

    return replace(rows, make=make)


class DrawnBlock(NamedTuple):
    """The columns of the elements of one block, their format, and the binades that are quantised to other values than
    zero.
    """

    columns: tuple[int, ...]
    fmt: FloatFormat
    binades: int


def drawn_blocks(function: Operation) -> tuple[DrawnBlock, ...]:
    """Return the blocks of a function's arguments to which halfulp.quantize_blocks is applied. Each element is a
    column.
    """
    found: list[DrawnBlock] = []
    position = 0
    for argument in function.regions[0].blocks[0].arguments:
        shape = ty.static_shape(argument.type)
        columns = np.arange(position, position + prod(shape)).reshape(shape)
        for op in function.walk():
            if op.name == "halfulp.quantize_blocks" and op.operands[0] is argument:
                wanted, source = block_request(op), ty.element_type(argument.type)
                rows = split(columns, (wanted.axis,), (wanted.block,)).reshape(-1, wanted.block).tolist()
                found += [DrawnBlock(tuple(row), ty.float_format(source), _binades(op.results[0].type)) for row in rows]
        position += columns.size
    return tuple(found)


def _binades(type_: ty.Type) -> int:
    result = ty.element_type(type_)
    if not isinstance(result, ty.FloatType):
        return ty.width_of(result) - 1
    low, high = _range(result.format)
    return high - low


def blocks_drawn_together(rows: Rows, blocks: Sequence[DrawnBlock]) -> Rows:
    """Return rows in which the elements of a block have exponents of at most one above that of the first element."""

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        made = list(rows.make(start, stop))
        for columns, fmt, binades in blocks:
            first = made[columns[0]]
            # Some rows stay as they are.
            alone = (first & first.dtype.type(_ALONE - 1)) == 0
            for column in columns[1:]:
                moved = _moved(fmt, made[column], _exponents(fmt, first), (-binades, 1))
                made[column] = np.where(alone, made[column], moved)
        return tuple(made)

    return replace(rows, make=make)


def _exponents(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.int64]:
    """Return the exponents of some codes; subnormals, infinities and NaNs get one near theirs."""
    last = codes[..., -1] if fmt.bits > LIMB_BITS else codes
    shift = (fmt.mantissa_bits + fmt.explicit_integer_bit) % LIMB_BITS
    fields = (last >> last.dtype.type(shift)).astype(np.int64) & (1 << fmt.exponent_bits) - 1
    return np.asarray(fields - fmt.bias)


def _range(fmt: FloatFormat) -> tuple[int, int]:
    """Return the exponents of results, from those that round to zero to those that overflow."""
    return fmt.emin - fmt.mantissa_bits - 1, fmt.emax + 1


def _moved(fmt: FloatFormat, codes: Codes, scales: npt.NDArray[np.int64], range_: tuple[int, int]) -> Codes:
    """Return codes with exponents within a range from others."""
    low, high = range_
    mask = (1 << fmt.exponent_bits) - 1
    drawn = _exponents(fmt, codes) + fmt.bias
    fields = np.clip(scales + low + drawn % (high - low + 1) + fmt.bias, 0, mask - 1)
    kept = codes & codes.dtype.type(~(mask << fmt.mantissa_bits) & fmt.code_mask)
    return np.asarray(kept | fields.astype(codes.dtype) << codes.dtype.type(fmt.mantissa_bits))


def _scales(codes: Codes, range_: tuple[int, int]) -> Codes:
    """Return powers of two with exponents within a range; the first two and the last two codes stay."""
    low, high = max(min(range_), -125), min(max(range_), 126)
    wide = codes.astype(np.int64)
    moved = low + wide % (high - low + 1) + 127
    return np.where((wide < 2) | (wide > 253), codes, moved.astype(codes.dtype))
