"""`sensitivity`: run a program with one thing changed at a time, and rank the effect on the errors of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal, Unpack

from halfulp.drawing.figures import chosen_style, drawing, figure_of, new_axes, set_legend, set_title
from halfulp.fp_formats.spelling import fragment, shortened, table, table_lines, title
from halfulp.interp.ir.errors import HalfulpError, InputError, plural
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import print_module
from halfulp.loading import Runnable, program_of
from halfulp.measuring.metrics import MEASURES, Metric, ulps
from halfulp.running import RunOptions, TraceKeywords, find_entry, run_options, takes
from halfulp.semantics.profile import Profile
from halfulp.sensitivities import trials as trying
from halfulp.sensitivities.flow import Flow, rounds
from halfulp.sensitivities.reference import Distances, Reference
from halfulp.traces.error_text import SiteNames, element_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- sensitivity ------------------------------------------------------------------------------------------------------

By = Literal["op", "kind", "tensor"]
FORMATS = ("f32", "f64")
"""The formats that are tried by default."""
_REDRAWN = "the program rounds stochastically: a change that adds or removes ops gives the others new random bits"


@takes(TraceKeywords)
def sensitivity(
    program: Runnable,
    *arguments: Any,
    formats: Iterable[str] = FORMATS,
    by: By = "op",
    modes: Iterable[str] | bool = (),
    profiles: Iterable[Profile | str] = (),
    orders: Iterable[str] = (),
    models: Iterable[str] = (),
    result: int | str | None = None,
    metric: Metric = "ulp",
    **options: Unpack[TraceKeywords],
) -> Sensitivity:
    """Run a program many times, with a single change each time, and rank the changes by their effect on the errors of
    its results.

    ``program``, ``arguments``: as for `run`.
    ``formats``: the float types to try.
    ``by``: which part of the program one change puts in another format: one op that rounds ("op"), all ops of one name
    ("kind"), or one value, which may be an argument or a constant ("tensor").

    If the new format has all numbers of the op's own format, the op runs in the new format, and its result stays in it,
    also in loops, structured ops and local memory, until another op rounds it. Therefore an accumulator changes as a
    whole. Otherwise the op runs on rounded operands, and its result is converted back at once.
    With ``by="tensor"``, a narrower format only rounds the value. The types of functions, and of memory that is passed
    to them, do not change.

    ``modes``: rounding modes to try; each is given to one op (or kind) at a time. True tries all modes.
    ``profiles``: profiles to try, each as a whole and then field by field.
    ``orders``: orders of reductions to try.
    ``models``: models of tile operations to try, by the names of ``mma``. Profiles, orders and models change the whole
    program.

    ``result``: the result to measure: its number or its name, ``argument[1]`` for memory; by default all results.

    ``metric``: the figure to compare: the largest error in ulp of the exact number ("ulp"), the ratio of a result to
    its errors in dB ("sqnr"), the largest error relative to the largest number of the result ("relative"), or the
    largest absolute error ("absolute").

    {options}

    Errors are distances from the exact numbers, which a run with exact real numbers computes (`Trace.errors`). That run
    takes the same branches as the unchanged program. The result is a `Sensitivity`: iterate over its rows, print it, or
    call ``plot()``.

    Raises InputError for an unknown name and for a function without float results, Unsupported for a batch, and the
    errors of `run`.
    """
    given = run_options("sensitivity", TraceKeywords, options)
    all_modes = (trying.MODES if modes else ()) if isinstance(modes, bool) else modes
    changes = [formats, all_modes, profiles, orders, models]
    return ranked(program, arguments, given, changes, by, result, metric=metric)


def ranked(
    program: Runnable,
    arguments: Sequence[Any],
    options: RunOptions,
    changes: Sequence[Iterable[Any]],
    by: str = "op",
    result: int | str | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
    metric: str = "ulp",
) -> Sensitivity:
    """Return the ranking that `sensitivity` returns. ``changes``: formats, modes, profiles, orders and models.
    ``progress``: a function that is called with the number of changes that were tried, and with the number of all
    changes.
    """
    wanted = trying.choices_of(*(([each] if isinstance(each, str | Profile) else list(each)) for each in changes))
    if by not in trying.BY:
        raise InputError(f"by is {by!r}, but must be one of {', '.join(trying.BY)}")
    module, arguments = program_of(program, arguments)
    function = find_entry(module, options.function)
    only = f"result[{result}]" if isinstance(result, int) else result
    reference = Reference(module, arguments, options, only, metric)
    flow, site = Flow(module, rounds), SiteNames(module, options.profile).site
    looked_at = trying.Program(flow, trying.ops_that_run(module, function, flow), site)
    subjects = list(trying.BY[by](looked_at))
    of_ops = subjects if by != "tensor" else list(looked_at.by_op())
    notes = [f"{name} is not measured: no f64 holds all numbers of its type" for name in reference.unmeasured]
    notes += [*trying.unchangeable(looked_at, module), *trying.deciding(looked_at)]
    notes += trying.rounding_often(looked_at) if wanted.formats else ()
    if options.profile.program_rounding != "to_nearest_even":
        notes.append(_REDRAWN)
    trials = [
        *trying.format_trials(looked_at, module, subjects, wanted, notes.append),
        *trying.mode_trials(looked_at, module, of_ops, wanted, options.profile, notes.append),
        *trying.setting_trials(module, options, wanted),
    ]
    rows: list[SensitivityRow] = []
    for number, trial in enumerate(trials):
        progress(number, len(trials))
        row = _tried(trial, reference)
        if isinstance(row, str):
            notes.append(row)
        else:
            rows.append(row)
    progress(len(trials), len(trials))
    notes += _radii(reference, rows)
    return Sensitivity(
        tuple(sorted(rows, key=rank_of)),
        tuple(dict.fromkeys(notes)),
        reference.distances,
        f"@{function.symbol_name}",
        reference.unknown,
        reference.elements,
        metric,
    )


def _tried(trial: trying.Trial, reference: Reference) -> SensitivityRow | str:
    """Return the row of a change, or why it has none."""
    subject, site = trial.subject, trial.subject.site
    try:
        module = trial.make()
        found = reference.distances_of(module, **trial.options)
    except HalfulpError as error:
        return f"{trial.text}: not possible: {error.message}"
    name = _most_changed(reference.distances, found)
    before, after = reference.distances[name].size, found[name].size
    moved = max(each.moved for each in found.values())
    return SensitivityRow(
        trial.sort,
        "" if site is None else site.op,
        None if site is None else site.line,
        "" if site is None else site.place,
        "" if site is None else subject.what,
        subject.what,
        len(subject.ops),
        trial.was,
        trial.to,
        name,
        before,
        after,
        moved,
        advice_on(trial.text, before, after, moved, reference.metric),
        trial.settings,
        module,
        reference.metric,
        max(reference.distances[name].radius, found[name].radius),
    )


def _radii(reference: Reference, rows: Sequence[SensitivityRow]) -> Iterator[str]:
    """Say how closely errors are known, if their exact numbers would take too long to find."""
    widest = max([*(each.radius for each in reference.distances.values()), *(row.radius for row in rows)], default=0.0)
    if widest:
        known = MEASURES[reference.metric].spell(widest)
        yield f"errors are known up to {known}: more digits need too long histories"


def _most_changed(before: Distances, after: Distances) -> str:
    """Return the result whose error changes most; among equal changes, the result with the largest error."""

    def change(name: str) -> tuple[float, float]:
        one, two = before[name].size, after[name].size
        size = abs(one - two) if one != two and one == one and two == two else 0.0
        return size, one if one == one else -1.0

    return max(before, key=change)


MOST_ROWS = 20
"""The most rows that the text shows."""
_HEAD = ("before", "after", "moved", "line", "change", "what")
_GAIN, _LOSS = 0.75, 1.25
"""If the error after a change is less than the first number times the error before it, it counts as better; more than
the second number times, as worse.
"""


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One change of a program, and its effect on the errors of the results.

    ``sort``: "format", "rounding", "whole profile", "profile" (a field of one), "order" or "model". ``op``, ``line``,
    ``place``, ``source``: the op that was changed; empty and None for a change of the whole program.
    ``what``: what was changed, as text; ``count``: the number of ops.
    ``was``, ``to``: its format or choice before and after.

    ``result``: the result whose error changes most; ``before``, ``after``: its largest error in ulp of the exact
    number, or what ``metric`` measures; infinite if the result is infinite, NaN or poison; NaN if no exact number is
    known.
    ``moved``: the largest distance in ulp between the results before and after the change.
    ``advice``: the row as a sentence.
    ``settings``: the option of `halfulp.run` that was changed, if it was one.
    ``radius``: the possible error of ``before`` and ``after``, if the exact numbers are not known precisely.
    """

    sort: str
    op: str
    line: int | None
    place: str
    source: str
    what: str
    count: int
    was: str
    to: str
    result: str
    before: float
    after: float
    moved: float
    advice: str
    settings: tuple[tuple[str, str], ...]
    _module: Module = field(repr=False, compare=False)
    metric: str = "ulp"
    radius: float = 0.0

    @property
    def effect(self) -> float:
        """The error after the change minus the error before it; for an SQNR, the loss. Negative if the change is a
        gain.
        """
        change = 0.0 if self.before == self.after else self.after - self.before
        return -change if MEASURES[self.metric].worst < 0 else change

    @property
    def program(self) -> str:
        """The changed program as MLIR text. If only settings changed, it is the unchanged program."""
        return print_module(self._module)

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON, which has no infinities and no NaN: they become text and None."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name[0] != "_"}
        return {**{name: _json(value) for name, value in found.items()}, "settings": dict(self.settings)}


