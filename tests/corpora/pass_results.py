"""The recorded outcomes of `corpora.pass_tests`: how many cases of each test had which outcome."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded" / "mlir_tests_22.json"

OUTCOMES: Mapping[str, str] = {
    "proven": "proven",
    "equal": "tested, equal",
    "known": "known",
    "differs": "differs",
    "silent": "ran, no results",
    "undefined": "undefined before",
    "unchanged": "unchanged, not run",
    "unsupported": "not supported",
    "rejected": "rejected by mlir-opt",
    "timeout": "time-out",
    "crash": "crash",
}
"""The outcomes of a case, in the order of the table, with its headings."""

COMPARED = ("proven", "equal", "known", "differs")
"""Outcomes of functions whose results were compared."""


@dataclass(frozen=True)
class TestResults:
    """The outcomes of one command of one test; ``differing``: the functions that differ."""

    test: str
    command: str
    outcomes: Mapping[str, int]
    differing: tuple[str, ...]


def summarised(cases: Iterable[Mapping[str, Any]]) -> list[TestResults]:
    """Return the results of each command of each test, in the order of the cases."""
    found: dict[tuple[str, str], tuple[Counter[str], list[str]]] = {}
    for case in cases:
        counts, differing = found.setdefault((case["test"], case["command"]), (Counter(), []))
        counts[case["outcome"]] += 1
        if case["outcome"] == "differs":
            differing.append(case["function"])
    return [TestResults(*key, counts, tuple(differing)) for key, (counts, differing) in found.items()]


def write_record(path: Path, results: Sequence[TestResults], tool: str) -> None:
    """Write the record of a run with this version of mlir-opt."""
    rows = [[row.test, row.command, dict(row.outcomes), list(row.differing)] for row in results]
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"mlir_opt": "{tool}", "rows": [\n{lines}\n]}}\n')


def recorded() -> list[TestResults]:
    """Return the recorded results."""
    rows = json.loads(RECORDED.read_text())["rows"]
    return [TestResults(test, command, counts, tuple(names)) for test, command, counts, names in rows]


def table(results: Sequence[TestResults]) -> list[str]:
    """Return a table with a row for each dialect, and a last row with the sums."""
    dialects: dict[str, Counter[str]] = {}
    for row in results:
        dialects.setdefault(row.test.partition("/")[0], Counter()).update(row.outcomes)
    total: Counter[str] = sum(dialects.values(), Counter())
    shown = [outcome for outcome in OUTCOMES if total[outcome] or outcome in ("timeout", "crash")]
    lines = [f"| dialect | cases | compared | {' | '.join(OUTCOMES[outcome] for outcome in shown)} |"]
    lines.append("|---" + "|---:" * (len(shown) + 2) + "|")
    for name, counts in [*dialects.items(), ("all", total)]:
        numbers = [counts.total(), sum(counts[each] for each in COMPARED), *(counts[each] for each in shown)]
        lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return lines
