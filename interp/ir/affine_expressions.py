"""Affine expressions: sums, products with constants and symbols, divisions and remainders of dimensions and symbols.

The functions that build an expression simplify it as MLIR's do (AffineExpr.cpp), because mlir-opt prints the simplified
form: constants and symbols move to the right, ``d0 * 2 + d0`` becomes ``d0 * 3``, and ``d0 - (d0 floordiv 4) * 4``
becomes ``d0 mod 4``. Two things differ, so that printed text reads back to the same expression. A sum or product of
constants that exceeds 64 bits is not folded (MLIR wraps it). And ``a + (b + c)`` is built as ``a + b + c``, as it is
printed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

_MIN, _MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class AffineExpr:
    """The base class of affine expressions. ``symbolic``: whether the expression contains no dimension. ``depth``: how
    deeply it is nested.
    """

    symbolic = False
    depth = 0


@dataclass(frozen=True)
class Dimension(AffineExpr):
    """A dimension: ``d0``."""

    position: int


@dataclass(frozen=True)
class Symbol(AffineExpr):
    """A symbol: ``s0``."""

    position: int
    symbolic = True


@dataclass(frozen=True)
class AffineConstant(AffineExpr):
    """A 64-bit integer."""

    value: int
    symbolic = True


@dataclass(frozen=True, eq=False)
class Binary(AffineExpr):
    """An operator and its operands: ``lhs operator rhs``. It is ``+``, ``*``, ``floordiv``, ``ceildiv`` or ``mod``."""

    operator: str
    lhs: AffineExpr
    rhs: AffineExpr
    symbolic: bool = field(init=False)
    depth: int = field(init=False)
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "symbolic", self.lhs.symbolic and self.rhs.symbolic)
        set_(self, "depth", 1 + max(self.lhs.depth, self.rhs.depth))
        set_(self, "_hash", hash((self.operator, self.lhs, self.rhs)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Binary)
            and self._hash == other._hash
            and self.operator == other.operator
            and self.rhs == other.rhs
            and self.lhs == other.lhs
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Binary, (self.operator, self.lhs, self.rhs)


def _fits(value: int) -> bool:
    return _MIN <= value <= _MAX


def _of_constant(expr: AffineExpr, operator: str) -> tuple[AffineExpr, int] | None:
    """Return the parts of ``expr operator constant``."""
    if isinstance(expr, Binary) and expr.operator == operator and isinstance(expr.rhs, AffineConstant):
        return expr.lhs, expr.rhs.value
    return None


def _out_of_order(lhs: AffineExpr, rhs: AffineExpr) -> bool:
    """Tell whether both are dimensions, or both symbols, and the one with the larger number comes first."""
    return (isinstance(lhs, Dimension) and isinstance(rhs, Dimension) and lhs.position > rhs.position) or (
        isinstance(lhs, Symbol) and isinstance(rhs, Symbol) and lhs.position > rhs.position
    )


def add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Add two expressions."""
    if isinstance(lhs, AffineConstant) and isinstance(rhs, AffineConstant):
        total = lhs.value + rhs.value
        return AffineConstant(total) if _fits(total) else Binary("+", lhs, rhs)
    if isinstance(lhs, AffineConstant) or (lhs.symbolic and not rhs.symbolic) or _out_of_order(lhs, rhs):
        return add(rhs, lhs)
    inner = _of_constant(lhs, "+")
    if isinstance(rhs, AffineConstant):
        if rhs.value == 0:
            return lhs
        if inner is not None and _fits(inner[1] + rhs.value):
            return add(inner[0], AffineConstant(inner[1] + rhs.value))
    (first, one), (second, other) = (_of_constant(expr, "*") or (expr, 1) for expr in (lhs, rhs))
    if first == second and _fits(one + other):
        return multiply(first, AffineConstant(one + other))
    if isinstance(rhs, Binary) and rhs.operator == "+":
        return add(add(lhs, rhs.lhs), rhs.rhs)
    if inner is not None and not isinstance(rhs, AffineConstant):
        return add(add(inner[0], rhs), AffineConstant(inner[1]))
    return _remainder(lhs, rhs) or Binary("+", lhs, rhs)


