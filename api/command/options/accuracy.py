"""The options of ``halfulp accuracy``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from halfulp.command.option import CommandHelp, duration
from halfulp.described import option, positive

_ABOUT = """\
Measure how wrong an implementation of a function, an op or a program is:

  halfulp accuracy exp --type f16 --against numpy
  halfulp accuracy math.tanh --type bf16 --against mlir-native --max-ulp=1.0
  halfulp accuracy exp --type f32 --against ./lib.so:my_expf --range=-10:10
  halfulp accuracy arith.truncf --from f32 --type bf16 --against package.module:function
  halfulp accuracy tanh --type bf16 --against results.npy
  halfulp accuracy softmax.mlir --against mlir-runner,iree --samples=100

The results are compared with the correctly rounded ones, and their errors are the distances from the exact real
results, in units in the last place (ulp) there. All arguments of up to 16 bits are measured; of wider types, hard cases
and samples.

--against names the implementation: numpy, ml_dtypes, torch, jax, llvm-libc, iree, mlir-native (libm), mlir-math-expand
and the other passes, an oracle of halfulp verify, a symbol of a shared library (./lib.so:expf; ./lib.so:f:codes for a
function on codes as unsigned integers, ./lib.so:f:array for void f(const T *x, T *result, size_t count)), a Python
function on arrays (module:function), or a file of results (vectors, or the results of all codes in order as .npy, or
in hexadecimal, one a line).

Of a program, halfulp's own run is measured too, and --against names other implementations of whole programs, between
commas. Without --input, inputs are made: floats around 1, small integers.
"""
_CODES = """\
exit codes: 0 all results correctly rounded, or within --max-ulp (of a program: measured, or within --max-ulp);
            1 they are not; 2 usage or I-O error; 3 the implementation is missing or fails, or some arguments have no
            answer
"""


def _ulps(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ulp")
    return number


def _range(text: str) -> tuple[str, str]:
    low, colon, high = text.partition(":")
    if not (colon and low and high):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range: write LOW:HIGH, as in --range=-1:1")
    return low, high


@dataclass(frozen=True, kw_only=True)
class AccuracyArguments:
    """The options of ``halfulp accuracy``."""

    op: str = option(
        metavar="OP|PROGRAM",
        help="a function (exp, math.exp, sigmoid), an op with a float result (arith.addf), or an MLIR file",
    )
    type: str | None = option("--type", metavar="TYPE", help="the element type; of a cast, that of the result")
    source: str | None = option("--from", metavar="TYPE", help="the element type of the operands, if it is another one")
    against: str | None = option("--against", metavar="X", help="the implementation to measure")
    function: str | None = option("--function", metavar="NAME", help="the function of a program")
    input: tuple[str, ...] = option("--input", action="append", metavar="VALUE", help="an argument of a program")
    attr: tuple[str, ...] = option(
        "--attr", action="append", metavar="NAME[=VALUE]", help="a property of the op, as for eval"
    )
    rounding: str = option(
        "--rounding", default="to_nearest_even", metavar="MODE", help="the rounding mode that it should have"
    )
    profile: str = option(
        "--profile", default="spec", metavar="NAME[,FIELD=VALUE...]", help="the profile of the correct results"
    )
    samples: int | None = option(
        "--samples",
        type=positive,
        exclusive=True,
        metavar="N",
        help="the number of random arguments, beside hard cases (default: all arguments of up to 16 bits, else 100000)",
    )
    exhaustive: bool = option(
        "--exhaustive", action="store_true", exclusive=True, help="measure all arguments, of up to 32 bits"
    )
    between: tuple[str, str] | None = option(
        "--range", type=_range, exclusive=True, metavar="LOW:HIGH", help="measure all arguments between two numbers"
    )
    seed: int = option("--seed", type=int, default=0, metavar="N", help="the seed of the random arguments")
    max_ulp: float | None = option(
        "--max-ulp",
        type=_ulps,
        metavar="N",
        help="accept errors of up to N ulp; wrong special values (NaN, infinities, signs of zeros) still fail",
    )
    seconds: float = option(
        "--time-limit", type=duration, default=60.0, metavar="SECONDS", help="for a library (default: 60)"
    )
    json: bool = option("--json", action="store_true", help="print one JSON object")
    plot: str | None = option("--plot", metavar="FILE.svg|FILE.png", help="also draw the errors, by binade and by size")
    dark: bool = option("--dark", action="store_true", help="draw on a dark background")


COMMAND = CommandHelp(AccuracyArguments, _ABOUT, _CODES)
