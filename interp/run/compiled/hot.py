"""Decide when a function is worth machine code: once the executor has spent as much time as compilation takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfulp.fp_formats.paths import compiled
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled import llvm
from halfulp.interp.run.compiled.places import NotCompiled
from halfulp.interp.run.compiled.program import CompiledFunction, Copy, memories_of
from halfulp.interp.run.compiler import CodeStore
from halfulp.interp.run.evaluators import Constant, Elementwise, Pure, evaluator_of
from halfulp.interp.run.frames import Frame, Run

PAYS = 100_000
"""The steps from which machine code pays: the executor takes as long for them as compilation does."""
_CHANCES = 2
"""After so many runs that stopped, a function stays with the executor."""


class Hot:
    """A function of a program, with the steps that it has taken so far, and its machine code once that pays."""

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._store = store
        self._op = op
        self._spent = 0
        self._stopped = 0
        self._code: dict[bool, CompiledFunction] = {}
        settings = store.settings
        plain = not settings.listeners and not settings.externals and settings.index_width == 64
        self._promising = plain and is_promising(store, op)

    def execute(self, run: Run, frame: Frame) -> None:
        """Run the function, whose arguments are in the frame, to its end."""
        if not self._promising or not llvm.wanted():
            run.execute(frame)
        elif self._spent >= PAYS or compiled.backend() == "numba":
            if not self._by_machine(run, frame):
                run.execute(frame)
        elif not self._tried(run, frame) and not self._by_machine(run, frame):
            run.execute(frame)

    def _tried(self, run: Run, frame: Frame) -> bool:
        """Run the function in the executor for some time. False if it is not at its end then: all is as it was."""
        slots, segment = frame.slots.copy(), frame.segment
        copies = [Copy(memory) for memory in memories_of(_arguments(frame))]
        limit = run.steps
        given = run.steps = min(limit, PAYS - self._spent)
        try:
            run.execute(frame)
        except LimitExceeded:
            if given == limit:
                raise
            for copy in copies:
                copy.put_back()
            frame.slots[:], frame.segment = slots, segment
            run.steps = limit
            run.kept.clear()
            self._spent = PAYS
            return False
        used = given - run.steps
        run.steps = limit - used
        self._spent += used
        return True

    def _by_machine(self, run: Run, frame: Frame) -> bool:
        """Run machine code. False if it cannot be made, or stopped: all is as it was."""
        arguments = _arguments(frame)
        clean = all(memory.poison is None for memory in memories_of(arguments))
        try:
            code = self._code.get(clean)
            if code is None:
                code = self._code[clean] = CompiledFunction(self._store, self._op, clean)
        except NotCompiled:
            self._promising = False
            return False
        results = code.call(run, arguments)
        if results is None:
            run.kept.clear()
            self._stopped += 1
            self._promising = self._stopped < _CHANCES
            return False
        run.results = results
        return True


def _arguments(frame: Frame) -> list[Any]:
    return [frame.slots[slot] for slot in frame.segment.arguments]


def is_promising(store: CodeStore, op: Operation) -> bool:
    """Tell whether a function may run for long and seems to be one that can be compiled, with all that it calls."""
    return is_covered(store, op) and any(
        each.regions or each.successors or each.name == "func.call" for each in op.walk() if each is not op
    )


def is_covered(store: CodeStore, op: Operation, others: tuple[type[ty.Type], ...] = ()) -> bool:
    """Tell whether code seems to cover all ops of a function and of those that it calls. ``others``: types of values
    that it must not have.
    """
    found, waiting = {op}, [op]
    while waiting:
        function = waiting.pop()
        if not function.regions or not function.regions[0].blocks:
            return False
        for each in function.walk():
            if each is not function and not _covered(each, others):
                return False
            for target in _called(store, each):
                if target is None:
                    return False
                if target not in found:
                    found.add(target)
                    waiting.append(target)
    return True


def _covered(op: Operation, others: tuple[type[ty.Type], ...] = ()) -> bool:
    evaluator = evaluator_of(op)
    if any(isinstance(value.type, (ty.TensorType, ty.VectorType, *others)) for value in (*op.operands, *op.results)):
        return False
    by_executor = isinstance(evaluator, Pure) and evaluator.raw
    return by_executor or isinstance(evaluator, Constant | Elementwise) or getattr(evaluator, "words", None) is not None


def _called(store: CodeStore, op: Operation) -> Iterator[Operation | None]:
    if op.name == "func.call":
        symbol = op.properties["callee"]
        assert isinstance(symbol, SymbolRefAttr)
        yield store.module.lookup(symbol, op)
