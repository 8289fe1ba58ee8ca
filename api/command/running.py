"""The inputs of commands that run a function, and their results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.command.console import DIFFERENT, SUCCESS, UNDEFINED, say, write
from halfulp.command.options.calls import CallOptions, FunctionOptions, FunctionResultOptions, ResultOptions
from halfulp.command.semantics import model_of, profile_named, source_of_bits
from halfulp.command.sources import Sources
from halfulp.command.values import check_size, differences, poison_origins, read_value, write_npy
from halfulp.interp.ir.errors import InputError, TypeMismatch, wrong_count
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import MemRefType, TensorType, Type, contents_type, element_count, element_type, shape_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.element_layout import spell_value
from halfulp.interp.values.value import Value
from halfulp.run_options import RunKeywords
from halfulp.running import find_entry, lowered_from
from halfulp.semantics.kernel import Origin


def run_keywords(arguments: CallOptions | ResultOptions) -> dict[str, Any]:
    """Return the run options that were given, as keywords of `halfulp.run`; all others have their defaults there.

    Raise InputError for a profile, a model or a source of random bits that does not exist.
    """
    given = {name: getattr(arguments, name, None) for name in RunKeywords.__annotations__}
    keywords = {name: value for name, value in given.items() if value is not None}
    if "mma" in keywords:
        keywords["mma"] = model_of(keywords["mma"])
    if "random" in keywords:
        keywords["random"] = source_of_bits(keywords["random"])
    return {**keywords, "profile": profile_named(keywords["profile"])}


@dataclass(frozen=True)
class RunInputs:
    """The arguments of a run, and the values expected of its results and then of memory."""

    values: tuple[Value | Buffer, ...]
    expected: tuple[Value, ...]


def arguments_of(module: Module, arguments: FunctionOptions, sources: Sources) -> tuple[Value | Buffer, ...]:
    """Read the arguments of the function that runs. Raise HalfulpError."""
    function = find_entry(module, arguments.function)
    types = argument_types(function)
    _check_count(function, types, arguments)
    return read_inputs(arguments.input, types, arguments.max_bytes, arguments.vscale, sources)


def _check_count(function: Operation, types: Sequence[Type], arguments: FunctionOptions) -> None:
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments.input)),
            location=function.location,
            hint="give each with --input",
        )


def given(
    module: Module, arguments: FunctionResultOptions, sources: Sources, signature: str | None = None
) -> RunInputs:
    """Read the inputs and expected outputs of a run. ``signature``: as for `halfulp.run`. Raise HalfulpError."""
    function = find_entry(module, arguments.function)
    types, results_expected = argument_types(function), result_types(function)
    if signature is not None:
        source = lowered_from(function, signature).source
        types, results_expected = source.inputs, source.results
    _check_count(function, types, arguments)
    memory = tuple([type_ for type_ in types if isinstance(type_, MemRefType)])
    for option, given in (("--output", arguments.output), ("--expected_output", arguments.expected_output)):
        if len(given) > len(results_expected) + len(memory):
            there = f"{len(results_expected)} results{f' and {len(memory)} memrefs' if memory else ''}"
            raise TypeMismatch(
                f"@{function.symbol_name} has {there}, but {len(given)} are named by {option}",
                location=function.location,
            )
    if arguments.batch:
        types = tuple(map(_lanes_type, arguments.input, types))
        expecting = tuple(map(_lanes_type, arguments.expected_output, results_expected))
    else:
        expecting = results_expected
    values = read_inputs(arguments.input, types, arguments.max_bytes, arguments.vscale, sources)
    if arguments.batch:
        values = tuple(map(_shared_by_lanes, values, argument_types(function)))
    expected = [
        read_value(text, _tensor_type(type_), f"<expected output {index}>", sources, arguments.vscale)
        for index, (text, type_) in enumerate(zip(arguments.expected_output, (*expecting, *memory), strict=False))
    ]
    return RunInputs(values, tuple(expected))


def read_inputs(
    texts: Sequence[str], types: Sequence[Type], max_bytes: int | None, vscale: int | None, sources: Sources
) -> tuple[Value | Buffer, ...]:
    """Read the values of ``--input``, one for each type. Raise HalfulpError."""
    values: list[Value | Buffer] = []
    max_bytes = max_bytes or Settings.max_bytes
    for index, (text, type_) in enumerate(zip(texts, types, strict=True)):
        what = f"<input {index}>"
        memory = isinstance(type_, MemRefType)
        value = read_value(text, _tensor_type(type_), what, sources, vscale)
        check_size(value, what, max_bytes)
        values.append(to_argument(value, type_, what, max_bytes=max_bytes) if memory else value)
    return tuple(values)


def _tensor_type(type_: Type) -> Type:
    """Return the type in which a value is given on the command line: for a memref, the tensor of its elements."""
    return contents_type(type_) if isinstance(type_, MemRefType) else type_


def _shared_by_lanes(value: Value | Buffer, type_: Type) -> Value | Buffer:
    """Return a memref of a batch that has no axis over lanes as a value, which each lane gets a copy of."""
    return value.load() if isinstance(value, Buffer) and len(value.shape) == len(shape_of(type_) or ()) else value


def _lanes_type(text: str, type_: Type) -> Type:
    """Return the type of an input of a batch that does not name its own: with an axis over the lanes where there are
    more elements than one lane has. A file has its own shape.
    """
    element, shape = element_type(type_), shape_of(type_)
    kind = MemRefType if isinstance(type_, MemRefType) else TensorType
    if text.startswith("@"):
        return kind(None, element)
    each, count = element_count(type_), len(re.sub(r"[\[\],]", " ", text).split())
    if shape is None or not each or count <= each or count % each:
        return type_
    return kind((count // each, *shape), element)


def check_outputs(arguments: ResultOptions) -> None:
    """Raise InputError for an ``--output`` that does not name a file."""
    for output in arguments.output:
        if not output.startswith("@") or len(output) == 1:
            raise InputError(f"--output={output}: write --output=@FILE")


def deliver(
    results: Sequence[Value],
    expected: Sequence[Value],
    arguments: ResultOptions,
    spell: Callable[[Value], str] | None = None,
    given: Sequence[Value | Buffer] = (),
) -> int:
    """Print or write the results, report their poison, compare them, and return the exit code.

    ``spell``: spells a value; None for the whole value. ``given``: the arguments. The contents of memrefs among them
    are printed after the results.
    """
    code = SUCCESS
    memory = [(f"argument[{k}]", held.load()) for k, held in enumerate(given) if isinstance(held, Buffer)]
    for index, (name, value) in enumerate([*((f"result[{k}]", value) for k, value in enumerate(results)), *memory]):
        if index < len(arguments.output):
            write_npy(arguments.output[index][1:], value)
        else:
            write(f"{name}: {(spell or spell_value)(value)}\n")
        # One stream after the other, so that a terminal shows them in this order.
        sys.stdout.flush()
        severity = "error" if arguments.forbid_poison else "note"
        for origin, count, first in poison_origins(value):
            elements = f"{count} poison element{'s'[: count > 1]}, the first at {list(first)}" if first else "poison"
            say(f"{severity}: {name}: {elements}: {_birth(origin)}")
            code = max(code, UNDEFINED if arguments.forbid_poison else SUCCESS)
        for line in differences(expected[index], value) if index < len(expected) else ():
            say(f"error: {name}: {line}")
            code = max(code, DIFFERENT)
    return code


def _birth(origin: Origin) -> str:
    """Tell where poison was born: the reason, the op, and the place and element where they are known."""
    where = f"{origin.op} at {origin.location}" if origin.location else origin.op
    return f"{origin.reason} ({where}{f', element {list(origin.element)}' if origin.element else ''})"
