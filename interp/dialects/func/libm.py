"""The functions of C's mathematical library that programs declare and call, as convert-math-to-libm writes them.

Each computes what the op of `math` that it came from computes: the exact real function, rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halfulp.interp.dialects.combining import elementwise_step
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types, result_types

_OPERANDS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc",
            "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round", "roundeven", "rsqrt", "sin",
            "sinh", "sqrt", "tan", "tanh", "trunc",
        ),
        1,
    ),
    "atan2": 2,
    "copysign": 2,
    "powf": 2,
    "fma": 3,
}  # fmt: skip
"""The ops of `math` that have a function, and the numbers of their operands."""
_NAMES: Mapping[str, str] = {"absf": "fabs", "powf": "pow"}
"""The names of the functions that are not those of their ops."""
_SUFFIXES: Mapping[str, str] = {"f64": "", "f32": "f"}


class _Function(NamedTuple):
    """A function: the op that computes the same, and the type of its operands and of its result."""

    op: str
    operands: tuple[ty.Type, ...]
    result: ty.Type


def _functions() -> Iterable[tuple[str, _Function]]:
    for op, count in _OPERANDS.items():
        for spelled, suffix in _SUFFIXES.items():
            type_ = ty.F(spelled)
            yield f"{_NAMES.get(op, op)}{suffix}", _Function(f"math.{op}", (type_,) * count, type_)


_FUNCTIONS: Mapping[str, _Function] = dict(_functions())


def libm_step(call: Operation, target: Operation, settings: Settings) -> ElementwiseStep | None:
    """Return the step of a call of a function of the library; None if the name and the types are not those of one."""
    found = _FUNCTIONS.get(target.symbol_name or "")
    if found is None or (found.operands, (found.result,)) != (argument_types(target), result_types(target)):
        return None
    return elementwise_step(call, found.op, found.operands, found.result, settings)
