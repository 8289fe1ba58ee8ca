"""Run a program also with exact real numbers, to find how far each result is from the exact one, and which ops caused
the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from html import escape
from math import inf, isfinite, isnan, nan
from operator import or_
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.core import FlagArray
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.neighbours import Floats, place_of_largest, ranking_sizes, sqnr_of, ulp_of_float
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.fp_formats.spelling import fragment, table_lines
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UNPRINTABLE, InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.array_attribution import ArrayAttribution
from halfulp.interp.run.attribution import Attribution, value_of
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.settings import Listener, OpRun, Ran, clear_marks, on_floats, same_ran, unmarked
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.run.shadows import FORMS, Form, Shadows, error_in_ulp, shadow_of
from halfulp.interp.values.buffers import Buffer, copies_of
from halfulp.interp.values.value import Value
from halfulp.loading import Runnable, program_of
from halfulp.measuring.metrics import MEASURES, Metric, checked_metric
from halfulp.running import RunKeywords, RunOptions, find_entry, given_arguments, run_options, run_with, takes
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.semantics.shadows import Shadow
from halfulp.texts import flags_text
from halfulp.traces import error_text

_CLOSE = 2.0**-45
"""An exact number counts as closely known if its radius, relative to it, is at most this: then nearly all shown digits
are right.
"""

_FEW_NUMBERS = 10_000
"""If a history has at most this number of numbers, it is computed with balls, which takes a second or two."""

_MOST_OPS = 5
"""The number of ops that a ranking shows."""

Ends = Sequence[tuple[str, Value]]
"""The float results of a run, and the memory of floats among its arguments, by name."""


@dataclass(eq=False, repr=False)
class RunErrors:
    """The errors of a run: of its results, and of the ops.

    ``results``: one for each float result, then one for each memref of floats among the arguments.
    ``ops``: the ops that computed floats, or decided by them, in the order of the run.
    """

    #: The float results and the memory of floats, by their names, with their shadows.
    ends: Mapping[str, Value]
    _shadows: Shadows
    _site: Callable[[Operation], error_text.Site]
    _replay: Callable[[], tuple[Lineage, Ends]]
    _history: tuple[Lineage, Mapping[str, Value]] | None = None
    _attributions: dict[
        tuple[str, error_text.Element], tuple[Attribution | ArrayAttribution, float] | LimitExceeded
    ] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(f"<pre>{escape(str(self).translate(UNPRINTABLE))}</pre>")

    @property
    def wider(self) -> str:
        """The format whose numbers are used as the exact numbers: "f64" or "f128"; "" if exact numbers are enclosed
        between bounds.
        """
        return self._shadows.form.wider

    def lines(self) -> Iterator[str]:
        """Yield the report as text: the results, the ops that overflowed, the ops that cause most of the error, the
        bits that ops lost, and the decisions that would be different with exact numbers.
        """
        beside = f", beside {self.wider}" if self.wider else ""
        for each in self.results:
            yield f"error of {each.name}{beside}: {error_text.result_text(each, self.wider)}"
        ops = self.ops
        yield from _event_lines(one for one in ops if one.overflowed)
        yield from self._ranking_lines()
        yield from _event_lines(one for one in ops if not one.overflowed)

    def _ranking_lines(self) -> Iterator[str]:
        """Yield a table of the ops that cause most of the error."""
        largest = self.largest
        if largest is None or not largest.ulp:
            return
        try:
            found = [one for one in self.worst(_MOST_OPS) if one.effect_ulp]
        except LimitExceeded as error:
            yield f"no ranking of ops: {error.message}"
            return
        if not found:
            return
        yield f"ops whose own errors make that of {largest.name}{error_text.element_text(largest.element or ())}:"
        yield from (f"  {line}" for line in error_text.Ranking(found).lines())

    def as_json(self) -> dict[str, Any]:
        """Return the errors of the results and of the ops for a JSON file. The ops that cause most of the error come
        first. Numbers that are not finite are None. If the run is too long for `worst`, the effects of ops are None.
        """
        try:
            ops = self.worst()
        except LimitExceeded:
            ops = error_text.Ranking(sorted(self.ops, key=_own))
        return {
            "results": [error_text.json_record(each) for each in self.results],
            "ops": [error_text.json_record(each) for each in ops],
        }

    @cached_property
    def results(self) -> tuple[error_text.ResultError, ...]:
        """The errors of the results, as the class describes them."""
        return tuple([self.error_of(name) for name in self.ends])

    @property
    def ops(self) -> tuple[error_text.OpError, ...]:
        """The errors of each op. `worst` returns their effect on a result."""
        return tuple([self._op_error(ran, nan, nan) for ran in self._shadows.figures])

    def by_op(self) -> Iterator[tuple[Operation, ShadowFigures]]:
        """Yield ops with their figures. Those of an op that runs inside of another one, such as the addition of a sum,
        belong to both.
        """
        for ran, figures in self._shadows.figures.items():
            yield from ((op, figures) for op in dict.fromkeys(ran))

    @property
    def largest(self) -> error_text.ResultError | None:
        """The result with the largest known error; None if nothing is known about any result."""
        known = [each for each in self.results if isfinite(each.ulp)]
        return max(known, key=self._ranked_size, default=None)

    def largest_by(self, metric: Metric) -> error_text.ResultError | None:
        """Return the result that is worst by a metric, with its element of the largest known error.

        Return None if no error of any result is known. Raises InputError for a metric that does not exist.
        """
        if checked_metric(metric) == "ulp":
            return self.largest
        measure, found = MEASURES[metric], []
        for name, value in self.ends.items():
            ulps, shadow = _known_ulps(value, self._shadows.form), shadow_of(value, self._shadows.form)
            known = np.isfinite(ulps)
            if shadow is None or not known.any() or not has_shadows(ty.float_format(value.type)):
                continue
            with np.errstate(all="ignore"):
                errors = np.where(known, np.abs(shadow.error), nan)
                exact = np.where(known, as_f64(ty.float_format(value.type), value.bits) + shadow.error, nan)
            sizes = errors / measure.unit(exact, ulps)
            place = place_of_largest(sizes)
            size = sqnr_of(exact[known], errors[known]) if metric == "sqnr" else float(sizes[place])
            found.append((measure.cost(size), name, place))
        if not found:
            return self.largest
        _, name, place = max(found, key=lambda each: each[0])
        return self.error_of(name, place)

    def _ranked_size(self, result: error_text.ResultError) -> float:
        """Return the size of an error, by which errors are ranked; see `ranking_sizes`."""
        value, form = self.ends[result.name], self._shadows.form
        ulps, shadow = _known_ulps(value, form), shadow_of(value, form)
        if shadow is None or np.isnan(ulps[result.element or ()]):
            return abs(result.ulp)
        return float(_ranked(value, np.abs(ulps), shadow)[result.element or ()])

    def worst(self, count: int | None = None, metric: Metric = "ulp") -> error_text.Ranking:
        """Return the ops whose own errors contribute most to the result with the largest error by a metric (see
        `largest_by`).

        If no result has a known error other than 0, the ops are ordered by their own errors. Raises LimitExceeded for a
        run of more numbers than its history can keep.
        """
        chosen = self.largest_by(metric)
        if chosen is None or not chosen.ulp:
            return error_text.Ranking(sorted(self.ops, key=_own)[:count])
        return error_text.Ranking(self.effects(chosen)[:count])

    def effects(self, chosen: error_text.ResultError) -> error_text.Ranking:
        """Return the ops whose own errors contribute most to an error that `error_of` returned. Raises LimitExceeded
        for a run of more numbers than its history can keep.
        """
        attribution, unit = self._attribution(chosen.name, chosen.element or ())
        effects: dict[Ran, float] = {}
        owns: dict[Ran, float] = {}
        for each in attribution.effects():
            ran = same_ran(self._shadows.made, each.op, each.around)
            effects[ran] = effects.get(ran, 0.0) + each.effect / unit
            owns[ran] = max(owns.get(ran, 0.0), each.own_ulp)
        found = []
        for ran in self._shadows.figures:
            effect = effects.get(ran, 0.0)
            one = self._op_error(ran, effect, effect / chosen.ulp if chosen.ulp else nan)
            found.append(replace(one, own_ulp=owns.get(ran, nan)) if isnan(one.own_ulp) else one)
        return error_text.Ranking(sorted(found, key=lambda one: (-abs(one.effect_ulp), _own(one))))

    def error_of(self, result: int | str = 0, element: error_text.Element | None = None) -> error_text.ResultError:
        """Return the error of an element of a result: by default, of the element with the largest error.

        ``result``: the number of the result, or its name in ``results``. Raises InputError for a result or an element
        that does not exist.
        """
        name = f"result[{result}]" if isinstance(result, int) else result
        if name not in self.ends:
            raise InputError(f"the run has no float result {name}", hint=f"it has {', '.join(self.ends) or 'none'}")
        value = self.ends[name]
        if element is not None and not _within(element, value.shape):
            raise InputError(f"{name} has the shape {list(value.shape)}: it has no element {list(element)}")
        found = _error_of(name, value, element, self._shadows.form)
        return found if self.wider else self._closely(found)

    def explain(self, result: int | str = 0, element: error_text.Element | None = None) -> list[error_text.StoryStep]:
        """Return the steps from an element of a result back to the origin of its error. Each step goes to the operand
        that contributes most. From an infinity or a NaN, the steps lead to the op that computed it from finite
        operands.

        ``result``, ``element``: as for `error_of`. Raises InputError, Unsupported if nothing is known about the exact
        number of a finite element, LimitExceeded for a run of more numbers than its history can keep.
        """
        chosen = self.error_of(result, element)
        if not isfinite(chosen.ulp) and isfinite(chosen.value):
            raise Unsupported(
                f"the exact number of {chosen.name}{error_text.element_text(chosen.element or ())} is not known",
                hint="in the list .ops of the errors, the first op with unknown results shows where that began",
            )
        return list(self._story(*self._attribution(chosen.name, chosen.element or ())))

    # --- how ---

    def _closely(self, found: error_text.ResultError) -> error_text.ResultError:
        """Return an error that is known closely. If the shadow does not know it closely, compute it from the history of
        the number.
        """
        if found.element is None or found.radius <= _CLOSE * abs(found.exact):
            return found
        try:
            # Where the error is known, it is not worth minutes to know it closely.
            attribution, unit = self._attribution(found.name, found.element, not found.radius < abs(found.error))
        except LimitExceeded:
            return found
        end = attribution.end if isinstance(attribution, Attribution) else None
        if end is None or not end.exact.is_finite():
            return found
        with bits_of_precision(attribution.bits):
            error, radius, exact = float((end.value - end.exact).mid()), float(end.exact.rad()), float(end.exact.mid())
        number = float(end.value)
        # An infinity and a NaN have no distance from a number.
        ulp = error / -unit + 0.0 if isfinite(number) else nan
        unknown = found.unknown if isfinite(found.ulp) else found.unknown - 1
        relative = _relative(error, exact) if isfinite(number) else nan
        return replace(
            found, value=number, exact=exact, error=error, ulp=ulp, radius=radius, relative=relative, unknown=unknown
        )

    def _attribution(
        self, name: str, element: error_text.Element, long: bool = True
    ) -> tuple[Attribution | ArrayAttribution, float]:
        """Return the history of an element, and the unit in which its parts are measured: an ulp of the exact number,
        with a sign, so that the parts add up to the computed number minus the exact one. ``long``: also for a long
        history. Raises LimitExceeded.
        """
        kept = self._attributions.get((name, element))
        if isinstance(kept, LimitExceeded):
            raise kept
        if kept is not None:
            return kept
        if self._history is None:
            lineage, ends = self._replay()
            self._history = lineage, dict(ends)
        lineage, values = self._history
        value = values[name]
        id = 0 if value.open is None else int(value.open[element])
        code = codes_to_ints(np.asarray(value.bits[element]), ty.width_of(value.element_type))[0]
        self._attributions.clear()  # a history may be as large as the run
        try:
            attribution = _attributed(lineage, id, value.element_type, code, long)
        except LimitExceeded as error:
            if long:
                self._attributions[name, element] = error
            raise
        found = attribution, -_ulp_at_end(attribution, ty.float_format(value.type))
        self._attributions[name, element] = found
        return found

    def _story(self, attribution: Attribution | ArrayAttribution, unit: float) -> Iterator[error_text.StoryStep]:
        share = attribution.end
        while share is not None:
            node, weight = share.node, share.weight / unit
            site = error_text.shown_site(self._site, node.op, node.around)
            special = [_is_special(each.type, each.code) for each in node.operands]
            parts = [(name, growth * weight + 0.0) for name, growth in zip(site.operands, share.parts, strict=False)]
            if not share.value.is_finite():
                parts = [(name, nan) for name, one in zip(site.operands, special, strict=False) if one]
            sources = zip(share.growth, node.operands, strict=False)
            _, following = max(((abs(growth), each.id) for growth, each in sources if growth), default=(0.0, 0))
            if any(special):
                following = node.operands[special.index(True)].id
            yield error_text.StoryStep(
                node.op.name, *error_text.fields_of(site)[1:], float(share.value), _exactly(share.exact),
                share.error * weight + 0.0, share.own * weight + 0.0, tuple(parts),  # + 0.0: no negative zero
                float(share.exact.rad()),
            )  # fmt: skip
            began = not share.value.is_finite() and not any(special)
            share = None if began else attribution.share(following)

    def _op_error(self, ran: Ran, effect: float, share: float) -> error_text.OpError:
        site, found = error_text.shown_site(self._site, *ran), self._shadows.figures[ran]
        own, total, relative = map(found.known, (found.own, found.total, found.relative))
        return error_text.OpError(
            *error_text.fields_of(site), site.function, found.elements,
            own, found.own.place, total, found.total.place, relative, effect, share,
            found.cancelled, found.absorbed, found.overflowed, found.flushed, found.unknown, found.otherwise,
            found.undecided, found.wrapped,
        )  # fmt: skip


class BesideReals:
    """One run of a function that also keeps shadows. ``arguments``, ``options``: as for `run`; ``wider``: see
    `RunErrors.wider`.

    Raises ValueError for any other format, Unsupported for a batch and for a signature of the llvm dialect, and the
    errors of `run` for arguments that do not fit.
    """

    def __init__(self, module: Module, arguments: Sequence[Any], options: RunOptions, wider: str = "") -> None:
        if wider not in FORMS:
            raise ValueError(f"shadow is {wider!r}, but must be True or one of {', '.join(filter(None, FORMS))}")
        self._module, self._options, self._shadows = module, options, Shadows(FORMS[wider])
        function = find_entry(module, options.function)
        if options.batch or options.signature is not None:
            what = "a batch" if options.batch else "a function that is called by another signature"
            raise Unsupported(f"{what} cannot also run with exact real numbers", location=function.location)
        self._given: list[Any] = given_arguments(function, arguments, options)
        self._before = copies_of(self._given)
        self._ends: Ends = []

    @property
    def taken(self) -> Callable[[Operation], ShadowFigures | None]:
        """A function from an op to its effect on the errors of its results since the last call; None if
        there is none.
        """
        return self._shadows.taken

    def run(self, *listeners: Listener) -> tuple[Value, ...]:
        """Run once, and return the results without marks. Raises the errors of `run`."""
        options = replace(self._options, recorder=self._shadows, listeners=listeners)
        try:
            results = run_with(self._module, self._given, options)
            self._ends = ends_of(results, self._given)
        finally:
            clear_marks(self._given)
        return tuple(map(unmarked, results))

    def report(self, site: Callable[[Operation], error_text.Site]) -> RunErrors:
        """Return the errors of the run, up to the op at which it stopped. ``site``: returns the name of an op."""
        return RunErrors(dict(self._ends), self._shadows, site, self._replay)

    def _replay(self) -> tuple[Lineage, Ends]:
        lineage, given = Lineage(), copies_of(self._before)
        results = run_with(self._module, given, replace(self._options, recorder=lineage))
        return lineage, ends_of(results, given)


def beside_reals(
    module: Module, arguments: Sequence[Any], options: RunOptions, wider: str = ""
) -> tuple[tuple[Value, ...], RunErrors]:
    """Run a function also with exact reals; return its results and their errors. Raises as `BesideReals` does."""
    run = BesideReals(module, arguments, options, wider)
    results = run.run()
    return results, run.report(error_text.SiteNames(module, options.profile).site)


def ends_of(results: Sequence[Value], arguments: Sequence[Any]) -> Ends:
    """Return the float results of a run, and the memory of floats among its arguments."""
    memory = [(f"argument[{k}]", each.load()) for k, each in enumerate(arguments) if isinstance(each, Buffer)]
    named = [(f"result[{k}]", each) for k, each in enumerate(results)] + memory
    return [(name, value) for name, value in named if isinstance(value.element_type, ty.FloatType)]


def _attributed(lineage: Lineage, id: int, type_: ty.Type, code: int, long: bool) -> Attribution | ArrayAttribution:
    """Return the history of a number: computed with balls, or, if it is long, with arrays if these support all of its
    ops.
    """
    try:
        return Attribution(lineage, id, type_, code, most=_FEW_NUMBERS)
    except LimitExceeded:
        if not long:
            raise
    try:
        return ArrayAttribution(lineage, id, type_, code)
    except Unsupported:
        return Attribution(lineage, id, type_, code)


def _ulp_at_end(attribution: Attribution | ArrayAttribution, fmt: FloatFormat) -> float:
    """Return the ulp at the exact number of a history; if nothing is known about that number, the ulp at the computed
    one.
    """
    end = attribution.end
    if end is None or not end.exact.is_finite():
        return ulp_of_float(fmt, float(value_of(fmt, attribution.code)))
    if not end.value.is_finite():
        return ulp_of_float(fmt, float(end.exact.mid()))
    with bits_of_precision(attribution.bits):
        return ulp_of_float(fmt, float(end.value), float((end.exact - end.value).mid()), float(end.exact.rad()))


def _relative(error: float, exact: float) -> float:
    return abs(error / exact) if exact else inf if error else 0.0


def _exactly(ball: arb) -> float:
    """Return the exact number of a ball, as a float; NaN if nothing is known about it."""
    return float(ball.mid()) if ball.rad().is_finite() else nan


def _own(one: error_text.OpError) -> float:
    """Return a sort key for ops: the ops with the largest own errors come first."""
    return -one.own_ulp if isfinite(one.own_ulp) else 0.0


def _is_special(type_: ty.Type, code: int) -> bool:
    """Tell whether a code is an infinity or a NaN."""
    return isinstance(type_, ty.FloatType) and not value_of(type_.format, code).is_finite()


def _within(element: error_text.Element, shape: error_text.Element) -> bool:
    return len(element) == len(shape) and all(0 <= at < size for at, size in zip(element, shape, strict=True))


def _error_of(name: str, value: Value, element: error_text.Element | None, form: Form) -> error_text.ResultError:
    """Return the error of an element, or that of the element with the largest known one."""
    ulps, shadow, fmt = _known_ulps(value, form), shadow_of(value, form), ty.float_format(value.type)
    assert shadow is not None
    unknown = int(np.count_nonzero(np.isnan(ulps)))
    if element is None and value.size:
        element = place_of_largest(_ranked(value, np.abs(ulps), shadow))
    if element is None or not has_shadows(fmt):
        return error_text.ResultError(
            name, str(value.type), element, nan, nan, nan, nan, inf, nan, value.size, unknown, _special(value, ulps)
        )
    number, error = float(as_f64(fmt, value.bits)[element]), float(shadow.error[element])
    known = not np.isnan(ulps[element])
    return error_text.ResultError(
        name,
        str(value.type),
        element,
        number,
        number + error if known else nan,
        0.0 - error if known else nan,
        0.0 - float(ulps[element]),
        float(shadow.radius[element]) if known else inf,
        _relative(error, number + error) if known and isfinite(number) else nan,
        value.size,
        unknown,
        _special(value, ulps),
    )


def _event_lines(ops: Iterable[error_text.OpError]) -> Iterator[str]:
    for one in ops:
        notes = list(error_text.events(one))
        if notes:
            line = "" if one.line is None else f"line {one.line}: "
            yield f"{line}{one.source}: {', '.join(notes)}"


def _special(value: Value, ulps: Floats) -> tuple[tuple[str, int, error_text.Element], ...]:
    """Return the kinds of elements that are infinite, NaN, poison or overflowed: see `ResultError.special`."""
    fmt = ty.float_format(value.type)
    clean = np.ones(value.shape, np.bool_) if value.poison is None else value.poison == 0
    masks = {
        "NaN": comparisons.is_nan(fmt, value.bits) & clean,
        "infinite": comparisons.is_infinite(fmt, value.bits) & clean & np.isnan(ulps),
        "poison": ~clean,
        "overflowed": np.zeros(value.shape, np.bool_),
    }
    if has_shadows(fmt):
        with np.errstate(invalid="ignore"):
            masks["overflowed"] = (np.abs(as_f64(fmt, value.bits)) == float(fmt.max_value)) & (np.abs(ulps) >= 1)
    found = [(what, np.argwhere(mask)) for what, mask in masks.items()]
    return tuple([(what, len(places), tuple(map(int, places[0]))) for what, places in found if len(places)])


def _known_ulps(value: Value, form: Form) -> Floats:
    """Return errors in ulp: NaN if they are not known, or if a radius is wider than both the error and 8 ulp."""
    found = error_in_ulp(value, form)
    assert found is not None
    ulps, radii = found
    # What underflows, at 2**-1074, is a few ulp of f64.
    return np.where(radii > np.maximum(np.abs(ulps), 8.0), nan, ulps)


def _ranked(value: Value, ulps: Floats, shadow: Shadow) -> Floats:
    """Return the sizes in ulp of the errors of a value as they are ranked."""
    fmt = ty.float_format(value.type)
    if not has_shadows(fmt):
        return ulps
    with np.errstate(all="ignore"):
        exact = np.where(np.isnan(ulps), nan, as_f64(fmt, value.bits) + shadow.error)
    return ranking_sizes(fmt, ulps, shadow.error, exact, shadow.radius)


# --- flag report ------------------------------------------------------------------------------------------------------
#
# The exception flags of a run: which ops raised which, for how many elements.

Counts = npt.NDArray[np.int64]

_BITS = np.array([flag.value for flag in Flags], np.uint8)


@dataclass(frozen=True)
class OpFlags(error_text.OpRecord):
    """The flags that one op of a program raised, over all of its runs.

    ``flags``: all of these flags.
    ``counts``: the number of elements that raised each flag.
    ``elements``: the number of elements that the op computed. An element with a poison operand raises no flag.
    """

    elements: int
    flags: Flags
    counts: dict[str, int]


@dataclass(frozen=True)
class FlagReport:
    """The results and the exception flags of a run.

    ``results``: the results of the function.
    ``flags``: all flags that any op raised, like the sticky flags of a float unit.
    ``ops``: the ops that have flags, in the order of the run.
    ``unknown``: the names of the ops on floats whose flags are not known: ops on whole values, such as tile operations,
    and calls of external functions.
    """

    results: tuple[Value, ...]
    flags: Flags
    ops: tuple[OpFlags, ...]
    unknown: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the lines of the report: the flags of the run, and the ops that raised flags."""
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
    """Return the number of elements of an op, and the number that raise each flag. An element with a poison operand
    raises none.
    """
    poisoned = [operand.poisoned for operand in operands if operand.poison is not None]
    if not shape and not poisoned:
        return np.array([1, *(int(raised) & _BITS != 0)], np.int64)
    flags, clean = np.broadcast_to(raised, shape), np.ones(shape, np.bool_)
    for mask in poisoned:
        clean &= ~np.broadcast_to(mask, shape)
    return np.array([flags.size, *(np.count_nonzero((flags & bit != 0) & clean) for bit in _BITS)], np.int64)


