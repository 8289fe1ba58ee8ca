"""The report on results that were compared with the expected ones, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from halfulp.conformance.comparing.refinement import Truth, record_of, ulp_distance
from halfulp.conformance.vectors.columns import Column, Role, fixed_format_of, format_of, type_of
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.formats.text import digits
from halfulp.conformance.vectors.row_check import MOST_TOLD, Check, LikelyCause, RowMismatch
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.explanations.explaining import explain
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.spelling import bits_text, decimal_text, table_lines, value_text
from halfulp.interp.ir.errors import HalfulpError, plural
from halfulp.number_reader import MODES
from halfulp.semantics import fixed_point
from halfulp.semantics.fixed_point import FixedFormat
from halfulp.texts import flags_text

MOST_COLUMNS = 32
"""The most operands of a row that are shown. If there are more outputs than this, only those that differ are shown."""
SEVERAL_LINES = 5
"""The most alternatives and remarks that are shown for all rows together."""
LONGEST_FRACTION = 100
"""The most characters of a fraction. If it is longer, only its decimals are shown."""


@dataclass(frozen=True)
class Report:
    """The comparison of a device's results with the expected ones. Its text is that of ``halfulp vectors check``.

    ``found``: all numbers of the comparison.
    ``computation``: the op or program of the vectors.
    ``name``: the name of the device or file in the text.
    ``golden``: True if the rows of a file are those of the golden set.
    ``note``: a further remark about a file.
    ``format``: the format of a file.
    """

    found: Check
    computation: Computation
    name: str
    golden: bool = False
    note: str = ""
    format: str = "values"

    @property
    def equal(self) -> bool:
        """True if all compared rows are right, and no problem prevented the comparison."""
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
        """The reason why some rows could not be compared; None if all were compared."""
        return self.found.problem

    @property
    def mismatches(self) -> list[RowMismatch]:
        """The first rows that differ, with the operands, the expected codes and the codes of the device."""
        return self.found.mismatches

    @property
    def explanations(self) -> list[LikelyCause]:
        """Other semantics that give the results of the device, the likeliest first. Those that equal rows refute, or
        that explain few rows, come behind all others.
        """
        return self.found.explanations

    @property
    def cause(self) -> str | None:
        """The likeliest explanation; None if nothing differs, or if no explanation leads: equal rows refute it, or it
        explains less than a tenth of the rows that differ.
        """
        return next((told.name for told in self.explanations if told.leads), None)

    def lines(self) -> list[str]:
        """Return the lines of the report, without the note and the problem."""
        found = self.found
        lines = []
        for mismatch in found.mismatches:
            lines += [*_mismatch_lines(mismatch, self.computation, self.name), ""]
        if found.differing:
            lines += _explanation_lines(found)
        rows = plural(found.rows, "row")
        if found.problem is not None:
            rows += " was read" if found.rows == 1 else " were read"
        counts = [
            rows,
            f"{found.differing:,} differ{'s'[: found.differing == 1]}"
            if found.differing
            else "none differs"
            if found.compared
            else "nothing compared",
        ]
        if found.poison:
            counts.append(f"{found.poison:,} poison, of which results count for nothing")
        if found.undefined:
            counts.append(f"{found.undefined:,} not compared: undefined behaviour")
        if found.within:
            counts.append(f"{found.within:,} not equal, but within the bounds of TOSA")
        if found.ignored:
            counts.append(f"{found.ignored:,} not compared: the file says so")
        if found.unknown:
            counts.append(f"{found.unknown:,} with an X or Z")
        if found.rows:
            lines.append(f"{_what(self.computation)}: {'; '.join([', '.join(counts[:2]), *counts[2:]])}")
        if self.golden:
            lines.append("all rows equal those of the golden set, in its order")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the report as one JSON object, as ``halfulp vectors check --json`` prints it."""
        found = self.found

        def spelled(columns: Iterable[Column], codes: Iterable[int | str | None]) -> dict[str, str]:
            return {
                column.name: _cells(column, code)[0]
                for column, code in zip(columns, codes, strict=True)
                if code is not None
            }

        return {
            "file": self.name,
            "format": self.format,
            "what": _what(self.computation),
            "rows": found.rows,
            "compared": found.compared,
            "differing": found.differing,
            "unknown": found.unknown,
            "poison": found.poison,
            "undefined": found.undefined,
            "ignored": found.ignored,
            "within": found.within,
            "equal": self.equal,
            "golden": self.golden,
            "strayed": found.strayed,
            "slipped": found.slipped,
            "reordered": found.reordered,
            "problem": None if found.problem is None else str(found.problem),
            "mismatches": [
                {
                    "row": mismatch.row,
                    "line": mismatch.line,
                    "inputs": spelled(self.computation.inputs, mismatch.inputs),
                    "expected": spelled(self.computation.outputs, mismatch.expected),
                    "got": spelled(self.computation.outputs, mismatch.got),
                    "exact": None if mismatch.exact is None else str(mismatch.exact),
                    "truth": {
                        column.name: record_of(_truth(mismatch, self.computation, k))
                        for k, column in enumerate(self.computation.outputs)
                        if column.name in mismatch.columns and column.role is Role.RESULT
                    },
                    "wrong": dict(zip(mismatch.columns, map(list, mismatch.remarks), strict=True)),
                    "as_if": list(mismatch.as_if),
                }
                for mismatch in found.mismatches
            ],
            "examined": found.examined,
            "controls": found.controls,
            "cause": self.cause,
            "explanations": [
                {key: getattr(told, key) for key in ("name", "rows", "equal", "refuted", "weak")}
                for told in found.explanations
            ],
            "described": found.described,
            "kinds": found.kinds,
        }

    def __str__(self) -> str:
        notes = [f"note: {self.name}: {self.note}"] if self.note else []
        return "\n".join([*self.lines(), *notes, *([] if self.problem is None else [str(self.problem)])])

    def __repr__(self) -> str:
        return f"Report({plural(self.rows, 'row')}, {self.differing:,} differ)"


