"""The declarations of linalg.map, reduce, transpose and broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, AttributeConstraint, Property, RegionSlot, Slot
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.linalg.evaluate import STRUCTURED
from halfulp.interp.dialects.linalg.moving_forms import Shape, argument_names, moving_form
from halfulp.interp.dialects.linalg.structure import INITS, PARALLEL, REDUCTION, STRUCTURES, Reader, inputs_and_inits
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue


def _numbers(op: Operation, name: str) -> tuple[int, ...]:
    written = op.properties[name]
    assert isinstance(written, at.DenseArrayAttr)
    return written.values


def _rank(op: Operation, which: int) -> int:
    return len(ty.shape_of(op.operands[which].type) or ())


def _map(rank: int, axes: Sequence[int]) -> at.AffineMapAttr:
    return at.AffineMapAttr(rank, 0, tuple(map(Dimension, axes)))


def _all(rank: int) -> at.AffineMapAttr:
    return _map(rank, range(rank))


def _kept(op: Operation, rank: int) -> list[int]:
    return [axis for axis in range(rank) if axis not in _numbers(op, "dimensions")]


# --- maps -------------------------------------------------------------------------------------------------------------


def _map_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    return (_all(_rank(op, -1)),) * len(op.operands)


def _transpose_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    permutation = _numbers(op, "permutation")
    rank = len(permutation)
    return _map(rank, [permutation.index(axis) for axis in range(rank)]), _all(rank)


def _broadcast_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op, 1)
    return _map(rank, _kept(op, rank)), _all(rank)


def _reduce_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank, half = _rank(op, 0), len(op.operands) // 2
    return (_all(rank),) * half + (_map(rank, _kept(op, rank)),) * half


def _reduce_iterators(op: Operation) -> tuple[int, ...]:
    reduced = _numbers(op, "dimensions")
    return tuple(REDUCTION if axis in reduced else PARALLEL for axis in range(_rank(op, 0)))


def _parallel(op: Operation) -> tuple[int, ...]:
    return (PARALLEL,) * _rank(op, -1)


# --- rules ------------------------------------------------------------------------------------------------------------


def _verify_transpose(op: Operation) -> str | None:
    permutation = _numbers(op, "permutation")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if sorted(permutation) != list(range(len(permutation))):
        return "permutation is not valid"
    if len(one) != len(two):
        return f"input rank {len(one)} does not match init rank {len(two)}"
    if len(permutation) != len(one):
        return f"size of permutation {len(permutation)} does not match the argument rank {len(one)}"
    for axis, source in enumerate(permutation):
        if one[source] != two[axis]:
            first, second = (_size(size) for size in (two[axis], one[source]))
            return f"dim(result, {axis}) = {first} doesn't match dim(input, permutation[{axis}]) = {second}"
    return None


def _verify_broadcast(op: Operation) -> str | None:
    added = _numbers(op, "dimensions")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if len(one) + len(added) != len(two):
        ranks = f"input rank: {len(one)}, dimensions size: {len(added)}, init rank: {len(two)}"
        return f"input rank plus added dimensions does not match init rank. {ranks}"
    for number, axis in enumerate(added):
        if not 0 <= axis < len(two):
            return f"dimension {number} is out of range. expected range: [0, {len(two) - 1}], got: {axis}"
    kept = [axis for axis in range(len(two)) if axis not in added]
    for axis, target in enumerate(kept):
        if one[axis] != two[target]:
            first, second = _size(one[axis]), _size(two[target])
            return f"input dim {axis} should match init dim {target}. input: {first}, init: {second}"
    return None


def _size(size: int | None) -> int:
    """Return a size as MLIR prints it."""
    return -(1 << 63) if size is None else size


def _one_block(op: Operation, region: str) -> str | None:
    one = len(op.regions) == 1 and len(op.regions[0].blocks) == 1
    return None if one else f"region #0 ('{region}') failed to verify constraint: region with 1 blocks"


def _verify_map(op: Operation) -> str | None:
    problem = _one_block(op, "mapper")
    if problem:
        return problem
    arguments = _arguments(op)
    if len(op.operands) != len(arguments):
        return (
            f"expects number of operands to match the arity of mapper, but got: {len(op.operands)} and {len(arguments)}"
        )
    inputs, (init,) = inputs_and_inits(op)
    for value, argument in zip(inputs, arguments, strict=False):
        element = ty.element_type(value.type)
        if element != argument:
            return f"expected element type of input '{element}' to match bbArg type '{argument}'"
    wanted = ty.shape_of(init.type) or ()
    for value in inputs:
        shape = ty.shape_of(value.type) or ()
        if shape != wanted:
            return f"expected shape of input ({_sizes(shape)}) to match shape of output ({_sizes(wanted)})"
    return None


def _arguments(op: Operation) -> list[ty.Type]:
    """Return the types of the arguments of the body."""
    return [argument.type for argument in op.regions[0].blocks[0].arguments]


def _sizes(shape: ty.Shape) -> str:
    return ", ".join(str(_size(size)) for size in shape)


def _verify_reduce(op: Operation) -> str | None:
    problem = _one_block(op, "combiner")
    if problem:
        return problem
    inputs, inits = inputs_and_inits(op)
    if not inputs:
        return "expected 1 or more operands, but found 0"
    for word, values in (("input", inputs), ("output", inits)):
        shapes = [ty.shape_of(value.type) or () for value in values]
        for number, shape in enumerate(shapes):
            if shape != shapes[0]:
                return (
                    f"expects all {word}s to have the same shapes. Shape at {word}-index {number} is not equal to the "
                    f"shape at {word}-index 0."
                )
    return _reduced_shape(op, inputs[0].type, inits[0].type) or _reduced_body(op, inputs, inits)


def _reduced_shape(op: Operation, source: ty.Type, init: ty.Type) -> str | None:
    reduced = _numbers(op, "dimensions")
    whole, found = ty.shape_of(source) or (), ty.shape_of(init) or ()
    if any(not 0 <= axis < len(whole) for axis in reduced):
        return f"dimensions for reduction should be in the range [0, {len(whole) - 1}]."
    kept = tuple(whole[axis] for axis in _kept(op, len(whole)))
    if len(kept) != len(found):
        return f"number of dimensions after reduction {len(kept)} doesn't match the init rank {len(found)}"
    if kept != found:
        return f"init dimensions [{_sizes(found)}] doesn't match input dimensions after reduction [{_sizes(kept)}]"
    return None


def _reduced_body(op: Operation, inputs: Sequence[SSAValue], inits: Sequence[SSAValue]) -> str | None:
    arguments = _arguments(op)
    if len(arguments) != len(op.operands):
        return "mismatching number of operands and block arguments"
    words = ["input"] * len(inputs) + ["output"] * len(inits)
    for word, value, argument in zip(words, op.operands, arguments, strict=True):
        element = ty.element_type(value.type)
        if element != argument:
            return f"{word} element type '{element}' does not match corresponding block argument type '{argument}'"
    return None


# --- declarations -----------------------------------------------------------------------------------------------------


def _is_increasing(attribute: Attribute) -> bool:
    if not c.INTEGER_64_ARRAY_ATTR.accepts(attribute):
        return False
    assert isinstance(attribute, at.DenseArrayAttr)
    return all(a < b for a, b in pairwise(attribute.values))


_INCREASING = AttributeConstraint("i64 dense array attribute should be in increasing order", _is_increasing)


def _declare(
    mnemonic: str,
    reader: Reader,
    shape: Shape,
    inputs: Slot,
    inits: Slot,
    name: str,
    verify: Callable[[Operation], str | None],
    numbers: AttributeConstraint = c.INTEGER_64_ARRAY_ATTR,
) -> None:
    STRUCTURES[f"linalg.{mnemonic}"] = reader
    linalg.op(
        mnemonic,
        custom=moving_form(shape),
        operands=(inputs, inits),
        results=(Slot("result", c.ANY, Arity.VARIADIC),),
        properties=(Property(shape.numbers, numbers),) if shape.numbers else (),
        regions=(RegionSlot("region"),),
        named_arguments=argument_names,
        named_results=lambda op: (name, *(None,) * (len(op.results) - 1)),
        verify=verify,
        verify_regions=rules.verify_structured,
        evaluate=STRUCTURED,
    )


def declare_moving_ops() -> None:
    """Declare these ops."""
    one, init = Slot("input", c.SHAPED), Slot("init", c.SHAPED)
    several = Slot("inputs", c.SHAPED, Arity.VARIADIC)
    INITS["linalg.reduce"] = lambda op: len(op.operands) // 2
    _declare("map", (_map_maps, _parallel), Shape(body=True), several, init, "mapped", _verify_map)
    _declare(
        "reduce",
        (_reduce_maps, _reduce_iterators),
        Shape("dimensions", body=True, init_first=True),
        several,
        Slot("inits", c.SHAPED, Arity.VARIADIC),
        "reduced",
        _verify_reduce,
        _INCREASING,
    )
    _declare(
        "transpose", (_transpose_maps, _parallel), Shape("permutation"), one, init, "transposed", _verify_transpose
    )
    _declare(
        "broadcast", (_broadcast_maps, _parallel), Shape("dimensions"), one, init, "broadcasted", _verify_broadcast
    )
