"""The random programs that a pass is given: kinds, with the inputs of each, or structured ones lowered to a stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.pass_pipeline import PassFailure, PassPipeline, find_mlir_opt
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.generator.functions import random_functions
from halfulp.conformance.whole_programs.generator.grower import RandomFunction
from halfulp.conformance.whole_programs.generator.structured import structured_functions
from halfulp.conformance.whole_programs.stages import STAGES, pipeline
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module


@dataclass(frozen=True)
class ProgramKind:
    """A kind of random programs.

    ``functions``: yields some of a seed, from a number on. ``inputs``: the number of inputs of a program that does not
    run on all of them; ``memory_inputs``: the same for a program with memory, which runs on one input after the other.
    ``max_steps``: most steps of one run. ``samples``: no program runs on all of its inputs.
    """

    functions: Callable[[int, int, int], Iterator[RandomFunction]]
    inputs: int
    memory_inputs: int
    max_steps: int
    samples: bool = False


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


STARTS: tuple[str, ...] = (*KINDS, *STAGES)
"""The names of all programs that a pass can be given."""

BATCH = 64
"""Programs that are lowered in one process."""


@dataclass(frozen=True)
class Programs:
    """The programs of a start. ``not_lowered``: those that no pass is given, by the reason, as far as they are made."""

    kind: ProgramKind
    not_lowered: Counter[str] = field(default_factory=Counter)


def programs_from(start: str, tool: Tool) -> Programs:
    """Return the programs of a start. The ones of a stage are lowered by `lowering_tool`."""
    if start in KINDS:
        return Programs(KINDS[start])
    kind, lowering = KINDS["structured"], PassPipeline(lowering_tool(tool), pipeline(start))
    lost: Counter[str] = Counter()

    def lowered(seed: int, count: int, first: int) -> Iterator[RandomFunction]:
        programs = kind.functions(seed, count, first)
        while batch := list(islice(programs, BATCH)):
            texts = lowering.apply_all([text_of(program.module) for program in batch])
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


def lowering_tool(tool: Tool) -> Tool:
    """Return the mlir-opt that makes the programs of stages: the installed one, so that they do not depend on the
    program that is tested; or that one, if there is no other.
    """
    try:
        return find_mlir_opt()
    except Unavailable:
        return tool


# --- inputs -----------------------------------------------------------------------------------------------------------


def inputs_of(module: Module, seed: int, kind: ProgramKind) -> Inputs:
    """Return the inputs with which a program runs: all if there are few, else corners and random values."""
    memory = any(name.startswith("memref.") for name in ops_of(module))
    return Inputs(kind.memory_inputs if memory else kind.inputs, seed, max_steps=kind.max_steps, samples=kind.samples)


def ops_of(module: Module) -> Counter[str]:
    """Count the ops of a module by name."""
    return Counter(op.name for op in module.walk() if op.name != "builtin.module")
