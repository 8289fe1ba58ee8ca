"""Ways to continue a program without control flow: elementwise ops, and ops that make and take apart containers."""

from __future__ import annotations

from functools import partial
from math import prod

from halfulp.conformance.whole_programs.generator.declared import cases, elementwise_ops, random_properties
from halfulp.conformance.whole_programs.generator.grower import Grower, Row, Unfit
from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.dialects.indices import DYNAMIC
from halfulp.interp.dialects.ub import POISON_ATTR
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import SSAValue
from halfulp.interp.ir.types import width_of

WEIGHTS = {
    "arith.andi": 2.5, "arith.remui": 2.0, "arith.shrui": 1.5, "arith.addi": 2.0, "arith.cmpi": 3.0,
    "arith.minui": 1.3, "arith.maxui": 1.3, "arith.minsi": 1.3, "arith.maxsi": 1.3, "arith.extui": 2.5,
    "arith.extsi": 1.8, "arith.trunci": 2.0, "arith.select": 3.0, "arith.index_cast": 1.5, "arith.index_castui": 1.5,
    "quant.qcast": 3.0, "quant.dcast": 3.0, "quant.scast": 3.0,
}  # fmt: skip
"""How often elementwise ops come that bound integers, or that other ops need; 1 for the others."""

CONSTANTS = 0.35
"""How often the last of several operands is a constant."""

BOOLEANS = 0.3
"""How often an op is on i1, compared with other types."""

TWICE = 0.2
"""How often a value that was chosen twice for an op is kept."""

UNGUARDED = 0.05
"""How often a divisor may be zero, or a shift amount too large."""

_DIVISIONS = ("divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui")
_SHIFTS = ("shli", "shrsi", "shrui")


def rows() -> list[Row]:
    """Return the rows of this file."""
    found = [
        Row(op.name, _family(op), WEIGHTS.get(op.name, 1.0), partial(_elementwise, op)) for op in elementwise_ops()
    ]
    found += [
        Row("vector.broadcast", "vector", 1.5, _broadcast),
        Row("vector.extract", "vector", 1.5, _vector_extract),
        Row("vector.insert", "vector", 1.0, _vector_insert),
        Row("tensor.splat", "tensor", 1.0, _splat),
        Row("tensor.from_elements", "tensor", 1.5, _from_elements),
        Row("tensor.extract", "tensor", 1.5, _tensor_extract),
        Row("tensor.insert", "tensor", 1.0, _tensor_insert),
        Row("tensor.cast", "tensor", 0.7, _tensor_cast),
        Row("affine.apply", "affine", 3.0, _apply),
        Row("ub.poison", "poison", 0.5, _poison),
    ]
    return found


def _family(op: OpDefinition) -> str:
    return "quant" if op.dialect == "quant" else op.name


# --- elementwise ------------------------------------------------------------------------------------------------------


def _elementwise(op: OpDefinition, grower: Grower) -> None:
    rng, palette = grower.rng, grower.plan.palette
    guarded = _mnemonic(op) in (*_DIVISIONS, *_SHIFTS)
    anchor = 0 if guarded else rng.randrange(len(op.operands))
    slot = op.operands[anchor]
    present = [type_ for type_ in grower.visible if slot.constraint.accepts(type_)]
    if not present:
        raise Unfit
    (type_,) = rng.choices(present, [BOOLEANS if ty.element_type(type_) == ty.I1 else 1.0 for type_ in present])
    elements = tuple(dict.fromkeys([*palette.elements, *(stored for _, stored in palette.quantized)]))
    fitting = cases(op.name, anchor, type_, elements)
    if not fitting:
        raise Unfit
    operand_types, results = rng.choice(fitting)
    operands: list[SSAValue] = []
    for number, kind in enumerate(operand_types):
        operand = grower.known(kind) if number == anchor else _operand(op, number, kind, grower)
        if operand in operands and rng.random() >= TWICE:
            operand = _operand(op, number, kind, grower)
        operands.append(operand)
    grower.append(op.name, operands, results, random_properties(op, rng, palette.flags))


def _mnemonic(op: OpDefinition) -> str:
    return op.name.partition(".")[2]


def _operand(op: OpDefinition, number: int, type_: ty.Type, grower: Grower) -> SSAValue:
    last = number == len(op.operands) - 1
    mnemonic = _mnemonic(op)
    if last and grower.rng.random() >= UNGUARDED:
        if mnemonic in _DIVISIONS:
            return _divisor(type_, grower, signed=mnemonic.endswith("si"))
        if mnemonic in _SHIFTS:
            return _amount(type_, grower)
    return grower.value(type_, CONSTANTS if last else 0.1)


