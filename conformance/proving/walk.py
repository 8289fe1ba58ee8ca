"""Symbolic execution of a function: terms take the place of values, and all paths are followed at the same time, each
with its condition.

The first part has the ops on whole values, the second control flow and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import MappingProxyType

from halfulp.conformance.proving import solving
from halfulp.conformance.proving.arithmetic_terms import FLOAT_OPS, INTEGER_OPS
from halfulp.conformance.proving.solving import (
    Condition,
    Deadline,
    Elements,
    Instance,
    Loose,
    NotProvable,
    Scalar,
    number,
    z3,
)
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue, result_types
from halfulp.interp.ir.types import runtime_shape
from halfulp.interp.run.settings import Settings

# --- values -----------------------------------------------------------------------------------------------------------
#
# The ops that make, choose and take apart values: constants, poison, select, and those of vectors and tensors.

MAX_ELEMENTS = 64
"""Most elements of one value."""

DYNAMIC = -(1 << 63)
"""The mark in ``static_position`` for an index that an operand gives."""


def shape(type_: ty.Type, settings: Settings) -> tuple[int, ...]:
    """Return the shape of a value; () for a scalar.

    Raises NotProvable for memory, and for a size that is not known or too large.
    """
    if isinstance(type_, ty.MemRefType):
        raise NotProvable("the proof does not cover memory")
    if not isinstance(type_, ty.VectorType | ty.TensorType):
        return ()
    scalable = isinstance(type_, ty.VectorType) and type_.scalable
    sizes = None if scalable and settings.vscale is None else runtime_shape(type_, settings.vscale)
    if sizes is None or None in sizes:
        raise NotProvable(f"the size of '{type_}' is not known")
    known = tuple(size for size in sizes if size is not None)
    if prod(known) > MAX_ELEMENTS:
        raise NotProvable(f"'{type_}' has more than {MAX_ELEMENTS} elements")
    return known


def _operand_shape(instance: Instance, number: int) -> tuple[int, ...]:
    return shape(instance.op.operands[number].type, instance.settings)


def _result_shape(instance: Instance) -> tuple[int, ...]:
    return shape(instance.op.results[0].type, instance.settings)


@dataclass(frozen=True, slots=True)
class ResultTerms:
    """The result of an op on whole values. ``undefined``: the condition of undefined behaviour."""

    elements: Elements
    undefined: Condition = False


Maker = Callable[[Instance, tuple[Elements, ...]], ResultTerms]


def _constant(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    attribute, type_ = instance.op.properties["value"], instance.op.results[0].type
    bits, count = solving.bits_of_term(type_, instance.settings), prod(_result_shape(instance))
    if isinstance(attribute, at.IntegerAttr | at.FloatAttr):
        codes = [attribute.code]
    elif isinstance(attribute, at.DenseElementsAttr):
        stored = ty.width_of(ty.element_type(type_))
        codes = codes_to_ints(attribute.codes, stored) if count else []
    else:
        raise NotProvable("the proof does not cover constants other than numbers")
    if bits < ty.width_of(ty.element_type(type_)):
        half = 1 << (bits - 1)
        if any(not -half <= at.integer_of_code(code, ty.element_type(type_)) < half for code in codes):
            raise NotProvable(f"a constant does not fit an index of {bits} bits")
    elements = tuple(Scalar(number(code, bits)) for code in codes)
    return ResultTerms(elements * count if len(elements) == 1 else elements)  # a splat repeats its one element


def _poison(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    poison = Scalar(number(0, solving.bits_of_term(instance.op.results[0].type, instance.settings)), True)
    return ResultTerms((poison,) * prod(_result_shape(instance)))


def _select(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    conditions, yes, no = operands
    if len(conditions) != len(yes):
        conditions *= len(yes)  # an i1 chooses between whole values
    return ResultTerms(tuple(_selected(c, a, b) for c, a, b in zip(conditions, yes, no, strict=True)))


def _selected(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    chosen = solving.is_true(condition.bits)
    found = solving.merged(chosen, yes, no)
    loose = Loose(found.loose.nan, found.loose.sign, solving.some(found.loose.value, condition.loose.any))
    return Scalar(found.bits, solving.some(condition.poison, solving.either(chosen, yes.poison, no.poison)), loose)


@dataclass(frozen=True, slots=True)
class _Position:
    """A position among the leading dimensions of a value: an integer or an index for each dimension."""

    indices: Sequence[int | Scalar]
    sizes: tuple[int, ...]

    @property
    def places(self) -> list[tuple[int, Condition]]:
        """The numbers of all positions, in row-major order, each with the condition that the position is this one."""
        found = []
        for at_, place in enumerate(product(*map(range, self.sizes))):
            same = [
                index == k if isinstance(index, int) else index.bits == number(k, index.width)
                for index, k in zip(self.indices, place, strict=True)
            ]
            found.append((at_, solving.all_of(*same)))
        return found

    @property
    def outside(self) -> Condition:
        """The condition that the position is outside the value, or poison."""
        return solving.some(
            *(
                not 0 <= index < size
                if isinstance(index, int)
                else solving.some(index.poison, solving.negation(z3.ULT(index.bits, number(size, index.width))))
                for index, size in zip(self.indices, self.sizes, strict=True)
            )
        )

    @property
    def loose(self) -> Condition:
        """The condition that the language leaves the position unspecified."""
        return solving.some(*(index.loose.any for index in self.indices if isinstance(index, Scalar)))


def _loosened(scalar: Scalar, condition: Condition) -> Scalar:
    loose = scalar.loose
    return Scalar(scalar.bits, scalar.poison, Loose(loose.nan, loose.sign, solving.some(loose.value, condition)))


def _taken(whole: Elements, position: _Position) -> ResultTerms:
    """Return the part of a value at a position, as a copy."""
    if not prod(position.sizes):
        raise NotProvable("the proof does not cover values without elements")
    size = len(whole) // prod(position.sizes)
    part: Elements | None = None
    for place, here in position.places:
        own = whole[place * size : (place + 1) * size]
        part = own if part is None else tuple(solving.merged(here, a, b) for a, b in zip(own, part, strict=True))
    assert part is not None
    return ResultTerms(tuple(_loosened(element, position.loose) for element in part), position.outside)


def _put(part: Elements, whole: Elements, position: _Position) -> ResultTerms:
    """Return a value in which the part at a position is replaced."""
    size = len(part)
    elements = list(whole)
    for place, here in position.places:
        for k, element in enumerate(part, place * size):
            elements[k] = solving.merged(here, element, whole[k])
    return ResultTerms(tuple(_loosened(element, position.loose) for element in elements), position.outside)


def _vector_position(instance: Instance, type_: ty.Type, dynamic: Sequence[Elements]) -> _Position:
    written = instance.op.prop("static_position", at.DenseArrayAttr)
    given = iter(dynamic)
    indices = [next(given)[0] if index == DYNAMIC else index for index in written.values]
    if -1 in indices:
        raise NotProvable("the proof does not cover the poison index of vector.extract and vector.insert")
    return _Position(indices, shape(type_, instance.settings)[: len(indices)])


def _vector_extract(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    whole, *dynamic = operands
    return _taken(whole, _vector_position(instance, instance.op.operands[0].type, dynamic))


def _vector_insert(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    part, whole, *dynamic = operands
    made = _put(part, whole, _vector_position(instance, instance.op.operands[1].type, dynamic))
    if len(made.elements) != len(whole):
        raise NotProvable("the proof does not cover vector.insert of a part of another shape")
    return made


def _tensor_extract(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    whole, *indices = operands
    return _taken(whole, _Position([index[0] for index in indices], _operand_shape(instance, 0)))


def _tensor_insert(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    part, whole, *indices = operands
    return _put(part, whole, _Position([index[0] for index in indices], _operand_shape(instance, 1)))


def _broadcast(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    """Return the value with leading dimensions added, and dimensions of one element repeated."""
    (elements,) = operands
    own, result = (_operand_shape(instance, 0), _result_shape(instance))
    own = (1,) * (len(result) - len(own)) + own
    found = []
    for place in product(*map(range, result)):
        index = 0
        for k, size in zip(place, own, strict=True):
            index = index * size + (k if size > 1 else 0)
        found.append(elements[index])
    return ResultTerms(tuple(found))


STRUCTURE_OPS: Mapping[str, Maker] = MappingProxyType(
    {
        "arith.constant": _constant,
        "arith.select": _select,
        "ub.poison": _poison,
        "vector.broadcast": _broadcast,
        "vector.extract": _vector_extract,
        "vector.insert": _vector_insert,
        "tensor.extract": _tensor_extract,
        "tensor.insert": _tensor_insert,
        "tensor.splat": lambda instance, operands: ResultTerms(operands[0] * prod(_result_shape(instance))),
        "tensor.from_elements": lambda instance, operands: ResultTerms(tuple(operand[0] for operand in operands)),
    }
)
"""The ops on whole values that have terms; each has one result."""


# --- the walk ---------------------------------------------------------------------------------------------------------

MAX_DEPTH = 32
"""Most nested calls."""

MAX_TRIPS = 64
"""Most trips of a loop whose bounds are constants."""

MAX_OPS = 20_000
"""Most ops on all paths together, including those of called functions and of each trip of a loop."""

ROWS = {**INTEGER_OPS, **FLOAT_OPS}
"""The elementwise ops that have terms."""

Values = dict[SSAValue, Elements]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a function for arguments that are variables.

    ``undefined``: the condition of undefined behaviour, or of a failed cf.assert. ``unsettled``: the condition that a
    branch, or undefined behaviour, depends on something that the language leaves unspecified.
    """

    results: tuple[Elements, ...]
    undefined: Condition
    unsettled: Condition


