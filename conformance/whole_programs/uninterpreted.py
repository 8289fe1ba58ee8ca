"""Ops that no dialect has, and calls of declarations, as calls of functions that nobody knows.

Both versions of a program run with the same unknown functions. So a pass may move, copy or remove such a call only if
that is right for every function. The versions must make the same calls, in the same order, with operands that agree.
The results of a call are made up from its name, its attributes, its number among the calls of this name, and the number
of the input. They do not depend on the operands, which are compared. A call reads the memory that it gets, and changes
nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from halfulp.conformance.whole_programs.calls import called
from halfulp.conformance.whole_programs.domains import any_code
from halfulp.conformance.whole_programs.printed import Printed, call_of
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.frames import Outside
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import concrete, runtime_shape
from halfulp.interp.values.value import Value

DEFINED = frozenset((
    "acc", "affine", "amdgpu", "amx", "arith", "arm_neon", "arm_sme", "arm_sve", "async", "bufferization", "builtin",
    "cf", "complex", "dlti", "emitc", "func", "gpu", "index", "irdl", "linalg", "llvm", "math", "memref",
    "ml_program", "mpi", "nvgpu", "nvvm", "omp", "pdl", "pdl_interp", "ptr", "quant", "rocdl", "scf", "shape",
    "shard", "smt", "sparse_tensor", "spirv", "tensor", "tosa", "transform", "ub", "vector", "wasmssa", "x86vector",
    "xegpu", "xevm",
))  # fmt: skip
"""Dialects of MLIR 22 whose ops have a meaning: they are never called unknown functions."""

DYNAMIC_SIZE = 3
"""The size of a dynamic dimension of a made-up result."""

MOST_TRIPS = 8
"""Made-up numbers of type index are below this one: they may become the bounds of loops."""


UnknownFunctions = Callable[[int, list[Printed]], Outside]
"""Makes the unknown functions for the run of one input, by number; they append their calls to a list."""


def is_uninterpreted(module: Module, function: Operation) -> bool:
    """Tell whether a function reaches an op that no dialect has, or a func.func without a body."""
    return any(
        op.definition is None or (op.name == "func.call" and target is not None and not target.regions[0].blocks)
        for op, target in called(module, function)
    )


class Calls:
    """The unknown functions of one run. ``events``: the list to which calls are appended."""

    def __init__(self, seed: int, events: list[Printed]) -> None:
        self.seed = seed
        self.events = events
        self._counts: Counter[str] = Counter()

    def __call__(self, op: Operation, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> Sequence[Any]:
        """Return made-up results of an op. Raises Unsupported for an op that has a meaning in MLIR."""
        dialect = op.name.partition(".")[0]
        if dialect in DEFINED and op.name != "func.call":
            raise Unsupported(f"cannot execute '{op.name}': halfulp does not have it", location=op.location, op=op.name)
        name = _name(op)
        seen = tuple(value.load() if isinstance(value, Buffer) else value for value in operands)
        if not all(isinstance(value, Value) for value in seen):
            raise Unsupported(f"an operand of '{op.name}' is not a value", location=op.location, op=op.name)
        self.events.append(call_of(name, seen))
        self._counts[name] += 1
        return [self._made_up(type_, (name, self._counts[name], index)) for index, type_ in enumerate(types)]

    def _made_up(self, type_: ty.Type, key: tuple[Any, ...]) -> Value | Buffer:
        rng = random.Random(repr((self.seed, key)))
        element = ty.element_type(type_)
        width = element_width(element)
        if width is None:
            raise Unsupported(f"no values of type '{type_}' can be made up")
        shape = _shape(type_)
        count = prod(shape)
        if isinstance(element, ty.IndexType):
            codes = [rng.randrange(MOST_TRIPS) for _ in range(count)]
        else:
            codes = [any_code(element, rng) for _ in range(count)]
        bits = ints_to_codes(codes, width, shape)
        if isinstance(type_, ty.MemRefType):
            return Buffer.from_numpy(Value(ty.TensorType(shape, element), bits), type_)
        return Value(concrete(type_, shape), bits)


def _shape(type_: ty.Type) -> tuple[int, ...]:
    shape = runtime_shape(type_, None)
    return (DYNAMIC_SIZE,) if shape is None else tuple(DYNAMIC_SIZE if size is None else size for size in shape)


def attributes_of(op: Operation) -> dict[str, at.Attribute]:
    """Return the attributes of an op that no dialect has; in the generic form some stand in ``<{…}>``."""
    inherent = op.raw_properties.mapping if isinstance(op.raw_properties, at.DictionaryAttr) else {}
    return {**op.attributes, **inherent}


def _name(op: Operation) -> str:
    """Name the function that an op calls. Marks that passes set, ``foo.mark`` and ``__mark__``, do not count."""
    named = {
        name: value
        for name, value in attributes_of(op).items()
        if "." not in name and not (name.startswith("__") and name.endswith("__"))
    }
    attributes = ", ".join(f"{name} = {value}" for name, value in sorted(named.items()))
    return f"{op.properties.get('callee', op.name)}" + (f" {{{attributes}}}" if attributes else "")
