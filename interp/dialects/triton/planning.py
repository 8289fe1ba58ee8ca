"""The plan of a launch: what all programs of a grid compute, as a few operations on whole arrays.

A kernel is launched again and again with the same grid, numbers and sizes of arrays. Then everything that follows from
these alone is the same each time: addresses, masks, bounds, loops. So the second launch runs all programs once without
the contents of memory: each element of memory is a number, ops that move elements move these numbers, and an op that
computes notes the numbers of its operands and gives new ones to its results. What remains are the ops that compute, on
lists of elements; those of all programs and iterations that do not wait for each other run together
(`halfulp.interp.dialects.triton.plans`).

There is no plan if the way of a program depends on the contents of memory, as do a branch on a loaded number or an
address made of one; if programs race; and for ops with other effects, such as prints. Such kernels run as before. They
do too if a planned launch meets something unusual, such as an element for which an op is undefined: memory is written
last, so nothing has happened, and the usual run gives the results and the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.triton import combining, memory
from halfulp.interp.dialects.triton.combining import CodeRows, InLayout, Link, Links
from halfulp.interp.dialects.triton.compiling import KernelCompiler
from halfulp.interp.dialects.triton.contraction import Fused, Moved, Product, fused_step, moved_by
from halfulp.interp.dialects.triton.dots import Dot
from halfulp.interp.dialects.triton.evaluate import waves_of_unsigned
from halfulp.interp.dialects.triton.local import WITHOUT_VALUES, Block, element_of, shape_of
from halfulp.interp.dialects.triton.orders import Reduced
from halfulp.interp.dialects.triton.rules import optional
from halfulp.interp.dialects.triton.together import LaneKernelCompiler
from halfulp.interp.dialects.triton.types import MemDescType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Constant, Elementwise, OnFrames, OnRawSlots, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, Function, Run, Slots, Step, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel, Origins, merged_ids

Numbers = npt.NDArray[np.uint64]
"""The numbers of elements. 0 is that of the code 0 of any type."""
_NUMBER = ty.IntegerType(64)
_TABLE = "plan of a launch"
MOST_ELEMENTS, MOST_STEPS = 1 << 21, 1 << 15
"""The most elements that are computed, and the most ops that run, in a launch for which a plan is made."""


class Unplannable(HalfulpError):
    """A launch depends on the contents of memory in a way that no plan has."""


# --- values -----------------------------------------------------------------------------------------------------------


class Unknown:
    """A value whose codes follow from the contents of memory: the numbers of its elements, and its poison.

    Whoever asks it for anything else, such as a branch for its condition, learns that there is no plan.
    """

    __slots__ = ("lost", "numbers")

    def __init__(self, numbers: Numbers, lost: Any) -> None:
        self.numbers = numbers
        self.lost = lost

    def __getattr__(self, name: str) -> NoReturn:
        raise Unplannable("the way of a program depends on the contents of memory")


class Instance(NamedTuple):
    """One execution of an op: the numbers of the elements of its operands, those of its results, and after how many
    other executions it can run. Of an op on elements all are in one dimension, without poison.
    """

    operands: tuple[Numbers, ...]
    results: tuple[Numbers, ...]
    level: int


class Fold(NamedTuple):
    """A reduction or scan along an axis that combines one element after the other, from the last one if ``reverse``."""

    links: Links
    axis: int
    keeps: bool
    reverse: bool


@dataclass(eq=False)
class Node:
    """An op that computes. ``kernel``: that of an op on elements; ``dot``: a dot; else ``step`` runs it over lanes,
    with the slots that it reads and writes. ``reads``, ``results``: the types.
    """

    op: Operation
    reads: Sequence[ty.Type]
    results: Sequence[ty.Type]
    kernel: Kernel | None = None
    slots: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    step: Step | None = None
    dot: Dot | None = None
    fold: Fold | None = None
    instances: list[Instance] = field(default_factory=list)

    @property
    def described(self) -> bool:
        """Whether it may become machine code."""
        if self.fold is not None:
            return all(link.kernel.words is not None for link in self.fold.links.links)
        return self.kernel is not None and self.kernel.words is not None


class Constants(NamedTuple):
    """Elements that are known: their numbers begin with ``first``."""

    first: int
    codes: Codes


class Recorder:
    """What the programs of a launch compute.

    ``template``: the slots of a frame over lanes.
    """

    def __init__(self, template: Slots) -> None:
        self.template = template
        self.count = 1
        self.nodes: dict[Any, Node] = {}
        self.constants: list[Constants] = []
        self._known: dict[tuple[str, int], int] = {}
        self._levels = np.zeros(1 << 12, np.int32)

    def fresh(self, count: int, level: int = 0) -> Numbers:
        """Return numbers for new elements. ``level``: how many executions have to run before they are known."""
        first, self.count = self.count, self.count + count
        if self.count > MOST_ELEMENTS:
            raise Unplannable("a launch with so many elements is not planned")
        if self.count > len(self._levels):
            grown = np.zeros(max(2 * len(self._levels), self.count), np.int32)
            grown[: len(self._levels)] = self._levels
            self._levels = grown
        self._levels[first : self.count] = level
        return np.arange(first, self.count, dtype=np.uint64)

    def constant(self, codes: Codes) -> Numbers:
        """Return the numbers of known elements."""
        flat = codes.reshape(-1)
        if flat.size and (flat == flat[0]).all():
            code = int(flat[0])
            key = flat.dtype.str, code
            if code and key not in self._known:
                self._known[key] = int(self._constants(flat[:1])[0])
            return np.full(codes.shape, self._known[key] if code else 0, np.uint64)
        return self._constants(flat).reshape(codes.shape)

    def _constants(self, codes: Codes) -> Numbers:
        numbers = self.fresh(len(codes))
        self.constants.append(Constants(int(numbers[0]), codes.copy()))
        return numbers

    def compute(self, node: Node, operands: Sequence[Numbers], shapes: Sequence[tuple[int, ...]]) -> list[Numbers]:
        """Return the numbers of the results of an op, which have these shapes."""
        level = 1 + max((int(self._levels[each].max()) for each in operands if each.size), default=0)
        results = [self.fresh(prod(shape), level).reshape(shape) for shape in shapes]
        node.instances.append(Instance(tuple(operands), tuple(results), level))
        return results

    def node(self, key: Any, make: Callable[[], Node]) -> Node:
        """Return the node with a key."""
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = make()
        return found


def _numbered(recorder: Recorder, slot: Any, type_: ty.Type) -> tuple[Numbers, Any]:
    """Return the numbers of the elements in a slot, and their poison."""
    if isinstance(slot, Unknown):
        return slot.numbers, slot.lost
    if isinstance(slot, Block):
        # Later copies change the block.
        return slot.bits.copy(), slot.poison.copy() if slot.poison.any() else None
    value = lift(slot, type_)
    if not isinstance(value, Value) or code_layout(ty.element_type(value.type))[1]:
        raise Unplannable("a value is not made of simple elements")
    return recorder.constant(value.bits), value.poison


def _simple(type_: ty.Type) -> bool:
    """Tell whether numbers can stand for the elements of a type."""
    element = element_of(type_)
    simple = isinstance(element, ty.FloatType | ty.IntegerType) and not code_layout(element)[1]
    return simple and isinstance(type_, ty.TensorType | MemDescType | ty.FloatType | ty.IntegerType)


# --- ops that move elements -------------------------------------------------------------------------------------------

_ALL = range(1 << 10)


Chosen = Callable[[Operation], Sequence[int]]
"""Returns the numbers of some operands of an op."""


def _every(op: Operation) -> Sequence[int]:
    return range(len(op.operands))


def _last(op: Operation) -> Sequence[int]:
    return (len(op.operands) - 1,)


def _last_block(op: Operation) -> Sequence[int]:
    return [place for place, value in enumerate(op.operands) if isinstance(value.type, MemDescType)][-1:]


def _placed(*places: int) -> Chosen:
    return lambda op: places


def _other(place: int) -> Chosen:
    """Return the function for the elements in place of those that a mask leaves out, an operand that may be absent."""

    def places(op: Operation) -> Sequence[int]:
        found = optional(op, range(len(op.operands)))[place]
        return () if found is None else (found,)

    return places


def _both(*given: Chosen) -> Chosen:
    return lambda op: [place for each in given for place in each(op)]


_MOVED: Mapping[str, Chosen] = {
    **dict.fromkeys(
        (
            "tt.splat", "tt.unsplat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.cat", "tt.join",
            "tt.split", "ttg.convert_layout", "ttg.local_alloc", "ttg.local_dealloc", "ttg.local_load",
            "ttg.local_store", "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reshape",
            "ttng.warp_group_dot_wait", "amdg.in_thread_transpose",
        ),
        _every,
    ),
    "ttg.memdesc_index": _placed(0),
    "tt.load": _other(2),
    "tt.store": _placed(1),
    "tt.descriptor_load": _placed(),
    "tt.descriptor_store": _placed(1),
    "ttg.async_copy_global_to_local": _both(_placed(1), _other(3)),
    "ttng.async_tma_copy_global_to_local": _last_block,
    "ttng.async_tma_copy_local_to_global": _last,
    "amdg.buffer_load": _other(4),
    "amdg.buffer_store": _placed(0),
    "amdg.buffer_load_to_local": _both(_placed(0), _other(4)),
}  # fmt: skip
"""The ops that move elements, also to and from memory, and which of their operands have these elements: the others
choose places.
"""
_OF_MEMORY = frozenset(name for name in _MOVED if not name.startswith("tt.") or "load" in name or "store" in name)
"""Those that act on memory: they run on numbers always."""
_CONTROL = frozenset(
    ("scf.for", "scf.if", "scf.yield", "scf.while", "scf.condition", "tt.return", "cf.br", "cf.cond_br")
)
_ATOMICS = frozenset(("tt.atomic_rmw",))
_COMPUTED = frozenset(
    (
        "tt.dot_scaled", "tt.reduce", "tt.scan", "tt.histogram", "tt.gather",
        "tt.clampf", "tt.elementwise_inline_asm", "ttg.fp4_to_fp", "amdg.scaled_upcast_fp4", "amdg.scaled_upcast_fp8",
        "math.exp",
    )
)  # fmt: skip
"""The ops that compute their results and do nothing else, besides those on elements."""
_EFFECTS = frozenset(
    (
        "tt.print", "tt.call", "tt.map_elementwise", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_store",
        "tt.atomic_poll", "tt.ptr_to_int", "tt.int_to_ptr",
    )
)  # fmt: skip


def _on_numbers(op: Operation, moved: Sequence[int]) -> Operation:
    """Return a copy of an op for numbers in place of the elements that it moves."""
    operands = [
        SSAValue(_of_numbers(value.type) if place in moved else value.type) for place, value in enumerate(op.operands)
    ]
    results = [_of_numbers(result.type) for result in op.results]
    copy = Operation(op.name, op.definition, operands, results, op.properties, op.attributes, location=op.place)
    copy.parent = op.parent
    return copy


def _of_numbers(type_: ty.Type) -> ty.Type:
    if isinstance(type_, MemDescType):
        return replace(type_, element=_NUMBER)
    return ty.with_element(type_, _NUMBER) if _simple(type_) else type_


class Moving:
    """An op that moves elements, run on their numbers."""

    def __init__(self, op: Operation, evaluator: OnValues, settings: Settings) -> None:
        self._places = frozenset(_MOVED[op.name](op))
        self._types = [value.type for value in op.operands]
        self._results = [result.type for result in op.results]
        self._function: Function = evaluator.build(_on_numbers(op, list(self._places)), settings)

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the contents of the slots of the results."""
        given = []
        for place, (slot, type_) in enumerate(zip(held, self._types, strict=True)):
            if place in self._places and _simple(type_) and not isinstance(slot, Block):
                numbers, lost = _numbered(recorder, slot, type_)
                origins = None if lost is None else run.origins
                given.append(Value(_of_numbers(type_), numbers, lost, None, origins))
            elif isinstance(slot, Unknown):
                raise Unplannable("a place depends on the contents of memory")
            else:
                given.append(slot if place in self._places or isinstance(slot, Block) else lift(slot, type_))
        return [
            Unknown(np.asarray(made.bits), made.poison) if isinstance(made, Value) and _simple(type_) else made
            for made, type_ in zip(self._function(run, tuple(given)), self._results, strict=True)
        ]


