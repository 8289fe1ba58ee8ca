"""What is measured: an op or a function on element types, with its correctly rounded results and its exact ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from halfulp.conformance.comparing.inputs import CONVERSIONS, corner_codes, every_input, random_codes, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import code_at, lowest_rank, rank_of
from halfulp.fp_formats.paths.fast_conversions import convert, from_integer
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.functions import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import width_of
from halfulp.semantics.profile import SPEC, Profile

_FROM_UNSIGNED = "arith.uitofp"
_KEPT_BITS = 16


def wide_format(fmt: FloatFormat) -> FloatFormat | None:
    """Return a format with the range of ``fmt`` and at least 29 bits of precision more, in which results count as
    exact; None if there is none.
    """
    return next(
        (
            wide
            for wide in (FORMATS["f64"], FORMATS["f128"])
            if wide.precision >= fmt.precision + 29 and wide.emin <= fmt.emin and wide.emax >= fmt.emax
        ),
        None,
    )


@dataclass(frozen=True)
class Question:
    """An op or a function on element types: ``case``, under a profile.

    ``name``: as the user wrote it. ``function``: the name of an elementary function, without its dialect; None for
    another op. ``result``: the format of the result. `question` makes it.
    """

    name: str
    case: OpCase
    function: str | None
    result: FloatFormat
    rounding: Rounding
    profile: Profile

    @property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """The element types of the operands."""
        return self.case.operand_types

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the operands' codes in bits."""
        return self.case.operand_widths

    @cached_property
    def wide(self) -> FloatFormat | None:
        """The format of `exact`; None if no format is wide enough."""
        return wide_format(self.result)

    @property
    def argument(self) -> FloatFormat | None:
        """The format of the only operand; None if there are several, or if it is not a float."""
        first = self.operand_types[0]
        return first.format if len(self.operand_types) == 1 and isinstance(first, ty.FloatType) else None

    def expected(self, operands: Sequence[Codes]) -> tuple[Codes, Mask | None]:
        """Return the correctly rounded results, and the mask of those that are poison."""
        results = reference(self.case, operands, self.profile, opened=False)
        return results.bits[0], results.poison

    def exact(self, operands: Sequence[Codes]) -> Codes | None:
        """Return the exact results, rounded toward zero to the format `wide`. None if no format is wide enough.

        They are rounded toward zero because a result just below a power of two must not become that power, whose ulp is
        larger. The results for all codes of a small format are stored, because users measure many implementations of
        one function.
        """
        fmt = self.argument
        if fmt is not None and fmt.bits <= _KEPT_BITS and len(operands[0]) == 1 << fmt.bits:
            kept = _exact_results(self)
            return None if kept is None else np.asarray(kept[operands[0]])
        return self._exact(operands)

    def _exact(self, operands: Sequence[Codes]) -> Codes | None:
        wide = self.wide
        if wide is None:
            return None
        if self.case.op in CONVERSIONS:
            return self._widened(operands[0], self.operand_types[0], wide)
        return reference(self._in(wide), [self._taken(*each, wide) for each in self._columns(operands)]).bits[0]

    def _columns(self, operands: Sequence[Codes]) -> zip[tuple[Codes, ty.Type]]:
        return zip(operands, self.operand_types, strict=True)

    def _in(self, wide: FloatFormat) -> OpCase:
        types = [wide.name if isinstance(type_, ty.FloatType) else str(type_) for type_ in self.operand_types]
        properties = {name: value for name, value in self.case.properties if name not in ("rounding", "roundingmode")}
        if property_of(self.case.definition, "rounding") is not None:
            properties["rounding"] = Rounding.TOWARD_ZERO.spelling
        return op_case(self.case.op, types, **properties)

    def _taken(self, codes: Codes, type_: ty.Type, wide: FloatFormat) -> Codes:
        return self._widened(codes, type_, wide) if isinstance(type_, ty.FloatType) else codes

    def _widened(self, codes: Codes, type_: ty.Type, wide: FloatFormat) -> Codes:
        if isinstance(type_, ty.FloatType):
            return convert(type_.format, wide, codes, Rounding.TOWARD_ZERO).codes
        signed = self.case.op != _FROM_UNSIGNED
        return from_integer(wide, codes, width_of(type_), signed, Rounding.TOWARD_ZERO).codes

    def __str__(self) -> str:
        """Return the text of the question: ``exp bf16``, ``arith.truncf f32 -> bf16 rounding=upward``."""
        return f"{self.name}{str(self.case).removeprefix(self.case.op)}"


