"""Argument and result types of functions."""

from __future__ import annotations

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation


def argument_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the argument types of a func.func, or of the region of another op that runs by itself."""
    return _function_type(function).inputs


def result_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the result types of a func.func, or those that the region of another op yields."""
    return _function_type(function).results


def _function_type(function: Operation) -> ty.FunctionType:
    attribute = function.properties.get("function_type")
    if attribute is None:
        block = function.regions[0].blocks[0]
        arguments, yielded = block.arguments, block.operations[-1].operands
        return ty.FunctionType(tuple([value.type for value in arguments]), tuple([value.type for value in yielded]))
    type_ = getattr(attribute, "type", None)
    assert isinstance(type_, ty.FunctionType)
    return type_