# --- ops that compute -------------------------------------------------------------------------------------------------


class Computing:
    """An op that computes."""

    def __init__(self, node: Callable[[], Node], key: Any = None) -> None:
        """``key``: what ops that are one node have in common; None for an op that is one by itself."""
        self._make, self._key = node, self if key is None else key

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the contents of the slots of the results."""
        node = recorder.node(self._key, self._make)
        given = [_numbered(recorder, slot, type_) for slot, type_ in zip(held, node.reads, strict=True)]
        if node.kernel is None:
            if any(lost is not None and lost.any() for _, lost in given):
                raise Unplannable(f"{node.op.name} takes poison")
            shapes = [shape_of(type_) for type_ in node.results]
            return [Unknown(made, None) for made in recorder.compute(node, [each for each, _ in given], shapes)]
        return elementwise(recorder, node, given)


def elementwise(recorder: Recorder, node: Node, given: Sequence[tuple[Numbers, Any]]) -> list[Any]:
    """Return what an op on elements gives."""
    shape = np.broadcast_shapes(*(numbers.shape for numbers, _ in given))
    masks = [lost for _, lost in given]
    lost = merged_ids(masks, shape) if any(mask is not None for mask in masks) else None
    if lost is not None and node.kernel is not None and node.kernel.worst is not None:
        raise Unplannable(f"{node.op.name} may be undefined for poison")
    kept = None if lost is None else np.flatnonzero(lost.reshape(-1) == 0)
    flat = [np.broadcast_to(numbers, shape).reshape(-1) for numbers, _ in given]
    flat = flat if kept is None else [numbers[kept] for numbers in flat]
    made = recorder.compute(node, flat, [(len(flat[0]),)] * len(node.results))
    if kept is None:
        return [Unknown(numbers.reshape(shape), None) for numbers in made]
    found = []
    for numbers in made:
        whole = np.zeros(prod(shape), np.uint64)
        whole[kept] = numbers
        found.append(Unknown(whole.reshape(shape), lost))
    return found


class Multiplying:
    """A dot."""

    def __init__(self, op: Operation, dot: Dot) -> None:
        self._types = [value.type for value in op.operands]
        result = [op.results[0].type]
        # The layouts of A and B do not count any more.
        shapes = tuple([(shape_of(type_), element_of(type_)) for type_ in self._types[:3]])
        self._computing = Computing(lambda: Node(op, self._types[:3], result, dot=dot), (dot.key, shapes))

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the content of the slot of the result."""
        a, b, c, *used = held
        if used:
            if isinstance(used[0], Unknown):
                raise Unplannable("whether C takes part depends on the contents of memory")
            value: Value = lift(used[0], self._types[3])
            if value.poison is not None:
                raise Unplannable("whether C takes part is poison")
            if not value.bits.any():
                c = Unknown(np.zeros(shape_of(self._types[2]), np.uint64), None)
        return self._computing.run(recorder, run, (a, b, c))


