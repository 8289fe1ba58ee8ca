"""Ops on elements that lie anywhere in arrays, each as a loop of machine code, and many of them as one call.

A *record* says what a loop works on: words with the address of its code, the number of elements, the address of a byte
that becomes 1 if an element is refused, the addresses of its inputs, each with that of the places of its elements,
those of its results, and those of its tables.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.words import Implementation, Word

Places = npt.NDArray[np.uint32]
_CODE, _COUNT, _REFUSED, _FIRST = range(4)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class Input(NamedTuple):
    """Elements of an array: those at some places, or all if ``places`` is None. ``bits``: those of an element."""

    array: Codes
    places: Places | None
    bits: int


class Folded(NamedTuple):
    """What a fold fills: the places of its results in an array, [rows, lanes] or [lanes] for the last row alone."""

    array: Codes
    places: Places


class Loop(NamedTuple):
    """A loop, ready to run. ``held``: the arrays that it needs."""

    record: npt.NDArray[np.uint64]
    held: tuple[Any, ...]


def loop(implementation: Implementation, inputs: Sequence[Input], results: Sequence[Codes], refused: Codes) -> Loop:
    """Return the loop of an op. ``results``: the arrays that it fills. ``refused``: one byte."""
    tables = Tables()
    kinds = tuple((each.bits, each.places is not None) for each in inputs)
    text = _assembly(implementation, kinds, len(results), tables)
    code = _compiled(text)
    words = [code.address, len(results[0]), refused.ctypes.data]
    for each in inputs:
        words += [each.array.ctypes.data, 0 if each.places is None else each.places.ctypes.data]
    words += [each.ctypes.data for each in (*results, *tables.arrays)]
    return Loop(np.array(words, np.uint64), (code, *inputs, *results, refused, *tables.arrays))


def fold(implementation: Implementation, inputs: Sequence[Input], results: Sequence[Folded], refused: Codes) -> Loop:
    """Return the loop of a fold: accumulators begin with the first row of the inputs, [rows, lanes] each, and take one
    row after the other. ``implementation``: takes accumulators, then elements.
    """
    tables = Tables()
    code = _compiled(_assembly_of_fold(implementation, tuple([each.bits for each in inputs]), tables))
    places = [np.arange(each.array.size, dtype=np.uint32) if each.places is None else each.places for each in inputs]
    lanes = results[0].places.shape[-1]
    stride = lanes if results[0].places.ndim > 1 else 0
    words = [code.address, places[0].size // lanes, refused.ctypes.data, lanes, stride]
    for array, where in (*zip([each.array for each in inputs], places, strict=True), *results):
        words += [array.ctypes.data, where.ctypes.data]
    words += [each.ctypes.data for each in tables.arrays]
    return Loop(np.array(words, np.uint64), (code, *inputs, *places, *results, refused, *tables.arrays))


class Loops:
    """Loops that run one after the other."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self._loops = loops
        self._records = np.array([each.record.ctypes.data for each in loops], np.uint64)
        self._run = _driver()

    def run(self) -> None:
        """Run all loops."""
        self._run(self._records.ctypes.data, len(self._records))


@llvm.forgotten
@lru_cache(maxsize=1024)
def _compiled(text: str) -> llvm.Code:
    return llvm.compile_assembly(text, "gathering")


def _assembly(implementation: Implementation, kinds: Sequence[tuple[int, bool]], results: int, tables: Tables) -> str:
    """Return the text of a loop. ``kinds``: for each input its bits, and whether its elements have places."""
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    function = make.Function(module, make.FunctionType(make.VoidType(), [pointer]), "gathering")
    first_result = _FIRST + 2 * len(kinds)
    emit = Emitter(function, tables, first_result + results)
    addresses = emit.addresses(emit.state, first_result + results)
    count = emit.shared(_COUNT, emit.variables)
    index, flag = emit.variable(word), emit.variable(make.IntType(8))
    zero, one = emit.constant(0, 64), emit.constant(1, 64)
    inner, end = emit.label(), emit.label()
    emit.set(index, zero)
    emit.set(flag, emit.constant(0, 8))
    emit.jump(inner)

    emit.begin(inner)
    at = emit.get(index, word)
    operands = []
    for number, (bits, placed) in enumerate(kinds):
        base, places = addresses[_FIRST + 2 * number : _FIRST + 2 * number + 2]
        place = emit.resize(emit.load(places, at, 32), 64, signed=False) if placed else at
        operands.append(emit.word(emit.load(base, place, natural(bits))).resized(bits))
    found = implementation(*operands)
    wrong = emit.take_refused()
    for base, value in zip(addresses[first_result:], found if isinstance(found, tuple) else (found,), strict=True):
        emit.store(base, at, value.resized(natural(value.width)).held)
    if wrong is not None:
        before = emit.get(flag, make.IntType(8))
        emit.set(flag, emit.builder.or_(before, emit.resize(wrong, 8, signed=False)))
    following = emit.builder.add(at, one)
    emit.set(index, following)
    emit.branch(emit.relation("s<", following, count), inner, end)

    emit.begin(end)
    emit.store(addresses[_REFUSED], zero, emit.get(flag, make.IntType(8)))
    emit.builder.ret_void()
    emit.finish()
    return str(module)


