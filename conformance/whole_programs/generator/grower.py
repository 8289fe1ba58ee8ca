"""Grow a random function: its types, the ops on these types, the values that are visible to an op, and the ops that are
appended.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from halfulp.conformance.whole_programs.arguments import any_code
from halfulp.conformance.whole_programs.rewrite import constant, definition_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.values.coerce import as_type
from halfulp.interp.verifier import problem_of

# --- types ------------------------------------------------------------------------------------------------------------

INTEGERS = ("i8", "i16", "i32", "i64")
OTHER_INTEGERS = ("i2", "i3", "i4", "i5", "i7", "i12", "i24", "i33", "i48", "i80", "i128")
FLOATS = ("f16", "bf16", "f32", "f64")
OTHER_FLOATS = tuple(name for name in FORMATS if name not in FLOATS)
QUANTIZED = (
    ("f32", "!quant.uniform<i8:f32, 0.5:3>"),
    ("f32", "!quant.uniform<u8:f32, 0.1:128>"),
    ("f32", "!quant.uniform<i4:f32, 2.0:-1>"),
    ("f32", "!quant.uniform<i8<-127:127>:f32, 0.02>"),
    ("f16", "!quant.uniform<i8:f16, 0.25:7>"),
    ("f64", "!quant.uniform<i16:f64, 3.0e-04:-5>"),
)
"""Pairs of an expressed and a quantised type."""

VECTORS = ((2,), (3,), (4,), (2, 2))
MEMREFS = ((2,), (4,), (2, 2))
TENSORS = ((1,), (2,), (3,), (2, 2))

EXHAUSTIVE_BITS = 16
"""Most bits of all arguments of a program that is meant to run on every input."""

FEW_BITS = 6
"""Like `EXHAUSTIVE_BITS`, but for programs with memory, which run on one input after the other."""


@dataclass(frozen=True)
class Palette:
    """The types of a program. ``elements``: the types of scalars; ``containers``: shaped types of these; ``quantized``:
    pairs of an expressed and a quantised type; ``flags``: how often an op has flags.
    """

    elements: tuple[ty.Type, ...]
    containers: tuple[ty.Type, ...]
    quantized: tuple[tuple[ty.Type, ty.Type], ...]
    flags: float

    @property
    def integers(self) -> tuple[ty.Type, ...]:
        """Return the integer types, index included."""
        return tuple(type_ for type_ in self.elements if isinstance(type_, ty.IntegerType | ty.IndexType))

    @property
    def types(self) -> tuple[ty.Type, ...]:
        """Return the types that arguments and results may have."""
        return (*self.elements, *self.containers)


def random_palette(rng: random.Random) -> Palette:
    """Choose the types of a program."""
    elements = {ty.I1, ty.INDEX} if rng.random() < 0.6 else {ty.I1}
    elements |= _some(rng, INTEGERS, rng.randint(1, 3))
    if rng.random() < 0.15:
        elements |= _some(rng, OTHER_INTEGERS, rng.randint(1, 2))
    if rng.random() < 0.4:
        elements |= _some(rng, FLOATS, rng.randint(1, 2))
        if rng.random() < 0.3:
            elements |= _some(rng, OTHER_FLOATS, rng.randint(1, 2))
    quantized = []
    if rng.random() < 0.12:
        expressed, spelled = rng.choice(QUANTIZED)
        quantized.append((as_type(expressed), as_type(spelled)))
        elements |= {as_type(expressed), ty.IntegerType(width_of(as_type(spelled)))}
    ordered = sorted(elements, key=str)
    shaped = [type_ for type_ in ordered if not isinstance(type_, ty.IndexType)]
    containers: list[ty.Type] = []
    if rng.random() < 0.25:
        containers += [ty.VectorType(rng.choice(VECTORS), element) for element in shaped]
    if rng.random() < 0.2:
        containers += [ty.TensorType(rng.choice(TENSORS), element) for element in shaped]
    return Palette(tuple(ordered), tuple(containers), tuple(quantized), rng.choice((0.0, 0.0, 0.2, 0.5)))


def _some(rng: random.Random, spellings: Sequence[str], count: int) -> set[ty.Type]:
    return {as_type(spelling) for spelling in rng.sample(spellings, count)}


def random_arguments(rng: random.Random, palette: Palette, singly: bool = False) -> list[ty.Type]:
    """Choose the types of a function's arguments. Often they have so few bits together that the function runs on every
    input.

    ``singly``: the program has memory, perhaps in an argument, and runs on one input after the other.
    """
    memory: list[ty.Type] = []
    if singly and rng.random() < 0.4:
        memory.append(ty.MemRefType(rng.choice(MEMREFS), rng.choice(palette.elements)))
    return [*_values(rng, palette, singly), *memory]


def _values(rng: random.Random, palette: Palette, singly: bool) -> list[ty.Type]:
    types = list(palette.types)
    if rng.random() < 0.6:
        shaped = bool(palette.containers) and rng.random() < 0.3
        most = FEW_BITS if singly else rng.choice((8, 12, 12, EXHAUSTIVE_BITS))
        narrow = [type_ for type_ in (types if shaped else palette.elements) if bits(type_) <= most]
        small = [
            chosen
            for count in (1, 2, 3)
            for chosen in product(narrow, repeat=count)
            if sum(map(bits, chosen)) <= most and any(bits(type_) > 1 for type_ in chosen)
        ]
        if small:
            return list(rng.choice(small))
    return [rng.choice(types) for _ in range(rng.randint(1, 4))]


def bits(type_: ty.Type) -> int:
    """Return the bits of a value of that type."""
    return width_of(ty.element_type(type_)) * (ty.element_count(type_) or 1 if isinstance(type_, ty.ShapedType) else 1)


# --- ops that fit -----------------------------------------------------------------------------------------------------

Types = tuple[ty.Type, ...]

DIALECTS = ("arith", "quant")
"""The dialects whose elementwise ops programs have."""


@cache
def elementwise_ops() -> tuple[d.OpDefinition, ...]:
    """Return the ops of MLIR 22 that compute each element by itself, and that a row of names and types describes."""
    found = [op for name in DIALECTS for op in default_registry().dialects[name].ops.values()]
    return tuple(op for op in found if op.since is d.Schema.MLIR22 and is_elementwise(op))


def is_elementwise(op: d.OpDefinition) -> bool:
    """Tell whether an op computes each element by itself, and rows of names and types describe it."""
    slots = (*op.operands, *op.results)
    known = all(isinstance(prop.kind, EnumDefinition) or prop.optional for prop in op.properties)
    runs = isinstance(op.evaluate, Elementwise) or d.Trait.ELEMENTWISE in op.traits
    return runs and known and bool(op.operands) and all(slot.arity is d.Arity.ONE for slot in slots)


@cache
def cases(name: str, anchor: int, type_: ty.Type, elements: Types) -> tuple[tuple[Types, Types], ...]:
    """Return the types of operands and results that an op takes if operand ``anchor`` has a type.

    ``elements``: the element types of operands and results that do not follow from it.
    """
    op = definition_of(name)
    if not op.operands[anchor].constraint.accepts(type_):
        return ()
    types: dict[str, Any] = {op.operands[anchor].name: type_}
    for rule in op.type_rules:
        rule.solve(types, {})
    alike = [ty.with_element(type_, element) for element in elements if _holds(type_, element)]
    choices = []
    for slot in (*op.operands, *op.results):
        if slot.name in types:
            choices.append([types[slot.name]])
        else:
            free = alike if slot in op.results else list(dict.fromkeys([*alike, *elements]))
            choices.append([choice for choice in free if slot.constraint.accepts(choice)])
    count = len(op.operands)
    made = ((chosen[:count], chosen[count:]) for chosen in product(*choices))
    return tuple((operands, results) for operands, results in made if _fits(name, operands, results))


def _holds(container: ty.Type, element: ty.Type) -> bool:
    """Tell whether a container can have this element type: quantised types have no vectors."""
    return not (isinstance(container, ty.VectorType) and isinstance(element, ty.QuantizedType))


@cache
def _fits(name: str, operands: Types, results: Types) -> bool:
    op = definition_of(name)
    plain = {prop.name: least(prop) for prop in op.properties if not prop.optional}
    made = Operation(name, op, [SSAValue(type_) for type_ in operands], results, plain)
    return problem_of(made) is None


def least(prop: d.Property) -> at.Attribute:
    """Return the attribute of a required property: its default, or else its first case."""
    assert isinstance(prop.kind, EnumDefinition)
    return prop.implied or prop.kind.attribute(next(iter(prop.kind.cases.values())))


def random_properties(op: d.OpDefinition, rng: random.Random, often: float) -> dict[str, at.Attribute]:
    """Choose the properties of an op: always those without a default, and flags as ``often`` says."""
    found: dict[str, at.Attribute] = {}
    for prop in op.properties:
        if prop.since is not d.Schema.MLIR22:
            continue
        chosen = rng.random() < often
        if isinstance(prop.kind, EnumDefinition):
            required = not prop.optional and prop.default is None
            if chosen or required:
                found[prop.name] = prop.kind.attribute(_random_case(prop.kind, rng))
            elif (implied := prop.implied) is not None:
                found[prop.name] = implied
        elif chosen and prop.kind is d.UNIT_ATTR:
            found[prop.name] = at.UnitAttr()
    return found


def _random_case(enum: EnumDefinition, rng: random.Random) -> int:
    values = list(enum.cases.values())
    if not enum.flags:
        return rng.choice(values)
    chosen = 0
    for _ in range(rng.choice((1, 1, 2))):
        chosen |= rng.choice([value for value in values if value])
    return chosen


# --- growing ----------------------------------------------------------------------------------------------------------

F64 = ty.F("f64")

RECENT = 8
"""Number of last values of a type among which unused ones are looked for."""

NAME = "f"
"""The name of the public function of each program."""

MOST_BYTES = 1 << 22
"""The largest size of a value of such a program: what is compared element by element takes many times the memory."""


@dataclass(frozen=True)
class RandomFunction:
    """Program ``index`` of a seed: a module with the public function ``@f``."""

    seed: int
    index: int
    module: Module

    @property
    def main(self) -> Operation:
        """Return the function."""
        found = self.module.lookup(NAME)
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """Return the words from which the program can be made again."""
        return f"--seed={self.seed} --first={self.index}"


class Unfit(Exception):
    """The exception for a row that cannot use the visible values."""


@dataclass(frozen=True)
class Row:
    """A way to continue a program. ``family``: a program uses only some families. ``weight``: how often it is
    chosen.
    """

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

    ``visible``: values by type. ``memory``: memrefs in reach. ``region``: the region that may get more blocks; None if
    it must have one block. ``loops``: the loops around the block.
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
        """Return a grower for a block whose ops may use the values of this one.

        ``region``: the region of the block if it may get more blocks. ``loop``: whether the block is the body of a
        loop.
        """
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
        """Append an op, and let later ops use its results."""
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
        """Return a value of a type: a visible value, preferably one that no op uses yet, or a constant."""
        known = self.visible.get(type_)
        if not known or self.rng.random() < constant:
            return self.constant(type_)
        unused = [value for value in known[-RECENT:] if value not in self.plan.used]
        chosen = self.rng.choice(unused if unused and self.rng.random() < 0.6 else known)
        self.plan.used.add(chosen)
        return chosen

    def known(self, type_: ty.Type) -> SSAValue:
        """Return a visible value that is probably not a constant. Raises Unfit if there is none."""
        if type_ not in self.visible:
            raise Unfit
        return self.value(type_, constant=0.0)

    def constant(self, type_: ty.Type, codes: Sequence[int] | None = None) -> SSAValue:
        """Append a constant of these codes; without codes, of random ones."""
        element = ty.element_type(type_)
        if isinstance(element, ty.UniformQuantizedType):
            stored = ty.with_element(type_, ty.IntegerType(element.storage_width))
            return self.result("quant.scast", [self.constant(stored, self._stored(type_, element))], type_)
        count = ty.element_count(type_) if isinstance(type_, ty.ShapedType) else None
        if codes is None:
            code = self._code(element)
            alike = count is None or self.rng.random() < 0.6
            codes = [code if alike else self._code(element) for _ in range(1 if count is None else count)]
        splat = isinstance(type_, ty.ShapedType) and len(set(codes)) == 1
        shape = () if splat else ty.static_shape(type_)
        op = constant(type_, ints_to_codes(codes[:1] if splat else codes, width_of(element), shape), splat)
        self.block.append(op)
        return op.results[0]

    def number(self, type_: ty.Type, value: int) -> SSAValue:
        """Append a constant integer, the same for all elements."""
        mask = (1 << width_of(ty.element_type(type_))) - 1
        return self.constant(type_, [value & mask] * (ty.element_count(type_) or 1))

    def _stored(self, type_: ty.Type, element: ty.UniformQuantizedType) -> list[int]:
        mask, count = (1 << element.storage_width) - 1, ty.element_count(type_) or 1
        return [self.rng.randint(element.storage_min, element.storage_max) & mask for _ in range(count)]

    def _code(self, element: ty.Type) -> int:
        if isinstance(element, ty.IntegerType | ty.IndexType):
            return integer_code(width_of(element), self.rng)
        return float_code(element, self.rng) if isinstance(element, ty.FloatType) else any_code(element, self.rng)

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


def float_code(element: ty.FloatType, rng: random.Random) -> int:
    """Return a float whose text mlir-opt reads as the same float."""
    if element.format.bits > F64.format.bits:
        # mlir-opt prints some numbers that f64 lacks in decimal, and reads a decimal as an f64. Some codes of f80 are
        # no numbers, and it replaces them.
        return scalar.convert(F64.format, element.format, any_code(F64, rng)).code
    return any_code(element, rng)


def integer_code(width: int, rng: random.Random) -> int:
    """Return an integer, often one at which ranges end: a number near a power of two, a small one, or an end of the
    type.
    """
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
