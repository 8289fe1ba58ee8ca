"""The command ``halfulp explain``: why a number becomes the bits it becomes."""

from __future__ import annotations

import argparse
from typing import Any

from halfulp.cli_common import EXIT_CODES, SUCCESS, Sources, profile_named, report, write

ROUNDINGS = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""The modes of halfulp.explain.MODES, known here without importing anything."""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to a parser's subcommands."""
    explain = commands.add_parser(
        "explain",
        help="explain how one number is rounded",
        description="Explain how one number is rounded: halfulp explain 0.3 f8E4M3FN",
        epilog=EXIT_CODES,
        **style,
    )
    add = explain.add_argument
    add("value", metavar="VALUE", help="0.3, 1/3, nan, -inf, raw bits 0x7F of TYPE itself, or typed: f32=0x3E99999A")
    add("type", metavar="TYPE", help="a float type")
    add("--rounding", default=ROUNDINGS[0], choices=ROUNDINGS, help="the mode of the first part; all are listed")
    add("--profile", default="spec", metavar="NAME[,FIELD=VALUE...]", help="the semantics where tools differ")
    explain.set_defaults(command=_explain)


def negative_values(argv: list[str]) -> list[str]:
    """Let ``explain -inf f32`` pass: argparse takes -inf and -1e5 for options, unless there is a space in them."""
    if argv[:1] != ["explain"]:
        return argv
    return [f" {word}" if word[:1] == "-" and word[1:2] in tuple("0123456789.iIn") else word for word in argv]


def _explain(arguments: argparse.Namespace) -> int:
    from halfulp.cli_values import naming
    from halfulp.explain import explain, format_of
    from halfulp.interp.errors import HalfulpError

    sources = Sources(arguments)
    try:
        profile = profile_named(arguments.profile)
        with naming("<type>", arguments.type, sources):
            fmt = format_of(arguments.type)
        value = arguments.value.strip()
        with naming("<value>", value, sources):
            explanation = explain(value, fmt, arguments.rounding, profile)
    except HalfulpError as error:
        return report(error, sources)
    write(f"{explanation}\n")
    return SUCCESS
