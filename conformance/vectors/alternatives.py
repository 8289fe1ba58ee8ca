"""Guess what else computed a result: another rounding, other choices of a profile, swapped operands, another op.

Describe also how a wrong result looks beside the right one, in a few words that can be counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.comparing.refinement import ulp_distance
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.device import Cause, Stage, computing, flag_name, reading
from halfulp.conformance.vectors.intermediate import exact, model_case_of, operand
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.interp.declare.build import property_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES, Profile

RELATED: tuple[tuple[str, ...], ...] = (
    ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf"),
    ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
    ("arith.addi", "arith.subi", "arith.muli"),
    ("arith.andi", "arith.ori", "arith.xori"),
    ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
    ("arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"),
    ("arith.remsi", "arith.remui"),
    ("arith.shrsi", "arith.shrui", "arith.shli"),
    ("arith.sitofp", "arith.uitofp"),
    ("arith.fptosi", "arith.fptoui"),
    ("arith.extsi", "arith.extui"),
    ("math.exp", "math.exp2", "math.expm1", "exp10"),
    ("math.log", "math.log2", "math.log10", "math.log1p"),
    ("math.sin", "math.cos", "math.tan"),
    ("math.asin", "math.acos", "math.atan"),
    ("math.sinh", "math.cosh", "math.tanh", "sigmoid"),
    ("math.asinh", "math.acosh", "math.atanh"),
    ("math.sqrt", "math.rsqrt", "math.cbrt"),
    ("math.erf", "math.erfc"),
    ("gelu", "gelu_tanh", "silu", "mish", "softplus"),
    ("math.round", "math.roundeven", "math.trunc", "math.floor", "math.ceil"),
    ("math.ctlz", "math.cttz", "math.ctpop"),
)
"""Ops of the same operands that are easily confused."""


def other_ops(computation: Computation) -> Iterator[Cause]:
    """Yield the op with other values of its enumerated properties, related ops, and swapped operands."""
    if not isinstance(computation, OpComputation):
        return
    own, operands = computation.case, len(computation.case.operands)
    given = dict(own.properties)
    for declared in (*own.definition.properties, *own.definition.choices):
        if not isinstance(declared.kind, EnumDefinition) or declared.kind.flags:
            continue
        keyword = next((key for key in (*given, "rounding") if property_of(own.definition, key) is declared), None)
        keyword = keyword or declared.name
        default = declared.default if isinstance(declared.default, int) else 0
        usual = None if computation.random_bits is not None else declared.kind.names.get(default)
        for choice in declared.kind.cases:
            if choice != given.get(keyword, usual):
                yield computing(f"{keyword}={choice}", partial(_as_case, None, {keyword: choice}))
    for op in (op for family in RELATED if own.op in family for op in family if op != own.op):
        yield computing(op, partial(_as_case, op, {}))
    if operands == 2 and len(set(own.operands)) == 1:

        def swapped(inputs: Chunk) -> Chunk:
            return (inputs[1], inputs[0], *inputs[2:])

        yield reading(f"{own.op}(b, a)", Stage.COMPUTATION, swapped)


def _as_case(op: str | None, properties: Mapping[str, Any], computation: Computation) -> Computation | None:
    """Return another op, with other properties; it ignores the bits of stochastic rounding."""
    if not isinstance(computation, OpComputation):
        return None
    own = computation.case
    case = op_case(op or own.op, own.operands, own.results[0], **{**dict(own.properties), **properties})
    return OpComputation(case, computation.profile, computation.keep_ub, computation.flags)


def other_profiles(computation: Computation) -> Iterator[Cause]:
    """Yield each other value of each field of the profile that can count, and the named profiles."""
    if not isinstance(computation, OpComputation | ProgramComputation):
        return
    f32_apart, stochastic = _has_f32_beside_others(computation), _takes_random_bits(computation)
    for name, fields in _other_fields(computation.profile, f32_apart, stochastic):
        yield computing(name, partial(_under, fields))


def _under(fields: Mapping[str, str], computation: Computation) -> Computation:
    """Return a computation with other fields of its profile; a field ``name`` stands for a named profile."""
    assert isinstance(computation, OpComputation | ProgramComputation)
    # Profiles are hashed by their names.
    name = ",".join(f"{field}={value}" for field, value in fields.items())
    own = computation.profile
    profile = PROFILES[fields["name"]] if "name" in fields else replace(own, name=f"{own.name},{name}", **fields)
    return replace(computation, profile=profile)


def _has_f32_beside_others(computation: Computation) -> bool:
    """Tell whether flushing only f32 can give results that flushing all formats does not give."""
    if not isinstance(computation, OpComputation):
        return True
    types = {*computation.case.operands, *computation.case.results}
    return "f32" in types and len(types & FORMATS.keys()) > 1


def _takes_random_bits(computation: Computation) -> bool:
    return isinstance(computation, OpComputation) and computation.random_bits is not None


def _other_fields(own: Profile, f32_apart: bool, stochastic: bool) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each other value of each field, flushing with a positive zero, and the named profiles, with the fields that
    they set. ``f32_apart``: include the fields of f32 alone; ``stochastic``: those of stochastic rounding.
    """

    def changed(**fields: str) -> tuple[str, Mapping[str, str]]:
        return ",".join(f"{field}={value}" for field, value in fields.items()), fields

    for field, choice in PROFILE_FIELDS.items():
        counts = (f32_apart or not field.endswith("_f32")) and (stochastic or not field.startswith("stochastic"))
        for value in choice.values if counts else ():
            if value != getattr(own, field):
                yield changed(**{field: value})
    for value in PROFILE_FIELDS["denormals"].values:
        if value not in ("ieee", own.denormals):
            yield changed(denormals=value, denormal_zero="positive")
        if f32_apart and value not in ("ieee", own.denormals_f32):
            yield changed(denormals_f32=value, denormal_zero_f32="positive")
    for name in PROFILES:
        if name != own.name:
            yield f"profile={name}", {"name": name}


