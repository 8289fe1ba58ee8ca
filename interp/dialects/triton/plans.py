"""Planned launches: the ops that `halfulp.interp.dialects.triton.planning` recorded, as operations on whole arrays.

The elements of one size lie in one array, a pool: first the constants, then the elements of memory, then those that ops
compute, the results of one op after the other. So the results of an op, for all programs and iterations that run it
together, are one range of a pool, and its operands are often one too; else they are picked by their places.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.paths import gathering, llvm
from halfulp.fp_formats.paths.words import Word
from halfulp.interp.dialects.triton.combining import Links
from halfulp.interp.dialects.triton.local import Block, element_of, shape_of
from halfulp.interp.dialects.triton.planning import Instance, Node, Recorded, Recorder
from halfulp.interp.dialects.triton.types import MemDescType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

Places = npt.NDArray[np.intp] | slice


class _Unusual(HalfulpError):
    """A planned launch met something that only the usual run does right."""


def _dtype_of(type_: ty.Type) -> np.dtype[Any]:
    return code_layout(element_of(type_))[0]


def _places(places: npt.NDArray[np.intp]) -> Places:
    """Return places as a range if they follow one another."""
    first, count = int(places[0]) if len(places) else 0, len(places)
    if count and int(places[-1]) - first == count - 1 and (places[1:] - places[:-1] == 1).all():
        return slice(first, first + count)
    return places


class _Operand(NamedTuple):
    """Elements of a pool, or known ones."""

    pool: Codes
    places: Places
    known: Codes | None

    def codes(self) -> Codes:
        """Return the elements in one dimension."""
        if self.known is not None:
            return self.known
        return self.pool[self.places] if isinstance(self.places, slice) else self.pool.take(self.places)


class _Pools:
    """Where elements lie: for each number the place in the pool of its size."""

    def __init__(self, recorder: Recorder) -> None:
        self._place = np.zeros(recorder.count, np.intp)
        self._size = np.zeros(recorder.count, np.uint8)
        self._next = dict.fromkeys((1, 2, 4, 8), 1)
        self.pools: dict[int, Codes] = {}
        self._constant_to: dict[int, int] = {}

    def lay(self, first: int, count: int, size: int) -> slice:
        """Lay elements with consecutive numbers next to each other, and return their places."""
        start = self._next[size]
        self._next[size] = start + count
        self._place[first : first + count] = np.arange(start, start + count)
        self._size[first : first + count] = size
        return slice(start, start + count)

    def make(self) -> None:
        """Make the pools."""
        self.pools = {size: np.zeros(count, f"u{size}") for size, count in self._next.items()}

    def end_constants(self) -> None:
        """Note that the elements that were laid so far are constants."""
        self._constant_to = dict(self._next)

    def operand(self, numbers: npt.NDArray[np.uint64], size: int) -> _Operand:
        """Return the elements with these numbers."""
        flat = numbers.reshape(-1).astype(np.intp)
        if not np.isin(self._size[flat[flat != 0]], size).all():
            raise _Unusual("an op reads elements of another size")
        places = self._place[flat]
        pool = self.pools[size]
        if (places < self._constant_to[size]).all():
            return _Operand(pool, places, pool[places])
        return _Operand(pool, _places(places), None)


class _OnElements:
    """The executions of an op on elements, by its kernel or as a loop of machine code."""

    def __init__(
        self, node: Node, operands: Sequence[_Operand], written: Sequence[tuple[Codes, slice]], bits: Sequence[int]
    ) -> None:
        assert node.kernel is not None
        self._kernel, self._operands, self._written, self._bits = node.kernel, operands, written, bits
        self.described = node.kernel.words is not None and all(places.stop > places.start for _, places in written)

    def __call__(self) -> None:
        """Run the op by its kernel."""
        outcome = self._kernel.array(*[operand.codes() for operand in self._operands])
        if outcome.faults and any(mask.any() for _, mask in outcome.faults):
            raise _Unusual("an op is undefined for an element")
        for (pool, places), codes in zip(self._written, outcome.results, strict=True):
            pool[places] = codes

    def loop(self, refused: Codes) -> gathering.Loop:
        """Return the loop of machine code. ``refused``: a byte that tells whether the loop refused an element."""
        inputs = []
        for operand, bits in zip(self._operands, self._bits, strict=True):
            if operand.known is not None:
                inputs.append(gathering.Input(np.ascontiguousarray(operand.known), None, bits))
            elif isinstance(operand.places, slice):
                inputs.append(gathering.Input(operand.pool[operand.places], None, bits))
            else:
                inputs.append(gathering.Input(operand.pool, operand.places.astype(np.uint32), bits))
        assert self._kernel.words is not None
        return gathering.loop(self._kernel.words, inputs, [pool[places] for pool, places in self._written], refused)


class _OverLanes:
    """The executions of an op as lanes of a batch; a reduction or scan in sequence may be a loop of machine code."""

    def __init__(
        self,
        plan: Plan,
        node: Node,
        count: int,
        operands: Sequence[_Operand],
        written: Sequence[tuple[Codes, slice]],
    ) -> None:
        self._plan, self._node, self._operands, self._written = plan, node, operands, written
        self._lanes = Lanes(np.arange(count), count)
        self._given, self._made = (
            [(count, *shape_of(type_)) for type_ in types] for types in (node.reads, node.results)
        )
        self.described = node.described

    def __call__(self) -> None:
        """Run the op over lanes."""
        node, (reads, results) = self._node, self._node.slots
        slots = self._plan.template.copy()
        slots[0] = LaneRun(self._plan.settings, self._lanes)
        for slot, type_, shape, operand in zip(reads, node.reads, self._given, self._operands, strict=True):
            codes = operand.codes().reshape(shape)
            if isinstance(type_, MemDescType):
                slots[slot] = Block(codes, np.zeros(shape, np.uint16), np.zeros(shape, np.uint8))
            else:
                slots[slot] = Value(type_, codes)
        assert node.step is not None
        node.step(slots)
        for slot, shape, (pool, places) in zip(results, self._made, self._written, strict=True):
            value = slots[slot]
            if isinstance(value, Value):
                if value.poison is not None:
                    raise _Unusual("an element is poison")
                value = value.bits
            pool[places] = np.broadcast_to(value, shape).reshape(-1)

    def loop(self, refused: Codes) -> gathering.Loop:
        """Return the loop of machine code. ``refused``: a byte that tells whether the loop refused an element."""
        fold = self._node.fold
        assert fold is not None

        def rows(places: npt.NDArray[np.intp], shape: tuple[int, ...]) -> npt.NDArray[np.uint32]:
            """Return places as [rows, lanes]."""
            turned = np.moveaxis(places.reshape(shape), 1 + fold.axis, 0)
            turned = turned.reshape(len(turned), -1)
            return np.ascontiguousarray(turned[::-1] if fold.reverse else turned, np.uint32)

        inputs, results = [], []
        for operand, shape, type_ in zip(self._operands, self._given, self._node.reads, strict=True):
            array, every = operand.pool, operand.places
            if operand.known is not None:
                array, every = np.ascontiguousarray(operand.known), np.arange(operand.known.size)
            every = np.arange(every.start, every.stop) if isinstance(every, slice) else every
            inputs.append(gathering.Input(array, rows(every, shape), ty.width_of(element_of(type_))))
        for (pool, some), shape in zip(self._written, self._made, strict=True):
            every = np.arange(some.start, some.stop)
            results.append(gathering.Folded(pool, rows(every, shape) if fold.keeps else every.astype(np.uint32)))
        return gathering.fold(partial(_linked, fold.links), inputs, results, refused)


def _linked(links: Links, *given: Word) -> tuple[Word, ...]:
    """Make the instructions of a region. ``given``: accumulators, then elements."""
    values = [*given]
    for link in links.links:
        assert link.kernel.words is not None
        found = link.kernel.words(*[values[number] for number in link.operands])
        values += found if isinstance(found, tuple) else (found,)
    return tuple([values[number] for number in links.yields])


class _InMachineCode:
    """Ops on elements that run one after the other as machine code; if it refuses an element, by their kernels."""

    def __init__(self, ops: Sequence[_OnElements | _OverLanes]) -> None:
        self._ops = ops
        self._refused = np.zeros(len(ops), np.uint8)
        self._loops = gathering.Loops(
            [each.loop(self._refused[number : number + 1]) for number, each in enumerate(ops)]
        )
        self._refusals = 0

    def __call__(self) -> None:
        """Run the ops."""
        if self._refusals < _MOST_REFUSALS:
            self._loops.run()
            if not self._refused.any():
                return
            self._refusals += 1
        for each in self._ops:
            each()


_MOST_REFUSALS = 8
"""After so many refusals kernels run at once."""
_RUNS = 8
"""The runs of a plan before its ops become machine code: who launches a kernel as often launches it many times."""


class _Store(NamedTuple):
    """Elements that a launch leaves in an allocation."""

    allocation: int
    places: Places
    operand: _Operand


class Plan:
    """A planned launch."""

    def __init__(self, recorded: Recorded, sizes: Sequence[int], settings: Settings) -> None:
        """``sizes``: the bytes of an element of each allocation."""
        recorder, memories = recorded
        self.settings, self.template = settings, recorder.template
        self._lock = threading.Lock()
        pools = _Pools(recorder)
        constants = self._constants(recorder)
        laid = [(pools.lay(first, len(codes), codes.dtype.itemsize), codes) for first, codes in constants]
        pools.end_constants()
        given = [pools.lay(first, len(last), size) for (first, last), size in zip(memories, sizes, strict=True)]
        batches = _batches(recorded)
        results = [self._lay(pools, *batch) for batch in batches]
        pools.make()
        for places, codes in laid:
            pools.pools[codes.dtype.itemsize][places] = codes
        self._loads = [(pools.pools[size], places) for places, size in zip(given, sizes, strict=True)]
        self._runs = 0
        self._steps: Sequence[Callable[[], None]] = [
            self._step(pools, node, instances, made) for (node, instances), made in zip(batches, results, strict=True)
        ]
        self._stores = []
        for number, ((first, last), size) in enumerate(zip(memories, sizes, strict=True)):
            changed = np.flatnonzero(last != np.arange(first, first + len(last), dtype=np.uint64))
            if len(changed):
                self._stores.append(_Store(number, _places(changed), pools.operand(last[changed], size)))

    @staticmethod
    def _constants(recorder: Recorder) -> list[tuple[int, Codes]]:
        return [(each.first, each.codes) for each in recorder.constants]

    def _lay(self, pools: _Pools, node: Node, instances: Sequence[Instance]) -> list[slice]:
        """Lay the results of a batch, and return their places, for each result."""
        made = []
        for number, type_ in enumerate(node.results):
            size = _dtype_of(type_).itemsize
            parts = []
            for instance in instances:
                numbers = instance.results[number].reshape(-1)
                if len(numbers):
                    parts.append(pools.lay(int(numbers[0]), len(numbers), size))
            made.append(slice(parts[0].start, parts[-1].stop) if parts else slice(0, 0))
        return made

    def _step(
        self, pools: _Pools, node: Node, instances: Sequence[Instance], results: Sequence[slice]
    ) -> Callable[[], None]:
        operands = [
            pools.operand(
                np.concatenate([instance.operands[number].reshape(-1) for instance in instances]),
                _dtype_of(type_).itemsize,
            )
            for number, type_ in enumerate(node.reads)
        ]
        written = [
            (pools.pools[_dtype_of(type_).itemsize], places)
            for type_, places in zip(node.results, results, strict=True)
        ]
        if node.kernel is not None:
            return _OnElements(node, operands, written, [ty.width_of(element_of(type_)) for type_ in node.reads])
        if node.dot is not None:
            return self._multiply(node, instances, operands, written)
        return _OverLanes(self, node, len(instances), operands, written)

    def _multiply(
        self,
        node: Node,
        instances: Sequence[Instance],
        operands: Sequence[_Operand],
        written: Sequence[tuple[Codes, slice]],
    ) -> Callable[[], None]:
        shapes = [(len(instances), *numbers.shape) for numbers in instances[0].operands]
        ((pool, places),) = written
        assert node.dot is not None
        multiply = node.dot.codes

        def run() -> None:
            a, b, c = (operand.codes().reshape(shape) for operand, shape in zip(operands, shapes, strict=True))
            pool[places] = multiply(a, b, c).reshape(-1)

        return run

    def run(self, memories: Sequence[Codes]) -> bool:
        """Run a launch on the elements of the allocations. Return False, and leave them as they are, if it has to run
        as usual.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            for (pool, places), codes in zip(self._loads, memories, strict=True):
                pool[places] = codes
            self._runs += 1
            if self._runs == _RUNS and llvm.machine_code_allowed():
                self._steps = llvm.unless_broken(lambda: _in_code(self._steps)) or self._steps
            for step in self._steps:
                step()
        except HalfulpError:
            return False
        else:
            for store in self._stores:
                memories[store.allocation][store.places] = store.operand.codes()
            return True
        finally:
            self._lock.release()


