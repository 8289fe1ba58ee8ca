"""Compare the results of whole programs with those of an oracle, by refinement. Tests that tell whether a program is
interesting.

The reducer keeps only the changes after which a program is still interesting.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from halfulp.conformance.comparing import refinement
from halfulp.conformance.comparing.divergences import Cancellation, Divergence
from halfulp.conformance.comparing.refinement import Mismatch, Reasons, Truth, Verdict
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    ProgramOracle,
    Reply,
    Runner,
    Status,
    Unanswered,
)
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.conformance.whole_programs import op_search
from halfulp.conformance.whole_programs.rewrite import constant, copied, definition_of, function, module_with
from halfulp.interp.dialects.ub import POISON_ATTR
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, UndefinedBehavior
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.ir.types import element_width
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES, SPEC, Profile


@dataclass(frozen=True)
class Difference:
    """A program whose results differ: the first differing element, and the op that causes it, if it is found.

    ``known``: the rows that explain all differences of the program; empty if they do not.
    """

    program: ClosedProgram
    index: int
    mismatch: Mismatch
    type: ty.Type
    finding: op_search.Finding | None
    known: tuple[str, ...] = ()

    @cached_property
    def truth(self) -> Truth | None:
        """Which result is nearer to the exact number: that of the op for its operands, if it is known, else that of the
        program.
        """
        if self.finding is not None:
            return (
                None if self.finding.case is None else refinement.truth_of_op(self.finding.case, self.finding.mismatch)
            )
        try:
            return refinement.truth_of_run(*op_search.recorded(self.program), self.mismatch)
        except HalfulpError:
            return None


@dataclass
class DiffReport:
    """The result of comparing programs with one oracle.

    ``verdicts`` counts elements of results. ``undefined_by``: programs with undefined behaviour, so that any result is
    allowed, by the reason; ``undefined_answered``: those of them for which the oracle has values.
    ``poison_by``: elements that are poison in halfulp's results. ``known``: programs whose
    differing ops are all known, by row. ``explained``: the named profiles under which all results are those of the
    oracle.
    """

    oracle: str
    version: str
    programs: int = 0
    undefined_by: Reasons = field(default_factory=Reasons)
    poison_by: Reasons = field(default_factory=Reasons)
    undefined_answered: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    known_example: Difference | None = None
    differences: list[Difference] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)

    @property
    def undefined(self) -> int:
        """The number of programs with undefined behaviour here."""
        return self.undefined_by.counts.total()

    @property
    def compared(self) -> int:
        """The number of elements with an answer. The values of an oracle for an undefined program are not counted."""
        return sum(count for verdict, count in self.verdicts.items() if verdict is not Verdict.UNANSWERED)

    @property
    def differs(self) -> bool:
        """Tell whether any result is not allowed by the language, or the oracle failed."""
        return bool(self.differences or self.failures)


def against(
    oracle: ProgramOracle,
    programs: Sequence[ClosedProgram],
    rows: Sequence[Divergence] = (),
    profile: Profile = SPEC,
    pairs: Sequence[Cancellation] = (),
) -> DiffReport:
    """Run programs with halfulp and with an oracle, and compare the results. ``rows``, ``pairs``: the known divergences
    of the oracle.

    Raises HalfulpError for a program that halfulp cannot run.
    """
    report = DiffReport(oracle.name, oracle.version, len(programs))
    outcomes = [op_search.run_here(program, profile) for program in programs]
    replies = op_search.ask(oracle, programs)
    wrong: list[Wrong] = []
    for index, (here, reply) in enumerate(zip(outcomes, replies, strict=True)):
        if isinstance(here, op_search.NoMeaning):
            report.undefined_by.add_error(here)
            report.undefined_answered += isinstance(reply, tuple) and not all(map(op_search.is_unanswered, reply))
            if isinstance(reply, OracleError):
                _failed(report, reply)
            continue
        mismatches = _compared(report, here, reply)
        if mismatches and isinstance(reply, tuple):
            wrong.append(Wrong(programs[index], index, reply, mismatches))
    for difference, failure in differences(op_search.Search(oracle, rows, profile, pairs), wrong):
        if failure is not None:
            _failed(report, failure)
        if difference.known:
            report.known.update(difference.known)
            report.known_example = report.known_example or difference
        else:
            report.differences.append(difference)
    if wrong:
        report.explained = explaining(oracle.profile, programs, replies)
    return report


@dataclass(frozen=True)
class Wrong:
    """A program with the oracle's results, and the first differing element of each result that differs."""

    program: ClosedProgram
    index: int
    answers: tuple[Answer, ...]
    mismatches: Sequence[tuple[Mismatch, ty.Type]]