def question(
    op: str,
    type_: str,
    source: str | Sequence[str] | None = None,
    rounding: Rounding = Rounding.TO_NEAREST_EVEN,
    profile: Profile = SPEC,
    **properties: Any,
) -> Question:
    """Return the question of a function (``exp``, ``math.exp``, ``sigmoid``) or an op (``arith.addf``, ``addf``).

    ``type_``: the element type, for a cast that of the result. ``source``: the types of the operands, if they are
    others. ``properties``: those of the op.

    Raises Unsupported for an unknown name and for an op without one result of a float type, InputError for a rounding
    that the op does not have, and the errors of the op for types and properties that it does not accept.
    """
    if rounding is Rounding.STOCHASTIC:
        raise InputError("there is no correct result to measure against if the rounding is stochastic")
    registry = default_registry()
    name = op if "." in op or registry.lookup(op) is not None else f"arith.{op}"
    definition = registry.require(op if registry.lookup(name) is None else name)
    if rounding is not Rounding.TO_NEAREST_EVEN:
        if property_of(definition, "rounding") is None:
            raise InputError(f"{op} has no rounding modes")
        properties["rounding"] = rounding.spelling
    spelled = [source] if isinstance(source, str) else None if source is None else list(source)
    types = type_ if spelled is None else spelled * len(definition.operands) if len(spelled) == 1 else spelled
    case = op_case(name, types, None if spelled is None else type_, **properties)
    (result, *more) = case.result_types
    if more or not isinstance(result, ty.FloatType):
        raise Unsupported(f"accuracy measures one result of a float type, but {case} has {', '.join(case.results)}")
    if not all(isinstance(each, ty.FloatType | ty.IntegerType) for each in case.operand_types):
        raise Unsupported(f"accuracy does not measure {case}: its operands are not all floats or integers")
    function = None if row_of(definition) is None else case.op.removeprefix("math.")
    return Question(op, case, function, result.format, rounding, profile)


@lru_cache(maxsize=16)
def _exact_results(asked: Question) -> Codes | None:
    """Return the exact results of all codes in order. The array is cached, so do not write to it."""
    assert asked.argument is not None
    codes = np.arange(1 << asked.argument.bits).astype(asked.argument.storage_dtype)
    return asked._exact((codes,))


# --- arguments --------------------------------------------------------------------------------------------------------
#
# The arguments at which an implementation is measured: all of them, a range, or hard cases and samples.

EXHAUSTIVE_BITS = 16
"""If all operands together have at most this number of bits, all arguments are measured by default."""
MOST_BITS = 32
"""The most bits of all operands together that `exhaustive` enumerates."""
SAMPLES = 100_000
CHUNK = 1 << 17
"""The number of arguments that are passed to an implementation at once."""
_MULTIPLES = 64
_PLACES = 1000
_PI = Fraction(884279719003555, 281474976710656)  # f64's: a place to sample, not a claim


@dataclass(frozen=True)
class Chosen:
    """Arguments in chunks. ``all``: whether every argument is among them. ``how``: how they were chosen, in words."""

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
    codes; else hard cases and ``samples`` random ones. Raises InputError for arguments that cannot be enumerated.
    """
    bits = sum(asked.widths)
    if between is not None:
        if asked.argument is None:
            raise InputError(f"a range needs one operand of a float type, but {asked} does not have one")
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
    for start in range(0, 1 << sum(asked.widths), CHUNK):
        yield every_input(asked.case, start, start + CHUNK)


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
        raise InputError("the range is empty: its first number must not be larger than its last one")
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
    """Return random codes: half of them have exponents between -10 and 7, where most functions are far from constant
    and linear.
    """
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
    """Find among the given codes the arguments at which results begin to overflow, to be zero, or to be NaN."""
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
    """Return the kind of each correctly rounded result: NaN, an infinity, a zero or another number."""
    operands = ints_to_codes([code_at(fmt, rank) for rank in ranks], fmt.bits, (len(ranks),))
    results, _ = asked.expected((operands,))
    tests: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("NaN", asked.result.is_nan),
        ("infinity", asked.result.is_infinite),
        ("zero", asked.result.is_zero),
    )
    codes = codes_to_ints(results, asked.result.bits)
    return [next((name for name, test in tests if test(code)), "number") for code in codes]
