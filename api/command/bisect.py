"""``halfulp bisect``: name the pass of a compilation that changed the results."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from halfulp.bisecting import page
from halfulp.command import programs as comparing
from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, progress_bar, ranked, say, write
from halfulp.command.execution import Sources, rendered
from halfulp.command.option import Command, duration
from halfulp.command.values import grid_of, profile_named
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit import installed_runner
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.bisection import bisect as bisecting
from halfulp.conformance.whole_programs.bisection import runs as compiling
from halfulp.conformance.whole_programs.bisection.runs import StageRunner, made_inputs
from halfulp.conformance.whole_programs.iree_dumps.chains import chains, is_of_iree, read_all
from halfulp.conformance.whole_programs.validation import Inputs, common_functions
from halfulp.described import amount, argument, flag, option
from halfulp.inputs import make_directory, read_file, write_file
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported, plural
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.loading import parse_module
from halfulp.interp.run.evaluators import Launched, evaluator_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.loading import decode_text
from halfulp.running import find_entry

_BISECT = """\
Run every stage of a compilation on the same inputs, and name the first pass that changed a result to one that the stage
before does not allow:

  halfulp bisect model.mlir --pass-pipeline "builtin.module(...)"   mlir-opt runs the passes
  halfulp bisect --dumps all.txt        what mlir-opt or iree-compile printed with --mlir-print-ir-after-all
  halfulp bisect --dumps folder         what they wrote with --mlir-print-ir-tree-dir
  halfulp bisect a.mlir b.mlir c.mlir   the stages as files
  halfulp bisect --dumps all.txt --grid=4 --input=...   what Triton printed with MLIR_ENABLE_DUMP=1

