"""A program oracle that needs no tool: the interpreter itself under another profile, or with other ops in place of some."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, Reply, Status, Unanswered
from halfulp.conformance.whole_programs.rewrite import definition_of, module_with
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir.errors import HalfulpError, UndefinedBehavior
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import as_profile


class FakeOracle:
    """``exchanged``: the op that runs in place of another one. ``refused``: ops it says it does not know.

    ``fails``: an op that makes the whole batch fail with that error.
    """

    name = "fake"
    version = "1.0"

    def __init__(
        self,
        profile: str = "spec",
        exchanged: Mapping[str, str] | None = None,
        refused: Sequence[str] = (),
        fails: tuple[str, OracleError] | None = None,
    ) -> None:
        self.profile = profile
        self.exchanged = dict(exchanged or {})
        self.refused = refused
        self.fails = fails
        self.asked = 0

    def refuses(self, case: OpCase) -> str | None:
        return f"{case.op} is unknown" if case.op in self.refused else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        other = OpCase(self.exchanged.get(case.op, case.op), case.operands, case.results, case.properties)
        return tuple(Answer(bits) for bits in reference(other, inputs, as_profile(self.profile)).bits)

    def run(self, programs: Sequence[ClosedProgram]) -> list[tuple[Answer, ...] | Unanswered | OracleError]:
        self.asked += len(programs)
        return [self._one(program) for program in programs]

    def _one(self, program: ClosedProgram) -> tuple[Answer, ...] | Unanswered | OracleError:
        module = self._changed(program.module)
        names = {op.name for op in module.walk()}
        if self.fails is not None and self.fails[0] in names:
            return self.fails[1]
        unknown = sorted(names.intersection(self.refused))
        if unknown:
            return Unanswered(f"{unknown[0]} is unknown")
        function = module.lookup(program.function)
        assert function is not None
        try:
            results = program_for(module, Settings(as_profile(self.profile))).run(function, program.arguments)
        except UndefinedBehavior:
            return OracleError("crash", "it trapped")
        except HalfulpError as error:
            return Unanswered(str(error))
        return tuple(_answer(value) for value in results)

    def _changed(self, module: Module) -> Module:
        copy = module_with(module.body, module)
        for op in copy.walk():
            if op.name in self.exchanged:
                op.name = self.exchanged[op.name]
                op.definition = definition_of(op.name)
        return copy


def _answer(value: Value) -> Answer:
    if value.poison is None:
        return Answer(value.bits)
    return Answer(value.bits, value.poisoned.astype(np.uint8) * np.uint8(Status.POISON))


# --- replies ----------------------------------------------------------------------------------------------------------
#
# Replies of program oracles, for tests: the results of a program, their codes, or the reason for no answer.


def results(reply: Reply) -> tuple[Answer, ...]:
    """Return the results of a program that the oracle has answered."""
    assert isinstance(reply, tuple), reply
    return reply


def why(reply: Reply) -> str:
    """Return the reason why the oracle has not answered."""
    assert isinstance(reply, Unanswered), reply
    return reply.why


def codes_of(answers: Iterable[Answer]) -> list[Any]:
    """Return the codes of each result, as lists."""
    return [answer.bits.tolist() for answer in answers]
