"""Random programs of one linalg.generic, with arguments for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import halfulp as hu

FLOATS = ("f32", "f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f4E2M1FN")
INTEGERS = ("i32", "i32", "i8", "i64", "i1")
RUNNER_FLOATS = ("f32", "f64")
RUNNER_INTEGERS = ("i32", "i8", "i64")

_BINARY_FLOAT = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
_BINARY_INTEGER = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui", "shli", "divsi")
_TOTAL_INTEGER = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui")


@dataclass(frozen=True)
class Case:
    """A program with a function ``f``, and its arguments."""

    text: str
    arguments: tuple[Any, ...]


class Generic:
    """A linalg.generic that is being written. ``plain``: only what is defined for every operand, for other tools."""

    def __init__(self, random: Random, plain: bool) -> None:
        self.random = random
        self.plain = plain
        self.sizes = [random.choice((1, 2, 3, 4)) for _ in range(random.choice((1, 2, 2, 3)))]
        self.dims = [f"d{number}" for number in range(len(self.sizes))]
        self.lines: list[str] = []
        self.values: list[tuple[str, str]] = []
        floats, integers = (RUNNER_FLOATS, RUNNER_INTEGERS) if plain else (FLOATS, INTEGERS)
        self.types = [random.choice(floats), random.choice(floats), random.choice(integers)]
        self.count = 0

    def map(self, written: bool) -> tuple[str, list[int]]:
        """Return a map and the shape of its operand."""
        random, rank = self.random, len(self.sizes)
        chosen = random.sample(range(rank), random.randint(0, rank))
        results = [self.dims[d] for d in chosen]
        shape = [self.sizes[d] for d in chosen]
        odd = random.random()
        if odd < 0.25 and rank > 1 and not (written and odd < 0.2):
            one, other = random.sample(range(rank), 2)
            factor = random.choice((1, 2))
            results.append(f"{self.dims[one]} * {factor} + {self.dims[other]}")
            shape.append((self.sizes[one] - 1) * factor + self.sizes[other] + random.randint(0, 1))
        elif odd < 0.35 and not written:
            one = random.randrange(rank)
            kind = random.choice(("floordiv 2", "mod 2", "ceildiv 2"))
            results.append(f"{self.dims[one]} {kind}")
            shape.append(self.sizes[one] // 2 + 2)
        elif odd < 0.4 and not written:
            one = random.randrange(rank)
            results += [self.dims[one]] * 2
            shape += [self.sizes[one]] * 2
        return f"({', '.join(self.dims)}) -> ({', '.join(results)})", shape

    def fresh(self, type_: str, text: str) -> str:
        """Add a line for a new value of a type."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"    {name} = {text}")
        self.values.append((name, type_))
        return name

    def pick(self, type_: str) -> str:
        """Return a value of a type, made of another one if there is none."""
        found = [name for name, own in self.values if own == type_]
        if found:
            return self.random.choice(found)
        name, own = self.random.choice(self.values)
        return self.convert(name, own, type_)

    def convert(self, name: str, own: str, type_: str) -> str:
        """Convert a value."""
        if own[0] in "fb" and type_[0] in "fb":
            widths = [int("".join(filter(str.isdigit, t.split("E")[0].lstrip("bf")))) for t in (own, type_)]
            if widths[0] == widths[1]:
                name = self.fresh("f64", f"arith.extf {name} : {own} to f64")
                own, widths[0] = "f64", 64
            return self.fresh(type_, f"arith.{'extf' if widths[0] < widths[1] else 'truncf'} {name} : {own} to {type_}")
        if own[0] in "fb":
            if self.plain:
                return self.fresh(type_, f"arith.constant 3 : {type_}")
            return self.fresh(type_, f"arith.fptosi {name} : {own} to {type_}")
        if type_[0] in "fb":
            return self.fresh(type_, f"arith.sitofp {name} : {own} to {type_}")
        wider = int(type_[1:]) > int(own[1:])
        return self.fresh(type_, f"arith.{'extsi' if wider else 'trunci'} {name} : {own} to {type_}")

    def op(self) -> None:
        """Add an op."""
        random = self.random
        type_ = random.choice(self.types)
        kind = random.random()
        if kind < 0.1:
            index = self.fresh("index", f"linalg.index {random.randrange(len(self.sizes))} : index")
            self.values.pop()
            integer = self.types[2]
            self.fresh(integer, f"arith.index_cast {index} : index to {integer}")
            return
        if kind < 0.25:
            integer = self.types[2]
            condition = self.fresh("i1", f"arith.cmpi slt, {self.pick(integer)}, {self.pick(integer)} : {integer}")
            self.values.pop()
            self.fresh(type_, f"arith.select {condition}, {self.pick(type_)}, {self.pick(type_)} : {type_}")
            return
        integers = _TOTAL_INTEGER if self.plain else _BINARY_INTEGER
        name = random.choice(_BINARY_FLOAT if type_[0] in "fb" else integers)
        flags = ""
        if name == "addi" and not self.plain and random.random() < 0.3:
            flags = " overflow<nsw>"
        self.fresh(type_, f"arith.{name} {self.pick(type_)}, {self.pick(type_)}{flags} : {type_}")


