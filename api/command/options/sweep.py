"""The options of ``halfulp sweep``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.conformance.vectors.packing import FORMAT_NAMES, NO_SHARDS, PACKINGS, UNMARKED, Unmarked
from halfulp.described import option, positive
from halfulp.golden.recipes import RecipeOptions

FORMATS = tuple(name for name in FORMAT_NAMES if name not in NO_SHARDS)

_ABOUT = f"""\
Compute a large set of vectors in shards that take some seconds. Each shard is a file, named by its content:

  halfulp sweep arith.truncf --from f32 --type f8E4M3FN --level exhaustive --format runs --out sweep
  halfulp sweep spec.json --out sweep --shard array    # a task of a job array: Slurm, LSF, Grid Engine
  halfulp sweep spec.json --out sweep --join           # after the last task
  halfulp sweep spec.json --out sweep --dask tcp://scheduler:8786

SPEC is an op or a program, with the options below. Or it is a JSON file: the metadata of a set, or a file written by
hand (docs/sweeps.md). You can stop a sweep at any moment; the same command then continues, and makes damaged shards
again. The digest of the sweep does not depend on the shards, on the workers or on their order.

Formats: {", ".join(FORMATS)}.
"""


ARRAY = "array"
"""The part of a task of a job array, which the environment tells."""


def _part(text: str) -> tuple[int, int] | str:
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
    """The options of ``halfulp sweep``."""

    flags: bool | None = option(
        "--flags",
        action=argparse.BooleanOptionalAction,
        help="a column of exception flags (default: none, since flags take the exact path, many times as long)",
    )
    subject: str = option(metavar="SPEC", help="an op such as arith.addf, an MLIR file, or a JSON file")
    out: str = option(
        "--out", required=True, metavar="DIR", help="the folder of the shards; workers on all machines must see it"
    )
    format: str = option(
        "--format", choices=FORMATS, default="npz", metavar="FORMAT", help="the format of the files (default: npz)"
    )
    poison: Unmarked = option(
        "--poison",
        choices=UNMARKED,
        default="refuse",
        help="the treatment of rows with poison or open bits, if the format has no columns for them",
    )
    pack: str = option(
        "--pack",
        choices=PACKINGS,
        default="containers",
        help="the packing in bin of elements that do not fill whole bytes",
    )
    workers: int | None = option(
        "--workers",
        exclusive=True,
        type=positive,
        metavar="N",
        help="the number of processes (default: the number of cores)",
    )
    shard: tuple[int, int] | str | None = option(
        "--shard",
        exclusive=True,
        type=_part,
        metavar="I/N",
        help="in one process: make every Nth shard, from shard I on; 'array': I and N are those of this task of a job "
        "array of Slurm, LSF or Grid Engine",
    )
    join: bool = option(
        "--join",
        exclusive=True,
        action="store_true",
        help="make no shards: check that all of them exist, and write metadata.json",
    )
    dask: str | None = option(
        "--dask",
        exclusive=True,
        metavar="ADDRESS",
        help="use the cluster of this Dask scheduler, such as tcp://HOST:8786",
    )
    shard_rows: int | None = option(
        "--shard-rows",
        type=positive,
        metavar="ROWS",
        help="the least number of rows in a shard (default: as many as take 1 to 10 seconds)",
    )


COMMAND = CommandHelp(SweepArguments, _ABOUT)
