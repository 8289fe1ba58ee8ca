"""The rules of the layouts that ops of tt give their results, and of those of dots (`Triton/IR/Ops.cpp` and
`TritonGPU/IR/Dialect.cpp` of triton 3.9). A layout that is not known as a linear map is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.triton import encodings
from halfulp.interp.dialects.triton.encodings import Bases, blocks_of, is_encoding, parameter
from halfulp.interp.dialects.triton.gpu_rules import encoding_of, flattened, given, halved, known_layout, unflattened
from halfulp.interp.dialects.triton.layouts import Basis, LinearLayout
from halfulp.interp.dialects.triton.rules import order_of, sizes_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, SSAValue

# --- moving -----------------------------------------------------------------------------------------------------------


def _one_sided(source: SSAValue, result: SSAValue) -> bool:
    """Tell whether one of two tensors has a layout, and the other has none."""
    return (encoding_of(source) is None) != (encoding_of(result) is None)


def _mapped(layout: LinearLayout, shape: Sequence[int], move: Callable[[Basis], Sequence[int]]) -> LinearLayout:
    parts = (
        tuple([tuple(move(basis)) for basis in bases])
        for bases in (layout.register, layout.lane, layout.warp, layout.block)
    )
    return LinearLayout(tuple(shape), *parts)


def _unlike(expected: LinearLayout | None, result: SSAValue) -> str | None:
    found = known_layout(result.type)
    if expected is None or found is None or expected == found:
        return None
    return f"inferred layout {expected} is incompatible with the layout {encoding_of(result)} of the result"


def verify_trans(op: Operation) -> str | None:
    """Check that a transposition keeps each element where it is."""
    source, result, order = op.operands[0], op.results[0], order_of(op)
    if _one_sided(source, result):
        return "inferred type and the type of the result do not both have a layout"
    layout = known_layout(source.type)
    if layout is None:
        return None
    return _unlike(_mapped(layout, sizes_of(result.type), lambda basis: [basis[axis] for axis in order]), result)


def verify_expand_dims(op: Operation) -> str | None:
    """Check that the operand has a slice of the layout of the result."""
    source, result = encoding_of(op.operands[0]), encoding_of(op.results[0])
    if source is None or encodings.name_of(source).partition(".")[0] != "ttg":
        return None
    if not is_encoding(source, "ttg.slice"):
        return Unprefixed("ExpandDimsOp operand encoding must be SliceEncodingAttr")
    if parameter(source, "ttg.slice", "dim") != op.number("axis"):
        return Unprefixed("Incompatible slice dimension for ExpandDimsOp operand")
    same = parameter(source, "ttg.slice", "parent") == result
    return None if same else f"inferred layout {parameter(source, 'ttg.slice', 'parent')} is not that of the result"


def _reshaped(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    return _mapped(layout, shape, lambda basis: unflattened(flattened(basis, layout.shape), shape))


def verify_reshape(op: Operation) -> str | None:
    """Check that a reshape keeps each element where it is, unless it may reorder them."""
    source, result = op.operands[0], op.results[0]
    if _one_sided(source, result):
        return Unprefixed("Op requires that either (a) src and dst both have encodings, or (b) neither does.")
    layout, found = known_layout(source.type), known_layout(result.type)
    if "allow_reorder" in op.properties or layout is None or found is None:
        return None
    if _reshaped(layout, sizes_of(result.type)) == found:
        return None
    return Unprefixed(f"Expected result encoding is not {encoding_of(result)}")


_NO_PAIRS = Unprefixed("Fp4ToFpOp/SplitOp requires at least 2 elements per thread in the axis/last dimension")


def _last_pair(layout: LinearLayout) -> LinearLayout | None:
    """Return the layout of each half of a tensor whose last dimension has two elements; None if lanes share them."""
    found = halved(layout, len(layout.shape) - 1, first=False)
    return None if found is None else _mapped(found, layout.shape[:-1], lambda basis: basis[:-1])


def verify_split(op: Operation) -> str | None:
    """Check the elements of the halves, and that each lane has the pairs that it splits."""
    source, result = op.operands[0], op.results[0]
    if ty.element_type(source.type) != ty.element_type(result.type) or _one_sided(source, result):
        return f"inferred type(s) are incompatible with return type(s) of operation '{result.type}'"
    layout = known_layout(source.type)
    if layout is None:
        return None
    half = _last_pair(layout)
    return _NO_PAIRS if half is None else _unlike(half, result)


def _without_copies(layout: LinearLayout) -> tuple[Bases, ...]:
    register = tuple([basis for basis in layout.register if any(basis)])
    return register, layout.lane, layout.warp, layout.block


def verify_join(op: Operation) -> str | None:
    """Check that the halves of the result have the layout of the operands."""
    source, result = op.operands[0], op.results[0]
    if encoding_of(result) is None:
        return "result encoding must be specified" if encoding_of(source) is not None else None
    layout, whole = known_layout(source.type), known_layout(result.type)
    if layout is None or whole is None:
        return None
    half = _last_pair(whole)
    if half is None:
        return _NO_PAIRS
    return None if _without_copies(half) == _without_copies(layout) else "incompatible join layout"


def verify_cat(op: Operation) -> str | None:
    """Check that each lane has as many elements of the result as of the operands."""
    layouts = [known_layout(value.type) for value in (op.results[0], *op.operands)]
    counts = [0 if each is None else 1 << sum(any(basis) for basis in each.register) for each in layouts]
    if 0 in counts or counts[0] == sum(counts[1:]):
        return None
    return Unprefixed(
        f"{op.name} result encoding requires {counts[0]} non-broadcast register values, but operands provide "
        f"{sum(counts[1:])}"
    )


def verify_convert(op: Operation) -> str | None:
    """Check that a conversion by shuffles alone keeps each element in its warp."""
    one, other = (known_layout(value.type) for value in (op.operands[0], op.results[0]))
    if "force_warp_shuffle" not in op.properties or one is None or other is None:
        return None
    same = (one.warp, one.block) == (other.warp, other.block)
    return None if same else "force_warp_shuffle requires a conversion within one warp"


def verify_fp4(op: Operation) -> str | None:
    """Check the shape and the layout of unpacked elements."""
    result = op.results[0].type
    if str(ty.element_type(result)) not in ("f16", "bf16"):
        return Unprefixed(f"only bf16 or f16 is supported for now, got '{ty.element_type(result)}'")
    return unpacked(op, op.operands[0], op.results[0])


def unpacked(op: Operation, source: SSAValue, result: SSAValue) -> str | None:
    """Check that a result has two elements for each byte along the axis of an op, in the same lane."""
    sizes, shape, axis = sizes_of(source.type), sizes_of(result.type), op.number("axis")
    if len(sizes) != len(shape):
        return Unprefixed(f"source rank {len(sizes)} != result rank {len(shape)}")
    if not 0 <= axis < len(shape):
        return Unprefixed(f"axis {axis} out of range for rank {len(shape)}")
    for place, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if place == axis and whole != 2 * size:
            return Unprefixed(f"axis {axis} dimension must be 2x source dimension (src={size}, dst={whole})")
        if place != axis and whole != size:
            return Unprefixed(f"dimension {place} mismatch (src={size}, dst={whole}, axis={axis})")
    if _one_sided(source, result):
        return Unprefixed("source and result must both have an encoding, or neither")
    layout, whole_layout = known_layout(source.type), known_layout(result.type)
    if layout is None or whole_layout is None:
        return None
    half = halved(whole_layout, axis)
    if half is None:
        return Unprefixed("failed to infer encoding")
    return None if half == layout else Unprefixed("Src and Dst encodings are not compatible")


# --- dots -------------------------------------------------------------------------------------------------------------

_HOPPER = 3
_VERSIONS = (2, 3)
"""The versions of NVIDIA's matrix units whose operands are in registers."""


