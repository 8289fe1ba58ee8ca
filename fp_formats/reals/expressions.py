"""Expressions of exact real numbers: what a function records that is called on reals, and the program made of it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from halfulp.fp_formats.numbers import Ratio, exact_number
from halfulp.fp_formats.reals import applying, exponentials, extended
from halfulp.fp_formats.reals.enclosing import Kind, Special
from halfulp.fp_formats.reals.extended import NAN, Enclosed, Number, infinity, is_kind, of_fraction, zero
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.suggestions import did_you_mean

MOST_STEPS = 1 << 20
"""Operations of the longest expression."""


class NeedsNumbers(BaseException):
    """Raised inside a user's function that compares reals without numbers: it is called again, once for each argument.

    A BaseException, since a function may catch every Exception.
    """


class Operation(NamedTuple):
    """An operation: on numbers (with the flag for rounding downward), and on balls; None without a plain ball."""

    apply: Callable[..., Number]
    ball: Callable[..., arb] | None


def _power_of_balls(x: arb, y: arb) -> arb:
    whole = y.unique_fmpz() if y.is_exact() else None
    if whole is not None and y.is_integer():
        power: arb = x ** int(whole)
        return power
    return (y * x.log()).exp() if x > 0 else arb.nan()


def _function(name: str) -> Operation:
    return Operation(lambda downward, x: applying.of_one(name, x), applying.guarded(name))


_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "add": Operation(lambda downward, x, y: exponentials.add(x, y, downward), lambda x, y: x + y),
        "subtract": Operation(lambda downward, x, y: exponentials.subtract(x, y, downward), lambda x, y: x - y),
        "multiply": Operation(lambda downward, x, y: exponentials.multiply(x, y), lambda x, y: x * y),
        "divide": Operation(lambda downward, x, y: exponentials.divide(x, y), lambda x, y: x / y),
        "power": Operation(lambda downward, x, y: applying.power(x, y), _power_of_balls),
        "negative": Operation(lambda downward, x: extended.negate(x), lambda x: -x),
        "absolute": Operation(lambda downward, x: extended.magnitude(x), abs),
        "maximum": Operation(lambda downward, x, y: extended.extremum(x, y, True), lambda x, y: x.max(y)),
        "minimum": Operation(lambda downward, x, y: extended.extremum(x, y, False), lambda x, y: x.min(y)),
        "pi": Operation(lambda downward: Enclosed(arb.pi), arb.pi),
        "e": Operation(lambda downward: Enclosed(arb.const_e), arb.const_e),
        **{
            name: Operation(lambda downward, x, y, name=name: applying.of_two(name, x, y), None)
            for name in ("atan2", "hypot", "rootn")
        },
        **{name: _function(name) for name in FUNCTIONS},
    }
)
"""The operations of expressions, by name."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "abs": "absolute", "fabs": "absolute", "pow": "power", "powf": "power", "float_power": "power",
        "max": "maximum", "fmax": "maximum", "min": "minimum", "fmin": "minimum", "true_divide": "divide",
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "arctan2": "atan2", "gamma": "tgamma", "ln": "log", "expit": "sigmoid",
    }
)  # fmt: skip
"""Further names of operations: those of NumPy, C and SciPy."""

ARITIES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"), 2),
        **dict.fromkeys(("atan2", "hypot", "rootn"), 2),
        **dict.fromkeys(("negative", "absolute", *FUNCTIONS), 1),
        **dict.fromkeys(("pi", "e"), 0),
    }
)
"""How many arguments an operation takes."""


def operation_named(name: str) -> str | None:
    """Return the operation of a name that users write; None for an unknown one."""
    name = ALIASES.get(name, name)
    return name if name in _OPERATIONS else None


def names_of_functions() -> list[str]:
    """Return the names that users may write, of operations with arguments."""
    return sorted({name for name in (*_OPERATIONS, *ALIASES) if ARITIES[ALIASES.get(name, name)]})


