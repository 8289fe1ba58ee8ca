"""The rules of `iree_codegen.smt.constraints` and of the ops inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfulp.interp.dialects.iree_codegen.attributes import INT_KNOB, ONE_OF_KNOB
from halfulp.interp.dialects.smt.ops import INT
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.nested import parts
from halfulp.interp.ir.operations import Operation

CONSTRAINTS = "iree_codegen.smt.constraints"


def knobs_in(found: at.Attribute) -> Iterator[tuple[str, DialectAttr]]:
    """Yield every knob inside an attribute, with its name."""
    stack: list[at.Attribute | ty.Type] = [found]
    while stack:
        thing = stack.pop()
        if isinstance(thing, DialectAttr) and thing.definition in (INT_KNOB, ONE_OF_KNOB):
            yield thing["name"].value, thing
        stack += parts(thing)


def verify_constraints(op: Operation) -> str | None:
    """Return what is wrong with the arguments and knobs of a block of constraints, or None."""
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(op.operands):
        return f"expected {len(op.operands)} block arguments but got {len(block.arguments)}"
    for number, argument in enumerate(block.arguments):
        if argument.type != INT:
            return f"block argument #{number} must be !smt.int but got '{argument.type}'"
    known = {name for name, _ in knobs_in(op.properties["knobs"])}
    seen: dict[str, Operation] = {}
    for inner in block.operations:
        if inner.name != "iree_codegen.smt.knob":
            continue
        name = inner.properties.get("name")
        text = name.value if isinstance(name, at.StringAttr) else ""
        if text in seen:
            first = seen[text]
            _fail(inner, f"duplicate knob name '{text}'", [(first.position or first.location, "first occurrence here")])
        if text not in known:
            _fail(inner, f"knob name '{text}' not found in knobs dict")
        seen[text] = inner
    return None


def _fail(op: Operation, message: str, notes: Any = ()) -> None:
    raise VerifyError(f"'{op.name}' op {message}", location=op.position or op.location, op=op.name, notes=notes)


def inside_constraints(op: Operation) -> str | None:
    """Return a message unless an op stands directly in a block of constraints."""
    parent = op.parent_op
    return None if parent is not None and parent.name == CONSTRAINTS else f"expects parent op '{CONSTRAINTS}'"


def verify_lookup(op: Operation) -> str | None:
    """Return what is wrong with the table of a lookup, or None."""
    keys, values = op.properties["keys"], op.properties["values"]
    assert isinstance(keys, at.DenseArrayAttr)
    assert isinstance(values, at.DenseArrayAttr)
    problem = inside_constraints(op)
    if problem is not None:
        return problem
    if len(keys.codes) != len(values.codes):
        return f"keys and values must have the same size, got {len(keys.codes)} keys and {len(values.codes)} values"
    if not keys.codes:
        return "lookup table must be non-empty"
    seen: set[int] = set()
    for key in keys.values:
        if key in seen:
            return f"duplicate key {key} in lookup table"
        seen.add(key)
    return None


def verify_assert(op: Operation) -> str | None:
    """Return what is wrong with the message of an assert, or None."""
    message = op.properties["msg"]
    assert isinstance(message, at.StringAttr)
    problem = inside_constraints(op)
    if problem is not None:
        return problem
    count, given = message.value.count("{}"), len(op.operands) - 1
    return None if count == given else f"format string has {count} placeholder(s) but got {given} arg(s)"
