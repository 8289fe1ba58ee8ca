"""Passes that make known divergences, and the programs on which they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import halfulp as hu
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, cancellations, divergences
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.interesting import with_constant_arguments
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.values.value import Value

EXPAND = "arith-expand{include-bf16=true include-f4e2m1=true include-f8e8m0=true}"

PIPELINES: Mapping[str, Sequence[str]] = {
    "arith-expand": (
        f"func.func({EXPAND})",
        "func.func(arith-expand{include-f8e8m0=true})",
        "func.func(arith-expand)",
    ),
    "lower-quant-ops": ("func.func(lower-quant-ops)",),
    "canonicalize": ("canonicalize",),
    "*canonicalize": ("canonicalize",),
    "inline": ("inline",),
    "convert-arith-to-apfloat": ("convert-arith-to-apfloat",),
    "buffer-deallocation-pipeline": ("buffer-deallocation-pipeline",),
    "math-expand-ops": ("func.func(math-expand-ops)",),
    "math-extend-to-supported-types": ("math-extend-to-supported-types",),
    "convert-math-to-libm": ("convert-math-to-libm",),
    "arith-emulate-unsupported-floats": ("arith-emulate-unsupported-floats{source-types=f16 target-type=f32}",),
    "*": ("canonicalize", "sccp"),
}
"""For each pattern of the rows: pipelines that have the pass, some with options."""

Rows = tuple[Sequence[Divergence], Sequence[Cancellation]]
ALL: Rows = divergences(), cancellations()


def closed(module: Module, function: str, arguments: tuple[Value, ...]) -> ClosedProgram:
    """Return the program with its arguments as constants, so that a pass may fold them."""
    program = with_constant_arguments(ClosedProgram(module, function, arguments))
    assert program is not None
    return program


def example(row: Divergence) -> tuple[Module, tuple[Value, ...]]:
    """Return the program @eval of the op of a row, and its arguments."""
    asked = row.example
    types = asked.types[0] if len(asked.types) == 1 else list(asked.types)
    case = op_case(asked.op, types, asked.to, **dict(asked.properties))
    widths = zip(case.operand_types, asked.operands, case.operand_widths, strict=True)
    arguments = tuple(Value(type_, ints_to_codes([code], width, ())) for type_, code, width in widths)
    return case.module(None), arguments


def example_of_two(row: Cancellation) -> tuple[Module, tuple[Value, ...]]:
    """Return the program of a pair of casts, and its argument."""
    module = hu.parse(row.example)
    (type_,) = argument_types(module.body[0])
    return module, (Value(type_, ints_to_codes([row.argument], 64 if str(type_) in ("index", "i64") else 32, ())),)
