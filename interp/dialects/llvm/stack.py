"""The memory of a function's frame: alloca, stacksave, stackrestore, and the return that frees it."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from halfulp.interp.dialects.func.ops import RETURN
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.llvm import layout
from halfulp.interp.dialects.llvm.access import alignment_of
from halfulp.interp.dialects.llvm.memory import AnyMemory, Memory, Pointer
from halfulp.interp.dialects.llvm.promises import guard_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import LimitExceeded, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import number


class _Stack(NamedTuple):
    """The memory of all frames, oldest first, and the frames that have some, each with how much there was before.

    ``saved``: by what stacksave returned, its frame and how much memory there was.
    """

    memories: list[Memory]
    frames: list[tuple[Frame, int]]
    saved: WeakKeyDictionary[AnyMemory, tuple[Frame, int]]

    def cut(self, height: int, by: str) -> None:
        """Free what lies above a height."""
        for memory in self.memories[height:]:
            memory.release(by)
        del self.memories[height:]

    def drop(self, frame: Frame) -> None:
        """Free the memory of the calls that are over: an op that returns from a function of another dialect does not
        free it. ``frame``: the one that runs.
        """
        while self.frames and self.frames[-1][0] is not frame and self.frames[-1][0].depth >= frame.depth:
            self.cut(self.frames.pop()[1], "the return of its function")


def _stack(run: Run) -> _Stack:
    found: Any = run.kept.get("llvm stack")
    if found is None:
        found = run.kept["llvm stack"] = _Stack([], [], WeakKeyDictionary())
    return found  # type: ignore[no-any-return]


def made_by(op: Operation, name: str = "") -> str:
    """Name what an op makes, and its place."""
    place = spell_place(op.location)
    return f"{name or op.name}{f' at {place}' if place else ''}"


def check_size(op: Operation, size: int, settings: Settings) -> None:
    """Refuse memory that is too large. Raises LimitExceeded."""
    if size > settings.max_bytes:
        raise LimitExceeded(
            f"{op.name}: {size} bytes of memory are asked for; the limit is {settings.max_bytes}",
            location=op.location,
            op=op.name,
            hint="raise the limit with max_bytes (--max-bytes)",
        )


def allocate(op: Operation, compiler: Compiler) -> Action:
    """Return the action of alloca: memory that is freed when the function returns."""
    element = op.properties["elem_type"]
    assert isinstance(element, at.TypeAttr)
    step, alignment = layout.size_of(element.type), alignment_of(op, element.type)
    (count,), (result,) = compiler.slots(op.operands), compiler.slots(op.results)
    given, settings, after = op.operands[0].type, compiler.settings, compiler.after()
    source = made_by(op)

    def make(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        size = step * number(frame.slots[count], given, op, "number of elements", settings, signed=False)
        check_size(op, size, settings)
        stack = _stack(run)
        stack.drop(frame)
        if not stack.frames or stack.frames[-1][0] is not frame:
            stack.frames.append((frame, len(stack.memories)))
        memory = Memory(source, size, alignment, run.origins)
        stack.memories.append(memory)
        frame.slots[result] = Pointer(memory, 0)
        return after

    return make


def leave(op: Operation, compiler: Compiler) -> Action:
    """Return the action of llvm.return."""
    plain = _guarded(op, compiler, RETURN.build(op, compiler))
    if not any(each.name == "llvm.alloca" for each in compiler.function.walk()):
        return plain
    by = made_by(op)

    def free(frame: Frame) -> Segment | None:
        stack = _stack(frame.slots[0])
        stack.drop(frame)
        if stack.frames and stack.frames[-1][0] is frame:
            stack.cut(stack.frames.pop()[1], by)
        return plain(frame)

    return free


def _guarded(op: Operation, compiler: Compiler, plain: Action) -> Action:
    """Return the action of a return that first holds the result to what the function promises of it."""
    function = compiler.function
    given = function.properties.get("res_attrs") if function.name == "llvm.func" and op.operands else None
    guard = guard_of(op, [(given, 0)], op.operands[0].type, f"the result of @{function.symbol_name}") if given else None
    if guard is None:
        return plain
    (slot,), hidden = compiler.slots(op.operands), compiler.hidden_slot()
    leaving = compiler.leaving((hidden,))

    def check(frame: Frame) -> Segment | None:
        frame.slots[hidden] = guard(frame.slots[0], frame.slots[slot])
        return leaving(frame)

    return check


def save(op: Operation, compiler: Compiler) -> Action:
    """Return the action of stacksave: a pointer that stands for the memory that the frame has now."""
    (result,) = compiler.slots(op.results)
    after, source = compiler.after(), made_by(op)

    def mark(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        memory = Memory(source, 0, 1, run.origins)
        stack = _stack(run)
        stack.drop(frame)
        stack.saved[memory] = frame, len(stack.memories)
        frame.slots[result] = Pointer(memory, 0)
        return after

    return mark


def restore(op: Operation, compiler: Compiler) -> Action:
    """Return the action of stackrestore: it frees what the frame has got since the pointer was made."""
    (saved,) = compiler.slots(op.operands)
    after, by = compiler.after(), made_by(op)

    def free(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        pointer = frame.slots[saved]
        stack = _stack(run)
        owner, height = stack.saved.get(pointer.memory, (None, 0)) if pointer.__class__ is Pointer else (None, 0)
        if owner is not frame:
            raise undefined(op, "the pointer is not from llvm.intr.stacksave of this call")
        stack.cut(height, by)
        return after

    return free
