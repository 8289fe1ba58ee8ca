"""The interface of an oracle: another implementation of the same ops, which gives its results.

An oracle evaluates cases (one op on arrays of codes), or runs whole programs on given arguments; most oracles do both.
An oracle says what it can answer, and why not. A missing answer never counts as an agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.fp_formats.formats import Codes, code_shape, storage_dtype
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.value import Value


class Status(IntEnum):
    """What an oracle says about one element."""

    VALUE = 0
    POISON = 1
    TRAP = 2  # it stopped the program, as a division by zero does on a CPU
    UNANSWERED = 3


@dataclass(frozen=True)
class Answer:
    """One result: its codes, and a `Status` for each element (None: each element has a value).

    ``why``: why elements are unanswered.
    """

    bits: Codes
    status: npt.NDArray[np.uint8] | None = None
    why: str = ""


@dataclass(frozen=True)
class ClosedProgram:
    """A function of a module, and arguments for it."""

    module: Module
    function: str
    arguments: tuple[Value, ...]

    @property
    def operation(self) -> Operation:
        """The function itself."""
        found = self.module.lookup(self.function)
        assert found is not None
        return found


@dataclass(frozen=True)
class Unanswered:
    """A program without results from the oracle, and the reason: the oracle cannot run such programs, or the tool
    refused this one.
    """

    why: str


class Refused(Exception):
    """The error for a program that an oracle cannot run: the message says why."""


class Unavailable(Exception):
    """The oracle is not on this machine, or its version is not the supported one: the message says which."""


class OracleError(Exception):
    """The oracle failed: it crashed, hung or printed something unreadable. ``kind`` says which.

    ``signal``: the signal that ended its process, if one did. ``said``: its standard error.
    """

    def __init__(self, kind: str, message: str, signal: int = 0, said: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.signal = signal
        self.said = said


Reply = tuple[Answer, ...] | Unanswered | OracleError
"""The result of asking for one program."""


@runtime_checkable
class Oracle(Protocol):
    """An oracle: a tool with whose results halfulp is compared.

    ``name``: as on the command line. ``profile``: the name of the profile that predicts its results. ``version``: the
    version that the tool reports. The constructor raises `Unavailable` if the tool is missing or has the wrong version.
    """

    name: str
    profile: str
    version: str

    def refuses(self, case: OpCase) -> str | None:
        """Return why the oracle cannot answer the case at all; None if it can. This takes little time, because nothing
        runs.
        """

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return one answer for each result of the op. Raises OracleError. The time is always limited."""


class Runner(Protocol):
    """An oracle that runs whole programs. Rows of known divergences name its ``name`` and ``version``."""

    name: str
    version: str

    def run(self, programs: Sequence[ClosedProgram]) -> Sequence[Reply]:
        """Return the results of each program, in order; many programs cost little more than one.

        If a program crashes or hangs the tool, its results are replaced by the error. Raises OracleError only if the
        failing program cannot be found.
        """


@runtime_checkable
class ProgramOracle(Oracle, Runner, Protocol):
    """An oracle that also runs whole programs."""


@runtime_checkable
class HoldingOracle(Oracle, Protocol):
    """An oracle with results for certain operands only. It lists them, and gets no others."""

    def cases(self) -> Sequence[OpCase]:
        """Return the cases for which it has results. Raises OracleError ("garbage") if its data are malformed."""

    def inputs(self, case: OpCase) -> Iterator[tuple[Codes, ...]] | None:
        """Yield the operands for which it has results, in pieces; None if there are none, or if `evaluate` fails."""


def blank(shape: tuple[int, ...], width: int, status: Status, why: str = "") -> Answer:
    """Return an answer without values: every element has this status, in an array that may be written to."""
    return Answer(np.zeros(code_shape(shape, width), storage_dtype(width)), np.full(shape, status, np.uint8), why)


def unanswered(case: OpCase, inputs: Sequence[Codes], why: str) -> tuple[Answer, ...]:
    """Return answers in which every element is unanswered."""
    shape = case.shape(inputs)
    return tuple(blank(shape, width_of(type_), Status.UNANSWERED, why) for type_ in case.result_types)


Prepared = TypeVar("Prepared")


def run_together(
    programs: Sequence[ClosedProgram],
    prepare: Callable[[int, ClosedProgram], Prepared],
    run: Callable[[Sequence[Prepared]], Sequence[Reply]],
    most: int,
) -> list[Reply]:
    """Return the replies for programs, of which up to ``most`` run together.

    ``prepare`` raises Refused or HalfulpError for a program that the oracle cannot run. If ``run`` raises OracleError,
    Refused or HalfulpError for several programs, they are divided into halves that run separately, until the programs
    that fail are found.
    """
    replies: dict[int, Reply] = {}
    prepared: list[tuple[int, Prepared]] = []
    for index, program in enumerate(programs):
        try:
            prepared.append((index, prepare(index, program)))
        except (HalfulpError, Refused) as refusal:
            replies[index] = Unanswered(str(refusal))
    parts = [prepared[start : start + most] for start in range(0, len(prepared), most)]
    while parts:
        part = parts.pop(0)
        try:
            given = run([each for _, each in part])
        except (OracleError, HalfulpError, Refused) as error:
            half = len(part) // 2
            if half:
                parts[:0] = [part[:half], part[half:]]
                continue
            failed = isinstance(error, OracleError) and error.kind != "refusal"
            given = [error if failed else Unanswered(str(error))]  # type: ignore[list-item]
        replies.update(zip((index for index, _ in part), given, strict=True))
    return [replies[index] for index in range(len(programs))]
