"""Options and functions that several commands use which compare programs: arguments, oracles and passes of mlir-opt."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from halfulp.command.console import EXIT_CODES, fail, say
from halfulp.command.execution import Sources, read
from halfulp.command.values import read_memory, read_value
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, cancellations, divergences
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.closed_programs import ByOps, text_of
from halfulp.conformance.oracles.mlir_opt import NEWEST, find_mlir_opt
from halfulp.conformance.oracles.oracle import ClosedProgram, ProgramOracle, Unavailable
from halfulp.conformance.oracles.tool import PassPipeline, Tool
from halfulp.conformance.whole_programs import diff
from halfulp.conformance.whole_programs.arguments import EXHAUSTIVE_BITS, Arguments, generated, one_input
from halfulp.conformance.whole_programs.counterexamples import Counterexample, counterexample_lines, header
from halfulp.conformance.whole_programs.diff import inputs_of, text_of_program
from halfulp.conformance.whole_programs.pass_differences import (
    PassCrash,
    PassFault,
    SamePassDifference,
    find_runner,
    pass_report,
    resembled,
)
from halfulp.described import as_given, flag, option, profile_option, repeated
from halfulp.inputs import make_directory, write_file
from halfulp.interp.ir import errors
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.ir.types import DialectType, MemRefType, is_memory
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.value import Value
from halfulp.release import version_text
from halfulp.running import find_entry, function_path

COMPARISON_CODES = (
    EXIT_CODES.replace("0 fine or equal", "0 equal, open or known")
    .replace("1 values differ", "1 unexplained differences")
    .replace("3 unsupported", "3 nothing was compared")
)


@dataclass(frozen=True, kw_only=True)
class KnownOption:
    """The option to ignore the known divergences."""

    no_known: bool = flag("do not use the table of known divergences")


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(KnownOption):
    """The function of a program that is compared, its inputs, and the semantics."""

    function: str | None = option(
        "NAME", "the function (default: the only public one, or @main; for two versions: all)"
    )
    input: tuple[str, ...] = repeated("VALUE", "the next argument, as for run")
    seed: int = option("N", "the seed of the generated inputs (default: 0)", 0, type=int)
    profile: str = profile_option("the profile that halfulp uses")


@dataclass(frozen=True, kw_only=True)
class ContractOption:
    """The option that says where a product and a sum may become a fused multiply-add."""

    fp_contract: str = option(
        "MODE",
        "where fused multiply-adds are permitted, as for LLVM's tools: on (default) and off: for ops with the flag "
        "contract, fast: everywhere",
        "on",
        choices=("on", "off", "fast"),
    )


@dataclass(frozen=True, kw_only=True)
class PassOptions:
    """The option that names the mlir-opt that runs passes."""

    mlir: str | None = option(
        "MLIR",
        "what runs the passes: 22, mlir-opt-22 on PATH; 24, the Python package torch-mlir; python:PACKAGE, other "
        "bindings; triton, the library of Triton, for translate --check alone; or the path of an mlir-opt (default: "
        "$HALFULP_MLIR_OPT, else 24 if it is installed, else 22)",
        alias="--mlir-opt",
    )


def known_divergences(arguments: KnownOption) -> tuple[Sequence[Divergence], Sequence[Cancellation]]:
    """Return the tables of known divergences; empty tables if the user ignores them."""
    return ((), ()) if arguments.no_known else (divergences(), cancellations())


def oracles_named(spelling: str, mlir: str | None = None) -> tuple[list[ProgramOracle], list[int]]:
    """Return the oracles whose names the text lists with commas. If one is not available, print the reason; the exit
    codes of these are returned too. An oracle that answers only single ops runs a program op by op. ``mlir``: the MLIR
    of the oracles that have a choice.
    """
    found: list[ProgramOracle] = []
    codes = []
    for name in spelling.split(","):
        try:
            made = oracle(name, mlir)
        except Unavailable as reason:
            codes.append(fail(f"{name}: {reason}"))
        except ValueError as error:
            codes.append(fail(str(error)))
        else:
            found.append(made if isinstance(made, ProgramOracle) else ByOps(made))
    return found, codes


def parse(path: str, sources: Sources) -> Module:
    """Read and verify the module of a file."""
    return read(path, sources).program()


def given_arguments(
    arguments: ProgramOptions, function: Operation, sources: Sources, vscale: int | None = None, memory: bool = False
) -> Arguments | None:
    """Return the arguments of --input, if there are any. ``memory``: the function may have memrefs, and pointers if it
    is a kernel.
    """
    types = argument_types(function)
    held = next((type_ for type_ in types if isinstance(type_, MemRefType)), None)
    if held is not None and not memory:
        raise errors.Unsupported(
            f"@{function.symbol_name} has an argument of type '{held}', "
            "but only programs on scalars, tensors and vectors are compared",
            location=function.location,
            hint="change the function: take a tensor, and store it into memory that the function allocates "
            "(iree_codegen.store_to_buffer)",
        )
    if not arguments.input:
        return None
    if len(arguments.input) != len(types):
        raise errors.TypeMismatch(
            errors.wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments.input)),
            location=function.location,
        )
    values: list[Value | Buffer] = []
    for index, (text, type_) in enumerate(zip(arguments.input, types, strict=True)):
        what = f"<input {index}>"
        if isinstance(type_, DialectType) and type_.pointee is not None:
            values.append(read_memory(text, type_.pointee, what, Settings.max_bytes, sources))
        else:
            values.append(to_argument(read_value(text, type_, what, sources, vscale), type_, what, vscale))
    held_in = [value.type if is_memory(type_) else type_ for value, type_ in zip(values, types, strict=True)]
    return one_input(values, held_in)


def programs_of(file: str, arguments: ProgramOptions, sources: Sources, count: int) -> list[ClosedProgram]:
    """Return the program of the file with the given arguments, or with ``count`` tuples of generated ones."""
    module = parse(file, sources)
    function = find_entry(module, arguments.function)
    inputs = given_arguments(arguments, function, sources)
    if inputs is None:
        bits = min(EXHAUSTIVE_BITS, count.bit_length() - 1)
        inputs = generated(argument_types(function), count, arguments.seed, exhaustive_bits=bits)
    name = function_path(function).replace("@", "")
    return [ClosedProgram(module, name, inputs.row(index)) for index in range(inputs.count)]


# --- passes -----------------------------------------------------------------------------------------------------------
#
# Pass pipelines on the command line: the mlir-opt that runs them, and the module after the passes.


DIFFERENT_LINES = 40
"""If runs of the passes give different texts, the most lines of the difference that are shown."""


def mlir_named(arguments: PassOptions) -> Tool:
    """Return the mlir-opt that the options name. Raise InputError if it is not available."""
    try:
        return find_mlir_opt(arguments.mlir)
    except Unavailable as reason:
        raise errors.InputError(str(reason), hint="--mlir=22, 24 or PATH names another one") from None


def pass_pipeline(pipeline: str, arguments: PassOptions) -> PassPipeline:
    """Return the pipeline of the mlir-opt that the options name. Raise InputError if it is not available."""
    return PassPipeline(mlir_named(arguments), pipeline)


def readable(path: str, arguments: PassOptions, sources: Sources) -> Module:
    """Read the module of a file, and return it. If it has ops whose form is not known, mlir-opt converts it to the
    generic form, so that its other functions can run. Ops keep their places in the file. Raise HalfulpError.
    """
    source = read(path, sources)
    try:
        return source.program()
    except (errors.ParseError, errors.Unsupported) as unknown:
        try:
            pipeline = PassPipeline(find_mlir_opt(arguments.mlir), "")
            return parse_module(pipeline.generic(source.text or "", source.name, placed=True), source.name)
        except (errors.HalfulpError, Unavailable):
            raise unknown from None


def after_passes(
    pipeline: PassPipeline, before: Module, repeat: int, keep: str | None, sources: Sources
) -> tuple[list[Module], str]:
    """Run the passes ``repeat`` times. Return the different modules that they printed, the most frequent one first; and
    a text that says how they differ, "" if all runs printed the same. Raise HalfulpError.
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
    lines = [f"error: the passes printed {len(texts)} different modules in {errors.plural(repeat, 'run')}: {counts}"]
    first, second = (sources[name].splitlines() for name in names[:2])
    changes = unified_diff(first, second, names[0], names[1], lineterm="", n=1)
    return modules, "\n".join([*lines, *(f"  {line}" for line in islice(changes, DIFFERENT_LINES))]) + "\n"


