"""Run functions of tensors with mlir-runner: lowered through a stage of `STAGES`.

Many programs share one process. The arguments are constants that functions return, so that no pass folds them. A driver
for each program calls it and prints the codes of the results as decimal numbers, one a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np

from halfulp.conformance.oracles.jit import SECONDS, UTILITIES, JitOracle, library
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    Refused,
    Reply,
    Unavailable,
    run_together,
)
from halfulp.conformance.oracles.tool import find_tool
from halfulp.conformance.whole_programs.pass_claims import pipeline
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.fp_formats.formats import code_shape, storage_dtype
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Module, Operation, Region, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.value import Value

PROGRAMS_AT_ONCE = 64
"""The most programs in one process."""

NAME = "mlir-runner"
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})

BEFORE = ("func.func(convert-elementwise-to-linalg)",)
AFTER = (
    "func.func(convert-linalg-to-loops),convert-bufferization-to-memref",
    "expand-strided-metadata,lower-affine",
    "convert-vector-to-scf{full-unroll=true},convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata",
    "lower-affine,convert-arith-to-llvm,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm",
    "convert-func-to-llvm,convert-cf-to-llvm,convert-to-llvm,reconcile-unrealized-casts",
)
"""The passes before and after those of a stage, so that mlir-runner runs what comes out."""
_PRINTERS = "  func.func private @printU64(i64)\n  func.func private @printNewline()\n"


class TensorRunner:
    """mlir-runner on functions of tensors with static shapes. ``stage``: the stage through which they are lowered.

    Raises Unavailable where the tools of MLIR 22 are missing.
    """

    def __init__(self, stage: str = "loops") -> None:
        self.name = NAME
        self._opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
        self._runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
        self.version = self._opt.version
        self._library = library(self._runner, UTILITIES)
        self._pipeline = pipeline(stage, BEFORE, AFTER)

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results of each program, in order."""
        return run_together(programs, lambda _, program: _checked(program), self._run, PROGRAMS_AT_ONCE)

    def _run(self, part: Sequence[ClosedProgram]) -> list[Reply]:
        numbers = self._numbers(_together(part))
        sizes = [sum(map(_size, _results(program))) for program in part]
        if len(numbers) != sum(sizes):
            raise OracleError("garbage", f"{sum(sizes)} numbers are expected, {len(numbers)} came")
        ends = list(accumulate(sizes))
        return [
            answers(_results(program), numbers[end - size : end])
            for program, size, end in zip(part, sizes, ends, strict=True)
        ]

    def _numbers(self, text: str) -> list[int]:
        lowered = self._opt.run([f"--pass-pipeline={self._pipeline}"], text, SECONDS)
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={self._library}"]
        printed = self._runner.run([*options, f"--mattr={JitOracle.machine}"], lowered, SECONDS)
        try:
            return [int(line) for line in printed.split()]
        except ValueError:
            raise OracleError("garbage", f"the programs printed {printed[:60]!r}") from None


def installed_runner() -> TensorRunner | None:
    """Return mlir-runner; None where the tools of MLIR 22 are missing."""
    try:
        return TensorRunner()
    except Unavailable:
        return None


def _function(program: ClosedProgram) -> Operation:
    function = program.module.lookup(program.function)
    assert function is not None
    return function


def _results(program: ClosedProgram) -> Sequence[ty.Type]:
    return result_types(_function(program))


def _checked(program: ClosedProgram) -> ClosedProgram:
    """Return a program that can be lowered. Raises Refused for others."""
    function = _function(program)
    for type_ in (*argument_types(function), *result_types(function)):
        if not isinstance(type_, ty.TensorType) or type_.shape is None or None in type_.shape:
            raise Refused(f"{NAME} runs functions of tensors with static shapes, and this has '{type_}'")
    if any(value.poison is not None for value in program.arguments):
        raise Refused("an argument cannot be poison")
    for op in function.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        values = [*op.results, *(argument for block in blocks for argument in block.arguments)]
        for element in {ty.element_type(value.type) for value in values}:
            if isinstance(element, ty.FloatType) and element.format.name not in FLOATS:
                raise Refused(f"{NAME} has no {element}")
    return program


def _size(type_: ty.Type) -> int:
    return prod(size or 0 for size in ty.shape_of(type_) or ())


