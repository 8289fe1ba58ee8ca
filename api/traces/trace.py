"""Trace a run step by step: every op with its place and values, the origins of poison, and the branches taken.

The listener keeps a bounded number of steps, however long the run, and summaries of large values.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded, UndefinedBehavior
from halfulp.interp.ir.operations import Block, Module, Operation, SSAValue
from halfulp.interp.run.settings import Listener
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.values.value import Value
from halfulp.loading import Runnable, program_of
from halfulp.running import TraceKeywords, find_entry, run_options, run_with, takes
from halfulp.semantics.kernel import Origin
from halfulp.semantics.profile import Profile
from halfulp.traces.error_text import Site, SiteNames, labelled
from halfulp.traces.record import Archive, Trace
from halfulp.traces.steps import Birth, Step, is_unwritten
from halfulp.traces.values import MOST_SHOWN, TracedValue, look_at

MOST_ROWS = 5000
"""The number of steps that a trace keeps by default."""
_MOST_LAST = 200
_MOST_MARKED = 200
_CALLS = ("func.call", "func.call_indirect")
_LOOPS = ("scf.for", "scf.while")
_WAYS: Mapping[str, Mapping[bool | None, str | None]] = {
    "scf.if": {True: "then", False: "else", None: None},
    "scf.condition": {True: "goes on", False: "ends", None: None},
}
"""The two ways in which an op can continue, by its first operand, the condition; None if it is poison."""
Note = Callable[[SSAValue, TracedValue, Any], None]
"""A function that gets every value of a step that the trace will keep, while the value exists."""
FiguresOf = Callable[[Operation], ShadowFigures | None]


class Recorder(Listener):
    """The listener that makes the record of a trace. ``limit``: how many steps are kept; ``keep``: keep large values as
    well; ``taken``: in a run with shadows, a function that returns the errors that an op made since its last call.
    """

    def __init__(
        self,
        module: Module,
        trace: Trace,
        profile: Profile,
        limit: int,
        keep: bool,
        note: Note | None,
        taken: FiguresOf | None = None,
    ) -> None:
        self.module = module
        self.trace = trace
        self.keep = keep
        self.note = note
        self._taken = taken
        last = min(-(-limit // 5), _MOST_LAST)
        self._first = limit - last
        self._last: deque[Step] = deque(maxlen=last)
        self._marked: list[Step] = []
        self.names: SiteNames = SiteNames(module, profile)
        trace.lines, trace.first_line, trace.profiles = self.names.lines, self.names.first_line, self.names.profiles
        # By op and depth of calls: the step at which a loop began.
        self._loops: dict[tuple[Operation, int], Step] = {}
        # For each call, the number of lanes that have not returned yet.
        self._calls: list[int] = []
        self._lanes: npt.NDArray[np.intp] | None = None
        self._all_lanes = 0
        self._current: Step | None = None
        # By the identity of their codes, as long as these live: operands are mostly results of earlier steps.
        self._large: dict[int, tuple[weakref.ref[Any], TracedValue]] = {}

    # --- what listeners are told ---

    def run_will_start(self, function: Operation, arguments: Sequence[Any]) -> None:
        """Record the function that was called, with its arguments."""
        shown = self.names.shown(function) or function
        self.trace.function_line = None if shown.position is None else shown.position.line
        parameters = shown.regions[0].blocks[0].arguments
        looked = [self._look(labelled(value), given) for value, given in zip(parameters, arguments, strict=True)]
        self.trace.arguments = tuple(looked)
        self._tell(parameters, looked, arguments)

    def lanes(self, numbers: npt.NDArray[np.intp]) -> None:
        """Record the lanes that run the next ops."""
        self._lanes = numbers
        self._all_lanes = self._all_lanes or len(numbers)

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """Begin a step."""
        site = self.names.site(op)
        site.runs += 1
        self.trace.executed += 1
        looked = [self._look(name, value) for name, value in zip(site.operands, operands, strict=True)]
        step = self._add(site, operands=tuple(looked))
        self._tell(op.operands, looked, operands)
        if op.parent is not None and op.parent.operations[0] is op:
            self._enter(op)
        if op.regions or op.name in _CALLS:
            self._begin(op, step, operands)
        elif op.name == "scf.condition":
            step.branch = _WAYS[op.name][_decided(operands)]
        elif op.name == "func.return" and self._calls:
            self._calls[-1] -= 1 if self._lanes is None else len(self._lanes)
            if self._calls[-1] <= 0:
                self._calls.pop()

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Record the results of a step. The end of a call, and of an op with regions, is a separate step."""
        step = self._current
        errors = None if self._taken is None else self._taken(op)
        if step is None or (not results and errors is None):
            return
        site = self.names.site(op)
        if step.site is not site or step.ends:
            step = self._add(site, ends=True)
        step.errors = errors
        looked = [self._look(name, value) for name, value in zip(site.results, results, strict=True)]
        step.results = tuple(looked)
        self._tell(op.results, looked, results)

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """Record that poison first appeared in the step."""
        birth = Birth(origin, count)
        listed = not is_unwritten(birth)
        self.names.site(op).births += count if listed else 0
        if self._current is not None:
            self._current.births += (birth,)
            if listed:
                self._mark(self._current)

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """Record that the step has undefined behaviour."""
        if self._current is not None:
            self._current.undefined = report.message
            self._mark(self._current)

    def branch(self, op: Operation, target: Block) -> None:
        """Record the block to which the step passes control."""
        if self._current is not None:
            self._current.branch = f"^{target.label}" if target.label else f"^bb{_place_of(target)}"

    # --- steps ---

    def _look(self, name: str, slot: Any) -> TracedValue:
        if slot.__class__ is not Value or slot.bits.size <= MOST_SHOWN:
            return look_at(name, slot, self.keep)
        key = id(slot.bits)
        held = self._large.get(key)
        if held is not None and held[0]() is slot.bits:
            return replace(held[1], name=name)
        seen = look_at(name, slot, self.keep)
        self._large[key] = weakref.ref(slot.bits, lambda _: self._large.pop(key, None)), seen
        return seen

    def _add(self, site: Site, operands: tuple[TracedValue, ...] = (), ends: bool = False) -> Step:
        self.trace.rows += 1
        step = Step(self.trace.rows, site, len(self._calls), ends, operands)
        if self._lanes is not None and len(self._lanes) < self._all_lanes:
            step.lanes = len(self._lanes), tuple(self._lanes[:4].tolist())
        if len(self.trace.steps) < self._first:
            self.trace.steps.append(step)
        else:
            self._last.append(step)
        self._current = step
        return step

    def _mark(self, step: Step) -> None:
        """Keep a step, even if it is neither among the first nor among the last."""
        if step.number > self._first and len(self._marked) < _MOST_MARKED and self._marked[-1:] != [step]:
            self._marked.append(step)

    def _tell(self, values: Sequence[SSAValue], looked: Sequence[TracedValue], slots: Sequence[Any]) -> None:
        if self.note is not None and self.trace.rows <= self._first:
            for row in zip(values, looked, slots, strict=True):
                self.note(*row)

    def _begin(self, op: Operation, step: Step, operands: Sequence[Any]) -> None:
        if op.name in _CALLS:
            target = self._callee(op, operands)
            if target is not None:
                step.branch = f"@{target.symbol_name}"
                if target.regions[0].blocks:
                    self._calls.append(1 if self._lanes is None else len(self._lanes))
        elif op.name in _WAYS:
            step.branch = _WAYS[op.name][_decided(operands)]
        elif op.name in _LOOPS and self._lanes is None:
            step.trips = 0
            self._loops[op, len(self._calls)] = step

    def _callee(self, op: Operation, operands: Sequence[Any]) -> Operation | None:
        symbol = op.properties.get("callee")
        if isinstance(symbol, at.SymbolRefAttr):
            return self.module.lookup(symbol, op)
        return getattr(operands[0], "op", None)

    def _enter(self, op: Operation) -> None:
        """Record that the first op of a block runs. If the block is the body of a loop, this is one more trip."""
        around = op.parent_op
        if around is not None and around.name in _LOOPS and op.parent is around.regions[-1].blocks[0]:
            loop = self._loops.get((around, len(self._calls)))
            if loop is not None and loop.trips is not None:
                loop.trips += 1

    def finish(self) -> None:
        """Join the kept steps to one list."""
        kept = self.trace.steps
        last = list(self._last)
        begin = last[0].number if last else self.trace.rows + 1
        kept += [step for step in self._marked if self._first < step.number < begin]
        kept += last
        self.trace.sites = [site for site in self.names.all if site.runs]
        error = self.trace.error
        # No event tells which op was about to run when a limit was reached.
        if error is not None and not isinstance(error, LimitExceeded) and self._current is not None:
            self._current.undefined = self._current.undefined or error.message


