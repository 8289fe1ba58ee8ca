"""Trace a run step by step: every op with its place and values, where poison was born, where control went."""

from __future__ import annotations

import json
import os
import weakref
import zipfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from halfulp.conformance.files import replaced, temporary_name
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module, SSAValue
from halfulp.interp.values.value import Value
from halfulp.loading import Source, load
from halfulp.release import VERSION
from halfulp.run_options import TraceKeywords, run_options, takes
from halfulp.running import find_entry, run_with
from halfulp.semantics.kernel import Origins
from halfulp.semantics.profile import SEMANTICS_VERSION
from halfulp.traces.page import fragment, page, text_lines
from halfulp.traces.record import Step, Timeline, TraceRecord, timeline
from halfulp.traces.recorder import Recorder
from halfulp.traces.values import MOST_SHOWN, TracedValue, look_at

if TYPE_CHECKING:
    from halfulp.traces.error_report import RunErrors
    from halfulp.traces.error_text import OpError, StoryStep

# --- npz folder -------------------------------------------------------------------------------------------------------
#
# Write the values of a trace to a folder: raw codes in ``values.npz``, and their meaning in ``index.json``.
#
# Values are written while the program runs, each once: an operand is mostly the result of a step before. Both files
# appear when they are complete, the index last.

VALUES, INDEX = "values.npz", "index.json"

Names = tuple[str, str | None]
"""The arrays of a value: its codes, and its poison where there is any."""


def no_archive() -> AbstractContextManager[None]:
    """Return a context without an archive."""
    return nullcontext()


