"""``halfulp verify``: ops against other implementations, one op on a terminal or all of them in a report."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from halfulp.command.common import (
    DIFFERENT,
    EXIT_CODES,
    SUCCESS,
    UNSUPPORTED,
    WRONG_USE,
    Sources,
    fail,
    positive,
    profile_named,
    progress_bar,
    ranked,
    report,
    say,
    write,
)
from halfulp.command.recipe import task_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from halfulp.conformance.comparing.coverage import Coverage
    from halfulp.conformance.ops.sweep import Report
    from halfulp.conformance.ops.verify import Verification
    from halfulp.conformance.oracles.oracle import Oracle

_ABOUT = """\
Check an op against other implementations, bit for bit:

  halfulp verify arith.truncf --from bf16 --type f8E4M3FN --against apfloat,mlir-fold

If there are at most 2**24 inputs, every input is tested, else corner cases crossed with corner cases, and random ones.
Without an op, all ops are checked against all installed oracles, and the command writes a report. Without an op but
with --against npz=FILE, every result in the file is checked.

An oracle is another implementation: apfloat (libLLVM), mlir-fold, mlir-runtime, mlir-native, mlir-expand, mlir-quant
(mlir-opt and mlir-runner 22), iree, ml_dtypes, npz=FILE, command=PROGRAM, or exact (the specification, on Python
integers).
"""


MAX_BITS = 32
"""Of operands together, that `verify` enumerates."""

_FOR_ONE = ("type", "source", "attr", "profile", "n", "bits", "no_known", "coverage", "fail_under", "json")
_FOR_ALL = ("level", "jobs", "output")
_SPELLED = {"source": "--from", "n": "-n", "output": "-o"}
"""Options that go with an op, and those that go without one, as attributes and as they are written."""


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage")
    return number


def _few_bits(text: str) -> int:
    number = positive(text)
    if number > MAX_BITS:
        raise argparse.ArgumentTypeError(f"{text}: 2**{text} inputs are too many; at most {MAX_BITS} bits")
    return number


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to the parser of the command line."""
    verify = commands.add_parser(
        "verify",
        help="check ops against other implementations",
        description=_ABOUT,
        epilog=EXIT_CODES.replace("1 values differ,", "1 unexplained differences,"),
        **style,
    )
    add = verify.add_argument
    add(
        "op",
        nargs="?",
        metavar="OP",
        help="the full name of the op, such as arith.addf; without it, all ops are checked",
    )
    add("--type", metavar="TYPE[,TYPE...]", help="the element type of the operands; for a cast, of its result")
    add("--from", dest="source", metavar="TYPE[,TYPE...]", help="for a cast: the element types of the operands")
    add("--attr", action="append", metavar="NAME[=VALUE]", help="a property of the op, as for eval")
    add("--against", metavar="ORACLE[,ORACLE...]", help="the oracles to use (default: all that are installed)")
    add(
        "--profile",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile of the results that the answers are compared with",
    )
    add("-n", type=positive, metavar="N", help="the number of inputs, if not every input is tested (default: 100000)")
    add(
        "--bits",
        type=_few_bits,
        metavar="N",
        help="test every input if all operands have at most N bits together (default: 24)",
    )
    add("--seed", type=int, default=0, metavar="N", help="the seed of the random inputs")
    add("--no-known", action="store_true", default=None, help="do not use the table of known divergences")
    add(
        "--coverage",
        action="store_true",
        default=None,
        help="show the classes of operands and the outcomes that were tested",
    )
    add(
        "--fail-under",
        type=_percent,
        metavar="PERCENT",
        help="exit with 1 if fewer combinations of operand classes than this were tested",
    )
    add("--json", action="store_true", default=None, help="print one JSON object per op and oracle")
    add("--level", choices=("sample", "full"), help="without an op: the number of tests (default: sample)")
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="without an op: the number of processes (default: the number of cores)",
    )
    add("-o", dest="output", metavar="FILE", help="without an op: the file for the report (default: stdout)")
    verify.set_defaults(command=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    texts = Sources(arguments)
    misplaced = [name for name in (_FOR_ALL if arguments.op else _FOR_ONE) if getattr(arguments, name) is not None]
    if misplaced:
        option = _SPELLED.get(misplaced[0], "--" + misplaced[0].replace("_", "-"))
        return fail(f"{option} goes with {'no op' if arguments.op else 'an op'}")
    try:
        return _verify_op(arguments, texts) if arguments.op else _verify_everything(arguments)
    except HalfulpError as error:
        return report(error, texts)


def _asked(spelling: str | None) -> list[str]:
    from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT

    return spelling.split(",") if spelling else [name for name in ORACLES if name not in TAKES_ARGUMENT]


def _verify_op(arguments: argparse.Namespace, texts: Sources) -> int:
    from halfulp.conformance.comparing.divergences import divergences
    from halfulp.conformance.ops.verify import as_json, text, verify
    from halfulp.conformance.oracles import oracle
    from halfulp.conformance.oracles.oracle import Unavailable

    task = task_named(arguments.op, arguments, texts)
    profile = profile_named(arguments.profile or "spec")
    rows = () if arguments.no_known else divergences()
    codes = []
    for name in _asked(arguments.against):
        try:
            asked: Oracle = oracle(name)
        except Unavailable as reason:
            say(f"{'error' if arguments.against else 'skipped'}: {name}: {reason}")
            codes += [WRONG_USE] if arguments.against else []
            continue
        except ValueError as error:
            return fail(str(error))
        if not arguments.against and asked.refuses(task) is not None:
            say(f"skipped: {name}: {asked.refuses(task)}")
            continue
        found = verify(task, asked, arguments.n or 100_000, arguments.seed, rows, profile, arguments.bits or 24)
        write(json.dumps(as_json(found)) + "\n" if arguments.json else "\n".join(text(found)) + "\n")
        if arguments.coverage and not arguments.json:
            write("\n".join(_coverage_lines(found.coverage)) + "\n")
        codes.append(_code(found, arguments.fail_under or 0))
    if not codes:
        return fail(f"no oracle that is installed answers {task}")
    # An answer that differs outweighs one that could not be had.
    return ranked(codes)


def _code(found: Verification, percent: float = 0) -> int:
    if found.differs or found.coverage.percent < percent:
        return DIFFERENT
    if found.tally.failures:
        return WRONG_USE
    return SUCCESS if found.tally.compared else UNSUPPORTED


def _coverage_lines(coverage: Coverage) -> list[str]:
    outcomes = ", ".join(f"{name} {count:,}" for name, count in coverage.outcomes.items() if count)
    hit = f"{len(coverage.combinations)} of {coverage.possible} combinations of operand classes"
    return [f"  coverage: {hit} ({coverage.percent:.0f}%)", f"  outcomes: {outcomes or 'not told for this op'}"]


def _verify_everything(arguments: argparse.Namespace) -> int:
    from halfulp.conformance.ops.report import markdown
    from halfulp.conformance.ops.sweep import jobs, sweep
    from halfulp.conformance.ops.workers import default_workers
    from halfulp.conformance.oracles import ORACLES

    names = _asked(arguments.against)
    if any("=" in name for name in names):
        return _verify_held(arguments, names)
    unknown = [name for name in names if name not in ORACLES]
    if unknown:
        return fail(f"unknown oracle {unknown[0]!r}; the oracles are {', '.join(ORACLES)}")
    level = arguments.level or "sample"
    plan = list(jobs(level, arguments.seed, names))
    if not plan:
        return fail(f"the plan asks nothing of {', '.join(names)}")
    with _delivery(arguments.output) as deliver:
        with progress_bar("tasks") as progress:
            found = sweep(plan, level, arguments.seed, arguments.jobs or default_workers(), progress)
        deliver(markdown(found))
    for name, why in found.missing.items():
        say(f"{'error' if arguments.against else 'skipped'}: {name}: {why}")
    return _judge(found, bool(arguments.against))


def _verify_held(arguments: argparse.Namespace, names: Sequence[str]) -> int:
    """Every task that the oracles have results of: files of results, which say themselves what they hold."""
    from halfulp.conformance.comparing.divergences import divergences
    from halfulp.conformance.ops.verify import text, verify
    from halfulp.conformance.oracles import oracle
    from halfulp.conformance.oracles.oracle import HoldingOracle, OracleError, Unavailable

    codes = []
    with _delivery(arguments.output) as deliver:
        for name in names:
            try:
                asked = oracle(name)
                if not isinstance(asked, HoldingOracle):
                    return fail(f"name an op: {name} has no tasks of its own, as a file of results has")
                tasks = asked.tasks()
            except (Unavailable, ValueError, OracleError) as error:
                return fail(f"{name}: {error}")
            for task in tasks:
                found = verify(task, asked, 1, arguments.seed, divergences())
                deliver("\n".join(text(found)) + "\n")
                codes.append(_code(found))
    return ranked(codes)


@contextmanager
def _delivery(output: str | None) -> Iterator[Callable[[str], object]]:
    """What takes the report. A file that cannot be written is noticed at once, and replaced only when all went well."""
    if output is None:
        yield write
        return
    temporary = f"{output}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file.write
        os.replace(temporary, output)
    except OSError as error:
        from halfulp.interp.ir.errors import InputError

        raise InputError(f"cannot write {output!r}: {error.strerror}") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _judge(found: Report, named: bool) -> int:
    total = found.total()
    counts = f"{total.equal:,} equal, {total.open:,} open by the language, {total.known.total():,} known divergences"
    say(f"{total.compared:,} compared: {counts}, {total.unexplained:,} UNEXPLAINED, {total.unanswered:,} unanswered")
    for failure in total.failures:
        say(f"failed: {failure}")
    for note in (*found.stale(), *found.unpinned()):
        say(note)
    if total.unexplained or found.stale() or found.unpinned():
        return DIFFERENT
    if total.failures or (named and found.missing):
        return WRONG_USE
    return SUCCESS if total.compared else UNSUPPORTED
