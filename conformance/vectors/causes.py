"""What may be wrong with a device, as causes that can be tried: the table of diagnoses.

A device is a computation, with changes on the way in and on the way out. A `Cause` changes one of these parts, so that
two causes can be put together. A row of `DIAGNOSES` yields the causes of one kind that a computation can have: in how
the device spells operands, results and flags, in what it computes, in how it computes, and in how it adds products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.vectors.columns import Chunk, Column, Role, format_of
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags, as_rounding
from halfulp.interp.declare.build import property_of
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.types import width_of
from halfulp.semantics import floats
from halfulp.semantics.matrix_units.accumulator import Accumulator, spelled
from halfulp.semantics.matrix_units.chips import CHAIN, MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import rule_of
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES

InputChange = Callable[[Chunk], Chunk]
"""A change of the inputs."""
Datapath = Callable[[Any, Chunk], Computed | None]
"""Another way to compute the outputs of a computation; None where it does not apply."""
Write = Callable[[Sequence[Column], Chunk], Chunk]
"""A change of the outputs, which have these columns."""


class Stage(IntEnum):
    """The place in which a device differs, in the order in which causes that fit equally well are listed."""

    ALIGNMENT = 0
    ENCODING = 1
    COMPUTATION = 2


@dataclass(frozen=True)
class Device:
    """A device: it ``reads``, then makes the ``computation`` (by ``datapath``, if one is given), then ``writes``."""

    computation: Computation
    datapath: Datapath | None = None
    reads: tuple[InputChange, ...] = ()
    writes: tuple[Write, ...] = ()

    def outputs(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Return what the device gives for some rows, and where that has a meaning; None if it gives nothing.

        ``columns``: the columns of ``expected``, and of what is returned. Marks of poison and of open bits stay as
        expected.
        """
        made = self.computed(columns, inputs, expected)
        return None if made is None else (self.written(columns, made[0]), made[1])

    def written(self, columns: Sequence[Column], made: Chunk) -> Chunk:
        """Return the outputs after the changes on the way out."""
        for write in self.writes:
            made = write(columns, made)
        return made

    def computed(self, columns: Sequence[Column], inputs: Chunk, expected: Chunk) -> tuple[Chunk, Mask] | None:
        """Do the same as `outputs`, without the changes on the way out."""
        try:
            for read in self.reads:
                inputs = read(inputs)
            own = self.computation.outputs
            # A computation that rounds without random bits ignores them.
            inputs = inputs[: len(self.computation.inputs)]
            made = self.datapath(self.computation, inputs) if self.datapath else self.computation.compute(inputs)
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
        poison = [codes != 0 for column, codes in zip(own, made.outputs, strict=True) if column.role is Role.POISON]
        if poison:
            counts &= ~np.logical_and.reduce(poison)
        return tuple(given), counts


@dataclass(frozen=True)
class Cause:
    """One thing in which a device differs. ``name``: what gives its results, as in "all rows are what … gives".

    ``change``: makes a device with this cause from one without it; None if the two cannot be together. ``slow``: takes
    microseconds for each row.
    """

    name: str
    stage: Stage
    change: Callable[[Device], Device | None]
    slow: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """A row of the table of diagnoses."""

    #: What may be wrong, in words.
    about: str
    #: The causes of this kind that a computation of ``kinds`` can have. No cause changes the kind.
    found_by: Callable[..., Iterator[Cause]]
    kinds: tuple[type, ...] = (OpComputation,)
    #: Whether the sample tells a parameter of the cause, such as a code: it is the second argument of ``found_by``.
    fitted: bool = False

    def causes(self, computation: Computation, sample: Sample) -> Iterator[Cause]:
        """Return the causes of this kind that a computation can have, of which some rows are known."""
        if not isinstance(computation, self.kinds):
            return iter(())
        return self.found_by(computation, sample) if self.fitted else self.found_by(computation)


