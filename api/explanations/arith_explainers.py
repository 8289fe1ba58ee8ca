"""Explanations of the arith ops that compute in one step."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from halfulp.explanations.op_parts import Explainer, OpContext, OpParts, integer_range, parts_of_rounding, whole_number
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import GivenNumber
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import nan_rule, negative_rule
from halfulp.explanations.special_operands import nan_operand_words, one_nan, rounded_operation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import value_text
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.types import width_of
from halfulp.number_reader import MODES
from halfulp.texts import SHORT_DIGITS, integer_of


def arithmetic(operation: str) -> Explainer:
    """Explain a rounded operation: add, subtract, multiply, divide or remainder."""

    def explain(context: OpContext) -> OpParts:
        x, y = context.operands
        given, rule = rounded_operation(operation, x, y, context.application, MODES[context.mode], context.format)
        return parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes, rule))

    return explain


def conversion(context: OpContext) -> OpParts:
    """Explain a conversion between float types."""
    (x,) = context.operands
    given = GivenNumber(x.short, f"of type {x.type}", x.value, x.negative, x.infinite, context.application, bare=x.bare)
    return parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes))


def from_integer_explainer(signed: bool) -> Explainer:
    """Explain a conversion from an integer."""

    def explain(context: OpContext) -> OpParts:
        (x,) = context.operands
        number = integer_of(ty.IntegerType(width_of(x.type), "signed" if signed else "unsigned"), x.known)
        given = GivenNumber(str(number), f"of type {x.type}", Fraction(number), number < 0, False, context.application)
        return parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes))

    return explain


def to_integer_explainer(signed: bool) -> Explainer:
    """Explain a conversion to an integer."""

    def explain(context: OpContext) -> OpParts:
        (x,) = context.operands
        low, high = integer_range(context.result, signed)
        if x.value is None:
            return OpParts(f"{'NaN' if x.nan else 'an infinity'} is not an integer: poison")
        mode = MODES[context.mode] if context.application.has_modes else Rounding.TOWARD_ZERO
        whole = whole_number(x.value, mode)
        cut = f"{TOWARD[mode]}: {whole}" if whole != x.value else f"{whole} is an integer"
        if low <= whole <= high:
            return OpParts(f"{cut}, and within {low} to {high}", exact=x.value)
        return OpParts(f"{cut}, and outside {low} to {high}: poison", exact=x.value)

    return explain


TOWARD: Mapping[Rounding, str] = {
    Rounding.UPWARD: "toward +infinity",
    Rounding.DOWNWARD: "toward -infinity",
    Rounding.TO_NEAREST_AWAY: "to nearest, ties away from zero",
    Rounding.TO_NEAREST_EVEN: "to nearest, ties to even",
    Rounding.TOWARD_ZERO: "toward zero",
}
"""The modes in words."""

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


def comparison(context: OpContext) -> OpParts:
    """Explain arith.cmpf."""
    x, y = context.operands
    predicate = str(context.properties["predicate"])
    number = enum_of(context.application.name, "predicate").cases[predicate]
    if one_nan(x, y):
        relation, words = scalar.UNORDERED, "a NaN operand: unordered"
    else:
        order = _compared(x, y)
        relation = scalar.GREATER if order > 0 else scalar.LESS if order < 0 else scalar.EQUAL
        words = f"{x.short} is {_RELATIONS[relation]}{' to' if not order else ' than'} {y.short}"
        if not order and x.known != y.known:
            words += ", whatever their signs"
    holds = [name for bit, name in _RELATIONS.items() if scalar.PREDICATES[number] & bit]
    truth = "true" if scalar.PREDICATES[number] & relation else "false"
    return OpParts(f"{words}; {predicate} holds for {' or '.join(holds) or 'nothing'}: {truth}")


def extremum(largest: bool, number: bool) -> Explainer:
    """Explain a maximum or minimum; ``number``: a NaN yields to a number."""

    def explain(context: OpContext) -> OpParts:
        x, y = context.operands
        fmt = x.format
        which = "larger" if largest else "smaller"
        if x.nan and y.nan and number:
            invalid = f", {nan_operand_words(y)}" if fmt.is_invalid(y.known) else ""
            return OpParts(f"two NaNs: the second{invalid or (', quieted' if fmt.quiet_bit else '')}")
        if one_nan(x, y):
            if number:
                chosen = y if x.nan else x
                return OpParts(f"a NaN yields to a number: {chosen.short}", exact=chosen.value)
            return OpParts(f"a NaN operand: {nan_operand_words(x if x.nan else y)}")
        order = _compared(x, y) or y.negative - x.negative
        chosen = x if (order > 0) == largest else y
        zeros = ", -0 being less than +0" if x.zero and y.zero and order else ""
        equal = "" if order else "both are the same: "
        return OpParts(
            f"{equal}{chosen.short} is the {which}{zeros}" if order else f"{equal}{chosen.short}", None, chosen.value
        )

    return explain


def negation(context: OpContext) -> OpParts:
    """Explain arith.negf."""
    (x,) = context.operands
    fmt = x.format
    if not fmt.signed:
        return OpParts(nan_rule(fmt) if x.nan else negative_rule(fmt))
    if not fmt.has_negative_zero and (x.zero or x.nan):
        return OpParts(f"{fmt.name} has no -0: {'NaN' if x.nan else 'zero'} stays as it is")
    return OpParts("the sign bit is inverted, of NaNs too", exact=None if x.value is None else -x.value)


def flush(context: OpContext) -> OpParts:
    """Explain arith.flush_denormals."""
    (x,) = context.operands
    if not x.format.is_subnormal(x.known):
        return OpParts("not subnormal: it stays as it is", exact=x.value)
    sign = ", of its sign" if x.format.has_negative_zero else ""
    smallest = value_text(x.format, x.format.min_normal_code, SHORT_DIGITS)
    return OpParts(f"subnormal, below the smallest normal value {smallest}: zero{sign}", exact=Fraction(0))


def enum_of(op: str, name: str) -> EnumDefinition:
    """Return the declaration of an enum property."""
    declared = default_registry().require(op).property_named(name)
    assert declared is not None
    assert isinstance(declared.kind, EnumDefinition)
    return declared.kind
