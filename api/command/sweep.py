"""``halfulp sweep``: a large set of vectors in shards, on all cores or many machines, gone on with after a kill."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfulp.command.common import EXIT_CODES, SUCCESS, Sources, positive, progress_bar, report, say, write
from halfulp.command.recipe import FIELDS, add_recipe_options, recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from halfulp.conformance.vectors.recipe import Recipe

FORMATS = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs")
"""All formats but those of `halfulp.conformance.vectors.shards.NO_SHARDS`, known here without importing anything."""

DASK_SECONDS = 10
"""So long a scheduler is waited for."""

UNMARKED = ("refuse", "drop", "canonical")
PACKINGS = ("containers", "dense", "dense-high")

_ABOUT = f"""\
Compute a large set of vectors in shards of 2**24 rows. Each shard is a file, named by its content:

  halfulp sweep arith.truncf --from f32 --type f8E4M3FN --level exhaustive --format runs --out sweep
  halfulp sweep arith.addf --type bf16 --level random -n 10000000000 --out sweep --shard 3/64
  halfulp sweep spec.json --out sweep --dask tcp://scheduler:8786

SPEC is an op or a program, with the options below. Or it is a JSON file: the metadata of a set, or a file written by
hand (docs/sweeps.md). You can stop a sweep at any moment; the same command then continues, and makes damaged shards
again. The digest of the sweep does not depend on the workers or on their order.

Formats: {", ".join(FORMATS)}.
"""

_OF_A_SPEC = {"source": "--from", "n": "-n", "keep_ub": "--keep-ub", "random_bits": "--random-bits"}
_RECIPE = (
    "type", "source", "attr", "rounding", "random_bits", "function", "level", "models", "n", "flags", *FIELDS,
)  # fmt: skip


def part(text: str) -> tuple[int, int]:
    """``i/N`` of an option. Raises argparse.ArgumentTypeError."""
    words = text.split("/")
    if len(words) != 2 or not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N, as in 0/8")
    place, of = map(int, words)
    if place >= of:
        raise argparse.ArgumentTypeError(f"{text!r}: parts are counted from 0, so that the last of {of} is {of - 1}")
    return place, of


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to the parser of the command line."""
    sweep = commands.add_parser(
        "sweep",
        help="compute a large set of vectors in shards, on many cores or machines",
        description=_ABOUT,
        epilog=EXIT_CODES,
        **style,
    )
    add = sweep.add_argument
    add("subject", metavar="SPEC", help="an op such as arith.addf, an MLIR file, or a JSON file")
    add_recipe_options(sweep, flags="without, because flags need the exact path, which is many times slower")
    add("--out", required=True, metavar="DIR", help="the folder of the shards; workers on all machines must see it")
    add("--format", choices=FORMATS, default="npz", metavar="FORMAT", help="the format of the files (default: npz)")
    add(
        "--poison",
        choices=UNMARKED,
        default="refuse",
        help="the treatment of rows with poison or open bits, if the format has no columns for them",
    )
    add(
        "--pack",
        choices=PACKINGS,
        default="containers",
        help="the packing in bin of elements that do not fill whole bytes",
    )
    who = sweep.add_mutually_exclusive_group()
    who.add_argument(
        "--workers", type=positive, metavar="N", help="the number of processes (default: the number of cores)"
    )
    who.add_argument("--shard", type=part, metavar="I/N", help="in one process: make every Nth shard, from shard I on")
    who.add_argument(
        "--dask", metavar="ADDRESS", help="use the cluster of this Dask scheduler, such as tcp://HOST:8786"
    )
    sweep.set_defaults(command=_sweep)


def _sweep(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        return _sweep_spec(arguments, sources)
    except HalfulpError as error:
        return report(error, sources)


def _sweep_spec(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.vectors.metadata import METADATA
    from halfulp.conformance.vectors.packing import CONTAINERS, Packing
    from halfulp.conformance.vectors.shards import Plan, sweep_shards, tidy
    from halfulp.interp.ir.errors import InputError

    if arguments.pack != "containers" and arguments.format != "bin":
        raise InputError("--pack goes with the format 'bin', which says nothing of how elements lie")
    packings = {"containers": CONTAINERS, "dense": Packing(True), "dense-high": Packing(True, "high")}
    plan = Plan(_recipe(arguments, sources), arguments.format, arguments.poison, packings[arguments.pack])
    out, place = Path(arguments.out), arguments.shard or (0, 1)
    try:
        with _executor(arguments, plan.shards) as (executor, in_flight), progress_bar("rows") as progress:
            found = sweep_shards(plan, out, place, executor, in_flight, progress, lambda text: say(f"note: {text}"))
    except KeyboardInterrupt:
        # Processes that were ended leave their temporary files; where nothing was made, the directory is gone.
        if out.exists():
            tidy(out)
        raise
    if found.kept:
        say(f"{found.kept} of {_shards(found.of)} had been made before")
    if found.digest is None:
        say(f"{found.done} of {_shards(found.of)} are there now")
        return SUCCESS
    runs = "" if found.runs is None else f", {found.runs} runs"
    write(f"{found.rows} rows in {_shards(found.of)}{runs}: {out / METADATA}\nsha256 {found.digest}\n")
    return SUCCESS


def _shards(count: int) -> str:
    return f"{count} shard{'s'[: count != 1]}"


def _recipe(arguments: argparse.Namespace, sources: Sources) -> Recipe:
    """What SPEC and the options ask for. Raises HalfulpError."""
    from halfulp.interp.ir.errors import InputError

    if not arguments.subject.endswith(".json"):
        arguments.flags = bool(arguments.flags)
        return recipe_of(arguments.subject, arguments, sources)
    given = [name for name in _RECIPE if getattr(arguments, name) is not None]
    given += [name for name, usual in (("seed", 0), ("profile", "spec"), ("keep_ub", False)) if
              getattr(arguments, name) != usual]  # fmt: skip
    if given:
        option = _OF_A_SPEC.get(given[0], "--" + given[0].replace("_", "-"))
        raise InputError(f"{option} goes with an op or a program; '{arguments.subject}' says itself what is wanted")
    from halfulp.conformance.vectors.spec import recipe_of_spec

    path = Path(arguments.subject)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    return recipe_of_spec(text, str(path))


# --- who computes -----------------------------------------------------------------------------------------------------


@contextmanager
def _executor(arguments: argparse.Namespace, shards: int) -> Iterator[tuple[Executor | None, int]]:
    """Who computes, and how many shards are asked of it at once. Raises InputError."""
    from halfulp.conformance.ops.workers import default_workers, process_pool

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
    """The executor of a cluster, and the number of its threads. Raises InputError."""
    from halfulp.interp.ir.errors import InputError

    try:
        distributed: Any = import_module("distributed")
        addressing: Any = import_module("distributed.comm.addressing")
        scheduler: Any = import_module("distributed.scheduler")
    except ImportError:
        raise InputError("--dask needs dask and distributed", hint="pip install 'halfulp[scale]'") from None
    try:
        # What is no address at all, a client would try to close for long.
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
                hint="what was finished is kept: the same command goes on with the rest",
            ) from None
