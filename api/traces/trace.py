"""Trace a run step by step: every op with its place and values, where poison was born, where control went."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Unpack

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

MOST_ROWS = 5000
"""The number of steps that a trace keeps by default."""


@dataclass(eq=False, repr=False)
class Trace(TraceRecord):
    """A run as it went: print it, or show it in a notebook; `html` makes a page of it, `save_npz` a folder.

    ``function``: the function that was called. ``profile``: that of the run; ``profiles``: those of functions that ran
    under another one, by their attributes. ``mma``: the model of matrix units. ``arguments``: those of the function.
    ``steps``: the kept steps: the first, the last, and some between in which poison was born. ``rows``: the number of
    steps; ``executed``: the number of ops that ran. ``results``: those of the run; none where ``error`` stopped it.
    ``lines``: the source that is shown, from line number ``first_line`` on. ``sites``: the ops that ran.
    """

    def __str__(self) -> str:
        return "\n".join(text_lines(self))

    def __repr__(self) -> str:
        ended = "" if self.error is None else f", stopped by {type(self.error).__name__}"
        return f"<Trace of {self.function}: {self.executed} ops{ended}>"

    def _repr_html_(self) -> str:
        return fragment(self)

    def html(self) -> str:
        """Return a self-contained page: one file that needs nothing else."""
        return page(self)

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
    **options: Unpack[TraceKeywords],
) -> Trace:
    """Run a function as `run` does, and record every op: its line, its values, its poison, and where control goes.

    ``limit``: the number of steps that are kept; of a longer run the first, the last, and some in which poison was
    born. ``keep``: keep large values too, not only their summaries: this takes as much memory as all of them. ``npz``:
    a folder to which the values are written while the program runs. A step records only the beginning of a large
    buffer, with ``keep`` all of it.

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
    traced = Trace(module.filename, f"@{function.symbol_name}", chosen.profile.name, mma=chosen.mma)
    with no_archive() if npz is None else Archive(npz) as archive:
        recorder = Recorder(module, traced, chosen.profile, limit, keep, None if archive is None else archive.note)
        try:
            traced.results = run_with(module, arguments, replace(chosen, listeners=(recorder,)))
        except HalfulpError as error:
            if not traced.rows:
                raise
            traced.error = error
        recorder.finish()
        if archive is not None:
            archive.finish(traced)
    return traced
