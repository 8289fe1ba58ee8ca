"""What commands that run a function share: their options, the inputs that these give, and what becomes of results."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfulp.command.common import DIFFERENT, SUCCESS, UNDEFINED, Sources, diagnostics_option, positive, say, write

if TYPE_CHECKING:
    from halfulp.interp.ir.operations import Module
    from halfulp.interp.ir.types import Type
    from halfulp.interp.values.buffers import Buffer
    from halfulp.interp.values.value import Value
    from halfulp.semantics.poison import Origin

VALUES = """\
inputs:
  --input="4xf32=1 2 3 4"      a tensor or vector; "2x2xi8=[1 2][3 4]" with brackets, "f32=1.5" a scalar
  --input="4xf8E4M3FN=0.5"     one value for all elements
  --input="1 2 3 4"            elements without a type have the type of the argument (eval: of the input before)
  --input="dense<[1, 2]> : tensor<2xi8>"  --input="1.5 : f32"  MLIR's own notation
  --input=@a.npy               an array with the dtype of the argument, or with raw bits (see outputs)
  --input="2x2xi32=@a.bin"     raw elements: row-major, little-endian, each in whole bytes
  A memref is given like a tensor. Its contents after the run are printed after the results: argument[0]: 4xf32=1 2 3 4
  --batch: each input has one more leading axis, for the lanes. For an f32 argument: 4xf32, elements without a type, or
                               a file. For tensor<8xf32> or vector<8xf32>: 4x8xf32, or a file. An input without this
                               axis is the same for all lanes.
Elements are decimal numbers (read like literals in MLIR), raw bits 0x7FC00000, nan, inf, -0.0, true, false, poison.

outputs:
  --output=@y.npy              write the first result to a file instead of stdout (repeat it for the next result). Types
                               that .npy files cannot hold (f4, f6, f8, bf16, tf32, f80, f128, integers of other widths
                               than 1, 8, 16, 32 and 64) are written as raw bits: unsigned integers, or for more than 64
                               bits uint64 words on a last axis, least significant first. --input=@y.npy reads them.
  --expected_output="f32=1"    compare the type, bits and poison of the first result (repeat it for the next result)
  After the results, both options continue with the contents of the given memrefs, in order.
"""


def options() -> argparse.ArgumentParser:
    """The options of whatever computes results from inputs, as a parent of its parser."""
    running = argparse.ArgumentParser(add_help=False)
    add = running.add_argument
    add("--input", action="append", default=[], metavar="VALUE", help="the next argument (see below)")
    add("--output", action="append", default=[], metavar="@FILE", help="write the next result to a .npy file")
    add(
        "--expected_output",
        "--expected-output",
        action="append",
        default=[],
        metavar="VALUE",
        help="compare the next result with this value",
    )
    semantics_options(running)
    add(
        "--on-ub",
        choices=("raise", "poison"),
        default="raise",
        help="at undefined behaviour: stop with an error (default), or give poison",
    )
    add("--forbid-poison", action="store_true", help="exit with 4 if a result, or a memref after the run, has poison")
    return running


def semantics_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what results mean, and how large a value may be."""
    add = parser.add_argument
    add(
        "--profile",
        default="spec",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile: the semantics where documents or tools differ (default: spec)",
    )
    add(
        "--index-width", type=int, choices=(64, 32), default=64, help="the width of index values, in bits (default: 64)"
    )
    add("--max-bytes", type=positive, metavar="N", help="the largest size of one value, in bytes")


def call_options(parser: argparse.ArgumentParser) -> None:
    """The options of a call, whatever it is for."""
    add = parser.add_argument
    add("--vscale", type=positive, metavar="N", help="the factor of the size of scalable vectors")
    add("--max-steps", type=positive, metavar="N", help="the largest number of ops to execute")
    add("--max-depth", type=positive, metavar="N", help="the largest depth of nested calls")
    diagnostics_option(parser)


def function_options(parser: argparse.ArgumentParser) -> None:
    """The file, and the options that say which function runs, and how."""
    add = parser.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add(
        "--function",
        metavar="NAME",
        help="the function to call (default: the only public one); @a::@b for a nested one",
    )
    add("--batch", action="store_true", help="call the function for each entry of the inputs (see below)")
    model_option(parser)
    add("--check-hints", action="store_true", help="with --batch: stop if an iree_codegen.index_hint is wrong")
    add(
        "--swizzle",
        choices=("hint", "physical"),
        default="hint",
        help="physical: iree_codegen.swizzle_hint moves elements in memory; hint (default): it does not",
    )
    call_options(parser)


def model_option(parser: argparse.ArgumentParser) -> None:
    """The option that says how `iree_codegen.inner_tiled` adds up."""
    parser.add_argument(
        "--mma",
        type=_tile_model,
        metavar="MODEL",
        help="the model that adds in tile operations: exact (default), ieee or chip:NAME",
    )


def _tile_model(name: str) -> str:
    """A model of tile operations. Raises argparse.ArgumentTypeError."""
    from halfulp.semantics.matrix_units.models import MODELS

    if name not in MODELS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(MODELS)}")
    return name


