"""The ops of tosa on shapes. At run time a shape is a tensor of index values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.tosa.attributes import AXIS, INDEX_ELEMENTS, flag
from halfulp.interp.dialects.tosa.forms import PLAIN
from halfulp.interp.dialects.tosa.rules import constant, declare, numbers, resolvable, truth
from halfulp.interp.dialects.tosa.types import AT_LEAST_1D, SCALAR_I32, SHAPE, ShapeType, shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.run.evaluators import Compiler, Constant, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_RESULT = {"output": SHAPE}

# --- values -----------------------------------------------------------------------------------------------------------


def shape_value(sizes: Sequence[int]) -> Value:
    """Return the value of a shape."""
    codes = np.array(sizes, np.int64).view(np.uint64)
    return Value(ty.TensorType((len(sizes),), ty.INDEX), codes)


def sizes_of(op: Operation, value: Value) -> tuple[int, ...]:
    """Return the sizes of a shape. Raises UndefinedBehavior for poison."""
    if value.poison is not None:
        raise undefined(op, "a size of a shape is poison")
    return tuple(value.bits.view(np.int64).tolist())


def _holds(op: Operation, condition: str, values: Iterable[bool]) -> None:
    if not all(values):
        raise undefined(op, f"REQUIRE({condition}) does not hold")


def _each(
    compute: Callable[..., int], condition: str = "", holds: Callable[..., bool] = lambda *sizes: True
) -> OnValues:
    """Return the evaluator of an op on each size of its shapes. ``holds``: the condition that the sizes satisfy."""

    def build(op: Operation, settings: Settings) -> Function:
        def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
            columns = list(zip(*[sizes_of(op, value) for value in operands], strict=True))
            _holds(op, condition, (holds(*column) for column in columns))
            return (shape_value([compute(*column) for column in columns]),)

        return run_op

    return OnValues(build)


_MAX_LOG2_SIZE = 63
_DIVIDES = "input1[index] >= 0 && input2[index] >= 1"


def _divides(one: int, other: int) -> bool:
    return one >= 0 and other >= 1


_BINARY = {
    "add": _each(operator.add),
    "div_ceil": _each(lambda one, other: -(-one // other), _DIVIDES, _divides),
    "div_floor": _each(operator.floordiv, _DIVIDES, _divides),
    "max": _each(max),
    "min": _each(min),
    "mod": _each(operator.mod, _DIVIDES, _divides),
    "mul": _each(operator.mul),
    "sub": _each(operator.sub),
}
_UNARY = {
    "exp2": _each(
        lambda size: 1 << size,
        "0 <= input[index] && input[index] < MAX_LOG2_SIZE",
        lambda size: 0 <= size < _MAX_LOG2_SIZE,
    ),
    "log2_ceil": _each(lambda size: (size - 1).bit_length(), "input[index] >= 1", lambda size: size >= 1),
    "log2_floor": _each(lambda size: size.bit_length() - 1, "input[index] >= 1", lambda size: size >= 1),
}

# --- declarations -----------------------------------------------------------------------------------------------------


def rank_of(value: SSAValue) -> int:
    """Return the number of sizes of a shape."""
    assert isinstance(value.type, ShapeType)
    return value.type.rank


def _same_ranks(op: Operation) -> str | None:
    ranks = {rank_of(value) for value in op.operands}
    if len(ranks) > 1:
        return "operands don't have matching ranks"
    same = all(rank_of(result) in ranks for result in op.results)
    return None if same else "result shape has different rank than operands"


for _name, _evaluator in _BINARY.items():
    declare(
        f"{_name}_shape",
        PLAIN,
        _same_ranks,
        resolvable,
        operands={"input1": SHAPE, "input2": SHAPE},
        results=_RESULT,
        evaluate=_evaluator,
    )
for _name, _evaluator in _UNARY.items():
    declare(
        f"{_name}_shape",
        PLAIN,
        _same_ranks,
        resolvable,
        operands={"input": SHAPE},
        results=_RESULT,
        evaluate=_evaluator,
    )


def _assert_equal(op: Operation, settings: Settings) -> Function:
    ones = truth(op, "allow_broadcast")

    def check(run: Run, operands: Operands) -> tuple[Any, ...]:
        one, other = (sizes_of(op, value) for value in operands)
        same = all(a == b or (ones and 1 in (a, b)) for a, b in zip(one, other, strict=True))
        if not same:
            raise undefined(op, f"the shapes {list(one)} and {list(other)} differ")
        return ()

    return check


declare(
    "assert_equal_shape",
    PLAIN,
    _same_ranks,
    resolvable,
    operands={"input1": SHAPE, "input2": SHAPE},
    properties=(flag("allow_broadcast"),),
    evaluate=OnValues(_assert_equal),
    since=d.Schema.LLVM24,
)


def _const(op: Operation) -> str | None:
    values = op.prop("values", at.DenseElementsAttr)
    if len(ty.shape_of(values.type) or ()) != 1:
        return "expect elements in attribute values with rank 1"
    count, rank = ty.element_count(values.type), rank_of(op.results[0])
    if count != rank and (count != 1 or rank):
        return (
            f"expect number of elements in attribute values ({count}) to be equal to the rank ({rank}) for the result "
            "shape type"
        )
    return None


def _constant(op: Operation, compiler: Compiler) -> Value:
    values = numbers(op.prop("values", at.DenseElementsAttr))
    return shape_value(values[: rank_of(op.results[0])])


declare(
    "const_shape",
    PLAIN,
    _const,
    results=_RESULT,
    properties=(d.Property("values", INDEX_ELEMENTS),),
    traits=(d.Trait.CONSTANT_LIKE,),
    evaluate=Constant(_constant),
)


def _dim(op: Operation) -> str | None:
    if rank_of(op.results[0]) != 1:
        return f"expect output shape type to contain one element, got '{op.results[0].type}'"
    sizes, axis = shape(op.operands[0]), op.number("axis")
    if sizes is not None and not 0 <= axis < len(sizes):
        return f"expect axis to be in the range [0, {len(sizes)}), got {axis}"
    return None


def _size(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")
    return lambda run, operands: (shape_value([operands[0].shape[axis]]),)


declare(
    "dim",
    PLAIN,
    resolvable,
    _dim,
    operands={"input1": AT_LEAST_1D},
    results=_RESULT,
    properties=(AXIS,),
    evaluate=OnValues(_size),
)


def _concat(op: Operation) -> str | None:
    total, rank = sum(map(rank_of, op.operands)), rank_of(op.results[0])
    if rank == total:
        return None
    return f"requires output shape rank to be equal to the sum of the input shape ranks ({total}), got {rank}"


def _joined(op: Operation, settings: Settings) -> Function:
    return lambda run, operands: (shape_value([size for value in operands for size in sizes_of(op, value)]),)


declare(
    "concat_shape",
    PLAIN,
    resolvable,
    _concat,
    operands=(d.variadic("input", SHAPE),),
    results=_RESULT,
    evaluate=OnValues(_joined),
)


def _slice(op: Operation) -> str | None:
    value, *given = op.operands
    known = [None if (elements := constant(each)) is None else numbers(elements)[0] for each in given]
    start, size = known
    if start is not None and start < 0:
        return f"expected non-negative start index, got {start}"
    if size is None:
        return None
    if size <= 0:
        return f"expected positive size, got {size}"
    if rank_of(op.results[0]) != size:
        return f"expected output type size to be equal to size attribute, got {rank_of(op.results[0])} vs {size}"
    if start is not None and start + size > rank_of(value):
        return (
            f"expected start + size to be less than or equal to input shape rank ({rank_of(value)}), got {start + size}"
        )
    return None


def _taken(op: Operation, settings: Settings) -> Function:
    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, *given = operands
        start, count = (int(each.bits.view(np.int32).reshape(-1)[0]) for each in given)
        sizes = sizes_of(op, value)
        if not (start >= 0 and count > 0 and start + count <= len(sizes)):
            raise undefined(op, f"a part of {count} sizes from number {start} on is not inside of {list(sizes)}")
        return (shape_value(sizes[start : start + count]),)

    return take


declare(
    "slice_shape",
    PLAIN,
    resolvable,
    _slice,
    operands={"input": SHAPE, "start": SCALAR_I32, "size": SCALAR_I32},
    results=_RESULT,
    evaluate=OnValues(_taken),
)