def differences(
    search: op_search.Search,
    wrong: Sequence[Wrong],
    wanted: Callable[[op_search.Finding], bool] = lambda finding: False,
) -> list[tuple[Difference, OracleError | None]]:
    """Return how each of these programs differs, and the failure of the oracle if it could not give the cause.

    ``wanted``: the findings that are shown before all others.
    """
    studies = search.studies([one.program for one in wrong], [one.answers for one in wrong])
    return [(_difference(one, study, wanted), study.failure) for one, study in zip(wrong, studies, strict=True)]


def _difference(one: Wrong, study: op_search.Study, wanted: Callable[[op_search.Finding], bool]) -> Difference:
    shown = one.mismatches[0]
    finding = next(filter(wanted, study.findings), None)
    if finding is not None:
        return Difference(one.program, one.index, *shown, finding, finding.known)
    if study.explains(mismatch.result for mismatch, _ in one.mismatches):
        known = tuple(dict.fromkeys(name for finding in study.findings for name in finding.known))
        return Difference(one.program, one.index, *shown, study.findings[0], known)
    if study.unknown is None:
        shown = next(pair for pair in one.mismatches if pair[0].result not in study.explained)
    return Difference(one.program, one.index, *shown, study.unknown)


def _failed(report: DiffReport, error: OracleError) -> None:
    if str(error) not in report.failures:
        report.failures.append(str(error))


def _compared(report: DiffReport, here: tuple[Value, ...], reply: Reply) -> list[tuple[Mismatch, ty.Type]]:
    """Count the verdicts, and return the first mismatch of each result that has one."""
    elements = sum(int(np.prod(value.shape, dtype=np.int64)) for value in here)
    if isinstance(reply, tuple):
        try:
            results = refinement.judge(here, reply)
        except OracleError as error:
            reply = error
    if not isinstance(reply, tuple):
        report.verdicts[Verdict.UNANSWERED] += elements
        if isinstance(reply, Unanswered):
            report.unanswered[reply.why] += elements
        else:
            _failed(report, reply)
        return []
    for one in results:
        one.count(report.verdicts)
        report.poison_by.add_poison(one.value)
        missing = int(np.count_nonzero(one.verdicts == Verdict.UNANSWERED))
        if missing:
            report.unanswered[one.answer.why or "no result"] += missing
    return refinement.first_mismatches(results)


def explaining(own: str, programs: Sequence[ClosedProgram], replies: Sequence[Reply]) -> list[str]:
    """Return the named profiles under which every result is the oracle's. ``own``: the oracle's own profile, tried
    first.
    """
    found = []
    for name in dict.fromkeys((own, *PROFILES)):
        profile = PROFILES.get(name)
        if profile is not None and profile is not SPEC and all(map(_predicted(profile), programs, replies)):
            found.append(name)
    return found


def _predicted(profile: Profile) -> Any:
    def predicted(program: ClosedProgram, reply: Reply) -> bool:
        if isinstance(reply, Unanswered):
            return True
        try:
            here = op_search.run_here(program, profile)
            if isinstance(reply, OracleError) or isinstance(here, op_search.NoMeaning):
                return not isinstance(reply, OracleError)
            return not any(one.wrong.any() for one in refinement.judge(here, reply))
        except (HalfulpError, OracleError):
            return False

    return predicted


# --- program text -----------------------------------------------------------------------------------------------------
#
# A program as MLIR text, with its arguments as constants where they can be.


