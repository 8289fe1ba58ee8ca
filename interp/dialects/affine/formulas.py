"""Affine expressions as kernels on indices.

A sum or product that does not fit the width of an index is poison, and so is everything that is computed from it. Of a
sum of several terms only the total counts: MLIR's simplifications of maps change the order of additions, and its
lowering makes additions that wrap, but products with ``overflow<nsw>``. A division or remainder by a number that is not
positive is undefined: the lowering refuses such a constant, and folder and lowering differ for other numbers. Division
by poison is undefined too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Binary, Dimension, Symbol
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.run.settings import Settings, narrowed_index
from halfulp.semantics.integer_kernels import Reading, division, wrapping
from halfulp.semantics.kernel import Fault, Kernel, Outcome, Scalar, faults_of, poison, undefined

DIVISION = undefined("division by a number that is not positive")
REMAINDER = undefined("remainder by a number that is not positive")
OVERFLOW = poison("overflow of affine arithmetic on index")

Numbers = npt.NDArray[np.int64]


_SMALLEST = np.int64(-(1 << 63))


def _sum_wraps(a: Numbers, b: Numbers, wrapped: Numbers) -> Numbers:
    overflows = ((a ^ wrapped) & (b ^ wrapped)) < 0
    found: Numbers = np.where(overflows, np.where(a < 0, np.int64(-1), np.int64(1)), np.int64(0))
    return found


def _product_wraps(a: Numbers, b: Numbers, wrapped: Numbers) -> Numbers:
    # A product that has wrapped, divided by one factor, is never the other one. NumPy cannot divide by 0, nor the
    # smallest number by -1.
    divisors = np.where((b == 0) | (b == -1), np.int64(1), b)
    mask: Mask = np.where(b == -1, a == _SMALLEST, (b != 0) & (wrapped // divisors != a))
    return mask.astype(np.int64)


def _ceiling(dividends: Numbers, divisors: Numbers) -> Numbers:
    # The usual -(-a // b) is wrong for the smallest number, whose negative is itself.
    rounded_up = np.remainder(dividends, divisors) != 0
    return np.asarray(np.floor_divide(dividends, divisors) + rounded_up, np.int64)


@dataclass(frozen=True, slots=True)
class _Operator:
    """An operator on Python integers, on arrays, which wraps at 64 bits, and on words.

    ``fault``: the fault of a divisor that is not positive. ``wraps``: tells, from the operands and the wrapped result,
    how often it went over the largest number, negative for the smallest one, and for products only whether; None if it
    never wraps. ``sums``: whether it takes operands that do not fit, as long as the total does.
    """

    scalar: Callable[[int, int], int]
    array: Callable[[Numbers, Numbers], Any]
    words: Implementation
    fault: Fault | None = None
    wraps: Callable[[Numbers, Numbers, Numbers], Numbers] | None = None
    sums: bool = False


def _quotient(toward: str) -> Implementation:
    """Return a quotient of signed words; a divisor that is not positive is refused."""
    divided = division(Reading(64, True), toward, exact=False)

    def implementation(a: Word, b: Word) -> Word:
        b.at_most(0, signed=True).refuse()
        quotient: Word = divided(a, b)
        return quotient

    return implementation


def _rest(a: Word, b: Word) -> Word:
    quotient: Word = _quotient("down")(a, b)
    return a - quotient * b


_EXACT = (Reading(64, True),)

_OPERATORS = {
    "+": _Operator(operator.add, np.add, wrapping(operator.add, _EXACT), wraps=_sum_wraps, sums=True),
    "*": _Operator(operator.mul, np.multiply, wrapping(operator.mul, _EXACT), wraps=_product_wraps),
    "floordiv": _Operator(operator.floordiv, np.floor_divide, _quotient("down"), DIVISION),
    "ceildiv": _Operator(lambda a, b: -(-a // b), _ceiling, _quotient("up"), DIVISION),
    "mod": _Operator(operator.mod, np.remainder, _rest, REMAINDER),
}


@dataclass(frozen=True, slots=True)
class Formula:
    """An affine expression as a list of numbers: its operands, then ``constants``, then one number per step. Each step
    computes its number from two numbers before it. ``result``: the index of the number that is the value of the
    expression.
    """

    operands: int
    constants: tuple[int, ...]
    steps: tuple[tuple[_Operator, int, int], ...]
    result: int

    @staticmethod
    def of(expr: AffineExpr, dimensions: int, symbols: int) -> Formula:
        """Return the formula of an expression. Equal parts of the expression become one step."""
        places: dict[AffineExpr, int] = {Dimension(k): k for k in range(dimensions)}
        places |= {Symbol(k): dimensions + k for k in range(symbols)}
        parts = _parts(expr)
        constants = [part for part in parts if isinstance(part, AffineConstant)]
        binary = [part for part in parts if isinstance(part, Binary)]
        for part in (*constants, *binary):
            places[part] = len(places)
        steps = [(_OPERATORS[part.operator], places[part.lhs], places[part.rhs]) for part in binary]
        return Formula(dimensions + symbols, tuple([part.value for part in constants]), tuple(steps), places[expr])

    def divides_by(self) -> frozenset[int]:
        """Return the operands on which a divisor depends."""
        depends = [{k} for k in range(self.operands)] + [set[int]() for _ in self.constants]
        found: set[int] = set()
        for function, left, right in self.steps:
            depends.append(depends[left] | depends[right])
            found |= depends[right] if function.fault is not None else set()
        return frozenset(found)


def _parts(expr: AffineExpr) -> list[AffineExpr]:
    """Return an expression and its parts, each once, operands before the parts that use them."""
    found: dict[AffineExpr, None] = {}
    stack = [(expr, False)]
    while stack:
        part, operands_done = stack.pop()
        if part in found:
            continue
        if isinstance(part, Binary) and not operands_done:
            stack += [(part, True), (part.rhs, False), (part.lhs, False)]
        else:
            found[part] = None
    return list(found)


def apply_kernel(formula: Formula, width: int) -> Kernel:
    """Return the kernel of an expression on indices of ``width`` bits, 32 or 64, stored in 64.

    A poison operand may stand for any number. A divisor that overflowed is replaced by the smallest integer, which
    makes the division undefined.
    """
    mask, sign = (1 << width) - 1, 1 << (width - 1)
    spare = np.int64(64 - width)
    constants = [((value & mask) ^ sign) - sign for value in formula.constants]
    divisions = tuple(dict.fromkeys(function.fault for function, _, _ in formula.steps if function.fault is not None))
    overflows = any(function.wraps is not None for function, _, _ in formula.steps)
    in_divisors = formula.divides_by()

    def scalar(*codes: int) -> Scalar:
        # None stands for poison.
        numbers: list[int | None] = [(code ^ sign) - sign for code in codes]
        numbers += constants

        def whole(place: int) -> int | None:
            number = numbers[place]
            return number if number is not None and -sign <= number < sign else None

        for function, left, right in formula.steps:
            number, by = (numbers[left], numbers[right]) if function.sums else (whole(left), whole(right))
            if function.fault is not None and (by is None or by <= 0):
                return function.fault
            exact = None if number is None or by is None else function.scalar(number, by)
            numbers.append(exact)
            if not function.sums:
                numbers[-1] = whole(-1)
        result = whole(formula.result)
        return OVERFLOW if result is None else result & mask

    def array(*codes: Codes) -> Outcome:
        shape = np.broadcast_shapes(*(operand.shape for operand in codes))
        # NumPy warns of overflow in arrays of rank 0, not in others.
        numbers = [_signed(np.atleast_1d(operand), spare) for operand in codes]
        numbers += [np.array([value], np.int64) for value in constants]
        lost: list[Mask | None] = [None] * len(numbers)
        wraps: list[Numbers | None] = [None] * len(numbers)  # of sums
        found: list[tuple[Fault, Mask]] = []

        def spoils(place: int) -> Mask | None:
            wrapped = wraps[place]
            return lost[place] if wrapped is None else _either(wrapped != 0, lost[place])

        for function, left, right in formula.steps:
            number, by = numbers[left], numbers[right]
            if function.fault is not None:
                wrong = _either(by <= 0, spoils(right))
                if wrong is not None and wrong.any():
                    found.append((function.fault, wrong))
                    by = np.where(wrong, np.int64(1), by)
            wrapped = function.array(number, by)
            result = _signed(wrapped.view(np.uint64), spare)
            times = None
            if function.wraps is not None:
                times = function.wraps(number, by, wrapped) if not spare else (wrapped - result) >> np.int64(width)
            if function.sums:
                lost.append(_either(lost[left], lost[right]))
                wraps.append(_total(wraps[left], wraps[right], times))
            else:
                spoiled = _either(spoils(left), spoils(right))
                lost.append(spoiled if times is None else _either(times != 0, spoiled))
                wraps.append(None)
            numbers.append(result)
        final = numbers[formula.result].view(np.uint64) & np.uint64(mask)
        whole = shape or (1,)
        spoiled = spoils(formula.result)
        if spoiled is not None:
            found.append((OVERFLOW, spoiled))
        masks = [(fault, np.broadcast_to(wrong, whole).reshape(shape)) for fault, wrong in found]
        return Outcome((np.broadcast_to(final, whole).reshape(shape),), faults_of(masks))

    worst = tuple([sign if k in in_divisors else 0 for k in range(formula.operands)])
    faults = (*divisions, OVERFLOW) if overflows else divisions
    return Kernel(
        scalar,
        array,
        worst if in_divisors else None,
        faults=faults,
        words=_words(formula) if formula.operands and width == 64 else None,
    )


def _words(formula: Formula) -> Callable[..., Word]:
    """Return the description of a formula, which refuses every fault."""

    def implementation(*operands: Word) -> Word:
        numbers = [*operands, *(operands[0].of(value) for value in formula.constants)]
        for function, left, right in formula.steps:
            numbers.append(function.words(numbers[left], numbers[right]))
        return numbers[formula.result]

    return implementation


def _total(*each: Numbers | None) -> Numbers | None:
    """Return the sum of what is there; None for nothing, and for zeros."""
    there = [one for one in each if one is not None and one.any()]
    return sum(there[1:], there[0]) if there else None


def _either(one: Mask | None, other: Mask | None) -> Mask | None:
    return other if one is None else one if other is None else one | other


def _signed(codes: Codes, spare: np.int64) -> Numbers:
    """Return codes of 64 - ``spare`` bits as signed numbers. The upper ``spare`` bits are ignored."""
    numbers = codes.astype(np.uint64, copy=False).view(np.int64)
    return (numbers << spare) >> spare if spare else numbers


def formula_of(map_: AffineMapAttr, result: AffineExpr, settings: Settings) -> Formula:
    """Return the formula of ``result``, one of the results of a map. Raises Unsupported for a constant that an index
    cannot hold.
    """
    formula = Formula.of(result, map_.dimensions, map_.symbols)
    if settings.index_width == 32:
        codes = np.array([value & ((1 << 64) - 1) for value in formula.constants], np.uint64)
        narrowed_index(codes, "a constant of the affine map")
    return formula
