"""Modules from StableHLO, and from the other languages that IREE's compiler reads."""

from __future__ import annotations

from halfulp.importing.lowering import lower
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source, decode_text, is_bytecode, is_text, opened


def from_stablehlo(source: Source, *, name: str | None = None) -> Module:
    """Return a program in StableHLO as a module of linalg on tensors.

    ``source``: a path, text or bytes, as `load` takes them: StableHLO as text, or what ``iree-import-onnx`` prints. A
    portable artifact is bytecode: ``jax.export.deserialize(data).mlir_module()`` is its text. ``name``: the name of the
    file in locations and errors.

    IREE's compiler lowers it (``iree-compile --compile-to=input``), and IREE's wrappers are taken off. The lowering is
    IREE's: it decides the order of additions and the type of each sum, and it replaces some functions by polynomials.

    Raises Unsupported if the compiler is not installed, with the command that installs it, or if it cannot lower an op,
    and for bytecode;
    InputError if it rejects the program; LimitExceeded if it takes too long.
    """
    if is_text(source):
        return lower(source, name or "<string>")
    data, path = opened(source)
    if is_bytecode(data):
        raise Unsupported(
            f"{name or path} is MLIR bytecode, but IREE's compiler gets StableHLO as text",
            hint="a portable artifact as text: jax.export.deserialize(data).mlir_module()",
        )
    return lower(decode_text(data), name or path)
