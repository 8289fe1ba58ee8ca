"""The results of a conformance run as a document for people: docs/conformance.md."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.comparing import check
from halfulp.conformance.comparing.divergences import Example, divergences
from halfulp.conformance.comparing.inputs import (
    CHUNK,
    EXHAUSTIVE_BITS,
    OUTCOMES,
    Coverage,
    covered,
    exact_value,
    inputs_for,
    is_exhaustive,
)
from halfulp.conformance.comparing.op_case import OpCase, container_shape, reference
from halfulp.conformance.comparing.refinement import Mismatch, record_of, truth_of_op, ulps_away, worst
from halfulp.conformance.ops.jobs import EVERY_WIDTH, FAMILIES, ConformanceReport
from halfulp.conformance.oracles.oracle import HoldingOracle, Oracle, OracleError
from halfulp.conformance.oracles.vector_format import header_of
from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.spelling import spell_element
from halfulp.semantics import SEMANTICS_VERSION
from halfulp.semantics.profile import PROFILES, SPEC, Profile


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
        '("oracles"). It uses every oracle that was available. The columns of the tables count elements:',
        "",
        "- *compared*: all elements for which the oracle gave a result.",
        "- *equal*: all bits of both results are equal.",
        "- *open*: the language leaves the result unspecified, and allows the result of the oracle (any NaN, either",
        "  zero, poison, undefined behaviour).",
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


def _counts(tally: check.Tally) -> list[int]:
    return [tally.compared, tally.equal, tally.open, tally.known.total(), tally.unexplained, tally.unanswered]


def _oracles(report: ConformanceReport) -> list[str]:
    rows = [[f"`{name}`", version, *_counts(report.total(name))] for name, version in report.versions.items()]
    missing = [f"Not available on this machine: `{name}` ({why})." for name, why in report.missing.items()]
    return ["## Oracles", "", *_table(["oracle", "version", *_COUNTS], rows, 2), *(["", *missing] if missing else [])]


def _grouped(
    report: ConformanceReport, key: Callable[[str, str, OpCase], tuple[str, ...]]
) -> dict[tuple[str, ...], check.Tally]:
    groups: dict[tuple[str, ...], check.Tally] = {}
    for (oracle, family, case), tally in report.tallies.items():
        groups.setdefault(key(oracle, family, case), check.Tally()).add(tally)
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
    groups: dict[tuple[str, str], list[check.ErrorBound]] = {}
    for row in check.error_bounds():
        if row.tool in report.versions:
            groups.setdefault((row.tool, row.op), []).append(row)
    rows = []
    for (tool, op), bounds in groups.items():
        counted = found.get(tool, Counter())
        cells = [f"{row.type} {row.ulps:,}" for row in bounds]
        near = sum(counted[row.name] for row in bounds)
        rows.append([f"`{tool}`", f"`{op}`", ", ".join(cells), near, sum(counted[row.special_name] for row in bounds)])
    why = {row.tool: row.why for row in check.error_bounds() if row.tool in report.versions}
    return [
        "## Measured error bounds",
        "",
        "No formula predicts the bits of a mathematical library. So each row has a bound for the distance of a tool's",
        "results from the right results, counted in values of the type. A result beyond the bound is unexplained. The",
        "column *special* counts wrong special values: a NaN instead of a number, a number instead of a NaN, or a zero",
        "with the other sign.",
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
    """Return a text about a mismatch: the operands, the right result with its exact value, the result of the tool, and
    the distance.
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
    lines = [
        "## Per op and type",
        "",
        "The number of elements compared with each oracle, and of known and unexplained differences among them.",
        "",
    ]
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
    """For each op, return how many of its cases met every combination of operand classes, and the outcomes of all of
    them together.
    """
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
        "columns after it count the results of halfulp by their kind. Ties are counted only among the first inexact",
        "elements of each task.",
        "",
        *_table(["op", "tasks", "combinations", *OUTCOMES], rows),
    ]


# --- verify -----------------------------------------------------------------------------------------------------------
#
# One case checked against oracles, and what there is to say about it.

MAX_BYTES = 1 << 29
"""Most bytes of the operands of one case. If all inputs are asked, the limit is for one chunk."""


@dataclass
class Verification:
    """The answers of an oracle for a case. ``profiles``: the profiles that explain all differences, if there are
    any. ``held``: True if the oracle has results for certain operands only, and was asked for those.
    """

    case: OpCase
    oracle: str
    version: str
    exhaustive: bool
    tally: check.Tally
    profiles: list[str] = field(default_factory=list)
    held: bool = False
    coverage: Coverage = field(init=False)

    def __post_init__(self) -> None:
        self.coverage = Coverage.empty(self.case)

    @property
    def differs(self) -> bool:
        """Whether there is a difference that no row explains."""
        return bool(self.tally.unexplained)


