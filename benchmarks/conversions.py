"""Measure `halfulp.convert`, compared with astype of NumPy and ml_dtypes and with gfloat; and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import Absent, Measured, Row, Sizes, Target, agree, agree_or_as_predicted, best, nanoseconds
from benchmarks.samples import dtype_of, peer_of, sample
from halfulp.fp_formats.formats import FORMATS

SMALL = tuple(name for name, fmt in FORMATS.items() if fmt.bits <= 8)
# By source and destination: how many times as fast as the peer, and the most copies.
PAIRS: Mapping[tuple[str, str], Target] = {
    **{("f32", name): Target(speed=5 if name == "f8E8M0FNU" else 6, copies=2) for name in SMALL},
    **{(name, "f32"): Target(speed=6) for name in SMALL},
    **dict.fromkeys(
        (
            ("f8E4M3FN", "f8E5M2"),
            ("f8E5M2", "f8E4M3FN"),
            ("f8E5M2", "f8E4M3FNUZ"),
            ("f8E3M4", "f8E4M3B11FNUZ"),
            ("f16", "f8E4M3FN"),
            ("f16", "f8E5M2"),
            ("bf16", "f8E4M3FN"),
            ("bf16", "f8E5M2"),
        ),
        Target(speed=9),
    ),
    ("f64", "f8E4M3FN"): Target(speed=6),
    ("f64", "f8E5M2"): Target(speed=6),
    ("f32", "f16"): Target(speed=0.8),
    ("f16", "f32"): Target(speed=0.8),
    ("f32", "bf16"): Target(speed=0.8),
    ("bf16", "f32"): Target(speed=0.8),
}
WITH_NANS: Mapping[tuple[str, str], Target] = {
    ("f32", "f8E4M3FN"): Target(),
    ("f32", "f4E2M1FN"): Target(),
    ("f32", "f16"): Target(speed=0.9),
    ("f32", "bf16"): Target(speed=0.9),
    ("bf16", "f32"): Target(speed=0.9),
}
RARE = 1000
GFLOAT = {
    "f8E5M2": "format_info_ocp_e5m2",
    "f8E4M3FN": "format_info_ocp_e4m3",
    "f6E3M2FN": "format_info_ocp_e3m2",
    "f6E2M3FN": "format_info_ocp_e2m3",
    "f4E2M1FN": "format_info_ocp_e2m1",
}
MEMORY = 8  # megabytes beside the output


def rows() -> Iterator[Row]:
    for (source, destination), target in PAIRS.items():
        measure = partial(conversion, source, destination)
        yield Row("conversions", f"{source} to {destination}", measure, peer_of(source, destination), target)
    for (source, destination), target in WITH_NANS.items():
        measure = partial(conversion, source, destination, nans=True)
        what = f"{source} to {destination}, a NaN in {RARE:,}"
        yield Row("conversions", what, measure, peer_of(source, destination), target)
    for destination in GFLOAT:
        yield Row("conversions", f"f32 to {destination}", partial(beside_gfloat, destination), "gfloat")
    what = "a conversion, without its output (largest)"
    yield Row("memory", what, memory, target=Target(most=MEMORY), unit="MB")


def conversion(source: str, destination: str, sizes: Sizes, nans: bool = False) -> Measured:
    x, dtype = sample(source, sizes.elements), dtype_of(destination)
    if nans:
        x[::RARE] = np.nan
    larger = x if x.itemsize >= dtype.itemsize else np.ones(x.size, dtype)
    copy = np.zeros_like(larger)
    with np.errstate(all="ignore"):
        note = agree_or_as_predicted(
            f"{source} to {destination}",
            hu.convert(x, destination).numpy(poison=0),
            x.astype(dtype),
            lambda: hu.convert(x, destination, profile="ml_dtypes").numpy(poison=0),
        )
        times = best(
            lambda: hu.convert(x, destination),
            lambda: x.astype(dtype),
            lambda: np.copyto(copy, larger),
            rounds=3 * sizes.rounds,  # they are short, so that others on the machine disturb them more
        )
    return nanoseconds(times, x.size, note)


def beside_gfloat(destination: str, sizes: Sizes) -> Measured:
    try:
        gfloat = import_module("gfloat")
    except ImportError:
        raise Absent("gfloat is not installed") from None
    x = sample("f32", max(1, sizes.elements // 16))
    fmt = getattr(import_module("gfloat.formats"), GFLOAT[destination])

    def theirs() -> Any:
        return gfloat.encode_ndarray(fmt, gfloat.round_ndarray(fmt, x))

    agree(f"f32 to {destination}", hu.convert(x, destination).bits, theirs().astype(np.uint8))
    return nanoseconds(best(lambda: hu.convert(x, destination), theirs, rounds=3), x.size)


_PEAKS = """
import json, sys, tracemalloc
import numpy as np
import halfulp as hu
from benchmarks.backends import machine_code
from benchmarks.samples import sample

found = {}
with machine_code(), np.errstate(all="ignore"):
    hu.convert(np.float32([1]), "f16")
    for source, destination in json.loads(sys.argv[2]):
        x = sample(source, int(sys.argv[1]))
        hu.convert(x, destination)  # compiling takes what it takes, once
        tracemalloc.start()
        result = hu.convert(x, destination)
        found[f"{source} to {destination}"] = (tracemalloc.get_traced_memory()[1] - result.bits.nbytes) / 1e6
        tracemalloc.stop()
print(json.dumps(found))
"""


def memory(sizes: Sizes) -> Measured:
    """Measure the largest memory that a conversion of the table takes, once its code and tables are made."""
    command = [sys.executable, "-c", _PEAKS, str(sizes.elements), json.dumps([*PAIRS])]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    worst = max(found, key=lambda name: found[name])
    return Measured(found[worst], note=worst)
