"""What LLVM's code generator makes of a program, executed on this machine's CPU: integers, f16 to f128."""

from __future__ import annotations

from typing import ClassVar

from halfulp.conformance.oracles.jit import JitOracle
from halfulp.interp.ir import Operation


class MlirNative(JitOracle):
    """arith lowered to LLVM without help of a library. Poison cannot be seen: a value is a value."""

    name = "mlir-native"
    profile = "spec"
    floats: ClassVar[frozenset[str]] = frozenset({"f16", "bf16", "f32", "f64", "f80", "f128"})
    max_width = 1024

    def refuses_op(self, op: Operation) -> str | None:
        """The scaling ops have to be expanded first."""
        return f"{op.name} is not lowered" if op.name.startswith("arith.scaling_") else None
