"""What the ops of a run did to the exactness of its numbers, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nan
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.neighbours import Floats, Worst
from halfulp.interp.ir import types as ty
from halfulp.semantics.shadows import Shadow

Element = tuple[int, ...]


@dataclass(slots=True)
class WorstElement(Worst[Element]):
    """The largest of some figures that are not 0, and the place of its element."""

    def take_block(self, sizes: Floats, shape: Element, first: int) -> None:
        """Take the largest of some sizes, the elements of an array from number ``first`` on."""
        at = self.take(sizes)
        if at is not None:
            self.place = tuple(map(int, np.unravel_index(first + at, shape)))

    def take_one(self, size: float, place: Element) -> None:
        """Take the size of one element."""
        if size > self.size:
            self.size, self.place = size, place


@dataclass(slots=True)
class ShadowFigures:
    """What an op did to the exactness of numbers, over all of its runs.

    ``own``: its own error in ulp of its results, less what is not known of it; ``total``: the error of its results;
    ``relative``: the same, relative to the result, infinite where that is 0; ``radius``: the widest radius of a known
    error, in ulp. ``cancelled``: the most leading bits that a sum lost. Counts of elements: ``elements``: all;
    ``absorbed``: a sum is one of its operands, though the other is not 0; ``overflowed``: of finite operands an
    infinity, or what the format has instead; ``flushed``: 0, where the exact function is not; ``unknown``: nothing is
    known; ``otherwise``: the exact run decides otherwise; ``undecided``: it may; ``wrapped``: an integer op whose type
    does not hold the exact result.
    """

    own: WorstElement = field(default_factory=WorstElement)
    total: WorstElement = field(default_factory=WorstElement)
    relative: WorstElement = field(default_factory=WorstElement)
    radius: float = 0.0
    cancelled: int = 0
    elements: int = 0
    absorbed: int = 0
    overflowed: int = 0
    flushed: int = 0
    unknown: int = 0
    otherwise: int = 0
    undecided: int = 0
    wrapped: int = 0

    def known(self, worst: WorstElement) -> float:
        """Return the size of one of the largest errors; NaN where nothing is known of any: 0 would be a claim."""
        return nan if 0 < self.elements in (self.unknown, self.wrapped) and not worst.size else worst.size

    def join(self, other: ShadowFigures) -> None:
        """Add the figures of other runs."""
        # Each step of a loop comes here: reading fields by name would take three times as long.
        if other.own.size > self.own.size:
            self.own = other.own
        if other.total.size > self.total.size:
            self.total = other.total
        if other.relative.size > self.relative.size:
            self.relative = other.relative
        self.radius, self.cancelled = max(self.radius, other.radius), max(self.cancelled, other.cancelled)
        self.elements += other.elements
        self.absorbed += other.absorbed
        self.overflowed += other.overflowed
        self.flushed += other.flushed
        self.unknown += other.unknown
        self.otherwise += other.otherwise
        self.undecided += other.undecided
        self.wrapped += other.wrapped


# --- shadow marks -----------------------------------------------------------------------------------------------------
#
# The marks of shadows: how an error, its radius and the format that they belong to are written in one number.
#
# The last bits of a radius hold a tag of the format; see `halfulp.interp.run.shadows`.

Marks = npt.NDArray[np.complex128] | npt.NDArray[np.float64]
UNKNOWN = complex(0, inf)
"""The mark of a number of which nothing is known."""
_TAG_BITS = 6
TAGS = {fmt: number for number, fmt in enumerate(FORMATS.values(), 1)}
TAG_MASK = OTHER_TAG = (1 << _TAG_BITS) - 1
_LARGEST_RADIUS = 1e300
_FLOAT, _BITS = Struct("<d"), Struct("<Q")


def is_float(type_: ty.Type) -> bool:
    """Tell whether numbers of a type have marks of their own."""
    return not isinstance(type_, ty.IntegerType | ty.IndexType)


def is_exact(marks: Any) -> bool:
    """Tell whether marks are one for all elements, that of exact numbers: those of arguments and constants are."""
    return not any(marks.strides) and marks.size > 0 and not marks.flat[0]


def tag_of(type_: ty.Type) -> np.uint64:
    """Return the tag of the format of a type."""
    if isinstance(type_, ty.FloatType):
        return np.uint64(TAGS.get(type_.format, OTHER_TAG))
    return np.uint64(OTHER_TAG if is_float(type_) else 0)  # integers have no marks of their own


def encoded(shadow: Shadow, type_: ty.Type, into: Marks) -> None:
    """Write shadows as marks of numbers of a type."""
    error, radius = shadow
    tagged = (radius.view(np.uint64) + np.uint64(TAG_MASK)) & ~np.uint64(TAG_MASK) | tag_of(type_)
    large = radius.max(initial=0.0) >= _LARGEST_RADIUS
    # An exact number has no tag; neither has an unknown one.
    if large or not radius.all():
        plain = (radius >= _LARGEST_RADIUS) | ((radius == 0) & (error == 0))
        tagged = np.where(plain, np.where(radius != 0, np.inf, 0.0).view(np.uint64), tagged)
        error = np.where(plain, 0.0, error)
    into.real, into.imag = error, tagged.view(np.float64)


def decoded(marks: Marks, type_: ty.Type) -> Shadow:
    """Return the shadows of numbers of a type, from marks in one dimension."""
    error, radius = np.ascontiguousarray(marks.real), np.ascontiguousarray(marks.imag)
    bits = radius.view(np.uint64)
    foreign = (bits & np.uint64(TAG_MASK)) != tag_of(type_)
    if foreign.any():
        foreign &= (bits != 0) | (error != 0)
        return Shadow(np.where(foreign, 0.0, error), np.where(foreign, np.inf, radius))
    return Shadow(error, radius)


def encoded_plainly(shadow: Shadow, type_: ty.Type, into: npt.NDArray[np.float64]) -> None:
    """Write errors as marks of numbers of a type."""
    error, radius = shadow
    bits = into.view(np.uint64)
    np.bitwise_and(np.ascontiguousarray(error).view(np.uint64), ~np.uint64(TAG_MASK), out=bits)
    np.bitwise_or(bits, tag_of(type_), out=bits)
    if not error.all():
        into[error == 0] = 0.0
    if radius.strides != (0,):
        into[radius != 0] = np.nan


def decoded_plainly(marks: npt.NDArray[np.float64], type_: ty.Type) -> Shadow:
    """Return the errors of numbers of a type, from marks in one dimension."""
    error = np.ascontiguousarray(marks)
    bits = error.view(np.uint64)
    wrong = (bits & np.uint64(TAG_MASK)) != tag_of(type_)
    if wrong.any():
        wrong &= error != 0
    if wrong.any():
        return Shadow(np.where(wrong, 0.0, error), np.where(wrong, np.inf, 0.0))
    return Shadow(error, np.broadcast_to(0.0, error.shape))


def encoded_one(error: float, radius: float, tag: int) -> complex:
    """Return the mark of one number, as `encoded` does."""
    if not radius < _LARGEST_RADIUS:
        return UNKNOWN
    if not error and not radius:
        return 0j
    (bits,) = _BITS.unpack(_FLOAT.pack(radius))
    return complex(error, _FLOAT.unpack(_BITS.pack((bits + TAG_MASK) & ~TAG_MASK | tag))[0])


def decoded_one(mark: Any, type_: ty.Type) -> tuple[float, float]:
    """Return the error and the radius of one number, as `decoded` does."""
    error, radius = mark.real.item(), mark.imag.item()
    if not error and not radius:
        return error, radius
    (bits,) = _BITS.unpack(_FLOAT.pack(radius))
    return (error, radius) if bits & TAG_MASK == int(tag_of(type_)) else (0.0, inf)
