"""The kinds of random programs, and the inputs with which each runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from halfulp.conformance.whole_programs.generator.functions import RandomFunction, random_functions
from halfulp.conformance.whole_programs.generator.structured import structured_functions


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
