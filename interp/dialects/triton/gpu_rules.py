"""The rules of the ops of TTGIR that their types alone do not say (`Ops.cpp` of triton 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import spread
from halfulp.interp.dialects.triton.encodings import (
    inputs_of,
    is_distributed,
    is_encoding,
    is_shared,
    parameter,
    rank_of,
    without_stages,
)
from halfulp.interp.dialects.triton.layouts import LinearLayout, layout_of
from halfulp.interp.dialects.triton.memory_layouts import Inverse, MemoryLayout, contiguous, layout_of_memory, used
from halfulp.interp.dialects.triton.rules import order_of, sizes_of
from halfulp.interp.dialects.triton.types import DescriptorType, MemDescType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, Rule, SSAValue

# --- parts ------------------------------------------------------------------------------------------------------------


def memdesc(value: SSAValue) -> MemDescType:
    """Return the type of a value that is a block of memory."""
    assert isinstance(value.type, MemDescType)
    return value.type


def padding_of(encoding: Attribute | None) -> DialectAttr | None:
    """Return the layout with padding that an encoding is or divides into partitions; None for any other."""
    inner = parameter(encoding, "ttg.partitioned_shared", "partitionLayout") or encoding
    return inner if isinstance(inner, DialectAttr) and is_encoding(inner, "ttg.padded_shared") else None


def signed(value: int) -> int:
    """Return a word of 32 bits as a signed number."""
    return value - (1 << 32) if value >> 31 & 1 else value


def encoding_of(value: SSAValue) -> Attribute | None:
    """Return the encoding of a tensor or of a block of memory."""
    type_ = value.type
    return type_.encoding if isinstance(type_, MemDescType | ty.TensorType) else None


def given(op: Operation, name: str) -> Sequence[SSAValue]:
    """Return the operands of a slot, or the results if a result has this name."""
    definition = op.definition
    assert definition is not None
    for slots, values, key in (
        (definition.operands, op.operands, "operandSegmentSizes"),
        (definition.results, op.results, "resultSegmentSizes"),
    ):
        sizes = op.properties.get(key)
        counts = sizes.values if isinstance(sizes, at.DenseArrayAttr) else spread(slots, len(values)) or ()
        start = 0
        for slot, count in zip(slots, counts, strict=False):
            if slot.name == name:
                return values[start : start + count]
            start += count
    return ()


def known_layout(type_: ty.Type) -> LinearLayout | None:
    """Return the layout of a tensor as a linear map; None if it has none, or one that is not known.

    Registers that would hold what is outside of the tensor are copies; those of a blocked layout, and of a linear one
    that does not declare them as copies, are left out, as in Triton.
    """
    encoding = type_.encoding if isinstance(type_, ty.TensorType) else None
    if not isinstance(encoding, DialectAttr) or not is_distributed(encoding):
        return None
    try:
        found = layout_of(encoding, sizes_of(type_))
    except ValueError:
        return None
    declared = inputs_of(encoding).get("register", ())
    if not declared and not is_encoding(encoding, "ttg.blocked"):
        return found
    copies = {place for place, basis in enumerate(declared) if not any(basis)}
    return replace(
        found, register=tuple([basis for place, basis in enumerate(found.register) if any(basis) or place in copies])
    )


def halved(layout: LinearLayout, axis: int, *, first: bool = True) -> LinearLayout | None:
    """Return the layout of a tensor with one element for two neighbours along an axis; None if lanes share them.

    ``first``: the neighbours have to be in registers that follow each other.
    """
    unit = tuple([int(each == axis) for each in range(len(layout.shape))])
    if unit not in (layout.register[:1] if first else layout.register):
        return None

    def half(values: Sequence[int]) -> tuple[int, ...]:
        return tuple([value // 2 if each == axis else value for each, value in enumerate(values)])

    place = layout.register.index(unit)
    register = layout.register[:place] + layout.register[place + 1 :]
    parts = (tuple(map(half, bases)) for bases in (register, layout.lane, layout.warp, layout.block))
    return LinearLayout(half(layout.shape), *parts)


# --- views ------------------------------------------------------------------------------------------------------------


def _views(op: Operation) -> tuple[MemDescType, MemDescType]:
    return memdesc(op.operands[0]), memdesc(op.results[0])


def _unlike(source: MemDescType, result: MemDescType) -> str | None:
    if source.element != result.element:
        return "result element type must match desc element type"
    return None if source.encoding == result.encoding else "src and result must have the same encoding"


def plain(rule: Rule) -> Rule:
    """Return a verifier whose messages do not begin with the name of the op."""

    def verify(op: Operation) -> str | None:
        problem = rule(op)
        return None if problem is None else Unprefixed(problem)

    return verify


def _index(op: Operation) -> str | None:
    source, result = _views(op)
    if (problem := _unlike(source, result)) is not None:
        return problem
    if len(source.shape) != len(result.shape) + 1:
        return "result rank must be input rank - 1"
    if len(source.whole) != len(source.shape):
        return "We don't allow taking memdesc_index of a memdesc_index"
    inner = without_stages(source.shape, source.encoding)
    if inner != result.shape:
        return "result shape must equal to srcShape[1:]"
    if without_stages(source.whole, source.encoding) != inner:
        return "We only support memdesc_index of a multibuffer-prefix subview"
    return None if result.whole == result.shape else "alloc shape must match shape for the result"


verify_index = plain(_index)
"""Check that the result is one of the blocks of the first dimension."""


def _subslice(op: Operation) -> str | None:
    source, result = _views(op)
    if (problem := _unlike(source, result)) is not None:
        return problem
    offsets = [signed(offset) for offset in op.numbers("offsets")]
    if len(offsets) != len(source.shape):
        return "offsets must have the same rank as input"
    if len(result.shape) != len(source.shape):
        return "result rank must equal to input rank"
    if source.whole != result.whole:
        return "source and result must have the same allocation shape"
    if not is_shared(source.encoding):
        return "src and dst must both be of shared memory encoding"
    assert isinstance(source.encoding, DialectAttr)
    first = len(offsets) - rank_of(source.encoding)  # the dimension before is that of a list, and begins anywhere
    divided = []
    for axis, (offset, size, whole) in enumerate(zip(offsets, result.shape, source.shape, strict=True)):
        if size == whole:
            if offset:
                return "A non zero offset found in a dimension that is not being split"
            continue
        if not 0 <= offset <= whole - size:
            return "The split offset may not exceed the source shape"
        if axis >= first and offset & (size - 1):
            return "The split offset may not touch the tile"
        divided.append(axis)
    padded = padding_of(source.encoding)
    if divided and padded is not None and rank_of(padded) < len(source.shape):
        return "SubSlice of low rank PaddedSharedEncoding from higher rank tensors is not supported yet"
    layout = whole_layout(source)
    inverse = None if layout is None else Inverse(layout)
    for axis in divided:
        size = result.shape[axis]
        while axis >= first and inverse is not None and size < source.shape[axis]:
            place = inverse.place([size if each == axis else 0 for each in range(first, len(offsets))], "offset")
            if place & (place - 1):
                return "We don't support splitting along the swizzling pattern"
            size *= 2
    return None


verify_subslice = plain(_subslice)
"""Check that the result is a part of the operand at these offsets."""


def _is_part(type_: MemDescType) -> bool:
    """Tell whether a block of memory is a part of what its layout covers."""
    return without_stages(type_.shape, type_.encoding) != without_stages(type_.whole, type_.encoding)


def _pads(type_: MemDescType, padded: DialectAttr) -> list[tuple[int, int]]:
    """Return after how many bytes how many bytes are left free."""
    size = (ty.element_width(type_.element) or 0) // 8
    return [(interval * size, padding * size) for interval, padding in padded["pads"]]


def _reinterpret(op: Operation) -> str | None:
    source, result = _views(op)
    if any(is_encoding(each.encoding, "ttg.partitioned_shared") for each in (source, result)):
        return "cannot reinterpret partitioned shared layouts"
    paddings = padding_of(source.encoding), padding_of(result.encoding)
    if (paddings[0] is None) != (paddings[1] is None):
        return "cannot reinterpret between padded and non-padded layouts"
    if paddings[0] is not None and paddings[1] is not None:
        if _is_part(source):
            return "cannot reinterpret a padded source subview"
        if _pads(source, paddings[0]) != _pads(result, paddings[1]):
            return "cannot reinterpret with different padding pattern"
    if source.space != result.space:
        return "source and result must have the same memory space"
    if source.mutable != result.mutable:
        return "source and result must have the same mutability"
    return "result must not be a subview" if _is_part(result) else _footprint(source, result)


_UNITS = {"offset": (8, "shared-memory", "bytes", "offsets"), "col": (32, "tensor-memory column", "columns", "columns")}
"""For what tells where an element lies: the bits of a unit, and the words of messages."""


def whole_layout(type_: MemDescType) -> MemoryLayout | None:
    """Return the layout of the whole block that a block of memory is a part of; None if it is not known."""
    return layout_of_memory(type_.encoding, without_stages(type_.whole, type_.encoding))


def _footprint(source: MemDescType, result: MemDescType) -> str | None:
    """Check that another view of memory stays in what the source owns."""
    held, taken = (
        layout_of_memory(each.encoding, without_stages(each.whole, each.encoding)) for each in (source, result)
    )
    if held is None or taken is None:
        return None
    inner = without_stages(source.shape, source.encoding)
    if any(step >= size for basis in held["block"] for step, size in zip(basis, inner, strict=True)):
        return "cannot reinterpret a source subview sliced across CTAs"
    name = "offset" if is_shared(source.encoding) else "col"
    bits, what, units, places = _UNITS[name]
    if name == "col" and (problem := _rows(source, result, held, taken)) is not None:
        return problem
    width, widths = (ty.element_width(each.element) or 0 for each in (source, result))
    stride, strides = (
        -(-(1 << len(layout.get(name, ()))) * each // bits) for layout, each in ((held, width), (taken, widths))
    )
    stages, needed = (prod(each.shape[: -rank_of_memory(each)]) for each in (source, result))
    if strides * needed > stride * stages:
        return (
            f"result {what} footprint ({strides * needed} {units}) exceeds the source view ({stride * stages} {units})"
        )
    if not _is_part(source):
        return None
    inverse = Inverse(held)
    steps = [
        inverse.place([1 << bit if each == axis else 0 for each in range(len(inner))], name)
        for axis, size in enumerate(inner)
        for bit in range(size.bit_length() - 1)
    ]
    whole = 1 << len(held.get(name, ()))
    free = (whole - 1) & ~used(held, name)
    owned = contiguous([*steps, *(1 << bit for bit in range(whole.bit_length()) if free >> bit & 1)])
    available = stride * stages if owned == whole else -(-owned * width // bits)
    if strides * needed <= available:
        return None
    return (
        f"result {what} footprint includes {places} not owned by the source subview ({strides * needed} {units} "
        f"requested; {available} contiguous {units} available)"
    )


def rank_of_memory(type_: MemDescType) -> int:
    """Return the number of dimensions that the layout of a block of memory covers."""
    assert isinstance(type_.encoding, DialectAttr)
    return rank_of(type_.encoding)


def _within(layout: MemoryLayout, name: str, shape: tuple[int, ...]) -> int:
    """Return the bits of an input that stay in a shape."""
    return sum(
        (any(basis) and all(step < size for step, size in zip(basis, shape, strict=True))) << bit
        for bit, basis in enumerate(layout.get(name, ()))
    )


def _rows(source: MemDescType, result: MemDescType, held: MemoryLayout, taken: MemoryLayout) -> str | None:
    rows, others = (
        (1 << len(layout["row"])) >> (_within(layout, "row", without_stages(each.shape, each.encoding)) >> 4 & 1 ^ 1)
        for layout, each in ((held, source), (taken, result))
    )
    if others > rows:
        return f"result tensor-memory row footprint ({others}) exceeds the source view ({rows})"
    hidden = used(held, "row") & ~_within(held, "row", without_stages(source.shape, source.encoding))
    return "result accesses tensor-memory rows outside the source subview" if used(taken, "row") & hidden else None


verify_reinterpret = plain(_reinterpret)
"""Check that another view of a block of memory stays in it."""


def _moved(source: MemDescType, result: MemDescType, move: Callable[[Sequence[int]], Sequence[int]]) -> str | None:
    """Check that another view of memory has each element where it is."""
    if source.element != result.element:
        return "result element type must match src element type"
    if (source.space, source.mutable) != (result.space, result.mutable):
        return "the views must have one memory space and mutability"
    held, found = whole_layout(source), whole_layout(result)
    if held is None or found is None:
        return None
    expected = {name: tuple([tuple(move(basis)) for basis in bases]) for name, bases in held.items()}
    return None if expected == dict(found) else f"the layout {result.encoding} is not that of the source, moved"


def _memory_trans(op: Operation) -> str | None:
    source, result = _views(op)
    order, rank = order_of(op), len(source.shape)
    if sorted(order) != list(range(rank)):
        return "order must be a permutation of [0, ..., rank - 1]"
    permuted = [tuple([sizes[axis] for axis in order]) for sizes in (source.shape, source.whole[-rank:])]
    if [result.shape, result.whole] != [permuted[0], source.whole[:-rank] + permuted[1]]:
        return f"inferred shape {list(permuted[0])} is incompatible with the shape {list(result.shape)} of the result"
    if rank != rank_of_memory(source):
        return None
    return _moved(source, result, lambda basis: [basis[axis] for axis in order])


def _memory_reshape(op: Operation) -> str | None:
    source, result = _views(op)
    rank = len(source.shape)
    if prod(source.shape) != prod(result.shape):
        return "number of src and dst elements of reshape must be the same"
    if source.whole[-rank:] != source.shape:
        return "NYI: memdesc_reshape of memdesc_subslice"
    if result.whole != source.whole[:-rank] + result.shape:
        return "the result must be a whole block of memory"
    if rank != rank_of_memory(source) or len(result.shape) != rank_of_memory(result):
        return None
    return _moved(source, result, lambda basis: unflattened(flattened(basis, source.shape), result.shape))


def flattened(place: Sequence[int], shape: Sequence[int]) -> int:
    """Return the number of an element in row-major order."""
    found = 0
    for step, size in zip(place, shape, strict=True):
        found = found * size + step
    return found


def unflattened(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates of an element from its number in row-major order."""
    found = []
    for size in reversed(shape):
        number, step = divmod(number, size)
        found.append(step)
    return tuple(found[::-1])


