"""The options of ``halfulp fuzz``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.command.options.programs import COMPARISON_CODES, KnownOption, PassOptions
from halfulp.described import option, positive

_FUZZ = """\
Compare random programs with other implementations, or test a pass of mlir-opt with them:

  halfulp fuzz --against mlir-fold,mlir-native -n 20000 --seed 1
  halfulp fuzz --pass-pipeline "builtin.module(canonicalize)" --seconds 600
  halfulp fuzz --stages all -n 1000

With --against, the programs have arith, quant and func ops, without undefined behaviour and without poison. Every
result of every op is compared, for the operands that the op had. Results that an implementation does not give are
counted separately.

With --pass-pipeline, the programs are functions of arguments with control flow, memory, vectors and tensors. halfulp
runs each program as it is and as the passes leave it. If the arguments have few bits, it runs on every input, else on
corner cases and random values. A crash of mlir-opt is a finding too.

With --stages, the programs are functions of tensors with linalg ops, slices, reshapes and loops. mlir-opt lowers each
program to the stages, and halfulp runs it there. `runner:STAGE` stands for mlir-runner, which runs what is lowered from
that stage to machine code. All results must have the bits of the program on tensors.

A program with an unexplained difference is reduced, unless it was run by mlir-runner.
"""


@dataclass(frozen=True, kw_only=True)
class FuzzArguments(KnownOption, PassOptions):
    """The options of ``halfulp fuzz``."""

    against: str | None = option(
        "--against",
        metavar="ORACLE[,ORACLE...]",
        help="the implementations to compare with, as for verify",
    )
    pass_pipeline: str | None = option(
        "--pass-pipeline", metavar="PIPELINE", help="test these passes of mlir-opt with the programs"
    )
    stages: str | None = option(
        "--stages",
        metavar="STAGE[,STAGE...]",
        help="lower programs on tensors to these stages: loops, vectorized, runner:loops and others, or all; a wrong "
        "name lists them",
    )
    n: int = option("-n", type=positive, default=1000, metavar="N", help="the number of programs (default: 1000)")
    seconds: float | None = option(
        "--seconds", type=float, metavar="S", help="with --pass-pipeline: make no more programs after this time"
    )
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
    max_failures: int | None = option(
        "--max-failures",
        type=positive,
        metavar="K",
        help="stop using an oracle after this number of failures (default: 5), or the passes after this number of "
        "kinds of findings (default: 20)",
    )
    no_reduce: bool = option("--no-reduce", action="store_true", help="print failing programs as they were found")
    emit: str | None = option(
        "--emit", metavar="DIR", help="with --pass-pipeline: write each program, and what the passes made of it, there"
    )
    statistics: bool = option(
        "--statistics", action="store_true", help="with --pass-pipeline: print a table of the ops of the programs"
    )
    json: bool = option("--json", action="store_true", help="print one JSON object with all counts")


COMMAND = CommandHelp(FuzzArguments, _FUZZ, COMPARISON_CODES)