class Choosing:
    """arith.select: it moves elements if the condition is known."""

    def __init__(self, op: Operation, node: Callable[[], Node]) -> None:
        self._types = [value.type for value in op.operands]
        self._computing = Computing(node)

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the content of the slot of the result."""
        condition = held[0]
        arms = [_numbered(recorder, slot, type_) for slot, type_ in zip(held[1:], self._types[1:], strict=True)]
        if isinstance(condition, Unknown):
            if condition.lost is not None or any(lost is not None for _, lost in arms):
                raise Unplannable("poison is chosen from")
            return self._computing.run(recorder, run, held)
        value: Value = lift(condition, self._types[0])
        if value.poison is not None:
            raise Unplannable("a condition is poison")
        chosen = value.bits != 0
        shape = arms[0][0].shape
        numbers = np.where(chosen, arms[0][0], arms[1][0])
        if all(lost is None for _, lost in arms):
            return [Unknown(numbers, None)]
        ids = [np.zeros(shape, np.uint16) if lost is None else lost for _, lost in arms]
        found = np.where(chosen, *ids)
        return [Unknown(np.where(found != 0, np.uint64(0), numbers), found if found.any() else None)]


class Fusing:
    """An addition or subtraction that takes a product: a fused multiply-add of the factors, which move likewise."""

    def __init__(self, op: Operation, found: Fused, settings: Settings) -> None:
        product, number, _ = found
        self._moves = _moves_on_numbers(product, settings)
        step = fused_step(op, op.results[0].type, settings)
        minus = elementwise_step(op, "arith.negf", (op.results[0].type,), op.results[0].type, settings)
        three, one = [op.results[0].type] * 3, [op.results[0].type]
        self._types = [*(value.type for value in product.factors), op.operands[1 - number].type]
        self._fused = Computing(lambda: Node(step.op, three, one, step.kernel))
        self._minus = Computing(lambda: Node(minus.op, one, one, minus.kernel))
        # A factor changes its sign with the product.
        self._turns = product.negative != (op.name == "arith.subf" and number == 1)
        self._turns_other = op.name == "arith.subf" and number == 0

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the content of the slot of the result."""
        first, second, other = (_numbered(recorder, slot, type_) for slot, type_ in zip(held, self._types, strict=True))
        given = [_moved(self._moves, run, each) for each in (first, second)] + [Unknown(*other)]
        for place, turns in ((0, self._turns), (2, self._turns_other)):
            if turns:
                (given[place],) = self._minus.run(recorder, run, [given[place]])
        return self._fused.run(recorder, run, given)


