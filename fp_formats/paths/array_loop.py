"""Ops on the elements of arrays, one or a chain of them, as one loop of machine code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, Mask, storage_dtype
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.tables import AT_ONCE, in_chunks, positions_of
from halfulp.fp_formats.paths.words import Implementation, Word

BLOCK = 1 << 12
"""The elements of a block, where a plan does not say otherwise."""
_LOAD = 16
"""The instructions that take as long as one look-up in a table."""
PAYS = 1 << 22
"""The elements of all calls from which a loop is worth its compilation: NumPy takes about 15 ms for them."""
_FLAGS = 8
"""How many times as long NumPy takes for an element whose exception flags are wanted."""
_AT_ONCE = 1 << 16
"""The most refused elements that are computed at once in the general way."""
_PART = 32 * BLOCK
"""The elements that a thread takes at a time: whole blocks."""
_ENTRY = ctypes.CFUNCTYPE(
    None, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
)


class Step(Protocol):
    """An op of a chain: its description, and the numbers of its operands. `Plan` numbers the values of a chain."""

    @property
    def implementation(self) -> Implementation:
        """The description of the op on machine words."""

    @property
    def operands(self) -> Sequence[int]:
        """The numbers of the operands among the values of the chain."""


class Plan(NamedTuple):
    """A chain. Its values are numbered: the inputs come first, then the results of each step."""

    links: Sequence[Step]
    #: The bits of the inputs.
    widths: Sequence[int]
    #: For each input, whether one code stands for all elements.
    splats: tuple[bool, ...]
    #: The numbers of the values that are written.
    outputs: Sequence[int]
    #: What the loop computes for each block: the kind and the number of a value. "most": the largest element, read as
    #: signed and at least 0; "sum": the sum. Such values have 64 bits.
    totals: Sequence[tuple[str, int]] = ()
    #: Whether there is one more output, which has a byte for each element: 1 if the element is refused, else 0.
    tells: bool = False
    #: Whether there may be instructions on vectors.
    vectors: bool = True
    #: The elements of a block: if the loop refuses one of them, all count as refused. A power of two, `BLOCK` at most.
    block: int = BLOCK


class ArrayLoop:
    """The machine code of a chain for arrays; a single op is a chain of one step."""

    def __init__(self, plan: Plan) -> None:
        tables = Tables()
        text, self.widths = _assembly(plan, tables)
        self._code = llvm.compile_assembly(text, "rows", plan.vectors and not _looks_up(plan, tables))
        self._entry = _ENTRY(self._code.address)
        self._tables = np.array([table.ctypes.data for table in tables.arrays], np.uint64)
        self._kept = tables.arrays
        self._splats, self._block = plan.splats, plan.block

    def run(
        self, inputs: Sequence[Codes], made: Sequence[Codes], count: int, totals: Sequence[Codes] = ()
    ) -> list[slice]:
        """Run the loop on ``count`` elements: fill the arrays ``made`` with the outputs, and ``totals`` with the totals
        of each block. Return the ranges that have refused elements, whose results may be wrong.
        """
        size = self._block
        refused = np.zeros(-(-count // size), np.uint8)

        def work(start: int, stop: int) -> None:
            addresses = llvm.addresses((*inputs, *made), start)
            if totals:
                addresses = np.concatenate([addresses, llvm.addresses(totals, start // size)])
            flags = refused[start // size :]
            self._entry(self._tables.ctypes.data, addresses.ctypes.data, stop - start, flags.ctypes.data, 1, None)

        llvm.share(count, _PART, lambda: work)
        parts: list[slice] = []
        for block in np.flatnonzero(refused).tolist():
            start, stop = block * size, min(block * size + size, count)
            joins = parts and parts[-1].stop == start and stop - parts[-1].start <= _AT_ONCE
            parts[-1:] = [slice(parts[-1].start, stop)] if joins else [*parts[-1:], slice(start, stop)]
        return parts

    def run_rows(
        self, inputs: Sequence[Codes], made: Codes, shape: tuple[int, int], moves: Sequence[bool]
    ) -> list[tuple[int, slice]]:
        """Run the loop on each row of arrays: fill ``made``, which has one dimension, with the rows of the output.

        ``shape``: the number of rows and the elements of a row. ``moves``: for each input, whether each row has
        elements of its own; if not, all rows use the same. Return (row, range of elements) for each range that has
        refused elements.
        """
        rows, length = shape
        size = self._block
        refused = np.zeros((rows, -(-length // size)), np.uint8)
        sizes = [
            each.itemsize * (1 if splat else length) * moving
            for each, splat, moving in zip(inputs, self._splats, moves, strict=True)
        ]
        steps = np.array([*sizes, made.itemsize * length], np.uint64)
        addresses = np.array([each.ctypes.data for each in (*inputs, made)], np.uint64)
        given = self._tables, addresses, length, refused, rows, steps
        self._entry(*(each if isinstance(each, int) else each.ctypes.data for each in given))
        return [
            (row, slice(block * size, min(block * size + size, length)))
            for row, block in zip(*map(np.ndarray.tolist, np.nonzero(refused)), strict=True)
        ]


def cost(plan: Plan) -> int:
    """Return how long the steps take for an element, in instructions; a look-up in a table counts as several."""
    with_steps, without = (
        _assembly(each, Tables())[0].splitlines()
        for each in (plan, plan._replace(links=(), outputs=[0] * len(plan.outputs)))
    )
    look_ups = sum(" = load " in line for line in with_steps) - sum(" = load " in line for line in without)
    return len(with_steps) - len(without) + _LOAD * look_ups


def _assembly(plan: Plan, tables: Tables) -> tuple[str, list[int]]:
    """Return the assembly text of a loop, and the widths of its outputs in bits."""
    links, widths, splats, outputs, sums, tells, _, length = plan
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    module = make.Module()
    function = make.Function(module, make.FunctionType(make.VoidType(), [pointer, pointer, word, pointer]), "entry")
    emit = Emitter(function, tables, 0)
    _, addresses, count, refused = function.args
    arrays = emit.addresses(addresses, len(widths) + len(outputs) + tells + len(sums))
    inputs, made = arrays[: len(widths)], arrays[len(widths) :]
    totals = [(*each, emit.variable(word), base) for each, base in zip(sums, made[len(outputs) + tells :], strict=True)]
    start, index, flag = emit.variable(word), emit.variable(word), emit.variable(make.IntType(1))
    block, choice, inner, after, end = (emit.label() for _ in range(5))
    zero, one, size = emit.constant(0, 64), emit.constant(1, 64), emit.constant(length, 64)

    def computed(at: Any) -> list[Word]:
        """Compute one element."""
        values: list[Word] = []
        for base, width, splat in zip(inputs, widths, splats, strict=True):
            values.append(_loaded(emit, base, zero if splat else at, width))
        for link in links:
            found = link.implementation(*(values[number] for number in link.operands))
            values += found if isinstance(found, tuple) else (found,)
        wrong = emit.take_refused()
        if wrong is not None:
            emit.set(flag, emit.builder.or_(emit.get(flag, make.IntType(1)), wrong))
        for how, value, total, _ in totals:
            before, each = emit.get(total, word), values[value].held
            more = emit.builder.add(before, each) if how == "sum" else None
            emit.set(total, more or emit.choose(emit.relation("s<", before, each), each, before))
        told = [emit.word(wrong or emit.constant(0, 1))] if tells else []
        return [*(values[number] for number in outputs), *told]

    def store(at: Any, results: Sequence[Word]) -> None:
        for base, value in zip(made, results, strict=False):
            _store(emit, base, at, value)

    emit.set(start, zero)
    emit.jump(block)

    emit.begin(block)
    first = emit.get(start, word)
    last = emit.builder.add(first, size)
    last = emit.choose(emit.relation("s<", last, count), last, count)
    emit.set(index, first)
    for place in (flag, *(total for _, _, total, _ in totals)):
        emit.set(place, emit.ir.Constant(place.allocated_type, 0))
    emit.jump(choice)

    emit.begin(inner)
    at = emit.get(index, word)
    results = computed(at)
    store(at, results)
    following = emit.builder.add(at, one)
    emit.set(index, following)
    emit.branch(emit.relation("s<", following, last), inner, after)

    emit.begin(choice)
    if _looks_up(plan, tables):
        # Look-ups do not become vector instructions: four at a time overlap.
        four, rest = emit.label(), emit.label()
        at = emit.get(index, word)
        following = emit.builder.add(at, emit.constant(4, 64))
        emit.branch(emit.relation("s<=", following, last), four, rest)
        emit.begin(four)
        places = [emit.builder.add(at, emit.constant(number, 64)) for number in range(4)]
        for place, some in [(place, computed(place)) for place in places]:
            store(place, some)
        emit.set(index, following)
        emit.jump(choice)
        emit.begin(rest)
        emit.branch(emit.relation("s<", at, last), inner, after)
    else:
        emit.jump(inner)

    emit.begin(after)
    number = emit.builder.udiv(first, size)
    for _, _, total, base in totals:
        emit.store(base, number, emit.get(total, word))
    emit.store(refused, number, emit.resize(emit.get(flag, make.IntType(1)), 8, signed=False))
    emit.set(start, last)
    emit.branch(emit.relation("s<", last, count), block, end)

    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()
    _add_rows(module, function, len(arrays), length)
    return str(module), [value.width for value in results[: len(outputs)]]


def _loaded(emit: Emitter, base: Any, at: Any, width: int) -> Word:
    """Read a code. A code of 128 bits is read as two words, of which one may be enough."""
    if width <= 64:
        return emit.word(emit.load(base, at, natural(width))).resized(width)
    first = emit.builder.add(at, at)
    low, high = (emit.word(emit.load(base, emit.builder.add(first, emit.constant(n, 64)), 64)) for n in (0, 1))
    return low.resized(128) | (high.resized(128) << 64)


def _store(emit: Emitter, base: Any, at: Any, value: Word) -> None:
    if value.width <= 64:
        emit.store(base, at, value.resized(natural(value.width)).held)
        return
    first = emit.builder.add(at, at)
    for number, half in enumerate((value.resized(64), value.shift_right(64).resized(64))):
        emit.store(base, emit.builder.add(first, emit.constant(number, 64)), half.held)


def _looks_up(plan: Plan, tables: Tables) -> bool:
    """Tell whether a loop does nothing but look up results."""
    return bool(tables.arrays) and len(plan.links) == 1


def _add_rows(module: Any, entry: Any, count: int, block: int) -> None:
    """Add the function that calls a loop for each row. After a row, the addresses of arrays move by steps of bytes."""
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    kinds = [pointer, pointer, word, pointer, word, pointer]
    emit = Emitter(make.Function(module, make.FunctionType(make.VoidType(), kinds), "rows"), Tables(), 0)
    tables, addresses, length, refused, rows, steps = emit.function.args
    row, begin, end, move = emit.variable(word), emit.label(), emit.label(), emit.label()
    zero, one = emit.constant(0, 64), emit.constant(1, 64)
    blocks = emit.builder.udiv(emit.builder.add(length, emit.constant(block - 1, 64)), emit.constant(block, 64))
    emit.set(row, zero)
    emit.jump(begin)
    emit.begin(begin)
    at = emit.get(row, word)
    flags = emit.builder.gep(refused, [emit.builder.mul(at, blocks)], source_etype=make.IntType(8))
    emit.builder.call(entry, [tables, addresses, length, flags])
    following = emit.builder.add(at, one)
    emit.set(row, following)
    emit.branch(emit.relation("s<", following, rows), move, end)
    emit.begin(move)
    for number in range(count):
        place = emit.constant(number, 64)
        emit.store(addresses, place, emit.builder.add(emit.load(addresses, place, 64), emit.load(steps, place, 64)))
    emit.jump(begin)
    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()


# --- one op -----------------------------------------------------------------------------------------------------------


class ChainOfOne(NamedTuple):
    """A chain that consists of one op."""

    implementation: Implementation
    operands: tuple[int, ...]


class Waiting:
    """A loop that is compiled only when its calls have had enough elements that compiling it saves time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._asked = self._settled = 0
        self._loop: ArrayLoop | None = None
        self._telling: ArrayLoop | None = None

    def get(self, elements: int) -> ArrayLoop | None:
        """Return the loop, or None if NumPy computes this number of elements faster."""
        if llvm.at_once():
            return self._made()
        if not (llvm.may_pay(elements) and llvm.machine_code_allowed()):
            return None
        self._asked += elements
        return self._made() if self._asked >= PAYS else None

    def _made(self) -> ArrayLoop | None:
        if self._loop is None:
            self._loop = llvm.unless_broken(lambda: ArrayLoop(self._plan))
        return self._loop

    def places(self, inputs: Sequence[Codes], part: slice) -> npt.NDArray[np.intp]:
        """Return the indices of the refused elements in the range ``part`` of the inputs."""
        if self._telling is None:
            self._telling = ArrayLoop(self._plan._replace(tells=True))
        count = part.stop - part.start
        made = [np.empty(count, _dtype_of(width)) for width in self._telling.widths]
        refused = np.empty(count, np.uint8)
        splats = self._plan.splats
        some = [each if splat else each[part] for each, splat in zip(inputs, splats, strict=True)]
        self._telling.run(some, [*made, refused], count)
        places: npt.NDArray[np.intp] = positions_of(refused.view(np.bool_)) + part.start
        return places

    def _refused(
        self, inputs: Sequence[Codes], parts: Sequence[slice], slow: int
    ) -> Iterator[slice | npt.NDArray[np.intp]]:
        """Yield the refused elements of some parts, many at a time, since each call of NumPy code takes long."""
        count = sum(part.stop - part.start for part in parts)
        self._settled += count
        if count <= _AT_ONCE and (slow == 1 or slow * self._settled < PAYS):
            yield from parts
            return
        waiting: list[npt.NDArray[np.intp]] = []
        for part in parts:
            places = self.places(inputs, part)
            if waiting and sum(map(len, waiting)) + len(places) > _AT_ONCE:
                yield np.concatenate(waiting)
                waiting = []
            waiting.append(places)
        if waiting:
            yield np.concatenate(waiting)

    def settle(
        self,
        inputs: Sequence[Codes],
        out: Codes,
        parts: Sequence[slice],
        general: Callable[..., ArrayResult],
        slow: int = 1,
        flags: Codes | None = None,
    ) -> Mask | None:
        """Compute the refused elements of these ranges by ``general``, and write their results to ``out``, and their
        flags to ``flags``, if it is given. Return the mask of poison; None if there is none.

        ``slow``: how many times as long as an addition ``general`` takes. If this is more than 1, only the refused
        elements are computed, as soon as it takes less time to find them than to compute the whole ranges.
        """
        poison: Mask | None = None
        for where in self._refused(inputs, parts, slow):
            some = [each if splat else each[where] for each, splat in zip(inputs, self._plan.splats, strict=True)]
            found = general(*(_as_codes(each, width) for each, width in zip(some, self._plan.widths, strict=True)))
            out[where] = _as_words(found.codes, 128 if out.dtype == _WIDE else 64)
            if flags is not None:
                flags[where] = found.flags
            if found.poison is not None:
                poison = np.zeros(out.size, np.bool_) if poison is None else poison
                poison[where] = found.poison
        return poison


