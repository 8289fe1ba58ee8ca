"""The functions that MLIR has no op for: `halfulp.eval` and everything else that takes the name of an op knows them.

No program can name them. Their names are those of `halfulp.fp_formats.reals`; ``pown`` is ``powf`` of an integer. The
operations of a float unit have names of RISC-V.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from halfulp.interp.declare.declarations import Dialect, OpDefinition
from halfulp.interp.dialects.math import float_unit
from halfulp.interp.dialects.math.families import binary, of_integer, unary

_UNARY = (
    "cospi", "exp10", "gelu", "gelu_tanh", "lgamma", "logit", "mish", "reciprocal", "sigmoid", "silu", "sinpi",
    "softplus", "tgamma",
)  # fmt: skip

_functions = Dialect("")
for _name in _UNARY:
    _functions.op(_name, **unary(_name, "x"))
_functions.op("hypot", **binary("hypot", ("x", "y")))
_functions.op("pown", **of_integer("powf", ("x", "n")))
_functions.op("rootn", **of_integer("rootn", ("x", "n")))

_float_unit = Dialect("")
for _name, _fields in float_unit.DECLARATIONS.items():
    _float_unit.op(_name, **_fields)

ELEMENTARY: Mapping[str, OpDefinition] = MappingProxyType(_functions.ops)
"""The declarations of elementary functions, by name."""
FUNCTIONS: Mapping[str, OpDefinition] = MappingProxyType({**ELEMENTARY, **_float_unit.ops})
"""All declarations, by name."""
