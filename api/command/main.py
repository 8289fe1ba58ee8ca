"""The command line: the parser of ``halfulp COMMAND``, and the table of commands.

Results go to stdout and are deterministic; diagnostics go to stderr as ``file:line:col: error: …`` with the source line
and a caret. Exit codes: 0 fine or equal, 1 values differ, 2 usage, parse, verify or I-O error, 3 unsupported, 4
undefined behaviour or forbidden poison, 70 an error of halfulp's own, 130 interrupted, 143 ended by SIGTERM.

A command is loaded when it is used: the list of all commands needs neither NumPy nor the rest of halfulp.
"""

from __future__ import annotations

import _thread
import argparse
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from halfulp.command.console import EXIT_CODES, WRONG_USE, fail, say
from halfulp.command.option import Command, add_options, taken


class Place(NamedTuple):
    """The place of a command: its group, its name, and its line in the help of halfulp."""

    #: Its module in `halfulp.command`, and the name of its `Command` there.
    module: str
    name: str
    summary: str


COMMANDS: Mapping[str, Place] = {
    "run": Place("run", "RUN", "run a function of an MLIR file"),
    "run --trace": Place("run", "TRACE", "run a function and show every op that runs"),
    "eval": Place("run", "EVAL", "evaluate one op on typed inputs"),
    "explain": Place("explain", "EXPLAIN", "explain the rounding of one number, or the result of an op"),
    "explain dot": Place("explain", "DOT", "explain one element of a matrix product on a real chip"),
    "explain error": Place("explain", "ERROR", "go back from a result to the op that caused its error"),
    "sensitivity": Place(
        "sensitivity", "SENSITIVITY", "rank which op's format, rounding mode or order of sums matters"
    ),
    "formats": Place("formats", "LIST", "list the float formats, or describe one"),
    "formats --explore": Place("formats", "EXPLORE", "write a page that shows any rounding"),
    "translate": Place("translate", "TRANSLATE", "read and verify MLIR text or bytecode, and print text or bytecode"),
    "translate --check": Place("text_check", "CHECK", "compare how halfulp and real MLIR read and print a file"),
    "translate --summary": Place("translate", "INSPECT", "show the contents of a bytecode file"),
    "verify": Place("verify", "VERIFY", "check ops against other implementations"),
    "verify --ulp": Place("verify", "ACCURACY", "measure how wrong an implementation of a function or an op is"),
    "diff": Place("diff", "DIFF", "compare whole programs"),
    "bisect": Place("bisect", "BISECT", "name the pass of a compilation that changed the results"),
    "fuzz": Place("fuzz", "FUZZ", "compare random programs with other implementations"),
    "fuzz --pass": Place("fuzz", "VALIDATE", "test the claims of passes with random programs"),
    "reduce": Place("reduce", "REDUCE", "make a program with a difference smaller"),
    "vectors make": Place("vectors", "MAKE", "make golden vectors of an op or a program, or compare old ones with new"),
    "vectors check": Place("vectors", "CHECK", "check the results of a device"),
    "vectors sweep": Place("sweep", "SWEEP", "compute a large set of vectors in shards, on many cores or machines"),
    "vectors coverage report": Place("vectors", "COVERAGE", "merge files of coverage, and show what they cover"),
    "iree constraints": Place("iree", "CONSTRAINTS", "check the asserts of constraints"),
    "iree workgroups": Place("iree", "WORKGROUPS", "compute the number of workgroups of a function"),
    "cache": Place("cache", "CACHE", "show the cache on disk, or clear it"),
    "completion": Place("completion", "COMPLETION", "print a script that completes commands in a shell"),
}
"""The commands by their words. If one of the words is an option, it selects a form of the command that has its own
options.
"""

NOW: Mapping[str, str] = {
    "trace": "run --trace",
    "explain-dot": "explain dot",
    "explain-error": "explain error",
    "explore": "formats --explore",
    "inspect": "translate --summary",
    "accuracy": "verify --ulp",
    "validate": "fuzz --pass=PASS",
    "vectors": "vectors make",
    "check-vectors": "vectors check",
    "sweep": "vectors sweep",
    "constraints": "iree constraints",
    "workgroups": "iree workgroups",
}
"""The former names of commands, with their new names."""

