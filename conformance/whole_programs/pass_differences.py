"""Report the difference that a pass makes in one program: the difference, the smallest program that still shows it, and
a text.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Unavailable
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, Tool, find_tool, pass_run
from halfulp.conformance.whole_programs import validation
from halfulp.conformance.whole_programs.arguments import Arguments, taken_from
from halfulp.conformance.whole_programs.counterexamples import Counterexample, code_text, element_text
from halfulp.conformance.whole_programs.diff import constant_of, text_of_program
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.op_search import without_unneeded_functions
from halfulp.conformance.whole_programs.reduce import MAX_TESTS, Reducer
from halfulp.conformance.whole_programs.rewrite import returns
from halfulp.conformance.whole_programs.validation import Explain, Inputs
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation, OpResult, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

AT_ONCE = 32
"""Number of candidates that are passed to mlir-opt at a time. Only the first interesting one of them counts."""

MAX_STEPS = 100_000
"""Most steps of one run. A limit is needed because a change may make a loop endless."""


@dataclass(frozen=True)
class PassDifference:
    """A program with its arguments, the text after the pass, and the result that the program does not allow."""

    program: ClosedProgram
    after: str
    function: Operation
    example: Counterexample


@dataclass(frozen=True)
class PassCrash:
    """A program on which mlir-opt crashes or does not end."""

    program: ClosedProgram
    failure: PassFailure


PassFault = PassDifference | PassCrash


class SamePassDifference:
    """A test for programs that a pass changes in the same way: the result is another integer, another float, or poison,
    or the program is undefined. Or mlir-opt crashes in the same place.

    ``known``: explains differences, which then do not count. ``fp_contract``: as in `Inputs`.
    """

    def __init__(
        self,
        pipeline: PassPipeline,
        profile: Profile = SPEC,
        known: KnownByPass | None = None,
        fp_contract: str = "on",
    ) -> None:
        self._known = known
        self._fp_contract = fp_contract
        self._pipeline = pipeline
        self._profile = profile
        self.signature: tuple[Any, ...] | None = None
        self.last: PassFault | None = None

    def watch(self, found: PassFault) -> None:
        """Set the difference that must stay the same."""
        self.signature = _signature(found)
        self.last = found

    def __call__(self, programs: Sequence[ClosedProgram]) -> int | None:
        """Return the index of the first program that differs in the same way, and keep the difference in ``last``."""
        hangs = self.signature is not None and self.signature[0] == "hang"
        size = 1 if hangs else AT_ONCE  # one that does not end stops the others in its process
        for start in range(0, len(programs), size):
            for index, found in enumerate(self.differences(programs[start : start + size]), start):
                if found is not None and _signature(found) == self.signature:
                    self.last = found
                    return index
        return None

    def differences(self, programs: Sequence[ClosedProgram]) -> Iterator[PassFault | None]:
        """Yield how the pass changes each program on its own arguments. A program that cannot be compared does not
        count as different.
        """
        results = self._pipeline.apply_all([self._pipeline.given(program.module) for program in programs])
        for program, after in zip(programs, results, strict=True):
            if isinstance(after, PassFailure):
                yield None if after.kind == "refusal" else PassCrash(program, after)
                continue
            try:
                yield self.compare(program, after, Inputs(given=arguments_of(program), max_steps=MAX_STEPS))
            except HalfulpError:
                yield None

    def compare(self, program: ClosedProgram, after: str, inputs: Inputs) -> PassDifference | None:
        """Return the first difference on some inputs; None if there is none. Raises HalfulpError if nothing is
        compared.
        """
        changed = self._pipeline.read(after, "<after>")
        one, two = program.module.lookup(program.function), changed.lookup(program.function)
        if one is None or two is None:
            return None
        explain = explaining(self._known, program.module, program.function)
        inputs = replace(inputs, fp_contract=self._fp_contract)
        report = validation.compare(program.module, changed, (one, two), inputs, self._profile, explain)
        if report.problem is not None:
            raise report.problem
        if not report.counterexamples:
            return None
        example = report.counterexamples[0]
        kept = ClosedProgram(program.module, program.function, example.arguments)
        return PassDifference(kept, self._pipeline.taken(after), two, example)


def arguments_of(program: ClosedProgram) -> Arguments:
    """Return the arguments of a program as inputs of its function. Raises TypeMismatch, Unsupported, LimitExceeded."""
    return taken_from(program.arguments, argument_types(program.operation))


def _signature(found: PassFault) -> tuple[Any, ...]:
    if isinstance(found, PassCrash):
        return found.failure.kind, found.failure.where
    mismatch = found.example.mismatch
    if mismatch is None:
        return ("no value",)
    return mismatch.status, isinstance(found.example.type, ty.FloatType)


def explaining(known: KnownByPass | None, module: Module, function: str) -> Explain | None:
    """Return a function that explains the differences of ``function`` by known divergences; None without ``known``."""
    return None if known is None else partial(known.explained, module, function)


# --- the smallest program ---------------------------------------------------------------------------------------------

HANGS = 100
"""Most programs to try in the reduction of one on which mlir-opt does not end: each of them takes the time limit."""

SECONDS = 60.0
"""The time after which no smaller program is looked for. A crash in a batch of programs makes all others run again."""


def reduced(
    pipeline: PassPipeline, text: str, function: str, arguments: tuple[Value, ...], fp_contract: str = "on"
) -> PassFault | None:
    """Return the difference of the smallest program that still has it; None if the program shows no difference when it
    runs alone.
    """
    same = SamePassDifference(pipeline, fp_contract=fp_contract)
    found = next(iter(same.differences([ClosedProgram(parse_module(text), function, arguments)])))
    if found is None:
        return None
    same.watch(found)
    crashes = isinstance(found, PassCrash)  # whatever the arguments are
    hangs = isinstance(found, PassCrash) and found.failure.kind == "hang"
    program = Reducer(same, HANGS if hangs else MAX_TESTS, close=not crashes, seconds=SECONDS).reduce(found.program)
    return next(iter(same.differences([program]))) or same.last


def crash_kind(failure: PassFailure) -> str:
    """Return a word for the kind of a crash: its place, if that is known."""
    return f"{failure.kind} {failure.where}"


def crash_text(failure: PassFailure) -> str:
    """Return the kind of a crash with the pass that crashed, and the number of its run, if they are known."""
    known = failure.kind == "crash" and failure.guilty
    return crash_kind(failure) + (f", in {pass_run(failure.guilty, failure.run)}" if known else "")


def kind_of(found: PassFault) -> str:
    """Return words for the kind of a reduced difference: the op whose result is returned, else the ops that write
    memory, or the place of a crash. The same op under a mask, on i1, or with other ops inside, is another kind.
    """
    if isinstance(found, PassCrash):
        return crash_kind(found.failure)
    function = found.program.operation
    values = [value for end in returns(function) for value in end.operands]
    written = [
        op.name + " under a mask" * _is_masked(op)
        for op in function.walk()
        if not op.results and any(isinstance(value.type, ty.MemRefType) for value in op.operands)
    ]
    return ", ".join(sorted(set(map(_kind_of_value, values)) if values else set(written)))


def _kind_of_value(value: SSAValue) -> str:
    if not isinstance(value, OpResult):
        return "an argument"
    masked = [op.name for op in value.owner.walk() if _is_masked(op)]
    name = f"{masked[0]} under a mask" if masked else value.owner.name
    inner = sorted({op.name for op in value.owner.walk() if op.results} - {value.owner.name, "arith.constant"})
    name += f" with {', '.join(inner)}" * (bool(inner) and not masked)
    return name + " of i1" * (ty.element_type(value.type) == ty.I1)


def _is_masked(op: Operation) -> bool:
    around = op.parent_op
    return around is not None and around.name == "vector.mask" and op.name != "vector.yield"


# --- what it resembles ------------------------------------------------------------------------------------------------
#
# The rows of ``symptoms.toml`` are those of the table of docs/findings.md.

_TABLE = Path(__file__).with_name("symptoms.toml")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")


@dataclass(frozen=True)
class Symptom:
    """A row of the table: ``passes``, ``what`` and ``upstream`` are in Markdown, as on the page. ``ops``: the ops that
    a program with this symptom has, each one name or the other of several; none if no program has it.
    """

    passes: str
    what: str
    ops: tuple[frozenset[str], ...]
    upstream: str

    @property
    def reports(self) -> list[str]:
        """The addresses of the reports of others, those about similar bugs too."""
        return [address for _, address in _LINK.findall(self.upstream)]

    def __str__(self) -> str:
        what = _LINK.sub(r"\1", self.what).replace("`", "")
        named = ", ".join(self.reports) or "no public report"
        return f"{what} (docs/findings.md{_LINK.findall(self.what)[0][1]}): {named}"


@cache
def symptoms() -> tuple[Symptom, ...]:
    """Return all rows, in the order of the page."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["symptom"]
    return tuple(Symptom(**{**row, "ops": tuple(frozenset(each.split("|")) for each in row["ops"])}) for row in rows)


