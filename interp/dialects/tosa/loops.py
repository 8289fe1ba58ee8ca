"""Ops of tosa that run as structured ops: maps, iterators and a body of kernels, on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.structure import PARALLEL, REDUCTION, Structure
from halfulp.interp.dialects.tosa.evaluating import Element, of_any_shape, part, spread_to, unsupported
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension
from halfulp.interp.ir.attributes import map_of
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Compiler, Elementwise, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import casts, floats, integer, tosa
from halfulp.semantics.kernel import KERNEL, Kernel
from halfulp.semantics.profile import Profile

_NEAREST = Rounding.TO_NEAREST_EVEN

# --- bodies -----------------------------------------------------------------------------------------------------------


class Body:
    """A body under construction. Its ops are not in the program: each applies a kernel."""

    def __init__(self, types: Sequence[ty.Type]) -> None:
        self.block = Block()
        self.arguments = [self.block.add_argument(type_) for type_ in types]

    def apply(self, kernel: Kernel, operands: Sequence[SSAValue], type_: ty.Type) -> SSAValue:
        """Append an op that applies a kernel, and return its result."""
        definition = d.OpDefinition("tosa.part", evaluate=Elementwise(lambda op, settings: kernel))
        made = Operation(definition.name, definition, list(operands), [type_])
        self.block.append(made)
        return made.results[0]

    def ends_with(self, value: SSAValue) -> Block:
        """Append the terminator, and return the block."""
        self.block.append(Operation("tosa.yield", default_registry().find("tosa.yield"), [value]))
        return self.block


class Space(NamedTuple):
    """The loops of a structured op, the parallel ones first."""

    parallel: int
    reductions: int

    @property
    def rank(self) -> int:
        """The number of loops."""
        return self.parallel + self.reductions

    @property
    def outer(self) -> list[AffineExpr]:
        """The parallel loops."""
        return [Dimension(index) for index in range(self.parallel)]

    @property
    def inner(self) -> list[AffineExpr]:
        """The loops that are reduced."""
        return [Dimension(index) for index in range(self.parallel, self.rank)]


class Loops(NamedTuple):
    """A structured op that replaces an op.

    ``space``: its loops. ``maps``: those of its inputs, then that of its result. ``inputs``: the types of the inputs.
    ``result``: that of the result. ``block``: the body. ``before``: makes the inputs and the initial result from the
    operands of the op. ``after``: makes the results of the op from the result of the loops.
    """

    space: Space
    maps: Sequence[Sequence[AffineExpr]]
    inputs: Sequence[ty.Type]
    result: ty.Type
    block: Block
    before: Callable[[Run, Operands], list[Value]]
    after: Callable[[Run, Operands, Value], Value]


def structured(build: Callable[[Operation, Settings], Loops]) -> OnValues:
    """Return the evaluator of an op that runs as a structured op."""

    def compiled(op: Operation, compiler: Compiler) -> Function:
        loops = build(op, compiler.settings)
        space = loops.space
        structure = Structure(
            tuple(map_of(space.rank, each) for each in loops.maps),
            (PARALLEL,) * space.parallel + (REDUCTION,) * space.reductions,
            [SSAValue(type_) for type_ in loops.inputs],
            [SSAValue(loops.result)],
            loops.block,
        )
        plan = plan_of(structure)
        assert plan is not None
        arrays = OnArrays(op, structure, plan, compiler)

        def run_op(run: Run, operands: Operands) -> tuple[Value, ...]:
            (found,) = arrays.run(run, loops.before(run, operands), ())
            return (loops.after(run, operands, found),)

        return run_op

    return OnValues(compiled, of_module=True)


# --- parts ------------------------------------------------------------------------------------------------------------


def filled(shape: Sequence[int], type_: ty.Type, code: int) -> Value:
    """Return an array whose elements all have one code."""
    element = ty.element_type(type_)
    dtype, trailing = code_layout(element)
    one = ints_to_codes([code], ty.width_of(element), ())
    return Value(type_, np.broadcast_to(np.asarray(one, dtype), tuple(shape) + trailing))


def sum_kernel(op: Operation, element: Element) -> Kernel:
    """Return the kernel of a sum in a type. Of two zeros, either one is right. Raises Unsupported."""
    if element.kind == "f":
        return floats.binary("add", element.format, _NEAREST, floats.NSZ, element.profile)
    if element.kind != "i":
        raise unsupported(op, element.type)
    return tosa.add(element.width)


def product_kernel(op: Operation, element: Element) -> Kernel:
    """Return the kernel of a product in a type; of integers the low bits. Raises Unsupported."""
    if element.kind == "f":
        return floats.binary("multiply", element.format, _NEAREST, floats.NSZ, element.profile)
    if element.kind != "i":
        raise unsupported(op, element.type)
    return integer.muli(element.width)


def neutral_of_sum(element: Element) -> int:
    """Return the code that a sum with any number does not change: -0 for floats."""
    return element.format.sign_mask or 0 if element.kind == "f" else 0


def code_of(element: Element, number: int) -> int:
    """Return the code of an integer in a type."""
    if element.kind == "f":
        return scalar.from_integer(element.format, number).code
    return number & (1 << element.width) - 1


KEPT = KERNEL
"""The kernel that keeps a number where a mark is 1, and takes another one where it is 0."""


def conversion(op: Operation, source: Element, target: Element) -> Kernel:
    """Return the kernel that converts elements to the type of a sum, less a zero point. Raises Unsupported."""
    if source.kind == target.kind == "f":
        return casts.convert(source.format, target.format, _NEAREST, 0, source.profile)
    if source.kind not in ("i", "u") or target.kind != "i":
        raise unsupported(op, source.type)
    readings = (source.reading, source.reading)
    return tosa.on_integers(readings, target.width, lambda value, zero: value - zero)


class Converter:
    """Converts an operand to the type of a sum, less its zero point."""

    def __init__(self, op: Operation, number: int, zero: int | None, target: ty.Type, settings: Settings) -> None:
        given = op.operands[number].type
        rank = len(ty.shape_of(given) or ())
        self._number, self._zero = number, zero
        self._given, self.type = of_any_shape(given, rank), of_any_shape(ty.TensorType((), target), rank)
        elements = [Element(ty.element_type(each), settings.profile) for each in (given, self.type)]
        kernel = conversion(op, *elements)
        self._floats = elements[0].kind == "f"
        operands = [self._given] if self._floats else [self._given] * 2
        self._step = (
            None
            if elements[0].type == elements[1].type and self._floats
            else part(op, kernel, operands, self.type, settings)
        )

    def __call__(self, run: Run, operands: Operands) -> Value:
        """Return the converted operand."""
        value = operands[self._number]
        if self._step is None:
            return value
        given = retyped(value, self._given)
        if self._floats:
            return self._step.run(run, (given,))[0]
        zero = (
            filled(value.shape, self._given, 0)
            if self._zero is None
            else spread_to(operands[self._zero], value.shape, self._given)
        )
        return self._step.run(run, (given, zero))[0]


def element(type_: ty.Type, profile: Profile) -> Element:
    """Return the elements of a tensor, with the profile."""
    return Element(ty.element_type(type_), profile)
