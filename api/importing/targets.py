"""What a kernel of Triton computes on several targets, compared: `compare_targets`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.importing.comparison import OutputDistance, exact_numbers
from halfulp.importing.kernels import Launch, bound_launch, run_keywords
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.buffers import Buffer, copies_of
from halfulp.interp.values.value import Value
from halfulp.running import RunOptions, find_entry, given_arguments
from halfulp.traces.error_report import BesideReals, RunErrors
from halfulp.traces.error_text import OpError, SiteNames, element_text

_HEAD = ("output", "type", "elements", "different", "max ulp", "nearer", "farthest")
_OPS = ("ulp on {}", "ulp on {}", "line of the kernel", "op")
_MOST_OPS = 4


@dataclass(frozen=True)
class TargetRun:
    """A kernel on one target. ``target``: its name; "" for TTIR, without a target. ``module``: what ran. ``outputs``:
    the memory of each array afterwards, by the name of the parameter. ``errors``: the errors beside exact reals, which
    name the arrays by ``names``.
    """

    target: str
    module: Module
    outputs: Mapping[str, Value]
    errors: RunErrors
    names: Mapping[str, str]

    @property
    def name(self) -> str:
        """The target, or ``TTIR``."""
        return self.target or "TTIR"


@dataclass(frozen=True)
class OpDifference:
    """An op that rounds differently on two targets. ``place``: its line in the kernel. ``op``: the op. ``ulp``: the
    contribution of its own errors to the farthest element on both targets, in ulp of that element.
    """

    place: str
    op: str
    ulp: tuple[float, float]


@dataclass(frozen=True, repr=False)
class TargetOutput:
    """An array that two targets leave different. ``distance``: their results and the distance. ``ops``: the ops that
    make the farthest element different, the largest difference first; none if they are not known, for example behind a
    dot, whose exact numbers are not followed.
    """

    distance: OutputDistance
    ops: tuple[OpDifference, ...]

    def lines(self) -> list[str]:
        """Return the ops as a table, or that they are not known."""
        first, second = self.distance.own, self.distance.against
        at = f"{self.distance.name}{element_text(self.distance.farthest or ())}"
        if not self.ops:
            return [f"{at}: the ops that make the difference are not known"] if self.distance.different else []
        rows = [(f"{one.ulp[0]:.3g}", f"{one.ulp[1]:.3g}", one.place, one.op) for one in self.ops]
        head = (_OPS[0].format(first), _OPS[1].format(second), *_OPS[2:])
        return [f"ops whose own errors differ most at {at}:", *table_lines([head, *rows], right=range(2))]


@dataclass(frozen=True, repr=False)
class TargetComparison:
    """A kernel on several targets. ``runs``: a `TargetRun` for each. ``outputs``: for each pair of the first target
    and another one a `TargetOutput` for each array.
    """

    kernel: str
    runs: tuple[TargetRun, ...]
    outputs: tuple[TargetOutput, ...]

    @property
    def different(self) -> int:
        """The number of elements that differ."""
        return sum(each.distance.different for each in self.outputs)

    def _title(self, against: str) -> str:
        return f"{self.kernel}: {self.runs[0].name} beside {against}"

    def _groups(self) -> list[tuple[str, list[TargetOutput]]]:
        names = [run.name for run in self.runs[1:]]
        return [(name, [each for each in self.outputs if each.distance.against == name]) for name in names]

    def __repr__(self) -> str:
        lines: list[str] = []
        for against, outputs in self._groups():
            lines += [self._title(against), *table_lines([_HEAD, *map(_row, outputs)])]
            lines += [line for each in outputs for line in each.lines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = []
        for against, outputs in self._groups():
            rows = [tuple(map(escape, _row(each))) for each in outputs]
            parts += [title(self._title(against)), table(rows, _HEAD)]
            parts += [f"<pre>{escape(chr(10).join(each.lines()))}</pre>" for each in outputs if each.ops]
        return fragment(*parts)


def _row(output: TargetOutput) -> tuple[str, ...]:
    found = output.distance
    nearer = found.nearer() if found.different else ""
    figures = (f"{found.ulp.size:,}", f"{found.different:,}", f"{found.max_ulp:.6g}")
    return (found.name, str(found.ours.type), *figures, nearer, found.farthest_text())


def compare_targets(
    launcher: Any, /, *arguments: Any, targets: Sequence[str | None], **keywords: Any
) -> TargetComparison:
    """Launch a kernel of Triton for several targets, and compare what it leaves in the arrays.

    ``launcher``, ``arguments``, ``keywords``: as for `launch`. The arrays keep their elements: each target gets copies.
    ``targets``: two or more, such as ``["cuda:90", "hip:gfx942"]``; None stands for TTIR, without a target.

    The result says for each array how many elements differ, by how many ulp, which target is nearer to exact real
    arithmetic, and which ops of the kernel make the farthest element different.

        >>> hu.compare_targets(softmax[(4,)], x, y, 1000, targets=["cuda:90", "hip:gfx942"], BLOCK=1024)

    Raises InputError for fewer than two targets, and the errors of `launch`.
    """
    if isinstance(targets, str) or len(targets) < 2:
        raise InputError("compare_targets needs two targets", hint='targets=["cuda:90", "hip:gfx942"]')
    options = run_keywords(launcher, keywords)
    given = {name: value for name, value in keywords.items() if name not in options}
    made = bound_launch(launcher, arguments, given, "hu.compare_targets")
    settings = made.settings(options)
    runs, exact = [], None
    for target in targets:
        run, found = _run(made, target, settings)
        runs.append(run)
        exact = exact or found
    outputs = [_compared(name, runs[0], other, exact or {}) for other in runs[1:] for name in runs[0].outputs]
    return TargetComparison(made.kernel.fn.__name__, tuple(runs), tuple(outputs))


def _run(made: Launch, target: str | None, settings: RunOptions) -> tuple[TargetRun, dict[str, Any]]:
    """Run a kernel on copies of its memory. Return the run, and the exact numbers of the arrays, where known."""
    module, values = made.program(target)
    try:
        function = find_entry(module, settings.function)
        memory = copies_of(given_arguments(function, list(values.values()), settings))
        beside = BesideReals(module, memory, settings)
        beside.run()
    except HalfulpError as error:
        error.message += f" (target {target or 'none'})"
        raise
    names = {name: f"argument[{k}]" for k, name in enumerate(values)}
    arrays = {name: each.load() for name, each in zip(names, memory, strict=True) if isinstance(each, Buffer)}
    errors = beside.report(SiteNames(module, settings.profile).site)
    exact = {name: exact_numbers(errors.ends[end]) for name, end in names.items() if end in errors.ends}
    return TargetRun(target or "", module, arrays, errors, names), exact


def _compared(name: str, one: TargetRun, other: TargetRun, exact: Mapping[str, Any]) -> TargetOutput:
    ours, theirs = one.outputs[name], other.outputs[name]
    distance = OutputDistance(name, ours, theirs, other.name, "ulp", lambda: exact.get(name), one.name)
    if not distance.different:
        return TargetOutput(distance, ())
    element, numbers = distance.farthest or (), exact.get(name)
    if numbers is None or not np.isfinite(np.asarray(numbers.high)[element]):
        return TargetOutput(distance, ())  # an op on the way to it has no exact numbers, so others would be named
    return TargetOutput(distance, tuple(_ops(name, element, one, other)))


def _ops(name: str, element: tuple[int, ...], one: TargetRun, other: TargetRun) -> list[OpDifference]:
    """Return the ops whose own errors contribute differently to an element on two targets."""
    found: dict[tuple[str, str], list[float]] = {}
    for side, run in enumerate((one, other)):
        try:
            effects = run.errors.effects(run.errors.error_of(run.names[name], element))
        except HalfulpError:
            return []
        for each in effects:
            if isfinite(each.effect_ulp):
                found.setdefault(_key(each), [0.0, 0.0])[side] += each.effect_ulp
    made = [OpDifference(*key, (ulps[0], ulps[1])) for key, ulps in found.items() if ulps[0] != ulps[1]]
    return sorted(made, key=lambda each: -abs(each.ulp[0] - each.ulp[1]))[:_MOST_OPS]


def _key(op: OpError) -> tuple[str, str]:
    """Return the line of the kernel and the name of an op, which are those of the same op for another target. For a
    part of an op, such as a dot, both are named.
    """
    around = re.match(rf'{re.escape(op.op)} of (?:[^=]* = )?"?([\w.]+)', op.source)
    return op.place, f"{op.op} of {around[1]}" if around else op.op
