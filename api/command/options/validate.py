"""The options of ``halfulp validate``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.command.options.programs import COMPARISON_CODES, KnownOption, PassOptions
from halfulp.described import option, positive

_VALIDATE = """\
Test the claim of a pass of mlir-opt: the program after it does only what the program before it allows. Random programs
run before and after the pass, on the same inputs:

  halfulp validate --pass=canonicalize -n 5000
  halfulp validate --pass="affine-loop-tile{tile-size=4}" --from=affine
  halfulp validate --pass=all -o passes.md

A pass is given programs of the kinds that it works on: mixed (scalars with control flow, memory, vectors and tensors),
structured (tensors with linalg ops, slices and loops), and structured programs lowered to a stage: generalized, fused,
bufferized, loops, parallel-loops, affine, vectorized, branches. Programs that the pass does not change say nothing, and
are counted apart; so are those that mlir-opt cannot lower to the stage. A program with an unexplained difference is
reduced. A crash of mlir-opt is a finding, too. With --mlir-opt=iree-opt, all stands for the passes of IREE.
"""


@dataclass(frozen=True, kw_only=True)
class ValidateArguments(KnownOption, PassOptions):
    """The options of ``halfulp validate``."""

    passes: tuple[str, ...] = option(
        "--pass",
        action="append",
        metavar="PASS",
        help="the pass, with its options in braces if it has any (repeat it for more); all for every known pass",
    )
    starts: tuple[str, ...] = option(
        "--from",
        action="append",
        metavar="START",
        help="give the pass only these programs (default: those it works on)",
    )
    n: int = option("-n", type=positive, default=1000, metavar="N", help="the programs of each start (default: 1000)")
    seconds: float | None = option(
        "--seconds", type=float, metavar="S", help="make no more programs of a start after this time"
    )
    seed: int = option("--seed", type=int, default=1, metavar="N", help="the seed of all programs (default: 1)")
    no_reduce: bool = option("--no-reduce", action="store_true", help="print failing programs as they were found")
    output: str | None = option("-o", "--output", metavar="FILE", help="write the table as Markdown into a file")
    json: bool = option("--json", action="store_true", help="print one JSON object per pass and start")


COMMAND = CommandHelp(ValidateArguments, _VALIDATE, COMPARISON_CODES)
