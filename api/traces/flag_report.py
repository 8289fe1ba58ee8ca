"""The exception flags of a run: which ops raised which, for how many elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.display import table_lines
from halfulp.fp_formats.exact.core import FlagArray
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.recording import Ran, clear_marks, on_floats, same_ran, unmarked
from halfulp.interp.values.value import Value
from halfulp.loading import Source, load
from halfulp.run_options import RunKeywords, RunOptions, run_options, takes
from halfulp.running import find_entry, given_arguments, run_with
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.poison import PoisonIds
from halfulp.texts import flags_text
from halfulp.traces.site import OpRecord, Site, SiteNames, fields_of, shown_site

Counts = npt.NDArray[np.int64]

_BITS = np.array([flag.value for flag in Flags], np.uint8)


@dataclass(frozen=True)
class OpFlags(OpRecord):
    """The flags that one op of a program raised, over all of its runs.

    ``flags``: all of them. ``counts``: the number of elements that raised each. ``elements``: how many it computed;
    those with a poison operand raise nothing.
    """

    elements: int
    flags: Flags
    counts: dict[str, int]


@dataclass(frozen=True)
class FlagReport:
    """The exception flags of a run.

    ``results``: what the function returned. ``flags``: all flags that any op raised, as the sticky flags of a unit hold
    them. ``ops``: the ops that have flags, in the order of the run. ``unknown``: the names of the ops on floats whose
    flags are not known: those on whole values, such as tile operations, and functions outside of the program.
    """

    results: tuple[Value, ...]
    flags: Flags
    ops: tuple[OpFlags, ...]
    unknown: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the report as text: the flags of the run, and the ops that raised some."""
        raised = [each for each in self.ops if each.flags]
        lines = [f"flags: {flags_text(self.flags)}"]
        if raised:
            rows = [("line", "op", "elements", *(flags_text(flag) for flag in Flags))]
            rows += [
                (
                    "" if each.line is None else str(each.line),
                    each.source,
                    f"{each.elements:,}",
                    *(f"{each.counts[flags_text(flag)]:,}" if flag in each.flags else "" for flag in Flags),
                )
                for each in raised
            ]
            lines += ["", *table_lines(rows)]
        if self.unknown:
            lines += ["", f"not known: the flags of {', '.join(self.unknown)}"]
        return lines


def _counted(raised: FlagArray, operands: Sequence[Value], shape: tuple[int, ...]) -> Counts:
    """Return the number of elements of an op, and of those that raise each flag: none where an operand is poison."""
    poisoned = [operand.poisoned for operand in operands if operand.poison is not None]
    if not shape and not poisoned:
        return np.array([1, *(int(raised) & _BITS != 0)], np.int64)
    flags, clean = np.broadcast_to(raised, shape), np.ones(shape, np.bool_)
    for mask in poisoned:
        clean &= ~np.broadcast_to(mask, shape)
    return np.array([flags.size, *(np.count_nonzero((flags & bit != 0) & clean) for bit in _BITS)], np.int64)


@dataclass(eq=False, slots=True)
class _FlagRecorder(Lineage):
    """Count flags. The ids of a lineage, without its history, show which floats an op made without a record."""

    counts: dict[Ran, Counts] = field(default_factory=dict)
    unseen: dict[str, None] = field(default_factory=dict)
    _ran: dict[tuple[str, Operation], Ran] = field(default_factory=dict)

    def record(
        self,
        op: Operation,
        around: Operation,
        kernel: Kernel,
        location: Location,
        operands: Sequence[Value],
        codes: tuple[Codes, ...],
        results: tuple[Codes, ...],
        shape: tuple[int, ...],
        poison: PoisonIds | None,
        accumulator: int | None = None,
    ) -> tuple[Any, ...]:
        """See `halfulp.interp.run.recording.Recorder`."""
        if kernel.flags is not None:
            ran = same_ran(self._ran, op, around)
            found = self.counts.setdefault(ran, np.zeros(1 + len(Flags), np.int64))
            found += _counted(kernel.raised(*codes), operands, shape)
        elif on_floats(op) and kernel.real is None:
            self.unseen[op.name] = None
        # A dataclass with slots is made anew, and `super()` without arguments knows the class before.
        return Lineage.record(self, op, around, kernel, location, operands, codes, results, shape, poison, accumulator)

    def unknown(self, what: str, produced: Any) -> Any:
        """See `halfulp.interp.run.recording.Recorder`."""
        self.unseen[what] = None
        return Lineage.unknown(self, what, produced)

    def _add(self, make: Any, count: int) -> int:
        base = self._next
        self._next += count
        return base


@takes(RunKeywords)
def exception_flags(module: Module | Source, *arguments: Any, **options: Unpack[RunKeywords]) -> FlagReport:
    """Run a function, and return its results with the exception flags of all its ops: see `FlagReport`.

    ``module``, ``arguments``: as for `run`. ``options``: those of `run` but ``batch`` and ``signature``.

    Raises Unsupported for these two, and the errors of `run`.
    """
    loaded = module if isinstance(module, Module) else load(module)
    return flags_of_run(loaded, arguments, run_options("exception_flags", RunKeywords, options))


def flags_of_run(module: Module, arguments: Sequence[Any], options: RunOptions) -> FlagReport:
    """Return the report of a run with these options; see `exception_flags`."""
    function = find_entry(module, options.entry)
    if options.batch or options.signature is not None:
        what = "a batch" if options.batch else "a function that is called by another signature"
        raise Unsupported(f"{what} has no report of its flags", location=function.location)
    given, recorder = given_arguments(function, arguments, options), _FlagRecorder()
    try:
        results = run_with(module, given, replace(options, recorder=recorder))
    finally:
        clear_marks(given)
    site = SiteNames(module, options.profile).site
    rows = tuple(_row(shown_site(site, *ran), counts) for ran, counts in recorder.counts.items())
    return FlagReport(tuple(map(unmarked, results)), _union(row.flags for row in rows), rows, tuple(recorder.unseen))


def _row(site: Site, counts: Counts) -> OpFlags:
    elements, *numbers = counts.tolist()
    raised = dict(zip(Flags, numbers, strict=True))
    return OpFlags(
        *fields_of(site), site.function, elements,
        _union(flag for flag, count in raised.items() if count),
        {flags_text(flag): count for flag, count in raised.items()},
    )  # fmt: skip


def _union(flags: Iterable[Flags]) -> Flags:
    return reduce(or_, flags, Flags(0))
