"""The rules for the regions of StableHLO's ops: what their blocks take, and what they return.

The words are those of StableHLO's own verifier (`dialect/TypeInference.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.stablehlo.types import (
    all_fit,
    least_specific,
    listed,
    merged,
    not_inferred,
    operand_types,
    shapes_fit,
    sizes_fit,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation


def body_of(op: Operation, region: int = 0) -> Block:
    """Return the only block of a region."""
    return op.regions[region].blocks[0]


def returned(block: Block) -> list[ty.Type]:
    """Return the types of the values that a body returns."""
    return [value.type for value in block.operations[-1].operands] if block.operations else []


def arguments_of(block: Block) -> list[ty.Type]:
    """Return the types of the arguments of a body."""
    return [argument.type for argument in block.arguments]


def _ends(block: Block) -> bool:
    """Tell whether a body may have a terminator."""
    last = block.operations[-1] if block.operations else None
    return last is not None and (last.definition is None or d.Trait.TERMINATOR in last.definition.traits)


def _same(one: ty.Type, other: ty.Type, floats: bool = False) -> bool:
    """Tell whether two tensors have shapes that go together, and the same elements. ``floats``: all floats do."""
    shaped = isinstance(one, ty.ShapedType), isinstance(other, ty.ShapedType)
    if not all(shaped):
        return one == other
    elements = ty.element_type(one), ty.element_type(other)
    if floats and all(isinstance(element, ty.FloatType) for element in elements):
        return shapes_fit(one, other)
    return shapes_fit(one, other) and elements[0] == elements[1]


def _width(element: ty.Type) -> int:
    return 2 * _width(element.element) if isinstance(element, ty.ComplexType) else ty.width_of(element)


def _promotable(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether elements may become those of another type without a loss. The width of floats does not count."""
    for family in (ty.IntegerType, ty.FloatType, ty.ComplexType, ty.UniformQuantizedType):
        if isinstance(one, family) and isinstance(other, family):
            if isinstance(one, ty.UniformQuantizedType) and isinstance(other, ty.UniformQuantizedType):
                return one.expressed == other.expressed and _width(one) <= _width(other)
            return family is ty.FloatType or _width(one) <= _width(other)
    return False


def _fits_in(sizes: Sequence[int | None], allowed: Sequence[int | None]) -> bool:
    """Tell whether sizes are some of the allowed ones, in their order."""
    rest = iter(allowed)
    return all(any(sizes_fit(other, size) for other in rest) for size in sizes)


def verify_reducer(
    block: Block, inputs: Sequence[ty.Type], inits: Sequence[ty.Type], allowed: Sequence[int | None] = ()
) -> Unprefixed | None:
    """Return what is wrong with a body that combines elements, or None.

    ``inputs``: the types of the arrays whose elements it gets. ``inits``: the types of the initial values. ``allowed``:
    the sizes that dimensions of an argument may have.
    """
    count, results, arguments = len(inputs), returned(block), arguments_of(block)
    if len(arguments) != 2 * count:
        return Unprefixed(f"Reduction-region must take {2 * count} parameters, but takes {len(arguments)} parameter(s)")
    if not _ends(block):
        return Unprefixed("The reduction-region expected to have a terminator")
    if not results:
        return Unprefixed("The reduction-region expected to return some value(s)")
    if len(results) != count:
        return Unprefixed(f"Reduction-region here must produce {count} tensors, but produces {len(results)} instead")
    for made in results:
        if not isinstance(made, ty.ShapedType):
            return Unprefixed(
                f"Reduction-region here must produce tensor-typed result(s), but produces '{made}' instead"
            )
    for number, (made, given, start) in enumerate(zip(results, inputs, inits, strict=True)):
        for place in (number, count + number):
            if not _same(made, arguments[place], floats=place != number):
                return Unprefixed(
                    f"The type of reduction-region's parameter at index {place} is different than the corresponding "
                    f"result type: '{arguments[place]}' vs '{made}'"
                )
        if not shapes_fit(start, made):
            return Unprefixed(
                f"The shape of reduction-region's result type at index {number} differs from the op's corresponding "
                f"init-value type: '{made}' vs '{start}'"
            )
        if not _promotable(ty.element_type(start), ty.element_type(made)):
            return Unprefixed(
                f"The element-type of reduction-region's result type at index {number} is expected to be promotable "
                f"from the op's corresponding init-value element-type: '{made}' vs '{start}'"
            )
        argument = arguments[count + number]
        if not _promotable(ty.element_type(given), ty.element_type(argument)):
            return Unprefixed(
                f"The element-type of reduction-region's argument at index {count + number} is expected to be "
                f"promotable from '{ty.element_type(given)}', but got '{ty.element_type(argument)}'"
            )
        sizes = ty.shape_of(argument) or ()
        if len(sizes) > len(allowed):
            return Unprefixed(
                f"The rank of reduction-region's argument at index {count + number} is expected to be <= "
                f"{len(allowed)}, got {len(sizes)}"
            )
        if not _fits_in(sizes, allowed):
            return Unprefixed(
                f"The shape of reduction-region's argument at index {count + number} is not compatible with that of "
                f"reduce-op's input-parameter at index {number}"
            )
    return None


