"""External programs: find them on PATH or by an environment variable, ask their version, run them in bounded time."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from halfulp.conformance.oracles.mlir_child import AFTER
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.interp.bytecode.index import schema_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.base import FileLineCol, quoted
from halfulp.interp.ir.errors import HalfulpError, InputError, ParseError, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module, split_input
from halfulp.interp.text.printer import print_module, print_without_aliases

SECONDS = 120.0
"""Most seconds of one run of a tool, unless its oracle says otherwise."""

OUTPUT_BYTES = 1 << 28
"""Most bytes that one run of a tool may print."""


def run_bounded(
    command: Sequence[str], data: bytes, seconds: float, limit: int = OUTPUT_BYTES
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with ``data`` on standard input, and return its exit code and output. At its end, stop all
    processes that it started.

    Raises OracleError: "crash" if it does not start, "hang" after ``seconds``, with what it printed until then,
    "garbage" if it prints more than ``limit`` bytes.
    """
    name = os.path.basename(command[0])
    with tempfile.TemporaryFile(buffering=0) as given:
        left = memoryview(data)
        try:
            while left:
                left = left[given.write(left) :]
        except OSError as error:
            raise InputError(
                f"cannot write the input of {name} to a temporary file: {error.strerror}",
                hint="make room in the folder for temporary files, or name another one by TMPDIR",
            ) from None
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise OracleError("crash", f"{name} does not start: {error}") from None
    streams: dict[Any, list[bytes]] = {process.stdout: [], process.stderr: []}
    try:
        _read_streams(process, streams, time.monotonic() + seconds, limit)
    except TimeoutError:
        so_far = b"".join(streams[process.stderr]).decode("utf-8", "replace")
        raise OracleError("hang", f"{name} did not end in {seconds:g} s", said=so_far) from None
    except OverflowError:
        raise OracleError("garbage", f"{name} printed more than {limit} bytes") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    printed, said = (b"".join(chunks) for chunks in streams.values())
    return subprocess.CompletedProcess(command, process.returncode, printed, said)


def _read_streams(
    process: subprocess.Popen[bytes], streams: dict[Any, list[bytes]], deadline: float, limit: int
) -> None:
    """Read all of standard output and error until the process has ended. Raises TimeoutError and OverflowError."""
    total = 0
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ended = process.poll() is not None
            events = selector.select(0 if ended else min(left, 0.2))
            if ended and not events:  # processes that it left running may hold the streams open
                break
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                total += len(chunk)
                if total > limit:
                    raise OverflowError
                streams[key.fileobj].append(chunk)
    try:
        process.wait(max(deadline - time.monotonic(), 0.01))
    except subprocess.TimeoutExpired:  # it closed its streams but still runs
        raise TimeoutError from None


