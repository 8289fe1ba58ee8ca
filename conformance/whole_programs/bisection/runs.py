"""The stages of a compilation, and their runs, each on the same inputs.

Stages are the dumps that a tool prints, and the whole module after each pass. The runs of two stages are compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.refinement import Mismatch, identical, judged, places_of, reason_of
from halfulp.conformance.files import read_whole
from halfulp.conformance.oracles.oracle import ClosedProgram, Runner, Unanswered
from halfulp.conformance.oracles.tool import HEADER, PassPipeline, argument_of
from halfulp.conformance.whole_programs.arguments import Arguments, Part, joined
from halfulp.conformance.whole_programs.bisection.histories import number_at
from halfulp.conformance.whole_programs.counterexamples import Counterexample, code_text
from halfulp.conformance.whole_programs.printed import Output, elements, prints, silent
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.conformance.whole_programs.two_runs import Outcome, Ran, Version, carrier, casts_of, one_lane
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, differences, outputs_of
from halfulp.fp_formats.formats import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    InputError,
    OutOfSteps,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.run.lineage import Lineage, Node
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.lanes import lanes_of
from halfulp.interp.values.value import Value

# What a tool says at its end, after the last dump: a diagnostic, the report of a crash by LLVM or by the C library.
_CRASH = (
    r"PLEASE submit|Stack dump:|LLVM ERROR: |UNREACHABLE executed|terminate called|\w+\(\): |double free|corrupted "
)
_SAID = re.compile(rf"^(?:\S+:\d+:\d+: (?:error|warning|note|remark): |{_CRASH}|[\w./-]+: (?:/|error: ))", re.MULTILINE)
_FAILURE = re.compile(rf"\berror: |^(?:{_CRASH})")


@dataclass(frozen=True)
class Dump:
    """The text that a tool printed after a pass.

    ``name``: the pass. ``argument``: its name on the command line, "" if it has none. ``op``: the kind of op that it
    ran on, "" if the dump does not say. ``text``: what it printed. ``failed``: the pass reported an error.
    """

    name: str
    argument: str
    op: str
    text: str
    failed: bool = False


@dataclass(frozen=True)
class Dumps:
    """The dumps of one compilation in order. ``said``: the messages of the tool after the last dump."""

    passes: tuple[Dump, ...]
    said: str = ""

    @property
    def failure(self) -> str:
        """The line in which the tool said why it ended; "" if it ended without an error."""
        return next((line for line in self.said.splitlines() if _FAILURE.search(line)), "")


def read_dumps(text: str) -> Dumps:
    """Read the dumps of a text. Text before the first header is ignored, and dumps before passes are left out, unless
    there are no others, as Triton prints them: then the dump before a pass is that after the pass in front of it.
    """
    headers = list(HEADER.finditer(text))
    if headers and all(header["when"] == "Before" for header in headers):
        return _between(headers, text)
    ends = [header.start() for header in headers[1:]] + [len(text)] * bool(headers)
    found, said = [], ""
    for header, end in zip(headers, ends, strict=True):
        body = text[header.end() : end]
        message, said = _SAID.search(body), ""
        if message is not None:
            body, said = body[: message.start()], body[message.start() :]
        if header["when"] == "After":
            failed = header["failed"] is not None
            found.append(Dump(header["name"], argument_of(header), header["op"] or "", body, failed))
    return Dumps(tuple(found), said.strip())


def _between(headers: Sequence[re.Match[str]], text: str) -> Dumps:
    """Read dumps before passes. The first one is the original program. Those of passes on functions are left out: they
    are parts of a module. What follows has the names of all passes since the last module, any of which may have made
    it.
    """
    found: list[Dump] = []
    last = ("the program", "", "")
    for header, end in zip(headers, [*(header.start() for header in headers[1:]), len(text)], strict=True):
        if header["op"] not in (None, "builtin.module"):
            if found and header["name"] not in last[0].split(", "):
                last = f"{last[0]}, {header['name']}", "", last[2]
            continue
        body = text[header.end() : end]
        other = _OTHER_DUMP.search(body)
        found.append(Dump(*last, body if other is None else body[: other.start()]))
        last = header["name"], argument_of(header), header["op"] or ""
    return Dumps(tuple(found))


_OTHER_DUMP = re.compile(r"^(?:// -----// |\*\*\* IR Dump |[^\s#].*?Warning: |; ModuleID)", re.MULTILINE)
"""A pattern that finds what a tool prints behind a module: dumps inside of a pass, warnings, and LLVM IR."""


def read_folder(folder: Path) -> Dumps:
    """Read the dumps in the files that --mlir-print-ir-tree-dir made. The name of a file begins with a number for its
    pass and one for each pipeline around it.

    Raises InputError if there are none.
    """
    files = sorted((_numbers(path), str(path), path) for path in folder.rglob("*.mlir") if _numbers(path))
    if not files:
        raise InputError(f"{folder} has no dumps of passes, such as 0_canonicalize.mlir")
    return Dumps(tuple(dump for _, _, path in files for dump in _of_file(path)))


def _of_file(path: Path) -> Iterator[Dump]:
    text = read_text(path)
    dumps = read_dumps(text).passes
    argument = path.stem.lstrip("0123456789_")
    yield from dumps or (Dump(argument, argument, "", text),)


def _numbers(path: Path) -> tuple[int, ...]:
    """Return the numbers that the name of a file begins with: ``3_1_cse.mlir`` is after ``3_canonicalize.mlir``."""
    numbers = re.match(r"(?:\d+_)+", path.name)
    return () if numbers is None else tuple(map(int, numbers[0].rstrip("_").split("_")))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises InputError if it cannot be read, or is too large."""
    try:
        return read_whole(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


# --- stages -----------------------------------------------------------------------------------------------------------

MODULE = re.compile(r'^(?:builtin\.)?module\b|^"builtin\.module"', re.MULTILINE)
"""A pattern that finds the beginning of a whole module."""

ParseModule = Callable[[str, str], Module]
"""Parses the module of a text; the second argument is its name in messages. Raises HalfulpError."""


@dataclass(frozen=True)
class Stage:
    """The program after a pass.

    ``name``: the pass, or the file. ``argument``: the name of the pass on the command line, "" if it has none.
    ``text``: the whole program, or what could not be read. ``module``: the parsed program, or the error of reading it.
    ``op``: the kind of op that the pass ran on, "" if it is not known.
    """

    name: str
    argument: str
    text: str
    module: Module | HalfulpError
    op: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.argument})" if self.argument and self.argument != self.name else self.name


