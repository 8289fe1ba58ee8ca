"""Kernels of conversions between element types: float to float, integer to float and back, bit casts, block scaling."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import (
    FORMATS,
    LIMB_BITS,
    Codes,
    FloatFormat,
    Mask,
    code_shape,
    codes_to_ints,
    element_shape,
    ints_to_codes,
)
from halfulp.fp_formats.paths import fast, llvm, native_scalar, word_flags, word_floats
from halfulp.fp_formats.policy import Flags, FloatPolicy, Rounding
from halfulp.fp_formats.spelling import value_text
from halfulp.semantics import emulated, floats
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import (
    Computes,
    Integer,
    Kernel,
    Outcome,
    Reinterprets,
    Scalar,
    ToInteger,
    faults_of,
    poison,
)
from halfulp.semantics.profile import Profile

E8M0 = FORMATS["f8E8M0FNU"]
ROUNDED_SCALE = (
    "the scale {scale} is not a power of two: this op rounds it to f8E8M0FNU, as its document says, here to {power}; "
    'profile="spec,scaling=exact" takes it as it is (NVFP4)'
)
"""The warning, once for each op, about a scale that f8E8M0FNU does not have."""
RNE = Rounding.TO_NEAREST_EVEN


def mode(given: Rounding, profile: Profile) -> Rounding:
    """Return the rounding mode that a conversion has under a profile. ``given``: the mode of its op."""
    return RNE if profile.conversion_rounding == "to_nearest_even" else given


@llvm.forgotten
@lru_cache(maxsize=4096)
def convert(source: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of arith.extf, truncf and convertf: the value, rounded once to the target."""
    policy, rounding = profile.conversions, mode(rounding, profile)
    implementations: floats.Implementations = (
        lambda a: scalar.convert(source, target, a, rounding, policy),
        partial(fast.convert, source, target, rounding=rounding, policy=policy),
    )
    real = Computes("convert", (source,), target)
    if emulated.emulates(profile, source, target):
        return floats.float_kernel(*emulated.convert(source, target, policy), (source,), target, fastmath, real=real)
    kernel = floats.float_kernel(
        *implementations,
        (source,),
        target,
        fastmath,
        loses=_loses_nan(policy, source, target),
        raises=partial(fast.convert, source, target, rounding=rounding, policy=policy, want_flags=True),
        real=real,
    )
    if fastmath & (floats.NNAN | floats.NINF):
        return kernel
    words = word_floats.convert(source, target, rounding, policy)
    return replace(
        kernel,
        scalar=native_scalar.convert(source, target, rounding, policy, kernel.scalar),
        words=words or word_flags.code_of(word_flags.convert(source, target, int(rounding), policy)),
    )


def _loses_nan(policy: FloatPolicy, source: FloatFormat, target: FloatFormat) -> bool:
    return source.nan_code is not None and floats.loses_nan(policy, target)


@llvm.forgotten
@lru_cache(maxsize=256)
def reduce_precision(fmt: FloatFormat, exponent: int, mantissa: int, nan_becomes_infinity: bool = False) -> Kernel:
    """Return the kernel of halfulp.reduce_precision: the number rounded as by a format with these fields, in ``fmt``.

    A result below the normal numbers of that format becomes a zero, and one above them an infinity; a NaN is not
    changed. XLA and IREE lower StableHLO's reduce_precision to this. ``fmt``: a format of up to 64 bits, with IEEE's
    NaNs. ``nan_becomes_infinity``: a NaN becomes +inf, as in StableHLO's interpreter if no bit of a mantissa is left.
    """
    least_bit = 1 << max(0, fmt.mantissa_bits - mantissa)
    sign, infinity = 1 << fmt.bits - 1, fmt.infinity_code
    # Of the exponents that both formats have, the least is that of subnormals.
    reach = (1 << exponent - 1) - 1
    least, largest = (fmt.bias + step << fmt.mantissa_bits for step in (-reach, reach))
    clamps = exponent < fmt.exponent_bits
    assert infinity is not None

    def reduced(code: Any, keep: Any, chosen: Any, above: Any) -> Any:
        """Return the code of a reduced number. ``keep``: the sign and the bits that stay. ``chosen``, ``above``: the
        functions that choose by a condition, and that tell whether one unsigned number is larger.
        """
        rounded = code
        if least_bit > 1:
            tie_to_even = chosen(above(code & least_bit, 0), least_bit >> 1, (least_bit >> 1) - 1)
            rounded = code + tie_to_even
        result = rounded & keep
        if clamps:
            exponents, zero = rounded & infinity, rounded & sign
            result = chosen(above(exponents, largest), zero | infinity, result)
            result = chosen(above(exponents, least), result, zero)
        return chosen(above(code & sign - 1, infinity), infinity if nan_becomes_infinity else code, result)

    keep = (1 << fmt.bits) - least_bit

    def array(a: Codes) -> Outcome:
        def chosen(condition: Mask, *arms: Any) -> Codes:
            return np.where(condition, *(np.asarray(arm, np.uint64) for arm in arms))

        found = reduced(a.astype(np.uint64), np.uint64(keep), chosen, np.greater)
        return Outcome((found.astype(a.dtype),))

    def words(a: Any) -> Any:
        def word(value: Any) -> Any:
            return a.of(value) if isinstance(value, int) else value

        def chosen(condition: Any, yes: Any, no: Any) -> Any:
            return condition.choose(word(yes), word(no))

        return reduced(a, keep, chosen, lambda one, other: word(other).less(one, signed=False))

    return Kernel(
        lambda a: int(array(np.array([a], np.uint64)).results[0][0]),
        array,
        words=words,
        real=Computes("convert", (fmt,), fmt),
    )


