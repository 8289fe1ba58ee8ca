"""Tensors that lie in a file as they are in memory: the entries of a file, and safetensors."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import FILE_DTYPES, did_you_mean
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import code_layout
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

MOST_ELEMENTS = 1 << 60
"""The most elements of a tensor, and the largest size of a dimension: NumPy counts bytes in 63 bits."""


Read_co = TypeVar("Read_co", covariant=True)


@dataclass(frozen=True)
class Entry(Generic[Read_co]):
    """A tensor of a file that can be read.

    ``format``: the type as the file names it. ``type``: the MLIR type of the numbers; for blocks, of the f32 numbers
    that they stand for; None for a dtype of NumPy that no MLIR type has. ``read``: reads the tensor.
    """

    format: str
    type: ty.Type | None
    read: Callable[[], Read_co]


class Stored(NamedTuple):
    """A type of a file, and how its elements lie there. ``bits``: of one element; fewer than 8 are packed, the lowest
    bits first.
    """

    element: ty.Type
    bits: int
    unsigned: bool = False


def _stored(spelling: str, unsigned: bool = False) -> Stored:
    element = as_type(spelling)
    # A bool has a byte.
    return Stored(element, 8 if element == ty.I1 else ty.width_of(element), unsigned)


def container(shape: tuple[int, ...], element: ty.Type) -> ty.Type:
    """Return the type of a tensor of a file: without dimensions it is a scalar."""
    return ty.TensorType(shape, element) if shape else element


def check_shape(shape: tuple[int, ...], name: str) -> None:
    """Raise InputError for a shape that no array can have, even if it has no elements."""
    if len(shape) > 64 or prod(max(size, 1) for size in shape) > MOST_ELEMENTS:
        raise InputError(f"the tensor {name!r} has a shape that is too large: {_sizes(shape)}")


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape[:8])) + "..." * (len(shape) > 8)


def value_of(data: memoryview, shape: tuple[int, ...], stored: Stored) -> Value:
    """Return a value whose codes are a view of little-endian data if they lie there as they are in memory, else a
    copy. ``data``: exactly the bytes of the elements.
    """
    element, bits, unsigned = stored
    dtype, trailing = code_layout(element)
    if bits < 8:
        codes = _unpacked(np.frombuffer(data, np.uint8), bits, prod(shape))
    else:
        codes = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False)
        codes = np.require(codes, requirements="A")  # machine code takes codes at their natural addresses
    if element == ty.I1:
        codes = (codes != 0).astype(dtype)
    return Value(container(shape, element), codes.reshape(shape + trailing), None, None, None, unsigned)


def _unpacked(data: npt.NDArray[np.uint8], bits: int, count: int) -> npt.NDArray[np.uint8]:
    """Return elements of 4 or 6 bits, each in a byte."""
    if bits == 4:
        return np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[:count]
    words = data.reshape(-1, 3).astype(np.uint32)
    word = words[:, :1] | words[:, 1:2] << 8 | words[:, 2:] << 16
    return (word >> np.arange(0, 24, 6, dtype=np.uint32) & 63).astype(np.uint8).reshape(-1)[:count]


def packed(codes: npt.NDArray[Any], bits: int) -> bytes:
    """Return codes as the little-endian bytes of a file; those of 4 and 6 bits are packed, the lowest bits first."""
    flat = codes.reshape(-1)
    if bits >= 8:
        return bytes(np.ascontiguousarray(flat).astype(flat.dtype.newbyteorder("<"), copy=False).data)
    if bits == 4:
        return bytes((flat[::2] | flat[1::2] << 4).data)
    fields = flat.reshape(-1, 4).astype(np.uint32)
    word = fields[:, :1] | fields[:, 1:2] << 6 | fields[:, 2:3] << 12 | fields[:, 3:] << 18
    return bytes((word >> np.arange(0, 24, 8, dtype=np.uint32) & 255).astype(np.uint8).data)


# --- safetensors ------------------------------------------------------------------------------------------------------
#
# Source: "Format" in the README of safetensors, and the checks of its reader: names are unique, the data has neither
# holes nor overlaps. Its own Python package gives no arrays of types that NumPy lacks, which these are about.

SAFETENSORS: Mapping[str, Stored] = {
    "BOOL": _stored("i1"),
    **{name: _stored(FILE_DTYPES[name]) for name in ("F4", "F6_E2M3", "F6_E3M2")},
    "U8": _stored("i8", unsigned=True),
    "I8": _stored("i8"),
    **{name: _stored(FILE_DTYPES[name]) for name in FILE_DTYPES if name.startswith("F8")},
    "I16": _stored("i16"),
    "U16": _stored("i16", unsigned=True),
    "F16": _stored("f16"),
    "BF16": _stored("bf16"),
    "I32": _stored("i32"),
    "U32": _stored("i32", unsigned=True),
    "F32": _stored("f32"),
    "C64": Stored(as_type("complex<f32>"), 64),
    "F64": _stored("f64"),
    "I64": _stored("i64"),
    "U64": _stored("i64", unsigned=True),
}
"""The dtypes of safetensors, in the order of its enumeration, which is the order of tensors in files turned round."""

_MOST_HEADER = 100_000_000
_METADATA = "__metadata__"


def read_safetensors(data: memoryview) -> dict[str, Entry[Value]]:
    """Return the tensors of a safetensors file. Raises InputError for a file that breaks the format's rules."""
    if len(data) < 8:
        raise InputError("it is shorter than the 8 bytes of the length of its header")
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _MOST_HEADER):
        raise InputError(f"its header has {length} bytes, but the file has {len(data)}")
    header, body = bytes(data[8 : 8 + length]), data[8 + length :]
    if header[:1] != b"{":
        raise InputError("its header does not begin with '{'")
    try:
        found = json.loads(header.decode("utf-8"), object_pairs_hook=_unique)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"its header is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise InputError("its header is not a JSON object")
    entries, ranges = {}, []
    for name, row in found.items():
        if name != _METADATA:
            entries[name], place = _safetensor(name, row, body)
            ranges.append((*place, name))
    end = 0
    for start, stop, name in sorted(ranges):
        if start != end:
            raise InputError(f"the data of {name!r} begins at byte {start}, but must at {end}")
        end = stop
    if end != len(body):
        raise InputError(f"its tensors have {end} bytes, but the data has {len(body)}")
    return entries


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InputError("a name is twice in its header")
    return found


