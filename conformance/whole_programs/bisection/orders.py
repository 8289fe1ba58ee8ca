"""Sums of a few terms in all orders, and bounds on longer ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def sums_in_all_orders(format_: FloatFormat, terms: Sequence[int]) -> set[int]:
    """Return all results of additions of some codes, each rounded to nearest even, in any order and grouping."""
    found: dict[int, set[int]] = {1 << number: {code} for number, code in enumerate(terms)}
    for group in range(1, 1 << len(terms)):
        if group in found:
            continue
        sums = found[group] = set[int]()
        part = (group - 1) & group
        while part:
            if part > group ^ part:
                pairs = ((a, b) for a in found[part] for b in found[group ^ part])
                sums.update(scalar.add(format_, a, b).code for a, b in pairs)
            part = (part - 1) & group
    return found[(1 << len(terms)) - 1]


def bounds_of_all_orders(format_: FloatFormat, terms: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return bounds on the results of the additions of finite codes in any order."""
    values = [value for code in terms if (value := scalar.value(format_, code)) is not None]
    unit = Fraction(1, 1 << (format_.mantissa_bits + 1)) * (len(values) - 1)
    total, error = sum(values, Fraction(0)), sum(map(abs, values), Fraction(0)) * unit / (1 - unit)
    return total - error, total + error