def resembled(passes: Collection[str], module: Module) -> Symptom | None:
    """Return the row that a small program resembles which passes change wrongly; None if there is none.

    The program has all ops of the row, and the passes are those of the row; folds of ``canonicalize`` happen in other
    passes too. Of several rows, it is the one with the most ops, the one of the same pass first.
    """
    names = {op.name for op in module.walk()}
    fitting = []
    for row in symptoms():
        named = set(_CODE.findall(row.passes))
        same = not named.isdisjoint(passes)
        if row.ops and not any(map(names.isdisjoint, row.ops)) and (same or "canonicalize" in named):
            fitting.append(((same, len(row.ops)), row))
    return max(fitting, key=lambda pair: pair[0], default=(None, None))[1]


# --- a report ---------------------------------------------------------------------------------------------------------

_LAST = (
    "--lower-affine",
    "--convert-vector-to-scf",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)
_TENSORS = (
    "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries",
    "--convert-linalg-to-loops",
)
LOWERINGS = (_LAST, ("--arith-expand", *_LAST), (*_TENSORS, *_LAST))
"""The passes that lower programs for mlir-runner. The first with which it prints both results is in the report."""

LIBRARIES = ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so")

RUNNER_SECONDS = 20.0

I64 = ty.IntegerType(64)


