"""IREE's check dialect (release 3.13): what a test expects of its results.

IREE counts what fails and goes on. Here the first op that fails stops the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Mask
from halfulp.fp_formats.paths import fast
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.parameters import Group, Literal, Out, Variable
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler, OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots, compile_elements
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.element_layout import spell_value
from halfulp.interp.values.value import Value

check = d.Dialect("check")

Agree = Callable[[Value, Value], Mask]
"""Tells, element by element, whether a value is as expected."""

_F32 = ty.F("f32")
_TOLERANCES = {"atol": at.FloatAttr(0x38D1B717, _F32), "rtol": at.FloatAttr(0, _F32)}
"""The absolute and the relative tolerance, and their defaults: 1e-4 and 0."""


def _is_tensor_of(element: type[ty.Type]) -> Callable[[ty.Type], bool]:
    return lambda type_: isinstance(type_, ty.TensorType) and isinstance(type_.element, element)


_INTEGER = d.TypeConstraint("signless integer", lambda t: isinstance(t, ty.IntegerType) and t.signedness == "signless")
_INTEGERS = d.TypeConstraint("buffer_view or tensor of signless integer values", _is_tensor_of(ty.IntegerType))
_TENSOR = d.TypeConstraint("buffer_view or tensor of any non-token type values", d.TENSOR.accepts)
_FLOATS = d.TypeConstraint("buffer_view or tensor of floating-point values", _is_tensor_of(ty.FloatType))
_FLOATS_ONLY = d.TypeConstraint("tensor of floating-point values", _is_tensor_of(ty.FloatType))
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


def _defined(op: Operation, *values: Value) -> None:
    for value in values:
        if value.poison is not None:
            place = tuple(int(k) for k in np.argwhere(value.poisoned)[0])
            why = f"element {list(place)} is poison" if place else "the operand is poison"
            raise undefined(op, why)


def compared(op: Operation, given: Value, expected: Value, agree: Agree) -> tuple[()]:
    """Return nothing if all elements agree. Raises AssertionFailed, and UndefinedBehavior for poison."""
    _defined(op, given, expected)
    if given.shape != expected.shape:
        sizes = ["x".join(map(str, value.shape)) for value in (given, expected)]
        raise AssertionFailed(
            f"{op.name}: the shape is {sizes[0]}, expected {sizes[1]}", location=op.location, op=op.name
        )
    _require(op, given, expected, agree(given, expected))
    return ()


def _expected(tolerant: bool) -> OnValues:
    """Return the evaluator of a comparison with the second operand; without one, with the attribute ``value``."""

    def build(op: Operation, compiler: Compiler) -> Function:
        agree = _near(op) if tolerant else _same_bits
        if len(op.operands) > 1:
            return lambda run, operands: compared(op, operands[0], operands[1], agree)
        expected = attribute_value(op.properties["value"], op.operands[0].type, op, compiler)
        return lambda run, operands: compared(op, operands[0], expected, agree)

    return OnValues(build, of_module=True)


def _truth(wanted: bool) -> OnValues:
    def build(op: Operation, compiler: Compiler) -> Function:
        def test(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            (given,) = operands
            _defined(op, given)
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
    evaluate=_expected(tolerant=False),
)
check.op(
    "expect_eq_const",
    "`` `(` $lhs `,` $value `)` attr-dict `:` type($lhs)",
    operands={"lhs": _TENSOR},
    properties=(_VALUE,),
    type_rules=(_TYPE_OF_VALUE,),
    evaluate=_expected(tolerant=False),
)
check.op(
    "expect_almost_eq",
    f"`` `(` $lhs `,` $rhs {_TOLERANCE_FORM} `)` attr-dict `:` type($lhs)",
    operands={"lhs": _FLOATS, "rhs": _FLOATS},
    properties=_TOLERANCE_PROPERTIES,
    type_rules=(d.same_type("lhs", "rhs"),),
    evaluate=_expected(tolerant=True),
)
check.op(
    "expect_almost_eq_const",
    f"`` `(` $lhs `,` $value {_TOLERANCE_FORM} `)` attr-dict `:` type($lhs)",
    operands={"lhs": _FLOATS_ONLY},
    properties=(*_TOLERANCE_PROPERTIES, _VALUE),
    type_rules=(_TYPE_OF_VALUE,),
    evaluate=_expected(tolerant=True),
)
