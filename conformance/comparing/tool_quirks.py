"""What tools return where no profile says it: a function per oddity, named by the rows of divergences.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from halfulp.conformance.comparing.op_case import Reference, Task, reference, task
from halfulp.fp_formats import exact
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FORMATS, NanEncoding
from halfulp.interp.dialects.quant.ops import quantization
from halfulp.interp.ir import types as ty
from halfulp.semantics import floats
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.profile import PROFILES, as_profile

Formula = Callable[[Task, Sequence[Codes], Reference], Reference]
"""From a task, its operands and what is right to what the tool returns; equal to the latter where it is right."""


def _rewritten_f80_code(code: int, sign: int = 0) -> int:
    """A code with the exponent field as APFloat writes it if it is not canonical, the sign flipped by ``sign``."""
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


def negated_f80(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Negation that rewrites the exponent field of f80 codes that are not canonical."""
    return Reference((_rewritten_f80(inputs[0], 1),))


def copied_f80(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """What moves f80 codes and rewrites the exponent field of those that are not canonical."""
    if "f80" not in (*task.operands, *task.results):
        return expected
    return Reference(tuple(map(_rewritten_f80, expected.bits)), expected.poison, expected.undefined, expected.open)


def signalling_quieted(task_: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Maximum and minimum with one signalling NaN: that NaN quieted. An invalid f80 code is a NaN of the kind that its
    bit 62 tells.
    """
    predicted = reference(task_, inputs, as_profile("spec,number_of_signalling=quieted"))
    type_ = task_.operand_types[0]
    assert isinstance(type_, ty.FloatType)
    fmt = type_.format
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
    codes = ints_to_codes(results, fmt.bits, task_.shape(inputs))
    return Reference((codes,), predicted.poison, open=predicted.open)


def select(mask: Mask, chosen: Codes, other: Codes) -> Codes:
    """Of two arrays of codes the first where ``mask``, which has no axis of limbs, holds."""
    return np.where(mask.reshape(mask.shape + (1,) * (other.ndim - mask.ndim)), chosen, other)


def zero_of(index: int) -> Formula:
    """Of two zeros that operand, whatever its sign."""

    def formula(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
        type_ = task.result_types[0]
        assert isinstance(type_, ty.FloatType)
        zeros = floats.is_zero(type_.format, inputs[0]) & floats.is_zero(type_.format, inputs[1])
        return Reference((select(zeros, inputs[index], expected.bits[0]),), expected.poison, open=expected.open)

    return formula


def _e8m0_of_f32(codes: Codes) -> Codes:
    """A conversion that takes no zero, and rounds what lies between 2**-127 and 1.5 * 2**-127 up to 2**-126."""
    converted = exact.convert(FORMATS["f32"], FORMATS["f8E8M0FNU"], codes, policy=PROFILES["ml_dtypes"].conversions)
    return np.where((codes > 0x00400000) & (codes < 0x00600000), np.uint8(1), converted.codes)


def e8m0_from_f32(task_: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """A conversion to f8E8M0FNU that rounds to f32 first, and then as `_e8m0_of_f32`."""
    source = task_.operand_types[0]
    if isinstance(source, ty.FloatType):
        narrowed = exact.convert(source.format, FORMATS["f32"], inputs[0]).codes
    else:
        signed = task_.op == "arith.sitofp"
        narrowed = exact.from_integer(FORMATS["f32"], inputs[0], task_.operand_widths[0], signed).codes
    return Reference((_e8m0_of_f32(narrowed),), open=expected.open)


def e8m0_by_f32(task_: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Arithmetic on f8E8M0FNU in f32, where a small product is zero."""
    widened = [exact.convert(FORMATS["f8E8M0FNU"], FORMATS["f32"], codes).codes for codes in inputs]
    return Reference((_e8m0_of_f32(reference(task(task_.op, "f32"), widened).bits[0]),), open=expected.open)


def trapped_remainder(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """A remainder by -1 that stops the process for the smallest integer, as its quotient does not fit."""
    width = task.operand_widths[0]
    traps = (inputs[0] == 1 << (width - 1)) & (inputs[1] == (1 << width) - 1)
    return replace(expected, trap=traps)


def floor_less_64_ones(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """A floor division that adds -1 as a number of 64 bits to a negative quotient that is not whole."""
    width = task.operand_widths[0]
    half, whole = 1 << (width - 1), 1 << width
    columns = [codes_to_ints(codes, width) for codes in (*inputs, expected.bits[0])]
    results = []
    for a, b, floor in zip(*columns, strict=True):
        a, b = (n - whole if n >= half else n for n in (a, b))
        inexact = b != 0 and (a < 0) != (b < 0) and a % b != 0
        results.append((floor + (1 << 64)) % whole if inexact else floor)
    return replace(expected, bits=(ints_to_codes(results, width, task.shape(inputs)),))


def qcast_in_registers(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """A cast to a quantised type that converts in registers of x86, toward zero: to 32 bits, or for storage of 32
    unsigned bits to 64, where NaN and what does not fit give the smallest number. The low bits of that are the result.

    Where the type has bounds of its own they are clamped, and how many of them depends on where they wait for it: with
    one scale in memory, in whole bytes if unsigned; with more of them in the smallest register that holds them. As 17
    bits are stored in two parts, LLVM takes the upper one, a lone sign, from the register's. What is folded is in the
    storage type, where all of this is the same.
    """
    shape = task.shape(inputs)
    operation = task.operation(shape)
    how = quantization(operation, operation.results[0].type)
    fmt, width, signed, profile = how.expressed, how.storage_width, how.storage_signed, PROFILES["mlir22-quant"]
    scales, points = (how.spread(flat, shape) for flat in how.parameters(profile))
    scaled = exact.divide(fmt, inputs[0], scales, policy=profile.arithmetic).codes
    shifted = exact.add(fmt, scaled, points, policy=profile.arithmetic).codes
    register = 32 if signed or width < 32 else 64
    converted = exact.to_integer(fmt, shifted, register, True, policy=profile.conversions)
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


def f80_without_integer_bit(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """A conversion that takes the integer bit of f80 from its exponent, else as MLIR's expansion."""

    def read(code: int) -> int:
        field, fraction = code >> 64 & 0x7FFF, code & (1 << 63) - 1
        return code >> 79 << 79 | field << 64 | (field != 0) << 63 | fraction

    codes = ints_to_codes([read(code) for code in codes_to_ints(inputs[0], 80)], 80, task.shape(inputs))
    return reference(task, (codes, *inputs[1:]), PROFILES["mlir22-expand"])


def extremum_of_libm(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """fmaxl and fminl: an operand unchanged, and their sum where one is a signalling NaN, as is what is invalid with
    bit 62 0: that NaN quieted, and the x87's own NaN, which is negative, for what is invalid.
    """
    quieted = reference(task, inputs, as_profile("spec,number_of_signalling=quieted"))
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
    return replace(expected, bits=(ints_to_codes(results, 80, task.shape(inputs)),), open=quieted.open)


def iree_negative_nan(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """IREE's results where an operand is the negative NaN of a format whose only NaN is all ones."""
    chosen = np.zeros(task.shape(inputs), np.bool_)
    for type_, codes in zip(task.operand_types, inputs, strict=True):
        if isinstance(type_, ty.FloatType) and type_.format.nan is NanEncoding.ALL_ONES:
            chosen |= codes == type_.format.code_mask  # no such format has limbs
    found = reference(task, inputs, PROFILES["iree-3.13"])
    return Reference((select(chosen, found.bits[0], expected.bits[0]),), found.poison, open=expected.open)


def iree_rounding(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """IREE's results of an op that asks for another rounding mode than the default."""
    modes = [value for name, value in task.properties if name in ("rounding", "roundingmode")]
    return reference(task, inputs, PROFILES["iree-3.13"]) if modes not in ([], ["to_nearest_even"]) else expected


FORMULAS: Mapping[str, Formula] = {
    "negated_f80": negated_f80,
    "copied_f80": copied_f80,
    "signalling_quieted": signalling_quieted,
    "first_of_zeros": zero_of(0),
    "second_of_zeros": zero_of(1),
    "e8m0_from_f32": e8m0_from_f32,
    "e8m0_by_f32": e8m0_by_f32,
    "iree_negative_nan": iree_negative_nan,
    "iree_rounding": iree_rounding,
    "qcast_in_registers": qcast_in_registers,
    "trapped_remainder": trapped_remainder,
    "floor_less_64_ones": floor_less_64_ones,
    "f80_without_integer_bit": f80_without_integer_bit,
    "extremum_of_libm": extremum_of_libm,
}