def _by(field: str, value: object, computation: Any) -> Computation:
    """Return a computation with another value of a field."""
    other: Computation = replace(computation, **{field: value})
    return other


def computing(name: str, other: Callable[[Any], Computation], slow: bool = False) -> Cause:
    """Return the cause that is another computation. ``other`` may raise HalfulpError or ValueError if there is none."""

    def change(device: Device) -> Device | None:
        try:
            computation = other(device.computation)
            return replace(device, computation=computation) if computation.outputs else None
        except (HalfulpError, ValueError):
            return None

    return Cause(name, Stage.COMPUTATION, change, slow)


def reading(name: str, stage: Stage, read: InputChange) -> Cause:
    """Return the cause that is a change of the inputs."""
    return Cause(name, stage, lambda device: replace(device, reads=(*device.reads, read)))


def writing(name: str, write: Write, early: bool = False) -> Cause:
    """Return the cause that is a change of the outputs; ``early``: it comes before other changes."""

    def change(device: Device) -> Device:
        return replace(device, writes=(write, *device.writes) if early else (*device.writes, write))

    return Cause(name, Stage.ENCODING, change)


def through(name: str, datapath: Datapath, slow: bool = False) -> Cause:
    """Return the cause of another datapath."""
    return Cause(
        name,
        Stage.COMPUTATION,
        lambda device: replace(device, datapath=datapath) if device.datapath is None else None,
        slow,
    )


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


def byte_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the other order of bytes, of results and of operands, and the other order of bits."""
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


def other_formats(computation: OpComputation) -> Iterator[Cause]:
    """Yield the other formats of the same width: for all codes of a type, and for the results alone."""
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


def of_same_width(type_: str) -> list[str]:
    """Return the names of the other formats that have the width of a float type; none for any other type."""
    own = FORMATS.get(type_)
    return [name for name, fmt in FORMATS.items() if own is not None and fmt.bits == own.bits and name != type_]


def _retyped(type_: str, other: str, computation: OpComputation) -> OpComputation:
    case = computation.case
    *operands, result = (other if own == type_ else own for own in (*case.operands, case.results[0]))
    return replace(computation, case=op_case(case.op, operands, result, **dict(case.properties)))


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

# --- rounding twice ---------------------------------------------------------------------------------------------------


def roundings_on_the_way(computation: OpComputation) -> Iterator[Cause]:
    """Yield rounding to another format first, then to that of the result."""
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
    return _with_flags(computation, result, np.bitwise_or.reduce(raised) if raised else None)


def _with_flags(computation: Computation, result: Codes, flags: Codes | None) -> Computed | None:
    """Return outputs with this result and these flags; None for a computation with other outputs."""
    roles = [column.role for column in computation.outputs]
    given = {Role.RESULT: result} | ({} if flags is None else {Role.FLAGS: flags})
    if roles.count(Role.RESULT) > 1 or any(role not in given for role in roles):
        return None
    return Computed(tuple(given[role] for role in roles))


# --- saturation -------------------------------------------------------------------------------------------------------


def saturations(computation: OpComputation) -> Iterator[Cause]:
    """Yield integer arithmetic that saturates instead of overflowing; for floats, a profile says so."""
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


def accumulators(computation: OpComputation) -> Iterator[Cause]:
    """Yield accumulators of fewer bits than the op needs, from one bit on: each term is cut to the bits of the largest
    one.
    """
    if computation.case.op in _SUMS:
        fmt = FORMATS.get(computation.case.results[0])
        for bits in range(max(1, fmt.precision - FEWER), fmt.precision + MORE + 1) if fmt is not None else ():
            name = f"an accumulator of {bits} bit{'s'[: bits > 1]}"
            yield through(name, partial(_accumulated, bits), slow=True)


def _accumulated(bits: int, computation: OpComputation, inputs: Chunk) -> Computed | None:
    case, fmt = computation.case, FORMATS[computation.case.results[0]]
    if (
        computation.random_bits is not None
        or case.op not in _SUMS
        or any(type_ not in FORMATS for type_ in case.operands)
    ):
        return None
    plain = computation.compute(inputs).outputs
    mode = as_rounding(dict(case.properties).get("rounding", "to_nearest_even"))
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
    """Return the sum of terms, each cut toward zero to ``bits`` bits below the leading bit of the largest term, with
    its exponent, and whether bits were lost.
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