def behaviour(
    module: Module, function: Operation, arguments: Sequence[Elements], settings: Settings, deadline: Deadline
) -> Behaviour:
    """Return the behaviour of a function as terms, for arguments that are terms. Raises NotProvable if a part of it has
    no terms.
    """
    walk = _Walk(module, settings, deadline)
    results, _ = walk.call(function, arguments, True, 0)
    return Behaviour(tuple(results), solving.some(*walk.undefined), solving.some(*walk.unsettled))


@dataclass
class _Walk:
    module: Module
    settings: Settings
    deadline: Deadline
    ops: int = 0
    undefined: list[Condition] = field(default_factory=list)
    unsettled: list[Condition] = field(default_factory=list)

    def call(
        self, function: Operation, arguments: Sequence[Elements], path: Condition, depth: int
    ) -> tuple[list[Elements], Condition]:
        """Return the results of a function, and the condition under which it returns."""
        if depth > MAX_DEPTH:
            raise NotProvable(f"calls are nested more than {MAX_DEPTH} deep")
        if function.name != "func.func" or not function.regions[0].blocks:
            raise NotProvable(f"@{function.symbol_name} has no body")
        types = [value.type for value in function.regions[0].blocks[0].arguments]
        for type_ in types:
            shape(type_, self.settings)
            solving.width(type_, self.settings)
        returned = result_types(function)
        return _Frame(self, {}, depth).region(function.regions[0], arguments, path, returned)

    def observe(self, condition: Condition, operands: Sequence[Scalar], path: Condition) -> None:
        """Record a condition of undefined behaviour that depends on ``operands``."""
        if condition is not False:
            self.undefined.append(solving.all_of(path, condition))
            self.unsettled += [solving.all_of(path, operand.loose.any) for operand in operands]

    def decide(self, condition: Scalar, path: Condition) -> Condition:
        """Return the condition under which an i1 that chooses a branch is true. If it is poison, that is undefined
        behaviour.
        """
        self.observe(solving.some(condition.poison), (), path)
        self.unsettled.append(solving.all_of(path, condition.loose.any))
        return solving.is_true(condition.bits)


