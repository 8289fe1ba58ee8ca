"""Ops of StableHLO on quantised elements: each is the op on numbers of the expressed type, between two casts.

The specification says so of every op that computes (``dequantize_op_quantize``); ops that move elements move the stored
integers. So no op has a second description: the op on numbers is run, by its own evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from halfulp.fp_formats.formats import Codes
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.arith.ops import SELECTION
from halfulp.interp.dialects.quant.ops import quantization_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.evaluators import Compiler, OnRawSlots, PerOp
from halfulp.interp.run.frames import Function, Run, Slots, Step
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import quantized as semantics
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile
from halfulp.semantics.quant import Quantization

Build = Callable[[Operation, Settings], Kernel]

# --- types ------------------------------------------------------------------------------------------------------------


def is_quantized(type_: ty.Type) -> bool:
    """Tell whether the elements of a tensor are quantised."""
    return isinstance(ty.element_type(type_), ty.UniformQuantizedType)


def any_quantized(types: Sequence[ty.Type]) -> bool:
    """Tell whether at least one of the types is a tensor of quantised elements."""
    return any(map(is_quantized, types))


@cache
def expressed(type_: ty.Type) -> ty.Type:
    """Return the type of the numbers that a tensor of quantised elements represents; any other type as it is.

    The same object is returned for the same type, because kernels are kept by the identity of types.
    """
    element = ty.element_type(type_)
    return ty.with_element(type_, element.expressed) if isinstance(element, ty.UniformQuantizedType) else type_


def quantization(type_: ty.Type) -> Quantization:
    """Return the quantisation of a tensor of quantised elements."""
    return quantization_of(ty.element_type(type_))


def on_numbers(
    op: Operation, change: Callable[[ty.Type], ty.Type] = expressed, leaving_out: Sequence[str] = ()
) -> Operation:
    """Return an op on quantised elements as an op on the numbers that they represent. ``change``: gives the new types.
    ``leaving_out``: the names of properties that the new op does not get.
    """
    operands: list[SSAValue] = [SSAValue(change(value.type)) for value in op.operands]
    properties = {name: value for name, value in op.properties.items() if name not in leaving_out}
    return op_at(op, op.name, operands, [change(result.type) for result in op.results], properties)


def op_at(
    place: Operation,
    name: str,
    operands: list[SSAValue],
    types: Sequence[ty.Type],
    properties: dict[str, Attribute] | None = None,
) -> Operation:
    """Return an op that has the place of ``place`` in the source."""
    made = Operation(name, default_registry().find(name), operands, types, properties)
    made.source, made.token = place.source, place.token
    return made


# --- elementwise ------------------------------------------------------------------------------------------------------


def dequantize(type_: ty.Type, profile: Profile) -> Kernel | None:
    """Return the cast to numbers; None for a type that is not quantised."""
    return semantics.dequantize(quantization(type_), profile) if is_quantized(type_) else None


def quantize(type_: ty.Type, profile: Profile) -> Kernel | None:
    """Return the cast from numbers; None for a type that is not quantised."""
    return semantics.quantize(quantization(type_), profile) if is_quantized(type_) else None


def of_elements(build: Build) -> Build:
    """Return a function that makes the kernel of an op that may have quantised elements. ``build``: the same for the op
    on numbers.
    """

    def build_(op: Operation, settings: Settings) -> Kernel:
        if not any_quantized(op.types):
            return build(op, settings)
        stored = _on_stored(op, settings)
        if stored is not None:
            return stored
        before = [dequantize(value.type, settings.profile) for value in op.operands]
        after = quantize(op.results[0].type, settings.profile)
        return semantics.through(build(on_numbers(op), settings), before, after)

    return build_


def quantizing(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel of uniform_quantize. Its operand is a number, or a number that is quantised in another way."""
    source, target = op.operands[0].type, op.results[0].type
    stored = _on_stored(op, settings)
    if stored is not None:
        return stored
    before, after = dequantize(source, settings.profile), quantize(target, settings.profile)
    assert after is not None
    return after if before is None else semantics.through(after, [before], None)


