"""Functions of a program as Python: made once, and called with values and buffers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from halfulp.fp_formats.paths import cpu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled.context import Context
from halfulp.interp.run.compiled.copies import Copy, memories_of
from halfulp.interp.run.compiled.python_emitter import OBJECT
from halfulp.interp.run.compiled.python_lowering import MeetsNan, PythonProgram, types_of
from halfulp.interp.run.compiler import CodeStore
from halfulp.interp.run.frames import Run
from halfulp.interp.run.signature import result_types
from halfulp.interp.values.buffers import Allocation, Buffer

_BASE = 4
"""The parts of a memref that stand for its memory."""


class PythonContext(Context):
    """One run of Python code."""

    def memory(self, base: Any) -> Allocation:
        """See `Context`."""
        return base  # type: ignore[no-any-return]

    def addresses(self, memory: Allocation) -> tuple[Any, ...]:
        """Return memory, and views of its codes, of these as numbers of f32 or f64, and of its poison."""
        bits, poison = memory.bits, memory.poison
        numbers = bits.view(f"f{bits.itemsize}").data if bits.itemsize in (4, 8) else None
        return memory, bits.data, numbers, None if poison is None else poison.data

    def made(self, memory: Allocation) -> tuple[Any, ...]:
        """See `Context`. Memory that is not freed goes as soon as nothing refers to it."""
        return self.addresses(memory)

    def free(self, by: str, base: Any) -> tuple[int, ...] | None:
        """See `Context`. Freed memory stays to the end of the run, and counts."""
        self.count(self.memory(base))
        return super().free(by, base)

    def buffer(self, type_: ty.MemRefType, words: Sequence[Any]) -> Buffer:
        """See `Context`."""
        offset, *rest = words[_BASE:]
        rank = len(rest) // 2
        return Buffer(type_, words[0], offset, tuple(rest[:rank]), tuple(rest[rank:]))

    def parts(self, buffer: Buffer) -> list[Any]:
        """See `Context`."""
        return [*self.addresses(buffer.allocation), buffer.offset, *buffer.shape, *buffer.strides]


def _cells() -> tuple[Any, ...]:
    """Return the cells of a run; see `halfulp.interp.run.compiled.python_lowering.CELLS`."""
    single, double = array("f", [0.0]), array("d", [0.0])
    return memoryview(single).cast("B").cast("I"), single, memoryview(double).cast("B").cast("Q"), double


class PythonFunction:
    """A function as Python, for arguments that are clean. Raises NotCompiled if the function cannot be compiled."""

    def __init__(self, store: CodeStore, op: Operation) -> None:
        self.op = op
        self.settings = store.settings
        self._store = store
        self._outputs = result_types(op)
        self._writes = False
        # A CPU that flushes subnormals does so also where it reads a number of f32 as one of f64.
        self._ways = [self._made(keeps_numbers=cpu.keeps_subnormals())]

    def _made(self, keeps_numbers: bool) -> Callable[..., Any]:
        program = PythonProgram(self._store, keeps_numbers)
        function = program.lower(self.op)
        self._writes = self._writes or program.writes
        return function

    def call(self, run: Run, arguments: Sequence[Any], depth: int = 0) -> tuple[Any, ...] | None:
        """Return the results as slots hold them. None where the executor has to run the function from its start: then
        all memory is as it was. The steps of the run are counted. ``depth``: the calls around this one.
        """
        memories = memories_of(arguments)
        before = [Copy(memory) for memory in memories] if self._writes else []
        kept = run.kept.copy()
        try:
            for _ in range(2):
                context = PythonContext(run, ())
                words = context.words(arguments)
                if words is None:
                    return None
                try:
                    steps, *found = self._ways[-1](
                        context, _cells(), run.steps, self.settings.max_depth - depth, *words
                    )
                except MeetsNan:
                    _put_back(run, before, kept)
                    self._ways.append(self._made(keeps_numbers=False))
                    continue
                if not context.untouched():
                    break
                run.steps = steps
                return tuple(self._results(context, found))
        except Exception:
            # A stop, an error in an op, a store to constant memory, too many calls: the executor says what is wrong.
            pass
        _put_back(run, before, kept)
        return None

    def _results(self, context: PythonContext, words: list[Any]) -> list[Any]:
        results: list[Any] = []
        for type_ in self._outputs:
            parts = types_of(type_, self.settings)
            # A word of one bit may be a bool.
            held = [word if part == OBJECT else int(word) for word, part in zip(words, parts, strict=False)]
            words = words[len(parts) :]
            results.append(context.slot(type_, held))
        return results


def _put_back(run: Run, before: Sequence[Copy], kept: dict[Any, Any]) -> None:
    """Restore memory, and what ops keep for the whole run."""
    for copy in before:
        copy.put_back()
    run.kept.clear()
    run.kept.update(kept)