def generic(seed: int, memrefs: bool = False, plain: bool = False) -> Case:
    """Return a random program: a function of the operands that returns what the op gives (or writes its memrefs)."""
    random = Random(seed)
    g = Generic(random, plain)
    inputs = [(*g.map(False), random.choice(g.types)) for _ in range(random.choice((1, 2, 2, 3)))]
    outs = [(*g.map(random.random() < 0.9), random.choice(g.types)) for _ in range(random.choice((1, 1, 2)))]
    identity = f"({', '.join(g.dims)}) -> ({', '.join(g.dims)})"
    inputs.append((identity, g.sizes, random.choice(g.types)))
    operands = [*inputs, *outs]
    names = [f"%a{number}" for number in range(len(operands))]
    g.values = [(f"%b{number}", type_) for number, (_, _, type_) in enumerate(operands)]
    for _ in range(random.choice((0, 1, 2, 4))):
        g.op()
    yields = []
    for number, (_, _, type_) in enumerate(outs, len(inputs)):
        element = g.pick(type_)
        if random.random() < 0.6:
            # The accumulator with something.
            name = random.choice(
                ("addf", "addf", "maximumf", "mulf") if type_[0] in "fb" else ("addi", "maxsi", "xori")
            )
            pair = [f"%b{number}", element]
            if random.random() < 0.3:
                pair.reverse()
            element = g.fresh(type_, f"arith.{name} {', '.join(pair)} : {type_}")
        yields.append(element)
    container = "memref" if memrefs else "tensor"
    types = [f"{container}<{'x'.join([*map(str, shape), type_])}>" for _, shape, type_ in operands]
    results = types[len(inputs) :]
    arrow = "" if memrefs else f" -> ({', '.join(results)})"
    body = "\n".join(g.lines)
    maps = ", ".join(f"affine_map<{map_}>" for map_, _, _ in operands)
    iterators = ", ".join(['"parallel"'] * len(g.dims))
    n = len(inputs)
    text = f"""
func.func @f({", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))}){arrow} {{
  {"" if memrefs else f"%r:{len(outs)} = "}linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
    ins({", ".join(names[:n])} : {", ".join(types[:n])}) outs({", ".join(names[n:])} : {", ".join(results)}) {{
  ^bb0({", ".join(f"%b{number}: {type_}" for number, (_, _, type_) in enumerate(operands))}):
{body}
    linalg.yield {", ".join(yields)} : {", ".join(type_ for _, _, type_ in outs)}
  }}{arrow}
  return {"" if memrefs else ", ".join(f"%r#{k}" for k in range(len(outs))) + " : " + ", ".join(results)}
}}
"""
    rng = np.random.default_rng(seed)
    return Case(text, tuple(argument(rng, shape, type_, plain) for _, shape, type_ in operands))


def argument(rng: np.random.Generator, shape: Sequence[int], type_: str, plain: bool) -> hu.Value:
    """Return random elements: small numbers, with special ones among them."""
    if type_[0] == "i":
        width = int(type_[1:])
        codes = rng.integers(0, 1 << min(width, 5), size=shape, dtype=np.uint64)
        codes = np.where(rng.random(shape) < 0.3, np.uint64((1 << width) - 1) - codes, codes) & np.uint64(
            (1 << width) - 1
        )
        return hu.Value.from_bits(codes, type_)
    numbers = rng.choice([0.0, -0.0, 1.0, -1.0, 1.5, 3.0, 0.1, 2.0**20, -6.0], size=shape)
    numbers = np.where(rng.random(shape) < 0.5, rng.standard_normal(shape), numbers)
    if not plain and rng.random() < 0.4 and type_ not in ("f4E2M1FN",):
        numbers = np.where(rng.random(shape) < 0.1, np.nan, numbers)
    return hu.convert(numbers, type_)
