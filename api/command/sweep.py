"""``halfulp vectors sweep``: compute a large set of vectors in shards, on many cores or machines."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from halfulp.command.console import SUCCESS, progress_bar, put, say, write
from halfulp.command.execution import Sources
from halfulp.command.option import Command
from halfulp.command.recipe import recipe_of
from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.vectors.coverage import coverage_of
from halfulp.conformance.vectors.metadata import METADATA
from halfulp.conformance.vectors.packing import (
    FORMAT_NAMES,
    NO_SHARDS,
    ONLY_DIGESTS,
    PACKINGS,
    UNMARKED,
    Unmarked,
    packing_named,
)
from halfulp.conformance.vectors.recipe import Recipe, recipe_of_spec
from halfulp.conformance.vectors.shards.directory import SweepPlan, sized_as_in, tidy
from halfulp.conformance.vectors.shards.shard import rows_by_time, sweep_shards
from halfulp.described import amount, argument, choice, first_given, flag, option
from halfulp.fp_formats.aliases import how_to_install
from halfulp.fp_formats.paths.llvm import cores
from halfulp.golden.recipes import RecipeOptions
from halfulp.inputs import read_file, write_file
from halfulp.interp.ir.errors import InputError

SHARD_FORMATS = (*(name for name in FORMAT_NAMES if name not in NO_SHARDS), ONLY_DIGESTS)

_ABOUT = f"""\
Compute a large set of vectors in shards that take a few seconds. Each shard is a file, named by its content:

  halfulp vectors sweep arith.truncf --from f32 --type f8E4M3FN --level exhaustive --format runs --out sweep
  halfulp vectors sweep spec.json --out sweep --shard array    # a task of a job array: Slurm, LSF, Grid Engine
  halfulp vectors sweep spec.json --out sweep --join           # after the last task
  halfulp vectors sweep spec.json --out sweep --dask tcp://scheduler:8786

SPEC is an op or a program, with the options below. Or it is a JSON file: the metadata of a set, or a file written by
hand (docs/sweeps.md). You can stop a sweep at any moment; the same command then continues, and makes damaged shards
again. The digest of the sweep does not depend on the shards, on the workers or on their order.

