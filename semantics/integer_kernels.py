"""Parts of the kernels of integer ops: readings of codes as numbers, and implementations for widths of any size.

A code ``a`` can be read as a number in two ways: as an unsigned number, which is ``a`` itself, or in two's complement,
as ``(a ^ sign) - sign``, where ``sign`` is the value of the sign bit. With ``sign = 0`` the second formula gives ``a``
too. So signed and unsigned ops share one definition (`Reading`).

Above 64 bits, the array implementation maps the scalar implementation over the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import (
    LIMB_BITS,
    Codes,
    Mask,
    code_shape,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    storage_dtype,
)
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.semantics.kernel import ArrayImplementation, Fault, Kernel, Meaning, Outcome, Scalar, faults_of

Values = npt.NDArray[Any]
"""The numbers of codes: the codes themselves, or a signed array of the same item size."""

Faults = Iterable[tuple[Fault, Mask]]
RankedImplementation = Callable[..., tuple[tuple[Codes, ...], Faults]]
"""An op on code arrays of rank 1 or more: its results, and its faults in order of precedence. A mask may be all False,
and smaller than the results if it broadcasts to them.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of codes of ``width`` bits as numbers: two's complement if ``signed``, else the codes themselves."""

    width: int
    signed: bool

    @property
    def sign(self) -> int:
        """The value of the sign bit, 0 for unsigned codes: ``(code ^ sign) - sign`` is the number."""
        return (1 << self.width) >> 1 if self.signed else 0

    @property
    def low(self) -> int:
        """The least number."""
        return -self.sign

    @property
    def high(self) -> int:
        """The greatest number."""
        return mask_of(self.width) >> self.signed

    def values(self, codes: Codes) -> Values:
        """Return the numbers of an array of codes; it may be that array itself."""
        if not self.signed:
            return codes
        spare = 8 * codes.itemsize - self.width
        values = codes.view(f"i{codes.itemsize}")
        return (values << spare) >> spare if spare else values


def mask_of(width: int) -> int:
    """Return the largest code of a width, in which all bits are set."""
    return (1 << width) - 1


def wrap(width: int, values: Values) -> Codes:
    """Return numbers modulo 2**width, as codes. The array ``values`` is overwritten, so no other code may use it."""
    codes: Codes = values.view(f"u{values.itemsize}")
    if width != 8 * codes.itemsize:
        codes &= mask_of(width)
    return codes


def integer_kernel(
    operands: tuple[int, ...],
    results: tuple[int, ...],
    scalar: Callable[..., Scalar],
    array: RankedImplementation,
    faults: tuple[Fault, ...] = (),
    worst: tuple[int, ...] | None = None,
    words: Implementation | None = None,
    real: Meaning | tuple[Meaning, ...] | None = None,
) -> Kernel:
    """Return the kernel of an op with these operand and result widths. Above 64 bits, the array implementation calls
    the scalar one for each element. For the other parameters see `Kernel`.
    """
    wide = max(operands + results) > LIMB_BITS
    described = words if min(operands + results) and not wide else None
    implementation = _mapped(operands, results, scalar) if wide else _ranked(array)
    return Kernel(scalar, implementation, worst, faults=faults, words=described, real=real)


def mapped_kernel(
    operands: tuple[int, ...],
    results: tuple[int, ...],
    scalar: Callable[..., Scalar],
    faults: tuple[Fault, ...] = (),
    worst: tuple[int, ...] | None = None,
) -> Kernel:
    """Return the kernel of an op that is rare on arrays: its specification, mapped over the elements."""
    return Kernel(scalar, _mapped(operands, results, scalar), worst, faults=faults)


def _ranked(array: RankedImplementation) -> Callable[..., Outcome]:
    """Extend an array implementation to rank 0, where NumPy would compute on scalars and warn that they wrap around."""

    def implementation(*operands: Codes) -> Outcome:
        results, faults = array(*(codes if codes.ndim else codes.reshape(1) for codes in operands))
        whole = results[0].shape
        shape = whole if any(codes.ndim for codes in operands) else ()
        masks = ((fault, np.broadcast_to(mask, whole).reshape(shape)) for fault, mask in faults)
        return Outcome(tuple(codes.reshape(shape) for codes in results), faults_of(masks))

    return implementation


