"""What an oracle is: another implementation of the same ops, asked for its results.

Every oracle has one of two faces, most have both: it evaluates tasks (one op on arrays of codes), and it runs whole
programs on given arguments. It says what it can answer, and why not; what it does not answer is never an agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import Task
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Codes


class Status(IntEnum):
    """What an oracle says of one element."""

    VALUE = 0
    POISON = 1
    TRAP = 2  # it stopped the program, as a division by zero does on a CPU
    UNANSWERED = 3


@dataclass(frozen=True)
class Answer:
    """One result: its codes, and a `Status` per element (None: a value everywhere). ``why``: why it is unanswered."""

    bits: Codes
    status: npt.NDArray[np.uint8] | None = None
    why: str = ""


@dataclass(frozen=True)
class Program:
    """A function of a module, and arguments for it."""

    module: Module
    function: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True)
class Unanswered:
    """A program that the oracle has no results for, and why: it is not in its range, or the tool said so."""

    why: str


class Unavailable(Exception):
    """The oracle is not on this machine, or is of another version than the one it stands for: the message says why."""


class OracleError(Exception):
    """The oracle failed: it crashed, hung or printed what is no result. ``kind`` says which.

    ``signal``: what ended its process, if a signal did.
    """

    def __init__(self, kind: str, message: str, signal: int = 0) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.signal = signal


Reply = tuple[Answer, ...] | Unanswered | OracleError
"""What comes of one program."""


@runtime_checkable
class Oracle(Protocol):
    """``name``: as on the command line. ``profile``: the name of the profile that predicts its results.

    Making one raises `Unavailable` where the tool is missing or of the wrong version; ``version`` is what it reports.
    """

    name: str
    profile: str
    version: str

    def refuses(self, task: Task) -> str | None:
        """Why the oracle cannot answer the task at all, or None. Cheap: nothing is run."""

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Its results, one answer per result of the op. Raises OracleError; always ends in bounded time."""


@runtime_checkable
class ProgramOracle(Oracle, Protocol):
    """An oracle that also runs whole programs."""

    def run(self, programs: Sequence[Program]) -> Sequence[Reply]:
        """The results of each program, in order; many programs cost little more than one.

        Where a program crashes or hangs the tool, its place holds the error. Raises OracleError only when it cannot be
        told which program is to blame.
        """


@runtime_checkable
class HoldingOracle(Oracle, Protocol):
    """An oracle that has results for certain operands only, and says for which: whoever asks it takes those."""

    def tasks(self) -> Sequence[Task]:
        """The tasks that it has results of. Raises OracleError ("garbage") where what it holds is malformed."""

    def inputs(self, task: Task) -> Iterator[tuple[Codes, ...]] | None:
        """The operands that it has results for, in pieces; None where it has none, or where `evaluate` fails."""


def unanswered(task: Task, inputs: Sequence[Codes], why: str) -> tuple[Answer, ...]:
    """Answers that say of every element that there is none."""
    from halfulp.fp_formats.codes import code_shape, storage_dtype
    from halfulp.interp.values.value import element_width

    shape = task.shape(inputs)
    status = np.full(shape, Status.UNANSWERED, np.uint8)
    widths: list[Any] = [element_width(type_) for type_ in task.result_types]
    return tuple(Answer(np.zeros(code_shape(shape, w), storage_dtype(w)), status, why) for w in widths)
