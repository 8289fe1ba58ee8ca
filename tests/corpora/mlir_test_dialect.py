"""The ops of MLIR's test dialect that have a meaning: the passes that they test use it.

All others are unknown functions (`halfulp.conformance.whole_programs.printed`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from halfulp.conformance.whole_programs.printed import Calls, attributes_of
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.element_layout import runtime_shape
from halfulp.interp.values.value import Value


class TestCalls(Calls):
    """The unknown functions of one run, and the ops of the test dialect that are known."""

    def __call__(self, op: Operation, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> Sequence[Any]:
        """Return the results of an op. Raises what `Calls` raises."""
        if op.name == "test.with_bounds":
            return [self._with_bounds(op, types[0])]
        if op.name == "test.reflect_bounds":
            _check_bounds(op, operands[0])
            return operands
        if op.name == "test.constant":
            return [_constant(op, types[0])]
        if op.name == "test.reify_bound":
            return [_equal_bound(op, operands[0])]
        return super().__call__(op, operands, types)

    def _with_bounds(self, op: Operation, type_: ty.Type) -> Value:
        """Return a value inside the bounds of the op, the same for the same bounds: the op has no effects."""
        bounds = _bounds(op)
        rng = random.Random(repr((self.seed, sorted(bounds.items()))))
        element = ty.element_type(type_)
        width = width_of(element)
        shape = tuple(size or 0 for size in runtime_shape(type_, None) or ())
        count = 1
        for size in shape:
            count *= size
        codes = [_inside(bounds, width, rng) for _ in range(count)]
        return Value(type_, ints_to_codes(codes, width, shape))


def _constant(op: Operation, type_: ty.Type) -> Value:
    value = attributes_of(op).get("value")
    if not isinstance(value, at.IntegerAttr) or isinstance(type_, ty.ShapedType) or value.type != type_:
        raise Unsupported(f"the constant {value} of type '{type_}'", location=op.location, op=op.name)
    return Value(type_, ints_to_codes([value.code], width_of(type_), ()))


def _equal_bound(op: Operation, value: Any) -> Value:
    """Return the number, or the size of a dimension, that the op stands for. Raises Unsupported for other bounds."""
    given = attributes_of(op)
    kind, dimension = given.get("type"), given.get("dim")
    if (isinstance(kind, at.StringAttr) and kind.value != "EQ") or "scalable" in given or "constant" in given:
        raise Unsupported("a bound that is not the value", location=op.location, op=op.name)
    if isinstance(dimension, at.IntegerAttr):
        return Value(ty.IndexType(), ints_to_codes([value.shape[dimension.value]], 64, ()))
    assert isinstance(value, Value)
    return value


def _bounds(op: Operation) -> dict[str, int]:
    given = attributes_of(op)
    return {
        name: attribute.value
        for name, attribute in given.items()
        if name in ("umin", "umax", "smin", "smax") and isinstance(attribute, at.IntegerAttr)
    }


def _inside(bounds: dict[str, int], width: int, rng: random.Random) -> int:
    mask, half = (1 << width) - 1, 1 << (width - 1)
    low, high = bounds["umin"] & mask, bounds["umax"] & mask
    for _ in range(100):
        code = rng.choice((low, high, rng.randint(low, high))) if low <= high else low
        signed = code - (1 << width) if code & half else code
        if _signed(bounds["smin"], width) <= signed <= _signed(bounds["smax"], width):
            return code
    return bounds["smin"] & mask


def _signed(number: int, width: int) -> int:
    number &= (1 << width) - 1
    return number - (1 << width) if number >> (width - 1) else number


def _check_bounds(op: Operation, value: Value) -> None:
    """Raise AssertionFailed if a value is outside of the bounds that a pass has written at the op."""
    bounds = _bounds(op)
    width = width_of(value.element_type)
    if not bounds or value.poison is not None:
        return
    for code in codes_to_ints(value.bits, width):
        signed = _signed(code, width)
        mask = (1 << width) - 1
        unsigned_fits = bounds["umin"] & mask <= code <= bounds["umax"] & mask
        if not unsigned_fits or not _signed(bounds["smin"], width) <= signed <= _signed(bounds["smax"], width):
            raise AssertionFailed(f"{signed} is outside of the bounds {bounds}", location=op.location, op=op.name)
