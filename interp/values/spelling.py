"""Values as text, the way iree-run-module writes them: ``2x2xf32=[1 2][3 4]``, ``i32=7``, ``f8E4M3FN=nan``.

What is printed reads back to the same bits. Elements are decimal numbers, ``nan``, ``inf``, ``true``, ``false``, raw
bits (``0x7FC00001``) or ``poison``; a NaN other than the format's default one, and a number that no float64 holds, are
written as raw bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.literals import decimal_number, decimal_text
from halfulp.interp.values.value import (
    Codes,
    Value,
    as_type,
    code_layout,
    element_width,
    float_code,
    numeric,
    range_text,
    shape_problem,
    spell_shape,
)
from halfulp.semantics.poison import Origin, Origins

# --- elements ---------------------------------------------------------------------------------------------------------


def spell_element(element: ty.Type, code: int) -> str:
    """One element as text that reads back to ``code``."""
    stored = numeric(element)
    if isinstance(stored, ty.FloatType):
        return _spell_float(stored.format, code) if code < 1 << 16 else _float_text(stored.format, code)
    if stored == ty.I1:
        return "true" if code else "false"
    width = element_width(stored)
    assert width is not None
    unsigned = isinstance(stored, ty.IntegerType) and stored.signedness == "unsigned"
    return decimal_text(code - (1 << width) if not unsigned and width and code >> (width - 1) else code)


@lru_cache(maxsize=1 << 16)
def _spell_float(fmt: FloatFormat, code: int) -> str:
    return _float_text(fmt, code)


def _float_text(fmt: FloatFormat, code: int) -> str:
    raw = f"0x{code:0{-(-fmt.bits // 4)}X}"
    if code == fmt.nan_code:
        return "nan"
    if fmt.is_nan(code):
        return raw
    if fmt.is_infinite(code):
        return "-inf" if fmt.sign_mask is not None and code & fmt.sign_mask else "inf"
    exact = scalar.value(fmt, code)
    assert exact is not None
    try:
        number = float(exact)
    except OverflowError:
        return raw
    if not number and exact:
        return raw
    if fmt.is_zero(code):
        return "-0" if code else "0"
    for text in _spellings(fmt, number):
        if float_code(fmt, float(text)) == code:
            return _plain(text)
    return raw


def _spellings(fmt: FloatFormat, number: float) -> Iterator[str]:
    """What may stand for a number: exact digits where a small format needs few, else the fewest digits that do."""
    if fmt.bits <= 8:
        exact = f"{number:.12g}"
        if float(exact) == number:
            yield exact
    elif fmt.bits == 64:
        yield repr(number)
    elif fmt.name == "f32":
        yield str(np.float32(number))
    for digits in range(1, 18):
        yield f"{number:.{digits}g}"


def _plain(text: str) -> str:
    """A number in plain digits where that is short: 1e+02 and 100.0 are 100."""
    if "e" in text and -5 < int(text.partition("e")[2]) < 16:
        return f"{Decimal(text):f}"
    return text.removesuffix(".0")


_SPECIAL = {"nan": "nan_code", "inf": "infinity_code", "+inf": "infinity_code"}


def parse_element(element: ty.Type, text: str) -> int | None:
    """The code of an element; None for ``poison``. Raises InputError when the text is no element of this type."""
    stored = numeric(element)
    width = element_width(stored)
    if width is None:
        raise InputError(f"values of type '{element}' cannot be given as text")
    if text == "poison":
        return None
    if text.lower().startswith("0x"):
        return _parse_bits(element, width, text)
    if isinstance(stored, ty.FloatType):
        return _parse_float(stored.format, text)
    if stored == ty.I1 and text in ("true", "false"):
        return int(text == "true")
    if not re.fullmatch(r"[+-]?\d+", text):
        raise InputError(f"'{_short(text)}' is not a value of type '{element}'")
    unsigned = isinstance(stored, ty.IntegerType) and stored.signedness == "unsigned"
    low, high = 0 if unsigned else -(1 << width >> 1), (1 << width) - 1
    fits = len(text.lstrip("+-0")) <= width // 3 + 1
    if not fits or not low <= (number := decimal_number(text)) <= high:
        raise InputError(f"{_short(text)} does not fit '{element}', which holds {range_text(low, high)}")
    return number & high


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _parse_bits(element: ty.Type, width: int, text: str) -> int:
    try:
        code = int(text, 16)
    except ValueError:
        raise InputError(f"'{_short(text)}' is not a hexadecimal number") from None
    if code >> width:
        raise InputError(f"the bit pattern {_short(text)} does not fit the {width} bits of '{element}'")
    return code


def _parse_float(fmt: FloatFormat, text: str) -> int:
    name, negative = text.lower(), False
    if name in ("-nan", "-inf"):
        name, negative = name[1:], True
    if name in _SPECIAL:
        code: int | None = getattr(fmt, _SPECIAL[name])
        signed = fmt.signed and (name == "inf" or fmt.nan_has_payload)
        if code is None or (negative and not signed):
            raise InputError(f"{fmt.name} has no {text}")
        return code | (fmt.sign_mask or 0) if negative else code
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        raise InputError(f"'{_short(text)}' is not a value of type '{fmt.name}'")
    if text.startswith("-") and not fmt.signed:
        raise InputError(f"{fmt.name} has no negative values: {_short(text)}")
    return float_code(fmt, float(text))


# --- values -----------------------------------------------------------------------------------------------------------


def spell_type(type_: ty.Type, shape: tuple[int, ...]) -> str:
    """The head of a value: its element type after the dimensions it has."""
    element = ty.element_type(type_)
    return f"{spell_shape(shape)}x{element}" if shape else str(element)


def spell_value(value: Value, limit: int | None = None) -> str:
    """``type=elements``. With ``limit``, an array of more elements is cut after that many, followed by ``...``."""
    element = value.element_type
    head = spell_type(value.type, value.shape)
    count = prod(value.shape)
    cut = limit is not None and count > limit
    kept = limit if cut else count
    flat = value.bits.reshape((count, *code_layout(element)[1]))[:kept]
    texts = list(_element_texts(element, flat))
    if value.poison is not None:
        for index in np.flatnonzero(value.poison.reshape(-1)[:kept]):
            texts[index] = "poison"
    if cut:
        return f"{head}={' '.join(texts)} ..."
    return f"{head}={_nested(texts, value.shape)}"


def _element_texts(element: ty.Type, flat: Codes) -> Iterator[str]:
    """The text of each element along the first axis."""
    if isinstance(element, ty.ComplexType):
        parts = list(_element_texts(element.element, flat.reshape(-1, *flat.shape[2:])))
        return (f"({real},{imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True))
    width = element_width(element)
    if width is None:
        return (str(carried) for carried in flat)
    return (spell_element(element, code) for code in codes_to_ints(flat, width))


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not texts:
        return ""
    if len(shape) <= 1:
        return " ".join(texts)
    size = prod(shape[1:])
    return "".join(f"[{_nested(texts[i : i + size], shape[1:])}]" for i in range(0, len(texts), size))


_HEAD = re.compile(r"\s*((?:\d+\s*x\s*)*)([A-Za-z!].*)$", re.DOTALL)
_MAX_ELEMENTS = 1 << 28


def parse_type_head(text: str) -> ty.Type:
    """``4xf32`` as a tensor type, ``f32`` as itself; also any type in MLIR's own spelling. Raises ParseError or
    InputError.
    """
    match = _HEAD.match(text)
    if match is None:
        raise InputError(f"'{_short(text)}' is not a type such as 4xf32, i32 or tensor<4xf32>")
    element = as_type(match[2].strip())
    if not match[1]:
        return element
    shape = tuple(int(size) for size in match[1].replace(" ", "").split("x")[:-1])
    if prod(shape) > _MAX_ELEMENTS:
        raise InputError(f"{_short(text)} has {prod(shape)} elements; as text at most {_MAX_ELEMENTS} can be given")
    return ty.TensorType(shape, element)


def parse_value(type_: ty.Type, text: str) -> Value:
    """A value of a statically shaped type from its elements; one element alone stands for all. Raises InputError."""
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
        raise InputError(f"'{type_}' has {prod(shape)} elements, but {len(texts)} are given")
    codes = [parse_element(element, item) for item in texts]
    width = element_width(element)
    assert width is not None
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


def _elements(text: str, shape: tuple[int, ...], type_: ty.Type) -> Iterator[str]:
    """The elements of a text, checking that brackets, where there are any, are those of the shape."""
    tokens = re.findall(r"[\[\]]|[^\s\[\],]+", text)
    if "[" not in tokens and "]" not in tokens:
        yield from tokens
        return
    depth, counts = 0, [0] * (len(shape) + 2)
    # Both [1 2][3 4] and [[1 2][3 4]] are two rows of two: the outermost pair may be left out.
    opening = 0
    while opening < len(tokens) and tokens[opening] == "[":
        opening += 1
    skipped = max(0, len(shape) - opening)
    depth = skipped
    if opening > len(shape) or skipped > 1:
        raise InputError(f"the brackets do not fit '{type_}'")
    for token in tokens:
        if token == "[":
            depth += 1
            if depth > len(shape):
                raise InputError(f"the brackets do not fit '{type_}'")
            counts[depth] = 0
        elif token == "]":
            if depth == skipped or counts[depth] != shape[depth - 1]:
                raise InputError(f"the brackets do not fit '{type_}'")
            depth -= 1
            counts[depth] += 1
        else:
            if depth != len(shape):
                raise InputError(f"the brackets do not fit '{type_}'")
            counts[depth] += 1
            yield token
    if depth != skipped or (skipped and counts[skipped] != shape[0]):
        raise InputError(f"the brackets do not fit '{type_}'")


def value_of_attribute(attribute: Any) -> Value:
    """The value of an elements, integer or float attribute, such as ``dense<[1, 2]> : tensor<2xi8>``. Raises
    InputError.
    """
    from halfulp.interp.ir import attributes as at

    if isinstance(attribute, at.DenseElementsAttr):
        problem = shape_problem([size or 0 for size in attribute.type.shape or ()])
        if problem:
            raise InputError(f"a value of type '{attribute.type}' {problem}")
        return Value(attribute.type, attribute.array())
    if isinstance(attribute, at.IntegerAttr | at.FloatAttr):
        width = element_width(attribute.type)
        assert width is not None
        return Value(attribute.type, ints_to_codes([attribute.code], width, ()))
    raise InputError(f"{attribute} is not a value")
