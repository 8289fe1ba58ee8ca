"""The output of a program: texts, and typed values in order, so that what is printed is compared bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.conformance.whole_programs.calls import called
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.events import Listener
from halfulp.interp.values.printed import printed as text_of
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value

PRINT = "vector.print"


@dataclass(frozen=True)
class Printed:
    """One op's output: the text as a user sees it, the same with 0 for each element, and the values."""

    text: str
    frame: str
    values: tuple[Value, ...]


def prints(module: Module, function: Operation) -> bool:
    """Tell whether a call of a function may print: it reaches vector.print, or a function without a body."""
    return any(
        op.name == PRINT or op.name == "func.call_indirect" or (target is not None and not target.regions[0].blocks)
        for op, target in called(module, function)
    )


class Output(Listener):
    """Collects what a run prints."""

    def __init__(self) -> None:
        self.items: list[Printed] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        """Note a text. A function of a library is known by its name and the shapes of its values."""
        if op.name == PRINT:
            own = "".join(map(text_of, values))
            frame = "".join(text_of(_zeros(value)) for value in values) + text.removeprefix(own)
        else:
            frame = f"{op.properties.get('callee')} {[value.shape for value in values]}\n"
        self.items.append(Printed(text, frame, tuple(values)))


def call_of(name: str, values: tuple[Value, ...]) -> Printed:
    """Return the call of a function of which only the name is known, with its values."""
    spelled = ", ".join(spell_value(value, limit=16) for value in values)
    shapes = ", ".join("x".join(map(str, value.shape)) for value in values)
    return Printed(f"{name}({spelled})\n", f"{name}({shapes})\n", values)


def _zeros(value: Value) -> Value:
    """Return a value of the same shape whose elements are all printed as 0."""
    type_ = ty.TensorType(value.shape, ty.I1) if isinstance(value.type, ty.ShapedType) else ty.I1
    return Value(type_, np.zeros(value.shape, np.uint8))


def elements(items: Sequence[Printed]) -> list[Value]:
    """Return the elements of all printed values in order, each as a scalar."""
    return [element for item in items for value in item.values for element in _scalars(value)]


def _scalars(value: Value) -> Iterator[Value]:
    for place in np.ndindex(value.shape):
        poison = value.poison[place] if value.poison is not None and value.poison[place] else None
        open_ = None if value.open is None else value.open[place]
        yield Value(value.element_type, value.bits[place], poison, open_, value.origins)
