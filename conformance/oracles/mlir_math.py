"""Execute math ops as passes of MLIR expand or approximate them. What a pass leaves goes to the C library, as in
`mlir_native`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.mlir_native import MlirNative
from halfulp.conformance.oracles.oracle import Answer, OracleError, unanswered
from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.printer import print_module

TO_LIBM = "--convert-math-to-libm"


class _MathPass(MlirNative):
    """Math ops after one pass: an op that the pass leaves as it is has no answer of its own."""

    own: ClassVar[str]

    def refuses_op(self, op: Operation) -> str | None:
        """Refuse ops of other dialects."""
        return None if op.name.startswith("math.") else f"{self.own} is a pass for math ops"

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements in one loop; none if the pass leaves the op as it is."""
        text = print_module(case.module(None))
        try:
            after = self._opt.run([self.own], text)
            same = case.op in after and after == self._opt.run([], text)
        except OracleError as error:
            if error.kind != "refusal":
                raise
            return unanswered(case, inputs, f"{self.own} makes an invalid op of {case}")
        if same:
            return unanswered(case, inputs, f"{self.own} leaves {case} as it is")
        return super().evaluate(case, inputs)


class MlirMathLlvm(_MathPass):
    """``--convert-math-to-llvm``: LLVM's intrinsics, and simpler formulas for some functions."""

    name = "mlir-math-llvm"
    own = "--convert-math-to-llvm"
    passes = (own, TO_LIBM)


class MlirMathExpand(_MathPass):
    """``--math-expand-ops``: hyperbolic functions, powers and others by simpler ops in the same type."""

    name = "mlir-math-expand"
    own = "--math-expand-ops"
    passes = (own, TO_LIBM)


class MlirMathFuncs(_MathPass):
    """``--convert-math-to-funcs``: integer powers and counts of zeros by loops."""

    name = "mlir-math-funcs"
    own = "--convert-math-to-funcs=min-width-of-fpowi-exponent=1 convert-ctlz=1"
    passes = (own, TO_LIBM)


class MlirMathApfloat(_MathPass):
    """``--convert-math-to-apfloat``: calls of APFloat, for the few ops that it has."""

    name = "mlir-math-apfloat"
    own = "--convert-math-to-apfloat"
    passes = (own, TO_LIBM)
    runtime = ("libmlir_apfloat_wrappers.so",)


class MlirMathPolynomial(_MathPass):
    """``--test-math-polynomial-approximation``: MLIR's own polynomials, in f32."""

    name = "mlir-math-polynomial"
    own = "--test-math-polynomial-approximation"
    # The polynomials use math.copysign, for which the C library's pass has no pattern.
    passes = (own, "--convert-math-to-llvm", TO_LIBM)