@dataclass(frozen=True)
class Compilation:
    """The stages of a compilation in order, beginning with the original program. ``end``: why they stop early, or
    "".
    """

    stages: tuple[Stage, ...]
    end: str = ""


def of_pipeline(first: Stage, pipeline: PassPipeline) -> Compilation:
    """Run the passes on a program, in one process, and return it and the program after each.

    If a pass crashes or makes an invalid op, the last stage has this failure; if it reports an error, the stages end
    before it. Raises PassFailure if mlir-opt cannot read the program or the pipeline.
    """
    printed, failure = pipeline.dumped(first.text, first.name)
    dumps = read_dumps(printed)
    if failure is not None and failure.kind == "invalid":
        (failed,) = (dump for dump in dumps.passes if dump.failed)
        found = of_dumps(replace(dumps, said=""), pipeline.read, first)
        return Compilation((*found.stages, Stage(failed.name, failed.argument, failed.text, failure, failed.op)))
    if failure is not None and failure.guilty:
        found = of_dumps(replace(dumps, said=""), pipeline.read, first)
        return Compilation((*found.stages, Stage(failure.guilty, failure.guilty, "", failure)))
    # A pass may say "error" and go on; how mlir-opt ended is known here.
    end = "" if failure is None else str(failure).removeprefix("error: ")
    return of_dumps(dumps if end else replace(dumps, said=""), pipeline.read, first, end)


