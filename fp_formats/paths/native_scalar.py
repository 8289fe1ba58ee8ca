"""Compute f32 and f64 on single codes by Python's own floats, which are f64. This makes scalar programs quick.

Every function returns an implementation: a function of Python integers that returns the same as ``exactly``, the
specified implementation. It calls ``exactly`` where the machine may differ: for NaN results, and where a result leaves
the range of f32. Outside of its domain, which is that of the native paths of `fast`, a function returns ``exactly``
itself.

f32 is computed in f64 and rounded again, which equals rounding once. Products are exact in f64. A sum or difference
that is not exact has a bit far below the last place of f32, and a subnormal one is exact. A quotient of significands of
24 bits either has at most 25 bits, or its distance to all such numbers is larger than the error of f64 (Figueroa: 53
bits are at least 2 * 24 + 2); this also holds with fewer bits, so for subnormals.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from struct import Struct
from typing import Any

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.paths.domains import F32, F64, NATIVE, conversion_path
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RNE, RZ

Implementation = Callable[..., Any]

_CODE = {F32: Struct("<I"), F64: Struct("<Q")}
_FLOAT = {F32: Struct("<f"), F64: Struct("<d")}
_CODES = {F32: Struct("<II"), F64: Struct("<QQ")}
_FLOATS = {F32: Struct("<ff"), F64: Struct("<dd")}

_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}
# The relation for which the first operand is the result, and the operation for zeros of either sign.
_EXTREMA: dict[str, tuple[Callable[[float, float], bool], Callable[[int, int], int]]] = {
    "maximum": (operator.gt, operator.and_),
    "minimum": (operator.lt, operator.or_),
    "maximum_number": (operator.gt, operator.and_),
    "minimum_number": (operator.lt, operator.or_),
}
# By MLIR's number. Comparisons with a NaN are false.
_RELATIONS: dict[int, Callable[[float, float], bool]] = {
    1: operator.eq,
    2: operator.gt,
    3: operator.ge,
    4: operator.lt,
    5: operator.le,
    6: lambda x, y: x < y or x > y,
    7: lambda x, y: x == x and y == y,
    8: lambda x, y: not (x < y or x > y),
    9: lambda x, y: not x <= y,
    10: lambda x, y: not x < y,
    11: lambda x, y: not x >= y,
    12: lambda x, y: not x > y,
    13: operator.ne,
    14: lambda x, y: not (x == x and y == y),
}


def binary(name: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy, exactly: Implementation) -> Implementation:
    """Return an implementation of an operation with two operands and a result of one format. ``name``: its name in
    `scalar`. ``exactly``: the specified implementation.
    """
    if fast.path_of(name, fmt, rounding, policy) != "native":
        return exactly
    codes, floats, code, packed = _CODES[fmt].pack, _FLOATS[fmt].unpack, _CODE[fmt].unpack, _FLOAT[fmt].pack
    if name in _EXTREMA:
        better, of_zeros = _EXTREMA[name]

        def extremum(a: int, b: int) -> Any:
            x, y = floats(codes(a, b))
            if x == y:
                return of_zeros(a, b)
            if better(x, y):
                return a
            return b if better(y, x) else exactly(a, b)

        return extremum
    compute = _ARITHMETIC[name]

    def arithmetic(a: int, b: int) -> Any:
        try:
            x, y = floats(codes(a, b))
            result = compute(x, y)
            if result == result:
                return code(packed(result))[0]
        except (OverflowError, ZeroDivisionError):
            pass
        return exactly(a, b)

    return arithmetic


def compare(predicate: int, fmt: FloatFormat, policy: FloatPolicy, exactly: Implementation) -> Implementation:
    """Return an implementation of a comparison with MLIR's predicate number."""
    if predicate not in _RELATIONS or fast.path_of("compare", fmt, RNE, policy) != "native":
        return exactly
    codes, floats = _CODES[fmt].pack, _FLOATS[fmt].unpack
    holds = _RELATIONS[predicate]

    def relation(a: int, b: int) -> Any:
        x, y = floats(codes(a, b))
        return 1 if holds(x, y) else 0

    return relation


def convert(
    src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, exactly: Implementation
) -> Implementation:
    """Return an implementation of the conversions between f32 and f64."""
    if {src, dst} != {F32, F64} or conversion_path(src, dst, rounding, policy).kind != "native":
        return exactly
    pack_code, unpack_float = _CODE[src].pack, _FLOAT[src].unpack
    pack_float, unpack_code = _FLOAT[dst].pack, _CODE[dst].unpack

    def conversion(a: int) -> Any:
        (x,) = unpack_float(pack_code(a))
        if x - x == 0:  # neither NaN nor infinite: the policy may change those
            try:
                return unpack_code(pack_float(x))[0]
            except OverflowError:
                pass
        return exactly(a)

    return conversion


def from_integer(dst: FloatFormat, width: int, signed: bool, rounding: int, exactly: Implementation) -> Implementation:
    """Return an implementation of the conversion of integers of up to 64 bits, given as codes, to ``dst``."""
    if dst not in NATIVE or rounding != RNE or not 0 < width <= 64:
        return exactly
    pack, unpack = _FLOAT[dst].pack, _CODE[dst].unpack
    half, modulus = 1 << (width - 1) if signed else 1 << width, 1 << width
    limit = 1 << (53 if dst == F32 else 64)  # up to here f64 has every integer, so that f32 is not rounded twice

    def conversion(a: int) -> Any:
        number = a if a < half else a - modulus
        if -limit <= number <= limit:
            return unpack(pack(number))[0]
        return exactly(a)

    return conversion


def to_integer(src: FloatFormat, width: int, signed: bool, rounding: int, exactly: Implementation) -> Implementation:
    """Return an implementation of the conversion to integers of ``width`` bits, toward zero."""
    if src not in NATIVE or rounding != RZ or not width:
        return exactly
    pack, unpack = _CODE[src].pack, _FLOAT[src].unpack
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
    mask = (1 << width) - 1

    def conversion(a: int) -> Any:
        (x,) = unpack(pack(a))
        try:
            number = int(x)
        except (OverflowError, ValueError):
            return exactly(a)
        return number & mask if low <= number < high else exactly(a)

    return conversion
