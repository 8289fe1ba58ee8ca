"""Guess what else computed a result: another rounding, other choices of a profile, swapped operands, another op.

Describe also how a wrong result looks beside the right one, in a few words that can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from halfulp.conformance.comparing.compare import ulp_distance
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.conformance.vectors.intermediate import exact, model_case_of, operand
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.interp.declare.build import property_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import HalfulpError
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES, Profile


@dataclass(frozen=True)
class Alternative:
    """Another meaning of the same rows.

    ``name``: for the report. ``computation``: computes this meaning from what ``inputs`` makes of the rows' own inputs.
    """

    name: str
    computation: Computation
    inputs: Callable[[Chunk], Chunk]

    def compute(self, inputs: Chunk) -> Computed | None:
        """Return the outputs for some rows; None where the op does not have this meaning."""
        try:
            return self.computation.compute(self.inputs(inputs))
        except (HalfulpError, ValueError):
            return None


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


def alternatives(computation: Computation) -> Iterator[Alternative]:
    """Yield everything that is tried, the likeliest first."""

    def same(inputs: Chunk) -> Chunk:
        return inputs

    if isinstance(computation, TileComputation):
        for model in computation.others():
            yield Alternative(f"--mma={model}", replace(computation, model=model), same)
        return
    if isinstance(computation, OpComputation):
        operands = len(computation.case.operands)

        def without_random(inputs: Chunk) -> Chunk:
            return inputs[:operands]

        for name, asked in _other_cases(computation.case, stochastic=computation.random_bits is not None):
            made = _op_computation(asked, computation)
            if made is not None:
                yield Alternative(name, made, without_random)
        if operands == 2 and len(set(computation.case.operands)) == 1:
            yield Alternative(
                f"{computation.case.op}(b, a)", computation, lambda inputs: (inputs[1], inputs[0], *inputs[operands:])
            )
    for name, profile in _other_profiles(computation.profile, _has_f32_beside_others(computation)):
        yield Alternative(name, replace(computation, profile=profile), same)  # type: ignore[type-var]


def _op_computation(asked: OpCase, computation: OpComputation) -> OpComputation | None:
    try:
        made = OpComputation(asked, computation.profile, computation.keep_ub, computation.flags)
        _ = made.outputs
    except (HalfulpError, ValueError):
        return None
    return made


def _other_cases(own: OpCase, stochastic: bool) -> Iterator[tuple[str, OpCase]]:
    """Yield the op with other values of its enumerated properties, and related ops."""
    given = dict(own.properties)
    for declared in (*own.definition.properties, *own.definition.choices):
        if not isinstance(declared.kind, EnumDefinition) or declared.kind.flags:
            continue
        keyword = next((key for key in (*given, "rounding") if property_of(own.definition, key) is declared), None)
        keyword = keyword or declared.name
        usual = None if stochastic else declared.kind.names.get(declared.default or 0)
        for choice in declared.kind.cases:
            if choice != given.get(keyword, usual):
                yield from _case(f"{keyword}={choice}", own.op, own, {**given, keyword: choice})
    for family in RELATED:
        for op in family:
            if own.op in family and op != own.op:
                yield from _case(op, op, own, given)


def _case(name: str, op: str, own: OpCase, properties: Mapping[str, Any]) -> Iterator[tuple[str, OpCase]]:
    try:
        yield name, op_case(op, own.operands, own.results[0], **properties)
    except (HalfulpError, ValueError):
        return


def _has_f32_beside_others(computation: Computation) -> bool:
    """Tell whether flushing only f32 can give results that flushing all formats does not give."""
    if not isinstance(computation, OpComputation):
        return True
    types = {*computation.case.operands, *computation.case.results}
    return "f32" in types and len(types & FORMATS.keys()) > 1


def _other_profiles(own: Profile, f32_apart: bool) -> Iterator[tuple[str, Profile]]:
    """Yield each other value of each field, flushing with a positive zero, and the named profiles. ``f32_apart``:
    include the fields of f32 alone.
    """

    def changed(**fields: str) -> tuple[str, Profile]:
        name = ",".join(f"{field}={value}" for field, value in fields.items())
        # Profiles are hashed by their names.
        return name, replace(own, name=f"{own.name},{name}", **fields)

    for field, choice in PROFILE_FIELDS.items():
        for value in choice.values if f32_apart or not field.endswith("_f32") else ():
            if value != getattr(own, field):
                yield changed(**{field: value})
    for value in PROFILE_FIELDS["denormals"].values:
        if value not in ("ieee", own.denormals):
            yield changed(denormals=value, denormal_zero="positive")
        if f32_apart and value not in ("ieee", own.denormals_f32):
            yield changed(denormals_f32=value, denormal_zero_f32="positive")
    for name, profile in PROFILES.items():
        if name != own.name:
            yield f"profile={name}", profile


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
        return [f"{_name(flag)} {'not raised' if expected & flag else 'raised'}" for flag in wrong]
    if column.role is Role.POISON:
        return ["a value called poison" if got else "poison called a value"]
    if column.role is Role.OPEN:
        return ["other bits called open"]
    found = _float_remark(type_.format, expected, got) if isinstance(type_, ty.FloatType) else None
    if found is None and not isinstance(type_, ty.FloatType):
        found = "off by one" if (got - expected) % (1 << column.width) in (1, (1 << column.width) - 1) else None
    return [found or "another value"]


def _name(flag: Flags) -> str:
    return str(flag.name).lower().replace("_", " ")


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
