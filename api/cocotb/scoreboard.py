"""Compare what a unit under test returns with what it must return, many transactions at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.coverage import RunningCoverage
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.packing import LevelName
from halfulp.conformance.vectors.row_check import OneRowFunction, VectorChecker, one_row_function
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.golden.recipes import RecipeKeywords, computation_for, keywords, recipe_of
from halfulp.golden.report import Report
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.profile import Profile

# --- reference --------------------------------------------------------------------------------------------------------
#
# The model of a unit under test: what it must return for each transaction, and operands to send.

_ROWS = 1 << 12
"""The number of operands that `Reference.stimulus` makes at once."""

Codes = Mapping[str, int]
"""Codes by the names of their columns."""


class Reference:
    """The model of a unit under test: an op on element types, a tile operation, or a function of a program.

    ``of``, ``type``, ``to``, ``rounding``, ``random_bits``, ``random``, ``profile``, ``function``, ``flags``,
    ``keep_ub``, ``mma``, ``properties``: as for `halfulp.vectors`.

    ``inputs`` and ``outputs`` are the names of the columns: for an op ``a``, ``b``, ``c`` and ``random``, and
    ``result``, ``flags``, ``poison`` and ``open``, if the op has them; for a tile operation its elements, such as
    ``a_0_3`` and ``result_0_0``; for a program ``arg0``, ``arg1`` …
    Raises the errors of `halfulp.vectors`.
    """

    def __init__(
        self,
        of: Source | Module,
        type: Any = None,
        *,
        to: Any = None,
        rounding: str | None = None,
        random_bits: int | None = None,
        random: str | None = None,
        profile: Profile | str | None = None,
        function: str | None = None,
        flags: bool | None = None,
        keep_ub: bool = False,
        mma: Accumulator | str | None = None,
        grid: tuple[int, ...] | int | None = None,
        arguments: Sequence[str] = (),
        fp_fusion: Literal["on", "off"] | None = None,
        **properties: Any,
    ) -> None:
        options = keywords(
            type, to, rounding=rounding, random_bits=random_bits, random=random, profile=profile, function=function,
            flags=flags, keep_ub=keep_ub, mma=mma, grid=grid, arguments=tuple(arguments), fp_fusion=fp_fusion,
        )  # fmt: skip
        self.computation: Computation = computation_for(of, options, properties)
        self.inputs = tuple(column.name for column in self.computation.inputs)
        self.outputs = tuple(column.name for column in self.computation.outputs)

    @cached_property
    def _one_row(self) -> OneRowFunction:
        return one_row_function(self.computation)

    def predict(self, *codes: int, **named: int) -> dict[str, int]:
        """Return the codes of all outputs for one transaction, by name.

        ``codes``, ``named``: the codes of the inputs, in their order or by name, as unsigned integers. If ``poison`` is
        1, the result may be anything; if a bit of ``open`` is set, this bit of the result may be anything. Raises
        InputError for missing or unknown inputs, codes of too many bits, and undefined behaviour.
        """
        return self.predict_one(self.checked(self.in_order(codes, named)))

    def predict_one(self, given: tuple[int, ...]) -> dict[str, int]:
        """Predict as `predict` does, for the codes of all inputs in their order. The codes are not checked."""
        made = self._one_row(given)
        if made.undefined and not self.computation.keep_ub:
            raise InputError(f"{self._named(given)}: the behaviour is undefined, so nothing can be expected")
        return dict(zip(self.outputs, made.outputs, strict=True))

    def predict_rows(self, rows: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """Predict as `predict` does, for many transactions at once, which is much faster. ``rows``: the codes of each
        transaction.
        """
        if not rows:
            return []
        made = self.computation.compute(self.chunk([self.checked(self.in_order(tuple(row), {})) for row in rows]))
        if made.undefined is not None and made.undefined.any() and not self.computation.keep_ub:
            first = rows[int(made.undefined.argmax())]
            raise InputError(f"{self._named(first)}: the behaviour is undefined, so nothing can be expected")
        outputs = zip(made.outputs, self.computation.outputs, strict=True)
        codes = zip(*(codes_to_ints(array, column.width) for array, column in outputs), strict=True)
        return [dict(zip(self.outputs, row, strict=True)) for row in codes]

    def stimulus(
        self,
        level: LevelName | None = None,
        models: str | Sequence[str] = (),
        operands: str | Mapping[str, Any] | None = None,
        n: int | None = None,
        seed: int = 0,
    ) -> Iterator[dict[str, int]]:
        """Yield operands to send, as codes by name: those of the models, then those of the level; or your own.

        ``level``, ``models``, ``operands``, ``n``, ``seed``: as for `halfulp.vectors`. Transactions with
        undefined behaviour are left out.
        """
        options = RecipeKeywords(level=level, models=models, operands=operands, n=n, seed=seed)
        recipe = recipe_of(self.computation, options)
        for chunk in recipe.chunks(size=_ROWS):
            inputs = zip(chunk, self.computation.inputs, strict=False)
            for row in zip(*(codes_to_ints(codes, column.width) for codes, column in inputs), strict=True):
                yield dict(zip(self.inputs, row, strict=True))

    def in_order(self, values: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values that are given for the inputs, in the order of the inputs. Raises InputError for what is
        missing or unknown.
        """
        if not values and tuple(named) == self.inputs:
            return tuple(named.values())
        rest = self.inputs[len(values) :]
        if len(values) > len(self.inputs) or named.keys() != set(rest):
            missing, unknown = (
                (name for name in rest if name not in named),
                (name for name in named if name not in rest),
            )
            wrong = next((f"'{name}' is missing" for name in missing), None)
            wrong = wrong or next((f"'{name}' is not one, or is given twice" for name in unknown), "too many are given")
            raise InputError(f"{wrong}: the inputs are {', '.join(self.inputs)}")
        return (*values, *(named[name] for name in rest))

    def checked(self, codes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the codes of the inputs. Raises InputError for codes of too many bits."""
        for place, (code, width) in enumerate(zip(codes, self._widths, strict=True)):
            if code < 0 or code >> width:
                raise InputError(f"'{self.inputs[place]}' has {width} bits, but the code {code:#x} is given")
        return codes

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return tuple(column.width for column in self.computation.inputs)

    def chunk(self, rows: Sequence[Sequence[int]]) -> Chunk:
        """Return rows of the codes of the inputs as arrays."""
        columns = zip(zip(*rows, strict=True), self.computation.inputs, strict=True)
        return tuple(ints_to_codes(codes, column.width, (len(rows),)) for codes, column in columns)

    def _named(self, codes: Sequence[int]) -> str:
        return ", ".join(f"{name}={code:#x}" for name, code in zip(self.inputs, codes, strict=True))


# --- signals ----------------------------------------------------------------------------------------------------------
#
# Read the signals of a design under test. cocotb is needed in a simulator alone, and loaded there.


def code_of(value: Any) -> int | str:
    """Return the code of an integer or of the value of a signal, as an integer. If a bit is X or Z, return the bits as
    text, after ``0b``.

    Signals are unsigned: a negative integer raises InputError, as does an object that is not a value.
    """
    if type(value) is int:
        if value < 0:
            raise InputError(f"{value} is negative: a code is the bits as an unsigned integer")
        return value
    try:
        # LogicArray and Logic of cocotb, integers of NumPy. A handle of a signal is not its value.
        return int(value)
    except ValueError:
        bits = str(value).upper()
        if not bits or set(bits) - set("01XZUWLH-"):
            raise InputError(f"{value!r} is not the value of a signal") from None
        return "0b" + "".join(bit if bit in "01Z" else "X" for bit in bits)
    except TypeError:
        raise InputError(f"{value!r} is not the value of a signal", hint="give signal.value") from None


def known_bits(bits: str) -> int:
    """Return bits after ``0b`` as an integer, with 0 for each X and Z."""
    return int("".join(bit if bit in "01" else "0" for bit in bits.removeprefix("0b")), 2)


class _Levels:
    """The levels of handshake signals. Until a signal has been 0 or 1 once, an X counts as 0."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: set[int] = set()

    def high(self, *handles: Any) -> bool:
        """Tell whether all signals are 1; a signal that is None counts as 1."""
        return all(self._is_high(handle) for handle in handles if handle is not None)

    def _is_high(self, handle: Any) -> bool:
        code = code_of(handle.value)
        if isinstance(code, int):
            self._known.add(id(handle))
            return code == 1
        if id(handle) in self._known:
            raise AssertionError(
                f"{self._name}: the handshake signal '{handle._name}' is {code[2:]}, but must stay 0 or 1"
            )
        return False


# --- scoreboard -------------------------------------------------------------------------------------------------------

BATCH = 1 << 12
"""The number of transactions that are computed at once."""


class Scoreboard:
    """The comparison of a unit under test with a `Reference`, transaction by transaction.

    `sent` takes the operands of a transaction, `received` the results of the oldest one that has none yet; `watch`
    calls both, from the signals of a design. `check` ends the comparison.

    ``batch``: the number of transactions that are computed at once. ``immediate``: compare each transaction when its
    results come, and raise AssertionError at the first that differs; otherwise `check` does.
    ``models``: coverage models, such as ["B1", "B3"], or "all" for all that apply: `coverage` says which of their
    buckets the operands have hit. For a program or a tile operation, "all" includes the classes of its operands and
    results.
    ``any_nan``: accept every NaN if a NaN is expected. ``most``: the number of different
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
            self._coverage = RunningCoverage(reference.computation, names)
        period = VectorChecker(reference.computation, self._columns(reference.outputs)).period
        self._batch = max(batch // period, 1) * period

    def sent(self, *values: Any, **named: Any) -> None:
        """Take the operands of a transaction: codes or values of signals, in the order of the inputs or by name.

        Raises InputError for missing or unknown inputs, and for an X or Z.
        """
        codes = tuple(map(code_of, self.reference.in_order(values, named)))
        for name, code in zip(self.reference.inputs, codes, strict=True):
            if isinstance(code, str):
                raise InputError(
                    f"transaction {self.transactions + self.waiting}: the operand '{name}' is {code}, but must "
                    "be a number"
                )
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
        given = tuple(map(code_of, (*values, *named.values())))
        unknown = {name: code for name, code in zip(names, given, strict=True) if isinstance(code, str)}
        if unknown:
            self._notes.unknown[self.transactions] = unknown
        codes = tuple(known_bits(code) if isinstance(code, str) else code for code in given)
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
        """The coverage of the run so far: the buckets of each model that it has hit. Its ``report.to_text()`` is the
        text of a file that ``halfulp vectors coverage report`` reads. Raises InputError without models.
        """
        if self._coverage is None:
            raise InputError(
                "the scoreboard has no models, so it has no coverage", hint='write Scoreboard(reference, models="all")'
            )
        self._flush(whole=True)
        return self._coverage

    def drop_waiting(self) -> None:
        """Remove the transactions that wait for their results, as a reset does."""
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
        """Watch a design until the simulation ends, at each rising edge of its clock:
        ``cocotb.start_soon(board.watch(…))``.

        ``inputs``, ``outputs``: the signals of the design by the names of the columns; outputs may be some of them.
        ``valid_in``, ``ready_in``: a transaction begins at an edge at which both are 1; without these signals, at each.
        ``valid_out``, ``ready_out``: results come, in the order of the transactions, at an edge at which both are 1.
        ``latency``: without ``valid_out``, the results of a transaction are those ``latency`` edges later (0: a
        combinational unit). With it, results at another edge raise AssertionError.
        ``reset``: while it has the value ``reset_level``, nothing counts, and waiting transactions are dropped.

        Signals are read as they are just before the edge. Raises InputError without ``latency`` and ``valid_out``,
        AssertionError for a handshake signal that is X after it was 0 or 1, and what `sent` and `received` raise.
        """
        if latency is None and valid_out is None:
            raise InputError("the time of the results is not known: give latency=…, or the signal valid_out=…")
        if latency is not None and latency < 0:
            raise InputError(f"latency is {latency}, but must be at least 0")
        edge = import_module("cocotb.triggers").RisingEdge(clock)
        levels = _Levels(self.name)
        begun: deque[int] = deque()
        now = 0
        while True:
            await edge
            if reset is not None and code_of(reset.value) == reset_level:
                self.drop_waiting()
                begun.clear()
                continue
            now += 1
            if levels.high(valid_in, ready_in):
                self.sent(**{name: handle.value for name, handle in inputs.items()})
                begun.append(now)
            if valid_out is not None:
                done = levels.high(valid_out, ready_out)
            else:
                done = bool(begun) and now - begun[0] == latency
            if done:
                if begun and latency not in (None, now - begun[0]):
                    raise AssertionError(
                        f"{self.name}: results came {now - begun[0]} clock edges after their transaction, but "
                        f"must come after {latency}"
                    )
                self.received(**{name: handle.value for name, handle in outputs.items()})
                begun.popleft()

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
            raise InputError(f"{what}: name one or more of {', '.join(known)}")
        if self._outputs and set(names) != set(self._outputs):
            raise InputError(
                f"the outputs are {', '.join(names)}, but were {', '.join(self._outputs)} before: give the same "
                "outputs each time"
            )
        if self._outputs:
            self._flush(whole=True)
        else:
            columns = self._columns(names)
            self._checker = VectorChecker(
                computation,
                columns,
                any_nan=self._any_nan,
                notes=self._notes,
                most=self._most,
                watch=None if self._coverage is None else self._coverage.take,
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
        """Compare the transactions that have results. ``whole``: if the op has parameters that several rows share,
        compare only complete groups of these rows.
        """
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
                raise InputError(f"the result {wide:#x} does not fit in the {column.width} bits of '{column.name}'")
            outputs.append(ints_to_codes(made[column.name], column.width, (count,)))
        checker.compare((*self.reference.chunk(inputs), *outputs))
