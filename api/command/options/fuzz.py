"""The options of ``halfulp fuzz``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.programs import COMPARISON_CODES, KnownOption

_FUZZ = """\
Compare random programs of arith, quant and func ops, free of undefined behaviour and of poison:

  halfulp fuzz --against mlir-fold,mlir-native -n 20000 --seed 1

Every result of every op is compared on the operands it had. What an implementation did not answer is counted apart; an
unexplained difference is reduced.
"""


@dataclass(frozen=True, kw_only=True)
class FuzzArguments(KnownOption):
    """The options of ``halfulp fuzz``."""

    against: str = option(
        "--against", required=True, metavar="ORACLE[,ORACLE...]", help="the implementations to ask, as for verify"
    )
    n: int = option("-n", type=positive, default=1000, metavar="N", help="programs")
    seed: int = option("--seed", type=int, default=1, metavar="N", help="of all programs")
    first: int = option(
        "--first", type=int, default=0, metavar="I", help="the number of the first program: program i stays the same"
    )
    allow: tuple[str, ...] = option(
        "--allow", action="append", choices=("poison", "undefined"), help="results that programs may have"
    )
    max_failures: int = option(
        "--max-failures", type=positive, default=5, metavar="K", help="stop asking an oracle after so many"
    )
    no_reduce: bool = option("--no-reduce", action="store_true", help="print the failures as they were found")
    json: bool = option("--json", action="store_true", help="one JSON object with all counts")


COMMAND = CommandHelp(FuzzArguments, _FUZZ, COMPARISON_CODES)
