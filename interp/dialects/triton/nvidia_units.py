"""The rules of the ops of ttng that name a unit: the matrix units, tensor memory and packed arithmetic
(`TritonNvidiaGPU/IR/Ops.cpp` of triton 3.9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.triton import encodings, gpu_rules
from halfulp.interp.dialects.triton.encodings import Bases, blocks_of, is_encoding, is_shared, parameter, without_stages
from halfulp.interp.dialects.triton.gpu_rules import (
    encoding_of,
    given,
    halved,
    known_layout,
    memdesc,
    module_attribute,
    unlike_memory,
    verify_tensor_memory,
)
from halfulp.interp.dialects.triton.memory_layouts import Inverse
from halfulp.interp.dialects.triton.nvidia_rules import (
    barrier,
    blocks_of_value,
    completion,
    contiguous_memory,
    optional_integer,
    shown_bases,
)
from halfulp.interp.dialects.triton.rules import UNEQUAL_DEPTHS, sizes_of
from halfulp.interp.dialects.triton.types import MemDescType, context_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, Rule, all_of

# --- dots -------------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """The kind of a dot of tcgen05, and the elements that its sums may have."""

    name: str
    sums: tuple[str, ...]


_OF_ELEMENT: Mapping[str, _Kind] = {
    "f32": _Kind("tf32", ("f32",)),
    "f16": _Kind("f16", ("f16", "f32")),
    "bf16": _Kind("f16", ("f32",)),
    "i8": _Kind("i8", ("i32",)),
}
_NARROW = _Kind("f8f6f4", ("f16", "f32"))
_STORED = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "bf16", "f16")
"""The elements by the kind of an operand with scales, if it is stored as integers."""


def _kind(element: str) -> _Kind | None:
    found = _OF_ELEMENT.get(element)
    return _NARROW if found is None and element[:2] in ("f4", "f6", "f8") else found


def _wrong_elements(a: str, b: str, d: str) -> str | None:
    kinds = _kind(a), _kind(b)
    for side, element, kind in zip(("LHS", "RHS"), (a, b), kinds, strict=True):
        if kind is None:
            return f"unsupported {side} operand dtype: '{element}'"
    one, other = kinds
    assert one is not None
    assert other is not None
    if one.name != other.name:
        return f"LHS and RHS operand dtypes kinds don't match: LHS kind is {one.name} but RHS kind is {other.name}"
    if d in one.sums and d in other.sums:
        return None
    shown = ", ".join(f"'{each}'" for each in one.sums)
    return (
        f"unsupported accumulator dtype for operand types '{a}' and '{b}', accumulator dtype is '{d}' but must be one "
        f"of [{shown}]"
    )


def _synchronous(op: Operation) -> str | None:
    wrong = given(op, "barriers") and "is_async" not in op.properties
    return "The op is synchronous but a barrier is present." if wrong else None


_COMPLETING = (_synchronous, barrier("barriers"), completion("barriers"))


def _operands(op: Operation) -> tuple[MemDescType, MemDescType, MemDescType]:
    a, b, d = (memdesc(given(op, name)[0]) for name in "abd")
    return a, b, d


def _sizes(op: Operation, name: str) -> tuple[int, int]:
    """Return the rows and the columns of an operand, in elements of the product."""
    type_ = given(op, name)[0].type
    sizes = type_.shape if isinstance(type_, MemDescType) else sizes_of(type_)
    rows, columns = sizes[-2:]
    if f"{name}_type" not in op.properties or op.number(f"{name}_type") != _E2M1:
        return rows, columns
    transposed = parameter(encoding_of(given(op, name)[0]), "ttg.nvmma_shared", "transposed")
    # A byte holds two elements along K: along the columns of A and the rows of B, unless the memory is transposed.
    along_columns = (not transposed) if name == "a" else transposed is False
    return (rows, 2 * columns) if along_columns else (2 * rows, columns)


def _shapes(op: Operation) -> str | None:
    (rows, depth), (depths, columns) = _sizes(op, "a"), _sizes(op, "b")
    if depth != depths:
        return UNEQUAL_DEPTHS
    total = given(op, "d")[0].type
    sizes = total.shape if isinstance(total, MemDescType) else sizes_of(total)
    return None if sizes[-2:] == (rows, columns) else "expected the output shape to be that of the product"


def _elements(op: Operation) -> str | None:
    return _wrong_elements(*(str(each.element) for each in _operands(op)))


def _forms(op: Operation) -> str | None:
    a, b, d = _operands(op)
    for word, each in (("LHS", a), ("RHS", b), ("Return", d)):
        if len(each.shape) != 2:
            return f"{word} operand must have a rank-2 tensor"
    shared = "ttg.nvmma_shared", "ttg.shared_linear"
    if not is_encoding(a.encoding, *shared, encodings.TENSOR_MEMORY):
        return "LHS operand must have a NVMMAShared or TensorMemory encoding"
    if not is_encoding(b.encoding, *shared):
        return "RHS operand must have a NVMMAShared encoding"
    if not is_encoding(d.encoding, encodings.TENSOR_MEMORY):
        return "Return operand must have a TensorMemory encoding"
    two = "two_ctas" in op.properties
    assert isinstance(d.encoding, DialectAttr)
    if d.encoding["fp4Padded"]:
        return "Accumulator must not be fp4_padded"
    width = ty.element_width(d.element) or 1
    if d.encoding["colStride"] != 32 // width:
        return f"The col stride of the return operand must be 32 / {width} but got {d.encoding['colStride']}"
    blocks = blocks_of(d.encoding)
    columns = d.shape[1] // encodings.split(blocks, 1)
    if min(d.encoding["blockN"], columns) > 256:
        return "The block size of the return operand must be less than or equal to 256"
    for word, each, axis in (("LHS", a, 1), ("RHS", b, 0)):
        assert isinstance(each.encoding, DialectAttr)
        if (parts := encodings.split(blocks_of(each.encoding), axis)) != 1:
            return f"{word} CTASplit along K should be 1, but got {parts}"
    if is_encoding(a.encoding, encodings.TENSOR_MEMORY):
        assert isinstance(a.encoding, DialectAttr)
        if a.encoding["colStride"] != 1:
            return "The col stride of the LHS operand must be 1"
        if a.encoding["fp4Padded"]:
            return "fp4_padded tensor memory LHS is only supported by scaled MMA"
    for word, encoding in (("returned value's", d.encoding), ("LHS operand's", a.encoding)):
        if parameter(encoding, encodings.TENSOR_MEMORY, "twoCTAs") not in (two, None):
            kernel = "a twoCTA" if two else "a non-twoCTA"
            return f"The {word} encoding must have twoCTA={int(two)} to be used in {kernel} kernel"
    return None


verify_mma = all_of(verify_tensor_memory, *_COMPLETING, _elements, _forms, _shapes)
verify_commit = all_of(verify_tensor_memory, barrier("barrier"), completion("barrier"))

_E4M3, _E5M2, _E2M1 = 0, 1, 4
_RUBIN = "cuda:107"


def _stored(op: Operation, name: str) -> str:
    element = memdesc(given(op, name)[0]).element
    return str(element) if isinstance(element, ty.FloatType) else _STORED[op.number(f"{name}_type")]


def _scaled_elements(op: Operation) -> str | None:
    a, _, d = _operands(op)
    if (problem := _wrong_elements(_stored(op, "a"), _stored(op, "b"), str(d.element))) is not None:
        return problem
    if not is_encoding(d.encoding, encodings.TENSOR_MEMORY):
        return "expected accumulator layout to be a TensorMemoryLayout"
    assert isinstance(d.encoding, DialectAttr)
    if d.encoding["fp4Padded"]:
        return "accumulator layout must not be fp4_padded"
    if d.encoding["blockM"] != 128:
        return "only supports instruction shape blockM=128"
    if not is_encoding(a.encoding, encodings.TENSOR_MEMORY):
        return None
    kind, wide = op.number("a_type"), op.number("b_type") in (_E4M3, _E5M2)
    padded = parameter(a.encoding, encodings.TENSOR_MEMORY, "fp4Padded")
    if kind == _E2M1:
        if a.element != ty.IntegerType(8):
            return "expected e2m1 LHS operand to have i8 storage"
        if padded and not wide:
            return "can only use fp4_padded LHS when RHS is float8"
        return "expected e2m1 LHS operand to be fp4_padded when RHS is float8" if wide and not padded else None
    if str(a.element) not in ("f8E4M3FN", "f8E5M2"):
        return "unsupported LHS operand type for scaled MMA"
    return None if kind in (_E4M3, _E5M2) else "expected float8 LHS operand to have e4m3 or e5m2 format"


def _orders(op: Operation) -> str | None:
    """Check the order in which tensor memory has the blocks of scales."""
    target = module_attribute(op, "ttg.target")
    scales = [memdesc(given(op, f"{name}_scale")[0]) for name in "ab"]
    nvfp4 = all(op.number(f"{name}_type") == _E2M1 for name in "ab") and all(
        str(each.element) == "f8E4M3FN" for each in scales
    )
    special = isinstance(target, at.StringAttr) and target.value == _RUBIN and nvfp4
    for name, each in zip("AB", scales, strict=True):
        if not is_encoding(each.space, "ttng.tensor_memory") or not isinstance(each.encoding, DialectAttr):
            continue
        blocks = blocks_of(each.encoding)
        several = (
            each.shape[-2] // encodings.split(blocks, 0) > 128 and each.shape[-1] // encodings.split(blocks, 1) > 4
        )
        found = parameter(each.encoding, encodings.SCALES, "blockRepOrder")
        expected = "kThenMn" if special and name == "A" else "mnThenK"
        word = f"{name} scales in tensor memory must use #ttng.tensor_memory_scales_encoding"
        if found is None and several:
            return word
        if found is not None and (several or found != "mnThenK") and found != expected:
            return f"{word}<blockRepOrder = {expected}>"
    return None


verify_scaled_mma = all_of(verify_tensor_memory, *_COMPLETING, _scaled_elements, _orders, _shapes)

_HOPPER = 3


def verify_wgmma(op: Operation) -> str | None:
    """Check the layouts of the operands of wgmma."""
    a, result = given(op, "a")[0], op.results[0]
    if parameter(encoding_of(result), "ttg.nvidia_mma", "versionMajor") != _HOPPER:
        return "WGMMA result layout must be Hopper NVMMA"
    if not is_encoding(encoding_of(a), "ttg.nvmma_shared", "ttg.dot_op", "ttg.shared_linear"):
        return "WGMMA A operand must have NVMMA shared or dot layout"
    if not is_encoding(encoding_of(given(op, "b")[0]), "ttg.nvmma_shared", "ttg.shared_linear"):
        return "WGMMA B operand must have NVMMA shared layout"
    if (context_of(op).warps or 0) % 4:
        return "WGMMA requires num_warps to be divisible by 4"
    shape, blocks = sizes_of(result.type), blocks_of_value(result)
    if len(shape) != 2:
        return "WGMMA result shape must be 2D"
    for axis, word, unit in ((0, "M", 64), (1, "N", 8)):
        if shape[axis] // encodings.split(blocks, axis) % unit:
            return f"WGMMA result {word} dimension must be divisible by {unit}"
    element = a.type.element if isinstance(a.type, MemDescType) else ty.element_type(a.type)
    narrow = str(element) in ("f8E5M2", "f8E4M3FN") and ty.element_type(result.type) == ty.F("f32")
    if narrow and op.number("maxNumImpreciseAcc") < 32:
        return "Cannot use F32 as the accumulator element type when the max_num_imprecise_acc is less than 32"
    width, found = 32 // (ty.element_width(element) or 32), parameter(encoding_of(a), "ttg.dot_op", "kWidth")
    if found in (None, width):
        return None
    return f"in-register LHS operand must have a kWidth of {width} but got {found}"


def verify_wait(op: Operation) -> str | None:
    """Check that there is something to wait for."""
    return None if op.operands else "expected to be waiting on at least one dependency"


# --- tensor memory ----------------------------------------------------------------------------------------------------


def _of_tensor_memory(name: str, end: str = ".") -> Rule:
    """Return the rule that an operand or a result lies in tensor memory."""

    def verify(op: Operation) -> str | None:
        (value,) = given(op, name)
        found = is_encoding(encoding_of(value), encodings.TENSOR_MEMORY, encodings.SCALES)
        return None if found else f"should use tensor memory encoding{end}"

    return verify


def _matrix(name: str, word: str) -> Rule:
    return lambda op: (
        None if all(len(sizes_of(value.type)) == 2 for value in given(op, name)) else f"{word} must be a 2D tensor"
    )


def _rows_of_warps(tensor: str, memory: str, word: str) -> Rule:
    """Return the rule that the warps 1 and 2 of four hold the rows 32 and 64 of tensor memory, which they can reach.

    It is a part of what Triton checks: the lanes must also fit an instruction (`computeTMemLdStEncodingInfo`).
    """

    def verify(op: Operation) -> str | None:
        values, (held,) = given(op, tensor), given(op, memory)
        layout = known_layout(values[0].type) if values else None
        whole = gpu_rules.whole_layout(memdesc(held))
        if layout is None or whole is None or len(layout.warp) < _WARPS or layout.warp[:_WARPS] == whole["row"][5:7]:
            return None
        return f"{word}: the warps 1 and 2 must hold the rows 32 and 64 of tensor memory"

    return verify


_WARPS = 2
"""The bits of the number of a warp that give its rows."""


verify_tmem_alloc = all_of(
    verify_tensor_memory,
    _of_tensor_memory("result", ""),
    _matrix("src", "source"),
    gpu_rules.verify_alloc,
    _rows_of_warps("src", "result", "source"),
)


def _stored_memory(op: Operation) -> str | None:
    target, source = memdesc(given(op, "dst")[0]), given(op, "src")[0].type
    return unlike_memory(source, target) if target.mutable else "Cannot store into an immutable alloc"


verify_tmem_store = all_of(
    verify_tensor_memory,
    _of_tensor_memory("dst"),
    _matrix("src", "source"),
    _stored_memory,
    _rows_of_warps("src", "dst", "source"),
)


def _reduction(op: Operation) -> str | None:
    reduces, element = "redOp" in op.properties, memdesc(op.operands[0]).element
    if reduces != bool(given(op, "red")):
        if reduces:
            return "redOp is set but 'red' result is not present"
        return "'red' result is present but redOp is not set"
    for name in ("abs", "NaN"):
        if optional_integer(op, name):
            if not reduces:
                return f"'{name}' requires 'redOp' to be set"
            if element != ty.F("f32"):
                return f"'{name}' requires floating-point element type (f32)"
    layout = known_layout(op.results[0].type)
    if not reduces or layout is None:
        return None
    columns = sum(bool(basis[1]) for basis in layout.register)
    if 1 << columns != layout.shape[1]:
        return "tmem_load reduction with N dimension sharded across threads is not supported."
    if any(basis[0] for basis in layout.register):
        return "tmem_load reduction with multiple M rows per thread is not supported."
    return None


def _loaded_memory(op: Operation) -> str | None:
    return unlike_memory(memdesc(op.operands[0]), op.results[0].type)


verify_tmem_load = all_of(
    verify_tensor_memory,
    _of_tensor_memory("src"),
    _matrix("result", "result"),
    _reduction,
    _loaded_memory,
    _rows_of_warps("result", "src", "result"),
)


def _copied(op: Operation) -> str | None:
    source, target = memdesc(op.operands[0]), memdesc(op.operands[1])
    if not is_shared(source.encoding):
        return "The source must be a shared memory buffer"
    if source.shape != target.shape:
        sizes = [", ".join(map(str, each.shape)) for each in (source, target)]
        return f"source shape {sizes[0]} must match destination shape {sizes[1]}"
    if not target.mutable:
        return "Cannot copy into an immutable alloc"
    swizzle = parameter(source.encoding, "ttg.nvmma_shared", "swizzlingByteWidth")
    if any(parameter(source.encoding, "ttg.nvmma_shared", field) for field in ("transposed", "fp4Padded")):
        return "The source should not be transposed or padded"
    if is_encoding(target.encoding, encodings.SCALES):
        return "The source should not be swizzled for now" if swizzle else None
    if not is_encoding(target.encoding, encodings.TENSOR_MEMORY):
        return "Incorrect tmem layout."
    if parameter(target.encoding, encodings.TENSOR_MEMORY, "blockM") != 128:
        return "Tmem layout must have blockM=128."
    if swizzle == 0:
        return "Source layout should be swizzled."
    if ty.element_width(source.element) != 32:
        return "Source element type should be 32-bit."
    layout = _trimmed(target)
    bases = () if layout is None else layout["col"]
    filled = next((place for place, basis in enumerate(bases) if not any(basis)), len(bases))
    if layout is None or filled > 1:
        return None
    return "The destination must have at least 128 contiguous bits per TMEM row."


verify_tmem_copy = all_of(verify_tensor_memory, _copied)


def _trimmed(type_: MemDescType) -> Mapping[str, Bases] | None:
    """Return the layout of a part of tensor memory."""
    layout = gpu_rules.whole_layout(type_)
    shape = without_stages(type_.shape, type_.encoding)
    if layout is None:
        return None
    return {
        name: tuple(
            [tuple([step if step < size else 0 for step, size in zip(basis, shape, strict=True)]) for basis in bases]
        )
        for name, bases in layout.items()
    }


def _contiguous(bases: Bases, dim: int, first: int, count: int) -> bool:
    """Tell whether some bits that follow each other go along a dimension, from a bit of the coordinate on."""
    wanted = [tuple([1 << first + bit if axis == dim else 0 for axis in range(2)]) for bit in range(count)]
    return any(list(bases[start : start + count]) == wanted for start in range(len(bases) - count + 1))


def _sliced(op: Operation) -> str | None:
    source, result = memdesc(op.operands[0]), memdesc(op.results[0])
    for word, each in (("source", source), ("destination", result)):
        if not is_encoding(each.space, "ttng.tensor_memory"):
            return f"The {word} must be a tensor memory buffer."
    for word, one, other in (
        ("element type", source.element, result.element),
        ("encoding", source.encoding, result.encoding),
        ("alloc shape", source.whole, result.whole),
    ):
        if one != other:
            return f"The source and result must have the same {word}."
    rank, dim, offset = (
        len(source.shape),
        gpu_rules.signed(op.number("dim") & 0xFFFFFFFF),
        op.number("offset"),
    )
    if rank != len(result.shape) or rank not in (2, 3):
        return "The source and result must both be 2D or 3D tensor memory buffers."
    if not 0 <= dim < rank:
        return "The slice dimension must be within the descriptor rank."
    if any(
        one != other for axis, (one, other) in enumerate(zip(source.shape, result.shape, strict=True)) if axis != dim
    ):
        return "The result must have the same size as the source in the dimensions that are not being sliced."
    offset, size = gpu_rules.signed(offset & 0xFFFFFFFF), result.shape[dim]
    if not 0 <= offset <= source.shape[dim] - size:
        return Unprefixed("The split offset may not exceed the source shape")
    layout = _trimmed(source)
    if layout is None or (rank == 3 and dim == 0):
        return None
    dim -= rank - 2
    if offset & (size - 1):
        first = (offset & -offset).bit_length() - 1
        count = (offset ^ offset + size - 1).bit_length() - first
        if not any(_contiguous(layout.get(name, ()), dim, first, count) for name in ("row", "col")):
            return Unprefixed("The split offset may not touch the tile")
    if any(basis[dim] >= size for basis in layout["block"]):
        return "The result may not be sliced across CTAs."
    column = Inverse(layout).place([offset if axis == dim else 0 for axis in range(2)], "col")
    if column * (ty.element_width(source.element) or 0) % 32:
        return "The split offset must be 32-bit aligned in tensor memory."
    return None


verify_tmem_slice = all_of(verify_tensor_memory, _sliced)

# --- packed arithmetic ------------------------------------------------------------------------------------------------


class _Packed(NamedTuple):
    """An element of packed arithmetic: its name with the number of elements, that number, and its letter."""

    name: str
    lanes: int
    letter: str


_PACKED: Mapping[str, _Packed] = {
    "f32": _Packed("f32x2", 2, "f"),
    "f16": _Packed("f16x2", 2, "h"),
    "bf16": _Packed("bf16x2", 2, "b"),
    "f8E5M2": _Packed("e5m2x4", 4, "5"),
    "f8E4M3FN": _Packed("e4m3x4", 4, "4"),
    "i8": _Packed("e2m1x4", 4, "2"),
    "f8E8M0FNU": _Packed("ue8m0x4", 4, "u"),
}
_OPERATIONS = ("add", "sub", "mul", "fma", "min", "max")
_SIGNATURES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # The operations, the letters of the result, and those of each operand; "=" for the result's own, "!" for the other
    # of the halves.
    ("add sub mul", "fhb", ("=", "=")),
    ("fma", "fhb", ("=", "=", "=")),
    ("min max", "hb", ("=", "=")),
    ("add sub", "f", ("hb", "f")),
    ("add sub mul", "hb", ("f", "f")),
    ("mul", "hb", ("=", "!")),
    ("fma", "f", ("hb", "f", "f")),
    ("add sub", "54", ("542u", "=")),
    ("mul", "54", ("542u", "542u")),
    ("fma", "54", ("542u", "542u", "=")),
)


def _signed(letters: str, operand: str, result: str) -> bool:
    if letters == "=":
        return operand == result
    return operand in "hb" and operand != result if letters == "!" else operand in letters


def _halved_axis(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]) -> int | None:
    """Return the axis along which all these operands have half the elements of the result; None if there is none."""
    axes = {
        tuple([axis for axis, (one, other) in enumerate(zip(each, shape, strict=True)) if one != other])
        if len(each) == len(shape)
        else ()
        for each in operands
    }
    (found,) = axes if len(axes) == 1 else ((),)
    if len(found) != 1 or any(2 * each[found[0]] != shape[found[0]] for each in operands):
        return None
    return found[0]


def verify_packed(op: Operation) -> str | None:
    """Check that there is an instruction for the elements, and that the layouts of the operands are the result's."""
    operation, result = _OPERATIONS[op.number("op_kind")], op.results[0].type
    count = 3 if operation == "fma" else 2
    if len(op.operands) != count:
        return f"{operation} expects {count} operands but got {len(op.operands)}"
    if not encodings.is_distributed(encoding_of(op.results[0])):
        return "requires a distributed tensor layout"
    own = _PACKED[str(ty.element_type(result))]
    taken = [_PACKED[str(ty.element_type(value.type))] for value in op.operands]
    for operations, results, operands in _SIGNATURES:
        fits = operation in operations.split() and own.letter in results and len(operands) == count
        if fits and all(_signed(one, each.letter, own.letter) for one, each in zip(operands, taken, strict=True)):
            break
    else:
        shown = ", ".join(each.name for each in taken)
        return f"unsupported {operation} signature {own.name} <- ({shown})"
    shape = sizes_of(result)
    small = [value for value, each in zip(op.operands, taken, strict=True) if each.letter == "2"]
    axis = _halved_axis(shape, [sizes_of(value.type) for value in small])
    if small and axis is None:
        return "requires every fp4 operand to have the result shape with the same single dimension halved"
    layout = known_layout(result)
    if layout is None:
        return None
    unique = 1 << sum(any(basis) for basis in layout.register)
    if unique < own.lanes:
        return f"result layout must provide a multiple of {own.lanes} unique elements per thread"
    for index, (value, each) in enumerate(zip(op.operands, taken, strict=True)):
        found = known_layout(value.type)
        if each.letter == "2" and axis is not None:
            if found is not None and found != halved(layout, axis):
                return f"fp4 operand {index} must have a layout compatible with the result"
            continue
        if sizes_of(value.type) != shape:
            return f"operand {index} must have the result shape {list(shape)}, but got {list(sizes_of(value.type))}"
        if encoding_of(value) is None or (found is not None and found != layout):
            return f"operand {index} must have a layout equivalent to the result"
    return None