TRIED: Mapping[str, str] = {
    "help": "halfulp --help",
    "version": "halfulp --version",
    "-v": "halfulp --version",
    "-V": "halfulp --version",
    "convert": "halfulp explain 0.1 bf16 for a number, hu.convert in Python for arrays",
    "quantize": "hu.quantize and hu.quantize_blocks in Python",
    "opt": "halfulp translate, which reads, verifies and prints; halfulp runs no passes",
    "mlir-opt": "halfulp translate, which reads, verifies and prints; halfulp runs no passes",
    "mlir-translate": "halfulp translate",
    "iree-run-module": "halfulp run FILE --function=NAME --input=VALUE",
    "mlir-runner": "halfulp run FILE --function=NAME --input=VALUE",
    "compare": "halfulp diff",
    "check": "halfulp vectors check, or halfulp diff for programs",
    "test": "halfulp vectors check, or halfulp diff for programs",
    "generate": "halfulp vectors make",
    "plot": "hu.plot in Python",
    "lit": "lit itself, with the configuration in examples/lit",
}
"""Words that users try as commands, with what to write."""

TRIED_OPTIONS: Mapping[str, str] = {
    "-o": "--output",
    "--out": "--output",
    "-e": "--function",
    "--entry-function": "--function",
    "--entry_function": "--function",
    "-entry-point": "--function",
    "-i": "--input",
    "--inputs": "--input",
    "--dtype": "--type",
    "-t": "--type",
    "-v": "--version",
    "--fn": "--function",
    "--passes": "--pass-pipeline",
    "--pipeline": "--pass-pipeline",
}
"""Options of other tools, with ours; a command has a hint if it has ours."""

_EXECUTION, _VERSION, _COMPILED, _DISK = (
    "halfulp.command.execution",
    "halfulp.release",
    "halfulp.fp_formats.paths.llvm",
    "halfulp.fp_formats.paths.disk",
)
"""Modules that take time to load, and that the help of commands does not need."""

INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 70, 130, 141
_OBJECTS = 100_000
"""The new objects after which Python looks for garbage. Loading makes nearly as many, and no garbage: by Python's own
number, a tenth of the start went to looking for it.
"""


class _Version(argparse.Action):
    """The action of --version: print the versions. It finds them only then, because that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        print(import_module(_VERSION).version_text())
        parser.exit()


def command_named(name: str) -> Command:
    """Load a command."""
    place = COMMANDS[name]
    command = getattr(import_module(f"halfulp.command.{place.module}"), place.name)
    assert isinstance(command, Command)
    return command


class _Parser(argparse.ArgumentParser):
    """A parser. Its errors repeat the words of the user without characters that a terminal may take as a command, and
    have a hint for options of other tools, or those that are misspelt.
    """

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message to stderr, and end the process."""
        head, _, words = message.partition("unrecognized arguments: ")
        super().error(message if head or not words else f"{message}{self._hint(words.split(' ')[0])}")

    def _hint(self, word: str) -> str:
        known, name = self._option_string_actions, word.partition("=")[0]
        forms = {
            f"--{form.partition(' --')[2]}": form
            for form in COMMANDS
            if f"halfulp {form}".startswith(f"{self.prog} --")
        }
        if word[:1] != "-":
            meant = "--input" if "--input" in known else None
            return f"\nhint: give inputs as {meant}=…, as in {meant}=@x.npy" if meant else ""
        meant = TRIED_OPTIONS.get(name)
        if meant not in known:
            meant = next(iter(get_close_matches(name, (*known, *forms), 1, cutoff=0.8)), None)
        if meant:
            return f"\nhint: did you mean {meant}?"
        form = next((one for one in forms if name in command_parser(forms[one])._option_string_actions), None)
        return f"\nhint: {name} can be used only with {form}" if form else ""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print the message to stderr, and end the process."""
        if message and not message.replace("\n", "").isprintable():
            say(message.rstrip("\n"))  # which loads more
            message = None
        super().exit(status, message)


_STYLE: Mapping[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}


def list_parser(group: str = "") -> argparse.ArgumentParser:
    """Make the parser that lists the commands: all of them, or those of ``halfulp GROUP``."""
    about: Any = {} if group else {"description": "Run MLIR numerics bit for bit.", "epilog": EXIT_CODES}
    parser = _Parser(f"halfulp {group}".strip(), **about, **_STYLE)
    if not group:
        parser.add_argument(
            "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
        )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, place in COMMANDS.items():
        if name.startswith(f"{group} " if group else ""):
            commands.add_parser(name.removeprefix(f"{group} "), help=place.summary)
    return parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """Make the parser of a command."""
    command = command_named(name)
    texts: Any = {"description": command.description, "epilog": command.epilog, "usage": command.usage}
    parser = _Parser(f"halfulp {name.partition(' --')[0]}", **texts, **_STYLE)
    add_options(parser, command)
    return parser


def _command_in(words: Sequence[str]) -> str | None:
    """Return the command that words begin with, in the form that an option selects; None for none."""
    options = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    several = (" ".join(words[1:3]), *words[1:2])
    forms = (f"{words[0]} {selecting}" for selecting in (*several, *options)) if words else ()
    return next((name for name in (*forms, *words[:1]) if name in COMMANDS), None)


def _meant(word: str) -> str | None:
    """Return what to write for a word that is not a command; None for a word without a hint."""
    if word.endswith((".mlir", ".mlirbc", ".ttir", ".ttgir")) or os.path.isfile(word):
        return f"halfulp run {word}"
    close = get_close_matches(word, [name.partition(" ")[0] for name in COMMANDS], 1) if word[:1] != "-" else []
    return TRIED.get(word) or (f"halfulp {close[0]}" if close else None)


def parse(words: Sequence[str]) -> tuple[str, Any]:
    """Return the name of the command and its options. Help, and words that are wrong, raise SystemExit."""
    name = _command_in(words)
    if name is None:
        groups = (" ".join(words[:size]) for size in (2, 1) if len(words) >= size)
        group = next((each for each in groups if any(name.startswith(f"{each} ") for name in COMMANDS)), "")
        rest = words[len(group.split()) :]
        if words and words[0] in NOW and not (group and (" " in group or rest in ([], ["-h"], ["--help"]))):
            raise SystemExit(fail(f"halfulp {words[0]} is now: halfulp {NOW[words[0]]}"))
        if words and not group and (meant := _meant(words[0])):
            raise SystemExit(fail(f"halfulp has no command {words[0]!r}\nhint: write {meant}"))
        list_parser(group).parse_args(rest)
        raise SystemExit(fail("name the command first, and then its options"))
    if wrong := _wrong_setting():  # before the command is loaded, for its modules read the settings
        raise SystemExit(fail(wrong))
    rest = words[len(name.partition(" --")[0].split()) :]
    if " --" in name and rest[-1:] in (["-h"], ["--help"]):  # the option before it would take it for its value
        rest = rest[-1:]
    given = command_parser(name).parse_args(_negative_values(rest) if name in _OF_NUMBERS else rest)
    return name, taken(command_named(name).arguments, vars(given))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code. Write to stdout and stderr, never a traceback."""
    received: list[int] = []
    if argv is None:
        gc.set_threshold(_OBJECTS)
    try:
        with _ends_by_exception(received):
            name, arguments = parse(sys.argv[1:] if argv is None else argv)
            code: int = import_module(_EXECUTION).execute(command_named(name), arguments)
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
        return fail("this machine does not have enough memory for this command: give smaller inputs, or fewer")
    except OSError as error:
        _abandon_output()
        return fail(error.strerror or str(error))
    except Exception as error:
        if received:  # while a module was imported, which made another error of it
            return 128 + received[-1]
        if os.environ.get("HALFULP_DEBUG") == "1":
            raise
        what = " ".join(str(error).split())
        say(f"halfulp: internal error: {type(error).__name__}: {what}; please report it (HALFULP_DEBUG=1 shows where)")
        return INTERNAL_ERROR
    return code


