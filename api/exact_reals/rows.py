"""Round functions of whole rows of exact reals once: `round_rows`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.exact_reals import calling
from halfulp.exact_reals.calling import TypeName
from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import FORMATS, FloatFormat, code_shape, ints_to_codes, storage_dtype
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.fp_formats.reals.expressions import Real, rounded, settled_rows
from halfulp.fp_formats.reals.extended import Number
from halfulp.fp_formats.reals.functions import Unsettled
from halfulp.fp_formats.scalar import Result
from halfulp.inputs import names_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile, as_profile

# --- named rows -------------------------------------------------------------------------------------------------------
#
# The functions of whole rows that have names, as functions of lists of reals: the formulas of NumPy and PyTorch.

Row = Sequence[Real]


class NamedRow(NamedTuple):
    """A function of a row: of the row and the parameter ``eps`` if it takes one. ``formula``: what it computes."""

    function: Callable[[Row, Real], list[Real] | Real]
    formula: str
    takes_eps: bool = False


def _total(row: Row) -> Real:
    """Add pairs of neighbours, then pairs of sums. Any order gives the exact sum, and this one nests the fewest
    additions.
    """
    while len(row) > 1:
        row = [sum(row[k + 1 : k + 2], row[k]) for k in range(0, len(row), 2)]
    return row[0]


def _largest(row: Row) -> Real:
    found = row[0]
    for x in row[1:]:
        found = found.maximum(x)
    return found


def _mean(row: Row) -> Real:
    return _total(row) / len(row)


def _mean_square(row: Row) -> Real:
    return _total([x * x for x in row]) / len(row)


def _centred(row: Row) -> list[Real]:
    mean = _mean(row)
    return [x - mean for x in row]


# Differences to the largest element leave the results as they are, and exp of them needs no more bits than the result.


def _exponentials(row: Row) -> tuple[Real, list[Real]]:
    largest = _largest(row)
    return largest, [(x - largest).exp() for x in row]


def _softmax(row: Row, eps: Real) -> list[Real]:
    _, exponentials = _exponentials(row)
    total = _total(exponentials)
    return [each / total for each in exponentials]


def _log_softmax(row: Row, eps: Real) -> list[Real]:
    largest, exponentials = _exponentials(row)
    logarithm = _total(exponentials).log()
    return [x - largest - logarithm for x in row]


def _logsumexp(row: Row, eps: Real) -> Real:
    largest, exponentials = _exponentials(row)
    return largest + _total(exponentials).log()


def _layer_norm(row: Row, eps: Real) -> list[Real]:
    centred = _centred(row)
    deviation = (_mean_square(centred) + eps).sqrt()
    return [x / deviation for x in centred]


def _rms_norm(row: Row, eps: Real) -> list[Real]:
    size = (_mean_square(row) + eps).sqrt()
    return [x / size for x in row]


NAMED_ROWS: Mapping[str, NamedRow] = MappingProxyType(
    {
        "softmax": NamedRow(_softmax, "exp(x) / sum(exp(x))"),
        "log_softmax": NamedRow(_log_softmax, "x - log(sum(exp(x)))"),
        "logsumexp": NamedRow(_logsumexp, "log(sum(exp(x)))"),
        "layer_norm": NamedRow(_layer_norm, "(x - mean(x)) / sqrt(var(x) + eps)", True),
        "rms_norm": NamedRow(_rms_norm, "x / sqrt(mean(x**2) + eps)", True),
        "mean": NamedRow(lambda row, eps: _mean(row), "sum(x) / n"),
        "var": NamedRow(lambda row, eps: _mean_square(_centred(row)), "mean((x - mean(x))**2)"),
        "std": NamedRow(lambda row, eps: _mean_square(_centred(row)).sqrt(), "sqrt(var(x))"),
        "l2_norm": NamedRow(lambda row, eps: _total([x * x for x in row]).sqrt(), "sqrt(sum(x**2))"),
    }
)
"""The named functions of rows. var and std divide by the count of elements."""


# --- rows -------------------------------------------------------------------------------------------------------------


@names_arguments
def round_rows(
    function: Any,
    x: Any,
    axis: int = -1,
    *,
    to: TypeName | None = None,
    eps: Any = None,
    rounding: str | Rounding = "to_nearest_even",
    profile: Profile | str | None = None,
) -> Value:
    """Compute a function of each row of exact real numbers, round each of its results once, and return a `Value`.

    ``function``: a name: "softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm", "mean", "var", "std",
    "l2_norm" (var and std divide by the number of elements); or a Python function that takes a list of `Real`s and
    returns a real or a list of reals.
    ``x``: an array, a `Value` or nested lists with at least one axis.
    ``axis``: the axis of the rows. In the result, a list of results replaces this axis, and a single result removes it.
    ``eps``: the exact number that layer_norm and rms_norm add under the root: "1e-5" is 1/100000, and the float 1e-5 is
    its binary value; by default 0.
    ``to``, ``rounding``, ``profile``: as for `round`.

    If a row has a NaN, all results of the row are its first NaN. If a row has poison, all its results are poison.
    Operations on infinities and zeros follow the rules of `round`: in softmax, an element -inf gives 0.

        >>> x = hu.convert([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], "bf16")
        >>> hu.round_rows("softmax", x)
        Value(2x3xbf16=[0.09 0.245 0.664][0.334 0.334 0.334])
        >>> hu.round_rows(lambda row: row[0] * row[1] - row[2] ** 2, x, to="f32")
        Value(2xf32=-7 0)

    Raises the errors of `round`, and InputError for an unknown name, and for ``eps`` with a function without one.
    """
    chosen, mode = as_profile(profile).arithmetic, calling.mode_of(rounding)
    given = calling.operand(x, "x")
    dst = calling.result_format(to, [given], "hu.round_rows")
    if not given.shape:
        raise TypeMismatch("hu.round_rows: x is one number, without rows", hint="hu.round rounds functions of numbers")
    if not -len(given.shape) <= axis < len(given.shape):
        raise np.exceptions.AxisError(axis, len(given.shape))
    rows = _Rows(given, axis % len(given.shape))
    by_row = calling.called(_of_rows(function, eps, rows.length), rows.length)
    return _evaluated(by_row, rows, dst, mode, chosen)


def _of_rows(f: Any, eps: Any, length: int) -> calling.Function:
    """Return a function of a row, and remember whether it returns a list. Raises InputError for an unknown name."""
    if isinstance(f, str):
        row = NAMED_ROWS.get(f)
        if row is None:
            hint = did_you_mean(f, NAMED_ROWS) or f"there are {', '.join(NAMED_ROWS)}; or give a Python function"
            raise InputError(f"no function of rows is called '{f}'", hint=hint)
        if eps is not None and not row.takes_eps:
            raise InputError(f"{f} has no eps; it is {row.formula}")
        if not length:
            raise InputError(f"{f} cannot be computed for rows without elements")
        number = Real(0 if eps is None else eps)
        return _Function(lambda reals: row.function(reals, number))
    if eps is not None:
        raise InputError("eps is for layer_norm and rms_norm", hint="write it into the function")
    if not callable(f):
        raise TypeMismatch(f"f is of type {type(f).__name__}", hint='give a name, as in "softmax", or a function')
    calling.require_arity(f, 1)
    return _Function(f)


class _Function:
    """A function of a row that returns a list of reals; ``single``: whether it returned one real instead."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.single: bool | None = None

    def __call__(self, reals: Sequence[Real]) -> list[Real]:
        found = self.function(list(reals))
        single = not isinstance(found, list | tuple | np.ndarray)
        if self.single not in (None, single):
            raise TypeError("the function returned a list for one row, and a real for another")
        self.single = single
        return [calling.require_real(found)] if single else [calling.require_real(each) for each in found]


