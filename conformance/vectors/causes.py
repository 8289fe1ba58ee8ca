"""The causes that may explain wrong results of a device: the table of diagnoses.

A row of `DIAGNOSES` yields the causes of one kind that are possible for a computation: in how the device encodes
operands, results and flags, in what it computes, in its datapath (`datapaths`), in what it delivers (`delivered`), and
in how it adds products. A check of vectors tries each cause on the rows that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.vectors.columns import Chunk, Column, Role, format_of
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.delivered import (
    bounds,
    carries,
    constant_nans,
    entries,
    exponents,
    flag_rules,
    infinity_signs,
    most_frequent,
    other_flags,
    other_nans,
    roundings_of_some,
    zero_signs,
)
from halfulp.conformance.vectors.device import (
    Cause,
    Diagnosis,
    Stage,
    Write,
    changed,
    computing,
    flag_name,
    of_flags,
    planted,
    reading,
    through,
    with_flags,
    writing,
)
from halfulp.conformance.vectors.faults import faults_of
from halfulp.conformance.vectors.fixed_causes import fixed_point_faults
from halfulp.conformance.vectors.other_computations import other_ops, other_profiles, other_programs
from halfulp.conformance.vectors.program_steps import in_steps, steps_of
from halfulp.conformance.vectors.ranges import integer_ranges, other_ranges, wrapped_exponents
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.specials import (
    compared_as_integers,
    fixed_results,
    flushed_to_plus,
    inexact_of_some_bits,
    misread_operands,
)
from halfulp.conformance.vectors.tile_causes import (
    biases_of_sums,
    conversion,
    infinities_cancelled,
    misplaced_elements,
    misread_elements,
    misread_integers,
    misread_scales,
    misrounded_products,
    of_same_width,
    other_accumulators,
    other_elements,
    other_models,
    other_orders,
    trees_of_adders,
)
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.types import width_of
from halfulp.semantics import floats

# --- encodings --------------------------------------------------------------------------------------------------------
#
# Causes in how a device spells its operands, results and flags: byte order, stuck bits, codes of another format.

MOST_BITS = 512
"""The most bits of all results together of which each is tried as stuck."""


def _bytes_swapped(codes: Codes, width: int) -> Codes:
    return _by_row(codes, width, lambda code: int.from_bytes(code.to_bytes(width // 8, "big"), "little"))


def _bits_reversed(codes: Codes, width: int) -> Codes:
    return _by_row(codes, width, lambda code: int(f"{code:0{width}b}"[::-1], 2))


def _by_row(codes: Codes, width: int, change: Callable[[int], int]) -> Codes:
    return ints_to_codes([change(code) for code in codes_to_ints(codes, width)], width, (len(codes),))


def _whole_bytes(column: Column) -> bool:
    return column.width % 8 == 0 and column.width > 8


def byte_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the causes that the device uses the other order of bytes, in results or operands, or the other order of
    bits.
    """
    for what, applies, change in (
        ("bytes", lambda column: column.role is Role.RESULT and _whole_bytes(column), _bytes_swapped),
        ("bits", lambda column: column.role is Role.RESULT and column.width > 1, _bits_reversed),
    ):
        if any(map(applies, computation.outputs)):
            yield writing(f"results with their {what} in the other order", partial(changed, applies, change))
    if any(map(_whole_bytes, computation.inputs)):
        read = partial(changed, _whole_bytes, _bytes_swapped, computation.inputs)
        yield reading("operands with their bytes in the other order", Stage.ENCODING, read)


