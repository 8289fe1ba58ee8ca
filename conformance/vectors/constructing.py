"""Operands whose exact result is a wanted one: what the coverage models construct their rows from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from halfulp.conformance.vectors.intermediate import ModelCase, encoded, nearest, random_normal
from halfulp.conformance.vectors.multiply_adds import addends_and_factors
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats.formats import FloatFormat


def operands_for(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield operands whose exact result is (-1)**sign * significand * 2**exponent, or as close as the op can get.

    Several ways are tried, each with random choices. None is certain, so the caller checks the result.
    """
    method = {
        "add": _summands,
        "subtract": _summands,
        "multiply": _factors,
        "divide": _dividends,
        "remainder": _remainders,
        "multiply-add": addends_and_factors,
    }.get(case.kind)
    if not significand and case.kind in ("multiply", "divide", "remainder"):
        fmt = case.float_source
        other = random_normal(fmt, dice, dice.between(fmt.emin, fmt.emax))
        if fmt.zero and other is not None:
            yield 0, other
        return
    if method is not None:
        yield from method(case, dice, sign, significand, exponent)
        return
    code = nearest(case.sources[0], sign, significand, exponent)
    if code is not None:
        yield (code,)


def _summands(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield the upper and the lower part of the sum, with some ulps moved from one to the other."""
    fmt = case.float_source
    flip = int(case.kind == "subtract")
    length = significand.bit_length()
    lead = length - 1 + exponent
    half = max(length - fmt.precision, 0)
    first = (significand >> half + 1) << half
    a = encoded(fmt, sign, first, exponent)
    b = encoded(fmt, sign ^ flip if fmt.signed else 0, significand - first, exponent)
    if a is not None and b is not None:
        yield a, b
    # The upper part ends where a p-bit number with this leading bit, or one of the next binade, does.
    for spare in (0, dice.below(fmt.precision), -1):
        cut = max(lead - fmt.mantissa_bits + spare - exponent, 0)
        upper = significand >> cut
        low = significand - (upper << cut)
        moved = dice.below(4) - 1
        for step in (0, moved):
            first, second = (upper + step) << cut, low - (step << cut)
            a = encoded(fmt, sign ^ (first < 0), abs(first), exponent)
            b = encoded(fmt, sign ^ (second < 0) ^ flip if fmt.signed else 0, abs(second), exponent)
            if a is not None and b is not None:
                yield a, b
                swapped = encoded(fmt, sign ^ (second < 0), abs(second), exponent)
                other = encoded(fmt, sign ^ (first < 0) ^ flip if fmt.signed else 0, abs(first), exponent)
                if swapped is not None and other is not None:
                    yield swapped, other


def _split(case: ModelCase, dice: Dice, total: int, rising: bool) -> tuple[int, int]:
    """Return two exponents with that sum (difference if ``rising``), in the middle of the range in which both exist."""
    fmt = case.float_source
    low, high = fmt.emin - (fmt.mantissa_bits if fmt.zero else 0), fmt.emax
    if rising:  # first - second == total
        first = dice.between(max(low, low + total), min(high, high + total))
        return first, first - total
    first = dice.between(max(low, total - high), min(high, total - low))
    return first, total - first


def _pair(fmt: FloatFormat, *numbers: tuple[int, int, int]) -> tuple[int, ...] | None:
    """Return the codes closest to numbers of a sign, a significand and the exponent of its leading bit; None beyond
    range.
    """
    codes = [nearest(fmt, sign, bits, exponent - bits.bit_length() + 1) for sign, bits, exponent in numbers]
    found = tuple(code for code in codes if code is not None)
    return found if len(found) == len(numbers) else None


def _placed(
    case: ModelCase,
    dice: Dice,
    signs: tuple[int, int],
    significands: Iterable[tuple[int, int]],
    exponents: Callable[[int, int], int],
    rising: bool,
) -> Iterator[tuple[int, ...]]:
    """Yield pairs of these signs and significands, as far as the format has them. ``exponents``: the sum of their
    exponents (the difference if ``rising``), from both significands.
    """
    for first, second in significands:
        if not first or not second:
            continue
        one, two = _split(case, dice, exponents(first, second), rising)
        found = _pair(case.float_source, (signs[0], first, one), (signs[1], second, two))
        if found is not None:
            yield found


def _factors(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield factors: exact ones with a short second factor, factors with the product's low bits, factors
    close to it.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def exponents(first: int, second: int) -> int:
        near = lead - (first * second).bit_length() + 1  # exponent of the product, so that its leading bit is right
        return near + first.bit_length() + second.bit_length() - 2

    short = dice.bits(min(precision, 1 + dice.below(precision))) | 1
    full = 1 << precision - 1 | dice.bits(precision - 1)
    odd = full | 1
    low = significand & (1 << precision - 1) - 1
    inverse = pow(odd, -1, 1 << precision - 1) if precision > 1 else 0
    candidates = (
        (significand, 1),
        (significand // short, short),
        (low * inverse % (1 << precision - 1) | 1 << precision - 1, odd),
        (_rounded(significand << 2 * precision, full), full),
    )
    yield from _placed(case, dice, (sign ^ other, other), candidates, exponents, rising=False)


def _rounded(dividend: int, divisor: int) -> int:
    return (2 * dividend + divisor) // (2 * divisor)


def _dividends(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield dividends: an exact multiple of a short divisor, one near a multiple, the closest one of a random divisor.

    For the dividend near a multiple: with a quotient q whose remainder is r, the divisor solves q * divisor = -r modulo
    a power of two, and the dividend is the part of the product above that power.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def exponents(first: int, second: int) -> int:
        # A quotient of significands in [1, 2) lies below 1 where the dividend's is the smaller one.
        size = max(first.bit_length(), second.bit_length())
        return lead + (first << size - first.bit_length() < second << size - second.bit_length())

    stripped = significand >> (significand & -significand).bit_length() - 1 if significand else 1
    room = precision - stripped.bit_length()
    short = 1 << room | dice.bits(room) if room >= 0 else 1
    full = 1 << precision - 1 | dice.bits(precision - 1)
    candidates = [(stripped * (short >> 1 or 1), short >> 1 or 1), (stripped, 1)]
    candidates.append((_rounded(significand * full, 1 << significand.bit_length() - 1 if significand else 1), full))
    for bits in (precision, precision + 1):
        quotient = significand >> max(significand.bit_length() - bits, 0)
        zeros = (quotient & -quotient).bit_length() - 1 if quotient else 0
        for sense in (1, -1):
            for size in (1, 1 << dice.below(precision)):
                remainder = sense * size << zeros
                modulus = 1 << precision
                reduced = modulus >> zeros
                if reduced < 2 or not quotient:
                    continue
                divisor = -(remainder >> zeros) * pow(quotient >> zeros, -1, reduced) % reduced
                divisor |= dice.bits(zeros) << precision - zeros if zeros else 0
                candidates.append((quotient * divisor + remainder >> precision, divisor))
    yield from _placed(case, dice, (sign ^ other, other), candidates, exponents, rising=True)


def _remainders(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield a divisor above the remainder, and the remainder plus a small multiple of it."""
    fmt = case.float_source
    other = dice.bits(1) if fmt.signed else 0
    small = encoded(fmt, sign, significand, exponent)
    if small is not None:
        yield small, fmt.max_code | (fmt.sign_mask or 0) * other
    for times in (0, 1, 1 + dice.below(6)):
        for length in (1, 2, fmt.precision):
            lead = significand.bit_length() + exponent + dice.below(3)
            divisor = (1 << length - 1 | dice.bits(length - 1)) if length > 1 else 1
            scale = lead - length + 1
            shift = min(scale, exponent)
            total = (significand << exponent - shift) + times * (divisor << scale - shift)
            a = encoded(fmt, sign, total, shift)
            b = encoded(fmt, other, divisor, scale)
            if a is not None and b is not None:
                yield a, b
