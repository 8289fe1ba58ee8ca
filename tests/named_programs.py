"""A program for each named structured op: the function ``f``, which has only that op, and its arguments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import halfulp as hu
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, cancellations, divergences
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.whole_programs.diff import with_constant_arguments
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.dialects.linalg.ops import CONTRACTIONS, ELEMENTWISE, MATMULS, NamedOp
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.values.value import Value

STRIDES, DILATIONS = (2, 1, 3), (1, 2, 1)


class Program(NamedTuple):
    """A program on tensors or memrefs."""

    name: str
    text: str
    arguments: list[hu.Value]


class Kinds(NamedTuple):
    """Element types: of the inputs, and of the init."""

    read: str
    written: str


FLOATS, INTEGERS, BOOLS = Kinds("f32", "f32"), Kinds("i32", "i32"), Kinds("i1", "i1")
NARROW = (Kinds("i8", "i32"), Kinds("f16", "f32"), Kinds("i16", "f64"), Kinds("f32", "i16"))


def programs(memrefs: bool) -> Iterator[Program]:
    """Yield programs for all named ops and the types that they take."""
    number = 0
    for row in (*CONTRACTIONS, *MATMULS):
        quantized = len(row.operands) == 5
        integers = quantized or row.name.endswith("unsigned")
        for kinds in (INTEGERS, NARROW[0]) if integers else (FLOATS, INTEGERS, *NARROW):
            number += 1
            if row.name != "fill_rng_2d":
                yield _with_loops(row, kinds, memrefs, number)
                if row.cast and kinds.written != kinds.read:
                    yield _with_loops(row, kinds, memrefs, number, "{cast = #linalg.type_fn<cast_unsigned>} ")
    for name, inputs, _ in ELEMENTWISE:
        for kinds in _elementwise_kinds(name, inputs):
            number += 1
            yield _elementwise(name, inputs, kinds, memrefs, number)


def _elementwise_kinds(name: str, inputs: int) -> Sequence[Kinds]:
    if name == "copy":
        return FLOATS, INTEGERS, *NARROW
    if inputs == 1 or name == "powf":
        return FLOATS, Kinds("f64", "f64")
    if name == "div_unsigned":
        return (INTEGERS,)
    return (FLOATS, INTEGERS) if name in ("sub", "div", "select") else (FLOATS, INTEGERS, BOOLS)


def _with_loops(row: NamedOp, kinds: Kinds, memrefs: bool, seed: int, attributes: str = "") -> Program:
    sizes = {loop: 2 + (seed + place) % 2 for place, loop in enumerate(row.loops.split())}
    windows = row.windows
    if windows:
        steps = {name: (*values[seed % 3 :], *values)[: len(windows)] for name, values in _factors().items()}
        attributes = ", ".join(
            f"{name} = dense<{list(values)}> : tensor<{len(windows)}xi64>" for name, values in steps.items()
        )
        attributes = f"{{{attributes}}} "
        factors = dict(zip(windows, zip(*steps.values(), strict=True), strict=True))
    shapes = []
    for operand in row.operands:
        shape = []
        for axis in operand.split():
            outer, _, inner = axis.replace("+", ".").partition(".")
            dilation, stride = factors[axis] if axis in windows else (1, 1)
            shape.append((sizes[outer] - 1) * stride + (sizes[inner] - 1) * dilation + 1 if inner else sizes[axis])
        shapes.append(tuple(shape))
    scalars = [2, 3] if len(row.operands) == 5 else []
    types = [kinds.read] * (len(shapes) - 1) + [kinds.written]
    for place in scalars:
        types[place] = kinds.written
    return _program(f"linalg.{row.name} {attributes}", shapes, types, memrefs, seed, scalars)


def _factors() -> Mapping[str, tuple[int, ...]]:
    return {"dilations": DILATIONS, "strides": STRIDES}


def _elementwise(name: str, inputs: int, kinds: Kinds, memrefs: bool, seed: int) -> Program:
    types = [kinds.read] * inputs + [kinds.written]
    if name == "select":
        types[0] = "i1"
    return _program(f"linalg.{name} ", [(3, 4)] * len(types), types, memrefs, seed, [], divides="div" in name)


def _program(
    op: str,
    shapes: Sequence[tuple[int, ...]],
    types: Sequence[str],
    memrefs: bool,
    seed: int,
    scalars: Sequence[int],
    divides: bool = False,
) -> Program:
    word = "memref" if memrefs else "tensor"
    shaped = [f"{word}<{'x'.join([*map(str, shape), type_])}>" for shape, type_ in zip(shapes, types, strict=True)]
    loads = ""
    names = [f"%a{number}" for number in range(len(types))]
    used, used_types = list(names), list(shaped)
    for number in scalars:
        # mlir-runner gets memrefs alone, so that a scalar is the element of one.
        used[number], used_types[number] = f"%s{number}", types[number]
        take = "memref.load" if memrefs else "tensor.extract"
        loads += f"  %s{number} = {take} {names[number]}[] : {shaped[number]}\n"
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, shaped, strict=True))
    result = "" if memrefs else f" -> {shaped[-1]}"
    text = (
        f"func.func @f({arguments}){result} {{\n{loads}"
        f"  {'' if memrefs else '%r = '}{op}ins({', '.join(used[:-1])} : {', '.join(used_types[:-1])}) "
        f"outs({used[-1]} : {used_types[-1]}){result}\n"
        f"  return{'' if memrefs else f' %r : {shaped[-1]}'}\n}}\n"
    )
    rng = np.random.default_rng(seed)
    values = [_elements(rng, shape, type_, divides) for shape, type_ in zip(shapes, types, strict=True)]
    return Program(op.split()[0], text, values)


def _elements(rng: np.random.Generator, shape: tuple[int, ...], type_: str, divides: bool) -> hu.Value:
    width = int(type_[1:])
    if type_[0] == "i":
        codes = rng.integers(1 if divides else 0, 1 << min(width, 31), shape, np.uint64) << np.uint64(
            max(0, width - 31)
        )
        return hu.Value.from_bits(codes.astype(f"u{max(8, width) // 8}"), type_)
    return hu.Value.from_numpy(rng.normal(size=shape).astype(f"f{width // 8}") * 8)


# --- known passes -----------------------------------------------------------------------------------------------------
#
# Passes that make known divergences, and the programs on which they do.

EXPAND = "arith-expand{include-bf16=true include-f4e2m1=true include-f8e8m0=true}"

PIPELINES: Mapping[str, Sequence[str]] = {
    "arith-expand": (
        f"func.func({EXPAND})",
        "func.func(arith-expand{include-f8e8m0=true})",
        "func.func(arith-expand)",
    ),
    "lower-quant-ops": ("func.func(lower-quant-ops)",),
    "canonicalize": ("canonicalize",),
    "*canonicalize": ("canonicalize",),
    "inline": ("inline",),
    "convert-arith-to-apfloat": ("convert-arith-to-apfloat",),
    "buffer-deallocation-pipeline": ("buffer-deallocation-pipeline",),
    "math-expand-ops": ("func.func(math-expand-ops)",),
    "math-extend-to-supported-types": ("math-extend-to-supported-types",),
    "convert-math-to-libm": ("convert-math-to-libm",),
    "arith-emulate-unsupported-floats": ("arith-emulate-unsupported-floats{source-types=f16 target-type=f32}",),
    "*": ("canonicalize", "sccp"),
}
"""For each pattern of the rows: pipelines that have the pass, some with options."""

Rows = tuple[Sequence[Divergence], Sequence[Cancellation]]
ALL: Rows = divergences(), cancellations()


def closed(module: Module, function: str, arguments: tuple[Value, ...]) -> ClosedProgram:
    """Return the program with its arguments as constants, so that a pass may fold them."""
    program = with_constant_arguments(ClosedProgram(module, function, arguments))
    assert program is not None
    return program


def example(row: Divergence) -> tuple[Module, tuple[Value, ...]]:
    """Return the program @eval of the op of a row, and its arguments."""
    asked = row.example
    types = asked.types[0] if len(asked.types) == 1 else list(asked.types)
    case = op_case(asked.op, types, asked.to, **dict(asked.properties))
    widths = zip(case.operand_types, asked.operands, case.operand_widths, strict=True)
    arguments = tuple(Value(type_, ints_to_codes([code], width, ())) for type_, code, width in widths)
    return case.module(None), arguments


def example_of_two(row: Cancellation) -> tuple[Module, tuple[Value, ...]]:
    """Return the program of a pair of casts, and its argument."""
    module = hu.parse(row.example)
    (type_,) = argument_types(module.body[0])
    return module, (Value(type_, ints_to_codes([row.argument], 64 if str(type_) in ("index", "i64") else 32, ())),)


# --- dumped stages ----------------------------------------------------------------------------------------------------
#
# Dumps as mlir-opt 22.1.8 prints them with --mlir-print-ir-after-all, of a function that three passes change.

HEADER = "// -----// IR Dump After {} ({}) //----- //\n"

ADD = """\
func.func @f(%arg0: i8, %arg1: i8) -> i8 {
  %0 = arith.addi %arg0, %arg1 : i8
  return %0 : i8
}

