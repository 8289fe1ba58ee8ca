"""The plan of a sweep: its vectors, and how they are cut into shards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import format_named
from halfulp.conformance.vectors.formats.format import Carried
from halfulp.conformance.vectors.formats.runs import check_unary
from halfulp.conformance.vectors.metadata import (
    Document,
)
from halfulp.conformance.vectors.names import NO_SHARDS, Unmarked
from halfulp.conformance.vectors.packing import CONTAINERS, Packing
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.interp.ir.errors import InputError
from halfulp.semantics.profile import PROFILE_FIELDS, SEMANTICS_VERSION

MOST_ROWS = 1 << 24
"""Most rows of a shard whose size nobody chose: its file stays small enough to be copied and checked."""


LAYOUT_VERSION = 2
"""Version of the layout of a directory; a sweep cannot continue in a directory of another version."""


@dataclass(frozen=True)
class SweepPlan:
    """The vectors of a sweep, their format, and how they are cut into shards.

    ``unmarked``, ``packing``: as in `formats.write_vectors`. ``shard_rows``: the least number of rows in a shard, which
    has 1, 2, 4, 8 ... whole leaves of the hash tree over the set; None until it is decided (`sized`). ``leaf_rows``:
    the rows of a leaf, those of the recipe unless given; another number gives another digest. A plan can be pickled.
    Raises InputError for a format without shards, and what the recipe's rows raise.
    """

    recipe: Recipe
    format: str = "npz"
    unmarked: Unmarked = "refuse"
    packing: Packing = CONTAINERS
    shard_rows: int | None = None
    leaf_rows: int | None = None

    def __post_init__(self) -> None:
        if self.format in NO_SHARDS:
            raise InputError(f"a sweep cannot be written in the format '{self.format}'")
        # Refuse columns that the format has no place for before computing anything.
        if self.format == "runs":
            check_unary(self.columns)
        _ = self.columns, self.recipe.rows

    def __reduce__(self) -> tuple[Any, ...]:
        return SweepPlan, (
            self.recipe, self.format, self.unmarked, self.packing, self.shard_rows, self.leaf_rows,
        )  # fmt: skip

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns that the files hold."""
        return self.carried(VectorSet(self.recipe.columns, ())).written.columns

    def carried(self, vectors: VectorSet) -> Carried:
        """Return the vectors as the format of the plan carries them."""
        return Carried(vectors, format_named(self.format), self.unmarked)

    @property
    def leaf(self) -> int:
        """Return the number of rows of a leaf of the hash tree, in whole periods."""
        step = self.recipe.step
        return self.recipe.leaf_rows if self.leaf_rows is None else max(self.leaf_rows // step, 1) * step

    @property
    def size(self) -> int:
        """Return the number of rows of a shard; the last one may have fewer. Raises ValueError if it is not decided."""
        if self.shard_rows is None:
            raise ValueError("it is not decided how many rows a shard of this plan has")
        size, most = self.leaf, max(self.recipe.rows.count, 1)
        while size < min(self.shard_rows, most):
            size *= 2
        return size

    def sized(self, shard_rows: int) -> SweepPlan:
        """Return the plan with shards of at least this many rows."""
        return replace(self, shard_rows=shard_rows)

    @cached_property
    def shards(self) -> int:
        """Return the number of shards."""
        return -(-self.recipe.rows.count // self.size)

    def rows(self, index: int) -> tuple[int, int]:
        """Return the rows of a shard: the first, and the one after the last."""
        return index * self.size, min((index + 1) * self.size, self.recipe.rows.count)

    def rows_of_part(self, place: int, of: int) -> int:
        """Return the number of rows in all shards of a part: shard ``place`` of every ``of``."""
        indices = range(place, self.shards, of)
        missing = self.shards * self.size - self.recipe.rows.count
        return len(indices) * self.size - (missing if self.shards - 1 in indices else 0)

    def file_name(self, index: int, sha256: str) -> str:
        """Return the name of the file of a shard whose bytes have this digest."""
        return f"{index:0{len(str(self.shards - 1))}d}-{sha256[:32]}{format_named(self.format).suffix}"

    def to_json(self) -> Document:
        """Return everything that must be the same for a sweep to continue in a directory."""
        profile = self.recipe.computation.profile
        return {
            "layout_version": LAYOUT_VERSION,
            "generator": dict(zip(("version", "semantics_version"), generator(), strict=True)),
            "source": self.recipe.computation.source(),
            "profile": {"name": profile.name, "fields": {name: getattr(profile, name) for name in PROFILE_FIELDS}},
            "inputs": self.recipe.inputs(),
            "format": self.format,
            "poison": self.unmarked,
            "packing": self.packing.to_json(),
            "rows": self.recipe.rows.count,
            "leaf_rows": self.leaf,
            "shard_rows": self.size,
            "shards": self.shards,
        }


def generator() -> tuple[str, int]:
    """Return the version of halfulp and that of its semantics."""
    return version("halfulp"), SEMANTICS_VERSION
