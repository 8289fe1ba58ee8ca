"""How closely a run knows exact numbers, beside condition numbers: programs whose condition is known exactly.

Each family is a program in one format, its arguments, and by fractions the exact result and the condition number: by
how much relative errors of operands and ops grow in the result, at worst.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, log2

import halfulp as hu
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.running import find_entry


@dataclass(frozen=True)
class Problem:
    """A program with one result. ``ops``: how many ops on numbers it runs."""

    text: str
    arguments: tuple[hu.Value, ...]
    exact: Fraction
    condition: Fraction
    ops: int


@dataclass(frozen=True)
class RunResult:
    """What a run knows of the result of a problem: its value, its error, and the radius of that."""

    value: Fraction
    error: Fraction
    radius: Fraction


def run(problem: Problem) -> RunResult:
    """Run a problem beside exact numbers."""
    module, shadows = hu.parse(problem.text), Shadows()
    program = program_for(module, Settings(recorder=shadows))
    (result,) = program.run(find_entry(module, None), problem.arguments)
    shadow = shadow_of(result)
    assert shadow is not None
    return RunResult(*(Fraction(float(each)) for each in (result.item(), shadow.error, shadow.radius)))


def _numbers(values: Sequence[Fraction], fmt: str) -> tuple[hu.Value, list[Fraction]]:
    """Round numbers; return them as a tensor, and each one."""
    rounded = hu.convert([float(each) for each in values], fmt)
    return rounded, [Fraction(each) for each in rounded.tolist()]


def cancelling_sum(fmt: str, bits: int) -> Problem:
    """Return a sum of 16 random terms, of which the last one takes away all but ``bits`` leading bits."""
    draw = random.Random(bits)
    terms = [Fraction(draw.uniform(0.5, 1)) for _ in range(15)]
    _, exact = _numbers(terms, fmt)
    given, exact = _numbers([*exact, -sum(exact) * (1 - Fraction(1, 2**bits))], fmt)
    text = f"""func.func @sum(%x: tensor<16x{fmt}>) -> {fmt} {{
  %zero = arith.constant dense<0.0> : tensor<{fmt}>
  %0 = linalg.reduce {{ arith.addf }} ins(%x : tensor<16x{fmt}>) outs(%zero : tensor<{fmt}>) dimensions = [0]
  %1 = tensor.extract %0[] : tensor<{fmt}>
  return %1 : {fmt}
}}"""
    total = sum(exact, Fraction(0))
    return Problem(text, (given,), total, sum(map(abs, exact), Fraction(0)) / abs(total), 16)


def polynomial(fmt: str, bits: int) -> Problem:
    """Return (x - 1)**7, expanded and by Horner's rule, at about 2**-bits from its root."""
    given, (x,) = _numbers([1 + Fraction(4, 3 * 2**bits)], fmt)
    coefficients = [(-1) ** (7 - k) * comb(7, k) for k in range(8)]
    lines = [f"  %i0 = arith.constant 0 : index\n  %x = tensor.extract %xs[%i0] : tensor<1x{fmt}>"]
    lines.append(f"  %h7 = arith.constant {coefficients[7]}.0 : {fmt}")
    for k in reversed(range(7)):
        lines.append(f"  %c{k} = arith.constant {coefficients[k]}.0 : {fmt}")
        lines.append(f"  %p{k} = arith.mulf %h{k + 1}, %x : {fmt}")
        lines.append(f"  %h{k} = arith.addf %p{k}, %c{k} : {fmt}")
    text = "\n".join([f"func.func @f(%xs: tensor<1x{fmt}>) -> {fmt} {{", *lines, f"  return %h0 : {fmt}\n}}"])
    exact = (x - 1) ** 7
    size = sum((abs(c) * x**k for k, c in enumerate(coefficients)), Fraction(0))
    return Problem(text, (given,), exact, size / abs(exact), 14)


