"""Random bodies of structured ops, as text: a few ops on scalars, in every type that has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

FLOATS = ("f32", "f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i32", "i32", "i64", "i8", "i16")

COMBINERS: Mapping[str, Sequence[str]] = {
    "float": ("arith.addf", "arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf"),
    "integer": ("arith.addi", "arith.addi", "arith.muli", "arith.maxsi", "arith.minui", "arith.xori", "arith.ori"),
}
"""Ops that reductions combine with, by the kind of type."""

_BINARY: Mapping[str, Sequence[str]] = {
    "float": ("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf", "arith.divf"),
    "integer": (
        *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
        *("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
    ),
}
_UNARY: Mapping[str, Sequence[str]] = {"float": ("arith.negf", "math.absf"), "integer": ()}
_COMPARE: Mapping[str, tuple[str, Sequence[str]]] = {
    "float": ("arith.cmpf", ("olt", "oge", "ueq", "une", "ord")),
    "integer": ("arith.cmpi", ("slt", "uge", "eq", "ne", "ult")),
}
_LITERALS: Mapping[str, Sequence[str]] = {
    "float": ("0.0", "-0.0", "1.0", "-2.5", "0.125", "3.0"),
    "integer": ("0", "1", "-1", "3", "77"),
}


class Scalar(NamedTuple):
    """A value in a body."""

    name: str
    type: str


def kind(type_: str) -> str:
    """Return the kind of an element type: float or integer."""
    return "integer" if type_.startswith("i") else "float"


def width(type_: str) -> int:
    """Return the bits of an element type."""
    return {"bf16": 16, "f8E4M3FN": 8, "f8E5M2": 8}.get(type_) or int(type_[1:])


class Body:
    """The lines of a body that grows. ``fresh`` gives names that are not used yet."""

    def __init__(self, rng: random.Random, fresh: Callable[[], str], values: Sequence[Scalar]) -> None:
        self.rng = rng
        self.fresh = fresh
        self.lines: list[str] = []
        self.values = list(values)

    def add(self, text: str, type_: str) -> Scalar:
        """Append an op and return its result."""
        value = Scalar(self.fresh(), type_)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def index(self, axis: int) -> Scalar:
        """Append a `linalg.index`, as an integer."""
        place = Scalar(self.fresh(), "index")
        self.lines.append(f"{place.name} = linalg.index {axis} : index")
        return self.add(f"arith.index_cast {place.name} : index to i32", "i32")

    def cast(self, value: Scalar, type_: str) -> Scalar:
        """Append the conversion of a value to a type, by one op or two; no result is poison."""
        if value.type == type_:
            return value
        ways = {("float", "float"): self._resized_float, ("integer", "integer"): self._resized_integer}
        if (kind(value.type), kind(type_)) == ("float", "integer"):
            bits = self.add(
                f"arith.bitcast {value.name} : {value.type} to i{width(value.type)}", f"i{width(value.type)}"
            )
            return self.cast(bits, type_)
        if (kind(value.type), kind(type_)) == ("integer", "float"):
            op = self.rng.choice(("arith.sitofp", "arith.uitofp"))
            return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)
        return ways[kind(value.type), kind(type_)](value, type_)

    def _resized_float(self, value: Scalar, type_: str) -> Scalar:
        if width(value.type) == width(type_):
            value = self.add(f"arith.extf {value.name} : {value.type} to f64", "f64")
        op = "arith.extf" if width(value.type) < width(type_) else "arith.truncf"
        return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)

    def _resized_integer(self, value: Scalar, type_: str) -> Scalar:
        wider = self.rng.choice(("arith.extsi", "arith.extui"))
        op = wider if width(value.type) < width(type_) else "arith.trunci"
        return self.add(f"{op} {value.name} : {value.type} to {type_}", type_)

    def operand(self, type_: str) -> Scalar:
        """Return a value of a type: one that is there, a constant, or a conversion."""
        if self.rng.random() < 0.12:
            literal = self.rng.choice(_LITERALS[kind(type_)])
            return self.add(f"arith.constant {literal} : {type_}", type_)
        return self.cast(self.rng.choice(self.values[-4:]), type_)

    def grow(self, count: int) -> None:
        """Append about ``count`` ops."""
        for _ in range(count):
            type_ = self.rng.choice(self.values).type
            chance = self.rng.random()
            unary = _UNARY[kind(type_)]
            if chance < 0.15 and unary:
                self.add(f"{self.rng.choice(unary)} {self.operand(type_).name} : {type_}", type_)
            elif chance < 0.35:
                self._select(type_)
            else:
                left, right = self.operand(type_), self.operand(type_)
                op = self.rng.choice(_BINARY[kind(type_)])
                self.add(f"{op} {left.name}, {right.name} : {type_}", type_)

    def _select(self, type_: str) -> None:
        op, predicates = _COMPARE[kind(type_)]
        left, right = self.operand(type_), self.operand(type_)
        flag = Scalar(self.fresh(), "i1")
        self.lines.append(f"{flag.name} = {op} {self.rng.choice(predicates)}, {left.name}, {right.name} : {type_}")
        yes, no = self.operand(type_), self.operand(type_)
        self.add(f"arith.select {flag.name}, {yes.name}, {no.name} : {type_}", type_)
