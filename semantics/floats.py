"""Kernels of float arithmetic, comparison and negation (arith document; the rules are those of `fp_formats.scalar`).

Names of operations are those of `halfulp.fp_formats.scalar` and `fast`. This module adds what depends on the op and not
on the format: fast-math flags, the poison of a NaN result that has no code, and the results that the language leaves
unspecified (`open`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import arithmetic, comparisons
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, element_shape
from halfulp.fp_formats.paths import fast, llvm, native_scalar, word_flags, word_floats
from halfulp.fp_formats.paths.words import Implementation
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics import emulated
from halfulp.semantics.kernel import (
    Compares,
    Fault,
    Kernel,
    Meaning,
    Open,
    Outcome,
    Scalar,
    faults_of,
    poison,
    same_kind,
)
from halfulp.semantics.profile import Profile

REASSOC, NNAN, NINF, NSZ, ARCP, CONTRACT, AFN = (1 << k for k in range(7))
"""The bits of arith.fastmath."""

_ANY_VALUE = REASSOC | ARCP | CONTRACT | AFN
_MAKES_NANS = frozenset({"divide", "remainder"})
"""The operations that can make a NaN from finite operands, in a format without NaN and infinities."""
_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "remainder"})

Random = tuple[Any, int] | None
Implementations = tuple[Callable[..., scalar.Result], Callable[..., ArrayResult]]
OpenRule = Callable[[tuple[Codes, ...], tuple[Codes, ...]], npt.NDArray[np.uint8] | None]
FlagRule = Callable[..., npt.NDArray[np.uint8]]


def lost_nan(fmt: FloatFormat) -> Fault:
    """Return the fault of a NaN result in a format without NaN."""
    return poison(f"NaN is not representable in {fmt.name}")


def loses_nan(policy: FloatPolicy, *formats: FloatFormat) -> bool:
    """Tell whether a NaN result is poison in one of these formats."""
    return policy.nan_to_nanless == "poison" and any(fmt.nan_code is None for fmt in formats)


def flags_of(operation: Callable[..., ArrayResult]) -> FlagRule:
    """Return a function that gives the exception flags of an operation. ``operation``: a function of `exact`, which is
    called with ``want_flags``.
    """

    def flags(*codes: Codes) -> npt.NDArray[np.uint8]:
        found = operation(*codes).flags
        assert found is not None
        return found

    return flags


def raising(
    kernel: Kernel,
    raises: Callable[..., ArrayResult] | None,
    outcome_of: Callable[..., Outcome],
    flagged: Callable[..., tuple[Scalar, int]] | None = None,
) -> Kernel:
    """Return a kernel with exception flags. ``raises`` gives results with flags, of which ``outcome_of(found, *codes)``
    makes the outcome; None: the kernel stays without flags. ``flagged``: see `Kernel`.
    """
    if raises is None:
        return kernel

    def both(*codes: Codes) -> tuple[Outcome, npt.NDArray[np.uint8]]:
        found = raises(*codes)
        assert found.flags is not None
        return outcome_of(found, *codes), found.flags

    return replace(kernel, flags=flags_of(raises), both=both, flagged=flagged)


is_nan, is_infinite, is_zero = fast.is_nan, comparisons.is_infinite, comparisons.is_zero
"""The masks of NaNs, invalid x87 operands included, of infinities, and of zeros of either sign."""


def float_kernel(
    specification: Callable[..., scalar.Result],
    array: Callable[..., ArrayResult],
    operands: tuple[FloatFormat, ...],
    result: FloatFormat,
    fastmath: int,
    open_rule: OpenRule | None = None,
    open_nan: bool = True,
    loses: bool = False,
    raises: Callable[..., ArrayResult] | None = None,
    real: Meaning | None = None,
) -> Kernel:
    """Return the kernel of an operation on floats with a float result. ``specification``, ``array``: its two
    implementations.

    ``operands``: the formats of the operands, which integers and random bits may follow. ``fastmath``: the flag nnan
    makes a NaN operand or result poison; ninf does this for infinities. ``open_nan``: the bits of a NaN result are
    unspecified. ``loses``: a NaN may be lost, which the implementations report as poison. ``raises``: as ``array``,
    with exception flags. ``real``: see `Kernel`.
    """
    lost = lost_nan(result)
    rules = fastmath_rules(fastmath, *operands, result)

    def judged(found: scalar.Result, codes: tuple[int, ...]) -> Scalar:
        if found.poison:
            return lost
        for fault, test, _ in rules:
            if getattr(result, test)(found.code) or any(
                getattr(fmt, test)(code) for fmt, code in zip(operands, codes, strict=False)
            ):
                return fault
        return found.code

    def flagged(*codes: int) -> tuple[Scalar, int]:
        found = specification(*codes)
        return judged(found, codes), found.flags

    def outcome_of(found: ArrayResult, *codes: Codes) -> Outcome:
        if found.poison is None and not rules:
            return Outcome((found.codes,))
        masks = [(lost, found.poison)]
        for fault, _, test in rules:
            pairs = zip((result, *operands), (found.codes, *codes), strict=False)
            hit = np.logical_or.reduce(
                [np.broadcast_to(test(f, c), element_shape(found.codes, result.bits)) for f, c in pairs]
            )
            masks.append((fault, hit))
        return Outcome((found.codes,), faults_of(masks))

    kernel = Kernel(
        lambda *codes: judged(specification(*codes), codes),
        lambda *codes: outcome_of(array(*codes), *codes),
        open=_open_rule(result, fastmath, open_rule, open_nan),
        opens=_opens(result, fastmath, open_rule, open_nan),
        faults=((lost,) if loses else ()) + tuple(fault for fault, _, _ in rules),
        real=real,
    )
    return raising(kernel, raises, outcome_of, flagged)


_FASTMATH_RULES = (
    (NNAN, "nan_code", poison("NaN operand or result under fastmath<nnan>"), "is_nan", is_nan),
    (NINF, "infinity_code", poison("infinite operand or result under fastmath<ninf>"), "is_infinite", is_infinite),
)


def fastmath_rules(
    fastmath: int, *formats: FloatFormat
) -> tuple[tuple[Fault, str, Callable[[FloatFormat, Codes], Mask]], ...]:
    """Return the rules of the flags nnan and ninf that numbers of these formats can break. Each rule has the fault, the
    test of one code by its name, and the test of an array of codes.
    """
    return tuple(
        (fault, method, test)
        for bit, code, fault, method, test in _FASTMATH_RULES
        if fastmath & bit and any(getattr(fmt, code) is not None for fmt in formats)
    )


def _open_rule(result: FloatFormat, fastmath: int, extra: OpenRule | None, open_nan: bool) -> OpenRule | None:
    """Return the rule for unspecified results: NaN bits if ``open_nan``, signs of zeros under nsz, everything under
    reassoc and similar flags. None if no result can be unspecified.
    """
    opens = _opens(result, fastmath, extra, open_nan)
    if not opens:
        return None

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        codes = results[0]
        mask = np.zeros(element_shape(codes, result.bits), np.uint8)
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
    """Return all bits that the rule of `_open_rule` may set. ``extra`` is about signs, if the format has -0."""
    bits = Open.NAN.value if open_nan and result.nan_code is not None else 0
    if (extra is not None or fastmath & NSZ) and result.has_negative_zero:
        bits |= Open.SIGN.value
    return bits | Open.VALUE.value if fastmath & _ANY_VALUE else bits


def _open_quotient(fmt: FloatFormat) -> OpenRule:
    """Return the rule of division under nsz: the sign of a zero divisor is unspecified, and so is that of the infinity
    it gives.
    """

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        by_zero = is_zero(fmt, operands[1]) & ~is_nan(fmt, results[0])
        return np.where(by_zero, np.uint8(Open.SIGN.value), np.uint8(0))

    return rule


def _open_zeros(fmt: FloatFormat) -> OpenRule:
    """Return the rule of maxnumf and minnumf for zeros of different signs: either zero is allowed."""

    def rule(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        first, second = operands
        differ = first != second
        if fmt.limbs > 1:
            differ = differ.any(axis=-1)
        both = is_zero(fmt, first) & is_zero(fmt, second) & differ
        return np.where(both, np.uint8(Open.SIGN.value), np.uint8(0))

    return rule


@llvm.forgotten
@lru_cache(maxsize=4096)
def binary(
    name: str, fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile, zeros_open: bool = False
) -> Kernel:
    """Return the kernel of an operation with two operands and a result of one format, named as in
    `halfulp.fp_formats.scalar`.

    ``zeros_open``: for zeros of different signs, the language allows either as the result.
    """
    policy = emulated.arithmetic(profile, name)
    arguments: tuple[Any, ...] = (rounding, policy) if name in _ROUNDED else (policy,)
    implementations: Implementations
    raises = None
    if emulates := emulated.emulates(profile, fmt):
        implementations = emulated.applied(name, fmt, arguments)
    else:
        specification, array = getattr(scalar, name), getattr(fast, name)
        raises = lambda a, b: array(fmt, a, b, *arguments, want_flags=True)  # noqa: E731
        implementations = (lambda a, b: specification(fmt, a, b, *arguments), lambda a, b: array(fmt, a, b, *arguments))
    open_rule = None
    if name == "divide" and fastmath & NSZ:
        open_rule = _open_quotient(fmt)
    elif zeros_open:
        open_rule = _open_zeros(fmt)
    loses = not emulates and name in _MAKES_NANS and loses_nan(policy, fmt)
    real = same_kind(name.replace("_", " "), fmt, 2)
    kernel = float_kernel(*implementations, (fmt, fmt), fmt, fastmath, open_rule, loses=loses, raises=raises, real=real)
    if emulates or fastmath & (NNAN | NINF):
        return kernel
    return replace(
        kernel,
        scalar=native_scalar.binary(name, fmt, rounding, policy, kernel.scalar),
        words=word_floats.binary(name, fmt, rounding, policy) or _exact_words(name, fmt, rounding, policy),
    )


def _exact_words(name: str, fmt: FloatFormat, rounding: Rounding, policy: FloatPolicy) -> Implementation | None:
    """Return the description of an operation by way of its exact result, which takes longer than one by floats."""
    if name in mixed.OPERATIONS:
        return word_flags.code_of(word_flags.arithmetic(name, (fmt,) * 2, fmt, int(rounding), policy))
    return None if name == "remainder" else word_flags.code_of(word_flags.extremum(name, fmt, policy))


@lru_cache(maxsize=1024)
def stochastic(name: str, fmt: FloatFormat, profile: Profile, fastmath: int = 0) -> Kernel:
    """Return the kernel of add, subtract, multiply, divide or fma with stochastic rounding. Its last operand is
    `Random`: one unsigned integer and its width for the scalar implementation, an integer for each element for the
    others.
    """
    specification, array, policy = getattr(scalar, name), getattr(arithmetic, name), profile.arithmetic
    mode, count = (Rounding.STOCHASTIC, policy), 3 if name == "fma" else 2

    def exact(*given: Any, want_flags: bool = False) -> ArrayResult:
        found: ArrayResult = array(fmt, *given[:-1], *mode, given[-1], want_flags)
        return found

    return float_kernel(
        lambda *given: specification(fmt, *given[:-1], *mode, given[-1]),
        exact,
        (fmt,) * count,
        fmt,
        fastmath,
        loses=name in _MAKES_NANS and loses_nan(policy, fmt),
        raises=partial(exact, want_flags=True),
        real=same_kind(name, fmt, count),
    )


@llvm.forgotten
@lru_cache(maxsize=1024)
def fma(fmt: FloatFormat, rounding: Rounding, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of math.fma: a * b + c, rounded once."""
    arguments, real = (rounding, profile.arithmetic), same_kind("fma", fmt, 3)
    if emulated.emulates(profile, fmt):
        return float_kernel(*emulated.applied("fma", fmt, arguments), (fmt,) * 3, fmt, fastmath, real=real)
    kernel = float_kernel(
        lambda a, b, c: scalar.fma(fmt, a, b, c, *arguments),
        lambda a, b, c: fast.fma(fmt, a, b, c, *arguments),
        (fmt,) * 3,
        fmt,
        fastmath,
        raises=lambda a, b, c: fast.fma(fmt, a, b, c, *arguments, want_flags=True),
        real=real,
    )
    if fastmath & (NNAN | NINF):
        return kernel
    described = word_flags.arithmetic("fma", (fmt,) * 3, fmt, int(rounding), profile.arithmetic)
    native = word_floats.fma(fmt, int(rounding), profile.arithmetic)
    return replace(kernel, words=native or word_flags.code_of(described))