def results_of_reducer(block: Block, inputs: Sequence[ty.Type]) -> list[ty.Type]:
    """Return the element types that a body returns; for a body without a terminator, those of the inputs."""
    return [ty.element_type(type_) for type_ in (returned(block) or inputs)]


def verify_computation(block: Block, operands: Sequence[ty.Type]) -> str | None:
    """Return what is wrong with the body of map, or None."""
    results, arguments = returned(block), arguments_of(block)
    if len(arguments) != len(operands):
        return Unprefixed(
            f"expects number of operands to match the arity of map computation, but got: {len(operands)} and "
            f"{len(arguments)}"
        )
    for number, (operand, argument) in enumerate(zip(operands, arguments, strict=True)):
        if ty.shape_of(argument) != () or not isinstance(argument, ty.TensorType):
            return Unprefixed(
                f"computation arguments must be 0-rank tensor, but got: arg #{number} of type '{argument}'"
            )
        one, other = ty.element_type(operand), ty.element_type(argument)
        if one != other:
            return Unprefixed(
                f"element type of operands and computation arguments must match, but got: '{one}' and '{other}'"
            )
    if len(results) != 1:
        return Unprefixed(f"computation must return single output, but got: {len(results)}")
    if ty.shape_of(results[0]) != () or not isinstance(results[0], ty.TensorType):
        return Unprefixed(f"computation must return 0-rank tensor, but got: '{results[0]}'")
    return None


def is_condition(type_: ty.Type) -> bool:
    """Tell whether a type is a tensor of one i1 without dimensions."""
    return type_ == ty.TensorType((), ty.I1)


def verify_comparator(block: Block, operands: Sequence[ty.Type]) -> Unprefixed | None:
    """Return what is wrong with the body of sort, or None."""
    results, arguments = returned(block), arguments_of(block)
    if len(arguments) != 2 * len(operands):
        return Unprefixed(f"comparator block should have {2 * len(operands)} arguments")
    for number, argument in enumerate(arguments):
        expected = ty.TensorType((), ty.element_type(operands[number // 2]))
        if argument != expected:
            return Unprefixed(
                f"comparator block argument #{number} should be of type '{expected}' but got '{argument}'"
            )
    if len(results) != 1:
        return Unprefixed(f"comparator must return single output but got {len(results)}")
    if not is_condition(results[0]):
        return Unprefixed(f"comparator must return tensor<i1> but got '{results[0]}'")
    return None


def verify_selector(block: Block, operand: ty.Type) -> Unprefixed | None:
    """Return what is wrong with the first body of select_and_scatter, or None."""
    results, arguments = returned(block), arguments_of(block)
    expected = ty.TensorType((), ty.element_type(operand))
    if len(arguments) != 2:
        return Unprefixed(f"expects the select-region to take 2 parameters, but takes {len(arguments)}")
    for number, argument in enumerate(arguments):
        if not _same(expected, argument, floats=True):
            return Unprefixed(
                f"expects the type of select-region's parameter at index {number} to be '{expected}', but got "
                f"'{argument}'"
            )
    if len(results) != 1:
        return Unprefixed(f"expects select-region to return single value, but got: {len(results)}")
    if not is_condition(results[0]):
        return Unprefixed(f"expects the return-type of select-region to be tensor<i1>, but got: '{results[0]}'")
    return None


def verify_while(op: Operation) -> str | None:
    """Return what is wrong with the regions of while, or None."""
    operands = operand_types(op)
    condition, body = (body_of(op, number) for number in (0, 1))
    for block, name in ((condition, "condition"), (body, "body")):
        arguments = arguments_of(block)
        if not all_fit(operands, arguments):
            return Unprefixed(
                f"expect operands to be compatible with {name} block arguments but got {listed(operands)} vs "
                f"{listed(arguments)}"
            )
    if not _ends(body):
        return Unprefixed("The while body-region expected to have a terminator")
    if not all_fit(operands, returned(body)):
        return Unprefixed(
            f"expect operands to be compatible with body block return types but got {listed(operands)} vs "
            f"{listed(returned(body))}"
        )
    decisions = returned(condition)
    if len(decisions) != 1:
        return Unprefixed(f"expect condition body returns a single value but got {len(decisions)}")
    if not is_condition(decisions[0]):
        return Unprefixed(f"expect condition block return a zero-ranked tensor of i1 but got '{decisions[0]}'")
    return None


def verify_branches(op: Operation) -> str | None:
    """Return what is wrong with the regions and the results of if and case, or None."""
    rank = len(ty.shape_of(op.operands[0].type) or ())
    if rank:
        return Unprefixed(f"operand should be rank 0 tensor but got rank {rank}")
    if not op.regions:
        return Unprefixed("expect at least one branch")
    branches = [returned(body_of(op, number)) for number in range(len(op.regions))]
    for number, types in enumerate(branches):
        arguments = body_of(op, number).arguments
        if arguments:
            return Unprefixed(f"branch {number} must have 0 arguments, but found {len(arguments)}")
        if not all_fit(branches[0], types):
            return Unprefixed(
                f"branch 0 and branch {number} have mismatched return types: {listed(branches[0])} vs {listed(types)}"
            )
    expected = []
    for column in zip(*branches, strict=True):
        made = merged(column, least_specific)
        if isinstance(made, Unprefixed):
            return made
        expected.append(made)
    return not_inferred(op, *expected)
