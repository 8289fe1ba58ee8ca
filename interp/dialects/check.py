"""The check dialects of IREE (release 3.13) and of StableHLO's tests: what a test expects of its results.

Both dialects are called ``check``. IREE writes the operands in parentheses, StableHLO (`tests/CheckOps.td`) does not. A
generic form is taken as IREE's. IREE counts the ops that fail and continues; here the first op that fails stops the
run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, bits_double
from halfulp.fp_formats.neighbours import steps_between
from halfulp.fp_formats.paths import fast
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.parameters import Group, Literal, Out, Variable
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import ParameterKind
from halfulp.interp.ir.errors import AssertionFailed, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler, OnValues, PerOp
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.text.assembly import compile_parser, compile_printer
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots, compile_elements
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value
from halfulp.semantics.float_unit import class_test

check = d.Dialect("check")

Agree = Callable[[Value, Value], Mask]
"""Tells, element by element, whether a value is as expected."""

_F32 = ty.F("f32")
_TOLERANCES = {"atol": at.FloatAttr(0x38D1B717, _F32), "rtol": at.FloatAttr(0, _F32)}
"""The absolute and the relative tolerance, and their defaults: 1e-4 and 0."""


def _is_tensor_of(element: type[ty.Type]) -> Callable[[ty.Type], bool]:
    return lambda type_: isinstance(type_, ty.TensorType) and isinstance(type_.element, element)


_INTEGER = d.TypeConstraint("signless integer", ty.is_signless)
_INTEGERS = d.TypeConstraint("buffer_view or tensor of signless integer values", _is_tensor_of(ty.IntegerType))
_TENSOR = d.TypeConstraint("buffer_view or tensor of any non-token type values", d.TENSOR.accepts)


def _has_floats(type_: ty.Type) -> bool:
    """Tell whether a tensor has elements that are compared with a tolerance: StableHLO compares complex ones too."""
    return _is_tensor_of(ty.FloatType)(type_) or _is_tensor_of(ty.ComplexType)(type_)


_FLOATS = d.TypeConstraint("buffer_view or tensor of floating-point values", _has_floats)
_FLOATS_ONLY = d.TypeConstraint("tensor of floating-point values", _has_floats)
_ELEMENTS = d.AttributeConstraint(
    "constant vector/tensor attribute",
    lambda attribute: isinstance(attribute, at.DenseElementsAttr | at.DenseResourceAttr | at.SparseElementsAttr),
)


# --- form -------------------------------------------------------------------------------------------------------------


def _tolerances(slots: Slots, *names: str) -> ElementForm:
    """Compile ``, atol 1.0e-03, rtol 1.0e-01``. iree-opt prints ``rtol`` without ``atol``, but refuses to read that.
    Here it is read, and printed after ``atol``, a form that both read.
    """
    groups = compile_elements([Group((Literal(","), Literal(name), Variable(name)), 2) for name in names], slots)
    numbers = compile_elements([Variable(name) for name in names], slots)

    def read(p: OpParser, state: OpReading) -> None:
        for number, group in enumerate(groups, 1):
            if p.tokens[p.pos] != "," or p.tokens[p.pos + 1] not in names[number:]:
                group.read(p, state)

    def print_(printer: OpPrinter, op: Operation, out: Out) -> None:
        written = [number.present is not None and number.present(op) for number in numbers]
        for place, (name, number) in enumerate(zip(names, numbers, strict=True)):
            if any(written[place:]):
                out.literal(",")
                out.literal(name)
                number.print(printer, op, out)

    return ElementForm(read, print_)


CUSTOM_DIRECTIVES["Tolerances"] = _tolerances

# --- comparisons ------------------------------------------------------------------------------------------------------


def _same_bits(given: Value, expected: Value) -> Mask:
    equal = np.asarray(given.bits == expected.bits)
    return np.asarray(equal.all(axis=-1)) if given.bits.ndim > given.ndim else equal


def _near(op: Operation) -> Agree:
    """Return the comparison with the tolerances of an op, in f64: that of NumPy's ``isclose``. A NaN equals a NaN."""
    atol, rtol = (float(np.uint32(op.prop(name, at.FloatAttr).code).view(np.float32)) for name in _TOLERANCES)

    def agree(given: Value, expected: Value) -> Mask:
        one, two = _doubles(given), _doubles(expected)
        with np.errstate(all="ignore"):
            near = np.abs(one - two) <= atol + rtol * np.abs(two)
        return np.asarray((one == two) | (np.isnan(one) & np.isnan(two)) | (np.isfinite(two) & near))

    return agree


