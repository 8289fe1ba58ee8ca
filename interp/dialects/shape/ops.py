"""The shape dialect (`ShapeOps.td`): computations with the shapes of values.

Functions of shapes (shape.func, shape.function_library, shape.return) are kept in generic form.
"""

from __future__ import annotations

import operator
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    Dialect,
    Property,
    RegionSlot,
    Slot,
    Trait,
    TypeConstraint,
)
from halfulp.interp.dialects.regions import yielded
from halfulp.interp.dialects.shape import evaluate, forms, rules
from halfulp.interp.dialects.shape import types as st
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues

shape = Dialect("shape", partial=True)
for _type in (st.SHAPE, st.SIZE, st.VALUE_SHAPE, st.WITNESS):
    shape.types[_type.mnemonic] = lambda p, type_=_type: type_

_ERROR = Property("error", c.STRING_ATTR, optional=True)
_INDEX_ELEMENTS = AttributeConstraint(
    "index elements attribute",
    lambda attribute: isinstance(attribute, at.DenseElementsAttr) and ty.element_type(attribute.type) == ty.INDEX,
)

# --- constants --------------------------------------------------------------------------------------------------------


def _size_name(op: Operation) -> tuple[str, ...]:
    value = op.properties["value"]
    assert isinstance(value, at.IntegerAttr)
    return (f"c{value.value}",)


shape.op(
    "const_shape",
    custom=forms.CONSTANT,
    results={"result": st.SHAPE_OR_EXTENTS},
    properties=(Property("shape", _INDEX_ELEMENTS),),
    traits=(Trait.CONSTANT_LIKE,),
    verify=rules.verify_constant,
    evaluate=evaluate.CONST_SHAPE,
)
shape.op(
    "const_size",
    "$value attr-dict",
    results={"result": st.THE_SIZE},
    properties=(Property("value", c.INDEX_ATTR),),
    traits=(Trait.CONSTANT_LIKE,),
    named_results=_size_name,
    evaluate=evaluate.CONST_SIZE,
)
shape.op(
    "const_witness",
    "$passing attr-dict",
    results={"result": st.THE_WITNESS},
    properties=(Property("passing", c.BOOL_ATTR),),
    traits=(Trait.CONSTANT_LIKE,),
    evaluate=evaluate.CONST_WITNESS,
)

# --- ops with all types in the text -----------------------------------------------------------------------------------


def _typed(mnemonic: str, operands: dict[str, TypeConstraint], result: TypeConstraint, **declaration: Any) -> None:
    """Declare an op ``%a, %b : type, type -> type``."""
    names = " `,` ".join(f"${name}" for name in operands)
    types = " `,` ".join(f"type(${name})" for name in operands)
    extra = "(`,` `error` `=` $error^)? " if mnemonic == "meet" else ""
    shape.op(
        mnemonic,
        f"{names} {extra}attr-dict `:` {types} `->` type($result)",
        operands=operands,
        results={"result": result},
        **declaration,
    )


def _variadic(mnemonic: str, result: TypeConstraint, arrow: bool = True, **declaration: Any) -> None:
    """Declare an op on any number of shapes."""
    to = " `->` type($result)" if arrow else ""
    shape.op(
        mnemonic,
        f"$shapes attr-dict `:` type($shapes){to}",
        operands=(Slot("shapes", st.SHAPE_OR_EXTENTS, Arity.VARIADIC),),
        results={"result": result},
        **declaration,
    )


_ONE_SHAPE = {"shape": st.SHAPE_OR_EXTENTS}
_TWO_SIZES = {"lhs": st.SIZE_OR_INDEX, "rhs": st.SIZE_OR_INDEX}
_SIZES = rules.passes_errors_on("size")

for _name, _function in (("add", operator.add), ("mul", operator.mul), ("div", operator.floordiv)):
    _typed(
        _name,
        _TWO_SIZES,
        st.SIZE_OR_INDEX,
        verify=_SIZES,
        evaluate=evaluate.computed(evaluate.arithmetic(_function)),
    )
for _name, _choose in (("max", max), ("min", min)):
    _typed(
        _name,
        {"lhs": st.SHAPE_OR_SIZE, "rhs": st.SHAPE_OR_SIZE},
        st.SHAPE_OR_SIZE,
        verify=rules.verify_extreme,
        evaluate=evaluate.computed(evaluate.extreme(_choose)),
    )
