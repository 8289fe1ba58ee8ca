"""The options of ``halfulp run``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp, option
from halfulp.command.options.calls import INPUTS, FunctionOptions


@dataclass(frozen=True, kw_only=True)
class RunArguments(FunctionOptions):
    """The options of ``halfulp run``."""

    split_input_file: bool = option(
        "--split-input-file",
        action="store_true",
        help="run each part of the file separately; lines '// -----' divide parts",
    )


COMMAND = CommandHelp(RunArguments, epilog=f"{INPUTS}\n{EXIT_CODES}")