def _what(computation: Computation) -> str:
    if isinstance(computation, TileComputation):
        return f"{computation.operation}, model {computation.model}"
    asked = str(computation.case) if isinstance(computation, OpComputation) else f"@{computation.source()['function']}"
    if isinstance(computation, OpComputation) and computation.random_bits is not None:
        asked += f", {computation.random_bits} random bits"
    return asked if computation.profile.name == "spec" else f"{asked}, profile {computation.profile.name}"


def _mismatch_lines(mismatch: RowMismatch, computation: Computation, file: str) -> list[str]:
    line = "" if mismatch.line is None else f", line {mismatch.line}"
    table: list[tuple[str, ...]] = []
    for column, code in list(zip(computation.inputs, mismatch.inputs, strict=True))[:MOST_COLUMNS]:
        table.append((column.name, *_cells(column, code)))
    left_out = len(computation.inputs) - len(table)
    brief = len(computation.outputs) > MOST_COLUMNS
    if mismatch.exact is not None:
        texts = filter(None, dict.fromkeys([decimal_text(mismatch.exact), _fraction_text(mismatch.exact)]))
        table.append(("exact", " = ".join(texts), "", ""))
    notes = []
    for k, column in enumerate(computation.outputs):
        wrong = column.name in mismatch.columns
        if not wrong and (brief or column.role in (Role.POISON, Role.OPEN)):
            continue
        several = len([other for other in computation.outputs if other.role is column.role]) > 1
        own = f" {column.name}" if several or column.role is not Role.RESULT else ""
        table.append((f"expected{own}", *_cells(column, mismatch.expected[k])))
        got = mismatch.got[k]
        if got is not None:
            table.append((f"got{own}", *_cells(column, got)))
        if wrong:
            told = list(mismatch.remarks[mismatch.columns.index(column.name)])
            told += _distance(column, mismatch.expected[k], got)
            notes.append((f"{column.name}:", ", ".join(told)))
            truth = _truth(mismatch, computation, k)
            if truth is not None:
                notes.append(
                    ("", truth.distances("expected", "got") if mismatch.exact else truth.text("expected", "got"))
                )
            if told[0] == "another NaN":
                notes.append(("", "--nan=any would accept it"))
    lines = [f"{file}: row {mismatch.row}{line}: {_what(computation)}"]
    texts_only = [row for row in table if row[0] == "exact"]
    cells = table_lines([row for row in table if row[0] != "exact"])
    width = max(len(row[0]) for row in table)
    for row in texts_only:
        cells.insert(len(computation.inputs) - left_out, f"{'exact'.ljust(width)}  {row[1]}")
    lines += [f"  {cell}" for cell in cells]
    if left_out:
        lines.append(f"  and {left_out} operands more")
    lines += [f"  {' '.join(note).strip()}" for note in notes]
    rule = _rule(mismatch, computation)
    if rule:
        lines.append(f"  rule: {rule}")
    if mismatch.as_if:
        lines.append(f"  got is what this gives: {', '.join(mismatch.as_if)}")
    return lines


def _cells(column: Column, code: int | str) -> tuple[str, str, str]:
    """Return the text of a code in hexadecimal, in binary if its bits have fields, and as the value that it has."""
    if isinstance(code, str):
        return code, "", "unknown: X or Z"
    spelled = f"0x{code:0{digits(column.width)}X}"
    if column.role is Role.FLAGS:
        return spelled, "", flags_text(Flags(code))
    fmt = format_of(column)
    if fmt is not None:
        return spelled, bits_text(fmt, code), value_text(fmt, code)
    fixed = fixed_format_of(column)
    if fixed is not None:
        return spelled, _around_the_point(fixed, code), decimal_text(fixed_point.value(fixed, code))
    if column.role is not Role.OPERAND and column.role is not Role.RESULT:
        return spelled, "", ""
    negative = column.width > 1 and code >> (column.width - 1)
    return spelled, "", f"{code - (1 << column.width)} ({code} unsigned)" if negative else str(code)


