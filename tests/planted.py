"""Plant a miscompile: change one op of a program, as a wrong pass would."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from halfulp.conformance.whole_programs.rewrite import definition_of, module_with
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.operations import Module, Operation

OTHER_OPS: Mapping[str, tuple[str, ...]] = {
    "arith.addf": ("arith.subf", "arith.mulf"),
    "arith.subf": ("arith.addf",),
    "arith.mulf": ("arith.divf", "arith.addf"),
    "arith.divf": ("arith.mulf",),
    "arith.maximumf": ("arith.minimumf",),
    "arith.minimumf": ("arith.maximumf",),
    "arith.maxnumf": ("arith.minnumf",),
    "arith.minnumf": ("arith.maxnumf",),
    "arith.addi": ("arith.subi",),
    "arith.subi": ("arith.addi",),
    "arith.muli": ("arith.addi",),
    "arith.andi": ("arith.ori",),
    "arith.ori": ("arith.xori",),
    "arith.maxsi": ("arith.minsi",),
    "arith.minsi": ("arith.maxsi",),
    "arith.extsi": ("arith.extui",),
    "arith.sitofp": ("arith.uitofp",),
    "math.exp": ("math.exp2",),
    "math.sin": ("math.cos",),
    "math.cos": ("math.sin",),
    "math.tanh": ("math.atan",),
    "math.rsqrt": ("math.sqrt",),
    "math.roundeven": ("math.round",),
    "llvm.fadd": ("llvm.fsub",),
    "llvm.fsub": ("llvm.fadd",),
    "llvm.fmul": ("llvm.fdiv",),
    "llvm.fdiv": ("llvm.fmul",),
}
"""Ops, and others that take and give the same types."""

ORDERED = {
    "arith.subf", "arith.divf", "arith.subi", "arith.divsi", "arith.cmpf", "arith.cmpi", "math.powf", "llvm.fsub",
}  # fmt: skip
"""Ops whose operands are exchanged."""


@dataclass(frozen=True)
class Planted:
    """A program with one op changed, and what was changed."""

    module: Module
    what: str


def planted(module: Module, rng: random.Random) -> Planted | None:
    """Return a copy of a module with one op changed; None if there is nothing to change."""
    copy = module_with(module.body, module)
    choices = [choice for op in copy.walk() for choice in _changes(op)]
    if not choices:
        return None
    what, change = rng.choice(choices)
    change()
    return Planted(copy, what)


def _changes(op: Operation) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the ways to change an op: a description, and a function that does it."""
    for name in OTHER_OPS.get(op.name, ()):
        yield f"{op.name} -> {name}", lambda name=name: _rename(op, name)  # type: ignore[misc]
    if op.name in ORDERED:
        yield f"operands of {op.name}", lambda: op.operands.reverse()
    if op.name in ("arith.select", "llvm.select"):
        yield f"arms of {op.name}", lambda: _exchange(op, 1, 2)
    if op.name in ("memref.load", "memref.store") and len(op.operands) > (4 if op.name == "memref.store" else 3) - 1:
        yield f"indices of {op.name}", lambda: _exchange(op, len(op.operands) - 2, len(op.operands) - 1)
    value = op.properties.get("value")
    if op.name in ("arith.constant", "llvm.mlir.constant") and isinstance(value, at.FloatAttr):
        yield f"the last bit of {value}", lambda: op.properties.update(value=at.FloatAttr(value.code ^ 1, value.type))


def _rename(op: Operation, name: str) -> None:
    definition = definition_of(name)
    properties = {slot.name for slot in definition.properties}
    op.name, op.definition = name, definition
    op.properties = {key: value for key, value in op.properties.items() if key in properties}


def _exchange(op: Operation, one: int, two: int) -> None:
    op.operands[one], op.operands[two] = op.operands[two], op.operands[one]
