"""The known differences between real tools and the language: the rows of divergences.toml. Each predicts the tool's
bits.

A row does not exclude inputs from the comparison. It predicts bits, by a profile or by a formula of `QUIRKS`. An answer
is a known divergence only if it equals the prediction. A formula may also say that a tool does not determine the bits
of some elements; any bits are known there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, Reference, op_case, reference
from halfulp.conformance.oracles.oracle import Runner
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.formats import FORMATS, Codes, Mask, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.quant.ops import quantization
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, VerifyError
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import as_type
from halfulp.semantics import floats
from halfulp.semantics.profile import PROFILES, SPEC, Profile, as_profile

# --- quirks -----------------------------------------------------------------------------------------------------------
#
# The results of tools where no profile describes them: one function per quirk, named by rows of divergences.toml.

Quirk = Callable[[OpCase, Sequence[Codes], Reference], Reference]
"""A function of a case, its operands and the right results that returns the tool's results."""


def _rewritten_f80_code(code: int, sign: int = 0) -> int:
    """Return the code that APFloat makes of an f80 code that is not canonical: it rewrites the exponent field; ``sign``
    flips the sign.
    """
    f80 = FORMATS["f80"]
    field, significand = code >> 64 & 0x7FFF, code & (1 << 64) - 1
    if f80.is_invalid(code):
        field = 0x7FFF
    elif not field and significand >> 63:
        field = 1
    return (code >> 79 ^ sign) << 79 | field << 64 | significand


def _rewritten_f80(codes: Codes, sign: int = 0) -> Codes:
    rewritten = [_rewritten_f80_code(code, sign) for code in codes_to_ints(codes, 80)]
    return ints_to_codes(rewritten, 80, codes.shape[:-1])