# --- other computations -----------------------------------------------------------------------------------------------
#
# Causes in what a device computes: another op or mode, swapped operands, another choice of the profile.

RELATED: tuple[tuple[str, ...], ...] = (
    ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf"),
    ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
    ("arith.addi", "arith.subi", "arith.muli"),
    ("arith.andi", "arith.ori", "arith.xori"),
    ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
    ("arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"),
    ("arith.remsi", "arith.remui"),
    ("arith.shrsi", "arith.shrui", "arith.shli"),
    ("arith.sitofp", "arith.uitofp"),
    ("arith.fptosi", "arith.fptoui"),
    ("arith.extsi", "arith.extui"),
    ("math.exp", "math.exp2", "math.expm1", "exp10"),
    ("math.log", "math.log2", "math.log10", "math.log1p"),
    ("math.sin", "math.cos", "math.tan"),
    ("math.asin", "math.acos", "math.atan"),
    ("math.sinh", "math.cosh", "math.tanh", "sigmoid"),
    ("math.asinh", "math.acosh", "math.atanh"),
    ("math.sqrt", "math.rsqrt", "math.cbrt"),
    ("math.erf", "math.erfc"),
    ("gelu", "gelu_tanh", "silu", "mish", "softplus"),
    ("math.round", "math.roundeven", "math.trunc", "math.floor", "math.ceil"),
    ("math.ctlz", "math.cttz", "math.ctpop"),
)
"""Ops of the same operands that are easily confused."""


def other_ops(computation: OpComputation) -> Iterator[Cause]:
    """Yield the op with other values of its enumerated properties, related ops, and swapped operands."""
    own = computation.case
    given = dict(own.properties)
    for declared in (*own.definition.properties, *own.definition.choices):
        if not isinstance(declared.kind, EnumDefinition) or declared.kind.flags:
            continue
        keyword = next((key for key in (*given, "rounding") if property_of(own.definition, key) is declared), None)
        keyword = keyword or declared.name
        default = declared.default if isinstance(declared.default, int) else 0
        usual = None if computation.random_bits is not None else declared.kind.names.get(default)
        for choice in declared.kind.cases:
            if choice != given.get(keyword, usual):
                yield computing(f"{keyword}={choice}", partial(_as_case, None, {keyword: choice}))
    for op in (op for family in RELATED if own.op in family for op in family if op != own.op):
        yield computing(op, partial(_as_case, op, {}))
    if len(own.operands) == 2 and own.operands[0] == own.operands[1]:
        yield reading(f"{own.op}(b, a)", Stage.COMPUTATION, lambda inputs: (inputs[1], inputs[0], *inputs[2:]))


def _as_case(op: str | None, properties: Mapping[str, Any], computation: OpComputation) -> OpComputation:
    """Return another op, with other properties; it ignores the bits of stochastic rounding."""
    own = computation.case
    case = op_case(op or own.op, own.operands, own.results[0], **{**dict(own.properties), **properties})
    return replace(computation, case=case, random_bits=None)


