"""Float arithmetic, comparison and negation as kernels (arith document; the rules are those of `fp_formats.scalar`).

Names of operations are those of `halfulp.fp_formats.scalar` and `fast`; this module adds what belongs to an op rather
than to a format: fast-math flags, the poison of a NaN that has no code, and which results the language leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact, scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu, fast, native_scalar
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics import emulated
from halfulp.semantics.kernel import Codes, Fault, Kernel, Mask, Open, Outcome, Scalar, faults_of, poison
from halfulp.semantics.profile import Profile

REASSOC, NNAN, NINF, NSZ, ARCP, CONTRACT, AFN = (1 << k for k in range(7))
"""The bits of arith.fastmath."""

_ANY_VALUE = REASSOC | ARCP | CONTRACT | AFN
_MAKES_NANS = frozenset({"divide", "remainder"})
"""The operations that give a NaN for operands in a format without NaN and infinities."""
_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "remainder"})

Random = tuple[npt.NDArray[Any], int] | None
Faces = tuple[Callable[..., scalar.Result], Callable[..., exact.Result]]
OpenRule = Callable[[tuple[Codes, ...], tuple[Codes, ...]], npt.NDArray[np.uint8] | None]
FlagRule = Callable[..., npt.NDArray[np.uint8]]


def lost_nan(fmt: FloatFormat) -> Fault:
    """A NaN result in a format without NaN."""
    return poison(f"NaN is not representable in {fmt.name}")


def loses_nan(policy: FloatPolicy, *formats: FloatFormat) -> bool:
    """Whether a NaN that may arise is poison in one of these formats."""
    return policy.nan_to_nanless == "poison" and any(fmt.nan_code is None for fmt in formats)


def flags_of(operation: Callable[..., exact.Result]) -> FlagRule:
    """The exception flags of an operation of `exact` on codes, which must ask for them."""

    def flags(*codes: Codes) -> npt.NDArray[np.uint8]:
        found = operation(*codes).flags
        assert found is not None
        return found

    return flags


def is_nan(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are NaNs, invalid x87 operands included."""
    return fast.is_nan(fmt, codes)


