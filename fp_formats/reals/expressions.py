"""Expressions of exact real numbers. A function of a user is called with `Real`s, which record what it computes; the
record becomes a program of steps.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, codes_to_ints
from halfulp.fp_formats.numbers import Ratio, exact_number
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.reals import arrays, extended, functions
from halfulp.fp_formats.reals.elementary import grid_of, round_exactly
from halfulp.fp_formats.scalar import FINITE, Result

# --- exponentials -----------------------------------------------------------------------------------------------------
#
# Sums, products and quotients in which exp(u) is a factor: exp(u) * exp(v) = exp(u + v), a + exp(u) = exp(v).
#
# For large u no ball of bounded precision tells 1 + exp(u) from exp(u). With v = u + log1p(a * exp(-u)), which is next
# to u, log(1 + exp(u)) and (exp(u) - 1) / (exp(u) + 1) are enclosed all the same.

_LARGE = 64


def add(x: extended.Number, y: extended.Number, downward: bool) -> extended.Number:
    """Return x + y. A sum of two numbers that cancel is +0, or -0 if ``downward``. If a term is exp(u) for a large u,
    the result is also written as an exponential.
    """
    total = extended.add(x, y, downward)
    if (
        isinstance(total, extended.Enclosed)
        and not isinstance(x, functions.Special)
        and not isinstance(y, functions.Special)
    ):
        for large, other in ((x, y), (y, x)):
            origin = _with_exponent(large, other, downward)
            if origin is not None:
                total.origin = origin
                return total
    return total


def _with_exponent(
    large: Fraction | extended.Enclosed, other: Fraction | extended.Enclosed, downward: bool
) -> tuple[str, extended.Number] | None:
    """Return the origin of ``other`` + ``large``, where ``large`` is ±exp(u) for a large u; ``other`` is smaller."""
    power = _power(large)
    if power is None:
        return None
    name, exponent = power
    if not isinstance(exponent, Fraction) or exponent < _LARGE:
        return None
    part = multiply(other if name == "exp" else extended.negate(other), extended.of_one("exp", -exponent))
    if not isinstance(part, extended.Enclosed) or not isinstance(part.about, functions.Near):
        return None
    if part.about.value or part.about.distance > -_LARGE // 2:
        return None
    return name, extended.add(exponent, extended.of_one("log1p", part), downward)


def subtract(x: extended.Number, y: extended.Number, downward: bool) -> extended.Number:
    """Return x - y, computed as `add` does."""
    return extended.subtract(x, y, downward) if x is y else add(x, extended.negate(y), downward)


def multiply(x: extended.Number, y: extended.Number) -> extended.Number:
    """Return x * y; the product of two exponentials is written as an exponential."""
    first, second = _power(x), _power(y)
    if first is None or second is None:
        return extended.multiply(x, y)
    return _signed(first[0] == second[0], extended.add(first[1], second[1], False))


def divide(x: extended.Number, y: extended.Number) -> extended.Number:
    """Return x / y; the quotient of two exponentials is written as an exponential."""
    first, second = _power(x), _power(y)
    if first is None or second is None:
        return extended.divide(x, y)
    return _signed(first[0] == second[0], extended.subtract(first[1], second[1], False))


def _power(x: extended.Number) -> tuple[str, extended.Number] | None:
    """Return ("exp", u) or ("-exp", u) for ±exp(u)."""
    origin = x.origin if isinstance(x, extended.Enclosed) else None
    return origin if origin is not None and origin[0] in ("exp", "-exp") else None


def _signed(positive: bool, exponent: extended.Number) -> extended.Number:
    found = extended.of_one("exp", exponent)
    return found if positive else extended.negate(found)


# --- expressions ------------------------------------------------------------------------------------------------------

MOST_STEPS = 1 << 20
"""Operations of the longest expression."""


class NeedsNumbers(BaseException):
    """Raised inside a user's function that compares arguments while these have no numbers yet. The function is then
    called again, once for each argument. It is a BaseException, so that a function that catches every Exception does
    not catch it.
    """


class Operation(NamedTuple):
    """An operation as a function of numbers, and as one of balls.

    ``apply``: the function of numbers; its last argument says whether the rounding mode is downward, which decides the
    sign of a zero. ``ball``: the function of balls; None if no ball can be given for all operands.
    """

    apply: Callable[..., extended.Number]
    ball: Callable[..., arb] | None


def _power_of_balls(x: arb, y: arb) -> arb:
    whole = y.unique_fmpz() if y.is_exact() else None
    if whole is not None and y.is_integer():
        power: arb = x ** int(whole)
        return power
    return (y * x.log()).exp() if x > 0 else arb.nan()


def _function(name: str) -> Operation:
    return Operation(lambda downward, x: extended.of_one(name, x), extended.guarded(name))


_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "add": Operation(lambda downward, x, y: add(x, y, downward), lambda x, y: x + y),
        "subtract": Operation(lambda downward, x, y: subtract(x, y, downward), lambda x, y: x - y),
        "multiply": Operation(lambda downward, x, y: multiply(x, y), lambda x, y: x * y),
        "divide": Operation(lambda downward, x, y: divide(x, y), lambda x, y: x / y),
        "power": Operation(lambda downward, x, y: extended.power(x, y), _power_of_balls),
        "negative": Operation(lambda downward, x: extended.negate(x), lambda x: -x),
        "absolute": Operation(lambda downward, x: extended.magnitude(x), abs),
        "maximum": Operation(lambda downward, x, y: extended.extremum(x, y, True), lambda x, y: x.max(y)),
        "minimum": Operation(lambda downward, x, y: extended.extremum(x, y, False), lambda x, y: x.min(y)),
        "pi": Operation(lambda downward: extended.Enclosed(arb.pi), arb.pi),
        "e": Operation(lambda downward: extended.Enclosed(arb.const_e), arb.const_e),
        **{
            name: Operation(lambda downward, x, y, name=name: extended.of_two(name, x, y), None)
            for name in ("atan2", "hypot", "rootn")
        },
        **{name: _function(name) for name in functions.FUNCTIONS},
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
        **dict.fromkeys(("negative", "absolute", *functions.FUNCTIONS), 1),
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
    """An exact real number. `round` calls functions with arguments of this class.

    ``number``: an integer, a float (it means its exact binary value), a fraction, a decimal, or text: "0.1" is 1/10.
    `Real.pi` and `Real.e` are the constants. Reals have the operators + - * / ** and abs, comparisons, and the
    functions of halfulp as methods: ``x.exp()``, ``x.erf()``, ``x.atan2(y)``, ``x.maximum(0)``. NumPy's functions
    accept them: ``np.exp(x)``. An operation only records what to compute; `round` computes it, so that no intermediate
    result is rounded.

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
        """Compute NumPy's function of reals; for an array of objects, that of each element."""
        if method != "__call__" or keywords:
            raise TypeError(
                f"np.{called.__name__} of exact reals takes no keyword arguments, and has no methods such as reduce"
            )
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
    if extended.is_kind(first, functions.Kind.NAN) or extended.is_kind(second, functions.Kind.NAN):
        raise ValueError(f"{sign} compares a NaN: first test the argument for which the function is NaN")
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
    """Apply a ufunc to arrays together with a real, for which the arrays are converted to arrays of objects."""
    boxed = []
    for each in operands:
        box = np.empty((), object)
        box[()] = each
        boxed.append(box if isinstance(each, Real) else np.asarray(each, object))
    return called(*boxed)


