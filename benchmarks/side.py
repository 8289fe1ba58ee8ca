"""Measure rows on request, for a comparison of two commits: each commit has a process that runs this file.

The file is run by its path, with the tree of the commit as the current folder, so that a commit without it can be
measured too. The process prints its rows as a line of JSON. Then it reads the numbers of rows, a line each, and prints
the figure of each, or the reason for having none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from typing import Any


def replies(
    rows: list[Any], requests: Iterable[str], sizes: Any, reasons: tuple[type[Exception], ...]
) -> Iterator[str]:
    """Return the lines to print: the rows, then a figure for each request.

    ``reasons``: the errors of a row that has no figure.
    """
    yield json.dumps([(row.group, row.name, row.peer, row.unit) for row in rows])
    for request in requests:
        try:
            yield json.dumps({"figure": rows[int(request)].measure(sizes).ours})
        except reasons as reason:
            yield json.dumps({"trouble": str(reason)})


def main() -> None:
    # The benchmarks of the commit, which are those of this file only on one side.
    sys.path.insert(0, "")
    from benchmarks import table
    from benchmarks.rows import Absent, Disagreement, Sizes

    out = sys.stdout
    with redirect_stdout(sys.stderr):
        for reply in replies(table.all_rows(), sys.stdin, Sizes(), (Absent, Disagreement)):
            print(reply, file=out, flush=True)


if __name__ == "__main__":
    main()
