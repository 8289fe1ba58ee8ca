"""Call a user's function of exact reals, given as a Python function or a text, and check its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import formats, numbers, scalar
from halfulp.fp_formats.policy import FloatPolicy, Rounding, as_rounding
from halfulp.fp_formats.reals import expressions
from halfulp.fp_formats.reals.extended import Number, infinity, of_fraction, zero
from halfulp.fp_formats.reals.formulas import FormulaError, parse
from halfulp.fp_formats.reals.functions import Unsettled
from halfulp.fp_formats.scalar import Result
from halfulp.fp_formats.spelling import shortened, value_text
from halfulp.inputs import ExactNumbers, names_arguments, numbers_of, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, ParseError, TypeMismatch
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins, PoisonIds
from halfulp.semantics.profile import Profile, as_profile

Function = Callable[[Sequence[expressions.Real]], list[expressions.Real]]
"""A function from the reals of one element or row to the results."""
_NAMES = ("x", "y", "z")


@dataclass(frozen=True)
class Called:
    """A function of ``count`` reals. ``program``: its steps; None if it compares reals, because its steps then depend
    on the numbers.
    """

    function: Function
    count: int
    program: expressions.Program | None

    def numbers(self, arguments: Sequence[Number], downward: bool) -> tuple[Number, ...]:
        """Return the exact results of the function for these numbers. Raises `Unsettled`, and InputError if the
        function raises an error.
        """
        program = self.program
        if program is None:
            program = self.program_for(arguments)
        return program.numbers(arguments if self.program is not None else (), downward)

    def program_for(self, arguments: Sequence[Number]) -> expressions.Program:
        """Return the steps for these numbers."""
        with _blaming_the_function():
            return expressions.Program.of(self.function([expressions.constant(number) for number in arguments]), 0)

    def require_repeatable(self, arguments: Sequence[Number]) -> None:
        """Raise InputError if the function does not compute the same when it is called again."""
        if self.program is None and self.program_for(arguments) != self.program_for(arguments):
            raise _not_repeatable()


def called(function: Function, count: int) -> Called:
    """Call a function twice with symbols, and return it as `Called`. Raises InputError for a function with side
    effects.
    """
    try:
        with _blaming_the_function():
            programs = [
                expressions.Program.of(function([expressions.argument(k) for k in range(count)]), count)
                for _ in range(2)
            ]
    except expressions.NeedsNumbers:
        return Called(function, count, None)
    if programs[0] != programs[1]:
        raise _not_repeatable()
    return Called(function, count, programs[0])


def _not_repeatable() -> InputError:
    hint = "it must depend on its arguments alone: no random numbers, counters or state"
    return InputError("the function computes something else when it is called again", hint=hint)


@contextmanager
def _blaming_the_function() -> Iterator[None]:
    """Convert errors that a user's function raises to InputError."""
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
    if isinstance(f, expressions.Real):
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
    """Raise TypeMismatch for a function that does not take ``count`` arguments, if that is known."""
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


def require_real(found: Any) -> expressions.Real:
    """Return a result of a user's function as a `Real`. Raises TypeMismatch for a result that may have been rounded,
    such as a float.
    """
    if isinstance(found, expressions.Real):
        return found
    if isinstance(found, int | Fraction) and not isinstance(found, bool):
        return expressions.Real(found)
    kind = type(found).__name__
    hint = "return what operators and functions of reals give; write hu.Real(…) around a number that is meant exactly"
    if found is None:
        hint = "end it with a return statement"
    if isinstance(found, bool):
        hint = "a comparison is not a number; write 1 if x > 0 else 0"
    raise TypeMismatch(f"the function returned {shortened(repr(found))} of type {kind}, not an exact real", hint=hint)


def _of_text(text: str, count: int) -> expressions.Real:
    name = expressions.operation_named(text.strip())
    if name is not None and expressions.ARITIES[name] and text.strip() not in _NAMES:
        if expressions.ARITIES[name] != count:
            raise TypeMismatch(f"{text.strip()} takes {expressions.ARITIES[name]} arguments, not {count}")
        return expressions.node(name, *map(expressions.argument, range(count)))
    if count > len(_NAMES):
        raise TypeMismatch(
            f"a formula can have only the arguments x, y and z, but {count} arrays are given",
            hint="give a Python function",
        )
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


