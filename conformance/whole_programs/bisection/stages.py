"""The stages of a compilation: the dumps that a tool prints, and the whole module after each pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.text.printer import print_module

_HEADER = re.compile(
    r"// -----// IR Dump (?P<when>After|Before) (?P<name>.+?)(?P<failed> Failed)?"
    r"(?: \((?P<argument>[^()\s]*)\))?(?: \('(?P<op>[^']*)' operation(?:: (?P<symbol>@.*?))?\))? //----- //[^\S\n]*\n?"
)
# What a tool says at its end, after the last dump: a diagnostic, the report of a crash.
_SAID = re.compile(
    r"^(?:\S+:\d+:\d+: (?:error|warning|note|remark): |PLEASE submit|Stack dump|[\w./-]+: (?:/|error: ))", re.MULTILINE
)
_FAILURE = re.compile(r"\berror: |^PLEASE submit|^Stack dump:")

MOST_BYTES = 1 << 30
"""The most bytes of dumps that are read."""


@dataclass(frozen=True)
class Dump:
    """What a tool printed after a pass.

    ``name``: the pass. ``argument``: its name on the command line, "" if it has none. ``op``: the kind of op that it
    ran on, "" if the dump does not say. ``text``: what it printed. ``failed``: the pass reported an error.
    """

    name: str
    argument: str
    op: str
    text: str
    failed: bool = False


@dataclass(frozen=True)
class Dumps:
    """The dumps of one compilation in order. ``said``: what the tool said after the last one."""

    passes: tuple[Dump, ...]
    said: str = ""

    @property
    def failure(self) -> str:
        """The line in which the tool said why it ended; "" if it ended well."""
        return next((line for line in self.said.splitlines() if _FAILURE.search(line)), "")


def read_dumps(text: str) -> Dumps:
    """Read the dumps of a text: what is before the first header does not count. Dumps before passes are left out."""
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)] * bool(headers)
    found, said = [], ""
    for header, end in zip(headers, ends, strict=True):
        body = text[header.end() : end]
        message, said = _SAID.search(body), ""
        if message is not None:
            body, said = body[: message.start()], body[message.start() :]
        if header["when"] == "After":
            name, _, given = header["name"].partition(": ")  # iree-compile writes NAME: ARGUMENT{OPTIONS}
            argument = header["argument"] or given.partition("{")[0]
            found.append(Dump(name, argument, header["op"] or "", body, header["failed"] is not None))
    return Dumps(tuple(found), said.strip())


def read_folder(folder: Path) -> Dumps:
    """Read the files that --mlir-print-ir-tree-dir made. Their names begin with a number for each nesting of passes.

    Raises InputError if there are none.
    """
    files = sorted((_numbers(path), str(path), path) for path in folder.rglob("*.mlir") if _numbers(path))
    if not files:
        raise InputError(f"{folder} has no dumps of passes, such as 0_canonicalize.mlir")
    return Dumps(tuple(dump for _, _, path in files for dump in _of_file(path)))


def _of_file(path: Path) -> Iterator[Dump]:
    text = read_text(path)
    dumps = read_dumps(text).passes
    argument = path.stem.lstrip("0123456789_")
    yield from dumps or (Dump(argument, argument, "", text),)


def _numbers(path: Path) -> tuple[int, ...]:
    """Return the numbers with which the name of a file begins: ``3_1_cse.mlir`` is after ``3_canonicalize.mlir``."""
    numbers = re.match(r"(?:\d+_)+", path.name)
    return () if numbers is None else tuple(map(int, numbers[0].rstrip("_").split("_")))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises InputError if it cannot be read, or is too large."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has more than {MOST_BYTES:,} bytes")
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


# --- stages -----------------------------------------------------------------------------------------------------------

MODULE = re.compile(r'^(?:builtin\.)?module\b|^"builtin\.module"', re.MULTILINE)
"""Finds the beginning of a whole module."""

ParseModule = Callable[[str, str], Module]
"""Parses the module of a text; the second argument is its name in messages. Raises HalfulpError."""


@dataclass(frozen=True)
class Stage:
    """The program after a pass.

    ``name``: the pass, or the file. ``argument``: the name of the pass on the command line, "" if it has none.
    ``text``: the whole program, or what could not be read. ``module``: the same, or the error of reading it. ``op``:
    the kind of op that the pass ran on, "" if it is not known.
    """

    name: str
    argument: str
    text: str
    module: Module | HalfulpError
    op: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.argument})" if self.argument and self.argument != self.name else self.name


@dataclass(frozen=True)
class Compilation:
    """The stages of a compilation in order, the program as it was first. ``end``: why they stop early, or ""."""

    stages: tuple[Stage, ...]
    end: str = ""


def of_pipeline(first: Stage, pipeline: PassPipeline) -> Compilation:
    """Run the passes on a program, in one process, and return it and the program after each.

    If a pass fails, the stages end before it. Raises PassFailure if mlir-opt cannot read the program or the pipeline.
    """
    printed, end = pipeline.dumped(first.text, first.name)
    dumps = read_dumps(printed)
    # A pass may say "error" and go on; how mlir-opt ended is known here.
    return of_dumps(dumps if end else replace(dumps, said=""), pipeline.read, first, end)


def of_dumps(dumps: Dumps, read: ParseModule, first: Stage | None = None, end: str = "") -> Compilation:
    """Return the stages that dumps show. ``first``: the program as it was; None if only the dumps are known."""
    stages = [] if first is None else [first]
    known = _LastModule(None if first is None or not isinstance(first.module, Module) else first.module)
    for number, dump in enumerate(dumps.passes):
        if dump.failed:
            end = end or f"{_named(dump)} failed"
            break
        stages.append(_stage(dump, f"<after {dump.argument or dump.name}, dump {number}>", read, known))
    return Compilation(tuple(stages), end or dumps.failure)


def _named(dump: Dump) -> str:
    return f"{dump.name} ({dump.argument})" if dump.argument else dump.name


def _stage(dump: Dump, name: str, read: ParseModule, known: _LastModule) -> Stage:
    text, module = dump.text, _read(read, dump.text, name)
    if isinstance(module, Module) and not module.body:
        module = InputError("the dump is empty")
    if isinstance(module, Module):
        text, module = known.whole(text, module)
    return Stage(dump.name, dump.argument, text, module, dump.op)


def _read(read: ParseModule, text: str, name: str) -> Module | HalfulpError:
    try:
        return read(text, name)
    except HalfulpError as error:
        return error


class _LastModule:
    """The last whole module of the dumps: a pass on functions prints these alone."""

    def __init__(self, module: Module | None) -> None:
        self._module = module

    def whole(self, text: str, printed: Module) -> tuple[str, Module]:
        """Return the whole module after a pass that printed this, as a text and read."""
        if self._module is not None and not MODULE.search(text):
            new = {place_of(op): op for op in printed.body}
            old = [new.pop(place_of(op), op) for op in self._module.body]
            printed = module_with([*old, *new.values()], printed)
            text = print_module(printed)
        self._module = printed
        return text, printed


def place_of(op: Operation) -> tuple[str, str]:
    """Return what stays the same when a pass makes a function of another dialect."""
    return op.name.rpartition(".")[2], op.symbol_name or ""