def _json(value: Any) -> Any:
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if isnan(value) else "inf"


def rank_of(row: SensitivityRow) -> tuple[float, float]:
    """Return a key for sorting rows: the rows with the largest effect come first. Rows whose effect is not known
    follow, ordered by the distance that they move results.
    """
    return -abs(row.effect) if row.effect == row.effect else 0.0, -row.moved


def advice_on(change: str, before: float, after: float, moved: float, metric: str = "ulp") -> str:
    """Return a sentence about the effect of a change. ``change``: its name. ``before``, ``after``: the error by
    ``metric``. ``moved``: the largest distance of a result from before, in ulp.
    """
    if not moved:
        return f"{change}: no result changes"
    if isnan(after):
        return f"{change}: results move by {ulps(moved)} ulp"
    measure = MEASURES[metric]
    grew = f"{measure.what} {measure.spell(before)} -> {measure.spell(after)}"
    if measure.cost(after) < _GAIN * measure.cost(before):
        return f"{change}: {grew}"
    return (
        f"{change} {'costs' if measure.cost(after) > _LOSS * measure.cost(before) else 'makes no difference'}: {grew}"
    )


@dataclass(frozen=True, repr=False)
class Sensitivity:
    """Changes of a program, ordered by their effect, the largest first.

    ``rows``: a `SensitivityRow` for each change.
    ``notes``: what could not be changed or measured, and why.
    ``errors``: the errors of the unchanged program.
    ``function``: the name of the function.
    ``elements``: the number of elements of the results.
    ``unknown``: the number of elements whose exact numbers are not known.
    ``metric``: the figure that was compared.
    """

    rows: tuple[SensitivityRow, ...]
    notes: tuple[str, ...]
    errors: Distances
    function: str
    unknown: int
    elements: int
    metric: str = "ulp"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SensitivityRow]:
        return iter(self.rows)

    @property
    def best(self) -> SensitivityRow | None:
        """The single change that reduces the error of a result most; None if no change reduces it."""
        gains = [row for row in self.rows if row.effect < 0]
        return min(gains, key=lambda row: row.effect, default=None)

    def table(self, most: int | None = None) -> list[tuple[str, ...]]:
        """Return the rows as text, with their heading."""
        return [_HEAD, *(_cells(row) for row in self.rows[:most])]

    def lines(self) -> Iterator[str]:
        """Yield the ranking as text."""
        yield from self._heading()
        if self.rows:
            yield from (f"  {line}" for line in table_lines(self.table(MOST_ROWS), right=range(4)))
            left = self.rows[MOST_ROWS:]
            if left:
                yield f"  and {plural(len(left), 'change')} with less effect"
            yield self._best_line()
        else:
            yield "nothing was changed"
        for note in self.notes:
            yield f"note: {note}"

    def _heading(self) -> Iterator[str]:
        measure = MEASURES[self.metric]
        for name, each in self.errors.items():
            known = "not known" if isnan(each.size) else f"{measure.spell(each.size)}{element_text(each.element)}"
            yield f"{measure.what} of {name}: {known}"
        if self.unknown:
            yield f"nothing is known of the exact numbers of {self.unknown:,} of {plural(self.elements, 'element')}"

    def _best_line(self) -> str:
        if all(isnan(each.size) for each in self.errors.values()):
            return "no exact number is known: the changes that move results most come first"
        return "no change makes an error less" if self.best is None else f"best: {self.best.advice}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self.table(MOST_ROWS)
        cells = [[escape(cell) for cell in row] for row in rows]
        texts = [f"<p>{escape(line)}</p>" for line in self._heading()]
        notes = [f"<p>note: {escape(note)}</p>" for note in self.notes]
        return fragment(title(f"Sensitivity of {self.function}"), *texts, table(cells, head), *notes)

    def as_json(self) -> dict[str, Any]:
        """Return the ranking as a dictionary for JSON. Infinite errors are "inf", unknown errors are None."""
        errors = {
            name: {self.metric: _json(each.size), "element": list(each.element)} for name, each in self.errors.items()
        }
        return {
            "function": self.function,
            "metric": self.metric,
            "errors": errors,
            "unknown": self.unknown,
            "elements": self.elements,
            "rows": [row.as_json() for row in self.rows],
            "notes": list(self.notes),
        }

    def plot(self, *, dark: bool | None = None) -> Figure:
        """Draw the error before and after each change, those with the largest effect at the top."""
        return draw_sensitivities(self, dark=dark)


