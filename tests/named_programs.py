"""A program for each named structured op: the function ``f``, which has only that op, and its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import halfulp as hu
from halfulp.interp.dialects.linalg.ops import CONTRACTIONS, ELEMENTWISE, MATMULS, NamedOp

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