def _mapped(
    operand_widths: tuple[int, ...], result_widths: tuple[int, ...], scalar: Callable[..., Scalar]
) -> Callable[..., Outcome]:
    """Return an array implementation that calls the scalar implementation for each element."""

    def implementation(*operands: Codes) -> Outcome:
        pairs = tuple(zip(operands, operand_widths, strict=True))
        shape = np.broadcast_shapes(*(element_shape(codes, width) for codes, width in pairs))
        columns = (codes_to_ints(np.broadcast_to(codes, code_shape(shape, width)), width) for codes, width in pairs)
        rows: list[tuple[int, ...]] = []
        faults: dict[Fault, Mask] = {}
        for at, element in enumerate(map(scalar, *columns)):
            if isinstance(element, Fault):
                faults.setdefault(element, np.zeros(shape, dtype=np.bool_)).flat[at] = True
                rows.append((0,) * len(result_widths))
            else:
                rows.append(element if isinstance(element, tuple) else (element,))
        results = (ints_to_codes([row[at] for row in rows], width, shape) for at, width in enumerate(result_widths))
        return Outcome(tuple(results), tuple(faults.items()))

    return implementation


# --- tabled words -----------------------------------------------------------------------------------------------------
#
# Kernels of few operand bits as tables: the description on machine words of a kernel that has none of its own.

MOST = 16
"""The bits of the operands together, of the longest table."""


def tabled(kernel: Kernel, operands: Sequence[int], results: Sequence[int]) -> Kernel:
    """Return a kernel with a description by tables. The kernel stays as it is if it already has a description or a
    notice, or if its operands have more than `MOST` bits together.

    ``operands``, ``results``: the numbers of bits of each.
    """
    short = 0 < sum(operands) <= MOST and all(operands) and 0 < max(results) <= 64
    if not short or kernel.words or kernel.notice:
        return kernel
    return replace(kernel, words=described(kernel.array, operands, results))


def described(array: ArrayImplementation, operands: Sequence[int], results: Sequence[int]) -> Implementation:
    """Return a description by tables, which the array implementation computes when code is made from the description.
    Elements with a fault are refused.

    ``operands``, ``results``: the numbers of bits of each; operands have at most `MOST` bits together.
    """
    total = sum(operands)

    @cache
    def tables() -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.uint8] | None]:
        index = np.arange(1 << total)
        places = [total - end for end in accumulate(operands)]
        codes = [
            (index >> place & (1 << width) - 1).astype(storage_dtype(width))
            for place, width in zip(places, operands, strict=True)
        ]
        outcome = array(*codes)
        entries = [np.ascontiguousarray(np.broadcast_to(each, index.shape)) for each in outcome.results]
        masks = [np.broadcast_to(mask, index.shape) for _, mask in outcome.faults]
        return entries, np.logical_or.reduce(masks).astype(np.uint8) if masks else None

    def implementation(*words: Word) -> Word | tuple[Word, ...]:
        index = words[0].resized(total)
        for word in words[1:]:
            index = (index << word.width) | word.resized(total)
        entries, refused = tables()
        if refused is not None:
            index.entry(refused).equals(1).refuse()
        found = tuple([index.entry(each).resized(width) for each, width in zip(entries, results, strict=True)])
        return found if len(found) > 1 else found[0]

    return implementation


# --- integer words ----------------------------------------------------------------------------------------------------
#
# Integer ops on machine words (`halfulp.fp_formats.paths.words`): the third implementation of the kernels in
# `integer`.
#
# Operands for which an op has a fault are refused: the scalar implementation says which fault it is.

RELATIONS: dict[str, Callable[[Word, Word, bool], Word]] = {
    "eq": lambda a, b, signed: a.equals(b),
    "ne": lambda a, b, signed: a.differs(b),
    "lt": lambda a, b, signed: a.less(b, signed),
    "le": lambda a, b, signed: a.at_most(b, signed),
    "gt": lambda a, b, signed: b.less(a, signed),
    "ge": lambda a, b, signed: b.at_most(a, signed),
}
"""Comparisons by their names in Python's `operator`."""


def wrapping(compute: Callable[[Word, Word], Word], readings: Iterable[Reading]) -> Implementation:
    """Return the description of a sum, difference or product. Elements are refused if the exact result overflows in one
    of the readings, signed or unsigned.
    """
    readings = tuple(readings)

    def implementation(a: Word, b: Word) -> Word:
        result, double = compute(a, b), 2 * a.width
        for reading in readings:
            exact = compute(a.resized(double, reading.signed), b.resized(double, reading.signed))
            exact.differs(result.resized(double, reading.signed)).refuse()
        return result

    return implementation


