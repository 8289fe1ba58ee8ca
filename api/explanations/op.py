"""Why an op gives these bits: its operands as they are in the type, the exact result, and how that is rounded.

What is said of the result of an op is that of `halfulp.eval`: its kernel computes it. The exact result beside it is
computed on fractions, and the rule in words comes from the tables of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from halfulp.explanations.rounding import (
    MODES,
    Explanation,
    Found,
    Given,
    ProfileGroup,
    explained,
    flags_text,
    found,
    given_bits,
    given_code,
    given_fraction,
    given_integer,
    given_number,
    profile_groups,
    profile_lines,
    profile_rows,
    profile_rule,
    typed_text,
)
from halfulp.explanations.rules import (
    bare_nan,
    default_nan,
    infinity_rule,
    instead_of_infinity,
    nan_rule,
    negative_rule,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.fp_formats.spelling import number_text, signed_text, value_text
from halfulp.interp.declare.build import single_op_module
from halfulp.interp.declare.declarations import EnumDefinition, default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.executor import Elementwise, Settings
from halfulp.interp.values.spelling import parse_element, parse_type_head
from halfulp.interp.values.value import Value, as_type, element_width, numeric, to_value
from halfulp.semantics import casts, emulated
from halfulp.semantics.kernel import Fault, Kernel, Open
from halfulp.semantics.profile import SPEC, Profile, as_profile

E8M0 = ty.FloatType(FORMATS["f8E8M0FNU"])
F64, I64 = ty.FloatType(FORMATS["f64"]), ty.IntegerType(64)
RNE = Rounding.TO_NEAREST_EVEN
_SHORT = 20
"""So many digits of an operand are shown in a formula."""
_UNCHANGED = ("a bit pattern", "the value is exact", "NaN stays", "infinity stays")
"""How the rules begin by which a number becomes what it was given as."""


# --- what is explained ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operand:
    """An operand as the op gets it: its code in its type (None: poison), and how it was rounded to that (None: not).

    ``value``: the exact value, None for NaN, infinities and poison.
    """

    name: str
    type: ty.Type
    code: int | None
    value: Fraction | None
    explanation: Explanation | None = None

    @property
    def format(self) -> FloatFormat:
        """The format of a float operand."""
        assert isinstance(self.type, ty.FloatType)
        return self.type.format

    @property
    def known(self) -> int:
        """The code of an operand that is not poison."""
        assert self.code is not None
        return self.code

    @property
    def nan(self) -> bool:
        """Whether it is a NaN."""
        return self.format.is_nan(self.known)

    @property
    def bare(self) -> str:
        """Of a NaN, why it has neither sign nor payload."""
        return bare_nan(self.format, self.known)

    @property
    def infinite(self) -> bool:
        """Whether it is an infinity."""
        return self.format.is_infinite(self.known)

    @property
    def zero(self) -> bool:
        """Whether it is a zero."""
        return self.value == 0

    @property
    def negative(self) -> bool:
        """Whether its sign bit is set."""
        return self.format.signed and bool(self.known >> (self.format.bits - 1))

    @property
    def short(self) -> str:
        """Its value in a few digits."""
        return element_text(self.type, self.code, _SHORT)

    def __str__(self) -> str:
        text = f"{element_text(self.type, self.code)}{code_suffix(self.type, self.code)}"
        how = self.explanation
        if how is None or how.rule.startswith(_UNCHANGED):
            return text
        error = how.result.error
        return f"{how.given} is no {self.type} value: {text}" + (f", error {signed_text(error)} ulp" if error else "")


@dataclass(frozen=True)
class Step:
    """One step of an op: what it computes, on what, and the value that it gives, with its rounding where it has one."""

    title: str
    formula: str
    type: ty.Type
    code: int | None
    rule: str
    explanation: Explanation | None = None

    def __str__(self) -> str:
        rule = "exact" if self.rule.startswith("the value is exact") else self.rule
        return f"{self.formula} -> {element_text(self.type, self.code)}{code_suffix(self.type, self.code)}: {rule}"


@dataclass(frozen=True, repr=False)
class OpExplanation:
    """One application of an op, taken apart; ``str`` puts it into words.

    ``operands``: as the op gets them. ``steps``: of an op that computes in several. ``exact``: the exact result, None
    where there is none (NaN, infinities, several steps). ``result``: the code that the op gives under ``profile``, None
    for poison, of type ``type``; ``flags``: its exception flags, None where they are not known. ``rounding``: how the
    exact result, or that of the last step, was rounded; None for what is no float, or not rounded. ``rule``: what
    decided in profile ``spec``; ``profile_rule``: where ``profile`` departs from it. ``open``: what the language leaves
    open of the result. ``profiles``: what every named profile gives.
    """

    op: str
    attributes: str
    operands: tuple[Operand, ...]
    steps: tuple[Step, ...]
    exact: Fraction | None
    type: ty.Type
    result: int | None
    flags: Flags | None
    rounding: Explanation | None
    rule: str
    profile: Profile
    profile_rule: str
    open: str
    profiles: tuple[ProfileGroup, ...]

    @cached_property
    def title(self) -> str:
        """The op with its attributes, types and profile in one line."""
        types = ", ".join(dict.fromkeys(str(operand.type) for operand in self.operands))
        signature = types if types == str(self.type) else f"{types} to {self.type}"
        attributes = f" {self.attributes}" if self.attributes else ""
        return f"{self.op}{attributes} on {signature}, profile {self.profile.name}"

    def lines(self) -> list[tuple[str, str]]:
        """Operands and steps: a name and a text each."""
        rows = [(operand.name, str(operand)) for operand in self.operands]
        return rows + [(step.title, str(step)) for step in self.steps]

    def __str__(self) -> str:
        rows = self.lines()
        width = max([8, *(len(name) for name, _ in rows)]) + 2
        lines = [self.title, "", *(f"{name:<{width}}{text}" for name, text in rows), ""]
        if self.rounding is not None:
            formula = self.rounding.given
            lines += self.rounding.body(f"{formula} = " if " " in formula else "")
        else:
            if self.exact is not None:
                lines.append(f"exact     {number_text(self.exact)}")
            value = element_text(self.type, self.result)
            lines.append(f"result    {value}{code_suffix(self.type, self.result)}")
            lines += [f"flags     {flags_text(self.flags)}", "", f"rule      {self.rule}"]
            if self.profile_rule:
                lines.append(f"          {self.profile_rule}")
            lines += ["", *profile_lines(self.profile_rows())]
        if self.open:
            lines += ["", f"open      {self.open}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def profile_rows(self) -> list[tuple[str, ...]]:
        """What the profiles give, as rows of a table with a head."""
        type_ = self.type
        return profile_rows(self.profiles, lambda code: code_text(type_, code), lambda code: element_text(type_, code))

    def _repr_html_(self) -> str:
        from halfulp.explanations.html import op_html

        return op_html(self)


def element_text(type_: ty.Type, code: int | None, digits: int = 60) -> str:
    """The value of an element in decimals, ``true``, ``false`` or ``poison``."""
    if code is None:
        return "poison"
    stored = numeric(type_)
    if isinstance(stored, ty.FloatType):
        return value_text(stored.format, code, digits)
    if stored == ty.I1:
        return "true" if code else "false"
    return str(_integer(stored, code))


def code_text(type_: ty.Type, code: int) -> str:
    """The code of an element in hexadecimal, all its digits."""
    return f"0x{code:0{-(-(element_width(type_) or 1) // 4)}X}"


def code_suffix(type_: ty.Type, code: int | None) -> str:
    """The code in brackets, behind a value."""
    return "" if code is None or numeric(type_) == ty.I1 else f" ({code_text(type_, code)})"


def _integer(stored: ty.Type, code: int) -> int:
    width = element_width(stored) or 0
    unsigned = isinstance(stored, ty.IntegerType) and stored.signedness == "unsigned"
    return code - (1 << width) if not unsigned and width and code >> (width - 1) else code


# --- the kernel behind the result -------------------------------------------------------------------------------------


class _Application:
    """An op on given codes, computed by its kernel, in any mode and profile."""

    def __init__(
        self, name: str, operands: Sequence[ty.Type], result: ty.Type, properties: Mapping[str, Any], codes: list[int]
    ) -> None:
        self.name = name
        self._types, self.result = tuple(operands), result
        self._properties = tuple(sorted(properties.items()))
        self._codes = codes
        definition = default_registry().require(name)
        self.has_modes = definition.property_named("roundingmode") is not None
        self.fixed = properties.get("rounding", properties.get("roundingmode", "to_nearest_even"))

    def kernel(self, mode: Rounding, profile: Profile) -> Kernel:
        """The kernel that `halfulp.eval` runs."""
        properties = dict(self._properties)
        if self.has_modes:
            properties.pop("roundingmode", None)
            properties["rounding"] = mode.spelling
        return _kernel(self.name, self._types, self.result, tuple(sorted(properties.items())), profile)

    def outcome(self, profile: Profile) -> Any:
        """What the scalar kernel gives: a code or a fault."""
        return self.kernel(MODES[self.fixed], profile).scalar(*self._codes)

    def __call__(self, fmt: FloatFormat | None, mode: Rounding, profile: Profile) -> Found:
        kernel = self.kernel(mode, profile)
        outcome = kernel.scalar(*self._codes)
        assert not isinstance(outcome, tuple)
        return Found(None if isinstance(outcome, Fault) else outcome, self._flags(kernel))

    def _flags(self, kernel: Kernel) -> Flags | None:
        return None if kernel.flags is None else Flags(int(kernel.flags(*self._arrays())[0]))

    def _arrays(self) -> tuple[Any, ...]:
        pairs = zip(self._codes, self._types, strict=True)
        return tuple(ints_to_codes([code], element_width(type_) or 0, (1,)) for code, type_ in pairs)

    def open(self, result: int | None, profile: Profile) -> str:
        """What the language leaves open of the result, in words."""
        rule = self.kernel(MODES[self.fixed], profile).open
        if rule is None or result is None:
            return ""
        mask = rule(self._arrays(), (ints_to_codes([result], element_width(self.result) or 0, (1,)),))
        bits = 0 if mask is None else int(np.ravel(mask)[0])
        return "; ".join(words for kind, words in _OPEN.items() if bits & kind.value)


_OPEN: Mapping[Open, str] = {
    Open.NAN: "the language allows any NaN here",
    Open.SIGN: "the language allows either sign here",
    Open.VALUE: "the fast-math flags allow other values; this is the strict one",
}


@lru_cache(maxsize=4096)
def _kernel(
    name: str,
    operands: tuple[ty.Type, ...],
    result: ty.Type,
    properties: tuple[tuple[str, Any], ...],
    profile: Profile,
) -> Kernel:
    op = _operation(name, operands, result, properties)
    assert op.definition is not None
    assert isinstance(op.definition.evaluate, Elementwise)
    return op.definition.evaluate.build(op, Settings(profile))


@lru_cache(maxsize=1024)
def _operation(
    name: str, operands: tuple[ty.Type, ...], result: ty.Type, properties: tuple[tuple[str, Any], ...]
) -> Operation:
    module = single_op_module(default_registry().require(name), list(operands), dict(properties), result)
    return module.body[0].regions[0].blocks[0].operations[0]


# --- exact results and special cases ----------------------------------------------------------------------------------

NAN, GENERATED, INFINITY, ZERO, FIRST, LAST = "nan", "generated", "infinity", "zero", "first", "last"
"""What special operands give: the first NaN operand, a NaN of its own, an infinity, a zero, or one of the operands."""

Test = Callable[[Operand, Operand], bool]


def _one_nan(x: Operand, y: Operand) -> bool:
    return x.nan or y.nan


def _one_infinite(x: Operand, y: Operand) -> bool:
    return x.infinite or y.infinite


def _both_infinite(x: Operand, y: Operand) -> bool:
    return x.infinite and y.infinite


def _sum_rules(difference: bool) -> tuple[tuple[Test, str, str], ...]:
    def opposite(x: Operand, y: Operand) -> bool:
        return _both_infinite(x, y) and (x.negative != y.negative) != difference

    what = "the difference of infinities of one sign" if difference else "the sum of infinities of different signs"
    return ((opposite, f"{what} is no number", GENERATED), (_one_infinite, "an infinite operand decides", INFINITY))


SPECIAL: Mapping[str, tuple[tuple[Test, str, str], ...]] = {
    "add": _sum_rules(difference=False),
    "subtract": _sum_rules(difference=True),
    "multiply": (
        (
            lambda x, y: (x.infinite and y.zero) or (x.zero and y.infinite),
            "zero times infinity is no number",
            GENERATED,
        ),
        (_one_infinite, "an infinite operand decides", INFINITY),
    ),
    "divide": (
        (_both_infinite, "infinity over infinity is no number", GENERATED),
        (lambda x, y: x.zero and y.zero, "0/0 is no number", GENERATED),
        (lambda x, y: y.zero and not x.infinite, "division by zero", INFINITY),
        (lambda x, y: x.infinite, "an infinite dividend decides", INFINITY),
        (lambda x, y: y.infinite, "a finite number over infinity", ZERO),
    ),
    "remainder": (
        (lambda x, y: x.infinite, "infinity has no remainder", GENERATED),
        (lambda x, y: y.zero, "a division by zero has no remainder", GENERATED),
        (lambda x, y: y.infinite, "what is divided by infinity remains", FIRST),
    ),
}
"""The special cases of each operation, the first that holds; a NaN operand comes before all of them."""


def _fmod(x: Fraction, y: Fraction) -> Fraction:
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


_EXACT: Mapping[str, tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "add": ("+", lambda x, y: x + y),
    "subtract": ("-", lambda x, y: x - y),
    "multiply": ("*", lambda x, y: x * y),
    "divide": ("/", lambda x, y: x / y),
    "remainder": ("rem", _fmod),
}


def _nan_operand_words(nan: Operand) -> str:
    fmt = nan.format
    if fmt.is_invalid(nan.known):
        return f"an invalid encoding, so {default_nan(fmt)}"
    if fmt.quiet_bit:
        return "the first NaN operand, quieted, with its sign and payload"
    return "the first NaN operand, with its sign" if fmt.nan_has_payload and fmt.signed else f"the NaN of {fmt.name}"


def special_rule(operation: str, x: Operand, y: Operand) -> tuple[str, str] | None:
    """The rule for special operands of a rounded operation, and what it gives; None where the exact result is
    rounded.
    """
    fmt = x.format
    if _one_nan(x, y):
        return f"a NaN operand: {_nan_operand_words(x if x.nan else y)}", NAN
    for holds, words, gives in SPECIAL[operation]:
        if holds(x, y):
            ends = {
                GENERATED: default_nan(fmt),
                INFINITY: instead_of_infinity(fmt),
                ZERO: "zero" if fmt.zero else f"zero, and {fmt.name} has none: the smallest value",
                FIRST: "the dividend itself",
            }
            return f"{words}: {ends[gives]}", gives
    return None


def _zero_is_negative(operation: str, x: Operand, y: Operand, mode: Rounding) -> bool:
    """The sign of an exact zero (IEEE 754, 6.3)."""
    if operation in ("multiply", "divide"):
        return x.negative != y.negative
    if operation == "remainder":
        return x.negative
    second = y.negative != (operation == "subtract")
    return x.negative if x.negative == second and x.zero and y.zero else mode is Rounding.DOWNWARD


def _zero_rule(operation: str, x: Operand, y: Operand, negative: bool) -> str | None:
    """How an exact zero gets its sign, in a format that has both zeros."""
    if not x.format.has_negative_zero:
        return None
    sign = "-0" if negative else "+0"
    if operation in ("multiply", "divide"):
        return f"the result is exactly zero, its sign the product of the signs: {sign}"
    if operation == "remainder":
        return f"the result is exactly zero, with the sign of the dividend: {sign}"
    if x.zero and y.zero and (x.negative != y.negative) == (operation == "subtract"):
        return f"zeros of one sign keep it: {sign}"
    return f"the result is exactly zero: +0, but -0 in downward: {sign}"


Compute = Callable[[FloatFormat, Rounding, Profile], Found]


def _rounded_operation(
    operation: str, x: Operand, y: Operand, compute: Compute, mode: Rounding
) -> tuple[Given, str | None]:
    """An operation to be explained: what is rounded, and the rule where it is not the rounding that decides."""
    sign, exactly = _EXACT[operation]
    formula = f"{x.short} {sign} {y.short}"
    special = special_rule(operation, x, y)
    if special is not None:
        return Given(formula, "", None, False, False, compute), special[0]
    assert x.value is not None
    assert y.value is not None
    exact = exactly(x.value, y.value)
    negative = exact < 0 if exact else _zero_is_negative(operation, x, y, mode)
    rule = None if exact else _zero_rule(operation, x, y, negative)
    return Given(formula, "", exact, negative, False, compute), rule


# --- the ops ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Context:
    """What an op's explanation is made from."""

    application: _Application
    operands: tuple[Operand, ...]
    result: ty.Type
    mode: str
    profile: Profile
    properties: Mapping[str, Any]

    @property
    def format(self) -> FloatFormat:
        """The format of a float result."""
        assert isinstance(self.result, ty.FloatType)
        return self.result.format

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that the op can be asked for."""
        return tuple(MODES) if self.application.has_modes else ()


@dataclass(frozen=True)
class _Parts:
    """What the explanation of an op adds to its result."""

    rule: str
    rounding: Explanation | None = None
    exact: Fraction | None = None
    steps: tuple[Step, ...] = ()


_Explainer = Callable[[_Context], _Parts]


def _of_rounding(rounding: Explanation, steps: tuple[Step, ...] = ()) -> _Parts:
    return _Parts(rounding.rule, rounding, None if steps else rounding.exact, steps)


def _arithmetic(operation: str) -> _Explainer:
    def explain(context: _Context) -> _Parts:
        x, y = context.operands
        given, rule = _rounded_operation(operation, x, y, context.application, MODES[context.mode])
        return _of_rounding(explained(given, context.format, context.mode, context.profile, context.modes, rule))

    return explain


def _conversion(context: _Context) -> _Parts:
    (x,) = context.operands
    given = Given(x.short, f"of type {x.type}", x.value, x.negative, x.infinite, context.application, bare=x.bare)
    return _of_rounding(explained(given, context.format, context.mode, context.profile, context.modes))


def _from_integer(signed: bool) -> _Explainer:
    def explain(context: _Context) -> _Parts:
        (x,) = context.operands
        number = _integer(ty.IntegerType(element_width(x.type) or 0, "signed" if signed else "unsigned"), x.known)
        given = Given(str(number), f"of type {x.type}", Fraction(number), number < 0, False, context.application)
        return _of_rounding(explained(given, context.format, context.mode, context.profile, ()))

    return explain


def _range(stored: ty.Type, signed: bool) -> tuple[int, int]:
    width = element_width(stored) or 0
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)


def _whole(number: Fraction, mode: Rounding) -> int:
    """The integer to which a number is rounded."""
    numerator, denominator = abs(number.numerator), number.denominator
    kept, rest = divmod(numerator, denominator)
    up = {
        Rounding.TO_NEAREST_EVEN: 2 * rest > denominator - (kept & 1),
        Rounding.TO_NEAREST_AWAY: 2 * rest >= denominator,
        Rounding.TOWARD_ZERO: False,
        Rounding.UPWARD: rest > 0 < number,
        Rounding.DOWNWARD: rest > 0 > number,
    }[mode]
    return (-1 if number < 0 else 1) * (kept + (up and rest > 0))


def _to_integer(signed: bool) -> _Explainer:
    def explain(context: _Context) -> _Parts:
        (x,) = context.operands
        low, high = _range(context.result, signed)
        if x.value is None:
            return _Parts(f"{'NaN' if x.nan else 'an infinity'} is no integer: poison")
        whole = _whole(x.value, Rounding.TOWARD_ZERO)
        cut = f"toward zero: {whole}" if whole != x.value else f"{whole} is an integer"
        if low <= whole <= high:
            return _Parts(f"{cut}, and within {low} to {high}", exact=x.value)
        return _Parts(f"{cut}, and outside {low} to {high}: poison", exact=x.value)

    return explain


_RELATIONS: Mapping[int, str] = {
    scalar.EQUAL: "equal",
    scalar.GREATER: "greater",
    scalar.LESS: "less",
    scalar.UNORDERED: "unordered",
}


def _compared(x: Operand, y: Operand) -> int:
    """Negative, zero or positive, of two operands that are no NaNs."""

    def key(z: Operand) -> tuple[int, Fraction]:
        return (0, z.value) if z.value is not None else (-1 if z.negative else 1, Fraction(0))

    return (key(x) > key(y)) - (key(x) < key(y))


def _comparison(context: _Context) -> _Parts:
    x, y = context.operands
    predicate = str(context.properties["predicate"])
    number = _enum(context.application.name, "predicate").cases[predicate]
    if _one_nan(x, y):
        relation, words = scalar.UNORDERED, "a NaN operand: unordered"
    else:
        order = _compared(x, y)
        relation = scalar.GREATER if order > 0 else scalar.LESS if order < 0 else scalar.EQUAL
        words = f"{x.short} is {_RELATIONS[relation]}{' to' if not order else ' than'} {y.short}"
        if not order and x.known != y.known:
            words += ", whatever their signs"
    holds = [name for bit, name in _RELATIONS.items() if scalar.PREDICATES[number] & bit]
    truth = "true" if scalar.PREDICATES[number] & relation else "false"
    return _Parts(f"{words}; {predicate} holds for {' or '.join(holds) or 'nothing'}: {truth}")


def _extremum(largest: bool, number: bool) -> _Explainer:
    def explain(context: _Context) -> _Parts:
        x, y = context.operands
        fmt = x.format
        which = "larger" if largest else "smaller"
        if x.nan and y.nan and number:
            invalid = f", {_nan_operand_words(y)}" if fmt.is_invalid(y.known) else ""
            return _Parts(f"two NaNs: the second{invalid or (', quieted' if fmt.quiet_bit else '')}")
        if _one_nan(x, y):
            if number:
                chosen = y if x.nan else x
                return _Parts(f"a NaN yields to a number: {chosen.short}", exact=chosen.value)
            return _Parts(f"a NaN operand: {_nan_operand_words(x if x.nan else y)}")
        order = _compared(x, y) or y.negative - x.negative
        chosen = x if (order > 0) == largest else y
        zeros = ", -0 being less than +0" if x.zero and y.zero and order else ""
        equal = "" if order else "both are the same: "
        return _Parts(
            f"{equal}{chosen.short} is the {which}{zeros}" if order else f"{equal}{chosen.short}", None, chosen.value
        )

    return explain


def _negation(context: _Context) -> _Parts:
    (x,) = context.operands
    fmt = x.format
    if not fmt.signed:
        return _Parts(nan_rule(fmt) if x.nan else negative_rule(fmt))
    if not fmt.has_negative_zero and (x.zero or x.nan):
        return _Parts(f"{fmt.name} has no -0: {'NaN' if x.nan else 'zero'} stays as it is")
    return _Parts("the sign bit is inverted, of NaNs too", exact=None if x.value is None else -x.value)


def _flush(context: _Context) -> _Parts:
    (x,) = context.operands
    if not x.format.is_subnormal(x.known):
        return _Parts("not subnormal: it stays as it is", exact=x.value)
    sign = ", of its sign" if x.format.has_negative_zero else ""
    smallest = value_text(x.format, x.format.min_normal_code, _SHORT)
    return _Parts(f"subnormal, below the smallest normal value {smallest}: zero{sign}", exact=Fraction(0))


class _Steps:
    """The steps of an op, each under the profile; after a poison one there is nothing to compute."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.steps: list[Step] = []

    def take(self, title: str, formula: str, explanation: Explanation) -> Operand:
        """Note a rounded step; its result as an operand of the next."""
        type_, result = ty.FloatType(explanation.format), explanation.result
        rule = explanation.rule + (f"; {explanation.profile_rule}" if explanation.profile_rule else "")
        self.steps.append(Step(title, formula, type_, result.code, rule, explanation))
        return Operand(title, type_, result.code, result.value)

    def note(self, title: str, formula: str, type_: ty.Type, code: int | None, rule: str) -> None:
        """Note a step that is no rounding to a float."""
        self.steps.append(Step(title, formula, type_, code, rule))

    def convert(
        self, title: str, x: Operand, fmt: FloatFormat, compute: Compute, mode: str = "to_nearest_even"
    ) -> Operand:
        """A conversion."""
        given = Given(x.short, f"of type {x.type}", x.value, x.negative, x.infinite, compute, bare=x.bare)
        return self.take(title, x.short, explained(given, fmt, mode, self.profile, (), others=False))

    def operate(self, title: str, operation: str, x: Operand, y: Operand, compute: Compute) -> Operand:
        """An operation, to nearest even."""
        given, rule = _rounded_operation(operation, x, y, compute, RNE)
        explanation = explained(given, x.format, "to_nearest_even", self.profile, (), rule, others=False)
        return self.take(title, given.text, explanation)


