"""The time of ``halfulp vectors`` per vector, with its start and the computation of the results, beside np.savetxt."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rows import Measured, Row, Sizes, Target, agree, best

OP = ("arith.addf", "--type", "f8E4M3FN")
PEER = "np.savetxt"

FORMS = {"npz": "%02X %02X %02X %02X", "testfloat": "%02X %02X %02X %02X", "readmemh": "%02X%02X%02X%02X"}
"""By format, the text that the peer writes: what the format is, or the nearest to it."""

MOST = 1e9 / 15e6
"""Nanoseconds of a vector, at 15 million a second."""


def rows() -> Iterator[Row]:
    for format in FORMS:
        yield Row("vectors", f"f8E4M3FN addf to {format}", partial(writing, format), PEER, Target(most=round(MOST, 1)))


def _command(format: str, count: int) -> list[str]:
    asked = ["--level=random", "-n", str(count), f"--format={format}"]
    return [sys.executable, "-m", "halfulp", "vectors", *OP, *asked]


def _columns(count: int) -> Any:
    """Return the vectors as the command makes them, a row for each."""
    output = subprocess.run(_command("npz", count), check=True, capture_output=True).stdout
    with np.load(io.BytesIO(output)) as archive:
        return np.column_stack([archive[name] for name in ("a", "b", "result", "flags")])


def _saving(columns: Any, form: str) -> Callable[[], bytes]:
    def save() -> bytes:
        with tempfile.TemporaryFile() as file:
            np.savetxt(file, columns, fmt=form)
            file.seek(0)
            return file.read()

    return save


def writing(format: str, sizes: Sizes) -> Measured:
    count = max(sizes.elements // 100, 1)
    columns = _columns(count)
    save = _saving(columns, FORMS[format])
    if format != "npz":
        written = subprocess.run(_command(format, count), check=True, capture_output=True).stdout
        lines = b"".join(line for line in written.splitlines(keepends=True) if not line.startswith(b"//"))
        agree(f"vectors as {format}", np.frombuffer(lines, np.uint8), np.frombuffer(save(), np.uint8))
    ours = partial(subprocess.run, _command(format, 4 * sizes.elements), check=True, stdout=subprocess.DEVNULL)
    mine, theirs = best(ours, save, rounds=min(sizes.rounds, 3))
    return Measured(
        mine / (4 * sizes.elements) * 1e9, theirs / count * 1e9, note="the peer does not compute, it only writes"
    )
