"""The cf dialect: branches between the blocks of a function (`ControlFlowOps.td`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DenseArrayAttr, DenseElementsAttr, python_codes
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.errors import AssertionFailed
from halfulp.interp.ir.operations import Operation, SSAValue, Successor
from halfulp.interp.ir.types import I32, IntegerType, VectorType
from halfulp.interp.run.evaluators import Compiler, OnFrames, moves, passing
from halfulp.interp.run.frames import Action, Frame, Segment, Slots, Step, decided, in_lanes, number, undecided
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering

# --- forms ------------------------------------------------------------------------------------------------------------
#
# The custom form of `cf.switch`, which MLIR writes by hand.


def typed_operands(p: OpParser) -> tuple[list[int], list[Type]]:
    """Read ``%a, %b : type, type)`` or ``)``. Return the indices of the tokens of the operands, and their types."""
    tokens = p.operand_tokens()
    types: list[Type] = []
    if tokens:
        p.expect(":")
        types = p.type_list()
    p.expect(")")
    return tokens, types


def read_successor(p: OpParser) -> Successor:
    """Read ``^block`` or ``^block(%a, %b : type, type)``."""
    block = p.successor_block()
    values: list[SSAValue] = []
    if p.take("("):
        tokens, types = typed_operands(p)
        if len(tokens) != len(types):
            p.error(
                f"number of operands and types do not match: got {len(tokens)} operands and {len(types)} types",
                tokens[0],
            )
        values = [p.use(token, type) for token, type in zip(tokens, types, strict=True)]
        if p.forward:
            p.pending.append(values)
    return block, values


def _parse_switch(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``%flag : type, [default: ^a, 1: ^b(%x : i32)]``."""
    name = p.operand_token()
    p.expect(":")
    at_type = p.pos
    type = p.type()
    if not isinstance(type, IntegerType):
        p.wrong(
            definition.name, f"invalid kind of type specified: expected builtin.integer, but found '{type}'", at_type
        )
    p.expect(",")
    p.expect("[")
    p.keyword(definition, "default")
    p.expect(":")
    successors = [read_successor(p)]
    codes: list[int] = []
    while p.take(","):
        codes.append(read_case(p, definition, type))
        successors.append(read_successor(p))
    p.expect("]")
    properties = case_properties(successors, codes, type)
    attributes = p.optional_dictionary()
    flag = p.use(name, type)
    made = Operation(definition.name, definition, [flag], (), properties, attributes, successors=successors)
    return p.placed(made, at)


def read_case(p: OpParser, definition: d.OpDefinition, type: IntegerType) -> int:
    """Read the value of a case and a colon, and return its code. Raises ParseError if the type of the flag lacks it."""
    at = p.pos
    value = p.integer(f"custom op '{definition.name}' expected integer value", wide=True)
    if not -(1 << type.width >> 1) <= value < 1 << type.width:
        p.error(f"the case value does not fit the type '{type}' of the flag", at)
    p.expect(":")
    return value & ((1 << type.width) - 1)


def case_properties(successors: Sequence[Successor], codes: list[int], type: IntegerType) -> dict[str, Attribute]:
    """Return the properties of a switch: how many operands each successor takes, and the values of the cases."""
    sizes = [len(values) for _, values in successors]
    properties: dict[str, Attribute] = {
        "case_operand_segments": DenseArrayAttr(I32, tuple(sizes[1:])),
        SEGMENTS: DenseArrayAttr(I32, (1, sizes[0], sum(sizes[1:]))),
    }
    if codes:
        properties["case_values"] = _case_values(codes, type)
    return properties


def _case_values(codes: list[int], type: IntegerType) -> DenseElementsAttr:
    splat = codes.count(codes[0]) == len(codes)
    array = ints_to_codes(codes[:1], type.width, ()) if splat else ints_to_codes(codes, type.width, (len(codes),))
    return DenseElementsAttr(VectorType((len(codes),), type), array, splat)