def _cells(row: SensitivityRow) -> tuple[str, ...]:
    measure = MEASURES[row.metric]
    return (
        measure.short(row.before),
        measure.short(row.after),
        ulps(row.moved),
        "" if row.line is None else str(row.line),
        f"{row.was} -> {row.to}",
        row.source or row.what,
    )


MOST_DRAWN = 15
"""The most changes that are drawn."""
_LEAST, _LONGEST = 2.0**-10, 44


def draw_sensitivities(found: Sensitivity, *, ax: Axes | None = None, dark: bool | None = None) -> Figure:
    """Draw the result of `hu.sensitivity`: the largest error of a result before and after each change, in its metric,
    on a logarithmic scale. At most the 15 changes with the largest effect are drawn. An error below 2^-10 ulp is drawn
    at 2^-10, and an infinite error is a triangle at the right end.

    Raises InputError if no change has a known error.
    """
    rows = [row for row in found.rows if row.before == row.before and row.after == row.after][:MOST_DRAWN]
    if not rows:
        raise InputError("there is no change with a known error to draw")
    style = chosen_style(dark)
    measure, in_ulp = MEASURES[found.metric], found.metric == "ulp"
    pairs = [(measure.cost(row.before), measure.cost(row.after)) for row in rows]
    sizes = [size for pair in pairs for size in pair if isfinite(size)]
    low = _LEAST if in_ulp else min((size for size in sizes if size), default=_LEAST) / 4
    top = max([*sizes, 1.0 if in_ulp else low]) * 4
    with drawing():
        axes = new_axes(ax, style, 1.3 + 0.28 * len(rows))
        axes.set_xscale("log", base=2)
        for place, (before, after) in enumerate(pairs):
            start, end = (low if size < low else min(size, top) for size in (before, after))
            axes.plot([start, end], [place, place], color=style.faint, linewidth=1.2, zorder=1)
            for size, at, colour, name in (
                (before, start, style.series[1], "before"),
                (after, end, style.series[0], "after"),
            ):
                mark = "o" if isfinite(size) else ">"
                axes.plot([at], [place], mark, color=colour, markersize=6 if name == "before" else 4, label=name)
        axes.set_yticks(range(len(rows)), [_label(row) for row in rows])
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        least = min([*(max(size, low) for size in sizes), 1.0 if in_ulp else top])
        axes.set_xlim(max(least / 2, low / 2), top * 1.5)
        if in_ulp:
            axes.axvline(0.5, color=style.faint, linewidth=0.8, linestyle="--")
        axes.set_xlabel(measure.axis, color=style.text)
        axes.grid(axis="x", color=style.band, linewidth=0.8)
        set_title(axes, style, f"Sensitivity of {found.function}", ax is None)
        handles, names = axes.get_legend_handles_labels()
        once = dict(zip(names, handles, strict=True))
        for handle, name in zip(handles, names, strict=True):
            if once[name] is not handle:
                handle.set_label("_")
        set_legend(axes, style, 2, ax is None)
        return figure_of(axes)


def _label(row: SensitivityRow) -> str:
    line = "" if row.line is None else f"line {row.line}: "
    what = f"{line}{row.source or row.what}"
    short = shortened(what, _LONGEST)
    return f"{short} → {row.to}"
