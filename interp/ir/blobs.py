"""Raw bytes: files mapped into memory, and elements as MLIR lays them out."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

import numpy as np

from halfulp.fp_formats.formats import Codes, code_shape, limb_count, storage_dtype
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import DenseElementsAttr, ElementsType
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import I1, INDEX_WIDTH, ComplexType, Type, element_count, element_width, static_shape

MAGIC = b"ML\xefR"
"""The first bytes of a file of MLIR bytecode."""


def map_file(path: str | os.PathLike[str]) -> memoryview:
    """Map a regular file into memory, however large it is. The file must not change as long as the view is used. Raise
    InputError when it cannot be read.
    """
    name = os.fspath(path)
    try:
        # Before it is opened, because to open a pipe waits for its other end.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise InputError(f"cannot read {name!r}: it is not a regular file")
        with Path(path).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:  # which cannot be mapped
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name!r}: {reason}") from None


def elements_of_blob(
    data: bytes | memoryview, type: ElementsType, schema: Schema = Schema.MLIR22
) -> DenseElementsAttr | None:
    """Read elements from raw bytes as MLIR lays them out; return None if their number is wrong.

    Each element takes whole bytes, little-endian (i0 none, i4 and f4 one, tf32 three, f80 ten, index eight). A single
    element is a splat. MLIR 22 packs eight i1 into a byte, least significant bit first; one byte 0x00 or 0xFF is a
    splat. Newer MLIR stores i1 like any other type.
    """
    element = type.element
    count = element_count(type) or 0
    scalar = element.element if isinstance(element, ComplexType) else element
    shape = static_shape(type)
    if element == I1 and schema < Schema.LLVM24:
        if len(data) == 1 and data[0] in (0, 0xFF):
            return DenseElementsAttr(type, np.array(data[0] & 1, np.uint8), True)
        if len(data) != (count + 7) // 8:
            return None
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
        return DenseElementsAttr(type, bits.reshape(shape), False)
    width = element_width(scalar)
    if width is None:
        return None
    if not width:  # an i0 takes no byte
        return None if data else DenseElementsAttr(type, np.zeros(shape, np.uint8), False)
    size = (width + 7) // 8
    per_element = size * (2 if isinstance(element, ComplexType) else 1)
    splat = len(data) == per_element
    if not splat and len(data) != per_element * count:
        return None
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    dtype, trailing = _layout(element)
    limbs = limb_count(width)
    padded = np.zeros((len(rows), limbs * dtype.itemsize), np.uint8)
    padded[:, :size] = rows
    codes: Codes = padded.view(dtype.newbyteorder("<")).astype(dtype)
    if width % 64 and limbs == 1:
        codes &= dtype.type((1 << width) - 1)
    elif width % 64:
        codes[:, -1] &= dtype.type((1 << width % 64) - 1)
    if not splat and count:
        # Bits beyond the width are cleared, so that equal elements have equal codes.
        elements = codes.reshape(count, -1)
        splat = bool((elements == elements[0]).all())
        codes = elements[0] if splat else codes
    return DenseElementsAttr(type, codes.reshape((() if splat else shape) + trailing), splat)


def no_elements(type: ElementsType) -> DenseElementsAttr:
    """Return the elements of a type that has no elements."""
    dtype, trailing = _layout(type.element)
    return DenseElementsAttr(type, np.zeros((*static_shape(type), *trailing), dtype))


def _layout(element: Type) -> tuple[np.dtype[np.unsignedinteger], tuple[int, ...]]:
    """Return the dtype of the codes of an element type and the trailing axes of one element."""
    if isinstance(element, ComplexType):
        dtype, trailing = _layout(element.element)
        return dtype, (2, *trailing)
    width = element_width(element)
    width = INDEX_WIDTH if width is None else width
    return storage_dtype(width), code_shape((), width)
