"""The steps of a model of matrix units, read from its trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from halfulp.explanations.dot_operands import DotOperands
from halfulp.explanations.dot_records import AlignedSum, DotRounding, DotStep, Term, leading_place, plus, ranges
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units.aligned_sums import Alignment, RoundedResult, SumTrace
from halfulp.semantics.matrix_units.chips import Rule
from halfulp.semantics.matrix_units.kinds import TileOp

_MOST_DROPPED = 24
"""The most dropped bits of a term that are shown."""


class StepReader:
    """Turns the trace of one element into steps."""

    def __init__(self, op: TileOp, rule: Rule | None, dot: DotOperands, trace: SumTrace) -> None:
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
        if self.rule is None or self.rule.how == "chain":
            yield self._chain()
            return
        make = self._tree if self.rule.how == "tree" else self._aligned
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

    # --- aligned sums ---

    def _aligned(self, elements: tuple[int, ...], first: bool) -> DotStep:
        assert self.rule is not None
        special, sums = self._special(elements), []
        before = "c" if first else "sum so far"
        while isinstance(self.trace[self.at], Alignment):
            step = self._next(Alignment)
            labels = [self._label(label, elements, before) for label in step.labels]
            sums.append(_aligned_sum(step, labels, self.rule))
        rounded: RoundedResult = self._next(RoundedResult)
        unchanged, self.c = self.c == rounded.code, rounded.code
        if special:
            by_rule = DotRounding("result", None, rounded.code, self.format, "by the rules for special values")
            return DotStep(elements, (), (by_rule,), "infinities and NaNs decide")
        how = "to nearest even"
        if self.rule.how == "fused" and self.format.name == "f32":
            how = f"toward zero, {self.rule.fraction} fraction bits"
        final = DotRounding("sum", sums[-1].total.value, rounded.code, self.format, how)
        unsigned = [k for k in elements if self.rule.dot > 1 and k in self.dot.negatively_scaled]
        note = f"the signs of scales do not count: k = {ranges(unsigned)}" if unsigned else ""
        idle = not any(self.dot.products[k] for k in elements) and not any(t.lost for each in sums for t in each.terms)
        if idle and unchanged:
            return DotStep(elements, roundings=(final,), note=f"all products are zero: {before} stays")
        return DotStep(elements, tuple(sums), (final,), note)

    def _label(self, label: str, elements: Sequence[int], before: str) -> str:
        assert self.rule is not None
        words, _, number = label.rpartition(" ")
        if label == "c":
            return before
        if not number.isdigit():
            return label
        place = int(number)
        if words == "product":
            return f"k = {ranges(elements[place * self.rule.dot : (place + 1) * self.rule.dot])}"
        return f"k = {elements[2 * place + (words == 'product of odd k')]}"

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
        members = [[k] for k in elements]
        roundings = []
        while True:
            codes = [self._next(RoundedResult).code for _ in exact]
            roundings += [
                DotRounding(f"k = {ranges(each)}", value, code, fmt, how)
                for each, value, code in zip(members, exact, codes, strict=True)
            ]
            if len(codes) == 1:
                break
            numbers = [scalar.value(fmt, code) for code in codes]
            exact = [plus(x, y) for x, y in zip(numbers[0::2], numbers[1::2], strict=True)]
            members = [x + y for x, y in zip(members[0::2], members[1::2], strict=True)]
        before = scalar.value(fmt, self.c)
        if self.rule.flush and fmt.is_subnormal(self.c):
            before = Fraction(0)
            flushed.append("c" if first else "the sum so far")
        total = plus(before, scalar.value(fmt, codes[0]))
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


def _aligned_sum(step: Alignment, labels: Sequence[str], rule: Rule) -> AlignedSum:
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
    top = max(step.largest, *(leading_place(value) for value in (*values, total)))
    shown = [n for n, value in enumerate(values) if value or n == first]
    # Where a rule adds C last, C has fewer places than the sum of the products.
    fewer = {n: step.largest - rule.bits for n, label in enumerate(step.labels) if step.down and label == "c"}
    terms = tuple(_term(labels[n], values[n], added[n], top, step.largest, fewer.get(n, step.unit)) for n in shown)
    whole = _term("sum", total, total, top, step.largest, step.unit)
    zeros = len(values) - len(shown)
    return AlignedSum(terms, zeros, step.largest, labels[first], step.unit, step.down, whole)


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
    return Term(label, value, added, f"{sign}{digits[:places]}.{digits[places:]}", rest + ("..." if below else ""))
