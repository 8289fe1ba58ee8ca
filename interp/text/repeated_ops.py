"""Ops on lines that are like an earlier one except for the names of values.

The general parser reads the op on the first of such lines. Its result, apart from the operands, is kept for the next
lines: it depends on the text of the line and on the types of the values. A line that differs in anything is read by the
general parser from its first token.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.ir.operations import Block, Operation, read_operation
from halfulp.interp.text.lexer import Pattern
from halfulp.interp.text.op_parser import OpParser


def _behind(tokens: Sequence[str], place: int) -> str:
    """Return what the token behind an op is: itself, but ``%`` for the name of the only result of the next op."""
    token = tokens[place]
    return "%" if token[:1] == "%" and tokens[place + 1] == "=" else token


def remember(p: OpParser, pattern: Pattern, operation: Operation, line: Sequence[str], place: int) -> None:
    """Keep in its pattern that a line is the op which was just read, if it is nothing else, and if each name in it,
    apart from that of the result, is one operand. ``line``: its tokens. ``place``: that of the op's name.
    """
    tokens, values, source = p.tokens, p.values, p.source
    if (
        operation.source is not source
        or operation.regions
        or operation.successors
        or operation.raw_properties is not None
        or len(operation.results) != place // 2
        # An abbreviated name stands for another op in another region.
        or not ("." in line[place] or line[place][:1] == '"')
    ):
        return
    names = pattern.names[place // 2 :]
    given = [values.get(line[name]) for name in names]
    places = {value: index for index, value in enumerate(given)}
    order = [places[operand] for operand in operation.operands if operand in places]
    # An operand that is given twice does not show its place.
    if sorted(order) != [*range(len(names))] or len(order) != len(operation.operands):
        return
    width, depth = pattern.width, p.depth
    expected = [(names[index], operand.type) for index, operand in zip(order, operation.operands, strict=True)]
    name, definition, location = operation.name, operation.definition, operation._location
    result_types = tuple(result.type for result in operation.results)
    properties, attributes = operation.properties.copy(), operation.attributes.copy()
    # A custom form may read a value that is given twice in another way: an affine map has one symbol for it.
    is_distinct = definition is not None and definition.custom is not None and len(names) > 1
    after = pattern.after
    after.add(_behind(tokens, p.pos))

    def again(start: int, block: Block) -> bool:
        end = start + width
        behind = tokens[end]
        if (_behind(tokens, end) if behind[:1] == "%" else behind) not in after:
            return False
        operands = []
        for index, type in expected:
            value = values.get(tokens[start + index])
            if value is None or (value.type is not type and value.type != type):
                return False
            operands.append(value)
        if p.depth > depth or (is_distinct and len({*operands}) < len(operands)):
            return False
        p.pos = end
        operation = read_operation(
            name, definition, operands, result_types, properties, attributes, location, source, start + place, block
        )
        block.operations.append(operation)
        if behind == "loc":
            p.trailing_location(operation)
        if place:
            token = tokens[start]
            result = operation.results[0]
            if p.forward or token in values:
                p.define(token, result, start)
            else:
                values[token] = result
            result.name = token[1:]
        return True

    pattern.again = again
