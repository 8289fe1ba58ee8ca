"""``halfulp constraints``: judge each assert in constraints."""

from __future__ import annotations

import json
from collections.abc import Sequence

from halfulp.codegen.constraints import Constraints, constraints
from halfulp.command.console import DIFFERENT, SUCCESS, say, write
from halfulp.command.options.constraints import ConstraintsArguments, integer
from halfulp.command.sources import Sources, read
from halfulp.interp.dialects.iree_codegen.verdicts import ConstraintVerdict
from halfulp.interp.ir.errors import UNPRINTABLE, InputError, spell_place
from halfulp.semantics.smt import as_model

# One line for each assert, even where its message has several.
_ONE_LINE = {**UNPRINTABLE, ord("\n"): " "}


def execute(arguments: ConstraintsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    try:
        model = as_model(arguments.model)
    except ValueError as error:
        raise InputError(f"--model: {error}") from None
    knobs, dims = _knobs(arguments.knob), _dims(arguments.dim)
    found = constraints(
        read(arguments.file, sources).module(),
        knobs=knobs or None,
        dims=dims,
        model=model,
        entry=arguments.function,
        target=arguments.set,
    )
    failing = ("FAILS", "unknown") if arguments.strict else ("FAILS",)
    code = SUCCESS
    for one in found:
        for verdict in one.verdicts:
            write((_record(one, verdict) if arguments.json else str(verdict).translate(_ONE_LINE)) + "\n")
            code = DIFFERENT if verdict.verdict in failing else code
        if not sources.json:
            _note(one)
    return code


def _record(one: Constraints, verdict: ConstraintVerdict) -> str:
    """Return a verdict as a JSON object."""
    known = {
        "function": one.function,
        "set": one.target,
        "location": spell_place(verdict.location) or None,
        "verdict": verdict.verdict,
        "text": verdict.text,
        "values": verdict.values,
        "because": verdict.because,
    }
    return json.dumps(known)


def _note(one: Constraints) -> None:
    """Print on stderr what is unusual about these constraints as a whole."""
    place = spell_place(one.location)
    where = f"{place}: " if place else ""
    if not one.verdicts:
        say(f"{where}note: these constraints assert nothing")
    elif one.unconfigured is not None and any(value is None for _, value in one.knobs):
        say(f"{where}note: no knob is taken from the module: {one.unconfigured}")


def _knobs(given: Sequence[str]) -> dict[str, int | str]:
    """Read the knobs. Raise InputError for a text that is not NAME=VALUE, and for a name that is given twice."""
    knobs: dict[str, int | str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            raise InputError(f"--knob {text}: write --knob NAME=VALUE")
        if name in knobs:
            raise InputError(f"--knob {name} is given twice")
        number = integer(value)
        knobs[name] = value if number is None else number
    return knobs


def _dims(given: Sequence[str]) -> dict[str | int, int | None] | list[int | None]:
    """Read the dimensions; those without a name are numbered. Raise InputError for a text that is not a number, and for
    a dimension that is given twice.
    """
    ordered: list[int | None] = []
    named: dict[str | int, int | None] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        number = integer(value)
        if number is None or (equals and not name):
            raise InputError(f"--dim {text}: write --dim NUMBER or --dim NAME=NUMBER")
        if not equals:
            ordered.append(number)
        elif name in named:
            raise InputError(f"--dim {name} is given twice")
        else:
            named[name] = number
    return {**dict(enumerate(ordered)), **named} if named else ordered
