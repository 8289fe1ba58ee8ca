"""The fusion of products into additions, which LLVM does after TTGIR, and of which the text says nothing.

Within a basic block, an addition or subtraction of floats one of whose operands is a product becomes a fused
multiply-add, also if the product has other uses. If both operands are products, that with fewer uses is taken. Ops that
only move elements between the two do not matter, since a thread sees no movement.

Sources: machine code of triton 3.9 for kernels with all forms of such sums; LLVM's `DAGCombiner.cpp` (`visitFADD`,
`visitFSUB`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.triton.layouts import layout_of
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.targets import Target, encoding_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue
from halfulp.interp.run.evaluators import OnValues, evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_MOVES = frozenset(f"tt.{name}" for name in ("splat", "unsplat", "broadcast", "expand_dims", "reshape", "trans")) | {
    "ttg.convert_layout"
}
_BRANCHING = {
    True: ("scf.", "cf.", "tt.atomic", "tt.call"),
    False: ("scf.", "cf.", "tt.atomic", "tt.call", "tt.load", "tt.store"),
}
"""The beginnings of the names of ops at which a basic block ends, for GPUs of NVIDIA and for others."""


class Product(NamedTuple):
    """A product that an addition takes. ``moves``: what moves its elements on the way, the first one first."""

    op: Operation
    moves: tuple[Operation, ...]

    @property
    def factors(self) -> tuple[SSAValue, SSAValue]:
        """The two factors, whose elements move likewise."""
        first, second = self.op.operands
        return first, second


class Fused(NamedTuple):
    """An addition or subtraction with a product. ``operand``: the number of the operand that is the product."""

    product: Product
    operand: int


class Contraction:
    """What LLVM fuses in one function for a target."""

    def __init__(self, function: Operation, target: Target) -> None:
        self._target = target
        self._users: dict[SSAValue, list[Operation]] = {}
        self._segments: dict[Operation, int] = {}
        for op in function.walk():
            for value in op.used_values:
                self._users.setdefault(value, []).append(op)
        segment = 0
        for op in function.walk():
            if op.name.startswith(_BRANCHING[target.is_cuda]):
                segment += 1
            self._segments[op] = segment

    # --- products ---

    def product(self, value: SSAValue, user: Operation) -> Product | None:
        """Return the product that a value is, as an op sees it in its basic block; None for any other value."""
        moves: list[Operation] = []
        while isinstance(value, OpResult):
            op = value.owner
            if op.parent is not user.parent or self._segments[op] != self._segments[user]:
                return None
            if op.name == "arith.mulf":
                element = str(ty.element_type(value.type))
                if element not in self._target.fused or self._leaves_loop(op):
                    return None
                return Product(op, tuple(moves[::-1]))
            if op.name not in _MOVES or not _in_registers(op):
                return None
            moves.append(op)
            value = op.operands[0]
        return None

    @staticmethod
    def _leaves_loop(op: Operation) -> bool:
        """Tell whether a product is the same in all iterations of its loop: LLVM computes it before the loop."""
        around, block = op.parent_op, op.parent
        if around is None or block is None or around.name not in ("scf.for", "scf.while"):
            return False
        outside = [value for value in op.operands if value not in block.arguments]
        return len(outside) == len(op.operands) and not any(
            isinstance(value, OpResult) and value.owner.parent is block for value in outside
        )

    def _uses(self, value: SSAValue) -> int:
        """Return the number of uses of an element in a thread."""
        count = 0
        for op in self._users.get(value, ()):
            if op.name in _MOVES:
                own, moved = (prod(sizes_of(each.type)) for each in (value, op.results[0]))
                count += max(moved // own, 1) * self._uses(op.results[0])
            else:
                count += 1
        return count

    def fused(self, op: Operation) -> Fused | None:
        """Return the product that an addition or subtraction takes; None if it takes none."""
        products = [self.product(value, op) for value in op.operands]
        found = [(number, product) for number, product in enumerate(products) if product is not None]
        if not found:
            return None
        if len(found) > 1:
            preferred = self._target.preferred if op.name == "arith.addf" else 0
            found.sort(key=lambda each: (self._uses(each[1].op.results[0]), each[0] != preferred))
        number, product = found[0]
        return Fused(product, number)

    def unsure(self, product: Product) -> bool:
        """Tell whether LLVM may have hidden a product in a vector: for AMD it joins two like products of one factor."""
        if self._target.is_cuda or product.op.parent is None:
            return False
        factors = set(product.factors)
        return any(
            op is not product.op
            and op.name == "arith.mulf"
            and op.results[0].type == product.op.results[0].type
            and factors & set(op.operands)
            for op in product.op.parent.operations
        )


def _in_registers(op: Operation) -> bool:
    """Tell whether an op moves no element to another thread."""
    if op.name == "tt.reshape":
        return "allow_reorder" not in op.properties
    if op.name != "ttg.convert_layout":
        return True
    layouts = []
    for value in (op.operands[0], op.results[0]):
        encoding = encoding_of(value.type)
        if encoding is None:
            return False
        try:
            layouts.append(layout_of(encoding, sizes_of(value.type)))
        except ValueError:
            return False
    return layouts[0].same_threads(layouts[1])


# --- evaluation -------------------------------------------------------------------------------------------------------

Moved = Callable[[Run, Value], Value]


def moved_by(product: Product, settings: Settings) -> Moved:
    """Return the function that moves the elements of a factor as those of the product are moved."""
    steps: list[Function] = [evaluator_of(op).build(op, settings) for op in product.moves]

    def move(run: Run, value: Value) -> Value:
        for step in steps:
            (value,) = step(run, (value,))
        return value

    return move


Fuse = Callable[[Run, Value, Value, Value], Value]


def fuse(op: Operation, type_: ty.Type, settings: Settings) -> Fuse:
    """Return the function of a fused multiply-add on values of a type, as a part of an op."""
    step = elementwise_step(op, "math.fma", (type_, type_, type_), type_, settings)

    def run_(run: Run, a: Value, b: Value, c: Value) -> Value:
        (found,) = step.run(run, (a, b, c))
        return found

    return run_


def negate(op: Operation, type_: ty.Type, settings: Settings) -> Callable[[Run, Value], Value]:
    """Return the function that changes the signs of values of a type, as a part of an op."""
    step = elementwise_step(op, "arith.negf", (type_,), type_, settings)

    def run_(run: Run, a: Value) -> Value:
        (found,) = step.run(run, (a,))
        return found

    return run_


def fused_evaluator(found: Fused, mark: Callable[[Value], Value]) -> OnValues:
    """Return the evaluator of an addition or subtraction that takes a product. ``mark``: is called for its result."""
    product, number = found

    def build(op: Operation, settings: Settings) -> Function:
        type_ = op.results[0].type
        move, multiply_add = moved_by(product, settings), fuse(op, type_, settings)
        minus = negate(op, type_, settings)
        of_factor, of_other = (op.name == "arith.subf" and number == place for place in (1, 0))

        def run_(run: Run, operands: Operands) -> tuple[Any, ...]:
            first, second, other = operands
            first = minus(run, move(run, first)) if of_factor else move(run, first)
            other = minus(run, other) if of_other else other
            return (mark(multiply_add(run, first, move(run, second), other)),)

        return run_

    def reads(op: Operation) -> Sequence[SSAValue]:
        return (*product.factors, op.operands[1 - number])

    return OnValues(build, reads=reads)
