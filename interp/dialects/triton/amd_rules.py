"""The rules of the ops of amdg that their types alone do not say (`TritonAMDGPU/IR/Dialect.cpp` of triton 3.9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from halfulp.interp.dialects.triton import encodings, gpu_rules
from halfulp.interp.dialects.triton.encodings import blocks_of, is_encoding, parameter, rank_of
from halfulp.interp.dialects.triton.gpu_rules import encoding_of, given, known_layout, memdesc
from halfulp.interp.dialects.triton.layouts import Bases, LinearLayout, Maker
from halfulp.interp.dialects.triton.memory_layouts import Inverse, layout_of_memory
from halfulp.interp.dialects.triton.nvidia_rules import barrier, positive_count
from halfulp.interp.dialects.triton.result_layouts import unpacked
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.types import DescriptorType, MemDescType, context_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, narrowed
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, all_of

verify_init, verify_arrive = all_of(barrier(), positive_count), all_of(barrier(), positive_count)

# --- parts of tensors -------------------------------------------------------------------------------------------------


def _parts(source: ty.Type, result: ty.Type) -> tuple[LinearLayout, LinearLayout] | None:
    layouts = known_layout(source), known_layout(result)
    return None if layouts[0] is None or layouts[1] is None else (layouts[0], layouts[1])


def _unheld(source: LinearLayout, result: LinearLayout, places: Iterator[tuple[int, ...]]) -> str | None:
    """Check that the first lane holds the elements at some places, and that lanes and warps hold the same ones."""
    registers = Inverse({"register": source.register})
    for place in places:
        if not registers.reaches(place):
            return f"No source register holds the element for destination index {list(place)}"
    same = source.lane == result.lane and source.warp == result.warp
    return None if same else "Lane and warp dim basis must match between source and destination layout."


def _elements(bases: Bases, rank: int) -> Iterator[tuple[int, ...]]:
    """Yield the coordinates that the registers of a lane hold."""
    for bits in product((0, 1), repeat=len(bases)):
        found = [0] * rank
        for bit, basis in zip(bits, bases, strict=True):
            if bit:
                found = [one ^ other for one, other in zip(found, basis, strict=True)]
        yield tuple(found)


def _concat(op: Operation) -> str | None:
    types, result = [value.type for value in op.operands], op.results[0].type
    if not types or len(sizes_of(types[0])) != len(sizes_of(result)):
        return "Source and destination tensors must have the same rank."
    shape, needed = sizes_of(types[0]), 1
    for size, whole in zip(shape, sizes_of(result), strict=True):
        if not size or whole % size:
            return "Source and destination tensor shapes don't match."
        needed *= whole // size
    if needed != len(types):
        return f"Number of source tiles ({len(types)}) doesn't match required count ({needed})."
    if len(set(types)) > 1:
        return "All sources must have identical tensor types."
    if ty.element_type(types[0]) != ty.element_type(result):
        return "Element types of sources and destination must match."
    if (layouts := _parts(types[0], result)) is None:
        return None
    within = (tuple([step % size for step, size in zip(basis, shape, strict=True)]) for basis in layouts[1].register)
    return _unheld(*layouts, within)


verify_concat = gpu_rules.plain(_concat)
"""Check that tensors of one type fill the result, and that each lane has the elements of the result."""


_MOST_BITS = 16
"""The bits of the number of elements that are looked at one by one."""


def _extract(op: Operation) -> str | None:
    source, result = op.operands[0].type, op.results[0].type
    offsets = op.numbers("static_offsets")
    if ty.element_type(source) != ty.element_type(result):
        return "result element type must match source element type"
    whole, part = sizes_of(source), sizes_of(result)
    if len(whole) != len(part):
        return "result rank must be equal to source rank"
    if len(offsets) != len(whole):
        return "offsets must have the rank of the source"
    for axis, (offset, size, limit) in enumerate(zip(offsets, part, whole, strict=True)):
        if offset < 0:
            return f"offset must be non-negative at dimension {axis}"
        if size > limit:
            return f"result shape cannot exceed source shape at dimension {axis}"
        if offset + size > limit:
            return f"invalid offset at dimension {axis}"
    if (layouts := _parts(source, result)) is None:
        return None

    def moved(place: Sequence[int]) -> tuple[int, ...]:
        return tuple([step + int(offset) for step, offset in zip(place, offsets, strict=True)])

    register = layouts[1].register
    if not any(int(offset) % size for offset, size in zip(offsets, part, strict=True)):
        places = iter([moved([0] * len(part)), *register])  # no carries: the map is linear
    elif len(register) > _MOST_BITS:
        return f"a lane holds more than 2^{_MOST_BITS} elements of the result"
    else:
        places = map(moved, _elements(register, len(part)))
    return _unheld(*layouts, places)


verify_extract = gpu_rules.plain(_extract)
"""Check that the result is inside of the operand, and that each lane has its elements."""


def verify_transpose(op: Operation) -> str | None:
    """Check that the elements of each lane are transposed, and nothing else."""
    source, result = op.operands[0].type, op.results[0].type
    if ty.element_type(source) != ty.element_type(result):
        return "Expect input and output tensor to have same dtype"
    shape = sizes_of(source)
    if shape != sizes_of(result):
        return "Expect equal input and output shapes"
    if len(shape) != 2:
        return "Expect 2d tensor"
    encoding = encoding_of(op.operands[0])
    if not isinstance(encoding, DialectAttr) or encoding.definition.name != "ttg.blocked":
        return "Expect input tensor in Blocked encoding"
    if (layouts := _parts(source, result)) is None:
        return None
    tile = Maker(2, (0, 1))
    sizes = [min(pair) for pair in zip(encoding["sizePerThread"], shape, strict=True)]
    tile.add_all("register", sizes, encoding["order"][::-1])
    register = tuple(tile.bases["register"])
    before, after = layouts
    expected = LinearLayout(shape, register + before.register[len(register) :], before.lane, before.warp, before.block)
    return None if after == expected else f"Expect output layout to be transposed per thread: {expected}"


def verify_packed_load(op: Operation) -> str | None:
    """Check the order of the dimensions and the shape of memory whose packed elements are transposed when loaded."""
    source, result = memdesc(op.operands[0]), op.results[0]
    index = parameter(encoding_of(result), "ttg.dot_op", "opIdx")
    if index is None:
        return "only works with DotOperandEncodingAttr dst encoding"
    rank = len(source.shape)
    order = parameter(source.encoding, "ttg.swizzled_shared", "order")
    rows, columns = rank - 2, rank - 1
    expected = (columns, rows) if index else (rows, columns)
    if order is not None and tuple(order) != (*expected, *range(rank - 3, -1, -1)):
        return "Order of dimensions don't match expected"
    shape = list(sizes_of(result.type))
    narrow, wide = (columns, rows) if index else (rows, columns)
    shape[narrow] //= 2
    shape[wide] *= 2
    return None if source.shape == tuple(shape) else "Input and output dimensions don't match after packing changes"


# --- scales -----------------------------------------------------------------------------------------------------------

_GROUP = 3
"""The bits of the number of elements that share a scale in an instruction."""


def _scales(op: Operation) -> str | None:
    (scale,), output, axis = given(op, "scale"), op.results[0], op.number("axis")
    sizes, shape = sizes_of(scale.type), sizes_of(output.type)
    if len(sizes) != len(shape):
        return "scale and output must have the same rank"
    if not 0 <= axis < len(shape):
        return f"axis out of range: {axis} for rank {len(shape)}"
    if sizes[:axis] + sizes[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
        return "scale and output must match on non-axis dimensions"
    if not sizes[axis] or shape[axis] % sizes[axis]:
        return (
            "expected output.shape[axis] to be divisible by scale.shape[axis], but got "
            f"output[{axis}]={shape[axis]}, scale[{axis}]={sizes[axis]}"
        )
    encodings_ = encoding_of(scale), encoding_of(output)
    if (encodings_[0] is None) != (encodings_[1] is None):
        return "scale and output must both have an encoding, or neither"
    layouts = _parts(scale.type, output.type)
    if layouts is None:
        return None
    block = shape[axis] // sizes[axis]

    def divided(bases: Bases) -> Bases:
        return tuple([(*basis[:axis], basis[axis] // block, *basis[axis + 1 :]) for basis in bases])

    own, whole = layouts
    register = divided(whole.register)
    if block > 1 and (len(register) < _GROUP or any(any(basis) for basis in register[:_GROUP])):
        return (
            "the 8 elements of a v_cvt_scale_pk8 group would not share a single scale; the scaled axis must place 8 "
            "register-consecutive elements within one scale block"
        )
    expected = _kept(register), *map(divided, (whole.lane, whole.warp, whole.block))
    if (_kept(own.register), own.lane, own.warp, own.block) == expected:
        return None
    return "scale encoding is not compatible with the inferred scale layout"


def _kept(bases: Bases) -> Bases:
    return tuple([basis for basis in bases if any(basis)])


def _bytes(op: Operation) -> str | None:
    return unpacked(op, given(op, "input")[0], op.results[0])


verify_scaled_fp4 = gpu_rules.plain(all_of(_scales, _bytes))
"""Check the layouts of packed elements and of their scales."""

# --- tensor data mover ------------------------------------------------------------------------------------------------

_LARGEST = (1 << 16) - 1
"""The largest size of a block that the tensor data mover copies."""


def _consistent(layout: Attribute, descriptor: DescriptorType, memory: MemDescType) -> bool:
    """Tell whether the layout of a descriptor is that of the memory, but for leading dimensions of size 1."""
    if is_encoding(layout, "ttg.padded_shared") and is_encoding(memory.encoding, "ttg.padded_shared"):
        assert isinstance(layout, DialectAttr)
        assert isinstance(memory.encoding, DialectAttr)
        return bool(layout["pads"] == memory.encoding["pads"])
    dropped = len(descriptor.shape) - len(memory.shape)
    both = all(is_encoding(each, "ttg.swizzled_shared") for each in (layout, memory.encoding))
    if dropped <= 0 or not both:
        return layout == memory.encoding
    whole, part = layout_of_memory(layout, descriptor.shape), gpu_rules.whole_layout(memory)
    if whole is None or part is None:
        return True
    cut = {name: tuple([basis[dropped:] for basis in bases]) for name, bases in whole.items()}
    return cut == dict(part)


def _common(op: Operation, descriptor: DescriptorType, memory: MemDescType) -> str | None:
    for axis, size in enumerate(descriptor.shape):
        if size > _LARGEST:
            return f"TDM block dimension {axis} ({size}) exceeds maximum size of {_LARGEST}"
    if parameter(memory.encoding, "ttg.swizzled_shared", "maxPhase") not in (None, 1):
        return "TDM does not support swizzling"
    if descriptor.layout is None or _consistent(descriptor.layout, descriptor, memory):
        return None
    return (
        f"shared layout of the tensor descriptor ({descriptor.layout}) is inconsistent with the shared memory "
        f"allocation layout ({memory.encoding}); TDM accesses shared memory through the descriptor's layout, so the "
        "allocation must describe the same physical layout, up to leading unit dimensions dropped by a rank-reducing "
        "access"
    )


_PLAIN = ("ttg.padded_shared", "ttg.swizzled_shared")
_WORD = 32
"""The bits of the words that padding is counted in."""


def _loaded_layout(memory: MemDescType) -> str | None:
    inner = parameter(memory.encoding, "ttg.partitioned_shared", "partitionLayout")
    if inner is not None:
        if parameter(inner, "ttg.swizzled_shared", "maxPhase") not in (None, 1):
            return "TDM does not support swizzling in partitioned layout"
        return None if is_encoding(inner, *_PLAIN) else "Invalid inner layout for partitioned shared memory in TDM"
    if not is_encoding(memory.encoding, *_PLAIN):
        return "Invalid shared memory layout for TDM"
    width = ty.element_width(memory.element) or 0
    for interval, padding in parameter(memory.encoding, "ttg.padded_shared", "pads") or ():
        if interval * width // _WORD < 2:
            return "TDM padding interval must be at least 2 dwords"
        if padding * width // _WORD < 1:
            return "TDM padding amount must be at least 1 dword"
    return None


def _wrong_warps(op: Operation, hint: int) -> str | None:
    warps = context_of(op).warps or 1
    for wrong, need in ((warps & (warps - 1), "a power of two"), (warps >= 32, "less than 32")):
        if wrong:
            return f"num_warps must be {need} when using warp_used_hint, got {warps}"
    if not hint:
        return "warp_used_hint must have at least one bit set"
    if hint >> warps:
        return f"warp_used_hint = 0x{hint:x} sets bits beyond num_warps = {warps}"
    count = hint.bit_count()
    if count & (count - 1):
        return f"popcount(warp_used_hint) = {count} must be a power of two (got hint 0x{hint:x})"
    active = [warp for warp in range(warps) if hint >> warp & 1]
    varying = 0
    for warp in active:
        varying |= warp ^ active[0]
    if 1 << varying.bit_count() == count:
        return None
    bits = count.bit_length() - 1
    return (
        f"warp_used_hint = 0x{hint:x} is not axis-aligned: K = {count} active warps must span exactly log2(K) = {bits} "
        "warpId bit positions"
    )


def _wrong_pieces(memory: MemDescType, hint: int) -> str | None:
    encoding = memory.encoding
    if not isinstance(encoding, DialectAttr) or encoding.definition.name != "ttg.partitioned_shared":
        return None
    pieces, count = encoding["numPartitions"] * encoding["numGroups"], hint.bit_count()
    if count % pieces == 0:
        return None
    return (
        "warp_used_hint with a partitioned shared encoding must select K active warps such that numLogicalPieces "
        f"divides K so the copy fits in a single TDM instruction (got K = {count}, numLogicalPieces = {pieces})"
    )


def _copied(op: Operation, name: str) -> tuple[DescriptorType, MemDescType]:
    (descriptor,), (memory,) = given(op, "desc"), given(op, name)
    assert isinstance(descriptor.type, DescriptorType)
    return descriptor.type, memdesc(memory)


def _unsigned(value: int) -> int:
    return value & 0xFFFFFFFF


def verify_tdm_load(op: Operation) -> str | None:
    """Check the layouts of a copy to shared memory, and the warps that it may use."""
    descriptor, memory = _copied(op, "result")
    if (problem := _common(op, descriptor, memory) or _loaded_layout(memory)) is not None:
        return problem
    if "warp_used_hint" not in op.properties:
        return None
    hint = _unsigned(op.number("warp_used_hint"))
    return _wrong_warps(op, hint) or _wrong_pieces(memory, hint)


def verify_tdm_fused(op: Operation) -> str | None:
    """Check several such copies, which share the warps."""
    descriptors, memories = given(op, "descs"), given(op, "dests")
    hints = list(map(_unsigned, op.numbers("warp_used_hints")))
    if not 2 <= len(descriptors) <= 4:
        return "requires 2 to 4 members"
    if len(hints) != len(descriptors):
        return "requires one warp_used_hint per member"
    taken, ranks = 0, set()
    for one, other, hint in zip(descriptors, memories, hints, strict=True):
        assert isinstance(one.type, DescriptorType)
        memory = memdesc(other)
        if (problem := _common(op, one.type, memory) or _loaded_layout(memory)) is not None:
            return problem
        ranks.add(len(one.type.shape))
        if len(ranks) > 1:
            return "requires all member descriptors to have the same rank"
        if (problem := _wrong_warps(op, hint)) is not None:
            return problem
        if taken & hint:
            return "requires pairwise-disjoint warp_used_hint values"
        taken |= hint
        if (problem := _wrong_pieces(memory, hint)) is not None:
            return problem
    return None


def _padding(what: str, memory: MemDescType, size: int) -> str | None:
    """Check that a copy leaves elements free after each row alone."""
    pads = parameter(memory.encoding, "ttg.padded_shared", "pads")
    if pads is None:
        return None
    if len(pads) != 1:
        return f"TDM {what} only supports single interval paddings."
    if pads[0][0] == size:
        return None
    return (
        f"TDM {what} padding is only supported when padding interval equals the innermost block dimension (got "
        f"padInterval={pads[0][0]}, innermost dimension={size})"
    )


def verify_tdm_store(op: Operation) -> str | None:
    """Check the layouts of a copy from shared memory."""
    descriptor, memory = _copied(op, "src")
    if (problem := _common(op, descriptor, memory)) is not None:
        return problem
    if not is_encoding(memory.encoding, *_PLAIN):
        return "Invalid shared memory layout for TDM"
    assert isinstance(memory.encoding, DialectAttr)
    parts = encodings.split(blocks_of(memory.encoding), rank_of(memory.encoding) - 1)
    return _padding("store", memory, descriptor.shape[-1] // parts)


def _rows(op: Operation, what: str, name: str, indices: str) -> str | None:
    descriptor, memory = _copied(op, name)
    if len(descriptor.shape) != 2:
        return f"TDM {what} only supports 2D tensors, got {len(descriptor.shape)}D"
    if (problem := _common(op, descriptor, memory)) is not None:
        return problem
    if not is_encoding(memory.encoding, *_PLAIN):
        return "Invalid shared memory layout for TDM"
    if (ty.element_width(memory.element) or 0) < 8:
        return f"TDM {what} requires element types of at least 8 bits"
    sizes = sizes_of(given(op, indices)[0].type)
    if len(sizes) != 1:
        return f"{indices} must be a 1D tensor"
    return (
        None if sizes[0] and not sizes[0] & (sizes[0] - 1) else f"{indices} size must be a power of 2, got {sizes[0]}"
    )


def verify_tdm_scatter(op: Operation) -> str | None:
    """Check the layouts of rows that are scattered."""
    descriptor, memory = _copied(op, "src")
    return _rows(op, "scatter", "src", "dst_row_indices") or _padding("scatter", memory, descriptor.shape[-1])


def verify_tdm_gather(op: Operation) -> str | None:
    """Check the layouts of rows that are gathered, and that all lanes have the same indices."""
    descriptor, memory = _copied(op, "dst")
    if (problem := _rows(op, "gather", "dst", "src_row_indices")) is not None:
        return problem
    pads, size = parameter(memory.encoding, "ttg.padded_shared", "pads") or (), descriptor.shape[-1]
    if len(pads) > 1:
        return "TDM gather does not support multiple interval-padding pairs"
    if pads and size % pads[0][0]:
        return (
            f"TDM gather padding interval must divide the innermost block dimension (got padInterval={pads[0][0]}, "
            f"innermost dimension={size})"
        )
    if (order := parameter(memory.encoding, "ttg.swizzled_shared", "order")) is not None and order[0] != len(order) - 1:
        return "TDM gather only supports row-major shared order"
    (indices,) = given(op, "src_row_indices")
    layout = known_layout(indices.type)
    if layout is None:
        return None
    if any(map(any, layout.lane)):
        return (
            "index layout distributes values across lanes, which is incompatible with the warp-level TDM instruction. "
            "Change layout to broadcast the same indices to all lanes in a warp."
        )
    assert isinstance(memory.encoding, DialectAttr)
    blocks = encodings.inputs_of(memory.encoding).get("block")
    if blocks is None:
        found = gpu_rules.whole_layout(memory)
        blocks = () if found is None else found["block"]
    if bool(blocks) != bool(layout.block):
        return "TDM gather index and destination layout must both have a block basis or neither have a block basis"
    if [basis[:1] for basis in blocks] == [tuple(basis) for basis in layout.block]:
        return None
    return "TDM gather index and shared encoding must have the same block basis for the row dimension"


def verify_update(op: Operation) -> str | None:
    """Check what is changed in a descriptor."""
    descriptor = narrowed(op.operands[0].type, DescriptorType)
    rank = len(descriptor.shape)
    offsets, bounds = (given(op, name) for name in ("add_offsets", "set_bounds"))
    for name, values in (("add_offsets", offsets), ("set_bounds", bounds)):
        if values and len(values) != rank:
            return f"expected {rank} {name} to match descriptor rank, got {len(values)}"
    if not offsets and not bounds and not given(op, "pred"):
        return "must provide at least one of add_offsets, set_bounds, or pred"
    if "clamp_bounds" in op.properties:
        if not offsets:
            return "clamp_bounds requires add_offsets"
        if bounds:
            return "clamp_bounds and set_bounds are mutually exclusive"
    return None
