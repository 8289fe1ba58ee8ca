"""Build IR without text: ops, functions and modules around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.declare.declarations import Arity, OpDefinition, Property, Slot, Trait, only_type
from halfulp.interp.declare.operands import SEGMENTS, spread
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import ParseError, TypeMismatch, VerifyError
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.text.parser import parse_attribute
from halfulp.interp.verifier import problem_of, verify

_MOST_DIVISIONS = 1000
"""The most ways to divide operands among variable ones that are tried."""
_ROUNDINGS = ("rounding", "roundingmode")
_PROPERTY_NAMES = {"rounding": "roundingmode", "overflow": "overflowFlags", "exact": "isExact", "nneg": "nonNeg"}


def apply_op(
    block: Block,
    definition: OpDefinition,
    operands: Sequence[SSAValue],
    properties: Mapping[str, Any],
    result: ty.Type | None = None,
) -> tuple[SSAValue, ...]:
    """Append an op to a block and return its results.

    ``properties``: as `op_properties` takes them. ``result``: the type of the first result, whole or only its element
    type, if the operands do not determine it. If several operands take a variable number of values, the property
    ``operandSegmentSizes`` gives the numbers; without it, the values are divided in the only possible way.

    Raises TypeMismatch if a type of the result is needed and missing. Raises VerifyError for unknown properties, and
    for operands that can be divided in no way or in several ways.
    """
    attributes = op_properties(definition, properties)
    if Trait.ATTR_SIZED_OPERAND_SEGMENTS not in definition.traits:
        op = _made(definition, operands, spread(definition.operands, len(operands)), attributes, result)
    elif SEGMENTS in attributes:
        given = attributes[SEGMENTS]
        sizes = list(given.values) if isinstance(given, at.DenseArrayAttr) else []
        fits = len(sizes) == len(definition.operands) and sum(sizes) == len(operands) and min(sizes) >= 0
        op = _made(definition, operands, sizes if fits else None, attributes, result)
    else:
        op = _divided(definition, operands, attributes, result)
    block.append(op)
    return op.results


def _made(
    definition: OpDefinition,
    operands: Sequence[SSAValue],
    sizes: Sequence[int] | None,
    attributes: Mapping[str, at.Attribute],
    result: ty.Type | None,
) -> Operation:
    """Make an op. ``sizes``: how many operands each declared operand stands for; None if the number does not fit, which
    the verifier reports.
    """
    types: dict[str, Any] = {}
    kinds = [value.type for value in operands]
    for slot, size in zip(definition.operands, sizes or [1] * len(operands), strict=False):
        first, kinds = kinds[:size], kinds[size:]
        types[slot.name] = first[0] if slot.arity is Arity.ONE else tuple(first)
    if result is not None:
        slot = definition.results[0]
        whole = result is not ty.element_type(result) or not operands
        full = result if whole else ty.with_element(operands[0].type, result)
        types[slot.name] = full if slot.arity is Arity.ONE else (full,)
    for rule in definition.type_rules:
        rule.solve(types, attributes)
    for slot in definition.results:
        only = only_type(slot.constraint) if slot.arity is Arity.ONE else None
        if only is not None:
            types.setdefault(slot.name, only)
    missing = [slot.name for slot in definition.results if slot.name not in types]
    if missing:
        raise TypeMismatch(
            f"the type of the {missing[0]} of {definition.name} does not follow from its operands",
            hint="give to=… (--to=…)",
        )
    results: list[ty.Type] = []
    for slot in definition.results:
        results += [types[slot.name]] if slot.arity is Arity.ONE else types[slot.name]
    return Operation(definition.name, definition, list(operands), results, dict(attributes))


def _divided(
    definition: OpDefinition,
    operands: Sequence[SSAValue],
    attributes: Mapping[str, at.Attribute],
    result: ty.Type | None,
) -> Operation:
    """Make an op with its operands divided in the one way that the verifier accepts."""
    fitting: list[tuple[tuple[int, ...], Operation]] = []
    problems: list[str] = []
    prefix = f"'{definition.name}' op "
    for sizes in islice(divisions(definition.operands, len(operands)), _MOST_DIVISIONS):
        given = {**attributes, SEGMENTS: at.DenseArrayAttr(ty.I32, sizes)}
        op = _made(definition, operands, sizes, given, result)
        problem = problem_of(op)
        if problem is None:
            fitting.append((sizes, op))
        else:
            problems.append(f"{_sizes_text(sizes)}: {problem.message.removeprefix(prefix)}")
    if len(fitting) == 1:
        return fitting[0][1]
    names = " and ".join(slot.name for slot in definition.operands)
    if fitting:
        ways = " or ".join(_sizes_text(sizes) for sizes, _ in fitting[:3])
        message = f"{len(operands)} operands can be {names} of '{definition.name}' in several ways: {ways}"
    else:
        reasons = "; ".join(problems[:3]) or "there are too few or too many"
        message = f"{len(operands)} operands cannot be {names} of '{definition.name}': as {reasons}"
    example = _sizes_text(fitting[0][0] if fitting else (len(operands), *[0] * (len(definition.operands) - 1)))
    raise VerifyError(message, op=definition.name, hint=f"say how many are which: {SEGMENTS}=[{example}]")


def _sizes_text(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def divisions(slots: Sequence[Slot], count: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to divide ``count`` values among declared operands. Each is a tuple with the number of values of
    each operand.
    """
    if not slots:
        if not count:
            yield ()
        return
    least = sum(slot.arity is Arity.ONE for slot in slots[1:])
    ranges = {Arity.ONE: (1, 1), Arity.OPTIONAL: (0, 1), Arity.VARIADIC: (0, count)}
    low, high = ranges[slots[0].arity]
    for size in range(low, min(high, count - least) + 1):
        for rest in divisions(slots[1:], count - size):
            yield size, *rest


