"""The ways in which an atomic op, or a parallel loop, combines two values (`arith::AtomicRMWKind`)."""

from __future__ import annotations

from typing import NamedTuple

from halfulp.interp.ir.dialect_attributes import EnumDefinition

ATOMIC_KIND = EnumDefinition(
    "::mlir::arith::AtomicRMWKind",
    {
        "addf": 0,
        "addi": 1,
        "andi": 2,
        "assign": 3,
        "maximumf": 4,
        "maxnumf": 5,
        "maxs": 6,
        "maxu": 7,
        "minimumf": 8,
        "minnumf": 9,
        "mins": 10,
        "minu": 11,
        "mulf": 12,
        "muli": 13,
        "ori": 14,
        "xori": 15,
    },
    storage_width=64,
)


class Combining(NamedTuple):
    """The op of arith that a kind applies, and the elements that MLIR's verifiers ask for: ``f``, ``i`` or any."""

    op: str
    elements: str


COMBINING = {
    "addf": Combining("arith.addf", "f"),
    "addi": Combining("arith.addi", "i"),
    "andi": Combining("arith.andi", "i"),
    "maximumf": Combining("arith.maximumf", "f"),
    "maxnumf": Combining("arith.maxnumf", ""),
    "maxs": Combining("arith.maxsi", "i"),
    "maxu": Combining("arith.maxui", "i"),
    "minimumf": Combining("arith.minimumf", "f"),
    "minnumf": Combining("arith.minnumf", ""),
    "mins": Combining("arith.minsi", "i"),
    "minu": Combining("arith.minui", "i"),
    "mulf": Combining("arith.mulf", "f"),
    "muli": Combining("arith.muli", "i"),
    "ori": Combining("arith.ori", "i"),
    "xori": Combining("arith.xori", "i"),
}
"""All kinds but ``assign``, which takes the new value."""
