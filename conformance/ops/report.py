"""A sweep as a document that people read and check: docs/conformance.md."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np

from halfulp.conformance.comparing.check import Tally
from halfulp.conformance.comparing.coverage import OUTCOMES, Coverage
from halfulp.conformance.comparing.divergences import Example, divergences
from halfulp.conformance.comparing.error_bounds import ErrorBound, error_bounds
from halfulp.conformance.comparing.exact_reference import truth_of_op
from halfulp.conformance.comparing.exact_results import exact_value
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.refinement import Mismatch, ulps_away
from halfulp.conformance.ops.families import EVERY_WIDTH, FAMILIES
from halfulp.conformance.ops.jobs import ConformanceReport
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.printing import spell_element
from halfulp.semantics.profile import SEMANTICS_VERSION


def markdown(report: ConformanceReport) -> str:
    """Return the whole report in Markdown. The same results give the same text, except for the line with machine and
    time.
    """
    sections = (_head, _oracles, _families, _known, _bounds, _unexplained, _unanswered, _operations, _coverage)
    return "\n\n".join("\n".join(section(report)) for section in sections) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> list[str]:
    """Return a table whose first ``left`` columns are text and whose other columns are numbers."""
    marks = ["---"] * left + ["--:"] * (len(header) - left)
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (list(header), marks, *cells)]


def _head(report: ConformanceReport) -> list[str]:
    total = report.total()
    return [
        "# Conformance report",
        "",
        "This report compares the results of halfulp, element by element, with the results of other implementations",
        '("oracles"). Every oracle that was available was used. The columns of the tables count elements:',
        "",
        "- *compared*: all elements that the oracle answered.",
        "- *equal*: all bits are equal.",
        "- *open*: the language leaves the result unspecified, and the answer is allowed (any NaN, either zero,",
        "  poison, undefined behaviour).",
        "- *known*: a known divergence. The oracle returns exactly the wrong bits that a row of the table below",
        "  predicts.",
        "- *unexplained*: any other difference. This number must be 0.",
        "- *unanswered*: the oracle gave no result.",
        "",
        f"Level `{report.level}`, seed {report.seed}, semantics version {SEMANTICS_VERSION}. The oracles ran"
        f" for {report.seconds / 60:.0f} minutes on {platform.machine()}, Python {platform.python_version()},"
        f" NumPy {np.__version__}.",
        "",
        f"**{total.compared:,} compared: {total.equal:,} equal, {total.open:,} open by the language,"
        f" {total.known.total():,} known divergences, {total.unexplained:,} unexplained."
        f" {total.unanswered:,} unanswered.**",
        *[f"\nThe tool failed: {failure}" for failure in total.failures],
        *[
            f"\nA known divergence that has changed: {row}"
            for row in (*report.stale(), *report.unpinned(), *report.exceeded())
        ],
    ]


_COUNTS = ("compared", "equal", "open", "known", "unexplained", "unanswered")


def _counts(tally: Tally) -> list[int]:
    return [tally.compared, tally.equal, tally.open, tally.known.total(), tally.unexplained, tally.unanswered]


def _oracles(report: ConformanceReport) -> list[str]:
    rows = [[f"`{name}`", version, *_counts(report.total(name))] for name, version in report.versions.items()]
    missing = [f"Not available on this machine: `{name}` ({why})." for name, why in report.missing.items()]
    return ["## Oracles", "", *_table(["oracle", "version", *_COUNTS], rows, 2), *(["", *missing] if missing else [])]


def _grouped(
    report: ConformanceReport, key: Callable[[str, str, OpCase], tuple[str, ...]]
) -> dict[tuple[str, ...], Tally]:
    groups: dict[tuple[str, ...], Tally] = {}
    for (oracle, family, case), tally in report.tallies.items():
        groups.setdefault(key(oracle, family, case), Tally()).add(tally)
    return groups


def _families(report: ConformanceReport) -> list[str]:
    groups = _grouped(report, lambda oracle, family, case: (family, oracle))
    cases = Counter((family, oracle) for oracle, family, _ in report.tallies)
    order = {row.name: number for number, row in enumerate(FAMILIES)}
    rows = [
        [family, f"`{oracle}`", cases[family, oracle], *_counts(groups[family, oracle])]
        for family, oracle in sorted(groups, key=lambda group: order.get(group[0], len(order)))
    ]
    return ["## Families of tests", "", *_table(["family", "oracle", "tasks", *_COUNTS], rows, 2)]


def _known(report: ConformanceReport) -> list[str]:
    found = report.known()
    rows = []
    for row in divergences():
        for tool in row.tools:
            if tool in report.versions:
                count = found.get(tool, Counter())[row.name]
                why = row.why if row.link is None else f"{row.why} [upstream]({row.link})"
                rows.append([row.name, f"`{tool}`", _example(row.example), why, f"{count:,}"])
    return [
        "## Known divergences",
        "",
        "Each row of `conformance/comparing/divergences.toml` predicts the bits of a tool, by a profile or a formula.",
        "",
        *_table(["divergence", "tool", "example: expected, actual", "reason", "elements"], rows, 4),
    ]


def _example(example: Example) -> str:
    operands = ", ".join(f"{code:#x}" for code in example.operands)
    types = ", ".join(example.types) + (f" -> {example.to}" if example.to else "")
    actual = "poison" if example.actual is None else f"{example.actual:#x}"
    return f"`{example.op} {types}` ({operands}): {example.expected:#x}, {actual}"


def _bounds(report: ConformanceReport) -> list[str]:
    """Return the error bounds: one row for each tool and op, its types side by side."""
    found = report.known()
    groups: dict[tuple[str, str], list[ErrorBound]] = {}
    for row in error_bounds():
        if row.tool in report.versions:
            groups.setdefault((row.tool, row.op), []).append(row)
    rows = []
    for (tool, op), bounds in groups.items():
        counted = found.get(tool, Counter())
        cells = [f"{row.type} {row.ulps:,}" for row in bounds]
        near = sum(counted[row.name] for row in bounds)
        rows.append([f"`{tool}`", f"`{op}`", ", ".join(cells), near, sum(counted[row.special_name] for row in bounds)])
    why = {row.tool: row.why for row in error_bounds() if row.tool in report.versions}
    return [
        "## Measured error bounds",
        "",
        "No formula predicts the bits of a mathematical library. Each row bounds the distance of a tool's results from",
        "the right ones, in steps from one value to the next. A result beyond the bound is unexplained. *Special*",
        "counts wrong special values: a NaN instead of a number, a number instead of a NaN, a zero of the other sign.",
        "",
        *_table(["tool", "op", "type and bound", "not correctly rounded", "special"], rows, 3),
        *(["", *(f"- `{tool}`: {text}" for tool, text in why.items())] if why else []),
    ]


def _unexplained(report: ConformanceReport) -> list[str]:
    lines = ["## Unexplained", ""]
    shown = [
        f"- `{oracle}`: {mismatch_text(case, mismatch)}"
        for (oracle, _, _), tally in report.tallies.items()
        for case, mismatch in tally.mismatches
    ]
    return lines + (shown[:200] or ["None."])


def mismatch_text(case: OpCase, mismatch: Mismatch) -> str:
    """Describe a mismatch: the operands, the right result with its exact value, the result of the tool, and the
    distance.
    """

    def spelled(type_index: int, code: int, result: bool) -> str:
        type_ = (case.result_types if result else case.operand_types)[type_index]
        return f"{hexadecimal(code, width_of(type_))} ({spell_element(type_, code)})"

    operands = ", ".join(spelled(index, code, False) for index, code in enumerate(mismatch.operands))
    right = spelled(mismatch.result, mismatch.expected, True)
    actual = (
        mismatch.status.name.lower() if mismatch.actual is None else spelled(mismatch.result, mismatch.actual, True)
    )
    result = exact_value(case, mismatch.operands)
    exact = "" if result is None else f", exactly {_number(result)}"
    ulps = ulps_away(case.result_types[mismatch.result], mismatch)
    away = "" if ulps is None else f", {ulps} ulp away"
    truth = truth_of_op(case, mismatch)
    if truth is None:
        nearer = ""
    else:
        nearer = f"; {truth.distances('expected', 'got') if exact else truth.text('expected', 'got')}"
    return f"{case}: {operands}: expected {right}{exact}, got {actual}{away}{nearer}"


def _number(number: Fraction) -> str:
    if number.denominator == 1 and abs(number) < 10**15:
        return str(number.numerator)
    try:
        short = float(number)
    except OverflowError:
        return f"about 2**{abs(number.numerator).bit_length() - number.denominator.bit_length()}"
    return repr(short) if Fraction(short) == number else f"about {short!r}"


def _unanswered(report: ConformanceReport) -> list[str]:
    reasons: dict[tuple[str, str], int] = {}
    for (oracle, _, _), tally in report.tallies.items():
        for why, count in tally.refusals.items():
            reasons[oracle, why] = reasons.get((oracle, why), 0) + count
    rows = [[f"`{oracle}`", why, count] for (oracle, why), count in sorted(reasons.items(), key=lambda row: -row[1])]
    return ["## Unanswered", "", *_table(["oracle", "reason", "elements"], rows[:60], 2)]


def _operations(report: ConformanceReport) -> list[str]:
    groups = _grouped(report, lambda oracle, family, case: (case.op, _types(case, EVERY_WIDTH in family), oracle))
    lines = ["## Per op and type", "", "Elements compared, and of these the known divergences, per oracle.", ""]
    for op in sorted({group[0] for group in groups}):
        mine = {group: tally for group, tally in groups.items() if group[0] == op and tally.compared}
        rows = [
            [types, f"`{oracle}`", tally.compared, tally.known.total(), tally.unexplained]
            for (_, types, oracle), tally in sorted(mine.items())
        ]
        compared = sum(tally.compared for tally in mine.values())
        lines += [
            f"<details><summary><code>{op}</code>: {len({row[0] for row in rows})} combinations of types,"
            f" {compared:,} compared</summary>",
            "",
            *_table(["types", "oracle", "compared", "known", "unexplained"], rows, 2),
            "",
            "</details>",
        ]
    return lines


def _types(case: OpCase, any_width: bool = False) -> str:
    operands = ", ".join(dict.fromkeys(case.operands))
    results = ", ".join(dict.fromkeys(case.results))
    if any_width:  # one line for all widths of a family with every width
        operands, results = (re.sub(r"\bi\d+\b", "integers of every width", types) for types in (operands, results))
    return operands if results == operands else f"{operands} to {results}"


def _coverage(report: ConformanceReport) -> list[str]:
    """Per op: how many of its cases met every combination of operand classes, and the outcomes of all together."""
    by_op: dict[str, list[Coverage]] = {}
    for case, found in report.coverage.items():
        by_op.setdefault(case.op, []).append(found)
    rows: list[list[object]] = []
    for op, all_of_it in sorted(by_op.items()):
        hit = sum(len(found.combinations) for found in all_of_it)
        possible = sum(found.possible for found in all_of_it)
        outcomes: Counter[str] = sum((found.outcomes for found in all_of_it), Counter())
        rows.append([f"`{op}`", len(all_of_it), f"{hit:,} of {possible:,}", *(outcomes[name] for name in OUTCOMES)])
    return [
        "## Coverage",
        "",
        'Each row has one op, with all its types and modes. "Combinations" counts the combinations of operand classes',
        "that were tested. The classes of floats are zero, subnormal, normal, largest value, infinity, quiet NaN and",
        "signalling NaN. The classes of integers are 0, 1, -1, the ends of the range, and the other values. The",
        "columns after it count the outcomes of the reference. Ties are searched only among the first inexact elements",
        "of each task.",
        "",
        *_table(["op", "tasks", "combinations", *OUTCOMES], rows),
    ]
