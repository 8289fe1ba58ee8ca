"""Reduce a program while it stays interesting: fewer functions, results and ops, smaller shapes, simpler values.

The program is always one function of arguments. A part that is cut off is replaced by an argument that has the value of
the part in halfulp's run. At the end the arguments become constants, if the program stays interesting. Nothing is
random: the same program and the same answers give the same result, unless a time limit ends the reduction. `EDITS`
change programs with control flow and memory; each gives candidates to test.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.diff import Difference, Test, with_constant_arguments
from halfulp.conformance.whole_programs.op_search import State, rebuilt, state_of, verified, without_unneeded_functions
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints, ints_to_codes
from halfulp.interp.declare.declarations import Trait
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import (
    Block,
    BlockArgument,
    Module,
    Operation,
    OpResult,
    SSAValue,
    captured,
    result_types,
)
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

# --- simpler codes ----------------------------------------------------------------------------------------------------
#
# Simpler codes to try in place of an element's code.


def simpler_codes(type_: ty.Type, code: int) -> list[int]:
    """Return the simpler codes that may replace a code, the simplest first."""
    width = width_of(type_)
    mask = (1 << width) - 1
    if isinstance(type_, ty.FloatType):
        tried = _simpler_floats(type_.format, code)
    else:
        signed = code - (1 << width) if code >> (width - 1) else code
        tried = [0, 1, mask, 2, 3, 1 << (width - 1), (1 << (width - 1)) - 1, -signed & mask]
        tried += [signed // (1 << k) & mask for k in range(width - 1, 0, -1)]
        tried += [code & ~((1 << k) - 1) for k in range(width - 1, 0, -1)]
    key = _complexity(type_, code)
    found = dict.fromkeys(one & mask for one in tried)
    return sorted((one for one in found if _complexity(type_, one) < key), key=lambda one: _complexity(type_, one))


def _simpler_floats(fmt: FloatFormat, code: int) -> list[int]:
    sign = fmt.sign_mask or 0
    one = _code_of_one(fmt)
    tried = [0, one, one | sign, code & ~sign]
    tried += [special for special in (fmt.infinity_code, fmt.nan_code, fmt.max_code, 1) if special is not None]
    tried += [code & ~((1 << k) - 1) for k in range(fmt.mantissa_bits + fmt.exponent_bits, 0, -1)]
    return tried


def _code_of_one(fmt: FloatFormat) -> int:
    bit = fmt.explicit_integer_bit
    return fmt.bias << (fmt.mantissa_bits + bit) | bit << fmt.mantissa_bits


def _complexity(type_: ty.Type, code: int) -> tuple[int, int, int]:
    width = width_of(type_)
    if not code:
        return (0, 0, 0)
    if isinstance(type_, ty.FloatType):
        sign = type_.format.sign_mask or 0
        magnitude = code & ~sign
        plain = magnitude == _code_of_one(type_.format)
        return (1 if plain else 2, magnitude.bit_length() - (magnitude & -magnitude).bit_length(), bool(code & sign))
    signed = code - (1 << width) if code >> (width - 1) else code
    return (
        1,
        abs(signed).bit_length() - (abs(signed) & -abs(signed)).bit_length() // 2,
        2 * abs(signed) + (signed < 0),
    )


# --- edits ------------------------------------------------------------------------------------------------------------

SIDE_EFFECTS = frozenset({"memref.store", "vector.store", "vector.print", "memref.dealloc", "cf.assert", "func.call"})
"""Ops that have effects besides their results."""


class Draft:
    """A copy of a program that the reducer edits in place."""

    def __init__(self, program: ClosedProgram) -> None:
        self.module = rewrite.module_with(program.module.body, program.module)
        main = self.module.lookup(program.function)
        assert main is not None
        self.main = main
        self.name = program.function
        self.arguments = program.arguments
        self.ops = [op for op in main.walk() if op is not main]
        self._unused = _unused(main)  # a tool may crash on them

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Replace all uses of a value by another value."""
        rewrite.replace_uses(self.main, old, new)

    def finished(self) -> ClosedProgram | None:
        """Return the program without the ops, blocks and functions that are no longer used; None if it is not valid."""
        for op in self.main.walk():
            for region in op.regions:
                _tidy_blocks(region.blocks, self)
        while dropped := [op for op in _unused(self.main) if op not in self._unused]:
            for op in dropped:
                rewrite.drop(op)
        return verified(ClosedProgram(without_unneeded_functions(self.module, self.name), self.name, self.arguments))


