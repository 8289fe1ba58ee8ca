"""`fp_formats.mixed` on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from halfulp.fp_formats import mixed
from halfulp.fp_formats.codes import LIMB_BITS, Codes, Mask, codes_to_ints, element_shape, ints_to_codes
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult, Random, by_scalar, flattened
from halfulp.fp_formats.exact.encoding import round_f64
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNE, TO_ODD

F64 = FORMATS["f64"]


@lru_cache(maxsize=1024)
def by_f64(sources: tuple[FloatFormat, ...], dst: FloatFormat, random_width: int = 0) -> bool:
    """Tell whether f64 has all operands, and two bits more than the result can tell apart, so that a result of f64,
    rounded to odd, rounds like the exact one.
    """
    spare = 2 + random_width
    return all(
        fmt.precision <= F64.precision and fmt.emax <= F64.emax and _lowest(fmt) >= _lowest(F64) for fmt in sources
    ) and (dst.precision + spare <= F64.precision and dst.emax < F64.emax and _lowest(dst) - spare >= _lowest(F64))


def _lowest(fmt: FloatFormat) -> int:
    return fmt.emin - fmt.mantissa_bits


def operate(
    name: str,
    sources: Sequence[FloatFormat],
    dst: FloatFormat,
    operands: Sequence[Codes],
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Do `mixed.operate` on arrays that broadcast.

    The operation is done in f64, rounded to odd, and rounded again. Special operands, and results that f64 does not
    settle, go one at a time.
    """
    noise = [] if random is None else [(np.asarray(random[0]), LIMB_BITS)]
    width = 0 if random is None else random[1]

    def specification(*codes: int) -> mixed.Result:
        codes, drawn = (codes[:-1], (codes[-1], width)) if noise else (codes, None)
        return mixed.operate(name, sources, dst, codes, rounding, policy, drawn)

    pairs = [(codes, fmt.bits) for codes, fmt in zip(operands, sources, strict=True)]
    if not by_f64(tuple(sources), dst, width):
        return by_scalar(specification, dst.bits, want_flags, *pairs, *noise)
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in (*pairs, *noise)))
    flat = [flattened(codes, bits, shape) for codes, bits in (*pairs, *noise)]
    odd, special = _in_f64(name, sources, flat[: len(sources)], rounding, policy)
    drawn = None if random is None else (flat[-1], width)
    codes, poison, flags = round_f64(dst, odd, rounding, policy, want_flags, drawn)
    if special.any():
        # All special operands of short formats are few: each combination is computed once.
        rows = [codes_to_ints(each[special], bits) for each, (_, bits) in zip(flat, (*pairs, *noise), strict=True)]
        known = {row: specification(*row) for row in set(zip(*rows, strict=True))}
        results = [known[row] for row in zip(*rows, strict=True)]
        codes[special] = ints_to_codes([each.code for each in results], dst.bits, (len(results),))
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


def _in_f64(
    name: str, sources: Sequence[FloatFormat], operands: Sequence[Codes], rounding: int, policy: FloatPolicy
) -> tuple[Codes, Mask]:
    """Return codes of f64, rounded to odd, and the mask of the elements that they are not for."""
    operation = mixed.OPERATIONS[name]
    # Subnormals are those of the operand's format: f64 has none of them.
    flushing = replace(SPEC, **{field: getattr(policy, field) for field in _FLUSHING})
    wide = [
        conversions.convert(fmt, F64, codes, RNE, flushing).codes for fmt, codes in zip(sources, operands, strict=True)
    ]
    special: Mask = np.logical_or.reduce([~np.isfinite(each.view(np.float64)) for each in wide])
    if name == "divide":
        special |= wide[1] << np.uint64(1) == 0
    for number, negated in ((0, operation.negates[0]), (-1, operation.negates[1])):
        if negated:
            wide[number] = wide[number] ^ np.uint64(F64.sign_mask or 0)
    wide = [np.where(special, np.uint64(_ONE), each) for each in wide]
    odd = getattr(arithmetic, operation.name)(F64, *wide, TO_ODD, SPEC).codes
    if rounding == RD and operation.name != "multiply":
        special |= odd << np.uint64(1) == 0  # the sign of x - x is another one
    return odd, special


_FLUSHING = ("denormals", "denormal_zero", "denormals_f32", "denormal_zero_f32", "tininess")
_ONE = 0x3FF0_0000_0000_0000