def verify(
    case: OpCase,
    oracle: Oracle,
    count: int,
    seed: int = 0,
    rows: Sequence[check.KnownRow] = (),
    profile: Profile = SPEC,
    bits: int = EXHAUSTIVE_BITS,
) -> Verification:
    """Ask an oracle for a case: for all inputs if there are at most ``2**bits``, else for ``count`` of them. An oracle
    that has results for certain operands only is asked for those.

    Raises LimitExceeded if the operands would take too much memory.
    """
    held = isinstance(oracle, HoldingOracle) and oracle.inputs(case) is not None
    exhaustive = is_exhaustive(case, bits) and not held
    _check_size(case, CHUNK if exhaustive or held else count)
    verification = Verification(case, oracle.name, oracle.version, exhaustive, check.Tally(), held=held)
    applicable = [row for row in rows if row.applies(oracle.name, oracle.version, case)]
    explaining, chunks = set(PROFILES), 0
    tally = verification.tally
    for inputs in _inputs(oracle, case, count, seed, bits):
        chunks += 1
        try:
            answers = check.ask(oracle, case, inputs)
        except OracleError as error:
            tally.failures.append(str(error))
            break
        found = check.compare(case, inputs, reference(case, inputs, profile), answers, applicable)
        tally.add(found)
        verification.coverage |= covered(case, inputs, exhaustive, found.answered)
        if found.unexplained or found.known:
            explaining &= check.explaining_profiles(case, inputs, answers, explaining)
    if tally.failures or not (tally.unexplained or tally.known):
        explaining = set()
    elif chunks > 1:  # a chunk without differences may still disagree with a profile
        for inputs in _inputs(oracle, case, count, seed, bits) if explaining else ():
            explaining &= check.explaining_profiles(case, inputs, check.ask(oracle, case, inputs), explaining)
    verification.profiles = sorted(explaining)
    tally.mismatches = _first_and_worst(tally.mismatches)
    return verification


def _inputs(oracle: Oracle, case: OpCase, count: int, seed: int, bits: int) -> Iterator[tuple[Codes, ...]]:
    """Return the operands to ask the oracle for: those for which it has results, else those of `inputs_for`."""
    held = oracle.inputs(case) if isinstance(oracle, HoldingOracle) else None
    return inputs_for(case, count, seed, bits) if held is None else held


def _check_size(case: OpCase, count: int) -> None:
    shape = container_shape((*case.operand_types, *case.result_types), count)
    size = prod(shape) * sum(-(-width // 8) for width in case.operand_widths)
    if size > MAX_BYTES:
        raise LimitExceeded(
            f"the operands of {case} would take {size:,} bytes", op=case.op, hint="ask for fewer inputs with -n"
        )


def _first_and_worst(found: list[tuple[OpCase, Mismatch]]) -> list[tuple[OpCase, Mismatch]]:
    extreme = worst([mismatch for _, mismatch in found])
    first = found[: check.SHOWN]
    shown = extreme is None or any(mismatch is extreme for _, mismatch in first)
    return first if shown else [*first[:-1], *(row for row in found if row[1] is extreme)]


def text(verification: Verification) -> list[str]:
    """Return the verification as lines for a terminal."""
    tally, case = verification.tally, verification.case
    how = "every input" if verification.exhaustive else "corners and random inputs"
    how = "the operands it holds" if verification.held else how
    lines = [f"{case} against {verification.oracle} {verification.version}, {how}:"]
    lines += [f"  the oracle failed: {failure}" for failure in tally.failures]
    counts = [("compared", tally.compared), ("equal", tally.equal), ("open by the language", tally.open),
              ("open by fast-math flags, different", tally.apart), ("known divergences", tally.known.total()),
              ("UNEXPLAINED", tally.unexplained), ("unanswered", tally.unanswered),
              ("values for undefined behaviour", tally.undefined)]  # fmt: skip
    always = ("compared", "equal", "UNEXPLAINED")
    lines += [f"  {number:>12,} {name}" for name, number in counts if number or name in always]
    lines += [f"  known: {name}: {number:,}" for name, number in tally.known.most_common()]
    lines += [f"  no longer so: {name}: {number:,} that the row predicts wrong are right"
              for name, number in tally.reformed.most_common() if name not in tally.known]  # fmt: skip
    lines += [f"  unanswered: {why}: {number:,}" for why, number in tally.refusals.most_common(5)]
    lines += [f"  {mismatch_text(case, mismatch).removeprefix(f'{case}: ')}" for _, mismatch in tally.mismatches]
    if verification.profiles:
        lines.append(f"  all of it is what these profiles give: {', '.join(verification.profiles)}")
    return lines


def as_json(verification: Verification) -> dict[str, Any]:
    """Return the verification as JSON-ready data; codes are hexadecimal strings."""
    tally, case = verification.tally, verification.case
    return {
        **header_of(case),
        "oracle": verification.oracle,
        "version": verification.version,
        "exhaustive": verification.exhaustive,
        "compared": tally.compared,
        "equal": tally.equal,
        "open": tally.open,
        "apart": tally.apart,
        "unanswered": dict(tally.refusals),
        "known": dict(tally.known),
        "unexplained": tally.unexplained,
        "undefined_with_value": tally.undefined,
        "failures": tally.failures,
        "profiles": verification.profiles,
        "coverage": {
            "combinations": len(verification.coverage.combinations),
            "possible": verification.coverage.possible,
            "outcomes": {name: count for name, count in verification.coverage.outcomes.items() if count},
        },
        "mismatches": [
            {
                "operands": [hex(code) for code in mismatch.operands],
                "result": mismatch.result,
                "expected": hex(mismatch.expected),
                "actual": None if mismatch.actual is None else hex(mismatch.actual),
                "status": mismatch.status.name.lower(),
                "ulps": ulps_away(case.result_types[mismatch.result], mismatch),
                "truth": record_of(truth_of_op(case, mismatch)),
            }
            for _, mismatch in tally.mismatches
        ],
    }  # fmt: skip
