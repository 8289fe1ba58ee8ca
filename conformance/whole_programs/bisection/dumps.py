"""Read what mlir-opt and iree-compile print with --mlir-print-ir-after-all, as one text or as a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from halfulp.interp.ir.errors import InputError

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
