"""The evaluators that an op's declaration names. They differ by what the code of an op gets.

`Constant` gets nothing, `Elementwise` the elements of its operands, `OnValues` whole values, `OnRawSlots` the slots of
a frame, `OnFrames` the frame itself, which it may leave. `Entry` begins a function, and `Choice` chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Action, Function, Step
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Kernel

Words = Callable[[Operation, Any], None]
"""Lowers an op to machine words: called with a `halfulp.interp.run.compiled.lowering.FunctionLowering`."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An op with no operands whose value is known when its block is compiled."""

    #: Returns the value of an op.
    build: Callable[[Operation, Compiler], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An op that does the same to every element. All operands have one shape."""

    #: Makes the kernel for the types and attributes of an op.
    build: Callable[[Operation, Settings], Kernel]
    #: The numbers of the operands that may also be scalars, whose one element stands for all.
    may_be_scalar: frozenset[int] = frozenset()
    #: What the op does to a memref.
    on_memrefs: OnValues | None = None


@dataclass(frozen=True, slots=True)
class OnValues:
    """An op on whole values, by a function of its operands. It may have effects, as loads, stores and prints do."""

    #: Makes the function, from the values of the operands to a tuple of results. It is given the op and the settings.
    build: Callable[[Operation, Any], Function]
    #: Whether the function gets what slots hold, such as integers, instead of `Value`s; in a batch it then gets values
    #: over lanes. Any other function, and each one on memrefs, is called lane by lane in a batch.
    raw: bool = False
    #: Whether the function knows unresolved casts. A ``raw`` function that does not never gets one.
    casts: bool = False
    #: Whether ``build`` is given the compiler, which knows the module, instead of the settings.
    of_module: bool = False
    #: Makes the function for a batch, which gets what all lanes that run the op have. None: it is called lane by lane.
    in_lanes: Callable[[Operation, Any], Function | None] = lambda op, settings: None
    #: The values that the function gets: the operands, or more for an op that depends on those of the op around it.
    reads: Callable[[Operation], Sequence[SSAValue]] = lambda op: op.operands
    #: Lowers the op to machine code. Without it machine code calls the function through Python, or is not made if the
    #: op may do something that the world sees, such as a print.
    words: Words | None = None
    #: What the op does to elements that are not poison, if it does the same to each: then it can be part of a chain.
    kernel: Kernel | None = None
    #: Whether the op does not know of lanes, so that a batch that may reach it runs one lane after the other.
    alone: bool = False


@dataclass(frozen=True, slots=True)
class OnFrames:
    """An op that acts on frames: a branch, a call, a return, or an op whose regions run in the frame around it."""

    #: Makes its action, which returns the segment to go on with.
    build: Callable[[Operation, Compiler], Action]
    #: The number of the i1 operand that chooses where to go on. In a batch the lanes where it is 0 part there from
    #: those where it is 1.
    decides: int | None = None
    #: Makes its action in a batch, where that differs.
    in_lanes: Callable[[Operation, Any], Action] | None = None
    #: Whether the op does not know of lanes, so that a batch that may reach it runs one lane after the other.
    alone: bool = False
    #: Lowers the op to machine code. Without it the function stays with the executor.
    words: Words | None = None


@dataclass(frozen=True, slots=True)
class OnRawSlots:
    """An op whose regions run inside of one step, which reads and writes the slots of its frame."""

    #: Makes that step.
    build: Callable[[Operation, Compiler], Step]


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that does something to its arguments when it is called. It is not compiled, and knows of no lanes."""

    #: Makes the step that begins the function.
    build: Callable[[Operation, Compiler], Step]


@dataclass(frozen=True, slots=True)
class Choice:
    """An op that is run in one of several ways."""

    #: Returns the evaluator for an op.
    choose: Callable[[Operation], Any]


def evaluator_of(op: Operation) -> Any:
    """Return the evaluator of an op; None if there is none."""
    evaluator = None if op.definition is None else op.definition.evaluate
    return evaluator.choose(op) if isinstance(evaluator, Choice) else evaluator