def dequantizing(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel of uniform_dequantize."""
    found = dequantize(op.operands[0].type, settings.profile)
    assert found is not None
    return found


def of_f32(op: Operation) -> list[Quantization] | None:
    """Return the quantisations of operands and results if all are quantised f32, and not in blocks: these ops
    StableHLO's interpreter computes on stored integers. Else return None.
    """
    types = [ty.element_type(type_) for type_ in op.types]
    covered = (
        isinstance(each, ty.UniformQuantizedType) and each.expressed == ty.F("f32") and each.block_sizes is None
        for each in types
    )
    if not all(covered):
        return None
    return list(map(quantization_of, types))


def _on_stored(op: Operation, settings: Settings) -> Kernel | None:
    """Return the kernel by which StableHLO's interpreter computes an op on stored integers; None if it has none, or if
    the profile does not choose it.
    """
    found = of_f32(op) if settings.profile.quantized_ops == "stored" else None
    if found is None:
        return None
    if op.name == "stablehlo.uniform_quantize":
        return semantics.stored_requantize(*found)
    same = len(set(map(ty.element_type, op.types))) == 1
    if op.name == "stablehlo.add":
        whole = all(each.axis is None for each in found)
        return semantics.stored_add(*found) if whole or (same and found[0].storage_width == 32) else None
    if op.name in ("stablehlo.maximum", "stablehlo.minimum") and same:
        return semantics.stored_extremum(found[0], op.name == "stablehlo.maximum")
    return None


def selecting(op: Operation, settings: Settings) -> Function:
    """Return the function that runs select of quantised elements. It chooses stored integers. Unless the profile
    computes on stored integers, the chosen ones are then dequantised, and quantised to the type of the result.
    """
    select: Function = SELECTION.build(op, settings)
    if settings.profile.quantized_ops == "stored":
        return select
    type_ = op.results[0].type
    before, after = dequantize(op.operands[1].type, settings.profile), quantize(type_, settings.profile)
    assert after is not None
    cast = semantics.through(after, [before], None)

    def choose(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        (chosen,) = select(run, operands)
        return (Value(type_, cast.array(chosen.bits).results[0], chosen.poison, chosen.open, chosen.origins),)

    return choose


def quantized_numbers(element: ty.UniformQuantizedType, numbers: Codes, profile: Profile) -> Codes:
    """Return numbers of the expressed type, given as codes, quantised to the codes of ``element``."""
    return semantics.quantize(quantization_of(element), profile).array(numbers).results[0]


# --- other ops --------------------------------------------------------------------------------------------------------


def between_casts(evaluator: Any, on_stored: Callable[[Operation, Compiler], Step | None] | None = None) -> PerOp:
    """Return the evaluator of an op that may have quantised elements. ``evaluator``: that of the op on numbers.

    ``on_stored``: makes the step that computes an op on stored integers, as StableHLO's interpreter does; it returns
    None for an op that is not computed so.
    """

    def compile_(op: Operation, compiler: Compiler) -> Step:
        if on_stored is not None and compiler.settings.profile.quantized_ops == "stored":
            found = on_stored(op, compiler)
            if found is not None:
                return found
        casts = [
            op_at(op, "stablehlo.uniform_dequantize", [value], [expressed(value.type)])
            if is_quantized(value.type)
            else None
            for value in op.operands
        ]

        def back(made: SSAValue, type_: ty.Type) -> Operation | None:
            return op_at(op, "stablehlo.uniform_quantize", [made], [type_]) if is_quantized(type_) else None

        return step_between(op, casts, on_numbers(op), back, compiler)

    return PerOp(lambda op: OnRawSlots(compile_) if any_quantized(op.types) else evaluator)


def step_between(
    op: Operation,
    casts: Sequence[Operation | None],
    inner: Operation,
    back: Callable[[SSAValue, ty.Type], Operation | None],
    compiler: Compiler,
) -> Step:
    """Return the step of ``op``, which runs the casts of its operands, then ``inner``, then the casts of the results.

    ``casts``: the cast of each operand of ``op``. ``back``: makes the cast from a result of ``inner`` to a type of
    ``op``. A cast of None leaves the value as it is.
    """
    steps: list[Step] = []
    for number, (value, cast) in enumerate(zip(op.operands, casts, strict=True)):
        inner.operands[number] = value if cast is None else cast.results[0]
        if cast is not None:
            steps.append(compiler.part(cast))
    steps.append(compiler.part(inner))
    for made, result in zip(inner.results, op.results, strict=True):
        source: SSAValue = made
        cast = back(made, result.type)
        if cast is not None:
            steps.append(compiler.part(cast))
            (source,) = cast.results
        steps.append(_moved(compiler.slot(source), compiler.slot(result)))
    return in_turn(steps, compiler.slots([value for value in inner.operands if value not in op.operands]))


def in_turn(steps: Sequence[Step], between: Sequence[int] = ()) -> Step:
    """Return a step that runs several steps one after the other. ``between``: the slots of values that only these steps
    read.
    """

    def step(slots: Slots) -> None:
        for each in steps:
            each(slots)
        for slot in between:
            slots[slot] = None

    return step


def _moved(source: int, target: int) -> Step:
    def step(slots: Slots) -> None:
        slots[target], slots[source] = slots[source], None

    return step