def other_profiles(computation: OpComputation | ProgramComputation) -> Iterator[Cause]:
    """Yield each other value of each field of the profile that can count, flushing with a positive zero, and the named
    profiles.
    """
    own, f32_apart, stochastic = computation.profile, True, False
    if isinstance(computation, OpComputation):
        types = {*computation.case.operands, *computation.case.results}
        # Only beside other formats can flushing f32 alone give results that flushing all formats does not give.
        f32_apart = "f32" in types and len(types & FORMATS.keys()) > 1
        stochastic = computation.random_bits is not None
    changes: list[dict[str, str]] = []
    for field, choice in PROFILE_FIELDS.items():
        if (f32_apart or not field.endswith("_f32")) and (stochastic or not field.startswith("stochastic")):
            changes += [{field: value} for value in choice.values if value != getattr(own, field)]
    for value in PROFILE_FIELDS["denormals"].values:
        if value not in ("ieee", own.denormals):
            changes.append({"denormals": value, "denormal_zero": "positive"})
        if f32_apart and value not in ("ieee", own.denormals_f32):
            changes.append({"denormals_f32": value, "denormal_zero_f32": "positive"})
    for change in changes:
        name = ",".join(f"{field}={value}" for field, value in change.items())
        yield computing(name, partial(_with_fields, name, change))
    for name, profile in PROFILES.items():
        if name != own.name:
            yield computing(f"profile={name}", partial(_by, "profile", profile))


def _with_fields(name: str, change: Mapping[str, str], computation: OpComputation | ProgramComputation) -> Computation:
    # Profiles are hashed by their names.
    own = computation.profile
    return replace(computation, profile=replace(own, name=f"{own.name},{name}", **change))


# --- NaNs -------------------------------------------------------------------------------------------------------------


def constant_nans(computation: Computation, sample: Sample) -> Iterator[Cause]:
    """Yield the NaN that the device gives most often as its only one, of each result."""
    results = [k for k, column in enumerate(computation.outputs) if column.role is Role.RESULT]
    for k in results:
        column, fmt = computation.outputs[k], format_of(computation.outputs[k])
        if fmt is None or fmt.bits > LIMB_BITS:
            continue
        expected, actual = sample.expected[k], sample.actual[k]
        nans = sample.differs & floats.is_nan(fmt, expected) & floats.is_nan(fmt, actual)
        codes, counts = np.unique(actual[nans], return_counts=True)
        if len(codes):
            code = int(codes[counts.argmax()])
            name = f"NaN always 0x{code:0{-(-fmt.bits // 4)}X}{f' in {column.name}' if len(results) > 1 else ''}"
            yield replace(writing(name, partial(_with_nan, fmt, column.name, code)), stage=Stage.COMPUTATION)


def _with_nan(fmt: FloatFormat, name: str, code: int, columns: Sequence[Column], outputs: Chunk) -> Chunk:
    def one(codes: Codes, width: int) -> Codes:
        return np.where(floats.is_nan(fmt, codes), codes.dtype.type(code), codes)

    return changed(lambda column: column.name == name, one, columns, outputs)


def invalid_for_nans(computation: OpComputation) -> Iterator[Cause]:
    """Yield the flag invalid for quiet NaNs as for signalling ones."""
    if any(map(of_flags, computation.outputs)) and any(format_of(column) is not None for column in computation.inputs):
        yield through("the flag invalid for every NaN operand", _invalid_for_nans)


def _invalid_for_nans(computation: OpComputation, inputs: Chunk) -> Computed:
    made, nans = computation.compute(inputs), np.zeros(len(inputs[0]), np.bool_)
    for column, codes in zip(computation.inputs, inputs, strict=True):
        fmt = format_of(column)
        if fmt is not None and column.role is Role.OPERAND:
            nans |= floats.is_nan(fmt, codes)

    def raised(flags: Codes, width: int) -> Codes:
        return np.where(nans, flags | np.uint8(Flags.INVALID), flags)

    return Computed(changed(of_flags, raised, computation.outputs, made.outputs), made.undefined)


# --- flag causes ------------------------------------------------------------------------------------------------------
#
# Causes in when a device raises its flags: one in the place of another, wrong tests of underflow and of ranges.

CONFUSED = (
    (Flags.OVERFLOW, Flags.INVALID),
    (Flags.INVALID, Flags.OVERFLOW),
    (Flags.DIVIDE_BY_ZERO, Flags.INVALID),
    (Flags.INVALID, Flags.DIVIDE_BY_ZERO),
    (Flags.UNDERFLOW, Flags.OVERFLOW),
    (Flags.OVERFLOW, Flags.UNDERFLOW),
)
"""Flags, and others that a device may raise in their place."""


