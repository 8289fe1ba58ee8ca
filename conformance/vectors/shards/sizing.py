"""The size of shards by the time that they take, so that all workers have work, and a killed one loses little.

The files of a sweep depend on the size, its digest does not.
"""

from __future__ import annotations

from io import BytesIO
from time import process_time

from halfulp.conformance.vectors.columns import VectorSet
from halfulp.conformance.vectors.formats import write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.shards.plan import MOST_ROWS, SweepPlan
from halfulp.interp.ir.errors import HalfulpError

MOST_SECONDS, LEAST_SECONDS = 10.0, 1.0
"""A shard takes at most, and a smaller one is not worth its file."""

SHARDS_PER_PROCESS = 4
"""The least number of shards for each process, if they take long enough: processes end at about the same time."""

_SAMPLE, _GROWTH, _MEASURED = 1 << 10, 8, 0.1
"""The rows that are computed first; how many times as many come next; the seconds that are enough to tell."""


def rows_by_time(plan: SweepPlan, processes: int) -> int:
    """Return the rows of a shard of a plan for so many processes, by the time that some rows take here."""
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
    """Return the time that one row takes, of some in the middle; None where they fail."""
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
