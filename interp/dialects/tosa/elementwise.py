"""The elementwise ops of tosa: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elements import Function, Operands, picked
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.tosa.attributes import NAN_PROPERTY, NUMBER_ATTR, ROUNDING_MODE, flag
from halfulp.interp.dialects.tosa.evaluating import (
    Element,
    Make,
    Makes,
    by_table,
    checked,
    common_shape,
    elementwise,
    of_any_shape,
    part,
    spread_to,
    unsupported,
)
from halfulp.interp.dialects.tosa.forms import PLAIN, Form
from halfulp.interp.dialects.tosa.rules import (
    alike,
    broadcastable,
    constant,
    declare,
    has_element_of,
    inferred,
    numbers,
    resolvable,
    same_elements,
    same_operand_elements,
    same_ranks,
    same_shapes,
    together,
    truth,
    zero_point_is_allowed,
)
from halfulp.interp.dialects.tosa.types import (
    FLOAT_TENSOR,
    I1_TENSOR,
    I32_OR_I64_TENSOR,
    INT8_LIKE,
    INT_LIKE,
    SCALAR_I8,
    SCALAR_INT_OR_FLOAT,
    TENSOR,
    TENSOR_1D,
    Sizes,
    shape,
    stored,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, Rule, all_of, undefined
from halfulp.interp.run.elementwise import chosen_marks
from halfulp.interp.run.evaluators import Elementwise, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import elementary, float_unit, floats, integer, integer_functions, tosa
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Kernel, merged_ids, select, select_poison
from halfulp.semantics.stablehlo import complement

_NEAREST = Rounding.TO_NEAREST_EVEN

# --- kernels ----------------------------------------------------------------------------------------------------------


def _width(factory: Callable[[int], Kernel], kinds: str = "iu") -> Makes:
    return dict.fromkeys(kinds, lambda e: factory(e.width))


def _function(name: str) -> Makes:
    """Return the maker of the kernel of a function of a float, rounded once."""
    return {"f": lambda e: elementary.unary(name, e.format, _NEAREST, 0, e.profile)}


def _float(name: str) -> Make:
    return lambda e: floats.binary(name, e.format, _NEAREST, floats.NSZ, e.profile)  # of two zeros, either one is right


def _compared(signed: int, unsigned: int, floating: int) -> Makes:
    """Return the makers of comparisons from the numbers of the predicates of arith."""
    return {
        "b": lambda e: integer.cmpi(1, unsigned),
        "i": lambda e: integer.cmpi(e.width, signed),
        "u": lambda e: integer.cmpi(e.width, unsigned),
        "f": lambda e: floats.compare(floating, e.format, 0, e.profile),
    }


def _reciprocal(element: Element) -> Kernel:
    divide = floats.binary("divide", element.format, _NEAREST, 0, element.profile)
    one = scalar.from_integer(element.format, 1).code
    return tosa.of_operands(divide, lambda a: (one if isinstance(a, int) else tosa.repeated(one, element.width, a), a))


def _to_integral(name: str) -> Makes:
    return {"f": lambda e: integer_functions.to_integral(name, e.format, 0, e.profile)}


KERNELS: dict[str, Makes] = {
    "abs": {**_width(tosa.absolute, "i"), "f": lambda e: tosa.any_nan(float_unit.absolute(e.format), e.format)},
    "add": {**_width(tosa.add, "i"), "f": _float("add")},
    "bitwise_and": _width(integer.andi),
    "bitwise_not": _width(complement),
    "bitwise_or": _width(integer.ori),
    "bitwise_xor": _width(integer.xori),
    "ceil": _to_integral("ceil"),
    "clz": _width(integer_functions.ctlz),
    "cos": _function("cos"),
    "equal": _compared(0, 0, 1),
    "erf": _function("erf"),
    "exp": _function("exp"),
    "floor": _to_integral("floor"),
    "greater": _compared(4, 8, 2),
    "greater_equal": _compared(5, 9, 3),
    "intdiv": _width(tosa.divide, "i"),
    "log": _function("log"),
    "logical_and": {"b": lambda e: integer.andi(1)},
    "logical_left_shift": _width(tosa.shift_left),
    "logical_not": {"b": lambda e: complement(1)},
    "logical_or": {"b": lambda e: integer.ori(1)},
    "logical_right_shift": _width(tosa.shift_right_logical),
    "logical_xor": {"b": lambda e: integer.xori(1)},
    "pow": {"f": lambda e: tosa.power(e.format, e.profile)},
    "reciprocal": {"f": _reciprocal},
    "rsqrt": _function("rsqrt"),
    "sigmoid": _function("sigmoid"),
    "sin": _function("sin"),
    "sub": {**_width(tosa.subtract, "i"), "f": _float("subtract")},
    "tanh": _function("tanh"),
}
"""The kernels of the ops that depend on their elements only."""


def ignores_nan(op: Operation) -> bool:
    """Tell whether the mode of an op says that a NaN is passed over."""
    return op.prop("nan_mode", EnumAttr).keywords == "IGNORE"


def extremum(op: Operation, element: Element, largest: bool) -> Kernel:
    """Return the kernel of a maximum or minimum in the NaN mode of an op. Raises Unsupported."""
    if element.kind == "f":
        return tosa.extremum(largest, ignores_nan(op), element.format, element.profile)
    if not element.kind:
        raise unsupported(op, element.type)
    factories = (integer.minsi, integer.maxsi) if element.kind == "i" else (integer.minui, integer.maxui)
    return factories[largest](element.width)


def _element(op: Operation, settings: Settings) -> Element:
    return Element(ty.element_type(op.operands[0].type), settings.profile)


def _clamp(op: Operation, settings: Settings) -> Kernel:
    element = _element(op, settings)
    low, high = (op.properties[name] for name in ("min_val", "max_val"))
    assert isinstance(low, at.IntegerAttr | at.FloatAttr)
    assert isinstance(high, at.IntegerAttr | at.FloatAttr)
    larger, smaller = (extremum(op, element, largest) for largest in (True, False))
    return tosa.clamp(larger, smaller, low.code, high.code, element.width)


def _shift_right(op: Operation, settings: Settings) -> Kernel:
    element = _element(op, settings)
    if element.kind not in ("i", "u"):
        raise unsupported(op, element.type)
    return tosa.shift_right_arithmetic(element.width, truth(op, "round"))


def _multiply(op: Operation, settings: Settings) -> Kernel:
    element = _element(op, settings)
    if element.kind == "f":
        product = floats.binary("multiply", element.format, _NEAREST, floats.NSZ, element.profile)
        return tosa.of_operands(product, lambda a, b, shift: (a, b))
    if element.kind != "i":
        raise unsupported(op, element.type)
    return tosa.multiply(element.width, ty.width_of(ty.element_type(op.results[0].type)))


def _negate(op: Operation, settings: Settings) -> Kernel:
    element = _element(op, settings)
    if element.kind == "f":
        # The zero points of floats are 0.
        negated = tosa.any_nan(floats.unary("negate", element.format, 0, element.profile), element.format)
        return tosa.of_operands(negated, lambda a, zero, out: (a,))
    if element.kind != "i":
        raise unsupported(op, element.type)
    return tosa.negate(element.width)


def _apply_scale(op: Operation, settings: Settings) -> Kernel:
    value, multiplier, _ = (ty.width_of(ty.element_type(each.type)) for each in op.operands)
    return tosa.apply_scale(value, multiplier, op.prop("rounding_mode", EnumAttr).keywords == "DOUBLE_ROUND")


def _select(op: Operation, settings: Settings) -> Function:
    """Return the function that chooses elements. The operand that is not chosen is ignored, even if it is poison."""

    def choose(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = common_shape(op, operands)
        made = checked(op, shape, settings)
        condition, yes, no = (
            spread_to(value, shape, of_any_shape(each.type, len(shape)))
            for value, each in zip(operands, op.operands, strict=True)
        )
        poison = select_poison(condition.bits, condition.poison, yes.poison, no.poison, shape)
        bits = select(condition.bits, yes.bits, no.bits)
        marks = chosen_marks(settings, condition, yes, no)
        return (Value(made, bits, poison, marks, None if poison is None else run.origins),)

    return choose


def _table(op: Operation, settings: Settings) -> Function:
    """Return the function that looks values up: in 256 entries of 8 bits, or between two of 513 entries of 16 bits."""
    width = ty.width_of(ty.element_type(op.operands[0].type))
    table_width, made_width = (ty.width_of(ty.element_type(each.type)) for each in (op.operands[1], *op.results))
    known = {(8, 8, 8): 256, (16, 16, 32): 513}.get((width, table_width, made_width))
    if known is None:
        raise unsupported(op, ty.element_type(op.operands[0].type))
    kernel = tosa.interpolate()

    def look_up(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, table = operands
        if table.shape != (known,):
            raise undefined(
                op,
                f"REQUIRE(length(table) == TABLE_SIZE) does not hold: the table has {table.shape[0]} "
                f"entries instead of {known}",
            )
        made = checked(op, value.shape, settings)
        numbers = Reading(width, True).values(value.bits).astype(np.int64)
        places = (numbers + (1 << width - 1)) >> (0 if width == 8 else 7)
        entries = picked(table, (places,), of_any_shape(op.operands[1].type, value.ndim))
        if width == 16:
            following = picked(table, (places + 1,), entries.type)
            fraction = Value(value.type, (numbers & 127).astype(np.uint16), value.poison, None, value.origins)
            types = [of_any_shape(each, value.ndim) for each in (entries.type, entries.type, value.type)]
            step = part(op, kernel, types, of_any_shape(made, value.ndim), settings)
            (found,) = step.run(run, (entries, following, fraction))
            return (Value(made, found.bits, found.poison, None, found.origins),)
        poison = merged_ids((value.poison, entries.poison), value.shape)
        return (Value(made, entries.bits, poison, None, None if poison is None else run.origins),)

    return look_up


def _like(source: str, element: ty.Type | None = None) -> tuple[d.TypeRule]:
    """Return the rule that infers the type of the result from that of an operand, for ops that are made without text.
    ``element``: the type of its elements, if they are not those of the operand.
    """
    return (
        d.inferred_type("output", source, lambda type_: type_ if element is None else ty.with_element(type_, element)),
    )


# --- one operand ------------------------------------------------------------------------------------------------------

_UNARY: Rule = all_of(same_shapes, same_elements, broadcastable, same_ranks, resolvable)
_UNARY_ROWS = {
    "abs": TENSOR, "bitwise_not": TENSOR, "ceil": TENSOR, "clz": TENSOR, "cos": FLOAT_TENSOR, "erf": TENSOR,
    "exp": TENSOR, "floor": TENSOR, "log": TENSOR, "logical_not": I1_TENSOR, "reciprocal": TENSOR, "rsqrt": TENSOR,
    "sigmoid": TENSOR, "sin": FLOAT_TENSOR, "tanh": TENSOR,
}  # fmt: skip
"""The ops of one operand, whose result has its type, and the tensors that they accept."""

_NAMED_INPUT = frozenset(("erf", "sigmoid", "tanh"))
for _name, _tensor in _UNARY_ROWS.items():
    _input = "input" if _name in _NAMED_INPUT else "input1"
    declare(
        _name,
        PLAIN,
        _UNARY,
        operands={_input: _tensor},
        results={"output": _tensor},
        type_rules=_like(_input),
        evaluate=by_table(KERNELS[_name]),
    )


def _clamped(op: Operation) -> str | None:
    elements = [
        stored(value.type) if isinstance(ty.element_type(value.type), ty.UniformQuantizedType) else element
        for value in (*op.operands, *op.results)
        for element in (ty.element_type(value.type),)
    ]
    if elements[0] != elements[1]:
        return "input/output element types are incompatible."
    low, high = op.properties["min_val"], op.properties["max_val"]
    wrong = "min/max attributes types are incompatible with input/output element types."
    shown = f"got min_val={low}, max_val={high}"
    if isinstance(elements[0], ty.IntegerType):
        if not (isinstance(low, at.IntegerAttr) and isinstance(high, at.IntegerAttr)):
            return wrong
        if not low.type == high.type == elements[0]:
            return wrong
        unsigned = elements[0].signedness == "unsigned" or elements[0].width == 1
        ends = (low.code, high.code) if unsigned else (low.value, high.value)
        return None if ends[0] <= ends[1] else f"expected min_val <= max_val, {shown}"
    if not (isinstance(low, at.FloatAttr) and isinstance(high, at.FloatAttr)):
        return wrong
    if not low.type == high.type == elements[0]:
        return wrong
    fmt = low.type.format
    if fmt.is_nan(low.code) or fmt.is_nan(high.code):
        return f"min/max attributes should not be 'NaN', {shown}"
    return None if _order(fmt, low.code) <= _order(fmt, high.code) else f"expected min_val <= max_val, {shown}"


def _order(fmt: object, code: int) -> int:
    """Return a number that orders the finite codes and infinities of a float format."""
    mask = getattr(fmt, "sign_mask", 0) or 0
    return -(code & ~mask) if code & mask else code


declare(
    "clamp",
    Form(bare="nan_mode"),
    _UNARY,
    _clamped,
    operands={"input": TENSOR},
    results={"output": TENSOR},
    properties=(d.Property("max_val", NUMBER_ATTR), d.Property("min_val", NUMBER_ATTR), NAN_PROPERTY),
    type_rules=_like("input"),
    evaluate=elementwise(_clamp),
)


def _negated(op: Operation) -> str | None:
    value, zero, zero_out = op.operands
    (result,) = op.results
    found = alike(value, result)
    if found is not None:
        return found
    if not sizes_agree(shape(value), shape(result)):
        return "requires the same shape for input1 and output"
    return (
        has_element_of(value, zero, "expect both input1 and its zero point are the same element type")
        or has_element_of(result, zero_out, "expect both output and its zero point are the same element type")
        or zero_point_is_allowed(zero, "input1")
        or zero_point_is_allowed(zero_out, "output")
    )


declare(
    "negate",
    PLAIN,
    resolvable,
    _negated,
    operands={"input1": TENSOR, "input1_zp": SCALAR_INT_OR_FLOAT, "output_zp": SCALAR_INT_OR_FLOAT},
    results={"output": TENSOR},
    type_rules=_like("input1"),
    evaluate=elementwise(_negate, alone=2, zeros=(1, 2)),
)

# --- several operands -------------------------------------------------------------------------------------------------

_BINARY: Rule = all_of(same_elements, broadcastable, same_ranks, resolvable)
_NAN = (NAN_PROPERTY,)
_BINARY_ROWS: dict[str, tuple[d.TypeConstraint, Form, tuple[d.Property, ...]]] = {
    **dict.fromkeys(
        (
            "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_left_shift", "logical_right_shift", "pow",
            "sub",
        ),
        (TENSOR, PLAIN, ()),
    ),
    "arithmetic_right_shift": (TENSOR, PLAIN, (flag("round"),)),
    "intdiv": (I32_OR_I64_TENSOR, PLAIN, ()),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (I1_TENSOR, PLAIN, ())),
    **{name: (TENSOR, Form(bare="nan_mode"), _NAN) for name in ("maximum", "minimum")},
}  # fmt: skip
"""The ops of two operands, whose result has their element type: the tensors that they accept, form and properties."""

_COMMUTATIVE = frozenset(
    (
        "add",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "logical_and",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
    )
)
_OTHERS = {
    "arithmetic_right_shift": elementwise(_shift_right),
    "maximum": elementwise(lambda op, settings: extremum(op, _element(op, settings), True)),
    "minimum": elementwise(lambda op, settings: extremum(op, _element(op, settings), False)),
}
for _name, (_tensor, _form, _properties) in _BINARY_ROWS.items():
    declare(
        _name,
        _form,
        _BINARY,
        operands={"input1": _tensor, "input2": _tensor},
        results={"output": _tensor},
        type_rules=_like("input1"),
        properties=_properties,
        traits=(d.Trait.COMMUTATIVE,) if _name in _COMMUTATIVE else (),
        evaluate=_OTHERS.get(_name) or by_table(KERNELS[_name]),
    )


def _broadcast_sizes(op: Operation) -> Sizes | None:
    shapes = [shape(value) for value in op.operands]
    made: Sizes | None = shapes[0]
    for sizes in shapes[1:]:
        made = None if made is None or sizes is None else together(made, sizes)
    return made


_COMPARISON: Rule = all_of(same_operand_elements, broadcastable, same_ranks, resolvable)
for _name in ("equal", "greater", "greater_equal"):
    declare(
        _name,
        PLAIN,
        _COMPARISON,
        *([inferred(_broadcast_sizes, lambda op: ty.I1)] if _name == "equal" else []),
        operands={"input1": TENSOR, "input2": TENSOR},
        results={"output": I1_TENSOR},
        type_rules=_like("input1", ty.I1),
        traits=(d.Trait.COMMUTATIVE,) if _name == "equal" else (),
        evaluate=by_table(KERNELS[_name]),
    )


def _chosen(op: Operation) -> str | None:
    _, yes, no = op.operands
    (result,) = op.results
    return alike(yes, result) or alike(no, result)


declare(
    "select",
    PLAIN,
    broadcastable,
    same_ranks,
    resolvable,
    _chosen,
    operands={"input1": I1_TENSOR, "input2": TENSOR, "input3": TENSOR},
    results={"output": TENSOR},
    type_rules=_like("input2"),
    evaluate=OnValues(_select),
)


def _multiplied(op: Operation) -> str | None:
    one, other, shift = op.operands
    (result,) = op.results
    elements = [ty.element_type(type_) for type_ in op.types]
    made = elements[3]
    if isinstance(made, ty.IntegerType):
        if not isinstance(elements[0], ty.IntegerType) or elements[0] != elements[1]:
            return "requires the same element type for all operands"
        if elements[0].width > made.width:
            return "invalid data type size for operands or result"
    else:
        if made not in elements[:2] or elements[0] != elements[1]:
            return "requires the same element type for all operands and results"
        known = constant(shift)
        if known is not None and numbers(known)[:1] not in ([], [0]):
            return "require shift to be 0 for float type"
    first, second, sizes = shape(one), shape(other), shape(result)
    if first is not None and second is not None:
        if len(first) != len(second):
            return f"a and b operands don't have matching ranks, got {len(first)} and {len(second)}"
        if together(first, second) is None:
            return f"a and b operands don't have broadcast-compatible shapes, got '{one.type}' and '{other.type}'"
    for name, given in (("a", first), ("b", second)):
        if sizes is not None and given is not None and len(sizes) != len(given):
            return f"result type has different rank than {name}, got {len(sizes)} vs {len(given)}"
    return None


declare(
    "mul",
    PLAIN,
    resolvable,
    _multiplied,
    operands={"input1": TENSOR, "input2": TENSOR, "shift": SCALAR_I8},
    results={"output": TENSOR},
    evaluate=elementwise(_multiply, alone=1),
)


def _looked_up(op: Operation) -> str | None:
    given, made = shape(op.operands[0]), shape(op.results[0])
    if given is None or made is None:
        return None
    if len(given) != len(made):
        return "expected input tensor rank to equal result tensor rank"
    for axis, (size, wanted) in enumerate(zip(given, made, strict=True)):
        if wanted is not None and wanted != size:
            given_size = -(1 << 63) if size is None else size
            return f"dim(result, {axis}) = {wanted} doesn't match dim(input, {axis}) = {given_size}"
    return None


declare(
    "table",
    PLAIN,
    resolvable,
    _looked_up,
    operands={"input1": TENSOR, "table": TENSOR_1D},
    results={"output": TENSOR},
    evaluate=OnValues(_table),
)
declare(
    "apply_scale",
    Form(bare="rounding_mode"),
    resolvable,
    operands={"value": INT_LIKE, "multiplier": INT_LIKE, "shift": INT8_LIKE},
    results={"output": INT_LIKE},
    properties=(d.Property("rounding_mode", ROUNDING_MODE),),
    evaluate=Elementwise(_apply_scale),
)