def node(operation: str, *arguments: Real, payload: Any = None) -> Real:
    """Return the real number that an operation gives for these arguments, without computing it. ``payload``: see
    `Step`.
    """
    made = object.__new__(Real)
    made.operation, made.arguments, made.payload = operation, arguments, payload
    return made


def argument(index: int) -> Real:
    """Return the argument number ``index`` of an expression, which has no number yet."""
    return node("argument", payload=index)


def constant(number: extended.Number) -> Real:
    """Return an exact number as a `Real`."""
    return node("number", payload=number)


def as_real(given: Any) -> Real | None:
    """Return an object as a `Real`: a `Real` unchanged, a number or the text of a number converted; None for any other
    object.
    """
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


def number_of(exact: int | float | Ratio) -> extended.Number:
    """Return an exact number in the form that expressions use."""
    if isinstance(exact, Ratio):
        found = Fraction(exact.numerator, exact.denominator)
        return extended.of_fraction(-found if exact.sign else found) if found else extended.zero(exact.sign)
    if isinstance(exact, float):
        if exact != exact:
            return extended.NAN
        if exact in (np.inf, -np.inf):
            return extended.infinity(int(exact < 0))
        return extended.of_fraction(Fraction(exact)) if exact else extended.zero(int(np.signbit(exact)))
    return extended.of_fraction(Fraction(exact))


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
    """An operation on the results of earlier steps. ``payload``: for a constant its number, for an argument
    its index.
    """

    operation: str
    arguments: tuple[int, ...]
    payload: Any