class _Rows:
    """The rows of an operand. ``places``: the row-major indices of the elements, of shape [rows, elements]."""

    def __init__(self, given: calling.Operand, axis: int) -> None:
        self.given, self.axis = given, axis
        places = np.moveaxis(np.arange(int(np.prod(given.shape))).reshape(given.shape), axis, -1)
        self.outer, self.length = places.shape[:-1], places.shape[-1]
        self.places: npt.NDArray[np.intp] = places.reshape(int(np.prod(self.outer)), self.length)

    def __len__(self) -> int:
        return len(self.places)

    def poison(self) -> npt.NDArray[np.uint16] | None:
        """Return the poison of each row."""
        poison = self.given.poison
        return None if poison is None else poison[self.places].max(axis=1, initial=0)

    def nan(self, row: int, policy: FloatPolicy) -> scalar.Unpacked | None:
        """Return the first NaN of a row, or None."""
        found = (self.given.at(place, policy) for place in self.places[row].tolist())
        return next((each for each in found if isinstance(each, scalar.Unpacked)), None)

    def numbers(self, row: int, policy: FloatPolicy) -> list[Number]:
        """Return the numbers of a row without NaN."""
        found = (self.given.at(place, policy) for place in self.places[row].tolist())
        return [each for each in found if not isinstance(each, scalar.Unpacked)]

    def describe(self, row: int, column: int) -> str:
        """Return the place of a result in words."""
        outer = [int(k) for k in np.unravel_index(row, self.outer)] if self.outer else []
        return f"row {outer}, result {column}" if outer else f"result {column}"


class _Results:
    """The results of all rows: codes of shape [rows, results], which of them the format lacks, and which are known."""

    def __init__(self, count: int, width: int, dst: FloatFormat) -> None:
        self.dst, self.width = dst, width
        self.codes = np.zeros(code_shape((count, width), dst.bits), storage_dtype(dst.bits))
        self.lost = np.zeros((count, width), np.bool_)
        self.known = np.zeros((count, width), np.bool_)

    def put(self, row: int, column: int | slice, result: Result) -> None:
        """Set one result, or all of a row."""
        self.codes[row, column] = ints_to_codes([result.code], self.dst.bits, (1,))[0]
        self.lost[row, column] = result.poison
        self.known[row, column] = True


