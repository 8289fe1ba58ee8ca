"""The ops of tosa that move elements and compute nothing."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.elements import (
    Function,
    Operands,
    combined,
    data_movement,
    picked,
    rearranged,
    replaced,
    reshaped,
)
from halfulp.interp.dialects.stablehlo.moving import padded
from halfulp.interp.dialects.tosa.attributes import AXIS, ELEMENTS
from halfulp.interp.dialects.tosa.conversions import BLOCK_FORM, BLOCKS
from halfulp.interp.dialects.tosa.evaluating import check_rank, checked
from halfulp.interp.dialects.tosa.forms import PLAIN, Form
from halfulp.interp.dialects.tosa.rules import (
    alike,
    constant_shape,
    declare,
    first_like_result,
    inferred,
    resolvable,
)
from halfulp.interp.dialects.tosa.shapes import rank_of, sizes_of
from halfulp.interp.dialects.tosa.types import (
    AT_LEAST_1D,
    INDICES_2D,
    SCALAR,
    SCALAR_I32,
    SHAPE,
    TENSOR,
    TENSOR_3D,
    Sizes,
    is_quantized,
    shape,
    stored,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.evaluators import Constant, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import first_place

_ONE = {"input1": AT_LEAST_1D}
_RESULT = {"output": AT_LEAST_1D}

# --- constants --------------------------------------------------------------------------------------------------------


def _const(op: Operation) -> str | None:
    (result,) = op.results
    given = narrowed(getattr(op.properties["values"], "type", None), ty.Type)
    if not isinstance(given, ty.TensorType):
        return "expected tensors for attr/result type"
    if ty.shape_of(given) != shape(result):
        return "failed to verify that all of {values, output} have same shape"
    element, wanted = ty.element_type(given), ty.element_type(result.type)
    if is_quantized(wanted) and stored(result.type) == element:
        return None
    return None if element == wanted else "expected same attr/result element types"


declare(
    "const",
    Form(generic=True),
    _const,
    results={"output": TENSOR},
    properties=(d.Property("values", ELEMENTS),),
    traits=(d.Trait.CONSTANT_LIKE,),
    evaluate=Constant(lambda op, compiler: attribute_value(op.properties["values"], op.results[0].type, op, compiler)),
)


def _identity(op: Operation, settings: Settings) -> Function:
    def same(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        return (rearranged(value, checked(op, value.shape, settings), lambda array, trailing: array),)

    return same


declare(
    "identity",
    PLAIN,
    resolvable,
    operands={"input1": TENSOR},
    results={"output": TENSOR},
    evaluate=data_movement(_identity),
)

# --- concat -----------------------------------------------------------------------------------------------------------


def _joined(op: Operation) -> Sizes | None:
    axis, made = op.number("axis"), list[int | None]()
    shapes = [shape(value) for value in op.operands]
    ranked = [sizes for sizes in shapes if sizes is not None]
    if not ranked or not 0 <= axis < len(ranked[0]):
        return None
    made = [None] * len(ranked[0])
    for sizes in ranked:
        for index, size in enumerate(sizes[: len(made)]):
            made[index] = size if made[index] is None else made[index]
    along = [None if sizes is None or axis >= len(sizes) else sizes[axis] for sizes in shapes]
    made[axis] = None if None in along else sum(size or 0 for size in along)
    return made


def _concat(op: Operation) -> str | None:
    (result,) = op.results
    if not op.operands:
        return "expect at least one input"
    wrong = next((found for value in op.operands if (found := alike(value, result)) is not None), None)
    if wrong is not None:
        return wrong
    axis, shapes = op.number("axis"), [shape(value) for value in op.operands]
    first = next((sizes for sizes in shapes if sizes is not None), None)
    if first is None:
        return None
    if not 0 <= axis < len(first):
        return f"expect axis to be within range 0 < axis < rank(input1[firstRankedTensorIdx]), got {axis}"
    ranked = [sizes for sizes in shapes if sizes is not None]
    if len(ranked) < len(shapes):
        return None
    for place, sizes in enumerate(ranked[1:], 1):
        if len(sizes) != len(first):
            return (
                f"expect all operands to have the same rank, but got {len(first)} vs {len(sizes)} on operands 0 and "
                f"{place}"
            )
        for index, (size, wanted) in enumerate(zip(sizes, first, strict=True)):
            if index != axis and None not in (size, wanted) and size != wanted:
                return (
                    f"expect all operand shapes to have the same sizes on non-axis dimensions, but got {size} vs "
                    f"{wanted} at index {index} on operands 0 and {place}"
                )
    made = shape(result)
    if made is None:
        return None
    if len(made) != len(first):
        return f"expect output rank to match inputs rank, got {len(made)} vs {len(first)}"
    along = [sizes[axis] for sizes in ranked]
    total = None if None in along else sum(size or 0 for size in along)
    if total is not None and made[axis] is not None and made[axis] != total:
        return f"requires sum of axis dimensions of input1 equal to output axis dimension, got {total} and {made[axis]}"
    return None


def _join(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        first = operands[0].shape
        for value in operands[1:]:
            if value.ndim != len(first) or any(
                a != b for index, (a, b) in enumerate(zip(value.shape, first, strict=True)) if index != axis
            ):
                shapes = " and ".join(spell_shape(each.shape) for each in operands)
                raise undefined(op, f"the shapes {shapes} differ on other axes than {axis}")
        total = sum(value.shape[axis] for value in operands)
        made = checked(op, (*first[:axis], total, *first[axis + 1 :]), settings)
        return (combined(run, operands, made, lambda arrays: np.concatenate(arrays, axis)),)

    return join


declare(
    "concat",
    PLAIN,
    _concat,
    inferred(_joined, lambda op: ty.element_type(op.operands[0].type)),
    resolvable,
    operands=(d.variadic("input1", AT_LEAST_1D),),
    results=_RESULT,
    properties=(AXIS,),
    evaluate=data_movement(_join),
)

# --- pad, slice, tile -------------------------------------------------------------------------------------------------


def _padded(op: Operation) -> str | None:
    value, padding, fill = op.operands
    (result,) = op.results
    found = alike(value, result) or alike(fill, result)
    if found is not None:
        return found
    given, made = shape(value), shape(result)
    if given is None or made is None:
        return None
    if len(given) != len(made):
        return f"expect same input and output tensor rank, but got inputRank: {len(given)}, outputRank: {len(made)}"
    sizes = constant_shape(padding)
    if sizes is None:
        return None
    if len(sizes) != 2 * len(given):
        return f"padding tensor must have {len(given)} * 2 = {2 * len(given)} elements, but got {len(sizes)}"
    for axis, (size, wanted) in enumerate(zip(given, made, strict=True)):
        low, high = sizes[2 * axis : 2 * axis + 2]
        if low < -1 or high < -1:
            return (
                f"invalid padding values at dimension {axis}: values must be non-negative or -1 for dynamic padding, "
                f"got [{low}, {high}]"
            )
        if size is not None and wanted is not None and wanted != size + low + high:
            return (
                f"mismatch in output shape at dimension {axis}: expected {size} + {low} + {high} = "
                f"{size + low + high}, but got {wanted}"
            )
    return None


def _pad(op: Operation, settings: Settings) -> Function:
    def pad(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, padding, fill = operands
        sizes = sizes_of(op, padding)
        if len(sizes) != 2 * value.ndim or min(sizes, default=0) < 0:
            raise undefined(op, f"the padding {list(sizes)} must have two sizes for each axis, none of them negative")
        low, high = sizes[::2], sizes[1::2]
        shape = tuple(a + b + c for a, b, c in zip(value.shape, low, high, strict=True))
        made = checked(op, shape, settings)
        point = reshaped(fill, ty.TensorType((), ty.element_type(fill.type)), ())
        return (padded(run, value, point, low, high, (0,) * len(shape), made),)

    return pad


declare(
    "pad",
    PLAIN,
    resolvable,
    _padded,
    operands={"input1": AT_LEAST_1D, "padding": SHAPE, "pad_const": SCALAR},
    results=_RESULT,
    evaluate=OnValues(_pad),
)


def _sliced(op: Operation) -> str | None:
    value, start, size = op.operands
    found = first_like_result(op)
    given, made = shape(value), shape(op.results[0])
    if found is not None or given is None:
        return found
    if made is not None and len(given) != len(made):
        return f"expect input1 and output to have the same ranks, got {len(given)} and {len(made)}"
    for name, each in (("start", start), ("size", size)):
        if rank_of(each) != len(given):
            return f"length of {name} is not equal to rank of input shape"
    return None


def _slice(op: Operation, settings: Settings) -> Function:
    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, *given = operands
        starts, sizes = (sizes_of(op, each) for each in given)
        for axis, (start, size, whole) in enumerate(zip(starts, sizes, value.shape, strict=True)):
            if start < 0 or size < 1 or start + size > whole:
                raise undefined(
                    op,
                    f"a slice of size {size} from {start} on is not inside of axis {axis}, which has size {whole}",
                )
        made = checked(op, sizes, settings)
        index = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        return (picked(value, index, made),)

    return take


declare(
    "slice",
    PLAIN,
    resolvable,
    _sliced,
    operands={"input1": AT_LEAST_1D, "start": SHAPE, "size": SHAPE},
    results=_RESULT,
    evaluate=data_movement(_slice, elements=1),
)


def _tiled(op: Operation) -> str | None:
    value, multiples = op.operands
    found = first_like_result(op)
    if found is not None:
        return found
    given, made, rank = shape(value), shape(op.results[0]), rank_of(multiples)
    if given is not None:
        if len(given) != rank:
            return f"expect 'multiples' to have rank {len(given)} but got {rank}."
        if made is not None and len(given) != len(made):
            return "expect same input and output tensor rank."
    elif made is not None and len(made) != rank:
        return f"expect 'multiples' array to have length {len(made)} but got {rank}."
    if any(each <= 0 and each != -1 for each in constant_shape(multiples) or ()):
        return "expect element of 'multiples' to be positive integer or -1."
    return None


def _tile(op: Operation, settings: Settings) -> Function:
    def tile(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, multiples = operands
        times = sizes_of(op, multiples)
        if min(times, default=1) < 1:
            raise undefined(op, f"the multiples {list(times)} are not all positive")
        made = checked(op, tuple(size * count for size, count in zip(value.shape, times, strict=True)), settings)
        return (rearranged(value, made, lambda array, trailing: np.tile(array, times + (1,) * len(trailing))),)

    return tile


declare(
    "tile",
    PLAIN,
    resolvable,
    _tiled,
    operands={"input1": AT_LEAST_1D, "multiples": SHAPE},
    results=_RESULT,
    evaluate=data_movement(_tile, elements=1),
)

# --- reshape, reverse, transpose --------------------------------------------------------------------------------------


def _reshaped(op: Operation) -> str | None:
    value, new = op.operands
    (result,) = op.results
    found = first_like_result(op)
    sizes = constant_shape(new)
    if found is not None or sizes is None:
        return found
    if sizes.count(-1) > 1:
        return "expected at most one target dimension to be -1"
    made = shape(result)
    if made is None:
        return None
    if len(sizes) != len(made):
        return "new shape does not match result rank"
    for wanted, size in zip(sizes, made, strict=True):
        if wanted != -1 and size is not None and wanted != size:
            return "new shape is inconsistent with result shape"
        if wanted < -1:
            return f"new shape has invalid tensor dimension size {wanted}"
    count = ty.element_count(value.type)
    if count is None:
        return None
    whole = ty.element_count(result.type)
    if whole is not None and whole != count:
        return f"cannot reshape {count} elements into {whole}"
    total, known = prod(size for size in sizes if size > 0), all(size > 0 for size in sizes)
    if (known and count != total) or (not known and total > count):
        return f"cannot reshape {count} elements into {total}"
    return None


def _reshape(op: Operation, settings: Settings) -> Function:
    def move(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, new = operands
        sizes = list(sizes_of(op, new))
        count = prod(value.shape)
        if sizes.count(-1) == 1:
            known = -prod(sizes)
            sizes[sizes.index(-1)] = count // known if known > 0 else 0
        if prod(sizes) != count or min(sizes, default=1) < 1:
            raise undefined(op, f"{count} elements cannot have the shape {list(sizes_of(op, new))}")
        return (reshaped(value, checked(op, tuple(sizes), settings), tuple(sizes)),)

    return move


declare(
    "reshape",
    PLAIN,
    resolvable,
    _reshaped,
    inferred(lambda op: shape(op.results[0]), lambda op: ty.element_type(op.operands[0].type)),
    operands={"input1": TENSOR, "shape": SHAPE},
    results={"output": TENSOR},
    evaluate=data_movement(_reshape, elements=1),
)


def _reversed(op: Operation) -> str | None:
    found, axis = first_like_result(op), op.number("axis")
    if found is not None:
        return found
    given, made = shape(op.operands[0]), shape(op.results[0])
    if axis < 0:
        return "expected non-negative reverse axis"
    if given is not None and axis >= len(given) and (axis or given):
        return f"expect input tensor rank ({len(given)}) to be larger than reverse axis ({axis})"
    if made is None:
        return None
    if given is not None and len(given) != len(made):
        return "expect output tensor rank to be equal to input tensor rank"
    if axis >= len(made) and (axis or made):
        return f"expect output tensor rank ({len(made)}) to be larger than reverse axis ({axis})"
    return None


def _reverse(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")

    def turn(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        made = checked(op, value.shape, settings)
        return (rearranged(value, made, lambda array, trailing: np.flip(array, axis)),)

    return turn


declare(
    "reverse",
    PLAIN,
    resolvable,
    _reversed,
    operands=_ONE,
    results=_RESULT,
    properties=(AXIS,),
    evaluate=data_movement(_reverse),
)


def _transposed(op: Operation) -> str | None:
    value, (result,), order = op.operands[0], op.results, op.numbers("perms")
    if ty.element_type(value.type) != ty.element_type(result.type):
        return "failed to verify that all of {input1, output} have same element type"
    given, made = shape(value), shape(result)
    if given is not None and len(order) != len(given):
        return f"expected perms attribute to have size {len(given)} (input rank) but got size {len(order)}"
    if given is not None and made is not None and len(given) != len(made):
        return "expected input tensor rank to equal result tensor rank"
    if made is not None and len(order) != len(made):
        return f"expected perms attribute to have size {len(made)} (output rank) but got size {len(order)}"
    if sorted(order) != list(range(len(order))):
        return "expected valid permutation indices"
    counts = ty.element_count(value.type), ty.element_count(result.type)
    if None not in counts and counts[0] != counts[1]:
        return f"expected input1 and output to have same numbers of elements, got {counts[0]} and {counts[1]}"
    for axis, size in enumerate(made or ()):
        wanted = None if given is None else given[order[axis]]
        if wanted is not None and size is not None and wanted != size:
            return f"expected output tensor dim {axis} to match input dim {order[axis]} with value of {wanted}"
    return None


def _transpose(op: Operation, settings: Settings) -> Function:
    order = op.numbers("perms")

    def turn(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        check_rank(op, "input", value, len(order))
        made = checked(op, tuple(value.shape[axis] for axis in order), settings)

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            return array.transpose(*order, *range(len(order), array.ndim))

        return (rearranged(value, made, move),)

    return turn


declare(
    "transpose",
    PLAIN,
    resolvable,
    _transposed,
    operands=_ONE,
    results=_RESULT,
    properties=(d.Property("perms", d.INTEGER_ARRAY_ATTR),),
    evaluate=data_movement(_transpose),
)

# --- gather and scatter -----------------------------------------------------------------------------------------------


class _Names:
    """The sizes that the letters of a rule stand for, as far as they are known."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    def takes(self, value: SSAValue, letters: str, name: str, keeps: bool = True) -> str | None:
        """Say that a tensor has other sizes than the letters stand for, or return None. ``keeps``: whether the sizes of
        the tensor give letters their numbers.
        """
        for axis, (letter, size) in enumerate(zip(letters, shape(value) or (), strict=False)):
            known = self.sizes.get(letter)
            if known is not None and size is not None and known != size:
                return f"requires {name} dimension {axis} to have size {known}, got {size}"
            if size is not None and keeps:
                self.sizes.setdefault(letter, size)
        return None