def _scaling(divides: bool) -> _Explainer:
    def explain(context: _Context) -> _Parts:
        profile = context.profile
        if profile.scaling == "exact":
            return _scaled_exactly(context, divides)
        x, scale = context.operands
        computing = x.format if divides else context.format
        emulates = emulated.emulates

        def module(chosen: Profile) -> Any:
            emulation = emulates(chosen, x.format, scale.format, context.format)
            return emulated.Steps(0) if emulation else scalar

        def converting(source: Operand, fmt: FloatFormat, outer: bool = False) -> Compute:
            def compute(_: FloatFormat, mode: Rounding, chosen: Profile) -> Found:
                policy = chosen.conversions if outer else chosen.arithmetic
                how = casts.mode(mode, chosen) if outer else RNE
                return _of_module(module(chosen), module(chosen).convert(source.format, fmt, source.known, how, policy))

            return compute

        steps = _Steps(profile)
        given = scale
        if scale.type != E8M0:
            given = steps.convert("scale in f8E8M0FNU", given, E8M0.format, converting(given, E8M0.format))
        if given.code is not None:
            given = steps.convert(f"scale in {computing.name}", given, computing, converting(given, computing))
        number = x
        if x.format != computing:
            number = steps.convert(f"in as {computing.name}", x, computing, converting(x, computing))
        if given.code is None or number.code is None:
            return _Parts(next(step.rule for step in steps.steps if step.code is None), steps=tuple(steps.steps))
        a, b = number, given
        operation = "divide" if divides else "multiply"

        def operating(_: FloatFormat, mode: Rounding, chosen: Profile) -> Found:
            chosen_module = module(chosen)
            result = getattr(chosen_module, operation)(computing, a.known, b.known, RNE, chosen.arithmetic)
            return _of_module(chosen_module, result)

        last = steps.operate("in / scale" if divides else "in * scale", operation, a, b, operating)
        if context.format != computing and last.code is not None:
            compute = converting(last, context.format, outer=True)
            steps.convert(f"in {context.format.name}", last, context.format, compute, context.mode)
        return _last_rounding(context, tuple(steps.steps))

    return explain


