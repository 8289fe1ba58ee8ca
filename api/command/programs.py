"""The programs, arguments and implementations that ``diff``, ``reduce`` and ``fuzz`` compare."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.command.console import fail
from halfulp.command.options.programs import KnownOption, ProgramOptions
from halfulp.command.sources import Sources, read
from halfulp.command.values import read_value
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, cancellations, divergences
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import ClosedProgram, ProgramOracle, Unavailable
from halfulp.conformance.oracles.programs_by_ops import ByOps
from halfulp.conformance.whole_programs.arguments import EXHAUSTIVE_BITS, Arguments, generated, given
from halfulp.interp.ir.errors import TypeMismatch, Unsupported, wrong_count
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.ir.types import MemRefType
from halfulp.interp.values.buffers import to_argument
from halfulp.running import find_entry, function_path


def known_divergences(arguments: KnownOption) -> tuple[Sequence[Divergence], Sequence[Cancellation]]:
    """Return the tables of known divergences; empty ones where they are to be ignored."""
    return ((), ()) if arguments.no_known else (divergences(), cancellations())


def oracles_named(spelling: str) -> tuple[list[ProgramOracle], list[int]]:
    """Return the oracles named between commas. For those that are not available, say why, and return the exit codes.

    An oracle that answers single ops only runs a program op by op.
    """
    found: list[ProgramOracle] = []
    codes = []
    for name in spelling.split(","):
        try:
            made = oracle(name)
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
    """Return the arguments of --input, if there are any. ``memory``: the function may have memrefs."""
    types = argument_types(function)
    held = next((type_ for type_ in types if isinstance(type_, MemRefType)), None)
    if held is not None and not memory:
        raise Unsupported(
            f"@{function.symbol_name} has an argument of type '{held}', but only programs on values are compared",
            location=function.location,
            hint="let it take a tensor, and store that into memory of its own (iree_codegen.store_to_buffer)",
        )
    if not arguments.input:
        return None
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments.input)),
            location=function.location,
        )
    values = []
    for index, (text, type_) in enumerate(zip(arguments.input, types, strict=True)):
        what = f"<input {index}>"
        values.append(to_argument(read_value(text, type_, what, sources, vscale), type_, what, vscale))
    return given(values, types)


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