def _remainder(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """Simplify ``e - (e floordiv q) * q`` to ``e mod q``."""
    product = _of_constant(rhs, "*")
    if product is None:
        return None
    quotient, factor = product
    if factor == -1 and isinstance(quotient, Binary) and quotient.operator == "*":
        inner, divisor = quotient.lhs, quotient.rhs
        matches = isinstance(inner, Binary) and inner.operator == "floordiv"
        if matches and isinstance(inner, Binary) and inner.rhs == divisor and inner.lhs == lhs:
            return modulo(lhs, divisor)
        return None
    if not (isinstance(quotient, Binary) and quotient.operator == "floordiv" and quotient.lhs == lhs):
        return None
    positive = isinstance(quotient.rhs, AffineConstant) and quotient.rhs.value > 0
    return modulo(lhs, quotient.rhs) if positive and quotient.rhs == AffineConstant(-factor) else None


def multiply(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Multiply two expressions, one of which must be symbolic."""
    if isinstance(lhs, AffineConstant) and isinstance(rhs, AffineConstant):
        product = lhs.value * rhs.value
        return AffineConstant(product) if _fits(product) else Binary("*", lhs, rhs)
    if not rhs.symbolic or isinstance(lhs, AffineConstant) or _out_of_order(lhs, rhs):
        return multiply(rhs, lhs)
    inner = _of_constant(lhs, "*")
    if isinstance(rhs, AffineConstant):
        if rhs.value in (0, 1):
            return lhs if rhs.value else rhs
        if inner is not None and _fits(inner[1] * rhs.value):
            return multiply(inner[0], AffineConstant(inner[1] * rhs.value))
    elif inner is not None:
        return multiply(multiply(inner[0], rhs), AffineConstant(inner[1]))
    return Binary("*", lhs, rhs)


def negate(expr: AffineExpr) -> AffineExpr:
    """Negate an expression: ``expr * -1``."""
    return multiply(expr, AffineConstant(-1))


def subtract(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Subtract two expressions."""
    return add(lhs, negate(rhs))


def floordiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Divide and round towards minus infinity. A division by 0 is not simplified."""
    if not isinstance(rhs, AffineConstant) or rhs.value == 0:
        return Binary("floordiv", lhs, rhs)
    divisor = rhs.value
    if isinstance(lhs, AffineConstant) and _fits(lhs.value // divisor):
        return AffineConstant(lhs.value // divisor)
    exact = _exact_quotient(lhs, divisor)
    if exact is not None:
        return exact
    if (
        isinstance(lhs, Binary)
        and lhs.operator == "+"
        and any(largest_known_divisor(part) % divisor == 0 for part in (lhs.lhs, lhs.rhs))
    ):
        return add(floordiv(lhs.lhs, rhs), floordiv(lhs.rhs, rhs))
    return Binary("floordiv", lhs, rhs)


def ceildiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Divide and round towards plus infinity. A division by 0 is not simplified."""
    if not isinstance(rhs, AffineConstant) or rhs.value == 0:
        return Binary("ceildiv", lhs, rhs)
    if isinstance(lhs, AffineConstant) and _fits(-(-lhs.value // rhs.value)):
        return AffineConstant(-(-lhs.value // rhs.value))
    return _exact_quotient(lhs, rhs.value) or Binary("ceildiv", lhs, rhs)


def _exact_quotient(lhs: AffineExpr, divisor: int) -> AffineExpr | None:
    """Simplify an exact quotient: ``e * 4`` divided by 2 is ``e * 2``, and anything divided by 1 is itself."""
    if divisor == 1:
        return lhs
    inner = _of_constant(lhs, "*")
    if inner is not None and inner[1] % divisor == 0 and _fits(inner[1] // divisor):
        return multiply(inner[0], AffineConstant(inner[1] // divisor))
    return None


def modulo(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Return the remainder, which is never negative. A remainder by 0 or a negative number is not simplified."""
    if not isinstance(rhs, AffineConstant) or rhs.value < 1:
        return Binary("mod", lhs, rhs)
    divisor = rhs.value
    if isinstance(lhs, AffineConstant):
        return AffineConstant(lhs.value % divisor)
    if largest_known_divisor(lhs) % divisor == 0:
        return AffineConstant(0)
    if isinstance(lhs, Binary) and lhs.operator == "+":
        for multiple, rest in ((lhs.lhs, lhs.rhs), (lhs.rhs, lhs.lhs)):
            if largest_known_divisor(multiple) % divisor == 0:
                return modulo(rest, rhs)
    inner = _of_constant(lhs, "mod")
    if inner is not None and inner[1] >= 1 and inner[1] % divisor == 0:
        return modulo(inner[0], rhs)
    return Binary("mod", lhs, rhs)


def largest_known_divisor(expr: AffineExpr) -> int:
    """Return a number that divides every value of the expression, as large as MLIR's rules find it; 0 for the constant
    0.
    """
    if isinstance(expr, AffineConstant):
        return abs(expr.value)
    if not isinstance(expr, Binary):
        return 1
    left = largest_known_divisor(expr.lhs)
    if expr.operator in ("floordiv", "ceildiv"):
        divisor = expr.rhs.value if isinstance(expr.rhs, AffineConstant) else 0
        return abs(left // divisor) if divisor and left % divisor == 0 else 1
    right = largest_known_divisor(expr.rhs)
    return left * right if expr.operator == "*" else gcd(left, right)


Linear = tuple[tuple[int | None, ...], int | None]
"""The factor of each dimension, and the constant that is added; None for one that depends on symbols."""


def linear(expr: AffineExpr, dimensions: int, symbols: Sequence[int] = ()) -> Linear | None:
    """Return an expression as a sum of dimensions times factors, and a constant, as MLIR reads the layouts of memrefs;
    None if it has another form. ``symbols``: the known values of symbols.
    """
    none = (0,) * dimensions
    if isinstance(expr, Dimension):
        return tuple([int(position == expr.position) for position in range(dimensions)]), 0
    if isinstance(expr, Symbol):
        return none, symbols[expr.position] if symbols else None
    if isinstance(expr, AffineConstant):
        return none, expr.value
    assert isinstance(expr, Binary)
    if expr.operator not in ("+", "*"):
        return None
    left, right = linear(expr.lhs, dimensions, symbols), linear(expr.rhs, dimensions, symbols)
    if left is None or (right is None and expr.operator == "+"):
        return None
    # The symbolic factor of a product is on the right.
    factors, constant = right or (none, None)
    if expr.operator == "+":
        return tuple(map(known_sum, left[0], factors)), known_sum(left[1], constant)
    return tuple([known_product(factor, constant) for factor in left[0]]), known_product(left[1], constant)


def known_sum(a: int | None, b: int | None) -> int | None:
    """Add two numbers; None stands for an unknown one."""
    return None if a is None or b is None else a + b


def known_product(a: int | None, b: int | None) -> int | None:
    """Multiply two numbers; None stands for an unknown one. Zero times an unknown number is zero."""
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b


_COMPUTE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": operator.mod,
}


def evaluated(expr: AffineExpr, dimensions: Sequence[Any], symbols: Sequence[Any] = ()) -> Any:
    """Return the value of an expression: Python integers give an exact integer, arrays an array.

    Raises ZeroDivisionError for a division of Python integers by 0.
    """
    if isinstance(expr, Dimension):
        return dimensions[expr.position]
    if isinstance(expr, Symbol):
        return symbols[expr.position]
    if isinstance(expr, AffineConstant):
        return expr.value
    assert isinstance(expr, Binary)
    return _COMPUTE[expr.operator](evaluated(expr.lhs, dimensions, symbols), evaluated(expr.rhs, dimensions, symbols))


OPERATORS: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "floordiv": floordiv,
    "ceildiv": ceildiv,
    "mod": modulo,
}


def spell(expr: AffineExpr, strong: bool = False) -> str:
    """Return the text of the expression as mlir-opt prints it. ``strong``: in parentheses, unless it is a name or a
    number.
    """
    if isinstance(expr, Dimension):
        return f"d{expr.position}"
    if isinstance(expr, Symbol):
        return f"s{expr.position}"
    if isinstance(expr, AffineConstant):
        if expr.value == _MIN:  # its magnitude does not fit 64 bits
            return f"({_MIN + 1} - 1)" if strong else f"{_MIN + 1} - 1"
        return str(expr.value)
    assert isinstance(expr, Binary)
    text = _spell_sum(expr) if expr.operator == "+" else _spell_product(expr)
    return f"({text})" if strong else text


def _spell_product(expr: Binary) -> str:
    if expr.operator == "*" and expr.rhs == AffineConstant(-1):
        return f"-{spell(expr.lhs, True)}"
    return f"{spell(expr.lhs, True)} {expr.operator} {spell(expr.rhs, True)}"


def _spell_sum(expr: Binary) -> str:
    """Return the text of a sum. Negative summands are subtracted, except for the smallest 64-bit number."""
    left, right = spell(expr.lhs), expr.rhs
    product = _of_constant(right, "*")
    if product is not None and product[1] == -1:
        is_sum = isinstance(product[0], Binary) and product[0].operator == "+"
        return f"{left} - {spell(product[0], is_sum)}"
    if product is not None and _MIN < product[1] < -1:
        return f"{left} - {spell(product[0], True)} * {-product[1]}"
    if isinstance(right, AffineConstant) and _MIN < right.value < 0:
        return f"{left} - {-right.value}"
    return f"{left} + {spell(right)}"
