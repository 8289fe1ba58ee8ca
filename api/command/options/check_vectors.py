"""The options of ``halfulp check-vectors``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option
from halfulp.golden.recipes import CheckOptions, ComputationOptions

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
class CheckVectorsArguments(CheckOptions, ComputationOptions):
    """The options of ``halfulp check-vectors``."""

    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(CheckVectorsArguments, _ABOUT, titles={ComputationOptions: "the computation"})
