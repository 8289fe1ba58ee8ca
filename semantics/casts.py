"""Conversions between element types as kernels: float to float, integer to float and back, bit casts, block scaling."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats import exact, fast, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics.codes import codes_to_ints
from halfulp.semantics.floats import Random, float_kernel, lost_nan
from halfulp.semantics.kernel import Codes, Kernel, Mask, Outcome, Scalar, faults_of, poison
from halfulp.semantics.profile import Profile

E8M0 = FORMATS["f8E8M0FNU"]
RNE = Rounding.TO_NEAREST_EVEN


@lru_cache(maxsize=4096)
def convert(source: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """arith.extf, truncf and convertf: the value, rounded once into the target."""
    policy = profile.conversions
    return float_kernel(
        lambda a: scalar.convert(source, target, a, rounding, policy),
        lambda a: fast.convert(source, target, a, rounding, policy),
        (source,),
        target,
        fastmath,
    )


def convert_stochastically(source: FloatFormat, target: FloatFormat, random: Random, profile: Profile) -> Kernel:
    """A conversion with stochastic rounding: ``random`` is (one unsigned integer per element, its width)."""
    assert random is not None
    lost = lost_nan(target)

    def array_face(a: Codes) -> Outcome:
        found = exact.convert(source, target, a, Rounding.STOCHASTIC, profile.conversions, random)
        return Outcome((found.codes,), faults_of([(lost, found.poison)]))

    def scalar_face(a: int) -> Scalar:
        raise AssertionError("stochastic rounding takes its random bits from an array")

    return Kernel(scalar_face, array_face)


def _sign_bit(codes: Codes, width: int) -> Mask:
    if width > 64:
        return np.asarray(codes[..., -1] >> np.uint64((width - 1) % 64) & np.uint64(1) != 0)
    if width == 0:
        return np.zeros(codes.shape, np.bool_)
    return np.asarray(codes >> codes.dtype.type(width - 1) != 0)


@lru_cache(maxsize=4096)
def from_integer(
    width: int, signed: bool, target: FloatFormat, profile: Profile, nneg: bool = False, rounding: Rounding = RNE
) -> Kernel:
    """arith.sitofp and uitofp: the integer, rounded once; ``nneg``: poison if the sign bit is set."""
    policy = profile.conversions
    lost = lost_nan(target)
    negative = poison("negative operand of arith.uitofp with nneg")
    half = 1 << width >> 1

    def scalar_face(a: int) -> Scalar:
        if nneg and a & half:
            return negative
        number = a - (half << 1) if signed and a & half else a
        found = scalar.from_integer(target, number, rounding, policy)
        return lost if found.poison else found.code

    def array_face(a: Codes) -> Outcome:
        found = fast.from_integer(target, a, width, signed, rounding, policy)
        masks = [(lost, found.poison), (negative, _sign_bit(a, width) if nneg else None)]
        return Outcome((found.codes,), faults_of(masks))

    return Kernel(scalar_face, array_face)


@lru_cache(maxsize=4096)
def to_integer(
    source: FloatFormat, width: int, signed: bool, profile: Profile, rounding: Rounding = Rounding.TOWARD_ZERO
) -> Kernel:
    """arith.fptosi and fptoui: NaN, infinities and values out of range are poison, or as the profile says."""
    policy = profile.conversions
    outside = poison(
        f"NaN, infinity or a value outside the range of {'a signed' if signed else 'an unsigned'} i{width}"
    )

    def scalar_face(a: int) -> Scalar:
        found = scalar.to_integer(source, a, width, signed, rounding, policy)
        return outside if found.poison else found.code

    def array_face(a: Codes) -> Outcome:
        found = fast.to_integer(source, a, width, signed, rounding, policy)
        return Outcome((found.codes,), faults_of([(outside, found.poison)]))

    return Kernel(scalar_face, array_face)


_IDENTITY = Kernel(lambda a: a, lambda a: Outcome((a,)))


def bitcast() -> Kernel:
    """arith.bitcast between types of one width: codes stay as they are."""
    return _IDENTITY


def _chain(*results: Any) -> bool:
    """Whether any step of a computation lost a NaN (scalar face)."""
    return any(result.poison for result in results)


def _either(*results: exact.Result) -> Mask | None:
    """The same for the array face: the union of the masks that exist."""
    masks = [result.poison for result in results if result.poison is not None]
    return np.logical_or.reduce(masks) if masks else None


@lru_cache(maxsize=4096)
def scaling_extf(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile
) -> Kernel:
    """arith.scaling_extf: RNE(target(in) * target(e8m0(scale))); with ``scaling=exact`` the exact product, rounded
    once.

    The op has no rounding mode of its own: ``rounding`` is there so that both scaling ops have one signature.
    """
    return _scaling(source, scale, target, RNE, fastmath, profile, divides=False)


@lru_cache(maxsize=4096)
def scaling_truncf(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile
) -> Kernel:
    """arith.scaling_truncf: RNE(in / source(e8m0(scale))), then to the target in the rounding mode.

    With ``scaling=exact`` the exact quotient, rounded once in the rounding mode.
    """
    return _scaling(source, scale, target, rounding, fastmath, profile, divides=True)


def _scaling(
    source: FloatFormat,
    scale: FloatFormat,
    target: FloatFormat,
    rounding: Rounding,
    fastmath: int,
    profile: Profile,
    divides: bool,
) -> Kernel:
    """Both scaling ops: the scale as a power of two, the operands in the format that computes, the operation, the
    target.
    """
    name = "divide" if divides else "multiply"
    if profile.scaling == "exact":
        computing = _exact_intermediate(source)
    else:
        computing = source if divides else target
    inner, outer = profile.arithmetic, profile.conversions

    def run(module: Any, x: Any, s: Any) -> tuple[Any, list[Any]]:
        steps = []

        def keep(result: Any) -> Any:
            steps.append(result)
            return result[0]

        if scale is not E8M0:
            s = keep(module.convert(scale, E8M0, s, RNE, inner))
        s = keep(module.convert(E8M0, computing, s, RNE, inner))
        if source is not computing:
            x = keep(module.convert(source, computing, x, RNE, inner))
        y = keep(getattr(module, name)(computing, x, s, RNE, inner))
        if target is not computing:
            y = keep(module.convert(computing, target, y, rounding, outer if divides else inner))
        return y, steps

    def specification(x: int, s: int) -> scalar.Result:
        code, steps = run(scalar, x, s)
        return scalar.Result(code, 0, _chain(*steps))

    def array(x: Codes, s: Codes) -> exact.Result:
        codes, steps = run(fast, x, s)
        return exact.Result(codes, _either(*steps), None)

    return float_kernel(specification, array, (source, scale), target, fastmath)


def _exact_intermediate(source: FloatFormat) -> FloatFormat:
    """A format that holds every product and quotient of a value of ``source`` and a power of two of f8E8M0FNU
    exactly.
    """
    return FloatFormat(
        f"{source.name} times a power of two",
        exponent_bits=min(15, max(source.exponent_bits + 2, 10)),
        mantissa_bits=max(source.mantissa_bits * 2 + 2, 3),
        bias=(1 << (min(15, max(source.exponent_bits + 2, 10)) - 1)) - 1,
    )


def scale_code(scale: float, fmt: FloatFormat, policy: FloatPolicy) -> int:
    """A quantisation scale, an f64 in the type, rounded to the expressed format."""
    bits = codes_to_ints(np.asarray(np.float64(scale)).view(np.uint64).reshape(1), 64)[0]
    return scalar.convert(FORMATS["f64"], fmt, bits, RNE, policy).code
