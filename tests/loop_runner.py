"""Functions on memrefs, run by mlir-runner after mlir-opt has made loops of their structured ops."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import halfulp as hu
from halfulp.conformance.oracles.jit import TO_LLVM, UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import types as ty

LOOPS = ("--convert-linalg-to-loops", "--expand-strided-metadata", "--lower-affine")


def run_loops(
    programs: Sequence[tuple[str, Sequence[hu.Value]]], passes: Sequence[str] = LOOPS
) -> list[list[npt.NDArray[np.uint64]]]:
    """Run the function ``f`` of each program on memrefs with these elements.

    Returns the bits of the memrefs afterwards, by program and argument.
    """
    functions, calls, counts = [], [], []
    for number, (text, arguments) in enumerate(programs):
        functions.append(text.replace("@f(", f"@f{number}("))
        calls.append(_call(number, arguments))
        counts.append([value.size for value in arguments])
    module = "\n".join([*functions, "func.func @entry() {", *calls, "  return", "}"])
    opt, runner = (find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner"))
    lowered = opt.run([*passes, *TO_LLVM], module)
    libraries = f"--shared-libs={library(runner, UTILITIES)}"
    printed = runner.run(["-e", "entry", "--entry-point-result=void", libraries], lowered)
    numbers = iter([int(line) for line in printed.split()])
    return [
        [np.array([next(numbers) for _ in range(size)], np.int64).view(np.uint64) for size in row] for row in counts
    ]


def same_numbers(mine: hu.Value, theirs: npt.NDArray[np.uint64], text: str) -> bool:
    """Compare bits; any NaN is any other, and maxnumf leaves the sign of zero open."""
    equal = mine.bits.ravel().astype(np.uint64) == theirs
    if isinstance(mine.element_type, ty.FloatType):
        own = mine.numpy().ravel()
        other = hu.Value.from_bits(theirs.astype(mine.bits.dtype), str(mine.element_type)).numpy()
        equal |= np.isnan(own) & np.isnan(other)
        equal |= (own == 0) & (other == 0) & ("num" in text)
    return bool(equal.all())


def _call(number: int, arguments: Sequence[hu.Value]) -> str:
    """Write the code that makes memrefs, calls a function and prints the bits of all elements as i64."""
    lines = []
    names = []
    for which, value in enumerate(arguments):
        element, shape = value.element_type, value.shape
        width = ty.width_of(element)
        assert width <= 64
        name = f"%p{number}_{which}"
        type_ = f"memref<{'x'.join([*map(str, shape), str(element)])}>"
        names.append((name, type_))
        lines.append(f"  {name} = memref.alloc() : {type_}")
        for index, code in zip(np.ndindex(shape), codes_to_ints(value.bits, width), strict=True):
            constants = _constants(lines, f"{name}_{'_'.join(map(str, index))}", index)
            lines.append(
                f"  {name}_c{_flat(index)} = arith.constant {code - ((code >> width - 1) << width)} : i{width}"
            )
            stored = f"{name}_c{_flat(index)}"
            if not isinstance(element, ty.IntegerType):
                lines.append(f"  {stored}f = arith.bitcast {stored} : i{width} to {element}")
                stored += "f"
            lines.append(f"  memref.store {stored}, {name}[{constants}] : {type_}")
    listed = ", ".join(name for name, _ in names)
    lines.append(f"  call @f{number}({listed}) : ({', '.join(type_ for _, type_ in names)}) -> ()")
    for (name, type_), value in zip(names, arguments, strict=True):
        element = value.element_type
        width = ty.width_of(element)
        for index in np.ndindex(value.shape):
            constants = ", ".join(f"{name}_{'_'.join(map(str, index))}i{axis}" for axis in range(len(index)))
            loaded = f"{name}_r{_flat(index)}"
            lines.append(f"  {loaded} = memref.load {name}[{constants}] : {type_}")
            if not isinstance(element, ty.IntegerType):
                lines.append(f"  {loaded}b = arith.bitcast {loaded} : {element} to i{width}")
                loaded += "b"
            if width < 64:
                lines.append(f"  {loaded}w = arith.extui {loaded} : i{width} to i64")
                loaded += "w"
            lines.append(f"  vector.print {loaded} : i64")
    return "\n".join(lines)


def _flat(index: tuple[int, ...]) -> str:
    return re.sub(r"\D+", "_", str(index))


def _constants(lines: list[str], name: str, index: tuple[int, ...]) -> str:
    names = [f"{name}i{axis}" for axis in range(len(index))]
    lines += [f"  {each} = arith.constant {k} : index" for each, k in zip(names, index, strict=True)]
    return ", ".join(names)
