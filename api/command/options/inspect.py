"""The options of ``halfulp inspect``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class InspectArguments:
    """The options of ``halfulp inspect``."""

    file: str = option(metavar="FILE", help="MLIR bytecode, or - for the standard input")
    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(
    InspectArguments, "Show the sections, dialects, ops, strings and resources of an MLIR bytecode file, with sizes."
)
