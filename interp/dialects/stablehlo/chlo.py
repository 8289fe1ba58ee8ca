"""The dialect chlo, which JAX emits beside StableHLO: functions that StableHLO lacks, and top_k (`dialect/ChloOps.td`).

Functions are exact, rounded once, as in the math dialect. The ops that broadcast their operands are not here yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.dialects.arith.constants import constant_value
from halfulp.interp.dialects.elements import Function, Operands, data_movement, first_origin, picked
from halfulp.interp.dialects.regions import parenthesised
from halfulp.interp.dialects.stablehlo.attributes import (
    COMPARISON_TYPE,
    COUNT,
    DIRECTION,
    PRECISION,
    attribute_of,
    fields,
    lists,
)
from halfulp.interp.dialects.stablehlo.bodies import arguments_of, body_of, returned
from halfulp.interp.dialects.stablehlo.elementwise import (
    Element,
    Makes,
    evaluated,
    function_of_one,
    function_of_two,
)
from halfulp.interp.dialects.stablehlo.forms import read_integer, wrong
from halfulp.interp.dialects.stablehlo.moving import signed_numbers
from halfulp.interp.dialects.stablehlo.reducing import not_shaped, verify_dimensions_of_dot, verify_precision
from halfulp.interp.dialects.stablehlo.types import (
    INTEGER_TENSOR,
    Kind,
    Rule,
    bounds_of,
    compatible,
    compatible_elements,
    elements_fit,
    not_inferred,
    operand_types,
    rules,
    same_shape,
    sizes_fit,
    tensor,
    tensor_of,
    types_fit,
    types_of,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Constant
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, complex_numbers, float_unit
from halfulp.semantics import stablehlo as semantics
from halfulp.semantics.kernel import Kernel

chlo = d.Dialect("chlo", no_attribute="unknown chlo attribute")


def _any(letters: str) -> d.TypeConstraint:
    """Return the constraint for tensors of these elements. The ops of chlo also take tensors without a rank."""
    return tensor_of(letters, "")


def _shape(type_: ty.Type) -> tuple[int | None, ...]:
    return ty.shape_of(type_) or ()


def _is_ranked(type_: ty.Type) -> bool:
    return ty.shape_of(type_) is not None


# --- functions --------------------------------------------------------------------------------------------------------

_ROWS: Mapping[str, tuple[str, str, Makes]] = {
    **{
        name: ("FC", "FC", function_of_one(name))
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
    },
    "bessel_i1e": ("FC", "FC", {Kind.FLOAT: function_of_one("bessel_i1e")[Kind.FLOAT]}),
    "conj": ("FC", "FC", {
        Kind.FLOAT: lambda e: casts.bitcast(),
        Kind.COMPLEX: lambda e: complex_numbers.conjugate(e.format, 0, e.profile),
    }),
    **{name: ("F", "F", function_of_one(name)) for name in ("digamma", "erf", "erfc", "lgamma")},
    "_asin_acos_kernel": ("C", "C", {}),
    "erf_inv": ("F", "F", function_of_one("erfinv")),
    "is_inf": ("F", "B", {Kind.FLOAT: lambda e: float_unit.class_test("isinf", e.format)}),
    "is_neg_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=True)}),
    "is_pos_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=False)}),
    "square": ("FC", "FC", {
        Kind.FLOAT: lambda e: semantics.square(e.format, e.profile),
        Kind.COMPLEX: lambda e: complex_numbers.function("square", e.format, e.profile),
    }),
}  # fmt: skip
"""The letters for the elements of the operand and of the result, and the kernels."""


def _verify_truth(op: Operation) -> str | None:
    return not_inferred(op, ty.with_element(op.operands[0].type, ty.I1))


for _mnemonic, (_letters, _result, _makes) in _ROWS.items():
    chlo.op(
        _mnemonic,
        "$operand attr-dict `:` type($operand) `->` type($result)",
        operands={"operand": _any(_letters)},
        results={"result": _any(_result)},
        traits=(d.Trait.ELEMENTWISE,),
        verify=rules(same_shape, _verify_truth) if _result == "B" else compatible,
        evaluate=evaluated(_makes),
    )

_PAIRS: Mapping[str, Makes] = {
    "next_after": {Kind.FLOAT: lambda e: semantics.next_after(e.format)},
    "polygamma": function_of_two("polygamma"),
    "zeta": function_of_two("zeta"),
}

_OPERANDS = {"polygamma": ("n", "x"), "zeta": ("x", "q")}

for _mnemonic, _makes in _PAIRS.items():
    _one, _other = _OPERANDS.get(_mnemonic, ("x", "y"))
    chlo.op(
        _mnemonic,
        f"${_one} `,` ${_other} attr-dict `:` type(${_one}) `,` type(${_other}) `->` type($result)",
        operands={_one: _any("F"), _other: _any("F")},
        results={"result": _any("F")},
        traits=(d.Trait.ELEMENTWISE,),
        verify=compatible,
        evaluate=evaluated(_makes),
    )


def _upper(element: Element, signed: bool) -> Kernel:
    return semantics.upper_product(element.width, signed)


chlo.op(
    "mulhi",
    "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)",
    operands={"lhs": INTEGER_TENSOR, "rhs": INTEGER_TENSOR},
    results={"result": INTEGER_TENSOR},
    traits=(d.Trait.ELEMENTWISE,),
    verify=compatible,
    evaluate=evaluated({kind: partial(_upper, signed=kind is Kind.SIGNED) for kind in (Kind.SIGNED, Kind.UNSIGNED)}),
)

chlo.op(
    "constant",
    "attr-dict $value",
    results={"output": tensor_of("FBICQ", "statically shaped")},
    properties=(d.Property("value", d.TYPED_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    type_rules=(d.inferred_type_of_property("output", "value"),),
    verify=lambda op: not_inferred(op, op.properties["value"].type),
    evaluate=Constant(constant_value),
)

# --- top_k ------------------------------------------------------------------------------------------------------------


def _top_k(op: Operation, settings: Settings) -> Function:
    k, types = op.prop("k", at.IntegerAttr).value, [result.type for result in op.results]
    element = ty.element_type(op.operands[0].type)

    def largest(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        if isinstance(element, ty.FloatType):
            if value.poison is not None:
                raise undefined(op, f"an element is poison: {first_origin(value)}")
            keys = semantics.total_order(element.format, value.bits).astype(np.uint64)
        else:
            keys = signed_numbers(op, value, "an element").view(np.uint64) ^ np.uint64(1 << 63)
        # Of equal elements, the first one comes first.
        order = np.argsort(~keys, axis=-1, kind="stable")[..., :k]
        grids = np.meshgrid(*map(np.arange, order.shape), indexing="ij", sparse=True)[:-1]
        return picked(value, (*grids, order), types[0]), Value(types[1], order.astype(np.uint32))

    return largest


def _verify_top_k(op: Operation) -> str | None:
    operand, k = op.operands[0].type, op.prop("k", at.IntegerAttr).value
    shape, element = _shape(operand), ty.element_type(operand)
    if not _is_ranked(operand):
        return not_inferred(op, operand, ty.with_element(operand, ty.I32))
    if not shape:
        return Unprefixed("operand's rank must be at least 1")
    if shape[-1] is not None and shape[-1] < k:
        return Unprefixed(f"operand's last dimension must be at least {k}")
    bounds = (*bounds_of(operand)[:-1], None) if bounds_of(operand) else ()
    made = [tensor((*shape[:-1], k), each, bounds) for each in (element, ty.I32)]
    return not_inferred(op, *made)


chlo.op(
    "top_k",
    "`(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->` "
    "`(` type($values) `,` type($indices) `)`",
    operands={"operand": _any("FBICQX")},
    results={"values": _any("FBICQX"), "indices": _any("FBICQX")},
    properties=(
        d.Property("is_stable", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(True)),
        d.Property("k", d.INTEGER_64_ATTR),
    ),
    named_results=("values", "indices"),
    verify=_verify_top_k,
    evaluate=data_movement(_top_k, elements=0),
)

# --- broadcasting -----------------------------------------------------------------------------------------------------
#
# The ops that broadcast their operands to one shape, as NumPy does.


def _broadcast(shapes: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...] | None:
    """Return the shape of several arrays together; None where they do not go together."""
    rank = max(map(len, shapes))
    made: list[int | None] = []
    for column in zip(*((*((1,) * (rank - len(shape))), *shape) for shape in shapes), strict=True):
        known = {size for size in column if size is not None and size != 1}
        if len(known) > 1:
            return None
        made.append(known.pop() if known else None if None in column else 1)
    return tuple(made)


def _broadcast_type(op: Operation, element: ty.Type) -> ty.Type:
    """Return the type of the result; one without a rank where it does not follow."""
    types = operand_types(op)
    unknown = ty.TensorType(None, element)
    if not all(map(_is_ranked, types)):
        return unknown
    shapes = [_shape(type_) for type_ in types]
    written = op.properties.get("broadcast_dimensions")
    if isinstance(written, at.DenseArrayAttr):
        dims = written.values
        small, large = sorted(shapes, key=len)
        if len(dims) != len(small) or any(not 0 <= dim < len(large) for dim in dims):
            return unknown
        placed: list[int | None] = [1] * len(large)
        for dim, size in zip(dims, small, strict=True):
            placed[dim] = size
        shapes = [tuple(placed), large]
    made = _broadcast(shapes)
    if made is None:
        return unknown
    bounds = [bounds_of(type_) for type_ in types]
    if not any(bounds):
        return tensor(made, element)
    limits: list[int | None] = [None] * len(made)
    for type_, known in zip(types, bounds, strict=True):
        for axis, bound in enumerate(known, len(made) - len(_shape(type_))):
            limits[axis] = bound if made[axis] is None else None
    return tensor(made, element, limits)


def _same_elements(op: Operation) -> str | None:
    first, *others = map(ty.element_type, types_of(op))
    same = all(other == first for other in others)
    return None if same else "requires the same element type for all operands and results"


def _verify_broadcast(element: Callable[[ty.Type], ty.Type]) -> Rule:
    """Return the rule for the result. ``element``: gives its elements from those of the first operand."""

    def check(op: Operation) -> str | None:
        one, other = (ty.element_type(value.type) for value in op.operands[-2:])
        if not elements_fit(one, other):
            return Unprefixed("mismatched operand types")
        return not_inferred(op, _broadcast_type(op, element(one)))

    return check


def _itself(element: ty.Type) -> ty.Type:
    return element


def _enum(mnemonic: str, like: EnumDefinition) -> EnumDefinition:
    return chlo.enum(
        EnumDefinition(like.name.replace("stablehlo", "chlo"), like.cases, mnemonic=f"chlo.{mnemonic}", bare=True)
    )


_DIRECTION = _enum("comparison_direction", DIRECTION)
_COMPARISON_TYPE = _enum("comparison_type", COMPARISON_TYPE)
_PRECISION = _enum("precision", PRECISION)
_PLACED = d.Property("broadcast_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True)
_FORM = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type(results)"
_EVERY = "FBICQX"
_COMPARED = (
    d.Property("compare_type", _COMPARISON_TYPE, optional=True),
    d.Property("comparison_direction", _DIRECTION),
)

_BROADCASTS: Mapping[str, tuple[str, str, Rule | None, tuple[d.Property, ...]]] = {
    **dict.fromkeys(("add", "maximum", "minimum"), (_EVERY, _EVERY, compatible_elements, ())),
    **dict.fromkeys(
        (
            "atan2", "divide", "multiply", "next_after", "polygamma", "power", "remainder", "shift_left",
            "shift_right_arithmetic", "shift_right_logical", "subtract",
        ),
        (_EVERY, _EVERY, _same_elements, ()),
    ),
    "zeta": ("F", "F", _same_elements, ()),
    **dict.fromkeys(("and", "or", "xor"), ("BI", _EVERY, None, ())),
    "complex": ("F", "C", None, ()),
    "compare": (_EVERY, "B", None, _COMPARED),
}  # fmt: skip
"""The letters for the elements of the operands and of the result, a rule for both, and more properties."""
_ELEMENT: Mapping[str, Callable[[ty.Type], ty.Type]] = {"complex": ty.ComplexType, "compare": lambda element: ty.I1}

for _mnemonic, (_letters, _result, _rule, _more) in _BROADCASTS.items():
    _typed = _verify_broadcast(_ELEMENT.get(_mnemonic, _itself))
    chlo.op(
        f"broadcast_{_mnemonic}",
        _FORM,
        operands={"lhs": _any(_letters), "rhs": _any(_letters)},
        results={"result": _any(_result)},
        properties=(_PLACED, *_more),
        verify=_typed if _rule is None else rules(_rule, _typed),
    )

chlo.op(
    "broadcast_select",
    "$pred `,` $on_true `,` $on_false attr-dict `:` `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` "
    "type(results)",
    operands={"pred": tensor_of("B"), "on_true": _any(_EVERY), "on_false": _any(_EVERY)},
    results={"result": _any(_EVERY)},
    verify=_verify_broadcast(_itself),
)


def _verify_like(op: Operation) -> str | None:
    found = same_shape(op)
    if found is not None:
        return found
    element = op.properties["value"].type  # type: ignore[attr-defined]
    if element != ty.element_type(op.results[0].type):
        return "value's type doesn't match element return type"
    return not_inferred(op, ty.with_element(op.operands[0].type, element))


chlo.op(
    "constant_like",
    operands={"operand": _any(_EVERY)},
    results={"result": _any(_EVERY)},
    properties=(d.Property("value", d.TYPED_ATTR),),
    verify=_verify_like,
)

# --- ragged_dot -------------------------------------------------------------------------------------------------------

_RAGGED = fields(
    "ragged_dot",
    *lists(
        "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions", "lhs_ragged_dimensions", "rhs_group_dimensions",
    ),
    dialect=chlo,
)  # fmt: skip


def _verify_group_sizes(expected: Sequence[int | None], given: Sequence[int | None]) -> Unprefixed | None:
    """Check the shape of the sizes of groups. ``expected``: the sizes in front of the last one, if there are any."""
    if len(given) == 1:
        return None
    if len(given) != len(expected) + 1:
        return Unprefixed(f"expected group_sizes to have rank {len(expected) + 1}, got {len(given)}")
    if list(given[:-1]) != list(expected):
        wanted, got = (", ".join(map(str, sizes)) for sizes in ((*expected, given[-1]), given))
        return Unprefixed(f"group_sizes is expected to have shape [{wanted}], got [{got}]")
    return None


def _verify_ragged_dot(op: Operation) -> str | None:
    numbers: Any = op.properties["ragged_dot_dimension_numbers"]
    batching = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
    contracting = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
    left, right, sizes = map(_shape, operand_types(op))
    found = verify_precision(op) or verify_dimensions_of_dot((left, right), batching, contracting)
    if found is not None:
        return found
    ragged, grouped = numbers["lhs_ragged_dimensions"], numbers["rhs_group_dimensions"]
    if len(ragged) != 1:
        return Unprefixed("There must be exactly one ragged dimension in the lhs.")
    (axis,) = ragged
    if not 0 <= axis < len(left):
        return Unprefixed(f"Expects lhs_ragged_dim to be in range [0, lhs_rank) i.e. [0, {len(left)}). got: {axis}.")
    free = [dim for dim in range(len(left)) if dim not in (*batching[0], *contracting[0])]
    if axis in batching[0]:
        before = batching[0][: batching[0].index(axis)]
    else:
        before = (*batching[0], *(contracting[0] if axis in contracting[0] else free))
        before = before[: before.index(axis)]
    found = _verify_group_sizes([left[dim] for dim in before], sizes)
    if found is not None:
        return found
    for dim in grouped:
        if not 0 <= dim < len(right):
            return Unprefixed(f"Expects rhs_group_dim to be in range [0, rhs_rank) i.e. [0, {len(right)}). got: {dim}.")
    for name, others in (("batching", batching[1]), ("contracting", contracting[1])):
        for place, dim in enumerate(every := (*grouped, *others)):
            if dim in every[:place]:
                return Unprefixed(
                    f"has duplicated dimension from rhs_group_dimensions and rhs_{name}_dimensions: {dim}"
                )
    if axis not in free and grouped:
        return Unprefixed(
            "There must be zero group dimensions in the rhs when the ragged dimension is batch or contracting."
        )
    if axis in free and len(grouped) != 1:
        return Unprefixed(
            "There must be exactly one group dimension in the rhs when the lhs ragged dimension is non-contracting."
        )
    if axis in free and not sizes_fit(sizes[-1], right[grouped[0]]):
        return Unprefixed(f"rhs group dimension is expected to have size={sizes[-1]}, got {right[grouped[0]]}")
    made = [sizes[-1]] if axis in contracting[0] else []
    made += [left[dim] for dim in (*batching[0], *free)]
    made += [right[dim] for dim in range(len(right)) if dim not in (*batching[1], *contracting[1], *grouped)]
    return not_shaped(made, op.results[0].type)


chlo.op(
    "ragged_dot",
    operands={"lhs": _any(_EVERY), "rhs": _any(_EVERY), "group_sizes": INTEGER_TENSOR},
    results={"result": _any(_EVERY)},
    properties=(
        d.Property("precision_config", d.array_of_enum("Precision Config attribute", _PRECISION), optional=True),
        d.Property(
            "ragged_dot_dimension_numbers",
            attribute_of(_RAGGED, "Attribute that models the dimension information for ragged dot."),
        ),
    ),
    verify=_verify_ragged_dot,
)

# --- scan -------------------------------------------------------------------------------------------------------------

_RESULT_SEGMENTS = "resultSegmentSizes"


def _segments(op: Operation, name: str) -> tuple[int, ...]:
    return op.prop(name, at.DenseArrayAttr).values


def _verify_scan(op: Operation) -> str | None:
    count, dim = _segments(op, SEGMENTS)[0], op.prop("dimension", at.IntegerAttr).value
    if not count and not _segments(op, _RESULT_SEGMENTS)[0]:
        return "at least one of inputs or outputs must be present"
    size = op.prop("scan_dim_size", at.IntegerAttr).value if "scan_dim_size" in op.properties else None
    types = operand_types(op)
    for index, type_ in enumerate(types[:count]):
        if not _is_ranked(type_):
            return f"operand {index} is not ranked"
        if dim >= len(_shape(type_)):
            return f"scan dimension of operand {index} is out of bounds"
        if not sizes_fit(size, _shape(type_)[dim]):
            return f"invalid scan dimension size of operand {index}"
        size = _shape(type_)[dim] if size is None else size
    arguments = arguments_of(body_of(op))
    if len(arguments) != len(types):
        return f"expects {len(types)} arguments in the body, but got {len(arguments)}"
    for index, (type_, argument) in enumerate(zip(types, arguments, strict=True)):
        if not _is_ranked(type_):
            return f"operand {index} is not ranked"
        shape = _shape(type_)
        part = ty.TensorType((*shape[:dim], *shape[dim + 1 :]), ty.element_type(type_)) if index < count else type_
        if not types_fit(part, argument):
            return f"operand and body argument {index} are incompatible"
    return None


def _verify_scanned(op: Operation) -> str | None:
    carried, dim = _segments(op, SEGMENTS)[1], op.prop("dimension", at.IntegerAttr).value
    types = returned(body_of(op))
    if len(types) < carried:
        return Unprefixed(f"ScanOp body must return at least {carried} values (carries)")
    size = op.prop("scan_dim_size", at.IntegerAttr).value if "scan_dim_size" in op.properties else None
    for type_ in operand_types(op)[: _segments(op, SEGMENTS)[0]]:
        size = _shape(type_)[dim] if size is None else size
    expected = []
    for index, type_ in enumerate(types):
        if not _is_ranked(type_) or not isinstance(type_, ty.TensorType):
            return Unprefixed(f"terminator operand {index} is not ranked")
        shape = _shape(type_)
        if index < len(types) - carried:
            shape = (*shape[:dim], size, *shape[dim:])
        expected.append(ty.TensorType(shape, type_.element))
    return not_inferred(op, *expected)


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
        wrong(p, definition.name, "operand types must match the number of inputs and inits", at_)
    made = len(type_.results) - len(inits)
    if made < 0:
        wrong(p, definition.name, "not enough result types to cover the required carries", at_)
    for name, sizes in ((SEGMENTS, (len(inputs), len(inits))), (_RESULT_SEGMENTS, (made, len(inits)))):
        properties[name] = at.DenseArrayAttr(ty.I32, sizes)
    move_inherent(definition, properties, attributes)
    operands = [p.use(token, each) for token, each in zip((*inputs, *inits), type_.inputs, strict=True)]
    made_op = Operation(definition.name, definition, operands, type_.results, properties, attributes, [region])
    return p.placed(made_op, at_)


def _print_scan(printer: OpPrinter, op: Operation) -> str:
    count = _segments(op, SEGMENTS)[0]
    names = list(map(printer.name, op.operands))
    left_out = ("dimension", SEGMENTS, _RESULT_SEGMENTS)
    shown = {name: value for name, value in op.properties.items() if name not in left_out} | op.attributes
    text = f"({', '.join(names[:count])}) inits ({', '.join(names[count:])}) dimension="
    text += f"{op.prop('dimension', at.IntegerAttr).value} "
    text += f" attributes {printer.dictionary(shown)}" if shown else ""
    types = ty.FunctionType(tuple(operand_types(op)), tuple(result.type for result in op.results))
    return f"{text} {printer.region(op.regions[0], op)} : {printer.type(types)}"


chlo.op(
    "scan",
    custom=d.CustomForm(_parse_scan, _print_scan),
    operands=(d.variadic("inputs", _any(_EVERY)), d.variadic("inits", _any(_EVERY))),
    results=(d.variadic("outputs", _any(_EVERY)),),
    properties=(
        d.Property("dimension", COUNT),
        d.Property("is_associative", d.BOOL_ATTR, optional=True),
        d.Property("is_reverse", d.BOOL_ATTR, optional=True),
        d.Property(_RESULT_SEGMENTS, d.INTEGER_ARRAY_ATTR),
        d.Property("scan_dim_size", COUNT, optional=True),
    ),
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS, d.Trait.ISOLATED_FROM_ABOVE),
    named_arguments=lambda op: [
        "input" if index < _segments(op, SEGMENTS)[0] else "carry" for index in range(len(op.operands))
    ],
    verify=_verify_scan,
    verify_regions=_verify_scanned,
)
