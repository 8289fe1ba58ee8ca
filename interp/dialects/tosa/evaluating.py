"""How ops of tosa run: kernels on arrays that are broadcast to one shape, and kernels as parts of other ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.elements import Function, Operands, made, rearranged
from halfulp.interp.dialects.tosa.rules import constant, is_zero
from halfulp.interp.dialects.tosa.types import has_width, is_quantized
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Elementwise, OnValues, PerOp
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile

# --- elements ---------------------------------------------------------------------------------------------------------


class Element(NamedTuple):
    """What a kernel depends on: an element type, and the profile."""

    type: ty.Type
    profile: Profile

    @property
    def width(self) -> int:
        """The bits of an integer."""
        return ty.width_of(self.type)

    @property
    def format(self) -> Any:
        """The format of a float."""
        return ty.float_format(self.type)

    @property
    def reading(self) -> Reading:
        """How codes are numbers: i1 and unsigned integers are not negative."""
        assert isinstance(self.type, ty.IntegerType)
        return Reading(self.type.width, self.type.signedness != "unsigned" and self.type != ty.I1)

    @property
    def kind(self) -> str:
        """The letter of a class of elements: b for i1, i and u for signed and unsigned integers, f for floats."""
        if self.type == ty.I1:
            return "b"
        if isinstance(self.type, ty.IntegerType):
            return "u" if self.type.signedness == "unsigned" else "i"
        return "f" if isinstance(self.type, ty.FloatType) else ""


Make = Callable[[Element], Kernel]
Makes = dict[str, Make]
"""For each class of elements, what makes the kernel."""


def chosen(op: Operation, makes: Makes, settings: Settings) -> Kernel:
    """Return the kernel of an op for the elements of its first operand. Raises Unsupported."""
    element = Element(ty.element_type(op.operands[0].type), settings.profile)
    make = makes.get(element.kind)
    if make is None:
        raise unsupported(op, element.type)
    return make(element)


def unsupported(op: Operation, element: ty.Type) -> Unsupported:
    """Return the error of an op that is not evaluated on some elements."""
    why = ": convert quantised tensors to tensors of integers first" if is_quantized(element) else ""
    return Unsupported(
        f"halfulp does not evaluate '{op.name}' on elements of type '{element}'{why}", location=op.location, op=op.name
    )


# --- broadcasting -----------------------------------------------------------------------------------------------------


def of_any_shape(type_: ty.Type, rank: int) -> ty.Type:
    """Return the type of a tensor of a rank whose sizes are not known."""
    return ty.TensorType((None,) * rank, ty.element_type(type_))


def part(
    op: Operation, kernel: Kernel, operands: Sequence[ty.Type], result: ty.Type, settings: Settings
) -> PointwiseStep:
    """Return a step that computes a kernel as a part of an op. Poison and errors name the op."""
    evaluator = Elementwise(lambda inner, settings: kernel)
    inner = Operation(op.name, op.definition, [SSAValue(type_) for type_ in operands], [result])
    inner.source, inner.token = op.source, op.token
    return PointwiseStep(inner, evaluator, kernel, settings, op)


def check_rank(op: Operation, name: str, value: Value, rank: int) -> None:
    """Raise UndefinedBehavior if the value of an operand without a rank has another one than the op takes."""
    if len(value.shape) != rank:
        raise undefined(op, f"the {name} has rank {len(value.shape)}, not {rank}")


def spread_to(value: Value, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return a value repeated along its dimensions of size 1; one of a single element takes any rank."""
    given = value.shape if len(value.shape) == len(shape) else (1,) * (len(shape) - len(value.shape)) + value.shape
    if len(given) > len(shape):
        given = (1,) * len(shape)

    def move(array: Any, trailing: tuple[int, ...]) -> Any:
        return np.broadcast_to(array.reshape(given + trailing), shape + trailing)

    return rearranged(value, type_, move)


