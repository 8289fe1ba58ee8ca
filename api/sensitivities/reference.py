"""Compute the exact results of a run, and the distances of the results of other runs from them, by a metric.

The exact run takes the same branches as the run of the unchanged program. An error in ulp is in ulp of the exact
number, so that errors of different runs have one unit.

Shadows enclose all exact numbers at once. If the radius of a shadow is too wide to know an error, or the largest error
of a run, the exact number is computed from its history (`halfulp.interp.run.attribution`), one number at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, log10, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.neighbours import Floats, FloatSums, place_of_largest, sqnr_of, ulps_of_floats
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.attribution import Attribution
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.measuring.metrics import MEASURES, checked_metric
from halfulp.running import RunOptions, find_entry, given_arguments, run_with
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.traces.error_report import ends_of

# --- reference --------------------------------------------------------------------------------------------------------

_CLOSE, _RELATIVELY_CLOSE = 2.0**-10, 2.0**-24
"""An error is known closely enough if its radius is at most this: in ulp, and relative to the error."""
_MOST_NUMBERS = 200_000
"""The most numbers in all histories from which exact numbers are computed. The last history may exceed it."""


@dataclass(frozen=True, slots=True)
class ResultDistance:
    """The distance of one result of a run from the exact result.

    ``size``: the distance by the metric: that of the element with the largest distance whose exact number is known, or
    the SQNR of these elements; infinite (for the SQNR, negative) if the result is infinite, NaN or poison and the exact
    number is not; NaN if no exact number is known. ``element``: the place of this element; none for the SQNR.
    ``moved``: the largest distance from the result of the unchanged program, in ulp; infinite if one of the two is not
    a finite number. ``radius``: the possible error of ``size``, if the exact numbers are not known closely. ``lost``:
    the number of elements that are infinite, NaN or poison, although the exact numbers are known.
    """

    size: float
    element: tuple[int, ...]
    moved: float
    radius: float = 0.0
    lost: int = 0

    @property
    def ulp(self) -> float:
        """The size, if the metric is the error in ulp."""
        return self.size


Distances = Mapping[str, ResultDistance]
"""The distance of each result, by name."""


@dataclass(frozen=True, eq=False)
class _End:
    """A result of the unchanged program: its numbers, and the exact numbers, up to a radius that is infinite if nothing
    is known.
    """

    format: Any
    value: Floats
    exact: FloatSums
    radius: Floats

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.exact.high)

    @property
    def unit(self) -> Floats:
        """The ulp at the exact number; if that is not known, the ulp at the number of the program."""
        with np.errstate(all="ignore"):
            other = ulps_of_floats(self.format, np.where(np.isfinite(self.value), self.value, 0.0))
            return np.where(self.known, self.exact.ulps(self.format), other)


class Reference:
    """The exact results of a function for some arguments.

    ``only``: the name of the only result that counts, ``result[0]`` or ``argument[1]``. ``metric``: the metric of
    distances. ``exactly``: measure from the exact numbers; else from the finite results of the unchanged program.
    ``unknown``: the number of elements whose exact number is not known, of ``elements``; ``unmeasured``: results whose
    format has numbers that f64 cannot represent. Raises InputError if there is no such result, Unsupported for a batch,
    and the errors of `run`.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Any],
        options: RunOptions,
        only: str | None,
        metric: str = "ulp",
        exactly: bool = True,
    ) -> None:
        function = find_entry(module, options.function)
        if options.batch or options.signature is not None:
            raise Unsupported("a batch cannot also run with exact real numbers", location=function.location)
        # A program that prints would print as often as it runs.
        self._options = replace(options, write=lambda text: None)
        self._given = given_arguments(function, arguments, options)
        found = self._ends(module, replace(self._options, recorder=Shadows() if exactly else None))
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
        self.unmeasured = [name for name, value in chosen.items() if not has_shadows(ty.float_format(value.type))]
        self.metric = checked_metric(metric)
        self._module = module
        self._history: tuple[Lineage, Mapping[str, Value]] | None = None
        self._spent = 0
        self._exact = {name: _end_of(value) for name, value in chosen.items() if name not in self.unmeasured}
        for name, end in self._exact.items() if exactly else ():
            for element in np.argwhere(~end.known):
                self._find(name, tuple(map(int, element)))
        self.elements = sum(end.value.size for end in self._exact.values())
        self.unknown = sum(int(np.count_nonzero(~end.known)) for end in self._exact.values())
        self.distances = self._distances({name: end.value for name, end in self._exact.items()})

    def distances_of(self, module: Module, **options: Any) -> Distances:
        """Run another program, or this one with other options, and return the distances of its results from the exact
        results.

        Raises the errors of `run`.
        """
        return self.distances_from(self._ends(module, replace(self._options, **options)))

    def distances_from(self, found: Mapping[str, Value]) -> Distances:
        """Return the distances of the results of another run, by their names."""
        return self._distances({name: _numbers(found[name]) for name in self._exact})

    # --- how ---

    def _ends(self, module: Module, options: RunOptions) -> dict[str, Value]:
        given = [copy.deepcopy(each) if isinstance(each, Buffer) else each for each in self._given]
        return dict(ends_of(run_with(module, given, options), given))

    def _find(self, name: str, element: tuple[int, ...]) -> bool:
        """Compute an exact number from its history. Return False if that number cannot be known, or would take too
        long.
        """
        if self._spent >= _MOST_NUMBERS:
            return False
        if self._history is None:
            lineage = Lineage()
            self._history = lineage, self._ends(self._module, replace(self._options, recorder=lineage))
        lineage, value, end = self._history[0], self._history[1][name], self._exact[name]
        id = 0 if value.open is None else int(value.open[element])
        code = codes_to_ints(np.asarray(value.bits[element]), ty.width_of(value.element_type))[0]
        try:
            found = Attribution(lineage, id, value.element_type, code)
        except LimitExceeded:
            self._spent = _MOST_NUMBERS
            return False
        self._spent += 1 + len(found.shares)
        if found.end is None or not found.end.exact.is_finite():
            return False
        with bits_of_precision(found.bits):
            exact = found.end.exact
            high = float(exact.mid())
            low, radius = float((exact.mid() - high).mid()), float(exact.rad())
        if not isfinite(high) or radius > end.radius[element]:
            return False
        end.exact.high[element], end.exact.low[element], end.radius[element] = high, low, radius
        return True

    def _distances(self, numbers: Mapping[str, Floats]) -> Distances:
        return {name: self._distance(name, numbers[name]) for name in self._exact}

    def _distance(self, name: str, numbers: Floats) -> ResultDistance:
        end = self._exact[name]
        if numbers.shape != end.value.shape:
            return ResultDistance(MEASURES[self.metric].worst, (), inf, lost=end.value.size)
        if not numbers.size:
            return ResultDistance(nan, (), 0.0)
        with np.errstate(all="ignore"):
            both = np.isfinite(numbers) & np.isfinite(end.value)
            same = (numbers == end.value) | (np.isnan(numbers) & np.isnan(end.value))
            moved = float(np.where(same, 0.0, np.where(both, np.abs(numbers - end.value) / end.unit, inf)).max())
        found = _sqnr(end, numbers, moved) if self.metric == "sqnr" else self._largest(name, end, numbers, moved)
        return replace(found, lost=int(np.count_nonzero(end.known & ~np.isfinite(numbers))))

    def _largest(self, name: str, end: _End, numbers: Floats, moved: float) -> ResultDistance:
        """Return the distance by the largest error. If an element whose error is not known closely may have the largest
        error, its exact number is computed.
        """
        tried: set[tuple[int, ...]] = set()
        while True:
            unit = MEASURES[self.metric].unit(end.exact.high + end.exact.low, end.unit)
            with np.errstate(all="ignore"):
                sizes, radii = end.exact.errors(numbers) / unit, end.radius / unit
                at = place_of_largest(sizes + np.where(np.isfinite(radii), radii, 0.0))
            size, radius = float(sizes[at]), float(radii[at])
            scale = float(np.broadcast_to(end.unit / unit, numbers.shape)[at])
            if not isfinite(size) or radius <= max(_CLOSE * scale, _RELATIVELY_CLOSE * size):
                return ResultDistance(size, at, moved)
            if at in tried or not self._find(name, at):
                return ResultDistance(size, at, moved, radius)
            tried.add(at)


