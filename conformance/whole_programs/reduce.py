"""Shrinks a program while it stays interesting: fewer functions, results and ops, smaller shapes, simpler values.

The program is kept as one function of arguments; whatever is cut off becomes an argument with the value it had here.
At the end the arguments become constants, where the program stays interesting with them. Nothing is random: the same
program and the same answers give the same result.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.comparing.compare import Mismatch
from halfulp.conformance.oracles.oracle import Answer, OracleError, Program, ProgramOracle, Reply, Status
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.conformance.whole_programs.diff import (
    Difference,
    NoMeaning,
    Observed,
    Search,
    Wrong,
    ask,
    code_text,
    differences,
    given_text,
    mismatches_of,
    observed,
    run_here,
)
from halfulp.conformance.whole_programs.rewrite import (
    callees,
    captured,
    copied,
    definition_of,
    function,
    isolated,
    module_with,
    task_of,
)
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, UndefinedBehavior
from halfulp.interp.ir.operations import Block, Module, Operation, SSAValue
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value, element_width
from halfulp.interp.verifier import verify
from halfulp.semantics.profile import SPEC, Profile

MAX_TESTS = 2000
SCRIPT_SECONDS = 60.0
SCRIPT_BYTES = 1 << 26
"""The most that a script may take and print for one program."""

Test = Callable[[Sequence[Program]], int | None]
"""Tells which of several programs is the first interesting one, if one is."""


# --- what is interesting ----------------------------------------------------------------------------------------------


class SameDifference:
    """Programs that differ by an oracle in the same op on the same types, for the same known reason or none."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.signature: tuple[Any, ...] | None = None
        self.last: Difference | None = None

    def watch(self, difference: Difference) -> None:
        """What is to stay the same."""
        self.signature = _signature(difference)
        self.last = difference

    def __call__(self, programs: Sequence[Program]) -> int | None:
        """The first of the programs that differs in the same way; the difference is kept in ``last``."""
        for index, difference in enumerate(self.differences(programs)):
            if difference is not None and _signature(difference) == self.signature:
                self.last = difference
                return index
        return None

    def differences(self, programs: Sequence[Program]) -> list[Difference | None]:
        """How each program differs. An oracle that fails does not differ."""
        found: list[Difference | None] = [None] * len(programs)
        defined: list[tuple[int, tuple[Value, ...]]] = []
        for index, program in enumerate(programs):
            try:
                here = run_here(program, self._search.profile)
            except HalfulpError:
                continue
            if not isinstance(here, NoMeaning):
                defined.append((index, here))
        replies = ask(self._search.oracle, [programs[index] for index, _ in defined]) if defined else []
        wrong = []
        for (index, here), reply in zip(defined, replies, strict=True):
            mismatches = _mismatches(here, reply)
            if mismatches and isinstance(reply, tuple):
                wrong.append(Wrong(programs[index], index, reply, mismatches))
        for difference, failure in differences(self._search, wrong):
            found[difference.index] = difference if failure is None else None
        return found


def _mismatches(here: tuple[Value, ...], reply: Reply) -> list[tuple[Mismatch, ty.Type]]:
    try:
        return mismatches_of(here, reply) if isinstance(reply, tuple) else []
    except OracleError:
        return []


def _signature(difference: Difference) -> tuple[Any, ...]:
    if difference.finding is not None:
        return *difference.finding.signature, bool(difference.known)
    return "program", str(difference.type)


@dataclass(frozen=True)
class Undefined:
    """A program without a meaning here, for which an oracle has values: the op that has none, why, and the values."""

    program: Program
    op: str | None
    why: str
    answers: tuple[Answer, ...]


