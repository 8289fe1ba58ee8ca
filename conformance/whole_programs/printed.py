"""The output of a program: texts, and typed values in order, so that what is printed is compared bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.conformance.whole_programs.calls import called
from halfulp.interp.dialects.func.runner import BYTE, characters, may_print
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.events import Listener
from halfulp.interp.values.printing import printed_elements, spell_value
from halfulp.interp.values.value import Value


@dataclass(frozen=True)
class Printed:
    """One op's output: the text as a user sees it, the same with a mark for each element, and the values."""

    text: str
    frame: str
    values: tuple[Value, ...]


def prints(module: Module, function: Operation) -> bool:
    """Tell whether a call of a function may print: it reaches vector.print, a func.func without a body, a function of
    mlir-runner's library that prints, or a call of a pointer.
    """
    return any(_is_loud(op) if target is None else _may_print(target) for op, target in called(module, function))


def _is_loud(op: Operation) -> bool:
    """Tell whether an op prints, or calls a pointer."""
    by_pointer = op.name == "llvm.call" and "callee" not in op.properties
    return by_pointer or op.name in ("vector.print", "func.call_indirect")


def _may_print(target: Operation) -> bool:
    return not target.regions[0].blocks and (target.name == "func.func" or may_print(target.symbol_name or ""))


class Output(Listener):
    """Collects what a run prints."""

    def __init__(self) -> None:
        self.items: list[Printed] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        """Note a text. Its frame is the same whichever op prints it: a pass may lower it to others."""
        self.items.append(Printed(text, _frame(text, values), tuple(values)))


def silent(text: str) -> None:
    """Print nothing: a comparison collects what programs print."""


_PUNCTUATION = "()[], \n"
_ELEMENT = "\ud800"
"""The mark of an element: no text that is read from bytes has this half of a character."""


def _frame(text: str, values: Sequence[Value]) -> str:
    """Return a text with a mark in the place of each element; the text itself if they do not stand in it."""
    found = _marked(text, [each for value in values for each in printed_elements(value)])
    if found is None and all(value.element_type == BYTE for value in values):
        found = _marked(text, [each for value in values for each in characters(value)])
    return text if found is None else found


def _marked(text: str, spelled: Sequence[str]) -> str | None:
    parts: list[str] = []
    rest = text
    for element in reversed(spelled):
        rest, found, after = rest.rpartition(element)
        if not found or after.strip(_PUNCTUATION):
            return None
        parts += [after, _ELEMENT]
    return rest + "".join(reversed(parts))


def call_of(name: str, values: tuple[Value, ...]) -> Printed:
    """Return the call of a function of which only the name is known, with its values."""
    spelled = ", ".join(spell_value(value, limit=16) for value in values)
    shapes = ", ".join("x".join(map(str, value.shape)) for value in values)
    return Printed(f"{name}({spelled})\n", f"{name}({shapes})\n", values)


def elements(items: Sequence[Printed]) -> list[Value]:
    """Return the elements of all printed values in order, each as a scalar; a complex number as its two parts."""
    return [element for item in items for value in item.values for element in _scalars(value)]


def _scalars(value: Value) -> Iterator[Value]:
    type_ = value.element_type
    for place in np.ndindex(value.shape):
        poison = value.poison[place] if value.poison is not None and value.poison[place] else None
        open_ = None if value.open is None else value.open[place]
        if isinstance(type_, ty.ComplexType):
            for part in value.bits[place]:
                yield Value(type_.element, part, poison, open_, value.origins)
        else:
            yield Value(type_, value.bits[place], poison, open_, value.origins)