def case_codes(operation: Operation) -> list[int]:
    """Return the codes of the values of the cases."""
    values = operation.properties.get("case_values")
    if not isinstance(values, DenseElementsAttr):
        return []
    flat = values.array().reshape(-1, *values.element_shape)
    return list(python_codes(flat, wide=bool(values.element_shape)))


def print_successor(printer: OpPrinter, successor: Successor) -> str:
    """Print ``^block`` or ``^block(%a, %b : type, type)``."""
    block, passed = successor
    if not passed:
        return printer.label(block)
    names = ", ".join(printer.name(value) for value in passed)
    types = ", ".join(printer.type(value.type) for value in passed)
    return f"{printer.label(block)}({names} : {types})"


def _print_switch(printer: OpPrinter, operation: Operation) -> str:
    flag = operation.operands[0]
    indent = "\n" + printer.indent + "  "
    labels = ["default", *map(str, case_codes(operation))]
    cases = [
        f"{indent}{label}: {print_successor(printer, successor)}"
        for label, successor in zip(labels, operation.successors, strict=True)
    ]
    end = "]" if len(cases) == 1 else f"\n{printer.indent}]"
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    return f" {printer.name(flag)} : {printer.type(flag.type)}, [{','.join(cases)}{end}{extra}"


SWITCH = d.CustomForm(_parse_switch, _print_switch)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The cf ops on machine words.


def _to(op: Operation, low: FunctionLowering, index: int) -> None:
    block, operands = op.successors[index]
    low.go(block, low.items(operands))