def _sqnr(end: _End, numbers: Floats, moved: float) -> ResultDistance:
    known = end.known
    if not known.any():
        return ResultDistance(nan, (), moved)
    exact, errors = end.exact.high + end.exact.low, end.exact.errors(numbers)[known]
    noise, radius = float(np.linalg.norm(errors)), float(np.linalg.norm(end.radius[known]))
    wide = isfinite(noise) and radius > _CLOSE * noise
    return ResultDistance(
        sqnr_of(exact[known], errors), (), moved, (20 * log10(1 + radius / noise) if noise else inf) if wide else 0.0
    )


def _end_of(value: Value) -> _End:
    shadow, format, number = shadow_of(value), ty.float_format(value.type), _numbers(value)
    assert shadow is not None
    known = np.isfinite(number) & np.isfinite(shadow.radius)
    high, low, radius = np.where(known, number, nan), np.where(known, shadow.error, 0.0), shadow.radius
    return _End(format, number, FloatSums(high, low), np.where(known, radius, inf))


def _numbers(value: Value) -> Floats:
    """Return the numbers of a value as f64; NaN for poison."""
    numbers = np.array(as_f64(ty.float_format(value.type), value.bits), np.float64)
    if value.poison is not None:
        numbers = np.where(value.poison == 0, numbers, nan)
    return numbers
