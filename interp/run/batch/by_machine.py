"""Batches by machine code: one lane after the other in a compiled loop, so that lanes which part cost nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.paths import compiled
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.compiled import llvm
from halfulp.interp.run.compiled.context import Context
from halfulp.interp.run.compiled.emitter import Emitter, natural
from halfulp.interp.run.compiled.hot import is_covered
from halfulp.interp.run.compiled.lowering import DEPTH, FIRST_TABLE, STEPS, ProgramLowering, as_held
from halfulp.interp.run.compiled.places import NotCompiled
from halfulp.interp.run.compiled.program import GENERAL_TYPE, state_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.signature import argument_types, result_types
from halfulp.interp.values.lanes import over_lanes, ranked
from halfulp.interp.values.value import Value

PAYS = 1 << 16
"""The lanes from which machine code pays."""

_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p)


class LaneCode:
    """A function of scalars as a compiled loop over lanes. ``splats``: for each argument, whether all lanes share it.

    Raises NotCompiled.
    """

    def __init__(self, program: CompiledModule, op: Operation, splats: Sequence[bool]) -> None:
        self._settings = program.settings
        self._widths = [natural(width_of(type_)) for type_ in result_types(op)]
        lowering = ProgramLowering(program)
        text = _assembly(lowering, op, splats, self._widths)
        self._code = llvm.compile_assembly(text, "lanes")
        self._entry = _ENTRY(self._code.address)
        self._tables = lowering.tables.arrays
        self._functions = lowering.functions

    def run(self, arguments: Sequence[Codes], lanes: int) -> tuple[list[Codes], Mask]:
        """Return the codes of the results, and the mask of the lanes that stopped."""
        context = Context(Run(self._settings), self._functions)
        general = GENERAL_TYPE(context.call)
        state = state_of(self._settings.max_steps, self._settings.max_depth, general, self._tables)
        made = [np.zeros(lanes, f"u{width // 8}") for width in self._widths]
        stopped = np.zeros(lanes, np.uint8)
        passed, found = (np.array([each.ctypes.data for each in some], np.uint64) for some in (arguments, made))
        self._entry(state.ctypes.data, passed.ctypes.data, found.ctypes.data, lanes, stopped.ctypes.data)
        return list(made), stopped.view(np.bool_)


def _assembly(lowering: ProgramLowering, op: Operation, splats: Sequence[bool], widths: Sequence[int]) -> str:
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    target = lowering.all_of(op)
    entry = make.Function(lowering.module, make.FunctionType(make.VoidType(), [pointer] * 3 + [word, pointer]), "lanes")
    emit = Emitter(entry, lowering.tables, FIRST_TABLE)
    state, arguments, results, count, stopped = entry.args
    steps, depth = emit.shared(STEPS, emit.variables), emit.shared(DEPTH, emit.variables)

    def addresses(array: Any, some: int) -> list[Any]:
        places = [emit.variables.gep(array, [emit.constant(n, 64)], source_etype=word) for n in range(some)]
        return [emit.variables.inttoptr(emit.variables.load(place, typ=word), pointer) for place in places]

    given, made = addresses(arguments, len(splats)), addresses(results, len(widths))
    lane, body, end = emit.variable(word), emit.label(), emit.label()
    emit.set(lane, emit.constant(0, 64))
    emit.jump(body)

    emit.begin(body)
    at = emit.get(lane, word)
    emit.share(STEPS, steps)
    emit.share(DEPTH, depth)
    passed = [state]
    for base, splat, type_ in zip(given, splats, target.function_type.args[1:], strict=True):
        code = emit.load(base, emit.constant(0, 64) if splat else at, natural(type_.width))
        passed.append(as_held(emit, code, type_))
    result = emit.builder.call(target, passed)
    for number, (base, width) in enumerate(zip(made, widths, strict=True), 1):
        held = emit.word(emit.builder.extract_value(result, number)).resized(width)
        emit.store(base, at, held.held)
    status = emit.builder.extract_value(result, 0)
    emit.store(stopped, at, emit.resize(emit.relation("!=", status, emit.constant(0, 32)), 8, signed=False))
    following = emit.builder.add(at, emit.constant(1, 64))
    emit.set(lane, following)
    emit.branch(emit.relation("s<", following, count), body, end)

    emit.begin(end)
    emit.builder.ret_void()
    emit.finish()
    return str(lowering.module)


class LaneHot:
    """A function of a program, with the lanes that have run so far, and its machine code once that pays."""

    def __init__(self, program: CompiledModule, op: Operation) -> None:
        self._program = program
        self._op = op
        self._spent = 0
        self._codes: dict[tuple[bool, ...], LaneCode] = {}
        settings = program.settings
        self._outputs = result_types(op)
        types = [*argument_types(op), *self._outputs]
        plain = not (settings.listeners or settings.externals or settings.track_open) and settings.index_width == 64
        scalars = all(isinstance(type_, ty.IntegerType | ty.FloatType | ty.IndexType) for type_ in types)
        # Lanes with memory of different shapes are refused by the executor.
        covered = plain and scalars and is_covered(program, op, (ty.MemRefType,))
        self._promising = covered and bool(self._outputs)

    def run(self, arguments: Sequence[Any], lanes: int) -> tuple[tuple[Value, ...], npt.NDArray[np.bool_]] | None:
        """Return the results of all lanes, and the mask of the lanes that stopped: theirs mean nothing. None where
        machine code does not pay, cannot be made, or an argument is not clean.
        """
        if not self._promising or not llvm.wanted():
            return None
        if self._spent + lanes < PAYS and compiled.backend() != "numba":
            self._spent += lanes
            return None
        codes = [_clean(value) for value in arguments]
        if any(each is None for each in codes):
            return None
        splats = tuple([not over_lanes(value) for value in arguments])
        try:
            code = self._codes.get(splats)
            if code is None:
                code = self._codes[splats] = LaneCode(self._program, self._op, splats)
        except NotCompiled:
            self._promising = False
            return None
        found, stopped = code.run([each for each in codes if each is not None], lanes)
        values = [Value(ranked(type_, ()), each) for type_, each in zip(self._outputs, found, strict=True)]
        return tuple(values), stopped


def _clean(value: Any) -> Codes | None:
    """Return the codes of an argument; None if it is not clean."""
    if not isinstance(value, Value) or value.poison is not None or value.open is not None:
        return None
    return np.ascontiguousarray(value.bits)
