"""Conversion of numbers and arrays of every kind to values: of NumPy, ml_dtypes and torch, exact numbers, and text."""

from __future__ import annotations

import operator
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.types import numeric, shape_conflict
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_array, as_type, container_of
from halfulp.interp.values.coerce import masked as mask_of
from halfulp.interp.values.elements import conversion_kernel, not_stochastic, out_of_range, random_bits, reads_signed
from halfulp.interp.values.spelling import range_text
from halfulp.interp.values.value import Value, to_elements, to_value
from halfulp.semantics import integer
from halfulp.semantics.integer import Overflow, limits
from halfulp.semantics.kernel import Origin, Origins
from halfulp.semantics.profile import SPEC, Profile
from halfulp.semantics.random_sources import uniform

# --- arguments --------------------------------------------------------------------------------------------------------
#
# Names of arguments that users of other libraries try first, and former ones: the error for one names ours.

_ACCUMULATOR = {"dtype": "acc", "out_dtype": "acc", "accumulator": "acc", "preferred_element_type": "acc"}
_FUNCTION = {"f": "function", "fn": "function"}
_RUN = {"entry": "function", "fn": "function"}
_TYPE = {"fmt": "type", "dtype": "type"}
_OTHER_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "convert": {
        "dtype": "to",
        "target": "to",
        "to_type": "to",
        "from_": "type",
        "from_type": "type",
        "mode": "rounding",
        "rounding_mode": "rounding",
        "roundingmode": "rounding",
        "round": "rounding",
        "saturated": "saturate",
        "saturation": "saturate",
        "generator": "rng",
        "random_state": "seed",
        "key": "seed",
    },
    "sum": _ACCUMULATOR,
    "dot": _ACCUMULATOR,
    "matmul": _ACCUMULATOR,
    **dict.fromkeys(("ulp", "neighbours", "all_values", "next_up", "next_down"), _TYPE),
    **dict.fromkeys(("round", "round_rows"), _FUNCTION),
    "quantize": {
        **dict.fromkeys(("to", "dtype"), "storage"),
        "scales": "scale",
        **dict.fromkeys(("zero_points", "zp"), "zero_point"),
        **dict.fromkeys(("block_size", "group_size"), "block"),
        "dim": "axis",
    },
    "quantize_blocks": {"element": "to", "dtype": "to"},
    **dict.fromkeys(("compare", "constraints", "exception_flags", "run", "sensitivity", "workgroups"), _RUN),
    "rank": {**_RUN, "types": "formats", "dtypes": "formats"},
    "trace": {**_RUN, "limit": "n"},
    "accuracy": {
        "samples": "n",
        "between": "range",
        "seconds": "time_limit",
        "source": "type=…, and for the result to",
    },
    "program_accuracy": {**_RUN, "samples": "n"},
    "bisect": {**_RUN, "count": "n"},
    "check": {"most": "n"},
}
"""For each function, names of arguments that users try, and halfulp's names for them."""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def names_arguments(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Return a function that raises TypeError for argument names that ``function`` does not have. The error has the
    public name of the function.
    """

    @wraps(function)
    def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        refuse_other_arguments(function.__name__, kwargs)
        return function(*args, **kwargs)

    return checked


def refuse_other_arguments(function: str, given: Mapping[str, object]) -> None:
    """Raise TypeError, with halfulp's name of the function, if it gets an argument whose name it does not have."""
    ours = _OTHER_ARGUMENTS[function]
    if not given.keys().isdisjoint(ours):
        name = next(name for name in given if name in ours)
        raise TypeError(f"{function}() has no argument {name!r}; write {ours[name]}=…")


def as_integer(given: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """Return an integer of Python or NumPy as an int. Raise InputError for anything else, True and False included, and
    for a number below ``least`` or above ``most``. ``what`` names the argument in errors.
    """
    try:
        number = None if isinstance(given, bool | np.bool_) else operator.index(given)
    except TypeError:
        number = None
    if number is None:
        raise InputError(f"{what} is {given!r}, but must be an integer")
    if least is not None and number < least:
        raise InputError(f"{what} is {number}, but must be at least {least}")
    if most is not None and number > most:
        raise InputError(f"{what} is {number}, but must be at most {most:,}")
    return number


# --- files ------------------------------------------------------------------------------------------------------------
#
# Read files within limits, and write them whole or not at all.

MAX_FILE_BYTES = 1 << 30


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a file or a pipe. Raise InputError when it cannot be read, or is larger than a gigabyte."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            kind = os.fstat(file.fileno())
            # A device such as /dev/zero never ends.
            if not (stat.S_ISREG(kind.st_mode) or stat.S_ISFIFO(kind.st_mode)):
                raise InputError(f"cannot read {name!r}: it is not a regular file")
            if kind.st_size > MAX_FILE_BYTES:
                raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
            data = file.read(MAX_FILE_BYTES + 1 if stat.S_ISFIFO(kind.st_mode) else -1)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name!r}: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
    return data


def write_file(path: str | os.PathLike[str], data: bytes | memoryview, *, follow: bool = True) -> None:
    """Write a file completely or not at all: it is written under a temporary name, then renamed. Raise InputError.

    ``follow``: whether the user chose the path. A link at a path of the user is followed if the user or the system made
    it. A link that somebody else made is an error, because they would choose the file that is replaced. At any other
    path a link is replaced.
    """
    from halfulp.conformance.files import replaced  # which most commands do not need

    name = os.fspath(path)
    target = Path(path)
    try:
        if follow and target.is_symlink():
            if hasattr(os, "geteuid") and target.lstat().st_uid not in (0, os.geteuid()):
                raise InputError(f"cannot write {name!r}: it is a link that another user made", hint="remove it")
            target = Path(os.path.realpath(target))
        if follow and target.exists() and not target.is_file():  # a pipe or a device is written to, never replaced
            target.write_bytes(data)
            return
        with replaced(target) as file:
            file.write(data)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write {name!r}: {reason}") from None


def check_place(option: str, file: str) -> None:
    """Raise InputError for an option whose file cannot be written, before the work whose results it would get."""
    path = Path(file)
    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else f"there is no folder '{path.parent}'"
        raise InputError(f"{option}={file}: {why}")


def check_apart(others: Iterable[tuple[str, str | None]], arguments: object, *outputs: str) -> None:
    """Raise InputError if one of the options ``outputs`` names a file of ``others``, or that of an earlier option."""
    taken = {os.path.realpath(path): what for what, path in others if path is not None and path != "-"}
    for name in outputs:
        path = getattr(arguments, name)
        if path is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if (what := taken.setdefault(os.path.realpath(path), option)) != option:
            raise InputError(f"{option}={path} is the file of {what}", hint="give another name")


def make_directory(path: str | os.PathLike[str]) -> None:
    """Make a directory and those above it, unless it exists. Raise InputError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {os.fspath(path)!r}: {error.strerror}") from None


# --- inputs -----------------------------------------------------------------------------------------------------------

Masked = Literal["poison"] | None

# From here on, f64 does not hold every integer: NumPy may have rounded one in a list of integers and floats.
_MOST_EXACT = float(1 << 53)


class ExactNumbers(NamedTuple):
    """Numbers without a type, such as fractions, in row-major order. No dtype can hold them."""

    numbers: Sequence[numbers.Exact]
    shape: tuple[int, ...]


def as_value(x: Any, type: Any = None, *, masked: Masked = None, what: str = "the value") -> Value:
    """Return any input as a value. An array is not copied, and not rounded.

    ``x``: a `Value` or `Buffer`; a number of Python or NumPy; an array of NumPy (of any byte order, longdouble
    included), ml_dtypes or JAX; a torch tensor on the CPU; or nested lists. ``type``: the element type, or the whole
    type; None for that of the dtype, where the integers of an unsigned dtype and bool are unsigned. With a type, the
    numbers of lists, fractions, decimals and numeric text are rounded to it once, to nearest even; an array must have
    its dtype. ``masked``: "poison" makes the masked elements of a NumPy masked array poison; they are refused without
    it. ``what`` names the input in errors.

    Raises TypeMismatch for an input that is none of these, or does not fit the type, InputError for masked elements.
    """
    given = None if type is None else as_type(type)
    taken = taken_as(x, what, masked)
    if isinstance(taken, ExactNumbers):
        if given is None:
            raise TypeMismatch(f"{what}: exact numbers have no type", hint="name one with type=…, as in type='f64'")
        return _as_literals(taken, given, what)
    if given is None or isinstance(x, Value | Buffer):
        return taken if given is None else to_value(taken, given, what)
    if taken.poison is None and isinstance(x, bool | int | float) and not isinstance(x, np.generic):
        return to_value(x, given, what)
    if isinstance(x, list | tuple) and taken.element_type in _OF_LISTS:
        return _list_as_literals(taken, given, what)
    array = np.ma.getdata(x) if isinstance(x, np.ma.MaskedArray) else x
    value = to_value(as_array(array, what), container_of(as_array(array, what), given), what)
    return Value(value.type, value.bits, taken.poison, None, taken.origins) if taken.poison is not None else value


_OF_LISTS = (ty.FloatType(numbers.F64), ty.I64, ty.IntegerType(64, "unsigned"))


def taken_as(x: Any, what: str, masked: Masked = None) -> Value | ExactNumbers:
    """Return an input as a value, whose type comes from its dtype; without a dtype, return exact numbers."""
    if masked not in (None, "poison"):
        raise ValueError(f"masked is {masked!r}, but must be None or 'poison'")
    if isinstance(x, Buffer):
        return x.load()
    if isinstance(x, Value):
        return x
    if isinstance(x, int) and not -(1 << 63) <= x < 1 << 64:
        return ExactNumbers((x,), ())
    if isinstance(x, (str, *numbers.TYPES)) and not isinstance(x, int | np.generic):
        return ExactNumbers((_exact(x, (), what),), ())
    if isinstance(x, np.ma.MaskedArray) and masked == "poison":
        return _with_poison(_of_array(as_array(np.ma.getdata(x), what), what), mask_of(x))
    array = as_array(x, what)
    if isinstance(x, list | tuple) and array.dtype != object:
        array = _of_list(x, array, what)
    return _of_array(array, what)


def _of_list(x: Any, array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Return the array of nested lists, as Python objects if NumPy would change the numbers."""
    if array.dtype.kind in "US":
        return np.asarray(x, object)
    if array.dtype.kind != "f" or not array.size:
        return array
    with np.errstate(all="ignore"):
        largest = np.abs(array).max()
    if largest < _MOST_EXACT:
        return array
    objects = np.asarray(x, object)
    flat = objects.ravel()
    changed = any(isinstance(item, int | np.integer) and abs(int(item)) > _MOST_EXACT for item in flat)
    return objects if changed else array


def _of_array(array: npt.NDArray[Any], what: str) -> Value | ExactNumbers:
    if array.dtype.kind in "OU":
        places = np.ndindex(array.shape)
        flat = [_exact(item, place, what) for place, item in zip(places, array.ravel().tolist(), strict=True)]
        return ExactNumbers(flat, array.shape)
    if array.dtype.kind == "c":
        raise TypeMismatch(f"{what}: complex numbers have no element type", hint="give x.real and x.imag")
    return to_elements(array, None, what)


def as_code(given: Any, type: Any, what: str) -> int:
    """Return the code of a single number of any kind that `as_value` takes, rounded once to a float type, to nearest
    even. A NaN loses its payload. Raises InputError for several numbers and for poison, TypeMismatch for no number.
    """
    taken = taken_as(given, what)
    if isinstance(taken, Value) and taken.poison is not None:
        raise InputError(f"{what} is poison, but must be a number")
    one = taken if isinstance(taken, ExactNumbers) else numbers_of(taken)
    if one.shape:
        raise InputError(f"{what} is {given!r}, but must be a single number")
    return int(_as_literals(one, as_type(type), what).bits)


def _exact(item: Any, place: tuple[int, ...], what: str) -> numbers.Exact:
    where = f"{what}, element {list(place)}" if place else what
    if isinstance(item, Value) and not item.shape and item.poison is None:
        return numbers_of(item).numbers[0]
    try:
        return numbers.exact_number(item)
    except (TypeError, ValueError) as error:
        raise TypeMismatch(f"{where}: {error}") from None


def numbers_of(value: Value) -> ExactNumbers:
    """Return the elements of a value as exact numbers; a NaN loses its payload."""
    element = numeric(value.element_type)
    width = ty.width_of(element)
    codes = codes_to_ints(value.bits, width)
    if isinstance(element, ty.FloatType):
        return ExactNumbers([_number_of_code(element.format, code) for code in codes], value.shape)
    signed = isinstance(element, ty.IntegerType) and reads_signed(element)
    wrap = 1 << width
    return ExactNumbers([code - wrap if signed and code >> (width - 1) else code for code in codes], value.shape)


def _number_of_code(fmt: FloatFormat, code: int) -> numbers.Exact:
    x = scalar.unpack(fmt, code)
    if x.kind != scalar.FINITE:
        number = float("inf") if x.kind == scalar.INFINITE else float("nan")
        return -number if x.sign else number
    power = x.exponent
    return numbers.Ratio(x.sign, x.significand << max(power, 0), 1 << max(-power, 0))


def _with_poison(value: Value | ExactNumbers, mask: npt.NDArray[np.bool_] | None) -> Value | ExactNumbers:
    assert mask is not None
    if not mask.any() or isinstance(value, ExactNumbers):
        if mask.any():
            raise InputError("masked elements of an array of objects cannot become poison", hint="give x.astype(…)")
        return value
    origins = Origins()
    first = tuple(int(k) for k in np.argwhere(mask)[0]) if mask.ndim else ()
    identity = origins.id_of(Origin("input", "", "masked in the given array", first))
    return Value(value.type, value.bits, np.where(mask, np.uint16(identity), np.uint16(0)), None, origins)


def _list_as_literals(given: Value, type_: ty.Type, what: str) -> Value:
    """Do the same as `_as_literals` for lists of Python's numbers, which NumPy has made an array of f64 or 64-bit
    integers.
    """
    element, source = numeric(ty.element_type(type_)), given.element_type
    array = given.numpy()
    if isinstance(element, ty.FloatType):
        nans = np.isnan(array)
        if element.format.nan_code is None and nans.any():
            raise TypeMismatch(f"{what}: {element.format.name} has no NaN")
        if not element.format.signed and (np.signbit(array) & ~nans).any():
            raise TypeMismatch(f"{what}: {element.format.name} has no negative values")
        kernel = conversion_kernel(source, element, Rounding.TO_NEAREST_EVEN, SPEC)
    elif isinstance(source, ty.IntegerType):
        if array.size:
            _check_range((int(array.min()), int(array.max())), element, what)
        kernel = integer.convert(64, reads_signed(source), ty.width_of(element), False, "wrap")
    else:
        raise TypeMismatch(f"{what}: '{element}' takes only integers", hint="round first: hu.convert(x, to)")
    container = _container(given.shape, type_, what)
    return Value(container, kernel.array(given.bits).results[0])


def _container(shape: tuple[int, ...], type_: ty.Type, what: str) -> ty.Type:
    """Return a tensor of an element type, or a whole type that fits the shape. Raises TypeMismatch."""
    container = ty.TensorType(shape, type_) if type_ is ty.element_type(type_) and shape else type_
    conflict = shape_conflict(container, shape)
    if conflict:
        raise TypeMismatch(f"{what}: {conflict}")
    return container


def _check_range(given: Iterable[int], element: ty.Type, what: str) -> None:
    """Raise TypeMismatch for an integer that no literal of the type can be. A literal of a signless type may be signed
    or unsigned.
    """
    width = ty.width_of(element)
    signedness = element.signedness if isinstance(element, ty.IntegerType) else "signless"
    low = 0 if signedness == "unsigned" else -(1 << width >> 1)
    high = (1 << width >> (signedness == "signed")) - 1
    for number in given:
        if not low <= number <= high:
            shown = number if abs(number) >> 64 == 0 else "a number"
            raise TypeMismatch(f"{what}: {shown} is outside the range of '{element}', {range_text(low, high)}")


def _as_literals(given: ExactNumbers, type_: ty.Type, what: str) -> Value:
    """Return exact numbers as literals of a type are read: floats rounded to nearest even, integers as they are.

    Raises TypeMismatch for a number that the type does not have.
    """
    element = numeric(ty.element_type(type_))
    for place, number in zip(np.ndindex(given.shape), given.numbers, strict=True):
        where = f"{what}, element {list(place)}" if place else what
        if isinstance(element, ty.FloatType):
            if numbers.is_nan(number) and element.format.nan_code is None:
                raise TypeMismatch(f"{where}: {element.format.name} has no NaN")
            if numbers.is_negative(number) and not numbers.is_nan(number) and not element.format.signed:
                raise TypeMismatch(f"{where}: {element.format.name} has no negative values")
        elif not isinstance(number, int):
            raise TypeMismatch(f"{where}: '{element}' takes only integers", hint="round first: hu.convert(x, to)")
    if isinstance(element, ty.FloatType):
        codes = [numbers.round_to_format(element.format, number).code for number in given.numbers]
    else:
        whole = [number for number in given.numbers if isinstance(number, int)]
        _check_range(whole, element, what)
        codes = [number & ((1 << ty.width_of(element)) - 1) for number in whole]
    return Value(_container(given.shape, type_, what), ints_to_codes(codes, ty.width_of(element), given.shape))


# --- rounding ---------------------------------------------------------------------------------------------------------


def rounded_numbers(
    given: ExactNumbers,
    element: ty.Type,
    mode: Rounding | None,
    profile: Profile,
    random: tuple[npt.NDArray[Any], int] | None,
    overflow: Overflow | None,
) -> Value:
    """Return exact numbers, each rounded once to an element type, as a scalar or a tensor.

    A number that the type does not have becomes poison, or the result that the profile defines. For an integer that an
    integer type does not have, ``overflow`` defines the result. Raises TypeMismatch.
    """
    if isinstance(element, ty.FloatType):
        results = _to_floats(given, element.format, mode, profile, random)
    elif isinstance(element, ty.IntegerType) and mode is not Rounding.STOCHASTIC:
        results = _to_integers(given, element, mode, profile, overflow)
    else:
        raise TypeMismatch(f"cannot convert numbers to '{element}'{' with stochastic rounding' * (mode is not None)}")
    codes, lost = [result.code for result in results], np.array([result.poison for result in results], np.bool_)
    container = ty.TensorType(given.shape, element) if given.shape else element
    value = Value(container, ints_to_codes(codes, ty.width_of(element), given.shape))
    if not lost.any():
        return value
    lost = lost.reshape(given.shape)
    origins = Origins()
    first = tuple(int(k) for k in np.argwhere(lost)[0]) if given.shape else ()
    identity = origins.id_of(Origin("convert", "", f"a number that {element} does not have", first))
    return Value(container, value.bits, np.where(lost, np.uint16(identity), np.uint16(0)), None, origins)


def _to_floats(
    given: ExactNumbers,
    fmt: FloatFormat,
    mode: Rounding | None,
    profile: Profile,
    random: tuple[npt.NDArray[Any], int] | None,
) -> list[scalar.Result]:
    rounding = Rounding.TO_NEAREST_EVEN if mode is None else mode
    draws: Iterable[scalar.Random] = [None] * len(given.numbers)
    if random is not None:
        draws = [(number, random[1]) for number in random[0].ravel().tolist()]
    policy = profile.conversions
    return [
        numbers.round_to_format(fmt, number, rounding, policy, draw)
        for number, draw in zip(given.numbers, draws, strict=True)
    ]


def _to_integers(
    given: ExactNumbers, element: ty.IntegerType, mode: Rounding | None, profile: Profile, overflow: Overflow | None
) -> list[scalar.Result]:
    rounding = Rounding[profile.to_integer_rounding.upper()] if mode is None else mode
    width, signed = element.width, reads_signed(element)
    low, high = limits(width, signed)
    results = []
    for place, number in zip(np.ndindex(given.shape), given.numbers, strict=True):
        if not isinstance(number, int):
            signed_float = element.signedness != "unsigned"
            results.append(numbers.round_to_integer(number, width, signed_float, rounding, profile.conversions))
            continue
        fits = low <= number <= high
        if not fits and overflow is None:
            raise out_of_range(place, number, element)
        kept = min(max(number, low), high) if overflow == "saturate" else number
        results.append(scalar.Result(kept & ((1 << width) - 1), 0, not fits and overflow == "poison"))
    return results


# --- random bits ------------------------------------------------------------------------------------------------------

_RANDOM_WIDTH = 32
"""The number of random bits for each element, if ``rng`` or ``seed`` draws them."""
_RANDOM_STREAM = 0


def drawn_bits(
    random: npt.NDArray[Any] | None,
    rng: np.random.Generator | None,
    seed: int | None,
    shape: tuple[int, ...],
    stochastic: bool,
) -> tuple[npt.NDArray[Any], int] | None:
    """Return the random bits of each element and their width; None if the rounding is not stochastic.

    ``random``: the bits themselves. ``rng``: a generator whose ``integers`` draws 32 bits for each element. ``seed``: 0
    to 2**64 - 1, the key of NumPy's Philox, of which each element takes 32 bits: its 64-bit words in order, the low
    half of each word first. Elements are in row-major order.

    Raises InputError unless exactly one of the three is given for stochastic rounding, and none for any other rounding.
    """
    given = [name for name, each in (("random", random), ("rng", rng), ("seed", seed)) if each is not None]
    if not stochastic:
        if given:
            raise not_stochastic(given[0])
        return None
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given: give only one of them")
    if rng is not None:
        if not isinstance(rng, np.random.Generator):
            hint = "give np.random.default_rng(…), or seed=… for a number"
            raise InputError(f"rng is of type {type(rng).__name__}, but must be a np.random.Generator", hint=hint)
        return np.asarray(rng.integers(0, 1 << _RANDOM_WIDTH, shape, np.uint32)), _RANDOM_WIDTH
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 1 << 64:
            raise InputError(f"seed is {seed!r}, but must be an integer from 0 to 2**64 - 1")
        return uniform(int(seed), _RANDOM_STREAM, _RANDOM_WIDTH, 0, prod(shape)).reshape(shape), _RANDOM_WIDTH
    if random is None:
        raise InputError(
            "stochastic rounding needs seed=…, rng=…, or random=…: one unsigned integer per element",
        )
    return random_bits(random, shape)
