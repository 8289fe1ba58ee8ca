"""Explanations of the ops that compute in several steps: scaling and quantisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from halfulp.explanations.op_parts import (
    E8M0,
    Explainer,
    OpContext,
    OpParts,
    StepList,
    integer_range,
    last_rounding,
    parts_of_rounding,
    whole_number,
)
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import Found, GivenNumber, found, given_code, given_exact, given_integer
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import infinity_rule, nan_rule
from halfulp.explanations.special_operands import INFINITY, RNE, Compute, special_rule
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.numbers import exact_number
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.values.element_layout import numeric
from halfulp.number_reader import MODES
from halfulp.semantics import casts, emulated
from halfulp.semantics.profile import SPEC, Profile
from halfulp.texts import SHORT_DIGITS, integer_of


def scaling(divides: bool) -> Explainer:
    """Explain arith.scaling_extf, or with ``divides`` arith.scaling_truncf."""

    def explain(context: OpContext) -> OpParts:
        profile = context.profile
        if profile.scaling == "exact":
            return _scaled_exactly(context, divides)
        x, scale = context.operands
        computing = x.format if divides else context.format
        emulates = emulated.emulates

        def module(chosen: Profile) -> Any:
            emulation = emulates(chosen, x.format, scale.format, context.format)
            return emulated.EmulatedOps(0) if emulation else scalar

        def converting(source: GivenOperand, fmt: FloatFormat, outer: bool = False) -> Compute:
            def compute(_: FloatFormat, mode: Rounding, chosen: Profile) -> Found:
                policy = chosen.conversions if outer else chosen.arithmetic
                how = casts.mode(mode, chosen) if outer else RNE
                return _of_module(module(chosen), module(chosen).convert(source.format, fmt, source.known, how, policy))

            return compute

        steps = StepList(profile)
        given = scale
        if scale.type != E8M0:
            given = steps.convert("scale in f8E8M0FNU", given, E8M0.format, converting(given, E8M0.format))
        if given.code is not None:
            given = steps.convert(f"scale in {computing.name}", given, computing, converting(given, computing))
        number = x
        if x.format != computing:
            number = steps.convert(f"in as {computing.name}", x, computing, converting(x, computing))
        if given.code is None or number.code is None:
            return OpParts(next(step.rule for step in steps.steps if step.code is None), steps=tuple(steps.steps))
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
        return last_rounding(context, tuple(steps.steps))

    return explain


def _of_module(module: Any, result: scalar.Result) -> Found:
    return found(result, flagged=module is scalar)


def _scaled_exactly(context: OpContext, divides: bool) -> OpParts:
    x, scale = context.operands
    formula = f"{x.short} {'/' if divides else '*'} {scale.short}"
    negative = x.negative != scale.negative
    exact, infinite = None, x.infinite
    special = special_rule("divide" if divides else "multiply", x, scale)
    if x.nan or scale.nan:
        rule = nan_rule(context.format, (x if x.nan else scale).bare)
    elif special is not None:
        words, gives = special
        infinite = gives == INFINITY
        rule = infinity_rule(context.format, negative) if infinite else words
    else:
        assert x.value is not None
        assert scale.value is not None
        exact = x.value / scale.value if divides else x.value * scale.value
        # In profile spec the op takes several steps: the rule is for this number, not for the result of spec.
        once = replace(given_exact(formula, exact_number(exact)), negative=negative)
        rule = explained(once, context.format, context.mode, SPEC, (), others=False).rule
    given = GivenNumber(formula, "", exact, negative, infinite, context.application)
    return parts_of_rounding(explained(given, context.format, context.mode, context.profile, context.modes, rule))


def _parameters(quantised: ty.UniformQuantizedType, steps: StepList) -> tuple[GivenOperand, GivenOperand]:
    """Note scale and zero point in the expressed format as steps, and return them."""
    assert isinstance(quantised.expressed, ty.FloatType)
    fmt = quantised.expressed.format
    source = FORMATS["f64"]
    code = int(np.float64(quantised.scales[0]).view(np.uint64))

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.convert(source, fmt, code, RNE))

    given = given_code(value_text(source, code, SHORT_DIGITS), "", source, code)
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


def _policy_operation(operation: str, x: GivenOperand, y: GivenOperand) -> Compute:
    def compute(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(getattr(scalar, operation)(fmt, x.known, y.known, RNE, profile.arithmetic))

    return compute


def qcast(context: OpContext) -> OpParts:
    """Explain quant.qcast."""
    (x,) = context.operands
    quantised = context.result
    assert isinstance(quantised, ty.UniformQuantizedType)
    steps = StepList(context.profile)
    scale, point = _parameters(quantised, steps)
    poison = "NaN has no integer: poison"
    scaled = steps.operate("x / scale", "divide", x, scale, _policy_operation("divide", x, scale))
    if scaled.code is None:
        return OpParts(poison, steps=tuple(steps.steps))
    add = _policy_operation("add", scaled, point)
    shifted = steps.operate("+ zero point", "add", scaled, point, add)
    if shifted.code is None or shifted.nan:
        return OpParts(poison, steps=tuple(steps.steps))
    stored = numeric(quantised)
    low, high = integer_range(stored, quantised.storage_signed)
    mode = str(context.profile.qcast_rounding)
    if shifted.value is None:
        whole = high + 1 if not shifted.negative else low - 1
        rule = "an infinity"
    else:
        whole = whole_number(shifted.value, MODES[mode])
        rule = f"{mode}: {whole}" if whole != shifted.value else f"{whole} is an integer"
    if not low <= whole <= high:
        if context.profile.qcast_out_of_range == "poison":
            rule = f"{rule}, outside {low} to {high}: poison"
            steps.note("to an integer", shifted.short, stored, None, rule)
            return OpParts(rule, steps=tuple(steps.steps))
        whole = min(max(whole, low), high)
        rule = f"{rule}, outside {low} to {high}, saturates to {whole}"
    mask = (1 << quantised.storage_width) - 1
    steps.note("to an integer", shifted.short, stored, whole & mask, rule)
    clamped = min(max(whole, quantised.storage_min), quantised.storage_max)
    bounds = f"{quantised.storage_min} to {quantised.storage_max}"
    words = f"within {bounds}" if clamped == whole else f"outside {bounds}: {clamped}"
    steps.note("clamp", str(whole), stored, clamped & mask, words)
    return OpParts(rule if clamped == whole else words, steps=tuple(steps.steps))


def dcast(context: OpContext) -> OpParts:
    """Explain quant.dcast."""
    (stored,) = context.operands
    quantised = stored.type
    assert isinstance(quantised, ty.UniformQuantizedType)
    steps = StepList(context.profile)
    scale, point = _parameters(quantised, steps)
    integer = integer_of(numeric(quantised), stored.known)

    def from_integer(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.from_integer(fmt, integer, RNE, profile.conversions))

    given = replace(given_integer(str(integer), "", integer), round=from_integer)
    rounding = explained(given, context.format, "to_nearest_even", context.profile, (), others=False)
    number = steps.take(f"q in {context.format.name}", str(integer), rounding)
    subtract = _policy_operation("subtract", number, point)
    difference = steps.operate("- zero point", "subtract", number, point, subtract)
    if difference.code is None:
        return OpParts(steps.steps[-1].rule, steps=tuple(steps.steps))
    steps.operate("* scale", "multiply", difference, scale, _policy_operation("multiply", difference, scale))
    return last_rounding(context, tuple(steps.steps))
