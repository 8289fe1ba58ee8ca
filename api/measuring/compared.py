"""Formats compared on the same numbers: a table of errors, as text, HTML and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.explanations.texts import table_lines
from halfulp.fp_formats.display import fragment, table, title
from halfulp.fp_formats.formats import FloatFormat
from halfulp.measuring.errors import ErrorReport, decibels_text, without_nan
from halfulp.measuring.figures import Figures


@dataclass(frozen=True)
class ComparedFormat:
    """One format of a comparison: ``scale``, by which the numbers were divided, and the ``report`` of its errors."""

    scale: float
    report: ErrorReport

    @property
    def format(self) -> FloatFormat:
        """The format."""
        return self.report.format

    @property
    def figures(self) -> Figures:
        """The errors, summed up."""
        return self.report.figures


_LOST = ("saturated", "flushed")
_RARE = ("subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison")
"""Counts that have a column only if one of them is not 0."""


@dataclass(frozen=True, repr=False)
class ComparedFormats:
    """The errors of several formats on the same numbers.

    ``rows``: a `ComparedFormat` for each format, in the given order. ``comparison["bf16"]`` is the `ErrorReport` of
    one format.
    """

    numbers: npt.NDArray[np.float64]
    rows: tuple[ComparedFormat, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparedFormat]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> ErrorReport:
        for row in self.rows:
            if row.format.name == name:
                return row.report
        names = ", ".join(row.format.name for row in self.rows)
        raise KeyError(f"{name!r} is not compared here; the formats are {names}")

    def table(self) -> list[tuple[str, ...]]:
        """Return the comparison as rows of text, with their heading."""
        scaled = any(row.scale != 1 for row in self.rows)
        rare = [name for name in _RARE if any(getattr(row.figures, name) for row in self.rows)]
        head = ["format", "bits", *(["scale"] if scaled else []), "SQNR", "max ulp", "mean ulp", "mean relative"]
        told: list[tuple[str, ...]] = [(*head, *_LOST, *(name.replace("_", " ") for name in rare))]
        for row in self.rows:
            f = row.figures
            errors = (f"{f.max_ulp:.4g}", f"{f.mean_ulp:.4g}", f"{f.mean_relative:.3g}")
            scale = [f"{row.scale:.6g}"] if scaled else []
            counts = (f"{getattr(f, name):,}" for name in (*_LOST, *rare))
            told.append((row.format.name, str(row.format.bits), *scale, decibels_text(f.sqnr), *errors, *counts))
        return told

    @property
    def heading(self) -> str:
        """A line that says what is compared."""
        how = self.rows[0].report.title.partition(", ")[2] if self.rows else ""
        return f"{self.numbers.size:,} elements, {how}"

    def __repr__(self) -> str:
        return "\n".join([self.heading, *table_lines(self.table())])

    def _repr_html_(self) -> str:
        head, *rows = self.table()
        cells = [[escape(cell) for cell in row] for row in rows]
        return fragment(title(self.heading), table(cells, head, named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of each format as numbers for JSON, under its name."""
        return {
            row.format.name: {"bits": row.format.bits, "scale": without_nan(row.scale), **row.report.to_dict()}
            for row in self.rows
        }


@dataclass(frozen=True)
class Binades:
    """The numbers of each binade and their errors in one format.

    ``exponents``: of the binades with numbers other than 0, in order. ``error``: the root of the mean square error
    relative to that of the numbers, for each of them; NaN where no number was measured.
    """

    exponents: npt.NDArray[np.int64]
    error: npt.NDArray[np.float64]


def error_by_binade(numbers: npt.NDArray[np.float64], row: ComparedFormat) -> Binades:
    """Sum up the relative error of a format in each binade of the numbers."""
    flat, errors = numbers.reshape(-1), row.report.absolute.reshape(-1) * row.scale
    kept = np.isfinite(flat) & (flat != 0)
    exponents = np.frexp(flat[kept])[1].astype(np.int64) - 1
    # Relative to the binade, squares neither overflow nor underflow.
    with np.errstate(all="ignore"):
        signal, noise = np.ldexp(flat[kept], -exponents) ** 2, np.ldexp(errors[kept], -exponents) ** 2
    found, place = np.unique(exponents, return_inverse=True)
    measured = np.isfinite(noise)
    sums = [np.bincount(place[measured], part[measured], len(found)) for part in (signal, noise)]
    with np.errstate(all="ignore"):
        return Binades(found, np.sqrt(sums[1] / sums[0]))


def finite_magnitudes(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the magnitudes of the finite numbers other than 0."""
    flat = np.abs(numbers.reshape(-1))
    return flat[np.isfinite(flat) & (flat > 0)]
