"""Comparisons, and tests for NaN, infinity and zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats import formats, mixed, scalar
from halfulp.fp_formats.exact import arithmetic, conversions, core
from halfulp.fp_formats.exact.core import ArrayResult, Limbs, Packed, Random, RoundingOptions
from halfulp.fp_formats.exact.encoding import round_f64, signalling_flags
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNE, TO_ODD


def compare(
    fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> ArrayResult:
    """Compute `scalar.compare` for arrays: the code is 1 for elements for which the predicate is true, else 0. Only
    signalling NaNs raise invalid.
    """
    holds = scalar.PREDICATES[predicate]

    def kernel(options: RoundingOptions, *chunks: Codes) -> Packed:
        x, y = core.operands(fmt, options, *chunks)
        less, same = core.less_and_equal(fmt, x, y)
        relation = np.where(less, scalar.LESS, np.where(same, scalar.EQUAL, scalar.GREATER))
        for codes in (x, y):
            nan = core.nans_of(fmt, codes)
            if nan is not None and nan.any():
                relation = np.where(nan, scalar.UNORDERED, relation)
        flags = signalling_flags(options, core.classify(fmt, x), core.classify(fmt, y)) if want_flags else None
        return Packed(((relation & holds) != 0).astype(np.uint64), flags)

    return core.run(kernel, RoundingOptions(RNE, policy, want_flags), 1, (a, fmt.bits), (b, fmt.bits))


# Classes of codes.


def is_nan(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the NaNs, invalid x87 operands included, in the element shape."""
    return _classes(fmt, codes).nan.reshape(formats.element_shape(codes, fmt.bits))