verify_memory_trans, verify_memory_reshape = plain(_memory_trans), plain(_memory_reshape)
"""Check that another view of memory has each element where it is."""

# --- memory and tensors -----------------------------------------------------------------------------------------------


def unlike_memory(source: MemDescType | ty.Type, target: MemDescType | ty.Type) -> str | None:
    """Return why a tensor and a block of memory, one copied to the other, do not have one shape and element."""
    (shape, element), (sizes, elements) = (
        (each.shape, each.element) if isinstance(each, MemDescType) else (sizes_of(each), ty.element_type(each))
        for each in (source, target)
    )
    if element != elements:
        return f"source element type {source} must match destination element type {elements}"
    if shape != sizes:
        return f"source shape {list(shape)} must match destination shape {list(sizes)}"
    return None


def _unlike_rank(tensor: ty.Type, memory: MemDescType, word: str) -> str | None:
    rank, other = len(sizes_of(tensor)), rank_of_memory(memory)
    return None if rank == other else f"{word} has rank {rank} but memdesc encoding has rank {other}"


def verify_alloc(op: Operation) -> str | None:
    """Check what is allocated, and that a block that is not written now may be written later."""
    target = memdesc(op.results[0])
    if target.shape != target.whole:
        return "result shape and its alloc shape must match"
    if op.operands:
        return unlike_memory(op.operands[0].type, target)
    return None if target.mutable else "uninitialized alloc must have a mutable memdesc type"


