"""Codes that are likely to break floating-point code, shared by the tests of fp_formats."""

from __future__ import annotations

import random
from typing import Any

import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes

SMALL = tuple(fmt for fmt in FORMATS.values() if fmt.bits <= 8)
LARGE = tuple(fmt for fmt in FORMATS.values() if fmt.bits > 8)


def to_array(fmt: FloatFormat, codes: list[int]) -> npt.NDArray[Any]:
    return ints_to_codes(codes, fmt.bits, (len(codes),))


def to_list(fmt: FloatFormat, codes: npt.NDArray[Any]) -> list[int]:
    return codes_to_ints(codes, fmt.bits)


def all_codes(fmt: FloatFormat) -> list[int]:
    return list(range(1 << fmt.bits))


def interesting(fmt: FloatFormat) -> list[int]:
    """Both signs of zero, the ends of the subnormal, normal and special ranges, one, and NaNs of every kind."""
    positive = {0, 1, 2, 3, fmt.min_normal_code, fmt.max_code, fmt.bias << (fmt.bits - fmt.signed - fmt.exponent_bits)}
    positive |= {code + step for code in (fmt.min_normal_code, fmt.max_code) for step in (-2, -1, 1, 2, 3)}
    for special in (fmt.infinity_code, fmt.nan_code):
        if special is not None:
            positive |= {special, special + 1, special - 1, special | 3}
    positive.add(fmt.code_mask >> fmt.signed)
    signs = (0, fmt.sign_mask or 0)
    return sorted({(code | sign) & fmt.code_mask for code in positive for sign in signs if code >= 0})


def one_code(fmt: FloatFormat, rng: random.Random) -> int:
    """Return a random code with exponent and significand patterns from the corners."""
    width = fmt.exponent_bits
    top = (1 << width) - 1
    field = rng.choice(
        (0, 1, 2, top, top - 1, fmt.bias + rng.randint(-3, 3), fmt.bias + rng.randint(-70, 70), rng.randrange(top + 1))
    )
    bits = fmt.mantissa_bits
    every = (1 << bits) - 1
    run = rng.randint(0, bits)
    fraction = rng.choice(
        (0, 1, every, every - 1, 1 << run, (1 << run) - 1, every ^ ((1 << run) - 1), every >> 1, (every >> 1) + 1,
         rng.getrandbits(bits) if bits else 0, rng.getrandbits(bits) if bits else 0)
    ) & every  # fmt: skip
    code = (max(0, min(field, top)) << (fmt.mantissa_bits + fmt.explicit_integer_bit)) | fraction
    if fmt.explicit_integer_bit and (field > 0) != (rng.random() < 0.1):
        code |= 1 << fmt.mantissa_bits
    return code | (rng.getrandbits(1) << (fmt.bits - 1) if fmt.signed else 0)


def codes(fmt: FloatFormat, count: int, seed: int) -> list[int]:
    """Return ``count`` adversarial codes."""
    rng = random.Random(f"{seed} {fmt.name}")
    corners = interesting(fmt)
    return [rng.choice(corners) if rng.random() < 0.2 else one_code(fmt, rng) for _ in range(count)]


def pairs(fmt: FloatFormat, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Return ``count`` adversarial pairs: independent, near neighbours, opposites, close in exponent."""
    rng = random.Random(f"{seed} pairs {fmt.name}")
    first = codes(fmt, count, seed)
    second = []
    for a, other in zip(first, codes(fmt, count, seed + 1), strict=True):
        kind = rng.random()
        if kind < 0.2:
            other = (a + rng.randint(-4, 4)) % (1 << fmt.bits) ^ (rng.getrandbits(1) * (fmt.sign_mask or 0))
        elif kind < 0.4:
            gap = rng.randint(-fmt.precision - 3, fmt.precision + 3)
            other = (a ^ rng.getrandbits(min(fmt.bits, 4))) + (gap << (fmt.mantissa_bits + fmt.explicit_integer_bit))
            other = (other ^ (rng.getrandbits(1) * (fmt.sign_mask or 0))) & fmt.code_mask
        second.append(other)
    return first, second
