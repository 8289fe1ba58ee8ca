"""The rules for the regions of StableHLO's ops: what their blocks take, and what they return.

The words are those of StableHLO's own verifier (`dialect/TypeInference.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.stablehlo.types import Kind, kind_of, shapes_fit, types_fit
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation

ANY_INPUT = "expected 1 or more operands, but found 0"
"""The message for an op without operands that needs one."""
_WHOLE = frozenset((Kind.SIGNED, Kind.UNSIGNED, Kind.BOOLEAN))


def body_of(op: Operation, region: int = 0) -> Block:
    """Return the only block of a region."""
    return op.regions[region].blocks[0]


def returned(block: Block) -> list[ty.Type]:
    """Return the types of the values that a body returns."""
    return [value.type for value in block.operations[-1].operands]


def listed(types: Sequence[ty.Type]) -> str:
    """Spell types in quotes, as messages have them."""
    return ", ".join(f"'{type_}'" for type_ in types)


def all_fit(some: Sequence[ty.Type], others: Sequence[ty.Type]) -> bool:
    """Tell whether there are as many types as others, and each is compatible with the other one."""
    return len(some) == len(others) and all(map(_fits, some, others))


def _fits(one: ty.Type, other: ty.Type) -> bool:
    tensors = isinstance(one, ty.TensorType) and isinstance(other, ty.TensorType)
    return types_fit(one, other) if tensors else one == other


def not_all_inferred(op: Operation, expected: Sequence[ty.Type]) -> str | None:
    """Check the types of all results of an op against those that follow."""
    found = [result.type for result in op.results]
    if all_fit(expected, found):
        return None
    return f"inferred type(s) {listed(expected)} are incompatible with return type(s) of operation {listed(found)}"


def _promotable(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether elements may become those of another type without a loss. The width of floats does not count."""
    kinds = kind_of(one), kind_of(other)
    if kinds[0] in _WHOLE and kinds[1] in _WHOLE:
        return ty.width_of(one) <= ty.width_of(other)
    return one == other or (kinds[0] is kinds[1] and kinds[0] in (Kind.FLOAT, Kind.COMPLEX, Kind.QUANTIZED))


def verify_reducer(
    block: Block, inputs: Sequence[ty.Type], inits: Sequence[ty.Type], rank: int = 0
) -> Unprefixed | None:
    """Check a body that combines elements. ``inputs``, ``inits``: the types of what it gets the elements of, and of
    the values at the start. ``rank``: the most dimensions that an argument may have.
    """
    count, results = len(inputs), returned(block)
    arguments = [argument.type for argument in block.arguments]
    if len(arguments) != 2 * count:
        return Unprefixed(f"Reduction-region must take {2 * count} parameters, but takes {len(arguments)} parameter(s)")
    if not results:
        return Unprefixed("The reduction-region expected to return some value(s)")
    if len(results) != count:
        return Unprefixed(f"Reduction-region here must produce {count} tensors, but produces {len(results)} instead")
    for made in results:
        if not isinstance(made, ty.TensorType):
            return Unprefixed(
                f"Reduction-region here must produce tensor-typed result(s), but produces '{made}' instead"
            )
    for number, (made, given, start) in enumerate(zip(results, inputs, inits, strict=True)):
        for place in (number, count + number):
            if not _fits(arguments[place], made):
                return Unprefixed(
                    f"The type of reduction-region's parameter at index {place} is different than the corresponding "
                    f"result type: '{arguments[place]}' vs '{made}'"
                )
        if ty.shape_of(made) != ty.shape_of(start):
            return Unprefixed(
                f"The shape of reduction-region's result type at index {number} differs from the op's corresponding "
                f"init-value type: '{made}' vs '{start}'"
            )
        if not _promotable(ty.element_type(start), ty.element_type(made)):
            return Unprefixed(
                f"The element-type of reduction-region's result type at index {number} is expected to be promotable "
                f"from the op's corresponding init-value element-type: '{made}' vs '{start}'"
            )
        if not _promotable(ty.element_type(given), ty.element_type(made)):
            return Unprefixed(
                f"The element-type of reduction-region's argument at index {count + number} is expected to be "
                f"promotable from '{ty.element_type(given)}', but got '{ty.element_type(made)}'"
            )
        if len(ty.shape_of(made) or ()) > rank:
            return Unprefixed(
                f"The rank of reduction-region's argument at index {count + number} is expected to be <= {rank}, got "
                f"{len(ty.shape_of(made) or ())}"
            )
    return None


def verify_computation(block: Block, operands: Sequence[ty.Type]) -> str | None:
    """Check the body of map."""
    results, arguments = returned(block), [argument.type for argument in block.arguments]
    if len(arguments) != len(operands):
        return Unprefixed(
            f"expects number of operands to match the arity of map computation, but got: {len(operands)} and "
            f"{len(arguments)}"
        )
    for number, argument in enumerate(arguments):
        if ty.shape_of(argument) != () or not isinstance(argument, ty.TensorType):
            return Unprefixed(
                f"computation arguments must be 0-rank tensor, but got: arg #{number} of type '{argument}'"
            )
    for operand, argument in zip(operands, arguments, strict=True):
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
    """Tell whether a type is that of one truth value."""
    return type_ == ty.TensorType((), ty.I1)


def verify_comparator(block: Block, operands: Sequence[ty.Type]) -> Unprefixed | None:
    """Check the body of sort."""
    results, arguments = returned(block), [argument.type for argument in block.arguments]
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
    """Check the first body of select_and_scatter."""
    results, arguments = returned(block), [argument.type for argument in block.arguments]
    expected = ty.TensorType((), ty.element_type(operand))
    if len(arguments) != 2:
        return Unprefixed(f"expects the select-region to take 2 parameters, but takes {len(arguments)}")
    for number, argument in enumerate(arguments):
        if argument != expected:
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
    """Check the regions and the results of while."""
    operands = [value.type for value in op.operands]
    condition, body = (body_of(op, number) for number in (0, 1))
    for block, name in ((condition, "condition"), (body, "body")):
        arguments = [argument.type for argument in block.arguments]
        if not all_fit(operands, arguments):
            return Unprefixed(
                f"expect operands to be compatible with {name} block arguments but got {listed(operands)} vs "
                f"{listed(arguments)}"
            )
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
    return not_all_inferred(op, operands)


def verify_branches(op: Operation) -> str | None:
    """Check the regions and the results of if and case."""
    rank = len(ty.shape_of(op.operands[0].type) or ())
    if rank:
        return Unprefixed(f"operand should be rank 0 tensor but got rank {rank}")
    if not op.regions:
        return Unprefixed("expect at least one branch")
    first = returned(body_of(op))
    for number in range(len(op.regions)):
        block = body_of(op, number)
        if block.arguments:
            return Unprefixed(f"branch {number} must have 0 arguments, but found {len(block.arguments)}")
        if not all_fit(first, returned(block)):
            return Unprefixed(
                f"branch 0 and branch {number} have mismatched return types: {listed(first)} vs "
                f"{listed(returned(block))}"
            )
    return not_all_inferred(op, first)


def verify_all_shapes(op: Operation) -> str | None:
    """Check that there are operands, and that they and the results have one shape."""
    if not op.operands:
        return ANY_INPUT
    first, *others = [value.type for value in (*op.operands, *op.results)]
    if all(shapes_fit(first, other) for other in others):
        return None
    return "requires the same shape for all operands and results"