@lru_cache(maxsize=1024)
def convert_stochastically(source: FloatFormat, target: FloatFormat, profile: Profile, fastmath: int = 0) -> Kernel:
    """Return the kernel of a conversion with stochastic rounding. Its last operand holds the random bits, as for
    `floats.stochastic`.
    """
    mode = (Rounding.STOCHASTIC, profile.conversions)
    return floats.float_kernel(
        lambda a, random: scalar.convert(source, target, a, *mode, random),
        lambda a, random: fast.convert(source, target, a, *mode, random),
        (source,),
        target,
        fastmath,
        loses=_loses_nan(profile.conversions, source, target),
        raises=lambda a, random: fast.convert(source, target, a, *mode, random, want_flags=True),
        real=Computes("convert", (source,), target),
    )


@lru_cache(maxsize=1024)
def convert_by_bits(source: FloatFormat, target: FloatFormat, width: int, profile: Profile) -> Kernel:
    """Return the kernel of halfulp.stochastic_round: a conversion whose second operand is ``width`` random bits."""
    policy = profile.conversions
    arguments = (source, target), (Rounding.STOCHASTIC, policy)

    def array(a: Codes, bits: Codes, want_flags: bool = False) -> ArrayResult:
        shape = np.broadcast_shapes(element_shape(a, source.bits), bits.shape)
        codes, random = np.broadcast_to(a, code_shape(shape, source.bits)), np.broadcast_to(bits, shape)
        return fast.convert(*arguments[0], codes, *arguments[1], (random, width), want_flags)

    return floats.float_kernel(
        lambda a, bits: scalar.convert(*arguments[0], a, *arguments[1], (bits, width)),
        array,
        (source,),
        target,
        0,
        loses=_loses_nan(policy, source, target),
        raises=partial(array, want_flags=True),
    )


def sign_bit(codes: Codes, width: int) -> Mask:
    """Return a mask of the codes whose highest bit is set."""
    if width > 64:
        return np.asarray(codes[..., -1] >> np.uint64((width - 1) % 64) & np.uint64(1) != 0)
    if width == 0:
        return np.zeros(codes.shape, np.bool_)
    return np.asarray(codes >> codes.dtype.type(width - 1) != 0)


