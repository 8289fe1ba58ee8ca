"""The command line: the parser of ``halfulp COMMAND``, and the table of commands.

Results go to stdout and are deterministic; diagnostics go to stderr as ``file:line:col: error: …`` with the source line
and a caret. Exit codes: 0 fine or equal, 1 values differ, 2 usage, parse, verify or I-O error, 3 unsupported, 4
undefined behaviour or forbidden poison, 70 an error of halfulp's own, 130 interrupted.

A command has two modules of its name: in `halfulp.command.options` what its help says, which loads nothing slow, and in
`halfulp.command` what it does, which is loaded when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from halfulp.command.console import EXIT_CODES, WRONG_USE, fail, say
from halfulp.command.option import CommandHelp, add_options, taken

COMMANDS: Mapping[str, str] = {
    "run": "run a function of an MLIR file",
    "eval": "evaluate one op on typed inputs",
    "formats": "list the float formats, or describe one",
    "translate": "read and verify MLIR text or bytecode, and print text or bytecode",
    "inspect": "show the contents of a bytecode file",
    "explain": "explain the rounding of one number, or the result of an op",
    "explain-dot": "explain one element of a matrix product on a real chip",
    "explain-error": "walk back from a result to where its error came from",
    "explore": "write a page that shows any rounding: halfulp explore -o page.html",
    "sensitivity": "rank which op's format, rounding mode or order of sums matters",
    "trace": "run a function and show every op that runs",
    "verify": "check ops against other implementations",
    "accuracy": "measure how wrong an implementation of a function or an op is",
    "diff": "compare whole programs",
    "bisect": "name the pass of a compilation that changed the results",
    "reduce": "make a program with a difference smaller",
    "fuzz": "compare random programs with other implementations",
    "validate": "test the claims of passes with random programs",
    "constraints": "check the asserts of constraints",
    "workgroups": "compute the number of workgroups of a function",
    "vectors": "make golden vectors of an op or a program, or compare old ones with this version",
    "check-vectors": "check the results of a device",
    "cache": "show the cache on disk, or clear it",
    "sweep": "compute a large set of vectors in shards, on many cores or machines",
}
"""The commands, and the line that the help of halfulp has for each."""

_EXECUTION, _VERSION, _COMPILED, _DISK = (
    "halfulp.command.execution",
    "halfulp.command.version",
    "halfulp.fp_formats.paths.llvm",
    "halfulp.fp_formats.paths.disk",
)
"""Modules that take time to load, and that help does not need."""

INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 70, 130, 141


class _Version(argparse.Action):
    """Prints the versions. Finding them takes time, so it is done only on request."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        print(import_module(_VERSION).version_text())
        parser.exit()


def command_named(name: str) -> CommandHelp:
    """Load the options of a command."""
    command = import_module(f"halfulp.command.options.{name.replace('-', '_')}").COMMAND
    assert isinstance(command, CommandHelp)
    return command


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of the whole command line; with ``only``, no other command gets its options."""
    style: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = argparse.ArgumentParser(
        "halfulp", description="Run MLIR numerics bit for bit.", epilog=EXIT_CODES, **style
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, summary in COMMANDS.items():
        if only not in (None, name):
            commands.add_parser(name, help=summary)
            continue
        command = command_named(name)
        texts: dict[str, Any] = {"description": command.description, "epilog": command.epilog, "usage": command.usage}
        add_options(commands.add_parser(name, help=summary, **texts, **style), command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code. Write to stdout and stderr, never a traceback."""
    words = _negative_values(sys.argv[1:] if argv is None else list(argv))
    try:
        given = vars(build_parser(words[0] if words and words[0] in COMMANDS else "").parse_args(words))
        if wrong := _wrong_setting():
            return fail(wrong)
        name = given.pop("command")
        code: int = import_module(_EXECUTION).execute(name, taken(command_named(name).arguments, given))
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE
    except MemoryError:
        return fail("this machine does not have enough memory for that")
    except OSError as error:
        _abandon_output()
        return fail(error.strerror or str(error))
    except Exception as error:
        if os.environ.get("HALFULP_DEBUG") == "1":
            raise
        what = " ".join(str(error).split())
        say(f"halfulp: internal error: {type(error).__name__}: {what}; please report it (HALFULP_DEBUG=1 shows where)")
        return INTERNAL_ERROR
    return code


def _negative_values(words: list[str]) -> list[str]:
    """Let ``explain -inf f32`` pass: argparse takes -inf and -1e5 for options, unless there is a space in them."""
    if words[:1] not in (["explain"], ["explain-dot"]):
        return words
    return [f" {word}" if word[:1] == "-" and word[1:2] in tuple("0123456789.iIn") else word for word in words]


def _wrong_setting() -> str | None:
    """Return what is wrong with a setting of the environment; None if nothing is."""
    try:
        if "HALFULP_BACKEND" in os.environ or "HALFULP_THREADS" in os.environ:
            import_module(_COMPILED)
        if "HALFULP_CACHE_SIZE" in os.environ:
            import_module(_DISK).limit()
    except ValueError as error:
        return str(error)
    return None


def _abandon_output() -> None:
    """Give up a stdout that cannot be written to: what its buffer holds would fail once more when Python ends."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