def _moves_on_numbers(product: Product, settings: Settings) -> Moved:
    return moved_by(
        product._replace(moves=tuple([_on_numbers(op, [0]) for op in product.moves]), negative=False), settings
    )


def _moved(moves: Moved, run: Run, value: tuple[Numbers, Any]) -> Unknown:
    numbers, lost = value
    made = moves(run, Value(_of_rank(numbers.ndim), numbers, lost, None, None if lost is None else run.origins))
    return Unknown(np.asarray(made.bits), made.poison)


class Combining:
    """A reduction or a scan in the order of a layout: each of its steps is an op on elements."""

    def __init__(self, op: Operation, found: InLayout, values: Sequence[SSAValue], settings: Settings) -> None:
        """``values``: those of the slots that it is given."""
        self._found = found
        self._results = [result.type for result in op.results]
        self._moves: Moved | None = None
        taken = list(op.operands)
        if found.product is not None:
            self._moves = _moves_on_numbers(found.product, settings)
            taken += found.product.factors
        self._taken = [(values.index(value), value.type) for value in taken]

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the contents of the slots of the results."""
        found, order = self._found, self._found.order
        given = [_numbered(recorder, held[place], type_) for place, type_ in self._taken]
        if any(lost is not None for _, lost in given):
            raise Unplannable("poison is combined")
        count = len(self._results)
        if self._moves is not None:
            given = given[:count] + [(_moved(self._moves, run, each).numbers, None) for each in given[count:]]
        state = [order.rows(Value(_of_rank(numbers.ndim), numbers)).bits for numbers, _ in given]
        assert found.links is not None
        made = found.follow(CodeRows(found.links, found.multiply_add, partial(self._compute, recorder)), state)
        made = made.state if isinstance(made, Reduced) else made
        return [
            Unknown(order.columns(Value(_of_rank(2), np.asarray(numbers)), _of_numbers(type_), 0).bits, None)
            for numbers, type_ in zip(made, self._results, strict=True)
        ]

    def _compute(self, recorder: Recorder, link: Link, operands: Sequence[Numbers]) -> Sequence[Numbers]:
        op = link.op
        types = [value.type for value in op.operands], [result.type for result in op.results]
        node = recorder.node((self, op), lambda: Node(op, *types, link.kernel))
        shape = np.broadcast_shapes(*(numbers.shape for numbers in operands))
        flat = [np.broadcast_to(numbers, shape).reshape(-1) for numbers in operands]
        return [made.reshape(shape) for made in recorder.compute(node, flat, [flat[0].shape] * len(types[1]))]


def _of_rank(rank: int) -> ty.Type:
    return ty.TensorType((None,) * rank, _NUMBER)


class Updating:
    """An atomic op, in the order of the elements and programs."""

    def __init__(self, op: Operation, kernel: Kernel | None, settings: Settings) -> None:
        self._op, self._kernel = op, kernel
        type_ = op.results[0].type if op.results else op.operands[1].type
        self._element = ty.element_type(type_)
        self._access = memory.Access(op, op.operands[0].type, settings)

    def run(self, recorder: Recorder, run: Run, held: Sequence[Any]) -> list[Any]:
        """Return the content of the slot of the result: the numbers of what was in memory."""
        op, access = self._op, self._access
        if isinstance(held[0], Unknown) or any(isinstance(slot, Unknown) for slot in held[2:]):
            raise Unplannable("a place depends on the contents of memory")
        pointers: Value = lift(held[0], op.operands[0].type)
        mask = lift(held[2], op.operands[2].type) if len(held) > 2 else None
        numbers, lost = _numbered(recorder, held[1], op.operands[1].type)
        if lost is not None:
            raise Unplannable("poison is combined")
        given, found = numbers.reshape(-1), np.zeros(prod(pointers.shape), np.uint64)
        node = recorder.node(self, lambda: Node(op, [self._element] * 2, [self._element], self._kernel))
        for _, memory_, positions, places in access.parts(run, pointers, access.active(pointers, mask), writes=True):
            elements = access.elements(memory_, np.dtype(np.uint64))
            where = np.arange(len(found))[positions]
            steps = np.arange(len(elements))[places]
            for turn in _turns(steps):
                found[where[turn]] = old = elements[steps[turn]]
                new = given[where[turn]]
                if self._kernel is not None:
                    (new,) = recorder.compute(node, (old, new), [new.shape])
                elements[steps[turn]] = new
        return [Unknown(found.reshape(pointers.shape), None)][: len(op.results)]


_MOST_TURNS = 256


def _turns(places: npt.NDArray[np.intp]) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the positions of places in turns, so that no turn has a place twice, and each place keeps its order."""
    if not len(places):
        return
    order = np.argsort(places, kind="stable")
    groups = places[order]
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    ranks = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    if ranks.max() >= _MOST_TURNS:
        raise Unplannable("too many elements update one place")
    for rank in range(int(ranks.max()) + 1):
        yield np.sort(order[ranks == rank])