def other_flags(computation: Computation) -> Iterator[Cause]:
    """Yield a flag that is raised in the place of another, and underflow that is detected on the rounded result."""
    roles = [column.role for column in computation.outputs]
    if Role.FLAGS not in roles:
        return
    for flag, other in CONFUSED:
        yield writing(f"the flag {flag_name(other)} in place of {flag_name(flag)}", partial(_confused, flag, other))
    if roles.count(Role.RESULT) == 1 and any(map(_keeps_subnormals, computation.outputs)):
        yield writing("underflow raised only where the rounded result is subnormal or zero", _underflow_by_result)


def _confused(flag: Flags, other: Flags, columns: Sequence[Column], outputs: Chunk) -> Chunk:
    def moved(codes: Codes, width: int) -> Codes:
        return np.where(codes & flag != 0, codes & np.uint8(0x1F ^ flag) | np.uint8(other), codes)

    return changed(of_flags, moved, columns, outputs)


def _keeps_subnormals(column: Column) -> bool:
    fmt = FORMATS.get(column.type)
    return column.role is Role.RESULT and fmt is not None and fmt.zero and fmt.bits <= 64 and fmt.mantissa_bits > 0


def _underflow_by_result(columns: Sequence[Column], outputs: Chunk) -> Chunk:
    place = next(k for k, column in enumerate(columns) if column.role is Role.RESULT)
    fmt, codes = FORMATS[columns[place].type], outputs[place]
    exponents = ((1 << fmt.bits) - 1) & ~(fmt.sign_mask or 0) & -(1 << fmt.mantissa_bits)
    small = codes & codes.dtype.type(exponents) == 0

    def told(flags: Codes, width: int) -> Codes:
        raised = small & (flags & Flags.INEXACT != 0)
        return flags & np.uint8(0x1F ^ Flags.UNDERFLOW) | np.where(raised, np.uint8(Flags.UNDERFLOW), np.uint8(0))

    return changed(of_flags, told, columns, outputs)


# --- the range of an integer ------------------------------------------------------------------------------------------

_TO_INTEGER = {
    "arith.fptosi": "fcvt_to_si",
    "arith.fptoui": "fcvt_to_ui",
    "fcvt_to_si": "fcvt_to_si",
    "fcvt_to_ui": "fcvt_to_ui",
}


def integer_ranges(computation: OpComputation) -> Iterator[Cause]:
    """Yield conversions to integers that compare the operand with the range before they round it, or that lose the bit
    into which the rounding of a negative operand carries.
    """
    if computation.case.op not in _TO_INTEGER:
        return
    width = width_of(computation.case.result_types[0])
    yield through("the lower bound compared before rounding", partial(_before_rounding, False))
    yield through("both bounds compared before rounding", partial(_before_rounding, True))
    if _TO_INTEGER[computation.case.op] == "fcvt_to_ui" and width < 62:
        yield through(f"numbers that round to -2^{width} taken as 0", _carry_lost)


def _before_rounding(both: bool, computation: OpComputation, inputs: Chunk) -> Computed:
    """For rounding away from zero: an operand is outside of the range if and only if it is outside before rounding."""
    own, negative = computation.compute(inputs), _negative(computation, inputs[0])
    for mode, where in (("downward", negative), ("upward", ~negative)):
        if both or mode == "downward":
            outward = _rounded(computation, mode).compute(inputs)
            own = _chosen(where & _raises(computation, outward, Flags.INVALID), outward, own)
    return own


def _carry_lost(computation: OpComputation, inputs: Chunk) -> Computed:
    own, width = computation.compute(inputs), width_of(computation.case.result_types[0])
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    rounded, cut = (_wider(computation, f"i{width + 2}", mode, inputs) for mode in (mode, "toward_zero"))
    carried = (rounded == 3 << width) & (cut == (3 << width) + 1)  # -2^width, and one more
    zero = tuple(
        np.full_like(codes, Flags.INEXACT if column.role is Role.FLAGS else 0)
        for column, codes in zip(computation.outputs, own.outputs, strict=True)
    )
    return _chosen(carried, Computed(zero), own)


