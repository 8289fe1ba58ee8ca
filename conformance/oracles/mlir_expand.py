"""Execute MLIR's expansion of arith ops into simpler ones."""

from __future__ import annotations

from typing import ClassVar

from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.mlir_native import MlirNative, without_code
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation

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
