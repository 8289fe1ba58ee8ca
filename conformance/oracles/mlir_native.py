"""Execute a program as LLVM's code generator compiles it, on this machine's CPU: integers, f16 to f128."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.oracle import Answer, OracleError, unanswered
from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.printer import print_module

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


# --- mlir expand ------------------------------------------------------------------------------------------------------
#
# Execute MLIR's expansion of arith ops into simpler ones.

_AS_INTEGERS = ("f4E2M1FN", "f8E8M0FNU")
_HAVE_CODE = ("extf", "truncf", "scaling_extf", "scaling_truncf", "bitcast", "select", "constant")
_EXTREMA = ("arith.maximumf", "arith.minimumf")


class MlirExpand(JitOracle):
    """``--arith-expand`` with all its options: conversions of f4E2M1FN, f8E8M0FNU and bf16 as integer operations,
    extrema as comparisons, divisions that round up or down, scaling.
    """

    name = "mlir-expand"
    profile = "mlir22-expand"
    passes = ("--arith-expand=include-bf16 include-f4e2m1 include-f8e8m0",)
    floats: ClassVar[frozenset[str]] = MlirNative.floats | set(_AS_INTEGERS)
    max_width = 1024

    def refuses_op(self, op: Operation) -> str | None:
        """Refuse ops on f4E2M1FN and f8E8M0FNU other than conversions, and conversions that the pass skips
        or breaks.
        """
        name = op.name.removeprefix("arith.")
        if name == op.name or not op.results:
            return None
        types = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
        formats = [str(type_) for type_ in types]
        narrow = next((type_ for type_ in formats if type_ in _AS_INTEGERS), None)
        if narrow and name not in _HAVE_CODE:
            return f"{op.name} of {narrow} is not expanded"
        if name in ("extf", "truncf", "scaling_extf", "scaling_truncf"):
            source, target = formats[0], formats[-1]
            computing = {"scaling_extf": target, "scaling_truncf": source}.get(name)
            if computing in _AS_INTEGERS:
                return f"{op.name} computes in {computing}, which has no arithmetic"
            wide = any(isinstance(t, ty.FloatType) and t.format.bits > 32 for t in (types[0], types[-1]))
            if wide and "f4E2M1FN" in (source, target):
                return f"--arith-expand makes an invalid conversion between {source} and {target}"
            illegal = target == "f8E8M0FNU" or (source, target) == ("f32", "bf16")
            if illegal and op.properties.get("roundingmode") is not None:
                return f"--arith-expand cannot expand {op.name} to {target} with a rounding mode"
        return None if op.name in _EXTREMA else without_code(op)


# --- mlir math --------------------------------------------------------------------------------------------------------
#
# Execute math ops as passes of MLIR expand or approximate them. What a pass leaves goes to the C library, as in
# `mlir_native`.

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


# --- mlir runtime -----------------------------------------------------------------------------------------------------
#
# Execute float ops by MLIR's run-time library: each op becomes a call of a function that computes with APFloat.

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
        """Refuse ops that must be expanded first, and types that do not fit the 64 bits of the library's functions.

        The pass also extends 64-bit operands to i64, and truncates 64-bit results from it, which is invalid.
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
