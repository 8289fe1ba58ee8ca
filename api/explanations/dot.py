"""Why a matrix unit gives these bits: one element of D = A * B + C, step by step, and what all other models give.

The steps are those that the model itself goes through (`matrix_units.models.explain`); here they get the numbers of
the elements along K, their bits, kept and dropped, and words.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from halfulp.codegen.tile_names import operation_named
from halfulp.explanations.rounding import Explanation, explained, given_fraction, given_number, table_lines
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import decimal_text, hex_text, number_text, signed_text, value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported, did_you_mean
from halfulp.interp.values.spelling import parse_element
from halfulp.interp.values.value import Value, element_width, natural_dtypes, to_value
from halfulp.semantics.matrix_units import models as tiled
from halfulp.semantics.matrix_units.aligned_sums import Alignment, Trace
from halfulp.semantics.matrix_units.aligned_sums import Rounded as RoundedStep
from halfulp.semantics.matrix_units.chips import Rule
from halfulp.semantics.matrix_units.kinds import TileOp

_MOST_DROPPED = 24
"""So many dropped bits of a term are shown."""
_MOST_ELEMENTS = 1 << 14
_DIGITS = 24
"""Values in tables are cut to so many digits."""


# --- what is shown ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an aligned sum: its exact value, what of it is added, and its bits from the sum's highest place on:
    those that are kept, and those below the last place, which are dropped.
    """

    label: str
    value: Fraction
    added: Fraction
    kept: str
    dropped: str

    @property
    def lost(self) -> Fraction:
        """What of the value is not added."""
        return self.value - self.added


@dataclass(frozen=True, slots=True)
class AlignedSum:
    """Terms aligned to the largest exponent among them, which ``leading`` has, cut off below 2**``unit`` and added.

    ``zeros``: how many terms are zero, and not shown. ``total``: the sum, with its bits.
    """

    terms: tuple[Term, ...]
    zeros: int
    largest: int
    leading: str
    unit: int
    down: bool
    total: Term

    @property
    def words(self) -> str:
        """How the terms are added."""
        cut = "downward" if self.down else "toward zero"
        return (
            f"aligned to the largest exponent, {self.largest}, of {self.leading}; "
            f"below 2^{self.unit} terms are cut off {cut}"
        )


@dataclass(frozen=True, slots=True)
class Rounding:
    """A rounding: of what, its exact value (None: special), and the code it became, and how."""

    label: str
    exact: Fraction | None
    code: int
    format: FloatFormat
    how: str

    @property
    def lost(self) -> Fraction | None:
        """The exact value minus the rounded one, None where one of them is no number."""
        value = scalar.value(self.format, self.code)
        return None if value is None or self.exact is None else self.exact - value


@dataclass(frozen=True, slots=True)
class Group:
    """What one step does: the elements along K, their aligned sums, and roundings; ``note``: what there is to say of
    it in words. ``flushed``: subnormal operands that count as zero, by their names.
    """

    elements: tuple[int, ...]
    sums: tuple[AlignedSum, ...] = ()
    roundings: tuple[Rounding, ...] = ()
    note: str = ""
    flushed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The elements in words."""
        return f"k = {ranges(self.elements)}"

    @property
    def words(self) -> list[str]:
        """What there is to say before the numbers."""
        flushed = [f"subnormals count as zero: {', '.join(self.flushed)}"] if self.flushed else []
        return [*flushed, *([self.note] if self.note else [])]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What models give that agree: their names, the code, its error in ulp (None: no number), and why."""

    models: tuple[str, ...]
    code: int
    error: Fraction | None
    why: str


