"""A pass pipeline as an implementation of programs: halfulp runs each program after the passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halfulp.conformance.comparing.refinement import answer_of
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply, Unanswered
from halfulp.conformance.oracles.pass_pipeline import PassFailure, PassPipeline
from halfulp.conformance.whole_programs.outcomes import results_of
from halfulp.conformance.whole_programs.printed import silent
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, LimitExceeded, UndefinedBehavior
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings

NAME = "passes"
"""The name of this implementation. `divergences.of_passes` gives the rows of its passes for this name."""


class Transformed:
    """Programs after a pass pipeline. All inputs of a module share one run of the passes."""

    name = NAME

    def __init__(self, pipeline: PassPipeline, settings: Settings) -> None:
        self.version = pipeline.tool.version
        self._pipeline = pipeline
        self._settings = replace(settings, write=silent)
        self._after: dict[Module, Module | Unanswered | OracleError] = {}

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results of each program. Its arguments may be values over lanes."""
        modules = self.after([program.module for program in programs])
        return [self._reply(program, module) for program, module in zip(programs, modules, strict=True)]

    def after(self, modules: Sequence[Module]) -> list[Module | Unanswered | OracleError]:
        """Return each module after the passes, or why there is none."""
        new = list(dict.fromkeys(module for module in modules if module not in self._after))
        for module, text in zip(new, self._pipeline.apply_all([text_of(module) for module in new]), strict=True):
            self._after[module] = self._read(text)
        return [self._after[module] for module in modules]

    def _read(self, text: str | PassFailure) -> Module | Unanswered | OracleError:
        if isinstance(text, PassFailure):
            refused = text.kind == "refusal"
            return Unanswered(str(text)) if refused else OracleError(text.kind, text.message)
        try:
            return self._pipeline.read(text, "<after>")
        except HalfulpError as error:
            return Unanswered(str(error))

    def _reply(self, program: ClosedProgram, after: Module | Unanswered | OracleError) -> Reply:
        if not isinstance(after, Module):
            return after
        function = after.lookup(program.function)
        if function is None or not function.regions or not function.regions[0].blocks:
            return Unanswered(f"@{program.function} has no body after the passes")
        try:
            return tuple(map(answer_of, results_of(program_for(after, self._settings), function, program.arguments)))
        except (UndefinedBehavior, AssertionFailed, LimitExceeded) as error:
            return OracleError("trap", error.message)
        except HalfulpError as error:
            return Unanswered(str(error))
