"""The rules of the ops of ttng that their types alone do not say (`TritonNvidiaGPU/IR/Ops.cpp` of triton 3.9)."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.triton import encodings, gpu_rules
from halfulp.interp.dialects.triton.encodings import Bases, blocks_of, parameter, without_stages
from halfulp.interp.dialects.triton.gpu_rules import (
    encoding_of,
    given,
    known_layout,
    memdesc,
    module_attribute,
    unlike_memory,
)
from halfulp.interp.dialects.triton.memory_layouts import Inverse
from halfulp.interp.dialects.triton.types import DescriptorType, MemDescType, context_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, Rule, SSAValue, all_of


def blocks_of_value(value: SSAValue) -> Bases:
    """Return how the blocks of a cluster divide a tensor or a block of memory."""
    encoding = encoding_of(value)
    return blocks_of(encoding) if isinstance(encoding, DialectAttr) else ()


def shown_bases(bases: Bases) -> str:
    """Return the text of bases."""
    return str(list(map(list, bases)))


# --- barriers ---------------------------------------------------------------------------------------------------------


def _in_order(count: int, copies: int = 1) -> Bases:
    """Return how ``count`` blocks of a cluster share a vector, of which each has an element; ``copies`` have one."""
    steps = [1 << bit for bit in range((count // copies).bit_length() - 1)]
    return tuple([(step,) for step in [0] * (copies.bit_length() - 1) + steps])


def contiguous_memory(type_: MemDescType) -> bool:
    """Tell whether the elements of a block of shared memory, which is not a part of another one, follow each other."""
    plain = [parameter(type_.encoding, "ttg.swizzled_shared", name) for name in ("vec", "perPhase", "maxPhase")]
    return plain == [1, 1, 1] and without_stages(type_.whole, type_.encoding) == type_.shape


def _wrong_barrier(op: Operation, value: SSAValue) -> str | None:
    type_, blocks = memdesc(value), context_of(op).blocks
    if ty.element_width(type_.element) != 64 or len(type_.shape) != 1 or type_.shape[0] > blocks:
        return "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs"
    if not contiguous_memory(type_):
        return "barrier must have a contiguous shared-memory layout without subviews"
    layout = gpu_rules.whole_layout(type_)
    steps = [] if layout is None else [basis[0] for basis in layout["block"] if basis[0]]
    if steps == [1 << bit for bit in range(len(steps))]:
        return None
    return (
        "broadcasted cluster barriers require bases to be the sequence 1, 2, 4, 8, ... perhaps with zero bases "
        "interleaved."
    )


def barrier(name: str = "alloc") -> Rule:
    """Return the rule that an operand is a barrier, or several ones are."""
    return lambda op: next(
        (problem for value in given(op, name) if (problem := _wrong_barrier(op, value)) is not None), None
    )


def _wrong_cluster(value: SSAValue, expected: Bases, word: str) -> str | None:
    found = blocks_of_value(value)
    return None if found == expected else f"{word} cga_layout must be {shown_bases(expected)}, got {shown_bases(found)}"


def completion(name: str) -> Rule:
    """Return the rule that each block of the cluster has its own barrier."""

    def verify(op: Operation) -> str | None:
        expected = _in_order(context_of(op).blocks)
        problems = (_wrong_cluster(value, expected, "completion barrier") for value in given(op, name))
        return next(filter(None, problems), None)

    return verify


def positive_count(op: Operation) -> str | None:
    """Check that a barrier counts something."""
    count = gpu_rules.signed(op.number("count") & 0xFFFFFFFF)
    return "count must be greater than or equal to 1" if count < 1 else None


def _not_across(op: Operation) -> str | None:
    around = op.parent_op
    while around is not None and around.name != "ttg.warp_specialize":
        around = around.parent_op
    across = memdesc(op.operands[0]).shape[0] != context_of(op).blocks
    return "cannot be used inside `ttg.warp_specialize`" if around is not None and across else None


verify_init = all_of(barrier(), positive_count, _not_across)


def optional_integer(op: Operation, name: str) -> int | None:
    """Return the number of a property that may be absent."""
    return op.number(name) if name in op.properties else None


def _from_block(op: Operation) -> str | None:
    block, blocks = optional_integer(op, "fromCTA"), context_of(op).blocks
    if block is None:
        return None
    if not 0 <= block < blocks:
        return "fromCTA must be in the range [0, num_ctas - 1]"
    one = memdesc(op.operands[0]).shape == (blocks,) and blocks_of_value(op.operands[0]) == _in_order(blocks)
    return None if one else "fromCTA requires a 1D barrier with one element per CTA and canonical CGA layout"


verify_expect = all_of(barrier(), _from_block)


def _multicast_arrive(op: Operation) -> str | None:
    block, blocks = optional_integer(op, "multicastCTA"), context_of(op).blocks
    if not block:
        return None
    if blocks < 2:
        return "multicast arrive requires num_ctas > 1"
    if not 0 <= block < blocks:
        return "multicastCTA exceeds numCTAs - 1"
    if (problem := _wrong_cluster(op.operands[0], _in_order(blocks), "multicast barrier")) is not None:
        return problem
    source = optional_integer(op, "fromCTA")
    return None if source in (None, blocks - 1) else "fromCTA cannot be combined with multicast arrive"


verify_arrive = all_of(barrier(), positive_count, _multicast_arrive, _from_block)


def verify_cluster(op: Operation) -> str | None:
    """Check that the module has several blocks in a cluster."""
    return None if context_of(op).blocks > 1 else "requires ttg.num-ctas > 1"


def _in_kernel(op: Operation) -> str | None:
    function = op.parent_op
    while function is not None and function.name not in ("tt.func", "llvm.func"):
        function = function.parent_op
    if function is None:
        return "must be inside a kernel function"
    visibility = function.properties.get("sym_visibility")
    private = isinstance(visibility, at.StringAttr) and visibility.value == "private"
    alone = function.attributes.get("noinline") == at.IntegerAttr(1, ty.I1)
    return "must be inside a kernel function" if private and alone else None


verify_cluster_barrier = all_of(verify_cluster, _in_kernel)

_LEAST_STORE = 32
"""The bits of the shortest store to another block."""


def _several_blocks(op: Operation) -> str | None:
    return None if context_of(op).blocks > 1 else "requires at least two CTAs in the cluster"


def _wide_stores(op: Operation) -> str | None:
    source, target = op.operands[0].type, memdesc(op.operands[1])
    if not target.mutable:
        return "cannot store into immutable memory"
    if (problem := unlike_memory(source, target)) is not None:
        return problem
    held = known_layout(source)
    memory = gpu_rules.whole_layout(target)
    if held is None or memory is None:
        return None
    inverse, count = Inverse(memory), 1
    places = {inverse.place(basis, "offset") for basis in held.register}
    while count in places:
        count *= 2
    padded = gpu_rules.padding_of(target.encoding)
    if padded is not None:
        count = min([count, *(interval for interval, _ in padded["pads"])])
    wide = count * (ty.element_width(target.element) or 0) >= _LEAST_STORE
    return None if wide else f"requires a layout vectorizing stores to at least {_LEAST_STORE} bits"


verify_shared_store = all_of(_several_blocks, _wide_stores, barrier("mbarrier"))

# --- copies of tensors ------------------------------------------------------------------------------------------------


def _descriptor(op: Operation) -> DescriptorType:
    (value,) = given(op, "desc")
    assert isinstance(value.type, DescriptorType)
    return value.type


def _memory(op: Operation) -> SSAValue:
    """Return the memory that a copy writes or reads."""
    return next(value for name in ("result", "src") for value in given(op, name))


def _is_im2col(op: Operation) -> bool:
    return _descriptor(op).mnemonic == "tensordesc_im2col"


def _coordinates(op: Operation) -> str | None:
    count = len(given(op, "coord"))
    if _is_im2col(op):
        if count < 3:
            return f"IM2COL mode requires at least 3D coordinates, but got {count}D"
        return None if count < 6 else f"IM2COL mode supports at most 5D coordinates, but got {count}D"
    rank = len(_descriptor(op).shape)
    if count != rank:
        return f"expected {rank} coordinates, but got {count}"
    return None if 1 <= count <= 5 else "must have between 1 and 5 coordinates"


def _same_block(op: Operation) -> str | None:
    return gpu_rules.unlike_block(_descriptor(op), memdesc(_memory(op)).shape, memdesc(_memory(op)).element)


def _two_blocks(op: Operation) -> str | None:
    two = module_attribute(op, "ttng.two-ctas")
    if not isinstance(two, at.IntegerAttr):
        return None
    (value,) = given(op, "barrier")
    blocks, found = context_of(op).blocks, blocks_of_value(value)
    allowed = [_in_order(blocks), *([_in_order(blocks, 2)] if two.value else [])]
    if found in allowed:
        return None
    return f"TMA barrier cga_layout must be {' or '.join(map(shown_bases, allowed))}, got {shown_bases(found)}"


_FIELDS = ("transposed", "swizzlingByteWidth", "elementBitWidth", "fp4Padded")
"""The parameters that a descriptor and the memory of a copy share."""


def _same_layout(op: Operation) -> str | None:
    memory, layout = memdesc(_memory(op)), _descriptor(op).layout
    encoding = memory.encoding
    if not isinstance(encoding, DialectAttr) or encoding.definition.name != "ttg.nvmma_shared":
        return "TMA descriptor must have NVMMA shared layout"
    if encodings.rank_of(encoding) != len(memory.shape):
        return "TMA shared memory and layout ranks must match"
    if [parameter(layout, "ttg.nvmma_shared", field) for field in _FIELDS] != [encoding[field] for field in _FIELDS]:
        return (
            f"TMA descriptor layout must match shared layout, but got descriptor layout {layout} and shared memory "
            f"layout {encoding}"
        )
    return "TMA descriptor layout must not be transposed" if encoding["transposed"] else None


def _outside(op: Operation) -> bool:
    """Tell whether blocks of the cluster hold parts of the memory that this part of it does not have."""
    type_ = memdesc(_memory(op))
    layout = gpu_rules.whole_layout(type_)
    shape = without_stages(type_.shape, type_.encoding)
    return layout is not None and any(
        step >= size for basis in layout["block"] for step, size in zip(basis, shape, strict=True)
    )


def _mutable(op: Operation) -> str | None:
    return None if memdesc(_memory(op)).mutable else "cannot store into immutable memory"


def _multicast(op: Operation) -> str | None:
    if "multicast" not in op.properties or any(not any(basis) for basis in blocks_of_value(_memory(op))):
        return None
    return "multicast requires the shared layout to broadcast across CTAs"


def _mode(op: Operation) -> str | None:
    offsets, count = len(given(op, "offsets")), len(given(op, "coord"))
    if not _is_im2col(op):
        return "TILED mode does not support offsets" if offsets else None
    if not offsets:
        return "IM2COL mode requires offsets to be provided"
    if offsets == count - 2:
        return None
    return f"IM2COL mode with {count}D coordinates requires {count - 2} offsets, but got {offsets}"


def _not_padded(op: Operation) -> str | None:
    padded = parameter(memdesc(_memory(op)).encoding, "ttg.nvmma_shared", "fp4Padded")
    return "does not support fp4_padded operands" if padded else None


def _inside(op: Operation) -> str | None:
    return "source subview may have an origin in another CTA" if _outside(op) else None


_LOADS = (barrier("barrier"), _two_blocks, _mutable, _same_layout)
_STORES = (_not_padded, _inside, _same_layout)
verify_tma_load = all_of(_coordinates, _same_block, *_LOADS, _mode, _multicast)
verify_tma_store = all_of(_coordinates, _same_block, *_STORES)


_SIGNED = ty.IntegerType(32, "signed"), ty.IntegerType(64, "signed")
_UNSIGNED = ty.IntegerType(32, "unsigned"), ty.IntegerType(64, "unsigned")
_INTEGERS = frozenset((ty.I32, ty.I64, *_SIGNED, *_UNSIGNED))
_SMALL = frozenset((ty.F("f16"), ty.F("bf16")))
_REDUCED: Mapping[int, frozenset[ty.Type]] = {
    1: _INTEGERS - {_SIGNED[1]} | _SMALL | {ty.F("f32")},
    **dict.fromkeys((2, 3), _INTEGERS | _SMALL),
    **dict.fromkeys((6, 7, 8), _INTEGERS),
}
"""By kind of a reduction to global memory, the elements that it has; inc and dec have none."""
_KINDS = ("", "add", "min", "max", "inc", "dec", "and", "or", "xor")


def _reducible(op: Operation) -> str | None:
    kind, element = op.number("kind"), _descriptor(op).element
    if element in _REDUCED.get(kind, frozenset()):
        return None
    return f"unsupported reduce kind {_KINDS[kind]} for element type '{element}'"


verify_tma_reduce = all_of(verify_tma_store, _reducible)

_LEAST_ROWS = 4
"""The rows that an instruction gathers or scatters."""


def _rows(op: Operation) -> str | None:
    (offsets,) = given(op, "x_offsets")
    memory = memdesc(_memory(op))
    problem = gpu_rules.unlike_rows(_descriptor(op), memory.shape, memory.element, offsets.type)
    if problem is not None or encoding_of(offsets) is None:
        return problem
    layout = known_layout(offsets.type)
    if layout is None:
        return None
    if not {(1 << bit,) for bit in range(_LEAST_ROWS.bit_length() - 1)} <= set(layout.register):
        return f"x offsets must have at least {_LEAST_ROWS} contiguous elements per thread"
    if any(any(basis) for basis in layout.lane):
        return "x offsets must be broadcasted across each warp"
    if tuple([basis[:1] for basis in blocks_of_value(_memory(op))]) != blocks_of_value(offsets):
        return "x offsets must have the same row CGA layout as the memdesc"
    return None


verify_tma_gather = all_of(*_LOADS, _not_padded, _multicast, _rows)
verify_tma_scatter = all_of(*_STORES, _rows)


def verify_tensormap(op: Operation) -> str | None:
    """Check the number of the sizes and the strides of a descriptor."""
    rank = len(given(op, "box_dim"))
    for name, word, expected in (
        ("global_dim", "global dim", rank),
        ("global_stride", "global stride", rank - 1),
        ("element_stride", "element stride", rank),
    ):
        if (count := len(given(op, name))) != expected:
            return Unprefixed(f"Rank mismatch for {word}. Got {count} but expected {expected}")
    return None