@lru_cache(maxsize=4096)
def from_integer(
    width: int, signed: bool, target: FloatFormat, profile: Profile, nneg: bool = False, rounding: Rounding = RNE
) -> Kernel:
    """Return the kernel of arith.sitofp (``signed``) and uitofp: an integer of ``width`` bits, rounded once to
    ``target``. ``nneg``: the result is poison if the sign bit is set.
    """
    policy = profile.conversions
    negative = poison("negative operand of arith.uitofp with nneg")
    half = 1 << width >> 1
    specification, array = scalar.from_integer, fast.from_integer
    emulates = emulated.emulates(profile, target)
    if emulates:
        specification, array = emulated.from_integer()

    def flagged(a: int) -> tuple[Scalar, int]:
        number = a - (half << 1) if signed and a & half else a
        found = specification(target, number, rounding, policy)
        return negative if nneg and a & half else int(found.code), found.flags

    def scalar_implementation(a: int) -> Scalar:
        return flagged(a)[0]

    def outcome_of(found: ArrayResult, a: Codes) -> Outcome:
        return Outcome((found.codes,), faults_of([(negative, sign_bit(a, width) if nneg else None)]))

    def array_implementation(a: Codes) -> Outcome:
        return outcome_of(array(target, a, width, signed, rounding, policy), a)

    faults = (negative,) if nneg else ()
    real = Computes("convert", (Integer(width, signed),), target)
    if emulates:
        return Kernel(scalar_implementation, array_implementation, faults=faults, real=real)
    quick = (
        scalar_implementation
        if nneg
        else native_scalar.from_integer(target, width, signed, rounding, scalar_implementation)
    )
    words = None if nneg else word_floats.from_integer(target, width, signed, rounding, policy)

    def raises(a: Codes) -> ArrayResult:
        return fast.from_integer(target, a, width, signed, rounding, policy, want_flags=True)

    kernel = Kernel(quick, array_implementation, faults=faults, words=words, real=real)
    return floats.raising(kernel, raises, outcome_of, flagged)


@lru_cache(maxsize=1024)
def from_integer_stochastically(
    width: int, signed: bool, target: FloatFormat, profile: Profile, nneg: bool = False
) -> Kernel:
    """Return the kernel of arith.sitofp (``signed``) and uitofp with stochastic rounding. Its last operand holds the
    random bits, as for `floats.stochastic`.
    """
    policy, half = profile.conversions, 1 << width >> 1
    nearest = from_integer(width, signed, target, profile, nneg)

    def scalar_implementation(a: int, random: floats.Random) -> Scalar:
        found = nearest.scalar(a)
        if not isinstance(found, int):
            return found
        number = a - (half << 1) if signed and a & half else a
        return scalar.from_integer(target, number, Rounding.STOCHASTIC, policy, random).code

    def array(a: Codes, random: floats.Random, want_flags: bool = False) -> ArrayResult:
        return conversions.from_integer(target, a, width, signed, Rounding.STOCHASTIC, policy, random, want_flags)

    def array_implementation(a: Codes, random: floats.Random) -> Outcome:
        return Outcome((array(a, random).codes,), faults_of([(fault, sign_bit(a, width)) for fault in nearest.faults]))

    flags = floats.flags_of(partial(array, want_flags=True))
    return Kernel(scalar_implementation, array_implementation, faults=nearest.faults, flags=flags, real=nearest.real)


def _always_fits(source: FloatFormat, width: int, signed: bool) -> bool:
    """Tell whether every value of a format, cut to an integer, is a value of the integer type."""
    largest = scalar.value(source, source.max_code)
    only_numbers = source.nan_code is None and source.infinity_code is None and (signed or not source.signed)
    return only_numbers and largest is not None and largest < 1 << width >> signed


@lru_cache(maxsize=4096)
def to_integer(
    source: FloatFormat, width: int, signed: bool, profile: Profile, rounding: Rounding | None = None
) -> Kernel:
    """Return the kernel of arith.fptosi and fptoui: NaN, infinities and values out of range are poison, or as the
    profile says.

    ``rounding``: the rounding mode; None for the mode of the profile.
    """
    policy = profile.conversions
    if rounding is None:
        rounding = Rounding[profile.to_integer_rounding.upper()]
    outside = poison(
        f"NaN, infinity or a value outside the range of {'a signed' if signed else 'an unsigned'} i{width}"
    )

    specification, array = scalar.to_integer, fast.to_integer
    emulates = emulated.emulates(profile, source)
    if emulates:
        specification, array = emulated.to_integer()

    def flagged(a: int) -> tuple[Scalar, int]:
        found = specification(source, a, width, signed, rounding, policy)
        return outside if found.poison else found.code, found.flags

    def scalar_implementation(a: int) -> Scalar:
        return flagged(a)[0]

    def outcome_of(found: ArrayResult, a: Codes) -> Outcome:
        return Outcome((found.codes,), faults_of([(outside, found.poison)]))

    def array_implementation(a: Codes) -> Outcome:
        return outcome_of(array(source, a, width, signed, rounding, policy), a)

    faults = (outside,) if policy.float_to_int == "poison" and not _always_fits(source, width, signed) else ()
    real = ToInteger(source, Integer(width, signed), rounding)
    if emulates:
        return Kernel(scalar_implementation, array_implementation, faults=faults, real=real)
    quick = native_scalar.to_integer(source, width, signed, rounding, scalar_implementation)
    words = word_floats.to_integer(source, width, signed, rounding)

    def raises(a: Codes) -> ArrayResult:
        return fast.to_integer(source, a, width, signed, rounding, policy, want_flags=True)

    kernel = Kernel(quick, array_implementation, faults=faults, words=words, real=real)
    return floats.raising(kernel, raises, outcome_of, flagged)


