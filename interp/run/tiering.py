"""The choice between the executor and machine code for each call of a function, and the way back if machine code stops.

halfulp has two ways to run a function. The executor (`Run.execute`) knows everything: poison and its origins, undefined
behaviour, errors with their places, printing, traces. It takes 0.2 to 0.4 microseconds an op. Machine code
(`halfulp.interp.run.compiled`) knows only values that are clean, and takes about a nanosecond an op, but costs time to
make: 20 milliseconds for a small function, seconds for a large one. This module decides which way a call goes. Both
ways give the same results; only the time differs.

**Which functions.** A function `is_promising` if it has regions, branches or calls (a straight line of ops never runs
long), and if every op, in it and in all that it calls, seems to be one that code covers: an elementwise kernel, a
constant, an op with ``words`` in its declaration, or a silent op on values, which code can leave to the executor by a
call through Python. This is asked of the declarations, and costs no lowering; lowering may still find an op it cannot
do and raise `NotCompiled`. The settings matter too (`limits.may_compile`): a run that somebody watches op by op, that
records, or that takes random bits is never compiled, nor is one with Python functions of the user in it.

**When.** Compiling pays once the executor has spent as much time as compiling takes: that is `PAYS` steps, where a step
is an op. Steps are the clock because the executor counts them anyhow, they do not depend on the machine or on what else
runs on it, and so a program takes the same way each time. Short runs add up: a function that took 1,000 steps in each
of 100 calls is compiled at the call after them.

But a single call may be the long one, and when it begins nobody knows. So it begins as a `CompileTrial`: the executor
runs the function with a limit of the steps left until `PAYS`. If it ends before, that was the run. If it meets the
limit, all memory that it may have written is put back (`Copy`), its steps are given back, and the machine code runs the
function from its start. At worst this wastes as much time as compiling takes, so a run is never slower than about twice
the better way.

    a call of f, 30,000 steps spent before; memory of 1 kB
      trial: at most 70,000 steps in the executor
        ends after 20,000:  50,000 are spent now; the results stand
        does not end:       memory and steps as before; compile; run the code from the start, and so all later calls

Copying is not free either. Of memory above `_MUCH` bytes no trial is made: code runs at once if the last run took so
many steps that a copy is small beside it (`_BYTES_OF_A_STEP`), or, at the first run, if there are loops in loops.

**Which calls.** `Entered` is the function with which a run begins. `Called` is one that the executor calls in a program
whose outer function cannot be compiled, for example since it prints. It needs loops in loops to be tried, and must not
touch globals, whose memory is made once in a run and would not be put back. While a trial runs (``run.tries``), calls
in it are not tried themselves: they belong to it. Code that calls functions contains them; they are not asked here.

**What a guard does.** Code is made for clean values, and looks where it must: a *guard* is an instruction that stops
the run if what follows would need the executor. There are guards for an index outside of a memref, for memory that is
poison or constant, for a division by zero, for an overflow that makes poison, for a loop whose step is not positive,
for the limits on steps and on nested calls, and for kernels that refuse their operands, whose scalar implementation in
Python gives no code either. A guard says nothing about why. The function returns `STOPPED`, all functions that called
it return, the memory of the arguments is put back to what it was before the call (a `Copy` of everything that may be
written, made only if the code writes at all), and the executor runs the function from its start. It comes to the same
place with full knowledge, and raises the error, or makes the poison and goes on. So results, poison, origins, errors
and their places, and steps are the executor's, by construction; code needs no text for any of them.

That is why code must not do what cannot be undone: it does not print (`limits.is_silent`), and what it frees stays
readable until the end, as poison, so that a later access stops the run as well. It is also why code is useless for a
program that computes with poison: it would stop each time, and all its time is lost. After `_CHANCES` runs that
stopped, the function stays with the executor (``may_pay``). Not each odd value is a stop: a NaN that a description
refuses goes through the scalar kernel, for this element, and the code goes on.

**Two forms.** Code for arguments whose memory has no mask of poison need not look at masks; it is another form of the
same function (``clean``). A form is made at its first use.

**Results.** Where llvmlite is not installed, or HALFULP_BACKEND is ``numpy``, `llvm.machine_code_allowed` is false, and
every function stays with the executor. With ``llvm`` it is compiled at once, without a trial: tests run so. In all
cases the results are the same, and `tests/interp/run/test_ways_of_running.py` compares them on random programs.

**To change it.** An op joins by ``words`` in its declaration, a function of the op and a `FunctionLowering`. It must
guard all that its evaluator checks: a missing guard is a wrong result that no error tells. An op with an effect outside
of memory must not be silent. `tests/interp/run/compiled` compares code with the executor, also in the middle of a loop
that has written.

Elementwise ops on whole tensors follow the same idea, by elements instead of steps: see `halfulp.interp.run.chains`. So
do batches: see `halfulp.interp.run.batch.program`, where each lane stops for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler
from halfulp.interp.run.evaluators import Constant, Elementwise, Entry, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.limits import Copy, NotCompiled, count_of, is_silent, may_compile, memories_of
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
    """The machine code of a function, made at its first call. It has two forms: one for arguments whose memory has no
    mask of poison, which need not look at masks, and one for other arguments.
    """

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._store = store
        self._op = op
        self._stopped = 0
        self._forms: dict[bool, Any] = {}

    @cached_property
    def may_pay(self) -> bool:
        """Whether machine code of the function is worthwhile, as far as is known: it can be made, and has seldom
        stopped.
        """
        settings = self._store.settings
        return may_compile(settings) and not settings.externals and is_promising(self._store, self._op)

    @property
    def promising(self) -> bool:
        """Whether machine code of the function is worthwhile, and may be made."""
        return llvm.machine_code_allowed() and self.may_pay

    def run(self, run: Run, arguments: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
        """Return the results as slots hold them. None if code cannot be made, or stopped: all memory is as it was.
        ``depth``: the number of calls around this one.
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
    """Runs of a function by the executor until it has taken so many steps that machine code saves time. ``spent``: the
    number of these steps.
    """

    def __init__(self) -> None:
        self.spent = 0

    def run(self, run: Run, frame: Frame, memories: Sequence[Allocation]) -> bool:
        """Run the function to its end, and return True. If it takes too many steps, restore memory and the remaining
        steps, and return False.
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
    """The first function of a run, and the number of steps that it has taken so far."""

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
        """Return the functions to try before the executor. Each tells whether it has run the program's function."""
        size = sum(memory.bits.nbytes for memory in memories_of(_arguments(frame)))
        if llvm.at_once() or (self._trial.spent >= PAYS and size <= _MUCH):
            return (self._by_code,)
        if size <= _MUCH:
            return (self._tried, self._by_code)
        # Either way copies the memory, which must not take longer than the run.
        pays = self._last * _BYTES_OF_A_STEP > size if self._last else _nested(self._op) > 1
        return (self._by_code,) if pays else ()

    def _tried(self, run: Run, frame: Frame) -> bool:
        """Run the function in the executor for some time. Return False, with nothing changed, if it has not reached its
        end by then.
        """
        slots, segment = frame.slots.copy(), frame.segment
        if self._trial.run(run, frame, memories_of(_arguments(frame))):
            return True
        frame.slots[:], frame.segment = slots, segment
        run.kept.clear()
        return False

    def _by_code(self, run: Run, frame: Frame) -> bool:
        """Run the machine code. Return False, with nothing changed, if the code cannot be made or stopped early."""
        results = self._code.run(run, _arguments(frame), 0)
        if results is None:
            run.kept.clear()
            return False
        run.results = results
        return True