def triangular_solve(fmt: str, size: int) -> Problem:
    """Return the last unknown of a random triangular system, by substitution."""
    draw = random.Random(size)
    starts = [k * (k + 1) // 2 for k in range(size + 1)]
    # The last number of each row stands on the diagonal.
    drawn = [draw.uniform(0.25, 0.5) if k + 1 in starts else draw.uniform(-1, 1) for k in range(starts[-1])]
    given, flat = _numbers([Fraction(each) for each in drawn], fmt)
    rows = [flat[first:last] for first, last in pairwise(starts)]
    right, b = _numbers([Fraction(draw.uniform(-1, 1)) for _ in range(size)], fmt)
    x: list[Fraction] = []
    # Each unknown takes part with the sum of the sizes of what it is computed from.
    sizes: list[Fraction] = []
    for row, number in zip(rows, b, strict=True):
        x.append((number - sum((a * y for a, y in zip(row, x, strict=False)), Fraction(0))) / row[-1])
        whole = abs(number) + sum((abs(a) * y for a, y in zip(row, sizes, strict=False)), Fraction(0))
        sizes.append(whole / abs(row[-1]) + abs(x[-1]))
    lines, ops = [], 0
    for k in range(size):
        lines += [
            f"  %i{k} = arith.constant {k} : index",
            f"  %s{k}_0 = tensor.extract %b[%i{k}] : tensor<{size}x{fmt}>",
        ]
        for j in range(k + 1):
            place = f"%j{k}_{j}"
            lines.append(f"  {place} = arith.constant {starts[k] + j} : index")
            lines.append(f"  %l{k}_{j} = tensor.extract %l[{place}] : tensor<{starts[-1]}x{fmt}>")
        for j in range(k):
            lines.append(f"  %p{k}_{j} = arith.mulf %l{k}_{j}, %x{j} : {fmt}")
            lines.append(f"  %s{k}_{j + 1} = arith.subf %s{k}_{j}, %p{k}_{j} : {fmt}")
        lines.append(f"  %x{k} = arith.divf %s{k}_{k}, %l{k}_{k} : {fmt}")
        ops += 2 * k + 1
    head = f"func.func @solve(%l: tensor<{starts[-1]}x{fmt}>, %b: tensor<{size}x{fmt}>) -> {fmt} {{"
    text = "\n".join([head, *lines, f"  return %x{size - 1} : {fmt}\n}}"])
    return Problem(text, (given, right), x[-1], sizes[-1] / abs(x[-1]), ops)


def hilbert_dot(fmt: str, size: int) -> Problem:
    """Return the product of a row of a Hilbert matrix, rounded, and a column of the inverse, which is exact."""
    middle = size // 2 + 1
    row = [Fraction(1, middle + j - 1) for j in range(1, size + 1)]
    column = [Fraction(_inverse_of_hilbert(size, j, middle)) for j in range(1, size + 1)]
    (x, a), (y, b) = _numbers(row, fmt), _numbers(column, fmt)
    text = f"""func.func @dot(%x: tensor<{size}x{fmt}>, %y: tensor<{size}x{fmt}>) -> {fmt} {{
  %zero = arith.constant dense<0.0> : tensor<{fmt}>
  %0 = linalg.dot ins(%x, %y : tensor<{size}x{fmt}>, tensor<{size}x{fmt}>) outs(%zero : tensor<{fmt}>) -> tensor<{fmt}>
  %1 = tensor.extract %0[] : tensor<{fmt}>
  return %1 : {fmt}
}}"""
    products = [p * q for p, q in zip(a, b, strict=True)]
    total = sum(products, Fraction(0))
    return Problem(text, (x, y), total, sum(map(abs, products), Fraction(0)) / abs(total), 2 * size)


def _inverse_of_hilbert(n: int, i: int, j: int) -> int:
    return (-1) ** (i + j) * (i + j - 1) * comb(n + i - 1, n - j) * comb(n + j - 1, n - i) * comb(i + j - 2, i - 1) ** 2


FAMILIES: dict[str, tuple[Callable[[str, int], Problem], str, tuple[int, ...]]] = {
    "a sum of 16 terms that cancel, f32": (cancelling_sum, "f32", (1, 6, 12, 18)),
    "(x - 1)⁷, expanded, near 1, f32": (polynomial, "f32", (0, 1, 2, 3)),
    "(x - 1)⁷, expanded, near 1, f64": (polynomial, "f64", (1, 3, 5, 7)),
    "a triangular system of n unknowns, f64": (triangular_solve, "f64", (2, 6, 10, 14)),
    "a row of a Hilbert matrix by a column of its inverse, f32": (hilbert_dot, "f32", (2, 3, 5, 6)),
    "a row of a Hilbert matrix by a column of its inverse, f64": (hilbert_dot, "f64", (3, 6, 9, 12)),
}
"""The families: how a problem is made, its format, and the numbers that make it harder."""


def rows() -> list[list[str]]:
    """Return the rows of the table: family, condition number, error of the result, what is not known of that."""
    found = []
    for name, (make, fmt, numbers) in FAMILIES.items():
        for number in numbers:
            problem = make(fmt, number)
            known = run(problem)
            error, radius = abs(known.error / problem.exact), known.radius / abs(problem.exact)
            found.append([name, *(_power(each) for each in (problem.condition, error, radius))])
            name = ""
    return found


def _power(number: Fraction) -> str:
    return f"2^{round(log2(number))}" if number else "0"


HEAD = ("problem", "condition number", "relative error of the result", "relative radius")
