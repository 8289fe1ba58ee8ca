"""halfulp.quantize_blocks: blocks of floats that share a scale, which the largest magnitude of the block decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.interp.dialects.elementwise import element_of, rounding_of, sizes_agree
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.block_quantizing import element_kind, quantized
from halfulp.interp.values.lanes import over_lanes, ranked
from halfulp.interp.values.value import Value
from halfulp.semantics import block_scaling
from halfulp.semantics.block_scaling import ALIASES, NVFP4, RECIPES, Recipe


class BlockRequest(NamedTuple):
    """The arguments of an op on blocks. ``levels``: the recipe has a scale for the tensor, which is given or computed
    from the largest magnitude.
    """

    rules: Recipe
    axis: int
    block: int
    given: bool
    levels: bool


def block_request(op: Operation) -> BlockRequest:
    """Return the arguments of a verified op on blocks."""
    recipe = op.prop("recipe", at.StringAttr)
    rules = block_scaling.recipe_named(recipe.value)
    rank = len(ty.shape_of(op.operands[0].type) or ())
    given = len(op.operands) > 1
    axis = _integer(op, "axis", -1)
    axis, block = axis + rank if axis < 0 else axis, _integer(op, "block", rules.block)
    return BlockRequest(rules, axis, block, given, given or len(op.results) > 2)


def _integer(op: Operation, name: str, default: int) -> int:
    attribute = op.properties.get(name)
    return attribute.value if isinstance(attribute, at.IntegerAttr) else default


def verify(op: Operation) -> str | None:
    """Return what is wrong with a halfulp.quantize_blocks, or None."""
    recipe = op.prop("recipe", at.StringAttr)
    if recipe.value not in RECIPES and recipe.value not in ALIASES:
        known = [*ALIASES, *(name for name, rules in RECIPES.items() if not rules.noise)]
        message = f"recipe is '{recipe.value}', but must be one of {', '.join(known)}"
        return with_hint(message, did_you_mean(recipe.value, known))
    rules, axis, block, given, levels = block_request(op)
    if rules.noise:
        return f"the recipe {rules.name} needs random bits, which the op has no operand for"
    shape, source = ty.shape_of(op.operands[0].type) or (), element_of(op.operands[0])
    assert isinstance(source, ty.FloatType)
    if source.format.limbs > 1:
        return f"takes elements of up to 64 bits, but has '{source}'"
    if not 0 <= axis < len(shape):
        return f"axis is {_integer(op, 'axis', -1)}, but the input has {len(shape)} dimensions"
    if block < 1:
        return f"block is {block}, but must be positive"
    elements, scales = (element_of(result) for result in op.results[:2])
    kind = element_kind(elements, rules)
    if kind is None:
        return f"the recipe {rules.name} does not take elements of '{elements}'; it takes {', '.join(rules.elements())}"
    if scales != ty.FloatType(rules.scale):
        return f"the recipe {rules.name} makes scales of {rules.scale.name}, not of '{scales}'"
    if levels and rules.levels is None:
        return f"the recipe {rules.name} has no scale for the tensor"
    if given and rules.rival is not None:
        return f"the recipe {rules.name} takes no scale for the tensor: it makes one"
    if given and len(op.results) > 2:
        return "takes a scale for the tensor, or makes one, but not both"
    if rules.levels is not None and rules.name != NVFP4 and not levels:
        return f"the recipe {rules.name} needs a scale for the tensor; only {NVFP4} can be used without one"
    try:
        block_scaling.check_source(source.format, kind, rules)
    except ValueError as error:
        return str(error)
    return _wrong_shape(op, shape, axis, block)


def _wrong_shape(op: Operation, shape: Sequence[int | None], axis: int, block: int) -> str | None:
    size = shape[axis]
    if size is not None and size % block:
        return f"dimension {axis} has {size} elements, which is not a multiple of the block of {block}"
    number = None if size is None else size // block
    scales = (*shape[:axis], number, *shape[axis + 1 :])
    for result, expected in zip(op.results, (tuple(shape), scales), strict=False):
        if type(result.type) is not type(op.operands[0].type) or not sizes_agree(
            ty.shape_of(result.type) or (), expected
        ):
            spelled = "x".join("?" if extent is None else str(extent) for extent in expected)
            return f"has a result of type '{result.type}', where its shape must be {spelled}, as the input's kind is"
    return None


def _build(op: Operation, settings: Settings) -> Function:
    rules, axis, block, given, levels = block_request(op)
    kind = element_kind(element_of(op.results[0]), rules)
    assert kind is not None
    rounding = rounding_of(op)

    def function(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        x: Value = operands[0]
        lead = int(over_lanes(x))
        size = x.bits.shape[axis + lead]
        if size % block:
            message = f"dimension {axis} has {size} elements, which is not a multiple of the block of {block}"
            raise undefined(op, message)
        scale = operands[1] if given else None
        if scale is not None and (scale.poison is not None or not 0 < scale.item() < math.inf):
            raise undefined(op, f"the scale for the tensor is {scale.item()}, but must be positive and finite")
        found = quantized(
            x,
            (axis + lead,),
            (block,),
            kind,
            rules,
            rounding,
            None if scale is None else scale.bits,
            "tensor" if levels else "blocks",
        )
        bits = (found.elements, found.scales)
        ids = (found.element_poison, found.scale_poison)
        results = [
            Value(ranked(result.type, each.shape[lead:]), each, poison, None, x.origins)
            for result, each, poison in zip(op.results, bits, ids, strict=False)
        ]
        if len(op.results) > 2:
            everywhere = None if x.poison is None or not x.poison.any() else x.poison.max()
            results.append(Value(op.results[2].type, found.tensor_scale, everywhere, None, x.origins))
        return tuple(results)

    return function


def _in_lanes(op: Operation, settings: Settings) -> Function | None:
    """Return the function for values over lanes; None if each lane has its own scale for the tensor."""
    return None if block_request(op).levels else _build(op, settings)


QUANTIZE_BLOCKS = OnValues(_build, in_lanes=_in_lanes)
"""The evaluator of the op."""
