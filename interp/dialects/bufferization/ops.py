"""The bufferization dialect (`BufferizationOps.td`): between tensors and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, Trait, TypeConstraint, TypeKind
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.bufferization import evaluate, rules
from halfulp.interp.dialects.bufferization.forms import ALLOC_TENSOR
from halfulp.interp.dialects.memref.ops import ANY_MEMREF
from halfulp.interp.dialects.memref.words import refused
from halfulp.interp.ir import types as ty
from halfulp.interp.run.evaluators import OnValues

bufferization = Dialect("bufferization")

_TENSOR_LIKE = TypeConstraint("TensorLikeType instance", lambda type_: isinstance(type_, ty.TensorType))
_BUFFER_LIKE = TypeConstraint("BufferLikeType instance", ANY_MEMREF.accepts)
_ANY_MEMREF = TypeConstraint(ANY_MEMREF.description, ANY_MEMREF.accepts, TypeKind("", ANY_MEMREF.accepts))


def _flag(name: str) -> Property:
    return Property(name, c.UNIT_ATTR, optional=True)


def _one_condition_each() -> TypeRule:
    """Return the rule that bufferization.dealloc has an i1 for each retained memref."""

    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        types.setdefault("updatedConditions", (ty.I1,) * len(types.get("retained", ())))

    return TypeRule("the number of results is that of the retained memrefs", solve, lambda types, properties: True)


bufferization.op(
    "alloc_tensor",
    custom=ALLOC_TENSOR,
    operands=(
        Slot("dynamic_sizes", c.INDEX, Arity.VARIADIC),
        Slot("copy", c.TENSOR, Arity.OPTIONAL),
        Slot("size_hint", c.INDEX, Arity.OPTIONAL),
    ),
    results={"result": c.TENSOR},
    properties=(Property("memory_space", c.ANY_ATTR, optional=True),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_alloc_tensor,
    evaluate=OnValues(evaluate.alloc_tensor),
)
bufferization.op(
    "clone",
    "$input attr-dict `:` type($input) `to` type($output)",
    operands={"input": _ANY_MEMREF},
    results={"output": _ANY_MEMREF},
    evaluate=OnValues(evaluate.clone, raw=True),
)
bufferization.op(
    "dealloc",
    "(` ` `(` $memrefs^ `:` type($memrefs) `)` `if` ` ` `(` $conditions `)`)? "
    "(`retain` ` ` `(` $retained^ `:` type($retained) `)`)? attr-dict",
    operands=(
        Slot("memrefs", ANY_MEMREF, Arity.VARIADIC),
        Slot("conditions", c.BOOL, Arity.VARIADIC),
        Slot("retained", ANY_MEMREF, Arity.VARIADIC),
    ),
    results=(Slot("updatedConditions", c.BOOL, Arity.VARIADIC),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(_one_condition_each(),),
    verify=rules.verify_dealloc,
    evaluate=OnValues(evaluate.dealloc, raw=True, words=refused),
)
# What reads the tensor after it is wrong, and values do not show that.
bufferization.op(
    "dealloc_tensor",
    "$tensor attr-dict `:` type($tensor)",
    operands={"tensor": c.TENSOR},
    evaluate=OnValues(lambda op, settings: lambda run, operands: ()),
)
bufferization.op(
    "materialize_in_destination",
    "$source `in` (`restrict` $restrict^)? (`writable` $writable^)? $dest attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": c.TENSOR, "dest": c.ANY},
    results=(Slot("result", c.TENSOR, Arity.OPTIONAL),),
    properties=(_flag("restrict"), _flag("writable")),
    verify=rules.verify_materialize,
    evaluate=OnValues(evaluate.materialize, raw=True),
)
bufferization.op(
    "to_buffer",
    "$tensor (`read_only` $read_only^)? attr-dict `:` type($tensor) `to` type($buffer)",
    operands={"tensor": _TENSOR_LIKE},
    results={"buffer": _BUFFER_LIKE},
    properties=(_flag("read_only"),),
    verify=rules.verify_same_shape,
    evaluate=OnValues(evaluate.to_buffer, raw=True),
)
bufferization.op(
    "to_tensor",
    "$buffer (`restrict` $restrict^)? (`writable` $writable^)? attr-dict `:` type($buffer) `to` type($result)",
    operands={"buffer": _BUFFER_LIKE},
    results={"result": _TENSOR_LIKE},
    properties=(_flag("restrict"), _flag("writable")),
    verify=rules.verify_same_shape,
    evaluate=OnValues(evaluate.to_tensor, raw=True),
)