class Called:
    """A function with nested loops that the executor calls: machine code may save time even for one call of it."""

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self._code = _Code(store, op)
        self._trial = CompileTrial()
        self._store = store
        self._op = op

    def run(self, run: Run, arguments: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
        """Return the results, or None if the executor has to run the function."""
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
        """Whether machine code of the function may be worthwhile."""
        if not llvm.installed() or _nested(self._op) < 2 or not self._code.may_pay:
            return False
        # The memory of globals stays when code stops.
        reached = _reached(self._store, self._op)
        return all(each.name != "memref.get_global" for function in reached for each in function.walk())


def _nested(op: Operation) -> int:
    """Return the depth to which loops are nested."""
    inside = max(map(_nested, op.children), default=0)
    return inside + (op.name in _LOOPS)


def _arguments(frame: Frame) -> list[Any]:
    return [frame.slots[slot] for slot in frame.segment.arguments]


def is_promising(store: CodeStore, op: Operation) -> bool:
    """Tell whether a function may run for long and can probably be compiled, with all functions that it calls."""
    long = any(each.regions or each.successors or each.name == "func.call" for each in op.walk() if each is not op)
    return long and is_covered(store, op)


def is_covered(store: CodeStore, op: Operation, others: tuple[type[ty.Type], ...] = ()) -> bool:
    """Tell whether machine code probably covers all ops of a function and of those that it calls. ``others``: types of
    values that it must not have.
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
    types = op.types
    if any(isinstance(type_, others) or not _held(type_) for type_ in types):
        return False
    by_executor = isinstance(evaluator, OnValues) and is_silent(op)
    return by_executor or isinstance(evaluator, Constant | Elementwise) or getattr(evaluator, "words", None) is not None


def _held(type_: ty.Type) -> bool:
    return isinstance(type_, ty.MemRefType) or count_of(type_) is not None


def _reached(store: CodeStore, op: Operation) -> list[Operation]:
    """Return a function, those that it calls, those that these call, and so on."""
    found = [op]
    for function in found:
        targets = dict.fromkeys(target for each in function.walk() for target in _called(store, each))
        found += [target for target in targets if target is not None and target not in found]
    return found


def _called(store: CodeStore, op: Operation) -> Iterator[Operation | None]:
    if op.name == "func.call":
        symbol = op.prop("callee", SymbolRefAttr)
        yield store.module.lookup(symbol, op)
