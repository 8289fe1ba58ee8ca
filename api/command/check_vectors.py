"""``halfulp check-vectors``: compare a file of vectors, or the output of a device, with the expected results."""

from __future__ import annotations

import json
import sys
from dataclasses import fields

from halfulp.command.console import DIFFERENT, SUCCESS, say, write
from halfulp.command.options.check_vectors import CheckVectorsArguments
from halfulp.command.progress import progress_bar
from halfulp.command.recipe import computation_of
from halfulp.command.sources import Sources, report
from halfulp.conformance.vectors.metadata import CheckedAgainst, see
from halfulp.described import first_given
from halfulp.golden.checking import check_file, described
from halfulp.golden.recipes import ComputationOptions
from halfulp.interp.ir.errors import HalfulpError, InputError

_FOR_OP = [each.name for each in fields(ComputationOptions) if each.name != "flags"]


def execute(arguments: CheckVectorsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    try:
        return _check(arguments, sources)
    except HalfulpError as error:
        if arguments.json:
            write(json.dumps({"file": arguments.file, "equal": False, "problem": str(error)}) + "\n")
        raise


def _check(arguments: CheckVectorsArguments, sources: Sources) -> int:
    see(arguments.file)
    asked = _asked(arguments, sources)
    with progress_bar("rows") as progress:
        found = check_file(arguments, asked, progress, arguments.flags)
    write(json.dumps(found.to_json()) + "\n" if arguments.json else "".join(f"{line}\n" for line in found.lines()))
    sys.stdout.flush()
    if found.note:
        say(f"note: {arguments.file}: {found.note}")
    if found.problem is not None:
        code = report(found.problem, sources)
        return DIFFERENT if found.differing else code
    return DIFFERENT if found.differing else SUCCESS


def _asked(arguments: CheckVectorsArguments, sources: Sources) -> CheckedAgainst:
    """Return what is computed, by the options or the metadata. Raise InputError where neither says it."""
    if arguments.op is not None:
        if arguments.metadata is not None:
            raise InputError("--op and --metadata both say what is computed: give one of them")
        if arguments.op == arguments.file == "-":
            raise InputError("the program and the vectors cannot both come from the standard input")
        return CheckedAgainst(computation_of(arguments.op, arguments, sources))
    option = first_given(arguments, _FOR_OP)
    if option is not None:
        raise InputError(f"{option} goes with --op; without it, the metadata says what is computed")
    return described(arguments)