_LANES, _STRIDE, _FIRST_OF_FOLD = range(_FIRST, _FIRST + 3)


def _assembly_of_fold(implementation: Implementation, bits: Sequence[int], tables: Tables) -> str:
    """Return the text of the loop of a fold. ``bits``: those of the elements of each input."""
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    function = make.Function(module, make.FunctionType(make.VoidType(), [pointer]), "gathering")
    count = len(bits)
    emit = Emitter(function, tables, _FIRST_OF_FOLD + 4 * count)
    addresses = emit.addresses(emit.state, _FIRST_OF_FOLD + 4 * count)
    pairs = [addresses[place : place + 2] for place in range(_FIRST_OF_FOLD, _FIRST_OF_FOLD + 4 * count, 2)]
    inputs, results = pairs[:count], pairs[count:]
    rows, lanes, stride = (emit.shared(number, emit.variables) for number in (_COUNT, _LANES, _STRIDE))
    row, lane, flag = emit.variable(word), emit.variable(word), emit.variable(make.IntType(8))
    zero, one = emit.constant(0, 64), emit.constant(1, 64)
    begin, first, outer, inner, next_, end = (emit.label() for _ in range(6))

    def at(pair: Any, index: Any) -> Any:
        return emit.resize(emit.load(pair[1], index, 32), 64, signed=False)

    def loaded(pair: Any, index: Any, width: int) -> Word:
        return emit.word(emit.load(pair[0], at(pair, index), natural(width))).resized(width)

    def stored(pair: Any, index: Any, value: Word) -> None:
        emit.store(pair[0], at(pair, index), value.resized(natural(value.width)).held)

    def advanced(variable: Any, current: Any, limit: Any, again: Any, after: Any) -> None:
        following = emit.builder.add(current, one)
        emit.set(variable, following)
        emit.branch(emit.relation("s<", following, limit), again, after)

    emit.set(flag, emit.constant(0, 8))
    emit.set(lane, zero)
    emit.jump(first)
    emit.begin(first)
    current = emit.get(lane, word)
    for source, result, width in zip(inputs, results, bits, strict=True):
        stored(result, current, loaded(source, current, width))
    advanced(lane, current, lanes, first, begin)

    emit.begin(begin)
    emit.set(row, one)
    emit.branch(emit.relation("s<", one, rows), outer, end)
    emit.begin(outer)
    emit.set(lane, zero)
    emit.jump(inner)
    emit.begin(inner)
    current, turn = emit.get(lane, word), emit.get(row, word)
    element = emit.builder.add(emit.builder.mul(turn, lanes), current)
    own = emit.builder.add(emit.builder.mul(turn, stride), current)
    before = emit.builder.sub(own, stride)
    held = [loaded(result, before, width) for result, width in zip(results, bits, strict=True)]
    held += [loaded(source, element, width) for source, width in zip(inputs, bits, strict=True)]
    found = implementation(*held)
    wrong = emit.take_refused()
    for result, value in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
        stored(result, own, value)
    if wrong is not None:
        earlier = emit.get(flag, make.IntType(8))
        emit.set(flag, emit.builder.or_(earlier, emit.resize(wrong, 8, signed=False)))
    advanced(lane, current, lanes, inner, next_)
    emit.begin(next_)
    advanced(row, emit.get(row, word), rows, outer, end)

    emit.begin(end)
    emit.store(addresses[_REFUSED], zero, emit.get(flag, make.IntType(8)))
    emit.builder.ret_void()
    emit.finish()
    return str(module)


@cache
def _driver() -> Any:
    """Return the function that runs the loops of records, whose addresses lie in an array."""
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    function = make.Function(module, make.FunctionType(make.VoidType(), [pointer, word]), "loops")
    emit = Emitter(function, Tables(), 0)
    records, count = function.args
    index, inner, end = emit.variable(word), emit.label(), emit.label()
    emit.set(index, emit.constant(0, 64))
    emit.jump(inner)
    emit.begin(inner)
    at = emit.get(index, word)
    record = emit.builder.inttoptr(emit.load(records, at, 64), pointer)
    kind = make.FunctionType(make.VoidType(), [pointer])
    emit.call_address(emit.load(record, emit.constant(_CODE, 64), 64), kind, [record])
    following = emit.builder.add(at, emit.constant(1, 64))
    emit.set(index, following)
    emit.branch(emit.relation("s<", following, count), inner, end)
    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()
    code = llvm.compile_assembly(str(module), "loops", vectors=False)
    run = _RUN(code.address)
    run.code = code  # type: ignore[attr-defined]
    return run
