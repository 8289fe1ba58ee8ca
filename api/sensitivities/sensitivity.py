"""`sensitivity`: run a program with one thing changed at a time, and rank the effect on the errors of its results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from halfulp.drawing.figures import chosen_style, drawing, figure_of, new_axes, set_legend, set_title
from halfulp.fp_formats.neighbours import Floats, FloatSums, place_of_largest, ulp_of_float, ulps_of_floats
from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, Unsupported, plural
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.loading import Source, load
from halfulp.running import RunOptions, TraceKeywords, find_entry, given_arguments, run_options, run_with, takes
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.semantics.profile import Profile
from halfulp.sensitivities import trials as trying
from halfulp.sensitivities.flow import Flow, rounds
from halfulp.traces.error_report import RunErrors, beside_reals
from halfulp.traces.error_text import SiteNames, element_text, ulps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- reference --------------------------------------------------------------------------------------------------------
#
# The exact results of a run, and how far the results of other runs are from them.
#
# The exact run is that beside the program as it is: it takes the branches of that run. All errors are in ulp of the
# exact number, so that those of different runs have one unit.

_CLOSE = 2.0**-10
"""The radius, in ulp, up to which a shadow is close enough."""
_MOST_REPLAYED = 64
"""The most elements of a result whose exact numbers are found from their histories."""


@dataclass(frozen=True, slots=True)
class ResultDistance:
    """How far one result of a run is from the exact one.

    ``ulp``: the largest distance of an element whose exact number is known, in ulp of that; infinite where the result
    is infinite, NaN or poison and the exact number is not; NaN if no exact number is known. ``element``: its place.
    ``moved``: the largest distance from the result of the program as it is, in ulp; infinite where one of the two is
    not a number.
    """

    ulp: float
    element: tuple[int, ...]
    moved: float


Distances = Mapping[str, ResultDistance]
"""The distance of each result, by its name."""


@dataclass(frozen=True, eq=False)
class _End:
    """A result of the program as it is."""

    format: Any
    value: Floats
    exact: FloatSums
    #: the ulp at the exact number, or if that is not known at the other one
    unit: Floats

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.exact.high)


class Reference:
    """The exact results of a function for some arguments.

    ``only``: the name of the one result that counts, ``result[0]`` or ``argument[1]``. ``unknown``: the number of
    elements whose exact number is not known, of ``elements``; ``unmeasured``: results whose format has numbers that no
    f64 holds. Raises InputError if there is no such result, Unsupported for a batch, and the errors of `run`.
    """

    def __init__(self, module: Module, arguments: Sequence[Any], options: RunOptions, only: str | None) -> None:
        function = find_entry(module, options.function)
        if options.batch or options.signature is not None:
            raise Unsupported("a batch cannot also run with exact real numbers", location=function.location)
        # A program that prints would print as often as it runs.
        self._options = replace(options, write=lambda text: None)
        self._given = given_arguments(function, arguments, options)
        found = self._ends(module, replace(self._options, recorder=Shadows()))
        if only is not None and only not in found:
            has = ", ".join(found) or "none"
            raise InputError(f"the run has no float result {only}", hint=f"it has {has}")
        if not found:
            raise InputError(
                f"@{function.symbol_name} has no result of floats and no memory of floats among its arguments",
                location=function.location,
                hint="return the numbers whose errors matter",
            )
        chosen = {name: value for name, value in found.items() if only in (None, name)}
        self.unmeasured = [name for name, value in chosen.items() if not has_shadows(_format_of(value))]
        self._module = module
        self._report: RunErrors | None = None
        self._exact = {name: self._end_of(name, value) for name, value in chosen.items() if name not in self.unmeasured}
        self.elements = sum(end.value.size for end in self._exact.values())
        self.unknown = sum(int(np.count_nonzero(~end.known)) for end in self._exact.values())
        self.distances = self._distances({name: end.value for name, end in self._exact.items()})

    def distances_of(self, module: Module, **options: Any) -> Distances:
        """Run another program, or with other options, and return how far its results are.

        Raises the errors of `run`.
        """
        found = self._ends(module, replace(self._options, **options))
        return self._distances({name: _numbers(found[name]) for name in self._exact})

    # --- how ---

    def _ends(self, module: Module, options: RunOptions) -> dict[str, Value]:
        given = [copy.deepcopy(each) if isinstance(each, Buffer) else each for each in self._given]
        results = run_with(module, given, options)
        memory = [(f"argument[{k}]", each.load()) for k, each in enumerate(given) if isinstance(each, Buffer)]
        named = [(f"result[{k}]", each) for k, each in enumerate(results)] + memory
        return {name: value for name, value in named if isinstance(value.element_type, ty.FloatType)}

    def _end_of(self, name: str, value: Value) -> _End:
        shadow, format = shadow_of(value), _format_of(value)
        assert shadow is not None
        number = _numbers(value)
        with np.errstate(all="ignore"):
            close = np.isfinite(number) & (shadow.radius <= _CLOSE * ulps_of_floats(format, number))
        high, low = np.where(close, number, nan), np.where(close, shadow.error, 0.0)
        for element in [tuple(map(int, each)) for each in np.argwhere(~close)[:_MOST_REPLAYED]]:
            high[element], low[element] = self._from_history(name, element, format)
        exact = FloatSums(high, low, shadow.radius)
        with np.errstate(all="ignore"):
            other = ulps_of_floats(format, np.where(np.isfinite(number), number, 0.0))
            return _End(format, number, exact, np.where(np.isfinite(high), exact.ulps(format), other))

    def _from_history(self, name: str, element: tuple[int, ...], format: Any) -> tuple[float, float]:
        """Return an exact number as a sum of two, from the history of the element; NaN if it is not known."""
        if self._report is None:
            given = [copy.deepcopy(each) if isinstance(each, Buffer) else each for each in self._given]
            _, self._report = beside_reals(self._module, given, self._options)
        try:
            found = self._report.error_of(name, element)
        except LimitExceeded:
            return nan, 0.0
        if not isfinite(found.exact) or not found.radius <= max(_CLOSE * ulp_of_float(format, found.exact), 0.0):
            return nan, 0.0
        if isfinite(found.ulp):
            return found.value, -found.error
        return found.exact, 0.0

    def _distances(self, numbers: Mapping[str, Floats]) -> Distances:
        return {name: _distance(end, numbers[name]) for name, end in self._exact.items()}


def _distance(end: _End, number: Floats) -> ResultDistance:
    if number.shape != end.value.shape:
        return ResultDistance(inf, (), inf)
    if not number.size:
        return ResultDistance(nan, (), 0.0)
    distances = end.exact.distances(end.format, number)
    at = place_of_largest(distances)
    with np.errstate(all="ignore"):
        both = np.isfinite(number) & np.isfinite(end.value)
        same = (number == end.value) | (np.isnan(number) & np.isnan(end.value))
        moved = np.where(same, 0.0, np.where(both, np.abs(number - end.value) / end.unit, inf))
    return ResultDistance(float(distances[at]), at, float(moved.max()))


def _format_of(value: Value) -> Any:
    element = value.element_type
    assert isinstance(element, ty.FloatType)
    return element.format


def _numbers(value: Value) -> Floats:
    """Return the numbers of a value as f64; NaN for poison."""
    numbers = np.array(as_f64(_format_of(value), value.bits), np.float64)
    if value.poison is not None:
        numbers = np.where(value.poison == 0, numbers, nan)
    return numbers


# --- sensitivity ------------------------------------------------------------------------------------------------------

By = Literal["op", "kind", "tensor"]
FORMATS = ("f32", "f64")
"""The formats that are tried by default."""
_REDRAWN = "the program rounds stochastically: a change that adds or removes ops gives the others new random bits"


@takes(TraceKeywords)
def sensitivity(
    program: Module | Source,
    *arguments: Any,
    formats: Iterable[str] = FORMATS,
    by: By = "op",
    modes: Iterable[str] | bool = (),
    profiles: Iterable[Profile | str] = (),
    orders: Iterable[str] = (),
    models: Iterable[str] = (),
    result: int | str | None = None,
    **options: Unpack[TraceKeywords],
) -> Sensitivity:
    """Run a program with one thing changed at a time, and rank the effect on the errors of its results.

    ``program``, ``arguments``: as for `run`. ``formats``: float types. ``by``: what runs in another format at a time:
    each op that rounds ("op"), all ops of a name ("kind"), or each value, also arguments and constants ("tensor").

    A format that has all numbers of an op's own is held: the op runs in it, and what it computed stays in it, also in
    loops, structured ops and local memory, until another op rounds. So an accumulator changes as a whole. In any other
    format the op runs on rounded operands, and its result is converted back at once. With ``by="tensor"`` a narrower
    format rounds the value alone. Types of functions, and of memory that they are given, stay.

    ``modes``: rounding modes, each given to one op (or kind) at a time; True for all. ``profiles``: profiles, each as a
    whole and field by field. ``orders``: orders of reductions; ``models``: models of tile operations, as ``mma`` names
    them. These three change the whole program.

    ``result``: the result that counts, its number or its name, ``argument[1]`` for memory; by default all do.

    {options}

    Errors are in ulp of the exact numbers, which a run with exact reals finds (`Trace.errors`): that takes the
    branches that the program as it is takes. The result is a `Sensitivity`: iterate over its rows, print it, or call
    ``plot()``.

    Raises InputError for a name that does not exist and for a function without float results, Unsupported for a batch,
    and the errors of `run`.
    """
    given = run_options("sensitivity", TraceKeywords, options)
    all_modes = (trying.MODES if modes else ()) if isinstance(modes, bool) else modes
    changes = [formats, all_modes, profiles, orders, models]
    return ranked(program, arguments, given, changes, by, result)


def ranked(
    program: Module | Source,
    arguments: Sequence[Any],
    options: RunOptions,
    changes: Sequence[Iterable[Any]],
    by: str = "op",
    result: int | str | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Sensitivity:
    """Rank as `sensitivity` does. ``changes``: formats, modes, profiles, orders and models; ``progress``: is called
    with the numbers of the changes that were tried, and of all.
    """
    wanted = trying.choices_of(*(_listed(each) for each in changes))
    if by not in trying.BY:
        raise InputError(f"by is {by!r}, but must be one of {', '.join(trying.BY)}")
    module = program if isinstance(program, Module) else load(program)
    function = find_entry(module, options.function)
    only = f"result[{result}]" if isinstance(result, int) else result
    reference = Reference(module, arguments, options, only)
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
    rows = []
    for number, trial in enumerate(trials):
        progress(number, len(trials))
        row = _tried(trial, reference)
        if isinstance(row, str):
            notes.append(row)
        else:
            rows.append(row)
    progress(len(trials), len(trials))
    return Sensitivity(
        tuple(sorted(rows, key=rank_of)),
        tuple(dict.fromkeys(notes)),
        reference.distances,
        f"@{function.symbol_name}",
        reference.unknown,
        reference.elements,
    )


def _listed(given: Iterable[Any]) -> list[Any]:
    return [given] if isinstance(given, str | Profile) else list(given)


def _tried(trial: trying.Trial, reference: Reference) -> SensitivityRow | str:
    """Return the row of a change, or why it has none."""
    subject, site = trial.subject, trial.subject.site
    try:
        module = trial.make()
        found = reference.distances_of(module, **trial.options)
    except HalfulpError as error:
        return f"{trial.text}: not possible: {error.message}"
    name = _most_changed(reference.distances, found)
    before, after = reference.distances[name].ulp, found[name].ulp
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
        advice_on(trial.text, before, after, moved),
        trial.settings,
        module,
    )


def _most_changed(before: Distances, after: Distances) -> str:
    """Return the result whose error changes most; of those that change alike, that with the largest error."""

    def change(name: str) -> tuple[float, float]:
        one, two = before[name].ulp, after[name].ulp
        size = abs(one - two) if one != two and one == one and two == two else 0.0
        return size, one if one == one else -1.0

    return max(before, key=change)


MOST_ROWS = 20
"""The most rows that the text shows."""
_HEAD = ("before", "after", "moved", "line", "change", "what")
_GAIN, _LOSS = 0.75, 1.25
"""An error that is less than this part of what it was is better; more than this, worse."""


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One change of a program, and what it does to the errors of the results.

    ``sort``: "format", "rounding", "whole profile", "profile" (a field of one), "order" or "model". ``op``, ``line``,
    ``place``, ``source``: the op that was changed; empty and None for a change of the whole program. ``what``: what was
    changed, as text; ``count``: the number of ops. ``was``, ``to``: its format or choice before and after.

    ``result``: the result whose error changes most; ``before``, ``after``: its largest error in ulp of the exact
    number, infinite if it is no number, NaN if no exact number is known. ``moved``: how far any result moves, in ulp.
    ``advice``: the row as a sentence. ``settings``: the option of `halfulp.run` that was changed, if it was one.
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

    @property
    def effect(self) -> float:
        """The error after the change less that before it, in ulp; negative if the change is a gain."""
        return 0.0 if self.before == self.after else self.after - self.before

    @property
    def program(self) -> str:
        """The changed program as MLIR text. A change of settings leaves it as it is."""
        return print_module(self._module)

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON, which has no infinities and no NaN: text and None stand for them."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name[0] != "_"}
        return {**{name: _json(value) for name, value in found.items()}, "settings": dict(self.settings)}


def _json(value: Any) -> Any:
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if isnan(value) else "inf"


def rank_of(row: SensitivityRow) -> tuple[float, float]:
    """Return a key that puts rows with the largest effect first; without a known one, those that move results most."""
    return -abs(row.effect) if row.effect == row.effect else 0.0, -row.moved


def advice_on(change: str, before: float, after: float, moved: float) -> str:
    """Say in a sentence what a change does. ``change``: names it."""
    if not moved:
        return f"{change}: no result changes"
    if isnan(after):
        return f"{change}: results move by {ulps(moved)} ulp"
    grew = f"error {ulps(before)} ulp -> {ulps(after)} ulp"
    if after < _GAIN * before:
        return f"{change}: {grew}"
    return f"{change} costs: {grew}" if after > _LOSS * before else f"{change} makes no difference: {grew}"


@dataclass(frozen=True, repr=False)
class Sensitivity:
    """Changes of a program, those with the largest effect first.

    ``rows``: a `SensitivityRow` for each. ``notes``: what could not be changed or measured, and why. ``errors``: the
    errors of the program as it is. ``function``: its name. ``unknown``: the number of elements of results whose exact
    numbers are not known, of ``elements``.
    """

    rows: tuple[SensitivityRow, ...]
    notes: tuple[str, ...]
    errors: Distances
    function: str
    unknown: int
    elements: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SensitivityRow]:
        return iter(self.rows)

    @property
    def best(self) -> SensitivityRow | None:
        """The single change that reduces the error of a result most; None if none reduces it."""
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
        for name, each in self.errors.items():
            if isnan(each.ulp):
                yield f"error of {name}: not known"
            else:
                yield f"error of {name}: {ulps(each.ulp)} ulp{element_text(each.element)}"
        if self.unknown:
            yield f"nothing is known of the exact numbers of {self.unknown:,} of {plural(self.elements, 'element')}"

    def _best_line(self) -> str:
        if all(isnan(each.ulp) for each in self.errors.values()):
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
        """Return the ranking for a JSON file. Infinite errors are "inf", unknown ones None."""
        errors = {name: {"ulp": _json(each.ulp), "element": list(each.element)} for name, each in self.errors.items()}
        return {
            "function": self.function,
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
    return (
        ulps(row.before),
        ulps(row.after),
        ulps(row.moved),
        "" if row.line is None else str(row.line),
        f"{row.was} -> {row.to}",
        row.source or row.what,
    )


MOST_DRAWN = 15
"""The most changes that are drawn."""
_LEAST, _LONGEST = 2.0**-10, 44


def draw_sensitivities(found: Sensitivity, *, ax: Axes | None = None, dark: bool | None = None) -> Figure:
    """Draw what `hu.sensitivity` found: the largest error of a result before and after each change, in ulp, on a
    logarithmic scale. At most 15 changes are drawn, those with the largest effect; an error below 2^-10 ulp is drawn
    there, and an infinite one at the right end, as a triangle.

    Raises InputError if no change has a known error.
    """
    rows = [row for row in found.rows if row.before == row.before and row.after == row.after][:MOST_DRAWN]
    if not rows:
        raise InputError("there is no change with a known error to draw")
    style = chosen_style(dark)
    sizes = [size for row in rows for size in (row.before, row.after) if isfinite(size)]
    top = max([*sizes, 1.0]) * 4
    with drawing():
        axes = new_axes(ax, style, 1.3 + 0.28 * len(rows))
        axes.set_xscale("log", base=2)
        for place, row in enumerate(rows):
            start, end = (_LEAST if size < _LEAST else min(size, top) for size in (row.before, row.after))
            axes.plot([start, end], [place, place], color=style.faint, linewidth=1.2, zorder=1)
            for size, at, colour, name in (
                (row.before, start, style.series[1], "before"),
                (row.after, end, style.series[0], "after"),
            ):
                mark = "o" if isfinite(size) else ">"
                axes.plot([at], [place], mark, color=colour, markersize=6 if name == "before" else 4, label=name)
        axes.set_yticks(range(len(rows)), [_label(row) for row in rows])
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(max(min([*(max(size, _LEAST) for size in sizes), 1.0]) / 2, _LEAST / 2), top * 1.5)
        axes.axvline(0.5, color=style.faint, linewidth=0.8, linestyle="--")
        axes.set_xlabel("largest error of a result, ulp", color=style.text)
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
    short = what if len(what) <= _LONGEST else f"{what[: _LONGEST - 3]}..."
    return f"{short} → {row.to}"
