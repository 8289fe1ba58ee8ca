"""What a run does, step by step: every op with its place, its values, where poison was born, where control went.

A trace listens to a run. It keeps a bounded number of steps, however long the run is, and of large values a summary.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded, UndefinedBehavior, spell_place
from halfulp.interp.ir.operations import Blob, Block, BlockArgument, Module, Operation, OpResult, SSAValue
from halfulp.interp.run.events import Listener
from halfulp.interp.run.executor import Limits
from halfulp.interp.run.function_attributes import profile_of
from halfulp.interp.values.value import Value
from halfulp.runtime import Source, find_entry, load, run
from halfulp.semantics.poison import Origin
from halfulp.semantics.profile import Profile, as_profile
from halfulp.traces.values import WHOLE, TracedValue, look_at

MOST_ROWS = 5000
"""So many steps are kept unless one says otherwise."""
_MOST_LAST = 200
_MOST_MARKED = 200
_LONGEST_LINE = 400
_MOST_PRINTED = 1 << 24
"""A program without text is printed to be shown, if its constants have no more bytes than this."""

_CALLS = ("func.call", "func.call_indirect")
_LOOPS = ("scf.for", "scf.while")
_WAYS: Mapping[str, Mapping[bool | None, str | None]] = {
    "scf.if": {True: "then", False: "else", None: None},
    "scf.condition": {True: "goes on", False: "ends", None: None},
}
"""Where a condition, the first operand, lets an op go; None for poison."""


@dataclass(slots=True, eq=False)
class Site:
    """An op of the program, apart from its runs.

    ``line``: in the text that the trace shows; None where there is none. ``source``: that line. ``place``:
    ``file:line:column`` by the op's location. ``nesting``: ops with regions around it in its function. ``runs``: how
    often it ran; ``births``: how many elements became poison in it. ``operands``, ``results``: names.
    """

    op: str
    line: int | None
    source: str
    place: str
    function: str
    nesting: int
    operands: tuple[str, ...]
    results: tuple[str, ...]
    runs: int = 0
    births: int = 0


@dataclass(slots=True, eq=False)
class Birth:
    """Poison that a step made: the reason and the first element (``origin``), and how many elements."""

    origin: Origin
    count: int


@dataclass(slots=True, eq=False)
class Step:
    """One row of a trace: an op that ran; or, where ``ends``, the end of a call or of an op with regions.

    ``number``: counts from 1. ``depth``: how many calls deep. ``births``: poison born here. ``undefined``: what is
    undefined about it, where it is, or why it failed. ``branch``: where control went: a block, a function, then or
    else. ``trips``: of a loop, as far as it came. ``lanes``: in a batch, the lanes that ran it, where it was not all:
    how many, and the first few.
    """

    number: int
    site: Site
    depth: int
    ends: bool = False
    operands: tuple[TracedValue, ...] = ()
    results: tuple[TracedValue, ...] = ()
    births: tuple[Birth, ...] = ()
    undefined: str | None = None
    branch: str | None = None
    trips: int | None = None
    lanes: tuple[int, tuple[int, ...]] | None = None

    @property
    def op(self) -> str:
        """The name of the op."""
        return self.site.op

    @property
    def location(self) -> str:
        """``file:line:column``, or empty."""
        return self.site.place

    @property
    def line(self) -> int | None:
        """The line of the source that the trace shows."""
        return self.site.line

    @property
    def source(self) -> str:
        """The text of that line."""
        return self.site.source

    @property
    def function(self) -> str:
        """The function that the op is in."""
        return self.site.function

    @property
    def where(self) -> str:
        """Where control went, in words; empty for most ops."""
        parts = [self.branch] if self.branch else []
        if self.trips is not None:
            parts.append(f"{self.trips} trip{'s'[: self.trips != 1]}")
        return ", ".join(parts)

    @property
    def lanes_text(self) -> str:
        """The lanes in words; empty where all ran it."""
        if self.lanes is None:
            return ""
        count, first = self.lanes
        if count > len(first):
            return f"{count} lanes, the first is {first[0]}"
        return f"lane{'s'[: count > 1]} {', '.join(map(str, first))}"


@dataclass(eq=False)
class Trace:
    """A run as it went: print it, or show it in a notebook; `html` makes a page of it, `save_npz` a folder.

    ``function``: the one that was called. ``profile``: that of the run; ``profiles``: by function, those of
    functions that ran and whose attributes ask for another. ``mma``: the model of matrix units. ``arguments``: its
    arguments. ``steps``: those that were kept: the first ones, the last ones, and of those between, some in which
    poison was born. ``rows``: how many steps there were; ``executed``: how many ops ran. ``results``: of the run;
    none where ``error`` stopped it. ``lines``: the source that is shown; the first is line number ``first_line``.
    ``sites``: the ops that ran.
    """

    file: str
    function: str
    profile: str
    profiles: dict[str, str] = field(default_factory=dict)
    mma: str = "exact"
    arguments: tuple[TracedValue, ...] = ()
    steps: list[Step] = field(default_factory=list)
    rows: int = 0
    executed: int = 0
    results: tuple[Value, ...] = ()
    error: HalfulpError | None = None
    lines: list[str] = field(default_factory=list)
    first_line: int = 1
    sites: list[Site] = field(default_factory=list)

    @property
    def numerics(self) -> str:
        """The profile and, where it is not the default, the model of matrix units."""
        return f"profile {self.profile}" + (f", matrix units {self.mma}" if self.mma != "exact" else "")

    def __str__(self) -> str:
        from halfulp.traces.text import text_lines

        return "\n".join(text_lines(self))

    def __repr__(self) -> str:
        ended = "" if self.error is None else f", stopped by {type(self.error).__name__}"
        return f"<Trace of {self.function}: {self.executed} ops{ended}>"

    def _repr_html_(self) -> str:
        from halfulp.traces.page import fragment

        return fragment(self)

    def html(self) -> str:
        """A page of its own: one file that needs nothing else."""
        from halfulp.traces.page import page

        return page(self)

    def save_npz(self, directory: str | os.PathLike[str]) -> None:
        """Write the values that the trace keeps: ``values.npz`` with raw codes, and ``index.json``.

        Large values are there if the trace was made with ``keep=True``. Raises InputError.
        """
        from halfulp.traces.npz_folder import Archive

        with Archive(directory) as archive:
            archive.finish(self)

    def births(self) -> Mapping[tuple[str, str, str], int]:
        """By op, place and reason: the number of the step in which poison was first born."""
        first: dict[tuple[str, str, str], int] = {}
        for step in self.steps:
            for birth in step.births:
                first.setdefault((birth.origin.op, birth.origin.location, birth.origin.reason), step.number)
        return first

    def gaps(self) -> Iterator[tuple[int, Step | None]]:
        """The steps that were kept, each with how many before it were not; at the end None, where some are missing."""
        number = 0
        for step in self.steps:
            yield step.number - number - 1, step
            number = step.number
        if self.rows > number:
            yield self.rows - number, None


Note = Callable[[SSAValue, TracedValue, Any], None]
"""Told of every value of a step that is certain to be kept, while it is there."""


class Recorder(Listener):
    """The listener behind a trace. ``limit``: how many steps are kept; ``keep``: keep large values as well."""

    def __init__(
        self, module: Module, trace: Trace, profile: Profile, limit: int, keep: bool, note: Note | None
    ) -> None:
        self.module = module
        self.trace = trace
        self.profile = profile
        self.keep = keep
        self.note = note
        last = min(-(-limit // 5), _MOST_LAST)
        self._first = limit - last
        self._last: deque[Step] = deque(maxlen=last)
        self._marked: list[Step] = []
        self._sites: dict[Operation, Site] = {}
        self._shown = _shown_module(module, trace)
        # By op and depth of calls: the step at which a loop began.
        self._loops: dict[tuple[Operation, int], Step] = {}
        # How many lanes have yet to return from each call.
        self._calls: list[int] = []
        self._lanes: npt.NDArray[np.intp] | None = None
        self._all_lanes = 0
        self._current: Step | None = None
        # By identity of their codes, as long as these live: operands are mostly results of steps before.
        self._large: dict[int, tuple[weakref.ref[Any], TracedValue]] = {}

    # --- what listeners are told ---

    def run_will_start(self, function: Operation, arguments: Sequence[Any]) -> None:
        """The function that was called, with its arguments."""
        shown = self._shown(function) or function
        parameters = shown.regions[0].blocks[0].arguments
        looked = [self._look(_name(value), given) for value, given in zip(parameters, arguments, strict=True)]
        self.trace.arguments = tuple(looked)
        self._tell(parameters, looked, arguments)

    def lanes(self, numbers: npt.NDArray[np.intp]) -> None:
        """These lanes run what follows."""
        self._lanes = numbers
        self._all_lanes = self._all_lanes or len(numbers)

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """A step begins."""
        site = self._site(op)
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
        """A step has its results; the end of a call, and of an op with regions, is a step of its own."""
        step = self._current
        if not results or step is None:
            return
        site = self._site(op)
        if step.site is not site or step.ends:
            step = self._add(site, ends=True)
        looked = [self._look(name, value) for name, value in zip(site.results, results, strict=True)]
        step.results = tuple(looked)
        self._tell(op.results, looked, results)

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """Poison was born in the step."""
        self._site(op).births += count
        if self._current is not None:
            self._current.births += (Birth(origin, count),)
            self._mark(self._current)

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """The step is undefined."""
        if self._current is not None:
            self._current.undefined = report.message
            self._mark(self._current)

    def branch(self, op: Operation, target: Block) -> None:
        """The step passes control on."""
        if self._current is not None:
            self._current.branch = f"^{target.label}" if target.label else f"^bb{_place_of(target)}"

    # --- steps ---

    def _look(self, name: str, slot: Any) -> TracedValue:
        if slot.__class__ is not Value or slot.bits.size <= WHOLE:
            return look_at(name, slot, self.keep)
        key = id(slot.bits)
        held = self._large.get(key)
        if held is not None and held[0]() is slot.bits:
            return held[1].named(name)
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
        """A step that is worth keeping, also where it is neither among the first nor among the last."""
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
        """The first op of a block runs: another trip, where it is the body of a loop."""
        around = op.parent_op
        if around is not None and around.name in _LOOPS and op.parent is around.regions[-1].blocks[0]:
            loop = self._loops.get((around, len(self._calls)))
            if loop is not None and loop.trips is not None:
                loop.trips += 1

    def finish(self) -> None:
        """Put together the steps that are kept."""
        kept = self.trace.steps
        last = list(self._last)
        begin = last[0].number if last else self.trace.rows + 1
        kept += [step for step in self._marked if self._first < step.number < begin]
        kept += last
        self.trace.sites = [site for site in self._sites.values() if site.runs]
        error = self.trace.error
        # Which op was about to run when a limit was reached, no event says.
        if error is not None and not isinstance(error, LimitExceeded) and self._current is not None:
            self._current.undefined = self._current.undefined or error.message

    # --- places and names ---

    def _site(self, op: Operation) -> Site:
        site = self._sites.get(op)
        if site is None:
            site = self._sites[op] = self._new_site(op)
        return site

    def _new_site(self, op: Operation) -> Site:
        shown = self._shown(op)
        position = None if shown is None else shown.position
        line = None if position is None else position.line
        nesting, around = -1, op
        while around.name != "func.func" and around.parent_op is not None:
            nesting, around = nesting + 1, around.parent_op
        named = op if shown is None else shown
        name = f"@{around.symbol_name}"
        profile = profile_of(around, self.profile)
        if profile is not self.profile:
            self.trace.profiles[name] = profile.name
        return Site(
            op.name,
            line,
            op.name if line is None else self._line(line, op),
            spell_place(op.location),
            name,
            nesting,
            tuple(_name(value) for value in named.operands),
            tuple(_name(value) for value in named.results),
        )

    def _line(self, number: int, op: Operation) -> str:
        lines, first = self.trace.lines, self.trace.first_line
        text = lines[number - first].strip() if first <= number < first + len(lines) else ""
        # A terminator that the text leaves out has the place of the op around it.
        if op.name.rpartition(".")[2] not in text:
            return op.name
        return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3]}..."


def _decided(operands: Sequence[Any]) -> bool | None:
    """The condition, first among the operands of an op that decides; None where it is poison."""
    value = operands[0]
    clean = isinstance(value, Value) and value.poison is None and value.bits.size
    return bool(value.bits.flat[0]) if clean else None


def _place_of(block: Block) -> int:
    return 0 if block.parent is None else block.parent.blocks.index(block)


def _name(value: SSAValue) -> str:
    if isinstance(value, OpResult):
        siblings = value.owner.results
        if len(siblings) > 1 and siblings[0].name == siblings[1].name:
            return f"%{value.name or '?'}#{value.index}"
        return f"%{value.name or '?'}"
    if isinstance(value, BlockArgument) and value.name is None:
        return f"%arg{value.index}"
    return f"%{value.name or '?'}"


def _shown_module(module: Module, trace: Trace) -> Callable[[Operation], Operation | None]:
    """Which op of the text that is shown each op is; the text goes to the trace.

    A program that was no text, such as bytecode, is printed, and read back to know the lines.
    """
    if module.source is not None and module.text is not None:
        trace.lines = module.text.split("\n")
        trace.first_line = module.source.start[0]
        return lambda op: op
    from halfulp.interp.text.parser import parse_module
    from halfulp.interp.text.printer import print_module

    if _constant_bytes(module) > _MOST_PRINTED:
        return lambda op: None
    try:
        text = print_module(module)
        printed = parse_module(text, module.filename)
    except HalfulpError:
        return lambda op: None
    pairs = dict(zip(module.walk(), printed.walk(), strict=False))
    trace.lines = text.split("\n")
    return pairs.get


def _constant_bytes(module: Module) -> int:
    """How many bytes the constants of a program take, about as many as half its text."""
    attributes = (value for op in module.walk() for value in (*op.properties.values(), *op.attributes.values()))
    resources = (entry for entries in module.resources.dialect.values() for entry in entries.values())
    return sum(getattr(getattr(attribute, "codes", None), "nbytes", 0) for attribute in attributes) + sum(
        len(entry.data) for entry in resources if isinstance(entry, Blob)
    )


def trace(
    module: Module | Source,
    *arguments: Any,
    entry: str | None = None,
    profile: Profile | str = "spec",
    on_ub: Literal["raise", "poison"] = "raise",
    index_width: Literal[64, 32] = 64,
    vscale: int | None = None,
    externals: Mapping[str, Callable[..., Any]] | None = None,
    batch: bool = False,
    mma: str = "exact",
    swizzle: Literal["hint", "physical"] = "hint",
    check_hints: bool = False,
    limit: int = MOST_ROWS,
    keep: bool = False,
    npz: str | os.PathLike[str] | None = None,
    max_steps: int = Limits().steps,
    max_depth: int = Limits().depth,
    max_bytes: int = Limits().bytes,
) -> Trace:
    """Run a function as `run` does, and note every op that runs: its line, its values, poison, where control goes.

    ``limit``: how many steps are kept; of a longer run the first, the last, and some in which poison was born.
    ``keep``: keep large values too, not only their summaries: as much memory as all of them take. ``npz``: a folder to
    write the values to while the program runs. Of a large buffer each step notes the beginning only, with
    ``keep`` all of it. Everything else is as for `run`.

    A program that stops, because it is undefined or for another reason, has a trace up to there, with the error in
    ``Trace.error``. Raises the errors of `run` for what is wrong before the first op runs, InputError where the folder
    cannot be written, ValueError for a limit below 1.
    """
    from halfulp.traces.npz_folder import Archive, no_archive

    if limit < 1:
        raise ValueError(f"limit is {limit}, but must be at least 1")
    if not isinstance(module, Module):
        module = load(module)
    function = find_entry(module, entry)
    profile = as_profile(profile)
    traced = Trace(module.filename, f"@{function.symbol_name}", profile.name, mma=mma)
    with no_archive() if npz is None else Archive(npz) as archive:
        recorder = Recorder(module, traced, profile, limit, keep, None if archive is None else archive.note)
        try:
            traced.results = run(
                module,
                *arguments,
                entry=entry,
                profile=profile,
                on_ub=on_ub,
                index_width=index_width,
                vscale=vscale,
                externals=externals,
                listeners=[recorder],
                batch=batch,
                mma=mma,
                swizzle=swizzle,
                check_hints=check_hints,
                max_steps=max_steps,
                max_depth=max_depth,
                max_bytes=max_bytes,
            )
        except HalfulpError as error:
            if not traced.rows:
                raise
            traced.error = error
        recorder.finish()
        if archive is not None:
            archive.finish(traced)
    return traced
