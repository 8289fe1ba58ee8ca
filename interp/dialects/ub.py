"""The ub dialect: poison, and code that must not be reached (`UBOps.td`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout, element_type, runtime_shape
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Frame, Run, Segment, in_lanes
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

ub = d.Dialect("ub")

POISON_ATTR = ub.enum(EnumDefinition("poison attribute", {"": 0}, mnemonic="ub.poison"))


def _poison(op: Operation, settings: Settings) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
    type_ = op.results[0].type

    def poison(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        shape = runtime_shape(type_, settings.vscale)
        if shape is None or None in shape:
            raise Unsupported(f"a poison value of type '{type_}' has no shape at run time")
        sizes = tuple(size for size in shape if size is not None)
        check_allocation(type_, sizes, settings)
        dtype, trailing = code_layout(element_type(type_))
        origin = Origin(op.name, spell_place(op.location), "ub.poison", (0,) * len(sizes))
        ids = np.full(sizes, run.origins.id_of(origin), np.uint16)
        for listener in settings.listeners if ids.size else ():
            listener.poison_born(op, origin, ids.size)
        return (Value(type_, np.zeros(sizes + trailing, dtype), ids if ids.size else None, None, run.origins),)

    return poison


POISON = OnValues(_poison, words=lambda op, low: low.poison(op))

ub.op(
    "poison",
    "attr-dict (`<` $value^ `>`)? `:` type($result)",
    results={"result": d.ANY},
    properties=(d.Property("value", POISON_ATTR, default=0),),
    traits=(d.Trait.CONSTANT_LIKE,),
    evaluate=POISON,
)


def unreachable(op: Operation, compiler: Compiler) -> Action:
    """Return the action that raises UndefinedBehavior, because a run must not reach the op."""

    def reached(frame: Frame) -> Segment | None:
        report = UndefinedBehavior(f"{op.name}: undefined behaviour: it was reached", location=op.location, op=op.name)
        raise in_lanes(report, frame.slots[0].lanes)

    return reached


ub.op("unreachable", "attr-dict", traits=(d.Trait.TERMINATOR,), evaluate=OnFrames(unreachable))
