"""Carry inputs from one version of a function to another, and what that returns and stores back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from halfulp.conformance.whole_programs.arguments import Part
from halfulp.conformance.whole_programs.signatures import Signature, signature
from halfulp.interp.dialects.llvm.abi import Convention, convention_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.signature import argument_types, result_types
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin, Origins


@dataclass(frozen=True)
class Call:
    """The arguments of one run, and the function that makes outputs of the first version of what it returned."""

    arguments: Sequence[Any]
    outputs: Callable[[Sequence[Value]], tuple[Value, ...]]


class Carrier:
    """The way of single inputs to a version of a function, whose signature may be another one, and back."""

    def __init__(self, signature: Signature, after: Operation) -> None:
        self.signature = signature
        self._extra = argument_types(after)[len(signature.arguments) :]

    @property
    def notes(self) -> tuple[str, ...]:
        """Describe the way for the user."""
        return self.signature.notes

    def call(self, part: Part, row: int) -> Call:
        """Return one input as a call of the version."""
        given = self.given(part, row)
        return Call(given, partial(self.outputs, given))

    def given(self, part: Part, row: int) -> tuple[Value | Buffer, ...]:
        """Return one input as the arguments of the version, with new memory for each memref."""
        values = [
            value if not each.how else to_argument(each.to_target(held), each.target, "a made-up argument")
            for each, value, held in zip(self.signature.arguments, part.fresh(row), part.row(row), strict=True)
        ]
        return (*values, *map(_unwritten, self._extra))

    def outputs(self, given: Sequence[Value | Buffer], returned: Sequence[Value]) -> tuple[Value, ...]:
        """Return what the version has done as values of the first one: its results, then the contents of memory.

        ``given``: the arguments of the run. ``returned``: what it returned.
        """
        mapped = self.signature
        stored = dict(zip(mapped.out, map(_loaded, given[len(mapped.arguments) :]), strict=True))
        values = iter(returned)
        results = [stored[number] if number in stored else next(values) for number in range(len(mapped.results))]
        contents = [
            each.to_source(_loaded(buffer))
            for each, buffer in zip(mapped.arguments, given, strict=False)
            if isinstance(each.source, ty.MemRefType)
        ]
        return (*self.returned(results), *contents)

    def returned(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the results of the version as those of the first one."""
        return tuple(each.to_source(value) for each, value in zip(self.signature.results, values, strict=True))


class LoweredCarrier:
    """The way of single inputs to a function of the llvm dialect, by the convention that it follows, and back."""

    def __init__(self, before: Operation, after: Operation) -> None:
        source = ty.FunctionType(argument_types(before), result_types(before))
        self._how: Convention = convention_of(source, after)

    @property
    def notes(self) -> tuple[str, ...]:
        """Describe the way for the user."""
        return (f"mapped: to the llvm dialect, {self._how.name}",)

    def call(self, part: Part, row: int) -> Call:
        """Return one input as a call of the version. Raises Unsupported for values that are not passed so."""
        values = part.fresh(row)
        entered = self._how.enter(values)

        def outputs(returned: Sequence[Value]) -> tuple[Value, ...]:
            results = entered.leave(returned)
            return (*results, *(value.load() for value in values if isinstance(value, Buffer)))

        return Call(entered.arguments, outputs)


def carrier(before: Operation, after: Operation) -> Carrier | LoweredCarrier:
    """Return the way from one version of a function to another. Raises Unsupported if there is none."""
    if after.name == "llvm.func" and before.name != "llvm.func":
        return LoweredCarrier(before, after)
    return Carrier(signature(before, after), after)


def _unwritten(type_: ty.Type) -> Buffer:
    """Return new memory of a static type, every element of it poison."""
    assert isinstance(type_, ty.MemRefType)
    buffer = Buffer.allocate(type_, tuple(size or 0 for size in type_.shape or ()))
    buffer.allocation.spoil(Origin("memory", "", "an element of a result was never written"), Origins())
    return buffer


def _loaded(value: Value | Buffer) -> Value:
    return value.load() if isinstance(value, Buffer) else value
