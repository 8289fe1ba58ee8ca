"""Run two versions of a function on the same inputs: scalar functions in lanes, all others one input at a time.

Inputs that are undefined, endless or not supported cost little. In lanes, one run finds all lanes that are undefined at
an op; alone, all runs share a budget of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from halfulp.conformance.whole_programs.arguments import Arguments, Part
from halfulp.conformance.whole_programs.printed import (
    Output,
    Printed,
    UnknownFunctions,
    is_uninterpreted,
    prints,
    silent,
)
from halfulp.conformance.whole_programs.signatures import Carrier, Signature
from halfulp.fp_formats.formats import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    LimitExceeded,
    OutOfSteps,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import lanes_of, over_lanes, repeated
from halfulp.interp.values.value import Value

MAX_STEPS = 200_000
"""Most steps of one run: generated inputs may make a loop endless."""

BATCH_STEPS = 5_000
"""Most steps of one run in lanes; the lanes that have not ended run alone."""

ENDLESS_RUNS = 2
"""The number of runs of most steps that do not end. Then runs are short: at most 10 times the longest that ended."""

SHORT_STEPS = 1_000
"""The steps that a short run has at least."""

ALL_RUNS = 20
"""The steps of all runs of one input are at most those of this number of runs of most steps."""

ROUNDS = 64
"""Most runs in lanes, each without the lanes that were undefined before."""

ENDLESS_ROUNDS = 2
"""Most runs in lanes that take too many steps."""

REFUSED = 16
"""After this many inputs that are not supported, and none that is, no further ones are tried."""


@dataclass(frozen=True)
class Ran:
    """The results of several inputs, then the contents of memory after the run, over lanes; and what was printed."""

    values: tuple[Value, ...]
    printed: tuple[Printed, ...] = ()


Outcome = Ran | HalfulpError


@dataclass(frozen=True)
class Piece:
    """Some inputs of a part, by number, and what both versions do with them. None: the first is undefined."""

    part: Part
    rows: npt.NDArray[np.intp]
    before: Outcome
    after: Outcome | None


class Version:
    """One version of a function, ready to run."""

    def __init__(
        self,
        module: Module,
        function: Operation,
        settings: Settings,
        watched: bool,
        unknown: UnknownFunctions | None = None,
    ) -> None:
        self.function = function
        self._unknown = unknown
        self.output = Output() if watched else None
        if self.output is not None:
            settings = replace(settings, listeners=(self.output,))
        self._alone = program_for(module, settings)
        self._lanes = program_for(module, replace(settings, max_steps=min(settings.max_steps, BATCH_STEPS)))

    def in_lanes(self, arguments: Sequence[Value], active: Mask) -> tuple[Value, ...]:
        """Run the active lanes. Raises the errors of `run_batch`."""
        return run_batch(self._lanes, self.function, arguments, len(active), active)

    def alone(self, arguments: Sequence[Value | Buffer], steps: int, number: int) -> tuple[tuple[Value, ...], int]:
        """Run input ``number``. Return the results, and the number of steps. Raises HalfulpError."""
        run = Run(self._alone.settings)
        if self.output is not None:
            self.output.items = []
            run.outside = None if self._unknown is None else self._unknown(number, self.output.items)
        run.steps = steps
        frame = Frame(self._alone.function(self.function), run, None, (), None)
        try:
            return self._alone.finish(self.function, run, frame, arguments), steps - run.steps
        except LimitExceeded as error:
            if run.steps < 0:
                raise OutOfSteps(f"the program ran more than {steps} ops", location=error.location) from None
            raise

    @property
    def printed(self) -> tuple[Printed, ...]:
        """Return the text and values that the last run printed."""
        return () if self.output is None else tuple(self.output.items)


@dataclass
class _Settled:
    """Lanes after their runs: ``stopped`` by an error, ``left`` to be run alone, or ``done`` with results."""

    done: Mask
    left: Mask
    stopped: list[tuple[Mask, HalfulpError]]
    results: tuple[Value, ...] = ()


class _Budget:
    """The steps that the runs of single inputs may take."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._endless = ENDLESS_RUNS * most
        self._left = ALL_RUNS * most
        self._longest = 0

    @property
    def is_long(self) -> bool:
        """True while a run that the limit of steps stopped counts as one that never ends."""
        return self._endless > 0

    @property
    def steps(self) -> int:
        """The most steps of the next run."""
        return self._most if self.is_long else min(self._most, max(SHORT_STEPS, 10 * self._longest))

    @property
    def spent(self) -> str:
        """Why no further input is run; "" while some are."""
        return "" if self._left > 0 else f"the inputs before took {ALL_RUNS * self._most:,} steps"

    def ended(self, steps: int) -> None:
        """Note a run that ended."""
        self._longest = max(self._longest, steps)
        self._left -= steps

    def endless(self, steps: int) -> None:
        """Note a run that did not end."""
        self._endless -= steps
        self._left -= steps