class ValueForUndefined:
    """Programs whose undefined behaviour, in the same op, an oracle overlooks: it has a value for every result.

    The language allows any; but a folder that takes a program without a meaning for a constant is worth a look.
    """

    def __init__(self, oracle: ProgramOracle, profile: Profile = SPEC) -> None:
        self._oracle = oracle
        self._profile = profile
        self._op: str | None = None

    def watch(self, found: Undefined) -> None:
        """What is to stay the same."""
        self._op = found.op

    def __call__(self, programs: Sequence[Program]) -> int | None:
        """The first of the programs that is undefined in the same op and has a value."""
        found = enumerate(self.values(programs))
        return next((index for index, one in found if one is not None and one.op == self._op), None)

    def values(self, programs: Sequence[Program]) -> list[Undefined | None]:
        """What the oracle has for each program that is undefined here."""
        found: list[Undefined | None] = [None] * len(programs)
        asked: list[tuple[int, UndefinedBehavior]] = []
        for index, program in enumerate(programs):
            try:
                here = run_here(program, self._profile)
            except HalfulpError:
                continue
            if isinstance(here, UndefinedBehavior):
                asked.append((index, here))
        replies = ask(self._oracle, [programs[index] for index, _ in asked]) if asked else []
        for (index, error), reply in zip(asked, replies, strict=True):
            if isinstance(reply, tuple) and all(a.status is None or (a.status == Status.VALUE).all() for a in reply):
                found[index] = Undefined(programs[index], error.op, error.message, reply)
        return found


def undefined_header(found: Undefined, oracle: str, version: str, halfulp: str) -> Iterator[str]:
    """What the comments above such a program say."""
    yield f"// {found.op or 'the program'} is undefined for {halfulp}: {found.why}"
    yield f"// {oracle} {version} has a value"


def by_script(script: str, seconds: float = SCRIPT_SECONDS) -> Test:
    """A test by a program of the user's: it gets the path of a file and exits with 0 if that is interesting.

    The test raises InputError where the program does not start.
    """

    def test(programs: Sequence[Program]) -> int | None:
        for index, program in enumerate(programs):
            if _interesting(script, text_of(program), seconds):
                return index
        return None

    return test


def _interesting(script: str, text: str, seconds: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="halfulp-") as folder:
        path = os.path.join(folder, "candidate.mlir")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        command = [os.path.abspath(script) if os.path.exists(script) else script, path]
        try:
            return run_bounded(command, b"", seconds, SCRIPT_BYTES).returncode == 0
        except OracleError as error:
            if error.kind == "crash":  # it does not start
                raise InputError(f"cannot run '{script}': {str(error).partition(': ')[2]}") from None
            return False


# --- programs as they are changed -------------------------------------------------------------------------------------


@dataclass
class State:
    """A function of one block taken apart: its ops, what it returns, and the values of everything, as far as known."""

    module: Module
    name: str
    ops: tuple[Operation, ...]
    returned: tuple[SSAValue, ...]
    values: dict[SSAValue, Value] = field(default_factory=dict)


def state_of(program: Program, profile: Profile = SPEC) -> State | None:
    """The program taken apart, or None where its function has several blocks or stands in a nested module."""
    original = program.module.lookup(program.function)
    if original is None or original.parent_op is not program.module.operation:
        return None
    blocks = original.regions[0].blocks
    if len(blocks) != 1 or not blocks[0].operations or blocks[0].operations[-1].name != "func.return":
        return None
    block = blocks[0]
    values: dict[SSAValue, Value] = dict(zip(block.arguments, program.arguments, strict=False))
    copy = observed(program.module, program.function)
    if copy is not None:
        values.update(_known_values(block, copy, program, profile))
    end = block.operations[-1]
    name = original.symbol_name or "main"
    return State(program.module, name, tuple(block.operations[:-1]), tuple(end.operands), values)


def _known_values(block: Block, copy: Observed, program: Program, profile: Profile) -> dict[SSAValue, Value]:
    try:
        here = run_here(Program(copy.module, copy.function, program.arguments), profile)
    except HalfulpError:
        return {}
    if isinstance(here, NoMeaning):
        return {}
    found: dict[SSAValue, Value] = {}
    for (number, index), value in zip(copy.places, here, strict=True):
        result = block.operations[number].results[index]
        found[result] = Value(result.type, value.bits, value.poison, None, value.origins)
    return found


