"""The report on results that were compared with the expected ones, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from halfulp.command.check_report import report_lines, report_record
from halfulp.command.options.check_vectors import CheckVectorsArguments
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.row_check import Check, LikelyCause, RowMismatch
from halfulp.interp.ir.errors import HalfulpError


@dataclass(frozen=True)
class Report:
    """The findings on the results of a device. Its text is that of ``halfulp check-vectors``.

    ``found``: all numbers. ``computation``: the op or program that is expected. ``name``: the device or file in the
    text. ``golden``: a file is the golden set, row by row. ``note``: what else to say of a file. ``format``: of a file.
    """

    found: Check
    computation: Computation
    name: str
    golden: bool = False
    note: str = ""
    format: str = "values"

    @property
    def equal(self) -> bool:
        """Whether every row that counts is right, and nothing hinders the comparison."""
        return not self.found.differing and self.found.problem is None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.found.rows

    @property
    def differing(self) -> int:
        """The number of rows that differ."""
        return self.found.differing

    @property
    def problem(self) -> HalfulpError | None:
        """Why not all rows could be compared; None if they were."""
        return self.found.problem

    @property
    def mismatches(self) -> list[RowMismatch]:
        """The first rows that differ, with operands, expected and given codes."""
        return self.found.mismatches

    @property
    def explanations(self) -> list[LikelyCause]:
        """Other semantics that give the results of the device, the likeliest first."""
        return self.found.explanations

    @property
    def cause(self) -> str | None:
        """The likeliest explanation; None if nothing differs, or nothing explains it."""
        return self.explanations[0].name if self.explanations else None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data, as ``halfulp check-vectors --json`` prints it."""
        return report_record(self.found, self.computation, self.format, self.golden, self._arguments)

    @property
    def _arguments(self) -> CheckVectorsArguments:
        return CheckVectorsArguments(file=self.name)

    def __str__(self) -> str:
        lines = report_lines(self.found, self.computation, self.golden, self._arguments)
        notes = [f"note: {self.name}: {self.note}"] if self.note else []
        return "\n".join([*lines, *notes, *([] if self.problem is None else [str(self.problem)])])

    def __repr__(self) -> str:
        return f"Report({self.rows:,} rows, {self.differing:,} differ)"
