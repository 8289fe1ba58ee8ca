"""The rules of the layouts of TTGIR: which parameters a layout may have, and which tensors, memory and modules it fits
(`TritonGPU/IR/Dialect.cpp`, `TritonGPU/IR/Types.cpp` and `TritonNvidiaGPU/IR/Dialect.cpp` of triton 3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from halfulp.interp.dialects.elementwise import is_power_of_two
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import DialectAttr

Bases = tuple[tuple[int, ...], ...]

# --- parts ------------------------------------------------------------------------------------------------------------

_DISTRIBUTED = frozenset(
    ("blocked", "slice", "linear", "generic_linear", "dot_op", "nvidia_mma", "amd_mfma", "amd_wmma")
)
_SHARED = frozenset(
    (
        "swizzled_shared", "amd_rotating_shared", "nvmma_shared", "padded_shared", "shared_linear",
        "partitioned_shared",
    )
)  # fmt: skip
TENSOR_MEMORY, SCALES = "ttng.tensor_memory_encoding", "ttng.tensor_memory_scales_encoding"


def name_of(attribute: Attribute | None) -> str:
    """Return the name of an attribute of a dialect, such as ``ttg.blocked``; "" for any other."""
    return attribute.definition.name if isinstance(attribute, DialectAttr) else ""


def is_encoding(attribute: Attribute | None, *names: str) -> bool:
    """Tell whether an attribute is one of these, such as ``ttg.blocked``."""
    return name_of(attribute) in names


def parameter(attribute: Attribute | None, name: str, field: str) -> Any:
    """Return a parameter of an encoding; None if it is not an encoding of this name."""
    return attribute[field] if isinstance(attribute, DialectAttr) and attribute.definition.name == name else None


def is_distributed(attribute: Attribute | None) -> bool:
    """Tell whether an attribute says which lane of which warp holds an element."""
    dialect, _, mnemonic = name_of(attribute).partition(".")
    return dialect == "ttg" and mnemonic in _DISTRIBUTED


def is_shared(attribute: Attribute | None) -> bool:
    """Tell whether an attribute says where an element lies in shared memory."""
    dialect, _, mnemonic = name_of(attribute).partition(".")
    return dialect == "ttg" and mnemonic in _SHARED


def is_layout(attribute: Attribute | None) -> bool:
    """Tell whether an attribute is a layout of registers, of shared memory or of tensor memory."""
    return is_distributed(attribute) or is_shared(attribute) or is_encoding(attribute, TENSOR_MEMORY, SCALES)


def inputs_of(encoding: DialectAttr) -> Mapping[str, Bases]:
    """Return what the bits of each input add to the coordinates, of a layout that is written in this way."""
    match encoding.definition.name:
        case "ttg.linear" | "ttg.generic_linear":
            return {name: encoding[name] for name in ("register", "lane", "warp", "block")}
        case "ttg.padded_shared":
            return dict(encoding["offsets"][0])
        case "ttg.shared_linear":
            return dict(encoding["offsets"])
        case "ttg.amd_wmma":
            return dict(encoding["ctaLayout"])
    return {}


def rank_of(encoding: DialectAttr) -> int:
    """Return the number of dimensions of a layout."""
    match encoding.definition.name:
        case "ttg.blocked" | "ttg.swizzled_shared" | "ttg.amd_rotating_shared":
            return len(encoding["order"])
        case "ttg.slice":
            return rank_of(encoding["parent"]) - 1
        case "ttg.dot_op":
            return rank_of(encoding["parent"])
        case "ttg.nvidia_mma" | "ttg.amd_mfma":
            return len(encoding["warpsPerCTA"])
        case "ttg.nvmma_shared":
            return encoding["rank"] or len(next(iter(encoding["CGALayout"] or ((0, 0),))))
        case "ttg.padded_shared":
            rank: int = encoding["offsets"][1]
            return rank
        case "ttg.partitioned_shared":
            return rank_of(encoding["partitionLayout"])
    given: Sequence[Bases] = [*inputs_of(encoding).values()]
    return next((len(basis) for bases in given for basis in bases), 2)


def blocks_of(encoding: DialectAttr) -> Bases:
    """Return how the blocks of a cluster divide what has this layout: what the bits of the number of a block add."""
    match encoding.definition.name:
        case "ttg.slice":
            dim = encoding["dim"]
            return tuple([basis[:dim] + basis[dim + 1 :] for basis in blocks_of(encoding["parent"])])
        case "ttg.dot_op":
            rank = rank_of(encoding)
            deep = rank - 2 if encoding["opIdx"] else rank - 1
            return tuple([(*basis[:deep], 0, *basis[deep + 1 :]) for basis in blocks_of(encoding["parent"])])
        case "ttg.partitioned_shared":
            return blocks_of(encoding["partitionLayout"])
        case "ttg.linear" | "ttg.generic_linear" | "ttg.padded_shared" | "ttg.shared_linear":
            return tuple(map(tuple, inputs_of(encoding)["block"]))
    return tuple(map(tuple, encoding["CGALayout"] or ()))


def split(bases: Bases, axis: int) -> int:
    """Return into how many parts the blocks of a cluster divide an axis."""
    return prod(2 for basis in bases if basis[axis])


def extents(bases: Sequence[Bases], rank: int) -> tuple[int, ...]:
    """Return the sizes of the smallest shape in which these bases stay."""
    highest = [max((basis[axis] for each in bases for basis in each), default=0) for axis in range(rank)]
    return tuple([1 << value.bit_length() for value in highest])


def without_stages(shape: Sequence[int], encoding: Attribute) -> tuple[int, ...]:
    """Return the sizes of a block of memory that its layout covers, without those of a list of such blocks."""
    assert isinstance(encoding, DialectAttr)
    return tuple(shape[-rank_of(encoding) :])


# --- parameters -------------------------------------------------------------------------------------------------------


def _not_permuted(bases: Sequence[tuple[int, ...]]) -> bool:
    """Tell whether two bases that are not zero share a bit, or whether one has several bits."""
    kept = [basis for basis in bases if any(basis)]
    single = all(sum(value.bit_count() for value in basis) == 1 for basis in kept)
    return not single or len(set(kept)) < len(kept)


def _dependent(bases: Sequence[tuple[int, ...]]) -> bool:
    """Tell whether a sum of some of the bases is zero."""
    rows: list[int] = []
    for basis in bases:
        row = sum(value << 32 * axis for axis, value in enumerate(basis))
        for other in rows:
            row = min(row, row ^ other)
        if not row:
            return True
        rows.append(row)
        rows.sort(reverse=True)
    return False


def _not_surjective(bases: Sequence[tuple[int, ...]]) -> bool:
    """Tell whether some coordinates in the shape that the bases span are no sum of them."""
    kept: list[tuple[int, ...]] = []
    for basis in bases:
        if not _dependent([*kept, basis]):
            kept.append(basis)
    rank = len(bases[0]) if bases else 0
    return 1 << len(kept) != prod(extents([tuple(bases)], rank))


def _wrong_order(order: Sequence[int]) -> str | None:
    if sorted(order) == list(range(len(order))):
        return None
    return f"order must be a permutation of 0..(rank-1), but was [{', '.join(map(str, order))}]"


def _wrong_blocks(encoding: DialectAttr) -> str | None:
    given, rank = encoding["CGALayout"], rank_of(encoding)
    if any(len(basis) != rank or min(basis, default=0) < 0 for basis in given or ()):
        return f"'CGALayout' entry length does not match rank {rank}"
    if _not_permuted(given or ()) or (given and _not_surjective(given)):
        return "After removing broadcast bases the CGA encoding must be a permutation matrix"
    return None


def _blocked(encoding: DialectAttr) -> str | None:
    fields = ("sizePerThread", "threadsPerWarp", "warpsPerCTA")
    if {len(encoding[field]) for field in fields} != {len(encoding["order"])}:
        return "sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank."
    for field in fields:
        if not all(map(is_power_of_two, encoding[field])):
            return f"Every element in {field} must be a power of two."
    return _wrong_order(encoding["order"])


def _slice(encoding: DialectAttr) -> str | None:
    parent = encoding["parent"]
    if not is_distributed(parent):
        return "expected a distributed encoding trait"
    rank = rank_of(parent)
    if rank < 2:
        return "parent layout must have at least rank >= 2"
    dim = encoding["dim"]
    return None if 0 <= dim < rank else f"slice dim={dim} must be less than the parent rank={rank}"


def _all_bases(encoding: DialectAttr) -> list[tuple[int, ...]]:
    return [tuple(basis) for bases in inputs_of(encoding).values() for basis in bases]


def _linear(encoding: DialectAttr) -> str | None:
    if not (bases := _all_bases(encoding)):
        return "Empty Layout not supported"
    if not _not_permuted(bases) and not _not_surjective(bases):
        return None
    return "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases"


def _generic_linear(encoding: DialectAttr) -> str | None:
    for name, bases in inputs_of(encoding).items():
        if name != "warp" and any(sum(map(bool, basis)) > 1 for basis in bases):
            return (
                "In a generic linear layout, register, lane, and block bases must move in at most one dimension. "
                f"Swizzled bases found in '{name}'."
            )
    if not _not_surjective(_all_bases(encoding)):
        return None
    return "Generic linear layout must be surjective, i.e. all output values must be covered by some input."


_VOLTA, AMPERE, HOPPER = 1, 2, 3
"""The versions of NVIDIA's matrix units."""


