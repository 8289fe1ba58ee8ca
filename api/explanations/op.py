"""Explain the bits of an op: its operands in their type, the exact result, and how that is rounded.

The result is that of `halfulp.eval`: the kernel of the op computes it. The exact result beside it is computed on
fractions, and the rule in words comes from tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from halfulp.explanations.application import Application, kernel_of
from halfulp.explanations.arith_explainers import (
    arithmetic,
    comparison,
    conversion,
    extremum,
    flush,
    from_integer_explainer,
    negation,
    to_integer_explainer,
)
from halfulp.explanations.by_profile import profile_groups, profile_rule
from halfulp.explanations.given import MODES, Found, given_bits, given_number, typed_text
from halfulp.explanations.html import op_html
from halfulp.explanations.op_parts import E8M0, Explainer, OpContext
from halfulp.explanations.records import ExplainedOp, GivenOperand
from halfulp.explanations.rounding import explained
from halfulp.explanations.step_explainers import dcast, qcast, scaling
from halfulp.explanations.texts import element_code_text, integer_of
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.interp.declare.build import with_rounding
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.element_layout import numeric
from halfulp.interp.values.parsing import parse_element, parse_type_head
from halfulp.interp.values.value import Value, to_value
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import SPEC, Profile, as_profile


@dataclass(frozen=True, repr=False)
class OpExplanation(ExplainedOp):
    """One application of an op, taken apart: print it, or show it in a notebook."""

    def _repr_html_(self) -> str:
        return op_html(self)


F64, I64 = ty.FloatType(FORMATS["f64"]), ty.IntegerType(64)
Signature = Callable[[ty.Type, ty.Type | None], tuple[tuple[ty.Type, ...], ty.Type]]
"""A function from the named type, and the source of a cast, to the types of operands and result."""


def _same(count: int) -> Signature:
    return lambda type_, source: ((type_,) * count, type_)


def _from(*default: ty.Type) -> Signature:
    return lambda type_, source: ((source or default[0], *default[1:]), type_)


def _expressed(type_: ty.Type) -> ty.Type:
    if not isinstance(type_, ty.UniformQuantizedType):
        raise Unsupported(f"the type of a quant cast is a !quant.uniform type, not '{type_}'")
    return type_.expressed


_OPS: Mapping[str, tuple[Signature, Explainer]] = {
    "arith.addf": (_same(2), arithmetic("add")),
    "arith.subf": (_same(2), arithmetic("subtract")),
    "arith.mulf": (_same(2), arithmetic("multiply")),
    "arith.divf": (_same(2), arithmetic("divide")),
    "arith.remf": (_same(2), arithmetic("remainder")),
    "arith.maximumf": (_same(2), extremum(largest=True, number=False)),
    "arith.minimumf": (_same(2), extremum(largest=False, number=False)),
    "arith.maxnumf": (_same(2), extremum(largest=True, number=True)),
    "arith.minnumf": (_same(2), extremum(largest=False, number=True)),
    "arith.maximumnumf": (_same(2), extremum(largest=True, number=True)),
    "arith.minimumnumf": (_same(2), extremum(largest=False, number=True)),
    "arith.negf": (_same(1), negation),
    "arith.flush_denormals": (_same(1), flush),
    "arith.cmpf": (lambda type_, source: ((type_, type_), ty.I1), comparison),
    "arith.extf": (_from(F64), conversion),
    "arith.truncf": (_from(F64), conversion),
    "arith.convertf": (_from(F64), conversion),
    "arith.sitofp": (_from(I64), from_integer_explainer(signed=True)),
    "arith.uitofp": (_from(I64), from_integer_explainer(signed=False)),
    "arith.fptosi": (_from(F64), to_integer_explainer(signed=True)),
    "arith.fptoui": (_from(F64), to_integer_explainer(signed=False)),
    "arith.scaling_extf": (_from(F64, E8M0), scaling(divides=False)),
    "arith.scaling_truncf": (_from(F64, E8M0), scaling(divides=True)),
    "quant.qcast": (lambda type_, source: ((_expressed(type_),), type_), qcast),
    "quant.dcast": (lambda type_, source: ((type_,), _expressed(type_)), dcast),
}
EXPLAINED = tuple(_OPS)
"""The ops that `explain_op` explains."""


def explain_op(
    op: str,
    type: str | ty.Type | FloatFormat,
    *operands: Any,
    source: str | ty.Type | None = None,
    profile: Profile | str | None = None,
    channel: int | None = None,
    **properties: Any,
) -> OpExplanation:
    """Explain the result of an op on these operands: ``explain_op("arith.addf", "f8E4M3FN", 1.4, 2.2)``.

    ``op``: one of `EXPLAINED`. ``type``: the type of operands and result; for a cast, that of the result; for both
    quant casts, the quantised type. ``source``: the type that is cast (default: f64, or i64 for integers).
    ``operands``: numbers as for `explain`, rounded to their type as MLIR reads literals. A typed one such as
    ``f32=0.5`` and a `Value` keep their own type (otherwise the scale of a scaling op is a f8E8M0FNU). ``channel``: the
    scale of a type with several, counted in the order of the type. ``properties``: as for `halfulp.eval`
    (``rounding="upward"``, ``fastmath="nnan"``, ``predicate="olt"``).

    Raises Unsupported for another op, InputError for a wrong operand, VerifyError for types that the op does not
    accept.
    """
    if op not in _OPS:
        default_registry().require(op)
        raise Unsupported(f"explain_op explains {', '.join(EXPLAINED)}, not {op}")
    properties = with_rounding(properties)
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
    application = Application(op, [operand.type for operand in taken], result, properties, known)
    kernel_of(op, application._types, result, application._properties, SPEC)  # raises for types that do not fit
    chosen = as_profile(profile)
    attributes = " ".join(f"{name}={value}" for name, value in properties.items())
    if len(known) < len(codes):
        reason = "; ".join(o.explanation.rule for o in taken if o.code is None and o.explanation is not None)
        rule = f"an operand is poison ({reason})"
        return OpExplanation(op, attributes, taken, (), None, result, None, Flags(0), None, rule, chosen, "", "", ())
    context = OpContext(application, taken, result, str(application.fixed), chosen, properties)
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
        profile_rule(compute, spec, chosen, lambda code: element_code_text(result, code)),
        application.open(found_.code, chosen),
        profile_groups(compute, spec, chosen),
    )


def _one_channel(type_: ty.Type, channel: int | None) -> ty.Type:
    """Return a quantised type with one scale: that of the channel, for a type with several."""
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


def _operand(name: str, type_: ty.Type, value: Any) -> GivenOperand:
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
        return GivenOperand(name, type_, code, None if code is None else Fraction(integer_of(numeric(type_), code)))
    code = _code_of(value if isinstance(value, Value) else to_value(value, type_, name))
    return GivenOperand(name, type_, code, Fraction(integer_of(numeric(type_), code)))


def _code_of(value: Value) -> int:
    if value.shape or value.poison is not None:
        raise InputError(f"an operand is one number without poison, not {value!r}")
    return codes_to_ints(value.bits.reshape((1, *value.bits.shape)), width_of(value.element_type))[0]


def _float_operand(name: str, type_: ty.FloatType, value: Any) -> GivenOperand:
    fmt = type_.format
    given = given_bits(repr(value), fmt, _code_of(value)) if isinstance(value, Value) else given_number(value, fmt)
    explanation = explained(given, fmt, "to_nearest_even", SPEC, (), others=False)
    return GivenOperand(name, type_, explanation.result.code, explanation.result.value, explanation)