@dataclass(frozen=True)
class Given:
    """The arguments of a run, the values expected of its results and then of memory, and the keywords of `halfulp.run`
    but the profile.
    """

    values: tuple[Value | Buffer, ...]
    expected: tuple[Value, ...]
    keywords: dict[str, Any]


def given(module: Module, arguments: argparse.Namespace, sources: Sources) -> Given:
    """What the options say about a run. Raises HalfulpError."""
    from halfulp.command.values import read_value
    from halfulp.interp.ir.errors import TypeMismatch
    from halfulp.interp.ir.types import MemRefType
    from halfulp.interp.run.executor import Limits, argument_types, result_types
    from halfulp.runtime import find_entry

    function = find_entry(module, arguments.function)
    types, name = argument_types(function), f"@{function.symbol_name}"
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            f"{name} takes {len(types)} arguments ({', '.join(map(str, types))}), but {len(arguments.input)} are given",
            location=function.location,
            hint="give each with --input",
        )
    results_expected = result_types(function)
    memory = tuple([type_ for type_ in types if isinstance(type_, MemRefType)])
    for option, given in (("--output", arguments.output), ("--expected_output", arguments.expected_output)):
        if len(given) > len(results_expected) + len(memory):
            there = f"{len(results_expected)} results{f' and {len(memory)} memrefs' if memory else ''}"
            raise TypeMismatch(
                f"{name} has {there}, but {len(given)} are named by {option}", location=function.location
            )
    limits = Limits()
    max_bytes = arguments.max_bytes or limits.bytes
    if arguments.batch:
        types = tuple(map(_lanes_type, arguments.input, types))
        expecting = tuple(map(_lanes_type, arguments.expected_output, results_expected))
    else:
        expecting = results_expected
    values = inputs(arguments, types, sources, max_bytes)
    expected = [
        read_value(text, _tensor_type(type_), f"<expected output {index}>", sources, arguments.vscale)
        for index, (text, type_) in enumerate(zip(arguments.expected_output, (*expecting, *memory), strict=False))
    ]
    keywords = {
        "entry": arguments.function,
        "on_ub": arguments.on_ub,
        "index_width": arguments.index_width,
        "vscale": arguments.vscale,
        "batch": arguments.batch,
        "mma": arguments.mma or "exact",
        "swizzle": arguments.swizzle,
        "check_hints": arguments.check_hints,
        "max_steps": arguments.max_steps or limits.steps,
        "max_depth": arguments.max_depth or limits.depth,
        "max_bytes": max_bytes,
    }
    return Given(values, tuple(expected), keywords)


def inputs(
    arguments: argparse.Namespace, types: Sequence[Type], sources: Sources, max_bytes: int
) -> tuple[Value | Buffer, ...]:
    """The values of ``--input``, one for each type. Raises HalfulpError."""
    from halfulp.command.values import check_size, read_value
    from halfulp.interp.ir.types import MemRefType
    from halfulp.interp.values.buffers import to_argument

    values: list[Value | Buffer] = []
    for index, (text, type_) in enumerate(zip(arguments.input, types, strict=True)):
        what = f"<input {index}>"
        memory = isinstance(type_, MemRefType)
        value = read_value(text, _tensor_type(type_), what, sources, arguments.vscale)
        check_size(value, what, max_bytes)
        values.append(to_argument(value, type_, what, max_bytes=max_bytes) if memory else value)
    return tuple(values)


def _tensor_type(type_: Type) -> Type:
    """What stands for a type on the command line: for a memref the tensor of its elements."""
    from halfulp.interp.ir.types import MemRefType, TensorType

    return TensorType(type_.shape, type_.element) if isinstance(type_, MemRefType) else type_


def _lanes_type(text: str, type_: Type) -> Type:
    """The type of an input of a batch that does not say its own: with an axis over the lanes where there are more
    elements than one lane has. A file says its shape itself.
    """
    from halfulp.interp.ir.types import TensorType, element_count, element_type, shape_of

    element, shape = element_type(type_), shape_of(type_)
    if text.startswith("@"):
        return TensorType(None, element)
    each, count = element_count(type_), len(re.sub(r"[\[\],]", " ", text).split())
    if shape is None or not each or count <= each or count % each:
        return type_
    return TensorType((count // each, *shape), element)


def check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse an ``--output`` that names no file. Raises InputError."""
    from halfulp.interp.ir.errors import InputError

    for output in arguments.output:
        if not output.startswith("@") or len(output) == 1:
            raise InputError(f"--output={output}: write --output=@FILE")


def deliver(
    results: Sequence[Value],
    expected: Sequence[Value],
    arguments: argparse.Namespace,
    spell: Callable[[Value], str] | None = None,
    given: Sequence[Value | Buffer] = (),
) -> int:
    """Print or write the results, tell of their poison, compare them; returns the exit code.

    ``spell``: what is printed of one; None for all of it. ``given``: the arguments; what stands in memory that was one
    is printed after the results.
    """
    from halfulp.command.values import differences, poison_origins, write_npy
    from halfulp.interp.values.buffers import Buffer
    from halfulp.interp.values.spelling import spell_value

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
    """Where poison was born: reason, op, and place and element where there are any."""
    where = f"{origin.op} at {origin.location}" if origin.location else origin.op
    return f"{origin.reason} ({where}{f', element {list(origin.element)}' if origin.element else ''})"