class Real:
    """An exact real number, or the argument of a function that is one: what `round` gives to functions.

    ``number``: an integer, a float (which is exactly its binary value), a fraction, a decimal, or text: "0.1" is 1/10.
    `Real.pi` and `Real.e` are the constants. Reals have the operators + - * / ** and abs, comparisons, and the
    functions of halfulp as methods: ``x.exp()``, ``x.erf()``, ``x.atan2(y)``, ``x.maximum(0)``. NumPy's functions take
    them: ``np.exp(x)``. Nothing is computed until `round` needs it, so nothing is rounded.

    A real cannot become a float: ``math.exp(x)`` raises TypeError.

        x = hu.Real("0.1")
        (x.exp() - 1) / x
    """

    __slots__ = ("arguments", "operation", "payload")

    operation: str
    arguments: tuple[Real, ...]
    payload: Any
    pi: Real
    e: Real

    def __init__(self, number: Any) -> None:
        made = as_real(number)
        if made is None:
            raise TypeError(f"a real is made of a number or its text, not of {type(number).__name__}")
        self.operation, self.arguments, self.payload = made.operation, made.arguments, made.payload

    # --- operators ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Real:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Real:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Real:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Real:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Real:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Real:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Real:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Real:
        return _binary("divide", other, self)

    def __pow__(self, other: Any) -> Real:
        return _binary("power", self, other)

    def __rpow__(self, other: Any) -> Real:
        return _binary("power", other, self)

    def __neg__(self) -> Real:
        return node("negative", self)

    def __pos__(self) -> Real:
        return self

    def __abs__(self) -> Real:
        return node("absolute", self)

    # --- comparisons --------------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> bool:
        return _compared(self, other, "<", lambda order: order < 0)

    def __le__(self, other: Any) -> bool:
        return _compared(self, other, "<=", lambda order: order <= 0)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, other, ">", lambda order: order > 0)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, other, ">=", lambda order: order >= 0)

    def __eq__(self, other: object) -> bool:
        return _compared(self, other, "==", lambda order: order == 0)

    def __ne__(self, other: object) -> bool:
        return _compared(self, other, "!=", lambda order: order != 0)

    def __bool__(self) -> bool:
        raise TypeError("a real is neither true nor false: write x != 0")

    # --- functions ----------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Real]:
        operation = None if name.startswith("_") else operation_named(name)
        if operation is None or not ARITIES[operation]:
            hint = None if name.startswith("_") else did_you_mean(name, names_of_functions())
            raise AttributeError(f"a real has no attribute {name!r}" + (f"; {hint}" if hint else ""))
        count = ARITIES[operation] - 1

        def method(*others: Any) -> Real:
            if len(others) != count:
                raise TypeError(f"{name} of a real takes {count} further arguments, not {len(others)}")
            return node(operation, self, *(_operand(name, other) for other in others))

        return method

    def square(self) -> Real:
        """Return x * x."""
        return self * self

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names_of_functions()})

    def __array_ufunc__(self, called: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        """Compute NumPy's function of reals; of an array of objects, for each element."""
        if method != "__call__" or keywords:
            raise TypeError(f"np.{called.__name__} of a real takes no keywords, and has no other form")
        if any(isinstance(each, np.ndarray) and each.shape for each in operands):
            return _spread(called, operands)
        name = called.__name__
        if name in _COMPARISONS:
            return _COMPARISONS[name](*(_operand(f"np.{name}", each) for each in operands))
        if name in ("square", "positive"):
            return operands[0] * operands[0] if name == "square" else operands[0]
        operation = operation_named(name)
        if operation is None or ARITIES[operation] != len(operands):
            raise TypeError(f"np.{name} is not a function of exact reals; they have {', '.join(names_of_functions())}")
        return node(operation, *(_operand(f"np.{name}", each) for each in operands))

    def __float__(self) -> float:
        raise TypeError(_NO_FLOAT)

    __int__ = __complex__ = __index__ = __round__ = __float__

    def __repr__(self) -> str:
        return f"<exact real: {self.operation}>"


_NO_FLOAT = (
    "an exact real cannot become a float: write x.exp() or np.exp(x) in place of math.exp(x), and hu.round(…) for a "
    "rounded result"
)


def _compared(x: Real, other: object, sign: str, holds: Callable[[int], bool]) -> bool:
    """Compare two reals. Raises NeedsNumbers if one is an argument without a number, ValueError for a NaN."""
    y = as_real(other)
    if y is None:
        if sign in ("==", "!="):
            return sign == "!="
        raise TypeError(f"cannot compare an exact real with {type(other).__name__}")
    first, second = Program.of([x, y], 0).numbers((), downward=False)
    if is_kind(first, Kind.NAN) or is_kind(second, Kind.NAN):
        raise ValueError(f"{sign} compares a NaN: test the argument before the function that is NaN there")
    return holds(extended.order(first, second))


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
    }
)


def _spread(called: np.ufunc, operands: Sequence[Any]) -> Any:
    """Apply a ufunc to arrays beside a real: the reals go into arrays of objects."""
    boxed = []
    for each in operands:
        box = np.empty((), object)
        box[()] = each
        boxed.append(box if isinstance(each, Real) else np.asarray(each, object))
    return called(*boxed)


def node(operation: str, *arguments: Real, payload: Any = None) -> Real:
    """Return the real that an operation gives."""
    made = object.__new__(Real)
    made.operation, made.arguments, made.payload = operation, arguments, payload
    return made


def argument(index: int) -> Real:
    """Return the argument number ``index`` of an expression, without a number."""
    return node("argument", payload=index)


def constant(number: Number) -> Real:
    """Return a number as a real."""
    return node("number", payload=number)