def _together(programs: Sequence[ClosedProgram]) -> str:
    """Return one module with all programs, their arguments, their drivers, and an entry that calls these."""
    top = Block()
    drivers = []
    for number, program in enumerate(programs):
        copy = module_with(program.module.body, program.module)
        for op in copy.walk():
            for key, symbol in op.properties.items():
                if key == "sym_name" and isinstance(symbol, at.StringAttr):
                    op.properties[key] = at.StringAttr(f"p{number}.{symbol.value}")
                elif isinstance(symbol, at.SymbolRefAttr):
                    op.properties[key] = at.SymbolRefAttr(f"p{number}.{symbol.root}", symbol.nested)
        for function in list(copy.body):
            function.properties["sym_visibility"] = at.StringAttr("private")
            top.append(function)
        drivers.append(_driver(number, program))
    module = Module(Operation("builtin.module", programs[0].module.operation.definition, regions=[Region([top])]))
    head, opening, body = print_module(module).partition("module {\n")
    calls = "".join(f"    func.call @run{number}() : () -> ()\n" for number in range(len(programs)))
    return f"{head}{opening}{_PRINTERS}{''.join(drivers)}  func.func @entry() {{\n{calls}    return\n  }}\n{body}"


def _driver(number: int, program: ClosedProgram) -> str:
    """Return the functions of a program's arguments, and the one that runs it."""
    inputs, results = argument_types(_function(program)), _results(program)
    lines, names, body = [], [], []
    for k, (type_, value) in enumerate(zip(inputs, program.arguments, strict=True)):
        lines += argument(f"argument{number}.{k}", type_, value)
        body.append(f"%a{k} = func.call @argument{number}.{k}() : () -> {type_}")
        names.append(f"%a{k}")
    types = f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, results))})"
    body.append(f"%r:{len(results)} = func.call @p{number}.{program.function}({', '.join(names)}) : {types}")
    body += ["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index"]
    for k, type_ in enumerate(results):
        body += printing(k, type_)
    lines += [f"  func.func private @run{number}() {{", *(f"    {line}" for line in body), "    return", "  }"]
    return "\n".join(lines) + "\n"


def argument(name: str, type_: ty.Type, value: Value) -> list[str]:
    """Return the lines of a function that returns an argument in memory of its own."""
    element = ty.element_type(type_)
    width = width_of(element)
    carrier = ty.with_element(type_, ty.IntegerType(width))
    data = value.bits.astype(value.bits.dtype.newbyteorder("<")).tobytes().hex().upper()
    codes = f'dense<"0x{data}">' if width >= 8 else f"dense<{value.bits.tolist()}>"
    cast = "" if element == ty.IntegerType(width) else f"    %1 = arith.bitcast %0 : {carrier} to {type_}\n"
    return [
        f"  func.func private @{name}() -> {type_} {{",
        f"    %0 = arith.constant {codes} : {carrier}",
        f"{cast}    %2 = tensor.empty() : {type_}",
        f"    %3 = linalg.copy ins({'%1' if cast else '%0'} : {type_}) outs(%2 : {type_}) -> {type_}",
        f"    return %3 : {type_}",
        "  }",
    ]


def printing(number: int, type_: ty.Type) -> list[str]:
    """Return the lines that print the codes of the result ``%r#number``. They use ``%zero`` and ``%one``."""
    lines = [f"%n{number}_{axis} = arith.constant {size} : index" for axis, size in enumerate(ty.shape_of(type_) or ())]
    indices = [f"%i{number}_{axis}" for axis in range(len(lines))]
    for axis, index in enumerate(indices):
        lines.append(f"scf.for {index} = %zero to %n{number}_{axis} step %one {{")
    return [*lines, *printing_element(number, type_, indices), *("}" for _ in indices)]


def printing_element(number: int, type_: ty.Type, indices: Sequence[str]) -> list[str]:
    """Return the lines that print the code of one element of the result ``%r#number``."""
    element = ty.element_type(type_)
    width = width_of(element)
    code, name = ty.IntegerType(width), f"%e{number}"
    lines = [f"{name} = tensor.extract %r#{number}[{', '.join(indices)}] : {type_}"]
    if element != code:
        lines.append(f"%b{number} = arith.bitcast {name} : {element} to {code}")
        name = f"%b{number}"
    if width < 64:
        lines.append(f"%w{number} = arith.extui {name} : {code} to i64")
        name = f"%w{number}"
    return [*lines, f"func.call @printU64({name}) : (i64) -> ()", "func.call @printNewline() : () -> ()"]


def answers(types: Sequence[ty.Type], numbers: Sequence[int]) -> tuple[Answer, ...]:
    """Return the results from the numbers that the program printed."""
    answers, start = [], 0
    for type_ in types:
        width, shape = width_of(ty.element_type(type_)), tuple(size or 0 for size in ty.shape_of(type_) or ())
        codes = np.array(numbers[start : start + _size(type_)], np.uint64).reshape(code_shape(shape, width))
        answers.append(Answer(codes.astype(storage_dtype(width))))
        start += _size(type_)
    return tuple(answers)