@llvm.forgotten
@lru_cache(maxsize=1024)
def clamp(fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of math.clampf: maximum(minimum(value, high), low), for operands value, low, high."""
    lesser, greater = (binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile) for name in ("minimum", "maximum"))
    flags: FlagRule | None = None
    if lesser.flags is not None:
        first, second = lesser.flags, greater.flags
        assert second is not None
        flags = lambda a, low, high: first(a, high) | second(lesser.array(a, high).results[0], low)  # noqa: E731
    kernel = float_kernel(
        lambda a, low, high: scalar.Result(cast("int", greater.scalar(lesser.scalar(a, high), low))),
        lambda a, low, high: ArrayResult(greater.array(lesser.array(a, high).results[0], low).results[0]),
        (fmt,) * 3,
        fmt,
        fastmath,
        real=same_kind("clamp", fmt, 3),
    )
    # Its scalar implementation is made of two others, which give codes alone.
    return replace(kernel, flags=flags)


@lru_cache(maxsize=1024)
def unary(name: str, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of "negate" or "flush"."""
    policy = profile.arithmetic
    specification, array = getattr(scalar, name), getattr(fast, name)
    implementations: Implementations = (lambda a: specification(fmt, a, policy), lambda a: array(fmt, a, policy))
    raises: Callable[..., ArrayResult] | None = lambda a: array(fmt, a, policy, want_flags=True)  # noqa: E731
    if name == "negate" and emulated.emulates(profile, fmt) and fmt.name != "f16":
        implementations, raises = emulated.applied("negate", fmt, ()), None
    # Neither op generates NaNs, and both keep the bits of one.
    real = same_kind("negate" if name == "negate" else "convert", fmt, 1)
    kernel = float_kernel(*implementations, (fmt,), fmt, fastmath, open_nan=False, raises=raises, real=real)
    plain = not emulated.emulates(profile, fmt) and not fastmath & (NNAN | NINF)
    return replace(kernel, words=word_floats.negate(fmt, policy)) if name == "negate" and plain else kernel


@llvm.forgotten
@lru_cache(maxsize=4096)
def compare(predicate: int, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of arith.cmpf with MLIR's predicate number."""
    policy = profile.arithmetic
    rules = fastmath_rules(fastmath, fmt)
    specification: Callable[[int, int], Any] = lambda a, b: scalar.compare(fmt, predicate, a, b, policy)  # noqa: E731
    array: Callable[[Codes, Codes], Any] = lambda a, b: fast.compare(fmt, predicate, a, b, policy)  # noqa: E731
    raises: Callable[..., ArrayResult] | None = partial(fast.compare, fmt, predicate, policy=policy, want_flags=True)
    if emulated.emulates(profile, fmt):
        specification, array = emulated.compare(predicate, fmt, policy)
        raises = None

    def specified(a: int, b: int) -> Scalar:
        for fault, test, _ in rules:
            if getattr(fmt, test)(a) or getattr(fmt, test)(b):
                return fault
        return int(specification(a, b))

    def flagged(a: int, b: int) -> tuple[Scalar, int]:
        given = scalar.operand(fmt, a, policy), scalar.operand(fmt, b, policy)
        return specified(a, b), scalar.invalid_if_signalling(*given)

    native = not rules and not emulated.emulates(profile, fmt)
    scalar_implementation = native_scalar.compare(predicate, fmt, policy, specified) if native else specified

    def outcome_of(found: ArrayResult, a: Codes, b: Codes) -> Outcome:
        return Outcome((found.codes,), faults_of((fault, test(fmt, a) | test(fmt, b)) for fault, _, test in rules))

    words = None
    if native:
        words = word_floats.compare(predicate, fmt, policy)
        words = words or word_flags.code_of(word_flags.compare(predicate, fmt, policy))
    faults = tuple(fault for fault, _, _ in rules)
    real = Compares(predicate, fmt)
    kernel = Kernel(
        scalar_implementation, lambda a, b: outcome_of(array(a, b), a, b), faults=faults, words=words, real=real
    )
    return raising(kernel, raises, outcome_of, flagged)
