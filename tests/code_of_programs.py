"""Functions run by the executor, and by machine code that is made of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import halfulp as hu
from halfulp.conformance.whole_programs.generator.functions import random_function
from halfulp.fp_formats.formats import ints_to_codes
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