@dataclass(frozen=True)
class Tool:
    """A program that was found: its path, and the version it reports."""

    path: str
    version: str

    @property
    def name(self) -> str:
        """The name of the program, without its folder."""
        return os.path.basename(self.path)

    @property
    def schema(self) -> Schema:
        """The schema of MLIR that belongs to the version; the newest schema if the version has no number."""
        return schema_of(f"MLIR{self.version}") or max(Schema)

    @property
    def prints_generic(self) -> bool:
        """Whether it can print the generic form."""
        return True

    @property
    def prints_input(self) -> bool:
        """Tell whether it has the option --print-input of `mlir_child`."""
        return False

    def run(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> str:
        """Run the program with ``text`` on standard input and return its standard output.

        Raises OracleError as `finished` does, and "refusal" if the program exits with its own error (the message is its
        error text).
        """
        done = self.finished(arguments, text, seconds)
        if done.code:
            message = _first_line(done.said) or f"{self.name} ended with {done.code}"
            raise OracleError("refusal", message, said=done.said)
        return done.printed

    def finished(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> Finished:
        """Run the program with ``text`` on standard input until it ends by itself, and return what it printed.

        Raises OracleError: "hang" after ``seconds``, "crash" if a signal ended it, "garbage" if its output is not UTF-8
        or too long.
        """
        done = run_bounded([self.path, *arguments], text.encode("utf-8", "surrogateescape"), seconds)
        said = done.stderr.decode("utf-8", "replace").strip()
        # LLVM's own handlers print a stack dump and exit.
        if done.returncode < 0 or done.returncode > 128 or "Stack dump:" in said:
            message = f"{self.name} ended with {done.returncode}: {_first_line(said)}"
            raise OracleError("crash", message, _signal(done.returncode), said)
        try:
            return Finished(done.returncode, done.stdout.decode("utf-8"), said)
        except UnicodeDecodeError:
            raise OracleError("garbage", f"{self.name} printed bytes that are not UTF-8") from None


@cache
def _reads_dictionaries(tool: Tool) -> bool:
    """Tell whether an MLIR has the custom form of ops of TOSA that `print_module` prints. Two builds of one version may
    differ in this, so it is asked.
    """
    return tool.finished([], _OF_TOSA).code == 0


@dataclass(frozen=True)
class Finished:
    """The end of a program: its exit code, and its standard output and error."""

    code: int
    printed: str
    said: str


def _signal(code: int) -> int:
    """Return the signal that ended a program, from its exit code; 0 if there is none. A shell returns 128 + signal. A
    Python program that passes on the negative exit code of another program, as IREE's do, returns 256 - signal.
    """
    if code < 0:
        return -code
    return max(0, code - 128 if code <= 192 else 256 - code)


def _first_line(said: str) -> str:
    return next((line for line in said.splitlines() if "error" in line.lower()), said.partition("\n")[0])[:300]


def find_tool(program: str, variable: str | None, version: str, pattern: str = r"version (\d+(?:\.\d+)*)") -> Tool:
    """Find the program that ``variable`` names in the environment, or ``program`` on PATH, and check its version.

    ``version``: the required prefix of its version. ``pattern``: finds the version in the output of ``--version``.
    Raises Unavailable with the reason.
    """
    named = os.environ.get(variable) if variable else None
    wanted = named or program
    path = shutil.which(wanted)
    if path is None:
        where = f"{variable}: " if named else ""
        what = "is not a program that can be run" if os.path.dirname(wanted) else "is not on PATH"
        hint = f"; install it, or set {variable}" if variable and not named else ""
        raise Unavailable(f"{where}{wanted} {what}{hint}")
    try:
        said = Tool(path, "").run(["--version"], seconds=20)
    except OracleError as error:
        raise Unavailable(f"{path} --version: {error}") from None
    found = re.search(pattern, said)
    if found is None:
        raise Unavailable(f"{path} --version does not tell a version: {_first_line(said)!r}")
    if not found[1].startswith(version):
        raise Unavailable(f"{path} is version {found[1]}, but this oracle needs version {version}")
    return Tool(path, found[1])


# --- pass pipeline ----------------------------------------------------------------------------------------------------
#
# Run a pass pipeline with mlir-opt: any build of it, on one module or on many in one process.

MODULES = 256
"""The most modules in one process. A pass that crashes on one of them makes the others run again."""

_OPTIONS = ("--allow-unregistered-dialect",)
# One thread, since a pass on functions must not run while others are printed. What mlir-opt says goes to one stream.
_ONE_THREAD = ("--mlir-print-ir-module-scope", "--mlir-disable-threading")
_DUMPING = ("--mlir-print-ir-after-all", *_ONE_THREAD)
_DUMP = "// -----// IR Dump After "
HEADER = re.compile(
    r"// -----// IR Dump (?P<when>After|Before) (?P<name>[^\n]+?)(?P<failed> Failed)?"
    r"(?:: (?P<pass>[\w.-]+)(?:\{[^\n]*?\})?)?(?: \((?P<argument>[^()\s]*)\))?"
    r"(?: \('(?P<op>[^'\n]*)' operation(?:: (?P<symbol>@[^\n]*?))?\))? //----- //[^\S\n]*\n?"
)
"""The line before a dump of a pass. Newer tools write NAME: ARGUMENT{OPTIONS}, older ones NAME (ARGUMENT)."""
_OWN = "halfulp."
"""The beginning of the names of halfulp's ops."""
_TOSA = "tosa."
_OF_TOSA = """func.func private @f(%x: tensor<1xi8>) {
  %0 = tosa.reverse %x {axis = 0 : i32} : (tensor<1xi8>) -> tensor<1xi8>
  return
}"""
_MARKER = "\n// -----\n"
MLIR_VERSION = r"(?:LLVM|compiler) version (\S+)"
_DIAGNOSTIC = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)$", re.MULTILINE)
_OF_OP = re.compile(r"(?<=: )(?:'(?P<op>[\w.$-]+)' op |operand #\d+ does not dominate this use)")
_ERROR = re.compile(r"^.*(?:error|assertion)\b.*$", re.MULTILINE | re.IGNORECASE)
# Signals that end a program from outside: hang up, interrupt, kill (also by a lack of memory), terminate, CPU time.
_FROM_OUTSIDE = (1, 2, 9, 15, 24)
_FRAME = re.compile(r"^ *#\d+ 0x[0-9a-f]+ (mlir::.*) (?:\(/\S*\)|[\w.]+:\d+:\d+)$", re.MULTILINE)


class PassFailure(InputError):
    """An error of mlir-opt, or of the pass that it ran. If a pass crashes or makes an invalid op, this is a finding
    with exit code 1.

    ``kind``: "refusal" for an error that mlir-opt reports, "invalid" if a pass made an op that the verifier rejects,
    "crash", "hang" if it did not end in time, "garbage" if its output cannot be read. ``where``: the function of MLIR
    that crashed, or the pass and the op that it made, or "". ``guilty``: the pass, by its argument, that made the op,
    or that crashed on a program which mlir-opt itself reads and prints; "" for all other failures. ``run``: the number
    of its run that crashed, from 1: a pipeline may have a pass twice, and a pass may run on one function after the
    other; 0 if it is not known.
    """

    code = "pass"
    advice = (
        "Correct the program or the pipeline. If the message says that the pass crashed or made an invalid op, make "
        "the program smaller by halfulp reduce, and report it to the developers of MLIR."
    )

    def __init__(
        self, message: str, *, kind: str = "refusal", where: str = "", guilty: str = "", run: int = 0, **more: Any
    ) -> None:
        super().__init__(message, **more)
        self.kind = kind
        self.where = where
        self.guilty = guilty
        self.run = run
        if guilty:
            self.exit_code = 1


_NOT_READ = PassFailure("the program does not read it")


def argument_of(header: re.Match[str]) -> str:
    """Return the command-line name of the pass in a `HEADER` line of a dump; "" if there is none."""
    return header["pass"] or header["argument"] or ""


def pass_run(name: str, run: int) -> str:
    """Return a text that names a pass, and the number of its run if that is not the first."""
    return f"the pass {name}" if run < 2 else f"the pass {name}, run {run} of it"


@dataclass(frozen=True)
class PassPipeline:
    """A pass pipeline of an mlir-opt. ``seconds``: the time limit of one process.

    ``in_generic_form``: the program is given modules in the generic form, and prints them so, which all versions of
    MLIR read alike. What `apply` and `taken` return has the custom form of MLIR 22, if halfulp can read it.
    """

    tool: Tool
    pipeline: str
    seconds: float = SECONDS
    in_generic_form: bool = False

    @property
    def version(self) -> str:
        """The name and the version of the program: ``mlir-opt-22 22.1.8``."""
        return f"{self.tool.name} {self.tool.version}"

    @property
    def command(self) -> str:
        """The command that people type to run the pipeline, without the file."""
        return f"{self.tool.name} --pass-pipeline={shlex.quote(self.pipeline)}"

    @property
    def passes(self) -> frozenset[str]:
        """The names of the passes. All words of the pipeline are among them, since an option of a pass may name another
        pass.
        """
        return frozenset(re.findall(r"[\w-]+", self.pipeline))

    @property
    def _option(self) -> str:
        return f"--pass-pipeline={self.pipeline}"

    def apply(self, text: str, name: str = "<stdin>") -> str:
        """Return a module after the passes. ``name``: the file of the module in messages. Raise PassFailure."""
        given = self.given(text)
        try:
            return self.taken(self._run([*self._form, self._option], given, name))
        except PassFailure as failure:
            raise self._blamed(failure, given, name) from None

    def apply_all(self, texts: Sequence[str]) -> list[str | PassFailure]:
        """Return for each module its text after the passes, as the program prints it, or the failure. Few processes
        run, unless passes fail.

        ``texts``: the modules as `given` returns them. `read` and `taken` take the results.
        """
        found = self._in_parts(texts, [self._option])
        if len(found) == 1 and isinstance(found[0], PassFailure):
            found = [self._with_pass(found[0], texts[0])]
        return found

    def both(self, texts: Sequence[str]) -> list[tuple[str | PassFailure, str | PassFailure]]:
        """Return each module as the program prints it before the passes, and after them, or why there is none: as
        `apply_all` does.
        """
        if not self.tool.prints_input or len(texts) == 1:
            return list(zip(self._in_parts(texts, []), self.apply_all(texts), strict=True))
        every = [*_OPTIONS, *self._form, "--split-input-file", "--print-input", self._option]
        try:
            printed = self.tool.finished(every, _MARKER.join(texts), self.seconds).printed
            results = [part.text.partition(AFTER) for part in split_input(printed)]
        except OracleError:
            results = []
        if len(results) != len(texts):
            half = len(texts) // 2
            return self.both(texts[:half]) + self.both(texts[half:])
        return [
            (_trimmed(before), _trimmed(after) if after.strip() else self._alone(text, [self._option]))
            if before.strip()
            else (_NOT_READ, _NOT_READ)
            for text, (before, _, after) in zip(texts, results, strict=True)
        ]

    def unchanged(self, texts: Sequence[str], results: Sequence[str | PassFailure]) -> list[bool]:
        """Tell for each module whether the passes left it as it was. Constants that were moved, joined or removed do
        not count. ``texts``, ``results``: the arguments and the results of `apply_all`.
        """
        printed: Sequence[str | PassFailure] = self._in_parts(texts, []) if self.in_generic_form else texts
        return [
            isinstance(before, str) and isinstance(after, str) and (before == after or _is_alike(before, after))
            for before, after in zip(printed, results, strict=True)
        ]

    def dumped(self, text: str, name: str = "<stdin>") -> tuple[str, PassFailure | None]:
        """Run the passes on a module. Return what mlir-opt printed after each pass, and the failure if it stopped
        early, else None.

        Raises PassFailure if not even the first pass ended, unless it crashed.
        """
        options, text = [*_OPTIONS, *_DUMPING, self._option], self.given(text)
        try:
            done = self.tool.finished(options, text, self.seconds)
            code, said, failure = done.code, done.said, None
        except OracleError as error:
            code, said, failure = 1, error.said, self._with_pass(self._failure(error, name), text)
        if code and failure is None:
            failure = self._failure(OracleError("refusal", said.partition("\n")[0], said=said), name)
        if failure is not None and _DUMP not in said and not failure.guilty:
            raise failure
        return said, None if failure is None else self._of_invalid(failure, said)

    def blamed(self, failure: PassFailure, program: str | Module) -> PassFailure:
        """Return the failure of one of many modules with the name of the pass that crashed, if one did; `apply_all`
        does not name it.
        """
        return self._with_pass(failure, self.given(program))

    def _blamed(self, failure: PassFailure, text: str, name: str) -> PassFailure:
        """Return the failure that names the pass, if one crashed or made an op that the verifier rejects."""
        if failure.kind == "crash":
            return self._with_pass(failure, text)
        if failure.kind != "refusal" or _OF_OP.search(failure.message) is None:
            return failure
        try:
            return self.dumped(text, name)[1] or failure
        except HalfulpError:
            return failure

    def _of_invalid(self, failure: PassFailure, said: str) -> PassFailure:
        """Return the failure that names the pass, if mlir-opt cannot read the dump of that pass, and this is the reason
        of the failure.
        """
        failed = next((header for header in HEADER.finditer(said) if header["failed"]), None)
        rejected = _OF_OP.search(failure.message)
        if failure.kind != "refusal" or failed is None or rejected is None:
            return failure
        try:
            self._run([], said[failed.end() :], "<stdin>")
        except PassFailure as error:
            # A text in which an op comes before its operand is refused with another message.
            if error.kind == "refusal" and (error.message == failure.message or rejected["op"] is None):
                name, what = argument_of(failed) or failed["name"], failure.message[rejected.start() :]
                notes = [] if failure.location is None else [(failure.location, "the pass put it in place of this op")]
                message = f"{self.version}: the pass {name} made an invalid op: {what}"
                where = f"{name}: {rejected['op'] or 'an operand'}"
                return PassFailure(message, kind="invalid", where=where, guilty=name, notes=notes)
        return failure

    def read(self, text: str, name: str, placed: bool = False) -> Module:
        """Parse and verify a module. If its text has a custom form that halfulp does not know, mlir-opt converts it to
        the generic form. ``placed``: ops keep their places in the text there. Raise HalfulpError.
        """
        try:
            return parse_module(text, name, exact_decimals=True)
        except (ParseError, Unsupported):
            return parse_module(self.generic(text, name, placed), name, exact_decimals=True)

    def generic(self, text: str, name: str = "<stdin>", placed: bool = False) -> str:
        """Return a module in the generic form. No pass runs. ``placed``: with locations in the file ``name``.

        Raise PassFailure.
        """
        printed = self._run(["--mlir-print-op-generic", *["--mlir-print-debuginfo"] * placed], text, name)
        return printed.replace('loc("<stdin>"', f"loc({quoted(name)}") if placed else printed

    @property
    def _form(self) -> tuple[str, ...]:
        return ("--mlir-print-op-generic",) * self.in_generic_form

    def given(self, program: str | Module) -> str:
        """Return the text of a module as the program can read it. The program knows no op of halfulp's dialect, but
        keeps such an op in generic form. An MLIR that writes ops of TOSA with clauses gets them in generic form, too.
        Locations are written as places in the text. Raises Unsupported for what the program cannot read.
        """
        if self.in_generic_form:
            module = program if isinstance(program, Module) else parse_module(program)
            return print_without_aliases(module)
        text = program if isinstance(program, str) else print_module(program, schema=Schema.MLIR22)
        clauses = _TOSA in text and not _reads_dictionaries(self.tool)
        if _OWN not in text and not clauses:
            return text
        try:
            module = parse_module(text, "<stdin>")
        except HalfulpError:  # the program says what is wrong
            return text
        carried = (_OWN, _TOSA) if clauses else _OWN
        needed = any(op.name.startswith(carried) for op in module.walk())
        return print_module(module, generic=True, debug_info=True) if needed else text

    def taken(self, text: str) -> str:
        """Return the text of a module that the program printed, in the form that people get."""
        if not self.in_generic_form:
            return text
        try:
            return print_module(parse_module(text, exact_decimals=True), schema=Schema.MLIR22)
        except HalfulpError:
            return text

    def _in_parts(self, texts: Sequence[str], options: Sequence[str]) -> list[str | PassFailure]:
        """Run the program with the options on some modules at a time."""
        found: list[str | PassFailure] = []
        for start in range(0, len(texts), MODULES):
            found += self._together(texts[start : start + MODULES], options)
        return found

    def _together(self, texts: Sequence[str], options: Sequence[str]) -> list[str | PassFailure]:
        if len(texts) == 1:
            return [self._alone(texts[0], options)]
        every = [*_OPTIONS, *self._form, "--split-input-file", *options]
        try:
            printed = self.tool.finished(every, _MARKER.join(texts), self.seconds).printed
            results = [part.text for part in split_input(printed)]
        except OracleError:
            results = []
        if len(results) != len(texts):
            half = len(texts) // 2
            return self._together(texts[:half], options) + self._together(texts[half:], options)
        # A module that fails prints nothing: the message of mlir-opt is that of a process of its own.
        return [
            _trimmed(result) if result.strip() else self._alone(text, options)
            for text, result in zip(texts, results, strict=True)
        ]

    def _alone(self, text: str, options: Sequence[str]) -> str | PassFailure:
        try:
            return self._run([*self._form, *options], text, "<stdin>")
        except PassFailure as failure:
            # Of many crashes, as those of a reduction, none needs the name of its pass.
            return failure if failure.kind == "crash" else self._blamed(failure, text, "<stdin>")

    def _run(self, options: Sequence[str], text: str, name: str) -> str:
        try:
            printed = self.tool.run([*_OPTIONS, *options], text, self.seconds)
        except OracleError as error:
            raise self._failure(error, name) from None
        if not printed.strip():
            raise PassFailure(f"{self.version} printed no module", kind="garbage")
        return _trimmed(printed)

    def _with_pass(self, failure: PassFailure, text: str) -> PassFailure:
        """Name in a crash the pass that ran: the passes run once more, and print the module before each. No pass is
        named if a signal came from outside, or if mlir-opt crashes on the program without passes, too.
        """
        if failure.kind != "crash" or failure.guilty:
            return failure
        try:
            self.tool.finished(
                [*_OPTIONS, "--mlir-print-ir-before-all", *_ONE_THREAD, self._option], text, self.seconds
            )
        except OracleError as error:
            headers = [header for header in HEADER.finditer(error.said) if header["when"] == "Before"]
            begun = [found for header in headers if (found := argument_of(header))]
            if begun and error.signal not in _FROM_OUTSIDE and self._reads(text):
                guilty, run = begun[-1], begun.count(begun[-1])
                message = f"{failure.message}, in {pass_run(guilty, run)}"
                return PassFailure(message, kind="crash", where=failure.where, guilty=guilty, run=run)
        return failure

    def _reads(self, text: str) -> bool:
        """Tell whether mlir-opt reads, verifies and prints a program where no pass runs."""
        try:
            self._run(self._form, text, "<stdin>")
        except PassFailure:
            return False
        return True

    def _failure(self, error: OracleError, name: str) -> PassFailure:
        if error.kind == "crash":
            frame, said = _FRAME.search(error.said), _ERROR.search(error.said)
            where = frame[1] if frame else ""
            why = f": {said[0].strip()}" if said else f" in {where}" if where else ""
            by = f" (signal {error.signal})" if error.signal else ""
            return PassFailure(f"{self.version} crashed{by}{why}", kind="crash", where=where)
        placed = _DIAGNOSTIC.search(error.said)
        if placed is not None:
            place = FileLineCol(name, int(placed[1]), int(placed[2]))
            return PassFailure(f"{self.version}: {placed[3]}", location=place)
        return PassFailure(f"{self.version}: {str(error).partition(': ')[2]}", kind=error.kind)


def _trimmed(printed: str) -> str:
    """Return a module without the empty lines around it."""
    return printed.strip("\n") + "\n"


_FUNCTION = re.compile(r'^(?= *"?func\.func\b)', re.MULTILINE)
_CONSTANT = re.compile(r'^ *(%[\w$.-]+) = "?arith\.constant"?(.*)\n', re.MULTILINE)
_NAME = re.compile(r"%[\w$.-]+")


def _is_alike(before: str, after: str) -> bool:
    """Tell whether two texts of a module differ at most in the places and the number of constants."""
    one = _with_constants_inside(before)
    return one is not None and one == _with_constants_inside(after)


def _with_constants_inside(text: str) -> str | None:
    """Return a module with each constant in place of its uses, and values numbered by their first place; None if two
    constants of a function have one name.
    """
    parts = []
    for part in _FUNCTION.split(text):
        names = dict(_CONSTANT.findall(part))
        body, count = _CONSTANT.subn("", part)
        if len(names) != count:
            return None
        for name in _NAME.findall(body):
            names.setdefault(name, f"%{len(names) - count}")
        parts.append(_NAME.sub(partial(_named, names), body))
    return "".join(parts)


def _named(names: dict[str, str], found: re.Match[str]) -> str:
    return names[found[0]]
