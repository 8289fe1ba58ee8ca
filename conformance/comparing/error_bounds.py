"""The measured errors of tools whose bits nobody can predict, such as a libm: the tables ``error_bound`` of
divergences.toml.

A row bounds the distance of a tool's results from the right ones, by op and type. A wrong result within the bound is a
known difference, and is counted. A result beyond it is not known. Wrong special values (a NaN instead of a number, a
number instead of a NaN, a zero of the other sign) are known only if the row has their number.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.divergences import FILE, Divergence, divergences
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.codes import LIMB_BITS, Codes, Mask, codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.steps import rank_of
from halfulp.interp.ir import types as ty
from halfulp.semantics import floats

_FARTHEST = 2.0**52
"""A distance of this size or above counts as this: below, float64 is exact."""


class Within(NamedTuple):
    """The wrong elements that a row knows: results within its bound, and special values."""

    near: Mask
    special: Mask


@dataclass(frozen=True)
class ErrorBound:
    """One row. ``ulps``: the largest distance, in steps from one value to the next. ``special_values``: the largest
    number of wrong special values in a run.
    """

    tool: str
    versions: tuple[str, ...]
    op: str
    type: str
    ulps: int
    special_values: int
    why: str

    @property
    def name(self) -> str:
        """The name under which results within the bound are counted."""
        return f"{self.op} of {self.type}: at most {self.ulps:,} ulp"

    @property
    def special_name(self) -> str:
        """The name under which wrong special values are counted."""
        return f"{self.op} of {self.type}: special values"

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether the row applies to this tool and case."""
        ours = tool == self.tool and version.startswith(self.versions)
        return ours and case.op == self.op and case.results[:1] == (self.type,)

    def within(self, type_: ty.Type, expected: Codes, answer: Answer, wrong: Mask) -> Within:
        """Return which wrong elements of an answer the row knows; no poison, and no trap."""
        near, special = np.zeros(wrong.shape, np.bool_), np.zeros(wrong.shape, np.bool_)
        if isinstance(type_, ty.FloatType):
            places = np.nonzero(wrong if answer.status is None else wrong & (answer.status == Status.VALUE))
            steps = distances(type_.format, expected[places], answer.bits[places])
            near[places] = (steps > 0) & (steps <= self.ulps)
            special[places] = ~(steps > 0) & bool(self.special_values)
        return Within(near, special)


def distances(fmt: FloatFormat, one: Codes, other: Codes) -> npt.NDArray[np.float64]:
    """Return the steps between codes of two arrays, along one axis: NaN where one code is a NaN, 0 between two zeros
    or two equal codes.
    """
    if fmt.bits > LIMB_BITS:
        pairs = zip(
            *([rank_of(fmt, code) for code in codes_to_ints(codes, fmt.bits)] for codes in (one, other)), strict=True
        )
        return np.array([np.nan if a is None or b is None else float(min(abs(a - b), 1 << 52)) for a, b in pairs])
    first, second = (_ranks(fmt, codes) for codes in (one, other))
    # Codes of two signs may be farther apart than an int64 holds.
    far = np.abs(first.astype(np.float64) - second.astype(np.float64)) >= _FARTHEST
    steps = np.where(far, _FARTHEST, np.abs(first - second).astype(np.float64))
    return np.where(floats.is_nan(fmt, one) | floats.is_nan(fmt, other), np.nan, steps)


def _ranks(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.int64]:
    wide = codes.astype(np.uint64)
    magnitudes = (wide & np.uint64(fmt.code_mask >> fmt.signed)).astype(np.int64)
    negative = wide & np.uint64(fmt.sign_mask or 0) != 0
    return np.where(negative, -magnitudes, magnitudes)


@cache
def error_bounds() -> tuple[ErrorBound, ...]:
    """Return all rows. Raises LookupError, TypeError or tomllib.TOMLDecodeError for a malformed file."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8")).get("error_bound", [])
    return tuple(row for table in tables for row in _rows(table))


def _rows(table: Mapping[str, Any]) -> list[ErrorBound]:
    special = table.get("special_values", {})
    return [
        ErrorBound(
            table["tool"],
            tuple(table["versions"]),
            op,
            type_,
            bound,
            special.get(op, {}).get(type_, 0),
            table["why"],
        )
        for op, by_type in table["ulps"].items()
        for type_, bound in by_type.items()
    ]


Known = Divergence | ErrorBound
"""A row that knows differences of a tool."""


def known_differences() -> tuple[Known, ...]:
    """Return the rows of both kinds. Raises as `divergences` and `error_bounds`."""
    return (*divergences(), *error_bounds())
