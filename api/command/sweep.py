"""``halfulp sweep``: compute a large set of vectors in shards, on many cores or machines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from halfulp.command.console import SUCCESS, say, write
from halfulp.command.job_array import part_of_array
from halfulp.command.options.sweep import SweepArguments
from halfulp.command.progress import progress_bar
from halfulp.command.recipe import recipe_of
from halfulp.command.sources import Sources
from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.vectors.metadata import METADATA
from halfulp.conformance.vectors.packing import packing_named
from halfulp.conformance.vectors.recipe import Recipe, recipe_of_spec
from halfulp.conformance.vectors.shards.directory import SweepPlan, sized_as_in, tidy
from halfulp.conformance.vectors.shards.shard import rows_by_time, sweep_shards
from halfulp.described import first_given
from halfulp.fp_formats.aliases import how_to_install
from halfulp.fp_formats.paths.llvm import cores
from halfulp.golden.recipes import RecipeOptions
from halfulp.inputs import read_file
from halfulp.interp.ir.errors import InputError

DASK_SECONDS = 10
"""The longest wait for a scheduler."""

LISTED = 8
"""The most missing shards that are named."""
_RECIPE = [each.name for each in fields(RecipeOptions)]


def execute(arguments: SweepArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.pack != "containers" and arguments.format != "bin":
        raise InputError("--pack goes with the format 'bin', whose files do not describe the layout of elements")
    plan = SweepPlan(
        _recipe(arguments, sources),
        arguments.format,
        arguments.poison,
        packing_named(arguments.pack),
        arguments.shard_rows,
    )
    out, part = Path(arguments.out), _part(arguments)
    try:
        with _workers(arguments, plan, out) as workers, progress_bar("rows") as progress:
            found = sweep_shards(
                plan,
                out,
                part,
                workers.executor,
                workers.in_flight,
                progress,
                lambda text: say(f"note: {text}"),
                workers.shard_rows,
            )
    except BaseException:
        # Processes that were stopped leave their temporary files; where nothing was made, the directory does not exist.
        if out.exists():
            with suppress(InputError):
                tidy(out)
        raise
    if part is None and found.missing:
        raise InputError(
            f"{len(found.missing)} of {_shards(found.of)} are missing in '{out}': {_listed(found.missing)}",
            hint="run the tasks that failed again, or the same command without --join",
        )
    if found.kept:
        say(f"{found.kept} of {_shards(found.of)} existed already")
    if found.digest is None:
        say(f"{found.done} of {_shards(found.of)} exist now")
        return SUCCESS
    runs = "" if found.runs is None else f", {found.runs} runs"
    write(f"{found.rows} rows in {_shards(found.of)}{runs}: {out / METADATA}\nsha256 {found.digest}\n")
    return SUCCESS


def _shards(count: int) -> str:
    return f"{count} shard{'s'[: count != 1]}"


def _listed(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices[:LISTED])) + (" ..." if len(indices) > LISTED else "")


def _part(arguments: SweepArguments) -> tuple[int, int] | None:
    """Return the part of this process; None if it makes no shard. Raise InputError."""
    if arguments.join:
        return None
    if isinstance(arguments.shard, str):
        return part_of_array(os.environ)
    return arguments.shard or (0, 1)


def _recipe(arguments: SweepArguments, sources: Sources) -> Recipe:
    """Return the recipe of SPEC and the options. Raise HalfulpError."""
    if not arguments.subject.endswith(".json"):
        return recipe_of(arguments.subject, replace(arguments, flags=bool(arguments.flags)), sources)
    option = first_given(arguments, _RECIPE)
    if option is not None:
        raise InputError(f"{option} goes with an op or a program; '{arguments.subject}' describes the vectors itself")

    return recipe_of_spec(read_file(arguments.subject), arguments.subject)


class _Workers(NamedTuple):
    """What computes (None: this process), the number of shards it gets at once, and the rows of a shard if they are
    known already.
    """

    executor: Executor | None = None
    in_flight: int = 1
    shard_rows: int | None = None


@contextmanager
def _workers(arguments: SweepArguments, plan: SweepPlan, out: Path) -> Iterator[_Workers]:
    """Yield what computes. Raise InputError."""
    if arguments.dask is not None:
        with _dask(arguments.dask) as (executor, threads):
            yield _Workers(executor, 2 * threads)
        return
    wanted = 1 if arguments.shard or arguments.join else arguments.workers or cores()
    if wanted == 1:
        yield _Workers()
        return
    sized = sized_as_in(out, plan) or (plan if plan.shard_rows else plan.sized(rows_by_time(plan, wanted)))
    workers = min(wanted, sized.shards)
    if workers <= 1:
        yield _Workers(shard_rows=sized.size)
        return
    with process_pool(workers) as pool:
        yield _Workers(pool, workers + 2, sized.size)


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield the executor of a cluster, and the number of its threads. Raise InputError."""
    try:
        distributed: Any = import_module("distributed")
        addressing: Any = import_module("distributed.comm.addressing")
        scheduler: Any = import_module("distributed.scheduler")
    except ImportError:
        raise InputError("--dask needs dask and distributed", hint=how_to_install("scale")) from None
    try:
        # With an invalid address, a client would take long to close.
        addressing.parse_host_port(addressing.parse_address(address)[1])
        client = distributed.Client(address, timeout=DASK_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"--dask={address}: {' '.join(str(error).split()) or type(error).__name__}") from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"--dask={address}: the cluster has no workers")
        try:
            yield client.get_executor(pure=False), threads
        except scheduler.KilledWorker as error:
            raise InputError(
                f"--dask={address}: {' '.join(str(error).split())}",
                hint="finished shards are kept: the same command continues with the rest",
            ) from None