def _of_module(module: Any, result: scalar.Result) -> Found:
    return found(result, flagged=module is scalar)


def _last_rounding(context: _Context, steps: tuple[Step, ...]) -> _Parts:
    """The explanation of the last step, with what the whole op gives in other modes and profiles."""
    last = steps[-1].explanation
    assert last is not None
    whole = Given(last.given, last.reading, last.exact, False, False, context.application)
    op = explained(whole, last.format, context.mode, context.profile, context.modes, last.rule)
    return _Parts(last.rule, op, None, steps)


def _scaled_exactly(context: _Context, divides: bool) -> _Parts:
    x, scale = context.operands
    steps = _Steps(context.profile)
    power = scale
    if scale.type != E8M0:

        def to_power(_: FloatFormat, mode: Rounding, chosen: Profile) -> Found:
            return found(scalar.convert(scale.format, E8M0.format, scale.known, RNE, chosen.arithmetic))

        power = steps.convert("scale in f8E8M0FNU", scale, E8M0.format, to_power)
    formula = f"{x.short} {'/' if divides else '*'} {power.short}"
    exact, rule = None, None
    if x.nan or power.nan:
        rule = nan_rule(context.format, (x if x.nan else power).bare)
    elif x.infinite:
        rule = infinity_rule(context.format, x.negative)
    else:
        assert x.value is not None
        assert power.value is not None
        exact = x.value / power.value if divides else x.value * power.value
        # In profile spec the op takes steps: the rule is that of this number, not that of what spec gives.
        once = replace(given_fraction(formula, exact), negative=x.negative)
        rule = explained(once, context.format, context.mode, SPEC, (), others=False).rule
    given = Given(formula, "", exact, x.negative, x.infinite, context.application)
    rounding = explained(given, context.format, context.mode, context.profile, context.modes, rule)
    return replace(_of_rounding(rounding), steps=tuple(steps.steps))


