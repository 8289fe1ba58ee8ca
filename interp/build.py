"""Build IR without text: ops, functions and modules around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from halfulp.interp import attributes as at
from halfulp.interp import types as ty
from halfulp.interp.dialect import EnumDefinition, OpDefinition, Property, default_registry
from halfulp.interp.errors import TypeMismatch, VerifyError
from halfulp.interp.ir import Block, Module, Operation, Region, SSAValue
from halfulp.interp.verifier import verify

_PROPERTY_NAMES = {"rounding": "roundingmode", "overflow": "overflowFlags", "exact": "isExact", "nneg": "nonNeg"}


def apply_op(
    block: Block,
    definition: OpDefinition,
    operands: Sequence[SSAValue],
    properties: Mapping[str, Any],
    result: ty.Type | None = None,
) -> tuple[SSAValue, ...]:
    """Append an op to a block; its results.

    ``properties``: as `op_properties` takes them. ``result``: the type of the first result, whole or only its element
    type, where it does not follow from the operands'. Raises TypeMismatch without one where it is needed, VerifyError
    for unknown properties.
    """
    attributes = op_properties(definition, properties)
    types: dict[str, Any] = {slot.name: value.type for slot, value in zip(definition.operands, operands, strict=False)}
    if result is not None:
        whole = result is not ty.element_type(result) or not operands
        types[definition.results[0].name] = result if whole else ty.with_element(operands[0].type, result)
    for rule in definition.type_rules:
        rule.solve(types, attributes)
    missing = [slot.name for slot in definition.results if slot.name not in types]
    if missing:
        raise TypeMismatch(
            f"the type of the {missing[0]} of {definition.name} does not follow from its operands",
            hint="give to=… (--to=…)",
        )
    results = [types[slot.name] for slot in definition.results]
    op = Operation(definition.name, definition, list(operands), results, attributes)
    block.append(op)
    return op.results


def function_of(name: str, block: Block, results: Sequence[SSAValue]) -> Operation:
    """A function of that name with one block, which is ended by returning ``results``."""
    block.append(Operation("func.return", default_registry().find("func.return"), list(results)))
    inputs = tuple(argument.type for argument in block.arguments)
    signature = ty.FunctionType(inputs, tuple(value.type for value in results))
    return Operation(
        "func.func",
        default_registry().find("func.func"),
        properties={"function_type": at.TypeAttr(signature), "sym_name": at.StringAttr(name)},
        regions=[Region([block])],
    )


def module_of(functions: Iterable[Operation]) -> Module:
    """A verified module of these functions. Raises VerifyError."""
    top = Block()
    for function in functions:
        top.append(function)
    definition = default_registry().find("builtin.module")
    module = Module(Operation("builtin.module", definition, regions=[Region([top])]))
    verify(module)
    return module


def single_op_module(
    definition: OpDefinition, operands: Sequence[ty.Type], properties: Mapping[str, Any], result: ty.Type | None
) -> Module:
    """A module with the one function ``@eval`` that applies the op to its arguments and returns the results.

    The parameters and what is raised are those of `apply_op`.
    """
    block = Block()
    arguments = [block.add_argument(type_) for type_ in operands]
    return module_of([function_of("eval", block, apply_op(block, definition, arguments, properties, result))])


def property_of(definition: OpDefinition, name: str) -> Property | None:
    """The property of an op that a keyword of `eval` names: by MLIR's name, or rounding, overflow, exact."""
    return definition.property_named(_PROPERTY_NAMES.get(name, name))


def op_properties(definition: OpDefinition, given: Mapping[str, Any]) -> dict[str, at.Attribute]:
    """The op's properties from keywords; defaults where none is given. Raises VerifyError for an unknown name or
    value.
    """
    attributes: dict[str, at.Attribute] = {}
    for name, value in given.items():
        declared = property_of(definition, name)
        if declared is None:
            known = ", ".join(prop.name for prop in definition.properties) or "none"
            raise VerifyError(f"'{definition.name}' has no property '{name}'; it has {known}", op=definition.name)
        if isinstance(declared.kind, EnumDefinition):
            attributes[declared.name] = _enum_attribute(definition, declared.kind, name, value)
        elif isinstance(value, at.Attribute):
            attributes[declared.name] = value
        elif value is True:
            attributes[declared.name] = at.UnitAttr()
        elif value is not False and value is not None:
            raise VerifyError(f"{name} of '{definition.name}' is {value!r}, but must be True, False or an attribute")
    for declared in definition.properties:
        if declared.default is not None and isinstance(declared.kind, EnumDefinition):
            attributes.setdefault(declared.name, declared.kind.attribute(declared.default))
    return attributes


def _enum_attribute(definition: OpDefinition, enum: EnumDefinition, name: str, value: Any) -> at.Attribute:
    words = [word.strip() for word in value.split(",")] if isinstance(value, str) else None
    if words is None or any(word not in enum.cases for word in words) or (len(words) > 1 and not enum.flags):
        choices = ", ".join(enum.cases)
        raise VerifyError(
            f"{name} of '{definition.name}' is {value!r}, but must be one of {choices}", op=definition.name
        )
    number = 0
    for word in words:
        number |= enum.cases[word]
    return enum.attribute(number)
