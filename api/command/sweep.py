"""``halfulp sweep``: compute a large set of vectors in shards, on many cores or machines."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from halfulp.command.console import SUCCESS, say, write
from halfulp.command.option import first_given
from halfulp.command.options.recipe import FIELDS
from halfulp.command.options.sweep import SweepArguments
from halfulp.command.progress import progress_bar
from halfulp.command.recipe import recipe_of
from halfulp.command.sources import Sources, read_bytes
from halfulp.conformance.ops.workers import default_workers, process_pool
from halfulp.conformance.vectors.metadata import METADATA
from halfulp.conformance.vectors.packing import CONTAINERS, Packing
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import tidy
from halfulp.conformance.vectors.shards.plan import SweepPlan
from halfulp.conformance.vectors.shards.sweep import sweep_shards
from halfulp.conformance.vectors.spec import recipe_of_spec
from halfulp.fp_formats.suggestions import how_to_install
from halfulp.interp.ir.errors import InputError

DASK_SECONDS = 10
"""The longest wait for a scheduler."""
_RECIPE = (
    "type", "source", "attr", "rounding", "random_bits", "function", "mma", "level", "models", "n", "flags", *FIELDS,
    "seed", "profile", "keep_ub",
)  # fmt: skip


def execute(arguments: SweepArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.pack != "containers" and arguments.format != "bin":
        raise InputError("--pack goes with the format 'bin', whose files do not describe the layout of elements")
    packings = {"containers": CONTAINERS, "dense": Packing(True), "dense-high": Packing(True, "high")}
    plan = SweepPlan(_recipe(arguments, sources), arguments.format, arguments.poison, packings[arguments.pack])
    out, place = Path(arguments.out), arguments.shard or (0, 1)
    try:
        with _executor(arguments, plan.shards) as (executor, in_flight), progress_bar("rows") as progress:
            found = sweep_shards(plan, out, place, executor, in_flight, progress, lambda text: say(f"note: {text}"))
    except KeyboardInterrupt:
        # Processes that were stopped leave their temporary files; where nothing was made, the directory does not exist.
        if out.exists():
            tidy(out)
        raise
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


def _recipe(arguments: SweepArguments, sources: Sources) -> Recipe:
    """Return the recipe of SPEC and the options. Raise HalfulpError."""
    if not arguments.subject.endswith(".json"):
        return recipe_of(arguments.subject, replace(arguments, flags=bool(arguments.flags)), sources)
    option = first_given(arguments, _RECIPE)
    if option is not None:
        raise InputError(f"{option} goes with an op or a program; '{arguments.subject}' describes the vectors itself")

    return recipe_of_spec(read_bytes(arguments.subject), arguments.subject)


@contextmanager
def _executor(arguments: SweepArguments, shards: int) -> Iterator[tuple[Executor | None, int]]:
    """Yield what computes, and the number of shards it gets at once. Raise InputError."""
    if arguments.dask is not None:
        with _dask(arguments.dask) as (executor, threads):
            yield executor, 2 * threads
        return
    workers = min(1 if arguments.shard else arguments.workers or default_workers(), shards)
    if workers <= 1:
        yield None, 1
        return
    with process_pool(workers) as pool:
        yield pool, workers + 2


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
