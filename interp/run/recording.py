"""The interface between a run and what it records of its numbers: their lineage, or their shadows.

A recorder gives elements marks, in the place where `Value.open` has its own. All that moves elements moves the marks
too. `Settings.recorder` names the recorder of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.elements import Marks
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.poison import PoisonIds

Ran = tuple[Operation, Operation]
"""An op, and the one on whose behalf it ran: itself, or one with a body or with a loop of its own."""
Function = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


class Recorder(Protocol):
    """What a run tells of its numbers, and asks the marks of."""

    @property
    def mark_type(self) -> np.dtype[Any]:
        """The dtype of marks. 0 is the mark of a number of which nothing was recorded."""

    def record(
        self,
        op: Operation,
        around: Operation,
        kernel: Kernel,
        location: Location,
        operands: Sequence[Value],
        codes: tuple[Codes, ...],
        results: tuple[Codes, ...],
        shape: tuple[int, ...],
        poison: PoisonIds | None,
        accumulator: int | None = None,
    ) -> tuple[Marks | None, ...]:
        """Note what an op made of its operands, element by element, and return the marks of its results.

        ``around``: the op on whose behalf it ran, such as a reduction; else ``op`` itself. ``accumulator``: of
        the steps of a fold, along the first axis of ``shape``, the number of the operand that is the result before.
        """

    def accumulators(self, kernel: Kernel, terms: Value, codes: Codes) -> Value | None:
        """Return what a fold in sequence has before each of its steps, with marks; None if it must go step by step.

        ``terms``: what it begins with, then all elements but the last, each with the shape of the lanes. ``codes``: of
        the accumulators. What is returned is recorded next, as an operand of all steps at once.
        """

    def argument(self, number: int, given: Any) -> Any:
        """Return an argument with marks for its elements. The memory of a buffer gets them in place."""

    def constant(self, value: Value) -> Value:
        """Return a value that the program spells, with marks if constants have any."""

    def computed(self, op: Operation, operands: Sequence[Any], results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results of an op on whole values, where those that it computed, but did not record, are marked as
        unknown.
        """

    def unknown(self, what: str, produced: Any) -> Any:
        """Return a value, or a buffer, with marks that say that nothing is known of it. ``what``: what made it."""


def recording_outside(recorder: Recorder, function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Return a function that gives the results of ops that no dialect has, as numbers of which nothing is known."""
    return lambda op, *given: [recorder.unknown(op.name, value) for value in function(op, *given)]


def recording_function(op: Operation, recorder: Recorder, function: Function) -> Function:
    """Return the function of an op on whole values that also says where it computes what cannot be recorded."""
    return lambda run, operands: recorder.computed(op, operands, function(run, operands))


def unmarked(value: Value) -> Value:
    """Return a value without the marks of a recorder."""
    return Value(value.type, value.bits, value.poison, None, value.origins, value.unsigned)


def clear_marks(arguments: Sequence[Any]) -> None:
    """Remove the marks of a recorder from the memory of buffers."""
    for each in arguments:
        if isinstance(each, Buffer):
            each.allocation.root.open = None


def same_ran(made: dict[tuple[str, Operation], Ran], op: Operation, around: Operation) -> Ran:
    """Return what stands for an op in all runs of a program. An op that another one made to compute with, outside of
    the program, may be made anew in each run: the first one of its name in ``made`` stands for it.
    """
    outside = _top(op) is not _top(around)
    return made.setdefault((op.name, around), (op, around)) if outside else (op, around)


def _top(op: Operation) -> Operation:
    while op.parent_op is not None:
        op = op.parent_op
    return op


def holds_floats(value: Value) -> bool:
    """Tell whether elements are numbers that are no integers."""
    return not isinstance(value.element_type, ty.IntegerType | ty.IndexType)


def on_floats(op: Operation) -> bool:
    """Tell whether an op has numbers among its operands or results that are no integers."""
    return any(
        not isinstance(ty.element_type(value.type), ty.IntegerType | ty.IndexType)
        for value in (*op.operands, *op.results)
    )
