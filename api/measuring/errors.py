"""Measure how far results are from exact numbers: `error`, its report, and the summary of the errors of an array."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.fp_formats import neighbours as around
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, code_shape, slices
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.fp_formats.spelling import decimal_text, fragment, table, table_lines, title
from halfulp.inputs import ExactNumbers, as_value, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.measuring.spacing import TypeName, float_value
from halfulp.reals import poisoned_of, reals_of_numbers, reals_of_value, require_numbers
from halfulp.semantics import casts
from halfulp.semantics.profile import as_profile

COUNTS = ("exact", "saturated", "flushed", "subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison")
CHUNK = 1 << 14  # elements: the temporaries of one chunk stay in the second-level cache
Mask = npt.NDArray[np.bool_]


# --- beyond the largest value -----------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """The bound of overflow: numbers beyond ``number`` overflow; if ``reached`` is True, ``number`` itself overflows
    too.
    """

    number: Fraction
    reached: bool

    def passed_by(self, magnitudes: around.Reals) -> Mask:
        """Return a mask of the magnitudes that overflow."""
        number: Any = self.number if magnitudes.dtype == object else around.to_f64(self.number)
        passed: Mask = np.asarray(magnitudes >= number if self.reached else magnitudes > number, np.bool_)
        return passed


def overflow_bounds(fmt: FloatFormat, mode: Rounding) -> tuple[Bound, Bound]:
    """Return the bounds beyond which positive and negative numbers overflow: rounded with an unlimited exponent, such
    numbers give more than the largest value. With stochastic rounding, a bound is the value that would follow the
    largest one, since all numbers from there on overflow.
    """
    largest = scalar.unpack(fmt, fmt.max_code)
    top = largest.significand * Fraction(2) ** largest.exponent
    step = around.ulp_at(fmt, top)
    if mode is Rounding.TO_NEAREST_EVEN or mode is Rounding.TO_NEAREST_AWAY:
        odd = bool(largest.significand & 1)
        nearest = Bound(top + step / 2, odd or mode is Rounding.TO_NEAREST_AWAY)
        return nearest, nearest
    if mode is Rounding.TO_ODD:
        inexact = Bound(top + step, True) if fmt.max_magnitude & 1 else Bound(top, False)
        return inexact, inexact
    away, toward = Bound(top, False), Bound(top + step, True)
    return (away if mode is Rounding.UPWARD else toward, away if mode is Rounding.DOWNWARD else toward)


# --- summed up --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """The summary of the errors of an array, over its measured elements: those whose exact number and result are both
    finite.

    Each of the other elements is counted in one of ``overflowed``, ``not_numbers``, ``nan``, ``infinite`` and
    ``poison``. Without a measured element the errors are NaN. An error beyond the largest f64 is infinite, and then the
    means are infinite, too.

    ``elements``: the number of all elements.
    ``measured``: the number of those that have an error.
    ``sqnr``: the signal to quantisation noise ratio in dB: 10 * log10(sum of squares of the exact numbers / sum of
    squares of the errors); infinity without errors.
    ``max_ulp``, ``mean_ulp``, ``rms_ulp``: the magnitude of the errors in ulp of the exact numbers (see `halfulp.ulp`).
    ``max_absolute``, ``mean_absolute``, ``max_relative``, ``mean_relative``: of the absolute and relative errors.
    ``worst``: the index of the first element with the largest error in ulp, in the flattened array; None if there is
    none.
    ``exact``: elements without an error.
    ``saturated``: results that are the largest value in place of an overflow.
    ``flushed``: results that are zero although the number is not.
    ``subnormal``: subnormal results.
    ``overflowed``: finite numbers beyond the largest value that became infinity or NaN.
    ``not_numbers``: other finite numbers that became infinity or NaN.
    ``nan``, ``infinite``: exact numbers that are NaN or infinite, independent of their results.
    ``poison``: elements whose exact number or result is poison.
    """

    elements: int
    measured: int
    sqnr: float
    max_ulp: float
    mean_ulp: float
    rms_ulp: float
    max_absolute: float
    mean_absolute: float
    max_relative: float
    mean_relative: float
    worst: int | None
    exact: int
    saturated: int
    flushed: int
    subnormal: int
    overflowed: int
    not_numbers: int
    nan: int
    infinite: int
    poison: int


class Chunk(NamedTuple):
    """Some elements of an array: their exact numbers, their results, and a mask of the poison elements or None."""

    exact: around.Reals
    result: around.Reals
    poison: Mask | None


def summed_up(fmt: FloatFormat, mode: Rounding, size: int, chunk_of: Callable[[slice], Chunk]) -> Figures:
    """Return the summary of the errors of an array of ``size`` elements of a format. ``chunk_of``: a function that
    returns the elements in a range of indices.

    Sums are in f64 within a chunk, with a relative error below 1e-11, and exact over the chunks.
    """
    bounds, counts = overflow_bounds(fmt, mode), dict.fromkeys(COUNTS, 0)
    absolute, relative, ulps = (around.Summary[int]() for _ in range(3))
    noise, signal, squares = around.Energy(), around.Energy(), around.Energy()
    with np.errstate(all="ignore"):
        for start in range(0, size, CHUNK):
            chunk = chunk_of(slice(start, start + CHUNK))
            found = around.errors_of(fmt, chunk.exact, chunk.result)
            magnitudes = np.abs(found.ulp)
            kept: npt.NDArray[np.intp] | None = None
            if chunk.poison is not None or not math.isfinite(float(magnitudes.sum())):
                kept = _count_unmeasured(chunk, bounds, counts)
                found = found.at(kept)
                magnitudes, chunk = magnitudes[kept], Chunk(chunk.exact[kept], chunk.result[kept], None)
            if not len(magnitudes):
                continue
            # Not by the errors: those of fractions may be too small for f64.
            counts["exact"] += int(np.count_nonzero(chunk.exact == chunk.result))
            _count_results(fmt, chunk, bounds, counts)
            at = ulps.add(magnitudes)
            if at is not None:
                ulps.worst.place = start + (at if kept is None else int(kept[at]))
            absolute.add(np.abs(found.absolute))
            relative.add(np.abs(found.relative))
            squares.add(around.Scaled(magnitudes))
            noise.add(found.noise)
            signal.add(found.signal)
    return Figures(
        elements=size,
        measured=ulps.count,
        sqnr=around.decibels(signal, noise),
        max_ulp=ulps.largest,
        mean_ulp=ulps.mean,
        rms_ulp=10 ** ((squares.log10() - math.log10(ulps.count)) / 2) if ulps.count else math.nan,
        max_absolute=absolute.largest,
        mean_absolute=absolute.mean,
        max_relative=relative.largest,
        mean_relative=relative.mean,
        worst=ulps.worst.place,
        **counts,
    )


def _count_unmeasured(chunk: Chunk, bounds: tuple[Bound, Bound], counts: dict[str, int]) -> npt.NDArray[np.intp]:
    """Count the elements of a chunk that have no error; return the indices of the others."""
    exact, result = _as_floats(chunk.exact), _as_floats(chunk.result)
    poison = np.zeros(exact.shape, np.bool_) if chunk.poison is None else chunk.poison
    nan, infinite = np.isnan(exact) & ~poison, np.isinf(exact) & ~poison
    finite = np.isfinite(exact) & ~poison
    lost = finite & ~np.isfinite(result)
    if lost.any():
        beyond = int(_overflows(chunk.exact[lost], bounds).sum())
        counts["overflowed"] += beyond
        counts["not_numbers"] += int(lost.sum()) - beyond
    for name, mask in (("poison", poison), ("nan", nan), ("infinite", infinite)):
        counts[name] += int(np.count_nonzero(mask))
    return np.flatnonzero(finite & ~lost)


def _as_floats(reals: around.Reals) -> around.Floats:
    """Return floats as they are, and 0 for each Fraction: enough to tell NaN and infinities."""
    if reals.dtype == np.float64:
        return reals
    return np.array([number if isinstance(number, float) else 0.0 for number in reals.tolist()], np.float64)


def _overflows(exact: around.Reals, bounds: tuple[Bound, Bound]) -> Mask:
    positive, negative = bounds
    return positive.passed_by(exact) | negative.passed_by(-exact)


def _count_results(fmt: FloatFormat, chunk: Chunk, bounds: tuple[Bound, Bound], counts: dict[str, int]) -> None:
    """Count the saturated, flushed and subnormal results of measured elements."""
    magnitudes: Any = np.abs(chunk.result)
    plain = magnitudes.dtype == np.float64
    top, least = (abs(_value(fmt, code)) for code in (fmt.max_code, fmt.min_normal_code))
    at_top = np.asarray(magnitudes == (float(top) if plain else top), np.bool_)
    if at_top.any():
        counts["saturated"] += int(_overflows(chunk.exact[at_top], bounds).sum())
    if fmt.zero:
        small = np.flatnonzero(magnitudes < (float(least) if plain else least))
        if small.size:
            zero = magnitudes[small] == 0
            counts["subnormal"] += int(small.size - np.count_nonzero(zero))
            counts["flushed"] += int(np.count_nonzero(zero & (chunk.exact[small] != 0)))


def _value(fmt: FloatFormat, code: int) -> Fraction:
    value = scalar.value(fmt, code)
    assert value is not None
    return value


_NAMES = {"not_numbers": "not numbers", "nan": "NaN"}


@dataclass(frozen=True)
class Numbers:
    """Exact numbers that are read part by part. They come from a value of any numeric type, or are reals."""

    source: Value | around.Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements."""
        return self.source.shape

    @cached_property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @cached_property
    def flat(self) -> Value | around.Reals:
        """The numbers of `source` as an array of one axis, in row-major order."""
        if not isinstance(self.source, Value):
            return self.source.reshape(-1)
        width = ty.element_width(self.source.element_type) or 1
        bits = np.asarray(self.source.bits).reshape(code_shape((-1,), width) if self.size else code_shape((0,), width))
        return Value(ty.TensorType((self.size,), self.source.element_type), bits)

    @cached_property
    def poisoned(self) -> npt.NDArray[np.bool_] | None:
        """The mask of poison along one axis; None without poison."""
        mask = poisoned_of(self.source)
        return None if mask is None else mask.reshape(-1)

    def part(self, place: slice) -> around.Reals:
        """Return some of the numbers, along one axis."""
        flat = self.flat
        if not isinstance(flat, Value):
            return flat[place]
        bits = np.asarray(flat.bits)[place]
        return reals_of_value(Value(ty.TensorType((len(bits),), flat.element_type), bits))