# --- cancelling -------------------------------------------------------------------------------------------------------


def verify_response(op: Operation) -> str | None:
    """Check the response to a cancellation: two words of 64 bits."""
    type_ = op.results[0].type
    if len(sizes_of(type_)) != 1:
        return "response must be a rank-one tensor"
    if sizes_of(type_) != (2,):
        return "response must have shape [2]"
    return None if ty.element_type(type_) == ty.I64 else "response element type must be i64"


def _cancelled(name: str) -> Rule:
    """Return the rule that an operand is the memory of such a response, which all blocks of a cluster have."""

    def verify(op: Operation) -> str | None:
        (value,) = given(op, name)
        type_ = memdesc(value)
        if ty.element_width(type_.element) != 64:
            return Unprefixed(f"Expected CLC result buffer to have type int64, but got'{type_.element}'")
        if type_.shape != (2,):
            shown = ", ".join(map(str, type_.shape))
            return Unprefixed(
                "Expected CLC result buffer to have rank 1 and a single dimension equal to 2, but got " + shown + "."
            )
        if not contiguous_memory(type_):
            return Unprefixed("CLC result buffer must have a contiguous shared-memory layout without subviews")
        blocks = blocks_of_value(value)
        if any(map(any, blocks)):
            return Unprefixed(f"Expected CLC result buffer cga_layout bases to be all zeros. Got {shown_bases(blocks)}")
        return None

    return verify


verify_cancel = all_of(_cancelled("result"), barrier("mbarrier"), completion("mbarrier"))
verify_cancelled = _cancelled("src")
