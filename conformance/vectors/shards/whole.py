"""Complete a sweep: its metadata, and for tables of runs the merged table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Chunk, root_of
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats.format import Options, Written
from halfulp.conformance.vectors.formats.runs import RunTable, merge
from halfulp.conformance.vectors.metadata import (
    LOOKED_AT,
    MERGED,
    METADATA,
    Anchors,
    Document,
    VectorFile,
    divergences_of_case,
    document,
    to_text,
)
from halfulp.conformance.vectors.shards.directory import ShardEntry, recorded
from halfulp.conformance.vectors.shards.files import put_file
from halfulp.conformance.vectors.shards.plan import SweepPlan
from halfulp.conformance.vectors.shards.shard import require_visible


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
    """Write the metadata once all shards exist. Every process writes the same."""
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
            with path.open("rb") as part:
                yield RunTable(part, plan.columns, Options(file=str(path)))

    return merge(tables(), plan.columns, file)


def _document(plan: SweepPlan, ordered: list[ShardEntry], found: Swept) -> Document:
    """Return the metadata of the sweep, with its shards."""
    assert found.digest is not None
    computation = plan.recipe.computation
    dropped = sum(entry.dropped for entry in ordered)
    names = [MERGED] if plan.format == "runs" else [entry.file for entry in ordered]
    return document(
        Written(plan.columns, found.rows, dropped, found.digest),
        [VectorFile(plan.format, name, plan.packing) for name in names],
        computation.source(),
        computation.profile,
        plan.recipe.inputs(),
        unmarked=plan.unmarked,
        anchors=_anchors(plan, ordered),
        diverging=divergences_of_case(computation.case) if isinstance(computation, OpComputation) else (),
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
