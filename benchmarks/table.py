"""The table of all rows, and its text and Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from benchmarks import (
    accelerators,
    conversions,
    elementary,
    exact_path,
    float_unit,
    kernels,
    mlir,
    models,
    ops,
    requantizing,
    scalars,
    scoreboards,
    several_cores,
    shadows,
    stablehlo,
    starting,
    structured,
    sums,
    tensors,
    testing,
    texts,
    tiles,
    values,
    vectors,
)
from benchmarks.backends import machine_code
from benchmarks.rows import Absent, Disagreement, Measured, Row, Sizes

MODULES = (
    conversions,
    ops,
    elementary,
    tensors,
    several_cores,
    accelerators,
    scalars,
    exact_path,
    float_unit,
    tiles,
    sums,
    structured,
    requantizing,
    models,
    stablehlo,
    kernels,
    shadows,
    values,
    texts,
    starting,
    vectors,
    scoreboards,
    testing,
)
HEAD = ("measurement", "ours", "peer", "peer's", "× peer", "copies", "target", "met", "remark")
NUMBERS = ("ours", "peer's", "× peer", "copies")
PEERS = ("numpy", "ml_dtypes", "llvmlite", "gfloat", "xdsl", "gmpy2", "jaxlib")
EXPLANATION = """\
Each row compares halfulp with a peer: another implementation. Both run in one process and take turns, and the figure is
the best of several runs. mlir-opt and mlir-runner have processes of their own. The times of mlir-runner are measured
inside the program, without its start and compilation. The rows of StableHLO, of kernels of Triton,
and of one product of numbers by matrix units, give CPU times: for StableHLO the peers have processes of their own, and
XLA uses several threads.

Before the times are measured, the results are compared bit by bit. There are three exceptions: of mlir-runner's
results only a sum is compared; the rows on texts and on starting have no results; and some remarks say that results
are not compared, or how far they differ. If a peer is known to differ, its results must be those of its profile, and a
remark gives the share of results that differ.

- *ours* and *peer's* are times in nanoseconds, unless another unit is given. They are times per element, or per op for
  scalar code. For a program, one element means ten ops on this element. Machine code, which halfulp makes of what runs
  long, is made before the times are taken.
- *× peer* is the speed relative to the peer: 2× is twice as fast.
- *copies* is our time divided by the time of one `np.copyto` of the larger array, source or destination. A copy is the
  fastest that a conversion can be.

*× peer* and *copies* are similar on other machines; times are not."""


class Line(NamedTuple):
    """A row and its figures, or the reason for having none."""

    row: Row
    measured: Measured | None
    trouble: str = ""
    wrong: bool = False

    @property
    def met(self) -> bool | None:
        return None if self.measured is None else self.measured.meets(self.row.target)

    def cells(self) -> tuple[str, ...]:
        row, measured = self.row, self.measured
        target = row.target.spell(row.unit)
        if measured is None:
            return (row.name, "", row.peer, "", "", "", target, "", self.trouble)
        unit = "" if row.unit == "ns" else f" {row.unit}"
        met = {None: "", True: "yes", False: "**no**"}[self.met]
        return (
            row.name,
            figure(measured.ours) + unit,
            row.peer,
            "" if measured.peer is None else figure(measured.peer) + unit,
            "" if measured.speed is None else f"{figure(measured.speed)}×",
            "" if measured.copies is None else figure(measured.copies),
            target,
            met,
            measured.note,
        )


def all_rows() -> list[Row]:
    """Return all rows. They are measured with machine code."""
    rows = [row for module in MODULES for row in module.rows()]
    return [replace(row, measure=partial(_compiled, row.measure)) for row in rows]


def _compiled(measure: Callable[[Sizes], Measured], sizes: Sizes) -> Measured:
    with machine_code():
        return measure(sizes)


def lines(rows: Iterable[Row], sizes: Sizes) -> Iterator[Line]:
    """Measure each row, one after the other."""
    for row in rows:
        try:
            yield Line(row, row.measure(sizes))
        except Absent as absent:
            yield Line(row, None, str(absent))
        except Disagreement as disagreement:
            yield Line(row, None, f"RESULTS DIFFER: {disagreement}", wrong=True)


def figure(number: float) -> str:
    """Format a figure with three digits, or two below one."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 1 else f"{number:.2g}"


def machine() -> str:
    """Return the CPU, the cores and the operating system."""
    try:
        cpu = next(
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        )
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return f"{cpu}, {os.cpu_count()} cores, {system}, {platform.system()} {platform.release()} {platform.machine()}"


def versions() -> str:
    said = [f"Python {platform.python_version()}"]
    for name in PEERS:
        try:
            said.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            said.append(f"no {name}")
    try:
        said.append(f"MLIR {mlir.tools()[0].version}")
    except Absent:
        said.append("no MLIR")
    return ", ".join(said)


def summary(done: Sequence[Line]) -> str:
    """Count the targets that are met, and the rows without figures."""
    verdicts = [line.met for line in done]
    parts = [f"{verdicts.count(True)} of {verdicts.count(True) + verdicts.count(False)} targets are met"]
    absent = sum(line.measured is None and not line.wrong for line in done)
    if absent:
        parts.append(f"{absent} rows could not be measured: a tool or package is not installed")
    return "; ".join(parts)


def text_head(widths: Sequence[int]) -> str:
    return _text_line(HEAD, widths)


def text_line(line: Line, widths: Sequence[int]) -> str:
    return _text_line(tuple(cell.replace("**", "") for cell in line.cells()), widths)


def _text_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return aligned(cells, widths, [name in NUMBERS for name in HEAD])


def aligned(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    """Return a line of cells; the cells of ``numbers`` are aligned on the right."""
    padded = [
        cell.rjust(width) if number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, numbers, strict=True)
    ]
    return "  ".join(padded).rstrip()


def text_widths(rows: Sequence[Row]) -> list[int]:
    """Return column widths that fit all texts that are known before the measurements."""
    known = {
        "measurement": [row.name for row in rows],
        "peer": [row.peer for row in rows],
        "target": [row.target.spell(row.unit) for row in rows],
    }
    return [max([len(name), *map(len, known.get(name, ["123456789"]))]) for name in HEAD]


def markdown(done: Sequence[Line]) -> str:
    """Return the text of RESULTS.md: a table for each group."""
    parts = [
        "# Speed compared with other implementations",
        "Written by `make bench RESULTS=benchmarks/RESULTS.md`.",
        EXPLANATION,
        f"Machine: {machine()}.",
        f"Versions: {versions()}.",
        f"{summary(done)}.",
    ]
    for group in dict.fromkeys(line.row.group for line in done):
        rule = ["---:" if name in NUMBERS else "---" for name in HEAD]
        table = [HEAD, rule, *(line.cells() for line in done if line.row.group == group)]
        parts += [f"## {group[0].upper()}{group[1:]}", "\n".join(f"| {' | '.join(cells)} |" for cells in table)]
    return "\n\n".join(parts) + "\n"