def _whole(given: object) -> bool:
    """Tell whether a number of JSON is an integer that is not negative."""
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def _safetensor(name: str, row: object, body: memoryview) -> tuple[Entry[Value], tuple[int, int]]:
    """Return a tensor, and the place of its data."""
    fields = row if isinstance(row, dict) else {}
    dtype, shape, place = (fields.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not (
        isinstance(dtype, str)
        and isinstance(shape, list)
        and isinstance(place, list)
        and len(place) == 2
        and all(map(_whole, [*shape, *place]))
    ):
        raise InputError(f"the tensor {name!r} lacks its dtype, shape or data_offsets in the header")
    if dtype not in SAFETENSORS:
        hint = did_you_mean(dtype, SAFETENSORS)
        raise InputError(f"the tensor {name!r} has the unknown dtype {dtype[:40]!r}", hint=hint)
    stored, sizes, (start, stop) = SAFETENSORS[dtype], tuple(shape), place
    check_shape(sizes, name)
    needed = prod(sizes) * stored.bits
    if needed % 8 or stop - start != needed // 8 or stop > len(body):
        has = f"bytes {start} to {stop} of {len(body)}"
        raise InputError(f"the tensor {name!r}, {_sizes(sizes)} of {dtype}, has {needed} bits, but its data is {has}")
    view = body[start:stop]
    read = lambda: value_of(view, sizes, stored)  # noqa: E731
    return Entry(dtype, container(sizes, stored.element), read), (start, stop)


def dtype_of(value: Value, name: str) -> str:
    """Return the dtype of safetensors of a value. Raises InputError for an element type that it lacks."""
    for dtype, stored in SAFETENSORS.items():
        signless = value.element_type
        if isinstance(signless, ty.IntegerType):
            signless = ty.IntegerType(signless.width)
        if stored.element == signless and (
            not isinstance(signless, ty.IntegerType) or signless == ty.I1 or stored.unsigned == _is_unsigned(value)
        ):
            if prod(value.shape) * stored.bits % 8:
                raise InputError(f"{name}: the elements of {value.type} do not fill whole bytes, as safetensors asks")
            return dtype
    raise InputError(
        f"{name}: safetensors has no dtype for {value.element_type}",
        hint="a .npz file takes its raw bits; hu.convert(x, to) makes another type",
    )


def _is_unsigned(value: Value) -> bool:
    element = value.element_type
    return value.unsigned or (isinstance(element, ty.IntegerType) and element.signedness == "unsigned")


def write_safetensors(tensors: Mapping[str, Value]) -> bytes:
    """Return the bytes of a safetensors file, as its own library writes them: in the order of the dtypes, the widest
    first, then of the names. Raises InputError for types that the format lacks.
    """
    if _METADATA in tensors:
        raise InputError(f"{_METADATA} cannot be the name of a tensor: safetensors keeps it for texts")
    order = list(SAFETENSORS)
    dtypes = {name: dtype_of(value, name) for name, value in tensors.items()}
    names = sorted(tensors, key=lambda name: (-order.index(dtypes[name]), name))
    header, body = {}, []
    at = 0
    for name in names:
        data = packed(tensors[name].bits, SAFETENSORS[dtypes[name]].bits)
        header[name] = {
            "dtype": dtypes[name],
            "shape": list(tensors[name].shape),
            "data_offsets": [at, at + len(data)],
        }
        body.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *body])
