"""Read values from text: the types and elements that `halfulp.interp.values.spelling` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats import numbers
from halfulp.fp_formats.formats import FloatFormat, ints_to_codes
from halfulp.fp_formats.spelling import shortened
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import decimal_number
from halfulp.interp.ir.errors import InputError, are_given, plural
from halfulp.interp.ir.types import element_width, is_unsigned, numeric, shape_problem, width_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.spelling import range_text
from halfulp.interp.values.value import Value
from halfulp.semantics import fixed_point
from halfulp.semantics.kernel import Origin, Origins

# --- elements ---------------------------------------------------------------------------------------------------------


def parse_element(element: ty.Type, text: str) -> int | None:
    """Return the code of an element; None for ``poison``. Raises InputError for text that is not of this type."""
    stored = numeric(element)
    width = element_width(stored)
    if width is None:
        raise InputError(f"values of type '{element}' cannot be given as text")
    if text == "poison":
        return None
    if (code := numbers.code_of_text(text)) is not None:
        return _fitting(element, width, text, code)
    if isinstance(stored, ty.FloatType):
        return _parse_float(stored.format, text)
    if isinstance(stored, ty.FixedType):
        return _parse_fixed(stored, text)
    if stored == ty.I1 and text in ("true", "false"):
        return int(text == "true")
    if not re.fullmatch(r"[+-]?\d+", text):
        raise InputError(_no_value(text, str(element)))
    low, high = 0 if is_unsigned(stored) else -(1 << width >> 1), (1 << width) - 1
    fits = len(text.lstrip("+-0")) <= width // 3 + 1
    if not fits or not low <= (number := decimal_number(text)) <= high:
        raise InputError(f"{shortened(text)} does not fit '{element}', which holds {range_text(low, high)}")
    return number & high


def _no_value(text: str, type_: str) -> str:
    what = "hexadecimal number" if text.lower().startswith("0x") else f"value of type '{type_}'"
    return f"'{shortened(text)}' is not a {what}"


def _fitting(element: ty.Type, width: int, text: str, code: int) -> int:
    if code >> width:
        raise InputError(f"the bit pattern {shortened(text)} does not fit the {width} bits of '{element}'")
    return code


def _parse_fixed(type_: ty.FixedType, text: str) -> int:
    """Return the code of a number in fixed point, which the type must have."""
    try:
        exact = numbers.fraction_of(numbers.exact_number(text))
    except ValueError:
        exact = None
    if exact is None:
        raise InputError(_no_value(text, str(type_)))
    fmt = type_.format
    number = fixed_point.of_fraction(exact, fmt)
    if number * fmt.unit != exact:
        raise InputError(f"'{type_}' does not have the number {shortened(text)}")
    return fixed_point.code_of(fmt, number)


def _parse_float(fmt: FloatFormat, text: str) -> int:
    try:
        number = numbers.exact_number(text, literal=True)
    except ValueError:
        raise InputError(_no_value(text, fmt.name)) from None
    negative = numbers.is_negative(number)
    if text.lstrip("+-")[0] in "nNiI":  # 1e999 is read as infinity, too, and then rounded
        code = fmt.nan_code if numbers.is_nan(number) else fmt.infinity_code
        if code is not None and negative:
            negated = code ^ (fmt.sign_mask or 0)  # the only NaN of some formats has the code of -0
            code = negated if negated != code and (fmt.is_nan(negated) or fmt.is_infinite(negated)) else None
        if code is None:
            raise InputError(f"{fmt.name} has no {text}")
        return code
    if negative and not fmt.signed:
        raise InputError(f"{fmt.name} has no negative values: {shortened(text)}")
    return numbers.round_to_format(fmt, number).code


# --- values -----------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"\s*((?:\d+\s*x\s*)*)([A-Za-z!].*)$", re.DOTALL)
_MAX_ELEMENTS = 1 << 28


def parse_type_head(text: str) -> ty.Type:
    """Read the type before the elements: ``4xf32`` is a tensor type, and ``f32`` is a scalar type. Any type in MLIR's
    syntax is read, too. Raises ParseError and InputError.
    """
    match = _HEAD.match(text)
    if match is None:
        raise InputError(f"'{shortened(text)}' is not a type such as 4xf32, i32 or tensor<4xf32>")
    element = as_type(match[2].strip())
    if not match[1]:
        return element
    shape = tuple(int(size) for size in match[1].replace(" ", "").split("x")[:-1])
    if prod(shape) > _MAX_ELEMENTS:
        raise InputError(f"{shortened(text)} has {prod(shape)} elements; as text at most {_MAX_ELEMENTS} can be given")
    return ty.TensorType(shape, element)


def parse_value(type_: ty.Type, text: str) -> Value:
    """Read the elements of a value of a statically shaped type; a single element is repeated for all. Raises
    InputError.
    """
    element = ty.element_type(type_)
    sizes = ty.shape_of(type_)
    if sizes is None or None in sizes:
        raise InputError(
            f"'{type_}' needs all its dimensions here", hint=f'write them, as in "2x3x{element}=…" (type=elements)'
        )
    shape = tuple(size for size in sizes if size is not None)
    problem = shape_problem(shape)
    if problem:
        raise InputError(f"a value of type '{type_}' {problem}")
    texts = list(_elements(text, shape, type_))
    splat = len(texts) == 1 and bool(shape)
    if not splat and len(texts) != prod(shape):
        raise InputError(_wrong_count(type_, shape, len(texts)))
    codes = [parse_element(element, item) for item in texts]
    width = width_of(element)
    given = (1,) * len(shape) if splat else shape
    bits = ints_to_codes([code or 0 for code in codes], width, given)
    if splat:  # the one element is not repeated in memory
        bits = np.broadcast_to(bits, shape + bits.shape[len(shape) :])
    if None not in codes or not prod(shape):
        return Value(type_, bits)
    origins = Origins()
    lost = np.broadcast_to(np.array([code is None for code in codes], np.bool_).reshape(given), shape)
    first = tuple(int(k) for k in np.argwhere(lost)[0]) if shape else ()
    ids = np.where(lost, np.uint16(origins.id_of(Origin("input", "", "given as poison", first))), np.uint16(0))
    return Value(type_, bits, ids, None, origins)


def _wrong_count(type_: ty.Type, shape: Sequence[int], given: int) -> str:
    return f"'{type_}' has {plural(prod(shape), 'element')}, but {are_given(given)}"


def _elements(text: str, shape: tuple[int, ...], type_: ty.Type) -> Iterator[str]:
    """Yield the elements of a text. Raises InputError if there are brackets that do not fit the shape."""
    tokens = re.findall(r"[\[\]]|[^\s\[\],]+", text)
    if "[" not in tokens and "]" not in tokens:
        yield from tokens
        return
    given = sum(token not in "[]" for token in tokens)
    fault = f"the brackets do not fit '{type_}'" if given == prod(shape) else _wrong_count(type_, shape, given)
    depth, counts = 0, [0] * (len(shape) + 2)
    # Both [1 2][3 4] and [[1 2][3 4]] are two rows of two: the outermost pair may be left out.
    opening = 0
    while opening < len(tokens) and tokens[opening] == "[":
        opening += 1
    skipped = max(0, len(shape) - opening)
    depth = skipped
    if opening > len(shape) or skipped > 1:
        raise InputError(fault)
    for token in tokens:
        if token == "[":
            depth += 1
            if depth > len(shape):
                raise InputError(fault)
            counts[depth] = 0
        elif token == "]":
            if depth == skipped or counts[depth] != shape[depth - 1]:
                raise InputError(fault)
            depth -= 1
            counts[depth] += 1
        else:
            if depth != len(shape):
                raise InputError(fault)
            counts[depth] += 1
            yield token
    if depth != skipped or (skipped and counts[skipped] != shape[0]):
        raise InputError(fault)


def value_of_attribute(attribute: Any) -> Value:
    """Make a value from an elements, integer or float attribute, such as ``dense<[1, 2]> : tensor<2xi8>``.

    Raises InputError for other attributes.
    """
    if isinstance(attribute, at.DenseElementsAttr):
        problem = shape_problem([size or 0 for size in attribute.type.shape or ()])
        if problem:
            raise InputError(f"a value of type '{attribute.type}' {problem}")
        return Value(attribute.type, attribute.array())
    if isinstance(attribute, at.IntegerAttr | at.FloatAttr):
        return Value(attribute.type, ints_to_codes([attribute.code], width_of(attribute.type), ()))
    raise InputError(f"{attribute} is not a value")