def _parent(operand: Attribute) -> Attribute | None:
    found = parameter(operand, "ttg.dot_op", "parent")
    return found if isinstance(found, Attribute) else None


def _like_wmma(one: Attribute | None, other: Attribute | None) -> bool:
    """Tell whether two layouts of WMMA are the same but for the blocks of a cluster."""
    if not isinstance(one, DialectAttr) or not isinstance(other, DialectAttr):
        return False
    if one.definition.name != "ttg.amd_wmma" or other.definition.name != "ttg.amd_wmma":
        return False
    return all(one[each.name] == other[each.name] for each in one.definition.parameters if each.name != "CGALayout")


def _wrong_operand(operand: Attribute, index: int, result: Attribute) -> str | None:
    parent = _parent(operand)
    if parameter(result, "ttg.nvidia_mma", "versionMajor") == _HOPPER:
        registers = (
            index == 0 and parameter(operand, "ttg.dot_op", "opIdx") == 0 and is_encoding(parent, "ttg.nvidia_mma")
        )
        fits = registers or is_encoding(operand, "ttg.nvmma_shared", "ttg.shared_linear")
        return None if fits else "unexpected operand layout for NvidiaMmaEncodingAttr v3"
    if parent is None:
        return "Dot's a/b's encoding should be of DotOperandEncodingAttr"
    if parameter(operand, "ttg.dot_op", "opIdx") != index:
        return "Wrong opIdx"
    return None if parent == result or _like_wmma(parent, result) else "Incompatible parent encoding"


