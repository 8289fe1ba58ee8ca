"""Execute a program as LLVM's code generator compiles it, on this machine's CPU: integers, f16 to f128."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.oracle import Answer, OracleError, unanswered
from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation

ROUNDED_DIVISIONS = ("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")
_WIDE = ("f80", "f128")


class MlirNative(JitOracle):
    """arith lowered to LLVM without a library, math to the C library. Poison is invisible: every result is a value."""

    name = "mlir-native"
    profile = "spec"
    floats: ClassVar[frozenset[str]] = frozenset({"f16", "bf16", "f32", "f64", "f80", "f128"})
    max_width = 1024
    passes: ClassVar[tuple[str, ...]] = ("--convert-math-to-libm",)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop. A math op that has no code after the passes is unanswered."""
        try:
            return super().evaluate(case, inputs)
        except OracleError as error:
            if error.kind != "refusal" or not case.op.startswith("math."):
                raise
            return unanswered(case, inputs, f"{case.op} has no code after {' '.join(self.passes)}")

    def refuses_op(self, op: Operation) -> str | None:
        """Refuse ops that must be expanded first, and ops that LLVM 22 cannot compile on x86."""
        if op.name.startswith("arith.scaling_") or op.name in ROUNDED_DIVISIONS:
            return f"{op.name} is lowered to LLVM only after its expansion"
        return without_code(op)


def without_code(op: Operation) -> str | None:
    """Say why LLVM 22 has no code for an op on x86: it crashes, or calls a missing function. None where it has code."""
    if not op.operands or not op.results:
        return None
    if op.name == "arith.addui_extended" and isinstance(ty.element_type(op.results[0].type), ty.IndexType):
        return "arith.addui_extended of index is not lowered"
    source, target = (ty.element_type(value.type) for value in (op.operands[0], op.results[0]))
    if op.name in ("arith.maximumf", "arith.minimumf") and str(source) in _WIDE:
        return f"LLVM cannot select instructions for {op.name} of {source}"
    if op.name in ("arith.truncf", "arith.scaling_truncf") and str(source) in _WIDE and str(target) == "bf16":
        return f"there is no function that converts {source} to bf16"
    widens = op.name in ("arith.extf", "arith.scaling_extf") and str(source) == "bf16" and str(target) in _WIDE
    if widens and op.operands[0].type != source:
        return f"LLVM leaves bits undefined in vectors of bf16 extended to {target}"  # scalars are right
    return None
