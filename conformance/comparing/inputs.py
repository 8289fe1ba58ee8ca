"""Choose operand codes for cases, and measure what a set of operands covers.

If the operands have few bits, inputs are all codes; else they are combinations of corner codes, and random codes.
Coverage counts the combinations of operand classes that occurred, and the outcomes. The classes of a float operand are
zero, subnormal, normal, the largest value, infinity, quiet and signalling NaN, if the format has them; those of an
integer are 0, 1, -1, the ends of its signed range, and the rest. Outcomes are those of the reference: exact, inexact,
tie up, tie down, overflow, underflow, invalid, poison, undefined.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase, Reference, container_shape, reference
from halfulp.conformance.comparing.operand_ranges import OperandRange, mostly_defined, operand_range
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult, classify, equal, lift, magnitude_of, nonzero
from halfulp.fp_formats.formats import (
    FORMATS,
    LIMB_BITS,
    Codes,
    FloatFormat,
    Mask,
    code_shape,
    codes_to_ints,
    ints_to_codes,
    storage_dtype,
)
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of

# --- exact results ----------------------------------------------------------------------------------------------------
#
# Compute the exact real result of an op before rounding: mismatches and ties are measured against it.


def _remainder(a: Fraction, b: Fraction) -> Fraction:
    quotient = abs(a) // abs(b)
    return a - (b if (a < 0) == (b < 0) else -b) * quotient


_REAL: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.remf": _remainder,
}
_UNSIGNED = frozenset({"arith.uitofp", "arith.fptoui"})
CONVERSIONS = frozenset(
    {"arith.extf", "arith.truncf", "arith.convertf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"}
)


def number(case: OpCase, index: int, code: int) -> Fraction | None:
    """Return the number that an operand's code represents; None for NaN and infinities."""
    type_ = case.operand_types[index]
    if isinstance(type_, ty.FloatType):
        return scalar.value(type_.format, code)
    width = case.operand_widths[index]
    negative = case.op not in _UNSIGNED and width and code >> (width - 1)
    return Fraction(code - (1 << width) if negative else code)


