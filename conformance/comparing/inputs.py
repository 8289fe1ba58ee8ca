"""Operand codes for cases: all of them in a small space, else combinations of corner codes, and random ones.

Everything is reproducible: the same case, level and seed give the same arrays.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.coverage import operand_classes
from halfulp.conformance.comparing.op_case import OpCase, container_shape
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, code_shape, ints_to_codes, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of

EXHAUSTIVE_BITS = 24
"""Most bits of all operands together for which every input is asked."""

CRAFTED = 20_000
"""Number of sample elements that are chosen one by one; the others are uniform."""

DEEP = 400_000
"""Size from which a sample holds all ties of a conversion to a 16-bit format, not only to formats of up to 8 bits."""

CHUNK = 1 << 19
"""Number of elements that are asked at once; it bounds the memory of a large check."""


def is_exhaustive(case: OpCase, bits: int = EXHAUSTIVE_BITS) -> bool:
    """Tell whether every combination of operand codes fits into ``2**bits`` elements of one axis."""
    one_axis = len(container_shape((*case.operand_types, *case.result_types), 1)) == 1
    return one_axis and sum(case.operand_widths) <= bits


def every_input(case: OpCase, start: int = 0, stop: int | None = None) -> tuple[Codes, ...]:
    """Return all combinations of operand codes from number ``start`` to ``stop``; the last operand varies fastest."""
    widths = case.operand_widths
    total = sum(widths)
    index = np.arange(start, 1 << total if stop is None else min(stop, 1 << total), dtype=np.uint64)
    arrays = []
    for width in widths:
        total -= width
        codes = (index >> np.uint64(total)) & np.uint64((1 << width) - 1)
        arrays.append(codes.astype(ints_to_codes([], width, (0,)).dtype))
    return tuple(arrays)


def sampled_inputs(case: OpCase, count: int, seed: int = 0) -> tuple[Codes, ...]:
    """Return about ``count`` elements: combinations of corners first, then adversarial random codes, among them pairs
    that are close or opposite. Where there are too many corners, one combination of each class of operands is used, and
    the others are chosen at random. Beyond `CRAFTED` elements, codes are uniform.
    """
    shape = container_shape((*case.operand_types, *case.result_types), count)
    total = prod(shape)
    corners = [corner_codes(type_, case, total >= DEEP) for type_ in case.operand_types]
    count = min(total, max(CRAFTED, 3 * len(corners[0]) if len(corners) == 1 else 0))
    rng = random.Random(f"{seed} {case}")
    columns = _crossed(corners, (count + 1) // 2)
    if columns is None:
        classes = [_one_of_each_class(type_, own) for type_, own in zip(case.operand_types, corners, strict=True)]
        columns = _crossed(classes, count) or [[] for _ in corners]
        for column, own in zip(columns, corners, strict=True):
            column += [rng.choice(own) for _ in range((count + 1) // 2 - len(column))]
    rest = count - len(columns[0])
    drawn = [random_codes(type_, rest, rng) for type_ in case.operand_types]
    for position in range(1, len(drawn)):
        if case.operand_types[position] == case.operand_types[0]:
            drawn[position] = _related(case.operand_types[0], drawn[0], drawn[position], rng)
    uniform = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
    return tuple(
        np.concatenate(
            [ints_to_codes([*own, *others], width, (count,)), _uniform_codes(width, total - count, uniform)]
        ).reshape(code_shape(shape, width))
        for own, others, width in zip(columns, drawn, case.operand_widths, strict=True)
    )


def _uniform_codes(width: int, count: int, generator: np.random.Generator) -> Codes:
    if width <= LIMB_BITS:
        return generator.integers(0, 1 << width, count, np.uint64).astype(storage_dtype(width))
    limbs = generator.integers(0, 1 << LIMB_BITS, code_shape((count,), width), np.uint64)
    limbs[:, -1] >>= np.uint64(-width % LIMB_BITS)
    return limbs


def inputs_for(
    case: OpCase, count: int, seed: int = 0, exhaustive_bits: int = EXHAUSTIVE_BITS
) -> Iterator[tuple[Codes, ...]]:
    """Yield every input in chunks where the operands have at most ``exhaustive_bits`` bits, else about ``count``
    sampled ones.

    Quantised types along an axis come in one piece, since their shape is fixed.
    """
    if is_exhaustive(case, exhaustive_bits):
        for start in range(0, 1 << sum(case.operand_widths), CHUNK):
            yield every_input(case, start, start + CHUNK)
        return
    sampled = sampled_inputs(case, count, seed)
    shape = case.shape(sampled)
    if len(shape) > 1 or shape[0] <= CHUNK:
        yield sampled
        return
    for start in range(0, shape[0], CHUNK):
        yield tuple(codes[start : start + CHUNK] for codes in sampled)


def _crossed(columns: Sequence[Sequence[int]], most: int) -> list[list[int]] | None:
    """Return the columns of the table of all combinations; None where it has more than ``most`` rows."""
    if prod(map(len, columns)) > most:
        return None
    rows: list[tuple[int, ...]] = [()]
    for column in columns:
        rows = [(*row, code) for row in rows for code in column]
    return [list(column) for column in zip(*rows, strict=True)]


def _one_of_each_class(type_: ty.Type, codes: Sequence[int]) -> list[int]:
    width = width_of(type_)
    classes = operand_classes(type_, ints_to_codes(codes, width, (len(codes),))).tolist()
    return list(dict(zip(reversed(classes), reversed(codes), strict=True)).values())


def corner_codes(type_: ty.Type, case: OpCase | None = None, deep: bool = False) -> list[int]:
    """Return the codes of an element type at which behaviour changes, in ascending order.

    For a float: both signs of zero, the ends of the subnormal and normal range with their neighbours, one and two,
    infinities, NaNs of each kind. ``case``: adds the ties and limits of the formats that it converts to: all ties of
    formats of up to 8 bits (16 bits if ``deep``), some ties of wider formats.
    """
    width = width_of(type_)
    if isinstance(type_, ty.FloatType):
        codes = set(_float_corners(type_.format))
        if case is not None:
            for target in case.result_types:
                if isinstance(target, ty.FloatType) and target.format.bits < type_.format.bits:
                    codes |= set(
                        _corners_of_conversion(type_.format, target.format, target.format.bits <= (16 if deep else 8))
                    )
                elif isinstance(target, ty.IntegerType) and target.width > 1:
                    codes |= set(_corners_of_integers(type_.format, target.width))
        return sorted(codes)
    top, mask = 1 << max(width - 1, 0), (1 << width) - 1
    near = {base + step for base in (0, top, mask + 1, 1 << (width // 2)) for step in (-2, -1, 0, 1, 2)}
    return sorted({code & mask for code in near | {3, 7, width, width - 1, width + 1}})


def _float_corners(fmt: FloatFormat) -> set[int]:
    one = fmt.bias << (fmt.mantissa_bits + fmt.explicit_integer_bit) | fmt.explicit_integer_bit << fmt.mantissa_bits
    positive = {0, 1, 2, 3, one, one + 1, one - 1, fmt.code_mask >> fmt.signed}
    positive |= {code + step for code in (fmt.min_normal_code, fmt.max_code) for step in (-2, -1, 0, 1, 2)}
    for special in (fmt.infinity_code, fmt.nan_code):
        if special is not None:
            positive |= {special, special + 1, special - 1, special | 3}
    signs = {0, fmt.sign_mask or 0}
    return {(code | sign) & fmt.code_mask for code in positive if code >= 0 for sign in signs}


@lru_cache(maxsize=1024)
def _corners_of_conversion(source: FloatFormat, target: FloatFormat, every: bool) -> frozenset[int]:
    """Return values and midpoints of a narrower format with the codes next to them: of all its values, or of some."""
    rng = random.Random(f"{source.name} {target.name}")
    places = {0, 1, 2, target.min_normal_code - 1, target.min_normal_code, target.max_code - 1}
    places |= set(range(target.max_code + 1)) if every else {rng.randrange(target.max_code) for _ in range(24)}
    codes = set()
    for code in places:
        low, high = scalar.value(target, code), scalar.value(target, code + 1)
        if low is None:
            continue
        step = low - (scalar.value(target, code - 1) or Fraction(0)) if high is None else high - low
        for number in (low, low + step / 2):
            middle = scalar.from_fraction(source, number).code
            codes |= {middle + k for k in (-1, 0, 1)}
    signs = {0, source.sign_mask or 0}
    return frozenset((code | sign) & source.code_mask for code in codes if code >= 0 for sign in signs)


def _corners_of_integers(fmt: FloatFormat, width: int) -> set[int]:
    """Return the ends of the integer ranges of a width, and halves, as float codes with their neighbours."""
    codes = set()
    for power in (width - 1, width):
        for offset in (Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1)):
            code = scalar.from_fraction(fmt, (1 << power) + offset).code
            codes |= {code + k for k in (-1, 0, 1)}
    for half in range(8):
        codes.add(scalar.from_fraction(fmt, Fraction(half, 2)).code)
    signs = {0, fmt.sign_mask or 0}
    return {(code | sign) & fmt.code_mask for code in codes if code >= 0 for sign in signs}


def random_codes(type_: ty.Type, count: int, rng: random.Random) -> list[int]:
    """Return ``count`` codes: half of them uniform, half with long runs of equal bits and exponents near
    the corners.
    """
    width = width_of(type_)
    fmt = type_.format if isinstance(type_, ty.FloatType) else None
    return [_structured(fmt, width, rng) if rng.random() < 0.5 else _uniform(width, rng) for _ in range(count)]


def _uniform(width: int, rng: random.Random) -> int:
    return rng.getrandbits(width) if width else 0


def _structured(fmt: FloatFormat | None, width: int, rng: random.Random) -> int:
    if fmt is None:
        run = rng.randint(0, width)
        pattern = rng.choice(((1 << run) - 1, 1 << run, ~((1 << run) - 1), rng.getrandbits(run) if run else 0))
        return (pattern + rng.randint(-1, 1)) & ((1 << width) - 1)
    top, bits = (1 << fmt.exponent_bits) - 1, fmt.mantissa_bits
    field = min(max(rng.choice((0, 1, top, top - 1, fmt.bias + rng.randint(-9, 9), rng.randint(0, top))), 0), top)
    run, every = rng.randint(0, bits), (1 << bits) - 1
    fraction = rng.choice((0, every, 1 << run, (1 << run) - 1, every ^ ((1 << run) - 1), _uniform(bits, rng))) & every
    code = field << (bits + fmt.explicit_integer_bit) | fraction
    if fmt.explicit_integer_bit and (field > 0) != (rng.random() < 0.1):
        code |= 1 << bits
    return code | (rng.getrandbits(1) << (fmt.bits - 1) if fmt.signed else 0)


def _related(type_: ty.Type, first: Sequence[int], second: Sequence[int], rng: random.Random) -> list[int]:
    """Return the second operand; four elements of ten become a near neighbour or the opposite of the first operand."""
    width = width_of(type_)
    sign = (type_.format.sign_mask or 0) if isinstance(type_, ty.FloatType) else 0
    mask = (1 << width) - 1
    return [
        ((a + rng.randint(-4, 4)) ^ (sign if rng.random() < 0.5 else 0)) & mask if rng.random() < 0.4 else b
        for a, b in zip(first, second, strict=True)
    ]


def digest(inputs: Sequence[Codes]) -> int:
    """Return a checksum that tells whether recorded results belong to these inputs."""
    value = 0
    for codes in inputs:
        value = zlib.crc32(np.ascontiguousarray(codes).tobytes(), value)
    return value


def float_types(max_bits: int = 128) -> list[str]:
    """Return the names of the float types of up to ``max_bits`` bits."""
    return [name for name, fmt in FORMATS.items() if fmt.bits <= max_bits]


def take(inputs: Sequence[Codes], index: npt.NDArray[np.intp] | slice) -> tuple[Codes, ...]:
    """Return the same elements of every operand."""
    return tuple(codes[index] for codes in inputs)
