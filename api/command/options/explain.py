"""The options of ``halfulp explain``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option, profile_option

ROUNDINGS = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""The modes of `halfulp.number_reader.MODES`, repeated here so that help imports nothing."""

_DESCRIPTION = """\
Explain the rounding of one number, the meaning of bits, or the result of an op:

  halfulp explain 0.3 f8E4M3FN                      a number rounded to a type
  halfulp explain "0x7F : f8E4M3FN"                 bits of a type
  halfulp explain arith.addf f8E4M3FN 1.4 2.2       an op; its operands are first rounded to the type
  halfulp explain exp bf16 0.1                      a function, rounded once
  halfulp explain arith.truncf f8E4M3FN 464 --from f32
  halfulp explain arith.addi i8 100 100 --attr overflow=nsw
  halfulp explain 0.3 f8E4M3FN --rounding=stochastic --random=5 --random-bits=8
  halfulp explain arith.cmpf f16 1 nan --attr predicate=ult
  halfulp explain quant.qcast "!quant.uniform<i8:f32, 0.5:3>" 1.3

A number is a decimal 0.3, a fraction 1/3, nan, -inf, raw bits 0x7F of the type itself, or has a type: f32=0x3E99999A.
"""


@dataclass(frozen=True, kw_only=True)
class ExplainArguments:
    """The options of ``halfulp explain``."""

    words: tuple[str, ...] = option(
        nargs="*", default=(), metavar="WORD", help="a value and a float type; or an op, a type and the operands"
    )
    list: bool = option("--list", action="store_true", help="name every op that has an explanation")
    rounding: str | None = option(
        "--rounding",
        metavar="MODE",
        help=f"the rounding mode to explain: {', '.join(ROUNDINGS)} (default: to_nearest_even), or another name of it, "
        "such as RNE; a table shows all modes. Or stochastic",
    )
    random: int | None = option(
        "--random",
        type=int,
        metavar="N",
        help="the random bits of --rounding=stochastic, as an integer; without them both outcomes are explained",
    )
    random_bits: int | None = option(
        "--random-bits", type=int, metavar="N", help="the number of random bits, 1 to 64 (default: infinitely many)"
    )
    profile: str = profile_option()
    source: str | None = option(
        "--from", metavar="TYPE", help="the type that a cast converts from (default: f64, or i64)"
    )
    channel: int | None = option(
        "--channel", type=int, metavar="N", help="the channel of a quantised type with several scales, counted from 0"
    )
    attr: tuple[str, ...] = option(
        "--attr",
        action="append",
        metavar="NAME[=VALUE]",
        help="a property of the op: fastmath=nnan predicate=olt",
    )
    plot: str | None = option(
        "--plot", metavar="FILE", help="also draw the rounding, to a file .svg or .png (needs matplotlib)"
    )
    dark: bool = option("--dark", action="store_true", help="use colours for a dark page")


COMMAND = CommandHelp(ExplainArguments, _DESCRIPTION, usage="halfulp explain [options] VALUE TYPE | OP TYPE OPERAND...")
