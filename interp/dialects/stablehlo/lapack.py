"""The functions of LAPACK that JAX calls on a CPU, by stablehlo.custom_call: factors of matrices, and substitution.

They have LAPACK's results, computed in the order that `halfulp.semantics.linear_algebra` states; LAPACK's own order is
that of the library that runs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from halfulp.fp_formats.formats import Codes
from halfulp.interp.dialects.stablehlo.algebra import Compute, arithmetic_of, on_arrays
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Function
from halfulp.interp.run.settings import Settings
from halfulp.semantics.linear_algebra import (
    Arithmetic,
    cholesky,
    factor_lu,
    factor_qr,
    reflections_product,
    solve_triangular,
)


def _letter(op: Operation, name: str) -> str:
    """Return a letter of the configuration, such as L for a lower triangle."""
    config = op.attributes.get("mhlo.backend_config") or op.properties.get("backend_config")
    entries = dict(config.entries) if isinstance(config, at.DictionaryAttr) else {}
    found = entries.get(name)
    return chr(found.value & 0xFF) if isinstance(found, at.IntegerAttr) else ""


def _potrf(op: Operation, arithmetic: Arithmetic, real: Arithmetic) -> Compute:
    lower = _letter(op, "uplo") == "L"

    def factor(a: Codes) -> Sequence[Codes]:
        found, failed = cholesky(a, arithmetic, lower)
        size = a.shape[arithmetic.axis(-1)]
        kept = np.tril(np.ones((size, size), np.bool_)) if lower else np.triu(np.ones((size, size), np.bool_))
        # The other triangle stays as it was.
        return np.where(kept[..., None] if arithmetic.is_complex else kept, found, a), failed.view(np.uint32)

    return factor


def _trsm(op: Operation, arithmetic: Arithmetic, real: Arithmetic) -> Compute:
    transpose = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[_letter(op, "trans_x")]
    left, lower, unit = (_letter(op, name) == letter for name, letter in (("side", "L"), ("uplo", "L"), ("diag", "U")))

    def solve(a: Codes, b: Codes) -> Sequence[Codes]:
        return (solve_triangular(a, b, arithmetic, left=left, lower=lower, transpose=transpose, unit=unit),)

    return solve


def _getrf(op: Operation, arithmetic: Arithmetic, real: Arithmetic) -> Compute:
    def factor(a: Codes) -> Sequence[Codes]:
        found, pivots, failed = factor_lu(a, arithmetic)
        return found, pivots.view(np.uint32), failed.view(np.uint32)

    return factor


def _geqrf(op: Operation, arithmetic: Arithmetic, real: Arithmetic) -> Compute:
    return lambda a: factor_qr(a, arithmetic, real)


def _orgqr(op: Operation, arithmetic: Arithmetic, real: Arithmetic) -> Compute:
    return lambda a, factors: (reflections_product(a, factors, arithmetic),)


_FUNCTIONS: Mapping[str, Callable[[Operation, Arithmetic, Arithmetic], Compute]] = {
    "geqrf": _geqrf, "getrf": _getrf, "orgqr": _orgqr, "potrf": _potrf, "trsm": _trsm, "ungqr": _orgqr,
}  # fmt: skip
"""The functions by their names. ``real``: the arithmetic of the parts of complex numbers."""
_NAME = re.compile(r"lapack_[sdcz](\w+)_ffi")


def function_of(op: Operation, target: str, settings: Settings) -> Function | None:
    """Return the function that runs a custom_call of ``target``; None if the target is not a known function
    of LAPACK.
    """
    name = _NAME.fullmatch(target)
    row = _FUNCTIONS.get(name[1]) if name else None
    if row is None:
        return None
    known = row

    def build(op: Operation, settings: Settings) -> Compute:
        element = ty.element_type(op.operands[0].type)
        return known(op, *(arithmetic_of(op, each, settings) for each in (element, ty.number_type(element))))

    function: Function = on_arrays(build).build(op, settings)
    return function
