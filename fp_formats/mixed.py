"""Operations whose operands and result may have different formats, rounded once: the specification.

Examples are a multiply-add of f8 products with an f32 accumulator, and a product with a scale of another format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import QUIET_NAN, RNE, Random, Result, Unpacked


class Operation(NamedTuple):
    """An operation on exact numbers.

    ``name``: the name of the operation of `scalar` on one format. ``operands``: their number. ``negates``: for a
    multiply-add, 1 if the sign of its product is changed, and 1 if the sign of its addend is.
    """

    name: str
    operands: int
    exactly: Callable[..., Result]
    negates: tuple[int, int] = (0, 0)


def _fused(negates: tuple[int, int]) -> Callable[..., Result]:
    def exactly(
        fmt: FloatFormat,
        x: Unpacked,
        y: Unpacked,
        z: Unpacked,
        rounding: int,
        policy: FloatPolicy,
        random: Random = None,
    ) -> Result:
        return scalar.fused(fmt, x, y, z, rounding, policy, random, negates)

    return exactly


def _sum(flip: int) -> Callable[..., Result]:
    def exactly(
        fmt: FloatFormat, x: Unpacked, y: Unpacked, rounding: int, policy: FloatPolicy, random: Random = None
    ) -> Result:
        return scalar.signed_sum(fmt, x, y, flip, rounding, policy, random)

    return exactly


FUSED: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"fma": (0, 0), "fmsub": (0, 1), "fnmsub": (1, 0), "fnmadd": (1, 1)}
)
"""The multiply-adds by RISC-V's names: a*b + c, a*b - c, -(a*b) + c and -(a*b) - c."""

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "add": Operation("add", 2, _sum(0)),
        "subtract": Operation("subtract", 2, _sum(1)),
        "multiply": Operation("multiply", 2, scalar.product),
        "divide": Operation("divide", 2, scalar.ratio),
        **{name: Operation("fma", 3, _fused(negates), negates) for name, negates in FUSED.items()},
    }
)
"""The operations by name."""


def operate(
    name: str,
    sources: Sequence[FloatFormat],
    dst: FloatFormat,
    codes: Sequence[int],
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
) -> Result:
    """Do an operation on codes, one for each format of ``sources``, and round the result once to ``dst``. If an operand
    is a NaN, the leading bits of its fraction go to the NaN of ``dst``, as in a conversion.
    """
    operands = [_in(dst, fmt, scalar.operand(fmt, code, policy)) for fmt, code in zip(sources, codes, strict=True)]
    return OPERATIONS[name].exactly(dst, *operands, rounding, policy, random)


def _in(dst: FloatFormat, source: FloatFormat, x: Unpacked) -> Unpacked:
    """Return the operand with the fraction of a NaN aligned to that of the format ``dst``."""
    if x.kind < QUIET_NAN:
        return x
    return x._replace(significand=x.significand << dst.mantissa_bits >> source.mantissa_bits)