def _doubles(value: Value) -> npt.NDArray[np.float64]:
    element, double = value.element_type, FORMATS["f64"]
    assert isinstance(element, ty.FloatType)
    if element.format.bits > double.bits:
        raise Unsupported(f"numbers of type '{element}' are not compared with a tolerance")
    codes = value.bits if element.format == double else fast.convert(element.format, double, value.bits).codes
    return np.asarray(codes).view(np.float64)


def _require(op: Operation, given: Value, expected: Value | None, agree: Mask) -> None:
    """Raise AssertionFailed for the first element that is not as expected."""
    if agree.all():
        return
    place = tuple(int(k) for k in np.unravel_index(int(np.argmin(agree)), agree.shape))
    where = f"element {list(place)} is " if place else "the operand is "
    wanted = "" if expected is None else f", expected {spell_value(expected[place])}"
    others = f"; {agree.size - int(np.count_nonzero(agree))} of {agree.size} elements differ" if place else ""
    raise AssertionFailed(
        f"{op.name}: {where}{spell_value(given[place])}{wanted}{others}", location=op.location, op=op.name
    )


def defined(op: Operation, *values: Value) -> None:
    """Raise UndefinedBehavior if an element of an operand is poison."""
    for value in values:
        if value.poison is not None:
            place = tuple(int(k) for k in np.argwhere(value.poisoned)[0])
            why = f"element {list(place)} is poison" if place else "the operand is poison"
            raise undefined(op, why)


def compared(op: Operation, given: Value, expected: Value, agree: Agree) -> tuple[()]:
    """Compare two values. Raises AssertionFailed if ``agree`` is false for an element, and UndefinedBehavior for
    poison. The result is the empty tuple, since the op has no results.
    """
    defined(op, given, expected)
    if given.shape != expected.shape:
        sizes = ["x".join(map(str, value.shape)) for value in (given, expected)]
        raise AssertionFailed(
            f"{op.name}: the shape is {sizes[0]}, expected {sizes[1]}", location=op.location, op=op.name
        )
    _require(op, given, expected, agree(given, expected))
    return ()


def _tested(agreement: Callable[[Operation], Agree]) -> OnValues:
    """Return the evaluator of a comparison with the second operand; without one, with the attribute ``value``."""

    def build(op: Operation, compiler: Compiler) -> Function:
        agree = agreement(op)
        if len(op.operands) > 1:
            return lambda run, operands: compared(op, operands[0], operands[1], agree)
        expected = attribute_value(op.properties["value"], op.operands[0].type, op, compiler)
        return lambda run, operands: compared(op, operands[0], expected, agree)

    return OnValues(build, of_module=True)