def rebuilt(
    state: State,
    keep: Sequence[Operation],
    returned: Sequence[SSAValue],
    instead: dict[SSAValue, SSAValue] | None = None,
    reshape: Callable[[Value], Value] = lambda value: value,
    retype: Callable[[ty.Type], ty.Type] = lambda type_: type_,
) -> Program | None:
    """A program of some of the ops. What they need and none of them makes becomes an argument, if its value is known.

    ``instead``: values that take the place of others. ``reshape``, ``retype``: change every argument and type.
    """
    instead = instead or {}
    kept = set(keep)
    needed = {instead.get(value, value) for value in returned}
    ops: list[Operation] = []
    for op in reversed(state.ops):
        if op in kept and not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(instead.get(value, value) for value in captured(op))
    ops.reverse()
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    arguments: list[Value] = []

    def available(value: SSAValue) -> bool:
        source = instead.get(value, value)
        if source not in made:
            known = state.values.get(source)
            element = ty.element_type(value.type)
            if known is None or isinstance(element, ty.QuantizedType) or element_width(element) is None:
                return False
            given = reshape(known)
            arguments.append(given)
            made[source] = block.add_argument(given.type)
        made[value] = made[source]
        return True

    for op in ops:
        if not all(available(value) for value in captured(op)):
            return None
        block.append(copied(op, made, retype))
    if not all(available(value) for value in returned):
        return None
    main = function(state.name, block, [made[value] for value in returned], like=state.module.lookup(state.name))
    others = [op for op in state.module.body if op.symbol_name != state.name]
    module = module_with(others, state.module)
    module.operation.regions[0].blocks[0].append(main)
    return _sound(Program(_pruned(module, state.name), state.name, tuple(arguments)))


def _pruned(module: Module, name: str) -> Module:
    """Without the functions that are not needed."""
    main = module.lookup(name)
    assert main is not None
    needed = [op for op in callees(module, main) if op is not main]
    return module_with([op for op in module.body if op in needed or op is main], module)


def _sound(program: Program) -> Program | None:
    try:
        verify(program.module)
    except HalfulpError:
        return None
    return program


# --- the reducer ------------------------------------------------------------------------------------------------------


@dataclass
class Reducer:
    """Applies all kinds of changes until none is interesting any more, or ``max_tests`` programs were tested."""

    test: Test
    max_tests: int = MAX_TESTS
    profile: Profile = SPEC
    tests: int = 0

    def reduce(self, program: Program, difference: Difference | None = None) -> Program:
        """The smallest interesting program found. ``difference``: how the program differs, which shows a short cut."""
        program = self._first(program, list(self._short_cuts(difference)))
        while True:
            before = program
            for change in (self._fewer_functions, self._fewer_results, self._fewer_ops, self._smaller_shapes):
                program = change(program)
            program = self._simpler_properties(self._simpler_values(program))
            if program is before:
                break
        return self._first(program, [closed(program)])

    def _first(self, program: Program, candidates: Sequence[Program | None]) -> Program:
        """The first interesting candidate, or the program itself."""
        asked = [candidate for candidate in candidates if candidate is not None][: max(0, self.max_tests - self.tests)]
        if not asked:
            return program
        index = self.test(asked)
        self.tests += len(asked) if index is None else index + 1
        return program if index is None else asked[index]

    def _short_cuts(self, difference: Difference | None) -> Iterator[Program | None]:
        """The op that differs alone, on the operands it had: of the element that differs, or of all."""
        finding = None if difference is None else difference.finding
        if finding is None or any(isinstance(value.element_type, ty.QuantizedType) for value in finding.operands):
            return
        top = finding.op
        while top.parent_op is not None:
            top = top.parent_op
        assert difference is not None
        module = Module(top)
        module.resources = difference.program.module.resources
        alone = _sound(Program(isolated(module, finding.op, "main"), "main", finding.operands))
        state = None if alone is None else state_of(alone, self.profile)
        if state is not None and _common_shape(state) is not None:
            yield from (_sliced(state, finding.mismatch.element, scalar) for scalar in (True, False))
        yield alone

    def _fewer_functions(self, program: Program) -> Program:
        main = program.module.lookup(program.function)
        if main is None or main.parent_op is not program.module.operation:
            return program
        module = _pruned(program.module, program.function)
        if len(module.body) == len(program.module.body):
            return program
        return self._first(program, [_sound(Program(module, program.function, program.arguments))])

    def _fewer_results(self, program: Program) -> Program:
        state = state_of(program, self.profile)
        if state is None or len(state.returned) < 2:
            return program
        return self._first(program, [rebuilt(state, state.ops, [value]) for value in state.returned])

    def _fewer_ops(self, program: Program) -> Program:
        """Cut off groups of ops, large ones first; then return what is made in the middle; then skip single ops."""
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

    def _shortened(self, program: Program) -> Program:
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

    def _smaller_shapes(self, program: Program) -> Program:
        """Elementwise programs: to one scalar, to one element, to a part of each axis."""
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

    def _simpler_values(self, program: Program) -> Program:
        for number in range(len(program.arguments)):
            program = self._simpler_argument(program, number)
        return program

    def _simpler_argument(self, program: Program, number: int) -> Program:
        value = program.arguments[number]
        width = element_width(value.element_type)
        if width is None or not width or value.poison is not None:
            return program
        codes = codes_to_ints(value.bits, width)
        if len(set(codes)) > 1:
            splats = [[code] * len(codes) for code in (*_simpler(value.element_type, codes[0]), *dict.fromkeys(codes))]
            program = self._first(program, [_with_codes(program, number, width, splat) for splat in splats])
            codes = codes_to_ints(program.arguments[number].bits, width)
        together = len(set(codes)) == 1
        for place in range(1 if together else min(len(codes), 256)):
            while True:
                simpler = [
                    [code] * len(codes) if together else [*codes[:place], code, *codes[place + 1 :]]
                    for code in _simpler(value.element_type, codes[place])
                ]
                smaller = self._first(program, [_with_codes(program, number, width, one) for one in simpler])
                if smaller is program:
                    break
                program = smaller
                codes = codes_to_ints(program.arguments[number].bits, width)
        return program

    def _simpler_properties(self, program: Program) -> Program:
        """Without flags and rounding modes, one op and property at a time."""
        main = program.module.lookup(program.function)
        assert main is not None
        for number, op in enumerate(main.walk()):
            for name in [prop.name for prop in op.definition.properties] if op.definition else ():
                if op.name.startswith("arith.") and name in op.properties:
                    program = self._first(program, [_without(program, number, name)])
        return program


