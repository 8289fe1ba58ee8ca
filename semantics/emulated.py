"""Operations on formats narrower than f32 that are done in f32, as `halfulp.fp_formats.paths.emulation` converts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from halfulp.fp_formats import exact, scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import emulation, fast
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics.profile import Profile

F32 = emulation.F32
RNE = Rounding.TO_NEAREST_EVEN


Faces = tuple[Callable[..., Any], Callable[..., Any]]


class Lane(NamedTuple):
    """One of the two faces: Python integers, or arrays."""

    module: Any
    widen: Callable[[FloatFormat, Any], Any]
    narrow: Callable[[FloatFormat, Any], Any]
    result: Callable[..., Any]


LANES = (
    Lane(scalar, emulation.widen, emulation.narrow, scalar.Result),
    Lane(fast, emulation.widen_codes, emulation.narrow_codes, exact.Result),
)
"""The faces in the order in which kernels take them."""


def _both(face: Callable[[Lane], Callable[..., Any]]) -> Faces:
    return face(LANES[0]), face(LANES[1])


def emulates(profile: Profile, *formats: FloatFormat) -> bool:
    """Whether an operation on these formats is done in f32."""
    return profile.narrow_floats == "emulated" and any(fmt.bits < 32 for fmt in formats)


def arithmetic(profile: Profile, name: str) -> FloatPolicy:
    """The policy of an operation; the remainder is computed on integers, which know of no flushing."""
    policy = profile.arithmetic
    whole = profile.narrow_floats == "emulated" and name == "remainder"
    return replace(policy, denormals="ieee", denormals_f32="as_others") if whole else policy


def binary(name: str, fmt: FloatFormat, arguments: tuple[Any, ...]) -> Faces:
    """Both faces of an operation of two operands."""

    def face(lane: Lane) -> Callable[[Any, Any], Any]:
        operation = getattr(lane.module, name)
        return lambda a, b: lane.result(
            lane.narrow(fmt, operation(F32, lane.widen(fmt, a), lane.widen(fmt, b), *arguments)[0])
        )

    return _both(face)


def negate(fmt: FloatFormat) -> Faces:
    """Both faces of negation."""
    return _both(lambda lane: lambda a: lane.result(lane.narrow(fmt, lane.module.negate(F32, lane.widen(fmt, a))[0])))


def convert(source: FloatFormat, target: FloatFormat, policy: FloatPolicy) -> Faces:
    """Both faces of a conversion. To and from formats without zero it is not that of the emulation."""

    def face(lane: Lane) -> Callable[[Any], Any]:
        def converted(a: Any) -> Any:
            if source.bits < 32 and source.zero:
                a = lane.widen(source, a)
            elif source != F32:
                a = lane.module.convert(source, F32, a, RNE, policy)[0]
            if target == F32:
                return lane.result(a)
            if target.bits < 32 and target.zero:
                return lane.result(lane.narrow(target, a))
            return lane.module.convert(F32, target, a, RNE, policy)

        return converted

    return _both(face)


def compare(predicate: int, fmt: FloatFormat, policy: FloatPolicy) -> Faces:
    """Both faces of cmpf."""
    return _both(
        lambda lane: lambda a, b: lane.module.compare(F32, predicate, lane.widen(fmt, a), lane.widen(fmt, b), policy)
    )


def from_integer() -> Faces:
    """Both faces of sitofp and uitofp, with the parameters of `scalar.from_integer` and of `exact.from_integer`."""
    return _both(
        lambda lane: lambda target, *number: lane.result(lane.narrow(target, lane.module.from_integer(F32, *number)[0]))
    )


def to_integer() -> Faces:
    """Both faces of fptosi and fptoui, with the parameters of `scalar.to_integer`."""
    return _both(lambda lane: lambda source, a, *how: lane.module.to_integer(F32, lane.widen(source, a), *how))


class Steps:
    """One face of the operations that `scaling_extf` and its like are made of, for formats of any width."""

    def __init__(self, lane: int) -> None:
        self._lane = lane

    def convert(self, source: FloatFormat, target: FloatFormat, a: Any, rounding: Rounding, policy: FloatPolicy) -> Any:
        """A conversion; all of them round to nearest even."""
        if source.bits < 32 or target.bits < 32:
            return convert(source, target, policy)[self._lane](a)
        return LANES[self._lane].module.convert(source, target, a, rounding, policy)

    def multiply(self, fmt: FloatFormat, a: Any, b: Any, *how: Any) -> Any:
        """A * b."""
        return self._binary("multiply", fmt, a, b, how)

    def divide(self, fmt: FloatFormat, a: Any, b: Any, *how: Any) -> Any:
        """A / b."""
        return self._binary("divide", fmt, a, b, how)

    def _binary(self, name: str, fmt: FloatFormat, a: Any, b: Any, how: tuple[Any, ...]) -> Any:
        if fmt.bits < 32:
            return binary(name, fmt, how)[self._lane](a, b)
        return getattr(LANES[self._lane].module, name)(fmt, a, b, *how)
