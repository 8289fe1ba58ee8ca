"""The ops of tosa that reduce one axis: reductions and argmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import storage_dtype
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elements import Function, Operands, reshaped
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.tosa.attributes import AXIS, NAN_PROPERTY
from halfulp.interp.dialects.tosa.elementwise import extremum, ignores_nan
from halfulp.interp.dialects.tosa.evaluating import Element, checked, of_any_shape, part, unsupported
from halfulp.interp.dialects.tosa.forms import Form
from halfulp.interp.dialects.tosa.loops import (
    Body,
    Converter,
    Loops,
    Space,
    code_of,
    element,
    filled,
    product_kernel,
    structured,
    sum_kernel,
)
from halfulp.interp.dialects.tosa.products import least
from halfulp.interp.dialects.tosa.rules import declare, inferred, resolvable
from halfulp.interp.dialects.tosa.types import AT_LEAST_1D, TENSOR, Sizes, shape, shown
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import casts, integer, tosa
from halfulp.semantics.kernel import Kernel


def _reduced(op: Operation) -> str | None:
    axis, given, made = op.number("axis"), shape(op.operands[0]), shape(op.results[0])
    if axis < 0:
        return "reduce axis must not be negative"
    if given is not None and axis >= len(given) and (axis or given):
        return f"expect input tensor rank ({len(given)}) to be larger than reduce axis ({axis})"
    if made is None:
        return None
    if given is not None and len(given) != len(made):
        return "expect output tensor rank to be equal to input tensor rank"
    if axis >= len(made) and (axis or made):
        return f"expect output tensor rank ({len(made)}) to be larger than reduce axis ({axis})"
    if made and made[axis] not in (None, 1):
        return f"expect reduced dimension size to be 1, got {made[axis]}"
    return None


def _without_axis(op: Operation) -> Sizes | None:
    axis, sizes = op.number("axis"), shape(op.operands[0])
    if sizes is None or not 0 <= axis < len(sizes):
        return None
    return (*sizes[:axis], 1, *sizes[axis + 1 :])


# --- running ----------------------------------------------------------------------------------------------------------


def _sum(op: Operation, source: Element, acc: Element) -> tuple[Kernel, int]:
    return sum_kernel(op, acc), 0


def _product(op: Operation, source: Element, acc: Element) -> tuple[Kernel, int]:
    return product_kernel(op, acc), code_of(acc, 1)


def _extreme(largest: bool) -> Start:
    return lambda op, source, acc: (extremum(op, acc, largest), least(op, acc, largest))


def _logical(factory: Callable[[int], Kernel], initial: int) -> Start:
    def start(op: Operation, source: Element, acc: Element) -> tuple[Kernel, int]:
        if acc.kind != "b":
            raise unsupported(op, acc.type)
        return factory(1), initial

    return start


Start = Callable[[Operation, Element, Element], tuple[Kernel, int]]
"""Returns the kernel of a reduction, and the code with which it begins."""

_STARTS: dict[str, Start] = {
    "all": _logical(integer.andi, 1),
    "any": _logical(integer.ori, 0),
    "max": _extreme(True),
    "min": _extreme(False),
    "product": _product,
    "sum": _sum,
}
_WIDE_SUMS: dict[ty.Type, ty.Type] = {ty.F("bf16"): ty.F("f32")}
"""The types in which a sum is computed, where they are not the types of the elements."""


def _reduction(name: str) -> OnValues:
    def build(op: Operation, settings: Settings) -> Loops:
        axis, rank = op.number("axis"), len(ty.shape_of(op.operands[0].type) or ())
        source = element(op.operands[0].type, settings.profile)
        acc = Element(_WIDE_SUMS.get(source.type, source.type) if name == "sum" else source.type, settings.profile)
        kernel, initial = _STARTS[name](op, source, acc)
        space = Space(rank - 1, 1)
        loops = [*space.outer[:axis], *space.inner, *space.outer[axis:]]
        given, made = (of_any_shape(ty.TensorType((), acc.type), each) for each in (rank, rank - 1))
        body = Body([acc.type, acc.type])
        value, total = body.arguments
        block = body.ends_with(body.apply(kernel, (total, value), acc.type))
        convert = Converter(op, 0, None, acc.type, settings) if acc.type != source.type else None

        def before(run: Run, operands: Operands) -> list[Value]:
            (value,) = operands
            if convert is not None:
                value = convert(run, operands)
            shape = (*value.shape[:axis], *value.shape[axis + 1 :])
            return [value, filled(shape, made, initial)]

        def after(run: Run, operands: Operands, found: Value) -> Value:
            shape = (*found.shape[:axis], 1, *found.shape[axis:])
            result = checked(op, shape, settings)
            whole = reshaped(found, of_any_shape(given, rank), shape)
            if acc.type != source.type:
                narrow = casts.convert(acc.format, source.format, Rounding.TO_NEAREST_EVEN, 0, settings.profile)
                (whole,) = part(op, narrow, [whole.type], of_any_shape(result, rank), settings).run(run, (whole,))
            return retyped(whole, result)

        return Loops(space, (loops, space.outer), (given,), made, block, before, after)

    return structured(build)


def _index_of(op: Operation, settings: Settings) -> Function:
    """Return the function that finds the first largest element along an axis, or the first smallest one."""
    axis, largest = op.number("axis"), op.name == "tosa.argmax"
    made_width = ty.width_of(ty.element_type(op.results[0].type))
    source = element(op.operands[0].type, settings.profile)
    if source.kind not in ("i", "u", "f") or (source.kind == "f" and source.format.bits > 32):
        raise unsupported(op, source.type)

    def find(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        shape = (*value.shape[:axis], *value.shape[axis + 1 :])
        made = checked(op, shape, settings)
        if source.kind == "f":
            # A NaN that is not passed over counts as the extreme.
            order = tosa.order_of(source.format, value.bits, (not ignores_nan(op)) == largest)
        else:
            order = source.reading.values(value.bits).astype(np.int64)
        places = np.argmax(order, axis=axis) if largest else np.argmin(order, axis=axis)
        bits = np.asarray(places, storage_dtype(made_width))
        poison = None if value.poison is None else value.poison.max(axis=axis)
        if poison is None or not poison.any():
            return (Value(made, bits),)
        return (Value(made, np.where(poison != 0, bits.dtype.type(0), bits), poison, None, run.origins),)

    return find


# --- declarations -----------------------------------------------------------------------------------------------------

_FIT = inferred(_without_axis, lambda op: ty.element_type(op.operands[0].type))
_WITH_NAN = frozenset(("max", "min"))
for _name in ("all", "any", "max", "min", "product", "sum"):
    _nan = _name in _WITH_NAN
    declare(
        f"reduce_{_name}",
        Form(bare="nan_mode" * _nan),
        resolvable,
        _reduced,
        _FIT,
        operands={"input": AT_LEAST_1D},
        results={"output": AT_LEAST_1D},
        properties=(AXIS, *[NAN_PROPERTY] * _nan),
        evaluate=_reduction(_name),
    )


def _argmax(op: Operation) -> str | None:
    given, made, axis = shape(op.operands[0]), shape(op.results[0]), op.number("axis")
    if not isinstance(ty.element_type(op.results[0].type), ty.IntegerType | ty.IndexType):
        return "result tensor is not of integer type"
    if given is None:
        return None
    if not 0 <= axis < len(given):
        return "specified axis is outside the rank of the tensor"
    expected = (*given[:axis], *given[axis + 1 :])
    if made is not None and not sizes_agree(expected, made):
        return f"expected output shape '{shown(expected)}', got '{shown(made)}'"
    return None


for _name, _since in (("argmax", d.Schema.MLIR22), ("argmin", d.Schema.LLVM24)):
    declare(
        _name,
        Form(bare="nan_mode"),
        resolvable,
        _argmax,
        operands={"input": AT_LEAST_1D},
        results={"output": TENSOR},
        properties=(AXIS, NAN_PROPERTY),
        since=_since,
        evaluate=OnValues(_index_of),
    )
