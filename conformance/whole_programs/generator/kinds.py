"""The programs that a pass is given: kinds of random programs, with their inputs; structured ones that are lowered to a
stage; programs that are changed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, Tool
from halfulp.conformance.whole_programs.generator.functions import random_functions
from halfulp.conformance.whole_programs.generator.grower import MOST_BYTES, RandomFunction
from halfulp.conformance.whole_programs.generator.mutated import SEED_STEPS, Mutants, Seed, programs_of
from halfulp.conformance.whole_programs.generator.structured import structured_functions
from halfulp.conformance.whole_programs.pass_claims import STAGES, pipeline
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module

# --- kinds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgramKind:
    """A kind of random programs.

    ``functions``: yields some functions of a seed, from a given number on. ``inputs``: the number of inputs for a
    program that does not run on all of them; ``memory_inputs``: the same for a program with memory, which runs on one
    input after the other; ``tensor_inputs``: the same for one with a tensor, which holds many numbers; 0 means
    ``inputs``. ``max_steps``: the largest number of steps of one run. ``samples``: no program runs on all of
    its inputs. ``shared``: the programs have much in common, so that `SharedRuns` judges them, and some may be no
    programs, which the tool refuses to read. ``learn``: is called with each program without a finding to which a pass
    did something new.
    """

    functions: Callable[[int, int, int], Iterator[RandomFunction]]
    inputs: int
    memory_inputs: int
    max_steps: int
    samples: bool = False
    tensor_inputs: int = 0
    shared: bool = False
    learn: Callable[[RandomFunction], object] = lambda program: None


KINDS: Mapping[str, ProgramKind] = MappingProxyType(
    {
        "mixed": ProgramKind(random_functions, inputs=500, memory_inputs=40, max_steps=3_000),
        "structured": ProgramKind(structured_functions, inputs=4, memory_inputs=4, max_steps=100_000, samples=True),
    }
)
"""Kinds by name: ``mixed`` has scalars with control flow, memory, vectors and tensors; all its loops are short.
``structured`` has tensors with linalg ops, slices, reshapes and loops.
"""

MIXED = KINDS["mixed"]

# --- programs by their start ------------------------------------------------------------------------------------------

MUTATED = "mutated"
"""The start of programs that are changed, not grown; those of TOSA are changed, too."""

SEEDS: Mapping[str, Path] = MappingProxyType(
    {MUTATED: Path(__file__).with_name("seeds.mlir"), "tosa": Path(__file__).with_name("tosa_seeds.mlir")}
)
"""By the start: small programs, which are changed if no files are given."""

STARTS: tuple[str, ...] = (*KINDS, *STAGES, *SEEDS)
"""The names of all programs that a pass can be given."""

BATCH = 64
"""Programs that are lowered in one process."""


@dataclass(frozen=True)
class Programs:
    """The programs from which random programs start. ``not_lowered``: how many programs could not be lowered, by the
    reason, or were left out while they were changed.
    """

    kind: ProgramKind
    not_lowered: Counter[str] = field(default_factory=Counter)


GROWN_SEEDS, GROWN_OPS = 10, 16
"""The number of random programs of each start that are changed then too, and the most ops that one of them has."""


def programs_from(
    start: str, tool: Tool, others: Sequence[str] = tuple(KINDS), seeds: Sequence[Seed] = (), name: str = ""
) -> Programs:
    """Return the programs of a start. Programs of a stage are lowered by `lowering_tool`.

    ``seeds``: for "mutated", the programs to begin with, as of `seeds_of`; without them, they are those of `SEEDS`, and
    for "mutated" random programs of ``others`` too. ``name``: of the pass that is given the programs: those whose files
    name it come first.
    """
    if start in SEEDS:
        grown = () if seeds or start != MUTATED else _grown(tuple(others), tool)
        pool = Mutants([*(seeds or _own(start)), *grown], name)
        kind = ProgramKind(pool.functions, inputs=32, memory_inputs=8, max_steps=SEED_STEPS)
        return Programs(replace(kind, tensor_inputs=8, samples=True, shared=True, learn=pool.learn), pool.errors)
    if start in KINDS:
        return Programs(KINDS[start])
    kind, lowering = KINDS["structured"], PassPipeline(lowering_tool(tool), pipeline(start))
    lost: Counter[str] = Counter()

    def lowered(seed: int, count: int, first: int) -> Iterator[RandomFunction]:
        programs = kind.functions(seed, count, first)
        while batch := list(islice(programs, BATCH)):
            texts = lowering.apply_all([lowering.given(program.module) for program in batch])
            for program, text in zip(batch, texts, strict=True):
                try:
                    if isinstance(text, PassFailure):
                        raise text
                    module = lowering.read(text, f"<program {program.index} at {start}>")
                except HalfulpError as error:
                    lost[error.message] += 1
                else:
                    yield replace(program, module=module)

    return Programs(replace(kind, functions=lowered), lost)


def seeds_of(files: Sequence[Path]) -> tuple[Seed, ...]:
    """Return the programs of MLIR files and folders of them, to begin with. Raise InputError if there are none."""
    with warnings.catch_warnings(action="ignore"):  # about numbers of a program that is not the user's
        found = tuple(programs_of(files))
    if not found:
        named = ", ".join(f"'{file}'" for file in files[:3]) + f" and {len(files) - 3} more" * (len(files) > 3)
        raise InputError(f"there is no program to change: halfulp runs no function of {named}")
    return found


@cache
def _own(start: str) -> tuple[Seed, ...]:
    return seeds_of([SEEDS[start]])


@cache
def _grown(starts: tuple[str, ...], tool: Tool) -> tuple[Seed, ...]:
    """Return small random programs of some starts."""
    grown: list[Seed] = []
    for start in starts:
        if start not in SEEDS:
            made = (program.module for program in programs_from(start, tool).kind.functions(0, 6 * GROWN_SEEDS, 0))
            grown += map(Seed, islice((module for module in made if ops_of(module).total() <= GROWN_OPS), GROWN_SEEDS))
    return tuple(grown)


def lowering_tool(tool: Tool) -> Tool:
    """Return the mlir-opt that makes the programs of stages. This is the installed one, so that they do not depend on
    the tool that is tested; if none is installed, it is the tested one.
    """
    try:
        return find_mlir_opt()
    except Unavailable:
        return tool


# --- inputs -----------------------------------------------------------------------------------------------------------


def inputs_of(module: Module, seed: int, kind: ProgramKind) -> Inputs:
    """Return the inputs with which a program runs: all if there are few, else corners and random values."""
    types = {type(value.type) for op in module.walk() for value in (*op.operands, *op.results)}
    tensor_inputs = kind.tensor_inputs if ty.TensorType in types else 0
    count = kind.memory_inputs if ty.MemRefType in types else tensor_inputs or kind.inputs
    return Inputs(count, seed, max_steps=kind.max_steps, max_bytes=MOST_BYTES, samples=kind.samples)


def ops_of(module: Module) -> Counter[str]:
    """Count the ops of a module by name."""
    return Counter(op.name for op in module.walk() if op.name != "builtin.module")
