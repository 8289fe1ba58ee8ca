"""The options of ``halfulp formats``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class FormatsArguments:
    """The options of ``halfulp formats``."""

    name: str | None = option(
        nargs="?", metavar="NAME", help="the format to describe; with up to 8 bits, all its values are listed"
    )


COMMAND = CommandHelp(FormatsArguments)