def as_real(given: Any) -> Real | None:
    """Return a real, or a number or its text as one; None for anything else."""
    if isinstance(given, Real):
        return given
    if isinstance(given, np.ndarray) and not given.shape:
        given = given.item()
    if isinstance(given, Fraction | int | float | str | np.generic | numbers.Rational) or hasattr(given, "as_tuple"):
        try:
            return constant(number_of(exact_number(given)))
        except TypeError:
            return None
    return None


def number_of(exact: int | float | Ratio) -> Number:
    """Return an exact number as a number of expressions."""
    if isinstance(exact, Ratio):
        found = Fraction(exact.numerator, exact.denominator)
        return of_fraction(-found if exact.sign else found) if found else zero(exact.sign)
    if isinstance(exact, float):
        if exact != exact:
            return NAN
        if exact in (np.inf, -np.inf):
            return infinity(int(exact < 0))
        return of_fraction(Fraction(exact)) if exact else zero(int(np.signbit(exact)))
    return of_fraction(Fraction(exact))


def _operand(name: str, given: Any) -> Real:
    found = None if isinstance(given, str) else as_real(given)
    if found is None:
        raise TypeError(f"{name} of an exact real takes reals and numbers, not {type(given).__name__}")
    return found


def _binary(operation: str, x: Any, y: Any) -> Real:
    first, second = (None if isinstance(each, str) else as_real(each) for each in (x, y))
    if first is None or second is None:
        return NotImplemented  # type: ignore[no-any-return]
    return node(operation, first, second)


Real.pi = node("pi")
Real.e = node("e")


# --- programs ---------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """An operation on earlier results. ``payload``: the number of a constant, or the index of an argument."""

    operation: str
    arguments: tuple[int, ...]
    payload: Any


class Program(NamedTuple):
    """The steps of an expression, in an order in which they can be computed; equal ones once. ``results``: the steps
    that are its results. ``arity``: the count of arguments.
    """

    steps: tuple[Step, ...]
    results: tuple[int, ...]
    arity: int

    @classmethod
    def of(cls, roots: Sequence[Real], count: int) -> Program:
        """Return the program of expressions. Raises NeedsNumbers for arguments beyond ``count``, OverflowError for
        more than `MOST_STEPS` operations.
        """
        known: dict[Step, int] = {}
        places: dict[int, int] = {}
        waiting = list(reversed(roots))
        while waiting:
            real = waiting[-1]
            if id(real) in places:
                waiting.pop()
                continue
            missing = [each for each in real.arguments if id(each) not in places]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if real.operation == "argument" and real.payload >= count:
                raise NeedsNumbers
            step = Step(real.operation, tuple(places[id(each)] for each in real.arguments), real.payload)
            places[id(real)] = known.setdefault(step, len(known))
            if len(known) > MOST_STEPS:
                raise OverflowError(f"the function has more than {MOST_STEPS} operations")
        return cls(tuple(known), tuple(places[id(root)] for root in roots), count)

    def numbers(self, arguments: Sequence[Number], downward: bool) -> tuple[Number, ...]:
        """Return the exact results. Raises `halfulp.fp_formats.reals.enclosing.Unsettled` where a case is undecided."""
        found: list[Number] = []
        for operation, places, payload in self.steps:
            if operation == "argument":
                found.append(arguments[payload])
            elif operation == "number":
                found.append(payload)
            else:
                found.append(_OPERATIONS[operation].apply(downward, *(found[place] for place in places)))
        return tuple(found[place] for place in self.results)

    def plain(self) -> Callable[[Sequence[arb]], list[arb]] | None:
        """Return the function on balls of nonzero finite arguments; None if an operation has no plain ball.

        A ball that is finite holds the result. Its precision is that of the context of this call.
        """
        fixed: list[tuple[int, arb]] = []
        given: list[tuple[int, int]] = []
        moves: list[tuple[int, Callable[..., arb], tuple[int, ...]]] = []
        for place, (operation, places, payload) in enumerate(self.steps):
            if operation == "argument":
                given.append((place, payload))
            elif operation == "number":
                if isinstance(payload, Special) and payload.kind is not Kind.ZERO:
                    return None
                fixed.append((place, extended.ball_of(payload)))
            else:
                ball = _OPERATIONS[operation].ball
                if ball is None:
                    return None
                if places:
                    moves.append((place, ball, places))
                else:
                    fixed.append((place, ball()))
        blank: list[arb] = [arb(0)] * len(self.steps)
        for place, value in fixed:
            blank[place] = value
        results = self.results

        def run(arguments: Sequence[arb]) -> list[arb]:
            found = blank.copy()
            for place, index in given:
                found[place] = arguments[index]
            for place, operation, places in moves:
                found[place] = operation(*[found[k] for k in places])
            return [found[place] for place in results]

        return run
