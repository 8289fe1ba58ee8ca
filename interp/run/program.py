"""Compiled modules: a function is compiled at its first call and kept with its module."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from halfulp.fp_formats.paths import llvm
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, UndefinedBehavior
from halfulp.interp.ir.operations import Module, Operation, result_types
from halfulp.interp.ir.types import concrete
from halfulp.interp.run import frames
from halfulp.interp.run.compiler import FunctionCompiler
from halfulp.interp.run.evaluators import Launched, MachineCall, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, FunctionCode, Outside, Run, lift, lower
from halfulp.interp.run.settings import Settings, recording_outside
from halfulp.interp.run.stochastic import Draws, OpNumbers
from halfulp.interp.run.tiering import Called, Entered
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import ranked
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel, Origins
from halfulp.semantics.profile import Profile
from halfulp.semantics.random_sources import Words


class CompiledModule:
    """A module compiled for one set of settings, each function at its first call."""

    def __init__(self, module: Module, settings: Settings) -> None:
        self.module = module
        self.settings = settings
        self.kernels: dict[Profile, dict[Any, Kernel]] = {}
        self._made: dict[Any, Any] = {}
        self._functions: dict[tuple[Operation, type[FunctionCompiler]], FunctionCode] = {}
        self._lock = threading.RLock()

    def function(self, op: Operation) -> FunctionCode:
        """Return the code of a function with a body."""
        return self.compiled(op, FunctionCompiler)

    def compiled(self, op: Operation, compiler: type[FunctionCompiler]) -> FunctionCode:
        """Return the code that a compiler makes for a function with a body; each is made once."""
        code = self._functions.get((op, compiler))
        if code is None:
            with self._lock:
                code = self._functions.get((op, compiler))
                if code is None:
                    with PausedCollector():
                        code = self._functions[op, compiler] = compiler(self, op).compile()
        return code

    def run(
        self, op: Operation, arguments: Sequence[Any], outside: Outside | None = None, number: int = 0
    ) -> tuple[Value, ...]:
        """Call a function with `Value`s (or buffers) of its argument types and return its results, `Value`s.

        ``outside``: gives the results of ops that no dialect has, and of calls of declarations to which no function is
        bound; without it they are Unsupported. ``number``: the number of the run, for its random bits. Raises the
        errors of `halfulp.interp.ir.errors`.
        """
        if outside is not None and self.settings.recorder is not None:
            outside = recording_outside(self.settings.recorder, outside)
        evaluator = evaluator_of(op)
        if isinstance(evaluator, Launched):
            return evaluator.launch(self, op, arguments, outside)
        run = Run(self.settings, outside=outside)
        run.draws = self.draws(number)
        execute = run.execute
        if outside is None:
            execute = partial(self.made((op, Entered), lambda: Entered(self, op)).execute, run)
        return self.finish(op, run, Frame(self.function(op), run, None, (), None), arguments, execute)

    def draws(self, number: int | Words) -> Draws | None:
        """Return the source of random bits for the run with this number, or for lanes that stand for runs with these
        numbers. None if no random bits are needed.
        """
        source = self.settings.source
        if source is None:
            return None
        return Draws(source, self.made(OpNumbers, lambda: OpNumbers(self.module)), number)

    def called(self, op: Operation) -> MachineCall | None:
        """Return the machine code of a function that another function calls; None if machine code does not save time
        for it.
        """
        called: Called = self.made((op, Called), lambda: Called(self, op))
        return called.run if called.promising else None

    def made(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the object that the program stores under a key. ``make`` makes it the first time."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found

    def finish(
        self,
        op: Operation,
        run: Run,
        frame: Frame,
        arguments: Sequence[Any],
        execute: Callable[[Frame], None] | None = None,
    ) -> tuple[Value, ...]:
        """Execute a run from its first frame, a call of ``op`` with these arguments, and return the results.
        ``execute``: the function that runs the frame; by default the executor.

        Results share no memory with the arguments, and each result has its own table of poison origins.
        """
        for number, (slot, value) in enumerate(zip(frame.segment.arguments, arguments, strict=True)):
            frame.slots[slot] = lower(self._argument(run, number, value))
        for listener in self.settings.listeners:
            listener.run_will_start(op, arguments)
        try:
            (execute or run.execute)(frame)
        except UndefinedBehavior as error:
            if run.origins.place:
                error.message += f", at iteration {list(run.origins.place)}"
            raise
        except MemoryError as error:
            raise LimitExceeded("the machine does not have enough memory for this program") from error
        finally:
            frames.forget(run)
        return tuple(
            self._result(run, slot, type_, arguments) for slot, type_ in zip(run.results, result_types(op), strict=True)
        )

    def _argument(self, run: Run, number: int, value: Any) -> Any:
        if self.settings.recorder is not None:
            value = self.settings.recorder.argument(number, value)
        if isinstance(value, Value) and value.poison is not None and value.origins is not None:
            return Value(
                value.type, value.bits, run.origins.adopt(value.poison, value.origins), value.open, run.origins
            )
        return value

    def _result(self, run: Run, slot: Any, type_: ty.Type, arguments: Sequence[Any]) -> Any:
        if isinstance(type_, ty.TupleType):
            return tuple(
                self._result(run, each, part, arguments) for each, part in zip(slot, type_.elements, strict=True)
            )
        held = lift(slot, type_)
        value = held.load() if isinstance(held, Buffer) else held
        if not isinstance(value, Value):
            # A pointer or an aggregate: the caller knows what it stands for.
            return value
        if isinstance(type_, ty.MemRefType):
            type_ = ty.TensorType(value.shape[value.over_lanes :], value.element_type)
        if isinstance(type_, ty.DialectType) and type_.width is None:
            type_ = value.type  # such as a shape, which is an array of its sizes
        bits = value.bits
        if any(isinstance(a, Value) and np.may_share_memory(a.bits, bits) for a in arguments):
            bits = bits.copy()
        origins = poison = None
        if value.poison is not None:
            assert value.origins is not None
            origins = Origins()
            poison = origins.adopt(value.poison, value.origins)
        type_ = ranked(type_, value.shape[1:]) if value.over_lanes else concrete(type_, value.shape)
        return Value(type_, bits, poison, value.open, origins)


_compiled: WeakSet[Module] = WeakSet()
_programs_lock = threading.Lock()


def _forget_programs() -> None:
    with _programs_lock:
        for module in _compiled:
            module.programs.clear()
        _compiled.clear()


llvm.on_change(_forget_programs)


_names: WeakKeyDictionary[Module, frozenset[str]] = WeakKeyDictionary()


def _names_in(module: Module) -> frozenset[str]:
    """Return the names by which a module can ask for Python functions: the names of its ops and of its declarations."""
    names = _names.get(module)
    if names is None:
        ops = list(module.walk())
        declared = (op.symbol_name or "" for op in ops if not any(region.blocks for region in op.regions))
        named = {
            evaluator.external(op)
            for op in ops
            if isinstance(evaluator := evaluator_of(op), OnValues) and evaluator.external is not None
        }
        names = _names[module] = frozenset(declared) | {op.name for op in ops} | named
    return names


def program_for(module: Module, settings: Settings) -> CompiledModule:
    """Return the module compiled for these settings, and keep it: the module must not be changed once it has run.

    Raises InputError if a profile rounds stochastically but there is no source of random bits, or the reverse.
    """
    llvm.check()
    settings.check_source()
    if settings.externals:
        # Functions that the module cannot ask for change nothing: users register some for all modules.
        asked = _names_in(module)
        used = {name: function for name, function in settings.externals.items() if name in asked}
        settings = replace(settings, externals=used)
    if settings.listeners or settings.externals or settings.recorder is not None:
        return CompiledModule(module, settings)
    key = settings.key()
    with _programs_lock:
        program: CompiledModule | None = module.programs.get(key)
        if program is None:
            program = module.programs[key] = CompiledModule(module, settings)
            _compiled.add(module)
        return program
