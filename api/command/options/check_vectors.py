"""The options of ``halfulp check-vectors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.recipe import ComputationOptions

_ABOUT = """\
Read a file of vectors in any of the formats, compute every row again, and tell the first that differs:

  halfulp check-vectors addf.tv                                    with addf.json beside it
  ./testbench | halfulp check-vectors - --metadata addf.json --format testfloat
  testfloat_gen f16_add | halfulp check-vectors - --format testfloat --op arith.addf --type f16
  halfulp check-vectors out.hex --op program.mlir --function f --columns arg0,arg1,result

What is computed is what the metadata says, or --op with the options below. The columns are those that the file
describes, else those of the metadata, else the operands and results of the op, with flags unless --no-flags.
"""


@dataclass(frozen=True, kw_only=True)
class CheckVectorsArguments(ComputationOptions):
    """The options of ``halfulp check-vectors``."""

    file: str = option(metavar="FILE", help="the file to check, or - for the standard input")
    format: str | None = option(
        "--format", metavar="NAME", help="of the file (default: by its name, else by its content)"
    )
    metadata: str | None = option(
        "--metadata", metavar="FILE.json", help="what the file holds (default: the file's own name with .json)"
    )
    op: str | None = option("--op", metavar="OP|FILE.mlir", help="what is computed, where there is no metadata")
    columns: str | None = option(
        "--columns",
        metavar="NAME[,NAME...]",
        help="the columns of the file, where it has not all of them; with metadata it need not have the operands",
    )
    nan: Literal["exact", "any"] | None = option(
        "--nan",
        choices=("exact", "any"),
        help="any: every NaN will do for a NaN (default: as the metadata says)",
    )
    ignore_flags: bool = option("--ignore-flags", action="store_true", help="do not compare the file's flags")
    partial: bool = option(
        "--partial", action="store_true", help="the file may have fewer rows than the metadata says, and others"
    )
    max: int = option(
        "--max", type=positive, default=1, metavar="N", help="rows that differ to tell in full (default: 1)"
    )
    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(CheckVectorsArguments, _ABOUT, titles={ComputationOptions: "what is computed"})
