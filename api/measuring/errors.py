"""How far results are from exact numbers: `error` and its report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.explanations.texts import table_lines
from halfulp.fp_formats.codes import code_shape
from halfulp.fp_formats.display import fragment, table, title
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.fp_formats.spelling import decimal_text
from halfulp.inputs import ExactNumbers, as_value, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.measuring.figures import CHUNK, Chunk, Columns, Figures, columns, summed_up
from halfulp.measuring.reals import Reals, poisoned_of, reals_of_numbers, reals_of_value, require_numbers
from halfulp.measuring.spacing import TypeName, float_format_of, float_value
from halfulp.semantics import casts
from halfulp.semantics.profile import as_profile

COUNTS = ("exact", "saturated", "flushed", "subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison")
_NAMES = {"not_numbers": "not numbers", "nan": "NaN"}


@dataclass(frozen=True)
class Numbers:
    """Exact numbers that are read part by part: a value of any numeric type, or reals."""

    source: Value | Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements."""
        return self.source.shape

    @cached_property
    def size(self) -> int:
        """The count of elements."""
        return math.prod(self.shape)

    @cached_property
    def flat(self) -> Value | Reals:
        """The same numbers in one row."""
        if not isinstance(self.source, Value):
            return self.source.reshape(-1)
        width = ty.element_width(self.source.element_type) or 1
        bits = np.asarray(self.source.bits).reshape(code_shape((-1,), width) if self.size else code_shape((0,), width))
        return Value(ty.TensorType((self.size,), self.source.element_type), bits)

    @cached_property
    def poisoned(self) -> npt.NDArray[np.bool_] | None:
        """The mask of poison in one row; None without poison."""
        mask = poisoned_of(self.source)
        return None if mask is None else mask.reshape(-1)

    def part(self, place: slice) -> Reals:
        """Return some of the numbers, in one row."""
        flat = self.flat
        if not isinstance(flat, Value):
            return flat[place]
        bits = np.asarray(flat.bits)[place]
        return reals_of_value(Value(ty.TensorType((len(bits),), flat.element_type), bits))


@dataclass(frozen=True, repr=False)
class ErrorReport:
    """The errors of results in a float format against exact numbers.

    ``result``: the results, a `Value`. ``figures``: the errors summed up: see `Figures`; each of its fields is an
    attribute of the report, too. ``absolute``, ``ulp``, ``relative``: the errors of the elements with their signs
    (result minus exact number), f64 in the shape of the result; NaN where there is none. ``worst_index``: the index of
    the element with the largest error in ulp. ``title``: what was measured.
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
        """The errors of the elements."""
        return self._column(lambda found: found.absolute)

    @property
    def ulp(self) -> npt.NDArray[np.float64]:
        """The errors of the elements in ulp of the exact numbers."""
        return self._column(lambda found: found.ulp)

    @property
    def relative(self) -> npt.NDArray[np.float64]:
        """The errors of the elements relative to the exact numbers; infinity where a 0 has an error."""
        return self._column(lambda found: found.relative)

    def _column(self, column: Callable[[Columns], npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        chunk_of, found = chunks(self.numbers, Numbers(self.result)), np.empty(self.numbers.size)
        for start in range(0, len(found), CHUNK):
            place = slice(start, start + CHUNK)
            chunk = chunk_of(place)
            errors = column(columns(self.format, chunk.exact, chunk.result))
            measured = ~np.isnan(errors) if chunk.poison is None else ~(np.isnan(errors) | chunk.poison)
            if chunk.exact.dtype == np.float64:
                measured &= np.isfinite(chunk.exact)
            if chunk.result.dtype == np.float64:
                measured &= np.isfinite(chunk.result)
            found[place] = np.where(measured, errors, np.nan)
        return found.reshape(self.result.shape)

    @property
    def worst_index(self) -> tuple[int, ...] | None:
        """The index of the element with the largest error in ulp; None without a measured element."""
        if self.figures.worst is None:
            return None
        return tuple(int(k) for k in np.unravel_index(self.figures.worst, self.result.shape))

    def worst_text(self) -> str:
        """Return the element with the largest error in words: its index, exact number, result and error."""
        k = self.figures.worst
        if k is None:
            return "none"
        place = slice(k, k + 1)
        chunk = chunks(self.numbers, Numbers(self.result))(place)
        exact, result = (_number_text(numbers.tolist()[0]) for numbers in (chunk.exact, chunk.result))
        error = float(columns(self.format, chunk.exact, chunk.result).ulp[0])
        where = f"{list(self.worst_index or ())}: " if self.result.shape else ""
        return f"{where}{exact} became {result}, {error:+.6g} ulp"

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures as names and texts."""
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
        """Return all figures as numbers for JSON; without infinities and NaN, which JSON lacks, but None."""
        worst = None if self.worst_index is None else list(self.worst_index)
        plain = {name: without_nan(number) for name, number in asdict(self.figures).items()}
        return {"format": self.format.name, **plain, "worst": worst}