def _parameters(quantised: ty.UniformQuantizedType, steps: _Steps) -> tuple[Operand, Operand]:
    """Scale and zero point in the expressed format, noted as steps."""
    assert isinstance(quantised.expressed, ty.FloatType)
    fmt = quantised.expressed.format
    source = FORMATS["f64"]
    code = int(np.float64(quantised.scales[0]).view(np.uint64))

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.convert(source, fmt, code, RNE))

    given = given_code(value_text(source, code, _SHORT), "", source, code)
    explanation = explained(replace(given, round=convert), fmt, "to_nearest_even", steps.profile, (), others=False)
    scale = steps.take("scale", given.text, explanation)
    point, text = quantised.zero_points[0], str(quantised.zero_points[0])
    if steps.profile.zero_point == "wrap":
        half = 1 << quantised.storage_width >> 1 if quantised.storage_signed else 0
        point = ((point + half) & ((1 << quantised.storage_width) - 1)) - half
        text += f" wrapped to {point}" if str(point) != text else ""
    number = given_integer(text, "", point)

    def from_integer(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.from_integer(fmt, point, RNE, profile.conversions))

    explanation = explained(
        replace(number, round=from_integer), fmt, "to_nearest_even", steps.profile, (), others=False
    )
    return scale, steps.take("zero point", text, explanation)


