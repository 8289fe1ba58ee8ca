"""Kernels of the elementary functions (math document): the exact real function of the exact operands, rounded once.

Names are those of `halfulp.fp_formats.reals`, whose rows also say what a function gives for zeros, infinities and NaNs.

Profiles: the fields of the float policy hold here as in `arith`. Under ``narrow_floats=emulated``, a narrow operand is
converted to f32, the function is rounded once there, and the result is converted back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths import elementary as paths
from halfulp.fp_formats.paths import emulation, llvm, word_functions
from halfulp.fp_formats.paths.words import Implementation
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import Result
from halfulp.semantics.emulated import F32, emulates
from halfulp.semantics.floats import NINF, NNAN, float_kernel, loses_nan
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Computes, Integer, Kernel, Outcome, Scalar, faults_of, same_kind
from halfulp.semantics.profile import Profile

_MAKES_NANS = frozenset((
    "acos", "acosh", "asin", "atanh", "digamma", "erfinv", "log", "log10", "log1p", "log2", "logit", "polygamma",
    "powf", "rootn", "rsqrt", "sqrt", "tgamma", "zeta",
))  # fmt: skip
"""The functions that make a NaN from finite operands, in a format without NaN and infinities."""

_RULES = {"sqrt": "square root"}
"""The rules of functions on real numbers that have another name."""

_REMEMBERED = 1 << 12
"""The results of single elements that a kernel remembers: a loop over scalars asks for some of them again."""


class _Implementations(NamedTuple):
    """Both implementations of a function. They take the format of the operands first. ``array`` takes
    ``want_flags``.
    """

    scalar: Callable[..., Result]
    array: Callable[..., ArrayResult]


@llvm.forgotten
@lru_cache(maxsize=1024)
def unary(
    name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile, dst: FloatFormat | None = None
) -> Kernel:
    """Return the kernel of a function of one argument; ``dst``: the format of the result, if it differs."""
    how = (rounding, profile.arithmetic, dst)

    def scalar(f: FloatFormat, a: int) -> Result:
        from halfulp.fp_formats.reals import elementary

        return elementary.unary(name, f, a, *how)

    implementations = _Implementations(scalar, lambda f, a, **flags: paths.unary(name, f, a, *how, **flags))
    real = Computes(_RULES.get(name, name), (fmt,), dst or fmt)
    kernel = _kernel(implementations, real, fmt, (fmt,), fastmath, profile, name in _MAKES_NANS or dst is not None)
    return _described(kernel, fmt, fastmath, profile, word_functions.unary(name, fmt, *how))


@llvm.forgotten
@lru_cache(maxsize=1024)
def binary(name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of a function of two arguments: atan2, hypot, polygamma, powf or zeta."""
    how = (rounding, profile.arithmetic)

    def scalar(f: FloatFormat, a: int, b: int) -> Result:
        from halfulp.fp_formats.reals import elementary

        return elementary.binary(name, f, a, b, *how)

    implementations = _Implementations(scalar, lambda f, a, b, **flags: paths.binary(name, f, a, b, *how, **flags))
    real = Computes(name, (fmt, fmt), fmt)
    kernel = _kernel(implementations, real, fmt, (fmt, fmt), fastmath, profile, name in _MAKES_NANS)
    return _described(kernel, fmt, fastmath, profile, word_functions.binary(name, fmt, *how))


def _described(
    kernel: Kernel, fmt: FloatFormat, fastmath: int, profile: Profile, words: Implementation | None
) -> Kernel:
    """Return a kernel with its description on machine words, if that gives what the profile asks for."""
    if fastmath & (NNAN | NINF) or emulates(profile, fmt):
        return kernel
    return replace(kernel, words=words)