def flag_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the cause that the device gives the flags in the opposite order."""
    if any(map(of_flags, computation.outputs)):
        yield writing("flags with their bits in the other order", partial(changed, of_flags, _bits_reversed))


def stuck_bits(computation: Computation) -> Iterator[Cause]:
    """Yield the causes that one bit of a result, or one flag, is always 0 or always 1."""
    results = [column for column in computation.outputs if column.role is Role.RESULT]
    for column in results if sum(column.width for column in results) <= MOST_BITS else ():
        about = column.name if len(results) > 1 else "the result"
        for bit in range(column.width):
            for value in (0, 1):
                yield writing(f"bit {bit} of {about} stuck at {value}", _stuck(column.name, bit, value))
    for column in computation.outputs:
        for flag in Flags if column.role is Role.FLAGS else ():
            for value, told in ((0, "never raised"), (1, "always raised")):
                stuck = _stuck(column.name, flag.bit_length() - 1, value)
                yield writing(f"the flag {flag_name(flag)} {told}", stuck)


def _stuck(name: str, bit: int, value: int) -> Write:
    def stuck(codes: Codes, width: int) -> Codes:
        mask: Codes = ints_to_codes([1 << bit], width, (1,))
        return codes | mask if value else codes & ~mask

    return partial(changed, lambda column: column.name == name, stuck)


MOST_EXCHANGED = 64
"""The most results of which each two are tried as exchanged."""


def crossed_wires(computation: Computation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that two bits of a result are exchanged, or that one is inverted, and that two results are
    exchanged: those that the sample shows most often.
    """
    results = [k for k, column in enumerate(computation.outputs) if column.role is Role.RESULT]
    for k in results[:MOST_EXCHANGED]:
        column, own, right = computation.outputs[k], sample.actual[k], sample.expected[k]
        if column.width > LIMB_BITS:
            continue
        about = column.name if len(results) > 1 else "the result"
        mask = most_frequent((own ^ right)[sample.differs & (own != right)]) or 0
        bits = [bit for bit in range(column.width) if mask >> bit & 1]
        applies = partial(_named, column.name)
        if len(bits) == 1:
            inverted = partial(changed, applies, partial(_inverted, mask))
            fmt = format_of(column)
            sign = fmt is not None and fmt.signed and bits[0] == column.width - 1
            yield writing(f"{'the sign' if sign else f'bit {bits[0]}'} of {about} inverted", inverted)
        if len(bits) == 2:
            exchanged = partial(changed, applies, partial(_bits_exchanged, bits[0], bits[1]))
            yield writing(f"bits {bits[0]} and {bits[1]} of {about} exchanged", exchanged)
    alike = combinations(results if len(results) <= MOST_EXCHANGED else (), 2)
    for one, other in ((one, other) for one, other in alike if computation.outputs[one].width <= LIMB_BITS):
        pairs = ((sample.actual[one], sample.expected[other]), (sample.actual[other], sample.expected[one]))
        if computation.outputs[one].width != computation.outputs[other].width:
            continue
        there = np.logical_and.reduce([given == right for given, right in pairs])
        if 2 * int((there & sample.differs).sum()) > int(sample.differs.sum()):
            names = " and ".join(computation.outputs[k].name for k in (one, other))
            yield writing(f"{names} exchanged", partial(_columns_exchanged, names.split(" and ")))


def _named(name: str, column: Column) -> bool:
    return column.name == name


def _inverted(mask: int, codes: Codes, width: int) -> Codes:
    return np.asarray(codes ^ codes.dtype.type(mask))


def _bits_exchanged(one: int, other: int, codes: Codes, width: int) -> Codes:
    kind = codes.dtype.type
    differ = (codes >> kind(one) ^ codes >> kind(other)) & kind(1)
    return np.asarray(codes ^ (differ << kind(one) | differ << kind(other)))


