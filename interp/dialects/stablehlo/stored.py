"""dot_general and convolution of quantised elements as StableHLO's interpreter computes them: on stored integers.

The products of stored integers are added in 32 bits, and the sum is multiplied by one scale, that of the first channel.
What the zero point of the left operand adds is multiplied by the scale separately. Both are then truncated to integers,
and the result to the storage type, without a clamp (`StablehloLegalizeQuantToMath.cpp`). A profile chooses this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halfulp.interp.dialects.stablehlo.moving import padded
from halfulp.interp.dialects.stablehlo.quantized import of_f32, on_numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Run, Slots, Step, lift, lower
from halfulp.interp.values.value import Value
from halfulp.semantics import quantized as semantics
from halfulp.semantics import stablehlo
from halfulp.semantics.quant import Quantization

OnStored = Callable[[Operation, Compiler], Step | None]
Padding = Callable[[Operation], tuple[Sequence[int], Sequence[int]]]
"""From an op, the padding below and above each dimension of its left side."""


def _integers(type_: ty.Type) -> ty.Type:
    return ty.with_element(type_, ty.I32)


def product_of_stored(
    covers: Callable[[Operation, Sequence[Quantization]], bool] = lambda op, found: True,
    padding: Padding | None = None,
) -> OnStored:
    """Return the function that compiles a product of quantised elements.

    ``covers``: tells whether the interpreter computes an op in this way, from the quantisations of both operands and of
    the result. ``padding``: the padding of the left operand.
    """

    def compile_(op: Operation, compiler: Compiler) -> Step | None:
        found = of_f32(op)
        if found is None:
            return None
        left, right, result = found
        if left.axis is not None or (right.axis is None) != (result.axis is None) or not covers(op, found):
            return None
        inner = on_numbers(op, _integers, leaving_out=() if padding is None else ("padding",))
        step, finish = compiler.part(inner), semantics.stored_sum(left, right, result)
        given = [(slot, value.type) for slot, value in zip(compiler.slots(op.operands), op.operands, strict=True)]
        (one, other), (made,), (out,) = map(compiler.slots, (inner.operands, inner.results, op.results))
        below, above = ((), ()) if padding is None else padding(op)
        point = left.zero_points[0]

        def product(slots: Slots, a: Value, b: Value) -> Value:
            slots[one], slots[other] = lower(a), lower(b)
            step(slots)
            total: Value = lift(slots[made], inner.results[0].type)
            slots[one] = slots[other] = slots[made] = None
            return total

        def run(slots: Slots) -> None:
            sides = [
                _widened(lift(slots[slot], type_), q) for (slot, type_), q in zip(given, (left, right), strict=True)
            ]
            if any((*below, *above)):
                sides[0] = _padded(slots[0], sides[0], point, below, above)
            total = product(slots, *sides)
            offset = np.zeros_like(total.bits)
            if point:
                filled = np.full_like(sides[0].bits, point & 0xFFFFFFFF)
                offset = product(slots, Value(sides[0].type, filled), sides[1]).bits
            (codes,) = finish.array(total.bits, offset).results
            slots[out] = lower(Value(op.results[0].type, codes, total.poison, None, total.origins))

        return run

    return compile_


def _widened(value: Value, q: Quantization) -> Value:
    (bits,) = stablehlo.extend(q.storage_width, q.storage_signed, 32).array(value.bits).results
    return Value(_integers(value.type), bits, value.poison, None, value.origins)


def _padded(run: Run, value: Value, point: int, below: Sequence[int], above: Sequence[int]) -> Value:
    fill = Value(ty.TensorType((), ty.I32), np.array(point & 0xFFFFFFFF, np.uint32))
    rank = len(below)
    return padded(run, value, fill, below, above, (0,) * rank, ty.TensorType((None,) * rank, ty.I32))
