"""The elementwise ops of StableHLO: for each op and class of elements, the kernel that exists.

An op has one row. Its kernels are those of arith, math and complex; `halfulp.semantics.stablehlo` has the others. On
quantised elements an op without a row of its own is the op on floats between two casts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from halfulp.fp_formats.formats import NanEncoding
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.arith.constants import constant_value
from halfulp.interp.dialects.arith.ops import SELECTION
from halfulp.interp.dialects.elementwise import element_of, enum_of
from halfulp.interp.dialects.stablehlo.attributes import (
    ACCURACY,
    COMPARISON_TYPE,
    COUNT_32,
    DEFAULT_ACCURACY,
    DIRECTION,
    POSITIVE_32,
    accuracy_problem,
)
from halfulp.interp.dialects.stablehlo.divisors import is_inverted
from halfulp.interp.dialects.stablehlo.forms import BINARY, UNARY
from halfulp.interp.dialects.stablehlo.quantized import any_quantized, of_elements, selecting
from halfulp.interp.dialects.stablehlo.types import (
    Kind,
    compatible,
    compatible_elements,
    elements_fit,
    elementwise_shape,
    elementwise_tensor_of,
    kind_of,
    merged,
    most_specific,
    not_inferred,
    operand_types,
    same_shape,
    shapes_fit,
    shown_sizes,
    stablehlo,
    tensor_of,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, all_of
from halfulp.interp.run.evaluators import Constant, Elementwise, OnValues, PerOp
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.semantics import (
    casts,
    complex_numbers,
    elementary,
    float_unit,
    floats,
    integer,
    integer_functions,
)
from halfulp.semantics import stablehlo as semantics
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile

_NEAREST = Rounding.TO_NEAREST_EVEN


class Element(NamedTuple):
    """What a kernel depends on: an element type, and the profile."""

    type: ty.Type
    profile: Profile

    @property
    def width(self) -> int:
        """The bits of an integer."""
        return ty.width_of(self.type)

    @property
    def format(self) -> Any:
        """The format of a float, or of the parts of a complex number."""
        return ty.float_format(ty.number_type(self.type))


Make = Callable[[Element], Kernel]
Makes = Mapping[Kind, Make]


def _chosen(op: Operation, type_: ty.Type, makes: Makes) -> Make:
    kind = kind_of(type_)
    make = None if kind is None else makes.get(kind)
    if make is None:
        raise Unsupported(f"halfulp does not evaluate '{op.name}' on elements of type '{type_}' yet")
    return make


def evaluated(makes: Makes) -> Elementwise:
    """Return the evaluator of an op that has these makers of kernels. The class of the elements of the first operand
    chooses one.
    """

    def build(op: Operation, settings: Settings) -> Kernel:
        type_ = element_of(op.operands[0])
        return _chosen(op, type_, makes)(Element(type_, settings.profile))

    return Elementwise(build if Kind.QUANTIZED in makes else of_elements(build))


# --- makers of kernels ------------------------------------------------------------------------------------------------


def _of_width(factory: Callable[[int], Kernel]) -> Make:
    return lambda e: factory(e.width)


def _float(name: str) -> Make:
    return lambda e: floats.binary(name, e.format, _NEAREST, 0, e.profile)


def _complex(name: str) -> Make:
    return lambda e: complex_numbers.binary(name, e.format, 0, e.profile)


def function_of_one(name: str) -> Makes:
    """Return the makers of kernels of a function of one argument. The exact result is rounded once; for complex numbers
    each part.
    """
    return {
        Kind.FLOAT: lambda e: elementary.unary(name, e.format, _NEAREST, 0, e.profile),
        Kind.COMPLEX: lambda e: complex_numbers.function(name, e.format, e.profile),
    }


def function_of_two(name: str) -> Makes:
    """Return the makers of kernels of a function of two floats. The exact result is rounded once."""
    return {Kind.FLOAT: lambda e: elementary.binary(name, e.format, _NEAREST, 0, e.profile)}


def _complex_function(name: str) -> Make:
    return lambda e: complex_numbers.function_of_two(name, e.format, e.profile)


def _extremum(largest: bool) -> Make:
    return lambda e: complex_numbers.extremum(largest, e.format, e.profile)


def _integral(name: str) -> Makes:
    return {Kind.FLOAT: lambda e: integer_functions.to_integral(name, e.format, 0, e.profile)}


def _integers(factory: Callable[[int], Kernel]) -> Makes:
    return dict.fromkeys((Kind.SIGNED, Kind.UNSIGNED), _of_width(factory))


def _by_sign(signed: Callable[[int], Kernel], unsigned: Callable[[int], Kernel]) -> Makes:
    return {Kind.SIGNED: _of_width(signed), Kind.UNSIGNED: _of_width(unsigned)}


def _division(signed: Callable[[int], Kernel], unsigned: Callable[[int], Kernel], all_ones: bool) -> Makes:
    """Return the makers of a division. ``all_ones``: a profile may give the quotient by zero all bits."""

    def make(factory: Callable[[int], Kernel]) -> Make:
        return lambda e: semantics.divided_by_zero(factory(e.width), e.width, all_ones, e.profile)

    return {Kind.SIGNED: make(signed), Kind.UNSIGNED: make(unsigned)}


def _bits(factory: Callable[[int], Kernel]) -> Makes:
    return {Kind.BOOLEAN: _of_width(factory), **_integers(factory)}


def _same(element: Element) -> Kernel:
    return casts.bitcast()


# --- the table --------------------------------------------------------------------------------------------------------

_UNARY_ROWS: Mapping[str, tuple[str, str, Makes]] = {
    "abs": ("SFCQ", "SFQ", {
        Kind.SIGNED: _of_width(integer_functions.absi),
        Kind.FLOAT: lambda e: float_unit.absolute(e.format),
        Kind.COMPLEX: lambda e: semantics.magnitude(e.format, e.profile),
    }),
    "cbrt": ("FCQ", "FCQ", function_of_one("cbrt")),
    "ceil": ("FQ", "FQ", _integral("ceil")),
    "cosine": ("FCQ", "FCQ", function_of_one("cos")),
    "count_leading_zeros": ("I", "I", _integers(integer_functions.ctlz)),
    "exponential": ("FCQ", "FCQ", function_of_one("exp")),
    "exponential_minus_one": ("FCQ", "FCQ", function_of_one("expm1")),
    "floor": ("FQ", "FQ", _integral("floor")),
    "imag": ("FC", "F", {
        Kind.FLOAT: lambda e: semantics.zero_part(e.format),
        Kind.COMPLEX: lambda e: complex_numbers.part(1, e.format, 0),
    }),
    "is_finite": ("FQ", "B", {
        Kind.FLOAT: lambda e: float_unit.class_test("isfinite", e.format),
        **dict.fromkeys((Kind.QUANTIZED, Kind.QUANTIZED_BY_BLOCK), lambda e: semantics.always_true()),
    }),
    "log": ("FCQ", "FCQ", function_of_one("log")),
    "log_plus_one": ("FCQ", "FCQ", function_of_one("log1p")),
    "logistic": ("FCQ", "FCQ", {
        **function_of_one("sigmoid"), Kind.FLOAT: lambda e: semantics.logistic(e.format, e.profile),
    }),
    "negate": ("IFCQ", "IFCQ", {
        **_integers(semantics.negate),
        Kind.FLOAT: lambda e: floats.unary("negate", e.format, 0, e.profile),
        Kind.COMPLEX: lambda e: complex_numbers.negate(e.format, 0, e.profile),
    }),
    "not": ("BI", "BI", _bits(semantics.complement)),
    "popcnt": ("I", "I", _integers(integer_functions.ctpop)),
    "real": ("FC", "F", {Kind.FLOAT: _same, Kind.COMPLEX: lambda e: complex_numbers.part(0, e.format, 0)}),
    "round_nearest_afz": ("FQ", "FQ", _integral("round")),
    "round_nearest_even": ("FQ", "FQ", _integral("roundeven")),
    "rsqrt": ("FCQ", "FCQ", function_of_one("rsqrt")),
    "sign": ("SFCQ", "SFCQ", {
        Kind.SIGNED: _of_width(semantics.sign), Kind.FLOAT: lambda e: semantics.sign_of_float(e.format, e.profile),
        Kind.COMPLEX: lambda e: complex_numbers.function("sign", e.format, e.profile),
    }),
    "sine": ("FCQ", "FCQ", function_of_one("sin")),
    "sqrt": ("FCQ", "FCQ", function_of_one("sqrt")),
    "tan": ("FCQ", "FCQ", function_of_one("tan")),
    "tanh": ("FCQ", "FCQ", function_of_one("tanh")),
}  # fmt: skip
"""The letters for the elements of the operand and of the result, and the kernels."""

_BINARY_ROWS: Mapping[str, tuple[str, Makes]] = {
    "add": ("FBICQX", {
        Kind.BOOLEAN: _of_width(integer.ori), **_integers(integer.addi),
        Kind.FLOAT: _float("add"), Kind.COMPLEX: _complex("add"),
    }),
    "and": ("BI", _bits(integer.andi)),
    "atan2": ("FCQ", {**function_of_two("atan2"), Kind.COMPLEX: _complex_function("atan2")}),
    "divide": ("IFCQ", {
        **_division(semantics.divide, integer.divui, all_ones=True), Kind.FLOAT: _float("divide"),
        Kind.COMPLEX: _complex_function("divide"),
    }),
    "maximum": ("FBICQ", {
        Kind.BOOLEAN: _of_width(integer.ori), **_by_sign(integer.maxsi, integer.maxui), Kind.FLOAT: _float("maximum"),
        Kind.COMPLEX: _extremum(True),
    }),
    "minimum": ("FBICQ", {
        Kind.BOOLEAN: _of_width(integer.andi), **_by_sign(integer.minsi, integer.minui), Kind.FLOAT: _float("minimum"),
        Kind.COMPLEX: _extremum(False),
    }),
    "multiply": ("FBICQ", {
        Kind.BOOLEAN: _of_width(integer.andi), **_integers(integer.muli), Kind.FLOAT: _float("multiply"),
        Kind.COMPLEX: lambda e: semantics.complex_product(e.format, e.profile),
    }),
    "or": ("BI", _bits(integer.ori)),
    "power": ("IFCQ", {
        **_by_sign(partial(semantics.power, signed=True), partial(semantics.power, signed=False)),
        **function_of_two("powf"), Kind.COMPLEX: _complex_function("power"),
    }),
    "remainder": ("IFCQ", {**_division(integer.remsi, integer.remui, all_ones=False), Kind.FLOAT: _float("remainder")}),
    "shift_left": ("I", _integers(semantics.shift_left)),
    "shift_right_arithmetic": ("I", _integers(semantics.shift_right_arithmetic)),
    "shift_right_logical": ("I", _integers(semantics.shift_right_logical)),
    "subtract": ("IFCQ", {
        **_integers(integer.subi), Kind.FLOAT: _float("subtract"), Kind.COMPLEX: _complex("subtract"),
    }),
    "xor": ("BI", _bits(integer.xori)),
}  # fmt: skip
"""The letters for the elements of all operands and of the result, and the kernels."""


_INVERTED = ("f16", "f32", "f64")


def _inverts(op: Operation, settings: Settings) -> bool:
    """Tell whether a division multiplies with the inverse of its divisor."""
    type_ = element_of(op.operands[0])
    return settings.profile.divisors == "inverted" and str(type_) in _INVERTED and is_inverted(op)


def _divide(op: Operation, settings: Settings) -> Kernel:
    type_ = element_of(op.operands[0])
    element = Element(type_, settings.profile)
    if _inverts(op, settings):
        return semantics.divide_by_inverse(element.format, element.profile)
    return _chosen(op, type_, _BINARY_ROWS["divide"][1])(element)


_DIVISION = Elementwise(of_elements(_divide), surroundings=_inverts)


def kernel_of(name: str, op: Operation, type_: ty.Type, profile: Profile) -> Kernel:
    """Return the kernel of the op ``name`` on elements of a type. ``op``: the op that needs it for its own
    computation.
    """
    makes = _BINARY_ROWS[name][1] if name in _BINARY_ROWS else _UNARY_ROWS[name][2]
    return _chosen(op, type_, makes)(Element(type_, profile))


_ELEMENTWISE = (d.Trait.ELEMENTWISE,)
_ANY = elementwise_tensor_of("FBICQ")


def _verify_part(op: Operation) -> str | None:
    operand = op.operands[0].type
    return not_inferred(op, ty.with_element(operand, ty.number_type(ty.element_type(operand))))


_OTHER_RESULTS = {
    **dict.fromkeys(("abs", "real", "imag"), all_of(elementwise_shape, _verify_part)),
    "is_finite": all_of(elementwise_shape, lambda op: not_inferred(op, ty.with_element(op.operands[0].type, ty.I1))),
}
"""The all_of of unary ops whose result need not have the elements of the operand."""
_WITH_ACCURACY = (
    "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine",
    "sqrt", "tan", "tanh",
)  # fmt: skip
"""The functions for which a program may ask for an accuracy. The result is exact, rounded once, in any case."""
_ACCURACY = (d.Property("result_accuracy", ACCURACY, optional=True, elided=DEFAULT_ACCURACY),)


def verify_accuracy(op: Operation) -> str | None:
    """Return what is wrong with the accuracy that an op asks for, or None."""
    accuracy = op.properties.get("result_accuracy")
    found = accuracy_problem(accuracy) if isinstance(accuracy, DialectAttr) else None
    return None if found is None else Unprefixed(found)


def _declare_unary(mnemonic: str, form: str, operand: str, result: str) -> None:
    letters, made, makes = _UNARY_ROWS[mnemonic]
    stablehlo.op(
        mnemonic,
        form,
        operands={operand: elementwise_tensor_of(letters)},
        results={result: elementwise_tensor_of(made)},
        properties=_ACCURACY if mnemonic in _WITH_ACCURACY else (),
        traits=_ELEMENTWISE,
        verify=all_of(verify_accuracy, _OTHER_RESULTS.get(mnemonic, compatible)),
        evaluate=evaluated(makes),
    )


for _mnemonic in [name for name in _UNARY_ROWS if name != "is_finite"]:
    _declare_unary(_mnemonic, UNARY, "operand", "result")
_declare_unary("is_finite", "$x attr-dict `:` functional-type($x, $y)", "x", "y")


def _axis_of(type_: ty.Type) -> int | None:
    return type_.axis if isinstance(type_, ty.UniformQuantizedType) else None


def _verify_add(op: Operation) -> str | None:
    """Check add, whose operands may be quantised in different ways."""
    if not all(shapes_fit(op.operands[0].type, type_) for type_ in op.types):
        return "requires the same shape for all operands and results"
    elements = [ty.element_type(type_) for type_ in op.types]
    left, right, made = elements
    if not any(isinstance(each, ty.UniformQuantizedType) for each in elements):
        if not left == right == made:
            return Unprefixed("op requires the same element type for all operands and results")
    else:
        quantized = [each for each in elements if isinstance(each, ty.UniformQuantizedType)]
        if len(quantized) < 3:
            return Unprefixed("expects  all operands and results to be either quantized or non-quantized")
        if len(set(map(ty.storage_type, quantized))) > 1:
            return Unprefixed("mismatched operands and result quantization storage types")
        if len({each.expressed for each in quantized}) > 1:
            return Unprefixed("mismatched operands and result quantization expressed types")
        axes = [_axis_of(each) for each in elements]
        if axes[0] is None and axes[1] is None and axes[2] is not None:
            return Unprefixed("result per_axis quantized but none from rhs and lhs are per_axis quantized")
        if (axes[0] is not None or axes[1] is not None) and axes[2] is None:
            return Unprefixed("result is not per_axis quantized but lhs or rhs are")
        for name, side, axis in (("lhs", left, axes[0]), ("rhs", right, axes[1])):
            if axis is not None and axis != axes[2]:
                return Unprefixed(f"quantization_dimension of {name} and result are not same '{side}' vs '{made}'")
    expected = merged(operand_types(op), most_specific)
    return expected if isinstance(expected, Unprefixed) else not_inferred(op, expected)


for _mnemonic, (_letters, _makes) in _BINARY_ROWS.items():
    stablehlo.op(
        _mnemonic,
        BINARY,
        operands={"lhs": elementwise_tensor_of(_letters), "rhs": elementwise_tensor_of(_letters)},
        results={"result": elementwise_tensor_of(_letters)},
        traits=_ELEMENTWISE,
        verify=_verify_add if _mnemonic == "add" else compatible,
        evaluate=_DIVISION if _mnemonic == "divide" else evaluated(_makes),
    )

# --- conversions ------------------------------------------------------------------------------------------------------


def _convert(op: Operation, settings: Settings) -> Kernel:
    return _conversion(op, element_of(op.operands[0]), element_of(op.results[0]), settings.profile)


def _conversion(op: Operation, source: ty.Type, target: ty.Type, profile: Profile) -> Kernel:
    """Return the kernel of a conversion between element types."""
    if source == target:
        return casts.bitcast()
    one, other = kind_of(source), kind_of(target)
    if isinstance(source, ty.ComplexType):
        if isinstance(target, ty.ComplexType):
            return complex_numbers.by_parts(_conversion(op, source.element, target.element, profile))
        part = Element(source, profile).format
        return semantics.real_part(part, _conversion(op, source.element, target, profile))
    if isinstance(target, ty.ComplexType):
        converted = _conversion(op, source, target.element, profile)
        return semantics.as_complex(Element(target, profile).format, converted)
    from_, to = Element(source, profile), Element(target, profile)
    if other is Kind.BOOLEAN:
        return semantics.nonzero_float(from_.format, profile) if one is Kind.FLOAT else semantics.nonzero(from_.width)
    if one is Kind.FLOAT and other is Kind.FLOAT:
        return semantics.convert(from_.format, to.format, profile)
    if one is Kind.FLOAT:
        return semantics.to_integer(from_.format, to.width, other is Kind.SIGNED, profile)
    if other is Kind.FLOAT:
        return casts.from_integer(from_.width, one is Kind.SIGNED, to.format, profile)
    return semantics.extend(from_.width, one is Kind.SIGNED, to.width)


stablehlo.op(
    "convert",
    UNARY,
    operands={"operand": tensor_of("FBIC")},
    results={"result": tensor_of("FBIC")},
    traits=_ELEMENTWISE,
    verify=elementwise_shape,
    evaluate=Elementwise(_convert),
)


def _reduce_precision(op: Operation, settings: Settings) -> Kernel:
    element = Element(element_of(op.operands[0]), settings.profile)
    exponent, mantissa = (op.number(name) for name in ("exponent_bits", "mantissa_bits"))
    if element.format.infinity_code is None or element.format.nan is not NanEncoding.IEEE:
        raise Unsupported(
            f"'{op.name}' makes infinities of large numbers, but '{element.type}' has no infinity, or not IEEE's NaNs"
        )
    # No format has more bits than these: more change nothing.
    infinity = mantissa == 0 and settings.profile.reduced_nan == "infinity"
    return casts.reduce_precision(element.format, min(exponent, 16), min(mantissa, 64), infinity)


stablehlo.op(
    "reduce_precision",
    "$operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict "
    "`:` custom<SameOperandsAndResultType>($operand, $output)",
    operands={"operand": elementwise_tensor_of("FQ")},
    results={"output": elementwise_tensor_of("FQ")},
    properties=(
        d.Property("exponent_bits", POSITIVE_32),
        d.Property("mantissa_bits", COUNT_32),
    ),
    traits=_ELEMENTWISE,
    verify=all_of(elementwise_shape, compatible),
    evaluate=Elementwise(of_elements(_reduce_precision)),
)

# --- parts ------------------------------------------------------------------------------------------------------------


def _verify_complex(op: Operation) -> str | None:
    one, other = operand_types(op)
    if ty.element_type(one) != ty.element_type(other):
        return "requires the same element type for all operands"
    return same_shape(op) or not_inferred(op, ty.with_element(one, ty.ComplexType(ty.element_type(one))))


stablehlo.op(
    "complex",
    "$lhs `,` $rhs attr-dict `:` custom<ComplexTypes>($lhs, $rhs, $result)",
    operands={"lhs": tensor_of("f"), "rhs": tensor_of("f")},
    results={"result": tensor_of("C")},
    traits=_ELEMENTWISE,
    verify=_verify_complex,
    evaluate=Elementwise(
        lambda op, settings: complex_numbers.create(Element(element_of(op.results[0]), settings.profile).format)
    ),
)


# --- comparison -------------------------------------------------------------------------------------------------------

_CMPF = {"EQ": 1, "NE": 13, "GE": 3, "GT": 2, "LE": 5, "LT": 4}
_CMPI = {
    Kind.SIGNED: {"EQ": 0, "NE": 1, "GE": 5, "GT": 4, "LE": 3, "LT": 2},
    Kind.UNSIGNED: {"EQ": 0, "NE": 1, "GE": 9, "GT": 8, "LE": 7, "LT": 6},
}
"""The predicates of arith.cmpf and arith.cmpi, by direction."""


def _compare(op: Operation, settings: Settings) -> Kernel:
    type_ = element_of(op.operands[0])
    element, kind = Element(type_, settings.profile), kind_of(type_)
    direction = DIRECTION.names[enum_of(op, "comparison_direction") or 0]
    if kind is Kind.FLOAT:
        totally = enum_of(op, "compare_type") == COMPARISON_TYPE.cases["TOTALORDER"]
        if totally and settings.profile.total_order == "ieee":
            return semantics.compare_totally(direction, element.format)
        return floats.compare(_CMPF[direction], element.format, 0, settings.profile)
    if kind is Kind.COMPLEX and direction in ("EQ", "NE"):
        return complex_numbers.equal(element.format, settings.profile, direction == "NE")
    row = _CMPI.get(Kind.UNSIGNED if kind is Kind.BOOLEAN else kind) if kind else None
    if row is None:
        raise Unsupported(
            f"halfulp does not evaluate 'stablehlo.compare' {direction} on elements of type '{type_}' yet"
        )
    return integer.cmpi(element.width, row[direction])


def _verify_compare(op: Operation) -> str | None:
    one, other = operand_types(op)
    if not elements_fit(ty.element_type(one), ty.element_type(other)):
        return "requires compatible element types for all operands"
    return elementwise_shape(op) or not_inferred(op, ty.with_element(one, ty.I1))


stablehlo.op(
    "compare",
    "custom<Keyword>($comparison_direction) `,` $lhs `,` $rhs (`,` custom<Keyword>($compare_type)^)? attr-dict "
    "`:` functional-type(operands, results)",
    operands={"lhs": _ANY, "rhs": _ANY},
    results={"result": tensor_of("B")},
    properties=(
        d.Property("compare_type", COMPARISON_TYPE, optional=True),
        d.Property("comparison_direction", DIRECTION),
    ),
    traits=_ELEMENTWISE,
    verify=_verify_compare,
    evaluate=Elementwise(of_elements(_compare)),
)

# --- choices and constants --------------------------------------------------------------------------------------------


def _verify_select(op: Operation) -> str | None:
    condition, yes, no = operand_types(op)
    if not shapes_fit(yes, no) or ty.element_type(yes) != ty.element_type(no):
        return Unprefixed("requires compatible types for non-predicate operands")
    if ty.shape_of(condition) != () and not shapes_fit(condition, yes):
        return Unprefixed("requires the same shape for all operands")
    expected = merged([yes, no], most_specific)
    return expected if isinstance(expected, Unprefixed) else not_inferred(op, expected)


stablehlo.op(
    "select",
    "$pred `,` $on_true `,` $on_false attr-dict `:` custom<SelectTypes>($pred, $on_true, $on_false, $result)",
    operands={"pred": tensor_of("B"), "on_true": _ANY, "on_false": _ANY},
    results={"result": _ANY},
    traits=_ELEMENTWISE,
    verify=_verify_select,
    evaluate=PerOp(lambda op: OnValues(selecting, raw=True) if any_quantized(op.types) else SELECTION),
)


def _clamp(op: Operation, settings: Settings) -> Kernel:
    type_ = element_of(op.operands[1])
    element = Element(type_, settings.profile)
    larger, smaller = (_chosen(op, type_, _BINARY_ROWS[name][1])(element) for name in ("maximum", "minimum"))
    return semantics.clamp(larger, smaller)


def _verify_clamp(op: Operation) -> str | None:
    found = compatible_elements(op)
    if found is not None:
        return found
    low, operand, high = operand_types(op)
    for name, bound in (("min", low), ("max", high)):
        if ty.shape_of(bound) != () and not shapes_fit(bound, operand):
            shown = [", ".join(map(str, shown_sizes(type_))) for type_ in (bound, operand)]
            return Unprefixed(
                f"{name} shape [{shown[0]}] is not scalar and is not compatible to operand shape [{shown[1]}]"
            )
    return not_inferred(op, operand)


stablehlo.op(
    "clamp",
    "$min `,` $operand `,` $max attr-dict `:` custom<SameOperandsAndResultType>($min, $operand, $max, $result)",
    operands={"min": _ANY, "operand": _ANY, "max": _ANY},
    results={"result": _ANY},
    traits=_ELEMENTWISE,
    verify=_verify_clamp,
    evaluate=Elementwise(of_elements(_clamp), may_be_scalar=frozenset({0, 2})),
)


def constant_name(op: Operation) -> tuple[str, ...]:
    """Return the name of the result of a constant in text: ``c`` for integers and truth values, else ``cst``."""
    kind = kind_of(element_of(op.results[0]))
    return ("c" if kind in (Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED) else "cst",)


def _parse_constant(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    """Read ``{…} dense<…> : type``, or all behind the name of the generic form."""
    properties: dict[str, at.Attribute] = {}
    if p.take("("):
        p.expect(")")
        if p.take("<"):
            properties = p.dictionary()
            p.expect(">")
        attributes = p.optional_dictionary()
        for token in (":", "(", ")", "->"):
            p.expect(token)
        type_ = p.type()
    else:
        attributes = p.optional_dictionary()
        value = p.attribute()
        properties["value"] = value
        type_ = getattr(value, "type", ty.NoneType())
    move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, [], [type_], properties, attributes), at_)


def _print_constant(printer: OpPrinter, op: Operation) -> str:
    value = op.properties["value"]
    extra = f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    if getattr(value, "type", None) == op.results[0].type:
        return f"{extra} {printer.attribute(value)}"
    return f"() <{printer.dictionary(op.properties)}>{extra} : () -> {printer.type(op.results[0].type)}"


def _verify_constant(op: Operation) -> str | None:
    given, made = op.properties["value"].type, op.results[0].type  # type: ignore[attr-defined]
    element = ty.element_type(made)
    stored = made
    if isinstance(element, ty.UniformQuantizedType):
        stored = ty.with_element(made, ty.storage_type(element))
    if given == stored:
        return None
    return f"inferred type(s) '{given}' are incompatible with return type(s) of operation '{made}'"


stablehlo.op(
    "constant",
    custom=d.CustomForm(_parse_constant, _print_constant),
    results={"output": elementwise_tensor_of("FBICQX", "statically shaped")},
    properties=(d.Property("value", d.TYPED_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    type_rules=(d.inferred_type_of_property("output", "value"),),
    verify=_verify_constant,
    named_results=constant_name,
    evaluate=Constant(constant_value),
)
