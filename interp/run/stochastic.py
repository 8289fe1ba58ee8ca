"""Which kernel an op has with stochastic rounding, which no rounding attribute of MLIR can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.semantics import casts, floats
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile

_ARITHMETIC: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
}
_CONVERSIONS = frozenset({"arith.truncf", "arith.convertf"})

RandomBits = tuple[npt.NDArray[Any], int]
"""One unsigned integer per element, and how many bits each has."""


def stochastic_kernel(op: Operation, random: RandomBits, profile: Profile) -> Kernel:
    """The kernel of an op, rounding by these random bits. It has no scalar face.

    Raises Unsupported for an op that does not round floats to floats.
    """
    formats = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
    source, target = formats[0], formats[-1]
    fastmath = getattr(op.properties.get("fastmath"), "value", 0)
    if isinstance(source, ty.FloatType) and isinstance(target, ty.FloatType):
        if op.name in _ARITHMETIC:
            return floats.stochastic(_ARITHMETIC[op.name], target.format, random, profile, fastmath)
        if op.name in _CONVERSIONS:
            return casts.convert_stochastically(source.format, target.format, random, profile, fastmath)
    raise Unsupported(f"'{op.name}' has no stochastic rounding")