@lru_cache(maxsize=1024)
def _waiting(
    implementation: Implementation, widths: tuple[int, ...], splats: tuple[bool, ...], results: int = 1
) -> Waiting:
    # No processor has vectors of words of 128 bits.
    vectors, outputs = 128 not in widths, range(len(widths), len(widths) + results)
    return Waiting(
        Plan([ChainOfOne(implementation, tuple(range(len(widths))))], widths, splats, outputs, vectors=vectors)
    )


def loop_for(
    implementation: Implementation, widths: tuple[int, ...], splats: tuple[bool, ...], elements: int, results: int = 1
) -> ArrayLoop | None:
    """Return the loop of one op; None if NumPy computes this number of elements faster."""
    return _waiting(implementation, widths, splats, results).get(elements)


def applied(
    implementation: Implementation | None,
    widths: tuple[int, ...],
    operands: tuple[Codes, ...],
    general: Callable[..., ArrayResult],
    slow: int = 1,
    flags: bool = False,
) -> ArrayResult | None:
    """Return the results of an op by its description; None if it has no description, or if NumPy computes them faster.

    ``widths``: the bits of the operands, 1 to 64, or 128. ``general`` computes the blocks with refused elements;
    ``slow``: how many times as long as an addition ``general`` takes. ``flags``: the description also gives exception
    flags, in 8 bits, and so does ``general``.
    """
    if implementation is None or not llvm.machine_code_allowed():
        return None
    words = [_as_words(codes, width) for codes, width in zip(operands, widths, strict=True)]
    shape = np.broadcast_shapes(*(each.shape for each in words))
    size = math.prod(shape)
    splats = tuple([size > 1 and each.size == 1 for each in words])
    waiting = _waiting(implementation, widths, splats, 1 + flags)
    loop = waiting.get((_FLAGS if flags else slow) * size) if size else None
    if loop is None:
        return None
    raised = np.empty(shape, np.uint8) if flags else None
    ones = [each.reshape(1) if splat else None for each, splat in zip(words, splats, strict=True)]

    done = 0

    def work(out: Codes, *pieces: Codes) -> Mask | None:
        nonlocal done
        rest = iter(pieces)
        inputs = [np.require(next(rest) if one is None else one, requirements=["C", "A"]) for one in ones]
        own = None if raised is None else raised.reshape(-1)[done : done + out.size]
        done += out.size
        parts = loop.run(inputs, [out] if own is None else [out, own], out.size)
        return waiting.settle(inputs, out, parts, general, slow, own)

    moving = [each for each, one in zip(words, ones, strict=True) if one is None]
    longest = size if all(each.shape == shape for each in moving) else AT_ONCE
    made = in_chunks(shape, _dtype_of(loop.widths[0]), work, *moving, longest=longest)
    return ArrayResult(_as_codes(made.codes, loop.widths[0]), made.poison, raised)


