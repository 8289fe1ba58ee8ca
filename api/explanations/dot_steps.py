"""The parts of an explained dot product: operands, the steps of a model, read from its trace, and their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from halfulp.explanations.records import RoundingExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import (
    code,
    decimal_text,
    fragment,
    hex_text,
    hexadecimal,
    number_text,
    signed_text,
    table,
    table_lines,
    title,
    value_text,
)
from halfulp.interp.ir.base import narrowed
from halfulp.semantics.matrix_units import models as tiled
from halfulp.semantics.matrix_units.accumulator import OWN, Accumulator, places_of, shape_of
from halfulp.semantics.matrix_units.aligned_sums import Alignment, Members, RoundedResult, SumTrace
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import RegisterStep

# --- records and texts ------------------------------------------------------------------------------------------------


DIGITS = 24
"""The most digits of a value in tables."""
_FEW_DIGITS = 10
"""The most digits of a value beside bits, in a notebook."""


CUT_WORDS = {
    "toward_zero": "cut off toward zero",
    "downward": "cut off downward",
    "upward": "cut off upward",
    "to_nearest_even": "rounded to nearest even",
    "to_nearest_away": "rounded to nearest, ties away from zero",
    "to_odd": "cut off toward zero, with a sticky last bit",
}
"""Words for the roundings of aligned terms."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an aligned sum: its exact value, the part that is added, and its bits from the highest place of the sum
    to the right: first the bits down to the last place, then the bits below it, which are dropped. ``moved``: True if
    the part that is added differs from the bits down to the last place, because it was rounded up or counts as zero.
    """

    label: str
    value: Fraction
    added: Fraction
    kept: str
    dropped: str
    moved: bool = False

    @property
    def lost(self) -> Fraction:
        """Return the part of the value that is not added."""
        return self.value - self.added


@dataclass(frozen=True, slots=True)
class AlignedSum:
    """Terms aligned to the largest exponent among them, cut off below 2**``unit`` and added. ``leading``: the name of
    the term with this exponent.

    ``zeros``: the number of terms that are zero, and not shown.
    ``cuts``: the roundings of the terms.
    ``total``: the sum, with its bits.
    ``register``: the terms are added to a register in fixed point, which has no exponents; ``held`` says what it does
    with a sum out of its range.
    """

    terms: tuple[Term, ...]
    zeros: int
    largest: int
    leading: str
    unit: int
    cuts: tuple[str, ...]
    total: Term
    register: str = ""
    held: str = ""

    @property
    def words(self) -> str:
        """A sentence that says how the terms are added."""
        how = " or ".join(CUT_WORDS[cut] for cut in self.cuts)
        if self.register:
            return f"in {self.register}; below 2^{self.unit} terms are {how}{self.held and f'; {self.held}'}"
        return (
            f"aligned to the largest exponent, {self.largest}, of {self.leading}; below 2^{self.unit} terms are {how}"
        )


@dataclass(frozen=True, slots=True)
class DotRounding:
    """A rounding: its operand, the exact value (None: special), the code of the result, and the rounding mode."""

    label: str
    exact: Fraction | None
    code: int
    format: FloatFormat
    how: str

    @property
    def lost(self) -> Fraction | None:
        """Return the exact value minus the rounded one; None if one of them is not a number."""
        value = scalar.value(self.format, self.code)
        return None if value is None or self.exact is None else self.exact - value


@dataclass(frozen=True, slots=True)
class DotStep:
    """One step: the elements along K, their aligned sums, and roundings. ``note``: a remark. ``flushed``: the names of
    subnormal operands that count as zero.
    """

    elements: tuple[int, ...]
    sums: tuple[AlignedSum, ...] = ()
    roundings: tuple[DotRounding, ...] = ()
    note: str = ""
    flushed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the step, which names its elements. If the step adds C at the end, it has no elements."""
        return f"k = {ranges(self.elements)}" if self.elements else "c"

    @property
    def words(self) -> list[str]:
        """Return the words that come before the numbers."""
        flushed = [f"subnormals count as zero: {', '.join(self.flushed)}"] if self.flushed else []
        return [*flushed, *([self.note] if self.note else [])]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """Models that agree: their names, the code, its error in ulp (None: not a number), and the reason."""

    models: tuple[str, ...]
    code: int
    error: Fraction | None
    why: str