def _nvidia_mma(encoding: DialectAttr) -> str | None:
    version = encoding["versionMajor"]
    if version in (AMPERE, HOPPER):
        return None
    if version == _VOLTA:
        return "Volta (versionMajor = 1) is deprecated and no longer supported"
    return f"versionMajor must be 2 (Ampere) or 3 (Hopper), got {version}"


_TILES_OF_MFMA = frozenset(((32, 32), (16, 16), (64, 4), (4, 64)))
_TILES_OF_WMMA: Mapping[int, frozenset[tuple[int, ...]]] = {
    1: frozenset(((16, 16, 16),)),
    2: frozenset(((16, 16, 16), (16, 16, 32))),
    3: frozenset(((16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128))),
}
"""The shapes of the instructions by their version."""


def _mfma(encoding: DialectAttr) -> str | None:
    if not 0 <= encoding["version"] <= 4:
        return "version must be in the [0, 4] range"
    tile = encoding["instrShape"][:2]
    if tile not in _TILES_OF_MFMA:
        return f"invalid (mDim, nDim) combination: ({', '.join(map(str, tile))})"
    return None if encoding["elementBitWidth"] in (32, 64) else "elementBitWidth must be 32 or 64"


def _wmma(encoding: DialectAttr) -> str | None:
    version = encoding["version"]
    if version not in _TILES_OF_WMMA:
        return "WMMA version must be in the [1, 3] range"
    known = encoding["instrShape"] in _TILES_OF_WMMA[version]
    return None if known else f"invalid WMMA v{version} instruction shape"


