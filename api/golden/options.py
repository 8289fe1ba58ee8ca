"""What describes golden vectors and their check, once: the options of ``halfulp vectors``, ``check-vectors`` and
``sweep``, and the arguments of `halfulp.vectors`, `halfulp.check` and `halfulp.cocotb.Reference`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from halfulp.conformance.vectors.names import LEVELS, LevelName
from halfulp.described import Keywords, option, positive, profile_option

FIELDS: Mapping[str, str] = {
    "denormals": "flushing of subnormals: ieee, flush_operands, flush_results or flush_both",
    "nan_result": "payload, canonical (RISC-V), canonical_signed, negative (x86), canonical_bf16, all_ones (NVIDIA), "
    "signalling_first (Arm) or largest (x87)",
    "tininess": "the detection of underflow: after or before rounding",
    "float_to_int": "poison, saturate (Arm), saturate_nan_max (RISC-V), saturate_nan_top (NVIDIA), "
    "modular, indefinite (x87) or indefinite_wrapped (x86)",
}
"""Fields of the profile that have an option of their own; ``--profile`` takes all fields."""


def seed(text: str) -> int:
    """Read a seed of an option. Raise argparse.ArgumentTypeError for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 1 << 64
    if number >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: an integer from 0 to 2**64 - 1")
    return number


def about_field(field: str) -> str:
    """Return the help of the option for a field of the profile."""
    return f"this field of the profile: {FIELDS[field]}"


@dataclass(frozen=True, kw_only=True)
class ComputationOptions:
    """The computation: an op with its types and properties, or a function of a program."""

    type: Any = option(
        "--type", metavar="TYPE[,TYPE...]", help="the element type of the operands; for a cast, of its result"
    )
    source: Any = option("--from", metavar="TYPE[,TYPE...]", help="for a cast: the element types of the operands")
    attr: tuple[str, ...] = option(
        "--attr", action="append", metavar="NAME[=VALUE]", help="a property, as for eval: fastmath=nsz predicate=slt"
    )
    rounding: str | None = option(
        "--rounding", metavar="MODE", help="the rounding mode of the op; with stochastic, the random bits are a column"
    )
    random_bits: int | None = option(
        "--random-bits",
        type=positive,
        metavar="N",
        help="the random bits per row for stochastic rounding (default: 16)",
    )
    random: str | None = option(
        "--random",
        metavar="SOURCE",
        help="for a program with program_rounding=stochastic: philox:seed=1 (the number of each row's run is a column)"
        " or lfsr:width=16,taps=16+14+13+11,seed=1",
    )
    function: str | None = option(
        "--function", metavar="NAME", help="for a program: the function (default: the only public one)"
    )
    mma: Any = option(
        "--mma",
        metavar="MODEL",
        help="for tile operations: the model that adds: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,...",
    )
    profile: Any = profile_option()
    denormals: str | None = option("--denormals", metavar="VALUE", help=about_field("denormals"))
    nan_result: str | None = option("--nan-result", metavar="VALUE", help=about_field("nan_result"))
    tininess: str | None = option("--tininess", metavar="VALUE", help=about_field("tininess"))
    float_to_int: str | None = option("--float-to-int", metavar="VALUE", help=about_field("float_to_int"))
    keep_ub: bool = option(
        "--keep-ub",
        action="store_true",
        help="keep rows with undefined behaviour, as poison (default: leave them out)",
    )
    flags: bool | None = option(
        "--flags",
        action=argparse.BooleanOptionalAction,
        help="a column of exception flags (default: where the op has flags, and every format a place for them)",
    )


@dataclass(frozen=True, kw_only=True)
class RecipeOptions(ComputationOptions):
    """The computation and its operands."""

    level: LevelName | None = option(
        "--level",
        choices=LEVELS,
        help="the operands: TestFloat's corner cases 1 (default) or 2, every operand, uniform bits, a mixture, or the"
        " hardest arguments of an elementary function",
    )
    models: Any = option(
        "--models",
        metavar="B1[,B3...]",
        help="FPgen models, F1 to F6 of elementary functions, and M1 of multiply-adds: their vectors come first, or"
        " alone without --level; all: every model that applies",
    )
    operands: Any = option(
        "--operands",
        metavar="SOURCE",
        help="operands of your own, instead of --level and --models: rows of a .npy, .npz, .safetensors or .txt file, a"
        " distribution such as normal:scale=2, one source for each operand (a=SOURCE;b=SOURCE), or a mixture with"
        " shares in percent (normal@70,corners@20,B1@10)",
    )
    n: int | None = option(
        "-n", type=positive, metavar="N", help="the number of random rows; for other levels, the largest number of rows"
    )
    seed: int = option(
        "--seed", type=seed, default=0, metavar="N", help="the seed of everything random, 0 to 2**64 - 1 (default: 0)"
    )


@dataclass(frozen=True, kw_only=True)
class RecipeKeywords(Keywords, RecipeOptions):
    """The same as arguments of a function of Python, with their own types: element types, arrays, a `Profile`."""

    profile: Any = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """A file to check, and what counts as equal."""

    file: str = option(metavar="FILE", help="the file to check, or - for the standard input")
    format: str | None = option(
        "--format", metavar="NAME", help="the format of the file (default: by its name, else by its content)"
    )
    metadata: str | None = option(
        "--metadata", metavar="FILE.json", help="the metadata of the file (default: the name of the file with .json)"
    )
    op: str | None = option("--op", metavar="OP|FILE.mlir", help="the computation, if there is no metadata")
    columns: str | None = option(
        "--columns",
        metavar="NAME[,NAME...]",
        help="the columns of the file, if some are missing; with metadata, even all operands can be missing",
    )
    nan: Literal["exact", "any"] | None = option(
        "--nan",
        choices=("exact", "any"),
        help="any: accept every NaN if a NaN is expected (default: by the metadata)",
    )
    ignore_flags: bool = option("--ignore-flags", action="store_true", help="do not compare the flags in the file")
    partial: bool = option(
        "--partial", action="store_true", help="allow fewer rows than in the metadata, and other rows"
    )
    max: int = option(
        "--max", type=positive, default=1, metavar="N", help="the number of different rows to show in full (default: 1)"
    )