@dataclass(frozen=True)
class PassReport:
    """The text of a report. ``shown``: mlir-runner prints both results, as the report says."""

    text: str
    shown: bool


def pass_report(
    pipeline: PassPipeline, module: Module, function: Operation, example: Counterexample, runner: Tool | None
) -> PassReport:
    """Return a report of one counterexample. ``runner``: the mlir-runner that shows it, if there is one.

    Raises HalfulpError if the passes do not change the function in this way when it is alone.
    """
    name = function.symbol_name or ""
    alone = without_unneeded_functions(module, name)
    before = text_of_program(ClosedProgram(alone, name, example.arguments), close=False)
    printer = _printer(alone, function, example)
    if printer is not None and runner is not None:
        program, wanted = before + printer.text, _wanted(example)
        with suppress(PassFailure):
            after = pipeline.apply(program)
            for lowering in LOWERINGS:
                run = _Run(printer.entry, lowering, wanted)
                if wanted is not None and run.prints(pipeline.tool, runner, program, after) == wanted:
                    return PassReport(_text(pipeline, name, program, after, example, run), True)
    return PassReport(_text(pipeline, name, before, pipeline.apply(before), example, None), False)


@dataclass(frozen=True)
class _Printer:
    """A function without arguments that prints the differing element, and its name."""

    entry: str
    text: str