def is_infinite(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the infinities of either sign."""
    return _classes(fmt, codes).infinite.reshape(formats.element_shape(codes, fmt.bits))


def is_zero(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the zeros of either sign."""
    return _classes(fmt, codes).zero.reshape(formats.element_shape(codes, fmt.bits))


def is_normal(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the finite values that are neither zero nor subnormal."""
    lifted = _lifted(fmt, codes)
    _, significand, _ = core.unpack(fmt, lifted)
    x = core.classify(fmt, lifted)
    found: Mask = core.nonzero(core.shift_right(significand, fmt.mantissa_bits)) & ~(x.nan | x.infinite)
    return found.reshape(formats.element_shape(codes, fmt.bits))


def _classes(fmt: FloatFormat, codes: Codes) -> core.Classified:
    return core.classify(fmt, _lifted(fmt, codes))


def _lifted(fmt: FloatFormat, codes: Codes) -> Limbs:
    return core.lift(fmt, core.flattened(codes, fmt.bits, formats.element_shape(codes, fmt.bits)), fmt.limbs == 2)


# --- mixed ------------------------------------------------------------------------------------------------------------
#
# `fp_formats.mixed` on arrays.

F64 = formats.FORMATS["f64"]


@lru_cache(maxsize=1024)
def by_f64(sources: tuple[FloatFormat, ...], dst: FloatFormat, random_width: int = 0) -> bool:
    """Tell whether an operation may be done in f64, rounded to odd, and rounded again to ``dst``, with the code of the
    exact result. This requires that f64 can represent all operands, and that it has at least two bits more precision
    than ``dst``, and ``random_width`` more bits for stochastic rounding.
    """
    spare = 2 + random_width
    return all(
        fmt.precision <= F64.precision and fmt.emax <= F64.emax and _lowest(fmt) >= _lowest(F64) for fmt in sources
    ) and (dst.precision + spare <= F64.precision and dst.emax < F64.emax and _lowest(dst) - spare >= _lowest(F64))


def _lowest(fmt: FloatFormat) -> int:
    return fmt.emin - fmt.mantissa_bits


@lru_cache(maxsize=1024)
def embedded(sources: tuple[FloatFormat, ...], dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether the format of the result can represent all numbers of the formats of the operands, and the policy
    flushes no subnormal of these formats.
    """
    fits = all(
        fmt == dst or (fmt.precision <= dst.precision and fmt.emax <= dst.emax and _lowest(fmt) >= _lowest(dst))
        for fmt in sources
    )
    return fits and dst.signed and dst.has_negative_zero and not policy.flushing(dst).any


def operate(
    name: str,
    sources: Sequence[FloatFormat],
    dst: FloatFormat,
    operands: Sequence[Codes],
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
    operations: Any = arithmetic,
    convert: Callable[..., ArrayResult] = conversions.convert,
) -> ArrayResult:
    """Compute `mixed.operate` for arrays that broadcast.

    ``operations``: a module with the operations on one format. ``convert``: the function that converts. Both are those
    of `exact`, or faster ones with the same results.

    The operands are converted to the format of the result, if that format can represent all of them. Otherwise the
    operation is done in f64, rounded to odd, and rounded again. Special operands, and results that f64 does not
    determine, are computed one at a time.
    """
    noise = [] if random is None else [(np.asarray(random[0]), formats.LIMB_BITS)]
    width = 0 if random is None else random[1]

    def specification(*codes: int) -> scalar.Result:
        codes, drawn = (codes[:-1], (codes[-1], width)) if noise else (codes, None)
        return mixed.operate(name, sources, dst, codes, rounding, policy, drawn)

    pairs = [(codes, fmt.bits) for codes, fmt in zip(operands, sources, strict=True)]
    fits = embedded(tuple(sources), dst, policy)
    if not fits and not by_f64(tuple(sources), dst, width):
        return core.by_scalar(specification, dst.bits, want_flags, *pairs, *noise)
    shape = np.broadcast_shapes(*(formats.element_shape(codes, bits) for codes, bits in (*pairs, *noise)))
    flat = [core.flattened(codes, bits, shape) for codes, bits in (*pairs, *noise)]
    drawn = None if random is None else (flat[-1], width)
    wide, special = _converted(name, sources, flat[: len(sources)], dst if fits else F64, policy, convert)
    operation = getattr(operations, mixed.OPERATIONS[name].name)
    if fits:
        codes, poison, flags = operation(dst, *wide, rounding, policy, drawn, want_flags)
        codes = np.array(codes)  # a table's result may be shared
    else:
        odd = operation(F64, *wide, TO_ODD, SPEC).codes
        if rounding == RD and not name.startswith("mul"):
            special |= odd << np.uint64(1) == 0  # the sign of x - x is another one
        codes, poison, flags = round_f64(dst, odd, rounding, policy, want_flags, drawn)
    if special.any():
        # All special operands of short formats are few: each combination is computed once.
        rows = [
            formats.codes_to_ints(each[special], bits) for each, (_, bits) in zip(flat, (*pairs, *noise), strict=True)
        ]
        known = {row: specification(*row) for row in set(zip(*rows, strict=True))}
        results = [known[row] for row in zip(*rows, strict=True)]
        codes[special] = formats.ints_to_codes([each.code for each in results], dst.bits, (len(results),))
        lost = np.array([each.poison for each in results], np.bool_)
        if poison is None and lost.any():
            poison = np.zeros(special.size, np.bool_)
        if poison is not None:
            poison[special] = lost
        if flags is not None:
            flags[special] = [each.flags for each in results]
    return ArrayResult(
        codes.reshape((*shape, *codes.shape[1:])),
        None if poison is None else poison.reshape(shape),
        None if flags is None else flags.reshape(shape),
    )


def _converted(
    name: str,
    sources: Sequence[FloatFormat],
    operands: Sequence[Codes],
    wide: FloatFormat,
    policy: FloatPolicy,
    convert: Callable[..., ArrayResult],
) -> tuple[list[Codes], Mask]:
    """Return the operands as codes of a format that can represent them, with the signs that the operation takes, and
    the mask of those that are not numbers; the code of these elements is replaced by that of 1.
    """
    operation = mixed.OPERATIONS[name]
    # Subnormals are those of the operand's format: a wider one has none of them.
    flushed = [
        arithmetic.flush(fmt, each, policy).codes if policy.flushing(fmt).operands else each
        for fmt, each in zip(sources, operands, strict=True)
    ]
    codes = [
        each if fmt == wide else convert(fmt, wide, each).codes for fmt, each in zip(sources, flushed, strict=True)
    ]
    special: Mask = np.logical_or.reduce(
        [is_nan(fmt, each) | is_infinite(fmt, each) for fmt, each in zip(sources, operands, strict=True)]
    )
    if name == "divide":
        special |= is_zero(wide, codes[1])
    for number, negated in ((0, operation.negates[0]), (-1, operation.negates[1])):
        if negated:
            codes[number] = arithmetic.negate(wide, codes[number]).codes
    if special.any():
        (one,) = formats.ints_to_codes([scalar.from_fraction(wide, Fraction(1), RNE).code], wide.bits, (1,))
        codes = [np.array(each) for each in codes]
        for each in codes:
            each[special] = one
    return codes, special
