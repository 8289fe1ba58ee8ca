"""Causes in what a device computes: another op or mode, swapped operands, another choice of the profile, or a program
with one op changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, combinations
from typing import Any

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.datapaths import unit_of
from halfulp.conformance.vectors.device import Cause, Stage, by, computing, reading
from halfulp.conformance.vectors.program_steps import place_of
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.declare.build import op_properties, property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.attributes import IntegerAttr
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES

RELATED: tuple[tuple[str, ...], ...] = (
    ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf"),
    ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
    ("arith.addi", "arith.subi", "arith.muli"),
    ("arith.andi", "arith.ori", "arith.xori"),
    ("fixed_add", "fixed_sub", "fixed_mul"),
    ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
    ("arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"),
    ("arith.remsi", "arith.remui"),
    ("arith.shrsi", "arith.shrui", "arith.shli"),
    ("arith.sitofp", "arith.uitofp"),
    ("arith.fptosi", "arith.fptoui"),
    ("fcvt_from_si", "fcvt_from_ui"),
    ("fcvt_to_si", "fcvt_to_ui"),
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


def other_ops(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the device computes the op with other values of its enumerated properties, a related op, or
    the op with swapped operands.
    """
    own = computation.case
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
    unit = unit_of(computation)
    commutes = unit is not None and unit.case.kind in ("add", "multiply")  # except for NaNs: `other_nans`
    for one, other in combinations(range(3), 2) if unit is not None and len(set(own.operands)) == 1 else ():
        if len(own.operands) == 3 and other == 2:
            order = [2 if k == one else one if k == 2 else k for k in range(3)]
            name = f"{'abc'[one]} and c swapped"
            yield reading(name, Stage.COMPUTATION, partial(_ordered, order))
    if len(own.operands) == 2 and own.operands[0] == own.operands[1] and not commutes:
        yield reading(f"{own.op}(b, a)", Stage.COMPUTATION, lambda inputs: (inputs[1], inputs[0], *inputs[2:]))


def _ordered(order: Sequence[int], inputs: Chunk) -> Chunk:
    return (*(inputs[k] for k in order), *inputs[len(order) :])


def _as_case(op: str | None, properties: Mapping[str, Any], computation: OpComputation) -> OpComputation:
    """Return another op, with other properties; it ignores the bits of stochastic rounding."""
    own = computation.case
    case = op_case(op or own.op, own.operands, own.results[0], **{**dict(own.properties), **properties})
    return replace(computation, case=case, random_bits=None)


MOST_OPS = 1 << 13
"""The most ops of all changed programs together: their time is that of their ops."""


def other_programs(computation: ProgramComputation) -> Iterator[Cause]:
    """Yield the causes that the device runs the program with one change: an op is left out, a related op or another
    rounding mode takes its place, or an integer constant is one more or one less. Of a long program, the ops that come
    last are changed: as many as `MOST_OPS` allows.
    """
    ops = list(computation.ops())
    changes = [
        [(name, partial(_with_op, number, change)) for name, change in _changes_of_op(op, place_of(op, number))]
        for number, op in enumerate(ops)
    ]
    left = accumulate(len(ops) * len(own) for own in reversed(changes))
    tried = sum(work <= MOST_OPS for work in left)
    for own in changes[len(ops) - tried :]:
        yield from (computing(name, change) for name, change in own)


_OpChange = Callable[[Operation], Operation | SSAValue]
"""A function that changes an op of a copy of a program, and returns it, or the value that takes its place."""


