"""The man page halfulp(1), made of the parsers of all commands. `generate.py` writes it into ``halfulp.1``.

The wheel has it as ``share/man/man1/halfulp.1``, where ``man`` looks for it if the folder ``bin`` beside ``share`` is
on PATH, as in a virtual environment that is active.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import NamedTuple

from halfulp.command import main as cli
from halfulp.command.console import EXIT_CODES
from halfulp.release import VERSION

ENVIRONMENT = {
    "HALFULP_BACKEND": "what computes on arrays: auto (default), llvm or numpy",
    "HALFULP_THREADS": "the number of threads",
    "HALFULP_CACHE": "the folder of the cache on disk, or off",
    "HALFULP_CACHE_SIZE": "the size of the cache, such as 500M",
    "HALFULP_MLIR_OPT": "the path of mlir-opt",
    "HALFULP_DEBUG": "if it is 1, an internal error shows its place",
    "NO_COLOR, FORCE_COLOR": "never, or always, write colours",
}
"""The variables of the environment, with what they set."""


class Argument(NamedTuple):
    """An option or argument of a command: its names, the word for its value, and its help."""

    names: list[str]
    value: str
    help: str


def arguments_of(command: argparse.ArgumentParser) -> Iterator[Argument]:
    """Yield the options and arguments of a command, except ``--help``."""
    formatter = argparse.HelpFormatter(command.prog)
    for action in command._actions:
        if action.help in ("show this help message and exit", argparse.SUPPRESS):
            continue
        choices = "{" + ",".join(map(str, action.choices or ())) + "}"
        value = "" if action.nargs == 0 else str(action.metavar or (choices if action.choices else action.dest.upper()))
        yield Argument(list(action.option_strings), value, formatter._expand_help(action) if action.help else "")


def text() -> str:
    """Return the page, in the macros ``man`` of roff."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    yield '.\\" Written by docs/generate.py.'
    yield f'.TH HALFULP 1 "" "halfulp {VERSION}" "User Commands"'
    yield from (".SH NAME", r"halfulp \- run MLIR numerics bit for bit")
    yield from (".SH SYNOPSIS", r"\fBhalfulp\fR \fICOMMAND\fR [\fIOPTION\fR ...]", ".br", r"\fBhalfulp \-\-version\fR")
    yield ".SH COMMANDS"
    for name, place in cli.COMMANDS.items():
        yield from (".TP", f"\\fB{_plain(name)}\\fR", _plain(place.summary))
    epilogs = {EXIT_CODES.strip()}
    for name, place in cli.COMMANDS.items():
        command = cli.command_parser(name)
        yield f'.SH "HALFULP {_plain(name.upper())}"'
        if command.description and command.description.rstrip(".") != place.summary:
            yield from _example(command.description)
        else:
            yield _plain(f"{place.summary[0].upper()}{place.summary[1:]}.")
        for argument in arguments_of(command):
            value = f"\\fI{_plain(argument.value)}\\fR" if argument.value else ""
            spelled = ", ".join(f"\\fB{_plain(option)}\\fR{' ' * bool(value)}{value}" for option in argument.names)
            yield from (".TP", spelled or value, _plain(argument.help))
        epilog = (command.epilog or "").strip()
        if epilog and epilog not in epilogs:
            epilogs.add(epilog)
            yield from (".PP", *_example(epilog))
    yield from (".SH EXIT STATUS", *_example(EXIT_CODES))
    yield ".SH ENVIRONMENT"
    for variable, meaning in ENVIRONMENT.items():
        yield from (".TP", f"\\fB{variable}\\fR", _plain(meaning))


def _example(words: str) -> Iterator[str]:
    """Yield lines that keep their blanks and ends."""
    yield ".EX"
    yield from (_plain(line) for line in words.strip().splitlines())
    yield ".EE"


def _plain(words: str) -> str:
    """Return text that roff prints as it is: a hyphen that can be copied, and no line that begins a request."""
    words = (
        words.replace("\\", "\\e").replace("-", r"\-").replace("^", r"\(ha").replace("~", r"\(ti").replace("`", r"\(ga")
    )
    words = re.sub(r"[^\x00-\x7F]", lambda found: f"\\[u{ord(found[0]):04X}]", words)
    return f"\\&{words}" if words[:1] in (".", "'") else words
