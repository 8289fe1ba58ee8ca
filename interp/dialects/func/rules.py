"""The rules of functions: signatures, bodies, calls and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.declare.declarations import Trait, Unprefixed
from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr, TypeAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import FunctionType


def _similar_function(name: str, symbols: Mapping[str, Operation]) -> str | None:
    return did_you_mean(f"@{name}", (f"@{known}" for known, op in symbols.items() if op.name == "func.func"))


def verify_call(call: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless a call names a function of the right type."""
    callee = call.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        return
    target = symbols.get(callee.root)
    if target is None or target.name != "func.func":
        raise call.rule_broken(
            f"'{callee.root}' does not reference a valid function", hint=_similar_function(callee.root, symbols)
        )
    type = _function_type(target)
    if type is None:
        return
    if len(type.inputs) != len(call.operands):
        raise call.rule_broken("incorrect number of operands for callee")
    for number, (value, input) in enumerate(zip(call.operands, type.inputs, strict=True)):
        if value.type != input:
            raise call.rule_broken(
                f"operand type mismatch: expected operand type '{input}', but provided '{value.type}' for operand "
                f"number {number}",
            )
    if len(type.results) != len(call.results):
        raise call.rule_broken("incorrect number of results for callee")
    for number, (result, expected) in enumerate(zip(call.results, type.results, strict=True)):
        if result.type != expected:
            raise call.rule_broken(
                f"result type mismatch at index {number}",
                notes=[
                    (None, f"      op result types: {_types([r.type for r in call.results])}"),
                    (None, f"function result types: {_types(type.results)}"),
                ],
            )


def verify_constant(operation: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless a constant names a function of its type."""
    value = operation.properties.get("value")
    if not isinstance(value, SymbolRefAttr):
        return
    target = symbols.get(value.root)
    if target is None or target.name != "func.func":
        raise operation.rule_broken(
            f"reference to undefined function '{value.root}'",
            hint=_similar_function(value.root, symbols),
        )
    if _function_type(target) != operation.results[0].type:
        raise operation.rule_broken("reference to function with mismatched type")


def _types(types: Sequence[Type]) -> str:
    return ", ".join(f"'{type}'" for type in types)


def _function_type(function: Operation) -> FunctionType | None:
    attribute: Attribute | None = function.properties.get("function_type")
    return attribute.type if isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType) else None


def wrong_attributes(function: Operation, arguments: int, results: int) -> str | None:
    """Return what is wrong with the attributes of a function's arguments and results, of which there are these many."""
    for name, what, count in (("arg_attrs", "argument", arguments), ("res_attrs", "result", results)):
        attributes = function.properties.get(name)
        if not isinstance(attributes, ArrayAttr):
            continue
        if len(attributes.elements) != count:
            return (
                f"expects {what} attribute array to have the same number of elements as the number of function "
                f"{what}s, got {len(attributes.elements)}, but expected {count}"
            )
        for dictionary in attributes.elements:
            if isinstance(dictionary, DictionaryAttr) and any("." not in key for key, _ in dictionary.entries):
                return f"{what}s may only have dialect attributes"
    return None


def verify_function(function: Operation) -> str | None:
    """Return what is wrong with the signature or the body of a function, or None."""
    parent = function.parent_op
    if parent is not None and parent.definition is not None and Trait.SYMBOL_TABLE not in parent.definition.traits:
        return "symbol's parent must have the SymbolTable trait"
    type = _function_type(function)
    if type is None:
        return None
    problem = wrong_attributes(function, len(type.inputs), len(type.results))
    if problem is not None:
        return problem
    region = function.regions[0]
    visibility = function.properties.get("sym_visibility")
    if not region.blocks:
        if not isinstance(visibility, StringAttr) or visibility.value == "public":
            return "symbol declaration cannot have public visibility"
        return None
    arguments = region.blocks[0].arguments
    if len(arguments) != len(type.inputs):
        return f"entry block must have {len(type.inputs)} arguments to match function signature"
    for number, (argument, input) in enumerate(zip(arguments, type.inputs, strict=True)):
        if argument.type != input:
            return (
                f"type of entry block argument #{number}('{argument.type}') must match the type of the corresponding "
                f"argument in function signature('{input}')"
            )
    return None


def verify_return(operation: Operation) -> str | None:
    """Return what is wrong with the number or the types of returned values, or None."""
    function = operation.parent_op
    if function is None or function.name != "func.func":
        return "expects parent op 'func.func'"
    type = _function_type(function)
    declared = () if type is None else type.results
    count = len(operation.operands)
    if len(declared) != count:
        return f"has {count} operands, but enclosing function (@{function.symbol_name}) returns {len(declared)}"
    for number, (value, expected) in enumerate(zip(operation.operands, declared, strict=True)):
        if value.type != expected:
            return Unprefixed(
                f"type of return operand {number} ('{value.type}') doesn't match function result type ('{expected}') "
                f"in function @{function.symbol_name}"
            )
    return None