_WIDTHS_OF_WMMA = {1: (8, 16), 2: (4, 8, 16)}
"""The values of kWidth by the version of WMMA."""


def _dot_op(encoding: DialectAttr) -> str | None:
    index, parent, width = encoding["opIdx"], encoding["parent"], encoding["kWidth"]
    word = "ttg.dot_op kWidth parameter"
    if index not in (0, 1):
        return f"ttg.dot_op opIdx parameter can be 0 or 1, got: {index}"
    match name_of(parent):
        case "ttg.nvidia_mma":
            narrow = parent["versionMajor"] in (AMPERE, HOPPER)
            if narrow != bool(width):
                what = "mandatory" if narrow else "can only be non-zero"
                return f"{word} is {what} for Ampere or Hopper MMA parent"
            if index and parent["versionMajor"] == HOPPER:
                return (
                    "ttg.dot_op opIdx parameter must be 0 for Hopper MMA parent, since Hopper WGMMA only allows first "
                    "operand to be in registers"
                )
        case "ttg.amd_wmma":
            version = parent["version"]
            allowed = _WIDTHS_OF_WMMA.get(version)
            if allowed is not None and width not in allowed:
                shown = "/".join(map(str, allowed))
                return f"{word} must be {shown} for WMMA v{version} (including packed cases for `scaled_dot`)"
            if allowed is None and not width:
                return f"{word} is mandatory for WMMA v{version} "
        case "ttg.amd_mfma":
            return None if width else f"{word} is mandatory for MFMA parent"
        case "ttg.blocked":
            return f"{word} is not supported when the parent is a blocked layout" if width else None
        case _:
            return f"ttg.dot_op unexpected parent layout: {parent}"
    return None


