"""Explain the bits of an op: its operands in their type, the exact result, and how that is rounded.

The result is that of `halfulp.eval`: the kernel of the op computes it. The exact result beside it is computed on
fractions, and the rule in words comes from tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from halfulp.explanations import applications, float_explainers, integer_explainers
from halfulp.explanations.records import GivenOperand, NamedResult, OpExplanation
from halfulp.explanations.rounding import StochasticExplanation, explained_stochastically, profile_groups, profile_rule
from halfulp.explanations.rules import CodeAndFlags, code_and_flags, given_code
from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import nearest
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.declare.build import with_rounding
from halfulp.interp.declare.registry import default_registry, functions
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import InputError, Unsupported, are_given, plural
from halfulp.interp.run.stochastic import ARITHMETIC, CONVERSIONS
from halfulp.interp.values.coerce import as_type
from halfulp.number_reader import MODES
from halfulp.semantics.kernel import FaultKind
from halfulp.semantics.profile import SPEC, Profile
from halfulp.texts import element_code_text, integer_code_text

_OPS: Mapping[str, tuple[applications.Signature, applications.Explainer]] = {
    "arith.addf": (applications.same(2), float_explainers.arithmetic("add")),
    "arith.subf": (applications.same(2), float_explainers.arithmetic("subtract")),
    "arith.mulf": (applications.same(2), float_explainers.arithmetic("multiply")),
    "arith.divf": (applications.same(2), float_explainers.arithmetic("divide")),
    "arith.remf": (applications.same(2), float_explainers.arithmetic("remainder")),
    "arith.maximumf": (applications.same(2), float_explainers.extremum(largest=True, number=False)),
    "arith.minimumf": (applications.same(2), float_explainers.extremum(largest=False, number=False)),
    "arith.maxnumf": (applications.same(2), float_explainers.extremum(largest=True, number=True)),
    "arith.minnumf": (applications.same(2), float_explainers.extremum(largest=False, number=True)),
    "arith.maximumnumf": (applications.same(2), float_explainers.extremum(largest=True, number=True)),
    "arith.minimumnumf": (applications.same(2), float_explainers.extremum(largest=False, number=True)),
    "arith.negf": (applications.same(1), float_explainers.negation),
    "arith.flush_denormals": (applications.same(1), float_explainers.flush),
    "arith.cmpf": (applications.same(2), float_explainers.comparison),
    "arith.extf": (applications.cast(applications.F64), float_explainers.conversion),
    "arith.truncf": (applications.cast(applications.F64), float_explainers.conversion),
    "arith.convertf": (applications.cast(applications.F64), float_explainers.conversion),
    "arith.sitofp": (applications.cast(applications.I64), float_explainers.from_integer_explainer(signed=True)),
    "arith.uitofp": (applications.cast(applications.I64), float_explainers.from_integer_explainer(signed=False)),
    "arith.fptosi": (applications.cast(applications.F64), float_explainers.to_integer_explainer(signed=True)),
    "arith.fptoui": (applications.cast(applications.F64), float_explainers.to_integer_explainer(signed=False)),
    "arith.scaling_extf": (
        applications.cast(applications.F64, applications.E8M0),
        float_explainers.scaling(divides=False),
    ),
    "arith.scaling_truncf": (
        applications.cast(applications.F64, applications.E8M0),
        float_explainers.scaling(divides=True),
    ),
    "quant.qcast": (applications.QUANTISING, float_explainers.qcast),
    "quant.dcast": (applications.DEQUANTISING, float_explainers.dcast),
    **{op: (applications.same(2), explainer) for op, explainer in integer_explainers.BINARY.items()},
    **{op: (applications.cast(applications.I64), explainer) for op, explainer in integer_explainers.CASTS.items()},
    **float_explainers.EXACT_OPS,
    **float_explainers.FLOAT_UNIT,
}
EXPLAINED = tuple(_OPS)
"""The ops that `explain_op` explains."""
INTEGER_OPS = frozenset(integer_explainers.BINARY) | frozenset(integer_explainers.CASTS)
"""The ops of `EXPLAINED` on integers alone."""


def _row_of(op: str) -> tuple[applications.Signature, applications.Explainer]:
    """Return the signature and the explainer of an op. Raises Unsupported for an op that is not explained."""
    name = default_registry().require(op).name
    row = _OPS.get(name) or float_explainers.function_row(op)
    if row is None:
        dialect = name.partition(".")[0]
        known = explained_ops()
        near = nearest(name, known, lambda other: other.partition(".")[0])
        named = near or [other for other in known if other.startswith(f"{dialect}.")][:3] or known[:3]
        raise Unsupported(
            f"{op} has no explanation; {', '.join(named)} and others have one",
            hint="halfulp explain --list names all of them",
        )
    return row


def explained_ops() -> list[str]:
    """Return the names of all ops that have an explanation, elementary functions included."""
    declared = (*default_registry().dialects["math"].ops, *functions())
    return [*EXPLAINED, *(op for op in declared if op not in _OPS and float_explainers.function_row(op))]


def signature_of(op: str) -> applications.Signature:
    """Return the signature of an op that is explained. Raises Unsupported for another op."""
    return _row_of(op)[0]


def types_of(op: str, operands: Sequence[Any], type_: Any, to: Any, channel: int | None) -> applications.OpTypes:
    """Return the types of an op's operands and result. Raises InputError if one is missing."""
    element = None if type_ is None else as_type(type_)
    signature = signature_of(op)
    if element is None and not signature.casts:
        element = next((own for own in map(applications.type_of_operand, operands) if own is not None), None)
    target = None if to is None else as_type(to)
    kinds = (element, target)
    if channel is not None and not any(isinstance(each, ty.UniformQuantizedType) for each in kinds):
        raise InputError(f"'{target or element}' is not quantised per channel")
    types = signature.types(op, applications.one_channel(element, channel), applications.one_channel(target, channel))
    if len(operands) != len(types.operands):
        raise InputError(f"{op} takes {plural(len(types.operands), 'operand')}, but {are_given(len(operands))}")
    return types