Formats: {", ".join(SHARD_FORMATS)}. With {ONLY_DIGESTS}, no rows are kept.
"""


ARRAY = "array"
"""The value of ``--shard`` for a task of a job array: the number of the task comes from the environment."""


def _read_part(text: str) -> tuple[int, int] | str:
    """Read ``i/N`` or ``array``. Raise argparse.ArgumentTypeError for anything else."""
    if text == ARRAY:
        return text
    words = text.split("/")
    if len(words) != 2 or not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N, as in 0/8, or '{ARRAY}'")
    place, of = map(int, words)
    if place >= of:
        raise argparse.ArgumentTypeError(f"{text!r}: parts are counted from 0, so that the last of {of} is {of - 1}")
    return place, of


@dataclass(frozen=True, kw_only=True)
class SweepArguments(RecipeOptions):
    """The options of ``halfulp vectors sweep``."""

    flags: bool | None = option(
        None,
        "a column of exception flags (default: none)",
        action=argparse.BooleanOptionalAction,
    )
    subject: str = argument("SPEC", "an op such as arith.addf, an MLIR file, or a JSON file")
    json: bool = flag("print one JSON object: the rows, the shards and the digest")
    out: str = option("DIR", "the folder of the shards; workers on all machines must see it", required=True)
    format: str = option("FORMAT", "the format of the files (default: npz)", "npz", choices=SHARD_FORMATS)
    poison: Unmarked = choice(
        UNMARKED, "the treatment of rows with poison or open bits, if the format has no columns for them", "refuse"
    )
    pack: str = choice(PACKINGS, "the packing in bin of elements that do not fill whole bytes", "containers")
    workers: int | None = amount("the number of processes (default: the number of cores)", exclusive=True)
    shard: tuple[int, int] | str | None = option(
        "I/N",
        "in one process: make every Nth shard, from shard I on; 'array': I and N are those of this task of a job "
        "array of Slurm, LSF or Grid Engine",
        exclusive=True,
        type=_read_part,
    )
    join: bool = flag("make no shards: check that all of them exist, and write metadata.json", exclusive=True)
    dask: str | None = option(
        "ADDRESS", "use the cluster of this Dask scheduler, such as tcp://HOST:8786", exclusive=True
    )
    shard_rows: int | None = amount(
        "the least number of rows in a shard (default: as many as take 1 to 10 seconds)", metavar="ROWS"
    )
    coverage_file: str | None = option(
        "FILE",
        "also write the cases that the rows of these shards cover, as JSON, which 'vectors coverage report' merges",
    )


DASK_SECONDS = 10
"""The longest wait for a Dask scheduler, in seconds."""

LISTED = 8
"""The most missing shards that are named."""
_RECIPE_OPTIONS = [each.name for each in fields(RecipeOptions)]


def sweep_vectors(arguments: SweepArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.pack != "containers" and arguments.format != "bin":
        raise InputError(
            "--pack can be used only with the format 'bin', whose files do not describe the layout of elements"
        )
    plan = SweepPlan(
        _sweep_recipe(arguments, sources),
        arguments.format,
        arguments.poison,
        packing_named(arguments.pack),
        arguments.shard_rows,
    )
    out, part = Path(arguments.out), _asked_part(arguments)
    if arguments.coverage_file is not None and part is None:
        raise InputError("--coverage-file cannot be used with --join, which makes no shards")
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
    if arguments.coverage_file is not None and part is not None:
        write_file(arguments.coverage_file, _coverage(plan, out, part).encode())
    if found.kept:
        say(f"{found.kept} of {_shards(found.of)} existed already")
    if found.digest is None:
        say(f"{found.done} of {_shards(found.of)} exist now")
        if arguments.json:
            put({"done": found.done, "shards": found.of})
        return SUCCESS
    runs = "" if found.runs is None else f", {found.runs} runs"
    if arguments.json:
        put(
            {
                "rows": found.rows,
                "shards": found.of,
                "runs": found.runs,
                "metadata": str(out / METADATA),
                "sha256": found.digest,
            }
        )
        return SUCCESS
    write(f"{found.rows} rows in {_shards(found.of)}{runs}: {out / METADATA}\nsha256 {found.digest}\n")
    return SUCCESS


SWEEP = Command(SweepArguments, sweep_vectors, _ABOUT)


def _coverage(plan: SweepPlan, out: Path, part: tuple[int, int]) -> str:
    """Return the text of the coverage file for the shards of a part, including shards of earlier runs."""
    sized = sized_as_in(out, plan)
    assert sized is not None
    place, of = part
    return coverage_of(plan.recipe, [sized.rows(index) for index in range(place, sized.shards, of)]).report.to_text()


def _shards(count: int) -> str:
    return f"{count} shard{'s'[: count != 1]}"


def _listed(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices[:LISTED])) + (" ..." if len(indices) > LISTED else "")


def _asked_part(arguments: SweepArguments) -> tuple[int, int] | None:
    """Return the part of this process; None if it makes no shard. Raise InputError."""
    if arguments.join:
        return None
    if isinstance(arguments.shard, str):
        return part_of_array(os.environ)
    return arguments.shard or (0, 1)


def _sweep_recipe(arguments: SweepArguments, sources: Sources) -> Recipe:
    """Return the recipe of SPEC and the options. Raise HalfulpError."""
    if not arguments.subject.endswith(".json"):
        return recipe_of(arguments.subject, replace(arguments, flags=bool(arguments.flags)), sources)
    option = first_given(arguments, _RECIPE_OPTIONS)
    if option is not None:
        raise InputError(
            f"{option} can be used only with an op or a program; '{arguments.subject}' describes the vectors itself"
        )

    return recipe_of_spec(read_file(arguments.subject), arguments.subject)


class _Workers(NamedTuple):
    """The executor that computes (None: this process), the number of shards that it gets at once, and the rows of a
    shard if they are already known.
    """

    executor: Executor | None = None
    in_flight: int = 1
    shard_rows: int | None = None


@contextmanager
def _workers(arguments: SweepArguments, plan: SweepPlan, out: Path) -> Iterator[_Workers]:
    """Yield the executor that computes, as `_Workers`. Raise InputError."""
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


# --- job array --------------------------------------------------------------------------------------------------------
#
# The task of a job array: its number and the number of tasks, from the environment variables of batch systems.


@dataclass(frozen=True)
class _System:
    """The variables of a batch system: the index of the task, the first and the last index of the array, the step
    between two indices, and the number of tasks. "" for one that the system lacks.
    """

    name: str
    index: str
    first: str
    last: str
    step: str
    count: str = ""


SYSTEMS = (
    _System(
        "Slurm",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_STEP",
        "SLURM_ARRAY_TASK_COUNT",
    ),
    _System("LSF", "LSB_JOBINDEX", "", "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP"),
    _System("Grid Engine", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
)
"""The batch systems. LSF does not give the first index: it is 1."""

_HINT = "give --shard I/N, where I counts from 0"


def part_of_array(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the part of a task of a job array: its position, from 0, and the number of tasks.

    Raises InputError outside of a job array, and for an array with gaps, whose tasks cannot know their positions.
    """
    for system in SYSTEMS:
        index = _number(environment, system.index)
        # LSF sets 0, and Grid Engine a word, where the job is not an array.
        if index is not None and (index or system.name == "Slurm"):
            return _part_of(environment, system, index)
    names = ", ".join(f"{system.index} ({system.name})" for system in SYSTEMS)
    raise InputError(f"--shard array: this is not a task of a job array: none of {names} is set", hint=_HINT)


def _part_of(environment: Mapping[str, str], system: _System, index: int) -> tuple[int, int]:
    last = _number(environment, system.last)
    if last is None:
        raise InputError(f"--shard array: {system.name} sets {system.index}, but not {system.last}", hint=_HINT)
    first = _number(environment, system.first)
    first, step = 1 if first is None else first, _number(environment, system.step) or 1
    of, told = (last - first) // step + 1, _number(environment, system.count)
    place, rest = divmod(index - first, step)
    if rest or not 0 <= place < of or (told is not None and told != of):
        raise InputError(
            f"--shard array: task {index} is not one of {told or of} tasks from {first} to {last} in steps of {step}: "
            "the array has gaps",
            hint=_HINT,
        )
    return place, of


def _number(environment: Mapping[str, str], name: str) -> int | None:
    """Return the number in a variable; None if there is none."""
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
