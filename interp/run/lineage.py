"""The lineage of a run: for each number, the op that made it and the operands.

A run that keeps lineage (as `Settings.recorder`) gives each element an id: an int64 in the array of marks,
`Value.open`. Ops that move elements move the ids too. An op on elements adds one batch for all its elements, and gives
its results new ids that follow one another. So recording an op takes few calls of NumPy, also for large arrays.

Ids are checked when they are read: if the code of an operand is not the code that belonged to its id, the operand has
no known history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import OpRun, holds_floats, on_floats
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.value import Value
from halfulp.semantics.integer_functions import wrapped
from halfulp.semantics.kernel import Kernel

Ids = npt.NDArray[np.int64]

MOST_NODES = 50_000_000
"""The most numbers whose history is kept."""
MOST_BATCHES = 1_000_000
"""The most ops whose history is kept: each takes about a kilobyte, also for one number."""

NO_ID = 0
"""The id of a number that no op on floats made: a constant, or a number computed from integers alone."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The results of one run of an op, for all its elements."""

    #: The ids of result number k begin at ``base + k * size``.
    base: int
    #: The run of the op, without the values of its operands.
    run: OpRun
    #: The ids of each operand, in arrays that broadcast to the shape; None for an operand without ids.
    ids: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each result."""
        return self.run.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class _Source:
    """Numbers that came from outside of the recorded ops. ``argument``: the number of the argument; None if ``what``
    made them.
    """

    base: int
    argument: int | None
    what: str
    type: ty.Type
    codes: Codes
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number whose history ends here.

    ``argument``: the number of the argument whose element at ``place`` it is; None for any other number. ``unknown``:
    the name of its origin, if that cannot be recorded; "" for an argument, and for a number that no op on floats made,
    such as a constant.
    """

    type: ty.Type
    code: int
    argument: int | None = None
    place: tuple[int, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a node: its code and its type. ``id``: the id under which its history continues; 0 if it has
    none.
    """

    id: int
    type: ty.Type
    code: int


@dataclass(frozen=True, slots=True)
class Node:
    """A number that an op made. ``around``: as in `OpRun`. ``result``: the number of the op's result. ``poison``:
    whether the number was poison.
    """

    op: Operation
    around: Operation
    kernel: Kernel
    location: Location
    operands: tuple[Operand, ...]
    type: ty.Type
    code: int
    result: int = 0
    poison: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of a fold that made a number, which were recorded as one. ``first``: the accumulator before them.
    ``ids``, ``codes``: those of the elements; ``ids`` is None if no op made any of them.

    ``results``: the codes of the accumulator. ``accumulator``: see `OpRun`.
    """

    first: Operand
    ids: Ids | None
    codes: Codes
    results: Codes
    accumulator: int


@dataclass(eq=False, slots=True)
class Lineage:
    """The history of the numbers of one run. It grows while the run goes on.

    ``most_nodes`` and ``most_batches``: limits, beyond which the run ends with LimitExceeded.
    """

    most_nodes: int = MOST_NODES
    most_batches: int = MOST_BATCHES
    _next: int = 1
    _bases: list[int] = field(default_factory=list)
    _entries: list[Batch | _Source] = field(default_factory=list)
    _memories: list[Allocation] = field(default_factory=list)

    def __len__(self) -> int:
        return self._next - 1

    @property
    def mark_type(self) -> np.dtype[Any]:
        """The dtype of marks, which are ids."""
        return np.dtype(np.int64)

    @property
    def batches(self) -> Iterator[Batch]:
        """All batches, in the order of the run."""
        return (entry for entry in self._entries if isinstance(entry, Batch))

    # --- recording ---

    def record(self, run: OpRun) -> tuple[Ids | None, ...]:
        """Record the results of an op and its operands, and return the ids of the results; None for the results of an
        op on integers without a history, unless the op wraps. Raises LimitExceeded.
        """
        ids = tuple([value.open for value in run.operands])
        traced = any(each is not None for each in ids) or on_floats(run.op)
        if not traced and wrapped(run.kernel.meaning(), run.codes) is None:
            return (None,) * len(run.results)
        rank = len(run.shape)
        aligned = tuple(
            [each if each is None or each.ndim == rank else each.reshape((1,) * (rank - each.ndim) + each.shape)
             for each in ids]
        )  # fmt: skip
        size, count = prod(run.shape), len(run.results)
        kept = replace(run, operands=())
        base = self._add(lambda base: Batch(base, kept, aligned), size * count)
        return tuple(
            [np.arange(start, start + size, dtype=np.int64).reshape(run.shape)
             for start in range(base, base + max(1, size) * count, max(1, size))]
        )  # fmt: skip

    def accumulators(self, kernel: Kernel, terms: Value, codes: Codes) -> Value | None:
        """Return the accumulators of a fold, as `Recorder.accumulators` defines. The steps get the next ids."""
        if not holds_floats(terms) and terms.open is None:
            wraps = wrapped(kernel.meaning(), (codes[:-1], terms.bits[1:])) is not None
            return None if wraps else Value(terms.type, codes)
        ids = self._next - prod(terms.shape[1:]) + np.arange(prod(terms.shape), dtype=np.int64).reshape(terms.shape)
        ids[0] = NO_ID if terms.open is None else terms.open[0]
        return Value(terms.type, codes, None, ids)

    def argument(self, number: int, given: Any) -> Any:
        """Return an argument with ids for its elements. The memory of a buffer gets them in place, each piece of memory
        once.

        Raises LimitExceeded.
        """
        if isinstance(given, Buffer):
            memory = given.allocation.root
            if not any(memory is known for known in self._memories):
                self._memories.append(memory)
                self._in_memory(memory, given.type, number, "")
        return self._of_value(given, number, "") if isinstance(given, Value) else given

    def unknown(self, what: str, produced: Any) -> Any:
        """Return a value, or a buffer, with ids that say that the history of its numbers is not known. ``what``: what
        made them.

        Raises LimitExceeded.
        """
        if isinstance(produced, Buffer):
            self._in_memory(produced.allocation.root, produced.type, None, what)
        return self._of_value(produced, None, what) if isinstance(produced, Value) else produced

    def constant(self, value: Value) -> Value:
        """Return a constant of the program, which has no history and no ids."""
        return value

    def computed(self, op: Operation, operands: Sequence[Any], results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return results with ids of unknown history, if they are floats without their own history, computed from
        floats that have one. Raises LimitExceeded.
        """
        if not any(isinstance(value, Value) and value.open is not None and holds_floats(value) for value in operands):
            return results
        return tuple(
            [
                self.unknown(op.name, value)
                if isinstance(value, Value) and value.open is None and holds_floats(value)
                else value
                for value in results
            ]
        )

    def _of_value(self, value: Value, number: int | None, what: str) -> Value:
        ids = self._source(number, what, value.element_type, value.bits, value.shape)
        return Value(value.type, value.bits, value.poison, ids, value.origins)

    def _in_memory(self, memory: Allocation, type_: ty.Type, number: int | None, what: str) -> None:
        element = ty.element_type(type_)
        element = element.element if isinstance(element, ty.VectorType) else element
        shape = (len(memory), *memory.inner)
        memory.open = self._source(number, what, element, memory.bits.copy(), shape)

    def _source(
        self, number: int | None, what: str, element: ty.Type, codes: Codes, shape: tuple[int, ...]
    ) -> Ids | None:
        """Return ids for numbers from outside; None for values that are not numbers, and for indices."""
        if isinstance(element, ty.IndexType) or ty.element_width(ty.number_type(element)) is None:
            return None
        size = prod(shape)
        base = self._add(lambda base: _Source(base, number, what, element, codes, shape), size)
        return np.arange(base, base + size, dtype=np.int64).reshape(shape)

    def _add(self, make: Any, count: int) -> int:
        base = self._next
        if base + count > self.most_nodes or len(self._entries) >= self.most_batches:
            raise LimitExceeded(
                f"the lineage of this run has more than {self.most_nodes:,} numbers, or {self.most_batches:,} ops",
                hint="give the program a smaller input",
            )
        if count:
            self._bases.append(base)
            self._entries.append(make(base))
            self._next = base + count
        return base

    # --- reading ---

    def node(self, id: int) -> Node | Leaf:
        """Return the node that made the number with an id. Raises KeyError for an id that this run did not give."""
        if not 0 < id < self._next:
            raise KeyError(id)
        entry = self._entries[bisect_right(self._bases, id) - 1]
        offset = id - entry.base
        if isinstance(entry, _Source):
            place = tuple(map(int, np.unravel_index(offset, entry.shape)))
            return Leaf(entry.type, _code(entry.codes, place, entry.type), entry.argument, place, entry.what)
        number, offset = divmod(offset, entry.size)
        place = tuple(map(int, np.unravel_index(offset, entry.shape)))
        run = entry.run
        types = [ty.element_type(value.type) for value in run.op.operands]
        operands = zip(entry.ids, run.codes, types, strict=True)
        element = ty.element_type(run.op.results[number].type)
        return Node(
            run.op,
            run.around,
            run.kernel,
            run.location,
            tuple([self._operand(ids, codes, type_, place) for ids, codes, type_ in operands]),
            element,
            _code(run.results[number], place, element),
            number,
            run.poison is not None and bool(run.poison[place]),
        )

    def made(self, id: int) -> Node | None:
        """Return the node that made the number with an id; None if no op made it."""
        found = self.node(id)
        return found if isinstance(found, Node) else None

    def write_codes(self, into: npt.NDArray[np.uint64]) -> None:
        """Write the code of each number, of types of at most 64 bits, into the place of its id."""
        for entry in self._entries:
            arrays = entry.run.results if isinstance(entry, Batch) else (entry.codes,)
            size = entry.size if isinstance(entry, Batch) else prod(entry.shape)
            for number, codes in enumerate(arrays):
                if codes.size == size:
                    start = entry.base + number * size
                    into[start : start + size] = codes.reshape(-1)

    def unknown_spans(self) -> Iterator[slice]:
        """Yield the ranges of ids that belong to numbers whose history is not known."""
        for entry in self._entries:
            if isinstance(entry, _Source) and entry.what:
                yield slice(entry.base, entry.base + prod(entry.shape))

    def history(self, id: int, type_: ty.Type, code: int) -> Node | Leaf:
        """Return the node that made a number with an id, or a leaf. The leaf has no history if the number has none, and
        an unknown history if the id was given for another number.
        """
        if id == NO_ID:
            return Leaf(type_, code)
        found = self.node(id) if 0 < id < self._next else None
        if found is None or found.code != code or ty.element_width(found.type) != ty.element_width(type_):
            return Leaf(type_, code, unknown="bits of other numbers")
        return found

    def chain(self, id: int) -> Chain | None:
        """Return the steps of the fold whose result is a number; None for other numbers, and for codes of several
        words.
        """
        entry = self._entries[bisect_right(self._bases, id) - 1]
        if not isinstance(entry, Batch):
            return None
        run, own = entry.run, entry.run.accumulator
        if own is None or run.results[0].shape != run.shape:
            return None
        place = tuple(map(int, np.unravel_index(id - entry.base, run.shape)))
        element = 1 - own
        type_ = ty.element_type(run.op.operands[own].type)
        first = self._operand(entry.ids[own], run.codes[own], type_, (0, *place[1:]))
        steps: tuple[Any, ...] = (slice(place[0] + 1), *place[1:])
        ids = None if entry.ids[element] is None else np.broadcast_to(entry.ids[element], run.shape)[steps]
        codes = np.broadcast_to(run.codes[element], run.shape)[steps]
        if ids is not None and self._are_given(ids, codes):
            ids = None
        return Chain(first, ids, codes, run.results[0][steps], own)

    def _are_given(self, ids: Ids, codes: Codes) -> bool:
        """Tell whether numbers are all elements of one argument, unchanged."""
        first, last = (bisect_right(self._bases, int(end)) - 1 for end in (ids.min(), ids.max()))
        entry = self._entries[first] if first == last and first >= 0 else None
        if not isinstance(entry, _Source) or entry.argument is None or entry.codes.dtype != codes.dtype:
            return False
        return np.array_equal(entry.codes.reshape(-1)[ids - entry.base], codes)

    def _operand(self, ids: Ids | None, codes: Codes, type_: ty.Type, place: tuple[int, ...]) -> Operand:
        return Operand(NO_ID if ids is None else int(ids[_within(ids.shape, place)]), type_, _code(codes, place, type_))


def _within(shape: tuple[int, ...], place: tuple[int, ...]) -> tuple[int, ...]:
    """Return a place in an array that is broadcast, from the place in the shape to which it is broadcast."""
    own = place[len(place) - len(shape) :] if len(shape) <= len(place) else (0,) * (len(shape) - len(place)) + place
    return tuple([min(k, size - 1) for k, size in zip(own, shape, strict=True)])


def _code(codes: Codes, place: tuple[int, ...], type_: ty.Type) -> int:
    """Return a code as an integer; for a complex number, with the real part in the low bits."""
    width = ty.element_width(ty.number_type(type_)) or 0
    rank = len(place)
    shape = codes.shape[:rank]
    parts = codes_to_ints(np.asarray(codes[_within(shape, place)]), width)
    return sum(part << number * width for number, part in enumerate(parts))