def attempted(
    implementation: Implementation, widths: tuple[int, ...], operands: tuple[Codes, ...]
) -> tuple[Codes, list[slice]] | None:
    """Return the results of an op with several kinds of faults by its description, and the parts with refused elements,
    whose results may be wrong; None if it is not time for machine code. Parts count elements in row-major order.

    ``widths``: the bits of the operands, 1 to 64. The result has as many at most.
    """
    if not llvm.machine_code_allowed():
        return None
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    size = math.prod(shape)
    splats = tuple([size > 1 and each.size == 1 for each in operands])
    loop = loop_for(implementation, widths, splats, size) if size else None
    if loop is None:
        return None
    inputs = [
        np.ascontiguousarray(each if splat else np.broadcast_to(each, shape)).reshape(-1)
        for each, splat in zip(operands, splats, strict=True)
    ]
    out = np.empty(size, _dtype_of(loop.widths[0]))
    parts = loop.run(inputs, [out], size)
    return out.reshape(shape), parts


_WIDE = np.dtype(np.complex128)
"""The dtype that stands for two limbs."""


def _as_words(codes: Codes, width: int) -> Codes:
    """Return codes with one number for each element, also for codes of 128 bits."""
    return codes if width <= 64 else np.ascontiguousarray(codes).view(_WIDE)[..., 0]


def _as_codes(words: Codes, width: int) -> Codes:
    return words if width <= 64 else words[..., np.newaxis].view(np.uint64)


def _dtype_of(width: int) -> np.dtype[Any]:
    return _WIDE if width > 64 else storage_dtype(width)