def _gathered(op: Operation) -> str | None:
    values, indices = op.operands[:2]
    names = _Names()
    return (
        first_like_result(op)
        or names.takes(values, "NKC", "values")
        or names.takes(indices, "NW", "indices")
        or names.takes(op.results[0], "NWC", "output")
    )


def places_of(op: Operation, indices: Value, size: int) -> Any:
    """Return the places that indices name. Raises UndefinedBehavior for one outside of ``size`` places."""
    if indices.poison is not None:
        raise undefined(op, "an index is poison")
    width = ty.width_of(ty.element_type(indices.type))
    places = Reading(width, True).values(indices.bits).astype(np.int64)
    wrong = (places < 0) | (places >= size)
    if wrong.any():
        where = first_place(wrong)
        raise undefined(
            op, f"REQUIRE(0 <= k && k < K) does not hold: k is {places[where]} at {list(where)}, and K is {size}"
        )
    return places


def _check_ranks(op: Operation, indices: Value, *values: Value) -> None:
    """Raise UndefinedBehavior for operands of unknown rank that turn out to have another one."""
    check_rank(op, "tensor of indices", indices, 2)
    for value in values:
        check_rank(op, "tensor of values", value, 3)


def _gather(op: Operation, settings: Settings) -> Function:
    def gather(run: Run, operands: Operands) -> tuple[Any, ...]:
        values, indices = operands
        _check_ranks(op, indices, values)
        places = places_of(op, indices, values.shape[1])
        made = checked(op, (*places.shape, values.shape[2]), settings)
        batch = np.arange(len(places))[:, np.newaxis]
        return (picked(values, (batch, places), made),)

    return gather


