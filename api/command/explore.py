"""``halfulp explore``: write a page that shows any rounding."""

from __future__ import annotations

import sys

from halfulp.command.console import SUCCESS
from halfulp.command.options.explore import ExploreArguments
from halfulp.command.sources import Sources
from halfulp.explorer.notebook import page
from halfulp.inputs import write_file


def execute(arguments: ExploreArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    data = page().encode()
    if arguments.output == "-":
        sys.stdout.buffer.write(data)
        return SUCCESS
    write_file(arguments.output, data)
    return SUCCESS
