"""What else might have computed a result: other roundings, other choices of a profile, operands swapped, another op.

And what a result that differs looks like beside the right one, in a few words that can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from halfulp.conformance.comparing.compare import ulp_distance
from halfulp.conformance.comparing.op_case import Task, task
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computed, OpSubject, Subject
from halfulp.conformance.vectors.intermediate import case_of, exact, operand
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.declarations import EnumDefinition
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.semantics.profile import PROFILES, Profile, profile_choices


@dataclass(frozen=True)
class Alternative:
    """Another meaning of the same rows: its ``name``, the ``subject`` that has it, which takes what ``inputs`` makes of
    the rows' own.
    """

    name: str
    subject: Subject
    inputs: Callable[[Chunk], Chunk]

    def compute(self, inputs: Chunk) -> Computed | None:
        """Its outputs for some rows; None where the op does not have this meaning."""
        try:
            return self.subject.compute(self.inputs(inputs))
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
)
"""Ops of the same operands that are mistaken for one another."""


def alternatives(subject: Subject) -> Iterator[Alternative]:
    """All that is tried, the likeliest first."""

    def same(inputs: Chunk) -> Chunk:
        return inputs

    if isinstance(subject, OpSubject):
        operands = len(subject.task.operands)

        def without_random(inputs: Chunk) -> Chunk:
            return inputs[:operands]

        for name, asked in _other_tasks(subject.task, stochastic=subject.random_bits is not None):
            made = _op_subject(asked, subject)
            if made is not None:
                yield Alternative(name, made, without_random)
        if operands == 2 and len(set(subject.task.operands)) == 1:
            yield Alternative(
                f"{subject.task.op}(b, a)", subject, lambda inputs: (inputs[1], inputs[0], *inputs[operands:])
            )
    for name, profile in _other_profiles(subject.profile, _has_f32_beside_others(subject)):
        yield Alternative(name, replace(subject, profile=profile), same)  # type: ignore[type-var]


def _op_subject(asked: Task, subject: OpSubject) -> OpSubject | None:
    try:
        made = OpSubject(asked, subject.profile, subject.keep_ub, subject.flags)
        _ = made.outputs
    except (HalfulpError, ValueError):
        return None
    return made


def _other_tasks(own: Task, stochastic: bool) -> Iterator[tuple[str, Task]]:
    """The op with another value of each property that is one of some, and related ops."""
    given = dict(own.properties)
    for declared in own.definition.properties:
        if not isinstance(declared.kind, EnumDefinition) or declared.kind.flags:
            continue
        keyword = next((key for key in (*given, "rounding") if property_of(own.definition, key) is declared), None)
        keyword = keyword or declared.name
        usual = None if stochastic else declared.kind.names.get(declared.default or 0)
        for case in declared.kind.cases:
            if case != given.get(keyword, usual):
                yield from _task(f"{keyword}={case}", own.op, own, {**given, keyword: case})
    for family in RELATED:
        for op in family:
            if own.op in family and op != own.op:
                yield from _task(op, op, own, given)


def _task(name: str, op: str, own: Task, properties: Mapping[str, Any]) -> Iterator[tuple[str, Task]]:
    try:
        yield name, task(op, own.operands, own.results[0], **properties)
    except (HalfulpError, ValueError):
        return


def _has_f32_beside_others(subject: Subject) -> bool:
    """Whether f32 flushing alone may give anything that no flushing of all formats gives."""
    if not isinstance(subject, OpSubject):
        return True
    types = {*subject.task.operands, *subject.task.results}
    return "f32" in types and len(types & FORMATS.keys()) > 1


def _other_profiles(own: Profile, f32_apart: bool) -> Iterator[tuple[str, Profile]]:
    """Each other value of each field, flushing with a positive zero, and the named profiles. ``f32_apart``: with the
    fields of f32 alone.
    """

    def changed(**fields: str) -> tuple[str, Profile]:
        name = ",".join(f"{field}={value}" for field, value in fields.items())
        # Profiles are hashed by their names.
        return name, replace(own, name=f"{own.name},{name}", **fields)

    for field, values in profile_choices().items():
        for value in values if f32_apart or not field.endswith("_f32") else ():
            if value != getattr(own, field):
                yield changed(**{field: value})
    for value in profile_choices()["denormals"]:
        if value not in ("ieee", own.denormals):
            yield changed(denormals=value, denormal_zero="positive")
        if f32_apart and value not in ("ieee", own.denormals_f32):
            yield changed(denormals_f32=value, denormal_zero_f32="positive")
    for name, profile in PROFILES.items():
        if name != own.name:
            yield f"profile={name}", profile


# --- one result -------------------------------------------------------------------------------------------------------

_EXACT = frozenset({"add", "subtract", "multiply", "remainder", "convert", "from integer", "to integer"})


def exact_result(asked: Task, operands: tuple[int, ...]) -> Fraction | None:
    """The exact result of an op before it is rounded; None where it is no number, or the op does not round."""
    case = case_of(asked)
    if case is None:
        return None
    if case.kind == "divide":
        pair = [operand(source, code) for source, code in zip(case.sources, operands, strict=True)]
        numbers = [None if x is None else _number(x.sign, x.significand, x.exponent) for x in pair]
        x, y = numbers
        return None if x is None or not y else x / y
    found = exact(case, operands) if case.kind in _EXACT else None
    return None if found is None else _number(found.sign, found.significand, found.exponent)


def _number(sign: int, significand: int, exponent: int) -> Fraction:
    return (-significand if sign else significand) * Fraction(2) ** exponent


def remarks(column: Column, type_: ty.Type | None, expected: int, got: int) -> list[str]:
    """What a code is instead of the expected one, in words that are the same for many rows."""
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
