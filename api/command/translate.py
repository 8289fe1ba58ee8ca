"""``halfulp translate``: read and verify MLIR, and print it as text, as bytecode or as a summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from halfulp.command.calls import SOURCE_FILE, DiagnosticsOption
from halfulp.command.console import SUCCESS, fail, put, worst, write
from halfulp.command.execution import DiagnosticsChecker, Sources, error_record, read, report
from halfulp.command.option import Command
from halfulp.described import argument, choice, flag, option
from halfulp.inputs import write_file
from halfulp.interp.bytecode.encoding import MAX_VERSION
from halfulp.interp.bytecode.inspect import Summary, inspect
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.base import quoted
from halfulp.interp.ir.errors import BytecodeError, HalfulpError, VerifyError
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import print_module
from halfulp.loading import write_portable


@dataclass(frozen=True, kw_only=True)
class TranslateArguments(DiagnosticsOption):
    """The options of ``halfulp translate``."""

    file: str = argument("FILE", SOURCE_FILE)
    output: str | None = option("FILE", "write to this file instead of stdout", name="-o")
    generic: bool = flag("print the generic form", name="--mlir-print-op-generic --generic")
    debug_info: bool = flag("print locations", name="--mlir-print-debuginfo --debug-info")
    split_input_file: bool = flag("read each part of the file separately; lines '// -----' divide parts")
    allow_unregistered_dialect: bool = flag("accept ops that halfulp does not know")
    emit_bytecode: bool = flag("write bytecode; for MLIR 22, the same bytes as mlir-opt")
    emit_bytecode_version: int | None = option(
        "N",
        "the version of the format, 0 to 6 (default: 6); every MLIR since 17 can read version 4",
        type=int,
        choices=range(7),
    )
    emit_bytecode_producer: str | None = option(
        "NAME", "the name in the file (default: by the schema, as MLIR22-halfulp)"
    )
    emit_portable: str | None = option(
        "VERSION", "write a module of StableHLO as a portable artifact of this version of StableHLO, such as 1.9.0"
    )
    schema: Literal["mlir22", "llvm24", "newer"] | None = choice(
        ("mlir22", "llvm24", "newer"),
        "the MLIR to write for. mlir22: refuse everything that only newer MLIR has. llvm24 or newer: use the "
        "newer layout of bytecode, and do not pack i1 in blobs of text. Default for bytecode: mlir22; for text: "
        "MLIR 22's spelling, but nothing is refused",
    )
    tosa_target: str | None = option(
        "WORDS",
        "reject ops of TOSA that a target does not have, with the words of tosa-validate. WORDS, divided by commas: "
        "1.0 or 1.1.draft, 8k or none (the level), pro_int, pro_fp, extensions such as bf16; strict; module for "
        "the attribute tosa.target_env. Default: 1.0,8k,pro_int,pro_fp",
    )
    json: bool = flag("print one JSON object: the text of each module, or its error; with -o, the name of the file")
    verify_diagnostics: bool = flag(
        "compare the errors with the comments // expected-error {{...}} in the file, as mlir-opt does; exit with "
        "2 if they differ"
    )


SPLIT_MARKER = "// -----\n"
_SCHEMAS = {"mlir22": Schema.MLIR22, "newer": Schema.LLVM24, "llvm24": Schema.LLVM24}


def translate_file(arguments: TranslateArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    schema = None if arguments.schema is None else _SCHEMAS[arguments.schema]
    version = arguments.emit_bytecode_version
    for name, given in (("version", version), ("producer", arguments.emit_bytecode_producer)):
        if given is not None and not arguments.emit_bytecode:
            return fail(f"--emit-bytecode-{name} can be used only with --emit-bytecode")
    binary = arguments.emit_bytecode or arguments.emit_portable is not None
    if arguments.emit_bytecode and arguments.emit_portable is not None:
        return fail("--emit-bytecode and --emit-portable cannot be used together")
    if binary and arguments.output is None and arguments.json:
        return fail("--json has no place for bytecode: name a file with -o")
    if binary and arguments.output is None and sys.stdout.isatty():
        return fail("bytecode is not written to a terminal: name a file with -o")
    program = read(arguments.file, sources)
    if program.text is None and arguments.verify_diagnostics:
        return fail("--verify-diagnostics needs text: bytecode has no comments")
    checker = DiagnosticsChecker(program.text or "", program.name) if arguments.verify_diagnostics else None
    parts = program.parts(arguments.split_input_file)
    if binary and len(parts) > 1:
        return fail(f"a bytecode file holds one module, but the file has {len(parts)} parts")
    printed: list[bytes] = []
    codes: list[int] = []
    modules: list[dict[str, Any]] = []

    def failed(errors: Sequence[HalfulpError]) -> None:
        printed.append(b"")
        failures = [each for error in errors for each in ([error] if checker is None else checker.unexpected(error))]
        codes.extend(report(failure, sources) for failure in failures)
        modules[-1]["errors"] = list(map(error_record, failures))

    for part in parts:
        place = program.name if part is None else f"{program.name}:{part.start[0]}"
        modules.append({"place": place, "text": None, "errors": []})
        try:
            module = program.module(part, arguments.allow_unregistered_dialect)
            if arguments.tosa_target is not None and (found := _problems(module, arguments.tosa_target)):
                failed(found)
                continue
            if arguments.emit_portable is not None:
                printed.append(write_portable(module, arguments.emit_portable))
                continue
            if arguments.emit_bytecode:
                printed.append(_bytecode(module, version, schema or Schema.MLIR22, arguments.emit_bytecode_producer))
                continue
            # mlir-opt ends every module with an empty line.
            form = print_module(module, generic=arguments.generic, debug_info=arguments.debug_info, schema=schema)
            printed.append(form.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n\n")
            modules[-1]["text"] = form if arguments.output is None else None
        except HalfulpError as error:
            failed([error])
    unmet = [] if checker is None else list(checker.unmet())
    codes += [report(failure, sources) for failure in unmet]
    written = arguments.output is None or not codes
    if written and not (arguments.json and arguments.output is None):
        _write_translated(SPLIT_MARKER.encode().join(printed), arguments)
    if arguments.json:
        put(
            {
                "modules": modules,
                "errors": list(map(error_record, unmet)),
                "file": arguments.output if written else None,
            }
        )
    return worst(codes)


TRANSLATE = Command(
    TranslateArguments,
    translate_file,
    "Read and verify MLIR text or bytecode. Print it as text, or with --emit-bytecode as bytecode.",
)


def _problems(module: Module, target: str) -> list[VerifyError]:
    """Return the errors of a module for a target of TOSA."""
    from halfulp.interp.dialects.tosa.validation import problems, target_named

    return list(problems(module, target_named(target, module)))


def _bytecode(module: Module, version: int | None, schema: Schema, producer: str | None) -> bytes:
    return write_bytecode(module, MAX_VERSION if version is None else version, schema, producer)


def _write_translated(output: bytes, arguments: TranslateArguments) -> None:
    if arguments.output is not None:
        write_file(arguments.output, output)
    elif arguments.emit_bytecode or arguments.emit_portable is not None:
        sys.stdout.buffer.write(output)
    else:
        write(output.decode("utf-8", "surrogateescape"))


# --- inspect ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class InspectArguments:
    """The options of ``halfulp translate --summary``."""

    summary: bool = flag("show what is in a bytecode file")
    file: str = argument("FILE", "MLIR bytecode, or - for the standard input")
    json: bool = flag("print one JSON object")


def summarize_bytecode(arguments: InspectArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    program = read(arguments.file, sources)
    if program.text is not None:
        hint = (
            "the file is text: halfulp translate --emit-bytecode converts it to bytecode"
            if program.text.strip()
            else None
        )
        raise BytecodeError(
            "not MLIR bytecode: it does not begin with 4D 4C EF 52", offset=0, filename=program.name, hint=hint
        )
    summary = inspect(program.data, program.name)
    if arguments.json:
        write(json.dumps(summary.as_json(), indent=2) + "\n")
    else:
        _write_summary(summary)
    return SUCCESS if summary.problem is None else report(summary.problem, sources)


INSPECT = Command(
    InspectArguments,
    summarize_bytecode,
    "Show the sections, dialects, ops, strings and resources of an MLIR bytecode file, with sizes.",
)


_WIDTH = 120  # of a table that does not go to a terminal


def _write_summary(summary: Summary) -> None:
    """Print the contents of a file."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    schema = "unknown" if summary.schema is None else summary.schema.name
    head = f"MLIR bytecode, version {summary.version}, {summary.size:,} bytes\n"
    write(f"{head}producer {quoted(summary.producer)}, schema {schema}\n")
    write(f"{summary.strings:,} strings of {summary.string_bytes:,} bytes\n")
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _WIDTH, file=sys.stdout, color_system=None)
    for title, names, rows in _tables(summary):
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
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
                (_cell(d.name), f"{d.ops:,}", f"{d.attributes:,}", f"{d.types:,}", f"{d.as_text:,}", d.version or "-")
                for d in summary.dialects
            ],
        )
    if summary.ops:
        yield "ops", ("op", "count"), [(_cell(name), f"{count:,}") for name, count in summary.ops.most_common()]
    if summary.resources:
        yield (
            "resources",
            ("key", "of", "kind", "bytes", "alignment"),
            [
                (
                    _cell(entry.key),
                    f"{_cell(entry.group)}{' (external)' if entry.external else ''}",
                    entry.kind,
                    "" if entry.size is None else f"{entry.size:,}",
                    "" if entry.alignment is None else str(entry.alignment),
                )
                for entry in summary.resources
            ],
        )


def _cell(name: str) -> str:
    """Return a name for a table: quoted if it has other than plain characters."""
    return name if name.isascii() and name.isprintable() and name else quoted(name)