@dataclass(frozen=True, repr=False)
class DotExplanation:
    """One element of a tile, taken apart; ``str`` puts it into words.

    ``operation``, ``model``: what computes. ``a``, ``b``, ``c``, ``scales``: codes, those of A and B along K; scales
    are A's and B's. ``products``: exact, scaled, and None where they are no numbers; ``exact``: their sum with C.
    ``result``: the code, of D's type; ``rounding``: the exact sum rounded to that type, None of integers and where
    there is none. ``groups``: the steps of the model. ``models``: what each model gives, this one's first;
    ``unpublished``: those of which nobody has said it, by what is not known. ``notes``: operands that were rounded to
    their type, the elements of one value together.
    """

    operation: TileOp
    model: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    scales: tuple[tuple[int, ...], tuple[int, ...]] | None
    products: tuple[Fraction | None, ...]
    exact: Fraction | None
    result: int
    rounding: Explanation | None
    groups: tuple[Group, ...]
    models: tuple[ModelRow, ...]
    unpublished: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]

    @cached_property
    def title(self) -> str:
        """Operation and model in one line."""
        op = self.operation
        scales = f", scales {op.scale} for {op.block}" if op.scale else ""
        return f"{op.name}: {op.a} * {op.b} + {op.c} to {op.d}{scales}, model {self.model}"

    @property
    def error(self) -> Fraction | None:
        """Result minus exact sum in ulp; None where one of them is no number."""
        return self._error(self.result)

    def _error(self, code: int) -> Fraction | None:
        return error_of(code, self.rounding)

    def operand_rows(self) -> list[tuple[str, ...]]:
        """The factors that are not +0, with their products, and C; with a head."""
        op, scaled = self.operation, self.scales is not None
        rows: list[tuple[str, ...]] = [("", "a", "b", *(("scales",) if scaled else ()), "product")]
        hidden = 0
        for k, (x, y, product) in enumerate(zip(self.a, self.b, self.products, strict=True)):
            if product == 0 and x == y == 0:
                hidden += 1
                continue
            scales: tuple[str, ...] = ()
            if self.scales is not None:
                pair = [text_of(op.scale, each[k // op.block]) for each in self.scales]
                scales = (" * ".join(dict.fromkeys(pair)) if pair[0] != pair[1] else f"{pair[0]} each",)
            text = "no number" if product is None else decimal_text(product, _DIGITS)
            rows.append((f"k = {k}", text_of(op.a, x), text_of(op.b, y), *scales, text))
        rows.append(("c", text_of(op.c, self.c), "", *(("",) if scaled else ()), ""))
        if hidden:
            rows.append((f"{hidden} more", "0", "0", *(("",) if scaled else ()), "0"))
        return rows

    def result_rows(self) -> list[tuple[str, str]]:
        """The exact sum, the result and its error: a name and a text each."""
        d = self.operation.d
        rows = [] if self.exact is None else [("exact", number_text(self.exact))]
        rows.append(("result", text_of(d, self.result, 60)))
        if self.rounding is not None:
            assert self.rounding.ulp is not None
            # The number alone does not say which zero: that is up to the signs of all terms.
            once = next(row.code for row in self.models if "exact" in row.models)
            rows.append(("rounded once", text_of(d, once, 60)))
            error = "none: the result is no number" if self.error is None else f"{signed_text(self.error)} ulp"
            rows.append(("error", f"{error}; an ulp is 2^{_top(self.rounding.ulp)} here"))
        elif d not in FORMATS:
            rows.append(("rule", f"integers are added exactly, modulo 2^{d[1:]}"))
        return rows

    def model_rows(self) -> list[tuple[str, ...]]:
        """What the models give, as rows of a table with a head."""
        rows: list[tuple[str, ...]] = [("models", "code", "value", "error in ulp", "why")]
        for row in self.models:
            value, code = split_text(self.operation.d, row.code)
            error = "" if row.error is None else signed_text(row.error)
            rows.append((", ".join(row.models), code, value, error, row.why))
        return rows

    def unpublished_lines(self) -> list[str]:
        """Which models give nothing."""
        return [f"{what}: {', '.join(names)}" for what, names in self.unpublished]

    def group_title(self, number: int) -> str:
        """The head of a step."""
        where = f"step {number + 1} of {len(self.groups)}, " if len(self.groups) > 1 else ""
        return f"{where}{self.groups[number].title}"

    @cached_property
    def _lines(self) -> list[str]:
        lines = [self.title, "", *table_lines(self.operand_rows()), *(f"note  {note}" for note in self.notes), ""]
        width = max(len(name) for name, _ in self.result_rows()) + 2
        lines += [f"{name:<{width}}{text}" for name, text in self.result_rows()]
        for number, group in enumerate(self.groups):
            lines += ["", self.group_title(number)]
            lines += [f"  {words}" for words in group.words]
            for each in group.sums:
                lines.append(f"  {each.words}")
                lines += [f"    {line}" for line in table_lines(sum_rows(each))]
            if group.roundings:
                lines += [f"  {line}" for line in table_lines(rounding_rows(group.roundings))]
        return [*lines, "", *table_lines(self.model_rows()), *self.unpublished_lines()]

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from halfulp.explanations.dot_html import dot_html

        return dot_html(self)

    def html(self) -> str:
        """A page of its own: one file that needs nothing else."""
        from halfulp.explanations.dot_html import dot_page

        return dot_page(self)


def sum_rows(aligned: AlignedSum, digits: int = _DIGITS) -> list[tuple[str, ...]]:
    """The terms of a sum: bits, kept|dropped, the value, and what was lost; then the total."""
    rows = [
        (
            term.label,
            f"{term.kept}|{term.dropped}" if term.dropped else term.kept,
            decimal_text(term.value, digits),
            _lost_text(term, aligned.down, digits) if term.lost else "",
        )
        for term in aligned.terms
    ]
    if aligned.zeros:
        rows.append((f"{aligned.zeros} zero{'s'[: aligned.zeros != 1]}", "", "", ""))
    total = aligned.total
    return [*rows, ("sum", total.kept, decimal_text(total.value, digits), "")]


def _lost_text(term: Term, down: bool, digits: int) -> str:
    lost = f"loses {decimal_text(term.lost, digits)}"
    # The bits of a negative term that are kept are not those of what is below it.
    return f"{lost}: counts as {decimal_text(term.added, digits)}" if down and term.value < 0 else lost


def rounding_rows(roundings: Sequence[Rounding]) -> list[tuple[str, ...]]:
    """Roundings: of what, how, what became of it, and what was lost. Zeros that became +0 are left out."""
    rows, hidden = [], 0
    for each in roundings:
        if each.exact == 0 and each.code == 0 and each is not roundings[-1]:
            hidden += 1
            continue
        lost = "" if not each.lost else f"loses {decimal_text(each.lost, _DIGITS)}"
        rows.append((each.label, each.how, text_of(each.format.name, each.code), lost))
    return [*rows, *([(f"{hidden} more", "of zeros", "0", "")] if hidden else [])]


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in words: ``0 to 7``; ``0 to 3, 8 to 11``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]} to {part[1]}" for part in parts)


def scalar_number(type_: str, code: int) -> Fraction | None:
    """The exact value of an element, None for NaN and infinities."""
    if type_ in FORMATS:
        return scalar.value(FORMATS[type_], code)
    width = int(type_[1:])
    return Fraction(code - (1 << width) if code >> (width - 1) else code)


def split_text(type_: str, code: int, digits: int = _DIGITS) -> tuple[str, str]:
    """The value and the code of an element."""
    if type_ not in FORMATS:
        return str(scalar_number(type_, code)), f"0x{code:0{int(type_[1:]) // 4}X}"
    return value_text(FORMATS[type_], code, digits), hex_text(FORMATS[type_], code)


def text_of(type_: str, code: int, digits: int = _DIGITS) -> str:
    """An element, its code in brackets."""
    value, bits = split_text(type_, code, digits)
    return f"{value} ({bits})"


def error_of(code: int, rounding: Explanation | None) -> Fraction | None:
    """How far a code is from the exact sum, in ulp of that; None where one of them is no number."""
    if rounding is None or rounding.exact is None or rounding.ulp is None:
        return None
    value = scalar.value(rounding.format, code)
    return None if value is None else (value - rounding.exact) / rounding.ulp


# --- the steps of a model ---------------------------------------------------------------------------------------------


class _Steps:
    """Turns the trace of one element into groups."""

    def __init__(self, op: TileOp, rule: Rule | None, dot: _Dot, trace: Trace) -> None:
        self.op, self.rule, self.dot = op, rule, dot
        self.trace = list(trace)
        self.at = 0
        whole = len(op.order) if op.order is not None else op.shape[2]
        order = op.order if op.order is not None else tuple(range(whole))
        self.order = [start + k for start in range(0, len(dot.a), whole) for k in order]
        self.format = FORMATS[op.d]
        self.c = scalar.convert(FORMATS[op.c], self.format, dot.c).code

    def groups(self) -> Iterator[Group]:
        """One after the other."""
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

    def _aligned(self, elements: tuple[int, ...], first: bool) -> Group:
        assert self.rule is not None
        special, sums = self._special(elements), []
        before = "c" if first else "sum so far"
        while isinstance(self.trace[self.at], Alignment):
            step = self._next(Alignment)
            labels = [self._label(label, elements, before) for label in step.labels]
            sums.append(_aligned_sum(step, labels, self.rule))
        rounded: RoundedStep = self._next(RoundedStep)
        unchanged, self.c = self.c == rounded.code, rounded.code
        if special:
            by_rule = Rounding("result", None, rounded.code, self.format, "by the rules for special values")
            return Group(elements, (), (by_rule,), "infinities and NaNs decide")
        how = "to nearest even"
        if self.rule.how == "fused" and self.format.name == "f32":
            how = f"toward zero, {self.rule.fraction} fraction bits"
        final = Rounding("sum", sums[-1].total.value, rounded.code, self.format, how)
        unsigned = [k for k in elements if self.rule.dot > 1 and k in self.dot.negatively_scaled]
        note = f"the signs of scales do not count: k = {ranges(unsigned)}" if unsigned else ""
        idle = not any(self.dot.products[k] for k in elements) and not any(t.lost for each in sums for t in each.terms)
        if idle and unchanged:
            return Group(elements, roundings=(final,), note=f"all products are zero: {before} stays")
        return Group(elements, tuple(sums), (final,), note)

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

    def _tree(self, elements: tuple[int, ...], first: bool) -> Group:
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
            codes = [self._next(RoundedStep).code for _ in exact]
            roundings += [
                Rounding(f"k = {ranges(each)}", value, code, fmt, how)
                for each, value, code in zip(members, exact, codes, strict=True)
            ]
            if len(codes) == 1:
                break
            numbers = [scalar.value(fmt, code) for code in codes]
            exact = [_plus(x, y) for x, y in zip(numbers[0::2], numbers[1::2], strict=True)]
            members = [x + y for x, y in zip(members[0::2], members[1::2], strict=True)]
        before = scalar.value(fmt, self.c)
        if self.rule.flush and fmt.is_subnormal(self.c):
            before = Fraction(0)
            flushed.append("c" if first else "the sum so far")
        total = _plus(before, scalar.value(fmt, codes[0]))
        self.c = self._next(RoundedStep).code
        label = "c" if first else "sum so far"
        roundings.append(Rounding(f"with {label}", total, self.c, fmt, "to nearest even"))
        if self.rule.flush and elements[-1] == self.order[-1]:
            value, code = scalar.value(fmt, self.c), self.dot.result
            roundings.append(Rounding("result", value, code, fmt, "subnormals to zero"))
        if special:
            return Group(elements, (), tuple(roundings), "infinities and NaNs decide", tuple(flushed))
        if not any(self.dot.products[k] for k in elements) and before == scalar.value(fmt, roundings[-1].code):
            return Group(elements, (), tuple(roundings[-1:]), f"all products are zero: {label} stays", tuple(flushed))
        return Group(elements, (), tuple(roundings), "", tuple(flushed))

    def _chain(self) -> Group:
        roundings = []
        for k in self.order:
            x, y = self.dot.factors(k, False)
            before = scalar.value(self.format, self.c)
            exact = None if x is None or y is None or before is None else x * y + before
            step: RoundedStep = self._next(RoundedStep)
            moved = step.code != self.c or (exact is not None and x != 0 and y != 0)
            self.c = step.code
            if moved or k == self.order[-1]:
                roundings.append(Rounding(f"+ k = {k}", exact, step.code, self.format, "to nearest even"))
        inexact = self.dot.rounded_scaled
        note = f"scaled elements are rounded to {self.format.name}: k = {ranges(inexact)}" if inexact else ""
        return Group(tuple(self.order), (), tuple(roundings), note)


def _plus(x: Fraction | None, y: Fraction | None) -> Fraction | None:
    return None if x is None or y is None else x + y


def _aligned_sum(step: Alignment, labels: Sequence[str], rule: Rule) -> AlignedSum:
    """The terms with their bits; of those that are zero only one that has the largest exponent."""
    values = [
        s * Fraction(2) ** (e - f)
        for s, e, f in zip(step.significands, step.exponents, step.fraction_bits, strict=True)
    ]
    unit = Fraction(2) ** step.unit
    added = [kept * unit for kept in step.kept]
    total = step.total * unit
    leading = [n for n, e in enumerate(step.exponents) if e == step.largest]
    first = next((n for n in leading if values[n]), leading[0])
    top = max(step.largest, *(_top(value) for value in (*values, total)))
    shown = [n for n, value in enumerate(values) if value or n == first]
    # C has fewer places than the sum of the products to which a late rule adds it.
    fewer = {n: step.largest - rule.bits for n, label in enumerate(step.labels) if step.down and label == "c"}
    terms = tuple(_term(labels[n], values[n], added[n], top, step.largest, fewer.get(n, step.unit)) for n in shown)
    whole = _term("sum", total, total, top, step.largest, step.unit)
    zeros = len(values) - len(shown)
    return AlignedSum(terms, zeros, step.largest, labels[first], step.unit, step.down, whole)


def _top(value: Fraction) -> int:
    """The place of the leading bit of a dyadic number; far below all others of zero."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length() if value else -(1 << 20)


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


# --- the front --------------------------------------------------------------------------------------------------------


@dataclass
class _Dot:
    """One element's operands, as codes, and what is exact about it."""

    op: TileOp
    a: list[int]
    b: list[int]
    c: int
    scales: tuple[list[int], list[int]] | None
    result: int = 0

    @cached_property
    def products(self) -> tuple[Fraction | None, ...]:
        """Exact, scaled."""
        return tuple(self._product(k) for k in range(len(self.a)))

    def _product(self, k: int) -> Fraction | None:
        op = self.op
        factors = [scalar_number(op.a, self.a[k]), scalar_number(op.b, self.b[k])]
        factors += [scalar_number(op.scale, each[k // op.block]) for each in self.scales or ()]
        product = Fraction(1)
        for factor in factors:
            if factor is None:
                return None
            product *= factor
        return product

    @cached_property
    def exact(self) -> Fraction | None:
        """The sum of all products and C; None where that is no number."""
        total = scalar_number(self.op.c, self.c)
        for product in self.products:
            total = _plus(total, product)
        return total

    def factors(self, k: int, flushes: bool) -> tuple[Fraction | None, Fraction | None]:
        """The factors as models that round take them: scaled in D's format, subnormals flushed where the rule says."""
        op, found = self.op, []
        for side, (name, codes) in enumerate(((op.a, self.a), (op.b, self.b))):
            code, fmt = codes[k], FORMATS[name]
            if flushes and fmt.is_subnormal(code):
                code = 0
            number = scalar.value(fmt, code)
            if self.scales is not None:
                d = FORMATS[op.d]
                factor = scalar.convert(FORMATS[op.scale], d, self.scales[side][k // op.block]).code
                number = scalar.value(d, scalar.multiply(d, scalar.convert(fmt, d, code).code, factor).code)
            found.append(number)
        return found[0], found[1]

    @cached_property
    def rounded_scaled(self) -> list[int]:
        """The elements that are no longer exact when they were scaled in D's format."""
        pairs = [self.factors(k, False) for k in range(len(self.a))] if self.scales else []
        return [k for k, (x, y) in enumerate(pairs) if x is None or y is None or x * y != self.products[k]]

    @cached_property
    def negatively_scaled(self) -> list[int]:
        """The elements whose scales have a negative product."""
        if self.scales is None:
            return []
        fmt = FORMATS[self.op.scale]
        signs = [fmt.signed and bool((x ^ y) & (fmt.sign_mask or 0)) for x, y in zip(*self.scales, strict=True)]
        return [k for k in range(len(self.a)) if signs[k // self.op.block] and self.products[k]]

    def run(self, model: str) -> tuple[int, Trace]:
        """What a model gives. Raises `halfulp.semantics.matrix_units.models.Unpublished`."""
        op = self.op

        def array(name: str, codes: Sequence[int]) -> Any:
            return np.array(codes, FORMATS[name].storage_dtype if name in FORMATS else np.uint64)

        scales = [] if self.scales is None else [array(op.scale, each) for each in self.scales]
        with np.errstate(all="ignore"):
            return tiled.explain(model, op, array(op.a, self.a), array(op.b, self.b), self.c, *scales)


def explain_dot(
    kind: str,
    a: Any,
    b: Any,
    c: Any = 0,
    mma: str = "exact",
    *,
    element: tuple[int, int] | None = None,
    scale_a: Any = None,
    scale_b: Any = None,
    a_type: str | None = None,
    b_type: str | None = None,
) -> DotExplanation:
    """Explain one element of a tile D = A * B + C: every step of the model, and what all other models give.

    ``kind``: a kind such as ``MFMA_F32_16x16x16_F16`` or ``NV_MMA_SYNC_F32_16x8x16_F16``, or an instruction as PTX has
    it, ``wgmma.m64n8k32.f32.e4m3.e4m3`` (D, A, B, C if it differs from D; see `codegen.tile_names`). ``a``: a row of A;
    ``b``: a column of B; ``c``: an element of C. With ``element``, (i, j), they are whole tiles [M, K], [K, N] and
    [M, N], of which row i and column j are taken. Each is a list of numbers as `explain` takes them (decimals are
    rounded to the type, ``"0x3C00"`` are its bits), or a NumPy array or `Value` of exactly that type (raw codes will do
    for types of ml_dtypes). K is the kind's, or a multiple: several instructions, one after the other. ``mma``:
    "exact", "ieee" or "chip:<name>". ``scale_a``, ``scale_b``: of scaled operations, [K / block], or with ``element``
    [M, K / block] and [K / block, N]. ``a_type``, ``b_type``: of the kinds that leave them open.

    Raises InputError for operands, names and sizes that are wrong, TypeMismatch for arrays of another type, and
    Unsupported where nobody has published how that chip computes the operation, or infinities and NaNs in it.
    """
    op = operation_named(kind, a_type, b_type)
    if not isinstance(mma, str) or mma not in tiled.MODELS:
        near = did_you_mean(str(mma), tiled.MODELS)
        raise InputError(f"no model is called '{mma}'", hint=near or f"choose one of {', '.join(tiled.MODELS)}")
    notes: list[str] = []
    i, j = (0, 0) if element is None else _place(element)
    pick = element is not None
    row = _line(a, op.a, "a", 0, i, pick, notes)
    column = _line(b, op.b, "b", 1, j, pick, notes)
    addend = _line(c, op.c, "c", 0, i, pick, notes, j)
    if len(addend) != 1:
        raise InputError(f"c has {len(addend)} elements: give the one that the row and the column belong to")
    k = op.shape[2] if op.order is None else len(op.order)
    if len(row) > _MOST_ELEMENTS:
        raise InputError(f"a has {len(row)} elements; at most {_MOST_ELEMENTS} can be explained")
    if len(row) != len(column) or not row or len(row) % k:
        raise InputError(
            f"{op.name} takes {k} elements along K, or a multiple of that; a has {len(row)}, b has {len(column)}"
        )
    scales = None
    if op.scale:
        if scale_a is None or scale_b is None:
            raise InputError(f"{op.name} has a scale for {op.block} elements of A and B each: give scale_a and scale_b")
        scales = (
            _line(scale_a, op.scale, "scale_a", 0, i, pick, notes),
            _line(scale_b, op.scale, "scale_b", 1, j, pick, notes),
        )
        for name, codes in zip(("scale_a", "scale_b"), scales, strict=True):
            if len(codes) != len(row) // op.block:
                raise InputError(f"{name} has {len(codes)} elements, but there are {len(row) // op.block} blocks")
    elif scale_a is not None or scale_b is not None:
        raise InputError(f"{op.name} has no scales, but some are given")
    return _explained(op, mma, _Dot(op, row, column, addend[0], scales), tuple(notes))


def _explained(op: TileOp, model: str, dot: _Dot, notes: tuple[str, ...]) -> DotExplanation:
    rounding = None
    if dot.exact is not None and op.d in FORMATS:
        given = given_fraction("the exact sum", dot.exact)
        rounding = explained(given, FORMATS[op.d], "to_nearest_even", _spec(), (), others=False)
    try:
        dot.result, trace = dot.run(model)
    except tiled.Unpublished as error:
        hint = "the models exact and ieee have it" if model.startswith("chip:") else None
        raise Unsupported(str(error), hint=hint) from None
    groups = _groups(op, model, dot, trace)
    scales = None if dot.scales is None else (tuple(dot.scales[0]), tuple(dot.scales[1]))
    rows, unpublished = _models(op, model, dot, rounding)
    return DotExplanation(
        op, model, tuple(dot.a), tuple(dot.b), dot.c, scales, dot.products, dot.exact, dot.result, rounding, groups,
        rows, unpublished, notes,
    )  # fmt: skip


def _spec() -> Any:
    from halfulp.semantics.profile import SPEC

    return SPEC


def _groups(op: TileOp, model: str, dot: _Dot, trace: Trace) -> tuple[Group, ...]:
    """The steps of a model; none of the exact one and of integers."""
    if op.d not in FORMATS or model == "exact":
        return ()
    rule = tiled.rule_of(model, op) if model.startswith("chip:") else None
    return tuple(_Steps(op, rule, dot, trace).groups())


def _models(
    op: TileOp, model: str, dot: _Dot, rounding: Explanation | None
) -> tuple[tuple[ModelRow, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Models that give one code for one reason together, the model itself first; and those that give nothing."""
    found: dict[tuple[int, str], list[str]] = {}
    missing: dict[str, list[str]] = {}
    for name in (model, *(each for each in tiled.MODELS if each != model)):
        if not tiled.supports(name, op):
            missing.setdefault("not published", []).append(name)
            continue
        try:
            code, trace = dot.run(name)
        except tiled.Unpublished as error:
            missing.setdefault(f"not published{error.what}", []).append(name)
            continue
        own = replace(dot, result=code)
        found.setdefault((code, _why(op, name, own, _groups(op, name, own, trace))), []).append(name)
    rows = [ModelRow(tuple(names), code, error_of(code, rounding), why) for (code, why), names in found.items()]
    return tuple(rows), tuple((what, tuple(names)) for what, names in missing.items())


def _why(op: TileOp, model: str, dot: _Dot, groups: Sequence[Group]) -> str:
    """How a model adds, and what that lost of this sum."""
    if op.d not in FORMATS:
        return "integers"
    if model == "exact":
        return "the exact sum, rounded once"
    rule = tiled.rule_of(model, op) if model.startswith("chip:") else Rule("chain")
    if dot.exact is None:
        return f"{_how(rule, op)}: infinities and NaNs decide"
    effects = []
    if flushed := [name for group in groups for name in group.flushed]:
        effects.append(f"flushes {_some(flushed)}")
    if rule.how == "chain" and dot.rounded_scaled:
        effects.append(f"rounds scaled {_some([f'k = {k}' for k in dot.rounded_scaled])}")
    if rule.dot > 1 and dot.negatively_scaled:
        effects.append("ignores signs of scales")
    if cut := [term.label for group in groups for each in group.sums for term in each.terms if term.lost]:
        effects.append(f"cuts {_some(cut)}")
    *inner, last = [each for group in groups for each in group.roundings]
    if count := sum(bool(each.lost) for each in inner):
        effects.append(f"{count} inexact step{'s'[: count != 1]} on the way")
    if last.lost:
        effects.append("rounds the sum" if "nearest" in last.how else "cuts the sum")
    if any(each.lost is None for each in (*inner, last)):
        effects.append("overflows")
    return f"{_how(rule, op)}: {', '.join(effects) or 'nothing lost'}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _how(rule: Rule, op: TileOp) -> str:
    """How a rule adds, in a few words."""
    if rule.how == "chain":
        return "fused multiply-adds one by one"
    size = min(rule.group or op.shape[2], op.shape[2])
    groups = f"k in groups of {size}, " if size < op.shape[2] else ""
    if rule.how == "tree":
        return f"{groups}products and sums of two rounded"
    end = "" if op.d != "f32" or rule.how != "fused" else f", cut to {rule.fraction}"
    return f"{groups}{rule.bits} bits below the largest{', then c' if rule.how == 'late' else ''}{end}"


# --- operands ---------------------------------------------------------------------------------------------------------


def _place(element: Any) -> tuple[int, int]:
    try:
        i, j = map(operator.index, element)
    except (TypeError, ValueError):
        raise InputError(f"element is {element!r}, but must be the row and the column of D, as (3, 5)") from None
    return i, j


def _line(
    given: Any, type_: str, name: str, axis: int, index: int, pick: bool, notes: list[str], then: int | None = None
) -> list[int]:
    """The codes of a row (axis 0) or a column (axis 1), or of what is given for one; ``then``: of one element of it.

    ``pick``: a whole tile is given. Raises InputError, TypeMismatch.
    """
    element: ty.Type = ty.FloatType(FORMATS[type_]) if type_ in FORMATS else ty.IntegerType(int(type_[1:]))
    if isinstance(given, Value):
        if ty.element_type(given.type) != element:
            raise InputError(f"{name} is of type '{given.type}', but its elements must be '{element}'")
        if given.poison is not None:
            raise InputError(f"{name} is poison: {given.origin(*np.argwhere(given.poisoned)[0])}")
        return _codes(_picked(given.bits, name, axis, index, pick, then), element)
    if isinstance(given, np.ndarray):
        natural = natural_dtypes().get(element)
        if natural is not None and given.dtype == np.dtype((np.void, natural.itemsize)):
            given = given.view(natural)  # what np.save makes of an ml_dtypes array
        picked = np.atleast_1d(_picked(given, name, axis, index, pick, then))
        whole = ty.TensorType(picked.shape, element)
        if natural is not None and natural.isbuiltin != 1 and picked.dtype == np.dtype(f"u{natural.itemsize}"):
            return _codes(Value.from_bits(picked, whole).bits, element)  # codes, as files have them
        return _codes(to_value(np.ascontiguousarray(picked), whole, name).bits, element)
    rows = _picked_from_lists(given, name, axis, index, then) if pick else given
    numbers = list(rows) if isinstance(rows, list | tuple) else [rows]
    found, said = [], dict[str, list[int]]()
    for k, each in enumerate(numbers):
        code, note = _number(each, element, f"{name}[{k}]" if len(numbers) > 1 else name)
        found.append(code)
        if note:
            said.setdefault(note, []).append(k)
    notes += [
        f"{name}[{ranges(places)}]: {note}" if len(numbers) > 1 else f"{name}: {note}" for note, places in said.items()
    ]
    return found


def _codes(bits: Any, element: ty.Type) -> list[int]:
    return codes_to_ints(np.ravel(bits), element_width(element) or 0)


def _picked(array: Any, name: str, axis: int, index: int, pick: bool, then: int | None) -> Any:
    if pick:
        if array.ndim != 2:
            raise InputError(f"{name} has {array.ndim} dimensions, but with element=(i, j) it is a tile of two")
        _check_index(name, index, array.shape[axis])
        array = array[index] if axis == 0 else array[:, index]
        if then is not None:
            _check_index(name, then, len(array))
            array = array[then]
    elif array.ndim > 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one row, or name the element=(i, j) of a tile")
    return array


def _picked_from_lists(given: Any, name: str, axis: int, index: int, then: int | None) -> Any:
    if then is not None and not isinstance(given, list | tuple):
        return given  # one number for all of C
    if not isinstance(given, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in given):
        raise InputError(f"{name} must be a tile, a list of rows, since element=(i, j) is given")
    if axis == 0:
        _check_index(name, index, len(given))
        row = list(given[index])
        if then is not None:
            _check_index(name, then, len(row))
            return row[then]
        return row
    for row in given:
        _check_index(name, index, len(row))
    return [row[index] for row in given]


def _check_index(name: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise InputError(f"element: {name} has no {index}, only 0 to {size - 1}")


def _number(given: Any, element: ty.Type, name: str) -> tuple[int, str]:
    """The code of one number, and a note where it had to be rounded."""
    try:
        if not isinstance(element, ty.FloatType):
            whole = parse_element(element, str(given).strip())
            if whole is None:
                raise InputError("a poison element has no explanation")
            return whole, ""
        fmt = element.format
        explanation = explained(given_number(given, fmt), fmt, "to_nearest_even", _spec(), (), others=False)
    except HalfulpError as error:
        raise InputError(f"{name}: {error.message}", hint=error.hint) from None
    code = explanation.result.code
    if code is None:
        raise InputError(f"{name}: {explanation.given} is poison in {fmt.name}: {explanation.rule}")
    if explanation.result.error:
        return code, f"{explanation.given} is no {fmt.name} value: {text_of(fmt.name, code)}"
    return code, ""
