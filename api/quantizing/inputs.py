"""Take arrays of floats."""

from __future__ import annotations

from typing import Any

from halfulp.inputs import as_value
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value


def float_value(x: Any, type: Any = None, literals: Any = "f64") -> Value:
    """Return ``x`` as a `Value` of floats.

    ``type``: the element type of ``x``, if its dtype is not enough. ``literals``: the type of lists and numbers, which
    have none of their own: they are rounded to it once.

    Raises TypeMismatch for integers, and what `as_value` raises.
    """
    has_type = isinstance(x, Value | Buffer) or hasattr(x, "dtype")
    value = as_value(x, literals if type is None and not has_type else type, what="x")
    if not isinstance(value.element_type, ty.FloatType):
        raise TypeMismatch(
            f"x has elements of '{value.element_type}', but must have floats", hint='convert them: hu.convert(x, "f32")'
        )
    return value
