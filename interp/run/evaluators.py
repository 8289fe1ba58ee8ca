"""The evaluators that an op's declaration names: `Constant`, `Elementwise`, `Pure`, `Control` or `Entry`."""

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

    build: Callable[[Operation, Compiler], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An op that does the same to every element: ``build`` makes the kernel for the op's types and attributes.

    All operands have one shape, except those in ``may_be_scalar``, whose one element stands for all. ``on_memrefs``:
    what the op does to a memref.
    """

    build: Callable[[Operation, Settings], Kernel]
    may_be_scalar: frozenset[int] = frozenset()
    on_memrefs: Pure | None = None


@dataclass(frozen=True, slots=True)
class Pure:
    """An op on whole values: ``build`` makes a function from operands to a tuple of results.

    ``of_module``: ``build`` gets the compiler, which knows the module, instead of the settings.
    ``raw``: the function gets what the slots hold, such as integers, instead of `Value`s, and in a batch
    values over lanes. Any other function, and each one on memrefs, is called lane by lane in a batch, unless
    ``in_lanes`` makes one that gets what all lanes that run the op have. ``reads``: the values that the function gets:
    the operands, or more for an op that also depends on those of the op around it. ``words``: see `Words`; compiled
    code calls any other ``raw`` function in the executor. ``kernel``: what the op does to elements that are not poison,
    if it does the same to each. ``alone``: see `Control`. ``casts``: the function knows unresolved casts; any other
    ``raw`` function never gets one.
    """

    build: Callable[[Operation, Any], Function]
    raw: bool = False
    casts: bool = False
    of_module: bool = False
    in_lanes: Callable[[Operation, Any], Function | None] = lambda op, settings: None
    reads: Callable[[Operation], Sequence[SSAValue]] = lambda op: op.operands
    words: Words | None = None
    kernel: Kernel | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """An op that acts on frames: ``build`` makes its action.

    ``decides``: the number of the i1 operand that chooses where to go on; in a batch the lanes where it is 0 part there
    from those where it is 1. ``in_lanes``: makes its action in a batch, where that differs. ``alone``: it does not know
    of lanes, so that a batch that may reach it runs lane by lane. ``words``: see `Words`.
    """

    build: Callable[[Operation, Compiler], Action]
    decides: int | None = None
    in_lanes: Callable[[Operation, Any], Action] | None = None
    alone: bool = False
    words: Words | None = None


@dataclass(frozen=True, slots=True)
class Inline:
    """An op whose regions run inside of one step: ``build`` makes that step."""

    build: Callable[[Operation, Compiler], Step]


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that does something to its arguments when it is called: ``build`` makes the step that begins it. It is
    not compiled, and knows of no lanes.
    """

    build: Callable[[Operation, Compiler], Step]


@dataclass(frozen=True, slots=True)
class Choice:
    """An op that is run in one of several ways: ``choose`` returns the evaluator for an op."""

    choose: Callable[[Operation], Any]


def evaluator_of(op: Operation) -> Any:
    """Return the evaluator of an op; None if there is none."""
    evaluator = None if op.definition is None else op.definition.evaluate
    return evaluator.choose(op) if isinstance(evaluator, Choice) else evaluator
