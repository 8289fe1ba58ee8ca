"""The exact results of a run, and how far the results of other runs are from them.

The exact run is that beside the program as it is: it takes the branches of that run. All errors are in ulp of the exact
number, so that those of different runs have one unit.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.ulps import Floats, FloatSums, place_of_largest, ulp_of_float, ulps_of_floats
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.run_options import RunOptions
from halfulp.running import find_entry, given_arguments, run_with
from halfulp.semantics.judging import as_f64, has_shadows
from halfulp.traces.error_report import RunErrors, beside_reals

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
        function = find_entry(module, options.entry)
        if options.batch or options.signature is not None:
            raise Unsupported("a batch cannot run beside exact real numbers", location=function.location)
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
        exact = FloatSums(high, low)
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
            return found.value, -found.ulp * ulp_of_float(format, found.value)
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
