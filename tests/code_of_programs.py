"""Run functions by the executor and by the machine code that is made of them, and compare the outcomes."""

import random
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import halfulp as hu
from halfulp.conformance.oracles.jit import TO_LLVM, UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.conformance.whole_programs.generator.functions import random_function
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.run import tiering
from halfulp.interp.run.compiled.program import CompiledFunction
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, buffer_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value, to_value

SUM = """func.func @f(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %b = arith.addi %a, %k : i64
    scf.yield %b : i64
  }
  return %r : i64
}"""
"""Return 0 + 1 + … + (n - 1)."""


def of(number: int, type_: str) -> Value:
    return to_value(number, as_type(type_), "x")


class Executed(CompiledModule):
    """A module that the executor runs, with all functions that it calls."""

    def called(self, op: Operation) -> None:
        """See `CompiledModule`."""
        return


class Both:
    """A function run by the executor, and by code. ``stopped``: the executor had to run it again. ``clean``: the code is
    for memory without masks of poison.
    """

    def __init__(self, module: Module, op: Operation, settings: Settings, clean: bool = True) -> None:
        self.program = CompiledModule(module, settings)
        self.executed = Executed(module, settings)
        self.op = op
        self.types = argument_types(op)
        self.code = CompiledFunction(self.program, op, clean)
        self.stopped = False

    def by_code(self, run: Run, frame: Frame) -> None:
        results = self.code.call(run, [frame.slots[slot] for slot in frame.segment.arguments])
        self.stopped = results is None
        if results is None:
            run.execute(frame)
        else:
            run.results = results

    def outcome(
        self, program: CompiledModule, arguments: Sequence[Any], execute: Callable[[Run, Frame], None]
    ) -> tuple[Any, ...]:
        """Return the results, what memory holds, and the steps; or the error."""
        run = Run(program.settings)
        frame = Frame(program.function(self.op), run, None, (), None)
        try:
            results = program.finish(self.op, run, frame, arguments, lambda frame: execute(run, frame))
        except HalfulpError as error:
            return type(error).__name__, str(error), memory_of(arguments)
        return results, [value.poisoned.tolist() for value in results], memory_of(arguments), run.steps

    def check(self, make: Callable[[], Sequence[Any]]) -> tuple[Any, ...]:
        """Compare both on the same arguments, and return the outcome."""
        want = self.outcome(self.executed, make(), Run.execute)
        found = self.outcome(self.program, make(), self.by_code)
        assert found == want
        return want


def memory_of(arguments: Sequence[Any]) -> list[Value]:
    return [each.load() for each in arguments if isinstance(each, Buffer)]


def both(text: str, clean: bool = True, **settings: Any) -> Both:
    module = hu.parse(text)
    return Both(module, next(op for op in module.walk() if op.name == "func.func"), Settings(**settings), clean)


def random_arguments(types: Sequence[ty.Type], seed: Any) -> list[Any]:
    """Make random arguments, near the ends of their ranges as often as not."""
    rng = random.Random(repr(seed))
    made: list[Any] = []
    for type_ in types:
        element = ty.element_type(type_)
        width = Settings().width(element)
        shape = tuple(3 if size is None else size for size in ty.shape_of(type_) or ())
        top = 1 << width
        codes = [
            rng.choice((rng.getrandbits(width), rng.getrandbits(3), top - 1 - rng.getrandbits(2), top >> 1)) % top
            for _ in range(prod(shape))
        ]
        memref = isinstance(type_, ty.MemRefType)
        value = Value(ty.TensorType(shape, element) if memref else type_, ints_to_codes(codes, width, shape))
        made.append(buffer_of(value, type_, "x") if isinstance(type_, ty.MemRefType) else value)
    return made


def random_both(seed: int, index: int) -> Both | None:
    function = random_function(seed, index)
    if not tiering.is_covered(CompiledModule(function.module, Settings()), function.main):
        return None
    try:
        return Both(function.module, function.main, Settings(max_steps=20_000))
    except NotCompiled:
        return None


# --- loop runner ------------------------------------------------------------------------------------------------------
#
# Functions on memrefs, run by mlir-runner after mlir-opt has made loops of their structured ops.

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
