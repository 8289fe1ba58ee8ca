"""The custom forms of functions and calls of the llvm dialect, which MLIR writes by hand (`LLVMDialect.cpp`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, is_inherent
from halfulp.interp.dialects.cf.ops import typed_operands
from halfulp.interp.dialects.llvm import forms
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.attribute_contracts import POINTERS, poison_in
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.dialects.signatures import Signature, print_inputs, print_results, print_signature
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import ArrayAttr, DenseArrayAttr, OpaqueAttr, StringAttr, TypeAttr
from halfulp.interp.ir.base import Attribute, Type, quoted, spell_symbol
from halfulp.interp.ir.operations import Operation, Region, SSAValue, undefined, unsupported
from halfulp.interp.ir.types import I32
from halfulp.interp.run.frames import Function, Run, decided, number
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- bundles ----------------------------------------------------------------------------------------------------------
#
# Operand bundles: lists of values with a tag that a call or an assumption carries; the form of llvm.intr.assume.


def read_bundles(p: OpParser) -> tuple[list[list[SSAValue]], list[Attribute]]:
    """Read optional operand bundles, and return their values and their tags."""
    bundles: list[list[SSAValue]] = []
    tags: list[Attribute] = []
    if not p.take("["):
        return bundles, tags
    while tags or p.tokens[p.pos] != "]":
        tags.append(StringAttr(p.string()))
        p.expect("(")
        tokens, types = typed_operands(p)
        if len(tokens) != len(types):
            p.error(
                f"expected {len(tokens)} types for operand bundle operands for operand bundle #{len(bundles)}, but "
                f"actually got {len(types)}",
            )
        bundles.append([p.use(token, type) for token, type in zip(tokens, types, strict=True)])
        if not p.take(","):
            break
    p.expect("]")
    return bundles, tags


def bundles_of(op: Operation, values: list[SSAValue]) -> list[tuple[str, list[SSAValue]]]:
    """Return the tag and the values of each operand bundle of an op. ``values``: the values of all bundles,
    in order.
    """
    sizes, tags = op.properties.get("op_bundle_sizes"), op.properties.get("op_bundle_tags")
    if not isinstance(sizes, DenseArrayAttr) or not isinstance(tags, ArrayAttr):
        return []
    found = []
    for size, tag in zip(sizes.values, tags.elements, strict=True):
        assert isinstance(tag, StringAttr)
        found.append((tag.value, values[:size]))
        values = values[size:]
    return found


def print_bundles(printer: OpPrinter, op: Operation, values: list[SSAValue]) -> str:
    """Return the text of the operand bundles of an op. ``values``: the values of all bundles, in order."""
    texts = []
    for tag, bundle in bundles_of(op, values):
        names = ", ".join(printer.name(value) for value in bundle)
        types = ", ".join(printer.type(value.type) for value in bundle)
        texts.append(f"{quoted(tag)}({f'{names} : {types}' if bundle else ''})")
    return f" [{', '.join(texts)}]" if texts else ""


# --- assumptions ------------------------------------------------------------------------------------------------------


def _parse_assume(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``%condition ["tag"(%a : type)] : i1 {…}``."""
    condition = p.operand_token()
    bundles, tags = read_bundles(p)
    properties: dict[str, Attribute] = {}
    if tags:
        properties["op_bundle_tags"] = ArrayAttr(tuple(tags))
    properties["op_bundle_sizes"] = DenseArrayAttr(I32, tuple(len(bundle) for bundle in bundles))
    p.expect(":")
    type_ = p.type()
    attributes = forms.read_dictionary(p, definition, properties)
    operands = [p.use(condition, type_), *(value for bundle in bundles for value in bundle)]
    return forms.completed(p, Operation(definition.name, definition, operands, (), properties, attributes), at)


def _print_assume(printer: OpPrinter, op: Operation) -> str:
    condition, *passed = op.operands
    bundles = print_bundles(printer, op, passed)
    if not bundles and "op_bundle_tags" in op.properties:
        bundles = " "  # as mlir-opt prints an empty list
    extra = forms.print_dictionary(printer, op, ("op_bundle_sizes", "op_bundle_tags"))
    return f" {printer.name(condition)}{bundles} : {printer.type(condition.type)}{extra}"