def _unsupported(element: ty.Type) -> bool:
    name = str(element)
    return not (name[:2] == "f8" or name in ("f16", "bf16", "f32", "f64", "i8"))


def _wrong_mma(op: Operation, a: Attribute, b: Attribute, result: Attribute) -> str | None:
    parents = _parent(a), _parent(b), result
    versions = [parameter(each, "ttg.nvidia_mma", "versionMajor") for each in parents]
    if versions == [None] * 3:
        return None
    if None in versions:
        return "mismatching MMA encoding"
    if len(set(versions)) > 1:
        return "mismatched MMA version."
    elements = [ty.element_type(value.type) for value in op.operands[:2]]
    precision = op.number("inputPrecision")
    both = all(str(each) == "f32" for each in elements) and precision != 0
    wrong = both or any(map(_unsupported, elements))
    return "unsupported MMA version" if wrong and versions[0] in _VERSIONS else None


def _wrong_wmma(a: Attribute, b: Attribute, result: Attribute) -> str | None:
    if not all(is_encoding(each, "ttg.amd_wmma") for each in (_parent(a), _parent(b), result)):
        return None
    assert isinstance(result, DialectAttr)
    blocks = blocks_of(result)
    if any(not any(basis) for basis in blocks) or len(set(blocks)) < len(blocks):
        return "Accumulator CGA layout should not broadcast or have repeated rows"
    rank = encodings.rank_of(result)
    for index, operand in enumerate((a, b)):
        assert isinstance(operand, DialectAttr)
        kept = rank - 1 - index  # the rows of B and the columns of A are those of the sums
        expected = tuple([(*basis[:kept], 0, *basis[kept + 1 :]) for basis in blocks])
        if blocks_of(operand) != expected:
            return f"Incompatible CGA layout for operand {index}"
    return None


def verify_dot(op: Operation) -> str | None:
    """Check the layouts of the operands of a dot."""
    a, b, result = (encoding_of(value) for value in (*op.operands[:2], op.results[0]))
    if a is None and b is None:
        return None
    if a is None or b is None:
        return Unprefixed("mismatching encoding between A and B operands")
    if result is None:
        return Unprefixed("miss encoding of C operand")
    problem = _wrong_pair(op, a, b, result) or _wrong_operand(a, 0, result) or _wrong_operand(b, 1, result)
    return None if problem is None else Unprefixed(problem)


def _wrong_pair(op: Operation, a: Attribute, b: Attribute, result: Attribute) -> str | None:
    operands = [is_encoding(each, "ttg.dot_op") for each in (a, b)]
    if not any(operands):
        return None
    if not all(operands):
        return "mismatching encoding between A and B operands"
    if parameter(a, "ttg.dot_op", "kWidth") != parameter(b, "ttg.dot_op", "kWidth"):
        return "mismatching kWidth between A and B operands"
    return _wrong_mma(op, a, b, result) or _wrong_wmma(a, b, result)


_FACTORS = (16, 32)
"""How many elements share a scale."""
_PACKED = 4


def verify_scales(op: Operation) -> str | None:
    """Check how many elements share a scale, and the shapes of the scales."""
    a, b = (sizes_of(value.type) for value in op.operands[:2])
    rows, columns = sizes_of(op.results[0].type)[-2:]
    depths = []
    for shape, axis, name, side in ((a, -1, "a", "lhs"), (b, -2, "b", "rhs")):
        packed = op.number(f"{name}_elem_type") == _PACKED and op.number(f"{side}_k_pack")
        depths.append(shape[axis] * (2 if packed else 1))
    factor = 0
    scales = [[sizes_of(value.type) for value in given(op, f"{name}_scale")] for name in "ab"]
    for depth, found in zip(depths, scales, strict=True):
        for sizes in found:
            if prod(sizes) == 1:
                continue
            factor = depth // (sizes[-1] or 1)
            if factor not in _FACTORS:
                return Unprefixed(f"scale factor must be 16 or 32. Got {factor}")
    for word, size, found in (("M", rows, scales[0]), ("N", columns, scales[1])):
        for sizes in found:
            if not factor or prod(sizes) == 1:
                continue
            if sizes[-2] != size:
                return Unprefixed(f"scales {word} dimension must match the operand {word} dimension")
            if sizes[-1] != depths[0] // factor:
                return Unprefixed("scales K dimension must match the operand K divided by the scale factor")
    return None
