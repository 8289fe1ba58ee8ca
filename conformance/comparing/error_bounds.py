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

from halfulp.conformance.comparing.divergences import FILE, Divergence, divergences
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.ulps import steps_between
from halfulp.interp.ir import types as ty


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
            steps = steps_between(type_.format, expected[places], answer.bits[places])
            near[places] = (steps > 0) & (steps <= self.ulps)
            special[places] = ~(steps > 0) & bool(self.special_values)
        return Within(near, special)


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


KnownRow = Divergence | ErrorBound
"""A row that knows differences of a tool."""


def known_differences() -> tuple[KnownRow, ...]:
    """Return the rows of both kinds. Raises as `divergences` and `error_bounds`."""
    return (*divergences(), *error_bounds())
