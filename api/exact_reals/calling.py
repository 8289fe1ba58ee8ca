"""Call what a user gives as a function of exact reals, a Python function or a text, and check what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from halfulp.fp_formats.reals.enclosing import Unsettled
from halfulp.fp_formats.reals.expressions import (
    ARITIES,
    NeedsNumbers,
    Program,
    Real,
    argument,
    constant,
    node,
    operation_named,
)
from halfulp.fp_formats.reals.extended import Number
from halfulp.fp_formats.reals.formulas import FormulaError, parse
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, ParseError, TypeMismatch
from halfulp.interp.ir.locations import FileLineCol

Function = Callable[[Sequence[Real]], list[Real]]
"""From the reals of one element or row, the results."""
_NAMES = ("x", "y", "z")


@dataclass(frozen=True)
class Called:
    """A function of ``count`` reals. ``program``: its steps, or None if it compares, so that it needs the numbers."""

    function: Function
    count: int
    program: Program | None

    def numbers(self, arguments: Sequence[Number], downward: bool) -> tuple[Number, ...]:
        """Return the exact results for numbers. Raises `Unsettled`, and InputError for what the function raises."""
        program = self.program
        if program is None:
            program = self.program_for(arguments)
        return program.numbers(arguments if self.program is not None else (), downward)

    def program_for(self, arguments: Sequence[Number]) -> Program:
        """Return the steps for these numbers."""
        with _blaming_the_function():
            return Program.of(self.function([constant(number) for number in arguments]), 0)

    def require_repeatable(self, arguments: Sequence[Number]) -> None:
        """Raise InputError for a function that does something else the second time."""
        if self.program is None and self.program_for(arguments) != self.program_for(arguments):
            raise _not_repeatable()


def called(function: Function, count: int) -> Called:
    """Return a function that has been called without numbers, twice. Raises InputError for one with side effects."""
    try:
        with _blaming_the_function():
            programs = [Program.of(function([argument(k) for k in range(count)]), count) for _ in range(2)]
    except NeedsNumbers:
        return Called(function, count, None)
    if programs[0] != programs[1]:
        raise _not_repeatable()
    return Called(function, count, programs[0])


def _not_repeatable() -> InputError:
    hint = "it must depend on its arguments alone: no random numbers, counters or state"
    return InputError("the function computes something else when it is called again", hint=hint)


@contextmanager
def _blaming_the_function() -> Iterator[None]:
    """Turn what a user's function raises into an InputError."""
    try:
        yield
    except (HalfulpError, Unsettled):
        raise
    except OverflowError as error:
        raise LimitExceeded(str(error)) from None
    except Exception as error:
        raise InputError(f"the function raised {type(error).__name__}: {error}") from error


# --- functions of elements --------------------------------------------------------------------------------------------


def elementwise(f: Any, count: int) -> Function:
    """Return a function of ``count`` arguments, given as a Python function, a text or a name. Raises ParseError for a
    wrong text, TypeMismatch for anything else and for a wrong number of arguments.
    """
    if isinstance(f, Real):
        raise TypeMismatch("f is a real, not a function", hint="write lambda x: …")
    if isinstance(f, str):
        root = _of_text(f, count)
        return lambda arguments: [_substituted(root, arguments)]
    if not callable(f):
        hint = 'the function comes first, as in hu.round("x/(1+exp(-x))", x); hu.convert(x, to="bf16") rounds numbers'
        raise TypeMismatch(f"f is of type {type(f).__name__}", hint=hint)
    require_arity(f, count)
    return lambda arguments: [require_real(f(*arguments))]


def require_arity(f: Callable[..., Any], count: int) -> None:
    """Raise TypeMismatch for a function that does not take ``count`` arguments, as far as that is known."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        name = getattr(f, "__name__", "the function")
        message = f"{name}{signature} cannot be called with {count} argument{'s' * (count != 1)}: {error}"
        raise TypeMismatch(message, hint="give one array for each argument: hu.round(f, x, y)") from None


def require_real(found: Any) -> Real:
    """Return a result of a user's function as a real. Raises TypeMismatch for one that may have been rounded."""
    if isinstance(found, Real):
        return found
    if isinstance(found, int | Fraction) and not isinstance(found, bool):
        return Real(found)
    kind = type(found).__name__
    hint = "return what operators and functions of reals give; write hu.Real(…) around a number that is meant exactly"
    if found is None:
        hint = "end it with a return statement"
    if isinstance(found, bool):
        hint = "a comparison is not a number; write 1 if x > 0 else 0"
    raise TypeMismatch(f"the function returned {_short(found)} of type {kind}, not an exact real", hint=hint)


def _short(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 40 else text[:37] + "..."


def _of_text(text: str, count: int) -> Real:
    name = operation_named(text.strip())
    if name is not None and ARITIES[name] and text.strip() not in _NAMES:
        if ARITIES[name] != count:
            raise TypeMismatch(f"{text.strip()} takes {ARITIES[name]} arguments, not {count}")
        return node(name, *map(argument, range(count)))
    if count > len(_NAMES):
        raise TypeMismatch(f"a text has the arguments x, y and z, not {count}", hint="give a Python function")
    try:
        return parse(text, _NAMES[:count])
    except FormulaError as error:
        raise _parse_error(text, error) from None


def _parse_error(text: str, error: FormulaError) -> ParseError:
    before = text[: error.place]
    line, column = before.count("\n") + 1, error.place - (before.rfind("\n") + 1) + 1
    shown = text.splitlines()[line - 1] if line <= len(text.splitlines()) else ""
    message = str(error)
    if 0 < len(shown) <= 120:
        message = f"{message}\n  {shown}\n  {' ' * (column - 1)}^"
    return ParseError(message, location=FileLineCol("<formula>", line, column), hint=error.hint)


def _substituted(root: Real, arguments: Sequence[Real]) -> Real:
    """Return an expression with reals in place of its arguments."""
    made: dict[int, Real] = {}
    waiting = [root]
    while waiting:
        real = waiting[-1]
        missing = [each for each in real.arguments if id(each) not in made]
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        if real.operation == "argument":
            made[id(real)] = arguments[real.payload]
        elif id(real) not in made:
            made[id(real)] = node(real.operation, *(made[id(each)] for each in real.arguments), payload=real.payload)
    return made[id(root)]


# --- errors -----------------------------------------------------------------------------------------------------------


def unsettled(error: Unsettled, where: str, to: str) -> LimitExceeded:
    """Return the error for a result that no ball settles."""
    hint = (
        f"it may be exactly a value of {to}, a midpoint of two, or zero, or the function compares equal numbers: "
        "simplify it (1 in place of sin(x)**2 + cos(x)**2), or test for this argument"
    )
    return LimitExceeded(f"{where}: {error.precision} bits do not settle the result: {error.ball}", hint=hint)