def _wider(computation: OpComputation, type_: str, mode: str, inputs: Chunk) -> Codes:
    """Return the operands as signed integers of another type."""
    case = op_case("fcvt_to_si", computation.case.operands, type_, rounding=mode)
    return replace(computation, case=case).compute(inputs).outputs[0]


def _rounded(computation: OpComputation, mode: str) -> OpComputation:
    case = computation.case
    return replace(computation, case=op_case(_TO_INTEGER[case.op], case.operands, case.results[0], rounding=mode))


def _negative(computation: OpComputation, codes: Codes) -> Mask:
    fmt = FORMATS[computation.case.operands[0]]
    return np.asarray(codes & codes.dtype.type(fmt.sign_mask or 0) != 0)


def _raises(computation: OpComputation, made: Computed, flag: Flags) -> Mask:
    flags = (
        codes for column, codes in zip(computation.outputs, made.outputs, strict=True) if column.role is Role.FLAGS
    )
    return next((codes & flag != 0 for codes in flags), np.zeros(len(made.outputs[0]), np.bool_))


def _chosen(where: Mask, one: Computed, other: Computed) -> Computed:
    pairs = zip(one.outputs, other.outputs, strict=True)
    return Computed(tuple(np.where(where, first, second) for first, second in pairs), other.undefined)


# --- tile causes ------------------------------------------------------------------------------------------------------
#
# Causes in how a unit adds the products of a tile: another field of its accumulator, or another model.

FEW_PRODUCTS = 32
"""Tiles of so many products are fast enough to try pairs of fields."""

SCALE = "f8E8M0FNU"

NEAR = 8
"""Numbers of bits are tried up to so far from those of the accumulator."""


def other_models(computation: TileComputation | ProgramComputation) -> Iterator[Cause]:
    """Yield the other models that compute the operation, or the tile operations of a program."""
    if isinstance(computation, TileComputation):
        field, models = "model", tuple(computation.models())
    else:
        field, models = "mma", MODELS if computation.tiled else ()
    for model in models:
        if model != getattr(computation, field):
            yield computing(f"--mma={model}", partial(_by, field, model), slow=True)


def other_accumulators(computation: TileComputation) -> Iterator[Cause]:
    """Yield each other value of each field of the accumulator; for numbers, the nearby values."""
    rule = rule_or_usual(computation)
    for field in fields(Accumulator):
        own = getattr(rule, field.name)
        for value in dict.fromkeys(_values(field.name, field.metadata["choices"], rule, computation.operation)):
            if value != own:
                name = f"an accumulator with {field.name}={spelled(value)}"
                yield computing(name, partial(_with, field.name, value), slow=computation.products > FEW_PRODUCTS)


def other_elements(computation: TileComputation) -> Iterator[Cause]:
    """Yield other formats of the elements of A and B, of the same width, and scales of another bias."""
    op = computation.operation
    slow = computation.products > FEW_PRODUCTS
    for type_ in dict.fromkeys((op.a, op.b)):
        for other in of_same_width(type_):
            yield computing(f"{other} in place of {type_}", partial(_with_elements, type_, other), slow)
    if op.scale == SCALE:
        bias = FORMATS[SCALE].bias
        for way in (1, -1):
            name = f"scales with the bias {bias + way} in place of {bias}"
            yield reading(name, Stage.COMPUTATION, partial(_moved_scales, computation, way))


def _with_elements(type_: str, other: str, computation: TileComputation) -> TileComputation:
    op = computation.operation
    a, b = (other if own == type_ else own for own in (op.a, op.b))
    return replace(computation, operation=replace(op, a=a, b=b))