def _in_code(steps: Sequence[Callable[[], None]]) -> Sequence[Callable[[], None]]:
    """Return steps with machine code in place of those that have a description."""
    made: list[Callable[[], None]] = []
    for described, some in groupby(steps, lambda each: getattr(each, "described", False)):
        taken = list(some)
        made += [_InMachineCode(taken)] if described else taken  # type: ignore[arg-type]
    return made


Batch = tuple[Node, list[Instance]]


def _uses(recorded: Recorded) -> npt.NDArray[np.intp]:
    """Return for each number how often it is used."""
    nodes = recorded.recorder.nodes.values()
    used = [each.reshape(-1) for node in nodes for instance in node.instances for each in instance.operands]
    every = np.concatenate([*used, *(last for _, last in recorded.memories), np.zeros(1, np.uint64)])
    return np.bincount(every.astype(np.intp), minlength=recorded.recorder.count)


def _joined(node: Node, uses: npt.NDArray[np.intp]) -> list[Instance]:
    """Return the executions of an op. Dots become one that follow one another along K, if nothing else uses the results
    in between.
    """
    if node.dot is None or not node.dot.joins:
        return node.instances
    waiting: dict[int, Instance] = {}
    for instance in node.instances:
        a, b, c = instance.operands
        before = waiting.get(int(c.flat[0]))
        if before is not None and np.array_equal(before.results[0], c) and (uses[c.astype(np.intp)] == 1).all():
            del waiting[int(c.flat[0])]
            first, second, begin = before.operands
            parts = np.concatenate([first, a], axis=-1), np.concatenate([second, b], axis=-2), begin
            instance = Instance(parts, instance.results, instance.level)
        waiting[int(instance.results[0].flat[0])] = instance
    return list(waiting.values())


