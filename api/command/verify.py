"""``halfulp verify``: check ops against other implementations, bit for bit, or measure their errors in ulp."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from halfulp.command import console
from halfulp.command.execution import Sources, read
from halfulp.command.option import Command, duration
from halfulp.command.recipe import case_named
from halfulp.command.values import profile_named, properties_of, read_value
from halfulp.conformance.comparing.check import KnownRow, known_differences
from halfulp.conformance.comparing.inputs import Coverage
from halfulp.conformance.files import replaced
from halfulp.conformance.ops.jobs import ConformanceReport, jobs, run_jobs
from halfulp.conformance.ops.report import Verification, as_json, markdown, text, verify
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, check_mlir, oracle
from halfulp.conformance.oracles.oracle import HoldingOracle, Oracle, OracleError, Unavailable
from halfulp.described import amount, argument, choice, first_given, flag, option, positive, repeated
from halfulp.drawing.figures import ending_of, save
from halfulp.fp_formats.paths.llvm import cores
from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.ir.errors import InputError, TypeMismatch, wrong_count
from halfulp.interp.ir.operations import argument_types
from halfulp.running import find_entry

if TYPE_CHECKING:
    from halfulp.conformance.accuracy.report import Accuracy

_VERIFY = """\
Check an op against other implementations, bit for bit:

  halfulp verify arith.truncf --from bf16 --type f8E4M3FN --against apfloat,mlir-fold

If there are at most 2**24 inputs, every input is tested; otherwise all combinations of corner cases, and random inputs.
Without an op, all ops are checked against all installed oracles, and the command writes a report. Without an op but
with --against npz=FILE, every result in the file is checked.