ASSUME = CustomForm(_parse_assume, _print_assume)


# --- assumptions ------------------------------------------------------------------------------------------------------
#
# llvm.intr.assume: what it states must be true, or the program is undefined.
#
# Source: LLVM's language reference, "llvm.assume Intrinsic" and "Assume Operand Bundles".

Check = Callable[[Run, Sequence[Any]], None]
"""Raises UndefinedBehavior unless the values of a bundle keep what it states."""


def assume(op: Operation, settings: Settings) -> Function:
    """Return the function that runs assume."""
    checks, place = [], 1
    for tag, values in bundles_of(op, op.operands[1:]):
        slots = slice(place, place + len(values))
        place += len(values)
        checks.append((slots, _check(op, tag, values, settings)))

    def check(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        if not decided(slots[0], op):
            raise undefined(op, "the condition is false")
        for part, one in checks:
            one(run, slots[part])
        return ()

    return check


def _check(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    """Return the check of one bundle. Raises Unsupported for what halfulp does not check."""
    types = [value.type for value in values]
    forms, make = _CHECKS.get(tag, ((), _nothing))
    if not any(len(form) == len(types) and all(map(isinstance, types, form)) for form in forms) and tag != "ignore":
        raise unsupported(
            op, f'halfulp does not run the bundle "{tag}" of {", ".join(map(repr, map(str, types))) or "no values"}'
        )
    return make(op, tag, values, settings)


def _nothing(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    return lambda run, slots: None


def _of_pointer(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    """Return the check of a promise about a pointer, with a number for it, and for ``align`` also an offset."""
    types = [value.type for value in values]

    def check(run: Run, slots: Sequence[Any]) -> None:
        pointer, *given = slots
        if pointer.__class__ is not Pointer:
            raise undefined(op, f'the pointer of "{tag}" is poison: {poison_in(pointer)}')
        size, offset = [
            *(
                number(slot, type_, op, f'number of "{tag}"', settings, signed=False)
                for slot, type_ in zip(given, types[1:], strict=True)
            ),
            *(0, 0),
        ][:2]
        reason = POINTERS[tag](run, Pointer(pointer.memory, pointer.offset - offset), size)
        if reason is not None:
            raise undefined(op, f'"{tag}" does not hold: {reason}')

    return check


def _not_poison(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    def check(run: Run, slots: Sequence[Any]) -> None:
        found = poison_in(slots[0])
        if found is not None:
            raise undefined(op, f'"{tag}" does not hold: the value is poison: {found}')

    return check


def _separate(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    def check(run: Run, slots: Sequence[Any]) -> None:
        if any(slot.__class__ is not Pointer for slot in slots):
            raise undefined(op, f'a pointer of "{tag}" is poison')
        one, other = (slot.memory for slot in slots)
        if one is other:
            raise undefined(op, f'"{tag}" does not hold: both pointers are into {one.source}')

    return check


_ONE, _NUMBER = (llvm.PointerType,), (llvm.PointerType, ty.IntegerType)
_CHECKS: Mapping[str, tuple[Sequence[tuple[type[ty.Type], ...]], Callable[..., Check]]] = {
    "align": ((_NUMBER, (*_NUMBER, ty.IntegerType)), _of_pointer),
    "nonnull": ((_ONE,), _of_pointer),
    "dereferenceable": ((_NUMBER,), _of_pointer),
    "dereferenceable_or_null": ((_NUMBER,), _of_pointer),
    "noundef": (((ty.Type,),), _not_poison),
    "separate_storage": (((llvm.PointerType, llvm.PointerType),), _separate),
    "cold": (((),), _nothing),
    "ignore": ((), _nothing),
}
"""The bundles that run, each with the types that its values may have; those of ``ignore`` may have any."""


# --- function forms ---------------------------------------------------------------------------------------------------

_WORDS = (
    ("linkage", forms.LINKAGE), ("visibility_", forms.VISIBILITY), ("unnamed_addr", forms.UNNAMED_ADDRESS),
    ("CConv", forms.CALLING),
)  # fmt: skip
_COMMON = ("external", "ccc")
_FUNCTION_WRITTEN = (
    "function_type", "arg_attrs", "res_attrs", "linkage", "CConv", "visibility_", "comdat", "unnamed_addr", "sym_name",
)  # fmt: skip
_SCALE = re.compile(r"#llvm\.vscale_range<minRange = (\d+) : i32, maxRange = (\d+) : i32>")


# --- functions --------------------------------------------------------------------------------------------------------


def _parse_function(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    properties = {name: forms.optional_keyword(p, enum, 0) for name, enum in _WORDS}
    properties["sym_name"] = StringAttr(p.symbol())
    at_signature = p.pos
    signature = Signature(p, definition.name, variadic=True)
    properties["function_type"] = TypeAttr(_function_type(p, definition, signature, at_signature))
    if p.take("vscale_range"):
        p.expect("(")
        least = p.integer()
        p.expect(",")
        most = p.integer()
        p.expect(")")
        body = f".vscale_range<minRange = {least} : i32, maxRange = {most} : i32>"
        properties["vscale_range"] = OpaqueAttr("llvm", body)
    forms.read_comdat(p, properties)
    attributes: dict[str, Attribute] = {}
    if p.take("attributes"):
        p.dictionary(attributes)
        for name in [name for name in attributes if is_inherent(definition, name)]:
            properties[name] = attributes.pop(name)
    properties |= signature.attributes()
    region = p.region(definition.name, signature.arguments) if p.tokens[p.pos] == "{" else Region()
    made = Operation(definition.name, definition, None, (), properties, attributes, [region])
    return forms.completed(p, made, at)


def _function_type(p: OpParser, definition: OpDefinition, signature: Signature, at: int) -> llvm.FunctionType:
    prefix = f"custom op '{definition.name}' failed to construct function type: expected"
    if len(signature.results) > 1:
        p.error(f"{prefix} zero or one function result", at)
    if not all(map(llvm.is_compatible, signature.inputs)):
        p.error(f"{prefix} LLVM type for function arguments", at)
    result: Type = signature.results[0] if signature.results else llvm.VOID
    if not llvm.is_compatible(result):
        p.error(f"{prefix} LLVM type for function results'{result}'", at)
    return llvm.FunctionType(result=result, inputs=tuple(signature.inputs), variadic=signature.variadic)


def function_type(op: Operation) -> llvm.FunctionType | None:
    """Return the type of a function; None if the property does not have one."""
    attribute = op.properties.get("function_type")
    if isinstance(attribute, TypeAttr) and isinstance(attribute.type, llvm.FunctionType):
        return attribute.type
    return None


def _print_function(printer: OpPrinter, op: Operation) -> str:
    type = function_type(op)
    assert type is not None
    words = forms.words_before_name(op, _WORDS, _COMMON)
    text = "".join(f" {word}" for word in words)
    text += f" {spell_symbol(op.symbol_name or '')}"
    text += print_signature(printer, op, type.inputs, type.results, type.variadic)
    scale = _SCALE.fullmatch(str(op.properties.get("vscale_range")))
    text += f" vscale_range({scale[1]}, {scale[2]})" if scale else ""
    text += forms.spell_comdat(op)
    written = (*_FUNCTION_WRITTEN, "vscale_range") if scale else _FUNCTION_WRITTEN
    shown = {name: value for name, value in op.properties.items() if name not in written}
    extra = {**op.attributes, **shown}
    text += f" attributes {printer.dictionary(extra)}" if extra else ""
    region = op.regions[0]
    return f"{text} {printer.region(region, op, entry_arguments=False)}" if region.blocks else text


FUNCTION = CustomForm(_parse_function, _print_function)


# --- calls ------------------------------------------------------------------------------------------------------------

_CALL_WRITTEN = (
    "callee", "TailCallKind", "var_callee_type", "CConv", SEGMENTS, "op_bundle_sizes", "op_bundle_tags", "arg_attrs",
    "res_attrs",
)  # fmt: skip


def _parse_call(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    """Read ``@callee(%a) vararg(type) ["tag"(%b : type)] {…} : (type) -> type``, or a call of a pointer."""
    properties = {
        "CConv": forms.optional_keyword(p, forms.CALLING, 0),
        "TailCallKind": forms.optional_keyword(p, forms.TAIL_CALL, 0),
    }
    tokens = [p.operand_token()] if p.tokens[p.pos][:1] == "%" else []
    direct = not tokens
    if direct:
        properties["callee"] = p.symbol_reference()
    p.expect("(")
    tokens += p.operand_tokens()
    p.expect(")")
    if p.take("vararg"):
        p.expect("(")
        properties["var_callee_type"] = TypeAttr(p.type())
        p.expect(")")
    bundles, tags = read_bundles(p)
    if tags:
        properties["op_bundle_tags"] = ArrayAttr(tuple(tags))
    attributes = forms.read_dictionary(p, definition, properties)
    p.expect(":")
    at_types = p.pos
    types: list[Type] = []
    if not direct:
        types.append(p.type())
        if not p.take(","):
            p.wrong(definition.name, "expected indirect call to have 2 trailing types", at_types)
    if p.tokens[p.pos] != "(":
        wanted = "expected direct call to have 1 trailing types" if direct else "expected trailing function type"
        p.wrong(definition.name, wanted, at_types)
    signature = Signature(p, definition.name)
    if len(signature.results) > 1:
        p.wrong(definition.name, "expected function with 0 or 1 result", at_types)
    if signature.results == [llvm.VOID]:
        p.wrong(definition.name, "expected a non-void result type", at_types)
    types += signature.inputs
    p.check_count(definition.name, tokens, types, at)
    properties |= signature.attributes()
    operands = [p.use(token, type) for token, type in zip(tokens, types, strict=True)]
    passed = [value for bundle in bundles for value in bundle]
    properties["op_bundle_sizes"] = DenseArrayAttr(I32, tuple(len(bundle) for bundle in bundles))
    properties[SEGMENTS] = DenseArrayAttr(I32, (len(operands), len(passed)))
    made = Operation(
        definition.name, definition, [*operands, *passed], tuple(signature.results), properties, attributes
    )
    return forms.completed(p, made, at)


def callee_operands(op: Operation) -> list[SSAValue]:
    """Return the operands of a call without those of the bundles. In a call of a pointer, the pointer comes first."""
    segments = op.properties.get(SEGMENTS)
    count = segments.values[0] if isinstance(segments, DenseArrayAttr) and segments.values else len(op.operands)
    return op.operands[:count]


def _print_call(printer: OpPrinter, op: Operation) -> str:
    properties = op.properties
    operands = callee_operands(op)
    callee = properties.get("callee")
    words = forms.words_before_name(op, (("CConv", forms.CALLING), ("TailCallKind", forms.TAIL_CALL)), ("ccc", "none"))
    text = "".join(f" {word}" for word in words)
    arguments = operands if callee is not None else operands[1:]
    text += f" {callee if callee is not None else printer.name(operands[0])}"
    text += f"({', '.join(printer.name(value) for value in arguments)})"
    variadic = properties.get("var_callee_type")
    if isinstance(variadic, TypeAttr):
        text += f" vararg({printer.type(variadic.type)})"
    text += print_bundles(printer, op, op.operands[len(operands) :])
    text += forms.print_dictionary(printer, op, _CALL_WRITTEN) + " : "
    if callee is None:
        text += f"{printer.type(operands[0].type)}, "
    types = [value.type for value in arguments]
    text += print_inputs(printer, types, properties.get("arg_attrs"))
    results = [result.type for result in op.results]
    return text + (print_results(printer, results, properties.get("res_attrs")) or " -> ()")


CALL = CustomForm(_parse_call, _print_call)
