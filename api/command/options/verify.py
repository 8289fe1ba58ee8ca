"""The options of ``halfulp verify``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Literal

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.described import option, positive

_ABOUT = """\
Check an op against other implementations, bit for bit:

  halfulp verify arith.truncf --from bf16 --type f8E4M3FN --against apfloat,mlir-fold

If there are at most 2**24 inputs, every input is tested, else corner cases crossed with corner cases, and random ones.
Without an op, all ops are checked against all installed oracles, and the command writes a report. Without an op but
with --against npz=FILE, every result in the file is checked.

An oracle is another implementation: apfloat (libLLVM), mlir-fold, mlir-runtime, mlir-native, mlir-expand, mlir-quant,
mlir-math-llvm, mlir-math-expand, mlir-math-funcs, mlir-math-apfloat, mlir-math-polynomial (mlir-opt and mlir-runner
22), iree, ml_dtypes, npz=FILE, command=PROGRAM, or exact (the specification, on Python integers).
"""

MAX_BITS = 32
"""The most bits of all operands together that `verify` enumerates."""


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage")
    return number


def _few_bits(text: str) -> int:
    number = positive(text)
    if number > MAX_BITS:
        raise argparse.ArgumentTypeError(f"{text}: 2**{text} inputs are too many; at most {MAX_BITS} bits")
    return number


@dataclass(frozen=True, kw_only=True)
class VerifyArguments:
    """The options of ``halfulp verify``."""

    op: str | None = option(
        nargs="?", metavar="OP", help="the full name of the op, such as arith.addf; without it, all ops are checked"
    )
    type: str | None = option(
        "--type", metavar="TYPE[,TYPE...]", help="the element type of the operands; for a cast, of its result"
    )
    source: str | None = option(
        "--from", metavar="TYPE[,TYPE...]", help="for a cast: the element types of the operands"
    )
    attr: tuple[str, ...] = option(
        "--attr", action="append", metavar="NAME[=VALUE]", help="a property of the op, as for eval"
    )
    against: str | None = option(
        "--against", metavar="ORACLE[,ORACLE...]", help="the oracles to use (default: all that are installed)"
    )
    profile: str | None = option(
        "--profile",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile of the results that the answers are compared with",
    )
    n: int | None = option(
        "-n", type=positive, metavar="N", help="the number of inputs, if not every input is tested (default: 100000)"
    )
    bits: int | None = option(
        "--bits",
        type=_few_bits,
        metavar="N",
        help="test every input if all operands have at most N bits together (default: 24)",
    )
    seed: int = option("--seed", type=int, default=0, metavar="N", help="the seed of the random inputs")
    no_known: bool = option("--no-known", action="store_true", help="do not use the table of known divergences")
    coverage: bool = option(
        "--coverage",
        action="store_true",
        help="show the classes of operands and the outcomes that were tested",
    )
    fail_under: float | None = option(
        "--fail-under",
        type=_percent,
        metavar="PERCENT",
        help="exit with 1 if fewer combinations of operand classes than this were tested",
    )
    json: bool = option("--json", action="store_true", help="print one JSON object per op and oracle")
    level: Literal["sample", "full"] | None = option(
        "--level", choices=("sample", "full"), help="without an op: the number of tests (default: sample)"
    )
    jobs: int | None = option(
        "--jobs",
        type=positive,
        metavar="N",
        help="without an op: the number of processes (default: the number of cores)",
    )
    output: str | None = option("-o", metavar="FILE", help="without an op: the file for the report (default: stdout)")


COMMAND = CommandHelp(VerifyArguments, _ABOUT, EXIT_CODES.replace("1 values differ,", "1 unexplained differences,"))
