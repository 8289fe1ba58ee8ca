"""Causes in how a device computes a result: rounding twice, saturation, an accumulator of fewer bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.conformance.vectors.device import Cause, Datapath, through
from halfulp.conformance.vectors.encodings import conversion
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags, as_rounding
from halfulp.interp.ir.types import width_of

VIA = ("f16", "bf16", "tf32", "f32", "f64")
"""Formats through which a device may round."""

FEWER, MORE = 6, 4
"""The accumulators that are tried: from so many bits below the precision of the format to so many above it."""

_OUTPUTS = (Role.RESULT, Role.FLAGS)


def _named(case: OpCase) -> dict[str, Any]:
    return dict(case.properties)


# --- rounding twice ---------------------------------------------------------------------------------------------------


def roundings_on_the_way(computation: Computation) -> Iterator[Cause]:
    """Yield rounding to another format first, then to that of the result."""
    if isinstance(computation, OpComputation) and computation.case.results[0] in FORMATS:
        for via in VIA:
            if via not in (*computation.case.operands, *computation.case.results):
                yield through(f"double rounding through {via}", partial(_twice, via))


def _twice(via: str, computation: Computation, inputs: Chunk) -> Computed | None:
    if not isinstance(computation, OpComputation) or computation.random_bits is not None:
        return None
    case, target = computation.case, computation.case.results[0]
    rounding = {key: value for key, value in case.properties if key == "rounding"}
    raised: list[Codes] = []

    def step(asked: OpCase | None, *operands: Codes) -> Codes:
        if asked is None:
            raise ValueError("there is no such step")
        of = replace(computation, case=asked)
        outputs = of.compute(operands).outputs
        raised.extend(codes for column, codes in zip(of.outputs, outputs, strict=True) if column.role is Role.FLAGS)
        return outputs[0]

    if len(case.operands) == 1 and case.operands[0] != target:
        source = case.operands[0]
        first = conversion(source, via, **rounding) if source in FORMATS else op_case(case.op, source, via)
        middle = step(first, *inputs)
    else:
        widened = [step(conversion(type_, via), codes) for type_, codes in zip(case.operands, inputs, strict=True)]
        middle = step(op_case(case.op, via, **_named(case)), *widened)
    result = step(conversion(via, target, **rounding), middle)
    return _with_flags(computation, result, np.bitwise_or.reduce(raised) if raised else None)


def _with_flags(computation: Computation, result: Codes, flags: Codes | None) -> Computed | None:
    """Return outputs with this result and these flags; None for a computation with other outputs."""
    roles = [column.role for column in computation.outputs]
    if any(role not in _OUTPUTS for role in roles) or roles.count(Role.RESULT) > 1:
        return None
    if Role.FLAGS in roles and flags is None:
        return None
    return Computed(tuple(result if role is Role.RESULT else flags for role in roles if role in _OUTPUTS))  # type: ignore[misc]


# --- saturation -------------------------------------------------------------------------------------------------------


def saturations(computation: Computation) -> Iterator[Cause]:
    """Yield integer arithmetic in which nothing overflows; a profile says it of floats."""
    if isinstance(computation, OpComputation) and computation.case.op in _INTEGER_OPS:
        yield through("saturation of signed integers", partial(_clamped, True))
        yield through("saturation of unsigned integers", partial(_clamped, False))


_INTEGER_OPS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}


def _clamped(signed: bool, computation: Computation, inputs: Chunk) -> Computed | None:
    assert isinstance(computation, OpComputation)
    width = width_of(computation.case.result_types[0])
    low, high = (-(1 << width >> 1), (1 << width >> 1) - 1) if signed else (0, (1 << width) - 1)
    exact = _INTEGER_OPS[computation.case.op]

    def number(code: int) -> int:
        return code - (1 << width) if signed and code > high else code

    pairs = zip(*(codes_to_ints(codes, width) for codes in inputs), strict=True)
    clamped = (min(max(exact(number(a), number(b)), low), high) for a, b in pairs)
    results = [number & ((1 << width) - 1) for number in clamped]
    return _with_flags(computation, ints_to_codes(results, width, (len(results),)), None)


# --- fewer bits -------------------------------------------------------------------------------------------------------

Term = tuple[int, int]
"""A signed significand and its exponent."""


def _terms(op: str, numbers: list[scalar.Unpacked]) -> list[Term]:
    signed = [(-x.significand if x.sign else x.significand, x.exponent) for x in numbers]
    match op, signed:
        case ("arith.addf", [x, y]):
            return [x, y]
        case ("arith.subf", [x, (significand, exponent)]):
            return [x, (-significand, exponent)]
        case ("arith.mulf", [x, y]):
            return [(x[0] * y[0], x[1] + y[1])]
        case ("math.fma", [x, y, z]):
            return [(x[0] * y[0], x[1] + y[1]), z]
    raise ValueError(f"{op} has no accumulator")


_SUMS = ("arith.addf", "arith.subf", "arith.mulf", "math.fma")


def accumulators(computation: Computation) -> Iterator[Cause]:
    """Yield accumulators of fewer bits than the op needs, from one bit on: each term is cut to the bits of the largest
    one.
    """
    if isinstance(computation, OpComputation) and computation.case.op in _SUMS:
        fmt = FORMATS.get(computation.case.results[0])
        for bits in range(max(1, fmt.precision - FEWER), fmt.precision + MORE + 1) if fmt is not None else ():
            yield through(f"an accumulator of {bits} bit{'s'[: bits > 1]}", _accumulator(bits), slow=True)


def _accumulator(bits: int) -> Datapath:
    return partial(_accumulated, bits)


def _accumulated(bits: int, computation: Computation, inputs: Chunk) -> Computed | None:
    if not isinstance(computation, OpComputation) or computation.random_bits is not None:
        return None
    case, fmt = computation.case, FORMATS[computation.case.results[0]]
    if case.op not in _SUMS or any(type_ not in FORMATS for type_ in case.operands):
        return None
    plain = computation.compute(inputs).outputs
    mode = as_rounding(_named(case).get("rounding", "to_nearest_even"))
    policy = computation.profile.arithmetic
    results = codes_to_ints(plain[0], fmt.bits)
    flags = [k for k, column in enumerate(computation.outputs) if column.role is Role.FLAGS]
    raised = plain[flags[0]].tolist() if flags else [0] * len(results)
    formats = [FORMATS[type_] for type_ in case.operands]
    rows = zip(*(codes_to_ints(codes, own.bits) for codes, own in zip(inputs, formats, strict=True)), strict=True)
    for row, codes in enumerate(rows):
        numbers = [scalar.operand(own, code, policy) for own, code in zip(formats, codes, strict=True)]
        if any(x.kind != scalar.FINITE for x in numbers):
            continue
        total, exponent, lost = _cut_sum(_terms(case.op, numbers), bits)
        if lost:
            made = scalar.round_pack(fmt, int(total < 0), abs(total), exponent, mode, policy)
            results[row], raised[row] = made.code, made.flags | Flags.INEXACT
    made_flags = np.array(raised, np.uint8) if flags else None
    return _with_flags(computation, ints_to_codes(results, fmt.bits, (len(results),)), made_flags)


def _cut_sum(terms: list[Term], bits: int) -> tuple[int, int, bool]:
    """Return the sum of terms, each cut toward zero to ``bits`` bits below the lead of the largest one, with its
    exponent, and whether bits were lost.
    """
    leads = [abs(significand).bit_length() + exponent for significand, exponent in terms if significand]
    lowest = max(leads, default=0) - bits
    total, lost = 0, False
    for significand, exponent in terms:
        magnitude, shift = abs(significand), exponent - lowest
        kept = magnitude << shift if shift >= 0 else magnitude >> -shift
        lost |= shift < 0 and kept << -shift != magnitude
        total += -kept if significand < 0 else kept
    return total, lowest, lost
