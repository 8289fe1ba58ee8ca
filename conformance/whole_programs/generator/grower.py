"""The growing of a function body: the values in reach, and the ops that are appended."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from halfulp.conformance.whole_programs.domains import any_code
from halfulp.conformance.whole_programs.generator.palette import Palette
from halfulp.conformance.whole_programs.rewrite import definition_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import width_of

F64 = ty.F("f64")

RECENT = 8
"""Number of last values of a type among which unused ones are looked for."""


class Unfit(Exception):
    """A row has no use for the values in reach."""


@dataclass(frozen=True)
class Row:
    """A way to continue a program. ``family``: programs have some families only. ``weight``: how often it is chosen."""

    name: str
    family: str
    weight: float
    make: Callable[[Grower], None]


@dataclass
class Plan:
    """The choices and counts that all parts of a program share.

    ``rows``, ``weights``: the ways to continue. ``left``: how many more ops the program gets. ``used``: the values that
    are operands. ``below``: numbers that loop counters do not reach. ``helpers``: functions that the program calls.
    """

    rng: random.Random
    palette: Palette
    rows: Sequence[Row]
    weights: Sequence[float]
    left: int
    used: set[SSAValue] = field(default_factory=set)
    below: dict[SSAValue, int] = field(default_factory=dict)
    helpers: list[Operation] = field(default_factory=list)


class Grower:
    """A block that grows.

    ``visible``: values by type. ``memory``: memrefs in reach. ``region``: the region that may get more blocks; None
    where it must have one block. ``loops``: the loops around the block.
    """

    def __init__(self, plan: Plan, block: Block, region: Region | None, around: Grower | None = None) -> None:
        self.plan = plan
        self.rng = plan.rng
        self.block = block
        self.region = region
        self.visible: dict[ty.Type, list[SSAValue]] = {}
        self.memory: list[SSAValue] = []
        self.loops = self.depth = 0
        if around is not None:
            self.visible = {type_: list(values) for type_, values in around.visible.items()}
            self.memory = list(around.memory)
            self.loops, self.depth = around.loops, around.depth + 1
        for argument in block.arguments:
            self.show(argument)

    # --- growing ------------------------------------------------------------------------------------------------------

    def grow(self, count: int) -> None:
        """Continue ``count`` times, as long as ops are left."""
        tries = 4 * count
        while count > 0 and tries > 0 and self.plan.left > 0:
            tries -= 1
            (row,) = self.rng.choices(self.plan.rows, self.plan.weights)
            try:
                row.make(self)
            except Unfit:
                continue
            count -= 1

    def inside(self, block: Block, region: Region | None = None, loop: bool = False) -> Grower:
        """Return a grower for a block that sees the values of this one."""
        inner = Grower(self.plan, block, region, self)
        inner.loops += loop
        return inner

    def show(self, value: SSAValue) -> None:
        """Let later ops use a value."""
        if isinstance(value.type, ty.MemRefType):
            self.memory.append(value)
        else:
            self.visible.setdefault(value.type, []).append(value)

    def append(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[ty.Type] = (),
        properties: Mapping[str, at.Attribute] | None = None,
        regions: Sequence[Region] = (),
        successors: Sequence[tuple[Block, list[SSAValue]]] = (),
    ) -> Operation:
        """Append an op, and show its results."""
        op = Operation(
            name,
            definition_of(name),
            list(operands),
            results,
            dict(properties or {}),
            regions=regions,
            successors=successors,
        )
        self.block.append(op)
        self.plan.left -= 1
        self.plan.used.update(operands)
        for result in op.results:
            self.show(result)
        return op

    def result(self, name: str, operands: Sequence[SSAValue], type_: ty.Type, **properties: at.Attribute) -> SSAValue:
        """Append an op with one result, and return the result."""
        return self.append(name, operands, [type_], properties).results[0]

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, type_: ty.Type, constant: float = 0.15) -> SSAValue:
        """Return a value of a type: one in reach, more often one that nothing uses yet, or a constant."""
        known = self.visible.get(type_)
        if not known or self.rng.random() < constant:
            return self.constant(type_)
        unused = [value for value in known[-RECENT:] if value not in self.plan.used]
        chosen = self.rng.choice(unused if unused and self.rng.random() < 0.6 else known)
        self.plan.used.add(chosen)
        return chosen

    def known(self, type_: ty.Type) -> SSAValue:
        """Return a value in reach that is probably not a constant. Raises Unfit where there is none."""
        if type_ not in self.visible:
            raise Unfit
        return self.value(type_, constant=0.0)

    def constant(self, type_: ty.Type, codes: Sequence[int] | None = None) -> SSAValue:
        """Append a constant of these codes, or of any."""
        element = ty.element_type(type_)
        if isinstance(element, ty.UniformQuantizedType):
            stored = ty.with_element(type_, ty.IntegerType(element.storage_width))
            return self.result("quant.scast", [self.constant(stored, self._stored(type_, element))], type_)
        count = ty.element_count(type_) if isinstance(type_, ty.ShapedType) else None
        if codes is None:
            code = self._code(element)
            alike = count is None or self.rng.random() < 0.6
            codes = [code if alike else self._code(element) for _ in range(1 if count is None else count)]
        value: at.Attribute
        if isinstance(type_, ty.VectorType | ty.TensorType):
            splat = len(set(codes)) == 1
            shape = () if splat else tuple(size or 0 for size in type_.shape or ())
            value = at.DenseElementsAttr(
                type_, ints_to_codes(codes[:1] if splat else codes, width_of(element), shape), splat
            )
        elif isinstance(element, ty.FloatType):
            value = at.FloatAttr(codes[0], element)
        else:
            value = at.IntegerAttr(at.integer_of_code(codes[0], element), element)
        op = Operation("arith.constant", definition_of("arith.constant"), [], [type_], {"value": value})
        self.block.append(op)
        return op.results[0]

    def number(self, type_: ty.Type, value: int) -> SSAValue:
        """Append a constant integer, the same for all elements."""
        count = ty.element_count(type_) if isinstance(type_, ty.ShapedType) else 1
        mask = (1 << width_of(ty.element_type(type_))) - 1
        return self.constant(type_, [value & mask] * (count or 1))

    def _stored(self, type_: ty.Type, element: ty.UniformQuantizedType) -> list[int]:
        count = ty.element_count(type_) if isinstance(type_, ty.ShapedType) else 1
        mask = (1 << element.storage_width) - 1
        return [self.rng.randint(element.storage_min, element.storage_max) & mask for _ in range(count or 1)]

    def _code(self, element: ty.Type) -> int:
        if isinstance(element, ty.IntegerType | ty.IndexType):
            return integer_code(width_of(element), self.rng)
        if isinstance(element, ty.FloatType) and element.format.bits > F64.format.bits:
            # mlir-opt prints some numbers that f64 lacks in decimal, and reads a decimal as an f64.
            return scalar.convert(F64.format, element.format, any_code(F64, self.rng)).code
        return any_code(element, self.rng)

    def position(self, size: int) -> SSAValue:
        """Return an index below ``size``: a constant, a loop counter, or a remainder."""
        rng = self.rng
        counters = [value for value in self.visible.get(ty.INDEX, ()) if self.plan.below.get(value, size + 1) <= size]
        chance = rng.random()
        if counters and chance < 0.5:
            return rng.choice(counters)
        if chance < 0.7:
            return self.number(ty.INDEX, rng.randrange(size))
        return self.result("arith.remui", [self.index(), self.number(ty.INDEX, size)], ty.INDEX)

    def index(self) -> SSAValue:
        """Return an index: one in reach, or a cast of an integer in reach."""
        if ty.INDEX in self.visible and self.rng.random() < 0.7:
            return self.value(ty.INDEX)
        integers = [type_ for type_ in self.visible if isinstance(type_, ty.IntegerType)]
        if not integers:
            return self.value(ty.INDEX)
        cast = self.rng.choice(("arith.index_cast", "arith.index_castui"))
        return self.result(cast, [self.value(self.rng.choice(integers))], ty.INDEX)

    def some_types(self, least: int, most: int) -> list[ty.Type]:
        """Choose types for values that leave a block, among those in reach."""
        present = [type_ for type_ in self.visible if not isinstance(ty.element_type(type_), ty.QuantizedType)]
        return [self.rng.choice(present) for _ in range(self.rng.randint(least, most))] if present else []


def integer_code(width: int, rng: random.Random) -> int:
    """Return an integer at which ranges end: near a power of two, small, an end of the type, or any."""
    if not width:
        return 0
    mask = (1 << width) - 1
    chance = rng.random()
    if chance < 0.45:
        number = (1 << rng.randrange(width)) + rng.choice((-1, -1, 0, 0, 1))
    elif chance < 0.75:
        number = rng.randint(0, 10)
    elif chance < 0.9:
        number = rng.choice((0, mask, mask >> 1, (mask >> 1) + 1))
    else:
        number = rng.getrandbits(width)
    return (-number if rng.random() < 0.2 else number) & mask
