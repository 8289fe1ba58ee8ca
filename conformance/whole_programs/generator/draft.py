"""A copy of a program that edits change in place, and what they need: visible values, constants, ops that fit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.generator.grower import (
    NAME,
    Unfit,
    cases,
    elementwise_ops,
    float_code,
    integer_code,
    is_elementwise,
)
from halfulp.conformance.whole_programs.rewrite import put_before
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import (
    Module,
    Operation,
    SSAValue,
)
from halfulp.interp.ir.types import element_width, width_of


class Draft:
    """A copy of a program that edits change in place."""

    def __init__(self, module: Module, rng: random.Random) -> None:
        self.rng = rng
        self.take(rewrite.module_with(module.body, module))

    def take(self, module: Module) -> None:
        """Go on with another module. ``main`` is its function."""
        self.module = module
        found = module.lookup(NAME)
        assert found is not None
        self.main = found

    def ops(self, fits: Callable[[Operation], object] = lambda op: True) -> list[Operation]:
        """Return the ops inside the function that fit, without those of bodies that no text shows."""
        return list(filter(fits, _inside(self.main, [])))

    def some(self, fits: Callable[[Operation], object]) -> Operation:
        """Choose an op that fits. Raises Unfit if there is none."""
        chosen: Operation = self.choice(self.ops(fits))
        return chosen

    def choice(self, things: Sequence[Any]) -> Any:
        """Choose one. Raises Unfit if there is none."""
        if not things:
            raise Unfit
        return self.rng.choice(things)

    def visible(self, op: Operation) -> list[SSAValue]:
        """Return values that an op may use: arguments of the blocks around it, and results of ops before it there."""
        found: list[SSAValue] = []
        at_: Operation | None = op
        while at_ is not None and at_.parent is not None and at_ is not self.main:
            block = at_.parent
            found += block.arguments
            found += [result for other in block.operations[: block.operations.index(at_)] for result in other.results]
            at_ = at_.parent_op
        return found

    def value(self, op: Operation, type_: ty.Type, other: SSAValue | None = None) -> SSAValue:
        """Return a value of a type for an op: a visible one, not ``other``, or a new constant. Raises Unfit."""
        known = [each for each in self.visible(op) if each.type == type_ and each is not other]
        if known and self.rng.random() < 0.8:
            chosen: SSAValue = self.rng.choice(known)
            return chosen
        made = rewrite.constant(type_, *random_codes(type_, self.rng))
        return put_before(op, made).results[0]

    def replace(self, old: SSAValue, new: SSAValue, but: Operation | None = None) -> None:
        """Replace all uses of a value, except those of one op."""
        rewrite.replace_uses(self.main, old, new, but)


def _inside(op: Operation, found: list[Operation]) -> list[Operation]:
    """Add the ops inside an op to ``found`` in the order of the text, and return it. Faster than `Operation.walk`."""
    if not _has_implied_body(op):
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    found.append(inner)
                    if inner.regions:
                        _inside(inner, found)
    return found


def _has_implied_body(op: Operation) -> bool:
    """Tell whether the body of an op follows from its name: an op that linalg names."""
    return op.name.startswith("linalg.") and op.name not in _WITH_BODIES


_WITH_BODIES = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})


def put_after(op: Operation, made: Operation) -> Operation:
    """Insert an op after another one, and return it."""
    assert op.parent is not None
    made.parent = op.parent
    op.parent.operations.insert(op.parent.operations.index(op) + 1, made)
    return made


def new_op(
    name: str, operands: Sequence[SSAValue], results: Sequence[ty.Type], **properties: at.Attribute
) -> Operation:
    """Return an op that stands nowhere yet, with the properties that its declaration implies."""
    definition = rewrite.definition_of(name)
    implied = {prop.name: prop.implied for prop in definition.properties if prop.implied is not None}
    return Operation(name, definition, list(operands), list(results), implied | properties)


def random_codes(type_: ty.Type, rng: random.Random) -> tuple[Any, bool]:
    """Return codes for a constant, and whether they are one code for all elements. Raises Unfit if the type has no
    constants.
    """
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None or not isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType):
        raise Unfit
    if isinstance(type_, ty.ShapedType):
        count = ty.element_count(type_)
        if isinstance(type_, ty.MemRefType) or count is None:
            raise Unfit
        if count <= 64 and rng.random() < 0.5:
            codes = [edge_code(element, rng) for _ in range(count)]
            return ints_to_codes(codes, width, tuple(size or 0 for size in ty.shape_of(type_) or ())), False
        return ints_to_codes([edge_code(element, rng)], width, ()), True
    return ints_to_codes([edge_code(element, rng)], width, ()), False


def edge_code(element: ty.Type, rng: random.Random) -> int:
    """Return a code of an element, mostly one at which ranges end. Of index, mostly a small number."""
    if isinstance(element, ty.IndexType):
        return rng.choice((0, 1, 2, 3, 4, 5, 7, 8)) if rng.random() < 0.9 else integer_code(64, rng)
    if isinstance(element, ty.FloatType):
        return float_code(element, rng)
    return integer_code(width_of(element), rng)


EXACT = (
    *("absf", "ceil", "clampf", "copysign", "floor", "isfinite", "isinf", "isnan", "isnormal", "round"),
    *("roundeven", "sqrt", "trunc", "absi", "ctlz", "ctpop", "cttz", "ipowi"),
)
"""The ops of the dialect math that have one right result for all numbers, and for which passes have it too: not fma,
which math-expand-ops rounds twice.
"""


@cache
def spliced_ops() -> Sequence[d.OpDefinition]:
    """Return the elementwise ops that may come into a program."""
    index = filter(is_elementwise, default_registry().dialects["index"].ops.values())
    return (*elementwise_ops(), *(rewrite.definition_of(f"math.{name}") for name in EXACT), *index)


@cache
def fitting_ops(types: tuple[ty.Type, ...], result: ty.Type) -> tuple[tuple[str, int, tuple[ty.Type, ...]], ...]:
    """Return the elementwise ops that give a type and take one of some types: name, operand, types of operands."""
    found = []
    for op in spliced_ops():
        for anchor in range(len(op.operands)):
            for type_ in types:
                made = cases(op.name, anchor, type_, (ty.element_type(result), ty.I1))
                found += [(op.name, anchor, operands) for operands, results in made if results == (result,)]
    return tuple(dict.fromkeys(found))


def numeric_operands(op: Operation) -> list[int]:
    """Return the numbers of the operands that are numbers, or consist of them."""
    return [
        number for number, value in enumerate(op.operands) if element_width(ty.element_type(value.type)) is not None
    ]


def values_of(op: Operation) -> list[SSAValue]:
    """Return the values that an op defines: its results, and the arguments of its blocks."""
    return [*op.results, *(argument for block in op.blocks for argument in block.arguments)]
