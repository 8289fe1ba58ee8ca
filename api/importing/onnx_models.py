"""Modules from ONNX models."""

from __future__ import annotations

import os
import sys

from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool
from halfulp.files import read_file
from halfulp.importing.lowering import SECONDS, compiler_for, lower
from halfulp.importing.packages import require
from halfulp.interp.ir.errors import InputError, LimitExceeded
from halfulp.interp.ir.operations import Module

_IMPORTER = "iree.compiler.tools.import_onnx"


def from_onnx(path: str | os.PathLike[str], *, opset_version: int | None = None) -> Module:
    """Return an ONNX model as a module of linalg on tensors, whose function has the name of the model's graph.

    ``path``: the file; weights in a file beside it are read too. ``opset_version``: a newer version of ONNX's ops, to
    which the model is updated first; IREE's importer wants 17 or newer. IREE's importer and compiler lower the model,
    as `from_stablehlo` says: iree-import-onnx, then ``iree-compile --compile-to=input``.

    Raises Unsupported if a package is not installed, with the command that installs it, or if the compiler cannot lower
    an op; InputError if the file is not a model; LimitExceeded if a tool takes too long.
    """
    name = os.fspath(path)
    compiler_for(name)
    require("iree.compiler", "hu.from_onnx")
    require("onnx", "hu.from_onnx")
    read_file(path)
    update = [] if opset_version is None else ["--opset-version", str(opset_version)]
    importer = Tool(sys.executable, "")
    try:
        # An absolute path is never taken as an option.
        done = importer.finished(["-m", _IMPORTER, os.path.abspath(name), "-o", "-", *update], seconds=SECONDS)
    except OracleError as error:
        kind = LimitExceeded if error.kind == "hang" else InputError
        raise kind(f"iree-import-onnx, on {name}: {error}") from None
    if done.code:
        reason = next((line for line in reversed(done.said.splitlines()) if line.strip()), f"exit code {done.code}")
        raise InputError(f"iree-import-onnx cannot read {name}: {reason.strip()}")
    return lower(done.printed, name)