def verify_local_alloc(op: Operation) -> str | None:
    """Check that a block of shared memory is allocated."""
    target = memdesc(op.results[0])
    if not is_encoding(target.space, "ttg.shared_memory"):
        return "should create a buffer of shared memory"
    width = ty.element_width(target.element) or 0
    if width % 8:
        return Unprefixed(f"shared-memory element type bit width must be a multiple of 8; got {width}")
    if op.operands and (problem := _unlike_rank(op.operands[0].type, target, "source")) is not None:
        return problem
    return verify_alloc(op)


def verify_local_store(op: Operation) -> str | None:
    """Check that the memory may be written, and that it fits the tensor."""
    source, target = op.operands[0].type, memdesc(op.operands[1])
    if not target.mutable:
        return "Cannot store into immutable memory"
    return _unlike_rank(source, target, "source") or unlike_memory(source, target)


def verify_local_load(op: Operation) -> str | None:
    """Check that the tensor fits the memory."""
    source, result = memdesc(op.operands[0]), op.results[0].type
    return _unlike_rank(result, source, "result") or unlike_memory(source, result)


def verify_async_copy(op: Operation) -> str | None:
    """Check that the memory may be written."""
    return None if memdesc(op.operands[1]).mutable else "Cannot store into immutable memory"


def _unlike_indices(op: Operation, memory: str, values: str, given: SSAValue, indices: SSAValue) -> str | None:
    """Return why values do not go along an axis of memory by indices. ``memory``, ``values``: names in messages."""
    axis, rank = op.number("axis"), len(memdesc(op.operands[0]).shape)
    if sizes_of(given.type) != sizes_of(indices.type):
        return f"{values} shape must match indices shape"
    if rank != len(sizes_of(indices.type)):
        return f"{memory} and indices must have the same rank"
    return None if 0 <= axis < rank else f"axis {axis} is out of bounds for {memory} rank {rank}"


