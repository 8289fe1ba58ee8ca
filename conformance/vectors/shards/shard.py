"""Compute and write one shard, here or by a worker."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import BinaryIO

from halfulp.conformance.files import open_new, open_to_read
from halfulp.conformance.ops.memory import memory_kept
from halfulp.conformance.vectors.columns import Chunk, VectorSet, root_of
from halfulp.conformance.vectors.formats import write_vectors
from halfulp.conformance.vectors.formats.format import Options, Written
from halfulp.conformance.vectors.formats.runs import RunTable, merge
from halfulp.conformance.vectors.metadata import (
    LOOKED_AT,
    MERGED,
    METADATA,
    Anchors,
    Document,
    VectorFile,
    document,
    to_text,
)
from halfulp.conformance.vectors.shards.directory import (
    MOST_ROWS,
    Manifest,
    ShardEntry,
    SweepPlan,
    begin_layout,
    flush_and_close,
    free_directory,
    generator,
    put_file,
    recorded,
    sized_as_in,
    temporary_path,
    tidy,
    writing,
)
from halfulp.interp.ir.errors import HalfulpError, InputError


@dataclass(frozen=True)
class MadeShard:
    """A shard that was made. ``kept``: whether it existed before. ``fault``: what was wrong with the file that was
    recorded for it.
    """

    entry: ShardEntry
    kept: bool = False
    fault: str | None = None


def _fault(directory: Path, entry: ShardEntry) -> str | None:
    """Say what is wrong with the file of an entry; None if it is as recorded."""
    try:
        with open_to_read(directory / entry.file) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.size:
                return f"has {size} bytes instead of {entry.size}"
            return None if hashlib.file_digest(file, "sha256").hexdigest() == entry.file_sha256 else "is corrupt"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except InputError:
        return "is not a regular file"


def make_shard(
    plan: SweepPlan,
    directory: Path,
    owner: str,
    index: int,
    known: ShardEntry | None = None,
    tick: Callable[[int], object] = lambda rows: None,
) -> MadeShard:
    """Make a shard, unless its recorded file exists and is unchanged. ``tick`` is called again and again with the
    number of finished rows.

    Raises InputError if the file cannot be written, if the format cannot hold a row, and if a recorded shard gives
    other bytes than before.
    """
    fault = None if known is None else _fault(directory, known)
    if known is not None and fault is None:
        return MadeShard(known, kept=True)
    start, stop = plan.rows(index)
    vectors = VectorSet(plan.recipe.columns, _ticking(plan.recipe.chunks(start, stop, plan.leaf), tick))
    options = Options(name=f"vectors_{index}", packing=plan.packing)
    try:
        with memory_kept(), writing(directory), temporary_path(directory, owner, str(index)) as path:
            with open_new(path) as file:
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
    """Make a shard in a worker. Raises InputError if its halfulp is of another version."""
    ours = generator()
    if made_by != ours:
        (theirs, theirs_semantics), (version, semantics) = made_by, ours
        raise InputError(
            f"a worker has halfulp {version} (semantics {semantics}), but the sweep is run by halfulp {theirs} "
            f"(semantics {theirs_semantics})",
            hint="install one version on all machines",
        )
    return make_shard(_unpickled(plan), Path(directory), owner, index, known)


def require_visible(directory: Path, entry: ShardEntry) -> None:
    """Raise InputError if a worker's file is not visible here: the worker wrote to another machine's directory."""
    try:
        size = (directory / entry.file).stat().st_size
    except OSError:
        size = None
    if size != entry.size:
        raise InputError(
            f"a worker has written {entry.file}, but it is not in '{directory}' here",
            hint="all workers must see the directory under this path",
        )


# --- sizing -----------------------------------------------------------------------------------------------------------
#
# The size of shards by the time that they take, so that all workers have work, and a killed one loses little.
#
# The files of a sweep depend on the size, its digest does not.

MOST_SECONDS, LEAST_SECONDS = 10.0, 1.0
"""A shard takes at most, and a smaller one is not worth its file."""

SHARDS_PER_PROCESS = 4
"""The least number of shards for each process, if they take long enough: processes end at about the same time."""

_SAMPLE, _GROWTH, _MEASURED = 1 << 10, 8, 0.1
"""The rows that are computed first; how many times as many come next; the seconds that are enough to tell."""


def rows_by_time(plan: SweepPlan, processes: int) -> int:
    """Return the number of rows of a shard for so many processes, from the time that some rows take here."""
    count, size = plan.recipe.rows.count, plan.leaf
    if count <= size:
        return size
    seconds = _seconds_of_a_row(plan)
    if seconds is None:
        return MOST_ROWS
    wanted = min(MOST_SECONDS, max(LEAST_SECONDS, count * seconds / (SHARDS_PER_PROCESS * processes)))
    while 2 * size <= MOST_ROWS and 2 * size * seconds <= wanted:
        size *= 2
    return size


def _seconds_of_a_row(plan: SweepPlan) -> float | None:
    """Return the time that one row takes, measured on some rows in the middle; None if they fail."""
    step, rows = plan.recipe.step, _SAMPLE
    while True:
        rows = min(max(rows // step, 1) * step, plan.leaf)
        start = (plan.recipe.rows.count - rows) // 2 // step * step
        try:
            # The first time, tables may be made.
            seconds = min(_written(plan, start, start + rows) for _ in range(2))
        except HalfulpError:
            return None
        if seconds >= _MEASURED or rows == plan.leaf:
            return seconds / rows
        rows *= _GROWTH


def _written(plan: SweepPlan, start: int, stop: int) -> float:
    # Not the time of a clock: other processes of the machine may be busy.
    begin = process_time()
    vectors = VectorSet(plan.recipe.columns, plan.recipe.chunks(start, stop, plan.leaf))
    write_vectors(vectors, BytesIO(), plan.format, plan.unmarked, Options(packing=plan.packing), leaves=True)
    return process_time() - begin


# --- whole ------------------------------------------------------------------------------------------------------------
#
# Complete a sweep: its metadata, and for tables of runs the merged table.


@dataclass
class Swept:
    """The progress of a sweep. ``of``: the number of shards; ``done``: those that exist; ``kept``: those of this
    process's part that existed before. Once all exist: ``rows`` and the ``digest`` of the sweep, and for tables of runs
    the number of ``runs``; until then the indices of the ``missing`` shards.
    """

    of: int
    done: int = 0
    kept: int = 0
    rows: int = 0
    digest: str | None = None
    runs: int | None = None
    missing: tuple[int, ...] = ()


def finish(plan: SweepPlan, directory: Path, owner: str, found: Swept) -> None:
    """Write the metadata if all shards exist. Every process writes the same. ``found``: the progress, to which the rows
    and the digest are added.
    """
    entries = recorded(directory, plan)
    found.done = len(entries)
    if found.done < plan.shards:
        found.missing = tuple(index for index in range(plan.shards) if index not in entries)
        return
    ordered = [entries[index] for index in range(plan.shards)]
    for entry in ordered:
        require_visible(directory, entry)
    found.rows = sum(entry.count for entry in ordered)
    found.digest = root_of(entry.sha256 for entry in ordered)
    if plan.format == "runs":
        put_file(directory, owner, MERGED, lambda file: setattr(found, "runs", _merged(plan, directory, ordered, file)))
    text = to_text(_document(plan, ordered, found))
    put_file(directory, owner, METADATA, lambda file: file.write(text.encode()))


def _merged(plan: SweepPlan, directory: Path, ordered: Iterable[ShardEntry], file: BinaryIO) -> int:
    def tables() -> Iterator[RunTable]:
        for entry in ordered:
            path = directory / entry.file
            with open_to_read(path) as part:
                yield RunTable(part, plan.columns, Options(file=str(path)))

    return merge(tables(), plan.columns, file)


def _document(plan: SweepPlan, ordered: list[ShardEntry], found: Swept) -> Document:
    """Return the metadata of the sweep, with its shards."""
    assert found.digest is not None
    dropped = sum(entry.dropped for entry in ordered)
    names = [MERGED] if plan.format == "runs" else [entry.file for entry in ordered]
    return document(
        Written(plan.columns, found.rows, dropped, found.digest),
        [VectorFile(plan.format, name, plan.packing) for name in names],
        plan.recipe.computation,
        plan.recipe.inputs(),
        unmarked=plan.unmarked,
        anchors=_anchors(plan, ordered),
        undefined=plan.recipe.rows.count - found.rows - dropped,
    ) | {"leaf_rows": plan.leaf, "shards": [entry.to_json() for entry in ordered]}


_QUARTERS = 4


def _anchors(plan: SweepPlan, ordered: list[ShardEntry]) -> list[Document]:
    """Return rows for a person to check, computed again: from the beginning, from some shards between, and the end."""
    count, step = plan.recipe.rows.count, plan.recipe.step
    few = -(-LOOKED_AT // step) * step
    total = sum(entry.count for entry in ordered)
    begins = [plan.rows(len(ordered) * k // _QUARTERS) for k in range(_QUARTERS)] if ordered else []
    parts = [(start, min(start + few, stop)) for start, stop in dict.fromkeys(begins)]
    parts.append((max(count - few, parts[-1][1] if parts else 0), count))
    # The first row of each part among the rows that are examined, and among all that were written.
    places: list[tuple[int, int]] = []
    looked = 0

    def chunks() -> Iterator[Chunk]:
        nonlocal looked
        for start, stop in parts:
            made = list(plan.carried(plan.recipe.vectors(start, stop)).set())
            rows = sum(len(chunk[0]) for chunk in made)
            before = sum(entry.count for entry in ordered if entry.rows[1] <= start)
            places.append((looked, total - rows if stop == count else before))
            yield from made
            looked += rows

    anchors = Anchors(plan.columns)
    for _ in anchors.watch(chunks()):
        pass
    told = []
    for row in anchors.rows():
        local, base = max(place for place in places if place[0] <= row["row"])
        told.append({**row, "row": row["row"] - local + base})
    return told


# --- sweep ------------------------------------------------------------------------------------------------------------
#
# Make all shards of a sweep, in one process or several, and complete the sweep when all of them exist.

Progress = Callable[[int, int], object]

Tell = Callable[[str], object]


def sweep_shards(
    plan: SweepPlan,
    directory: str | os.PathLike[str],
    part: tuple[int, int] | None = (0, 1),
    executor: Executor | None = None,
    in_flight: int = 4,
    progress: Progress = lambda done, total: None,
    tell: Tell = lambda text: None,
    shard_rows: int | None = None,
) -> Swept:
    """Make the missing shards of a plan in a directory, and complete the sweep if all shards exist.

    ``part``: (i, n): shard i of every n shards, so that n processes share a directory; None: no shard is made, the
    sweep is only completed. ``executor``: computes the shards, else this thread does; at most ``in_flight`` shards are
    submitted at once. ``progress`` is told the number of rows, ``tell`` gets notes for people. All workers must see the
    directory under the same path. ``shard_rows``: the rows of a shard if neither the plan nor the sweep in the
    directory has them; without it, they are chosen by the time that some rows take. The digest does not depend on them.

    Raises InputError for a directory that holds another sweep, is in use or cannot be written, a corrupt manifest, a
    worker that died, and what the vectors raise. After any error, finished shards are kept.
    """
    place, of = part or (0, 1)
    if not 0 <= place < of:
        raise InputError(f"there is no part {place} of {of}: parts are counted from 0")
    where, owner = Path(directory).absolute(), f"{place}-of-{of}"
    if part is None and sized_as_in(where, plan) is None:
        raise InputError(f"'{directory}' holds no sweep", hint="its shards are made without --join")
    fresh = not where.exists()
    with writing(where):
        where.mkdir(parents=True, exist_ok=True)
    processes = max(of, 1 if executor is None else in_flight)
    plan = begin_layout(where, owner, plan, lambda: shard_rows or rows_by_time(plan, processes))
    manifest = Manifest(where, owner, plan)
    try:
        tidy(where, owner)
        known = recorded(where, plan)
        found = Swept(plan.shards)
        mine = range(place, plan.shards, of) if part is not None else ()
        todo = ((index, known.get(index)) for index in mine)
        total, rows = plan.rows_of_part(place, of), 0

        def ticked(more: int) -> None:
            progress(rows + more, total)

        with closing(_made(plan, where, owner, todo, executor, in_flight, ticked)) as shards:
            for made in shards:
                if executor is not None:
                    require_visible(where, made.entry)
                if known.get(made.entry.index) != made.entry:
                    manifest.append(made.entry)
                if made.fault is not None:
                    tell(f"shard {made.entry.index}: its file {made.fault}; it was made again")
                found.kept += made.kept
                rows += made.entry.rows[1] - made.entry.rows[0]
                progress(rows, total)
        finish(plan, where, owner, found)
        return found
    except BaseException:
        if of == 1:
            free_directory(where, owner, plan, fresh)
        raise
    finally:
        # A worker that was killed leaves its file, also where another one made its shard.
        with suppress(InputError):
            tidy(where, owner)
        manifest.close()


def _made(
    plan: SweepPlan,
    directory: Path,
    owner: str,
    todo: Iterator[tuple[int, ShardEntry | None]],
    executor: Executor | None,
    in_flight: int,
    ticked: Callable[[int], object],
) -> Generator[MadeShard, None, None]:
    """Yield the shards as they finish. After a failure, wait for those that are running, and raise the first shard's
    failure.
    """
    if executor is None:
        for index, known in todo:
            yield make_shard(plan, directory, owner, index, known, ticked)
        return
    pickled = pickle.dumps(plan)
    # Shards start in order, so that the first failing one does not depend on timing.
    failures: dict[int, Exception | CancelledError] = {}
    running: dict[Future[MadeShard], int] = {}
    try:
        while True:
            while not failures and len(running) < in_flight and (asked := next(todo, None)) is not None:
                future = executor.submit(make_elsewhere, generator(), pickled, str(directory), owner, *asked)
                running[future] = asked[0]
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index = running.pop(future)
                try:
                    made = future.result()
                except (Exception, CancelledError) as error:
                    failures[index] = error
                else:
                    yield made
    except BrokenExecutor as error:  # of submit
        failures[-1] = error
    except GeneratorExit:
        # Not at an interrupt: a pool with ended processes breaks on cancelled futures.
        for future in running:
            future.cancel()
        raise
    if not failures:
        return
    failure = failures[min(failures)]
    if isinstance(failure, BrokenExecutor | CancelledError):
        raise InputError(
            "a worker was ended from outside, perhaps because memory ran out",
            hint="finished shards are kept: the same command continues with the rest",
        ) from failure
    raise failure
