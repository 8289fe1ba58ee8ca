"""The dialect sdy of Shardy: how JAX says on which devices the parts of an array are (`shardy/dialect/sdy/ir/ops.td`).

halfulp computes on whole arrays, so that a constraint on the place of an array gives this array. Only a manual
computation runs on parts of arrays: on all devices of its mesh.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.func.ops import RETURN
from halfulp.interp.dialects.regions import parenthesised, trailing_dictionary
from halfulp.interp.dialects.sdy.attributes import (
    MANUAL_AXES,
    MESH,
    PER_VALUE,
    PLAIN,
    UNREDUCED,
    joined,
    made,
    sdy,
    text_of,
)
from halfulp.interp.dialects.sdy.manual import compute_by_hand, verify_shardings
from halfulp.interp.dialects.signatures import Signature
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise, OnFrames, OnValues, PerOp
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.semantics import casts

# --- meshes and constraints -------------------------------------------------------------------------------------------


def _is(*definitions: AttributeDefinition) -> d.AttributeConstraint:
    words = definitions[0].name
    return d.AttributeConstraint(
        words, lambda found: isinstance(found, DialectAttr) and any(found.definition is each for each in definitions)
    )


def _form_of(read: Callable[[Any], at.Attribute], spell: Callable[[Any], str] = text_of) -> Callable[..., ElementForm]:
    def form(slots: Slots, name: str) -> ElementForm:
        def parse(p: OpParser, state: OpReading) -> None:
            state.properties[name] = read(p)

        def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
            out.value(spell(operation.properties[name]))

        return ElementForm(parse, print_)

    return form


CUSTOM_DIRECTIVES["SdyMesh"] = _form_of(lambda p: made(MESH, p))
CUSTOM_DIRECTIVES["SdySharding"] = _form_of(lambda p: made(PLAIN, p))

sdy.op(
    "mesh",
    "$sym_name `=` custom<SdyMesh>($mesh) attr-dict",
    properties=(d.Property("mesh", _is(MESH)), d.Property("sym_name", d.SYMBOL_NAME_ATTR)),
    traits=(d.Trait.SYMBOL,),
)
# Bodies of reductions may have such ops, and take ops that work element by element.
_SAME = Elementwise(lambda op, settings: casts.bitcast())
_SAME_VALUE = OnValues(lambda op, settings: lambda run, operands: operands)
for _mnemonic in ("sharding_constraint", "reshard"):
    sdy.op(
        _mnemonic,
        "$input custom<SdySharding>($sharding) attr-dict `:` type($result)",
        operands={"input": d.ANY},
        results={"result": d.ANY},
        properties=(d.Property("sharding", _is(PLAIN, UNREDUCED)),),
        traits=(d.Trait.SAME_OPERANDS_AND_RESULT_TYPE,),
        evaluate=PerOp(lambda op: _SAME if isinstance(op.operands[0].type, ty.TensorType) else _SAME_VALUE),
    )

# --- manual computations ----------------------------------------------------------------------------------------------


def _parse_manual(p: OpParser, start: int, definition: d.OpDefinition) -> Operation:
    operands = parenthesised(p)
    properties: dict[str, Attribute] = {}
    for name in ("in_shardings", "out_shardings"):
        p.keyword(definition, name)
        p.expect("=")
        p.expect("[")
        shardings = tuple(p.until("]", lambda: made(PLAIN, p)))
        properties[name] = PER_VALUE.attribute((shardings,))
    p.keyword(definition, "manual_axes")
    p.expect("=")
    properties["manual_axes"] = made(MANUAL_AXES, p)
    arguments = Signature(p, definition.name).arguments
    region = p.terminated(p.region(definition.name, arguments), "sdy.return", start)
    attributes = p.optional_dictionary()
    p.expect(":")
    type_ = p.function_type()
    values = p.uses(definition.name, operands, type_.inputs, start)
    made_ = Operation(definition.name, definition, values, type_.results, properties, attributes, [region])
    return p.placed(made_, start)


def _print_manual(printer: OpPrinter, op: Operation) -> str:
    given, made_, axes = (op.properties[name] for name in ("in_shardings", "out_shardings", "manual_axes"))
    assert isinstance(given, DialectAttr)
    assert isinstance(made_, DialectAttr)
    arguments = ", ".join(
        f"{printer.name(each)}: {printer.type(each.type)}" for each in op.regions[0].blocks[0].arguments
    )
    body = printer.region(op.regions[0], op, entry_arguments=False)
    type_ = ty.FunctionType(tuple(value.type for value in op.operands), tuple(value.type for value in op.results))
    return (
        f"({', '.join(map(printer.name, op.operands))}) in_shardings=[{joined(given['shardings'])}] "
        f"out_shardings=[{joined(made_['shardings'])}] manual_axes={text_of(axes)} ({arguments}) {body}"
        f"{trailing_dictionary(printer, op)} : {printer.type(type_)}"
    )


sdy.op(
    "manual_computation",
    custom=d.CustomForm(_parse_manual, _print_manual),
    operands=(d.variadic("tensors", d.ANY),),
    results=(d.variadic("results", d.ANY),),
    properties=(
        d.Property("in_shardings", _is(PER_VALUE)),
        d.Property("manual_axes", _is(MANUAL_AXES)),
        d.Property("out_shardings", _is(PER_VALUE)),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SINGLE_BLOCK, d.Trait.ISOLATED_FROM_ABOVE),
    implicit_terminator="sdy.return",
    verify_symbols=verify_shardings,
    evaluate=OnFrames(compute_by_hand, no_lanes=True),
)
sdy.op(
    "return",
    "attr-dict ($results^ `:` type($results))?",
    operands=(d.variadic("results", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    evaluate=RETURN,
)
