"""Compile one function for batches: its segments in order, the slots that each reads, and the slots needed after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.batch.frames import LaneCode, LaneFrame, Plan
from halfulp.interp.run.chains import can_join_as_scalars
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler, observed_control
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise, OnFrames, OnValues, PerOp
from halfulp.interp.run.frames import Action, Frame, Function, FunctionCode, Segment, Step, is_cast
from halfulp.interp.run.steps import general_step

# --- flow order -------------------------------------------------------------------------------------------------------
#
# Order the nodes of a flow graph so that loops hang together.

Node = TypeVar("Node")

_DEEPEST = 40
"""The depth below which nested loops are not told apart. Deeper ones only take more time to run."""


def ordered(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Return the nodes of a flow graph in an order in which each node comes before its successors, and the nodes of a
    loop come together.

    The first node is the entry. The nodes of a loop begin with its head; the others follow, ordered by the same rule.
    """
    found: list[Node] = []
    work: list[tuple[list[Node], int]] = [(list(nodes), 0)]
    while work:
        group, depth = work.pop()
        if len(group) == 1 or depth > _DEEPEST:
            found += group
            continue
        for head, *rest in reversed(_components(group, targets)):
            if rest:
                work.append((rest, depth + 1))
            work.append(([head], depth))
    return found