class Program(NamedTuple):
    """The steps of an expression, in an order in which they can be computed; equal steps occur once. ``results``: the
    steps that are its results. ``arity``: the number of arguments.
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

    def numbers(self, arguments: Sequence[extended.Number], downward: bool) -> tuple[extended.Number, ...]:
        """Return the exact results of the program for these arguments. ``downward``: whether the rounding mode is
        downward. Raises `halfulp.fp_formats.reals.functions.Unsettled` if no ball decides a case.
        """
        found: list[extended.Number] = []
        for operation, places, payload in self.steps:
            if operation == "argument":
                found.append(arguments[payload])
            elif operation == "number":
                found.append(payload)
            else:
                found.append(_OPERATIONS[operation].apply(downward, *(found[place] for place in places)))
        return tuple(found[place] for place in self.results)

    def plain(self) -> Callable[[Sequence[arb]], list[arb]] | None:
        """Return the program as a function on balls of finite arguments other than 0; None if an operation has no such
        function.

        If a ball that it returns is finite, it contains the result. The precision is that of the context of the call.
        """
        fixed: list[tuple[int, arb]] = []
        given: list[tuple[int, int]] = []
        moves: list[tuple[int, Callable[..., arb], tuple[int, ...]]] = []
        for place, (operation, places, payload) in enumerate(self.steps):
            if operation == "argument":
                given.append((place, payload))
            elif operation == "number":
                if isinstance(payload, functions.Special) and payload.kind is not functions.Kind.ZERO:
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


# --- rounding once ----------------------------------------------------------------------------------------------------
#
# Round the results of programs of exact reals once: by one ball of fixed precision on arrays, and the rest exactly.

_NEAREST = -2 * functions.BEYOND
"""A distance from a rational number that no grid resolves; a smaller one is replaced by it, which is still a bound."""
_BEYOND_ALL = 3 * functions.BEYOND // 4 + 64
"""Numbers above this power of two are beyond the largest value of each format (exponents below 3 * 2**15)."""


def rounded(x: extended.Number, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> Result:
    """Return a number rounded once. Raises `Unsettled` if no ball of `MOST_BITS` bits determines it."""
    return round_exactly(dst, located(x, grid_of(dst)) if isinstance(x, extended.Enclosed) else x, rounding, policy)


def located(x: extended.Enclosed, grid: functions.Grid) -> Fraction | functions.Special | functions.Cell:
    """Return where a number lies: its cell of ``grid``, or the number itself if its balls are exact."""
    about = x.about
    if isinstance(about, extended.Above) and about.exponent >= _BEYOND_ALL:
        return functions.Cell(int(about.sign < 0), 1, functions.BEYOND)
    if isinstance(about, functions.Near):
        for nearest in (_close(about, grid), _NEAREST):  # the short bound is quicker, and nearly always enough
            cell = functions.cell_near(about._replace(distance=max(about.distance, nearest)), grid)
            if cell is not None:
                return cell
    last = arb.nan()

    def wider() -> arb:
        # A number that is not known to be irrational may lie at the end of its ball, on the grid.
        nonlocal last
        last = x.ball()
        return (
            last + arb(0, last.abs_upper() * functions.exact_ball(1, -2 * extended.MOST_BITS))
            if last.is_finite()
            else last
        )

    for attempt in functions.attempts(wider, grid, extended.MOST_BITS):
        if last.is_exact() and last.is_finite():
            return _exact(last)
        if attempt.cell is not None:
            return attempt.cell
    raise functions.Unsettled(last.str(20), extended.MOST_BITS)


def _close(near: functions.Near, grid: functions.Grid) -> int:
    """Return the exponent of a distance that is far smaller than the spacing of the grid around a number."""
    return grid(functions.exponent_of(near.value) - 2 if near.value else -functions.BEYOND) - 64


def _exact(ball: arb) -> Fraction | functions.Special:
    significand, exponent = ball.man_exp()
    if not significand:
        return extended.zero(0)
    # Beyond the range of each format, all numbers round alike.
    return Fraction(int(significand)) * Fraction(2) ** max(
        -2 * functions.BEYOND, min(2 * functions.BEYOND, int(exponent))
    )


def settled(
    program: Program,
    columns: Sequence[tuple[FloatFormat, Codes]],
    rounding: int,
    dst: FloatFormat,
    policy: FloatPolicy,
) -> arrays.Settled | None:
    """Run a program with one result on columns of codes, and round each result that one ball determines. None if the
    program has no function on balls (see `Program.plain`).

    ``columns``: the format and the codes of each argument. The mask of the returned `Settled` is False where an operand
    is a zero, an infinity or a NaN.
    """
    taken = [arrays.operands(fmt, codes, policy) for fmt, codes in columns]
    known: Mask = taken[0][1]
    for _, mask in taken[1:]:
        known = known & mask
    if program.plain() is None:
        return None

    def balls() -> Iterator[arb]:
        run = program.plain()  # at the precision of the context
        assert run is not None
        for arguments in zip(*(column for column, _ in taken), strict=True):
            yield run(arguments)[0]

    return arrays.settled(balls, known, rounding, policy, dst, False)


def settled_rows(
    program: Program, fmt: FloatFormat, codes: Codes, rounding: int, dst: FloatFormat, policy: FloatPolicy
) -> arrays.Settled | None:
    """Run a program on each row of ``codes``, [rows, elements], and round its results as `settled` does.

    All results are in one dimension: those of the first row, then those of the second row and so on. The mask of the
    result is False for the rows that have an infinity or a NaN. Unlike in `settled`, it can be True for a row with
    zeros. Return None if the program has no plain balls.
    """
    if program.plain() is None:
        return None
    width = program.arity
    flat = codes.reshape((-1, codes.shape[-1])) if fmt.bits > 64 else codes.reshape(-1)
    balls, nonzero = arrays.operands(fmt, flat, policy)
    zeros = [scalar.operand(fmt, code, policy) for code in codes_to_ints(flat[~nonzero], fmt.bits)]
    finite = nonzero.copy()
    finite[~nonzero] = [x.kind == FINITE for x in zeros]
    known = finite.reshape(len(codes), width).all(axis=1)
    for place in np.flatnonzero(~nonzero).tolist():
        balls[place] = arb(0)

    def results() -> Iterator[arb]:
        run = program.plain()  # at the precision of the context
        assert run is not None
        for row in range(len(codes)):
            yield from run(balls[row * width : (row + 1) * width])

    mask = np.repeat(known, len(program.results))
    return arrays.settled(results, mask, rounding, policy, dst, False)
