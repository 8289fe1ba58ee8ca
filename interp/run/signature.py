"""Argument and result types of functions."""

from __future__ import annotations

from typing import Protocol

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation

FUNCTIONS = ("func.func", "llvm.func")
"""The ops that can be run by name."""


class _FunctionType(Protocol):
    """The type of a function of any dialect."""

    @property
    def inputs(self) -> tuple[ty.Type, ...]:
        """The types of the arguments."""

    @property
    def results(self) -> tuple[ty.Type, ...]:
        """The types of the results."""


def argument_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the argument types of a function, or of the region of another op that runs by itself."""
    return _function_type(function).inputs


def result_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the result types of a function, or those that the region of another op yields."""
    return _function_type(function).results


def _function_type(function: Operation) -> _FunctionType:
    attribute = function.properties.get("function_type")
    if attribute is None:
        block = function.regions[0].blocks[0]
        arguments, yielded = block.arguments, block.operations[-1].operands
        return ty.FunctionType(tuple([value.type for value in arguments]), tuple([value.type for value in yielded]))
    type_: _FunctionType = getattr(attribute, "type", None)  # type: ignore[assignment]
    assert type_ is not None
    return type_
