"""Make rows for the programs that record a chip, and a recording of their results:

python recording.py make rows.bin
./record rows.bin results.bin
python recording.py pack rows.bin results.bin h100/mma.m16n8k16.f32.f16.f16.f32 h100.npz
python -m halfulp.chips.recorded_chips h100.npz
"""

import sys

import numpy as np

ROW = np.dtype([("a", "<u2", 16), ("b", "<u2", 16), ("c", "<u4")])


def make(path: str, count: int = 10_000) -> None:
    """Write random rows: numbers of about ten binades, so that sums are cut off in many places, and some zeros."""
    dice = np.random.default_rng(1)
    rows = np.zeros(count, ROW)
    for name, code in (("a", np.float16), ("b", np.float16), ("c", np.float32)):
        shape = rows[name].shape
        numbers = dice.standard_normal(shape) * 2.0 ** dice.integers(-5, 5, shape) * (dice.random(shape) < 0.9)
        rows[name] = numbers.astype(code).view(rows[name].dtype)
    rows.tofile(path)


def pack(rows: str, results: str, name: str, path: str) -> None:
    """Write the rows and their results as a recording. ``name``: CHIP/INSTRUCTION."""
    given, d = np.fromfile(rows, ROW), np.fromfile(results, "<u4")
    np.savez_compressed(path, **{f"{name}/{key}": given[key] for key in ROW.names}, **{f"{name}/d": d})


if __name__ == "__main__":
    {"make": make, "pack": pack}[sys.argv[1]](*sys.argv[2:])
