"""The layout of LLVM's types in memory: sizes, alignments, and the offsets of the parts of aggregates.

It is that of a little-endian machine with pointers of 64 bits (x86-64 on Linux), on which mlir-runner runs as well.
"""

from __future__ import annotations

from functools import lru_cache

from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported

POINTER_BYTES = 8
_WIDEST_SCALAR = 16


def _to_power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def aligned(number: int, alignment: int) -> int:
    """Return the next multiple of ``alignment``."""
    return -(-number // alignment) * alignment


@lru_cache(maxsize=1024)
def bits_of(type_: ty.Type) -> int:
    """Return the bits of a value of a type; of an aggregate, those that it takes in memory. Raises Unsupported."""
    if isinstance(type_, llvm.PointerType):
        return POINTER_BYTES * 8
    if isinstance(type_, ty.VectorType) and not any(type_.scalable):
        (count,) = type_.shape
        return count * bits_of(type_.element)
    if isinstance(type_, llvm.ArrayType):
        return 8 * type_.size * size_of(type_.element)
    if isinstance(type_, llvm.StructType) and type_.body is not None and not type_.enclosing:
        return 8 * _struct(type_)[1]
    width = ty.element_width(type_) if isinstance(type_, ty.IntegerType | ty.FloatType) else None
    if width is None:
        raise Unsupported(f"values of type '{type_}' have no size")
    return width


def stored_bytes(type_: ty.Type) -> int:
    """Return the bytes that a load reads and a store writes."""
    return -(-bits_of(type_) // 8)


@lru_cache(maxsize=1024)
def alignment_of(type_: ty.Type) -> int:
    """Return the bytes of which the address of a value is a multiple, unless an op says something else."""
    if isinstance(type_, llvm.ArrayType):
        return alignment_of(type_.element)
    if isinstance(type_, llvm.StructType):
        return 1 if type_.packed else max((alignment_of(part) for part in type_.body or ()), default=1)
    size = _to_power_of_two(stored_bytes(type_))
    return size if isinstance(type_, ty.VectorType) else min(size, _WIDEST_SCALAR)


@lru_cache(maxsize=1024)
def size_of(type_: ty.Type) -> int:
    """Return the distance in bytes of two values that lie one after the other in an array."""
    return aligned(stored_bytes(type_), alignment_of(type_))


def offsets_of(type_: llvm.StructType) -> tuple[int, ...]:
    """Return the bytes before each part of a struct."""
    return _struct(type_)[0]


@lru_cache(maxsize=1024)
def _struct(type_: llvm.StructType) -> tuple[tuple[int, ...], int]:
    offsets, end = [], 0
    for part in type_.body or ():
        start = end if type_.packed else aligned(end, alignment_of(part))
        offsets.append(start)
        end = start + size_of(part)
    return tuple(offsets), aligned(end, alignment_of(type_))


def parts_of(type_: ty.Type) -> tuple[tuple[int, ty.Type], ...] | None:
    """Return the offset and the type of each part of an aggregate; None for any other type."""
    if isinstance(type_, llvm.ArrayType):
        step = size_of(type_.element)
        return tuple((step * index, type_.element) for index in range(type_.size))
    if isinstance(type_, llvm.StructType) and type_.body is not None:
        return tuple(zip(offsets_of(type_), type_.body, strict=True))
    return None
