"""``halfulp sensitivity``: rank which op's format, rounding mode or order of sums matters."""

from __future__ import annotations

import json

from halfulp.command import running
from halfulp.command.console import SUCCESS, say, write
from halfulp.command.options.sensitivity import SensitivityArguments
from halfulp.command.progress import progress_bar
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read
from halfulp.drawing.figures import ending_of, save
from halfulp.inputs import write_file
from halfulp.run_options import TraceKeywords, run_options
from halfulp.sensitivities.sensitivity import ranked
from halfulp.sensitivities.trials import MODES


def execute(arguments: SensitivityArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.plot is not None:
        ending_of(arguments.plot)
    module = read(arguments.file, sources).program()
    values = running.arguments_of(module, arguments, sources)
    options = run_options("sensitivity", TraceKeywords, {**run_keywords(arguments), "entry": arguments.function})
    modes = MODES if arguments.modes == "all" else _names(arguments.modes)
    changes = [_names(arguments.formats), modes, arguments.profiles, _names(arguments.orders), _names(arguments.models)]
    named = arguments.result
    result = int(named) if named is not None and named.isdecimal() else named
    with progress_bar("changes") as progress:
        found = ranked(module, values, options, changes, arguments.by, result, progress)
    if arguments.json:
        write(json.dumps(found.as_json()) + "\n")
    else:
        write("".join(f"{line}\n" for line in found.lines()))
    if arguments.plot is not None:
        save(found.plot(dark=False), arguments.plot)
    if arguments.best is not None:
        if found.best is None:
            say(f"note: no change makes an error less: {arguments.best} is not written")
        else:
            write_file(arguments.best, found.best.program.encode("utf-8"))
    return SUCCESS


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
