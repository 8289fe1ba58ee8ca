"""Kernels of quant.qcast and quant.dcast (quant document, "Quantize cast operation" and "Dequantize cast operation").

Each step of the document is one rounded operation in the expressed format. The document does not specify the
roundings; here every step rounds to nearest even, and the last step of qcast, to the integer, as the profile says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast, word_floats
from halfulp.fp_formats.paths.affine import Affine, to_integers, to_numbers
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import casts
from halfulp.semantics.floats import is_nan
from halfulp.semantics.kernel import Computes, Integer, Kernel, Outcome, Quantized, Scalar, Stored, faults_of, poison
from halfulp.semantics.profile import Profile

RNE = Rounding.TO_NEAREST_EVEN


@dataclass(frozen=True)
class Quantization:
    """The content of a ``!quant.uniform`` type, which defines the real numbers of stored integers.

    ``scales`` (f64 values of the literals) and ``zero_points`` have the same number of entries. Per layer it is one;
    per channel, one for each index of the dimension ``axis``. For sub-channels there is one for each block of elements,
    in an array of ``parameter_shape``, row-major, which has as many dimensions as the tensor.
    """

    expressed: FloatFormat
    storage_width: int
    storage_signed: bool
    storage_min: int
    storage_max: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    parameter_shape: tuple[int, ...] = ()

    @cached_property
    def _scale_codes(self) -> Codes:
        bits = np.array(self.scales, np.float64).view(np.uint64)
        codes: Codes = fast.convert(FORMATS["f64"], self.expressed, bits, RNE).codes
        return codes

    def parameters(self, profile: Profile) -> tuple[Codes, Codes]:
        """Return the scales and the zero points, rounded to the expressed format, as codes in one dimension each."""
        mask = (1 << self.storage_width) - 1
        points = list(self.zero_points)
        if profile.zero_point == "wrap":
            half = (mask + 1) >> 1 if self.storage_signed else 0
            points = [((z + half) & mask) - half for z in points]
        codes = ints_to_codes([z & ((1 << 64) - 1) for z in points], 64, (len(points),))
        return self._scale_codes, fast.from_integer(self.expressed, codes, 64, True, RNE, profile.conversions).codes

    def clamped(self, codes: Codes) -> Codes:
        """Clamp codes of the storage type to its minimum and maximum; the result may be the operand itself."""
        width, bits = self.storage_width, 8 * codes.itemsize
        half = 1 << width >> 1 if self.storage_signed else 0
        if (self.storage_min, self.storage_max) == (-half, (1 << width) - half - 1):
            return codes
        if not self.storage_signed:
            return np.asarray(np.clip(codes, self.storage_min, self.storage_max))
        unused = bits - width
        numbers = (codes << unused).view(f"i{codes.itemsize}") >> unused
        clamped = np.clip(numbers, self.storage_min, self.storage_max).view(codes.dtype)
        return np.asarray(clamped & ((1 << width) - 1))

    def affine(self, profile: Profile) -> Affine | None:
        """Return a description of the casts for `paths.affine`; None for parameters per block, and for a format of
        several limbs.
        """
        if self.parameter_shape or self.expressed.limbs > 1:
            return None
        scales, points = self.parameters(profile)
        return Affine(
            self.expressed,
            self.storage_width,
            self.storage_signed,
            self.storage_min,
            self.storage_max,
            scales,
            points,
            None if len(scales) == 1 else self.axis,
        )

    def real(self) -> Quantized:
        """Return the meaning of stored integers as real numbers: by the scales of the type as they are written, not
        rounded.
        """

        def parameters(shape: tuple[int, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
            scales, points = np.array(self.scales, np.float64), np.array(self.zero_points, np.float64)
            return self.spread(scales, shape), self.spread(points, shape)

        return Quantized(Integer(self.storage_width, self.storage_signed), parameters, len(self.scales) > 1)

    def spread(self, flat: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return parameters of one dimension in a shape that broadcasts to a tensor of shape ``shape``."""
        limbs = flat.shape[1:]
        if len(flat) == 1:
            return flat.reshape((1,) * len(shape) + limbs)
        if self.axis is not None:
            return flat.reshape(tuple(len(flat) if k == self.axis else 1 for k in range(len(shape))) + limbs)
        if not self.parameter_shape:
            return flat.reshape((1,) * len(shape) + limbs)
        blocks = flat.reshape(self.parameter_shape + limbs)
        for axis, (count, size) in enumerate(zip(self.parameter_shape, shape, strict=True)):
            if 1 < count < size:
                blocks = np.repeat(blocks, size // count, axis=axis)
        return blocks


def dcast(quantization: Quantization, profile: Profile) -> Kernel:
    """Return the kernel of quant.dcast: (itofp(stored) - itofp(zero point)) * scale, from codes of the storage type to
    codes of the expressed format.
    """
    q = quantization
    fmt = q.expressed
    scales, points = q.parameters(profile)
    affine = q.affine(profile)

    def array_implementation(stored: Codes) -> Outcome:
        quick = None if affine is None else to_numbers(affine, stored, profile.arithmetic)
        if quick is not None:
            return Outcome((quick,))
        number = fast.from_integer(fmt, stored, q.storage_width, q.storage_signed, RNE, profile.conversions)
        difference = fast.subtract(fmt, number.codes, q.spread(points, stored.shape), RNE, profile.arithmetic)
        product = fast.multiply(fmt, difference.codes, q.spread(scales, stored.shape), RNE, profile.arithmetic)
        return Outcome((product.codes,))

    one_scale, one_point = _single(fmt, scales), _single(fmt, points)
    half = 1 << q.storage_width >> 1

    def scalar_implementation(stored: int) -> Scalar:
        signed = stored - (half << 1) if q.storage_signed and stored & half else stored
        number = scalar.from_integer(fmt, signed, RNE, profile.conversions)
        difference = scalar.subtract(fmt, number.code, one_point, RNE, profile.arithmetic)
        return scalar.multiply(fmt, difference.code, one_scale, RNE, profile.arithmetic).code

    return Kernel(scalar_implementation, array_implementation, real=Computes("convert", (q.real(),), fmt))


def qcast(quantization: Quantization, profile: Profile) -> Kernel:
    """Return the kernel of quant.qcast: x / scale + itofp(zero point), rounded to an integer of the storage type and
    clamped; the results are codes of the storage type.
    """
    q = quantization
    fmt, width = q.expressed, q.storage_width
    scales, points = q.parameters(profile)
    rounding = Rounding[profile.qcast_rounding.upper()]
    saturates = profile.qcast_out_of_range == "saturate"
    policy = replace(profile.conversions, float_to_int="saturate" if saturates else "poison")
    outside = poison(
        "quant.qcast of NaN" if saturates else f"quant.qcast of NaN or of a value outside the {width}-bit storage type"
    )
    mask = (1 << width) - 1
    affine = q.affine(profile)

    def by_steps(x: Codes, scales: Codes, points: Codes) -> ArrayResult:
        scaled = fast.divide(fmt, x, scales, RNE, profile.arithmetic)
        shifted = fast.add(fmt, scaled.codes, points, RNE, profile.arithmetic)
        stored = fast.to_integer(fmt, shifted.codes, width, q.storage_signed, rounding, policy)
        masks = [scaled.poison, shifted.poison, is_nan(fmt, shifted.codes) if saturates else stored.poison]
        found = [mask for mask in masks if mask is not None]
        return ArrayResult(q.clamped(stored.codes), np.logical_or.reduce(found) if found else None)

    def array_implementation(x: Codes) -> Outcome:
        shape = x.shape[:-1] if fmt.limbs > 1 else x.shape
        found = None
        if affine is not None:
            found = to_integers(affine, x, rounding, profile.arithmetic, policy, by_steps)
        if found is None:
            found = by_steps(x, q.spread(scales, shape), q.spread(points, shape))
        return Outcome((found.codes,), faults_of([(outside, found.poison)]))

    one_scale, one_point = _single(fmt, scales), _single(fmt, points)

    def scalar_implementation(x: int) -> Scalar:
        scaled = scalar.divide(fmt, x, one_scale, RNE, profile.arithmetic)
        shifted = scalar.add(fmt, scaled.code, one_point, RNE, profile.arithmetic)
        found = scalar.to_integer(fmt, shifted.code, width, q.storage_signed, rounding, policy)
        if scaled.poison or shifted.poison or found.poison or fmt.is_nan(shifted.code):
            return outside
        number = found.code
        if q.storage_signed and number >> (width - 1):
            number -= 1 << width
        return min(max(number, q.storage_min), q.storage_max) & mask

    words, real = _qcast_words(q, rounding, profile), Computes("convert", (fmt,), q.real())
    return Kernel(scalar_implementation, array_implementation, faults=(outside,), words=words, real=real)


def stored(quantization: Quantization) -> Kernel:
    """Return the kernel of quant.scast from a quantised type to its storage type: codes are not changed."""
    return replace(casts.bitcast(), real=Stored(quantization.real()))


def _qcast_words(q: Quantization, rounding: Rounding, profile: Profile) -> Implementation | None:
    """Return the description of qcast on machine words, if each of its steps has one."""
    fmt = q.expressed
    scales, points = q.parameters(profile)
    if len(scales) != 1 or fmt.limbs > 1:
        return None
    divide, add = (word_floats.binary(name, fmt, RNE, profile.arithmetic) for name in ("divide", "add"))
    round_ = word_floats.to_integral(fmt, rounding, profile.arithmetic)
    cut = word_floats.to_integer(fmt, q.storage_width, q.storage_signed, Rounding.TOWARD_ZERO)
    if divide is None or add is None or round_ is None or cut is None:
        return None
    scale, point = _single(fmt, scales), _single(fmt, points)

    def implementation(x: Word) -> Word:
        stored: Word = cut(round_(add(divide(x, x.of(scale)), x.of(point))))
        least, most = stored.of(q.storage_min), stored.of(q.storage_max)
        stored = stored.less(least, q.storage_signed).choose(least, stored)
        return most.less(stored, q.storage_signed).choose(most, stored)

    return implementation


def _single(fmt: FloatFormat, codes: Codes) -> int:
    """Return the first parameter as a Python integer. A per-layer type has only this one, and only such a type has a
    scalar implementation.
    """
    return codes_to_ints(codes[:1], fmt.bits)[0]


QuantKernel = Callable[[Quantization, Profile], Kernel]