def _substituted(root: expressions.Real, arguments: Sequence[expressions.Real]) -> expressions.Real:
    """Return an expression with reals in place of its arguments."""
    made: dict[int, expressions.Real] = {}
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
            made[id(real)] = expressions.node(
                real.operation, *(made[id(each)] for each in real.arguments), payload=real.payload
            )
    return made[id(root)]


# --- errors -----------------------------------------------------------------------------------------------------------


def unsettled(error: Unsettled, where: str, to: str) -> LimitExceeded:
    """Return the error for a result that no ball is precise enough to round. ``where``: the element, in words; ``to``:
    the format.
    """
    hint = (
        f"the exact result may be zero, a value of {to} or a midpoint of two, or the function compares equal numbers: "
        "simplify the function (write 1 for sin(x)**2 + cos(x)**2), or return the result for this argument directly"
    )
    return LimitExceeded(
        f"{where}: {error.precision} bits of precision are not enough to round the result: {error.ball}", hint=hint
    )


# --- operands ---------------------------------------------------------------------------------------------------------
#
# The arguments of `round` and `round_rows`: floats as codes, integers and other numbers exactly, with their poison.

TypeName = str | formats.FloatFormat | ty.Type
_OF_PYTHON = (bool, int, float)


@dataclass(frozen=True, eq=False)
class Operand:
    """An argument in one row. ``fmt``: the format of ``codes``, or None for the exact numbers ``exact``.

    ``typed``: whether the element type is that of an array or a value, not of a Python number.
    """

    shape: tuple[int, ...]
    fmt: formats.FloatFormat | None
    codes: formats.Codes | None
    exact: Sequence[numbers.Exact]
    poison: PoisonIds | None
    origins: Origins | None
    typed: bool

    @cached_property
    def distinct(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """For each distinct number, the place of its first element; for each element, the index of its distinct
        number.
        """
        if self.codes is not None and self.codes.ndim == 1:
            _, first, inverse = np.unique(self.codes, return_index=True, return_inverse=True)
            return first, inverse.reshape(-1)
        keys = formats.codes_to_ints(self.codes, 128) if self.codes is not None else [_key(each) for each in self.exact]
        known: dict[Any, int] = {}
        firsts: list[int] = []
        places = []
        for place, key in enumerate(keys):
            index = known.setdefault(key, len(known))
            if index == len(firsts):
                firsts.append(place)
            places.append(index)
        return np.array(firsts, np.intp), np.array(places, np.intp)

    def at(self, place: int, policy: FloatPolicy) -> Number | scalar.Unpacked:
        """Return the number at a place of the row; for a NaN, its code in its format."""
        if self.fmt is None:
            exact = self.exact[place]
            nan = isinstance(exact, float) and exact != exact
            return scalar.Unpacked(scalar.QUIET_NAN, 0, 0, 0) if nan else expressions.number_of(exact)
        x = scalar.operand(self.fmt, self.code(place), policy)
        if x.kind >= scalar.QUIET_NAN:
            return x
        if x.kind == scalar.INFINITE:
            return infinity(x.sign)
        return of_fraction(scalar.number(x)) if x.significand else zero(x.sign)

    def code(self, place: int) -> int:
        """Return the code at a place."""
        assert self.codes is not None
        assert self.fmt is not None
        return formats.codes_to_ints(self.codes[place : place + 1], self.fmt.bits)[0]

    def text(self, place: int) -> str:
        """Return the number at a place as text, with its code."""
        if self.fmt is None:
            exact = self.exact[place]
            return f"{exact.numerator}/{exact.denominator}" if isinstance(exact, numbers.Ratio) else str(exact)
        code = self.code(place)
        return f"{value_text(self.fmt, code)} (code 0x{code:0{-(-self.fmt.bits // 4)}X} of {self.fmt.name})"


def _key(exact: numbers.Exact) -> Any:
    return (type(exact), exact, isinstance(exact, float) and np.signbit(exact))


def operand(x: Any, what: str) -> Operand:
    """Return an input as an operand. Raises TypeMismatch for one that is neither floats nor other numbers."""
    taken = taken_as(x, what)
    typed = not isinstance(x, (*_OF_PYTHON, list, tuple)) or isinstance(x, np.generic)
    if isinstance(taken, ExactNumbers):
        return Operand(taken.shape, None, None, taken.numbers, None, None, False)
    element = taken.element_type
    if isinstance(element, ty.FloatType):
        width = element.format.bits
        codes = np.asarray(taken.bits).reshape((-1, taken.bits.shape[-1]) if width > 64 else -1)
        return Operand(taken.shape, element.format, codes, (), _flat(taken.poison), taken.origins, typed)
    if not isinstance(element, ty.IntegerType | ty.IndexType):
        raise TypeMismatch(
            f"{what}: elements of type '{element}' are not real numbers", hint="give floats, integers or fractions"
        )
    clean = Value(taken.type, taken.bits, None, None, None, taken.unsigned)
    return Operand(taken.shape, None, None, numbers_of(clean).numbers, _flat(taken.poison), taken.origins, False)


def _flat(poison: PoisonIds | None) -> PoisonIds | None:
    return None if poison is None else poison.reshape(-1)


def result_format(to: TypeName | None, operands: Sequence[Operand], name: str) -> formats.FloatFormat:
    """Return the format to round to: by default that of the operands.

    Raises TypeMismatch if they have no format or several formats, and if ``to`` is not a float type.
    """
    if to is not None:
        wanted = as_type(to)
        if not isinstance(wanted, ty.FloatType):
            hint = "round to a float type, and then to an integer by hu.convert"
            raise TypeMismatch(f"{name}: '{wanted}' is not a float type", hint=hint)
        return wanted.format
    typed = [each for each in operands if each.typed] or operands
    found = {each.fmt.name: each.fmt for each in typed if each.fmt is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    given = " and ".join(f"'{each}'" for each in found) if found else "exact numbers"
    raise TypeMismatch(
        f"{name}: the operands are {given}, so the type of the result is not known", hint='give one: to="bf16"'
    )


def mode_of(rounding: str | Rounding) -> Rounding:
    """Return a rounding mode. Raises InputError for the stochastic one."""
    mode = as_rounding(rounding)
    if mode is Rounding.STOCHASTIC:
        hint = "round to a wide type first, and then call hu.convert(…, rounding='stochastic')"
        raise InputError("functions of exact reals are not rounded stochastically", hint=hint)
    return mode


def merged_poison(
    columns: Sequence[tuple[PoisonIds | None, Origins | None]],
    lost: npt.NDArray[np.bool_],
    op: str,
    dst: formats.FloatFormat,
) -> tuple[PoisonIds | None, Origins | None]:
    """Return the poison of results: the poison of the operands, and new poison for results that the format does not
    have.
    """
    table = Origins()
    total = np.zeros(lost.shape, np.uint16)
    for poison, origins in columns:
        if poison is not None and origins is not None:
            total = np.maximum(total, table.adopt(poison, origins))
    fresh = lost & (total == 0)
    if fresh.any():
        first = tuple(int(k) for k in np.argwhere(fresh)[0])
        total = np.where(fresh, np.uint16(table.id_of(Origin(op, "", f"a NaN, which {dst.name} lacks", first))), total)
    return (total, table) if total.any() else (None, None)


# --- elementwise ------------------------------------------------------------------------------------------------------
#
# Round any function of exact reals once: `round`.

Places = npt.NDArray[np.intp]


@names_arguments
def round(
    function: Any,
    x: Any,
    *more: Any,
    to: TypeName | None = None,
    rounding: str | Rounding = "to_nearest_even",
    profile: Profile | str | None = None,
) -> Value:
    """Compute a function of exact real numbers, round the result once, and return it as a `Value`.

    ``function``: a Python function of `Real`s, ``lambda x: x / (1 + (-x).exp())``; a text, ``"x / (1 + exp(-x))"``, of
    the arguments x, y and z; or the name of a function, ``"gelu"``. Operators, constants and functions are exact. A
    float in a Python function means its exact binary value; a number in a text is decimal, so that 0.1 is 1/10.
    ``x``, ``more``: one input for each argument: numbers, arrays or `Value`s of any types, which broadcast and are not
    rounded.
    ``to``: the float type of the result; by default the type of the inputs.
    ``rounding``: any mode except stochastic.
    ``profile``: its float policy applies to the operands and the result, as for an op of `arith`.

    If an argument is NaN, the result is that NaN and ``function`` is not called. Operations on infinities and zeros
    follow IEEE 754: infinity - infinity is NaN, x / 0 is a pole, x - x is +0 (-0 if the rounding is downward),
    exp(-infinity) is +0, and a function outside of its domain is NaN. Only the result can overflow or underflow. A
    poison argument gives poison.

    ``function`` is called once, with symbols instead of numbers; if it compares reals, it is called once for each
    distinct element. Comparisons are exact. As long as the values are rational, halfulp computes with rational numbers;
    otherwise it computes with intervals (balls) of rising precision, up to 65,536 bits.

        >>> x = hu.convert([-1.0, 0.5, 100.0], "bf16")
        >>> hu.round(lambda x: x / (1 + (-x).exp()), x)
        Value(3xbf16=-0.27 0.31 100)
        >>> hu.round("x / (1 + exp(-x))", x, to="f8E4M3FN", rounding="downward")
        Value(3xf8E4M3FN=-0.28125 0.28125 96)

    Raises ParseError for a wrong text; TypeMismatch for inputs without a type, for a wrong number of arguments, and for
    a function that does not return a real, an integer or a Fraction; InputError if the function raises an error, or
    does something else when it is called again; LimitExceeded, with the element and its interval, if 65,536 bits do not
    determine a result or a comparison. This happens if a number is exactly a midpoint but is not computed with rational
    numbers only, as in sin(x)**2 + cos(x)**2.
    """
    called_by_element = elementwise(function, 1 + len(more))
    chosen, mode = as_profile(profile).arithmetic, mode_of(rounding)
    inputs = [operand(each, f"argument {k}") for k, each in enumerate((x, *more))]
    dst = result_format(to, inputs, "hu.round")
    try:
        shape = np.broadcast_shapes(*(each.shape for each in inputs))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in inputs)
        raise TypeMismatch(f"hu.round: the shapes {shapes} do not broadcast") from None
    function = called(called_by_element, len(inputs))
    elements = _Elements(inputs, shape)
    results = _Results(function, elements, dst, mode, chosen)
    return results.value()


class _Elements:
    """The elements of operands that broadcast, and the distinct ones among those that are not poison.

    ``firsts``: for each operand the places of the distinct elements in its row; ``where``: their places in the result;
    ``index``: for each clean element, the number of its distinct element; ``clean``: the mask, or None for all.
    """

    def __init__(self, operands: Sequence[Operand], shape: tuple[int, ...]) -> None:
        self.operands, self.shape = operands, shape
        self.poison = [
            (None if each.poison is None else _spread(each.poison, each.shape, shape), each.origins)
            for each in operands
        ]
        masks = [mask != 0 for mask, _ in self.poison if mask is not None]
        self.clean = None if not masks else ~np.logical_or.reduce(masks).reshape(-1)
        self.keys = np.zeros(int(np.prod(shape)), np.intp)
        for each in operands:
            first, inverse = each.distinct
            self.keys = self.keys * max(1, len(first)) + _spread(inverse, each.shape, shape).reshape(-1)
            if len(operands) > 1:  # so that keys stay small
                self.keys = np.unique(self.keys, return_inverse=True)[1].reshape(-1)
        picked = self.keys if self.clean is None else self.keys[self.clean]
        _, where, self.index = np.unique(picked, return_index=True, return_inverse=True)
        self.where: Places = where if self.clean is None else np.flatnonzero(self.clean)[where]
        self.firsts = [
            _spread(np.arange(int(np.prod(each.shape))), each.shape, shape).reshape(-1)[self.where] for each in operands
        ]

    def describe(self, k: int) -> str:
        """Return a distinct element in words, with its place."""
        place = [int(each) for each in np.unravel_index(int(self.where[k]), self.shape)] if self.shape else []
        names = (
            ("x", "y", "z") if len(self.operands) <= 3 else tuple(f"argument {n}" for n in range(len(self.operands)))
        )
        texts = [
            f"{name} = {each.text(int(first[k]))}"
            for name, each, first in zip(names, self.operands, self.firsts, strict=False)
        ]
        return (f"element {place}, " if place else "") + ", ".join(texts)


def _spread(flat: npt.NDArray[Any], shape: tuple[int, ...], to: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.broadcast_to(flat.reshape(shape), to)


class _Results:
    """The distinct results of a function."""

    def __init__(
        self, function: Called, elements: _Elements, dst: formats.FloatFormat, mode: Rounding, policy: FloatPolicy
    ) -> None:
        self.function, self.elements, self.dst = function, elements, dst
        self.mode, self.policy = mode, policy

    def value(self) -> Value:
        """Return the results of all elements."""
        elements, dst = self.elements, self.dst
        codes, lost = self._distinct()
        count = len(elements.keys)
        whole = np.zeros(formats.code_shape((count,), dst.bits), formats.storage_dtype(dst.bits))
        missing = np.zeros(count, np.bool_)
        clean = slice(None) if elements.clean is None else elements.clean
        whole[clean] = codes[elements.index.reshape(-1)]
        missing[clean] = lost[elements.index.reshape(-1)]
        poison, origins = merged_poison(elements.poison, missing.reshape(elements.shape), "round", dst)
        element = ty.FloatType(dst)
        container = ty.TensorType(elements.shape, element) if elements.shape else element
        return Value(container, whole.reshape(formats.code_shape(elements.shape, dst.bits)), poison, None, origins)

    def _distinct(self) -> tuple[formats.Codes, npt.NDArray[np.bool_]]:
        """Return the codes of the distinct elements, and which of them the format does not have."""
        count = len(self.elements.where)
        codes = np.zeros(formats.code_shape((count,), self.dst.bits), formats.storage_dtype(self.dst.bits))
        lost = np.zeros(count, np.bool_)
        rest = np.ones(count, np.bool_)
        columns = [(each.fmt, each.codes) for each in self.elements.operands]
        program = self.function.program
        if program is not None and count and all(fmt is not None for fmt, _ in columns):
            taken = [
                (fmt, column[first])
                for (fmt, column), first in zip(columns, self.elements.firsts, strict=True)
                if fmt is not None and column is not None
            ]
            found = expressions.settled(program, taken, self.mode, self.dst, self.policy)
            if found is not None:
                codes, rest = found.result.codes.copy(), ~found.mask
                if found.result.poison is not None:
                    lost = found.result.poison & found.mask
        places = np.flatnonzero(rest)
        if len(places):
            results = [self._one(int(k), first=k == places[0]) for k in places]
            codes[places] = formats.ints_to_codes([each.code for each in results], self.dst.bits, (len(results),))
            lost[places] = [each.poison for each in results]
        return codes, lost

    def _one(self, k: int, first: bool) -> Result:
        """Return the result of a distinct element, by the exact evaluation."""
        arguments: list[Number] = []
        for each, firsts in zip(self.elements.operands, self.elements.firsts, strict=True):
            found = each.at(int(firsts[k]), self.policy)
            if isinstance(found, scalar.Unpacked):
                flags = scalar.invalid_if_signalling(found)
                return scalar.encode_nan(self.dst, found, self.policy, flags, each.fmt or formats.FORMATS["f64"])
            arguments.append(found)
        try:
            if first:
                self.function.require_repeatable(arguments)
            (number,) = self.function.numbers(arguments, self.mode is Rounding.DOWNWARD)
            return expressions.rounded(number, self.dst, self.mode, self.policy)
        except Unsettled as error:
            raise unsettled(error, self.elements.describe(k), self.dst.name) from None
        except HalfulpError as error:
            error.notes = (*error.notes, (None, self.elements.describe(k)))
            raise
