"""Reduce what a random program shows of a pass, and tell findings of one kind from others."""

from __future__ import annotations

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.pass_pipeline import PassFailure, PassPipeline
from halfulp.conformance.whole_programs.pass_difference import Found, PassCrash, SamePassDifference
from halfulp.conformance.whole_programs.reduce import MAX_TESTS, Reducer
from halfulp.conformance.whole_programs.rewrite import returns
from halfulp.interp.ir.operations import OpResult
from halfulp.interp.loading import parse_module
from halfulp.interp.values.value import Value

HANGS = 100
"""Most programs to try in the reduction of one on which mlir-opt does not end: each of them takes the time limit."""


SECONDS = 60.0
"""The time after which no smaller program is looked for. A crash in a batch of programs makes all others run again."""


def reduced(pipeline: PassPipeline, text: str, function: str, arguments: tuple[Value, ...]) -> Found | None:
    """Return the difference of the smallest program that still has it; None if a program does not differ alone."""
    same = SamePassDifference(pipeline)
    found = next(iter(same.differences([ClosedProgram(parse_module(text), function, arguments)])))
    if found is None:
        return None
    same.watch(found)
    crashes = isinstance(found, PassCrash)  # whatever the arguments are
    hangs = isinstance(found, PassCrash) and found.failure.kind == "hang"
    program = Reducer(same, HANGS if hangs else MAX_TESTS, close=not crashes, seconds=SECONDS).reduce(found.program)
    return next(iter(same.differences([program]))) or same.last


def crash_kind(failure: PassFailure) -> str:
    """Return a word for the kind of a crash: its place, if that is known."""
    return f"{failure.kind} {failure.where}"


def kind_of(found: Found) -> str:
    """Return a word for the kind of a reduced difference: the op whose result is returned, or the place of a crash."""
    if isinstance(found, PassCrash):
        return crash_kind(found.failure)
    function = found.program.module.lookup(found.program.function)
    assert function is not None
    values = [value for end in returns(function) for value in end.operands]
    return ", ".join(sorted({value.owner.name if isinstance(value, OpResult) else "an argument" for value in values}))
