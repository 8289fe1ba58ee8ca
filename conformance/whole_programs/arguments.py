"""Generate arguments of whole functions: every combination if there are few, else corners and random values."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.comparing.inputs import corner_codes, random_codes
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, code_shape, ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import concrete, element_width, is_unsigned, runtime_shape, width_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer, to_argument
from halfulp.interp.values.memref_layout import Layout, chosen_layout, expected_layout, is_injective, row_major, spanned
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins

# --- domains ----------------------------------------------------------------------------------------------------------
#
# The codes from which one argument is made: all codes of its element type, or those of an assumption or a loop bound.
# An assumption is written ``%0 in [0, 10]``: the argument's number or name, and the smallest and the largest value.

ASSUME = "halfulp.assume"
"""The attribute of a function that lists its assumptions."""

SMALL = range(17)
"""Numbers from which an index is drawn half of the time."""

SMALLEST = (0, 1, 1, 2)
"""Numbers from which all indices and loop bounds of an input are drawn, if the input has only small ones."""

TRIPS = (0, 1, 2, 3, 4, 5, 7, 8, 16)
"""Numbers from which a bound or step of a loop, or the size of an allocation, is drawn."""

ODD_TRIPS = (-1, 0, 1)
"""Numbers that are seldom drawn for a bound, step or size: steps of 0 and sizes of -1 are undefined."""

WIDE_TRIPS = 8
"""If a type has at most this number of bits, its loop bounds are drawn from all codes."""


@dataclass(frozen=True)
class Domain:
    """The codes that one element of an argument may have. ``size``: their number. ``code``: a function from a number
    below ``size`` to a code.

    Random samples are corners, usual codes, or any codes. ``size`` is None if there are only samples. ``together``: the
    codes for inputs in which all indices are small, so that offsets, sizes and steps fit each other.
    """

    size: int | None
    code: Callable[[int], int]
    corners: Sequence[int]
    usual: Sequence[int]
    any: Callable[[random.Random], int]
    together: Sequence[int] = ()

    def draw(self, rng: random.Random, together: bool = False) -> int:
        """Draw a corner, a usual code, or any code. ``together``: all indices of the input are small."""
        if together and self.together:
            return rng.choice(self.together)
        kind = rng.random()
        if kind < 0.35 and self.corners:
            return rng.choice(self.corners)
        return rng.choice(self.usual) if kind < 0.7 and self.usual else self.any(rng)


@lru_cache(maxsize=512)
def corners_of(element: ty.Type) -> tuple[int, ...]:
    """Return the codes of an element type at which behaviour changes."""
    return tuple(corner_codes(element))


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


@lru_cache(maxsize=512)
def every_code(element: ty.Type) -> Domain:
    """Return the domain of all codes of an element type. In random samples, half of the indices are small numbers, and
    the codes of f80 are canonical: an op may give a number another code, and a pass may remove the op.
    """

    def sampled(rng: random.Random) -> int:
        if isinstance(element, ty.IndexType) and rng.random() < 0.5:
            return rng.choice(SMALL)
        return _canonical(element, random_codes(element, 1, rng)[0])

    is_index = isinstance(element, ty.IndexType)
    corners = tuple(dict.fromkeys(_canonical(element, code) for code in corners_of(element)))
    usual = tuple(SMALL) if is_index else ordinary_codes(element)
    together = SMALLEST if is_index else ()
    return Domain(1 << width_of(element), lambda number: number, corners, usual, sampled, together)


def _canonical(element: ty.Type, code: int) -> int:
    """Return a code whose integer bit, if the format stores it, is set exactly if the exponent field is not zero."""
    if not isinstance(element, ty.FloatType) or not element.format.explicit_integer_bit:
        return code
    fmt = element.format
    integer_bit = 1 << fmt.mantissa_bits
    field = code >> fmt.precision & ((1 << fmt.exponent_bits) - 1)
    return code | integer_bit if field else code & ~integer_bit


@lru_cache(maxsize=512)
def ordinary(element: ty.Type) -> Domain:
    """Return the domain of numbers as programs usually have them: floats around 1, small integers, no infinities and no
    NaNs.
    """
    width = width_of(element)

    def sampled(rng: random.Random) -> int:
        if isinstance(element, ty.FloatType):
            number = Fraction(rng.gauss(0, 1))
            return scalar.from_fraction(element.format, number if element.format.signed else abs(number)).code
        if isinstance(element, ty.IndexType):
            return rng.choice(SMALL)
        return rng.randint(-100, 100) & ((1 << width) - 1)

    return Domain(None, lambda number: number, (), (), sampled, SMALLEST if isinstance(element, ty.IndexType) else ())


def any_code(element: ty.Type, rng: random.Random) -> int:
    """Return a corner, an ordinary number, or any code."""
    return every_code(element).draw(rng)


def trip_counts(element: ty.Type) -> Domain:
    """Return the domain of an integer that bounds a loop. It is small, so that loops have few iterations. Narrow types
    have all codes.
    """
    width = width_of(element)
    if width <= WIDE_TRIPS:
        return every_code(element)
    mask = (1 << width) - 1
    often, seldom = ([number & mask for number in numbers] for numbers in (TRIPS, ODD_TRIPS))

    def sampled(rng: random.Random) -> int:
        return rng.choice(often if rng.random() < 0.9 else seldom)

    return Domain(None, lambda number: number, (), (), sampled, SMALLEST)


@dataclass(frozen=True)
class Assumption:
    """The smallest and the largest value of an argument, given by its number or name."""

    argument: str
    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return f"%{self.argument} in [{_number(self.low)}, {_number(self.high)}]"


_ASSUMPTION = re.compile(r"\s*%?([\w$.-]+)\s+in\s+\[\s*([^,\s]+)\s*,\s*([^\]\s]+)\s*\]\s*")


def parse_assumption(text: str) -> Assumption:
    """Return an assumption, written as ``%x in [0, 10]``. Raises InputError."""
    match = _ASSUMPTION.fullmatch(text)
    try:
        if match is not None:
            low, high = Fraction(match[2]), Fraction(match[3])
            if low <= high:
                return Assumption(match[1], low, high)
    except (ValueError, ZeroDivisionError):
        pass
    raise InputError(
        f"'{text}' is not an assumption about an argument",
        hint='write the argument, the smallest and the largest value, as in "%0 in [0, 10]"',
    )


def assumptions_of(function: Operation) -> tuple[Assumption, ...]:
    """Return the assumptions in a function's attribute ``halfulp.assume``, a list of strings. Raises InputError."""
    listed = function.attributes.get(ASSUME)
    if listed is None:
        return ()
    texts = listed.elements if isinstance(listed, at.ArrayAttr) else (listed,)
    if not all(isinstance(text, at.StringAttr) for text in texts):
        raise InputError(
            f"the attribute {ASSUME} is {listed}, but must be a list of texts",
            location=function.location,
            hint=f'write {ASSUME} = ["%0 in [0, 10]"]',
        )
    return tuple(parse_assumption(text.value) for text in texts if isinstance(text, at.StringAttr))


