"""The command ``halfulp explain``: why a number becomes the bits it becomes."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from halfulp.command.common import EXIT_CODES, SUCCESS, Sources, profile_named, properties_of, report, write

if TYPE_CHECKING:
    from halfulp.explanations.op import OpExplanation
    from halfulp.explanations.rounding import Explanation
    from halfulp.semantics.profile import Profile

ROUNDINGS = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""The modes of halfulp.explanations.rounding.MODES, known here without importing anything."""


_DESCRIPTION = """\
Explain the rounding of one number, the meaning of bits, or the result of an op:

  halfulp explain 0.3 f8E4M3FN                      a number rounded to a type
  halfulp explain "0x7F : f8E4M3FN"                 bits of a type
  halfulp explain arith.addf f8E4M3FN 1.4 2.2       an op; its operands are first rounded to the type
  halfulp explain arith.truncf f8E4M3FN 464 --from f32
  halfulp explain arith.cmpf f16 1 nan --attr predicate=ult
  halfulp explain quant.qcast "!quant.uniform<i8:f32, 0.5:3>" 1.3

A number is a decimal 0.3, a fraction 1/3, nan, -inf, raw bits 0x7F of the type itself, or has a type: f32=0x3E99999A.
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to a parser's subcommands."""
    explain = commands.add_parser(
        "explain",
        help="explain the rounding of one number, or the result of an op",
        description=_DESCRIPTION,
        epilog=EXIT_CODES,
        usage="halfulp explain [options] VALUE TYPE | OP TYPE OPERAND...",
        **style,
    )
    add = explain.add_argument
    add("words", nargs="+", metavar="WORD", help="a value and a float type; or an op, a type and the operands")
    add(
        "--rounding",
        choices=ROUNDINGS,
        help="the rounding mode to explain (default: to_nearest_even); a table shows all modes",
    )
    add(
        "--profile",
        default="spec",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile: the semantics where tools differ (default: spec)",
    )
    add("--from", dest="source", metavar="TYPE", help="the type that a cast converts from (default: f64, or i64)")
    add("--channel", type=int, metavar="N", help="the channel of a quantised type with several scales, counted from 0")
    add(
        "--attr",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a property of the op: fastmath=nnan predicate=olt",
    )
    add("--plot", metavar="FILE", help="also draw the rounding, to a file .svg or .png (needs matplotlib)")
    add("--dark", action="store_true", help="use colours for a dark page")
    explain.set_defaults(command=_explain)


def negative_values(argv: list[str]) -> list[str]:
    """Let ``explain -inf f32`` pass: argparse takes -inf and -1e5 for options, unless there is a space in them."""
    if argv[:1] not in (["explain"], ["explain-dot"]):
        return argv
    return [f" {word}" if word[:1] == "-" and word[1:2] in tuple("0123456789.iIn") else word for word in argv]


_OP = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


def _explain(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    words = [word.strip() for word in arguments.words]
    try:
        profile = profile_named(arguments.profile)
        if _OP.fullmatch(words[0]):
            explanation: Any = _op(words, arguments, profile, sources)
        else:
            explanation = _number(words, arguments, profile, sources)
        if arguments.plot is not None:
            _draw(explanation, arguments.plot, arguments.dark)
    except HalfulpError as error:
        return report(error, sources)
    write(f"{explanation}\n")
    return SUCCESS


def _draw(explanation: Explanation | OpExplanation, path: str, dark: bool) -> None:
    from halfulp import plot
    from halfulp.interp.ir.errors import InputError

    plot.ending_of(path)
    try:
        figure = plot.explanation(explanation, dark=dark)
    except ModuleNotFoundError as error:
        raise InputError(f"--plot: {error}") from None
    plot.save(figure, path)


def _number(words: list[str], arguments: argparse.Namespace, profile: Profile, sources: Sources) -> Explanation:
    from halfulp.command.values import naming
    from halfulp.explanations.rounding import explain, format_of
    from halfulp.interp.ir.errors import InputError

    for option, given in (("--from", arguments.source), ("--channel", arguments.channel), ("--attr", arguments.attr)):
        if given not in (None, []):
            raise InputError(f"{option} goes with an op, as in: halfulp explain arith.truncf f8E4M3FN 0.3 --from f32")
    value, type_ = (" ".join(words), None) if ":" in words else (words[0], words[1] if len(words) > 1 else None)
    if ":" not in words and len(words) > 2:
        raise InputError(f"explain takes a value and a type, or an op with its operands, not {' '.join(words)}")
    fmt = None
    if type_ is not None:
        with naming("<type>", type_, sources):
            fmt = format_of(type_)
    with naming("<value>", value, sources):
        return explain(value, fmt, arguments.rounding or ROUNDINGS[0], profile)


def _op(words: list[str], arguments: argparse.Namespace, profile: Profile, sources: Sources) -> OpExplanation:
    from halfulp.command.values import naming
    from halfulp.explanations.op import explain_op
    from halfulp.interp.ir.errors import InputError
    from halfulp.interp.values.value import as_type

    op, *rest = words
    if not rest:
        raise InputError(f"which type? halfulp explain {op} f32 OPERAND...")
    with naming("<type>", rest[0], sources):
        type_ = as_type(rest[0])
    source = None
    if arguments.source is not None:
        with naming("<from>", arguments.source, sources):
            source = as_type(arguments.source)
    properties = properties_of(op, arguments.attr, sources)
    if arguments.rounding is not None:
        properties["rounding"] = arguments.rounding
    return explain_op(op, type_, *rest[1:], source=source, profile=profile, channel=arguments.channel, **properties)