_typed("rank", _ONE_SHAPE, st.SIZE_OR_INDEX, verify=_SIZES, evaluate=evaluate.computed(evaluate.rank))
_typed("num_elements", _ONE_SHAPE, st.SIZE_OR_INDEX, verify=_SIZES, evaluate=evaluate.computed(evaluate.num_elements))
_typed(
    "get_extent",
    {"shape": st.SHAPE_OR_EXTENTS, "dim": st.SIZE_OR_INDEX},
    st.SIZE_OR_INDEX,
    verify=_SIZES,
    evaluate=evaluate.computed(evaluate.extent),
)
_typed(
    "dim",
    {"value": st.SHAPED, "index": st.SIZE_OR_INDEX},
    st.SIZE_OR_INDEX,
    evaluate=evaluate.computed(evaluate.extent),
)
_typed(
    "meet",
    {"arg0": st.ANY_SHAPE_OR_SIZE, "arg1": st.ANY_SHAPE_OR_SIZE},
    st.ANY_SHAPE_OR_SIZE,
    properties=(_ERROR,),
    verify=rules.verify_meet,
    evaluate=evaluate.computed(evaluate.meet),
)
_typed(
    "shape_of",
    {"arg": st.SHAPED_OR_VALUE_SHAPE},
    st.SHAPE_OR_EXTENTS,
    verify=rules.verify_shape_of,
    evaluate=evaluate.computed(evaluate.shape_of),
)
_typed(
    "value_as_shape",
    {"arg": st.NUMBERS_OR_VALUE_SHAPE},
    st.SHAPE_OR_EXTENTS,
    evaluate=evaluate.computed(evaluate.same),
)
_typed("to_extent_tensor", {"input": st.SHAPE_OR_EXTENTS}, st.INDEX_TENSOR, evaluate=evaluate.computed(evaluate.same))
_typed(
    "concat",
    {"lhs": st.SHAPE_OR_EXTENTS, "rhs": st.SHAPE_OR_EXTENTS},
    st.SHAPE_OR_EXTENTS,
    evaluate=evaluate.computed(evaluate.concat),
)
_variadic(
    "broadcast",
    st.SHAPE_OR_EXTENTS,
    properties=(_ERROR,),
    verify=rules.verify_broadcast,
    evaluate=evaluate.computed(evaluate.broadcast),
)
_variadic("any", st.SHAPE_OR_EXTENTS, evaluate=evaluate.computed(evaluate.first))
_variadic("shape_eq", c.BOOL, arrow=False, evaluate=evaluate.asked(evaluate.QUESTIONS["equal"], False))
_variadic("is_broadcastable", c.BOOL, arrow=False, evaluate=evaluate.asked(evaluate.QUESTIONS["broadcastable"], False))
_variadic("cstr_eq", st.THE_WITNESS, arrow=False, evaluate=evaluate.asked(evaluate.QUESTIONS["equal"], True))
_variadic(
    "cstr_broadcastable",
    st.THE_WITNESS,
    arrow=False,
    verify=rules.verify_constraint,
    evaluate=evaluate.asked(evaluate.QUESTIONS["broadcastable"], True),
)

# --- other ops --------------------------------------------------------------------------------------------------------

shape.op(
    "from_extents",
    "$extents attr-dict `:` type($extents)",
    operands=(Slot("extents", st.SIZE_OR_INDEX, Arity.VARIADIC),),
    results={"shape": st.THE_SHAPE},
    evaluate=evaluate.computed(evaluate.from_extents),
)
shape.op(
    "from_extent_tensor",
    "$input attr-dict `:` type($input)",
    operands={"input": st.EXTENT_TENSOR},
    results={"result": st.THE_SHAPE},
    evaluate=evaluate.computed(evaluate.same),
)
shape.op(
    "size_to_index",
    "$arg attr-dict `:` type($arg)",
    operands={"arg": st.SIZE_OR_INDEX},
    results={"result": c.INDEX},
    evaluate=evaluate.computed(evaluate.size),
)
shape.op(
    "index_to_size",
    "$arg attr-dict",
    operands={"arg": c.INDEX},
    results={"result": st.THE_SIZE},
    evaluate=evaluate.computed(evaluate.size),
)
shape.op(
    "split_at",
    operands={"operand": st.SHAPE_OR_EXTENTS, "index": st.SIZE_OR_INDEX},
    results={"head": st.SHAPE_OR_EXTENTS, "tail": st.SHAPE_OR_EXTENTS},
    named_results=("head", "tail"),
    evaluate=OnValues(evaluate.split),
)
shape.op(
    "value_of",
    "$arg attr-dict `:` type($result)",
    operands={"arg": st.THE_VALUE_SHAPE},
    results={"result": st.SHAPED},
    evaluate=OnValues(evaluate.value_of),
)
shape.op(
    "with_shape",
    "$operand `,` $shape attr-dict `:` type($operand) `,` type($shape)",
    operands={"operand": st.SHAPED_OR_VALUE_SHAPE, "shape": st.SHAPE_OR_EXTENTS},
    results={"result": st.THE_VALUE_SHAPE},
    evaluate=OnValues(evaluate.with_shape),
)
shape.op(
    "debug_print",
    operands={"input": st.SHAPE_OR_SIZE},
    results={"output": st.SHAPE_OR_SIZE},
)
shape.op(
    "cstr_require",
    "$pred `,` $msg attr-dict",
    operands={"pred": c.BOOL},
    results={"result": st.THE_WITNESS},
    properties=(Property("msg", c.STRING_ATTR),),
    evaluate=OnValues(evaluate.require),
)
shape.op(
    "assuming_all",
    "$inputs attr-dict",
    operands=(Slot("inputs", st.THE_WITNESS, Arity.VARIADIC),),
    results={"result": st.THE_WITNESS},
    verify=rules.verify_all,
    evaluate=OnValues(evaluate.all_hold),
)
shape.op(
    "assuming",
    custom=forms.ASSUMING,
    operands={"witness": st.THE_WITNESS},
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    regions=(RegionSlot("doRegion"),),
    traits=(Trait.SINGLE_BLOCK,),
    verify_regions=rules.verify_assuming,
    evaluate=OnFrames(evaluate.assuming),
)
shape.op(
    "assuming_yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.inside("shape.assuming"),
    evaluate=OnFrames(yielded),
)
shape.op(
    "reduce",
    custom=forms.REDUCE,
    operands=(Slot("shape", st.SHAPE_OR_EXTENTS), Slot("initVals", c.ANY, Arity.VARIADIC)),
    results=(Slot("result", c.ANY, Arity.VARIADIC),),
    regions=(RegionSlot("region"),),
    traits=(Trait.SINGLE_BLOCK,),
    verify=rules.verify_reduce,
    evaluate=OnFrames(evaluate.reduce, alone=True),
)
shape.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.verify_yield,
    evaluate=OnFrames(yielded),
)
