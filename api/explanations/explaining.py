"""Explain numbers, arrays, and applications of ops: the public functions, and how an explanation is built.

What an explanation is
======================

An explanation puts three things beside each other: the bits that halfulp gives, the exact number that they stand for,
and the rule that leads from the one to the other. ``explain("0.3", "f8E4M3FN")`` says that 0.3 lies between 0.28125
(0x29) and 0.3125 (0x2A), that the point in the middle is 0.296875, that the value above is nearer, and that the error
is 0.4 ulp.

An explanation computes no result. The bits come from the same code as those of `halfulp.convert` and `halfulp.eval`:
from the specification (`halfulp.fp_formats.scalar`), or from the kernel of the op. The exact number is computed
separately, on fractions. The rule comes from tables of words. So if the three contradict each other, one of them is
wrong, and this is what the tests use: they read the text back and compare each number in it with the specification.

One number, in four steps
=========================

1. **Read.** `halfulp.number_reader` makes a `ReadNumber` of what the user gave: 3/10 of ``"0.3"``, the code 0x3E99999A
   of the format f32 for ``"f32=0.3"``, the code itself for ``"0x2A"``. Text without a type is exact. Text with a type
   is a literal of MLIR, whose decimals are rounded to f64 first; if that changes the number, ``reading`` says so.

2. **Make it roundable.** `rules.given_number` makes a `GivenNumber`. Its field ``round`` is a function of a format, a
   rounding mode and a profile, and returns the code and the exception flags. All later steps call this function. They
   work in the same way for a typed decimal, an integer, and the result of an op. Bits of the explained type have a
   ``round`` that returns them without a change.

3. **Round, and look around.** `rounding.explained` calls ``round`` for the selected mode, for the other modes, and for
   the other profiles. It finds the two neighbours of the exact number, their midpoint, and the distance between the
   neighbours, the ulp. Then `rules.rounding_rule` chooses the words of the first case that applies: "the format has no
   zero", "nothing is rounded", overflow, ties and so on. `rounding.profile_groups` groups the profiles that give the
   same result, and names the fields that decide: those that, changed alone in spec, give the result of the profile.

4. **Show.** All of this is stored in a record, `records.RoundingExplanation`. Its ``str`` is the text, `_repr_html_`
   the picture in a notebook, and `halfulp.plot` draws it. A record holds numbers and codes, no text that another part
   would have to parse. Only ``rule`` is a sentence.

With stochastic rounding, step 3 is different: `rounding.explained_stochastically` shows both outcomes with their
probabilities, and, if the random bits are given, how these decide.

An op
=====

``explain_op("arith.addf", "1.4", "2.2", type="f8E4M3FN")`` does the following.

1. `op.types_of` finds the types. A `Signature` says how those of an op follow from ``type`` and ``to``, which have the
   meaning that they have for `halfulp.eval`.

2. `applications.operand_of` rounds each operand to its type: 1.4 becomes 1.375, and 2.2 becomes 2.25. Each of these
   roundings is an explanation in itself, as above. The operand keeps 1.4 for the last step.

3. `applications.Application` builds the op and takes its kernel, the one that `halfulp.eval` runs. An application has
   the same arguments and results as ``GivenNumber.round``, so it can take its place.

4. The *explainer* of the op computes the exact result. It is a function from an `OpContext` to `OpParts`, and
   `op._OPS` has one for each op. For arith.addf it adds the fractions, 29/8, and makes a `GivenNumber` of the sum whose
   ``round`` is the application: the rest is step 3 of a number. If an operand is NaN, infinite or zero, the table
   `applications.SPECIAL` names the special case that decides. An op that rounds several times, such as
   arith.scaling_truncf or quant.qcast, gives the steps one by one. An op on integers gives its ``story``: the exact
   integer, and the part of it that the width keeps. The result of an elementary function is not a fraction. The exact
   number is then an enclosure that is so narrow that all shown digits are certain.

5. `op._completed` adds what all ops have: the result of the kernel with its flags, the results of the other profiles,
   what the language leaves open, and the total error. The total error compares the result 3.5 with 1.4 + 2.2 = 3.6. It
   is divided among the op and its operands by replacing one operand after the other by its rounded value.

With poison and undefined behaviour, there are fewer steps: an op with a poison operand has no exact result, and a fault
of the kernel replaces the rule.

Arrays
======

An array gives a table, `tables.ExplanationTable`. It keeps the array and a function that explains one element, so
``table[i]`` is made when it is needed. The counts above the table come from one conversion of the whole array if f64
holds all numbers, and from one explanation for each element if not.

To explain another op
=====================

Write an explainer in `float_explainers` or `integer_explainers`, and a row in `op._OPS` with its signature. Do not
compute the result: call ``context.application``. If the result is one rounding of an exact number, return
``parts_of_rounding(explained(...))``. A table in tests/api/explanations/test_op.py fails until it tries the op.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np

from halfulp.converting import convert
from halfulp.explanations.applications import OpTypes, refuse_type
from halfulp.explanations.op import explained_op, types_of
from halfulp.explanations.records import OpExplanation, RoundingExplanation
from halfulp.explanations.rounding import StochasticExplanation, explained, explained_stochastically
from halfulp.explanations.rules import GivenNumber, given_number
from halfulp.explanations.tables import ExplanationTable, Index, PoisonRow, count_kinds, explanation_table, worst_of
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import F64, errors_of, within_f64
from halfulp.fp_formats.policy import as_rounding
from halfulp.inputs import as_value, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.coerce import as_array, as_type
from halfulp.interp.values.value import Value, to_elements, to_value
from halfulp.number_reader import MODES, format_of, mode_named, read_number, read_with_type
from halfulp.reals import reals_of_value
from halfulp.semantics.profile import Profile, as_profile

Number = str | int | float | Fraction | decimal.Decimal


@overload
def explain(  # type: ignore[overload-overlap]  # "stochastic" is a str, too
    value: Number,
    to: str | FloatFormat | ty.Type | None = None,
    *,
    rounding: Literal["stochastic"],
    profile: Profile | str | None = None,
    type: str | FloatFormat | ty.Type | None = None,
    random: Any = None,
    bits: int | None = None,
) -> StochasticExplanation: ...


@overload
def explain(
    value: Number,
    to: str | FloatFormat | ty.Type | None = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str | None = None,
    *,
    type: str | FloatFormat | ty.Type | None = None,
) -> RoundingExplanation: ...


@overload
def explain(
    value: Any,
    to: Any = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str | None = None,
    *,
    type: Any = None,
    random: Any = None,
    bits: int | None = None,
) -> Any: ...


def explain(
    value: Any,
    to: Any = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str | None = None,
    *,
    type: Any = None,
    random: Any = None,
    bits: int | None = None,
) -> Any:
    """Explain the rounding of a number, or of each number of an array, to a float type.

    ``value``: a Python or NumPy number, a `fractions.Fraction` or `decimal.Decimal`, a `Value`, or text. Text is a
    decimal number, a fraction such as ``1/3`` or a hexadecimal float such as ``0x1.8p-3`` (all of them exact), ``nan``,
    ``inf``, raw bits ``0x7F`` of ``to``, or an element with its own type, such as ``f32=0x7F800001`` or ``0.3 : f32``;
    the decimal number is then first rounded to f64, as MLIR reads literals. A list, an array of NumPy or torch, or a
    `Value` with axes gives a table: one row for each element, and ``table[i]`` is the explanation of one element.
    ``to``: the float type of the result. It may be left out if the value has a float type (``0x7F : f8E4M3FN``).
    ``rounding``: one of the five modes, by its keyword in MLIR or another name, such as ``"RNE"``; or ``"stochastic"``.
    ``profile``: a name, ``name,field=value``, or a `Profile`; by default that of the `profile` block, and spec outside
    of a block.
    ``type``: the element type of a value without a type, as for `convert`.
    ``random``: the random bits of stochastic rounding: an unsigned integer of NumPy, whose dtype gives the number of
    bits, or a Python integer with ``bits``; for an array, one integer for each element. Without ``random``, both
    outcomes are explained with their probabilities.
    ``bits``: the number of random bits.

    Raises InputError for an invalid number or mode, Unsupported for a type that is not a float type, ValueError for an
    unknown profile.
    """
    if type is not None and to is None:
        raise InputError(
            "type=… names the type of the value, but to=… is missing", hint="name the type to round to: to=…"
        )
    stochastic = _is_stochastic(rounding)
    if not stochastic:
        rounding = mode_named(rounding)
        if random is not None or bits is not None:
            raise InputError('random= and bits= can be used only with rounding="stochastic"')
    chosen = as_profile(profile)
    array = _array_of(value)
    if array is not None:
        array = array if type is None else as_value(value, type)
        return _table(array, to, "stochastic" if stochastic else rounding, chosen, random, bits)
    given, fmt = _given(value, to, type)
    if stochastic:
        return _stochastic(given, fmt, chosen, random, bits)
    return explained(given, fmt, rounding, chosen, MODES)


def _is_stochastic(rounding: Any) -> bool:
    try:
        return as_rounding(rounding).spelling == "stochastic"
    except (ValueError, TypeError):
        return False


def _given(value: Any, to: Any, type_: Any) -> tuple[GivenNumber, FloatFormat]:
    if type_ is not None:
        value = f"{as_type(type_)}={value}" if isinstance(value, str) else to_value(value, as_type(type_), "the value")
    if to is None:
        read, fmt = read_with_type(value)
    else:
        fmt = format_of(to)
        read = read_number(value, fmt)
    return given_number(read), fmt


def _stochastic(
    given: GivenNumber, fmt: FloatFormat, profile: Profile, random: Any, bits: Any
) -> StochasticExplanation:
    heading = f"{given.text} in {fmt.name}, stochastic, profile {profile.name}"
    row = ("given", f"{given.text}{f'  ({given.reading})' if given.reading else ''}")
    return explained_stochastically(given, fmt, profile, random, bits, heading, (row,))


# Arrays -------------------------------------------------------------------------------------------------------------


def _array_of(value: Any) -> Any:
    """Return an array: a `Value` with axes, or an array of NumPy; None for one number."""
    if isinstance(value, Value):
        return value if value.shape else None
    if isinstance(value, np.generic) or not (isinstance(value, list | tuple | range) or hasattr(value, "__array__")):
        return None
    if isinstance(value, list | tuple) and (objects := _with_texts(value)) is not None:
        return objects
    taken = taken_as(value, "the value")
    if not taken.shape:
        return None
    return as_array(value, "the value") if isinstance(taken, Value) else np.asarray(value, object)


def _with_texts(value: list[Any] | tuple[Any, ...]) -> Any:
    """Return nested lists as an array of objects if there is text in them, such as ``0x7F``; None for others."""
    try:
        objects = np.asarray(value, object)
    except ValueError:
        return None  # rows of different lengths, which `taken_as` refuses
    return objects if any(isinstance(each, str) for each in objects.ravel()) else None


def _element(array: Any, index: Index) -> Any:
    """Return one element of an array: a scalar `Value`, a NumPy scalar or an object."""
    if not isinstance(array, Value):
        return array[index]
    poison = None if array.poison is None else array.poison[index]
    return Value(
        array.element_type, array.bits[index], poison if poison else None, None, array.origins if poison else None
    )


def _poison_of(element: Any) -> PoisonRow | None:
    return PoisonRow(str(element.origin())) if isinstance(element, Value) and element.poison is not None else None


def _random_at(random: Any, shape: tuple[int, ...]) -> Callable[[Index], Any]:
    """Return the random bits of each element. Raises InputError for another shape."""
    if random is None:
        return lambda index: None
    numbers = np.asarray(random)
    if numbers.shape not in ((), shape):
        raise InputError(
            f"random: expected one unsigned integer for each element, of shape {shape}, got {numbers.shape}"
        )
    if numbers.dtype.kind != "u":
        return lambda index: int(numbers[index if numbers.shape else ()])
    return lambda index: numbers[index if numbers.shape else ()]


def _table(array: Any, to: Any, rounding: str, profile: Profile, random: Any, bits: int | None) -> ExplanationTable:
    if to is None:
        own = array.element_type if isinstance(array, Value) else to_elements(array, None).element_type
        to = format_of(own)
    fmt = format_of(to)
    draw = _random_at(random, array.shape)

    def explanation(index: Index, full: bool) -> Any:
        element = _element(array, index)
        if not full and (poison := _poison_of(element)) is not None:
            return poison
        given, _ = _given(element, fmt, None)
        given = _with_short_text(given, element)
        if rounding == "stochastic":
            return _stochastic(given, fmt, profile, draw(index), bits)
        return explained(given, fmt, rounding, profile, MODES if full else (), others=full)

    title = f"{'x'.join(map(str, array.shape))} numbers in {fmt.name}, {rounding}, profile {profile.name}"
    counts = None if rounding == "stochastic" else _counted_as_a_whole(array, fmt, rounding, profile)
    return explanation_table(title, array.shape, explanation, counts)


def _with_short_text(given: GivenNumber, element: Any) -> GivenNumber:
    """Return the number with a text that shows an element of an array as a number, without its class."""
    if isinstance(element, str):
        return given
    shown = str(element.item()) if isinstance(element, np.generic) else given.text
    if isinstance(element, Value):
        shown = shown.removeprefix("Value(").removesuffix(")").partition("=")[2] or shown
    return replace(given, text=shown)


def _held_by_f64(element: ty.Type) -> bool:
    """Tell whether f64 represents every number of a type exactly."""
    if isinstance(element, ty.FloatType):
        return within_f64(element.format)
    return isinstance(element, ty.IntegerType) and element.width <= F64.precision


def _counted_as_a_whole(
    array: Any, fmt: FloatFormat, rounding: str, profile: Profile
) -> tuple[Mapping[str, int], int, tuple[Index, ...]] | None:
    """Count the kinds of results of a whole array at once; None for numbers that f64 does not represent exactly."""
    if not isinstance(array, Value) and array.dtype.kind == "O":
        return None
    source = array if isinstance(array, Value) else to_elements(array, None)
    if not (_held_by_f64(source.element_type) and within_f64(fmt)):
        return None
    exact = reals_of_value(source)
    result = convert(source, fmt, rounding=rounding, profile=profile)
    rounded = reals_of_value(result)
    sizes = np.abs(errors_of(fmt, exact.reshape(-1), rounded.reshape(-1)).ulp).reshape(exact.shape)
    counts = count_kinds(fmt, exact, rounded, result.poisoned, sizes)
    errors = np.where(np.isfinite(exact) & ~result.poisoned, sizes, 0.0)
    errors = np.where(np.isfinite(exact) & ~np.isfinite(rounded), np.inf, errors)
    return counts, int(exact.size), worst_of(errors)


# Ops ----------------------------------------------------------------------------------------------------------------


@overload
def explain_op(
    op: str,
    *operands: Number,
    rounding: Literal["stochastic"],
    type: str | ty.Type | FloatFormat | None = None,
    to: str | ty.Type | FloatFormat | None = None,
    profile: Profile | str | None = None,
    random: Any = None,
    bits: int | None = None,
) -> StochasticExplanation: ...


@overload
def explain_op(
    op: str,
    *operands: Number,
    type: str | ty.Type | FloatFormat | None = None,
    to: str | ty.Type | FloatFormat | None = None,
    profile: Profile | str | None = None,
    channel: int | None = None,
    **properties: Any,
) -> OpExplanation: ...


@overload
def explain_op(
    op: str,
    *operands: Any,
    type: Any = None,
    to: Any = None,
    profile: Profile | str | None = None,
    channel: int | None = None,
    random: Any = None,
    bits: int | None = None,
    **properties: Any,
) -> Any: ...


def explain_op(
    op: str,
    *operands: Any,
    type: Any = None,
    to: Any = None,
    profile: Profile | str | None = None,
    channel: int | None = None,
    random: Any = None,
    bits: int | None = None,
    **properties: Any,
) -> Any:
    """Explain the result of an op on these operands: ``explain_op("arith.addf", 1.4, 2.2, type="f8E4M3FN")``.

    ``op``: one of the float, integer and quant ops that can be explained; for any other op, the error lists them.
    ``operands``: numbers as for `explain`; each is rounded to its type as MLIR reads literals. An operand with its own
    type, such as ``f32=0.5`` or a `Value`, keeps this type. (The scale of a scaling op is f8E8M0FNU, if it has no own
    type.) Lists and arrays give a table: shapes and single numbers are broadcast as in NumPy, and ``table[i]`` is the
    explanation of one element.
    ``type``: the type of the operands, as for `eval`. For a cast it is the type of the operand, by default f64, or i64
    for integers.
    ``to``: the type of the result of a cast.
    ``channel``: the number of the scale to use, counted from 0, if a quantised type has several.
    ``properties``: as for `halfulp.eval` (``rounding="upward"``, ``fastmath="nnan"``, ``predicate="olt"``,
    ``overflow="nsw"``).
    ``random``, ``bits``: with ``rounding="stochastic"``, as for `explain`.

    Raises Unsupported for an op that cannot be explained, InputError for a wrong operand, VerifyError for types that
    the op does not accept.
    """
    if type is None and to is None and operands:
        refuse_type(op, operands[0])
    types = types_of(op, operands, type, to, channel)
    chosen = as_profile(profile)
    arrays = [_array_of(value) for value in operands]
    if any(array is not None for array in arrays):
        return _op_table(op, types, operands, arrays, chosen, properties, random, bits)
    return explained_op(op, types, operands, chosen, properties, random, bits)


def _op_table(
    op: str,
    types: OpTypes,
    operands: Any,
    arrays: list[Any],
    profile: Profile,
    properties: Mapping[str, Any],
    random: Any,
    bits: int | None,
) -> ExplanationTable:
    shapes = [() if array is None else array.shape for array in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(f"{op}: operands of the shapes {', '.join(map(str, shapes))} do not broadcast") from None
    draw = _random_at(random, shape)

    def element(operand: Any, array: Any, index: Index) -> Any:
        if array is None:
            return operand
        own = index[len(index) - len(array.shape) :]
        found = _element(array, tuple(0 if size == 1 else k for k, size in zip(own, array.shape, strict=True)))
        return (
            found.item()
            if isinstance(found, np.generic) and found.dtype.kind in "iubf" and found.itemsize <= 8
            else found
        )

    def explanation(index: Index, full: bool) -> Any:
        each = [element(operand, array, index) for operand, array in zip(operands, arrays, strict=True)]
        poison = next((row for row in map(_poison_of, each) if row is not None), None)
        if poison is not None:
            if full:
                raise InputError(f"an operand is poison: {poison.reason}")
            return poison
        return explained_op(op, types, each, profile, properties, draw(index), bits, others=full)

    attributes = "".join(f" {name}={value}" for name, value in properties.items())
    kinds = ", ".join(dict.fromkeys(map(str, types.operands))) + ("" if types.result is None else f" to {types.result}")
    title = f"{op}{attributes} on {'x'.join(map(str, shape))} elements of {kinds}, profile {profile.name}"
    return explanation_table(title, shape, explanation)
