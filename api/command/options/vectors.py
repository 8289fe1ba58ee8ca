"""The options of ``halfulp vectors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.recipe import PACKINGS, UNMARKED, RecipeOptions, Unmarked

FORMATS = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs", "mlir")
"""`halfulp.conformance.vectors.formats.NAMES`, repeated here so that help imports nothing."""

PLACES = ("separate", "first", "last")

BLOCK = 32
"""The elements of a block, as in OCP's MX formats."""

_ABOUT = f"""\
Golden vectors: operands, and what the op or the function makes of them, bit for bit.

  halfulp vectors arith.addf --type f8E4M3FN
  halfulp vectors arith.truncf --from f32 --type f8E4M3FN --models B3,B4 --format readmemh --out vectors
  halfulp vectors kernel.mlir --function f --level random -n 1000000 --format npz,testfloat --out vectors
  halfulp vectors --changed vectors/addf_f8E4M3FN.json

Formats: {", ".join(FORMATS)}.
Without --out the file goes to stdout. Files of several formats hold the same columns, those that each of the formats
has a place for, and so have one digest: flags are left out where one has none (--flags makes that an error), and
--poison says what becomes of rows with poison or open bits where one has no columns for these.
"""


@dataclass(frozen=True, kw_only=True)
class VectorsArguments(RecipeOptions):
    """The options of ``halfulp vectors``."""

    subject: str | None = option(
        nargs="?", metavar="OP|PROGRAM", help="an op as in arith.addf, or an MLIR file, or - for stdin"
    )
    format: str | None = option(
        "--format", metavar="FORMAT[,FORMAT...]", help="how the vectors are written (default: testfloat)"
    )
    out: str | None = option(
        "--out", metavar="DIR", help="write NAME.* and the metadata, NAME.json, there; whole, or not at all"
    )
    metadata: str | None = option(
        "--metadata", metavar="FILE", help="where the metadata goes when the vectors go to stdout"
    )
    name: str | None = option(
        "--name", metavar="NAME", help="of the files, in C and in SystemVerilog (default: by op, types and properties)"
    )
    poison: Unmarked | None = option(
        "--poison", choices=UNMARKED, help="rows with poison or open bits that the format cannot tell of"
    )
    pack: str | None = option(
        "--pack", choices=PACKINGS, help="how bin has elements of other than 8, 16, 32 or 64 bits"
    )
    mx: Literal["separate", "first", "last"] | None = option(
        "--mx", choices=PLACES, help="bin has the operands of scaling ops in blocks, with their scales there"
    )
    block: int | None = option(
        "--block", type=positive, metavar="N", help=f"with --mx: elements of a block (default: {BLOCK})"
    )
    any_nan: bool = option(
        "--any-nan", action="store_true", help="the metadata asks checkers to accept any NaN for a NaN"
    )
    coverage: bool = option(
        "--coverage", action="store_true", help="show on stderr what the models hit, bucket by bucket"
    )
    changed: str | None = option(
        "--changed", metavar="FILE", help="which vectors of the set of this metadata are others in this version"
    )


COMMAND = CommandHelp(
    VectorsArguments, _ABOUT, EXIT_CODES.replace("1 values differ,", "1 with --changed: vectors change,")
)