def _around_the_point(fmt: FixedFormat, code: int) -> str:
    """Return a code in binary with its point; without one where the point is not among the bits."""
    bits, place = f"{code:0{fmt.width}b}", fmt.integer_bits
    return f"{bits[:place]}.{bits[place:]}" if 0 <= place < fmt.width else bits


def _distance(column: Column, expected: int, got: int | str | None) -> list[str]:
    """Tell how far apart two results are, and which single bit makes the difference."""
    if not isinstance(got, int) or column.role is not Role.RESULT:
        return []
    told = []
    type_ = type_of(column)
    steps = None if type_ is None else ulp_distance(type_, expected, got)
    fmt = format_of(column)
    if steps and steps > 1:
        told.append(f"{steps:,} {'ulp' if fmt is not None else 'apart'}")
    different = expected ^ got
    if not different & (different - 1):
        told.append(f"bit {different.bit_length() - 1} alone")
    return told


def _truth(mismatch: RowMismatch, computation: Computation, output: int) -> Truth | None:
    """Return which value of a column of results is nearer to the exact number, if that is known."""
    got = mismatch.got[output]
    if not isinstance(got, int) or format_of(computation.outputs[output]) is None:
        return None
    if computation.outputs[output].role is not Role.RESULT:
        return None
    return computation.truth(mismatch.inputs, output, mismatch.expected[output], got)


def _fraction_text(number: Fraction) -> str:
    """Return the text of a fraction as ``38633472/833``, or with odd numbers and a power of two if that is shorter.
    Return an empty text if both are too long.
    """
    numerator, denominator = abs(number.numerator), number.denominator
    up, down = ((part & -part).bit_length() - 1 if part else 0 for part in (numerator, denominator))
    odd = Fraction(number.numerator >> up, denominator >> down)
    texts = str(number), f"{odd} * 2^{up - down}"
    shortest = min(texts, key=len)
    return shortest if len(shortest) <= LONGEST_FRACTION else ""


def _rule(mismatch: RowMismatch, computation: Computation) -> str:
    """Return the rounding rule that gives the expected result, if the result differs and no flag does."""
    if not mismatch.exact or not isinstance(computation, OpComputation) or computation.random_bits is not None:
        return ""
    column = computation.outputs[0]
    fmt = format_of(column)
    mode = dict(computation.case.properties).get("rounding", "to_nearest_even")
    if fmt is None or mode not in MODES or column.name not in mismatch.columns:
        return ""
    told = explain(Fraction(mismatch.exact), fmt, mode)
    return told.rule if told.result.code == mismatch.expected[0] else ""


_NEAR = 8
"""Of a cause that is refuted nothing is said if more than one in so many equal rows refutes it."""


def _explanation_lines(found: Check) -> list[str]:
    """Describe what all rows with a difference have in common: causes that hold, then a description of the rows, then
    causes of few rows, and causes that equal rows refute.
    """
    of = found.examined
    among = f"{of:,} rows tried of the {found.differing:,} that differ" if of < found.differing else ""

    def share(count: int, of: int, among: str) -> str:
        if of == 1 and not among:
            return "the row that differs"
        rows = among or f"{of:,} rows that differ"
        return f"all {rows}" if count == of else f"{count:,} of the {rows}"

    def causes(told: Sequence[LikelyCause]) -> list[str]:
        return [
            f"{share(one.rows, of, among)} {'is' if one.rows == 1 else 'are'} what {one.name} gives"
            f"{_controls(one, found)}"
            for one in told
        ]

    behind = [
        one
        for one in found.explanations
        if not one.leads and (not one.refuted or _NEAR * (found.controls - one.equal) < found.controls)
    ]
    holding = [one for one in found.explanations if one.leads][:SEVERAL_LINES]
    perfect = [one for one in holding if one.rows == of]
    if perfect:
        holding, behind = perfect, []
    if found.differing <= 1:
        # What holds is told with the row itself.
        return [*causes(behind[:MOST_TOLD]), ""] if behind and not holding else []
    kinds = list(found.kinds.items())[:SEVERAL_LINES]
    counted = [f"{share(count, found.differing, '')}: {kind}" for kind, count in kinds]
    near = causes(behind[: SEVERAL_LINES - len(holding)])
    none = [] if holding or not found.examined else ["no single cause fits these rows"]
    return [*causes(holding), *none, *found.described, *counted, *near, ""]


def _controls(told: LikelyCause, found: Check) -> str:
    """Say whether the explanation also gives the right results for the rows that are equal."""
    if told.equal == found.controls:
        every = "the only equal row" if found.controls == 1 else f"all {found.controls:,} equal rows"
        return f", as in {every} tried" if found.controls else ""
    return f", but not in {found.controls - told.equal:,} of {plural(found.controls, 'equal row')} tried"