def _evaluated(function: calling.Called, rows: _Rows, dst: FloatFormat, mode: Rounding, policy: FloatPolicy) -> Value:
    poison = rows.poison()
    clean = np.arange(len(rows)) if poison is None else np.flatnonzero(poison == 0)
    numbers = _Numbers(function, rows, mode, policy)
    width = numbers.width(clean.tolist())
    results = _Results(len(rows), width, dst)
    _settle(function, rows, clean, results, mode, policy)
    for row in clean[~results.known[clean].all(axis=1)].tolist():
        nan = rows.nan(row, policy)
        if nan is not None:
            source = rows.given.fmt or FORMATS["f64"]
            results.put(row, slice(None), scalar.encode_nan(dst, nan, policy, 0, source))
            continue
        column = 0
        try:
            for column, number in enumerate(numbers.of(row)):
                if not results.known[row, column]:
                    results.put(row, column, rounded(number, dst, mode, policy))
        except Unsettled as error:
            raise calling.unsettled(error, rows.describe(row, column), dst.name) from None
        except HalfulpError as error:
            error.notes = (*error.notes, (None, rows.describe(row, column)))
            raise
    return _value(rows, results, poison, single=numbers.single)


class _Numbers:
    """The exact results of rows without NaN: the function is called with their numbers."""

    def __init__(self, function: calling.Called, rows: _Rows, mode: Rounding, policy: FloatPolicy) -> None:
        self.function, self.rows, self.mode, self.policy = function, rows, mode, policy
        self.expected: int | None = None if function.program is None else len(function.program.results)
        self.checked = False

    @property
    def single(self) -> bool:
        """Whether the function returns one real, not a list."""
        return isinstance(self.function.function, _Function) and self.function.function.single is True

    def width(self, clean: Sequence[int]) -> int:
        """Return the number of results of a row. Raises InputError if a function that compares has no numbers."""
        if self.expected is None:
            row = next((row for row in clean if self.rows.nan(row, self.policy) is None), None)
            if row is None:
                raise InputError("every row has a NaN or poison, but a function that compares needs a row without them")
            try:
                self.expected = len(self.of(row))
            except Unsettled as error:
                raise calling.unsettled(error, self.rows.describe(row, 0), "the format") from None
        return self.expected

    def of(self, row: int) -> tuple[Number, ...]:
        """Return the exact results of a row. Raises InputError for a count that differs from that of another row."""
        arguments = self.rows.numbers(row, self.policy)
        if not self.checked:
            self.function.require_repeatable(arguments)
            self.checked = True
        found = self.function.numbers(arguments, self.mode is Rounding.DOWNWARD)
        if self.expected not in (None, len(found)):
            raise InputError(f"the function returned {len(found)} reals, and {self.expected} for another row")
        return found


def _settle(
    function: calling.Called,
    rows: _Rows,
    clean: npt.NDArray[np.intp],
    results: _Results,
    mode: Rounding,
    policy: FloatPolicy,
) -> None:
    """Set the results for which one ball decides the rounding."""
    given = rows.given
    if function.program is None or given.fmt is None or given.codes is None or not results.width:
        return
    step = max(1, (1 << 16) // max(1, rows.length))
    for start in range(0, len(clean), step):
        part = clean[start : start + step]
        found = settled_rows(function.program, given.fmt, given.codes[rows.places[part]], mode, results.dst, policy)
        if found is None:
            return
        shape = (len(part), results.width)
        results.codes[part] = found.result.codes.reshape(code_shape(shape, results.dst.bits))
        results.known[part] = found.mask.reshape(shape)
        if found.result.poison is not None:
            results.lost[part] = (found.result.poison & found.mask).reshape(shape)


def _value(rows: _Rows, results: _Results, poison: npt.NDArray[np.uint16] | None, single: bool) -> Value:
    """Return the results. Their axis takes the place of the axis of the rows."""
    dst = results.dst
    ids = None if poison is None else np.broadcast_to(poison[:, None], results.lost.shape)
    shape = (*rows.outer, results.width)

    def placed(array: npt.NDArray[Any], more: tuple[int, ...] = ()) -> npt.NDArray[Any]:
        whole = array.reshape((*shape, *more))
        return whole.take(0, axis=len(shape) - 1) if single else np.moveaxis(whole, len(shape) - 1, rows.axis)

    codes = placed(results.codes, results.codes.shape[2:])
    columns = [(None if ids is None else placed(ids), rows.given.origins)]
    merged, origins = calling.merged_poison(columns, placed(results.lost), "round_rows", dst)
    element, outer = ty.FloatType(dst), rows.outer if single else placed(results.lost).shape
    container = ty.TensorType(outer, element) if outer else element
    return Value(container, np.ascontiguousarray(codes).reshape(code_shape(outer, dst.bits)), merged, None, origins)
