"""``halfulp translate``: read and verify MLIR, and print it as text or bytecode."""

from __future__ import annotations

import sys

from halfulp.command.console import fail, worst, write
from halfulp.command.diagnostics import DiagnosticsChecker
from halfulp.command.options.translate import TranslateArguments
from halfulp.command.sources import Sources, read, report
from halfulp.inputs import write_file
from halfulp.interp.bytecode.encoding import MAX_VERSION
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import print_module

SPLIT_MARKER = "// -----\n"
_SCHEMAS = {"mlir22": Schema.MLIR22, "newer": Schema.LLVM24, "llvm24": Schema.LLVM24}


def execute(arguments: TranslateArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    schema = None if arguments.schema is None else _SCHEMAS[arguments.schema]
    version = arguments.emit_bytecode_version
    for option, given in (("version", version), ("producer", arguments.emit_bytecode_producer)):
        if given is not None and not arguments.emit_bytecode:
            return fail(f"--emit-bytecode-{option} goes with --emit-bytecode")
    if arguments.emit_bytecode and arguments.output is None and sys.stdout.isatty():
        return fail("bytecode is not written to a terminal: name a file with -o")
    program = read(arguments.file, sources)
    if program.text is None and arguments.verify_diagnostics:
        return fail("--verify-diagnostics needs text: bytecode has no comments")
    checker = DiagnosticsChecker(program.text or "", program.name) if arguments.verify_diagnostics else None
    parts = program.parts(arguments.split_input_file)
    if arguments.emit_bytecode and len(parts) > 1:
        return fail(f"a bytecode file holds one module, but the file has {len(parts)} parts")
    printed, codes = [], []
    for part in parts:
        try:
            module = program.module(part, arguments.allow_unregistered_dialect)
            if arguments.emit_bytecode:
                printed.append(_bytecode(module, version, schema or Schema.MLIR22, arguments.emit_bytecode_producer))
                continue
            # mlir-opt ends every module with an empty line.
            form = print_module(module, generic=arguments.generic, debug_info=arguments.debug_info, schema=schema)
            printed.append(form.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n\n")
        except HalfulpError as error:
            printed.append(b"")
            failures = [error] if checker is None else checker.unexpected(error)
            codes += [report(failure, sources) for failure in failures]
    if checker is not None:
        codes += [report(failure, sources) for failure in checker.unmet()]
    if arguments.output is not None and codes:
        return worst(codes)
    _write_translated(SPLIT_MARKER.encode().join(printed), arguments)
    return worst(codes)


def _bytecode(module: Module, version: int | None, schema: Schema, producer: str | None) -> bytes:
    return write_bytecode(module, MAX_VERSION if version is None else version, schema, producer)


def _write_translated(output: bytes, arguments: TranslateArguments) -> None:
    if arguments.output is not None:
        write_file(arguments.output, output)
    elif arguments.emit_bytecode:
        sys.stdout.buffer.write(output)
    else:
        write(output.decode("utf-8", "surrogateescape"))
