"""The types of one random program: a few that meet often, instead of all that exist."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from halfulp.conformance.whole_programs.random_programs import QUANTIZED
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import as_type

INTEGERS = ("i8", "i16", "i32", "i64")
OTHER_INTEGERS = ("i2", "i3", "i4", "i5", "i7", "i12", "i24", "i33", "i48", "i80", "i128")
FLOATS = ("f16", "bf16", "f32", "f64")
OTHER_FLOATS = tuple(name for name in FORMATS if name not in FLOATS)
VECTORS = ((2,), (3,), (4,), (2, 2))
MEMREFS = ((2,), (4,), (2, 2))
TENSORS = ((1,), (2,), (3,), (2, 2))

EXHAUSTIVE_BITS = 16
"""Most bits of all arguments of a program that is meant to run on every input."""

FEW_BITS = 6
"""The same for programs with memory, which run on one input after the other."""


@dataclass(frozen=True)
class Palette:
    """The types of a program. ``elements``: of scalars; ``containers``: shaped types of them; ``quantized``: pairs of
    an expressed and a quantised type; ``flags``: how often an op has flags.
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
    """Choose the types of a function's arguments: often few enough bits to run it on every input.

    ``singly``: the program has memory, perhaps that of an argument, and runs on one input after the other.
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
