"""Values and numbers as commands print them with ``--json``.

``output.schema.json`` in this package describes the objects. A number is a number of JSON where its reader, which has
f64, gets exactly that number; else it is text, as are NaN and infinities.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.values.spelling import spell_element
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

Record = dict[str, Any]

_MOST_EXACT = 1 << 53


def value_record(value: Value) -> Record:
    """Return a value: its type, its shape, and nested lists of its raw bits and its numbers, in which poison is null;
    and each origin of poison with the elements that have it. A value that has no bits, such as a token, is text.
    """
    element, shape = value.element_type, value.shape
    width = ty.element_width(element)
    record: Record = {"type": str(value.type), "shape": list(shape)}
    if width is None or isinstance(element, ty.ComplexType):
        return record | {"text": str(value)}
    poisoned = value.poisoned.reshape(-1).tolist()
    codes = codes_to_ints(value.bits, width)
    bits: list[Any] = [None if lost else hexadecimal(code, width) for code, lost in zip(codes, poisoned, strict=True)]
    numbers = [None if lost else element_record(element, code) for code, lost in zip(codes, poisoned, strict=True)]
    record |= {"bits": _nested(bits, shape), "values": _nested(numbers, shape)}
    if value.poison is None or value.origins is None:
        return record | {"poison": []}
    born = np.unique(value.poison[value.poison != 0]).tolist()
    return record | {
        "poison": [
            origin_record(value.origins[identity]) | {"elements": np.argwhere(value.poison == identity).tolist()}
            for identity in born
        ]
    }


def origin_record(origin: Origin) -> Record:
    """Return where and why poison was born."""
    return {
        "op": origin.op,
        "location": origin.location or None,
        "reason": origin.reason,
        "element": list(origin.element),
    }


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested lists; of a scalar, its only item."""
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def element_record(element: ty.Type, code: int) -> int | float | str | bool:
    """Return an element as JSON has it."""
    if element == ty.I1:
        return bool(code)
    if isinstance(element, ty.FloatType):
        return _float(element.format, code)
    text = spell_element(element, code)
    try:
        number = int(text)
    except ValueError:
        return text
    return number if -_MOST_EXACT <= number <= _MOST_EXACT else text


def _float(fmt: FloatFormat, code: int) -> float | str:
    unpacked = scalar.unpack(fmt, code)
    if unpacked.kind == scalar.FINITE:
        exact = scalar.value(fmt, code)
        assert exact is not None
        if not exact and unpacked.sign:
            return -0.0
        if (number := exact_float(exact)) is not None:
            return number
        # So many digits tell any two values of the format apart.
        with localcontext(Context(prec=int(fmt.precision * 0.30103) + 3)):
            return str(Decimal(exact.numerator) / Decimal(exact.denominator))
    return spell_element(ty.FloatType(fmt), code)


def exact_float(exact: Fraction) -> float | None:
    """Return an exact number as a float; None if no f64 has its value."""
    try:
        number = float(exact)
    except OverflowError:
        return None
    return number if Fraction(number) == exact else None


def number_record(exact: Fraction | None) -> int | float | str | None:
    """Return an exact number: a number of JSON if f64 has it, else the text of a fraction."""
    if exact is None:
        return None
    number = exact_float(exact)
    return str(exact) if number is None else number


def coded_record(type_: ty.Type, code: int) -> Record:
    """Return an element: its bits and its number."""
    return {"bits": hexadecimal(code, ty.width_of(type_)), "value": element_record(type_, code)}
