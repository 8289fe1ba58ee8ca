"""The options of commands that call a function, its inputs, and its results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from halfulp.command import values as options
from halfulp.command.console import DIFFERENT, SUCCESS, UNDEFINED, put, say, write
from halfulp.command.execution import Sources
from halfulp.command.records import value_record
from halfulp.described import amount, argument, choice, flag, option, profile_option, repeated
from halfulp.interp.ir.errors import InputError, TypeMismatch, wrong_count
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import (
    DialectType,
    MemRefType,
    TensorType,
    Type,
    contents_type,
    element_count,
    element_type,
    shape_of,
)
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.running import RunKeywords, find_entry, lowered_from
from halfulp.semantics.kernel import Origin

INPUTS = """\
inputs:
  --input="4xf32=1 2 3 4"      a tensor or vector; "2x2xi8=[1 2][3 4]" with brackets, "f32=1.5" a scalar
  --input="4xf8E4M3FN=0.5"     one value for all elements
  --input="1 2 3 4"            elements without a type have the type of the argument (eval: of the input before)
  --input="dense<[1, 2]> : tensor<2xi8>"  --input="1.5 : f32"  MLIR's own notation
  --input=@a.npy               an array with the dtype of the argument, or with raw bits: unsigned integers, or for more
                               than 64 bits uint64 words on a last axis, least significant first
  --input=@m.safetensors:NAME  a tensor of a file: .safetensors, .gguf (f32 numbers; NAME/scales and NAME/elements are
                               parts of blocks), .npz, .pt, .arrow, .parquet
  --input="2x2xi32=@a.bin"     raw elements: row-major, little-endian, each in whole bytes
  A memref is given like a tensor.
Elements are decimal numbers (read like literals in MLIR), raw bits 0x7FC00000, nan, inf, -0.0, true, false, poison.
"""
"""The meaning of ``--input``, for the help of commands that have it."""

BATCHES = """\
  --batch: each input has one more leading axis, for the lanes. For an f32 argument: 4xf32, elements without a type, or
                               a file. For tensor<8xf32> or vector<8xf32>: 4x8xf32, or a file. An input without this
                               axis is the same for all lanes.
"""
"""The meaning of ``--batch``, for the help of commands that have it."""

OUTPUTS = """\
outputs:
  --output=@y.npy              write the first result to a file instead of stdout (repeat it for the next result). Types
                               that .npy files cannot hold (f4, f6, f8, bf16, tf32, f80, f128, integers of other widths
                               than 1, 8, 16, 32 and 64) are written as raw bits. --input=@y.npy reads them.
  --output=@y.bin              write raw elements: row-major, little-endian, each in whole bytes, as 4xf32=@y.bin reads
                               them. A name without an ending is a .npy file; other endings are refused.
  --output=@y.npz:NAME         write the result to a .npz or .safetensors file, with the other results that name this
                               file. Without :NAME it is result0, result1, ...
  --expected-output="f32=1"    compare the type, bits and poison of the first result (repeat it for the next result)
  The contents of the given memrefs after the run are printed after the results: argument[0]: 4xf32=1 2 3 4
  After the results, both options continue with these contents, in order.
