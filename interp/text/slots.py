"""The meaning of the names in an op's assembly format, and the parts of one op that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halfulp.interp.declare.declarations import Arity, OpDefinition, Property, Slot
from halfulp.interp.declare.operands import SEGMENTS, spread
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue


class Slots:
    """An op's operands and results in one list, and the meaning of each name of its format."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.operands = definition.operands
        self.results = definition.results
        self.all: tuple[Slot, ...] = (*self.operands, *self.results)
        self.index = {slot.name: index for index, slot in enumerate(self.all)}
        # Each operand and result is one value, and none is passed to a successor.
        self.plain = all(slot.arity is Arity.ONE for slot in self.all) and not definition.successors
        self.properties: Mapping[str, Property] = {prop.name: prop for prop in definition.properties}
        self.regions = {slot.name: index for index, slot in enumerate(definition.regions)}
        self.successors = {slot.name: index for index, slot in enumerate(definition.successors)}
        # Operand slots that are the values of a successor's arguments.
        self.passed = {
            self.index[f"{name}Operands"]: index
            for name, index in self.successors.items()
            if f"{name}Operands" in self.index
        }

    def of(self, name: str) -> list[int]:
        """Return the slots that a name in a format stands for; ``operands`` and ``results`` stand for all of them."""
        if name in self.index:
            return [self.index[name]]
        if name == "operands":
            return list(range(len(self.operands)))
        if name == "results":
            return list(range(len(self.operands), len(self.all)))
        raise ValueError(f"{self.definition.name}: the format names ${name}, which is not declared")

    def values(self, operation: Operation, index: int) -> Sequence[SSAValue]:
        """Return the values of one slot of an op."""
        if index in self.passed:
            return operation.successors[self.passed[index]][1]
        if index >= len(self.operands):
            group, offset, values = self.results, len(self.operands), list[SSAValue](operation.results)
        else:
            group, offset, values = self.operands, 0, operation.operands
        own = [i for i in range(len(group)) if offset + i not in self.passed]
        segments = operation.properties.get(SEGMENTS)
        if offset == 0 and isinstance(segments, DenseArrayAttr):
            counts = [segments.values[i] for i in own]
        else:
            counts = spread([group[i] for i in own], len(values)) or [len(values)]
        position = own.index(index - offset)
        start = sum(counts[:position])
        return values[start : start + counts[position]]


class OpReading:
    """The parts of one op that were read: tokens of operands, types by slot, and the rest."""

    __slots__ = ("attributes", "named", "operands", "properties", "regions", "start", "successors", "types")

    def __init__(self, operands: int, slots: int, start: int) -> None:
        # The token of the op's name.
        self.start = start
        # A token, or a list of them for a variadic operand.
        self.operands: list[Any] = [None] * operands
        # A type, or a tuple of them for a variadic slot.
        self.types: list[Any] = [None] * slots
        self.properties: dict[str, Attribute] = {}
        self.attributes: dict[str, Attribute] = {}
        # The properties that the dictionary names, which replace those of the custom form.
        self.named: dict[str, Attribute] | None = None
        self.regions: list[Region] = []
        self.successors: list[Block] = []
