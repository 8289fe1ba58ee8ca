"""Lower a program to linalg by IREE's compiler, and read the result."""

from __future__ import annotations

import re
from functools import cache

from halfulp.conformance.oracles import iree
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.iree_dumps.hosts import unwrap
from halfulp.importing.packages import INSTALL
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.literals import quoted
from halfulp.interp.ir.locations import FileLineCol
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

SECONDS = 300.0
"""The most seconds that IREE's compiler and importer may take."""

FLAGS = (
    "--compile-to=input",
    # The generic form says all without IREE's own syntax, and the locations lead back to the program.
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    # By default IREE would compute in f32.
    "--iree-input-demote-f64-to-f32=false",
    "-o",
    "-",
)
_STDIN = "<stdin>"
_SHARDY = "Dialect `sdy' not found"
"""A part of the message of IREE's compiler about meshes of devices, which JAX writes."""
_SHARDY_HINT = (
    "JAX writes sdy where a function calls Python (jax.debug.print, jax.pure_callback) or splits arrays: remove that; "
    "and for an argument that is a jax.random.key: give a jax.random.PRNGKey"
)


def lower(text: str, name: str) -> Module:
    """Return the module that IREE lowers a program to: linalg on tensors, without IREE's wrappers.

    ``text``: StableHLO, or what iree-import-onnx prints. ``name``: the file name in its locations.

    Raises Unsupported if the compiler is not installed, or if it has no lowering for an op; InputError if it rejects
    the text; LimitExceeded if it takes too long.
    """
    tool = compiler_for(name)
    try:
        printed = tool.run(["-", *FLAGS], text, SECONDS)
    except OracleError as error:
        raise _failure(error, name) from None
    # A quote inside of a string is escaped, so only a location reads like this.
    located = printed.replace(f'loc("{_STDIN}":', f"loc({quoted(name)}:")
    module = parse_module(located, f"{name} (lowered)", verify=False, schema=Schema.LLVM24)
    unwrap(module)
    # Read again, so that the module's text is its own.
    return parse_module(print_module(module, debug_info=True), f"{name} (lowered)")


def compiler_for(name: str) -> Tool:
    """Return IREE's compiler, which is to lower the program of this name. Raise Unsupported if it is not installed."""
    try:
        return _compiler()
    except Unavailable as reason:
        message = f"{name} is lowered to linalg by IREE's compiler: {reason}"
        raise Unsupported(message, hint=INSTALL["iree.compiler"]) from None


@cache
def _compiler() -> Tool:
    """Return IREE's compiler, found once. An absent one is looked for again. Raise Unavailable."""
    return iree.compiler()


def _failure(error: OracleError, name: str) -> HalfulpError:
    """Return the error for a run of the compiler that failed, with the compiler's message and its place."""
    if error.kind == "hang":
        return LimitExceeded(f"IREE's compiler: {error}")
    found = re.search(rf"^(?:{re.escape(_STDIN)}|-):(\d+):(\d+): error: (.*)$", error.said or "", re.MULTILINE)
    message = found[3] if found else str(error).partition("error: ")[2] or str(error)
    message = message.partition(" that was explicitly marked illegal")[0]
    location = FileLineCol(name, int(found[1]), int(found[2])) if found else None
    hint = _SHARDY_HINT if _SHARDY in message else None
    kind = Unsupported if hint or error.kind != "refusal" or "legalize" in message else InputError
    return kind(f"IREE's compiler cannot lower the program: {message}", location=location, hint=hint)
