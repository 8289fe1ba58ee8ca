"""The command ``halfulp explain-dot``: why a matrix unit gives these bits."""

from __future__ import annotations

import argparse
import re
from typing import Any

from halfulp.command.common import EXIT_CODES, SUCCESS, Sources, report, write

_DESCRIPTION = """\
Explain one element of a tile D = A * B + C on a matrix unit: a row of A times a column of B. The output shows every
step of the model, the bits that it keeps and drops, and the results of all other models:

  halfulp explain-dot NV_MMA_SYNC_F32_16x8x16_F16 --mma=chip:hopper --a="1024 -1024 0*6 0.125 0*7" \\
      --b="1024 1024 0*6 0.125 0*7"
  halfulp explain-dot wgmma.m64n8k32.f32.e4m3.e4m3 --a=@a.npy --b=@b.npy --c=@c.npy --element=3,5

KIND is a kind of #iree_gpu, or an instruction in the spelling of PTX: mma, wgmma, tcgen05 or mfma, its shape, and the
types of D, A and B. The type of C follows if it is not the type of D. For scales, their type and the number of
elements per scale follow: mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16.

Values are numbers as for halfulp explain (0.3, nan, bits 0x3C00), separated by spaces or commas; 0*6 means six zeros.
@FILE.npy is an array of exactly the right type.
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to a parser's subcommands."""
    explain = commands.add_parser(
        "explain-dot",
        help="explain one element of a matrix product on a real chip",
        description=_DESCRIPTION,
        epilog=EXIT_CODES,
        **style,
    )
    add = explain.add_argument
    add("kind", metavar="KIND", help="the operation: MFMA_F32_16x16x16_F16, or mma.m16n8k16.f32.f16.f16.f32")
    add("--a", required=True, metavar="VALUES", help="a row of A, of K elements; with --element, all of A, [M, K]")
    add("--b", required=True, metavar="VALUES", help="a column of B; with --element, all of B, [K, N]")
    add("--c", default="0", metavar="VALUE", help="the element of C (default: 0); with --element, all of C, [M, N]")
    add("--mma", default="exact", metavar="MODEL", help="the model that adds: exact (default), ieee or chip:NAME")
    add(
        "--element",
        type=_element,
        metavar="I,J",
        help="the element of D to explain, if A, B and C are files of whole tiles",
    )
    add("--scale-a", metavar="VALUES", help="the scales of the row, one for each block of K")
    add("--scale-b", metavar="VALUES", help="the scales of the column")
    add("--a-type", metavar="TYPE", help="the element type of A, if the kind does not fix it")
    add("--b-type", metavar="TYPE", help="the element type of B, if the kind does not fix it")
    add("--html", metavar="FILE", help="write the explanation as an HTML page instead")
    explain.set_defaults(command=_explain)


def _element(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6}),(\d{1,6})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not I,J as in 3,5")
    return int(found[1]), int(found[2])


_REPEATED = re.compile(r"([^*]+)\*(\d{1,18})", re.ASCII)
_MOST = 1 << 16


def _values(text: str | None, name: str) -> Any:
    """The numbers of an option, as text each, or the array of a file."""
    from halfulp.command.values import read_npy
    from halfulp.interp.ir.errors import InputError
    from halfulp.runtime import read_file

    if text is None:
        return None
    if text.startswith("@"):
        return read_npy(read_file(text[1:]), text[1:])
    numbers: list[str] = []
    for word in re.split(r"[\s,]+", text.strip()):
        repeated = _REPEATED.fullmatch(word)
        number, times = (repeated[1], int(repeated[2])) if repeated else (word, 1)
        if len(numbers) + times > _MOST:
            raise InputError(f"--{name} has more than {_MOST} values")
        numbers += [number] * times
    return numbers


def _explain(arguments: argparse.Namespace) -> int:
    from halfulp.explanations.dot import explain_dot
    from halfulp.files import write_file
    from halfulp.interp.ir.errors import HalfulpError, InputError

    given = arguments
    try:
        row, column, addend, *scales = [
            _values(getattr(given, name), name.replace("_", "-")) for name in ("a", "b", "c", "scale_a", "scale_b")
        ]
        if isinstance(addend, list):
            if len(addend) != 1:
                raise InputError(f"--c is one number, not {len(addend)}")
            (addend,) = addend
        explanation = explain_dot(
            given.kind,
            row,
            column,
            addend,
            given.mma,
            element=given.element,
            scale_a=scales[0],
            scale_b=scales[1],
            a_type=given.a_type,
            b_type=given.b_type,
        )
        if given.html is not None:
            write_file(given.html, explanation.html().encode("utf-8"))
    except HalfulpError as error:
        return report(error, Sources(arguments))
    if given.html is None:
        write(f"{explanation}\n")
    return SUCCESS
