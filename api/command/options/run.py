"""The options of ``halfulp run``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import BATCHES, INPUTS, OUTPUTS, FunctionResultOptions
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class RunArguments(FunctionResultOptions):
    """The options of ``halfulp run``."""

    signature: str | None = option(
        "--signature",
        metavar="TYPE",
        help="the type that a function of the llvm dialect had before it was lowered: inputs and results are of it",
    )
    shadow: bool = option(
        "--shadow", action="store_true", help="run beside exact real numbers, and show the errors of results and ops"
    )
    shadow_in: str | None = option(
        "--shadow-in",
        choices=("f64", "f128"),
        help="the same with numbers of that format for the exact ones: cheaper, and their own errors are not known",
    )
    flags: bool = option(
        "--flags", action="store_true", help="show the exception flags of the run, and the ops that raised some"
    )
    split_input_file: bool = option(
        "--split-input-file",
        action="store_true",
        help="run each part of the file separately; lines '// -----' divide parts",
    )


COMMAND = CommandHelp(RunArguments, epilog=f"{INPUTS}{BATCHES}\n{OUTPUTS}\n{EXIT_CODES}")
