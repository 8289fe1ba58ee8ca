"""The evaluators that the declarations of ops name. They differ in what the code of an op takes.

`Constant` takes nothing, `Elementwise` the elements of its operands, `OnValues` whole values, `OnRawSlots` the slots of
a frame, `OnFrames` the frame itself, which it may leave. `Entry` begins a function, `Launched` runs one several
times, and `PerOp` chooses among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.ir.types import Type
from halfulp.interp.run import frames
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Kernel

# --- control ----------------------------------------------------------------------------------------------------------
#
# The compiler as control ops see it: the slots, blocks and regions of the function that is being compiled.

MachineCall = Callable[[frames.Run, Sequence[Any], int], "tuple[Any, ...] | None"]


class Compiler:
    """Gives the control ops of one function their slots, segments and other functions while they are compiled.

    ``code_of``: a function that returns the code of another function. ``new_frame``: the class of the frames of its
    calls. ``on_yield``: in a region, makes the actions of its terminators.
    """

    def __init__(
        self,
        module: Module,
        function: Operation,
        settings: Settings,
        code_of: Callable[[Operation], frames.FunctionCode],
    ) -> None:
        self.module = module
        self.function = function
        self.settings = settings
        self.code_of = code_of
        self.new_frame: type[frames.Frame] = frames.Frame
        self.on_yield: frames.Yield | None = None
        self._slots: dict[SSAValue, int] = {}
        self._template: frames.Slots = [None]
        self._blocks: dict[Block, frames.Segment] = {}
        self._after = frames.Segment()

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
        """Make a slot in which a control op keeps a value between visits."""
        self._template.append(None)
        return len(self._template) - 1

    def block(self, block: Block) -> frames.Segment:
        """Return the first segment of a block of this function; while the function is compiled, it may not be filled in
        yet.
        """
        code = self._blocks.get(block)
        if code is None:
            code = self._blocks[block] = frames.Segment(self.slots(block.arguments))
        return code

    def after(self) -> frames.Segment:
        """Return the segment that follows the control op being compiled in its block."""
        return self._after

    def region(self, region: Region, on_yield: frames.Yield | None = None) -> frames.Segment:
        """Compile the blocks of a region and return its entry. ``on_yield`` makes the actions of its terminators."""
        outer, self.on_yield = self.on_yield, on_yield
        for block in region.blocks:
            self._fill(block, self.block(block))
        self.on_yield = outer
        return self.block(region.blocks[0])

    def kernel(self, op: Operation, evaluator: Any) -> Kernel:
        """Return the kernel of an elementwise op."""
        raise NotImplementedError

    def part(self, op: Operation) -> frames.Step:
        """Return the step of an op that is not in the program, but does a part of an op of the program. Listeners are
        not told of it.
        """
        raise NotImplementedError

    def machine_code(self, function: Operation) -> MachineCall | None:
        """Return the machine code of a function of the program; None if there is none.

        The code takes the run, the arguments, and the number of calls that the call is nested in. It returns None if a
        frame must run the function.
        """
        return None

    def _fill(self, block: Block, segment: frames.Segment) -> None:
        """Compile the ops of a block, beginning with this segment."""
        raise NotImplementedError

    def resume(self, op: Operation) -> frames.Yield:
        """Return what the regions of ``op``, the control op that is being compiled, do at their end: their values
        become the results of the op, and the segment after the op runs.
        """
        after, results = self._after, self.slots(op.results)
        types, listeners = [result.type for result in op.results], self.settings.listeners

        def tell(slots: frames.Slots) -> None:
            values = [frames.listener_view(slots[slot], type_) for slot, type_ in zip(results, types, strict=True)]
            for listener in listeners:
                listener.op_did_run(op, (), values)

        return lambda sources: passing((*moves(sources, results), *((tell,) if listeners else ())), after)

    def returning(self, operands: tuple[int, ...]) -> frames.Action:
        """Return the action of func.return: the caller continues, and the values of these slots are the results of its
        call.
        """

        def return_(frame: frames.Frame) -> None:
            slots = frame.slots
            run: frames.Run = slots[0]
            parent = run.frame = frame.parent
            if parent is None:
                run.results = tuple([slots[slot] for slot in operands])
                return
            if operands:
                values = parent.slots
                for slot, operand in zip(frame.results, operands, strict=True):
                    values[slot] = slots[operand]

        return return_


def moves(sources: Sequence[int], targets: Sequence[int]) -> tuple[frames.Step, ...]:
    """Return the steps, one or none, that copy the values of some slots to other slots. All are read before any is
    written.
    """
    pairs = [(source, target) for source, target in zip(sources, targets, strict=True) if source != target]
    if not pairs:
        return ()
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move_one(slots: frames.Slots) -> None:
            slots[target] = slots[source]

        return (move_one,)
    read = itemgetter(*(source for source, _ in pairs))
    written = [target for _, target in pairs]

    def move(slots: frames.Slots) -> None:
        for slot, value in zip(written, read(slots), strict=True):
            slots[slot] = value

    return (move,)


def passing(steps: Sequence[frames.Step], target: frames.Segment) -> frames.Action:
    """Return the action that runs some steps and continues at ``target``."""
    if not steps:
        return lambda frame: target
    if len(steps) == 1:
        (only,) = steps

        def run_one(frame: frames.Frame) -> frames.Segment:
            only(frame.slots)
            return target

        return run_one

    def run(frame: frames.Frame) -> frames.Segment:
        for step in steps:
            step(frame.slots)
        return target

    return run


# --- evaluators -------------------------------------------------------------------------------------------------------

Words = Callable[[Operation, Any], None]
"""Lowers an op to machine words: called with a `halfulp.interp.run.compiled.lowering.FunctionLowering`."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An op with no operands whose value is known when its block is compiled."""

    #: Returns the value of an op.
    build: Callable[[Operation, Compiler], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An op that does the same for every element. All operands have the same shape."""

    #: Makes the kernel for the types and attributes of an op.
    build: Callable[[Operation, Settings], Kernel]
    #: The numbers of the operands that may also be scalars, whose one element stands for all.
    may_be_scalar: frozenset[int] = frozenset()
    #: What the op does to a memref.
    on_memrefs: OnValues | None = None
    #: What the kernel depends on besides the types and attributes of the op, such as what its operands are made of.
    surroundings: Callable[[Operation, Settings], Hashable] = lambda op, settings: None


@dataclass(frozen=True, slots=True)
class OnValues:
    """An op on whole values, computed by a function of its operands. It may have effects, like loads, stores and
    prints.
    """

    #: Makes the function, from the values of the operands to a tuple of results. It is given the op and the settings.
    build: Callable[[Operation, Any], frames.Function]
    #: Whether the function gets what slots hold, such as integers, instead of `Value`s; in a batch it then gets values
    #: over lanes. Any other function, and each one on memrefs, is called lane by lane in a batch.
    raw: bool = False
    #: Whether the function knows unresolved casts. A ``raw`` function that does not never gets one.
    casts: bool = False
    #: Whether ``build`` is given the compiler, which knows the module, instead of the settings.
    of_module: bool = False
    #: Makes the function for a batch, which gets what all lanes that run the op have. None: it is called lane by lane.
    in_lanes: Callable[[Operation, Any], frames.Function | None] = lambda op, settings: None
    #: The values that the function gets: the operands, or more for an op that depends on those of the op around it.
    reads: Callable[[Operation], Sequence[SSAValue]] = lambda op: op.operands
    #: Lowers the op to machine code. Without it machine code calls the function through Python, or is not made if the
    #: op may do something that the world sees, such as a print.
    words: Words | None = None
    #: What the op does to elements that are not poison, if it does the same to each: then it can be part of a chain.
    kernel: Kernel | None = None
    #: Whether the op does not know of lanes, so that a batch that may reach it runs one lane after the other.
    no_lanes: bool = False
    #: Whether the rules of the op treat scalable vectors apart: they differ from those of vectors with the same sizes.
    scales: bool = False
    #: The name of the user's function that an op calls, if it is not the name of the op.
    external: Callable[[Operation], str] | None = None


@dataclass(frozen=True, slots=True)
class OnFrames:
    """An op that acts on frames: a branch, a call, a return, or an op whose regions run in the frame around it."""

    #: Makes its action, which returns the segment to go on with.
    build: Callable[[Operation, Compiler], frames.Action]
    #: The number of the i1 operand that chooses where to go on. In a batch the lanes where it is 0 part there from
    #: those where it is 1.
    decides: int | None = None
    #: Makes its action in a batch, where that differs.
    in_lanes: Callable[[Operation, Any], frames.Action] | None = None
    #: Whether the op does not know of lanes, so that a batch that may reach it runs one lane after the other.
    no_lanes: bool = False
    #: Lowers the op to machine code. Without it the function stays with the executor.
    words: Words | None = None


@dataclass(frozen=True, slots=True)
class OnRawSlots:
    """An op whose regions run inside of one step. The step reads and writes the slots of its frame."""

    #: Makes that step.
    build: Callable[[Operation, Compiler], frames.Step]


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that changes or checks its arguments at a call. It is not compiled, and cannot run in lanes."""

    #: Makes the step that begins the function.
    build: Callable[[Operation, Compiler], frames.Step]


class ArgumentUse(NamedTuple):
    """How a kernel uses an argument. ``element``: the type of the elements of memory; None for a scalar. ``read``,
    ``stored``: whether it reads the argument, and whether it stores in its memory.
    """

    element: Type | None
    read: bool
    stored: bool


@dataclass(frozen=True, slots=True)
class Launched:
    """A function that a call from outside runs several times, such as a kernel for each program of a grid. A call from
    inside of the program runs it once. It cannot run in lanes.
    """

    #: Runs it, with the compiled module, the function, the arguments, and what runs unknown ops; returns the results.
    launch: Callable[[Any, Operation, Sequence[Any], frames.Outside | None], tuple[Any, ...]]
    #: Returns the memory to which a pointer among the arguments points, from what the caller gave, the type and words
    #: for the argument.
    memory: Callable[[Any, Type, str], Any]
    #: Raises an error if memory that the caller gave cannot hold what was stored in it; it takes what the caller gave,
    #: the memory and words for the argument.
    check: Callable[[Any, Any, str], None]
    #: Returns how the function uses each of its arguments.
    uses: Callable[[Operation], Sequence[ArgumentUse]]


@dataclass(frozen=True, slots=True)
class PerOp:
    """An op that is run in one of several ways."""

    #: Returns the evaluator for an op.
    choose: Callable[[Operation], Any]


def evaluator_of(op: Operation) -> Any:
    """Return the evaluator of an op; None if there is none."""
    evaluator = None if op.definition is None else op.definition.evaluate
    return evaluator.choose(op) if isinstance(evaluator, PerOp) else evaluator