@dataclass(eq=False, slots=True)
class _FlagRecorder(Lineage):
    """A recorder that counts flags. The ids of a lineage, without its history, show which floats an op made without a
    record of its flags.
    """

    counts: dict[Ran, Counts] = field(default_factory=dict)
    unseen: dict[str, None] = field(default_factory=dict)
    _ran: dict[tuple[str, Operation], Ran] = field(default_factory=dict)

    def record(self, run: OpRun) -> tuple[Any, ...]:
        """Count the flags of one op; see `halfulp.interp.run.settings.Recorder`."""
        if run.kernel.flags is not None:
            ran = same_ran(self._ran, run.op, run.around)
            found = self.counts.setdefault(ran, np.zeros(1 + len(Flags), np.int64))
            found += _counted(run.kernel.raised(*run.codes), run.operands, run.shape)
        elif on_floats(run.op) and run.kernel.real is None:
            self.unseen[run.op.name] = None
        # A dataclass with slots is made anew, and `super()` without arguments knows the class before.
        return Lineage.record(self, run)

    def unknown(self, what: str, produced: Any) -> Any:
        """Note an op whose flags are not known; see `halfulp.interp.run.settings.Recorder`."""
        self.unseen[what] = None
        return Lineage.unknown(self, what, produced)

    def _add(self, make: Any, count: int) -> int:
        base = self._next
        self._next += count
        return base