An oracle is another implementation: apfloat (libLLVM), mlir-fold (any mlir-opt: --mlir), mlir-runtime,
mlir-native, mlir-expand, mlir-quant, mlir-math-llvm, mlir-math-expand, mlir-math-funcs, mlir-math-apfloat,
mlir-math-polynomial (mlir-opt and mlir-runner 22), iree, tosa (Arm's reference model of TOSA), ml_dtypes, npz=FILE,
command=PROGRAM, or exact (the specification, on Python integers).
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

    op: str | None = argument(
        "OP", "the full name of the op, such as arith.addf; without it, all ops are checked", nargs="?"
    )
    type: str | None = option("TYPE[,TYPE...]", "the element type of the operands; for a cast, of its result")
    source: str | None = option("TYPE[,TYPE...]", "for a cast: the element types of the operands", name="--from")
    attr: tuple[str, ...] = repeated("NAME[=VALUE]", "a property of the op, as for eval")
    against: str | None = option("ORACLE[,ORACLE...]", "the oracles to use (default: all that are installed)")
    mlir: str | None = option(
        "MLIR",
        "the MLIR of mlir-fold, mlir-native, mlir-expand and mlir-math-...: 22, mlir-opt-22 on PATH; 24, the Python "
        "package torch-mlir; python:PACKAGE, other bindings; or, for mlir-fold, the path of an mlir-opt (default: "
        "$HALFULP_MLIR_OPT, else 22 if it is installed, else 24)",
    )
    profile: str | None = option(
        "NAME[,FIELD=VALUE...]", "the profile of the results that the answers are compared with"
    )
    n: int | None = amount("the number of inputs, if not every input is tested (default: 100000)")
    bits: int | None = option(
        "N", "test every input if all operands have at most N bits together (default: 24)", type=_few_bits
    )
    seed: int = option("N", "the seed of the random inputs", 0, type=int)
    no_known: bool = flag("do not use the table of known divergences")
    bounds: Literal["tosa"] | None = choice(
        ("tosa",), "tosa: count results within the bounds that TOSA's specification allows as known"
    )
    coverage: bool = flag("show the classes of operands and the outcomes that were tested")
    fail_under: float | None = option(
        "PERCENT", "exit with 1 if fewer combinations of operand classes than this were tested", type=_percent
    )
    json: bool = flag("print one JSON object per op and oracle")
    level: Literal["sample", "full"] | None = choice(
        ("sample", "full"), "without an op: the number of tests (default: sample)"
    )
    jobs: int | None = amount("without an op: the number of processes (default: the number of cores)")
    output: str | None = option("FILE", "without an op: the file for the report (default: stdout)", name="-o")


_FOR_ONE = ("type", "source", "attr", "profile", "n", "bits", "no_known", "bounds", "coverage", "fail_under", "json")
_FOR_ALL = ("level", "jobs", "output")


def verify_ops(arguments: VerifyArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    option = first_given(arguments, _FOR_ALL if arguments.op else _FOR_ONE)
    if option is not None:
        return console.fail(f"{option} can be used only {'without' if arguments.op else 'with'} an op")
    if arguments.mlir is not None:
        check_mlir(_asked(arguments.against))
    return _verify_op(arguments.op, arguments, sources) if arguments.op else _verify_everything(arguments)


VERIFY = Command(
    VerifyArguments, verify_ops, _VERIFY, console.EXIT_CODES.replace("1 values differ,", "1 unexplained differences,")
)


def _asked(spelling: str | None) -> list[str]:
    return spelling.split(",") if spelling else [name for name in ORACLES if name not in TAKES_ARGUMENT]


def _verify_op(op: str, arguments: VerifyArguments, sources: Sources) -> int:
    case = case_named(op, arguments.type, arguments.source, arguments.attr, sources)
    profile = profile_named(arguments.profile or "spec")
    rows: tuple[KnownRow, ...] = () if arguments.no_known else known_differences()
    if arguments.bounds is not None:
        # The dialect tosa is loaded only if it is needed.
        bounds: Any = import_module("halfulp.conformance.comparing.tosa_bounds")
        if not case.op.startswith("tosa."):
            raise InputError(f"--bounds=tosa is for ops of tosa, but '{case.op}' is not one")
        rows = (*rows, bounds.TosaBounds())
    codes = []
    for name in _asked(arguments.against):
        try:
            asked: Oracle = oracle(name, arguments.mlir)
        except Unavailable as reason:
            console.say(f"{'error' if arguments.against else 'skipped'}: {name}: {reason}")
            codes += [console.WRONG_USE] if arguments.against else []
            continue
        except ValueError as error:
            return console.fail(str(error))
        if not arguments.against and asked.refuses(case) is not None:
            console.say(f"skipped: {name}: {asked.refuses(case)}")
            continue
        found = verify(case, asked, arguments.n or 100_000, arguments.seed, rows, profile, arguments.bits or 24)
        console.write(json.dumps(as_json(found)) + "\n" if arguments.json else "\n".join(text(found)) + "\n")
        if arguments.coverage and not arguments.json:
            console.write("\n".join(_coverage_lines(found.coverage)) + "\n")
        codes.append(_code(found, arguments.fail_under or 0))
    if not codes:
        return console.fail(f"no oracle that is installed answers {case}")
    # A different answer outweighs a missing one.
    return console.ranked(codes)


def _code(found: Verification, percent: float = 0) -> int:
    if found.differs or found.coverage.percent < percent:
        return console.DIFFERENT
    if found.tally.failures:
        return console.WRONG_USE
    return console.SUCCESS if found.tally.compared else console.UNSUPPORTED


def _coverage_lines(coverage: Coverage) -> list[str]:
    outcomes = ", ".join(f"{name} {count:,}" for name, count in coverage.outcomes.items() if count)
    hit = f"{len(coverage.combinations)} of {coverage.possible} combinations of operand classes"
    return [f"  coverage: {hit} ({coverage.percent:.0f}%)", f"  outcomes: {outcomes or 'not known for this op'}"]


def _verify_everything(arguments: VerifyArguments) -> int:
    names = _asked(arguments.against)
    if any("=" in name for name in names):
        return _verify_held(arguments, names)
    unknown = [name for name in names if name not in ORACLES]
    if unknown:
        return console.fail(f"unknown oracle {unknown[0]!r}; the oracles are {', '.join(ORACLES)}")
    level = arguments.level or "sample"
    plan = list(jobs(level, arguments.seed, names, mlir=arguments.mlir))
    if not plan:
        return console.fail(f"no op can be checked against {', '.join(names)}")
    with _delivery(arguments.output) as deliver:
        with console.progress_bar("tasks") as progress:
            found = run_jobs(plan, level, arguments.seed, arguments.jobs or cores(), progress)
        deliver(markdown(found))
    for name, why in found.missing.items():
        console.say(f"{'error' if arguments.against else 'skipped'}: {name}: {why}")
    return _judge(found, bool(arguments.against))


def _verify_held(arguments: VerifyArguments, names: Sequence[str]) -> int:
    """Verify every op case for which the oracles have results: files of results name their op cases themselves."""
    codes = []
    with _delivery(arguments.output) as deliver:
        for name in names:
            try:
                asked = oracle(name)
                if not isinstance(asked, HoldingOracle):
                    return console.fail(
                        f"{name} checks only an op that you name: write halfulp verify OP --type TYPE --against {name}"
                    )
                cases = asked.cases()
            except (Unavailable, ValueError, OracleError) as error:
                return console.fail(f"{name}: {error}")
            for case in cases:
                found = verify(case, asked, 1, arguments.seed, known_differences())
                deliver("\n".join(text(found)) + "\n")
                codes.append(_code(found))
    return console.ranked(codes)


@contextmanager
def _delivery(output: str | None) -> Iterator[Callable[[str], object]]:
    """Yield the function that takes the report. A file that cannot be written is an error at once; an existing file is
    replaced only if no error occurs.
    """
    if output is None:
        yield console.write
        return
    try:
        with replaced(Path(output)) as file:
            yield lambda text: file.write(text.encode())
    except OSError as error:
        raise InputError(f"cannot write {output!r}: {error.strerror}") from None


def _judge(found: ConformanceReport, named: bool) -> int:
    total = found.total()
    counts = f"{total.equal:,} equal, {total.open:,} open by the language, {total.known.total():,} known divergences"
    console.say(
        f"{total.compared:,} compared: {counts}, {total.unexplained:,} UNEXPLAINED, {total.unanswered:,} unanswered"
    )
    for failure in total.failures:
        console.say(f"failed: {failure}")
    for note in found.changed():
        console.say(note)
    if total.unexplained or found.changed():
        return console.DIFFERENT
    if total.failures or (named and found.missing):
        return console.WRONG_USE
    return console.SUCCESS if total.compared else console.UNSUPPORTED


# --- accuracy ---------------------------------------------------------------------------------------------------------


_ULP_ABOUT = """\
Measure how wrong an implementation of a function, an op or a program is:

  halfulp verify --ulp exp --type f16 --against numpy
  halfulp verify --ulp math.tanh --type bf16 --against mlir-native --max-ulp=1.0
  halfulp verify --ulp exp --type f32 --against ./lib.so:my_expf --range=-10:10
  halfulp verify --ulp arith.truncf --from f32 --type bf16 --against package.module:function
  halfulp verify --ulp tanh --type bf16 --against results.npy
  halfulp verify --ulp softmax.mlir --against mlir-runner,iree --samples=100

The results are compared with the correctly rounded ones, and their errors are the distances from the exact real
results, in units in the last place (ulp) of these results. All arguments of up to 16 bits are measured; of wider types,
hard cases and samples.

--against names the implementation: numpy, ml_dtypes, torch, jax, llvm-libc, iree, mlir-native (libm), mlir-math-expand
and the other passes, an oracle of halfulp verify, a symbol of a shared library (./lib.so:expf; ./lib.so:f:codes for a
function on codes as unsigned integers, ./lib.so:f:array for void f(const T *x, T *result, size_t count)), a Python
function on arrays (module:function), or a file of results (vectors, or the results of all codes in order as .npy, or
in hexadecimal, one a line).

For a program, halfulp's own run is measured too, and --against names other implementations of whole programs, separated
by commas. Without --input, the inputs are generated: floats around 1, small integers.
"""
_ULP_CODES = """\
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
    """The options of ``halfulp verify --ulp``."""

    ulp: bool = flag("measure errors in ulp")
    op: str = argument(
        "OP|PROGRAM", "a function (exp, math.exp, sigmoid), an op with a float result (arith.addf), or an MLIR file"
    )
    type: str | None = option("TYPE", "the element type; of a cast, that of the result")
    source: str | None = option("TYPE", "the element type of the operands, if it is another one", name="--from")
    against: str | None = option("X", "the implementation to measure")
    function: str | None = option("NAME", "the function of a program")
    input: tuple[str, ...] = repeated("VALUE", "an argument of a program")
    attr: tuple[str, ...] = repeated("NAME[=VALUE]", "a property of the op, as for eval")
    rounding: str = option("MODE", "the rounding mode that it should have", "to_nearest_even")
    profile: str = option("NAME[,FIELD=VALUE...]", "the profile of the correct results", "spec")
    samples: int | None = amount(
        "the number of random arguments, beside hard cases (default: all arguments of up to 16 bits, else 100000)",
        exclusive=True,
    )
    exhaustive: bool = flag("measure all arguments, of up to 32 bits", exclusive=True)
    between: tuple[str, str] | None = option(
        "LOW:HIGH", "measure all arguments between two numbers", name="--range", type=_range, exclusive=True
    )
    seed: int = option("N", "the seed of the random arguments", 0, type=int)
    max_ulp: float | None = option(
        "N",
        "accept errors of up to N ulp; wrong special values (NaN, infinities, signs of zeros) still fail",
        type=_ulps,
    )
    seconds: float = option(
        "SECONDS", "the time limit for a library (default: 60)", 60.0, name="--time-limit", type=duration
    )
    json: bool = flag("print one JSON object")
    plot: str | None = option("FILE.svg|FILE.png", "also draw the errors, by binade and by size")
    dark: bool = flag("draw on a dark background")


PROGRAM_FILES = (".mlir", ".mlirbc")
"""The endings of the names of files with programs."""


def measure_errors(arguments: AccuracyArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    from halfulp import accuracies

    if arguments.op.endswith(PROGRAM_FILES) or os.path.isfile(arguments.op):
        return _measure_program(arguments, sources)
    given = first_given(arguments, ("function", "input"))
    if given is not None:
        return console.fail(f"{given} can be used only with a program")
    if arguments.type is None or arguments.against is None:
        missing = [f"--{name}" for name in ("type", "against") if getattr(arguments, name) is None]
        return console.fail(f"missing {' and '.join(missing)}: a function and an op need --type and --against")
    try:
        as_rounding(arguments.rounding)
    except ValueError as error:
        raise InputError(f"--rounding: {error}") from None
    if arguments.plot is not None:
        ending_of(arguments.plot)
    found = accuracies.accuracy(
        arguments.op,
        arguments.source or arguments.type,
        arguments.against,
        to=arguments.type if arguments.source else None,
        rounding=arguments.rounding,
        profile=profile_named(arguments.profile),
        n=arguments.samples,
        seed=arguments.seed,
        exhaustive=arguments.exhaustive,
        range=arguments.between,
        time_limit=arguments.seconds,
        **properties_of(arguments.op, arguments.attr, sources),
    )
    if arguments.plot is not None:
        save(accuracies.draw_accuracy(found, dark=arguments.dark), arguments.plot)
    if arguments.json:
        console.write(json.dumps({**found.to_dict(), "max_ulp_allowed": arguments.max_ulp}) + "\n")
    else:
        console.write("".join(f"{line}\n" for line in found.lines()) + _verdict(found, arguments.max_ulp))
    accepted = found.correct if arguments.max_ulp is None else found.within(arguments.max_ulp)
    if accepted and found.tally.unanswered:
        console.say(f"{found.tally.unanswered:,} arguments have no answer, so nothing is known of them")
        return console.UNSUPPORTED
    return console.SUCCESS if accepted else console.DIFFERENT


ACCURACY = Command(AccuracyArguments, measure_errors, _ULP_ABOUT, _ULP_CODES)


def _measure_program(arguments: AccuracyArguments, sources: Sources) -> int:
    from halfulp import accuracies

    given = first_given(arguments, ("type", "source", "attr", "rounding", "exhaustive", "between", "plot"))
    if given is not None:
        return console.fail(f"{given} cannot be used with a program")
    module = read(arguments.op, sources).program()
    function = find_entry(module, arguments.function)
    types = argument_types(function)
    values = []
    if arguments.input:
        if len(arguments.input) != len(types):
            raise TypeMismatch(wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments.input)))
        pairs = enumerate(zip(arguments.input, types, strict=True))
        values = [read_value(text, type_, f"<input {k}>", sources) for k, (text, type_) in pairs]
    found = accuracies.program_accuracy(
        module,
        *values,
        against=[] if arguments.against is None else arguments.against.split(","),
        function=arguments.function,
        n=arguments.samples or 100,
        seed=arguments.seed,
        profile=profile_named(arguments.profile),
    )
    console.write(
        json.dumps(found.to_dict()) + "\n" if arguments.json else "".join(f"{line}\n" for line in found.lines())
    )
    if arguments.max_ulp is not None and not found.within(arguments.max_ulp):
        return console.DIFFERENT
    return console.UNSUPPORTED if any(not run.elements for run in found.runs) else console.SUCCESS


def _verdict(found: Accuracy, most: float | None) -> str:
    if most is None:
        return ""
    return f"{'within' if found.within(most) else 'NOT within'} {most:g} ulp\n"