def conditional(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of cf.cond_br."""
    low.ways(low.word(op.operands[0]), partial(_to, op, low, 0), partial(_to, op, low, 1))


def switch(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of cf.switch: its cases one after the other, and then the default."""
    flag, values = low.word(op.operands[0]), op.properties.get("case_values")
    codes = codes_to_ints(values.array(), flag.width) if isinstance(values, DenseElementsAttr) else []
    for index, code in enumerate(codes, 1):
        following = low.emit.label()
        low.ways(flag.equals(code), partial(_to, op, low, index), partial(low.emit.jump, following))
        low.emit.begin(following)
    _to(op, low, 0)


# --- ops --------------------------------------------------------------------------------------------------------------

cf = d.Dialect("cf")


def _jump(op: Operation, compiler: Compiler, index: int) -> tuple[tuple[Step, ...], Segment]:
    """Return the moves of values to a successor, and the segment of that successor."""
    block, operands = op.successors[index]
    target = compiler.block(block)
    steps = moves(compiler.slots(operands), target.arguments)
    listeners = compiler.settings.listeners
    if not listeners:
        return steps, target

    def tell(slots: Slots) -> None:
        for listener in listeners:
            listener.branch(op, block)

    return (tell, *steps), target


def _branch(op: Operation, compiler: Compiler) -> Action:
    return passing(*_jump(op, compiler, 0))


def _conditional(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands[:1])
    yes, no = _jump(op, compiler, 0), _jump(op, compiler, 1)

    def branch(frame: Frame) -> Segment:
        slots = frame.slots
        value = slots[condition]
        steps, target = yes if (value if value.__class__ is int else decided(value, op)) else no
        for step in steps:
            step(slots)
        return target

    return branch


BRANCH = OnFrames(_branch, words=partial(_to, index=0))
CONDITIONAL = OnFrames(_conditional, decides=0, words=conditional)

cf.op(
    "br",
    "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
    operands=(d.variadic("destOperands", d.ANY),),
    successors=(d.SuccessorSlot("dest"),),
    traits=(d.Trait.TERMINATOR,),
    evaluate=BRANCH,
)


def _verify_weights(op: Operation) -> str | None:
    weights = op.properties.get("branch_weights")
    if not isinstance(weights, at.DenseArrayAttr):
        return None
    if len(weights.codes) != 2:
        count = len(weights.codes)
        return d.Unprefixed(f"expects number of branch weights to match number of successors: {count} vs 2")
    return None if any(weights.codes) else d.Unprefixed("branch weights cannot all be zero")


cf.op(
    "cond_br",
    "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
    "$trueDest (`(` $trueDestOperands^ `:` type($trueDestOperands) `)`)? `,` "
    "$falseDest (`(` $falseDestOperands^ `:` type($falseDestOperands) `)`)? attr-dict",
    operands=(
        d.Slot("condition", d.BOOL),
        d.variadic("trueDestOperands", d.ANY),
        d.variadic("falseDestOperands", d.ANY),
    ),
    properties=(d.Property("branch_weights", d.INTEGER_ARRAY_ATTR, optional=True),),
    successors=(d.SuccessorSlot("trueDest"), d.SuccessorSlot("falseDest")),
    traits=(d.Trait.TERMINATOR, d.Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    verify=_verify_weights,
    evaluate=CONDITIONAL,
)


def _switch(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs cf.switch: it continues at the case with the value of the flag, or at the default."""
    (flag,) = compiler.slots(op.operands[:1])
    type_, settings = op.operands[0].type, compiler.settings
    default, *cases = [_jump(op, compiler, index) for index in range(len(op.successors))]
    values = op.properties.get("case_values")
    width = settings.width(type_)
    codes = codes_to_ints(values.array(), width) if isinstance(values, at.DenseElementsAttr) else []
    table: dict[Any, tuple[tuple[Step, ...], Segment]] = dict(zip(codes, cases, strict=True))
    ways = [passing(*case) for case in (default, *cases)]
    number_of = {code: place for place, code in enumerate(codes, 1)}

    def part(frame: Frame, flag: Value) -> None:
        """Send the lanes of a batch to the successors that the values of their flags select."""
        run = frame.slots[0]
        distinct, which = np.unique(flag.bits, axis=0, return_inverse=True)
        taken = np.array([number_of.get(code, 0) for code in codes_to_ints(distinct, width)])[which]
        run.part(frame, [(np.flatnonzero(taken == way), ways[way]) for way in np.unique(taken).tolist()])

    def branch(frame: Frame) -> Segment | None:
        slots = frame.slots
        value = slots[flag]
        if value.__class__ is not int:
            if value.poison is not None:
                raise undecided(value, op, "flag", slots[0].lanes)
            if value.shape:
                part(frame, value)
                return None
            value = number(value, type_, op, "flag", settings, signed=False)
        steps, target = table.get(value, default)
        for step in steps:
            step(slots)
        return target

    return branch


def _assert(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands)
    message, after = op.properties["msg"], compiler.after()

    def check(frame: Frame) -> Segment:
        if not decided(frame.slots[condition], op):
            text = message.value if isinstance(message, at.StringAttr) else str(message)
            error = AssertionFailed(f"cf.assert: {text}", location=op.location, op=op.name)
            raise in_lanes(error, frame.slots[0].lanes)
        return after

    return check


def _verify_switch(op: Operation) -> str | None:
    flag = op.operands[0].type
    values = op.properties.get("case_values")
    cases = len(op.successors) - 1
    given = 0
    if isinstance(values, at.DenseElementsAttr):
        given = ty.element_count(values.type) or 0
        if values.type.element != flag:
            return f"'flag' type ('{flag}') should match case value type ('{values.type.element}')"
    if given != cases:
        return f"number of case values ({given}) should match number of case destinations ({cases})"
    return None


SWITCHING = OnFrames(_switch, words=switch)

cf.op(
    "switch",
    custom=SWITCH,
    operands=(d.Slot("flag", d.INTEGER), d.variadic("defaultOperands", d.ANY), d.variadic("caseOperands", d.ANY)),
    properties=(
        d.Property("case_operand_segments", d.INTEGER_ARRAY_ATTR),
        d.Property("case_values", d.INTEGER_ELEMENTS_ATTR, optional=True),
    ),
    successors=(d.SuccessorSlot("default"), d.SuccessorSlot("case", d.Arity.VARIADIC)),
    traits=(d.Trait.TERMINATOR, d.Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    verify=_verify_switch,
    evaluate=SWITCHING,
)
cf.op(
    "assert",
    "$arg `,` $msg attr-dict",
    operands={"arg": d.BOOL},
    properties=(d.Property("msg", d.STRING_ATTR),),
    evaluate=OnFrames(_assert, decides=0),
)