def common_shape(op: Operation, values: Sequence[Value]) -> tuple[int, ...]:
    """Return the shape to which the shapes of values are broadcast. Raises UndefinedBehavior."""
    shapes = [value.shape for value in values]
    rank = max(map(len, shapes))
    made = []
    for column in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        sizes = set(column) - {1}
        if len(sizes) > 1:
            text = " and ".join(f"'{spell_shape(shape)}'" for shape in shapes)
            raise undefined(op, f"the shapes {text} cannot be broadcast to one shape")
        made.append(sizes.pop() if sizes else 1)
    return tuple(made)


def checked(op: Operation, shape: tuple[int, ...], settings: Settings, number: int = 0) -> ty.Type:
    """Return the type of a result whose shape is now known, with this shape. Raises UndefinedBehavior and LimitExceeded
    as `made`.
    """
    type_ = made(op, shape, settings, number)
    return ty.TensorType(shape, ty.element_type(type_)) if ty.is_dynamic(type_) else type_


Build = Callable[[Operation, Settings], Kernel]


def elementwise(build: Build, alone: int = 0, zeros: Sequence[int] = ()) -> PerOp:
    """Return the evaluator of an elementwise op whose operands are broadcast to one shape. ``alone``: the number of
    operands at the end that have one element for all. ``zeros``: the numbers of the zero points.
    """

    def broadcasting(op: Operation, settings: Settings) -> Function:
        kernel = build(op, settings)
        steps: dict[int, PointwiseStep] = {}

        def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
            shape = common_shape(op, operands[: len(operands) - alone])
            made = checked(op, shape, settings)
            types = [of_any_shape(value.type, len(shape)) for value in op.operands]
            step = steps.get(len(shape))
            if step is None:
                step = steps[len(shape)] = part(op, kernel, types, of_any_shape(made, len(shape)), settings)
            given = [spread_to(value, shape, type_) for value, type_ in zip(operands, types, strict=True)]
            (result,) = step.run(run, tuple(given))
            return (retyped(result, made),)

        return run_op

    plain, spreading = Elementwise(build), with_zero_points(OnValues(broadcasting), *zeros)

    def choose(op: Operation) -> Elementwise | OnValues:
        shapes = {ty.shape_of(value.type) for value in (*op.operands, *op.results)}
        (first, *_) = shapes
        if any(_must_be_zero(op.operands[number]) for number in zeros):
            return spreading
        return plain if len(shapes) == 1 and first is not None and None not in first else spreading

    return PerOp(choose)


def by_table(makes: Makes, alone: int = 0) -> PerOp:
    """Return the evaluator of an elementwise op whose kernels a table has."""
    return elementwise(lambda op, settings: chosen(op, makes, settings), alone)


def with_zero_points(evaluate: OnValues, *numbers: int) -> OnValues:
    """Return an evaluator for which a zero point that is computed must be 0, unless it is of 8 bits. The verifier says
    so of constants. ``numbers``: those of the operands.
    """

    def build(op: Operation, given: Any) -> Function:
        function = evaluate.build(op, given)
        computed = [number for number in numbers if _must_be_zero(op.operands[number])]

        def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
            for number in computed:
                _check_zero(op, number, operands[number])
            return function(run, operands)

        return run_op if computed else function

    return replace(evaluate, build=build)


def _must_be_zero(zero: SSAValue) -> bool:
    return constant(zero) is None and not has_width(ty.element_type(zero.type), 8)


def _check_zero(op: Operation, number: int, zero: Value) -> None:
    code, type_ = int(zero.bits.reshape(-1)[0]), zero.element_type
    if zero.poison is None and (is_zero(type_.format, code) if isinstance(type_, ty.FloatType) else not code):
        return
    assert op.definition is not None
    name = op.definition.operands[number].name
    raise undefined(op, f"only i8_t has zero points that are not 0, but {name} is {spell_value(zero)}")