def _moved_scales(computation: TileComputation, way: int, inputs: Chunk) -> Chunk:
    """Return inputs whose scales are 2**way times smaller, except for NaNs and scales at the end of the range."""
    scales = sum(math.prod(shape) for name, _, shape in computation.operands if name.startswith("scale"))
    most = FORMATS[SCALE].max_code

    def moved(codes: Codes) -> Codes:
        return np.where(codes > most, codes, np.clip(codes.astype(np.int64) - way, 0, most)).astype(codes.dtype)

    first = len(inputs) - scales
    return inputs[:first] + tuple(map(moved, inputs[first:]))


def rule_or_usual(computation: TileComputation) -> Accumulator:
    """Return the rule of a computation's model, or the one that gives the sums of a model without a rule."""
    usual = CHAIN if computation.model == "ieee" else Accumulator()
    return rule_of(computation.model, computation.operation) or usual


def _with(field: str, value: Any, computation: TileComputation) -> TileComputation:
    return replace(computation, model=replace(rule_or_usual(computation), **{field: value}).text)


def _values(field: str, choices: Sequence[str], rule: Accumulator, op: TileOp) -> Iterator[Any]:
    """Yield the values of a field that a device may have; some of them do not go together with the other fields."""
    if choices:
        yield from choices
        return
    fmt = FORMATS.get(op.d)
    match field:
        case "flush" | "product_overflow":
            yield from (False, True)
        case "group":
            k = op.shape[2]
            yield from (size if size < k else 0 for size in (1 << power for power in range(k.bit_length() + 1)))
        case "order":
            k = op.shape[2]
            yield from (0, *(1 << power for power in range((k - 1).bit_length())))
        case "width" if fmt is None:
            yield from (None, *range(int(op.d[1:]) - 1, NEAR - 1, -1))
        case "bits" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.bits is None else rule.bits))
        case "fraction" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.fraction is None else rule.fraction))
        case "guard":
            yield from (0, *_near(rule.guard))
        case "shifter" | "c_shifter" if rule.bits is not None:
            given = getattr(rule, field)
            yield from (None, *_near(rule.bits if given is None else given))
        case "zero_exponent" if fmt is not None:
            yield from (None, 1 - fmt.bias)


def _near(number: int) -> Iterator[int]:
    """Yield the number and its neighbours, the nearest first and the lower one of two first."""
    yield number
    for step in range(1, NEAR + 1):
        yield from (other for other in (number - step, number + step) if other >= 0)


# --- table ------------------------------------------------------------------------------------------------------------

_ALL = (OpComputation, ProgramComputation, TileComputation)

DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis("the order of the bytes or bits in a word", byte_orders, _ALL),
    Diagnosis("the order of the flags", flag_orders, _ALL),
    Diagnosis("a bit or a flag that never changes", stuck_bits, _ALL),
    Diagnosis("codes of another format of the same width", other_formats),
    Diagnosis("another rounding mode, predicate or op, or swapped operands", other_ops),
    Diagnosis("another field of the profile", other_profiles, (OpComputation, ProgramComputation)),
    Diagnosis("the same NaN instead of every NaN", constant_nans, _ALL, fitted=True),
    Diagnosis("the flag invalid for quiet NaNs", invalid_for_nans),
    Diagnosis("one flag instead of another, or underflow that is detected from the rounded result", other_flags, _ALL),
    Diagnosis(
        "the range of an integer that is compared before rounding, or without the carry of rounding", integer_ranges
    ),
    Diagnosis("saturation of integers that should wrap", saturations),
    Diagnosis("rounding twice", roundings_on_the_way),
    Diagnosis("an accumulator with fewer bits", accumulators),
    Diagnosis("other elements of a tile operation, or scales with another bias", other_elements, (TileComputation,)),
    Diagnosis("another model of a tile operation", other_models, (TileComputation, ProgramComputation)),
    Diagnosis("another field of the accumulator of a tile operation", other_accumulators, (TileComputation,)),
)
"""Everything that is tried beside rows that slipped; of what fits alike, the first is named first."""