declare(
    "gather",
    PLAIN,
    resolvable,
    _gathered,
    operands={"values": TENSOR_3D, "indices": INDICES_2D},
    results={"output": TENSOR_3D},
    evaluate=data_movement(_gather, elements=1),
)


def _scattered(op: Operation) -> str | None:
    values, indices, given = op.operands
    (result,) = op.results
    names = _Names()
    found = (
        alike(values, result)
        or alike(given, result)
        or names.takes(values, "NKC", "values_in")
        or names.takes(indices, "NW", "indices")
        or names.takes(given, "NWC", "input")
        or names.takes(result, "NKC", "values_out")
    )
    if found is not None:
        return found
    places, writes = names.sizes.get("K"), names.sizes.get("W")
    if places is not None and writes is not None and places < writes:
        return f"requires dimensions K >= W, got K={places} and W={writes}"
    return None


def _scatter(op: Operation, settings: Settings) -> Function:
    def scatter(run: Run, operands: Operands) -> tuple[Any, ...]:
        values, indices, given = operands
        _check_ranks(op, indices, values, given)
        places = places_of(op, indices, values.shape[1])
        for batch, row in enumerate(np.sort(places, axis=1)):
            twice = row[1:][row[1:] == row[:-1]]
            if twice.size:
                raise undefined(
                    op,
                    "REQUIRE(output_modified[n,k,c] == false) does not hold: two indices of batch "
                    f"{batch} are {twice[0]}",
                )
        whole = rearranged(values, checked(op, values.shape, settings), lambda array, trailing: array)
        return (replaced(run, whole, (np.arange(len(places))[:, np.newaxis], places), given),)

    return scatter