def _policy_operation(operation: str, x: Operand, y: Operand) -> Compute:
    def compute(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(getattr(scalar, operation)(fmt, x.known, y.known, RNE, profile.arithmetic))

    return compute


def _qcast(context: _Context) -> _Parts:
    (x,) = context.operands
    quantised = context.result
    assert isinstance(quantised, ty.UniformQuantizedType)
    steps = _Steps(context.profile)
    scale, point = _parameters(quantised, steps)
    poison = "NaN has no integer: poison"
    scaled = steps.operate("x / scale", "divide", x, scale, _policy_operation("divide", x, scale))
    if scaled.code is None:
        return _Parts(poison, steps=tuple(steps.steps))
    add = _policy_operation("add", scaled, point)
    shifted = steps.operate("+ zero point", "add", scaled, point, add)
    if shifted.code is None or shifted.nan:
        return _Parts(poison, steps=tuple(steps.steps))
    stored = numeric(quantised)
    low, high = _range(stored, quantised.storage_signed)
    mode = str(context.profile.qcast_rounding)
    if shifted.value is None:
        whole = high + 1 if not shifted.negative else low - 1
        rule = "an infinity"
    else:
        whole = _whole(shifted.value, MODES[mode])
        rule = f"{mode}: {whole}" if whole != shifted.value else f"{whole} is an integer"
    if not low <= whole <= high:
        if context.profile.qcast_out_of_range == "poison":
            rule = f"{rule}, outside {low} to {high}: poison"
            steps.note("to an integer", shifted.short, stored, None, rule)
            return _Parts(rule, steps=tuple(steps.steps))
        whole = min(max(whole, low), high)
        rule = f"{rule}, outside {low} to {high}, saturates to {whole}"
    mask = (1 << quantised.storage_width) - 1
    steps.note("to an integer", shifted.short, stored, whole & mask, rule)
    clamped = min(max(whole, quantised.storage_min), quantised.storage_max)
    bounds = f"{quantised.storage_min} to {quantised.storage_max}"
    words = f"within {bounds}" if clamped == whole else f"outside {bounds}: {clamped}"
    steps.note("clamp", str(whole), stored, clamped & mask, words)
    return _Parts(rule if clamped == whole else words, steps=tuple(steps.steps))


def _dcast(context: _Context) -> _Parts:
    (stored,) = context.operands
    quantised = stored.type
    assert isinstance(quantised, ty.UniformQuantizedType)
    steps = _Steps(context.profile)
    scale, point = _parameters(quantised, steps)
    integer = _integer(numeric(quantised), stored.known)

    def from_integer(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.from_integer(fmt, integer, RNE, profile.conversions))

    given = replace(given_integer(str(integer), "", integer), round=from_integer)
    rounding = explained(given, context.format, "to_nearest_even", context.profile, (), others=False)
    number = steps.take(f"q in {context.format.name}", str(integer), rounding)
    subtract = _policy_operation("subtract", number, point)
    difference = steps.operate("- zero point", "subtract", number, point, subtract)
    if difference.code is None:
        return _Parts(steps.steps[-1].rule, steps=tuple(steps.steps))
    steps.operate("* scale", "multiply", difference, scale, _policy_operation("multiply", difference, scale))
    return _last_rounding(context, tuple(steps.steps))


# --- signatures -------------------------------------------------------------------------------------------------------

Signature = Callable[[ty.Type, ty.Type | None], tuple[tuple[ty.Type, ...], ty.Type]]
"""From the type that is named, and the source of a cast, to the types of operands and result."""


def _same(count: int) -> Signature:
    return lambda type_, source: ((type_,) * count, type_)


def _from(*default: ty.Type) -> Signature:
    return lambda type_, source: ((source or default[0], *default[1:]), type_)


def _expressed(type_: ty.Type) -> ty.Type:
    if not isinstance(type_, ty.UniformQuantizedType):
        raise Unsupported(f"the type of a quant cast is a !quant.uniform type, not '{type_}'")
    return type_.expressed


_OPS: Mapping[str, tuple[Signature, _Explainer]] = {
    "arith.addf": (_same(2), _arithmetic("add")),
    "arith.subf": (_same(2), _arithmetic("subtract")),
    "arith.mulf": (_same(2), _arithmetic("multiply")),
    "arith.divf": (_same(2), _arithmetic("divide")),
    "arith.remf": (_same(2), _arithmetic("remainder")),
    "arith.maximumf": (_same(2), _extremum(largest=True, number=False)),
    "arith.minimumf": (_same(2), _extremum(largest=False, number=False)),
    "arith.maxnumf": (_same(2), _extremum(largest=True, number=True)),
    "arith.minnumf": (_same(2), _extremum(largest=False, number=True)),
    "arith.maximumnumf": (_same(2), _extremum(largest=True, number=True)),
    "arith.minimumnumf": (_same(2), _extremum(largest=False, number=True)),
    "arith.negf": (_same(1), _negation),
    "arith.flush_denormals": (_same(1), _flush),
    "arith.cmpf": (lambda type_, source: ((type_, type_), ty.I1), _comparison),
    "arith.extf": (_from(F64), _conversion),
    "arith.truncf": (_from(F64), _conversion),
    "arith.convertf": (_from(F64), _conversion),
    "arith.sitofp": (_from(I64), _from_integer(signed=True)),
    "arith.uitofp": (_from(I64), _from_integer(signed=False)),
    "arith.fptosi": (_from(F64), _to_integer(signed=True)),
    "arith.fptoui": (_from(F64), _to_integer(signed=False)),
    "arith.scaling_extf": (_from(F64, E8M0), _scaling(divides=False)),
    "arith.scaling_truncf": (_from(F64, E8M0), _scaling(divides=True)),
    "quant.qcast": (lambda type_, source: ((_expressed(type_),), type_), _qcast),
    "quant.dcast": (lambda type_, source: ((type_,), _expressed(type_)), _dcast),
}

EXPLAINED = tuple(_OPS)
"""The ops that `explain_op` explains."""


def explain_op(
    op: str,
    type: str | ty.Type | FloatFormat,
    *operands: Any,
    source: str | ty.Type | None = None,
    profile: Profile | str = "spec",
    channel: int | None = None,
    **properties: Any,
) -> OpExplanation:
    """Explain what an op gives on these operands: ``explain_op("arith.addf", "f8E4M3FN", 1.4, 2.2)``.

    ``op``: one of `EXPLAINED`. ``type``: the type of operands and result; of a cast, that of the result, and of both
    quant casts the quantised type. ``source``: the type that is cast (default: f64, or i64 for integers). ``operands``:
    numbers as `explain` takes them, rounded to their type as MLIR reads literals; a typed one such as ``f32=0.5`` or a
    `Value` is of its own type (the scale of a scaling op is a f8E8M0FNU otherwise). ``channel``: which scale of a type
    with several, counted in the order of the type. ``properties``: as `halfulp.eval` takes them (``rounding="upward"``,
    ``fastmath="nnan"``, ``predicate="olt"``).

    Raises Unsupported for another op, InputError for what is no operand, VerifyError for types the op does not accept.
    """
    if op not in _OPS:
        default_registry().require(op)
        raise Unsupported(f"explain_op explains {', '.join(EXPLAINED)}, not {op}")
    signature, explainer = _OPS[op]
    named = _one_channel(as_type(type), channel)
    types, result = signature(named, None if source is None else as_type(source))
    definition = default_registry().require(op)
    if len(operands) != len(types):
        raise InputError(f"{op} takes {len(types)} operands, but {len(operands)} are given")
    names = [slot.name for slot in definition.operands]
    taken = tuple(_operand(*row) for row in zip(names, types, operands, strict=True))
    if op == "arith.cmpf" and "predicate" not in properties:
        raise InputError('arith.cmpf needs predicate="olt" or the like (--attr predicate=olt)')
    codes = [operand.code for operand in taken]
    known = [code for code in codes if code is not None]
    application = _Application(op, [operand.type for operand in taken], result, properties, known)
    _kernel(op, application._types, result, application._properties, SPEC)  # raises for types that do not fit
    chosen = as_profile(profile)
    attributes = " ".join(f"{name}={value}" for name, value in properties.items())
    if len(known) < len(codes):
        reason = "; ".join(o.explanation.rule for o in taken if o.code is None and o.explanation is not None)
        rule = f"an operand is poison ({reason})"
        return OpExplanation(op, attributes, taken, (), None, result, None, Flags(0), None, rule, chosen, "", "", ())
    context = _Context(application, taken, result, str(application.fixed), chosen, properties)
    parts = explainer(context)
    mode = MODES[context.mode]
    found_, spec = application(None, mode, chosen), application(None, mode, SPEC)
    fault = application.outcome(SPEC)
    if isinstance(fault, Fault) and "fastmath" in fault.reason:
        parts = replace(parts, rule=f"{fault.reason}: poison", rounding=None)

    def compute(other: Profile) -> Found:
        return application(None, mode, other)

    return OpExplanation(
        op,
        attributes,
        taken,
        parts.steps,
        parts.exact,
        result,
        found_.code,
        found_.flags,
        parts.rounding,
        parts.rule,
        chosen,
        profile_rule(compute, spec, chosen, lambda code: code_text(result, code)),
        application.open(found_.code, chosen),
        profile_groups(compute, spec, chosen),
    )


def _enum(op: str, name: str) -> EnumDefinition:
    declared = default_registry().require(op).property_named(name)
    assert declared is not None
    assert isinstance(declared.kind, EnumDefinition)
    return declared.kind


def _one_channel(type_: ty.Type, channel: int | None) -> ty.Type:
    """A quantised type of one scale: that of the channel, of a type with several."""
    several = isinstance(type_, ty.UniformQuantizedType) and len(type_.scales) > 1
    if not isinstance(type_, ty.UniformQuantizedType) or (channel is None and not several):
        if channel is not None:
            raise InputError(f"'{type_}' has no channels")
        return type_
    count = len(type_.scales)
    if channel is None or not 0 <= channel < count:
        given = "" if channel is None else f", not {channel}"
        raise InputError(f"'{type_}' has {count} scales: channel=… (--channel) is 0 to {count - 1}{given}")
    return replace(
        type_,
        scales=(type_.scales[channel],),
        zero_points=(type_.zero_points[channel],),
        axis=None,
        block_sizes=None,
        parameter_shape=(),
    )


def _operand(name: str, type_: ty.Type, value: Any) -> Operand:
    typed = typed_text(value) if isinstance(value, str) else None
    if typed is not None:
        type_, value = parse_type_head(typed[1]), typed[0]
    if isinstance(value, Value):
        type_ = value.type
    if isinstance(type_, ty.FloatType):
        return _float_operand(name, type_, value)
    if isinstance(type_, ty.ShapedType) or element_width(type_) is None:
        raise InputError(f"{name} must be one number, not of type '{type_}'")
    if isinstance(value, str):
        code = parse_element(type_, value.strip())
        return Operand(name, type_, code, None if code is None else Fraction(_integer(numeric(type_), code)))
    code = _code_of(value if isinstance(value, Value) else to_value(value, type_, name))
    return Operand(name, type_, code, Fraction(_integer(numeric(type_), code)))


def _code_of(value: Value) -> int:
    if value.shape or value.poison is not None:
        raise InputError(f"an operand is one number without poison, not {value!r}")
    return codes_to_ints(value.bits.reshape((1, *value.bits.shape)), element_width(value.element_type) or 0)[0]


def _float_operand(name: str, type_: ty.FloatType, value: Any) -> Operand:
    fmt = type_.format
    given = given_bits(repr(value), fmt, _code_of(value)) if isinstance(value, Value) else given_number(value, fmt)
    explanation = explained(given, fmt, "to_nearest_even", SPEC, (), others=False)
    return Operand(name, type_, explanation.result.code, explanation.result.value, explanation)