@contextmanager
def _ends_by_exception(received: list[int]) -> Iterator[None]:
    """Record SIGINT and SIGTERM in ``received``, and raise SystemExit for SIGTERM, so that no temporary file and no
    started program is left. The second SIGTERM ends the process at once. A program that calls `main` keeps its own
    handlers of signals.
    """

    def again(ignored: sys.UnraisableHookArgs) -> None:
        """Send a signal again if Python ignored its exception, as in the callback of a weak reference."""
        if not received or not isinstance(ignored.exc_value, SystemExit | KeyboardInterrupt):
            hook(ignored)
            return
        signal.signal(received[-1], stop)
        # Unlike threading.Timer this does not wait for the thread to start: a signal that comes here meanwhile is lost.
        _thread.start_new_thread(send, ())

    def send() -> None:
        time.sleep(0.05)
        os.kill(os.getpid(), received[-1])

    def stop(number: int, frame: object) -> NoReturn:
        received.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise SystemExit(128 + number)

    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    here = threading.current_thread() is threading.main_thread()
    ours = [number for number, handler in usual.items() if here and signal.getsignal(number) == handler]
    hook = sys.unraisablehook
    try:
        if ours:
            sys.unraisablehook = again
        for number in ours:
            signal.signal(number, stop)
        yield
    finally:
        sys.unraisablehook = hook
        for number in ours:
            signal.signal(number, usual[number])


_OF_NUMBERS = ("explain", "explain dot")
"""The commands whose arguments are numbers."""


def _negative_values(words: Sequence[str]) -> list[str]:
    """Return the words so that argparse accepts ``explain -inf f32``: it takes -inf and -1e5 for options, unless there
    is a space in them.
    """
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
    """Stop using a stdout that cannot be written to. Otherwise Python would try to write its buffer once more when it
    ends, and fail again.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