def explained_op(
    op: str,
    types: applications.OpTypes,
    operands: Sequence[Any],
    profile: Profile,
    properties: Mapping[str, Any],
    random: Any = None,
    bits: int | None = None,
    others: bool = True,
) -> OpExplanation | StochasticExplanation:
    """Return the explanation of an op for these operands. ``random``, ``bits``: for ``rounding="stochastic"``.
    ``others``: whether the results of the other profiles are listed too.
    """
    properties = with_rounding(properties)
    stochastic = "stochastic" in (properties.get("rounding"), properties.get("roundingmode"))
    if not stochastic and (random is not None or bits is not None):
        raise InputError('random= and bits= can be used only with rounding="stochastic"')
    if stochastic:
        properties = {name: value for name, value in properties.items() if name not in ("rounding", "roundingmode")}
    if "to_odd" in (properties.get("rounding"), properties.get("roundingmode")):
        raise InputError(f"explanations have the modes {', '.join(MODES)} and stochastic, not to_odd")
    names = [slot.name for slot in default_registry().require(op).operands]
    taken = tuple(applications.operand_of(*row) for row in zip(names, types.operands, operands, strict=True))
    if op in INTEGER_OPS:
        taken = tuple(_in_all_readings(operand) for operand in taken)
    if op in ("arith.cmpf", "arith.cmpi", "fcmps") and "predicate" not in properties:
        example = "slt" if op == "arith.cmpi" else "olt"
        raise InputError(f'{op} needs predicate="{example}" or the like (--attr predicate={example})')
    known = [operand.code for operand in taken if operand.code is not None]
    application = applications.Application(op, [operand.type for operand in taken], types.result, properties, known)
    application.kernel(Rounding.TO_NEAREST_EVEN, SPEC)  # raises for types that do not fit
    if stochastic:
        return _stochastically(op, application, taken, profile, properties, random, bits)
    attributes = " ".join(f"{name}={value}" for name, value in properties.items())
    result = application.result
    if len(known) < len(taken):
        return _of_poison(op, attributes, taken, result, profile)
    context = applications.OpContext(application, taken, result, str(application.fixed), profile, properties)
    parts = _row_of(op)[1](context)
    fault = context.fault
    if fault is not None and "fastmath" in fault.reason:
        parts = replace(parts, rule=f"{fault.reason}: poison", rounding=None)
    whole = OpExplanation(
        op, attributes, taken, parts.steps, parts.exact, result, None, None, parts.rounding, parts.rule, profile,
        "", "", (), story=parts.story,
    )  # fmt: skip
    if fault is not None and fault.kind is FaultKind.UNDEFINED:
        return replace(whole, undefined=True)
    if len(application.results) > 1:
        return replace(whole, results=_results(application, profile))
    return _completed(whole, application, MODES[context.mode], others)