def _op_count(program: Program) -> int:
    main = program.module.lookup(program.function)
    assert main is not None
    return len(main.regions[0].blocks[0].operations) - 1


def _with_codes(program: Program, number: int, width: int, codes: Sequence[int]) -> Program:
    arguments = list(program.arguments)
    old = arguments[number]
    arguments[number] = Value(old.type, ints_to_codes(codes, width, old.shape))
    return Program(program.module, program.function, tuple(arguments))


def _without(program: Program, number: int, name: str) -> Program | None:
    module = module_with(program.module.body, program.module)
    main = module.lookup(program.function)
    assert main is not None
    op = list(main.walk())[number]
    assert op.definition is not None
    declared = op.definition.property_named(name)
    if declared is None or not (declared.optional or declared.default is not None):
        return None
    before = op.properties.pop(name, None)
    if declared.default is not None:
        op.properties[name] = declared.kind.attribute(declared.default)  # type: ignore[union-attr]
    same = op.properties.get(name) == before
    return None if same else _sound(Program(module, program.function, program.arguments))


# --- shapes -----------------------------------------------------------------------------------------------------------


def _common_shape(state: State) -> tuple[int, ...] | None:
    """The one shape of all tensors and vectors of a program whose ops do the same to every element."""
    shapes = set()
    for op in state.ops:
        if task_of(op) is None:
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


def _reshaped(state: State, change: Callable[[Any], Any], shape: tuple[int, ...] | None) -> Program | None:
    """``change``: what becomes of an array of codes; ``shape``: of the result, None for a scalar."""

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


def _sliced(state: State, place: tuple[int, ...], scalar: bool) -> Program | None:
    if scalar:
        return _reshaped(state, lambda codes: codes[place], None)
    part = tuple(slice(k, k + 1) for k in place)
    return _reshaped(state, lambda codes: codes[part], (1,) * len(place))