def _batches(recorded: Recorded) -> list[Batch]:
    """Return the executions that run together, in an order in which each comes after those that it needs. Those that
    may become machine code come together.
    """
    recorder = recorded.recorder
    uses = _uses(recorded)
    found: dict[tuple[int, Any], Batch] = {}
    for key, node in recorder.nodes.items():
        for instance in _joined(node, uses):
            # Dots that were joined may have another depth.
            depth = instance.operands[0].shape[-1:] if node.dot is not None else ()
            found.setdefault((instance.level, (key, depth)), (node, []))[1].append(instance)
    batches = [found[key] for key in sorted(found, key=lambda each: each[0])]
    maker = np.full(recorder.count, -1, np.int32)
    missing: list[set[int]] = []
    for number, (_, instances) in enumerate(batches):
        numbers = np.concatenate([each.reshape(-1) for instance in instances for each in instance.operands])
        missing.append(set(np.unique(maker[numbers.astype(np.intp)]).tolist()) - {-1})
        for instance in instances:
            for each in instance.results:
                maker[each.reshape(-1).astype(np.intp)] = number
    ordered: list[Batch] = []
    done: set[int] = set()
    waiting = list(range(len(batches)))
    in_code = True
    while waiting:
        taken = []
        for number in waiting:
            if missing[number] <= done and batches[number][0].described == in_code:
                taken.append(number)
                done.add(number)
        ordered += [batches[number] for number in taken]
        waiting = [number for number in waiting if number not in done]
        in_code = not in_code
    return ordered
