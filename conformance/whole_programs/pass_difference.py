"""A program that a pass changes to one that does something else, and the test that keeps it so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.pass_pipeline import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import validation
from halfulp.conformance.whole_programs.arguments import Arguments, taken_from
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.validation import Explain, Inputs
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.signature import argument_types
from halfulp.semantics.profile import SPEC, Profile

AT_ONCE = 32
"""Number of candidates that mlir-opt gets at a time: of a list, only the first interesting one counts."""

MAX_STEPS = 100_000
"""Most steps of one run: a change may make a loop endless."""


@dataclass(frozen=True)
class PassDifference:
    """A program with its arguments, the text after the pass, and the result that the program does not allow."""

    program: ClosedProgram
    after: str
    function: Operation
    example: Counterexample


@dataclass(frozen=True)
class PassCrash:
    """A program on which mlir-opt crashes or does not end."""

    program: ClosedProgram
    failure: PassFailure


Found = PassDifference | PassCrash


class SamePassDifference:
    """A test for programs that a pass changes in the same way: the result is another integer, another float, or poison,
    or the program is undefined. Or mlir-opt crashes in the same place.

    ``known``: explains differences, which then do not count.
    """

    def __init__(self, pipeline: PassPipeline, profile: Profile = SPEC, known: KnownByPass | None = None) -> None:
        self._known = known
        self._pipeline = pipeline
        self._profile = profile
        self.signature: tuple[Any, ...] | None = None
        self.last: Found | None = None

    def watch(self, found: Found) -> None:
        """Set the difference that must stay the same."""
        self.signature = _signature(found)
        self.last = found

    def __call__(self, programs: Sequence[ClosedProgram]) -> int | None:
        """Return the index of the first program that differs in the same way, and keep the difference in ``last``."""
        hangs = self.signature is not None and self.signature[0] == "hang"
        size = 1 if hangs else AT_ONCE  # one that does not end stops the others in its process
        for start in range(0, len(programs), size):
            for index, found in enumerate(self.differences(programs[start : start + size]), start):
                if found is not None and _signature(found) == self.signature:
                    self.last = found
                    return index
        return None

    def differences(self, programs: Sequence[ClosedProgram]) -> Iterator[Found | None]:
        """Yield how the pass changes each program on its own arguments. A program that cannot be compared does not
        count as different.
        """
        results = self._pipeline.apply_all([text_of(program.module) for program in programs])
        for program, after in zip(programs, results, strict=True):
            if isinstance(after, PassFailure):
                yield None if after.kind == "refusal" else PassCrash(program, after)
                continue
            try:
                yield self.compare(program, after, Inputs(given=arguments_of(program), max_steps=MAX_STEPS))
            except HalfulpError:
                yield None

    def compare(self, program: ClosedProgram, after: str, inputs: Inputs) -> PassDifference | None:
        """Return the first difference on some inputs; None without one. Raises HalfulpError if nothing is compared."""
        changed = self._pipeline.read(after, "<after>")
        one, two = program.module.lookup(program.function), changed.lookup(program.function)
        if one is None or two is None:
            return None
        explain = explaining(self._known, program.module, program.function)
        report = validation.compare(program.module, changed, (one, two), inputs, self._profile, explain)
        if report.problem is not None:
            raise report.problem
        if not report.counterexamples:
            return None
        example = report.counterexamples[0]
        kept = ClosedProgram(program.module, program.function, example.arguments)
        return PassDifference(kept, after, two, example)


def arguments_of(program: ClosedProgram) -> Arguments:
    """Return the arguments of a program as inputs of its function. Raises TypeMismatch, Unsupported, LimitExceeded."""
    function = program.module.lookup(program.function)
    assert function is not None
    return taken_from(program.arguments, argument_types(function))


def _signature(found: Found) -> tuple[Any, ...]:
    if isinstance(found, PassCrash):
        return found.failure.kind, found.failure.where
    mismatch = found.example.mismatch
    if mismatch is None:
        return ("no value",)
    return mismatch.status, isinstance(found.example.type, ty.FloatType)


def explaining(known: KnownByPass | None, module: Module, function: str) -> Explain | None:
    """Return the function that explains the differences of a function."""
    return None if known is None else partial(known.explained, module, function)
