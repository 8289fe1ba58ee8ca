"""The ops of StableHLO that call something that is not an op: custom_call, and composite, which has a decomposition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.check import CHECKS, compared, defined
from halfulp.interp.dialects.func.ops import caller, type_of_function
from halfulp.interp.dialects.stablehlo.attributes import (
    ALIASES,
    API_VERSION,
    API_VERSIONS,
    BACKEND_CONFIG,
    I32_ATTR,
    LAYOUTS,
    SYMBOLS,
    TILINGS,
)
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE, read_rest
from halfulp.interp.dialects.stablehlo.lapack import function_of
from halfulp.interp.dialects.stablehlo.types import CALLED, VALUE_OR_TUPLE, shapes_fit, stablehlo
from halfulp.interp.dialects.stablehlo.windows import dynamic_reduce_window
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed, spell_symbol
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import AssertionFailed, Unsupported, VerifyError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Function, Run
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value

# --- custom_call ------------------------------------------------------------------------------------------------------


def _target(op: Operation) -> str:
    return op.prop("call_target_name", at.StringAttr).value


def _custom_call(op: Operation, compiler: Compiler) -> Function:
    target = _target(op)
    if target == "stablehlo.dynamic_reduce_window":
        return dynamic_reduce_window(op, compiler)
    if target == "shape_assertion" and op.operands and not op.results:
        return lambda run, operands: _asserted(op, operands)
    known = function_of(op, target, compiler.settings)
    if known is not None:
        return known
    check = CHECKS.get(target)

    def call(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        if check is not None and len(operands) == 2:
            compared(op, *operands, check)
            return tuple([Value(result.type, np.ones((), np.uint8)) for result in op.results])
        raise Unsupported(
            f"halfulp does not know the function @{target} that stablehlo.custom_call calls",
            hint="leave the call out, or make its results arguments of the program",
        )

    return call


def _asserted(op: Operation, operands: tuple[Value, ...]) -> tuple[()]:
    """Check the first operand, a truth value. The others are the numbers {0}, {1}, … of the message. JAX asserts with
    this function that the sizes of arguments fit the symbolic shapes of an exported program.

    Raises AssertionFailed, and UndefinedBehavior for poison in the first operand.
    """
    defined(op, operands[0])
    if not operands[0].bits.all():
        message = op.attributes.get("error_message")
        text = message.value if isinstance(message, at.StringAttr) else "an assertion about shapes does not hold"
        for place, value in enumerate(operands[1:]):
            text = text.replace(f"{{{place}}}", str(value.tolist()) if value.poison is None else "poison")
        raise AssertionFailed(text, location=op.location, op=op.name)
    return ()


_EMPTY = at.ArrayAttr(())


def _leaves(type_: ty.Type, path: tuple[int, ...] = ()) -> Iterator[tuple[ty.Type, tuple[int, ...]]]:
    """Yield the types in nested tuples, each with its place; a type that is not a tuple itself."""
    if not isinstance(type_, ty.TupleType):
        yield type_, path
        return
    for index, each in enumerate(type_.elements):
        yield from _leaves(each, (*path, index))


def _part_of(type_: ty.Type, path: Sequence[int]) -> ty.Type | None:
    """Return the type at a place in nested tuples; None where there is none."""
    for index in path:
        if not isinstance(type_, ty.TupleType) or not 0 <= index < len(type_.elements):
            return None
        type_ = type_.elements[index]
    return type_


def _verify_layouts(types: Sequence[ty.Type], layouts: at.Attribute, name: str) -> str | None:
    """Check the order of dimensions in memory for each of some operands or results."""
    assert isinstance(layouts, at.ArrayAttr)
    if len(types) != len(layouts.elements):
        return f"Number of {name}s must match the number of {name} layouts, {len(types)} != {len(layouts.elements)}"
    for index, (type_, layout) in enumerate(zip(types, layouts.elements, strict=True)):
        assert isinstance(layout, at.DenseElementsAttr)
        order = [int(number) for number in layout.array().reshape(-1)]
        if isinstance(type_, ty.TupleType):
            return "Tuple types are not fully supported with layout constraints yet"
        shape = ty.shape_of(type_) if isinstance(type_, ty.ShapedType) else ()
        if not isinstance(type_, ty.ShapedType) and order:
            return f"Only tensor types can have non-empty layout: {name} #{index} of type '{type_}' has layout {layout}"
        if shape is not None and sorted(order) != list(range(len(shape))):
            return f"incorrect layout {layout} for type '{type_}', layout must be a permutation of [0, {len(shape)})"
    return None


def _result_type(op: Operation) -> ty.Type:
    types = [result.type for result in op.results]
    return types[0] if len(types) == 1 else ty.TupleType(tuple(types))


def _aliases(op: Operation) -> list[DialectAttr]:
    found = narrowed(op.properties.get("output_operand_aliases", _EMPTY), at.ArrayAttr)
    return [alias for alias in found.elements if isinstance(alias, DialectAttr)]


def _verify_aliases(op: Operation) -> str | None:
    for alias in _aliases(op):
        output, index, inner = alias.values
        if not 0 <= index < len(op.operands):
            return (
                f"expects operandIndex in the output_operand_alias attribute to be in range [0, {len(op.operands)}); "
                f"got: {index}."
            )
        parts = _part_of(op.operands[index].type, inner), _part_of(_result_type(op), output)
        for part, name in zip(parts, ("operand", "output"), strict=True):
            if part is None:
                return f"{name}_tuple_indices in the output_operand_alias attribute out of bounds"
        if parts[0] != parts[1]:
            return (
                f"shapes mismatch in the output_operand_alias attribute: operand part has type '{parts[0]}' and output "
                f"part has type '{parts[1]}'"
            )
    return None


_BUFFERS = {
    "Pin": (ty.TensorType, "a tensor", ty.MemRefType, "a memref"),
    "Unpin": (ty.MemRefType, "a memref", ty.TensorType, "a tensor"),
}
"""The functions that make a buffer of a tensor, and back: what each one takes and gives."""


def _verify_buffers(op: Operation) -> str | None:
    """Check the functions of buffers, and that a buffer among the results is one of the operands."""
    target = _target(op)
    types = [value.type for value in op.operands], [result.type for result in op.results]
    if target == "CreateBuffer":
        if types[0]:
            return "CreateBuffer custom_call shouldn't have any inputs"
        if len(types[1]) != 1:
            return "CreateBuffer custom_call should have one result"
        return (
            None if isinstance(types[1][0], ty.MemRefType) else "CreateBuffer custom_call should have a memref result"
        )
    if target in _BUFFERS:
        given, given_words, made, made_words = _BUFFERS[target]
        if len(types[0]) != 1:
            return f"{target} custom_call should have one input"
        if not isinstance(types[0][0], given):
            return f"{target} custom_call should have {given_words} input"
        if len(types[1]) != 1:
            return f"{target} custom_call should have one output"
        if not isinstance(types[1][0], made):
            return f"{target} custom_call should have {made_words} output"
        one, other = types[0][0], types[1][0]
        if not shapes_fit(one, other) or ty.element_type(one) != ty.element_type(other):
            return f"{target} custom_call should have compatible input and output types"
        return None
    used = set[tuple[object, ...]]()
    for alias in _aliases(op):
        output, index, inner = alias.values
        if not isinstance(_part_of(op.operands[index].type, inner), ty.MemRefType):
            continue
        for key, text in (
            (("output", *output), f"buffer output {list(output)}"),
            (("operand", index, *inner), f"buffer operand {index}{list(inner)}"),
        ):
            if key in used:
                return f"{text} is used in output_operand_alias more than once"
            used.add(key)
    for type_, path in _leaves(_result_type(op)):
        if isinstance(type_, ty.MemRefType) and ("output", *path) not in used:
            return f"buffer output {list(path)} is not used in output_operand_alias"
    return None


def _verify_custom_call(op: Operation) -> str | None:
    layouts = op.properties.get("operand_layouts"), op.properties.get("result_layouts")
    if (layouts[0] is None) != (layouts[1] is None):
        return "Layout attributes should be specified for either both operands and results or none."
    if layouts[0] is not None and layouts[1] is not None:
        made = _result_type(op)
        results = made.elements if isinstance(made, ty.TupleType) else (made,)
        found = _verify_layouts([value.type for value in op.operands], layouts[0], "operand") or _verify_layouts(
            results, layouts[1], "result"
        )
        if found is not None:
            return found
    found = _verify_aliases(op)
    if found is not None:
        return found
    config, version = op.properties.get("backend_config"), op.properties.get("api_version", _ORIGINAL)
    assert isinstance(version, at.IntegerAttr)
    kind = at.DictionaryAttr if version.value == len(API_VERSIONS) - 1 else at.StringAttr
    if config is not None and not isinstance(config, kind):
        words = "dictionary" if kind is at.DictionaryAttr else "string"
        return f"backend_config for api_version {API_VERSIONS[version.value]} must be a {words} attribute."
    return _verify_buffers(op)


def _call_target(slots: Slots, name: str) -> ElementForm:
    """Return the form of the name of a function that is called: ``@name``."""

    def read(p: OpParser, state: OpReading) -> None:
        if p.tokens[p.pos][:1] != "@":
            p.wrong(slots.definition.name, "expected valid '@'-identifier for symbol name")
        state.properties[name] = at.StringAttr(p.symbol())

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(spell_symbol(_target(operation)))

    return ElementForm(read, print_)


CUSTOM_DIRECTIVES["CustomCallTarget"] = _call_target
_ORIGINAL = at.IntegerAttr(1, ty.I32)

stablehlo.op(
    "custom_call",
    f"custom<CustomCallTarget>($call_target_name) `(` $inputs `)` {FUNCTION_TYPE}",
    operands=(d.variadic("inputs", CALLED),),
    results=(d.variadic("result", CALLED),),
    properties=(
        d.Property("api_version", API_VERSION, optional=True, elided=_ORIGINAL),
        d.Property("backend_config", BACKEND_CONFIG, optional=True),
        d.Property("call_target_name", d.STRING_ATTR),
        d.Property("called_computations", SYMBOLS, optional=True, elided=_EMPTY),
        d.Property("has_side_effect", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(False)),
        d.Property("operand_layouts", LAYOUTS, optional=True),
        d.Property("output_operand_aliases", ALIASES, optional=True, elided=_EMPTY),
        d.Property("result_layouts", LAYOUTS, optional=True),
        d.Property("result_tilings", TILINGS, optional=True),
    ),
    verify=_verify_custom_call,
    evaluate=OnValues(_custom_call, of_module=True),
)

# --- composite --------------------------------------------------------------------------------------------------------

_NAMESPACED = "^[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+$"


def _parse_composite(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    properties: dict[str, at.Attribute] = {"name": at.StringAttr(p.string())}
    tokens = p.operand_tokens()
    regions = []
    if p.take("("):
        regions = [p.region(definition.name)]
        while p.take(","):
            regions.append(p.region(definition.name))
        p.expect(")")
    return read_rest(p, at_, definition, tokens, properties, regions)


def _print_composite(printer: OpPrinter, op: Operation) -> str:
    text = f" {printer.attribute(op.properties['name'])} {', '.join(map(printer.name, op.operands))}"
    if op.regions:
        text += f" ({', '.join(printer.region(region, op) for region in op.regions)})"
    left_out = {"composite_attributes": at.DictionaryAttr(()), "version": at.IntegerAttr(0, ty.I32)}
    shown = {
        name: value for name, value in op.properties.items() if name != "name" and left_out.get(name) != value
    } | op.attributes
    types = ty.FunctionType(tuple(value.type for value in op.operands), tuple(result.type for result in op.results))
    return f"{text} {printer.dictionary(shown)} : {printer.type(types)}"


def _verify_decomposition(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Check the function that says what a composite means. Raises VerifyError."""

    def broken(message: str) -> VerifyError:
        return op.rule_broken(Unprefixed(message))

    name = op.prop("name", at.StringAttr).value
    if re.fullmatch(_NAMESPACED, name) is None:
        raise broken(
            f"name must be a valid namespaced op name, i.e. it must match the following regular expression: "
            f'{_NAMESPACED} e.g. "my_namespace.my_op"'
        )
    wanted = op.prop("decomposition", at.SymbolRefAttr).root
    type_ = type_of_function(symbols.get(wanted))
    if type_ is None:
        raise broken(f"'{wanted}' does not reference a valid function")
    for what, values, expected in (("operand", op.operands, type_.inputs), ("result", op.results, type_.results)):
        if len(values) != len(expected):
            raise broken(f"has {len(values)} {what}(s), but decomposition has {len(expected)}")
        for index, (value, each) in enumerate(zip(values, expected, strict=True)):
            if value.type != each:
                raise broken(f"{what} at index {index} has type '{value.type}', but decomposition has type '{each}'")


def _composite(op: Operation, compiler: Compiler) -> Action:
    """Make the action of a composite: the call of its decomposition."""
    target = compiler.module.lookup(op.prop("decomposition", at.SymbolRefAttr), op)
    assert target is not None
    return caller(op, target, compiler.slots(op.operands), compiler.slots(op.results), compiler, compiler.after())


stablehlo.op(
    "composite",
    custom=d.CustomForm(_parse_composite, _print_composite),
    operands=(d.variadic("inputs", VALUE_OR_TUPLE),),
    results=(d.variadic("result", VALUE_OR_TUPLE),),
    properties=(
        d.Property("composite_attributes", d.DICTIONARY_ATTR, optional=True),
        d.Property("decomposition", d.FLAT_SYMBOL_REF_ATTR),
        d.Property("name", d.STRING_ATTR),
        d.Property("version", I32_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("composite_regions", d.Arity.VARIADIC),),
    verify_symbols=_verify_decomposition,
    evaluate=OnFrames(_composite, no_lanes=True),
)
