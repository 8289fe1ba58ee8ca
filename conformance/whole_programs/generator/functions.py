"""Random functions of arguments: program i of a seed is always the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from halfulp.conformance.whole_programs.generator import control, memory, straight
from halfulp.conformance.whole_programs.generator.grower import Grower, Plan, Row
from halfulp.conformance.whole_programs.generator.palette import Palette, random_arguments, random_palette
from halfulp.conformance.whole_programs.rewrite import definition_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue

NAME = "f"

MOST_RESULTS = 12
"""Most results of a function. All values that nothing uses come first."""

PRESENT = {"quant": 1.0, "affine": 0.25, "memory": 0.3, "scf": 0.5, "cf": 0.3, "calls": 0.25, "poison": 0.06}
"""How often a program has a family of rows; `OTHERS` for the families that are not named."""

OTHERS = 0.75


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
        """Return the words that make the program again."""
        return f"--seed={self.seed} --first={self.index}"


@cache
def all_rows() -> tuple[Row, ...]:
    """Return all ways to continue a program."""
    return (*straight.rows(), *memory.rows(), *control.rows())


def random_function(seed: int, index: int) -> RandomFunction:
    """Return program ``index`` of a seed."""
    rng = random.Random(f"function {seed} {index}")
    palette = random_palette(rng)
    rows, weights = _chosen_rows(rng, palette)
    plan = Plan(rng, palette, rows, weights, rng.choice((5, 8, 12, 16, 24, 32)))
    block = Block()
    singly = any(row.family == "memory" for row in rows)
    for type_ in random_arguments(rng, palette, singly):
        block.add_argument(type_)
    region = Region([block])
    grower = Grower(plan, block, region)
    while plan.left > 0:
        before = plan.left
        grower.grow(plan.left)
        if plan.left == before:
            break
    return RandomFunction(seed, index, _module([*plan.helpers, _main(grower, region)]))


def _chosen_rows(rng: random.Random, palette: Palette) -> tuple[list[Row], list[float]]:
    """Choose some families of rows, and their weights: programs of few kinds of ops meet more of their combinations."""
    often = dict(PRESENT) if palette.quantized else PRESENT | {"quant": 0.0}
    families = {row.family: rng.random() < often.get(row.family, OTHERS) for row in all_rows()}
    chosen = [row for row in all_rows() if families[row.family]]
    factors = {row.family: rng.choice((0.4, 1.0, 1.0, 2.5)) for row in chosen}
    return chosen, [row.weight * factors[row.family] for row in chosen]


def _main(grower: Grower, region: Region) -> Operation:
    """End a function: it returns the values that nothing uses, some others, and what is in memory."""
    results = _results(grower)
    grower.append("func.return", results)
    inputs = tuple(argument.type for argument in region.blocks[0].arguments)
    signature = ty.FunctionType(inputs, tuple(value.type for value in results))
    properties = {"function_type": at.TypeAttr(signature), "sym_name": at.StringAttr(NAME)}
    return Operation("func.func", definition_of("func.func"), properties=properties, regions=[region])


def _results(grower: Grower) -> list[SSAValue]:
    used = set(grower.plan.used)
    for buffer in grower.memory:
        memory.load(grower, buffer)
    values = [value for values in grower.visible.values() for value in values]
    values.sort(key=lambda value: value in used)
    unused = sum(value not in used for value in values)
    extra = grower.rng.randint(0, 3)
    chosen = values[:unused][-MOST_RESULTS:] + grower.rng.sample(values[unused:], min(extra, len(values) - unused))
    return [_returnable(grower, value) for value in chosen]


def _returnable(grower: Grower, value: SSAValue) -> SSAValue:
    """Return the value; a quantised value as its storage integers."""
    stored = ty.element_type(value.type)
    if not isinstance(stored, ty.UniformQuantizedType):
        return value
    return grower.result("quant.scast", [value], ty.with_element(value.type, ty.IntegerType(stored.storage_width)))


def _module(functions: Sequence[Operation]) -> Module:
    top = Block()
    for op in functions:
        top.append(op)
    return Module(Operation("builtin.module", definition_of("builtin.module"), regions=[Region([top])]))


def random_functions(seed: int, count: int, first: int = 0) -> Iterator[RandomFunction]:
    """Yield programs ``first`` to ``first + count - 1`` of a seed."""
    return (random_function(seed, index) for index in range(first, first + count))