class Archive:
    """A folder to which values are written. Raises InputError where that is not possible."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._origins = Origins()
        self._count = 0
        self._names: weakref.WeakKeyDictionary[TracedValue, Names] = weakref.WeakKeyDictionary()
        # Large values by the identity of their codes, while these live; small ones by SSA value, with the content.
        self._large: dict[int, tuple[weakref.ref[Any], Names]] = {}
        self._small: dict[SSAValue, tuple[Any, Names]] = {}
        self._made = False

    def __enter__(self) -> Archive:
        try:
            self._made = not self._directory.exists()
            self._directory.mkdir(parents=True, exist_ok=True)
            self._partial = temporary_name(self._directory / VALUES)
            self._zip = zipfile.ZipFile(self._partial, "x", zipfile.ZIP_STORED, allowZip64=True)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write to {str(self._directory)!r}: {_reason(error)}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with suppress(OSError, ValueError):
            self._zip.close()
        with suppress(OSError):
            self._partial.unlink()
        if error is not None and self._made:
            with suppress(OSError):
                self._directory.rmdir()

    def note(self, defined: SSAValue | None, seen: TracedValue, value: Any) -> None:
        """Write a value of a step, unless it is there already. ``defined``: what it is in the program."""
        if not isinstance(value, Value) or value.bits.dtype == object:
            return
        if value.bits.size <= MOST_SHOWN:
            poison = None if value.poison is None else value.poison.tobytes()
            content = (value.shape, value.bits.tobytes(), poison)
            known = None if defined is None else self._small.get(defined)
            names = known[1] if known is not None and known[0] == content else self._write(value)
            if defined is not None:
                self._small[defined] = content, names
        else:
            key = id(value.bits)
            held = self._large.get(key)
            if held is not None and held[0]() is value.bits:
                names = held[1]
            else:
                names = self._write(value)
                self._large[key] = weakref.ref(value.bits, lambda _: self._large.pop(key, None)), names
        self._names[seen] = names

    def _write(self, value: Value) -> Names:
        self._count += 1
        name = f"v{self._count}"
        self._member(name, value.bits)
        if value.poison is None or value.origins is None:
            return name, None
        self._member(f"{name}.poison", self._origins.adopt(value.poison, value.origins))
        return name, f"{name}.poison"

    def _member(self, name: str, array: npt.NDArray[Any]) -> None:
        try:
            # The date is fixed, so that the same run gives the same bytes.
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            with self._zip.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write {str(self._directory / VALUES)!r}: {_reason(error)}") from None

    def finish(self, trace: TraceRecord) -> None:
        """Write the values that the trace itself holds, and the index; then give both files their names."""
        for step in trace.steps:
            for seen in (*step.operands, *step.results):
                self._late(seen)
        for seen in trace.arguments:
            self._late(seen)
        results = [look_at(f"result[{index}]", value, False) for index, value in enumerate(trace.results)]
        for seen, value in zip(results, trace.results, strict=True):
            self.note(None, seen, value)
        index = self._index(trace, results)
        try:
            self._zip.close()
            with replaced(self._directory / INDEX) as file:
                file.write(json.dumps(index, indent=1).encode() + b"\n")
                with suppress(FileNotFoundError):
                    (self._directory / INDEX).unlink()
                self._partial.replace(self._directory / VALUES)
        except OSError as error:
            raise InputError(f"cannot write to {str(self._directory)!r}: {_reason(error)}") from None

    def _late(self, seen: TracedValue) -> None:
        if seen not in self._names and seen.value is not None:
            self.note(None, seen, seen.value)

    # --- the index ---

    def _index(self, trace: TraceRecord, results: Sequence[TracedValue]) -> dict[str, Any]:
        steps = [self._step(step) for step in trace.steps]
        return {
            "halfulp": VERSION,
            "semantics_version": SEMANTICS_VERSION,
            "profile": trace.profile,
            "profiles": trace.profiles,
            "mma": trace.mma,
            "file": trace.file,
            "function": trace.function,
            "arguments": self._values(trace.arguments),
            "results": self._values(results),
            "error": None if trace.error is None else trace.error.message,
            "ops_executed": trace.executed,
            "steps_left_out": trace.rows - len(trace.steps),
            "steps": steps,
            "errors": None if trace.errors is None else trace.errors.as_json(),
            "poison_origins": [
                {"op": each.op, "location": each.location, "reason": each.reason, "element": list(each.element)}
                for each in self._origins.known()
            ],
        }

    def _step(self, step: Step) -> dict[str, Any]:
        return {
            "step": step.number,
            "op": step.op,
            "ends": step.ends,
            "location": step.location,
            "line": step.line,
            "source": step.source,
            "function": step.function,
            "depth": step.depth,
            "lanes": None if step.lanes is None else step.lanes[0],
            "operands": self._values(step.operands),
            "results": self._values(step.results),
            "poison_born": [
                {"origin": self._origins.id_of(birth.origin), "elements": birth.count} for birth in step.births
            ],
            "undefined": step.undefined,
            "branch": step.branch,
            "trips": step.trips,
            "errors": None if step.errors is None else asdict(step.errors),
        }

    def _values(self, values: Sequence[TracedValue]) -> list[dict[str, Any]]:
        return [self._value(seen) for seen in values]

    def _value(self, seen: TracedValue) -> dict[str, Any]:
        codes, poison = self._names.get(seen, (None, None))
        return {
            "name": seen.name,
            "type": seen.type,
            "shape": list(seen.shape),
            "codes": codes,
            "poison": poison,
            "poisoned": seen.poisoned,
            "text": str(seen),
        }


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# --- trace ------------------------------------------------------------------------------------------------------------

MOST_ROWS = 5000
"""The number of steps that a trace keeps by default."""


@dataclass(eq=False, repr=False)
class Trace(TraceRecord):
    """A run as it went: print it, or show it in a notebook; `html` makes a page of it, `save_npz` a folder.

    ``function``: the function that was called. ``profile``: that of the run; ``profiles``: those of functions that ran
    under another one, by their attributes. ``mma``: the model of matrix units. ``arguments``: those of the function.
    ``steps``: the kept steps: the first, the last, and some between in which poison was born. ``rows``: the number of
    steps; ``executed``: the number of ops that ran. ``results``: those of the run; none where ``error`` stopped it.
    ``lines``: the source that is shown, from line number ``first_line`` on. ``sites``: the ops that ran. ``errors``: of
    a run with ``shadow=True``, how far results are from the truth.
    """

    def __str__(self) -> str:
        return "\n".join([*text_lines(self), *(() if self.errors is None else self.errors.lines())])

    def __repr__(self) -> str:
        ended = "" if self.error is None else f", stopped by {type(self.error).__name__}"
        return f"<Trace of {self.function}: {self.executed} ops{ended}>"

    def _repr_html_(self) -> str:
        return fragment(self)

    def html(self) -> str:
        """Return a self-contained page: one file that needs nothing else."""
        return page(self)

    def worst(self, count: int = 5) -> list[OpError]:
        """Return the ops that cost most: by what their own errors bring to the result with the largest error.

        Raises ValueError for a trace without shadows, LimitExceeded for a run of more numbers than its history keeps.
        """
        return self._report().worst(count)

    def explain_error(self, result: int | str = 0, element: tuple[int, ...] | None = None) -> list[StoryStep]:
        """Walk back from an element of a result to where its error came from.

        ``result``: its number, or a name such as ``argument[1]`` for memory; ``element``: by default that with the
        largest error. Raises ValueError for a trace without shadows, InputError for what the run does not have,
        Unsupported where nothing is known of the exact number, LimitExceeded.
        """
        return self._report().explain(result, element)

    def timeline(self) -> Timeline:
        """Return a picture of the errors over the kept steps: own errors, those of results, and what else happened.

        Raises ValueError for a trace without shadows.
        """
        self._report()
        return Timeline(timeline(self.steps))

    def _report(self) -> RunErrors:
        if self.errors is None:
            raise ValueError("the trace has no shadows: call hu.trace(..., shadow=True)")
        return self.errors

    def save_npz(self, directory: str | os.PathLike[str]) -> None:
        """Write the values that the trace keeps: ``values.npz`` with raw codes, and ``index.json``.

        Large values are in it if the trace was made with ``keep=True``. Raises InputError.
        """
        with Archive(directory) as archive:
            archive.finish(self)


@takes(TraceKeywords)
def trace(
    module: Module | Source,
    *arguments: Any,
    n: int = MOST_ROWS,
    keep: bool = False,
    npz: str | os.PathLike[str] | None = None,
    shadow: bool | str = False,
    **options: Unpack[TraceKeywords],
) -> Trace:
    """Run a function as `run` does, and record every op: its line, its values, its poison, and where control goes.

    ``n``: the number of steps that are kept; of a longer run the first, the last, and some in which poison was
    born. ``keep``: keep large values too, not only their summaries: this takes as much memory as all of them. ``npz``:
    a folder to which the values are written while the program runs. A step records only the beginning of a large
    buffer, with ``keep`` all of it. ``shadow``: also run with exact real numbers: `Trace.errors`, `Trace.worst` and
    `Trace.explain_error` say how far results are from the truth, and which ops brought them there. ``shadow="f64"`` and
    ``"f128"`` are cheaper: numbers of that format stand for the exact ones, and nothing is enclosed.

    {options}

    A program that stops, because it is undefined or for another reason, has a trace up to there, with the error in
    ``Trace.error``. Raises the errors of `run` that occur before the first op runs, InputError where the folder cannot
    be written, ValueError for an n below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}, but must be at least 1")
    if not isinstance(module, Module):
        module = load(module)
    chosen = run_options("trace", TraceKeywords, options)
    function = find_entry(module, chosen.function)
    traced = Trace(module.filename, f"@{function.symbol_name}", chosen.profile.name, mma=chosen.model)
    with no_archive() if npz is None else Archive(npz) as archive:
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