def of_dumps(dumps: Dumps, read: ParseModule, first: Stage | None = None, end: str = "") -> Compilation:
    """Return the stages from dumps. ``first``: the original program; None if only the dumps are known. ``read``: parses
    the text of a dump. ``end``: why the compilation stopped early.
    """
    stages = [] if first is None else [first]
    known = _LastModule(None if first is None or not isinstance(first.module, Module) else first.module)
    for number, dump in enumerate(dumps.passes):
        if dump.failed:
            end = end or f"{_named(dump)} failed"
            break
        stages.append(_stage(dump, f"<after {dump.argument or dump.name}, dump {number}>", read, known))
    return Compilation(tuple(stages), end or dumps.failure)


def _named(dump: Dump) -> str:
    return f"{dump.name} ({dump.argument})" if dump.argument else dump.name


def _stage(dump: Dump, name: str, read: ParseModule, known: _LastModule) -> Stage:
    text, module = dump.text, _read(read, dump.text, name)
    if isinstance(module, Module) and not module.body:
        module = InputError("the dump is empty")
    if isinstance(module, Module):
        text, module = known.whole(text, module)
    return Stage(dump.name, dump.argument, text, module, dump.op)


def _read(read: ParseModule, text: str, name: str) -> Module | HalfulpError:
    try:
        return read(text, name)
    except HalfulpError as error:
        return error


class _LastModule:
    """The last whole module of the dumps: a pass on functions prints only functions."""

    def __init__(self, module: Module | None) -> None:
        self._module = module

    def whole(self, text: str, printed: Module) -> tuple[str, Module]:
        """Return the whole module after a pass that printed this text, as text and parsed."""
        if self._module is not None and not MODULE.search(text):
            new = {place_of(op): op for op in printed.body}
            old = [new.pop(place_of(op), op) for op in self._module.body]
            printed = module_with([*old, *new.values()], printed)
            text = print_module(printed)
        self._module = printed
        return text, printed


def place_of(op: Operation) -> tuple[str, str]:
    """Return the part of an op's place that stays the same if a pass turns its function into one of another dialect."""
    return op.name.rpartition(".")[2], op.symbol_name or ""


# --- runs -------------------------------------------------------------------------------------------------------------

_MUCH_LONGER = 100
"""A run that needs this many times the steps of the version before counts as endless."""