@dataclass
class _Frame:
    """The values of one call."""

    walk: _Walk
    values: Values
    depth: int

    def region(
        self, region: Region, inputs: Sequence[Elements], path: Condition, types: Sequence[ty.Type]
    ) -> tuple[list[Elements], Condition]:
        """Return the values, of these types, that the terminators of a region pass on, and the condition that one of
        them is reached.

        Raises NotProvable for branches that form a loop.
        """
        arrivals: dict[Block, list[tuple[Condition, Sequence[Elements]]]] = {region.blocks[0]: [(path, inputs)]}
        leaving: list[tuple[Condition, list[Elements]]] = []
        for block in _in_order(region):
            here = [arrival for arrival in arrivals.get(block, ()) if arrival[0] is not False]
            if not here:
                continue
            values = _merged_arrivals(here)
            self.values.update(zip(block.arguments, values, strict=True))
            condition = solving.some(*(condition for condition, _ in here))
            for op in block.operations:
                if op.successors:
                    for successor, taken, passed in self._branches(op, condition):
                        arrivals.setdefault(successor, []).append((taken, passed))
                elif op is block.operations[-1] and op.name in _LEAVING:
                    leaving.append((condition, self._read(op.operands)))
                else:
                    condition = self._run(op, condition)
        if leaving:
            return _merged_arrivals(leaving), solving.some(*(condition for condition, _ in leaving))
        return [self._anything(type_) for type_ in types], False

    def _anything(self, type_: ty.Type) -> Elements:
        """Return elements that stand for a result of a path that never returns."""
        return (Scalar(number(0, solving.bits_of_term(type_, self.walk.settings))),) * prod(
            shape(type_, self.walk.settings)
        )

    def _read(self, values: Sequence[SSAValue]) -> list[Elements]:
        return [self.values[value] for value in values]

    def _run(self, op: Operation, path: Condition) -> Condition:
        """Run an op, and return the condition under which the ops after it run."""
        walk = self.walk
        walk.ops += max(1, *(prod(shape(result.type, walk.settings)) for result in op.results)) if op.results else 1
        if walk.ops > MAX_OPS or not walk.deadline.left:
            raise NotProvable("the function is too large")
        if op.name in _CONTROL:
            return _CONTROL[op.name](self, op, path)
        instance, operands = Instance(op, walk.settings), tuple(self._read(op.operands))
        if op.name in STRUCTURE_OPS:
            made = STRUCTURE_OPS[op.name](instance, operands)
            walk.observe(made.undefined, [scalar for operand in operands[1:] for scalar in operand], path)
            self.values[op.results[0]] = made.elements
            return path
        row = ROWS.get(op.name)
        if row is None:
            raise NotProvable(f"the proof does not cover {op.name}")
        for result in op.results:
            solving.width(result.type, walk.settings)
        columns: list[list[Scalar]] = [[] for _ in op.results]
        for element in range(prod(shape(op.results[0].type, walk.settings))):
            scalars = tuple(operand[element] for operand in operands)
            results, effect = solving.elementwise(row, instance, scalars)
            walk.observe(effect.undefined, scalars, path)
            for column, scalar in zip(columns, results, strict=True):
                column.append(scalar)
        self.values.update({result: tuple(column) for result, column in zip(op.results, columns, strict=True)})
        return path

    def _branches(self, op: Operation, path: Condition) -> list[tuple[Block, Condition, Sequence[Elements]]]:
        """Return each successor with the condition under which it is taken, and the values passed to it."""
        passed = [(block, self._read(operands)) for block, operands in op.successors]
        if op.name == "cf.br":
            conditions: list[Condition] = [True]
        elif op.name == "cf.cond_br":
            yes = self.walk.decide(self.values[op.operands[0]][0], path)
            conditions = [yes, solving.negation(yes)]
        elif op.name == "cf.switch":
            conditions = self._cases(op, path)
        else:
            raise NotProvable(f"the proof does not cover {op.name}")
        return [
            (block, solving.all_of(path, condition), values)
            for (block, values), condition in zip(passed, conditions, strict=True)
        ]

    def _cases(self, op: Operation, path: Condition) -> list[Condition]:
        """Return the condition of each successor of cf.switch, the default successor first."""
        flag = self.values[op.operands[0]][0]
        self.walk.observe(flag.poison, (), path)
        self.walk.unsettled.append(solving.all_of(path, flag.loose.any))
        given = op.properties.get("case_values")
        codes = codes_to_ints(given.array(), flag.width) if isinstance(given, at.DenseElementsAttr) else []
        cases: list[Condition] = []
        for code in codes:
            # The verifier does not refuse two cases of one value; the executor takes the last.
            cases.append(solving.all_of(flag.bits == number(code, flag.width), codes.count(code) == 1))
        if len(set(codes)) != len(codes):
            raise NotProvable("cf.switch has two cases of one value")
        return [solving.negation(solving.some(*cases)), *cases]

    # --- ops with regions, and calls: each returns the condition under which the ops after it run -------------------

    def _if(self, op: Operation, path: Condition) -> Condition:
        types = [result.type for result in op.results]
        yes = self.walk.decide(self.values[op.operands[0]][0], path)
        ends = []
        for region, condition in zip(op.regions, (yes, solving.negation(yes)), strict=True):
            taken = solving.all_of(path, condition)
            ends.append(self.region(region, (), taken, types) if region.blocks else ([], taken))
        (one, first), (other, second) = ends
        if op.results:
            self.values.update(zip(op.results, solving.merged_values(yes, one, other), strict=True))
        return solving.some(first, second)

    def _execute_region(self, op: Operation, path: Condition) -> Condition:
        results, path = self.region(op.regions[0], (), path, [result.type for result in op.results])
        self.values.update(zip(op.results, results, strict=True))
        return path

    def _for(self, op: Operation, path: Condition) -> Condition:
        """Unroll a loop whose bounds are constants."""
        bits = solving.width(op.operands[0].type, self.walk.settings)
        known = []
        for value in op.operands[:3]:
            bound = self.values[value][0]
            code = solving.constant(bound.bits)
            if code is None or bound.poison is not False:
                raise NotProvable("scf.for is a loop whose bounds are not constants")
            signed = "unsignedCmp" not in op.properties
            known.append(code - (1 << bits) if signed and code >> max(0, bits - 1) else code)
        start, end, step = known
        if step <= 0:
            raise NotProvable("scf.for has a step that is not positive")
        trips = range(start, end, step)
        if trips[MAX_TRIPS:]:
            raise NotProvable(f"scf.for makes more than {MAX_TRIPS} trips")
        types = [result.type for result in op.results]
        carried = self._read(op.operands[3:])
        for position in trips:
            carried, path = self.region(op.regions[0], [(Scalar(number(position, bits)),), *carried], path, types)
        self.values.update(zip(op.results, carried, strict=True))
        return path

    def _call(self, op: Operation, path: Condition) -> Condition:
        symbol = op.prop("callee", at.SymbolRefAttr)
        target = self.walk.module.lookup(symbol, op)
        if target is None:
            raise NotProvable(f"'{symbol}' is not a function")
        results, path = self.walk.call(target, self._read(op.operands), path, self.depth + 1)
        self.values.update(zip(op.results, results, strict=True))
        return path

    def _assert(self, op: Operation, path: Condition) -> Condition:
        holds = self.walk.decide(self.values[op.operands[0]][0], path)
        self.walk.observe(solving.negation(holds), (), path)
        return solving.all_of(path, holds)

    def _unreachable(self, op: Operation, path: Condition) -> Condition:
        self.walk.observe(True, (), path)
        return False


