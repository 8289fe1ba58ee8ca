"""The options of ``halfulp vectors``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.conformance.vectors.packing import FORMAT_NAMES, PACKINGS, SCALE_PLACES, UNMARKED, ScalePlace, Unmarked
from halfulp.described import option, positive
from halfulp.golden.recipes import RecipeOptions

BLOCK = 32
"""The elements of a block, as in OCP's MX formats."""

_ABOUT = f"""\
Write golden vectors: operands, and the exact bits of the results of an op or a function.

  halfulp vectors arith.addf --type f8E4M3FN
  halfulp vectors arith.truncf --from f32 --type f8E4M3FN --models B3,B4 --format readmemh --out vectors
  halfulp vectors kernel.mlir --function f --level random -n 1000000 --format npz,testfloat --out vectors
  halfulp vectors --changed vectors/addf_f8E4M3FN.json

Formats: {", ".join(FORMAT_NAMES)}.
--format dpi writes no vectors, but a model of the op in plain C99, NAME.c, which has some of them as its self-test,
and NAME_dpi.sv, which imports it into SystemVerilog. It goes alone.
Without --out, the vectors go to stdout. With several formats, all files have the same columns, and so the same digest.
These are the columns that every format can hold. If a format cannot hold flags, no file has them (with --flags this is
an error). If a format has no columns for poison and open (unspecified) bits, --poison chooses the treatment of rows
with such bits.
"""


@dataclass(frozen=True, kw_only=True)
class VectorsArguments(RecipeOptions):
    """The options of ``halfulp vectors``."""

    subject: str | None = option(
        nargs="?", metavar="OP|PROGRAM", help="an op such as arith.addf, or an MLIR file, or - for stdin"
    )
    format: str | None = option(
        "--format", metavar="FORMAT[,FORMAT...]", help="the formats of the files (default: testfloat)"
    )
    out: str | None = option(
        "--out",
        metavar="DIR",
        help="write NAME.* and the metadata NAME.json to this folder; after an error, nothing is written",
    )
    metadata: str | None = option(
        "--metadata", metavar="FILE", help="the file for the metadata, if the vectors go to stdout"
    )
    name: str | None = option(
        "--name",
        metavar="NAME",
        help="the name of the files, and in C and SystemVerilog (default: by op, types and properties)",
    )
    poison: Unmarked | None = option(
        "--poison",
        choices=UNMARKED,
        help="the treatment of rows with poison or open bits, if a format has no columns for them",
    )
    pack: str | None = option(
        "--pack", choices=PACKINGS, help="the packing in bin of elements of other than 8, 16, 32 or 64 bits"
    )
    mx: ScalePlace | None = option(
        "--mx",
        choices=SCALE_PLACES,
        help="write the operands of scaling ops in blocks, in bin; the place of the scales",
    )
    block: int | None = option(
        "--block", type=positive, metavar="N", help=f"with --mx: the number of elements in a block (default: {BLOCK})"
    )
    any_nan: bool = option(
        "--any-nan", action="store_true", help="ask checkers, in the metadata, to accept any NaN if the result is a NaN"
    )
    coverage: bool = option("--coverage", action="store_true", help="show the cases that the models cover, on stderr")
    changed: str | None = option(
        "--changed", metavar="FILE", help="show the vectors of the set with this metadata that change in this version"
    )


COMMAND = CommandHelp(
    VectorsArguments, _ABOUT, EXIT_CODES.replace("1 values differ,", "1 with --changed: vectors change,")
)
