"""Kernels of the ops that round a float to an integer of its format (math document).

They are exact: only a format that ends before the integer overflows. No flag says that a fraction was dropped (IEEE
754-2019, 5.9: the operations other than roundToIntegralExact).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu, fast, word_floats
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import emulated
from halfulp.semantics.floats import flags_of, float_kernel
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.meanings import same_kind
from halfulp.semantics.profile import Profile

DIRECTIONS: Mapping[str, Rounding] = {
    "ceil": Rounding.UPWARD,
    "floor": Rounding.DOWNWARD,
    "round": Rounding.TO_NEAREST_AWAY,
    "roundeven": Rounding.TO_NEAREST_EVEN,
    "trunc": Rounding.TOWARD_ZERO,
}
"""The ops of math that round to integers, with their rounding mode."""


@cpu.forgotten
@lru_cache(maxsize=1024)
def to_integral(name: str, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of an op in `DIRECTIONS`."""
    mode, policy, real = DIRECTIONS[name], profile.arithmetic, same_kind(name, fmt, 1)
    if emulated.emulates(profile, fmt):
        return float_kernel(*emulated.applied("to_integral", fmt, (mode, policy)), (fmt,), fmt, fastmath, real=real)
    kernel = float_kernel(
        lambda a: scalar.to_integral(fmt, a, mode, policy),
        lambda a: fast.to_integral(fmt, a, mode, policy),
        (fmt,),
        fmt,
        fastmath,
        flags=flags_of(lambda a: conversions.to_integral(fmt, a, mode, policy, want_flags=True)),
        real=real,
    )
    return kernel if kernel.faults else replace(kernel, words=word_floats.to_integral(fmt, mode, policy))
