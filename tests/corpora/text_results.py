"""The recorded outcomes of `corpora.text_tests`, as a table by dialect."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halfulp.conformance.whole_programs import text_check


def record_of(version: str) -> Path:
    """Return the file with the record of a version of MLIR, ``22`` or ``24``."""
    return Path(__file__).parent / "recorded" / f"mlir_text_{version}.json"


OUTCOMES = {**text_check.OUTCOMES, "crash": "crash"}
"""The outcomes of a part, in the order of the table, with its headings."""


@dataclass(frozen=True)
class TextResults:
    """The outcomes of the tests of one dialect."""

    dialect: str
    outcomes: Mapping[str, int]


def write_record(path: Path, results: Sequence[TextResults], tool: str) -> None:
    """Write the record of a run with this version of mlir-opt."""
    lines = ",\n".join(json.dumps([row.dialect, dict(row.outcomes)]) for row in results)
    path.write_text(f'{{"mlir_opt": "{tool}", "rows": [\n{lines}\n]}}\n')


def recorded(version: str) -> list[TextResults]:
    """Return the recorded results of a version of MLIR."""
    return [TextResults(dialect, counts) for dialect, counts in json.loads(record_of(version).read_text())["rows"]]


def table(results: Sequence[TextResults]) -> list[str]:
    """Return a table with a row for each dialect, and a last row with the sums."""
    total: Counter[str] = sum((Counter(row.outcomes) for row in results), Counter())
    lines = [f"| dialect | parts | {' | '.join(OUTCOMES.values())} |", "|---" + "|---:" * (len(OUTCOMES) + 1) + "|"]
    for row in [*results, TextResults("all", total)]:
        numbers = [sum(row.outcomes.values()), *(row.outcomes.get(outcome, 0) for outcome in OUTCOMES)]
        lines.append(f"| {row.dialect} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return lines