def without_nan(number: Any) -> Any:
    """Return None for NaN and infinities, which JSON lacks."""
    return None if isinstance(number, float) and not math.isfinite(number) else number


def decibels_text(sqnr: float) -> str:
    """Spell an SQNR; infinity is that of results without errors."""
    return "no errors" if sqnr == math.inf else "not defined" if math.isnan(sqnr) else f"{sqnr:.2f} dB"


def _number_text(number: Any) -> str:
    return f"{number:.9g}" if isinstance(number, float) else decimal_text(number, 40, 17)


def chunks(exact: Numbers, result: Numbers) -> Callable[[slice], Chunk]:
    """Return the function that gives the elements of a part."""
    masks = [mask for mask in (exact.poisoned, result.poisoned) if mask is not None]

    def chunk_of(place: slice) -> Chunk:
        poison = np.logical_or.reduce([mask[place] for mask in masks]) if masks else None
        return Chunk(exact.part(place), result.part(place), poison)

    return chunk_of


def report(name: str, exact: Numbers, result: Value, mode: Rounding) -> ErrorReport:
    """Measure results of a float format against exact numbers. Raises TypeMismatch if the shapes differ."""
    if exact.shape != result.shape:
        raise TypeMismatch(f"error: the reference has shape {exact.shape}, but the results have {result.shape}")
    fmt = float_format_of(result)
    return ErrorReport(name, fmt, exact, result, summed_up(fmt, mode, exact.size, chunks(exact, Numbers(result))))


def numbers_of(taken: Value | ExactNumbers, what: str) -> Numbers:
    """Return exact numbers in a form that is read part by part. Raises TypeMismatch for types without numbers."""
    if isinstance(taken, ExactNumbers):
        return Numbers(reals_of_numbers(taken))
    require_numbers(taken.element_type, what)
    return Numbers(taken)


def error(x: Any, to: TypeName | None = None, *, reference: Any = None, **conversion: Any) -> ErrorReport:
    """Measure the error of rounding ``x`` to a float type, or of the results ``x`` against exact numbers.

    ``x``: an array, a number or a `Value`. ``to``: the float type to which `halfulp.convert` rounds ``x``; the other
    keywords are those of `halfulp.convert`, such as ``rounding`` and ``profile``. ``reference``: in place of ``to``,
    the exact numbers of which ``x`` (of a float type) are the results: an array, a `Value`, or Fractions, in its shape.

    The report has the errors of the elements (``ulp``, ``absolute``, ``relative``: f64 arrays in the shape of ``x``,
    result minus exact number) and sums them up: ``max_ulp``, ``mean_ulp``, ``rms_ulp``, ``max_relative``, ``sqnr`` in
    dB, ``worst_index``, and the counts ``exact``, ``saturated``, ``overflowed``, ``flushed``, ``subnormal``,
    ``poison`` and so on; see `to_dict`. NaN, infinities and poison are counted apart and enter no mean.

    An ulp is that of ``to`` at the exact number (see `halfulp.ulp`), so that rounding to nearest has errors of at most
    half an ulp, except beyond the largest value. Errors are rounded to f64 once; relative errors twice. An error in ulp
    beyond the largest f64 is infinity.

        >>> hu.error(np.float32([0.3, 1000]), "f8E4M3FN", saturate=True).max_ulp
        17.25

    Raises TypeMismatch if the result is not of a float type or the shapes differ, InputError unless exactly one of
    ``to`` and ``reference`` is given; and what `halfulp.convert` raises.
    """
    if (to is None) == (reference is None):
        raise InputError("error takes to=…, a float type to round to, or reference=…, the exact numbers: one of them")
    if to is None:
        if conversion:
            raise InputError(f"{', '.join(conversion)}: these go with to=…; with reference=… nothing is rounded")
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