# --- compiling --------------------------------------------------------------------------------------------------------


def values_read(compiler: KernelCompiler, op: Operation, evaluator: Any) -> Sequence[SSAValue]:
    """Return the values that the step of an op reads."""
    if isinstance(evaluator, OnValues):
        return evaluator.reads(op)
    return list(dict.fromkeys(compiler._read(op, evaluator))) if isinstance(evaluator, OnRawSlots) else op.operands


class _StepsOverLanes(LaneKernelCompiler):
    """Compiles a kernel for lanes, and keeps the step of each op."""

    _can_join = staticmethod(lambda op, settings: False)

    def __init__(self, store: Any, function: Operation) -> None:
        super().__init__(store, function)
        self.steps: dict[Operation, tuple[Step, tuple[int, ...], tuple[int, ...]]] = {}

    def _unobserved(self, op: Operation, evaluator: Any) -> Step | None:
        step = super()._unobserved(op, evaluator)
        if step is not None:
            self.steps[op] = step, self.slots(values_read(self, op, evaluator)), self.slots(op.results)
        return step


class _OnNumbers(KernelCompiler):
    """Compiles a kernel for numbers in place of the elements of memory."""

    _can_join = staticmethod(lambda op, settings: False)

    def __init__(self, store: Any, function: Operation, over_lanes: _StepsOverLanes) -> None:
        super().__init__(store, function)
        self._over_lanes = over_lanes

    def _unobserved(self, op: Operation, evaluator: Any) -> Step | None:
        known = super()._unobserved(op, evaluator)
        if known is None:
            return None
        values = values_read(self, op, evaluator)
        reads, results = self.slots(values), self.slots(op.results)
        unknown = partial(self._unknown, op, evaluator, values)
        always = op.name in _OF_MEMORY or op.name in _ATOMICS
        never = evaluator in WITHOUT_VALUES
        made: list[Any] = []

        def step(slots: Slots) -> None:
            held = [slots[slot] for slot in reads]
            if never or not (always or any(isinstance(slot, Unknown | Block) for slot in held)):
                known(slots)
                return
            if not made:
                made.append(unknown())
            run: Run = slots[0]
            for slot, content in zip(results, made[0].run(run.kept[_TABLE], run, held), strict=True):
                slots[slot] = content

        return step

    def _unknown(self, op: Operation, evaluator: Any, values: Sequence[SSAValue]) -> Any:
        """Return what an op does if it does not know its operands."""
        settings = self.settings
        if op.name in _MOVED and isinstance(evaluator, OnValues):
            return Moving(op, evaluator, settings)
        if op.name in _ATOMICS:
            if waves_of_unsigned(op) is not None:
                raise Unplannable("a target combines elements before they are stored")
            element = ty.element_type(op.operands[1].type)
            return Updating(op, memory.combining_kernel(op, memory.kind_of(op), element, settings), settings)
        types, results = [value.type for value in values], [result.type for result in op.results]
        if not all(map(_simple, (*types, *results))):
            raise Unplannable(f"{op.name} computes with other things than numbers")
        if op.name in ("arith.addf", "arith.subf") and isinstance(evaluator, OnValues):
            fused = None if self.contraction is None else self.contraction.fused(op)
            assert fused is not None
            return Fusing(op, fused, settings)
        if isinstance(evaluator, OnRawSlots):
            in_order = combining.in_layout(op, self)
            if in_order is not None and in_order.links is not None and not getattr(in_order.product, "negative", False):
                return Combining(op, in_order, values, settings)
        if isinstance(evaluator, Elementwise):
            kernel = self.kernel(op, evaluator)
            if kernel.notice is not None:
                raise Unplannable("an op may warn")
            return Computing(lambda: Node(op, types, results, kernel))
        if op.name == "arith.select":
            kernel = evaluator.kernel
            return Choosing(op, lambda: Node(op, types, results, kernel))
        if op.name in ("tt.dot", "ttng.warp_group_dot"):
            return Multiplying(op, Dot(op, self))
        if op.name not in _COMPUTED:
            raise Unplannable(f"{op.name} takes elements of memory")
        step, reads, written = self._over_lanes.steps[op]
        fold: Fold | None = None
        if isinstance(evaluator, OnRawSlots) and (links := combining.in_sequence(op, self)) is not None:
            scan = op.name == "tt.scan"
            fold = Fold(links, op.number("axis"), scan, scan and bool(op.number("reverse")))
        return Computing(lambda: Node(op, types, results, None, (reads, written), step, None, fold))


