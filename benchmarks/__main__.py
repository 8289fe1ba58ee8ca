"""Print the table: ``make bench``, or ``python -m benchmarks``. The exit code is 1 if results differ from those of a
peer.

With ``--base``, it compares two commits instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import comparison, table
from benchmarks.rows import Sizes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure halfulp beside its peers.")
    parser.add_argument("--only", default="", metavar="NAME", help="rows whose group, name or peer contains this")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table of all rows here as well")
    parser.add_argument("--base", default="", metavar="COMMIT", help="compare this commit with the tree, row by row")
    options = parser.parse_args()
    if options.only and options.markdown:
        parser.error("--markdown takes all rows")
    if options.base and options.markdown:
        parser.error("--markdown takes the figures of one commit")
    wanted = options.only.lower()
    if options.base:
        return comparison.main(options.base, wanted)
    rows = [row for row in table.all_rows() if wanted in f"{row.group}: {row.name}, {row.peer}".lower()]
    if not rows:
        parser.error(f"no row has {options.only!r} in its name")
    print(f"{table.machine()}\n{table.versions()}\n")
    widths = table.text_widths(rows)
    print(table.text_head(widths))
    done = []
    group = ""
    for line in table.lines(rows, Sizes()):
        if line.row.group != group:
            group = line.row.group
            print(f"\n{group}")
        print(table.text_line(line, widths), flush=True)
        done.append(line)
    print(f"\n{table.summary(done)}")
    if options.markdown:
        options.markdown.write_text(table.markdown(done), encoding="utf-8")
    return int(any(line.wrong for line in done))


if __name__ == "__main__":
    sys.exit(main())
