"""Options that the commands that compare programs share."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.described import option, profile_option

COMPARISON_CODES = (
    EXIT_CODES.replace("0 fine or equal", "0 equal, open or known")
    .replace("1 values differ", "1 unexplained differences")
    .replace("3 unsupported", "3 nothing was compared")
)


@dataclass(frozen=True, kw_only=True)
class KnownOption:
    """The option to ignore the table of known divergences."""

    no_known: bool = option("--no-known", action="store_true", help="do not use the table of known divergences")


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(KnownOption):
    """The function of a program that is compared, its inputs, and the semantics."""

    function: str | None = option(
        "--function", metavar="NAME", help="the function to run (default: the only public one; for two versions: all)"
    )
    input: tuple[str, ...] = option("--input", action="append", metavar="VALUE", help="the next argument, as for run")
    seed: int = option("--seed", type=int, default=0, metavar="N", help="the seed of the generated inputs (default: 0)")
    profile: str = profile_option("the profile that halfulp uses")


@dataclass(frozen=True, kw_only=True)
class PassOptions:
    """The mlir-opt that runs passes."""

    mlir_opt: str | None = option(
        "--mlir-opt",
        metavar="PATH",
        help="the mlir-opt that runs the passes, of any version (default: $HALFULP_MLIR_OPT, else mlir-opt-22)",
    )
