"""Accumulators: the type in which sums are computed, with its addition, multiplication and conversions into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask, code_shape, codes_to_ints, element_shape, ints_to_codes, storage_dtype
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.paths.running_sums import has_running_sums, last_running_sum
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import casts, emulated, floats, integer
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Fault, Kernel
from halfulp.semantics.profile import Profile

RNE = Rounding.TO_NEAREST_EVEN

Number = FloatFormat | Reading
"""An element type: a float format, or the width and the sign of an integer."""

# Up to so many lanes, these are faster than a kernel's call for each row.
TABLE_LANES = 256
SCALAR_LANES = 16
TABLE_PAYS = 1 << 12  # elements from which on a table of all additions saves time


def width_of(number: Number) -> int:
    """Return the width of an element's code."""
    return number.bits if isinstance(number, FloatFormat) else number.width


class Faults:
    """The faults of sums: for each lane the first one, with the name of its op."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Fault, Mask]] = []

    def note(self, op: str, faults: tuple[tuple[Fault, Mask], ...], axis: int | None = None) -> None:
        """Add the faults of an outcome. ``axis``: the axis of terms of the masks, whose other axes are lanes."""
        for fault, mask in faults:
            self.found.append((op, fault, np.asarray(mask if axis is None else mask.any(axis=axis))))

    def put(self, found: Faults, lanes: tuple[int, ...], part: tuple[slice, ...]) -> None:
        """Add the faults of some of the lanes."""
        for op, fault, mask in found.found:
            whole = np.zeros(lanes, np.bool_)
            whole[part] = mask
            self.note(op, ((fault, whole),))

    def over(self, lanes: tuple[int, ...]) -> tuple[tuple[str, Fault, Mask], ...]:
        """Return all faults, with masks of this shape."""
        return tuple((op, fault, np.broadcast_to(mask, lanes)) for op, fault, mask in self.found)


@dataclass(frozen=True)
class Accumulator:
    """A number type and its ops under a profile. Sums are to nearest even, as those of `arith.addf`."""

    number: Number
    profile: Profile

    @property
    def width(self) -> int:
        """The width of a code."""
        return width_of(self.number)

    @cached_property
    def adding(self) -> tuple[str, Kernel]:
        """The name and the kernel of the addition."""
        if isinstance(self.number, FloatFormat):
            return "arith.addf", floats.binary("add", self.number, RNE, 0, self.profile)
        return "arith.addi", integer.addi(self.number.width)

    @cached_property
    def multiplying(self) -> tuple[str, Kernel]:
        """The name and the kernel of the multiplication."""
        if isinstance(self.number, FloatFormat):
            return "arith.mulf", floats.binary("multiply", self.number, RNE, 0, self.profile)
        return "arith.muli", integer.muli(self.number.width)

    def converting(self, source: Number) -> tuple[str, Kernel] | None:
        """Return the name and the kernel of the conversion of terms; None if they have the accumulator's type.

        Raises ValueError for floats into integers.
        """
        match source, self.number:
            case FloatFormat(), FloatFormat() as fmt:
                names = ("arith.convertf", "arith.extf", "arith.truncf")
                name = names[(fmt.bits > source.bits) - (fmt.bits < source.bits)]
                return None if source == fmt else (name, casts.convert(source, fmt, RNE, 0, self.profile))
            case Reading(), FloatFormat() as fmt:
                name = "arith.sitofp" if source.signed else "arith.uitofp"
                return name, casts.from_integer(source.width, source.signed, fmt, self.profile)
            case Reading(), Reading() as own:
                if source.width == own.width:
                    return None
                if source.width > own.width:
                    return "arith.trunci", integer.trunci(source.width, own.width)
                extend = integer.extsi if source.signed else integer.extui
                return f"arith.{extend.__name__}", extend(source.width, own.width)
        raise ValueError("floats are not added in an integer type")

    def zeros(self, lanes: tuple[int, ...]) -> Codes:
        """Return +0 in each lane."""
        return np.zeros(code_shape(lanes, self.width), storage_dtype(self.width))

    def converted(self, terms: Codes, source: Number, faults: Faults, axis: int) -> Codes:
        """Return terms in the accumulator's type. ``axis``: the axis along which they are added."""
        found = self.converting(source)
        if found is None:
            return terms
        name, kernel = found
        outcome = kernel.array(terms)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def product(self, a: Codes, b: Codes, faults: Faults, axis: int) -> Codes:
        """Return the products of two operands, each rounded once."""
        name, kernel = self.multiplying
        outcome = kernel.array(a, b)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def sum_of_two(self, a: Codes, b: Codes, faults: Faults, axis: int | None = None) -> Codes:
        """Return the sums of two operands, each rounded once."""
        name, kernel = self.adding
        outcome = kernel.array(a, b)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def in_order(self, total: Codes, rows: Codes, faults: Faults) -> Codes:
        """Return ``total`` [lanes] after all ``rows`` [n, lanes] were added to it, one after the other."""
        (lanes,) = element_shape(total, self.width)
        if isinstance(self.number, Reading):
            if self.number.width <= 64:  # exact modulo a power of two, so that the order does not matter
                every = np.add.reduce(rows, axis=0, dtype=rows.dtype) + total
                return np.asarray(every & every.dtype.type((1 << self.number.width) - 1))
        elif not emulated.emulates(self.profile, self.number):
            policy = self.profile.arithmetic
            if has_running_sums(self.number, policy, lanes):
                return last_running_sum(self.number, total, rows, policy)
        if self.width <= 8 and lanes <= TABLE_LANES and rows.size >= TABLE_PAYS:
            table = _additions(self.adding[1], self.width)
            if table is not None:
                return _by_table(table, total, rows)
        if lanes <= SCALAR_LANES and not self.adding[1].faults:
            return _by_scalar(self.adding[1], self.width, total, rows)
        for row in rows:
            total = self.sum_of_two(total, row, faults)
        return total


@cpu.forgotten
@lru_cache(maxsize=64)
def _additions(kernel: Kernel, width: int) -> tuple[bytes, ...] | None:
    """Return, for each term, the sums with all accumulators; None if a sum has a fault."""
    every = np.arange(1 << width, dtype=np.uint8)
    outcome = kernel.array(np.tile(every, every.size), np.repeat(every, every.size))
    if outcome.faults:
        return None
    return tuple(row.tobytes() for row in outcome.results[0].reshape(every.size, every.size))


def _by_table(table: tuple[bytes, ...], total: Codes, rows: Codes) -> Codes:
    result = total.copy()
    for lane, code in enumerate(total.tolist()):
        for term in rows[:, lane].tobytes():
            code = table[term][code]
        result[lane] = code
    return result


def _by_scalar(kernel: Kernel, width: int, total: Codes, rows: Codes) -> Codes:
    add: Callable[..., Any] = kernel.scalar
    results = []
    for lane, code in enumerate(codes_to_ints(total, width)):
        for term in codes_to_ints(rows[:, lane], width):
            code = add(code, term)
        results.append(code)
    return ints_to_codes(results, width, (len(results),))
