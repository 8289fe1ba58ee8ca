"""`rank`: order the weights and ops of a model by how much the results change if their values have another format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import Any, Unpack

from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UNPRINTABLE, HalfulpError, Unsupported, plural
from halfulp.interp.values.value import Value
from halfulp.loading import Runnable, program_of
from halfulp.measuring.metrics import MEASURES, Metric
from halfulp.running import TraceKeywords, find_entry, run_options, takes
from halfulp.sensitivities import placing, trials
from halfulp.sensitivities.flow import Flow, format_of, rounds
from halfulp.sensitivities.reference import Reference
from halfulp.traces.error_text import SiteNames, element_text

FORMATS = ("f8E4M3FN", "mxfp8", "mxfp4", "nvfp4")
"""The formats that are tried by default."""
MOST_ROWS = 20
"""The most rows that the text shows."""


@takes(TraceKeywords)
def rank(
    model: Runnable,
    *arguments: Any,
    formats: Iterable[str | tuple[str, str]] = FORMATS,
    metric: Metric = "sqnr",
    result: int | str | None = None,
    **options: Unpack[TraceKeywords],
) -> FormatRanking:
    """Rank the weights and the ops of a model by their cost: how much the results change if the values of one of them
    are put in each format.

    ``model``, ``arguments``: as for `run`: a module, a function of JAX, or a module of torch. Each run changes one
    value: an argument, a constant, or the results of one op, each time it runs. This value is converted to the format
    and back as soon as it is computed; nothing else changes. The cost is the distance of the results from those of the
    unchanged program.

    ``formats``: float types; "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8" or "nvfp4"; or a pair
    of an element type and a recipe of `quantize_blocks`, as ("f4E2M1FN", "rceil"). A float type is used without a
    scale: numbers that are too large for it overflow as in arith.truncf. If the value is an operand of a product of
    matrices, its blocks lie along the axis that the product sums over; else along its last axis. The last block may be
    shorter.

    ``metric``: the figure to measure: the ratio of the results to the differences in dB ("sqnr"), the largest
    difference in ulp ("ulp"), the largest difference relative to the largest number of the result ("relative"), or the
    largest absolute difference ("absolute").

    ``result``: the result to measure: its number or its name, ``argument[1]`` for memory; by default the result with
    the largest cost.

    {options}

    The result is a `FormatRanking`: iterate over its rows, or print it. The rows with the largest cost come first;
    before them come the rows in which a number became infinity, NaN or poison. Constants of one number, memory that is
    passed to the function, and ops that do not round floats are not tried; ``notes`` says what else was not tried, and
    why.

    Raises InputError for an unknown name and for a function without float results, Unsupported for a batch, and the
    errors of `run`.
    """
    given = run_options("rank", TraceKeywords, options)
    targets = [placing.target_of(each) for each in ([formats] if isinstance(formats, str) else formats)]
    if given.batch:
        raise Unsupported("batch=True cannot be used here: give the arguments of one call")
    module, arguments = program_of(model, arguments)
    function = find_entry(module, given.function)
    only = f"result[{result}]" if isinstance(result, int) else result
    reference = Reference(module, arguments, given, only, metric, exactly=False)
    notes = [f"{name} is not measured: no f64 holds all numbers of its type" for name in reference.unmeasured]
    if reference.unknown:
        notes.append(
            f"{reference.unknown:,} of {plural(reference.elements, 'element')} of the results are infinite, NaN or "
            "poison in the program as it is: they do not count"
        )
    ops = trials.ops_that_run(module, function, Flow(module, rounds))
    found = list(placing.places(function, ops, module, notes.append))
    placings = [each for target in targets for each in _tried(found, target, notes)]
    runs = placing.Runs(module, function, found, arguments, given)
    names, rows = SiteNames(module, given.profile), []
    order = {place: number for number, place in enumerate(found)}
    for each, results in runs.results(sorted(placings, key=lambda one: order[one.place])):
        if isinstance(results, HalfulpError):
            notes.append(f"{each.place.name} in {each.target.name}: not possible: {results.message}")
        else:
            rows.append(_row(each, reference, results, names))
    return FormatRanking(
        tuple(sorted(rows, key=_order)),
        tuple(dict.fromkeys(notes)),
        f"@{function.symbol_name}",
        tuple(target.meaning for target in targets if target.meaning),
        metric,
    )


def _tried(places: Sequence[placing.Place], target: placing.Target, notes: list[str]) -> Iterator[placing.Placing]:
    """Yield the values that a format changes, and record in ``notes`` those that it does not change."""
    held, single = 0, 0
    for place in places:
        own = format_of(place.value)
        assert own is not None
        if target.recipe is None and target.holds(own.format):
            held += 1
        elif target.recipe is not None and not ty.shape_of(place.value.type):
            single += 1
        else:
            yield placing.Placing(place, target)
    if held:
        notes.append(f"{target.name} has all numbers of {plural(held, 'value')}: it changes nothing there")
    if single:
        notes.append(f"{target.name} has blocks: it does not take {plural(single, 'value')} of one number")


@dataclass(frozen=True, slots=True)
class RankedValue:
    """A weight, an input or the results of an op in a format, and the cost.

    ``kind``: "op"; "weight", a constant or an argument that is part of a container, such as ``params['wq']``; "input",
    any other argument. ``name``: the name in the source; for an op, the name of the op with its weight. ``op``: the
    name of the op in the program, or the names of the ops in its body; empty for a weight and an input. ``format``: the
    name of the format. ``axis``: the axis of its blocks; None without blocks. ``type``: the type of the value in the
    program.

    ``size``: the cost by ``metric``: the largest distance of an element from the unchanged program. ``result``: the
    result that changes most; ``element``: the element with this distance (none for an SQNR). NaN if the unchanged
    program has no finite number there. ``lost``: the number of elements of the results that are infinite, NaN or
    poison, but are finite in the unchanged program.

    ``place``: ``file:line:column`` in the source, such as a Python file, of the op that computed the value or takes it
    first; ``line``, ``source``: the line of this op in the text of the program.
    """

    kind: str
    name: str
    op: str
    format: str
    axis: int | None
    type: str
    size: float
    result: str
    element: tuple[int, ...]
    lost: int
    place: str
    line: int | None
    source: str
    metric: str


def _row(each: placing.Placing, reference: Reference, found: Mapping[str, Value], names: SiteNames) -> RankedValue:
    place, target = each.place, each.target
    distances = reference.distances_from(found)
    name = max(distances, key=lambda name: (distances[name].lost, _cost(reference.metric, distances[name].size)))
    worst = distances[name]
    site = None if place.at is None else names.site(place.at)
    return RankedValue(
        place.kind,
        place.name,
        place.op,
        target.name,
        place.axis if target.recipe else None,
        str(place.value.type),
        worst.size,
        name,
        worst.element,
        worst.lost,
        "" if site is None else site.place,
        None if site is None else site.line,
        "" if site is None else site.source,
        reference.metric,
    )


def _cost(metric: str, size: float) -> float:
    """Return the cost for sorting, from a size; negative if the size is not known."""
    return -1.0 if isnan(size) else MEASURES[metric].cost(size)


def _order(row: RankedValue) -> tuple[bool, float, int]:
    """Return a sort key: rows in which numbers become infinite, NaN or poison come first, then the rows with the
    largest cost.
    """
    return not row.lost, -_cost(row.metric, row.size), -row.lost


_HEAD = ("kind", "name", "op", "format", "line", "place")


@dataclass(frozen=True, repr=False)
class FormatRanking:
    """Values of a program in several formats, ordered by their cost, the largest first.

    ``rows``: a `RankedValue` for each value and format.
    ``notes``: what was not tried, and why.
    ``function``: the name of the function.
    ``meanings``: the meaning of each name of a format with blocks.
    ``metric``: the figure that was measured.
    """

    rows: tuple[RankedValue, ...]
    notes: tuple[str, ...]
    function: str
    meanings: tuple[str, ...]
    metric: str = "sqnr"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RankedValue]:
        return iter(self.rows)

    def table(self, most: int | None = None) -> list[tuple[str, ...]]:
        """Return the rows as text, with their heading."""
        return [(MEASURES[self.metric].what, *_HEAD), *(_cells(row) for row in self.rows[:most])]

    def lines(self) -> Iterator[str]:
        """Yield the ranking as text."""
        yield self._heading
        if self.rows:
            yield from (f"  {line}" for line in table_lines(self.table(MOST_ROWS), right=(0, 5)))
        yield from self._after()

    @property
    def _heading(self) -> str:
        return f"results of {self.function} with one value in a format, beside those of the program as it is"

    def _after(self) -> Iterator[str]:
        left = len(self.rows) - MOST_ROWS
        if left > 0:
            yield f"and {plural(left, 'row')} that cost less"
        elif not self.rows:
            yield "nothing was tried"
        yield from self.meanings
        yield from (f"note: {note}" for note in self.notes)

    def __str__(self) -> str:
        return "\n".join(self.lines()).translate(UNPRINTABLE)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self.table(MOST_ROWS)
        cells = [[escape(cell) for cell in row] for row in rows]
        after = [f"<p>{escape(line)}</p>" for line in self._after()]
        return fragment(title(f"Costs of formats in {self.function}"), table(cells, head), *after)


def _cells(row: RankedValue) -> tuple[str, ...]:
    size = f"{row.lost:,} not finite" if row.lost else MEASURES[row.metric].spell(row.size)
    return (
        f"{size}{element_text(row.element)}",
        row.kind,
        row.name,
        row.op,
        row.format,
        "" if row.line is None else str(row.line),
        os.path.basename(row.place).rpartition(":")[0],
    )
