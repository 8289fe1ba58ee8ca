"""Random programs give the same in the executor, in lanes and as machine code: values, poison, errors, steps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from code_of_programs import Executed

from halfulp.conformance.whole_programs.generator.grower import RandomFunction
from halfulp.conformance.whole_programs.generator.kinds import KINDS, ProgramKind, inputs_of
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import lanes_of, over_lanes, repeated
from halfulp.interp.values.value import Value

INPUTS = 6
EXHAUSTIVE = 20_000
PART = 1_000


WAYS = {"executor": "numpy"}
if find_spec("llvmlite") is not None:
    WAYS["machine code"] = "llvm"


@contextmanager
def way(name: str) -> Iterator[None]:
    """Run functions of scalars and memory in one way, where it can."""
    before = llvm.backend()
    llvm.use(WAYS[name])
    try:
        yield
    finally:
        llvm.use(before)


@dataclass(frozen=True)
class Ended:
    """What a run gives: an error, or values, the origins of their poison, and the steps that were left."""

    error: tuple[str, str] | None = None
    values: tuple[Value, ...] = ()
    origins: tuple[str, ...] = ()
    steps: int = 0


def ended(results: Sequence[Value], memory: Sequence[Value] = (), steps: int = 0) -> Ended:
    """Hold the results, then what memory holds."""
    values = (*results, *memory)
    origins = tuple(
        str(value.origin(*map(int, index))) for value in values for index in np.argwhere(np.asarray(value.poisoned))
    )
    return Ended(None, values, origins, steps)


def failed(error: HalfulpError) -> Ended:
    return Ended((type(error).__name__, str(error)))


def alone(program: CompiledModule, op: Operation, arguments: tuple[Any, ...]) -> Ended:
    run = Run(program.settings)
    frame = Frame(program.function(op), run, None, (), None)
    try:
        results = program.finish(op, run, frame, arguments)
        return ended(results, [each.load() for each in arguments if isinstance(each, Buffer)], run.steps)
    except HalfulpError as error:
        return failed(error)


def in_lanes(program: CompiledModule, op: Operation, arguments: tuple[Value, ...], count: int) -> Ended:
    try:
        values = run_batch(program, op, arguments, count)
        return ended([value if over_lanes(value) else repeated(value, count) for value in values])
    except HalfulpError as error:
        return failed(error)


def check(function: RandomFunction, kind: ProgramKind, seed: int) -> None:
    """Run some inputs of each shape."""
    for part in inputs_of(function.module, seed, kind).of(function.main).parts:
        rows = np.unique(np.arange(INPUTS) * part.count // INPUTS)
        few = replace(part, columns=tuple([column[rows] for column in part.columns]))
        found = {}
        for name in WAYS:
            with way(name):
                module = Executed if name == "executor" else CompiledModule
                program = module(function.module, Settings(max_steps=20_000))
                found[name] = [alone(program, function.main, few.fresh(row)) for row in range(len(rows))]
                if few.has_lanes:
                    found[name].append(in_lanes(program, function.main, few.lanes(), len(rows)))
        wanted = found.pop("executor")
        for name, others in found.items():
            for row, (one, other) in enumerate(zip(wanted, others, strict=True)):
                assert one == other, (name, function.seed, function.index, row)
        if few.has_lanes and wanted[-1].error is None:
            for row, one in enumerate(wanted[:-1]):
                values = tuple([lanes_of(value, row) for value in wanted[-1].values])
                assert values == one.values, (function.seed, function.index, row)


@pytest.mark.parametrize("kind", KINDS)
def test_some_random_programs(kind: str) -> None:
    for function in KINDS[kind].functions(7, 4, 0):
        check(function, KINDS[kind], 7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, EXHAUSTIVE, PART))
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_programs(kind: str, first: int) -> None:
    for function in KINDS[kind].functions(11, PART, first):
        check(function, KINDS[kind], 11)