def _halved(state: State, axis: int, part: int) -> Program | None:
    shape = list(_common_shape(state) or ())
    middle = (shape[axis] + 1) // 2
    half = slice(middle, None) if part else slice(None, middle)
    shape[axis] = shape[axis] - middle if part else middle
    return _reshaped(state, lambda codes: codes[(slice(None),) * axis + (half,)], tuple(shape))


def _flattened(state: State, size: int) -> Program | None:
    rank = len(_common_shape(state) or ())
    return _reshaped(state, lambda codes: codes.reshape(size, *codes.shape[rank:]), (size,))


# --- values -----------------------------------------------------------------------------------------------------------


def _simpler(type_: ty.Type, code: int) -> list[int]:
    """Simpler codes to try for one, the simplest first."""
    width = element_width(type_) or 0
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
    width = element_width(type_) or 0
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


# --- as text ----------------------------------------------------------------------------------------------------------


def closed(program: Program) -> Program | None:
    """The program with its arguments as constants; None where one has no constant, or where there are none."""
    main = program.module.lookup(program.function)
    if not program.arguments or main is None or main.parent_op is not program.module.operation:
        return None
    body = main.regions[0].blocks[0]
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    for argument, value in zip(body.arguments, program.arguments, strict=True):
        constant = _constant(value, argument.type)
        if constant is None:
            return None
        block.append(constant)
        made[argument] = constant.results[0]
    if len(main.regions[0].blocks) != 1:
        return None
    for op in body.operations[:-1]:
        block.append(copied(op, made))
    name = main.symbol_name or "main"
    entry = function(name, block, [made[value] for value in body.operations[-1].operands], like=main)
    module = module_with([op for op in program.module.body if op is not main], program.module)
    module.operation.regions[0].blocks[0].append(entry)
    return _sound(Program(module, program.function, ()))


def _constant(value: Value, type_: ty.Type) -> Operation | None:
    element = ty.element_type(type_)
    if value.poison is not None:
        if not value.poisoned.all():
            return None
        poison = {"value": at.OpaqueAttr("ub", "poison")}
        return Operation("ub.poison", definition_of("ub.poison"), [], [type_], dict(poison))
    width = element_width(element)
    if width is None or value.type != type_ or isinstance(element, ty.QuantizedType):
        return None
    attribute: at.Attribute
    if isinstance(type_, ty.TensorType | ty.VectorType):
        attribute = at.DenseElementsAttr(type_, np.ascontiguousarray(value.bits))
    elif isinstance(element, ty.FloatType):
        attribute = at.FloatAttr(codes_to_ints(value.bits, width)[0], element)
    else:
        attribute = at.IntegerAttr(at.integer_of_code(codes_to_ints(value.bits, width)[0], element), element)
    return Operation("arith.constant", definition_of("arith.constant"), [], [type_], {"value": attribute})


def text_of(program: Program, close: bool = True) -> str:
    """The program as MLIR text, its functions without the module around them.

    ``close``: with its arguments as constants, if they can be.
    """
    text = print_module(((closed(program) if close else None) or program).module)
    lines = text.rstrip("\n").split("\n")
    if lines[0] == "module {" and lines[-1] == "}":
        lines = [line.removeprefix("  ") for line in lines[1:-1]]
    return "\n".join(lines) + "\n"


def inputs_of(program: Program) -> list[str]:
    """The arguments as options of the command line."""
    return [f'--input="{spell_value(value)}"' for value in program.arguments]


def header(difference: Difference, oracle: str, version: str, halfulp: str) -> Iterator[str]:
    """What the comments above a reduced program say: what differs, expected, and got."""
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    what = "the results differ" if finding is None else f"{finding.title} differs"
    if finding is not None:
        mismatch, type_ = finding.mismatch, finding.type
    yield f"// {what} by {oracle} {version} from {halfulp}"
    if finding is not None and finding.task is not None and mismatch.operands:
        pairs = zip(finding.task.operand_types, mismatch.operands, strict=True)
        yield f"// operands: {', '.join(code_text(kind, code) for kind, code in pairs)}"
    yield f"// expected: {code_text(type_, mismatch.expected)}"
    yield f"// got:      {given_text(type_, mismatch)}"
    if difference.known:
        yield f"// known:    {'; '.join(difference.known)}"