def _changes_of_op(op: Operation, where: str) -> Iterator[tuple[str, _OpChange]]:
    if op.definition is None or len(op.results) != 1 or op.regions:
        return
    alike = [place for place, value in enumerate(op.operands) if value.type == op.results[0].type]
    for place in alike:
        yield f"operand {place} in place of {op.name}{where}", partial(_operand, place)
    if len(op.operands) == 2 and op.operands[0].type == op.operands[1].type:
        yield f"{op.name}{where} with swapped operands", _swapped
    for other in (other for family in RELATED if op.name in family for other in family if other != op.name):
        yield f"{other} in place of {op.name}{where}", partial(_renamed, other)
    for declared in op.definition.properties:
        if not isinstance(declared.kind, EnumDefinition) or declared.kind.flags:
            continue
        default = declared.default if isinstance(declared.default, int) else 0
        given = op.properties.get(declared.name)
        usual = given.value if isinstance(given, EnumAttr | IntegerAttr) else default
        for keyword, value in declared.kind.cases.items():
            if value != usual:
                told = f"with {'rounding' if declared.name == 'roundingmode' else declared.name}={keyword}"
                yield f"{op.name}{where} {told}", partial(_with_keyword, declared.name, keyword)
    constant = op.properties.get("value")
    if op.name == "arith.constant" and isinstance(constant, IntegerAttr):
        for step in (-1, 1):
            yield f"the constant {constant.value + step} in place of {constant.value}{where}", partial(_off_by, step)


def _operand(place: int, op: Operation) -> SSAValue:
    return op.operands[place]


def _swapped(op: Operation) -> Operation:
    op.operands = op.operands[::-1]
    return op


def _renamed(name: str, op: Operation) -> Operation:
    op.name, op.definition = name, default_registry().find(name)
    op.properties.clear()
    return op


def _with_keyword(name: str, keyword: str, op: Operation) -> Operation:
    assert op.definition is not None
    op.properties[name] = op_properties(op.definition, {name: keyword})[name]
    return op


def _off_by(step: int, op: Operation) -> Operation:
    value = op.prop("value", IntegerAttr)
    op.properties["value"] = replace(value, value=value.value + step)
    return op


def _with_op(number: int, change: _OpChange, computation: ProgramComputation) -> ProgramComputation:
    """Return the program with an op changed, the one of this number. Raises HalfulpError if that is not valid."""
    copy = replace(computation, _parsed=parse_module(computation.text, computation.name))
    ops = list(copy.ops())
    old = ops[number].results[0]
    new = change(ops[number])
    for op in ops:
        op.operands = [new if value is old and isinstance(new, SSAValue) else value for value in op.operands]
    return replace(computation, text=print_module(copy.module, generic=True), _parsed=None)


def other_profiles(computation: OpComputation | ProgramComputation) -> Iterator[Cause]:
    """Yield the causes that the device computes under another profile: with another value of one field that has an
    effect, with flushing to a positive zero, or under a named profile.
    """
    own, f32_apart, stochastic = computation.profile, True, False
    if isinstance(computation, OpComputation):
        types = {*computation.case.operands, *computation.case.results}
        # Only beside other formats can flushing f32 alone give results that flushing all formats does not give.
        f32_apart = "f32" in types and len(types & FORMATS.keys()) > 1
        stochastic = computation.random_bits is not None
    changes: list[dict[str, str]] = []
    for field, choice in PROFILE_FIELDS.items():
        if (f32_apart or not field.endswith("_f32")) and (stochastic or not field.startswith("stochastic")):
            changes += [{field: value} for value in choice.values if value != getattr(own, field)]
    for value in PROFILE_FIELDS["denormals"].values:
        if value not in ("ieee", own.denormals):
            changes.append({"denormals": value, "denormal_zero": "positive"})
        if f32_apart and value not in ("ieee", own.denormals_f32):
            changes.append({"denormals_f32": value, "denormal_zero_f32": "positive"})
    for change in changes:
        name = ",".join(f"{field}={value}" for field, value in change.items())
        yield computing(name, partial(_with_fields, name, change))
    for name, profile in PROFILES.items():
        if name != own.name:
            yield computing(f"profile={name}", partial(by, "profile", profile))


def _with_fields(name: str, change: Mapping[str, str], computation: OpComputation | ProgramComputation) -> Computation:
    # Profiles are hashed by their names.
    own = computation.profile
    return replace(computation, profile=replace(own, name=f"{own.name},{name}", **change))
