"""The output of a program: texts, and typed values in order, so that what is printed is compared bit for bit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.whole_programs.arguments import any_code
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.dialects.func.runner import BYTE, characters, may_print
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import concrete, element_width, runtime_shape
from halfulp.interp.run.frames import Outside
from halfulp.interp.run.settings import Listener
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.spelling import printed_elements, spell_value
from halfulp.interp.values.value import Value

# --- calls ------------------------------------------------------------------------------------------------------------
#
# The ops that a call of a function may reach.

_CALLS = {"func.call": "func.func", "llvm.call": "llvm.func"}
"""The ops that call a function by its name, and the ops that define one."""


def callee(module: Module, op: Operation) -> Operation | None:
    """Return the function that an op calls by its name, or None."""
    symbol = op.properties.get("callee") if op.name in _CALLS else None
    target = module.lookup(symbol, op) if isinstance(symbol, at.SymbolRefAttr) else None
    return target if target is not None and target.name == _CALLS[op.name] else None


def called(module: Module, function: Operation) -> Iterator[tuple[Operation, Operation | None]]:
    """Yield the ops of a function and of all functions that it calls, each with the function that it calls or None."""
    waiting = [function]
    met = {id(function)}
    while waiting:
        for op in waiting.pop().walk():
            target = callee(module, op)
            yield op, target
            if target is not None and id(target) not in met:
                met.add(id(target))
                waiting.append(target)


# --- printed ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The output of one op: the text as a user sees it, the same text with a mark for each element, and the values."""

    text: str
    frame: str
    values: tuple[Value, ...]


def prints(module: Module, function: Operation) -> bool:
    """Tell whether a call of a function may print: it reaches vector.print, a func.func without a body, a function of
    mlir-runner's library that prints, or a call through a pointer.
    """
    return any(_is_loud(op) if target is None else _may_print(target) for op, target in called(module, function))


def _is_loud(op: Operation) -> bool:
    """Tell whether an op prints, or calls a function through a pointer."""
    by_pointer = op.name == "llvm.call" and "callee" not in op.properties
    return by_pointer or op.name in ("vector.print", "func.call_indirect")


def _may_print(target: Operation) -> bool:
    return not target.regions[0].blocks and (target.name == "func.func" or may_print(target.symbol_name or ""))


class Output(Listener):
    """Collects what a run prints."""

    def __init__(self) -> None:
        self.items: list[Printed] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        """Record a printed text. The text around the values is stored without the op that prints it, because a pass may
        lower this op to others.
        """
        self.items.append(Printed(text, _frame(text, values), tuple(values)))


def silent(text: str) -> None:
    """Print nothing: a comparison collects what programs print, and does not show it."""


_PUNCTUATION = "()[], \n"
_ELEMENT = "\ud800"
"""The mark of an element: a lone surrogate, which no text that is read from bytes contains."""


def _frame(text: str, values: Sequence[Value]) -> str:
    """Return a text in which each element is replaced by a mark; the text itself if the elements do not occur in it."""
    found = _marked(text, [each for value in values for each in printed_elements(value)])
    if found is None and all(value.element_type == BYTE for value in values):
        found = _marked(text, [each for value in values for each in characters(value)])
    return text if found is None else found


def _marked(text: str, spelled: Sequence[str]) -> str | None:
    parts: list[str] = []
    rest = text
    for element in reversed(spelled):
        rest, found, after = rest.rpartition(element)
        if not found or after.strip(_PUNCTUATION):
            return None
        parts += [after, _ELEMENT]
    return rest + "".join(reversed(parts))


def call_of(name: str, values: tuple[Value, ...]) -> Printed:
    """Return a record of the call of a function without a body, with its values."""
    spelled = ", ".join(spell_value(value, limit=16) for value in values)
    shapes = ", ".join("x".join(map(str, value.shape)) for value in values)
    return Printed(f"{name}({spelled})\n", f"{name}({shapes})\n", values)


def elements(items: Sequence[Printed]) -> list[Value]:
    """Return the elements of all printed values in order, each as a scalar; a complex number as its two parts."""
    return [element for item in items for value in item.values for element in _scalars(value)]


def _scalars(value: Value) -> Iterator[Value]:
    type_ = value.element_type
    for place in np.ndindex(value.shape):
        poison = value.poison[place] if value.poison is not None and value.poison[place] else None
        open_ = None if value.open is None else value.open[place]
        if isinstance(type_, ty.ComplexType):
            for part in value.bits[place]:
                yield Value(type_.element, part, poison, open_, value.origins)
        else:
            yield Value(type_, value.bits[place], poison, open_, value.origins)


# --- uninterpreted ----------------------------------------------------------------------------------------------------
#
# Ops that no dialect has, and calls of declarations, as calls of functions that nobody knows.
#
# Both versions of a program run with the same unknown functions. So a pass may move, copy or remove such a call only if
# that is right for every function. The versions must make the same calls, in the same order, with operands that agree.
# The results of a call are made up from its name, its attributes, its number among the calls of this name, and the
# number of the input. They do not depend on the operands, which are compared. A call reads the memory that it gets, and
# changes nothing.

DEFINED = frozenset((
    "acc", "affine", "amdgpu", "amx", "arith", "arm_neon", "arm_sme", "arm_sve", "async", "bufferization", "builtin",
    "cf", "complex", "dlti", "emitc", "func", "gpu", "index", "irdl", "linalg", "llvm", "math", "memref",
    "ml_program", "mpi", "nvgpu", "nvvm", "omp", "pdl", "pdl_interp", "ptr", "quant", "rocdl", "scf", "shape",
    "shard", "smt", "sparse_tensor", "spirv", "tensor", "tosa", "transform", "ub", "vector", "wasmssa", "x86vector",
    "xegpu", "xevm",
))  # fmt: skip
"""Dialects of MLIR 22. Their ops have a defined meaning, so they never run as unknown functions."""

DYNAMIC_SIZE = 3
"""The size of a dynamic dimension in the generated result of an unknown function."""

MOST_TRIPS = 8
"""Generated results of type index are below this number, because they may become the bounds of loops."""

UnknownFunctions = Callable[[int, list[Printed]], Outside]
"""A function that makes the unknown functions for the run of one input, given by its number. They append their calls to
a list.
"""


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
        """Return generated results of an op. Raises Unsupported for an op that has a meaning in MLIR."""
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
            raise Unsupported(f"cannot generate values of type '{type_}'")
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
