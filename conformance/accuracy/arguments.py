"""The arguments at which an implementation is measured: all of them, a range, or hard cases and samples."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.comparing.inputs import corner_codes, random_codes, sampled_inputs
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.steps import code_at, lowest_rank, rank_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError

EXHAUSTIVE_BITS = 16
"""The most bits of all operands together for which all arguments are measured unless told otherwise."""
MOST_BITS = 32
"""The most bits of all operands together that `exhaustive` enumerates."""
SAMPLES = 100_000
CHUNK = 1 << 17
"""The count of arguments that are asked at once."""
_MULTIPLES = 64
_PLACES = 1000
_PI = Fraction(884279719003555, 281474976710656)  # f64's: a place to sample, not a claim


@dataclass(frozen=True)
class Chosen:
    """Arguments in chunks. ``all``: every argument is among them. ``how``: the choice in words."""

    chunks: Iterator[tuple[Codes, ...]]
    all: bool
    how: str


def chosen_arguments(
    asked: Question,
    samples: int | None = None,
    seed: int = 0,
    exhaustive: bool = False,
    between: tuple[int, int] | None = None,
) -> Chosen:
    """Choose the arguments of a question.

    All codes of up to `EXHAUSTIVE_BITS` bits, or up to `MOST_BITS` bits if ``exhaustive``; all floats ``between`` two
    codes; else hard cases and ``samples`` random ones. Raises InputError for what cannot be enumerated.
    """
    bits = sum(asked.widths)
    if between is not None:
        if asked.argument is None:
            raise InputError(f"a range needs one operand of a float type, but {asked} has not")
        return Chosen(_range(asked.argument, *between), False, _range_text(asked.argument, *between))
    if exhaustive and bits > MOST_BITS:
        raise InputError(f"2**{bits} arguments are too many; at most {MOST_BITS} bits: choose a range or samples")
    if exhaustive or (samples is None and bits <= EXHAUSTIVE_BITS):
        return Chosen(_every(asked), True, f"all {1 << bits:,} arguments")
    count = SAMPLES if samples is None else samples
    columns = _samples(asked, count, seed)
    rows = len(columns[0])
    how = f"{rows:,} arguments: hard cases and samples, seed {seed}"
    return Chosen((tuple(c[k : k + CHUNK] for c in columns) for k in range(0, rows, CHUNK)), False, how)


# --- all --------------------------------------------------------------------------------------------------------------


def _every(asked: Question) -> Iterator[tuple[Codes, ...]]:
    if asked.argument is not None and asked.argument.sign_mask:
        # Chunks hold x and -x, so that symmetry is seen.
        half = np.uint64(1) << np.uint64(asked.widths[0] - 1)
        for start in range(0, int(half), CHUNK // 2):
            low = np.arange(start, min(start + CHUNK // 2, int(half)), dtype=np.uint64)
            yield (np.concatenate([low, low | half]).astype(asked.argument.storage_dtype),)
        return
    total = sum(asked.widths)
    for start in range(0, 1 << total, CHUNK):
        index = np.arange(start, min(start + CHUNK, 1 << total), dtype=np.uint64)
        columns, rest = [], total
        for width in asked.widths:
            rest -= width
            codes = (index >> np.uint64(rest)) & np.uint64((1 << width) - 1)
            columns.append(codes.astype(ints_to_codes([], width, (0,)).dtype))
        yield tuple(columns)


def _range(fmt: FloatFormat, low: int, high: int) -> Iterator[tuple[Codes, ...]]:
    first, last = _ranks(fmt, low, high)
    for start in range(first, last + 1, CHUNK):
        stop = min(start + CHUNK, last + 1)
        yield (_codes_at(fmt, start, stop),)


def _codes_at(fmt: FloatFormat, start: int, stop: int) -> Codes:
    if fmt.limbs > 1:
        return ints_to_codes([code_at(fmt, rank) for rank in range(start, stop)], fmt.bits, (stop - start,))
    ranks = np.arange(start, stop, dtype=np.int64)
    signs = np.where(ranks < 0, np.uint64(fmt.sign_mask or 0), np.uint64(0))
    return (np.abs(ranks).astype(np.uint64) | signs).astype(fmt.storage_dtype)


def _ranks(fmt: FloatFormat, low: int, high: int) -> tuple[int, int]:
    first, last = rank_of(fmt, low), rank_of(fmt, high)
    if first is None or last is None or first > last:
        raise InputError("a range goes from a number to one that is not smaller")
    return max(first, lowest_rank(fmt)), min(last, fmt.max_magnitude)


def _range_text(fmt: FloatFormat, low: int, high: int) -> str:
    first, last = _ranks(fmt, low, high)
    if last - first >= 1 << MOST_BITS:
        raise InputError(f"the range has {last - first + 1:,} values; at most 2**{MOST_BITS}")
    ends = [float(scalar.value(fmt, code_at(fmt, rank)) or 0) for rank in (first, last)]
    return f"all {last - first + 1:,} values from {ends[0]:.9g} to {ends[1]:.9g}"


# --- samples ----------------------------------------------------------------------------------------------------------


def _samples(asked: Question, count: int, seed: int) -> tuple[Codes, ...]:
    """Return hard cases and ``count`` random arguments; for one float in the order of their values, with their
    negatives.
    """
    fmt = asked.argument
    if fmt is None or asked.function is None:
        columns = sampled_inputs(asked.case, count, seed)
        if fmt is None:
            return columns
        codes = set(codes_to_ints(columns[0], fmt.bits))
    else:
        rng = random.Random(f"{seed} {asked}")
        codes = _hard(fmt) | set(_random(fmt, count, rng))
    # Codes of x87's format that are not numbers tell nothing of a function.
    codes = _with_negatives(fmt, {code for code in codes if not fmt.is_invalid(code)})
    codes |= _with_negatives(fmt, _thresholds(asked, fmt, codes))
    ordered = sorted(codes, key=lambda code: code & (fmt.code_mask >> fmt.signed))
    return (ints_to_codes(ordered, fmt.bits, (len(ordered),)),)


def _with_negatives(fmt: FloatFormat, codes: set[int]) -> set[int]:
    return codes | {code ^ fmt.sign_mask for code in codes} if fmt.sign_mask else codes


def _random(fmt: FloatFormat, count: int, rng: random.Random) -> list[int]:
    """Return random codes: half of them with exponents between -10 and 7, where most functions curve."""
    near = []
    for _ in range(count // 2):
        number = Fraction(rng.getrandbits(fmt.precision) | 1 << fmt.precision, 1 << fmt.precision)
        near.append(scalar.from_fraction(fmt, number * Fraction(2) ** rng.randint(-10, 7)).code)
    return near + random_codes(ty.FloatType(fmt), count - len(near), rng)


def _hard(fmt: FloatFormat) -> set[int]:
    """Return codes that are hard for many functions, with their neighbours: corners of the format, powers of two, small
    integers and halves, and multiples of pi/4.
    """
    numbers = [Fraction(k, 2) for k in range(1, _MULTIPLES)]
    numbers += [_PI * k / 4 for k in range(1, 4 * _MULTIPLES)]
    numbers += [Fraction(2) ** k for k in _powers(fmt.emin, fmt.emax)]
    codes = set(corner_codes(ty.FloatType(fmt)))
    for number in numbers:
        rank = rank_of(fmt, scalar.from_fraction(fmt, number).code)
        if rank is not None:
            codes |= {code_at(fmt, near) for near in range(rank - 1, rank + 2) if 0 <= near <= fmt.max_magnitude}
    return codes


def _powers(low: int, high: int) -> list[int]:
    """Return exponents: those near 0 and at the ends of the range, and some of the others."""
    inner = {
        *range(-64, 65),
        *range(low, low + 8),
        *range(high - 8, high + 1),
        *range(low, high, (high - low) // 64 or 1),
    }
    return sorted(k for k in inner if low <= k <= high)


def _thresholds(asked: Question, fmt: FloatFormat, codes: set[int]) -> set[int]:
    """Return the arguments between those given at which results begin to overflow, to vanish or to be NaN."""
    ranks = sorted(rank for code in codes if (rank := rank_of(fmt, code)) is not None)
    ranks = ranks[:: len(ranks) // _PLACES or 1]
    found: set[int] = set()
    kinds = _kinds(asked, fmt, ranks)
    edges = [(low, high) for (low, one), (high, other) in pairwise(zip(ranks, kinds, strict=True)) if one != other]
    for low, high in edges[:_MULTIPLES]:
        (kind,) = _kinds(asked, fmt, [low])
        while high - low > 1:
            middle = (low + high) // 2
            (own,) = _kinds(asked, fmt, [middle])
            low, high = (middle, high) if own == kind else (low, middle)
        found |= {code_at(fmt, rank) for rank in range(low - 2, high + 3) if abs(rank) <= fmt.max_magnitude}
    return found


def _kinds(asked: Question, fmt: FloatFormat, ranks: Sequence[int]) -> list[str]:
    """Tell what the correctly rounded results are: NaN, an infinity, a zero or another number."""
    operands = ints_to_codes([code_at(fmt, rank) for rank in ranks], fmt.bits, (len(ranks),))
    results, _ = asked.expected((operands,))
    tests: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("NaN", asked.result.is_nan),
        ("infinity", asked.result.is_infinite),
        ("zero", asked.result.is_zero),
    )
    codes = codes_to_ints(results, asked.result.bits)
    return [next((name for name, test in tests if test(code)), "number") for code in codes]
