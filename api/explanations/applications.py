"""The op that is explained, with its types, operands and kernel, and the parts of an explanation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from halfulp.explanations.records import ExplanationStep, GivenOperand, RoundingExplanation, TotalError
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import CodeAndFlags, GivenNumber, default_nan, given_number, instead_of_infinity
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.declare.build import property_of, single_op_module
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.functions import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import element_width, numeric, width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.parsing import parse_element, parse_type_head
from halfulp.interp.values.value import Value, to_value
from halfulp.number_reader import MODES, Code, bits_of, read_number, read_text, real_of, typed_text
from halfulp.semantics.float_unit import MIXED
from halfulp.semantics.kernel import Fault, Kernel, Open
from halfulp.semantics.profile import SPEC, Profile
from halfulp.texts import integer_of

# --- types ------------------------------------------------------------------------------------------------------------


F64, I64 = ty.FloatType(FORMATS["f64"]), ty.IntegerType(64)


class OpTypes(NamedTuple):
    """The types of the operands; ``result``: that of the result, None if it follows from the operands."""

    operands: tuple[ty.Type, ...]
    result: ty.Type | None


class Signature(NamedTuple):
    """The way in which the types of an op follow from the user's ``type`` and ``to``. ``types``: a function of the name
    of the op, ``type`` and ``to``; it raises InputError if a type is missing. ``casts``: True if the op has ``to``.
    """

    types: Callable[[str, ty.Type | None, ty.Type | None], OpTypes]
    casts: bool = True


def _missing(op: str, what: str, example: str) -> InputError:
    return InputError(f"{op} needs {what}", hint=f"give {example}")


def same(count: int) -> Signature:
    """Return the signature of an op whose operands have one type, which also determines the type of the result."""

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        if to is not None:
            raise InputError(f"{op} is not a cast: it has no to=…", hint=f'write type="{to}", the type of its operands')
        if type_ is None:
            raise _missing(op, "the type of its operands", 'type=…, as in type="f32"')
        return OpTypes((type_,) * count, None)

    return Signature(types, casts=False)


def cast(*default: ty.Type) -> Signature:
    """Return the signature of a cast. ``default``: the type of each operand; ``type`` replaces that of the first."""

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        if to is None:
            raise _missing(op, "the type of its result", 'to=…, as in to="f8E4M3FN"; type=… is the type of its operand')
        return OpTypes((type_ or default[0], *default[1:]), to)

    return Signature(types)


def mixed(count: int) -> Signature:
    """Return the signature of an operation of a float unit: each operand may have its own type; an operand without a
    type gets ``type``, else ``to``. Without ``to`` the result has the type of the last operand.
    """

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        common = type_ or to
        if common is None:
            raise _missing(
                op, "the type of its result", 'to=…, as in to="f32"; an operand f8E4M3FN=1.5 has its own type'
            )
        return OpTypes((common,) * count, to)

    return Signature(types)


def _expressed(type_: ty.Type) -> ty.Type:
    if not isinstance(type_, ty.UniformQuantizedType):
        raise Unsupported(f"the type of a quant cast is a !quant.uniform type, not '{type_}'")
    return type_.expressed


def _quantising(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
    """Return the types of quant.qcast: from the expressed type to the quantised one."""
    if to is None:
        raise _missing(op, "the quantised type", 'to="!quant.uniform<…>"')
    return OpTypes((type_ or _expressed(to),), to)


def _dequantising(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
    """Return the types of quant.dcast: from the quantised type to the expressed one."""
    if type_ is None:
        raise _missing(op, "the quantised type", 'type="!quant.uniform<…>"')
    return OpTypes((type_,), to or _expressed(type_))


QUANTISING, DEQUANTISING = Signature(_quantising), Signature(_dequantising, casts=False)
"""The signatures of the two quant casts."""


def type_of_operand(given: Any) -> ty.Type | None:
    """Return the type of an operand that has one, a `Value` or a text with a type; None for any other operand."""
    if isinstance(given, Value):
        return given.element_type
    typed = typed_text(given) if isinstance(given, str) else None
    return None if typed is None else ty.element_type(parse_type_head(typed[1]))


def keywords_of(signature: Signature, first: Any, source: Any) -> dict[str, Any]:
    """Return the keywords ``type`` and ``to`` for the one type that the command line names. For a cast, it is the type
    of the result.

    ``source``: the type that is cast, or None.
    """
    if not signature.casts:
        if source is not None:
            raise InputError("the op is not a cast: it has no source type", hint="leave it out")
        return {"type": first, "to": None}
    return {"type": source, "to": first}


_WORD = re.compile(r"\s*(?!s?nan|inf|true|false|poison)[A-Za-z_!][^=:]*", re.ASCII | re.IGNORECASE)


def refuse_type(op: str, operand: Any) -> None:
    """Raise InputError if the first operand is the name of a type, which the user probably meant as ``type``."""
    if isinstance(operand, ty.Type | FloatFormat) or (isinstance(operand, str) and _WORD.fullmatch(operand)):
        type_ = as_type(operand)  # raises for a word that names no type
        raise InputError(f"'{type_}' is a type, not an operand of {op}", hint=f'give type="{type_}" after the operands')


# --- the kernel -------------------------------------------------------------------------------------------------------


class Application:
    """An op on given codes, computed by its kernel, in any mode and profile."""

    def __init__(
        self,
        name: str,
        operands: Sequence[ty.Type],
        result: ty.Type | None,
        properties: Mapping[str, Any],
        codes: list[int],
    ) -> None:
        """Raise VerifyError for types and properties that do not fit. ``result``: the type of the result; None if it
        follows from the operands.
        """
        self.name = name
        self._types = tuple(operands)
        self._properties = tuple(sorted(properties.items()))
        op = _operation(name, self._types, result, self._properties)
        self.results = tuple(value.type for value in op.results)
        self.result = self.results[0]
        self.has_to = result is not None
        self._codes = codes
        definition = default_registry().require(name)
        self.has_modes = property_of(definition, "rounding") is not None
        self.fixed = properties.get("rounding", properties.get("roundingmode", "to_nearest_even"))

    def kernel(self, mode: Rounding, profile: Profile) -> Kernel:
        """Return the kernel that `halfulp.eval` runs."""
        properties = dict(self._properties)
        if self.has_modes:
            properties.pop("roundingmode", None)
            properties["rounding"] = mode.spelling
        given = self.result if self.has_to else None
        return kernel_of(self.name, self._types, given, tuple(sorted(properties.items())), profile)

    def outcome(self, profile: Profile) -> Any:
        """Return the result of the scalar kernel: a code or a fault."""
        return self.kernel(MODES[self.fixed], profile).scalar(*self._codes)

    def __call__(self, fmt: FloatFormat | None, mode: Rounding, profile: Profile) -> CodeAndFlags:
        """Return what the op gives under a profile in a rounding mode, with its flags."""
        kernel = self.kernel(mode, profile)
        outcome = kernel.scalar(*self._codes)
        assert not isinstance(outcome, tuple)
        return CodeAndFlags(None if isinstance(outcome, Fault) else outcome, self._flags(kernel))

    def _flags(self, kernel: Kernel) -> Flags | None:
        return None if kernel.flags is None else Flags(int(kernel.flags(*self._arrays())[0]))

    def _arrays(self) -> tuple[Any, ...]:
        pairs = zip(self._codes, self._types, strict=True)
        return tuple(ints_to_codes([code], width_of(type_), (1,)) for code, type_ in pairs)

    def open(self, result: int | None, profile: Profile) -> str:
        """Return a text that says which part of the result the language leaves unspecified; "" if none."""
        rule = self.kernel(MODES[self.fixed], profile).open
        if rule is None or result is None:
            return ""
        mask = rule(self._arrays(), (ints_to_codes([result], width_of(self.result), (1,)),))
        bits = 0 if mask is None else int(np.ravel(mask)[0])
        return "; ".join(words for kind, words in _OPEN.items() if bits & kind.value)


_OPEN: Mapping[Open, str] = {
    Open.NAN: "the language allows any NaN here",
    Open.SIGN: "the language allows either sign here",
    Open.VALUE: "the fast-math flags allow other values; this is the strict one",
}


@lru_cache(maxsize=4096)
def kernel_of(
    name: str,
    operands: tuple[ty.Type, ...],
    result: ty.Type | None,
    properties: tuple[tuple[str, Any], ...],
    profile: Profile,
) -> Kernel:
    """Return the kernel of an op of these types and properties. Raise VerifyError if they do not fit."""
    op = _operation(name, operands, result, properties)
    assert op.definition is not None
    assert isinstance(op.definition.evaluate, Elementwise)
    return op.definition.evaluate.build(op, Settings(profile))


@lru_cache(maxsize=1024)
def _operation(
    name: str, operands: tuple[ty.Type, ...], result: ty.Type | None, properties: tuple[tuple[str, Any], ...]
) -> Operation:
    module = single_op_module(default_registry().require(name), list(operands), dict(properties), result)
    return module.body[0].regions[0].blocks[0].operations[0]


# --- operands ---------------------------------------------------------------------------------------------------------


def one_channel(type_: ty.Type | None, channel: int | None) -> ty.Type | None:
    """Return a quantised type with one scale. If the type has several scales, the scale of ``channel`` is taken."""
    several = isinstance(type_, ty.UniformQuantizedType) and len(type_.scales) > 1
    if not isinstance(type_, ty.UniformQuantizedType) or (channel is None and not several):
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


def operand_of(name: str, type_: ty.Type, value: Any) -> GivenOperand:
    """Return an operand in its type. A typed text and a `Value` keep their own type. Raises InputError."""
    typed = typed_text(value) if isinstance(value, str) else None
    real = real_of(value)
    if typed is not None:
        type_, value = parse_type_head(typed[1]), typed[0]
    if isinstance(value, Value):
        type_ = value.type
    if isinstance(type_, ty.FloatType):
        return _float_operand(name, type_, value, real, literal=typed is not None)
    if isinstance(type_, ty.ShapedType) or element_width(type_) is None:
        raise InputError(f"{name} must be one number, not of type '{type_}'")
    if isinstance(value, str):
        code = parse_element(type_, value.strip())
    else:
        code = _code_of(value if isinstance(value, Value) else to_value(value, type_, name))
    number = None if code is None else Fraction(integer_of(numeric(type_), code))
    return GivenOperand(name, type_, code, number, real=number)


def _code_of(value: Value) -> int:
    if value.shape or value.poison is not None:
        raise InputError(f"an operand must be one number that is not poison, not {value!r}")
    return codes_to_ints(value.bits.reshape((1, *value.bits.shape)), width_of(value.element_type))[0]


def _float_operand(name: str, type_: ty.FloatType, value: Any, real: Fraction | None, literal: bool) -> GivenOperand:
    fmt = type_.format
    if isinstance(value, Value):
        read = bits_of(repr(value), Code(fmt, _code_of(value)))
    else:
        read = read_text(value.strip(), fmt, literal=True) if literal else read_number(value, fmt)
    given = given_number(read)
    explanation = explained(given, fmt, "to_nearest_even", SPEC, (), others=False)
    real = given.exact if real is None else real
    return GivenOperand(name, type_, explanation.result.code, explanation.result.value, explanation, real)


# --- NaN, infinite and zero operands ----------------------------------------------------------------------------------


RNE = Rounding.TO_NEAREST_EVEN
NAN, GENERATED, INFINITY, ZERO, FIRST, LAST = "nan", "generated", "infinity", "zero", "first", "last"
"""The kinds of results of special operands: the first NaN operand, a new NaN, an infinity, a zero, the first or the
last operand.
"""
Test = Callable[[GivenOperand, GivenOperand], bool]


def one_nan(x: GivenOperand, y: GivenOperand) -> bool:
    """Tell whether at least one operand is a NaN."""
    return x.nan or y.nan


def _one_infinite(x: GivenOperand, y: GivenOperand) -> bool:
    return x.infinite or y.infinite


def _both_infinite(x: GivenOperand, y: GivenOperand) -> bool:
    return x.infinite and y.infinite


def _sum_rules(difference: bool) -> tuple[tuple[Test, str, str], ...]:
    def opposite(x: GivenOperand, y: GivenOperand) -> bool:
        return _both_infinite(x, y) and (x.negative != y.negative) != difference

    what = "the difference of infinities of one sign" if difference else "the sum of infinities of different signs"
    return ((opposite, f"{what} is not a number", GENERATED), (_one_infinite, "an infinite operand decides", INFINITY))


SPECIAL: Mapping[str, tuple[tuple[Test, str, str], ...]] = {
    "add": _sum_rules(difference=False),
    "subtract": _sum_rules(difference=True),
    "multiply": (
        (
            lambda x, y: (x.infinite and y.zero) or (x.zero and y.infinite),
            "zero times infinity is not a number",
            GENERATED,
        ),
        (_one_infinite, "an infinite operand decides", INFINITY),
    ),
    "divide": (
        (_both_infinite, "infinity over infinity is not a number", GENERATED),
        (lambda x, y: x.zero and y.zero, "0/0 is not a number", GENERATED),
        (lambda x, y: y.zero and not x.infinite, "division by zero", INFINITY),
        (lambda x, y: x.infinite, "an infinite dividend decides", INFINITY),
        (lambda x, y: y.infinite, "a finite number over infinity", ZERO),
    ),
    "remainder": (
        (lambda x, y: x.infinite, "infinity has no remainder", GENERATED),
        (lambda x, y: y.zero, "a division by zero has no remainder", GENERATED),
        (lambda x, y: y.infinite, "an infinite divisor leaves the dividend", FIRST),
    ),
}
"""The special cases of each operation. The first one whose test is true decides. A NaN operand comes before all of
them.
"""


def _fmod(x: Fraction, y: Fraction) -> Fraction:
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


EXACT: Mapping[str, tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "add": ("+", lambda x, y: x + y),
    "subtract": ("-", lambda x, y: x - y),
    "multiply": ("*", lambda x, y: x * y),
    "divide": ("/", lambda x, y: x / y),
    "remainder": ("rem", _fmod),
}


def nan_operand_words(nan: GivenOperand) -> str:
    """Return a text about a result that is the NaN of an operand."""
    fmt = nan.format
    if fmt.is_invalid(nan.known):
        return f"an invalid encoding, so {default_nan(fmt)}"
    if fmt.quiet_bit:
        return "the first NaN operand, quieted, with its sign and payload"
    return "the first NaN operand, with its sign" if fmt.nan_has_payload and fmt.signed else f"the NaN of {fmt.name}"


def special_rule(
    operation: str, x: GivenOperand, y: GivenOperand, fmt: FloatFormat | None = None
) -> tuple[str, str] | None:
    """Return the rule, in words, for operands that are NaN, infinite or zero, and the kind of the result. None if there
    is no such rule, so that the exact result is rounded. ``fmt``: the format of the result, if it is not that of the
    first operand.
    """
    fmt = fmt or x.format
    if one_nan(x, y):
        return f"a NaN operand: {nan_operand_words(x if x.nan else y)}", NAN
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


def _zero_is_negative(operation: str, x: GivenOperand, y: GivenOperand, mode: Rounding) -> bool:
    """Tell whether an exact zero is negative (IEEE 754, 6.3)."""
    if operation in ("multiply", "divide"):
        return x.negative != y.negative
    if operation == "remainder":
        return x.negative
    second = y.negative != (operation == "subtract")
    return x.negative if x.negative == second and x.zero and y.zero else mode is Rounding.DOWNWARD


def _zero_rule(operation: str, x: GivenOperand, y: GivenOperand, negative: bool, fmt: FloatFormat) -> str | None:
    """Say how an exact zero gets its sign, in a format that has both zeros."""
    if not fmt.has_negative_zero:
        return None
    sign = "-0" if negative else "+0"
    if operation in ("multiply", "divide"):
        return f"the result is exactly zero, its sign the product of the signs: {sign}"
    if operation == "remainder":
        return f"the result is exactly zero, with the sign of the dividend: {sign}"
    if x.zero and y.zero and (x.negative != y.negative) == (operation == "subtract"):
        return f"zeros of one sign keep it: {sign}"
    return f"the result is exactly zero: +0, but -0 in downward: {sign}"


Compute = Callable[[FloatFormat, Rounding, Profile], CodeAndFlags]


def rounded_operation(
    operation: str,
    x: GivenOperand,
    y: GivenOperand,
    compute: Compute,
    mode: Rounding,
    fmt: FloatFormat | None = None,
) -> tuple[GivenNumber, str | None]:
    """Return the operation to explain: the number that is rounded, and the rule if the result is not a rounded
    number. ``fmt``: as for `special_rule`.
    """
    sign, exactly = EXACT[operation]
    formula = f"{x.short} {sign} {y.short}"
    special = special_rule(operation, x, y, fmt)
    if special is not None:
        return GivenNumber(formula, "", None, False, False, compute), special[0]
    assert x.value is not None
    assert y.value is not None
    exact = exactly(x.value, y.value)
    negative = exact < 0 if exact else _zero_is_negative(operation, x, y, mode)
    rule = None if exact else _zero_rule(operation, x, y, negative, fmt or x.format)
    return GivenNumber(formula, "", exact, negative, False, compute), rule


# --- parts of an explanation ------------------------------------------------------------------------------------------


E8M0 = ty.FloatType(FORMATS["f8E8M0FNU"])


@dataclass(frozen=True)
class OpContext:
    """What an explainer gets: the op, its operands and its settings."""

    application: Application
    operands: tuple[GivenOperand, ...]
    result: ty.Type
    mode: str
    profile: Profile
    properties: Mapping[str, Any]

    @property
    def format(self) -> FloatFormat:
        """Return the format of a float result."""
        return ty.float_format(self.result)

    @property
    def fault(self) -> Fault | None:
        """Return why the result has no value in profile spec; None if it has one."""
        outcome = self.application.outcome(SPEC)
        return outcome if isinstance(outcome, Fault) else None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return the faults that the op can have with these flags."""
        return self.application.kernel(RNE, SPEC).faults

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the rounding modes that the op can have."""
        return tuple(MODES) if self.application.has_modes else ()


@dataclass(frozen=True)
class OpParts:
    """The parts that the explanation of an op adds to its result."""

    rule: str
    rounding: RoundingExplanation | None = None
    exact: Fraction | None = None
    steps: tuple[ExplanationStep, ...] = ()
    story: tuple[tuple[str, str], ...] = ()


Explainer = Callable[[OpContext], OpParts]


def parts_of_rounding(rounding: RoundingExplanation, steps: tuple[ExplanationStep, ...] = ()) -> OpParts:
    """Return the parts of the explanation of an op whose result is one rounding."""
    return OpParts(rounding.rule, rounding, None if steps else rounding.exact, steps)


def integer_range(stored: ty.Type, signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest integer of a type."""
    width = width_of(stored)
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)