def _truth(wanted: bool) -> OnValues:
    def build(op: Operation, compiler: Compiler) -> Function:
        def test(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            (given,) = operands
            defined(op, given)
            true = np.asarray(given.bits != 0)
            if true.ndim > given.ndim:
                true = np.asarray(true.any(axis=-1))
            _require(op, given, None, np.asarray(true == wanted))
            return ()

        return test

    return OnValues(build, of_module=True)


# --- the ops ----------------------------------------------------------------------------------------------------------

_NUMBER = d.AttributeConstraint("32-bit float attribute", lambda a: getattr(a, "type", None) == _F32)
_TOLERANCE_PROPERTIES = tuple(d.Property(name, _NUMBER, default=default) for name, default in _TOLERANCES.items())
_TOLERANCE_FORM = f"custom<Tolerances>({', '.join(f'${name}' for name in _TOLERANCES)})"
_VALUE = d.Property("value", _ELEMENTS)
_TYPE_OF_VALUE = d.type_of_property("lhs", "value", "failed to verify that all of {lhs, value} have same type")

for _name, _operand, _wanted in (
    ("expect_true", _INTEGER, True),
    ("expect_false", _INTEGER, False),
    ("expect_all_true", _INTEGERS, True),
):
    check.op(
        _name,
        "`` `(` $operand `)` attr-dict `:` type($operand)",
        operands={"operand": _operand},
        evaluate=_truth(_wanted),
    )
check.op(
    "expect_eq",
    "`` `(` $lhs `,` $rhs `)` attr-dict `:` type($lhs)",
    operands={"lhs": _TENSOR, "rhs": _TENSOR},
    type_rules=(d.same_type("lhs", "rhs"),),
    evaluate=_tested(lambda op: _same_bits),
)
check.op(
    "expect_eq_const",
    "`` `(` $lhs `,` $value `)` attr-dict `:` type($lhs)",
    operands={"lhs": _TENSOR},
    properties=(_VALUE,),
    type_rules=(_TYPE_OF_VALUE,),
    evaluate=_tested(lambda op: _same_bits),
)
check.op(
    "expect_almost_eq",
    f"`` `(` $lhs `,` $rhs {_TOLERANCE_FORM} `)` attr-dict `:` type($lhs)",
    operands={"lhs": _FLOATS, "rhs": _FLOATS},
    properties=_TOLERANCE_PROPERTIES,
    type_rules=(d.same_type("lhs", "rhs"),),
    evaluate=_tested(_near),
)
check.op(
    "expect_almost_eq_const",
    f"`` `(` $lhs `,` $value {_TOLERANCE_FORM} `)` attr-dict `:` type($lhs)",
    operands={"lhs": _FLOATS_ONLY},
    properties=(*_TOLERANCE_PROPERTIES, _VALUE),
    type_rules=(_TYPE_OF_VALUE,),
    evaluate=_tested(_near),
)

# --- StableHLO --------------------------------------------------------------------------------------------------------

_ULPS = 3
_FARTHEST = (1 << 64) - 1
"""The distance of two different numbers of which one is not finite."""
_FAR, _NEAR = 1e-3, 1e-4
"""The differences that the function and the op expect_almost_eq allow, if the op names none."""


def _agreeing(near: Callable[[FloatFormat, Codes, Codes], Any]) -> Agree:
    """Return a comparison of elements: integers are equal, and floats, or the parts of complex numbers, ``near``."""

    def agree(given: Value, expected: Value) -> Mask:
        element = ty.number_type(ty.element_type(given.type))
        same = given.bits == expected.bits
        if isinstance(element, ty.FloatType):
            same = near(element.format, given.bits, expected.bits)
        return np.asarray(same.all(axis=-1) if same.ndim > given.ndim else same)

    return agree


def _both_nan(fmt: FloatFormat, one: Codes, other: Codes) -> Mask:
    return fast.is_nan(fmt, one) & fast.is_nan(fmt, other)


def _almost(tolerance: float) -> Agree:
    def near(fmt: FloatFormat, one: Codes, other: Codes) -> Mask:
        doubles = [fast.convert(fmt, FORMATS["f64"], each).codes.view(np.float64) for each in (one, other)]
        with np.errstate(all="ignore"):
            found = np.abs(doubles[0] - doubles[1]) <= tolerance
        return np.asarray(found | (doubles[0] == doubles[1]) | _both_nan(fmt, one, other))

    return _agreeing(near)


def _finite(fmt: FloatFormat, codes: Codes) -> Mask:
    return np.asarray(class_test("isfinite", fmt).array(codes).results[0] != 0)


def _within(least: int, most: int) -> Agree:
    """Return a comparison of floats by their distance in ulp, of complex numbers by that of the farther part."""

    def agree(given: Value, expected: Value) -> Mask:
        fmt = ty.float_format(ty.number_type(ty.element_type(given.type)))
        one, other = given.bits, expected.bits
        steps = steps_between(fmt, one, other)
        steps[~(_finite(fmt, one) & _finite(fmt, other))] = _FARTHEST
        steps[(one == other) | _both_nan(fmt, one, other)] = 0
        if steps.ndim > given.ndim:
            steps = steps.max(axis=-1)
        return np.asarray((steps >= least) & (steps <= most))

    return agree


# +0 is -0, and a NaN is not equal to anything.
_equal = _agreeing(lambda fmt, one, other: steps_between(fmt, one, other) == 0)

CHECKS: Mapping[str, Agree] = {
    "check.eq": _almost(_NEAR),
    "check.expect_eq": _equal,
    "check.expect_close": _agreeing(
        lambda fmt, one, other: (steps_between(fmt, one, other) <= _ULPS) | _both_nan(fmt, one, other)
    ),
    "check.expect_almost_eq": _almost(_FAR),
}
"""The functions that StableHLO's test data call by custom_call (`reference/CheckOps.cpp`)."""


def _tolerance(op: Operation) -> Agree:
    written = narrowed(op.properties.get("tolerance", _TOLERANCE.default), at.FloatAttr)
    return _almost(bits_double(written.code))


def _ulps(op: Operation) -> Agree:
    least, most = (op.number(f"{end}_ulp_difference") for end in ("min", "max"))
    return _within(least, most)


_F64, _UI64 = ty.F("f64"), ty.IntegerType(64, "unsigned")
_ANY = d.TypeConstraint("ranked tensor", d.RANKED_TENSOR.accepts)


def _number(words: str, type_: ty.Type) -> d.AttributeConstraint:
    """Return the constraint for numbers of a type, which a custom form leaves out."""
    form = ParameterKind(lambda p: p.attribute(type_), lambda value, names: str(value).partition(" ")[0])
    return d.AttributeConstraint(words, lambda attribute: getattr(attribute, "type", None) == type_, form=form)


_DOUBLE, _COUNT = _number("64-bit float attribute", _F64), _number("64-bit unsigned integer attribute", _UI64)
_TOLERANCE = d.Property("tolerance", _DOUBLE, default=at.FloatAttr(int(np.float64(_NEAR).view(np.uint64)), _F64))
_TOLERATED = "(`,` `tolerance` `=` $tolerance^)?"
_ELSEWHERE = d.Dialect("check")
"""The ops of StableHLO's tests: those whose names IREE has are found by their form."""

for _name, _agreement, _more, _properties in (
    ("expect_eq", lambda op: _equal, "", ()),
    ("expect_almost_eq", _tolerance, _TOLERATED, (_TOLERANCE,)),
):
    _ELSEWHERE.op(
        _name,
        f"$lhs `,` $rhs {_more} attr-dict `:` type($lhs)",
        operands={"lhs": _ANY, "rhs": _ANY},
        properties=_properties,
        type_rules=(d.same_type("lhs", "rhs"),),
        evaluate=_tested(_agreement),
    )
    _ELSEWHERE.op(
        f"{_name}_const",
        f"$lhs `,` $value {_more} attr-dict",
        operands={"lhs": _ANY},
        properties=(*_properties, _VALUE),
        type_rules=(_TYPE_OF_VALUE,),
        evaluate=_tested(_agreement),
    )
check.op(
    "expect_close",
    "$actual `,` $expected `,` `max_ulp_difference` `=` $max_ulp_difference "
    "(`,` `min_ulp_difference` `=` $min_ulp_difference^)? `:` attr-dict type($actual) `,` type($expected)",
    operands={"actual": _ANY, "expected": _ANY},
    properties=(
        d.Property("max_ulp_difference", _COUNT, default=at.IntegerAttr(1, _UI64)),
        d.Property("min_ulp_difference", _COUNT, default=at.IntegerAttr(0, _UI64)),
    ),
    type_rules=(d.same_type("actual", "expected"),),
    evaluate=_tested(_ulps),
)


# --- probes -----------------------------------------------------------------------------------------------------------

_PROBES = "values of probes"


def probed(op: Operation) -> Function:
    """Return the function that runs interpreter.probe: it stores the operand under the name ``probe_id``."""
    name = op.prop("probe_id", at.StringAttr).value

    def keep(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        run.kept.setdefault(_PROBES, {}).setdefault(name, []).append(operands[0])
        return operands

    return keep


def _serialized(op: Operation, compiler: Compiler) -> Function:
    name, turn = op.prop("probe_id", at.StringAttr).value, op.number("iteration")

    def test(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        kept = run.kept.get(_PROBES, {}).get(name, ())
        if turn >= len(kept):
            raise AssertionFailed(f"{op.name}: no value {turn} of the probe '{name}'", location=op.location, op=op.name)
        return compared(op, kept[turn], operands[0], _equal)

    return test


_UI32 = ty.IntegerType(32, "unsigned")

check.op(
    "expect_serialized_eq",
    "$expected `,` `probe_id` `=` $probe_id (`,` `iter` `=` $iteration^)? attr-dict `:` type($expected)",
    operands={"expected": _ANY},
    properties=(
        d.Property("iteration", _number("32-bit unsigned integer attribute", _UI32), default=at.IntegerAttr(0, _UI32)),
        d.Property("probe_id", d.STRING_ATTR),
    ),
    evaluate=OnValues(_serialized, of_module=True),
)


def _of_either(iree: d.OpDefinition, other: d.OpDefinition) -> d.CustomForm:
    """Return the form of an op of both dialects: with parentheses, it is IREE's."""

    def parse(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
        read = compile_parser(iree if p.tokens[p.pos] == "(" else other)
        assert read is not None
        return read(p, at_)

    def print_(printer: OpPrinter, op: Operation) -> str | None:
        write = compile_printer(iree)
        assert write is not None
        return write(printer, op)

    return d.CustomForm(parse, print_)


def _of_elements(iree: d.OpDefinition, other: d.OpDefinition) -> PerOp:
    """Return the evaluator of an op of both dialects: on floats and integers, it is IREE's."""

    def choose(op: Operation) -> Any:
        complex_ = isinstance(ty.element_type(op.operands[0].type), ty.ComplexType)
        return (other if complex_ else iree).evaluate

    return PerOp(choose)


for _name, _other in ((other.name.partition(".")[2], other) for other in _ELSEWHERE.ops.values()):
    _iree = check.ops[f"check.{_name}"]
    check.ops[_iree.name] = replace(
        _iree, evaluate=_of_elements(_iree, _other), assembly=None, custom=_of_either(_iree, _other)
    )  # fmt: skip
