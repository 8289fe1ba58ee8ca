"""Ask NumPy with the dtypes of the package ml_dtypes, which most Python programs use for small floats.

f32 and f64 use NumPy's own arithmetic, as halfulp's fast path does: there the two agree by construction, and only the
other oracles prove something.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Unavailable
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import natural_dtypes

VERSION = "0."
"""Prefix of the supported versions. The rows of divergences.toml say which of them they describe."""

_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
}
_CASTS = ("arith.extf", "arith.truncf", "arith.convertf")
_SIGNED: Mapping[str, bool] = {
    "arith.sitofp": True,
    "arith.uitofp": False,
    "arith.fptosi": True,
    "arith.fptoui": False,
}
_COMPARISONS = ((operator.eq, scalar.EQUAL), (operator.gt, scalar.GREATER), (operator.lt, scalar.LESS))
_NEUTRAL = {"fastmath": "none", "rounding": Rounding.TO_NEAREST_EVEN.spelling}


class MlDtypes:
    """Float arithmetic, comparison and casts, in every type with a dtype of whole bytes."""

    name = "ml_dtypes"
    profile = "ml_dtypes"

    def __init__(self) -> None:
        try:
            self.version = version("ml_dtypes")
        except PackageNotFoundError:
            raise Unavailable("the package ml_dtypes is not installed") from None
        if not self.version.startswith(VERSION):
            raise Unavailable(f"ml_dtypes is version {self.version}, but this oracle stands for version {VERSION}*")

    def refuses(self, case: OpCase) -> str | None:
        """Refuse types without a dtype, casts that the package lacks, rounding modes other than the default, and
        fast-math flags.
        """
        known = case.op in _ARITHMETIC or case.op in _CASTS or case.op in _SIGNED or case.op == "arith.cmpf"
        if not known:
            return f"NumPy has no function for {case.op}"
        for name, value in case.properties:
            if name != "predicate" and value != _NEUTRAL.get("rounding" if name == "roundingmode" else name):
                return f"NumPy has no {name} {value}"
        dtypes = self._dtypes(case)
        # By identity: a dtype compared with None is compared with float64.
        absent = next(
            (name for name, d in zip((*case.operands, *case.results), dtypes, strict=True) if d is None), None
        )
        if absent is not None:
            return f"NumPy has no dtype for {absent}"
        if case.op in ("arith.fptosi", "arith.fptoui") and case.results == ("i1",):
            return "NumPy's bool of a float is whether it is not zero"
        try:
            self._compute(case, [np.zeros(0, dtype) for dtype in dtypes[: len(case.operands)]])
        except TypeError:
            return f"the package has no {case}"
        return None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements by one call. Floats outside an integer's range give what the CPU gives."""
        arrays = [codes.view(dtype) for codes, dtype in zip(inputs, self._dtypes(case), strict=False) if dtype]
        found = self._compute(case, arrays)
        return (Answer(found.view(np.dtype(f"u{found.dtype.itemsize}"))),)

    def _dtypes(self, case: OpCase) -> list[np.dtype[Any] | None]:
        """Return the dtypes of operands and results."""
        return [_dtype(type_, _SIGNED.get(case.op)) for type_ in (*case.operand_types, *case.result_types)]

    def _compute(self, case: OpCase, arrays: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            if case.op in _ARITHMETIC:
                found = _ARITHMETIC[case.op](*arrays)
                if found.dtype != arrays[0].dtype:
                    raise TypeError(f"{case} gives {found.dtype}")
                return found
            if case.op == "arith.cmpf":
                return _compared(dict(case.properties)["predicate"], *arrays)
            return arrays[0].astype(self._dtypes(case)[-1])


def _dtype(type_: ty.Type, signed: bool | None) -> np.dtype[Any] | None:
    """Return the dtype whose bits are the codes of an element type.

    ``signed``: a conversion reads integers as signed.
    """
    if isinstance(type_, ty.IntegerType) and type_.width == 1:
        return np.dtype(np.bool_) if not signed else None  # NumPy's True is 1, never -1
    if isinstance(type_, ty.IndexType) or (isinstance(type_, ty.IntegerType) and type_.width in (8, 16, 32, 64)):
        width = 64 if isinstance(type_, ty.IndexType) else type_.width
        return np.dtype(f"int{width}" if signed else f"uint{width}")
    return natural_dtypes().get(type_) if isinstance(type_, ty.FloatType) else None


def _compared(predicate: str, x: Any, y: Any) -> Any:
    relations = scalar.PREDICATES[CMPF_PREDICATE.cases[predicate]]
    holds = (np.isnan(x) | np.isnan(y)) & bool(relations & scalar.UNORDERED)
    for compare, relation in _COMPARISONS:
        if relations & relation:
            holds |= compare(x, y)
    return holds