@dataclass(frozen=True, repr=False)
class DotExplanation:
    """The explanation of one element of a tile. Print it, show it in a notebook, or write it as a page.

    ``operation``, ``model``: how the element is computed.
    ``a``, ``b``: the codes of A and B along K.
    ``c``: the code of C.
    ``scales``: the codes of the scales of A and of B.
    ``products``: the exact, scaled products; a product that is not a number is None.
    ``exact``: the sum of the products and C.
    ``result``: the code of the result in D's type.
    ``rounding``: the explanation of the exact sum rounded to that type; None for integers, and if the sum is not a
    number.
    ``groups``: the steps of the model.
    ``models``: the results of all models, this model first.
    ``unpublished``: the models without a published result, grouped by what is unknown.
    ``notes``: the operands that were rounded to their type; elements with the same value share one note.
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
    rounding: RoundingExplanation | None
    groups: tuple[DotStep, ...]
    models: tuple[ModelRow, ...]
    unpublished: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]

    @cached_property
    def title(self) -> str:
        """The operation and the model, in one line."""
        op = self.operation
        scales = f", scales {op.scale} for {op.block}" if op.scale else ""
        return f"{op.name}: {op.a} * {op.b} + {op.c} to {op.d}{scales}, model {self.model}"

    @property
    def error(self) -> Fraction | None:
        """The result minus the exact sum, in ulp; None if one of them is not a number."""
        return error_of(self.result, self.rounding)

    def operand_rows(self) -> list[tuple[str, ...]]:
        """Return rows with the factors that are not +0, their products, and C; the first row is the heading."""
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
            text = "no number" if product is None else decimal_text(product, DIGITS)
            rows.append((f"k = {k}", text_of(op.a, x), text_of(op.b, y), *scales, text))
        rows.append(("c", text_of(op.c, self.c), "", *(("",) if scaled else ()), ""))
        if hidden:
            rows.append((f"{hidden} more", "0", "0", *(("",) if scaled else ()), "0"))
        return rows

    def result_rows(self) -> list[tuple[str, str]]:
        """Return the exact sum, the result and its error, as pairs of a name and a text."""
        d = self.operation.d
        rows = [] if self.exact is None else [("exact", number_text(self.exact))]
        rows.append(("result", text_of(d, self.result, 60)))
        if self.rounding is not None:
            assert self.rounding.ulp is not None
            # The number alone does not tell which zero it is: this depends on the signs of all terms.
            once = next(row.code for row in self.models if "exact" in row.models)
            rows.append(("rounded once", text_of(d, once, 60)))
            error = "none: the result is not a number" if self.error is None else f"{signed_text(self.error)} ulp"
            rows.append(("error", f"{error}; an ulp is 2^{leading_place(self.rounding.ulp)} here"))
        elif d not in FORMATS:
            rows.append(("rule", f"integers are added exactly, modulo 2^{d[1:]}"))
        return rows

    def model_rows(self) -> list[tuple[str, ...]]:
        """Return the results of the models as the rows of a table; the first row is the heading."""
        rows: list[tuple[str, ...]] = [("models", "code", "value", "error in ulp", "why")]
        for row in self.models:
            value, code = split_text(self.operation.d, row.code)
            error = "" if row.error is None else signed_text(row.error)
            rows.append((", ".join(row.models), code, value, error, row.why))
        return rows

    def unpublished_lines(self) -> list[str]:
        """Return lines that list the models without a published result."""
        return [f"{what}: {', '.join(names)}" for what, names in self.unpublished]

    def group_title(self, number: int) -> str:
        """Return the heading of a step."""
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
        notes = [("note", escape(note)) for note in self.notes]
        rows = [(escape(name), escape(text)) for name, text in self.result_rows()]
        steps = [_group(self.group_title(number), group) for number, group in enumerate(self.groups)]
        unpublished = [f"<p>{escape(line)}</p>" for line in self.unpublished_lines()]
        tables = _plain(self.operand_rows()), table([*notes, *rows], named=True)
        return fragment(title(self.title), *tables, *steps, _plain(self.model_rows(), named=False), *unpublished)

    def html(self) -> str:
        """Return a self-contained page: one file that needs no other file."""
        heading = escape(self.title)
        head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        style = "<style>body{font-family:system-ui,sans-serif;margin:24px}</style>"
        return (
            f'<!doctype html><html lang="en"><head>{head}<title>{heading}</title>{style}</head>'
            f"<body>{self._repr_html_()}</body></html>\n"
        )


def _plain(rows: Sequence[tuple[str, ...]], named: bool = True) -> str:
    head, *body = rows
    return table([[escape(cell) for cell in row] for row in body], head, named)


def _group(heading: str, group: DotStep) -> str:
    parts = [title(heading)]
    parts += [f"<p>{escape(words)}</p>" for words in group.words]
    for each in group.sums:
        parts += [f"<p>{escape(each.words)}</p>", table(_terms(each), named=True)]
    if group.roundings:
        rows = [[escape(cell) for cell in row] for row in rounding_rows(group.roundings)]
        parts.append(table(rows, named=True))
    return "".join(parts)


def _terms(aligned: AlignedSum) -> Iterator[list[str]]:
    """Yield the rows of a sum; dropped bits are struck out."""
    for label, bits, *rest in sum_rows(aligned, _FEW_DIGITS):
        kept, _, dropped = bits.partition("|")
        shown = code(kept) + (f"<del>{code(dropped)}</del>" if dropped else "") if kept else ""
        yield [escape(label), f'<td style="white-space:nowrap">{shown}</td>', *map(escape, rest)]


def sum_rows(aligned: AlignedSum, digits: int = DIGITS) -> list[tuple[str, ...]]:
    """Return the terms of a sum as rows: the bits kept|dropped, the value, and the loss; then the total."""
    rows = [
        (
            term.label,
            f"{term.kept}|{term.dropped}" if term.dropped else term.kept,
            decimal_text(term.value, digits),
            _lost_text(term, digits) if term.lost else "",
        )
        for term in aligned.terms
    ]
    if aligned.zeros:
        rows.append((f"{aligned.zeros} zero{'s'[: aligned.zeros != 1]}", "", "", ""))
    total = aligned.total
    return [*rows, ("register" if aligned.register else "sum", total.kept, decimal_text(total.value, digits), "")]


def _lost_text(term: Term, digits: int) -> str:
    lost = f"loses {decimal_text(term.lost, digits)}"
    return f"{lost}: counts as {decimal_text(term.added, digits)}" if term.moved else lost


def rounding_rows(roundings: Sequence[DotRounding]) -> list[tuple[str, ...]]:
    """Return roundings as rows: operand, mode, result, loss. Zeros that are rounded to +0 are left out."""
    rows, hidden = [], 0
    for each in roundings:
        if each.exact == 0 and each.code == 0 and each is not roundings[-1]:
            hidden += 1
            continue
        lost = "" if not each.lost else f"loses {decimal_text(each.lost, DIGITS)}"
        rows.append((each.label, each.how, text_of(each.format.name, each.code), lost))
    return [*rows, *([(f"{hidden} more", "of zeros", "0", "")] if hidden else [])]


def ranges(numbers: Sequence[int]) -> str:
    """Return the text of ascending numbers as ranges: ``0 to 7``, or ``0 to 3, 8 to 11``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]} to {part[1]}" for part in parts)


