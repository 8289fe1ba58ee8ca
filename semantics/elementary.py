"""Kernels of the elementary functions (math document): the exact real function of the exact operands, rounded once.

Names are those of `halfulp.fp_formats.reals`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.paths import elementary as paths
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import Result
from halfulp.semantics.floats import flags_of, float_kernel, loses_nan
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile


@cpu.forgotten
@lru_cache(maxsize=1024)
def unary(
    name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile, dst: FloatFormat | None = None
) -> Kernel:
    """Return the kernel of a function of one argument; ``dst``: the format of the result, if it is another one."""
    policy = profile.arithmetic
    operation = lambda a, **flags: paths.unary(name, fmt, a, rounding, policy, dst, **flags)  # noqa: E731
    return _kernel(operation, (fmt.bits,), (fmt,), dst or fmt, fastmath, profile)


@cpu.forgotten
@lru_cache(maxsize=1024)
def binary(name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of atan2, hypot or powf."""
    policy = profile.arithmetic
    operation = lambda a, b, **flags: paths.binary(name, fmt, a, b, rounding, policy, **flags)  # noqa: E731
    return _kernel(operation, (fmt.bits, fmt.bits), (fmt, fmt), fmt, fastmath, profile)


def _kernel(
    operation: Callable[..., ArrayResult],
    widths: tuple[int, ...],
    operands: tuple[FloatFormat, ...],
    result: FloatFormat,
    fastmath: int,
    profile: Profile,
) -> Kernel:
    def specification(*codes: int) -> Result:
        found = operation(*(ints_to_codes([code], width, ()) for code, width in zip(codes, widths, strict=True)))
        return Result(codes_to_ints(found.codes, result.bits)[0], 0, found.poison is not None)

    def array(*codes: Codes) -> ArrayResult:
        return operation(*codes)

    def flagged(*codes: Codes) -> ArrayResult:
        return operation(*codes, want_flags=True)

    loses = loses_nan(profile.arithmetic, result)
    return float_kernel(specification, array, operands, result, fastmath, loses=loses, flags=flags_of(flagged))
