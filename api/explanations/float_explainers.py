"""The explainers of ops on floats: arithmetic, casts, ops in several steps, elementary functions, and a float unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from halfulp.explanations import applications as ops
from halfulp.explanations import rules
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.rounding import explained
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.neighbours import midpoint_of, neighbours, ulp_at
from halfulp.fp_formats.numbers import exact_number
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import decimal_text, signed_text, value_text
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.functions import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.types import numeric, width_of
from halfulp.number_reader import MODES
from halfulp.semantics import casts, emulated
from halfulp.semantics.float_unit import CLASSES, MIXED
from halfulp.semantics.integer_functions import DIRECTIONS
from halfulp.semantics.profile import SPEC, Profile
from halfulp.texts import SHORT_DIGITS, bits_of_integer, integer_of, integer_text

if TYPE_CHECKING:
    from halfulp.fp_formats.reals.accounts import Account
    from halfulp.fp_formats.reals.functions import Special


# --- arithmetic and casts ---------------------------------------------------------------------------------------------


def arithmetic(operation: str) -> ops.Explainer:
    """Return the explainer of a rounded operation: add, subtract, multiply, divide or remainder."""

    def explain(context: ops.OpContext) -> ops.OpParts:
        x, y = context.operands
        given, rule = ops.rounded_operation(operation, x, y, context.application, MODES[context.mode], context.format)
        return ops.parts_of_rounding(
            explained(given, context.format, context.mode, context.profile, context.modes, rule)
        )

    return explain


def conversion(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of a conversion between float types."""
    (x,) = context.operands
    given = rules.GivenNumber(
        x.short, f"of type {x.type}", x.value, x.negative, x.infinite, context.application, bare=x.bare
    )
    return ops.parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes))


def from_integer_explainer(signed: bool) -> ops.Explainer:
    """Return the explainer of a conversion from an integer."""

    def explain(context: ops.OpContext) -> ops.OpParts:
        (x,) = context.operands
        number = integer_of(ty.IntegerType(width_of(x.type), "signed" if signed else "unsigned"), x.known)
        given = rules.GivenNumber(
            str(number), f"of type {x.type}", Fraction(number), number < 0, False, context.application
        )
        return ops.parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes))

    return explain


def to_integer_explainer(signed: bool) -> ops.Explainer:
    """Return the explainer of a conversion to an integer."""

    def explain(context: ops.OpContext) -> ops.OpParts:
        (x,) = context.operands
        low, high = ops.integer_range(context.result, signed)
        if x.value is None:
            return ops.OpParts(f"{'NaN' if x.nan else 'an infinity'} is not an integer: poison")
        mode = MODES[context.mode] if context.application.has_modes else Rounding.TOWARD_ZERO
        whole = ops.whole_number(x.value, mode)
        cut = f"{TOWARD[mode]}: {whole}" if whole != x.value else f"{whole} is an integer"
        if low <= whole <= high:
            return ops.OpParts(f"{cut}, and within {low} to {high}", exact=x.value)
        return ops.OpParts(f"{cut}, and outside {low} to {high}: poison", exact=x.value)

    return explain


TOWARD: Mapping[Rounding, str] = {
    Rounding.UPWARD: "toward +infinity",
    Rounding.DOWNWARD: "toward -infinity",
    Rounding.TO_NEAREST_AWAY: "to nearest, ties away from zero",
    Rounding.TO_NEAREST_EVEN: "to nearest, ties to even",
    Rounding.TOWARD_ZERO: "toward zero",
}
"""The rounding modes in words."""

_RELATIONS: Mapping[int, str] = {
    scalar.EQUAL: "equal",
    scalar.GREATER: "greater",
    scalar.LESS: "less",
    scalar.UNORDERED: "unordered",
}


def _compared(x: GivenOperand, y: GivenOperand) -> int:
    """Compare two operands that are not NaN: return a negative number, zero or a positive number."""

    def key(z: GivenOperand) -> tuple[int, Fraction]:
        return (0, z.value) if z.value is not None else (-1 if z.negative else 1, Fraction(0))

    return (key(x) > key(y)) - (key(x) < key(y))


