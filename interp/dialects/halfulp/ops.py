"""The dialect of halfulp itself: ops that programs need and that no dialect of MLIR has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, NanEncoding, format_named, storage_dtype
from halfulp.fp_formats.paths.array_loop import attempted
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.ops import ROUNDING
from halfulp.interp.dialects.elementwise import element_of, elementwise, format_of, same_shape
from halfulp.interp.dialects.halfulp import blocks
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import FLOAT_FLAGS, FLOAT_NUMBERS, NAN_WORDS, FixedType, FloatType
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.type_parser import TypeParser
from halfulp.semantics import casts
from halfulp.semantics.fixed_point import FixedFormat
from halfulp.semantics.kernel import Fault, Kernel, Outcome, Scalar, faults_of, undefined
from halfulp.semantics.requantization import RULES, Integers, Target, faults, requantization_words, requantized

# --- requantizing -----------------------------------------------------------------------------------------------------
#
# halfulp.requantize: integers to narrower integers, by the rules of libraries.

_MOST_SCALED_BITS = 48
_ZERO_POINTS = 1 << 31


def verify(op: Operation) -> str | None:
    """Return what is wrong with the rule, the types or the properties of a halfulp.requantize, or None."""
    rule = _rule(op)
    if rule not in RULES:
        return with_hint(f"rule is '{rule}', but must be one of {', '.join(RULES)}", did_you_mean(rule, RULES))
    for value, name in zip(op.operands, ("input", "multiplier", "shift"), strict=True):
        if not 1 <= ty.width_of(element_of(value)) <= _MOST_SCALED_BITS:
            return f"takes integers of 1 to {_MOST_SCALED_BITS} bits, but the {name} has '{element_of(value)}'"
    if not 1 <= ty.width_of(element_of(op.results[0])) <= 32:
        return f"makes integers of 1 to 32 bits, not '{element_of(op.results[0])}'"
    for name in ("input_zero_point", "output_zero_point"):
        if not -_ZERO_POINTS <= _integer(op, name) < _ZERO_POINTS:
            return f"{name} is {_integer(op, name)}, but must be a number of i32"
    return None


def _rule(op: Operation) -> str:
    rule = op.prop("rule", at.StringAttr)
    return rule.value


def _integer(op: Operation, name: str) -> int:
    attribute = op.properties.get(name)
    return attribute.value if isinstance(attribute, at.IntegerAttr) else 0


def _build(op: Operation, settings: Settings) -> Kernel:
    rule = RULES[_rule(op)]
    kinds = tuple([undefined(reason) for reason in faults(rule)])
    widths = [ty.width_of(element_of(value)) for value in op.operands]
    width = ty.width_of(element_of(op.results[0]))
    target = Target(
        width, "unsigned" not in op.properties, _integer(op, "input_zero_point"), _integer(op, "output_zero_point")
    )

    words = requantization_words(_rule(op), target)

    def array(*codes: Codes) -> Outcome:
        attempt = attempted(words, tuple(widths), codes)
        if attempt is None:
            return in_arrays(*codes)
        made, parts = attempt
        full = [np.broadcast_to(each, made.shape).reshape(-1) for each in codes] if parts else []
        found = [(part, in_arrays(*(each[part] for each in full))) for part in parts]
        masks: dict[Fault, Mask] = {}
        for part, outcome in found:
            made.reshape(-1)[part] = outcome.results[0]
            for fault, mask in outcome.faults:
                masks.setdefault(fault, np.zeros(made.shape, np.bool_)).reshape(-1)[part] = mask
        return Outcome((made,), tuple((kind, masks[kind]) for kind in kinds if kind in masks))

    def in_arrays(*codes: Codes) -> Outcome:
        x, multiplier, shift = np.broadcast_arrays(
            *[_signed(each, bits) for each, bits in zip(codes, widths, strict=True)]
        )
        found, wrong = requantized(rule, x, multiplier, shift, target)
        result = (found & (1 << width) - 1).astype(storage_dtype(width))
        return Outcome((result,), faults_of(zip(kinds, wrong, strict=True)))

    def scalar(*codes: int) -> Scalar:
        outcome = in_arrays(*[np.array([code], np.uint64) for code in codes])
        return outcome.faults[0][0] if outcome.faults else int(outcome.results[0][0])

    return Kernel(scalar, array, faults=kinds, words=words)


def _signed(codes: Codes, width: int) -> Integers:
    """Return codes as signed numbers."""
    half = 1 << width - 1
    return (codes.astype(np.int64) ^ half) - half


REQUANTIZE = Elementwise(_build, may_be_scalar=frozenset({1, 2}))
"""The evaluator of the op."""


# --- types ------------------------------------------------------------------------------------------------------------
#
# The types of the dialect: float types that MLIR has no spelling for, and numbers in fixed point.
#
# ``!halfulp.float<"binary8p3se">`` names a format that every halfulp knows. ``!halfulp.float<"e3m2x", exponent = 3,
# mantissa = 2, bias = 3>`` defines one; the words unsigned, finite, no_zero, integer_bit and even_code, and ``nan =
# all_ones``, ``negative_zero`` or ``none``, stand for the other fields of a `FloatFormat`. ``!halfulp.fixed<8, 4, true,
# AC_RND, AC_SAT>`` has the parameters of ac_fixed.


def _float(parser: TypeParser) -> FloatType:
    """Read the parameters of a float type: ``<"name">``, or ``<"name", key = value, …, flag, …>``."""
    parser.expect("<")
    start = parser.pos
    name = parser.string('expected the name of a float format, as in !halfulp.float<"binary8p3se">')
    if parser.take(">"):
        return FloatType(_named(parser, name, start))
    fields: dict[str, Any] = {}
    while parser.take(","):
        _field(parser, fields)
    parser.expect(">", "expected ',' or '>' in float type")
    missing = [word for word, field in FLOAT_NUMBERS.items() if field not in fields]
    if missing:
        parser.error(f"float format {name!r} needs {', '.join(missing)}, as in {missing[0]} = 3", start)
    try:
        made = FloatFormat(name, **fields)
        known = format_named(name)
    except ValueError as error:
        parser.error(str(error), start)
    if known is not None and known != made:
        parser.error(f"{name!r} names another format; give yours another name", start)
    return FloatType(made)


def _named(parser: TypeParser, name: str, start: int) -> FloatFormat:
    try:
        known = format_named(name)
    except ValueError as error:
        parser.error(str(error), start)
    if known is None:
        parser.error(
            f"no float format is named {name!r}; write its fields, as in "
            f'!halfulp.float<"{name}", exponent = 3, mantissa = 2, bias = 3>, or register it: hu.register.format',
            start,
        )
    return known


def _field(parser: TypeParser, fields: dict[str, Any]) -> None:
    at = parser.pos
    word = parser.tokens[at]
    parser.pos += 1
    value: Any
    if word in FLOAT_FLAGS:
        name, value = FLOAT_FLAGS[word]
    elif word in FLOAT_NUMBERS or word == "nan":
        parser.expect("=")
        if word == "nan":
            name, value = "nan", _nan(parser)
        else:
            name, value = FLOAT_NUMBERS[word], parser.integer()
    else:
        parser.pos = at
        parser.wrong_token(f"expected one of {', '.join((*FLOAT_NUMBERS, 'nan', *FLOAT_FLAGS))}")
    if name in fields:
        parser.error(f"{word} is given twice", at)
    fields[name] = value


def _nan(parser: TypeParser) -> Any:
    at = parser.pos
    word = parser.tokens[at]
    if word not in NAN_WORDS:
        parser.wrong_token(f"expected one of {', '.join(NAN_WORDS)}")
    parser.pos += 1
    return NAN_WORDS[word]


def _fixed(parser: TypeParser) -> FixedType:
    """Read the parameters of a type in fixed point: ``<width, integer bits, signed, rounding, overflow>``, of which the
    last three may be left out.
    """
    start = parser.pos
    parser.expect("<")
    fields: dict[str, Any] = {"width": parser.integer("expected the number of bits")}
    parser.expect(",", "expected ',' and the number of bits before the point")
    fields["integer_bits"] = parser.integer("expected the number of bits before the point")
    for name in ("signed", "rounding", "overflow"):
        if not parser.take(","):
            break
        word = parser.tokens[parser.pos]
        if name == "signed" and word not in ("true", "false"):
            parser.wrong_token("expected true or false: whether the numbers are signed")
        fields[name] = word == "true" if name == "signed" else word
        parser.pos += 1
    parser.expect(">", "expected '>' at the end of the type in fixed point")
    try:
        return FixedType(FixedFormat(**fields))
    except ValueError as error:
        parser.error(str(error), start)


PARSERS = {"fixed": _fixed, "float": _float}
"""The readers of the types, by name."""


# --- ops --------------------------------------------------------------------------------------------------------------

halfulp = d.Dialect("halfulp")
halfulp.types.update(PARSERS)

# --- stochastic rounding ----------------------------------------------------------------------------------------------

_MOST_RANDOM_BITS = 64


def _verify_round(op: Operation) -> str | None:
    width = ty.width_of(element_of(op.operands[1]))
    if not 1 <= width <= _MOST_RANDOM_BITS:
        return f"takes 1 to {_MOST_RANDOM_BITS} random bits for each element, but has {width}"
    return None


def _round(op: Operation, settings: Settings) -> Kernel:
    bits = ty.width_of(element_of(op.operands[1]))
    return casts.convert_by_bits(format_of(op.operands[0]), format_of(op.results[0]), bits, settings.profile)


halfulp.op(
    "stochastic_round",
    "$in `,` $bits attr-dict `:` type($in) `,` type($bits) `to` type($out)",
    operands={"in": d.FLOAT_LIKE, "bits": d.FIXED_WIDTH_INTEGER_LIKE},
    results={"out": d.FLOAT_LIKE},
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_SHAPE),
    type_rules=(*elementwise("out"), same_shape("in", "bits"), same_shape("in", "out")),
    verify=_verify_round,
    evaluate=Elementwise(_round),
)

# --- fewer bits of exponent and mantissa ------------------------------------------------------------------------------


def _verify_reduce_precision(op: Operation) -> str | None:
    fmt = format_of(op.operands[0])
    if fmt.bits > _MOST_REDUCED_BITS or fmt.nan is not NanEncoding.IEEE:
        return f"takes floats of up to {_MOST_REDUCED_BITS} bits with infinities and IEEE NaNs, not '{fmt.name}'"
    for name, least in (("exponent_bits", 1), ("mantissa_bits", 0)):
        if _integer(op, name) < least:
            return f"{name} is {_integer(op, name)}, but must be at least {least}"
    return None


_MOST_REDUCED_BITS = 64

halfulp.op(
    "reduce_precision",
    "$in attr-dict `:` type($in)",
    operands={"in": d.FLOAT_LIKE},
    results={"out": d.FLOAT_LIKE},
    properties=(
        d.Property("exponent_bits", d.INTEGER_64_ATTR),
        d.Property("mantissa_bits", d.INTEGER_64_ATTR),
    ),
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
    verify=_verify_reduce_precision,
    evaluate=Elementwise(
        lambda op, settings: casts.reduce_precision(
            format_of(op.operands[0]), _integer(op, "exponent_bits"), _integer(op, "mantissa_bits")
        )
    ),
)

# --- blocks that share a scale ----------------------------------------------------------------------------------------


def _is_block(type_: ty.Type, integers: bool) -> bool:
    element = ty.element_type(type_)
    shaped = isinstance(type_, ty.TensorType | ty.VectorType) and bool(type_.shape)
    return shaped and (isinstance(element, ty.FloatType) or (integers and element == ty.IntegerType(8)))


_FLOATS = d.TypeConstraint("ranked tensor or vector of floats", partial(_is_block, integers=False))
_ELEMENTS = d.TypeConstraint("ranked tensor or vector of floats or i8", partial(_is_block, integers=True))
_F32 = d.TypeConstraint("f32", lambda type_: type_ == ty.F("f32"))

halfulp.op(
    "quantize_blocks",
    "$in (`scaled` $tensor_scale^)? ($roundingmode^)? attr-dict `:` type($in) (`,` type($tensor_scale)^)? `to` "
    "type($elements) `,` type($scales) (`,` type($amax_scale)^)?",
    operands=(d.Slot("in", _FLOATS), d.optional("tensor_scale", _F32)),
    results=(d.Slot("elements", _ELEMENTS), d.Slot("scales", _FLOATS), d.optional("amax_scale", _F32)),
    properties=(
        d.Property("axis", d.INTEGER_64_ATTR, optional=True),
        d.Property("block", d.INTEGER_64_ATTR, optional=True),
        d.Property("recipe", d.STRING_ATTR),
        d.Property("roundingmode", ROUNDING, optional=True),
    ),
    verify=blocks.verify,
    evaluate=blocks.QUANTIZE_BLOCKS,
)

# --- integers to narrower integers ------------------------------------------------------------------------------------

halfulp.op(
    "requantize",
    "$in `,` $multiplier `,` $shift attr-dict `:` type($in) `,` type($multiplier) `,` type($shift) `to` type($out)",
    operands=dict.fromkeys(("in", "multiplier", "shift"), d.FIXED_WIDTH_INTEGER_LIKE),
    results={"out": d.FIXED_WIDTH_INTEGER_LIKE},
    properties=(
        d.Property("input_zero_point", d.INTEGER_64_ATTR, optional=True),
        d.Property("output_zero_point", d.INTEGER_64_ATTR, optional=True),
        d.Property("rule", d.STRING_ATTR),
        d.Property("unsigned", d.UNIT_ATTR, optional=True),
    ),
    traits=(d.Trait.ELEMENTWISE,),
    type_rules=(*elementwise("out"), same_shape("in", "out")),
    verify=verify,
    evaluate=REQUANTIZE,
)