def with_constant_arguments(program: ClosedProgram) -> ClosedProgram | None:
    """Return the program with its arguments as constants; None if an argument has no constant, or if there are no
    arguments.
    """
    main = program.module.lookup(program.function)
    if not program.arguments or main is None or main.parent_op is not program.module.operation:
        return None
    body = main.regions[0].blocks[0]
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    for argument, value in zip(body.arguments, program.arguments, strict=True):
        op = constant_of(value, argument.type)
        if op is None:
            return None
        block.append(op)
        made[argument] = op.results[0]
    if len(main.regions[0].blocks) != 1:
        return None
    for op in body.operations[:-1]:
        block.append(copied(op, made))
    name = main.symbol_name or "main"
    entry = function(name, block, [made[value] for value in body.operations[-1].operands], like=main)
    module = module_with([op for op in program.module.body if op is not main], program.module)
    module.operation.regions[0].blocks[0].append(entry)
    return op_search.verified(ClosedProgram(module, program.function, ()))


def constant_of(value: Value, type_: ty.Type) -> Operation | None:
    """Return an op whose result is the value; None if there is none."""
    element = ty.element_type(type_)
    if value.poison is not None:
        if not value.poisoned.all():
            return None
        poison = {"value": POISON_ATTR.attribute(0)}
        return Operation("ub.poison", definition_of("ub.poison"), [], [type_], poison)
    width = element_width(element)
    if width is None or value.type != type_ or isinstance(element, ty.QuantizedType):
        return None
    return constant(type_, np.ascontiguousarray(value.bits))


def text_of_program(program: ClosedProgram, close: bool = True) -> str:
    """Return the program as MLIR text: its functions without the module around them.

    ``close``: with its arguments as constants, if they can be.
    """
    text = print_module(((with_constant_arguments(program) if close else None) or program).module)
    lines = text.rstrip("\n").split("\n")
    if lines[0] == "module {" and lines[-1] == "}":
        lines = [line.removeprefix("  ") for line in lines[1:-1]]
    return "\n".join(lines) + "\n"


def inputs_of(program: ClosedProgram) -> list[str]:
    """Return the arguments as options of the command line."""
    return [f'--input="{spell_value(value)}"' for value in program.arguments]


# --- interesting ------------------------------------------------------------------------------------------------------

SCRIPT_SECONDS = 60.0

SCRIPT_BYTES = 1 << 26
"""Most bytes that a script may take and print for one program."""

Test = Callable[[Sequence[ClosedProgram]], int | None]
"""A function that returns the index of the first interesting program, or None."""


Here = TypeVar("Here")


def _ran(
    oracle: Runner, programs: Sequence[ClosedProgram], profile: Profile, kind: type[Here]
) -> Iterator[tuple[int, Here, Reply]]:
    """Yield the programs whose outcome in halfulp is of a kind: the number, this outcome, and the oracle's reply."""
    asked: list[tuple[int, Here]] = []
    for index, program in enumerate(programs):
        with suppress(HalfulpError):
            here = op_search.run_here(program, profile)
            asked += [(index, here)] if isinstance(here, kind) else []
    replies = op_search.ask(oracle, [programs[index] for index, _ in asked]) if asked else ()
    for (index, outcome), reply in zip(asked, replies, strict=True):
        yield index, outcome, reply


class SameDifference:
    """A test for programs that differ from an oracle in the same op on the same types, for the same known
    reason or for no known reason. Other ops of the program may differ too.
    """

    def __init__(self, search: op_search.Search) -> None:
        self._search = search
        self.signature: tuple[Any, ...] | None = None
        self.last: Difference | None = None

    def watch(self, difference: Difference) -> None:
        """Set the difference that must stay the same."""
        self.signature = _signature(difference)
        self.last = difference

    def __call__(self, programs: Sequence[ClosedProgram]) -> int | None:
        """Return the index of the first program that differs in the same way, and keep the difference in ``last``."""
        for index, difference in enumerate(self.differences(programs)):
            if difference is not None and _signature(difference) == self.signature:
                self.last = difference
                return index
        return None

    def differences(
        self, programs: Sequence[ClosedProgram], wanted: Callable[[op_search.Finding], bool] | None = None
    ) -> list[Difference | None]:
        """Return how each program differs. If the oracle fails, the program does not count as different.

        ``wanted``: the findings that are shown before all others; by default those of the watched difference.
        """
        found: list[Difference | None] = [None] * len(programs)
        wrong = []
        for index, here, reply in _ran(self._search.oracle, programs, self._search.profile, tuple):
            mismatches = _mismatches(here, reply)
            if mismatches and isinstance(reply, tuple):
                wrong.append(Wrong(programs[index], index, reply, mismatches))
        for difference, failure in differences(self._search, wrong, wanted or self._watched):
            found[difference.index] = difference if failure is None else None
        return found

    def _watched(self, finding: op_search.Finding) -> bool:
        return self.signature == (*finding.signature, bool(finding.known))


