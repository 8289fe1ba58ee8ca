"""Explanations of the operations of a float unit that MLIR has no op for."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.explanations.arith_explainers import (
    arithmetic,
    comparison,
    conversion,
    from_integer_explainer,
    to_integer_explainer,
)
from halfulp.explanations.exact_explainers import multiply_add, to_integral
from halfulp.explanations.op_parts import Explainer, OpContext, OpParts
from halfulp.explanations.op_types import F64, I64, Signature, cast, mixed, same
from halfulp.fp_formats.mixed import FUSED
from halfulp.semantics.float_unit import CLASSES, MIXED


def _class(context: OpContext) -> OpParts:
    (x,) = context.operands
    outcome = context.application.outcome(context.profile)
    assert isinstance(outcome, int)
    number = outcome.bit_length() - 1
    return OpParts(f"{x.short} is {CLASSES[number]}: bit {number}")


FLOAT_UNIT: Mapping[str, tuple[Signature, Explainer]] = {
    **{
        name: (mixed(3), multiply_add(FUSED[operation])) if operation in FUSED else (mixed(2), arithmetic(operation))
        for name, operation in MIXED.items()
    },
    "fcvt": (cast(F64), conversion),
    "fcvt_to_si": (cast(F64), to_integer_explainer(signed=True)),
    "fcvt_to_ui": (cast(F64), to_integer_explainer(signed=False)),
    "fcvt_from_si": (cast(I64), from_integer_explainer(signed=True)),
    "fcvt_from_ui": (cast(I64), from_integer_explainer(signed=False)),
    "fround": (same(1), to_integral(None)),
    "froundnx": (same(1), to_integral(None)),
    "fcmps": (same(2), comparison),
    "fclass": (same(1), _class),
}
"""The signature and the explainer of each operation."""
