"""Compare what a unit under test returns with what it must return, many transactions at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from halfulp.cocotb import signals
from halfulp.cocotb.reference import Reference
from halfulp.conformance.vectors.columns import Column, Role
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.models.running import RunningCoverage
from halfulp.conformance.vectors.row_check import VectorChecker
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.golden.report import Report
from halfulp.interp.ir.errors import InputError

BATCH = 1 << 12
"""The transactions that are computed at once."""


class Scoreboard:
    """The comparison of a unit under test with a `Reference`, transaction by transaction.

    `sent` takes the operands of a transaction, `received` the results of the oldest one that has none yet; `watch`
    calls both, from the signals of a design. `check` ends the comparison.

    ``batch``: the number of transactions that are computed at once. ``immediate``: compare each transaction when its
    results come, and raise AssertionError at the first that differs; otherwise `check` does.
    ``models``: coverage models, such as ["B1", "B3"], or "all" that apply: `coverage` says which of their buckets the
    operands have hit. ``any_nan``: accept every NaN if a NaN is expected. ``most``: the number of different
    transactions that the report shows in full. ``name``: the name of the unit in the report.

    Results that are poison, and bits that may have either value, do not count: a device may even return X for them.
    Raises InputError for models that do not apply.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        batch: int = BATCH,
        immediate: bool = False,
        models: str | Sequence[str] = (),
        any_nan: bool = False,
        most: int = 1,
        name: str = "device",
    ) -> None:
        self.reference, self.immediate, self.name = reference, immediate, name
        self._any_nan, self._most = any_nan, most
        self._pending: deque[tuple[int, ...]] = deque()
        self._rows: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._outputs: tuple[str, ...] = ()
        self._checker: VectorChecker | None = None
        self._notes = Notes()
        self._problem: str | None = None
        names = models.split(",") if isinstance(models, str) else tuple(models)
        self._coverage: RunningCoverage | None = None
        if any(names):
            if not isinstance(reference.computation, OpComputation):
                raise InputError("the models are about the rounding of one op, not about programs")
            self._coverage = RunningCoverage(reference.computation.case, names)
        period = VectorChecker(reference.computation, self._columns(reference.outputs)).period
        self._batch = max(batch // period, 1) * period

    def sent(self, *values: Any, **named: Any) -> None:
        """Take the operands of a transaction: codes or values of signals, in the order of the inputs or by name.

        Raises InputError for missing or unknown inputs, and for an X or Z.
        """
        codes = tuple(map(signals.code_of, self.reference.in_order(values, named)))
        for name, code in zip(self.reference.inputs, codes, strict=True):
            if isinstance(code, str):
                raise InputError(f"transaction {self.transactions + self.waiting}: the operand '{name}' is {code}")
        self._pending.append(self.reference.checked(codes))  # type: ignore[arg-type]

    def received(self, *values: Any, **named: Any) -> None:
        """Take the results of the oldest transaction without results: codes or values of signals, by name (as in
        ``result=…, flags=…``) or in the order of the outputs. An X or Z in a bit that counts is a difference.

        Raises AssertionError for results without a transaction and, if ``immediate``, for results that differ;
        InputError for unknown outputs, and codes of too many bits.
        """
        names = (*self.reference.outputs[: len(values)], *named)
        if names != self._outputs or not names:
            self._set_outputs(names)
        if not self._pending:
            self._problem = f"results came without a transaction, after {self.transactions:,} transactions"
            raise AssertionError(f"{self.name}: {self._problem}")
        inputs = self._pending.popleft()
        given = tuple(map(signals.code_of, (*values, *named.values())))
        unknown = {name: code for name, code in zip(names, given, strict=True) if isinstance(code, str)}
        if unknown:
            self._notes.unknown[self.transactions] = unknown
        codes = tuple(signals.known_bits(code) if isinstance(code, str) else code for code in given)
        self._rows.append((inputs, codes))
        if self.immediate and (unknown or not self._as_predicted(inputs, codes)):
            self._compare_at_once()
        elif len(self._rows) >= self._batch:
            self._flush()

    @property
    def transactions(self) -> int:
        """The number of transactions that have their results."""
        return len(self._rows) + (0 if self._checker is None else self._checker.found.rows)

    @property
    def waiting(self) -> int:
        """The number of transactions that wait for their results."""
        return len(self._pending)

    @property
    def coverage(self) -> RunningCoverage:
        """The buckets of the models that the run has hit so far. Raises InputError without models."""
        if self._coverage is None:
            raise InputError("the scoreboard has no models", hint='Scoreboard(reference, models="all")')
        self._flush(whole=True)
        return self._coverage

    def drop_waiting(self) -> None:
        """Forget the transactions that wait for their results, as a reset does."""
        self._pending.clear()

    def report(self) -> Report:
        """Return what was found so far, with the likely cause of differences."""
        self._flush()
        checker = self._checker or VectorChecker(self.reference.computation, self._columns(self.reference.outputs))
        found = checker.finish()
        problem = self._problem
        if problem is None and self.waiting:
            problem = f"{self.waiting:,} transactions have no results"
        if problem is None and not found.rows:
            problem = "there was no transaction"
        if problem is None and not found.compared:
            problem = "nothing was compared: every transaction has undefined behaviour"
        found.problem = None if problem is None else InputError(problem)
        return Report(found, self.reference.computation, self.name)

    def check(self) -> Report:
        """End the comparison. Return the report; raise AssertionError with its text if a transaction differs or lacks
        its results, or if there was none.
        """
        found = self.report()
        if not found.equal:
            raise AssertionError(f"\n{found}")
        return found

    async def watch(
        self,
        clock: Any,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        *,
        latency: int | None = None,
        valid_in: Any = None,
        ready_in: Any = None,
        valid_out: Any = None,
        ready_out: Any = None,
        reset: Any = None,
        reset_level: int = 1,
    ) -> None:
        """Watch a design for ever, at each rising edge of its clock: ``cocotb.start_soon(board.watch(…))``.

        ``inputs``, ``outputs``: the signals of the design by the names of the columns; outputs may be some of them.
        ``valid_in``, ``ready_in``: a transaction begins at an edge at which both are 1; without these signals, at each.
        ``valid_out``, ``ready_out``: results come, in the order of the transactions, at an edge at which both are 1.
        ``latency``: without ``valid_out``, the results of a transaction are those ``latency`` edges later (0: a
        combinational unit). With it, results at another edge raise AssertionError.
        ``reset``: while it has the value ``reset_level``, nothing counts, and waiting transactions are dropped.

        Signals are read as they are just before the edge. Raises InputError without ``latency`` and ``valid_out``,
        AssertionError for a handshake signal that is X after it was 0 or 1, and what `sent` and `received` raise.
        """
        await signals.watch(
            self, clock, inputs, outputs,
            signals.Handshake(latency, valid_in, ready_in, valid_out, ready_out, reset, reset_level),
        )  # fmt: skip

    # --- batches ------------------------------------------------------------------------------------------------------

    def _columns(self, outputs: Sequence[str]) -> tuple[Column, ...]:
        computation = self.reference.computation
        return (*computation.inputs, *(column for column in computation.outputs if column.name in outputs))

    def _set_outputs(self, names: tuple[str, ...]) -> None:
        computation = self.reference.computation
        known = [column.name for column in computation.outputs if column.role in (Role.RESULT, Role.FLAGS)]
        wrong = [name for name in names if name not in known]
        if wrong or not names:
            what = f"there is no output '{wrong[0]}'" if wrong else "no outputs are given"
            raise InputError(f"{what}: a unit has {', '.join(known)}, or some of them")
        if self._outputs and set(names) != set(self._outputs):
            raise InputError(
                f"the outputs {', '.join(names)} come after {', '.join(self._outputs)}: they cannot change"
            )
        if self._outputs:
            self._flush(whole=True)
        else:
            columns = self._columns(names)
            self._checker = VectorChecker(
                computation, columns, any_nan=self._any_nan, notes=self._notes, most=self._most
            )
        self._outputs = names

    def _as_predicted(self, inputs: tuple[int, ...], codes: Sequence[int]) -> bool:
        """Tell whether results have the predicted codes. If not, they may still be right."""
        made = self.reference.predict_one(inputs)
        return all(made[name] == code for name, code in zip(self._outputs, codes, strict=True))

    def _compare_at_once(self) -> None:
        assert self._checker is not None
        before = self._checker.found.differing
        self._flush(whole=True)
        if self._checker.found.differing > before:
            raise AssertionError(f"\n{self.report()}")

    def _flush(self, whole: bool = False) -> None:
        """Compare the transactions that have results. ``whole``: only whole groups of parameters, if an op has some."""
        checker = self._checker
        if checker is None:
            return
        count = len(self._rows) - (len(self._rows) % checker.period if whole else 0)
        if not count:
            return
        rows, self._rows = self._rows[:count], self._rows[count:]
        inputs = [row[0] for row in rows]
        made = dict(zip(self._outputs, zip(*(row[1] for row in rows), strict=True), strict=True))
        outputs = []
        for column in checker.columns[len(self.reference.inputs) :]:
            wide = next((code for code in made[column.name] if code >> column.width), None)
            if wide is not None:
                raise InputError(f"'{column.name}' has {column.width} bits, but {wide:#x} came")
            outputs.append(ints_to_codes(made[column.name], column.width, (count,)))
        checker.compare((*self.reference.chunk(inputs), *outputs))
        if self._coverage is not None:
            # Random bits of stochastic rounding come last, and are no operands.
            operands = len(self.reference.computation.operand_types)
            self._coverage.take([row[:operands] for row in inputs])
