"""The functions of mlir-runner's libraries that take pointers: printString, and those on memrefs in lowered form.

A lowered program calls ``_mlir_ciface_printMemrefF32`` with a pointer to the descriptor. Some functions for unranked
memrefs are in the libraries under their own name, too: they take the rank and a pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

from halfulp.interp.dialects.func.runner import INTERFACE, ON_MEMREFS, Memref, OnMemrefs
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.llvm import layout
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.abi import loaded
from halfulp.interp.dialects.llvm.library import (
    Descriptor,
    LibraryFunction,
    Slots,
    count_of,
    descriptor_at,
    read_value,
    unranked_at,
)
from halfulp.interp.dialects.llvm.lowering import lowered_type
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.dialects.llvm.stack import check_size
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.printing import show
from halfulp.interp.values.value import Value

_BY_RANK = ("I32", "I64", "F32", "F64", "Ind", "C32", "C64")
"""Elements of memrefs that a function prints which takes the rank and a pointer."""

Take = Callable[[Operation, Run, Slots], Descriptor]


def _memref(op: Operation, run: Run, descriptor: Descriptor, element: ty.Type, what: str) -> Memref:
    offset, sizes, strides = descriptor[2:]

    def load() -> Value:
        # Elements may stand at one place: a few bytes may be a memref of any size.
        check_size(op, prod(max(size, 1) for size in sizes) * layout.size_of(lowered_type(element)), run.settings)
        try:
            return loaded(descriptor, ty.MemRefType(sizes, element), what)
        except UndefinedBehavior as error:
            raise undefined(op, error.message) from None

    return Memref(offset, sizes, strides, load)


def _call(function: OnMemrefs, take: Take, op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    step = len(slots) // function.arity
    parts = [slots[start : start + step] for start in range(0, len(slots), step)]
    memrefs = [
        _memref(op, run, take(op, run, part), function.element, f"argument #{k}") for k, part in enumerate(parts)
    ]
    result = function.call(op, run.settings, *memrefs)
    return () if result is None else (result & ((1 << 64) - 1),)


def _unranked(op: Operation, run: Run, slots: Slots) -> Descriptor:
    return unranked_at(op, run, slots[0])


def _by_rank(op: Operation, run: Run, slots: Slots) -> Descriptor:
    return descriptor_at(op, run, slots[1], count_of(op, run, slots[0]))


def _ranked(rank: int, op: Operation, run: Run, slots: Slots) -> Descriptor:
    return descriptor_at(op, run, slots[0], rank)


def _print_string(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    """Print the bytes at a pointer up to the first zero."""
    (start,) = slots
    text = bytearray()
    while not text or text[-1]:
        at = start._replace(offset=start.offset + len(text)) if start.__class__ is Pointer else start
        byte = read_value(op, run, at, ty.IntegerType(8), 1)
        if byte.__class__ is not int:
            raise undefined(op, f"byte {len(text)} of the string is poison")
        text.append(byte)
    show(op, run.settings, text[:-1].decode("utf-8", "surrogateescape"))
    return ()


def _functions() -> Iterator[tuple[str, LibraryFunction]]:
    yield "printString", LibraryFunction(llvm.FunctionType(result=llvm.VOID, inputs=(llvm.POINTER,)), _print_string)
    for name, function in ON_MEMREFS.items():
        result = llvm.VOID if name.startswith("print") else ty.I64
        take: Take = _unranked if function.rank is None else partial(_ranked, function.rank)
        type_ = llvm.FunctionType(result=result, inputs=(llvm.POINTER,) * function.arity)
        yield INTERFACE + name, LibraryFunction(type_, partial(_call, function, take))
    for element in _BY_RANK:
        function = ON_MEMREFS[f"printMemref{element}"]
        type_ = llvm.FunctionType(result=llvm.VOID, inputs=(ty.I64, llvm.POINTER))
        yield f"printMemref{element}", LibraryFunction(type_, partial(_call, function, _by_rank))


FUNCTIONS: Mapping[str, LibraryFunction] = dict(_functions())
