"""Functions of a program as machine code: made once, and called with values and buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.emitter import DONE, Emitter, natural
from halfulp.interp.ir.operations import Operation, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.compiled.context import Context, is_clean, is_plain, parts_of_buffer, words_of
from halfulp.interp.run.compiled.lowering import (
    DEPTH,
    FIRST_TABLE,
    GENERAL,
    REST,
    SLICE,
    STEPS,
    ProgramLowering,
    as_held,
    types_of,
)
from halfulp.interp.run.compiler import CodeStore
from halfulp.interp.run.frames import Run
from halfulp.interp.run.limits import Copy, memories_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value

MOST_STEPS = 1 << 62
"""The steps that code can count."""
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
GENERAL_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint64))


class CompiledFunction:
    """A function as machine code, for clean arguments.

    ``clean``: no memory that is passed to it has poison. Raises NotCompiled if the function cannot be compiled.
    """

    def __init__(self, store: CodeStore, op: Operation, clean: bool) -> None:
        lowering = ProgramLowering(store)
        self.op = op
        self.settings = store.settings
        self.clean = clean
        self._code = llvm.compile_assembly(lowering.lower(op, clean), "entry")
        self._entry = _ENTRY(self._code.address)
        self._tables = lowering.tables.arrays
        self._functions = lowering.functions
        self._deepest = lowering.deepest
        self._writes = lowering.writes
        self._inputs = argument_types(op)
        self._outputs = result_types(op)
        self._count = sum(len(types_of(type_, self.settings)) for type_ in self._outputs)

    def call(self, run: Run, arguments: Sequence[Any], depth: int = 0) -> tuple[Any, ...] | None:
        """Return the results as slots hold them. Return None if the executor must run the function from its start; all
        memory then has its earlier contents. The steps of the run are counted. ``depth``: the number of calls around
        this one.
        """
        context = Context(run, self._functions)
        memories = memories_of(arguments)
        words = self._words(context, arguments)
        if words is None:
            return None
        before = [Copy(memory) for memory in memories] if self._writes else []
        general = GENERAL_TYPE(context.way_back())
        most = min(self.settings.max_depth - depth, self._deepest)
        state = state_of(run.steps, most, general, self._tables)
        given = steps_left(state)
        passed, found = np.array(words, np.uint64), np.zeros(max(self._count, 1), np.uint64)
        status = self._entry(state.ctypes.data, passed.ctypes.data, found.ctypes.data)
        context.ended()
        if status != DONE or not context.untouched():
            for copy in before:
                copy.put_back()
            return None
        run.steps -= given - steps_left(state)
        return tuple(self._results(context, found.tolist()))

    def _words(self, context: Context, arguments: Sequence[Any]) -> list[int] | None:
        """Return the words of the arguments; None if one is not clean."""
        words: list[int] = []
        for slot in arguments:
            if slot.__class__ is int:
                words.append(slot)
            elif isinstance(slot, Value) and is_clean(slot):
                words += words_of(slot, self.settings)
            elif (
                isinstance(slot, Buffer) and is_plain(slot) and not (self.clean and slot.allocation.poison is not None)
            ):
                words += parts_of_buffer(slot, context.addresses(slot.allocation))
            else:
                return None
        return words

    def _results(self, context: Context, words: list[int]) -> list[Any]:
        results: list[Any] = []
        for type_ in self._outputs:
            count = len(types_of(type_, self.settings))
            parts, words = words[:count], words[count:]
            results.append(context.slot(type_, parts))
        return results


def state_of(steps: int, depth: int, general: Any, tables: Sequence[Any]) -> npt.NDArray[np.uint64]:
    """Return the shared words of a run (see `lowering`). ``general``: the address of the function that calls Python."""
    state = np.zeros(FIRST_TABLE + len(tables), np.uint64)
    state[STEPS] = min(steps, SLICE)
    state[REST], state[DEPTH] = min(steps, MOST_STEPS) - int(state[STEPS]), depth
    state[GENERAL] = ctypes.cast(general, ctypes.c_void_p).value or 0
    state[FIRST_TABLE:] = [table.ctypes.data for table in tables]
    return state


def steps_left(state: npt.NDArray[np.uint64]) -> int:
    """Return the steps that a run has left."""
    return int(state[STEPS]) + int(state[REST])


# --- lane code --------------------------------------------------------------------------------------------------------
#
# A function of scalars as a compiled loop over the lanes of a batch.

PART = 1 << 14
"""The lanes that a thread takes at a time."""
_LANES_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p)


class LaneCode:
    """A function of scalars as a compiled loop over lanes. ``splats``: for each argument, whether all lanes share it.

    Raises NotCompiled.
    """

    def __init__(self, program: CodeStore, op: Operation, splats: Sequence[bool]) -> None:
        self._settings = program.settings
        self._widths = [natural(width_of(type_)) for type_ in result_types(op)]
        lowering = ProgramLowering(program)
        text = _assembly(lowering, op, splats, self._widths)
        self._code = llvm.compile_assembly(text, "lanes")
        self._entry = _LANES_ENTRY(self._code.address)
        self._tables = lowering.tables.arrays
        self._functions = lowering.functions
        self._depth = min(self._settings.max_depth, lowering.deepest)

    def run(self, arguments: Sequence[Codes], lanes: int) -> tuple[list[Codes], Mask]:
        """Return the codes of the results, and the mask of the lanes that stopped."""
        made = [np.zeros(lanes, f"u{width // 8}") for width in self._widths]
        stopped = np.zeros(lanes, np.uint8)

        def begin() -> llvm.Work:
            context = Context(Run(self._settings), self._functions)
            general = GENERAL_TYPE(context.way_back())
            state = state_of(self._settings.max_steps, self._depth, general, self._tables)
            return partial(self._part, context, general, state, arguments, made, stopped)

        llvm.share(lanes, PART, begin)
        return list(made), stopped.view(np.bool_)

    def _part(
        self,
        context: Context,
        general: Any,
        state: npt.NDArray[np.uint64],
        arguments: Sequence[Codes],
        made: Sequence[Codes],
        stopped: npt.NDArray[np.uint8],
        start: int,
        stop: int,
    ) -> None:
        """Run some lanes. ``general`` must live as long as the state, which holds an address of it."""
        passed, found = (llvm.addresses(some, start).ctypes for some in (arguments, made))
        self._entry(state.ctypes.data, passed.data, found.data, stop - start, stopped[start:].ctypes.data)
        context.ended()


def _assembly(lowering: ProgramLowering, op: Operation, splats: Sequence[bool], widths: Sequence[int]) -> str:
    make = llvm.ir()
    pointer, word = make.PointerType(), make.IntType(64)
    target = lowering.all_of(op)
    entry = make.Function(lowering.module, make.FunctionType(make.VoidType(), [pointer] * 3 + [word, pointer]), "lanes")
    emit = Emitter(entry, lowering.tables, FIRST_TABLE)
    state, arguments, results, count, stopped = entry.args
    fresh = [(word, emit.shared(word, emit.variables)) for word in (STEPS, REST, DEPTH)]
    given, made = emit.addresses(arguments, len(splats)), emit.addresses(results, len(widths))
    lane, body, end = emit.variable(word), emit.label(), emit.label()
    emit.set(lane, emit.constant(0, 64))
    emit.jump(body)

    emit.begin(body)
    at = emit.get(lane, word)
    for word_of_state, content in fresh:
        emit.share(word_of_state, content)
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