def function_of(name: str, block: Block, results: Sequence[SSAValue]) -> Operation:
    """Make a function of that name with one block, which returns ``results``."""
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
    """Make a verified module of functions. Raises VerifyError."""
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
    """Make a module with the one function ``@eval``, which applies the op to its arguments and returns the results.

    The parameters and errors are those of `apply_op`.
    """
    block = Block()
    arguments = [block.add_argument(type_) for type_ in operands]
    return module_of([function_of("eval", block, apply_op(block, definition, arguments, properties, result))])


def with_rounding(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of an op, in which another name of a rounding mode is replaced by MLIR's name."""
    return {name: _rounding(value) if name in _ROUNDINGS else value for name, value in given.items()}


def _rounding(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return as_rounding(value).spelling
    except ValueError as error:
        raise VerifyError(str(error)) from None


def property_of(definition: OpDefinition, name: str) -> Property | None:
    """Return the property or choice that a keyword of `eval` names: by MLIR's name, or by rounding, overflow, exact or
    nneg.
    """
    wanted = _PROPERTY_NAMES.get(name, name)
    return next((each for each in (*definition.properties, *definition.choices) if each.name == wanted), None)


def op_properties(definition: OpDefinition, given: Mapping[str, Any]) -> dict[str, at.Attribute]:
    """Return the op's properties from keywords, with the defaults of those that are not given.

    A value may be an attribute; the keywords of an enum; True or False; any other text, which is read as MLIR's
    spelling of an attribute, or taken as a string if the property is a string; or a list of integers, or of such
    values.

    Raises VerifyError for an unknown name or value, and ParseError for a text that is not an attribute.
    """
    attributes: dict[str, at.Attribute] = {}
    for name, value in with_rounding(given).items():
        if name == SEGMENTS and Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits:
            attributes[name] = _attribute(definition, name, value, ty.I32)
            continue
        declared = property_of(definition, name)
        if declared is None:
            known = ", ".join(prop.name for prop in (*definition.properties, *definition.choices)) or "none"
            raise VerifyError(f"'{definition.name}' has no property '{name}'; it has {known}", op=definition.name)
        if isinstance(value, at.Attribute):
            attributes[declared.name] = value
        elif isinstance(declared.kind, EnumDefinition):
            attributes[declared.name] = _enum_attribute(definition, declared.kind, name, value)
        elif isinstance(value, bool) and declared.kind.accepts(at.BoolAttr(value)):
            attributes[declared.name] = at.BoolAttr(value)
        elif value is True:
            attributes[declared.name] = at.UnitAttr()
        elif isinstance(value, str) and declared.kind.accepts(at.StringAttr(value)):
            attributes[declared.name] = at.StringAttr(value)
        elif value is not False and value is not None:
            attributes[declared.name] = _attribute(definition, name, value)
    for declared in definition.properties:
        if (implied := declared.implied) is not None:
            attributes.setdefault(declared.name, implied)
    return attributes


def completed(
    definition: OpDefinition, given: Mapping[str, Any], count: int
) -> tuple[dict[str, at.Attribute], Sequence[ty.Type]]:
    """Return the properties of an op with ``count`` operands, and the element types of the operands that the properties
    determine. Properties that such an op may omit are added (`OpDefinition.assume`). Raises the errors of
    `op_properties`.
    """
    attributes = op_properties(definition, given)
    return attributes, () if definition.assume is None else definition.assume(attributes, count)


def _attribute(definition: OpDefinition, name: str, value: Any, integers: ty.Type = ty.I64) -> at.Attribute:
    """Return the attribute that a text or a list stands for."""
    if isinstance(value, at.Attribute):
        return value
    if isinstance(value, str):
        try:
            return parse_attribute(value)
        except ParseError as error:
            error.message = f"{name} of '{definition.name}' is {value!r}: {error.message}"
            if value.isidentifier():
                error.hint = "write the attribute as MLIR does, as in '#iree_gpu.mma_layout<…>' or '[0, 1]'"
            raise
    if isinstance(value, Sequence):
        if value and all(isinstance(entry, int) and not isinstance(entry, bool) for entry in value):
            mask = (1 << integers.width) - 1 if isinstance(integers, ty.IntegerType) else 0
            return at.DenseArrayAttr(integers, tuple(entry & mask for entry in value))
        return at.ArrayAttr(tuple(_attribute(definition, name, entry, integers) for entry in value))
    raise VerifyError(
        f"{name} of '{definition.name}' is {value!r}, but must be True, False, an attribute or its text, or a list",
        op=definition.name,
    )


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
