"""Kernels with stochastic rounding, which no rounding attribute of MLIR names."""

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

ARITHMETIC: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
}
"""The arithmetic that can round stochastically, by the functions of `halfulp.fp_formats.scalar`."""
CONVERSIONS = frozenset({"arith.truncf", "arith.convertf"})
"""The casts that can round stochastically."""

RandomBits = tuple[npt.NDArray[Any], int]
"""One unsigned integer for each element, and the bits of each."""


def stochastic_kernel(op: Operation, random: RandomBits, profile: Profile) -> Kernel:
    """Return the kernel of an op that rounds by these random bits. It has no scalar face.

    Raises Unsupported for an op that does not round floats to floats.
    """
    formats = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
    source, target = formats[0], formats[-1]
    fastmath = getattr(op.properties.get("fastmath"), "value", 0)
    if isinstance(source, ty.FloatType) and isinstance(target, ty.FloatType):
        if op.name in ARITHMETIC:
            return floats.stochastic(ARITHMETIC[op.name], target.format, random, profile, fastmath)
        if op.name in CONVERSIONS:
            return casts.convert_stochastically(source.format, target.format, random, profile, fastmath)
    raise Unsupported(f"'{op.name}' has no stochastic rounding")
