"""Shards of a sweep without rows. Their files are empty: the manifest of the sweep has their digests."""

from __future__ import annotations

from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options
from halfulp.conformance.vectors.packing import ONLY_DIGESTS
from halfulp.interp.ir.errors import InputError


def _write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Let all rows pass, so that they are counted and hashed."""
    for _ in vectors:
        pass


def _read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    raise InputError(
        f"{options.file} is a shard of a sweep that kept only digests, so it has no rows",
        hint="run the sweep with another --format, and compare its digest",
    )


FORMAT = Format(ONLY_DIGESTS, ".digest", _write, _read, describes=True)
