"""What a device computes as far as a diagnosis supposes: a computation, with changes on the way in and on the way out.

A `Cause` changes one of these parts, so that two causes can be put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags, as_rounding
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.types import width_of

InputChange = Callable[[Chunk], Chunk]
"""A change of the inputs."""
Datapath = Callable[[Computation, Chunk], Computed | None]
"""Another way to compute the outputs of a computation; None where it does not apply."""
Write = Callable[[Sequence[Column], Chunk], Chunk]
"""A change of the outputs, which have these columns."""


class Stage(IntEnum):
    """The place in which a device differs, in the order in which causes that fit alike are listed."""

    ALIGNMENT = 0
    ENCODING = 1
    COMPUTATION = 2


@dataclass(frozen=True)
class Device:
    """``reads``, then the ``computation`` (by ``datapath``, where one is given), then ``writes``, in that order."""

    computation: Computation
    datapath: Datapath | None = None
    reads: tuple[InputChange, ...] = ()
    writes: tuple[Write, ...] = ()

    def outputs(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return what the device gives for some rows, and where that means anything; None where it gives nothing.

        ``columns``: of ``expected``, and of what is returned. Marks of poison and of open bits stay the expected ones.
        """
        made = self.computed(columns, inputs, expected)
        return None if made is None else (self.written(columns, made[0]), made[1])

    def written(self, columns: Sequence[Column], made: Chunk) -> Chunk:
        """Return the outputs after the changes on the way out."""
        for write in self.writes:
            made = write(columns, made)
        return made

    def computed(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return the same as `outputs`, without the changes on the way out."""
        try:
            for read in self.reads:
                inputs = read(inputs)
            own = self.computation.outputs
            # A computation that rounds without random bits ignores them.
            made = (self.datapath or _plain)(self.computation, inputs[: len(self.computation.inputs)])
        except (HalfulpError, ValueError):
            return None
        if made is None:
            return None
        places = {column.name: k for k, column in enumerate(own)}
        given = list(expected)
        for k, column in enumerate(columns):
            if column.role in (Role.POISON, Role.OPEN):
                continue
            place = places.get(column.name)
            if place is None or own[place].width != column.width:
                return None
            given[k] = made.outputs[place]
        counts: Mask = np.ones(len(inputs[0]), np.bool_)
        if made.undefined is not None:
            counts &= ~made.undefined
        return tuple(given), counts & ~_without_result(own, made.outputs)


def _plain(computation: Computation, inputs: Chunk) -> Computed:
    return computation.compute(inputs)


def _without_result(columns: Sequence[Column], outputs: Chunk) -> Mask:
    poison = [codes != 0 for column, codes in zip(columns, outputs, strict=True) if column.role is Role.POISON]
    nothing: Mask = np.zeros(len(outputs[0]), np.bool_)
    return np.logical_and.reduce(poison) if poison else nothing


@dataclass(frozen=True)
class Cause:
    """One thing in which a device differs. ``name``: what gives its results, as in "all rows are what … gives".

    ``change``: makes the device of one without this cause; None where both cannot be together. ``slow``: takes
    microseconds for each row.
    """

    name: str
    stage: Stage
    change: Callable[[Device], Device | None]
    slow: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """A row of the table of diagnoses: what it is about, and the causes of this kind that a computation can have."""

    about: str
    causes: Callable[[Computation], Iterator[Cause]]


def computing(name: str, other: Callable[[Computation], Computation | None], slow: bool = False) -> Cause:
    """Return the cause of another computation. ``other`` may raise HalfulpError or ValueError where there is none."""

    def change(device: Device) -> Device | None:
        try:
            found = other(device.computation)
            if found is None or not found.outputs:
                return None
        except (HalfulpError, ValueError):
            return None
        return replace(device, computation=found)

    return Cause(name, Stage.COMPUTATION, change, slow)


def reading(name: str, stage: Stage, read: InputChange) -> Cause:
    """Return the cause of a change of the inputs."""
    return Cause(name, stage, lambda device: replace(device, reads=(*device.reads, read)))


def writing(name: str, write: Write, early: bool = False) -> Cause:
    """Return the cause of a change of the outputs; ``early``: before others."""

    def change(device: Device) -> Device:
        return replace(device, writes=(write, *device.writes) if early else (*device.writes, write))

    return Cause(name, Stage.ENCODING, change)


def through(name: str, datapath: Datapath, slow: bool = False) -> Cause:
    """Return the cause of another datapath."""

    def change(device: Device) -> Device | None:
        return None if device.datapath is not None else replace(device, datapath=datapath)

    return Cause(name, Stage.COMPUTATION, change, slow)


# --- encodings --------------------------------------------------------------------------------------------------------
#
# Causes in how a device spells its operands, results and flags: byte order, stuck bits, codes of another format.

MOST_BITS = 512
"""The most bits of all results together of which each is tried as stuck."""

Recode = Callable[[Codes, int], Codes]
"""A change of codes of a width."""


def flag_name(flag: Flags) -> str:
    """Return the name of a flag in words."""
    return str(flag.name).lower().replace("_", " ")


def _bytes_swapped(codes: Codes, width: int) -> Codes:
    return _by_row(codes, width, lambda code: int.from_bytes(code.to_bytes(width // 8, "big"), "little"))


def _bits_reversed(codes: Codes, width: int) -> Codes:
    return _by_row(codes, width, lambda code: int(f"{code:0{width}b}"[::-1], 2))


def _by_row(codes: Codes, width: int, change: Callable[[int], int]) -> Codes:
    return ints_to_codes([change(code) for code in codes_to_ints(codes, width)], width, (len(codes),))


def changed(applies: Callable[[Column], bool], change: Recode, columns: Sequence[Column], chunk: Chunk) -> Chunk:
    """Return a chunk with a change of all columns to which it applies."""
    pairs = zip(columns, chunk, strict=True)
    return tuple(change(codes, column.width) if applies(column) else codes for column, codes in pairs)


def of_flags(column: Column) -> bool:
    """Tell whether a column has flags."""
    return column.role is Role.FLAGS


def _whole_bytes(column: Column) -> bool:
    return column.width % 8 == 0 and column.width > 8


def _is_wide_result(column: Column) -> bool:
    return column.role is Role.RESULT and _whole_bytes(column)


def _is_long_result(column: Column) -> bool:
    return column.role is Role.RESULT and column.width > 1


def byte_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the other order of bytes, of results and of operands, and the other order of bits."""
    for what, applies, change in (
        ("bytes", _is_wide_result, _bytes_swapped),
        ("bits", _is_long_result, _bits_reversed),
    ):
        if any(map(applies, computation.outputs)):
            yield writing(f"results with their {what} in the other order", partial(changed, applies, change))
    if any(map(_whole_bytes, computation.inputs)):
        read = partial(changed, _whole_bytes, _bytes_swapped, computation.inputs)
        yield reading("operands with their bytes in the other order", Stage.ENCODING, read)


def flag_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the flags in the other order."""
    if any(map(of_flags, computation.outputs)):
        yield writing("flags with their bits in the other order", partial(changed, of_flags, _bits_reversed))


def stuck_bits(computation: Computation) -> Iterator[Cause]:
    """Yield each bit of each result, and each flag, at 0 and at 1."""
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


def other_formats(computation: Computation) -> Iterator[Cause]:
    """Yield the formats of the same width: of all codes of a type, and of the results alone."""
    if not isinstance(computation, OpComputation):
        return
    case = computation.case
    for type_ in dict.fromkeys((*case.operands, *case.results)):
        for other in of_same_width(type_):
            yield replace(computing(f"{other} in place of {type_}", _retyped(type_, other)), stage=Stage.ENCODING)
    for other in of_same_width(case.results[0]):
        recode = _recoded(case.results[0], other)
        if recode is not None:
            yield writing(f"results written as {other}", recode, early=True)


def of_same_width(type_: str) -> list[str]:
    """Return the names of the other formats of the width of a float type; none of another type."""
    own = FORMATS.get(type_)
    return [name for name, fmt in FORMATS.items() if own is not None and fmt.bits == own.bits and name != type_]


def _retyped(type_: str, other: str) -> Callable[[Computation], Computation | None]:
    def retype(computation: Computation) -> Computation | None:
        if not isinstance(computation, OpComputation):
            return None
        case = computation.case
        operands = [other if own == type_ else own for own in case.operands]
        result = other if case.results[0] == type_ else case.results[0]
        return replace(computation, case=op_case(case.op, operands, result, **dict(case.properties)))

    return retype


def conversion(source: str, target: str, **properties: object) -> OpCase | None:
    """Return the conversion between two types; None where there is none."""
    for op in ("arith.extf", "arith.truncf", "arith.convertf"):
        try:
            return op_case(op, source, target, **properties)
        except (HalfulpError, ValueError):
            continue
    return None


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