class TwoRuns:
    """The runs of both versions. ``skipped``: inputs that were not compared, by the reason."""

    def __init__(
        self,
        before: tuple[Module, Operation],
        after: tuple[Module, Operation],
        arguments: Arguments,
        signature: Signature,
        settings: Settings,
        unknown: UnknownFunctions | None = None,
    ) -> None:
        watched = any(prints(*version) or (unknown and is_uninterpreted(*version)) for version in (before, after))
        settings = replace(settings, write=silent, track_open=True)
        self._first, self._settings = before, replace(settings, track_open=False)
        self.before = Version(*before, settings, watched, unknown)
        self.after = Version(*after, settings, watched, unknown)
        self.skipped: Counter[str] = Counter()
        self._arguments = arguments
        self._signature = signature
        self._carrier = Carrier(signature, after[1])
        self._together = not watched and not any(
            isinstance(each.target, ty.MemRefType) for each in (*signature.arguments, *signature.results)
        )
        self._budget = _Budget(settings.max_steps)
        # Consecutive inputs that were not supported, from the first on; -1 once one was. The reason of the last skip.
        self._refused = 0
        self._reason = ""

    def pieces(self) -> Iterator[Piece]:
        """Yield all inputs that are not skipped, some at a time, with the outcome of both versions."""
        for part in self._arguments.parts:
            if self._together and part.has_lanes and part.count > 1:
                yield from self._in_lanes(part)
            else:
                yield from self._alone(part, range(part.count))

    def recorded(self, part: Part, row: int) -> tuple[Lineage, tuple[Value, ...]]:
        """Run one input by the first version and record the lineage of its outputs. Raises HalfulpError."""
        lineage, values = Lineage(), part.fresh(row)
        program = program_for(self._first[0], replace(self._settings, recorder=lineage))
        results = program.run(self._first[1], values)
        return lineage, (*results, *(each.load() for each in values if isinstance(each, Buffer)))

    # --- in lanes ---

    def _in_lanes(self, part: Part) -> Iterator[Piece]:
        arguments = part.lanes()
        first = _settled(self.before, arguments, np.ones(part.count, np.bool_))
        for mask, error in first.stopped:
            yield Piece(part, np.flatnonzero(mask), error, None)
        alone = first.left
        if first.done.any():
            carried = [each.to_target(value) for each, value in zip(self._signature.arguments, arguments, strict=True)]
            second = _settled(self.after, carried, first.done)
            for mask, error in second.stopped:
                rows = np.flatnonzero(mask)
                yield Piece(part, rows, _of_rows(first.results, rows, part.count), error)
            rows = np.flatnonzero(second.done)
            if len(rows):
                expected = _of_rows(first.results, rows, part.count)
                given = _of_rows(second.results, rows, part.count).values
                yield Piece(part, rows, expected, Ran(self._carrier.returned(given)))
            alone = alone | second.left
        yield from self._alone(part, np.flatnonzero(alone).tolist())

    # --- alone ---

    def _alone(self, part: Part, rows: Sequence[int]) -> Iterator[Piece]:
        for done, row in enumerate(rows):
            if self._refused < REFUSED and not self._budget.spent:
                yield from self._one(part, row)
                continue
            self.skipped[self._budget.spent or self._reason] += len(rows) - done
            return

    def _one(self, part: Part, row: int) -> Iterator[Piece]:
        values = part.fresh(row)
        memory = [value for value in values if isinstance(value, Buffer)]
        rows = np.array([row])
        before, used = self._outcome(self.before, values, row)
        if isinstance(before, UndefinedBehavior | AssertionFailed):
            self._refused = -1
            yield Piece(part, rows, before, None)
            return
        if isinstance(before, HalfulpError):
            self._skip(before, "")
            return
        expected = one_lane((*before, *(buffer.load() for buffer in memory))), self.before.printed
        given, long = self._carrier.given(part, row), self._budget.is_long
        after, _ = self._outcome(self.after, given, row, 10 * used)
        if isinstance(after, Unsupported) or (isinstance(after, LimitExceeded) and not long):
            self._skip(after, "second version: ")
            return
        self._refused = -1
        found: Outcome
        if isinstance(after, HalfulpError):
            found = after
        else:
            found = Ran(one_lane(self._carrier.outputs(given, after)), self.after.printed)
        yield Piece(part, rows, Ran(*expected), found)

    def error_of(self, part: Part, row: int) -> HalfulpError | None:
        """Return the error that the second version ends with for one input, if any."""
        outcome, _ = self._outcome(self.after, self._carrier.given(part, row), row)
        return outcome if isinstance(outcome, HalfulpError) else None

    def _skip(self, error: HalfulpError, which: str) -> None:
        self._reason = which + error.message
        self.skipped[self._reason] += 1
        if isinstance(error, Unsupported) and self._refused >= 0:
            self._refused += 1

    def _outcome(
        self, version: Version, values: Sequence[Value | Buffer], number: int, least: int = 0
    ) -> tuple[tuple[Value, ...] | HalfulpError, int]:
        """Run input ``number`` with the steps that it may take, at least ``least``, and return their number too."""
        steps = max(self._budget.steps, least)
        try:
            results, used = version.alone(values, steps, number)
        except LimitExceeded as error:
            self._budget.endless(steps)
            return error, steps
        except (UndefinedBehavior, AssertionFailed, Unsupported) as error:
            return error, 0
        self._budget.ended(used)
        return results, used