def _scattered(op: Operation) -> str | None:
    target, values, indices = memdesc(op.operands[0]), op.operands[1], op.operands[2]
    if wrong := _unlike_indices(op, "destination", "values", values, indices):
        return wrong
    if encoding_of(values) != encoding_of(indices):
        return "values must have the same layout as indices"
    same = target.element == ty.element_type(values.type)
    return None if same else "values element type must match destination element type"


verify_local_scatter = plain(_scattered)
"""Check that elements scattered along an axis have the shape and the layout of the indices."""


def verify_local_atomic(op: Operation) -> str | None:
    """Check the same of atomics, and that the memory may be written."""
    if not memdesc(op.operands[0]).mutable:
        return "Cannot store into immutable memory"
    if not isinstance(ty.element_type(op.operands[1].type), ty.IntegerType | ty.FloatType):
        return Unprefixed("values must have integer or floating element type")
    for mask in op.operands[3:]:
        if sizes_of(mask.type) != sizes_of(op.operands[1].type):
            return Unprefixed("values shape must match mask shape")
        if encoding_of(mask) != encoding_of(op.operands[1]):
            return Unprefixed("values must have the same layout as mask")
    return verify_local_scatter(op)


def _gathered(op: Operation) -> str | None:
    source, indices, result = memdesc(op.operands[0]), op.operands[1], op.results[0]
    if wrong := _unlike_indices(op, "source", "result", result, indices):
        return wrong
    if source.element != ty.element_type(result.type):
        return "result element type must match source element type"
    same = encoding_of(indices) == encoding_of(result)
    return None if same else "indices and result must have the same layout"


