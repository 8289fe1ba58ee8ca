"""Compute and write one shard, here or by a worker."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from halfulp.conformance.ops.memory import memory_kept
from halfulp.conformance.vectors.columns import Chunk, VectorSet
from halfulp.conformance.vectors.formats import write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.shards.directory import ShardEntry
from halfulp.conformance.vectors.shards.files import flush_and_close, temporary_path, writing
from halfulp.conformance.vectors.shards.plan import SweepPlan, generator
from halfulp.interp.ir.errors import HalfulpError, InputError


@dataclass(frozen=True)
class MadeShard:
    """A shard that exists. ``kept``: it existed before. ``fault``: what was wrong with the recorded file."""

    entry: ShardEntry
    kept: bool = False
    fault: str | None = None


def _fault(directory: Path, entry: ShardEntry) -> str | None:
    """Say what is wrong with the file of an entry; None where it is as recorded."""
    try:
        with (directory / entry.file).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.size:
                return f"has {size} bytes instead of {entry.size}"
            return None if hashlib.file_digest(file, "sha256").hexdigest() == entry.file_sha256 else "is corrupt"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def make_shard(
    plan: SweepPlan,
    directory: Path,
    owner: str,
    index: int,
    known: ShardEntry | None = None,
    tick: Callable[[int], object] = lambda rows: None,
) -> MadeShard:
    """Make a shard unless its file is as recorded. ``tick`` is called with the number of finished rows, again and
    again.

    Raises InputError where the file cannot be written, where the format cannot hold a row, and where a recorded shard
    gives other bytes than before.
    """
    fault = None
    if known is not None:
        fault = _fault(directory, known)
        if fault is None:
            return MadeShard(known, kept=True)
    with memory_kept():
        return _made_anew(plan, directory, owner, index, known, tick, fault)


def _made_anew(
    plan: SweepPlan,
    directory: Path,
    owner: str,
    index: int,
    known: ShardEntry | None,
    tick: Callable[[int], object],
    fault: str | None,
) -> MadeShard:
    start, stop = plan.rows(index)
    vectors = VectorSet(plan.recipe.columns, _ticking(plan.recipe.chunks(start, stop, plan.leaf), tick))
    options = Options(name=f"vectors_{index}", packing=plan.packing)
    try:
        with writing(directory), temporary_path(directory, owner, str(index)) as path:
            with path.open("w+b") as file:
                written = write_vectors(vectors, file, plan.format, plan.unmarked, options, leaves=True)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = os.fstat(file.fileno()).st_size
                flush_and_close(file)
            entry = ShardEntry(
                index=index,
                rows=(start, stop),
                count=written.count,
                dropped=written.dropped,
                leaves=written.leaves if written.count < stop - start else (),
                sha256=written.digest,
                file=plan.file_name(index, digest),
                size=size,
                file_sha256=digest,
            )
            if known is not None and known.sha256 != entry.sha256:
                raise InputError(
                    f"the manifest has the digest {known.sha256}, but the shard now gives {entry.sha256}",
                    hint="the manifest is corrupt, or this machine computes something else",
                )
            path.replace(directory / entry.file)
            if known is not None and known.file != entry.file:
                (directory / known.file).unlink(missing_ok=True)
    except HalfulpError as error:
        error.message = f"shard {index} (rows {start} to {stop - 1}): {error.message}"
        raise
    return MadeShard(entry, fault=fault)


def _ticking(chunks: Iterable[Chunk], tick: Callable[[int], object]) -> Iterator[Chunk]:
    rows = 0
    for chunk in chunks:
        yield chunk
        rows += len(chunk[0])
        tick(rows)


@lru_cache(maxsize=4)
def _unpickled(plan: bytes) -> SweepPlan:
    """Return a plan, unpickled once per process: its tables of operands may take long."""
    loaded: SweepPlan = pickle.loads(plan)
    return loaded


def make_elsewhere(
    made_by: tuple[str, int], plan: bytes, directory: str, owner: str, index: int, known: ShardEntry | None
) -> MadeShard:
    """Make a shard in a worker. Raises InputError where its halfulp is of another version."""
    if made_by != generator():
        raise InputError(f"a worker has version {generator()} of halfulp and its semantics, not {made_by}")
    return make_shard(_unpickled(plan), Path(directory), owner, index, known)


def require_visible(directory: Path, entry: ShardEntry) -> None:
    """Raise InputError where a worker's file is not visible here: the worker wrote to another machine's directory."""
    try:
        size = (directory / entry.file).stat().st_size
    except OSError:
        size = None
    if size != entry.size:
        raise InputError(
            f"a worker has written {entry.file}, but it is not in '{directory}' here",
            hint="all workers must see the directory under this path",
        )
