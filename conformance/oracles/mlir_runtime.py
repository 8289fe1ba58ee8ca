"""MLIR's run-time library for floats: each float op becomes a call of a function that computes with APFloat."""

from __future__ import annotations

from typing import ClassVar

from halfulp.conformance.oracles.jit import JitOracle
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import Operation


class MlirRuntime(JitOracle):
    """``--convert-arith-to-apfloat``: scalars and vectors of floats up to 64 bits."""

    name = "mlir-runtime"
    profile = "mlir22-runtime"
    passes = ("--convert-arith-to-apfloat",)
    runtime = ("libmlir_apfloat_wrappers.so",)
    floats: ClassVar[frozenset[str]] = frozenset(f.name for f in FORMATS.values() if f.bits <= 64 and f.name != "tf32")
    max_width = 1024

    def refuses_op(self, op: Operation) -> str | None:
        """The scaling ops have to be expanded first."""
        return f"{op.name} is not lowered" if op.name.startswith("arith.scaling_") else None
