"""Causes in how a device spells its operands, results and flags: byte order, stuck bits, codes of another format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.device import Cause, Stage, Write, computing, reading, writing
from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.errors import HalfulpError

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


def _column(role: Role, change: Recode, applies: Callable[[Column], bool] = lambda column: True) -> Write:
    """Return the change of all columns of a role to which it applies."""

    def write(columns: Sequence[Column], outputs: Chunk) -> Chunk:
        return tuple(
            change(codes, column.width) if column.role is role and applies(column) else codes
            for column, codes in zip(columns, outputs, strict=True)
        )

    return write


def _whole_bytes(column: Column) -> bool:
    return column.width % 8 == 0 and column.width > 8


def byte_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the other order of bytes, of results and of operands, and the other order of bits."""
    results = [column for column in computation.outputs if column.role is Role.RESULT]
    if any(map(_whole_bytes, results)):
        yield writing("results with their bytes in the other order", _column(Role.RESULT, _bytes_swapped, _whole_bytes))
    if any(column.width > 1 for column in results):
        yield writing(
            "results with their bits in the other order",
            _column(Role.RESULT, _bits_reversed, lambda column: column.width > 1),
        )
    if any(map(_whole_bytes, computation.inputs)):

        def read(inputs: Chunk) -> Chunk:
            return tuple(
                _bytes_swapped(codes, column.width) if _whole_bytes(column) else codes
                for column, codes in zip(computation.inputs, inputs, strict=True)
            )

        yield reading("operands with their bytes in the other order", Stage.ENCODING, read)


def flag_orders(computation: Computation) -> Iterator[Cause]:
    """Yield the flags in the other order."""
    if any(column.role is Role.FLAGS for column in computation.outputs):
        yield writing("flags with their bits in the other order", _column(Role.FLAGS, _bits_reversed))


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

    def write(columns: Sequence[Column], outputs: Chunk) -> Chunk:
        return tuple(
            stuck(codes, column.width) if column.name == name else codes
            for column, codes in zip(columns, outputs, strict=True)
        )

    return write


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

    return _column(Role.RESULT, recode, lambda column: column.type == type_)
