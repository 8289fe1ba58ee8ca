"""How resize and the Fourier transforms of tosa run, and the products of blocks that share scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import Function, Operands, picked
from halfulp.interp.dialects.tosa.evaluating import Element, checked, unsupported
from halfulp.interp.dialects.tosa.rules import truth
from halfulp.interp.dialects.tosa.shapes import sizes_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, elementary, floats
from halfulp.semantics.kernel import Kernel, Open, merged_ids
from halfulp.semantics.profile import Profile

_NEAREST = Rounding.TO_NEAREST_EVEN

# --- arithmetic -------------------------------------------------------------------------------------------------------


class Arithmetic:
    """Sums and products of arrays of codes in a format, each rounded once."""

    def __init__(self, fmt: FloatFormat, profile: Profile) -> None:
        self.format = fmt
        self._profile = profile
        self._kernels: dict[str, Kernel] = {}

    def _apply(self, name: str, a: Codes, b: Codes) -> Codes:
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = floats.binary(name, self.format, _NEAREST, 0, self._profile)
        return kernel.array(*np.broadcast_arrays(a, b)).results[0]

    def add(self, a: Codes, b: Codes) -> Codes:
        """Return sums."""
        return self._apply("add", a, b)

    def subtract(self, a: Codes, b: Codes) -> Codes:
        """Return differences."""
        return self._apply("subtract", a, b)

    def multiply(self, a: Codes, b: Codes) -> Codes:
        """Return products."""
        return self._apply("multiply", a, b)

    def divide(self, a: Codes, b: Codes) -> Codes:
        """Return quotients."""
        return self._apply("divide", a, b)

    def opened(self, sums: Codes) -> Any:
        """Return the marks of sums or products: any NaN and either zero is right, as for an addition of -0."""
        kernel = floats.binary("add", self.format, _NEAREST, floats.NSZ, self._profile)
        nothing = np.broadcast_to(sums.dtype.type(self.format.sign_mask or 0), sums.shape)
        return None if kernel.open is None else kernel.open((sums, nothing), (sums,))

    def codes(self, numbers: Sequence[int]) -> Codes:
        """Return the codes of integers, rounded."""
        found = [scalar.from_integer(self.format, number).code for number in numbers]
        return ints_to_codes(found, self.format.bits, (len(found),))


def _spread(mask: Any, shape: tuple[int, ...], axes: int) -> Any:
    """Return what is marked anywhere, for all results with the same first ``axes`` indices."""
    rest = tuple(range(axes, mask.ndim))
    spread = mask.max(axis=rest, keepdims=True) if rest else mask
    return np.broadcast_to(spread.reshape(spread.shape[:axes] + (1,) * (len(shape) - axes)), shape)


def all_poison(operands: Operands, shape: tuple[int, ...], axes: int) -> Any:
    """Return poison for the results that depend on poison: all those with the same first ``axes`` indices."""
    found = None
    for value in operands:
        if value.poison is not None:
            found = merged_ids((found, _spread(value.poison, shape, axes)), shape)
    return found if found is not None and found.any() else None


def all_open(operands: Operands, shape: tuple[int, ...], axes: int) -> Any:
    """Return the marks of the results that depend on an unspecified element, as `all_poison` spreads poison."""
    found = None
    for value in operands:
        if value.open is not None and value.open.any():
            spread = np.where(_spread(value.open, shape, axes) != 0, np.uint8(Open.VALUE.value), np.uint8(0))
            found = spread if found is None else found | spread
    return found


def made_value(
    run: Run, type_: ty.Type, bits: Codes, poison: Any, open_: Any = None, unit: Arithmetic | None = None
) -> Value:
    """Return a result with the poison that its elements have; None for no poison.

    ``open_``: marks of elements that the language leaves unspecified. ``unit``: what made floats, of which the signs of
    zeros and the NaNs are unspecified.
    """
    if run.settings.track_open and unit is not None:
        own = unit.opened(bits)
        open_ = own if open_ is None else open_ | (0 if own is None else own)
    if poison is None or not poison.any():
        return Value(type_, bits, None, open_)
    return Value(type_, np.where(poison != 0, bits.dtype.type(0), bits), poison, open_, run.origins)


# --- resize -----------------------------------------------------------------------------------------------------------


def _places(size: int, count: int, scale: Sequence[int], offset: int) -> tuple[Any, Any, Any]:
    """Return, for each place of the result along an axis, both neighbours in the input, and the distance from the first
    in parts of ``scale[0]``.
    """
    up, down = scale
    position = np.arange(count, dtype=np.int64) * down + offset
    first = position // up
    return np.maximum(first, 0), np.minimum(first + 1, size - 1), position - first * up


def _require_resize(op: Operation, scale: Sequence[int], offset: Sequence[int], border: Sequence[int]) -> None:
    for axis, name in enumerate("yx"):
        up, down = scale[2 * axis : 2 * axis + 2]
        checks = {
            f"scale_{name}_n > 0 && scale_{name}_d > 0": up > 0 and down > 0,
            f"scale_{name}_n <= (1 << 11)": up <= 1 << 11,
            f"scale_{name}_d < 16 * scale_{name}_n": down < 16 * up,
            f"offset_{name} >= -scale_{name}_n && offset_{name} < 16 * scale_{name}_n": -up <= offset[axis] < 16 * up,
            f"border_{name} >= -16 * scale_{name}_n && border_{name} < scale_{name}_n": -16 * up <= border[axis] < up,
        }
        for condition, holds in checks.items():
            if not holds:
                raise undefined(op, f"REQUIRE({condition}) does not hold")


def resize(op: Operation, settings: Settings) -> Function:
    """Return the function that takes the nearest element for each place of the result, or mixes four."""
    bilinear = op.prop("mode", EnumAttr).keywords == "BILINEAR"
    given, made_element = (
        Element(ty.element_type(value.type), settings.profile) for value in (op.operands[0], *op.results)
    )
    if given.kind not in ("i", "f", "b") or (bilinear and given.kind == "b"):
        raise unsupported(op, given.type)

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        value = operands[0]
        scale, offset, border = (sizes_of(op, each) for each in operands[1:])
        _require_resize(op, scale, offset, border)
        counts = []
        for axis in range(2):
            up, down = scale[2 * axis : 2 * axis + 2]
            steps, rest = divmod((value.shape[1 + axis] - 1) * up - offset[axis] + border[axis], down)
            if rest:
                raise undefined(op, f"the size of axis {1 + axis} of the result is not an integer")
            counts.append(steps + 1)
        made = checked(op, (value.shape[0], *counts, value.shape[3]), settings)
        (y0, y1, dy), (x0, x1, dx) = (
            _places(value.shape[1 + axis], counts[axis], scale[2 * axis : 2 * axis + 2], offset[axis])
            for axis in range(2)
        )
        if not bilinear:
            rows = np.where(2 * dy >= scale[0], y1, y0)
            columns = np.where(2 * dx >= scale[2], x1, x0)
            return (picked(value, (slice(None), rows[:, np.newaxis], columns), made),)
        corners = [
            picked(value, (slice(None), rows[:, np.newaxis], columns), op.operands[0].type)
            for rows in (y0, y1)
            for columns in (x0, x1)
        ]
        shape = corners[0].shape
        poison, open_ = (each(tuple(corners), shape, len(shape)) for each in (all_poison, all_open))
        mix = _mix_floats if given.kind == "f" else _mix_integers
        bits = mix([corner.bits for corner in corners], given, made_element, dy, dx, scale)
        unit = Arithmetic(made_element.format, settings.profile) if given.kind == "f" else None
        return (made_value(run, made, bits, poison, open_, unit),)

    return run_op


def _mix_integers(
    corners: Sequence[Codes], given: Element, made: Element, dy: Any, dx: Any, scale: Sequence[int]
) -> Codes:
    v00, v01, v10, v11 = (given.reading.values(corner).astype(np.int64) for corner in corners)
    down, right = dy[:, np.newaxis, np.newaxis], dx[:, np.newaxis]
    up, left = scale[0] - down, scale[2] - right
    total = v00 * up * left + v01 * up * right + v10 * down * left + v11 * down * right
    kept = total & (1 << made.width) - 1 if made.width < 64 else total
    return np.asarray(kept, np.int64).astype(ints_to_codes([0], made.width, ()).dtype)


def _mix_floats(
    corners: Sequence[Codes], given: Element, made: Element, dy: Any, dx: Any, scale: Sequence[int]
) -> Codes:
    # Elements of 8 bits are mixed in f32.
    wide = ty.F("f32").format if made.format.bits < 16 else made.format
    unit = Arithmetic(wide, made.profile)
    if wide is not made.format:
        extend = casts.convert(given.format, wide, _NEAREST, 0, made.profile)
        corners = [extend.array(corner).results[0] for corner in corners]
    one = unit.codes([1])
    down, right = (
        unit.divide(unit.codes(each.tolist()), unit.codes([up])) for each, up in ((dy, scale[0]), (dx, scale[2]))
    )
    down, right = down[:, np.newaxis, np.newaxis], right[:, np.newaxis]
    up, left = unit.subtract(one, down), unit.subtract(one, right)
    total = None
    for corner, vertical, horizontal in zip(corners, (up, up, down, down), (left, right, left, right), strict=True):
        term = unit.multiply(unit.multiply(corner, vertical), horizontal)
        total = term if total is None else unit.add(total, term)
    assert total is not None
    if wide is made.format:
        return total
    return casts.convert(wide, made.format, _NEAREST, 0, made.profile).array(total).results[0]


# --- Fourier transforms -----------------------------------------------------------------------------------------------


def _circle(fmt: FloatFormat, height: int, width: int, profile: Profile) -> tuple[Codes, Codes]:
    """Return the cosines and sines of the angles 2 pi (y/height + x/width), each the nearest number of the format."""
    y, x = np.arange(height)[:, np.newaxis], np.arange(width)
    half_turns = 2 * ((y / height + x / width) % 1)  # exact: both sizes are powers of two
    angles = half_turns.astype(np.float32).view(np.uint32)
    cosines, sines = (
        elementary.unary(name, fmt, _NEAREST, 0, profile).array(angles).results[0] for name in ("cospi", "sinpi")
    )
    return cosines, sines


def _fft(op: Operation, settings: Settings, real: bool) -> Function:
    element = Element(ty.element_type(op.operands[0].type), settings.profile)
    if element.type != ty.F("f32"):
        raise unsupported(op, element.type)
    unit = Arithmetic(element.format, settings.profile)
    negate = floats.unary("negate", element.format, 0, settings.profile)
    inverse = not real and truth(op, "inverse")

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        count, height, width = operands[0].shape
        for size, name in ((height, "H"), (width, "W")):
            if size & (size - 1):
                raise undefined(op, f"{name} is {size}, which is not a power of two")
        columns = width // 2 + 1 if real else width
        shape = (count, height, columns)
        types = [checked(op, shape, settings, number) for number in range(2)]
        cosines, sines = _circle(element.format, height, width, settings.profile)
        negated = negate.array(sines).results[0]
        # The inverse turns the other way.
        forward, backward = (negated, sines) if inverse else (sines, negated)
        rows, places = np.arange(height)[:, np.newaxis], np.arange(columns)
        sums = [np.zeros(shape, cosines.dtype) for _ in range(2)]
        for y in range(height):
            for x in range(width):
                where = ((y * rows) % height, (x * places) % width)
                a, b, c = (each[where] for each in (cosines, forward, backward))
                given = [value.bits[:, y, x][:, np.newaxis, np.newaxis] for value in operands]
                terms = [unit.multiply(given[0], a), unit.multiply(given[0], c)]
                if not real:
                    others = [unit.multiply(given[1], b), unit.multiply(given[1], a)]
                    terms = [unit.add(one, other) for one, other in zip(terms, others, strict=True)]
                else:
                    terms[1] = _where_imaginary(terms[1], where, height, width, element.format)
                sums = [unit.add(total, term) for total, term in zip(sums, terms, strict=True)]
        poison, open_ = (each(operands, shape, 1) for each in (all_poison, all_open))
        return tuple(made_value(run, type_, bits, poison, open_, unit) for type_, bits in zip(types, sums, strict=True))

    return run_op


def _where_imaginary(term: Codes, where: tuple[Any, Any], height: int, width: int, fmt: FloatFormat) -> Codes:
    """Return -0, which changes no sum, in the place of terms that the specification leaves out: their angle is a
    multiple of half a turn in both directions.
    """
    down, right = where
    kept = np.zeros(np.broadcast_shapes(down.shape, right.shape), np.bool_)
    if height > 1:
        kept |= np.broadcast_to(down % (height // 2) > 0, kept.shape)
    if width > 1:
        kept |= np.broadcast_to(right % (width // 2) > 0, kept.shape)
    return np.where(kept, term, term.dtype.type(fmt.sign_mask or 0))


def fft2d(op: Operation, settings: Settings) -> Function:
    """Return the function of the Fourier transform of complex numbers.

    The order is that of the specification: rows, then columns; each term is two rounded products and their rounded
    sum. The cosines and sines are the nearest numbers of the exact angles.
    """
    return _fft(op, settings, real=False)


def rfft2d(op: Operation, settings: Settings) -> Function:
    """Return the function of the Fourier transform of real numbers, in the order of `fft2d`."""
    return _fft(op, settings, real=True)