def exact_value(case: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of a rounded op; None if the result is not a number or the op does not round."""
    numbers = [number(case, index, code) for index, code in enumerate(operands)]
    if case.op in CONVERSIONS:
        return numbers[0]
    if case.op not in _REAL or None in numbers:
        return None
    a, b = numbers
    assert a is not None
    assert b is not None
    if not b and case.op in ("arith.divf", "arith.remf"):
        return None
    return _REAL[case.op](a, b)


def tie(fmt: FloatFormat, exact: Fraction, code: int) -> int:
    """Return 1 if ``exact`` lies midway between two values of a format and was rounded away from zero, -1 if it was
    rounded toward zero, and 0 if it is not a tie. ``code``: the result of the rounding.
    """
    rounded = scalar.value(fmt, code)
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if rounded is None or rounded == exact:
        return 0
    up = abs(rounded) > abs(exact)
    other = magnitude - 1 if up else magnitude + 1
    if not 0 <= other <= fmt.max_code:
        return 0
    beyond = scalar.value(fmt, other)
    if beyond is None or abs(rounded) + beyond != 2 * abs(exact):
        return 0
    return 1 if up else -1


# --- coverage ---------------------------------------------------------------------------------------------------------

FLOAT_CLASSES = ("zero", "subnormal", "normal", "max", "infinity", "quiet NaN", "signalling NaN")
INTEGER_CLASSES = ("0", "1", "-1", "signed min", "signed max", "positive", "negative")
OUTCOMES = ("exact", "inexact", "tie up", "tie down", "overflow", "underflow", "invalid", "poison", "undefined")
TIES_EXAMINED = 2_000
"""Number of inexact elements that are examined for ties; more would take long and add nothing."""

_ARITHMETIC: Mapping[str, Callable[..., ArrayResult]] = {
    "arith.addf": arithmetic.add,
    "arith.subf": arithmetic.subtract,
    "arith.mulf": arithmetic.multiply,
    "arith.divf": arithmetic.divide,
    "arith.remf": arithmetic.remainder,
}
_FLAG_OUTCOMES = {
    "inexact": Flags.INEXACT,
    "overflow": Flags.OVERFLOW,
    "underflow": Flags.UNDERFLOW,
    "invalid": Flags.INVALID,
}


@dataclass(frozen=True)
class Coverage:
    """What a set of operands covers: the combinations of operand classes that occurred, the number of those that exist,
    and the number of each outcome.
    """

    combinations: frozenset[tuple[str, ...]]
    possible: int
    outcomes: Counter[str] = field(default_factory=Counter)
    exhaustive: bool = False

    @classmethod
    def empty(cls, case: OpCase) -> Coverage:
        """Return a coverage with nothing hit yet."""
        return cls(frozenset(), len(_possible(case)))

    def __or__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.combinations | other.combinations,
            self.possible,
            Counter({name: max(self.outcomes[name], other.outcomes[name]) for name in OUTCOMES}),
            self.exhaustive or other.exhaustive,
        )

    @property
    def percent(self) -> float:
        """The percentage of the existing combinations that occurred."""
        return 100.0 * len(self.combinations) / self.possible if self.possible else 100.0


def covered(case: OpCase, inputs: Sequence[Codes], exhaustive: bool = False, answered: Mask | None = None) -> Coverage:
    """Return the coverage of these operands. ``answered``: the elements that count; the other elements were not
    compared.

    ``answered`` has the element shape of the operands, as in `halfulp.conformance.comparing.check.Tally`.
    """
    expected = reference(case, inputs)
    chosen = np.ones(case.shape(inputs), np.bool_) if answered is None else answered
    labels = [
        operand_classes(type_, codes).reshape(-1)[chosen.reshape(-1)]
        for type_, codes in zip(case.operand_types, inputs, strict=True)
    ]
    names = [FLOAT_CLASSES if isinstance(type_, ty.FloatType) else INTEGER_CLASSES for type_ in case.operand_types]
    together = np.zeros(labels[0].shape if labels else (), np.int64)
    for label, own in zip(labels, names, strict=True):
        together = together * len(own) + label
    hit = set(np.unique(together).tolist())
    combinations = {row for number, row in enumerate(product(*names)) if number in hit}
    outcomes = _outcomes(case, inputs, expected, chosen)
    return Coverage(frozenset(combinations), len(_possible(case)), outcomes, exhaustive and bool(chosen.all()))


def _possible(case: OpCase) -> set[tuple[str, ...]]:
    return set(product(*(_present(type_) for type_ in case.operand_types)))


def _present(type_: ty.Type) -> list[str]:
    """Return the classes of operands that occur in a type."""
    if isinstance(type_, ty.FloatType):
        fmt = type_.format
        absent = {
            "zero": not fmt.zero,
            "subnormal": not fmt.zero or not fmt.mantissa_bits,
            "infinity": not fmt.infinities,
            "quiet NaN": fmt.nan_code is None,
            "signalling NaN": not (fmt.quiet_bit and (fmt.mantissa_bits > 1 or fmt.explicit_integer_bit)),
        }
        return [name for name in FLOAT_CLASSES if not absent.get(name, False)]
    width = width_of(type_)
    sample = np.arange(min(1 << width, 8), dtype=np.uint8)
    if width > 3:
        return list(INTEGER_CLASSES)
    return [INTEGER_CLASSES[k] for k in sorted(set(_integer_classes(width, sample).tolist()))]


def operand_classes(type_: ty.Type, codes: Codes) -> npt.NDArray[np.uint8]:
    """Return the class of each element, flat: an index into `FLOAT_CLASSES` or `INTEGER_CLASSES`."""
    if isinstance(type_, ty.FloatType):
        return _float_classes(type_.format, codes)
    width = width_of(type_)
    if width <= 64:
        return _integer_classes(width, codes.reshape(-1))
    ints = codes_to_ints(codes, width)
    special = {0: 0, 1: 1, (1 << width) - 1: 2, 1 << (width - 1): 3, (1 << (width - 1)) - 1: 4}
    return np.array([special.get(code, 5 + (code >> (width - 1))) for code in ints], np.uint8)


def _integer_classes(width: int, codes: Codes) -> npt.NDArray[np.uint8]:
    wide = codes.astype(np.uint64)
    top = 1 << max(width - 1, 0)
    classes = np.where(wide & np.uint64(top), np.uint8(6), np.uint8(5))
    # In an i1 some of these are equal: the earlier name wins.
    for code, label in ((top - 1, 4), (top, 3), ((1 << width) - 1, 2), (1, 1), (0, 0)):
        classes[wide == np.uint64(code)] = label
    return classes


def _float_classes(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.uint8]:
    flat = codes.reshape(-1, fmt.limbs) if fmt.limbs > 1 else codes.reshape(-1)
    lifted = lift(fmt, flat, fmt.limbs > 1)
    found = classify(fmt, lifted)
    magnitude = magnitude_of(fmt, lifted)
    classes = np.full(found.nan.shape, FLOAT_CLASSES.index("normal"), np.uint8)
    if fmt.zero and fmt.mantissa_bits:
        classes[(magnitude < fmt.min_normal_code) & nonzero(magnitude)] = FLOAT_CLASSES.index("subnormal")
    classes[equal(magnitude, fmt.max_code)] = FLOAT_CLASSES.index("max")
    classes[found.zero] = FLOAT_CLASSES.index("zero")
    classes[found.infinite] = FLOAT_CLASSES.index("infinity")
    classes[found.nan] = FLOAT_CLASSES.index("quiet NaN")
    classes[found.signalling] = FLOAT_CLASSES.index("signalling NaN")
    return classes


def _outcomes(case: OpCase, inputs: Sequence[Codes], expected: Reference, chosen: Mask) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, mask in (("poison", expected.poison), ("undefined", expected.undefined)):
        if mask is not None:
            counts[name] = int(np.count_nonzero(mask & chosen))
    flags = _flags(case, inputs)
    if flags is None:
        return counts
    for name, flag in _FLAG_OUTCOMES.items():
        counts[name] = int(np.count_nonzero((flags & flag != 0) & chosen))
    counts["exact"] = int(np.count_nonzero((flags == 0) & chosen))
    counts.update(_ties(case, inputs, expected, ((flags == Flags.INEXACT) & chosen).reshape(-1)))
    return +counts


def _flags(case: OpCase, inputs: Sequence[Codes]) -> npt.NDArray[np.uint8] | None:
    """Return the exception flags of each element; None if the op has none."""
    source, target = case.operand_types[0], case.result_types[0]
    mode = case.rounding
    found: Any = None
    if case.op in _ARITHMETIC and isinstance(target, ty.FloatType):
        found = _ARITHMETIC[case.op](target.format, *inputs, mode, want_flags=True)
    elif case.op in CONVERSIONS:
        unsigned = case.op in ("arith.uitofp", "arith.fptoui")
        match source, target:
            case ty.FloatType(), ty.FloatType():
                found = conversions.convert(source.format, target.format, inputs[0], mode, want_flags=True)
            case ty.FloatType(), _:
                width = width_of(target)
                found = conversions.to_integer(source.format, inputs[0], width, not unsigned, want_flags=True)
            case _, ty.FloatType():
                width = width_of(source)
                found = conversions.from_integer(target.format, inputs[0], width, not unsigned, mode, want_flags=True)
    flags: npt.NDArray[np.uint8] | None = None if found is None else found.flags
    return flags


def _ties(case: OpCase, inputs: Sequence[Codes], expected: Reference, inexact: Mask) -> Counter[str]:
    """Count ties among the first inexact elements."""
    target = case.result_types[0]
    if not isinstance(target, ty.FloatType):
        return Counter()
    chosen = np.flatnonzero(inexact)[:TIES_EXAMINED]
    columns = [
        codes_to_ints(codes.reshape(-1, codes.shape[-1])[chosen] if width > 64 else codes.reshape(-1)[chosen], width)
        for codes, width in zip((*inputs, expected.bits[0]), (*case.operand_widths, target.format.bits), strict=True)
    ]
    counts: Counter[str] = Counter()
    for *operands, result in zip(*columns, strict=True):
        real = exact_value(case, tuple(operands))
        side = 0 if real is None else tie(target.format, real, result)
        if side:
            counts["tie up" if side > 0 else "tie down"] += 1
    return counts


# --- inputs -----------------------------------------------------------------------------------------------------------
#
# Everything is reproducible: the same case, level and seed give the same arrays.

EXHAUSTIVE_BITS = 24
"""Most bits of all operands together for which every input is asked."""

CRAFTED = 20_000
"""Number of sample elements that are chosen one by one; the others are uniform."""

DEEP = 400_000
"""A sample of at least this size has all ties of conversions to formats of up to 16 bits, not only of up to 8 bits."""

CHUNK = 1 << 19
"""Number of elements that are passed to an oracle at once; it limits the memory of a large check."""


def is_exhaustive(case: OpCase, bits: int = EXHAUSTIVE_BITS) -> bool:
    """Tell whether all combinations of operand codes together are at most ``2**bits`` elements, and these can have one
    axis.
    """
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
    """Return about ``count`` elements for each operand: first combinations of corner codes, then random codes that are
    chosen to find errors, for example pairs that are close or opposite. If there are too many corners, one combination
    of each class of operands is used, and the others are chosen at random. Beyond `CRAFTED` elements, codes are
    uniform.
    """
    shape = container_shape((*case.operand_types, *case.result_types), count)
    total = prod(shape)
    ranges = [operand_range(case, place) for place in range(len(case.operand_types))]
    corners = [
        corner_codes(type_, case, total >= DEEP) if limits is None else limits.corners(8 if limits.shared else 64)
        for type_, limits in zip(case.operand_types, ranges, strict=True)
    ]
    count = min(total, max(CRAFTED, 3 * len(corners[0]) if len(corners) == 1 else 0))
    rng = random.Random(f"{seed} {case}")
    columns = _crossed(corners, (count + 1) // 2)
    if columns is None:
        classes = [_one_of_each_class(type_, own) for type_, own in zip(case.operand_types, corners, strict=True)]
        columns = _crossed(classes, count) or [[] for _ in corners]
        for column, own in zip(columns, corners, strict=True):
            column += [rng.choice(own) for _ in range((count + 1) // 2 - len(column))]
    rest = count - len(columns[0])
    drawn = [
        random_codes(type_, rest, rng) if limits is None else [rng.choice(own) for _ in range(rest)]
        if limits.shared else [limits.least + rng.randrange(limits.count) * limits.step for _ in range(rest)]
        for type_, limits, own in zip(case.operand_types, ranges, corners, strict=True)
    ]  # fmt: skip
    for position in range(1, len(drawn)):
        if case.operand_types[position] == case.operand_types[0] and ranges[position] is None:
            drawn[position] = _related(case.operand_types[0], drawn[0], drawn[position], rng)
    uniform = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))

    def anything(count: int) -> list[Codes]:
        return [
            _uniform_codes(width, count, uniform)
            if limits is None
            else _codes_within(limits, own, width, count, uniform)
            for width, limits, own in zip(case.operand_widths, ranges, corners, strict=True)
        ]

    found = tuple(
        np.concatenate([ints_to_codes([*own, *others], width, (count,)), more]).reshape(code_shape(shape, width))
        for own, others, width, more in zip(columns, drawn, case.operand_widths, anything(total - count), strict=True)
    )
    if all(limits is None for limits in ranges):
        return found
    again = np.arange(total).reshape(shape) % 16 != 0
    return mostly_defined(case, found, again, lambda attempt: [codes.reshape(shape) for codes in anything(total)])


def _codes_within(
    limits: OperandRange, corners: Sequence[int], width: int, count: int, generator: np.random.Generator
) -> Codes:
    """Return codes of a range; corners only if one of them serves for a whole tensor, so that there are few."""
    among = np.array(corners, np.uint64)
    if limits.shared:
        return among[generator.integers(0, len(among), count)].astype(storage_dtype(width))
    places = generator.integers(0, limits.count, count, np.uint64)
    return (places * np.uint64(limits.step) + np.uint64(limits.least)).astype(storage_dtype(width))


def _uniform_codes(width: int, count: int, generator: np.random.Generator) -> Codes:
    if width <= LIMB_BITS:
        return generator.integers(0, 1 << width, count, np.uint64).astype(storage_dtype(width))
    limbs = generator.integers(0, 1 << LIMB_BITS, code_shape((count,), width), np.uint64)
    limbs[:, -1] >>= np.uint64(-width % LIMB_BITS)
    return limbs


def inputs_for(
    case: OpCase, count: int, seed: int = 0, exhaustive_bits: int = EXHAUSTIVE_BITS
) -> Iterator[tuple[Codes, ...]]:
    """Yield every input in chunks if the operands have at most ``exhaustive_bits`` bits, else about ``count`` sampled
    inputs.

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
    """Return all combinations as columns, one for each operand; None if there are more than ``most`` combinations."""
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
    """Return values and midpoints of a narrower format with the codes next to them: for all its values, or for some."""
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
    """Return the elements of every operand at these indices."""
    return tuple(codes[index] for codes in inputs)