def _mismatches(here: tuple[Value, ...], reply: Reply) -> list[tuple[Mismatch, ty.Type]]:
    try:
        return refinement.first_mismatches(refinement.judge(here, reply)) if isinstance(reply, tuple) else []
    except OracleError:
        return []


def _signature(difference: Difference) -> tuple[Any, ...]:
    if difference.finding is not None:
        return *difference.finding.signature, bool(difference.known)
    return "program", str(difference.type)


@dataclass(frozen=True)
class Undefined:
    """A program with undefined behaviour for which an oracle has values: the undefined op, the reason, and
    the values.
    """

    program: ClosedProgram
    op: str | None
    why: str
    answers: tuple[Answer, ...]


class ValueForUndefined:
    """A test for programs with undefined behaviour in the same op, for which an oracle has a value for every result.

    The language allows any value. But if a tool folds an undefined program to a constant, that may be a bug, so it is
    reported.
    """

    def __init__(self, oracle: ProgramOracle, profile: Profile = SPEC) -> None:
        self._oracle = oracle
        self._profile = profile
        self._op: str | None = None

    def watch(self, found: Undefined) -> None:
        """Set the undefined op that must stay the same."""
        self._op = found.op

    def __call__(self, programs: Sequence[ClosedProgram]) -> int | None:
        """Return the index of the first program that is undefined in the same op and for which the oracle
        has values.
        """
        found = enumerate(self.values(programs))
        return next((index for index, one in found if one is not None and one.op == self._op), None)

    def values(self, programs: Sequence[ClosedProgram]) -> list[Undefined | None]:
        """Return the oracle's values for each program that has undefined behaviour."""
        found: list[Undefined | None] = [None] * len(programs)
        for index, error, reply in _ran(self._oracle, programs, self._profile, UndefinedBehavior):
            if isinstance(reply, tuple) and all(a.status is None or (a.status == Status.VALUE).all() for a in reply):
                found[index] = Undefined(programs[index], error.op, error.message, reply)
        return found


def undefined_header(found: Undefined, oracle: str, version: str, halfulp: str) -> Iterator[str]:
    """Yield the comments above an undefined program that is reduced."""
    yield f"// {found.op or 'the program'} is undefined for {halfulp}: {found.why}"
    yield f"// {oracle} {version} has a value"


def by_script(script: str, seconds: float = SCRIPT_SECONDS, close: bool = True) -> Test:
    """Return a test that a user's program makes: it gets the path of a file, and exits with 0 if the file is
    interesting.

    ``close``: the arguments are constants in the file, if possible. The test raises InputError if the user's program
    does not start.
    """

    def test(programs: Sequence[ClosedProgram]) -> int | None:
        for index, program in enumerate(programs):
            if _interesting(script, text_of_program(program, close), seconds):
                return index
        return None

    return test


def _interesting(script: str, text: str, seconds: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="halfulp-") as folder:
        path = os.path.join(folder, "candidate.mlir")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        command = [os.path.abspath(script) if os.path.exists(script) else script, path]
        try:
            return run_bounded(command, b"", seconds, SCRIPT_BYTES).returncode == 0
        except OracleError as error:
            if error.kind == "crash":  # it does not start
                raise InputError(f"cannot run '{script}': {str(error).partition(': ')[2]}") from None
            return False