def _completed(
    whole: OpExplanation, application: applications.Application, mode: Rounding, others: bool
) -> OpExplanation:
    """Add the result of the kernel, under the profile and under all others."""
    profile, result = whole.profile, whole.type

    def compute(other: Profile) -> CodeAndFlags:
        return application(None, mode, other)

    found_, spec = compute(profile), compute(SPEC)
    results: tuple[NamedResult, ...] = ()
    if whole.op in INTEGER_OPS:
        text = "poison" if found_.code is None else integer_code_text(result, found_.code)
        results = (NamedResult("result", result, found_.code, text),)
    total = None
    floats = all(isinstance(operand.type, ty.FloatType) for operand in whole.operands)
    if isinstance(result, ty.FloatType) and floats and isinstance(application, applications.Application):
        value = None if found_.code is None else scalar.value(result.format, found_.code)
        total = applications.total_error(whole.op, whole.operands, value, result.format)
    return replace(
        whole,
        result=found_.code,
        flags=found_.flags,
        profile_rule=profile_rule(compute, spec, profile, lambda code: element_code_text(result, code)),
        open=application.open(found_.code, profile),
        profiles=profile_groups(compute, spec, profile) if others else (),
        results=results,
        total=total,
    )


def _results(application: applications.Application, profile: Profile) -> tuple[NamedResult, ...]:
    """Return all results of an op with several."""
    codes = narrowed(application.outcome(profile), tuple)
    slots = default_registry().require(application.name).results
    rows = zip(slots, application.results, codes, strict=True)
    return tuple(NamedResult(slot.name, type_, code, integer_code_text(type_, code)) for slot, type_, code in rows)


def _in_all_readings(operand: GivenOperand) -> GivenOperand:
    return operand if operand.code is None else replace(operand, text=integer_code_text(operand.type, operand.code))


def _of_poison(
    op: str, attributes: str, operands: tuple[GivenOperand, ...], result: ty.Type, profile: Profile
) -> OpExplanation:
    rule = f"an operand is poison ({_poison_reason(operands)})"
    return OpExplanation(op, attributes, operands, (), None, result, None, Flags(0), None, rule, profile, "", "", ())


def _poison_reason(operands: Sequence[GivenOperand]) -> str:
    reasons = (
        o.explanation.rule if o.explanation is not None else "given as poison" for o in operands if o.code is None
    )
    return "; ".join(reasons)


def _stochastically(
    op: str,
    application: applications.Application,
    operands: tuple[GivenOperand, ...],
    profile: Profile,
    properties: Mapping[str, Any],
    random: Any,
    bits: int | None,
) -> StochasticExplanation:
    if op not in ARITHMETIC and op not in CONVERSIONS:
        raise Unsupported(f"'{op}' has no stochastic rounding")
    if properties:
        raise Unsupported(
            f"the explanation of stochastic rounding does not take {', '.join(properties)}",
            hint=f"leave out {', '.join(properties)}",
        )
    if any(operand.code is None for operand in operands):
        raise InputError(f"an operand is poison ({_poison_reason(operands)})")
    result = application.result
    x = operands[0]
    if op in CONVERSIONS:
        given = given_code(x.short, f"of type {x.type}", x.format, x.known)
    else:
        y, operation = operands[1], ARITHMETIC[op]

        def draw(fmt: FloatFormat, chosen: Profile, drawn: tuple[int, int]) -> CodeAndFlags:
            compute = getattr(scalar, operation)
            return code_and_flags(compute(fmt, x.known, y.known, Rounding.STOCHASTIC, chosen.arithmetic, drawn))

        given, _ = applications.rounded_operation(operation, x, y, application, Rounding.TO_NEAREST_EVEN)
        given = replace(given, draw=draw)
    types = ", ".join(dict.fromkeys(str(operand.type) for operand in operands))
    signature = types if types == str(result) else f"{types} to {result}"
    title = f"{op} rounding=stochastic on {signature}, profile {profile.name}"
    rows = (
        *((operand.name, str(operand)) for operand in operands),
        *([("formula", given.text)] if " " in given.text else []),
    )
    return explained_stochastically(given, ty.float_format(result), profile, random, bits, title, rows)
