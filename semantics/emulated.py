"""Operations on formats narrower than f32, computed in f32 with the conversions of
`halfulp.fp_formats.paths.emulation`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from typing import Any, NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import emulation, fast
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics.profile import Profile

F32 = emulation.F32
RNE = Rounding.TO_NEAREST_EVEN


Implementations = tuple[Callable[..., Any], Callable[..., Any]]


class FormatOps(NamedTuple):
    """The functions of one implementation, on Python integers or on arrays: the module of operations, the conversions
    from and to narrow formats, and the class of results.
    """

    module: Any
    widen: Callable[[FloatFormat, Any], Any]
    narrow: Callable[[FloatFormat, Any], Any]
    result: Callable[..., Any]


FACE_OPS = (
    FormatOps(scalar, emulation.widen, emulation.narrow, scalar.Result),
    FormatOps(fast, emulation.widen_codes, emulation.narrow_codes, ArrayResult),
)
"""The scalar implementation, then the array implementation: the order in which kernels take them."""


def _both(implementation: Callable[[FormatOps], Callable[..., Any]]) -> Implementations:
    return implementation(FACE_OPS[0]), implementation(FACE_OPS[1])


def emulates(profile: Profile, *formats: FloatFormat) -> bool:
    """Tell whether the profile computes an operation on these formats in f32."""
    return profile.narrow_floats == "emulated" and any(fmt.bits < 32 for fmt in formats)


def arithmetic(profile: Profile, name: str) -> FloatPolicy:
    """Return the policy of the operation ``name`` under a profile. The emulated remainder is computed on integers, so
    its policy flushes nothing.
    """
    policy = profile.arithmetic
    whole = profile.narrow_floats == "emulated" and name == "remainder"
    return policy.without_flushing if whole else policy


def applied(name: str, fmt: FloatFormat, arguments: tuple[Any, ...]) -> Implementations:
    """Return the scalar and the array implementation of an operation, with any number of operands. ``name``: its name
    in `scalar`. ``arguments``: those that follow the operands.
    """

    def implementation(ops: FormatOps) -> Callable[..., Any]:
        operation = getattr(ops.module, name)
        return lambda *codes: ops.result(
            ops.narrow(fmt, operation(F32, *(ops.widen(fmt, code) for code in codes), *arguments)[0])
        )

    return _both(implementation)


def convert(source: FloatFormat, target: FloatFormat, policy: FloatPolicy) -> Implementations:
    """Return the scalar and the array implementation of a conversion. If one format has no zero, the conversion is not
    emulated.
    """

    def implementation(ops: FormatOps) -> Callable[[Any], Any]:
        def converted(a: Any) -> Any:
            if source.bits < 32 and source.zero:
                a = ops.widen(source, a)
            elif source != F32:
                a = ops.module.convert(source, F32, a, RNE, policy)[0]
            if target == F32:
                return ops.result(a)
            if target.bits < 32 and target.zero:
                return ops.result(ops.narrow(target, a))
            return ops.module.convert(F32, target, a, RNE, policy)

        return converted

    return _both(implementation)


def compare(predicate: int, fmt: FloatFormat, policy: FloatPolicy) -> Implementations:
    """Return the scalar and the array implementation of cmpf. ``predicate``: MLIR's number."""
    return _both(
        lambda ops: lambda a, b: ops.module.compare(F32, predicate, ops.widen(fmt, a), ops.widen(fmt, b), policy)
    )


def from_integer() -> Implementations:
    """Return the scalar and the array implementation of sitofp and uitofp, with the parameters of `scalar.from_integer`
    and `exact.conversions.from_integer`.
    """
    return _both(
        lambda ops: lambda target, *number: ops.result(ops.narrow(target, ops.module.from_integer(F32, *number)[0]))
    )


def to_integer() -> Implementations:
    """Return the scalar and the array implementation of fptosi and fptoui, with the parameters of
    `scalar.to_integer`.
    """
    return _both(lambda ops: lambda source, a, *how: ops.module.to_integer(F32, ops.widen(source, a), *how))


class EmulatedOps:
    """One implementation of the operations inside `scaling_extf` and `scaling_truncf`, for formats of any width."""

    def __init__(self, implementation: int) -> None:
        self._implementation = implementation

    def convert(self, source: FloatFormat, target: FloatFormat, a: Any, rounding: Rounding, policy: FloatPolicy) -> Any:
        """Convert codes. ``rounding`` is used only if both formats have at least 32 bits; all other conversions round
        to nearest even.
        """
        if source.bits < 32 or target.bits < 32:
            return convert(source, target, policy)[self._implementation](a)
        return FACE_OPS[self._implementation].module.convert(source, target, a, rounding, policy)

    def _binary(self, name: str, fmt: FloatFormat, a: Any, b: Any, *how: Any) -> Any:
        """Multiply or divide."""
        if fmt.bits < 32:
            return applied(name, fmt, how)[self._implementation](a, b)
        return getattr(FACE_OPS[self._implementation].module, name)(fmt, a, b, *how)

    multiply = partialmethod(_binary, "multiply")
    divide = partialmethod(_binary, "divide")
