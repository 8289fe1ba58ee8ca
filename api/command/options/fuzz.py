"""The options of ``halfulp fuzz``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.programs import COMPARISON_CODES, KnownOption

_FUZZ = """\
Compare random programs of arith, quant and func ops, without undefined behaviour and without poison:

  halfulp fuzz --against mlir-fold,mlir-native -n 20000 --seed 1

Every result of every op is compared, for the operands that the op had. Results that an implementation does not give are
counted separately. A program with an unexplained difference is reduced.
"""


@dataclass(frozen=True, kw_only=True)
class FuzzArguments(KnownOption):
    """The options of ``halfulp fuzz``."""

    against: str = option(
        "--against",
        required=True,
        metavar="ORACLE[,ORACLE...]",
        help="the implementations to compare with, as for verify",
    )
    n: int = option("-n", type=positive, default=1000, metavar="N", help="the number of programs (default: 1000)")
    seed: int = option("--seed", type=int, default=1, metavar="N", help="the seed of all programs (default: 1)")
    first: int = option(
        "--first",
        type=int,
        default=0,
        metavar="I",
        help="the number of the first program; program i of a seed is always the same",
    )
    allow: tuple[str, ...] = option(
        "--allow", action="append", choices=("poison", "undefined"), help="allow programs with this kind of result"
    )
    max_failures: int = option(
        "--max-failures",
        type=positive,
        default=5,
        metavar="K",
        help="stop using an oracle after this number of failures (default: 5)",
    )
    no_reduce: bool = option("--no-reduce", action="store_true", help="print failing programs as they were found")
    json: bool = option("--json", action="store_true", help="print one JSON object with all counts")


COMMAND = CommandHelp(FuzzArguments, _FUZZ, COMPARISON_CODES)