@dataclass(frozen=True)
class _Run:
    """How mlir-runner shows the difference, and what it prints before and after the passes."""

    entry: str
    lowering: tuple[str, ...]
    printed: tuple[str, str] | None

    def prints(self, opt: Tool, runner: Tool, *programs: str) -> tuple[str, ...] | None:
        """Return what mlir-runner prints for these programs; None if it cannot run one."""
        try:
            libraries = ",".join(library(runner, name) for name in LIBRARIES)
            options = ["-e", self.entry, "--entry-point-result=void", f"--shared-libs={libraries}"]
            return tuple(
                runner.run(options, opt.run(self.lowering, text, RUNNER_SECONDS), RUNNER_SECONDS).strip()
                for text in programs
            )
        except (OracleError, Unavailable):
            return None


def find_runner(mlir_opt: Tool) -> Tool | None:
    """Return the mlir-runner beside an mlir-opt, or else the one on PATH; None if there is none."""
    folder, name = os.path.split(os.path.realpath(mlir_opt.path))
    beside = Path(folder) / name.replace("mlir-opt", "mlir-runner")
    try:
        if beside.is_file() and beside.name != name:
            return find_tool(str(beside), None, "", r"LLVM version (\S+)")
        return find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "", r"LLVM version (\S+)")
    except Unavailable:
        return None


def _text(
    pipeline: PassPipeline, name: str, program: str, after: str, example: Counterexample, run: _Run | None
) -> str:
    """Return a report as Markdown."""
    passes = f"--pass-pipeline='{pipeline.pipeline}'"
    arguments = ", ".join(f"`{_spelled(value)}`" for value in example.arguments)
    lines = [
        f"# Wrong result after {passes}",
        "",
        f"LLVM version {pipeline.tool.version}.",
        "",
        "`input.mlir`:",
        "",
        *_fenced("mlir", program),
        "",
        f"The arguments of `@{name}` are {arguments}." if arguments else f"`@{name}` has no arguments.",
        *_wrong(name, example),
        "",
        *_commands(passes, example, run),
        "",
        "After the passes:",
        "",
        *_fenced("mlir", after),
    ]
    return "\n".join(lines) + "\n"


def _fenced(kind: str, *texts: str) -> Iterator[str]:
    yield f"```{kind}"
    yield from (text.rstrip("\n") for text in texts)
    yield "```"


def _wrong(name: str, example: Counterexample) -> Iterator[str]:
    """Yield the right result, and the wrong one after the passes."""
    mismatch, type_ = example.mismatch, example.type
    if example.trap:
        values = ", ".join(f"`{_spelled(value)}`" for value in example.expected)
        yield f"Without the passes, `@{name}` returns {values or 'normally'}. After them: {example.trap}."
    elif example.texts is not None:
        yield f"`@{name}` must print:"
        yield from ("", *_fenced("", example.texts[0]), "", "After the passes, it prints:", "")
        yield from _fenced("", example.texts[1])
    elif mismatch is not None and type_ is not None:
        wrong = "poison" if mismatch.actual is None else f"`{code_text(type_, mismatch.actual)}`"
        yield (
            f"The exact value of {example.output}{element_text(mismatch)}, of type `{type_}`, is "
            f"`{code_text(type_, mismatch.expected)}`. After the passes, it is {wrong}."
        )


def _commands(passes: str, example: Counterexample, run: _Run | None) -> Iterator[str]:
    """Yield the commands that show the difference, and what they print."""
    if run is None or run.printed is None:
        yield from _fenced("console", f"$ mlir-opt {passes} input.mlir")
        return
    if example.texts is None:
        bits = " (the bits of a float)" if isinstance(example.type, ty.FloatType) else ""
        yield from (f"`{run.entry}` prints the result{bits}:", "")
    lower = f"mlir-opt {' '.join(run.lowering)}"
    runner = f"mlir-runner -e {run.entry} --entry-point-result=void --shared-libs={','.join(LIBRARIES)}"
    commands = f"$ {lower} input.mlir | {runner}", f"$ mlir-opt {passes} input.mlir | {lower} | {runner}"
    yield from _fenced("console", commands[0], run.printed[0], commands[1], run.printed[1])


# --- the function that prints -----------------------------------------------------------------------------------------


