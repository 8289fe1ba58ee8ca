"""Ops on the elements of arrays, one or a chain of them, as one loop of machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.paths import llvm, threads
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.words import Implementation, Word

BLOCK = 1 << 12
"""The elements of a block: if the loop refuses one of them, all count as refused."""
_LOAD = 16
"""The instructions that take as long as one look-up in a table."""
_PART = 32 * BLOCK
"""The elements that a thread takes at a time: whole blocks."""
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


class Step(Protocol):
    """An op of a chain: its description, and the numbers of its operands among the values of the chain."""

    @property
    def implementation(self) -> Implementation:
        """The description."""

    @property
    def operands(self) -> Sequence[int]:
        """The numbers of the operands."""


class Plan(NamedTuple):
    """A chain. Its values are numbered: the inputs come first, then the results of each step."""

    links: Sequence[Step]
    #: The bits of the inputs.
    widths: Sequence[int]
    #: For each input, whether one code stands for all elements.
    splats: tuple[bool, ...]
    #: The numbers of the values that are written.
    outputs: Sequence[int]


class ArrayLoop:
    """The loop of a chain; that of an op alone is one of a chain of one."""

    def __init__(self, plan: Plan) -> None:
        tables = Tables()
        text = _assembly(plan, tables)
        self._code = llvm.compile_assembly(text, "entry")
        self._entry = _ENTRY(self._code.address)
        self._tables = np.array([table.ctypes.data for table in tables.arrays], np.uint64)
        self._kept = tables.arrays

    def run(self, inputs: Sequence[Codes], made: Sequence[Codes], count: int) -> npt.NDArray[np.intp]:
        """Fill the outputs. Returns the indices of the refused elements: what they got is wrong."""
        refused = np.zeros(-(-count // BLOCK), np.uint8)

        def work(start: int, stop: int) -> None:
            addresses = llvm.addresses((*inputs, *made), start)
            flags = refused[start // BLOCK :]
            self._entry(self._tables.ctypes.data, addresses.ctypes.data, stop - start, flags.ctypes.data)

        threads.share(count, _PART, lambda: work)
        blocks = np.flatnonzero(refused)
        indices = (blocks[:, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(-1)
        return indices[indices < count]


def cost(plan: Plan) -> int:
    """Return how long the steps take for an element, in instructions: a look-up in a table counts for several."""
    with_steps, without = (
        _assembly(each, Tables()).splitlines()
        for each in (plan, plan._replace(links=(), outputs=[0] * len(plan.outputs)))
    )
    look_ups = sum(" = load " in line for line in with_steps) - sum(" = load " in line for line in without)
    return len(with_steps) - len(without) + _LOAD * look_ups


def _assembly(plan: Plan, tables: Tables) -> str:
    links, widths, splats, outputs = plan
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    function = make.Function(module, make.FunctionType(make.VoidType(), [pointer, pointer, word, pointer]), "entry")
    emit = Emitter(function, tables, 0)
    _, addresses, count, refused = function.args
    arrays = emit.addresses(addresses, len(widths) + len(outputs))
    inputs, made = arrays[: len(widths)], arrays[len(widths) :]
    start, index, flag = emit.variable(word), emit.variable(word), emit.variable(make.IntType(1))
    block, inner, after, end = (emit.label() for _ in range(4))
    zero, one, size = emit.constant(0, 64), emit.constant(1, 64), emit.constant(BLOCK, 64)
    emit.set(start, zero)
    emit.jump(block)

    emit.begin(block)
    first = emit.get(start, word)
    last = emit.builder.add(first, size)
    last = emit.choose(emit.relation("s<", last, count), last, count)
    emit.set(index, first)
    emit.set(flag, emit.constant(0, 1))
    emit.jump(inner)

    emit.begin(inner)
    at = emit.get(index, word)
    values: list[Word] = []
    for base, width, splat in zip(inputs, widths, splats, strict=True):
        code = emit.load(base, zero if splat else at, natural(width))
        values.append(emit.word(code).resized(width))
    for link in links:
        found = link.implementation(*(values[number] for number in link.operands))
        values += found if isinstance(found, tuple) else (found,)
    wrong = emit.take_refused()
    if wrong is not None:
        emit.set(flag, emit.builder.or_(emit.get(flag, make.IntType(1)), wrong))
    for base, number in zip(made, outputs, strict=True):
        emit.store(base, at, values[number].resized(natural(values[number].width)).held)
    following = emit.builder.add(at, one)
    emit.set(index, following)
    emit.branch(emit.relation("s<", following, last), inner, after)

    emit.begin(after)
    number = emit.builder.udiv(first, size)
    emit.store(refused, number, emit.resize(emit.get(flag, make.IntType(1)), 8, signed=False))
    emit.set(start, last)
    emit.branch(emit.relation("s<", last, count), block, end)

    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()
    return str(module)
