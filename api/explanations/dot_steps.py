"""The steps of a model of matrix units, read from its trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from halfulp.explanations.dot_operands import DotOperands
from halfulp.explanations.dot_records import AlignedSum, DotRounding, DotStep, Term, leading_place, plus, ranges
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units.accumulator import Accumulator, shape_of
from halfulp.semantics.matrix_units.aligned_sums import Alignment, Members, RoundedResult, SumTrace
from halfulp.semantics.matrix_units.kinds import TileOp

_MOST_DROPPED = 24
"""The most dropped bits of a term that are shown."""


class StepReader:
    """Turns the trace of one element into steps."""

    def __init__(self, op: TileOp, rule: Accumulator | None, dot: DotOperands, trace: SumTrace) -> None:
        self.op, self.rule, self.dot = op, rule, dot
        self.trace = list(trace)
        self.at = 0
        whole = len(op.order) if op.order is not None else op.shape[2]
        order = op.order if op.order is not None else tuple(range(whole))
        self.order = [start + k for start in range(0, len(dot.a), whole) for k in order]
        self.format = FORMATS[op.d]
        self.c = scalar.convert(FORMATS[op.c], self.format, dot.c).code

    def groups(self) -> Iterator[DotStep]:
        """Yield the steps in order."""
        if self.rule is None or self.rule.chain:
            yield self._chain()
            return
        make = self._tree if self.rule.plain and not self.op.scale else self._by_rule
        size = min(self.rule.group or self.op.shape[2], self.op.shape[2])
        first = 0
        while first < len(self.order):
            # A group ends with an instruction.
            left = self.op.shape[2] - first % self.op.shape[2]
            elements = tuple(self.order[first : first + min(size, left)])
            yield make(elements, first == 0)
            first += len(elements)

    def _next(self, kind: Any) -> Any:
        step = self.trace[self.at]
        assert isinstance(step, kind)
        self.at += 1
        return step

    def _special(self, elements: Sequence[int]) -> bool:
        return scalar.value(self.format, self.c) is None or any(self.dot.products[k] is None for k in elements)

    # --- aligned and exact sums ---

    def _by_rule(self, elements: tuple[int, ...], first: bool) -> DotStep:
        assert self.rule is not None
        special, sums, roundings = self._special(elements), list[AlignedSum](), list[DotRounding]()
        before = "c" if first else "sum so far"
        flushed = self._flushed(elements, before) if self.rule.flush else []
        # The exact number that is rounded next: a product, the last aligned sum, or all of the group at once.
        exact = None if special else self._exact_sum(elements)
        while True:
            step = self._next((Alignment, RoundedResult))
            if isinstance(step, Alignment):
                labels = [self._label(member, elements, before) for member in step.members]
                sums.append(_aligned_sum(step, labels))
                exact = sums[-1].total.value
            elif step.last:
                break
            else:
                number = exact if sums else self._product(step.members, elements)
                label = self._label(step.members, elements, before)
                roundings.append(DotRounding(label, number, step.code, self.format, self._how(self.rule.partial)))
        unchanged, self.c = self.c == step.code, step.code
        if special:
            by_rule = DotRounding("result", None, step.code, self.format, "by the rules for special values")
            return DotStep(elements, (), (by_rule,), "infinities and NaNs decide")
        final = DotRounding("sum", exact, step.code, self.format, self._how(self.rule.rounding))
        unsigned = [k for k in elements if self.rule.dot > 1 and k in self.dot.negatively_scaled]
        note = f"the signs of scales do not count: k = {ranges(unsigned)}" if unsigned else ""
        idle = not any(self.dot.products[k] for k in elements) and not any(t.lost for each in sums for t in each.terms)
        if idle and unchanged:
            return DotStep(elements, (), (final,), f"all products are zero: {before} stays", tuple(flushed))
        return DotStep(elements, tuple(sums), (*roundings, final), note, tuple(flushed))

    def _flushed(self, elements: Sequence[int], before: str) -> list[str]:
        """Name the products and the sum so far that flushing makes zero."""
        factors = {k: self.dot.factors(k, True) for k in elements}
        names = [f"k = {k}" for k, (x, y) in factors.items() if self.dot.products[k] and not (x and y)]
        return names + ([before] if self.format.is_subnormal(self.c) else [])

    def _exact_sum(self, elements: Sequence[int]) -> Fraction | None:
        total = scalar.value(self.format, self.c)
        for k in elements:
            product = self.dot.products[k]
            unsigned = self.rule is not None and self.rule.dot > 1 and k in self.dot.negatively_scaled
            total = plus(total, -product if unsigned and product is not None else product)
        return total

    def _product(self, member: Members, elements: Sequence[int]) -> Fraction | None:
        """Return the exact number of a product, or of the dot of several that counts as one."""
        assert self.rule is not None
        (place,), total = member.products, Fraction(0)
        for k in elements[place * self.rule.dot : (place + 1) * self.rule.dot]:
            product = self.dot.products[k]
            if product is None:
                return None
            total += -product if self.rule.dot > 1 and k in self.dot.negatively_scaled else product
        return total

    def _how(self, mode: str) -> str:
        assert self.rule is not None
        words = mode.replace("_", " ")
        # Where a sum is cut off, the count of its bits tells where.
        cut = self.rule.fraction is not None or mode == "toward_zero"
        fraction = self.format.mantissa_bits if self.rule.fraction is None else self.rule.fraction
        return f"{words}, {fraction} fraction bits" if cut else words

    def _label(self, member: Members, elements: Sequence[int], before: str) -> str:
        assert self.rule is not None
        places, dot = member.products, self.rule.dot
        if not places:
            return before
        count = -(-len(elements) // dot)
        sets = {tuple(range(count)): "products"}
        if self.rule.tree == "even_odd":
            sets |= {tuple(range(0, count, 2)): "even k", tuple(range(1, count, 2)): "odd k"}
        ks = [k for place in places for k in elements[place * dot : (place + 1) * dot]]
        words = sets.get(places, f"k = {ranges(ks)}") if len(places) > 1 else f"k = {ranges(ks)}"
        return f"{before} and {words}" if member.c else words

    # --- roundings ---

    def _tree(self, elements: tuple[int, ...], first: bool) -> DotStep:
        assert self.rule is not None
        fmt, special = self.format, self._special(elements)
        how = "to nearest even" + (", subnormals to zero" if self.rule.flush else "")
        values = [self.dot.factors(k, self.rule.flush) for k in elements]
        exact: list[Fraction | None] = [None if x is None or y is None else x * y for x, y in values]
        flushed = [
            f"k = {k}" for k, (x, y) in zip(elements, values, strict=True) if self.dot.products[k] and not (x and y)
        ]
        additions = shape_of(self.rule.tree, len(elements))
        roundings, numbers = list[DotRounding](), list[Fraction | None]()
        for number in range(len(elements) + len(additions)):
            if number >= len(elements):
                left, right = additions[number - len(elements)]
                exact.append(plus(numbers[left], numbers[right]))
            step = self._next(RoundedResult)
            label = f"k = {ranges([elements[place] for place in sorted(step.members.products)])}"
            roundings.append(DotRounding(label, exact[number], step.code, fmt, how))
            numbers.append(scalar.value(fmt, step.code))
        before = scalar.value(fmt, self.c)
        if self.rule.flush and fmt.is_subnormal(self.c):
            before = Fraction(0)
            flushed.append("c" if first else "the sum so far")
        total = plus(before, numbers[-1])
        self.c = self._next(RoundedResult).code
        label = "c" if first else "sum so far"
        roundings.append(DotRounding(f"with {label}", total, self.c, fmt, "to nearest even"))
        if self.rule.flush and elements[-1] == self.order[-1]:
            value, code = scalar.value(fmt, self.c), self.dot.result
            roundings.append(DotRounding("result", value, code, fmt, "subnormals to zero"))
        if special:
            return DotStep(elements, (), tuple(roundings), "infinities and NaNs decide", tuple(flushed))
        if not any(self.dot.products[k] for k in elements) and before == scalar.value(fmt, roundings[-1].code):
            return DotStep(elements, (), tuple(roundings[-1:]), f"all products are zero: {label} stays", tuple(flushed))
        return DotStep(elements, (), tuple(roundings), "", tuple(flushed))

    def _chain(self) -> DotStep:
        roundings = []
        for k in self.order:
            x, y = self.dot.factors(k, False)
            before = scalar.value(self.format, self.c)
            exact = None if x is None or y is None or before is None else x * y + before
            step: RoundedResult = self._next(RoundedResult)
            moved = step.code != self.c or (exact is not None and x != 0 and y != 0)
            self.c = step.code
            if moved or k == self.order[-1]:
                roundings.append(DotRounding(f"+ k = {k}", exact, step.code, self.format, "to nearest even"))
        inexact = self.dot.rounded_scaled
        note = f"scaled elements are rounded to {self.format.name}: k = {ranges(inexact)}" if inexact else ""
        return DotStep(tuple(self.order), (), tuple(roundings), note)


def _aligned_sum(step: Alignment, labels: Sequence[str]) -> AlignedSum:
    """Return the terms with their bits; of the terms that are zero, only one with the largest exponent."""
    values = [
        s * Fraction(2) ** (e - f)
        for s, e, f in zip(step.significands, step.exponents, step.fraction_bits, strict=True)
    ]
    unit = Fraction(2) ** step.unit
    added = [kept * unit for kept in step.kept]
    total = step.total * unit
    leading = [n for n, e in enumerate(step.exponents) if e == step.largest]
    first = next((n for n in leading if values[n]), leading[0])
    top = max(step.largest, *(leading_place(value) for value in (*values, *added, total)))
    shown = [n for n, value in enumerate(values) if value or n == first]
    # Where a rule adds C last, C may have fewer places than the sum of the products.
    terms = tuple(_term(labels[n], values[n], added[n], top, step.largest, step.largest - step.bits[n]) for n in shown)
    whole = _term("sum", total, total, top, step.largest, step.unit)
    zeros = len(values) - len(shown)
    return AlignedSum(terms, zeros, step.largest, labels[first], step.unit, tuple(dict.fromkeys(step.cuts)), whole)


def _term(label: str, value: Fraction, added: Fraction, top: int, largest: int, unit: int) -> Term:
    magnitude = abs(value) / Fraction(2) ** unit
    kept = magnitude.numerator // magnitude.denominator
    digits = f"{kept:0{top - unit + 1}b}"
    places = top - largest + 1
    sign = "-" if value < 0 else "+"
    below, rest = magnitude - kept, ""
    while below and len(rest) < _MOST_DROPPED:
        below *= 2
        bit = int(below >= 1)
        rest, below = rest + str(bit), below - bit
    bits = f"{sign}{digits[:places]}.{digits[places:]}"
    moved = abs(added) != kept * Fraction(2) ** unit
    return Term(label, value, added, bits, rest + ("..." if below else ""), moved)
