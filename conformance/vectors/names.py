"""The names of levels, formats and layouts of vectors. The help of commands needs them, so nothing is loaded here."""

from __future__ import annotations

from typing import Literal, get_args

LevelName = Literal["1", "2", "exhaustive", "random", "weighted", "hard"]
LEVELS: tuple[LevelName, ...] = get_args(LevelName)

FORMAT_NAMES = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs", "mlir")
"""The formats of files; the module of each in `halfulp.conformance.vectors.formats` has the same name."""

NO_SHARDS = ("mlir",)
"""Formats without sweeps: nobody can use a program of millions of calls."""

Unmarked = Literal["refuse", "drop", "canonical"]
UNMARKED: tuple[Unmarked, ...] = get_args(Unmarked)
"""The treatments of rows with poison or unspecified bits, in a format without a place for them."""

PACKINGS = ("containers", "dense", "dense-high")
"""The layouts of elements in the format ``bin``."""

ScalePlace = Literal["separate", "first", "last"]
SCALE_PLACES: tuple[ScalePlace, ...] = get_args(ScalePlace)
"""The places of the scales of blocks in the format ``bin``."""
