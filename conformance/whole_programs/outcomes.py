"""Outcomes of whole programs, here and by an oracle."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Reply,
    Runner,
    Status,
)
from halfulp.conformance.whole_programs.printed import silent
from halfulp.interp.ir.errors import AssertionFailed, UndefinedBehavior
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

NoMeaning = UndefinedBehavior | AssertionFailed


Outcome = tuple[Value, ...] | NoMeaning
"""The outcome of running a program here."""


def run_here(program: ClosedProgram, profile: Profile = SPEC) -> Outcome:
    """Return the results with their masks of unspecified bits, or the error of a program with undefined behaviour.
    If an argument is over lanes, so are the results. Raises HalfulpError for any other error.
    """
    function_ = program.module.lookup(program.function)
    assert function_ is not None
    settings = Settings(profile, track_open=True, write=silent)
    try:
        return results_of(program_for(program.module, settings), function_, program.arguments)
    except (UndefinedBehavior, AssertionFailed) as error:
        return error


def recorded(program: ClosedProgram) -> tuple[Lineage, tuple[Value, ...]]:
    """Run a program of single values and record the lineage of its results. Raises HalfulpError."""
    function, lineage = program.module.lookup(program.function), Lineage()
    assert function is not None
    return lineage, program_for(program.module, Settings(recorder=lineage, write=silent)).run(
        function, program.arguments
    )


def results_of(program: CompiledModule, function: Operation, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the results of a function; over lanes if an argument is. Raises HalfulpError."""
    lanes = next((value.shape[0] for value in arguments if over_lanes(value)), None)
    if lanes is None:
        return program.run(function, arguments)
    values = run_batch(program, function, arguments, lanes)
    return tuple(value if over_lanes(value) else repeated(value, lanes) for value in values)


def ask(oracle: Runner, programs: Sequence[ClosedProgram]) -> list[Reply]:
    """Return the oracle's replies, one per program; a failure of the whole batch is the reply for each."""
    try:
        replies: list[Reply] = list(oracle.run(programs))
    except OracleError as error:
        return [error] * len(programs)
    if len(replies) != len(programs):
        failure = OracleError("garbage", f"{len(replies)} replies where {len(programs)} programs were given")
        return [failure] * len(programs)
    return replies


def is_unanswered(answer: Answer) -> bool:
    """Tell whether every element is unanswered."""
    return answer.status is not None and bool((answer.status == Status.UNANSWERED).all()) and answer.status.size > 0


def stopped(answers: Sequence[Answer]) -> bool:
    """Tell whether the program as a whole was stopped and has no results."""
    return bool(answers) and all(
        answer.status is not None and answer.status.size and (answer.status == Status.TRAP).all() for answer in answers
    )