def negated_f80(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a negation that rewrites the exponent field of f80 codes that are not canonical."""
    return Reference((_rewritten_f80(inputs[0], 1),))


def copied_f80(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict an op that moves f80 codes and rewrites the exponent field of those that are not canonical."""
    if "f80" not in (*case.operands, *case.results):
        return expected
    return Reference(tuple(map(_rewritten_f80, expected.bits)), expected.poison, expected.undefined, expected.open)


def signalling_quieted(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict maximum and minimum that return a signalling NaN operand, quieted. Bit 62 of an invalid f80 code tells
    whether it is a quiet NaN.
    """
    predicted = reference(case, inputs, as_profile("spec,number_of_signalling=quieted"))
    fmt = ty.float_format(case.operand_types[0])
    if not fmt.explicit_integer_bit:
        return predicted
    quiet = 1 << (fmt.mantissa_bits - 1)
    results = codes_to_ints(predicted.bits[0], fmt.bits)
    columns = [codes_to_ints(codes, fmt.bits) for codes in (*inputs, expected.bits[0])]
    for place, (*operands, right) in enumerate(zip(*columns, strict=True)):
        invalid = [code for code in operands if fmt.is_invalid(code)]
        signalling = [code for code in invalid if not code & quiet]
        if invalid:
            results[place] = (_rewritten_f80_code(signalling[0]) | quiet) if signalling else right
    codes = ints_to_codes(results, fmt.bits, case.shape(inputs))
    return Reference((codes,), predicted.poison, open=predicted.open)


def select(mask: Mask, chosen: Codes, other: Codes) -> Codes:
    """Return ``chosen`` for the elements that the mask selects, else ``other``. The mask has no axis of limbs."""
    return np.where(mask.reshape(mask.shape + (1,) * (other.ndim - mask.ndim)), chosen, other)


def zero_of(index: int) -> Quirk:
    """Return the prediction that an op returns operand ``index`` if both operands are zeros, whatever their signs."""

    def quirk(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
        fmt = ty.float_format(case.result_types[0])
        zeros = floats.is_zero(fmt, inputs[0]) & floats.is_zero(fmt, inputs[1])
        return Reference((select(zeros, inputs[index], expected.bits[0]),), expected.poison, open=expected.open)

    return quirk


def _e8m0_of_f32(codes: Codes) -> Codes:
    """Convert f32 to f8E8M0FNU without zero, and round numbers between 2**-127 and 1.5 * 2**-127 up to 2**-126."""
    converted = conversions.convert(
        FORMATS["f32"], FORMATS["f8E8M0FNU"], codes, policy=PROFILES["ml_dtypes"].conversions
    )
    return np.where((codes > 0x00400000) & (codes < 0x00600000), np.uint8(1), converted.codes)


def e8m0_from_f32(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a conversion to f8E8M0FNU that first rounds to f32 and then converts as `_e8m0_of_f32` does."""
    source = case.operand_types[0]
    if isinstance(source, ty.FloatType):
        narrowed = conversions.convert(source.format, FORMATS["f32"], inputs[0]).codes
    else:
        signed = case.op == "arith.sitofp"
        narrowed = conversions.from_integer(FORMATS["f32"], inputs[0], case.operand_widths[0], signed).codes
    return Reference((_e8m0_of_f32(narrowed),), open=expected.open)


def e8m0_by_f32(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict arithmetic on f8E8M0FNU that computes in f32, where a small product is zero."""
    widened = [conversions.convert(FORMATS["f8E8M0FNU"], FORMATS["f32"], codes).codes for codes in inputs]
    return Reference((_e8m0_of_f32(reference(op_case(case.op, "f32"), widened).bits[0]),), open=expected.open)


def divided_by_zero(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a quotient whose bits are not determined if it is infinite, in a format without infinities."""
    (type_,) = case.result_types
    zeros = [floats.is_zero(ty.float_format(type_), codes) for codes in inputs]
    found = reference(case, inputs, as_profile("spec,divide_by_zero_nanless=zero"))
    return replace(found, undetermined=np.asarray(zeros[1] & ~zeros[0]))


def trapped_remainder(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a remainder by -1 that stops the process for the smallest integer, since its quotient does not fit."""
    width = case.operand_widths[0]
    traps = (inputs[0] == 1 << (width - 1)) & (inputs[1] == (1 << width) - 1)
    return replace(expected, trap=traps)


def half_added_in_64_bits(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a product of 32-bit integers that is shifted with rounding: the half is added in 64 bits, and wraps."""
    a, b, shift = (codes.view(f"i{codes.itemsize}").astype(np.int64) for codes in inputs)
    amount = np.clip(shift, 1, 63)
    with np.errstate(over="ignore"):
        shifted = a * b + (np.int64(1) << amount - 1) >> amount
    wrapped = np.where(shift > 0, shifted, a * b).astype(np.uint32)
    return replace(expected, bits=(wrapped,))


def floor_less_64_ones(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a floor division that adds -1, as a 64-bit number, to a negative quotient that is not exact."""
    width = case.operand_widths[0]
    half, whole = 1 << (width - 1), 1 << width
    columns = [codes_to_ints(codes, width) for codes in (*inputs, expected.bits[0])]
    results = []
    for a, b, floor in zip(*columns, strict=True):
        a, b = (n - whole if n >= half else n for n in (a, b))
        inexact = b != 0 and (a < 0) != (b < 0) and a % b != 0
        results.append((floor + (1 << 64)) % whole if inexact else floor)
    return replace(expected, bits=(ints_to_codes(results, width, case.shape(inputs)),))


def qcast_in_registers(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a cast to a quantised type that converts in x86 registers, toward zero. It converts to 32 bits (to 64 for
    storage of 32 unsigned bits), where NaN and numbers out of range give the smallest integer; the result is its low
    bits.

    The result is clamped to the bounds of the storage type, if it has any, after this. How many low bits remain depends
    on where the integers are before the clamp. With one scale they are in memory, in whole bytes if unsigned; with
    several scales they are in the smallest register that holds them. 17 bits are stored in two parts, and LLVM takes
    the upper part, a single sign bit, from the register's sign. Folded casts stay in the storage type, where all of
    this gives the same result.
    """
    shape = case.shape(inputs)
    operation = case.operation(shape)
    how = quantization(operation, operation.results[0].type)
    fmt, width, signed, profile = how.expressed, how.storage_width, how.storage_signed, PROFILES["mlir22-quant"]
    scales, points = (how.spread(flat, shape) for flat in how.parameters(profile))
    scaled = arithmetic.divide(fmt, inputs[0], scales, policy=profile.arithmetic).codes
    shifted = arithmetic.add(fmt, scaled, points, policy=profile.arithmetic).codes
    register = 32 if signed or width < 32 else 64
    converted = conversions.to_integer(fmt, shifted, register, True, policy=profile.conversions)
    outside = np.zeros(shape, np.bool_) if converted.poison is None else converted.poison
    numbers = np.where(outside, np.uint64(1 << (register - 1)), converted.codes.astype(np.uint64)).view(np.int64)
    in_memory = how.axis is None and not how.parameter_shape
    clamps = how.storage_max - how.storage_min + 1 < 1 << width
    if signed and width == 17 and (in_memory or not clamps):
        numbers = np.where(numbers >> 31 & 1, numbers | 1 << 16, numbers & ~(1 << 16))
    if clamps:
        kept = (width if signed else -(-width // 8) * 8) if in_memory else next(r for r in (8, 16, 32) if width <= r)
        unsigned = numbers & (1 << kept) - 1
        sign = 1 << kept - 1 if signed else 0
        numbers = np.clip((unsigned ^ sign) - sign, how.storage_min, how.storage_max)
    return Reference(((numbers & (1 << width) - 1).astype(expected.bits[0].dtype),), open=expected.open)


def f80_without_integer_bit(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a conversion that derives the integer bit of f80 from the exponent. In all else it is MLIR's
    expansion.
    """

    def read(code: int) -> int:
        field, fraction = code >> 64 & 0x7FFF, code & (1 << 63) - 1
        return code >> 79 << 79 | field << 64 | (field != 0) << 63 | fraction

    codes = ints_to_codes([read(code) for code in codes_to_ints(inputs[0], 80)], 80, case.shape(inputs))
    return reference(case, (codes, *inputs[1:]), PROFILES["mlir22-expand"])


def extremum_of_libm(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict fmaxl and fminl. They return an operand unchanged; if one operand is a signalling NaN, or invalid with
    bit 62 clear, they return the sum of the operands: that NaN quieted, or for an invalid code the x87's own negative
    NaN.
    """
    quieted = reference(case, inputs, as_profile("spec,number_of_signalling=quieted"))
    columns = [codes_to_ints(codes, 80) for codes in (*inputs, expected.bits[0], quieted.bits[0])]

    def signalling(code: int) -> bool:
        field, significand = code >> 64 & 0x7FFF, code & (1 << 64) - 1
        invalid = field != 0 and not significand >> 63
        return not significand >> 62 & 1 and (invalid or (field == 0x7FFF and significand != 1 << 63))

    def canonical(code: int) -> int:
        return code | (1 << 64 if not code >> 64 & 0x7FFF and code >> 63 & 1 else 0)

    own_nan = 0xFFFF << 64 | 0b11 << 62
    invalid = FORMATS["f80"].is_invalid
    results = [
        own_nan
        if (signalling(a) or signalling(b)) and (invalid(a) or invalid(b))
        else nan
        if signalling(a) or signalling(b)
        else a
        if canonical(a) == right
        else b
        if canonical(b) == right
        else right
        for a, b, right, nan in zip(*columns, strict=True)
    ]
    return replace(expected, bits=(ints_to_codes(results, 80, case.shape(inputs)),), open=quieted.open)


def iree_negative_nan(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict IREE's results if an operand is the negative NaN of a format whose only NaN is all ones, such as
    f8E4M3FN.
    """
    chosen = np.zeros(case.shape(inputs), np.bool_)
    for type_, codes in zip(case.operand_types, inputs, strict=True):
        if isinstance(type_, ty.FloatType) and type_.format.nan is NanEncoding.ALL_ONES:
            chosen |= codes == type_.format.code_mask  # none of these formats has limbs
    found = reference(case, inputs, PROFILES["iree-3.13"])
    return Reference((select(chosen, found.bits[0], expected.bits[0]),), found.poison, open=expected.open)


def iree_rounding(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict IREE's results for an op with a rounding mode other than the default."""
    plain = case.rounding is Rounding.TO_NEAREST_EVEN
    return expected if plain else reference(case, inputs, PROFILES["iree-3.13"])


def scaled_in_steps(profile: Profile) -> Quirk:
    """Return the prediction of a scaling op whose steps have its fast-math flags: a NaN or an infinity between two
    steps is poison. ``profile``: that of the steps.
    """

    def predict(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
        (source, scale), (result,) = case.operands, case.results
        computing = result if case.op == "arith.scaling_extf" else source
        if "fastmath" not in dict(case.properties) or width_of(as_type(computing)) <= 8:
            return expected
        whole = expected if profile is SPEC else reference(case, inputs, profile)
        masks = [np.zeros(case.shape(inputs), np.bool_) if whole.poison is None else whole.poison]

        def step(op: str, type_: str, to: str | None, *codes: Codes) -> Codes:
            same = {name: value for name, value in case.properties if name == "fastmath" or to == result != computing}
            done = reference(op_case(op, type_, to, **same), codes, profile, opened=False)
            masks.extend([] if done.poison is None else [done.poison])
            return done.bits[0]

        factor = inputs[1] if scale == _E8M0 else step("arith.truncf", scale, _E8M0, inputs[1])
        factor = step("arith.extf", _E8M0, computing, factor)
        if computing == source:
            step("arith.truncf", source, result, step("arith.divf", source, None, inputs[0], factor))
        else:
            step("arith.mulf", result, None, step("arith.extf", source, result, inputs[0]), factor)
        return Reference(whole.bits, np.logical_or.reduce(masks), expected.undefined, whole.open)

    return predict


_E8M0 = "f8E8M0FNU"


def _computed(op: str, case: OpCase, *operands: Codes) -> Codes:
    """Return the results of an op on operands of the type of a case's result."""
    return reference(op_case(op, case.results[0]), operands).bits[0]


def fma_in_two_steps(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a fused multiply-add that also rounds the product. If the product becomes an infinity, infinity minus
    infinity gives the NaN of x86, which is negative.
    """
    (type_, *_) = case.operand_types
    fmt, (a, b, c) = ty.float_format(type_), inputs
    found = _computed("arith.addf", case, _computed("arith.mulf", case, a, b), c)
    fresh = floats.is_nan(fmt, found) & ~floats.is_nan(fmt, expected.bits[0])
    negative = found.dtype.type((fmt.sign_mask or 0) | (fmt.nan_code or 0))
    return Reference((np.where(fresh, negative, found),), open=expected.open)


def rounded_by_f32(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict an op on floats that rounds to f32, and then to its type. Conversions make a NaN quiet."""
    source = case.results[0]
    types = ["f32" if isinstance(type_, ty.FloatType) else str(type_) for type_ in case.operand_types]
    widened = [
        reference(op_case("arith.extf", given, "f32"), [codes]).bits[0] if given != type_ else codes
        for given, type_, codes in zip(case.operands, types, inputs, strict=True)
    ]
    wide = reference(op_case(case.op, types), widened)
    found = [reference(op_case("arith.truncf", "f32", source), [bits]).bits[0] for bits in wide.bits]
    return Reference(tuple(found), open=expected.open)


def power_by_logarithm(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a power that is the exponential of the exponent times the logarithm of the base."""
    base, exponent = inputs
    product = _computed("arith.mulf", case, exponent, _computed("math.log", case, base))
    return Reference((_computed("math.exp", case, product),), open=expected.open)


def clamped_to_swapped_bounds(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict a clamp that takes the smaller of value and lower bound, then the larger of that and the upper bound."""
    value, low, high = inputs
    least = _computed("arith.minimumf", case, value, low)
    return Reference((_computed("arith.maximumf", case, least, high),), open=expected.open)


def absolute_by_f32(case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Predict an absolute value of a number in f32: a NaN becomes quiet, and in bf16 the default NaN."""
    (type_,) = case.operand_types
    fmt, right = ty.float_format(type_), expected.bits[0]
    quiet = right | right.dtype.type(fmt.quiet_bit) if fmt.name != "bf16" else right.dtype.type(fmt.nan_code or 0)
    return Reference((np.where(floats.is_nan(fmt, right), quiet, right).astype(right.dtype),))


_PLAIN: tuple[Quirk, ...] = (
    absolute_by_f32, clamped_to_swapped_bounds, rounded_by_f32, power_by_logarithm, fma_in_two_steps, negated_f80,
    copied_f80, signalling_quieted, e8m0_from_f32, e8m0_by_f32, iree_negative_nan, iree_rounding, qcast_in_registers,
    divided_by_zero, trapped_remainder, floor_less_64_ones, half_added_in_64_bits,
    f80_without_integer_bit, extremum_of_libm,
)  # fmt: skip
QUIRKS: Mapping[str, Quirk] = {
    **{quirk.__name__: quirk for quirk in _PLAIN},
    "first_of_zeros": zero_of(0),
    "second_of_zeros": zero_of(1),
    "scaled_in_steps": scaled_in_steps(SPEC),
    "scaled_in_expanded_steps": scaled_in_steps(PROFILES["mlir22-expand"]),
}
"""The quirks by the names that rows use."""


# --- rows -------------------------------------------------------------------------------------------------------------

FILE = Path(__file__).parent / "divergences.toml"

_BOUND = re.compile(r"(>=|<)(\d+(?:\.\d+)*)")


@cache
def in_range(version: str, versions: str) -> bool:
    """Tell whether a version of a tool, such as ``24.0.0git``, is in a range, such as ``>=22,<24``.

    Only the numbers at its start count. A range without ``<`` contains all newer versions. Raises ValueError for
    another range.
    """
    told = re.match(r"\d+(?:\.\d+)*", version)
    number = _numbers(told[0]) if told else ()
    bounds = [_BOUND.fullmatch(bound) for bound in versions.split(",")]
    if None in bounds:
        raise ValueError(f"a range of versions is written as '>=22' or '>=22,<24', not {versions!r}")
    return all((number >= _numbers(bound[2])) == (bound[1] == ">=") for bound in bounds if bound is not None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removesuffix(".0").removesuffix(".0").split(".")))


@dataclass(frozen=True)
class Example:
    """One example of a row, evaluated by the tests: an op case, operand codes, the right code and the tool's code, None
    for poison.
    """

    op: str
    types: tuple[str, ...]
    operands: tuple[int, ...]
    expected: int
    actual: int | None = None
    to: str | None = None
    properties: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Divergence:
    """One row. ``tools``: names of oracles. ``versions``: the range of the versions that behave like this, for
    `in_range`. Since a row predicts bits, the range has no upper bound until a newer version is seen to be right.

    ``ops``, ``operands``, ``results``: shell patterns; one must match the op, and one the type of any operand and any
    result. ``passes``: patterns of the passes of mlir-opt after which programs have these results. ``profile`` or
    ``formula``: predicts the tool's bits. ``counts``, ``sampled``: elements in the full and in the sampled run, by
    tool; `pin` writes them. ``sporadic``: True if the wrong result does not depend on the operands alone.
    """

    name: str
    tools: tuple[str, ...]
    versions: str
    ops: tuple[str, ...]
    why: str
    example: Example
    operands: tuple[str, ...] = ("*",)
    results: tuple[str, ...] = ("*",)
    profile: str | None = None
    formula: str | None = None
    link: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    sampled: Mapping[str, int] = field(default_factory=dict)
    sporadic: bool = False
    passes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.profile is None) == (self.formula is None):
            raise ValueError(f"divergence {self.name}: give exactly one of profile and formula")
        if self.formula is not None and self.formula not in QUIRKS:
            raise ValueError(f"divergence {self.name}: there is no formula {self.formula!r}")

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether the row applies to this tool and case."""
        return tool in self.tools and in_range(version, self.versions) and self.is_about(case)

    def is_about(self, case: OpCase) -> bool:
        """Tell whether some version of a tool has this divergence for the op and the types of a case."""
        return (
            matches(self.ops, (case.op,))
            and matches(self.operands, case.operands)
            and matches(self.results, case.results)
        )

    def predict(self, case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
        """Return the tool's results as this row predicts them."""
        if self.profile is not None:
            return reference(case, inputs, as_profile(self.profile))
        assert self.formula is not None
        return QUIRKS[self.formula](case, inputs, expected)


@dataclass(frozen=True)
class Cancellation:
    """A wrong rewrite of two casts at once: a tool replaces ``outer(inner(x))`` by x, or by one cast of x.

    ``passes``: the passes of mlir-opt that do this. ``example``: a function ``@main`` whose result shows it for
    ``argument``. ``expected``, ``actual``: the right code and the tool's.
    """

    name: str
    tools: tuple[str, ...]
    versions: str
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    why: str
    example: str
    argument: int
    expected: int
    actual: int
    link: str | None = None
    passes: tuple[str, ...] = ()

    def applies(self, tool: str, version: str, outer: str, inner: str) -> bool:
        """Tell whether the row applies to this tool and these ops; ``outer`` takes the result of ``inner``."""
        ours = tool in self.tools and in_range(version, self.versions)
        return ours and matches(self.outer, (outer,)) and matches(self.inner, (inner,))

    def predict(self, inner: CastCase, outer: CastCase, codes: Codes) -> Codes | None:
        """Return the tool's result for x. ``codes``: x as a code of the operand of ``inner``. None if the tool does
        both casts.
        """
        if inner.source == outer.target:
            return codes
        for op in (inner.op, outer.op):
            try:
                return reference(op_case(op, inner.source, outer.target), [codes]).bits[0]
            except (VerifyError, TypeMismatch):
                continue
        return None


class CastCase(NamedTuple):
    """An op with one operand and one result, and their element types."""

    op: str
    source: str
    target: str


def cancelled(
    pairs: Sequence[Cancellation], oracle: Runner, inner: CastCase, outer: CastCase, given: Codes, answer: Codes
) -> str | None:
    """Return the name of the cancellation that predicts the answer, or None.

    ``given``: the operand of ``inner``; ``outer`` takes its result. ``answer``: the result of ``outer``.
    """
    for pair in pairs:
        if pair.applies(oracle.name, oracle.version, outer.op, inner.op):
            predicted = pair.predict(inner, outer, given)
            if predicted is not None and np.array_equal(predicted, answer):
                return pair.name
    return None


def matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether one of the names fits one of the shell patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@cache
def divergences() -> tuple[Divergence, ...]:
    """Return all rows. Raises ValueError, TypeError or tomllib.TOMLDecodeError for a malformed file."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("divergence", [])
    return tuple(Divergence(**_frozen(row) | {"example": Example(**_frozen(row["example"]))}) for row in rows)


@cache
def cancellations() -> tuple[Cancellation, ...]:
    """Return all rows that rewrite two casts. Raises as `divergences` does."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("cancellation", [])
    return tuple(Cancellation(**_frozen(row)) for row in rows)


Row = TypeVar("Row", Divergence, Cancellation)


def of_passes(rows: Sequence[Row], passes: Collection[str], tool: str) -> tuple[Row, ...]:
    """Return the rows that apply after some passes. ``passes``: the passes after which an oracle named ``tool`` runs
    programs.
    """
    return tuple(replace(row, tools=(tool,)) for row in rows if matches(row.passes, tuple(passes)))


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if "properties" in frozen:
        frozen["properties"] = tuple(sorted(row["properties"].items()))
    return frozen


def pin(field: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Write the counts of a run into the file: the ``field`` (counts or sampled) of each row, by tool and row name.

    Tools that are not named keep their counts.
    """
    text = FILE.read_text(encoding="utf-8")
    for row in divergences():
        pinned = {
            **getattr(row, field),
            **{tool: counts[tool].get(row.name, 0) for tool in row.tools if tool in counts},
        }
        if not pinned:
            continue  # the row of a pass, which no oracle shows
        start = text.index(f"name = {_quoted(row.name)}\n")
        end = text.index("\nexample = ", start)
        line = f"{field} = {{ {', '.join(f'{_quoted(tool)} = {count}' for tool, count in pinned.items())} }}"
        lines = text[start:end].split("\n")
        place = next((k for k, old in enumerate(lines) if old.startswith(f"{field} = ")), len(lines))
        lines[place : place + 1] = [line]
        text = text[:start] + "\n".join(lines) + text[end:]
    FILE.write_text(text, encoding="utf-8")
    divergences.cache_clear()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