_LEAVING = frozenset({"func.return", "scf.yield"})

_CONTROL: Mapping[str, Callable[[_Frame, Operation, Condition], Condition]] = {
    "scf.if": _Frame._if,
    "scf.execute_region": _Frame._execute_region,
    "scf.for": _Frame._for,
    "func.call": _Frame._call,
    "cf.assert": _Frame._assert,
    "ub.unreachable": _Frame._unreachable,
}


def _in_order(region: Region) -> list[Block]:
    """Return the blocks that the first one reaches, each after all those that branch to it.

    Raises NotProvable if branches form a loop.
    """
    done: list[Block] = []
    open_, finished = set[Block](), set[Block]()
    stack: list[tuple[Block, bool]] = [(region.blocks[0], False)]
    while stack:
        block, visited = stack.pop()
        if visited:
            open_.discard(block)
            finished.add(block)
            done.append(block)
            continue
        if block in finished:
            continue
        open_.add(block)
        stack.append((block, True))
        for op in block.operations[-1:]:
            for successor, _ in op.successors:
                if successor in open_:
                    raise NotProvable("branches form a loop")
                stack.append((successor, False))
    return done[::-1]


def _merged_arrivals(arrivals: Sequence[tuple[Condition, Sequence[Elements]]]) -> list[Elements]:
    """Return the values that arrive with the one condition that is true."""
    (_, last), *others = reversed(arrivals)
    values = list(last)
    for condition, given in others:
        values = solving.merged_values(condition, given, values)
    return values
