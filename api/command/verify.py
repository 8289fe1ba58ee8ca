"""``halfulp verify``: check ops against other implementations, one op on a terminal or all of them in a report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, say, write
from halfulp.command.options.verify import VerifyArguments
from halfulp.command.progress import progress_bar
from halfulp.command.recipe import case_named
from halfulp.command.semantics import profile_named
from halfulp.command.sources import Sources
from halfulp.conformance.comparing.check import known_differences
from halfulp.conformance.comparing.coverage import Coverage
from halfulp.conformance.ops.jobs import ConformanceReport, jobs, run_jobs
from halfulp.conformance.ops.report import Verification, as_json, markdown, text, verify
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, oracle
from halfulp.conformance.oracles.oracle import HoldingOracle, Oracle, OracleError, Unavailable
from halfulp.described import first_given
from halfulp.fp_formats.paths.llvm import cores
from halfulp.interp.ir.errors import InputError

_FOR_ONE = ("type", "source", "attr", "profile", "n", "bits", "no_known", "coverage", "fail_under", "json")
_FOR_ALL = ("level", "jobs", "output")


def execute(arguments: VerifyArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    option = first_given(arguments, _FOR_ALL if arguments.op else _FOR_ONE)
    if option is not None:
        return fail(f"{option} goes with {'no op' if arguments.op else 'an op'}")
    return _verify_op(arguments.op, arguments, sources) if arguments.op else _verify_everything(arguments)


def _asked(spelling: str | None) -> list[str]:
    return spelling.split(",") if spelling else [name for name in ORACLES if name not in TAKES_ARGUMENT]


def _verify_op(op: str, arguments: VerifyArguments, sources: Sources) -> int:
    case = case_named(op, arguments.type, arguments.source, arguments.attr, sources)
    profile = profile_named(arguments.profile or "spec")
    rows = () if arguments.no_known else known_differences()
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
        if not arguments.against and asked.refuses(case) is not None:
            say(f"skipped: {name}: {asked.refuses(case)}")
            continue
        found = verify(case, asked, arguments.n or 100_000, arguments.seed, rows, profile, arguments.bits or 24)
        write(json.dumps(as_json(found)) + "\n" if arguments.json else "\n".join(text(found)) + "\n")
        if arguments.coverage and not arguments.json:
            write("\n".join(_coverage_lines(found.coverage)) + "\n")
        codes.append(_code(found, arguments.fail_under or 0))
    if not codes:
        return fail(f"no oracle that is installed answers {case}")
    # A different answer outweighs a missing one.
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
    return [f"  coverage: {hit} ({coverage.percent:.0f}%)", f"  outcomes: {outcomes or 'not known for this op'}"]


def _verify_everything(arguments: VerifyArguments) -> int:
    names = _asked(arguments.against)
    if any("=" in name for name in names):
        return _verify_held(arguments, names)
    unknown = [name for name in names if name not in ORACLES]
    if unknown:
        return fail(f"unknown oracle {unknown[0]!r}; the oracles are {', '.join(ORACLES)}")
    level = arguments.level or "sample"
    plan = list(jobs(level, arguments.seed, names))
    if not plan:
        return fail(f"there is nothing to ask of {', '.join(names)}")
    with _delivery(arguments.output) as deliver:
        with progress_bar("tasks") as progress:
            found = run_jobs(plan, level, arguments.seed, arguments.jobs or cores(), progress)
        deliver(markdown(found))
    for name, why in found.missing.items():
        say(f"{'error' if arguments.against else 'skipped'}: {name}: {why}")
    return _judge(found, bool(arguments.against))


def _verify_held(arguments: VerifyArguments, names: Sequence[str]) -> int:
    """Verify every op case that the oracles hold results of: files of results name their op cases themselves."""
    codes = []
    with _delivery(arguments.output) as deliver:
        for name in names:
            try:
                asked = oracle(name)
                if not isinstance(asked, HoldingOracle):
                    return fail(f"name an op: {name} does not hold results of its own")
                cases = asked.cases()
            except (Unavailable, ValueError, OracleError) as error:
                return fail(f"{name}: {error}")
            for case in cases:
                found = verify(case, asked, 1, arguments.seed, known_differences())
                deliver("\n".join(text(found)) + "\n")
                codes.append(_code(found))
    return ranked(codes)


@contextmanager
def _delivery(output: str | None) -> Iterator[Callable[[str], object]]:
    """Yield the function that takes the report. A file that cannot be written is an error at once; it is replaced only
    when all went well.
    """
    if output is None:
        yield write
        return
    temporary = f"{output}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file.write
        os.replace(temporary, output)
    except OSError as error:
        raise InputError(f"cannot write {output!r}: {error.strerror}") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _judge(found: ConformanceReport, named: bool) -> int:
    total = found.total()
    counts = f"{total.equal:,} equal, {total.open:,} open by the language, {total.known.total():,} known divergences"
    say(f"{total.compared:,} compared: {counts}, {total.unexplained:,} UNEXPLAINED, {total.unanswered:,} unanswered")
    for failure in total.failures:
        say(f"failed: {failure}")
    for note in found.changed():
        say(note)
    if total.unexplained or found.changed():
        return DIFFERENT
    if total.failures or (named and found.missing):
        return WRONG_USE
    return SUCCESS if total.compared else UNSUPPORTED
