"""Reduced programs as text, with the difference and the command that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from halfulp.command.version import version_text
from halfulp.conformance.oracles.oracle import ClosedProgram, ProgramOracle
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs import diff
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines, header
from halfulp.conformance.whole_programs.interesting import inputs_of, text_of_program
from halfulp.conformance.whole_programs.pass_differences import PassCrash, PassFault


def reduced_text(
    program: ClosedProgram, difference: diff.Difference, oracle: ProgramOracle, output: str | None, spelling: str
) -> str:
    """Return the program, with the difference and the command that shows it in comments. ``spelling``: of the oracle
    there.
    """
    known = " --no-known" if difference.known else ""
    return with_command(
        header(difference, oracle.name, oracle.version, version_text()), program, output, spelling, known
    )


def reduced_by_passes(found: PassFault, pipeline: PassPipeline, output: str | None) -> str:
    """Return the program of a difference, with the effect of the passes and the command that shows it in comments."""
    program = found.program
    lines = [f"// {pipeline.command}"]
    if isinstance(found, PassCrash):
        lines.append(f"// {found.failure.message}")
        return "\n".join(lines) + "\n" + text_of_program(program, close=False)
    lines += [f"// {line.strip()}" for line in counterexample_lines(found.function, found.example)[1:]]
    inputs = "".join(f" {option}" for option in inputs_of(program))
    command = f"halfulp diff {output or 'reduced.mlir'} --function={program.function}{inputs}"
    lines.append(f"// reproduce: {command} --pass-pipeline={shlex.quote(pipeline.pipeline)}")
    return "\n".join(lines) + "\n" + text_of_program(program, close=False)


def with_command(
    header: Iterable[str], program: ClosedProgram, output: str | None, spelling: str, more: str = ""
) -> str:
    """Put a reduced program below its header and the command that shows the difference."""
    inputs = "".join(f" {option}" for option in inputs_of(program))
    command = f"halfulp diff {output or 'reduced.mlir'} --function={program.function}{inputs}"
    lines = [*header, f"// reproduce: {command} --against {shlex.quote(spelling)}{more}"]
    return "\n".join(lines) + "\n" + text_of_program(program, close=False)