def comparison(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of an arith.cmpf."""
    x, y = context.operands
    predicate = str(context.properties["predicate"])
    number = enum_of(context.application.name, "predicate").cases[predicate]
    if ops.one_nan(x, y):
        relation, words = scalar.UNORDERED, "a NaN operand: unordered"
    else:
        order = _compared(x, y)
        relation = scalar.GREATER if order > 0 else scalar.LESS if order < 0 else scalar.EQUAL
        words = f"{x.short} is {_RELATIONS[relation]}{' to' if not order else ' than'} {y.short}"
        if not order and x.known != y.known:
            words += ", whatever their signs"
    holds = [name for bit, name in _RELATIONS.items() if scalar.PREDICATES[number] & bit]
    truth = "true" if scalar.PREDICATES[number] & relation else "false"
    return ops.OpParts(f"{words}; {predicate} holds for {' or '.join(holds) or 'nothing'}: {truth}")


def extremum(largest: bool, number: bool) -> ops.Explainer:
    """Return the explainer of a maximum or minimum. ``number``: if one operand is a NaN, the result is the other
    operand.
    """

    def explain(context: ops.OpContext) -> ops.OpParts:
        x, y = context.operands
        fmt = x.format
        which = "larger" if largest else "smaller"
        if x.nan and y.nan and number:
            invalid = f", {ops.nan_operand_words(y)}" if fmt.is_invalid(y.known) else ""
            return ops.OpParts(f"two NaNs: the second{invalid or (', quieted' if fmt.quiet_bit else '')}")
        if ops.one_nan(x, y):
            if number:
                chosen = y if x.nan else x
                return ops.OpParts(
                    f"one operand is a NaN, so the result is the other: {chosen.short}", exact=chosen.value
                )
            return ops.OpParts(f"a NaN operand: {ops.nan_operand_words(x if x.nan else y)}")
        order = _compared(x, y) or y.negative - x.negative
        chosen = x if (order > 0) == largest else y
        zeros = ", -0 being less than +0" if x.zero and y.zero and order else ""
        equal = "" if order else "both are the same: "
        return ops.OpParts(
            f"{equal}{chosen.short} is the {which}{zeros}" if order else f"{equal}{chosen.short}", None, chosen.value
        )

    return explain


def negation(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of an arith.negf."""
    (x,) = context.operands
    fmt = x.format
    if not fmt.signed:
        return ops.OpParts(rules.nan_rule(fmt) if x.nan else rules.negative_rule(fmt))
    if not fmt.has_negative_zero and (x.zero or x.nan):
        return ops.OpParts(f"{fmt.name} has no -0: {'NaN' if x.nan else 'zero'} stays as it is")
    return ops.OpParts("the sign bit is inverted, of NaNs too", exact=None if x.value is None else -x.value)


def flush(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of an arith.flush_denormals."""
    (x,) = context.operands
    if not x.format.is_subnormal(x.known):
        return ops.OpParts("not subnormal: it stays as it is", exact=x.value)
    sign = ", of its sign" if x.format.has_negative_zero else ""
    smallest = value_text(x.format, x.format.min_normal_code, SHORT_DIGITS)
    return ops.OpParts(f"subnormal, below the smallest normal value {smallest}: zero{sign}", exact=Fraction(0))


def enum_of(op: str, name: str) -> EnumDefinition:
    """Return the declaration of an enum property."""
    declared = default_registry().require(op).property_named(name)
    assert declared is not None
    assert isinstance(declared.kind, EnumDefinition)
    return declared.kind


# --- ops with an exact result -----------------------------------------------------------------------------------------


def to_integral(fixed: Rounding | None) -> ops.Explainer:
    """Return the explainer of a rounding to an integer of the same format. ``fixed``: its mode; None for the mode of
    the op.
    """

    def explain(context: ops.OpContext) -> ops.OpParts:
        (x,) = context.operands
        mode = MODES[context.mode] if fixed is None else fixed
        if x.nan:
            return ops.OpParts(f"a NaN operand: {ops.nan_operand_words(x)}")
        if x.value is None:
            return ops.OpParts("an infinity stays as it is")
        whole = ops.whole_number(x.value, mode)
        if abs(whole) > x.format.max_value:
            given = rules.GivenNumber(
                f"{x.short} {TOWARD[mode]}", "", Fraction(whole), whole < 0, False, context.application
            )
            return ops.parts_of_rounding(explained(given, x.format, "to_nearest_even", context.profile, ()))
        sign = ", with the sign of the operand" if not whole and x.format.has_negative_zero else ""
        if whole == x.value:
            return ops.OpParts(f"{x.short} is an integer{sign}", exact=x.value)
        return ops.OpParts(f"{TOWARD[mode]}: {integer_text(whole)}{sign}", exact=Fraction(whole))

    return explain


def _absolute(context: ops.OpContext) -> ops.OpParts:
    (x,) = context.operands
    words = "the sign bit is cleared, of NaNs too" if x.format.has_negative_zero else "the magnitude"
    return ops.OpParts(words, exact=None if x.value is None else abs(x.value))


def _copysign(context: ops.OpContext) -> ops.OpParts:
    x, y = context.operands
    sign = "negative" if y.negative else "positive"
    value = None if x.value is None else -abs(x.value) if y.negative else abs(x.value)
    return ops.OpParts(f"the magnitude of {x.short} with the {sign} sign of {y.short}", exact=value)


def _clamp(context: ops.OpContext) -> ops.OpParts:
    value, low, high = context.operands
    nan = next((each for each in (value, low, high) if each.nan), None)
    if nan is not None:
        return ops.OpParts(f"a NaN operand: {ops.nan_operand_words(nan)}")
    first = extremum(largest=False, number=False)(replace(context, operands=(value, high)))
    return ops.OpParts(f"the smaller of value and max ({first.rule}); then the larger of that and min, {low.short}")


class _Class(NamedTuple):
    """A class of floats: its name, and a test whether an operand is in it."""

    words: str
    holds: Callable[[GivenOperand], bool]


def _is_normal(x: GivenOperand) -> bool:
    return x.value is not None and bool(x.value) and not x.format.is_subnormal(x.known)


_CLASSES: Mapping[str, _Class] = {
    "math.isnan": _Class("a NaN", lambda x: x.nan),
    "math.isinf": _Class("an infinity", lambda x: x.infinite),
    "math.isfinite": _Class("a finite number", lambda x: x.value is not None),
    "math.isnormal": _Class("a normal number", _is_normal),
}


def _classify(asked: _Class) -> ops.Explainer:
    def explain(context: ops.OpContext) -> ops.OpParts:
        (x,) = context.operands
        holds = asked.holds(x)
        return ops.OpParts(f"{x.short} is {'' if holds else 'not '}{asked.words}: {'true' if holds else 'false'}")

    return explain


def multiply_add(negates: tuple[int, int] = (0, 0)) -> ops.Explainer:
    """Return the explainer of a multiply-add. ``negates``: 1 to change the sign of the product, and 1 to change that of
    the addend.
    """
    return lambda context: _multiply_add(context, *map(bool, negates))


def _multiply_add(context: ops.OpContext, negated: bool, subtracted: bool) -> ops.OpParts:
    a, b, c = context.operands
    fmt, mode = context.format, context.mode
    product = f"-({a.short} * {b.short})" if negated else f"{a.short} * {b.short}"
    formula = f"{product} {'-' if subtracted else '+'} {c.short}"
    negative, infinite = (a.negative != b.negative) != negated, a.infinite or b.infinite
    minus = c.negative != subtracted
    rule: str | None = None
    exact = None
    nan = next((each for each in (a, b, c) if each.nan), None)
    if (infinite and (a.zero or b.zero)) and nan is None:
        rule = f"zero times infinity is not a number: {rules.default_nan(fmt)}"
    elif nan is not None:
        rule = f"a NaN operand: {ops.nan_operand_words(nan)}"
    elif infinite and c.infinite and negative != minus:
        rule = f"the sum of infinities of different signs is not a number: {rules.default_nan(fmt)}"
    elif infinite or c.infinite:
        rule = f"an infinite operand decides: {rules.instead_of_infinity(fmt)}"
    else:
        assert a.value is not None
        assert b.value is not None
        assert c.value is not None
        exact = a.value * b.value * (-1 if negated else 1) + c.value * (-1 if subtracted else 1)
        if not exact and fmt.has_negative_zero:
            zeros = not a.value * b.value and c.zero and negative == minus
            negative = negative if zeros else MODES[mode] is Rounding.DOWNWARD
            rule = f"the result is exactly {'-0' if negative else '+0'}"
    given = rules.GivenNumber(formula, "", exact, negative if not exact else exact < 0, False, context.application)
    return ops.parts_of_rounding(explained(given, fmt, mode, context.profile, context.modes, rule))


def _bits(count: Callable[[int, int], int], words: str) -> ops.Explainer:
    def explain(context: ops.OpContext) -> ops.OpParts:
        (x,) = context.operands
        width = width_of(x.type)
        return ops.OpParts(f"{count(x.known, width)} {words} in 0b{bits_of_integer(x.known, width)}")

    return explain


def _absi(context: ops.OpContext) -> ops.OpParts:
    (x,) = context.operands
    n, width = integer_of(x.type, x.known), width_of(x.type)
    if n < 0 and n == -(1 << width - 1):
        return ops.OpParts(
            f"{integer_text(-n)} is outside of the type: it wraps to {integer_text(n)}", exact=Fraction(n)
        )
    return ops.OpParts(f"the magnitude of {integer_text(n)}", exact=Fraction(abs(n)))


def _ipowi(context: ops.OpContext) -> ops.OpParts:
    base, power = (integer_of(each.type, each.known) for each in context.operands)
    if power >= 0:
        return ops.OpParts(
            f"{integer_text(base)} to the power {integer_text(power)}, modulo 2^{width_of(context.result)}"
        )
    if not base:
        return ops.OpParts("zero to a negative power divides by zero: undefined behaviour")
    if abs(base) == 1:
        return ops.OpParts(f"{integer_text(base)} to any power is 1 or -1")
    return ops.OpParts("a base beyond 1 to a negative power is a fraction, cut to 0")


EXACT_OPS: Mapping[str, tuple[ops.Signature, ops.Explainer]] = {
    **{f"math.{name}": (ops.same(1), to_integral(mode)) for name, mode in DIRECTIONS.items()},
    "math.absf": (ops.same(1), _absolute),
    "math.copysign": (ops.same(2), _copysign),
    "math.clampf": (ops.same(3), _clamp),
    "math.fma": (ops.same(3), multiply_add()),
    **{name: (ops.same(1), _classify(asked)) for name, asked in _CLASSES.items()},
    "math.absi": (ops.same(1), _absi),
    "math.ctlz": (ops.same(1), _bits(lambda x, width: width - x.bit_length(), "leading zeros")),
    "math.cttz": (ops.same(1), _bits(lambda x, width: (x & -x).bit_length() - 1 if x else width, "trailing zeros")),
    "math.ctpop": (ops.same(1), _bits(lambda x, width: x.bit_count(), "ones")),
    "math.ipowi": (ops.same(2), _ipowi),
}
"""The signature and the explainer of each op whose result is rounded at most once."""


# --- ops in several steps ---------------------------------------------------------------------------------------------


def scaling(divides: bool) -> ops.Explainer:
    """Return the explainer of arith.scaling_extf, or, with ``divides``, of arith.scaling_truncf."""

    def explain(context: ops.OpContext) -> ops.OpParts:
        profile = context.profile
        if profile.scaling == "exact":
            return _scaled_exactly(context, divides)
        x, scale = context.operands
        computing = x.format if divides else context.format
        emulates = emulated.emulates

        def module(chosen: Profile) -> Any:
            emulation = emulates(chosen, x.format, scale.format, context.format)
            return emulated.EmulatedOps(0) if emulation else scalar

        def converting(source: GivenOperand, fmt: FloatFormat, outer: bool = False) -> ops.Compute:
            def compute(_: FloatFormat, mode: Rounding, chosen: Profile) -> rules.CodeAndFlags:
                policy = chosen.conversions if outer else chosen.arithmetic
                how = casts.mode(mode, chosen) if outer else ops.RNE
                return _of_module(module(chosen), module(chosen).convert(source.format, fmt, source.known, how, policy))

            return compute

        steps = ops.StepList(profile)
        given = scale
        if scale.type != ops.E8M0:
            given = steps.convert("scale in f8E8M0FNU", given, ops.E8M0.format, converting(given, ops.E8M0.format))
        if given.code is not None:
            given = steps.convert(f"scale in {computing.name}", given, computing, converting(given, computing))
        number = x
        if x.format != computing:
            number = steps.convert(f"in as {computing.name}", x, computing, converting(x, computing))
        if given.code is None or number.code is None:
            return ops.OpParts(next(step.rule for step in steps.steps if step.code is None), steps=tuple(steps.steps))
        a, b = number, given
        operation = "divide" if divides else "multiply"

        def operating(_: FloatFormat, mode: Rounding, chosen: Profile) -> rules.CodeAndFlags:
            chosen_module = module(chosen)
            result = getattr(chosen_module, operation)(computing, a.known, b.known, ops.RNE, chosen.arithmetic)
            return _of_module(chosen_module, result)

        last = steps.operate("in / scale" if divides else "in * scale", operation, a, b, operating)
        if context.format != computing and last.code is not None:
            compute = converting(last, context.format, outer=True)
            steps.convert(f"in {context.format.name}", last, context.format, compute, context.mode)
        return ops.last_rounding(context, tuple(steps.steps))

    return explain


def _of_module(module: Any, result: scalar.Result) -> rules.CodeAndFlags:
    return rules.code_and_flags(result, flagged=module is scalar)


def _scaled_exactly(context: ops.OpContext, divides: bool) -> ops.OpParts:
    x, scale = context.operands
    formula = f"{x.short} {'/' if divides else '*'} {scale.short}"
    negative = x.negative != scale.negative
    exact, infinite = None, x.infinite
    special = ops.special_rule("divide" if divides else "multiply", x, scale)
    if x.nan or scale.nan:
        rule = rules.nan_rule(context.format, (x if x.nan else scale).bare)
    elif special is not None:
        words, gives = special
        infinite = gives == ops.INFINITY
        rule = rules.infinity_rule(context.format, negative) if infinite else words
    else:
        assert x.value is not None
        assert scale.value is not None
        exact = x.value / scale.value if divides else x.value * scale.value
        # In profile spec the op takes several steps: the rule is for this number, not for the result of spec.
        once = replace(rules.given_exact(formula, exact_number(exact)), negative=negative)
        rule = explained(once, context.format, context.mode, SPEC, (), others=False).rule
    given = rules.GivenNumber(formula, "", exact, negative, infinite, context.application)
    return ops.parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes, rule))


def _parameters(quantised: ty.UniformQuantizedType, steps: ops.StepList) -> tuple[GivenOperand, GivenOperand]:
    """Note scale and zero point in the expressed format as steps, and return them."""
    fmt = ty.float_format(quantised.expressed)
    source = FORMATS["f64"]
    code = int(np.float64(quantised.scales[0]).view(np.uint64))

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> rules.CodeAndFlags:
        return rules.code_and_flags(scalar.convert(source, fmt, code, ops.RNE))

    given = rules.given_code(value_text(source, code, SHORT_DIGITS), "", source, code)
    explanation = explained(replace(given, round=convert), fmt, "to_nearest_even", steps.profile, (), others=False)
    scale = steps.take("scale", given.text, explanation)
    point, text = quantised.zero_points[0], str(quantised.zero_points[0])
    if steps.profile.zero_point == "wrap":
        half = 1 << quantised.storage_width >> 1 if quantised.storage_signed else 0
        point = ((point + half) & ((1 << quantised.storage_width) - 1)) - half
        text += f" wrapped to {point}" if str(point) != text else ""
    number = rules.given_integer(text, "", point)

    def from_integer(fmt: FloatFormat, mode: Rounding, profile: Profile) -> rules.CodeAndFlags:
        return rules.code_and_flags(scalar.from_integer(fmt, point, ops.RNE, profile.conversions))

    explanation = explained(
        replace(number, round=from_integer), fmt, "to_nearest_even", steps.profile, (), others=False
    )
    return scale, steps.take("zero point", text, explanation)


def _policy_operation(operation: str, x: GivenOperand, y: GivenOperand) -> ops.Compute:
    def compute(fmt: FloatFormat, mode: Rounding, profile: Profile) -> rules.CodeAndFlags:
        return rules.code_and_flags(getattr(scalar, operation)(fmt, x.known, y.known, ops.RNE, profile.arithmetic))

    return compute


def qcast(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of a quant.qcast."""
    (x,) = context.operands
    quantised = narrowed(context.result, ty.UniformQuantizedType)
    steps = ops.StepList(context.profile)
    scale, point = _parameters(quantised, steps)
    poison = "NaN has no integer: poison"
    scaled = steps.operate("x / scale", "divide", x, scale, _policy_operation("divide", x, scale))
    if scaled.code is None:
        return ops.OpParts(poison, steps=tuple(steps.steps))
    add = _policy_operation("add", scaled, point)
    shifted = steps.operate("+ zero point", "add", scaled, point, add)
    if shifted.code is None or shifted.nan:
        return ops.OpParts(poison, steps=tuple(steps.steps))
    stored = numeric(quantised)
    low, high = ops.integer_range(stored, quantised.storage_signed)
    mode = str(context.profile.qcast_rounding)
    if shifted.value is None:
        whole = high + 1 if not shifted.negative else low - 1
        rule = "an infinity"
    else:
        whole = ops.whole_number(shifted.value, MODES[mode])
        rule = f"{mode}: {whole}" if whole != shifted.value else f"{whole} is an integer"
    if not low <= whole <= high:
        if context.profile.qcast_out_of_range == "poison":
            rule = f"{rule}, outside {low} to {high}: poison"
            steps.note("to an integer", shifted.short, stored, None, rule)
            return ops.OpParts(rule, steps=tuple(steps.steps))
        whole = min(max(whole, low), high)
        rule = f"{rule}, outside {low} to {high}, saturates to {whole}"
    mask = (1 << quantised.storage_width) - 1
    steps.note("to an integer", shifted.short, stored, whole & mask, rule)
    clamped = min(max(whole, quantised.storage_min), quantised.storage_max)
    bounds = f"{quantised.storage_min} to {quantised.storage_max}"
    words = f"within {bounds}" if clamped == whole else f"outside {bounds}: {clamped}"
    steps.note("clamp", str(whole), stored, clamped & mask, words)
    return ops.OpParts(rule if clamped == whole else words, steps=tuple(steps.steps))


def dcast(context: ops.OpContext) -> ops.OpParts:
    """Return the explanation of a quant.dcast."""
    (stored,) = context.operands
    quantised = narrowed(stored.type, ty.UniformQuantizedType)
    steps = ops.StepList(context.profile)
    scale, point = _parameters(quantised, steps)
    integer = integer_of(numeric(quantised), stored.known)

    def from_integer(fmt: FloatFormat, mode: Rounding, profile: Profile) -> rules.CodeAndFlags:
        return rules.code_and_flags(scalar.from_integer(fmt, integer, ops.RNE, profile.conversions))

    given = replace(rules.given_integer(str(integer), "", integer), round=from_integer)
    rounding = explained(given, context.format, "to_nearest_even", context.profile, (), others=False)
    number = steps.take(f"q in {context.format.name}", str(integer), rounding)
    subtract = _policy_operation("subtract", number, point)
    difference = steps.operate("- zero point", "subtract", number, point, subtract)
    if difference.code is None:
        return ops.OpParts(steps.steps[-1].rule, steps=tuple(steps.steps))
    steps.operate("* scale", "multiply", difference, scale, _policy_operation("multiply", difference, scale))
    return ops.last_rounding(context, tuple(steps.steps))


# --- elementary functions ---------------------------------------------------------------------------------------------
# The exact result of an elementary function is known by `halfulp.fp_formats.reals.accounts`, which needs python-flint
# and is imported when a function is explained.


_OF_INTEGERS = frozenset({"math.fpowi", "pown", "rootn"})
"""Functions whose second operand is an integer."""
I32 = ty.IntegerType(32)


def function_row(op: str) -> tuple[ops.Signature, ops.Explainer] | None:
    """Return the signature and the explainer of an elementary function; None for other ops."""
    definition = default_registry().lookup(op)
    name = None if definition is None else row_of(definition)
    if definition is None or name is None:
        return None
    signature = _with_integer() if definition.name in _OF_INTEGERS else ops.same(len(definition.operands))
    return signature, _explainer(name)


def _with_integer() -> ops.Signature:
    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> ops.OpTypes:
        return ops.same(2).types(op, type_, to)._replace(operands=(type_ or I32, I32))

    return ops.Signature(types, casts=False)


def _explainer(name: str) -> ops.Explainer:
    """Return the explainer of an elementary function, from its row in the specification: it says how the result is
    known.
    """

    def explain(context: ops.OpContext) -> ops.OpParts:
        from halfulp.fp_formats.reals import accounts

        operands, fmt, application = context.operands, context.format, context.application
        formula = f"{application.name.removeprefix('math.')}({', '.join(operand.short for operand in operands)})"
        exactly = tuple(_exact_operand(operand, context.profile) for operand in operands)
        account = accounts.account_of(name, exactly, formula, fmt, _near_enough(fmt))
        rule: str | None
        if account is None:
            nan = next(each for each in operands if isinstance(each.type, ty.FloatType) and each.nan)
            given = rules.GivenNumber(formula, "", None, False, False, application)
            rule = f"a NaN operand: {ops.nan_operand_words(nan)}"
        else:
            given, rule = _given(formula, account, fmt, application)
        return ops.parts_of_rounding(explained(given, fmt, context.mode, context.profile, context.modes, rule))

    return explain


def _exact_operand(operand: GivenOperand, profile: Profile) -> scalar.Unpacked:
    if isinstance(operand.type, ty.FloatType):
        return scalar.operand(operand.format, operand.known, profile.arithmetic)
    n = integer_of(operand.type, operand.known)
    return scalar.Unpacked(scalar.FINITE, int(n < 0), abs(n), 0)


def _near_enough(fmt: FloatFormat) -> Callable[[Fraction, Fraction], bool]:
    """Return a test for bounds that agree in all digits that an explanation shows."""

    def texts(number: Fraction) -> list[str]:
        place, ulp = neighbours(fmt, number), ulp_at(fmt, number)
        values = [scalar.value(fmt, code) for code in (place.below, place.above) if code is not None]
        points = [point for point in (*values, midpoint_of(fmt, place, ulp)) if point is not None]
        distances = [signed_text((point - number) / ulp) for point in points]
        relative = [signed_text((point - number) / abs(number)) for point in points if number]
        return [decimal_text(number, 2 * rules.DIGITS), *distances, *relative]

    def enough(low: Fraction, high: Fraction) -> bool:
        close = low * high > 0 and abs(high - low) * (1 << 100) < abs(low)
        return low == high or (close and texts(low) == texts(high))

    return enough


def _given(
    formula: str, account: Account, fmt: FloatFormat, application: ops.Application
) -> tuple[rules.GivenNumber, str | None]:
    """Return the number to be rounded, and the rule if the result is not a rounded number."""
    if account.special is not None:
        return _special(formula, account.special, account.reason, fmt, application)
    low, high = account.low, account.high
    assert low is not None
    assert high is not None
    turns = tuple(rules.Turn(each.precision, each.ball.str(20), each.cell is not None) for each in account.attempts)
    enclosure = None if low == high else rules.Enclosure(low, high, account.grid, turns, account.crude)
    exact, reason = (low + high) / 2, account.reason
    return rules.GivenNumber(
        formula, "", exact, exact < 0, False, application, enclosure=enclosure, reason=reason
    ), None


def _special(
    formula: str, special: Special, reason: str, fmt: FloatFormat, application: ops.Application
) -> tuple[rules.GivenNumber, str | None]:
    kind, negative = special.kind.value, bool(special.sign)
    if kind == "zero":
        exact = rules.GivenNumber(formula, "", Fraction(0), negative, False, application, reason=reason)
        return exact, f"the result is exactly {'-0' if negative else '+0'}" if fmt.has_negative_zero else None
    infinite = kind == "infinity"
    given = rules.GivenNumber(formula, "", None, negative, infinite, application)
    if infinite and (fmt.signed or not negative):
        pole = "division by zero: " if special.signals else ""
        end = f"{pole}{'-' if negative else ''}infinity"
        return given, f"{reason}: {end}" + ("" if fmt.infinities else f"; {rules.instead_of_infinity(fmt)}")
    return given, f"{reason}: {rules.default_nan(fmt)}"


# --- a float unit -----------------------------------------------------------------------------------------------------


def _class(context: ops.OpContext) -> ops.OpParts:
    (x,) = context.operands
    outcome = narrowed(context.application.outcome(context.profile), int)
    number = outcome.bit_length() - 1
    return ops.OpParts(f"{x.short} is {CLASSES[number]}: bit {number}")


FLOAT_UNIT: Mapping[str, tuple[ops.Signature, ops.Explainer]] = {
    **{
        name: (ops.mixed(3), multiply_add(FUSED[operation]))
        if operation in FUSED
        else (ops.mixed(2), arithmetic(operation))
        for name, operation in MIXED.items()
    },
    "fcvt": (ops.cast(ops.F64), conversion),
    "fcvt_to_si": (ops.cast(ops.F64), to_integer_explainer(signed=True)),
    "fcvt_to_ui": (ops.cast(ops.F64), to_integer_explainer(signed=False)),
    "fcvt_from_si": (ops.cast(ops.I64), from_integer_explainer(signed=True)),
    "fcvt_from_ui": (ops.cast(ops.I64), from_integer_explainer(signed=False)),
    "fround": (ops.same(1), to_integral(None)),
    "froundnx": (ops.same(1), to_integral(None)),
    "fcmps": (ops.same(2), comparison),
    "fclass": (ops.same(1), _class),
}
"""The signature and the explainer of each operation of a float unit."""
