"""Reduce a program while it stays interesting: fewer functions, results and ops, smaller shapes, simpler values.

The program is kept as one function of arguments; a part that is cut off becomes an argument with the value it had here.
At the end the arguments become constants, if the program stays interesting. Nothing is random: the same program and the
same answers give the same result, unless a time limit ends the reduction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.diff import Difference
from halfulp.conformance.whole_programs.edits import EDITS, Edit, simpler_codes, simpler_constants
from halfulp.conformance.whole_programs.interesting import Test, with_constant_arguments
from halfulp.conformance.whole_programs.op_search import State, rebuilt, state_of, verified, without_unneeded_functions
from halfulp.conformance.whole_programs.rewrite import (
    captured,
    case_of,
    isolated,
    module_with,
)
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

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
        """Return the smallest interesting program found. ``difference``: how the program differs, which allows a short
        cut.
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
        alone = verified(ClosedProgram(isolated(module, finding.op, "main"), "main", finding.operands))
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
        main = program.module.lookup(program.function)
        assert main is not None
        for number, op in enumerate(main.walk()):
            for name in [prop.name for prop in op.definition.properties] if op.definition else ():
                if op.name.startswith("arith.") and name in op.properties:
                    program = self._first(program, [_without(program, number, name)])
        return program


def _op_count(program: ClosedProgram) -> int:
    main = program.module.lookup(program.function)
    assert main is not None
    return len(main.regions[0].blocks[0].operations) - 1


def _with_codes(program: ClosedProgram, number: int, width: int, codes: Sequence[int]) -> ClosedProgram:
    arguments = list(program.arguments)
    old = arguments[number]
    arguments[number] = Value(old.type, ints_to_codes(codes, width, old.shape))
    return ClosedProgram(program.module, program.function, tuple(arguments))


def _without(program: ClosedProgram, number: int, name: str) -> ClosedProgram | None:
    module = module_with(program.module.body, program.module)
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
    """Return the one shape of all tensors and vectors of an elementwise program; None where there is no such shape."""
    shapes = set()
    for op in state.ops:
        if case_of(op) is None:
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
