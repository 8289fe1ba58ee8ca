"""Load modules: read text or bytecode, then verify."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import Registry
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir.base import file_position
from halfulp.interp.ir.errors import HalfulpError, TypeMismatch, UnknownOp
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.parser import Parser, parse_unverified
from halfulp.interp.verifier import verify as verify_module

# --- split input ------------------------------------------------------------------------------------------------------
#
# The parts of a text that holds several modules.


class InputPart(NamedTuple):
    """A part of a file, and the line and column (in bytes) of its beginning."""

    text: str
    start: tuple[int, int] = (1, 1)


def split_input(text: str) -> Iterator[InputPart]:
    """Split a text at the markers ``// -----`` as mlir-opt does. A marker may stand anywhere in a line, and the rest of
    the line belongs to the next part. A marker before a zero character, or at the end of the text, is ignored.
    """
    begin, line, column = 0, 1, 1
    for marker in re.finditer(r"// -----(?=[^0])", text):
        yield InputPart(text[begin : marker.start()], (line, column))
        passed = text[begin : marker.end()]
        newlines = passed.count("\n")
        last = len(passed[passed.rfind("\n") + 1 :].encode("utf-8", "replace"))
        line, column = line + newlines, last + (1 if newlines else column)
        begin = marker.end()
    yield InputPart(text[begin:], (line, column))


# --- loading ---------------------------------------------------------------------------------------------------------


def parse_module(
    text: str | bytes,
    filename: str = "<string>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    verify: bool = True,
    schema: Schema = Schema.MLIR22,
    start: tuple[int, int] = (1, 1),
    skip_unknown: bool = False,
    exact_decimals: bool = False,
) -> Module:
    """Read the text of an MLIR file. An implicit module is added if the text has no top-level operation, or several.

    ``allow_unregistered``: keep operations, types and attributes of dialects that ``registry`` does not have.
    ``verify``: check the rules of the language and of the ops.
    ``schema``: the version of MLIR, which determines only the layout of i1 data in hexadecimal blobs.
    ``start``: the line and column at which the text begins in its file.
    ``skip_unknown``: skip functions with ops of unknown syntax, and such ops at the top level
    (`halfulp.interp.text.skipping`).
    ``exact_decimals``: a tool printed the text, whose parser would round its decimals to f64 first: f80 and f128 have
    the numbers that the tool had.

    Raises ParseError and VerifyError, and TypeMismatch if the argument is not text.
    """
    if not isinstance(text, str | bytes):
        raise TypeMismatch(f"expected MLIR text, not {type(text).__name__}", hint="hu.load reads a file or bytes")
    kind = Parser
    if skip_unknown:
        from halfulp.interp.text.skipping import SkippingParser as kind
    with PausedCollector():
        module = parse_unverified(text, filename, allow_unregistered, registry, schema, start, kind, exact_decimals)
        if verify:
            verify_module(module)
        return module


def parse_without(unknown: UnknownOp, text: str, filename: str = "<string>", start: tuple[int, int] = (1, 1)) -> Module:
    """Read a file of MLIR text without the parts that have ops of an unknown form, so that one of its functions can
    run.

    ``unknown``: the error that `parse_module` raised. It is raised again if no function is left, or if the rest is
    wrong too.
    """
    from halfulp.interp.text.skipping import has_function

    try:
        module = parse_module(text, filename, start=start, skip_unknown=True)
    except HalfulpError as error:
        unknown.notes += ((error.location, f"the rest of the file has an error too: {error.message}"),)
        raise unknown from None
    if not has_function(module):
        raise unknown
    return module


def read_bytecode(
    data: bytes | memoryview,
    filename: str = "<bytecode>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    verify: bool = True,
    schema: Schema | None = None,
    skip_unknown: bool = False,
) -> Module:
    """Read a file of MLIR bytecode, versions 0 to 6.

    ``schema``: the version of MLIR whose ops and codes it uses; None for the version that its producer names; if it
    names none, the first version that fits the whole file.
    ``allow_unregistered``: keep ops of dialects that ``registry`` does not have.
    ``verify``: check the rules of the language and of the ops.
    ``skip_unknown``: skip the properties of ops whose layout is not known. Resources are views of ``data``.

    Raises BytecodeError with an offset, and VerifyError.
    """
    from halfulp.interp.bytecode.reader import read_unverified

    with PausedCollector():
        module = read_unverified(data, filename, allow_unregistered, registry, schema, skip_unknown)
        if verify:
            _verify_read(module, filename)
        return module


def _verify_read(module: Module, filename: str) -> None:
    """Verify a module that was read from bytecode. An error names the file; it names a place only if the file has one
    for the op.
    """
    try:
        verify_module(module)
    except HalfulpError as error:
        if error.location is None or file_position(error.location) is None:
            error.location = None
        error.notes += ((None, f"the module was read from {filename}"),)
        raise
