"""``halfulp inspect``: show what is in a bytecode file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from halfulp.command.console import SUCCESS, write
from halfulp.command.options.inspect import InspectArguments
from halfulp.command.sources import Sources, read, report
from halfulp.interp.bytecode.inspect import Summary, inspect
from halfulp.interp.ir.base import quoted
from halfulp.interp.ir.errors import BytecodeError


def execute(arguments: InspectArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    program = read(arguments.file, sources)
    if program.text is not None:
        hint = "halfulp translate --emit-bytecode makes it bytecode" if program.text.strip() else None
        raise BytecodeError(
            "not MLIR bytecode: it does not begin with 4D 4C EF 52", offset=0, filename=program.name, hint=hint
        )
    summary = inspect(program.data, program.name)
    if arguments.json:
        write(json.dumps(summary.as_json(), indent=2) + "\n")
    else:
        _show(summary)
    return SUCCESS if summary.problem is None else report(summary.problem, sources)


_WIDTH = 120  # of a table that does not go to a terminal


def _show(summary: Summary) -> None:
    """Print the contents of a file."""
    schema = "unknown" if summary.schema is None else summary.schema.name
    head = f"MLIR bytecode, version {summary.version}, {summary.size:,} bytes\n"
    write(f"{head}producer {quoted(summary.producer)}, schema {schema}\n")
    write(f"{summary.strings:,} strings of {summary.string_bytes:,} bytes\n")
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _WIDTH, file=sys.stdout)
    for title, names, rows in _tables(summary):
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, title_style="bold")
        for index, name in enumerate(names):
            table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=index > 0)
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        with console.capture() as capture:
            console.print(table)
        write("\n".join(line.rstrip() for line in capture.get().split("\n")))


_NUMBERS = frozenset(("offset", "bytes", "op names", "attributes", "types", "as text", "count", "alignment"))


def _tables(summary: Summary) -> Iterable[tuple[str, Sequence[str], list[tuple[str, ...]]]]:
    """Yield the tables that have rows: title, columns, cells."""
    yield (
        "sections",
        ("section", "offset", "bytes"),
        [(name, f"{offset:,}", f"{size:,}") for name, offset, size in summary.sections],
    )
    if summary.dialects:
        yield (
            "dialects",
            ("dialect", "op names", "attributes", "types", "as text", "version"),
            [
                (_shown(d.name), f"{d.ops:,}", f"{d.attributes:,}", f"{d.types:,}", f"{d.as_text:,}", d.version or "-")
                for d in summary.dialects
            ],
        )
    if summary.ops:
        yield "ops", ("op", "count"), [(_shown(name), f"{count:,}") for name, count in summary.ops.most_common()]
    if summary.resources:
        yield (
            "resources",
            ("key", "of", "kind", "bytes", "alignment"),
            [
                (
                    _shown(entry.key),
                    f"{_shown(entry.group)}{' (external)' if entry.external else ''}",
                    entry.kind,
                    "" if entry.size is None else f"{entry.size:,}",
                    "" if entry.alignment is None else str(entry.alignment),
                )
                for entry in summary.resources
            ],
        )


def _shown(name: str) -> str:
    """Return a name as it may be shown: quoted where it holds anything but plain characters."""
    return name if name.isascii() and name.isprintable() and name else quoted(name)