def is_infinite(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are infinities."""
    return exact.is_infinite(fmt, codes)


def is_zero(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are zeros of either sign."""
    return exact.is_zero(fmt, codes)


def float_kernel(
    specification: Callable[..., scalar.Result],
    array: Callable[..., exact.Result],
    operands: tuple[FloatFormat, ...],
    result: FloatFormat,
    fastmath: int,
    open_rule: OpenRule | None = None,
    open_nan: bool = True,
    loses: bool = False,
    flags: FlagRule | None = None,
) -> Kernel:
    """A kernel from the two faces of an operation on floats with a float result.

    ``fastmath``: the flags nnan and ninf make a NaN (infinite) operand or result poison. ``open_nan``: any NaN will do
    for a NaN result. ``loses``: a NaN may be lost, which the faces report as poison. ``flags``: see `Kernel`.
    """
    lost = lost_nan(result)
    rules = _fastmath_rules(fastmath, *operands, result)

    def scalar_face(*codes: int) -> Scalar:
        found = specification(*codes)
        if found.poison:
            return lost
        for fault, test, _ in rules:
            if getattr(result, test)(found.code) or any(
                getattr(fmt, test)(code) for fmt, code in zip(operands, codes, strict=True)
            ):
                return fault
        return found.code

    def array_face(*codes: Codes) -> Outcome:
        found = array(*codes)
        if found.poison is None and not rules:
            return Outcome((found.codes,))
        masks = [(lost, found.poison)]
        for fault, _, test in rules:
            pairs = zip((result, *operands), (found.codes, *codes), strict=True)
            hit = np.logical_or.reduce([np.broadcast_to(test(f, c), _shape(result, found.codes)) for f, c in pairs])
            masks.append((fault, hit))
        return Outcome((found.codes,), faults_of(masks))

    return Kernel(
        scalar_face,
        array_face,
        open=_open_rule(result, fastmath, open_rule, open_nan),
        opens=_opens(result, fastmath, open_rule, open_nan),
        faults=((lost,) if loses else ()) + tuple(fault for fault, _, _ in rules),
        flags=flags,
    )


def _shape(fmt: FloatFormat, codes: Codes) -> tuple[int, ...]:
    return codes.shape[:-1] if fmt.limbs > 1 else codes.shape


_FASTMATH_RULES = (
    (NNAN, "nan_code", poison("NaN operand or result under fastmath<nnan>"), "is_nan", is_nan),
    (NINF, "infinity_code", poison("infinite operand or result under fastmath<ninf>"), "is_infinite", is_infinite),
)


def _fastmath_rules(
    fastmath: int, *formats: FloatFormat
) -> tuple[tuple[Fault, str, Callable[[FloatFormat, Codes], Mask]], ...]:
    """The rules of these flags that any of the formats can break."""
    return tuple(
        (fault, method, test)
        for bit, code, fault, method, test in _FASTMATH_RULES
        if fastmath & bit and any(getattr(fmt, code) is not None for fmt in formats)
    )


def _open_rule(result: FloatFormat, fastmath: int, extra: OpenRule | None, open_nan: bool) -> OpenRule | None:
    """Which results the language leaves open: NaN bits where ``open_nan``, signs of zeros under nsz, everything under
    reassoc and the like. None where nothing can be open.
    """
    opens = _opens(result, fastmath, extra, open_nan)
    if not opens:
        return None

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        codes = results[0]
        mask = np.zeros(_shape(result, codes), np.uint8)
        if opens & Open.NAN.value:
            mask = np.where(is_nan(result, codes), np.uint8(Open.NAN.value), mask)
        if opens & Open.SIGN.value and fastmath & NSZ:
            mask = mask | np.where(is_zero(result, codes), np.uint8(Open.SIGN.value), np.uint8(0))
        if fastmath & _ANY_VALUE:
            mask = mask | np.uint8(Open.VALUE.value)
        if opens & Open.SIGN.value and extra is not None:
            own = extra(operands, results)
            mask = mask if own is None else mask | own
        return mask if mask.any() else None

    return rule


def _opens(result: FloatFormat, fastmath: int, extra: OpenRule | None, open_nan: bool) -> int:
    """All bits that the rule of `_open_rule` may set. ``extra`` is about signs, where the format has -0."""
    bits = Open.NAN.value if open_nan and result.nan_code is not None else 0
    if (extra is not None or fastmath & NSZ) and result.has_negative_zero:
        bits |= Open.SIGN.value
    return bits | Open.VALUE.value if fastmath & _ANY_VALUE else bits


def _open_quotient(fmt: FloatFormat) -> OpenRule:
    """Under nsz the sign of a zero divisor is open, and so is that of the infinity it gives."""

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        by_zero = is_zero(fmt, operands[1]) & ~is_nan(fmt, results[0])
        return np.where(by_zero, np.uint8(Open.SIGN.value), np.uint8(0))

    return rule


def _open_zeros(fmt: FloatFormat) -> OpenRule:
    """maxnumf and minnumf of zeros of different signs: either zero."""

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        first, second = operands
        differ = first != second
        if fmt.limbs > 1:
            differ = differ.any(axis=-1)
        both = is_zero(fmt, first) & is_zero(fmt, second) & differ
        return np.where(both, np.uint8(Open.SIGN.value), np.uint8(0))

    return rule


@cpu.forgotten
@lru_cache(maxsize=4096)
def binary(
    name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile, zeros_open: bool = False
) -> Kernel:
    """An operation of two operands and a result of one format, named as in `halfulp.fp_formats.scalar`.

    ``zeros_open``: of zeros of different signs, the language allows either as the result.
    """
    policy = emulated.arithmetic(profile, name)
    arguments: tuple[Any, ...] = (rounding, policy) if name in _ROUNDED else (policy,)
    faces: Faces
    flags = None
    if emulates := emulated.emulates(profile, fmt):
        faces = emulated.binary(name, fmt, arguments)
    else:
        specification, array, flagged = getattr(scalar, name), getattr(fast, name), getattr(exact, name)
        flags = flags_of(lambda a, b: flagged(fmt, a, b, *arguments, want_flags=True))
        faces = (lambda a, b: specification(fmt, a, b, *arguments), lambda a, b: array(fmt, a, b, *arguments))
    open_rule = None
    if name == "divide" and fastmath & NSZ:
        open_rule = _open_quotient(fmt)
    elif zeros_open:
        open_rule = _open_zeros(fmt)
    loses = not emulates and name in _MAKES_NANS and loses_nan(policy, fmt)
    kernel = float_kernel(*faces, (fmt, fmt), fmt, fastmath, open_rule, loses=loses, flags=flags)
    if emulates or fastmath & (NNAN | NINF):
        return kernel
    return replace(kernel, scalar=native_scalar.binary(name, fmt, rounding, policy, kernel.scalar))


def stochastic(name: str, fmt: FloatFormat, random: Random, profile: Profile, fastmath: int = 0) -> Kernel:
    """add, subtract, multiply or divide with stochastic rounding: ``random`` is (one unsigned integer per element,
    its width). There is no scalar face.
    """
    array, policy = getattr(exact, name), profile.arithmetic
    arguments = (Rounding.STOCHASTIC, policy, random)
    return float_kernel(
        no_scalar_face,
        lambda a, b: array(fmt, a, b, *arguments),
        (fmt, fmt),
        fmt,
        fastmath,
        loses=name in _MAKES_NANS and loses_nan(policy, fmt),
        flags=flags_of(lambda a, b: array(fmt, a, b, *arguments, want_flags=True)),
    )


def no_scalar_face(*codes: int) -> scalar.Result:
    """Stands for the specification where random bits come with an array."""
    raise AssertionError("stochastic rounding takes its random bits from an array")


@lru_cache(maxsize=1024)
def unary(name: str, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """ "negate" or "flush"."""
    policy = profile.arithmetic
    specification, array = getattr(scalar, name), getattr(fast, name)
    faces: Faces = (lambda a: specification(fmt, a, policy), lambda a: array(fmt, a, policy))
    flagged = getattr(exact, name)
    flags: FlagRule | None = flags_of(lambda a: flagged(fmt, a, policy, want_flags=True))
    if name == "negate" and emulated.emulates(profile, fmt) and fmt.name != "f16":
        faces, flags = emulated.negate(fmt), None
    # Neither op generates NaNs, and both keep the bits of one.
    return float_kernel(*faces, (fmt,), fmt, fastmath, open_nan=False, flags=flags)


@cpu.forgotten
@lru_cache(maxsize=4096)
def compare(predicate: int, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """arith.cmpf with MLIR's predicate number."""
    policy = profile.arithmetic
    rules = _fastmath_rules(fastmath, fmt)
    specification: Callable[[int, int], Any] = lambda a, b: scalar.compare(fmt, predicate, a, b, policy)  # noqa: E731
    array: Callable[[Codes, Codes], Any] = lambda a, b: fast.compare(fmt, predicate, a, b, policy)  # noqa: E731
    flags: FlagRule | None = flags_of(lambda a, b: exact.compare(fmt, predicate, a, b, policy, want_flags=True))
    if emulated.emulates(profile, fmt):
        specification, array = emulated.compare(predicate, fmt, policy)
        flags = None

    def specified(a: int, b: int) -> Scalar:
        for fault, test, _ in rules:
            if getattr(fmt, test)(a) or getattr(fmt, test)(b):
                return fault
        return int(specification(a, b))

    native = not rules and not emulated.emulates(profile, fmt)
    scalar_face = native_scalar.compare(predicate, fmt, policy, specified) if native else specified

    def array_face(a: Codes, b: Codes) -> Outcome:
        found = array(a, b)
        return Outcome((found.codes,), faults_of((fault, test(fmt, a) | test(fmt, b)) for fault, _, test in rules))

    return Kernel(scalar_face, array_face, faults=tuple(fault for fault, _, _ in rules), flags=flags)