def _settled(version: Version, arguments: Sequence[Value], active: Mask) -> _Settled:
    """Run lanes until all that are left return: each round leaves out the lanes that stopped the one before."""
    nothing, endless = np.zeros(len(active), np.bool_), 0
    found = _Settled(nothing, nothing, [])
    for _ in range(ROUNDS):
        if not active.any():
            return found
        try:
            results = version.in_lanes(arguments, active)
        except (UndefinedBehavior, AssertionFailed, LimitExceeded) as error:
            hit = nothing.copy()
            if error.lanes is not None:
                hit[error.lanes] = True
            hit &= active
            endless += isinstance(error, LimitExceeded)
            if not hit.any() or endless > ENDLESS_ROUNDS:  # the error does not say which, or each time other ones
                break
            if isinstance(error, LimitExceeded):
                found.left = found.left | hit
            else:
                found.stopped.append((hit, error))
            active = active & ~hit
        except Unsupported:  # an op that lanes cannot run together
            break
        else:
            found.done, found.results = active, results
            return found
    found.left = found.left | active
    return found


def _of_rows(values: Sequence[Value], rows: npt.NDArray[np.intp], count: int) -> Ran:
    """Return the values of some lanes; values that are the same for all lanes are repeated."""
    full = [value if over_lanes(value) else repeated(value, count) for value in values]
    return Ran(tuple(full if len(rows) == count else [lanes_of(value, rows) for value in full]))


def one_lane(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of one input as values over lanes."""
    return tuple(repeated(value, 1) for value in values)
