"""The dialect of halfulp itself: what programs need and no dialect of MLIR has."""

from __future__ import annotations

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Dialect, Trait
from halfulp.interp.dialects.elementwise import element_of, elementwise, format_of, same_shape
from halfulp.interp.dialects.halfulp.types import PARSERS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts
from halfulp.semantics.kernel import Kernel

halfulp = Dialect("halfulp")
halfulp.types.update(PARSERS)

# --- stochastic rounding ----------------------------------------------------------------------------------------------

_MOST_BITS = 64


def _verify_round(op: Operation) -> str | None:
    width = ty.width_of(element_of(op.operands[1]))
    if not 1 <= width <= _MOST_BITS:
        return f"takes 1 to {_MOST_BITS} random bits for each element, but has {width}"
    return None


def _round(op: Operation, settings: Settings) -> Kernel:
    bits = ty.width_of(element_of(op.operands[1]))
    return casts.convert_by_bits(format_of(op.operands[0]), format_of(op.results[0]), bits, settings.profile)


halfulp.op(
    "stochastic_round",
    "$in `,` $bits attr-dict `:` type($in) `,` type($bits) `to` type($out)",
    operands={"in": c.FLOAT_LIKE, "bits": c.FIXED_WIDTH_INTEGER_LIKE},
    results={"out": c.FLOAT_LIKE},
    traits=(Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_SHAPE),
    type_rules=(*elementwise("out"), same_shape("in", "bits"), same_shape("in", "out")),
    verify=_verify_round,
    evaluate=Elementwise(_round),
)