verify_local_gather = plain(_gathered)
"""Check that elements gathered along an axis have the type and the layout of the indices."""


# --- descriptors ------------------------------------------------------------------------------------------------------


def _signless(element: ty.Type) -> ty.Type:
    return ty.IntegerType(element.width) if isinstance(element, ty.IntegerType) else element


def unlike_block(descriptor: DescriptorType, shape: tuple[int, ...], element: ty.Type) -> str | None:
    """Return why a descriptor does not load or store a block of this shape and element."""
    own = _signless(descriptor.element)
    if own != element:
        return (
            f"descriptor block and tensor element types must match, but got descriptor element type '{own}' and tensor "
            f"element type '{element}'"
        )
    count, other = prod(descriptor.shape), prod(shape)
    if count == other:
        return None
    return (
        "descriptor block and tensor must have the same number of elements, but got descriptor block with "
        f"{count} elements tensor with {other} elements"
    )


_LEAST_ROWS = 8
"""The least rows of a gather or a scatter."""


def unlike_rows(descriptor: DescriptorType, shape: tuple[int, ...], element: ty.Type, offsets: ty.Type) -> str | None:
    """Return why a descriptor does not gather or scatter rows of this shape and element at these offsets."""
    if len(descriptor.shape) != 2:
        return f"descriptor block must be a 2D tensor, but got '{descriptor}'"
    if descriptor.shape[0] != 1:
        return f"descriptor block must have exactly 1 row, but got '{descriptor}'"
    if len(sizes_of(offsets)) != 1:
        return f"x offsets must be a 1D tensor, but got '{offsets}'"
    if len(shape) != 2:
        return f"result must be a 2D tensor, but got {list(shape)}"
    rows, columns = shape
    if rows < _LEAST_ROWS:
        return f"must have at least {_LEAST_ROWS} rows, but got {rows}"
    width = ty.element_width(element) or 0
    if width > 32:
        return "TMA dtype cannot be greater than 32 bits"
    least = 32 // (width or 32) * 8
    if columns < least:
        return f"must have at least {least} columns for '{element}', but got {columns}"
    if sizes_of(offsets) != (rows,):
        return f"result tensor must have as many rows as indices ({sizes_of(offsets)[0]}), but got {list(shape)}"
    if columns != descriptor.shape[1]:
        return f"result tensor number of columns must match block ({descriptor.shape[1]}), but got {list(shape)}"
    own = _signless(descriptor.element)
    return None if element == own else f"result tensor element type must match block ('{own}'), but got '{element}'"


# --- targets ----------------------------------------------------------------------------------------------------------

_TENSOR_MEMORY = range(100, 120)
"""The compute capabilities with tensor memory and tcgen05, times 10."""


def verify_tensor_memory(op: Operation) -> str | None:
    """Check that the target of the module, if it says which, has tensor memory."""
    target = module_attribute(op, "ttg.target")
    kind, _, number = (target.value if isinstance(target, at.StringAttr) else "").partition(":")
    if kind == "cuda" and number.isdigit() and int(number) not in _TENSOR_MEMORY:
        return "requires tcgen05 support"
    return None


def module_attribute(op: Operation, name: str) -> Attribute | None:
    """Return an attribute of the module around an op."""
    parent = op.parent_op
    while parent is not None and parent.name != "builtin.module":
        parent = parent.parent_op
    return None if parent is None else parent.attributes.get(name)
