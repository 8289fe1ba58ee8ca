"""The dialect of halfulp itself: what programs need and no dialect of MLIR has."""

from __future__ import annotations

from functools import partial

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, Trait, TypeConstraint
from halfulp.interp.dialects.arith.ops import ROUNDING
from halfulp.interp.dialects.elementwise import element_of, elementwise, format_of, same_shape
from halfulp.interp.dialects.halfulp import blocks, requantizing
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

# --- blocks that share a scale ----------------------------------------------------------------------------------------


def _is_block(type_: ty.Type, integers: bool) -> bool:
    element = ty.element_type(type_)
    shaped = isinstance(type_, ty.TensorType | ty.VectorType) and bool(type_.shape)
    return shaped and (isinstance(element, ty.FloatType) or (integers and element == ty.IntegerType(8)))


_FLOATS = TypeConstraint("ranked tensor or vector of floats", partial(_is_block, integers=False))
_ELEMENTS = TypeConstraint("ranked tensor or vector of floats or i8", partial(_is_block, integers=True))
_F32 = TypeConstraint("f32", lambda type_: type_ == ty.F("f32"))

halfulp.op(
    "quantize_blocks",
    "$in (`scaled` $tensor_scale^)? ($roundingmode^)? attr-dict `:` type($in) (`,` type($tensor_scale)^)? `to` "
    "type($elements) `,` type($scales) (`,` type($amax_scale)^)?",
    operands=(Slot("in", _FLOATS), Slot("tensor_scale", _F32, Arity.OPTIONAL)),
    results=(Slot("elements", _ELEMENTS), Slot("scales", _FLOATS), Slot("amax_scale", _F32, Arity.OPTIONAL)),
    properties=(
        Property("axis", c.INTEGER_64_ATTR, optional=True),
        Property("block", c.INTEGER_64_ATTR, optional=True),
        Property("recipe", c.STRING_ATTR),
        Property("roundingmode", ROUNDING, optional=True),
    ),
    verify=blocks.verify,
    evaluate=blocks.QUANTIZE_BLOCKS,
)

# --- integers to narrower integers ------------------------------------------------------------------------------------

halfulp.op(
    "requantize",
    "$in `,` $multiplier `,` $shift attr-dict `:` type($in) `,` type($multiplier) `,` type($shift) `to` type($out)",
    operands=dict.fromkeys(("in", "multiplier", "shift"), c.FIXED_WIDTH_INTEGER_LIKE),
    results={"out": c.FIXED_WIDTH_INTEGER_LIKE},
    properties=(
        Property("input_zero_point", c.INTEGER_64_ATTR, optional=True),
        Property("output_zero_point", c.INTEGER_64_ATTR, optional=True),
        Property("rule", c.STRING_ATTR),
        Property("unsigned", c.UNIT_ATTR, optional=True),
    ),
    traits=(Trait.ELEMENTWISE,),
    type_rules=(*elementwise("out"), same_shape("in", "out")),
    verify=requantizing.verify,
    evaluate=requantizing.REQUANTIZE,
)
