"""What a kernel does beside arithmetic on whole tensors: it maps a function over elements, and it prints."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10, prod
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.elements import Function, Join, Operands, combined, picked, reshaped
from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.triton import memory
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Frame, Run, Segment, lift, lower
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.judging import as_f64

# --- maps -------------------------------------------------------------------------------------------------------------


class _Walk:
    """A map that runs: its operands in one dimension, the next element, and the results so far, for each result a list
    with an element for each.
    """

    __slots__ = ("at", "operands", "rows")

    def __init__(self, operands: Sequence[Value], results: int) -> None:
        self.operands = operands
        self.at = 0
        self.rows: list[list[Value]] = [[] for _ in range(results)]


def _into(shape: tuple[int, ...]) -> Join:
    """Return the function that joins elements to an array of a shape."""
    return lambda arrays: np.stack(arrays).reshape(shape + arrays[0].shape)


def _map(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs a region for one element after the other, in row-major order; for ``pack`` elements
    at once if it takes so many.
    """
    pack = op.number("pack")
    block = op.regions[0].blocks[0]
    body = compiler.block(block)
    operands = [(slot, value.type) for slot, value in zip(compiler.slots(op.operands), op.operands, strict=True)]
    types = [result.type for result in op.results]
    results = compiler.slots(op.results)
    produced = tuple([compiler.hidden_slot() for _ in results])
    finish, state = compiler.resume(op)(produced), compiler.hidden_slot()
    count = prod(sizes_of(op.operands[0].type))

    def start(frame: Frame) -> Segment | None:
        given = [lift(frame.slots[slot], type_) for slot, type_ in operands]
        flat = [reshaped(value, ty.TensorType((count,), value.element_type), (count,)) for value in given]
        frame.slots[state] = _Walk(flat, len(types))
        return following(frame)

    def following(frame: Frame) -> Segment | None:
        slots = frame.slots
        walk: _Walk = slots[state]
        if walk.at < count:
            elements = (
                picked(value, (place,), value.element_type)
                for value in walk.operands
                for place in range(walk.at, walk.at + pack)
            )
            for slot, element in zip(body.arguments, elements, strict=True):
                slots[slot] = lower(element)
            walk.at += pack
            return body
        for slot, row, type_ in zip(produced, walk.rows, types, strict=True):
            slots[slot] = combined(slots[0], row, type_, _into(sizes_of(type_)))
        return finish(frame)

    def yielding(sources: Sequence[int]) -> Action:
        def again(frame: Frame) -> Segment | None:
            walk: _Walk = frame.slots[state]
            for number, slot in enumerate(sources):
                row = walk.rows[number // pack]
                row.append(lift(frame.slots[slot], ty.element_type(types[number // pack])))
            return following(frame)

        return again

    compiler.region(op.regions[0], yielding)
    return start


MAP = OnFrames(_map, no_lanes=True)

# --- prints -----------------------------------------------------------------------------------------------------------


def _spellings(value: Value, signed: bool, hexadecimal: bool) -> list[str]:
    """Return the elements as a kernel prints them on a GPU, by ``%f``, ``%i``, ``%u``, ``%a`` and ``%x``."""
    type_ = value.element_type
    if isinstance(type_, ty.FloatType):
        numbers = np.asarray(as_f64(type_.format, value.bits)).reshape(-1).tolist()
        return [_hexadecimal(number) if hexadecimal else f"{number:f}" for number in numbers]
    width = ty.width_of(type_)
    codes = codes_to_ints(value.bits, width)
    if ty.is_place(type_):
        return [f"0x{code & mem.ADDRESS_MASK:x} of memory {code >> 64}" for code in codes]
    if hexadecimal:
        return [f"0x{code:0{max(width // 4, 1)}x}" for code in codes]
    return [str(code - (1 << width) if signed and code >> (width - 1) else code) for code in codes]


def _hexadecimal(number: float) -> str:
    """Return a number as ``%a`` of C prints it."""
    head, mark, exponent = number.hex().partition("p")
    return f"{head.rstrip('0').rstrip('.') if '.' in head else head}{mark}{exponent}"


def _print(op: Operation, settings: Settings) -> Function:
    prefix = op.prop("prefix", at.StringAttr).value
    signs = [bool(each) for each in op.numbers("isSigned")]
    hexadecimal = op.number("hex") != 0

    def print_(run: Run, operands: Operands) -> tuple[Any, ...]:
        place = ", ".join(map(str, memory.program_of(run).place))
        lines = [] if operands else [f"pid ({place}){prefix}"]
        for number, (value, signed) in enumerate(zip(operands, signs, strict=True)):
            which = f"(operand {number}) " if len(operands) > 1 else ""
            digits = [ceil(log10(size)) for size in value.shape]
            poisoned = np.asarray(value.poisoned).reshape(-1)
            texts = _spellings(value, signed, hexadecimal)
            for index, text, spoiled in zip(np.ndindex(value.shape), texts, poisoned, strict=True):
                where = ", ".join(f"{k:{width}}" for k, width in zip(index, digits, strict=True))
                lines.append(f"pid ({place}) idx ({where}){prefix}{which}{'poison' if spoiled else text}")
        show(op, settings, "".join(f"{line}\n" for line in lines), operands)
        return ()

    return print_


PRINT = OnValues(_print)
