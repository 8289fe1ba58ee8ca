"""The custom forms of functions and calls of the llvm dialect, which MLIR writes by hand (`LLVMDialect.cpp`)."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, is_inherent
from halfulp.interp.dialects.llvm import enums
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.bundles import print_bundles, read_bundles
from halfulp.interp.dialects.llvm.forms import (
    completed,
    optional_keyword,
    print_dictionary,
    read_comdat,
    read_dictionary,
    spell_comdat,
    words_before_name,
)
from halfulp.interp.dialects.signatures import Signature, print_inputs, print_results, print_signature
from halfulp.interp.ir.attributes import ArrayAttr, DenseArrayAttr, StringAttr, TypeAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.literals import spell_symbol
from halfulp.interp.ir.operations import Operation, Region, SSAValue
from halfulp.interp.ir.types import I32
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

_WORDS = (
    ("linkage", enums.LINKAGE), ("visibility_", enums.VISIBILITY), ("unnamed_addr", enums.UNNAMED_ADDRESS),
    ("CConv", enums.CALLING),
)  # fmt: skip
_COMMON = ("external", "ccc")
_FUNCTION_WRITTEN = (
    "function_type", "arg_attrs", "res_attrs", "linkage", "CConv", "visibility_", "comdat", "unnamed_addr", "sym_name",
    "vscale_range",
)  # fmt: skip


# --- functions --------------------------------------------------------------------------------------------------------


def _function_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        properties = {name: optional_keyword(p, enum, 0) for name, enum in _WORDS}
        properties["sym_name"] = StringAttr(p.symbol())
        at_signature = p.pos
        signature = Signature(p, definition.name, variadic=True)
        properties["function_type"] = TypeAttr(_function_type(p, definition, signature, at_signature))
        if p.take("vscale_range"):
            p.error("halfulp does not read vscale_range")
        read_comdat(p, properties)
        attributes: dict[str, Attribute] = {}
        if p.take("attributes"):
            p.dictionary(attributes)
            for name in [name for name in attributes if is_inherent(definition, name)]:
                properties[name] = attributes.pop(name)
        properties |= signature.attributes()
        region = p.region(definition.name, signature.arguments) if p.tokens[p.pos] == "{" else Region()
        made = Operation(definition.name, definition, None, (), properties, attributes, [region])
        return completed(p, made, at)

    return parse


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
    """Return the type of a function, as far as it is one."""
    attribute = op.properties.get("function_type")
    if isinstance(attribute, TypeAttr) and isinstance(attribute.type, llvm.FunctionType):
        return attribute.type
    return None


def _print_function(printer: OpPrinter, op: Operation) -> str:
    type = function_type(op)
    assert type is not None
    words = words_before_name(op, _WORDS, _COMMON)
    text = "".join(f" {word}" for word in words)
    text += f" {spell_symbol(op.symbol_name or '')}"
    text += print_signature(printer, op, type.inputs, type.results, type.variadic)
    text += spell_comdat(op)
    shown = {name: value for name, value in op.properties.items() if name not in _FUNCTION_WRITTEN}
    extra = {**op.attributes, **shown}
    text += f" attributes {printer.dictionary(extra)}" if extra else ""
    region = op.regions[0]
    return f"{text} {printer.region(region, op, entry_arguments=False)}" if region.blocks else text


FUNCTION = CustomForm(_function_parser, _print_function)


# --- calls ------------------------------------------------------------------------------------------------------------

_CALL_WRITTEN = (
    "callee", "TailCallKind", "var_callee_type", "CConv", SEGMENTS, "op_bundle_sizes", "op_bundle_tags", "arg_attrs",
    "res_attrs",
)  # fmt: skip


def _call_parser(definition: OpDefinition) -> CustomParse:
    """Read ``@callee(%a) vararg(type) ["tag"(%b : type)] {…} : (type) -> type``, or a call of a pointer."""

    def parse(p: OpParser, at: int) -> Operation:
        properties = {
            "CConv": optional_keyword(p, enums.CALLING, 0),
            "TailCallKind": optional_keyword(p, enums.TAIL_CALL, 0),
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
        attributes = read_dictionary(p, definition, properties)
        p.expect(":")
        at_types = p.pos
        types: list[Type] = []
        if not direct:
            types.append(p.type())
            if not p.take(","):
                p.error(f"custom op '{definition.name}' expected indirect call to have 2 trailing types", at_types)
        if p.tokens[p.pos] != "(":
            wanted = "expected direct call to have 1 trailing types" if direct else "expected trailing function type"
            p.error(f"custom op '{definition.name}' {wanted}", at_types)
        signature = Signature(p, definition.name)
        if len(signature.results) > 1:
            p.error(f"custom op '{definition.name}' expected function with 0 or 1 result", at_types)
        if signature.results == [llvm.VOID]:
            p.error(f"custom op '{definition.name}' expected a non-void result type", at_types)
        types += signature.inputs
        if len(types) != len(tokens):
            p.error(
                f"custom op '{definition.name}' number of operands and types do not match: got {len(tokens)} operands "
                f"and {len(types)} types",
                at,
            )
        properties |= signature.attributes()
        operands = [p.use(token, type) for token, type in zip(tokens, types, strict=True)]
        passed = [value for bundle in bundles for value in bundle]
        properties["op_bundle_sizes"] = DenseArrayAttr(I32, tuple(len(bundle) for bundle in bundles))
        properties[SEGMENTS] = DenseArrayAttr(I32, (len(operands), len(passed)))
        made = Operation(
            definition.name, definition, [*operands, *passed], tuple(signature.results), properties, attributes
        )
        return completed(p, made, at)

    return parse


def callee_operands(op: Operation) -> list[SSAValue]:
    """Return the operands without those of the bundles: of a call of a pointer, this first."""
    segments = op.properties.get(SEGMENTS)
    count = segments.values[0] if isinstance(segments, DenseArrayAttr) and segments.values else len(op.operands)
    return op.operands[:count]


def _print_call(printer: OpPrinter, op: Operation) -> str:
    properties = op.properties
    operands = callee_operands(op)
    callee = properties.get("callee")
    words = words_before_name(op, (("CConv", enums.CALLING), ("TailCallKind", enums.TAIL_CALL)), ("ccc", "none"))
    text = "".join(f" {word}" for word in words)
    arguments = operands if callee is not None else operands[1:]
    text += f" {callee if callee is not None else printer.name(operands[0])}"
    text += f"({', '.join(printer.name(value) for value in arguments)})"
    variadic = properties.get("var_callee_type")
    if isinstance(variadic, TypeAttr):
        text += f" vararg({printer.type(variadic.type)})"
    text += print_bundles(printer, op, op.operands[len(operands) :])
    text += print_dictionary(printer, op, _CALL_WRITTEN) + " : "
    if callee is None:
        text += f"{printer.type(operands[0].type)}, "
    types = [value.type for value in arguments]
    text += print_inputs(printer, types, properties.get("arg_attrs"))
    results = [result.type for result in op.results]
    return text + (print_results(printer, results, properties.get("res_attrs")) or " -> ()")


CALL = CustomForm(_call_parser, _print_call)
