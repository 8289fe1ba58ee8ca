"""Measure the time of ``halfulp vectors make`` for one vector, with its start and the results, compared with
np.savetxt.

Also measure the CPU time that simulators take for a package of vectors, compared with a package of one vector.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import Absent, Measured, Row, Sizes, Target, agree, best

OP = ("arith.addf", "--type", "f8E4M3FN")
PEER = "np.savetxt"

FORMS = {"npz": "%02X %02X %02X %02X", "testfloat": "%02X %02X %02X %02X", "readmemh": "%02X%02X%02X%02X"}
"""For each format, the pattern of the text that the peer writes: that of the format, or the nearest to it."""

MOST = 1e9 / 15e6
"""The target: the nanoseconds for one vector at 15 million vectors a second."""


PACKAGE = 65_536
"""The number of vectors in a SystemVerilog package: all pairs of operands of 8 bits."""

BENCH = """\
module bench;
  import golden::*;
  vector_t v;
  int unsigned sum = 0;
  initial begin
    for (int i = 0; i < COUNT; i++) begin
      v = vector(i);
      sum += 32'(v.a) + 32'(v.b) * 3 + 32'(v.result) * 5 + 32'(v.flags) * 7;
    end
    $display("%0d", sum);
  end
endmodule
"""
"""A test bench that reads every vector of a package: it adds its columns, each multiplied by a different factor."""

SIMULATORS = {
    "compiled and run by Icarus Verilog": "iverilog -g2012 -o bench golden.sv bench.sv && vvp -n bench",
    "translated by Verilator": "verilator --cc --no-skip-identical --top bench golden.sv bench.sv",
}
"""For each name of a row, the commands that process the package and the bench."""


def rows() -> Iterator[Row]:
    for format in FORMS:
        yield Row("vectors", f"f8E4M3FN addf to {format}", partial(writing, format), PEER, Target(most=round(MOST, 1)))
    yield Row("vectors", "f8E4M3FN addf to npz, operands of files", of_files, "random operands", Target(speed=0.8))
    for name, commands in SIMULATORS.items():
        simulation = partial(simulating, commands)
        yield Row("vectors", f"65,536 as sv, {name}", simulation, "one vector", Target(beside=(1, 5)), unit="s")


def _command(format: str, count: int, source: str = "--level=random") -> list[str]:
    asked = [source, "-n", str(count), f"--format={format}"]
    return [sys.executable, "-m", "halfulp", "vectors", "make", *OP, *asked]


def of_files(sizes: Sizes) -> Measured:
    """Measure vectors whose operands are the codes in two files, in order."""
    count = 4 * sizes.elements
    codes = np.random.default_rng(15).integers(0, 256, (2, count), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        for name, column in zip("ab", codes, strict=True):
            np.save(Path(folder) / f"{name}.npy", column)
        source = f"--operands=a={folder}/a.npy;b={folder}/b.npy"
        written = subprocess.run(_command("npz", count, source), check=True, capture_output=True).stdout
        with np.load(io.BytesIO(written)) as archive:
            agree("operands of files", np.stack([archive["a"], archive["b"]]), codes)
        files, drawn = (
            partial(subprocess.run, _command("npz", count, *which), check=True, stdout=subprocess.DEVNULL)
            for which in ((source,), ())
        )
        mine, theirs = best(files, drawn, rounds=min(sizes.rounds, 3))
    return Measured(mine / count * 1e9, theirs / count * 1e9)


def _columns(count: int) -> Any:
    """Return the vectors that the command makes, one in each row."""
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


def simulating(commands: str, sizes: Sizes) -> Measured:
    """Return the CPU seconds that the commands of a simulator take."""
    tool = commands.split()[0]
    if shutil.which(tool) is None:
        raise Absent(f"{tool} is not on PATH")
    count = min(PACKAGE, sizes.elements)

    def side(folder: Path, rows: int) -> Callable[[], str]:
        folder.mkdir()
        (folder / "bench.sv").write_text(BENCH)
        with (folder / "golden.sv").open("wb") as file:
            subprocess.run([*_command("sv", rows), "--name=golden"], check=True, stdout=file)
        run = partial(subprocess.run, commands, shell=True, check=True, capture_output=True, text=True, cwd=folder)
        return lambda: str(run().stdout)

    def seconds(run: Callable[[], str]) -> float:
        before = os.times()
        run()
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    with tempfile.TemporaryDirectory() as temporary:
        ours = side(Path(temporary, "ours"), count)
        if printed := ours().split():
            sums = _columns(count).astype(np.uint64) @ np.array([1, 3, 5, 7], np.uint64)
            agree("a package of vectors", np.array([int(printed[0])]), np.array([int(sums.sum())]))
        one, rounds = side(Path(temporary, "one"), 1), range(min(sizes.rounds, 3))
        return Measured(min(seconds(ours) for _ in rounds), min(seconds(one) for _ in rounds))
