"""The ops of tosa that choose and repeat; variables, and ops that users define."""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.elements import Operands, rearranged
from halfulp.interp.dialects.regions import while_loop, yielded
from halfulp.interp.dialects.tosa.attributes import INDEX_ELEMENTS, TYPE_ATTR
from halfulp.interp.dialects.tosa.evaluating import checked
from halfulp.interp.dialects.tosa.forms import (
    IF,
    PLAIN,
    VARIABLE,
    VARIABLE_READ,
    VARIABLE_WRITE,
    WHILE,
    type_of_variable,
)
from halfulp.interp.dialects.tosa.rules import declare, mismatch, mismatches, resolvable
from halfulp.interp.dialects.tosa.types import I1_TENSOR, TENSOR
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, Operation, Rule, SSAValue, is_symbol_table, undefined
from halfulp.interp.ir.types import shape_conflict
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues, moves, passing
from halfulp.interp.run.frames import Action, Frame, Function, Run, Segment, decided
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

# --- regions ----------------------------------------------------------------------------------------------------------

declare(
    "yield",
    "$inputs attr-dict `:` type($inputs)",
    resolvable,
    operands=(d.variadic("inputs", TENSOR),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    evaluate=OnFrames(yielded),
)


def _has_blocks(*names: str) -> Rule:
    def check(op: Operation) -> str | None:
        for number, (region, name) in enumerate(zip(op.regions, names, strict=False)):
            if len(region.blocks) != 1:
                return f"region #{number} ('{name}') failed to verify constraint: region with 1 blocks"
        return None

    return check


def _yields(block: Block) -> list[SSAValue] | None:
    """Return the values that a block yields; None if it ends with another op."""
    last = block.operations[-1] if block.operations else None
    return None if last is None or last.name != "tosa.yield" else list(last.operands)


def _types(values: object) -> list[ty.Type]:
    return [value.type for value in values]  # type: ignore[attr-defined]


def _of_one_element(type_: ty.Type) -> bool:
    return ty.element_count(type_) in (None, 1)


def _if(op: Operation) -> str | None:
    condition, *inputs = op.operands
    then, otherwise = (region.blocks[0] for region in op.regions)
    for block, name in ((then, "then_graph"), (otherwise, "else_graph")):
        found = mismatches(_types(block.arguments), f"'{name}' arguments", _types(inputs), "'input_list'")
        if found is not None:
            return found
    for block, name in ((then, "then_graph"), (otherwise, "else_graph")):
        given = _yields(block)
        if given is not None:
            found = mismatches(_types(given), f"'{name}' results", _types(op.results), "'output_list'")
            if found is not None:
                return found
    if not _of_one_element(condition.type):
        return f"'condition' must be a size 1 tensor, got '{condition.type}'"
    return None


def _while(op: Operation) -> str | None:
    inputs = _types(op.operands)
    condition, body = (region.blocks[0] for region in op.regions)
    found = (
        mismatches(inputs, "'input_list'", _types(op.results), "'output_list'")
        or mismatches(_types(condition.arguments), "'cond_graph' arguments", inputs, "'input_list'")
        or mismatches(_types(body.arguments), "'body_graph' arguments", inputs, "'input_list'")
    )
    given = _yields(body)
    if found is None and given is not None:
        found = mismatches(_types(given), "'body_graph' results", inputs, "'input_list'")
    decided = _yields(condition)
    if found is not None or decided is None:
        return found
    if len(decided) != 1:
        return "require 'cond_graph' only have one result"
    type_ = decided[0].type
    if not _of_one_element(type_):
        return f"'cond_graph' result must be a size 1 tensor, got '{type_}'"
    return None if ty.element_type(type_) == ty.I1 else f"'cond_graph' result must be a boolean tensor, got '{type_}'"


def _choosing(op: Operation, compiler: Compiler) -> Action:
    resume = compiler.resume(op)
    condition, *inputs = compiler.slots(op.operands)
    yes, no = (
        passing(moves(inputs, compiler.slots(region.blocks[0].arguments)), compiler.region(region, resume))
        for region in op.regions
    )

    def choose(frame: Frame) -> Segment | None:
        return (yes if decided(frame.slots[condition], op) else no)(frame)

    return choose


declare(
    "cond_if",
    IF,
    _has_blocks("then_graph", "else_graph"),
    resolvable,
    _if,
    operands=(d.Slot("condition", I1_TENSOR), d.variadic("input_list", TENSOR)),
    results=(d.variadic("output_list", TENSOR),),
    regions=(d.RegionSlot("then_graph"), d.RegionSlot("else_graph")),
    traits=(d.Trait.SINGLE_BLOCK,),
    evaluate=OnFrames(_choosing, no_lanes=True),
)
declare(
    "while_loop",
    WHILE,
    _has_blocks("cond_graph", "body_graph"),
    resolvable,
    _while,
    operands=(d.variadic("input_list", TENSOR),),
    results=(d.variadic("output_list", TENSOR),),
    regions=(d.RegionSlot("cond_graph"), d.RegionSlot("body_graph")),
    traits=(d.Trait.SINGLE_BLOCK,),
    evaluate=OnFrames(while_loop, no_lanes=True),
)

# --- variables --------------------------------------------------------------------------------------------------------


def _is_symbol_of_table(op: Operation) -> str | None:
    around = op.parent_op
    inside = around is None or around.definition is None or is_symbol_table(around)
    return None if inside else "symbol's parent must have the SymbolTable trait"


declare(
    "variable",
    VARIABLE,
    _is_symbol_of_table,
    properties=(
        d.Property("initial_value", d.ANY_ATTR, optional=True),
        d.Property("sym_name", d.STRING_ATTR),
        d.Property("sym_visibility", d.STRING_ATTR, optional=True, since=d.Schema.LLVM24, late=True, plain=True),
        d.Property("type", TYPE_ATTR),
        d.Property("var_shape", INDEX_ELEMENTS),
    ),
    traits=(d.Trait.SYMBOL,),
)


def variable_of(op: Operation) -> Operation | None:
    """Return the op that declares the variable which an op reads or writes; None if there is none."""
    table, name = op.parent_op, op.prop("name", at.StringAttr).value
    while table is not None and not is_symbol_table(table):
        table = table.parent_op
    for each in () if table is None else table.children:
        if each.name == "tosa.variable" and each.symbol_name == name:
            return each
    return None


def _declared(name: str) -> Rule:
    def check(op: Operation) -> str | None:
        variable = variable_of(op)
        if variable is None:
            return f"'{op.prop('name', at.StringAttr).value}' has not been declared by 'tosa.variable'"
        value: SSAValue = op.operands[0] if op.operands else op.results[0]
        return mismatch(value.type, name, type_of_variable(variable), "the input tensor")

    return check


def _kept(op: Operation, run: Run, compiler: Compiler) -> tuple[Operation, Value | None]:
    """Return a variable and what it holds: at the start of a run, its initial value."""
    variable = variable_of(op)
    assert variable is not None
    if variable not in run.kept and "initial_value" in variable.properties:
        initial = variable.properties["initial_value"]
        run.kept[variable] = attribute_value(initial, type_of_variable(variable), variable, compiler)
    return variable, run.kept.get(variable)


def _reading(op: Operation, compiler: Compiler) -> Function:
    def read(run: Run, operands: Operands) -> tuple[Any, ...]:
        variable, value = _kept(op, run, compiler)
        if value is None:
            raise undefined(op, f"the variable '{variable.symbol_name}' is read before it is written")
        return (rearranged(value, checked(op, value.shape, compiler.settings), lambda array, trailing: array),)

    return read


def _writing(op: Operation, compiler: Compiler) -> Function:
    def write(run: Run, operands: Operands) -> tuple[Any, ...]:
        variable, _ = _kept(op, run, compiler)
        (value,) = operands
        conflict = shape_conflict(type_of_variable(variable), value.shape, compiler.settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        run.kept[variable] = value
        return ()

    return write


_NAME = (d.Property("name", d.STRING_ATTR),)
declare(
    "variable_write",
    VARIABLE_WRITE,
    resolvable,
    _declared("'input1'"),
    operands={"input1": TENSOR},
    properties=_NAME,
    evaluate=OnValues(_writing, of_module=True, no_lanes=True),
)
declare(
    "variable_read",
    VARIABLE_READ,
    _declared("'output1'"),
    results={"output1": TENSOR},
    properties=_NAME,
    evaluate=OnValues(_reading, of_module=True, no_lanes=True),
)

# --- custom -----------------------------------------------------------------------------------------------------------


def _operator(op: Operation) -> str:
    return op.prop("operator_name", at.StringAttr).value


def _user_function(op: Operation, settings: Settings) -> Function:
    """Return the function that calls what the user bound to the operator's name."""
    name, types = _operator(op), [result.type for result in op.results]

    def call(run: Run, operands: Operands) -> tuple[Any, ...]:
        given = settings.externals.get(name)
        if given is None:
            raise Unsupported(
                f"the custom operator '{name}' of the domain '{op.prop('domain_name', at.StringAttr).value}' is not "
                "part of TOSA",
                location=op.location,
                op=op.name,
                hint=f"bind a Python function: externals={{{name!r}: f}}",
            )
        return run.host(given, operands, types, f"the function bound to {name!r}")

    return call


declare(
    "custom",
    PLAIN,
    resolvable,
    operands=(d.variadic("input_list", TENSOR),),
    results=(d.variadic("output_list", TENSOR),),
    properties=tuple(
        d.Property(name, d.STRING_ATTR) for name in ("domain_name", "implementation_attrs", "operator_name")
    ),
    evaluate=OnValues(_user_function, external=_operator),
)
