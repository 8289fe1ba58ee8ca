"""Programs of a launch that run together, as lanes of a batch: one call of NumPy does an op for all of them.

Programs run together only where nobody can tell: they compute, load and store, without atomics, prints and blocks of
memory of their own, and the run keeps no marks. They must not access what another one of them writes. If they do, or if
one of them fails or stores poison, what they stored is undone (`halfulp.interp.dialects.triton.memory.Log`), and they
run one after the other, which gives the results and the errors.
"""

from __future__ import annotations

from math import prod

from halfulp.interp.dialects.triton.compiling import KernelCompiler
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler, values_from_outside
from halfulp.interp.run.evaluators import Constant, Elementwise, OnFrames, OnRawSlots, OnValues, evaluator_of
from halfulp.interp.run.settings import Settings

_ELEMENTS = 1 << 16
"""The elements of the largest tensors of programs that run together. More of them leave the caches of processors."""
_COMBINING = ("tt.reduce", "tt.scan")


class LaneKernelCompiler(KernelCompiler, LaneCompiler):
    """Compiles a kernel for programs that run together."""

    together = True


def programs_at_once(kernel: Operation, settings: Settings) -> int:
    """Return how many programs of a kernel may run together; 1 if they run one after the other."""
    watched = settings.marks_elements or settings.listeners or settings.random is not None or settings.externals
    if watched or not all(_knows_lanes(op, settings) for op in kernel.walk() if op is not kernel):
        return 1
    types = {value.type for op in kernel.walk() for value in op.results if isinstance(value.type, ty.TensorType)}
    largest = max((prod(sizes_of(type_)) for type_ in types), default=1)
    return max(_ELEMENTS // largest, 1)


def _knows_lanes(op: Operation, settings: Settings) -> bool:
    """Tell whether an op can run for several programs at once, with the same effects."""
    match evaluator_of(op):
        case Constant() | Elementwise():
            return True
        case OnValues() as evaluator:
            return evaluator.in_lanes(op, settings) is not None or (evaluator.raw and not evaluator.no_lanes)
        case OnRawSlots():
            return op.name in _COMBINING and not values_from_outside(op)
        case OnFrames() as evaluator:
            return not evaluator.no_lanes and not op.name.endswith(".call")
    return False
