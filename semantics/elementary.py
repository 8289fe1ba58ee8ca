"""Kernels of the elementary functions (math document): the exact real function of the exact operands, rounded once.

Names are those of `halfulp.fp_formats.reals`, whose rows also say what a function gives for zeros, infinities and NaNs.

Profiles: the fields of the float policy hold here as in `arith`. Under ``narrow_floats=emulated``, a narrow operand is
converted to f32, the function is rounded once there, and the result is converted back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu, emulation
from halfulp.fp_formats.paths import elementary as paths
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import Result
from halfulp.semantics.emulated import F32, emulates
from halfulp.semantics.floats import flags_of, float_kernel, loses_nan
from halfulp.semantics.kernel import Kernel, Outcome, Scalar, faults_of
from halfulp.semantics.profile import Profile

_MAKES_NANS = frozenset(
    (
        "acos",
        "acosh",
        "asin",
        "atanh",
        "log",
        "log10",
        "log1p",
        "log2",
        "logit",
        "powf",
        "rootn",
        "rsqrt",
        "sqrt",
        "tgamma",
    )
)
"""The functions that make a NaN from finite operands, in a format without NaN and infinities."""

_Operation = Callable[..., ArrayResult]
"""An operation on codes of the format that is its first argument, with the keyword ``want_flags``."""


@cpu.forgotten
@lru_cache(maxsize=1024)
def unary(
    name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile, dst: FloatFormat | None = None
) -> Kernel:
    """Return the kernel of a function of one argument; ``dst``: the format of the result, if it is another one."""
    policy = profile.arithmetic
    operation: _Operation = lambda f, a, **flags: paths.unary(name, f, a, rounding, policy, dst, **flags)  # noqa: E731
    loses = name in _MAKES_NANS or dst is not None
    return _kernel(operation, fmt, (fmt.bits,), (fmt,), dst or fmt, fastmath, profile, loses)


@cpu.forgotten
@lru_cache(maxsize=1024)
def binary(name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of atan2, hypot or powf."""
    policy = profile.arithmetic
    operation: _Operation = lambda f, a, b, **flags: paths.binary(name, f, a, b, rounding, policy, **flags)  # noqa: E731
    return _kernel(operation, fmt, (fmt.bits, fmt.bits), (fmt, fmt), fmt, fastmath, profile, name in _MAKES_NANS)


@cpu.forgotten
@lru_cache(maxsize=1024)
def of_integer(name: str, fmt: FloatFormat, width: int, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of ``powf`` or ``rootn`` of a float and a signed integer of ``width`` bits."""
    policy = profile.arithmetic

    def operation(f: FloatFormat, a: Codes, n: Codes, want_flags: bool = False) -> ArrayResult:
        return paths.of_integer(name, f, a, n, width, rounding, policy, want_flags=want_flags)

    return _kernel(operation, fmt, (fmt.bits, width), (fmt,), fmt, fastmath, profile, name == "rootn")


@cpu.forgotten
@lru_cache(maxsize=1024)
def sincos(fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of math.sincos. An element that is poison in one result is so in both."""
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
    )


def _kernel(
    operation: _Operation,
    fmt: FloatFormat,
    widths: tuple[int, ...],
    operands: tuple[FloatFormat, ...],
    result: FloatFormat,
    fastmath: int,
    profile: Profile,
    makes_nans: bool,
) -> Kernel:
    """Make a kernel; ``widths`` are those of all operands, ``operands`` are the formats of the floats among them.

    ``makes_nans``: a result may be NaN although no operand is NaN or infinite.
    """

    def array(*codes: Codes) -> ArrayResult:
        return operation(fmt, *codes)

    def emulating(*codes: Codes) -> ArrayResult:
        floats = len(operands)
        wide = [emulation.widen_codes(fmt, code) for code in codes[:floats]]
        return ArrayResult(emulation.narrow_codes(fmt, operation(F32, *wide, *codes[floats:]).codes))

    def flagged(*codes: Codes) -> ArrayResult:
        return operation(fmt, *codes, want_flags=True)

    through_f32 = fmt is result and emulates(profile, fmt)
    face = emulating if through_f32 else array

    def specification(*codes: int) -> Result:
        found = face(*(ints_to_codes([code], width, (1,)) for code, width in zip(codes, widths, strict=True)))
        return Result(codes_to_ints(found.codes, result.bits)[0], 0, found.poison is not None)

    loses = not through_f32 and (makes_nans or not result.signed) and loses_nan(profile.arithmetic, result)
    flags = None if through_f32 else flags_of(flagged)
    return float_kernel(specification, face, operands, result, fastmath, loses=loses, flags=flags)