def _tidy_blocks(blocks: list[Block], draft: Draft) -> None:
    """Remove blocks that nothing reaches, and append a block to the only block that branches to it."""
    while len(blocks) > 1:
        reached, waiting = {blocks[0]}, [blocks[0]]
        while waiting:
            for target, _ in _successors(waiting.pop()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        blocks[:] = [block for block in blocks if block in reached]
        into = {target: [] for target in blocks}  # type: dict[Block, list[Block]]
        for block in blocks:
            for target, _ in _successors(block):
                into[target].append(block)
        for block in blocks[1:]:
            (source, *more) = into[block]
            end = source.operations[-1]
            if not more and end.name == "cf.br" and source is not block:
                source.operations.pop()
                for argument, value in zip(block.arguments, end.successors[0][1], strict=True):
                    draft.replace(argument, value)
                for op in block.operations:
                    source.append(op)
                blocks.remove(block)
                break
        else:
            return


def _successors(block: Block) -> Sequence[tuple[Block, list[SSAValue]]]:
    return block.operations[-1].successors if block.operations else ()


def _unused(main: Operation) -> list[Operation]:
    """Return the ops that only compute results, if nothing uses these."""
    used = _used(main.walk())
    return [op for op in main.walk() if op is not main and _only_gives(op) and used.isdisjoint(op.results)]


def _used(ops: Iterable[Operation]) -> set[SSAValue]:
    found: set[SSAValue] = set()
    for op in ops:
        found.update(op.used_values)
    return found


def _only_gives(op: Operation) -> bool:
    """Tell whether an op may be removed if nothing uses its results. This holds for an endless loop too: a program with
    one has no results anyway.
    """
    if op.definition is None or Trait.TERMINATOR in op.definition.traits:
        return False
    return not any(inner.name in SIDE_EFFECTS or inner.definition is None for inner in op.walk())


# --- the changes ------------------------------------------------------------------------------------------------------


def fewer_results(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with one of its results, then with half of them."""
    count = len(result_types(program.operation))
    if count < 2:
        return
    halves = [range(count // 2), range(count // 2, count)]
    for kept in [*([number] for number in range(count)), *halves]:
        draft = Draft(program)
        for end in rewrite.returns(draft.main):
            end.operands = [end.operands[number] for number in kept]
        _set_signature(draft.main, [result_types(draft.main)[number] for number in kept])
        yield draft.finished()


def fewer_arguments(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program without the arguments that nothing uses."""
    draft = Draft(program)
    entry = draft.main.regions[0].blocks[0]
    used = _used(draft.ops)
    kept = [argument for argument in entry.arguments if argument in used]
    if len(kept) == len(entry.arguments):
        return
    if draft.arguments:
        draft.arguments = tuple(draft.arguments[argument.index] for argument in kept)
    entry.arguments = kept
    for number, argument in enumerate(kept):
        argument.index = number
    _set_signature(draft.main, result_types(draft.main))
    for name in ("arg_attrs", "res_attrs"):
        draft.main.properties.pop(name, None)
    yield draft.finished()


def fewer_branches(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a conditional branch replaced by a branch to one of its blocks."""
    for number, op in enumerate(Draft(program).ops):
        for way in range(len(op.successors) if len(op.successors) > 1 else 0):
            draft = Draft(program)
            branch = draft.ops[number]
            assert branch.parent is not None
            branch.parent.operations.pop()
            branch.parent.append(
                Operation("cf.br", rewrite.definition_of("cf.br"), successors=[branch.successors[way]])
            )
            yield draft.finished()


def without_regions(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program in which an op with regions, or a call, is replaced by the ops inside it."""
    for number, op in enumerate(Draft(program).ops):
        for way in range(len(op.regions)):
            yield _inlined(program, number, way)
        if op.name == "func.call":
            yield _inlined(program, number, -1)


_GIVEN: Mapping[str, Callable[[int], Sequence[int]]] = {
    "scf.for": lambda count: (0, *range(3, count)),
    "scf.while": range,
}
"""For ops with regions: given the number of operands, the indices of the operands that the arguments of the region get
in the first round.
"""


def _inlined(program: ClosedProgram, number: int, way: int) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    if way < 0:
        callee = op.properties["callee"]
        target = draft.module.lookup(callee) if isinstance(callee, at.SymbolRefAttr) else None
        if target is None or not target.regions[0].blocks:
            return None
        region = rewrite.copied(target, {}).regions[0]
        given: list[SSAValue] = list(op.operands)
    else:
        region = op.regions[way]
        places = _GIVEN[op.name](len(op.operands)) if op.name in _GIVEN else ()
        given = [op.operands[place] for place in places]
    if len(region.blocks) != 1 or op.parent is None:
        return None
    (block,) = region.blocks
    if len(block.arguments) != len(given) or any(
        argument.type != value.type for argument, value in zip(block.arguments, given, strict=True)
    ):
        return None
    end = block.operations[-1]
    place = op.parent.operations.index(op)
    inside = block.operations[:-1]
    op.parent.operations[place : place + 1] = inside
    for inner in inside:
        inner.parent = op.parent
    for argument, value in zip(block.arguments, given, strict=True):
        for inner in (*inside, end):
            for each in inner.walk():
                each.operands = [value if one is argument else one for one in each.operands]
    yielded = end.operands[1:] if end.name == "scf.condition" else end.operands
    if len(yielded) < len(op.results):
        return None
    for result, value in zip(op.results, yielded, strict=False):
        if result.type != value.type:
            return None
        draft.replace(result, value)
    return draft.finished()


def without_ops(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program without an op: each of its results is replaced by another value."""
    for number, op in reversed(list(enumerate(Draft(program).ops))):
        if op.definition is None or Trait.TERMINATOR in op.definition.traits or op.name == "arith.constant":
            continue
        if not op.results:
            draft = Draft(program)
            rewrite.drop(draft.ops[number])
            yield draft.finished()
            continue
        for choose in (_same_operand, _same_argument, _zero, _ones):
            yield _replaced(program, number, choose)


def _replaced(
    program: ClosedProgram, number: int, choose: Callable[[Draft, Operation, OpResult], SSAValue | None]
) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    used = _used(draft.ops)
    for result in op.results:
        if result in used:
            other = choose(draft, op, result)
            if other is None:
                return None
            draft.replace(result, other)
    if _only_gives(op):
        rewrite.drop(op)
    return draft.finished()


def _same_operand(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    return next((value for value in reversed(op.operands) if value.type == result.type), None)


def _same_argument(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    entry = draft.main.regions[0].blocks[0]
    return next((value for value in entry.arguments if value.type == result.type and value not in op.operands), None)


def _zero(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    return _before(op, _constant(result.type, 0))


def _ones(draft: Draft, op: Operation, result: OpResult) -> SSAValue | None:
    """Return a constant of all ones: -1, or true for i1; None for other types, which have only one constant to try."""
    if not isinstance(result.type, ty.IntegerType | ty.IndexType):
        return None
    return _before(op, _constant(result.type, (1 << width_of(result.type)) - 1))


def _before(op: Operation, made: Operation | None) -> SSAValue | None:
    if made is None or op.parent is None:
        return None
    return rewrite.put_before(op, made).results[0]


def shared_constants(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with one constant in place of equal constants of a block."""
    draft = Draft(program)
    known: dict[tuple[object, ...], SSAValue] = {}
    before = len(draft.ops)
    for op in draft.ops:
        if op.name == "arith.constant":
            first = known.setdefault((op.parent, op.properties["value"], op.results[0].type), op.results[0])
            if first is not op.results[0]:
                draft.replace(op.results[0], first)
    shared = draft.finished()
    if shared is not None and sum(1 for _ in shared.operation.walk()) <= before:
        yield shared


def without_block_arguments(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with an argument of a block or a loop replaced by the first value that is passed to it."""
    for number, op in enumerate(Draft(program).ops):
        for region in range(len(op.regions)):
            first = {"scf.for": 1, "scf.while": 0}.get(op.name)
            if first is None or region:
                continue
            skipped = 2 * first  # the bounds of a loop stand before the values that it carries
            for position in range(first, len(op.operands) - skipped):
                draft = Draft(program)
                twin = draft.ops[number]
                draft.replace(twin.regions[0].blocks[0].arguments[position], twin.operands[position + skipped])
                yield draft.finished()


def fewer_carried(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a loop or a conditional that yields one value less, one that nothing uses."""
    for number, op in enumerate(Draft(program).ops):
        if op.name not in ("scf.for", "scf.if", "scf.execute_region"):
            continue
        for position in range(len(op.results)):
            yield _without_carried(program, number, position)


def _without_carried(program: ClosedProgram, number: int, position: int) -> ClosedProgram | None:
    draft = Draft(program)
    op = draft.ops[number]
    blocks = list(op.blocks)
    ends = [block.operations[-1] for block in blocks if block.operations[-1].name == "scf.yield"]
    inner: BlockArgument | None = None
    if op.name == "scf.for":
        (block,) = blocks
        inner = block.arguments[position + 1]
    for other in draft.ops:
        if op.results[position] in other.operands or (
            inner is not None and inner in other.operands and other not in ends
        ):
            return None
    for end in ends:
        end.operands = [value for place, value in enumerate(end.operands) if place != position]
        if inner is not None and inner in end.operands:
            return None
    if inner is not None:
        blocks[0].arguments = [argument for argument in blocks[0].arguments if argument is not inner]
        for place, argument in enumerate(blocks[0].arguments):
            argument.index = place
        op.operands = [value for place, value in enumerate(op.operands) if place != position + 3]
    left = [result for place, result in enumerate(op.results) if place != position]
    for place, result in enumerate(left):
        result.index = place
    op.results = tuple(left)
    return draft.finished()


def simpler_constants(program: ClosedProgram) -> Iterator[ClosedProgram | None]:
    """Yield the program with a simpler constant."""
    for number, op in enumerate(Draft(program).ops):
        value = op.properties.get("value")
        if op.name != "arith.constant" or not isinstance(value, at.IntegerAttr | at.FloatAttr):
            continue
        for code in simpler_codes(value.type, value.code):
            draft = Draft(program)
            simpler = _constant(value.type, code)
            assert simpler is not None
            draft.ops[number].properties["value"] = simpler.properties["value"]
            yield draft.finished()


def _constant(type_: ty.Type, code: int) -> Operation | None:
    """Return a constant, the same for all elements; None if the type has none."""
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None or isinstance(element, ty.QuantizedType) or isinstance(type_, ty.MemRefType):
        return None
    if isinstance(type_, ty.VectorType | ty.TensorType) and (code or ty.is_dynamic(type_)):
        return None
    return rewrite.constant(type_, ints_to_codes([code], width, ()), splat=True)


def _set_signature(main: Operation, results: Sequence[ty.Type]) -> None:
    inputs = tuple(argument.type for argument in main.regions[0].blocks[0].arguments)
    main.properties["function_type"] = at.TypeAttr(ty.FunctionType(inputs, tuple(results)))


Edit = Callable[[ClosedProgram], Iterator[ClosedProgram | None]]

EDITS: tuple[Edit, ...] = (
    fewer_results,
    fewer_branches,
    without_regions,
    without_ops,
    without_block_arguments,
    fewer_carried,
    fewer_arguments,
    shared_constants,
)
"""The changes that make a program smaller, in the order in which they are tried."""


# --- the reducer ------------------------------------------------------------------------------------------------------

MAX_TESTS = 2000


@dataclass
class Reducer:
    """A reducer. It applies all kinds of changes until no change gives an interesting program, or ``max_tests`` were
    tested, or ``seconds`` are over.

    ``close``: the arguments belong to the program, and become simpler values and then constants. Otherwise the function
    is interesting for any arguments, and keeps them.
    """

    test: Test
    max_tests: int = MAX_TESTS
    profile: Profile = SPEC
    close: bool = True
    seconds: float = math.inf
    tests: int = 0
    _deadline: float = field(default=math.inf, init=False, repr=False)

    def reduce(self, program: ClosedProgram, difference: Difference | None = None) -> ClosedProgram:
        """Return the smallest interesting program found. ``difference``: how the program differs; with it, the op that
        differs is tried alone first.
        """
        self._deadline = time.monotonic() + self.seconds
        program = self._first(program, list(self._short_cuts(difference)))
        while True:
            before = program
            for change in (self._fewer_functions, self._fewer_results, self._fewer_ops, self._smaller_shapes):
                program = change(program)
            for edit in EDITS:
                program = self._edited(program, edit)
            program = self._edited(program, simpler_constants)
            program = self._simpler_properties(self._simpler_values(program) if self.close else program)
            if program is before:
                break
        return self._first(program, [with_constant_arguments(program)]) if self.close else program

    def _edited(self, program: ClosedProgram, edit: Edit) -> ClosedProgram:
        """Make one kind of change as long as the program stays interesting."""
        main = program.module.lookup(program.function)
        while main is not None and main.parent_op is program.module.operation:
            smaller = self._first(program, list(edit(program)))
            if smaller is program:
                break
            program = smaller
            main = program.module.lookup(program.function)
        return program

    def _first(self, program: ClosedProgram, candidates: Sequence[ClosedProgram | None]) -> ClosedProgram:
        """Return the first interesting candidate, or the program itself."""
        asked = [candidate for candidate in candidates if candidate is not None][: max(0, self.max_tests - self.tests)]
        if not asked or time.monotonic() >= self._deadline:
            return program
        index = self.test(asked)
        self.tests += len(asked) if index is None else index + 1
        return program if index is None else asked[index]

    def _short_cuts(self, difference: Difference | None) -> Iterator[ClosedProgram | None]:
        """Yield the differing op alone, on its operands: of the element that differs, or of all elements."""
        finding = None if difference is None else difference.finding
        if finding is None or any(isinstance(value.element_type, ty.QuantizedType) for value in finding.operands):
            return
        top = finding.op
        while top.parent_op is not None:
            top = top.parent_op
        assert difference is not None
        module = Module(top)
        module.resources = difference.program.module.resources
        alone = verified(ClosedProgram(rewrite.isolated(module, finding.op, "main"), "main", finding.operands))
        state = None if alone is None else state_of(alone, self.profile)
        if state is not None and _common_shape(state) is not None:
            yield from (_sliced(state, finding.mismatch.element, scalar) for scalar in (True, False))
        yield alone

    def _fewer_functions(self, program: ClosedProgram) -> ClosedProgram:
        main = program.module.lookup(program.function)
        if main is None or main.parent_op is not program.module.operation:
            return program
        module = without_unneeded_functions(program.module, program.function)
        if len(module.body) == len(program.module.body):
            return program
        return self._first(program, [verified(ClosedProgram(module, program.function, program.arguments))])

    def _fewer_results(self, program: ClosedProgram) -> ClosedProgram:
        state = state_of(program, self.profile)
        if state is None or len(state.returned) < 2:
            return program
        return self._first(program, [rebuilt(state, state.ops, [value]) for value in state.returned])

    def _fewer_ops(self, program: ClosedProgram) -> ClosedProgram:
        """Remove groups of ops, large ones first; then return intermediate values; then skip single ops."""
        size = None
        while True:
            state = state_of(program, self.profile)
            if state is None or not state.ops:
                return program
            count = len(state.ops)
            size = count if size is None else min(size, count)
            cut = [
                rebuilt(state, [*state.ops[:start], *state.ops[start + size :]], state.returned)
                for start in range(0, count, size)
            ]
            smaller = self._first(program, [one for one in cut if one is not None and _op_count(one) < count])
            if smaller is not program:
                program = smaller
            elif size > 1:
                size = (size + 1) // 2
            else:
                break
        return self._shortened(program)

    def _shortened(self, program: ClosedProgram) -> ClosedProgram:
        state = state_of(program, self.profile)
        if state is None:
            return program
        count = len(state.ops)
        ends = [rebuilt(state, state.ops, [result]) for op in state.ops for result in op.results]
        skipped = []
        for op in state.ops:
            for result in op.results:
                same = [value for value in captured(op) if value.type == result.type]
                skipped += [rebuilt(state, state.ops, state.returned, {result: value}) for value in same]
        return self._first(program, [one for one in ends + skipped if one is not None and _op_count(one) < count])

    def _smaller_shapes(self, program: ClosedProgram) -> ClosedProgram:
        """Reduce elementwise programs: to one scalar, to one element, to a part of each axis."""
        while True:
            state = state_of(program, self.profile)
            shape = None if state is None else _common_shape(state)
            if state is None or shape is None:
                return program
            candidates = []
            everywhere = list(product(*map(range, shape))) if prod(shape) <= 64 else [(0,) * len(shape)]
            for place in everywhere:
                candidates.append(_sliced(state, place, scalar=True))
            if prod(shape) > 1:
                candidates += [_sliced(state, place, scalar=False) for place in everywhere]
                candidates += [
                    _halved(state, axis, part) for axis in range(len(shape)) for part in (0, 1) if shape[axis] > 1
                ]
            if len(shape) > 1:
                candidates.append(_flattened(state, prod(shape)))
            smaller = self._first(program, candidates)
            if smaller is program:
                return program
            program = smaller

    def _simpler_values(self, program: ClosedProgram) -> ClosedProgram:
        for number in range(len(program.arguments)):
            program = self._simpler_argument(program, number)
        return program

    def _simpler_argument(self, program: ClosedProgram, number: int) -> ClosedProgram:
        value = program.arguments[number]
        width = element_width(value.element_type)
        if width is None or not width or value.poison is not None:
            return program
        codes = codes_to_ints(value.bits, width)
        if len(set(codes)) > 1:
            splats = [
                [code] * len(codes) for code in (*simpler_codes(value.element_type, codes[0]), *dict.fromkeys(codes))
            ]
            program = self._first(program, [_with_codes(program, number, width, splat) for splat in splats])
            codes = codes_to_ints(program.arguments[number].bits, width)
        together = len(set(codes)) == 1
        for place in range(1 if together else min(len(codes), 256)):
            while True:
                simpler = [
                    [code] * len(codes) if together else [*codes[:place], code, *codes[place + 1 :]]
                    for code in simpler_codes(value.element_type, codes[place])
                ]
                smaller = self._first(program, [_with_codes(program, number, width, one) for one in simpler])
                if smaller is program:
                    break
                program = smaller
                codes = codes_to_ints(program.arguments[number].bits, width)
        return program

    def _simpler_properties(self, program: ClosedProgram) -> ClosedProgram:
        """Remove flags and rounding modes, one op and property at a time."""
        for number, op in enumerate(program.operation.walk()):
            for name in [prop.name for prop in op.definition.properties] if op.definition else ():
                if op.name.startswith("arith.") and name in op.properties:
                    program = self._first(program, [_without(program, number, name)])
        return program


def _op_count(program: ClosedProgram) -> int:
    return len(program.operation.regions[0].blocks[0].operations) - 1


def _with_codes(program: ClosedProgram, number: int, width: int, codes: Sequence[int]) -> ClosedProgram:
    arguments = list(program.arguments)
    old = arguments[number]
    arguments[number] = Value(old.type, ints_to_codes(codes, width, old.shape))
    return ClosedProgram(program.module, program.function, tuple(arguments))


def _without(program: ClosedProgram, number: int, name: str) -> ClosedProgram | None:
    module = rewrite.module_with(program.module.body, program.module)
    main = module.lookup(program.function)
    assert main is not None
    op = list(main.walk())[number]
    assert op.definition is not None
    declared = op.definition.property_named(name)
    if declared is None or not (declared.optional or declared.default is not None):
        return None
    before = op.properties.pop(name, None)
    if (implied := declared.implied) is not None:
        op.properties[name] = implied
    same = op.properties.get(name) == before
    return None if same else verified(ClosedProgram(module, program.function, program.arguments))


def _common_shape(state: State) -> tuple[int, ...] | None:
    """Return the one shape of all tensors and vectors of an elementwise program; None if they have no common shape."""
    shapes = set()
    for op in state.ops:
        if rewrite.case_of(op) is None:
            return None
        for value in (*op.operands, *op.results):
            element = ty.element_type(value.type)
            axes = getattr(element, "axis", None), getattr(element, "block_sizes", None)
            if axes != (None, None):
                return None
            if isinstance(value.type, ty.ShapedType):
                shapes.add(ty.shape_of(value.type))
    shape = shapes.pop() if len(shapes) == 1 else None
    return None if shape is None or None in shape or not prod(s or 0 for s in shape) else tuple(s or 0 for s in shape)


def _reshaped(state: State, change: Callable[[Any], Any], shape: tuple[int, ...] | None) -> ClosedProgram | None:
    """Return the program with another shape. ``change``: changes an array of codes; ``shape``: the new shape, None for
    a scalar.
    """

    def retype(type_: ty.Type) -> ty.Type:
        if not isinstance(type_, ty.VectorType | ty.TensorType):
            return type_
        return type_.element if shape is None else replace(type_, shape=shape)

    def reshape(value: Value) -> Value:
        if not isinstance(value.type, ty.ShapedType):
            return value
        poison = None if value.poison is None else np.asarray(change(value.poison))
        return Value(retype(value.type), np.asarray(change(value.bits)), poison, None, value.origins)

    return rebuilt(state, state.ops, state.returned, reshape=reshape, retype=retype)


def _sliced(state: State, place: tuple[int, ...], scalar: bool) -> ClosedProgram | None:
    if scalar:
        return _reshaped(state, lambda codes: codes[place], None)
    part = tuple(slice(k, k + 1) for k in place)
    return _reshaped(state, lambda codes: codes[part], (1,) * len(place))


def _halved(state: State, axis: int, part: int) -> ClosedProgram | None:
    shape = list(_common_shape(state) or ())
    middle = (shape[axis] + 1) // 2
    half = slice(middle, None) if part else slice(None, middle)
    shape[axis] = shape[axis] - middle if part else middle
    return _reshaped(state, lambda codes: codes[(slice(None),) * axis + (half,)], tuple(shape))


def _flattened(state: State, size: int) -> ClosedProgram | None:
    rank = len(_common_shape(state) or ())
    return _reshaped(state, lambda codes: codes.reshape(size, *codes.shape[rank:]), (size,))