def carrying(a: Word, b: Word) -> tuple[Word, Word]:
    """Return the sum of two words and its carry, a word of one bit."""
    total = a + b
    return total, total.less(a, signed=False)


def borrowing(a: Word, b: Word) -> tuple[Word, Word]:
    """Return the difference of two words and its borrow, a word of one bit."""
    return a - b, a.less(b, signed=False)


def product_halves(signed: bool) -> Implementation:
    """Return the description of a product as two words: its lower and its upper half."""

    def implementation(a: Word, b: Word) -> tuple[Word, Word]:
        width = a.width
        product = a.resized(2 * width, signed) * b.resized(2 * width, signed)
        return product.resized(width), product.shift_right(width).resized(width)

    return implementation


def division(reading: Reading, toward: str, exact: bool) -> Implementation:
    """Return the description of a quotient rounded toward "zero", "down" or "up". ``exact``: refuse quotients that are
    not integers.
    """
    signed = reading.signed

    def implementation(a: Word, b: Word) -> Word:
        safe, overflow = _divisor(reading, a, b)
        overflow.refuse()
        quotient = a.divide(safe, signed)
        inexact = (quotient * safe).differs(a)
        if exact:
            inexact.refuse()
        if toward == "zero":
            return quotient
        negative = (a ^ safe).less(0, signed)
        if toward == "down":
            return quotient - (inexact & negative).resized(a.width)
        return quotient + (inexact & ~negative).resized(a.width)

    return implementation


def remainder(reading: Reading) -> Implementation:
    """Return the description of the remainder of a division rounded toward zero."""

    def implementation(a: Word, b: Word) -> Word:
        safe, _ = _divisor(reading, a, b)
        return a.remainder(safe, reading.signed)

    return implementation


def _divisor(reading: Reading, a: Word, b: Word) -> tuple[Word, Word]:
    """Return a divisor that a processor accepts, and a word of one bit: 1 if the quotient overflows. Refuse
    divisors 0.
    """
    zero = b.equals(0)
    zero.refuse()
    if not reading.signed:
        return zero.choose(b.of(1), b), b.of(0).differs(0)
    overflow = a.equals(reading.sign) & b.equals(-1)
    return (zero | overflow).choose(b.of(1), b), overflow


def shift_left(readings: Iterable[Reading]) -> Implementation:
    """Return the description of a left shift. A result other than ``a * 2**b`` in one of the readings is refused."""
    readings = tuple(readings)

    def implementation(a: Word, b: Word) -> Word:
        amount = _amount(a, b)
        result = a << amount
        for reading in readings:
            result.shift_right(amount, reading.signed).differs(a).refuse()
        return result

    return implementation


def shift_right(reading: Reading, exact: bool) -> Implementation:
    """Return the description of a shift to the right; ``exact``: elements that lose a bit that is 1 are refused."""

    def implementation(a: Word, b: Word) -> Word:
        amount = _amount(a, b)
        result = a.shift_right(amount, reading.signed)
        if exact:
            (result << amount).differs(a).refuse()
        return result

    return implementation


def _amount(a: Word, b: Word) -> Word:
    """Return a shift amount by which a processor can shift; refuse other amounts."""
    far = ~b.less(a.width, signed=False)
    far.refuse()
    return far.choose(b.of(0), b)


def extremum(reading: Reading, wins: str) -> Implementation:
    """Return the description of a minimum or maximum: the first operand if the relation ``wins`` of it to the second
    one is true, else the second one. ``wins``: a name of `RELATIONS`.
    """
    return lambda a, b: RELATIONS[wins](a, b, reading.signed).choose(a, b)


def relation(reading: Reading, holds: str) -> Implementation:
    """Return the description of a comparison: 1 if a relation is true. ``holds``: a name of `RELATIONS`."""
    return lambda a, b: RELATIONS[holds](a, b, reading.signed)


def cast(reading: Reading, width: int, ranges: Iterable[tuple[Reading, int, int]]) -> Implementation:
    """Return the description of a cast: the number of a reading in another width. A number outside of one of the ranges
    (reading, smallest, largest) is refused.
    """
    ranges = tuple(ranges)

    def implementation(a: Word) -> Word:
        for read, low, high in ranges:
            (a.less(low, read.signed) | a.of(high).less(a, read.signed)).refuse()
        return a.resized(width, reading.signed)

    return implementation