def _swizzled(encoding: DialectAttr) -> str | None:
    return _wrong_order(encoding["order"])


def _nvmma_shared(encoding: DialectAttr) -> str | None:
    if not encoding["elementBitWidth"]:
        return "elementBitWidth must be non-zero"
    return (
        None if encoding["swizzlingByteWidth"] in (0, 32, 64, 128) else "swizzlingByteWidth must be 0, 32, 64, or 128"
    )


def _padded(encoding: DialectAttr) -> str | None:
    pads = encoding["pads"]
    if not pads:
        return "must have at least one interval-padding pair"
    for what, values in zip(("interval", "padding"), zip(*pads, strict=True), strict=True):
        if not all(map(is_power_of_two, values)):
            return f"{what} values must all be power of two"
    if len({interval for interval, _ in pads}) < len(pads):
        return "interval values cannot have duplicates"
    inputs = inputs_of(encoding)
    if _dependent(inputs["offset"]):
        return "Broadcasting in offset dimension is not supported."
    for basis in _all_bases(encoding):
        if sum(map(bool, basis)) > 1:
            return "Each offset basis must move in at most one dimension."
        if any(value and not is_power_of_two(value) for value in basis):
            return "Each offset basis must be 0 or a power of two."
    return None


def _shared_linear(encoding: DialectAttr) -> str | None:
    if not is_power_of_two(encoding["alignment"]):
        return "alignment must be a positive power of two"
    bases = _all_bases(encoding)
    if not bases:
        return "Empty Layout not supported"
    if _not_surjective(bases):
        return "The layout must be surjective"
    if _dependent([basis for basis in bases if any(basis)]):
        return "After removing the zero bases the layout must be bijective"
    return None


def _partitioned(encoding: DialectAttr) -> str | None:
    if encoding["numPartitions"] < 2 or not is_power_of_two(encoding["numPartitions"]):
        return "numPartitions must be a power of 2 and at least 2"
    if not is_power_of_two(encoding["numGroups"]):
        return "numGroups must be a power of 2 and greater than 0"
    if not is_shared(encoding["partitionLayout"]):
        return "partitionLayout must be a layout of shared memory"
    dim, rank = encoding["partitionDim"], rank_of(encoding)
    return None if 0 <= dim < rank else f"partitionDim ({dim}) must be less than the layout rank ({rank})"


def _tensor_memory(encoding: DialectAttr) -> str | None:
    rows, columns, stride = encoding["blockM"], encoding["blockN"], encoding["colStride"]
    blocks = encoding["CGALayout"] or ()
    if encoding["twoCTAs"] and (not blocks or blocks[0] != (1, 0)):
        return "twoCTAs layout requires the first CGALayout block basis to be [1, 0]"
    if rows not in (64, 128):
        return f"blockM must be 64 or 128 but got {rows}"
    if not is_power_of_two(columns):
        return f"blockN must be a power of 2 but got {columns}"
    if columns > 512:
        return f"blockN must be less than or equal to 512 but got {columns}"
    if stride not in (1, 2, 4):
        return f"colStride must be 1, 2, or 4 but got {stride}"
    if encoding["fp4Padded"] and stride != 1:
        return f"fp4Padded tensor memory layout requires colStride 1 but got {stride}"
    return None


_RULES: Mapping[str, tuple[Callable[[DialectAttr], str | None], ...]] = {
    "blocked": (_blocked, _wrong_blocks),
    "slice": (_slice,),
    "linear": (_linear,),
    "generic_linear": (_generic_linear,),
    "dot_op": (_dot_op,),
    "nvidia_mma": (_nvidia_mma, _wrong_blocks),
    "amd_mfma": (_mfma, _wrong_blocks),
    "amd_wmma": (_wmma, _wrong_blocks),
    "swizzled_shared": (_swizzled, _wrong_blocks),
    "amd_rotating_shared": (_swizzled, _wrong_blocks),
    "nvmma_shared": (_nvmma_shared, _wrong_blocks),
    "padded_shared": (_padded,),
    "shared_linear": (_shared_linear,),
    "partitioned_shared": (_partitioned,),
    "tensor_memory_encoding": (_wrong_blocks, _tensor_memory),
    "tensor_memory_scales_encoding": (_wrong_blocks,),
}


