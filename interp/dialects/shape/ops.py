"""The shape dialect (`ShapeOps.td`): computations with the shapes of values.

Functions of shapes (shape.func, shape.function_library, shape.return) are kept in generic form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.regions import declare_yield, flow, inside
from halfulp.interp.dialects.shape import evaluate
from halfulp.interp.dialects.shape.evaluate import EXTENTS, SHAPE, SIZE, VALUE_SHAPE, is_shape, is_size, may_be_error
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, Rule, is_symbol_table, symbols_of
from halfulp.interp.run.evaluators import OnFrames, OnValues

# --- rules ------------------------------------------------------------------------------------------------------------
#
# Rules of the ops of the shape dialect, in the words of MLIR.


def _differ(inferred: ty.Type, given: ty.Type) -> str:
    return f"inferred type(s) '{inferred}' are incompatible with return type(s) of operation '{given}'"


def passes_errors_on(word: str) -> Rule:
    """Return the rule that the result must have the type ``word`` if the type of an operand allows errors."""
    wanted = SIZE if word == "size" else SHAPE

    def verify(op: Operation) -> str | None:
        if any(may_be_error(value.type) for value in op.operands) and op.results[0].type != wanted:
            return (
                "if at least one of the operands can hold error values then the result must be of type "
                f"`{word}` to propagate them"
            )
        return None

    return verify


def _compatible(inferred: ty.Type, given: ty.Type) -> bool:
    """Tell whether a list of sizes of known length may have the other type."""
    if inferred == given or given == SHAPE:
        return True
    one, other = ty.shape_of(inferred) or (), ty.shape_of(given) or ()
    return is_shape(inferred) and is_shape(given) and (one == other or None in one or None in other)


def verify_shape_of(op: Operation) -> str | None:
    """Return what is wrong with the type of the result of shape.shape_of, or None."""
    source, given = op.operands[0].type, op.results[0].type
    problem = passes_errors_on("shape")(op)
    if problem or source == VALUE_SHAPE:
        return problem
    shape = ty.shape_of(source)
    inferred = EXTENTS if shape is None else ty.TensorType((len(shape),), ty.INDEX)
    return None if _compatible(inferred, given) else _differ(inferred, given)


def verify_constant(op: Operation) -> str | None:
    """Return what is wrong with the type of the result of shape.const_shape, or None."""
    shape, given = op.prop("shape", at.DenseElementsAttr), op.results[0].type
    inferred = ty.TensorType((ty.element_count(shape.type),), ty.INDEX)
    return None if given in (SHAPE, inferred) else _differ(inferred, given)


def verify_extreme(op: Operation) -> str | None:
    """Return what is wrong with the type of the result of shape.max and shape.min, or None."""
    inferred, given = op.operands[0].type, op.results[0].type
    return None if inferred == given else _differ(inferred, given)


def verify_meet(op: Operation) -> str | None:
    """Return an error message unless shape.meet has only shapes, or only sizes, and these may be equal."""
    types = [value.type for value in op.operands]
    if not (all(map(is_shape, types)) or all(map(is_size, types))):
        return d.Unprefixed("requires all sizes or shapes")
    lengths = {(ty.shape_of(type_) or (None,))[0] for type_ in types if type_ not in (SHAPE, SIZE, ty.INDEX)}
    return d.Unprefixed("unequal shape cardinality") if len(lengths - {None}) > 1 else None


def verify_constraint(op: Operation) -> str | None:
    """Return an error message unless shape.cstr_broadcastable has two shapes."""
    return None if len(op.operands) >= 2 else "required at least 2 input shapes"


def verify_all(op: Operation) -> str | None:
    """Return an error message unless shape.assuming_all has operands."""
    return None if op.operands else "no operands specified"


def verify_yield(op: Operation) -> str | None:
    """Return an error message unless shape.yield gives what the op around it returns."""
    problem = inside("shape.reduce", "shape.function_library")(op)
    if problem:
        return problem
    parent = op.parent_op
    assert parent is not None
    results, given = [value.type for value in parent.results], [value.type for value in op.operands]
    if len(results) != len(given):
        return "number of operands does not match number of results of its parent"
    return None if results == given else "types mismatch between yield op and its parent"


def verify_reduce(op: Operation) -> str | None:
    """Return what is wrong with the arguments of the region of shape.reduce, or None."""
    block = op.regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    initial = [value.type for value in op.operands[1:]]
    if len(types) != len(initial) + 2:
        return f"ReduceOp body is expected to have {len(initial) + 2} arguments"
    if types[0] != ty.INDEX:
        return "argument 0 of ReduceOp body is expected to be of IndexType"
    if op.operands[0].type == SHAPE:
        if types[1] != SIZE:
            return "argument 1 of ReduceOp body is expected to be of SizeType if the ReduceOp operates on a ShapeType"
    elif types[1] != ty.INDEX:
        return "argument 1 of ReduceOp body is expected to be of IndexType if the ReduceOp operates on an extent tensor"
    for number, (type_, given) in enumerate(zip(types[2:], initial, strict=True)):
        if type_ != given:
            return f"type mismatch between argument {number + 2} of ReduceOp body and initial value {number}"
    return None


def verify_assuming(op: Operation) -> str | None:
    """Return an error message unless the region of shape.assuming yields its results."""
    operations = op.regions[0].blocks[0].operations
    results = [result.type for result in op.results]
    return flow(
        (f"Operation {last.name}", [value.type for value in last.operands], "parent", results)
        for last in operations[-1:]
    )


LIBRARY = "shape.lib"
"""The attribute of a symbol table that names the libraries of functions for the shapes of its ops."""


def wrong_attribute(op: Operation, name: str, attribute: at.Attribute) -> str | None:
    """Return what is wrong with an attribute of the dialect on an op, or None."""
    if name != LIBRARY:
        return None
    problem = None
    if not is_symbol_table(op):
        problem = f"{LIBRARY} attribute may only be on op implementing SymbolTable"
    elif isinstance(attribute, at.SymbolRefAttr):
        problem = _wrong_library(op, attribute)
    elif isinstance(attribute, at.ArrayAttr):
        problem = _wrong_libraries(op, attribute.elements)
    else:
        problem = f"only SymbolRefAttr or array of SymbolRefAttrs allowed as {LIBRARY} attribute"
    return None if problem is None else d.Unprefixed(problem)


def _library(table: Operation, name: at.SymbolRefAttr) -> Operation | None:
    return None if name.nested else symbols_of(table).get(name.root)


def _wrong_library(table: Operation, name: at.SymbolRefAttr) -> str | None:
    found = _library(table, name)
    if found is None:
        return f"shape function library {name} not found"
    return None if found.name == _LIBRARY_OP else f"{name} required to be shape function library"


def _wrong_libraries(table: Operation, names: Sequence[at.Attribute]) -> str | None:
    """Return what is wrong with several libraries: each op may have its function in one of them."""
    mapped: set[str] = set()
    for name in names:
        if not isinstance(name, at.SymbolRefAttr):
            return f"only SymbolRefAttr allowed in {LIBRARY} attribute array"
        found = _library(table, name)
        if found is None or found.name != _LIBRARY_OP:
            return f"{name} does not refer to FunctionLibraryOp"
        for entries in (found.raw_properties, at.DictionaryAttr(tuple(found.attributes.items()))):
            mapping = dict(entries.entries).get("mapping") if isinstance(entries, at.DictionaryAttr) else None
            for op, _ in mapping.entries if isinstance(mapping, at.DictionaryAttr) else ():
                if op in mapped:
                    return f'only one op to shape mapping allowed, found multiple for `"{op}"`'
                mapped.add(op)
    return None


_LIBRARY_OP = "shape.function_library"

# --- ops --------------------------------------------------------------------------------------------------------------

shape = d.Dialect("shape", partial=True)
shape.attribute_rule = wrong_attribute
for _type in (evaluate.SHAPE, evaluate.SIZE, evaluate.VALUE_SHAPE, evaluate.WITNESS):
    shape.types[_type.mnemonic] = lambda p, type_=_type: type_

_ERROR = d.Property("error", d.STRING_ATTR, optional=True)
_INDEX_ELEMENTS = d.AttributeConstraint(
    "index elements attribute",
    lambda attribute: isinstance(attribute, at.DenseElementsAttr) and ty.element_type(attribute.type) == ty.INDEX,
)

# --- constants --------------------------------------------------------------------------------------------------------


def _size_name(op: Operation) -> tuple[str, ...]:
    value = op.prop("value", at.IntegerAttr)
    return (f"c{value.value}",)


shape.op(
    "const_shape",
    custom=evaluate.CONSTANT,
    results={"result": evaluate.SHAPE_OR_EXTENTS},
    properties=(d.Property("shape", _INDEX_ELEMENTS),),
    traits=(d.Trait.CONSTANT_LIKE,),
    verify=verify_constant,
    evaluate=evaluate.CONST_SHAPE,
)
shape.op(
    "const_size",
    "$value attr-dict",
    results={"result": evaluate.THE_SIZE},
    properties=(d.Property("value", d.INDEX_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    named_results=_size_name,
    evaluate=evaluate.CONST_SIZE,
)
shape.op(
    "const_witness",
    "$passing attr-dict",
    results={"result": evaluate.THE_WITNESS},
    properties=(d.Property("passing", d.BOOL_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    evaluate=evaluate.CONST_WITNESS,
)

# --- ops with all types in the text -----------------------------------------------------------------------------------


def _typed(mnemonic: str, operands: dict[str, d.TypeConstraint], result: d.TypeConstraint, **declaration: Any) -> None:
    """Declare an op ``%a, %b : type, type -> type``."""
    names = " `,` ".join(f"${name}" for name in operands)
    types = " `,` ".join(f"type(${name})" for name in operands)
    extra = "(`,` `error` `=` $error^)? " if mnemonic == "meet" else ""
    shape.op(
        mnemonic,
        f"{names} {extra}attr-dict `:` {types} `->` type($result)",
        operands=operands,
        results={"result": result},
        evaluate=evaluate.computed(mnemonic),
        **declaration,
    )


def _variadic(mnemonic: str, result: d.TypeConstraint, **declaration: Any) -> None:
    """Declare an op on any number of shapes, which computes a shape or tells whether they fit."""
    computes = mnemonic in evaluate.COMPUTE
    to = " `->` type($result)" if computes else ""
    shape.op(
        mnemonic,
        f"$shapes attr-dict `:` type($shapes){to}",
        operands=(d.variadic("shapes", evaluate.SHAPE_OR_EXTENTS),),
        results={"result": result},
        evaluate=evaluate.computed(mnemonic) if computes else evaluate.judged(mnemonic),
        **declaration,
    )


_ONE_SHAPE = {"shape": evaluate.SHAPE_OR_EXTENTS}
_SIZES = passes_errors_on("size")

for _name in ("add", "mul", "div"):
    _operands = {"lhs": evaluate.SIZE_OR_INDEX, "rhs": evaluate.SIZE_OR_INDEX}
    _typed(_name, _operands, evaluate.SIZE_OR_INDEX, verify=_SIZES)
for _name in ("max", "min"):
    _operands = {"lhs": evaluate.SHAPE_OR_SIZE, "rhs": evaluate.SHAPE_OR_SIZE}
    _typed(_name, _operands, evaluate.SHAPE_OR_SIZE, verify=verify_extreme)
_typed("rank", _ONE_SHAPE, evaluate.SIZE_OR_INDEX, verify=_SIZES)
_typed("num_elements", _ONE_SHAPE, evaluate.SIZE_OR_INDEX, verify=_SIZES)
_typed("get_extent", {**_ONE_SHAPE, "dim": evaluate.SIZE_OR_INDEX}, evaluate.SIZE_OR_INDEX, verify=_SIZES)
_typed("dim", {"value": evaluate.SHAPED, "index": evaluate.SIZE_OR_INDEX}, evaluate.SIZE_OR_INDEX)
_typed(
    "meet",
    {"arg0": evaluate.ANY_SHAPE_OR_SIZE, "arg1": evaluate.ANY_SHAPE_OR_SIZE},
    evaluate.ANY_SHAPE_OR_SIZE,
    properties=(_ERROR,),
    verify=verify_meet,
)
_typed("shape_of", {"arg": evaluate.SHAPED_OR_VALUE_SHAPE}, evaluate.SHAPE_OR_EXTENTS, verify=verify_shape_of)
_typed("value_as_shape", {"arg": evaluate.NUMBERS_OR_VALUE_SHAPE}, evaluate.SHAPE_OR_EXTENTS)
_typed("to_extent_tensor", {"input": evaluate.SHAPE_OR_EXTENTS}, evaluate.INDEX_TENSOR)
_typed("concat", {"lhs": evaluate.SHAPE_OR_EXTENTS, "rhs": evaluate.SHAPE_OR_EXTENTS}, evaluate.SHAPE_OR_EXTENTS)
_variadic("broadcast", evaluate.SHAPE_OR_EXTENTS, properties=(_ERROR,), verify=passes_errors_on("shape"))
_variadic("any", evaluate.SHAPE_OR_EXTENTS)
_variadic("shape_eq", d.BOOL)
_variadic("is_broadcastable", d.BOOL)
_variadic("cstr_eq", evaluate.THE_WITNESS)
_variadic("cstr_broadcastable", evaluate.THE_WITNESS, verify=verify_constraint)

# --- other ops --------------------------------------------------------------------------------------------------------

shape.op(
    "from_extents",
    "$extents attr-dict `:` type($extents)",
    operands=(d.variadic("extents", evaluate.SIZE_OR_INDEX),),
    results={"shape": evaluate.THE_SHAPE},
    evaluate=evaluate.computed("from_extents"),
)
shape.op(
    "from_extent_tensor",
    "$input attr-dict `:` type($input)",
    operands={"input": evaluate.EXTENT_TENSOR},
    results={"result": evaluate.THE_SHAPE},
    evaluate=evaluate.computed("from_extent_tensor"),
)
shape.op(
    "size_to_index",
    "$arg attr-dict `:` type($arg)",
    operands={"arg": evaluate.SIZE_OR_INDEX},
    results={"result": d.INDEX},
    evaluate=evaluate.computed("size_to_index"),
)
shape.op(
    "index_to_size",
    "$arg attr-dict",
    operands={"arg": d.INDEX},
    results={"result": evaluate.THE_SIZE},
    evaluate=evaluate.computed("index_to_size"),
)
shape.op(
    "split_at",
    operands={"operand": evaluate.SHAPE_OR_EXTENTS, "index": evaluate.SIZE_OR_INDEX},
    results={"head": evaluate.SHAPE_OR_EXTENTS, "tail": evaluate.SHAPE_OR_EXTENTS},
    named_results=("head", "tail"),
    evaluate=OnValues(evaluate.split),
)
shape.op(
    "value_of",
    "$arg attr-dict `:` type($result)",
    operands={"arg": evaluate.THE_VALUE_SHAPE},
    results={"result": evaluate.SHAPED},
    evaluate=OnValues(evaluate.value_of),
)
shape.op(
    "with_shape",
    "$operand `,` $shape attr-dict `:` type($operand) `,` type($shape)",
    operands={"operand": evaluate.SHAPED_OR_VALUE_SHAPE, "shape": evaluate.SHAPE_OR_EXTENTS},
    results={"result": evaluate.THE_VALUE_SHAPE},
    evaluate=OnValues(evaluate.with_shape),
)
shape.op(
    "debug_print",
    operands={"input": evaluate.SHAPE_OR_SIZE},
    results={"output": evaluate.SHAPE_OR_SIZE},
)
shape.op(
    "cstr_require",
    "$pred `,` $msg attr-dict",
    operands={"pred": d.BOOL},
    results={"result": evaluate.THE_WITNESS},
    properties=(d.Property("msg", d.STRING_ATTR),),
    evaluate=OnValues(evaluate.require),
)
shape.op(
    "assuming_all",
    "$inputs attr-dict",
    operands=(d.variadic("inputs", evaluate.THE_WITNESS),),
    results={"result": evaluate.THE_WITNESS},
    verify=verify_all,
    evaluate=OnValues(evaluate.all_hold),
)
shape.op(
    "assuming",
    custom=evaluate.ASSUMING,
    operands={"witness": evaluate.THE_WITNESS},
    results=(d.variadic("results", d.ANY),),
    regions=(d.RegionSlot("doRegion"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify_regions=verify_assuming,
    evaluate=OnFrames(evaluate.assuming),
)
declare_yield(shape, "assuming_yield", verify=inside("shape.assuming"))
shape.op(
    "reduce",
    custom=evaluate.REDUCE,
    operands=(d.Slot("shape", evaluate.SHAPE_OR_EXTENTS), d.variadic("initVals", d.ANY)),
    results=(d.variadic("result", d.ANY),),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=verify_reduce,
    evaluate=OnFrames(evaluate.reduce, no_lanes=True),
)
declare_yield(shape, verify=verify_yield)
