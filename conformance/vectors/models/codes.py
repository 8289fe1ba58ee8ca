"""Operand codes of interest: FPgen's basic types, and special patterns of the fraction bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from halfulp.conformance.vectors.intermediate import (
    ModelCase,
    encoded,
)
from halfulp.conformance.vectors.models.model import SIGNS
from halfulp.fp_formats.formats import FloatFormat, NanEncoding

_Test = Callable[[FloatFormat, int], bool]


def _magnitude(fmt: FloatFormat, code: int) -> int:
    return code & (fmt.code_mask >> fmt.signed)


def _is(code_of: Callable[[FloatFormat], int | None]) -> _Test:
    def test(fmt: FloatFormat, code: int) -> bool:
        return not fmt.is_nan(code) and _magnitude(fmt, code) == code_of(fmt)

    return test


def code_of_one(fmt: FloatFormat) -> int | None:
    """Return the code of 1, or None where the format has none."""
    return encoded(fmt, 0, 1, 0)


def largest_subnormal(fmt: FloatFormat) -> int | None:
    """Return the code of the largest subnormal, or None where the format has none."""
    return fmt.fraction_mask if fmt.zero and fmt.mantissa_bits else None


def smallest_subnormal(fmt: FloatFormat) -> int | None:
    """Return the code of the smallest subnormal, or None where the format has none."""
    return 1 if fmt.zero and fmt.mantissa_bits else None


def _is_normal(fmt: FloatFormat, code: int) -> bool:
    return not (fmt.is_nan(code) or fmt.is_infinite(code) or fmt.is_zero(code) or fmt.is_subnormal(code))


BASIC_TYPES: Mapping[str, _Test] = {
    "zero": FloatFormat.is_zero,
    "one": _is(code_of_one),
    "smallest subnormal": _is(smallest_subnormal),
    "subnormal": FloatFormat.is_subnormal,
    "largest subnormal": _is(largest_subnormal),
    "smallest normal": _is(lambda fmt: fmt.min_normal_code),
    "normal": _is_normal,
    "largest": _is(lambda fmt: fmt.max_code),
    "infinity": FloatFormat.is_infinite,
    "default NaN": lambda fmt, code: fmt.is_nan(code) and _magnitude(fmt, code) == _magnitude(fmt, fmt.nan_code or 0),
    "quiet NaN": lambda fmt, code: fmt.is_nan(code) and not fmt.is_signalling(code),
    "signalling NaN": FloatFormat.is_signalling,
}
"""FPgen's basic types of an operand."""


@lru_cache(maxsize=4096)
def basic_types(fmt: FloatFormat, code: int) -> tuple[str, ...]:
    """Return the names of the basic types that a code has, each with its sign."""
    sign = SIGNS[code >> fmt.bits - 1 if fmt.signed else 0]
    return tuple(sign + name for name, test in BASIC_TYPES.items() if test(fmt, code))


@lru_cache(maxsize=128)
def basic_codes(fmt: FloatFormat) -> tuple[int, ...]:
    """Return codes that include each basic type of the format, with each sign."""
    one = code_of_one(fmt)
    found = {0, 1, 2, 3, fmt.min_normal_code, fmt.max_code, fmt.max_code - 1, fmt.min_normal_code + 1}
    found |= {
        fmt.fraction_mask,
        fmt.fraction_mask >> 1,
        fmt.from_magnitude(fmt.min_normal_magnitude + fmt.max_magnitude >> 1),
    }
    found |= {code for code in (one, fmt.infinity_code, fmt.nan_code) if code is not None}
    if fmt.nan is NanEncoding.IEEE:
        top = fmt.max_code + 1 if fmt.infinity_code is None else fmt.infinity_code
        found |= {top | 1, top | fmt.quiet_bit - 1, top | fmt.quiet_bit | 1, top | fmt.fraction_mask}
    signs = (0, fmt.sign_mask) if fmt.sign_mask else (0,)
    return tuple(sorted({code & fmt.code_mask | sign for code in found for sign in signs}))


@lru_cache(maxsize=128)
def present_types(fmt: FloatFormat) -> dict[str, list[int]]:
    """Return the codes of `basic_codes` by the basic types that the format has."""
    present: dict[str, list[int]] = {}
    for code in basic_codes(fmt):
        for name in basic_types(fmt, code):
            present.setdefault(name, []).append(code)
    return present


def float_sources(case: ModelCase) -> list[FloatFormat]:
    """Return the formats of the operands; an empty list unless all are floats."""
    formats = [source for source in case.sources if isinstance(source, FloatFormat)]
    return formats if len(formats) == len(case.sources) else []


def _fraction_classes(bits: int) -> dict[int, set[str]]:
    """Return special fractions with the names of their patterns; one may have several."""
    every = (1 << bits) - 1
    classes: dict[int, set[str]] = {}

    def add(name: str, patterns: Iterable[int]) -> None:
        for pattern in patterns:
            classes.setdefault(pattern & every, set()).add(name)

    add("all zeros", [0])
    add("all ones", [every])
    add("one 1", (1 << k for k in range(bits)))
    add("one 0", (every ^ 1 << k for k in range(bits)))
    add("leading ones", (every ^ (1 << k) - 1 for k in range(1, bits)))
    add("trailing ones", ((1 << k) - 1 for k in range(1, bits)))
    if bits > 2:
        add("checkerboard", (int((word * bits)[:bits], 2) for word in ("01", "10", "0011", "1100", "011", "100")))
    if bits > 4:
        third = max(bits // 4, 1)
        add("long run of ones", [(1 << bits - third) - 1 ^ (1 << third) - 1, every ^ 1 << bits - 1 ^ 1])
        add("long run of zeros", [1 << bits - 1 | 1, every ^ (1 << bits - third) - 1 | (1 << third) - 1])
    return classes


@lru_cache(maxsize=128)
def fraction_patterns(bits: int) -> dict[str, list[int]]:
    """Return special fractions of that many bits by the name of their pattern."""
    by_name: dict[str, list[int]] = {}
    for pattern, names in _fraction_classes(bits).items():
        for name in sorted(names):
            by_name.setdefault(name, []).append(pattern)
    return by_name


pattern_names = lru_cache(maxsize=128)(_fraction_classes)


def normal_fraction(fmt: FloatFormat, code: int) -> int | None:
    """Return the fraction bits of a normal number; None for any other code."""
    return code & fmt.fraction_mask if _is_normal(fmt, code) else None
