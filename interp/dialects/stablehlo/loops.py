"""Ops of StableHLO with bodies that are run as structured ops. A structured op consists of maps, iterators and a body;
`halfulp.interp.dialects.structured` runs it on whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.elements import rearranged
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.body import runs_on_arrays
from halfulp.interp.dialects.structured.evaluate import step_with_body
from halfulp.interp.dialects.structured.structure import Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Compiler, OnRawSlots
from halfulp.interp.run.frames import Run, Step
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile

# --- running ----------------------------------------------------------------------------------------------------------


class Loops(NamedTuple):
    """A structured op that replaces an op of StableHLO.

    ``prepare``: makes its operands, inputs first, from those of the op. ``finish``: makes a result of the op from one
    of its results. ``then``: an elementwise op that is applied to its result before ``finish``.
    """

    structure: Structure
    prepare: Callable[[Run, Sequence[Value]], list[Value]]
    finish: Callable[[Value], Value] = lambda value: value
    then: Structure | None = None


_MOST_CALLS = 200
"""A body calls at most so many functions, with the calls of these functions."""


def on_arrays(op: Operation, structure: Structure, compiler: Compiler) -> OnArrays:
    """Compile a structured op. If its body calls a function, the ops of the function become a part of the body.

    Raises Unsupported for a body with ops that do not work element by element.
    """
    structure = _without_calls(structure, compiler)
    plan = plan_of(structure)
    if plan is None or not runs_on_arrays(structure):
        raise Unsupported(
            f"halfulp does not evaluate '{op.name}' yet if its body has ops that do not work element by element",
            location=op.location, op=op.name,
        )  # fmt: skip
    return OnArrays(op, structure, plan, compiler)


def _without_calls(structure: Structure, compiler: Compiler) -> Structure:
    block = structure.block
    if all(op.name != "func.call" for op in block.operations):
        return structure
    whole = Block()
    append_copies(whole, block.operations, {}, compiler, [0])
    return structure._replace(block=whole, elements=tuple(structure.arguments))


def append_copies(
    block: Block, operations: Sequence[Operation], known: dict[SSAValue, SSAValue], compiler: Compiler, calls: list[int]
) -> None:
    """Append copies of ops to a block, with the bodies of functions in place of their calls. ``known``: for values of
    the ops, the values of the block. ``calls``: a list of one number, which counts the calls.
    """
    for op in operations:
        operands = [known.get(value, value) for value in op.operands]
        if op.name == "func.call":
            calls[0] += 1
            function = compiler.module.lookup(op.prop("callee", at.SymbolRefAttr))
            blocks = function.regions[0].blocks if function is not None and function.regions else []
            if len(blocks) != 1 or calls[0] > _MOST_CALLS:
                raise Unsupported(
                    f"the body calls a function that is not a list of ops, or more than {_MOST_CALLS} functions",
                    location=op.location, op=op.name,
                )  # fmt: skip
            inner: dict[SSAValue, SSAValue] = dict(zip(blocks[0].arguments, operands, strict=True))
            append_copies(block, blocks[0].operations[:-1], inner, compiler, calls)
            returned = [inner.get(value, value) for value in blocks[0].operations[-1].operands]
            known.update(zip(op.results, returned, strict=True))
            continue
        types = [result.type for result in op.results]
        made = Operation(op.name, op.definition, operands, types, op.properties, op.attributes)
        made.source, made.token = op.source, op.token
        block.append(made)
        known.update(zip(op.results, made.results, strict=True))


class CompiledLoops:
    """A compiled structured op that replaces an op of StableHLO, with the conversions of operands and results."""

    def __init__(self, op: Operation, loops: Loops, compiler: Compiler) -> None:
        self._loops = loops
        self._arrays = on_arrays(op, loops.structure, compiler)
        self._then = None if loops.then is None else on_arrays(op, loops.then, compiler)
        self.outside = [(slot, type_) for slot, _, type_ in self._arrays.body.outside]

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the results. Raises UndefinedBehavior and LimitExceeded."""
        produced = self._arrays.run(run, self._loops.prepare(run, operands), captured)
        if self._then is not None and self._loops.then is not None:
            made = self._loops.then.inits[0].type
            produced = [self._then.run(run, [value, zeros(shape_of_lane(value), made)], ())[0] for value in produced]
        return [self._loops.finish(value) for value in produced]


def with_body(build: Callable[[Operation, Compiler], Any], lanes: bool = True) -> OnRawSlots:
    """Return the evaluator of an op that has a body.

    ``build`` makes an object with a method ``run`` and a field ``outside``. ``run`` computes the results from the
    operands and from the values of ``outside``: the slots and types of what the body uses from around the op.
    ``lanes``: whether ``run`` accepts values over lanes.
    """

    def compile_(op: Operation, compiler: Compiler) -> Step:
        compiled = build(op, compiler)

        def alone(run: Run, given: Sequence[Value], captured: Sequence[Value]) -> Sequence[Value]:
            if any(map(over_lanes, (*given, *captured))):
                raise Unsupported(f"halfulp does not evaluate '{op.name}' in a batch yet")
            results: Sequence[Value] = compiled.run(run, given, captured)
            return results

        return step_with_body(op, compiler, compiled.run if lanes else alone, compiled.outside)

    return OnRawSlots(compile_)


def as_loops(build: Callable[[Operation, Profile], Loops]) -> OnRawSlots:
    """Return the evaluator of an op that is run as a structured op. ``build``: makes the structured op for
    a profile.
    """
    return with_body(lambda op, compiler: CompiledLoops(op, build(op, compiler.settings.profile), compiler))