def whole_number(number: Fraction, mode: Rounding) -> int:
    """Return a number rounded to an integer in this mode."""
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


class StepList:
    """The steps of an op, each computed under the profile. After a step whose result is poison, no step is computed."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.steps: list[ExplanationStep] = []

    def take(self, title: str, formula: str, explanation: RoundingExplanation) -> GivenOperand:
        """Add a step that rounds, and return its result as an operand of the next step."""
        type_, result = ty.FloatType(explanation.format), explanation.result
        rule = explanation.rule + (f"; {explanation.profile_rule}" if explanation.profile_rule else "")
        self.steps.append(ExplanationStep(title, formula, type_, result.code, rule, explanation))
        return GivenOperand(title, type_, result.code, result.value)

    def note(self, title: str, formula: str, type_: ty.Type, code: int | None, rule: str) -> None:
        """Add a step whose result is not a rounded float. ``rule``: the rule that gives the result."""
        self.steps.append(ExplanationStep(title, formula, type_, code, rule))

    def convert(
        self, title: str, x: GivenOperand, fmt: FloatFormat, compute: Compute, mode: str = "to_nearest_even"
    ) -> GivenOperand:
        """Add a conversion, and return its result."""
        given = GivenNumber(x.short, f"of type {x.type}", x.value, x.negative, x.infinite, compute, bare=x.bare)
        return self.take(title, x.short, explained(given, fmt, mode, self.profile, (), others=False))

    def operate(self, title: str, operation: str, x: GivenOperand, y: GivenOperand, compute: Compute) -> GivenOperand:
        """Add an operation that rounds to nearest even, and return its result."""
        given, rule = rounded_operation(operation, x, y, compute, RNE)
        explanation = explained(given, x.format, "to_nearest_even", self.profile, (), rule, others=False)
        return self.take(title, given.text, explanation)


def last_rounding(context: OpContext, steps: tuple[ExplanationStep, ...]) -> OpParts:
    """Return the explanation of the last step, with the results of the whole op in other modes and profiles."""
    last = steps[-1].explanation
    assert last is not None
    whole = GivenNumber(last.given, last.reading, last.exact, False, False, context.application)
    op = explained(whole, last.format, context.mode, context.profile, context.modes, last.rule)
    return OpParts(last.rule, op, None, steps)


# --- the error against the exact function -----------------------------------------------------------------------------


_OPERATIONS: Mapping[str, str] = {
    **{name: operation for name, operation in MIXED.items() if operation in EXACT},
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "arith.remf": "remainder",
}
_UNCHANGED = ("arith.extf", "arith.truncf", "arith.convertf", "fcvt")


def _function(op: str) -> Callable[..., Fraction] | None:
    """Return the exact function of an op on rational numbers, if it has one; elementary functions are computed to 200
    bits.
    """
    if op in _OPERATIONS:
        return EXACT[_OPERATIONS[op]][1]
    if op in MIXED:
        return partial(_multiply_add, *FUSED[MIXED[op]])
    name = row_of(default_registry().require(op))
    if name is not None:
        return partial(_rounded_function, name)
    return (lambda x: x) if op in _UNCHANGED else None


def _multiply_add(negated: int, subtracted: int, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    product = -a * b if negated else a * b
    return product - c if subtracted else product + c


def _rounded_function(name: str, *operands: Fraction) -> Fraction:
    from halfulp.fp_formats.reals import accounts

    found = accounts.number_near(name, operands)
    if found is None:
        raise ArithmeticError(f"{name} has no real result there")
    return found


def total_error(op: str, operands: Sequence[GivenOperand], result: Fraction | None, fmt: FloatFormat) -> TotalError:
    """Return the error of ``result``, and how much of it comes from the op and from rounding each operand.

    The operands are replaced by their rounded values one after the other, the first one first: the differences add up
    to the total error.
    """
    rounded = any(operand.real != operand.value for operand in operands)
    exactly = _function(op)
    if exactly is None:
        return TotalError(None, shown=rounded, reason=f"the exact function of {op} is not rational, or has steps")
    values = [operand.value for operand in operands]
    reals = [operand.real for operand in operands]
    if result is None or None in values or None in reals:
        return TotalError(None, shown=rounded, reason="an operand or the result is not a finite number")
    mixed = [[*values[:k], *reals[k:]] for k in range(len(values) + 1)]
    try:
        exact = [exactly(*row) for row in mixed]
    except ArithmeticError:
        return TotalError(None, shown=rounded, reason="there is no exact result for the operands as given")
    by_operand = [
        (f"rounding {operand.name}", after - before)
        for operand, (before, after) in zip(operands, pairwise(exact), strict=True)
    ]
    parts = (("the op itself", result - exact[-1]), *by_operand)
    return TotalError(exact[0], result - exact[0], ulp_at(fmt, exact[0]), parts, rounded)