class StageVersion:
    """A version of a function, ready to run on inputs of the first version."""

    def __init__(self, first: Operation, module: Module, function: Operation, settings: Settings) -> None:
        self._module = module
        self._function = function
        self._settings = replace(settings, casts=casts_of(module))
        self._carrier = carrier(first, function)
        self._prints = prints(module, function)

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts about how the signature passes the arguments and results of the first version."""
        return self._carrier.notes

    def outcome(self, part: Part, row: int, careful: bool = False) -> Outcome:
        """Run one input. Raises HalfulpError unless it returns, or is undefined.

        ``careful``: also find which bits the language leaves unspecified. This takes much longer.
        """
        call = self._carrier.call(part, row)
        try:
            if careful or self._prints:
                returned, _ = self._watched.alone(call.arguments, self._settings.max_steps, row)
            else:
                returned = program_for(self._module, self._settings).run(self._function, call.arguments)
        except (UndefinedBehavior, AssertionFailed) as error:
            return error
        return Ran(one_lane(call.outputs(returned)), self._watched.printed if self._prints else ())

    def ends(self, part: Part, row: int, steps: int) -> bool:
        """Tell whether the run of one input ends within some steps."""
        settings = replace(self._settings, max_steps=steps)
        try:
            program_for(self._module, settings).run(self._function, self._carrier.call(part, row).arguments)
        except OutOfSteps:
            return False
        except HalfulpError:
            return True
        return True

    def recorded(self, part: Part, row: int) -> tuple[Lineage, tuple[Value, ...]]:
        """Run one input and record the lineage of its results, and then of what it prints. Raises HalfulpError."""
        lineage, output = Lineage(), Output()
        call = self._carrier.call(part, row)
        settings = replace(self._settings, recorder=lineage, listeners=(output,) if self._prints else ())
        returned = program_for(self._module, settings).run(self._function, call.arguments)
        return lineage, one_lane((*call.outputs(returned), *elements(output.items)))

    @cached_property
    def _watched(self) -> Version:
        return Version(self._module, self._function, replace(self._settings, track_open=True), self._prints)


class RanElsewhere:
    """The outcomes of a version that a tool ran on all inputs. The tool does not show poison or unspecified bits."""

    notes: tuple[str, ...] = ()

    def __init__(self, rows: Sequence[tuple[Part, int]], outcomes: Sequence[Outcome]) -> None:
        self._outcomes = {(id(part), row): outcome for (part, row), outcome in zip(rows, outcomes, strict=True)}

    def outcome(self, part: Part, row: int, careful: bool = False) -> Outcome:
        """Return the outcome of the tool for one input."""
        return self._outcomes[id(part), row]


@dataclass(frozen=True)
class StageRun:
    """The outcomes of a version for all inputs. ``ends``: False if its last outcome is a run that did not end; further
    inputs then have no outcome.
    """

    version: StageVersion | RanElsewhere
    outcomes: tuple[Outcome, ...]
    ends: bool = True

    @property
    def has_values(self) -> bool:
        """Tell whether the outcome of any input has values to compare."""
        ran = (outcome for outcome in self.outcomes if isinstance(outcome, Ran))
        return any(one.printed or any(value.size for value in one.values) for one in ran)


class StageRunner:
    """Runs versions of a function on inputs of the first one, and compares them."""

    def __init__(self, function: Operation, arguments: Arguments, settings: Settings) -> None:
        self.function = function
        self.arguments = arguments
        self._names = outputs_of(function)
        self._settings = replace(settings, write=silent)
        self._most_steps = settings.max_steps
        self._rows = [(part, row) for part in arguments.parts for row in range(part.count)]

    def run(self, module: Module, before: StageRun | None = None) -> StageRun:
        """Run a version on all inputs. Raises HalfulpError if it cannot run, or its signature is too different.

        ``before``: the version before it. If that version returns within 1% of the steps that are allowed, a run that
        uses up all these steps counts as endless, and later versions may take only 1%.
        """
        version, outcomes = self._version(module), list[Outcome]()
        for number, row in enumerate(self._rows):
            try:
                outcomes.append(version.outcome(*row))
            except OutOfSteps as error:
                few = max(1, self._most_steps // _MUCH_LONGER)
                if before is None or not isinstance(before.version, StageVersion):
                    raise
                if not isinstance(before.outcomes[number], Ran) or not before.version.ends(*row, few):
                    raise
                self._settings = replace(self._settings, max_steps=few)
                least = f"the version before took fewer than {few:,}"
                outcomes.append(OutOfSteps(f"it does not end: {error.message}, {least}", location=error.location))
                return StageRun(version, tuple(outcomes), ends=False)
        return StageRun(version, tuple(outcomes))

    def input(self, number: int) -> Part:
        """Return one input."""
        part, row = self._rows[number]
        return part.chosen([row])

    def recorded(self, module: Module, number: int) -> tuple[Lineage, tuple[Value, ...]]:
        """Run a version on one input and record the lineage of its results. Raises HalfulpError."""
        return self._version(module).recorded(*self._rows[number])

    def by(self, tool: Runner, module: Module) -> StageRun:
        """Run a version on all inputs with a tool. Raises Unsupported if the tool cannot run it, or if the version has
        another signature.
        """
        function = self._function(module)
        name, types = function.symbol_name or "", result_types(function)
        signatures = [(argument_types(each), result_types(each)) for each in (self.function, function)]
        if signatures[0] != signatures[1]:
            raise Unsupported(f"{tool.name} cannot run this stage: the signature of the function has changed")
        outcomes = []
        for reply in tool.run([ClosedProgram(module, name, part.row(row)) for part, row in self._rows]):
            if not isinstance(reply, tuple):
                raise Unsupported(f"{tool.name}: {reply.why if isinstance(reply, Unanswered) else reply}")
            values = [Value(type_, answer.bits) for type_, answer in zip(types, reply, strict=True)]
            outcomes.append(Ran(one_lane(values)))
        return StageRun(RanElsewhere(self._rows, outcomes), tuple(outcomes))

    def _version(self, module: Module) -> StageVersion:
        return StageVersion(self.function, module, self._function(module), self._settings)

    def _function(self, module: Module) -> Operation:
        function = module.lookup(self.function.symbol_name or "")
        if function is None or not function.regions or not function.regions[0].blocks:
            raise Unsupported(f"the stage has no function @{self.function.symbol_name} with a body")
        return function

    def compare(self, before: StageRun, after: StageRun) -> StageComparison:
        """Compare the outcomes of two stages for each input: the outcome of the second must be one that the first
        allows.
        """
        report = ValidationReport(self.function.symbol_name or "", len(after.outcomes))
        examples, doubts, same = [], [], True
        for number, pair in enumerate(zip(before.outcomes, after.outcomes, strict=False)):
            equal = _same(*pair)
            same &= equal
            one, two = (
                pair
                if equal or not all(isinstance(each, Ran) for each in pair)
                else (run.version.outcome(*self._rows[number], careful=True) for run in (before, after))
            )
            if not isinstance(one, Ran):
                report.undefined_by.add_error(one)
                continue
            one, two, names = self._with_elements(one, two)
            found = differences(report, one, two, 1, names).get(0)
            stopped = found is not None and (found.trap or found.texts)
            doubt = None if stopped else self._doubt(number, one, two, names)
            if doubt is not None:
                doubts.append(doubt)
            if found is not None:
                trap = found.trap or ("" if isinstance(two, Ran) else reason_of(two))
                arguments = self.arguments.row(number)
                expected = tuple(lanes_of(value, 0) for value in one.values)
                examples.append((number, replace(found, arguments=arguments, expected=expected, trap=trap)))
        report.differing = len(examples)
        return StageComparison(report, same, tuple(examples), tuple(doubts))

    def _with_elements(self, before: Ran, after: Outcome) -> tuple[Ran, Outcome, tuple[str, ...]]:
        """Return both with the elements that they print as further outputs, and the names of all outputs. A text stays
        a text if it differs apart from its elements, or has elements of other types.
        """
        if not isinstance(after, Ran):
            return before, after, self._names
        frames = ["".join(item.frame for item in ran.printed) for ran in (before, after)]
        ones, twos = elements(before.printed), elements(after.printed)
        if frames[0] != frames[1] or [one.type for one in ones] != [two.type for two in twos]:
            return before, after, self._names
        names = (*self._names, *(f"printed element {number}" for number in range(len(ones))))
        return Ran(before.values + one_lane(ones)), Ran(after.values + one_lane(twos)), names

    def _doubt(self, number: int, before: Ran, after: Outcome, names: tuple[str, ...]) -> Doubt | None:
        """Return the differing elements of one input that a rule may permit; None if there are none."""
        if not isinstance(after, Ran):
            return None
        masks, first = [], None
        expected = tuple(lanes_of(value, 0) for value in before.values)
        for index, (one, two) in enumerate(zip(before.values, after.values, strict=True)):
            pair = judged(one, two, index)
            masks.append(pair.doubtful)
            if first is None and masks[-1].any():
                mismatch = pair.mismatch_in_lane(places_of(masks[-1])[0])
                first = Counterexample(
                    self.arguments.row(number), mismatch, one.element_type, outputs=names, expected=expected
                )
        return None if first is None else Doubt(number, tuple(masks), first)


class Doubt(NamedTuple):
    """The differing elements of one input: a mask for each output, over one lane, and the first of them."""

    number: int
    masks: tuple[Mask, ...]
    example: Counterexample


@dataclass(frozen=True)
class StageComparison:
    """The result of the comparison of two runs. ``report`` counts elements and inputs. ``same``: all bits, poison,
    texts and errors are the same. ``examples``: for each input that differs, its number, and what differs
    first. ``doubts``: the elements of these inputs, and of those whose bits fast-math flags leave unspecified.
    """

    report: ValidationReport
    same: bool
    examples: tuple[tuple[int, Counterexample], ...] = ()
    doubts: tuple[Doubt, ...] = ()


def _same(one: Outcome, two: Outcome) -> bool:
    """Tell whether two runs gave the same bits, poison at the same places and the same texts, or both gave no value."""
    if isinstance(one, Ran) and isinstance(two, Ran):
        texts = ["".join(item.text for item in ran.printed) for ran in (one, two)]
        return texts[0] == texts[1] and all(identical(*pair) for pair in zip(one.values, two.values, strict=True))
    return isinstance(one, HalfulpError) and isinstance(two, HalfulpError)


# --- inputs -----------------------------------------------------------------------------------------------------------


def made_inputs(function: Operation, inputs: Inputs) -> Arguments:
    """Return the inputs of a function: those that are given; else ordinary numbers in one half of them, and corners and
    random codes in the other. Ordinary numbers are needed because a NaN in one element of a large tensor often makes
    all results NaNs.
    """
    if not argument_types(function):
        return replace(inputs, samples=False).of(function)  # there is one
    inputs = replace(inputs, samples=True)
    if inputs.given is not None:
        return inputs.of(function)
    wild = inputs.count // 2
    usual = replace(inputs, count=inputs.count - wild, ordinary=True).of(function)
    return joined(usual, replace(inputs, count=wild).of(function)) if wild else usual


# --- the first op with another value ----------------------------------------------------------------------------------

MOST_OPS = 200_000
"""The most ops of one history that are looked at."""

_WIDEST = 64


def first_other_op(runner: StageRunner, before: Module, after: Module, number: int, mismatch: Mismatch) -> str:
    """Return a text about the first op in the history of a wrong number whose value no op of the program before the
    pass has; "" if there is none.

    ``number``: the number of the input. Each operand of that op is a value that the stage before has too. If the wrong
    value is an index, or comes from integers that depend on no argument, no such op is found.
    """
    try:
        right, _ = runner.recorded(before, number)
        lineage, values = runner.recorded(after, number)
    except HalfulpError:
        return ""
    known = _codes(right)
    waiting, seen = [number_at(values[mismatch.result], (0, *mismatch.element))], set[int]()
    first: tuple[int, Node] | None = None
    while waiting and len(seen) < MOST_OPS:
        one = waiting.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        made = lineage.history(one.id, one.type, one.code)
        if not isinstance(made, Node):
            continue
        waiting += made.operands
        if not _has(known, one.type, one.code) and (first is None or one.id < first[0]):
            first = one.id, made
    return "" if first is None or len(seen) >= MOST_OPS else _described(first[1])


def _described(made: Node) -> str:
    operands = ", ".join(code_text(each.type, each.code) for each in made.operands)
    value = "poison" if made.poison else code_text(made.type, made.code)
    return f"{made.op.name} of {operands} gives {value} ({made.location})"


def _codes(lineage: Lineage) -> dict[ty.Type, npt.NDArray[np.uint64]]:
    """Return all codes of a run by their types."""
    found = defaultdict(list)
    for batch in lineage.batches:
        for result, codes in zip(batch.run.op.results, batch.run.results, strict=True):
            type_ = ty.element_type(result.type)
            if (ty.element_width(ty.number_type(type_)) or _WIDEST + 1) <= _WIDEST:
                found[type_].append(np.unique(codes).astype(np.uint64))
    return {type_: np.unique(np.concatenate(codes)) for type_, codes in found.items()}


def _has(known: dict[ty.Type, npt.NDArray[np.uint64]], type_: ty.Type, code: int) -> bool:
    """Tell whether a run has a code. If the codes of a type are not known, it counts as having all of them."""
    codes = known.get(type_)
    if codes is None:
        return (ty.element_width(ty.number_type(type_)) or _WIDEST + 1) > _WIDEST
    place = int(np.searchsorted(codes, np.uint64(code)))
    return place < len(codes) and int(codes[place]) == code