# --- recording --------------------------------------------------------------------------------------------------------


class Recorded(NamedTuple):
    """What all programs compute. ``memories``: for each allocation the number of its first element, and the numbers of
    all its elements in the end.
    """

    recorder: Recorder
    memories: Sequence[tuple[int, Numbers]]


def may_be_planned(kernel: Operation, settings: Settings) -> bool:
    """Tell whether a kernel may have a plan."""
    watched = settings.marks_elements or settings.listeners or settings.random is not None or settings.externals
    return not watched and all(_is_known(op) for op in kernel.walk() if op is not kernel)


def _is_known(op: Operation) -> bool:
    if op.name in _EFFECTS or op.definition is None:
        return False
    evaluator = evaluator_of(op)
    if isinstance(evaluator, OnFrames):
        return op.name in _CONTROL or op.name.endswith((".reduce.return", ".scan.return"))
    return isinstance(evaluator, Constant | Elementwise | OnValues | OnRawSlots)


def record(
    program: Any,
    kernel: Operation,
    given: Sequence[Any],
    buffers: Sequence[tuple[int, int, bool]],
    sizes: tuple[int, int, int],
) -> Recorded:
    """Run all programs of a launch on numbers. ``buffers``: for each allocation its elements, the bytes of each, and
    whether it must not be written. Raises HalfulpError if there is no plan.
    """
    over_lanes = _StepsOverLanes(program, kernel)
    recorder = Recorder(over_lanes.compile().template)
    code = _OnNumbers(program, kernel, over_lanes).compile()
    origins, shared = Origins(), memory.Shared(prod(sizes) > 1)
    memories = []
    for count, size, constant in buffers:
        made = memory.Numbered("an argument", recorder.fresh(count), size, origins)
        made.constant = constant
        shared.add(made)
        memories.append((int(made.numbers[0]) if count else 0, made.numbers))
    steps = MOST_STEPS
    for index in range(prod(sizes)):
        x, y, _ = sizes
        run = Run(program.settings)
        run.origins, run.steps = origins, steps
        run.kept[_TABLE] = recorder
        place = index % x, index // x % y, index // (x * y)
        memory.begin(run, shared, memory.Program(place, sizes, index))
        frame = Frame(code, run, None, (), None)
        for slot, value in zip(frame.segment.arguments, given, strict=True):
            frame.slots[slot] = value
        run.execute(frame)
        steps = run.steps
    return Recorded(recorder, memories)
