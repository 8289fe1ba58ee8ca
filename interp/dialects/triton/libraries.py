"""The functions of the libraries that kernels call: libdevice for NVIDIA and OCML for AMD, as rows of data.

A function that approximates gives the correctly rounded value, marked as open: its bits depend on instructions that
nobody has published. One that is defined by rounding, such as a floor or a division toward zero, gives its bits.

Sources: NVIDIA's libdevice user's guide and CUDA C++ Programming Guide (mathematical functions), AMD's documentation
of its device library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.elementwise import bool_like, elementwise_step, format_of
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.semantics import elementary, floats
from halfulp.semantics.kernel import Kernel

Makes = Callable[[Operation, Settings], Function]
"""Makes the function of an op that calls a library."""


def _of_kernel(build: Callable[[Operation, Settings], Kernel]) -> Makes:
    def make(op: Operation, settings: Settings) -> Function:
        return PointwiseStep(op, Elementwise(build), build(op, settings), settings, op).run

    return make


def _approximation(name: str, operands: int = 1) -> Makes:
    """Return what makes a function of `halfulp.fp_formats.reals`, by its name there."""

    def build(op: Operation, settings: Settings) -> Kernel:
        kernels = elementary.unary if operands == 1 else elementary.binary
        kernel = kernels(name, format_of(op.operands[0]), Rounding.TO_NEAREST_EVEN, 0, settings.profile)
        return kernel.opened() if settings.track_open else kernel

    return _of_kernel(build)


def _rounded(name: str, rounding: Rounding) -> Makes:
    """Return what makes a square root, a sum or another operation that is rounded in a direction."""

    def build(op: Operation, settings: Settings) -> Kernel:
        how = (format_of(op.operands[0]), rounding, 0, settings.profile)
        if name == "fma":
            return floats.fma(*how)
        return (elementary.unary if len(op.operands) == 1 else floats.binary)(name, *how)

    return _of_kernel(build)


def _as_op(*names: str) -> Makes:
    """Return what makes an op of arith or math, or two, of which the second one widens an i1."""

    def make(op: Operation, settings: Settings) -> Function:
        given, result = [operand.type for operand in op.operands], op.results[0].type
        first = elementwise_step(op, names[0], given, bool_like(result) if len(names) > 1 else result, settings)
        if len(names) == 1:
            return first.run
        second = elementwise_step(op, names[1], (bool_like(result),), result, settings)

        def both(run: Run, operands: Operands) -> tuple[Any, ...]:
            return second.run(run, first.run(run, operands))

        return both

    return make


# --- the table --------------------------------------------------------------------------------------------------------

_UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "cospi", "erf", "erfc", "erfinv", "exp",
    "exp10", "exp2", "expm1", "lgamma", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sinpi", "sqrt", "tan",
    "tanh", "tgamma",
)  # fmt: skip
_BINARY = {"atan2": "atan2", "hypot": "hypot", "pow": "powf"}
_FAST = {
    "cos": "cosf", "exp10": "exp10f", "exp": "expf", "log10": "log10f", "log2": "log2f", "log": "logf", "sin": "sinf",
    "tan": "tanf", "tanh": "tanhf",
}  # fmt: skip
"""The functions with an instruction that approximates them, by their names in `halfulp.fp_formats.reals`."""
_EXACT = {
    "ceil": "math.ceil", "copysign": "math.copysign", "fabs": "math.absf", "floor": "math.floor", "fma": "math.fma",
    "fmod": "arith.remf", "nearbyint": "math.roundeven", "rint": "math.roundeven", "round": "math.round",
    "trunc": "math.trunc",
}  # fmt: skip
_TESTS = {"finite": "math.isfinite", "isfinite": "math.isfinite", "isinf": "math.isinf", "isnan": "math.isnan"}
_DIRECTIONS = {
    "rn": Rounding.TO_NEAREST_EVEN, "rz": Rounding.TOWARD_ZERO, "ru": Rounding.UPWARD, "rd": Rounding.DOWNWARD,
}  # fmt: skip
_ROUNDED = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "sqrt": "sqrt", "rcp": "reciprocal"}


def _rows() -> Iterator[tuple[str, Makes]]:
    floats_of_both = {name: _approximation(name) for name in _UNARY}
    floats_of_both |= {name: _approximation(row, 2) for name, row in _BINARY.items()}
    floats_of_both |= {name: _as_op(op) for name, op in _EXACT.items()}
    for name, make in floats_of_both.items():
        yield from ((f"__nv_{name}", make), (f"__nv_{name}f", make))
        yield from ((f"__ocml_{name}_f32", make), (f"__ocml_{name}_f64", make))
    for (name, op), (nvidia, amd) in product(_TESTS.items(), (("f", "f32"), ("d", "f64"))):
        make = _as_op(op, "arith.extui")
        yield from ((f"__nv_{name}{nvidia}", make), (f"__ocml_{name}_{amd}", make))
    for name, fast in _FAST.items():
        make = _approximation(name)
        yield from ((f"__nv_fast_{fast}", make), (f"__triton_hip_fast_{fast}", make))
    for (ending, direction), (name, row) in product(_DIRECTIONS.items(), _ROUNDED.items()):
        make = _rounded(row, direction)
        yield from ((f"__nv_f{name}_{ending}", make), (f"__nv_d{name}_{ending}", make))
    for ending, direction in _DIRECTIONS.items():
        make = _rounded("fma", direction)
        yield from ((f"__nv_fmaf_{ending}", make), (f"__nv_fma_{ending}", make))
    yield "__nv_frsqrt_rn", _rounded("rsqrt", Rounding.TO_NEAREST_EVEN)
    yield "__nv_abs", _as_op("math.absi")
    yield "__nv_llabs", _as_op("math.absi")


FUNCTIONS: Mapping[str, Makes] = dict(_rows())
"""The functions that are known, by their symbols."""