def _divisor(type_: ty.Type, grower: Grower, signed: bool) -> SSAValue:
    """Return a divisor that is neither zero nor, of a signed division, -1."""
    highest = (1 << (width_of(ty.element_type(type_)) - signed)) - 1
    if not highest:
        raise Unfit  # the only divisor of a signed i1 is -1
    if grower.rng.random() < 0.5:
        number = grower.rng.choice((1, 2, 3, 5, 7, 8, 10, 16, 100, highest, highest // 2 + 1))
        return grower.number(type_, min(max(number, 1), highest))
    some = grower.value(type_)
    if signed:
        some = grower.result("arith.andi", [some, grower.number(type_, highest)], type_)
    return grower.result("arith.ori", [some, grower.number(type_, 1)], type_)


def _amount(type_: ty.Type, grower: Grower) -> SSAValue:
    """Return a shift amount below the width."""
    width = width_of(ty.element_type(type_))
    if grower.rng.random() < 0.4 or width < 2:
        return grower.number(type_, grower.rng.randrange(max(width, 1)))
    if width & (width - 1) == 0 and grower.rng.random() < 0.6:
        return grower.result("arith.andi", [grower.value(type_), grower.number(type_, width - 1)], type_)
    return grower.result("arith.remui", [grower.value(type_), grower.number(type_, width)], type_)


# --- containers -------------------------------------------------------------------------------------------------------


def _container(kind: type[ty.VectorType] | type[ty.TensorType], grower: Grower) -> ty.VectorType | ty.TensorType:
    """Choose a type of the program, of the kind."""
    present = [type_ for type_ in grower.plan.palette.containers if isinstance(type_, kind)]
    if not present:
        raise Unfit
    return grower.rng.choice(present)


def _sizes(type_: ty.Type) -> tuple[int, ...]:
    return tuple(size or 0 for size in ty.shape_of(type_) or ())


def _broadcast(grower: Grower) -> None:
    type_ = _container(ty.VectorType, grower)
    shape = _sizes(type_)
    rank = grower.rng.randint(0, len(shape) - 1)
    part = ty.VectorType(shape[len(shape) - rank :], type_.element) if rank else type_.element
    grower.append("vector.broadcast", [grower.value(part)], [type_])


def _static_or_dynamic(shape: tuple[int, ...], grower: Grower) -> tuple[at.DenseArrayAttr, list[SSAValue]]:
    """Choose a position in these leading dimensions: constants and operands."""
    written, operands = [], []
    for size in shape:
        if grower.rng.random() < 0.35:
            operands.append(grower.position(size))
            written.append(DYNAMIC)
        else:
            written.append(grower.rng.randrange(size))
    return at.DenseArrayAttr(ty.I64, tuple(index & (1 << 64) - 1 for index in written)), operands


def _part(type_: ty.VectorType | ty.TensorType, depth: int) -> ty.Type:
    shape = _sizes(type_)
    return type_.element if depth == len(shape) else ty.VectorType(shape[depth:], type_.element)


def _vector_extract(grower: Grower) -> None:
    type_ = _container(ty.VectorType, grower)
    depth = grower.rng.randint(1, len(_sizes(type_)))
    position, operands = _static_or_dynamic(_sizes(type_)[:depth], grower)
    grower.append(
        "vector.extract", [grower.value(type_), *operands], [_part(type_, depth)], {"static_position": position}
    )


def _vector_insert(grower: Grower) -> None:
    type_ = _container(ty.VectorType, grower)
    depth = grower.rng.randint(1, len(_sizes(type_)))
    position, operands = _static_or_dynamic(_sizes(type_)[:depth], grower)
    given = grower.value(_part(type_, depth))
    grower.append("vector.insert", [given, grower.value(type_), *operands], [type_], {"static_position": position})


def _splat(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    grower.append("tensor.splat", [grower.value(type_.element)], [type_])


def _from_elements(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    grower.append("tensor.from_elements", [grower.value(type_.element) for _ in range(prod(_sizes(type_)))], [type_])


def _tensor_extract(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    indices = [grower.position(size) for size in _sizes(type_)]
    grower.append("tensor.extract", [grower.value(type_), *indices], [type_.element])


def _tensor_insert(grower: Grower) -> None:
    type_ = _container(ty.TensorType, grower)
    indices = [grower.position(size) for size in _sizes(type_)]
    grower.append("tensor.insert", [grower.value(type_.element), grower.value(type_), *indices], [type_])


def _tensor_cast(grower: Grower) -> None:
    """Hide the size of a tensor, extract an element, and cast the tensor back."""
    type_ = _container(ty.TensorType, grower)
    hidden = ty.TensorType((None,) * len(_sizes(type_)), type_.element)
    cast = grower.result("tensor.cast", [grower.value(type_)], hidden)
    del grower.visible[hidden]  # a constant of this type does not exist
    grower.append("tensor.extract", [cast, *(grower.position(size) for size in _sizes(type_))], [type_.element])
    grower.append("tensor.cast", [cast], [type_])


# --- others -----------------------------------------------------------------------------------------------------------


def _apply(grower: Grower) -> None:
    """Apply a map to one or two indices that are small enough not to overflow."""
    rng = grower.rng
    count = rng.randint(1, 2)
    dimensions = [affine.Dimension(number) for number in range(count)]
    expr: affine.AffineExpr = dimensions[0]
    for _ in range(rng.randint(1, 3)):
        operator = rng.choice(tuple(affine.OPERATORS))
        other: affine.AffineExpr = affine.AffineConstant(rng.choice((1, 2, 3, 4, 5, 7, 8, 16)))
        if operator in ("+", "-") and count > 1 and rng.random() < 0.6:
            other = dimensions[1]
        expr = affine.OPERATORS[operator](expr, other)
    operands = []
    for _ in dimensions:
        below = grower.number(ty.INDEX, rng.choice((4, 10, 16, 100, 1000)))
        operands.append(grower.result("arith.remui", [grower.index(), below], ty.INDEX))
    grower.append("affine.apply", operands, [ty.INDEX], {"map": at.AffineMapAttr(count, 0, (expr,))})


def _poison(grower: Grower) -> None:
    (type_,) = grower.some_types(1, 1) or (ty.I1,)
    grower.append("ub.poison", [], [type_], {"value": POISON_ATTR.attribute(0)})
