"""NumPy's ufuncs on values: what `Value.__array_ufunc__` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.cells import moved
from halfulp.interp.values.element_ops import way_on
from halfulp.interp.values.elementwise import beside, operation
from halfulp.interp.values.functions import function, matrix_product
from halfulp.interp.values.parts import Carried, Parts, element_of, shape_of
from halfulp.semantics.profile import Profile

_REDUCING: Mapping[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
"""The ufuncs whose method ``reduce`` halfulp computes, and the function that it is."""


def ufunc(
    called: np.ufunc, method: str, operands: Sequence[Any], keywords: Mapping[str, Any], profile: Profile
) -> Parts:
    """Return the result of a ufunc, or of one of its methods, on operands of which one at least is a value.

    Raises TypeMismatch for what halfulp does not compute, and for ``out``, ``where`` and the other keywords of ufuncs.
    """
    name = called.__name__
    if method == "reduce" and called in _REDUCING:
        chosen = {"axis": 0, **{key: each for key, each in keywords.items() if not _is_default(key, each)}}
        _check_keywords(name, {key: each for key, each in chosen.items() if key not in ("axis", "keepdims")})
        reduced: Parts = function(_REDUCING[called], operands, chosen, profile)
        return reduced
    _check_keywords(name, keywords)
    if method == "outer" and called.nin == 2 and called is not np.matmul:
        first, second = beside(f"np.{name}.outer", operands)
        rank = len(shape_of(second))
        spread = moved(first, lambda array: array.reshape(array.shape + (1,) * rank))
        return operation(name, [spread, second], profile)
    if method != "__call__":
        element = next(element_of(each) for each in operands if isinstance(each, Carried))
        hint = way_on(name, element) if method == "outer" else "write hu.sum(v), or a loop over the elements"
        raise TypeMismatch(f"np.{name}.{method} does not compute values of type '{element}'", hint=hint)
    if called is np.matmul:
        first, second = operands
        return matrix_product(first, second, profile)
    if called is np.positive:
        return operation_free(operands[0])
    return operation(name, operands, profile)


def operation_free(value: Any) -> Parts:
    """Return a value as it is: what np.positive gives."""
    return moved(value, lambda array: array)


_DEFAULTS: Mapping[str, Any] = {"out": None, "where": True, "initial": np._NoValue, "keepdims": False, "dtype": None}


def _is_default(key: str, given: Any) -> bool:
    return given is _DEFAULTS.get(key, object()) or (key == "out" and all(each is None for each in given))


def _check_keywords(name: str, keywords: Mapping[str, Any]) -> None:
    """Raise TypeMismatch for a keyword that has a meaning."""
    for key, given in keywords.items():
        if _is_default(key, given):
            continue
        if key == "out":
            raise TypeMismatch(f"np.{name}: out= would write the bits of halfulp into an array", hint="use the result")
        if key == "where":
            raise TypeMismatch(
                f"np.{name}: where= leaves elements without a value", hint="write np.where(mask, …, other)"
            )
        raise TypeMismatch(
            f"np.{name}: {key}= is not for values of halfulp", hint="write .astype(type), which rounds once"
        )