def scalar_number(type_: str, code: int) -> Fraction | None:
    """Return the exact value of an element; None for NaN and infinities."""
    if type_ in FORMATS:
        return scalar.value(FORMATS[type_], code)
    width = int(type_[1:])
    return Fraction(code - (1 << width) if code >> (width - 1) else code)


def split_text(type_: str, code: int, digits: int = DIGITS) -> tuple[str, str]:
    """Return two texts: the value of an element, and its code."""
    if type_ not in FORMATS:
        return str(scalar_number(type_, code)), hexadecimal(code, int(type_[1:]))
    return value_text(FORMATS[type_], code, digits), hex_text(FORMATS[type_], code)


def text_of(type_: str, code: int, digits: int = DIGITS) -> str:
    """Return the text of an element, with its code in brackets."""
    value, bits = split_text(type_, code, digits)
    return f"{value} ({bits})"


def error_of(code: int, rounding: RoundingExplanation | None) -> Fraction | None:
    """Return the distance of a code from the exact sum, in ulp of the sum; None if one of them is not a number."""
    if rounding is None or rounding.exact is None or rounding.ulp is None:
        return None
    value = scalar.value(rounding.format, code)
    return None if value is None else (value - rounding.exact) / rounding.ulp


def plus(x: Fraction | None, y: Fraction | None) -> Fraction | None:
    """Return the sum of two exact numbers; None if one of them is not a number."""
    return None if x is None or y is None else x + y