def _names(before: str, count: int, keep: str | None) -> Iterator[str]:
    """Yield names for the modules after the passes: of files in the directory ``keep``, or invented names."""
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


# --- reduced ----------------------------------------------------------------------------------------------------------
#
# Reduced programs as text, with the difference and the command that shows it.


_AGAIN = ("mlir", "profile", "fp_contract")
"""The options of a search that the command which shows its finding needs as well."""


def reduced_text(
    program: ClosedProgram,
    difference: diff.Difference,
    oracle: ProgramOracle,
    output: str | None,
    spelling: str,
    arguments: object,
) -> str:
    """Return the text of a reduced program, with the difference and the command that shows it as comments.
    ``spelling``: the name of the oracle in this command. ``arguments``: the options of the search.
    """
    more = as_given(arguments, _AGAIN) + (" --no-known" if difference.known else "")
    return with_command(
        header(difference, oracle.name, oracle.version, version_text()), program, output, spelling, more
    )


def reduced_by_passes(found: PassFault, pipeline: PassPipeline, output: str | None, arguments: object) -> str:
    """Return the text of a reduced program that passes change wrongly, with the versions, their effect, the command
    that shows it, what the newest MLIR does, and the known finding that it resembles, as comments. ``arguments``: the
    options of the search.
    """
    program = found.program
    lines = [f"// {pipeline.command}", f"// {version_text()}, {pipeline.version}{_newest(found, pipeline)}"]
    if isinstance(found, PassCrash):
        lines.append(f"// {found.failure.message}")
        return "\n".join(lines) + "\n" + text_of_program(program, close=False)
    lines += [f"// {line.strip()}" for line in counterexample_lines(found.function, found.example)[1:]]
    like = resembled(pipeline.passes, program.module)
    lines.append(f"// resembles {'no known finding' if like is None else like}")
    inputs = "".join(f" {option}" for option in inputs_of(program))
    command = f"halfulp diff {output or 'reduced.mlir'} --function={program.function}{inputs}"
    more = as_given(arguments, (*_AGAIN, "no_known"))
    lines.append(f"// reproduce: {command} --pass-pipeline={shlex.quote(pipeline.pipeline)}{more}")
    return "\n".join(lines) + "\n" + text_of_program(program, close=False)


def _newest(found: PassFault, pipeline: PassPipeline) -> str:
    """Return what the newest MLIR that is known does with a reduced program, as the end of a line."""
    try:
        newest = PassPipeline(find_mlir_opt(NEWEST), pipeline.pipeline, pipeline.seconds, in_generic_form=True)
    except Unavailable:
        return f"; MLIR {NEWEST} is not installed"
    if newest.version == pipeline.version:
        return ", which is the newest MLIR that halfulp knows"
    try:
        (again,) = SamePassDifference(newest).differences([found.program])
    except errors.HalfulpError as error:
        return f"; {newest.version}: {error.message}"
    return f"; {newest.version}: {'right' if again is None else 'wrong too'}"


def with_command(
    header: Iterable[str], program: ClosedProgram, output: str | None, spelling: str, more: str = ""
) -> str:
    """Return the text of a reduced program under comments: the lines of ``header``, and the command that shows the
    difference.
    """
    inputs = "".join(f" {option}" for option in inputs_of(program))
    command = f"halfulp diff {output or 'reduced.mlir'} --function={program.function}{inputs}"
    lines = [*header, f"// reproduce: {command} --against {shlex.quote(spelling)}{more}"]
    return "\n".join(lines) + "\n" + text_of_program(program, close=False)
