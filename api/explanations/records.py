"""The data of explanations and their texts: a rounding, and an op with its operands and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import NamedTuple

from halfulp.explanations.rules import Enclosure, bare_nan
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.spelling import (
    Tick,
    binary_text,
    bit_boxes,
    bits_text,
    code,
    decimal_text,
    fields_text,
    fragment,
    hex_text,
    number_line,
    number_text,
    short_code,
    short_decimal,
    signed_text,
    table,
    table_lines,
    title,
    value_text,
)
from halfulp.interp.ir import types as ty
from halfulp.semantics.profile import Profile
from halfulp.texts import (
    SHORT_DIGITS,
    code_suffix,
    code_text,
    element_code_text,
    element_text,
    flags_text,
    profile_lines,
)


@dataclass(frozen=True, slots=True)
class RoundedNumber:
    """A rounded result: its code (None: poison), its exact value (None: NaN or infinite), and its IEEE flags (None: not
    known, for profiles that compute in another format).

    ``error``: result minus exact value in units in the last place.
    ``relative``: the same divided by the exact value. Both are None if one of the two is not a finite number,
    ``relative`` also for an exact zero.
    """

    code: int | None
    value: Fraction | None
    flags: Flags | None
    error: Fraction | None
    relative: Fraction | None = None


class ProfileGroup(NamedTuple):
    """Profiles that give the same result for the same reason: its code (None: poison), and the deciding fields."""

    profiles: tuple[str, ...]
    code: int | None
    fields: tuple[str, ...]


def profile_rows(
    groups: Sequence[ProfileGroup], hexadecimal: Callable[[int], str], value_of: Callable[[int], str]
) -> list[tuple[str, ...]]:
    """Return groups of profiles as rows of a table with a heading."""
    rows: list[tuple[str, ...]] = [("code", "value", "profiles", "fields that decide")]
    for group in groups:
        code = "poison" if group.code is None else hexadecimal(group.code)
        value = "" if group.code is None else value_of(group.code)
        rows.append((code, value, ", ".join(group.profiles), ", ".join(group.fields)))
    return rows


@dataclass(frozen=True, repr=False)
class RoundingExplanation:
    """The explanation of one rounding. Print it, or show it in a notebook with its bits and a number line.

    ``exact``: the value to be rounded, None for NaN and infinities.
    ``result``: the result in the mode ``rounding`` under ``profile``.
    ``modes``: the result of each rounding mode; empty if the result does not depend on a mode.
    ``below``, ``above``: the codes of the nearest finite values strictly below and above the exact value; None beyond
    the ends of the format.
    ``midpoint``: the midpoint of the two values around the exact value; None if the exact value is a value of the
    format.
    ``ulp``: the distance between these two values.
    ``rule``: the rule of profile ``spec`` that decides the result; ``profile_rule``: the different rule of ``profile``,
    or empty.
    ``profiles``: the results of all named profiles: profiles with the same result form a group, and the group of spec
    is first.
    ``infinite``: True if the input is an infinity.
    ``enclosure``: bounds of an irrational value; ``exact`` is then a rational number between them, which lies on the
    same side of every value of the format and every midpoint.
    ``reason``: why the exact value is rational, irrational or a zero.
    """

    given: str
    reading: str
    exact: Fraction | None
    format: FloatFormat
    rounding: str
    profile: Profile
    result: RoundedNumber
    below: int | None
    above: int | None
    midpoint: Fraction | None
    ulp: Fraction | None
    rule: str
    profile_rule: str
    modes: Mapping[str, RoundedNumber]
    profiles: tuple[ProfileGroup, ...]
    infinite: bool = False
    enclosure: Enclosure | None = None
    reason: str = ""

    @cached_property
    def _lines(self) -> list[str]:
        lines = [f"{self.given} in {self.format.name}, {self.rounding}, profile {self.profile.name}", ""]
        lines.append(f"given     {self.given}{f'  ({self.reading})' if self.reading else ''}")
        return lines + self.body()

    def body(self, formula: str = "") -> list[str]:
        """Return the lines of the text from the exact value to the end; ``formula`` stands before the exact value."""
        fmt, result = self.format, self.result
        lines = [] if self.exact is None else [f"exact     {formula}{self.exact_text}"]
        lines += [f"{'' if k else 'because':<10}{row}" for k, row in enumerate(self.reasons())]
        lines.append(f"result    {code_text(fmt, result.code)}")
        if result.code is not None:
            value = number_text(result.value) if result.value else value_text(fmt, result.code)
            lines += [f"          {fields_text(fmt, result.code)}", f"value     {value}"]
            if result.value is not None:
                lines.append(f"          {binary_text(fmt, result.code)} in binary")
        lines.append(f"flags     {flags_text(result.flags)}")
        if self.exact is not None:
            lines += ["", f"below     {self._neighbour(self.below, 'no smaller finite value')}"]
            if self.midpoint is not None:
                lines.append(f"midpoint  {decimal_text(self.midpoint)}  ({self.midpoint_text()})")
            lines.append(f"above     {self._neighbour(self.above, 'no larger finite value')}")
        lines += ["", f"rule      {self.rule}"]
        if self.profile_rule:
            lines.append(f"          {self.profile_rule}")
        lines += [f"error     {part}" if not k else f"          {part}" for k, part in enumerate(self.error_texts())]
        if self.modes:
            lines += ["", *table_lines(self.mode_rows())]
        if self.profiles:
            lines += ["", *profile_lines(self.profile_rows())]
        return lines

    @property
    def formula(self) -> str:
        """The formula of the exact value and an equals sign; an empty text if the input is a number."""
        return f"{self.given} = " if " " in self.given or "(" in self.given else ""

    @property
    def exact_text(self) -> str:
        """All digits of the exact value; of an irrational value, the digits that are known."""
        assert self.exact is not None
        return number_text(self.exact) if self.enclosure is None else self.enclosure.text

    @property
    def short_exact_text(self) -> str:
        """The exact value with few digits, for tables; an empty text if there is no exact value."""
        if self.exact is None:
            return ""
        crude = self.enclosure is not None and self.enclosure.crude
        return self.exact_text if crude else decimal_text(self.exact, SHORT_DIGITS)

    def reasons(self) -> list[str]:
        """Return texts that say why the exact value is rational or irrational, and how many bits were computed to round
        it.
        """
        turns = [] if self.enclosure is None else self.enclosure.rows()
        return [self.reason, *turns] if self.reason else turns

    def difference_text(self, number: Fraction) -> str:
        """Return the text of a difference from the exact value."""
        return signed_text(number) if self.enclosure is None else self.enclosure.difference_text(number)

    def profile_rows(self) -> list[tuple[str, ...]]:
        """Return the results of the profiles as the rows of a table; the first row is the heading."""
        fmt = self.format
        return profile_rows(self.profiles, lambda code: hex_text(fmt, code), lambda code: value_text(fmt, code))

    def _neighbour(self, code: int | None, absent: str) -> str:
        return absent if code is None else f"{code_text(self.format, code)}  {value_text(self.format, code)}"

    def midpoint_text(self) -> str:
        """Return a text about the midpoint: the two codes around it, and the side on which the exact value lies."""
        assert self.midpoint is not None
        assert self.exact is not None
        ends = [hex_text(self.format, code) for code in (self.below, self.above) if code is not None]
        place = f"between {ends[0]} and {ends[1]}" if len(ends) == 2 else f"between {ends[0]} and what would be next"
        side = "exactly on" if self.exact == self.midpoint else "below" if self.exact < self.midpoint else "above"
        far = ""
        if self.enclosure is not None and self.ulp is not None:
            far = f", by {self.difference_text(abs(self.exact - self.midpoint) / self.ulp).removeprefix('+')} ulp"
        return f"{place}; the exact value lies {side} it{far}"

    def error_texts(self) -> list[str]:
        """Return the texts of the error in ulp and of the error relative to the exact value."""
        result = self.result
        if result.error is None:
            return ["not a finite number"]
        if not result.error:
            return ["0 ulp"]
        assert self.ulp is not None
        texts = [f"{self.difference_text(result.error)} ulp; an ulp is {decimal_text(self.ulp)} here"]
        return texts if result.relative is None else [*texts, f"{self.difference_text(result.relative)} relative"]

    def mode_rows(self) -> list[tuple[str, ...]]:
        """Return the result of each mode as the rows of a table; the first row is the heading."""
        rows: list[tuple[str, ...]] = [("mode", "code", "value", "error in ulp", "flags")]
        for mode, rounded in self.modes.items():
            code = "poison" if rounded.code is None else hex_text(self.format, rounded.code)
            value = "" if rounded.code is None else value_text(self.format, rounded.code)
            error = "" if rounded.error is None else self.difference_text(rounded.error)
            rows.append((mode, code, value, error, flags_text(rounded.flags)))
        return rows

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        # For terminals, and for notebooks that remove styles.
        return str(self)

    def _repr_html_(self) -> str:
        reading = f" ({escape(self.reading)})" if self.reading else ""
        heading = title(f"{self.given} in {self.format.name}, {self.rounding}, profile {self.profile.name}")
        return fragment(heading, _rounding(self, [("given", escape(self.given) + reading)]))


_UNCHANGED = ("a bit pattern", "the value is exact", "NaN stays", "infinity stays")
"""The first words of the rules that leave a number unchanged."""


@dataclass(frozen=True)
class GivenOperand:
    """An operand as the op gets it: its code in its type (None: poison), and how it was rounded to this type (None: it
    was not rounded).

    ``value``: the exact value, None for NaN, infinities and poison.
    ``real``: the number as it was given, before any rounding.
    ``text``: how it is shown, if not by these fields.
    """

    name: str
    type: ty.Type
    code: int | None
    value: Fraction | None
    explanation: RoundingExplanation | None = None
    real: Fraction | None = None
    text: str = ""

    @property
    def format(self) -> FloatFormat:
        """Return the format of a float operand."""
        return ty.float_format(self.type)

    @property
    def known(self) -> int:
        """Return the code of an operand that is not poison."""
        assert self.code is not None
        return self.code

    @property
    def nan(self) -> bool:
        """Tell whether the operand is a NaN."""
        return self.format.is_nan(self.known)

    @property
    def bare(self) -> str:
        """Say why a NaN operand has neither sign nor payload; an empty text if it has them."""
        return bare_nan(self.format, self.known)

    @property
    def infinite(self) -> bool:
        """Tell whether the operand is an infinity."""
        return self.format.is_infinite(self.known)

    @property
    def zero(self) -> bool:
        """Tell whether the operand is a zero."""
        return self.value == 0

    @property
    def negative(self) -> bool:
        """Tell whether the sign bit of the operand is set."""
        return self.format.signed and bool(self.known >> (self.format.bits - 1))

    @property
    def short(self) -> str:
        """Return the text of its value with few digits."""
        return element_text(self.type, self.code, SHORT_DIGITS)

    def __str__(self) -> str:
        if self.text:
            return self.text
        text = f"{element_text(self.type, self.code)}{code_suffix(self.type, self.code)}"
        how = self.explanation
        if how is None or how.rule.startswith(_UNCHANGED):
            return text
        error = how.result.error
        return f"{how.given} is not a value of {self.type}: {text}" + (
            f", error {signed_text(error)} ulp" if error else ""
        )


@dataclass(frozen=True)
class ExplanationStep:
    """One step of an op: its formula and its result, with its rounding if it rounds."""

    title: str
    formula: str
    type: ty.Type
    code: int | None
    rule: str
    explanation: RoundingExplanation | None = None

    def __str__(self) -> str:
        rule = "exact" if self.rule.startswith("the value is exact") else self.rule
        return f"{self.formula} -> {element_text(self.type, self.code)}{code_suffix(self.type, self.code)}: {rule}"


@dataclass(frozen=True)
class NamedResult:
    """One of the results of an op: its name, its type and its code (None: poison). ``text``: how it is shown."""

    name: str
    type: ty.Type
    code: int | None
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{element_text(self.type, self.code)}{code_suffix(self.type, self.code)}"


@dataclass(frozen=True)
class TotalError:
    """The error of a result against the exact function of the operands as they were typed.

    ``real``: that exact result, None if the error is not given; then ``reason`` says why.
    ``error``: result minus ``real``.
    ``ulp``: the distance of the two values of the format around ``real``.
    ``parts``: the summands of the error: the op's own rounding, and the rounding of each operand, one after the other.
    ``shown``: an operand was rounded, so that this is more than the op's own error.
    """

    real: Fraction | None
    error: Fraction = Fraction(0)
    ulp: Fraction = Fraction(1)
    parts: tuple[tuple[str, Fraction], ...] = ()
    shown: bool = True
    reason: str = ""

    @property
    def in_ulp(self) -> Fraction | None:
        """The error in ulp."""
        return None if self.real is None else self.error / self.ulp

    @property
    def relative(self) -> Fraction | None:
        """The error relative to the exact result; None if that is zero."""
        return self.error / abs(self.real) if self.real else None

    def lines(self) -> list[str]:
        """Return lines of text about the error."""
        if self.real is None:
            return [f"error not given: {self.reason}"]
        error = f"{signed_text(self.error / self.ulp)} ulp" if self.error else "no error"
        lines = [f"{error} against {decimal_text(self.real)}, as given; an ulp is {decimal_text(self.ulp)} there"]
        if self.error and self.relative is not None:
            lines.append(f"{signed_text(self.relative)} relative")
        return [*lines, "; ".join(f"{signed_text(part / self.ulp)} ulp by {name}" for name, part in self.parts)]


@dataclass(frozen=True, repr=False)
class OpExplanation:
    """The explanation of one op on its operands. Print it, or show it in a notebook.

    ``operands``: the operands as the op gets them.
    ``steps``: the steps of an op that computes in several steps.
    ``exact``: the exact result; None if there is none (NaN, infinities, several steps).
    ``result``: the code of the result under ``profile``, None for poison.
    ``type``: the type of the result.
    ``flags``: the exception flags, None if they are not known.
    ``rounding``: the explanation of the rounding of the exact result, or of the last step; None if the result is not a
    float, or is not rounded.
    ``rule``: the rule of profile ``spec`` that decides the result; ``profile_rule``: the different rule of ``profile``,
    or empty.
    ``open``: which part of the result the language leaves unspecified.
    ``profiles``: the results of all named profiles.
    ``total``: the error against the exact function of the operands as they were typed; None if it is not known.
    ``story``: the exact integers of an integer op.
    ``results``: all results of an op with several.
    ``undefined``: True if the op has no result, because its behaviour is undefined.
    """

    op: str
    attributes: str
    operands: tuple[GivenOperand, ...]
    steps: tuple[ExplanationStep, ...]
    exact: Fraction | None
    type: ty.Type
    result: int | None
    flags: Flags | None
    rounding: RoundingExplanation | None
    rule: str
    profile: Profile
    profile_rule: str
    open: str
    profiles: tuple[ProfileGroup, ...]
    total: TotalError | None = None
    story: tuple[tuple[str, str], ...] = ()
    results: tuple[NamedResult, ...] = ()
    undefined: bool = False

    @cached_property
    def title(self) -> str:
        """The name of the op with its attributes, types and profile, in one line."""
        types = ", ".join(dict.fromkeys(str(operand.type) for operand in self.operands))
        signature = types if types == str(self.type) or len(self.results) > 1 else f"{types} to {self.type}"
        attributes = f" {self.attributes}" if self.attributes else ""
        return f"{self.op}{attributes} on {signature}, profile {self.profile.name}"

    def lines(self) -> list[tuple[str, str]]:
        """Return the operands and the steps, as pairs of a name and a text."""
        rows = [(operand.name, str(operand)) for operand in self.operands]
        return rows + [(step.title, str(step)) for step in self.steps]

    def __str__(self) -> str:
        rows = self.lines()
        width = max([8, *(len(name) for name, _ in rows)]) + 2
        lines = [self.title, "", *(f"{name:<{width}}{text}" for name, text in rows), ""]
        if self.rounding is not None:
            lines += self.rounding.body(self.rounding.formula)
        else:
            if self.exact is not None and not self.story:
                lines.append(f"exact     {number_text(self.exact)}")
            column = max([width, *(len(name) + 2 for name, _ in self.story)]) if self.story else 10
            lines += [f"{name:<{column}}{text}" for name, text in self.result_rows()]
            lines += ["", f"{'rule':<{column}}{self.rule}"]
            if self.profile_rule:
                lines.append(f"{'':<{column}}{self.profile_rule}")
            if self.profiles or not self.story:
                lines += ["", *profile_lines(self.profile_rows())]
        if self.total is not None and self.total.shown:
            parts = self.total.lines()
            lines += ["", *(f"{'' if k else 'total':<10}{part}" for k, part in enumerate(parts))]
        if self.open:
            lines += ["", f"open      {self.open}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [title(self.title), table([(escape(name), escape(text)) for name, text in self.lines()], named=True)]
        if self.rounding is not None:
            parts.append(_rounding(self.rounding, [], escape(self.rounding.formula)))
        else:
            rows = [(escape(name), POISON if text == "poison" else escape(text)) for name, text in self.result_rows()]
            rows.append(("rule", escape(self.rule)))
            if self.exact is not None and not self.story:
                rows.insert(0, ("exact", escape(number_text(self.exact))))
            if self.profile_rule:
                rows.append(("profile", escape(self.profile_rule)))
            parts += [table(rows, named=True), _profiles(self.profile_rows())]
        if self.total is not None and self.total.shown:
            parts.append(table([("total error", "<br>".join(map(escape, self.total.lines())))], named=True))
        if self.open:
            parts.append(table([("open", escape(self.open))], named=True))
        return fragment(*parts)

    def result_rows(self) -> list[tuple[str, str]]:
        """Return the rows for the result of an op that does not round, as pairs of a name and a text."""
        rows = list(self.story)
        if self.undefined:
            return [*rows, ("result", "none: the behaviour is undefined")]
        if self.results:
            return [*rows, *((row.name, str(row)) for row in self.results)]
        value = f"{element_text(self.type, self.result)}{code_suffix(self.type, self.result)}"
        return [*rows, ("result", value), *([] if self.story else [("flags", flags_text(self.flags))])]

    def profile_rows(self) -> list[tuple[str, ...]]:
        """Return the results of the profiles as the rows of a table; the first row is the heading."""
        type_ = self.type
        return profile_rows(
            self.profiles, lambda code: element_code_text(type_, code), lambda code: element_text(type_, code)
        )


# --- in a notebook ----------------------------------------------------------------------------------------------------


POISON = '<td class="poison" title="poison: the result has no value">poison</td>'


def _rounding(e: RoundingExplanation, rows: list[tuple[str, str]], formula: str = "") -> str:

    fmt, result = e.format, e.result
    if e.exact is not None:
        rows.append(("exact", formula + escape(e.exact_text)))
    if e.reasons():
        rows.append(("because", "<br>".join(map(escape, e.reasons()))))
    if result.code is None:
        rows.append(("result", POISON))
    else:
        value = number_text(result.value) if result.value else value_text(fmt, result.code)
        binary = "" if result.value is None else f"<br>{code(binary_text(fmt, result.code))}"
        rows.append(("result", f"<b>{escape(value)}</b>{binary}"))
        rows.append(("code", f"{code(hex_text(fmt, result.code))}, {escape(fields_text(fmt, result.code))}"))
    rows.append(("rule", escape(e.rule)))
    if e.profile_rule:
        rows.append(("profile", escape(e.profile_rule)))
    rows += [("error", "<br>".join(map(escape, e.error_texts()))), ("flags", escape(flags_text(result.flags)))]
    boxes = "" if result.code is None else bit_boxes(fmt, result.code)
    parts = [boxes, table(rows, named=True)]
    if e.exact is not None:
        parts += [_line(e), _neighbours(e)]
    if e.modes:
        head, *modes = e.mode_rows()
        parts.append(table([_poisoned([escape(cell) for cell in row]) for row in modes], head))
    if e.profiles:
        parts.append(_profiles(e.profile_rows()))
    return "".join(parts)


def _poisoned(row: list[str]) -> list[str]:
    return [POISON if cell == "poison" else cell for cell in row]


def _profiles(rows: Sequence[tuple[str, ...]]) -> str:
    head, *groups = rows
    if len(groups) < 2:
        return "<p>All profiles give this.</p>" if groups else ""
    return table([_poisoned([escape(cell) for cell in row]) for row in groups], head)


def _neighbours(e: RoundingExplanation) -> str:
    fmt, rows = e.format, []
    for name, neighbour in (("below", e.below), ("above", e.above)):
        if neighbour is None:
            rows.append((name, "none", "", f"no {'smaller' if name == 'below' else 'larger'} finite value"))
            continue
        bits = (code(hex_text(fmt, neighbour)), code(bits_text(fmt, neighbour)))
        rows.append((name, *bits, escape(value_text(fmt, neighbour))))
    if e.midpoint is not None:
        middle = ("midpoint", "", "", f"{escape(decimal_text(e.midpoint))}<br>{escape(e.midpoint_text())}")
        rows.insert(1, middle)
    return table(rows, ("", "code", "bits", "value"), named=True)


def _line(e: RoundingExplanation) -> str:
    """Draw the number line from the neighbour below to the one above."""
    assert e.exact is not None
    is_value = e.midpoint is None and scalar.value(e.format, scalar.from_fraction(e.format, e.exact).code) == e.exact
    middle = []
    if e.midpoint is not None:
        middle = [Tick(e.midpoint, short_decimal(e.midpoint), "midpoint", real=False)]
    elif is_value:
        middle = [Tick(e.exact, short_decimal(e.exact), "the value itself")]
    left, right = _end(e, e.below, -1, middle), _end(e, e.above, 1, middle)
    description = f"number line: {e.given} lies between {left.value} and {right.value}"
    return number_line([left, *middle, right], e.exact, e.given, e.result.value, description)


def _end(e: RoundingExplanation, neighbour: int | None, side: int, middle: list[Tick]) -> Tick:
    """Return the tick of a neighbour; where there is none, of the place where the next value would be."""
    assert e.ulp is not None
    if neighbour is not None:
        value = scalar.value(e.format, neighbour)
        assert value is not None
        return Tick(value, short_decimal(value), short_code(e.format, neighbour))
    other = scalar.value(e.format, (e.below if side > 0 else e.above) or 0)
    assert other is not None
    start = middle[0].at if middle and e.midpoint is None else other
    return Tick(start + side * e.ulp, "no value here", "beyond the range", real=False)
