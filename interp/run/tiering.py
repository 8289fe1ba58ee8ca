"""Decide when a function is worth code: once the executor has spent as much time as compilation takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled.elements import count_of
from halfulp.interp.run.compiled.limits import NotCompiled, is_silent, may_compile
from halfulp.interp.run.compiled.memory_rollback import Copy, memories_of
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler
from halfulp.interp.run.evaluators import Constant, Elementwise, Entry, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.values.buffers import Allocation

PAYS = 100_000
"""The steps from which machine code pays: the executor takes as long for them as compilation does."""
_CHANCES = 2
"""After so many runs that stopped, a function stays with the executor."""


_MUCH = 1 << 22
"""The bytes of memory from which a copy is worth a thought."""
_BYTES_OF_A_STEP = 1 << 13
"""The bytes that are copied in the time of a step of the executor."""
_LOOPS = ("scf.for", "scf.while", "affine.for")


class _Code:
    """The machine code of a function, made at its first call: one form for arguments whose memory has no mask of
    poison, which need not look at masks, and one for others.
    """

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._store = store
        self._op = op
        self._stopped = 0
        self._forms: dict[bool, Any] = {}

    @cached_property
    def may_pay(self) -> bool:
        """Whether the function is worth code, as far as is known: it can be made, and has seldom stopped."""
        settings = self._store.settings
        return may_compile(settings) and not settings.externals and is_promising(self._store, self._op)

    @property
    def promising(self) -> bool:
        """Whether the function is worth code, and machine code may be made."""
        return llvm.wanted() and self.may_pay

    def run(self, run: Run, arguments: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
        """Return the results as slots hold them. None if code cannot be made, or stopped: all memory is as it was.
        ``depth``: the calls around this one.
        """
        from halfulp.interp.run.compiled.program import CompiledFunction

        clean = all(memory.poison is None for memory in memories_of(arguments))
        try:
            code = self._forms.get(clean)
            if code is None:
                code = self._forms[clean] = CompiledFunction(self._store, self._op, clean)
        except (NotCompiled, HalfulpError):
            # An op that cannot be run at all may never be reached.
            self.may_pay = False
            return None
        results: tuple[Any, ...] | None = code.call(run, arguments, depth)
        if results is None:
            self._stopped += 1
            self.may_pay = self._stopped < _CHANCES
        return results


class CompileTrial:
    """Runs of a function by the executor, until it has taken the steps from which code pays. ``spent``: its steps."""

    def __init__(self) -> None:
        self.spent = 0

    def run(self, run: Run, frame: Frame, memories: Sequence[Allocation]) -> bool:
        """Run the function to its end. False if it takes too many steps: then memory and the steps left are as they
        were.
        """
        copies = [Copy(memory) for memory in memories]
        limit = run.steps
        given = run.steps = min(limit, PAYS - self.spent)
        run.tries = True
        try:
            run.execute(frame)
        except LimitExceeded:
            if given == limit:
                raise
            for copy in copies:
                copy.put_back()
            run.steps = limit
            self.spent = PAYS
            return False
        finally:
            run.tries = False
        used = given - run.steps
        run.steps = limit - used
        self.spent += used
        return True


class Entered:
    """A function with which a run begins, and the steps that it has taken so far."""

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._code = _Code(store, op)
        self._trial = CompileTrial()
        self._last = 0  # the steps of the last run
        self._op = op

    def execute(self, run: Run, frame: Frame) -> None:
        """Run the function, whose arguments are in the frame, to its end."""
        if not self._code.promising:
            run.execute(frame)
            return
        before = run.steps
        if not any(way(run, frame) for way in self._ways(frame)):
            run.execute(frame)
        self._last = before - run.steps

    def _ways(self, frame: Frame) -> tuple[Callable[[Run, Frame], bool], ...]:
        """Return what to try before the executor: each tells whether it has run the function."""
        size = sum(memory.bits.nbytes for memory in memories_of(_arguments(frame)))
        if llvm.at_once() or (self._trial.spent >= PAYS and size <= _MUCH):
            return (self._by_code,)
        if size <= _MUCH:
            return (self._tried, self._by_code)
        # Either way copies the memory, which must not take longer than the run.
        pays = self._last * _BYTES_OF_A_STEP > size if self._last else _nested(self._op) > 1
        return (self._by_code,) if pays else ()

    def _tried(self, run: Run, frame: Frame) -> bool:
        """Run the function in the executor for some time. False if it is not at its end then: all is as it was."""
        slots, segment = frame.slots.copy(), frame.segment
        if self._trial.run(run, frame, memories_of(_arguments(frame))):
            return True
        frame.slots[:], frame.segment = slots, segment
        run.kept.clear()
        return False

    def _by_code(self, run: Run, frame: Frame) -> bool:
        """Run the code. False if it cannot be made, or stopped: all is as it was."""
        results = self._code.run(run, _arguments(frame), 0)
        if results is None:
            run.kept.clear()
            return False
        run.results = results
        return True


class Called:
    """A function with loops in loops that the executor calls: one call of it may be worth code."""

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._code = _Code(store, op)
        self._trial = CompileTrial()
        self._store = store
        self._op = op

    def run(self, run: Run, arguments: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
        """Return the results, or None where the executor has to run the function."""
        # A trial of a function is one of all that it calls.
        if not self._code.promising or run.tries:
            return None
        if not llvm.at_once() and self._trial.spent < PAYS:
            memories = memories_of(arguments)
            if sum(memory.bits.nbytes for memory in memories) <= _MUCH:
                frame = Frame(self._store.compiled(self._op, FunctionCompiler), run, None, (), None)
                frame.depth = depth
                for slot, argument in zip(frame.segment.arguments, arguments, strict=True):
                    frame.slots[slot] = argument
                if self._trial.run(run, frame, memories):
                    return run.results
        return self._code.run(run, arguments, depth)

    @cached_property
    def promising(self) -> bool:
        """Whether the function may be worth code."""
        if not llvm.installed() or _nested(self._op) < 2 or not self._code.may_pay:
            return False
        # The memory of globals stays when code stops.
        reached = _reached(self._store, self._op)
        return all(each.name != "memref.get_global" for function in reached for each in function.walk())


def _nested(op: Operation) -> int:
    """Return how many loops lie in each other."""
    ops = (each for region in op.regions for block in region.blocks for each in block.operations)
    inside = max(map(_nested, ops), default=0)
    return inside + (op.name in _LOOPS)


def _arguments(frame: Frame) -> list[Any]:
    return [frame.slots[slot] for slot in frame.segment.arguments]


def is_promising(store: CodeStore, op: Operation) -> bool:
    """Tell whether a function may run for long and seems to be one that can be compiled, with all that it calls."""
    long = any(each.regions or each.successors or each.name == "func.call" for each in op.walk() if each is not op)
    return long and is_covered(store, op)


def is_covered(store: CodeStore, op: Operation, others: tuple[type[ty.Type], ...] = ()) -> bool:
    """Tell whether code seems to cover all ops of a function and of those that it calls. ``others``: types of values
    that it must not have.
    """
    found, waiting = {op}, [op]
    while waiting:
        function = waiting.pop()
        if not function.regions or not function.regions[0].blocks or isinstance(evaluator_of(function), Entry):
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
    types = [value.type for value in (*op.operands, *op.results)]
    if any(isinstance(type_, others) or not _held(type_) for type_ in types):
        return False
    by_executor = isinstance(evaluator, OnValues) and is_silent(op)
    return by_executor or isinstance(evaluator, Constant | Elementwise) or getattr(evaluator, "words", None) is not None


def _held(type_: ty.Type) -> bool:
    return isinstance(type_, ty.MemRefType) or count_of(type_) is not None


def _reached(store: CodeStore, op: Operation) -> list[Operation]:
    """Return a function, and those that it calls, and so on."""
    found = [op]
    for function in found:
        targets = dict.fromkeys(target for each in function.walk() for target in _called(store, each))
        found += [target for target in targets if target is not None and target not in found]
    return found


def _called(store: CodeStore, op: Operation) -> Iterator[Operation | None]:
    if op.name == "func.call":
        symbol = op.properties["callee"]
        assert isinstance(symbol, SymbolRefAttr)
        yield store.module.lookup(symbol, op)
