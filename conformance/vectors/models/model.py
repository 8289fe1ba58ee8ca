"""A coverage model, and operands that fill its buckets.

A model names buckets, tells which of them operands fall in (by exact arithmetic), and constructs operands for each. The
buckets that it could not fill are reported. Over few operands all are tried, which proves that an empty bucket is
empty. ``p`` in the texts of models is the precision of the format that is rounded to.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    ModelCase,
)
from halfulp.conformance.vectors.philox import Dice

Bucket = tuple[str | int, ...]


Operands = tuple[int, ...]


TRIES = 400
"""Rounds of construction for the buckets that are still empty."""


ARITHMETIC = ("add", "subtract", "multiply", "divide")


SUMS = ("add", "subtract")


ROUNDED = (*ARITHMETIC, "multiply-add", "convert", "from integer")


SIGNS = "+-"


@dataclass(frozen=True)
class CoverageModel:
    """One coverage model.

    ``target``: what it covers, for people. ``kinds``: the kinds of cases it applies to. ``buckets(case)``: all buckets,
    without those that the range of the op excludes. ``fits(case, operands)``: the buckets that operands fall in.
    ``aim(case, bucket, dice)``: operands that should fall in a bucket; ``fits`` decides whether they do.
    """

    name: str
    target: str
    kinds: tuple[str, ...]
    buckets: Callable[[ModelCase], Iterable[Bucket]]
    fits: Callable[[ModelCase, Operands], Iterable[Bucket]]
    aim: Callable[[ModelCase, Bucket, Dice], Iterator[Operands]]


@dataclass(frozen=True)
class Filled:
    """Operands made for a model. ``hits``: the number of rows in each bucket, 0 where there are none. ``proven``: all
    operands were tried, so an empty bucket cannot be filled.
    """

    rows: tuple[Operands, ...]
    hits: Mapping[Bucket, int]
    proven: bool

    @property
    def empty(self) -> list[Bucket]:
        """Return the buckets without a row."""
        return [bucket for bucket, count in self.hits.items() if not count]

    @property
    def reason(self) -> str:
        """Say why some buckets are empty; the empty string where none is."""
        if not self.empty:
            return ""
        return "no combination of operands falls there" if self.proven else "no operands were found"


def coverage(model: CoverageModel, case: ModelCase, rows: Iterable[Operands]) -> dict[Bucket, int]:
    """Count the rows in each bucket of a model."""
    hits = dict.fromkeys(model.buckets(case), 0)
    for row in rows:
        for bucket in model.fits(case, row):
            if bucket in hits:
                hits[bucket] += 1
    return hits


@lru_cache(maxsize=256)
def applies(model: CoverageModel, case: ModelCase) -> bool:
    """Tell whether a model has any bucket for a case."""
    return case.kind in model.kinds and any(True for _ in model.buckets(case))


EACH = 2
"""The rows for every bucket, unless another number is asked for."""


@lru_cache(maxsize=32)
def fill(model: CoverageModel, case: ModelCase, seed: int = 0, each: int = EACH) -> Filled:
    """Make operands for a model: ``each`` rows for every bucket where that many are found. The same seed gives the same
    rows.
    """
    dice = Dice(seed, zlib.crc32(f"{model.name} {case}".encode()) | 1 << 32)
    hits: Counter[Bucket] = Counter()
    wanted = dict.fromkeys(model.buckets(case))
    rows: dict[Operands, None] = {}

    def consider(row: Operands) -> None:
        if row in rows:
            return
        fitting = [bucket for bucket in model.fits(case, row) if bucket in wanted]
        if any(hits[bucket] < each for bucket in fitting):
            rows[row] = None
            hits.update(fitting)

    open_buckets, enough = list(wanted), TRIES // 20 * -(-each // EACH)
    for tried in range(max(TRIES, enough)):
        for bucket in open_buckets:
            if hits[bucket] < each:
                for row in model.aim(case, bucket, dice):
                    consider(row)
        # A bucket with one row does not get many more rounds: a second row may not exist.
        open_buckets = [bucket for bucket in open_buckets if hits[bucket] < (each if tried < enough else 1)]
        if not open_buckets or (case.enumerable and tried >= enough):
            break
    proven = False
    if case.enumerable and open_buckets:
        for row in product(*(range(1 << width) for width in case.widths)):
            consider(row)
            if all(hits[bucket] for bucket in open_buckets):
                break
        else:
            proven = True
    return Filled(tuple(rows), {bucket: hits[bucket] for bucket in wanted}, proven)
