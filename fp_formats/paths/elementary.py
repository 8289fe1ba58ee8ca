"""The elementary functions on arrays of codes: the results of `halfulp.fp_formats.reals.elementary`, by quicker paths.

That module is the specification. It needs python-flint, so it is imported when the first result is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, codes_to_ints, element_shape, ints_to_codes
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE, Result


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return a function of one argument, rounded once to ``dst`` (default: the format of the argument).

    ``name``: a row of `halfulp.fp_formats.reals.functions`. Raises
    `halfulp.fp_formats.reals.enclosing.Unsettled` where no ball of bounded precision decides.
    """
    from halfulp.fp_formats.reals import elementary

    return _mapped(
        lambda x: elementary.unary(name, src, x, rounding, policy, dst),
        [codes_to_ints(a, src.bits)],
        element_shape(a, src.bits),
        dst or src,
        want_flags,
    )


def binary(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return a function of two arguments of one format that broadcast, rounded once to ``dst`` (default: the same
    format).

    ``name``: atan2, hypot or powf. Raises as `unary`.
    """
    from halfulp.fp_formats.reals import elementary

    shape = np.broadcast_shapes(element_shape(a, fmt.bits), element_shape(b, fmt.bits))
    return _mapped(
        lambda x, y: elementary.binary(name, fmt, x, y, rounding, policy, dst),
        [_spread(a, fmt.bits, shape), _spread(b, fmt.bits, shape)],
        shape,
        dst or fmt,
        want_flags,
    )


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    n: Codes,
    width: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return ``powf`` (pown, fpowi) or ``rootn`` of floats and of signed integers of ``width`` bits, given as codes.

    Both broadcast. Raises as `unary`.
    """
    from halfulp.fp_formats.reals import elementary

    shape = np.broadcast_shapes(element_shape(a, fmt.bits), element_shape(n, width))
    half, whole = 1 << width - 1 if width else 0, 1 << width
    integers = [code - whole if code >= half and width else code for code in _spread(n, width, shape)]
    return _mapped(
        lambda x, k: elementary.of_integer(name, fmt, x, k, rounding, policy, dst),
        [_spread(a, fmt.bits, shape), integers],
        shape,
        dst or fmt,
        want_flags,
    )


def _spread(codes: Codes, width: int, shape: tuple[int, ...]) -> list[int]:
    whole = (*shape, codes.shape[-1]) if width > 64 else shape
    return codes_to_ints(np.broadcast_to(codes, whole), width)


def _mapped(
    function: Callable[..., Result],
    operands: Sequence[Sequence[int]],
    shape: tuple[int, ...],
    dst: FloatFormat,
    want_flags: bool,
) -> ArrayResult:
    known: dict[tuple[int, ...], Result] = {}

    def once(*codes: int) -> Result:
        if codes not in known:
            known[codes] = function(*codes)
        return known[codes]

    results = [once(*codes) for codes in zip(*operands, strict=True)]
    poison: Any = np.array([found.poison for found in results], np.bool_).reshape(shape)
    flags = np.array([found.flags for found in results], np.uint8).reshape(shape) if want_flags else None
    return ArrayResult(
        ints_to_codes([found.code for found in results], dst.bits, shape), poison if poison.any() else None, flags
    )