def _decided(operands: Sequence[Any]) -> bool | None:
    """Return the condition, the first operand of an op that decides; None if it is poison."""
    value = operands[0]
    clean = isinstance(value, Value) and value.poison is None and value.bits.size
    return bool(value.bits.flat[0]) if clean else None


def _place_of(block: Block) -> int:
    return 0 if block.parent is None else block.parent.blocks.index(block)


@takes(TraceKeywords)
def trace(
    module: Runnable,
    *arguments: Any,
    n: int = MOST_ROWS,
    keep: bool = False,
    npz: str | os.PathLike[str] | None = None,
    shadow: bool | str = False,
    **options: Unpack[TraceKeywords],
) -> Trace:
    """Run a function as `run` does, and record every op: its line, its values, its poison, and the branches taken.

    ``n``: the number of steps to keep. Of a longer run, the trace keeps the first steps, the last steps, and some in
    which poison first appeared.
    ``keep``: True to keep large values whole, which needs memory for all of them. Otherwise only a summary of a large
    value is kept, and only the beginning of a large buffer.
    ``npz``: a folder to which the values are written while the program runs.
    ``shadow``: True to run also with exact real numbers: `Trace.errors`, `Trace.worst` and `Trace.explain_error` give
    the errors of results, and the ops that cause them. ``shadow="f64"`` and ``"f128"`` are faster: they use numbers of
    that format in place of exact numbers, without bounds on their errors.

    {options}

    If the program stops with an error, for example because its behaviour is undefined, the trace ends at that op and
    has the error in ``Trace.error``. Raises the errors of `run` that occur before the first op runs, InputError if the
    folder cannot be written, ValueError for an ``n`` below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}, but must be at least 1")
    module, arguments = program_of(module, arguments)
    chosen = run_options("trace", TraceKeywords, options)
    function = find_entry(module, chosen.function)
    traced = Trace(module.filename, f"@{function.symbol_name}", chosen.profile.name, mma=chosen.model)
    with nullcontext() if npz is None else Archive(npz) as archive:
        note = None if archive is None else archive.note
        beside = None
        if shadow:
            from halfulp.traces.error_report import BesideReals

            beside = BesideReals(module, arguments, chosen, shadow if isinstance(shadow, str) else "")
        taken = None if beside is None else beside.taken
        recorder = Recorder(module, traced, chosen.profile, n, keep, note, taken)
        try:
            if beside is None:
                traced.results = run_with(module, arguments, replace(chosen, listeners=(recorder,)))
            else:
                traced.results = beside.run(recorder)
        except HalfulpError as error:
            if not traced.rows:
                raise
            traced.error = error
        recorder.finish()
        if beside is not None:
            traced.errors = beside.report(recorder.names.site)
        if archive is not None:
            archive.finish(traced)
    return traced