def _columns_exchanged(names: Sequence[str], columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
    places = [k for k, column in enumerate(columns) if column.name in names]
    return tuple(outputs[places[places.index(k) - 1]] if k in places else codes for k, codes in enumerate(outputs))


def stuck_operands(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that one bit of an operand is always 0 or 1 for the unit, also where special codes are found
    beside it: bits that are the other in all rows that differ.
    """
    for k, column in enumerate(computation.inputs):
        if column.role is not Role.OPERAND or column.width > LIMB_BITS:
            continue
        codes, fmt = sample.inputs[k], format_of(column)
        for bit in range(column.width - (fmt is not None and fmt.signed)):  # signs are those of `misread_operands`
            ones = (codes[sample.differs] >> codes.dtype.type(bit) & codes.dtype.type(1)).astype(np.bool_)
            if ones.all() or not ones.any():
                value = int(not ones.all())
                mask = codes.dtype.type(1 << bit)
                for but in ("", ", except in NaNs and infinities") if fmt is not None else ("",):
                    read = partial(_with_bit, k, mask, value, fmt if but else None)
                    yield reading(f"bit {bit} of {column.name} read as {value}{but}", Stage.COMPUTATION, read)


def _with_bit(place: int, mask: Any, value: int, but: FloatFormat | None, inputs: Chunk) -> Chunk:
    codes = inputs[place]
    made = codes | mask if value else codes & ~mask
    if but is not None:
        made = np.where(floats.is_nan(but, codes) | floats.is_infinite(but, codes), codes, made)
    return tuple(made if k == place else own for k, own in enumerate(inputs))


def other_formats(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the device uses another format of the same width: for all codes of a type, or only for
    results.
    """
    case = computation.case
    for type_ in dict.fromkeys((*case.operands, *case.results)):
        for other in of_same_width(type_):
            yield replace(
                computing(f"{other} in place of {type_}", partial(_retyped, type_, other)), stage=Stage.ENCODING
            )
    for other in of_same_width(case.results[0]):
        recode = _recoded(case.results[0], other)
        if recode is not None:
            yield writing(f"results written as {other}", recode, early=True)


def _retyped(type_: str, other: str, computation: OpComputation) -> OpComputation:
    case = computation.case
    *operands, result = (other if own == type_ else own for own in (*case.operands, case.results[0]))
    return replace(computation, case=op_case(case.op, operands, result, **dict(case.properties)))


def _recoded(type_: str, other: str) -> Write | None:
    case = conversion(type_, other)
    if case is None:
        return None

    def recode(codes: Codes, width: int) -> Codes:
        return reference(case, (codes,)).bits[0]

    return partial(changed, lambda column: column.role is Role.RESULT and column.type == type_, recode)


# --- datapaths --------------------------------------------------------------------------------------------------------
#
# Causes in how a device computes a result: rounding twice, saturation, an accumulator of fewer bits.

VIA = ("f16", "bf16", "tf32", "f32", "f64")
"""Formats through which a device may round."""

FEWER, MORE = 6, 4
"""The accumulators that are tried: from so many bits below the precision of the format to so many above it."""

# --- rounding twice ---------------------------------------------------------------------------------------------------


def roundings_on_the_way(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the device rounds to another format before it rounds to the format of the result."""
    if computation.case.results[0] in FORMATS:
        for via in VIA:
            if via not in (*computation.case.operands, *computation.case.results):
                yield through(f"double rounding through {via}", partial(_twice, via))


def _twice(via: str, computation: OpComputation, inputs: Chunk) -> Computed | None:
    if computation.random_bits is not None:
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
        middle = step(op_case(case.op, via, **dict(case.properties)), *widened)
    result = step(conversion(via, target, **rounding), middle)
    return with_flags(computation, result, np.bitwise_or.reduce(raised) if raised else None)


# --- saturation -------------------------------------------------------------------------------------------------------


def saturations(computation: OpComputation) -> Iterator[Cause]:
    """Yield the cause that integer arithmetic saturates where it should wrap around. For floats, a profile
    says this.
    """
    if computation.case.op in _INTEGER_OPS:
        yield through("saturation of signed integers", partial(_clamped, True))
        yield through("saturation of unsigned integers", partial(_clamped, False))


_INTEGER_OPS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}


def _clamped(signed: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    width = width_of(computation.case.result_types[0])
    low, high = (-(1 << width >> 1), (1 << width >> 1) - 1) if signed else (0, (1 << width) - 1)
    exact = _INTEGER_OPS[computation.case.op]

    def number(code: int) -> int:
        return code - (1 << width) if signed and code > high else code

    pairs = zip(*(codes_to_ints(codes, width) for codes in inputs), strict=True)
    clamped = (min(max(exact(number(a), number(b)), low), high) for a, b in pairs)
    results = [number & ((1 << width) - 1) for number in clamped]
    return with_flags(computation, ints_to_codes(results, width, (len(results),)), None)


# --- inside of an op --------------------------------------------------------------------------------------------------


def datapath_faults(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes of `faults.FAULTS` that are possible for a computation."""
    yield from (planted(name, fault) for name, fault in faults_of(computation, sample))


# --- ops of programs --------------------------------------------------------------------------------------------------


def causes_of_steps(computation: ProgramComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes of the other rows that a single op of a program can have."""
    rows = [row for row in DIAGNOSES if OpComputation in row.kinds and row.found_by not in _OF_WHOLE_PROGRAMS]
    for step in steps_of(computation):
        own = step.sample(sample)
        yield from in_steps(step, [cause for row in rows for cause in row.causes(step.op, own)])


_OF_WHOLE_PROGRAMS = (byte_orders, flag_orders, stuck_bits, stuck_operands, crossed_wires, other_ops)
"""Rows that are not tried for each op: the first five are about a device's ports, `other_programs` does the last."""


# --- table ------------------------------------------------------------------------------------------------------------

_ALL = (OpComputation, ProgramComputation, TileComputation)

DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis("the order of the bytes or bits in a word", byte_orders, _ALL),
    Diagnosis("the order of the flags", flag_orders, _ALL),
    Diagnosis("a bit or a flag that never changes", stuck_bits, _ALL),
    Diagnosis(
        "bits of a result that are exchanged or inverted, or results that are exchanged",
        crossed_wires,
        _ALL,
        fitted=True,
    ),
    Diagnosis("codes of another format of the same width", other_formats),
    Diagnosis("another rounding mode, predicate or op, or swapped operands", other_ops),
    Diagnosis("another field of the profile", other_profiles, (OpComputation, ProgramComputation)),
    Diagnosis(
        "an op of a program left out or replaced, swapped operands, or a constant off by one",
        other_programs,
        (ProgramComputation,),
    ),
    Diagnosis("the same NaN instead of every NaN", constant_nans, _ALL, fitted=True),
    Diagnosis("another NaN operand, a signalling NaN, another sign of NaN", other_nans),
    Diagnosis("another rule of a flag, such as invalid for quiet NaNs, or the flags of a part of the op", flag_rules),
    Diagnosis("one flag instead of another", other_flags, _ALL),
    Diagnosis("another sign of zeros and of cancelled sums", zero_signs, (OpComputation, TileComputation)),
    Diagnosis("another sign of infinities", infinity_signs, _ALL),
    Diagnosis(
        "the range of an integer that is compared before rounding, or without the carry of rounding", integer_ranges
    ),
    Diagnosis("another code where a result is out of range", bounds, fitted=True),
    Diagnosis("saturation of integers that should wrap", saturations),
    Diagnosis("rounding twice", roundings_on_the_way),
    Diagnosis("another rounding of some results, or a range compared before rounding", roundings_of_some),
    Diagnosis("a carry of rounding that is lost", carries),
    Diagnosis(
        "operands misread, alignment, products rounded or cut, guard and sticky bits, or a power of two",
        datapath_faults,
        fitted=True,
    ),
    Diagnosis(
        "in fixed point: another rounding or overflow, a sign or a point that is misread, bits that are cut",
        fixed_point_faults,
    ),
    Diagnosis("a bit of an operand that is always 0 or 1", stuck_operands, fitted=True),
    Diagnosis("a rounded result times a power of two", exponents, fitted=True),
    Diagnosis(
        "operands without their signs, infinities or NaNs read as numbers, or another sign of products",
        misread_operands,
    ),
    Diagnosis("a fixed result of an invalid operation, or of a NaN, an infinity or zero", fixed_results, fitted=True),
    Diagnosis("an exponent that wraps around at an end of the range", wrapped_exponents),
    Diagnosis("a range that ends at another number, or that is compared before rounding", other_ranges, fitted=True),
    Diagnosis("subnormal results that become +0", flushed_to_plus),
    Diagnosis("numbers compared as integers", compared_as_integers),
    Diagnosis("the flag inexact of some of the bits that are cut", inexact_of_some_bits),
    Diagnosis("entries of a table that are off", entries, fitted=True),
    Diagnosis("other elements of a tile operation", other_elements, (TileComputation,)),
    Diagnosis(
        "elements or products of a tile operation that are misread, left out or times a power of two",
        misread_elements,
        (TileComputation,),
        fitted=True,
    ),
    Diagnosis(
        "scales of another bias, of another block, left out, taken twice, or whose NaN is a number",
        misread_scales,
        (TileComputation,),
        fitted=True,
    ),
    Diagnosis(
        "C or the results of a tile operation times a power of two", biases_of_sums, (TileComputation,), fitted=True
    ),
    Diagnosis(
        "the rounding of the products of a tile operation, or of its sums where they carry",
        misrounded_products,
        (TileComputation,),
        fitted=True,
    ),
    Diagnosis("infinity minus infinity that is infinite", infinities_cancelled, (TileComputation,)),
    Diagnosis("another model of a tile operation", other_models, (TileComputation, ProgramComputation)),
    Diagnosis("another field of the accumulator of a tile operation", other_accumulators, (TileComputation,)),
    Diagnosis(
        "a tree or chain of adders for a tile operation, each of which rounds", trees_of_adders, (TileComputation,)
    ),
    Diagnosis("products of a tile operation in another order", other_orders, (TileComputation,)),
    Diagnosis(
        "C left out, an element of a tile operation in place of its neighbour, or a transposed operand",
        misplaced_elements,
        (TileComputation,),
    ),
    Diagnosis(
        "integers of a tile operation read as unsigned, or products that wrap around",
        misread_integers,
        (TileComputation,),
    ),
    Diagnosis(
        "any of these causes, except of encodings, in one op of a program, or in all ops that are alike",
        causes_of_steps,
        (ProgramComputation,),
        fitted=True,
    ),
)
"""Everything that is tried, except rows that slipped; of what fits alike, the first is named first."""
