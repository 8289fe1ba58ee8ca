"""Outcomes of whole programs, here and by an oracle, and the verdicts on their elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.check import code_at
from halfulp.conformance.comparing.op_case import Reference
from halfulp.conformance.comparing.refinement import (
    Mismatch,
    Verdict,
    Verdicts,
    require_answers,
    ulp_distance,
    verdicts,
)
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Reply,
    Runner,
    Status,
)
from halfulp.conformance.whole_programs.printed import silent
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, UndefinedBehavior
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
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


def judge(expected: Sequence[Value], answers: Sequence[Answer]) -> list[Verdicts]:
    """Return a verdict per element of each result. Raises OracleError for answers that `require_answers` refuses."""
    require_answers([value.element_type for value in expected], [value.shape for value in expected], answers)
    return [
        np.asarray(verdicts(value.element_type, as_reference(value), 0, answer))
        for value, answer in zip(expected, answers, strict=True)
    ]


def as_reference(value: Value) -> Reference:
    """Return a value as the reference for one result."""
    return Reference((value.bits,), None if value.poison is None else value.poisoned, None, value.open)


def answer_of(value: Value) -> Answer:
    """Return a value as an answer."""
    status = None if value.poison is None else value.poisoned.astype(np.uint8) * np.uint8(Status.POISON)
    return Answer(value.bits, status)


def is_unanswered(answer: Answer) -> bool:
    """Tell whether every element is unanswered."""
    return answer.status is not None and bool((answer.status == Status.UNANSWERED).all()) and answer.status.size > 0


def stopped(answers: Sequence[Answer]) -> bool:
    """Tell whether the program as a whole was stopped and has no results."""
    return bool(answers) and all(
        answer.status is not None and answer.status.size and (answer.status == Status.TRAP).all() for answer in answers
    )


def element_mismatch(value: Value, answer: Answer, result: int, element: tuple[int, ...]) -> Mismatch:
    """Return one differing element of a whole program's or region's result."""
    width = width_of(value.element_type)
    status = Status.VALUE if answer.status is None else Status(int(answer.status[element]))
    right, given = code_at(value.bits, width, element), code_at(answer.bits, width, element)
    known = status is Status.VALUE
    distance = ulp_distance(value.element_type, right, given) if known else None
    return Mismatch(element, result, (), right, given if known else None, status, distance)


def mismatches_of(here: Sequence[Value], answers: Sequence[Answer]) -> list[tuple[Mismatch, ty.Type]]:
    """Return the first differing element of each result that differs. Raises OracleError as `judge` does."""
    found = []
    for index, (value, answer, verdict) in enumerate(zip(here, answers, judge(here, answers), strict=True)):
        places = np.argwhere(verdict == Verdict.MISMATCH)
        if len(places):
            mismatch = element_mismatch(value, answer, index, tuple(int(k) for k in places[0]))
            found.append((mismatch, value.element_type))
    return found