@llvm.forgotten
@lru_cache(maxsize=1024)
def of_integer(name: str, fmt: FloatFormat, width: int, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of ``powf`` or ``rootn`` of a float and a signed integer of ``width`` bits."""
    how = (rounding, profile.arithmetic)
    sign = Reading(width, True).sign

    def scalar(f: FloatFormat, a: int, n: int) -> Result:
        from halfulp.fp_formats.reals import elementary

        return elementary.of_integer(name, f, a, (n ^ sign) - sign, *how)

    implementations = _Implementations(
        scalar, lambda f, a, n, **flags: paths.of_integer(name, f, a, n, width, *how, **flags)
    )
    real = Computes(name, (fmt, Integer(width, True)), fmt)
    return _kernel(implementations, real, fmt, (fmt,), fastmath, profile, name == "rootn")


@llvm.forgotten
@lru_cache(maxsize=1024)
def sincos(fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of math.sincos, which has two results. An element that is poison in one is poison in both."""
    sine, cosine = (unary(name, fmt, rounding, fastmath, profile) for name in ("sin", "cos"))

    def scalar(a: int) -> Scalar:
        first, second = sine.scalar(a), cosine.scalar(a)
        if isinstance(first, int) and isinstance(second, int):
            return first, second
        return second if isinstance(first, int) else first

    def array(a: Codes) -> Outcome:
        first, second = sine.array(a), cosine.array(a)
        together = dict(first.faults)
        for fault, mask in second.faults:
            together[fault] = mask | together[fault] if fault in together else mask
        return Outcome(first.results + second.results, faults_of(together.items()))

    def open_(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        masks = [
            mask
            for kernel, result in zip((sine, cosine), results, strict=True)
            if kernel.open is not None and (mask := kernel.open(operands, (result,))) is not None
        ]
        return np.bitwise_or.reduce(masks) if masks else None

    of_sine, of_cosine = sine.flags, cosine.flags

    return Kernel(
        scalar,
        array,
        open=open_ if sine.opens else None,
        opens=sine.opens,
        faults=sine.faults,
        flags=None if of_sine is None or of_cosine is None else lambda a: of_sine(a) | of_cosine(a),
        real=(same_kind("sin", fmt, 1), same_kind("cos", fmt, 1)),
    )


def _kernel(
    implementations: _Implementations,
    real: Computes,
    fmt: FloatFormat,
    operands: tuple[FloatFormat, ...],
    fastmath: int,
    profile: Profile,
    makes_nans: bool,
) -> Kernel:
    """Make a kernel; ``operands`` are the formats of the floats among the operands, which come first.

    ``makes_nans``: a result may be NaN although no operand is NaN or infinite.
    """
    result = real.result
    assert isinstance(result, FloatFormat)
    if fmt is result and emulates(profile, fmt):
        scalar, array = _emulated(implementations, fmt, len(operands))
        return float_kernel(lru_cache(_REMEMBERED)(scalar), array, operands, result, fastmath, real=real)
    return float_kernel(
        lru_cache(_REMEMBERED)(partial(implementations.scalar, fmt)),
        partial(implementations.array, fmt),
        operands,
        result,
        fastmath,
        loses=(makes_nans or not result.signed) and loses_nan(profile.arithmetic, result),
        raises=partial(implementations.array, fmt, want_flags=True),
        real=real,
    )


def _emulated(implementations: _Implementations, fmt: FloatFormat, floats: int) -> _Implementations:
    """Return the implementations with the first ``floats`` operands converted to f32, and the result back."""

    def scalar(*codes: int) -> Result:
        wide = (emulation.widen(fmt, code) for code in codes[:floats])
        return Result(emulation.narrow(fmt, implementations.scalar(F32, *wide, *codes[floats:]).code))

    def array(*codes: Codes) -> ArrayResult:
        wide = (emulation.widen_codes(fmt, code) for code in codes[:floats])
        return ArrayResult(emulation.narrow_codes(fmt, implementations.array(F32, *wide, *codes[floats:]).codes))

    return _Implementations(scalar, array)
