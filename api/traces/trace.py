"""Trace a run step by step: every op with its place and values, where poison was born, where control went."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source, load
from halfulp.run_options import TraceKeywords, run_options, takes
from halfulp.running import find_entry, run_with
from halfulp.traces.npz_folder import Archive, no_archive
from halfulp.traces.page import fragment, page
from halfulp.traces.record import TraceRecord
from halfulp.traces.recorder import Recorder
from halfulp.traces.text import text_lines
from halfulp.traces.timeline import Timeline, timeline

if TYPE_CHECKING:
    from halfulp.traces.error_report import RunErrors
    from halfulp.traces.error_text import OpError, StoryStep

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
    limit: int = MOST_ROWS,
    keep: bool = False,
    npz: str | os.PathLike[str] | None = None,
    shadow: bool | str = False,
    **options: Unpack[TraceKeywords],
) -> Trace:
    """Run a function as `run` does, and record every op: its line, its values, its poison, and where control goes.

    ``limit``: the number of steps that are kept; of a longer run the first, the last, and some in which poison was
    born. ``keep``: keep large values too, not only their summaries: this takes as much memory as all of them. ``npz``:
    a folder to which the values are written while the program runs. A step records only the beginning of a large
    buffer, with ``keep`` all of it. ``shadow``: run beside exact real numbers: `Trace.errors`, `Trace.worst` and
    `Trace.explain_error` say how far results are from the truth, and which ops brought them there. ``shadow="f64"`` and
    ``"f128"`` are cheaper: numbers of that format stand for the exact ones, and nothing is enclosed.

    {options}

    A program that stops, because it is undefined or for another reason, has a trace up to there, with the error in
    ``Trace.error``. Raises the errors of `run` that occur before the first op runs, InputError where the folder cannot
    be written, ValueError for a limit below 1.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}, but must be at least 1")
    if not isinstance(module, Module):
        module = load(module)
    chosen = run_options("trace", TraceKeywords, options)
    function = find_entry(module, chosen.entry)
    traced = Trace(module.filename, f"@{function.symbol_name}", chosen.profile.name, mma=chosen.model)
    with no_archive() if npz is None else Archive(npz) as archive:
        note = None if archive is None else archive.note
        beside = None
        if shadow:
            from halfulp.traces.error_report import BesideReals

            beside = BesideReals(module, arguments, chosen, shadow if isinstance(shadow, str) else "")
        taken = None if beside is None else beside.taken
        recorder = Recorder(module, traced, chosen.profile, limit, keep, note, taken)
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