@llvm.forgotten
@lru_cache(maxsize=1024)
def ldexp(fmt: FloatFormat, width: int, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of llvm.intr.ldexp: a float times 2**n of a signed n, rounded once. ``width``: its bits."""
    policy, reading = profile.arithmetic, Reading(width, True)
    # A larger power of two moves each number out of the range in the same way.
    span = fmt.emax - fmt.emin + 2 * fmt.precision + 2

    def power(n: int) -> int:
        return max(-span, min(span, (n ^ reading.sign) - reading.sign))

    def specification(a: int, n: int) -> scalar.Result:
        return scalar.convert(fmt, fmt, a, rounding, policy, exponent=power(n))

    def array(a: Codes, n: Codes) -> ArrayResult:
        if width > LIMB_BITS:
            powers = np.array([power(code) for code in codes_to_ints(n, width)]).reshape(element_shape(n, width))
        else:
            powers = np.clip(reading.values(n).astype(np.int64), -span, span)
        return conversions.convert(fmt, fmt, a, rounding, policy, exponent=powers)

    return floats.float_kernel(specification, array, (fmt,), fmt, fastmath)


_IDENTITY = Kernel(lambda a: a, lambda a: Outcome((a,)), words=lambda a: a, real=Reinterprets())


def bitcast() -> Kernel:
    """Return the kernel of arith.bitcast between types of one width: codes are not changed."""
    return _IDENTITY


@lru_cache(maxsize=4096)
def scaling_extf(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile
) -> Kernel:
    """Return the kernel of arith.scaling_extf: RNE(target(in) * target(e8m0(scale))); with ``scaling=exact`` the exact
    product, rounded once, where a scale counts with its own value.

    The op has no rounding mode: ``rounding`` is there so that both scaling ops have the same signature.
    """
    return _scaling(source, scale, target, RNE, fastmath, profile, divides=False)


@lru_cache(maxsize=4096)
def scaling_truncf(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile
) -> Kernel:
    """Return the kernel of arith.scaling_truncf: RNE(in / source(e8m0(scale))), then to the target in the rounding
    mode.

    With ``scaling=exact``: the exact quotient, rounded once in the rounding mode.
    """
    return _scaling(source, scale, target, mode(rounding, profile), fastmath, profile, divides=True)


def _scaling(
    source: FloatFormat,
    scale: FloatFormat,
    target: FloatFormat,
    rounding: Rounding,
    fastmath: int,
    profile: Profile,
    divides: bool,
) -> Kernel:
    """Return the kernel of either scaling op, by the profile."""
    implementations = (_scaled_exactly if profile.scaling == "exact" else _scaled_in_steps)(
        source, scale, target, rounding, profile, divides
    )
    computing = source if divides and profile.scaling != "exact" else target
    policies = {profile.arithmetic, profile.conversions}
    loses = any(floats.loses_nan(policy, computing, target) for policy in policies)
    real = Computes("divide" if divides else "multiply", (source, scale), target)
    kernel = floats.float_kernel(*implementations, (source, scale), target, fastmath, loses=loses, real=real)
    if scale == E8M0 or profile.scaling == "exact":
        return kernel
    return replace(kernel, notice=lambda x, s: _rounded_scale(scale, s))


def _rounded_scale(scale: FloatFormat, codes: Codes) -> str | None:
    """Return a text that says what a scaling op does to the first positive scale that f8E8M0FNU cannot represent; None
    if it can represent all of them.
    """
    power = conversions.convert(scale, E8M0, codes, want_flags=True)
    assert power.flags is not None
    lost = np.flatnonzero((power.flags & int(Flags.INEXACT) != 0) & ~comparisons.is_zero(scale, codes))
    if not lost.size:
        return None
    first = codes.reshape((power.codes.size, *codes.shape[power.codes.ndim :]))[lost[0]]
    given, rounded = codes_to_ints(first, scale.bits)[0], int(power.codes.reshape(-1)[lost[0]])
    return ROUNDED_SCALE.format(scale=value_text(scale, given), power=value_text(E8M0, rounded))


def _scaled_in_steps(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, profile: Profile, divides: bool
) -> floats.Implementations:
    """Return both implementations of scaling in steps: make the scale a power of two, convert the operands to the wider
    format, multiply or divide there, convert to the target.
    """
    name = "divide" if divides else "multiply"
    computing = source if divides else target
    inner, outer = profile.arithmetic, profile.conversions
    modules: tuple[Any, Any] = scalar, fast
    if emulated.emulates(profile, source, scale, target):
        modules = emulated.EmulatedOps(0), emulated.EmulatedOps(1)

    def run(module: Any, x: Any, s: Any) -> tuple[Any, list[Any]]:
        steps = []

        def keep(result: Any) -> Any:
            steps.append(result)
            return result[0]

        if scale != E8M0:
            s = keep(module.convert(scale, E8M0, s, RNE, inner))
        s = keep(module.convert(E8M0, computing, s, RNE, inner))
        if source != computing:
            x = keep(module.convert(source, computing, x, RNE, inner))
        y = keep(getattr(module, name)(computing, x, s, RNE, inner))
        if target != computing:
            y = keep(module.convert(computing, target, y, rounding, outer))
        return y, steps

    def specification(x: int, s: int) -> scalar.Result:
        code, steps = run(modules[0], x, s)
        return scalar.Result(code, 0, any(step.poison for step in steps))

    def array(x: Codes, s: Codes) -> ArrayResult:
        codes, steps = run(modules[1], x, s)
        masks = [step.poison for step in steps if step.poison is not None]
        # The mask of a NaN lost from the scale has the scale's shape, which may be one element for all.
        shape = np.broadcast_shapes(element_shape(codes, target.bits), *(mask.shape for mask in masks))
        poison = np.logical_or.reduce([np.broadcast_to(mask, shape) for mask in masks]) if masks else None
        return ArrayResult(codes, poison, None)

    return specification, array


def _scaled_exactly(
    source: FloatFormat, scale: FloatFormat, target: FloatFormat, rounding: Rounding, profile: Profile, divides: bool
) -> floats.Implementations:
    """Return both implementations of exact scaling: the product or quotient with the scale, rounded once."""
    policy = profile.conversions if divides else profile.arithmetic
    if scale == E8M0:
        return _scaled_by_powers(source, target, rounding, policy, divides)
    # The last step is a conversion, which overflows as conversions do.
    policy = replace(policy, arithmetic_overflow=policy.conversion_overflow) if divides else policy
    name, formats = "divide" if divides else "multiply", (source, scale)
    return (
        lambda x, s: mixed.operate(name, formats, target, (x, s), rounding, policy),
        lambda x, s: comparisons.operate(name, formats, target, (x, s), rounding, policy),
    )


def _scaled_by_powers(
    source: FloatFormat, target: FloatFormat, rounding: Rounding, policy: FloatPolicy, divides: bool
) -> floats.Implementations:
    """Return both implementations of exact scaling by f8E8M0FNU: add the scale's exponent to the operand's and round
    once to the target. A NaN scale is converted like any NaN.
    """
    direction = -1 if divides else 1
    nan_scale = scalar.convert(E8M0, target, E8M0.max_code + 1, rounding, policy)

    def specification(x: int, s: int) -> scalar.Result:
        if E8M0.is_nan(s) and not source.is_nan(x):
            return nan_scale
        return scalar.convert(source, target, x, rounding, policy, exponent=direction * (s - E8M0.bias))

    def array(x: Codes, s: Codes) -> ArrayResult:
        exponent = direction * (s.astype(np.int64) - E8M0.bias)
        found = conversions.convert(source, target, x, rounding, policy, exponent=exponent)
        by_scale = comparisons.is_nan(E8M0, s) & ~comparisons.is_nan(source, x)
        if not by_scale.any():
            return found
        chosen = by_scale.reshape(by_scale.shape + (1,) * (target.limbs > 1))
        codes = np.where(chosen, ints_to_codes([nan_scale.code], target.bits, ()), found.codes)
        poison = by_scale if nan_scale.poison else None
        if poison is not None and found.poison is not None:
            poison = poison | found.poison
        return ArrayResult(codes, found.poison if poison is None else poison, None)

    return specification, array