def _printer(module: Module, function: Operation, example: Counterexample) -> _Printer | None:
    """Return a function that prints the differing element; None if mlir-runner cannot run it."""
    mismatch, name = example.mismatch, function.symbol_name
    inputs, results = argument_types(function), result_types(function)
    if name == "main" and example.texts is not None and not inputs:
        return _Printer("main", "")
    entry = next(free for free in ("main", "entry", "print_result") if module.lookup(free) is None)
    printing: list[str] | None = []
    if example.texts is None:
        if mismatch is None or mismatch.actual is None or mismatch.result >= len(results):
            return None
        printing = _printing(results[mismatch.result], mismatch.element)
    literals = [_literal(value) for value in example.arguments]
    if None in literals or printing is None or any(value.poison is not None for value in example.arguments):
        return None
    constants = [f"%a{k} = arith.constant {text}" for k, text in enumerate(literals)]
    names = ", ".join(f"%a{k}" for k in range(len(inputs)))
    several = len(results) > 1
    call = f"%r{f':{len(results)}' * several} = call @{name}({names}) : {ty.FunctionType(inputs, results)}"
    value = f"%r#{mismatch.result}" if several and mismatch is not None else "%r"
    body = [*constants, call if results else call.partition("= ")[2], *(line.replace("%v", value) for line in printing)]
    return _Printer(
        entry, "\n".join([f"func.func @{entry}() {{", *(f"  {line}" for line in (*body, "return")), "}"]) + "\n"
    )


def _literal(value: Value) -> str | None:
    """Return the text of a value as the attribute of a constant; None if it has none."""
    if isinstance(value.type, ty.ShapedType) and not isinstance(value.type, ty.TensorType | ty.VectorType):
        return None
    constant = constant_of(value, value.type)
    return None if constant is None else str(constant.properties["value"])


def _spelled(value: Value) -> str:
    """Return the text of a value for people; memory as a tensor of its contents."""
    if isinstance(value.type, ty.MemRefType):
        value = Value(ty.TensorType(value.shape, value.element_type), value.bits, value.poison, None, value.origins)
    return _literal(value) or spell_value(value)


def _printing(type_: ty.Type, place: tuple[int, ...]) -> list[str] | None:
    """Return the ops that print the element of a result ``%v``; a float as its bits. None for more than 64 bits."""
    element, width = ty.element_type(type_), element_width(ty.element_type(type_))
    if width is None or width > 64:
        return None
    lines, last = [], "%v"
    if isinstance(type_, ty.TensorType):
        lines += [f"%i{axis} = arith.constant {index} : index" for axis, index in enumerate(place)]
        lines.append(f"%e = tensor.extract %v[{', '.join(f'%i{axis}' for axis in range(len(place)))}] : {type_}")
        last = "%e"
    elif isinstance(type_, ty.VectorType):
        lines.append(f"%e = vector.extract %v[{', '.join(map(str, place))}] : {element} from {type_}")
        last = "%e"
    if isinstance(element, ty.FloatType):
        lines.append(f"%b = arith.bitcast {last} : {element} to i{width}")
        lines += [f"%p = arith.extui %b : i{width} to i64"] * (width < 64)
        last, element = "%p" if width < 64 else "%b", I64
    return [*lines, f"vector.print {last} : {element}"]


def _signed(code: int, width: int) -> int:
    return code - (1 << width) if code >> (width - 1) else code


def _wanted(example: Counterexample) -> tuple[str, str] | None:
    """Return what the function ``@main`` must print before and after the passes, if the difference is real."""
    if example.texts is not None:
        return example.texts[0].strip(), example.texts[1].strip()
    mismatch, type_ = example.mismatch, example.type
    if mismatch is None or mismatch.actual is None or type_ is None:
        return None
    width = width_of(type_)
    unsigned = width == 1 or isinstance(type_, ty.IndexType) or (isinstance(type_, ty.FloatType) and width < 64)
    expected, actual = (code if unsigned else _signed(code, width) for code in (mismatch.expected, mismatch.actual))
    return str(expected), str(actual)
