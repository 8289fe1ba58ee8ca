"""MLIR's run-time library for floats: each float op becomes a call of a function that computes with APFloat."""

from __future__ import annotations

from typing import ClassVar

from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.mlir_native import ROUNDED_DIVISIONS, without_code
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation

_MOVES = ("arith.constant", "arith.select", "arith.bitcast")


class MlirRuntime(JitOracle):
    """``--convert-arith-to-apfloat``: scalars and vectors of floats narrower than 64 bits."""

    name = "mlir-runtime"
    profile = "mlir22-runtime"
    passes = ("--convert-arith-to-apfloat",)
    runtime = ("libmlir_apfloat_wrappers.so",)
    floats: ClassVar[frozenset[str]] = frozenset(f.name for f in FORMATS.values() if f.bits <= 64 and f.name != "tf32")
    max_width = 1024

    def refuses_op(self, op: Operation) -> str | None:
        """What has to be expanded first, and what does not fit the 64 bits that the functions take and return.

        The pass extends operands to i64 and truncates results from it also where they have 64 bits, which is invalid.
        """
        if op.name.startswith("arith.scaling_") or op.name in ROUNDED_DIVISIONS:
            return f"{op.name} is lowered to LLVM only after its expansion"
        operands, results = ([ty.element_type(value.type) for value in values] for values in (op.operands, op.results))
        computes = op.name.startswith("arith.") and op.name not in _MOVES
        if not computes or not any(isinstance(type_, ty.FloatType) for type_ in (*operands, *results)):
            return without_code(op)
        for type_ in (*operands, *results):
            width = type_.width if isinstance(type_, ty.IntegerType) else 0
            wide = isinstance(type_, ty.FloatType) and type_.format.bits >= 64
            if wide or width > 64 or (width == 64 and type_ in results):
                return f"--convert-arith-to-apfloat makes invalid code for {op.name} and {type_}"
        return None