@takes(RunKeywords)
def exception_flags(module: Runnable, *arguments: Any, **options: Unpack[RunKeywords]) -> FlagReport:
    """Run a function. Return its results and the exception flags of all its ops, as a `FlagReport`.

    ``module``, ``arguments``: as for `run`.
    ``options``: the options of `run`, except ``batch`` and ``signature``.

    Raises Unsupported for ``batch`` and ``signature``, and the errors of `run`.
    """
    loaded, arguments = program_of(module, arguments)
    return flags_of_run(loaded, arguments, run_options("exception_flags", RunKeywords, options))


def flags_of_run(module: Module, arguments: Sequence[Any], options: RunOptions) -> FlagReport:
    """Return the report of a run with these options; see `exception_flags`."""
    function = find_entry(module, options.function)
    if options.batch or options.signature is not None:
        what = "a batch" if options.batch else "a function that is called by another signature"
        raise Unsupported(f"{what} does not report exception flags", location=function.location)
    given, recorder = given_arguments(function, arguments, options), _FlagRecorder()
    try:
        results = run_with(module, given, replace(options, recorder=recorder))
    finally:
        clear_marks(given)
    site = error_text.SiteNames(module, options.profile).site
    rows = tuple(_row(error_text.shown_site(site, *ran), counts) for ran, counts in recorder.counts.items())
    return FlagReport(tuple(map(unmarked, results)), _union(row.flags for row in rows), rows, tuple(recorder.unseen))


def _row(site: error_text.Site, counts: Counts) -> OpFlags:
    elements, *numbers = counts.tolist()
    raised = dict(zip(Flags, numbers, strict=True))
    return OpFlags(
        *error_text.fields_of(site), site.function, elements,
        _union(flag for flag, count in raised.items() if count),
        {flags_text(flag): count for flag, count in raised.items()},
    )  # fmt: skip


def _union(flags: Iterable[Flags]) -> Flags:
    return reduce(or_, flags, Flags(0))