Each stage is compared with the last stage before it that ran. The verdicts are unchanged (the same text), identical
(the same bits), refined (the stage before is poison or leaves bits open where they differ), permitted (with the
reason), known divergence, DIFFERENT, or not run (with the reason). Tensors that became memrefs, results that became
arguments, and types with as many bits are mapped.
Without --input, the arguments are generated. The stages of a kernel of Triton are compared by what their ops mean, not
by the instructions of their target.
"""


@dataclass(frozen=True, kw_only=True)
class BisectArguments(comparing.PassOptions, comparing.ContractOption, comparing.ProgramOptions):
    """The options of ``halfulp bisect``."""

    files: tuple[str, ...] = argument(
        "FILE", "the program, or the stages as files; with --dumps, the program before all passes", nargs="*"
    )
    pass_pipeline: str | None = option("PIPELINE", "run these passes of mlir-opt on the program")
    dumps: str | None = option("PATH", "read the stages from a file or folder of dumps")
    grid: str | None = option("X,Y,Z", "the number of programs of a kernel of Triton; Y and Z may be left out")
    n: int = amount("the number of inputs to generate (default: 8)", 8)
    vscale: int | None = amount("the factor of the size of scalable vectors")
    max_steps: int = amount("the largest number of ops of one run (default: 100000000)", 100_000_000)
    seconds: float = option("S", "the time for all passes (default: 120)", 120.0, type=duration)
    keep: str | None = option("DIR", "write each stage into this directory")
    reduce: str | None = option(
        "FILE",
        "make the program smaller as long as the same pass changes its result, and write a report for its developers",
    )
    html: str | None = option("FILE", "write a page with the stages side by side")
    json: bool = flag("print one JSON object for each function")


_LONGEST_NAME = 80
"""The most characters of the name of a pass in the name of a file."""


def bisect_passes(arguments: BisectArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    wrong = _wrong_use(arguments)
    if wrong is not None:
        return fail(wrong)
    pipeline = None if arguments.pass_pipeline is None else comparing.pass_pipeline(arguments.pass_pipeline, arguments)
    if pipeline is not None:
        pipeline = replace(pipeline, seconds=arguments.seconds)
    dumps = _dumps(arguments)
    if dumps is not None and is_of_iree(dumps):
        try:
            modules = read_all(dump.text for dump in dumps.passes)
        except Unavailable as reason:
            say(f"note: IREE's own ops in the dump cannot be read: {reason}")
        else:
            return _bisected_of_iree(arguments, sources, chains(dumps, modules))
    compilation = _compilation(arguments, sources, pipeline, dumps)
    if arguments.keep is not None:
        _keep(compilation, arguments.keep)
    for stage in compilation.stages:
        if isinstance(stage.module, Module):
            stage.module.operation.attributes.pop(_TARGET, None)
    first = _first(compilation)
    if first is None:
        raise Unsupported("no stage can be read", notes=[(None, str(one.module)) for one in compilation.stages[:1]])
    codes = []
    written = _Written([], [])
    for function in _functions(first, arguments):
        codes.append(_bisected(arguments, sources, compilation, function, pipeline, written))
    return ranked(codes)


BISECT = Command(BisectArguments, bisect_passes, _BISECT, comparing.COMPARISON_CODES)


def _functions(first: Module, arguments: BisectArguments) -> list[Operation]:
    """Return the functions of the first stage that are compared: for kernels of Triton the one that is launched. Raise
    HalfulpError.
    """
    if not any(isinstance(evaluator_of(op), Launched) for op in first.body):
        return [function for function, _ in common_functions(first, first, arguments.function)]
    kernel = find_entry(first, arguments.function)
    if arguments.grid is None or not arguments.input:
        raise InputError(
            f"@{kernel.symbol_name} is a kernel of Triton: its stages run on one input",
            hint="give --grid=4,1 and an --input for each argument",
        )
    return [kernel]


_TARGET = "ttg.target"
"""The attribute of a module of Triton whose instructions the stages would be run by."""


def _first(compilation: compiling.Compilation) -> Module | None:
    """Return the first stage that can be read."""
    return next((one.module for one in compilation.stages if isinstance(one.module, Module)), None)


def _bisected_of_iree(
    arguments: BisectArguments, sources: Sources, found: Sequence[tuple[str, compiling.Compilation]]
) -> int:
    """Run and judge each program and each dispatch by itself, and return the exit code. Raise HalfulpError."""
    if arguments.files:
        raise InputError("dumps of IREE's compiler contain the program: leave out the file")
    wanted = None if arguments.function is None else arguments.function.removeprefix("@")
    if wanted is not None and wanted not in dict(found):
        raise InputError(
            f"the dumps have no function @{wanted}; they have {', '.join(f'@{name}' for name, _ in found)}"
        )
    codes = []
    written = _Written([], [])
    for number, (name, compilation) in enumerate(found):
        if wanted not in (None, name):
            continue
        if arguments.keep is not None:
            _keep(compilation, str(Path(arguments.keep) / f"{number:02}-{name}"))
        first = _first(compilation)
        function = None if first is None else first.lookup(name)
        if first is None or function is None:
            why = next((str(one.module) for one in compilation.stages if isinstance(one.module, HalfulpError)), "")
            say(f"@{name}: no stage can be read{f': {why}' if why else ''}")
            codes.append(UNSUPPORTED)
        else:
            codes.append(_bisected(arguments, sources, compilation, function, None, written))
    return ranked(codes)


class _Written(NamedTuple):
    """The texts of the page and the report that are complete so far, for all functions together."""

    found: list[bisecting.Bisection]
    reports: list[str]


def _wrong_use(arguments: BisectArguments) -> str | None:
    """Return what is wrong with the options; None if nothing is."""
    files = len(arguments.files)
    if arguments.pass_pipeline is not None and arguments.dumps is not None:
        return "--pass-pipeline and --dumps cannot be combined: give one of them"
    if arguments.pass_pipeline is not None and files != 1:
        return f"--pass-pipeline takes one file, not {files}"
    if arguments.dumps is not None and files > 1:
        return f"--dumps takes at most one file, the program before all passes, not {files}"
    if arguments.pass_pipeline is None and arguments.dumps is None and files < 2:
        return "missing: give one of --pass-pipeline, --dumps and the stages as files"
    if arguments.reduce is not None and arguments.pass_pipeline is None:
        return "--reduce can be used only with --pass-pipeline: the passes run again"
    if arguments.files.count("-") > 1:
        return "only one stage can be the standard input"
    return None


def _dumps(arguments: BisectArguments) -> compiling.Dumps | None:
    """Return the dumps that --dumps names; None without it. Raise InputError if there are none in it."""
    if arguments.dumps is None:
        return None
    given = Path(arguments.dumps)
    if given.is_dir():
        dumps = compiling.read_folder(given)
    else:
        dumps = compiling.read_dumps(decode_text(read_file(given)) if given.is_fifo() else compiling.read_text(given))
    if not dumps.passes:
        raise InputError(f"{given} has no dump: its lines must begin with '// -----// IR Dump'")
    return dumps


def _compilation(
    arguments: BisectArguments, sources: Sources, pipeline: PassPipeline | None, dumps: compiling.Dumps | None
) -> compiling.Compilation:
    if pipeline is None and dumps is None:
        return compiling.Compilation(tuple(_of_file(path, arguments, sources) for path in arguments.files))
    stages = [_read(path, arguments, sources) for path in arguments.files]
    if pipeline is not None:
        return compiling.of_pipeline(stages[0], pipeline)
    assert dumps is not None
    of_kernels = any(" tt.func " in dump.text for dump in dumps.passes)  # which mlir-opt does not know
    read = parse_module if of_kernels else _reader(arguments)
    return compiling.of_dumps(dumps, read, stages[0] if stages else None)


def _read(path: str, arguments: BisectArguments, sources: Sources) -> compiling.Stage:
    module = comparing.readable(path, arguments, sources)
    return compiling.Stage(module.filename, "", sources.get(module.filename) or text_of(module), module)


def _of_file(path: str, arguments: BisectArguments, sources: Sources) -> compiling.Stage:
    """Return the stage of a file. If its text cannot be parsed, print the error. Such a stage does not run, like a dump
    that cannot be parsed.

    Raises InputError if there is no such file.
    """
    try:
        return _read(path, arguments, sources)
    except InputError:
        raise
    except HalfulpError as error:
        say(rendered(error, sources))
        name = "<stdin>" if path == "-" else path
        return compiling.Stage(name, "", sources.get(name, ""), error)


def _reader(arguments: BisectArguments) -> compiling.ParseModule:
    """Return a function that parses the texts of stages, with the help of mlir-opt if it is installed."""
    try:
        return PassPipeline(find_mlir_opt(arguments.mlir), "").read
    except Unavailable:
        return parse_module


def _keep(compilation: compiling.Compilation, folder: str) -> None:
    """Write each stage into a directory."""
    make_directory(folder)
    for number, stage in enumerate(compilation.stages):
        name = re.sub(r"[^\w.-]+", "_", stage.argument or Path(stage.name).stem.strip("<>"))[:_LONGEST_NAME] or "stage"
        path = Path(folder) / f"{number:03}-{name}.mlir"
        write_file(path, stage.text.encode("utf-8", "surrogateescape"), follow=False)


def _bisected(
    arguments: BisectArguments,
    sources: Sources,
    compilation: compiling.Compilation,
    function: Operation,
    pipeline: PassPipeline | None,
    written: _Written,
) -> int:
    """Run and judge the stages of one function, and return its exit code."""
    profile = refuse_stochastic(profile_named(arguments.profile), "bisect")
    grid = None if arguments.grid is None else grid_of(arguments.grid)
    settings = Settings(profile, vscale=arguments.vscale, max_steps=arguments.max_steps, grid=grid)
    inputs = Inputs(
        count=arguments.n,
        seed=arguments.seed,
        vscale=arguments.vscale,
        given=comparing.given_arguments(arguments, function, sources, arguments.vscale, memory=True),
    )
    made = made_inputs(function, inputs)
    judges: list[bisecting.Judge] = [partial(bisecting.permission_judge, fp_contract=arguments.fp_contract)]
    if pipeline is not None:
        judges.insert(
            0, bisecting.known_judge(pipeline, compilation.stages, *comparing.known_divergences(arguments), settings)
        )
    with progress_bar("stages") as progress:
        found = bisecting.bisect(compilation, StageRunner(function, made, settings), judges, progress, installed_runner)
    if arguments.json:
        write(json.dumps(bisecting.bisection_record(found)) + "\n")
    else:
        notes = "".join(f"; {note}" for note in made.notes)
        head = f"@{found.function}: {plural(len(found.results), 'stage')}, {plural(made.count, 'input')}{notes}"
        write("\n".join([head, *bisecting.bisection_lines(found)]) + "\n")
    if arguments.html is not None:
        written.found.append(found)
        write_file(arguments.html, page(written.found).encode("utf-8", "replace"))
    if found.end == "interrupted":
        raise KeyboardInterrupt
    if arguments.reduce is not None and pipeline is not None and found.guilty is not None:
        _report(arguments.reduce, found, pipeline, function, written.reports)
    if found.guilty is not None:
        return DIFFERENT
    if found.end:
        return WRONG_USE
    return SUCCESS if found.compared else UNSUPPORTED


def _report(
    path: str, found: bisecting.Bisection, pipeline: PassPipeline, function: Operation, reports: list[str]
) -> None:
    """Write a report of the guilty pass after those of other functions, and say whether mlir-runner shows it.

    Raise HalfulpError.
    """
    report = bisecting.report_of_guilty(found, pipeline, function)
    reports.append(report.text)
    write_file(path, "\n".join(reports).encode("utf-8", "surrogateescape"))
    shown = "mlir-runner prints both results" if report.shown else "mlir-runner does not show the difference"
    say(f"{path}: a report of @{found.function}; {shown}")
