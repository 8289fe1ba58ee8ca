"""The integer ops of math against the digits of the numbers, for all operands of small types and some of large ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.semantics import integer_functions
from halfulp.semantics.kernel import Fault, Kernel

WIDTHS = (0, 1, 2, 3, 7, 8, 13, 32, 33, 64, 65, 128)


def digits(width: int, code: int) -> str:
    return format(code, "b").rjust(width, "0")[-width:] if width else ""


def signed(width: int, code: int) -> int:
    return code - (1 << width) if width and code >> width - 1 else code


EXPECTED: dict[str, Callable[[int, int], int]] = {
    "absi": lambda width, a: abs(signed(width, a)),
    "ctpop": lambda width, a: digits(width, a).count("1"),
    "ctlz": lambda width, a: len(digits(width, a)) - len(digits(width, a).lstrip("0")),
    "cttz": lambda width, a: len(digits(width, a)) - len(digits(width, a).rstrip("0")),
}


def columns(width: int, count: int) -> list[tuple[int, ...]]:
    """Return the operands of an op of ``count`` operands, by row."""
    if width * count <= 8:
        return list(product(range(1 << width), repeat=count))
    rng = random.Random(width)
    some = [rng.getrandbits(width) >> rng.randrange(width) for _ in range(20)]
    edges = [0, 1, 2, 3, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
    return list(product([*edges, *some], repeat=count))


def check(kernel: Kernel, width: int, rows: Sequence[tuple[int, ...]], expected: Sequence[int | None]) -> None:
    """Assert that both implementations give the expected codes; None stands for undefined behaviour."""
    assert [None if isinstance(found := kernel.scalar(*row), Fault) else found for row in rows] == list(expected)
    outcome = kernel.array(*(ints_to_codes(column, width, (len(rows),)) for column in zip(*rows, strict=True)))
    undefined = np.zeros(len(rows), np.bool_)
    for _, mask in outcome.faults:
        undefined |= mask
    together = codes_to_ints(outcome.results[0], width)
    assert [None if bad else code for code, bad in zip(together, undefined, strict=True)] == list(expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EXPECTED)
def test_functions_of_one_integer(name: str, width: int) -> None:
    rows = columns(width, 1)
    mask = (1 << width) - 1
    check(getattr(integer_functions, name)(width), width, rows, [EXPECTED[name](width, a) & mask for (a,) in rows])


def power(width: int, a: int, n: int) -> int | None:
    base, exponent = signed(width, a), signed(width, n)
    if exponent < 0:
        return {0: None, 1: 1, -1: (-1 if n & 1 else 1) % (1 << width)}.get(base, 0)
    result = 1
    for digit in bin(exponent)[2:]:
        result = result * result * (base if digit == "1" else 1) % (1 << width)
    return result % (1 << width)


@pytest.mark.parametrize("width", WIDTHS)
def test_powers_wrap_around(width: int) -> None:
    rows = columns(width, 2)
    check(integer_functions.ipowi(width), width, rows, [power(width, a, n) for a, n in rows])
