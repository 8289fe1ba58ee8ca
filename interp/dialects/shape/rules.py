"""Rules of the ops of the shape dialect, in the words of MLIR."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.edges import flow
from halfulp.interp.dialects.shape.types import EXTENTS, SHAPE, SIZE, VALUE_SHAPE, is_shape, is_size, may_be_error
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation

Rule = Callable[[Operation], str | None]


def _differ(inferred: ty.Type, given: ty.Type) -> str:
    return f"inferred type(s) '{inferred}' are incompatible with return type(s) of operation '{given}'"


def passes_errors_on(word: str) -> Rule:
    """Return the rule that the result is of the type ``word`` where an operand may be an error."""
    wanted = SIZE if word == "size" else SHAPE

    def verify(op: Operation) -> str | None:
        if any(may_be_error(value.type) for value in op.operands) and op.results[0].type != wanted:
            return (
                "if at least one of the operands can hold error values then the result must be of type "
                f"`{word}` to propagate them"
            )
        return None

    return verify


def _compatible(inferred: ty.Type, given: ty.Type) -> bool:
    """Tell whether a list of sizes of one length may have the other type."""
    if inferred == given or given == SHAPE:
        return True
    one, other = ty.shape_of(inferred) or (), ty.shape_of(given) or ()
    return is_shape(inferred) and is_shape(given) and (one == other or None in one or None in other)


def verify_shape_of(op: Operation) -> str | None:
    """Check the type of the result of shape.shape_of."""
    source, given = op.operands[0].type, op.results[0].type
    problem = passes_errors_on("shape")(op)
    if problem or source == VALUE_SHAPE:
        return problem
    shape = ty.shape_of(source)
    inferred = EXTENTS if shape is None else ty.TensorType((len(shape),), ty.INDEX)
    return None if _compatible(inferred, given) else _differ(inferred, given)


def verify_constant(op: Operation) -> str | None:
    """Check the type of the result of shape.const_shape."""
    shape, given = op.properties["shape"], op.results[0].type
    assert isinstance(shape, at.DenseElementsAttr)
    inferred = ty.TensorType((ty.element_count(shape.type),), ty.INDEX)
    return None if given in (SHAPE, inferred) else _differ(inferred, given)


def verify_extreme(op: Operation) -> str | None:
    """Check the type of the result of shape.max and shape.min."""
    inferred, given = op.operands[0].type, op.results[0].type
    return None if inferred == given else _differ(inferred, given)


def verify_meet(op: Operation) -> str | None:
    """Check that shape.meet has shapes only, or sizes only, and that these may be the same."""
    types = [value.type for value in op.operands]
    if not (all(map(is_shape, types)) or all(map(is_size, types))):
        return Unprefixed("requires all sizes or shapes")
    lengths = {(ty.shape_of(type_) or (None,))[0] for type_ in types if type_ not in (SHAPE, SIZE, ty.INDEX)}
    return Unprefixed("unequal shape cardinality") if len(lengths - {None}) > 1 else None


def verify_broadcast(op: Operation) -> str | None:
    """Check the type of the result of shape.broadcast."""
    return passes_errors_on("shape")(op)


def verify_constraint(op: Operation) -> str | None:
    """Check that shape.cstr_broadcastable has two shapes."""
    return None if len(op.operands) >= 2 else "required at least 2 input shapes"


def verify_all(op: Operation) -> str | None:
    """Check that shape.assuming_all has operands."""
    return None if op.operands else "no operands specified"


def inside(*parents: str) -> Rule:
    """Return the rule that an op stands directly in one of these ops."""

    def verify(op: Operation) -> str | None:
        parent = op.parent_op
        if parent is not None and parent.name in parents:
            return None
        one = "" if len(parents) == 1 else "to be one of "
        return f"expects parent op {one}'{', '.join(parents)}'"

    return verify


def verify_yield(op: Operation) -> str | None:
    """Check that shape.yield gives what the op around it returns."""
    problem = inside("shape.reduce", "shape.function_library")(op)
    if problem:
        return problem
    parent = op.parent_op
    assert parent is not None
    results, given = [value.type for value in parent.results], [value.type for value in op.operands]
    if len(results) != len(given):
        return "number of operands does not match number of results of its parent"
    return None if results == given else "types mismatch between yield op and its parent"


def verify_reduce(op: Operation) -> str | None:
    """Check the arguments of the region of shape.reduce."""
    block = op.regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    initial = [value.type for value in op.operands[1:]]
    if len(types) != len(initial) + 2:
        return f"ReduceOp body is expected to have {len(initial) + 2} arguments"
    if types[0] != ty.INDEX:
        return "argument 0 of ReduceOp body is expected to be of IndexType"
    if op.operands[0].type == SHAPE:
        if types[1] != SIZE:
            return "argument 1 of ReduceOp body is expected to be of SizeType if the ReduceOp operates on a ShapeType"
    elif types[1] != ty.INDEX:
        return "argument 1 of ReduceOp body is expected to be of IndexType if the ReduceOp operates on an extent tensor"
    for number, (type_, given) in enumerate(zip(types[2:], initial, strict=True)):
        if type_ != given:
            return f"type mismatch between argument {number + 2} of ReduceOp body and initial value {number}"
    return None


def verify_assuming(op: Operation) -> str | None:
    """Check that the region of shape.assuming yields its results."""
    operations = op.regions[0].blocks[0].operations
    results = [result.type for result in op.results]
    return flow(
        (f"Operation {last.name}", [value.type for value in last.operands], "parent", results)
        for last in operations[-1:]
    )
