"""MLIR's expansion of arith ops into simpler ones, executed like any other code."""

from __future__ import annotations

from typing import ClassVar

from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.mlir_native import MlirNative


class MlirExpand(JitOracle):
    """``--arith-expand`` with all its options: conversions of f4E2M1FN, f8E8M0FNU and bf16 as integer operations,
    extrema as comparisons, divisions that round up or down, scaling.
    """

    name = "mlir-expand"
    profile = "mlir22-expand"
    passes = ("--arith-expand=include-bf16 include-f4e2m1 include-f8e8m0",)
    floats: ClassVar[frozenset[str]] = MlirNative.floats | {"f4E2M1FN", "f8E8M0FNU"}
    max_width = 1024