def assumed_domains(
    function: Operation, types: Sequence[ty.Type], assumptions: Iterable[Assumption]
) -> dict[int, Domain]:
    """Return the domains of the arguments about which something is assumed.

    Raises InputError for an argument that does not exist, or for a range without a value of its type.
    """
    names = {value.name: number for number, value in enumerate(function.regions[0].blocks[0].arguments) if value.name}
    found: dict[int, Domain] = {}
    for assumption in assumptions:
        place = names.get(assumption.argument)
        if place is None and assumption.argument.removeprefix("arg").isdecimal():
            place = int(assumption.argument.removeprefix("arg"))
        if place is None or place >= len(types):
            raise InputError(
                f"@{function.symbol_name} has no argument %{assumption.argument}",
                location=function.location,
                hint=f"it has {', '.join(f'%{name}' for name in names) or f'{len(types)} arguments'}",
            )
        found[place] = between(ty.element_type(types[place]), assumption)
    return found


def between(element: ty.Type, assumption: Assumption) -> Domain:
    """Return the domain of the values in a range. Raises InputError if there are none."""
    numbered = (
        _floats_between(element.format, assumption)
        if isinstance(element, ty.FloatType)
        else _integers_between(element, assumption)
    )
    size, code, place_of = numbered
    if size <= 0:
        raise InputError(f"no value of type '{element}' is in {str(assumption).partition(' in ')[2]}")
    ends = [number for number in (0, 1, size // 2, size - 2, size - 1) if 0 <= number < size]
    corners = dict.fromkeys([code(number) for number in ends])
    inside = [each for each in corners_of(element) if 0 <= place_of(each) < size]
    usual = tuple(each for each in ordinary_codes(element) if 0 <= place_of(each) < size)
    return Domain(size, code, (*corners, *inside), usual, lambda rng: code(rng.randrange(size)))


Numbered = tuple[int, Callable[[int], int], Callable[[int], int]]
"""The number of codes in a range; a function from a number to its code; and one from a code to its number, which is out
of range for other codes.
"""


def _integers_between(element: ty.Type, assumption: Assumption) -> Numbered:
    """Number the integers of a range. A signless type has both its signed and its unsigned numbers."""
    width = width_of(element)
    mask = (1 << width) - 1
    signed = isinstance(element, ty.IntegerType) and element.signedness == "signed"
    least = 0 if is_unsigned(element) else -(1 << max(width - 1, 0))
    most = mask >> 1 if signed else mask
    low, high = max(-(-assumption.low // 1), least), min(assumption.high // 1, most)
    return min(high - low + 1, mask + 1), lambda number: (low + number) & mask, lambda code: (code - low) & mask


def _floats_between(fmt: FloatFormat, assumption: Assumption) -> Numbered:
    """Number the floats of a range in the order of their values, -0 before 0 if the range has negative numbers."""
    below = int(fmt.has_negative_zero)

    def code(place: int) -> int:
        negative = -place - below
        return fmt.from_magnitude(place) if place >= 0 else fmt.from_magnitude(negative) | (fmt.sign_mask or 0)

    def value(place: int) -> Fraction:
        found = scalar.value(fmt, code(place))
        assert found is not None
        return found

    first = -fmt.max_magnitude - below if fmt.signed and assumption.low < 0 else 0
    low = _search(first, fmt.max_magnitude + 1, lambda place: value(place) >= assumption.low)
    end = _search(low, fmt.max_magnitude + 1, lambda place: value(place) > assumption.high)

    def place_of(given: int) -> int:
        magnitude = given & ~(fmt.sign_mask or 0)
        place = -magnitude - below if fmt.sign_mask and given & fmt.sign_mask else magnitude
        if (
            fmt.explicit_integer_bit
            or fmt.is_nan(given)
            or not -fmt.max_magnitude - below <= place <= fmt.max_magnitude
        ):
            return -1
        return place - low

    return end - low, lambda number: code(low + number), place_of


def _search(start: int, stop: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from ``start`` on for which a condition is true. The condition must then be true for all
    numbers after it.
    """
    while start < stop:
        middle = (start + stop) // 2
        if holds(middle):
            stop = middle
        else:
            start = middle + 1
    return start


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


# --- assumed sizes ----------------------------------------------------------------------------------------------------
#
# Sizes, strides and offsets for what the types of arguments leave dynamic.

LOOSE_OFFSET = 5
"""The offset of generated memory whose offset is dynamic and whose elements do not lie one after the other."""


@dataclass(frozen=True)
class Sizes:
    """One choice of sizes for dynamic dimensions: the size of each dimension, by its number; and the rank of unranked
    values.

    ``share``: the part of the inputs that has these sizes, relative to the sum of all shares. ``loose``: dynamic
    strides and offsets leave gaps.
    """

    name: str
    size: Callable[[int], int]
    share: int
    rank: int = 1
    loose: bool = False


CHOICES = (
    Sizes("3", lambda axis: 3, 8),
    Sizes("2, 3, 4 by dimension", lambda axis: axis + 2, 5, rank=2, loose=True),
    Sizes("16", lambda axis: 16, 3),
    Sizes("4", lambda axis: 4, 2),
    Sizes("1", lambda axis: 1, 1, rank=0),
    Sizes("0", lambda axis: 0, 1),
)
"""The sizes that are tested: few, including those at which loops and tiles change their behaviour."""

STATIC = Sizes("", lambda axis: 0, 1)
"""The only choice for types without dynamic sizes."""


def is_dynamic(type_: ty.Type) -> bool:
    """Tell whether values of a type may have different shapes or layouts."""
    shape = ty.shape_of(type_)
    if shape is None or None in shape:
        return True
    if not isinstance(type_, ty.MemRefType):
        return False
    strides, offset = expected_layout(type_, tuple(size or 0 for size in shape))
    return None in strides or offset is None


def sizes_within(function: Operation) -> tuple[Sizes, ...]:
    """Return one further choice of sizes: each dimension has the largest static size that it has in the types of a
    function. It is needed for casts and slices. Return nothing if there are no such sizes.
    """
    found: dict[int, int] = {}
    for op in function.walk():
        for value in (*op.results, *op.operands):
            for axis, size in enumerate(ty.shape_of(value.type) or ()):
                found[axis] = max(found.get(axis, 0), size or 0)
    known = {axis: size for axis, size in found.items() if size}
    if not known:
        return ()
    return (Sizes("those of the function", lambda axis: known.get(axis, 3), 5, rank=len(found)),)


def scaled_sizes(function: Operation) -> dict[int, int]:
    """Return the sizes, by the number of the dimension, that the scales of quantised types in a function require."""
    found: dict[int, int] = {}
    for op in function.walk():
        arguments = [value for block in op.blocks for value in block.arguments]
        for value in (*op.results, *arguments):
            found = _own_scales(value.type) | found
    return found


def _own_scales(type_: ty.Type) -> dict[int, int]:
    """Return the sizes, by dimension, that the scales of a type need."""
    element = ty.element_type(type_)
    if not isinstance(element, ty.UniformQuantizedType):
        return {}
    if element.axis is not None:
        return {element.axis: len(element.scales)}
    blocks = dict(element.block_sizes or ())
    return {axis: count * blocks.get(axis, 1) for axis, count in enumerate(element.parameter_shape)}


def made_up(type_: ty.Type, sizes: Sizes, vscale: int | None, scaled: Mapping[int, int]) -> ty.Type:
    """Return a type with sizes, strides and offset in place of the dynamic ones.

    ``scaled``: the sizes of dimensions that scales decide. Raises Unsupported for a scalable vector without ``vscale``,
    and for layouts that halfulp does not run.
    """
    shape = runtime_shape(type_, vscale)
    known = dict(scaled) | _own_scales(type_)
    if shape is None:
        shape = (None,) * max(sizes.rank, *(axis + 1 for axis in known), 0)
    chosen = tuple(known.get(axis, sizes.size(axis)) if size is None else size for axis, size in enumerate(shape))
    if isinstance(type_, ty.MemRefType):
        return _placed(type_, chosen, sizes.loose)
    return concrete(type_, chosen)


def _placed(type_: ty.MemRefType, shape: tuple[int, ...], loose: bool) -> ty.MemRefType:
    """Return a static memref type of a shape, with a layout that ``type_`` allows."""
    if type_.layout is None:
        return replace(type_, shape=shape)
    strides, offset = chosen_layout(type_, shape)
    if loose and isinstance(type_.layout, at.StridedLayoutAttr):
        known, start = expected_layout(type_, shape)
        wide = zip(known, row_major(shape), strict=True)
        symbols = [*([LOOSE_OFFSET] if start is None else []), *(2 * dense for given, dense in wide if given is None)]
        wider, moved = chosen_layout(type_, shape, symbols) if symbols else (strides, offset)
        if is_injective(shape, wider):
            strides, offset = wider, moved
    if not is_injective(shape, strides):
        raise Unsupported(f"no values of type '{type_}' can be generated: several elements share one place in memory")
    return replace(type_, shape=shape, layout=at.StridedLayoutAttr(strides, offset))


# --- arguments --------------------------------------------------------------------------------------------------------

EXHAUSTIVE_BITS = 16
"""Most bits of all arguments together for which a function is run on every combination."""

MOST_ELEMENTS = 1 << 19
"""Most elements that are generated for one function. If arguments are large, there are fewer inputs."""

LARGEST_CHOICE = 1 << 12
"""Most elements of one input whose dynamic sizes are not the first choice."""

SMALL_TOGETHER = 0.5
"""The part of the inputs in which all indices and loop bounds are small."""

ELEMENT_BYTES = 64
"""The memory, in bytes, of an element during generation: a Python integer, and its places in lists."""


@dataclass(frozen=True)
class Part:
    """Inputs of one shape: a column of codes per argument, whose first axis counts the inputs.

    ``declared``: the types of the arguments in the program. ``types``: the same with sizes and layouts in place of
    dynamic ones.
    """

    declared: tuple[ty.Type, ...]
    types: tuple[ty.Type, ...]
    columns: tuple[Codes, ...]
    count: int

    def row(self, index: int) -> tuple[Value, ...]:
        """Return one input; the contents of a memref are a tensor."""
        return tuple(Value(_held(type_), column[index]) for type_, column in zip(self.types, self.columns, strict=True))

    def chosen(self, rows: Sequence[int]) -> Part:
        """Return some of the inputs as a part. ``rows``: their numbers."""
        return replace(self, columns=tuple(column[list(rows)] for column in self.columns), count=len(rows))

    def fresh(self, index: int) -> tuple[Value | Buffer, ...]:
        """Return one input for a run, with new memory for each memref."""
        return tuple(
            _memory(self.declared[number], *placed, self.columns[number][index])
            if placed is not None
            else Value(self.types[number], self.columns[number][index])
            for number, placed in enumerate(self._layouts)
        )

    @cached_property
    def _layouts(self) -> tuple[tuple[tuple[int, ...], Layout] | None, ...]:
        """The shape and the layout of each memref; None for other arguments."""
        shapes = [ty.static_shape(type_) for type_ in self.types]
        return tuple(
            (shape, chosen_layout(type_, shape)) if isinstance(type_, ty.MemRefType) else None
            for type_, shape in zip(self.types, shapes, strict=True)
        )

    def lanes(self) -> tuple[Value, ...]:
        """Return all inputs as one input over lanes; the contents of a memref are a tensor."""
        return tuple(Value(_held(type_), column) for type_, column in zip(self.types, self.columns, strict=True))

    @property
    def has_lanes(self) -> bool:
        """Tell whether there are arguments, and values of all of them can have one more axis, over lanes."""
        return bool(self.types) and all(
            placed is None and _has_lanes(type_) for type_, placed in zip(self.types, self._layouts, strict=True)
        )

    @property
    def has_lanes_of_memory(self) -> bool:
        """Tell whether there are arguments, and values of all of them can have one more axis, also memory."""
        known = zip(self.types, self.declared, self._layouts, strict=True)
        return bool(self.types) and all(
            _has_lanes(type_) and (placed is None or _is_dense(declared, *placed)) for type_, declared, placed in known
        )


def _memory(declared: ty.Type, shape: tuple[int, ...], layout: Layout, codes: Codes) -> Buffer:
    """Return new memory with these elements; the places between them are poison."""
    assert isinstance(declared, ty.MemRefType)
    strides, offset = layout
    allocation = Allocation(declared.element, spanned(shape, strides, offset)[1])
    buffer = Buffer(declared, allocation, offset, shape, strides)
    if len(allocation) > prod(shape):
        allocation.spoil(Origin("memory", "", "memory between the elements of an argument"), Origins())
        buffer.store(Value(ty.TensorType(shape, declared.element), codes))
    else:
        buffer.view()[...] = codes
    return buffer


def _has_lanes(type_: ty.Type) -> bool:
    element = ty.element_type(type_)
    whole = isinstance(type_, ty.MemRefType) and isinstance(element, ty.ShapedType | ty.ComplexType)
    if whole or (isinstance(element, ty.UniformQuantizedType) and element.along_axes):
        return False
    return ty.shape_of(type_) is not None


def _is_dense(declared: ty.Type, shape: tuple[int, ...], layout: Layout) -> bool:
    """Tell whether memory has no element other than those of its shape, in the layout that any run chooses."""
    assert isinstance(declared, ty.MemRefType)
    return chosen_layout(declared, shape) == layout and spanned(shape, *layout)[1] <= prod(shape)


def _held(type_: ty.Type) -> ty.Type:
    return ty.contents_type(type_) if isinstance(type_, ty.MemRefType) else type_


@dataclass(frozen=True)
class Arguments:
    """Inputs of a function, in parts of one shape each.

    ``exhaustive``: these are all inputs. ``notes``: texts about choices that the user should know.
    """

    parts: tuple[Part, ...]
    exhaustive: bool = False
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of inputs."""
        return sum(part.count for part in self.parts)

    def row(self, index: int) -> tuple[Value, ...]:
        """Return one input; the contents of a memref are a tensor."""
        for part in self.parts:
            if index < part.count:
                return part.row(index)
            index -= part.count
        raise IndexError(f"the index of an input must be less than {self.count}")


def joined(one: Arguments, other: Arguments) -> Arguments:
    """Return the inputs of two sets for the same function, those of the first set first."""
    return Arguments(one.parts + other.parts, notes=tuple(dict.fromkeys(one.notes + other.notes)))


def one_input(values: Sequence[Value | Buffer], types: Sequence[ty.Type]) -> Arguments:
    """Return one input, for arguments of these types."""
    held = [value.load() if isinstance(value, Buffer) else value for value in values]
    known = tuple(value.type if isinstance(value, Value) else _static(value) for value in values)
    return Arguments((Part(tuple(types), known, tuple(value.bits[np.newaxis] for value in held), 1),))


def taken_from(values: Sequence[Any], types: Sequence[ty.Type]) -> Arguments:
    """Return one input, for arguments of these types, from values and the contents of memrefs. Raises TypeMismatch,
    Unsupported, LimitExceeded.
    """
    pairs = enumerate(zip(values, types, strict=True))
    return one_input([to_argument(value, type_, f"argument {number}") for number, (value, type_) in pairs], types)


def _static(buffer: Buffer) -> ty.MemRefType:
    """Return the type of a buffer with its sizes, strides and offset."""
    layout = buffer.type.layout and at.StridedLayoutAttr(buffer.strides, buffer.offset)
    return replace(buffer.type, shape=buffer.shape, layout=layout)


def generated(
    types: Sequence[ty.Type],
    count: int,
    seed: int = 0,
    vscale: int | None = None,
    exhaustive_bits: int | None = EXHAUSTIVE_BITS,
    domains: Mapping[int, Domain] | None = None,
    scaled: Mapping[int, int] | None = None,
    choices: Sequence[Sizes] = CHOICES,
) -> Arguments:
    """Generate arguments of these types; the same for the same count and seed.

    They are all combinations, if there are at most 2^``exhaustive_bits``, else ``count`` inputs, or fewer if they are
    large. If ``exhaustive_bits`` is None, there are always ``count`` inputs.
    ``domains``: the codes of some arguments, by number. ``scaled``: some dynamic sizes, by dimension; all others are
    those of ``choices``. Raises Unsupported for types without values to generate, LimitExceeded for an input that is
    too large.
    """
    for type_ in types:
        if element_width(ty.element_type(type_)) is None:
            raise Unsupported(f"no values of type '{type_}' can be generated", hint="give each argument with --input")
    rng = random.Random(f"{seed} {', '.join(map(str, types))}")
    maker = _Maker(tuple(types), vscale, domains or {}, scaled or {}, rng)
    if any(map(is_dynamic, types)):
        return maker.of_several_sizes(count, choices)
    known = maker.known(STATIC)
    every = None if exhaustive_bits is None else maker.every(known, 1 << exhaustive_bits)
    if every is not None:
        return Arguments((every,), exhaustive=True)
    part, notes = maker.sample(known, count)
    return Arguments((part,), notes=notes)


class _Maker:
    """Makes inputs of a function, and records notes for the user."""

    def __init__(
        self,
        declared: tuple[ty.Type, ...],
        vscale: int | None,
        domains: Mapping[int, Domain],
        scaled: Mapping[int, int],
        rng: random.Random,
    ) -> None:
        self.declared = declared
        self.vscale = vscale
        self.scaled = scaled
        self.rng = rng
        self.elements = [ty.element_type(type_) for type_ in declared]
        self.domains = [domains.get(k) or every_code(element) for k, element in enumerate(self.elements)]

    def known(self, sizes: Sizes) -> tuple[ty.Type, ...]:
        """Return the types with these sizes."""
        return tuple(made_up(type_, sizes, self.vscale, self.scaled) for type_ in self.declared)

    def shapes(self, known: Sequence[ty.Type]) -> list[tuple[int, ...]]:
        """Return the shapes of the values of static types."""
        return [tuple(size or 0 for size in runtime_shape(type_, self.vscale) or ()) for type_ in known]

    def size(self, known: Sequence[ty.Type]) -> int:
        """Return the number of elements of one input."""
        return sum(map(prod, self.shapes(known)))

    def every(self, known: tuple[ty.Type, ...], most: int) -> Part | None:
        """Return all inputs of static types; None if there are more than ``most``, or too many to count."""
        self._refuse_too_large(known)
        counts = zip(self.domains, map(prod, self.shapes(known)), strict=True)
        if any(domain.size != 1 and count > most.bit_length() for domain, count in counts):
            return None
        domains = self._of_each_element(known)
        total = 1
        for domain in domains:
            total = most + 1 if domain.size is None else total * domain.size
            if total > most:
                return None
        return self._combinations(known, domains, total)

    def _combinations(self, known: tuple[ty.Type, ...], domains: Sequence[Domain], total: int) -> Part:
        """Return all combinations of the codes of each element; those of the last one change fastest."""
        place, inner, next_domain = np.arange(total), total, iter(domains)
        columns = []
        for shape, element in zip(self.shapes(known), self.elements, strict=True):
            elements = []
            for domain in islice(next_domain, prod(shape)):
                size = domain.size or 0
                inner //= size
                codes = ints_to_codes([domain.code(k) for k in range(size)], width_of(element), (size,))
                elements.append(codes[place // inner % size])
            width = width_of(element)
            made = np.stack(elements, 1) if elements else ints_to_codes([], width, (total, 0))
            columns.append(made.reshape(code_shape((total, *shape), width)))
        return Part(self.declared, known, tuple(columns), total)

    def sample(self, known: tuple[ty.Type, ...], count: int) -> tuple[Part, tuple[str, ...]]:
        """Return ``count`` inputs, corners and random ones. If they are large, return fewer inputs and a note."""
        self._refuse_too_large(known)
        size = self.size(known)
        fewer = min(count, max(MOST_ELEMENTS // max(size, 1), 2))
        note = f"{fewer:,} of {count:,} inputs: each has {size:,} elements"
        return self._part(known, self._rows(known, fewer)), (note,) if fewer < count else ()

    def of_several_sizes(self, count: int, choices: Sequence[Sizes]) -> Arguments:
        """Return inputs of several dynamic sizes."""
        chosen: dict[tuple[ty.Type, ...], Sizes] = {}
        for sizes in choices:
            known = self.known(sizes)
            if not chosen or self.size(known) <= LARGEST_CHOICE:
                chosen.setdefault(known, sizes)
        shares = sum(sizes.share for sizes in chosen.values())
        parts: list[Part] = []
        notes: list[str] = []
        for known, sizes in chosen.items():
            left = count - sum(part.count for part in parts)
            part, note = self.sample(known, min(left, -(-count * sizes.share // shares)))
            parts.append(part)
            notes += note
        names = [sizes.name for sizes, part in zip(chosen.values(), parts, strict=True) if part.count]
        said = (f"dynamic sizes: {'; '.join(names)}",) if len(names) > 1 else ()
        return Arguments(tuple(part for part in parts if part.count), notes=(*said, *notes))

    def _refuse_too_large(self, known: Sequence[ty.Type]) -> None:
        size, most = self.size(known), Settings.max_bytes // ELEMENT_BYTES
        if size > most:
            raise LimitExceeded(
                f"{size} elements are too many to generate: more than {most}", hint="give each argument with --input"
            )

    def _of_each_element(self, known: Sequence[ty.Type]) -> list[Domain]:
        return [
            domain for domain, shape in zip(self.domains, self.shapes(known), strict=True) for _ in range(prod(shape))
        ]

    def _rows(self, known: Sequence[ty.Type], count: int) -> list[tuple[int, ...]]:
        """Return codes for all elements of ``count`` inputs: first all combinations of corners, if they are few, then
        any codes.
        """
        domains = self._of_each_element(known)
        rows: list[tuple[int, ...]] = []
        if len(domains) < count.bit_length():
            corners = [domain.corners for domain in domains]
            if all(corners) and prod(map(len, corners)) <= (count + 1) // 2:
                rows = list(product(*corners))
        return rows + [self._row(domains) for _ in range(count - len(rows))]

    def _row(self, domains: Sequence[Domain]) -> tuple[int, ...]:
        together = self.rng.random() < SMALL_TOGETHER
        return tuple([domain.draw(self.rng, together) for domain in domains])

    def _part(self, known: tuple[ty.Type, ...], rows: Sequence[tuple[int, ...]]) -> Part:
        columns, start = [], 0
        for shape, element in zip(self.shapes(known), self.elements, strict=True):
            size, width = prod(shape), width_of(element)
            codes = [code for row in rows for code in row[start : start + size]]
            columns.append(ints_to_codes(codes, width, (len(rows), *shape)))
            assert columns[-1].shape == code_shape((len(rows), *shape), width)
            start += size
        return Part(self.declared, known, tuple(columns), len(rows))
