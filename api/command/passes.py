"""Pass pipelines on the command line: the mlir-opt that runs them, and the module after the passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from halfulp.command.console import say
from halfulp.command.options.programs import PassOptions
from halfulp.command.sources import Sources, read
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import PassPipeline, find_mlir_opt
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.pass_differences import find_runner, pass_report
from halfulp.inputs import make_directory, write_file
from halfulp.interp.ir.errors import HalfulpError, InputError, ParseError, Unsupported, plural
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.loading import parse_module

DIFFERENT_LINES = 40
"""The most lines that are shown of the differences between two runs of the passes."""


def pass_pipeline(pipeline: str, arguments: PassOptions) -> PassPipeline:
    """Return the pipeline of the mlir-opt that the options name. Raise InputError if it is not available."""
    try:
        return PassPipeline(find_mlir_opt(arguments.mlir_opt), pipeline)
    except Unavailable as reason:
        raise InputError(str(reason), hint="--mlir-opt=PATH names another program") from None


def readable(path: str, arguments: PassOptions, sources: Sources) -> Module:
    """Read the module of a file. If it has ops whose form is not known, mlir-opt converts it to the generic form: its
    other functions can run. Ops keep their places in the file. Raise HalfulpError.
    """
    source = read(path, sources)
    try:
        return source.program()
    except (ParseError, Unsupported) as unknown:
        try:
            pipeline = PassPipeline(find_mlir_opt(arguments.mlir_opt), "")
            return parse_module(pipeline.generic(source.text or "", source.name, placed=True), source.name)
        except (HalfulpError, Unavailable):
            raise unknown from None


def after_passes(
    pipeline: PassPipeline, before: Module, repeat: int, keep: str | None, sources: Sources
) -> tuple[list[Module], str]:
    """Return the module after the passes: every one that a run of them printed, the most frequent first. Return too how
    they differ, "" if all are the same. Raise HalfulpError.
    """
    given = sources.get(before.filename) or text_of(before)
    texts = Counter(pipeline.apply(given, before.filename) for _ in range(repeat)).most_common()
    names = list(_names(before.filename, len(texts), keep))
    modules = []
    for (text, _), name in zip(texts, names, strict=True):
        module = pipeline.read(text, name)
        sources[name] = module.text or ""
        if keep is not None:
            write_file(name, sources[name].encode("utf-8", "surrogateescape"))
        modules.append(module)
    if len(texts) == 1:
        return modules, ""
    counts = " and ".join(str(count) for _, count in texts)
    lines = [f"error: the passes printed {len(texts)} different modules in {plural(repeat, 'run')}: {counts}"]
    first, second = (sources[name].splitlines() for name in names[:2])
    changes = unified_diff(first, second, names[0], names[1], lineterm="", n=1)
    return modules, "\n".join([*lines, *(f"  {line}" for line in islice(changes, DIFFERENT_LINES))]) + "\n"


def _names(before: str, count: int, keep: str | None) -> Iterator[str]:
    """Yield the names of the modules after the passes: of files in the directory ``keep``, or made-up ones."""
    stem = Path(before).stem.strip("<>")
    for number in range(1, count + 1):
        end = "" if number == 1 else f"-{number}"
        if keep is None:
            yield f"<after{end}>"
        else:
            make_directory(keep)
            yield str(Path(keep) / f"{stem}-after{end}.mlir")


def write_report(
    path: str, pipeline: PassPipeline, module: Module, function: Operation, example: Counterexample
) -> None:
    """Write a report of a counterexample, and say whether mlir-runner shows it. Raise HalfulpError."""
    report = pass_report(pipeline, module, function, example, find_runner(pipeline.tool))
    write_file(path, report.text.encode("utf-8", "surrogateescape"))
    shown = "mlir-runner prints both results" if report.shown else "mlir-runner does not show the difference"
    say(f"{path}: a report of @{function.symbol_name}; {shown}")
