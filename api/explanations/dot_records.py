"""The data of an explained dot product, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from halfulp.explanations.records import ExplainedRounding
from halfulp.fp_formats import scalar
from halfulp.fp_formats.display import table_lines
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import decimal_text, hex_text, hexadecimal, number_text, signed_text, value_text
from halfulp.semantics.matrix_units.kinds import TileOp

DIGITS = 24
"""The most digits of a value in tables."""


CUT_WORDS = {
    "toward_zero": "cut off toward zero",
    "downward": "cut off downward",
    "upward": "cut off upward",
    "to_nearest_even": "rounded to nearest even",
    "to_nearest_away": "rounded to nearest, ties away from zero",
    "to_odd": "cut off toward zero, with a sticky last bit",
}
"""The roundings of aligned terms, in words."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an aligned sum: its exact value, what of it is added, and its bits from the highest place of the sum
    on: those down to the last place, and those below it, which are dropped. ``moved``: what is added is not the number
    of the bits down to the last place, but was rounded up, or counts as zero.
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
    """Terms aligned to the largest exponent among them (that of ``leading``), cut off below 2**``unit`` and added.

    ``zeros``: the number of terms that are zero, and not shown. ``cuts``: the roundings of the terms. ``total``: the
    sum, with its bits.
    """

    terms: tuple[Term, ...]
    zeros: int
    largest: int
    leading: str
    unit: int
    cuts: tuple[str, ...]
    total: Term

    @property
    def words(self) -> str:
        """Say how the terms are added."""
        how = " or ".join(CUT_WORDS[cut] for cut in self.cuts)
        return (
            f"aligned to the largest exponent, {self.largest}, of {self.leading}; below 2^{self.unit} terms are {how}"
        )


@dataclass(frozen=True, slots=True)
class DotRounding:
    """A rounding: its operand, the exact value (None: special), the code that it gives, and how."""

    label: str
    exact: Fraction | None
    code: int
    format: FloatFormat
    how: str

    @property
    def lost(self) -> Fraction | None:
        """Return the exact value minus the rounded one; None where one of them is not a number."""
        value = scalar.value(self.format, self.code)
        return None if value is None or self.exact is None else self.exact - value


@dataclass(frozen=True, slots=True)
class DotStep:
    """One step: the elements along K, their aligned sums, and roundings. ``note``: a remark in words. ``flushed``: the
    names of subnormal operands that count as zero.
    """

    elements: tuple[int, ...]
    sums: tuple[AlignedSum, ...] = ()
    roundings: tuple[DotRounding, ...] = ()
    note: str = ""
    flushed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name the elements."""
        return f"k = {ranges(self.elements)}"

    @property
    def words(self) -> list[str]:
        """Say what comes before the numbers."""
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
class ExplainedDot:
    """One element of a tile, taken apart; ``str`` puts it into words.

    ``operation``, ``model``: how the element is computed. ``a``, ``b``, ``c``, ``scales``: codes, those of A and B
    along K; scales are A's and B's. ``products``: exact and scaled, None where they are not numbers; ``exact``: their
    sum with C. ``result``: the code, of D's type; ``rounding``: the exact sum rounded to that type, None for integers
    and where the sum is not a number. ``groups``: the steps of the model. ``models``: the results of each model, this
    one first; ``unpublished``: the models without a published result, by what is unknown. ``notes``: operands that were
    rounded to their type, the elements of one value together.
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
    rounding: ExplainedRounding | None
    groups: tuple[DotStep, ...]
    models: tuple[ModelRow, ...]
    unpublished: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]

    @cached_property
    def title(self) -> str:
        """Name the operation and the model in one line."""
        op = self.operation
        scales = f", scales {op.scale} for {op.block}" if op.scale else ""
        return f"{op.name}: {op.a} * {op.b} + {op.c} to {op.d}{scales}, model {self.model}"

    @property
    def error(self) -> Fraction | None:
        """Return the result minus the exact sum, in ulp; None where one of them is not a number."""
        return self._error(self.result)

    def _error(self, code: int) -> Fraction | None:
        return error_of(code, self.rounding)

    def operand_rows(self) -> list[tuple[str, ...]]:
        """Return the factors that are not +0 with their products, and C, as rows with a head."""
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
        """Return the exact sum, the result and its error: a name and a text each."""
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
        """Return the results of the models as rows of a table with a head."""
        rows: list[tuple[str, ...]] = [("models", "code", "value", "error in ulp", "why")]
        for row in self.models:
            value, code = split_text(self.operation.d, row.code)
            error = "" if row.error is None else signed_text(row.error)
            rows.append((", ".join(row.models), code, value, error, row.why))
        return rows

    def unpublished_lines(self) -> list[str]:
        """List the models that give nothing."""
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
    return [*rows, ("sum", total.kept, decimal_text(total.value, digits), "")]


def _lost_text(term: Term, digits: int) -> str:
    lost = f"loses {decimal_text(term.lost, digits)}"
    return f"{lost}: counts as {decimal_text(term.added, digits)}" if term.moved else lost


def rounding_rows(roundings: Sequence[DotRounding]) -> list[tuple[str, ...]]:
    """Return roundings as rows: operand, mode, result, loss. Zeros that became +0 are left out."""
    rows, hidden = [], 0
    for each in roundings:
        if each.exact == 0 and each.code == 0 and each is not roundings[-1]:
            hidden += 1
            continue
        lost = "" if not each.lost else f"loses {decimal_text(each.lost, DIGITS)}"
        rows.append((each.label, each.how, text_of(each.format.name, each.code), lost))
    return [*rows, *([(f"{hidden} more", "of zeros", "0", "")] if hidden else [])]


def ranges(numbers: Sequence[int]) -> str:
    """Spell numbers as ranges: ``0 to 7``; ``0 to 3, 8 to 11``."""
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
    """Return the value and the code of an element, as text."""
    if type_ not in FORMATS:
        return str(scalar_number(type_, code)), hexadecimal(code, int(type_[1:]))
    return value_text(FORMATS[type_], code, digits), hex_text(FORMATS[type_], code)


def text_of(type_: str, code: int, digits: int = DIGITS) -> str:
    """Spell an element, with its code in brackets."""
    value, bits = split_text(type_, code, digits)
    return f"{value} ({bits})"


def error_of(code: int, rounding: ExplainedRounding | None) -> Fraction | None:
    """Return the distance of a code from the exact sum, in ulp of the sum; None where one of them is not a number."""
    if rounding is None or rounding.exact is None or rounding.ulp is None:
        return None
    value = scalar.value(rounding.format, code)
    return None if value is None else (value - rounding.exact) / rounding.ulp


def plus(x: Fraction | None, y: Fraction | None) -> Fraction | None:
    """Add two exact numbers; None where one of them is not a number."""
    return None if x is None or y is None else x + y


def leading_place(value: Fraction) -> int:
    """Return the place of the leading bit of a dyadic number; for zero, a place far below all others."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length() if value else -(1 << 20)