@dataclass(frozen=True, repr=False)
class ErrorReport:
    """The errors of results in a float format against exact numbers.

    ``result``: the results, a `Value`.
    ``figures``: the summary figures, see `Figures`; each of its fields is an attribute of the report, too.
    ``absolute``, ``ulp``, ``relative``: the errors of the elements with their signs (result minus exact number), as f64
    in the shape of the result. An element without an error has NaN.
    ``worst_index``: the index of the element with the largest error in ulp.
    ``title``: what was measured.
    """

    title: str
    format: FloatFormat
    numbers: Numbers
    result: Value
    figures: Figures

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not an attribute of the report itself.
        if name in Figures.__dataclass_fields__:
            return getattr(self.figures, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *Figures.__dataclass_fields__})

    @property
    def absolute(self) -> npt.NDArray[np.float64]:
        """The errors of the elements: result minus exact number."""
        return self._column(lambda found: found.absolute)

    @property
    def ulp(self) -> npt.NDArray[np.float64]:
        """The errors of the elements in ulp of the exact numbers."""
        return self._column(lambda found: found.ulp)

    @property
    def relative(self) -> npt.NDArray[np.float64]:
        """The errors of the elements relative to the exact numbers. If the exact number is 0 and the result is not, the
        error is infinity.
        """
        return self._column(lambda found: found.relative)

    def _column(self, column: Callable[[around.Errors], npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        chunk_of, found = chunks(self.numbers, Numbers(self.result)), np.empty(self.numbers.size)
        for place in slices(len(found), CHUNK):
            chunk = chunk_of(place)
            errors = column(around.errors_of(self.format, chunk.exact, chunk.result))
            measured = ~np.isnan(errors) if chunk.poison is None else ~(np.isnan(errors) | chunk.poison)
            if chunk.exact.dtype == np.float64:
                measured &= np.isfinite(chunk.exact)
            if chunk.result.dtype == np.float64:
                measured &= np.isfinite(chunk.result)
            found[place] = np.where(measured, errors, np.nan)
        return found.reshape(self.result.shape)

    @property
    def worst_index(self) -> tuple[int, ...] | None:
        """The index of the element with the largest error in ulp; None if no element was measured."""
        if self.figures.worst is None:
            return None
        return tuple(int(k) for k in np.unravel_index(self.figures.worst, self.result.shape))

    def worst_text(self) -> str:
        """Return a text about the element with the largest error: its index, exact number, result and error."""
        k = self.figures.worst
        if k is None:
            return "none"
        place = slice(k, k + 1)
        chunk = chunks(self.numbers, Numbers(self.result))(place)
        exact, result = (_number_text(numbers.tolist()[0]) for numbers in (chunk.exact, chunk.result))
        error = float(around.errors_of(self.format, chunk.exact, chunk.result).ulp[0])
        where = f"{list(self.worst_index or ())}: " if self.result.shape else ""
        return f"{where}{exact} became {result}, {error:+.6g} ulp"

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures as pairs of a name and a text."""
        f = self.figures
        told = [
            ("elements", f"{f.elements:,}" + (f", {f.measured:,} of them measured" if f.measured < f.elements else "")),
            ("SQNR", decibels_text(f.sqnr)),
            ("error in ulp", f"max {f.max_ulp:.6g}, mean {f.mean_ulp:.6g}, rms {f.rms_ulp:.6g}"),
            ("relative error", f"max {f.max_relative:.6g}, mean {f.mean_relative:.6g}"),
            ("absolute error", f"max {f.max_absolute:.6g}, mean {f.mean_absolute:.6g}"),
            ("worst", self.worst_text()),
        ]
        return told + [(_NAMES.get(name, name), f"{getattr(f, name):,}") for name in COUNTS if getattr(f, name)]

    def __repr__(self) -> str:
        return "\n".join([self.title, *table_lines(self.rows())])

    def _repr_html_(self) -> str:
        return fragment(title(self.title), table([(name, escape(text)) for name, text in self.rows()], named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as numbers for JSON; NaN and infinities, which JSON does not have, become None."""
        worst = None if self.worst_index is None else list(self.worst_index)
        plain = {name: without_nan(number) for name, number in asdict(self.figures).items()}
        return {"format": self.format.name, **plain, "worst": worst}


def without_nan(number: Any) -> Any:
    """Return a number, or None for NaN and infinities, which JSON does not have."""
    return None if isinstance(number, float) and not math.isfinite(number) else number


def decibels_text(sqnr: float) -> str:
    """Return the text of an SQNR; it is infinite if no result has an error."""
    return "no errors" if sqnr == math.inf else "not defined" if math.isnan(sqnr) else f"{sqnr:.2f} dB"


def _number_text(number: Any) -> str:
    return f"{number:.9g}" if isinstance(number, float) else decimal_text(number, 40, 17)


def chunks(exact: Numbers, result: Numbers) -> Callable[[slice], Chunk]:
    """Return a function that returns the exact numbers and results of a part."""
    masks = [mask for mask in (exact.poisoned, result.poisoned) if mask is not None]

    def chunk_of(place: slice) -> Chunk:
        poison = np.logical_or.reduce([mask[place] for mask in masks]) if masks else None
        return Chunk(exact.part(place), result.part(place), poison)

    return chunk_of


def report(name: str, exact: Numbers, result: Value, mode: Rounding) -> ErrorReport:
    """Return the errors of results of a float format against exact numbers. ``name``: what is measured, for the title.
    Raises TypeMismatch if the shapes differ.
    """
    if exact.shape != result.shape:
        raise TypeMismatch(f"error: the reference has shape {exact.shape}, but the results have {result.shape}")
    fmt = ty.float_format(result.type)
    return ErrorReport(name, fmt, exact, result, summed_up(fmt, mode, exact.size, chunks(exact, Numbers(result))))


def numbers_of(taken: Value | ExactNumbers, what: str) -> Numbers:
    """Return exact numbers in a form that is read part by part. Raises TypeMismatch for types without numbers."""
    if isinstance(taken, ExactNumbers):
        return Numbers(reals_of_numbers(taken))
    require_numbers(taken.element_type, what)
    return Numbers(taken)


def error(x: Any, to: TypeName | None = None, *, reference: Any = None, **conversion: Any) -> ErrorReport:
    """Measure the error of rounding ``x`` to a float type, or of the results ``x`` against exact numbers.

    ``x``: an array, a number or a `Value`.
    ``to``: the float type to which `halfulp.convert` rounds ``x``; the other keywords are those of `halfulp.convert`,
    such as ``rounding`` and ``profile``.
    ``reference``: in place of ``to``: the exact numbers, as an array, a `Value` or Fractions in the shape of ``x``;
    ``x``, of a float type, then has the results to measure.

    The report has the errors of the elements (``ulp``, ``absolute``, ``relative``: f64 arrays in the shape of ``x``,
    result minus exact number) and summary figures: ``max_ulp``, ``mean_ulp``, ``rms_ulp``, ``max_relative``, ``sqnr``
    in dB, ``worst_index``, and the counts ``exact``, ``saturated``, ``overflowed``, ``flushed``, ``subnormal``,
    ``poison`` and so on; see `to_dict`. NaN, infinities and poison are counted separately and are not part of any mean.

    The unit of ``ulp`` is the ulp of the format ``to`` at the exact number (see `halfulp.ulp`), so that rounding to
    nearest has errors of at most half an ulp, except beyond the largest value. Errors are rounded to f64 once; relative
    errors twice. An error in ulp that is larger than the largest f64 is infinity.

        >>> hu.error(np.float32([0.3, 1000]), "f8E4M3FN", saturate=True).max_ulp
        17.25

    Raises TypeMismatch if the result is not of a float type or the shapes differ, InputError unless exactly one of
    ``to`` and ``reference`` is given; and what `halfulp.convert` raises.
    """
    if (to is None) == (reference is None):
        raise InputError("error takes to=…, a float type to round to, or reference=…, the exact numbers: one of them")
    if to is None:
        if conversion:
            raise InputError(f"{', '.join(conversion)} can be used only with to=…; with reference=… nothing is rounded")
        result = float_value(x, None, "hu.error")
        exact = numbers_of(taken_as(reference, "reference"), "reference")
        name = f"Errors of {result.element_type} against a reference"
        return report(name, exact, result, Rounding.TO_NEAREST_EVEN)
    if isinstance(to, Value | np.ndarray | list):
        raise InputError("to=… is the type to round to", hint="write hu.error(x, reference=…) to compare two arrays")
    result = convert(x, to, **conversion)
    if not isinstance(result.element_type, ty.FloatType):
        hint = "use hu.quantize and hu.dequantize, and reference=… for the error of both"
        raise TypeMismatch(f"error: '{result.element_type}' is not a float type", hint=hint)
    type_, masked = conversion.get("type"), conversion.get("masked")
    source = taken_as(x, "x", masked) if type_ is None else as_value(x, type_, masked=masked, what="x")
    mode, profile = as_rounding(conversion.get("rounding") or "to_nearest_even"), as_profile(conversion.get("profile"))
    given = str(source.element_type) if isinstance(source, Value) else "numbers"
    saturating = "" if conversion.get("saturate") is None else f", saturate={conversion['saturate']}"
    name = f"Errors of {given} in {result.element_type}, {mode.spelling}, profile {profile.name}{saturating}"
    return report(name, numbers_of(source, "x"), result, casts.mode(mode, profile))