"""

SWAPPED = ADD.replace("%arg0, %arg1", "%arg1, %arg0")
WRONG = ADD.replace("addi", "subi")


def dump(name: str, argument: str, body: str) -> str:
    """Return what mlir-opt prints after a pass."""
    return HEADER.format(name, argument) + body


def in_module(body: str) -> str:
    """Return a function in a module."""
    return "module {\n" + "".join(f"  {line}\n" for line in body.rstrip().splitlines()) + "}\n\n"


# --- lowerings --------------------------------------------------------------------------------------------------------
#
# The pipelines through which programs on tensors go down to LLVM's dialect: the passes of mlir-opt 22, by ways.

BUFFERS = (
    "func.func(linalg-generalize-named-ops)",
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops}",
    "canonicalize",
    "cse",
)
BRANCHES = (
    "buffer-deallocation-pipeline",
    "expand-strided-metadata",
    "lower-affine",
    "math-expand-ops{ops=round,copysign}",
    "arith-expand",
    "convert-scf-to-cf",
)
LLVM = (
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)
WAYS: Mapping[str, tuple[str, ...]] = {
    "loops": ("func.func(convert-linalg-to-loops)",),
    "parallel loops": ("func.func(convert-linalg-to-parallel-loops)",),
    "vectors": (
        "func.func(convert-linalg-to-affine-loops)",
        "func.func(affine-super-vectorize{virtual-vector-size=8})",
        "convert-vector-to-scf",
    ),
}


def passes(way: str, llvm: bool = True) -> tuple[str, ...]:
    """Return the passes of a way, down to branches, or to LLVM's dialect."""
    return (*BUFFERS, *WAYS[way], *BRANCHES, *(LLVM if llvm else ()))


def pipeline(names: Sequence[str]) -> str:
    """Return the pipeline of some passes on a module."""
    return f"builtin.module({','.join(names)})"
