"""The options of ``halfulp explain-dot``."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option

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


def _element(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6}),(\d{1,6})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not I,J as in 3,5")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, kw_only=True)
class ExplainDotArguments:
    """The options of ``halfulp explain-dot``."""

    kind: str = option(metavar="KIND", help="the operation: MFMA_F32_16x16x16_F16, or mma.m16n8k16.f32.f16.f16.f32")
    a: str = option(
        "--a", required=True, metavar="VALUES", help="a row of A, of K elements; with --element, all of A, [M, K]"
    )
    b: str = option("--b", required=True, metavar="VALUES", help="a column of B; with --element, all of B, [K, N]")
    c: str = option(
        "--c", default="0", metavar="VALUE", help="the element of C (default: 0); with --element, all of C, [M, N]"
    )
    mma: str = option(
        "--mma",
        default="exact",
        metavar="MODEL",
        help="the model that adds: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,...",
    )
    element: tuple[int, int] | None = option(
        "--element",
        type=_element,
        metavar="I,J",
        help="the element of D to explain, if A, B and C are files of whole tiles",
    )
    scale_a: str | None = option("--scale-a", metavar="VALUES", help="the scales of the row, one for each block of K")
    scale_b: str | None = option("--scale-b", metavar="VALUES", help="the scales of the column")
    a_type: str | None = option("--a-type", metavar="TYPE", help="the element type of A, if the kind does not fix it")
    b_type: str | None = option("--b-type", metavar="TYPE", help="the element type of B, if the kind does not fix it")
    html: str | None = option("--html", metavar="FILE", help="write the explanation as an HTML page instead")


COMMAND = CommandHelp(ExplainDotArguments, _DESCRIPTION)
