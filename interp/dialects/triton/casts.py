"""Casts between floats as the instructions of a target compute them: one table, with the results that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.elementwise import elementwise_step, enum_of, format_of, rounding_of
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.targets import target_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.run.evaluators import Elementwise, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import casts
from halfulp.semantics.kernel import Kernel, Outcome, Scalar
from halfulp.semantics.profile import Profile

# --- the table --------------------------------------------------------------------------------------------------------


class Wrong(NamedTuple):
    """Codes that a target casts wrongly. ``first``: the code of the first one, without its sign. ``results``: the codes
    that it and those behind it become, without their sign, which stays.
    """

    first: int
    results: Sequence[int]
    link: str = ""


class Row(NamedTuple):
    """A cast of some targets. ``rounding``: the mode that it has; "" for any. ``policy``: fields of the profile that
    differ. ``wrong``: the codes that are cast wrongly. ``refused``: whether the target has no such cast.
    """

    targets: str
    sources: str
    results: str
    rounding: str = ""
    policy: Mapping[str, str] = {}
    wrong: tuple[Wrong, ...] = ()
    refused: bool = False


_WIDE = "f64 f32 f16 bf16"
_OCP = "f8E4M3FN f8E5M2"
_FNUZ = "f8E4M3FNUZ f8E5M2FNUZ"
_OLD_CUDA, _NEW_CUDA = "cuda:80 cuda:86", "cuda:89 cuda:90 cuda:100 cuda:103 cuda:120"
_CUDA = f"{_OLD_CUDA} {_NEW_CUDA}"
_SATURATING = {"conversion_overflow": "saturate"}
_ONES, _SIGNED = {"nan_result": "all_ones"}, {"nan_result": "canonical_signed"}
_ONES_OF_8 = {"nan_converted": "all_ones_of_8"}
_READ_AS_NUMBERS = Wrong(0x7C, (0x4780, 0x47A0, 0x47C0, 0x47E0), "https://github.com/triton-lang/triton/issues/11784")
"""Infinity and NaN of f8E5M2 in bf16: 65536, 81920, 98304 and 114688."""
_NAN_IS_480 = Wrong(0x7F, (0x43F0,))
"""NaN of f8E4M3FN in bf16."""
_SHIFTED = Wrong(0x7D, (0x7D00,))
"""The signalling NaN of f8E5M2 in f16, which is not quieted."""
_NAN_BELOW_480 = Wrong(0x5F41, [0x7F] * 63)
"""Numbers of f16 between 464 and 480, which are NaN instead of 448."""
_NAN_TOP_BYTES = Wrong(0x7C01, [code >> 8 for code in range(0x7C01, 0x8000)])
"""NaN of f16 in f8E5M2: the top byte, which is infinity for small payloads."""
_TOP_BYTES = Wrong(0, [code >> 8 for code in range(0x8000)])
"""f16 in f8E5M2FNUZ: the top byte, as if the two had the same bias."""

ROWS = (
    Row(_OLD_CUDA, "*", "f8E4M3FN", refused=True),
    Row(_OLD_CUDA, "f8E4M3FN", "*", refused=True),
    Row(_CUDA, "*", _FNUZ, refused=True),
    Row(_CUDA, _FNUZ, "*", refused=True),
    Row("*", _WIDE, "f8E4M3FN", "rtz", refused=True),
    Row(_CUDA, "f16 bf16", "f8E5M2", "rtz", refused=True),
    Row("*", "f16", "f8E5M2", "rtz", wrong=(_NAN_TOP_BYTES,)),
    Row("hip:gfx942", "f16", "f8E5M2FNUZ", "rtz", wrong=(_TOP_BYTES,)),
    Row(_CUDA, "f32", "f8E5M2", "rtz", _ONES),
    Row("*", "f32", "f8E5M2", "rtz"),
    Row(_OLD_CUDA, _WIDE, "f8E5M2", "", _SATURATING | _ONES_OF_8),
    Row(_NEW_CUDA, _WIDE, _OCP, "", _SATURATING | _ONES),
    Row("hip:gfx942", "f16", "f8E4M3FN", "", _SATURATING, (_NAN_BELOW_480,)),
    Row("*", _WIDE, _OCP, "", _SATURATING | _SIGNED),
    Row("*", _WIDE, _FNUZ, "", _SATURATING),
    Row("*", "f8E5M2", "bf16", wrong=(_READ_AS_NUMBERS,)),
    Row("hip:gfx942", "f8E4M3FN", "bf16", wrong=(_NAN_IS_480,)),
    Row(f"{_OLD_CUDA} hip:gfx942", "f8E5M2", "f16", wrong=(_SHIFTED,)),
    Row("hip:gfx942", "f8E4M3FN", "f16 f32", "", _SIGNED),
    Row(_NEW_CUDA, _OCP, "f16 bf16", "", _ONES),
    Row("*", "f64 f32 f16", "bf16", "rtne", _ONES),
    Row(_CUDA, "f64 f32", "f16", "", _ONES),
)
"""The casts that are not plain conversions, rounded once; of several rows the first one holds. The software of gfx942
and of cuda:80 was run for all codes; what cvt does is from PTX ISA 9.1.
"""


def _has(words: str, name: str) -> bool:
    return words == "*" or name in words.split()


@lru_cache(maxsize=256)
def row_of(target: str, source: str, result: str, rounding: str) -> Row:
    """Return the row of a cast of a target: the first one, or one without exceptions."""
    for row in ROWS:
        named = zip((row.targets, row.sources, row.results), (target, source, result), strict=True)
        if all(_has(words, name) for words, name in named) and row.rounding in ("", rounding):
            return row
    return Row(target, source, result)


def _kernel(source: FloatFormat, result: FloatFormat, rounding: Rounding, row: Row, profile: Profile) -> Kernel:
    """Return the kernel of a cast as a row says."""
    profile = replace(profile, name="", **row.policy) if row.policy else profile
    kernel = casts.convert(source, result, rounding, 0, profile)
    if not row.wrong:
        return kernel
    table = {each.first + step: code for each in row.wrong for step, code in enumerate(each.results)}
    signs, sign = 1 << source.bits - 1, 1 << result.bits - 1
    known, codes = np.array(sorted(table)), np.array([table[code] for code in sorted(table)])

    def scalar(code: int) -> Scalar:
        found = table.get(code & signs - 1)
        return kernel.scalar(code) if found is None else found | (sign if code & signs else 0)

    def array(given: Codes) -> Outcome:
        outcome = kernel.array(given)
        magnitudes = given & given.dtype.type(signs - 1)
        places = np.minimum(np.searchsorted(known, magnitudes), len(known) - 1)
        wrong = known[places] == magnitudes
        if not wrong.any():
            return outcome
        (right,) = outcome.results
        signed = codes[places] | np.where(given & given.dtype.type(signs), sign, 0)
        return Outcome((np.where(wrong, signed.astype(right.dtype), right),))

    return Kernel(scalar, array)


_RTZ = 0
_ROUNDINGS = {Rounding.TOWARD_ZERO: "rtz", Rounding.TO_NEAREST_EVEN: "rtne"}
"""The words of Triton for rounding modes."""


def _fp_to_fp(op: Operation, settings: Settings) -> Kernel:
    rounding = rounding_of(op)
    if op.name == "tt.fp_to_fp" and enum_of(op, "rounding") == _RTZ:
        rounding = Rounding.TOWARD_ZERO
    source, result = format_of(op.operands[0]), format_of(op.results[0])
    target = target_of(op)
    if target is None:
        return casts.convert(source, result, rounding, 0, settings.profile)
    row = row_of(target.name, source.name, result.name, _ROUNDINGS.get(rounding, rounding.spelling))
    if row.refused:
        raise unsupported(op, f"{target.name} has no cast from '{source.name}' to '{result.name}'")
    return _kernel(source, result, rounding, row, settings.profile)


FP_TO_FP = Elementwise(_fp_to_fp, surroundings=lambda op, settings: target_of(op))
"""A cast of floats: tt.fp_to_fp, and arith.truncf in a kernel with a target."""

# --- unpacking --------------------------------------------------------------------------------------------------------

_FP4 = ty.F("f4E2M1FN")


def unpacked(codes: Codes, axis: int) -> Codes:
    """Return the codes of four bits of which each byte holds two along an axis, the low ones first."""
    pairs = np.stack([codes & 15, codes >> 4], axis=axis + 1)
    shape = list(codes.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)


def _unpacked(value: Value, axis: int) -> Value:
    """Return the elements of f4E2M1FN that bytes hold."""
    bits = unpacked(value.bits, axis)
    type_ = ty.TensorType(bits.shape, _FP4)

    def twice(marks: Any) -> Any:
        return None if marks is None else np.repeat(marks, 2, axis=axis)

    return Value(type_, bits, twice(value.poison), twice(value.open), value.origins)


def _widened(op: Operation, source: ty.Type, settings: Settings) -> Any:
    """Return the step that converts exactly to the type of the result."""
    shape = sizes_of(op.results[0].type)
    return elementwise_step(op, "arith.extf", (ty.TensorType(shape, source),), op.results[0].type, settings)


def _fp4_to_fp(op: Operation, settings: Settings) -> Function:
    axis = op.number("axis")
    widen = _widened(op, _FP4, settings)

    def unpack(run: Run, operands: Operands) -> tuple[Any, ...]:
        found: tuple[Any, ...] = widen.run(run, (_unpacked(operands[0], axis),))
        return found

    return unpack


FP4_TO_FP = OnValues(_fp4_to_fp)


def _scaled(packed: bool) -> OnValues:
    """The product of the element and its scale, rounded once to the type of the result."""

    def build(op: Operation, settings: Settings) -> Function:
        axis = op.number("axis") if packed else 0
        type_ = op.results[0].type
        source = _FP4 if packed else ty.element_type(op.operands[0].type)
        widen = _widened(op, source, settings)
        multiply = elementwise_step(op, "arith.mulf", (type_, type_), type_, settings)

        def upcast(run: Run, operands: Operands) -> tuple[Any, ...]:
            value, scale = operands
            (wide,) = widen.run(run, (_unpacked(value, axis) if packed else value,))
            found: tuple[Any, ...] = multiply.run(run, (wide, scale))
            return found

        return upcast

    return OnValues(build)


SCALED_FP4, SCALED_FP8 = _scaled(True), _scaled(False)

# --- assembly ---------------------------------------------------------------------------------------------------------


def _to_tf32(op: Operation, settings: Settings) -> Function:
    """cvt.rna.tf32.f32: f32 rounded to the bits of tf32, ties away from zero."""
    type_ = op.results[0].type
    narrow = casts.convert(FORMATS["f32"], FORMATS["tf32"], Rounding.TO_NEAREST_AWAY, 0, settings.profile)

    def convert(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        (codes,) = narrow.array(value.bits).results
        return (Value(type_, codes.astype(np.uint32) << np.uint32(13), value.poison, value.open, value.origins),)

    return convert


ASSEMBLY: Mapping[str, Callable[[Operation, Settings], Function]] = {"cvt.rna.tf32.f32 $0, $1;": _to_tf32}
"""The inline assembly that Triton's own passes write."""
