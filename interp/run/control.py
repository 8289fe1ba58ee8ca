"""The compiler as control ops see it: the slots, blocks and regions of the function that is being compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.run.frames import Action, Frame, FunctionCode, Run, Segment, Slots, Step, Yield
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import seen
from halfulp.semantics.kernel import Kernel

MachineCall = Callable[[Run, Sequence[Any], int], "tuple[Any, ...] | None"]


class Compiler:
    """Finds slots, blocks and other functions for the control ops of one function.

    ``code_of``: gives the code of another function. ``new_frame``: the class of the frames of its calls. ``on_yield``:
    in a region, makes the actions of its terminators.
    """

    def __init__(
        self, module: Module, function: Operation, settings: Settings, code_of: Callable[[Operation], FunctionCode]
    ) -> None:
        self.module = module
        self.function = function
        self.settings = settings
        self.code_of = code_of
        self.new_frame: type[Frame] = Frame
        self.on_yield: Yield | None = None
        self._slots: dict[SSAValue, int] = {}
        self._template: Slots = [None]
        self._blocks: dict[Block, Segment] = {}
        self._after = Segment()

    def slot(self, value: SSAValue) -> int:
        """Return the slot of a value."""
        slot = self._slots.get(value)
        if slot is None:
            slot = self._slots[value] = len(self._template)
            self._template.append(None)
        return slot

    def slots(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        """Return the slots of several values."""
        return tuple([self.slot(value) for value in values])

    def hidden_slot(self) -> int:
        """Make a slot for what a control op keeps between visits."""
        self._template.append(None)
        return len(self._template) - 1

    def block(self, block: Block) -> Segment:
        """Return the first segment of a block of this function; while compiling it may not be filled in yet."""
        code = self._blocks.get(block)
        if code is None:
            code = self._blocks[block] = Segment(self.slots(block.arguments))
        return code

    def after(self) -> Segment:
        """Return the segment that follows the control op being compiled in its block."""
        return self._after

    def region(self, region: Region, on_yield: Yield | None = None) -> Segment:
        """Compile the blocks of a region and return its entry. ``on_yield`` makes the actions of its terminators."""
        outer, self.on_yield = self.on_yield, on_yield
        for block in region.blocks:
            self._fill(block, self.block(block))
        self.on_yield = outer
        return self.block(region.blocks[0])

    def kernel(self, op: Operation, evaluator: Any) -> Kernel:
        """Return the kernel of an elementwise op."""
        raise NotImplementedError

    def machine_code(self, function: Operation) -> MachineCall | None:
        """Return what runs a function of the program as machine code, from the run, the arguments and the calls around;
        it returns None where a frame has to run it.
        """
        return None

    def _fill(self, block: Block, segment: Segment) -> None:
        """Compile the ops of a block, beginning with this segment."""
        raise NotImplementedError

    def resume(self, op: Operation) -> Yield:
        """Make the end of ``op``, the control op with regions being compiled: its results, then the segment after."""
        after, results = self._after, self.slots(op.results)
        types, listeners = [result.type for result in op.results], self.settings.listeners

        def tell(slots: Slots) -> None:
            values = [seen(slots[slot], type_) for slot, type_ in zip(results, types, strict=True)]
            for listener in listeners:
                listener.op_did_run(op, (), values)

        return lambda sources: passing((*moves(sources, results), *((tell,) if listeners else ())), after)

    def leaving(self, operands: tuple[int, ...]) -> Action:
        """Make the action of func.return: the caller goes on, with these slots as the results of its call."""

        def return_(frame: Frame) -> None:
            slots = frame.slots
            run: Run = slots[0]
            parent = run.frame = frame.parent
            if parent is None:
                run.results = tuple([slots[slot] for slot in operands])
                return
            if operands:
                values = parent.slots
                for slot, operand in zip(frame.results, operands, strict=True):
                    values[slot] = slots[operand]

        return return_


def moves(sources: Sequence[int], targets: Sequence[int]) -> tuple[Step, ...]:
    """Make the steps, one or none, that copy some slots to others, all at once."""
    pairs = [(source, target) for source, target in zip(sources, targets, strict=True) if source != target]
    if not pairs:
        return ()
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move_one(slots: Slots) -> None:
            slots[target] = slots[source]

        return (move_one,)
    read = itemgetter(*(source for source, _ in pairs))
    written = [target for _, target in pairs]

    def move(slots: Slots) -> None:
        for slot, value in zip(written, read(slots), strict=True):
            slots[slot] = value

    return (move,)


def passing(steps: Sequence[Step], target: Segment) -> Action:
    """Make the action that runs some steps and goes on at ``target``."""
    if not steps:
        return lambda frame: target
    if len(steps) == 1:
        (only,) = steps

        def run_one(frame: Frame) -> Segment:
            only(frame.slots)
            return target

        return run_one

    def run(frame: Frame) -> Segment:
        for step in steps:
            step(frame.slots)
        return target

    return run