# --- elements that change nothing -------------------------------------------------------------------------------------

_ADDS = frozenset(("stablehlo.add", "stablehlo.or", "stablehlo.xor"))
_IDEMPOTENT = frozenset(("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or"))


def only_op(block: Block) -> str | None:
    """If a body consists of one op on both arguments, return the name of the op, else None."""
    if len(block.operations) != 2 or len(block.arguments) != 2:
        return None
    inner, end = block.operations
    plain = list(inner.operands) == list(block.arguments) and list(end.operands) == list(inner.results)
    return inner.name if plain else None


def _neutral_code(block: Block, element: ty.Type) -> int | None:
    """Return the code of the element, or of its parts, that changes nothing in a body; None if there is none."""
    name = only_op(block)
    number = ty.number_type(element)
    if isinstance(number, ty.FloatType):
        fmt = number.format
        if name == "stablehlo.add":
            minus_zero = fmt.sign_mask or 0
            return 0 if fmt.is_nan(minus_zero) else minus_zero
        if name == "stablehlo.multiply" and number is element:
            return scalar.from_integer(fmt, 1).code
    elif isinstance(element, ty.IntegerType):
        return 0 if name in _ADDS else 1 if name == "stablehlo.multiply" else None
    return None


def has_neutral(block: Block) -> bool:
    """Tell whether `neutral` knows an element for a body."""
    return only_op(block) in _IDEMPOTENT or _neutral_code(block, ty.element_type(block.arguments[0].type)) is not None


def neutral(op: Operation, block: Block, initial: Value) -> Value:
    """Return a tensor without dimensions whose element changes nothing if a body combines it with a number.

    ``initial``: the initial value of the reduction. If combining it twice has the same effect as once, as in a maximum,
    it is returned. Raises Unsupported for a body for which no such element is known.
    """
    if only_op(block) in _IDEMPOTENT:
        return initial
    code = _neutral_code(block, ty.element_type(initial.type))
    if code is None:
        raise Unsupported(
            f"the profile leaves incomplete blocks out, which halfulp does not do in a product of "
            f"'{ty.element_type(initial.type)}'",
            location=op.location, op=op.name,
        )  # fmt: skip
    return Value(initial.type, np.full_like(initial.bits, code))


def body_of_function(function: Operation, compiler: Compiler) -> Block:
    """Return a body that consists of the ops of a function, and of the functions that it calls."""
    (block,) = function.regions[0].blocks
    made = Block()
    known: dict[SSAValue, SSAValue] = {argument: made.add_argument(argument.type) for argument in block.arguments}
    append_copies(made, block.operations[:-1], known, compiler, [0])
    returned = [known.get(value, value) for value in block.operations[-1].operands]
    made.append(Operation("stablehlo.return", default_registry().find("stablehlo.return"), returned))
    return made


def where_marked(block: Block, compiler: Compiler) -> Block:
    """Return a body with one more argument at the end, a truth value. If it is false, the body returns its first
    arguments unchanged; else it does what ``block`` does.
    """
    registry, made = default_registry(), Block()
    arguments: list[SSAValue] = [made.add_argument(argument.type) for argument in block.arguments]
    mark: SSAValue = made.add_argument(ty.TensorType((), ty.I1))
    known: dict[SSAValue, SSAValue] = dict(zip(block.arguments, arguments, strict=True))
    append_copies(made, block.operations[:-1], known, compiler, [0])
    found: list[SSAValue] = []
    for value, old in zip(block.operations[-1].operands, arguments, strict=False):
        operands = [mark, known.get(value, value), old]
        made.append(Operation("stablehlo.select", registry.find("stablehlo.select"), operands, [old.type]))
        found.append(made.operations[-1].results[0])
    made.append(Operation("stablehlo.return", registry.find("stablehlo.return"), found))
    return made


def spread(value: Value, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return an array of this shape whose elements are all the element of ``value``, a tensor without dimensions; in a
    batch, in each lane.
    """
    lead = value.shape[:1] if over_lanes(value) else ()

    def move(array: Any, trailing: tuple[int, ...]) -> Any:
        return np.broadcast_to(array.reshape((*lead, *(1,) * len(shape), *trailing)), lead + shape + trailing)

    return rearranged(value, type_, move)


def shape_of_lane(value: Value) -> tuple[int, ...]:
    """Return the shape of a value; in a batch, that of one lane."""
    return value.shape[1:] if over_lanes(value) else value.shape


def converted(op: Operation, value: Value, argument: ty.Type, run: Run) -> Value:
    """Return a value with its elements converted to those of ``argument``, an argument of a body, which may
    be wider.
    """
    element = ty.element_type(argument)
    if ty.element_type(value.type) == element:
        return value
    given, made = (_any_shape(each, shape_of_lane(value)) for each in (value.type, argument))
    return elementwise_step(op, "stablehlo.convert", [given], made, run.settings).run(run, (value,))[0]


def _any_shape(type_: ty.Type, shape: Sequence[int]) -> ty.Type:
    return ty.TensorType((None,) * len(shape), ty.element_type(type_))


def with_elements(values: Sequence[SSAValue], arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Return stand-ins for values, each with the element type of the argument of a body."""
    return [
        SSAValue(ty.with_element(value.type, ty.element_type(argument.type)))
        for value, argument in zip(values, arguments, strict=True)
    ]


def zeros(shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return an array of +0."""
    dtype, trailing = code_layout(ty.element_type(type_))
    return Value(type_, np.broadcast_to(np.zeros(trailing, dtype), shape + trailing))
