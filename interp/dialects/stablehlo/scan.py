"""The op scan of chlo: a body runs for each index of one dimension, and passes values on to the next run
(`dialect/ChloOps.td`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.dialects.elements import combined, picked
from halfulp.interp.dialects.regions import parenthesised
from halfulp.interp.dialects.stablehlo.attributes import COUNT
from halfulp.interp.dialects.stablehlo.bodies import arguments_of, body_of, returned
from halfulp.interp.dialects.stablehlo.chlo import EVERY, any_shape, chlo
from halfulp.interp.dialects.stablehlo.forms import read_integer
from halfulp.interp.dialects.stablehlo.loops import zeros
from halfulp.interp.dialects.stablehlo.types import not_inferred, operand_types, sizes_fit, types_fit
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler, OnFrames
from halfulp.interp.run.frames import Action, Frame, Run, Segment, lift, lower
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value

_RESULT_SEGMENTS = "resultSegmentSizes"


def _verify_scan(op: Operation) -> str | None:
    count, dim = op.numbers(SEGMENTS)[0], op.number("dimension")
    if not count and not op.numbers(_RESULT_SEGMENTS)[0]:
        return "at least one of inputs or outputs must be present"
    size = op.number("scan_dim_size") if "scan_dim_size" in op.properties else None
    types = operand_types(op)
    for index, type_ in enumerate(types[:count]):
        if ty.shape_of(type_) is None:
            return f"operand {index} is not ranked"
        if dim >= len(ty.shape_of(type_) or ()):
            return f"scan dimension of operand {index} is out of bounds"
        if not sizes_fit(size, (ty.shape_of(type_) or ())[dim]):
            return f"invalid scan dimension size of operand {index}"
        size = (ty.shape_of(type_) or ())[dim] if size is None else size
    arguments = arguments_of(body_of(op))
    if len(arguments) != len(types):
        return f"expects {len(types)} arguments in the body, but got {len(arguments)}"
    for index, (type_, argument) in enumerate(zip(types, arguments, strict=True)):
        if ty.shape_of(type_) is None:
            return f"operand {index} is not ranked"
        shape = ty.shape_of(type_) or ()
        part = ty.TensorType((*shape[:dim], *shape[dim + 1 :]), ty.element_type(type_)) if index < count else type_
        if not types_fit(part, argument):
            return f"operand and body argument {index} are incompatible"
    return None


def _verify_scanned(op: Operation) -> str | None:
    carried, dim = op.numbers(SEGMENTS)[1], op.number("dimension")
    types = returned(body_of(op))
    if len(types) < carried:
        return Unprefixed(f"ScanOp body must return at least {carried} values (carries)")
    size = op.number("scan_dim_size") if "scan_dim_size" in op.properties else None
    for type_ in operand_types(op)[: op.numbers(SEGMENTS)[0]]:
        size = (ty.shape_of(type_) or ())[dim] if size is None else size
    expected = []
    for index, type_ in enumerate(types):
        if ty.shape_of(type_) is None or not isinstance(type_, ty.TensorType):
            return Unprefixed(f"terminator operand {index} is not ranked")
        shape = ty.shape_of(type_) or ()
        if index < len(types) - carried:
            shape = (*shape[:dim], size, *shape[dim:])
        expected.append(ty.TensorType(shape, type_.element))
    return not_inferred(op, *expected)


def _scan(op: Operation, compiler: Compiler) -> Action:
    """Make the action of scan. The body gets, for each index of the dimension, the part of each input there, and the
    values that it gave the time before; what else it gives is the part of the outputs there.
    """
    (count, carried), dim = op.numbers(SEGMENTS), op.number("dimension")
    backwards = op.properties.get("is_reverse") == at.BoolAttr(True)
    written = op.number("scan_dim_size") if "scan_dim_size" in op.properties else None
    block = body_of(op)
    operands, results, arguments = (compiler.slots(each) for each in (op.operands, op.results, block.arguments))
    outputs = op.results[: len(results) - carried]
    state = results[len(outputs) :]
    body, finish = compiler.block(block), compiler.resume(op)(results)
    turn, parts = compiler.hidden_slot(), compiler.hidden_slot()

    def start(frame: Frame) -> Segment | None:
        slots = frame.slots
        slots[turn], slots[parts] = 0, [[] for _ in outputs]
        for slot, operand in zip(state, operands[count:], strict=True):
            slots[slot] = slots[operand]
        return go_on(frame)

    def go_on(frame: Frame) -> Segment | None:
        slots = frame.slots
        inputs = [lift(slots[slot], value.type) for slot, value in zip(operands, op.operands[:count], strict=False)]
        sizes = {value.shape[dim] for value in inputs} | ({written} if written is not None else set())
        if len(sizes) != 1:
            raise undefined(op, f"the dimension that is scanned has the sizes {sorted(sizes)}")
        (size,) = sizes
        if slots[turn] < size:
            place = size - 1 - slots[turn] if backwards else slots[turn]
            for slot, value, argument in zip(arguments, inputs, block.arguments, strict=False):
                slots[slot] = lower(picked(value, (*[slice(None)] * dim, place), argument.type))
            for slot, source in zip(arguments[count:], state, strict=True):
                slots[slot] = slots[source]
            return body
        for slot, made, result in zip(results, slots[parts], outputs, strict=False):
            slots[slot] = _stacked(slots[0], made[::-1] if backwards else made, result.type, dim)
        slots[parts] = None
        return finish(frame)

    def yielding(sources: Sequence[int]) -> Action:
        types = [value.type for value in block.operations[-1].operands]

        def again(frame: Frame) -> Segment | None:
            slots = frame.slots
            found = [slots[slot] for slot in sources]
            for made, value, type_ in zip(slots[parts], found, types, strict=False):
                made.append(lift(value, type_))
            for slot, value in zip(state, found[len(outputs) :], strict=True):
                slots[slot] = value
            slots[turn] += 1
            return go_on(frame)

        return again

    compiler.region(op.regions[0], yielding)
    return start


def _stacked(run: Run, parts: Sequence[Value], type_: ty.Type, dim: int) -> Value:
    """Return an array of parts along a new dimension."""
    if not parts:
        sizes = list(ty.shape_of(type_) or ())
        sizes[dim] = 0
        return zeros(tuple([size or 0 for size in sizes]), type_)
    return combined(run, parts, type_, lambda arrays: np.stack(arrays, axis=dim))


def _parse_scan(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    inputs = parenthesised(p)
    p.keyword(definition, "inits")
    inits = parenthesised(p)
    p.keyword(definition, "dimension")
    p.expect("=")
    properties: dict[str, at.Attribute] = {"dimension": at.IntegerAttr(read_integer(p, definition.name), ty.I64)}
    attributes = p.optional_dictionary() if p.take("attributes") else {}
    region = p.region(definition.name)
    p.expect(":")
    type_ = p.function_type()
    if len(type_.inputs) != len(inputs) + len(inits):
        p.wrong(definition.name, "operand types must match the number of inputs and inits", at_)
    made = len(type_.results) - len(inits)
    if made < 0:
        p.wrong(definition.name, "not enough result types to cover the required carries", at_)
    for name, sizes in ((SEGMENTS, (len(inputs), len(inits))), (_RESULT_SEGMENTS, (made, len(inits)))):
        properties[name] = at.DenseArrayAttr(ty.I32, sizes)
    move_inherent(definition, properties, attributes)
    operands = [p.use(token, each) for token, each in zip((*inputs, *inits), type_.inputs, strict=True)]
    made_op = Operation(definition.name, definition, operands, type_.results, properties, attributes, [region])
    return p.placed(made_op, at_)


def _print_scan(printer: OpPrinter, op: Operation) -> str:
    count = op.numbers(SEGMENTS)[0]
    names = list(map(printer.name, op.operands))
    left_out = ("dimension", SEGMENTS, _RESULT_SEGMENTS)
    shown = {name: value for name, value in op.properties.items() if name not in left_out} | op.attributes
    text = f"({', '.join(names[:count])}) inits ({', '.join(names[count:])}) dimension="
    text += f"{op.number('dimension')} "
    text += f" attributes {printer.dictionary(shown)}" if shown else ""
    types = ty.FunctionType(tuple(operand_types(op)), tuple(result.type for result in op.results))
    return f"{text} {printer.region(op.regions[0], op)} : {printer.type(types)}"


chlo.op(
    "scan",
    custom=d.CustomForm(_parse_scan, _print_scan),
    operands=(d.variadic("inputs", any_shape(EVERY)), d.variadic("inits", any_shape(EVERY))),
    results=(d.variadic("outputs", any_shape(EVERY)), d.variadic("carries", any_shape(EVERY))),
    properties=(
        d.Property("dimension", COUNT),
        d.Property("is_associative", d.BOOL_ATTR, optional=True),
        d.Property("is_reverse", d.BOOL_ATTR, optional=True),
        d.Property(_RESULT_SEGMENTS, d.INTEGER_ARRAY_ATTR, groups=2),
        d.Property("scan_dim_size", COUNT, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS, d.Trait.ISOLATED_FROM_ABOVE),
    named_arguments=lambda op: [
        "input" if index < op.numbers(SEGMENTS)[0] else "carry" for index in range(len(op.operands))
    ],
    verify=_verify_scan,
    verify_regions=_verify_scanned,
    evaluate=OnFrames(_scan, no_lanes=True),
)