def _components(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """Return the strongly connected components of a part of a graph in topological order (Tarjan's algorithm).

    Each has its nodes in the order in which a search from the first node meets them.
    """
    within = set(nodes)
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    done: set[Node] = set()
    open_: list[Node] = []
    places: dict[Node, int] = {}
    components: list[list[Node]] = []
    for root in nodes:
        path = [] if root in number else [(root, iter(targets[root]))]
        while path:
            node, ways = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                places[node] = len(open_)
                open_.append(node)
            target = next((way for way in ways if way in within and way not in done), None)
            if target is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    components.append(open_[places[node] :])
                    done.update(components[-1])
                    del open_[places[node] :]
            elif target in number:
                lowest[node] = min(lowest[node], number[target])
            else:
                path.append((target, iter(targets[target])))
    return components[::-1]


# --- compiler ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Flow:
    """A segment, the slots that it reads and writes, and its exits, each with the slots that are written on the way to
    it.

    Sets of slots are the bits of an integer, except ``reads``, which keeps the order.
    """

    segment: Segment
    reads: list[int]
    passes: int
    writes: int
    decides: int | None
    exits: list[tuple[Segment, int]]


class LaneCompiler(FunctionCompiler):
    """Compiles one function for batches."""

    one_at_a_time = False
    by_machine = False
    _can_join = staticmethod(can_join_as_scalars)

    def __init__(self, store: CodeStore, function: Operation) -> None:
        super().__init__(store, function)
        self.new_frame = LaneFrame
        self._cuts: list[tuple[Segment, Sequence[Operation], Operation, Segment]] = []
        self._flows: list[_Flow] = []
        # For control ops with regions: their own segments, and the slots that every trip needs.
        self._inner: dict[Operation, tuple[tuple[Segment, ...], int]] = {}
        self._hidden: dict[int, ty.Type] = {}

    def _large(self, type_: ty.Type) -> bool:
        """Tell whether values of a type may be large: any value may have an element for every lane."""
        return True

    def typed_slot(self, type_: ty.Type) -> int:
        """Make a slot in which a control op keeps a value of this type over lanes."""
        slot = self.hidden_slot()
        self._hidden[slot] = type_
        return slot

    def loop(
        self, op: Operation, head: Segment, latch: Segment, decides: int, needed: Sequence[int], carried: Sequence[int]
    ) -> None:
        """Tell the compiler the control flow of a loop.

        ``head`` continues in a region or after ``op``, as the slot ``decides`` says. ``latch`` runs after each
        iteration, reads the slots ``needed``, and continues at ``head``, which may read the slots ``carried``.
        """
        after = self.after()
        body = self.block(op.regions[0].blocks[0])
        head.op = latch.op = op
        head.cost = latch.cost = 0
        results = _bits(self.slots(op.results))
        self._flows.append(_Flow(head, [decides], _bits(carried), 0, decides, [(body, 0), (after, results)]))
        self._flows.append(_Flow(latch, list(needed), 0, 0, None, [(head, 1 << decides)]))
        self._inner[op] = (head, latch), _bits(needed)

    def choice(self, op: Operation, head: Segment, decides: int) -> None:
        """Tell the compiler that ``op`` continues at ``head``, and from there in a region or after the op, as the slot
        ``decides`` says.
        """
        head.op, head.cost = op, 0
        regions = [(self.block(region.blocks[0]), 0) for region in op.regions if region.blocks]
        exits = [*regions, (self.after(), _bits(self.slots(op.results)))]
        self._flows.append(_Flow(head, [decides], 0, 0, decides, exits))
        self._inner[op] = (head,), 0

    def compile(self) -> FunctionCode:
        """Compile the whole function, and put its segments in order."""
        code = super().compile()
        afters = {control: after for _, _, control, after in self._cuts}
        self._flows += [self._flow(*cut, afters) for cut in self._cuts]
        _plan(self._flows, code.entry)
        types = {slot: value.type for value, slot in self._slots.items()}
        return LaneCode(code.op, code.template, code.entry, types | self._hidden)

    def returning(self, operands: tuple[int, ...]) -> Action:
        """Make the action of func.return for the lanes of a frame."""

        def return_(frame: Frame) -> None:
            slots = frame.slots
            slots[0].leave(frame, tuple([slots[slot] for slot in operands]))

        return return_

    def _cut(self, segment: Segment, before: Sequence[Operation], control: Operation, after: Segment) -> None:
        self._cuts.append((segment, before, control, after))

    def _action(self, op: Operation, evaluator: OnFrames) -> Action:
        return (evaluator.in_lanes or evaluator.build)(op, self)

    def _watched(self, op: Operation, action: Action) -> Action:
        return observed_control(op, self.slots(op.operands), action)

    def _elementwise_step(
        self, op: Operation, evaluator: Elementwise, operands: tuple[int, ...], results: tuple[int, ...]
    ) -> Step:
        elements = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
        if not any(isinstance(element, ty.UniformQuantizedType) and element.along_axes for element in elements):
            return super()._elementwise_step(op, evaluator, operands, results)
        # Scales belong to axes of the array of one lane; over lanes the axes have other numbers.
        whole = ElementwiseStep(op, evaluator, self.kernel(op, evaluator), self.settings)
        return general_step(self._by_lane(op, whole.run), op, operands, results)

    def _function(self, op: Operation, evaluator: OnValues) -> Function:
        together = evaluator.in_lanes(op, self if evaluator.of_module else self.settings)
        if together is not None:
            return together
        function = super()._function(op, evaluator)
        memory = any(isinstance(value.type, ty.MemRefType) for value in (*op.operands, *op.results))
        return function if evaluator.raw and not memory else self._by_lane(op, function)

    def _by_lane(self, op: Operation, function: Function) -> Function:
        types = [result.type for result in op.results]
        return lambda run, operands: run.each(function, operands, types)

    def _flow(
        self,
        segment: Segment,
        before: Sequence[Operation],
        control: Operation,
        after: Segment,
        afters: Mapping[Operation, Segment],
    ) -> _Flow:
        """Collect the reads, writes and exits of a segment; an op with regions may take any of its exits."""
        written = 0
        reads: dict[int, None] = {}
        for op in (*before, control):
            # An op with several ways to run may read in one step what its regions need.
            chosen = op.definition is not None and isinstance(op.definition.evaluate, PerOp)
            inside = () if op is control and not chosen else values_from_outside(op)
            reads.update((slot, None) for slot in self.slots([*op.operands, *inside]) if not written >> slot & 1)
            if op is not control:
                written |= _bits(self.slots(op.results))
        passed = [value for _, values in control.successors for value in values]
        # A value passed to a block is gathered where the block reads it; a cast is checked before, so it is read here.
        reads.update((slot, None) for slot in self.slots([value for value in passed if is_cast(value)]))
        passes = _bits(self.slots(passed))
        around = control.parent_op
        exits: list[tuple[Segment, int]]
        if control.successors:
            exits = [(self.block(block), _bits(self.slots(block.arguments))) for block, _ in control.successors]
        elif control.parent is None or control.parent.operations[-1] is not control:
            exits = [(after, _bits(self.slots(control.results)))]
        elif around is not None and around is not self.function:
            exits = [*self._entries(around), (afters[around], _bits(self.slots(around.results)))]
            passes |= _bits(self.slots(around.operands)) | self._inner.get(around, ((), 0))[1]
        else:
            exits = []
        if control.regions:
            entries = self._entries(control)
            begun = self._inner.get(control, ((), 0))[1]
            for _, kills in entries:
                begun |= kills
            exits += [(entry, begun) for entry, _ in entries]
        decides = getattr(control.definition and control.definition.evaluate, "decides", None)
        slot = None if decides is None else self.slot(control.operands[decides])
        return _Flow(segment, list(reads), passes, written, slot, exits)

    def _entries(self, op: Operation) -> list[tuple[Segment, int]]:
        """Return the segments at which an op may begin: those of its regions, and its own.

        Each comes with the slots that are written on the way to it.
        """
        blocks = [region.blocks[0] for region in op.regions if region.blocks]
        regions = [(self.block(block), _bits(self.slots(block.arguments))) for block in blocks]
        return regions + [(segment, 0) for segment in self._inner.get(op, ((), 0))[0]]


def values_from_outside(op: Operation) -> list[SSAValue]:
    """Return the values from outside of an op that the ops in its regions use."""
    made: set[SSAValue] = {argument for each in op.walk() for block in each.blocks for argument in block.arguments}
    used: dict[SSAValue, None] = {}
    for inner in op.children:
        for each in inner.walk():
            made.update(each.results)
            used.update(dict.fromkeys(each.operands))
    return [value for value in used if value not in made]


def _bits(slots: Iterable[int]) -> int:
    bits = 0
    for slot in slots:
        bits |= 1 << slot
    return bits


def _slots_of(bits: int) -> tuple[int, ...]:
    text = bin(bits)[:1:-1]
    found, slot = [], text.find("1")
    while slot >= 0:
        found.append(slot)
        slot = text.find("1", slot + 1)
    return tuple(found)


def _plan(flows: Sequence[_Flow], entry: Segment) -> None:
    """Put the segments in order, and find the slots that each needs: those that are read before they are written."""
    by_segment = {flow.segment: flow for flow in flows}
    targets = {flow.segment: [target for target, _ in flow.exits] for flow in flows}
    order = ordered([entry, *(flow.segment for flow in flows if flow.segment is not entry)], targets)
    live = dict.fromkeys(order, 0)
    changed = True
    while changed:
        changed = False
        for segment in reversed(order):
            flow = by_segment[segment]
            needed = flow.passes
            for target, kills in flow.exits:
                needed |= live[target] & ~kills
            needed = _bits(flow.reads) | needed & ~flow.writes
            if needed != live[segment]:
                live[segment], changed = needed, True
    for place, segment in enumerate(order):
        flow = by_segment[segment]
        segment.plan = Plan(place, tuple(flow.reads), _slots_of(live[segment]), flow.decides)
