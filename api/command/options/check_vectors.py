"""The options of ``halfulp check-vectors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.recipe import ComputationOptions

_ABOUT = """\
Read a file of vectors in any of the formats, compute every row again, and show the first row that differs:

  halfulp check-vectors addf.tv                                    with addf.json beside it
  ./testbench | halfulp check-vectors - --metadata addf.json --format testfloat
  testfloat_gen f16_add | halfulp check-vectors - --format testfloat --op arith.addf --type f16
  halfulp check-vectors out.hex --op program.mlir --function f --columns arg0,arg1,result

The metadata names the computation, or --op with the options below. The columns are those that the file describes, else
those of the metadata, else the operands, results and flags of the op (--no-flags: without flags).
"""


@dataclass(frozen=True, kw_only=True)
class CheckVectorsArguments(ComputationOptions):
    """The options of ``halfulp check-vectors``."""

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
    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(CheckVectorsArguments, _ABOUT, titles={ComputationOptions: "the computation"})
