"""Make all shards of a sweep, in one process or several, and complete the sweep when all of them exist."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing, suppress
from pathlib import Path

from halfulp.conformance.vectors.shards.directory import (
    Manifest,
    ShardEntry,
    begin_layout,
    free_directory,
    recorded,
    sized_as_in,
    tidy,
)
from halfulp.conformance.vectors.shards.files import writing
from halfulp.conformance.vectors.shards.plan import SweepPlan, generator
from halfulp.conformance.vectors.shards.shard import MadeShard, make_elsewhere, make_shard, require_visible
from halfulp.conformance.vectors.shards.sizing import rows_by_time
from halfulp.conformance.vectors.shards.whole import Swept, finish
from halfulp.interp.ir.errors import InputError

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
            hint="what was finished is kept: the same command goes on with the rest",
        ) from failure
    raise failure