def verify(encoding: DialectAttr) -> str | None:
    """Check the parameters of a layout."""
    bases = _all_bases(encoding) if encoding.definition.name != "ttg.partitioned_shared" else []
    if any(len(basis) != len(bases[0]) or min(basis, default=0) < 0 for basis in bases):
        return "the bases of a layout must have one length, and no negative numbers"
    rules = _RULES[encoding.definition.name.partition(".")[2]]
    return next((problem for rule in rules if (problem := rule(encoding)) is not None), None)


# --- blocks of memory -------------------------------------------------------------------------------------------------


def _commas(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def verify_memory(
    shape: tuple[int, ...], element: ty.Type, encoding: Attribute, space: Attribute, whole: tuple[int, ...]
) -> str | None:
    """Check the parts of the type of a block of memory."""
    if not shape:
        return "rank 0 memdesc is not allowed"
    width = ty.element_width(element) or 0
    if width != 1 and width < 8:
        return f"element type bit width must be 1 or at least 8; got {width}"
    for word, sizes in (("shape", shape), ("alloc shape", whole)):
        if 0 in sizes:
            return f"{word} has 0 dimension"
    if len(whole) < len(shape):
        return "alloc shape must have at least as many dimensions as shape"
    if not isinstance(encoding, DialectAttr) or not is_layout(encoding) or is_distributed(encoding):
        return f"{encoding} is not a valid encoding"
    rank = rank_of(encoding)
    name = encoding.definition.name
    if name == TENSOR_MEMORY and len(shape) not in (2, 3):
        return "rank must be 2 or 3"
    if name == SCALES and len(shape) != 2:
        return f"tensor-memory scale descriptors must have rank 2; got {len(shape)}"
    if len(shape) not in (rank, rank + 1):
        return f"rank must be equal to or one less than the shape size. Got {rank} and {len(shape)}"
    for word, sizes in (("shape", shape), ("alloc shape", whole)):
        if not all(map(is_power_of_two, without_stages(sizes, encoding))):
            return f"{word} must have power-of-2 and non-zero dimensions; got {_commas(sizes)}"
    if any(one > other for one, other in zip(shape, whole[-len(shape) :], strict=True)):
        return (
            f"shape must be less than or equal to allocShape. shape = {_commas(shape)}, allocShape = {_commas(whole)}"
        )
    if is_shared(encoding):
        if not is_encoding(space, "ttg.shared_memory"):
            return f"memorySpace must be SharedMemorySpace for shared encoding. Got {space}"
        return _OF_SHARED[name](encoding, without_stages(whole, encoding), whole) if name in _OF_SHARED else None
    if not is_encoding(space, "ttng.tensor_memory"):
        return "memorySpace must be TensorMemorySpace"
    if name == SCALES:
        if len(whole) != 2:
            return "Scales don't currently support multibuffering"
        return None if width == 8 else "bitwidth must be 8"
    return _fits_tensor_memory(encoding, shape, width)


def _fits_tensor_memory(encoding: DialectAttr, shape: tuple[int, ...], width: int) -> str | None:
    if width < 8:
        return f"tensor-memory element type bit width must be at least 8; got {width}"
    if width * encoding["colStride"] > 32:
        return f"bitwidth * colStride must be less than or equal to 32. Got {width} and {encoding['colStride']}"
    blocks = blocks_of(encoding)
    least = encoding["blockM"] * split(blocks, 0), min(encoding["blockN"], shape[-1]) * split(blocks, 1)
    if shape[-2] < least[0] or shape[-1] < least[1]:
        return f"the tensor shape must be at least {least[0]}x{least[1]}. Got {_commas(shape)}"
    return None


def _fits(encoding: DialectAttr, inner: tuple[int, ...], whole: tuple[int, ...]) -> str | None:
    """Check that a block of memory has the shape that the bases of its layout span."""
    found = extents(tuple(inputs_of(encoding).values()), len(inner))
    for axis, (size, spanned) in enumerate(zip(inner, found, strict=True)):
        if size != spanned:
            return f"Mismatch in expected shape for dimension {axis}. Expected: {size}, got: {spanned}"
    return None


def _fits_swizzle(encoding: DialectAttr, inner: tuple[int, ...], whole: tuple[int, ...]) -> str | None:
    """Check that a row is at least as long as the pattern that its layout repeats."""
    blocks = blocks_of(encoding)
    parts = [max(size // split(blocks, axis), 1) for axis, size in enumerate(inner)]
    axis = 0 if encoding["transposed"] else len(parts) - 1
    size = min(parts[axis] * (2 if encoding["fp4Padded"] else 1), 256)
    swizzle = encoding["swizzlingByteWidth"]
    least = 8 * swizzle // encoding["elementBitWidth"]
    if size >= least:
        return None
    return (
        f"block shape along the contiguous dimension {axis} is too small for the swizzle byte size {swizzle} in an "
        f"NVMMASharedLayout, got {size} but expected at least {least}"
    )


_OF_SHARED: Mapping[str, Callable[[DialectAttr, tuple[int, ...], tuple[int, ...]], str | None]] = {
    "ttg.padded_shared": _fits,
    "ttg.shared_linear": _fits,
    "ttg.nvmma_shared": _fits_swizzle,
}

# --- modules ----------------------------------------------------------------------------------------------------------


class Context(NamedTuple):
    """What a module says about its threads: blocks of a cluster, lanes of a warp, warps of a block or None."""

    blocks: int
    lanes: int
    warps: int | None


def _held(encoding: DialectAttr) -> tuple[int, int] | None:
    """Return the number of lanes and of warps that a layout is for."""
    match encoding.definition.name:
        case "ttg.blocked":
            return prod(encoding["threadsPerWarp"]), prod(encoding["warpsPerCTA"])
        case "ttg.slice" | "ttg.dot_op":
            return _held(encoding["parent"])
        case "ttg.linear" | "ttg.generic_linear":
            return 1 << len(encoding["lane"]), 1 << len(encoding["warp"])
        case "ttg.nvidia_mma":
            return 32, prod(encoding["warpsPerCTA"])
        case "ttg.amd_mfma":
            return 64, prod(encoding["warpsPerCTA"])
        case "ttg.amd_wmma":
            return 32, 1 << len(inputs_of(encoding)["warp"])
    return None


def verify_tensor(encoding: Attribute | None, shape: tuple[int, ...], context: Context) -> str | None:
    """Check that a layout fits a tensor and the module around it."""
    if not isinstance(encoding, DialectAttr) or encoding.definition.dialect not in ("ttg", "ttng"):
        return None
    if is_layout(encoding):
        if (rank := rank_of(encoding)) != len(shape):
            return f"Layout has rank {rank}, but the tensor it's attached to has rank {len(shape)}."
        if (problem := _verify_blocks(encoding, context)) is not None:
            return problem
    held = _held(encoding)
    if held is None:
        return "Non-distributed layout is not allowed in tensor type."
    lanes, warps = held
    if not all(map(is_power_of_two, shape)):
        return f"the tensor it's attached to has shape {_commas(shape)} which is not a power of two."
    if lanes != context.lanes:
        return (
            f"{encoding}.\nLayout has {lanes} threads per warp, but the module specifies {context.lanes} threads per "
            "warp."
        )
    if context.warps is None:
        return "Could not determine the number of warps per CTA. Operation is not in a context with `ttg.num-warps`."
    if warps != context.warps:
        return f"{encoding}.\nLayout has {warps} warps per CTA, but the context requires {context.warps} warps per CTA."
    return None


def verify_blocks_of_memory(encoding: Attribute, context: Context) -> str | None:
    """Check that the layout of a block of memory fits the module around it."""
    return _verify_blocks(encoding, context) if isinstance(encoding, DialectAttr) and is_layout(encoding) else None


def _verify_blocks(encoding: DialectAttr, context: Context) -> str | None:
    blocks = 1 << len(blocks_of(encoding))
    if blocks == context.blocks:
        return None
    return f"{encoding}.\nLayout has {blocks} CTAs per CGA, but the context requires {context.blocks} CTAs per CGA."