# --- one result -------------------------------------------------------------------------------------------------------

_EXACT = frozenset({"add", "subtract", "multiply", "remainder", "convert", "from integer", "to integer"})


def exact_result(asked: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of an op before rounding; None where it is not a number or the op does not round."""
    model_case = model_case_of(asked)
    if model_case is None:
        return None
    if model_case.kind == "divide":
        pair = [operand(source, code) for source, code in zip(model_case.sources, operands, strict=True)]
        numbers = [None if x is None else _number(x.sign, x.significand, x.exponent) for x in pair]
        x, y = numbers
        return None if x is None or not y else x / y
    found = exact(model_case, operands) if model_case.kind in _EXACT else None
    return None if found is None else _number(found.sign, found.significand, found.exponent)


def _number(sign: int, significand: int, exponent: int) -> Fraction:
    return (-significand if sign else significand) * Fraction(2) ** exponent


def remarks(column: Column, type_: ty.Type | None, expected: int, got: int) -> list[str]:
    """Describe what a code is instead of the expected one, in words that are the same for many rows."""
    if column.role is Role.FLAGS:
        wrong = [flag for flag in Flags if (expected ^ got) & flag]
        return [f"{flag_name(flag)} {'not raised' if expected & flag else 'raised'}" for flag in wrong]
    if column.role is Role.POISON:
        return ["a value called poison" if got else "poison called a value"]
    if column.role is Role.OPEN:
        return ["other bits called open"]
    found = _float_remark(type_.format, expected, got) if isinstance(type_, ty.FloatType) else None
    if found is None and not isinstance(type_, ty.FloatType):
        found = "off by one" if (got - expected) % (1 << column.width) in (1, (1 << column.width) - 1) else None
    return [found or "another value"]


def _float_remark(fmt: FloatFormat, expected: int, got: int) -> str | None:
    right, found = scalar.unpack(fmt, expected), scalar.unpack(fmt, got)
    nans = [x.kind >= scalar.QUIET_NAN for x in (right, found)]
    if all(nans):
        return "another NaN"
    if any(nans):
        return "a number instead of NaN" if nans[0] else "NaN instead of a number"
    magnitudes = [code & ~(fmt.sign_mask or 0) for code in (expected, got)]
    if magnitudes[0] == magnitudes[1]:
        return "the sign of zero" if right.kind == scalar.FINITE and not right.significand else "the other sign"
    largest = fmt.max_code & ~(fmt.sign_mask or 0)
    for infinite, other, magnitude, told in (
        (right, found, magnitudes[1], "{} instead of infinity"),
        (found, right, magnitudes[0], "infinity instead of {}"),
    ):
        if infinite.kind == scalar.INFINITE:
            same = magnitude == largest and infinite.sign == other.sign
            return told.format("the largest finite value" if same else "a finite value")
    if fmt.is_subnormal(expected) and not found.significand:
        return "zero instead of a subnormal"
    steps = ulp_distance(ty.FloatType(fmt), expected, got)
    if right.sign != found.sign and right.significand and found.significand:
        return "the other sign, and another value"
    way = "toward" if _size(found) < _size(right) else "away from"
    return f"off by one ulp {way} zero" if steps == 1 else f"off by several ulp {way} zero"


def _size(x: scalar.Unpacked) -> Fraction:
    return _number(0, x.significand, x.exponent)