def leading_place(value: Fraction) -> int:
    """Return the place of the leading bit of a dyadic number; for zero, a place far below all others."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length() if value else -(1 << 20)


# --- operands ---------------------------------------------------------------------------------------------------------


@dataclass
class DotOperands:
    """The operands of one element, as codes, with their exact products and sum."""

    op: TileOp
    a: list[int]
    b: list[int]
    c: int
    scales: tuple[list[int], list[int]] | None
    result: int = 0

    @cached_property
    def products(self) -> tuple[Fraction | None, ...]:
        """Return the exact scaled products."""
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
        """Return the sum of all products and C; None if it is not a number."""
        total = scalar_number(self.op.c, self.c)
        for product in self.products:
            total = plus(total, product)
        return total

    def factors(self, k: int, flushes: bool) -> tuple[Fraction | None, Fraction | None]:
        """Return both factors of a product as the models that round use them: scaled in D's format, and with subnormals
        flushed if ``flushes``.
        """
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
        """The indices of the elements that are inexact after scaling in D's format."""
        pairs = [self.factors(k, False) for k in range(len(self.a))] if self.scales else []
        return [k for k, (x, y) in enumerate(pairs) if x is None or y is None or x * y != self.products[k]]

    @cached_property
    def negatively_scaled(self) -> list[int]:
        """The indices of the elements whose scales have a negative product."""
        if self.scales is None:
            return []
        fmt = FORMATS[self.op.scale]
        signs = [fmt.signed and bool((x ^ y) & (fmt.sign_mask or 0)) for x, y in zip(*self.scales, strict=True)]
        return [k for k in range(len(self.a)) if signs[k // self.op.block] and self.products[k]]

    def run(self, model: str) -> tuple[int, SumTrace]:
        """Return the result of a model as a code, and the steps. Raises
        `halfulp.semantics.matrix_units.models.Unpublished`.
        """
        op = self.op

        def array(name: str, codes: Sequence[int]) -> Any:
            return np.array(codes, FORMATS[name].storage_dtype if name in FORMATS else np.uint64)

        scales = [] if self.scales is None else [array(op.scale, each) for each in self.scales]
        with np.errstate(all="ignore"):
            return tiled.explain(model, op, array(op.a, self.a), array(op.b, self.b), self.c, *scales)


# --- steps ------------------------------------------------------------------------------------------------------------


_MOST_DROPPED = 24
"""The most dropped bits of a term that are shown."""


class StepReader:
    """Converts the trace of one element to steps."""

    def __init__(self, op: TileOp, rule: Accumulator | None, dot: DotOperands, trace: SumTrace) -> None:
        self.op, self.dot, self.at_end = op, dot, rule is not None and rule.c == "end"
        self.order = places_of(rule, op, len(dot.a))
        self.rule = None if rule is None else rule.of_a_step
        self.step_type = OWN if rule is None else rule.steps
        self.trace = list(trace)
        self.at = 0
        self.format = FORMATS[op.d]
        self.c = scalar.convert(FORMATS[op.c], self.format, dot.c).code

    def groups(self) -> Iterator[DotStep]:
        """Yield the steps in order."""
        whole = self.op.shape[2]
        if self.rule is None or self.rule.chain:
            size = group = whole if self.at_end else len(self.order)
        else:
            size, group = whole, min(self.rule.group or whole, whole)
        for start in range(0, len(self.order), size):
            instruction, addend = self.order[start : start + size], self.c
            self.c = 0 if self.at_end else addend
            for first in range(0, size, group):
                yield self._make(tuple(instruction[first : first + group]), start == first == 0)
            if self.at_end:
                yield self._with_c(addend, "c" if start == 0 else "sum so far")

    def _make(self, elements: tuple[int, ...], first: bool) -> DotStep:
        if self.rule is None or self.rule.chain:
            return self._chain(elements)
        if self.rule.lsb is not None:
            return self._in_register(elements, first)
        make = self._tree if self.rule.plain and not self.op.scale else self._by_rule
        return make(elements, first)

    def _with_c(self, addend: int, name: str) -> DotStep:
        """Return the step that adds C to the sum of the products."""
        pair = [0 if self.rule and self.rule.flush and self.format.is_subnormal(x) else x for x in (self.c, addend)]
        total = plus(*(scalar.value(self.format, x) for x in pair))
        self.c = self._next(RoundedResult).code
        how = "to nearest even" if total is not None else "by the rules for special values"
        rounding = DotRounding(f"products and {name}", total, self.c, self.format, how)
        return DotStep((), (), (rounding,), f"{name} is added to the sum of the products")

    def _next(self, kind: Any) -> Any:
        step = narrowed(self.trace[self.at], kind)
        self.at += 1
        return step

    def _special(self, elements: Sequence[int]) -> bool:
        return scalar.value(self.format, self.c) is None or any(self.dot.products[k] is None for k in elements)

    # --- aligned and exact sums ---

    def _by_rule(self, elements: tuple[int, ...], first: bool) -> DotStep:
        assert self.rule is not None
        special, sums, roundings = self._special(elements), list[AlignedSum](), list[DotRounding]()
        before = "c" if first and not self.at_end else "sum so far"
        flushed = self._flushed(elements, before) if self.rule.flush else []
        # What is rounded next is the last aligned sum, or, where nothing is aligned, an exact sum of these.
        exact, terms = None, self._terms(elements)
        while True:
            step = self._next((Alignment, RoundedResult))
            if isinstance(step, Alignment):
                labels = [self._label(member, elements, before) for member in step.members]
                sums.append(_aligned_sum(step, labels))
                exact = sums[-1].total.value
                continue
            number = exact if sums else _taken(terms, step.members)
            if step.last:
                break
            terms[step.members] = scalar.value(self.format, step.code)
            label = self._label(step.members, elements, before)
            roundings.append(DotRounding(label, number, step.code, self.format, self._how(self.rule.partial)))
        unchanged, self.c = self.c == step.code, step.code
        if special:
            by_rule = DotRounding("result", None, step.code, self.format, "by the rules for special values")
            return DotStep(elements, (), (by_rule,), "infinities and NaNs decide")
        final = DotRounding("sum", number, step.code, self.format, self._how(self.rule.rounding))
        unsigned = [k for k in elements if self.rule.dot > 1 and k in self.dot.negatively_scaled]
        note = f"the signs of scales do not count: k = {ranges(unsigned)}" if unsigned else ""
        if self.step_type != OWN:
            note = f"one instruction for {self.step_type}, to which A and B are converted"
        idle = not any(self.dot.products[k] for k in elements) and not any(t.lost for each in sums for t in each.terms)
        if idle and unchanged:
            return DotStep(elements, (), (final,), f"all products are zero: {before} stays", tuple(flushed))
        return DotStep(elements, tuple(sums), (*roundings, final), note, tuple(flushed))

    # --- registers in fixed point ---

    def _in_register(self, elements: tuple[int, ...], first: bool) -> DotStep:
        """Return the step that adds a group to a register; the last step of an instruction gives D."""
        assert self.rule is not None
        name = "c" if first and not self.at_end else "sum so far"
        flushed = self._flushed(elements, name) if self.rule.flush else []
        if isinstance(self.trace[self.at], RoundedResult):  # special terms: there are no sums
            ends = elements[-1] == self._instruction_of(elements)[-1]
            result = self._next(RoundedResult) if ends else None
            note = "infinities and NaNs decide"
            if result is None:
                return DotStep(elements, (), (), note)
            self.c = result.code
            by_rule = DotRounding("result", None, result.code, self.format, "by the rules for special values")
            return DotStep(elements, (), (by_rule,), note)
        step: RegisterStep = self._next(RegisterStep)
        aligned = _register_sum(step, [f"k = {k}" for k in elements], name, self.rule)
        if not isinstance(self.trace[self.at], RoundedResult):
            return DotStep(elements, (aligned,), (), "", tuple(flushed))
        self.c = self._next(RoundedResult).code
        exact = step.held * Fraction(2) ** step.lsb
        final = DotRounding("register", exact, self.c, self.format, self._how(self.rule.rounding))
        return DotStep(elements, (aligned,), (final,), "", tuple(flushed))

    def _instruction_of(self, elements: Sequence[int]) -> Sequence[int]:
        """Return the elements along K of the instruction that these belong to."""
        size = self.op.shape[2]
        start = self.order.index(elements[0]) // size * size
        return self.order[start : start + size]

    def _flushed(self, elements: Sequence[int], before: str) -> list[str]:
        """Name the products and the partial sum that flushing replaces by zero."""
        factors = {k: self.dot.factors(k, True) for k in elements}
        names = [f"k = {k}" for k, (x, y) in factors.items() if self.dot.products[k] and not (x and y)]
        return names + ([before] if self.format.is_subnormal(self.c) else [])

    def _terms(self, elements: Sequence[int]) -> dict[Members, Fraction | None]:
        """Return the exact terms of a group: C or the partial sum, and products, or dot products that count as one."""
        assert self.rule is not None
        size, c = self.rule.dot, scalar.value(self.format, self.c)
        terms = {Members((), True): Fraction(0) if self.rule.flush and self.format.is_subnormal(self.c) else c}
        for place, start in enumerate(range(0, len(elements), size)):
            total: Fraction | None = Fraction(0)
            for k in elements[start : start + size]:
                product = self.dot.products[k]
                if product and self.rule.flush and not all(self.dot.factors(k, True)):
                    product = Fraction(0)
                unsigned = size > 1 and k in self.dot.negatively_scaled
                total = plus(total, -product if unsigned and product is not None else product)
            terms[Members((place,))] = total
        return terms

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
            flushed.append("c" if first and not self.at_end else "the sum so far")
        total = plus(before, numbers[-1])
        self.c = self._next(RoundedResult).code
        label = "c" if first and not self.at_end else "sum so far"
        roundings.append(DotRounding(f"with {label}", total, self.c, fmt, "to nearest even"))
        if self.rule.flush and elements[-1] == self.order[-1]:
            value, code = scalar.value(fmt, self.c), self.dot.result
            roundings.append(DotRounding("result", value, code, fmt, "subnormals to zero"))
        if special:
            return DotStep(elements, (), tuple(roundings), "infinities and NaNs decide", tuple(flushed))
        if not any(self.dot.products[k] for k in elements) and before == scalar.value(fmt, roundings[-1].code):
            return DotStep(elements, (), tuple(roundings[-1:]), f"all products are zero: {label} stays", tuple(flushed))
        return DotStep(elements, (), tuple(roundings), "", tuple(flushed))

    def _chain(self, elements: tuple[int, ...]) -> DotStep:
        roundings = []
        for k in elements:
            x, y = self.dot.factors(k, False)
            before = scalar.value(self.format, self.c)
            exact = None if x is None or y is None or before is None else x * y + before
            step: RoundedResult = self._next(RoundedResult)
            moved = step.code != self.c or (exact is not None and x != 0 and y != 0)
            self.c = step.code
            if moved or k == elements[-1]:
                roundings.append(DotRounding(f"+ k = {k}", exact, step.code, self.format, "to nearest even"))
        inexact = self.dot.rounded_scaled
        note = f"scaled elements are rounded to {self.format.name}: k = {ranges(inexact)}" if inexact else ""
        return DotStep(elements, (), tuple(roundings), note)


def _taken(terms: dict[Members, Fraction | None], members: Members) -> Fraction | None:
    """Remove the terms of ``members`` from ``terms``, and return their sum; None if it is not a number."""
    places = set(members.products)
    total: Fraction | None = Fraction(0)
    for part in [each for each in terms if each.c <= members.c and places.issuperset(each.products)]:
        total = plus(total, terms.pop(part))
    return total


def _aligned_sum(step: Alignment, labels: Sequence[str]) -> AlignedSum:
    """Return the terms with their bits. Of the terms that are zero, keep only one with the largest exponent."""
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


def _register_sum(step: RegisterStep, labels: Sequence[str], name: str, rule: Accumulator) -> AlignedSum:
    """Return the terms that are added to a register, in bits before and after the point."""
    unit = Fraction(2) ** step.lsb
    before = step.before * unit if step.c is None else step.c
    values, added = [before, *step.values], [step.before * unit, *(kept * unit for kept in step.kept)]
    total, held = step.total * unit, step.held * unit
    top = max(0, step.lsb, *(leading_place(value) for value in (*values, *added, held)))
    shown = [n for n, value in enumerate(values) if value or added[n] or not n]
    terms = tuple(_term([name, *labels][n], values[n], added[n], top, 0, step.lsb) for n in shown)
    whole = _term("register", held, held, top, 0, step.lsb)
    bits = "of as many bits as it needs" if rule.msb is None else f"of {rule.msb - step.lsb + 1} bits"
    words = f"a register {bits}, the last place 2^{step.lsb}"
    words += "" if rule.msb is None else f", the sign bit 2^{rule.msb}"
    does = {"wrap": "wraps around", "saturate": "saturates"}[rule.register_overflow]
    over = "" if held == total else f"the sum {number_text(total)} is out of its range and {does}"
    return AlignedSum(terms, len(values) - len(shown), 0, name, step.lsb, (step.cut,), whole, words, over)


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