declare(
    "scatter",
    PLAIN,
    resolvable,
    _scattered,
    operands={"values_in": TENSOR_3D, "indices": INDICES_2D, "input": TENSOR_3D},
    results={"values_out": TENSOR_3D},
    evaluate=OnValues(_scatter),
)


def _row_gather(op: Operation, settings: Settings) -> Function:
    """Return the function that gathers rows of values; if there are scales of blocks, the same rows of these too."""

    def gather(run: Run, operands: Operands) -> tuple[Any, ...]:
        *values, indices, count = operands
        rows = int(count.bits.view(np.int32).reshape(-1)[0])
        if count.poison is not None or rows < 1:
            raise undefined(op, f"row_count is {rows}, but must be positive")
        _check_ranks(op, indices, *values)
        first = places_of(op, indices, values[0].shape[1] - rows + 1)
        places = (first[:, :, np.newaxis] + np.arange(rows)).reshape(len(first), -1)
        index = np.arange(len(places))[:, np.newaxis], places
        return tuple(
            picked(value, index, checked(op, (*places.shape, value.shape[2]), settings, number_))
            for number_, value in enumerate(values)
        )

    return gather


declare(
    "row_gather",
    PLAIN,
    resolvable,
    first_like_result,
    operands={"values": TENSOR_3D, "indices": INDICES_2D, "row_count": SCALAR_I32},
    results={"output": TENSOR_3D},
    evaluate=OnValues(_row_gather),
    since=d.Schema.LLVM24,
)
declare(
    "row_gather_block_scaled",
    BLOCK_FORM,
    resolvable,
    operands=(d.variadic("values", TENSOR_3D), d.Slot("indices", INDICES_2D), d.Slot("row_count", SCALAR_I32)),
    results=(d.variadic("output", TENSOR_3D),),
    properties=(BLOCKS,),
    evaluate=OnValues(_row_gather),
    since=d.Schema.LLVM24,
)


def _reshape_blocks(op: Operation, settings: Settings) -> Function:
    """Return the function that reshapes values; if there are scales of blocks, they get the shape of the blocks."""
    block = op.prop("block_size", EnumAttr).value

    def move(run: Run, operands: Operands) -> tuple[Any, ...]:
        *values, new = operands
        sizes = sizes_of(op, new)
        shapes = [sizes, (*sizes[:-1], sizes[-1] // block) if sizes else ()]
        found = []
        for number_, (value, shape_) in enumerate(zip(values, shapes, strict=False)):
            if prod(shape_) != prod(value.shape):
                raise undefined(op, f"{prod(value.shape)} elements cannot have the shape {list(shape_)}")
            found.append(reshaped(value, checked(op, shape_, settings, number_), shape_))
        return tuple(found)

    return move


declare(
    "reshape_block_scaled",
    BLOCK_FORM,
    resolvable,
    operands=(d.variadic("input", TENSOR), d.Slot("new_value_shape", SHAPE)),
    results=(d.variadic("output", TENSOR),),
    properties=(BLOCKS,),
    evaluate=OnValues(_reshape_blocks),
    since=d.Schema.LLVM24,
)
