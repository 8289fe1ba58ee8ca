"""The options of ``halfulp bisect``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, duration
from halfulp.command.options.programs import COMPARISON_CODES, PassOptions, ProgramOptions
from halfulp.described import option, positive

_BISECT = """\
Run every stage of a compilation on the same inputs, and name the first pass that changed a result to one that the stage
before does not allow:

  halfulp bisect model.mlir --pass-pipeline "builtin.module(...)"   mlir-opt runs the passes
  halfulp bisect --dumps all.txt        what mlir-opt or iree-compile printed with --mlir-print-ir-after-all
  halfulp bisect --dumps folder         what they wrote with --mlir-print-ir-tree-dir
  halfulp bisect a.mlir b.mlir c.mlir   the stages as files

Each stage is judged by the last one before it that ran: unchanged (the same text), identical (the same bits), refined
(where the stage before is poison or leaves bits open), permitted (and why), known divergence, DIFFERENT, or not run
(and why). Tensors that became memrefs, results that became arguments, and types that carry the same bits are mapped.
Without --input, the arguments are generated.
"""


@dataclass(frozen=True, kw_only=True)
class BisectArguments(PassOptions, ProgramOptions):
    """The options of ``halfulp bisect``."""

    files: tuple[str, ...] = option(
        nargs="*",
        default=(),
        metavar="FILE",
        help="the program, or the stages as files; with --dumps, the program before all passes",
    )
    pass_pipeline: str | None = option(
        "--pass-pipeline", metavar="PIPELINE", help="run these passes of mlir-opt on the program"
    )
    dumps: str | None = option("--dumps", metavar="PATH", help="read the stages from a file or folder of dumps")
    n: int = option("-n", type=positive, default=8, metavar="N", help="the number of inputs to generate (default: 8)")
    vscale: int | None = option(
        "--vscale", type=positive, metavar="N", help="the factor of the size of scalable vectors"
    )
    max_steps: int = option(
        "--max-steps",
        type=positive,
        default=100_000_000,
        metavar="N",
        help="the largest number of ops of one run (default: 100000000)",
    )
    seconds: float = option(
        "--seconds", type=duration, default=120.0, metavar="S", help="the time for all passes (default: 120)"
    )
    keep: str | None = option("--keep", metavar="DIR", help="write each stage into this directory")
    reduce: str | None = option(
        "--reduce",
        metavar="FILE",
        help="shrink the program while the same pass stays guilty, and write a report for the developers of the pass",
    )
    html: str | None = option("--html", metavar="FILE", help="write a page with the stages side by side")
    json: bool = option("--json", action="store_true", help="print one JSON object for each function")


COMMAND = CommandHelp(BisectArguments, _BISECT, COMPARISON_CODES)