"""
"""The meaning of ``--output``, for the help of commands that have it."""

SOURCE_FILE = "MLIR text or bytecode, or - for the standard input"


@dataclass(frozen=True, kw_only=True)
class ProfileOption:
    """The option ``--profile``."""

    profile: str = profile_option()


@dataclass(frozen=True, kw_only=True)
class SemanticsOptions(ProfileOption):
    """The semantics of results, and the limit on the size of a value."""

    index_width: Literal[64, 32] | None = choice((64, 32), "the width of index values, in bits (default: 64)", type=int)
    max_bytes: int | None = amount("the largest size of one value, in bytes")


@dataclass(frozen=True, kw_only=True)
class InputOptions(SemanticsOptions):
    """The options of all commands that compute with inputs."""

    input: tuple[str, ...] = repeated("VALUE", "the next argument (see below)")
    on_ub: Literal["raise", "poison"] | None = choice(
        ("raise", "poison"), "at undefined behaviour: stop with an error (default), or give poison"
    )
    mma: str | None = option(
        "MODEL", "the model that adds in tile operations: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,..."
    )


@dataclass(frozen=True, kw_only=True)
class ResultOptions(InputOptions):
    """The options of all commands that show or compare results."""

    output: tuple[str, ...] = repeated("@FILE", "write the next result to a .npy, .bin, .npz or .safetensors file")
    expected_output: tuple[str, ...] = repeated(
        "VALUE", "compare the next result with this value", alias="--expected_output"
    )
    forbid_poison: bool = flag("exit with 4 if a result, or a memref after the run, has poison")
    json: bool = flag("print one JSON object: types, bits, values and poison of the results")


@dataclass(frozen=True, kw_only=True)
class BitsOption:
    """The form in which results are printed."""

    bits: bool = flag("print results as raw bits, such as 0x7FC00000, which --input reads")

    @property
    def spell(self) -> Callable[[Value], str]:
        """The function that returns the text of a result."""
        return partial(spell_value, bits=self.bits)


@dataclass(frozen=True, kw_only=True)
class DiagnosticsOption:
    """The form in which errors are printed."""

    diagnostics: Literal["text", "json"] = choice(
        ("text", "json"), "print errors as text, or as one JSON object per line", "text"
    )


@dataclass(frozen=True, kw_only=True)
class CallOptions(DiagnosticsOption):
    """The options of all commands that call a function."""

    vscale: int | None = amount("the factor of the size of scalable vectors")
    max_steps: int | None = amount("the largest number of ops to execute")
    max_depth: int | None = amount("the largest depth of nested calls")


@dataclass(frozen=True, kw_only=True)
class FunctionOptions(CallOptions, InputOptions):
    """The file, the function that runs, and how it runs."""

    file: str = argument("FILE", SOURCE_FILE)
    function: str | None = option(
        "NAME", "the function to call (default: the only public one, or @main); @a::@b for a nested one"
    )
    grid: str | None = option("X,Y,Z", "the number of programs of a kernel of Triton; Y and Z may be left out")
    fp_fusion: Literal["on", "off"] | None = choice(
        ("on", "off"), "in a kernel of Triton with a target, fuse products into additions as LLVM does (default: on)"
    )
    random: str | None = option(
        "SOURCE",
        "the random bits, if the profile has program_rounding=stochastic: philox:seed=1 or "
        "lfsr:width=16,taps=16+14+13+11,seed=1",
    )
    swizzle: Literal["hint", "physical"] | None = choice(
        ("hint", "physical"),
        "physical: iree_codegen.swizzle_hint moves elements in memory; hint (default): it does not",
    )


@dataclass(frozen=True, kw_only=True)
class FunctionResultOptions(FunctionOptions, ResultOptions):
    """The options of commands that run a function, once or for each lane of a batch, and print or write its results."""

    batch: bool = flag("call the function for each entry of the inputs (see below)")
    check_hints: bool = flag("with --batch: stop if an iree_codegen.index_hint is wrong")


# --- running ----------------------------------------------------------------------------------------------------------


def run_keywords(arguments: CallOptions | ResultOptions) -> dict[str, Any]:
    """Return the run options that were given, as keywords of `halfulp.run`; all others have their defaults there.

    Raise InputError for a profile, a model or a source of random bits that does not exist.
    """
    given = {name: getattr(arguments, name, None) for name in RunKeywords.__annotations__}
    keywords = {name: value for name, value in given.items() if value is not None}
    if "mma" in keywords:
        keywords["mma"] = options.model_of(keywords["mma"])
    if "grid" in keywords:
        keywords["grid"] = options.grid_of(keywords["grid"])
    if "random" in keywords:
        keywords["random"] = options.source_of_bits(keywords["random"])
    return {**keywords, "profile": options.profile_named(keywords["profile"])}


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
    for name, given in (("--output", arguments.output), ("--expected-output", arguments.expected_output)):
        if len(given) > len(results_expected) + len(memory):
            there = f"{len(results_expected)} results{f' and {len(memory)} memrefs' if memory else ''}"
            raise TypeMismatch(
                f"@{function.symbol_name} has {there}, but {len(given)} are named by {name}", location=function.location
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
        options.read_value(text, _tensor_type(type_), f"<expected output {index}>", sources, arguments.vscale)
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
        if isinstance(type_, DialectType) and type_.pointee is not None:
            values.append(options.read_memory(text, type_.pointee, what, max_bytes, sources))
            continue
        value = options.read_value(text, _tensor_type(type_), what, sources, vscale)
        options.check_size(value, what, max_bytes)
        values.append(to_argument(value, type_, what, max_bytes=max_bytes) if memory else value)
    return tuple(values)


def _tensor_type(type_: Type) -> Type:
    """Return the type in which a value is given on the command line: for a memref, the tensor of its elements."""
    return contents_type(type_) if isinstance(type_, MemRefType) else type_


def _shared_by_lanes(value: Value | Buffer, type_: Type) -> Value | Buffer:
    """Return a memref argument of a batch that has no axis over lanes as a value. Each lane gets a copy of it."""
    return value.load() if isinstance(value, Buffer) and len(value.shape) == len(shape_of(type_) or ()) else value


def _count(text: str) -> int:
    """Return the number of elements that a text without a type lists."""
    return len(re.sub(r"[\[\],]", " ", text).split())


def _lanes_type(text: str, type_: Type) -> Type:
    """Return the type of an input of a batch that names no type: it has an axis over the lanes if there are more
    elements than one lane has. An array in a file has its own shape.
    """
    element, shape = element_type(type_), shape_of(type_)
    kind = MemRefType if isinstance(type_, MemRefType) else TensorType
    if text.startswith("@"):
        return kind(None, element)
    each, count = element_count(type_), _count(text)
    if shape is None or not each or count <= each or count % each:
        return type_
    return kind((count // each, *shape), element)


def check_outputs(arguments: ResultOptions) -> None:
    """Raise InputError if an ``--output`` does not name a file, of a kind that is written, or the file of another."""
    for k, output in enumerate(arguments.output):
        if not output.startswith("@") or len(output) == 1:
            raise InputError(f"--output={output}: write --output=@FILE")
        options.check_place(output[1:], [each[1:] for each in arguments.output[:k]])


def deliver(
    results: Sequence[Value],
    expected: Sequence[Value],
    arguments: ResultOptions,
    spell: Callable[[Value], str] | None = None,
    given: Sequence[Value | Buffer] = (),
    more: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Print or write the results, report their poison, compare them, and return the exit code.

    ``spell``: a function that returns the text of a value; None for its full text. ``given``: the arguments. The
    contents of memrefs among them are printed after the results. ``more``: what the object of ``--json`` also has.
    """
    shown: list[dict[str, Any]] = []
    code = SUCCESS
    memory = [(f"argument[{k}]", held.load()) for k, held in enumerate(given) if isinstance(held, Buffer)]
    outputs = options.Outputs()
    for index, (name, value) in enumerate([*((f"result[{k}]", value) for k, value in enumerate(results)), *memory]):
        if index < len(arguments.output):
            outputs.put(arguments.output[index][1:], value, re.sub(r"\W", "", name))
            shown.append({"name": name, "file": arguments.output[index][1:]})
        elif arguments.json:
            shown.append({"name": name, **value_record(value)})
        else:
            write(f"{name}: {(spell or spell_value)(value)}\n")
        # One stream after the other, so that a terminal shows them in this order.
        sys.stdout.flush()
        severity = "error" if arguments.forbid_poison else "note"
        for origin, count, first in options.poison_origins(value):
            elements = f"{count} poison element{'s'[: count > 1]}, the first at {list(first)}" if first else "poison"
            say(f"{severity}: {name}: {elements}: {_birth(origin)}")
            code = max(code, UNDEFINED if arguments.forbid_poison else SUCCESS)
        if index < len(expected):
            differing = options.differences(expected[index], value)
            if arguments.json:
                shown[-1]["differences"] = differing
            for line in differing:
                say(f"error: {name}: {line}")
                code = max(code, DIFFERENT)
    outputs.finish()
    if arguments.json:
        put({"results": shown[: len(results)], "memory": shown[len(results) :], **more})
    return code


def _birth(origin: Origin) -> str:
    """Describe the origin of poison: the reason, the op, and the place and element if they are known."""
    where = f"{origin.op} at {origin.location}" if origin.location else origin.op
    return f"{origin.reason} ({where}{f', element {list(origin.element)}' if origin.element else ''})"
