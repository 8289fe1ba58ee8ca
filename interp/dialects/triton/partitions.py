"""Warps that do different work: the partitions of ttg.warp_specialize, and the barriers by which they wait for each
other.

The parts of the op, its default region and the partitions, take turns. One runs until it waits for a phase of a barrier
that has not ended; then the next one that can go on does, in the order of the text. So a run is the same each time, and
a program without races computes what it computes on the GPU. Copies and products that run beside the program are done
at once, and then count at their barrier.

A barrier is a number of 64 bits in shared memory, as in PTX (mbarrier): it counts the arrivals and the bytes that its
phase still needs. A module without the op has one part, whose barriers need no counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from halfulp.interp.dialects.regions import yielded
from halfulp.interp.dialects.triton import descriptors, dots, local
from halfulp.interp.dialects.triton.encodings import blocks_of
from halfulp.interp.dialects.triton.local import OnSlots, memory_block, segmented
from halfulp.interp.dialects.triton.types import context_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation, SSAValue, undefined, unsupported
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues, PerOp, moves
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings

# --- barriers ---------------------------------------------------------------------------------------------------------

_MOST = (1 << 20) - 1
"""The most arrivals, and the most bytes, that a phase of a barrier counts."""


class _Barrier(NamedTuple):
    """A barrier: the arrivals that each phase needs, those that this phase still needs, the bytes that have to arrive
    too (fewer than none if they came before they were expected), and the parity of the phase.
    """

    needed: int
    pending: int
    bytes: int = 0
    parity: int = 0

    @classmethod
    def read(cls, op: Operation, block: local.Block) -> _Barrier:
        """Return the barrier in a block of memory. Raises UndefinedBehavior if there is none."""
        if block.poison.any():
            raise undefined(op, "the barrier was not initialised")
        code = int(block.bits.reshape(-1)[0])
        pending, bytes_ = code >> 20 & _MOST, code >> 40 & 2 * _MOST + 1
        return cls(code & _MOST, pending, bytes_ - (bytes_ >> 20 << 21), code >> 61)

    def write(self, block: local.Block) -> None:
        """Write the barrier to a block of memory."""
        bytes_ = self.bytes & 2 * _MOST + 1
        block.bits[...] = self.needed | self.pending << 20 | bytes_ << 40 | self.parity << 61
        block.poison[...] = 0

    def after(self, op: Operation, arrivals: int, more: int) -> _Barrier:
        """Return the barrier after some arrivals, and with so many bytes more to wait for. Raises UndefinedBehavior if
        it cannot count them.
        """
        pending, bytes_ = self.pending - arrivals, self.bytes + more
        if pending < 0:
            raise undefined(op, f"{arrivals} arrivals at a barrier whose phase needs only {self.pending} more")
        if not -_MOST <= bytes_ <= _MOST:
            raise undefined(op, f"a phase of a barrier counts at most {_MOST} bytes, not {abs(bytes_)}")
        if pending or bytes_:
            return self._replace(pending=pending, bytes=bytes_)
        return _Barrier(self.needed, self.needed, 0, self.parity ^ 1)

    @property
    def missing(self) -> str:
        """What the phase still needs, in words."""
        return f"{self.pending} of {self.needed} arrivals and {self.bytes} bytes are missing"


def _counts(op: Operation, slot: Any, arrivals: int, more: int = 0) -> None:
    """Count arrivals, and bytes to wait for, at the barrier in a slot."""
    block = memory_block(op, slot)
    _Barrier.read(op, block).after(op, arrivals, more).write(block)


def _holds(op: Operation, slots: Sequence[Any]) -> bool:
    """Tell whether a predicate, which may be absent, is true."""
    return not slots or descriptors.number(op, slots[0], ty.I1, "the predicate") != 0


def _check_alike(op: Operation) -> None:
    """Raise Unsupported for an op that not all blocks of a cluster do alike: then one count does for all."""
    for name in ("fromCTA", "multicastCTA"):
        if name in op.properties and (op.number(name) or name == "fromCTA"):
            raise unsupported(op, f"{name}, by which blocks of a cluster arrive at the barriers of others, is not run")


def _counting(act: Callable[[Operation, Sequence[Any]], None]) -> OnValues:
    """Return the evaluator of an op on a barrier that has no results."""

    def build(op: Operation, settings: Settings) -> OnSlots:
        _check_alike(op)

        def run(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
            act(op, slots)
            return ()

        return run

    return OnValues(build, raw=True, no_lanes=True)


def _init(op: Operation, slots: Sequence[Any]) -> None:
    count = op.number("count")
    if count > _MOST:
        raise undefined(op, f"a barrier counts at most {_MOST} arrivals, not {count}")
    _Barrier(count, count).write(memory_block(op, slots[0]))


def _invalidate(op: Operation, slots: Sequence[Any]) -> None:
    block = memory_block(op, slots[0])
    _Barrier.read(op, block)
    block.poison[...] = 1


def _expect(op: Operation, slots: Sequence[Any]) -> None:
    """To expect bytes is to arrive too (`mbarrier.arrive.expect_tx`)."""
    if _holds(op, slots[1:]):
        _counts(op, slots[0], 1, op.number("size"))


def _arrive(op: Operation, slots: Sequence[Any]) -> None:
    if _holds(op, slots[1:]):
        _counts(op, slots[0], op.number("count"))


def _arrive_of_copies(op: Operation, slots: Sequence[Any]) -> None:
    """Each thread arrives when its copies have ended; without the flag it adds its arrival to the count before."""
    if "noIncrement" in op.properties:
        context = context_of(op)
        _counts(op, slots[0], (context.warps or 1) * context.lanes)


def _commit(op: Operation, slots: Sequence[Any]) -> None:
    (barrier,), predicate, _ = segmented(op, slots)
    if _holds(op, predicate):
        _counts(op, barrier, 1)


def _then(evaluator: OnValues, act: Callable[[Operation, Sequence[Sequence[Any]]], None]) -> OnValues:
    """Return the evaluator of an op that counts at barriers when it has ended. ``act``: gets the slots by operands."""

    def build(op: Operation, given: Any) -> OnSlots:
        _check_alike(op)
        first = evaluator.build(op, given)

        def run(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
            made = first(run, tuple(slots))
            act(op, segmented(op, slots))
            return made

        return run

    return OnValues(build, raw=True, no_lanes=True, of_module=evaluator.of_module)


def _copied(op: Operation, given: Sequence[Sequence[Any]]) -> None:
    """A copy brings all bytes of the part that a block of the cluster has, also those outside of the tensor."""
    *_, (barrier,), (_,), predicate = given
    if _holds(op, predicate):
        type_ = local.block_type(op)
        assert isinstance(type_.encoding, DialectAttr)
        parts = 1 << sum(any(basis) for basis in blocks_of(type_.encoding))
        _counts(op, barrier, 0, -(prod(type_.shape) * ty.width_of(type_.element) // 8 // parts))


def _multiplied(op: Operation, given: Sequence[Sequence[Any]]) -> None:
    """The product arrives once at each of its barriers; neither of the predicates may be false."""
    *_, predicate, barriers, wanted = given
    if _holds(op, predicate):
        for barrier, each in zip(barriers, wanted, strict=True):
            if _holds(op, [each]):
                _counts(op, barrier, 1)


# --- parts ------------------------------------------------------------------------------------------------------------


class _Wait(NamedTuple):
    """What a part waits for: the phase with this parity of a barrier."""

    op: Operation
    block: local.Block
    parity: int

    @property
    def ended(self) -> bool:
        return _Barrier.read(self.op, self.block).parity != self.parity

    def __str__(self) -> str:
        barrier = self.op.operands[0]
        held = _Barrier.read(self.op, self.block)
        return f"for phase {self.parity} of the barrier {_named(barrier)} ({held.missing}) at {self.op.location}"


def _named(value: SSAValue) -> str:
    return f"%{value.name}" if value.name else f"of type '{value.type}'"


@dataclass
class _Part:
    """A part of a ttg.warp_specialize: its name, the frame that goes on when it is its turn, and what it waits for."""

    name: str
    frame: Frame
    wait: _Wait | None = None
    ended: bool = False

    @property
    def can_go_on(self) -> bool:
        return not self.ended and (self.wait is None or self.wait.ended)


@dataclass
class _Turns:
    """The parts of a ttg.warp_specialize that runs, and the number of the one whose turn it is. ``frame``: that of the
    op, which goes on at ``after`` when all have ended.
    """

    op: Operation
    frame: Frame
    parts: list[_Part] = field(default_factory=list)
    at: int = 0
    after: Segment | None = None

    def next(self, run: Run) -> None:
        """Give the turn to the next part that can go on. Raises UndefinedBehavior if all wait."""
        count = len(self.parts)
        for step in range(1, count + 1):
            place = (self.at + step) % count
            part = self.parts[place]
            if part.can_go_on:
                self.at, part.wait, run.frame = place, None, part.frame
                return
        if all(part.ended for part in self.parts):
            assert self.after is not None
            del run.kept[_TURNS]
            self.frame.segment, run.frame = self.after, self.frame
            return
        raise _deadlock([(f"{part.name} waits", part.wait) for part in self.parts if part.wait is not None])

    def wait(self, run: Run, frame: Frame, wait: _Wait, after: Segment) -> None:
        """Let the part whose turn it is wait, and go on at ``after``."""
        part = self.parts[self.at]
        frame.segment, part.frame, part.wait = after, frame, wait
        self.next(run)

    def end(self, run: Run) -> None:
        """End the part whose turn it is."""
        self.parts[self.at].ended = True
        self.next(run)


_TURNS = "the partitions that take turns"


def _deadlock(waits: Sequence[tuple[str, _Wait]]) -> UndefinedBehavior:
    """Return the error for parts that wait for each other. ``waits``: what each does, in words."""
    op = waits[0][1].op
    error = undefined(op, "a deadlock: " + "; ".join(f"{words} {wait}" for words, wait in waits))
    error.hint = "on a GPU the kernel does not end: let another part arrive at the barrier, or wait for the other phase"
    return error


def _wait(op: Operation, compiler: Compiler) -> Action:
    _check_alike(op)
    operands, after = compiler.slots(op.operands), compiler.after()

    def wait(frame: Frame) -> Segment | None:
        slots = frame.slots
        (barrier,), (phase,), predicate, _ = segmented(op, [slots[slot] for slot in operands])
        if not _holds(op, predicate):
            return after
        parity = descriptors.number(op, phase, ty.I32, "the phase") & 1
        waited = _Wait(op, memory_block(op, barrier), parity)
        if waited.ended:
            return after
        run: Run = slots[0]
        turns: _Turns | None = run.kept.get(_TURNS)
        if turns is None:
            raise _deadlock([("the program, which has only one part here, waits", waited)])
        turns.wait(run, frame, waited, after)
        return None

    return wait


def _specialize(op: Operation, compiler: Compiler) -> Action:
    """The parts run in frames that share their slots with that of the op, in which each has its own."""
    _check_alike(op)
    (holder,) = op.regions[1].blocks[0].operations
    captures, finish = compiler.slots(holder.operands), compiler.resume(op)

    def ending(sources: Sequence[int]) -> Action:
        def end(frame: Frame) -> None:
            run: Run = frame.slots[0]
            run.kept[_TURNS].end(run)

        return end

    def yielding(sources: Sequence[int]) -> Action:
        finished = finish(sources)

        def yield_(frame: Frame) -> None:
            run: Run = frame.slots[0]
            turns: _Turns = run.kept[_TURNS]
            turns.after = finished(frame)
            turns.end(run)

        return yield_

    default = compiler.region(op.regions[0], yielding)
    others = [compiler.region(region, ending) for region in holder.regions]
    passed = [moves(captures, other.arguments) for other in others]

    def start(frame: Frame) -> Segment:
        turns = _Turns(op, frame, [_Part("the default region", frame)])
        for number, (other, steps) in enumerate(zip(others, passed, strict=True)):
            for step in steps:
                step(frame.slots)
            own = copy(frame)
            own.segment = other
            turns.parts.append(_Part(f"partition{number}", own))
        frame.slots[0].kept[_TURNS] = turns
        return default

    return start


# --- tables -----------------------------------------------------------------------------------------------------------


def _specialized(op: Operation) -> bool:
    """Tell whether the module of an op has parts that wait for each other."""
    while op.parent_op is not None:
        op = op.parent_op
    return any(each.name == "ttg.warp_specialize" for each in op.walk())


def _in_parts(plain: Any, in_parts: Any) -> PerOp:
    return PerOp(lambda op: in_parts if _specialized(op) else plain)


OF_TTG: Mapping[str, Any] = {
    "warp_specialize": OnFrames(_specialize, no_lanes=True),
    "warp_yield": OnFrames(yielded, no_lanes=True),
    "warp_return": OnFrames(yielded, no_lanes=True),
}
"""The evaluators of the ops of ttg on partitions."""

_PLAIN: Mapping[str, Any] = {
    **local.OF_TTNG,
    "warp_group_dot": dots.DOT,
    "tc_gen5_mma": dots.MMA,
    "tc_gen5_mma_scaled": dots.SCALED_MMA,
}
_COPY = "async_tma_copy_global_to_local"
_WITH_BARRIERS: Mapping[str, Any] = {
    "init_barrier": _counting(_init),
    "inval_barrier": _counting(_invalidate),
    "barrier_expect": _counting(_expect),
    "arrive_barrier": _counting(_arrive),
    "async_copy_mbarrier_arrive": _counting(_arrive_of_copies),
    "tc_gen5_commit": _counting(_commit),
    "wait_barrier": OnFrames(_wait, no_lanes=True),
    _COPY: _then(_PLAIN[_COPY], _copied),
    **{name: _then(_PLAIN[name], _multiplied) for name in ("tc_gen5_mma", "tc_gen5_mma_scaled")},
}
OF_TTNG: Mapping[str, Any] = {
    **_PLAIN,
    **{name: _in_parts(_PLAIN[name], evaluator) for name, evaluator in _WITH_BARRIERS.items()},
}
"""The evaluators of the ops of ttng."""
