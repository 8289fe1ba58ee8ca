"""How the convolutions, matmul and pools of tosa run: loops in the order of the specification, in its accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import Operands, picked, rearranged, replaced, reshaped
from halfulp.interp.dialects.stablehlo.windows import Window
from halfulp.interp.dialects.tosa.elementwise import extremum, ignores_nan
from halfulp.interp.dialects.tosa.evaluating import Element, check_rank, checked, of_any_shape, part, spread_to
from halfulp.interp.dialects.tosa.loops import (
    KEPT,
    Body,
    Converter,
    Loops,
    Space,
    code_of,
    conversion,
    element,
    filled,
    neutral_of_sum,
    product_kernel,
    structured,
    sum_kernel,
)
from halfulp.interp.dialects.tosa.rules import constant_shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineExpr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import casts, floats, tosa
from halfulp.semantics.kernel import Kernel, Outcome

_NEAREST = Rounding.TO_NEAREST_EVEN
_MARK = ty.I1


def _scalar(type_: ty.Type) -> ty.Type:
    return ty.TensorType((), ty.element_type(type_))


def _whole(window: Window, before: int, after: int) -> Window:
    """Return a window with axes that it does not move along in front of and behind its own."""
    ones, zeros = (1,) * before, (0,) * before
    ends, rest = (1,) * after, (0,) * after
    low, high = (zeros + each + rest for each in (window.low, window.high))
    sizes, strides, base, dilations = (ones + each + ends for each in window[:4])
    return Window(sizes, strides, base, dilations, low, high)


# --- matmul -----------------------------------------------------------------------------------------------------------


def _sum_of_products(op: Operation, acc: ty.Type, settings: Settings, marked: bool) -> Any:
    """Return the body that adds a product to a sum. ``marked``: a third operand, a truth value, says whether to."""
    made = element(acc, settings.profile)
    body = Body([acc, acc, *[_MARK] * marked, acc])
    one, other, *mark, total = body.arguments
    product = body.apply(product_kernel(op, made), (one, other), acc)
    if marked:
        nothing = body.apply(_constant(neutral_of_sum(made), made.width), (product,), acc)
        product = body.apply(KEPT, (*mark, product, nothing), acc)
    return body.ends_with(body.apply(sum_kernel(op, made), (total, product), acc))


def _constant(code: int, width: int) -> Any:
    """Return the kernel whose result is always the same code of ``width`` bits."""
    return Kernel(lambda a: code, lambda a: Outcome((tosa.repeated(code, width, a),)))


def _matmul(op: Operation, settings: Settings, transposed: bool) -> Loops:
    (result,) = op.results
    acc = ty.element_type(result.type)
    if isinstance(acc, ty.IntegerType) and acc.width < 32:
        raise Unsupported(
            f"the specification has no '{op.name}' whose sums are of type {acc}",
            location=op.location, op=op.name, hint="sum in i32 or i48, and narrow the sums by tosa.rescale",
        )  # fmt: skip
    convert = [Converter(op, index, 2 + index, acc, settings) for index in (0, 1)]
    space = Space(3, 1)
    batch, row, column = space.outer
    (inner,) = space.inner
    second = [batch, column, inner] if transposed else [batch, inner, column]
    types = [of_any_shape(_scalar(result.type), 3)] * 2

    def before(run: Run, operands: Operands) -> list[Value]:
        one, other = (each(run, operands) for each in convert)
        shape = (one.shape[0], one.shape[1], other.shape[1 if transposed else 2])
        if other.shape[0] != shape[0] and other.shape[0] == 1:
            other = spread_to(other, (shape[0], *other.shape[1:]), other.type)
        return [one, other, filled(shape, types[0], 0)]

    def after(run: Run, operands: Operands, found: Value) -> Value:
        return _typed(op, found, settings)

    maps = ([batch, row, inner], second, [batch, row, column])
    return Loops(space, maps, types, types[0], _sum_of_products(op, acc, settings, False), before, after)


def _typed(op: Operation, found: Value, settings: Settings) -> Value:
    made = checked(op, found.shape, settings)
    return retyped(found, made)


MATMUL = structured(lambda op, settings: _matmul(op, settings, False))
MATMUL_T = structured(lambda op, settings: _matmul(op, settings, True))

# --- convolutions -----------------------------------------------------------------------------------------------------


def _sides(numbers: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(numbers[::2]), tuple(numbers[1::2])


def convolution(depthwise: bool, transposed: bool) -> OnValues:
    """Return the evaluator of a convolution. ``transposed``: the steps are in the input instead of the window."""
    return structured(lambda op, settings: _convolution(op, settings, depthwise, transposed))


def _window_of(op: Operation, sizes: Sequence[int], transposed: bool) -> Window:
    """Return the window of a convolution.

    A transposed convolution is an ordinary one on the input with zeros between its elements; both are turned around,
    so that the elements of the window are read in their order.
    """
    count, strides = len(sizes), op.numbers("stride")
    ones = (1,) * count
    if not transposed:
        low, high = _sides(op.numbers("pad"))
        return Window(tuple(sizes), strides, ones, op.numbers("dilation"), low, high)
    before, after = _sides(op.numbers("out_pad"))
    # The input is turned around: what comes before it comes after it.
    low, high = (tuple(size - 1 + pad for size, pad in zip(sizes, each, strict=True)) for each in (after, before))
    return Window(tuple(sizes), ones, strides, ones, low, high)


def _convolution(op: Operation, settings: Settings, depthwise: bool, transposed: bool) -> Loops:
    acc = op.prop("acc_type", at.TypeAttr).type
    count = len(op.numbers("stride"))
    convert = [Converter(op, index, 3 + index, acc, settings) for index in (0, 1)]
    sizes = ty.shape_of(op.operands[1].type)
    space = Space(count + 3, count) if depthwise else Space(count + 2, count + 1)
    batch, places, channels = space.outer[0], space.outer[1 : count + 1], space.outer[count + 1 :]
    elements, features = space.inner[:count], space.inner[count:]
    kernel = sizes[:count] if depthwise and sizes else sizes[1 : count + 1] if sizes else (1,) * count
    fixed = _window_of(op, [size or 1 for size in kernel], transposed)
    read: list[AffineExpr] = [fixed.element(axis, places[axis], elements[axis]) for axis in range(count)]
    data = [batch, *read, *(channels[:1] if depthwise else features)]
    weight = [*elements, *channels] if depthwise else [*channels, *elements, *features]
    # Integers are 0 outside of the input. A float there would be multiplied, which infinities show.
    marked = isinstance(acc, ty.FloatType) and (fixed.has_padding or None in kernel)
    marks = of_any_shape(ty.TensorType((), _MARK), count)
    types = [convert[0].type, convert[1].type, *[marks] * marked]
    made = of_any_shape(ty.TensorType((), acc), space.parallel)

    def turned(value: Value) -> Value:
        axes = tuple(range(1, count + 1))
        return rearranged(value, value.type, lambda array, trailing: np.flip(array, axes)) if transposed else value

    def before(run: Run, operands: Operands) -> list[Value]:
        for name, value in zip(("input", "weight"), operands, strict=False):
            check_rank(op, name, value, count + 2)
        one, other = (each(run, operands) for each in convert)
        given = other.shape[:count] if depthwise else other.shape[1 : count + 1]
        window = _window_of(op, given, transposed)
        shape = window.places(one.shape[1 : count + 1])
        inside = []
        if marked:
            ones = filled(one.shape[1 : count + 1], marks, 1)
            inside = [window.padded(run, ones, filled((), ty.TensorType((), _MARK), 0))]
        whole = _whole(window, 1, 1)
        data = whole.padded(run, turned(one), filled((), ty.TensorType((), acc), 0))
        last = other.shape[count:] if depthwise else other.shape[:1]
        return [data, other, *inside, filled((one.shape[0], *shape, *last), made, 0)]

    def after(run: Run, operands: Operands, found: Value) -> Value:
        return _with_bias(op, run, turned(found), operands[2], settings, count)

    maps: list[list[AffineExpr]] = [data, weight, *[read] * marked, space.outer]
    return Loops(space, maps, types, made, _sum_of_products(op, acc, settings, marked), before, after)


def _with_bias(op: Operation, run: Run, found: Value, bias: Value, settings: Settings, count: int) -> Value:
    """Return the sums of a convolution as its result: in the type of the result, plus the bias."""
    (result,) = op.results
    rank = count + 2
    if found.ndim > rank:
        found = reshaped(found, of_any_shape(found.type, rank), (*found.shape[: count + 1], -1))
        found = reshaped(found, found.type, found.bits.shape[:rank])
    target = of_any_shape(_scalar(result.type), rank)
    elements = [element(each, settings.profile) for each in (found.type, target)]
    total = Value(of_any_shape(found.type, rank), found.bits, found.poison, found.open, found.origins)
    if elements[0].type != elements[1].type:
        kernel = (
            conversion(op, *elements)
            if elements[0].kind == "f"
            else tosa.between_integers(elements[0].reading, elements[1].width)
        )
        (total,) = part(op, kernel, [total.type], target, settings).run(run, (total,))
    added = spread_to(bias, found.shape, target)
    (made,) = part(op, sum_kernel(op, elements[1]), [target, target], target, settings).run(run, (total, added))
    return _typed(op, made, settings)


# --- pools ------------------------------------------------------------------------------------------------------------


def known_sizes(op: Operation, name: str) -> tuple[int, ...]:
    """Return sizes of a window: an attribute, or a constant operand. Raises Unsupported for a computed operand."""
    if name in op.properties:
        return op.numbers(name)
    assert op.definition is not None
    found = next(
        constant_shape(value)
        for slot, value in zip(op.definition.operands, op.operands, strict=True)
        if slot.name == name
    )
    if found is None:
        raise Unsupported(
            f"halfulp evaluates '{op.name}' only if '{name}' is a tosa.const_shape",
            location=op.location,
            op=op.name,
            hint="fold the ops on shapes first, for example by mlir-opt -canonicalize",
        )
    return tuple(found)


def _pooled(
    op: Operation, settings: Settings, acc: ty.Type, convert: Callable[[Run, Operands], Value], initial: int,
    fill: int, kernel: Any, after: Callable[[Run, Operands, Value, Window], Value],
) -> Loops:  # fmt: skip
    """Return the loops of a pool. ``initial``: the code with which it begins; ``fill``: that of the padding."""
    sizes, strides, pads = (known_sizes(op, name) for name in ("kernel", "stride", "pad"))
    low, high = _sides(pads)
    window = Window(tuple(sizes), strides, (1, 1), (1, 1), low, high)
    space = Space(4, 2)
    batch, *places, channel = space.outer
    read = [window.element(axis, places[axis], space.inner[axis]) for axis in range(2)]
    made = of_any_shape(ty.TensorType((), acc), 4)
    # An operand that is not read gives the sizes of the window.
    sized = ty.TensorType(tuple(sizes), ty.I1)
    body = Body([acc, ty.I1, acc])
    value, _, total = body.arguments
    block = body.ends_with(body.apply(kernel, (total, value), acc))

    def before(run: Run, operands: Operands) -> list[Value]:
        given = convert(run, operands)
        shape = (given.shape[0], *window.places(given.shape[1:3]), given.shape[3])
        around = filled((), ty.TensorType((), acc), fill)
        data = _whole(window, 1, 1).padded(run, given, around)
        return [data, filled(sizes, sized, 0), filled(shape, made, initial)]

    def finish(run: Run, operands: Operands, found: Value) -> Value:
        return after(run, operands, found, window)

    return Loops(space, ([batch, *read, channel], space.inner, space.outer), (made, sized), made, block, before, finish)


def _max_pool(op: Operation, settings: Settings) -> Loops:
    made = element(op.operands[0].type, settings.profile)
    initial = least(op, made)

    def given(run: Run, operands: Operands) -> Value:
        value = operands[0]
        return Value(of_any_shape(value.type, 4), value.bits, value.poison, value.open, value.origins)

    def after(run: Run, operands: Operands, found: Value, window: Window) -> Value:
        return _typed(op, found, settings)

    return _pooled(op, settings, made.type, given, initial, initial, extremum(op, made, True), after)


def least(op: Operation, made: Element, largest: bool = True) -> int:
    """Return the code with which a maximum begins, or a minimum if not ``largest``."""
    if made.kind != "f":
        reading = made.reading
        return (reading.low if largest else reading.high) & (1 << made.width) - 1
    fmt = made.format
    if ignores_nan(op) and fmt.nan_code is not None:
        return int(fmt.nan_code)
    most = fmt.max_code if fmt.infinity_code is None else fmt.infinity_code
    return int(scalar.with_sign(fmt, int(largest), most))


def _average_pool(op: Operation, settings: Settings) -> Loops:
    acc = op.prop("acc_type", at.TypeAttr).type
    convert = Converter(op, 0, 1, acc, settings)
    made = element(acc, settings.profile)
    (result,) = op.results
    target = element(result.type, settings.profile)
    four = of_any_shape(_scalar(result.type), 4)

    def after(run: Run, operands: Operands, found: Value, window: Window) -> Value:
        counts = _counts(window, operands[0].shape[1:3])
        whole = filled(found.shape, four, 0)
        for count in sorted(set(counts.reshape(-1).tolist())):
            rows, columns = np.nonzero(counts == count)
            index = (slice(None), rows, columns)
            some = picked(found, index, of_any_shape(found.type, 3))
            three = of_any_shape(four, 3)
            if made.kind == "f":
                some = _divided(op, run, some, count, three, settings)
            else:
                zero = spread_to(operands[2], some.shape, three)
                kernel = tosa.average(count, target.width)
                (some,) = part(op, kernel, [some.type, three], three, settings).run(run, (some, zero))
            whole = replaced(run, whole, index, some)
        return _typed(op, whole, settings)

    zero = neutral_of_sum(made)
    return _pooled(op, settings, acc, convert, 0, zero, sum_kernel(op, made), after)


def _counts(window: Window, shape: Sequence[int]) -> Any:
    """Return the number of elements inside of the input for each place of a window of two dimensions."""
    found = []
    for axis, places in enumerate(window.places(shape)):
        first = np.arange(places)[:, np.newaxis] * window.strides[axis] - window.low[axis]
        each = first + np.arange(window.sizes[axis])
        found.append(((each >= 0) & (each < shape[axis])).sum(axis=1))
    return np.outer(*found)


def _divided(op: Operation, run: Run, value: Value, count: int, target: ty.Type, settings: Settings) -> Value:
    made, wanted = element(value.type, settings.profile), element(target, settings.profile)
    divide = floats.binary("divide", made.format, _NEAREST, 0, settings.profile)
    divisor = filled(value.shape, value.type, code_of(made, count))
    (found,) = part(op, divide, [value.type] * 2, value.type, settings).run(run, (value, divisor))
    if made.type == wanted.type:
        return found
    narrow = casts.convert(made.format, wanted.format, _NEAREST, 0, settings.profile)
    return part(op, narrow, [value.type], target, settings).run(run, (found,))[0]


MAX_POOL = structured(_max_pool)
AVERAGE_POOL = structured(_average_pool)
